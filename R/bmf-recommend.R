# Items for users, and users that were not in the fit, from draws of the factors
# (R/bmf-kept.R).

# ---- recommendations -------------------------------------------------------

#' Items that users have not rated and may like
#'
#' Lists for each user the items that they have not rated (used), in decreasing
#' order of the posterior mean of the rating, or of the probability of at least
#' a given rating, with its uncertainty.
#'
#' @param fit A fit made by [gibbs_bmf()] or [gibbs_pmf()], or new users from
#'   [fold_in()].
#' @param users Ids of users; `NULL` (default) for all of them (at most 100,000
#'   recommendations at once).
#' @param n Whole number, at least 1, default 10: how many items for a user;
#'   fewer where fewer are left.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   interval.
#' @param at_least `NULL` (default) to order by the mean of the rating, or a
#'   number, to order by the probability of a rating at least as high. With
#'   `link` or `range` at most the highest rating. Of ratings that are an
#'   ordered factor also the name of a level.
#' @param ... Passed to methods.
#' @param user_features For a fit with features: `NULL`, or a table with the
#'   features of users that are not in the fit; `users` are then ids of its
#'   rows, and `NULL` is for all of them that the fit does not have.
#' @return A data frame with a row for each recommendation: the user, `place` (1
#'   for the first), the item, with `at_least` its `probability`, `mean`, `sd`,
#'   `lower`, `upper` and `ratings`, how often the item was rated in the data.
#'   As in `predict(interval = "prediction")`, `mean`, `sd` and the interval are
#'   those of the predictive distribution of the rating, noise included.
#'
#'   Of counts ([gibbs_pmf()]) the order is that of the expected count, and the
#'   columns are `mean`, `probability` (of at least one), `sd`, `lower` and
#'   `upper` (of the expected count, as in [predict.gibbs_pmf()] with `interval
#'   = "mean"`) and `counts`, how many users have the item in the data.
#' @section Errors: `gibbsite_error_argument` for users that are not in the fit
#'   and for a fit that does not hold its data (they are needed to know which
#'   items a user has rated).
#' @seealso [predict.gibbs_bmf()] for given pairs, [fold_in()] for new users.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' recommend(fit, users = c("1", "7"), n = 3)
#' @export
recommend <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  check_needed(fit = "a fit made by gibbs_bmf() or gibbs_pmf()")
  UseMethod("recommend")
}

#' @export
recommend.default <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  check_fit_of(fit, c("gibbs_bmf", "gibbs_pmf"), "fit", rlang::current_env())
}

#' @rdname recommend
#' @export
recommend.gibbs_bmf <- function(fit, users = NULL, n = 10, level = 0.95, ...,
                                at_least = NULL, user_features = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  at_least <- check_number(
    level_code(at_least, fit, call), null_ok = TRUE, arg = "at_least"
  )
  n <- check_count(n)
  level <- check_level(level)
  model <- fit_part(fit, "model")
  check_at_least(at_least, model, call)
  if (!is.null(user_features)) {
    return(recommend_described(
      fit, users, n, level, at_least, user_features, call
    ))
  }
  if (is.null(model$data)) {
    abort_no_data(
      call = call,
      hint = "The data say what each user has rated. {.fn predict} needs pairs
              alone."
    )
  }
  codes <- chosen_users(users, model$users, call, hint = new_user_hint(model))
  check_recommended(length(codes), n, length(model$items), call)
  kept <- kept_factors(fit, call = call)
  best <- best_unseen(kept, codes, n, at_least)
  pairs <- list(
    user = best$user, item = best$item,
    ids = ids_of_codes(model, best$user, best$item)
  )
  ends <- if (nrow(best) > 0) {
    interval_ends(kept, pairs, level)
  } else {
    matrix(0, 0, 2)
  }
  recommended(model, pairs, best, ends)
}

