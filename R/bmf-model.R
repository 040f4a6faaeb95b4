# The model behind gibbs_bmf(): the data for C, the state, starting values, the
# stored draws of the factors, and the hooks of the tests.
#
# D = rank + biases numbers a user or item; with biases the last one is the
# intercept.  A model has, besides the fields that R/model.R lists,
#
#   n, m, size, biases   users, items, D, TRUE or FALSE
#   rank, keep, center   the constant that is subtracted from the ratings
#   users, items         ids; names: of the three columns
#   cells                list(user, item): pairs whose means are stored
#   features             list(u, v), those that there are: R/bmf-data.R
#   response             what a rating is: R/bmf-response.R
#
# and its state u, v (D x n, D x m), beta, theta, lambda or mu and precision
# (those of the users, then those of the items), and what bmf_state() lists.
# Over the `kept` draws of a chain at_mean is the mean of the linear predictor
# at `predict_at`, at_m2 the sum of squared deviations from it, and noise the
# mean of 1 / beta.

# ratings: as_ratings(); prior: completed; predict_at: NULL or list(user, item)
# of codes; features: with_features(). The memory for stored draws of factors is
# divided by `chains`.
bmf_model <- function(ratings, rank, prior, center = 0, biases = FALSE,
                      keep = character(), predict_at = NULL, chains = 4,
                      features = list(), response = NULL) {
  n <- length(ratings$users)
  m <- length(ratings$items)
  size <- as.integer(rank + biases)
  cells <- bmf_cells(ratings)
  data <- c(
    list(
      n = n, m = m, size = size, biases = as.integer(biases),
      # a sweep scales users and items against each other in at most 16
      # directions, so that they take little time
      center = as.double(center), directions = as.integer(min(rank, 16L))
    ),
    bmf_compressed(ratings, n, m, center, response),
    list(
      levels = length(response$values),
      scale = as.double(response$values),
      cutpoint_sd = as.double(response$cutpoint_sd %||% 1),
      prior = bmf_prior_data(prior),
      keep_u = as.integer("u" %in% keep), keep_v = as.integer("v" %in% keep),
      cells = from_zero(cells), predict_at = from_zero(predict_at),
      cap = bmf_cap(
        n, m, size, chains, sum(lengths(lapply(features, `[[`, "s")))
      ),
      user = ratings$user, item = ratings$item, value = ratings$value
    )
  )
  new_model(
    "bmf_model",
    name = "gibbs_bmf", title = "Bayesian matrix factorisation",
    headline = bmf_headline(ratings, rank, prior, biases, features, response),
    data = data,
    cures = "Try a smaller rank: see ?gibbs_bmf.",
    prior = prior, nobs = length(ratings$value),
    columns = bmf_columns(prior, n, m, size, cells, keep, features, response),
    n = n, m = m, size = size, biases = biases, rank = as.integer(rank),
    keep = keep, center = as.double(center), users = ratings$users,
    items = ratings$items, names = ratings$names, cells = cells,
    levels = ratings$levels, features = features, response = response
  )
}

# Of ratings and features; V, s and g are functions of the features, and depend
# on the BLAS in their last bits.
#' @exportS3Method
model_hash.bmf_model <- function(model) {
  if (length(model$features) == 0L) {
    return(hash(model$data))
  }
  given <- lapply(model$features, `[`, c("start", "index", "value", "spec"))
  hash(list(model$data, given))
}

# The number of side's features, 0 without.
side_count <- function(model, side) length(model$features[[side]]$s)

# The prior of lambda_B of a side: list(shape, rate), or list(known).
bmf_ridge <- function(prior, side) {
  role <- c(u = "users", v = "items")[[side]]
  if (!is.null(prior$feature_precision)) {
    return(list(known = prior$feature_precision[[role]]))
  }
  list(shape = prior$feature_shape[[role]], rate = prior$feature_rate[[role]])
}

