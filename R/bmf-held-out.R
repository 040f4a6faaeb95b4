# Predictions of pairs given up front, and scores of ratings held back.

#' @rdname held_out
#' @export
predicted_at <- function(fit, level = 0.95) {
  check_needed(fit = "a fit made by gibbs_bmf()")
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_bmf")
  level <- check_level(level)
  pairs <- asked_pairs(fit, call)
  kept <- kept_factors(fit, call = call)
  if (is_latent(kept$model)) {
    # those accumulated are of the linear predictor, and the rating is another
    # function of it
    moments <- pair_moments(kept, pairs)
    ends <- interval_ends(kept, pairs, level)
  } else {
    moments <- streamed_moments(fit)
    ends <- streamed_ends(kept, pairs, moments, level)
  }
  out <- pair_frame(
    kept$model, pairs, mean = moments$mean,
    variance = moments$noise + moments$variance, noise = moments$noise,
    parameters = moments$variance, lower = ends[, 1L], upper = ends[, 2L],
    unknown = pairs$unknown
  )
  if (!is.null(pairs$value)) {
    value <- stats::setNames(
      data.frame(pairs$value), fit_part(fit, "model")$names[[3]]
    )
    out <- cbind(out[1:2], value, out[-(1:2)])
  }
  out
}

asked_pairs <- function(fit, call) {
  model <- fit_part(fit, "model")
  pairs <- model$pairs
  if (is.null(pairs)) {
    abort_argument(
      c(
        "{.arg fit} was made without {.arg predict_at}.",
        i = "Use {.fn predict}, or fit again with the pairs."
      ),
      call = call
    )
  }
  pairs$ids <- ids_of_codes(model, pairs$user, pairs$item)
  pairs$unknown <- unknown_words(model, pairs$user, pairs$item)
  pairs
}

# Means and variances at `predict_at` over every kept draw of all chains, each
# chain weighted by its number of draws (Chan, Golub and LeVeque 1983,
# doi:10.2307/2683386, eq. 1.5).
streamed_moments <- function(fit) {
  states <- lapply(fit_part(fit, "chains"), `[[`, "state")
  count <- vapply(states, function(state) as.double(state$kept), 0)
  if (sum(count) == 0) {
    abort_no_averages("The means at `predict_at`", rlang::caller_env())
  }
  weight <- count / sum(count)
  mean <- Reduce(`+`, Map(function(state, w) w * state$at_mean, states, weight))
  m2 <- Reduce(`+`, Map(function(state, n) {
    state$at_m2 + n * (state$at_mean - mean)^2
  }, states, count))
  list(
    mean = fit_part(fit, "model")$center + mean, variance = m2 / sum(count),
    noise = sum(weight * vapply(states, function(state) state$noise, 0))
  )
}

# The quantiles of the stored draws' mixture, standardised by its mean and
# standard deviation and rescaled with those of all draws.
streamed_ends <- function(kept, pairs, streamed, level) {
  moments <- pair_moments(kept, pairs)
  sd <- sqrt(moments$noise + moments$variance)
  ends <- interval_ends(kept, pairs, level)
  streamed$mean + sqrt(streamed$noise + streamed$variance) / sd *
    (ends - moments$mean)
}

