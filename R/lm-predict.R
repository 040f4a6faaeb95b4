# Predictions of a linear regression: new rows, means, intervals and draws.

# The draws of the coefficients and of sigma, chain after chain.
lm_draws <- function(fit) {
  model <- fit_part(fit, "model")
  draws <- do.call(rbind, chain_matrices(fit))
  list(
    w = coefficient_draws(fit),
    sigma = draws[, length(model$coefficients) + 1L]
  )
}

# ---- Predictions ------------------------------------------------------------

#' Predictions of a linear regression
#'
#' Predictions for the data of the fit or for new data, from the posterior
#' draws. `"mean"` is the expected response \eqn{o + x^\top w}{o + x'w}, whose
#' interval has the uncertainty of the coefficients. `"response"` is a new
#' response, whose interval also has the variation of an observation: its
#' distribution is the mixture of \eqn{\mathrm{N}(o + x^\top w,
#' \sigma^2/v)}{N(o + x'w, sigma^2/v)} over the draws, and the ends of the
#' interval are quantiles of that mixture, without a further Monte Carlo error.
#'
#' @param object A fit of [gibbs_lm()].
#' @param newdata `NULL` for the data of the fit, or new observations: a data
#'   frame with the formula's variables; for a fit of a matrix, a matrix with
#'   the same columns, matched by name if both have column names. Variables must
#'   be of the fit's class; differences of times may have another unit. Rows
#'   with missing values have missing predictions.
#' @param type `"mean"` (default) or `"response"`.
#' @param interval `FALSE` (default), or `TRUE` for standard deviations and
#'   intervals.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param offset For `newdata`, if the fit was made with an argument `offset`:
#'   a number for each row, or one for all.
#' @param weights For `newdata` and `"response"`: the weight \eqn{v} of each new
#'   observation, one positive number or one for each row; default 1. The fit's
#'   own data have their weights; where these are 0 the interval is `NA`.
#' @param ... Not used.
#' @return A vector with the names of the rows; with `interval` a data frame
#'   with the columns `mean`, `sd`, `lower` and `upper`. The other observations
#'   in `newdata` do not change a bit of an observation's prediction (if factors
#'   have the same levels).
#' @section Errors: `gibbsite_error_argument` for variables that are missing, of
#'   another kind, or with levels that are not in the fit
#'   (`gibbsite_error_level`), for terms that use other rows of the data
#'   (`gibbsite_error_other_rows`, see [gibbs_lm()]), and for `newdata = NULL`
#'   when the fit does not hold its data.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt, mtcars, seed = 1)
#' new <- data.frame(wt = c(2, 3, 6))
#' predict(fit, new)
#' predict(fit, new, interval = TRUE)
#' predict(fit, new, type = "response", interval = TRUE)
#' @export
predict.gibbs_lm <- function(object, newdata = NULL,
                             type = c("mean", "response"), interval = FALSE,
                             level = 0.95, offset = NULL, weights = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("mean", "response"))
  interval <- check_flag(interval)
  level <- check_level(level)
  model <- fit_part(object, "model")
  rows <- prediction_rows(model, newdata, offset, call)
  rows$weights <- new_weights(model, newdata, weights, nrow(rows$x), call)
  out <- lm_moments(object, rows, type, level, interval)
  out <- if (interval) as.data.frame(out) else out$mean
  out <- with_row_names(out, rows$names)
  if (is.null(newdata)) as_excluded(model, out) else out
}

# One weight for each row of the fit's own data, or of new data.
new_weights <- function(model, newdata, weights, n, call) {
  if (is.null(newdata)) {
    if (!is.null(weights)) {
      abort_argument(
        "{.arg weights} goes with {.arg newdata}: the fit's own data have
         theirs.",
        call = call
      )
    }
    return(model$frame$weights %||% rep(1, n))
  }
  weights <- check_numeric_vector(
    weights %||% 1, length = c(1, n),
    length_why = "one for each row of `newdata`", lower = 0, lower_open = TRUE,
    arg = "weights", call = call
  )
  rep_len(unname(weights), n)
}

