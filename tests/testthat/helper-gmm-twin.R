# A slow twin of the sampler behind gibbs_gmm(), written from the formulas on
# its page.  It takes the same random numbers in the same order as the core: the
# gammas of pi; for each component the normals of mu_c; for each covariance its
# chi-squares and normals, column by column; one uniform an observation; one
# normal a missing entry.
#
# A twin's state is list(sweep, z, log_pi, mu, sigma, x, prob, kept): mu a k x d
# matrix, sigma a list of k matrices, whatever the form of the covariances, x
# the observations with the missing entries filled in, prob n x k.

twin_state <- function(model, state) {
  p <- gibbsite:::gmm_parameters(model, state)
  list(
    sweep = state$sweep, z = state$z, log_pi = state$log_pi, mu = p$mu,
    sigma = lapply(seq_len(model$k), function(c) {
      matrix(p$Sigma[c, , ], ncol(p$mu))
    }),
    x = filled_data(model, state), prob = matrix(state$prob, ncol = model$k),
    kept = state$kept
  )
}

# Missing entries are kept by row, then by column.
filled_data <- function(model, state) {
  x <- t(model$data$x)
  x[is.na(x)] <- state$x_missing
  t(x)
}

missing_entries <- function(model, x) {
  t(x)[t(is.na(model$data$x))]
}

state_of_twin <- function(model, twin) {
  state <- gibbsite:::gmm_state(
    model, twin$log_pi, twin$mu, twin_sigma(model, twin), twin$z
  )
  state$sweep <- twin$sweep
  state$x_missing <- missing_entries(model, twin$x)
  state$prob <- as.vector(twin$prob)
  state$kept <- twin$kept
  state
}

# In the form's own shape: Sigma[c, i, j], sigma2[c, j] or Sigma[i, j].
twin_sigma <- function(model, twin) {
  d <- ncol(twin$mu)
  by_component <- function(part, size) {
    t(matrix(vapply(twin$sigma, part, numeric(size)), size))
  }
  switch(model$covariance,
    full = array(by_component(as.vector, d^2), c(model$k, d, d)),
    diagonal = by_component(diag, d),
    shared = twin$sigma[[1L]]
  )
}

# ---- densities ---------------------------------------------------------------

# log N(x_i | mean, sigma) for the rows of x
log_normal <- function(x, mean, sigma) {
  upper <- chol(sigma)
  white <- backsolve(upper, t(x) - mean, transpose = TRUE)
  -0.5 * ncol(x) * log(2 * pi) - sum(log(diag(upper))) - 0.5 * colSums(white^2)
}

# log pi_c + log N(x_i | mu_c, Sigma_c): n x k. For an incomplete row only the
# observed entries are used.
twin_log_joint <- function(model, twin) {
  holes <- is.na(model$data$x)
  n <- nrow(holes)
  incomplete <- which(rowSums(holes) > 0)
  joint <- vapply(seq_len(model$k), function(c) {
    density <- log_normal(twin$x, twin$mu[c, ], twin$sigma[[c]])
    for (i in incomplete) {
      seen <- !holes[i, ]
      density[[i]] <- if (any(seen)) {
        log_normal(
          twin$x[i, seen, drop = FALSE], twin$mu[c, seen],
          twin$sigma[[c]][seen, seen, drop = FALSE]
        )
      } else {
        0
      }
    }
    twin$log_pi[[c]] + density
  }, numeric(n))
  matrix(joint, n)
}

# x_m | x_o, z = c ~ N(mu_m + Sigma_mo Sigma_oo^-1 (x_o - mu_o),
# Sigma_mm - Sigma_mo Sigma_oo^-1 Sigma_om): list(mean, covariance).
missing_conditional <- function(model, twin, i, c = twin$z[[i]]) {
  m <- is.na(model$data$x[i, ])
  mu <- twin$mu[c, ]
  sigma <- twin$sigma[[c]]
  if (all(m)) {
    return(list(mean = mu, covariance = sigma))
  }
  slope <- t(solve(
    sigma[!m, !m, drop = FALSE], sigma[!m, m, drop = FALSE]
  ))
  list(
    mean = drop(mu[m] + slope %*% (twin$x[i, !m] - mu[!m])),
    covariance = sigma[m, m, drop = FALSE] - slope %*% sigma[!m, m]
  )
}

