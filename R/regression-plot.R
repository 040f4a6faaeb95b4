# Parts of the plots of regressions.

# The coefficients that a plot shows: by default all but the intercept.
coefficients_to_plot <- function(variables, columns, call) {
  if (!is.null(variables)) {
    return(choose_variables(variables, columns, call))
  }
  slopes <- setdiff(columns, "(Intercept)")
  if (length(slopes) > 0L) slopes else columns
}

# centre: estimates with names.  interval(fit, level): parameters x (lower,
# upper).
plot_regression_coefficients <- function(fit, variables, centre, interval,
                                         level, call, ...) {
  model <- fit_part(fit, "model")
  chosen <- coefficients_to_plot(variables, model$coefficients, call)
  plot_coefficients(
    centre[chosen], interval(fit, level)[chosen, , drop = FALSE],
    interval(fit, 0.5)[chosen, , drop = FALSE],
    column_units(model$frame$x, match(chosen, model$coefficients)),
    paste("change in", model_design(model)$response$name), ...
  )
}

# Estimates with two intervals each, first one at the top. centre: estimates
# with names; wide, narrow: their intervals, a row each; `unit`: factors that
# bring them to one scale, one for each or one for all (column_units()); `line`:
# where the vertical line is; `named`: FALSE for thin lines without names.
plot_coefficients <- function(centre, wide, narrow, unit, xlab, line = 0,
                              named = TRUE, ...) {
  chosen <- names(centre)
  if (any(unit != 1)) {
    xlab <- paste(xlab, "per standard deviation")
  }
  centre <- centre * unit
  wide <- wide * unit
  narrow <- narrow * unit
  at <- rev(seq_along(chosen))
  old <- coefficient_margins(if (named) chosen)
  on.exit(graphics::par(old$par))
  defaults <- list(
    x = 0, y = 0, type = "n", xlim = range(wide, line),
    ylim = c(0.5, length(at) + 0.5), yaxt = "n", xlab = xlab, ylab = "",
    bty = "n", las = 1
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::abline(v = line, col = "grey70")
  if (named) {
    graphics::axis(
      2, at, chosen, las = 1, tick = FALSE, line = -0.5, cex.axis = old$size,
      gap.axis = 0
    )
  }
  colour <- gibbsite_palette(1)
  width <- if (named) old$size / 0.9 else 0.4
  graphics::segments(
    wide[, 1L], at, wide[, 2L], at, col = colour, lwd = 1.5 * width
  )
  graphics::segments(
    narrow[, 1L], at, narrow[, 2L], at, col = colour, lwd = 4.5 * width,
    lend = 1
  )
  graphics::points(
    centre, at, pch = 21, bg = "white", col = colour, cex = 1.1 * width
  )
}

# Makes room at the left for names, up to a third of the page: list(par, size),
# the former margins and the size at which the names do not overlap.
coefficient_margins <- function(names) {
  line <- graphics::par("csi") * graphics::par("mex")
  row <- (graphics::par("fin")[[2L]] - 5.2 * line) / max(length(names), 1L)
  size <- max(0.3, min(0.9, 0.8 * row / graphics::par("csi")))
  inches <- max(0, graphics::strwidth(names, units = "inches", cex = size))
  left <- min(inches + 0.25, graphics::par("din")[[1L]] / 3)
  list(
    par = graphics::par(mai = c(4.1 * line, left, 1.1 * line, 1.1 * line)),
    size = size
  )
}

# The variables of the formula as columns, from the model frame, or, if they are
# transformed (`log(x)`), from the data named in the call.
plain_variables <- function(fit, frame, call) {
  wanted <- all.vars(stats::delete.response(frame$terms))
  if (all(wanted %in% names(frame$model))) {
    return(as.data.frame(frame$model)[wanted])
  }
  found <- tryCatch(
    {
      data <- eval(stats::getCall(fit)$data, environment(frame$formula))
      plain <- stats::get_all_vars(stats::delete.response(frame$terms), data)
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
# newdata), the variable's values in the data and in newdata, where the other
# variables are typical. variable, clear: as for check_plot_variable().
response_grid <- function(fit, frame, variable, clear, call) {
  data <- if (is.null(frame$model)) {
    as.data.frame(as.matrix(frame$x), optional = TRUE)
  } else {
    plain_variables(fit, frame, call)
  }
  variable <- check_plot_variable(variable, names(data), clear, call)
  values <- data[[variable]]
  at <- if (is.numeric(values)) {
    seq_range(range(values), 200L)
  } else {
    sort(unique(values))
  }
  newdata <- typical_rows(data, length(at))
  newdata[[variable]] <- at
  if (is.null(frame$model)) {
    newdata <- as.matrix(newdata)
  }
  list(variable = variable, values = values, at = at, newdata = newdata)
}

# `n` equal rows: means, the middle of whole numbers, most frequent levels.
typical_rows <- function(data, n) {
  as.data.frame(lapply(data, function(values) {
    one <- if (is.numeric(values)) {
      if (length(unique(values)) > 2L) mean(values) else stats::median(values)
    } else if (is.logical(values)) {
      mean(values) > 0.5
    } else {
      counts <- table(values)
      often <- names(counts)[[which.max(counts)]]
      if (is.factor(values)) factor(often, levels = levels(values)) else often
    }
    rep(one, n)
  }), optional = TRUE)
}

draw_response_levels <- function(grid, curve, ylab, limits, ...) {
  colour <- gibbsite_palette(1)
  places <- seq_along(grid$at)
  defaults <- list(
    x = places, y = curve$mean, type = "n", xlim = range(places) + c(-0.5, 0.5),
    ylim = limits, xaxt = "n", xlab = grid$variable, ylab = ylab, las = 1,
    bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::axis(1, places, as.character(grid$at))
  graphics::segments(
    places, curve$lower, places, curve$upper, col = colour, lwd = 2
  )
  graphics::points(places, curve$mean, pch = 19, col = colour, cex = 1.2)
}

# The units of coefficients in a plot: the standard deviations of columns j with
# more than two values, 1 for others and if the design x is not there.
column_units <- function(x, j) {
  if (is.null(x)) {
    return(rep(1, length(j)))
  }
  vapply(j, function(j) {
    column <- column_of(x, j)
    if (length(unique(column)) > 2L) stats::sd(column) else 1
  }, 0)
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
