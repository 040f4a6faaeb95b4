# gibbs_logistic(): its data, methods and errors. test-logistic-gibbs-exact.R
# has the sampler.

# A short fit.
logit_fit <- short_fit(quote(gibbs_logistic))

budworm <- data.frame(
  dose = rep(0:5, 2), sex = factor(rep(c("male", "female"), each = 6)),
  dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
)

test_that("default calls converge, also where data are separated or few", {
  skip_long()
  sets <- list(
    list(type ~ ., MASS::Pima.tr), list(am ~ wt + hp, mtcars),
    list(cbind(dead, 20 - dead) ~ sex + dose, budworm),
    list(I(Species == "setosa") ~ Petal.Length, iris),
    list(type ~ ., MASS::Pima.tr[1:12, ]), list(low ~ age + lwt + smoke,
                                               MASS::birthwt)
  )
  for (i in seq_along(sets)) {
    set <- sets[[i]]
    links <- c("logit", "probit")
    for (link in links[fast_or(1 + i %% 2, 1:2)]) {
      for (seed in if (is_extended()) 1:10 else 1) {
        fit <- gibbs_logistic(
          set[[1]], set[[2]], link = link, seed = seed, progress = FALSE
        )
        expect_true(converged(fit))
      }
    }
  }
})

test_that("rare successes and many trials do not slow the chains", {
  skip_unless_extended()
  rare <- withr::with_seed(1, {
    x <- stats::rnorm(3000)
    data.frame(x = x, y = stats::rbinom(3000, 1, stats::plogis(-6 + x / 2)))
  })
  fit <- quietly(gibbs_logistic(
    y ~ x, rare, draws = 500, seed = 1, progress = FALSE
  ))
  expect_gt(min(convergence(fit)$ess_bulk), 300)
  # as the augmentation alone would
  model <- gibbsite:::fit_part(fit, "model")
  model$data$map <- model$data$map + 1e4
  alone <- withr::with_seed(1, {
    control <- list(burnin = 0, thin = 1, threads = 1)
    gibbsite:::model_sweeps(
      model, gibbsite:::model_start(model, NULL), 2000, control
    )
  })
  expect_lt(posterior::ess_bulk(alone$draws[, 1]), 100)
  many <- data.frame(x = 1:4, s = c(1, 3, 4, 8) * 100)
  fit <- gibbs_logistic(
    cbind(s, 1000 - s) ~ x, many, draws = 500, seed = 1, progress = FALSE
  )
  expect_gt(min(convergence(fit)$ess_bulk), 1000)
})

test_that("without a prior the posterior is centred near glm()'s estimate", {
  skip_long()
  data <- withr::with_seed(1, {
    x <- stats::rnorm(2000)
    data.frame(x = x, y = stats::rbinom(2000, 1, stats::plogis(x - 0.5)))
  })
  fit <- gibbs_logistic(
    y ~ x, data, prior = logistic_prior(Inf, Inf), draws = 2000, seed = 1,
    progress = FALSE
  )
  by_glm <- stats::glm(y ~ x, stats::binomial(), data)
  se <- sqrt(diag(stats::vcov(by_glm)))
  expect_identical(names(coef(fit)), names(stats::coef(by_glm)))
  expect_lt(max(abs(coef(fit) - stats::coef(by_glm)) / se), 0.15)
  expect_equal(sqrt(diag(vcov(fit))), se, tolerance = 0.06)
  expect_equal(confint(fit), confint(fit, 1:2))
  expect_identical(colnames(confint(fit, "x", level = 0.9)), c("5 %", "95 %"))
})

test_that("weights count observations, and those of 0 none", {
  v <- rep(c(1, 2, 0, 3), 8)
  fit <- logit_fit(am ~ wt, mtcars, weights = v, draws = 3000)
  repeated <- mtcars[rep(seq_len(32), v), ]
  again <- logit_fit(
    am ~ wt, repeated, draws = 3000, prior = prior_summary(fit), seed = 2
  )
  expect_identical(nobs(fit), 24L)
  a <- as.array(fit)
  b <- as.array(again)
  for (j in 1:2) {
    error <- sqrt(
      posterior::mcse_mean(a[, , j])^2 + posterior::mcse_mean(b[, , j])^2
    )
    expect_lt(abs(mean(a[, , j]) - mean(b[, , j])) / error, 4.5)
  }
})

