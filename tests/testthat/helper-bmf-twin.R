# A slow twin of the sampler behind gibbs_bmf(), written from the formulas on
# its page.  It takes the same random numbers in the same order as the core: the
# key of the normals of all users, that of all items; of the moves of both sides
# that do not change the likelihood those in twin_scales(); of the users' and of
# the items' hyperparameters the gamma, or the chi-squares and normals of the
# precision column by column, then the normals of the mean, with features those
# of their coefficients in the coordinates of F V, and the gamma of lambda_B;
# the gamma of beta.
#
# A twin's state is bmf_parameters(): u (D x n), v (D x m), beta, and lambda_u,
# lambda_v or mu_u, precision_u, mu_v, precision_v.

twin_bmf <- function(model, state) gibbsite:::bmf_parameters(model, state)

bmf_state_of_twin <- function(model, twin, state) {
  fresh <- gibbsite:::bmf_state(model, twin)
  for (name in c("u", "v", "beta", "lambda", "mu", "precision", "theta",
                 gibbsite:::bmf_feature_names(model))) {
    state[[name]] <- fresh[[name]]
  }
  state$sweep <- state$sweep + 1
  state
}

other_side <- c(u = "v", v = "u")
hyper <- function(twin, name, side) twin[[paste0(name, "_", side)]]

# ---- the blocks of a sweep ---------------------------------------------------

# list(x, y): design vectors (one a row) and responses of row i of a side: with
# biases the other side's intercept is subtracted from the response, and the
# last coordinate is 1.
regression_of <- function(model, twin, side, i) {
  data <- model$data
  own <- if (side == "u") data$user else data$item
  other <- if (side == "u") data$item else data$user
  at <- which(own == i)
  x <- t(twin[[other_side[[side]]]][, other[at], drop = FALSE])
  y <- data$value[at] - model$center
  if (model$biases) {
    y <- y - x[, model$size]
    x[, model$size] <- 1
  }
  list(x = x, y = y)
}

# Prior mean and precision of the rows of a side.
row_prior <- function(model, twin, side) {
  d <- model$size
  if (is_type(model, "wishart")) {
    return(list(
      mean = hyper(twin, "mu", side), precision = hyper(twin, "precision", side)
    ))
  }
  list(mean = numeric(d), precision = diag(hyper(twin, "lambda", side), d))
}

# F of a side, rows x p; NULL without features.
twin_features <- function(model, side) {
  x <- model$features[[side]]$x
  if (!is.null(x)) t(as.matrix(x))
}

# Prior means of all rows, D x rows: mu + B'f_i.
row_means <- function(model, twin, side) {
  prior <- row_prior(model, twin, side)
  means <- matrix(prior$mean, model$size, ncol(twin[[side]]))
  f <- twin_features(model, side)
  if (is.null(f)) {
    return(means)
  }
  means + tcrossprod(hyper(twin, "coefficients", side), f)
}

# x_i | . ~ N(Q^-1 b, Q^-1), Q = Lambda + beta sum x x', b = Lambda mu + beta
# sum y x: list(mean, precision)
row_conditional <- function(model, twin, side, i,
                            mean = row_means(model, twin, side)[, i]) {
  prior <- row_prior(model, twin, side)
  r <- regression_of(model, twin, side, i)
  q <- prior$precision + twin$beta * crossprod(r$x)
  b <- prior$precision %*% mean + twin$beta * crossprod(r$x, r$y)
  list(mean = drop(solve(q, b)), precision = q, linear = b)
}

twin_rows <- function(model, twin, side, given = twin, means = row_means) {
  rows <- ncol(twin[[side]])
  mean <- means(model, given, side)
  normals <- matrix(
    philox_normals(twin_key(), model$size * rows), model$size
  )
  for (i in seq_len(rows)) {
    conditional <- row_conditional(model, given, side, i, mean[, i])
    upper <- chol(conditional$precision)
    white <- backsolve(upper, conditional$linear, transpose = TRUE)
    twin[[side]][, i] <- backsolve(upper, white + normals[, i])
  }
  twin
}

is_type <- function(model, type) model$prior$type == type

# lambda_u | u ~ Gamma(a + n D / 2, b + sum u^2 / 2); `alter` makes wrong
# samplers: it changes shape and rate.
twin_lambda <- function(model, twin, side, alter = identity) {
  if (is_type(model, "fixed")) {
    return(twin)
  }
  fields <- paste0(c(u = "user", v = "item")[[side]], c("_shape", "_rate"))
  x <- twin[[side]]
  gamma <- alter(list(
    shape = model$prior[[fields[1]]] + length(x) / 2,
    rate = model$prior[[fields[2]]] + sum(x^2) / 2
  ))
  twin[[paste0("lambda_", side)]] <- rgamma(1, gamma$shape, gamma$rate)
  twin
}

# The Normal-Wishart of a side: list(mean, kappa, df, inverse), inverse = W*^-1.
wishart_conditional <- function(model, twin, side) {
  prior <- model$prior
  x <- twin[[side]]
  n <- ncol(x)
  centre <- rowMeans(x)
  deviation <- centre - prior$mu0
  list(
    mean = (prior$kappa0 * prior$mu0 + n * centre) / (prior$kappa0 + n),
    kappa = prior$kappa0 + n, df = prior$nu0 + n,
    inverse = solve(prior$W0) + tcrossprod(x - centre) +
      prior$kappa0 * n / (prior$kappa0 + n) * tcrossprod(deviation)
  )
}

# A lower triangular, a_jj^2 ~ chi-square(df - j + 1), normals below, column by
# column: A A' ~ W(df, I)
bartlett <- function(df, d) {
  a <- matrix(0, d, d)
  for (j in seq_len(d)) {
    a[j, j] <- sqrt(rchisq(1, df - j + 1))
    a[seq_len(d) > j, j] <- rnorm(d - j)
  }
  a
}

