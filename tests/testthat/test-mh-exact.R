# mh_sample() draws from the density it is given: its steps against a sampler in
# R, detailed balance, invariance, moments, published answers, and wrong
# samplers that the same tests reject.

space <- asNamespace("gibbsite")

# ---- the steps, one by one ---------------------------------------------------

test_that("a chain is what its proposals and uniforms say, to the bit", {
  target <- normal_target()
  fit <- short_mh(target$log_density, target$init, random_walk(0.6),
    debug = TRUE, draws = 300, burnin = 40, thin = 3,
    inits = list(target$init, target$init + 1)
  )
  trace <- mh_trace(fit)
  for (k in 1:2) {
    start <- target$init + (k == 2)
    chain <- rebuild_chain(trace[[k]], start, target$log_density)
    expect_identical(chain$ratios, trace[[k]]$log_ratio)
    kept <- seq(43, 940, by = 3)
    expect_identical(
      chain$points[kept, ], unname(unclass(fit[[k]])[, 1:5], force = TRUE)
    )
    expect_identical(
      unname(unclass(fit[[k]])[, "log_density"]),
      apply(chain$points[kept, ], 1, target$log_density)
    )
  }
  steps <- as.matrix(trace[[1]][-(1:8)])
  expect_false(any(duplicated(trace[[1]]$uniform)))
  # the increments are N(0, 0.36)
  before <- rbind(target$init, rebuild_chain(
    trace[[1]], target$init, target$log_density
  )$points)[seq_len(nrow(steps)), ]
  increments <- (steps - before) / 0.6
  expect_gt(stats::ks.test(as.vector(increments), "pnorm")$p.value, 1e-4)
  expect_gt(stats::ks.test(trace[[1]]$uniform, "punif")$p.value, 1e-4)
})

test_that("asymmetric proposals are corrected by their own densities", {
  target <- bimodal_target()
  proposal <- drifting_proposal(1)
  fit <- short_mh(target$log_density, 0.2, proposal,
    debug = TRUE, draws = 200, burnin = 0, chains = 1, inits = list(0.2)
  )
  trace <- mh_trace(fit)[[1]]
  chain <- rebuild_chain(trace, 0.2, target$log_density, proposal$log_density)
  expect_equal(chain$ratios, trace$log_ratio, tolerance = 1e-12)
  expect_identical(chain$points[, 1], unname(unclass(fit[[1]])[, 1]))
  # what is wrong leads elsewhere
  for (mutant in c("no Hastings term", "stale value")) {
    wrong <- rebuild_chain(
      trace, 0.2, target$log_density, proposal$log_density, mutant
    )
    expect_false(isTRUE(all.equal(wrong$ratios, trace$log_ratio)))
  }
})

# Two kinds of proposal in a sweep over two blocks: what one of them moves, the
# slope, value and density that the other one needs depend on.
case_of <- function(gradient, kinds, blocks) {
  chosen <- Map(function(kind, index) {
    kinds_of_proposal(gradient, length(index))[[kind]]
  }, kinds, blocks)
  list(
    label = toString(c(kinds, vapply(blocks, deparse, ""))), blocks = blocks,
    log_q = unname(lapply(chosen, `[[`, "log_q")),
    proposals = unname(lapply(chosen, `[[`, "proposal"))
  )
}

# Each kind beside each other one, over blocks of several shapes in turn.
cases_of_all_kinds <- function(gradient) {
  kinds <- names(kinds_of_proposal(gradient, 1))
  pairs <- expand.grid(one = kinds, two = kinds, stringsAsFactors = FALSE)
  shapes <- list(
    list(2, c(3, 1)), list(c(3, 1), 2), list(1:3, 1), list(1, c(2, 3)),
    list(c(2, 1), c(1, 3))
  )
  Map(function(one, two, blocks) case_of(gradient, c(one, two), blocks),
      pairs$one, pairs$two, rep_len(shapes, nrow(pairs)))
}

