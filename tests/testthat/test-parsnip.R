# The engine of parsnip: against its engines for glm() and lm(). The packages
# are not in Suggests.

skip_if_not_installed("parsnip")

of_parsnip <- function(name, ...) getExportedValue("parsnip", name)(...)

cars <- transform(
  datasets::mtcars, am = factor(am, labels = c("automatic", "manual")),
  cyl = factor(cyl)
)

engine_fit <- function(model, engine, formula, ...) {
  spec <- of_parsnip("set_engine", of_parsnip(model), engine, ...)
  quietly(of_parsnip("fit", spec, formula, cars))
}

test_that("a logistic regression predicts as by glm, with a weak prior", {
  fit <- engine_fit(
    "logistic_reg", "gibbsite", am ~ qsec + drat, seed = 1, draws = 2000,
    prior = logistic_prior(slope_variance = Inf, intercept_variance = Inf)
  )
  glm <- engine_fit("logistic_reg", "glm", am ~ qsec + drat)
  own <- of_parsnip("extract_fit_engine", fit)
  expect_s3_class(own, "gibbs_logistic")
  prob <- stats::predict(fit, cars, type = "prob")
  other <- stats::predict(glm, cars, type = "prob")
  expect_s3_class(prob, "tbl_df")
  expect_identical(names(prob), names(other))
  expect_equal(
    prob[[2]], unname(predict(own, cars, type = "response"))
  )
  expect_equal(prob[[1]] + prob[[2]], rep(1, 32))
  # the posterior is wider than the estimate, and skew
  expect_gt(stats::cor(prob[[2]], other[[2]]), 0.99)
  expect_lt(max(abs(prob[[2]] - other[[2]])), 0.1)
  class <- stats::predict(fit, cars)
  expect_identical(levels(class[[1]]), levels(cars$am))
  expect_identical(names(class), ".pred_class")
  expect_identical(
    as.character(class[[1]]),
    ifelse(prob[[2]] > 0.5, "manual", "automatic")
  )
  band <- stats::predict(fit, cars, type = "conf_int", level = 0.8,
                         std_error = TRUE)
  expect_identical(
    names(band),
    names(stats::predict(glm, cars, type = "conf_int", std_error = TRUE))
  )
  exact <- predict(own, cars, type = "response", interval = "mean", level = 0.8)
  expect_equal(band$.pred_lower_manual, exact$lower)
  expect_equal(band$.pred_upper_automatic, 1 - exact$lower)
  expect_equal(band$.std_error, exact$sd)
  expect_equal(
    stats::predict(fit, cars, type = "raw"), predict(own, cars)
  )
})

test_that("a linear regression predicts as by lm, with a weak prior", {
  formula <- mpg ~ wt + cyl
  weak <- lm_prior(slope_shape = 0.01, slope_rate = 0.1, intercept_sd = Inf)
  fit <- engine_fit("linear_reg", "gibbsite", formula, seed = 1, prior = weak)
  lm <- engine_fit("linear_reg", "lm", formula)
  own <- of_parsnip("extract_fit_engine", fit)
  direct <- quietly(gibbs_lm(formula, cars, weak, seed = 1))
  expect_identical(as.matrix(own), as.matrix(direct))
  found <- stats::predict(fit, cars)
  expect_equal(found$.pred, unname(predict(own, cars)))
  expect_gt(stats::cor(found$.pred, stats::predict(lm, cars)$.pred), 0.99)
  for (type in c("conf_int", "pred_int")) {
    band <- stats::predict(fit, cars, type = type, level = 0.8)
    expect_identical(
      names(band), names(stats::predict(lm, cars, type = type))
    )
    exact <- predict(
      own, cars, interval = if (type == "conf_int") "mean" else "prediction",
      level = 0.8
    )
    expect_equal(band$.pred_lower, exact$lower)
    expect_equal(band$.pred_upper, exact$upper)
  }
})

test_that("a workflow fits, with case weights", {
  skip_if_not_installed("workflows")
  of_workflows <- function(name, ...) getExportedValue("workflows", name)(...)
  spec <- of_parsnip(
    "set_engine", of_parsnip("logistic_reg"), "gibbsite", seed = 1, draws = 50
  )
  flow <- of_workflows(
    "add_formula", of_workflows("add_model", of_workflows("workflow"), spec),
    am ~ qsec + cyl
  )
  fit <- quietly(of_parsnip("fit", flow, cars))
  direct <- quietly(gibbs_logistic(am ~ qsec + cyl, cars, seed = 1, draws = 50))
  prob <- stats::predict(fit, cars[1:4, ], type = "prob")
  expect_equal(
    prob[[2]], unname(predict(direct, cars[1:4, ], type = "response"))
  )
  twice <- getExportedValue("hardhat", "frequency_weights")(rep(2L, 32))
  weighted <- quietly(of_parsnip(
    "fit", spec, am ~ qsec, cars, case_weights = twice
  ))
  direct <- quietly(gibbs_logistic(
    am ~ qsec, cars, weights = rep(2, 32), seed = 1, draws = 50
  ))
  expect_identical(
    as.matrix(of_parsnip("extract_fit_engine", weighted)), as.matrix(direct)
  )
})