# With W*^-1 = U'U, U upper: Lambda = U^-1 A A' U^-T, and U' A^-T e has the
# covariance Lambda^-1.
twin_wishart <- function(model, twin, side, alter = identity) {
  conditional <- alter(wishart_conditional(model, twin, side))
  upper <- chol(conditional$inverse)
  a <- bartlett(conditional$df, model$size)
  precision <- tcrossprod(backsolve(upper, a))
  e <- backsolve(t(a), rnorm(model$size))
  twin[[paste0("precision_", side)]] <- precision
  twin[[paste0("mu_", side)]] <- conditional$mean +
    drop(crossprod(upper, e)) / sqrt(conditional$kappa)
  twin
}

# ---- with features -----------------------------------------------------------

# Rows X on G = (F V, 1), coefficients C = (B~, mu) with prior mean M0 and row
# precision K0: list(mean, precision) of C, K = G'G + K0, and df, inverse =
# W*^-1 of Lambda.
features_conditional <- function(model, twin, side) {
  prior <- model$prior
  own <- model$features[[side]]
  f <- twin_features(model, side)
  p <- ncol(f)
  x <- t(twin[[side]])
  g <- cbind(f %*% own$v, 1)
  k0 <- diag(c(rep(hyper(twin, "lambda_b", side), p), prior$kappa0))
  m0 <- rbind(matrix(0, p, model$size), prior$mu0)
  k <- crossprod(g) + k0
  mean <- solve(k, crossprod(g, x) + k0 %*% m0)
  list(
    mean = mean, precision = k, df = prior$nu0 + nrow(x),
    inverse = solve(prior$W0) + crossprod(x - g %*% mean) +
      t(mean - m0) %*% k0 %*% (mean - m0)
  )
}

# sum_k b_k' Lambda b_k
coefficient_square <- function(twin, side) {
  b <- hyper(twin, "coefficients", side)
  sum(b * (hyper(twin, "precision", side) %*% b))
}

ridge_conditional <- function(model, twin, side) {
  ridge <- gibbsite:::bmf_ridge(model$prior, side)
  list(
    shape = ridge$shape +
      length(hyper(twin, "coefficients", side)) / 2,
    rate = ridge$rate + coefficient_square(twin, side) / 2
  )
}

# Lambda, then mu, then B~ given mu, whose rows are independent; then lambda_B.
twin_with_features <- function(model, twin, side, alter = identity,
                               alter_ridge = identity) {
  conditional <- alter(features_conditional(model, twin, side))
  d <- model$size
  p <- nrow(conditional$mean) - 1
  upper <- chol(conditional$inverse)
  a <- bartlett(conditional$df, d)
  twin[[paste0("precision_", side)]] <- tcrossprod(backsolve(upper, a))
  deviation <- function() {
    drop(crossprod(upper, backsolve(t(a), rnorm(d))))
  }
  k <- conditional$precision
  kappa <- 1 / solve(k)[p + 1, p + 1]
  step <- deviation() / sqrt(kappa)
  twin[[paste0("mu_", side)]] <- conditional$mean[p + 1, ] + step
  rotated <- vapply(seq_len(p), function(at) {
    conditional$mean[at, ] - k[at, p + 1] * step / k[at, at] +
      deviation() / sqrt(k[at, at])
  }, numeric(d))
  twin[[paste0("coefficients_", side)]] <-
    matrix(rotated, d) %*% t(model$features[[side]]$v)
  if (is.null(model$prior$feature_precision)) {
    gamma <- alter_ridge(ridge_conditional(model, twin, side))
    twin[[paste0("lambda_b_", side)]] <- rgamma(1, gamma$shape, gamma$rate)
  }
  twin
}

twin_hyper <- function(model, twin, side, alter = identity) {
  if (!is.null(model$features[[side]])) {
    return(twin_with_features(model, twin, side, alter))
  }
  if (is_type(model, "wishart")) {
    twin_wishart(model, twin, side, alter)
  } else {
    twin_lambda(model, twin, side, alter)
  }
}

# ---- moves that the ratings do not notice ------------------------------------

# The state with u -> M u + h, its mu and Lambda along with the rows.
moved_side <- function(twin, side, map, h = numeric(nrow(map))) {
  twin[[side]] <- map %*% twin[[side]] + h
  mu <- paste0("mu_", side)
  precision <- paste0("precision_", side)
  if (!is.null(twin[[mu]])) {
    back <- solve(map)
    twin[[mu]] <- drop(map %*% twin[[mu]]) + h
    twin[[precision]] <- t(back) %*% twin[[precision]] %*% back
  }
  coefficients <- paste0("coefficients_", side)
  if (!is.null(twin[[coefficients]])) {
    twin[[coefficients]] <- map %*% twin[[coefficients]]
  }
  twin
}

# u_i -> A u_i, v_j -> A^-T v_j
scaled_sides <- function(twin, map) {
  moved_side(moved_side(twin, "u", map), "v", t(solve(map)))
}

# A slice step in log c from 0 for the log density of the state moved by c, plus
# `jacobian` times log c: log |d moved / d state| less that of the measure dc /
# c of the moves.  The Jacobians of mu_u and mu_v, Lambda_u and Lambda_v,
# lambda_u and lambda_v cancel; those of p_u coefficients of users and p_v of
# items leave p_u - p_v.
slice_scale <- function(model, twin, moved, jacobian) {
  c <- twin_slice(function(c) {
    # twin_slice() adds log c, for a density of c
    bmf_log_joint_by_factors(model, moved(twin, c)) +
      (jacobian - 1) * log(c)
  }, 1)
  moved(twin, c)
}

twin_direction <- function(model) {
  q <- rnorm(model$rank)
  c(q / sqrt(sum(q^2)), if (model$biases) 0)
}

# A = I + (c - 1) q q'; another `jacobian` makes a wrong sampler.
twin_scale <- function(model, twin,
                       jacobian = model$n - model$m + side_excess(model)) {
  q <- twin_direction(model)
  moved <- function(twin, c) {
    scaled_sides(twin, diag(model$size) + (c - 1) * tcrossprod(q))
  }
  slice_scale(model, twin, moved, jacobian)
}

side_excess <- function(model) {
  gibbsite:::side_count(model, "u") - gibbsite:::side_count(model, "v")
}

