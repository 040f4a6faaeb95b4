# univariate_slice() and elliptical_slice(): their sweeps against twins in R on
# the same random numbers, invariance, wrong samplers that the same test
# rejects, widths, and what is said of a run.

# ---- one sweep ---------------------------------------------------------------

test_that("sweeps over coordinates are those of the twin", {
  skip_long()
  withr::local_seed(3)
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    for (max_steps in c(1, 3, 100)) {
      width <- c(0.4, 2, 0.1)
      model <- bare_mh(
        target$log_density, target$init, univariate_slice(width, max_steps),
        lower = target$lower, transform = bounded
      )
      model$spec$rows <- 1
      state <- state_at(model, target$init)
      grown <- 0
      for (t in seq_len(fast_or(20, 60))) {
        x <- state$x
        asked <- state$blocks[[1]]$effort[[2]]
        state <- sweep_state(model, state)
        twin <- slice_twin(
          x, target$working, width, max_steps, choices_twin(state$ahead[2:3])
        )
        expect_equal(state$x, twin$x, tolerance = 1e-12)
        # each end that is not at the bound of the steps, and each point
        least <- sum(twin$grown + twin$shrunk + 1)
        asked <- state$blocks[[1]]$effort[[2]] - asked
        expect_gte(asked, least)
        expect_lte(asked, least + 6)
        grown <- grown + sum(twin$grown)
      }
      expect_identical(grown > 0, max_steps > 1)
    }
  }
})

test_that("blocks are swept in their order", {
  skip_long()
  withr::local_seed(4)
  target <- funnel_target()
  model <- bare_mh(target$log_density, target$init,
    list(univariate_slice(1), univariate_slice(c(2, 0.5))),
    blocks = list(2, c(3, 1))
  )
  model$spec$rows <- 1
  state <- state_at(model, target$init)
  for (t in 1:30) {
    x <- state$x
    state <- sweep_state(model, state)
    for (b in 1:2) {
      index <- list(2, c(3, 1))[[b]]
      inner <- list(log_density = function(z) {
        target$log_density(replace(x, index, z))
      })
      x[index] <- slice_twin(
        x[index], inner, list(1, c(2, 0.5))[[b]], 100,
        choices_twin(state$ahead[list(2:3, 5:6)[[b]]])
      )$x
    }
    expect_equal(state$x, x, tolerance = 1e-12)
  }
})

test_that("elliptical sweeps are those of the twin", {
  withr::local_seed(5)
  lower <- matrix(c(1, 0.4, -0.3, 0, 0.8, 0.2, 0, 0, 1.3), 3)
  mean <- c(0.5, -1, 0.2)
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    for (l in list(lower, diag(c(0.7, 1.2, 2)))) {
      cov <- if (identical(l, lower)) l %*% t(l) else diag(l)^2
      model <- bare_mh(
        target$log_density, target$init, elliptical_slice(cov, mean),
        lower = target$lower, transform = bounded
      )
      model$spec$rows <- 1
      state <- state_at(model, target$init)
      for (t in seq_len(fast_or(20, 60))) {
        x <- state$x
        state <- sweep_state(model, state)
        ahead <- state$ahead
        expect_equal(state$x, ellipse_twin(
          x, ahead[2:4], target$working, mean, l, ahead[[1]],
          choices_twin(ahead[5:6])
        ), tolerance = 1e-10)
      }
    }
  }
})

# ---- invariance --------------------------------------------------------------

test_that("one sweep leaves exact draws exact", {
  skip_long()
  n <- fast_or(250, 1e5)
  targets <- list(correlated_target(), curved_target())
  for (k in 1:2) {
    withr::local_seed(20 + k)
    target <- targets[[k]]
    d <- length(target$init)
    cases <- list(
      slice = univariate_slice(1), short = univariate_slice(0.5, 2),
      ellipse = elliptical_slice(diag(3, d) + 0.5, 0.3),
      variances = elliptical_slice(rep(4, d), target$init + 0.2)
    )
    for (name in names(cases)) {
      set <- fixed_dynamics(target, cases[[name]], 1)
      changes <- sweep_changes(set, target, n)
      expect_lt(max(abs(z_of_means(changes, 0))), 4.5, label = name)
      expect_gt(mean(changes[, 1] != 0), 0.99)
    }
  }
})

