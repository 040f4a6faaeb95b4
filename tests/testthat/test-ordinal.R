# gibbs_ordinal(): its methods and errors. test-ordinal-exact.R has the sampler.

ordered_fit <- short_fit(quote(gibbs_ordinal))

test_that("default calls converge, and the posterior is near polr()'s", {
  skip_unless_extended()
  skip_if_not_installed("MASS")
  theirs <- MASS::polr(
    Sat ~ Infl + Type + Cont, MASS::housing, weights = Freq, Hess = TRUE,
    method = "probit"
  )
  for (seed in 1:10) {
    fit <- gibbs_ordinal(
      Sat ~ Infl + Type + Cont, MASS::housing, weights = Freq, seed = seed,
      progress = FALSE
    )
    expect_true(converged(fit))
  }
  ours <- colMeans(as.matrix(fit))[1:8]
  se <- sqrt(diag(stats::vcov(theirs)))
  expect_identical(names(coef(fit)), names(stats::coef(theirs)))
  expect_lt(max(abs(ours - c(stats::coef(theirs), theirs$zeta)) / se), 0.15)
  expect_lt(max(abs(apply(as.matrix(fit)[, 1:8], 2, sd) / se - 1)), 0.1)
  shares <- predict(fit, type = "response")
  expect_identical(dimnames(shares), dimnames(stats::fitted(theirs)))
  expect_lt(max(abs(shares - stats::fitted(theirs))), 0.01)
})

test_that("a weight counts a row so often, and the order of rows is free", {
  skip_long()
  data <- ordered_example()
  data$h <- NULL
  draws <- fast_or(1000, 3000)
  counted <- ordered_fit(r ~ x, data, weights = count, draws = draws)
  rows <- data[rep(seq_len(nrow(data)), data$count), ]
  single <- ordered_fit(r ~ x, rows, draws = draws)
  expect_identical(nobs(counted), sum(data$count > 0))
  expect_same_means(counted, single, 1:4)
})

test_that("pieces, thinning, extend() and resume() give the same bits", {
  skip_long()
  data <- ordered_example()
  formulas <- c(r ~ x + (x | g) + (1 | h), r ~ x)
  for (formula in formulas[fast_or(1, 1:2)]) {
    run <- function(draws, thin = 1, ...) {
      quietly(gibbs_ordinal(
        formula, data, draws = draws, burnin = 10, thin = thin, chains = 2,
        seed = 1, progress = FALSE, ...
      ))
    }
    expect_same_pieces(run)
  }
})

test_that("a fit without its data goes on, and takes none", {
  data <- ordered_example()
  fit <- ordered_fit(r ~ x, data)
  bare <- drop_data(fit)
  expect_identical(
    as.matrix(quietly(extend(bare, 5, progress = FALSE))),
    as.matrix(quietly(extend(fit, 5, progress = FALSE)))
  )
  expect_gibbsite_error(extend(bare, 5, data = data, progress = FALSE))
})

test_that("predictions are those of the stored draws", {
  data <- ordered_example()
  fit <- ordered_fit(r ~ x + (x | g) + (1 | h), data, offset = o)
  draws <- as.matrix(fit)
  g <- match(data$g, letters)
  h <- match(data$h, letters)
  eta <- vapply(seq_along(g), function(i) {
    data$o[[i]] + data$x[[i]] * draws[, "x"] +
      draws[, paste0("u[1,1,", g[[i]], "]")] +
      draws[, paste0("u[1,2,", g[[i]], "]")] * data$x[[i]] +
      draws[, paste0("u[2,1,", h[[i]], "]")]
  }, numeric(nrow(draws)))
  expect_equal(unname(posterior_linpred(fit)), eta)
  expect_equal(unname(predict(fit)), colMeans(eta))
  below <- lapply(1:3, function(k) {
    stats::pnorm(draws[, paste0("theta[", k, "]")] - eta)
  })
  shares <- array(c(
    below[[1]], below[[2]] - below[[1]], below[[3]] - below[[2]], 1 - below[[3]]
  ), c(dim(eta), 4))
  expect_equal(posterior_epred(fit), shares, ignore_attr = TRUE)
  expect_identical(dimnames(posterior_epred(fit))[[3]], levels(data$r))
  mean <- apply(shares, 2:3, mean)
  expect_equal(fitted(fit), mean, ignore_attr = TRUE)
  expect_identical(colnames(fitted(fit)), levels(data$r))
  band <- predict(fit, type = "response", interval = "mean", level = 0.9)
  expect_identical(nrow(band), 4L * nrow(data))
  expect_equal(band$mean, as.vector(t(mean)))
  expect_equal(band$sd, as.vector(t(apply(shares, 2:3, stats::sd))))
  expect_equal(
    band$upper,
    as.vector(t(apply(shares, 2:3, stats::quantile, 0.95, names = FALSE)))
  )
  most <- levels(data$r)[max.col(mean, "first")]
  class <- predict(fit, type = "class")
  expect_s3_class(class, "ordered")
  expect_identical(as.character(class), most)
  code <- as.integer(data$r)
  each <- vapply(seq_along(code), function(i) {
    log(shares[, i, code[[i]]])
  }, numeric(nrow(draws)))
  expect_equal(unname(log_lik(fit)), each)
  expect_equal(rowSums(log_lik(fit)), unname(draws[, "log_lik"]))
  expect_equal(unname(log_lik(fit, data, offset = data$o)), each)
  new <- withr::with_seed(1, posterior_predict(fit))
  expect_true(all(new %in% 1:4))
  share <- mean(new == 1)
  expect_lt(abs(share - mean(mean[, 1])), 4.5 * sqrt(0.25 / nrow(draws)))
  made <- simulate(fit, 2, seed = 1)
  expect_identical(levels(made$sim_1), levels(data$r))
  both <- augment(fit)
  expect_identical(as.character(both$.fitted), most)
  expect_equal(both$.probability, unname(apply(mean, 1, max)))
  # without the fit's data
  bare <- ordered_fit(
    r ~ x + (x | g) + (1 | h), data, offset = o, keep_data = FALSE
  )
  expect_identical(
    predict(bare, data[1:3, ], "response", offset = data$o[1:3]),
    predict(fit, data[1:3, ], "response", offset = data$o[1:3])
  )
})

