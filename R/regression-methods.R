# Estimates from the draws of regressions and of one's own models; parts of a
# regression's call and data.

# ---- Estimates ---------------------------------------------------------------

# The draws of the coefficients, chain after chain; of one's own model, of all
# parameters that were kept.
coefficient_draws <- function(fit) {
  model <- fit_part(fit, "model")
  columns <- coefficient_columns(model)
  bind_chains(chain_matrices(fit), columns = seq_along(columns))
}

# list(mean, sd) of the coefficients: of the normal approximation, or of the
# draws.
coefficient_estimates <- function(fit) {
  model <- fit_part(fit, "model")
  if (!draws_posterior(model)) {
    return(list(mean = laplace_mode(model), sd = laplace_sd(model)))
  }
  draws <- coefficient_draws(fit)
  list(mean = colMeans(draws), sd = apply(draws, 2L, stats::sd))
}

# parameters x (lower, upper)
parameter_interval <- function(fit, level) {
  model <- fit_part(fit, "model")
  if (!draws_posterior(model)) {
    bounds <- outer(laplace_sd(model), stats::qnorm(central_tails(level))) +
      laplace_mode(model)
    rownames(bounds) <- model$columns
    return(bounds)
  }
  columns <- predictor_parameters(model)
  draws <- bind_chains(chain_matrices(fit), columns = columns)
  central_intervals(draws, level)
}

#' @exportS3Method
predictor_parameters.default <- function(model) {
  seq_along(coefficient_columns(model))
}

coefficient_labels <- function(columns) {
  ifelse(columns == "(Intercept)", "intercept", paste("slope of", columns))
}

#' @exportS3Method
predictor_coefficients.default <- function(model, fit) {
  colMeans(coefficient_draws(fit))
}

#' @exportS3Method
predictor_coefficients.laplace_model <- function(model, fit) laplace_mode(model)

#' Estimates, fitted values and data of a fit
#'
#' `coef()` are the posterior means of the coefficients, `vcov()` their
#' posterior covariance matrix, `confint()` central posterior intervals and
#' `sigma()`, of normal responses, the posterior mean of the standard deviation
#' of an observation of weight 1 (1 with known standard errors; of t errors it
#' is the scale). With groups
#' `coef()` are the coefficients of each group, see [fixef.gibbsite_regression],
#' and `confint()` has all parameters. Fits of [mh_sample()] and
#' [gibbs_sample()] have these estimates of the parameters that were kept.
#'
#' Of [laplace_logistic()] and [laplace()] `coef()` is the mode of the posterior
#' (MAP), `vcov()` the covariance matrix \eqn{\Sigma}{Sigma}, the inverse of the
#' negative Hessian of the log density there, and `confint()` has central
#' intervals of the normal approximation. With `correct = "importance"` mode and
#' covariance are the same, and the ends of `confint()` are quantiles of the
#' draws. Mode and covariance can serve as the start and the proposal of another
#' sampler.
#'
#' `fitted()` is `predict(fit, type = "response")`. `residuals()` are the
#' differences between the responses, or observed proportions of success, and
#' the fitted values (`"response"`), these differences divided by the standard
#' deviation of an observation, up to \eqn{\sigma}{sigma} (`"pearson"`), or for
#' binomial responses and counts the square roots of the contributions to the
#' deviance with the sign of the difference (`"deviance"`). `simulate()` draws
#' responses for the data of the fit, each data set from another draw (`NA`
#' where the weight is 0). A fit of [gibbs_hlm()] draws the groups' deviations
#' too.
#'
#' `weights()` are the observations' weights, 1 where none were given, or
#' numbers of trials times the weights. `formula()`, `terms()`,
#' `model.frame()`, `model.matrix()`, `family()` and `nobs()` return these parts
#' of the fit as for [stats::glm()]; with groups `terms()` and `model.matrix()`
#' are those of the fixed effects.
#'
#' `logLik()` of a fit of [laplace_logistic()] is the log-likelihood at the
#' mode, with the number of coefficients as its degrees of freedom (with a prior
#' the effective number is smaller), so that [stats::AIC()] can be compared with
#' that of [stats::glm()]; for model comparison see [log_evidence()] and
#' `loo()`. Its `deviance()` and `df.residual()` are also those of
#' [stats::glm()], at the mode.
#'
#' @param object,formula,x A fit of a regression; for `coef()`, `vcov()` and
#'   `confint()` also one of [laplace()], [mh_sample()], [gibbs_sample()] or
#'   [fit_markov_chain()].
#' @param parm Names or numbers of parameters; default all.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param type Of normal responses `"response"` (default) or `"pearson"`, of
#'   binomial ones and counts `"deviance"` (default), `"pearson"` or
#'   `"response"`. Of categories there are no residuals.
#' @param nsim Whole number, at least 1: how many data sets.
#' @param seed `NULL`, or a whole number for [set.seed()], after which the
#'   generator is as it was.
#' @param ... Not used.
#' @return `coef()`: a vector with names, with groups a list; `vcov()`: a matrix
#'   with names; `confint()`: a matrix with a row for each parameter and two
#'   columns; `sigma()`: a number; `fitted()` and `residuals()`: vectors with
#'   the names of the rows (`NA` for rows left out by `na_action = "exclude"`,
#'   and residuals for missing responses). `simulate()`: a data frame with
#'   `nsim` columns in the form of the response, and the state of the generator
#'   in its attribute `seed`.
#' @section Errors: `gibbsite_error_argument` for unknown parameters, a level
#'   out of range, and `sigma()` of responses that are not normal (or t);
#'   `gibbsite_error_state` for a fit without its data.
#' @seealso [summary.gibbsite_fit()], [fixef.gibbsite_regression()],
#'   [predict.gibbsite_regression()].
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1)
#' coef(fit)
#' confint(fit)
#' head(residuals(fit))
#'
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' head(fitted(fit))
#' head(residuals(fit, "pearson"))
#' head(simulate(fit, 2, seed = 1))
#' logLik(fit)
#' @name regression-data
NULL

