# Pictures of intervals: of coefficients, groups, parameters and topics.

# The coefficients that a plot shows: by default all but the intercept.
coefficients_to_plot <- function(variables, columns, call) {
  if (!is.null(variables)) {
    return(choose_variables(variables, columns, call))
  }
  slopes <- slope_columns(columns)
  if (length(slopes) > 0L) slopes else columns
}

# All coefficients but intercepts.
slope_columns <- function(columns) {
  grep("^(\\(Intercept\\)|b\\[.*,\\(Intercept\\)\\])$", columns, value = TRUE,
       invert = TRUE)
}

# What a picture of coefficients shows: intervals_shown(). `odds`: as ratios of
# odds; per: "sd" or "unit".
coefficients_shown <- function(fit, variables, level, per, call, odds = FALSE) {
  model <- fit_part(fit, "model")
  columns <- coefficient_columns(model)
  if (length(columns) == 0L) {
    type <- if (odds) "odds" else "coefficients"
    abort_argument(
      c("{.arg type} cannot be {.val {type}}: the formula has no fixed
         effects.",
        i = if (has_groups(model)) {
          "{.code type = \"groups\"} draws the coefficients of the groups."
        }),
      call = call
    )
  }
  chosen <- coefficients_to_plot(variables, columns, call)
  estimate <- lapply(coefficient_estimates(fit), `[`, chosen)
  units <- units_of_coefficients(model, chosen, per)
  few <- clearest(estimate, is.null(variables), "coefficients", units$factor)
  chosen <- chosen[few$rows]
  units <- lapply(units, `[`, few$rows)
  interval <- function(level) {
    parameter_interval(fit, level)[chosen, , drop = FALSE]
  }
  shown <- intervals_shown(
    estimate$mean[chosen], interval(level), interval(0.5), level,
    note = few$note,
    estimate = if (draws_posterior(model)) "posterior mean" else "mode"
  )
  shown$table$name <- units$words
  numbers <- c("centre", "lower", "upper", "lower_50", "upper_50")
  shown$table[numbers] <- shown$table[numbers] * units$factor
  if (odds) {
    # within the range of a double, which coefficients of separated data leave
    shown$table[numbers] <- exp(
      pmin(pmax(as.matrix(shown$table[numbers]), -690), 690)
    )
    shown[c("line", "words", "log")] <- list(1, "equal odds", TRUE)
  }
  shown <- in_units(
    shown, units, if (odds) "odds" else changed_words(model), odds
  )
  if (is_unordered(model_response(model))) {
    # each category beside the first
    shown$xlab <- paste0(
      shown$xlab, " (reference: ", model_response(model)$levels[[1L]], ")"
    )
  }
  shown
}

# The units of coefficients, of column_units(), and `words` that name them.
units_of_coefficients <- function(model, chosen, per) {
  columns <- coefficient_columns(model)
  design <- model_design(model)
  of_design <- rep_len(model$single$coefficients %||% columns, length(columns))
  terms <- of_design[match(chosen, columns)]
  words <- coefficient_words(terms, design)
  if (is_unordered(model_response(model))) {
    categories <- model_response(model)$levels[-1L]
    at <- ceiling(match(chosen, columns) / length(columns) * length(categories))
    words <- paste0(categories[at], ", ", words)
  }
  c(column_units(model$frame$x, terms, of_design, per, design),
    list(words = words))
}

# The estimates that are drawn: list(rows, note), at most `most` if `choose`,
# those with the largest |mean - from| / sd, in their order. The note has the
# range of the others' means, in the units of the picture. `those`: in words.
clearest <- function(estimate, choose, what, factor = 1, most = 40L, from = 0,
                     those = "with the largest |mean| / sd") {
  n <- length(estimate$mean)
  if (!choose || n <= most) {
    return(list(rows = seq_len(n)))
  }
  size <- abs(estimate$mean - from) / estimate$sd
  rows <- sort(order(-size)[seq_len(most)])
  ends <- format(range((estimate$mean * factor)[-rows]), digits = 2)
  list(rows = rows, note = paste0(
    most, " of ", digits(n), " ", what, ": those ", those,
    "; means of the others: ", trimws(ends[[1L]]), " to ", trimws(ends[[2L]])
  ))
}

