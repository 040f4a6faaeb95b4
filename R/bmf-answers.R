# What a fit of gibbs_bmf() answers: predictions, recommendations, new users,
# factors, pictures.

# ---- the kept draws of the factors -----------------------------------------

# The draws of all factors that the chains of a fit stored, chain after chain:
# list(model, states, which, chain, noise).  which[[k]] are the places of the
# draws used in the set of chain k; chain and noise (the variance of a rating)
# have an entry a draw.  After an interrupt chains may be of several lengths:
# the draws that all of them have are used.
kept_factors <- function(fit, draws = NULL, call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  states <- lapply(fit_part(fit, "chains"), function(chain) chain$state)
  numbers <- lapply(states, function(state) bmf_kept(model, state))
  common <- Reduce(intersect, numbers)
  common <- common[common <= fit_part(fit, "running")$draws]
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
    model = model, states = states, which = which, chain = chain, noise = noise
  )
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
  kind <- class(model$prior)[[1]]
  if (kind == "bmf_wishart") {
    precision <- matrix(draw[[paste0("precision_", side)]], size, size)
    return(list(
      mean = as.double(draw[[paste0("mu_", side)]]),
      root = backsolve(chol(precision), diag(size), transpose = TRUE)
    ))
  }
  variance <- if (kind == "bmf_fixed") {
    model$prior$c
  } else {
    1 / draw[[paste0("lambda_", side)]]
  }
  list(mean = numeric(size), root = diag(sqrt(variance), size))
}

# The coefficients that the factors of the other side have in the linear
# predictor: its own first `rank` coordinates, and 1 for the intercept.
# x: D x pairs.
against <- function(model, x) {
  if (model$biases) {
    x[model$size, ] <- 1
  }
  x
}

# What the other side's intercept adds.
offset_of <- function(model, x) {
  if (model$biases) x[model$size, ] else 0
}

# |root x|^2 by column, one coordinate after the other: a column's sum does not
# depend on how many columns there are.
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
# from the prior, "none", "user", "item" or "both".
bmf_pairs <- function(model, newdata, call) {
  if (is.null(newdata)) {
    if (is.null(model$data)) {
      abort_no_data("newdata", call)
    }
    user <- model$data$user
    item <- model$data$item
    ids <- list(user = model$users[user], item = model$items[item])
    value <- model$data$value
  } else {
    ids <- pair_columns(newdata, model$names, "newdata", call)
    user <- match_ids(ids$user, model$users)
    item <- match_ids(ids$item, model$items)
    value <- ids$value
  }
  if (length(user) == 0) {
    abort_argument("{.arg newdata} has no rows.", call = call, class = "empty")
  }
  unrated <- function(code, counts) is.na(code) | counts[code] == 0
  no_user <- unrated(user, model$user_counts)
  no_item <- unrated(item, model$item_counts)
  list(
    user = user, item = item, ids = ids[c("user", "item")], value = value,
    unknown = c("none", "user", "item", "both")[1 + no_user + 2 * no_item]
  )
}

# Names of the pairs' columns as the fit has them, then more columns.
pair_frame <- function(model, pairs, ...) {
  out <- data.frame(pairs$ids$user, pairs$ids$item, ...)
  names(out)[1:2] <- model$names[1:2]
  out
}

# In blocks of pairs, so that draws x pairs stays below 32 MB: f(rows) for each
# block, the results put together by rows.
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
    value = pairs$value[rows]
  )
}

# ---- the distribution of a rating given one draw ---------------------------

# Given a draw, a rating of a known user and item is N(mean, noise).  Where the
# user (or the item) is new its factors are normal too, and so is the rating.
# Where both are, the mean and variance are exact all the same, but the rating
# is no longer normal.  list(mean, extra), draws x pairs: `extra` is the
# variance beside the noise, NULL where no id is new.
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
  moments <- over_draws(kept, function(draw) {
    one_new_moments(
      model, draw, user[rows], item[rows], new_user[rows], new_item[rows]
    )
  })
  extra <- matrix(0, nrow(mean), ncol(mean))
  mean[, rows] <- model$center +
    do.call(rbind, lapply(moments, function(one) one$mean))
  extra[, rows] <- do.call(rbind, lapply(moments, function(one) one$extra))
  list(mean = mean, extra = extra)
}