test_that("wrong slices and ellipses are found", {
  skip_long()
  target <- shifted_target()
  z <- function(sweep, n = 300) {
    withr::local_seed(22)
    max(abs(z_of_means(path_means(target, n, 30, sweep), 0)))
  }
  uniform <- function() stats::runif(1)
  ellipse <- function(mutant) {
    l <- matrix(c(1.5, 0.4, 0, 1.2), 2)
    function(x) {
      ellipse_twin(x, stats::rnorm(2), target, c(0.5, 0), l, uniform(),
                   uniform, mutant)
    }
  }
  slice <- function(mutant, width = 1, max_steps = 3) {
    function(x) {
      slice_twin(x, target, rep(width, 2), max_steps, uniform, mutant)$x
    }
  }
  # another path than the right twin's, which is the core's
  expect_found <- function(move, mutant, ...) {
    right <- path_from(target$init, move("none", ...))
    wrong <- path_from(target$init, move(mutant, ...))
    expect_gt(max(abs(wrong - right)), 1e-3, label = mutant)
    if (is_extended()) expect_gt(z(move(mutant, ...)), 6, label = mutant)
  }
  if (is_extended()) {
    expect_lt(z(slice("none")), 4.5)
    expect_lt(z(ellipse("none")), 4.5)
    expect_lt(z(slice("none", 4)), 4.5)
  }
  expect_found(slice, "x at an end")
  expect_found(slice, "all steps to the right")
  expect_found(slice, "first point")
  expect_found(slice, "takes the third point", 8)
  expect_found(ellipse, "likelihood with the prior")
  expect_found(ellipse, "prior without its mean")
  expect_found(ellipse, "ellipse without its mean")
})

test_that("slices within gibbs_sample() leave the posterior exact", {
  skip_long()
  # x | y ~ N(y, 1), y | x ~ N(x / 2, 1 / 2): y ~ N(0, 1), x ~ N(0, 2)
  n <- fast_or(1000, 4000)
  run <- function(one, two) {
    quietly(gibbs_sample(
      list(
        x = mh_step(function(state) -0.5 * (state$x - state$y)^2, one),
        y = mh_step(function(state) -(state$y - state$x / 2)^2, two)
      ),
      list(x = 0, y = 0), draws = n, burnin = 200, chains = 4, seed = 1,
      progress = FALSE
    ))
  }
  for (fit in list(
    run(univariate_slice(), elliptical_slice(2, 0.5)),
    run(elliptical_slice(1), univariate_slice(0.3, 4))
  )) {
    values <- function(x) cbind(x, x[, 1]^2, x[, 2]^2, x[, 1] * x[, 2])
    draws <- lapply(fit, function(x) values(unclass(x)[, c("x", "y")]))
    for (q in 1:5) {
      one <- vapply(draws, function(v) v[, q], numeric(n))
      expect_lt(abs(z_of_chains(one, c(0, 0, 2, 1, 1)[[q]])), 4.5, label = q)
    }
  }
})

test_that("bounds leave the posterior exact", {
  skip_unless_extended()
  log_density <- function(x) {
    stats::dgamma(x[1], 2.5, log = TRUE) +
      stats::dbeta(x[2], 2, 4, log = TRUE) + stats::dexp(-x[3], 2, log = TRUE)
  }
  expected <- c(2.5, 1 / 3, -0.5, 8.75, 1 / 7, 0.5)
  n <- 3000
  run <- function(proposal, transform, ...) {
    short_mh(log_density, c(1, 0.5, -1), proposal, lower = c(0, 0, -Inf),
      upper = c(Inf, 1, 0), transform = transform, draws = n, burnin = 300,
      chains = 4, ...
    )
  }
  fits <- list(
    run(univariate_slice(), FALSE), run(univariate_slice(), TRUE),
    run(elliptical_slice(c(4, 1, 1), c(1, 0.5, -0.5)), FALSE),
    run(list(elliptical_slice(2), univariate_slice(1)), TRUE,
        blocks = list(1:2, c(3, 1)))
  )
  for (fit in fits) {
    draws <- lapply(fit, function(x) {
      cbind(unclass(x)[, 1:3], unclass(x)[, 1:3]^2)
    })
    for (q in 1:6) {
      one <- vapply(draws, function(v) v[, q], numeric(n))
      expect_lt(abs(z_of_chains(one, expected[[q]])), 4.5, label = q)
    }
  }
})

