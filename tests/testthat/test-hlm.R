# gibbs_hlm(): its data, prior, methods and errors. test-hlm-exact.R has the
# sampler.

# A short fit.
hlm_fit <- short_fit(quote(gibbs_hlm))

chicks <- as.data.frame(datasets::ChickWeight)
chicks[["Chick"]] <- factor(as.character(chicks$Chick))

test_that("generics of nlme are found, and are nlme's own", {
  for (name in c("fixef", "ranef", "VarCorr")) {
    expect_identical(
      getExportedValue("gibbsite", name), getExportedValue("nlme", name)
    )
  }
})

test_that("default calls converge on data in their own units", {
  skip_long()
  sets <- list(
    list(distance ~ age + Sex + (1 | Subject), "Orthodont"),
    list(travel ~ 1 + (1 | Rail), "Rail"),
    list(effort ~ Type + (1 | Subject), "ergoStool"),
    list(score ~ Machine + (1 | Worker), "Machines")
  )
  for (set in sets) {
    data <- as.data.frame(getExportedValue("nlme", set[[2]]))
    for (seed in if (is_extended()) 1:10 else 1) {
      fit <- gibbs_hlm(set[[1]], data, seed = seed, progress = FALSE)
      expect_true(converged(fit))
    }
  }
})

test_that("the posterior is near REML where groups are many", {
  skip_unless_extended()
  data <- as.data.frame(getExportedValue("nlme", "MathAchieve"))
  fit <- gibbs_hlm(
    MathAch ~ SES + (1 + SES | School), data, seed = 1, progress = FALSE
  )
  reml <- nlme::lme(MathAch ~ SES, data, ~ 1 + SES | School)
  se <- sqrt(diag(stats::vcov(reml)))
  expect_lt(max(abs(nlme::fixef(fit) - nlme::fixef(reml)) / se), 0.2)
  expect_equal(sqrt(diag(vcov(fit))), se, tolerance = 0.1)
  expect_equal(sigma(fit), reml$sigma, tolerance = 0.01)
  theirs <- nlme::ranef(reml)
  ours <- nlme::ranef(fit)$School
  at <- match(rownames(theirs), rownames(ours))
  expect_gt(cor(theirs[[1]], ours[at, 1]), 0.999)
  expect_true(converged(fit))
})

test_that("pieces, threads, thinning and extend() give the same bits", {
  skip_long()
  run <- function(draws, thin = 1, threads = 1) {
    quietly(gibbs_hlm(
      weight ~ Time + Diet + (1 + Time | Chick), chicks, draws = draws,
      burnin = 10, thin = thin, threads = threads, chains = 2, seed = 1,
      progress = FALSE
    ))
  }
  whole <- run(60)
  expect_true(identical_fit(longer(run(25), 35), whole))
  expect_identical(
    as.array(run(20, thin = 3))[, , ], as.array(whole)[3 * (1:20), , ]
  )
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  expect_true(identical_fit(run(60), whole))
})

test_that("threads do not change a draw where they are used", {
  skip_unless_extended()
  data <- withr::with_seed(1, data.frame(
    y = stats::rnorm(20000), x = stats::rnorm(20000), g = rep(1:5000, 4)
  ))
  for (name in paste0("z", 1:4)) {
    data[[name]] <- withr::with_seed(2, stats::rnorm(20000))^nchar(name)
  }
  run <- function(threads) {
    as.matrix(quietly(gibbs_hlm(
      y ~ x + I(x^2) + I(x^3) + z1 + (1 + x | g), data, draws = 3, burnin = 2,
      chains = 1, seed = 1, threads = threads, progress = FALSE
    )))
  }
  expect_identical(run(2), run(1))
})

# The first ten chicks.
some_chicks <- function() {
  droplevels(chicks[chicks$Chick %in% unique(chicks$Chick)[1:10], ])
}

