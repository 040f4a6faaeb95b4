# A slow twin of the sampler behind gibbs_gmm(), written from the formulas on
# its page.  It takes the same random numbers in the same order as the core: the
# gammas of pi; for each component the normals of mu_c; for each component
# Bartlett's chi-squares and normals, column by column; one uniform an
# observation.
#
# A twin's state is list(sweep, z, log_pi, mu, sigma): mu a k x d matrix, sigma
# a list of k matrices.

twin_state <- function(model, state) {
  k <- model$k
  d <- length(model$variables)
  sigma <- array(state$sigma, c(k, d, d))
  list(
    sweep = state$sweep, z = state$z, log_pi = state$log_pi,
    mu = matrix(state$mu, k, d),
    sigma = lapply(seq_len(k), function(c) matrix(sigma[c, , ], d, d))
  )
}

state_of_twin <- function(twin) {
  list(
    sweep = twin$sweep, z = twin$z, log_pi = twin$log_pi,
    mu = as.vector(twin$mu), sigma = sigma_vector(twin)
  )
}

# Sigma[c, i, j], c fastest
sigma_vector <- function(twin) {
  as.vector(t(vapply(twin$sigma, as.vector, numeric(ncol(twin$mu)^2))))
}

# ---- densities ---------------------------------------------------------------

# log N(x_i | mean, sigma) for the rows of x
log_normal <- function(x, mean, sigma) {
  upper <- chol(sigma)
  white <- backsolve(upper, t(x) - mean, transpose = TRUE)
  -0.5 * ncol(x) * log(2 * pi) - sum(log(diag(upper))) - 0.5 * colSums(white^2)
}

# log pi_c + log N(x_i | mu_c, Sigma_c): n x k
twin_log_joint <- function(model, twin) {
  x <- model$data$x
  joint <- vapply(seq_len(model$k), function(c) {
    twin$log_pi[[c]] + log_normal(x, twin$mu[c, ], twin$sigma[[c]])
  }, numeric(nrow(x)))
  matrix(joint, nrow(x))
}

row_largest <- function(x) {
  x[cbind(seq_len(nrow(x)), max.col(x, ties.method = "first"))]
}

row_log_sums <- function(log_joint) {
  largest <- row_largest(log_joint)
  largest + log(rowSums(exp(log_joint - largest)))
}

# log p(pi, mu, Sigma, z, x) up to a constant; `log_joint`: twin_log_joint()
twin_log_density <- function(model, twin, log_joint) {
  prior <- model$prior
  d <- ncol(twin$mu)
  log_iw <- function(sigma) {
    upper <- chol(sigma)
    -(prior$nu0 + d + 1) * sum(log(diag(upper))) -
      sum(prior$s0 * chol2inv(upper)) / 2
  }
  sum((prior$alpha - 1) * twin$log_pi) +
    sum(log_normal(twin$mu, prior$m0, prior$v0)) +
    sum(vapply(twin$sigma, log_iw, 0)) +
    sum(log_joint[cbind(seq_along(twin$z), twin$z)])
}

# ---- the blocks of a sweep ---------------------------------------------------

# log of Gamma(shape, 1): below 1, G U^(1/shape) with G ~ Gamma(shape + 1, 1)
log_gamma_variate <- function(shape) {
  if (shape >= 1) {
    return(log(rgamma(1, shape)))
  }
  log(rgamma(1, shape + 1)) + log(runif(1)) / shape
}

log_dirichlet_variate <- function(alpha) {
  x <- vapply(alpha, log_gamma_variate, 0)
  x <- x - max(x)
  x - log(sum(exp(x)))
}

# IW(df, scale): (L^-T A A' L^-1)^-1 with scale = L L', A of Bartlett
inverse_wishart_variate <- function(df, scale) {
  d <- nrow(scale)
  a <- matrix(0, d, d)
  for (j in seq_len(d)) {
    a[j, j] <- sqrt(rchisq(1, df - j + 1))
    a[seq_len(d) > j, j] <- rnorm(d - j)
  }
  crossprod(forwardsolve(a, chol(scale)))
}

members <- function(model, twin, c) {
  model$data$x[twin$z == c, , drop = FALSE]
}

