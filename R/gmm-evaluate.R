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

# Draws of the mean of variable j in each component: draws x k.
gmm_mean <- function(blocks, j) {
  blocks$mu[, (j - 1L) * blocks$k + seq_len(blocks$k), drop = FALSE]
}

# pi, mu (k x d) and Sigma (k x d x d) of blocks of one draw.
parameters_of_blocks <- function(blocks) {
  k <- blocks$k
  d <- blocks$d
  sigma <- array(0, c(k, d, d))
  for (i in seq_len(d)) {
    for (j in seq_len(d)) {
      sigma[, i, j] <- gmm_covariance(blocks, i, j)
    }
  }
  list(pi = as.vector(blocks$pi), mu = matrix(blocks$mu, k, d), Sigma = sigma)
}

# ---- Draws of a fixed or an unknown number of components ---------------------

# Whether the number of components is an unknown of a mixture.
draws_k <- function(model) "k" %in% model$columns

# The number of components of each draw.
drawn_k <- function(model, draws) {
  if (draws_k(model)) draws[, "k"] else rep(model$k, nrow(draws))
}

# The draws of the components as a mixture of the largest number has them: those
# beyond the k-th have the weight 0.
component_blocks <- function(model, draws) {
  columns <- in_blocks(model$columns, c("pi", "mu", "Sigma", "sigma2"))
  gmm_blocks(model, draws[, match(columns, model$columns), drop = FALSE])
}

# The blocks of some draws, which have k components.
present_blocks <- function(model, blocks, rows, k) {
  present <- function(m) {
    groups <- ncol(m) / model$k
    m[rows, as.vector(outer(seq_len(k), (seq_len(groups) - 1L) * model$k, "+")),
      drop = FALSE]
  }
  shared <- model$covariance == "shared"
  list(
    k = k, d = blocks$d, covariance = blocks$covariance,
    pi = present(blocks$pi), mu = present(blocks$mu),
    sigma = if (shared) {
      blocks$sigma[rows, , drop = FALSE]
    } else {
      present(blocks$sigma)
    }
  )
}

# log sum_c pi_c N(x_i | mu_c, Sigma_c), draws x observations: draws with the
# same number of components are evaluated together. `seen`: the variables in x.
mixture_log_density <- function(model, draws, x,
                                seen = seq_along(model$variables)) {
  blocks <- component_blocks(model, draws)
  out <- matrix(0, nrow(draws), nrow(x))
  k <- drawn_k(model, draws)
  for (rows in split(seq_len(nrow(draws)), k)) {
    part <- present_blocks(model, blocks, rows, k[[rows[[1L]]]])
    out[rows, ] <- evaluate_observed(
      marginal_blocks(part, seen), x, density = TRUE
    )$log_density
  }
  out
}
