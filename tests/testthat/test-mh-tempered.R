# tempered(): sweeps against a twin in R on the same random numbers, invariance,
# wrong samplers that the same test rejects, two modes, the ladder, and what is
# said of a run.

two_modes <- function(x) {
  log(0.3 * stats::dnorm(x[[1]], -10) + 0.7 * stats::dnorm(x[[1]], 10)) -
    x[[2]]^2 / 2
}

# The numbers that a sweep used: swaps' uniforms, and of each temperature.
used_of <- function(state, count, d) {
  own <- matrix(state$ahead[-seq_len(count)], 1 + d)
  list(
    uniforms = state$ahead[1 + seq_len(count - 1)], u = own[1, ],
    e = lapply(seq_len(count), function(k) own[-1, k])
  )
}

ladder_state <- function(fit, k = 1) attr(fit, "chains")[[k]]$state$blocks[[1]]

temperature_rates <- function(fit) {
  rates <- gibbsite:::temperature_table(fit)$swap_rate
  rates[!is.na(rates)]
}

# ---- one sweep ---------------------------------------------------------------

test_that("sweeps are those of the twin", {
  withr::local_seed(3)
  temperatures <- c(1, 2, 5, 11)
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    model <- bare_mh(
      target$log_density, target$init, tempered(temperatures, random_walk(0.8)),
      lower = target$lower, transform = bounded
    )
    model$spec$rows <- 1
    state <- state_of_replicas(model, rep(list(target$init), 4))
    sums <- numeric(3)
    before <- replicas_of(state)
    heights <- NULL
    n <- fast_or(40, 100)
    for (t in seq_len(n)) {
      state <- sweep_state(model, state)
      used <- used_of(state, 4, 3)
      twin <- tempered_twin(
        before, target$working, temperatures, 0.8, used$uniforms, used$u,
        used$e, t %% 2 == 1
      )
      expect_equal(replicas_of(state), twin$points, tolerance = 1e-11)
      before <- replicas_of(state)
      sums <- sums + twin$rates
      heights <- rbind(
        heights, vapply(before, target$working$log_density, 0)
      )
    }
    memory <- state$blocks[[1]]
    expect_equal(memory$swaps[4:6], sums, tolerance = 1e-9)
    # the state's value is that of its point
    expect_equal(state$value[[2]], heights[n, 1], tolerance = 1e-11)
    noted <- matrix(memory$heights, 3)
    expect_equal(noted[2, ], colMeans(heights), tolerance = 1e-10)
    expect_equal(noted[3, ] / (n - 1), apply(heights, 2, stats::var),
                 tolerance = 1e-9)
  }
})

# ---- invariance --------------------------------------------------------------

test_that("one sweep leaves exact draws exact at every temperature", {
  skip_unless_extended()
  n <- 1e5
  target <- heated_target()
  temperatures <- c(1, 2, 6)
  cases <- list(
    walk = random_walk(1), slice = univariate_slice(1),
    far = independence(c(0, 0), diag(4, 2)),
    langevin = langevin(1, function(x) -x / c(1, 4), tune = FALSE),
    mixed = mixture_proposal(random_walk(1), independence(c(0, 0), diag(4, 2))),
    custom = drifting_proposal(1),
    delayed = delayed_rejection(
      langevin(2, function(x) -x / c(1, 4), tune = FALSE), random_walk(1)
    )
  )
  for (name in names(cases)) {
    withr::local_seed(30)
    set <- fixed_dynamics(target, tempered(temperatures, cases[[name]]), 1)
    start <- lapply(temperatures, function(t) target$points(n, t))
    after <- start
    like <- set$state
    for (i in seq_len(n)) {
      state <- state_of_replicas(
        set$model, lapply(start, function(x) x[i, ]), like
      )
      # both kinds of pairs
      state$sweep <- i %% 2
      like <- sweep_state(set$model, state)
      ends <- replicas_of(like)
      for (k in 1:3) after[[k]][i, ] <- ends[[k]]
    }
    for (k in 1:3) {
      wide <- sqrt(temperatures[[k]])
      changes <- noise_moments(target$noises(after[[k]] / wide)) -
        noise_moments(target$noises(start[[k]] / wide))
      expect_lt(max(abs(z_of_means(changes, 0))), 4.5, label = name)
      expect_gt(mean(changes[, 1] != 0), 0.3)
    }
  }
})

