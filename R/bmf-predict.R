# Predictions of ratings: predict() of a fit of gibbs_bmf().

#' Predict ratings
#'
#' Predictions are averages over the draws of the factors that the fit keeps for
#' prediction (see [gibbs_bmf()]). Nothing is refitted. With \eqn{S} of them:
#' \deqn{\mathrm{E}[r_{ij}] \approx \frac1S \sum_s \eta^{(s)}_{ij}, \quad
#'   \eta^{(s)}_{ij} = m + u_i^{(s)\top} v_j^{(s)},}{
#'   E[r_ij] ~ (1/S) sum_s eta_ij(s), eta_ij(s) = m + u_i(s)'v_j(s),}
#' \deqn{\mathrm{Var}[r_{ij}] \approx \underbrace{\frac1S \sum_s
#'   \frac{1}{\beta^{(s)}}}_{noise} + \underbrace{\frac1S \sum_s
#'   (\eta^{(s)}_{ij})^2 - \Bigl(\frac1S \sum_s \eta^{(s)}_{ij}\Bigr)^2}_{
#'   parameters}}{
#'   Var[r_ij] ~ (1/S) sum_s 1/beta(s)   [noise]
#'   + (1/S) sum_s eta_ij(s)^2 - E[r_ij]^2   [parameters]}
#' (equations 23 and 24 of Paisley's lecture 3, cited on the page of
#' [gibbs_bmf()]; if \eqn{\beta}{beta} is drawn, the noise part is the mean of
#' \eqn{1/\beta}{1/beta} over the draws). \eqn{m} is the mean subtracted with
#' `center = TRUE`, otherwise 0; intercepts are part of \eqn{\eta}{eta}.
#'
#' @section Users and items not seen before:
#' Their factors come from the hierarchical prior: given a draw they are
#' \eqn{\mathrm{N}(\mu_u, \Lambda_u^{-1})}{N(mu_u, Lambda_u^-1)}. Mean and
#' variance are computed exactly from this distribution; the variance of the
#' factors counts in the part `parameters`. `type = "draws"` draws the factors,
#' once for each new id, from R's generator. The column `unknown` says which
#' users and items are new; users and items of the fit without a rating count as
#' unknown too. To predict for a new user with some known ratings see
#' [fold_in()].
#'
#' If the fit has features, their mean is \eqn{\mu_u + B_u^\top f}{mu_u +
#' B_u'f}, and `user_features` (`item_features`) must have the features \eqn{f}
#' of all users (items) that the fit does not have. The table may have rows of
#' others; the features of the fit's own users are those of the fit. Columns are
#' found by their names, if both tables have names.
#' @section Ordinal ratings:
#' With `link` in the fit, what is said of a rating is of the level: given a
#' draw it has the probability \eqn{\Phi(\theta_c - \eta) - \Phi(\theta_{c-1} -
#' \eta)}{Phi(theta_c - eta) - Phi(theta_{c-1} - eta)}, and predictions are made
#' of the means of these over the draws. The number of a level is its rating;
#' that of an ordered factor is its place. `noise` is the mean over the draws of
#' the variance given a draw (for a new id it includes the spread of its
#' factors), `parameters` the variance of the mean. `posterior_linpred()` gives
#' \eqn{\eta}{eta}.
#'
#' @section Intervals:
#' With `interval = "mean"` the variance is the part `parameters`, and the ends
#' are the quantiles of the means over the draws; given a draw the mean of a
#' rating of a new id is normal (with `range` or `link` the spread of its
#' factors counts as noise). With `interval = "prediction"` noise is included.
#' The predictive distribution of a rating, noise included, is the mixture over
#' the draws of the normal distributions \eqn{\mathrm{N}(\eta^{(s)}_{ij},
#' 1/\beta^{(s)})}{N(eta_ij(s), 1/beta(s))}, and the ends of an interval are
#' that mixture's quantiles, found by Newton's method. Nothing is simulated, and
#' a second call gives the same bits. There is one exception: if both user and
#' item are new, the rating given a draw is not normal; then the factors of one
#' such user are drawn for each draw (from R's generator), and given these it is
#' normal.
#'
#' The model treats ratings as real numbers without bounds. Intervals of ratings
#' from 1 to 5 may reach below 1 or above 5, unless the fit was made with
#' `range`. Then a rating outside the range counts as the nearer end (see
#' [gibbs_bmf()]): its mean and variance given a
#' draw have closed forms, `noise` is the mean over the draws of this variance
#' (for a new id it includes the spread of its factors), and `parameters` the
#' variance of the mean.
#'
#' @param object A fit made by [gibbs_bmf()].
#' @param newdata `NULL` for the ratings of the fit, or a data frame of pairs
#'   with columns called as in the ratings.
#' @param type `"mean"`: mean and variance of the rating, or an interval;
#'   `"draws"`: the draws of the mean of the rating (\eqn{\eta}{eta} without
#'   `range` and `link`), without the noise; `"probabilities"`: with `link`, the
#'   probability of each level.
#' @param interval For `"mean"`: `"none"` (default); `"prediction"`: mean,
#'   standard deviation and the ends of the central interval of the rating,
#'   noise included; `"mean"`: the same of the mean of the rating, without the
#'   noise.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   interval.
#' @param variance For `"mean"` without an interval: `TRUE` (default) or
#'   `FALSE`, for the means alone.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @param user_features,item_features For a fit with features: `NULL`, or a
#'   table like that of the fit with a row for each new user (item).
#' @param ... Not used.
#' @return `"mean"`: a data frame with a row for each pair and the columns user
#'   and item (under their names in the data), `mean`, `variance` and its parts
#'   `noise` and `parameters`, in the unit of the ratings and its square, and
#'   `unknown` (`"none"`, `"user"`, `"item"` or `"both"`); with `variance =
#'   FALSE` a vector of means; with an interval `mean`, `sd`, `lower` and
#'   `upper`. `"probabilities"`: a data frame with a column for each
#'   level, named by it. `"draws"`: a matrix, draws x pairs. The other pairs in
#'   `newdata` do not change a bit of a pair's result (for `"draws"` of new ids
#'   they do not change its distribution).
#' @section Errors: `gibbsite_error_argument` for missing columns or ids, and
#'   for a fit without its data when `newdata` is `NULL`;
#'   `gibbsite_error_size` when the fit keeps no draws of the factors.
#' @seealso [recommend()], [fold_in()], [predicted_at()] for predictions
#'   averaged over every kept draw, [posterior_predict.gibbs_bmf()] for draws of
#'   ratings with their noise.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' pairs <- data.frame(
#'   user = c("1", "2", "someone new"), item = c("1", "5", "5")
#' )
#' predict(fit, pairs)
#' predict(fit, pairs, interval = "prediction", level = 0.5)
#' @export
predict.gibbs_bmf <- function(object, newdata = NULL,
                              type = c("mean", "draws", "probabilities"),
                              interval = c("none", "mean", "prediction"),
                              level = 0.95, variance = TRUE, ndraws = NULL,
                              user_features = NULL, item_features = NULL,
                              ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  type <- check_choice(type, c("mean", "draws", "probabilities"))
  interval <- check_rating_interval(interval, type, call)
  level <- check_level(level)
  variance <- check_flag(variance)
  model <- fit_part(object, "model")
  check_has_probabilities(model, type, call)
  pairs <- bmf_pairs(
    model, newdata, call, list(u = user_features, v = item_features), FALSE
  )
  kept <- kept_factors(object, ndraws, call)
  switch(type,
    probabilities = predict_probabilities(kept, pairs),
    mean = if (interval == "none") {
      predict_mean(kept, pairs, variance)
    } else {
      predict_interval(kept, pairs, interval, level)
    },
    draws = predict_draws(kept, pairs, call)
  )
}