test_that("interfaces give the same draws", {
  skip_long()
  fit <- logit_fit(am ~ wt + offset(hp / 100), mtcars)
  x <- cbind("(Intercept)" = 1, wt = mtcars$wt)
  same <- logit_fit(x, mtcars$am, offset = mtcars$hp / 100)
  expect_identical(as.matrix(fit), as.matrix(same))
  counts <- logit_fit(
    cbind(am, 1 - am) ~ wt, mtcars, offset = hp / 100
  )
  expect_identical(as.matrix(fit), as.matrix(counts))
  sparse <- logit_fit(
    Matrix::Matrix(x, sparse = TRUE), mtcars$am, offset = mtcars$hp / 100
  )
  expect_equal(as.matrix(fit), as.matrix(sparse), tolerance = 1e-8)
  named <- logit_fit(data = mtcars, formula = am ~ wt, offset = hp / 100)
  expect_identical(as.matrix(fit), as.matrix(named))
  new <- data.frame(wt = 3, hp = c(100, 200))
  expect_equal(unname(diff(predict(fit, new))), 1)
})

test_that("the mode and the prior are those of laplace_logistic()", {
  fit <- logit_fit(type ~ ., MASS::Pima.tr)
  near <- laplace_logistic(type ~ ., MASS::Pima.tr, seed = 1, progress = FALSE)
  expect_identical(prior_summary(fit), prior_summary(near))
  model <- gibbsite:::fit_part(fit, "model")
  expect_identical(model$data$map, unname(coef(near)))
})

test_that("a completed prior of the intercept alone stays as it is", {
  prior <- logistic_prior(intercept_variance = 2)
  fit <- logit_fit(am ~ 1, mtcars, prior = prior)
  again <- logit_fit(am ~ 1, mtcars, prior = prior_summary(fit))
  expect_identical(prior_summary(again), prior_summary(fit))
  expect_identical(as.matrix(again), as.matrix(fit))
})

test_that("runs in pieces, thinned and extended have the same bits", {
  skip_long()
  run <- function(draws, thin = 1) {
    quietly(gibbs_logistic(
      am ~ wt, mtcars, draws = draws, burnin = 70, thin = thin, chains = 2,
      seed = 1, progress = FALSE
    ))
  }
  whole <- run(60)
  expect_true(identical_fit(longer(run(25), 35), whole))
  thinned <- run(20, thin = 3)
  expect_identical(as.array(thinned)[, , ], as.array(whole)[3 * (1:20), , ])
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  expect_true(identical_fit(run(60), whole))
})

test_that("a fit without its data predicts, and is extended with them", {
  skip_long()
  full <- logit_fit(type ~ glu + bmi, MASS::Pima.tr)
  fit <- logit_fit(type ~ glu + bmi, MASS::Pima.tr, keep_data = FALSE)
  model <- gibbsite:::fit_part(fit, "model")
  expect_null(model$data)
  expect_null(model$frame)
  new <- MASS::Pima.te[1:3, ]
  expect_identical(
    predict(fit, new, type = "response"), predict(full, new, type = "response")
  )
  data <- list(x = model.matrix(full), y = MASS::Pima.tr$type)
  expect_identical(
    as.matrix(longer(fit, 20, data = data)), as.matrix(longer(full, 20))
  )
  expect_identical(
    as.matrix(longer(full, 20, data = data)), as.matrix(longer(full, 20))
  )
  # columns in another order, and rows that were left out
  expect_identical(
    as.matrix(longer(fit, 20, data = list(x = data$x[, 3:1], y = data$y))),
    as.matrix(longer(full, 20))
  )
  holes <- data$x
  holes[2, 3] <- NA
  suppressMessages({
    left_out <- logit_fit(holes, data$y, na_action = "omit", keep_data = FALSE)
    more <- longer(left_out, 20, data = list(x = holes, y = data$y))
  })
  whole <- longer(suppressMessages(
    logit_fit(holes, data$y, na_action = "omit")
  ), 20)
  expect_identical(as.matrix(more), as.matrix(whole))
  expect_gibbsite_error({
    fitted(fit)
    extend(fit, 20)
    extend(fit, 20, data = MASS::Pima.tr)
    extend(fit, 20, data = list(x = data$x[, 1:2], y = data$y))
    extend(fit, 20, data = list(x = data$x, y = rev(data$y)))
  })
})