# A = c I with lambda_u / c^2 and lambda_v c^2
twin_scale_lambda <- function(model, twin,
                              jacobian = model$rank * (model$n - model$m)) {
  moved <- function(twin, c) {
    twin <- scaled_sides(
      twin, diag(c(rep(c, model$rank), if (model$biases) 1), model$size)
    )
    twin$lambda_u <- twin$lambda_u / c^2
    twin$lambda_v <- twin$lambda_v * c^2
    twin
  }
  slice_scale(model, twin, moved, jacobian)
}

# delta of a_i + delta, b_j - delta from N(linear / precision, 1 / precision)
twin_shift <- function(model, twin) {
  e <- as.numeric(seq_len(model$size) == model$size)
  conditional <- shift_conditional(model, twin)
  delta <- conditional$linear / conditional$precision +
    rnorm(1) / sqrt(conditional$precision)
  shifted(twin, delta, e)
}

shifted <- function(twin, delta, e) {
  same <- diag(length(e))
  moved_side(moved_side(twin, "u", same, delta * e), "v", same, -delta * e)
}

shift_conditional <- function(model, twin) {
  d <- model$size
  one <- function(side) {
    if (!is_type(model, "wishart")) {
      lambda <- hyper(twin, "lambda", side)
      return(lambda * c(ncol(twin[[side]]), sum(twin[[side]][d, ])))
    }
    precision <- hyper(twin, "precision", side)
    distance <- hyper(twin, "mu", side) - model$prior$mu0
    model$prior$kappa0 * c(precision[d, d], sum(precision[d, ] * distance))
  }
  u <- one("u")
  v <- one("v")
  list(precision = u[[1]] + v[[1]], linear = v[[2]] - u[[2]])
}

# latent: the scale of latent values
twin_scales <- function(model, twin, scale = twin_scale,
                        scale_lambda = twin_scale_lambda,
                        latent = function(model, twin) twin) {
  if (is_type(model, "gamma")) {
    twin <- scale_lambda(model, twin)
  }
  if (is_type(model, "wishart")) {
    for (k in seq_len(min(model$rank, 16))) {
      twin <- scale(model, twin)
    }
  }
  twin <- latent(model, twin)
  if (model$biases) twin_shift(model, twin) else twin
}

twin_residuals <- function(model, twin) {
  data <- model$data
  data$value - model$center -
    gibbsite:::bmf_predictor(model, twin, data$user, data$item)
}

# beta | . ~ Gamma(e + N / 2, f + sum residual^2 / 2)
twin_beta <- function(model, twin, alter = identity) {
  if (is_type(model, "fixed")) {
    return(twin)
  }
  residual <- twin_residuals(model, twin)
  gamma <- alter(list(
    shape = model$prior$noise_shape + length(residual) / 2,
    rate = model$prior$noise_rate + sum(residual^2) / 2
  ))
  twin$beta <- rgamma(1, gamma$shape, gamma$rate)
  twin
}

bmf_twin_blocks <- list(
  users = function(model, twin) twin_rows(model, twin, "u"),
  items = function(model, twin) twin_rows(model, twin, "v"),
  scales = function(model, twin) twin_scales(model, twin),
  hyper_u = function(model, twin) twin_hyper(model, twin, "u"),
  hyper_v = function(model, twin) twin_hyper(model, twin, "v"),
  beta = function(model, twin) twin_beta(model, twin)
)

bmf_twin_sweep <- function(model, twin, blocks = bmf_twin_blocks) {
  for (block in blocks) {
    twin <- block(model, twin)
  }
  twin
}

# ---- the log joint density ---------------------------------------------------

# log W(x | df, scale) by Bartlett: with x = T T', scale = L L' and A = L^-1 T
# lower triangular, a_jj^2 is chi-square and a_ij normal; the Jacobian of A to
# x is that of A to T, prod L_ii^i, and of T to x, prod 2 t_jj^(d - j + 1).
log_wishart <- function(x, df, scale) {
  d <- nrow(x)
  l <- t(chol(scale))
  t <- t(chol(x))
  a <- forwardsolve(l, t)
  j <- seq_len(d)
  sum(dchisq(diag(a)^2, df - j + 1, log = TRUE) + log(2 * diag(a))) +
    sum(dnorm(a[lower.tri(a)], log = TRUE)) - sum(j * log(diag(l))) -
    sum(log(2) + (d - j + 1) * log(diag(t)))
}

# log N(x | mean, precision^-1), summed over the columns of x
log_normals <- function(x, mean, precision) {
  upper <- chol(precision)
  white <- upper %*% (x - mean)
  sum(dnorm(white, log = TRUE)) + ncol(x) * sum(log(diag(upper)))
}

# log p(B, lambda_B | Lambda); 0 without features
log_coefficients <- function(model, twin, side) {
  b <- hyper(twin, "coefficients", side)
  if (is.null(b)) {
    return(0)
  }
  lambda <- hyper(twin, "lambda_b", side)
  ridge <- gibbsite:::bmf_ridge(model$prior, side)
  total <- log_normals(b, 0, lambda * hyper(twin, "precision", side))
  if (!is.null(ridge$known)) {
    return(total)
  }
  total + dgamma(lambda, ridge$shape, ridge$rate, log = TRUE)
}

bmf_log_joint_by_factors <- function(model, twin) {
  prior <- model$prior
  total <- sum(dnorm(
    twin_residuals(model, twin), 0, 1 / sqrt(twin$beta), log = TRUE
  ))
  for (side in c("u", "v")) {
    given <- row_prior(model, twin, side)
    total <- total + log_normals(
      twin[[side]], row_means(model, twin, side), given$precision
    ) + log_coefficients(model, twin, side)
    if (is_type(model, "wishart")) {
      total <- total + log_wishart(given$precision, prior$nu0, prior$W0) +
        log_normals(
          cbind(given$mean), prior$mu0, prior$kappa0 * given$precision
        )
    } else if (is_type(model, "gamma")) {
      fields <- paste0(c(u = "user", v = "item")[[side]], c("_shape", "_rate"))
      total <- total + dgamma(hyper(twin, "lambda", side), prior[[fields[1]]],
        prior[[fields[2]]], log = TRUE
      )
    }
  }
  if (is_type(model, "fixed")) {
    return(total)
  }
  total + dgamma(twin$beta, prior$noise_shape, prior$noise_rate, log = TRUE)
}

