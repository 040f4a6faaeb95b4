# gibbs_gmm() draws from the posterior it names: conditionals in closed form, a
# twin on the same random numbers, a posterior by summation over all
# allocations, Geweke's joint test, calibration by simulation, wrong samplers
# that these reject, and EM's figures on real data.
#
# A z-score is compared with max_z = 4.5: a correct sampler fails one such
# comparison with probability 7e-6, the few hundred of this file with
# probability below 3e-3 in all.  Seeds are fixed, so a pass stays a pass.

max_z <- 4.5

skip_unless_extended <- function() {
  skip_if_not(
    identical(Sys.getenv("GIBBSITE_EXTENDED_TESTS"), "true"),
    "GIBBSITE_EXTENDED_TESTS is not true"
  )
}

# ---- the conditionals --------------------------------------------------------

# One sweep from the same state, again and again: pi and mu are drawn given the
# state's z and Sigma, Sigma given the new mu, z given all of these.  Component
# 2 has one observation, component 3 none.
sweeps_from_one_state <- function(times = 10000) {
  withr::local_seed(11)
  model <- tiny_gmm(9, 2, 3, alpha = c(1.7, 0.6, 1.3), keep_z = TRUE)
  state <- draw_prior(model)
  state$z <- as.integer(c(1, 1, 2, 1, 1, 1, 1, 1, 1))
  control <- list(burnin = 0, thin = 1, threads = 1)
  draws <- stack_rows(times, function() {
    model_sweeps(model, state, 1, control)$draws
  })
  colnames(draws) <- model$columns
  list(model = model, twin = twin_state(model, state), draws = draws)
}

# z-scores of the means and of the products of deviations about `centre`
moment_scores <- function(x, centre, covariance) {
  deviation <- sweep(x, 2, centre)
  pairs <- which(lower.tri(covariance, diag = TRUE), arr.ind = TRUE)
  products <- deviation[, pairs[, 1]] * deviation[, pairs[, 2]]
  c(z_of_means(x, centre), z_of_means(products, covariance[pairs]))
}

# The conditional of mu_c in closed form: list(mean, covariance).
mean_conditional <- function(model, twin, c) {
  prior <- model$prior
  x <- members(model, twin, c)
  covariance <- solve(solve(prior$v0) + nrow(x) * solve(twin$sigma[[c]]))
  linear <- solve(prior$v0, prior$m0) + solve(twin$sigma[[c]], colSums(x))
  list(mean = drop(covariance %*% linear), covariance = covariance)
}

block_of <- function(draws, block, c = NULL) {
  start <- if (is.null(c)) block else paste0(block, "[", c)
  unname(draws[, startsWith(colnames(draws), start), drop = FALSE])
}

one_state <- sweeps_from_one_state()

test_that("pi | z is Dirichlet(alpha + n)", {
  a <- one_state$model$prior$alpha + c(8, 1, 0)
  mean <- a / sum(a)
  covariance <- (diag(mean) - tcrossprod(mean)) / (sum(a) + 1)
  scores <- moment_scores(block_of(one_state$draws, "pi"), mean, covariance)
  expect_lt(max(abs(scores)), max_z)
})

test_that("mu | Sigma, z is normal, also alone and empty", {
  for (c in 1:3) {
    expected <- mean_conditional(one_state$model, one_state$twin, c)
    mu <- block_of(one_state$draws, "mu", c)
    scores <- moment_scores(mu, expected$mean, expected$covariance)
    expect_lt(max(abs(scores)), max_z)
  }
})

# With S(mu) = L L', L' Sigma^-1 L ~ W(nu0 + n_c, I): its elements have means
# nu I and variances nu (1 + (i = j)), whatever mu was drawn.
standard_precisions <- function(c) {
  d <- 2
  mu <- block_of(one_state$draws, "mu", c)
  sigma <- block_of(one_state$draws, "Sigma", c)
  twin <- one_state$twin
  t(vapply(seq_len(nrow(mu)), function(s) {
    twin$mu[c, ] <- mu[s, ]
    l <- t(chol(twin_scale(one_state$model, twin, c)))
    w <- t(l) %*% solve(matrix(sigma[s, ], d), l)
    w[lower.tri(w, diag = TRUE)]
  }, numeric(3)))
}