# The data of a model as C reads them, features included.
bmf_data <- function(model) {
  for (side in names(model$features)) {
    ridge <- bmf_ridge(model$prior, side)
    own <- model$features[[side]][c("start", "index", "value", "v", "s", "g")]
    own$shape <- as.double(ridge$shape %||% 0)
    own$rate <- as.double(ridge$rate %||% 0)
    model$data[[c(u = "user_features", v = "item_features")[[side]]]] <- own
  }
  model$data
}

#' @exportS3Method
model_words.bmf_model <- function(model) paste("rank =", model$rank)

# Up to ten rated pairs, spread evenly over the data in order of user and item:
# a function of the pairs alone.
bmf_cells <- function(ratings, most = 10L) {
  by_user <- order(ratings$user, ratings$item)
  by_user <- by_user[!duplicated(
    pair_keys(ratings$user, ratings$item, length(ratings$items))[by_user]
  )]
  count <- min(most, length(by_user))
  at <- by_user[ceiling((seq_len(count) - 0.5) / count * length(by_user))]
  list(user = ratings$user[at], item = ratings$item[at])
}

from_zero <- function(pairs) {
  list(user = as.integer(pairs$user) - 1L, item = as.integer(pairs$item) - 1L)
}

bmf_kinds <- c(fixed = 0L, gamma = 1L, wishart = 2L)

# The prior as C reads it: kind; shapes and rates of lambda_u, lambda_v, beta
# (Normal-Wishart: the last alone; ordinal ratings: none of beta); mu0, kappa0,
# nu0, W0^-1, log |W0|.
bmf_prior_data <- function(prior) {
  kind <- bmf_kinds[[prior$type]]
  noise_shape <- as.double(prior$noise_shape %||% 1)
  noise_rate <- as.double(prior$noise_rate %||% 1)
  if (prior$type == "fixed") {
    return(list(kind = kind))
  }
  if (prior$type == "gamma") {
    shape <- c(prior$user_shape, prior$item_shape, noise_shape)
    rate <- c(prior$user_rate, prior$item_rate, noise_rate)
    return(list(
      kind = kind, shape = as.double(shape), rate = as.double(rate)
    ))
  }
  root <- chol(prior$W0)
  list(
    kind = kind, shape = c(1, 1, noise_shape), rate = c(1, 1, noise_rate),
    mu0 = as.double(prior$mu0), kappa0 = as.double(prior$kappa0),
    nu0 = as.double(prior$nu0), w0_inverse = chol2inv(root),
    w0_log_det = 2 * sum(log(diag(root)))
  )
}

# How many draws of all factors a chain may store, in single precision: 200, or
# as many as the option allows.
bmf_cap <- function(n, m, size, chains, features = 0L, most = 200L) {
  bytes <- (4 * (n + m) + 8 * features) * as.double(size)
  allowed <- gibbsite_option("max_draws_mb") * 2^20 / chains / bytes
  as.integer(min(most, floor(allowed)))
}

bmf_columns <- function(prior, n, m, size, cells, keep, features = list(),
                        response = NULL) {
  ordinal <- !is.null(response$link)
  beta <- if (!ordinal) "beta"
  side <- function(x) paste0(c("trace_", "logdet_", "norm_mu_"), x)
  count <- length(cells$user)
  c(
    if (ordinal) indexed("theta", seq_len(cutpoint_count(response))),
    switch(prior$type,
      gamma = c(beta, "lambda_u", "lambda_v"),
      wishart = c(beta, side("u"), side("v"))
    ),
    if (is.null(prior$feature_precision)) {
      paste0("lambda_b_", names(features), recycle0 = TRUE)
    },
    if (ordinal) "log_lik" else "rmse", "log_joint",
    if (count > 0L) indexed("cell", seq_len(count)),
    if ("u" %in% keep) indexed("u", seq_len(size), seq_len(n)),
    if ("v" %in% keep) indexed("v", seq_len(size), seq_len(m))
  )
}

