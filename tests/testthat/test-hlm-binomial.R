# gibbs_logistic() with groups: its methods and errors.
# test-hlm-binomial-exact.R has the sampler.

group_fit <- short_fit(quote(gibbs_logistic))

test_that("default calls converge, and the posterior is near glmer's", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  found <- new.env()
  utils::data("cbpp", package = "lme4", envir = found)
  formula <- cbind(incidence, size - incidence) ~ period + (1 | herd)
  for (seed in 1:10) {
    fit <- gibbs_logistic(formula, found$cbpp, seed = seed, progress = FALSE)
    expect_true(converged(fit))
  }
  theirs <- lme4::glmer(formula, found$cbpp, family = stats::binomial)
  se <- sqrt(diag(as.matrix(stats::vcov(theirs))))
  ours <- nlme::fixef(fit)
  expect_identical(names(ours), names(lme4::fixef(theirs)))
  expect_lt(max(abs(ours - lme4::fixef(theirs)) / se), 0.3)
  expect_gt(cor(nlme::ranef(fit)$herd, lme4::ranef(theirs)$herd)[[1]], 0.99)
})

test_that("pieces, thinning, extend() and resume() give the same bits", {
  skip_long()
  data <- binomial_example()
  run <- function(draws, thin = 1, ...) {
    quietly(gibbs_logistic(
      hit ~ x + (x | g), data, draws = draws, burnin = 10, thin = thin,
      chains = 2, seed = 1, progress = FALSE, ...
    ))
  }
  expect_same_pieces(run)
})

test_that("predictions are those of the stored draws", {
  skip_long()
  data <- binomial_example()
  for (link in c("logit", "probit")) {
    fit <- group_fit(
      cbind(s, trials - s) ~ x + (x | g), data, offset = o, link = link
    )
    f <- if (link == "logit") stats::plogis else stats::pnorm
    draws <- as.matrix(fit)
    at <- match(data$g, letters)
    eta <- vapply(seq_along(at), function(i) {
      draws[, paste0("w[1,", at[[i]], "]")] + data$o[[i]] +
        draws[, paste0("w[2,", at[[i]], "]")] * data$x[[i]]
    }, numeric(nrow(draws)))
    expect_equal(unname(posterior_linpred(fit)), eta)
    expect_equal(unname(posterior_epred(fit)), f(eta))
    expect_equal(unname(fitted(fit)), colMeans(f(eta)))
    band <- predict(fit, type = "response", interval = "mean", level = 0.9)
    expect_equal(band$sd, apply(f(eta), 2, stats::sd))
    expect_equal(
      band$upper, f(apply(eta, 2, stats::quantile, 0.95, names = FALSE))
    )
    expect_equal(
      unname(log_lik(fit)),
      matrix(
        stats::dbinom(
          rep(data$s, each = nrow(eta)), rep(data$trials, each = nrow(eta)),
          f(eta), log = TRUE
        ), nrow(eta)
      )
    )
    expect_equal(rowSums(log_lik(fit)), unname(draws[, "log_lik"]))
    expect_identical(family(fit)$link, link)
    new <- withr::with_seed(1, posterior_predict(fit))
    expect_true(all(new <= rep(data$trials, each = nrow(new)) & new >= 0))
    expect_equal(
      residuals(fit, "response"), data$s / data$trials - fitted(fit),
      ignore_attr = TRUE
    )
  }
})

test_that("new groups are integrated out", {
  skip_long()
  data <- binomial_example()
  for (link in c("logit", "probit")) {
    fit <- group_fit(hit ~ x + (x | g), data, link = link)
    f <- if (link == "logit") stats::plogis else stats::pnorm
    new <- data.frame(x = 2, g = "new")
    expect_error(predict(fit, new), class = "gibbsite_error_level")
    band <- predict(
      fit, new, "response", interval = "mean", allow_new_levels = TRUE
    )
    draws <- as.matrix(fit)
    mean <- draws[, "(Intercept)"] + 2 * draws[, "x"]
    sd <- sqrt(
      draws[, "sd[1]"]^2 + 4 * draws[, "sd[2]"]^2 +
        4 * draws[, "cor[2,1]"] * draws[, "sd[1]"] * draws[, "sd[2]"]
    )
    moment <- function(power) {
      mean(mapply(function(m, s) {
        stats::integrate(
          function(z) f(m + s * z)^power * stats::dnorm(z), -Inf, Inf,
          rel.tol = 1e-10, subdivisions = 1000
        )$value
      }, mean, sd))
    }
    expect_equal(band$mean, moment(1), tolerance = 1e-7)
    # of the draws of a mixture, with the sample's divisor
    n <- nrow(draws)
    each <- band$sd^2 + band$mean^2 - moment(2)
    expect_lt(abs(each), band$sd^2 / (n - 1) * 2)
    inverse <- if (link == "logit") stats::qlogis else stats::qnorm
    below <- mean(stats::pnorm((inverse(band$lower) - mean) / sd))
    expect_equal(below, 0.025, tolerance = 1e-6)
  }
})

test_that("Owen's T is that of its derivative and its special values", {
  h <- c(0, 0.3, 1, 2.5, 6)
  expect_equal(
    gibbsite:::owen_t(h, 1), stats::pnorm(h) * stats::pnorm(-h) / 2,
    tolerance = 1e-13
  )
  expect_equal(gibbsite:::owen_t(0, 0.4), atan(0.4) / (2 * pi))
})