test_that("Sigma | mu, z is inverse Wishart, also alone and empty", {
  nu <- one_state$model$prior$nu0 + c(8, 1, 0)
  for (c in 1:3) {
    w <- standard_precisions(c)
    centre <- nu[[c]] * c(1, 0, 1)
    spread <- (w - rep(centre, each = nrow(w)))^2
    expect_lt(max(abs(z_of_means(w, centre))), max_z)
    expect_lt(max(abs(z_of_means(spread, nu[[c]] * c(2, 1, 2)))), max_z)
  }
})

test_that("the mean of Sigma | z is that of its mixture over mu", {
  model <- one_state$model
  for (c in 1:3) {
    x <- members(model, one_state$twin, c)
    mu <- mean_conditional(model, one_state$twin, c)
    centred <- x - rep(mu$mean, each = nrow(x))
    scale <- model$prior$s0 + crossprod(centred) + nrow(x) * mu$covariance
    expected <- scale / (model$prior$nu0 + nrow(x) - 2 - 1)
    sigma <- block_of(one_state$draws, "Sigma", c)
    expect_lt(max(abs(z_of_means(sigma, as.vector(expected)))), max_z)
  }
})

# Given the recorded pi, mu and Sigma, the indicators [z_i = c] have the means
# P(z_i = c | .) and are independent: their residuals and the products of those
# of two observations have mean zero.
test_that("z | pi, mu, Sigma is categorical, independently", {
  model <- one_state$model
  residuals <- t(apply(one_state$draws[1:4000, ], 1, function(row) {
    draw <- twin_state(model, list(
      sweep = 0, z = row[paste0("z[", 1:9, "]")], log_pi = log(row[1:3]),
      mu = row[3 + 1:6], sigma = row[9 + 1:12]
    ))
    log_joint <- twin_log_joint(model, draw)
    outer(draw$z, 1:3, "==") - exp(log_joint - row_log_sums(log_joint))
  }))
  expect_lt(max(abs(z_of_means(residuals, 0))), max_z)
  first <- residuals[, 1:9]
  pairs <- combn(9, 2)
  products <- first[, pairs[1, ]] * first[, pairs[2, ]]
  expect_lt(max(abs(z_of_means(products, 0))), max_z)
})

# ---- the twin ----------------------------------------------------------------

# The largest difference, relative where a value is above 1, of all that is
# recorded in `sweeps` sweeps of core and twin on the same stream.
twin_difference <- function(model, sweeps) {
  state <- draw_prior(model)
  control <- list(burnin = 0, thin = 1, threads = 1)
  generator <- get(".Random.seed", globalenv())
  core <- model_sweeps(model, state, sweeps, control)
  core_generator <- get(".Random.seed", globalenv())
  assign(".Random.seed", generator, globalenv())
  twin <- twin_state(model, state)
  rows <- stack_rows(sweeps, function() {
    twin <<- twin_sweep(model, twin)
    twin_row(twin)
  })
  expect_identical(get(".Random.seed", globalenv()), core_generator)
  expect_identical(core$state$z, twin$z)
  is_z <- startsWith(model$columns, "z[")
  expect_identical(unname(core$draws[, is_z]), unname(rows[, is_z]))
  max(abs(core$draws - rows) / pmax(1, abs(rows)))
}

test_that("the core is its twin, draw for draw", {
  withr::local_seed(21)
  for (d in c(1, 2, 3, 5)) {
    for (k in c(1, 2, 4)) {
      for (n in unique(pmax(k, c(1, 2, 7, 8, 9, 17, 50)))) {
        alpha <- rep(c(0.3, 1.7, 0.9), length.out = k)
        model <- tiny_gmm(n, d, k, alpha, keep_z = TRUE)
        expect_lte(twin_difference(model, 50), 1e-12)
      }
    }
  }
})