test_that("missing values are left out, or an error", {
  skip_long()
  holes <- transform(mtcars, wt = replace(wt, 3, NA), am = replace(am, 5, NA))
  omit <- logit_fit(am ~ wt, holes, na_action = "omit")
  exclude <- logit_fit(am ~ wt, holes, na_action = stats::na.exclude)
  kept <- logit_fit(am ~ wt, mtcars[-c(3, 5), ])
  expect_identical(as.matrix(omit), as.matrix(kept))
  expect_identical(as.matrix(exclude), as.matrix(kept))
  expect_length(fitted(omit), 30L)
  expect_identical(which(is.na(unname(fitted(exclude)))), c(3L, 5L))
})

test_that("predictions and fitted values are means over the draws", {
  skip_long()
  fit <- logit_fit(am ~ wt + qsec, mtcars)
  w <- as.matrix(fit)
  new <- data.frame(wt = c(2, 3), qsec = 18)
  eta <- w %*% t(cbind(1, new$wt, new$qsec))
  band <- predict(fit, new, type = "response", interval = "mean")
  expect_equal(band$mean, colMeans(stats::plogis(eta)))
  expect_equal(band$sd, apply(stats::plogis(eta), 2, stats::sd))
  expect_equal(
    band$upper, unname(apply(stats::plogis(eta), 2, stats::quantile, 0.975))
  )
  expect_equal(unname(predict(fit, new)), colMeans(eta))
  expect_equal(unname(posterior_linpred(fit, newdata = new)), unname(eta))
  expect_identical(
    unname(predict(fit, new, type = "class")), as.numeric(band$mean > 0.5)
  )
  expect_equal(unname(fitted(fit)), unname(colMeans(posterior_epred(fit))))
  expect_equal(
    unname(residuals(fit, "response")), mtcars$am - unname(fitted(fit))
  )
  expect_identical(dim(posterior_predict(fit)), c(400L, 32L))
  expect_equal(log_lik(fit, newdata = mtcars[1:3, ]), log_lik(fit)[, 1:3])
  expect_equal(
    unname(log_lik(fit)[5, ]),
    stats::dbinom(
      mtcars$am, 1, unname(posterior_epred(fit)[5, ]), log = TRUE
    )
  )
  r2 <- bayes_R2(fit)
  expect_true(all(r2 > 0 & r2 < 1))
  expect_identical(dim(simulate(fit, 2, seed = 1)), c(32L, 2L))
  expect_identical(family(fit), stats::binomial())
  expect_identical(dim(augment(fit)), c(32L, 8L))
  expect_s3_class(suppressWarnings(loo::loo(fit)), "loo")
  expect_s3_class(suppressWarnings(loo::waic(fit)), "waic")
})

