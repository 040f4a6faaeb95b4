# gibbs_pmf() draws from its posterior: its sweep against a slow twin, a
# posterior by quadrature, counts that fall into parts, the log densities.

pmf_of <- function(counts, rank, prior = pmf_prior(), ...) {
  fit_of <- gibbs_pmf(counts, rank, prior, draws = 1, burnin = 0, chains = 1,
                      seed = 1, progress = FALSE, ...)
  gibbsite:::fit_part(fit_of, "model")
}

mixed_counts <- function() {
  data.frame(
    user = c(1, 1, 2, 2, 3, 4, 4, 5), item = c(1, 2, 2, 3, 1, 3, 4, 4),
    count = c(1, 3, 40, 1, 1000, 17, 2, 16)
  )
}

test_that("a sweep is that of the twin, for one by one and large counts", {
  skip_long()
  for (rank in c(1, 2, 5)) {
    for (prior in list(pmf_prior(), pmf_prior(2, 0.5, Inf, 3, 0.5, 2))) {
      model <- suppressMessages(
        suppressWarnings(pmf_of(mixed_counts(), rank, prior))
      )
      state <- withr::with_seed(1, gibbsite:::model_start(model, NULL))
      control <- list(burnin = 0, thin = 1, threads = 1)
      core <- withr::with_seed(
        2, gibbsite:::model_sweeps(model, state, 5, control)$state
      )
      slow <- withr::with_seed(2, {
        twin <- twin_pmf(model, state)
        for (i in 1:5) twin <- pmf_twin_sweep(model, twin)
        twin
      })
      expect_equal(twin_pmf(model, core), slow, tolerance = 1e-9)
    }
  }
})

test_that("wrong sweeps differ from the right one at once", {
  skip_unless_extended()
  model <- suppressWarnings(pmf_of(mixed_counts(), 2))
  for (name in names(pmf_mutants)) {
    apart <- difference_from_right(model, pmf_mutants[[name]], list())
    expect_gt(apart, 1e-3, label = name)
  }
})

test_that("one user, one item: the posterior of the product, by quadrature", {
  skip_long()
  # y = 3, theta ~ Gamma(1.5, 0.7), beta ~ Gamma(0.8, 1.2); substitute logs
  prior <- pmf_prior(1.5, 0.8, Inf, Inf, 0.7, 1.2)
  one <- data.frame(user = "a", item = "b", count = 3)
  n <- fast_or(8000, 200000)
  fit <- suppressWarnings(gibbs_pmf(
    one, 1, prior, draws = n, burnin = 100, chains = 1, seed = 1,
    progress = FALSE
  ))
  at <- seq(-14, 8, by = fast_or(0.05, 0.02))
  grid <- expand.grid(a = at, b = at)
  log_p <- stats::dgamma(exp(grid$a), 1.5, 0.7, log = TRUE) + grid$a +
    stats::dgamma(exp(grid$b), 0.8, 1.2, log = TRUE) + grid$b +
    stats::dpois(3, exp(grid$a + grid$b), log = TRUE)
  weight <- exp(log_p - max(log_p))
  weight <- weight / sum(weight)
  x <- as.vector(fit[[1]][, "cell[1]"])
  se <- function(f) stats::sd(f) / sqrt(coda::effectiveSize(f)[[1]])
  product <- exp(grid$a + grid$b)
  for (f in list(identity, log, function(v) as.double(v > 2))) {
    expect_lt(abs(mean(f(x)) - sum(weight * f(product))), 4.5 * se(f(x)))
  }
})

test_that("binomial parts of a count have the binomial distribution", {
  skip_unless_extended()
  # the twin is the core: so its own counts stand for those of the core
  skip_long()
  n <- 20000
  drawn <- vapply(seq_len(n), function(i) {
    twin_binomial(philox_stream(c(7, 11), i), 60, 0.3)
  }, 0)
  cells <- cut(drawn, c(-Inf, 12:23, Inf))
  p <- diff(c(0, stats::pbinom(12:23, 60, 0.3), 1))
  expect_gt(stats::chisq.test(table(cells), p = p)$p.value, 1e-4)
})

test_that("log_lik and log_joint are the log densities of counts and all", {
  model <- suppressWarnings(pmf_of(mixed_counts(), 3))
  state <- withr::with_seed(1, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  run <- withr::with_seed(
    2, gibbsite:::model_sweeps(model, state, 4, control)
  )
  twin <- twin_pmf(model, run$state)
  log_lik <- sum(stats::dpois(
    twin_events(model), crossprod(twin$theta, twin$beta), log = TRUE
  ))
  gammas <- function(x, shape, rate) {
    sum(stats::dgamma(x, shape, rate, log = TRUE))
  }
  log_prior <- gammas(twin$theta, 0.3, rep(twin$xi, each = 3)) +
    gammas(twin$beta, 0.3, rep(twin$eta, each = 3)) +
    gammas(c(twin$xi, twin$eta), 0.3, 0.3)
  last <- run$draws[4, ]
  expect_equal(last[1:2], c(log_lik, log_lik + log_prior), tolerance = 1e-12)
  cells <- crossprod(twin$theta, twin$beta)[
    cbind(model$cells$user, model$cells$item)
  ]
  expect_equal(last[-(1:2)], cells, tolerance = 1e-12)
})

test_that("threads, segments and thinning leave the draws as they are", {
  set.seed(3)
  size <- fast_or(100, 400)
  counts <- sim_pmf(size, 0.75 * size, rank = 4, mean = 0.5)
  run <- function(...) {
    suppressWarnings(suppressMessages(gibbs_pmf(
      counts, 8, burnin = 4, chains = 2, seed = 5, progress = FALSE, ...
    )))
  }
  whole <- run(draws = 8)
  plain <- function(fit) lapply(fit, function(x) unclass(x)[, ])
  expect_identical(plain(run(draws = 8, threads = 2)), plain(whole))
  extended <- suppressWarnings(extend(run(draws = 3), 5, progress = FALSE))
  expect_identical(plain(extended), plain(whole))
  thinned <- run(draws = 4, thin = 2)
  expect_identical(plain(thinned)[[1]],
                   plain(whole)[[1]][c(2, 4, 6, 8), ])
  pairs <- counts[1:20, 1:2]
  expect_identical(predict(extended, pairs), predict(whole, pairs))
})
