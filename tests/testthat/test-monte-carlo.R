# Monte Carlo estimates, their errors, and empirical distributions.

expect_means <- function(draws, expected) {
  testthat::expect_lt(max(abs(z_of_means(draws, as.vector(expected)))), 5)
}

# ---- errors of estimates ----------------------------------------------------

test_that("estimates and errors of independent draws are their formulas", {
  x <- withr::with_seed(1, stats::rexp(500))
  m <- monte_carlo(x, function(x) c(mean = x, square = x^2, late = x > 1))
  f <- cbind(mean = x, square = x^2, late = x > 1)
  expect_equal(m$estimate, colMeans(f))
  expect_equal(coef(m), m$estimate)
  expect_equal(m$mcse, apply(f, 2, sd) / sqrt(500))
  expect_equal(unname(m$ess), rep(500, 3))
  expect_equal(unname(m$df), rep(499, 3))
  expect_equal(
    unname(confint(m, level = 0.9)["mean", ]),
    as.vector(t.test(x, conf.level = 0.9)$conf.int)
  )
  expect_identical(rownames(confint(m, "late")), "late")
  expect_identical(
    as.data.frame(m, level = 0.9)$upper, unname(confint(m, level = 0.9)[, 2])
  )
  all <- monte_carlo(
    x, function(x, power) cbind(mean = x, square = x^power, late = x > 1),
    power = 2, vectorised = TRUE
  )
  expect_equal(all, m)
  expect_equal(monte_carlo(cbind(a = x, b = 2))$estimate, c(a = mean(x), b = 2))
  fixed <- monte_carlo(x, function(x) 3)
  expect_identical(unname(confint(fixed)[1, ]), c(3, 3))
  expect_true(is.na(fixed$ess))
})

test_that("one draw has no error", {
  one <- monte_carlo(5)
  expect_identical(unname(one$mcse), NA_real_)
  expect_identical(unname(confint(one)[1, ]), c(NA_real_, NA_real_))
  expect_output(print(one), "NA")
  only <- monte_carlo(empirical_distribution(c(1, 2), c(0, 3)))
  expect_identical(unname(c(only$mcse, only$df)), c(NA_real_, NA_real_))
  fit <- suppressWarnings(gibbs_lm(eruptions ~ waiting, faithful, draws = 1,
                                   burnin = 0, chains = 1, seed = 1,
                                   progress = FALSE))
  expect_true(all(is.na(monte_carlo(fit)$mcse)))
  expect_true(all(is.na(summary(fit)$mcse_mean)))
  # several equal values have error 0
  expect_identical(unname(monte_carlo(c(5, 5))$mcse), 0)
})

test_that("the error is right if one weight is nearly 1", {
  for (other in c(1e-3, 1e-9, 1e-20)) {
    for (x in list(c(1, 3), c(3, 1))) {
      weights <- if (x[[1]] == 1) c(1, other) else c(other, 1)
      m <- monte_carlo(empirical_distribution(x, weights))
      # sum w_s^2 r_s^2 / (1 - w_s), residuals 2 w and -2 (1 - w)
      w <- other / (1 + other)
      expect_equal(
        m$mcse[["f"]], 2 * sqrt(w^2 / (1 + other)^2 * (1 / w + (1 + other))),
        tolerance = 1e-12
      )
    }
  }
})

test_that("chains of numbers are chains", {
  x <- withr::with_seed(2, matrix(stats::rnorm(200), 100))
  x[, 2] <- x[, 2] + 1
  error <- posterior::mcse_mean(x)
  list <- coda::mcmc.list(coda::mcmc(x[, 1]), coda::mcmc(x[, 2]))
  rvar <- posterior::rvar(as.vector(x), nchains = 2)
  for (draws in list(list, rvar)) {
    m <- monte_carlo(draws)
    expect_equal(m$mcse, c(f = error))
    expect_equal(m$estimate, c(f = mean(x)))
  }
  expect_equal(
    monte_carlo(coda::mcmc(x[, 1], thin = 5))$mcse[["f"]],
    posterior::mcse_mean(x[, 1, drop = FALSE])
  )
  positive <- monte_carlo(list, function(x) x > 0)
  expect_equal(positive$estimate[["f"]], mean(x > 0))
  several <- posterior::rvar(cbind(as.vector(x), 1), nchains = 2)
  expect_equal(monte_carlo(several)$mcse[["x[1]"]], error)
})