check_rating_interval <- function(interval, type, call) {
  interval <- check_interval(interval, call)
  if (interval != "none" && type != "mean") {
    abort_argument(
      "{.arg type} must be {.val mean} with {.code interval = \"{interval}\"}.",
      call = call
    )
  }
  interval
}

check_has_probabilities <- function(model, type, call) {
  if (type == "probabilities" && !is_ordinal(model)) {
    abort_argument(
      c(
        "{.code type = \"probabilities\"} needs a fit of ordinal ratings.",
        i = "Fit with {.code link = \"ordinal\"} or {.code link = \"probit\"}."
      ),
      call = call
    )
  }
}

# A column for each rating, named by it.
predict_probabilities <- function(kept, pairs) {
  stand_ins <- draw_stand_ins(kept, pairs)
  probability <- by_blocks(kept, pairs, function(rows) {
    rating_probabilities(kept, bmf_normals(kept, pairs, rows, stand_ins))
  })
  out <- pair_frame(kept$model, pairs)
  labels <- kept$model$response$labels
  # a level may be called as one of the other columns
  columns <- make.unique(c(names(out), "unknown", labels))
  colnames(probability) <- columns[-seq_len(length(out) + 1L)]
  data.frame(
    out, probability, unknown = pairs$unknown, check.names = FALSE
  )
}

