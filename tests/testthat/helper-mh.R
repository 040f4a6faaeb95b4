# Targets with known moments, and a slow sampler in R to compare with.

# A short run without the warning about convergence.
short_mh <- function(log_density, init, ..., draws = 20, burnin = 10, thin = 1,
                     chains = 2, seed = 1) {
  quietly(gibbsite::mh_sample(log_density, init, ...,
    draws = draws, burnin = burnin, thin = thin, chains = chains, seed = seed,
    progress = FALSE
  ))
}

all_columns <- function(fit) do.call(rbind, lapply(fit, unclass))

# ---- targets -----------------------------------------------------------------

bowl <- function(x) -0.5 * sum(x^2)

# Each: log density, gradient, start, scale of a good random walk, mean and
# covariance of a proposal with heavier tails, functions of the draws with their
# expectations.
bimodal_target <- function() {
  w <- c(0.4, 0.6)
  m <- c(-1.5, 1.5)
  part <- function(x) w * stats::dnorm(x, m)
  list(
    log_density = function(x) log(sum(part(x))),
    gradient = function(x) sum(part(x) * (m - x)) / sum(part(x)),
    init = 0.2, scale = 3, mean = 0, cov = matrix(5),
    quantities = function(x) cbind(x[, 1], x[, 1]^2, x[, 1] > 0),
    expected = c(
      sum(w * m), sum(w * (1 + m^2)), sum(w * stats::pnorm(m))
    )
  )
}

normal_target <- function() {
  d <- 5
  m <- c(0, 1, -2, 0.5, 3)
  cov <- 0.6^abs(outer(1:d, 1:d, "-")) * tcrossprod(c(1, 2, 0.5, 1, 1))
  precision <- solve(cov)
  list(
    log_density = function(x) {
      z <- x - m
      -0.5 * sum(z * (precision %*% z))
    },
    gradient = function(x) -drop(precision %*% (x - m)),
    init = m, scale = NULL, step_cov = 2.38^2 / d * cov, mean = m,
    cov = 1.3 * cov,
    quantities = function(x) {
      cbind(x, (x[, 1] - m[1]) * (x[, 2] - m[2]), (x[, 5] - m[5])^2)
    },
    expected = c(m, cov[1, 2], cov[5, 5])
  )
}

# x1 ~ N(0, 1), x2 | x1 ~ N(x1^2, 1/4)
banana_target <- function() {
  list(
    log_density = function(x) -0.5 * x[1]^2 - 2 * (x[2] - x[1]^2)^2,
    gradient = function(x) {
      away <- x[2] - x[1]^2
      c(-x[1] + 8 * away * x[1], -4 * away)
    },
    init = c(0, 0.5), scale = 0.9, mean = c(0, 1),
    cov = matrix(c(2, 0, 0, 5), 2),
    quantities = function(x) cbind(x, x[, 1]^2, x[, 1] * x[, 2]),
    expected = c(0, 1, 1, 0)
  )
}

# A funnel with a tail, x = (v, a, b) with independent N(0, 1) noises:
# v = 1.5 e1, a = exp(v / 2) e2, b = a / 2 + e3.  A step in one coordinate
# changes the slopes of others, by factors.  `bounded`: exp(v / 2), which is
# positive, replaces v, and is sampled on the log scale. `working` is the
# density there, where proposals are made.
funnel_target <- function(bounded = FALSE) {
  log_density <- function(x) {
    -0.5 * ((x[1] / 1.5)^2 + x[1] + x[2]^2 * exp(-x[1]) +
              (x[3] - x[2] / 2)^2)
  }
  gradient <- function(x) {
    a <- x[2] * exp(-x[1])
    b <- x[3] - x[2] / 2
    c(-x[1] / 2.25 - 0.5 + 0.5 * a * x[2], -a + 0.5 * b, -b)
  }
  from <- if (bounded) function(x) c(2 * log(x[1]), x[-1]) else identity
  slope <- if (bounded) function(x) 2 / x[1] else function(x) 1
  to <- if (bounded) 0.5 else 1 # working value of v
  list(
    log_density = function(x) log_density(from(x)) + log(slope(x)),
    gradient = function(x) {
      g <- gradient(from(x))
      c(g[1] * slope(x) - bounded / x[1], g[-1])
    },
    working = list(
      log_density = function(w) log_density(c(w[1] / to, w[-1])) - log(to),
      gradient = function(w) gradient(c(w[1] / to, w[-1])) * c(1 / to, 1, 1)
    ),
    to_working = function(x) c(to * from(x)[1], x[-1]),
    init = c(if (bounded) exp(0.1) else 0.2, -0.4, 0.3),
    lower = c(if (bounded) 0 else -Inf, -Inf, -Inf), bounded = bounded,
    points = function(n) {
      v <- 1.5 * stats::rnorm(n)
      a <- exp(v / 2) * stats::rnorm(n)
      x <- cbind(if (bounded) exp(v / 2) else v, a, a / 2 + stats::rnorm(n))
      unname(x)
    },
    noises = function(x) {
      v <- if (bounded) 2 * log(x[, 1]) else x[, 1]
      unname(cbind(v / 1.5, x[, 2] * exp(-v / 2), x[, 3] - x[, 2] / 2))
    }
  )
}