test_that("errors of chains are those of summary()", {
  skip_long()
  fit <- suppressWarnings(gibbs_gmm(faithful, 2, draws = 100, burnin = 50,
                                    chains = 2, seed = 1, progress = FALSE))
  m <- monte_carlo(fit)
  array <- as.array(fit)
  expect_equal(m$estimate, apply(array, 3, mean))
  errors <- apply(array, 3, posterior::mcse_mean)
  errors[is.na(errors)] <- 0 # a constant
  expect_equal(m$mcse, errors)
  expect_equal(m$ess[["log_lik"]], var(as.vector(array[, , "log_lik"])) /
                 posterior::mcse_mean(array[, , "log_lik"])^2)
  for (form in list(as.mcmc.list(fit), as_draws_array(fit), as_draws_df(fit))) {
    expect_equal(monte_carlo(form)[1:4], m[1:4])
  }
  one <- monte_carlo(fit, function(x) exp(-x[["mu[1,1]"]]))
  expect_equal(
    one$mcse[["f"]], posterior::mcse_mean(exp(-array[, , "mu[1,1]"]))
  )
  single <- coda::as.mcmc(fit[1][[1]])
  expect_equal(
    monte_carlo(single)$mcse[["log_lik"]],
    posterior::mcse_mean(array[, 1, "log_lik"])
  )
  expect_output(print(m), "200 draws of 2 Markov chains")
})

test_that("weighted points have the error of a ratio of means", {
  x <- withr::with_seed(2, stats::rnorm(300))
  w <- exp(x / 2)
  m <- monte_carlo(empirical_distribution(x, w), function(x) x^2)
  share <- w / sum(w)
  mean <- sum(share * x^2)
  expect_equal(m$estimate[["f"]], mean)
  expect_equal(
    m$mcse[["f"]], sqrt(sum(share^2 * (x^2 - mean)^2 / (1 - share)))
  )
  # equal weights: independent draws
  expect_equal(
    monte_carlo(empirical_distribution(x, rep(2, 300)))[1:4],
    monte_carlo(x)[1:4]
  )
})

test_that("antithetic and control variates are their formulas", {
  u <- withr::with_seed(3, stats::runif(400))
  a <- monte_carlo(u, exp, antithetic = function(u) 1 - u)
  pairs <- (exp(u) + exp(1 - u)) / 2
  expect_equal(a$estimate[["f"]], mean(pairs))
  expect_equal(a$mcse[["f"]], sd(pairs) / 20)
  expect_equal(a$ess[["f"]], var(exp(u)) / (var(pairs) / 400))
  g <- function(u) c(u, u^2)
  b <- monte_carlo(u, exp, control = g, control_mean = c(1 / 2, 1 / 3))
  regression <- lm(exp(u) ~ I(u - 1 / 2) + I(u^2 - 1 / 3))
  expect_equal(b$estimate[["f"]], coef(regression)[[1]])
  expect_equal(as.vector(b$coefficients), unname(coef(regression)[2:3]))
  # the sandwich of White's estimate, HC2
  z <- model.matrix(regression)
  inverse <- solve(crossprod(z))
  meat <- crossprod(z * resid(regression) / sqrt(1 - hatvalues(regression)))
  expect_equal(b$mcse[["f"]], sqrt((inverse %*% meat %*% inverse)[1, 1]))
  expect_equal(b$df[["f"]], 397)
  # weighted, and a control of the weights' own draws
  w <- seq(0.5, 1.5, length.out = 400)
  weighted <- monte_carlo(
    empirical_distribution(u, w), exp, control = identity, control_mean = 1 / 2
  )
  expect_equal(
    weighted$estimate[["f"]],
    coef(lm(exp(u) ~ I(u - 1 / 2), weights = w))[[1]]
  )
  # a control that is the function itself leaves no error
  exact <- monte_carlo(u, identity, control = identity, control_mean = 1 / 2)
  expect_equal(exact$estimate[["f"]], 1 / 2)
  expect_lt(exact$mcse[["f"]], 1e-15)
  # collinear controls are one
  twice <- monte_carlo(
    u, exp, control = function(u) c(u, 2 * u), control_mean = c(1 / 2, 1)
  )
  once <- monte_carlo(u, exp, control = identity, control_mean = 1 / 2)
  expect_equal(twice$mcse, once$mcse)
  both <- monte_carlo(
    cbind(u, v = u^2), function(x) exp(x[["u"]]), antithetic = function(x) {
      c(1 - x[["u"]], (1 - x[["u"]])^2)
    },
    control = function(x) x[["v"]], control_mean = 1 / 3
  )
  expect_lt(both$mcse[["f"]], a$mcse[["f"]] / 4)
  expect_lt(abs(both$estimate[["f"]] - exp(1) + 1), 5 * both$mcse[["f"]])
})