test_that("predictions are those of stored draws", {
  skip_long()
  chicks <- some_chicks()
  fit <- hlm_fit(
    weight ~ Time + (1 + Time | Chick), chicks, keep = "w", draws = 2000
  )
  draws <- as.matrix(fit)
  levels <- levels(chicks$Chick)
  rows <- c(1, 30, 100)
  code <- match(chicks$Chick[rows], levels)
  eta <- vapply(seq_along(rows), function(i) {
    draws[, paste0("w[1,", code[[i]], "]")] +
      draws[, paste0("w[2,", code[[i]], "]")] * chicks$Time[rows[[i]]]
  }, numeric(nrow(draws)))
  band <- predict(fit, interval = "mean")[rows, ]
  expect_lt(max(abs(colMeans(eta) - band$mean) / band$sd), 0.15)
  expect_equal(apply(eta, 2, stats::sd), band$sd, tolerance = 0.1)
  expect_equal(
    apply(eta, 2, stats::quantile, 0.975, names = FALSE), band$upper,
    tolerance = 0.01
  )
  same <- predict(fit, chicks[rows, ], interval = "mean")
  expect_identical(same$mean, band$mean)
  drawn <- withr::with_seed(1, posterior_epred(fit))
  expect_lt(max(abs(colMeans(drawn)[rows] - band$mean) / band$sd), 0.15)
  expect_equal(coef(fit)$Chick[code, 1], unname(colMeans(
    draws[, paste0("w[1,", code, "]")]
  )), tolerance = 0.02)
})

test_that("new groups have the spread of the groups", {
  fit <- hlm_fit(weight ~ Time + (1 | Chick), chicks)
  new <- data.frame(Time = 10, Chick = c("1", "new"))
  band <- predict(fit, new, allow_new_levels = TRUE, interval = "mean")
  plain <- predict(fit, new, re_formula = NA, interval = "mean")
  expect_equal(band$mean[[2]], plain$mean[[2]])
  draws <- as.matrix(fit)
  expect_equal(
    band$sd[[2]]^2, plain$sd[[2]]^2 + mean(draws[, "sd[1]"]^2)
  )
  expect_lt(band$sd[[1]], band$sd[[2]])
  wider <- predict(
    fit, new, allow_new_levels = TRUE, interval = "prediction"
  )
  expect_equal(wider$sd^2, band$sd^2 + mean(draws[, "sigma"]^2))
})

test_that("log_lik() by group integrates the deviations out", {
  skip_long()
  data <- hlm_example()
  fit <- hlm_fit(y ~ x + (1 + x | g), data, weights = v, offset = x / 3)
  found <- log_lik(fit, by = "group", ndraws = 3)
  expect_identical(dim(found), c(3L, 6L))
  d <- gibbsite:::hlm_draws_in(
    attr(fit, "model"), as.matrix(fit)[gibbsite:::spread_rows(3, 400, NULL), ]
  )
  for (s in 1:3) {
    for (j in 1:6) {
      i <- which(data$g == letters[[j]])
      z <- cbind(1, data$x[i])
      across <- z %*% tcrossprod(d$factor[, , s]) %*% t(z) +
        diag(d$sigma[[s]]^2 / data$v[i], length(i))
      root <- chol(across)
      centre <- data$x[i] / 3 + z %*% d$b[s, ]
      white <- backsolve(root, data$y[i] - centre, transpose = TRUE)
      expect_equal(
        found[[s, j]],
        -sum(log(diag(root))) - sum(white^2) / 2 - length(i) * log(2 * pi) / 2,
        tolerance = 1e-8
      )
    }
  }
  by_row <- withr::with_seed(1, log_lik(fit))
  expect_identical(dim(by_row), c(400L, nrow(data)))
  r2 <- bayes_R2(fit)
  expect_true(all(r2 > 0 & r2 < 1))
})

