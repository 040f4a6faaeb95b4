# Predictions of ratings from a fit of gibbs_bmf(): of new pairs, of the pairs
# in the data, and of the pairs given as `predict_at`.

# ---- the kept draws of the factors -----------------------------------------

# The draws of all factors that the chains of a fit stored, chain after chain:
# list(model, states, which, chain, noise, cutpoints). which[[k]] are the
# positions of the draws used in the set of chain k; chain and noise (the
# variance of a rating) have an entry for each draw, cutpoints (of ordinal
# ratings) a row. After an interrupt chains may have different lengths; then
# only the draws that all chains have are used.
kept_factors <- function(fit, draws = NULL, call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  states <- lapply(fit_part(fit, "chains"), function(chain) chain$state)
  numbers <- lapply(states, function(state) bmf_kept(model, state))
  common <- Reduce(intersect, numbers)
  averaged <- fit_part(fit, "running")$draws - draws_before_averages(fit)
  if (averaged <= 0) {
    abort_no_averages("The factors that predictions use", call)
  }
  common <- common[common <= averaged]
  which <- if (length(common) > 0) {
    lapply(numbers, function(own) match(common, own))
  } else {
    lapply(numbers, seq_along)
  }
  if (sum(lengths(which)) == 0) {
    abort_argument(
      c(
        "The fit holds no draws of the factors to predict from.",
        x = "One draw of them all is larger than a chain's share of
             `options(gibbsite.max_draws_mb)`.",
        i = "Raise it and fit again, or use {.arg predict_at} in the fit."
      ),
      call = call, class = "size"
    )
  }
  chain <- rep(seq_along(which), lengths(which))
  rows <- spread_rows(draws, length(chain), call)
  place <- unlist(which)[rows]
  chain <- chain[rows]
  which <- lapply(seq_along(states), function(k) place[chain == k])
  noise <- unlist(lapply(seq_along(states), function(k) {
    vapply(which[[k]], function(j) {
      1 / bmf_kept_hyper(model, states[[k]], j)$beta
    }, 0)
  }))
  list(
    model = model, states = states, which = which, chain = chain,
    noise = noise, cutpoints = kept_cutpoints(model, states, which)
  )
}

# Those of ordinal ratings: draws x (K - 1).
kept_cutpoints <- function(model, states, which) {
  if (!is_ordinal(model)) {
    return(NULL)
  }
  theta <- lapply(seq_along(states), function(k) {
    lapply(which[[k]], function(j) bmf_kept_hyper(model, states[[k]], j)$theta)
  })
  do.call(rbind, unlist(theta, recursive = FALSE))
}

# f(draw) for each kept draw in turn, draw as bmf_kept_draw() gives it (`hyper`:
# as bmf_kept_hyper()): a list.
over_draws <- function(kept, f, hyper = FALSE) {
  take <- if (hyper) bmf_kept_hyper else bmf_kept_draw
  unlist(lapply(seq_along(kept$states), function(k) {
    lapply(kept$which[[k]], function(j) {
      f(take(kept$model, kept$states[[k]], j))
    })
  }), recursive = FALSE)
}

# Linear predictors of known pairs with the centre: draws x pairs.
linear_draws <- function(kept, user, item) {
  parts <- lapply(seq_along(kept$states), function(k) {
    if (length(kept$which[[k]]) == 0) {
      return(NULL)
    }
    bmf_linear(kept$model, kept$states[[k]], user, item, kept$which[[k]])
  })
  kept$model$center + do.call(rbind, parts)
}

# Normal distribution of the factors of a user ("u") or item ("v") not seen
# before, given one draw: list(mean, root) with root' root = covariance.
new_factor <- function(model, draw, side) {
  size <- model$size
  type <- model$prior$type
  if (type == "wishart") {
    precision <- matrix(draw[[paste0("precision_", side)]], size, size)
    return(list(
      mean = as.double(draw[[paste0("mu_", side)]]),
      root = backsolve(chol(precision), diag(size), transpose = TRUE)
    ))
  }
  variance <- if (type == "fixed") {
    model$prior$factor_variance
  } else {
    1 / draw[[paste0("lambda_", side)]]
  }
  list(mean = numeric(size), root = diag(sqrt(variance), size))
}

