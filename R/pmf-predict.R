# Expected counts, their intervals and recommendations of a fit of gibbs_pmf().

#' Predict counts
#'
#' Predictions are averages over the draws of the factors that the fit keeps for
#' prediction (see [gibbs_pmf()]): with \eqn{\mu_{ui} = \theta_u^\top
#' \beta_i}{mu_ui = theta_u'beta_i} the mean of a count is the mean of
#' \eqn{\mu_{ui}}{mu_ui}, and the probability of a count of at least one that of
#' \eqn{1 - \exp(-\mu_{ui})}{1 - exp(-mu_ui)}. `posterior_epred()` gives the
#' draws of \eqn{\mu_{ui}}{mu_ui}, `posterior_predict()` draws counts given
#' them, and `log_lik()` gives the log probability of each count.
#'
#' New users and items are refused: their prior has so wide a tail that the
#' expected count need not be finite. [fold_in()] takes new users with counts.
#'
#' @param object A fit made by [gibbs_pmf()].
#' @param newdata `NULL` for the pairs with a count above 0 in the data, each
#'   once, by user and within a user by item (`log_lik()`: for all pairs, zeros
#'   included, as all are data of the model; [stats::nobs()] is the number of
#'   counts above 0), or a data frame of pairs with columns called as in the
#'   data, also the data of the fit: an answer for each row, in its order.
#'   `log_lik()` needs the counts in it too.
#' @param interval `"none"` (default), `"mean"` for the interval of the expected
#'   count, or `"prediction"` for that of the count: its ends are quantiles of
#'   the mixture of the Poisson distributions of the draws.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   interval; with `"prediction"` at least this.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @param ... Not used.
#' @return `predict()`: a data frame with a row for each pair and the columns
#'   user and item (under their names in the data), `mean` (expected count),
#'   `probability` (of at least one), `sd` (of the count; with `interval =
#'   "mean"` of the expected count), with an interval `lower` and `upper`, and
#'   `unknown` as in [predict.gibbs_bmf()]: who has no count in the data. The
#'   others: a matrix, draws x pairs. `log_lik()` of the fit's own data, and so
#'   `loo()`, has a column for each of the users x items pairs, with the names
#'   `user:item`; `nobs()` counts the pairs with a count.
#' @section Errors: `gibbsite_error_argument` for missing columns, for users and
#'   items that the fit does not have, and for a fit without its data when
#'   `newdata` is `NULL`; `gibbsite_error_size` when the fit keeps no draws of
#'   the factors or a matrix would be larger than
#'   `options(gibbsite.max_draws_mb)`.
#' @seealso [recommend()], [rank_measures()], [fold_in()].
#' @examples
#' set.seed(1)
#' made <- sim_pmf(40, 30, rank = 2)
#' fit <- gibbs_pmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' pairs <- data.frame(user = c("1", "2"), item = c("1", "5"))
#' predict(fit, pairs, interval = "mean")
#' dim(posterior_predict(fit, pairs))
#' @export
predict.gibbs_pmf <- function(object, newdata = NULL,
                              interval = c("none", "mean", "prediction"),
                              level = 0.95, ndraws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  interval <- check_interval(interval, call)
  level <- check_level(level)
  model <- fit_part(object, "model")
  pairs <- pmf_pairs(model, newdata, call, FALSE)
  out <- predict_counts(
    kept_factors(object, ndraws, call), pairs, interval, level, linear_draws
  )
  out$unknown <- pairs$unknown
  out
}

# expected(kept, user, item): draws x pairs.
predict_counts <- function(kept, pairs, interval, level, expected) {
  answers <- by_blocks(kept, pairs, function(rows) {
    mean <- expected(kept, pairs$user[rows], pairs$item[rows])
    count_answers(mean, interval, level)
  })
  pair_frame(kept$model, pairs, answers)
}

# mean: expected counts, draws x pairs
count_answers <- function(mean, interval, level) {
  moments <- column_moments(mean)
  noise <- if (interval == "mean") 0 else moments$mean
  out <- data.frame(
    mean = moments$mean, probability = colMeans(-expm1(-mean)),
    sd = sqrt(moments$squares / nrow(mean) + noise)
  )
  if (interval == "none") {
    return(out)
  }
  ends <- if (interval == "mean") {
    central_intervals(mean, level)
  } else {
    vapply(central_tails(level), function(p) {
      poisson_mixture_quantile(mean, p)
    }, numeric(ncol(mean)))
  }
  ends <- matrix(ends, ncol = 2L)
  cbind(out, lower = ends[, 1L], upper = ends[, 2L])
}

