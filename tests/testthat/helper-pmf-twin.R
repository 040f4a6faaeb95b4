# A slow twin in R of the sweep of gibbs_pmf(), on the same random numbers; and
# wrong samplers made of it.

twin_pmf <- function(model, state) {
  list(
    theta = matrix(state$u, model$rank), beta = matrix(state$v, model$rank),
    xi = state$rate_u, eta = state$rate_v
  )
}

# One binomial count from a stream, as philox_binomial() of core/numeric.
twin_binomial <- function(stream, n, p) {
  below <- 0
  while (n >= 16) {
    place <- floor(n / 2) + 1
    left <- exp(philox_log_gamma(stream, place))
    x <- left / (left + exp(philox_log_gamma(stream, n + 1 - place)))
    if (x <= p) {
      below <- below + place
      n <- n - place
      p <- (p - x) / (1 - x)
    } else {
      n <- place - 1
      p <- p / x
    }
  }
  for (i in seq_len(n)) below <- below + (midpoint(stream()) < p)
  below
}

# s of one pair.
twin_parts <- function(stream, y, p) {
  k <- length(p)
  if (k == 1L) {
    return(y)
  }
  if (y <= 16) {
    picks <- vapply(seq_len(y), function(i) {
      at <- midpoint(stream()) * sum(p)
      min(k, 1L + sum(cumsum(p) <= at))
    }, 0)
    return(tabulate(picks, k))
  }
  s <- numeric(k)
  for (j in seq_len(k - 1L)) {
    if (y == 0) break
    s[[j]] <- twin_binomial(stream, y, p[[j]] / sum(p[j:k]))
    y <- y - s[[j]]
  }
  s[[k]] <- y
  s
}

# One side: list(factors, rate). f: K x rows; g: K x partners; counts: a matrix,
# rows x partners; prior: shape, rate_shape, rate_mean.
twin_pmf_side <- function(f, rate, g, counts, prior, wrong) {
  key <- twin_key()
  k <- nrow(f)
  for (row in seq_len(ncol(f))) {
    stream <- philox_stream(key, row - 1)
    if (is.finite(prior[["rate_shape"]])) {
      shape <- prior[["rate_shape"]] +
        if (wrong == "rate_shape_of_prior") 0 else k * prior[["shape"]]
      base <- if (wrong == "rate_mean_as_rate") {
        prior[["rate_mean"]]
      } else {
        prior[["rate_shape"]] / prior[["rate_mean"]]
      }
      rate[[row]] <- exp(philox_log_gamma(stream, shape)) /
        (base + if (wrong == "rate_of_prior") 0 else sum(f[, row]))
    }
    s <- numeric(k)
    with <- which(counts[row, ] > 0)
    for (i in with) {
      p <- if (wrong == "parts_by_one_side") f[, row] else f[, row] * g[, i]
      s <- s + twin_parts(stream, counts[row, i], p)
    }
    if (wrong == "likes_for_counts") s <- pmin(s, length(with))
    partners <- if (wrong == "pairs_without_count_left_out") {
      rowSums(g[, with, drop = FALSE])
    } else {
      rowSums(g)
    }
    scale <- rate[[row]] + partners
    for (j in seq_len(k)) {
      drawn <- exp(philox_log_gamma(stream, prior[["shape"]] + s[[j]]))
      f[j, row] <- max(drawn / scale[[j]], 1e-300)
    }
  }
  list(factors = f, rate = rate)
}

twin_events <- function(model) {
  counts <- matrix(0, model$n, model$m)
  counts[cbind(model$data$user, model$data$item)] <- model$data$value
  counts
}

pmf_twin_sweep <- function(model, twin, wrong = "") {
  counts <- twin_events(model)
  prior <- matrix(
    model$data$prior, 3,
    dimnames = list(c("shape", "rate_shape", "rate_mean"), NULL)
  )
  old <- twin$theta
  users <- twin_pmf_side(
    twin$theta, twin$xi, twin$beta, counts, prior[, 1], wrong
  )
  twin$theta <- users$factors
  twin$xi <- users$rate
  items <- twin_pmf_side(
    twin$beta, twin$eta, if (wrong == "stale_users") old else twin$theta,
    t(counts), prior[, 2], wrong
  )
  twin$beta <- items$factors
  twin$eta <- items$rate
  for (j in seq_len(model$rank)) {
    power <- model$n * prior["shape", 1] - model$m * prior["shape", 2]
    if (wrong == "scale_of_density_alone") power <- 0
    x <- sum(twin$xi * twin$theta[j, ])
    y <- sum(twin$eta * twin$beta[j, ])
    c <- twin_slice(function(c) {
      # twin_slice() adds log c, for a density of c
      (power - 1) * log(c) - x * c - y / c
    }, 1)
    twin$theta[j, ] <- pmax(twin$theta[j, ] * c, 1e-300)
    twin$beta[j, ] <- pmax(twin$beta[j, ] / c, 1e-300)
  }
  twin
}

pmf_mutants <- local({
  wrong <- c(
    "rate_shape_of_prior", "rate_mean_as_rate", "rate_of_prior",
    "parts_by_one_side", "likes_for_counts", "pairs_without_count_left_out",
    "stale_users", "scale_of_density_alone"
  )
  stats::setNames(lapply(wrong, function(name) {
    function(model, state, n, control) {
      twin <- twin_pmf(model, state)
      for (i in seq_len(n)) twin <- pmf_twin_sweep(model, twin, name)
      state$u <- as.vector(twin$theta)
      state$v <- as.vector(twin$beta)
      state$rate_u <- twin$xi
      state$rate_v <- twin$eta
      list(state = state)
    }
  }), wrong)
})
