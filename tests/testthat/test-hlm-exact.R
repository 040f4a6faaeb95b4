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

hlm_draws_of_both <- function(model, wrong = "", n = 5) {
  draws_of_both(twin_hlm_sweeps, model, wrong, n)
}

for (name in names(hlm_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    skip_long()
    both <- hlm_draws_of_both(hlm_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}

test_that("the cases are of both samplers", {
  expect_identical(hlm_cases$slopes()$data$collapsed, 0)
  expect_identical(hlm_cases$collapsed()$data$collapsed, 1)
})

test_that("the twin's mistakes are found", {
  skip_unless_extended()
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
  skip_unless_extended()
  withr::local_seed(12)
  cases <- joint_cases()
  expect_identical(cases$collapsed$data$collapsed, 1)
  expect_kept_by_sweep(
    cases[1:4], hlm_quantities,
    4000
  )
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  expect_joint_passes(joint_cases(), hlm_quantities)
  expect_joint_finds(
    hlm_mutants, hlm_joint_model("inverse-wishart"), hlm_quantities
  )
})
