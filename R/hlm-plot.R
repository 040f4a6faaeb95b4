# Pictures of the groups of a regression.

# A panel for each term, if there are several: the coefficients of at most 40
# groups, those with the largest |coefficient - fixed effect| / sd.
picture_groups <- function(fit, terms, level) {
  model <- fit_part(fit, "model")
  parts <- lapply(terms, function(term) {
    from <- mean_coefficient(fit, term)
    levels <- group_term(model, term)$levels
    few <- if (length(levels) > 40L) {
      clearest(
        group_moments(fit, term), TRUE, "groups", from = from,
        those = "furthest from the line, in standard deviations"
      )
    } else {
      list(rows = seq_along(levels))
    }
    wide <- group_coefficients(
      fit, term, c(level, 0.5), few$rows, if (is.null(few$note)) Inf else 1000
    )
    wide <- wide[order(wide$mean, decreasing = TRUE), ]
    if (!is.null(few$note)) wide <- with_gap(wide, from, length(levels))
    data.frame(
      name = rownames(wide), centre = wide$mean, lower = wide$lower,
      upper = wide$upper, lower_50 = wide$lower_50, upper_50 = wide$upper_50,
      panel = group_coefficient_words(fit, term), line = from,
      note = few$note %||% NA_character_
    )
  })
  table <- do.call(rbind, parts)
  factors <- unique(vapply(terms, function(term) {
    group_term(model, term)$name
  }, ""))
  several <- length(terms) > 1L
  words <- unique(vapply(terms, line_words, "", fit = fit))
  note <- table$note[!duplicated(table$panel)]
  if (several && !anyNA(note)) {
    note <- paste0(unique(table$panel), ": ", note)
  }
  shown <- intervals_shown(
    stats::setNames(table$centre, table$name),
    table[c("lower", "upper")], table[c("lower_50", "upper_50")], level,
    if (!several) table$panel[[1L]], table$line,
    paste(words, collapse = " or "), note = note[!is.na(note)],
    ylab = if (length(factors) > 1L) "" else factors,
    beside = several
  )
  if (several) {
    shown$table$panel <- factor(table$panel, unique(table$panel))
  }
  picture_intervals(shown)
}

# A row without numbers where the groups that are left out would stand: those
# before have larger means than `from`. all: the number of groups.
with_gap <- function(table, from, all) {
  gap <- table[NA_integer_, ]
  rownames(gap) <- paste("...", digits(all - nrow(table)), "others ...")
  above <- table$mean > from
  rbind(table[above, ], gap, table[!above, ])
}

# What the line of mean_coefficient() is.
line_words <- function(fit, term) {
  at <- group_term(fit_part(fit, "model"), term)
  if (at$term %in% names(fixed_effects(fit))) "fixed effect" else "zero"
}

# The terms that vary between groups: the number of the bar, the name of its
# groups, the term, and how plot() names it: with several bars "term | groups".
term_table <- function(model) {
  bars <- predictor_bars(model)
  terms <- lapply(bars, function(bar) bar$design$bar)
  f <- rep(seq_along(bars), lengths(terms))
  term <- unlist(terms, use.names = FALSE)
  name <- names(bars)[f]
  id <- if (length(bars) > 1L) paste(term, "|", name) else term
  data.frame(f, name, term, id)
}

group_terms <- function(model) term_table(model)$id

# list(f, name, term, id, levels) of one of these.
group_term <- function(model, id) {
  table <- term_table(model)
  at <- as.list(table[match(id, table$id), ])
  levels <- model$levels
  c(at, list(levels = if (is.list(levels)) levels[[at$name]] else levels))
}

# The rows to predict for a coefficient of groups, by their numbers.
group_rows <- function(model, term, groups) {
  table <- term_table(model)
  at <- group_term(model, term)
  only <- function(chosen) {
    matrix(as.double(chosen), length(groups), length(chosen), byrow = TRUE)
  }
  list(
    x = only(model$coefficients == at$term), z = only(table$id == at$id),
    group = groups, codes = outer(groups, unique(table$f) == at$f),
    names = at$levels[groups]
  )
}

# A data frame with the columns mean, sd, lower and upper, and lower_50 and
# upper_50 if `level` has 0.5 as its second element, and a row for each of the
# groups: the coefficient of one term before the bar, or its deviation, from at
# most `most` draws.
group_coefficients <- function(fit, term, level, groups = seq_along(
                                 group_term(fit_part(fit, "model"), term)$levels
                               ), most = Inf, deviation = FALSE,
                               measured = FALSE) {
  model <- fit_part(fit, "model")
  # of fits of imputed data each has moments by its own data
  parts <- if (is_imputed(fit)) imputed_parts(fit) else list(fit)
  moments <- lapply(parts, function(part) {
    draws <- some_draws(part, most / length(parts))
    view <- predictor_view(fit_part(part, "model"), draws, term)
    rows <- group_rows(view$model, view$term, groups)
    if (deviation) rows$x[] <- 0
    predictor_moments(view$model, view$draws, rows)
  })
  at <- lapply(c(mean = "mean", sd = "sd"), function(name) {
    do.call(rbind, lapply(moments, `[[`, name))
  })
  tables <- lapply(level, function(one) {
    mean_responses(normal_response(), at, central_tails(one))
  })
  out <- tables[[1L]]
  if (length(level) > 1L) {
    out[c("lower_50", "upper_50")] <- tables[[2L]][c("lower", "upper")]
  }
  if (measured) {
    measures <- worst_measures(Map(function(part, at) {
      size <- c(nrow(at$mean) / length(part), length(part), ncol(at$mean))
      diagnose_anew(array(at$mean, size, list(NULL, NULL, groups)))
    }, parts, moments))
    out[c("rhat", "ess")] <- measures[c("rhat", "ess_bulk")]
  }
  data.frame(out, row.names = group_term(model, term)$levels[groups])
}