# Coefficients in the units of column_units(): one panel for each unit, since an
# axis has one scale.
in_units <- function(shown, units, of, odds) {
  change <- if (odds) "odds ratio" else paste("change in", of)
  words <- c(
    sd = "per standard deviation", unit = "per unit",
    level = "against the reference level", contrast = "per unit of a contrast",
    value = if (any(units$words == "(Intercept)")) "intercept" else "mean"
  )
  kinds <- intersect(names(words), units$per)
  if (length(kinds) == 1L) {
    shown$xlab <- if (kinds == "value") of else paste(change, words[[kinds]])
    shown$scaled <- identical(kinds, "unit")
  } else {
    shown$xlab <- paste0(
      change, if ("value" %in% kinds) paste0(" (intercept: ", of, ")")
    )
    panel <- unname(words[units$per])
    one <- units$per == "unit"
    if (needs_own_scales(list(table = shown$table[one, ], line = shown$line))) {
      panel[one] <- paste0(shown$table$name[one], ", per unit")
    }
    order <- order(match(units$per, kinds))
    shown$table$panel <- factor(panel, unique(panel[order]))
  }
  shown
}

# Estimates with two intervals each: list(table, level, xlab, line, words, log,
# note, ylab, estimate). centre: estimates with names; wide, narrow: their
# intervals, a row each; `line`: where the vertical line is (NA: nowhere), and
# `words` of it;
# `log`: whether the axis is logarithmic; `scaled`: whether estimates of very
# different sizes have axes of their own; `beside`: whether panels stand side by
# side; `whole`: whether no interval is cut.
intervals_shown <- function(centre, wide, narrow, level, xlab = NULL, line = 0,
                            words = NULL, note = NULL, ylab = NULL,
                            estimate = "posterior mean", scaled = FALSE,
                            beside = FALSE, whole = FALSE) {
  list(
    table = data.frame(
      name = names(centre), centre = unname(centre), lower = wide[, 1L],
      upper = wide[, 2L], lower_50 = narrow[, 1L], upper_50 = narrow[, 2L],
      row.names = NULL
    ),
    level = level, xlab = xlab, line = line, words = words, log = FALSE,
    note = note, ylab = ylab, estimate = estimate, scaled = scaled,
    beside = beside, whole = whole
  )
}

# shown: as from intervals_shown(); the first estimate is at the top. The table
# has the column `panel` if axes differ.
picture_intervals <- function(shown) {
  table <- shown$table
  table$line <- shown$line
  own_scales <- shown$scaled && needs_own_scales(shown)
  if (own_scales) {
    table$panel <- factor(table$name, unique(table$name))
    shown$xlab <- paste0(shown$xlab, ", each on a scale of its own")
  }
  table <- table[order(table$panel %||% rep(1L, nrow(table))), ]
  of <- table$panel %||% factor(rep("all", nrow(table)))
  table$at <- rev(seq_len(nrow(table)))
  parts <- lapply(levels(of), function(panel) {
    rows <- table[of == panel, ]
    if (shown$whole) return(list(table = rows))
    clip_intervals(rows, rows$line[[1L]], shown$log)
  })
  panels <- if (!is.null(table$panel)) {
    data.frame(
      panel = levels(of), title = levels(of), size = tabulate(of, nlevels(of))
    )
  }
  picture(
    table, interval_layers(parts, shown), interval_key(shown),
    x = picture_axis(shown$xlab, log = shown$log, free = !is.null(panels)),
    y = picture_axis(
      shown$ylab, at = table$at, labels = if (own_scales) {
        rep("", nrow(table))
      } else {
        table$name
      }, free = !is.null(panels)
    ),
    note = c(shown$note, unlist(lapply(parts, `[[`, "note"))), panels = panels,
    layout = if (is.null(panels) || shown$beside) "wrap" else "stack",
    columns = if (shown$beside) nlevels(of) else if (!is.null(panels)) 1L
  )
}

