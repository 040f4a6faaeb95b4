# What functions of the user do to R's generator: however many numbers a log
# density takes, and where it sets a seed (common random numbers of a simulated
# likelihood), the draws are those of a density that takes none.

# The same value after `count` uniforms; 0 sets a seed instead.
taking <- function(count, value) {
  force(value)
  function(...) {
    if (count == 0) set.seed(1) else stats::runif(count)
    value(...)
  }
}

# run(density) for the density alone and with what it does to the generator.
expect_untouched <- function(run, value) {
  plain <- lapply(run(value), unclass)
  for (count in c(1, 17, 0)) {
    expect_identical(lapply(run(taking(count, value)), unclass), plain,
      info = paste("uniforms:", count)
    )
  }
}

kinds_to_try <- c("Mersenne-Twister", "L'Ecuyer-CMRG", "Wichmann-Hill")

under_each_kind <- function(code) {
  old <- RNGkind()
  withr::defer(RNGkind(old[1], old[2], old[3]))
  for (kind in kinds_to_try) {
    RNGkind(kind)
    code()
  }
}

test_that("chains start apart whatever a density does to the generator", {
  f <- function(x) {
    set.seed(1)
    -0.5 * sum(x^2)
  }
  under_each_kind(function() {
    fit <- short_mh(f, c(0.1, 0.2), random_walk(1e-9),
      draws = 1, burnin = 0, chains = 4
    )
    starts <- do.call(rbind, lapply(fit, unclass))[, 1:2]
    # a walk of steps of 1e-9 is where it started
    expect_gt(min(stats::dist(starts)), 0.01)
  })
})

test_that("mh_sample(): draws do not depend on a density's random numbers", {
  skip_long()
  density <- function(x) if (x[1] < -1) -Inf else -0.5 * sum(x^2)
  each <- list(
    adaptive(), random_walk(1), independence(c(0, 0), diag(2)),
    langevin(gradient = function(x) -x),
    custom_proposal(function(x) x + stats::rnorm(2), NULL),
    mixture_proposal(
      random_walk(1),
      custom_proposal(function(x) stats::rnorm(2), function(y, x) {
        stats::runif(3)
        sum(stats::dnorm(y, log = TRUE))
      })
    ),
    delayed_rejection(
      random_walk(2), custom_proposal(function(x) x + stats::rnorm(2), NULL)
    )
  )
  for (proposal in each[fast_or(c(1, 6), seq_along(each))]) {
    # the start is scattered until the density is positive
    expect_untouched(function(f) {
      short_mh(f, c(-0.9, 0), proposal, draws = 20, burnin = 20)
    }, density)
  }
  expect_untouched(function(f) {
    short_mh(f, c(-0.9, 0), list(random_walk(1), each[[5]]),
      blocks = list(1:2, 1:2), draws = 20, burnin = 0
    )
  }, density)
})

test_that("a custom proposal's draws are its own under every kind", {
  skip_long()
  under_each_kind(function() {
    expect_untouched(function(f) {
      short_mh(f, c(0, 0),
        custom_proposal(function(x) x + stats::rnorm(2), NULL)
      )
    }, function(x) -0.5 * sum(x^2))
  })
})

test_that("a random density beside custom draws is one run in any pieces", {
  skip_long()
  noisy <- function(x) -0.5 * sum(x^2) + stats::rnorm(1)
  run <- function(draws, seed = 1) {
    short_mh(noisy, c(0, 0),
      custom_proposal(function(x) x + stats::rnorm(2), NULL),
      draws = draws, burnin = 10, seed = seed
    )
  }
  whole <- run(40)
  expect_true(identical_fit(run(40), whole))
  expect_true(identical_fit(longer(run(10), 30), whole))
  withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
    expect_true(identical_fit(run(40), whole))
  })
})

test_that("a proposal that sets a seed is warned of", {
  draw <- function(x) {
    set.seed(1)
    x + stats::rnorm(2)
  }
  expect_warning(
    short_mh(function(x) -0.5 * sum(x^2), c(0, 0), custom_proposal(draw, NULL)),
    class = "gibbsite_warning_streams"
  )
})