#' @rdname regression-data
#' @importFrom stats coef
#' @export
coef.gibbsite_fit <- function(object, ...) {
  model <- model_with_coefficients(object)
  check_no_more(...)
  predictor_coefficients(model, object)
}

#' @rdname regression-data
#' @importFrom stats vcov
#' @export
vcov.gibbsite_fit <- function(object, ...) {
  model <- model_with_coefficients(object)
  check_no_more(...)
  if (inherits(model, "laplace_model")) {
    return(laplace_covariance(model))
  }
  stats::cov(coefficient_draws(object))
}

#' @rdname regression-data
#' @importFrom stats confint
#' @export
confint.gibbsite_fit <- function(object, parm, level = 0.95, ...) {
  model_with_coefficients(
    object, "{.fn posterior_interval} has intervals of its quantities."
  )
  check_no_more(...)
  level <- check_level(level)
  out <- parameter_interval(object, level)
  colnames(out) <- tail_names(level)
  if (missing(parm)) out else some_rows(out, parm, rlang::current_env())
}

# The model of a regression, of a normal approximation or of one's own
# distribution; fits of other models have no coefficients.
model_with_coefficients <- function(fit, hints = "coefficients",
                                    call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  if (!inherits(model, c("user_model", "laplace_model")) &&
        is.null(model_response(model))) {
    abort_no_answer(fit, "coefficients", hints, "object", call)
  }
  model
}

#' @rdname regression-data
#' @importFrom stats sigma
#' @export
sigma.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  response <- model_response(fit_part(object, "model"))
  if (!inherits(response, "normal_response")) {
    return(NextMethod())
  }
  scale <- response_scale(response, bind_chains(chain_matrices(object)))
  mean(cbind(scale)[, 1L])
}

#' @rdname regression-data
#' @importFrom stats fitted
#' @export
fitted.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  check_frame(fit_part(object, "model"))
  stats::predict(object, type = "response")
}

#' @rdname regression-data
#' @importFrom stats residuals
#' @export
residuals.gibbsite_regression <- function(object, type = NULL, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  response <- model_response(model)
  check_has_moments(response, "residuals", rlang::current_env())
  type <- check_choice(type, residual_types(response))
  frame <- check_frame(model)
  rows <- rows_to_predict(model, call = rlang::current_env())
  mean <- prediction_table(object, rows, "response")$mean
  scale <- response_scale(response, bind_chains(chain_matrices(object)))
  out <- response_residual(response, frame, mean, type, scale)
  as_excluded(model, with_row_names(out, rows$names))
}

#' @rdname regression-data
#' @export
weights.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  weights <- frame$total %||% row_weights(frame)
  as_excluded(model, with_row_names(weights, rownames(frame$x)))
}

#' @rdname regression-data
#' @importFrom stats family
#' @export
family.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  response_family(model_response(fit_part(object, "model")))
}

# ---- Other responses ---------------------------------------------------------

# Normal errors of precision beta times the weights, one for each row.
response_noise <- function(frame, beta) {
  weights <- row_weights(frame)
  stats::rnorm(length(weights)) / sqrt(beta * weights)
}

# The log density of the responses at their expectations.
errors_log_lik <- function(frame, mean, beta) {
  weights <- (frame$weights %||% 1) + 0 * mean
  used <- weights > 0 & !is.na(frame$y)
  sum(stats::dnorm(
    frame$y[used], mean[used], 1 / sqrt(beta * weights[used]), log = TRUE
  ))
}