# The largest difference between the log ratios of the steps of a run and those
# that follow from the density, its gradient and log q at the two points alone.
ratio_error <- function(target, case, sweeps) {
  model <- bare_mh(
    target$log_density, target$init, case$proposals, case$blocks,
    lower = target$lower, transform = target$bounded, debug = TRUE
  )
  steps <- sweep_state(model, state_at(model, target$init), sweeps)$trace
  # sweep, block, uniform, two densities, correction, ratio, moved, proposal
  steps <- matrix(steps, 8 + length(target$init))
  density <- target$working
  x <- target$to_working(target$init)
  worst <- 0
  for (t in seq_len(ncol(steps))) {
    y <- steps[-(1:8), t]
    own <- case$blocks[[steps[2, t]]]
    log_q <- case$log_q[[steps[2, t]]]
    ratio <- density$log_density(y) - density$log_density(x)
    if (!is.null(log_q)) {
      ratio <- ratio + log_q(x[own], y[own], density$gradient(y)[own]) -
        log_q(y[own], x[own], density$gradient(x)[own])
    }
    error <- abs(steps[7, t] - ratio) / (1 + abs(ratio))
    moves <- log(steps[3, t]) < ratio
    worst <- max(worst, error, y[-own] != x[-own], moves != steps[8, t])
    if (moves) x <- y
  }
  worst
}

test_that("steps over blocks are what their formulas say", {
  skip_long()
  withr::local_seed(7)
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    cases <- cases_of_all_kinds(target$gradient)
    for (case in cases[fast_or(seq(1 + bounded, length(cases), 3), TRUE)]) {
      # rounding: some 1e-15 of the terms of a ratio, and these are below 1e4
      expect_lt(
        ratio_error(target, case, fast_or(3, 30)), 1e-10, label = case$label
      )
    }
  }
})

# ---- detailed balance --------------------------------------------------------

# log q(y | x) written in R
log_normal_q <- function(y, mean, cov) {
  l <- t(chol(cov))
  z <- forwardsolve(l, y - mean)
  -0.5 * sum(z^2) - sum(log(diag(l))) - length(y) / 2 * log(2 * pi)
}

balance_cases <- function() {
  target <- banana_target()
  cov <- matrix(c(1, 0.5, 0.5, 2), 2)
  drift <- function(x) x + 0.32 * drop(cov %*% target$gradient(x))
  custom <- drifting_proposal(0.8)
  uniform_q <- function(y, x) {
    if (all(abs(y - x) <= sqrt(3) * c(4, 6))) {
      -sum(log(2 * sqrt(3) * c(4, 6)))
    } else {
      -Inf
    }
  }
  parts <- list(
    function(y, x) log_normal_q(y, x, diag(0.25, 2)),
    function(y, x) log_t_q(y, c(0, 1), cov, 4),
    custom$log_density,
    uniform_q,
    function(y, x) log_normal_q(y, drift(x), 0.64 * cov)
  )
  weights <- c(0.2, 0.3, 0.1, 0.15, 0.25)
  list(
    independence = list(
      proposal = independence(c(0, 1), cov, df = 4), log_q = parts[[2]]
    ),
    "normal independence" = list(
      proposal = independence(c(0, 1), cov, df = Inf),
      log_q = function(y, x) log_normal_q(y, c(0, 1), cov)
    ),
    custom = list(proposal = custom, log_q = custom$log_density),
    langevin = list(
      proposal = langevin(0.8, target$gradient, cov, tune = FALSE),
      log_q = parts[[5]]
    ),
    mixture = list(
      proposal = mixture_proposal(
        random_walk(0.5), independence(c(0, 1), cov, df = 4), custom,
        random_walk(c(4, 6), family = "uniform"),
        langevin(0.8, target$gradient, cov, tune = FALSE),
        weights = weights
      ),
      log_q = function(y, x) {
        log(sum(weights * exp(vapply(parts, function(q) q(y, x), 0))))
      }
    ),
    walk = list(
      proposal = random_walk(cov = cov, family = "t", df = 3),
      log_q = function(y, x) log_t_q(y, x, cov, 3)
    )
  )
}

# Steps of a chain that starts at the working point x: a list of each step's x
# and y, and what the core has of them: log q(x | y) - log q(y | x) and the log
# ratio.
steps_from <- function(model, x, start, sweeps = 11) {
  steps <- matrix(
    sweep_state(model, state_at(model, start), sweeps)$trace, 8 + length(x)
  )
  lapply(seq_len(ncol(steps)), function(t) {
    y <- steps[-(1:8), t]
    step <- list(x = x, y = y, correction = steps[6, t], ratio = steps[7, t])
    if (steps[8, t] == 1) x <<- y
    step
  })
}

