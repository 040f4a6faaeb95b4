# Parts of the plots of regressions.

# observations, black at 45%
grey_points <- "#00000073"

# The coefficients that a plot shows: by default all but the intercept.
coefficients_to_plot <- function(variables, columns, call) {
  if (!is.null(variables)) {
    return(choose_variables(variables, columns, call))
  }
  slopes <- setdiff(columns, "(Intercept)")
  if (length(slopes) > 0L) slopes else columns
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
        i = "{.code type = \"groups\"} draws the coefficients of the groups."),
      call = call
    )
  }
  chosen <- coefficients_to_plot(variables, columns, call)
  interval <- function(level) {
    parameter_interval(fit, level)[chosen, , drop = FALSE]
  }
  shown <- intervals_shown(
    coefficient_estimates(fit)$mean[chosen], interval(level), interval(0.5),
    level
  )
  units <- column_units(
    model$frame$x, chosen, columns, per, model_design(model)
  )
  if (odds) {
    odds_shown(shown, units)
  } else {
    in_units(shown, units, changed_words(model))
  }
}

# Coefficients in the units of column_units(), which the axis names; if they
# differ, each name has its own.
in_units <- function(shown, units, of, change = paste("change in", of)) {
  numbers <- setdiff(names(shown$table), "name")
  shown$table[numbers] <- shown$table[numbers] * units$factor
  slopes <- units$per != "value"
  shown$xlab <- if (!any(slopes)) {
    of
  } else if (all(slopes) && length(unique(units$per)) == 1L) {
    paste(change, "per", unit_words[[units$per[[1L]]]])
  } else {
    shown$table$name <- paste0(
      shown$table$name, c(sd = ", per sd", unit = ", per unit", value = "")[
        units$per
      ]
    )
    paste0(change, if (!all(slopes)) paste0(" (intercept: ", of, ")"))
  }
  shown
}

unit_words <- c(sd = "standard deviation", unit = "unit")

# The same as ratios of odds, on a logarithmic axis. Numbers stay within the
# range of a double, which coefficients of separated data leave.
odds_shown <- function(shown, units) {
  shown <- in_units(shown, units, "odds", "odds ratio")
  numbers <- setdiff(names(shown$table), "name")
  shown$table[numbers] <- exp(
    pmin(pmax(as.matrix(shown$table[numbers]), -690), 690)
  )
  shown[c("line", "words", "log")] <- list(1, "equal odds", TRUE)
  shown
}

# Estimates with two intervals each: list(table, level, xlab, line, words,
# named, log). centre: estimates with names; wide, narrow: their intervals, a
# row each; `line`: where the vertical line is, and `words` of it; `named`:
# FALSE for thin lines without names; `log`: whether the axis is logarithmic.
intervals_shown <- function(centre, wide, narrow, level, xlab = NULL, line = 0,
                            words = NULL, named = TRUE) {
  list(
    table = data.frame(
      name = names(centre), centre = unname(centre), lower = wide[, 1L],
      upper = wide[, 2L], lower_50 = narrow[, 1L], upper_50 = narrow[, 2L],
      row.names = NULL
    ),
    level = level, xlab = xlab, line = line, words = words, named = named,
    log = FALSE
  )
}

# shown: as from intervals_shown(); the first estimate is at the top.
plot_coefficients <- function(shown, ...) {
  table <- shown$table
  at <- rev(seq_len(nrow(table)))
  key <- interval_key(shown)
  old <- coefficient_margins(if (shown$named) table$name, key)
  on.exit(graphics::par(old$par))
  defaults <- list(
    x = shown$line, y = 0, type = "n", log = if (shown$log) "x" else "",
    xlim = range(table[c("lower", "upper")], shown$line),
    ylim = c(0.5, length(at) + 0.5), yaxt = "n", xlab = shown$xlab, ylab = "",
    bty = "n", las = 1, xaxt = "n"
  )
  given <- utils::modifyList(defaults, list(...))
  do.call(graphics::plot, given)
  if (is.null(list(...)$xaxt)) {
    draw_value_axis(given$las)
  }
  graphics::abline(v = shown$line, col = "grey70")
  width <- 0.4
  if (shown$named) {
    width <- min(1, old$size / 0.9)
    left_labels(at, table$name, old$size)
  }
  draw_intervals(table, at, width)
  draw_key(key)
  invisible()
}