test_that("draws of deviations that are not stored agree in every call", {
  data <- hlm_example()
  fit <- hlm_fit(y ~ x + (1 + x | g), data)
  withr::local_preserve_seed()
  mean <- posterior_epred(fit)
  set.seed(2)
  before <- .Random.seed
  expect_identical(posterior_epred(fit), mean)
  expect_identical(.Random.seed, before)
  pointwise <- function() suppressWarnings(loo(fit))$pointwise
  expect_identical(pointwise(), pointwise())
  rows <- c(7, 2)
  expect_equal(unname(posterior_epred(fit, data[rows, ])), unname(mean[, rows]))
  some <- gibbsite:::spread_rows(7, ndraws(fit), NULL)
  expect_identical(posterior_epred(fit, ndraws = 7), mean[some, ])
  sigma <- as.matrix(fit)[, "sigma"]
  expect_equal(
    unname(log_lik(fit)[, 3]),
    unname(dnorm(data$y[[3]], mean[, 3], sigma, log = TRUE))
  )
  # further draws do not change those of before
  more <- quietly(extend(fit, 50))
  expect_identical(
    posterior_epred(more)[seq_len(coda::niter(fit)), ],
    mean[seq_len(coda::niter(fit)), ]
  )
  # the kind of generator of the session does not count
  suppressWarnings(RNGkind("Wichmann-Hill", "Ahrens-Dieter", "Rounding"))
  expect_identical(posterior_epred(fit), mean)
  # the deviations have their distribution
  at <- gibbsite:::hlm_eta(
    attr(fit, "model"), gibbsite:::hlm_draws_in(
      attr(fit, "model"), as.matrix(fit)
    ), gibbsite:::rows_to_predict(
      attr(fit, "model"), NULL, NULL, NULL, FALSE, NULL
    ), FALSE
  )
  z <- ((mean - at$mu) / at$spread)[, !duplicated(data$g)]
  expect_gt(stats::ks.test(as.vector(z), "pnorm")$p.value, 1e-3)
  expect_lt(max(abs(stats::cor(z)[lower.tri(diag(ncol(z)))])), 0.25)
  # those of new groups are drawn anew
  new <- data.frame(x = 0, g = "new")
  expect_false(identical(
    posterior_epred(fit, new, allow_new_levels = TRUE),
    posterior_epred(fit, new, allow_new_levels = TRUE)
  ))
})

test_that("log_lik() by group takes many groups in blocks", {
  skip_unless_extended()
  g <- rep(seq_len(250), times = rep(c(10, 90), 125))
  data <- withr::with_seed(1, data.frame(
    g = g, x = stats::rnorm(length(g)), y = stats::rnorm(length(g)) + g / 100
  ))
  weights <- as.numeric(g != 7)
  fit <- hlm_fit(y ~ x + (1 + x | g), data, weights = weights, offset = x / 2)
  expect_gt(ndraws(fit) * nrow(data), 4e6)
  found <- log_lik(fit, by = "group")
  some <- gibbsite:::spread_rows(5, ndraws(fit), NULL)
  expect_equal(
    found[some, ], log_lik(fit, by = "group", ndraws = 5), tolerance = 1e-12
  )
  # a group without observations of positive weight
  # group 7 has no observations
  expect_false("7" %in% colnames(found))
  expect_true(all(found[, "8"] < 0))
})

test_that("weights of 0, missing values and formulas do what they say", {
  skip_long()
  data <- hlm_example()
  half <- rep_len(c(1, 2, 0, 3), nrow(data))
  fit <- hlm_fit(y ~ x + (1 | g), data, weights = half)
  expect_identical(nobs(fit), sum(half > 0))
  holes <- data
  holes$y[3] <- NA
  omitted <- suppressMessages(hlm_fit(
    y ~ x + (1 | g), holes, na_action = "exclude"
  ))
  expect_true(is.na(fitted(omitted)[[3]]))
  expect_length(residuals(omitted), nrow(data))
  dot <- hlm_fit(y ~ . + (1 | g), data[c("y", "x", "m", "g")])
  plain <- hlm_fit(y ~ x + m + (1 | g), data)
  expect_identical(as.matrix(dot), as.matrix(plain))
  pairs <- hlm_fit(y ~ x + (1 | g:f), data)
  expect_match(gibbsite:::fit_part(pairs, "model")$levels[[1]], ":")
  more <- quietly(update(plain, . ~ . - m))
  expect_identical(names(nlme::fixef(more)), c("(Intercept)", "x"))
  poly <- hlm_fit(y ~ poly(x, 2) + (1 + x | g), data)
  expect_equal(
    predict(poly, data[4:6, ]), fitted(poly)[4:6], tolerance = 1e-10
  )
})

test_that("fits without data predict new rows and are extended", {
  skip_long()
  data <- hlm_example()
  fit <- hlm_fit(y ~ x + (1 + x | g), data, keep_data = FALSE)
  full <- hlm_fit(y ~ x + (1 + x | g), data)
  expect_identical(predict(fit, data), predict(full, data))
  expect_error(fitted(fit), class = "gibbsite_error")
  expect_identical(
    as.matrix(longer(fit, 20)), as.matrix(longer(full, 20))
  )
})