#' @exportS3Method
model_sweeps.bmf_model <- function(model, state, n, control) {
  if (is_in_shards(model)) {
    return(bmf_sweeps_apart(model, bmf_data(model), state, n, control))
  }
  .Call(C_bmf_sweeps, bmf_data(model), state, n, control, FALSE)
}

# Factors from normal distributions whose products have the ratings' standard
# deviation, times a random factor from 1/2 to 3/2 in each chain; precisions to
# match.
#' @exportS3Method
model_start.bmf_model <- function(model, init) {
  spread <- bmf_spread(model$data)
  width <- sqrt(sqrt(spread / model$rank)) * stats::runif(1L, 0.5, 1.5)
  normals <- function(count) stats::rnorm(model$size * count, sd = width)
  u <- normals(model$n)
  v <- normals(model$m)
  start <- list(u = u, v = v, beta = 1 / spread)
  if (model$data$prior$kind == 2L) {
    start$mu_u <- start$mu_v <- numeric(model$size)
    start$precision_u <- start$precision_v <- diag(1 / width^2, model$size)
  } else {
    start$lambda_u <- start$lambda_v <- 1 / width^2
  }
  for (side in names(model$features)) {
    start[[paste0("coefficients_", side)]] <-
      numeric(model$size * side_count(model, side))
  }
  if (is_ordinal(model)) {
    start$theta <- start_cutpoints(model)
  }
  bmf_state(model, utils::modifyList(start, as.list(init)))
}

# Cutpoints that would give each rating its share, times a random factor.
start_cutpoints <- function(model) {
  k <- model$data$levels
  shares <- tabulate(model$data$users$value, k) + 0.5
  up_to <- cumsum(shares)[-k] / sum(shares)
  stats::runif(1L, 1, 2) * stats::qnorm(up_to)
}

# Mean square of the ratings without the constant; 1 where that is 0, and for
# latent values of ordinal ratings.
bmf_spread <- function(data) {
  if (data$levels > 0) {
    return(1)
  }
  spread <- mean(data$users$value^2)
  if (isTRUE(spread > 0)) spread else 1
}

# A state with these parameters and no kept draws. Parameters that the prior
# fixes have the prior's values.
bmf_state <- function(model, parameters) {
  prior <- model$prior
  if (prior$type == "fixed") {
    parameters$beta <- 1 / prior$noise_variance
    parameters$lambda_u <- parameters$lambda_v <- 1 / prior$factor_variance
  }
  parameters <- with_ridges(model, parameters)
  if (is_ordinal(model)) {
    parameters$beta <- 1
  }
  pairs <- length(model$data$predict_at$user)
  # none of parameters that the prior does not have
  numbers <- function(...) as.double(unlist(parameters[c(...)]))
  of_features <- lapply(
    stats::setNames(nm = bmf_feature_names(model)), numbers
  )
  c(list(
    sweep = 0, u = numbers("u"), v = numbers("v"), beta = numbers("beta"),
    lambda = numbers("lambda_u", "lambda_v"), mu = numbers("mu_u", "mu_v"),
    precision = numbers("precision_u", "precision_v"), theta = numbers("theta"),
    kept = 0, noise = 0, at_mean = numeric(pairs), at_m2 = numeric(pairs),
    factor_draws = list(), hyper_draws = list()
  ), of_features)
}

# The parameters of a model with features: B' (D x p) and lambda_B of a side.
bmf_feature_names <- function(model) {
  as.character(unlist(lapply(names(model$features), function(side) {
    paste0(c("coefficients_", "lambda_b_"), side)
  })))
}

# With the lambda_B that the prior knows, and the mean of the prior for one that
# is not given.
with_ridges <- function(model, parameters) {
  for (side in names(model$features)) {
    name <- paste0("lambda_b_", side)
    ridge <- bmf_ridge(model$prior, side)
    parameters[[name]] <-
      ridge$known %||% parameters[[name]] %||% (ridge$shape / ridge$rate)
  }
  parameters
}