predict_mean <- function(kept, pairs, variance) {
  # the mean of the latent value, which is linear, needs no stand-ins
  stand_ins <- if (is_latent(kept$model)) draw_stand_ins(kept, pairs)
  moments <- pair_moments(kept, pairs, stand_ins)
  if (!variance) {
    return(moments$mean)
  }
  pair_frame(
    kept$model, pairs, mean = moments$mean,
    variance = moments$noise + moments$variance, noise = moments$noise,
    parameters = moments$variance, unknown = pairs$unknown
  )
}

# Means and the parts of the variance of the ratings of pairs over the kept
# draws: data.frame(mean, variance, noise); variance: of the parameters.
pair_moments <- function(kept, pairs, stand_ins = NULL) {
  if (is_latent(kept$model)) {
    return(by_blocks(kept, pairs, function(rows) {
      mean_moments(rating_moments(kept, bmf_normals(
        kept, pairs, rows, stand_ins
      )))
    }))
  }
  linear <- linear_pair_moments(kept, pairs)
  cbind(linear, noise = rep(mean(kept$noise), nrow(linear)))
}

# moments: of the rating given a draw, draws x pairs
mean_moments <- function(moments) {
  of_mean <- column_moments(moments$mean)
  data.frame(
    mean = of_mean$mean, variance = of_mean$squares / nrow(moments$mean),
    noise = colMeans(moments$variance)
  )
}

# The mean of the rating in each kept draw, draws x pairs.
predictor_means <- function(kept, pairs) {
  if (!is_latent(kept$model)) {
    return(new_pair_moments(kept, pairs)$mean)
  }
  latent <- bmf_normals(
    kept, pairs, stand_ins = draw_stand_ins(kept, pairs)
  )
  rating_moments(kept, latent)$mean
}

linear_pair_moments <- function(kept, pairs) {
  new <- is.na(pairs$user) | is.na(pairs$item)
  moments <- linear_draws(
    kept, known_codes(pairs$user), known_codes(pairs$item), moments = TRUE
  )
  out <- data.frame(
    mean = moments$mean, variance = moments$m2 / length(kept$noise)
  )
  if (any(new)) {
    pairs <- some_pairs(pairs, which(new))
    out[new, ] <- by_blocks(kept, pairs, function(rows) {
      moments <- new_pair_moments(kept, some_pairs(pairs, rows))
      own <- column_moments(moments$mean)
      data.frame(
        mean = own$mean,
        variance = own$squares / nrow(moments$mean) + colMeans(moments$extra)
      )
    })
  }
  out
}

predict_interval <- function(kept, pairs, interval, level) {
  stand_ins <- draw_stand_ins(kept, pairs)
  moments <- pair_moments(kept, pairs, stand_ins)
  ends <- interval_ends(kept, pairs, level, stand_ins, interval)
  interval_frame(kept$model, pairs, moments, ends, interval, pairs$unknown)
}