test_that("the flows of steps from 12 points balance", {
  skip_long()
  target <- banana_target()
  withr::local_seed(4)
  points <- matrix(stats::rnorm(24, 0.3), 12)
  for (case in balance_cases()) {
    model <- bare_mh(
      target$log_density, target$init, case$proposal, debug = TRUE
    )
    worst <- 0
    for (i in 1:12) {
      for (step in steps_from(model, points[i, ], points[i, ])) {
        q_there <- case$log_q(step$y, step$x)
        q_back <- case$log_q(step$x, step$y)
        p <- c(target$log_density(step$x), target$log_density(step$y))
        flow <- p[[1]] + q_there + min(0, step$ratio)
        other <- p[[2]] + q_back + min(0, -step$ratio)
        error <- c(flow - other, step$correction - (q_back - q_there))
        worst <- max(worst, abs(error) / (1 + max(abs(c(p, q_there, q_back)))))
      }
    }
    # rounding: some 1e-15 of the largest term
    expect_lt(worst, 1e-12)
  }
})

# With bounds mapped to the line the flow is between working points, whose
# density has the Jacobian.
test_that("flows balance on the transformed scale", {
  log_density <- function(x) {
    stats::dgamma(x[1], 2, log = TRUE) + stats::dbeta(x[2], 2, 3, log = TRUE) +
      stats::dexp(-x[3], log = TRUE)
  }
  gradient <- function(x) {
    c(1 / x[1] - 1, 1 / x[2] - 2 / (1 - x[2]), 1)
  }
  model <- bare_mh(log_density, c(1, 0.5, -1),
    langevin(0.7, gradient, tune = FALSE),
    lower = c(0, 0, -Inf), upper = c(Inf, 1, 0), transform = TRUE,
    debug = TRUE
  )
  point <- function(w) c(exp(w[1]), stats::plogis(w[2]), -exp(w[3]))
  working <- function(w) {
    log_density(point(w)) + w[1] + w[3] +
      log(stats::plogis(w[2])) + log(stats::plogis(-w[2]))
  }
  slope <- function(w) {
    p <- stats::plogis(w[2])
    gradient(point(w)) * c(exp(w[1]), p * (1 - p), -exp(w[3])) +
      c(1, 1 - 2 * p, 1)
  }
  log_q <- function(y, x) {
    sum(stats::dnorm(y, x + 0.245 * slope(x), 0.7, log = TRUE))
  }
  withr::local_seed(5)
  points <- matrix(stats::rnorm(18), 6)
  worst <- 0
  for (i in 1:6) {
    for (step in steps_from(model, points[i, ], point(points[i, ]), 5)) {
      correction <- log_q(step$x, step$y) - log_q(step$y, step$x)
      ratio <- working(step$y) - working(step$x) + correction
      worst <- max(
        worst, abs(c(step$correction, step$ratio) - c(correction, ratio))
      )
    }
  }
  expect_lt(worst, 1e-10)
})

# ---- invariance --------------------------------------------------------------

# Exact draws of the 5-d normal, moved by one sweep.
normal_changes <- function(proposal, blocks = NULL, n = fast_or(600, 1500),
                           density = NULL) {
  target <- normal_target()
  cov <- target$cov / 1.3
  withr::with_seed(8, {
    points <- matrix(stats::rnorm(5 * n), n) %*% chol(cov) +
      rep(target$init, each = n)
    model <- bare_mh(
      density %||% target$log_density, target$init, proposal, blocks
    )
    one_sweep_changes(model, points, function(x) {
      z <- x - rep(target$init, each = nrow(x))
      cbind(z, z^2, z[, 1] * z[, 2], z[, 2] * z[, 3], z[, 4] * z[, 5])
    })
  })
}