test_that("methods of a probit regression use its link", {
  skip_long()
  fit <- logit_fit(am ~ wt + qsec, mtcars, link = "probit")
  expect_identical(family(fit), stats::binomial("probit"))
  expect_match(capture.output(print(fit)), "Probit regression", all = FALSE)
  expect_match(
    capture.output(print(prior_summary(fit))), "Bernoulli(Phi(", fixed = TRUE,
    all = FALSE
  )
  w <- as.matrix(fit)
  new <- data.frame(wt = c(2, 3), qsec = 18)
  eta <- w %*% t(cbind(1, new$wt, new$qsec))
  share <- stats::pnorm(eta)
  band <- predict(fit, new, type = "response", interval = "mean")
  expect_equal(band$mean, colMeans(share))
  expect_equal(band$lower, unname(apply(share, 2, stats::quantile, 0.025)))
  expect_equal(unname(predict(fit, new)), colMeans(eta))
  expect_equal(unname(posterior_epred(fit, newdata = new)), unname(share))
  expect_equal(
    posterior_linpred(fit, transform = TRUE, newdata = new),
    posterior_epred(fit, newdata = new)
  )
  own <- unname(posterior_epred(fit))
  expect_equal(unname(fitted(fit)), colMeans(own))
  expect_equal(unname(residuals(fit, "response")), mtcars$am - colMeans(own))
  expect_equal(augment(fit)$.fitted, colMeans(own))
  expect_equal(
    unname(log_lik(fit)[5, ]),
    stats::dbinom(mtcars$am, 1, own[5, ], log = TRUE)
  )
  expect_equal(log_lik(fit, newdata = mtcars[1:3, ]), log_lik(fit)[, 1:3])
  explained <- apply(own, 1, stats::var)
  expect_equal(
    bayes_R2(fit), explained / (explained + rowMeans(own * (1 - own)))
  )
  expect_lt(
    abs(mean(as.matrix(simulate(fit, 400, seed = 1))) - mean(own)), 0.02
  )
  expect_lt(abs(mean(posterior_predict(fit)) - mean(own)), 0.02)
  more <- quietly(update(fit, . ~ wt))
  expect_identical(family(more)$link, "probit")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (type in c("coefficients", "response", "calibration")) {
    expect_identical(plot(fit, type = type), fit)
  }
})

test_that("a probit regression far from normal is extended to the same bits", {
  skip_long()
  set <- MASS::Pima.tr[1:12, ]
  run <- function(draws, ...) {
    quietly(gibbs_logistic(
      type ~ ., set, link = "probit", draws = draws, burnin = 80, chains = 2,
      seed = 1, progress = FALSE, ...
    ))
  }
  whole <- run(60)
  # Hamiltonian steps are taken
  chains <- gibbsite:::fit_part(whole, "chains")
  expect_true(all(vapply(chains, function(k) k$state$leap != 0.5, NA)))
  expect_true(identical_fit(longer(run(25), 35), whole))
  bare <- run(25, keep_data = FALSE)
  expect_identical(family(bare)$link, "probit")
  expect_equal(
    predict(bare, set[1:2, ], type = "response"),
    predict(run(25), set[1:2, ], type = "response")
  )
  data <- list(x = model.matrix(whole), y = set$type)
  expect_identical(
    as.matrix(longer(bare, 35, data = data)), as.matrix(whole)
  )
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  expect_true(identical_fit(run(60), whole))
})

test_that("many coefficients and few observations do not slow the chains", {
  skip_long()
  wide <- withr::with_seed(1, {
    x <- matrix(stats::rnorm(200 * 50), 200)
    eta <- drop(x %*% stats::rnorm(50, sd = 0.2)) - 0.5
    data.frame(y = stats::rbinom(200, 1, stats::pnorm(eta)), x)
  })
  for (link in fast_or("logit", c("logit", "probit"))) {
    fit <- quietly(gibbs_logistic(
      y ~ ., wide, link = link, draws = 400, burnin = 400, chains = 2, seed = 1,
      progress = FALSE
    ))
    expect_gt(min(convergence(fit)$ess_bulk), 250)
  }
})

test_that("acceptance(), update(), tidy() and plots work", {
  skip_long()
  fit <- logit_fit(am ~ wt, datasets::mtcars)
  expect_identical(acceptance(fit)$steps, c(200, 200))
  expect_true(all(acceptance(fit)$rate > 0.3))
  more <- quietly(update(fit, . ~ . + qsec))
  expect_identical(names(coef(more)), c("(Intercept)", "wt", "qsec"))
  expect_identical(formula(more), am ~ wt + qsec)
  expect_identical(
    tidy(more)$label, c("intercept", "slope of wt", "slope of qsec")
  )
  expect_identical(glance(more)$model, "gibbs_logistic")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (type in c("coefficients", "response", "calibration", "trace")) {
    expect_identical(plot(more, type = type), more)
  }
  expect_identical(
    plot(more, "coefficients", variables = "wt", level = 0.8), more
  )
  counts <- logit_fit(cbind(dead, 20 - dead) ~ sex + dose, budworm)
  expect_identical(
    plot(counts, type = "response", variable = "dose"), counts
  )
  expect_identical(plot(counts, type = "response", variable = "sex"), counts)
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::pp_check(more), "ggplot")
})