# moments: of pair_moments(); ends: pairs x 2.
interval_frame <- function(model, pairs, moments, ends, interval, unknown) {
  noise <- if (interval == "prediction") moments$noise else 0
  pair_frame(
    model, pairs, mean = moments$mean, sd = sqrt(noise + moments$variance),
    lower = ends[, 1L], upper = ends[, 2L], unknown = unknown
  )
}

interval_ends <- function(kept, pairs, level, stand_ins = NULL,
                          interval = "prediction") {
  kept <- kept_for(kept, interval)
  by_blocks(kept, pairs, function(rows) {
    part <- bmf_normals(kept, pairs, rows, stand_ins)
    rating_ends(kept, part, level, interval)
  })
}

# For an interval of the mean of ratings that are the latent values: without
# their noise.
kept_for <- function(kept, interval) {
  if (interval == "mean" && !is_latent(kept$model)) {
    kept$noise[] <- 0
  }
  kept
}

check_pairs_size <- function(kept, pairs, call) {
  check_result_size(
    c(length(kept$noise), length(pairs$user)), "draws x pairs",
    "{.arg ndraws} or the number of pairs", call
  )
}

# The mean of the rating in every draw, draws x pairs.
predict_draws <- function(kept, pairs, call) {
  linear <- predictor_draws(kept, pairs, call)
  if (!is_latent(kept$model)) {
    return(linear)
  }
  rating_moments(kept, list(mean = linear, sd = sqrt(kept$noise)))$mean
}

# eta of every draw, draws x pairs; a new id has the same factors in all its
# pairs.
predictor_draws <- function(kept, pairs, call) {
  check_pairs_size(kept, pairs, call)
  out <- linear_draws(kept, known_codes(pairs$user), known_codes(pairs$item))
  rows <- which(is.na(pairs$user) | is.na(pairs$item))
  if (length(rows) > 0) {
    out[, rows] <- new_pair_draws(kept, pairs, rows)
  }
  out
}

new_pair_draws <- function(kept, pairs, rows) {
  user <- new_codes(pairs$ids$user[rows], pairs$user[rows])
  item <- new_codes(pairs$ids$item[rows], pairs$item[rows])
  drawn_u <- draw_new_factors(kept, "u", max(0L, -user), pairs$x$u)
  drawn_v <- draw_new_factors(kept, "v", max(0L, -item), pairs$x$v)
  do.call(rbind, over_draws(kept, function(draw) {
    take <- function(known, drawn, code) {
      all <- cbind(known, matrix(drawn[, , draw$place], nrow(known)))
      all[, ifelse(code > 0, code, ncol(known) - code), drop = FALSE]
    }
    kept$model$center + inner(
      kept$model, take(draw$u, drawn_u, user), take(draw$v, drawn_v, item)
    )
  }))
}

# Codes with -1, -2, ... for the distinct new ids.
new_codes <- function(ids, codes) {
  fresh <- is.na(codes)
  new <- plain_or_level(ids)[fresh]
  codes[fresh] <- -match(new, unique(new))
  codes
}

# ---- Draws of ratings and residuals ------------------------------------------

# Draws of ratings, log likelihoods, fitted ratings and residuals of a fit of
# gibbs_bmf().

