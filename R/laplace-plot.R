# Plots of a Laplace approximation.

#' Plot a Laplace approximation
#'
#' The mode of each parameter with its intervals, or the draws.
#'
#' @param x A fit of [laplace()].
#' @param type `"coefficients"` (default): the mode of each parameter with its
#'   50% and `level` intervals, each on a scale of its own if some interval
#'   would be too short on a common one; or types of [plot.gibbsite_fit()] (the
#'   default if `variables` are given).
#' @param level Number between 0 and 1, default 0.95.
#' @param variables `NULL` for all parameters, or some of their names.
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type or variable.
#' @seealso [plot.gibbsite_regression()] for logistic regressions.
#' @examples
#' # a known density
#' fit <- laplace(
#'   function(x) -sum((x - 1)^2) / 2, c(a = 0, b = 0),
#'   gradient = function(x) 1 - x, hessian = function(x) -diag(2), seed = 1
#' )
#' plot(fit)
#' @export
plot.gibbsite_laplace <- function(x, type = NULL, level = 0.95,
                                  variables = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  type <- check_plot_types(
    default_types(type, variables, "coefficients"), call, "coefficients"
  )
  if (!identical(type, "coefficients")) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- check_level(level)
  chosen <- choose_variables(
    variables, fit_part(x, "model")$columns, call
  )
  shown <- laplace_coefficients_shown(x, chosen, level, "value")
  if (needs_own_scales(shown)) {
    plot_own_scales(shown, ...)
  } else {
    plot_coefficients(shown, ...)
  }
  invisible(x)
}

laplace_coefficients_shown <- function(fit, chosen, level, xlab = NULL) {
  intervals_shown(
    coefficient_estimates(fit)$mean[chosen],
    parameter_interval(fit, level)[chosen, , drop = FALSE],
    parameter_interval(fit, 0.5)[chosen, , drop = FALSE], level, xlab
  )
}
