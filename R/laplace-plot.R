# Plots of a Laplace approximation.

#' Plot a Laplace approximation
#'
#' @param x A fit of [laplace()].
#' @param type `"coefficients"` (default): the mode of each parameter with its
#'   50% and `level` intervals; or types of [plot.gibbsite_fit()].
#' @param level Number between 0 and 1, default 0.95.
#' @param variables `NULL` for all parameters, or some of their names.
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type or variable.
#' @seealso [plot.laplace_logistic()] for logistic regressions.
#' @examples
#' # a known density
#' fit <- laplace(
#'   function(x) -sum((x - 1)^2) / 2, c(a = 0, b = 0),
#'   gradient = function(x) 1 - x, hessian = function(x) -diag(2), seed = 1
#' )
#' plot(fit)
#' @export
plot.laplace <- function(x, type = "coefficients", level = 0.95,
                         variables = NULL, ...) {
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  type <- check_plot_types(type, call, "coefficients")
  if (!identical(type, "coefficients")) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  chosen <- choose_variables(
    variables, fit_part(x, "model")$columns, call
  )
  plot_coefficients(x, chosen, level, 1, "value", ...)
  invisible(x)
}

# Estimates with two intervals each, first one at the top; `unit`: factors that
# bring them to one scale, one for each or one for all.
plot_coefficients <- function(fit, chosen, level, unit, xlab, ...) {
  centre <- laplace_estimates(fit)$mean[chosen] * unit
  wide <- laplace_interval(fit, level)[chosen, , drop = FALSE] * unit
  narrow <- laplace_interval(fit, 0.5)[chosen, , drop = FALSE] * unit
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