# The smallest count that is not exceeded with at least probability p, for each
# column of means: by bisection.
poisson_mixture_quantile <- function(mean, p) {
  below <- rep(-1, ncol(mean))
  above <- stats::qpois(p, apply(mean, 2L, max))
  while (any(above - below > 1)) {
    middle <- floor((below + above) / 2)
    share <- stats::ppois(rep(middle, each = nrow(mean)), mean)
    reached <- colMeans(matrix(share, nrow(mean))) >= p
    above <- ifelse(reached, middle, above)
    below <- ifelse(reached, below, middle)
  }
  above
}

# Pairs of known users and items, as bmf_pairs() has them.
pmf_pairs <- function(model, newdata, call, values = TRUE) {
  pairs <- bmf_pairs(model, newdata, call, values = values)
  for (side in c("user", "item")) {
    lost <- is.na(pairs[[side]])
    if (any(lost)) {
      shown <- unique(id_words(plain_or_level(pairs$ids[[side]]))[lost])
      shown <- utils::head(shown, 3)
      abort_argument(
        c(
          "{.arg newdata} must be of {side}s of the fit: {.val {shown}}
           {cli::qty(shown)}{?is/are} not.",
          i = if (side == "user") {
            "{.fn fold_in} takes new users with counts."
          } else {
            "A new item needs counts: fit again with them."
          }
        ),
        call = call
      )
    }
  }
  pairs
}

#' @rdname predict.gibbs_pmf
#' @export
posterior_epred.gibbs_pmf <- function(object, newdata = NULL, ndraws = NULL,
                                      ...) {
  call <- rlang::current_env()
  check_no_more(...)
  pairs <- pmf_pairs(fit_part(object, "model"), newdata, call, FALSE)
  kept <- kept_factors(object, ndraws, call)
  check_pairs_size(kept, pairs, call)
  linear_draws(kept, pairs$user, pairs$item)
}

#' @rdname predict.gibbs_pmf
#' @export
posterior_predict.gibbs_pmf <- function(object, newdata = NULL, ndraws = NULL,
                                        ...) {
  check_unlocked()
  check_no_more(...)
  mean <- posterior_epred.gibbs_pmf(object, newdata, ndraws)
  matrix(as.double(stats::rpois(length(mean), mean)), nrow(mean))
}

#' @rdname predict.gibbs_pmf
#' @export
log_lik.gibbs_pmf <- function(object, newdata = NULL, ndraws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  pairs <- if (is.null(newdata)) {
    all_pairs(model, call)
  } else {
    pmf_pairs(model, newdata, call)
  }
  check_values(pairs, model, call)
  wrong <- pairs$value < 0 | pairs$value != floor(pairs$value)
  abort_elements(wrong, pairs$value, paste0("newdata$", model$names[[3L]]),
                 "whole numbers of at least 0", call)
  kept <- kept_factors(object, ndraws, call)
  check_pairs_size(kept, pairs, call)
  mean <- linear_draws(kept, pairs$user, pairs$item)
  out <- matrix(
    stats::dpois(rep(pairs$value, each = nrow(mean)), mean, log = TRUE),
    nrow(mean)
  )
  if (is.null(newdata)) colnames(out) <- pair_names(model)
  out
}

# The pairs of all_pairs().
pair_names <- function(model) {
  paste(
    rep(as.character(model$users), model$m),
    rep(as.character(model$items), each = model$n), sep = ":"
  )
}

# Every pair of the fit with its count, user by user within an item.
all_pairs <- function(model, call) {
  if (is.null(model$data)) {
    abort_no_data("newdata", call)
  }
  check_result_size(
    c(model$n, model$m), "users x items", "pairs, in {.arg newdata}", call
  )
  value <- matrix(0, model$n, model$m)
  value[cbind(model$data$user, model$data$item)] <- model$data$value
  list(
    user = rep(seq_len(model$n), model$m),
    item = rep(seq_len(model$m), each = model$n), value = as.vector(value)
  )
}

#' @rdname recommend
#' @export
recommend.gibbs_pmf <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_level(level)
  model <- fit_part(fit, "model")
  if (is.null(model$data)) {
    abort_no_data(
      call = call,
      hint = "The data say what each user has used. {.fn predict} needs pairs
              alone."
    )
  }
  codes <- chosen_users(users, model$users, call,
                        hint = "For a new user with counts see {.fn fold_in}.")
  check_recommended(length(codes), n, length(model$items), call)
  kept <- kept_factors(fit, call = call)
  best <- best_unseen(kept, codes, n, NULL)
  recommended_counts(kept, best, model$users, linear_draws, level)
}

