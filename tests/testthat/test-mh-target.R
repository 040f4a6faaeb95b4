# Functions that are no log densities, and advice that says so.

said <- function(fit) {
  gsub(" +", " ", paste(utils::capture.output(print(fit)), collapse = " "))
}

run <- function(f, init, ..., seed = 1) {
  quietly(mh_sample(f, init, ..., seed = seed, progress = FALSE))
}

doubts_of <- function(fit) {
  vapply(attr(fit, "run")$doubts, `[[`, "", "kind")
}

test_that("a density without an integral is told before the chains", {
  skip_long()
  expect_gibbsite_condition(
    withCallingHandlers(
      mh_sample(function(x) -x, c(x = 0), seed = 1, progress = FALSE),
      warning = function(cnd) invokeRestart("muffleWarning")
    ),
    "gibbsite_message_improper"
  )
  fit <- run(function(x) -x, c(x = 0))
  expect_match(said(fit), "rises without end in the direction of x")
  expect_no_match(said(fit), "extend\\(fit")
  # the run is short, because no draw of it is worth more
  expect_identical(ndraws(fit), 400L)
  expect_identical(attr(convergence(fit), "cause")$kind, "target")
  expect_match(
    paste(utils::capture.output(summary(fit)), collapse = " "),
    "is it integrable"
  )
})

test_that("the parameters of a flat direction are named", {
  skip_long()
  normal <- function(x) stats::dnorm(x, log = TRUE)
  flat <- list(
    list(function(x) normal(x[[1]]), "does not change with b"),
    list(function(x) normal(x[[1]] + 2 * x[[2]]), "a direction of a, b"),
    list(function(x) normal(x[[1]] * x[[2]] - 1), "the product of a and b"),
    list(function(x) normal(x[[1]]) + stats::plogis(x[[2]], log.p = TRUE),
         "does not fall in the direction of b"),
    list(function(x) 0, "does not change with a, b")
  )
  for (case in flat) {
    fit <- run(case[[1]], c(a = 1, b = 1), draws = 100, burnin = 100)
    expect_match(said(fit), case[[2]])
  }
})

test_that("a density with a peak and too heavy tails is told", {
  skip_long()
  fit <- run(function(x) -log1p(abs(x)), c(a = 1))
  expect_match(said(fit), "does not fall fast enough in the direction of a")
  # a standard deviation without a prior, and one observation
  lone <- function(x) {
    if (x[[2]] <= 0) -Inf else stats::dnorm(1, x[[1]], x[[2]], log = TRUE)
  }
  fit <- run(lone, c(m = 0, s = 1))
  expect_match(said(fit), "does not fall fast enough in the direction of s")
  heavy <- run(function(x) stats::dt(x, 0.5, log = TRUE), c(a = 0))
  expect_length(doubts_of(heavy), 0)
})

test_that("an improper target is told to Hamiltonian dynamics at once", {
  skip_unless_extended()
  count <- 0
  f <- function(x) {
    count <<- count + 1
    -(x[[1]] + x[[2]])^2 / 2
  }
  slope <- function(x) rep(-x[[1]] - x[[2]], 2)
  fit <- run(f, c(a = 0, b = 0), nuts(slope), chains = 1,
             inits = list(c(1, 2)))
  expect_match(said(fit), "a direction of a, b")
  # 200 trajectories of at most 1,023 steps
  expect_lt(count, 250000)
})

test_that("a sign that is wrong and a pole are told", {
  skip_long()
  expect_gibbsite_condition(
    suppressWarnings(try(mh_sample(
      function(x) sum(x^2) / 2, c(a = 1), seed = 1, progress = FALSE
    ), silent = TRUE)),
    "gibbsite_message_improper"
  )
  gamma <- function(x) {
    if (x <= 0) -Inf else stats::dgamma(x, 0.3, log = TRUE)
  }
  fit <- run(gamma, c(x = 1))
  expect_match(said(fit), "give `lower = 0` and `transform = TRUE`")
  cured <- run(gamma, c(x = 1), lower = 0, transform = TRUE)
  expect_length(doubts_of(cured), 0)
  fit <- run(function(x) if (x <= 0) -Inf else -2 * log(x), c(s = 1))
  expect_match(said(fit), "as s approaches 0.*is it integrable")
})