test_that("a density beside custom draws cannot change the kind of generator", {
  before <- RNGkind()
  count <- 0
  late <- function(x) {
    count <<- count + 1
    if (count == 200) RNGkind("Wichmann-Hill")
    -0.5 * sum(x^2)
  }
  expect_error(
    short_mh(late, c(0, 0),
      custom_proposal(function(x) x + stats::rnorm(2), NULL), draws = 300
    ),
    "kind of random number", class = "gibbsite_error_chain"
  )
  expect_identical(RNGkind(), before)
})

test_that("mh_step(): draws do not depend on a density's random numbers", {
  skip_unless_extended()
  density <- function(state) -0.5 * (state$b - state$a)^2 - 0.5 * state$b^2
  slope <- function(state) state$a - 2 * state$b
  run <- function(f, proposal, gradient = NULL) {
    quietly(gibbs_sample(
      list(
        a = function(state) state$b + stats::rnorm(1),
        b = mh_step(f, proposal, steps = 2)
      ),
      list(a = 0, b = 0),
      draws = 40, burnin = 40, chains = 2, seed = 1, progress = FALSE
    ))
  }
  each <- list(
    adaptive(), random_walk(1), langevin(gradient = slope),
    langevin(gradient = taking(3, slope)),
    custom_proposal(function(x) x + stats::rnorm(1), NULL)
  )
  for (proposal in each) {
    expect_untouched(function(f) run(f, proposal), density)
  }
  under_each_kind(function() {
    expect_untouched(function(f) run(f, adaptive()), density)
  })
  # what a gradient takes is of no consequence either
  expect_identical(
    lapply(run(density, each[[3]]), unclass),
    lapply(run(density, each[[4]]), unclass)
  )
})

test_that("a step's density cannot change the kind of generator", {
  before <- RNGkind()
  count <- 0
  late <- function(state) {
    count <<- count + 1
    if (count == 30) RNGkind("Wichmann-Hill")
    -0.5 * state$b^2
  }
  expect_error(
    quietly(gibbs_sample(
      list(b = mh_step(late, random_walk(1))), list(b = 0),
      draws = 40, burnin = 0, chains = 1, seed = 1, progress = FALSE
    )),
    "kind of random number", class = "gibbsite_error_chain"
  )
  expect_identical(RNGkind(), before)
})

test_that("laplace(): draws do not depend on a density's random numbers", {
  skip_long()
  density <- function(x) -0.5 * sum((x - c(1, 2))^2) - 0.1 * sum(x^4)
  for (correct in c("none", "importance")) {
    expect_untouched(function(f) {
      suppressWarnings(laplace(f, c(0, 0),
        correct = correct, draws = 30, chains = 2, seed = 1, progress = FALSE
      ))
    }, density)
  }
})

test_that("the check of a Laplace approximation leaves the generator alone", {
  f <- taking(0, function(x) -0.5 * sum(x^2))
  fit <- suppressWarnings(
    laplace(f, c(0, 0), draws = 30, chains = 2, seed = 1, progress = FALSE)
  )
  set.seed(5)
  before <- .Random.seed
  check <- importance_check(fit)
  utils::capture.output(print(fit))
  expect_identical(.Random.seed, before)
  expect_identical(importance_check(fit), check)
})

test_that("an inits function that sets a seed is an error", {
  expect_error(
    short_mh(function(x) -0.5 * sum(x^2), 0, inits = function(k) {
      set.seed(1)
      stats::rnorm(1)
    }),
    "same random numbers", class = "gibbsite_error_streams"
  )
})

test_that("a state of before, whose densities had no stream, can go on", {
  fit <- short_mh(function(x) -0.5 * sum(x^2), c(0, 0),
    custom_proposal(function(x) x + stats::rnorm(2), NULL)
  )
  chains <- attr(fit, "chains")
  attr(fit, "chains") <- lapply(chains, function(chain) {
    chain$state$asked <- NULL
    chain
  })
  expect_identical(posterior::niterations(longer(fit, 10)), 30L)
})
