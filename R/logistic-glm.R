# Methods that a fit by glm() also has: fitted values, residuals, log
# likelihood, formula, terms, model frame, simulate(), update(), augment().

#' Estimates, fitted values and data of a logistic regression
#'
#' For a fit of [gibbs_logistic()], `coef()` are the posterior means of the
#' coefficients, `vcov()` their posterior covariance matrix and `confint()`
#' central posterior intervals. (For [laplace_logistic()] see
#' [coef.laplace_logistic()].)
#'
#' `fitted()` are the posterior predictive probabilities of the observations,
#' `predict(fit, type = "response")`. `residuals()` are the differences between
#' the observed proportions of success and the fitted values (`"response"`),
#' these differences divided by their binomial standard deviation (`"pearson"`),
#' or the square roots of the contributions to the deviance with the sign of the
#' difference (`"deviance"`). `simulate()` draws new responses from the
#' posterior predictive distribution, each data set from a different draw.
#' `logLik()` of a fit of [laplace_logistic()] is the log-likelihood at the
#' mode, with the number of coefficients as its degrees of freedom (with a prior
#' the effective number is smaller), so that [stats::AIC()] can be compared with
#' that of [stats::glm()]; for model comparison see [log_evidence()] and
#' `loo()`. Its `deviance()` and `df.residual()` are also those of
#' [stats::glm()], at the mode.
#'
#' `weights()` are the numbers of trials, times the weights given.
#' `formula()`, `terms()`, `model.frame()`, `model.matrix()`, `family()` and
#' `nobs()` return these parts of the fit as for [stats::glm()].
#'
#' @param object,formula,x A fit of [laplace_logistic()] or [gibbs_logistic()].
#' @param parm Names or numbers of coefficients; default all.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param type `"deviance"` (default), `"pearson"` or `"response"`.
#' @param nsim Whole number, 1 or more: how many data sets.
#' @param seed `NULL`, or a whole number for [set.seed()]; the state of R's
#'   generator is then restored.
#' @param ... Not used.
#' @return `coef()`: a vector with names; `vcov()`: a matrix with names;
#'   `confint()`: a matrix with a row for each coefficient and two columns;
#'   `fitted()` and `residuals()`: vectors with the names of the rows, of the
#'   length of the data (rows left out by [stats::na.exclude()] are `NA`);
#'   `simulate()` a data frame with `nsim` columns in the form of the response,
#'   and the state of the generator in its attribute `seed`.
#' @section Errors: `gibbsite_error_argument` for unknown coefficients and a
#'   level out of range; `gibbsite_error_state` for a fit without its data.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' head(fitted(fit))
#' head(residuals(fit, "pearson"))
#' head(simulate(fit, 2, seed = 1))
#' logLik(fit)
#' @name logistic-data
NULL

#' @rdname logistic-data
#' @importFrom stats fitted
#' @export
fitted.laplace_logistic <- function(object, ...) {
  check_no_more(...)
  check_frame(fit_part(object, "model"))
  predict(object, type = "response")
}

#' @rdname logistic-data
#' @export
fitted.gibbs_logistic <- fitted.laplace_logistic

#' @rdname logistic-data
#' @importFrom stats residuals
#' @export
residuals.laplace_logistic <- function(object,
                                       type = c(
                                         "deviance", "pearson", "response"
                                       ), ...) {
  check_no_more(...)
  type <- check_choice(type, c("deviance", "pearson", "response"))
  model <- fit_part(object, "model")
  check_frame(model)
  rows <- prediction_rows(model, NULL, NULL, NULL)
  mean <- predict_moments(object, rows, "response", 0.95, FALSE)$mean
  share_residuals(model, mean, type, rows$names)
}