#' How well ratings that were held back are predicted
#'
#' `held_out()` gives the root mean square error, the mean absolute error and
#' the coverage of intervals for ratings that were not used by the fit.
#' `predicted_at()` gives the prediction of each pair that [gibbs_bmf()] got as
#' `predict_at`: means and variances that the chains accumulated at every kept
#' draw as they ran.
#'
#' @param fit A fit made by [gibbs_bmf()], or the result of a search for a mode;
#'   for `rank_measures()` a fit of [gibbs_bmf()] or [gibbs_pmf()].
#' @param newdata `NULL` for the ratings given as `predict_at`, or a data frame
#'   of pairs with ratings.
#' @param level `held_out()`: numbers between 0 and 1, default 0.5, 0.8 and
#'   0.95: the probabilities of the central predictive intervals whose coverage
#'   is counted. `predicted_at()`: one such number, default 0.95.
#' @param ... Not used.
#' @param user_features,item_features As in [predict.gibbs_bmf()].
#' @return `held_out()`: a data frame of one row: `ratings` (how many), `rmse`
#'   (root mean square error of the posterior mean), `mae` (mean absolute
#'   error), `lpd` (mean log predictive density of a rating; higher is better),
#'   and for each level `coverage_50`, ...: the share of ratings inside their
#'   interval. A message names the number of pairs that are in the data of the
#'   fit, whose ratings it knows.
#'
#'   `predicted_at()`: a data frame with a row for each pair of `predict_at`:
#'   the pair, its rating if one was given, `mean`, `variance` and its parts
#'   `noise` and `parameters`, `lower`, `upper`, and `unknown` as in
#'   [predict.gibbs_bmf()]. After an interrupt, the means include draws of the
#'   faster chains that the fit does not show yet.
#' @details
#' With `predict_at` the errors are those of `predicted_at()`, averaged over
#' every kept draw; density and coverage use the draws that the fit keeps for
#' prediction.
#'
#' [predict()][predict.gibbs_bmf] of the pairs of `predict_at` uses only the
#' stored draws, which are fewer. `lower` and `upper` of `predicted_at()` are
#' those of [predict.gibbs_bmf()], shifted and scaled to the accumulated mean
#' and standard deviation. With `range` or `link` in the fit all numbers are
#' those of [predict.gibbs_bmf()], because only linear predictors are
#' accumulated.
#'
#' The standard error of a coverage \eqn{p} is about \eqn{\sqrt{p(1-p)/n}}{
#' sqrt(p (1 - p) / n)}. To compare the `rmse` of two fits use the same ratings:
#' most of the chance variation is then common to both.
#' @section Errors: `gibbsite_error_argument` if no ratings were held back, and
#'   in `predicted_at()` for a fit without `predict_at`.
#' @seealso [predict.gibbs_bmf()] for other cells, [compare_k()] for ranks,
#'   [kfold()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' back <- sample(nrow(made), 50)
#' fit <- gibbs_bmf(made[-back, ], rank = 2, predict_at = made[back, ],
#'   draws = 200, burnin = 200, chains = 2, seed = 1
#' )
#' held_out(fit)
#' head(predicted_at(fit))
#' @export
held_out <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95), ...) {
  check_needed(fit = "a fit made by gibbs_bmf()")
  UseMethod("held_out")
}

#' @export
held_out.default <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95),
                             ...) {
  check_fit_of(fit, "gibbs_bmf", call = rlang::caller_env())
}

#' @rdname held_out
#' @export
held_out.gibbs_bmf <- function(fit, newdata = NULL,
                               level = c(0.5, 0.8, 0.95), ...,
                               user_features = NULL, item_features = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  level <- check_levels(level)
  pairs <- held_out_pairs(
    fit, newdata, call, list(u = user_features, v = item_features)
  )
  say_not_held(pairs, fit_part(fit, "model"), newdata)
  kept <- kept_factors(fit, call = call)
  stand_ins <- draw_stand_ins(kept, pairs)
  mean <- if (is.null(newdata) && !is_latent(kept$model)) {
    streamed_moments(fit)$mean[pairs$rows]
  } else {
    pair_moments(kept, pairs, stand_ins)$mean
  }
  scores <- score_pairs(kept, pairs, stand_ins)
  held_out_row(
    pairs$value, mean, scores[, 1L], scores[, 2:3, drop = FALSE], level
  )
}

check_levels <- function(level) {
  check_numeric_vector(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE,
    call = rlang::caller_env()
  )
}

# Pairs with ratings: those of newdata, or those of predict_at that have one.
# `features` as in bmf_pairs().
held_out_pairs <- function(fit, newdata, call, features = NULL) {
  model <- fit_part(fit, "model")
  if (!is.null(newdata)) {
    pairs <- bmf_pairs(model, newdata, call, features)
    check_some_rows(pairs$user, "newdata", call)
    check_values(pairs, model, call)
    return(pairs)
  }
  check_no_features(features, call)
  if (is.null(model$pairs$value) || all(is.na(model$pairs$value))) {
    abort_argument(
      c(
        "{.arg newdata} is needed: the fit holds no ratings held back.",
        i = "{.arg predict_at} had no ratings, or was not given."
      ),
      call = call
    )
  }
  pairs_held_back(model)
}

# The pairs of `predict_at` that have a rating; `rows`: which these are.
pairs_held_back <- function(model) {
  rows <- which(!is.na(model$pairs$value))
  pairs <- lapply(model$pairs[c("user", "item", "value")], `[`, rows)
  c(pairs, list(
    ids = ids_of_codes(model, pairs$user, pairs$item),
    unknown = unknown_words(model, pairs$user, pairs$item), rows = rows
  ))
}

