# combine_fits(data = "imputed"): the mixture of the posteriors of several
# completed data sets.

# Data whose predictor x is imputed for the first rows.
completed_sets <- function(count = 3L) {
  withr::with_seed(7, {
    data <- data.frame(x = rnorm(40), g = gl(5, 8))
    data$y <- 1 + 2 * data$x + rnorm(40)
    data$b <- as.integer(data$y > 1)
    data$n <- round(exp(data$y / 2))
    data$o <- cut(data$y, c(-Inf, 0, 2, Inf), labels = FALSE)
    data$k <- factor(letters[data$o])
    lapply(seq_len(count), function(m) {
      transform(data, x = replace(x, 1:12, rnorm(12)))
    })
  })
}

quiet_fits <- function(f, ..., sets = completed_sets(), seed = 1) {
  lapply(sets, function(data) {
    suppressWarnings(f(
      ..., data = data, draws = 60, burnin = 40, chains = 2, seed = seed
    ))
  })
}

line_fits <- once(function() quiet_fits(gibbs_lm, y ~ x))

test_that("the mixture has the moments of the exact posteriors", {
  skip_long()
  sets <- completed_sets(4)
  # independent draws; by hand the posterior of (alpha, w) given sigma = 1 and
  # the flat intercept is that of least squares with a ridge on the slope
  fits <- lapply(seq_along(sets), function(m) {
    gibbs_lm(y ~ x, sets[[m]], lm_prior("nig"), draws = 4000, chains = 1,
             seed = m)
  })
  fit <- combine_fits(fits, data = "imputed")
  exact <- lapply(fits, function(one) {
    data <- attr(one, "model")$data
    x <- sets[[which(vapply(fits, identical, NA, one))]]$x
    # w | y is a t distribution about the ridge estimate
    y <- completed_sets(4)[[1]]$y
    centred <- x - mean(x)
    s <- data$lambda / sum(data$eigenvalue) * sum(centred^2)
    estimate <- sum(centred * y) / (sum(centred^2) + s)
    list(mean = estimate)
  })
  mean <- mean(vapply(exact, `[[`, 0, "mean"))
  draws <- as.matrix(fit)[, "x"]
  error <- sqrt(sum(vapply(fits, function(one) {
    stats::var(as.matrix(one)[, "x"]) / 4000
  }, 0))) / 4
  expect_lt(abs(coef(fit)[["x"]] - mean), 5 * error)
  expect_identical(draws, unlist(lapply(fits, function(one) {
    as.matrix(one)[, "x"]
  })))
  # the table has the error of the mean of independent draws
  row <- summary(fit)
  row <- row[row$variable == "x", ]
  expect_equal(row$mcse_mean, error, tolerance = 0.1)
  # between-imputation variance is no lack of convergence
  expect_gt(posterior::rhat(posterior::extract_variable_matrix(fit, "x")), 1.05)
  expect_true(converged(fit))
  expect_lt(max(convergence(fit)$rhat), 1.01)
})

test_that("predictions are those of the mixture", {
  skip_long()
  fits <- line_fits()
  fit <- combine_fits(fits, data = "imputed")
  new <- data.frame(x = c(-1, 0.5, NA))
  each <- function(f) lapply(fits, f)
  expect_equal(
    predict(fit, new), rowMeans(sapply(fits, predict, new))
  )
  mu <- do.call(rbind, each(function(one) posterior_epred(one, new)))
  expect_identical(posterior_epred(fit, new), mu)
  expect_equal(fitted(fit), rowMeans(sapply(fits, fitted)))
  expect_equal(residuals(fit), rowMeans(sapply(fits, residuals)))
  band <- predict(fit, new, interval = "mean", level = 0.8)
  expect_equal(band$lower[1:2], unname(apply(mu[, 1:2], 2, quantile, 0.1)))
  expect_true(is.na(band$upper[[3]]))
  # the interval of a response holds 80% of the mixture
  band <- predict(
    fit, new[1:2, , drop = FALSE], interval = "prediction", level = 0.8
  )
  sigma <- as.matrix(fit)[, "sigma"]
  for (end in c("lower", "upper")) {
    expect_equal(
      unname(colMeans(pnorm(t((band[[end]] - t(mu[, 1:2]))) / sigma))),
      rep(if (end == "lower") 0.1 else 0.9, 2), tolerance = 1e-6
    )
  }
  # rows of the data have the predictors of their own data set
  expect_identical(dim(posterior_predict(fit)), c(360L, 40L))
  expect_identical(
    posterior_linpred(fit)[121:122, 1:12],
    posterior_linpred(fits[[2]])[1:2, 1:12]
  )
  expect_identical(dim(posterior_predict(fit, new, ndraws = 7)), c(7L, 3L))
  expect_length(bayes_R2(fit), 360)
  # terms with a basis of their own in each data set
  curved <- quiet_fits(gibbs_lm, y ~ poly(x, 2))
  expect_equal(
    predict(combine_fits(curved, data = "imputed"), new[1:2, , drop = FALSE]),
    rowMeans(sapply(curved, predict, new[1:2, , drop = FALSE]))
  )
})

