# gibbs_ordinal() is exact: the core against its R twin, quadrature, invariance
# and Geweke's joint test, and the mistakes that these find.

ordered_cases <- list(
  slopes = function() ordinal_model_for(r ~ x + f, ordered_example()),
  counted = function() {
    ordinal_model_for(
      r ~ x + m, ordered_example(), weights = count, offset = o,
      prior = ordinal_prior(
        slope_variance = 2, slope_mean = 0.5, threshold_sd = 2
      )
    )
  },
  thresholds = function() ordinal_model_for(r ~ 1, ordered_example()),
  intercepts = function() ordinal_model_for(r ~ x + (1 | g), ordered_example()),
  varying = function() {
    ordinal_model_for(
      r ~ x + (x | g), ordered_example(), weights = count, offset = o
    )
  },
  diagonal = function() ordinal_model_for(r ~ (x || g), ordered_example()),
  crossed = function() {
    ordinal_model_for(r ~ x + (1 + m | g) + (1 | h), ordered_example())
  },
  nested = function() ordinal_model_for(r ~ x + (1 | g / h), ordered_example())
)

ordered_draws_of_both <- function(model, wrong = "", n = 4) {
  draws_of_both(twin_ordinal_sweeps, model, wrong, n)
}

for (name in names(ordered_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    both <- ordered_draws_of_both(ordered_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}

test_that("the twin's mistakes are found", {
  skip_unless_extended()
  case_of <- c(
    jacobian = "slopes", unordered = "slopes", interval = "slopes",
    "next" = "varying", latent_kept = "crossed", level_flat = "intercepts",
    unweighted = "counted"
  )
  for (wrong in names(case_of)) {
    model <- ordered_cases[[case_of[[wrong]]]]()
    found <- tryCatch(
      {
        both <- ordered_draws_of_both(
          model, wrong, if (wrong == "jacobian") 20 else 3
        )
        max(abs(both$core - both$twin))
      },
      # cutpoints that are out of order
      error = function(cnd) Inf
    )
    expect_gt(found, 1e-3, label = wrong)
  }
})

# The posterior of a slope and two thresholds on a grid.
test_that("a small posterior is that of quadrature", {
  skip_unless_extended()
  x <- c(-1.5, -0.7, -0.2, 0.1, 0.6, 0.9, 1.8, 2.4)
  y <- c(1, 1, 2, 1, 3, 2, 3, 3)
  sd <- c(slope = 1.5, theta = 2)
  grid <- expand.grid(
    b = seq(-3, 7, length.out = 61), first = seq(-7, 7, length.out = 101),
    gap = exp(seq(-6, 2.5, length.out = 101))
  )
  second <- grid$first + grid$gap
  log_p <- dnorm(grid$b, 0, sd[[1]], log = TRUE) + log(grid$gap) +
    dnorm(grid$first, 0, sd[[2]], log = TRUE) +
    dnorm(second, 0, sd[[2]], log = TRUE)
  centre <- mean(x)
  for (i in seq_along(x)) {
    eta <- grid$b * (x[[i]] - centre)
    bounds <- list(-Inf, grid$first, second, Inf)
    log_p <- log_p + log(
      pnorm(bounds[[y[[i]] + 1]] - eta) - pnorm(bounds[[y[[i]]]] - eta)
    )
  }
  p <- exp(log_p - max(log_p))
  moments <- function(v) {
    m <- sum(p * v) / sum(p)
    c(m, sqrt(sum(p * (v - m)^2) / sum(p)))
  }
  exact <- rbind(
    moments(grid$b), moments(grid$first + centre * grid$b),
    moments(second + centre * grid$b)
  )
  fit <- quietly(gibbs_ordinal(
    y ~ x, data.frame(x, y), ordinal_prior(
      slope_sd = sd[[1]], threshold_sd = sd[[2]]
    ), draws = 20000, burnin = 200, seed = 1, progress = FALSE
  ))
  draws <- as.matrix(fit)[, 1:3]
  ess <- coda::effectiveSize(fit)[1:3]
  expect_lt(
    max(abs(colMeans(draws) - exact[, 1]) / (exact[, 2] / sqrt(ess))), 4.5
  )
  square <- sweep(draws, 2, exact[, 1])^2
  se <- apply(square, 2, stats::sd) / sqrt(coda::effectiveSize(square))
  expect_lt(max(abs(colMeans(square) - exact[, 2]^2) / se), 4.5)
})

# ---- invariance and Geweke's joint test --------------------------------------

ordered_quantities <- function(model, state) {
  code <- model$frame$y
  theta <- state$theta
  b <- state$b[-length(state$b)]
  c(
    b = tanh(b), square = tanh(b^2), theta = tanh(theta / 2),
    gap = tanh(diff(theta)), mean = mean(code), spread = var(code),
    own = tanh(theta[[1]]) * (code[[1]] == 1),
    slope = mean(code * model$frame$x[, 1]), both = tanh(b[[1]]) * mean(code),
    u = tanh(state$u[seq_len(min(2, length(state$u)))]),
    log_sd = if (length(state$factor) > 0) log(state$factor[[1]])
  )
}

ordered_joint_model <- function(formula = r ~ x + m, offset = NULL) {
  ordinal_model_for(
    formula, ordered_example(c(4, 3, 1, 2)), offset = o,
    prior = ordinal_prior(
      slope_variance = 0.6, threshold_sd = 1.2, group_df = 4, group_scale = 0.7
    )
  )
}

ordered_joint_models <- function() {
  list(
    ordered_joint_model(), ordered_joint_model(r ~ x + (1 | g)),
    ordered_joint_model(r ~ x + (x | g) + (1 | h))
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  expect_kept_by_sweep(
    ordered_joint_models()[1:3], ordered_quantities,
    4000
  )
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  expect_joint_passes(ordered_joint_models(), ordered_quantities)
  expect_joint_finds(
    ordered_bar_mutants, ordered_joint_model(r ~ x + (1 | g)),
    ordered_quantities
  )
})