# With u = mu_u + d and v = mu_v + e: u'v has variance v'S_u v + u'S_v u at the
# known (or mean) factors, and tr(S_u S_v) where both are new.
one_new_moments <- function(model, draw, user, item, new_user, new_item) {
  u <- draw$u[, user, drop = FALSE]
  v <- draw$v[, item, drop = FALSE]
  prior_u <- new_factor(model, draw, "u")
  prior_v <- new_factor(model, draw, "v")
  u[, new_user] <- prior_u$mean
  v[, new_item] <- prior_v$mean
  extra <- numeric(length(user))
  extra[new_user] <- squared_length(
    prior_u$root, against(model, v[, new_user, drop = FALSE])
  )
  extra[new_item] <- extra[new_item] + squared_length(
    prior_v$root, against(model, u[, new_item, drop = FALSE])
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

# Pairs whose rating is normal given a draw and, where both ids are new, given
# factors drawn for one new user (the same for all such pairs, from R's
# generator): list(mean, sd), draws x pairs; sd is a vector where no id is new.
bmf_normals <- function(kept, pairs, rows = seq_along(pairs$user),
                        stand_ins = NULL) {
  part <- some_pairs(pairs, rows)
  moments <- new_pair_moments(kept, part)
  if (is.null(moments$extra)) {
    return(list(mean = moments$mean, sd = sqrt(kept$noise)))
  }
  both <- which(is.na(part$user) & is.na(part$item))
  if (length(both) > 0) {
    one <- conditional_moments(kept, stand_ins)
    moments$mean[, both] <- one$mean
    moments$extra[, both] <- one$extra
  }
  list(mean = moments$mean, sd = sqrt(moments$extra + kept$noise))
}

# Factors for a user that nobody knows, one draw from the prior for each kept
# draw (D x draws); NULL where no pair needs them.
draw_stand_ins <- function(kept, pairs) {
  if (!any(is.na(pairs$user) & is.na(pairs$item))) {
    return(NULL)
  }
  draw_new_factors(kept, "u", 1L)[, 1L, , drop = TRUE] |>
    matrix(kept$model$size)
}

# Factors of `count` new users or items for each kept draw: D x count x draws.
draw_new_factors <- function(kept, side, count) {
  model <- kept$model
  size <- model$size
  drawn <- over_draws(kept, function(draw) {
    prior <- new_factor(model, draw, side)
    normals <- matrix(stats::rnorm(size * count), size, count)
    prior$mean + crossprod(prior$root, normals)
  }, hyper = TRUE)
  array(unlist(drawn), c(size, count, length(drawn)))
}

# A new item's rating by users whose factors are given (D x draws), for each
# draw.
conditional_moments <- function(kept, u) {
  model <- kept$model
  s <- 0
  out <- over_draws(kept, function(draw) {
    s <<- s + 1
    own <- u[, s, drop = FALSE]
    prior <- new_factor(model, draw, "v")
    c(
      model$center + inner(model, own, matrix(prior$mean)),
      squared_length(prior$root, against(model, own))
    )
  }, hyper = TRUE)
  out <- matrix(unlist(out), 2L)
  list(mean = out[1L, ], extra = out[2L, ])
}

# ---- mixtures of normal distributions --------------------------------------

# Quantile p of the mixture, with equal weights, of N(mean[s, ], sd[s, ]^2) over
# the draws s, for each column: Newton's method from the quantile of the normal
# distribution with the mixture's mean and variance, kept within the bracket
# that holds the root (it lies between the least and the largest of the
# components' quantiles), to 1e-9 of its standard deviation.  A column's
# result does not depend on other columns.
mixture_quantile <- function(mean, sd, p) {
  draws <- nrow(mean)
  if (ncol(mean) == 0) {
    return(numeric())
  }
  sd <- matrix(sd, draws, ncol(mean))
  own <- mean + stats::qnorm(p) * sd
  low <- apply(own, 2, min)
  high <- apply(own, 2, max)
  centre <- colMeans(mean)
  away <- mean - rep(centre, each = draws)
  spread <- sqrt(colMeans(sd^2 + away^2))
  q <- pmin(pmax(centre + stats::qnorm(p) * spread, low), high)
  active <- seq_along(q)
  for (step in seq_len(200)) {
    m <- mean[, active, drop = FALSE]
    s <- sd[, active, drop = FALSE]
    z <- (rep(q[active], each = draws) - m) / s
    excess <- colMeans(stats::pnorm(z)) - p
    above <- excess > 0
    high[active[above]] <- q[active[above]]
    low[active[!above]] <- q[active[!above]]
    next_q <- q[active] - excess / colMeans(stats::dnorm(z) / s)
    outside <- !is.finite(next_q) | next_q < low[active] |
      next_q > high[active]
    middle <- (low[active] + high[active]) / 2
    next_q[outside] <- middle[outside]
    moved <- abs(next_q - q[active])
    q[active] <- next_q
    active <- active[moved > 1e-9 * spread[active]]
    if (length(active) == 0) {
      break
    }
  }
  q
}

# ---- predictions -----------------------------------------------------------

#' Predict ratings
#'
#' Averages over the draws of the factors that the fit keeps for prediction
#' (see [gibbs_bmf()]), without refitting. With \eqn{S} of them:
#' \deqn{\mathrm{E}[r_{ij}] \approx \frac1S \sum_s \eta^{(s)}_{ij}, \quad
#'   \eta^{(s)}_{ij} = m + u_i^{(s)\top} v_j^{(s)},}{
#'   E[r_ij] ~ (1/S) sum_s eta_ij(s), eta_ij(s) = m + u_i(s)'v_j(s),}
#' \deqn{\mathrm{Var}[r_{ij}] \approx \underbrace{\frac1S \sum_s
#'   \frac{1}{\beta^{(s)}}}_{noise} + \underbrace{\frac1S \sum_s
#'   (\eta^{(s)}_{ij})^2 - \Bigl(\frac1S \sum_s \eta^{(s)}_{ij}\Bigr)^2}_{
#'   parameters}}{
#'   Var[r_ij] ~ (1/S) sum_s 1/beta(s)   [noise]
#'   + (1/S) sum_s eta_ij(s)^2 - E[r_ij]^2   [parameters]}
#' (Paisley, eq. 23 and 24; where \eqn{\beta}{beta} is drawn, the noise part is
#' the mean of \eqn{1/\beta}{1/beta} over the draws). \eqn{m} is the mean taken
#' off with `center = TRUE`, otherwise 0; intercepts are part of
#' \eqn{\eta}{eta}.
#'
#' @section Users and items not seen before:
#' Their factors come from the hierarchical prior: given a draw they are
#' \eqn{\mathrm{N}(\mu_u, \Lambda_u^{-1})}{N(mu_u, Lambda_u^-1)}. Mean and
#' variance are computed exactly from this, with the variance of the factors in
#' the part of the parameters; `type = "draws"` draws the factors, once for each
#' new id, from R's generator. The column `unknown` says for whom this was done;
#' users and items of the fit that have no rating count as unknown too. To
#' predict for a new user of whom some ratings are known see [fold_in()].
#'
#' @section Intervals:
#' The predictive distribution of a rating, noise included, is the mixture over
#' the draws of the normal distributions \eqn{\mathrm{N}(\eta^{(s)}_{ij},
#' 1/\beta^{(s)})}{N(eta_ij(s), 1/beta(s))}, and the ends of an interval are
#' that mixture's quantiles, found by Newton's method: nothing is simulated, and
#' calling again gives the same bits. Only where both user and item are new,
#' factors of one such user are drawn for each draw (from R's generator),
#' because the rating is not normal before.
#'
#' Ratings are taken as numbers on the whole line. Intervals of ratings from 1
#' to 5 may reach below 1 or above 5; they are not cut.
#'
#' @param object A fit made by [gibbs_bmf()].
#' @param newdata `NULL` for the ratings of the fit, or a data frame of pairs
#'   with columns called as in the ratings.
#' @param type `"mean"`: mean and variance; `"interval"`: mean, standard
#'   deviation and the ends of the central interval; `"draws"`: the draws of the
#'   mean of the rating \eqn{\eta}{eta}.
#' @param level For `"interval"`: number between 0 and 1, default 0.9, its
#'   probability.
#' @param variance For `"mean"`: `TRUE` (default) or `FALSE`, for the means
#'   alone.
#' @param draws `NULL` for all draws that the fit keeps for prediction, or a
#'   whole number: so many of them, spread evenly.
#' @param ... Not used.
#' @return `"mean"`: a data frame with a row for each pair and the columns user
#'   and item (under their names in the data), `mean`, `variance` and its parts
#'   `noise` and `parameters`, in the unit of the ratings and its square, and
#'   `unknown` (`"none"`, `"user"`, `"item"` or `"both"`); with `variance =
#'   FALSE` a vector of means. `"interval"`: the same with `mean`, `sd`,
#'   `lower`, `upper`. `"draws"`: a matrix, draws x pairs. A pair's result is
#'   the same, to the last bit, whatever other pairs are asked for (for
#'   `"draws"` of new ids: in distribution).
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
                              type = c("mean", "draws", "interval"),
                              level = 0.9, variance = TRUE, draws = NULL,
                              ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("mean", "draws", "interval"))
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  variance <- check_flag(variance)
  model <- fit_part(object, "model")
  pairs <- bmf_pairs(model, newdata, call)
  kept <- kept_factors(object, draws, call)
  switch(type,
    mean = predict_mean(kept, pairs, variance),
    draws = predict_draws(kept, pairs, call),
    interval = predict_interval(kept, pairs, level)
  )
}

predict_mean <- function(kept, pairs, variance) {
  moments <- pair_moments(kept, pairs)
  if (!variance) {
    return(moments$mean)
  }
  noise <- mean(kept$noise)
  pair_frame(
    kept$model, pairs, mean = moments$mean,
    variance = noise + moments$variance, noise = noise,
    parameters = moments$variance, unknown = pairs$unknown
  )
}

# Mean and variance (of the parameters) of each pair over the kept draws:
# data.frame(mean, variance).
pair_moments <- function(kept, pairs) {
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
  noise <- mean(kept$noise)
  moments <- pair_moments(kept, pairs)
  ends <- interval_ends(pairs, length(kept$noise), level, function(rows) {
    bmf_normals(kept, pairs, rows, stand_ins)
  })
  pair_frame(
    kept$model, pairs, mean = moments$mean,
    sd = sqrt(noise + moments$variance), lower = ends[, 1L],
    upper = ends[, 2L], unknown = pairs$unknown
  )
}

# normals(rows): list(mean, sd) as bmf_normals() gives them.
interval_ends <- function(pairs, draws, level, normals) {
  by_blocks(pairs, draws, function(rows) {
    part <- normals(rows)
    cbind(
      mixture_quantile(part$mean, part$sd, (1 - level) / 2),
      mixture_quantile(part$mean, part$sd, (1 + level) / 2)
    )
  })
}

# eta of every draw, draws x pairs; a new id has the same factors in all its
# pairs.
predict_draws <- function(kept, pairs, call) {
  check_matrix_size(length(kept$noise), length(pairs$user), call)
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
  drawn_u <- draw_new_factors(kept, "u", max(0L, -user))
  drawn_v <- draw_new_factors(kept, "v", max(0L, -item))
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
  words <- as.character(ids)[fresh]
  codes[fresh] <- -match(words, unique(words))
  codes
}

# draws x pairs within the allowance for draws.
check_matrix_size <- function(draws, pairs, call) {
  mb <- 8 * draws * pairs / 2^20
  limit <- gibbsite_option("max_draws_mb", call)
  if (mb > limit) {
    abort_argument(
      c(
        "A matrix of {draws} draws of {format_number(pairs)} pairs would take
         {format(ceiling(mb), big.mark = ',')} MB, more than the
         {format(limit, big.mark = ',')} MB allowed.",
        i = "Ask for fewer `draws` or pairs, or raise
             `options(gibbsite.max_draws_mb = )`."
      ),
      call = call, class = "gibbsite_error_size"
    )
  }
}

#' Replicated ratings and log likelihood of a matrix factorisation
#'
#' `posterior_predict()` draws ratings with their noise, one for each pair and
#' kept draw; `posterior_epred()` (and `posterior_linpred()`, which is the same
#' here) gives the draws of their mean; `log_lik()` the log density of each
#' rating under each draw. The draws are those that the fit keeps for
#' prediction, see [gibbs_bmf()], chain after chain.
#'
#' @param object A fit made by [gibbs_bmf()].
#' @param newdata `NULL` for the ratings of the fit, or a data frame as in
#'   [predict.gibbs_bmf()]; `log_lik()` needs the ratings in it too.
#' @param draws `NULL` for all draws that the fit keeps for prediction
#'   (`pp_check()`: for at most 50), or a whole number: so many of them, spread
#'   evenly.
#' @param transform For `posterior_linpred()`: `TRUE` or `FALSE`, the same here,
#'   for predictor and mean are one.
#' @param ... Not used; for `pp_check()` passed to
#'   [bayesplot::ppc_dens_overlay()].
#' @return A matrix, draws x pairs, in the order of the data; `pp_check()`: a
#'   plot. [loo()][loo::loo] and [waic()][loo::waic] take the fit itself: they
#'   are about the ratings in the data. For ratings held back `log_lik(fit,
#'   newdata)` is the exact thing, and [held_out()] sums it up.
#' @section Errors: `gibbsite_error_argument` for more draws than there are and
#'   for `newdata` without the columns needed; `gibbsite_error_size` when the
#'   matrix would be larger than `options(gibbsite.max_draws_mb)`.
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
                                        ...) {
  call <- rlang::current_env()
  check_no_more(...)
  pairs <- bmf_pairs(fit_part(object, "model"), newdata, call)
  kept <- kept_factors(object, draws, call)
  mean <- predict_draws(kept, pairs, call)
  matrix(stats::rnorm(length(mean), mean, sqrt(kept$noise)), nrow(mean))
}