test_that("multiple imputation covers the truth", {
  skip_unless_extended()
  # x is missing for a third of the rows, imputed by draws given y
  n <- 40
  covered <- vapply(seq_len(n), function(r) withr::with_seed(r, {
    x <- rnorm(60)
    y <- x + rnorm(60)
    lost <- 1:20
    fits <- lapply(1:8, function(m) {
      # x | y under a flat prior: regression with drawn coefficients
      own <- lm(x ~ y, data.frame(x, y)[-lost, ])
      s <- sigma(own) * sqrt(38 / rchisq(1, 38))
      w <- coef(own) + drop(t(chol(vcov(own))) %*% rnorm(2)) * s / sigma(own)
      data <- data.frame(x, y)
      data$x[lost] <- w[[1]] + w[[2]] * y[lost] + s * rnorm(20)
      gibbs_lm(
        y ~ x, data, lm_prior("nig", slope_scale = 100), draws = 200,
        chains = 1,
        seed = m
      )
    })
    ends <- confint(combine_fits(fits, data = "imputed"), "x", level = 0.9)
    ends[[1]] < 1 && 1 < ends[[2]]
  }), NA)
  # 0.9 less 4 standard errors
  expect_gt(mean(covered), 0.9 - 4 * sqrt(0.09 / n))
})

test_that("fits of other models are combined", {
  skip_long()
  sets <- completed_sets()
  groups <- quiet_fits(gibbs_hlm, y ~ x + (1 | g))
  fit <- combine_fits(groups, data = "imputed")
  expect_equal(
    predict(fit, re_formula = NA),
    rowMeans(sapply(groups, predict, re_formula = NA))
  )
  deviations <- function(one) nlme::ranef(one)[[1]][[1]]
  expect_equal(deviations(fit), rowMeans(sapply(groups, deviations)))
  # total variance: within and between data sets
  variance <- function(one) attr(nlme::ranef(one)[[1]], "postVar")[1, 1, ]
  means <- sapply(groups, deviations)
  expect_equal(
    unname(variance(fit)), unname(rowMeans(sapply(groups, variance)) +
      rowMeans((means - rowMeans(means))^2))
  )
  # rows without a response have a prediction of NA, with an interval too
  gaps <- lapply(sets, transform, y = replace(y, 3, NA))
  fit <- combine_fits(
    quiet_fits(gibbs_lm, y ~ x, na_action = "exclude", sets = gaps),
    data = "imputed"
  )
  for (interval in c("mean", "prediction")) {
    table <- predict(fit, interval = interval)
    expect_identical(which(is.na(table$sd)), 3L)
    expect_equal(table$mean, unname(predict(fit)))
  }
  binary <- quiet_fits(gibbs_logistic, b ~ x)
  fit <- combine_fits(binary, data = "imputed")
  share <- predict(fit, type = "response", interval = "mean")
  expect_equal(
    share$mean, unname(rowMeans(sapply(binary, predict, type = "response")))
  )
  expect_identical(
    unname(predict(fit, type = "class")), as.numeric(share$mean > 0.5)
  )
  log_posterior <- function(p, x, y) {
    sum(dnorm(y, p[["a"]] + p[["b"]] * x, log = TRUE)) +
      sum(dnorm(p, 0, 5, log = TRUE))
  }
  own <- lapply(sets, function(data) {
    suppressWarnings(mh_sample(
      log_posterior, c(a = 0, b = 0), x = data$x, y = data$y, draws = 20,
      burnin = 20, chains = 1, seed = 1
    ))
  })
  line <- function(p, x) p[["a"]] + p[["b"]] * x[1:2]
  expect_equal(
    predict(combine_fits(own, data = "imputed"), line),
    rowMeans(sapply(own, predict, line))
  )
})

