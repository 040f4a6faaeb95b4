# gibbs_count() is exact: the core against its R twin, quadrature and
# invariance, and the mistakes that these find.

count_cases <- list(
  fixed = function() {
    count_model_for(count ~ x + f + offset(log(t)), count_example())
  },
  weighted = function() {
    count_model_for(
      count ~ x, count_example(), "negbinomial", weights = times, offset = o,
      prior = count_prior(
        slope_variance = diag(c(4, 2)) + 0.5, dispersion_df = 4,
        dispersion_scale = 0.7
      )
    )
  },
  intercepts = function() {
    count_model_for(count ~ x + (1 | g), count_example(), offset = log(t))
  },
  slopes = function() {
    count_model_for(
      count ~ x + (x | g), count_example(), "negbinomial", offset = log(t)
    )
  },
  diagonal = function() {
    count_model_for(
      count ~ m + (x + m || g), count_example(), weights = times,
      prior = count_prior(
        slope_variance = 2, intercept_variance = 9, group_df = 3,
        group_scale = c(2, 0.7, 1)
      )
    )
  },
  no_fixed = function() {
    count_model_for(count ~ 0 + (0 + x | g), count_example(), "negbinomial")
  },
  crossed = function() {
    count_model_for(count ~ x + (x | g) + (1 | h), count_example())
  },
  nested = function() {
    count_model_for(count ~ x + (1 | g / h), count_example(), "negbinomial")
  },
  near = function() near_model(count ~ x + (1 + x | k) + (1 | g)),
  near_slopes = function() {
    near_model(
      count ~ x + (1 + x | k) + (x | g), "negbinomial", offset = log(t)
    )
  }
)

# Groups g of which a few rows lie in another k.
near_example <- function() {
  data <- count_example()
  data$k <- factor(c(a = 1, b = 1, c = 2, d = 2, e = 3, f = 3)[data$g])
  data$k[c(2, 9, 20)] <- c(3, 2, 1)
  data
}

near_model <- function(formula, ..., data = near_example()) {
  local_joint_draws()
  model <- count_model_for(formula, data, ...)
  testthat::expect_gt(length(model$data$near), 0)
  model
}

count_draws_of_both <- function(model, wrong = "", n = 6) {
  draws_of_both(twin_count_sweeps, model, wrong, n)
}

