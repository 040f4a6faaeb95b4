# A slow twin of the sampler behind gibbs_lm(), written from the formulas on its
# page with full matrices. It takes the same random numbers in the same order as
# the core: the normals of alpha, of theta (in the order of the eigenvalues), of
# the directions that the data do not inform, and of the missing responses; then
# the gammas of lambda and beta, or the uniforms of their slice steps. With the
# horseshoe the normals of theta are the noise of the slopes, or of the
# observations where they are fewer, and the gammas are those of beta and then
# of the scales.
#
# `wrong` names a mistake to be made:
#   rank_ignored   lambda's shape counts all slopes, not those informed
#   n_halved       beta's shape is c + n/4
#   rate_whole     beta's rate is d + RSS
#   intercept_raw  the intercept is alpha, not alpha - m'w
#   prior_gap      alpha's prior mean is left out
#   jacobian       the slice steps leave out the change of variable
#   scales_alone   the horseshoe's local scales do not see the slopes

# What the twin knows of the model, from the data alone.
twin_lm_data <- function(model) {
  frame <- model$frame
  design <- model$layout
  used <- gibbsite:::rows_used(frame)
  v <- if (is.null(frame$weights)) rep(1, sum(used)) else frame$weights[used]
  offset <- if (is.null(frame$offset)) 0 * frame$y else frame$offset
  y <- (frame$y - offset)[used]
  x <- frame$x[used, design$slopes, drop = FALSE]
  intercept <- length(design$intercept) == 1
  means <- if (intercept) colSums(v * x) / sum(v) else numeric(ncol(x))
  z <- sweep(sweep(x, 2, means), 2, model$prior$scale, "/")
  list(
    y = y, v = v, z = unname(z), means = means, intercept = intercept,
    centre = if (intercept) sum(v * y) / sum(v) else 0
  )
}

# The sweep and its mistakes stand in one place.
twin_lm_sweep <- function( # nolint: cyclocomp_linter.
    model, state, wrong = "") {
  d <- twin_lm_data(model)
  prior <- model$prior
  basis <- model$data$vectors
  p <- nrow(basis)
  r <- ncol(basis)
  n <- length(d$y)
  m <- if (is.null(model$data$missing)) 0 else nrow(model$data$missing$x)
  e <- list(
    alpha = rnorm(1), theta = rnorm(r), free = rnorm(if (r < p) p else 0),
    y = rnorm(m)
  )
  nig <- prior$type == "nig"
  horseshoe <- prior$type == "horseshoe"
  lambda <- state$lambda
  beta <- state$beta
  gram <- crossprod(d$z, d$v * d$z)
  right <- crossprod(d$z, d$v * (d$y - d$centre))
  k <- if (d$intercept) prior$intercept_sd^-2 else 0
  if (horseshoe) {
    local <- state$local
    lambda <- twin_slice(function(lambda) {
      twin_lm_log_global(d, prior, local, lambda, k)
    }, lambda)
    beta <- twin_lm_beta_alone(d, prior, local / lambda, k)
  } else if (nig) {
    beta <- twin_lm_beta_alone(d, prior, rep(1 / prior$lambda, p), k)
  } else if (model$data$collapsed == 1) {
    plain <- wrong == "jacobian"
    density <- function(lambda, beta) {
      across <- diag(1 / (beta * d$v), n) + tcrossprod(d$z) / lambda
      if (d$intercept) across <- across + 1 / k
      shift <- if (d$intercept) prior$intercept_mean else 0
      root <- chol(across)
      white <- backsolve(root, d$y - shift, transpose = TRUE)
      (prior$slope_shape - 1) * log(lambda) - prior$slope_rate * lambda +
        (prior$noise_shape - 1) * log(beta) - prior$noise_rate * beta -
        sum(log(diag(root))) - sum(white^2) / 2
    }
    lambda <- twin_slice(function(l) density(l, beta) - plain * log(l), lambda)
    beta <- twin_slice(function(b) density(lambda, b) - plain * log(b), beta)
  }
  unit <- if (nig || horseshoe) beta else 1
  alpha <- 0
  if (d$intercept) {
    q <- beta * sum(d$v) + k * unit
    known <- if (wrong == "prior_gap") 0 else k * unit * prior$intercept_mean
    alpha <- (beta * sum(d$v) * d$centre + known) / q + e$alpha / sqrt(q)
  }
  size <- colSums(basis * (gram %*% basis))
  scales <- NULL
  if (horseshoe) {
    wide <- local / lambda
    if (p == 0) {
      u <- numeric()
    } else if (r == p) {
      a <- gram + diag(1 / wide, p)
      u <- solve(a, right) + backsolve(chol(a), e$theta) / sqrt(beta)
    } else {
      b <- sqrt(size) * t(basis)
      x <- e$free * sqrt(wide / beta)
      y <- b %*% x + e$theta / sqrt(beta)
      across <- diag(r) + b %*% (wide * t(b))
      target <- drop(crossprod(basis, right)) / sqrt(size)
      u <- x + wide * crossprod(b, solve(across, target - y))
    }
    precision <- if (wrong == "scales_alone") 0 else beta * lambda
    scales <- twin_lm_local(state, drop(u), precision)
  } else {
    # its conditional mean plus noise along the eigenvectors
    precision <- beta * gram + diag(lambda * unit, p)
    u <- if (p > 0) solve(precision, beta * right) else numeric()
    u <- u + basis %*% (e$theta / sqrt(beta * size + lambda * unit))
  }
  if (prior$type == "hierarchical" && model$data$collapsed == 0) {
    shape <- if (wrong == "rank_ignored") p else r
    lambda <- exp(log(twin_gamma(prior$slope_shape + shape / 2)) -
                    log(prior$slope_rate + sum(u^2) / 2))
    rss <- sum(d$v * (d$y - alpha - d$z %*% u)^2)
    beta <- exp(
      log(twin_gamma(prior$noise_shape +
                       if (wrong == "n_halved") n / 4 else n / 2)) -
        log(prior$noise_rate + if (wrong == "rate_whole") rss else rss / 2)
    )
  }
  free <- numeric(p)
  if (r < p && !horseshoe) {
    free <- e$free / sqrt(lambda * unit)
    u <- u + free - basis %*% crossprod(basis, free)
  }
  slopes <- drop(u) / prior$scale
  w <- numeric(length(model$coefficients))
  w[model$layout$slopes] <- slopes
  w[model$layout$intercept] <-
    if (wrong == "intercept_raw") alpha else alpha - sum(slopes * d$means)
  eta <- drop(model$frame$x %*% w)
  used <- gibbsite:::rows_used(model$frame)
  missing <- which(is.na(model$frame$y))
  drawn <- if (m > 0) {
    eta[missing] + model$data$missing$offset +
      e$y / sqrt(beta * model$data$missing$weight)
  }
  row <- c(
    w, 1 / sqrt(beta), if (horseshoe) 1 / sqrt(lambda) else if (!nig) lambda,
    sum(dnorm(d$y, eta[used], 1 / sqrt(beta * d$v), log = TRUE)), drawn
  )
  list(
    row = unname(row),
    state = c(
      list(lambda = lambda, beta = beta, sweep = state$sweep + 1), scales
    )
  )
}

