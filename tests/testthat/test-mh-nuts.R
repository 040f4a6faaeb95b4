# nuts() and hmc(): their transitions against twins in R on the same random
# numbers, invariance, wrong samplers that the same test rejects, moments of
# hard targets, gradients of all kinds, and diagnostics.

# ---- one transition ----------------------------------------------------------

test_that("transitions are those of the twin", { # nolint: cyclocomp_linter.
  withr::local_seed(3)
  lower <- matrix(c(1, 0.4, -0.3, 0, 0.8, 0.2, 0, 0, 1.3), 3)
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    for (mass in c("diagonal", "dense")) {
      l <- if (mass == "dense") lower else diag(c(0.7, 1.2, 1))
      factor <- if (mass == "dense") l else diag(l)
      cases <- list(
        nuts(target$gradient, mass, max_depth = 5),
        hmc(gradient = target$gradient, mass = mass, n_steps = 4)
      )
      for (proposal in cases) {
        set <- fixed_dynamics(target, proposal, 0.4, factor,
          lower = target$lower, transform = bounded
        )
        state <- set$state
        depths <- numeric()
        for (t in seq_len(fast_or(10, 60))) {
          x <- state$x
          state <- sweep_state(set$model, state)
          r <- state$ahead[2:4]
          last <- utils::tail(state$transitions, 8)
          twin <- if (inherits(proposal, "nuts")) {
            nuts_twin(x, r, target$working, l, 0.4, 5,
                      choices_twin(state$ahead[5:6]))
          } else {
            jitter <- 1 + 0.1 * (2 * state$ahead[[5]] - 1)
            hmc_twin(x, r, target$working, l, 0.4 * jitter, 4,
                     state$ahead[[1]])
          }
          # rounding: some 1e-15 a step, multiplied by the curvature
          expect_equal(state$x, twin$x, tolerance = 1e-9)
          expect_equal(last[[3]], twin$rate, tolerance = 1e-7)
          depths <- c(depths, last[[5]])
          if (inherits(proposal, "nuts")) {
            expect_identical(last[5:7], c(
              twin$depth, twin$leapfrogs, as.numeric(twin$divergent)
            ))
          }
        }
        if (inherits(proposal, "nuts")) {
          expect_gt(length(unique(depths)), 1)
        }
      }
    }
  }
})

# ---- invariance --------------------------------------------------------------

dynamics_cases <- function(target, step) {
  list(
    nuts = fixed_dynamics(target, nuts(target$gradient), step),
    hmc = fixed_dynamics(
      target, hmc(gradient = target$gradient, n_steps = 3), step
    )
  )
}

test_that("one transition leaves exact draws exact", {
  skip_long()
  n <- fast_or(250, 1e5)
  targets <- list(correlated_target(), curved_target())
  for (k in 1:2) {
    withr::local_seed(10 + k)
    cases <- dynamics_cases(targets[[k]], c(0.4, 0.25)[[k]])
    for (name in names(cases)) {
      changes <- sweep_changes(cases[[name]], targets[[k]], n)
      expect_lt(max(abs(z_of_means(changes, 0))), 4.5, label = name)
      expect_gt(mean(changes[, 1] != 0), 0.5)
    }
  }
})

test_that("wrong transitions are found", {
  skip_long()
  target <- list(
    log_density = function(x) -0.5 * sum(x^2), gradient = function(x) -x,
    init = c(0, 0), points = function(n) matrix(stats::rnorm(2 * n), n),
    noises = identity
  )
  transition <- function(kind, mutant, step) {
    function(x) {
      r <- stats::rnorm(2)
      if (kind == "nuts") {
        nuts_twin(x, r, target, diag(2), step, 6, function() stats::runif(1),
                  mutant)$x
      } else {
        hmc_twin(x, r, target, diag(2), step, 3, stats::runif(1), mutant)$x
      }
    }
  }
  z <- function(kind, mutant, step, n = 300) {
    withr::local_seed(12)
    means <- path_means(target, n, 30, transition(kind, mutant, step))
    max(abs(z_of_means(means, 0)))
  }
  # another path than the right twin's, which is the core's
  expect_found <- function(kind, mutant, step, ...) {
    right <- path_from(c(0, 0), transition(kind, "none", step))
    wrong <- path_from(c(0, 0), transition(kind, mutant, step))
    expect_gt(max(abs(wrong - right)), 1e-3, label = mutant)
    if (is_extended()) expect_gt(z(kind, mutant, step, ...), 6, label = mutant)
  }
  expect_found("nuts", "half the kinetic energy", 0.9)
  expect_found("nuts", "turn at the newest end", 0.9, 900)
  expect_found("nuts", "subtrees unchecked", 0.5)
  expect_found("nuts", "subtrees without weights", 1.5)
  expect_found("nuts", "always the newer half", 1.5)
  expect_found("hmc", "half the kinetic energy", 1.5)
  expect_found("hmc", "no second half", 1.5)
  expect_found("hmc", "always accepted", 1.5)
  if (is_extended()) {
    for (step in c(0.5, 0.9, 1.5)) expect_lt(z("nuts", "none", step), 4.5)
    expect_lt(z("hmc", "none", 1.5), 4.5)
  }
})

