# The causes of a failure to converge, on made-up chains whose cause is known.

# Stationary autoregressive chains, draws x chains; `start`: their first values.
ar_chains <- function(n, phi, chains = 4, start = stats::rnorm(chains)) {
  vapply(seq_len(chains), function(k) {
    steps <- stats::rnorm(n) * sqrt(1 - phi^2)
    steps[1] <- start[k]
    as.double(stats::filter(steps, phi, method = "recursive"))
  }, numeric(n))
}

# Chains that leave one of two levels with probability `rate` a draw.
switching_chains <- function(n, rate, chains = 4) {
  vapply(seq_len(chains), function(k) {
    level <- cumsum(stats::runif(n) < rate) + stats::rbinom(1, 1, 0.5)
    stats::rnorm(n) + 5 * (level %% 2)
  }, numeric(n))
}

cause_of <- function(x) {
  invariants <- array(x, c(dim(x), 1), list(NULL, NULL, "x"))
  table <- convergence_table(invariants, 1.01, 400)
  find_cause(invariants, table)
}

kinds <- function(times, chains) {
  found <- vapply(seq_len(times), function(i) {
    cause_of(chains())$kind %||% "none"
  }, "")
  table(factor(found, c("none", "short", "burnin", "stuck")))
}

test_that("slow chains that overlap are too short, and nothing else", {
  skip_long()
  set.seed(1)
  for (phi in fast_or(c(0.9, 0.999), c(0.9, 0.97, 0.99, 0.999))) {
    found <- kinds(25, function() ar_chains(500, phi))
    # fewer than two in a hundred were seen in 1,600 such runs
    expect_gte(found[["short"]] + found[["none"]], 24)
  }
})

test_that("a beginning far away is a burn-in that was too short", {
  skip_long()
  set.seed(2)
  for (far in c(20, 100)) {
    found <- kinds(10, function() {
      rbind(ar_chains(60, 0.5) + far, ar_chains(740, 0.5))
    })
    expect_equal(found[["burnin"]], 10)
  }
  # from both sides, by a slow approach
  cause <- cause_of(
    ar_chains(2000, 0.9) + exp(-(1:2000) / 100) %o% c(-40, -20, 20, 40)
  )
  expect_identical(cause$kind, "burnin")
  expect_gte(cause$drop, 200)
  expect_lte(cause$drop, 1000)
})

test_that("draws to drop are counted in a long run that is judged by a part", {
  skip_long()
  set.seed(3)
  x <- rbind(ar_chains(3000, 0.5) + 30, ar_chains(47000, 0.5))
  cause <- cause_of(x)
  expect_identical(cause$kind, "burnin")
  expect_gte(cause$drop, 3000)
  expect_lte(cause$drop, 5000)
  expect_equal(cause$more, 0)
})

test_that("level chains that lie apart are stuck", {
  set.seed(4)
  for (shift in c(1, 10)) {
    found <- kinds(10, function() {
      x <- ar_chains(500, 0.5)
      x[, 1] <- x[, 1] + shift
      x
    })
    expect_equal(found[["stuck"]], 10)
  }
  constant <- ar_chains(500, 0.5)
  constant[, 2] <- 1
  expect_identical(cause_of(constant)$kind, "stuck")
})

test_that("a short run is called stuck only if a chain never moves", {
  skip_long()
  set.seed(4)
  found <- kinds(10, function() ar_chains(200, 0.3) + rep(1:4, each = 200))
  expect_equal(found[["short"]], 10)
  # chains that never move are, however short the run
  still <- matrix(rep(1:4, each = 100), 100)
  expect_identical(cause_of(still)$kind, "stuck")
})

test_that("chains that move as slowly as they differ are not stuck", {
  set.seed(8)
  found <- kinds(20, function() {
    # a slow part, which the fast one hides from the effective sample size
    ar_chains(1000, 0.3) + 6 * ar_chains(1000, 0.998) * sqrt(1 - 0.998^2)
  })
  expect_lte(found[["stuck"]], 1)
  expect_gte(found[["short"]] + found[["burnin"]], 17)
})