#' @exportS3Method
model_without_averages.bmf_model <- function(model, state, anew = FALSE) {
  state$kept <- state$noise <- 0
  state$at_mean[] <- state$at_m2[] <- 0
  state$factor_draws <- state$hyper_draws <- list()
  state
}

# The parameters of a state in the usual form: u (D x n), v (D x m), beta, and
# lambda_u, lambda_v or mu_u, precision_u, mu_v, precision_v; ordinal: theta.
bmf_parameters <- function(model, state) {
  numbers <- if (length(state$lambda) > 0L) {
    c(state$beta, state$lambda, state$theta)
  } else {
    c(state$beta, state$mu, state$precision,
      unlist(state[bmf_feature_names(model)], use.names = FALSE), state$theta)
  }
  c(
    list(u = matrix(state$u, model$size), v = matrix(state$v, model$size)),
    bmf_hyper(model, numbers)
  )
}

# Hyperparameters by name, from one of a state's hyper_draws.
# NULL: a model without any (counts).
bmf_hyper <- function(model, numbers) {
  if (length(numbers) == 0L) {
    return(NULL)
  }
  d <- model$size
  theta <- if (is_ordinal(model)) {
    list(theta = utils::tail(numbers, cutpoint_count(model$response)))
  }
  if (model$prior$type != "wishart") {
    return(c(
      list(
        beta = numbers[[1L]], lambda_u = numbers[[2L]], lambda_v = numbers[[3L]]
      ),
      theta
    ))
  }
  square <- function(from) matrix(numbers[from + seq_len(d^2)], d, d)
  out <- list(
    beta = numbers[[1L]], mu_u = numbers[1L + seq_len(d)],
    precision_u = square(1L + 2L * d), mu_v = numbers[1L + d + seq_len(d)],
    precision_v = square(1L + 2L * d + d^2)
  )
  from <- bmf_hyper_size(d)
  for (side in names(model$features)) {
    p <- side_count(model, side)
    out[[paste0("coefficients_", side)]] <-
      matrix(numbers[from + seq_len(d * p)], d, p)
    out[[paste0("lambda_b_", side)]] <- numbers[[from + d * p + 1L]]
    from <- from + d * p + 1L
  }
  c(out, theta)
}

# beta, mu and Lambda of both sides.
bmf_hyper_size <- function(d) 1L + 2L * d + 2L * d^2

# The starting values that a user may give, with their shapes.
bmf_init_sizes <- function(model) {
  d <- model$size
  sizes <- c(
    list(u = c(d, model$n), v = c(d, model$m)),
    if (is_ordinal(model)) {
      list(theta = cutpoint_count(model$response))
    } else if (model$prior$type != "fixed") {
      list(beta = 1)
    }
  )
  switch(model$prior$type,
    fixed = sizes,
    gamma = c(sizes, list(lambda_u = 1, lambda_v = 1)),
    wishart = c(sizes, list(
      mu_u = d, mu_v = d, precision_u = c(d, d), precision_v = c(d, d)
    ), bmf_feature_sizes(model))
  )
}

bmf_feature_sizes <- function(model) {
  names <- bmf_feature_names(model)
  if (!is.null(model$prior$feature_precision)) {
    names <- names[startsWith(names, "coefficients")]
  }
  sizes <- lapply(names, function(name) {
    if (startsWith(name, "lambda")) {
      return(1)
    }
    c(model$size, side_count(model, sub("coefficients_", "", name)))
  })
  stats::setNames(sizes, names)
}

