# Binomial and multinomial responses with many trials, and fractional weights:
# the proposals of gibbs_logistic() with groups and of gibbs_categorical().
# tests/c/test_hlm_count.c and test_hlm_categories.c have their exactness.

trials_example <- function(m = 8, seed = 1) {
  withr::with_seed(seed, {
    data <- data.frame(
      x = stats::rnorm(40), g = rep(letters[1:8], 5),
      h = rep(LETTERS[1:5], each = 8), m = m + (0:39 %% 3)
    )
    u <- stats::rnorm(8, 0, 0.6)[factor(data$g)]
    share <- stats::plogis(-1 + 0.5 * data$x + u)
    data$s <- stats::rbinom(40, data$m, share)
    data$k <- unname(t(vapply(seq_len(40), function(i) {
      drop(stats::rmultinom(1, data$m[[i]], c(share[[i]], 0.3, 0.2)))
    }, numeric(3))))
    data
  })
}

trials_fit <- function(formula, data, ..., draws = 1500) {
  quietly(gibbs_logistic(
    formula, data, draws = draws, burnin = 300, chains = 2, seed = 1,
    progress = FALSE, ...
  ))
}

# The same model with a latent response for each trial.
with_latent <- function(code) {
  with_function("has_proposals", function(success, total) FALSE, code)
}

test_that("proposals have the posterior of latent responses", {
  skip_long()
  data <- trials_example()
  cases <- list(
    list(cbind(s, m - s) ~ x + (1 | g), "logit"),
    list(cbind(s, m - s) ~ x + (1 + x | g), "probit"),
    list(cbind(s, m - s) ~ x + (1 | g) + (1 | h), "logit"),
    list(cbind(s, m - s) ~ x + (1 | g) + (1 | h), "probit")
  )
  for (case in if (is_extended()) cases else cases[4]) {
    run <- function() {
      trials_fit(
        case[[1]], data, link = case[[2]], draws = fast_or(500, 1500)
      )
    }
    fit <- run()
    other <- with_latent(run())
    expect_identical(colnames(as.matrix(fit)), colnames(as.matrix(other)))
    expect_same_means(fit, other, colnames(as.matrix(fit)))
    expect_error(acceptance(other), "no Metropolis-Hastings steps")
    expect_true(all(acceptance(fit)$rate > 0.7))
    expect_setequal(acceptance(fit)$block, c("coefficients", "groups"))
  }
})

test_that("so have the categories", {
  skip_long()
  data <- trials_example()
  run <- function(formula) {
    quietly(gibbs_categorical(
      formula, data, draws = 1500, burnin = 300, chains = 2, seed = 1,
      progress = FALSE
    ))
  }
  formulas <- c(k ~ x, k ~ x + (1 | g) + (1 | h))
  for (formula in if (is_extended()) formulas else formulas[1]) {
    fit <- run(formula)
    other <- with_latent(run(formula))
    expect_identical(colnames(as.matrix(fit)), colnames(as.matrix(other)))
    expect_same_means(fit, other, colnames(as.matrix(fit)))
    expect_true(all(acceptance(fit)$rate > 0.7))
    expect_error(acceptance(other), "no Metropolis-Hastings steps")
  }
})

test_that("pieces, thinning, extend() and resume() give the same bits", {
  skip_long()
  data <- trials_example()
  formulas <- c(
    cbind(s, m - s) ~ x + (1 | g) + (1 | h), cbind(s, m - s) ~ x + (1 | g)
  )
  for (formula in formulas[fast_or(1, 1:2)]) {
    expect_same_pieces(function(draws, thin = 1, ...) {
      quietly(gibbs_logistic(
        formula, data, draws = draws, burnin = 10, thin = thin, chains = 2,
        seed = 1, progress = FALSE, ...
      ))
    })
  }
  expect_same_pieces(function(draws, thin = 1, ...) {
    quietly(gibbs_categorical(
      k ~ x + (1 | g), data, draws = draws, burnin = 10, thin = thin,
      chains = 2, seed = 1, progress = FALSE, ...
    ))
  })
})

test_that("chains mix and are quick with any number of trials", {
  skip_long()
  for (m in c(1e4, 1e9)) {
    data <- trials_example(m)
    fit <- trials_fit(cbind(s, m - s) ~ x + (1 | g), data)
    expect_true(converged(fit))
    expect_gt(min(convergence(fit)$ess_bulk), 400)
    # with so many trials the groups' own logits are those of the counts
    expect_lt(max(abs(fitted(fit) - data$s / data$m)), 5 / sqrt(m))
  }
  # without groups nearly the normal approximation
  for (link in c("logit", "probit")) {
    fit <- trials_fit(cbind(s, m - s) ~ x + g, data, link = link)
    theirs <- stats::glm(
      cbind(s, m - s) ~ x + g, stats::binomial(link), data
    )
    sd <- sqrt(diag(stats::vcov(theirs)))
    expect_lt(max(abs(coef(fit) - stats::coef(theirs)) / sd), 0.15)
    expect_equal(sqrt(diag(vcov(fit))) / sd, 0 * sd + 1, tolerance = 0.1)
    expect_true(all(acceptance(fit)$rate > 0.9))
  }
})