# An axis as long as the plot is wide: R's own ends at its last tick, which may
# lie within an interval.
draw_value_axis <- function(las) {
  ticks <- graphics::axTicks(1)
  ends <- graphics::par("usr")[1:2]
  labels <- TRUE
  if (graphics::par("xlog")) {
    ends <- 10^ends
    labels <- plain_numbers(ticks)
  }
  graphics::axis(1, ends, labels = FALSE, lwd.ticks = 0)
  graphics::axis(1, ticks, labels, las = las, lwd = 0, lwd.ticks = 1)
}

# Labels of a logarithmic axis.
plain_numbers <- function(x) vapply(x, format, "", digits = 3, scientific = 4)

draw_intervals <- function(table, at, width) {
  colour <- gibbsite_palette(1)
  graphics::segments(
    table$lower, at, table$upper, at, col = colour, lwd = 1.5 * width
  )
  graphics::segments(
    table$lower_50, at, table$upper_50, at, col = colour, lwd = 4.5 * width,
    lend = 1
  )
  graphics::points(
    table$centre, at, pch = 21, bg = "white", col = colour, cex = 1.1 * width
  )
}

interval_key <- function(shown) {
  colour <- gibbsite_palette(1)
  key <- plot_key(
    c("50% interval", paste(percent(shown$level), "interval")),
    colour, lty = 1, lwd = c(4.5, 1.5)
  )
  if (!is.null(shown$words)) {
    key <- rbind(key, plot_key(shown$words, "grey70", lty = 1, lwd = 1.5))
  }
  key
}

# Names at the left of a plot: axis() would leave some out.
left_labels <- function(at, labels, size) {
  # in inches, for the axis may be logarithmic
  end <- graphics::grconvertX(0, "npc", "inches") -
    0.5 * graphics::strwidth("m", "inches", cex = size)
  graphics::text(
    graphics::grconvertX(end, "inches", "user"), at, labels, adj = c(1, 0.5),
    cex = size, xpd = NA
  )
}

# Each parameter on a scale of its own, in strips one below the other.
plot_own_scales <- function(shown, ...) {
  key <- interval_key(shown)
  table <- shown$table
  strips <- nrow(table)
  line <- graphics::par("csi")
  size <- if (strips > 8L) 0.6 else 0.8
  columns <- ceiling(strips / 15)
  room <- min(
    graphics::par("din")[[1L]] / columns / 3, label_width(table$name, 0.9) + 0.3
  )
  old <- set_par(
    mfrow = c(ceiling(strips / columns), columns), cex = size,
    oma = c(2 + max(key_rows(key, graphics::par("din")[[1L]])), 0, 0.5, 0),
    mai = c(1.5 * size * line, room, 0.3 * size * line, 0.2),
    mgp = c(1, 0.3, 0), tcl = -0.2
  )
  on.exit(graphics::par(old))
  for (i in seq_len(strips)) {
    one <- table[i, ]
    defaults <- list(
      x = 0, y = 0, type = "n", xlim = range(one[c("lower", "upper")]),
      ylim = c(0.5, 1.5), xaxt = "n", yaxt = "n", xlab = "", ylab = "",
      bty = "n", las = 1
    )
    given <- utils::modifyList(defaults, list(...))
    do.call(graphics::plot, given)
    if (is.null(list(...)$xaxt)) {
      draw_value_axis(given$las)
    }
    graphics::abline(v = shown$line, col = "grey70")
    left_labels(1, one$name, 0.9 / graphics::par("cex"))
    draw_intervals(one, 1, 1)
  }
  graphics::mtext(
    paste0(shown$xlab, ", each on a scale of its own"), side = 1, outer = TRUE,
    line = 0.3, cex = 0.9
  )
  draw_page_key(key)
}

# Whether some interval would be shorter than a twentieth of a common axis.
needs_own_scales <- function(shown) {
  table <- shown$table
  width <- table$upper - table$lower
  nrow(table) > 1L && nrow(table) <= 30L && all(is.finite(width)) &&
    min(width) < diff(range(table[c("lower", "upper")], shown$line)) / 20
}

# Makes room at the left for names, up to a third of the page, and below for the
# key: list(par, size), the former margins and the size at which the names do
# not overlap.
coefficient_margins <- function(names, key) {
  line <- graphics::par("csi") * graphics::par("mex")
  below <- 3.8 * line + max(key_rows(key, graphics::par("fin")[[1L]])) *
    key_line()
  room <- graphics::par("fin")[[2L]] - below - 1.1 * line
  # a digit takes three quarters of its font's height
  row <- room / max(length(names), 1L)
  size <- max(0.3, min(0.9, 1.15 * row / graphics::par("csi")))
  left <- min(
    label_width(names, size) + 0.2, graphics::par("din")[[1L]] / 3
  )
  list(
    par = set_par(
      mai = c(below, left, 1.1 * line, 1.1 * line), mgp = c(2.4, 0.7, 0)
    ),
    size = size
  )
}

