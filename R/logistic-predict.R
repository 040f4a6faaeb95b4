# Predictions of a logistic regression: new rows, the linear predictor, means,
# intervals and draws.

# ---- The linear predictor ---------------------------------------------------

# list(mean, sd) of x'w + offset under N(map, Sigma), for each row.
predictor_moments <- function(model, rows) {
  n <- nrow(rows$x)
  by <- row_blocks(n, ncol(rows$x), sparse = !is.matrix(rows$x))
  parts <- lapply(by, function(block) {
    x <- if (length(by) > 1L || !is.matrix(rows$x)) {
      as.matrix(rows$x[block, , drop = FALSE])
    } else {
      rows$x
    }
    .Call(C_logistic_predictor, unname(x), model$data)
  })
  mean <- unlist(lapply(parts, `[[`, "mean"))
  # a missing predictor gives NA and not NaN
  mean[is.nan(mean)] <- NA_real_
  if (!is.null(rows$offset)) {
    mean <- mean + rows$offset
  }
  sd <- unlist(lapply(parts, `[[`, "sd"))
  sd[is.nan(sd)] <- NA_real_
  list(mean = mean, sd = sd)
}

# E sigma(m + s Z), or its derivative with respect to m.
logistic_mean <- function(m, s, slope = FALSE) {
  value <- .Call(C_logistic_mean, as.double(m), as.double(s), slope)
  value[is.na(m)] <- m[is.na(m)]
  value
}

# list(mean, sd) of F(mu + spread Z), Z normal.
share_moments <- function(model, mu, spread) {
  wide <- which(spread > 0)
  mean <- success_probability(model, mu)
  sd <- 0 * mean
  m <- mu[wide]
  s <- spread[wide]
  mean[wide] <- mean_share(model, m, s)
  sd[wide] <- share_sd(model, m, s)
  list(mean = mean, sd = sd)
}

# E F(m + s Z)
mean_share <- function(model, m, s) {
  if (model_link(model) == "logit") {
    logistic_mean(m, s)
  } else {
    stats::pnorm(m / sqrt(1 + s^2))
  }
}

# sd of F(m + s Z), which is that of F(-m + s Z). The mean is p. E F^2 is, with
# sigma' = sigma - sigma^2, p - E sigma', or by Owen's function, p - 2 T. Where
# the differences have few digits the variance is an integral.
share_sd <- function(model, m, s) {
  m <- -abs(m)
  p <- mean_share(model, m, s)
  variance <- if (model_link(model) == "logit") {
    p * (1 - p) - logistic_mean(m, s, slope = TRUE)
  } else {
    p * (1 - p) - 2 * owen_t(m / sqrt(1 + s^2), 1 / sqrt(1 + 2 * s^2))
  }
  variance[s == 0] <- 0
  few <- which(variance < 1e-6 * p & s > 0)
  variance[few] <- vapply(few, function(i) {
    share_variance(model, m[[i]], s[[i]], p[[i]])
  }, 0)
  sqrt(variance)
}

# E (F(m + s Z) - p)^2 for m <= 0, by the trapezoidal rule, whose error is below
# rounding for functions as smooth as these. F^2 phi is greatest at `top` at
# most.
share_variance <- function(model, m, s, p) {
  logit <- model_link(model) == "logit"
  top <- min(if (logit) 2 * s else -2 * m * s / (1 + 2 * s^2), -m / s)
  step <- 0.3 / max(1, s)
  z <- seq(-9, 9 + top, by = step)
  away <- success_probability(model, m + s * z) - p
  step * sum(away^2 * stats::dnorm(z))
}

# Owen's T(h, a), the integral over 0 < x < a, a <= 1, of exp(-h^2 (1 + x^2) /
# 2) / (1 + x^2) / (2 pi), by 20 nodes of Gauss and Legendre (Golub and Welsch
# 1969, doi:10.1090/S0025-5718-69-99647-1).
owen_t <- function(h, a) {
  k <- seq_len(19)
  jacobi <- matrix(0, 20, 20)
  jacobi[cbind(k, k + 1)] <- jacobi[cbind(k + 1, k)] <- k / sqrt(4 * k^2 - 1)
  rule <- eigen(jacobi, symmetric = TRUE)
  sum <- 0
  for (node in seq_len(20)) {
    x <- a * (1 + rule$values[[node]]) / 2
    sum <- sum +
      rule$vectors[1L, node]^2 * exp(-h^2 * (1 + x^2) / 2) / (1 + x^2)
  }
  a * sum / (2 * pi)
}