for (name in names(count_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    both <- count_draws_of_both(count_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}

test_that("the twin's mistakes are found", {
  skip_unless_extended()
  case_of <- c(
    jacobian = "weighted", offset_left = "slopes", unweighted = "weighted",
    proposal_left = "slopes", always = "slopes", shift_prior = "intercepts",
    shift_back = "intercepts", scale_jacobian = "slopes",
    shear_prior = "slopes", near_inner = "near", near_rows = "near"
  )
  for (wrong in names(case_of)) {
    # a slice step with a wrong density often ends at the same point
    n <- if (wrong == "jacobian") 30 else 4
    both <- count_draws_of_both(count_cases[[case_of[[wrong]]]](), wrong, n)
    expect_gt(max(abs(both$core - both$twin)), 1e-3, label = wrong)
  }
})

# ---- quadrature --------------------------------------------------------------

# The posterior means of functions of the coefficient w and the dispersion, by
# sums over a grid: a list for each function of (w, tau) to means and variances.
# w ~ N(0, 100), tau = 1 / sqrt(r) ~ half-t(2, 1).
count_quadrature <- function(y, offset, w, tau = 0) {
  grid <- expand.grid(w = w, tau = tau)
  log_density <- stats::dnorm(grid$w, 0, 10, log = TRUE)
  for (i in seq_along(y)) {
    mean <- exp(grid$w + offset[[i]])
    log_density <- log_density + if (length(tau) == 1L) {
      stats::dpois(y[[i]], mean, log = TRUE)
    } else {
      stats::dnbinom(y[[i]], size = grid$tau^-2, mu = mean, log = TRUE)
    }
  }
  if (length(tau) > 1L) {
    # a grid that is even in log tau
    log_density <- log_density + stats::dt(grid$tau, 2, log = TRUE) +
      log(grid$tau)
  }
  weight <- exp(log_density - max(log_density))
  weight <- weight / sum(weight)
  of <- cbind(w = grid$w, w2 = grid$w^2, tau = tanh(grid$tau))
  colSums(of * weight)
}

count_draws <- function(y, offset, family = "poisson") {
  fit <- suppressMessages(quietly(gibbs_count(
    y ~ 1, data.frame(y = y), family, offset = offset, draws = 5000,
    burnin = 100, chains = 2, seed = 1, progress = FALSE
  )))
  draws <- do.call(rbind, lapply(fit, unclass))
  w <- draws[, 1L]
  tau <- if (family == "poisson") 0 * w else draws[, "dispersion"]
  values <- cbind(w = w, w2 = w^2, tau = tanh(tau))
  ess <- coda::effectiveSize(coda::as.mcmc(values))
  list(
    mean = colMeans(values),
    error = apply(values, 2, stats::sd) / sqrt(pmax(ess, 1))
  )
}

test_that("Poisson posteriors are those of quadrature", {
  cases <- list(
    zeros = list(y = c(0, 0, 0), o = c(0, 1, -1), w = c(-60, 10)),
    few = list(y = c(0, 1, 3), o = c(0, 0.5, 0), w = c(-8, 5)),
    huge = list(y = c(1e6, 9e5), o = c(0, 0), w = c(13.7, 13.8)),
    rare = list(y = c(2, 0, 1), o = log(c(1e-6, 2e-6, 1e-6)), w = c(0, 18))
  )
  for (case in cases[fast_or(2:3, 1:4)]) {
    exact <- count_quadrature(
      case$y, case$o, seq(case$w[[1]], case$w[[2]], length.out = 40001)
    )
    drawn <- count_draws(case$y, case$o)
    z <- ((drawn$mean - exact) / drawn$error)[1:2]
    expect_lt(max(abs(z)), 4.5)
  }
})

test_that("negative binomial posteriors are those of quadrature", {
  skip_unless_extended()
  cases <- list(
    zeros = list(y = c(0, 0, 0), o = c(0, 1, -1), w = c(-60, 40)),
    few = list(y = c(0, 1, 9, 2), o = c(0, 0.5, 0, 1), w = c(-30, 30)),
    huge = list(y = c(1e6, 8e5, 12e5, 2e6), o = rep(0, 4), w = c(2, 25)),
    rare = list(y = c(2, 0, 5), o = log(c(1e-6, 2e-6, 1e-6)), w = c(-15, 45))
  )
  for (case in cases) {
    exact <- count_quadrature(
      case$y, case$o, seq(case$w[[1]], case$w[[2]], length.out = 601),
      exp(seq(-12, 9, length.out = 451))
    )
    drawn <- count_draws(case$y, case$o, "negbinomial")
    expect_lt(max(abs(drawn$mean - exact) / drawn$error), 4.5)
  }
})

# ---- invariance --------------------------------------------------------------

count_quantities <- function(model, state) {
  y <- model$frame$y
  share <- y / (1 + y)
  b <- state$b
  groups <- if (gibbsite:::has_groups(model)) {
    q <- model$data$bars[[1L]]$q
    sigma <- tcrossprod(matrix(state$factor[seq_len(q^2)], q))
    u <- state$u
    c(
      log_sd = log(diag(sigma)) / 2,
      cor = stats::cov2cor(sigma)[lower.tri(sigma)],
      u = tanh(u[seq_len(q)]), square = tanh(mean(u^2)),
      both = tanh(u[[1]]) * share[[1]], fixed = tanh(b[[1]]) * tanh(u[[1]])
    )
  }
  tau <- if (model$data$negbinomial == 1) state$dispersion else numeric()
  c(
    groups, b = tanh(b), b_square = tanh(b^2), tau = tanh(tau),
    tau_mean = tanh(tau) * mean(share), mean_y = mean(share),
    spread_y = stats::var(share), slope = mean(share * model$frame$x[, 2]),
    b_mean = tanh(b[[1]]) * mean(share)
  )
}

count_joint_cases <- function() {
  prior <- count_prior(
    slope_variance = 0.4, intercept_variance = 0.8, group_df = 4,
    group_scale = 0.6, dispersion_df = 4, dispersion_scale = 0.6
  )
  data <- count_example(c(4, 3, 1, 2))
  list(
    fixed = count_model_for(
      count ~ x, data, "negbinomial", prior, offset = log(t)
    ),
    slopes = count_model_for(
      count ~ x + (x | g), data, prior = prior, offset = log(t)
    ),
    crossed = count_model_for(
      count ~ x + (1 | g) + (1 | h), data, "negbinomial", prior
    ),
    near = near_model(
      count ~ x + (1 | k) + (1 | g), prior = prior,
      data = near_example()[1:15, ]
    )
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  expect_kept_by_sweep(
    count_joint_cases(), count_quantities, 5000
  )
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  cases <- count_joint_cases()
  expect_joint_passes(cases, count_quantities)
  model <- cases$slopes
  reference <- joint_by_simulation(model, count_quantities, 4000)
  for (mutant in count_group_mutants) {
    # a covariance that a mistake drives to a singular matrix shows it too
    found <- tryCatch(
      smallest_adjusted(joint_test(
        mutant_of(model, mutant), count_quantities, reference, 400, 20
      )),
      gibbsite_collapse = function(cnd) 0
    )
    expect_lt(found, 0.001)
  }
})