test_that("fits of counts and of categories are combined", {
  skip_long()
  set <- rep(1:3, each = 120)
  rates <- quiet_fits(gibbs_count, n ~ x + (1 | g), family = "negbinomial")
  fit <- combine_fits(rates, data = "imputed")
  expect_equal(
    predict(fit, type = "response"),
    rowMeans(sapply(rates, predict, type = "response"))
  )
  new <- data.frame(x = 1, g = 2)
  ends <- predict(fit, new, type = "response", interval = "prediction")
  each <- sapply(rates, function(one) {
    predict(one, new, type = "response", interval = "prediction")$mean
  })
  expect_equal(ends$mean, mean(each))
  drawn <- posterior_epred(fit, newdata = new)
  expect_identical(dim(drawn), c(360L, 1L))
  expect_equal(drawn[set == 2, 1], posterior_epred(rates[[2]], new)[, 1])
  middle <- predict(fit, new, type = "response", interval = "mean")
  expect_equal(middle$sd, sd(drawn))
  expect_equal(
    residuals(fit), rowMeans(sapply(rates, residuals))
  )

  makers <- list(ordinal = gibbs_ordinal, categorical = gibbs_categorical)
  for (name in names(makers)) {
    formula <- if (name == "ordinal") o ~ x + (1 | g) else k ~ x + (1 | g)
    fits <- quiet_fits(makers[[name]], formula)
    fit <- combine_fits(fits, data = "imputed")
    expect_s3_class(fit, c("gibbsite_imputed", paste0("gibbs_", name)),
                    exact = FALSE)
    shares <- predict(fit, type = "response")
    each <- lapply(fits, predict, type = "response")
    expect_equal(shares, Reduce(`+`, each) / 3)
    expect_equal(unname(rowSums(shares)), rep(1, nrow(shares)))
    expect_identical(
      unname(as.character(predict(fit, type = "class"))),
      colnames(shares)[max.col(shares, "first")]
    )
    drawn <- posterior_epred(fit)
    expect_identical(dim(drawn), c(360L, dim(shares)))
    expect_identical(dimnames(drawn), dimnames(posterior_epred(fits[[1]])))
    expect_identical(
      unname(drawn[set == 3, , ]), unname(posterior_epred(fits[[3]])[, , ])
    )
    table <- predict(fit, type = "response", interval = "mean", level = 0.8)
    expect_identical(
      table[c("row", "category")],
      predict(fits[[1]], type = "response", interval = "mean")[
        c("row", "category")
      ]
    )
    expect_equal(table$mean, c(t(unname(shares))))
    own <- table[table$category == colnames(shares)[[2]], ]
    expect_equal(own$sd, unname(apply(drawn[, , 2], 2, sd)))
    expect_equal(
      own$lower, unname(apply(drawn[, , 2], 2, quantile, 0.1))
    )
    link <- predict(fit, type = "link", interval = "mean")
    expect_true(all(link$lower < link$upper))
    few <- posterior_predict(fit, ndraws = 6)
    expect_identical(dim(few), c(6L, nrow(shares)))
    # tidy() and summary() have every column
    expect_output(print(fit), "missing information")
    measures <- summary(fit)
    expect_equal(
      measures$mean[match("sd[1,1]", measures$variable)],
      if (name == "ordinal") mean(as.matrix(fit)[, "sd[1,1]"]) else NA_real_
    )
    expect_identical(tidy(fit)$term, tidy(fits[[1]])$term)
    expect_identical(nrow(augment(fit)), nrow(shares))
    expect_gibbsite_error(class = "gibbsite_error_argument", {
      predict(fit, interval = "prediction")
      residuals(fit)
      bayes_R2(fit)
      predict(fit, type = "probability")
      predict(fit, level = 2)
    })
    expect_error(loo::loo(fit), class = "gibbsite_error_imputed")
    expect_error(log_evidence(fit), class = "gibbsite_error_imputed")
  }
  # other names of the categories
  other <- transform(completed_sets()[[2]], k = factor(
    k, labels = c("p", "q", "r")
  ))
  other <- suppressWarnings(gibbs_categorical(
    k ~ x + (1 | g), other, draws = 60, burnin = 40, chains = 1, seed = 1
  ))
  expect_gibbsite_error(combine_fits(fits[[1]], other, data = "imputed"))
})