# ---- widths ------------------------------------------------------------------

test_that("widths are learned as the formula says", {
  skip_long()
  withr::local_seed(6)
  target <- funnel_target()
  model <- bare_mh(target$log_density, target$init, univariate_slice())
  model$spec$rows <- 1
  state <- state_at(model, target$init)
  width <- c(50, 0.01, 1)
  state$blocks[[1]]$factor <- width + 0
  control <- list(burnin = 50, thin = 1, threads = 1)
  for (n in 1:60) {
    x <- state$x
    state <- gibbsite:::model_sweeps(model, state, 1, control)$state
    twin <- slice_twin(
      x, target, width, 100, choices_twin(state$ahead[2:3])
    )
    expect_equal(state$x, twin$x, tolerance = 1e-12)
    changes <- twin$grown + twin$shrunk
    share <- ifelse(changes > 0, twin$grown / changes, 0.5)
    gain <- if (n <= 50) min(1, 3 * n^(-2 / 3)) else 0
    width <- width * exp(gain * (share - 0.5))
    expect_equal(state$blocks[[1]]$factor, width, tolerance = 1e-12)
  }
})

test_that("widths come to the scales of the coordinates from far away", {
  skip_long()
  sd <- c(1e-3, 1, 1e3)
  model <- bare_mh(
    function(x) -0.5 * sum((x / sd)^2), c(0, 0, 0), univariate_slice()
  )
  model$spec$rows <- 1
  widths <- vapply(c(1e-4, 1e4), function(start) {
    withr::local_seed(7)
    state <- state_at(model, c(0, 0, 0))
    state$blocks[[1]]$factor <- rep(start, 3)
    control <- list(burnin = 1000, thin = 1, threads = 1)
    state <- gibbsite:::model_sweeps(model, state, 1000, control)$state
    state$blocks[[1]]$factor / sd
  }, numeric(3))
  expect_lt(max(abs(log(widths / widths[2, 1]))), log(1.5))
})

test_that("given widths stay, and learned ones are frozen after burn-in", {
  widths <- function(fit) attr(fit, "chains")[[1]]$state$blocks[[1]]$factor
  run <- function(proposal, draws, ...) {
    short_mh(bowl, c(a = 1, b = 2), proposal, draws = draws, burnin = 50, ...)
  }
  expect_identical(widths(run(univariate_slice(c(b = 2, a = 1)), 5)), c(1, 2))
  short <- widths(run(univariate_slice(), 1))
  expect_identical(widths(run(univariate_slice(), 100)), short)
  expect_false(identical(short, widths(short_mh(
    bowl, c(a = 1, b = 2), univariate_slice(), draws = 1, burnin = 40
  ))))
})

# ---- runs --------------------------------------------------------------------

test_that("evaluations a sweep are counted and printed", {
  skip_long()
  asked <- 0
  counting <- function(x) {
    asked <<- asked + 1
    bowl(x)
  }
  for (proposal in list(univariate_slice(), elliptical_slice(c(2, 2)))) {
    fit <- short_mh(counting, c(0.5, 1), proposal, draws = 30, burnin = 20,
      inits = list(1:2, 3:4)
    )
    before <- asked
    more <- longer(fit, 60)
    effort <- function(fit) {
      sum(vapply(attr(fit, "chains"), function(chain) {
        chain$state$blocks[[1]]$effort[[2]]
      }, 0))
    }
    expect_identical(asked - before, effort(more) - effort(fit))
    said <- paste(capture.output(print(more)), collapse = " ")
    mean <- format(effort(more) / 180, digits = 3)
    expect_match(said, paste("Slice sampling:", mean, "evaluations a sweep"),
                 fixed = TRUE)
    expect_identical(acceptance(more)$rate, c(1, 1))
    expect_equal(attr(more, "running")$thin, 1)
  }
})