test_that("one sweep over blocks leaves exact draws exact", {
  skip_long()
  target <- normal_target()
  blocks <- list(a = c(2, 1), b = 3, c = c(3, 4, 5))
  cases <- list(
    list(random_walk(0.8), "each"),
    list(list(
      random_walk(0.5), independence(-2, matrix(0.5), df = 3),
      langevin(0.6, target$gradient, tune = FALSE)
    ), blocks),
    list(list(
      langevin(0.7, target$gradient, tune = FALSE), drifting_proposal(0.5),
      mixture_proposal(
        random_walk(0.4), independence(target$init[3:5], diag(3)),
        langevin(0.5, target$gradient, tune = FALSE)
      )
    ), blocks)
  )
  for (case in cases[fast_or(3, 1:3)]) {
    changes <- normal_changes(case[[1]], case[[2]])
    expect_lt(max(abs(z_of_means(changes, 0))), 4)
    # and moves them
    expect_gt(min(colMeans(changes[, 1:5] != 0)), 0.2)
  }
})

expect_invariant <- function(target, case, chains, sweeps, seed) {
  withr::local_seed(seed)
  model <- bare_mh(
    target$log_density, target$init, case$proposals, case$blocks,
    lower = target$lower, transform = target$bounded
  )
  means <- means_from_exact(
    model, target$points(chains), function(x) noise_moments(target$noises(x)),
    sweeps
  )
  expect_lt(max(abs(z_of_means(means, 0))), 4.5, label = case$label)
}

# The slope that a step on a funnel's width needs changes with every other step.
test_that("many sweeps over blocks leave exact draws of a funnel exact", {
  skip_unless_extended()
  skip_on_cran()
  target <- funnel_target()
  for (kind in names(kinds_of_proposal(target$gradient, 1))) {
    case <- case_of(target$gradient, c("langevin", kind), list(2, c(3, 1)))
    expect_invariant(target, case, 400, 100, seed = 9)
  }
})

test_that("many sweeps over blocks of all kinds leave exact draws exact", {
  skip_unless_extended()
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    for (case in cases_of_all_kinds(target$gradient)) {
      expect_invariant(target, case, 400, 100, seed = 10)
    }
  }
})

test_that("a block whose proposal is not corrected does not", {
  skip_unless_extended()
  blocks <- list(c(2, 1), c(3, 4, 5))
  right <- list(random_walk(0.5), drifting_proposal(0.7))
  wrong <- right
  wrong[[2]] <- custom_proposal(right[[2]]$draw, NULL)
  expect_lt(max(abs(z_of_means(normal_changes(right, blocks, 1500), 0))), 4)
  expect_gt(max(abs(z_of_means(normal_changes(wrong, blocks, 1500), 0))), 6)
})

# ---- moments -----------------------------------------------------------------

test_that("every proposal gives every target its moments", {
  skip_unless_extended()
  for (name in names(mh_targets())) {
    target <- mh_targets()[[name]]
    proposals <- mh_proposals(target)
    for (kind in names(proposals)) {
      fit <- short_mh(target$log_density, target$init, proposals[[kind]],
        draws = 2000, burnin = 1500, thin = 2, chains = 4,
        seed = 2
      )
      z <- z_of_target(fit, target)
      expect_lt(max(abs(z)), 4, label = paste(name, kind))
    }
  }
})

test_that("a proposal on whole numbers alone gives their probabilities", {
  skip_long()
  p <- c(1, 3, 6, 2, 4) / 16
  log_p <- function(x) if (x %in% 1:5) log(p[x]) else -Inf
  # one up with probability 0.7, one down with 0.3
  walk <- custom_proposal(
    function(x) x + ifelse(stats::runif(1) < 0.7, 1, -1),
    function(y, x) log(if (y > x) 0.7 else 0.3)
  )
  fit <- short_mh(log_p, 3, walk,
    draws = 4000, chains = 4, burnin = 100, inits = list(1, 2, 4, 5)
  )
  for (k in 1:5) {
    at <- vapply(fit, function(x) unclass(x)[, 1] == k, logical(4000))
    expect_lt(abs(z_of_chains(at + 0, p[k])), 4)
  }
  # the same without the correction is another distribution
  wrong <- short_mh(log_p, 3, custom_proposal(walk$draw, NULL),
    draws = 4000, chains = 4, burnin = 100, inits = list(1, 2, 4, 5)
  )
  at <- vapply(wrong, function(x) unclass(x)[, 1] == 5, logical(4000))
  expect_gt(abs(z_of_chains(at + 0, p[5])), 6)
})