# ---- small models with informative priors ------------------------------------

# No hyperparameter is 0, 1 or the identity: a sampler that drops one differs.
tiny_bmf_prior <- function(kind, d, features = character(), known = NULL) {
  distance <- abs(outer(seq_len(d), seq_len(d), "-"))
  prior <- switch(kind,
    fixed = list(factor_variance = 0.7, noise_variance = 0.45),
    gamma = list(
      user_shape = 6.5, user_rate = 4.3, item_shape = 7.1, item_rate = 2.9,
      noise_shape = 5.5, noise_rate = 3.2
    ),
    wishart = list(
      mu0 = rep(c(0.4, -0.7), length.out = d), kappa0 = 1.7,
      W0 = 0.3 * 0.4^distance, nu0 = d + 4.5, noise_shape = 5.5,
      noise_rate = 3.2
    )
  )
  sides <- c(u = "users", v = "items")[features]
  if (length(sides) > 0) {
    prior <- c(prior, if (is.null(known)) {
      list(
        feature_shape = c(users = 6.2, items = 7.4)[sides],
        feature_rate = c(users = 2.6, items = 3.9)[sides]
      )
    } else {
      list(feature_precision = c(users = known, items = 1.3 * known)[sides])
    })
  }
  structure(
    c(list(type = kind), prior), class = c("bmf_prior", "gibbsite_prior")
  )
}

# n users and m items with `count` ratings of pairs at random: some pairs twice;
# the last user and the last item have none.
tiny_bmf <- function(kind, n = 4, m = 5, rank = 2, count = 9, biases = FALSE,
                     keep = character(), predict_at = NULL, center = 0.6,
                     features = character(), p = 3, known = NULL) {
  draw <- function(most) sample.int(max(1, most - 1), count, TRUE)
  ratings <- list(
    user = draw(n), item = draw(m), value = rnorm(count), users = seq_len(n),
    items = seq_len(m), names = c("user", "item", "value")
  )
  gibbsite:::bmf_model(
    ratings, rank, tiny_bmf_prior(kind, rank + biases, features, known), center,
    biases, keep, predict_at, features = tiny_features(n, m, features, p)
  )
}

# Features with one column that is nearly constant, and some zeros; items have
# one feature less.
tiny_features <- function(n, m, sides, p = 3) {
  one <- function(rows, p) {
    f <- matrix(rnorm(rows * p), rows)
    f[, 1] <- 1.5 + f[, 1] / 5
    f[rows, p] <- 0
    gibbsite:::rotated_features(
      gibbsite:::by_row(f), list(count = p), "x", NULL
    )
  }
  list(
    u = if ("u" %in% sides) one(n, p), v = if ("v" %in% sides) one(m, p - 1)
  )[sides]
}

bmf_kinds_tested <- c("fixed", "gamma", "wishart")

# ---- quantities that do not depend on the rotation ---------------------------

# Products of heavy-tailed factors go through atan().
bmf_quantities <- function(model, state) {
  twin <- twin_bmf(model, state)
  n <- ncol(twin$u)
  m <- ncol(twin$v)
  all <- gibbsite:::bmf_predictor(
    model, twin, rep(seq_len(n), m), rep(seq_len(m), each = n)
  )
  residual <- twin_residuals(model, twin)
  c(
    log_joint = bmf_log_joint_by_factors(model, twin),
    square = atan(sum(residual^2) / 8), fit = atan(mean(all)),
    spread = atan(mean(all^2) / 2), first = atan(all[[1]]),
    last = atan(all[[length(all)]]), norm_u = atan(sum(twin$u^2) / 8),
    norm_v = atan(sum(twin$v^2) / 8),
    hyper_quantities(model, twin)
  )
}

hyper_quantities <- function(model, twin) {
  if (is_type(model, "fixed")) {
    return(NULL)
  }
  beta <- c(beta = log(twin$beta))
  if (is_type(model, "gamma")) {
    return(c(
      beta, lambda_u = log(twin$lambda_u), lambda_v = log(twin$lambda_v)
    ))
  }
  one <- function(side) {
    precision <- hyper(twin, "precision", side)
    mu <- hyper(twin, "mu", side)
    prior <- model$prior
    c(
      log_det = as.numeric(determinant(precision)$modulus),
      trace = atan(sum(diag(precision)) / 5),
      corner = atan(precision[1, ncol(precision)]),
      mu = atan(mu), distance = atan(sum((mu - prior$mu0)^2)),
      within = atan(mean((twin[[side]] - row_means(model, twin, side))^2)),
      features_of_twin(model, twin, side)
    )
  }
  c(beta, u = one("u"), v = one("v"))
}

# Of B the size in units of Lambda, the coefficients, and how far the rows
# follow their means.
features_of_twin <- function(model, twin, side) {
  b <- hyper(twin, "coefficients", side)
  if (is.null(b)) {
    return(NULL)
  }
  c(
    lambda_b = if (is.null(model$prior$feature_precision)) {
      log(hyper(twin, "lambda_b", side))
    },
    explained = atan(coefficient_square(twin, side) / length(b)),
    first = atan(b[1, ]), along = atan(mean(
      twin[[side]] * (row_means(model, twin, side) - hyper(twin, "mu", side))
    ))
  )
}

# For the joint test also quantities of the data.
bmf_all_quantities <- function(model, state) {
  value <- model$data$value - model$center
  user <- model$data$user
  c(
    bmf_quantities(model, state), mean = atan(mean(value)),
    spread_data = atan(mean(value^2) / 2),
    within_user = atan(mean((value - stats::ave(value, user))^2))
  )
}

# ---- wrong samplers ----------------------------------------------------------

