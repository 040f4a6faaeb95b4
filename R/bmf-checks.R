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
#'   any), `.fitted`, `.se.fit` (standard deviation of the mean of the rating),
#'   `.lower`, `.upper` (of the rating) and `.resid`.
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
    list(u = user_features, v = item_features)
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
    list(u = user_features, v = item_features)
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
  pairs <- bmf_pairs(fit_part(object, "model"), newdata, call)
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
    lacking <- or_words(quoted(unique(c(
      model$names[[3]], usual_columns$value
    ))))
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
  rows <- unique(round(
    seq(1, length(pairs$user), length.out = min(5000, length(pairs$user)))
  ))
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
    bmf_predicted(chain$state)$noise
  }, 0))
  cbind(out, data.frame(
    rank = model$rank, users = length(model$users),
    items = length(model$items),
    sigma = if (noise > 0 && !is_ordinal(model)) sqrt(noise) else NA,
    rmse = if (is_ordinal(model)) NA else mean(draws_of(x, "rmse"))
  ))
}