test_that("estimates have the names and shapes of lme4", {
  skip_long()
  fit <- hlm_fit(weight ~ Time + (1 + Time | Chick), chicks)
  expect_identical(dim(nlme::ranef(fit)$Chick), c(50L, 2L))
  expect_identical(dim(attr(nlme::ranef(fit)$Chick, "postVar")), c(2L, 2L, 50L))
  bare <- nlme::ranef(fit, condVar = FALSE)
  expect_null(attr(bare$Chick, "postVar"))
  expect_equal(bare, nlme::ranef(fit), ignore_attr = TRUE)
  expect_identical(
    rownames(nlme::VarCorr(fit)), c("sd[1]", "sd[2]", "cor[2,1]", "sigma")
  )
  if (requireNamespace("lme4", quietly = TRUE)) {
    expect_identical(lme4::ngrps(fit), c(Chick = 50L))
  }
  expect_identical(rownames(confint(fit, "Time", level = 0.9)), "Time")
  again <- hlm_fit(
    weight ~ Time + (1 + Time | Chick), chicks, inits = fit
  )
  expect_s3_class(again, "gibbs_hlm")
  expect_snapshot(gibbsite:::model_labels(gibbsite:::fit_part(fit, "model")))
  expect_snapshot(print(prior_summary(fit)))
  shown <- format(prior_summary(hlm_fit(weight ~ 1 + (1 | Chick), chicks)))
  expect_false(any(grepl("slope", shown)))
})

test_that("names of the prior's scale matrix are those of the terms", {
  skip_long()
  data <- hlm_example()
  scale <- matrix(c(4, 1, 1, 2), 2)
  rownames(scale) <- c("x", "(Intercept)")
  prior <- function(scale) hlm_prior("inverse-wishart", scale = scale)
  fit <- hlm_fit(y ~ x + (x | g), data, prior = prior(scale))
  expect_true(identical_fit(
    fit, hlm_fit(y ~ x + (x | g), data, prior = prior(unname(scale)[2:1, 2:1]))
  ))
  rownames(scale)[1] <- "z"
  expect_gibbsite_error(
    gibbs_hlm(y ~ x + (x | g), data, prior = prior(scale))
  )
})

test_that("mistakes in the arguments are named", {
  skip_long()
  data <- hlm_example()
  expect_gibbsite_error({
    gibbs_hlm()
    gibbs_hlm(y ~ x, data)
    gibbs_hlm(y ~ x + (1 | g) + (x | g), data)
    gibbs_hlm(y ~ x + (1 | g + f), data)
    gibbs_hlm(y ~ x + (1 | f | g), data)
    gibbs_hlm(y ~ x + (1 | gr(g, by = f)), data)
    gibbs_hlm(y ~ x + (1 | mm(g, f)), data)
    gibbs_hlm(y ~ x + 1 | g, data)
    gibbs_hlm(y ~ x + (0 | g), data)
    gibbs_hlm(~ x + (1 | g), data)
    gibbs_hlm(y ~ x + (1 | nothing), data)
    gibbs_hlm(y ~ x + (1 | g), data, weights = v, se = v)
    gibbs_hlm(y ~ x + (1 | g), data, se = -v)
    gibbs_hlm(y ~ x + (1 | g), data, se = v * 1e-8)
    local({
      elsewhere <- y ~ x + (1 | g)
      (function(errors) gibbs_hlm(elsewhere, data, se = errors))(data$v)
    })
    gibbs_hlm(y ~ x + (1 | g), data, prior = lm_prior())
    gibbs_hlm(y ~ x + (1 | g), data, prior = hlm_prior(scale = 1:3))
    gibbs_hlm(y ~ x + (x | g), data,
              prior = hlm_prior("inverse-wishart", df = 0.5))
    gibbs_hlm(y ~ x + (1 | g), data,
              inits = rep(list(list(Sigma = -1)), 4))
    gibbs_hlm(f ~ x + (1 | g), data)
    hlm_prior(scale = -1)
    hlm_prior("inverse-wishart", scale = matrix(1, 2, 2))
  })
  fit <- hlm_fit(y ~ x + (1 | g), data)
  expect_gibbsite_error({
    predict(fit, data.frame(x = 1, g = "new"))
    predict(fit, data.frame(x = 1))
    predict(fit, data, re_formula = "g")
    predict(fit, data, re_formula = ~ x + (1 | g))
    predict(fit, data, re_formula = ~ (1 | x))
    predict(fit, data, re_formula = ~ (x | g))
    confint(fit, "nothing")
    log_lik(fit, by = "row")
    plot(fit, type = "calibration")
    plot(fit, term = "x")
    plot(fit, type = "trace", term = "(Intercept)")
    plot(fit, "groups", variables = "x")
    plot(fit, level = 1)
  })
  single <- data[!duplicated(data$g), ]
  lone <- hlm_fit(y ~ x + (1 + x | g), single)
  unheld <- hlm_fit(y ~ x + (1 | g), data, keep_data = FALSE)
  expect_gibbsite_error({
    plot(lone, type = "shrinkage")
    plot(unheld, type = "shrinkage")
  })
})