test_that("the notes' example has the autocorrelation of a diffusion", {
  skip_unless_extended()
  centre <- c(4, 4)
  precision <- solve(matrix(c(1, 0.8, 0.8, 1), 2))
  a <- precision[1, 1]
  b <- precision[1, 2]
  log_density <- function(x) {
    u <- x[1] - 4
    v <- x[2] - 4
    -0.5 * (a * (u * u + v * v) + 2 * b * u * v)
  }
  thin <- 60
  fit <- short_mh(log_density, centre, random_walk(0.1),
    draws = 2500, thin = thin, burnin = 4000, chains = 4, seed = 3
  )
  x <- array(unlist(lapply(fit, function(m) unclass(m)[, 1:2])),
             c(2500, 2, 4))
  for (j in 1:2) {
    expect_lt(abs(z_of_chains(x[, j, ], 4)), 4)
    expect_lt(abs(z_of_chains((x[, j, ] - 4)^2, 1)), 4)
  }
  expect_lt(abs(z_of_chains((x[, 1, ] - 4) * (x[, 2, ] - 4), 0.8)), 4)
  # along (1, 1), whose variance is 1.8
  along <- (x[, 1, ] + x[, 2, ]) / sqrt(2)
  steps <- thin * 2500 * 4 / posterior::ess_mean(along)
  ratio <- steps / (1.8 / 0.1^2)
  expect_gt(ratio, 3.5)
  expect_lt(ratio, 6)
})

# ---- eight schools -----------------------------------------------------------

# Rubin (1981), non-centred, log tau: mu ~ N(0, 5), tau ~ half-Cauchy(0, 5).
eight_schools <- function(p) {
  y <- c(28, 8, -3, 7, -1, 1, 18, 12)
  s <- c(15, 10, 16, 11, 9, 11, 10, 18)
  tau <- exp(p[2])
  eta <- p[3:10]
  -0.5 * sum(((y - p[1] - tau * eta) / s)^2) - 0.5 * sum(eta^2) -
    0.5 * (p[1] / 5)^2 - log1p((tau / 5)^2) + p[2]
}

test_that("eight schools agree with the reference, from density and start", {
  skip_unless_extended()
  init <- c(mu = 0, log_tau = 0, setNames(rep(0, 8), paste0("eta[", 1:8, "]")))
  n <- 4000
  fit <- quietly(mh_sample(eight_schools, init,
    draws = n, seed = 5, progress = FALSE
  ))
  expect_true(converged(fit))
  column <- function(name) {
    vapply(fit, function(x) unclass(x)[, name], numeric(n))
  }
  tau <- exp(column("log_tau"))
  theta <- column("mu") + tau * column("eta[1]")
  # mean (sd) of posteriordb's 10,000 independent draws, to two decimals
  reference <- list(
    list(column("mu"), 4.41, 3.31), list(tau, 3.60, 3.20),
    list(theta, 6.15, 5.62)
  )
  for (case in reference) {
    error <- sqrt(
      posterior::mcse_mean(case[[1]])^2 + (case[[3]] / 100)^2 + 0.005^2 / 3
    )
    expect_lt(abs(mean(case[[1]]) - case[[2]]) / error, 4)
  }
})

test_that("density and start suffice, or the warning's advice does", {
  skip_unless_extended()
  pima <- MASS::Pima.tr
  x <- stats::model.matrix(type ~ ., pima)
  y <- as.integer(pima$type) - 1
  logistic <- function(w) {
    eta <- drop(x %*% w)
    sum(y * eta - log1p(exp(eta))) - sum(w^2) / 200
  }
  correlated <- solve(0.9 + 0.1 * diag(20))
  normal <- function(x) -0.5 * sum(x * (correlated %*% x))
  cases <- list(
    list(logistic, rep(0, 8)), list(normal, seq(-2, 2, length.out = 20)),
    list(eight_schools, rep(0, 10))
  )
  for (case in cases[1:3]) {
    advice <- NULL
    fit <- withCallingHandlers(
      mh_sample(case[[1]], case[[2]], seed = 1, progress = FALSE),
      gibbsite_warning_convergence = function(cnd) {
        advice <<- conditionMessage(cnd)
        invokeRestart("muffleWarning")
      }
    )
    if (!is.null(advice)) {
      more <- as.numeric(sub(".*extend\\(fit, ([0-9]+)\\).*", "\\1", advice))
      fit <- quietly(extend(fit, more, progress = FALSE))
    }
    expect_true(converged(fit))
  }
})

