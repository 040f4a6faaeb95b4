# A slow twin of the sampler of mixtures with an unknown number of components,
# from the formulas at the head of src/core/gmm/gmm_unknown.h, on the same
# random numbers: of four tries of moves; the means of the components with
# observations, then their covariances; one uniform for k; those of a slice step
# for log alpha; S0 as the inverse of an inverse Wishart variate (diagonal: a
# chi-square for each variable); the covariances of the empty components, then
# their means; the gammas of pi; one uniform an observation; one normal a
# missing entry.
#
# A twin's state is that of helper-gmm-twin.R with k components, and k, alpha
# and s0 (d x d).

twin_unknown <- function(model, state) {
  fixed <- gibbsite:::fixed_of(model, state)
  twin <- twin_state(fixed, gibbsite:::fixed_state(model, state))
  twin$k <- state$k
  twin$alpha <- state$alpha
  twin$s0 <- matrix(state$s0, ncol(twin$mu))
  twin
}

fixed_of_twin <- function(model, twin, k = twin$k) {
  fixed <- gibbsite:::fixed_model(model, k, twin$alpha, twin$s0)
  fixed$data$x <- model$data$x
  fixed
}

# g of each component
twin_concentration_of <- function(model, alpha, k) {
  if (model$prior$number$weights == "dynamic") alpha / k else alpha
}

# The log probability of a partition into clusters of these sizes.
log_partition_twin <- function(model, sizes, alpha, k) {
  g <- twin_concentration_of(model, alpha, k)
  lgamma(g * k) - lgamma(g * k + sum(sizes)) +
    sum(lgamma(g + sizes) - lgamma(g))
}

unknown_blocks <- list(
  moves = function(model, twin) {
    for (try in 1:4) {
      moved <- twin_moves(
        fixed_of_twin(model, twin), twin, empty = 0.6, always = TRUE
      )
      twin[names(moved)] <- moved
    }
    twin
  },
  numbering = function(model, twin) {
    filled <- sort(unique(twin$z))
    twin$z <- match(twin$z, filled)
    twin$mu <- twin$mu[filled, , drop = FALSE]
    twin$sigma <- twin$sigma[filled]
    twin
  },
  filled = function(model, twin) {
    fixed <- fixed_of_twin(model, twin, length(twin$sigma))
    twin_covariances(fixed, twin_means(fixed, twin))
  },
  size = function(model, twin) twin_size(model, twin),
  alpha = function(model, twin) {
    if (is.character(model$prior$alpha)) {
      sizes <- tabulate(twin$z)
      twin$alpha <- twin_slice(function(alpha) {
        if (!is.finite(alpha)) {
          return(-Inf)
        }
        df(alpha, 6, 3, log = TRUE) +
          log_partition_twin(model, sizes, alpha, twin$k)
      }, twin$alpha)
    }
    twin
  },
  scale = function(model, twin) twin_drawn_scale(model, twin),
  empty = function(model, twin) twin_empty(model, twin),
  weights = function(model, twin) {
    fixed <- fixed_of_twin(model, twin)
    twin_weights(fixed, twin)
  },
  allocations = function(model, twin) {
    fixed <- fixed_of_twin(model, twin)
    twin_imputation(fixed, twin_allocations(fixed, twin))
  }
)

# with_orders: the factor k! / (k - k+)!
twin_size <- function(model, twin, with_orders = TRUE) {
  sizes <- tabulate(twin$z)
  k <- seq(length(sizes), model$k)
  log_weight <- model$data$unknown$log_prior[k] +
    vapply(k, function(k) {
      log_partition_twin(model, sizes, twin$alpha, k)
    }, 0)
  if (with_orders) {
    log_weight <- log_weight + lfactorial(k) - lfactorial(k - length(sizes))
  }
  weight <- exp(log_weight - max(log_weight))
  u <- runif(1) * sum(weight)
  twin$k <- k[[1 + sum(cumsum(weight)[-length(k)] <= u)]]
  twin
}

# counted: the covariances that count in the degrees of freedom
twin_drawn_scale <- function(model, twin, counted = matrices) {
  prior <- model$prior
  if (!identical(prior$s0, "drawn")) {
    return(twin)
  }
  matrices <- if (model$covariance == "shared") 1 else length(twin$sigma)
  rate <- prior$s0_df * solve(prior$s0_mean) +
    Reduce(`+`, lapply(twin$sigma[seq_len(matrices)], solve))
  df <- prior$s0_df + counted * prior$nu0
  twin$s0 <- if (model$covariance == "diagonal") {
    diag(vapply(diag(rate), function(rate) rchisq(1, df) / rate, 0),
         nrow(rate))
  } else {
    solve(inverse_wishart_variate(df, rate))
  }
  twin
}

twin_empty <- function(model, twin) {
  prior <- model$prior
  d <- ncol(twin$mu)
  filled <- nrow(twin$mu)
  added <- seq_len(twin$k - filled)
  new <- lapply(added, function(c) {
    if (model$covariance == "shared") {
      return(twin$sigma[[1]])
    }
    covariance_variate(model, list(df = prior$nu0, scale = twin$s0))
  })
  q0 <- solve(prior$v0)
  upper <- chol(q0)
  for (c in added) {
    white <- forwardsolve(t(upper), q0 %*% prior$m0) + rnorm(d)
    twin$mu <- rbind(twin$mu, drop(backsolve(upper, white)))
  }
  twin$sigma <- c(twin$sigma, new)
  twin
}

