# Estimates, fitted values and residuals of a linear regression.

#' Estimates, fitted values and residuals of a linear regression
#'
#' `coef()` are the posterior means of the coefficients, `vcov()` their
#' posterior covariance matrix, `confint()` central posterior intervals and
#' `sigma()` the posterior mean of the standard deviation of an observation of
#' weight 1. `fitted()` are the posterior means of the expected responses,
#' `residuals()` the differences between the responses and these.
#'
#' `simulate()` draws responses for the data of the fit, each set from another
#' draw of the parameters (`NA` where the weight is 0).
#'
#' `formula()`, `terms()`, `model.frame()`, `model.matrix()` and `family()`
#' return these parts of the fit as for [stats::lm()]. `weights()` are the
#' observations' weights, 1 where none were given.
#'
#' @param object,formula,x A fit of [gibbs_lm()].
#' @param parm Names or numbers of coefficients; default all.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param type `"response"` (default), or `"pearson"`: residuals times the root
#'   of the weights.
#' @param nsim Whole number, at least 1: sets of responses.
#' @param seed `NULL`, or a whole number for [set.seed()], after which the
#'   generator is as it was.
#' @param ... Not used.
#' @return `coef()`: a vector with names; `vcov()`: a matrix with names;
#'   `confint()`: a matrix with a row for each coefficient and two columns;
#'   `sigma()`: a number; `fitted()` and `residuals()`: vectors with the names
#'   of the rows (`NA` for rows left out by `na_action = "exclude"`, and
#'   residuals for missing responses). `simulate()`: a data frame with a column
#'   for each set.
#' @section Errors: `gibbsite_error_argument` for unknown coefficients and a
#'   level out of range; `gibbsite_error_state` for a fit without its data.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1)
#' coef(fit)
#' confint(fit)
#' head(residuals(fit))
#' @name lm-data
NULL

#' @rdname lm-data
#' @importFrom stats sigma
#' @export
sigma.gibbs_lm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  mean(lm_draws(object)$sigma)
}

#' @rdname lm-data
#' @export
fitted.gibbs_lm <- function(object, ...) {
  check_no_more(...)
  check_frame(fit_part(object, "model"))
  predict(object)
}

#' @rdname lm-data
#' @export
residuals.gibbs_lm <- function(object, type = c("response", "pearson"), ...) {
  check_no_more(...)
  type <- check_choice(type, c("response", "pearson"))
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  rows <- prediction_rows(model, NULL, NULL, NULL)
  mean <- lm_moments(object, rows, "mean", 0.95, FALSE)$mean
  as_excluded(
    model, with_row_names(frame_residuals(frame, mean, type), rows$names)
  )
}

#' @rdname lm-data
#' @importFrom stats family
#' @export
family.gibbs_lm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  stats::gaussian()
}

#' @rdname hlm-data
#' @export
family.gibbs_hlm <- family.gibbs_lm