# mean: the probability of success of each observation.
share_residuals <- function(model, mean, type, names) {
  frame <- model$frame
  y <- frame$y
  out <- switch(type,
    response = y - mean,
    # 0 also if the mean is 0 or 1 in double precision
    pearson = ifelse(
      y == mean, 0, (y - mean) * sqrt(frame$total / (mean * (1 - mean)))
    ),
    deviance = sign(y - mean) *
      sqrt(stats::binomial()$dev.resids(y, mean, frame$total))
  )
  # an observation without trials has no proportion
  out[frame$trials == 0] <- NA
  as_excluded(model, with_row_names(out, names))
}

#' @rdname logistic-data
#' @export
residuals.gibbs_logistic <- residuals.laplace_logistic

#' @rdname logistic-data
#' @importFrom stats logLik
#' @export
logLik.laplace_logistic <- function( # nolint: object_name_linter.
    object, ...) {
  model <- fit_part(object, "model")
  check_frame(model)
  value <- sum(logistic_log_lik(model, rbind(model$data$map)))
  structure(
    value, df = length(model$columns), nobs = model$nobs, class = "logLik"
  )
}

#' @rdname logistic-data
#' @export
deviance.laplace_logistic <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  used <- rows_used(frame)
  eta <- drop(linear_predictors(frame$x, model$data$map, frame$offset))
  mean <- stats::binomial(model_link(model))$linkinv(eta)
  sum(stats::binomial()$dev.resids(
    frame$y[used], mean[used], frame$total[used]
  ))
}

#' @rdname logistic-data
#' @export
df.residual.laplace_logistic <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  model$nobs - length(model$columns)
}

#' @rdname logistic-data
#' @importFrom stats family
#' @export
family.laplace_logistic <- function(object, ...) {
  check_whole_fit(object, "object", rlang::current_env())
  stats::binomial(model_link(fit_part(object, "model")))
}

#' @rdname logistic-data
#' @export
family.gibbs_logistic <- family.laplace_logistic

#' @rdname logistic-data
#' @importFrom stats simulate
#' @export
simulate.laplace_logistic <- function(object, nsim = 1, seed = NULL, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  simulated(object, nsim, seed, frame, function(draw) {
    eta <- linear_predictors(frame$x, draw, frame$offset)
    share <- success_probability(model, as.vector(eta))
    as_outcome(frame, draw_successes(share, frame$trials))
  }, rlang::current_env())
}

#' @rdname logistic-data
#' @export
simulate.gibbs_logistic <- simulate.laplace_logistic

# Successes in the form of the response.
as_outcome <- function(frame, successes) {
  response <- frame$response
  switch(response$kind,
    factor = factor(
      response$levels[1L + successes], levels = response$levels
    ),
    logical = successes == 1,
    counts = cbind(
      successes = successes, failures = frame$trials - successes
    ),
    successes
  )
}

#' Observations with their predictions
#'
#' @param x A fit of a regression by formula or matrix.
#' @param data `NULL` (default) for the model frame, or the data frame that the
#'   fit was made with, row for row.
#' @param newdata `NULL`, or new observations.
#' @param conf.level Number between 0 and 1, default 0.95: the posterior
#'   probability of the interval.
#' @param ... Not used.
#' @return The data frame with the added columns `.fitted` (the expected
#'   response, or the probability of success), `.sd`, `.lower` and `.upper`, and
#'   for the fit's own data `.resid` (for a logistic regression deviance
#'   residuals).
#' @section Errors: `gibbsite_error_argument` when `data` has another number of
#'   rows than the data of the fit, and the errors of
#'   [predict.laplace_logistic()] and [predict.gibbs_lm()].
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' head(augment(fit))
#' head(augment(gibbs_lm(mpg ~ wt, mtcars, seed = 1)))
#' @export
augment.laplace_logistic <- function(x, data = NULL, newdata = NULL,
                                     conf.level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  augmented(x, data, newdata, conf.level, "response", call)
}

#' @rdname augment.laplace_logistic
#' @export
augment.gibbs_logistic <- augment.laplace_logistic