# pi | z ~ Dir(alpha + n)
twin_weights <- function(model, twin) {
  counts <- tabulate(twin$z, model$k)
  twin$log_pi <- log_dirichlet_variate(model$prior$alpha + counts)
  twin
}

# mu_c | Sigma_c, z ~ N(m_c, V_c), V_c^-1 = V0^-1 + n_c Sigma_c^-1,
# m_c = V_c (V0^-1 m0 + Sigma_c^-1 sum_{z_i = c} x_i)
twin_means <- function(model, twin) {
  prior <- model$prior
  q0 <- solve(prior$v0)
  for (c in seq_len(model$k)) {
    x <- members(model, twin, c)
    precision <- solve(twin$sigma[[c]])
    upper <- chol(q0 + nrow(x) * precision)
    b <- q0 %*% prior$m0 + precision %*% colSums(x)
    white <- forwardsolve(t(upper), b) + rnorm(ncol(x))
    twin$mu[c, ] <- backsolve(upper, white)
  }
  twin
}

# S0 + sum_{z_i = c} (x_i - mu_c)(x_i - mu_c)'
twin_scale <- function(model, twin, c) {
  x <- members(model, twin, c)
  model$prior$s0 + crossprod(x - rep(twin$mu[c, ], each = nrow(x)))
}

# Sigma_c | mu_c, z ~ IW(nu0 + n_c, S0 + sum (x_i - mu_c)(x_i - mu_c)')
twin_covariances <- function(model, twin) {
  counts <- tabulate(twin$z, model$k)
  for (c in seq_len(model$k)) {
    twin$sigma[[c]] <- inverse_wishart_variate(
      model$prior$nu0 + counts[[c]], twin_scale(model, twin, c)
    )
  }
  twin
}

# P(z_i = c | .) proportional to pi_c N(x_i | mu_c, Sigma_c): the number of
# partial sums, from left to right, that are <= u times the total
twin_allocations <- function(model, twin) {
  log_joint <- twin_log_joint(model, twin)
  weight <- exp(log_joint - row_largest(log_joint))
  u <- runif(nrow(weight))
  twin$z <- vapply(seq_along(u), function(i) {
    partial <- cumsum(weight[i, ])
    1L + sum(partial[-model$k] <= u[[i]] * partial[[model$k]])
  }, 0L)
  twin$log_lik <- sum(row_log_sums(log_joint))
  twin
}

twin_blocks <- list(
  weights = twin_weights, means = twin_means, covariances = twin_covariances,
  allocations = twin_allocations
)

twin_sweep <- function(model, twin, blocks = twin_blocks) {
  for (block in blocks) {
    twin <- block(model, twin)
  }
  twin$sweep <- twin$sweep + 1
  twin
}

# what the core records: pi, mu, Sigma, log_lik, n_occupied, z
twin_row <- function(twin) {
  c(
    exp(twin$log_pi), as.vector(twin$mu), sigma_vector(twin),
    twin$log_lik, length(unique(twin$z)), twin$z
  )
}

# ---- a small model with an informative prior ---------------------------------

# No hyperparameter is 0, 1 or the identity: a sampler that drops one differs.
tiny_gmm <- function(n = 12, d = 2, k = 2, alpha = 1.7, x = NULL,
                     keep_z = FALSE) {
  if (is.null(x)) {
    x <- matrix(rnorm(n * d, 0.5, 1.5), n, d)
  }
  colnames(x) <- paste0("v", seq_len(d))
  distance <- abs(outer(seq_len(d), seq_len(d), "-"))
  prior <- gmm_prior(
    alpha = alpha, m0 = rep(c(1.3, -0.9), length.out = d),
    v0 = 0.6 * 0.4^distance, nu0 = d + 4.5,
    s0 = 4.1 * (-0.35)^distance
  )
  # every field is given; what it says of a constant column is beside the point
  prior <- suppressMessages(
    gibbsite:::complete_gmm_prior(prior, x, k, NULL)
  )
  gibbsite:::gmm_model(x, k, prior, keep_z)
}

# ---- quantities that do not depend on the labels -----------------------------