# The variables of the formula as columns, from the model frame, or, if they are
# transformed (`log(x)`), from the data named in the call.
plain_variables <- function(fit, frame, call) {
  wanted <- setdiff(
    all.vars(stats::delete.response(frame$terms)), all.vars(frame$group_expr)
  )
  if (all(wanted %in% names(frame$model))) {
    return(as.data.frame(frame$model)[wanted])
  }
  found <- tryCatch(
    {
      data <- eval(stats::getCall(fit)$data, environment(stats::formula(fit)))
      terms <- stats::delete.response(in_its_space(frame$terms))
      plain <- stats::get_all_vars(terms, data)
      plain[frame$row_names, , drop = FALSE]
    },
    error = function(cnd) NULL
  )
  if (is.null(found) || nrow(found) != length(frame$y) || anyNA(found)) {
    abort_argument(
      c("The response curve needs the variables as they are in the data, which
         cannot be found.",
        i = "Use {.fn predict} with {.arg newdata}."),
      call = call
    )
  }
  found
}

# The rows along which a response curve goes: list(variable, values, at,
# newdata, others), the variable's values in the data and in newdata, where the
# other variables are typical; `others` says where, in words.
# variable, clear: as for check_plot_variable().
response_grid <- function(fit, frame, variable, clear, call) {
  data <- if (is.null(frame$model)) {
    model <- fit_part(fit, "model")
    stats::setNames(
      as.data.frame(as.matrix(frame$x)), coefficient_columns(model)
    )
  } else {
    plain_variables(fit, frame, call)
  }
  variable <- check_curve_variable(variable, data, clear, call)
  made_factors <- unlist(lapply(names(frame$xlevels), function(name) {
    all.vars(str2lang(name))
  }))
  values <- data[[variable]]
  at <- sort(unique(values))
  if (variable %in% made_factors) {
    values <- factor(match(values, at), seq_along(at), id_words(at))
  } else if (is.numeric(values)) {
    at <- seq_range(range(values), 200L)
  }
  typical <- Map(typical_value, data, names(data) %in% made_factors)
  newdata <- structure(
    lapply(typical, repeat_rows, length(at)), names = names(data),
    class = "data.frame", row.names = seq_along(at)
  )
  newdata[[variable]] <- at
  if (is.null(frame$model)) {
    newdata <- as.matrix(newdata)
  }
  others <- setdiff(names(data), c(variable, "(Intercept)"))
  list(
    variable = variable, values = values, at = at, newdata = newdata,
    others = typical_words(typical[others])
  )
}

# A variable that is a matrix has no curve.
check_curve_variable <- function(variable, data, clear, call) {
  matrices <- names(data)[lengths(lapply(data, dim)) > 1L]
  if (is_plain_string(variable) && variable %in% matrices ||
        length(matrices) == length(data) && length(matrices) > 0L) {
    shown <- variable %||% matrices[[1L]]
    abort_argument(
      c("Variable {.val {shown}} is a matrix: it has no response curve.",
        i = "{.code type = \"coefficients\"} draws the slopes of its columns."),
      call = call
    )
  }
  check_plot_variable(variable, setdiff(names(data), matrices), clear, call)
}

# A mean, the middle of two numbers, the most frequent level. is_level: whether
# the formula makes levels of the values, as factor(x) does.
typical_value <- function(values, is_level) {
  if (length(dim(values)) > 1L) {
    return(t(colMeans(values)))
  }
  if (is.numeric(values) && !is_level) {
    two <- length(unique(values)) <= 2L
    return(if (two) stats::median(values) else mean(values))
  }
  if (!is.null(time_kind(values)) && !is_level) {
    return(mean(values))
  }
  if (is.logical(values)) {
    return(mean(values) > 0.5)
  }
  at <- sort(unique(values))
  at[[which.max(tabulate(match(values, at)))]]
}

repeat_rows <- function(value, n) {
  if (is.matrix(value)) value[rep(1L, n), , drop = FALSE] else rep(value, n)
}

