# gibbs_lm(): its data, prior, methods and errors. test-lm-exact.R has the
# sampler.

# A short fit.
lm_fit <- short_fit(quote(gibbs_lm))

weak <- lm_prior(
  slope_shape = 1e-3, slope_rate = 1e9, noise_shape = 1e-3, noise_rate = 1e-9,
  intercept_sd = 1e8
)

test_that("default calls converge on data in their own units", {
  skip_long()
  sets <- list(
    list(mpg ~ ., mtcars), list(Employed ~ ., longley),
    list(Ozone ~ Solar.R + Wind + Temp, stats::na.omit(airquality)),
    list(stack.loss ~ ., stackloss), list(Fertility ~ ., swiss)
  )
  for (set in sets) {
    for (seed in if (is_extended()) 1:10 else 1) {
      fit <- gibbs_lm(set[[1]], set[[2]], seed = seed, progress = FALSE)
      expect_true(converged(fit))
      expect_identical(niterations(fit), 1000L)
    }
  }
})

test_that("with a weak prior the posterior is that of lm()", {
  skip_long()
  for (set in list(
    list(mpg ~ wt + hp + factor(cyl), mtcars), list(Employed ~ ., longley),
    list(log(Volume) ~ log(Girth) + log(Height), trees)
  )) {
    fit <- gibbs_lm(
      set[[1]], set[[2]], prior = weak, draws = 2000, seed = 1,
      progress = FALSE
    )
    least <- stats::lm(set[[1]], set[[2]])
    se <- sqrt(diag(stats::vcov(least)))
    expect_identical(names(coef(fit)), names(stats::coef(least)))
    # t with n - p degrees of freedom: its mean, and 5 Monte Carlo errors
    df <- least$df.residual
    spread <- sqrt(df / (df - 2))
    expect_lt(
      max(abs(coef(fit) - stats::coef(least)) / se) / spread,
      5 / sqrt(8000)  * 1.5
    )
    expect_equal(
      unname(sqrt(diag(vcov(fit))) / se), rep(spread, length(se)),
      tolerance = 0.06
    )
    band <- predict(fit, interval = "mean")
    expect_equal(unname(fitted(fit)), band$mean)
    expect_equal(residuals(fit), stats::residuals(least), tolerance = 0.1)
  }
})

test_that("intervals of new responses are those of lm()", {
  fit <- gibbs_lm(
    mpg ~ wt, mtcars, prior = weak, draws = 5000, seed = 1, progress = FALSE
  )
  least <- stats::lm(mpg ~ wt, mtcars)
  new <- data.frame(wt = c(2, 3.2, 6))
  for (interval in c("mean", "prediction")) {
    theirs <- stats::predict(
      least, new,
      interval = if (interval == "mean") "confidence" else interval
    )
    ours <- predict(fit, new, interval = interval)
    width <- theirs[, "upr"] - theirs[, "lwr"]
    expect_lt(max(abs(ours$lower - theirs[, "lwr"]) / width), 0.03)
    expect_lt(max(abs(ours$upper - theirs[, "upr"]) / width), 0.03)
  }
  # quantiles of replicated responses agree
  drawn <- withr::with_seed(1, posterior_predict(fit, new))
  inside <- sweep(drawn, 2, ours$lower, ">") & sweep(drawn, 2, ours$upper, "<")
  expect_lt(max(abs(colMeans(inside) - 0.95)), 4.5 * sqrt(0.95 * 0.05 / 20000))
  # a heavier observation varies less
  heavy <- predict(
    fit, new, interval = "prediction", weights = c(1, 4, 4)
  )
  expect_identical(heavy[1, ], ours[1, ])
  expect_true(all(heavy$sd[2:3] < ours$sd[2:3]))
})