#' @rdname bmf-checks
#' @export
posterior_epred.gibbs_bmf <- function(object, newdata = NULL, draws = NULL,
                                      ...) {
  check_no_more(...)
  call <- rlang::current_env()
  pairs <- bmf_pairs(fit_part(object, "model"), newdata, call)
  predict_draws(kept_factors(object, draws, call), pairs, call)
}

#' @rdname bmf-checks
#' @export
posterior_linpred.gibbs_bmf <- function(object, transform = FALSE,
                                        newdata = NULL, draws = NULL, ...) {
  check_no_more(...)
  check_flag(transform)
  posterior_epred(object, newdata, draws)
}

#' @rdname bmf-checks
#' @export
log_lik.gibbs_bmf <- function(object, newdata = NULL, draws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  pairs <- bmf_pairs(model, newdata, call)
  check_values(pairs, model, call)
  kept <- kept_factors(object, draws, call)
  check_matrix_size(length(kept$noise), length(pairs$user), call)
  normals <- bmf_normals(
    kept, pairs, stand_ins = draw_stand_ins(kept, pairs)
  )
  log_density(pairs$value, normals)
}

# draws x pairs
log_density <- function(value, normals) {
  value <- rep(value, each = nrow(normals$mean))
  matrix(
    stats::dnorm(value, normals$mean, normals$sd, log = TRUE),
    nrow(normals$mean)
  )
}

check_values <- function(pairs, model, call) {
  if (is.null(pairs$value)) {
    lacking <- or_words(quoted(unique(c(
      model$names[[3]], usual_columns$value
    ))))
    abort_argument(
      "{.arg newdata} must have the ratings: there is no column {lacking}.",
      call = call, class = "column"
    )
  }
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
  call <- rlang::current_env()
  available <- length(kept_factors(object, call = call)$noise)
  pairs <- bmf_pairs(fit_part(object, "model"), NULL, call)
  # 5,000 ratings, spread evenly, show all that a density can show
  rows <- unique(round(
    seq(1, length(pairs$user), length.out = min(5000, length(pairs$user)))
  ))
  shown <- fit_part(object, "model")
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
#' `residuals()` the ratings less these, `augment()` the ratings with both and
#' with intervals.
#'
#' @param object,x A fit made by [gibbs_bmf()], or the result of a search for a
#'   mode.
#' @param newdata `NULL` for the ratings of the fit, or a data frame as in
#'   [predict.gibbs_bmf()].
#' @param level Number between 0 and 1, default 0.9: the probability of the
#'   predictive interval.
#' @param ... Not used.
#' @return Vectors in the order of the ratings. `augment()`: a data frame with
#'   the pairs, the ratings (where there are any), `.fitted`, `.se.fit`
#'   (standard deviation of the mean of the rating), `.lower`, `.upper` (of the
#'   rating) and `.resid`.
#' @section Errors: `gibbsite_error_argument` when the fit does not hold its
#'   data.
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
augment.gibbs_bmf <- function(x, newdata = NULL, level = 0.9, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  model <- fit_part(x, "model")
  pairs <- bmf_pairs(model, newdata, call)
  kept <- kept_factors(x, call = call)
  predicted <- predict_interval(kept, pairs, level)
  out <- predicted[1:2]
  if (!is.null(pairs$value)) {
    out[[model$names[[3]]]] <- pairs$value
  }
  out$.fitted <- predicted$mean
  out$.se.fit <- sqrt(pmax(0, predicted$sd^2 - mean(kept$noise)))
  out$.lower <- predicted$lower
  out$.upper <- predicted$upper
  if (!is.null(pairs$value)) {
    out$.resid <- pairs$value - predicted$mean
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
    items = length(model$items), sigma = sqrt(noise),
    rmse = mean(draws_of(x, "rmse"))
  ))
}

# ---- pairs given up front, ratings held back -------------------------------

#' Predictions averaged over every kept draw
#'
#' For the pairs given to [gibbs_bmf()] as `predict_at`: means and variances
#' that the chains accumulated at every kept draw as they ran. [predict()] of
#' the same pairs uses the draws that were stored, of which there are fewer. The
#' ends of the interval are those of [predict.gibbs_bmf()], moved and scaled to
#' this mean and this standard deviation.
#'
#' @param fit A fit made by [gibbs_bmf()] with `predict_at`.
#' @param level Number between 0 and 1, default 0.9: the probability of the
#'   interval.
#' @return A data frame with a row for each pair of `predict_at`: the pair, its
#'   rating if one was given, `mean`, `variance` and its parts `noise` and
#'   `parameters`, `lower`, `upper`, and `unknown` as in [predict.gibbs_bmf()].
#'   Draws that wait for slower chains after an interrupt are part of the means.
#' @section Errors: `gibbsite_error_argument` for a fit without `predict_at`.
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
predicted_at <- function(fit, level = 0.9) {
  call <- rlang::current_env()
  check_bmf(fit)
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  pairs <- asked_pairs(fit, call)
  streamed <- streamed_moments(fit)
  kept <- kept_factors(fit, call = call)
  ends <- streamed_ends(kept, pairs, streamed, level)
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
  if (!inherits(fit, "gibbs_bmf")) {
    given <- describe(fit)
    abort_argument(
      "{.arg {arg}} must be a fit made by {.fn gibbs_bmf}, not {given}.",
      call = call
    )
  }
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

# Means and variances over every kept draw of all chains, each chain with its
# number of draws (Chan, Golub and LeVeque 1983, doi:10.2307/2683386, eq. 1.5).
streamed_moments <- function(fit) {
  parts <- lapply(fit_part(fit, "chains"), function(chain) {
    bmf_predicted(chain$state)
  })
  count <- vapply(parts, function(part) as.double(part$count), 0)
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
# standard deviation and put back with those of all draws.
streamed_ends <- function(kept, pairs, streamed, level) {
  moments <- pair_moments(kept, pairs)
  sd <- sqrt(mean(kept$noise) + moments$variance)
  ends <- interval_ends(pairs, length(kept$noise), level, function(rows) {
    bmf_normals(kept, pairs, rows)
  })
  streamed$mean + sqrt(streamed$noise + streamed$variance) / sd *
    (ends - moments$mean)
}

#' How well ratings that were held back are predicted
#'
#' @param fit A fit made by [gibbs_bmf()], or the result of a search for a mode.
#' @param newdata `NULL` for the ratings given as `predict_at`, or a data frame
#'   of pairs with ratings.
#' @param level Numbers between 0 and 1, default 0.5, 0.8 and 0.95: the
#'   probabilities of the central predictive intervals whose coverage is
#'   counted.
#' @return A data frame of one row: `ratings` (how many), `rmse` (root mean
#'   square error of the posterior mean), `mae` (mean absolute error), `lpd`
#'   (mean log predictive density of a rating: the higher the better), and for
#'   each level `coverage_50`, ...: the share of ratings inside their interval.
#' @details
#' With `predict_at` the errors are those of [predicted_at()], over every kept
#' draw; density and coverage are those of the draws that the fit keeps.
#'
#' The standard error of a coverage \eqn{p} is about \eqn{\sqrt{p(1-p)/n}}{
#' sqrt(p (1 - p) / n)}. For the difference in `rmse` between two fits compare
#' them on the same ratings: most of its chance is common to both.
#' @section Errors: `gibbsite_error_argument` where no ratings were held back.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' back <- sample(nrow(made), 50)
#' fit <- gibbs_bmf(made[-back, ], rank = 2, draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' held_out(fit, made[back, ])
#' @export
held_out <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95)) {
  UseMethod("held_out")
}

#' @export
held_out.default <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95)) {
  check_bmf(fit, call = rlang::caller_env())
}