# The model with other responses: one for each row of the fit's data.
# what: the model in words. read(data) checks the new responses; remake(frame,
# response) builds the model from the frame that has them.
with_responses <- function(model, data, what, remake, call,
                           read = function(y) {
                             as_measurements(y, "data", call)
                           }) {
  if (is.null(model$frame)) {
    abort_argument(
      c("`data` are not needed to draw on from a {what}.",
        i = "Leave `data` out."),
      call = call
    )
  }
  frame <- model$frame
  response <- read(data)
  check_vector_length(
    response$y, nrow(frame$x), "one for each row", "data", call
  )
  frame$y <- response$y
  # how the bars are drawn depends on their groups and predictors alone
  frame$way_of_bars <- (model$data$parts[[1L]] %||% model$data)[
    c("joint", "near")
  ]
  fresh <- remake(frame, response)
  fresh$frame$way_of_bars <- NULL
  model[names(fresh)] <- fresh
  model
}

# ---- Data with predictions, and simulated responses --------------------------

#' @section Observations with their predictions:
#' `augment()` adds the expected response of each row, its uncertainty and its
#' residual to the data.
#' @param data `NULL` (default) for the model frame, or the data frame that the
#'   fit was made with, row for row.
#' @param newdata `NULL`, or new observations of a regression.
#' @param offset,re_formula,allow_new_levels As in
#'   [predict.gibbsite_regression()].
#' @return `augment()`: the data frame with the added columns `.fitted` (the
#'   expected response, or the probability of success), `.sd`, `.lower` and
#'   `.upper`, and for the fit's own data `.resid` (for binomial responses and
#'   counts deviance residuals) and with t errors `.weight`, near 0 for
#'   outliers: see [gibbs_lm()].
#' @section Errors: `gibbsite_error_argument` when `data` has another number of
#'   rows than the data of the fit, and the errors of
#'   [predict.gibbsite_regression()].
#' @seealso [predict.gibbsite_regression()] for new observations,
#'   [regression-data] for residuals.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' head(augment(fit))
#' head(augment(gibbs_lm(mpg ~ wt, mtcars, seed = 1)))
#' @rdname tidy.gibbsite_fit
#' @export
augment.gibbsite_regression <- function(x, data = NULL, newdata = NULL,
                                        conf.level = 0.95, ...,
                                        offset = NULL, re_formula = NULL,
                                        allow_new_levels = FALSE) {
  now <- current_fit(x)
  if (!is.null(now)) {
    return(ask_again(now, "augment", match.call(), parent.frame()))
  }
  call <- rlang::current_env()
  check_no_more(...)
  level <- check_level(conf.level, arg = "conf.level")
  model <- fit_part(x, "model")
  if (!is.null(data)) check_given_data(data, call)
  prediction <- stats::predict(
    x, newdata, type = "response", interval = "mean", level = level,
    offset = offset, re_formula = re_formula,
    allow_new_levels = allow_new_levels
  )
  names(prediction) <- c(".fitted", ".sd", ".lower", ".upper")
  if (is.null(newdata)) {
    prediction$.resid <- unname(stats::residuals(x))
    weight <- outlier_weights(x)
    if (!is.null(weight)) prediction$.weight <- as_excluded(model, weight)
  }
  beside_data(prediction, model, data, newdata, call)
}

# What is not NULL of an argument `data`.
check_given_data <- function(data, call) {
  if (!is.data.frame(data)) {
    abort_expected(data, "a data frame", TRUE, "data", call)
  }
  check_data_frame(data, "data", call)
}

# A tibble or another kind of data frame stays one; columns of an earlier
# augment() are replaced.
with_columns <- function(data, columns) {
  if (!is.data.frame(data)) data <- as.data.frame(data)
  data[names(columns)] <- columns
  data
}

# The columns of `prediction` beside newdata, data or the fit's own data.
beside_data <- function(prediction, model, data, newdata, call) {
  if (!is.null(newdata)) {
    return(with_columns(newdata, prediction))
  }
  if (is.null(data)) {
    frame <- model$frame
    if (is.null(frame$model)) {
      return(prediction)
    }
    data <- bare_frame(frame$model)
    if (inherits(frame$na.action, "exclude")) {
      # the model frame does not have these rows
      prediction <- prediction[-as.integer(frame$na.action), ]
    }
  }
  if (nrow(data) != nrow(prediction)) {
    abort_argument(
      "{.arg data} must have {nrow(prediction)} row{?s}, as the fit has
       observations, not {nrow(data)}.",
      call = call
    )
  }
  with_columns(data, prediction)
}