# Heavy-tailed ones (the inverse Wishart has few moments) go through atan().
gmm_invariants <- function(model, state) {
  twin <- twin_state(model, state)
  log_joint <- twin_log_joint(model, twin)
  weight <- exp(twin$log_pi)
  counts <- tabulate(twin$z, model$k)
  mean <- colSums(weight * twin$mu)
  covariance <- 0
  log_det <- 0
  for (c in seq_len(model$k)) {
    sigma <- twin$sigma[[c]]
    covariance <- covariance + weight[[c]] *
      (sigma + tcrossprod(twin$mu[c, ] - mean))
    log_det <- log_det + weight[[c]] * 2 * sum(log(diag(chol(sigma))))
  }
  lower <- lower.tri(covariance, diag = TRUE)
  c(
    log_joint = twin_log_density(model, twin, log_joint),
    log_lik = sum(row_log_sums(log_joint)),
    weight = max(weight), mean = mean, log_det = log_det,
    cov = atan(covariance[lower] / 2),
    occupied = sum(counts > 0), same = sum(counts^2),
    log_z = sum(counts * twin$log_pi)
  )
}

# For the joint test also quantities of the data and of the first component:
# with alpha that differs between the components its label means something.
gmm_all_quantities <- function(model, state) {
  x <- model$data$x
  twin <- twin_state(model, state)
  sigma <- twin$sigma[[1]]
  c(
    gmm_invariants(model, state),
    data_mean = atan(colMeans(x)), data_square = atan(colMeans(x^2) / 4),
    pi_1 = exp(twin$log_pi[[1]]), mu_1 = twin$mu[1, ],
    spread_1 = sum(twin$mu[1, ]^2), sigma_1 = atan(sigma[1, ] / 2),
    count_1 = sum(twin$z == 1)
  )
}

# ---- wrong samplers ----------------------------------------------------------

# The core on altered data: hyperparameters are part of what it reads.
core_mutant <- function(alter) {
  function(model, state, n, control) {
    .Call(
      gibbsite:::C_gmm_sweeps, alter(model$data, model$prior), state, n, control
    )
  }
}

# The twin with one block replaced.
twin_mutant <- function(...) {
  blocks <- utils::modifyList(twin_blocks, list(...))
  function(model, state, n, control) {
    twin <- twin_state(model, state)
    for (i in seq_len(n)) {
      twin <- twin_sweep(model, twin, blocks)
    }
    list(state = state_of_twin(twin))
  }
}

gmm_mutants <- list(
  # Sigma_c ~ IW(nu, S^-1): rate for scale
  rate_for_scale = twin_mutant(covariances = function(model, twin) {
    counts <- tabulate(twin$z, model$k)
    for (c in seq_len(model$k)) {
      twin$sigma[[c]] <- inverse_wishart_variate(
        model$prior$nu0 + counts[[c]], solve(twin_scale(model, twin, c))
      )
    }
    twin
  }),
  nu0_off_by_d = core_mutant(function(data, prior) {
    data$nu0 <- data$nu0 + ncol(data$x)
    data
  }),
  m0_dropped = core_mutant(function(data, prior) {
    data$q0_m0 <- 0 * data$q0_m0
    data
  }),
  # z ~ P(z | weights of the sweep before)
  stale_weights = twin_mutant(
    weights = function(model, twin) {
      twin$stale <- twin$log_pi
      twin_weights(model, twin)
    },
    allocations = function(model, twin) {
      fresh <- twin$log_pi
      twin$log_pi <- twin$stale
      twin <- twin_allocations(model, twin)
      twin$log_pi <- fresh
      twin
    }
  ),
  v0_for_its_inverse = core_mutant(function(data, prior) {
    data$q0 <- prior$v0
    data$q0_m0 <- drop(prior$v0 %*% prior$m0)
    data
  }),
  # pi ~ Dir(1 + n), whatever alpha
  alpha_dropped = core_mutant(function(data, prior) {
    data$alpha <- rep(1, data$k)
    data
  }),
  # Sigma_c about the observations' mean instead of mu_c
  scatter_about_data_mean = twin_mutant(covariances = function(model, twin) {
    mu <- twin$mu
    for (c in intersect(seq_len(model$k), twin$z)) {
      twin$mu[c, ] <- colMeans(members(model, twin, c))
    }
    twin <- twin_covariances(model, twin)
    twin$mu <- mu
    twin
  })
)