test_that("chains that switch rarely are stuck, often is not rarely", {
  skip_long()
  set.seed(5)
  rare <- kinds(20, function() switching_chains(1000, 0.003))
  expect_gte(rare[["stuck"]], 18)
  often <- kinds(20, function() switching_chains(1000, 0.2))
  expect_equal(often[["stuck"]], 0)
  one <- cause_of(switching_chains(1000, 0.003, chains = 1))
  expect_identical(one$kind, "stuck")
})

test_that("a chain that has found the level of the others is a burn-in", {
  set.seed(6)
  x <- ar_chains(1000, 0.5)
  x[1:150, 2] <- x[1:150, 2] + 8
  cause <- cause_of(x)
  expect_identical(cause$kind, "burnin")
  expect_gte(cause$drop, 150)
})

test_that("the advice works: a fit that follows it converges", {
  set.seed(7)
  late <- rbind(ar_chains(100, 0.5) + 10, ar_chains(900, 0.5))
  fit <- fake_fit(
    draws = 1000, columns = "a", values = function(k) late[, k, drop = FALSE]
  )
  cause <- attr(convergence(fit), "cause")
  expect_identical(cause$kind, "burnin")
  expect_output(print(fit), "window(fit, start = ", fixed = TRUE)
  dropped <- window(fit, start = cause$start)
  expect_true(converged(dropped))
  short <- fake_fit(
    draws = 200, columns = "a",
    values = function(k) ar_chains(200, 0.7)[, 1, drop = FALSE]
  )
  cause <- attr(convergence(short), "cause")
  expect_identical(cause$kind, "short")
  set.seed(8)
  longer <- ar_chains(200 + cause$more, 0.7)
  expect_true(converged(fake_fit(
    draws = 200 + cause$more, columns = "a",
    values = function(k) longer[, k, drop = FALSE]
  )))
})

test_that("each cause has its words", {
  fit_of <- function(x) {
    fake_fit(
      draws = nrow(x), columns = c("a", "b[1]"),
      values = function(k) cbind(x[, k], x[, k]^2)
    )
  }
  set.seed(9)
  apart <- ar_chains(500, 0.5)
  apart[, 1] <- apart[, 1] + 5
  slow <- ar_chains(500, 0.999)
  early <- rbind(ar_chains(50, 0.5) + 20, ar_chains(450, 0.5))
  stuck <- fit_of(apart)
  model <- attr(stuck, "model")
  model$cures <- "Try another toy."
  attr(stuck, "model") <- model
  expect_gibbsite_condition(
    warn_convergence(stuck), "gibbsite_warning_convergence"
  )
  expect_snapshot({
    print(stuck)
    print(fit_of(slow))
    print(fit_of(early))
  })
})

test_that("one chain is not told that chains differ", {
  set.seed(10)
  x <- ar_chains(1000, 0.5, chains = 1)
  x[c(201:400, 701:900), ] <- x[c(201:400, 701:900), ] + 5
  fit <- fake_fit(
    draws = 1000, columns = "a", chains = 1, values = function(k) x
  )
  expect_output(print(fit), "The halves of the chain are at different levels")
})

trace_fit <- function(x, burnin = 100) {
  fake_fit(
    draws = nrow(x), columns = c("a", "log_density"), burnin = burnin,
    chains = ncol(x),
    values = function(k) cbind(stats::rnorm(nrow(x)), x[, k])
  )
}

test_that("chains whose log density still rises are not at the posterior", {
  set.seed(11)
  ramp <- seq(-500, 0, length.out = 400)
  noise <- ar_chains(400, 0.5)
  fit <- trace_fit(ramp + noise)
  cause <- attr(convergence(fit), "cause")
  expect_identical(cause$kind, "climbing")
  expect_identical(cause$chains, 1:4)
  expect_identical(cause$burnin, 1000)
  expect_output(print(fit), "Not yet at the posterior: log_density still rises")
  expect_output(print(fit), "burnin = 1000")
  # one of them, below the others
  one <- noise
  one[, 2] <- one[, 2] + ramp - 100
  expect_identical(
    attr(convergence(trace_fit(one)), "cause")$chains, 2L
  )
  # a chain that rises above the others has not come from below
  one[, 2] <- one[, 2] + 700
  expect_false(identical(
    attr(convergence(trace_fit(one)), "cause")$kind, "climbing"
  ))
})