row_largest <- function(x) {
  x[cbind(seq_len(nrow(x)), max.col(x, ties.method = "first"))]
}

row_log_sums <- function(log_joint) {
  largest <- row_largest(log_joint)
  largest + log(rowSums(exp(log_joint - largest)))
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

# IW(df, L L'): T T' with T C = L, C lower triangular, c_jj^2 chi-square with
# df - (d - j) degrees of freedom (j = 1..d), standard normals below.
inverse_wishart_variate <- function(df, scale) {
  d <- nrow(scale)
  c <- matrix(0, d, d)
  for (j in seq_len(d)) {
    c[j, j] <- sqrt(rchisq(1, df - (d - j)))
    c[seq_len(d) > j, j] <- rnorm(d - j)
  }
  crossprod(backsolve(t(c), chol(scale)))
}

members <- function(twin, c) {
  twin$x[twin$z == c, , drop = FALSE]
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
    x <- members(twin, c)
    precision <- solve(twin$sigma[[c]])
    upper <- chol(q0 + nrow(x) * precision)
    b <- q0 %*% prior$m0 + precision %*% colSums(x)
    white <- forwardsolve(t(upper), b) + rnorm(ncol(x))
    twin$mu[c, ] <- backsolve(upper, white)
  }
  twin
}

# sum_{z_i = c} (x_i - mu_c)(x_i - mu_c)'
scatter <- function(twin, c) {
  x <- members(twin, c)
  unname(crossprod(x - rep(twin$mu[c, ], each = nrow(x))))
}

# The conditional of each covariance, inverse Wishart or for each variable
# inverse gamma: list(df, scale), of which a shared covariance has one.
covariance_conditionals <- function(model, twin) {
  prior <- model$prior
  counts <- tabulate(twin$z, model$k)
  scatters <- lapply(seq_len(model$k), function(c) scatter(twin, c))
  if (model$covariance == "shared") {
    total <- Reduce(`+`, scatters)
    return(list(list(df = prior$nu0 + sum(counts), scale = prior$s0 + total)))
  }
  lapply(seq_len(model$k), function(c) {
    list(df = prior$nu0 + counts[[c]], scale = prior$s0 + scatters[[c]])
  })
}

# Sigma_c | mu_c, z ~ IW(nu0 + n_c, S0 + scatter_c);
# Sigma | mu, z ~ IW(nu0 + n, S0 + sum_c scatter_c);
# sigma2_cj | mu_c, z ~ IG((nu0 + n_c) / 2, (S0 + scatter_c)_jj / 2).
# `alter` makes wrong samplers: it changes the result of
# covariance_conditionals().
twin_covariances <- function(model, twin, alter = identity) {
  sigma <- lapply(covariance_conditionals(model, twin), function(conditional) {
    conditional <- alter(conditional)
    if (model$covariance != "diagonal") {
      return(inverse_wishart_variate(conditional$df, conditional$scale))
    }
    variance <- vapply(diag(conditional$scale), function(sum) {
      sum / rchisq(1, conditional$df)
    }, 0)
    diag(variance, length(variance))
  })
  twin$sigma <- rep(sigma, length.out = model$k)
  twin
}

# P(z_i = c | .) proportional to pi_c N(x_i | mu_c, Sigma_c), observed entries:
# the number of partial sums, from left to right, that are <= u times the total
twin_allocations <- function(model, twin) {
  log_joint <- twin_log_joint(model, twin)
  weight <- exp(log_joint - row_largest(log_joint))
  u <- runif(nrow(weight))
  twin$z <- vapply(seq_along(u), function(i) {
    partial <- cumsum(weight[i, ])
    1L + sum(partial[-model$k] <= u[[i]] * partial[[model$k]])
  }, 0L)
  twin$log_lik <- sum(row_log_sums(log_joint))
  twin$probability <- weight / rowSums(weight)
  twin
}

