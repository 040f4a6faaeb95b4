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
    rstantools::predictive_error(mixture)
    rstantools::predictive_error(line, at)
  })
})

test_that("a new category has no interval", {
  skip_long()
  short <- function(f, ...) {
    quietly(f(..., draws = 5, burnin = 5, chains = 1, seed = 1,
              progress = FALSE))
  }
  ordinal <- short(gibbs_ordinal, ordered(cyl) ~ wt, mtcars)
  categorical <- short(gibbs_categorical, factor(cyl) ~ wt, mtcars)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    predictive_interval(ordinal)
    predictive_interval(categorical)
    rstantools::predictive_error(ordinal)
  })
})

test_that("predictive errors are the responses less new ones", {
  short <- function(f, ...) {
    quietly(f(..., draws = 10, burnin = 5, chains = 2, seed = 1,
              progress = FALSE))
  }
  trials <- data.frame(s = c(1, 3, 5, 6), n = c(10, 10, 9, 12), x = 1:4)
  ratings <- withr::with_seed(1, sim_bmf(12, 10, rank = 2, share = 0.5))
  counts <- withr::with_seed(1, sim_pmf(12, 10))
  sets <- list(
    list(short(gibbs_lm, mpg ~ wt, mtcars), mtcars, mtcars$mpg),
    list(short(gibbs_count, count ~ spray, InsectSprays), InsectSprays,
         InsectSprays$count),
    list(short(gibbs_logistic, cbind(s, n - s) ~ x, trials), trials, trials$s,
         trials = trials$n),
    list(short(gibbs_bmf, ratings, 2), ratings, ratings$value)
  )
  for (set in sets) {
    fit <- set[[1]]
    errors <- withr::with_seed(1, rstantools::predictive_error(fit))
    drawn <- withr::with_seed(1, posterior_predict(fit))
    expect_equal(errors, rep(set[[3]], each = 20) - drawn)
    errors <- withr::with_seed(
      1, rstantools::predictive_error(fit, set[[2]][1:3, ], ndraws = 4)
    )
    new <- list(fit, set[[2]][1:3, ], ndraws = 4, trials = set$trials[1:3])
    drawn <- withr::with_seed(1, do.call(
      posterior_predict, Filter(Negate(is.null), new)
    ))
    expect_equal(errors, rep(set[[3]][1:3], each = 4) - drawn)
  }
  fit <- suppressMessages(short(gibbs_pmf, counts, 2))
  expect_identical(
    ncol(rstantools::predictive_error(fit, counts[3:1, ])), 3L
  )
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