# list(mean, sd, lower, upper), the last three with `interval`; in blocks of
# rows of at most 64 MB.
lm_moments <- function(fit, rows, type, level, interval) {
  draws <- lm_draws(fit)
  tails <- central_tails(level)
  n <- nrow(rows$x)
  if (n == 0L) {
    none <- numeric()
    return(list(mean = none, sd = none, lower = none, upper = none))
  }
  parts <- lapply(row_blocks(n, nrow(draws$w)), function(block) {
    mu <- linear_predictors(
      as.matrix(rows$x[block, , drop = FALSE]), draws$w, rows$offset[block]
    )
    out <- data.frame(mean = colMeans(mu))
    if (interval) {
      out <- cbind(out, if (type == "mean") {
        mean_spread(mu, tails)
      } else {
        response_spread(mu, draws$sigma, rows$weights[block], tails)
      })
    }
    out
  })
  out <- as.list(do.call(rbind, parts))
  # a missing predictor gives NA and not NaN
  lapply(out, function(v) ifelse(is.nan(v), NA_real_, v))
}

mean_spread <- function(mu, tails) {
  bounds <- apply(mu, 2L, known_quantiles, tails)
  data.frame(
    sd = apply(mu, 2L, stats::sd), lower = bounds[1L, ], upper = bounds[2L, ]
  )
}

# mu: draws x rows. sd and quantiles of the mixture of N(mu_s, sigma_s^2 / v).
response_spread <- function(mu, sigma, weights, tails) {
  none <- rep(NA_real_, ncol(mu))
  out <- data.frame(sd = none, lower = none, upper = none)
  known <- which(!is.na(colSums(mu)) & weights > 0)
  mean <- mu[, known, drop = FALSE]
  sd <- outer(sigma, 1 / sqrt(weights[known]))
  out$sd[known] <- sqrt(apply(mean, 2L, stats::var) + colMeans(sd^2))
  out$lower[known] <- mixture_quantile(mean, sd, tails[[1L]])
  out$upper[known] <- mixture_quantile(mean, sd, tails[[2L]])
  out
}

# ---- Draws of predictions ---------------------------------------------------

#' Posterior draws of predictions of a linear regression
#'
#' For each draw: the expected response of each observation (`posterior_epred()`
#' and `posterior_linpred()`, which are the same here), a new response
#' (`posterior_predict()`), or the log density of the response that was observed
#' (`log_lik()`). `loo()` and `waic()` use `log_lik()` to estimate how well new
#' observations would be predicted. `pp_check()` compares the responses with
#' replicated ones. `bayes_R2()` gives for each draw the variance of the
#' expected responses divided by the sum of this variance and
#' \eqn{\sigma^2}{sigma^2} (Gelman et al. 2019).
#'
#' @param object A fit of [gibbs_lm()].
#' @param newdata,offset,weights As in [predict.gibbs_lm()]; for `log_lik()`
#'   `newdata` with the response.
#' @param draws `NULL` for all draws (`pp_check()`: for at most 50), or the
#'   number of draws to use, spread evenly over the chains' draws.
#' @param ndraws Another name of `draws`, which tidybayes uses.
#' @param re_formula `NULL` or `NA`, without effect: there are no groups.
#' @param transform `FALSE` or `TRUE`, without effect: the link is the identity.
#' @param y For `log_lik()` with `newdata` of a fit by matrix: its response.
#' @param ... Not used; for `pp_check()` passed to bayesplot.
#' @return A matrix, draws x observations (chain after chain); `bayes_R2()` a
#'   vector, a number for each draw; `pp_check()` a plot. `log_lik()` of the
#'   fit's own data, `bayes_R2()` and `pp_check()` leave out rows without a
#'   response or with weight 0, see [kfold][kfold.gibbsite_fit], section
#'   Observations; `posterior_predict()` is `NA` where the weight is 0.
#' @section Errors: `gibbsite_error_argument` for more draws than there are, and
#'   the errors of [predict.gibbs_lm()].
#' @references
#' Gelman A, Goodrich B, Gabry J, Vehtari A (2019). R-squared for Bayesian
#' regression models. *The American Statistician* 73, 307-309.
#' \doi{10.1080/00031305.2018.1549100}
#' @examples
#' fit <- gibbs_lm(mpg ~ wt, mtcars, seed = 1)
#' new <- data.frame(wt = c(2, 3, 6))
#' colMeans(posterior_epred(fit, new))
#' dim(posterior_predict(fit, new))
#' summary(bayes_R2(fit))
#' if (requireNamespace("loo", quietly = TRUE)) loo::loo(fit)
#' @name lm-draws
NULL