test_that("densities that are no logarithms are told", {
  fit <- run(function(x) prod(stats::dnorm(x)), c(a = 0, b = 0))
  expect_match(said(fit), "does `log_density` return the logarithm")
  fit <- run(function(x) 1e6 * stats::dnorm(x), c(a = 0))
  expect_match(said(fit), "does `log_density` return the logarithm")
})

test_that("a density of a large scale is not one of a product", {
  skip_unless_extended()
  for (scale in c(1e9, 1e10)) {
    expect_no_match(
      said(run(function(x) -sum((x / scale)^2) / 2, c(a = 0, b = 0))),
      "product|proper prior"
    )
  }
})

test_that("a density of whole numbers alone is told", {
  skip_long()
  poisson <- function(x) {
    base::suppressWarnings(stats::dpois(x[[1]], 3, log = TRUE)) +
      if (length(x) > 1) stats::dnorm(x[[2]], log = TRUE) else 0
  }
  # wide enough that chains converge whatever the rounding
  narrow <- function(x) {
    whole <- round(x[[1]])
    if (abs(x[[1]] - whole) > 5e-4) -Inf else stats::dpois(whole, 3, log = TRUE)
  }
  told <- function(density, init, draws) {
    cnd <- rlang::catch_cnd(suppressMessages(mh_sample(
      density, init, draws = draws, burnin = 300, seed = 1, progress = FALSE
    )), "warning")
    expect_match(gsub("\\s+", " ", conditionMessage(cnd)),
                 "-Inf between whole numbers of n,")
    cnd
  }
  told(poisson, c(n = 3), 100)
  if (is_extended()) {
    expect_s3_class(told(narrow, c(n = 3), 2000), "gibbsite_warning_region")
  }
  expect_s3_class(
    told(poisson, c(n = 3, x = 0.5), 100), "gibbsite_warning_convergence"
  )
  step <- custom_proposal(
    function(x) x + sample(c(-1, 1), 1), function(to, from) 0
  )
  whole <- suppressWarnings(quietly(mh_sample(
    poisson, c(n = 3), step, draws = 100, burnin = 100, chains = 2, seed = 1,
    progress = FALSE
  )))
  expect_no_match(said(whole), "whole numbers")
})

test_that("steps are told beside continuous proposals only", {
  skip_long()
  poisson <- function(x) {
    stats::dpois(floor(x[[1]]), 5, log = TRUE) +
      if (length(x) > 1) stats::dnorm(x[[2]], log = TRUE) else 0
  }
  expect_match(said(run(poisson, c(n = 5, x = 0))), "has steps in n,")
  whole <- custom_proposal(
    draw = function(x) x + sample(c(-1, 1), 1), log_density = NULL
  )
  expect_length(doubts_of(run(poisson, c(n = 5), whole)), 0)
  if (is_extended()) {
    expect_match(said(run(poisson, c(n = 5))), "has steps in n,")
  }
})

test_that("an argument that is not used is told", {
  fit <- run(function(x, y) stats::dnorm(x, log = TRUE), c(x = 0), y = 1:3)
  expect_match(said(fit), "does not use its argument `y`")
  fit <- run(function(x, y) stats::dnorm(x, y, log = TRUE), c(x = 0), y = 1)
  expect_length(doubts_of(fit), 0)
})

test_that("divergences beside a bound have the cure that works", {
  skip_long()
  normal <- function(x) stats::dnorm(x, log = TRUE)
  slope <- function(x) -x
  expect_warning(
    fit <- run(normal, c(x = 2), nuts(slope), lower = 1.65),
    class = "gibbsite_warning_region"
  )
  expect_match(said(fit), "leave the bounds. Give `transform = TRUE`")

  hidden <- function(x) if (x < 1.65) -Inf else normal(x)
  expect_warning(
    fit <- run(hidden, c(x = 2), nuts(slope)), "transitions diverged"
  )
  expect_match(
    said(fit), "zero below x = 1.65: give `lower` and `transform = TRUE`"
  )
  if (is_extended()) {
    cured <- run(normal, c(x = 2), nuts(slope), lower = 1.65, transform = TRUE)
    expect_no_match(said(cured), "transform")
  }
})