test_that("the core is its twin with weights that underflow", {
  withr::local_seed(22)
  model <- tiny_gmm(11, 2, 4, alpha = 1e-3, keep_z = TRUE)
  expect_lte(twin_difference(model, 50), 1e-12)
})

# ---- a posterior by summation ------------------------------------------------

# One component of dimension 1 with observations x: mu given sigma2 in closed
# form, sigma2 by the trapezoidal rule in its logarithm (whose error is far
# below rounding for so smooth an integrand, once the step is small).
# Returns the evidence p(x), and E(mu), E(mu^2), E(log sigma2), density at `at`.
component_by_quadrature <- function(x, prior, at, step = 0.02) {
  log_variance <- seq(-14, 22, by = step)
  s2 <- exp(log_variance)
  n <- length(x)
  m0 <- prior$m0
  v0 <- drop(prior$v0)
  v <- 1 / (1 / v0 + n / s2)
  m <- v * (m0 / v0 + sum(x) / s2)
  log_prior <- dgamma(1 / s2, prior$nu0 / 2, drop(prior$s0) / 2, log = TRUE) -
    log_variance # of 1 / sigma2, times |d(1 / sigma2) / d log sigma2|
  log_lik <- -n / 2 * log(2 * pi * s2) + log(v / v0) / 2 -
    (sum(x^2) / s2 + m0^2 / v0 - m^2 / v) / 2
  weight <- exp(log_prior + log_lik) * step
  average <- function(value) sum(weight * value) / sum(weight)
  list(
    evidence = sum(weight), mu = average(m), mu2 = average(m^2 + v),
    log_s2 = average(log_variance),
    density = vapply(at, function(a) average(dnorm(a, m, sqrt(v + s2))), 0)
  )
}

# E max(p, 1 - p), p ~ Beta(a, b)
mean_largest_weight <- function(a, b) {
  (a * pbeta(0.5, a + 1, b, lower.tail = FALSE) + b * pbeta(0.5, a, b + 1)) /
    (a + b)
}

# Posterior expectations, k = 2, given one allocation z; and its probability
# p(z, x): Dirichlet-multinomial times the components' evidence.
given_allocation <- function(z, x, prior, at, step) {
  a <- prior$alpha + tabulate(z, 2)
  one <- component_by_quadrature(x[z == 1], prior, at, step)
  two <- component_by_quadrature(x[z == 2], prior, at, step)
  p <- a / sum(a)
  p2 <- c(a * (a + 1), a[[1]] * a[[2]]) / (sum(a) * (sum(a) + 1))
  list(
    probability = exp(sum(lgamma(a))) * one$evidence * two$evidence,
    values = c(
      pi_1 = p[[1]], largest = mean_largest_weight(a[[1]], a[[2]]),
      mean = p[[1]] * one$mu + p[[2]] * two$mu,
      mean_square = p2[[1]] * one$mu2 + p2[[2]] * two$mu2 +
        2 * p2[[3]] * one$mu * two$mu,
      mu_1 = one$mu, log_s2 = one$log_s2 + two$log_s2,
      log_s2_1 = one$log_s2, occupied = length(unique(z)),
      density = p[[1]] * one$density + p[[2]] * two$density,
      together = as.double(dist(z) == 0)
    )
  )
}

posterior_by_summation <- function(x, prior, at, step = 0.02) {
  allocations <- expand.grid(rep(list(1:2), length(x)))
  terms <- lapply(seq_len(nrow(allocations)), function(row) {
    z <- unlist(allocations[row, ], use.names = FALSE)
    given_allocation(z, x, prior, at, step)
  })
  probability <- vapply(terms, function(term) term$probability, 0)
  values <- vapply(terms, function(term) term$values, terms[[1]]$values)
  drop(values %*% probability) / sum(probability)
}