# Intervals of level 0.9 and 0.99 cover the expectation as often as they say:
# counts within 4.5 standard deviations.
covers <- function(estimate, expected, replications) {
  inside <- replicate(replications, {
    m <- estimate()
    vapply(c(0.9, 0.99), function(level) {
      ends <- confint(m, level = level)
      all(ends[, 1] <= expected & expected <= ends[, 2])
    }, NA)
  })
  counts <- rowSums(inside)
  sd <- sqrt(replications * c(0.09, 0.0099))
  abs(counts - replications * c(0.9, 0.99)) / sd
}

test_that("intervals cover the expectation", {
  skip_unless_extended()
  set.seed(4)
  replications <- 1000
  shifted <- function() {
    sample_importance(1000, function(x) -x^2 / 2, independence(0.3, 1.5))
  }
  chain <- function() {
    x <- stats::filter(stats::rnorm(1100), 0.8, "recursive")
    coda::mcmc(matrix(x[-(1:100)], dimnames = list(NULL, "x")))
  }
  cases <- list(
    independent = function() {
      monte_carlo(stats::rnorm(200), function(x) x^2 + x, vectorised = TRUE)
    },
    antithetic = function() {
      monte_carlo(
        stats::runif(200), exp, antithetic = function(u) 1 - u,
        vectorised = TRUE
      )
    },
    control = function() {
      monte_carlo(
        stats::runif(100), exp, control = function(u) cbind(u, u^3),
        control_mean = c(1 / 2, 1 / 4), vectorised = TRUE
      )
    },
    weighted = function() monte_carlo(shifted(), vectorised = TRUE),
    weighted_control = function() {
      monte_carlo(
        shifted(), function(x) x^4 + x, control = function(x) x^2,
        control_mean = 1, vectorised = TRUE
      )
    },
    chains = function() {
      monte_carlo(coda::mcmc.list(chain(), chain()), vectorised = TRUE)
    }
  )
  expected <- c(1, exp(1) - 1, exp(1) - 1, 0, 3, 0)
  for (k in seq_along(cases)) {
    expect_lt(max(covers(cases[[k]], expected[[k]], replications)), 4.5)
  }
  # an error of chains that were taken for independent draws
  wrong <- function() {
    monte_carlo(as.vector(chain()), vectorised = TRUE)
  }
  expect_gt(max(covers(wrong, 0, replications)), 4.5)
})