# "hp = 147", "cyl = 4"
typical_words <- function(typical) {
  values <- vapply(typical, function(value) {
    if (is.matrix(value)) {
      return("its means")
    }
    if (is.numeric(value)) format(value, digits = 3) else format(value)
  }, "")
  paste(names(typical), "=", values, recycle0 = TRUE)
}

# "at hp = 147, cyl = 4 and 2 more"; NULL if there are no others
others_text <- function(words, most = length(words)) {
  if (length(words) == 0L) {
    return(NULL)
  }
  more <- length(words) - most
  paste0(
    "at ", paste(utils::head(words, most), collapse = ", "),
    if (more > 0L) paste(" and", more, "more")
  )
}

# Where the other variables stand, as many as there is room for, above a plot
# without a title.
draw_others <- function(grid, ...) {
  if (length(grid$others) == 0L || !is.null(list(...)$main)) {
    return(invisible())
  }
  texts <- vapply(seq_along(grid$others), others_text, "", words = grid$others)
  fit <- graphics::strwidth(texts, "inches", cex = 0.8) <=
    graphics::par("pin")[[1L]]
  graphics::mtext(
    texts[[max(1L, which(fit))]], adj = 0, line = 0.3, cex = 0.8, col = "grey35"
  )
}

# y: observations to draw behind the levels, NULL for none
draw_response_levels <- function(grid, curve, ylab, limits, level, y = NULL,
                                 ...) {
  colour <- gibbsite_palette(1)
  places <- seq_along(grid$at)
  labels <- id_words(grid$at)
  key <- plot_key(
    c("mean", paste0(percent(level), " interval")), colour,
    lty = c(NA, 1), pch = c(19, NA)
  )
  if (!is.null(y)) {
    key <- rbind(key, plot_key("observation", grey_points, pch = 19))
  }
  # names that do not fit side by side are turned
  slot <- (graphics::par("fin")[[1L]] - 1) / length(places)
  turned <- label_width(labels, 0.9) > 0.92 * slot
  below <- if (turned) {
    label_width(labels, 0.9) / graphics::par("csi") + 2.8
  } else {
    3.8
  }
  old <- open_keyed(key, c(below, 4.1, 1.6, 1.1))
  on.exit(graphics::par(old))
  defaults <- list(
    x = places, y = curve$mean, type = "n", xlim = range(places) + c(-0.5, 0.5),
    ylim = limits, xaxt = "n", xlab = "", ylab = ylab, las = 1, bty = "l"
  )
  given <- utils::modifyList(defaults, list(...))
  do.call(graphics::plot, given)
  graphics::axis(
    1, places, labels, las = if (turned) 2 else 1, gap.axis = -1,
    cex.axis = 0.9
  )
  if (is.null(list(...)$xlab)) {
    graphics::title(xlab = grid$variable, line = below - 1.2)
  }
  if (!is.null(y)) {
    graphics::points(
      match(id_words(grid$values), labels), y, pch = 19, cex = 0.6,
      col = grey_points
    )
  }
  graphics::segments(
    places, curve$lower, places, curve$upper, col = colour, lwd = 2
  )
  graphics::points(places, curve$mean, pch = 19, col = colour, cex = 1.2)
  draw_others(grid, ...)
  draw_key(key)
}

# The units of coefficients in a plot: list(factor, per). With per = "sd"
# columns with more than two values, but not those of factors, are shown per
# standard deviation; others, and all if the design x is not there, per unit;
# the intercept is a "value". columns: the names of x; design: of the model.
column_units <- function(x, chosen, columns, per, design) {
  many <- !of_factors(chosen, design) &
    vapply(match(chosen, columns), function(j) {
      per == "sd" && !is.null(x) && length(unique(column_of(x, j))) > 2L
    }, NA)
  factor <- rep(1, length(chosen))
  factor[many] <- vapply(match(chosen[many], columns), function(j) {
    stats::sd(column_of(x, j))
  }, 0)
  per <- ifelse(many, "sd", "unit")
  per[chosen == "(Intercept)"] <- "value"
  list(factor = factor, per = per)
}

# Whether columns are contrasts of factors, or products of these alone.
of_factors <- function(columns, design) {
  factors <- names(design$xlevels) %||% character()
  numeric <- setdiff(names(attr(design$terms, "dataClasses")), factors)
  # a level may have a colon
  levels <- unlist(Map(paste0, factors, design$xlevels))
  columns %in% levels | vapply(strsplit(columns, ":", TRUE), function(parts) {
    all(vapply(parts, function(part) {
      any(startsWith(part, factors)) && !part %in% numeric
    }, NA))
  }, NA)
}