# parts: of each panel list(table, arrows), of clip_intervals().
interval_layers <- function(parts, shown) {
  table <- do.call(rbind, lapply(parts, `[[`, "table"))
  own <- table[intersect("panel", names(table))]
  ends <- function(lower, upper) {
    data.frame(
      x = table[[lower]], xend = table[[upper]], y = table$at,
      yend = table$at, own
    )
  }
  wide <- wide_words(shown)
  list(
    if (!anyNA(table$line)) {
      picture_layer("vline", unique(data.frame(x = table$line, own)),
                    shown$words %||% "rule")
    },
    picture_layer("segment", ends("lower", "upper"), wide),
    picture_layer("segment", ends("lower_50", "upper_50"), "50% interval"),
    picture_layer("arrow", do.call(rbind, lapply(parts, `[[`, "arrows")), wide),
    picture_layer("point", data.frame(
      x = table$centre, y = table$at, own
    ), shown$estimate)
  )
}

wide_words <- function(shown) paste(percent(shown$level), "interval")

interval_key <- function(shown) {
  colour <- gibbsite_palette(1)
  rbind(
    plot_key(shown$estimate, colour, pch = 21),
    plot_key("50% interval", colour, lty = 1, lwd = 4),
    plot_key(wide_words(shown), colour, lty = 1, lwd = 1.3),
    rule_key(shown$words %||% "rule", shown = !is.null(shown$words))
  )
}

# Where a few intervals reach much further than the others, they are cut at the
# others' range, and arrows show that they go on: list(table, arrows, note).
clip_intervals <- function(table, line, log) {
  scale <- if (log) base::log else identity
  back <- if (log) exp else identity
  ends <- cbind(scale(table$lower), scale(table$upper))
  own <- ends[, 2L] - ends[, 1L]
  # a short interval far from the line is a clear effect, and is shown
  long <- own > 3 * stats::median(own, na.rm = TRUE) & !is.na(own)
  far <- squeezing(ends, scale(line), long)
  if (length(far) == 0L) {
    return(list(table = table))
  }
  limits <- range(ends[-far, ], scale(line), na.rm = TRUE)
  limits <- limits + c(-0.15, 0.15) * diff(limits)
  far <- far[ends[far, 1L] < limits[[1L]] | ends[far, 2L] > limits[[2L]]]
  cut <- function(x) back(pmin(pmax(scale(x), limits[[1L]]), limits[[2L]]))
  arrow <- function(side, from) {
    rows <- far[if (side == 1L) ends[far, 1L] < limits[[1L]] else
      ends[far, 2L] > limits[[2L]]]
    tip <- limits[[side]]
    data.frame(
      x = rep(back(tip + from * diff(limits)), length(rows)),
      y = table$at[rows], xend = rep(back(tip), length(rows)),
      yend = table$at[rows], table[rows, intersect("panel", names(table)),
                                   drop = FALSE]
    )
  }
  out <- table
  numbers <- c("lower", "upper", "lower_50", "upper_50")
  out[numbers] <- lapply(table[numbers], cut)
  out$centre[cut(table$centre) != table$centre] <- NA
  said <- utils::head(far, 3L)
  number <- function(x) trimws(vapply(x, format, "", digits = 3))
  list(
    table = out, arrows = rbind(arrow(1L, 0.02), arrow(2L, -0.02)),
    note = paste0(
      "Arrows: intervals that go on (", paste0(
        table$name[said], " from ", number(table$lower[said]), " to ",
        number(table$upper[said]), collapse = ", "
      ), if (length(far) > 3L) ", ...", ")"
    )
  )
}

# The rows, at most a third and among `may`, without which the range of all is
# less than a third as long.
squeezing <- function(ends, line, may = rep(TRUE, nrow(ends))) {
  kept <- seq_len(nrow(ends))
  width <- function(rows) diff(range(ends[rows, ], line, finite = TRUE))
  for (step in seq_len(min(sum(may), nrow(ends) %/% 3L))) {
    without <- vapply(seq_along(kept), function(i) {
      if (may[[kept[[i]]]]) width(kept[-i]) else Inf
    }, 0)
    kept <- kept[-which.min(without)]
    if (width(kept) < width(seq_len(nrow(ends))) / 3) {
      return(setdiff(seq_len(nrow(ends)), kept))
    }
  }
  integer()
}