# Without the moves, unless the mistake is in them: a sampler without them has
# the same posterior, and they are slow in R.
bmf_twin_mutant <- function(...) {
  blocks <- utils::modifyList(
    bmf_twin_blocks, utils::modifyList(
      list(scales = function(model, twin) twin), list(...)
    )
  )
  function(model, state, n, control) {
    for (i in seq_len(n)) {
      twin <- bmf_twin_sweep(model, twin_bmf(model, state), blocks)
      state <- bmf_state_of_twin(model, twin, state)
    }
    list(state = state)
  }
}

# The core on altered data: the prior is part of what it reads.
bmf_core_mutant <- function(alter) {
  function(model, state, n, control) {
    model$data$prior <- alter(model$data$prior, model$prior)
    .Call(
      gibbsite:::C_bmf_sweeps, gibbsite:::bmf_data(model), state, n, control,
      FALSE
    )
  }
}

altered_hyper <- function(alter) {
  bmf_twin_mutant(
    hyper_u = function(model, twin) twin_hyper(model, twin, "u", alter),
    hyper_v = function(model, twin) twin_hyper(model, twin, "v", alter)
  )
}

altered_beta <- function(alter) {
  bmf_twin_mutant(beta = function(model, twin) twin_beta(model, twin, alter))
}

changed <- function(field, change) {
  function(x) {
    x[[field]] <- change(x[[field]])
    x
  }
}

# Hyperparameters of the users with features by `draw`.
altered_features <- function(draw) {
  bmf_twin_mutant(hyper_u = draw)
}

bmf_mutants <- list(
  # the items given the users of the sweep before
  stale_users = bmf_twin_mutant(
    users = function(model, twin) {
      twin$stale <- twin$u
      twin_rows(model, twin, "u")
    },
    items = function(model, twin) {
      given <- twin
      given$u <- twin$stale
      twin_rows(model, twin, "v", given)
    }
  ),
  # scale where a rate is meant
  lambda_scale_for_rate = altered_hyper(changed("rate", function(x) 1 / x)),
  lambda_u_prior_rate_inverted = bmf_core_mutant(function(prior, given) {
    prior$rate[[1]] <- 1 / prior$rate[[1]]
    prior
  }),
  lambda_v_prior_rate_inverted = bmf_core_mutant(function(prior, given) {
    prior$rate[[2]] <- 1 / prior$rate[[2]]
    prior
  }),
  beta_prior_rate_inverted = bmf_core_mutant(function(prior, given) {
    prior$rate[[3]] <- 1 / prior$rate[[3]]
    prior
  }),
  # (e + N / 2) / 2, e / 2 + N / 2, N / 4 where e + N / 2 is meant
  beta_shape_halved = altered_beta(changed("shape", function(x) x / 2)),
  beta_shape_without_prior = bmf_core_mutant(function(prior, given) {
    prior$shape[[3]] <- prior$shape[[3]] / 2
    prior
  }),
  beta_shape_of_half_the_ratings = bmf_twin_mutant(
    beta = function(model, twin) {
      quarter <- length(model$data$value) / 4
      twin_beta(model, twin, changed("shape", function(x) x - quarter))
    }
  ),
  beta_rate_doubled = altered_beta(changed("rate", function(x) 2 * x)),
  # N where N D is meant
  lambda_shape_of_rows = altered_hyper(
    changed("shape", function(x) x / 2)
  ),
  # Salakhutdinov & Mnih's S-bar about zero instead of the mean
  scatter_about_zero = bmf_twin_mutant(
    hyper_u = function(model, twin) {
      twin_wishart(model, twin, "u", function(conditional) {
        n <- ncol(twin$u)
        conditional$inverse <- conditional$inverse +
          n * tcrossprod(rowMeans(twin$u))
        conditional
      })
    }
  ),
  # W0 where its inverse is meant
  w0_for_its_inverse = bmf_core_mutant(function(prior, given) {
    prior$w0_inverse <- given$W0
    prior
  }),
  # the mean of the Wishart: nu0 W0, not W0
  wishart_mean = bmf_core_mutant(function(prior, given) {
    prior$w0_inverse <- prior$w0_inverse * prior$nu0
    prior
  }),
  nu0_off_by_d = bmf_core_mutant(function(prior, given) {
    prior$nu0 <- prior$nu0 + length(prior$mu0)
    prior
  }),
  mu0_dropped = bmf_core_mutant(function(prior, given) {
    prior$mu0 <- 0 * prior$mu0
    prior
  }),
  kappa_dropped = bmf_twin_mutant(
    hyper_u = function(model, twin) {
      twin_wishart(model, twin, "u", changed("kappa", function(x) 1))
    }
  ),
  # the other side's intercept is not subtracted
  intercept_kept = bmf_twin_mutant(
    users = function(model, twin) {
      given <- twin
      given$v[model$size, ] <- 0
      twin_rows(model, twin, "u", given)
    }
  ),
  # the intercept multiplied by the other side's
  intercept_as_factor = bmf_twin_mutant(
    users = function(model, twin) {
      plain <- model
      plain$biases <- FALSE
      twin_rows(plain, twin, "u")
    }
  ),
  # features: the prior mean of a row without B'f
  features_left_out = bmf_twin_mutant(
    users = function(model, twin) {
      twin_rows(model, twin, "u", means = function(model, given, side) {
        matrix(hyper(given, "mu", side), model$size, ncol(given[[side]]))
      })
    }
  ),
  # W* without the prior density of B
  wishart_without_b = altered_features(function(model, twin) {
    twin_with_features(model, twin, "u", function(conditional) {
      b <- utils::head(conditional$mean, -1)
      conditional$inverse <- conditional$inverse -
        hyper(twin, "lambda_b", "u") * crossprod(b)
      conditional
    })
  }),
  # Lambda from the scatter of the rows about mu alone
  wishart_without_features = altered_features(function(model, twin) {
    twin_with_features(model, twin, "u", function(conditional) {
      conditional$inverse <- wishart_conditional(model, twin, "u")$inverse
      conditional
    })
  }),
  # lambda_B's shape without p D / 2, its rate without the square
  ridge_shape_of_prior = altered_features(function(model, twin) {
    half <- length(twin$coefficients_u) / 2
    twin_with_features(
      model, twin, "u", alter_ridge = changed("shape", function(x) x - half)
    )
  }),
  # B from the rows less their current means
  residuals_for_rows = altered_features(function(model, twin) {
    rest <- twin
    rest$u <- twin$u - row_means(model, twin, "u") + twin$mu_u
    drawn <- twin_with_features(model, rest, "u")
    drawn$u <- twin$u
    drawn
  }),
  # the log determinant of the rows' density left out: df without n
  log_det_dropped = bmf_twin_mutant(
    hyper_u = function(model, twin) {
      n <- ncol(twin$u)
      twin_wishart(model, twin, "u", changed("df", function(x) x - n))
    }
  ),
  # the moves' density without |d moved state / d state|
  jacobian_dropped = bmf_twin_mutant(
    scales = function(model, twin) {
      twin_scales(model, twin, function(...) twin_scale(..., jacobian = 0))
    }
  ),
  jacobian_dropped_lambda = bmf_twin_mutant(
    scales = function(model, twin) {
      twin_scales(model, twin, scale_lambda = function(...) {
        twin_scale_lambda(..., jacobian = 0)
      })
    }
  )
)

