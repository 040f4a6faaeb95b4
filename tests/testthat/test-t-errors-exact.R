# t errors are exact: the core against its R twin, quadrature, invariance and
# Geweke's joint test, and the mistakes that these find.

t_example <- function() {
  data <- hlm_example()
  withr::with_seed(5, {
    data$h <- sample(letters[1:3], nrow(data), TRUE)
    data$y <- data$y + stats::rt(nrow(data), 2)
    data$count <- sample(0:2, nrow(data), TRUE)
  })
  data
}

t_prior <- hlm_prior(
  df = 4, scale = 1.5, nu0 = 6, sigma0 = 1, slope_sd = 0.7, intercept_mean = 4,
  intercept_sd = 1.5
)

t_model <- function(...) {
  t_model_of(match.call(), quote(gibbs_hlm), parent.frame())
}

t_lm_model <- function(...) {
  t_model_of(match.call(), quote(gibbs_lm), parent.frame())
}

t_model_of <- function(call, name, env) {
  call[[1]] <- name
  call$errors <- "t"
  model_of_call(call, env)
}

t_cases <- list(
  regression = function() t_lm_model(y ~ x + f, t_example()),
  weighted = function() {
    t_lm_model(
      y ~ x + m, t_example(), weights = v, offset = o,
      prior = lm_prior(slope_mean = c(x = 1), scale = 2, nu = 3)
    )
  },
  location = function() t_lm_model(y ~ 1, t_example()),
  origin = function() t_lm_model(y ~ 0 + x, t_example(), weights = count),
  intercepts = function() t_model(y ~ x + (1 | g), t_example()),
  slopes = function() {
    t_model(y ~ x + (x | g), t_example(), weights = v, offset = o)
  },
  wishart = function() {
    t_model(
      y ~ x + (x | g), t_example(), prior = hlm_prior("inverse-wishart", nu = 2)
    )
  },
  diagonal = function() t_model(y ~ m + (x + m || g), t_example()),
  no_fixed = function() t_model(y ~ 0 + (0 + x | g), t_example()),
  crossed = function() {
    t_model(y ~ x + (1 + x | g) + (1 | h), t_example(), weights = count)
  },
  nested = function() t_model(y ~ x + (1 | h / g), t_example())
)

t_draws_of_both <- function(model, wrong = "", n = 5) {
  draws_of_both(twin_t_sweeps, model, wrong, n)
}

test_that("the core draws what its twin draws", {
  skip_long()
  for (name in names(t_cases)) {
    both <- t_draws_of_both(t_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7, label = name)
  }
})

test_that("the twin's mistakes are found", {
  case_of <- c(
    sigma_jacobian = "intercepts", nu_jacobian = "intercepts",
    lambda_kept = "regression", shape_nu = "crossed", unweighted = "weighted",
    phi_short = "regression"
  )
  for (wrong in names(case_of)) {
    both <- t_draws_of_both(t_cases[[case_of[[wrong]]]](), wrong, 3)
    expect_gt(max(abs(both$core - both$twin)), 1e-3, label = wrong)
  }
})

# ---- quadrature --------------------------------------------------------------

# Posterior means of alpha, sigma and nu of y ~ 1 on a grid: the log density in
# alpha, log sigma and log nu, from dt() and the priors of the page.
grid_means <- function(y, prior, alpha, log_sigma, log_nu = log(prior$nu)) {
  at <- expand.grid(alpha = alpha, s = log_sigma, v = log_nu)
  sigma <- exp(at$s)
  nu <- exp(at$v)
  log_p <- stats::dnorm(
    at$alpha, prior$intercept_mean, prior$intercept_sd, log = TRUE
  ) + stats::dgamma(sigma^-2, prior$noise_shape, prior$noise_rate, log = TRUE) -
    2 * at$s
  if (length(log_nu) > 1) {
    log_p <- log_p + stats::dgamma(nu, 2, 0.1, log = TRUE) + at$v
  }
  for (value in y) {
    log_p <- log_p +
      stats::dt((value - at$alpha) / sigma, nu, log = TRUE) - at$s
  }
  weight <- exp(log_p - max(log_p))
  edge <- at$alpha %in% range(alpha) | at$s %in% range(log_sigma)
  expect_lt(sum(weight[edge]) / sum(weight), 1e-4)
  means <- function(f) sum(weight * f) / sum(weight)
  c(
    alpha = means(at$alpha), near = means(tanh(at$alpha - 0.5)),
    sigma = means(at$s), nu = means(at$v)
  )
}