# ---- Predictions ------------------------------------------------------------

#' Predictions of a logistic regression
#'
#' Predictions for the data of the fit or for new data. They average over the
#' whole posterior and do not use its mode alone. `"response"` is the posterior
#' predictive probability of success
#' \deqn{P(y = 1 \mid x) = \int \sigma(x^\top w + o)\, p(w \mid y)\, dw
#'   = E\, \sigma(m + s Z), \quad m = x^\top \hat w + o, \quad
#'   s^2 = x^\top \Sigma x, \quad Z \sim \mathrm{N}(0, 1),}{
#'   P(y = 1 | x) = integral of sigma(x'w + o) p(w | data) dw
#'   = E sigma(m + s Z), m = x'map + o, s^2 = x' Sigma x, Z ~ N(0, 1),}
#' This probability is nearer to 1/2 than \eqn{\sigma(m)}{sigma(m)}, and the
#' more so the larger \eqn{s} is. The integral has an error below 1e-13 for any
#' \eqn{m} and \eqn{s}: the logistic function is a mixture of normal
#' distribution functions (Stefanski 1991), and the mean of each of these over a
#' normally distributed argument is again a normal distribution function.
#'
#' For a fit of [gibbs_logistic()], or of [laplace_logistic()] with
#' `correct = "importance"`, means, standard deviations and intervals are those
#' of the draws. With `link = "probit"` the normal distribution function takes
#' the place of \eqn{\sigma}{sigma}, here and in all other methods.
#'
#' @param object A fit of [laplace_logistic()] or [gibbs_logistic()].
#' @param newdata `NULL` for the data of the fit, or new observations: a data
#'   frame with the formula's variables; for a fit of a matrix, a matrix with
#'   the same columns, matched by name if both have column names. Variables must
#'   be of the fit's class; differences of times may have another unit. Rows
#'   with missing values have missing predictions.
#' @param type `"link"` (default, as in [stats::predict.glm()]): the linear
#'   predictor; `"response"`: the probability of success; `"class"`: the more
#'   probable outcome, in the form of the fit's response.
#' @param interval `FALSE` (default), or `TRUE` for standard deviations and
#'   intervals of `"link"` or `"response"`.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param offset For `newdata`, if the fit was made with an argument `offset`:
#'   a number for each row, or one for all.
#' @param ... Not used.
#' @return A vector with the names of the rows; with `interval` a data frame
#'   with the columns `mean`, `sd`, `lower` and `upper`; for `"class"` the type
#'   of the response: a factor, a logical vector, or numbers 0 and 1. The other
#'   observations in `newdata` do not change a bit of an observation's
#'   prediction (if factors have the same levels).
#' @section Errors: `gibbsite_error_argument` for variables that are missing, of
#'   another kind, or with levels that are not in the fit
#'   (`gibbsite_error_level`), for terms that use other rows of the data
#'   (`gibbsite_error_other_rows`, see [gibbs_lm()]), and for `newdata = NULL`
#'   when the fit does not hold its data.
#' @references
#' Stefanski LA (1991). A normal scale mixture representation of the logistic
#' distribution. *Statistics & Probability Letters* 11, 69-70.
#' \doi{10.1016/0167-7152(91)90181-P}
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' new <- data.frame(wt = c(2, 3, 6))
#' predict(fit, new, type = "response", interval = TRUE)
#' plogis(predict(fit, new)) # at the mode: too sure
#' predict(fit, new, type = "class")
#' @export
predict.laplace_logistic <- function(object, newdata = NULL,
                                     type = c("link", "response", "class"),
                                     interval = FALSE, level = 0.95,
                                     offset = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("link", "response", "class"))
  interval <- check_flag(interval)
  level <- check_level(level)
  model <- fit_part(object, "model")
  rows <- prediction_rows(model, newdata, offset, call)
  if (type == "class") {
    response <- predict_moments(object, rows, "response", level, FALSE)
    out <- as_class(model, response$mean, call)
  } else {
    out <- predict_moments(object, rows, type, level, interval)
    out <- if (interval) as.data.frame(out) else out$mean
  }
  out <- with_row_names(out, rows$names)
  if (is.null(newdata)) as_excluded(model, out) else out
}