test_that("noiseless responses and a large level lose no digits", {
  data <- withr::with_seed(1, data.frame(x = stats::rnorm(30)))
  data$y <- 1e6 + 3 * data$x
  model <- lm_model_for(y ~ x, data)
  expect_lt(model$data$rss, 1e-15)
  fit <- gibbs_lm(y ~ x, data, seed = 1, progress = FALSE)
  expect_true(converged(fit))
  expect_equal(coef(fit), c("(Intercept)" = 1e6, x = 3), tolerance = 1e-3)
  # the noise is what the prior allows
  expect_lt(sigma(fit), 0.1)
})

test_that("weights of 0 leave rows out, and whole weights repeat none", {
  v <- rep(c(1, 2, 0, 3), 8)
  fit <- lm_fit(mpg ~ wt, mtcars, weights = v)
  kept <- lm_fit(mpg ~ wt, mtcars[v > 0, ], weights = v[v > 0])
  expect_identical(nobs(fit), 24L)
  expect_equal(as.matrix(fit), as.matrix(kept), tolerance = 1e-8)
  expect_identical(dim(log_lik(fit)), c(400L, 24L))
  expect_length(fitted(fit), 32L)
})

test_that("new data need the offset argument beside one in the formula", {
  skip_long()
  new <- mtcars[3:5, ]
  fits <- list(
    lm_fit(mpg ~ wt + offset(hp / 100), mtcars, offset = qsec),
    quietly(gibbs_hlm(
      mpg ~ wt + offset(hp / 100) + (1 | cyl), mtcars, offset = qsec,
      draws = 20, burnin = 20, seed = 1, progress = FALSE
    )),
    quietly(gibbs_logistic(
      am ~ wt + offset(hp / 100), mtcars, offset = qsec, draws = 20,
      burnin = 20, seed = 1, progress = FALSE
    ))
  )
  for (fit in fits) {
    expect_error(predict(fit, new), class = "gibbsite_error_argument")
    expect_equal(predict(fit, new, offset = new$qsec), predict(fit)[3:5])
  }
})

test_that("an offset and the matrix interface give the same draws", {
  skip_long()
  fit <- lm_fit(mpg ~ wt + offset(hp / 100), mtcars)
  x <- cbind("(Intercept)" = 1, wt = mtcars$wt)
  same <- quietly(gibbs_lm(
    x, mtcars$mpg, offset = mtcars$hp / 100, draws = 200, burnin = 100,
    chains = 2, seed = 1, progress = FALSE
  ))
  expect_identical(as.matrix(fit), as.matrix(same))
  sparse <- quietly(gibbs_lm(
    Matrix::Matrix(x, sparse = TRUE), mtcars$mpg, offset = mtcars$hp / 100,
    draws = 200, burnin = 100, chains = 2, seed = 1, progress = FALSE
  ))
  expect_identical(as.matrix(fit), as.matrix(sparse))
  new <- data.frame(wt = 3, hp = c(100, 200))
  expect_equal(unname(diff(predict(fit, new))), 1)
  expect_equal(
    unname(predict(same, cbind(1, 3), offset = 1)), unname(predict(fit, new)[1])
  )
})

test_that("missing responses are drawn, and change nothing else", {
  skip_long()
  data <- airquality[1:40, ]
  fit <- lm_fit(
    Ozone ~ Wind + Temp, data, na_action = "impute", keep = "y",
    prior = lm_prior(noise_shape = 5, noise_rate = 2000), draws = 2000
  )
  missing <- which(is.na(data$Ozone))
  expect_identical(
    grep("^y", variables(fit), value = TRUE), paste0("y[", missing, "]")
  )
  band <- predict(fit, interval = "prediction")[missing, ]
  draws <- as.matrix(fit)[, paste0("y[", missing, "]")]
  z <- z_of_means(draws, band$mean)
  expect_lt(max(abs(z)), 4.5)
  expect_equal(unname(apply(draws, 2, stats::sd)), band$sd, tolerance = 0.1)
  expect_identical(nobs(fit), sum(!is.na(data$Ozone)))
  expect_true(all(is.na(residuals(fit)[missing])))
  # without the draws of y the parameters are those of the observed rows
  impute <- lm_fit(Ozone ~ Wind + Temp, data, na_action = "impute")
  omit <- suppressMessages(lm_fit(
    Ozone ~ Wind + Temp, data, na_action = "omit"
  ))
  expect_equal(as.matrix(impute), as.matrix(omit), tolerance = 1e-8)
  expect_length(fitted(impute), 40)
})