# Means of the factors of new ids, one for each of `place` (D x places), given
# one draw: `prior`, made by new_factor(), has the mean without features; x:
# features of new ids (p x ids), or NULL.
new_means <- function(draw, side, prior, x, place) {
  if (is.null(x)) {
    return(prior$mean + matrix(0, length(prior$mean), length(place)))
  }
  own <- prior$mean + feature_means(draw, side, x)
  own[, place, drop = FALSE]
}

# The design of the other side's factors in the linear predictor: the first
# `rank` coordinates of x, and 1 for the intercept. x: D x pairs.
design_of <- function(model, x) {
  if (model$biases) {
    x[model$size, ] <- 1
  }
  x
}

# The offset from the other side's intercept.
offset_of <- function(model, x) {
  if (model$biases) x[model$size, ] else 0
}

# |root x|^2 by column, summed coordinate by coordinate, so that a column's sum
# does not depend on the number of columns.
squared_length <- function(root, x) {
  total <- numeric(ncol(x))
  for (i in seq_len(nrow(root))) {
    row <- numeric(ncol(x))
    for (k in which(root[i, ] != 0)) {
      row <- row + root[i, k] * x[k, ]
    }
    total <- total + row^2
  }
  total
}

# u'v (and intercepts) by column.
inner <- function(model, u, v) {
  total <- offset_of(model, u) + offset_of(model, v) + numeric(ncol(u))
  for (k in seq_len(model$rank)) {
    total <- total + u[k, ] * v[k, ]
  }
  total
}

# ---- pairs -----------------------------------------------------------------

# Pairs to predict: list(user, item) of codes (NA for ids that the fit does not
# know), the ids as given, value (or NULL), and `unknown`: whose factors come
# from the prior, "none", "user", "item" or "both". given: list(u, v), tables of
# features of ids that the fit does not know; `place` and `x` are then those of
# new_features().
bmf_pairs <- function(model, newdata, call, given = NULL) {
  if (is.null(newdata)) {
    check_no_features(given, call)
    if (is.null(model$data)) {
      abort_no_data("newdata", call)
    }
    user <- model$data$user
    item <- model$data$item
    ids <- list(user = model$users[user], item = model$items[item])
    value <- model$data$value
  } else {
    ids <- pair_columns(newdata, model, "newdata", call)
    user <- match_ids(ids$user, model$users)
    item <- match_ids(ids$item, model$items)
    value <- ids$value
    check_held_values(value, model$response, "newdata", call)
  }
  if (length(user) == 0) {
    abort_argument("{.arg newdata} has no rows.", call = call, class = "empty")
  }
  new <- new_features(
    model, list(u = user, v = item), list(u = ids$user, v = ids$item), given,
    call
  )
  unrated <- function(code, counts) is.na(code) | counts[code] == 0
  no_user <- unrated(user, model$user_counts)
  no_item <- unrated(item, model$item_counts)
  list(
    user = user, item = item, ids = ids[c("user", "item")], value = value,
    place = new$place, x = new$x,
    unknown = c("none", "user", "item", "both")[1 + no_user + 2 * no_item]
  )
}

# The fit has the features of its own users and items.
check_no_features <- function(given, call) {
  given <- Filter(Negate(is.null), given)
  if (length(given) > 0) {
    arg <- paste0(sides_words[[names(given)[[1L]]]], "_features")
    abort_argument(
      "{.arg {arg}} goes with {.arg newdata}: it has the features of new ids.",
      call = call
    )
  }
}

# Names of the pairs' columns as the fit has them, then more columns.
pair_frame <- function(model, pairs, ...) {
  out <- data.frame(pairs$ids$user, pairs$ids$item, ...)
  names(out)[1:2] <- model$names[1:2]
  out
}

