# Slow twins of nuts() and hmc() on the working density: `target` has
# log_density(x) and gradient(x). l: L, lower triangular, where L L' = M^-1.
# `uniform`: function that gives the next uniform. `mutant` makes one mistake.

leapfrog_twin <- function(z, target, l, step, mutant = "none") {
  half <- function(x) step / 2 * drop(crossprod(l, target$gradient(x)))
  r <- z$r + half(z$x)
  x <- z$x + step * drop(l %*% r)
  if (mutant != "no second half") r <- r + half(x)
  list(x = x, r = r)
}

energy_twin <- function(z, target, mutant = "none") {
  share <- if (mutant == "half the kinetic energy") 4 else 2
  -target$log_density(z$x) + sum(z$r^2) / share
}

# One transition from x with the momentum r.
nuts_twin <- function( # nolint: cyclocomp_linter.
  x, r, target, l, step, max_depth, uniform, mutant = "none"
) {
  start <- energy_twin(list(x = x, r = r), target, mutant)
  met <- list(leapfrogs = 0, rates = 0, divergent = FALSE)
  edges <- list(list(x = x, r = r), list(x = x, r = r))
  leaf <- function(z, log_weight) {
    list(total = z$r, first = z$r, last = z$r, x = z$x, log_weight = log_weight)
  }
  turns <- function(total, first, last) {
    newest <- sum(total * last) > 0
    !(newest && (mutant == "turn at the newest end" || sum(total * first) > 0))
  }
  # NULL if a half, or both with the next momentum of the other, turned
  join <- function(near, far, log_probability) {
    moves <- log(uniform()) < log_probability
    turned <- turns(near$total + far$total, near$first, far$last) ||
      turns(near$total + far$first, near$first, far$first) ||
      turns(near$last + far$total, near$last, far$last)
    list(
      total = near$total + far$total, first = near$first, last = far$last,
      x = if (moves) far$x else near$x,
      log_weight = log_sum_twin(near$log_weight, far$log_weight),
      turned = turned
    )
  }
  build <- function(depth, side) {
    if (depth == 0) {
      sign <- if (side == 2) 1 else -1
      z <- leapfrog_twin(edges[[side]], target, l, sign * step, mutant)
      edges[[side]] <<- z
      error <- energy_twin(z, target, mutant) - start
      met$leapfrogs <<- met$leapfrogs + 1
      met$divergent <<- !isTRUE(error <= 1000)
      if (met$divergent) {
        return(NULL)
      }
      met$rates <<- met$rates + exp(min(0, -error))
      return(leaf(z, -error))
    }
    near <- build(depth - 1, side)
    far <- if (!is.null(near)) build(depth - 1, side)
    if (is.null(far)) {
      return(NULL)
    }
    share <- far$log_weight - log_sum_twin(near$log_weight, far$log_weight)
    if (mutant == "subtrees without weights") share <- log(0.5)
    both <- join(near, far, share)
    if (both$turned && mutant != "subtrees unchecked") NULL else both
  }
  whole <- leaf(edges[[1]], 0)
  depth <- 0
  while (depth < max_depth) {
    side <- if (uniform() < 0.5) 2 else 1
    far <- build(depth, side)
    if (is.null(far)) break
    depth <- depth + 1
    if (side == 1) whole[c("first", "last")] <- whole[c("last", "first")]
    biased <- far$log_weight - whole$log_weight
    if (mutant == "always the newer half") biased <- 0
    whole <- join(whole, far, biased)
    if (side == 1) whole[c("first", "last")] <- whole[c("last", "first")]
    if (whole$turned) break
  }
  c(list(x = whole$x, depth = depth, rate = met$rates / met$leapfrogs), met)
}

log_sum_twin <- function(a, b) max(a, b) + log1p(exp(-abs(a - b)))

hmc_twin <- function(x, r, target, l, step, n_steps, u, mutant = "none") {
  start <- z <- list(x = x, r = r)
  for (i in seq_len(n_steps)) z <- leapfrog_twin(z, target, l, step, mutant)
  ratio <- energy_twin(start, target, mutant) - energy_twin(z, target, mutant)
  moves <- mutant == "always accepted" || log(u) < ratio
  list(x = if (moves) z$x else x, rate = exp(min(0, ratio)))
}

# The choices of a trajectory, of which two uniforms are the key.
choices_twin <- function(uniforms) {
  stream <- philox_stream(floor(uniforms * 2^32), 0)
  function() midpoint(stream())
}

# ---- points ------------------------------------------------------------------

# Exact draws, and the independent N(0, 1) noises of which points are made.
correlated_target <- function() {
  target <- normal_target()
  cov <- target$cov / 1.3
  c(target[c("log_density", "gradient", "init")], list(
    points = function(n) {
      matrix(stats::rnorm(5 * n), n) %*% chol(cov) +
        rep(target$init, each = n)
    },
    noises = function(x) {
      (x - rep(target$init, each = nrow(x))) %*% solve(chol(cov))
    }
  ))
}

curved_target <- function() {
  c(banana_target()[c("log_density", "gradient", "init")], list(
    points = function(n) {
      x <- stats::rnorm(n)
      unname(cbind(x, x^2 + stats::rnorm(n) / 2))
    },
    noises = function(x) unname(cbind(x[, 1], 2 * (x[, 2] - x[, 1]^2)))
  ))
}

# A proposal's model whose step and factor are fixed.
fixed_dynamics <- function(target, proposal, step, factor = NULL, ...) {
  model <- bare_mh(target$log_density, target$init, proposal, ...)
  model$spec$rows <- 1
  state <- state_at(model, target$init)
  state$blocks[[1]]$tuning[[1]] <- log(step)
  if (!is.null(factor)) state$blocks[[1]]$factor <- as.double(factor)
  list(model = model, state = state)
}
