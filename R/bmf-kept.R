# What predictions of ratings are made of: the kept draws of the factors, pairs
# of users and items, and the distribution of a rating given a draw.

# ---- the kept draws of the factors -----------------------------------------

# The draws of all factors that the chains of a fit stored, chain after chain:
# list(model, states, which, chain, number, noise, cutpoints). which[[k]] are
# the positions of the draws used in the set of chain k; chain, number (the
# position in its chain's set) and noise (the variance of a rating) have an
# entry for each draw, cutpoints (draws x (K - 1), of ordinal ratings alone) a
# row. After an interrupt chains may have different lengths; then only the draws
# that all chains have are used.
kept_factors <- function(fit, draws = NULL, call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  states <- lapply(fit_part(fit, "chains"), function(chain) chain$state)
  numbers <- lapply(states, bmf_kept)
  common <- Reduce(intersect, numbers)
  running <- fit_part(fit, "running")
  averaged <- stride_in(running) *
    (running$draws - draws_before_averages(fit))
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
        i = if (inherits(fit, "gibbs_bmf")) {
          "Raise it and fit again, or use {.arg predict_at} in the fit."
        } else {
          "Raise it and fit again."
        }
      ),
      call = call, class = "size"
    )
  }
  chain <- rep(seq_along(which), lengths(which))
  rows <- spread_rows(draws, length(chain), call)
  place <- unlist(which)[rows]
  chain <- chain[rows]
  which <- lapply(seq_along(states), function(k) place[chain == k])
  kept <- list(
    model = model, states = states, which = which, chain = chain, number = place
  )
  of_hyper <- function(f) over_draws(kept, f, hyper = TRUE)
  # counts have no noise beside their Poisson distribution
  kept$noise <- unlist(of_hyper(function(draw) 1 / (draw$beta %||% Inf)))
  if (is_ordinal(model)) {
    kept$cutpoints <- do.call(rbind, of_hyper(function(draw) draw$theta))
  }
  kept
}

# f(draw) for each kept draw in turn: a list.
over_draws <- function(kept, f, hyper = FALSE) {
  lapply(seq_along(kept$chain), function(s) f(nth_draw(kept, s, hyper)))
}

# The draw as bmf_kept_draw() gives it (`hyper`: as bmf_kept_hyper()), with its
# number s among all kept draws as `place`.
nth_draw <- function(kept, s, hyper = FALSE) {
  take <- if (hyper) bmf_kept_hyper else bmf_kept_draw
  state <- kept$states[[kept$chain[[s]]]]
  c(take(kept$model, state, kept$number[[s]]), list(place = s))
}

# Moments of every draw, each list(mean, extra), as two matrices with a row for
# each draw.
rows_of_moments <- function(moments) {
  lapply(c(mean = "mean", extra = "extra"), function(part) {
    do.call(rbind, lapply(moments, `[[`, part))
  })
}

# Codes with those of the first user or item for new ids.
known_codes <- function(codes) ifelse(is.na(codes), 1L, codes)

# Linear predictors of known pairs: draws x pairs, or their moments as
# bmf_linear() gives them.
linear_draws <- function(kept, user, item, moments = FALSE) {
  draws <- Map(function(state, which) {
    state$factor_draws[which]
  }, kept$states, kept$which)
  bmf_linear(
    kept$model, unlist(draws, recursive = FALSE), user, item, moments
  )
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
  total <- numeric(ncol(u))
  if (model$biases) {
    total <- u[model$size, ] + v[model$size, ] + total
  }
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
# new_features(). values: whether the ratings are needed.
bmf_pairs <- function(model, newdata, call, given = NULL, values = TRUE) {
  if (is.null(newdata)) {
    check_no_features(given, call)
    if (is.null(model$data)) {
      abort_no_data("newdata", call)
    }
    user <- model$data$user
    item <- model$data$item
    ids <- ids_of_codes(model, user, item)
    value <- model$data$value
  } else {
    ids <- pair_columns(newdata, model, "newdata", call, values)
    user <- match_ids(ids$user, model$users)
    item <- match_ids(ids$item, model$items)
    value <- ids$value
    check_held_values(value, model$response, "newdata", call)
  }
  new <- new_features(model, list(user = user, item = item), ids, given, call)
  if (inherits(model, "bmf_model") && all(vapply(given, is.null, NA))) {
    say_all_unknown(user, ids$user, model$users, "user")
    say_all_unknown(item, ids$item, model$items, "item")
  }
  list(
    user = user, item = item, ids = ids[c("user", "item")], value = value,
    place = new$place, x = new$x, unknown = unknown_words(model, user, item)
  )
}

ids_of_codes <- function(model, user, item) {
  list(user = model$users[user], item = model$items[item])
}

# Ids of which the fit has none are rarely meant.
say_all_unknown <- function(code, ids, known, what) {
  if (length(code) == 0L || !all(is.na(code))) {
    return(invisible())
  }
  given <- quoted(id_words(ids[[1L]]))
  own <- quoted(id_words(known[1L]))
  inform_gibbsite(
    c(i = "The fit has no {what} of {.arg newdata} (such as {given}); its own
           are such as {own}. New {what}s are drawn from their prior."),
    class = "unknown"
  )
}

unknown_words <- function(model, user, item) {
  unrated <- function(code, counts) is.na(code) | counts[code] == 0
  words_of_unknown(
    unrated(user, model$user_counts), unrated(item, model$item_counts)
  )
}

words_of_unknown <- function(no_user, no_item) {
  c("none", "user", "item", "both")[1 + no_user + 2 * no_item]
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

# f(rows) for blocks of pairs, so that a matrix draws x pairs stays at 8 MB.
# The results are bound by rows.
by_blocks <- function(kept, pairs, f) {
  blocks <- row_blocks(length(pairs$user), length(kept$noise), most = 1e6)
  parts <- lapply(blocks, f)
  if (length(parts) == 1) parts[[1]] else do.call(rbind, parts)
}

some_pairs <- function(pairs, rows) {
  each <- intersect(c("user", "item", "value", "unknown"), names(pairs))
  pairs[each] <- lapply(pairs[each], `[`, rows)
  of_sides <- c("ids", "place")
  pairs[of_sides] <- lapply(pairs[of_sides], lapply, `[`, rows)
  pairs
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
  user <- known_codes(pairs$user)
  item <- known_codes(pairs$item)
  mean <- linear_draws(kept, user, item)
  if (!any(new_user | new_item)) {
    return(list(mean = mean, extra = NULL))
  }
  rows <- which(new_user | new_item)
  part <- some_pairs(pairs, rows)
  moments <- rows_of_moments(over_draws(kept, function(draw) {
    one_new_moments(
      model, draw, user[rows], item[rows], new_user[rows], new_item[rows], part
    )
  }))
  extra <- matrix(0, nrow(mean), ncol(mean))
  mean[, rows] <- model$center + moments$mean
  extra[, rows] <- moments$extra
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
  rows_of_moments(over_draws(kept, function(draw) {
    prior_u <- new_factor(model, draw, "u")
    prior_v <- new_factor(model, draw, "v")
    u <- deviations[, draw$place] +
      new_means(draw, "u", prior_u, pairs$x$u, places(pairs, "u", all))
    v <- new_means(draw, "v", prior_v, pairs$x$v, places(pairs, "v", all))
    list(
      mean = model$center + inner(model, u, v),
      extra = squared_length(prior_v$root, design_of(model, u))
    )
  }, hyper = TRUE))
}
