# gibbs_hlm() is exact: the core against its R twin, quadrature, invariance and
# Geweke's joint test, and the mistakes that these find.

hlm_cases <- list(
  intercepts = function() hlm_model_for(y ~ x + (1 | g), hlm_example()),
  slopes = function() hlm_model_for(y ~ x + (1 + x | g), hlm_example()),
  weighted = function() {
    hlm_model_for(
      y ~ x + f + (x | g), hlm_example(), weights = v, offset = o, keep = "w",
      prior = hlm_prior(
        df = 3, scale = c(2, 0.7), slope_mean = c(1, 0, 0), slope_sd = 1,
        intercept_sd = 2, nu0 = 3, sigma0 = 1
      )
    )
  },
  wishart = function() {
    hlm_model_for(
      y ~ x + (x + m | g), hlm_example(), keep = "w",
      prior = hlm_prior(
        "inverse-wishart", df = 4.5,
        scale = matrix(c(2, 0.5, 0, 0.5, 1, 0.2, 0, 0.2, 0.7), 3)
      )
    )
  },
  diagonal = function() hlm_model_for(y ~ x + (x || g), hlm_example()),
  diagonal_wishart = function() {
    hlm_model_for(
      y ~ x + (x || g), hlm_example(),
      prior = hlm_prior("inverse-wishart", scale = c(1, 0.3))
    )
  },
  no_fixed = function() hlm_model_for(y ~ 0 + (0 + x | g), hlm_example()),
  known = function() {
    hlm_model_for(y ~ m + (1 | g), hlm_example(rep(1, 8)), se = v)
  },
  collapsed = function() {
    hlm_model_for(y ~ m + (1 | g), hlm_example(c(1, 2, 1, 2, 2)), weights = v)
  },
  one_group = function() hlm_model_for(y ~ x + (x | g), hlm_example(9)),
  two_groups = function() hlm_model_for(y ~ x + (x | g), hlm_example(c(9, 1)))
)

# The draws of the core and of the twin, on the same random numbers.
hlm_draws_of_both <- function(model, wrong = "", n = 5) {
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  list(
    core = withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, n, control)$draws
    ),
    twin = withr::with_seed(3, twin_hlm_sweeps(model, state, n, wrong))
  )
}