# Five cells of width 1 about 1, ..., 5, constant in each.
steps_target <- function() {
  p <- c(1, 3, 6, 2, 4) / 16
  list(
    log_density = function(x) {
      k <- floor(x + 0.5)
      if (k < 1 || k > 5) -Inf else log(p[k])
    },
    gradient = function(x) 0,
    init = 3, scale = 2, mean = 3, cov = matrix(3),
    quantities = function(x) {
      k <- floor(x[, 1] + 0.5)
      outer(k, 1:5, "==")[, -1] + 0
    },
    expected = p[-1]
  )
}

mh_targets <- function() {
  list(
    bimodal = bimodal_target(), normal = normal_target(),
    banana = banana_target(), steps = steps_target()
  )
}

# A custom proposal that is not symmetric: a drift away from zero and a step
# whose size depends on where it starts.
drifting_proposal <- function(scale) {
  centre <- function(x) 0.9 * x + 0.3
  size <- function(x) scale * (1 + 0.5 * (x > 0))
  gibbsite::custom_proposal(
    draw = function(x) stats::rnorm(length(x), centre(x), size(x)),
    log_density = function(y, x) {
      sum(stats::dnorm(y, centre(x), size(x), log = TRUE))
    }
  )
}

mh_proposals <- function(target) {
  walk <- function(...) {
    if (is.null(target$scale)) {
      gibbsite::random_walk(cov = target$step_cov, ...)
    } else {
      gibbsite::random_walk(target$scale, ...)
    }
  }
  far <- gibbsite::independence(target$mean, target$cov, df = 4)
  list(
    normal = walk(), t = walk(family = "t", df = 3),
    uniform = walk(family = "uniform"), adaptive = gibbsite::adaptive(),
    independence = far, mixture = gibbsite::mixture_proposal(
      walk(), far, drifting_proposal(0.7),
      weights = c(2, 1, 1)
    ),
    custom = drifting_proposal(1),
    langevin = gibbsite::langevin(
      gradient = target$gradient, cov = target$step_cov
    )
  )
}

# z-scores of the quantities' means against their expectations.
z_of_target <- function(chains, target) {
  values <- lapply(chains, function(x) {
    target$quantities(unclass(x)[, seq_along(target$init), drop = FALSE])
  })
  vapply(seq_along(target$expected), function(q) {
    one <- vapply(values, function(v) v[, q] + 0, numeric(nrow(values[[1]])))
    z_of_chains(one, target$expected[[q]])
  }, 0)
}

# ---- a sampler in R ----------------------------------------------------------

# The chain that the uniforms and proposals of a trace lead to, by the textbook.
# log_q: NULL (symmetric) or function(y, x).  Returns the points after each step
# and the log ratios.  `mutant` makes one mistake.
rebuild_chain <- function(trace, start, log_density, log_q = NULL,
                          mutant = "none") {
  x <- start
  value <- log_density(x)
  proposals <- as.matrix(trace[seq(9, ncol(trace))])
  points <- proposals
  ratios <- numeric(nrow(trace))
  for (t in seq_len(nrow(trace))) {
    y <- unname(proposals[t, ])
    candidate <- log_density(y)
    ratio <- candidate - value
    if (!is.null(log_q) && mutant != "no Hastings term") {
      ratio <- ratio + (log_q(x, y) - log_q(y, x))
    }
    ratios[t] <- ratio
    if (log(trace$uniform[t]) < ratio) {
      x <- y
      if (mutant != "stale value") value <- candidate
    }
    points[t, ] <- x
  }
  list(points = unname(points), ratios = ratios)
}

# An independent chain, for mutants: draw(x), log_q(y, x).
slow_chain <- function(target, draw, log_q, steps, mutant = "none") {
  x <- target$init
  value <- target$log_density(x)
  points <- matrix(0, steps, length(x))
  for (t in seq_len(steps)) {
    y <- draw(x)
    candidate <- target$log_density(y)
    ratio <- candidate - value
    if (mutant != "no Hastings term") ratio <- ratio + log_q(x, y) - log_q(y, x)
    if (log(stats::runif(1)) < ratio) {
      x <- y
      if (mutant != "stale value") value <- candidate
    }
    points[t, ] <- x
  }
  points
}

# ---- one sweep ---------------------------------------------------------------

# The model of mh_sample() as the driver gets it, without a run.
bare_mh <- function(log_density, init, proposal, blocks = NULL, lower = -Inf,
                    upper = Inf, transform = FALSE, debug = FALSE) {
  space <- asNamespace("gibbsite")
  names <- space$parameter_names(init, NULL)
  space$mh_model(
    log_density, list(), init, names,
    space$plan_blocks(proposal, blocks, init, names, NULL),
    space$check_box(lower, upper, transform, init, NULL),
    space$block_names(names), "stop", debug, NULL
  )
}