test_that("runs in pieces, thinned and extended have the same bits", {
  skip_long()
  data <- lm_example(8, 12)
  priors <- list(lm_prior(), lm_prior("nig"), lm_prior("horseshoe"))
  for (prior in priors[fast_or(c(1, 3), 1:3)]) {
    run <- function(draws, thin = 1) {
      quietly(gibbs_lm(
        y ~ . - g - v - o, data, prior = prior, draws = draws, burnin = 10,
        thin = thin, chains = 2, seed = 1, progress = FALSE
      ))
    }
    whole <- run(60)
    expect_true(identical_fit(longer(run(25), 35), whole))
    thinned <- run(20, thin = 3)
    expect_identical(
      as.array(thinned)[, , ], as.array(whole)[3 * (1:20), , ]
    )
    withr::local_options(gibbsite.segment_seconds = 1e-9)
    expect_true(identical_fit(run(60), whole))
    withr::local_options(gibbsite.segment_seconds = 0.25)
  }
})

test_that("the horseshoe finds the few slopes that matter", {
  skip_unless_extended()
  w <- c(3, -2, 2, rep(0, 47))
  data <- withr::with_seed(1, sim_lm(40, w))
  for (seed in seq_len(10)) {
    fit <- gibbs_lm(
      y ~ ., data, prior = lm_prior("horseshoe"), seed = seed, progress = FALSE
    ) |> quietly()
    expect_true(converged(fit))
    interval <- confint(fit)[-1, ]
    expect_identical(
      which(interval[, 1] > 0 | interval[, 2] < 0), c(x1 = 1L, x2 = 2L, x3 = 3L)
    )
    inside <- interval[, 1] < w & w < interval[, 2]
    expect_gte(mean(inside), 0.9)
  }
})

test_that("a fit with the horseshoe stores tau, and starts where it is told", {
  skip_long()
  prior <- lm_prior("horseshoe", tau = 0.2)
  fit <- lm_fit(mpg ~ wt + hp, mtcars, prior = prior)
  expect_identical(
    variables(fit), c("(Intercept)", "wt", "hp", "sigma", "tau", "log_lik")
  )
  start <- rep(list(list(tau = 0.5, sigma = 2)), 2)
  again <- lm_fit(mpg ~ wt + hp, mtcars, prior = prior, inits = start)
  expect_true(all(is.finite(as.matrix(again))))
  # a column may have that name with another prior
  named <- lm_fit(mpg ~ tau, transform(mtcars, tau = wt))
  expect_true("tau" %in% variables(named))
})

test_that("the sweeps of the horseshoe read the sums of products once made", {
  model <- lm_model_for(mpg ~ wt + hp, mtcars, prior = lm_prior("horseshoe"))
  data <- model$data
  own <- data$vectors %*% (data$eigenvalue * t(data$vectors))
  expect_equal(model$gram, own, tolerance = 1e-14)
  sweeps <- function(model) {
    state <- withr::with_seed(1, gibbsite:::model_start(model, NULL))
    control <- list(burnin = 0L, thin = 1L, threads = 1L)
    withr::with_seed(
      2, gibbsite:::model_sweeps(model, state, 3, control)
    )$draws
  }
  # a fit of an earlier version does not hold them
  before <- model
  before$gram <- NULL
  expect_identical(sweeps(before), sweeps(model))
  model$gram <- 2 * model$gram
  expect_false(identical(sweeps(before), sweeps(model)))
  # with fewer rows than slopes they are not used
  wide <- lm_model_for(
    mpg ~ ., mtcars[1:5, ], prior = lm_prior("horseshoe")
  )
  expect_null(wide$gram)
})