# list(mu, sigma, weights): draws x observations, and the rest.
lm_draws_at <- function(object, newdata, offset, weights, draws, call) {
  model <- fit_part(object, "model")
  rows <- prediction_rows(model, newdata, offset, call)
  weights <- new_weights(model, newdata, weights, nrow(rows$x), call)
  all <- lm_draws(object)
  chosen <- spread_rows(draws, length(all$sigma), call)
  mu <- linear_predictors(
    as.matrix(rows$x), all$w[chosen, , drop = FALSE], rows$offset
  )
  mu[is.nan(mu)] <- NA_real_
  colnames(mu) <- rows$names
  list(mu = mu, sigma = all$sigma[chosen], weights = weights)
}

# sigma_s / sqrt(v_i), draws x observations; NA where v_i is 0.
lm_sd <- function(at) {
  root <- sqrt(at$weights)
  root[root == 0] <- NA
  outer(at$sigma, 1 / root)
}

#' @rdname lm-draws
#' @export
posterior_linpred.gibbs_lm <- function(object, transform = FALSE,
                                       newdata = NULL, draws = NULL,
                                       offset = NULL, ..., ndraws = NULL,
                                       re_formula = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  check_flag(transform)
  lm_draws_at(object, newdata, offset, NULL, draws, call)$mu
}

#' @rdname lm-draws
#' @export
posterior_epred.gibbs_lm <- function(object, newdata = NULL, draws = NULL,
                                     offset = NULL, ..., ndraws = NULL,
                                     re_formula = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  lm_draws_at(object, newdata, offset, NULL, draws, call)$mu
}

#' @rdname lm-draws
#' @export
posterior_predict.gibbs_lm <- function(object, newdata = NULL, draws = NULL,
                                       offset = NULL, weights = NULL, ...,
                                       ndraws = NULL, re_formula = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  at <- lm_draws_at(object, newdata, offset, weights, draws, call)
  at$mu + lm_sd(at) * stats::rnorm(length(at$mu))
}

#' @rdname lm-draws
#' @export
log_lik.gibbs_lm <- function(object, newdata = NULL, draws = NULL,
                             offset = NULL, weights = NULL, y = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  at <- lm_draws_at(object, newdata, offset, weights, draws, call)
  model <- fit_part(object, "model")
  if (is.null(newdata)) {
    if (!is.null(y)) {
      abort_argument("{.arg y} goes with {.arg newdata}.")
    }
    y <- model$frame$y
    used <- rows_used(model$frame)
  } else {
    y <- new_response(model, newdata, y, ncol(at$mu), function(y, known) {
      as_measurements(y, known$name, call)
    }, call)$y
    used <- rep(TRUE, length(y))
  }
  out <- stats::dnorm(
    rep(y, each = nrow(at$mu)), at$mu, lm_sd(at), log = TRUE
  )
  dim(out) <- dim(at$mu)
  colnames(out) <- colnames(at$mu)
  used_columns(out, used)
}

#' @rdname lm-draws
#' @export
bayes_R2.gibbs_lm <- function( # nolint: object_name_linter.
    object, newdata = NULL, draws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  at <- lm_draws_at(object, newdata, NULL, NULL, draws, call)
  mean <- observed_columns(object, newdata, at$mu)
  explained_share(mean, at$sigma^2)
}