# Whether some interval would be shorter than a twentieth of a common axis.
needs_own_scales <- function(shown) {
  table <- shown$table
  width <- table$upper - table$lower
  nrow(table) > 1L && nrow(table) <= 30L && all(is.finite(width)) &&
    min(width) < diff(range(
      table[c("lower", "upper")], shown$line, na.rm = TRUE
    )) / 20
}

# The units of coefficients in a plot: list(factor, per). With per = "sd"
# columns with more than two values, but not those of factors, are shown per
# standard deviation; others, and all if the design x is not there, per unit;
# indicators of factors are of a "level", other contrasts of a "contrast"; the
# intercept, and the levels of a factor without one, are a "value". columns: the
# names of x; design: of the model.
column_units <- function(x, chosen, columns, per, design) {
  levels <- of_factors(chosen, design)
  coded <- names(Filter(function(contrast) {
    !is_plain_string(contrast) ||
      !contrast %in% c("contr.treatment", "contr.SAS")
  }, design$contrasts))
  contrasts <- levels & vapply(strsplit(chosen, ":", TRUE), function(parts) {
    any(vapply(coded, function(name) any(startsWith(parts, name)), NA))
  }, NA)
  values <- levels & !grepl(":", chosen, fixed = TRUE) &
    !"(Intercept)" %in% columns
  many <- !levels &
    vapply(match(chosen, columns), function(j) {
      per == "sd" && !is.null(x) && length(unique(column_of(x, j))) > 2L
    }, NA)
  factor <- rep(1, length(chosen))
  factor[many] <- vapply(match(chosen[many], columns), function(j) {
    stats::sd(column_of(x, j))
  }, 0)
  per <- ifelse(many, "sd", ifelse(levels, "level", "unit"))
  per[contrasts] <- "contrast"
  per[values | chosen == "(Intercept)"] <- "value"
  list(factor = factor, per = per)
}

# The levels of factors and of logical variables, by name.
design_levels <- function(design) {
  classes <- attr(design$terms, "dataClasses")
  logical <- names(classes)[classes == "logical"]
  c(design$xlevels, lapply(stats::setNames(nm = logical), function(name) {
    c("FALSE", "TRUE")
  }))
}

# Whether columns are contrasts of factors, or products of these alone.
of_factors <- function(columns, design) {
  known <- design_levels(design)
  factors <- names(known) %||% character()
  numeric <- setdiff(names(attr(design$terms, "dataClasses")), factors)
  # a level may have a colon
  levels <- unlist(Map(paste0, factors, known))
  columns %in% levels | vapply(strsplit(columns, ":", TRUE), function(parts) {
    all(vapply(parts, function(part) {
      any(startsWith(part, factors)) && !part %in% numeric
    }, NA))
  }, NA)
}

# "race: black" for `raceblack`, "age * race: black" for `age:raceblack`.
coefficient_words <- function(columns, design) {
  classes <- attr(design$terms, "dataClasses")
  levels <- design_levels(design)
  names <- unlist(Map(paste0, names(levels), levels))
  words <- unlist(Map(function(name, of) {
    paste0(sub("^(factor|as.factor)\\((.*)\\)$", "\\2", name), ": ", of)
  }, names(levels), levels))
  one <- function(column) {
    if (column %in% names) words[[match(column, names)]] else column
  }
  out <- vapply(columns, function(column) {
    if (column %in% c(names, names(classes))) {
      return(one(column))
    }
    parts <- strsplit(column, ":", TRUE)[[1L]]
    if (any(parts %in% names)) {
      paste(vapply(parts, one, ""), collapse = " * ")
    } else {
      column
    }
  }, "", USE.NAMES = FALSE)
  gsub("`", "", out, fixed = TRUE)
}