#' @exportS3Method
model_check_init.bmf_model <- function(model, init, where, call) {
  sizes <- bmf_init_sizes(model)
  check_init_names(init, names(sizes), where, call)
  for (name in names(init)) {
    arg <- paste0(where, "$", name)
    check_init_shape(init[[name]], sizes[[name]], arg, call)
    if (name == "beta" || startsWith(name, "lambda")) {
      abort_elements(init[[name]] <= 0, init[[name]], arg, "positive", call)
    }
    if (name == "theta" && is.unsorted(init[[name]], strictly = TRUE)) {
      abort_argument("{.arg {arg}} must be in increasing order.", call = call)
    }
    if (startsWith(name, "precision")) {
      check_spd_matrix(init[[name]], model$size, arg = arg, call = call)
    }
  }
  init
}

#' @exportS3Method
model_init_from_state.bmf_model <- function(model, state) {
  bmf_parameters(model, state)[names(bmf_init_sizes(model))]
}

# Predictions, the precision of the ratings (distances of cutpoints next to each
# other) and the log joint density. The data
# determine only products of the factors' precisions: u and v may be scaled
# against each other.
#' @exportS3Method
model_invariants.bmf_model <- function(model, draws) {
  draws <- unclass(draws)
  judged <- in_blocks(
    colnames(draws), c("beta", "rmse", "log_lik", "log_joint", "cell")
  )
  cbind(cutpoint_gaps(model, draws), draws[, judged, drop = FALSE])
}

# Predictions are the answers. Their error hardly depends on how many factors
# are in use; the precision of the ratings does.
#' @exportS3Method
model_inner.bmf_model <- function(model) {
  c("beta", "rmse", "log_lik", "log_joint")
}

# A constant may be added to all latent values and cutpoints, and the data do
# not determine it.
cutpoint_gaps <- function(model, draws) {
  count <- cutpoint_count(model$response)
  if (count < 2L) {
    return(NULL)
  }
  theta <- draws[, indexed("theta", seq_len(count)), drop = FALSE]
  gaps <- theta[, -1L, drop = FALSE] - theta[, -count, drop = FALSE]
  colnames(gaps) <- paste0("gap[", seq_len(count - 1L), "]")
  gaps
}

# Coordinates rotate from draw to draw; all other columns are meaningful without
# relabelling.
#' @exportS3Method
model_labelled.bmf_model <- function(model, invariants) {
  in_blocks(model$columns, c("u", "v"))
}

bmf_headline <- function(ratings, rank, prior, biases, features = list(),
                         response = NULL) {
  kind <- switch(prior$type,
    fixed = "fixed", gamma = "Gamma", wishart = "Normal-Wishart"
  )
  paste0(
    "Matrix factorisation of rank ", rank, ", ", kind, " prior",
    if (biases) ", with intercepts",
    if (!is.null(response$link)) paste0(", ", response$link, " link"), "; ",
    counted_in_digits(length(ratings$value), "rating"), " of ",
    counted_in_digits(length(ratings$items), "item"), " by ",
    counted_in_digits(length(ratings$users), "user"),
    if (length(features) > 0L) "; ",
    and_words(vapply(names(features), function(side) {
      p <- length(features[[side]]$s)
      paste(counted_in_digits(p, "feature"), "of the",
            c(u = "users", v = "items")[[side]])
    }, ""))
  )
}

#' @exportS3Method
model_labels.bmf_model <- function(model) {
  fixed <- c(
    beta = "precision of a rating", lambda_u = "precision of the users",
    lambda_v = "precision of the items",
    trace_u = "trace of the users' precision matrix",
    trace_v = "trace of the items' precision matrix",
    logdet_u = "log determinant of the users' precision matrix",
    logdet_v = "log determinant of the items' precision matrix",
    norm_mu_u = "length of the users' mean",
    norm_mu_v = "length of the items' mean",
    lambda_b_u = "precision of the coefficients of the users' features",
    lambda_b_v = "precision of the coefficients of the items' features",
    rmse = "root mean square error in the data",
    log_lik = "log likelihood",
    log_joint = "log joint density"
  )
  users <- id_words(model$users)
  items <- id_words(model$items)
  coordinate <- function(at) {
    if (at[1L] > model$rank) "intercept" else paste("factor", at[1L])
  }
  label_columns(model$columns, function(block, at) {
    switch(block,
      theta = paste("cutpoint above", quoted(model$response$labels[at])),
      cell = paste0(
        "mean rating of item ", items[model$cells$item[at]],
        " by user ", users[model$cells$user[at]]
      ),
      u = paste0(coordinate(at), " of user ", users[at[2L]]),
      v = paste0(coordinate(at), " of item ", items[at[2L]]),
      if (block %in% names(fixed)) fixed[[block]] else block
    )
  })
}

