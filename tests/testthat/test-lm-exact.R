# gibbs_lm() is exact: the core against its R twin, closed forms, quadrature and
# Geweke's joint test, and the mistakes that these find.

lm_cases <- list(
  plain = function() lm_model_for(y ~ x1 + x2 + x3, lm_example()),
  weighted = function() {
    lm_model_for(
      y ~ x1 + g, lm_example(), weights = v, offset = o,
      prior = lm_prior(scale = 1, intercept_mean = 3, intercept_sd = 0.4)
    )
  },
  no_intercept = function() lm_model_for(y ~ x1 + x2 - 1, lm_example()),
  intercept_alone = function() lm_model_for(y ~ 1, lm_example()),
  wide = function() {
    data <- lm_example(6, 9)
    lm_model_for(as.matrix(data[2:10]), data$y)
  },
  wide_intercept = function() {
    data <- lm_example(7, 9)
    x <- cbind(as.matrix(data[2:5]), "(Intercept)" = 1, as.matrix(data[6:10]))
    lm_model_for(x, data$y, weights = data$v)
  },
  deficient = function() {
    lm_model_for(y ~ x1 + I(2 * x1) + x2, lm_example(20))
  },
  missing = function() {
    data <- lm_example()
    data$y[c(2, 5)] <- NA
    lm_model_for(
      y ~ x1 + x2, data, weights = v, offset = o, na_action = "impute",
      keep = "y"
    )
  },
  conjugate = function() {
    lm_model_for(
      y ~ x1 + x2, lm_example(), weights = v, offset = o,
      prior = lm_prior("nig", intercept_sd = 0.5, intercept_mean = 1,
                       noise_shape = 2)
    )
  },
  conjugate_wide = function() {
    data <- lm_example(6, 9)
    lm_model_for(as.matrix(data[2:10]), data$y, prior = lm_prior("nig"))
  },
  horseshoe = function() {
    data <- lm_example()
    data$y[c(2, 5)] <- NA
    lm_model_for(
      y ~ x1 + x2 + x3, data, weights = v, offset = o, na_action = "impute",
      keep = "y", prior = lm_prior("horseshoe", tau = 0.3)
    )
  },
  horseshoe_wide = function() {
    data <- lm_example(7, 9)
    x <- cbind(as.matrix(data[2:5]), "(Intercept)" = 1, as.matrix(data[6:10]))
    lm_model_for(x, data$y, weights = data$v, prior = lm_prior("horseshoe"))
  },
  horseshoe_none = function() {
    lm_model_for(y ~ 1, lm_example(), prior = lm_prior("horseshoe"))
  }
)

lm_draws_of_both <- function(model, wrong = "", n = 6) {
  draws_of_both(twin_lm_sweeps, model, wrong, n)
}

for (name in names(lm_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    model <- suppressMessages(lm_cases[[name]]())
    both <- lm_draws_of_both(model)
    expect_equal(both$core, both$twin, tolerance = 1e-8)
  })
}

test_that("the cases are of both samplers, wide and deficient", {
  skip_long()
  data_of <- function(name) suppressMessages(lm_cases[[name]]())$data
  expect_identical(data_of("plain")$collapsed, 0L)
  expect_identical(data_of("wide")$collapsed, 1L)
  expect_identical(dim(data_of("deficient")$vectors), c(3L, 2L))
  expect_identical(dim(data_of("wide_intercept")$vectors), c(9L, 6L))
})

test_that("the twin's mistakes are found", {
  case_of <- c(
    rank_ignored = "deficient", n_halved = "plain", rate_whole = "plain",
    intercept_raw = "plain", prior_gap = "weighted", jacobian = "wide",
    scales_alone = "horseshoe"
  )
  for (wrong in names(case_of)) {
    model <- suppressMessages(lm_cases[[case_of[[wrong]]]]())
    both <- lm_draws_of_both(model, wrong)
    expect_gt(max(abs(both$core - both$twin)), 1e-3)
  }
})