# ---- pseudo-marginal ---------------------------------------------------------

# N(1, 0.25) times a log-normal with mean 1: an unbiased estimate.
noisy_normal <- function(x) {
  stats::dnorm(x, 1, 0.5, log = TRUE) + stats::rnorm(1, -0.32, 0.8)
}

test_that("an unbiased estimate of the density leaves the posterior exact", {
  skip_unless_extended()
  fit <- short_mh(noisy_normal, 1, random_walk(1),
    draws = 8000, burnin = 200, chains = 4
  )
  x <- vapply(fit, function(m) unclass(m)[, 1], numeric(8000))
  expect_lt(abs(z_of_chains(x, 1)), 4)
  expect_lt(abs(z_of_chains((x - 1)^2, 0.25)), 4)
  # to compare with the value of a point that was left is wrong
  evaluated <- list(log_density = noisy_normal, init = 2.2)
  symmetric <- function(y, x) 0
  step <- function(x) x + stats::rnorm(1)
  z <- function(mutant) {
    points <- withr::with_seed(6, vapply(1:4, function(k) {
      slow_chain(evaluated, step, symmetric, 8000, mutant)[, 1]
    }, numeric(8000)))
    points <- points[-(1:200), ]
    c(z_of_chains(points, 1), z_of_chains((points - 1)^2, 0.25))
  }
  expect_lt(max(abs(z("none"))), 4)
  expect_gt(max(abs(z("stale value"))), 6)
})

test_that("a density is asked once for each proposal, never for the current", {
  asked <- list()
  f <- function(x) {
    asked[[length(asked) + 1]] <<- x
    -0.5 * sum(x^2)
  }
  fit <- short_mh(f, c(0.5, 0.5), random_walk(1),
    debug = TRUE, draws = 50, burnin = 0, chains = 1, inits = list(c(0.5, 0.5))
  )
  proposals <- as.matrix(mh_trace(fit)[[1]][-(1:8)])
  expect_identical(
    unname(do.call(rbind, asked)), unname(rbind(c(0.5, 0.5), proposals))
  )
})

# ---- bounds ------------------------------------------------------------------

bounded_draws <- fast_or(1000, 3000)

bounded_moments <- function(transform, log_density = NULL, ...) {
  f <- function(x) {
    stats::dgamma(x[1], 2.5, log = TRUE) +
      stats::dbeta(x[2], 2, 4, log = TRUE) + stats::dexp(-x[3], 2, log = TRUE)
  }
  fit <- short_mh(log_density %||% f, c(1, 0.5, -1), ...,
    lower = c(0, 0, -Inf), upper = c(Inf, 1, 0), transform = transform,
    draws = bounded_draws, burnin = 3000, thin = 4, chains = 4
  )
  x <- lapply(fit, unclass)
  expected <- list(
    c(2.5, 2.5), c(1 / 3, 2 * 4 / (36 * 7)), c(-0.5, 0.25)
  )
  unlist(lapply(1:3, function(j) {
    v <- vapply(x, function(m) m[, j], numeric(bounded_draws))
    c(
      z_of_chains(v, expected[[j]][1]),
      z_of_chains((v - expected[[j]][1])^2, expected[[j]][2])
    )
  }))
}

test_that("bounds are exact, by rejection and by transformation", {
  skip_long()
  expect_lt(max(abs(bounded_moments(FALSE))), 4)
  expect_lt(max(abs(bounded_moments(TRUE))), 4)
})

test_that("a Jacobian of the wrong sign is seen", {
  skip_long()
  # exp(w) is Gamma(2.5, 1) if the log density of w has + w
  z <- function(sign) {
    f <- function(w) stats::dgamma(exp(w), 2.5, log = TRUE) + sign * w
    fit <- short_mh(f, 0, draws = 3000, burnin = 1000, thin = 2, chains = 4)
    x <- exp(vapply(fit, function(m) unclass(m)[, 1], numeric(3000)))
    abs(z_of_chains(x, 2.5))
  }
  expect_lt(z(1), 4)
  expect_gt(z(-1), 6)
  # the sampler's own is the right one
  f <- function(x) stats::dgamma(x, 2.5, log = TRUE)
  one <- short_mh(f, 1, random_walk(0.9), lower = 0, transform = TRUE,
    debug = TRUE, draws = 30, burnin = 0, chains = 1, inits = list(1)
  )
  trace <- mh_trace(one)[[1]]
  expect_equal(trace$log_target, trace$log_density + trace[["x[1]"]],
               tolerance = 1e-14)
})