#' Fitted and replicated ratings, and their log likelihood
#'
#' `posterior_predict()` draws ratings with their noise, one for each pair and
#' kept draw; `posterior_epred()` (and `posterior_linpred()`, which is the same
#' without `range` and `link`) gives the draws of their mean; `log_lik()` gives
#' the log density of each rating under each draw. `fitted()` gives the
#' posterior means of the ratings in the data, `residuals()` the ratings minus
#' these means, and `augment()` the ratings with both and with intervals. All
#' use the draws that the fit keeps for prediction, see [gibbs_bmf()], chain
#' after chain.
#'
#' @param object,x A fit made by [gibbs_bmf()]; for `fitted()`, `residuals()`
#'   and `augment()` also the result of a search for a mode.
#' @param newdata `NULL` for the ratings of the fit, or a data frame as in
#'   [predict.gibbs_bmf()]; `log_lik()` needs the ratings in it too.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction
#'   (`pp_check()`: for at most 50), or the number of them to use, spread
#'   evenly.
#' @param user_features,item_features As in [predict.gibbs_bmf()].
#' @param re_formula `NULL` or `NA`, without effect; tidybayes gives it.
#' @param transform For `posterior_linpred()`: `TRUE` for the mean of the
#'   rating, `FALSE` (default) for the linear predictor; with `range` or `link`
#'   they differ.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   predictive interval.
#' @param ... Not used; for `pp_check()` passed to
#'   [bayesplot::ppc_dens_overlay()].
#' @return A matrix, draws x pairs, in the order of the data; `pp_check()`: a
#'   plot. [loo()][loo::loo] and [waic()][loo::waic] take the fit itself and
#'   concern the ratings in the data. For ratings held back, `log_lik(fit,
#'   newdata)` is exact, and [held_out()] summarises it.
#'
#'   `fitted()` and `residuals()`: vectors in the order of the ratings.
#'   `augment()`: a data frame with the pairs, the ratings (where there are
#'   any), `.fitted`, `.se.fit` (standard deviation of the mean of the rating,
#'   as with `interval = "mean"` of [predict.gibbs_bmf()]), `.lower` and
#'   `.upper` (of a new rating, its noise included, as with `interval =
#'   "prediction"`: wider than `.se.fit` tells) and `.resid`.
#' @section Errors: `gibbsite_error_argument` for more draws than there are, for
#'   `newdata` without the columns needed, and for a fit without its data;
#'   `gibbsite_error_size` when the matrix would be larger than
#'   `options(gibbsite.max_draws_mb)`.
#' @seealso [predict.gibbs_bmf()] for means and intervals, [held_out()] for the
#'   error of ratings held back, [compare_k()] for ranks, [plot.gibbs_bmf()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' dim(posterior_predict(fit, ndraws = 10))
#' mean(log_lik(fit, made[1:5, ]))
#' sqrt(mean(residuals(fit)^2))
#' head(augment(fit), 3)
#' @name bmf-checks
#' @aliases posterior_predict.gibbs_bmf bmf-fitted
#' @export
posterior_predict.gibbs_bmf <- function(object, newdata = NULL, ndraws = NULL,
                                        ..., user_features = NULL,
                                        item_features = NULL,
                                        re_formula = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  check_re_formula(re_formula, call)
  pairs <- bmf_pairs(
    fit_part(object, "model"), newdata, call,
    list(u = user_features, v = item_features), FALSE
  )
  kept <- kept_factors(object, ndraws, call)
  rating_draws(kept, predictor_draws(kept, pairs, call))
}

#' @rdname bmf-checks
#' @export
posterior_epred.gibbs_bmf <- function(object, newdata = NULL, ndraws = NULL,
                                      ..., user_features = NULL,
                                      item_features = NULL,
                                      re_formula = NULL) {
  check_no_more(...)
  call <- rlang::current_env()
  check_unlocked(call)
  check_re_formula(re_formula, call)
  pairs <- bmf_pairs(
    fit_part(object, "model"), newdata, call,
    list(u = user_features, v = item_features), FALSE
  )
  predict_draws(kept_factors(object, ndraws, call), pairs, call)
}

#' @rdname bmf-checks
#' @export
posterior_linpred.gibbs_bmf <- function(object, transform = FALSE,
                                        newdata = NULL, ndraws = NULL, ...,
                                        re_formula = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_unlocked(call)
  transform <- check_flag(transform)
  check_re_formula(re_formula, call)
  pairs <- bmf_pairs(
    fit_part(object, "model"), newdata, call, values = FALSE
  )
  kept <- kept_factors(object, ndraws, call)
  (if (transform) predict_draws else predictor_draws)(kept, pairs, call)
}