test_that("wrong swaps are found", {
  skip_long()
  target <- heated_target()
  temperatures <- c(1, 2, 6)
  z <- function(mutant, n = 120) {
    withr::local_seed(31)
    n <- fast_or(n, 300)
    start <- lapply(temperatures, function(t) target$points(n, t))
    means <- t(vapply(seq_len(n), function(i) {
      points <- lapply(start, function(x) x[i, ])
      path <- matrix(0, 30, 2)
      for (s in 1:30) {
        points <- tempered_twin(
          points, target, temperatures, 1.5, stats::runif(2), stats::runif(3),
          lapply(1:3, function(k) stats::rnorm(2)), s %% 2 == 1, mutant
        )$points
        path[s, ] <- points[[1]]
      }
      colMeans(noise_moments(target$noises(path)))
    }, numeric(ncol(noise_moments(matrix(0, 1, 2))))))
    max(abs(z_of_means(means, 0)))
  }
  expect_lt(z("none"), 4.5)
  expect_gt(z("swaps without temperatures"), 6)
  expect_gt(z("swaps turned round", 50), 6)
  expect_gt(z("always swapped", 50), 6)
  expect_gt(z("replicas without temperatures"), 6)
})

test_that("two modes get their weights, and a random walk stays in one", {
  skip_long()
  n <- fast_or(600, 4000)
  run <- function(proposal) {
    short_mh(two_modes, c(10, 0), proposal,
      draws = n, burnin = fast_or(500, 1000),
      thin = 2, chains = 4, inits = rep(list(c(10, 0)), 4)
    )
  }
  left <- function(fit) {
    vapply(fit, function(x) unclass(x)[, 1] < 0, logical(n)) + 0
  }
  proposals <- list(
    tempered(), tempered(c(1, 3, 8, 20, 50), univariate_slice(4), tune = FALSE)
  )
  for (proposal in proposals[seq_len(fast_or(1, 2))]) {
    fit <- run(proposal)
    expect_lt(abs(z_of_chains(left(fit), 0.3)), 4.5)
    x <- vapply(fit, function(x) unclass(x)[, 1], numeric(n))
    expect_lt(abs(z_of_chains(x, 4)), 4.5)
    expect_lt(abs(z_of_chains(x^2, 101)), 4.5)
  }
  expect_identical(sum(left(run(adaptive()))), 0)
})

test_that("zero density is zero at all temperatures", {
  skip_long()
  # uniform on two intervals
  f <- function(x) if (abs(x) > 2 && abs(x) < 3) 0 else -Inf
  fit <- short_mh(f, 2.5, tempered(c(1, 4), random_walk(3)), draws = 4000,
    burnin = 100, chains = 4, lower = -5, inits = rep(list(2.5), 4)
  )
  x <- vapply(fit, function(x) unclass(x)[, 1], numeric(4000))
  expect_true(all(abs(x) > 2 & abs(x) < 3))
  expect_lt(abs(z_of_chains(x, 0)), 4.5)
  expect_lt(abs(z_of_chains(x^2, 19 / 3)), 4.5)
})

# ---- the ladder --------------------------------------------------------------

test_that("the ladder is learned as the formula says", {
  skip_long()
  withr::local_seed(6)
  target <- heated_target()
  model <- bare_mh(
    target$log_density, target$init, tempered(c(1, 1.1, 30, 50), random_walk(2))
  )
  model$spec$rows <- 1
  state <- state_of_replicas(model, rep(list(c(0.5, 1)), 4))
  temperatures <- c(1, 1.1, 30, 50)
  burnin <- fast_or(20, 40)
  control <- list(burnin = burnin, thin = 1, threads = 1)
  for (n in seq_len(fast_or(25, 50))) {
    before <- replicas_of(state)
    state <- gibbsite:::model_sweeps(model, state, 1, control)$state
    used <- used_of(state, 4, 2)
    twin <- tempered_twin(
      before, target, temperatures, 2, used$uniforms, used$u, used$e,
      n %% 2 == 1
    )
    expect_equal(replicas_of(state), twin$points, tolerance = 1e-11)
    if (n <= burnin) {
      gain <- 10 / (n + 10)
      gaps <- diff(log(temperatures)) *
        exp(gain * (twin$rates - mean(twin$rates)))
      temperatures <- exp(c(0, cumsum(gaps * log(50) / sum(gaps))))
    }
    expect_equal(1 / state$blocks[[1]]$power, temperatures, tolerance = 1e-10)
  }
})