#' @rdname predict.laplace_logistic
#' @export
predict.gibbs_logistic <- predict.laplace_logistic

predict_moments <- function(fit, rows, type, level, interval) {
  model <- fit_part(fit, "model")
  tails <- central_tails(level)
  if (draws_posterior(model)) {
    return(drawn_moments(fit, rows, type, tails, interval))
  }
  at <- predictor_moments(model, rows)
  invert <- if (type == "link") identity else stats::plogis
  out <- list(
    mean = if (type == "link") at$mean else logistic_mean(at$mean, at$sd)
  )
  if (interval) {
    out$sd <- if (type == "link") at$sd else
      share_sd(model, at$mean, at$sd)
    out$lower <- invert(at$mean + stats::qnorm(tails[[1L]]) * at$sd)
    out$upper <- invert(at$mean + stats::qnorm(tails[[2L]]) * at$sd)
  }
  out
}

# The same from the draws, in blocks of rows of at most 64 MB.
drawn_moments <- function(fit, rows, type, tails, interval) {
  model <- fit_part(fit, "model")
  draws <- do.call(rbind, chain_matrices(fit))
  parts <- lapply(row_blocks(nrow(rows$x), nrow(draws)), function(block) {
    values <- linear_predictors(
      rows$x[block, , drop = FALSE], draws, rows$offset[block]
    )
    if (type == "response") {
      values <- success_probability(model, values)
    }
    out <- data.frame(mean = colMeans(values))
    if (interval) {
      out$sd <- apply(values, 2L, stats::sd)
      bounds <- apply(values, 2L, known_quantiles, tails)
      out$lower <- bounds[1L, ]
      out$upper <- bounds[2L, ]
    }
    out
  })
  as.list(do.call(rbind, parts))
}

# Probabilities as classes, in the form of the fit's response.
as_class <- function(model, probability, call) {
  response <- model_design(model)$response
  success <- probability > 0.5
  switch(response$kind,
    factor = factor(
      response$levels[1L + success], levels = response$levels
    ),
    logical = success,
    counts = abort_argument(
      c("{.code type = \"class\"} needs a response of single outcomes; that of
         the fit is counts.",
        i = "Use {.code type = \"response\"}."),
      call = call
    ),
    as.numeric(success)
  )
}

# ---- Draws of predictions ---------------------------------------------------

#' Posterior draws of predictions of a logistic regression
#'
#' For each draw of the coefficients: the linear predictor of each observation
#' (`posterior_linpred()`), its probability of success (`posterior_epred()`), a
#' new response (`posterior_predict()`: the number of successes), or the log
#' probability of the response that was observed (`log_lik()`). `loo()` and
#' `waic()` use `log_lik()` to estimate how well new observations would be
#' predicted. `pp_check()` compares the responses with replicated ones.
#' `bayes_R2()` gives for each draw the variance of the predicted probabilities
#' divided by the sum of this variance and the binomial variance (Gelman et al.
#' 2019).
#'
#' @param object A fit of [laplace_logistic()] or [gibbs_logistic()].
#' @param newdata,offset As in [predict.laplace_logistic()]; for `log_lik()`
#'   with the response.
#' @param draws `NULL` for all draws (`pp_check()`: for at most 50), or the
#'   number of draws to use, spread evenly over the chains' draws.
#' @param ndraws Another name of `draws`, which tidybayes uses.
#' @param re_formula `NULL` or `NA`, without effect: there are no groups.
#' @param transform `FALSE` (default); `TRUE` is `posterior_epred()`.
#' @param trials For `posterior_predict()` with `newdata`: the number of trials
#'   of each row, one number or several; default 1.
#' @param y For `log_lik()` with `newdata`: its response. It is needed for a fit
#'   by matrix, and as `cbind(successes, failures)` for one of proportions with
#'   weights.
#' @param ... Not used; for `pp_check()` passed to bayesplot.
#' @return A matrix, draws x observations (chain after chain); `bayes_R2()` a
#'   vector, a number for each draw; `pp_check()` a plot. Weights of the
#'   observations are used only in `log_lik()` of the fit's own data. This,
#'   `bayes_R2()` and `pp_check()` leave out rows without trials or with weight
#'   0, and a row of several trials is one observation: see
#'   [kfold][kfold.gibbsite_fit], section Observations.
#' @section Errors: `gibbsite_error_argument` for more draws than there are, and
#'   the errors of [predict.laplace_logistic()].
#' @references
#' Gelman A, Goodrich B, Gabry J, Vehtari A (2019). R-squared for Bayesian
#' regression models. *The American Statistician* 73, 307-309.
#' \doi{10.1080/00031305.2018.1549100}
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' new <- data.frame(wt = c(2, 3, 6))
#' colMeans(posterior_epred(fit, new))
#' predict(fit, new, type = "response") # without the Monte Carlo error
#' dim(log_lik(fit))
#' if (requireNamespace("loo", quietly = TRUE)) loo::loo(fit)
#' @name logistic-draws
NULL

