# Items and users that a factorisation finds alike: similar_items() and
# similar_users().

#' Items and users that are alike
#'
#' Finds the items to which the users of a fit respond most like to a given one,
#' or the users who respond most like a given one. The similarity of the items
#' \eqn{i} and \eqn{j} in a draw is the cosine of the angle between what the
#' factors say of them to all users, \eqn{U^\top v_i}{U'v_i} and \eqn{U^\top
#' v_j}{U'v_j}:
#' \deqn{\frac{v_i^\top G v_j}{\sqrt{v_i^\top G v_i \; v_j^\top G v_j}}, \quad
#'   G = \sum_u u_u u_u^\top,}{
#'   v_i'G v_j / sqrt(v_i'G v_i v_j'G v_j), G = sum_u u_u u_u',}
#' 1 for items in the same proportion for all users, -1 for opposites. It does
#' not depend on the rotation or the scale of the factors, which the data do not
#' determine. Of users the roles are exchanged. Intercepts (`biases` and
#' `center` of [gibbs_bmf()]) are left out: an item is not similar to another
#' because both are liked by all. With expected counts ([gibbs_pmf()]) no
#' similarity is below 0.
#'
#' @param fit A fit made by [gibbs_bmf()] or [gibbs_pmf()].
#' @param item,user The id of one item or user of the fit.
#' @param n Whole number, at least 1, default 10: how many of the others.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   interval.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @param x,object What `similar_items()` or `similar_users()` returns.
#' @param ... Not used.
#' @return A data frame of class `similar_table` with a row for each of the
#'   others, in decreasing order of similarity: `place`, the item (user),
#'   `similarity` (the mean over the draws), `lower` and `upper` (quantiles of
#'   the draws), and `ratings`, how often it was rated (has a count) in the
#'   data. Of few ratings intervals are wide. `plot()` and
#'   `ggplot2::autoplot()` draw the similarities and their intervals.
#' @section Errors: `gibbsite_error_argument` for an id that the fit does not
#'   have; `gibbsite_error_size` when the fit keeps no draws of the factors.
#' @seealso [recommend()], [factors_of()].
#' @examples
#' set.seed(1)
#' made <- sim_pmf(60, 40, rank = 3)
#' fit <- gibbs_pmf(made, rank = 3, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' near <- similar_items(fit, "7", n = 3)
#' near
#' plot(near)
#' similar_users(fit, "7", n = 3)
#' @export
similar_items <- function(fit, item, n = 10, level = 0.95, ndraws = NULL) {
  check_needed(
    fit = "a fit made by gibbs_bmf() or gibbs_pmf()", item = "an id"
  )
  most_similar(fit, item, "item", n, level, ndraws, rlang::current_env())
}

#' @rdname similar_items
#' @export
similar_users <- function(fit, user, n = 10, level = 0.95, ndraws = NULL) {
  check_needed(
    fit = "a fit made by gibbs_bmf() or gibbs_pmf()", user = "an id"
  )
  most_similar(fit, user, "user", n, level, ndraws, rlang::current_env())
}

most_similar <- function(fit, id, role, n, level, ndraws, call) {
  check_fit_of(fit, c("gibbs_bmf", "gibbs_pmf"), "fit", call)
  n <- check_count(n, call = call)
  level <- check_level(level, call = call)
  model <- fit_part(fit, "model")
  ids <- model[[paste0(role, "s")]]
  code <- known_id(id, ids, role, call)
  kept <- kept_factors(fit, ndraws, call)
  check_result_size(
    c(length(kept$noise), length(ids)), paste0("draws x ", role, "s"),
    "{.arg ndraws}", call
  )
  own <- c(item = "v", user = "u")[[role]]
  other <- c(item = "u", user = "v")[[role]]
  rank <- seq_len(model$rank)
  draws <- do.call(rbind, over_draws(kept, function(draw) {
    x <- draw[[own]][rank, , drop = FALSE]
    cosines(x, tcrossprod(draw[[other]][rank, , drop = FALSE]), code)
  }))
  mean <- colMeans(draws)
  all <- seq_along(ids)
  top <- utils::head(setdiff(all[order(-mean, all)], code), n)
  draws <- draws[, top, drop = FALSE]
  ends <- central_intervals(draws, level)
  out <- data.frame(
    place = seq_along(top), ids[top], similarity = mean[top],
    lower = ends[, 1L], upper = ends[, 2L],
    ratings = model[[paste0(role, "_counts")]][top]
  )
  names(out)[[2L]] <- model$names[[match(role, c("user", "item"))]]
  structure(
    out, level = level, to = id_words(plain_or_level(id)),
    half = interval_columns(draws, 0.5), class = c("similar_table", class(out))
  )
}

# ---- Drawing -----------------------------------------------------------------

picture_similar <- function(x, ..., call, arg) {
  half <- attr(x, "half")
  columns <- c("similarity", "lower", "upper", "ratings")
  check_made(x, columns, "similar_items()", arg, call)
  if (NROW(half) != nrow(x) || nrow(x) == 0L) {
    abort_argument(
      c("{.arg {arg}} must be what {.fn similar_items} returns, whole.",
        i = "A smaller {.arg n} there gives fewer rows."),
      call = call
    )
  }
  role <- names(x)[[2L]]
  shown <- intervals_shown(
    stats::setNames(x$similarity, id_words(x[[2L]])),
    as.matrix(as.data.frame(x)[c("lower", "upper")]), as.matrix(half),
    attr(x, "level"), xlab = paste("similarity to", role, attr(x, "to")),
    line = 1, whole = TRUE
  )
  picture_intervals(shown)
}

#' @rdname similar_items
#' @export
plot.similar_table <- plot_method(picture_similar)

#' @rdname similar_items
#' @exportS3Method ggplot2::autoplot
autoplot.similar_table <- autoplot_method(picture_similar)

#' @export
as.data.frame.similar_table <- function(x, ...) bare_frame(x)

# The cosine of column `code` of x and each column, under the inner product of
# `gram`; 0 for a column of length 0.
cosines <- function(x, gram, code) {
  image <- gram %*% x
  length <- sqrt(pmax(colSums(x * image), 0))
  product <- drop(crossprod(image[, code], x))
  scale <- length * length[[code]]
  ifelse(scale > 0, pmin(pmax(product / scale, -1), 1), 0)
}

known_id <- function(id, ids, role, call) {
  check_ids(id, role, role, call)
  if (length(id) != 1L) {
    abort_argument(
      "{.arg {role}} must be one id, not {length(id)}.", call = call
    )
  }
  code <- match_ids(id, ids)
  if (is.na(code)) {
    abort_argument(
      "{.arg {role}} must be {with_article(role)} of the fit:
       {.val {id_words(plain_or_level(id))}} is not.",
      call = call
    )
  }
  code
}