# list(mean, sd) of the coefficient of one term in every group, from at most 100
# draws: they choose the groups that are drawn.
group_moments <- function(fit, term) {
  model <- fit_part(fit, "model")
  draws <- some_draws(fit, 100)
  levels <- group_term(model, term)$levels
  view <- predictor_view(model, draws, term)
  rows <- group_rows(view$model, view$term, seq_along(levels))
  parts <- lapply(
    row_blocks(length(rows$group), nrow(draws), most = 4e6), function(i) {
      at <- predictor_moments(view$model, view$draws, rows_at_places(rows, i))
      within <- if (is.null(at$sd)) 0 else colMeans(at$sd^2)
      list(
        mean = colMeans(at$mean),
        sd = sqrt(within + apply(at$mean, 2L, stats::var))
      )
    }
  )
  each <- function(name) unlist(lapply(parts, `[[`, name))
  list(mean = stats::setNames(each("mean"), levels), sd = each("sd"))
}

# The posterior mean of the element of mu_w that belongs to a term.
mean_coefficient <- function(fit, term) {
  fixed <- fixed_effects(fit)
  term <- group_term(fit_part(fit, "model"), term)$term
  if (term %in% names(fixed)) fixed[[term]] else 0
}

group_coefficient_words <- function(fit, term) {
  at <- group_term(fit_part(fit, "model"), term)
  what <- if (is_unordered(model_response(fit_part(fit, "model")))) {
    at$term
  } else {
    coefficient_labels(at$term)
  }
  paste(what, "by", at$name)
}

# Least squares estimates from each group's rows, groups x terms; NA where the
# rows do not determine them.
own_coefficients <- function(fit, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  fixed <- fixed_effects(fit)
  others <- !model$coefficients %in% model$layout$bar
  y <- frame$y - (frame$offset %||% 0) -
    drop(frame$x[, others, drop = FALSE] %*% fixed[others])
  root <- sqrt(frame$weights %||% rep(1, length(y)))
  rows <- split(
    which(rows_used(frame)), factor(
      frame$group[rows_used(frame)], levels = seq_along(frame$levels)
    )
  )
  out <- vapply(rows, function(i) {
    factors <- qr(root[i] * frame$z[i, , drop = FALSE])
    if (factors$rank < ncol(frame$z)) {
      return(rep(NA_real_, ncol(frame$z)))
    }
    qr.coef(factors, root[i] * y[i])
  }, numeric(ncol(frame$z)))
  matrix(
    out, ncol = ncol(frame$z), byrow = TRUE,
    dimnames = list(frame$levels, model$layout$bar)
  )
}

# The table has a row for each group and term: group, own (the least squares
# estimate), mean, panel. Of many groups the means are those of 100 draws.
picture_shrinkage <- function(fit, terms, call) {
  model <- fit_part(fit, "model")
  own <- own_coefficients(fit, call)
  found <- !is.na(own[, 1L])
  if (!any(found)) {
    abort_argument(
      c("{.arg type} cannot be {.val shrinkage}: the rows of no group determine
         its coefficients.",
        i = "{.code type = \"groups\"} does not need them."),
      call = call
    )
  }
  many <- sum(found) > 60L
  mean <- if (length(found) > 300L) {
    lapply(stats::setNames(nm = terms), function(term) {
      group_moments(fit, term)$mean
    })
  } else {
    stats::coef(fit)[[1L]]
  }
  table <- do.call(rbind, lapply(terms, function(term) {
    data.frame(
      group = model$levels[found], own = own[found, term],
      mean = mean[[term]][found], panel = group_coefficient_words(fit, term),
      line = mean_coefficient(fit, term), row.names = NULL
    )
  }))
  table$panel <- factor(table$panel, unique(table$panel))
  several <- length(terms) > 1L
  panel <- table[if (several) "panel"]
  alpha <- if (many) max(0.1, min(0.4, 40 / sum(found))) else 1
  words <- paste(unique(vapply(terms, line_words, "", fit = fit)),
                 collapse = " or ")
  picture(
    table, list(
      picture_layer("hline", unique(data.frame(y = table$line, panel)), words),
      picture_layer("segment", data.frame(
        x = 1, y = table$own, xend = 2, yend = table$mean, panel
      ), "group", alpha),
      picture_layer("point", data.frame(
        x = rep(1:2, each = nrow(table)), y = c(table$own, table$mean),
        panel[rep(seq_len(nrow(table)), 2L), , drop = FALSE],
        size = if (many) 0.8 else 1.5
      ), "estimate", alpha)
    ), rbind(
      plot_key("group", gibbsite_palette(1), lty = 1, lwd = 1),
      plot_key("estimate", gibbsite_palette(1), pch = 21, shown = FALSE),
      rule_key(words, shown = TRUE)
    ), x = picture_axis(
      at = 1:2, labels = c("least squares", "posterior mean")
    ), y = picture_axis(
      if (!several) as.character(table$panel[[1L]]), free = several
    ), note = if (!all(found)) {
      paste(sum(!found), "of", length(found), "groups left out")
    }, panels = if (several) {
      data.frame(panel = levels(table$panel), title = levels(table$panel))
    }
  )
}