test_that("starting values are checked and used", {
  start <- list(coefficients = c(1, 2))
  fit <- logit_fit(am ~ wt, mtcars, inits = list(start, start))
  model <- gibbsite:::fit_part(fit, "model")
  expect_identical(gibbsite:::model_start(model, start)$w, c(1, 2))
  again <- logit_fit(am ~ wt, mtcars, inits = fit)
  expect_s3_class(again, "gibbs_logistic")
})

test_that("mistakes in the arguments are named", {
  skip_long()
  x <- as.matrix(mtcars[c("wt", "hp")])
  holes <- mtcars
  holes$wt[[3]] <- NA
  flat <- logistic_prior(Inf, Inf)
  expect_gibbsite_error({
    gibbs_logistic()
    gibbs_logistic(am ~ nothing, mtcars)
    gibbs_logistic(am ~ wt, mtcars, link = "cloglog")
    gibbs_logistic(x, mtcars$am, link = 1)
    gibbs_logistic(~wt, mtcars)
    gibbs_logistic(Species ~ Sepal.Width, iris)
    gibbs_logistic(
      am ~ wt + (1 | cyl), mtcars, logistic_prior(slope_variance = Inf)
    )
    gibbs_logistic(
      am ~ wt + (1 | cyl), mtcars, logistic_prior(group_scale = c(1, 2))
    )
    gibbs_logistic(am ~ wt, holes)
    gibbs_logistic(am ~ wt, mtcars, na_action = "impute")
    gibbs_logistic(x)
    gibbs_logistic(x, mtcars$am[-1])
    gibbs_logistic(x, mtcars$mpg)
    gibbs_logistic(am ~ 0, mtcars)
    gibbs_logistic(am ~ wt, mtcars, weights = -wt)
    gibbs_logistic(am ~ wt, mtcars, prior = lm_prior())
    gibbs_logistic(I(wt > 3) ~ wt, mtcars, prior = flat)
    gibbs_logistic(am ~ wt + I(2 * wt), mtcars, prior = flat)
    gibbs_logistic(am ~ wt, mtcars, inits = rep(list(list(w = 1)), 4))
    gibbs_logistic(
      am ~ wt, mtcars, inits = rep(list(list(coefficients = 1)), 4)
    )
  })
})

test_that("a fit prints its model", {
  fit <- logit_fit(am ~ wt, datasets::mtcars, draws = 1000)
  shown <- capture.output(print(fit))
  expect_identical(
    shown[[1]],
    "<gibbs_logistic> Logistic regression: 2 coefficients, 32 observations"
  )
  expect_match(shown, "Acceptance of the independence steps 0", all = FALSE)
})

test_that("proportions with weights and texts are counts and factors", {
  skip_long()
  data <- data.frame(
    dose = rep(0:5, 2), sex = rep(c("male", "female"), each = 6),
    dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16), trials = 20
  )
  data$share <- data$dead / data$trials
  fit <- function(...) {
    quietly(gibbs_logistic(..., draws = 20, burnin = 20, chains = 2, seed = 1,
                           progress = FALSE))
  }
  same <- function(a, b) expect_identical(as.matrix(a), as.matrix(b))
  run <- list(draws = 20, burnin = 20, chains = 2, seed = 1, progress = FALSE)
  weighted <- function(formula, data, ...) {
    quietly(do.call(gibbs_logistic, c(
      list(formula, data, weights = quote(trials), ...), run
    )))
  }
  counts <- fit(cbind(dead, trials - dead) ~ sex + dose, data)
  same(weighted(share ~ sex + dose, data), counts)
  x <- stats::model.matrix(~ sex + dose, data)
  same(fit(x, data$share, weights = data$trials), counts)
  # with groups, and another link
  same(
    weighted(share ~ dose + (1 | sex), data, link = "probit"),
    fit(cbind(dead, trials - dead) ~ dose + (1 | sex), data, link = "probit")
  )
  # without its data, which are given again
  bare <- drop_data(fit(x, data$share, weights = data$trials))
  more <- quietly(extend(bare, 5, progress = FALSE,
    data = list(x = x, y = data$share, weights = data$trials)
  ))
  same(more, quietly(extend(counts, 5, progress = FALSE)))
  cars <- transform(mtcars, name = ifelse(am == 1, "manual", "auto"))
  expect_message(by_text <- fit(name ~ wt, cars), "manual\" is success",
    class = "gibbsite_message_conversion"
  )
  same(by_text, fit(factor(name) ~ wt, cars))
  expect_identical(
    levels(predict(by_text, cars, type = "class")), c("auto", "manual")
  )
})