test_that("fits come in any form, and the result is saved and printed", {
  skip_long()
  fits <- line_fits()
  fit <- combine_fits(fits, data = "imputed")
  expect_identical(class(fit)[1:2], c("gibbsite_imputed", "gibbs_lm"))
  by_list <- suppressWarnings(lapply(
    completed_sets(), gibbs_lm, formula = y ~ x, draws = 60, burnin = 40,
    chains = 2, seed = 1
  ))
  expect_identical(as.matrix(combine_fits(by_list, data = "imputed")),
                   as.matrix(fit))
  one_by_one <- combine_fits(fits[[1]], fits[[2]], fits[[3]], data = "imputed")
  expect_true(identical_fit(fit, one_by_one))
  mira <- structure(list(analyses = fits), class = c("mira", "matrix"))
  expect_true(identical_fit(fit, combine_fits(mira)))
  path <- withr::local_tempfile()
  saveRDS(fit, path)
  expect_true(identical_fit(fit, readRDS(path)))
  expect_equal(nchains(fit), 6)
  printed <- gsub(
    " +", " ", paste(capture.output(print(fit)), collapse = " ")
  )
  expect_match(printed, "3 completed data sets")
  expect_match(printed, "missing information: .*x 0[.][0-9]+")
  expect_false(grepl("extend(fit", printed, fixed = TRUE))
  expect_match(capture.output(print(summary(fit))), "within each", all = FALSE)
  # Rubin's share, by hand
  w <- sapply(fits, function(one) as.matrix(one)[, "x"])
  between <- (1 + 1 / 3) * var(colMeans(w))
  expect_equal(
    gibbsite:::missing_information(fit)[["x"]],
    between / (between + mean(apply(w, 2, var)))
  )
  expect_null(gibbsite:::fit_part(drop_data(fit), "model")$imputed$models[[2]]$
                frame)
  # a shorter fit
  fits[[2]] <- window(fits[[2]], end = 80)
  expect_gibbsite_condition(class = "gibbsite_message_draws", {
    short <- combine_fits(fits, data = "imputed")
  })
  expect_equal(niterations(short), 40)
})

test_that("what belongs to one data set is refused with the reason", {
  skip_long()
  fits <- line_fits()
  fit <- combine_fits(fits, data = "imputed")
  expect_gibbsite_error(class = "gibbsite_error_imputed", {
    log_lik(fit)
    log_evidence(fit)
    extend(fit, 10)
    combine_fits(fit, fits[[1]])
    simulate(fit)
    model.frame(fit)
  })
  expect_gibbsite_error(class = "gibbsite_error_imputed", {
    loo::loo(fit)
    loo::waic(fit)
    loo::kfold(fit)
  })
})