# ---- closed forms ------------------------------------------------------------

test_that("the conjugate posterior has its closed form's moments", {
  data <- lm_example(15)
  prior <- lm_prior(
    "nig", lambda = 2, noise_shape = 3, noise_rate = 2, scale = 1,
    intercept_mean = 1,
    intercept_sd = 2
  )
  fit <- gibbs_lm(
    y ~ x1 + x2, data, weights = v, prior = prior, draws = 20000, chains = 1,
    seed = 1, progress = FALSE
  )
  # the prior as a normal distribution of (intercept, w1, w2) given beta
  means <- colSums(data$v * data[c("x1", "x2")]) / sum(data$v)
  to <- rbind(c(1, -means), cbind(0, diag(2)))
  scatter <- to %*% diag(c(4, 1 / 2, 1 / 2)) %*% t(to)
  centre <- c(1, 0, 0)
  x <- cbind(1, data$x1, data$x2)
  cov <- solve(solve(scatter) + crossprod(x, data$v * x))
  mean <- cov %*% (solve(scatter, centre) + crossprod(x, data$v * data$y))
  across <- diag(1 / data$v) + x %*% scatter %*% t(x)
  left <- data$y - x %*% centre
  shape <- 3 + 15 / 2
  rate <- 2 + drop(crossprod(left, solve(across, left))) / 2
  draws <- as.matrix(fit)
  expect_lt(max(abs(z_of_means(draws[, 1:3], drop(mean)))), 4.5)
  expect_lt(abs(z_of_means(draws[, "sigma"]^-2, shape / rate)), 4.5)
  expect_lt(abs(z_of_means(draws[, "sigma"]^2, rate / (shape - 1))), 4.5)
  away <- sweep(draws[, 1:3], 2, drop(mean))
  expect_lt(max(abs(z_of_means(
    away[, c(1, 1, 1, 2, 2, 3)] * away[, c(1, 2, 3, 2, 3, 3)],
    (rate / (shape - 1) * cov)[c(1, 4, 7, 5, 8, 9)]
  ))), 4.5)
  # p(y): a multivariate t
  log_t <- lgamma(shape) - lgamma(3) + 3 * log(2) - 15 / 2 * log(2 * pi) -
    determinant(across)$modulus / 2 - shape * log(rate)
  expect_equal(
    as.numeric(log_evidence(fit)), as.vector(log_t), tolerance = 1e-10
  )
})

test_that("both samplers are compared with quadrature", {
  # helper-known.R
  collapsed <- vapply(c(10, 4), function(n) {
    lm_model_for(y ~ x1 + x2, lm_example(n))$data$collapsed
  }, 0L)
  expect_identical(collapsed, 0:1)
})

# Means of log lambda, log beta, their squares and product given y, from y ~
# N(m_alpha, Z Z' / lambda + 1 1' / k_alpha + 1 / (beta v)): no eigenvectors and
# no twin.
precisions_by_quadrature <- function(y, x, v, prior, size = 60) {
  z <- sweep(x, 2, colSums(v * x) / sum(v)) / prior$scale
  away <- y - prior$intercept_mean
  grid <- expand.grid(
    lambda = seq(-9, 7, length.out = size), beta = seq(-9, 7, length.out = size)
  )
  # the gammas' exponents have no -1 on the scale of logarithms
  value <- apply(grid, 1, function(at) {
    root <- chol(
      tcrossprod(z) / exp(at[[1]]) + prior$intercept_sd^2 +
        diag(1 / (exp(at[[2]]) * v))
    )
    prior$slope_shape * at[[1]] - prior$slope_rate * exp(at[[1]]) +
    prior$noise_shape * at[[2]] -
      prior$noise_rate * exp(at[[2]]) - sum(log(diag(root))) -
      sum(backsolve(root, away, transpose = TRUE)^2) / 2
  })
  weight <- exp(value - max(value))
  colSums(weight * precision_moments(grid)) / sum(weight)
}