# ---- where a trajectory stops ------------------------------------------------

# The published rule by brute force (Betancourt 2017, appendix A, with Stan's
# checks across subtrees), for unit mass, on a path of `reach` steps both ways
# from its start: list(momenta, rates).
path_of_steps <- function(x, p, target, step, reach) {
  energy <- function(x, p) sum(p^2) / 2 - target$log_density(x)
  start <- energy(x, p)
  way <- function(step) {
    states <- matrix(0, reach, length(p) + 1)
    for (i in seq_len(reach)) {
      p <- p + step / 2 * target$gradient(x)
      x <- x + step * p
      p <- p + step / 2 * target$gradient(x)
      states[i, ] <- c(p, min(1, exp(start - energy(x, p))))
    }
    states
  }
  # the start itself is no step
  states <- rbind(way(-step)[rev(seq_len(reach)), ], c(p, 0), way(step))
  list(momenta = states[, seq_along(p)], rates = states[, length(p) + 1])
}

# Does the tree of the states from `lo` to `hi` turn back: as a whole, its
# earlier half with the next state, or its later half with the state before?
# `checks`: those that are made.
turns_back <- function(path, lo, hi, checks) {
  middle <- (lo + hi - 1) / 2
  runs <- list(
    whole = c(lo, hi), early = c(lo, middle + 1), late = c(middle, hi)
  )
  for (run in runs[checks]) {
    rho <- colSums(path$momenta[run[[1]]:run[[2]], ])
    if (any(path$momenta[run, ] %*% rho <= 0)) {
      return(TRUE)
    }
  }
  FALSE
}

# How many of the next `size` states beyond `edge` are reached: the steps to the
# end of the first tree among them that turns, Inf if none does.
steps_until_turn <- function(path, edge, way, size, checks) {
  for (to in seq_len(size)) {
    n <- 2
    while (n <= size && to %% n == 0) {
      at <- sort(edge + way * c(to - n + 1, to))
      if (turns_back(path, at[[1]], at[[2]], checks)) {
        return(to)
      }
      n <- 2 * n
    }
  }
  Inf
}

# What the core may report, a row for each sequence of directions: the depth,
# the steps, and the sum of their acceptance rates, by which the directions are
# known.
outcomes_of <- function(path, most, checks, depth = 0, lo = NULL, hi = NULL) {
  if (is.null(lo)) lo <- hi <- (length(path$rates) + 1) / 2
  size <- hi - lo + 1
  report <- function(depth, lo, hi) {
    cbind(depth, hi - lo, sum(path$rates[lo:hi]))
  }
  if (depth == most) {
    return(report(depth, lo, hi))
  }
  do.call(rbind, lapply(c(-1, 1), function(way) {
    edge <- if (way == 1) hi else lo
    steps <- steps_until_turn(path, edge, way, size, checks)
    end <- edge + way * min(steps, size)
    lo <- min(lo, end)
    hi <- max(hi, end)
    if (steps <= size) {
      report(depth, lo, hi)
    } else if (turns_back(path, lo, hi, checks)) {
      report(depth + 1, lo, hi)
    } else {
      outcomes_of(path, most, checks, depth + 1, lo, hi)
    }
  }))
}