test_that("new groups are integrated out", {
  skip_long()
  data <- ordered_example()
  fit <- ordered_fit(r ~ x + (1 | g), data)
  new <- data.frame(x = 2, g = "new")
  expect_error(predict(fit, new), class = "gibbsite_error_level")
  shares <- predict(fit, new, type = "response", allow_new_levels = TRUE)
  draws <- as.matrix(fit)
  wide <- sqrt(1 + draws[, "sd[1,1]"]^2)
  below <- colMeans(stats::pnorm(
    (draws[, paste0("theta[", 1:3, "]")] - 2 * draws[, "x"]) / wide
  ))
  expect_equal(unname(shares[1, ]), unname(diff(c(0, below, 1))))
})

test_that("whole numbers and ordered factors give the same draws", {
  data <- ordered_example()
  data$n <- as.integer(data$r)
  one <- ordered_fit(r ~ x, data)
  other <- ordered_fit(n ~ x, data)
  expect_identical(as.matrix(one), as.matrix(other))
  expect_identical(
    unname(predict(other, type = "class")),
    as.numeric(predict(one, type = "class"))
  )
  expect_true(is.numeric(simulate(other, 1, seed = 1)$sim_1))
})

test_that("missing values are left out, and other methods have their values", {
  data <- ordered_example()
  data$r[[2]] <- NA
  data$x[[5]] <- NA
  fit <- quietly(gibbs_ordinal(
    r ~ x, data, na_action = "exclude", draws = 40, burnin = 10, chains = 2,
    seed = 1, progress = FALSE
  ))
  expect_identical(nobs(fit), nrow(data) - 2L)
  shares <- fitted(fit)
  expect_identical(nrow(shares), nrow(data))
  expect_identical(unname(which(is.na(shares[, 1]))), c(2L, 5L))
  class <- predict(fit, type = "class")
  expect_identical(unname(which(is.na(class))), c(2L, 5L))
  new <- predict(fit, data.frame(x = c(1, NA)), type = "response")
  expect_identical(unname(is.na(new[, 1])), c(FALSE, TRUE))
  expect_identical(family(fit)$link, "probit")
  expect_identical(
    tidy(fit)$label,
    c("slope of x", "threshold between low and some",
      "threshold between some and more", "threshold between more and high",
      "log-likelihood")
  )
  expect_identical(rownames(confint(fit)), c("x", paste0("theta[", 1:3, "]")))
  few <- quietly(update(fit, . ~ m, draws = 10))
  expect_identical(names(coef(few)), "m")
})

test_that("starting values are those given", {
  data <- ordered_example()
  init <- list(
    coefficients = 0.5, thresholds = c(0, 1, 3), Sigma = list(g = matrix(4))
  )
  fit <- ordered_fit(r ~ x + (1 | g), data, draws = 2, inits = list(init, init))
  model <- gibbsite:::fit_part(fit, "model")
  state <- gibbsite:::model_start(model, init)
  expect_equal(gibbsite:::model_init_from_state(model, state), init)
})

test_that("the groups' deviations have names and a covariance", {
  data <- ordered_example()
  fit <- ordered_fit(r ~ x + (1 + m | g) + (1 | h), data)
  draws <- as.matrix(fit)
  effects <- nlme::ranef(fit)
  expect_identical(names(effects), c("g", "h"))
  expect_identical(names(effects$g), c("(Intercept)", "m"))
  expect_equal(effects$g["b", "m"], mean(draws[, "u[1,2,2]"]))
  expect_setequal(nlme::VarCorr(fit)$group, c("g", "h"))
  expect_identical(names(nlme::fixef(fit)), "x")
})

