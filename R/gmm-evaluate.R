# The density of a Gaussian mixture at each draw, and its parameters as arrays.

gmm_forms <- c(full = 0L, diagonal = 1L, shared = 2L)

# The C evaluation of all draws at complete x.
evaluate_draws <- function(blocks, x, pivot = NULL, density = FALSE,
                           prob = FALSE) {
  .Call(
    C_gmm_evaluate, gmm_forms[[blocks$covariance]], unname(x),
    lapply(blocks[c("pi", "mu", "sigma")], unname), NULL, pivot,
    c(density, prob)
  )
}

# The same for x with missing entries: each row by the marginal density of its
# observed entries; rows with the same pattern are evaluated together.
evaluate_observed <- function(blocks, x, density = FALSE, prob = FALSE) {
  holes <- is.na(x)
  if (nrow(x) > 0L && !any(holes)) {
    return(evaluate_draws(blocks, x, density = density, prob = prob))
  }
  draws <- nrow(blocks$pi)
  out <- list(
    log_density = if (density) matrix(0, draws, nrow(x)),
    prob = if (prob) matrix(0, nrow(x), blocks$k)
  )
  for (rows in split(seq_len(nrow(x)), row_codes(as.data.frame(holes)))) {
    seen <- which(!holes[rows[[1L]], ])
    part <- if (length(seen) > 0L) {
      evaluate_draws(
        marginal_blocks(blocks, seen), x[rows, seen, drop = FALSE],
        density = density, prob = prob
      )
    } else {
      list(log_density = 0, prob = rep(colMeans(blocks$pi),
                                       each = length(rows)))
    }
    if (density) out$log_density[, rows] <- part$log_density
    if (prob) out$prob[rows, ] <- part$prob
  }
  out
}

# The blocks of the marginal mixture of some variables.
marginal_blocks <- function(blocks, seen) {
  k <- blocks$k
  d <- blocks$d
  groups <- function(m, g) {
    m[, as.vector(outer(seq_len(k), (g - 1L) * k, "+")), drop = FALSE]
  }
  square <- as.vector(outer(seen, d * (seen - 1L), "+"))
  blocks$mu <- groups(blocks$mu, seen)
  blocks$sigma <- switch(blocks$covariance,
    full = groups(blocks$sigma, square),
    diagonal = groups(blocks$sigma, seen),
    shared = blocks$sigma[, square, drop = FALSE]
  )
  blocks$d <- length(seen)
  blocks
}

# Blocks of a chain's draws: pi draws x k, mu draws x (k d), sigma draws x (the
# numbers of the form).
gmm_blocks <- function(model, draws) {
  k <- model$k
  d <- length(model$variables)
  size <- switch(model$covariance, full = k * d * d, diagonal = k * d,
    shared = d * d
  )
  list(
    k = k, d = d, covariance = model$covariance,
    pi = draws[, seq_len(k), drop = FALSE],
    mu = draws[, k + seq_len(k * d), drop = FALSE],
    sigma = draws[, k + k * d + seq_len(size), drop = FALSE]
  )
}

# Draws of element (i, j) of each component's covariance: draws x k.
gmm_covariance <- function(blocks, i, j) {
  k <- blocks$k
  d <- blocks$d
  group <- function(g) blocks$sigma[, (g - 1L) * k + seq_len(k), drop = FALSE]
  switch(blocks$covariance,
    full = group(i + d * (j - 1L)),
    diagonal = if (i == j) group(i) else 0 * blocks$pi,
    shared = blocks$sigma[, rep(i + d * (j - 1L), k), drop = FALSE]
  )
}
