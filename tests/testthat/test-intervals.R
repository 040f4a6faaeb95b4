# posterior_interval(), predictive_interval() and bayesplot's generics.

test_that("intervals are quantiles of the draws", {
  skip_long()
  line <- quietly(gibbs_lm(
    dist ~ speed, datasets::cars, draws = 200, burnin = 50, seed = 1,
    progress = FALSE
  ))
  draws <- as.matrix(line)
  expect_equal(
    posterior_interval(line, prob = 0.9),
    t(apply(draws, 2, quantile, c(0.05, 0.95)))
  )
  expect_identical(
    dimnames(posterior_interval(line, variables = "sigma")),
    list("sigma", c("2.5%", "97.5%"))
  )
  at <- data.frame(speed = c(5, 10, 20))
  predicted <- withr::with_seed(1, predictive_interval(line, newdata = at))
  expect_equal(
    predicted, rstantools::predictive_interval(
      withr::with_seed(1, posterior_predict(line, newdata = at)), prob = 0.95
    ), ignore_attr = TRUE
  )
  # components are numbered as in summary()
  mixture <- short_gmm(draws = 200)
  table <- summary(mixture, "mu", probs = c(0.025, 0.975))
  expect_equal(
    posterior_interval(mixture, variables = "mu"),
    as.matrix(as.data.frame(table)[c("q2.5", "q97.5")]), ignore_attr = TRUE
  )
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    posterior_interval(line, prob = 1)
    posterior_interval(line, variables = "tau")
    predictive_interval(mixture)
    predictive_interval(line, prob = "a")
  })
})

test_that("bayesplot reads convergence", {
  skip_long()
  skip_if_not_installed("bayesplot")
  mixture <- short_gmm(draws = 200)
  table <- convergence(mixture)
  expect_identical(
    bayesplot::rhat(mixture), stats::setNames(table$rhat, table$variable)
  )
  expect_equal(
    bayesplot::neff_ratio(mixture),
    stats::setNames(table$ess_bulk / 400, table$variable)
  )
  expect_s3_class(
    bayesplot::mcmc_rhat(bayesplot::rhat(mixture)), "ggplot"
  )
  walk <- quietly(mh_sample(
    function(x) -x^2 / 2, 0, draws = 50, burnin = 50, chains = 2, seed = 1,
    progress = FALSE
  ))
  values <- bayesplot::log_posterior(walk)
  expect_identical(names(values), c("Chain", "Iteration", "Value"))
  expect_identical(
    values$Value[values$Chain == 2], unname(as.matrix(walk[[2]])[, 2])
  )
  expect_gibbsite_error(
    bayesplot::log_posterior(mixture), "gibbsite_error_argument"
  )
})