#' @rdname bmf-checks
#' @export
log_lik.gibbs_bmf <- function(object, newdata = NULL, ndraws = NULL, ...,
                              user_features = NULL, item_features = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(object, "model")
  pairs <- bmf_pairs(
    model, newdata, call, list(u = user_features, v = item_features)
  )
  check_values(pairs, model, call)
  kept <- kept_factors(object, ndraws, call)
  check_pairs_size(kept, pairs, call)
  rating_log_density(kept, pairs$value, bmf_normals(
    kept, pairs, stand_ins = draw_stand_ins(kept, pairs)
  ))
}

check_has_values <- function(pairs, model, arg, call) {
  if (is.null(pairs$value)) {
    lacking <- wanted_columns(model$names[[3]], "value")
    abort_argument(
      "{.arg {arg}} must have the ratings: there is no column {lacking}.",
      call = call, class = "column"
    )
  }
}

check_values <- function(pairs, model, call) {
  check_has_values(pairs, model, "newdata", call)
  if (anyNA(pairs$value)) {
    row <- which(is.na(pairs$value))[[1]]
    abort_argument(
      "{.arg newdata} must have a rating in every row: row {row} has none.",
      call = call, class = "missing", row = row
    )
  }
}

#' @rdname bmf-checks
#' @rawNamespace S3method(bayesplot::pp_check, gibbs_bmf)
pp_check.gibbs_bmf <- function(object, ndraws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_passed_on(...)
  shown <- fit_part(object, "model")
  available <- length(kept_factors(object, call = call)$noise)
  pairs <- bmf_pairs(shown, NULL, call)
  # 5,000 ratings, spread evenly, are enough for a density
  rows <- evenly(length(pairs$user), 5000)
  newdata <- pair_frame(shown, list(ids = lapply(pairs$ids, `[`, rows)))
  bayesplot::ppc_dens_overlay(
    pairs$value[rows],
    posterior_predict(object, newdata, ndraws %||% min(50, available)), ...
  )
}

# ---- the ratings of the fit ------------------------------------------------

#' @rdname bmf-checks
#' @importFrom stats fitted
#' @export
fitted.gibbs_bmf <- function(object, ...) {
  check_no_more(...)
  predict(object, variance = FALSE)
}

#' @rdname bmf-checks
#' @importFrom stats residuals
#' @export
residuals.gibbs_bmf <- function(object, ...) {
  check_no_more(...)
  fit <- stats::fitted(object)
  fit_part(object, "model")$data$value - fit
}

#' @rdname bmf-checks
#' @export
augment.gibbs_bmf <- function(x, newdata = NULL, level = 0.95, ...,
                              user_features = NULL, item_features = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  level <- check_level(level)
  model <- fit_part(x, "model")
  pairs <- bmf_pairs(
    model, newdata, call, list(u = user_features, v = item_features)
  )
  kept <- kept_factors(x, call = call)
  stand_ins <- draw_stand_ins(kept, pairs)
  moments <- pair_moments(kept, pairs, stand_ins)
  ends <- interval_ends(kept, pairs, level, stand_ins)
  out <- pair_frame(model, pairs)
  if (!is.null(pairs$value)) {
    out[[model$names[[3]]]] <- pairs$value
  }
  out$.fitted <- moments$mean
  out$.se.fit <- sqrt(moments$variance)
  out$.lower <- ends[, 1L]
  out$.upper <- ends[, 2L]
  if (!is.null(pairs$value)) {
    out$.resid <- pairs$value - moments$mean
  }
  out
}

#' @rdname tidy.gibbsite_fit
#' @export
glance.gibbs_bmf <- function(x, ...) {
  model <- fit_part(x, "model")
  out <- glance.gibbsite_fit(x)
  noise <- mean(vapply(fit_part(x, "chains"), function(chain) {
    chain$state$noise
  }, 0))
  cbind(out, data.frame(
    rank = model$rank, users = length(model$users),
    items = length(model$items),
    sigma = if (noise > 0 && !is_ordinal(model)) sqrt(noise) else NA,
    rmse = if (is_ordinal(model)) NA else mean(draws_of(x, "rmse"))
  ))
}
