# gibbs_categorical() is exact: the core against its R twin and
# gibbs_logistic(), quadrature, invariance and Geweke's joint test, and the
# mistakes that these find.

category_cases <- list(
  slopes = function() categorical_model_for(r ~ x + f, category_example()),
  counted = function() {
    categorical_model_for(
      r ~ x + m, category_example(), weights = count, offset = o,
      prior = list(
        car = logistic_prior(2, slope_mean = 0.5),
        "on foot" = logistic_prior(0.5, intercept_mean = 1)
      )
    )
  },
  counts = function() {
    categorical_model_for(cbind(a, b, c) ~ x, category_example(), offset = o)
  },
  two = function() {
    categorical_model_for(cbind(a, b) ~ x + (1 | g), category_example())
  },
  intercepts = function() {
    categorical_model_for(r ~ x + (1 | g), category_example())
  },
  varying = function() {
    categorical_model_for(
      r ~ x + (x | g), category_example(), weights = count, offset = o
    )
  },
  diagonal = function() categorical_model_for(r ~ (x || g), category_example()),
  crossed = function() {
    categorical_model_for(r ~ x + (1 + m | g) + (1 | h), category_example())
  },
  nested = function() {
    categorical_model_for(r ~ x + (1 | g / h), category_example())
  },
  groups = function() {
    categorical_model_for(r ~ 0 + (1 | g) + (1 | h), category_example())
  }
)

category_draws_of_both <- function(model, wrong = "", n = 4) {
  draws_of_both(twin_categorical_sweeps, model, wrong, n)
}

for (name in names(category_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    both <- category_draws_of_both(category_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}

test_that("the twin's mistakes are found", {
  skip_long()
  model <- category_cases$intercepts()
  for (wrong in c(
    "others_left", "reference", "kept", "flat", "sign", "loose", "one"
  )) {
    both <- category_draws_of_both(model, wrong, 3)
    expect_gt(max(abs(both$core - both$twin)), 1e-3, label = wrong)
  }
})

test_that("two categories are those of gibbs_logistic(), draw for draw", {
  data <- category_example()
  prior <- logistic_prior(2)
  of <- function(f, response) {
    as.matrix(quietly(f(
      stats::reformulate("x + (x | g) + (1 | h)", response), data, prior,
      draws = 30, burnin = 10, chains = 2, seed = 1, progress = FALSE,
      inits = rep(list(start[[response]]), 2)
    )))
  }
  own <- list(g = diag(2), h = matrix(2))
  start <- list(
    "cbind(b, a)" = list(Sigma = own),
    "cbind(a, b)" = list(coefficients = c(0, 0), Sigma = list(b = own))
  )
  logistic <- of(gibbs_logistic, "cbind(b, a)")
  categories <- of(gibbs_categorical, "cbind(a, b)")
  last <- colnames(logistic) == "log_lik"
  expect_identical(unname(categories[, !last]), unname(logistic[, !last]))
  expect_equal(categories[, last], logistic[, last], tolerance = 1e-14)
  expect_identical(
    colnames(categories)[1:4],
    c("b[b,(Intercept)]", "b[b,x]", "sd[b,1,1]", "sd[b,1,2]")
  )
})

# The posterior of two slopes on a grid.
test_that("a small posterior is that of quadrature", {
  skip_long()
  x <- c(-1.5, -0.7, -0.2, 0.1, 0.6, 0.9, 1.8, 2.4)
  y <- c(1, 1, 2, 3, 3, 2, 3, 3)
  grid <- expand.grid(
    second = seq(-7, 9, length.out = 301), third = seq(-7, 9, length.out = 301)
  )
  log_p <- dnorm(grid$second, 0.3, 1.5, log = TRUE) +
    dnorm(grid$third, 0, 2, log = TRUE)
  for (i in seq_along(x)) {
    eta <- cbind(0, grid$second * x[[i]], grid$third * x[[i]])
    log_p <- log_p + eta[, y[[i]]] - log(rowSums(exp(eta)))
  }
  p <- exp(log_p - max(log_p)) / sum(exp(log_p - max(log_p)))
  mean <- colSums(p * grid)
  square <- colSums(p * (grid - rep(mean, each = nrow(grid)))^2)
  fit <- quietly(gibbs_categorical(
    y ~ 0 + x, data.frame(x, y = factor(y)), list(
      "2" = logistic_prior(slope_mean = 0.3, slope_sd = 1.5),
      "3" = logistic_prior(slope_sd = 2)
    ), draws = fast_or(2000, 20000), burnin = 200, seed = 1, progress = FALSE
  ))
  draws <- as.matrix(fit)[, 1:2]
  ess <- coda::effectiveSize(fit)[1:2]
  expect_lt(max(abs(colMeans(draws) - mean) / sqrt(square / ess)), 4.5)
  away <- coda::mcmc(sweep(draws, 2, mean)^2)
  se <- apply(away, 2, stats::sd) / sqrt(coda::effectiveSize(away))
  expect_lt(max(abs(colMeans(away) - square) / se), 4.5)
})

# ---- invariance and Geweke's joint test --------------------------------------

category_quantities <- function(model, state) {
  counts <- gibbsite:::category_counts(model$frame)
  b <- state$b
  c(
    b = tanh(b), square = tanh(b^2), cross = tanh(b[[1]] * b[[length(b)]]),
    share = colMeans(counts), own = tanh(b[[1]]) * counts[1, 2],
    slope = colMeans(counts[, -1] * model$frame$x[, 2]),
    u = tanh(state$u[seq_len(min(2, length(state$u)))]),
    # the first row is of the first group
    group = if (length(state$u) > 0) tanh(state$u[[1]]) * counts[1, 2],
    log_sd = if (length(state$factor) > 0) log(state$factor[[1]])
  )
}

category_joint_model <- function(formula = r ~ x + m, offset = NULL) {
  categorical_model_for(
    formula, category_example(c(4, 3, 1, 2)), offset = o,
    prior = logistic_prior(
      0.6, intercept_variance = 0.5, group_df = 4, group_scale = 0.7
    )
  )
}

category_joint_models <- function() {
  list(
    category_joint_model(), category_joint_model(r ~ x + (1 | g)),
    category_joint_model(cbind(a, b, c) ~ x + (x | g) + (1 | h))
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  expect_kept_by_sweep(category_joint_models(), category_quantities, 4000)
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  expect_joint_passes(category_joint_models(), category_quantities)
  expect_joint_finds(
    categorical_bar_mutants, category_joint_model(r ~ x + (1 | g)),
    category_quantities
  )
})