test_that("plots draw the groups' coefficients", {
  skip_long()
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  fit <- hlm_fit(weight ~ Time + Diet + (1 + Time | Chick), chicks, keep = "w")
  for (type in c("groups", "shrinkage", "coefficients", "trace")) {
    result <- withVisible(plot(fit, type = type))
    expect_false(result$visible)
    expect_identical(result$value, fit)
  }
  expect_identical(plot(fit, term = "Time", level = 0.8, main = "slopes"), fit)
  expect_identical(plot(fit, "shrinkage", term = "Time"), fit)
  expect_identical(plot(fit, "coefficients", variables = "Time"), fit)
  unheld <- hlm_fit(
    weight ~ Time + (1 | Chick), chicks, keep_data = FALSE
  )
  expect_identical(plot(unheld), unheld)
  many <- data.frame(y = sin(1:140), g = rep(1:70, 2))
  many <- hlm_fit(y ~ 1 + (1 | g), many)
  expect_identical(plot(many), many)
  expect_identical(plot(many, type = "shrinkage"), many)
})

test_that("the plotted coefficients are those of stored draws", {
  skip_unless_extended()
  chicks <- some_chicks()
  fit <- hlm_fit(
    weight ~ Time + (1 + Time | Chick), chicks, keep = "w", draws = 2000
  )
  draws <- as.matrix(fit)
  for (k in 1:2) {
    term <- c("(Intercept)", "Time")[[k]]
    found <- gibbsite:::group_coefficients(fit, term, 0.5)
    expect_identical(rownames(found), levels(chicks$Chick))
    expect_equal(found$mean, coef(fit)$Chick[[term]], tolerance = 1e-10)
    w <- draws[, sprintf("w[%d,%d]", k, 1:10)]
    # 4000 draws, hardly correlated: 5 standard errors of a quartile
    quartiles <- apply(w, 2, stats::quantile, c(0.25, 0.75), names = FALSE)
    error <- abs(quartiles - t(found[c("lower", "upper")])) / rep(
      found$sd, each = 2
    )
    expect_lt(max(error), 5 * 1.36 / sqrt(min(coda::effectiveSize(w))))
    expect_equal(
      gibbsite:::mean_coefficient(fit, term), nlme::fixef(fit)[[term]]
    )
  }
  # a term without a fixed effect
  slopes <- hlm_fit(weight ~ 1 + (0 + Time | Chick), chicks)
  expect_identical(gibbsite:::mean_coefficient(slopes, "Time"), 0)
  expect_equal(
    gibbsite:::group_coefficients(slopes, "Time", 0.5)$mean,
    nlme::ranef(slopes)$Chick$Time, tolerance = 1e-10
  )
})

test_that("own estimates are the least squares of each group", {
  data <- hlm_example()
  fit <- hlm_fit(y ~ x + (1 + x | g), data, weights = v)
  own <- gibbsite:::own_coefficients(fit, NULL)
  expect_identical(rownames(own), letters[1:6])
  for (g in letters[1:6]) {
    rows <- data[data$g == g, ]
    found <- if (nrow(rows) > 1) {
      unname(coef(stats::lm(y ~ x, rows, weights = v)))
    } else {
      c(NA_real_, NA_real_)
    }
    expect_equal(unname(own[g, ]), found, tolerance = 1e-8)
  }
  # with other fixed effects and an offset, at the posterior means of the former
  other <- hlm_fit(y ~ x + m + offset(v) + (1 | g), data)
  b <- nlme::fixef(other)
  rest <- data$y - data$v - drop(
    stats::model.matrix(~ x + m, data)[, -1] %*% b[-1]
  )
  expect_equal(
    gibbsite:::own_coefficients(other, NULL)[, 1],
    tapply(rest, data$g, mean)[letters[1:6]], ignore_attr = TRUE
  )
})

