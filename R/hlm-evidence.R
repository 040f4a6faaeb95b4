# The posterior densities of hierarchical regressions, for log_evidence().

# Of Sigma and sigma alone: the fixed effects and the groups' deviations are
# integrated out in closed form. The coordinates are those of Sigma, and the log
# of 1 / sigma^2.
#' @exportS3Method
model_unbounded.hlm_model <- function(model, given, call) {
  data <- model$data
  q <- data$q
  diagonal <- data$diagonal == 1
  own <- seq_len(coordinate_count(q, diagonal))
  list(
    points = function(draws) {
      d <- hlm_draws_in(model, draws)
      cbind(
        hlm_coordinates(model, d), if (data$known == 0) -2 * log(d$sigma)
      )
    },
    log_density = function(x) {
      # in blocks, so that an interrupt need not wait for all
      cost <- length(data$bar) + length(data$fixed) + 1
      by_point_blocks(x, cost, function(x) {
        log_variance_density(model, x[, own, drop = FALSE], x[, -own])
      })
    }
  )
}

# log p(y | Sigma, sigma) p(Sigma) p(log beta), at coordinates of Sigma.
log_variance_density <- function(model, x, log_beta) {
  at <- hlm_at_points(model, x)
  if (model$data$known == 1) {
    log_beta <- numeric(nrow(x))
  }
  hlm_constant(model$data) + at$log_prior + .Call(
    C_hlm_log_marginal, model$data, as.double(aperm(at$factor, c(2, 3, 1))),
    as.double(log_beta)
  )
}

# What C_hlm_log_marginal leaves out.
hlm_constant <- function(data) {
  (data$log_weights - data$n * log(2 * pi) + sum(log(data$precision))) / 2 +
    if (data$known == 1) {
      0
    } else {
      data$shape * log(data$rate) - lgamma(data$shape)
    }
}

hlm_coordinates <- function(model, d) {
  factor_coordinates(aperm(d$factor, c(3, 1, 2)), model$data$diagonal == 1)
}

# list(factor, log_prior) at coordinates of Sigma, the second with the Jacobian.
hlm_at_points <- function(model, x) {
  data <- model$data
  q <- data$q
  diagonal <- data$diagonal == 1
  factor <- coordinate_factors(x, q, diagonal)
  log_prior <- over_variances(factor, diagonal, function(factor, at) {
    if (data$half_t == 1) {
      return(log_half_t_covariance(factor, data$df, data$scale[at]))
    }
    scale <- matrix(data$scale, q)[at, at, drop = FALSE]
    log_inverse_wishart(factor, data$df, scale)
  })
  list(
    factor = factor,
    log_prior = log_prior + log_factor_jacobian(x, q, diagonal)
  )
}

# Of several bars the deviations are as many as the groups.
#' @exportS3Method
model_unbounded.hlm_crossed_model <- function(model, given, call) {
  abort_no_evidence(
    model, "the deviations of several grouping factors cannot be integrated
    out",
    c("Compare fits by {.fn loo} or {.fn kfold}."), call
  )
}

# Of b, Sigma, and the groups' deviations, because they cannot be integrated out
# here. The coordinates of a group are L^-1 u_j, which are standard normal under
# the prior whatever Sigma is.
#' @exportS3Method
model_unbounded.hlm_binomial_model <- function(model, given, call) {
  frame <- check_frame(model, call)
  data <- model$data
  q <- data$q
  p <- data$p
  own <- coordinate_count(q, data$diagonal == 1)
  list(
    points = function(draws) {
      d <- hlm_draws_in(model, draws)
      cbind(unname(d$b), hlm_coordinates(model, d), standard_deviates(d))
    },
    log_density = function(x) {
      by_point_blocks(x, 2 * nrow(frame$x), function(x) {
        at <- hlm_at_points(model, x[, p + seq_len(own), drop = FALSE])
        log_grouped_joint(
          model, frame, x[, seq_len(p), drop = FALSE], at,
          x[, -seq_len(p + own), drop = FALSE]
        )
      })
    }
  )
}

# L^-1 u_j of each draw: draws x (q J), the elements of a group together.
standard_deviates <- function(d) {
  q <- dim(d$u)[[1L]]
  count <- dim(d$u)[[3L]]
  factor <- aperm(d$factor, c(3, 1, 2))
  out <- array(0, dim(d$u))
  for (k in seq_len(q)) {
    rest <- matrix(d$u[k, , ], ncol = count)
    for (c in seq_len(k - 1L)) {
      rest <- rest - rep(factor[, k, c], each = nrow(rest)) *
        matrix(out[c, , ], ncol = count)
    }
    out[k, , ] <- rest / rep(factor[, k, k], each = nrow(rest))
  }
  t(matrix(out, ncol = count))
}

# log p(y | b, u) p(b) p(Sigma) p(u | Sigma). b: points x p; at: of
# hlm_at_points(); v: points x (q J), the standard deviates.
log_grouped_joint <- function(model, frame, b, at, v) {
  data <- model$data
  q <- data$q
  eta <- tcrossprod(b, frame$x)
  if (!is.null(frame$offset)) {
    eta <- eta + rep(frame$offset, each = nrow(b))
  }
  for (k in seq_len(q)) {
    u <- 0
    for (c in seq_len(k)) {
      u <- u + at$factor[, k, c] *
        v[, seq.int(c, by = q, length.out = data$groups), drop = FALSE]
    }
    eta <- eta + u[, frame$group, drop = FALSE] *
      rep(frame$z[, k], each = nrow(b))
  }
  likelihood <- rowSums(share_log_lik(
    model_response(model), eta, frame$success, frame$total
  )) + sum(log_choose(frame))
  mean <- rep(data$mean, each = nrow(b))
  scale <- rep(1 / sqrt(data$precision), each = nrow(b))
  likelihood + at$log_prior +
    rowSums(matrix(stats::dnorm(b, mean, scale, log = TRUE), nrow(b))) +
    rowSums(matrix(stats::dnorm(v, log = TRUE), nrow(b)))
}