check_per <- function(per, call = rlang::caller_env()) {
  check_choice(per, c("sd", "unit"), arg = "per", call = call)
}

# The variable along which a plot goes; by default the one with the largest
# `clear`, a vector with the names of coefficients.
check_plot_variable <- function(variable, names, clear, call) {
  names <- setdiff(names, "(Intercept)")
  if (!is.null(variable)) {
    if (!is_plain_string(variable) || !variable %in% names) {
      given <- describe(variable)
      abort_argument(
        "{.arg variable} must be one of {.val {names}}, not {given}.",
        call = call
      )
    }
    return(variable)
  }
  if (length(names) == 0L) {
    abort_argument("The model has no variables to show.", call = call)
  }
  clear <- clear[names]
  if (all(is.na(clear))) names[[1L]] else names[[which.max(clear)]]
}

# The mean of an offset that was an argument of the fit; NULL if there is none.
typical_offset <- function(model) {
  design <- model_design(model)
  if (isTRUE(design$offset)) {
    mean(model$frame$model[["(offset)"]] %||% model$frame$offset %||% 0)
  }
}

# ---- response curve

# list(grid, mean, new, frame, ylab): the expected response along a variable,
# and new ones of a normal response. With groups the curve is that of a group
# without deviations, and new responses are those of a new group.
response_shown <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  response <- model_response(model)
  frame <- check_frame(model, call)
  estimate <- coefficient_estimates(fit)
  grid <- response_grid(
    fit, frame, variable, abs(estimate$mean / estimate$sd), call
  )
  rows <- rows_to_predict(
    model, grid$newdata, typical_offset(model), NA, TRUE, call
  )
  rows$size <- rep(1, nrow(rows$x))
  curve <- function(interval) {
    prediction_table(fit, rows, "response", interval, level)
  }
  out <- list(grid = grid, mean = curve("mean"), frame = frame)
  if (is.null(frame$total)) {
    rows$group <- if (has_groups(model)) {
      rep(length(model$levels) + 1L, nrow(rows$x))
    }
    out$new <- curve("prediction")
    out$ylab <- frame$response$name
  } else {
    out$ylab <- paste("probability of", success_words(frame))
  }
  out
}

plot_response <- function(fit, variable, level, call, ...) {
  shown <- response_shown(fit, variable, level, call)
  y <- shown$frame$y
  limits <- if (is.null(shown$new)) {
    y <- NULL
    0:1
  } else {
    range(shown$new$lower, shown$new$upper, y, na.rm = TRUE)
  }
  if (!is.numeric(shown$grid$values)) {
    draw_response_levels(
      shown$grid, shown$mean, shown$ylab, limits, level, y, ...
    )
  } else if (is.null(shown$new)) {
    draw_response_curve(shown, level, ...)
  } else {
    draw_line(shown, limits, level, ...)
  }
}

success_words <- function(frame) {
  response <- frame$response
  switch(response$kind,
    factor = paste(response$name, "=", response$levels[[2L]]),
    counts = "success",
    number = paste(response$name, "= 1"),
    response$name
  )
}