test_that("a level of failures alone is drawn from the right posterior", {
  skip_long()
  data <- data.frame(
    x = c(0, 0, 1, 1), s = c(30000, 31000, 0, 0), f = c(31000, 30000, 5e4, 5e4)
  )
  prior <- logistic_prior(slope_variance = 25, intercept_variance = 100)
  fit <- trials_fit(cbind(s, f) ~ x, data, prior = prior, draws = 4000)
  # the intercept is known but for .008
  grid <- seq(-60, 0, by = 0.001)
  log_p <- 1e5 * stats::plogis(grid, lower.tail = FALSE, log.p = TRUE) +
    stats::dnorm(grid, 0, 5, log = TRUE)
  p <- exp(log_p - max(log_p))
  mean <- sum(grid * p) / sum(p)
  slope <- posterior::as_draws_array(fit)[, , "x"]
  expect_lt(abs(mean(slope) - mean) / posterior::mcse_mean(slope), 4)
  expect_equal(
    stats::sd(slope), sqrt(sum((grid - mean)^2 * p) / sum(p)), tolerance = 0.05
  )
})

test_that("chains mix where groups are all successes, or far apart", {
  skip_long()
  groups <- data.frame(
    s = c(1e5, 1e5, 0, 3e4, 5e4, 7e4), g = letters[1:6], o = 20 * c(-1, 1)
  )
  groups$f <- 1e5 - groups$s
  for (link in fast_or("logit", c("logit", "probit"))) {
    fit <- trials_fit(cbind(s, f) ~ 1 + (1 | g), groups, link = link)
    expect_gt(min(convergence(fit)$ess_bulk), 400)
    fit <- trials_fit(
      cbind(s, f) ~ 1 + (1 | g), groups[4:6, ], link = link,
      offset = c(-20, 20, -20)
    )
    expect_gt(min(convergence(fit)$ess_bulk), 400)
    expect_equal(unname(fitted(fit)), c(0.3, 0.5, 0.7), tolerance = 1e-2)
  }
  # counts of 0 alone, of as many trials
  counts <- quietly(gibbs_count(
    s ~ 1 + (1 | g), groups, offset = rep(log(1e5), 6), draws = 1500,
    burnin = 300, chains = 2, seed = 1, progress = FALSE
  ))
  expect_gt(min(convergence(counts)$ess_bulk), 400)
})

test_that("weights may be fractions", {
  skip_long()
  data <- trials_example(1)
  data$y <- as.numeric(data$s > 0)
  twice <- rbind(data, data)
  half <- rep(0.5, 80)
  formulas <- c(y ~ x + (1 | g), y ~ x)
  for (formula in formulas[fast_or(1, 1:2)]) {
    prior <- logistic_prior(
      slope_variance = 4, intercept_variance = 100, group_df = 4,
      group_scale = 1
    )
    draws <- fast_or(500, 1500)
    fit <- trials_fit(formula, data, prior = prior, draws = draws)
    other <- trials_fit(
      formula, twice, prior = prior, weights = half, draws = draws
    )
    own <- grep("log_lik", colnames(as.matrix(fit)), invert = TRUE)
    expect_same_means(fit, other, colnames(as.matrix(fit))[own])
    share <- posterior_epred(other)
    failed <- rep(twice$y == 0, each = nrow(share))
    expect_equal(
      rowSums(log_lik(other)), 0.5 * rowSums(log(abs(failed - share)))
    )
  }
  run <- function(data, ...) {
    quietly(gibbs_categorical(
      factor(h) ~ x, data, draws = fast_or(600, 1500), burnin = 300,
      chains = 2, seed = 1,
      prior = logistic_prior(slope_variance = 4, intercept_variance = 100),
      progress = FALSE, ...
    ))
  }
  fit <- run(data)
  expect_same_means(fit, run(twice, weights = half), names(coef(fit)))
  # weights of which the trials are whole and the successes are not
  even <- data.frame(s = c(1, 3, 2, 1, 3, 1), g = letters[c(1, 2, 3, 1, 2, 3)])
  for (formula in c(cbind(s, 4 - s) ~ 1, cbind(s, 4 - s) ~ 1 + (1 | g))) {
    fit <- trials_fit(formula, even, draws = 50, weights = rep(0.5, 6))
    expect_true(all(is.finite(as.matrix(fit))))
    fit <- quietly(gibbs_categorical(
      formula, even, draws = 50, burnin = 10, chains = 1, seed = 1,
      weights = rep(0.5, 6), progress = FALSE
    ))
    expect_true(all(is.finite(as.matrix(fit))))
    expect_match(acceptance(fit)$block, "coefficients|groups", all = FALSE)
  }
})