test_that("a fit without its data can be extended and predicts new rows", {
  skip_long()
  fit <- lm_fit(mpg ~ wt, mtcars, keep_data = FALSE)
  full <- lm_fit(mpg ~ wt, mtcars)
  new <- data.frame(wt = 3)
  expect_identical(predict(fit, new), predict(full, new))
  expect_error(fitted(fit), class = "gibbsite_error")
  expect_identical(
    as.matrix(longer(fit, 20)), as.matrix(longer(full, 20))
  )
})

test_that("collinear, constant and many predictors keep the posterior proper", {
  skip_long()
  data <- transform(mtcars, twice = 2 * wt, one = 1)
  fit <- lm_fit(mpg ~ wt + twice, data)
  expect_equal(ncol(gibbsite:::fit_part(fit, "model")$data$vectors), 1L)
  expect_message(
    constant <- lm_fit(mpg ~ wt + one, data),
    class = "gibbsite_message_constant"
  )
  expect_gt(stats::sd(as.matrix(constant)[, "one"]), 1)
  wide <- withr::with_seed(1, matrix(stats::rnorm(20 * 60), 20))
  y <- wide[, 1] + withr::with_seed(2, stats::rnorm(20))
  fit <- gibbs_lm(wide, y, seed = 1, progress = FALSE)
  expect_true(converged(fit))
})

test_that("checks of fits: loo, waic, R2, draws of predictions", {
  fit <- lm_fit(mpg ~ wt + hp, mtcars)
  draws <- as.matrix(fit)
  expect_equal(
    rowSums(log_lik(fit)), unname(draws[, "log_lik"]), tolerance = 1e-8
  )
  expect_equal(
    posterior_epred(fit)[[7, 3]],
    sum(draws[7, 1:3] * c(1, mtcars$wt[[3]], mtcars$hp[[3]]))
  )
  expect_identical(posterior_linpred(fit), posterior_epred(fit))
  r2 <- bayes_R2(fit)
  expect_true(all(r2 > 0 & r2 < 1))
  expect_equal(
    log_lik(fit, newdata = mtcars[1:3, ]), log_lik(fit)[, 1:3]
  )
  expect_s3_class(suppressWarnings(loo::loo(fit)), "loo")
  expect_s3_class(suppressWarnings(loo::waic(fit)), "waic")
})

test_that("update(), formula(), tidy() and plots work", {
  skip_long()
  fit <- lm_fit(mpg ~ wt, mtcars)
  expect_identical(formula(fit), mpg ~ wt)
  more <- gibbs_lm(
    mpg ~ wt, datasets::mtcars, draws = 50, burnin = 50, chains = 2, seed = 1,
    progress = FALSE
  ) |> quietly()
  more <- quietly(update(more, . ~ . + hp))
  expect_identical(names(coef(more)), c("(Intercept)", "wt", "hp"))
  expect_identical(tidy(fit)$term, variables(fit))
  expect_identical(
    rownames(confint(fit, "wt", level = 0.9)), "wt"
  )
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_identical(plot(fit), fit)
  expect_identical(plot(more), more)
  expect_identical(plot(more, type = "response", variable = "hp"), more)
  expect_identical(plot(more, type = "trace"), more)
  factors <- lm_fit(mpg ~ factor(cyl) + wt, mtcars)
  expect_identical(plot(factors, level = 0.8), factors)
})

