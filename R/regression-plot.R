# Parts of the plots of regressions.

# Estimates with two intervals each, first one at the top. centre: estimates with
# names; wide, narrow: their intervals, a row each; `unit`: factors that bring
# them to one scale, one for each or one for all.
plot_coefficients <- function(centre, wide, narrow, unit, xlab, ...) {
  chosen <- names(centre)
  centre <- centre * unit
  wide <- wide * unit
  narrow <- narrow * unit
  at <- rev(seq_along(chosen))
  # room for the names, up to a third of the page
  inches <- max(graphics::strwidth(chosen, units = "inches", cex = 0.9))
  left <- min(inches + 0.25, graphics::par("din")[[1L]] / 3)
  line <- graphics::par("csi") * graphics::par("mex")
  old <- graphics::par(mai = c(4.1 * line, left, 1.1 * line, 1.1 * line))
  on.exit(graphics::par(old))
  defaults <- list(
    x = 0, y = 0, type = "n", xlim = range(wide, 0),
    ylim = c(0.5, length(at) + 0.5), yaxt = "n", xlab = xlab, ylab = "",
    bty = "n", las = 1
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::abline(v = 0, col = "grey70")
  graphics::axis(
    2, at, chosen, las = 1, tick = FALSE, line = -0.5, cex.axis = 0.9
  )
  colour <- gibbsite_palette(1)
  graphics::segments(wide[, 1L], at, wide[, 2L], at, col = colour, lwd = 1.5)
  graphics::segments(
    narrow[, 1L], at, narrow[, 2L], at, col = colour, lwd = 4.5, lend = 1
  )
  graphics::points(centre, at, pch = 21, bg = "white", col = colour, cex = 1.1)
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

draw_response_levels <- function(at, curve, variable, ylab, limits, ...) {
  colour <- gibbsite_palette(1)
  places <- seq_along(at)
  defaults <- list(
    x = places, y = curve$mean, type = "n", xlim = range(places) + c(-0.5, 0.5),
    ylim = limits, xaxt = "n", xlab = variable, ylab = ylab, las = 1, bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::axis(1, places, as.character(at))
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
  if (isTRUE(design$offset) && is.null(attr(design$terms, "offset"))) {
    mean(model$frame$offset %||% 0)
  }
}