#' @rdname regression-data
#' @importFrom stats simulate
#' @export
simulate.gibbsite_regression <- function(object, nsim = 1, seed = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  response <- model_response(model)
  frame <- check_frame(model)
  check_unlocked(call)
  nsim <- check_count(nsim)
  check_result_size(
    c(length(frame$y), nsim), "observations x simulations", "{.arg nsim}", call
  )
  rows <- rows_to_predict(model, call = call)
  size <- response_size(response, model, NULL, NULL, NULL, nrow(rows$x), call)
  draws <- bind_chains(chain_matrices(object))
  respond <- function() {
    draw <- draws[sample.int(nrow(draws), 1L), , drop = FALSE]
    eta <- predictor_at_draws(model, draw, rows)
    scale <- response_scale(response, draw)
    as_outcome(frame, as.vector(response_draw(response, eta, size, scale)))
  }
  names <- frame$row_names %||% seq_along(frame$y)
  simulated_columns(nsim, seed, names, respond, call)
}

# The posterior mean of lambda_i of each row; NA where there is no response.
# NULL for other errors.
outlier_weights <- function(fit) {
  model <- fit_part(fit, "model")
  response <- model_response(model)
  if (!inherits(response, "t_response")) {
    return(NULL)
  }
  frame <- check_frame(model)
  draws <- bind_chains(chain_matrices(fit))
  scale <- response_scale(response, draws)
  call <- rlang::current_env()
  rows <- with_steady_groups(
    rows_to_predict(model, call = call), fit, seq_len(nrow(draws)), call
  )
  weights <- row_weights(frame)
  out <- numeric(length(frame$y))
  for (i in row_blocks(length(out), nrow(draws), most = 1e6)) {
    eta <- predictor_at_draws(model, draws, rows_at_places(rows, i))
    away <- (rep(frame$y[i], each = nrow(draws)) - eta) / scale[, "sigma"]
    square <- away^2 * rep(weights[i], each = nrow(draws))
    out[i] <- colMeans((scale[, "nu"] + 1) / (scale[, "nu"] + square))
  }
  out[!rows_used(frame)] <- NA
  out
}

# ---- Call and data -----------------------------------------------------------

# x, what the fit was not made with if it was made from a matrix.
part_of_formula <- function(x, what, call) {
  if (is.null(x)) {
    abort_argument(
      "The fit was made from a matrix: it has no {what}.", call = call
    )
  }
  x
}

#' @rdname regression-data
#' @importFrom stats formula
#' @export
formula.gibbsite_regression <- function(x, ...) {
  formula_of(x, rlang::current_env())
}

formula_of <- function(fit, call) {
  made <- model_design(fit_part(fit, "model"))$formula
  in_its_space(part_of_formula(made, "formula", call))
}

#' @rdname regression-data
#' @importFrom stats terms
#' @export
terms.gibbsite_regression <- function(x, ...) {
  design <- model_design(fit_part(x, "model"))
  part_of_formula(
    design$fixed_terms %||% design$terms, "terms", rlang::current_env()
  )
}

#' @rdname regression-data
#' @importFrom stats model.frame
#' @export
model.frame.gibbsite_regression <- function(formula, ...) {
  frame <- check_frame(fit_part(formula, "model"))
  part_of_formula(frame$model, "model frame", rlang::current_env())
}

#' @rdname regression-data
#' @importFrom stats model.matrix
#' @export
model.matrix.gibbsite_regression <- function(object, ...) {
  check_frame(fit_part(object, "model"))$x
}

# ---- Variance beyond the model -----------------------------------------------

# A line if counts, or shares of several trials, vary more about the fitted
# means than their distribution allows: if the mean squared Pearson residual is
# above 1.5 and above 1 by five standard deviations. NULL if not, and with
# groups, weights or missing rows. advice: the last words. The square of a
# residual of n trials has the variance 2 + (1 / v - 6) / n, where v is the
# variance of one trial; that of a Poisson count 2 + 1 / v.
dispersion_note <- function(fit, advice) {
  model <- fit_part(fit, "model")
  frame <- model$frame
  response <- model_response(model)
  trials <- frame$trials %||% rep(1, length(frame$y))
  if (is.null(frame$x) || !is.null(frame$bars) || !is.null(frame$weights) ||
        anyNA(frame$y) || any(trials == 0)) {
    return(NULL)
  }
  # a matrix of one draw
  eta <- as.matrix(eta_of_state(model, list(b = colMeans(
    coefficient_draws(fit)
  ))))
  variance <- response_variance(response, eta, NULL)
  square <- trials * (frame$y - response_mean(response, eta))^2 / variance
  df <- length(square) - ncol(frame$x)
  ratio <- sum(square) / df
  fourth <- (1 / variance - if (is_binomial(response)) 6 else 0) / trials
  error <- sqrt(sum(2 + fourth)) / df
  if (isTRUE(df > 0 && ratio > max(1.5, 1 + 5 * error))) {
    paste0(
      "The responses vary ", format(ratio, digits = 2), " times as much as ",
      "the model allows: ", advice
    )
  }
}