test_that("sim_lm() and its fit agree", {
  data <- withr::with_seed(1, sim_lm(2000, c(1, -2), 0.5, 3))
  expect_identical(names(data), c("y", "x1", "x2"))
  fit <- gibbs_lm(y ~ ., data, seed = 1, progress = FALSE)
  draws <- as.matrix(fit)[, c("(Intercept)", "x1", "x2", "sigma")]
  z <- (colMeans(draws) - c(3, 1, -2, 0.5)) / apply(draws, 2, stats::sd)
  expect_lt(max(abs(z)), 4)
})

test_that("starting values are checked and used", {
  fit <- lm_fit(
    mpg ~ wt, mtcars, inits = rep(list(list(sigma = 2, lambda = 1)), 2)
  )
  again <- lm_fit(mpg ~ wt, mtcars, inits = fit)
  expect_s3_class(again, "gibbs_lm")
})

test_that("mistakes in the arguments are named", {
  skip_long()
  x <- as.matrix(mtcars[c("wt", "hp")])
  holes <- mtcars
  holes$mpg[[3]] <- NA
  expect_gibbsite_error({
    gibbs_lm()
    gibbs_lm(mpg ~ nothing, mtcars)
    gibbs_lm(mpg ~ wt, mtcars, lambda = 3)
    gibbs_lm(~wt, mtcars)
    gibbs_lm(Species ~ Sepal.Width, iris)
    gibbs_lm(cbind(mpg, hp) ~ wt, mtcars)
    gibbs_lm(mpg ~ wt + (1 | cyl), mtcars)
    gibbs_lm(mpg ~ wt, holes)
    gibbs_lm(mpg ~ wt, holes, na_action = "guess")
    gibbs_lm(x, holes$mpg)
    gibbs_lm(x)
    gibbs_lm(x, mtcars$mpg[-1])
    gibbs_lm(x, c(Inf, mtcars$mpg[-1]))
    gibbs_lm(mpg ~ 0, mtcars)
    gibbs_lm(mpg ~ wt, mtcars, weights = -wt)
    gibbs_lm(mpg ~ wt, mtcars, prior = gmm_prior())
    gibbs_lm(mpg ~ wt, mtcars, prior = lm_prior(scale = 1:3))
    gibbs_lm(mpg ~ sigma, transform(mtcars, sigma = wt))
    gibbs_lm(mpg ~ wt, mtcars, inits = rep(list(list(sigma = -1)), 4))
    gibbs_lm(mpg ~ wt, mtcars, inits = rep(list(list(beta = 1)), 4))
    gibbs_lm(I(1e200 * mpg) ~ wt, mtcars)
    lm_prior(slope_shape = 0)
    lm_prior("nig", slope_shape = 1)
    lm_prior(lambda = 1)
    lm_prior("horseshoe", lambda = 1)
    lm_prior("horseshoe", tau = 0)
    gibbs_lm(mpg ~ tau, transform(mtcars, tau = wt),
             prior = lm_prior("horseshoe"))
    sim_lm(0, 1)
  })
  fit <- lm_fit(mpg ~ wt, mtcars)
  expect_gibbsite_error({
    predict(fit, data.frame(hp = 1))
    predict(fit, type = "class")
    predict(fit, interval = TRUE)
    predict(fit, type = "link", interval = "prediction")
    predict(fit, weights = 2)
    log_lik(fit, newdata = data.frame(wt = 1))
    confint(fit, "hp")
    plot(fit, type = "response", variable = "hp")
  })
})

test_that("a fit prints its model and prior", {
  skip_long()
  fit <- lm_fit(mpg ~ wt, mtcars, draws = 500)
  expect_snapshot(print(prior_summary(fit)))
  expect_snapshot(print(lm_prior("nig", lambda = 0.5)))
  expect_snapshot(print(lm_prior("horseshoe", tau = 0.1)))
  expect_identical(
    gibbsite:::model_labels(gibbsite:::fit_part(fit, "model"))$label,
    c("intercept", "slope of wt", "standard deviation of an observation",
      "precision of the slopes", "log-likelihood")
  )
})