draw_response_curve <- function(shown, level, ...) {
  grid <- shown$grid
  curve <- shown$mean
  frame <- shown$frame
  colour <- gibbsite_palette(1)
  band <- grDevices::adjustcolor(colour, 0.2)
  counts <- !is.null(frame$trials)
  at <- grid$at
  key <- rbind(
    plot_key("mean", colour, lty = 1),
    plot_key(paste0(percent(level), " band"), fill = band),
    plot_key(
      if (counts) "observed proportion" else "observed: top yes, bottom no",
      grey_points, pch = if (counts) 19 else 124
    )
  )
  old <- open_keyed(key)
  on.exit(graphics::par(old))
  defaults <- list(
    x = at, y = curve$mean, type = "n", ylim = c(-0.05, 1.05),
    xlab = grid$variable, ylab = shown$ylab, las = 1, bty = "l", yaxs = "i"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::polygon(
    c(at, rev(at)), c(curve$lower, rev(curve$upper)), border = NA, col = band
  )
  graphics::lines(at, curve$mean, col = colour, lwd = 2)
  if (counts) {
    graphics::points(
      grid$values, frame$y, pch = 19, col = grey_points,
      cex = 0.5 + sqrt(frame$trials / max(frame$trials))
    )
  } else {
    middle <- ifelse(frame$y > 0.5, 1.03, -0.03)
    graphics::segments(
      grid$values, middle - 0.015, grid$values, middle + 0.015,
      col = grey_points
    )
  }
  draw_others(grid, ...)
  draw_key(key)
}

draw_line <- function(shown, limits, level, ...) {
  colour <- gibbsite_palette(1)
  band <- grDevices::adjustcolor(colour, 0.25)
  at <- shown$grid$at
  mean <- shown$mean
  words <- percent(level)
  key <- rbind(
    plot_key("mean", colour, lty = 1),
    plot_key(paste(words, "of the mean"), fill = band),
    plot_key(paste(words, "of new observations"), colour, lty = 3),
    plot_key("observation", grey_points, pch = 19)
  )
  old <- open_keyed(key)
  on.exit(graphics::par(old))
  defaults <- list(
    x = at, y = mean$mean, type = "n", ylim = limits,
    xlab = shown$grid$variable, ylab = shown$frame$ylab, las = 1, bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::polygon(
    c(at, rev(at)), c(mean$lower, rev(mean$upper)), border = NA, col = band
  )
  graphics::matlines(
    at, cbind(shown$new$lower, shown$new$upper), col = colour, lty = 3,
    lwd = 1.5
  )
  graphics::points(
    shown$grid$values, shown$frame$y, pch = 19, cex = 0.7, col = grey_points
  )
  graphics::lines(at, mean$mean, col = colour, lwd = 2)
  draw_others(shown$grid, ...)
  draw_key(key)
}

# ---- calibration

calibration_shown <- function(fit, level, groups, call) {
  frame <- check_frame(fit_part(fit, "model"), call)
  calibration_table(fit, frame, level, groups, call)
}

plot_calibration <- function(fit, level, groups, call, ...) {
  table <- calibration_shown(fit, level, groups, call)
  colour <- gibbsite_palette(2)
  bar <- grDevices::adjustcolor(colour[[1L]], 0.45)
  key <- rbind(
    plot_key("observed", colour[[2L]], pch = 19),
    plot_key(
      paste0(percent(level), " interval if the model is right"), bar,
      lty = 1, lwd = 5
    )
  )
  old <- open_keyed(key, pty = "s")
  on.exit(graphics::par(old))
  defaults <- list(
    x = table$predicted, y = table$observed, type = "n", xlim = 0:1,
    ylim = 0:1, las = 1, bty = "l", xlab = "predicted probability",
    ylab = "observed proportion"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::abline(0, 1, col = "grey60", lty = 2)
  graphics::segments(
    table$predicted, table$lower, table$predicted, table$upper, col = bar,
    lwd = 5, lend = 1
  )
  graphics::points(
    table$predicted, table$observed, pch = 19, col = colour[[2L]], cex = 1.1
  )
  draw_key(key)
}

# Groups of equal numbers of trials by predicted probability. The intervals are
# of replicated data, so that they include both the binomial variation and the
# posterior uncertainty. They are computed from the fit's draws on a fixed
# stream, so that a plot can be reproduced.
calibration_table <- function(fit, frame, level, groups, call) {
  total <- frame$trials %||% rep(1, length(frame$y))
  if (is.null(groups)) {
    groups <- max(2, min(10, floor(sum(total) / 10)))
  }
  groups <- check_count(groups, min = 2, arg = "groups", call = call)
  rows <- rows_to_predict(
    fit_part(fit, "model"), NULL, NULL, NULL, FALSE, call
  )
  mean <- prediction_table(fit, rows, "response")$mean
  rank <- order(mean)
  passed <- cumsum(total[rank]) - total[rank] / 2
  group <- integer(length(mean))
  group[rank] <- pmin(
    floor(groups * passed / sum(total)), groups - 1
  ) + 1L
  seed <- fit_part(fit, "running")$seed
  stream <- spare_stream(seed, length(fit), "plot", call)
  replicated <- with_stream(stream, {
    posterior_predict(fit, ndraws = min(1000, ndraws(fit)))
  }, call)$value
  share <- rowsum(t(replicated), group) / as.vector(rowsum(total, group))
  tails <- central_tails(level)
  bounds <- apply(share, 1L, stats::quantile, tails, names = FALSE)
  sums <- function(v) as.vector(rowsum(v * total, group) / rowsum(total, group))
  data.frame(
    predicted = sums(mean), observed = sums(frame$y), lower = bounds[1L, ],
    upper = bounds[2L, ], trials = as.vector(rowsum(total, group))
  )
}