test_that("fits that do not agree are not combined", {
  skip_long()
  fits <- line_fits()
  sets <- completed_sets()
  quick <- function(...) {
    suppressWarnings(gibbs_lm(..., draws = 60, burnin = 40, seed = 1))
  }
  mix <- function(...) combine_fits(fits[[1]], ..., data = "imputed")
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    mix()
    mix(1)
    mix(fits[[1]])
    mix(fits[[2]], fits[[2]])
    mix(quick(y ~ g, sets[[2]], chains = 2))
    mix(quick(y ~ x, sets[[2]][-1, ], chains = 2))
    mix(quick(y ~ x, sets[[2]], lm_prior("horseshoe"), chains = 2))
    mix(quick(y ~ x, sets[[2]], lm_prior(slope_shape = 3), chains = 2))
    mix(quick(y ~ x, sets[[2]], chains = 1))
    mix(combine_fits(fits, data = "imputed"))
    combine_fits(fits)
    combine_fits(fits, data = "completed")
  })
  binary <- quiet_fits(gibbs_logistic, b ~ x)
  counts <- quiet_fits(gibbs_count, n ~ x)
  again <- function(f, formula, ...) {
    quiet_fits(f, formula, ..., sets = sets[2])[[1]]
  }
  days <- lapply(sets, transform, x = as.difftime(x, units = "days"))
  hours <- lapply(days, function(set) {
    units(set$x) <- "hours"
    set
  })
  drawn <- function(f, set) {
    quietly(mh_sample(f, c(a = 0), y = set$y + set$x, draws = 20, burnin = 10,
                      chains = 2, seed = 1, progress = FALSE))
  }
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    combine_fits(
      binary[[1]], again(gibbs_logistic, b ~ x, link = "probit"),
      data = "imputed"
    )
    combine_fits(
      counts[[1]], again(gibbs_count, n ~ x, family = "negbinomial"),
      data = "imputed"
    )
    combine_fits(
      counts[[1]], again(gibbs_count, n ~ x, offset = x), data = "imputed"
    )
    mix(again(gibbs_lm, y ~ x, weights = n + 1))
    combine_fits(
      quiet_fits(gibbs_lm, y ~ x, sets = days[1])[[1]],
      quiet_fits(gibbs_lm, y ~ x, sets = hours[2])[[1]], data = "imputed"
    )
    combine_fits(
      drawn(function(a, y) -sum((y - a)^2), sets[[1]]),
      drawn(function(a, y) -sum(abs(y - a)), sets[[2]]), data = "imputed"
    )
  })
  gmm <- suppressWarnings(gibbs_gmm(faithful, 2, draws = 10, burnin = 5,
                                    chains = 1, seed = 1, progress = FALSE))
  mode <- quietly(laplace_logistic(am ~ wt, mtcars, draws = 10, seed = 1))
  expect_gibbsite_error(combine_fits(gmm, gmm, data = "imputed"))
  expect_gibbsite_error(combine_fits(mode, mode, data = "imputed"))
})

test_that("what differs between fits is said in the words of their calls", {
  skip_long()
  fit <- function(..., seed = 2) {
    quietly(gibbs_lm(..., draws = 20, burnin = 5, chains = 1, seed = seed,
                     progress = FALSE))
  }
  a <- fit(dist ~ speed, cars, seed = 1)
  density <- function(scale) function(x) -sum(x^2) / scale
  walk <- function(seed, init = c(a = 0), ...) {
    brief(mh_sample, density(2), init, random_walk(1), inits = list(0), ...)
  }
  mixture <- function(seed, ...) {
    quietly(gibbs_gmm(faithful, ..., draws = 20, burnin = 5, chains = 1,
                      seed = seed, progress = FALSE))
  }
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    combine_fits(a, fit(log(dist) ~ speed, cars))
    combine_fits(a, fit(dist ~ speed, cars[-1, ]))
    combine_fits(a, fit(dist ~ speed, transform(cars, speed = 2 * speed)))
    combine_fits(a, fit(dist ~ speed, cars, errors = "t"))
    combine_fits(a, brief(gibbs_hlm, dist ~ 1 + (1 | speed), cars))
    combine_fits(mixture(1, k = 2), mixture(2, k = 3))
    combine_fits(mixture(1, k = 2), mixture(2, k = 2, gmm_prior(alpha = 2)))
    combine_fits(walk(1), walk(2, c(a = 1)))
  })
})
