# gibbs_logistic() with groups is exact: the core against its R twin,
# quadrature, invariance and Geweke's joint test, and the mistakes that these
# find.

binomial_cases <- list(
  intercepts = function() {
    group_model_for(hit ~ x + (1 | g), binomial_example())
  },
  slopes = function() {
    group_model_for(
      cbind(s, trials - s) ~ x + (x | g), binomial_example(), offset = o
    )
  },
  counted = function() {
    group_model_for(
      hit ~ x + f + (x | g), binomial_example(), weights = count,
      prior = logistic_prior(
        slope_variance = 2, intercept_variance = 9, group_df = 3,
        group_scale = c(2, 0.7)
      )
    )
  },
  diagonal = function() {
    group_model_for(hit ~ m + (x + m || g), binomial_example())
  },
  no_fixed = function() {
    group_model_for(hit ~ 0 + (0 + x | g), binomial_example())
  },
  probit = function() {
    group_model_for(
      cbind(s, trials - s) ~ x + (x | g), binomial_example(), offset = o,
      link = "probit"
    )
  },
  one_group = function() {
    group_model_for(hit ~ x + (x | g), binomial_example(9), link = "probit")
  },
  two_groups = function() {
    group_model_for(hit ~ x + (x | g), binomial_example(c(9, 1)))
  }
)

binomial_draws_of_both <- function(model, wrong = "", n = 5) {
  draws_of_both(twin_binomial_sweeps, model, wrong, n)
}

for (name in names(binomial_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    skip_long()
    both <- binomial_draws_of_both(binomial_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}

test_that("the twin's mistakes are found", {
  skip_unless_extended()
  case_of <- c(
    kappa_whole = "slopes", tilt_doubled = "slopes", offset_left = "slopes",
    unweighted = "slopes", no_groups = "probit", untruncated = "probit",
    jacobian = "slopes", fixed_scaled = "counted"
  )
  for (wrong in names(case_of)) {
    both <- binomial_draws_of_both(
      binomial_cases[[case_of[[wrong]]]](), wrong, 3
    )
    expect_gt(max(abs(both$core - both$twin)), 1e-3)
  }
})

# ---- invariance and Geweke's joint test --------------------------------------

binomial_quantities <- function(model, state) {
  data <- model$data
  frame <- model$frame
  share <- frame$success / frame$total
  sigma <- tcrossprod(matrix(state$factor, data$q))
  u <- matrix(state$u, data$q)
  b <- state$b
  c(
    log_sd = log(diag(sigma)) / 2,
    cor = if (data$diagonal == 0) stats::cov2cor(sigma)[lower.tri(sigma)],
    b = tanh(b), b_square = tanh(b^2), u = tanh(u[, 1]),
    square = tanh(rowMeans(u^2)), mean_y = mean(share), spread_y = var(share),
    both = tanh(u[1, 1]) * share[[1]], slope = mean(share * frame$x[, 2]),
    fixed = tanh(b[[1]]) * mean(share)
  )
}

binomial_joint_model <- function(link = "logit", formula = NULL) {
  formula <- if (is.null(formula)) {
    cbind(s, trials - s) ~ x + (1 + x | g)
  } else {
    formula
  }
  group_model_for(
    formula, binomial_example(c(4, 3, 1, 2)), offset = o, link = link,
    prior = logistic_prior(
      slope_variance = 0.6, intercept_variance = 1.5, group_df = 4,
      group_scale = c(1, 0.5)
    )
  )
}

binomial_joint_cases <- function() {
  list(
    logit = binomial_joint_model(), probit = binomial_joint_model("probit"),
    diagonal = binomial_joint_model(
      "logit", cbind(s, trials - s) ~ x + (x || g)
    )
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  cases <- binomial_joint_cases()
  expect_kept_by_sweep(
    cases[1:3], binomial_quantities,
    4000
  )
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  expect_joint_passes(binomial_joint_cases(), binomial_quantities)
  expect_joint_finds(
    hlm_binomial_mutants, binomial_joint_model(), binomial_quantities
  )
})