test_that("tidy() has odds ratios, as broom has", {
  skip_long()
  brief <- function(formula, data, ...) {
    suppressWarnings(gibbs_logistic(
      formula, data, draws = 20, burnin = 20, chains = 2, seed = 1,
      progress = FALSE, ...
    ))
  }
  ratios <- c("estimate", "conf.low", "conf.high")
  fit <- brief(am ~ wt, mtcars)
  for (one in list(fit, laplace_logistic(am ~ wt, mtcars, seed = 1))) {
    plain <- tidy(one)
    odds <- tidy(one, exponentiate = TRUE, conf.level = 0.95)
    expect_equal(odds[ratios], exp(plain[ratios]), tolerance = 1e-15)
    rest <- setdiff(names(plain), ratios)
    expect_identical(odds[rest], plain[rest])
    expect_named(
      tidy(one, exponentiate = TRUE, conf.int = FALSE),
      setdiff(names(plain), c("conf.low", "conf.high"))
    )
  }
  expect_equal(tidy(fit, exponentiate = TRUE)$estimate,
               unname(exp(coef(fit))), tolerance = 1e-12)
  # standard deviations of groups are not log-odds
  grouped <- brief(am ~ wt + (1 | gear), mtcars)
  plain <- tidy(grouped)
  odds <- tidy(grouped, exponentiate = TRUE)
  expect_equal(odds[1:2, ratios], exp(plain[1:2, ratios]), tolerance = 1e-15)
  expect_identical(odds[-(1:2), ], plain[-(1:2), ])
})

test_that("odds ratios are refused where there are none", {
  skip_long()
  probit <- suppressWarnings(gibbs_logistic(
    am ~ wt, mtcars, link = "probit", draws = 20, burnin = 20, chains = 2,
    seed = 1, progress = FALSE
  ))
  normal <- suppressWarnings(gibbs_lm(mpg ~ wt, mtcars, draws = 20, seed = 1))
  general <- laplace(function(x) -sum(x^2), c(0, 0), draws = 10, seed = 1)
  for (fit in list(probit, normal, general)) {
    cnd <- rlang::catch_cnd(tidy(fit, exponentiate = TRUE))
    expect_s3_class(cnd, "gibbsite_error_argument")
    expect_match(conditionMessage(cnd), "scale of a logarithm", fixed = TRUE)
    expect_identical(tidy(fit, exponentiate = FALSE), tidy(fit))
  }
  expect_error(tidy(probit, exponentiate = NA),
               class = "gibbsite_error_argument")
  cnd <- rlang::catch_cnd(summary(probit, exponentiate = TRUE))
  expect_match(conditionMessage(cnd), "tidy(fit, exponentiate = TRUE)",
               fixed = TRUE)
})

test_that("shares that vary more than binomial ones are told of", {
  skip_long()
  d <- withr::with_seed(1, {
    x <- stats::rnorm(60)
    data.frame(
      x, wide = stats::rbinom(60, 20, stats::plogis(x + stats::rnorm(60))),
      right = stats::rbinom(60, 20, stats::plogis(x))
    )
  })
  note <- function(formula) {
    fit <- quietly(gibbs_logistic(
      formula, d, draws = 50, seed = 1, progress = FALSE
    ))
    grep("vary", capture.output(print(fit)), value = TRUE)
  }
  theirs <- stats::glm(cbind(wide, 20 - wide) ~ x, stats::binomial(), d)
  ratio <- sum(stats::residuals(theirs, "pearson")^2) / 58
  expect_match(
    note(cbind(wide, 20 - wide) ~ x),
    paste("vary", format(ratio, digits = 2), "times")
  )
  expect_length(note(cbind(right, 20 - right) ~ x), 0)
  expect_length(note((wide > 10) ~ x), 0)
})
