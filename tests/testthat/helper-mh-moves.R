# Slow twins of the moves of mh_sample() that are not one proposal that is
# accepted or not, on the working density: `target` has log_density(x).
# `uniform`: function that gives the next uniform. `mutant` makes one mistake.

# One sweep over the coordinates of x.
slice_twin <- function( # nolint: cyclocomp_linter.
  x, target, width, max_steps, uniform, mutant = "none"
) {
  grown <- shrunk <- numeric(length(x))
  for (j in seq_along(x)) {
    at <- function(w) target$log_density(replace(x, j, w))
    height <- at(x[j]) + log(uniform())
    v <- uniform()
    left <- x[j] - width[j] * (if (mutant == "x at an end") 0 else v)
    right <- left + width[j]
    below <- floor(max_steps * uniform())
    above <- max_steps - 1 - below
    if (mutant == "all steps to the right") {
      above <- max_steps - 1
      below <- 0
    }
    while (below > 0 && at(left) >= height) {
      left <- left - width[j]
      below <- below - 1
      grown[j] <- grown[j] + 1
    }
    while (above > 0 && at(right) >= height) {
      right <- right + width[j]
      above <- above - 1
      grown[j] <- grown[j] + 1
    }
    repeat {
      y <- left + uniform() * (right - left)
      if (mutant == "first point" || at(y) >= height) break
      shrunk[j] <- shrunk[j] + 1
      if (mutant == "takes the third point" && shrunk[j] > 1) break
      if (y < x[j]) left <- y else right <- y
    }
    x[j] <- y
  }
  list(x = x, grown = grown, shrunk = shrunk)
}

# From x with the normal variates e. l: L, where L L' = C.
ellipse_twin <- function(
  x, e, target, mean, l, u, uniform, mutant = "none"
) {
  part <- function(y) {
    if (mutant == "likelihood with the prior") {
      return(0)
    }
    centre <- if (mutant == "prior without its mean") 0 else mean
    -0.5 * sum(forwardsolve(l, y - centre)^2)
  }
  rest <- function(y) target$log_density(y) - part(y)
  height <- rest(x) + log(u)
  centre <- if (mutant == "ellipse without its mean") 0 else mean
  other <- drop(l %*% e)
  angle <- 2 * pi * uniform()
  low <- angle - 2 * pi
  high <- angle
  repeat {
    y <- centre + (x - centre) * cos(angle) + other * sin(angle)
    if (rest(y) >= height) {
      return(y)
    }
    if (angle < 0) low <- angle else high <- angle
    angle <- low + uniform() * (high - low)
  }
}

# ---- invariance --------------------------------------------------------------

# Changes of moments of the noises over one sweep from exact draws.
sweep_changes <- function(set, target, n) {
  points <- target$points(n)
  after <- points
  like <- set$state
  for (i in seq_len(n)) {
    like <- sweep_state(set$model, state_at(set$model, points[i, ], like))
    after[i, ] <- like$point
  }
  noise_moments(target$noises(after)) - noise_moments(target$noises(points))
}

# Means over the sweeps of a twin, a row a chain from an exact draw.
path_means <- function(target, n, sweeps, sweep) {
  d <- length(target$init)
  t(apply(target$points(n), 1, function(x) {
    path <- matrix(0, sweeps, d)
    for (s in seq_len(sweeps)) path[s, ] <- x <- sweep(x)
    colMeans(noise_moments(target$noises(path)))
  }))
}

# A path of a twin from x, always on the same random numbers.
path_from <- function(x, sweep, sweeps = 200) {
  withr::local_seed(13)
  path <- matrix(0, sweeps, length(x))
  for (s in seq_len(sweeps)) path[s, ] <- x <- sweep(x)
  path
}

# N((1, -1), I)
shifted_target <- function() {
  list(
    log_density = function(x) -0.5 * sum((x - c(1, -1))^2), init = c(1, -1),
    points = function(n) {
      matrix(stats::rnorm(2 * n), n) + rep(c(1, -1), each = n)
    },
    noises = function(x) x - rep(c(1, -1), each = nrow(x))
  )
}

# ---- parallel tempering ------------------------------------------------------

# One sweep of random walks with steps `scale` at the given temperatures.
# points: a list, the coldest first. `uniforms`: of the swaps; `u`, `e`: lists
# of uniforms and normals. odd: is the sweep's number odd?
tempered_twin <- function(
  points, target, temperatures, scale, uniforms, u, e, odd, mutant = "none"
) {
  count <- length(points)
  power <- 1 / temperatures
  for (k in seq_len(count)) {
    y <- points[[k]] + scale * e[[k]]
    ratio <- target$log_density(y) - target$log_density(points[[k]])
    if (mutant != "replicas without temperatures") ratio <- power[[k]] * ratio
    if (log(u[[k]]) < ratio) points[[k]] <- y
  }
  value <- vapply(points, target$log_density, 0)
  rates <- exp(pmin(0, -diff(power) * diff(value)))
  if (mutant == "swaps without temperatures") rates <- exp(pmin(0, diff(value)))
  if (mutant == "swaps turned round") {
    rates <- exp(pmin(0, diff(power) * diff(value)))
  }
  if (mutant == "always swapped") rates[] <- 1
  for (k in seq(if (odd) 1 else 2, by = 2, length.out = count)) {
    if (k < count && uniforms[[k]] < rates[[k]]) {
      points[c(k, k + 1)] <- points[c(k + 1, k)]
    }
  }
  list(points = points, rates = rates)
}

# A state whose replicas are at the given points, a list, the coldest first.
state_of_replicas <- function(model, points, like = NULL) {
  states <- lapply(points, function(x) state_at(model, x, like))
  state <- states[[1]]
  for (what in c("x", "point", "value")) {
    state$blocks[[1]][[what]] <- unlist(lapply(states[-1], `[[`, what))
  }
  # no gradient is known at these points
  state$blocks[[1]]$slope[] <- 0
  state
}

replicas_of <- function(state) {
  others <- matrix(state$blocks[[1]]$x, length(state$x))
  c(list(state$x), lapply(seq_len(ncol(others)), function(k) others[, k]))
}

# N(0, 1) and N(0, 4) coordinates, at any temperature
heated_target <- function() {
  list(
    log_density = function(x) -0.5 * sum((x / 1:2)^2), init = c(0, 0),
    points = function(n, temperature = 1) {
      sqrt(temperature) * matrix(stats::rnorm(2 * n), n) * rep(1:2, each = n)
    },
    noises = function(x) x / rep(1:2, each = nrow(x))
  )
}