# For users that the fit does not have, by their features.
recommend_described <- function(fit, users, n, level, at_least, features,
                                call) {
  model <- fit_part(fit, "model")
  check_features_of_fit(model$features$u, features, "user", call)
  table <- feature_table(
    features, model$names[[1L]], "user", "user_features",
    model$features$u$spec, call
  )
  known <- !is.na(match_ids(table$ids, model$users))
  codes <- if (is.null(users) && !all(known)) {
    which(!known)
  } else {
    chosen_users(users, table$ids, call, "rows of {.arg user_features}")
  }
  users <- table$ids[codes]
  old <- which(known[codes])
  if (length(old) > 0) {
    abort_argument(
      c("{.arg user_features} must be of new users here:
         {.val {id_words(plain_or_level(users[old]))[[1L]]}} is in the fit.",
        i = "Without {.arg user_features} users of the fit are meant."),
      call = call
    )
  }
  items <- seq_along(model$items)
  check_recommended(length(codes), n, length(items), call)
  kept <- kept_factors(fit, call = call)
  parts <- lapply(seq_along(codes), function(k) {
    x <- table$x[, codes[[k]], drop = FALSE]
    recommend_new(kept, users[k], x, n, level, at_least)
  })
  do.call(rbind, parts)
}

# x: the user's features, p x 1.
recommend_new <- function(kept, user, x, n, level, at_least) {
  model <- kept$model
  pairs_with <- function(items) {
    count <- length(items)
    list(
      user = rep(NA_integer_, count), item = items,
      ids = list(user = rep(user, count), item = model$items[items]),
      place = list(u = rep(1L, count)), x = list(u = x)
    )
  }
  best <- best_items(kept, pairs_with(seq_along(model$items)), n, at_least)
  pairs <- pairs_with(best$item)
  recommended(model, pairs, best, interval_ends(kept, pairs, level))
}

# Of an ordered factor the code of a level's name.
level_code <- function(x, fit, call) {
  levels <- fit_part(fit, "model")$levels
  if (is_plain_string(x) && !is.null(levels)) {
    match(check_choice(x, levels, arg = "at_least", call = call), levels)
  } else {
    x
  }
}

# A rating on a scale cannot be above its highest value.
check_at_least <- function(at_least, model, call) {
  highest <- max(model$response$values, model$response$range, -Inf)
  if (!is.null(at_least) && is.finite(highest) && at_least > highest) {
    abort_argument(
      "{.arg at_least} must be at most {highest}, the highest rating of the
       scale, not {at_least}.",
      call = call
    )
  }
}

# How a user whom the fit does not have gets recommendations.
new_user_hint <- function(model) {
  if (!is.null(model$features$u)) {
    "For a new user give {.arg user_features}."
  } else if (is.null(model$response$link)) {
    "For a new user with some ratings see {.fn fold_in}."
  } else {
    "For a new user with some ratings fit again with these added."
  }
}