for (name in names(hlm_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    both <- hlm_draws_of_both(hlm_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}

test_that("the cases are of both samplers", {
  expect_identical(hlm_cases$slopes()$data$collapsed, 0)
  expect_identical(hlm_cases$collapsed()$data$collapsed, 1)
})

test_that("the twin's mistakes are found", {
  case_of <- c(
    scale_inverted = "slopes", groups_short = "slopes", nu0_whole = "weighted",
    jacobian = "slopes", shear_prior = "wishart", fixed_given_u = "slopes"
  )
  for (wrong in names(case_of)) {
    # with an inverted scale the second sweep overflows
    n <- if (wrong == "scale_inverted") 1 else 3
    both <- hlm_draws_of_both(hlm_cases[[case_of[[wrong]]]](), wrong, n)
    expect_gt(max(abs(both$core - both$twin)), 1e-3)
  }
})

# ---- quadrature --------------------------------------------------------------

eight_schools <- data.frame(
  y = c(28, 8, -3, 7, -1, 1, 18, 12), se = c(15, 10, 16, 11, 9, 11, 10, 18),
  school = LETTERS[1:8]
)

# Moments of tau, mu and the first w_j by a grid of tau, mu and w_1 given tau
# being normal.
known_posterior <- function(data, prior) {
  tau <- exp(seq(log(1e-6), log(1e5), length.out = 20001))
  a <- prior$scale[[1]]
  nu <- prior$df
  log_prior <- stats::dt(tau / a, nu, log = TRUE)
  each <- vapply(tau, function(t) {
    v <- data$se^2 + t^2
    precision <- sum(1 / v) + 1 / prior$intercept_sd^2
    mean <- (sum(data$y / v) + prior$intercept_mean / prior$intercept_sd^2) /
      precision
    across <- diag(v, length(v)) + prior$intercept_sd^2
    root <- chol(across)
    white <- backsolve(root, data$y - prior$intercept_mean, transpose = TRUE)
    share <- t^2 / v[[1]]
    c(
      -sum(log(diag(root))) - sum(white^2) / 2, mean, 1 / precision,
      share * data$y[[1]] + (1 - share) * mean
    )
  }, numeric(4))
  log_p <- log_prior + each[1, ] + log(tau) # the grid is of log tau
  p <- exp(log_p - max(log_p))
  p <- p / sum(p)
  mu <- sum(p * each[2, ])
  c(
    log_tau = sum(p * log(tau)), small = sum(p[tau < a / 4]),
    large = sum(p[tau > 2 * a]), bounded = sum(p * tanh(tau / a)), mu = mu,
    square = sum(p * (each[2, ]^2 + each[3, ])), w = sum(p * each[4, ])
  )
}

expect_known_posterior <- function(data, prior, draws = 20000, seed = 1) {
  fit <- gibbs_hlm(
    y ~ 1 + (1 | school), data, se = se, prior = prior, draws = draws,
    burnin = 100, seed = seed, keep = "w", progress = FALSE
  )
  full <- prior_summary(fit)
  exact <- known_posterior(data, full)
  a <- full$scale[[1]]
  chain <- function(name, f = identity) {
    f(vapply(seq_along(fit), function(k) {
      as.matrix(fit[[k]])[, name]
    }, numeric(draws)))
  }
  tau <- chain("sd[1]")
  mu <- chain("(Intercept)")
  found <- list(
    log_tau = log(tau), small = 1 * (tau < a / 4), large = 1 * (tau > 2 * a),
    bounded = tanh(tau / a), mu = mu, square = mu^2, w = chain("w[1,1]")
  )
  z <- vapply(names(found), function(name) {
    # an event that never or always happens
    if (stats::sd(found[[name]]) == 0) {
      return(if (abs(found[[name]][[1]] - exact[[name]]) < 1e-3) 0 else Inf)
    }
    z_of_chains(found[[name]], exact[[name]])
  }, 0)
  expect_lt(max(abs(z)), 4.5)
}

test_that("eight schools agree with quadrature", {
  expect_known_posterior(eight_schools, hlm_prior())
  expect_known_posterior(
    eight_schools,
    hlm_prior(df = 1, scale = 25, intercept_mean = 5, intercept_sd = 30)
  )
})

test_that("one and two groups, and equal groups, agree with quadrature", {
  prior <- hlm_prior(df = 3, scale = 10, intercept_mean = 2, intercept_sd = 20)
  for (j in 1:2) {
    expect_known_posterior(eight_schools[seq_len(j), ], prior, 8000)
  }
  same <- transform(eight_schools, y = 3, se = 1)
  suppressMessages(expect_known_posterior(same, prior, 8000))
  # groups far apart
  expect_known_posterior(
    transform(eight_schools, y = 10 * y, se = 0.1), prior, 8000
  )
})

# ---- invariance and Geweke's joint test --------------------------------------

hlm_quantities <- function(model, state) {
  data <- model$data
  y <- model$frame$y
  sigma <- tcrossprod(matrix(state$factor, data$q))
  u <- matrix(state$u, data$q)
  b <- state$b
  c(
    log_sd = log(diag(sigma)) / 2,
    cor = if (data$diagonal == 0) stats::cov2cor(sigma)[lower.tri(sigma)],
    log_beta = if (data$known == 0) log(state$beta), b = tanh(b / 5),
    b_square = tanh(((b - data$mean) / 3)^2), u = tanh(u[, 1]),
    square = tanh(rowMeans(u^2)),
    mean_y = tanh(mean(y) / 5), spread_y = log(stats::var(y)),
    both = tanh(u[1, 1] * mean(y) / 5)
  )
}

hlm_joint_model <- function(type, formula = y ~ x + (1 + x | g), sizes = NULL) {
  prior <- if (type == "half-t") {
    hlm_prior(
      df = 4, scale = c(1.5, 0.7), nu0 = 6, sigma0 = 1.2, slope_mean = 0.5,
      slope_sd = 0.8, intercept_mean = 1, intercept_sd = 1.5
    )
  } else {
    hlm_prior(
      type, df = 6, scale = matrix(c(4, 1, 1, 2), 2), nu0 = 6, sigma0 = 1.2,
      slope_mean = 0.5, slope_sd = 0.8, intercept_mean = 1, intercept_sd = 1.5
    )
  }
  data <- hlm_example(if (is.null(sizes)) c(4, 3, 1, 2) else sizes)
  hlm_model_for(formula, data, prior = prior, weights = v)
}

joint_cases <- function() {
  list(
    half_t = hlm_joint_model("half-t"),
    wishart = hlm_joint_model("inverse-wishart"),
    diagonal = hlm_joint_model("half-t", y ~ x + (x || g)),
    collapsed = hlm_joint_model("half-t", sizes = c(2, 1, 1, 2, 2))
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  withr::local_seed(12)
  cases <- joint_cases()
  expect_identical(cases$collapsed$data$collapsed, 1)
  for (model in cases[if (is_extended()) 1:4 else c(1, 4)]) {
    draws <- if (is_extended()) 4000 else 800
    change <- change_in_sweep(model, hlm_quantities, draws)
    expect_lt(largest_change(change), 4.5)
  }
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  for (model in joint_cases()) {
    reference <- joint_by_simulation(model, hlm_quantities, 4000)
    test <- joint_test(model, hlm_quantities, reference, 400, 20)
    expect_gt(smallest_adjusted(test), 0.001)
  }
  model <- hlm_joint_model("inverse-wishart")
  reference <- joint_by_simulation(model, hlm_quantities, 4000)
  for (mutant in hlm_mutants) {
    wrong <- mutant_of(model, mutant)
    found <- joint_test(wrong, hlm_quantities, reference, 400, 20)
    expect_lt(smallest_adjusted(found), 0.001)
  }
})
