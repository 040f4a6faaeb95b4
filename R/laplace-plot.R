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
#' @param variables `NULL` for all parameters, or, of more than 40, those with
#'   the largest |mean| / sd; otherwise some of their names.
#' @param ... Graphical parameters; `main` stands in the place of the note
#'   above the picture.
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
  draw_base(picture_laplace(x, type, level, variables, call, ...), list(...))
  invisible(x)
}

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_laplace <- function(object, type = NULL, level = 0.95,
                                      variables = NULL, ...) {
  check_no_more(...)
  draw_ggplot(picture_laplace(
    object, type, level, variables, rlang::current_env()
  ))
}

picture_laplace <- function(fit, type, level, variables, call, ...) {
  type <- check_plot_types(
    default_types(type, variables, "coefficients"), call, "coefficients"
  )
  if (!identical(type, "coefficients")) {
    return(picture_chains(fit, type, variables, call, ...))
  }
  level <- check_level(level, call = call)
  chosen <- choose_variables(variables, fit_part(fit, "model")$columns, call)
  estimate <- lapply(coefficient_estimates(fit), `[`, chosen)
  few <- clearest(estimate, is.null(variables), "parameters")
  chosen <- chosen[few$rows]
  interval <- function(level) {
    parameter_interval(fit, level)[chosen, , drop = FALSE]
  }
  picture_intervals(intervals_shown(
    estimate$mean[chosen], interval(level), interval(0.5), level, "value",
    estimate = "mode", note = few$note, scaled = TRUE
  ))
}