# The same quantities of draws (columns of gibbs_gmm(), d = 1, k = 2).
summation_quantities <- function(draws, at) {
  p <- draws[, c("pi[1]", "pi[2]")]
  mu <- draws[, c("mu[1,1]", "mu[2,1]")]
  s2 <- draws[, c("Sigma[1,1,1]", "Sigma[2,1,1]")]
  z <- draws[, startsWith(colnames(draws), "z["), drop = FALSE]
  mean <- rowSums(p * mu)
  density <- vapply(at, function(a) {
    rowSums(p * dnorm(a, mu, sqrt(s2)))
  }, mean)
  pairs <- combn(ncol(z), 2)
  cbind(
    p[, 1], pmax(p[, 1], p[, 2]), mean, mean^2, mu[, 1],
    rowSums(log(s2)), log(s2[, 1]), draws[, "n_occupied"], density,
    z[, pairs[1, ]] == z[, pairs[2, ]]
  )
}

test_that("a posterior by summation over all allocations is recovered", {
  x <- c(-1.9, -1.2, -0.4, 0.7, 1.1, 2.6)
  at <- c(-2, 0.3, 1.7)
  prior <- gmm_prior(
    alpha = c(1.7, 0.6), m0 = 0.4, v0 = 2.3, nu0 = 3.4, s0 = 0.9
  )
  fit <- suppressWarnings(gibbs_gmm(
    x, 2, prior, draws = 10000, burnin = 100, chains = 4, keep = "z", seed = 31
  ))
  completed <- attr(fit, "model")$prior
  exact <- posterior_by_summation(x, completed, at)
  expect_equal(exact, posterior_by_summation(x, completed, at, step = 0.05),
               tolerance = 1e-9)
  chains <- lapply(fit, summation_quantities, at = at)
  scores <- vapply(seq_along(exact), function(q) {
    values <- vapply(chains, function(chain) chain[, q], chains[[1]][, 1])
    z_of_chains(values, exact[[q]])
  }, 0)
  expect_equal(length(exact), ncol(chains[[1]]))
  expect_lt(max(abs(scores)), max_z)
})

# ---- Geweke's joint test and its mutants -------------------------------------

# Every test below rejects a correct sampler with probability at most error_rate
# (Bonferroni over its quantities).
error_rate <- 1e-3

# alpha differs between the components, so that labelled quantities count too
joint_model <- function() {
  withr::local_seed(41)
  tiny_gmm(n = 8, d = 2, k = 2, alpha = c(2.6, 1.9))
}
joint_reference <- withr::with_seed(42, {
  joint_by_simulation(joint_model(), gmm_all_quantities, 4000)
})
run_joint_test <- function(model) {
  withr::local_seed(43)
  joint_test(
    model, gmm_all_quantities, joint_reference, chains = 60, steps = 60
  )
}
expect_rejected <- function(mutants) {
  for (name in mutants) {
    test <- run_joint_test(mutant_of(joint_model(), gmm_mutants[[name]]))
    expect_lt(smallest_adjusted(test), error_rate, label = name)
  }
}
quick_mutants <- c(
  "nu0_off_by_d", "m0_dropped", "v0_for_its_inverse", "stale_weights"
)

test_that("Geweke's joint test passes", {
  expect_gte(smallest_adjusted(run_joint_test(joint_model())), error_rate)
})

test_that("Geweke's joint test rejects wrong samplers", {
  expect_rejected(quick_mutants)
})

test_that("Geweke's joint test rejects more wrong samplers", {
  skip_unless_extended()
  expect_rejected(setdiff(names(gmm_mutants), quick_mutants))
})

test_that("Geweke's joint test passes for other sizes, longer", {
  skip_unless_extended()
  sizes <- list(c(12, 2, 2), c(1, 2, 2), c(9, 1, 1), c(20, 1, 3), c(10, 3, 2))
  for (size in sizes) {
    withr::local_seed(44)
    alpha <- c(0.6, 1.7, 2.2)[seq_len(size[[3]])]
    model <- tiny_gmm(size[[1]], size[[2]], size[[3]], alpha)
    reference <- joint_by_simulation(model, gmm_all_quantities, 20000)
    test <- joint_test(model, gmm_all_quantities, reference, 200, 150)
    expect_gte(smallest_adjusted(test), error_rate, label = toString(size))
  }
})