# ---- Draws of the factors for prediction ------------------------------------

# The set of stored draws of a chain is every 2^j-th draw, where j is the
# smallest number for which the set has at most `cap` draws. A draw is stored in
# single precision as bytes, u then v; its hyperparameters are stored
# separately.

# The numbers of these draws.
bmf_kept <- function(state) {
  count <- length(state$factor_draws)
  if (count == 0L) {
    return(integer())
  }
  # at most `cap` of them: more than cap / 2, or all draws
  every <- 2^floor(log2(state$kept / count) + 1e-9)
  every * seq_len(count)
}

# The j-th of them: list(u, v, beta, ...).
bmf_kept_draw <- function(model, state, j) {
  d <- model$size
  x <- readBin(
    state$factor_draws[[j]], "double", (model$n + model$m) * d, size = 4L
  )
  users <- seq_len(model$n * d)
  c(
    list(u = matrix(x[users], d), v = matrix(x[-users], d)),
    bmf_kept_hyper(model, state, j)
  )
}

bmf_kept_hyper <- function(model, state, j) {
  bmf_hyper(model, state$hyper_draws[[j]])
}

bmf_sizes <- function(model, n = model$n) {
  list(
    n = as.integer(n), m = as.integer(model$m), size = model$size,
    biases = as.integer(model$biases)
  )
}

# Linear predictors of pairs of codes, of the factors in `draws`, a list: draws
# x pairs. moments: list(mean, m2), their mean over the draws and their sum of
# squared deviations from it.
bmf_linear <- function(model, draws, user, item, moments = FALSE) {
  .Call(
    C_bmf_linear, bmf_sizes(model), draws, as.integer(user),
    as.integer(item), as.double(model$center), moments
  )
}

# One draw of the factors of new users (D x n) given draw j of the set: its
# items, beta and the users' hyperparameters.  ratings: list(n, user, item,
# value), codes of new users 1..n and of the fit's items; features: NULL, or
# those of the new users (p x n).
bmf_fold_in <- function(model, state, j, ratings, features = NULL,
                        v = bmf_kept_draw(model, state, j)$v) {
  ratings$users <- seq_len(ratings$n)
  by_user <- bmf_compressed(ratings, ratings$n, model$m, model$center)$users
  shift <- if (!is.null(features)) {
    given <- bmf_kept_hyper(model, state, j)
    given$precision_u %*% feature_means(given, "u", features)
  }
  .Call(
    C_bmf_fold_in, bmf_sizes(model, ratings$n), by_user,
    list(kind = bmf_kinds[[model$prior$type]]),
    utils::head(state$hyper_draws[[j]], bmf_hyper_size(model$size)),
    as.vector(v), shift
  )
}

# B'f of rows with these features (p x rows), D x rows.
feature_means <- function(parameters, side, features) {
  b <- t(parameters[[paste0("coefficients_", side)]])
  # by its name: this loads Matrix
  unname(t(as.matrix(Matrix::crossprod(features, b))))
}

# ---- Search for a mode ------------------------------------------------------

#' @exportS3Method
model_climb.bmf_model <- function(model, state, threads) {
  model$data$cap <- 0L
  control <- list(burnin = 0, thin = 1, threads = threads)
  step <- interrupt_or(
    .Call(C_bmf_sweeps, bmf_data(model), state, 1, control, TRUE)
  )
  list(
    state = step$state,
    log_joint = step$draws[[match("log_joint", model$columns)]]
  )
}