# A state at the user's point, as after burn-in, with the adaptive parts of
# `like` (a state).
state_at <- function(model, point, like = NULL) {
  space <- asNamespace("gibbsite")
  own <- if (is.null(like)) space$own_stream() else like$own
  state <- space$mh_state(model, space$to_working(model$spec, point), own)
  if (!is.null(like)) state$blocks <- like$blocks
  .Call(space$C_mh_settle, model$spec, space$mh_functions(model), state,
        new.env())
}

# Differences of functions of the state over one sweep from exact draws: of mean
# zero if the sweep leaves the target invariant.  A matrix, one row a draw.
one_sweep_changes <- function(model, points, quantities) {
  # one sweep uses one row of the variates drawn ahead
  model$spec$rows <- 1
  like <- state_at(model, points[1, ])
  after <- points
  for (i in seq_len(nrow(points))) {
    state <- state_at(model, points[i, ], like)
    like <- sweep_state(model, state)
    after[i, ] <- like$point
  }
  quantities(after) - quantities(points)
}

# ---- many sweeps -------------------------------------------------------------

# One chain from each of the points, exact draws: if the sweep leaves the target
# invariant, the target is the distribution of every sweep of every chain, and
# the chains' means of functions of the state are independent, about their
# expectations.  A matrix, one row a chain.
means_from_exact <- function(model, points, quantities, sweeps) {
  model$spec$rows <- sweeps
  control <- list(burnin = 0, thin = 1, threads = 1)
  like <- state_at(model, points[1, ])
  t(apply(points, 1, function(point) {
    run <- model_sweeps(model, state_at(model, point, like), sweeps, control)
    like <<- run$state
    colMeans(quantities(run$draws[, seq_along(point)]))
  }))
}

# Functions of independent N(0, 1) noises, each with finite fourth moments, and
# their expectations.
noise_moments <- function(e) {
  pairs <- utils::combn(ncol(e), 2)
  mixed <- e[, pairs[1, ]] * e[, pairs[2, ]]
  cbind(
    e, e^2 - 1, mixed, e[, pairs[1, ]] * mixed, e[, pairs[2, ]] * mixed,
    abs(e) - sqrt(2 / pi)
  )
}

# ---- kinds of proposal, with their densities ---------------------------------

log_t_q <- function(y, mean, cov, df) {
  d <- length(y)
  l <- t(chol(cov))
  z <- forwardsolve(l, y - mean)
  lgamma((df + d) / 2) - lgamma(df / 2) - d / 2 * log(df * pi) -
    sum(log(diag(l))) - (df + d) / 2 * log1p(sum(z^2) / df)
}

# Every kind, for a block of d coordinates: the proposal, and log q(y | x) of
# the block's coordinates with the slope at x; NULL where q is symmetric.
kinds_of_proposal <- function(gradient, d) {
  drift <- drifting_proposal(0.9)
  far <- list(mean = rep(0.2, d), cov = diag(2.5, d))
  langevin_q <- function(step) {
    function(y, x, slope) {
      sum(stats::dnorm(y, x + step^2 / 2 * slope, step, log = TRUE))
    }
  }
  mixed <- list(
    function(y, x, slope) sum(stats::dnorm(y, x, 0.6, log = TRUE)),
    langevin_q(1.4)
  )
  list(
    walk = list(proposal = random_walk(0.9)),
    t = list(proposal = random_walk(0.7, family = "t", df = 4)),
    uniform = list(proposal = random_walk(1, family = "uniform")),
    adaptive = list(proposal = adaptive()),
    independence = list(
      proposal = independence(far$mean, far$cov, df = 5),
      log_q = function(y, x, slope) log_t_q(y, far$mean, far$cov, 5)
    ),
    custom = list(
      proposal = drift, log_q = function(y, x, slope) drift$log_density(y, x)
    ),
    langevin = list(
      proposal = langevin(1.7, gradient, tune = FALSE), log_q = langevin_q(1.7)
    ),
    mixture = list(
      proposal = mixture_proposal(
        random_walk(0.6), langevin(1.4, gradient, tune = FALSE),
        weights = c(1, 3)
      ),
      log_q = function(y, x, slope) {
        log(sum(c(1, 3) / 4 * exp(vapply(mixed, function(q) {
          q(y, x, slope)
        }, 0))))
      }
    )
  )
}

# run(f): a fit of 300 draws that calls f(x). A run that is interrupted at a
# call of f and then extended is the whole run.
expect_interrupt_harmless <- function(f, at, run) {
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "return"
  )
  count <- 0
  counting <- function(x) {
    count <<- count + 1
    if (count == at) rlang::interrupt()
    f(x)
  }
  expect_warning(part <- run(counting), class = "gibbsite_warning_interrupted")
  whole <- run(counting)
  shown <- if (inherits(part, "gibbsite_partial")) 0 else nrow(part[[1]])
  expect_lt(shown, 300)
  expect_true(identical_fit(longer(part, 300 - shown), whole))
}