# ---- simulation-based calibration --------------------------------------------

sbc_draws <- 31
run_sbc <- function(model, simulations, seed) {
  withr::local_seed(seed)
  sbc_ranks(
    model, gmm_invariants, simulations, sbc_draws, thin = 10, burnin = 200
  )
}

# Ranks are uniform when draws are independent.  Successive draws with a
# correlation of 0.1 raise the variance of the ranks (L^2 / 12 + L / 6 with L
# independent draws, the second term times 1.1 / 0.9 else) by about 1%.
expect_nearly_independent <- function(ranks) {
  expect_lt(max(attr(ranks, "autocorrelation")), 0.1)
}

test_that("the band of the ranks keeps its promise", {
  band <- ecdf_band(200, sbc_draws, 0.05)
  exact <- band_probability(200, band$lower, band$upper)
  expect_gte(exact, 0.95)
  withr::local_seed(51)
  inside <- replicate(2000, {
    rank <- sample.int(sbc_draws + 1, 200, replace = TRUE)
    counts <- cumsum(tabulate(rank, sbc_draws + 1))
    all(band$lower <= counts & counts <= band$upper)
  })
  expect_lt(abs(z_of_means(inside, exact)), max_z)
})

test_that("the posterior is calibrated over the prior", {
  ranks <- run_sbc(joint_model(), 200, seed = 52)
  expect_nearly_independent(ranks)
  expect_identical(
    names(which(!sbc_inside(ranks, sbc_draws, error_rate))), character()
  )
})

expect_not_calibrated <- function(name) {
  mutant <- mutant_of(joint_model(), gmm_mutants[[name]])
  ranks <- run_sbc(mutant, 200, seed = 52)
  expect_false(all(sbc_inside(ranks, sbc_draws, error_rate)), label = name)
}

test_that("a wrong sampler is not calibrated", {
  expect_not_calibrated("nu0_off_by_d")
})

test_that("more wrong samplers are not calibrated", {
  skip_unless_extended()
  expect_not_calibrated("m0_dropped")
  expect_not_calibrated("alpha_dropped")
  expect_not_calibrated("rate_for_scale")
})

test_that("the posterior is calibrated over the prior, longer", {
  skip_unless_extended()
  for (size in list(c(15, 2, 2), c(10, 1, 3), c(12, 3, 2))) {
    model <- withr::with_seed(54, {
      tiny_gmm(size[[1]], size[[2]], size[[3]], alpha = 1.7)
    })
    ranks <- run_sbc(model, 1000, seed = 55)
    expect_nearly_independent(ranks)
    expect_identical(
      names(which(!sbc_inside(ranks, sbc_draws, error_rate))), character()
    )
  }
})

# ---- real data ---------------------------------------------------------------

# EM (mclust, VVV, G = 2): weights 0.644 and 0.356, means (4.290, 79.97) and
# (2.037, 54.48).  EM's mode and the posterior mean differ by the prior and the
# likelihood's skewness, a fraction of a posterior sd.
test_that("faithful has EM's two components", {
  fit <- gibbs_gmm(
    faithful, 2, draws = 2000, burnin = 500, chains = 2, seed = 61
  )
  draws <- do.call(rbind, fit)
  short <- draws[, "mu[1,1]"] < draws[, "mu[2,1]"]
  expect_length(unique(short[1:2000]), 1)
  expect_length(unique(short[2001:4000]), 1)
  pick <- function(first, second) {
    ifelse(short, draws[, second], draws[, first])
  }
  long <- cbind(
    pick("pi[1]", "pi[2]"), pick("mu[1,1]", "mu[2,1]"),
    pick("mu[1,2]", "mu[2,2]"), pick("mu[2,1]", "mu[1,1]"),
    pick("mu[2,2]", "mu[1,2]")
  )
  em <- c(0.644, 4.290, 79.97, 2.037, 54.48)
  distance <- (colMeans(long) - em) / apply(long, 2, stats::sd)
  expect_lt(max(abs(distance)), 1)
})