test_that("chains are doubted at a bound where the density has a pole", {
  skip_long()
  gamma <- function(shape, move, ...) {
    move$gradient <- function(x) (shape - 1) / x - 1
    withCallingHandlers(
      mh_sample(
        function(x) stats::dgamma(x, shape, log = TRUE), c(x = 1), lower = 0,
        proposal = move, seed = 1, progress = FALSE, ...
      ),
      message = function(cnd) invokeRestart("muffleMessage")
    )
  }
  expect_warning(
    fit <- gamma(0.8, nuts()), class = "gibbsite_warning_region"
  )
  expect_match(said(fit), "where x approaches a bound.*give `transform = TRUE`")
  if (is_extended()) {
    expect_warning(gamma(1.4, langevin()), class = "gibbsite_warning_region")
    expect_warning(
      gamma(1.4, nuts()), "diverged.*trajectories leave the bounds"
    )
    expect_no_warning(gamma(5, langevin()))
    expect_warning(
      run(function(x) stats::dgamma(x, 0.8, log = TRUE), c(x = 1), lower = 0),
      class = "gibbsite_warning_region"
    )
    fit <- gamma(1.4, langevin(), transform = TRUE)
    expect_identical(doubts_of(fit), character())
    # each bound is looked at, and blocks by their own move
    beta <- function(x) {
      stats::dbeta(x[[1L]], 2, 1.2, log = TRUE) - x[[2L]]
    }
    moved <- function(a, b) {
      run(
        beta, c(a = 0.5, b = 1), lower = 0, upper = c(1, Inf),
        proposal = list(a, b), blocks = list(1, 2), draws = 1000,
        burnin = 1000
      )
    }
    expect_warning(fit <- moved(langevin(), adaptive()), "where a approaches a")
    expect_no_match(said(moved(adaptive(), langevin())), "approaches a bound")
  }
})

test_that("densities of distributions raise no doubt", {
  skip_long()
  normal <- function(x, ...) sum(stats::dnorm(x, ..., log = TRUE))
  proper <- list(
    list(normal, c(0, 0)),
    list(function(x) normal(x, sd = 1e-9), 0),
    list(function(x) normal(x, sd = 1e9), 0),
    list(function(x) sum(stats::dcauchy(x, log = TRUE)), c(1, 2)),
    list(function(x) -sum(pmax(abs(x) - 1, 0)), c(0, 0)),
    list(function(x) if (all(x > 0 & x < 1)) 0 else -Inf, c(0.5, 0.5)),
    list(function(x) log(sum(stats::dnorm(x, c(-20, 20)))), 0),
    # a guard against the logarithm of zero
    list(function(x) log(max(prod(stats::dnorm(x)), 1e-300)), c(0, 0)),
    # an estimate of the likelihood
    list(function(x) normal(x) + stats::rnorm(1, 0, 0.1), c(0, 0)),
    # a funnel
    list(function(x) normal(x[[1]], sd = 3) + normal(x[[2]], sd = exp(x[[1]])),
         c(0, 0)),
    # groups that start at their common mean
    list(function(x) {
      if (x[[1]] <= 0) return(-Inf)
      normal(x[2:5], x[[6]], x[[1]]) + normal(c(3, 1, -2, 0) - x[2:5]) +
        normal(x[[6]], sd = 5) - x[[1]]
    }, c(1, 0, 0, 0, 0, 0))
  )
  for (case in proper[fast_or(c(1, 9), seq_along(proper))]) {
    short <- list(draws = 100)
    for (more in c(list(list()), if (is_extended()) list(short))) {
      fit <- do.call(run, c(case, more))
      expect_identical(setdiff(doubts_of(fit), "peak"), character())
      expect_no_match(said(fit), "integrable")
    }
  }
})

test_that("a trace of steps and many estimates print on a screen", {
  skip_long()
  fit <- quietly(mh_sample(function(x) -x^2 / 2, c(x = 0), debug = TRUE,
                           draws = 200, seed = 1, progress = FALSE))
  printed <- utils::capture.output(print(mh_trace(fit)))
  expect_lt(length(printed), 40)
  expect_match(printed, "more: x[[4]]", fixed = TRUE, all = FALSE)
  many <- monte_carlo(fit, function(x) x * 1:300)
  printed <- utils::capture.output(print(many))
  expect_lt(length(printed), 50)
  expect_match(printed, "260 more", all = FALSE)
})