# ---- ordinal ratings ---------------------------------------------------------

# N(mean, 1) above 0, between a and b, and between low and high, as the core
# draws them of responses with predictors (helper-ordinal-twin.R).
ordinal_positive_normal <- function(mean) {
  repeat {
    if (mean > 0) {
      z <- mean + rnorm(1)
      if (z > 0) return(z)
    } else {
      rate <- (sqrt(mean^2 + 4) - mean) / 2
      e <- rexp(1)
      if (runif(1) < exp(-((e - 1) / rate)^2 / 2)) return(e / rate)
    }
  }
}

ordinal_normal_between <- function(a, b) {
  if (b < 0) {
    return(-ordinal_normal_between(-b, -a))
  }
  wide <- if (a > 0) (b - a) * (a + sqrt(a^2 + 4)) / 2 > 1.5 else b - a > 2.5
  repeat {
    if (!wide) {
      z <- a + (b - a) * runif(1)
      if (runif(1) < exp((max(a, 0)^2 - z^2) / 2)) return(z)
    } else if (a > 0) {
      z <- a + ordinal_positive_normal(-a)
      if (z < b) return(z)
    } else {
      z <- rnorm(1)
      if (z > a && z < b) return(z)
    }
  }
}

ordinal_interval_normal <- function(mean, low, high) {
  if (low == -Inf) {
    high - ordinal_positive_normal(high - mean)
  } else if (high == Inf) {
    low + ordinal_positive_normal(mean - low)
  } else {
    mean + ordinal_normal_between(low - mean, high - mean)
  }
}

ordinal_codes <- function(model) match(model$data$value, model$response$values)

ordinal_eta <- function(model, twin) {
  gibbsite:::bmf_predictor(model, twin, model$data$user, model$data$item)
}

# sum log P(code | theta, eta), counts: how often each.
ordinal_log_lik <- function(theta, code, eta, count = 1) {
  bounds <- c(-Inf, theta, Inf)
  sum(count * gibbsite:::log_between(
    bounds[code] - eta, bounds[code + 1] - eta
  ))
}

# a_1 = theta_1, a_k = log(theta_k - theta_{k-1}), and back
ordinal_coordinates <- function(theta) c(theta[[1]], log(diff(theta)))
ordinal_theta <- function(a) cumsum(c(a[[1]], exp(a[-1])))

# The log density of a up to a constant.
ordinal_target <- function(model, a, code, eta, count = 1) {
  theta <- ordinal_theta(a)
  ordinal_log_lik(theta, code, eta, count) +
    sum(dnorm(theta, 0, model$response$cutpoint_sd, log = TRUE)) + sum(a[-1])
}

# Ratings of one code whose eta lie in one of 128 intervals of equal length
# count as ratings at their mean eta.
ordinal_groups <- function(code, eta) {
  width <- diff(range(eta)) / 128
  group <- if (width > 0) {
    pmin(floor((eta - min(eta)) / width), 127)
  } else {
    0 * eta
  }
  key <- paste(code, group)
  first <- !duplicated(key)
  list(
    code = code[first], eta = ave(eta, key)[first],
    count = ave(eta, key, FUN = length)[first]
  )
}

# Gradient and minus the second derivatives, in theta, of the grouped target.
ordinal_slopes <- function(model, theta, groups) {
  q <- length(theta)
  bounds <- c(-Inf, theta, Inf)
  low <- bounds[groups$code] - groups$eta
  high <- bounds[groups$code + 1] - groups$eta
  log_p <- gibbsite:::log_between(low, high)
  a <- exp(dnorm(high, log = TRUE) - log_p)
  b <- exp(dnorm(low, log = TRUE) - log_p)
  n <- groups$count
  sum_at <- function(x, at) {
    vapply(seq_len(q), function(k) sum(x[at == k]), 0)
  }
  s2 <- model$response$cutpoint_sd^2
  gap <- diff(theta)
  gradient <- sum_at(n * a, groups$code) - sum_at(n * b, groups$code - 1) -
    theta / s2 + c(0, 1 / gap) - c(1 / gap, 0)
  own <- sum_at(n * (high * a + a^2), groups$code) +
    sum_at(n * (b^2 - low * b), groups$code - 1) + 1 / s2 +
    c(0, 1 / gap^2) + c(1 / gap^2, 0)
  hessian <- diag(own, q)
  for (k in seq_len(q - 1)) {
    both <- -sum((n * a * b)[groups$code == k + 1]) - 1 / gap[[k]]^2
    hessian[k, k + 1] <- hessian[k + 1, k] <- both
  }
  list(gradient = gradient, hessian = hessian)
}