test_that("a trajectory ends where the published rule says", {
  skip_long()
  withr::local_seed(13)
  sd <- c(1, 0.45, 1.7)
  target <- list(
    log_density = function(x) -0.5 * sum((x / sd)^2),
    gradient = function(x) -x / sd^2, init = c(0.3, -0.2, 0.5)
  )
  set <- fixed_dynamics(target, nuts(target$gradient, max_depth = 5), 0.4)
  state <- set$state
  rules <- list(
    all = c("whole", "early", "late"), no_late = c("whole", "early"),
    no_early = c("whole", "late")
  )
  # each check across subtrees decides some of them
  decides <- c(no_late = FALSE, no_early = FALSE)
  for (t in seq_len(fast_or(80, 200))) {
    x <- state$x
    state <- sweep_state(set$model, state)
    path <- path_of_steps(x, state$ahead[2:4], target, 0.4, 31)
    last <- utils::tail(state$transitions, 8)
    told <- c(last[[5]], last[[6]], last[[3]] * last[[6]])
    is_found <- function(checks) {
      any(colSums(abs(t(outcomes_of(path, 5, checks)) - told)) < 1e-9)
    }
    expect_true(is_found(rules$all))
    for (rule in names(decides)[!decides]) {
      decides[[rule]] <- !is_found(rules[[rule]])
    }
  }
  expect_identical(decides, c(no_late = TRUE, no_early = TRUE))
})

# ---- moments -----------------------------------------------------------------

expect_means <- function(fit, values, expected) {
  draws <- lapply(fit, function(x) values(unclass(x)))
  for (q in seq_along(expected)) {
    one <- vapply(draws, function(v) v[, q], numeric(nrow(draws[[1]])))
    testthat::expect_lt(abs(z_of_chains(one, expected[[q]])), 4.5, label = q)
  }
}

test_that("a normal of condition 1e4 in 100 dimensions takes 1,000 draws", {
  skip_unless_extended()
  sd <- 10^seq(-2, 0, length.out = 100)
  fit <- short_mh(
    function(x) -0.5 * sum((x / sd)^2), rep(0.5, 100),
    gradient = function(x) -x / sd^2, draws = 1000, burnin = 1000, chains = 2
  )
  expect_means(fit, function(x) {
    z <- x[, 1:100] / rep(sd, each = 1000)
    cbind(z, z^2)
  }, rep(c(0, 1), each = 100))
  expect_true(converged(fit))
  expect_match(capture.output(print(fit)), "0 divergences in 2000", all = FALSE)
})

test_that("the funnel's and the eight schools' moments are right", {
  skip_unless_extended()
  # v ~ N(0, 9), x_j = exp(v / 2) e_j
  fit <- short_mh(
    function(z) -0.5 * sum(z^2) - 0.5 * (z[[1]]^2 / 9 - z[[1]]^2), rep(0.1, 10),
    gradient = function(z) c(-z[1] / 9, -z[-1]), draws = 1000, burnin = 1000,
    chains = 4
  )
  expect_means(fit, function(z) {
    cbind(z[, 1], z[, 1]^2, log(abs(exp(z[, 1] / 2) * z[, 2])))
  }, c(0, 9, -(log(2) - digamma(1)) / 2))
  # by quadrature over tau, with theta and mu integrated out
  y <- c(28, 8, -3, 7, -1, 1, 18, 12)
  sigma <- c(15, 10, 16, 11, 9, 11, 10, 18)
  log_density <- function(x) {
    tau <- exp(x[[2]])
    -x[[1]]^2 / 50 - log1p(tau^2 / 25) + x[[2]] - sum(x[3:10]^2) / 2 -
      sum(((y - x[[1]] - tau * x[3:10]) / sigma)^2) / 2
  }
  gradient <- function(x) {
    tau <- exp(x[[2]])
    rest <- (y - x[[1]] - tau * x[3:10]) / sigma^2
    c(sum(rest) - x[[1]] / 25,
      1 - 2 * tau^2 / (25 + tau^2) + tau * sum(rest * x[3:10]),
      tau * rest - x[3:10])
  }
  fit <- short_mh(log_density, rep(0, 10), gradient = gradient, draws = 1000,
                  burnin = 1000, chains = 4)
  given <- function(log_tau) {
    tau <- exp(log_tau)
    weight <- 1 / (sigma^2 + tau^2)
    precision <- sum(weight) + 1 / 25
    mean <- sum(weight * y) / precision
    log_p <- log_tau - log1p(tau^2 / 25) + 0.5 * sum(log(weight)) -
      0.5 * log(precision) - 0.5 * (sum(weight * y^2) - precision * mean^2)
    c(log_p, mean)
  }
  grid <- seq(-12, 6, by = 0.001)
  table <- vapply(grid, given, numeric(2))
  p <- exp(table[1, ] - max(table[1, ]))
  p <- p / sum(p)
  expect_means(fit, function(x) cbind(x[, 1], exp(x[, 2]), x[, 2]), c(
    sum(p * table[2, ]), sum(p * exp(grid)), sum(p * grid)
  ))
})