test_that("the trace has the point after each sweep", {
  fit <- short_mh(bowl, c(0.5, 1), univariate_slice(), debug = TRUE)
  trace <- mh_trace(fit)[[1]]
  kept <- as.matrix(trace[11:30, c("x[1]", "x[2]")])
  expect_identical(unname(kept), unname(unclass(fit[[1]])[, 1:2]))
  expect_true(all(trace$accepted & is.nan(trace$log_ratio)))
})

test_that("an interrupt inside a sweep loses at most a segment", {
  skip_unless_extended()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "return"
  )
  for (proposal in list(univariate_slice(), elliptical_slice(c(2, 2)))) {
    for (at in c(300, 900)) {
      count <- 0
      counting <- function(x) {
        count <<- count + 1
        if (count == at) rlang::interrupt()
        bowl(x)
      }
      run <- function(draws) {
        short_mh(counting, c(0.5, 1), proposal, draws = draws, burnin = 100,
          inits = list(1:2, 3:4)
        )
      }
      expect_warning(
        part <- run(300), class = "gibbsite_warning_interrupted"
      )
      whole <- run(300)
      shown <- if (inherits(part, "gibbsite_partial")) 0 else nrow(part[[1]])
      expect_lt(shown, 300)
      expect_true(identical_fit(longer(part, 300 - shown), whole))
    }
  }
})

test_that("a flat density and one of zero outside bounds are no obstacle", {
  skip_long()
  fit <- short_mh(function(x) 0, c(0.5, 0.5), univariate_slice(), lower = 0,
    draws = 3000, upper = 1, chains = 4
  )
  draws <- vapply(fit, function(x) unclass(x)[, 1], numeric(3000))
  expect_lt(abs(z_of_chains(draws, 0.5)), 4.5)
  expect_lt(abs(z_of_chains(draws^2, 1 / 3)), 4.5)
  # a density that is random never traps a sweep
  noisy <- function(x) bowl(x) + stats::rnorm(1, 0, 5)
  for (proposal in list(univariate_slice(1e-3), elliptical_slice(c(2, 2)))) {
    fit <- short_mh(noisy, c(0.5, 1), proposal, inits = list(1:2, 1:2))
    expect_s3_class(fit, "mh_sample")
  }
})

test_that("a Laplace approximation gives mean and covariance", {
  fit <- quietly(laplace(function(x) -0.5 * sum((x - 1:2)^2 / c(1, 4)),
    c(a = 0, b = 0), progress = FALSE, seed = 1
  ))
  both <- elliptical_slice(prior_mean = fit)
  expect_equal(unname(both$prior_mean), 1:2, tolerance = 1e-6)
  expect_equal(unname(both$prior_cov), diag(c(1, 4)), tolerance = 1e-4)
  one <- elliptical_slice(fit)
  expect_identical(one$prior_mean, 0)
  expect_identical(one$prior_cov, both$prior_cov)
})

test_that("arguments are checked", {
  skip_long()
  expect_gibbsite_error({
    univariate_slice(0)
    univariate_slice("wide")
    univariate_slice(NULL)
    univariate_slice(bowl, 0)
    univariate_slice(max_steps = 0)
    elliptical_slice()
    elliptical_slice(-1)
    elliptical_slice(matrix(c(1, 2, 2, 1), 2))
    elliptical_slice(diag(2), 1:3)
    elliptical_slice("mode")
    mixture_proposal(univariate_slice(), random_walk(1))
    mh_sample(bowl, 1:3, univariate_slice(1:2))
    mh_sample(bowl, 1:3, elliptical_slice(diag(2)))
    mh_sample(bowl, 1:3, elliptical_slice(c(1, 2)))
    mh_sample(bowl, 1:2, univariate_slice(), gradient = function(x) -x)
  })
})