# f(rows) for blocks of pairs, so that a matrix draws x pairs stays below 32 MB.
# The results are bound by rows.
by_blocks <- function(pairs, draws, f) {
  n <- length(pairs$user)
  if (n == 0) {
    return(f(integer()))
  }
  size <- max(1, floor(4e6 / draws))
  starts <- seq(1, n, by = size)
  parts <- lapply(starts, function(start) {
    f(seq.int(start, min(n, start + size - 1)))
  })
  if (length(parts) == 1) parts[[1]] else do.call(rbind, parts)
}

some_pairs <- function(pairs, rows) {
  list(
    user = pairs$user[rows], item = pairs$item[rows],
    value = pairs$value[rows], place = lapply(pairs$place, `[`, rows),
    x = pairs$x
  )
}

# ---- the distribution of a rating given one draw ---------------------------

# Given a draw, a rating of a known user and item is N(mean, noise). If only the
# user (or only the item) is new, its factors are normal, and so is the rating.
# If both are new, the mean and variance are still exact, but the rating is not
# normal. list(mean, extra), draws x pairs: `extra` is the variance in addition
# to the noise, NULL if no id is new.
new_pair_moments <- function(kept, pairs) {
  model <- kept$model
  new_user <- is.na(pairs$user)
  new_item <- is.na(pairs$item)
  user <- ifelse(new_user, 1L, pairs$user)
  item <- ifelse(new_item, 1L, pairs$item)
  mean <- linear_draws(kept, user, item)
  if (!any(new_user | new_item)) {
    return(list(mean = mean, extra = NULL))
  }
  rows <- which(new_user | new_item)
  part <- some_pairs(pairs, rows)
  moments <- over_draws(kept, function(draw) {
    one_new_moments(
      model, draw, user[rows], item[rows], new_user[rows], new_item[rows], part
    )
  })
  extra <- matrix(0, nrow(mean), ncol(mean))
  mean[, rows] <- model$center +
    do.call(rbind, lapply(moments, function(one) one$mean))
  extra[, rows] <- do.call(rbind, lapply(moments, function(one) one$extra))
  list(mean = mean, extra = extra)
}

# Which of the new ids the pairs of `rows` (TRUE or FALSE) have on a side;
# without features these do not differ.
places <- function(pairs, side, rows) {
  pairs$place[[side]][rows] %||% rep(1L, sum(rows))
}

# With u = mu_u + d and v = mu_v + e: u'v has variance v'S_u v + u'S_v u at the
# known (or mean) factors, plus tr(S_u S_v) if both are new.
one_new_moments <- function(model, draw, user, item, new_user, new_item,
                            pairs) {
  u <- draw$u[, user, drop = FALSE]
  v <- draw$v[, item, drop = FALSE]
  prior_u <- new_factor(model, draw, "u")
  prior_v <- new_factor(model, draw, "v")
  u[, new_user] <- new_means(
    draw, "u", prior_u, pairs$x$u, places(pairs, "u", new_user)
  )
  v[, new_item] <- new_means(
    draw, "v", prior_v, pairs$x$v, places(pairs, "v", new_item)
  )
  extra <- numeric(length(user))
  extra[new_user] <- squared_length(
    prior_u$root, design_of(model, v[, new_user, drop = FALSE])
  )
  extra[new_item] <- extra[new_item] + squared_length(
    prior_v$root, design_of(model, u[, new_item, drop = FALSE])
  )
  both <- new_user & new_item
  if (any(both)) {
    k <- seq_len(model$rank)
    product <- prior_u$root[, k, drop = FALSE] %*%
      t(prior_v$root[, k, drop = FALSE])
    extra[both] <- extra[both] + sum(product^2)
  }
  list(mean = inner(model, u, v), extra = extra)
}

# Normal distributions of the ratings of pairs given a draw: list(mean, sd),
# draws x pairs; sd is a vector if no id is new. If both ids are new, the
# distribution is given factors drawn for one new user, or with features given
# their deviation from their mean (the same for all such pairs, from R's
# generator).
bmf_normals <- function(kept, pairs, rows = seq_along(pairs$user),
                        stand_ins = NULL) {
  part <- some_pairs(pairs, rows)
  moments <- new_pair_moments(kept, part)
  if (is.null(moments$extra)) {
    return(list(mean = moments$mean, sd = sqrt(kept$noise)))
  }
  both <- which(is.na(part$user) & is.na(part$item))
  if (length(both) > 0) {
    one <- conditional_moments(kept, some_pairs(part, both), stand_ins)
    moments$mean[, both] <- one$mean
    moments$extra[, both] <- one$extra
  }
  list(mean = moments$mean, sd = sqrt(moments$extra + kept$noise))
}