test_that("a block of a Gibbs sampler that drifts away is told", {
  skip_long()
  fit <- quietly(gibbs_sample(
    list(a = mh_step(function(state) -state$a),
         b = function(state) stats::rnorm(1)),
    init = list(a = 0, b = 0), seed = 1, progress = FALSE
  ))
  expect_match(said(fit), "a went as far as .* integrable")
})

test_that("a level far below the draws is no doubt, and the run goes on", {
  skip_unless_extended()
  # with a flat prior on k the density is level where k is large: 133,000 lower
  # at the start's s, 800 at that of the draws
  treated <- datasets::Puromycin[datasets::Puromycin$state == "treated", ]
  density <- function(p) {
    if (any(p <= 0)) {
      return(-Inf)
    }
    mean <- p[["vm"]] * treated$conc / (p[["k"]] + treated$conc)
    sum(stats::dnorm(treated$rate, mean, p[["s"]], log = TRUE))
  }
  fit <- mh_sample(
    density, c(vm = 1, k = 1, s = 1), seed = 1, progress = FALSE
  )
  expect_gt(posterior::niterations(fit), 1000)
  expect_true(converged(fit))
  expect_null(attr(fit, "run")$doubts)
})

test_that("functions at the edge of what is a log density do not break a run", {
  skip_unless_extended()
  # a level density on a triangle has no scale
  fit <- run(function(x) if (sum(x) < 1) 0 else -Inf, c(a = 0.3, b = 0.3),
             lower = 0)
  expect_true(converged(fit))
  expect_equal(colMeans(as.matrix(fit))[1:2], c(a = 1, b = 1) / 3,
               tolerance = 0.1)
  # draws may leave the range of doubles
  fit <- suppressMessages(run(function(x) -x, 0.5, draws = 100))
  expect_false(converged(fit))
  # a wide uniform prior is proper
  fit <- run(function(p) {
    stats::dunif(p[[1L]], -1e4, 1e4, log = TRUE) +
      stats::dnorm(3, p[[2L]], 1, log = TRUE)
  }, c(a = 0, b = 0))
  expect_true(converged(fit))
  expect_identical(doubts_of(fit), character())
})

test_that("whole numbers that a proposal moves by whole numbers start whole", {
  skip_long()
  step <- custom_proposal(function(x) x + sample(c(-1, 1), 1), NULL)
  fit <- run(function(k) {
    if (k < 0) -Inf else stats::dpois(k, 1, log = TRUE)
  }, c(k = 1), proposal = step)
  draws <- as.matrix(fit)[, "k"]
  expect_true(all(draws == round(draws)))
  expect_equal(mean(draws == 0), stats::dpois(0, 1), tolerance = 0.1)
  # starts still differ between chains
  starts <- function(proposal, init) {
    fit <- run(function(k) -abs(k) / 20, init, proposal = proposal, draws = 1,
               burnin = 0)
    unlist(lapply(attr(fit, "chains"), function(chain) chain$state$x))
  }
  expect_gt(length(unique(starts(step, c(k = 3)))), 2L)
  expect_true(any(starts(step, c(k = 3.5)) %% 1 != 0))
  wide <- custom_proposal(function(x) x + stats::rnorm(1), NULL)
  expect_true(all(starts(wide, c(k = 3)) %% 1 != 0))
})

test_that("draws that are all far from the mode of the search are doubted", {
  two <- function(x) {
    log(0.7 * stats::dnorm(x) + 0.3 * stats::dnorm(x, 4, 0.05))
  }
  expect_warning(
    fit <- suppressMessages(
      mh_sample(two, c(x = 0), seed = 1, progress = FALSE)
    ),
    "No draw is near the mode of the log density at x = 0",
    class = "gibbsite_warning_region"
  )
  expect_identical(doubts_of(fit), "left")
  # a peak of little mass is left for good reasons
  model <- attr(fit, "model")
  draws <- lapply(fit, unclass)
  model$search$top <- -5
  expect_null(gibbsite:::doubts_of_mode(model, draws))
  model <- attr(fit, "model")
  model$search$centre <- 3.9
  expect_null(gibbsite:::doubts_of_mode(model, draws))
})