# x_missing | z, x_observed
twin_imputation <- function(model, twin) {
  holes <- is.na(model$data$x)
  for (i in which(rowSums(holes) > 0)) {
    given <- missing_conditional(model, twin, i)
    root <- chol(given$covariance)
    twin$x[i, holes[i, ]] <- given$mean + rnorm(nrow(root)) %*% root
  }
  twin
}

twin_blocks <- list(
  weights = twin_weights, means = twin_means, covariances = twin_covariances,
  allocations = twin_allocations, imputation = twin_imputation
)

gmm_sweep_twin <- function(model, twin, blocks = twin_blocks) {
  for (block in blocks) {
    twin <- block(model, twin)
  }
  twin$sweep <- twin$sweep + 1
  twin
}

# P(z_i = c | .) of a recorded sweep enters its running mean.
twin_keep <- function(twin) {
  twin$kept <- twin$kept + 1
  twin$prob <- twin$prob + (twin$probability - twin$prob) / twin$kept
  twin
}

# what the core records: pi, mu, covariances, log_lik, n_occupied, z, x_missing
twin_row <- function(model, twin) {
  c(
    exp(twin$log_pi), as.vector(twin$mu), as.vector(twin_sigma(model, twin)),
    twin$log_lik, length(unique(twin$z)), twin$z,
    missing_entries(model, twin$x)
  )
}

# ---- a small model with an informative prior ---------------------------------

# No hyperparameter is 0, 1 or the identity: a sampler that drops one differs.
# `holes`: a logical n x d matrix of the entries to hide, or NULL.
tiny_gmm <- function(n = 12, d = 2, k = 2, alpha = 1.7, covariance = "full",
                     holes = NULL, keep = character()) {
  x <- matrix(rnorm(n * d, 0.5, 1.5), n, d)
  colnames(x) <- paste0("v", seq_len(d))
  distance <- abs(outer(seq_len(d), seq_len(d), "-"))
  prior <- gmm_prior(
    alpha = alpha, m0 = rep(c(1.3, -0.9), length.out = d),
    v0 = 0.6 * 0.4^distance, nu0 = d + 4.5,
    s0 = if (covariance == "diagonal") {
      diag(rep(c(4.1, 2.7), length.out = d), d)
    } else {
      4.1 * (-0.35)^distance
    }
  )
  # every field is given, so that its message about a constant column does not
  # matter
  prior <- suppressMessages(
    gibbsite:::complete_gmm_prior(prior, x, k, covariance)
  )
  if (!is.null(holes)) {
    x[holes] <- NA
  }
  gibbsite:::gmm_model(x, k, prior, covariance, keep)
}

# Each entry is missing with probability `rate`.  The first row is complete (no
# column may be missing wholly), the second wholly missing.
random_holes <- function(n, d, rate = 0.35) {
  holes <- matrix(runif(n * d) < rate, n, d)
  holes[1, ] <- FALSE
  if (n > 1) {
    holes[2, ] <- TRUE
  }
  holes
}

# ---- quantities that do not depend on the labels -----------------------------

# Heavy-tailed ones (the inverse Wishart has few moments) go through atan().
gmm_invariants <- function(model, state, twin = twin_state(model, state)) {
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
    log_joint = gibbsite:::gmm_log_joint(model, state),
    log_lik = sum(row_log_sums(twin_log_joint(model, twin))),
    weight = max(weight), mean = mean, log_det = log_det,
    cov = atan(covariance[lower] / 2),
    occupied = sum(counts > 0), same = sum(counts^2),
    log_z = sum(counts * twin$log_pi), imputed_quantities(model, twin)
  )
}