test_that("monte_carlo() names what is wrong", {
  skip_long()
  u <- c(0.1, 0.6, 0.3)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    monte_carlo("a")
    monte_carlo(c(1, NA))
    monte_carlo(u, 3)
    monte_carlo(u, exp, control = identity)
    monte_carlo(u, exp, control = identity, control_mean = 1:2)
    monte_carlo(u, exp, control = function(x) c(x, x^2), control_mean = 1:2)
    monte_carlo(empirical_distribution(u, 1:3), antithetic = identity)
    monte_carlo(structure(list(), class = "mcmc.list"))
    confint(monte_carlo(u), "no")
    confint(monte_carlo(u), level = 2)
    print(structure(list(estimate = 1), class = "monte_carlo"))
  })
  expect_gibbsite_error(class = "gibbsite_error_numeric", {
    monte_carlo(u, function(x) stop("no"))
    monte_carlo(u, function(x) if (x > 0.5) 1:2 else 1)
    monte_carlo(u, function(x) log(x - 0.3 > 0.1))
    monte_carlo(u, function(x) "a")
    monte_carlo(u, sum, vectorised = TRUE)
    monte_carlo(cbind(u, 1), antithetic = function(x) -x[[1]])
  })
})

test_that("a Monte Carlo estimate prints", {
  u <- withr::with_seed(5, stats::runif(1000))
  expect_snapshot({
    print(monte_carlo(u, exp))
    print(
      monte_carlo(
        u, function(u) c(a = u, b = 1), antithetic = function(u) 1 - u,
        control = function(u) u^2, control_mean = 1 / 3
      ),
      level = 0.9
    )
  })
})

# ---- empirical distributions ------------------------------------------------

test_that("means, quantiles and the cdf are those of weighted points", {
  x <- c(3, 1, 2, 2, 5)
  w <- c(1, 2, 0.5, 0.5, 0)
  e <- empirical_distribution(x, w)
  expect_equal(weights(e), w / 4)
  expect_equal(mean(e), (3 + 2 + 2) / 4)
  # 1 has 1/2, 2 and 3 have 1/4 each
  expect_identical(
    unname(quantile(e, c(0, 0.5, 0.500001, 0.75, 0.76, 1))), c(1, 1, 2, 2, 3, 3)
  )
  cdf <- as.stepfun(e)
  expect_equal(cdf(c(0.9, 1, 1.9, 2, 2.9, 3, 9)), c(0, 2, 2, 3, 3, 4, 4) / 4)
  expect_equal(knots(cdf), c(1, 2, 3))
  expect_equal(summary(e)$sd, sqrt(sum(w / 4 * (x - 1.75)^2)))
  # equal weights: stats
  z <- withr::with_seed(6, stats::rnorm(57))
  equal <- empirical_distribution(z)
  p <- c((0:57) / 57, 0.1234)
  expect_equal(
    unname(quantile(equal, p)), unname(quantile(z, p, type = 1))
  )
  expect_equal(as.stepfun(equal)(sort(z)), ecdf(z)(sort(z)))
  two <- empirical_distribution(faithful, seq_len(272))
  expect_equal(
    mean(two), vapply(faithful, weighted.mean, 0, w = seq_len(272))
  )
  expect_identical(dim(quantile(two)), c(2L, 5L))
  expect_equal(as.data.frame(two)$weight, seq_len(272) / sum(seq_len(272)))
  expect_snapshot(print(e))
  expect_snapshot(print(two))
})

test_that("resampling draws by weight", {
  e <- empirical_distribution(c(1, 2, 3, 4), c(4, 3, 2, 1))
  set.seed(7)
  for (method in c("simple", "stratified")) {
    x <- resample_draws(e, 4000, method = method)
    count <- tabulate(x, 4)
    expect_gt(chisq.test(count, p = (4:1) / 10)$p.value, 1e-6)
  }
  # a stratified sample has each point almost as often as its weight says
  expect_lt(max(abs(count - 400 * (4:1))), 3)
  expect_identical(
    dim(resample_draws(empirical_distribution(faithful))), c(272L, 2L)
  )
})