# The deviation of one new user's factors from their mean, one draw from the
# prior for each kept draw (D x draws); NULL if no pair needs them.
draw_stand_ins <- function(kept, pairs) {
  if (!any(is.na(pairs$user) & is.na(pairs$item))) {
    return(NULL)
  }
  model <- kept$model
  drawn <- over_draws(kept, function(draw) {
    prior <- new_factor(model, draw, "u")
    crossprod(prior$root, stats::rnorm(model$size))
  }, hyper = TRUE)
  matrix(unlist(drawn), model$size)
}

# Factors of `count` new users or items for each kept draw: D x count x draws.
# x: their features (p x count), or NULL.
draw_new_factors <- function(kept, side, count, x = NULL) {
  model <- kept$model
  size <- model$size
  drawn <- over_draws(kept, function(draw) {
    prior <- new_factor(model, draw, side)
    normals <- matrix(stats::rnorm(size * count), size, count)
    new_means(draw, side, prior, x, seq_len(count)) +
      crossprod(prior$root, normals)
  }, hyper = TRUE)
  array(unlist(drawn), c(size, count, length(drawn)))
}

# Mean and variance of the ratings of pairs of a new user and a new item given
# the deviation of the user's factors from their mean (D x draws): draws x
# pairs.
conditional_moments <- function(kept, pairs, deviations) {
  model <- kept$model
  all <- rep(TRUE, length(pairs$user))
  s <- 0
  out <- over_draws(kept, function(draw) {
    s <<- s + 1
    prior_u <- new_factor(model, draw, "u")
    prior_v <- new_factor(model, draw, "v")
    u <- deviations[, s] +
      new_means(draw, "u", prior_u, pairs$x$u, places(pairs, "u", all))
    v <- new_means(draw, "v", prior_v, pairs$x$v, places(pairs, "v", all))
    list(
      mean = model$center + inner(model, u, v),
      extra = squared_length(prior_v$root, design_of(model, u))
    )
  }, hyper = TRUE)
  list(
    mean = do.call(rbind, lapply(out, function(one) one$mean)),
    extra = do.call(rbind, lapply(out, function(one) one$extra))
  )
}