# For the rows that are partly missing also the product of all entries: it
# differs between the conditional and the marginal distribution of the missing
# entries.
imputed_quantities <- function(model, twin) {
  holes <- rowSums(is.na(model$data$x))
  if (all(holes == 0)) {
    return(NULL)
  }
  missing <- missing_entries(model, twin$x)
  partly <- holes > 0 & holes < ncol(twin$x)
  centred <- twin$x[partly, , drop = FALSE] - twin$mu[twin$z[partly], ]
  c(
    missing_first = missing[[1]], missing_last = missing[[length(missing)]],
    missing_mean = atan(mean(missing)),
    missing_square = atan(mean(missing^2) / 4),
    missing_cross = atan(sum(apply(centred, 1, prod)) / 2)
  )
}

# For the joint test also quantities of the data and of the first component:
# its label is identified, because alpha differs between the components.
gmm_all_quantities <- function(model, state) {
  twin <- twin_state(model, state)
  x <- twin$x
  sigma <- twin$sigma[[1]]
  c(
    gmm_invariants(model, state, twin),
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
      gibbsite:::C_gmm_sweeps, alter(model$data, model$prior), state, n,
      control, FALSE
    )
  }
}

# The twin with one block replaced.
twin_mutant <- function(...) {
  blocks <- utils::modifyList(twin_blocks, list(...))
  function(model, state, n, control) {
    twin <- twin_state(model, state)
    for (i in seq_len(n)) {
      twin <- gmm_sweep_twin(model, twin, blocks)
    }
    list(state = state_of_twin(model, twin))
  }
}

gmm_mutants <- list(
  # the inverse of the scale, for a diagonal its reciprocals
  rate_for_scale = twin_mutant(covariances = function(model, twin) {
    twin_covariances(model, twin, function(conditional) {
      conditional$scale <- solve(conditional$scale)
      conditional
    })
  }),
  # IG(nu0 / 4, .) where IG(nu0 / 2, .) is meant
  nu0_halved = core_mutant(function(data, prior) {
    data$nu0 <- data$nu0 / 2
    data
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
      twin$mu[c, ] <- colMeans(members(twin, c))
    }
    twin <- twin_covariances(model, twin)
    twin$mu <- mu
    twin
  }),
  # the shared covariance from the scatter of all, but nu0 + n / k
  shared_count_of_one = twin_mutant(covariances = function(model, twin) {
    twin_covariances(model, twin, function(conditional) {
      conditional$df <- model$prior$nu0 + length(twin$z) / model$k
      conditional
    })
  }),
  # missing entries from N(mu_c, Sigma_c), whatever was observed
  marginal_imputation = twin_mutant(imputation = function(model, twin) {
    impute_marginally(model, twin)
  }),
  # missing entries at their conditional mean
  imputation_of_means = twin_mutant(imputation = function(model, twin) {
    holes <- is.na(model$data$x)
    for (i in which(rowSums(holes) > 0)) {
      twin$x[i, holes[i, ]] <- missing_conditional(model, twin, i)$mean
    }
    twin
  }),
  # missing entries given the z of the sweep before, then z with these
  # integrated out: each step is right by itself, but the values and z at the
  # end of a sweep are not a draw from their joint distribution
  imputation_first = function(model, state, n, control) {
    twin <- twin_state(model, state)
    order <- c(
      "weights", "means", "covariances", "imputation", "allocations"
    )
    for (i in seq_len(n)) {
      twin <- gmm_sweep_twin(model, twin, twin_blocks[order])
    }
    list(state = state_of_twin(model, twin))
  },
  # z given the old imputed values as if observed, then these marginally: wrong
  # except for independent variables, for which the missing entries depend on z
  # only; then both steps are full conditionals of a right sampler that mixes
  # more slowly
  stale_imputation = twin_mutant(
    allocations = function(model, twin) {
      model$data$x <- twin$x
      twin_allocations(model, twin)
    },
    imputation = function(model, twin) impute_marginally(model, twin)
  )
)

impute_marginally <- function(model, twin) {
  holes <- is.na(model$data$x)
  for (i in which(rowSums(holes) > 0)) {
    root <- chol(twin$sigma[[twin$z[[i]]]])
    x <- twin$mu[twin$z[[i]], ] + drop(rnorm(nrow(root)) %*% root)
    twin$x[i, holes[i, ]] <- x[holes[i, ]]
  }
  twin
}