test_that("bounds and blocks leave the posterior exact", {
  skip_unless_extended()
  log_density <- function(x) {
    stats::dgamma(x[1], 2.5, log = TRUE) +
      stats::dbeta(x[2], 2, 4, log = TRUE) + stats::dexp(-x[3], 2, log = TRUE)
  }
  gradient <- function(x) c(1.5 / x[1] - 1, 1 / x[2] - 3 / (1 - x[2]), 2)
  run <- function(...) {
    short_mh(log_density, c(1, 0.5, -1), ..., gradient = gradient,
      lower = c(0, 0, -Inf), upper = c(Inf, 1, 0), transform = TRUE,
      draws = 2000, burnin = 500, chains = 4
    )
  }
  expected <- c(2.5, 1 / 3, -0.5, 8.75, 1 / 7, 0.5)
  fits <- list(
    run(), run(nuts(mass = "dense")), run(hmc(n_steps = 5)),
    run(list(nuts(), hmc(mass = "dense"), random_walk(1)),
        blocks = list(c(2, 1), c(1, 3), 2))
  )
  for (fit in fits) {
    expect_means(fit, function(x) cbind(x[, 1:3], x[, 1:3]^2), expected)
  }
})

# ---- gradients ---------------------------------------------------------------

down <- function(x) -x

identical_draws <- function(a, b) {
  identical(unclass(a[[1]])[, ], unclass(b[[1]])[, ]) &&
    identical(unclass(a[[2]])[, ], unclass(b[[2]])[, ])
}

# Leapfrog steps of all draws, a column a chain.
leapfrogs <- function(fit) {
  vapply(seq_along(fit), function(k) {
    gibbsite:::transitions_of(fit, k, 1)[, "n_leapfrog__"]
  }, numeric(nrow(fit[[1]])))
}

test_that("a gradient makes nuts() the default", {
  skip_long()
  by <- function(...) short_mh(bowl, c(a = 0.5, b = 1), ...)
  expect_true(identical_draws(by(gradient = down), by(nuts(down))))
  expect_true(identical_draws(by(nuts(), gradient = down), by(nuts(down))))
  expect_match(capture.output(print(by(gradient = down))), "no-U-turn",
               all = FALSE)
  expect_match(capture.output(print(by())), "adaptive", all = FALSE)
  expect_error(by(random_walk(1), gradient = down),
               class = "gibbsite_error_argument")
  expect_error(by(nuts(function(x) -x * 1), gradient = down),
               class = "gibbsite_error_argument")
})

test_that("values may carry their gradient", {
  skip_long()
  asked <- 0
  carrying <- function(x, s) {
    asked <<- asked + 1
    structure(bowl(x / s), gradient = matrix(down(x) / s^2, 1))
  }
  run <- function(f, ...) {
    short_mh(f, c(0.5, 1), ..., s = 2, debug = TRUE, inits = list(1:2, 3:4))
  }
  fit <- run(carrying, nuts())
  plain <- run(function(x, s) bowl(x / s), nuts(function(x, s) down(x) / s^2))
  expect_true(identical_draws(fit, plain))
  # once for each leapfrog step
  before <- asked
  more <- longer(fit, 50)
  expect_equal(asked - before, sum(leapfrogs(more)[-(1:20), ]))
  short <- function(x, s) structure(bowl(x), gradient = x[1])
  expect_error(run(short, nuts()), "must be 2 numbers, not 1",
               class = "gibbsite_error_user_function")
})

# numDeriv's own steps are a share of the coordinate: those were wider than this
# density.
test_that("differences follow the width of the density, wherever it lies", {
  skip_long()
  for (at in list(c(0, 0), c(1e6, -1e-3))) {
    count <- 0
    by <- c(1, 1e-7)
    density <- function(x) {
      count <<- count + 1
      sum(stats::dlogis(x, at, by, log = TRUE))
    }
    fit <- suppressMessages(suppressWarnings(mh_sample(
      density, c(a = at[[1]] + 3, b = at[[2]]), nuts(), draws = 100,
      burnin = 100, chains = 1, seed = 1, progress = FALSE
    )))
    expect_lt(count, 15000)
    z <- (as.matrix(fit)[, 1:2] - rep(at, each = 100)) / rep(by, each = 100)
    expect_true(all(abs(colMeans(z)) < 1.2 & apply(z, 2, sd) < 3))
    right <- function(x) (1 - 2 * stats::plogis((x - at) / by)) / by
    expect_no_error(suppressWarnings(mh_sample(
      density, c(a = at[[1]] + 3, b = at[[2]]), nuts(), gradient = right,
      draws = 2, burnin = 2, chains = 1, seed = 1, progress = FALSE
    )))
  }
})

