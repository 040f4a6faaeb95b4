# How high items that were held back stand among the recommendations of a fit of
# gibbs_bmf() or gibbs_pmf().

#' How high held-out items stand among the recommendations
#'
#' Ranks, for each user of `held_out`, all items that the user does not have in
#' the data of the fit, by the posterior mean of the rating (count), and says
#' how high the held-out items stand that the user likes. Recommendations are
#' judged by the order of items alone; [held_out()] judges the predictions of
#' ratings.
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
#'
#' @param fit A fit made by [gibbs_bmf()] or [gibbs_pmf()].
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
#' @return A data frame with a row for each `k`: `k`, `users` (with at least one
#'   held-out item that is liked), `recall`, `precision`, `ndcg` and `mrr`.
#' @section Errors: `gibbsite_error_argument` for columns that are missing, for
#'   a fit without its data, and if no held-out item is liked.
#' @references
#' Järvelin K, Kekäläinen J (2002). Cumulated gain-based evaluation of IR
#' techniques. *ACM Transactions on Information Systems* 20, 422-446.
#' \doi{10.1145/582415.582418}
#' @seealso [recommend()], [held_out()].
#' @examples
#' set.seed(1)
#' made <- sim_pmf(60, 40, rank = 3)
#' held <- sample(nrow(made), 60)
#' fit <- gibbs_pmf(made[-held, ], rank = 3, draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' rank_measures(fit, made[held, ], k = c(5, 10))
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