test_that("rows left out by \"exclude\" are NA in predictions with intervals", {
  fit <- quietly(gibbs_lm(
    Ozone ~ Wind, airquality[1:40, ], na_action = "exclude", draws = 200,
    burnin = 100, chains = 2, seed = 1, progress = FALSE
  ))
  gone <- which(is.na(airquality$Ozone[1:40]))
  whole <- predict(fit, interval = "mean")
  expect_identical(row.names(whole), row.names(airquality)[1:40])
  expect_identical(which(is.na(whole$mean)), gone)
  expect_identical(whole$mean, unname(predict(fit)))
  kept <- augment(fit)
  expect_identical(nrow(kept), 40L - length(gone))
  all <- augment(fit, airquality[1:40, ])
  expect_identical(all$.fitted, whole$mean)
  expect_equal(all$.resid, all$Ozone - all$.fitted)
})

test_that("simulated responses have the distribution of new responses", {
  skip_long()
  fit <- lm_fit(mpg ~ wt, mtcars, draws = 1000)
  n <- fast_or(500, 2000)
  sets <- simulate(fit, n, seed = 2)
  expect_identical(sets, simulate(fit, n, seed = 2))
  expect_identical(dim(sets), c(32L, as.integer(n)))
  new <- predict(fit, interval = "prediction")
  inside <- rowMeans(sets > new$lower & sets < new$upper)
  expect_lt(max(abs(inside - 0.95)), 5 * sqrt(0.95 * 0.05 / n))
  expect_gibbsite_error({
    simulate(fit, 0)
    augment(fit, data = mtcars[1:3, ])
    augment(fit, conf.level = 2)
  })
})

test_that("the prior of a model without slopes can be given again", {
  skip_long()
  run <- function(fit, formula, data, ...) {
    suppressWarnings(fit(
      formula, data, ..., draws = 20, burnin = 20, chains = 1, seed = 1,
      progress = FALSE
    ))
  }
  same <- function(...) {
    first <- run(...)
    again <- run(..., prior = prior_summary(first))
    expect_identical(as.matrix(first), as.matrix(again))
  }
  same(gibbs_lm, mpg ~ 1, mtcars)
  same(gibbs_hlm, weight ~ 1 + (1 | Chick), ChickWeight)
  same(gibbs_logistic, am ~ 1, mtcars)
  none <- prior_summary(run(gibbs_lm, mpg ~ 1, mtcars))
  expect_error(
    run(gibbs_lm, mpg ~ wt, mtcars, prior = none), "length 1, not 0"
  )
})

test_that("a time series is a response", {
  skip_long()
  fit <- function(y) {
    gibbs_lm(y ~ x, draws = 20, burnin = 5, chains = 1, seed = 1,
             progress = FALSE) |> quietly()
  }
  x <- as.vector(time(nhtemp))
  expect_identical(
    unclass(fit(nhtemp))[[1]], unclass(fit(as.vector(nhtemp)))[[1]]
  )
  new <- data.frame(x = 1972)
  expect_identical(
    predict(fit(nhtemp), new), predict(fit(as.vector(nhtemp)), new)
  )
  warm <- as.vector(nhtemp > 51) + 0
  logistic <- function(y) {
    gibbs_logistic(y ~ x, draws = 5, burnin = 5, chains = 1, seed = 1,
                   progress = FALSE) |> quietly()
  }
  expect_identical(
    unclass(logistic(stats::ts(warm)))[[1]], unclass(logistic(warm))[[1]]
  )
})

test_that("a summary says what the parameters of the prior are", {
  fit <- lm_fit(mpg ~ wt, mtcars)
  expect_match(
    paste(capture.output(print(summary(fit))), collapse = "\n"),
    "lambda: precision of the slopes' common normal prior"
  )
  expect_no_match(
    capture.output(print(summary(fit, variables = "wt"))), "common"
  )
})