#' @rdname held_out
#' @export
held_out.gibbs_bmf <- function(fit, newdata = NULL,
                               level = c(0.5, 0.8, 0.95)) {
  call <- rlang::current_env()
  level <- check_levels(level)
  pairs <- held_out_pairs(fit, newdata, call)
  kept <- kept_factors(fit, call = call)
  mean <- if (is.null(newdata)) {
    streamed_moments(fit)$mean[pairs$rows]
  } else {
    pair_moments(kept, pairs)$mean
  }
  scores <- score_pairs(kept, pairs)
  held_out_row(pairs$value, mean, scores[, 1L], scores[, 2L], level)
}

check_levels <- function(level, call = rlang::caller_env()) {
  check_numeric_vector(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE,
    call = call
  )
}

# Pairs with ratings: those of newdata, or those of predict_at that have one.
held_out_pairs <- function(fit, newdata, call) {
  model <- fit_part(fit, "model")
  if (!is.null(newdata)) {
    pairs <- bmf_pairs(model, newdata, call)
    check_values(pairs, model, call)
    return(pairs)
  }
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

# Log predictive density and predictive distribution function of each rating.
score_pairs <- function(kept, pairs) {
  stand_ins <- draw_stand_ins(kept, pairs)
  by_blocks(pairs, length(kept$noise), function(rows) {
    normals <- bmf_normals(kept, pairs, rows, stand_ins)
    density <- log_density(pairs$value[rows], normals)
    largest <- apply(density, 2, max)
    relative <- exp(density - rep(largest, each = nrow(density)))
    cbind(
      largest + log(colMeans(relative)),
      probability_below(pairs$value[rows], normals)
    )
  })
}

probability_below <- function(value, normals) {
  draws <- nrow(normals$mean)
  z <- (rep(value, each = draws) - normals$mean) / normals$sd
  colMeans(matrix(stats::pnorm(z), draws))
}

held_out_row <- function(value, mean, log_density, below, level) {
  inside <- vapply(level, function(p) {
    mean(abs(below - 0.5) <= p / 2)
  }, 0)
  names(inside) <- paste0("coverage_", format_probs(level))
  error <- value - mean
  out <- data.frame(
    ratings = length(value), rmse = sqrt(mean(error^2)),
    mae = mean(abs(error)), lpd = mean(log_density)
  )
  cbind(out, t(inside))
}

# ---- recommendations -------------------------------------------------------

#' Items that users have not rated and may like
#'
#' For each user the items that they have not rated, in decreasing order of the
#' posterior mean of the rating, with its uncertainty.
#'
#' @param fit A fit made by [gibbs_bmf()], or new users from [fold_in()].
#' @param users Ids of users; `NULL` (default) for all of them (at most 100,000
#'   recommendations at once).
#' @param n Whole number, at least 1, default 10: how many items for a user;
#'   fewer where fewer are left.
#' @param level Number between 0 and 1, default 0.9: the probability of the
#'   interval.
#' @param ... Passed to methods.
#' @return A data frame with a row for each recommendation: the user, `place` (1
#'   for the first), the item, `mean`, `sd` (of the mean: the part of the
#'   parameters), `lower` and `upper` (the predictive interval of the rating,
#'   noise included) and `ratings`, how often the item was rated in the data.
#' @section Errors: `gibbsite_error_argument` for users that are not in the fit
#'   and for a fit that does not hold its data, which say what was rated.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' recommend(fit, users = c("1", "7"), n = 3)
#' @export
recommend <- function(fit, users = NULL, n = 10, level = 0.9, ...) {
  UseMethod("recommend")
}

#' @export
recommend.default <- function(fit, users = NULL, n = 10, level = 0.9, ...) {
  check_bmf(fit, call = rlang::caller_env())
}

#' @rdname recommend
#' @export
recommend.gibbs_bmf <- function(fit, users = NULL, n = 10, level = 0.9, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  model <- fit_part(fit, "model")
  if (is.null(model$data)) {
    abort_argument(c(
      "{.arg fit} does not hold its data, which say what each user has rated.",
      i = "Fit with {.code keep_data = TRUE}, or use {.fn predict} of the pairs
           in question."
    ))
  }
  codes <- chosen_users(users, model$users, call)
  check_recommended(length(codes), n, length(model$items), call)
  kept <- kept_factors(fit, call = call)
  best <- best_unseen(kept, codes, n)
  pairs <- list(
    user = best$user, item = best$item,
    ids = list(user = model$users[best$user], item = model$items[best$item])
  )
  ends <- interval_ends(pairs, length(kept$noise), level, function(rows) {
    bmf_normals(kept, pairs, rows)
  })
  recommended(model, pairs, best, ends)
}

chosen_users <- function(users, ids, call) {
  if (is.null(users)) {
    return(seq_along(ids))
  }
  check_ids(users, "user", "users", call)
  codes <- match_ids(users, ids)
  if (anyNA(codes) || length(codes) == 0) {
    lost <- utils::head(id_words(users[is.na(codes)]), 3)
    abort_argument(
      if (length(codes) == 0) {
        "{.arg users} must not be empty."
      } else {
        c(
          "{.arg users} must be users of the fit: {.val {lost}}
           {cli::qty(lost)}{?is/are} not.",
          i = "For a new user with some ratings see {.fn fold_in}."
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

# The n best items of each user that he or she has not rated: list(user, item,
# place, mean, sd), user by user.
best_unseen <- function(kept, codes, n) {
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
    moments <- kept_moments(kept, rep(codes[[k]], length(left)), left)
    top <- utils::head(order(-moments$mean, left), n)
    data.frame(
      user = codes[[k]], item = left[top], place = seq_along(top),
      mean = moments$mean[top], sd = sqrt(moments$variance[top])
    )
  })
  best <- do.call(rbind, parts)
  best %||% data.frame(
    user = integer(), item = integer(), place = integer(), mean = double(),
    sd = double()
  )
}

# Mean and variance of the linear predictor of known pairs over the kept draws,
# without a matrix of draws.
kept_moments <- function(kept, user, item) {
  parts <- lapply(seq_along(kept$states), function(k) {
    bmf_linear_moments(
      kept$model, kept$states[[k]], user, item, kept$which[[k]]
    )
  })
  count <- vapply(parts, function(part) as.double(part$count), 0)
  parts <- parts[count > 0]
  count <- count[count > 0]
  mean <- Reduce(`+`, Map(function(part, n) n * part$mean, parts, count)) /
    sum(count)
  m2 <- Reduce(`+`, Map(function(part, n) {
    part$m2 + n * (part$mean - mean)^2
  }, parts, count))
  list(mean = kept$model$center + mean, variance = m2 / sum(count))
}

recommended <- function(model, pairs, best, ends) {
  out <- data.frame(
    pairs$ids$user, place = best$place, pairs$ids$item, mean = best$mean,
    sd = best$sd, lower = ends[, 1L], upper = ends[, 2L],
    ratings = model$item_counts[pairs$item]
  )
  names(out)[c(1L, 3L)] <- model$names[1:2]
  out
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
#' keeps for prediction, on R's generator.
#'
#' The draws of \eqn{V} and of the hyperparameters are those of the fit: what
#' the new ratings say about items is not used. With few new users beside many
#' old ones that is next to nothing; the draws are exact for the posterior given
#' the fit's data of everything but the new users, updated for each new user
#' alone.
#'
#' @param fit A fit made by [gibbs_bmf()].
#' @param new_ratings A data frame with the ratings of the new users, with
#'   columns called as in the data of the fit. The items must be items of the
#'   fit. A user who occurs with the rating `NA` alone has no ratings and gets
#'   the prior.
#' @param draws `NULL` for all draws that the fit keeps for prediction, or a
#'   whole number: so many of them, spread evenly.
#' @return An object of class `bmf_fold` for `predict()` and [recommend()]: a
#'   list with `draws`, an array of `D x users x draws`, `users`, the ids, and
#'   `ratings`, how many each has.
#' @section Errors: `gibbsite_error_argument` for items that the fit does not
#'   have, missing columns and ratings that are not finite.
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
fold_in <- function(fit, new_ratings, draws = NULL) {
  call <- rlang::current_env()
  check_bmf(fit)
  model <- fit_part(fit, "model")
  asked <- pair_columns(new_ratings, model$names, "new_ratings", call)
  if (is.null(asked$value)) {
    lacking <- or_words(quoted(unique(c(
      model$names[[3]], usual_columns$value
    ))))
    abort_argument(
      "{.arg new_ratings} must have the ratings: there is no column {lacking}.",
      call = call, class = "column"
    )
  }
  if (length(asked$user) == 0) {
    abort_argument(
      "{.arg new_ratings} has no rows.", call = call, class = "empty"
    )
  }
  seen <- !is.na(asked$value)
  item <- match_ids(asked$item, model$items)
  lost <- unique(id_words(plain_or_level(asked$item))[is.na(item) & seen])
  if (length(lost) > 0) {
    shown <- utils::head(lost, 3)
    abort_argument(
      c(
        "{.arg new_ratings} must be of items of the fit: {.val {shown}}
         {cli::qty(shown)}{?is/are} not.",
        i = "{length(lost)} item{?s} {?is/are} unknown; leave {?its/their}
             ratings out."
      ),
      call = call
    )
  }
  users <- index_ids(droplevels_ids(asked$user), "user", "new_ratings", call)
  ratings <- list(
    n = length(users$ids), user = users$code[seen], item = item[seen],
    value = asked$value[seen]
  )
  kept <- kept_factors(fit, draws, call)
  drawn <- fold_draws(kept, ratings)
  structure(
    list(
      draws = drawn, users = users$ids,
      ratings = tabulate(ratings$user, ratings$n), rated = ratings, kept = kept
    ),
    class = "bmf_fold"
  )
}

plain_or_level <- function(x) {
  if (is.factor(x)) as.character(x) else plain_ids(x)
}

# Unused levels are no users here.
droplevels_ids <- function(x) if (is.factor(x)) droplevels(x) else x

# D x users x draws
fold_draws <- function(kept, ratings) {
  drawn <- unlist(lapply(seq_along(kept$states), function(k) {
    lapply(kept$which[[k]], function(j) {
      bmf_fold_in(kept$model, kept$states[[k]], j, ratings)
    })
  }))
  array(drawn, c(kept$model$size, ratings$n, length(kept$noise)))
}

#' @export
print.bmf_fold <- function(x, ...) {
  size <- dim(x$draws)
  writeLines(cli::pluralize(
    "<bmf_fold> {size[2]} new user{?s} with {sum(x$ratings)} rating{?s}, ",
    "{size[3]} draw{?s} of {size[1]} coordinate{?s}"
  ))
  shown <- utils::head(seq_along(x$users), 10)
  writeLines(paste0(
    "  ", id_words(x$users)[shown], ": ", x$ratings[shown],
    ifelse(x$ratings[shown] == 1, " rating", " ratings")
  ))
  if (length(x$users) > 10) {
    writeLines(paste0("  and ", length(x$users) - 10, " more"))
  }
  writeLines("Next: predict(folded, pairs), recommend(folded)")
  invisible(x)
}

# Moments of the ratings of new users for items, given each draw: list(mean,
# extra), draws x pairs.  user: places among the new ones; item: codes, NA for
# items that nobody knows.
fold_moments <- function(fold, user, item) {
  kept <- fold$kept
  model <- kept$model
  new_item <- is.na(item)
  item[new_item] <- 1L
  s <- 0
  moments <- over_draws(kept, function(draw) {
    s <<- s + 1
    u <- matrix(fold$draws[, user, s], model$size)
    v <- draw$v[, item, drop = FALSE]
    extra <- numeric(length(user))
    if (any(new_item)) {
      prior <- new_factor(model, draw, "v")
      v[, new_item] <- prior$mean
      extra[new_item] <- squared_length(
        prior$root, against(model, u[, new_item, drop = FALSE])
      )
    }
    list(mean = model$center + inner(model, u, v), extra = extra)
  })
  list(
    mean = do.call(rbind, lapply(moments, function(one) one$mean)),
    extra = do.call(rbind, lapply(moments, function(one) one$extra))
  )
}

#' @rdname fold_in
#' @param object An object made by `fold_in()`.
#' @param newdata For `predict()`: a data frame of new users and items.
#' @param type,level As in [predict.gibbs_bmf()].
#' @param ... Not used.
#' @export
predict.bmf_fold <- function(object, newdata,
                             type = c("mean", "draws", "interval"),
                             level = 0.9, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("mean", "draws", "interval"))
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  kept <- object$kept
  model <- kept$model
  ids <- pair_columns(newdata, model$names, "newdata", call)
  user <- match_ids(ids$user, object$users)
  if (anyNA(user)) {
    lost <- id_words(plain_or_level(ids$user))[is.na(user)][[1]]
    abort_argument(
      "{.arg newdata} must be of users that were folded in: {.val {lost}} is
       not.",
      call = call
    )
  }
  item <- match_ids(ids$item, model$items)
  pairs <- list(user = user, item = item, ids = ids[c("user", "item")])
  check_matrix_size(length(kept$noise), length(user), call)
  moments <- fold_moments(object, user, item)
  if (type == "draws") {
    normals <- stats::rnorm(length(moments$mean))
    return(moments$mean + sqrt(moments$extra) * normals)
  }
  fold_frame(object, pairs, moments, type, level)
}

fold_frame <- function(fold, pairs, moments, type, level) {
  kept <- fold$kept
  mean <- colMeans(moments$mean)
  parameters <- colMeans(moments$extra) +
    colMeans((moments$mean - rep(mean, each = nrow(moments$mean)))^2)
  noise <- mean(kept$noise)
  no_item <- is.na(pairs$item) | kept$model$item_counts[pairs$item] == 0
  unknown <- ifelse(
    fold$ratings[pairs$user] == 0, ifelse(no_item, "both", "user"),
    ifelse(no_item, "item", "none")
  )
  if (type == "mean") {
    return(pair_frame(
      kept$model, pairs, mean = mean, variance = noise + parameters,
      noise = noise, parameters = parameters, unknown = unknown
    ))
  }
  sd <- sqrt(moments$extra + kept$noise)
  pair_frame(
    kept$model, pairs, mean = mean, sd = sqrt(noise + parameters),
    lower = mixture_quantile(moments$mean, sd, (1 - level) / 2),
    upper = mixture_quantile(moments$mean, sd, (1 + level) / 2),
    unknown = unknown
  )
}

#' @rdname fold_in
#' @param users,n As in [recommend()].
#' @export
recommend.bmf_fold <- function(fit, users = NULL, n = 10, level = 0.9, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  model <- fit$kept$model
  codes <- chosen_users(users, fit$users, call)
  items <- seq_along(model$items)
  check_recommended(length(codes), n, length(items), call)
  parts <- lapply(codes, function(code) {
    left <- setdiff(items, fit$rated$item[fit$rated$user == code])
    user <- rep(code, length(left))
    moments <- fold_moments(fit, user, left)
    pairs <- list(
      user = user, item = left,
      ids = list(user = fit$users[user], item = model$items[left])
    )
    all <- fold_frame(fit, pairs, moments, "mean", level)
    top <- utils::head(order(-all$mean, left), n)
    chosen <- lapply(moments, function(m) m[, top, drop = FALSE])
    pairs <- list(
      user = user[top], item = left[top], ids = lapply(pairs$ids, `[`, top)
    )
    ends <- fold_frame(fit, pairs, chosen, "interval", level)
    best <- data.frame(
      place = seq_along(top), mean = all$mean[top],
      sd = sqrt(all$parameters[top])
    )
    recommended(model, pairs, best, as.matrix(ends[c("lower", "upper")]))
  })
  do.call(rbind, parts)
}

# ---- factors -----------------------------------------------------------------

# U'V of one draw (without intercepts) as sum_k d_k p_k q_k' with orthonormal
# p_k and q_k, d decreasing: the singular value decomposition, by way of the
# rank x rank Gram matrices.  list(d, left, right): the rank x rank matrices
# with left u_i = sqrt(d) p_i and right v_j = sqrt(d) q_j, the form in which
# users and items share the size of a factor evenly.
canonical_form <- function(u, v) {
  rank <- nrow(u)
  gram <- eigen(tcrossprod(u), symmetric = TRUE)
  size <- sqrt(pmax(gram$values, 0))
  root <- gram$vectors %*% diag(size, rank)
  inner <- eigen(crossprod(root, tcrossprod(v) %*% root), symmetric = TRUE)
  d <- sqrt(pmax(inner$values, 0))
  # directions that one side does not have carry nothing
  inverse <- function(x) ifelse(x > max(x, 0) * 1e-10, 1 / x, 0)
  list(
    d = d,
    left = (sqrt(d) * t(inner$vectors)) %*% (inverse(size) * t(gram$vectors)),
    right = (inverse(sqrt(d)) * t(inner$vectors)) %*% t(root)
  )
}

# The orthogonal matrix R that brings R x closest to `target` (Schoenemann 1966,
# doi:10.1007/BF02289451), rows being coordinates.
closest_rotation <- function(x, target) {
  both <- svd(tcrossprod(target, x))
  both$u %*% t(both$v)
}

# Factors of at most `most` kept draws in one canonical form: list(d, draws x
# rank; users and items, each list(mean, sd), D x ids; draws).  The draw of the
# highest log joint density is brought into canonical form, each factor with the
# sign that makes its larger entries positive among the items; the others are
# rotated to agree with it as well as they can.  A user's factor has mean square
# 1 over the users, and the size of a factor is in the items'.
canonical_factors <- function(kept) {
  model <- kept$model
  k <- seq_len(model$rank)
  rank_part <- function(x) x[k, , drop = FALSE]
  forms <- over_draws(kept, function(draw) {
    canonical_form(rank_part(draw$u), rank_part(draw$v))
  })
  d <- matrix(unlist(lapply(forms, function(form) form$d)), ncol = length(k),
              byrow = TRUE)
  pivot <- pivot_draw(kept)
  centre <- nth_draw(kept, pivot)
  reference <- list(
    u = forms[[pivot]]$left %*% rank_part(centre$u),
    v = forms[[pivot]]$right %*% rank_part(centre$v)
  )
  sign <- ifelse(rowSums(reference$v^3) < 0, -1, 1)
  reference <- lapply(reference, function(x) sign * x)
  # users and items count alike, however many there are
  sides <- cbind(reference$u, reference$v)
  sums <- factor_sums(model)
  s <- 0
  over_draws(kept, function(draw) {
    s <<- s + 1
    u <- forms[[s]]$left %*% rank_part(draw$u)
    v <- forms[[s]]$right %*% rank_part(draw$v)
    rotation <- closest_rotation(cbind(u, v), sides)
    draw$u[k, ] <- rotation %*% u
    draw$v[k, ] <- rotation %*% v
    sums$add(draw$u, draw$v)
    NULL
  })
  scale <- c(
    sqrt(colMeans(d) / model$n), if (model$biases) 1
  )
  scale[scale == 0] <- 1
  finish <- function(side, factor) {
    lapply(sums$get(side), function(x) factor * x)
  }
  list(
    d = d, users = finish("u", 1 / scale), items = finish("v", scale),
    draws = nrow(d)
  )
}

# Running means and variances of two matrices, by Welford's rule.
factor_sums <- function(model) {
  count <- 0
  zero <- function(n) matrix(0, model$size, n)
  mean <- list(u = zero(model$n), v = zero(model$m))
  m2 <- mean
  list(
    add = function(u, v) {
      count <<- count + 1
      x <- list(u = u, v = v)
      for (side in names(x)) {
        away <- x[[side]] - mean[[side]]
        mean[[side]] <<- mean[[side]] + away / count
        m2[[side]] <<- m2[[side]] + away * (x[[side]] - mean[[side]])
      }
    },
    get = function(side) {
      list(mean = mean[[side]], sd = sqrt(m2[[side]] / max(1, count - 1)))
    }
  )
}

# The kept draw of the highest log joint density.
pivot_draw <- function(kept) {
  best <- unlist(lapply(seq_along(kept$states), function(k) {
    numbers <- bmf_kept(kept$model, kept$states[[k]])[kept$which[[k]]]
    kept$log_joint[[k]][numbers]
  }))
  if (all(is.na(best))) 1L else which.max(best)
}

nth_draw <- function(kept, s) {
  k <- kept$chain[[s]]
  j <- kept$which[[k]][[s - match(k, kept$chain) + 1L]]
  bmf_kept_draw(kept$model, kept$states[[k]], j)
}

# At most 200 kept draws, with the log joint density of all draws.
factor_basis <- function(fit, call) {
  kept <- kept_factors(fit, call = call)
  if (length(kept$noise) > 200) {
    kept <- kept_factors(fit, 200, call)
  }
  kept$log_joint <- lapply(chain_matrices(fit), function(draws) {
    draws[, "log_joint"]
  })
  kept
}

#' Factors of users and items
#'
#' The posterior means and standard deviations of the factors, with their ids.
#'
#' Factors are known only up to a rotation, and the chains move between
#' rotations: the mean of a coordinate over raw draws means nothing. Here each
#' draw is first brought into a canonical form: \eqn{U^\top V}{U'V}, users by
#' items, is written as \eqn{\sum_k d_k p_k q_k^\top}{sum_k d_k p_k q_k'} with
#' orthogonal factors in decreasing order of \eqn{d_k} (the singular value
#' decomposition) for the draw of the highest log joint density, and the other
#' draws are rotated to agree with that one (orthogonal Procrustes problem,
#' Schoenemann 1966). Products \eqn{u_i^\top v_j}{u_i'v_j} do not change.
#'
#' Users' factors are given the mean square 1, so that an item's entry is in the
#' unit of the ratings: by how much its rating rises with one unit of the user's
#' factor. The sign is such that the larger entries of the items are positive.
#' Draws in the fit stay as they came.
#'
#' @param fit A fit made by [gibbs_bmf()], or the result of a search for a mode.
#' @param of `"items"` (default) or `"users"`.
#' @return A data frame with a row for each item (user): its id, `ratings` (how
#'   many it has), the factors `factor_1`, `factor_2`, ... by decreasing
#'   variance and their standard deviations `sd_1`, ...; with intercepts also
#'   `intercept` and `sd_intercept`. Without `sd_` columns for a mode.
#' @section Errors: `gibbsite_error_argument` for anything but a fit of
#'   [gibbs_bmf()].
#' @references
#' Schoenemann PH (1966). A generalized solution of the orthogonal Procrustes
#' problem. *Psychometrika* 31, 1-10. \doi{10.1007/BF02289451}
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' head(factors_of(fit))
#' @export
factors_of <- function(fit, of = c("items", "users")) {
  UseMethod("factors_of")
}

#' @export
factors_of.default <- function(fit, of = c("items", "users")) {
  check_bmf(fit, call = rlang::caller_env())
}

#' @rdname factors_of
#' @export
factors_of.gibbs_bmf <- function(fit, of = c("items", "users")) {
  call <- rlang::current_env()
  of <- check_choice(of, c("items", "users"))
  model <- fit_part(fit, "model")
  factors <- canonical_factors(factor_basis(fit, call))
  factor_frame(model, factors[[of]], of)
}

factor_frame <- function(model, side, of) {
  items <- of == "items"
  ids <- if (items) model$items else model$users
  counts <- if (items) model$item_counts else model$user_counts
  out <- data.frame(ids, ratings = counts)
  names(out)[[1L]] <- model$names[[if (items) 2L else 1L]]
  labels <- c(seq_len(model$rank), if (model$biases) "intercept")
  mean <- as.data.frame(t(side$mean))
  names(mean) <- sub("factor_intercept", "intercept", paste0("factor_", labels))
  out <- cbind(out, mean)
  if (!is.null(side$sd)) {
    sd <- as.data.frame(t(side$sd))
    names(sd) <- paste0("sd_", labels)
    out <- cbind(out, sd)
  }
  out
}

# ---- summary -----------------------------------------------------------------

#' Summary of a matrix factorisation
#'
#' The table of [summary.gibbsite_fit()], and below it the factors in the
#' canonical form of [factors_of()], by decreasing variance: how much of the
#' variance of the ratings' mean, over all cells, each accounts for, and the
#' items at its two ends.
#'
#' The stored quantities are `beta` (precision of a rating), `lambda_u` and
#' `lambda_v` (precisions of users and of items), or `trace_u`, `logdet_u`
#' (trace and log determinant of \eqn{\Lambda_u}{Lambda_u}), `norm_mu_u` (length
#' of \eqn{\mu_u}{mu_u}) and the same for items, `rmse` (of the ratings about
#' their mean at this draw), `log_joint`, and `cell[1]`, ... (mean of the rating
#' in some observed cells; [tidy()][tidy.gibbsite_fit] says which). None depends
#' on the rotation of the factors.
#'
#' @param object A fit made by [gibbs_bmf()].
#' @param variables,probs As in [summary.gibbsite_fit()].
#' @param factors `TRUE` (default) or `FALSE`: with the table of factors, which
#'   takes some time for many users and items.
#' @param ... Not used.
#' @return A data frame of class `gibbsite_summary`, see
#'   [summary.gibbsite_fit()]; its attribute `factors` is a data frame with a
#'   row for each factor: `factor`, `variance` (posterior mean of
#'   \eqn{d_k^2 / (N M)}{d_k^2 / (N M)}, in squared units of the ratings), its
#'   `sd`, `share` of the sum, and `high` and `low`, the items (with at least
#'   five ratings, where there are such) with the largest and smallest entries.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' summary(fit)
#' attr(summary(fit), "factors")
#' @export
summary.gibbs_bmf <- function(object, variables = NULL,
                              probs = c(0.025, 0.5, 0.975), factors = TRUE,
                              ...) {
  call <- rlang::current_env()
  check_no_more(...)
  factors <- check_flag(factors)
  model <- fit_part(object, "model")
  out <- summary.gibbsite_fit(object, variables, probs)
  if (identical(attr(out, "note"), "labelled")) {
    attr(out, "note") <- "rotated"
  }
  if (factors) {
    attr(out, "factors") <- factor_table(
      model, canonical_factors(factor_basis(object, call))
    )
  }
  class(out) <- c("bmf_summary", class(out))
  out
}

factor_table <- function(model, factors, ends = 3L) {
  variance <- factors$d^2 / (as.double(model$n) * model$m)
  mean <- colMeans(variance)
  items <- factors$items$mean
  usual <- which(model$item_counts >= 5)
  if (length(usual) < 2L * ends) usual <- seq_along(model$items)
  ids <- id_words(model$items)
  end <- function(k, sign) {
    first <- utils::head(usual[order(-sign * items[k, usual])], ends)
    paste(ids[first], collapse = ", ")
  }
  k <- seq_len(model$rank)
  data.frame(
    factor = k, variance = mean,
    sd = if (nrow(variance) > 1) apply(variance, 2, stats::sd) else NA_real_,
    share = mean / max(sum(mean), .Machine$double.xmin),
    high = vapply(k, end, "", sign = 1), low = vapply(k, end, "", sign = -1)
  )
}

#' @export
print.bmf_summary <- function(x, ...) {
  NextMethod()
  factors <- attr(x, "factors")
  if (is.null(factors) || !"variable" %in% names(x)) {
    return(invisible(x))
  }
  writeLines(c("", "Factors, by the variance they account for:"))
  print_factors(factors)
  invisible(x)
}

print_factors <- function(factors, n = 10L) {
  rows <- utils::head(seq_len(nrow(factors)), n)
  shown <- data.frame(
    variance = show_significant(factors$variance[rows], 3),
    share = paste0(round(100 * factors$share[rows]), "%"),
    high = substr(factors$high[rows], 1, 24),
    low = substr(factors$low[rows], 1, 24)
  )
  print_table(as.character(factors$factor[rows]), shown)
  if (nrow(factors) > n) {
    writeLines(sprintf("... %d more", nrow(factors) - n))
  }
}

#' @export
as.data.frame.bmf_summary <- function(x, ...) {
  attr(x, "factors") <- NULL
  as.data.frame.gibbsite_summary(x)
}

# ---- search for a mode -------------------------------------------------------

#' A mode of a matrix factorisation
#'
#' What `gibbs_bmf(method = "icm")` returns: factors of high posterior density,
#' found by setting each user, each item and each parameter of the prior to its
#' conditional mode in turn (alternating least squares with the model's own
#' penalties). It is a point and no posterior: predictions come without the
#' uncertainty of the factors, and intervals from them are too short. With
#' parameters of the prior unknown the joint density of factors and variances
#' may be highest where a variance is small and factors shrink; the posterior
#' mean of predictions, from `method = "gibbs"`, is not drawn there.
#'
#' @param object,fit An object of class `bmf_map`.
#' @param newdata `NULL` for the ratings of the search, or a data frame as in
#'   [predict.gibbs_bmf()]; new users and items get the mean of their prior.
#' @param type `"mean"`, or `"interval"` for the normal distribution about it
#'   with variance \eqn{1/\beta}{1/beta}.
#' @param level Number between 0 and 1, default 0.9 (`held_out()`: several).
#' @param of As in [factors_of()].
#' @param ... Not used.
#' @return The object is a list, see [gibbsite_map]: its element `estimate` has
#'   `u` (`D x N`), `v` (`D x M`), `beta` and, as the prior has them,
#'   `lambda_u`, `lambda_v` or `mu_u`, `precision_u`, `mu_v`, `precision_v`.
#'   `predict()`: a vector of means, or a data frame with `mean`, `sd`, `lower`
#'   and `upper`. `fitted()`, `residuals()`, [held_out()] and [factors_of()]
#'   work too.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' top <- gibbs_bmf(made, rank = 2, method = "icm", seed = 1)
#' top
#' predict(top, made[1:3, ])
#' @name bmf_map
NULL

#' @export
print.bmf_map <- function(x, ...) {
  NextMethod()
  model <- x$model
  error <- if (!is.null(model$data)) {
    paste0("; root mean square error in the data ",
           format(sqrt(mean(stats::residuals(x)^2)), digits = 4))
  }
  writeLines(c(
    paste0("Standard deviation of a rating ",
           format(1 / sqrt(x$estimate$beta), digits = 4), error, "."),
    "", "Factors, by the variance they account for:"
  ))
  print_factors(factor_table(model, map_factors(x)), 5L)
  writeLines(c("", "Next: predict(map, pairs), held_out(map, ratings)"))
  invisible(x)
}

# The mode in canonical form, scaled as canonical_factors() does.
map_factors <- function(map) {
  model <- map$model
  k <- seq_len(model$rank)
  u <- map$estimate$u
  v <- map$estimate$v
  form <- canonical_form(u[k, , drop = FALSE], v[k, , drop = FALSE])
  scale <- sqrt(form$d / model$n)
  scale[scale == 0] <- 1
  right <- scale * (form$right %*% v[k, , drop = FALSE])
  sign <- ifelse(rowSums(right^3) < 0, -1, 1)
  u[k, ] <- sign / scale * (form$left %*% u[k, , drop = FALSE])
  v[k, ] <- sign * right
  list(
    d = matrix(form$d, 1L), users = list(mean = u), items = list(mean = v)
  )
}

#' @rdname bmf_map
#' @export
factors_of.bmf_map <- function(fit, of = c("items", "users")) {
  of <- check_choice(of, c("items", "users"))
  factor_frame(fit$model, map_factors(fit)[[of]], of)
}

#' @rdname bmf_map
#' @export
predict.bmf_map <- function(object, newdata = NULL,
                            type = c("mean", "interval"), level = 0.9, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("mean", "interval"))
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  model <- object$model
  pairs <- bmf_pairs(model, newdata, call)
  side <- function(x, unseen, codes) {
    all <- cbind(x, unseen %||% 0)
    all[, ifelse(is.na(codes), ncol(all), codes), drop = FALSE]
  }
  mean <- model$center + inner(
    model, side(object$estimate$u, object$estimate$mu_u, pairs$user),
    side(object$estimate$v, object$estimate$mu_v, pairs$item)
  )
  if (type == "mean") {
    return(mean)
  }
  sd <- 1 / sqrt(object$estimate$beta)
  half <- stats::qnorm((1 + level) / 2) * sd
  pair_frame(
    model, pairs, mean = mean, sd = sd, lower = mean - half,
    upper = mean + half, unknown = pairs$unknown
  )
}

#' @rdname bmf_map
#' @export
fitted.bmf_map <- function(object, ...) {
  check_no_more(...)
  predict(object)
}

#' @rdname bmf_map
#' @export
residuals.bmf_map <- function(object, ...) {
  check_no_more(...)
  object$model$data$value - predict(object)
}

#' @rdname bmf_map
#' @export
held_out.bmf_map <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95)) {
  call <- rlang::current_env()
  level <- check_levels(level)
  model <- fit$model
  pairs <- if (is.null(newdata)) {
    value <- model$pairs$value
    if (is.null(value)) {
      abort_argument(
        "{.arg newdata} is needed: no ratings were held back by
         {.arg predict_at}."
      )
    }
    rows <- which(!is.na(value))
    at <- lapply(model$pairs, `[`, rows)
    c(at[c("user", "item", "value")], list(ids = list(
      user = model$users[at$user], item = model$items[at$item]
    )))
  } else {
    bmf_pairs(model, newdata, call)
  }
  check_values(pairs, model, call)
  predicted <- predict(fit, stats::setNames(
    data.frame(pairs$ids$user, pairs$ids$item), model$names[1:2]
  ), type = "interval")
  held_out_row(
    pairs$value, predicted$mean,
    stats::dnorm(pairs$value, predicted$mean, predicted$sd, log = TRUE),
    stats::pnorm(pairs$value, predicted$mean, predicted$sd), level
  )
}

# ---- pictures ----------------------------------------------------------------

bmf_plot_types <- c("predicted", "coverage", "rmse")

#' Plot a matrix factorisation
#'
#' - `"predicted"`: posterior means against the ratings; for ratings with few
#'   different values a box for each of them.
#' - `"coverage"`: the share of ratings inside their central predictive
#'   intervals against the intervals' probability. Points on the line are what
#'   is promised.
#' - `"rmse"`: by sweep, for each chain the root mean square error of its single
#'   draws in the data; where ratings were held back, also that of the mean over
#'   all kept draws so far, of all chains, in these.
#'
#' The first two are drawn for the ratings held back where `predict_at` had some
#' (or for `newdata`), otherwise for the ratings in the data, where a model
#' looks better than it is.
#'
#' @param x A fit made by [gibbs_bmf()].
#' @param type Any of `"predicted"`, `"coverage"` and `"rmse"` (default: all),
#'   or types of [plot.gibbsite_fit()], such as `"trace"`.
#' @param newdata `NULL`, or a data frame of pairs with ratings.
#' @param variables For types of [plot.gibbsite_fit()]: which.
#' @param ... Not used.
#' @return `x`, invisibly. The graphical parameters are put back.
#' @section Errors: `gibbsite_error_argument` for an unknown type, and where
#'   there are no ratings to compare with.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' back <- sample(nrow(made), 50)
#' fit <- gibbs_bmf(made[-back, ], rank = 2, predict_at = made[back, ],
#'   draws = 200, burnin = 200, chains = 2, seed = 1
#' )
#' plot(fit)
#' plot(fit, type = "trace", variables = c("beta", "log_joint"))
#' @export
plot.gibbs_bmf <- function(x, type = NULL, newdata = NULL, variables = NULL,
                           ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- type %||% bmf_plot_types
  type <- vapply(as.list(type), function(one) {
    check_choice(one, c(bmf_plot_types, plot_types), arg = "type", call = call)
  }, "")
  if (any(type %in% plot_types)) {
    if (!all(type %in% plot_types)) {
      abort_argument(
        "{.arg type} must be some of {.val {bmf_plot_types}}, or some of
         {.val {plot_types}}, not both."
      )
    }
    plot.gibbsite_fit(x, type, variables)
    return(invisible(x))
  }
  shown <- plotted_ratings(x, newdata, type, call)
  old <- graphics::par(
    mfrow = c(1L, length(type)), mar = c(4.1, 4.1, 3, 1.1), las = 1,
    mgp = c(2.6, 0.7, 0), bty = "l", cex = 0.85
  )
  on.exit(graphics::par(old))
  for (one in type) {
    switch(one,
      predicted = plot_predicted(shown),
      coverage = plot_coverage(shown),
      rmse = plot_rmse(x, shown)
    )
  }
  invisible(x)
}

# The ratings compared with: list(value, mean, below, title, pairs, kept).
plotted_ratings <- function(fit, newdata, type, call) {
  model <- fit_part(fit, "model")
  held <- !is.null(newdata) || !all(is.na(model$pairs$value %||% NA))
  if (!held && is.null(model$data)) {
    if (identical(unique(type), "rmse")) {
      return(list(held = FALSE))
    }
    abort_argument(
      c(
        "There are no ratings to compare with: the fit does not hold its data.",
        i = "Give them as {.arg newdata}."
      ),
      call = call
    )
  }
  pairs <- if (held) {
    held_out_pairs(fit, newdata, call)
  } else {
    spread_pairs(bmf_pairs(model, NULL, call), 20000)
  }
  kept <- kept_factors(fit, call = call)
  list(
    held = held, kept = kept, pairs = pairs, value = pairs$value,
    mean = pair_moments(kept, pairs)$mean,
    below = score_pairs(kept, pairs)[, 2L],
    where = if (held) "held back" else "in the data"
  )
}

# At most `most` pairs, spread evenly: more cannot be seen.
spread_pairs <- function(pairs, most) {
  n <- length(pairs$user)
  rows <- unique(round(seq(1, n, length.out = min(n, most))))
  pairs$ids <- lapply(pairs$ids, `[`, rows)
  pairs[c("user", "item", "value", "unknown")] <- lapply(
    pairs[c("user", "item", "value", "unknown")], function(x) x[rows]
  )
  pairs
}

# Name above, what it is judged by below: panels may be narrow.
plot_title <- function(above, below = "") {
  graphics::mtext(above, adj = 0, line = 1.2, font = 2, cex = 0.8)
  graphics::mtext(below, adj = 0, line = 0.3, cex = 0.7, col = "grey35")
}

plot_predicted <- function(shown) {
  blue <- gibbsite_palette(1)
  levels <- sort(unique(shown$value))
  if (length(levels) <= 12) {
    step <- if (length(levels) > 1) min(diff(levels)) else 1
    graphics::plot(
      range(levels) + c(-0.6, 0.6) * step, range(shown$mean, levels),
      type = "n", xlab = "rating", ylab = "posterior mean", xaxt = "n"
    )
    graphics::axis(1, levels)
    graphics::abline(0, 1, lty = 2, col = "grey40")
    graphics::boxplot(
      split(shown$mean, shown$value), at = levels, add = TRUE, axes = FALSE,
      boxwex = 0.6 * step, outline = FALSE, lty = 1, staplewex = 0,
      col = grDevices::adjustcolor(blue, 0.35), border = blue
    )
  } else {
    some <- unique(round(seq(
      1, length(shown$value), length.out = min(5000, length(shown$value))
    )))
    graphics::plot(
      shown$value[some], shown$mean[some], pch = 19, cex = 0.35,
      col = grDevices::adjustcolor(blue, 0.4), xlab = "rating",
      ylab = "posterior mean"
    )
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  error <- sqrt(mean((shown$value - shown$mean)^2))
  plot_title(
    paste("Ratings", shown$where), paste("RMSE", format(error, digits = 4))
  )
}

plot_coverage <- function(shown) {
  level <- seq(0.05, 0.95, by = 0.05)
  inside <- vapply(level, function(p) {
    mean(abs(shown$below - 0.5) <= p / 2)
  }, 0)
  graphics::plot(
    level, inside, type = "n", xlim = 0:1, ylim = 0:1, xaxs = "i", yaxs = "i",
    xlab = "probability of the interval", ylab = "share of ratings inside"
  )
  error <- 2 * sqrt(level * (1 - level) / length(shown$value))
  graphics::polygon(
    c(level, rev(level)), c(level - error, rev(level + error)), border = NA,
    col = "grey88"
  )
  graphics::abline(0, 1, lty = 2, col = "grey40")
  graphics::points(
    level, inside, pch = 19, cex = 0.8, col = gibbsite_palette(1), xpd = NA
  )
  plot_title(
    paste("Intervals,", shown$where),
    sprintf(
      "%.0f%% inside 90%% intervals",
      100 * mean(abs(shown$below - 0.5) <= 0.45)
    )
  )
}

plot_rmse <- function(fit, shown) {
  running <- fit_part(fit, "running")
  rmse <- draws_of(fit, "rmse")
  rows <- unique(round(seq(1, nrow(rmse), length.out = min(5000, nrow(rmse)))))
  sweeps <- as.numeric(running$burnin) + rows * as.numeric(running$thin)
  curve <- if (shown$held) running_error(fit, shown)
  graphics::plot(
    range(sweeps), range(rmse, curve$error), type = "n", xlab = "sweep",
    ylab = "root mean square error"
  )
  colours <- grDevices::adjustcolor(gibbsite_palette(ncol(rmse)), 0.6)
  graphics::matlines(
    sweeps, rmse[rows, , drop = FALSE], lty = 1, lwd = 0.6, col = colours
  )
  if (shown$held) {
    graphics::lines(curve$sweep, curve$error, lwd = 2.5)
    graphics::legend(
      "right", c("held back, mean so far", "in the data, each draw"),
      lwd = c(2.5, 1), col = c("black", colours[[1]]), bty = "n", cex = 0.85
    )
  }
  plot_title(
    "Error by sweep", if (shown$held) "" else "in the data, each draw"
  )
}

# Error in the ratings held back of the mean over the kept draws so far, all
# chains together.
running_error <- function(fit, shown) {
  running <- fit_part(fit, "running")
  kept <- shown$kept
  linear <- new_pair_moments(kept, spread_pairs(shown$pairs, 5000))$mean
  value <- spread_pairs(shown$pairs, 5000)$value
  numbers <- bmf_kept(kept$model, kept$states[[1]])[kept$which[[1]]]
  of_chain <- lapply(seq_along(kept$states), function(k) {
    linear[kept$chain == k, , drop = FALSE]
  })
  rows <- min(vapply(of_chain, nrow, 0L))
  total <- 0
  error <- numeric(rows)
  for (s in seq_len(rows)) {
    total <- total +
      Reduce(`+`, lapply(of_chain, function(m) m[s, ]))
    error[[s]] <- sqrt(mean((value - total / (s * length(of_chain)))^2))
  }
  list(
    error = error, sweep = as.numeric(running$burnin) +
      numbers[seq_len(rows)] * as.numeric(running$thin)
  )
}