# best: list(user, item, place); expected: of predict_counts().
recommended_counts <- function(kept, best, users, expected, level) {
  model <- kept$model
  pairs <- list(
    user = best$user, item = best$item,
    ids = list(user = users[best$user], item = model$items[best$item])
  )
  out <- predict_counts(kept, pairs, "mean", level, expected)
  data.frame(
    out[1L], place = best$place, out[-1L],
    counts = model$item_counts[best$item], check.names = FALSE
  )
}

# ---- New users: fold_in() ----------------------------------------------------

#' @rdname fold_in
#' @export
fold_in.gibbs_pmf <- function(fit, new_ratings, ndraws = NULL, ...) {
  check_needed(new_ratings = "a data frame")
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(fit, "model")
  if (!is.data.frame(new_ratings)) {
    abort_expected(
      new_ratings, "a data frame of users, items and counts", FALSE,
      "new_ratings", call
    )
  }
  asked <- pair_columns(new_ratings, model, "new_ratings", call)
  check_some_rows(asked$user, "new_ratings", call)
  value <- asked$value %||% rep(1, length(asked$user))
  if (anyNA(value)) {
    abort_unobserved("new_ratings", call)
  }
  abort_elements(
    value < 0 | value != floor(value) | value > 1e9, value,
    paste0("new_ratings$", model$names[[3L]]),
    "whole numbers from 0 to 1e9", call
  )
  new <- new_users(asked, value, value > 0, model, call)
  kept <- kept_factors(fit, ndraws, call)
  new_fold("pmf_fold", fold_counts(kept, new$rated), new, kept)
}

# K x users x draws: for each kept draw of the items the last of some sweeps of
# the new users, from those of the draw before.
fold_counts <- function(kept, rated) {
  model <- kept$model
  data <- list(
    n = rated$n, m = model$m, size = model$rank,
    prior = pmf_prior_numbers(model$prior),
    users = bmf_compressed(rated, rated$n, model$m, 0)$users
  )
  u <- stats::rgamma(model$rank * rated$n, 1) + 1e-10
  drawn <- over_draws(kept, function(draw) {
    u <<- .Call(
      C_pmf_fold_in, data, as.double(u), pmax(as.double(draw$v), 1e-300),
      fold_sweeps
    )
  })
  array(unlist(drawn), c(model$rank, rated$n, length(drawn)))
}

#' @export
print.pmf_fold <- function(x, ...) {
  check_fold(x, "pmf_model")
  print_fold(x, "pmf_fold", "item")
}

# The expected counts of pairs in each draw, for predict_counts().
fold_expected <- function(fold) {
  function(kept, user, item) {
    do.call(rbind, over_draws(kept, function(draw) {
      u <- matrix(fold$draws[, user, draw$place], kept$model$rank)
      colSums(u * draw$v[, item, drop = FALSE])
    }))
  }
}

#' @rdname fold_in
#' @export
predict.pmf_fold <- function(object, newdata,
                             interval = c("none", "mean", "prediction"),
                             level = 0.95, ...) {
  check_fold(object, "pmf_model")
  check_needed(newdata = "a data frame of users and items")
  call <- rlang::current_env()
  check_no_more(...)
  interval <- check_interval(interval, call)
  level <- check_level(level)
  model <- object$kept$model
  ids <- pair_columns(newdata, model, "newdata", call, FALSE)
  pairs <- list(
    user = folded_users(ids$user, object, call),
    item = known_items(ids$item, TRUE, model, call, "newdata"),
    ids = ids[c("user", "item")]
  )
  predict_counts(object$kept, pairs, interval, level, fold_expected(object))
}

#' @rdname fold_in
#' @export
recommend.pmf_fold <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  check_fold(fit, "pmf_model")
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_level(level)
  kept <- fit$kept
  codes <- chosen_users(users, fit$users, call)
  items <- seq_along(kept$model$items)
  check_recommended(length(codes), n, length(items), call)
  expected <- fold_expected(fit)
  do.call(rbind, lapply(codes, function(code) {
    left <- setdiff(items, rated_of_fold(fit, code))
    mean <- colMeans(expected(kept, rep(code, length(left)), left))
    top <- utils::head(left[order(-mean, left)], n)
    best <- list(
      user = rep(code, length(top)), item = top, place = seq_along(top)
    )
    recommended_counts(kept, best, fit$users, expected, level)
  }))
}