test_that("draws on the way to the posterior are to be dropped", {
  set.seed(12)
  way <- c(seq(-500, -20, length.out = 40), rep(0, 160))
  fit <- trace_fit(way + ar_chains(200, 0.9))
  cause <- attr(convergence(fit), "cause")
  expect_identical(cause$kind, "burnin")
  expect_gte(cause$drop, 35)
  expect_output(print(fit), "Not yet at the posterior, .* log_density rises")
})

test_that("level chains, slow or not, do not rise", {
  skip_long()
  set.seed(13)
  for (phi in c(0.5, 0.99, 0.999)) {
    rising <- vapply(1:100, function(i) {
      length(chains_that_climb(ar_chains(400, phi)))
    }, 0)
    # a chain in a few hundred of the slowest
    expect_lte(sum(rising > 0), 5)
  }
})

test_that("the time of draws is that of later sweeps", {
  step <- function(chain, sweep, seconds) {
    accept_segment(
      chain, list(state = list(sweep = sweep), draws = matrix(0, 0, 1)),
      seconds, 0.25
    )
  }
  chain <- new_chain(list(sweep = 0), NULL)
  chain <- step(step(chain, 1, 7), 9, 1)
  expect_identical(chain$seconds, 0)
  chain <- step(chain, 73, 0.64)
  expect_equal(chain$seconds, 0.73)
  expect_equal(step(chain, 173, 1)$seconds, 1.73)
  fit <- fake_fit(draws = 100, burnin = 100)
  attr(fit, "run")$elapsed$chains <- rep(0.2, 4)
  attr(fit, "run")$elapsed$total <- 1e6
  expect_equal(seconds_of_sweeps(fit, 1000), 4)
  attr(fit, "run")$cores <- 2L
  expect_equal(seconds_of_sweeps(fit, 1000), 2)
})

test_that("print() and the warning speak of a rule with limits of its own", {
  run <- function(...) {
    gibbs_lm(dist ~ speed, cars, burnin = 10, chains = 4, seed = 1,
             progress = FALSE, ...)
  }
  line <- function(fit) {
    grep("stopping rule", capture.output(print(fit)), value = TRUE)
  }
  expect_warning(
    strict <- run(draws = 200, stop_when = until(ess = 2000, max_draws = 400)),
    "have converged, but not met the rule"
  )
  expect_true(converged(strict))
  expect_match(line(strict), "ESS >= 2000) was not met", fixed = TRUE)
  expect_silent(
    loose <- run(draws = 60, stop_when = until(ess = 100, rhat = 1.05))
  )
  expect_false(converged(loose))
  expect_match(line(loose), "ESS >= 100) was met", fixed = TRUE)
  expect_length(line(quietly(run(draws = 60))), 0)
})

test_that("the warning and convergence() name one cause in a long run", {
  skip_long()
  # log_density rises, but is not among the worst quantities
  far <- function(x) -sum(x^2) / 2
  run <- function() {
    mh_sample(far, stats::setNames(numeric(12), letters[1:12]),
      random_walk(0.01), inits = list(rep(60, 12), rep(50, 12)), draws = 4500,
      burnin = 0, chains = 2, seed = 1, progress = FALSE
    )
  }
  warned <- NULL
  fit <- withCallingHandlers(run(), gibbsite_warning_convergence = function(w) {
    warned <<- w
    rlang::cnd_muffle(w)
  })
  cause <- attr(convergence(fit), "cause")
  expect_identical(warned$cause, cause$kind)
  expect_identical(attr(warned$table, "cause")$variable, cause$variable)
})
