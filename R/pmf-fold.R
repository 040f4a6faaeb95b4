# New users of a fit of gibbs_pmf(): fold_in() and what it gives.

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
  if (length(asked$user) == 0) {
    abort_argument(
      "{.arg new_ratings} has no rows.", call = call, class = "empty"
    )
  }
  value <- asked$value %||% rep(1, length(asked$user))
  if (anyNA(value)) {
    abort_unobserved("new_ratings", call)
  }
  abort_elements(
    value < 0 | value != floor(value) | value > 1e9, value,
    paste0("new_ratings$", model$names[[3L]]),
    "whole numbers from 0 to 1e9", call
  )
  item <- known_items(asked$item, value > 0, model, call)
  users <- index_ids(droplevels_ids(asked$user), "user", "new_ratings", call)
  say_known_users(users$ids, model, call)
  seen <- value > 0
  rated <- list(
    n = length(users$ids), user = users$code[seen], item = item[seen],
    value = value[seen]
  )
  kept <- kept_factors(fit, ndraws, call)
  structure(
    list(
      draws = fold_counts(kept, rated), users = users$ids,
      ratings = tabulate(rated$user, rated$n), rated = rated, kept = kept
    ),
    class = "pmf_fold"
  )
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
    s <- 0
    do.call(rbind, over_draws(kept, function(draw) {
      s <<- s + 1
      u <- matrix(fold$draws[, user, s], kept$model$rank)
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
  ids <- pair_columns(newdata, model, "newdata", call)
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