test_that("differences are those of numDeriv, from 4 evaluations a parameter", {
  count <- 0
  density <- function(x) {
    count <<- count + 1
    -sum((x - c(0.3, 2, 0))^2 / c(1, 3, 1e6)) - exp(x[[1]] / 7)
  }
  x <- c(a = 1.1, b = -3, c = 5)
  dense <- matrix(c(2, 0.1, 0.2, 0, 3, 0.5, 0, 0, 1), 3)
  for (axes in list(c(1e-9, 1, 1e5), dense)) {
    for (side in list(NULL, c(NA, 1, -1))) {
      at <- moved_along(x, axes)
      right <- slope_of_axes(numDeriv::grad(
        function(z) density(at(z)), rep(1, 3), side = side,
        method.args = list(r = 2)
      ), axes)
      count <- 0
      expect_identical(gradient_along(density, x, axes, side, r = 2), right)
      expect_equal(count, 12)
    }
  }
  # zero on both sides
  gap <- function(x) if (x == 3) 0 else -Inf
  expect_identical(gradient_along(gap, 3, 1), NaN)
})

test_that("without a gradient differences are taken, with a message", {
  skip_long()
  messages <- character()
  fit <- withCallingHandlers(
    suppressWarnings(mh_sample(bowl, c(0.5, 1), nuts(), draws = 20, burnin = 10,
      chains = 2, seed = 1, progress = FALSE
    )),
    message = function(cnd) {
      messages <<- c(messages, class(cnd)[[1]])
      invokeRestart("muffleMessage")
    }
  )
  expect_match(messages, "gradient", all = FALSE)
  exact <- short_mh(bowl, c(0.5, 1), nuts(down))
  expect_equal(unclass(fit[[1]])[, ], unclass(exact[[1]])[, ], tolerance = 1e-6)
})

test_that("differences beside an edge are of the side that has density", {
  slope <- function(x, f) {
    gibbsite:::difference_gradient(x, f, list(), rep(1, length(x)))
  }
  above <- function(x) if (any(x < 0)) -Inf else -2 * x[[1]] - sum(x^2)
  expect_equal(slope(1e-9, above), -2, tolerance = 1e-3)
  expect_equal(slope(c(3, 1e-9), above), c(-8, 0), tolerance = 1e-3)
  below <- function(x) if (x > 1) NaN else x
  expect_equal(slope(1 - 1e-9, below), 1, tolerance = 1e-3)
})

test_that("a wrong gradient is told with both numbers", {
  skip_long()
  run <- function(gradient, ...) {
    short_mh(bowl, c(a = 1, b = 2), gradient = gradient,
      inits = list(c(1, 2), c(2, 1)), ...
    )
  }
  told <- tryCatch(run(function(x) c(-x[1], x[2])), error = identity)
  expect_s3_class(told, "gibbsite_error")
  said <- gsub("[[:space:]]+", " ", conditionMessage(told))
  expect_match(said, "\"b\"", fixed = TRUE)
  expect_match(said, "It is 2; by differences of the log density it is -2",
               fixed = TRUE)
  expect_s3_class(run(down), "mh_sample")
  # a small error of a factor, and on the scale of the working point
  expect_error(run(function(x) -1.1 * x), class = "gibbsite_error")
  expect_error(
    short_mh(function(x) stats::dgamma(x, 3, log = TRUE), 1,
      gradient = function(x) 3 - x, lower = 0, transform = TRUE,
      inits = list(1.5, 2)
    ),
    class = "gibbsite_error"
  )
  # far from zero, sharp, and large
  sharp <- function(x) -0.5 * sum(((x - 1e6) * 1e3)^2) + 1e8
  expect_s3_class(
    short_mh(sharp, 1e6, gradient = function(x) -(x - 1e6) * 1e6,
             inits = list(1e6 + 1e-3, 1e6)),
    "mh_sample"
  )
  cauchy <- function(x) -log1p((1e5 * (x - 3))^2)
  expect_s3_class(
    short_mh(cauchy, 3, inits = list(3 + 1e-5, 3), gradient = function(x) {
      z <- 1e5 * (x - 3)
      -2 * 1e5 * z / (1 + z^2)
    }), "mh_sample"
  )
})