# The fit knows the ratings of pairs that are in its data. newdata: where they
# are, NULL for `predict_at`.
say_not_held <- function(pairs, model, newdata) {
  arg <- if (is.null(newdata)) "predict_at" else "newdata"
  count <- sum(pairs_in_data(
    model, match_ids(pairs$ids$user, model$users),
    match_ids(pairs$ids$item, model$items)
  ))
  if (count > 0L) {
    inform_gibbsite(
      c(i = "{count} pair{?s} of {.arg {arg}} {cli::qty(count)}{?is/are} in the
             data of the fit: the errors are smaller than those of ratings that
             are held out."),
      class = "not_held_out"
    )
  }
}

# Of each rating the log predictive density, and the probabilities of
# rating_below(): pairs x 3.
score_pairs <- function(kept, pairs, stand_ins = draw_stand_ins(kept, pairs)) {
  by_blocks(kept, pairs, function(rows) {
    latent <- bmf_normals(kept, pairs, rows, stand_ins)
    density <- rating_log_density(kept, pairs$value[rows], latent)
    largest <- apply(density, 2, max)
    relative <- exp(density - rep(largest, each = nrow(density)))
    cbind(
      largest + log(colMeans(relative)),
      rating_below(kept, pairs$value[rows], latent)
    )
  })
}

# below: as rating_below() gives it
held_out_row <- function(value, mean, log_density, below, level) {
  inside <- vapply(level, function(p) mean(inside_interval(below, p)), 0)
  names(inside) <- paste0("coverage_", format_probs(level))
  error <- value - mean
  out <- data.frame(
    ratings = length(value), rmse = sqrt(mean(error^2)),
    mae = mean(abs(error)), lpd = mean(log_density)
  )
  cbind(out, t(inside))
}

# compare_k() of matrix factorisations: errors of ratings held out in folds.

#' @exportS3Method
model_size.bmf_model <- function(model) model$rank

#' @exportS3Method
model_observed.bmf_model <- function(model) {
  # the ids in words: users and items without a rating are no data
  list(
    id_words(model$users, exact = TRUE)[model$data$user],
    id_words(model$items, exact = TRUE)[model$data$item], model$data$value
  )
}

# held: numbers of ratings. The constant that is subtracted, and the prior, are
# those of all ratings.
#' @exportS3Method
model_fold.bmf_model <- function(model, held, by) {
  some <- function(rows) {
    lapply(model$data[c("user", "item", "value")], `[`, rows)
  }
  ratings <- c(
    some(-held), model[c("users", "items", "names", "levels")]
  )
  pairs <- some(held)
  train <- bmf_model_of(model, ratings, character(), pairs)
  train <- described_bmf(train, list(ratings = ratings, pairs = pairs))
  list(train = train, test = train)
}

#' @exportS3Method
model_compare_k.bmf_model <- function(model, fits, names, settings, call) {
  level <- settings$level
  done <- fit_folds(
    fits, model$nobs, settings, "ratings", prepare = function(held) NULL,
    score = function(fit, held, common) {
      predicted <- predicted_at(fit, level)
      value <- predicted[[3L]]
      pairs <- held_out_pairs(fit, NULL, call)
      kept <- kept_factors(fit, call = call)
      data.frame(
        rating = held, square = (value - predicted$mean)^2,
        interval = interval_scores(
          value, predicted$lower, predicted$upper, level
        ),
        lpd = score_pairs(kept, pairs)[, 1L]
      )
    },
    call = call
  )
  scores <- lapply(done$scores, function(folds) {
    rows <- do.call(rbind, folds)
    rows[order(rows$rating), ]
  })
  lpd <- vapply(scores, function(rows) mean(rows$lpd), 0)
  apart <- apart_note(fits, names)
  if (!is.null(apart)) {
    lpd[] <- NA_real_
  }
  square <- vapply(scores, function(rows) rows$square, numeric(model$nobs))
  rmse <- sqrt(colMeans(square))
  best <- which.min(rmse)
  # the standard error of a mean square, or of a difference of two, divided by
  # the derivative of the square of an error
  spread <- function(x) stats::sd(x) / sqrt(length(x))
  list(
    of = paste0(
      "Factorisations of the same ", counted(model$nobs, "rating"),
      ", held out in ", settings$folds, " folds"
    ),
    columns = data.frame(
      rmse = rmse, rmse_se = apply(square, 2L, spread) / (2 * rmse),
      interval_score = vapply(scores, function(rows) mean(rows$interval), 0),
      lpd = lpd
    ),
    criterion = "rmse", second = "interval_score", evidence = FALSE,
    difference = rmse - rmse[[best]],
    se = vapply(seq_along(rmse), function(i) {
      spread(square[, i] - square[, best]) / (rmse[[i]] + rmse[[best]])
    }, 0),
    notes = c(
      paste0("interval_score: of intervals of ", percent(level)), apart,
      slow_notes(fits, names, done$slow, settings$folds)
    )
  )
}

# Log predictive densities can be compared only if all are with respect to the
# same measure. A link gives probabilities; a range gives probabilities at its
# ends and densities between them. NULL, or a sentence that says what differs.
apart_note <- function(fits, names) {
  measure <- lapply(fits, function(fit) {
    response <- fit_part(fit, "model")$response
    if (is.null(response$link)) response$range else "link"
  })
  other <- which(!vapply(measure, identical, NA, measure[[1L]]))
  if (length(other) > 0L) {
    paste0(
      "lpd: left out, since the log densities of ", names[[1L]], " and ",
      names[[other[[1L]]]],
      " cannot be compared (`link` and `range` must be the same)."
    )
  }
}

# Gneiting & Raftery (2007), eq. 43; lower is better.
interval_scores <- function(value, lower, upper, level) {
  upper - lower + 2 / (1 - level) *
    (pmax(lower - value, 0) + pmax(value - upper, 0))
}

# ---- Ranks of items that were held back --------------------------------------

# How high items that were held back stand among the recommendations of a fit of
# gibbs_bmf() or gibbs_pmf().

#' @section How high held-out items stand among the recommendations:
#' `rank_measures()` ranks, for each user of `held_out`, all items that the user
#' does not have in the data of the fit, by the posterior mean of the rating
#' (count), and says how high the held-out items stand that the user likes.
#' Recommendations are judged by the order of items alone; [held_out()] judges
#' the predictions of ratings.
#'
#' Of a user with \eqn{n} held-out items that are liked, at the places
#' \eqn{r_1 < \dots < r_n}{r_1 < ... < r_n} of the order, of which \eqn{h} are
#' at most \eqn{k}:
#' * `recall`, \eqn{h / n}: the share of them among the first \eqn{k};
#' * `precision`, \eqn{h / k}: their share of the first \eqn{k};
#' * `ndcg`, the normalised discounted cumulative gain (Järvelin and Kekäläinen
#'   2002), \eqn{\sum_{r_j \le k} 1 / \log_2(1 + r_j)}{sum of 1/log2(1 + r_j)
#'   over r_j <= k} divided by its largest possible value;
#' * `mrr`, the mean reciprocal rank, \eqn{1 / r_1}, whatever \eqn{k}.
#'
#' The result has the means over the users. Items with equal predictions are
#' ordered as in the fit.
#' @param held_out A data frame with pairs that the fit was not given, with
#'   columns called as in its data. Pairs of users or items that the fit does
#'   not have, and pairs that are in its data, are left out, and a message says
#'   how many.
#' @param k Whole numbers, at least 1, default 20: the lengths of the lists.
#' @param at_least A number: a held-out item with a rating at least as high is
#'   liked. `NULL` (default): one with a count (for `link = "probit"` a rating)
#'   above 0, or with no column of ratings every one; other ratings need a
#'   number.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @return `rank_measures()`: a data frame with a row for each `k`: `k`, `users`
#'   (with at least one held-out item that is liked), `recall`, `precision`,
#'   `ndcg` and `mrr`.
#' @section Errors: `gibbsite_error_argument` for columns that are missing, for
#'   a fit without its data, and if no held-out item is liked.
#' @references
#' Järvelin K, Kekäläinen J (2002). Cumulated gain-based evaluation of IR
#' techniques. *ACM Transactions on Information Systems* 20, 422-446.
#' \doi{10.1145/582415.582418}
#' @seealso [recommend()].
#' @examples
#' set.seed(1)
#' made <- sim_pmf(60, 40, rank = 3)
#' held <- sample(nrow(made), 60)
#' fit <- gibbs_pmf(made[-held, ], rank = 3, draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' rank_measures(fit, made[held, ], k = c(5, 10))
#' @rdname held_out
#' @export
rank_measures <- function(fit, held_out, k = 20, at_least = NULL,
                          ndraws = NULL) {
  call <- rlang::current_env()
  check_needed(
    fit = "a fit made by gibbs_bmf() or gibbs_pmf()",
    held_out = "a data frame of users and items"
  )
  check_fit_of(fit, c("gibbs_bmf", "gibbs_pmf"), "fit", call)
  k <- check_lengths(k, call)
  at_least <- check_number(at_least, null_ok = TRUE)
  model <- fit_part(fit, "model")
  if (is.null(model$data)) {
    abort_no_data(
      call = call, hint = "The data say which items each user has."
    )
  }
  liked <- liked_pairs(held_out, model, at_least, call)
  kept <- kept_factors(fit, ndraws, call)
  places <- lapply(split(liked$item, liked$user), unique)
  own <- split(model$data$item, factor(model$data$user, names(places)))
  places <- Map(function(user, items, old) {
    left <- setdiff(seq_along(model$items), old)
    pairs <- list(user = rep(user, length(left)), item = left)
    places_of(pair_moments(kept, pairs)$mean, match(items, left))
  }, as.integer(names(places)), places, own)
  do.call(rbind, lapply(k, measures_at, places = places))
}

check_lengths <- function(k, call) {
  k <- check_numeric_vector(k, lower = 1, arg = "k", call = call)
  abort_elements(k != floor(k), k, "k", "whole numbers", call)
  if (length(k) == 0L) {
    abort_argument("{.arg k} must not be empty.", call = call)
  }
  unname(k)
}

# The places of `which` elements in decreasing order of score.
places_of <- function(score, which) {
  sort(match(which, order(-score, seq_along(score))))
}

# places: for each user those of the liked items, in increasing order.
measures_at <- function(k, places) {
  gain <- function(place) sum(1 / log2(1 + place))
  each <- vapply(places, function(own) {
    hits <- own[own <= k]
    c(
      recall = length(hits) / length(own), precision = length(hits) / k,
      ndcg = gain(hits) / gain(seq_len(min(k, length(own)))),
      mrr = 1 / own[[1L]]
    )
  }, numeric(4L))
  data.frame(k = k, users = length(places), t(rowMeans(each)))
}

# list(user, item): codes of the pairs that are liked and new.
liked_pairs <- function(held_out, model, at_least, call) {
  asked <- pair_columns(held_out, model, "held_out", call)
  liked <- is_liked(asked$value, model, at_least, call) %||%
    rep(TRUE, length(asked$user))
  user <- match_ids(asked$user, model$users)
  item <- match_ids(asked$item, model$items)
  unknown <- liked & (is.na(user) | is.na(item))
  old <- liked & !unknown & pairs_in_data(model, user, item)
  say_left_out(unknown, "of users or items that the fit does not have")
  say_left_out(old, "in the data of the fit")
  use <- which(liked & !unknown & !old)
  if (length(use) == 0L) {
    abort_argument(
      c(
        "{.arg held_out} must have a pair that the user likes and that is not in
         the data of the fit.",
        i = if (!is.null(at_least)) {
          "{.arg at_least} is {at_least}."
        }
      ),
      call = call, class = "empty"
    )
  }
  list(user = user[use], item = item[use])
}

say_left_out <- function(which, where) {
  count <- sum(which)
  if (count > 0) {
    inform_gibbsite(
      c(i = "{count} pair{?s} of {.arg held_out} {cli::qty(count)}{?is/are}
             {where}, and {cli::qty(count)}{?is/are} left out."),
      class = "left_out"
    )
  }
}

# value: NULL without a column of ratings.
is_liked <- function(value, model, at_least, call) {
  if (is.null(value)) {
    if (!is.null(at_least)) {
      check_has_values(list(), model, "held_out", call)
    }
    return(NULL)
  }
  counts <- inherits(model, "pmf_model") ||
    identical(model$response$link, "probit")
  if (is.null(at_least) && !counts) {
    abort_argument(
      c(
        "{.arg at_least} is needed for ratings on a scale: the rating from which
         an item is liked.",
        i = "For ratings from 1 to 5: {.code at_least = 4}."
      ),
      call = call
    )
  }
  liked <- if (is.null(at_least)) value > 0 else value >= at_least
  !is.na(liked) & liked
}