test_that("swap rates become equal, and the ladder is frozen", {
  skip_unless_extended()
  run <- function(draws, temperatures, tune = TRUE) {
    short_mh(function(x) -0.5 * sum(x^2), rep(0.1, 4),
      tempered(temperatures, tune = tune), draws = draws, burnin = 4000
    )
  }
  uneven <- c(1, 1.05, 1.2, 40, 50)
  fit <- run(2000, uneven)
  rates <- temperature_rates(fit)
  expect_lt(max(rates) - min(rates), 0.1)
  expect_gt(diff(range(temperature_rates(run(2000, uneven, FALSE)))), 0.5)
  learned <- ladder_state(fit)$power
  expect_identical(ladder_state(run(1, uneven))$power, learned)
  expect_identical(learned[c(1, 5)], 1 / c(1, 50))
  # so are the scales at each temperature
  tunings <- function(fit) lapply(ladder_state(fit)$inner, `[[`, "tuning")
  expect_identical(tunings(run(1, uneven)), tunings(fit))
})

test_that("the table has the mean log density at each temperature", {
  skip_unless_extended()
  fit <- short_mh(function(x) -0.5 * sum(x^2), rep(0.1, 3), tempered(),
    draws = 3000, burnin = 1000, thin = 3, chains = 4
  )
  table <- gibbsite:::temperature_table(fit)
  # -T chi^2_3 / 2: of mean -1.5 T and variance 1.5 T^2
  by <- split(table, table$chain)
  rows <- vapply(by, function(one) one$mean_log_density / one$temperature,
                 numeric(nrow(by[[1]])))
  z <- (rowMeans(rows) + 1.5) / (apply(rows, 1, stats::sd) / 2)
  # t with 3 degrees of freedom
  expect_lt(max(abs(z)), stats::qt(1 - 1e-4, 3))
  expect_lt(max(abs(rowMeans(rows) + 1.5)), 0.1)
  expect_equal(mean(table$variance / table$temperature^2), 1.5, tolerance = 0.1)
  expect_identical(table$sweeps[[1]], 9000)
})

# ---- runs --------------------------------------------------------------------

test_that("an interrupt inside a sweep loses at most a segment", {
  skip_long()
  # in adaptation, and after it
  for (at in fast_or(700, c(700, 3000))) {
    expect_interrupt_harmless(bowl, at, function(density) {
      short_mh(density, c(0.5, 1), tempered(c(1, 2, 4, 8)), draws = 300,
        burnin = 160, inits = list(1:2, 3:4)
      )
    })
  }
})

test_that("swaps and round trips are printed", {
  skip_long()
  fit <- short_mh(bowl, c(0.5, 1), tempered(c(1, 2, 4)), draws = 400,
                  burnin = 100)
  said <- gsub(" +", " ", paste(capture.output(print(fit)), collapse = " "))
  expect_match(said, "Parallel tempering: 3 temperatures to 4; swap rates")
  trips <- sum(vapply(1:2, function(k) ladder_state(fit, k)$journeys[[7]], 0))
  expect_gt(trips, 10)
  expect_match(said, paste(trips, "round trips"))
  low <- short_mh(bowl, rep(0.5, 20), tempered(c(1, 500), tune = FALSE))
  expect_match(paste(capture.output(print(low)), collapse = " "),
               "give more `temperatures`")
  rates <- acceptance(fit)
  inner <- ladder_state(fit)$inner[[1]]
  expect_identical(rates$rate[[1]], inner$counts[[4]] / inner$counts[[3]])
  expect_identical(rates$scale[[1]], exp(inner$tuning[[1]]))
})

test_that("arguments are checked", {
  skip_long()
  expect_gibbsite_error({
    tempered(2)
    tempered(c(1, 3, 2))
    tempered(c(2, 3))
    tempered("hot")
    tempered(NULL)
    tempered(proposal = nuts())
    tempered(proposal = tempered())
    tempered(proposal = adaptive(forever = TRUE))
    tempered(proposal = 1)
    mixture_proposal(tempered(), random_walk(1))
    mh_step(bowl, tempered())
    mh_sample(bowl, c(0, 0), tempered(), blocks = "each")
  })
})