test_that("the posterior of a location is that of quadrature", {
  skip_unless_extended()
  y <- c(0.3, 1.1, -0.4, 0.8, 12, 1.9, 0.2, -7)
  given <- lm_prior(
    noise_shape = 2, noise_rate = 2, intercept_mean = 0, intercept_sd = 4,
    nu = 3
  )
  run <- function(prior) {
    fit <- gibbs_lm(
      y ~ 1, data.frame(y), prior = prior, errors = "t", seed = 4,
      draws = 40000, progress = FALSE
    )
    lapply(gibbsite:::chain_matrices(fit), function(d) {
      cbind(
        alpha = d[, 1], near = tanh(d[, 1] - 0.5), sigma = log(d[, "sigma"]),
        nu = if ("nu" %in% colnames(d)) log(d[, "nu"])
      )
    })
  }
  alpha <- seq(-12, 14, length.out = 301)
  s <- seq(-3, 4, length.out = 101)
  known <- grid_means(y, given, alpha, s)
  scores <- known_scores(list(chains = run(given), exact = known[1:3]))
  expect_lt(max(scores$z), 4.5)
  given["nu"] <- list(NULL)
  drawn <- grid_means(
    y, given, seq(-12, 14, length.out = 131), seq(-4, 4, length.out = 61),
    seq(-6, 6, length.out = 61)
  )
  scores <- known_scores(list(chains = run(given), exact = drawn))
  expect_lt(max(scores$z), 4.5)
})

# ---- invariance and Geweke's joint test --------------------------------------

t_joint_quantities <- function(model, state) {
  data <- model$data
  y <- data$response$y
  b <- state$b
  far <- abs(y) > 2
  covariances <- gibbsite:::model_init_from_state(model, state)$Sigma
  if (is.matrix(covariances)) covariances <- list(covariances)
  c(
    log_sigma = log(state$sigma), log_nu = log(state$nu),
    log_lambda = if (length(state$lambda) > 0) log(state$lambda),
    b = tanh(b), b_square = tanh(b^2), u = tanh(head(state$u, 2)),
    log_sd = log(as.double(unlist(lapply(covariances, diag)))),
    far = mean(far), tail = mean(far) * log(state$nu), mean_y = mean(tanh(y)),
    fall = mean(log1p(y^2)), scale = mean(log1p(y^2)) * log(state$sigma),
    slope = mean(tanh(y * data$fixed[seq_along(y)])) * tanh(b[[1]])
  )
}

t_joint_cases <- function() {
  data <- t_example()[1:12, ]
  list(
    regression = t_lm_model(
      y ~ x + m, data, weights = v, prior = lm_prior(
        slope_shape = 3, slope_rate = 3, noise_shape = 3, noise_rate = 3,
        scale = 1, intercept_mean = 0, intercept_sd = 1
      )
    ),
    groups = t_model(y ~ x + (x | g), data, weights = v, prior = t_prior),
    crossed = t_model(y ~ x + (1 | g) + (1 | h), data, prior = t_prior)
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(13)
  expect_kept_by_sweep(t_joint_cases(), t_joint_quantities, 4000)
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(14)
  expect_joint_passes(t_joint_cases(), t_joint_quantities)
  expect_joint_finds(t_mutants, t_joint_cases()$groups, t_joint_quantities)
})
