# The posterior density of a mixture, for log_evidence().
#
# The draws are numbered as the pivot says (R/gmm-labels.R), so that they are
# draws in the region where a point has the pivot's numbering. Every point has
# one numbering in it. The density there of draws that are numbered is the sum
# of the posterior density over all k! numberings, and its integral is the
# evidence. Only p(pi) changes with the numbering: where alpha is the same for
# all components, the sum is k! times one value. (Fruehwirth-Schnatter 2004
# makes the proposal symmetric instead, which needs k! terms for every point.)

#' @exportS3Method
model_unbounded.gmm_model <- function(model, given, call) {
  if (is.null(model$data)) {
    abort_no_data(call = call)
  }
  k <- model$k
  if (!is_exchangeable(model) && k > 12L) {
    abort_argument(
      "{.arg fit} must have 12 components at most where {.field alpha} differs
       between them, not {k}: all their numberings are summed.",
      call = call, class = "no_evidence"
    )
  }
  if (k > 1L) {
    model <- with_pivot(model, call)
  }
  size <- length(model$data$x) * k
  list(
    points = function(draws) gmm_points(model, draws, call),
    log_density = function(x) {
      by_point_blocks(x, size, function(x) log_numbered_density(model, x))
    }
  )
}

# log(pi_c / pi_k) for c < k, mu, and the coordinates of each covariance.
gmm_points <- function(model, draws, call) {
  k <- model$k
  if (k > 1L) {
    draws <- move_components(model, draws, pivot_labels(model, draws))
  }
  b <- gmm_blocks(model, draws)
  if (any(b$pi == 0)) {
    abort_argument(
      c("{.arg fit} has weights of components that are 0 to rounding.",
        i = "Fit with fewer components, or with a larger {.field alpha}."),
      call = call, class = "no_evidence"
    )
  }
  diagonal <- model$covariance == "diagonal"
  coordinates <- lapply(seq_len(gmm_matrices(model)), function(c) {
    factor_coordinates(gmm_factors(b, c), diagonal)
  })
  weights <- log(b$pi[, -k, drop = FALSE]) - log(b$pi[, k])
  unname(do.call(cbind, c(list(weights, b$mu), coordinates)))
}

# How many covariance matrices there are.
gmm_matrices <- function(model) {
  if (model$covariance == "shared") 1L else model$k
}

# The factor of the covariance of component c in each draw: draws x d x d.
gmm_factors <- function(blocks, c) {
  d <- blocks$d
  covariance <- array(0, c(nrow(blocks$pi), d, d))
  for (i in seq_len(d)) {
    for (j in seq_len(d)) {
      covariance[, i, j] <- gmm_covariance(blocks, i, j)[, c]
    }
  }
  sd <- lapply(seq_len(d), function(i) sqrt(covariance[, i, i]))
  for (i in seq_len(d)) {
    for (j in seq_len(d)) {
      covariance[, i, j] <- covariance[, i, j] / sd[[i]] / sd[[j]]
    }
  }
  factor <- factor_correlations(covariance)
  for (i in seq_len(d)) {
    factor[, i, ] <- factor[, i, ] * sd[[i]]
  }
  factor
}

# At each row of x; -Inf where the numbering is not the pivot's.
log_numbered_density <- function(model, x) {
  at <- gmm_at_points(model, x)
  out <- rep(-Inf, nrow(x))
  inside <- is.finite(rowSums(at$draws))
  if (model$k > 1L && any(inside)) {
    labels <- pivot_labels(model, at$draws[inside, , drop = FALSE])
    inside[inside] <- rowSums(labels != col(labels)) == 0
  }
  if (any(inside)) {
    blocks <- gmm_blocks(model, at$draws[inside, , drop = FALSE])
    likelihood <- rowSums(evaluate_observed(
      blocks, model$data$x, density = TRUE
    )$log_density)
    out[inside] <- likelihood + at$log_prior[inside]
  }
  out
}