# ---- predictions -----------------------------------------------------------

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
#' @param type `"mean"`: mean and variance of the rating; `"interval"`: its
#'   mean, standard deviation and the ends of its central interval, all of the
#'   predictive distribution, noise included; `"draws"`: the draws of the mean
#'   of the rating (\eqn{\eta}{eta} without `range` and `link`), without the
#'   noise; `"probabilities"`: with `link`, the probability of each level.
#' @param level For `"interval"`: number between 0 and 1, default 0.95, the
#'   probability of the interval.
#' @param variance For `"mean"`: `TRUE` (default) or `FALSE`, for the means
#'   alone.
#' @param draws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @param user_features,item_features For a fit with features: `NULL`, or a
#'   table like that of the fit with a row for each new user (item).
#' @param ... Not used.
#' @return `"mean"`: a data frame with a row for each pair and the columns user
#'   and item (under their names in the data), `mean`, `variance` and its parts
#'   `noise` and `parameters`, in the unit of the ratings and its square, and
#'   `unknown` (`"none"`, `"user"`, `"item"` or `"both"`); with `variance =
#'   FALSE` a vector of means. `"interval"`: the same with `mean`, `sd`,
#'   `lower`, `upper`. `"probabilities"`: a data frame with a column for each
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
#' predict(fit, pairs, type = "interval", level = 0.5)
#' @export
predict.gibbs_bmf <- function(object, newdata = NULL,
                              type = c(
                                "mean", "draws", "interval", "probabilities"
                              ),
                              level = 0.95, variance = TRUE, draws = NULL,
                              user_features = NULL, item_features = NULL,
                              ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  type <- check_choice(type, c("mean", "draws", "interval", "probabilities"))
  level <- check_level(level)
  variance <- check_flag(variance)
  model <- fit_part(object, "model")
  check_has_probabilities(model, type, call)
  pairs <- bmf_pairs(
    model, newdata, call, list(u = user_features, v = item_features)
  )
  kept <- kept_factors(object, draws, call)
  switch(type,
    probabilities = predict_probabilities(kept, pairs),
    mean = predict_mean(kept, pairs, variance),
    draws = predict_draws(kept, pairs, call),
    interval = predict_interval(kept, pairs, level)
  )
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
  probability <- by_blocks(pairs, length(kept$noise), function(rows) {
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
  moments <- pair_moments(kept, pairs, draw_stand_ins_rated(kept, pairs))
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
    return(by_blocks(pairs, length(kept$noise), function(rows) {
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
  mean <- colMeans(moments$mean)
  away <- moments$mean - rep(mean, each = nrow(moments$mean))
  data.frame(
    mean = mean, variance = colMeans(away^2),
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

# Stand-ins where the mean of the rating needs them: a function of the latent
# value that is not linear.
draw_stand_ins_rated <- function(kept, pairs) {
  if (is_latent(kept$model)) draw_stand_ins(kept, pairs)
}

linear_pair_moments <- function(kept, pairs) {
  draws <- length(kept$noise)
  by_blocks(pairs, draws, function(rows) {
    moments <- new_pair_moments(kept, some_pairs(pairs, rows))
    mean <- colMeans(moments$mean)
    spread <- colMeans((moments$mean - rep(mean, each = draws))^2)
    if (!is.null(moments$extra)) {
      spread <- spread + colMeans(moments$extra)
    }
    data.frame(mean = mean, variance = spread)
  })
}

predict_interval <- function(kept, pairs, level) {
  stand_ins <- draw_stand_ins(kept, pairs)
  moments <- pair_moments(kept, pairs, stand_ins)
  ends <- interval_ends(kept, pairs, level, stand_ins)
  pair_frame(
    kept$model, pairs, mean = moments$mean,
    sd = sqrt(moments$noise + moments$variance), lower = ends[, 1L],
    upper = ends[, 2L], unknown = pairs$unknown
  )
}

interval_ends <- function(kept, pairs, level, stand_ins = NULL) {
  by_blocks(pairs, length(kept$noise), function(rows) {
    part <- bmf_normals(kept, pairs, rows, stand_ins)
    cbind(
      rating_quantile(kept, part, (1 - level) / 2),
      rating_quantile(kept, part, (1 + level) / 2)
    )
  })
}

check_pairs_size <- function(kept, pairs, call) {
  check_result_size(
    c(length(kept$noise), length(pairs$user)), "draws x pairs",
    "{.arg draws} or the number of pairs", call
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
  out <- linear_draws(
    kept, ifelse(is.na(pairs$user), 1L, pairs$user),
    ifelse(is.na(pairs$item), 1L, pairs$item)
  )
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
  s <- 0
  do.call(rbind, over_draws(kept, function(draw) {
    s <<- s + 1
    take <- function(known, drawn, code) {
      all <- cbind(known, matrix(drawn[, , s], nrow(known)))
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

#' Replicated ratings and log likelihood of a matrix factorisation
#'
#' `posterior_predict()` draws ratings with their noise, one for each pair and
#' kept draw; `posterior_epred()` (and `posterior_linpred()`, which is the same
#' without `range` and `link`) gives the draws of their mean; `log_lik()` gives
#' the log density of each rating under each draw. All use the draws that the
#' fit keeps for prediction, see [gibbs_bmf()], chain after chain.
#'
#' @param object A fit made by [gibbs_bmf()].
#' @param newdata `NULL` for the ratings of the fit, or a data frame as in
#'   [predict.gibbs_bmf()]; `log_lik()` needs the ratings in it too.
#' @param draws `NULL` for all draws that the fit keeps for prediction
#'   (`pp_check()`: for at most 50), or the number of them to use, spread
#'   evenly.
#' @param user_features,item_features As in [predict.gibbs_bmf()].
#' @param ndraws Another name of `draws`, which tidybayes uses.
#' @param re_formula `NULL` or `NA`, without effect; tidybayes gives it.
#' @param transform For `posterior_linpred()`: `TRUE` for the mean of the
#'   rating, `FALSE` (default) for the linear predictor; with `range` or `link`
#'   they differ.
#' @param ... Not used; for `pp_check()` passed to
#'   [bayesplot::ppc_dens_overlay()].
#' @return A matrix, draws x pairs, in the order of the data; `pp_check()`: a
#'   plot. [loo()][loo::loo] and [waic()][loo::waic] take the fit itself and
#'   concern the ratings in the data. For ratings held back, `log_lik(fit,
#'   newdata)` is exact, and [held_out()] summarises it.
#' @section Errors: `gibbsite_error_argument` for more draws than there are and
#'   for `newdata` without the columns needed; `gibbsite_error_size` when the
#'   matrix would be larger than `options(gibbsite.max_draws_mb)`.
#' @seealso [predict.gibbs_bmf()] for means and intervals, [held_out()] for the
#'   error of ratings held back, [compare_k()] for ranks.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' dim(posterior_predict(fit, draws = 10))
#' mean(log_lik(fit, made[1:5, ]))
#' @name bmf-checks
#' @aliases posterior_predict.gibbs_bmf
#' @export
posterior_predict.gibbs_bmf <- function(object, newdata = NULL, draws = NULL,
                                        ..., user_features = NULL,
                                        item_features = NULL, ndraws = NULL,
                                        re_formula = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  pairs <- bmf_pairs(
    fit_part(object, "model"), newdata, call,
    list(u = user_features, v = item_features)
  )
  kept <- kept_factors(object, draws, call)
  rating_draws(kept, predictor_draws(kept, pairs, call))
}

#' @rdname bmf-checks
#' @export
posterior_epred.gibbs_bmf <- function(object, newdata = NULL, draws = NULL,
                                      ..., user_features = NULL,
                                      item_features = NULL, ndraws = NULL,
                                      re_formula = NULL) {
  check_no_more(...)
  call <- rlang::current_env()
  check_unlocked(call)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  pairs <- bmf_pairs(
    fit_part(object, "model"), newdata, call,
    list(u = user_features, v = item_features)
  )
  predict_draws(kept_factors(object, draws, call), pairs, call)
}

#' @rdname bmf-checks
#' @export
posterior_linpred.gibbs_bmf <- function(object, transform = FALSE,
                                        newdata = NULL, draws = NULL, ...,
                                        ndraws = NULL, re_formula = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_unlocked(call)
  transform <- check_flag(transform)
  check_re_formula(re_formula, call)
  draws <- either_draws(draws, ndraws, call)
  pairs <- bmf_pairs(fit_part(object, "model"), newdata, call)
  kept <- kept_factors(object, draws, call)
  (if (transform) predict_draws else predictor_draws)(kept, pairs, call)
}

#' @rdname bmf-checks
#' @export
log_lik.gibbs_bmf <- function(object, newdata = NULL, draws = NULL, ...,
                              user_features = NULL, item_features = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(object, "model")
  pairs <- bmf_pairs(
    model, newdata, call, list(u = user_features, v = item_features)
  )
  check_values(pairs, model, call)
  kept <- kept_factors(object, draws, call)
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
#' @exportS3Method bayesplot::pp_check
pp_check.gibbs_bmf <- function(object, draws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
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
    posterior_predict(object, newdata, draws %||% min(50, available)), ...
  )
}

# ---- the ratings of the fit ------------------------------------------------

#' Fitted ratings and residuals
#'
#' `fitted()` gives the posterior means of the ratings in the data,
#' `residuals()` the ratings minus these means, and `augment()` the ratings with
#' both and with intervals.
#'
#' @param object,x A fit made by [gibbs_bmf()], or the result of a search for a
#'   mode.
#' @param newdata `NULL` for the ratings of the fit, or a data frame as in
#'   [predict.gibbs_bmf()].
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   predictive interval.
#' @param ... Not used.
#' @param user_features,item_features As in [predict.gibbs_bmf()].
#' @return Vectors in the order of the ratings. `augment()`: a data frame with
#'   the pairs, the ratings (where there are any), `.fitted`, `.se.fit`
#'   (standard deviation of the mean of the rating), `.lower`, `.upper` (of the
#'   rating) and `.resid`.
#' @section Errors: `gibbsite_error_argument` when the fit does not hold its
#'   data.
#' @seealso [predict.gibbs_bmf()] for other cells, [plot.gibbs_bmf()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' sqrt(mean(residuals(fit)^2))
#' head(augment(fit), 3)
#' @name bmf-fitted
#' @importFrom stats fitted
#' @export
fitted.gibbs_bmf <- function(object, ...) {
  check_no_more(...)
  predict(object, variance = FALSE)
}

#' @rdname bmf-fitted
#' @importFrom stats residuals
#' @export
residuals.gibbs_bmf <- function(object, ...) {
  check_no_more(...)
  fit <- stats::fitted(object)
  fit_part(object, "model")$data$value - fit
}

#' @rdname bmf-fitted
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

# ---- pairs given up front, ratings held back -------------------------------

#' Predictions averaged over every kept draw
#'
#' For the pairs given to [gibbs_bmf()] as `predict_at`: means and variances
#' that the chains accumulated at every kept draw as they ran. [predict()] of
#' the same pairs uses only the stored draws, which are fewer. The ends of the
#' interval are those of [predict.gibbs_bmf()], shifted and scaled to the
#' accumulated mean and standard deviation. With `range` or `link` in the fit
#' all numbers are those of [predict.gibbs_bmf()], because only linear
#' predictors are accumulated.
#'
#' @param fit A fit made by [gibbs_bmf()] with `predict_at`.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   interval.
#' @return A data frame with a row for each pair of `predict_at`: the pair, its
#'   rating if one was given, `mean`, `variance` and its parts `noise` and
#'   `parameters`, `lower`, `upper`, and `unknown` as in [predict.gibbs_bmf()].
#'   After an interrupt, the means include draws of the faster chains that the
#'   fit does not show yet.
#' @section Errors: `gibbsite_error_argument` for a fit without `predict_at`.
#' @seealso [held_out()] for the error, [predict.gibbs_bmf()] for other cells.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' back <- sample(nrow(made), 50)
#' fit <- gibbs_bmf(made[-back, ], rank = 2, predict_at = made[back, ],
#'   draws = 200, burnin = 200, chains = 2, seed = 1
#' )
#' head(predicted_at(fit))
#' held_out(fit)
#' @export
predicted_at <- function(fit, level = 0.95) {
  check_needed(fit = "a fit made by gibbs_bmf()")
  call <- rlang::current_env()
  check_bmf(fit)
  level <- check_level(level)
  pairs <- asked_pairs(fit, call)
  kept <- kept_factors(fit, call = call)
  streamed <- asked_moments(fit, kept, pairs)
  ends <- if (is_latent(kept$model)) {
    interval_ends(kept, pairs, level)
  } else {
    streamed_ends(kept, pairs, streamed, level)
  }
  out <- pair_frame(
    kept$model, pairs, mean = streamed$mean,
    variance = streamed$noise + streamed$variance, noise = streamed$noise,
    parameters = streamed$variance, lower = ends[, 1L], upper = ends[, 2L],
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

check_bmf <- function(fit, arg = "fit", call = rlang::caller_env()) {
  check_fit_of(fit, "gibbs_bmf", arg, call)
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
  unrated <- c(
    model$user_counts[pairs$user] == 0, model$item_counts[pairs$item] == 0
  )
  unrated <- matrix(unrated, ncol = 2)
  pairs$ids <- list(
    user = model$users[pairs$user], item = model$items[pairs$item]
  )
  pairs$unknown <- c("none", "user", "item", "both")[
    1 + unrated[, 1L] + 2 * unrated[, 2L]
  ]
  pairs
}

# Means and variances at `predict_at`: those accumulated, which are of the
# linear predictor; if the rating is another function of it, those of the stored
# draws.
asked_moments <- function(fit, kept, pairs) {
  if (is_latent(kept$model)) {
    pair_moments(kept, pairs)
  } else {
    streamed_moments(fit)
  }
}

# Means and variances over every kept draw of all chains, each chain weighted by
# its number of draws (Chan, Golub and LeVeque 1983, doi:10.2307/2683386, eq.
# 1.5).
streamed_moments <- function(fit) {
  parts <- lapply(fit_part(fit, "chains"), function(chain) {
    bmf_predicted(chain$state)
  })
  count <- vapply(parts, function(part) as.double(part$count), 0)
  if (sum(count) == 0) {
    abort_no_averages("The means at `predict_at`", rlang::caller_env())
  }
  weight <- count / sum(count)
  mean <- Reduce(`+`, Map(function(part, w) w * part$mean, parts, weight))
  m2 <- Reduce(`+`, Map(function(part, n) {
    part$m2 + n * (part$mean - mean)^2
  }, parts, count))
  list(
    mean = fit_part(fit, "model")$center + mean, variance = m2 / sum(count),
    noise = sum(weight * vapply(parts, function(part) part$noise, 0))
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
#' The root mean square error, the mean absolute error and the coverage of
#' intervals for ratings that were not used by the fit.
#'
#' @param fit A fit made by [gibbs_bmf()], or the result of a search for a mode.
#' @param newdata `NULL` for the ratings given as `predict_at`, or a data frame
#'   of pairs with ratings.
#' @param level Numbers between 0 and 1, default 0.5, 0.8 and 0.95: the
#'   probabilities of the central predictive intervals whose coverage is
#'   counted.
#' @param ... Not used.
#' @param user_features,item_features As in [predict.gibbs_bmf()].
#' @return A data frame of one row: `ratings` (how many), `rmse` (root mean
#'   square error of the posterior mean), `mae` (mean absolute error), `lpd`
#'   (mean log predictive density of a rating; higher is better), and for each
#'   level `coverage_50`, ...: the share of ratings inside their interval.
#' @details
#' With `predict_at` the errors are those of [predicted_at()], averaged over
#' every kept draw; density and coverage use the draws that the fit keeps for
#' prediction.
#'
#' The standard error of a coverage \eqn{p} is about \eqn{\sqrt{p(1-p)/n}}{
#' sqrt(p (1 - p) / n)}. To compare the `rmse` of two fits use the same ratings:
#' most of the chance variation is then common to both.
#' @section Errors: `gibbsite_error_argument` if no ratings were held back.
#' @seealso [predicted_at()] for each rating, [compare_k()] for ranks,
#'   [kfold()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' back <- sample(nrow(made), 50)
#' fit <- gibbs_bmf(made[-back, ], rank = 2, draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' held_out(fit, made[back, ])
#' @export
held_out <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95), ...) {
  check_needed(fit = "a fit made by gibbs_bmf()")
  UseMethod("held_out")
}

#' @export
held_out.default <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95),
                             ...) {
  check_bmf(fit, call = rlang::caller_env())
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

check_levels <- function(level, call = rlang::caller_env()) {
  check_numeric_vector(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE,
    call = call
  )
}

# Pairs with ratings: those of newdata, or those of predict_at that have one.
# `features` as in bmf_pairs().
held_out_pairs <- function(fit, newdata, call, features = NULL) {
  model <- fit_part(fit, "model")
  if (!is.null(newdata)) {
    pairs <- bmf_pairs(model, newdata, call, features)
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
  pairs <- asked_pairs(fit, call)
  rows <- which(!is.na(pairs$value))
  list(
    user = pairs$user[rows], item = pairs$item[rows],
    ids = lapply(pairs$ids, `[`, rows), value = pairs$value[rows],
    unknown = pairs$unknown[rows], rows = rows
  )
}

# Of each rating the log predictive density, and the probabilities of
# rating_below(): pairs x 3.
score_pairs <- function(kept, pairs, stand_ins = draw_stand_ins(kept, pairs)) {
  by_blocks(pairs, length(kept$noise), function(rows) {
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