unknown_sweep_twin <- function(model, twin, blocks = unknown_blocks) {
  for (block in blocks) {
    twin <- block(model, twin)
  }
  twin$sweep <- twin$sweep + 1
  twin
}

state_of_unknown_twin <- function(model, twin) {
  fixed <- fixed_of_twin(model, twin)
  gibbsite:::unknown_state(
    model, state_of_twin(fixed, twin), twin$k, twin$alpha, twin$s0
  )
}

unknown_twin_mutant <- function(...) {
  blocks <- utils::modifyList(unknown_blocks, list(...))
  function(model, state, n, control) {
    twin <- twin_unknown(model, state)
    for (i in seq_len(n)) {
      twin <- unknown_sweep_twin(model, twin, blocks)
    }
    list(state = state_of_unknown_twin(model, twin))
  }
}

# The core on altered data of the prior.
unknown_core_mutant <- function(alter) {
  data_mutant(function(data) {
    data$unknown <- alter(data$unknown)
    data
  })
}

unknown_mutants <- list(
  orders_dropped = unknown_twin_mutant(
    moves = function(model, twin) twin,
    size = function(model, twin) twin_size(model, twin, FALSE)
  ),
  # one alpha for every k
  static_for_dynamic = unknown_core_mutant(function(unknown) {
    unknown$dynamic <- 1L - unknown$dynamic
    unknown
  }),
  # p(k) without its shape: uniform on 1, ..., max
  prior_of_k_dropped = unknown_core_mutant(function(unknown) {
    unknown$log_prior[] <- 0
    unknown
  }),
  # alpha ~ F(3, 6)
  prior_of_alpha_wrong = unknown_core_mutant(function(unknown) {
    unknown[c("f1", "f2")] <- unknown[c("f2", "f1")]
    unknown
  }),
  # empty components have the parameters of the first one
  empty_not_drawn = unknown_twin_mutant(
    moves = function(model, twin) twin,
    empty = function(model, twin) {
      copies <- c(seq_len(nrow(twin$mu)), rep(1, twin$k - nrow(twin$mu)))
      twin$mu <- twin$mu[copies, , drop = FALSE]
      twin$sigma <- twin$sigma[copies]
      twin
    }
  ),
  # degrees of freedom of all k components, where those with observations count
  scale_of_all = unknown_twin_mutant(
    moves = function(model, twin) twin,
    scale = function(model, twin) twin_drawn_scale(model, twin, twin$k)
  )
)

# ---- exact posteriors of tiny data -------------------------------------------

# All partitions of n observations: one row each, clusters numbered in the order
# of their first members.
all_partitions <- function(n) {
  rows <- matrix(1L, 1, 1)
  for (i in seq_len(n)[-1]) {
    rows <- do.call(rbind, lapply(seq_len(nrow(rows)), function(r) {
      next_one <- seq_len(max(rows[r, ]) + 1L)
      cbind(rows[rep(r, length(next_one)), , drop = FALSE], next_one)
    }))
  }
  unname(rows)
}

# log p(x) of one cluster of one variable, mu ~ N(m0, v0) integrated out in
# closed form and sigma2 ~ IG(nu0 / 2, s0 / 2) by quadrature.
log_cluster_evidence <- function(x, prior) {
  n <- length(x)
  density <- function(log_v) {
    vapply(log_v, function(log_v) {
      v <- exp(log_v)
      total <- v + n * prior$v0[1, 1]
      y <- x - prior$m0
      square <- sum(y^2) / v - prior$v0[1, 1] * sum(y)^2 / (v * total)
      exp(
        -n / 2 * log(2 * pi) - (n - 1) / 2 * log_v - log(total) / 2 -
          square / 2 + dgamma(1 / v, prior$nu0 / 2, prior$s0[1, 1] / 2,
                              log = TRUE) - log_v
      )
    }, 0)
  }
  log(integrate(density, -12, 12, rel.tol = 1e-9, subdivisions = 1000L)$value)
}

# The joint posterior of partition and k, partitions x max; with a drawn alpha
# by quadrature over it.
exact_partitions <- function(model) {
  x <- drop(model$data$x)
  partitions <- all_partitions(length(x))
  evidence <- apply(partitions, 1, function(z) {
    sum(vapply(split(x, z), log_cluster_evidence, 0, model$prior))
  })
  prior <- t(apply(partitions, 1, function(z) {
    sizes <- tabulate(z)
    vapply(seq_len(model$k), function(k) {
      if (k < length(sizes)) {
        return(0)
      }
      probability <- function(alpha) {
        vapply(alpha, function(alpha) {
          exp(log_partition_twin(model, sizes, alpha, k))
        }, 0)
      }
      value <- if (is.character(model$prior$alpha)) {
        integrate(function(t) {
          probability(exp(t)) * df(exp(t), 6, 3) * exp(t)
        }, -15, 15, rel.tol = 1e-8, subdivisions = 1000L)$value
      } else {
        probability(model$prior$alpha)
      }
      value * exp(
        model$data$unknown$log_prior[[k]] + lfactorial(k) -
          lfactorial(k - length(sizes))
      )
    }, 0)
  }))
  joint <- prior * exp(evidence - max(evidence))
  list(partitions = partitions, prior = prior, posterior = joint / sum(joint))
}