# list(draws, log_prior): the points in the order of the fit's columns, and the
# log prior summed over numberings, with the Jacobian.
gmm_at_points <- function(model, x) {
  prior <- model$prior
  k <- model$k
  d <- length(model$variables)
  diagonal <- model$covariance == "diagonal"
  log_pi <- cbind(x[, seq_len(k - 1L), drop = FALSE], 0)
  high <- do.call(pmax, lapply(seq_len(k), function(c) log_pi[, c]))
  log_pi <- log_pi - high - log(rowSums(exp(log_pi - high)))
  mu <- x[, k - 1L + seq_len(k * d), drop = FALSE]
  own <- coordinate_count(d, diagonal)
  log_prior <- log_weights_prior(log_pi, prior$alpha) + rowSums(log_pi) +
    log_means_prior(mu, k, prior)
  covariances <- lapply(seq_len(gmm_matrices(model)), function(c) {
    at <- k - 1L + k * d + (c - 1L) * own + seq_len(own)
    coordinates <- x[, at, drop = FALSE]
    factor <- coordinate_factors(coordinates, d, diagonal)
    log_prior <<- log_prior + log_factor_jacobian(coordinates, d, diagonal) +
      over_variances(factor, diagonal, function(factor, at) {
        log_inverse_wishart(factor, prior$nu0, prior$s0[at, at, drop = FALSE])
      })
    if (diagonal) factor_variances(factor) else factor_products(factor)
  })
  # components run fastest
  sigma <- lapply(seq_len(ncol(covariances[[1L]])), function(j) {
    vapply(covariances, function(one) one[, j], numeric(nrow(x)))
  })
  sigma <- matrix(unlist(sigma), nrow(x))
  list(draws = cbind(exp(log_pi), mu, sigma), log_prior = log_prior)
}

# log of the sum of p(pi) over all numberings of the components: a Dirichlet
# density, times the permanent of pi_c^(alpha_j - 1) instead of its product.
log_weights_prior <- function(log_pi, alpha) {
  k <- length(alpha)
  constant <- lgamma(sum(alpha)) - sum(lgamma(alpha))
  if (length(unique(alpha)) == 1L) {
    return(constant + lgamma(k + 1) + (alpha[[1L]] - 1) * rowSums(log_pi))
  }
  # sums over the ways to give the first components the alphas of a set, by sets
  sums <- vector("list", 2^k)
  sums[[1L]] <- numeric(nrow(log_pi))
  bits <- 2^(seq_len(k) - 1)
  for (set in seq_len(2^k - 1)) {
    members <- which(set %/% bits %% 2 == 1)
    c <- length(members)
    terms <- vapply(members, function(j) {
      sums[[set - bits[[j]] + 1]] + (alpha[[j]] - 1) * log_pi[, c]
    }, numeric(nrow(log_pi)))
    terms <- matrix(terms, nrow(log_pi))
    high <- apply(terms, 1L, max)
    sums[[set + 1]] <- high + log(rowSums(exp(terms - high)))
  }
  constant + sums[[2^k]]
}

# mu: points x (k d), components fastest.
log_means_prior <- function(mu, k, prior) {
  d <- length(prior$m0)
  root <- chol(prior$v0)
  constant <- -d / 2 * log(2 * pi) - sum(log(diag(root)))
  values <- lapply(seq_len(k), function(c) {
    own <- t(mu[, c + k * (seq_len(d) - 1L), drop = FALSE]) - prior$m0
    constant - colSums(backsolve(root, own, transpose = TRUE)^2) / 2
  })
  Reduce(`+`, values)
}

# Sigma = L L': points x d^2.
factor_products <- function(factor) {
  d <- dim(factor)[[2L]]
  out <- array(0, dim(factor))
  for (i in seq_len(d)) {
    for (j in seq_len(d)) {
      for (c in seq_len(min(i, j))) {
        out[, i, j] <- out[, i, j] + factor[, i, c] * factor[, j, c]
      }
    }
  }
  matrix(out, dim(factor)[[1L]])
}

factor_variances <- function(factor) {
  d <- dim(factor)[[2L]]
  matrix(unlist(lapply(seq_len(d), function(k) {
    factor[, k, k]^2
  })), dim(factor)[[1L]])
}
