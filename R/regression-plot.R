# Plots of a regression.

#' Plot a regression
#'
#' * `"coefficients"`: the posterior mean of each coefficient (for
#'   [laplace_logistic()] the mode) with its 50% and `level` intervals, the
#'   intercept left out. Coefficients of columns with more than two values are
#'   shown per standard deviation of the column, so that they can be compared;
#'   others, such as levels of factors, per unit.
#' * `"odds"`, for the logit link: the exponentials of these numbers, which are
#'   odds ratios, on a logarithmic axis. At 1 the odds do not change. The point
#'   is the exponential of the coefficient's estimate and not the mean of the
#'   odds ratio.
#' * `"response"`: the expected response or the probability of success along one
#'   variable, with the band that holds it pointwise with probability `level`;
#'   for a linear regression also lines between which a new response of weight 1
#'   lies with that probability. With groups the band is that of a group without
#'   deviations, and a new response is one of a new group. Other numeric
#'   variables are set to their means, factors to their most frequent level: a
#'   line above the plot says where, unless `main` is given. A variable that is
#'   a matrix has no curve. Points are the observations, or observed proportions
#'   of counts; ticks above and below are successes and failures. A factor is
#'   shown level by level.
#' * `"calibration"`, for binomial responses: observations in groups of similar
#'   predicted probability; their observed proportion of successes against the
#'   predicted one, with the interval that holds the proportion with probability
#'   `level` if the model is right.
#' * `"groups"`, for a formula with groups: the coefficient \eqn{w_{jk}}{w_jk}
#'   of one term in every group, in the order of its posterior mean, with its
#'   50% and `level` intervals. The vertical line is the posterior mean of
#'   \eqn{\mu_w}{mu_w}, the fixed effect of the term, or 0 if the term has none.
#'   More than 60 groups are drawn as thin lines without names.
#' * `"shrinkage"`, for [gibbs_hlm()]: on the left the least squares estimate of
#'   the coefficient from the rows of the group alone, on the right its
#'   posterior mean. Fixed effects of columns that are not before the bar are
#'   held at their posterior means. The horizontal line is as above. A group is
#'   left out if its rows do not determine its estimates.
#' * types of [plot.gibbsite_fit()], such as `"trace"` and `"density"`.
#'
#' The default is `"groups"` for a formula with groups, `"response"` for a
#' linear regression on one numeric variable, and `"coefficients"` for others.
#' It is `"trace"` with `"density"` if `variables` are given.
#'
#' @param x A fit of [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()] or
#'   [laplace_logistic()].
#' @param type `NULL` for the default, or the name of one of the pictures that
#'   the description and Details list.
#' @param variable For `"response"`: the name of a variable; default the one
#'   with the largest effect relative to its standard deviation.
#' @param level Number between 0 and 1, default 0.95.
#' @param variables For `"coefficients"`, `"odds"` and chains: `NULL`, or names
#'   of coefficients.
#' @param per For `"coefficients"` and `"odds"`: `"sd"` (default), per standard
#'   deviation as described, or `"unit"`, per unit of each column. The axis says
#'   which. Contrasts of factors are per unit in either case.
#' @param groups For `"calibration"`: whole number, at least 2, of groups;
#'   default 10, fewer with fewer than 100 observations.
#' @param term For `"groups"` and `"shrinkage"`: the name of a term before the
#'   bar; default the first.
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type, term or
#'   variable, and for `"shrinkage"` where no group has estimates of its own;
#'   `gibbsite_error_state` if the data are needed and the fit does not hold
#'   them.
#' @seealso [plot.gibbsite_fit()] for the chains,
#'   [predict.gibbsite_regression()] for the numbers,
#'   [autoplot()][autoplot.gibbsite_fit] for ggplot2.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1)
#' plot(fit)
#' plot(fit, type = "response", variable = "wt")
#'
#' fit <- laplace_logistic(am ~ wt + qsec, mtcars, seed = 1)
#' plot(fit, type = "odds")
#' plot(fit, type = "response", variable = "wt")
#' plot(fit, type = "calibration")
#'
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' plot(fit, term = "Time")
#' plot(fit, type = "shrinkage", term = "Time")
#' @export
plot.gibbsite_regression <- function(x, type = NULL, variable = NULL,
                                     level = 0.95, variables = NULL,
                                     groups = NULL, per = c("sd", "unit"),
                                     term = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  own <- regression_plots(fit_part(x, "model"))
  asked <- plot_of_regression(
    x, type, variable, level, variables, groups, per, term, own, call,
    check_plot_types
  )
  type <- asked$type
  if (length(type) != 1L || !type %in% own) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- asked$level
  switch(type,
    coefficients = ,
    odds = plot_coefficients(
      coefficients_shown(x, variables, level, asked$per, call, type == "odds"),
      ...
    ),
    response = plot_response(x, variable, level, call, ...),
    calibration = plot_calibration(x, level, groups, call, ...),
    groups = plot_coefficients(hlm_groups_shown(x, asked$term, level), ...),
    shrinkage = plot_hlm_shrinkage(x, asked$term, call, ...)
  )
  invisible(x)
}

#' @rdname plot.gibbsite_regression
#' @export
plot.laplace_logistic <- plot.gibbsite_regression

# The pictures that a regression has in addition to those of chains.
regression_plots <- function(model) {
  binomial <- !is.null(model_response(model)$link)
  c(
    if (has_groups(model)) c("groups", if (!binomial) "shrinkage"),
    "coefficients", if (has_log_odds(model)) "odds", "response",
    if (binomial) "calibration"
  )
}

# list(type, level, per, term) of plot() and autoplot(), checked. own: of
# regression_plots(); check_types(type, call, own).
plot_of_regression <- function(fit, type, variable, level, variables, groups,
                               per, term, own, call, check_types,
                               chains = c("trace", "density")) {
  type <- check_types(
    default_types(type, variables, default_regression_plot(fit), chains), call,
    own
  )
  check_plots_with(variable, type, "response", call)
  check_plots_with(groups, type, "calibration", call)
  check_plots_with(
    term, type, intersect(c("groups", "shrinkage"), c("groups", own)), call
  )
  check_plots_with(
    variables, type,
    c(intersect(c("coefficients", "odds"), own), plot_types), call
  )
  list(
    type = type, per = check_per(per, call),
    level = check_level(level, arg = "level", call = call),
    term = if (any(type %in% c("groups", "shrinkage"))) {
      check_choice(
        term, fit_part(fit, "model")$layout$bar, arg = "term", call = call
      )
    }
  )
}

# A line for one slope, of a normal response to a variable that is a column of
# the data.
default_regression_plot <- function(fit) {
  model <- fit_part(fit, "model")
  if (has_groups(model)) {
    return("groups")
  }
  slopes <- model$coefficients[model$layout$slopes]
  data <- model$frame$model
  line <- length(slopes) == 1L && !is.null(model$frame) &&
    (is.null(data) || is.numeric(data[[slopes]]) &&
       is.null(dim(data[[slopes]])))
  if (line) "response" else "coefficients"
}