# list(mode, precision) of the proposal in the coordinates a: the maximum of the
# grouped target by Newton's method.
ordinal_proposal <- function(model, code, eta) {
  groups <- ordinal_groups(code, eta)
  target <- function(theta) {
    if (is.unsorted(theta, strictly = TRUE)) {
      return(-Inf)
    }
    ordinal_target(
      model, ordinal_coordinates(theta), groups$code, groups$eta, groups$count
    )
  }
  q <- length(model$response$values) - 1
  share <- (cumsum(tabulate(code, q + 1)) + 0.5 * seq_len(q + 1)) /
    (length(code) + (q + 1) / 2)
  theta <- mean(eta) + sqrt(1 + var(eta)) * qnorm(share[seq_len(q)])
  for (step in 1:60) {
    slopes <- ordinal_slopes(model, theta, groups)
    move <- solve(slopes$hessian, slopes$gradient)
    if (sum(move * slopes$gradient) > 1e-6) {
      while (target(theta + move) < target(theta)) move <- move / 2
    }
    theta <- theta + move
  }
  j <- outer(seq_len(q), seq_len(q), ">=") *
    rep(c(1, diff(theta)), each = q)
  list(
    mode = ordinal_coordinates(theta),
    precision = t(j) %*% ordinal_slopes(model, theta, groups)$hessian %*% j
  )
}

# theta | eta by the independence step
ordinal_cutpoints <- function(model, twin) {
  code <- ordinal_codes(model)
  eta <- ordinal_eta(model, twin)
  q <- length(twin$theta)
  proposal <- ordinal_proposal(model, code, eta)
  upper <- chol(proposal$precision)
  e <- rnorm(q)
  new <- proposal$mode + backsolve(upper, e) * sqrt(5 / rchisq(1, 5))
  old <- ordinal_coordinates(twin$theta)
  log_q <- function(a) {
    -(5 + q) / 2 * log1p(sum((upper %*% (a - proposal$mode))^2) / 5)
  }
  log_p <- function(a) ordinal_target(model, a, code, eta)
  ratio <- log_p(new) - log_p(old) + log_q(old) - log_q(new)
  if (log(runif(1)) < ratio) {
    twin$theta <- ordinal_theta(new)
  }
  twin
}

# The quantile of u of N(mean, 1) between bounds, from the nearer tail.
ordinal_inversion <- function(u, mean, low, high) {
  sign <- ifelse(low > mean, -1, 1)
  from <- pnorm(sign * (ifelse(sign > 0, low, high) - mean))
  to <- pnorm(sign * (ifelse(sign > 0, high, low) - mean))
  mean + sign * qnorm(from + u * (to - from))
}

# Latent values by the uniforms of a key, which are those of the ratings in the
# order of users and items.
ordinal_latent <- function(model, twin, draw = ordinal_inversion) {
  bounds <- c(-Inf, twin$theta, Inf)
  code <- ordinal_codes(model)
  u <- pnorm(philox_normals(twin_key(), length(code)))
  by_user <- order(model$data$user, model$data$item)
  u[by_user] <- u
  twin$z <- draw(
    u, ordinal_eta(model, twin), bounds[code], bounds[code + 1]
  )
  twin
}

# A model whose ratings are the latent values, for the other blocks.
latent_model <- function(model, twin) {
  model$data$value <- twin$z
  model
}

# theta_k + delta and a_i + delta, mu_u along with the a_i
ordinal_level <- function(model, twin) {
  if (!model$biases) {
    return(twin)
  }
  d <- model$size
  precision <- 1 / model$response$cutpoint_sd^2
  sums <- precision * c(length(twin$theta), sum(twin$theta))
  if (is_type(model, "wishart")) {
    lambda <- twin$precision_u[d, ]
    sums <- sums + model$prior$kappa0 *
      c(lambda[[d]], sum(lambda * (twin$mu_u - model$prior$mu0)))
  } else {
    sums <- sums + twin$lambda_u * c(ncol(twin$u), sum(twin$u[d, ]))
  }
  delta <- -sums[[2]] / sums[[1]] + rnorm(1) / sqrt(sums[[1]])
  twin$theta <- twin$theta + delta
  twin$u[d, ] <- twin$u[d, ] + delta
  if (!is.null(twin$mu_u)) {
    twin$mu_u[[d]] <- twin$mu_u[[d]] + delta
  }
  twin
}

# c times z, theta, all of u and the intercepts of v; hyperparameters along with
# them, but lambda_v. jacobian: of all that moves; another one makes a wrong
# sampler.
ordinal_scale_latent <- function(model, twin, z,
                              jacobian = latent_jacobian(model, twin)) {
  if (is_type(model, "fixed")) {
    return(twin)
  }
  d <- model$size
  e <- c(rep(0, model$rank), if (model$biases) 1)
  moved <- function(c) {
    twin <- moved_side(twin, "u", diag(c, d))
    twin <- moved_side(twin, "v", diag(1 + (c - 1) * e, d))
    if (!is.null(twin$lambda_u)) {
      twin$lambda_u <- twin$lambda_u / c^2
    }
    twin$theta <- c * twin$theta
    twin
  }
  # twin_slice() adds log c, for a density of c
  c <- twin_slice(function(c) {
    model$data$value <- c * z
    at <- moved(c)
    bmf_log_joint_by_factors(model, at) +
      sum(dnorm(at$theta, 0, model$response$cutpoint_sd, log = TRUE)) +
      (jacobian - 1) * log(c)
  }, 1)
  moved(c)
}

latent_jacobian <- function(model, twin) {
  d <- model$size
  b <- model$biases
  of_hyper <- if (is_type(model, "wishart")) {
    d - d * (d + 1) + b * (1 - (d + 1))
  } else {
    -2
  }
  coefficients <- function(side) NCOL(hyper(twin, "coefficients", side))
  of_features <- d * (!is.null(twin$coefficients_u)) * coefficients("u") +
    b * (!is.null(twin$coefficients_v)) * coefficients("v")
  length(model$data$value) + length(twin$theta) + d * model$n + b * model$m +
    of_hyper + of_features
}