# The responses with all coefficients integrated out: their covariance matrix
# times beta, and the squares of their distances. wide: the prior variances of
# the u_j times beta; k: the prior precision of alpha by beta.
twin_lm_marginal <- function(d, prior, wide, k) {
  across <- diag(1 / d$v, length(d$y)) + d$z %*% (wide * t(d$z))
  shift <- if (d$intercept) prior$intercept_mean else 0
  if (d$intercept) across <- across + 1 / k
  list(
    across = across,
    squares = drop(crossprod(d$y - shift, solve(across, d$y - shift)))
  )
}

twin_lm_beta_alone <- function(d, prior, wide, k) {
  squares <- twin_lm_marginal(d, prior, wide, k)$squares
  exp(log(twin_gamma(prior$noise_shape + length(d$y) / 2)) -
        log(prior$noise_rate + squares / 2))
}

# log p(lambda | local, y), where the root of 1 / lambda is half-Cauchy.
twin_lm_log_global <- function(d, prior, local, lambda, k) {
  found <- twin_lm_marginal(d, prior, local / lambda, k)
  -1.5 * log(lambda) - log(1 + 1 / (lambda * prior$tau^2)) -
    sum(log(diag(chol(found$across)))) -
    (prior$noise_shape + length(d$y) / 2) *
      log(prior$noise_rate + found$squares / 2)
}

# The local scales of the horseshoe and their auxiliary variables.
twin_lm_local <- function(state, u, precision) {
  inverse <- function(rate) rate / twin_gamma(1)
  local <- state$local
  aux <- state$local_aux
  for (j in seq_along(u)) {
    local[j] <- inverse(1 / aux[j] + precision * u[j]^2 / 2)
    aux[j] <- inverse(1 + 1 / local[j])
  }
  list(local = local, local_aux = aux)
}

# Gamma(shape, 1) as the core draws it.
twin_gamma <- function(shape) {
  if (shape >= 1) {
    return(rgamma(1, shape))
  }
  larger <- rgamma(1, shape + 1)
  larger * runif(1)^(1 / shape)
}

twin_lm_sweeps <- function(model, state, n, wrong = "") {
  sweep_rows(twin_lm_sweep, model, state, n, wrong)
}

lm_model_for <- model_for("gibbs_lm")

# Responses with noise from a design that is fixed here.
lm_example <- function(n = 12, p = 3, seed = 1) {
  withr::with_seed(seed, {
    x <- matrix(stats::rnorm(n * p), n)
    colnames(x) <- paste0("x", seq_len(p))
    data.frame(
      y = 5 + drop(x %*% seq_len(p)) / 2 + stats::rnorm(n), 3 + 2 * x,
      v = stats::runif(n, 0.5, 2), o = stats::rnorm(n),
      g = factor(rep_len(c("a", "b", "c"), n))
    )
  })
}

# ---- wrong samplers ----------------------------------------------------------

# The prior, or the number of observations, is not that of the model.
lm_mutants <- list(
  noise = data_mutant(function(data) {
    data$d <- 1.5 * data$d
    data
  }),
  shape = data_mutant(function(data) {
    data$n <- data$n + 1
    data
  }),
  slopes = data_mutant(function(data) {
    if (data$horseshoe == 1) {
      data$tau <- 2 * data$tau
    } else if (data$conjugate == 1) {
      data$lambda <- 2 * data$lambda
    } else {
      data$b <- 2 * data$b
    }
    data
  })
)