# draws x observations
linear_predictor_draws <- function(object, newdata, offset, draws, call) {
  model <- fit_part(object, "model")
  rows <- prediction_rows(model, newdata, offset, call)
  all <- do.call(rbind, chain_matrices(object))
  chosen <- all[spread_rows(draws, nrow(all), call), , drop = FALSE]
  out <- linear_predictors(rows$x, chosen, rows$offset)
  colnames(out) <- rows$names
  out
}

#' @rdname logistic-draws
#' @export
posterior_linpred.laplace_logistic <- function(object, transform = FALSE,
                                               newdata = NULL, draws = NULL,
                                               offset = NULL, ...,
                                               ndraws = NULL,
                                               re_formula = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  transform <- check_flag(transform)
  out <- linear_predictor_draws(object, newdata, offset, draws, call)
  if (transform) success_probability(fit_part(object, "model"), out) else out
}

#' @rdname logistic-draws
#' @export
posterior_linpred.gibbs_logistic <- posterior_linpred.laplace_logistic

#' @rdname logistic-draws
#' @export
posterior_epred.laplace_logistic <- function(object, newdata = NULL,
                                             draws = NULL, offset = NULL, ...,
                                             ndraws = NULL,
                                             re_formula = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  eta <- linear_predictor_draws(object, newdata, offset, draws, call)
  success_probability(fit_part(object, "model"), eta)
}

#' @rdname logistic-draws
#' @export
posterior_epred.gibbs_logistic <- posterior_epred.laplace_logistic

#' @rdname logistic-draws
#' @export
posterior_predict.laplace_logistic <- function(object, newdata = NULL,
                                               draws = NULL, offset = NULL,
                                               trials = NULL, ...,
                                               ndraws = NULL,
                                               re_formula = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  mean <- success_probability(
    fit_part(object, "model"),
    linear_predictor_draws(object, newdata, offset, draws, call)
  )
  predicted_successes(
    mean, fit_part(object, "model"), is.null(newdata), trials, call
  )
}

# mean: probabilities, draws x observations.  own: these are the fit's own data.
predicted_successes <- function(mean, model, own, trials, call) {
  trials <- if (own) {
    if (!is.null(trials)) {
      abort_argument(
        "{.arg trials} goes with {.arg newdata}.", call = call
      )
    }
    model$frame$trials
  } else if (!is.null(trials)) {
    trials <- check_numeric_vector(
      trials, length = c(1, ncol(mean)),
      length_why = "one for each row of `newdata`", lower = 0, arg = "trials",
      call = call
    )
    rep_len(trials, ncol(mean))
  }
  each <- if (!is.null(trials)) rep(trials, each = nrow(mean))
  # rbinom() warns of NA, which a missing predictor gives
  mean[] <- suppressWarnings(draw_successes(mean, each))
  mean
}