ordinal_twin_blocks <- list(
  cutpoints = function(model, twin) ordinal_cutpoints(model, twin),
  latent = function(model, twin) ordinal_latent(model, twin),
  users = function(model, twin) {
    twin_rows(latent_model(model, twin), twin, "u")
  },
  items = function(model, twin) {
    twin_rows(latent_model(model, twin), twin, "v")
  },
  scales = function(model, twin) {
    z <- twin$z
    twin$z <- NULL
    gaussian <- model
    gaussian$prior$noise_shape <- gaussian$prior$noise_rate <- 2
    gaussian$data$value <- z
    twin_scales(gaussian, twin, latent = function(model, twin) {
      ordinal_scale_latent(model, twin, z)
    })
  },
  level = function(model, twin) ordinal_level(model, twin),
  hyper_u = function(model, twin) twin_hyper(model, twin, "u"),
  hyper_v = function(model, twin) twin_hyper(model, twin, "v")
)

ordinal_twin_sweep <- function(model, twin, blocks = ordinal_twin_blocks) {
  twin <- bmf_twin_sweep(model, twin, blocks)
  twin[names(twin_bmf(model, gibbsite:::bmf_state(model, twin)))]
}

ordinal_log_joint <- function(model, twin) {
  gaussian <- model
  gaussian$prior$noise_shape <- gaussian$prior$noise_rate <- 2
  at <- twin
  at$beta <- 1
  # without ratings, and without beta
  gaussian$data[c("user", "item", "value")] <-
    list(integer(), integer(), numeric())
  prior <- bmf_log_joint_by_factors(gaussian, at)
  if (!is_type(model, "fixed")) {
    prior <- prior - dgamma(1, 2, 2, log = TRUE)
  }
  prior +
    ordinal_log_lik(
      twin$theta, ordinal_codes(model), ordinal_eta(model, twin)
    ) +
    sum(dnorm(twin$theta, 0, model$response$cutpoint_sd, log = TRUE)) +
    lgamma(length(twin$theta) + 1)
}

# As tiny_bmf(), with K levels of which the last may have no rating.
tiny_ordinal <- function(kind, levels = 4, ..., sd = 1.6, rank = 2,
                         biases = FALSE, n = 4, m = 5, count = 9,
                         keep = character(), features = character()) {
  draw <- function(most) sample.int(max(1, most - 1), count, TRUE)
  values <- seq_len(levels) / 2
  ratings <- list(
    user = draw(n), item = draw(m), value = sample(values, count, TRUE),
    users = seq_len(n), items = seq_len(m), names = c("user", "item", "value")
  )
  prior <- tiny_bmf_prior(kind, rank + biases, features)
  prior$noise_shape <- prior$noise_rate <- NULL
  if (kind == "fixed") {
    prior$noise_variance <- 1
  }
  prior$cutpoint_sd <- sd
  gibbsite:::bmf_model(
    ratings, rank, prior, 0, biases, keep,
    response = list(
      link = "ordinal", values = values, labels = format(values),
      cutpoint_sd = sd
    ),
    features = tiny_features(n, m, features)
  )
}

# Wrong samplers are faster with a random walk of the cutpoints, which has the
# same posterior: theta | eta, without the Jacobian of its coordinates if so
# told.
walk_cutpoints <- function(model, twin, jacobian = TRUE) {
  code <- ordinal_codes(model)
  eta <- ordinal_eta(model, twin)
  for (step in 1:5) {
    old <- ordinal_coordinates(twin$theta)
    new <- old + rnorm(length(old), sd = 0.7)
    log_p <- function(a) {
      ordinal_target(model, a, code, eta) - (!jacobian) * sum(a[-1])
    }
    if (log(runif(1)) < log_p(new) - log_p(old)) {
      twin$theta <- ordinal_theta(new)
    }
  }
  twin
}

ordinal_twin_mutant <- function(...) {
  blocks <- utils::modifyList(ordinal_twin_blocks, list(
    cutpoints = walk_cutpoints, scales = function(model, twin) twin
  ))
  blocks <- utils::modifyList(blocks, list(...))
  function(model, state, n, control) {
    for (i in seq_len(n)) {
      twin <- ordinal_twin_sweep(model, twin_bmf(model, state), blocks)
      state <- bmf_state_of_twin(model, twin, state)
    }
    list(state = state)
  }
}

ordinal_mutants <- list(
  # the ratio of densities without the cutpoints' prior, or nearly so
  cutpoint_prior_dropped = function(model, state, n, control) {
    model$data$cutpoint_sd <- 1e3
    .Call(gibbsite:::C_bmf_sweeps, model$data, state, n, control, FALSE)
  },
  cutpoint_jacobian_dropped = ordinal_twin_mutant(
    cutpoints = function(model, twin) walk_cutpoints(model, twin, FALSE)
  ),
  latent_not_truncated = ordinal_twin_mutant(
    latent = function(model, twin) {
      ordinal_latent(model, twin, function(u, mean, low, high) {
        mean + rnorm(length(mean))
      })
    }
  ),
  # cutpoints moved, and the latent values of the old ones taken
  latent_not_redrawn = ordinal_twin_mutant(
    cutpoints = function(model, twin) {
      twin$z <- ordinal_latent(model, twin)$z
      walk_cutpoints(model, twin)
    },
    latent = function(model, twin) twin
  ),
  scale_jacobian_dropped = ordinal_twin_mutant(
    scales = function(model, twin) {
      z <- twin$z
      twin$z <- NULL
      gaussian <- model
      gaussian$prior$noise_shape <- gaussian$prior$noise_rate <- 2
      ordinal_scale_latent(gaussian, twin, z, jacobian = 0)
    }
  ),
  # the cutpoints move, and the intercepts stay
  level_of_cutpoints_alone = ordinal_twin_mutant(
    level = function(model, twin) {
      moved <- ordinal_level(model, twin)
      twin$theta <- moved$theta
      twin
    }
  )
)

# ---- the core beside it ------------------------------------------------------

# list(draws, state, ...) of n sweeps of the core, the draws with their names
run_bmf_sweeps <- function(model, state, n, threads = 1, burnin = 0, thin = 1) {
  control <- list(burnin = burnin, thin = thin, threads = threads)
  result <- gibbsite:::model_sweeps(model, state, n, control)
  colnames(result$draws) <- model$columns
  result
}