test_that("sim_hlm() and its fit agree", {
  skip_long()
  covariance <- matrix(c(1, 0.3, 0.3, 0.5), 2)
  data <- withr::with_seed(
    1, sim_hlm(300, rep(c(2, 8), 150), c(3, speed = -2), covariance, 0.5)
  )
  expect_identical(names(data), c("y", "speed", "group"))
  expect_identical(as.vector(table(data$group)), rep(c(2L, 8L), 150))
  w <- attr(data, "w")
  rest <- data$y - w[data$group, 1] - w[data$group, 2] * data$speed
  expect_lt(max(abs(z_of_means(cbind(rest, rest^2 - 0.25), 0))), 4.5)
  # the groups' coefficients and covariance
  gap <- w - matrix(c(3, -2), 300, 2, byrow = TRUE)
  products <- cbind(gap, gap^2, gap[, 1] * gap[, 2])
  expect_lt(max(abs(z_of_means(products, c(0, 0, 1, 0.5, 0.3)))), 4.5)
  # without slopes
  one <- withr::with_seed(2, sim_hlm(3, 1, 5, 0.2, sigma = 0))
  expect_identical(names(one), c("y", "group"))
  expect_identical(one$y, unname(attr(one, "w")[, 1]))
  if (is_extended()) {
    fit <- gibbs_hlm(
      y ~ speed + (speed | group), data, seed = 1, progress = FALSE
    )
    draws <- as.matrix(fit)[, 1:6]
    truth <- c(
      3, -2, sqrt(diag(covariance)), stats::cov2cor(covariance)[1, 2], 0.5
    )
    z <- (colMeans(draws) - truth) / apply(draws, 2, stats::sd)
    expect_lt(max(abs(z)), 4)
  }
})

test_that("mistakes in sim_hlm() are named", {
  skip_long()
  expect_gibbsite_error({
    sim_hlm(5, 2, 1)
    sim_hlm(0, 2, 1, 1)
    sim_hlm(5, 0, 1, 1)
    sim_hlm(5, c(1, 2), 1, 1)
    sim_hlm(2, c(1, 2.5), 1, 1)
    sim_hlm(5, 2, "a", 1)
    sim_hlm(5, 2, c(1, 2), 1)
    sim_hlm(5, 2, c(1, 2), matrix(1, 2, 2))
    sim_hlm(5, 2, 1, 1, sigma = -1)
  })
})

# ---- no fixed effects --------------------------------------------------------

test_that("a model of groups alone is a model", {
  fit <- quietly(gibbs_hlm(
    weight ~ 0 + (1 | Diet), chicks, draws = 20, burnin = 20, chains = 2,
    seed = 1, progress = FALSE
  ))
  n <- nrow(chicks)
  expect_length(fitted(fit), n)
  expect_length(predict(fit, chicks[1:2, ]), 2L)
  expect_identical(dim(log_lik(fit)), c(40L, n))
  # a group's mean is near that of its observations
  means <- tapply(chicks$weight, chicks$Diet, mean)
  expect_equal(
    predict(fit, data.frame(Diet = names(means))), means,
    ignore_attr = TRUE, tolerance = 0.1
  )
})

test_that("summary() says what the indices stand for", {
  fit <- quietly(gibbs_hlm(
    weight ~ Time + (Time | Chick), ChickWeight, draws = 100, burnin = 10,
    chains = 2, seed = 1, progress = FALSE
  ))
  expect_snapshot({
    writeLines(attr(summary(fit), "key"))
    writeLines(attr(summary(fit, variables = "sd"), "key"))
  })
  expect_null(attr(summary(fit, variables = "sigma"), "key"))
  expect_null(attr(as.data.frame(summary(fit)), "key"))
})

test_that("a predictor that does not vary is named", {
  data <- transform(mtcars, one = 1)
  for (formula in list(
    mpg ~ wt + one + (1 | cyl), mpg ~ wt + one + (1 | cyl) + (1 | gear)
  )) {
    expect_message(
      brief(gibbs_hlm, formula, data), "drawn from the prior",
      class = "gibbsite_message_constant"
    )
  }
})