#' @exportS3Method
model_estimate.bmf_model <- function(model, state) {
  bmf_parameters(model, state)
}

# ---- The joint distribution -------------------------------------------------

#' @exportS3Method
draw_prior.bmf_model <- function(model) {
  prior <- model$prior
  d <- model$size
  p <- switch(prior$type,
    fixed = list(
      beta = 1 / prior$noise_variance, lambda_u = 1 / prior$factor_variance,
      lambda_v = 1 / prior$factor_variance
    ),
    gamma = list(
      beta = draw_noise(model),
      lambda_u = stats::rgamma(1L, prior$user_shape, prior$user_rate),
      lambda_v = stats::rgamma(1L, prior$item_shape, prior$item_rate)
    ),
    wishart = c(
      list(beta = draw_noise(model)),
      draw_normal_wishart(prior, d, "u"), draw_normal_wishart(prior, d, "v")
    )
  )
  for (side in names(model$features)) {
    p <- c(p, draw_coefficients(model, p, side))
  }
  factors <- function(count, side) {
    normals <- matrix(stats::rnorm(d * count), d, count)
    if (prior$type != "wishart") {
      return(normals / sqrt(p[[paste0("lambda_", side)]]))
    }
    root <- chol(p[[paste0("precision_", side)]])
    own <- p[[paste0("mu_", side)]] + backsolve(root, normals)
    features <- model$features[[side]]$x
    if (is.null(features)) own else own + feature_means(p, side, features)
  }
  if (is_ordinal(model)) {
    response <- model$response
    p$theta <- sort(
      stats::rnorm(cutpoint_count(response), 0, response$cutpoint_sd)
    )
  }
  p$u <- factors(model$n, "u")
  p$v <- factors(model$m, "v")
  bmf_state(model, p)
}

draw_noise <- function(model) {
  if (is_ordinal(model)) {
    return(1)
  }
  stats::rgamma(1L, model$prior$noise_shape, model$prior$noise_rate)
}

# Lambda ~ W(nu0, W0), mu | Lambda ~ N(mu0, (kappa0 Lambda)^-1)
draw_normal_wishart <- function(prior, d, side) {
  precision <- matrix(stats::rWishart(1L, prior$nu0, prior$W0), d, d)
  root <- chol(prior$kappa0 * precision)
  mu <- prior$mu0 + drop(backsolve(root, stats::rnorm(d)))
  stats::setNames(
    list(mu, precision), paste0(c("mu_", "precision_"), side)
  )
}

# lambda_B ~ Gamma(shape, rate), b_k ~ N(0, (lambda_B Lambda)^-1)
draw_coefficients <- function(model, p, side) {
  ridge <- bmf_ridge(model$prior, side)
  lambda <- ridge$known %||% stats::rgamma(1L, ridge$shape, ridge$rate)
  root <- chol(lambda * p[[paste0("precision_", side)]])
  count <- side_count(model, side)
  normals <- matrix(stats::rnorm(model$size * count), model$size)
  stats::setNames(
    list(backsolve(root, normals), lambda),
    paste0(c("coefficients_", "lambda_b_"), side)
  )
}

# Ratings of the model's pairs, in the order of the data.
#' @exportS3Method
simulate_data.bmf_model <- function(model, state) {
  p <- bmf_parameters(model, state)
  data <- model$data
  mean <- bmf_predictor(model, p, data$user, data$item)
  if (is_ordinal(model)) {
    latent <- mean + stats::rnorm(length(mean))
    return(model$response$values[1L + findInterval(latent, p$theta)])
  }
  model$center + mean + stats::rnorm(length(mean)) / sqrt(p$beta)
}