#' @rdname logistic-draws
#' @export
posterior_predict.gibbs_logistic <- posterior_predict.laplace_logistic

#' @rdname logistic-draws
#' @export
log_lik.laplace_logistic <- function(object, newdata = NULL, draws = NULL,
                                     offset = NULL, y = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  if (is.null(newdata)) {
    if (!is.null(y)) {
      abort_argument("{.arg y} goes with {.arg newdata}.")
    }
    rows <- prediction_rows(model, NULL, offset, call)
    all <- do.call(rbind, chain_matrices(object))
    chosen <- all[spread_rows(draws, nrow(all), call), , drop = FALSE]
    out <- logistic_log_lik(model, chosen)
    colnames(out) <- rows$names
    return(used_columns(out, rows_used(model$frame)))
  }
  eta <- linear_predictor_draws(object, newdata, offset, draws, call)
  response <- new_response(model, newdata, y, ncol(eta), function(y, known) {
    response_of_kind(y, known, call)
  }, call)
  trials <- response$trials %||% rep(1, ncol(eta))
  successes <- round(trials * response$y)
  share_log_lik(model, eta, successes, trials) +
    rep(lchoose(trials, successes), each = nrow(eta))
}

# s log F(eta) + (m - s) log (1 - F(eta)), draws x observations
share_log_lik <- function(model, eta, success, total) {
  # a logarithm of 0 is not used
  part <- function(count, side) {
    count <- rep(count, each = nrow(eta))
    value <- success_probability(model, eta, success = side, log = TRUE)
    ifelse(!is.na(count) & count == 0, 0, count * value)
  }
  out <- part(success, TRUE) + part(total - success, FALSE)
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

#' @rdname logistic-draws
#' @export
log_lik.gibbs_logistic <- log_lik.laplace_logistic

# A response in the levels of the fit's own, `known`.
response_of_kind <- function(y, known, call) {
  if (identical(known$kind, "factor")) {
    levels <- known$levels
    unseen <- setdiff(as.character(y[!is.na(y)]), levels)
    if (length(unseen) > 0L) {
      abort_argument(
        c("The response of {.arg newdata} must have the levels of the fit,
           not {.val {unseen[[1L]]}}.",
          i = "They are {.val {levels}}."),
        call = call, class = "level"
      )
    }
    y <- factor(as.character(y), levels = levels)
  }
  as_response(y, known$name, call)
}

#' @rdname logistic-draws
#' @export
bayes_R2.laplace_logistic <- function( # nolint: object_name_linter.
    object, newdata = NULL, draws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  eta <- posterior_linpred.laplace_logistic(
    object, FALSE, newdata, draws, ...
  )
  explained_success(
    fit_part(object, "model"), observed_columns(object, newdata, eta)
  )
}

# R^2 of the draws whose linear predictors are the rows of eta.
explained_success <- function(model, eta) {
  mean <- success_probability(model, eta)
  failure <- success_probability(model, eta, success = FALSE)
  explained_share(mean, rowMeans(mean * failure))
}

#' @rdname logistic-draws
#' @export
bayes_R2.gibbs_logistic <- # nolint: object_name_linter.
  bayes_R2.laplace_logistic

#' @rdname logistic-draws
#' @exportS3Method bayesplot::pp_check
pp_check.laplace_logistic <- function(object, draws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  frame <- check_frame(fit_part(object, "model"))
  draws <- draws %||% min(50, ndraws(object))
  used <- rows_used(frame)
  y <- (frame$y * (frame$trials %||% 1))[used]
  replicated <- unname(
    posterior_predict(object, draws = draws)
  )[, used, drop = FALSE]
  if (max(frame$trials %||% 1) <= 30) {
    bayesplot::ppc_bars(y, replicated, ...)
  } else {
    bayesplot::ppc_dens_overlay(y, replicated, ...)
  }
}

#' @rdname logistic-draws
#' @exportS3Method bayesplot::pp_check
pp_check.gibbs_logistic <- pp_check.laplace_logistic

draw_successes <- function(probability, trials) {
  as.double(stats::rbinom(length(probability), trials %||% 1, probability))
}