# ---- the driver --------------------------------------------------------------

test_that("an interrupt inside a trajectory loses at most a segment", {
  skip_long()
  # one in adaptation, one after it
  for (at in fast_or(300, c(700, 2500))) {
    expect_interrupt_harmless(function(x) -x, at, function(gradient) {
      short_mh(bowl, c(0.5, 1), nuts(gradient, "dense"),
        draws = 300, burnin = fast_or(60, 160), inits = list(1:2, 3:4)
      )
    })
  }
})

# ---- diagnostics -------------------------------------------------------------

test_that("divergences, depth and energy are stored with the draws", {
  skip_long()
  sharp <- function(x) -0.5 * sum(x^2) - 1e6 * (x[1] > 1.5)
  fit <- short_mh(sharp, c(0.5, 1), nuts(down, max_depth = 2), draws = 300,
    burnin = 200, thin = 3, inits = list(c(0.5, 1), c(1, 0))
  )
  numbers <- gibbsite:::transitions_of(fit, 1, 1)
  expect_identical(dim(numbers), c(300L, 6L))
  expect_true(all(numbers[, "treedepth__"] <= 2))
  expect_gt(sum(numbers[, "divergent__"]), 0)
  # H of a point is at least its own potential energy
  expect_true(all(
    numbers[, "energy__"] >= -unclass(fit[[1]])[, "log_density"]
  ))
  more <- longer(fit, 20)
  expect_identical(gibbsite:::transitions_of(more, 1, 1)[1:300, ], numbers)
  said <- gsub("[[:space:]]+", " ", paste(capture.output(print(fit)),
                                          collapse = " "))
  expect_match(said, "divergences in 1800 transitions")
  expect_match(said, "E-BFMI")
  testthat::skip_if_not_installed("bayesplot")
  table <- bayesplot::nuts_params(fit)
  expect_identical(names(table), c("Chain", "Iteration", "Parameter", "Value"))
  expect_identical(
    table$Value[table$Chain == 1 & table$Parameter == "energy__"],
    unname(numbers[, "energy__"])
  )
  expect_s3_class(bayesplot::mcmc_nuts_energy(table), "ggplot")
  expect_error(
    bayesplot::nuts_params(short_mh(bowl, c(0.5, 1))),
    class = "gibbsite_error_argument"
  )
})

test_that("the fraction of missing information is that of the energies", {
  fit <- short_mh(bowl, c(0.5, 1), nuts(down), draws = 100, burnin = 50)
  fraction <- vapply(1:2, function(k) {
    energy <- gibbsite:::transitions_of(fit, k, 1)[, "energy__"]
    sum(diff(energy)^2) / sum((energy - mean(energy))^2)
  }, 0)
  stored <- vapply(attr(fit, "chains"), function(chain) {
    energies <- chain$state$blocks[[1]]$energies
    energies[[6]] / energies[[5]]
  }, 0)
  expect_equal(stored, fraction, tolerance = 1e-12)
})

test_that("arguments are checked", {
  skip_long()
  expect_gibbsite_error({
    nuts(1)
    nuts(function() 1)
    nuts(mass = "full")
    nuts(max_depth = 0)
    nuts(target = 1)
    hmc(0)
    hmc(tune = FALSE)
    hmc(n_steps = 0)
    hmc(jitter = 1)
    mixture_proposal(nuts(down), random_walk(1))
    mh_step(bowl, hmc(gradient = down))
    mh_sample(bowl, 0, random_walk(1), gradient = down)
    mh_sample(bowl, 0, gradient = 1)
  })
})

test_that("a proposal called like a sampler says what to call", {
  for (make in list(nuts, hmc)) {
    if (identical(make, hmc)) {
      made <- rlang::catch_cnd(hmc(0.1, 2, mass = c(0, 0)))
    } else {
      made <- rlang::catch_cnd(nuts(function(x) -sum(x^2), c(0, 0)))
    }
    expect_s3_class(made, "gibbsite_error_argument")
    expect_match(conditionMessage(made), "mh_sample(log_density", fixed = TRUE)
  }
})

test_that("a gradient of another length is found before the run", {
  expect_error(
    mh_sample(
      function(p) -sum(p^2) / 2, c(a = 1, b = 2), nuts(),
      gradient = function(p) -p[1], progress = FALSE
    ),
    "must return 2 numbers, one for each parameter, not 1",
    class = "gibbsite_error_gradient"
  )
})