# u'v, with biases w'x + a + b, of pairs of codes.
bmf_predictor <- function(model, parameters, user, item) {
  u <- parameters$u[, user, drop = FALSE]
  v <- parameters$v[, item, drop = FALSE]
  if (!model$biases) {
    return(colSums(u * v))
  }
  d <- model$size
  colSums((u * v)[-d, , drop = FALSE]) + u[d, ] + v[d, ]
}

# The model with other values of its ratings and the same constant, or with
# ratings in the form in which a user gives them.
#' @exportS3Method
set_data.bmf_model <- function(model, data, call = rlang::caller_env()) {
  values <- is.numeric(data) && is.null(dim(data)) &&
    length(data) == length(model$data$value)
  if (!values) {
    return(bmf_with_ratings(model, data, call))
  }
  # the workers of a cluster hold other values
  model$corpus <- NULL
  model$data$value <- as.double(data)
  ratings <- model$data[c("user", "item", "value")]
  compressed <- bmf_compressed(
    ratings, model$n, model$m, model$center, model$response
  )
  model$data[names(compressed)] <- compressed
  model$data_hash <- model_hash(model)
  model
}

# The model with the ratings that a user supplies again (extend(data = ),
# resume(data = )).
bmf_with_ratings <- function(model, data, call) {
  ratings <- ratings_again(model, data, call)
  model$data <- bmf_model_of(model, ratings, model$keep, model$pairs)$data
  model$data_hash <- model_hash(model)
  model
}

# The same model of other ratings of its users and items.
bmf_model_of <- function(model, ratings, keep, pairs) {
  out <- bmf_model(
    ratings, model$rank, model$prior, model$center, model$biases, keep, pairs,
    features = model$features, response = model$response
  )
  out$data$cap <- model$cap
  out
}

# Ratings as a data frame of users, items and values.
#' @exportS3Method
shown_data.bmf_model <- function(model, data) {
  data.frame(
    user = model$users[model$data$user], item = model$items[model$data$item],
    value = if (is.null(model$response$range)) {
      data
    } else {
      clip(data, model$response$range)
    }
  )
}

# The hyperparameters that have a meaning without the coordinates of the
# factors, the predictors of the first and the last rating, and the likelihood.
#' @exportS3Method
model_quantities.bmf_model <- function(model, state) {
  p <- bmf_parameters(model, state)
  data <- model$data
  eta <- bmf_predictor(model, p, data$user, data$item)
  log_det <- function(precision) {
    if (!is.null(precision)) as.numeric(determinant(precision)$modulus)
  }
  log_lik <- if (is_ordinal(model)) {
    bounds <- c(-Inf, p$theta, Inf)
    code <- match(data$value, model$response$values)
    log_between(bounds[code] - eta, bounds[code + 1L] - eta)
  } else {
    stats::dnorm(data$value - model$center, eta, 1 / sqrt(p$beta), log = TRUE)
  }
  c(
    sigma = if (!is_ordinal(model)) 1 / sqrt(p$beta), theta = p$theta,
    lambda_u = p$lambda_u, lambda_v = p$lambda_v,
    log_det_u = log_det(p$precision_u), log_det_v = log_det(p$precision_v),
    first = eta[[1L]], last = eta[[length(eta)]], mean_square = mean(eta^2),
    log_lik = sum(log_lik)
  )
}

# Means and sizes of the factors in their own coordinates.
#' @exportS3Method
further_quantities.bmf_model <- function(model, state) {
  p <- bmf_parameters(model, state)
  c(
    mu_u = p$mu_u, mu_v = p$mu_v, u = rowMeans(p$u), v = rowMeans(p$v),
    size_u = mean(p$u^2), size_v = mean(p$v^2)
  )
}

#' @exportS3Method
model_hints.bmf_model <- function(model) {
  utils::modifyList(NextMethod(), list(
    comparison = sizes_hint,
    coefficients =
      "{.fn factors_of} has its factors, {.fn predict} its ratings."
  ))
}