test_that("empirical distributions are drawn", {
  skip_long()
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  set.seed(8)
  shown <- list(
    empirical_distribution(faithful), empirical_distribution(5),
    empirical_distribution(rpois(100, 3)), empirical_distribution(rcauchy(500)),
    empirical_distribution(c(0, 0, 0, 0, 0.5), c(1, 1, 1, 1, 1e-9))
  )
  before <- graphics::par("mfrow")
  for (e in shown) {
    for (type in c("histogram", "cdf", "weights")) {
      expect_identical(plot(e, type), e)
    }
  }
  expect_identical(graphics::par("mfrow"), before)
  # two groups far from each other have several bars each
  two <- sample_importance(272, function(x) {
    log(dnorm(x, -6, 0.5) / 2 + dnorm(x, 6, 0.5) / 2)
  }, independence(0, 100, df = 3))
  bars <- picture_empirical(two, "histogram", "x")$table
  expect_gt(sum(bars$ymax > 0.05), 4)
  expect_lt(max(abs(bars[c("xmin", "xmax")])), 10)
  expect_equal(sum(bars$ymax * (bars$xmax - bars$xmin)), 1, tolerance = 0.01)
  # points of tiny weight do not stretch an axis
  cdf <- picture_empirical(two, "cdf", "x")$table
  expect_lt(max(abs(cdf$x)), 10)
  stems <- picture_empirical(two, "weights", "x")
  expect_equal(max(stems$table$yend), max(weights(two)))
  expect_true(all(stems$table$x %in% two$x))
  expect_match(stems$note, "Effective size [0-9]+ of 272 points")
  expect_identical(drawn(plot(two, "weights"))$pictures[[1]], stems)
  # points with one value have one line
  ties <- empirical_distribution(c(3, 1, 3, 2), c(1, 2, 3, 4))
  stems <- picture_empirical(ties, "weights", "x")$table
  expect_equal(stems$yend[order(stems$x)], c(0.2, 0.4, 0.4))
  # bars have the weights as their areas
  breaks <- gibbsite:::histogram_breaks(c(1, 2, 2, 7), rep(1 / 4, 4), 4)
  expect_identical(breaks, seq(0.5, 7.5))
})

test_that("empirical distributions name wrong arguments", {
  skip_long()
  e <- empirical_distribution(faithful)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    empirical_distribution(c(1, NA))
    empirical_distribution(1:3, 1:2)
    empirical_distribution(1:3, c(1, -1, 2))
    empirical_distribution(1:3, c(0, 0, 0))
    quantile(e, 2)
    as.stepfun(e)
    plot(e, variables = "no")
    plot(e, "violin")
    resample_draws(e, 0)
    as.data.frame(empirical_distribution(data.frame(weight = 1:2)))
    print(structure(list(x = 1), class = "empirical_distribution"))
  })
})

test_that("estimates have a summary, broom's table and a picture", {
  draws <- withr::with_seed(1, cbind(a = rnorm(100), b = rnorm(100, 3)))
  estimate <- monte_carlo(draws)
  expect_identical(summary(estimate), as.data.frame(estimate))
  expect_identical(
    summary(estimate, level = 0.5), as.data.frame(estimate, level = 0.5)
  )
  tidied <- tidy(estimate, conf.level = 0.5)
  expect_identical(tidied$term, c("a", "b"))
  expect_identical(tidied$std.error, unname(estimate$mcse))
  expect_identical(
    as.matrix(tidied[c("conf.low", "conf.high")]),
    unname(confint(estimate, level = 0.5)), ignore_attr = TRUE
  )
  withr::local_pdf(NULL)
  expect_identical(plot(estimate), estimate)
  expect_silent(plot(monte_carlo(1)))
  expect_silent(plot(monte_carlo(c(0, 0))))
  expect_gt(
    nchar(capture.output(print(estimate, digits = 6))[[3]]),
    nchar(capture.output(print(estimate))[[3]])
  )
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    summary(estimate, levels = 1)
    tidy(estimate, conf.level = 2)
    plot(estimate, n = 0)
  })
})