precision_moments <- function(logs) {
  unname(cbind(logs, logs^2, logs[[1]] * logs[[2]]))
}

test_that("the precisions of a wide regression are those of quadrature", {
  skip_long()
  data <- lm_example(4, 6)
  x <- as.matrix(data[1 + 1:6])
  prior <- list(
    slope_shape = 2, slope_rate = 1.5, noise_shape = 2, noise_rate = 1,
    scale = 2, intercept_mean = 4, intercept_sd = 1.5
  )
  exact <- precisions_by_quadrature(data$y, x, data$v, prior)
  fit <- quietly(gibbs_lm(
    cbind("(Intercept)" = 1, x), data$y, weights = data$v,
    prior = do.call(lm_prior, prior), draws = 3000, burnin = 100, chains = 2,
    seed = 1, progress = FALSE
  ))
  expect_identical(gibbsite:::fit_part(fit, "model")$data$collapsed, 1L)
  draws <- lapply(fit, function(chain) {
    precision_moments(data.frame(
      log(chain[, "lambda"]), -2 * log(chain[, "sigma"])
    ))
  })
  for (q in seq_along(exact)) {
    one <- vapply(draws, function(v) v[, q], numeric(3000))
    expect_lt(abs(z_of_chains(one, exact[[q]])), 4.5, label = q)
  }
})

# ---- Geweke's joint test -----------------------------------------------------

lm_quantities <- function(model, state) {
  w <- gibbsite:::lm_coefficients(model, state)
  y <- model$frame$y
  # the responses and the slopes of a horseshoe have no moments
  c(
    log_lambda = log(state$lambda), log_beta = log(state$beta),
    w = tanh(w), square = tanh(w[[2]]^2), mean_y = tanh(mean(y)),
    spread_y = log(stats::var(y)), both = tanh(w[[2]] * mean(y))
  )
}

lm_joint_model <- function(n, p, type = "hierarchical") {
  data <- lm_example(n, p)
  x <- cbind("(Intercept)" = 1, as.matrix(data[1 + seq_len(p)]))
  prior <- switch(type,
    hierarchical = lm_prior(slope_shape = 3, slope_rate = 2, noise_shape = 3,
                            noise_rate = 2, scale = 2,
                            intercept_mean = 0.5, intercept_sd = 1),
    nig = lm_prior("nig", lambda = 2, noise_shape = 3, noise_rate = 2,
                   scale = 2,
                   intercept_mean = 0.5, intercept_sd = 1),
    horseshoe = lm_prior("horseshoe", tau = 0.5, noise_shape = 3,
                         noise_rate = 2, scale = 2,
                         intercept_mean = 0.5, intercept_sd = 1)
  )
  lm_model_for(x, data$y, prior = prior, weights = data$v)
}

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  cases <- list(
    plain = lm_joint_model(8, 2), wide = lm_joint_model(4, 6),
    nig = lm_joint_model(5, 7, "nig"),
    horseshoe = lm_joint_model(8, 2, "horseshoe"),
    horseshoe_wide = lm_joint_model(4, 6, "horseshoe")
  )
  for (name in names(cases)) {
    model <- cases[[name]]
    reference <- joint_by_simulation(model, lm_quantities, 4000)
    test <- joint_test(model, lm_quantities, reference, 400, 20)
    expect_gt(smallest_adjusted(test), 0.001)
    for (mutant in lm_mutants) {
      wrong <- mutant_of(model, mutant)
      found <- joint_test(wrong, lm_quantities, reference, 400, 20)
      expect_lt(smallest_adjusted(found), 0.001)
    }
  }
})

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  expect_kept_by_sweep(
    list(lm_joint_model(8, 2)), lm_quantities, 3000
  )
})