# known: what they must be, for the message.
chosen_users <- function(users, ids, call, known = "users of the fit",
                         hint = NULL) {
  if (is.null(users)) {
    return(seq_along(ids))
  }
  check_ids(users, "user", "users", call)
  codes <- match_ids(users, ids)
  if (anyNA(codes) || length(codes) == 0) {
    lost <- utils::head(id_words(plain_or_level(users)[is.na(codes)]), 3)
    abort_argument(
      if (length(codes) == 0) {
        "{.arg users} must not be empty."
      } else {
        c(
          paste0("{.arg users} must be ", known, ": {.val {lost}}
           {cli::qty(lost)}{?is/are} not."),
          i = hint
        )
      },
      call = call
    )
  }
  unique(codes)
}

check_recommended <- function(users, n, items, call) {
  rows <- as.double(users) * min(n, items)
  if (rows > 1e5) {
    abort_argument(
      c(
        "{.arg users} and {.arg n} ask for {format_number(rows)}
         recommendations, more than 100,000.",
        i = "Ask for some users at a time."
      ),
      call = call, class = "gibbsite_error_size"
    )
  }
}

# The n best items of the pairs of one user: data.frame(item, place, mean, sd,
# probability); sd: of a rating; probability: with `at_least` alone.
best_items <- function(kept, pairs, n, at_least) {
  moments <- pair_moments(kept, pairs)
  probability <- if (!is.null(at_least)) {
    probability_at_least(kept, pairs, at_least)
  }
  top <- utils::head(order(-(probability %||% moments$mean), pairs$item), n)
  out <- data.frame(
    item = pairs$item[top], place = seq_along(top), mean = moments$mean[top],
    sd = sqrt(moments$noise + moments$variance)[top]
  )
  out$probability <- probability[top]
  out
}

# Of each user those among the items that the user has not rated, with a column
# `user`.
best_unseen <- function(kept, codes, n, at_least) {
  model <- kept$model
  data <- model$data
  mine <- data$user %in% codes
  rated <- split(data$item[mine], factor(data$user[mine], codes))
  items <- seq_along(model$items)
  parts <- lapply(seq_along(codes), function(k) {
    left <- setdiff(items, rated[[k]])
    if (length(left) == 0) {
      return(NULL)
    }
    pairs <- list(user = rep(codes[[k]], length(left)), item = left)
    data.frame(user = codes[[k]], best_items(kept, pairs, n, at_least))
  })
  none <- data.frame(
    user = integer(), item = integer(), place = integer(), mean = double(),
    sd = double()
  )
  none$probability <- if (!is.null(at_least)) double()
  do.call(rbind, c(list(none), parts))
}

probability_at_least <- function(kept, pairs, at_least) {
  by_blocks(kept, pairs, function(rows) {
    latent <- bmf_normals(kept, pairs, rows)
    below <- rating_below(kept, rep(at_least, length(rows)), latent)[, 2L]
    cbind(1 - below)
  })[, 1L]
}

recommended <- function(model, pairs, best, ends) {
  out <- data.frame(
    pairs$ids$user, place = best$place, pairs$ids$item,
    probability = best$probability %||% rep(NA_real_, length(best$mean)),
    mean = best$mean, sd = best$sd,
    lower = ends[, 1L], upper = ends[, 2L],
    ratings = model$item_counts[pairs$item]
  )
  names(out)[c(1L, 3L)] <- model$names[1:2]
  if (is.null(best$probability)) out[-4L] else out
}

# ---- new users ---------------------------------------------------------------

#' New users without refitting
#'
#' Draws the factors of users who were not in the data from their ratings: one
#' draw from
#' \deqn{u \mid V, \Lambda_u, \mu_u, \beta, r \sim \mathrm{N}(m, P^{-1}), \quad
#'   P = \Lambda_u + \beta \sum_j v_j v_j^\top, \quad m = P^{-1} (\Lambda_u
#'   \mu_u + \beta \sum_j r_j v_j)}{
#'   u | V, Lambda_u, mu_u, beta, r ~ N(m, P^-1), P = Lambda_u + beta sum_j v_j
#'   v_j', m = P^-1 (Lambda_u mu_u + beta sum_j r_j v_j)}
#' for each draw of the items' factors and the hyperparameters that the fit
#' keeps for prediction. Random numbers come from R's generator.
#'
#' The draws of \eqn{V} and of the hyperparameters are those of the fit: the
#' information of the new ratings about the items is not used. With few new
#' users and many old ones this information is small. The items' factors and the
#' hyperparameters are exact draws from the posterior given the fit's data;
#' given them, each new user's factors are exact draws given that user's own
#' ratings.
#'
#' Of ordinal ratings (`link`) and of a fit of [gibbs_pmf()] the factors of new
#' users have no closed form. For each draw of the items' factors they are the
#' last of 30 sweeps of the sampler with these fixed, from those of the draw
#' before, so that they are draws up to the error of so short a chain. Rows of
#' [gibbs_pmf()] are counts; without a column of counts each row counts once,
#' and items without a row have a count of 0.
#'
#' @param fit A fit made by [gibbs_bmf()] or [gibbs_pmf()].
#' @param new_ratings A data frame with the ratings of the new users, with
#'   columns called as in the data of the fit. The items must be items of the
#'   fit. A user whose ratings are all `NA` has no ratings and is drawn from the
#'   prior. Of a user whom the fit has, only the ratings given here are used,
#'   and a message says so; [recommend()] leaves out the items rated in the fit
#'   as well.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @param user_features For a fit with features of its users: a table with those
#'   of the new users. Their prior mean is then \eqn{\mu_u + B_u^\top f}{mu_u +
#'   B_u'f} instead of \eqn{\mu_u}{mu_u}.
#' @param item_features For `predict()`: as in [predict.gibbs_bmf()].
#' @return An object of class `bmf_fold` (counts: `pmf_fold`) for `predict()`
#'   and [recommend()]: a
#'   list with `draws`, an array of `D x users x draws`, `users`, the ids, and
#'   `ratings`, how many each has.
#' @section Errors: `gibbsite_error_argument` for items that the fit does not
#'   have, missing columns and ratings that are not finite.
#' @seealso [recommend()], [predict.gibbs_bmf()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' ann <- data.frame(
#'   user = "ann", item = c("3", "7", "20"), value = c(2, -1, 1)
#' )
#' folded <- fold_in(fit, ann)
#' folded
#' predict(folded, data.frame(user = "ann", item = c("1", "2")))
#' recommend(folded, n = 3)
#' @export
fold_in <- function(fit, new_ratings, ndraws = NULL, ...) {
  check_needed(
    fit = "a fit made by gibbs_bmf() or gibbs_pmf()",
    new_ratings = "a data frame"
  )
  UseMethod("fold_in")
}

#' @export
fold_in.default <- function(fit, new_ratings, ndraws = NULL, ...) {
  check_fit_of(fit, c("gibbs_bmf", "gibbs_pmf"), "fit", rlang::current_env())
}

#' @rdname fold_in
#' @export
fold_in.gibbs_bmf <- function(fit, new_ratings, ndraws = NULL, ...,
                              user_features = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(fit, "model")
  asked <- pair_columns(new_ratings, model, "new_ratings", call)
  check_has_values(asked, model, "new_ratings", call)
  check_some_rows(asked$user, "new_ratings", call)
  check_held_values(asked$value, model$response, "new_ratings", call)
  seen <- !is.na(asked$value)
  new <- new_users(asked, asked$value, seen, model, call)
  check_features_of_fit(model$features$u, user_features, "user", call)
  features <- if (!is.null(model$features$u)) {
    features_given(model, "u", plain_or_level(new$users), user_features, call)
  }
  kept <- kept_factors(fit, ndraws, call)
  drawn <- fold_draws(kept, new$rated, features)
  new_fold("bmf_fold", drawn, new, kept)
}

# list(users, rated): the ids of the users that fold_in() takes, and their
# values, list(n, user, item, value) of codes. asked: pair_columns(); seen:
# which of its rows count.
new_users <- function(asked, value, seen, model, call) {
  item <- known_items(asked$item, seen, model, call)
  # unused levels are not users here
  user <- if (is.factor(asked$user)) droplevels(asked$user) else asked$user
  users <- index_ids(user, "user", "new_ratings", call)
  say_known_users(users$ids, model)
  list(users = users$ids, rated = list(
    n = length(users$ids), user = users$code[seen], item = item[seen],
    value = value[seen]
  ))
}

# new: new_users().
new_fold <- function(class, draws, new, kept) {
  rated <- new$rated
  structure(
    list(
      draws = draws, users = new$users,
      ratings = tabulate(rated$user, rated$n), rated = rated, kept = kept
    ),
    class = class
  )
}

# Codes of items, of which those that are `seen` must be items of the fit.
known_items <- function(ids, seen, model, call, arg = "new_ratings") {
  item <- match_ids(ids, model$items)
  lost <- unique(id_words(plain_or_level(ids))[is.na(item) & seen])
  if (length(lost) > 0) {
    shown <- utils::head(lost, 3)
    abort_argument(
      c(
        "{.arg {arg}} must be of items of the fit: {.val {shown}}
         {cli::qty(shown)}{?is/are} not.",
        i = "{length(lost)} item{?s} {?is/are} unknown; leave {?its/their}
             ratings out."
      ),
      call = call
    )
  }
  item
}

# Codes of users that were folded in.
folded_users <- function(ids, fold, call) {
  user <- match_ids(ids, fold$users)
  if (anyNA(user)) {
    lost <- id_words(plain_or_level(ids))[is.na(user)][[1]]
    abort_argument(
      "{.arg newdata} must be of users that were folded in: {.val {lost}} is
       not.",
      call = call
    )
  }
  user
}

# Users of the fit among the new ones: only their new ratings are used.
say_known_users <- function(ids, model) {
  code <- match_ids(ids, model$users)
  known <- !is.na(code) & model$user_counts[code] > 0
  if (!any(known, na.rm = TRUE)) {
    return(invisible())
  }
  known <- which(known)
  count <- length(known)
  shown <- few_words(id_words(plain_or_level(ids[known])))
  inform_gibbsite(
    c(
      i = "{count} user{?s} of {.arg new_ratings} ({shown})
           {cli::qty(count)}{?is a user/are users} of the fit:
           {?its/their} ratings in the fit are not used, only those of
           {.arg new_ratings}.",
      i = "Put {cli::qty(count)}{?its/their} old ratings in {.arg new_ratings}
           too, or fit again with all of them.",
      i = if (is.null(model$data)) {
        "The fit does not hold its data, so that {.fn recommend} offers items
         that were rated there."
      }
    ),
    class = "known_users"
  )
}

# Items that a user of fold_in() has rated, there or in the fit.
rated_of_fold <- function(fold, code) {
  model <- fold$kept$model
  own <- fold$rated$item[fold$rated$user == code]
  old <- match_ids(fold$users[code], model$users)
  c(own, model$data$item[model$data$user %in% old])
}

# Checks that x is what fold_in() returns, and not only has its class. Its draws
# are D x users x draws.
check_fold <- function(x, class = "bmf_model", arg = rlang::caller_arg(x),
                       call = rlang::caller_env()) {
  force(arg)
  check_made(
    x, c("draws", "users", "ratings", "rated", "kept"), "fold_in()", arg, call
  )
  sound <- is.numeric(x$draws) && length(dim(x$draws)) == 3L &&
    length(x$users) == dim(x$draws)[[2L]] && is.numeric(x$ratings) &&
    is.list(x$rated) && is.list(x$kept) && is.list(x$kept$model) &&
    inherits(x$kept$model, class)
  if (!sound) {
    abort_argument(
      "{.arg {arg}} has the class of what {.fn fold_in} makes, but is not.",
      call = call, class = "forged"
    )
  }
  invisible(x)
}

# D x users x draws
fold_draws <- function(kept, ratings, features = NULL) {
  model <- kept$model
  u <- NULL
  drawn <- unlist(lapply(seq_along(kept$states), function(k) {
    lapply(kept$which[[k]], function(j) {
      at <- bmf_kept_draw(model, kept$states[[k]], j)
      fold <- function(ratings) {
        bmf_fold_in(model, kept$states[[k]], j, ratings, features, at$v)
      }
      u <<- if (is_ordinal(model)) {
        fold_ordinal(model, at, ratings, u, fold)
      } else {
        fold(ratings)
      }
    })
  }))
  array(drawn, c(model$size, ratings$n, length(kept$noise)))
}

# How often the factors of new users are drawn for one draw of the items', where
# they have no closed form.
fold_sweeps <- 30

# Given ordinal ratings and a draw `at` of the fit: in turn their latent values
# given the factors (Albert and Chib 1993, doi:10.1080/01621459.1993.10476321)
# and the factors given the latent values, by `fold`; from u, the factors of the
# draw before (NULL: the prior's).
fold_ordinal <- function(model, at, ratings, u, fold) {
  v <- at$v[, ratings$item, drop = FALSE]
  code <- match(ratings$value, model$response$values)
  bounds <- c(-Inf, at$theta, Inf)
  sd <- 1 / sqrt(at$beta)
  none <- integer()
  u <- u %||% fold(list(
    n = ratings$n, user = none, item = none, value = numeric()
  ))
  for (sweep in seq_len(fold_sweeps)) {
    mean <- model$center + inner(model, u[, ratings$user, drop = FALSE], v)
    ratings$value <- mean + sd * truncated_normal(
      length(mean), (bounds[code] - mean) / sd, (bounds[code + 1L] - mean) / sd
    )
    u <- fold(ratings)
  }
  u
}

#' @export
print.bmf_fold <- function(x, ...) {
  check_fold(x)
  print_fold(x, "bmf_fold", "rating")
}

# what: what a user has.
print_fold <- function(x, class, what) {
  size <- dim(x$draws)
  writeLines(paste0(
    "<", class, "> ", counted(size[[2L]], "new user"), " with ",
    counted(sum(x$ratings), what), ", ", counted(size[[3L]], "draw"), " of ",
    counted(size[[1L]], "coordinate")
  ))
  shown <- utils::head(seq_along(x$users), 10)
  writeLines(paste0(
    "  ", id_words(x$users)[shown], ": ", x$ratings[shown], " ", what,
    ifelse(x$ratings[shown] == 1, "", "s")
  ))
  if (length(x$users) > 10) {
    writeLines(paste0("  and ", length(x$users) - 10, " more"))
  }
  writeLines("Next: predict(folded, pairs), recommend(folded)")
  invisible(x)
}

# Moments of the ratings of new users for items, given each draw: list(mean,
# extra), draws x pairs. user: places among the new ones; item: codes, NA for
# new items; new: new_features() of the pairs, or NULL if no item is new.
fold_moments <- function(fold, user, item, new = NULL) {
  kept <- fold$kept
  model <- kept$model
  new_item <- is.na(item)
  item <- known_codes(item)
  rows_of_moments(over_draws(kept, function(draw) {
    u <- matrix(fold$draws[, user, draw$place], model$size)
    v <- draw$v[, item, drop = FALSE]
    extra <- numeric(length(user))
    if (any(new_item)) {
      prior <- new_factor(model, draw, "v")
      v[, new_item] <- new_means(
        draw, "v", prior, new$x$v, places(new, "v", new_item)
      )
      extra[new_item] <- squared_length(
        prior$root, design_of(model, u[, new_item, drop = FALSE])
      )
    }
    list(mean = model$center + inner(model, u, v), extra = extra)
  }))
}

#' @rdname fold_in
#' @param object An object made by `fold_in()`.
#' @param newdata For `predict()`: a data frame of new users and items.
#' @param type,interval,level As in [predict.gibbs_bmf()].
#' @param ... Not used.
#' @export
predict.bmf_fold <- function(object, newdata, type = c("mean", "draws"),
                             interval = c("none", "mean", "prediction"),
                             level = 0.95, ..., item_features = NULL) {
  check_fold(object)
  check_needed(newdata = "a data frame of users and items")
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  type <- check_choice(type, c("mean", "draws"))
  interval <- check_rating_interval(interval, type, call)
  level <- check_level(level)
  kept <- object$kept
  model <- kept$model
  ids <- pair_columns(newdata, model, "newdata", call, FALSE)
  user <- folded_users(ids$user, object, call)
  item <- match_ids(ids$item, model$items)
  pairs <- list(user = user, item = item, ids = ids[c("user", "item")])
  check_pairs_size(kept, pairs, call)
  new <- new_features(model, pairs, ids, list(v = item_features), call)
  moments <- fold_moments(object, user, item, new)
  if (type == "draws") {
    normals <- stats::rnorm(length(moments$mean))
    linear <- moments$mean + sqrt(moments$extra) * normals
    if (!is_latent(model)) {
      return(linear)
    }
    latent <- list(mean = linear, sd = sqrt(kept$noise))
    return(rating_moments(kept, latent)$mean)
  }
  fold_frame(object, pairs, moments, interval, level)
}

fold_frame <- function(fold, pairs, moments, interval, level) {
  kept <- fold$kept
  latent <- list(mean = moments$mean, sd = sqrt(moments$extra + kept$noise))
  if (is_latent(kept$model)) {
    parts <- mean_moments(rating_moments(kept, latent))
  } else {
    parts <- mean_moments(list(mean = moments$mean, variance = moments$extra))
    parts$variance <- parts$variance + parts$noise
    parts$noise <- rep(mean(kept$noise), nrow(parts))
  }
  no_item <- is.na(pairs$item) | kept$model$item_counts[pairs$item] == 0
  unknown <- words_of_unknown(fold$ratings[pairs$user] == 0, no_item)
  if (interval == "none") {
    return(pair_frame(
      kept$model, pairs, mean = parts$mean,
      variance = parts$noise + parts$variance, noise = parts$noise,
      parameters = parts$variance, unknown = unknown
    ))
  }
  latent$sd <- sqrt(moments$extra + kept_for(kept, interval)$noise)
  ends <- rating_ends(kept, latent, level, interval)
  interval_frame(kept$model, pairs, parts, ends, interval, unknown)
}

#' @rdname fold_in
#' @param users,n As in [recommend()].
#' @export
recommend.bmf_fold <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  check_fold(fit)
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_level(level)
  model <- fit$kept$model
  codes <- chosen_users(users, fit$users, call)
  items <- seq_along(model$items)
  check_recommended(length(codes), n, length(items), call)
  parts <- lapply(codes, function(code) {
    left <- setdiff(items, rated_of_fold(fit, code))
    user <- rep(code, length(left))
    moments <- fold_moments(fit, user, left)
    pairs <- list(
      user = user, item = left,
      ids = list(user = fit$users[user], item = model$items[left])
    )
    all <- fold_frame(fit, pairs, moments, "none", level)
    top <- utils::head(order(-all$mean, left), n)
    chosen <- lapply(moments, function(m) m[, top, drop = FALSE])
    pairs <- list(
      user = user[top], item = left[top], ids = lapply(pairs$ids, `[`, top)
    )
    ends <- fold_frame(fit, pairs, chosen, "prediction", level)
    best <- data.frame(
      place = seq_along(top), mean = all$mean[top],
      sd = sqrt(all$variance[top])
    )
    recommended(model, pairs, best, as.matrix(ends[c("lower", "upper")]))
  })
  do.call(rbind, parts)
}

# ---- Items and users that are alike ------------------------------------------

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