# ---- adaptation --------------------------------------------------------------

memory_of <- function(fit) {
  lapply(attr(fit, "chains"), function(chain) {
    lapply(chain$state$blocks, `[`, c("factor", "mean", "tuning"))
  })
}

test_that("what is learned in burn-in is frozen after it", {
  skip_long()
  target <- normal_target()
  run <- function(draws, proposal) {
    short_mh(target$log_density, target$init, proposal,
      draws = draws, burnin = 500
    )
  }
  for (proposal in list(
    adaptive(), langevin(gradient = target$gradient),
    nuts(target$gradient, "dense"), hmc(gradient = target$gradient)
  )[fast_or(1:3, 1:4)]) {
    short <- run(1, proposal)
    expect_identical(memory_of(run(30, proposal)), memory_of(short))
    # and was learned: the same length without burn-in differs
    expect_false(identical(memory_of(short)[[1]][[1]]$tuning[[2]], 0))
  }
  # one that goes on learning is seen by the same comparison
  ever <- adaptive(forever = TRUE)
  expect_false(identical(memory_of(run(200, ever)), memory_of(run(1, ever))))
})

test_that("the learned covariance and rate are those aimed at", {
  skip_long()
  target <- normal_target()
  fit <- short_mh(target$log_density, target$init,
    draws = 2000, burnin = 20000, chains = 2
  )
  cov <- target$cov / 1.3
  for (chain in memory_of(fit)) {
    l <- matrix(chain[[1]]$factor, 5)
    l[upper.tri(l)] <- 0
    relative <- eigen(solve(cov, l %*% t(l)))$values
    expect_lt(max(abs(log(Re(relative)))), 0.5)
  }
  expect_lt(max(abs(acceptance(fit)$rate - (0.234 + 0.206 / 5))), 0.05)
  # the update of the covariance, in R
  short <- function(burnin) {
    short_mh(target$log_density, target$init, adaptive(scale = 0.5),
      draws = 1, burnin = burnin, chains = 1, inits = list(target$init),
      debug = TRUE
    )
  }
  fit <- short(60)
  chain <- rebuild_chain(mh_trace(fit)[[1]], target$init, target$log_density)
  mean <- target$init
  cov <- diag(0.25, 5)
  log_scale <- log(2.38 / sqrt(5))
  for (n in 1:60) {
    rate <- exp(min(0, chain$ratios[n]))
    log_scale <- log_scale + min(1, 3 * n^(-2 / 3)) * (rate - 0.2752)
    gain <- 2 / (n + 90)
    away <- chain$points[n, ] - mean
    cov <- (1 - gain) * cov + gain * tcrossprod(away)
    mean <- mean + gain * away
  }
  memory <- memory_of(fit)[[1]][[1]]
  l <- matrix(memory$factor, 5)
  l[upper.tri(l)] <- 0
  expect_equal(l %*% t(l), cov, tolerance = 1e-12)
  expect_equal(memory$mean, mean, tolerance = 1e-12)
  expect_equal(memory$tuning, c(log_scale, 60), tolerance = 1e-12)
})

test_that("the mode's Hessian gives the covariance of a normal density", {
  target <- normal_target()
  model <- bare_mh(target$log_density, target$init + 1,
                   random_walk(cov = "laplace"))
  l <- matrix(model$spec$blocks[[1]]$proposal$factor, 5)
  expect_equal(l %*% t(l), target$step_cov, tolerance = 1e-4)
  # of a block: given the others
  model <- bare_mh(
    target$log_density, target$init, random_walk(cov = "laplace"),
    blocks = list(1:2, 3:5)
  )
  l <- matrix(model$spec$blocks[[1]]$proposal$factor, 2)
  precision <- solve(target$cov / 1.3)
  expect_equal(l %*% t(l), 2.38^2 / 2 * solve(precision[1:2, 1:2]),
               tolerance = 1e-4)
})