test_that("responses of every kind give the same fit", {
  skip_long()
  data <- binomial_example()
  data$factor <- factor(ifelse(data$hit, "yes", "no"))
  data$number <- as.numeric(data$hit)
  logical <- group_fit(hit ~ x + (1 | g), data)
  for (formula in c(
    factor ~ x + (1 | g), number ~ x + (1 | g),
    cbind(hit, 1 - hit) ~ x + (1 | g)
  )) {
    fit <- group_fit(formula, data)
    expect_identical(as.matrix(fit), as.matrix(logical))
  }
  fit <- group_fit(factor ~ x + (1 | g), data)
  expect_identical(levels(predict(fit, type = "class")), c("no", "yes"))
  # a weight counts an observation several times
  if (is_extended()) {
    twice <- group_fit(hit ~ x + (1 | g), data, weights = count)
    rows <- rep(seq_len(nrow(data)), data$count)
    repeated <- group_fit(hit ~ x + (1 | g), data[rows, ], draws = 4000)
    twice <- longer(twice, 3800)
    twice_draws <- as.matrix(twice)[, 1:3]
    repeated <- as.matrix(repeated)[, 1:3]
    z <- (colMeans(twice_draws) - colMeans(repeated)) /
      apply(repeated, 2, stats::sd)
    expect_lt(max(abs(z)), 0.25)
    expect_identical(ncol(log_lik(twice)), sum(data$count > 0))
  }
})

test_that("rows are left out and filled in as for other regressions", {
  data <- binomial_example()
  data$hit[3] <- NA
  fit <- group_fit(hit ~ x + (1 | g), data, na_action = "exclude")
  expect_true(is.na(fitted(fit)[[3]]))
  expect_length(residuals(fit), nrow(data))
  expect_identical(nobs(fit), nrow(data) - 1L)
  expect_error(
    group_fit(hit ~ x + (1 | g), data), class = "gibbsite_error_missing"
  )
})

test_that("other methods answer", {
  skip_long()
  data <- binomial_example()
  fit <- group_fit(cbind(s, trials - s) ~ x + (x | g), data)
  expect_s3_class(fit, c("gibbs_logistic", "gibbsite_regression"))
  expect_match(utils::capture.output(print(fit))[[1]], "<gibbs_logistic>")
  expect_identical(dim(nlme::ranef(fit)$g), c(6L, 2L))
  expect_identical(
    rownames(nlme::VarCorr(fit)), c("sd[1]", "sd[2]", "cor[2,1]")
  )
  w <- as.matrix(fit)[, c("w[1,2]", "w[2,2]")]
  expect_equal(unlist(coef(fit)$g[2, ]), colMeans(w), ignore_attr = TRUE)
  expect_length(bayes_R2(fit), 400)
  expect_identical(rownames(confint(fit))[1:2], c("(Intercept)", "x"))
  expect_identical(
    dim(posterior_predict(fit, data[1:3, ], ndraws = 7, trials = 5)), c(7L, 3L)
  )
  expect_snapshot(print(prior_summary(fit)))
  expect_snapshot(gibbsite:::model_labels(gibbsite:::fit_part(fit, "model")))
  inits <- list(list(Sigma = diag(2)), list(Sigma = 4 * diag(2)))
  expect_s3_class(
    group_fit(hit ~ x + (x | g), data, inits = inits), "gibbs_logistic"
  )
  path <- withr::local_tempfile(fileext = ".png")
  grDevices::png(path)
  plot(fit)
  plot(fit, type = "coefficients")
  plot(fit, type = "trace", variables = "sd[1]")
  grDevices::dev.off()
  expect_gt(file.size(path), 1000)
  expect_s3_class(suppressWarnings(loo::loo(fit)), "loo")
})

test_that("convergence is judged on the coefficients of 20 groups at most", {
  data <- data.frame(
    y = rep(c(TRUE, FALSE, TRUE), 30), g = rep(seq_len(45), 2), x = 1:90 / 90
  )
  fit <- group_fit(y ~ x + (x | g), data, draws = 20)
  names <- convergence(fit)$variable
  groups <- unique(sub(".*,(.*)]", "\\1", grep("^w", names, value = TRUE)))
  expect_length(groups, 20)
  expect_true(all(c("1", "45") %in% groups))
  expect_setequal(
    setdiff(names, grep("^w", names, value = TRUE)),
    c("(Intercept)", "x", "sd[1]", "sd[2]", "cor[2,1]", "log_lik")
  )
  expect_length(tidy(fit)$term, 6L + 90L)
})

test_that("mistakes are named", {
  skip_long()
  data <- binomial_example()
  fit <- group_fit(hit ~ x + (x | g), data)
  expect_gibbsite_error({
    plot(fit, type = "shrinkage")
    log_lik(fit, by = "row")
    gibbs_logistic(y ~ x + (1 | g), data)
    gibbs_logistic(hit ~ x + (1 | g), data, logistic_prior(diag(2)))
    gibbs_logistic(hit ~ x + (1 | g), data, inits = list(list(u = 1)))
    posterior_predict(fit, trials = 3)
    gibbs_logistic(hit ~ (1 | g), data, logistic_prior(group_df = -1))
  })
})