test_that("pictures have a curve for each category", {
  skip_long()
  data <- ordered_example()
  fit <- ordered_fit(r ~ x + f, data)
  made <- gibbsite:::picture_categories(fit, "x", 0.9, NULL)
  shown <- made$table[made$table$category == "some", ]
  new <- data.frame(x = shown$x, f = "p")
  expect_equal(shown$mean, unname(predict(fit, new, "response")[, "some"]))
  expect_equal(tapply(made$table$mean, made$table$x, sum), rep(1, 81),
               ignore_attr = TRUE)
  expect_error(predict(fit, type = "probs"), "`type = \"response\"` has the",
               class = "gibbsite_error_argument")
  withr::local_pdf(withr::local_tempfile())
  expect_identical(plot(fit, type = "response", variable = "f"), fit)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(fit, type = "response"), "ggplot")
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::pp_check(fit), "ggplot")
})

test_that("loo() and kfold() take the categories", {
  skip_long()
  data <- ordered_example()
  fit <- ordered_fit(r ~ x + (1 | g), data)
  folds <- quietly(loo::kfold(fit, K = 3, seed = 1, progress = FALSE))
  expect_true(is.finite(folds$estimates[["elpd_kfold", "Estimate"]]))
  expect_identical(nrow(quietly(loo::loo(fit))$pointwise), nrow(data))
})

test_that("responses that are no ordered categories are refused", {
  data <- ordered_example()
  data$plain <- factor(data$r, ordered = FALSE)
  data$text <- as.character(data$r)
  data$two <- ordered(data$r > "low")
  data$yes <- data$r > "low"
  data$wide <- factor(data$r, c(levels(data$r), "top", "none"), ordered = TRUE)
  data$gap <- 2 * as.integer(data$r) - 1
  data$zero <- as.integer(data$r) - 1
  data$many <- ifelse(data$zero == 0, 1, 5000)
  expect_gibbsite_error({
    gibbs_ordinal(plain ~ x, data)
    gibbs_ordinal(text ~ x, data)
    gibbs_ordinal(yes ~ x, data)
    gibbs_ordinal(factor(yes) ~ x, data)
    gibbs_ordinal(two ~ x, data)
    gibbs_ordinal(zero ~ x, data)
    gibbs_ordinal(v ~ x, data)
    gibbs_ordinal(many ~ x, data)
  })
  expect_gibbsite_error(class = "gibbsite_error_empty", {
    gibbs_ordinal(wide ~ x, data)
    gibbs_ordinal(gap ~ x, data)
    gibbs_ordinal(r ~ x, data, subset = r != "low")
  })
})

test_that("other arguments that cannot be are refused", {
  data <- ordered_example()
  expect_gibbsite_error(class = "gibbsite_error_formula", {
    gibbs_ordinal(r ~ 0 + x, data)
    gibbs_ordinal(r ~ x - 1 + (1 | g), data)
    gibbs_ordinal(r ~ s(x), data)
  })
  expect_gibbsite_error({
    gibbs_ordinal(r ~ x, data, weights = v)
    gibbs_ordinal(r ~ x, data, weights = 0 * x)
    gibbs_ordinal(r ~ x, data, logistic_prior())
    gibbs_ordinal(r ~ x, data, ordinal_prior(slope_variance = Inf))
    gibbs_ordinal(r ~ x, data, chains = 1, inits = list(
      list(thresholds = c(1, 3, 2))
    ))
    gibbs_ordinal(r ~ x, data, chains = 1, inits = list(
      list(thresholds = 1:2)
    ))
    ordinal_prior(threshold_sd = 0)
    gibbs_ordinal(r ~ x, data, ordinal_prior(slope_sd = c("(Intercept)" = 1)))
  })
})

test_that("what categories do not have is refused", {
  data <- ordered_example()
  fit <- ordered_fit(r ~ x, data)
  expect_gibbsite_error({
    residuals(fit)
    bayes_R2(fit)
    predict(fit, interval = "prediction")
    predict(fit, data, trials = 2)
    log_lik(fit, transform(data, r = "other"))
    tidy(fit, exponentiate = TRUE)
  })
})

test_that("a fit and its prior are printed", {
  data <- ordered_example()
  fit <- ordered_fit(r ~ x + (1 | g), data)
  expect_snapshot(prior_summary(fit))
  expect_snapshot(ordinal_prior(slope_sd = 1, threshold_sd = 3))
  expect_identical(
    strsplit(gibbsite:::fit_part(fit, "model")$headline, ":")[[1]][[1]],
    "Hierarchical ordered probit regression"
  )
})
