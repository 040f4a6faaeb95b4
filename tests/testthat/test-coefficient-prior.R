# Priors of each coefficient of a regression: means and widths by name.

rows <- withr::with_seed(2, {
  out <- data.frame(x = stats::rnorm(40, 1), v = stats::rnorm(40, -1, 3))
  out$y <- stats::rbinom(40, 1, stats::plogis(out$x))
  out$z <- out$x + 0.2 * out$v + stats::rnorm(40)
  out$g <- gl(5, 8)
  out
})
quick <- function(sampler, ..., draws = 50, burnin = 20, chains = 2) {
  given <- list(..., draws = draws, chains = chains, seed = 1, progress = FALSE)
  if (!identical(sampler, laplace_logistic)) given$burnin <- burnin
  suppressMessages(suppressWarnings(do.call(sampler, given)))
}

# 5 Monte Carlo standard errors of each column's mean
expect_means <- function(fit, expected) {
  table <- summary(fit)
  at <- match(names(expected), table$variable)
  expect_true(all(
    abs(table$mean[at] - expected) < 5 * table$mcse_mean[at]
  ))
}

test_that("the conjugate posterior and its evidence have the means", {
  prior <- lm_prior("nig", slope_mean = c(x = 3), slope_sd = c(x = 0.1))
  fit <- quick(gibbs_lm, z ~ x + v, rows, prior, draws = 4000, burnin = 0)
  p <- prior_summary(fit)
  expect_equal(p$slope_mean, c(x = 3, v = 0))
  expect_equal(1 / p$scale[["x"]], 0.1)
  middle <- colMeans(rows[c("x", "v")])
  x <- cbind(1, sweep(as.matrix(rows[c("x", "v")]), 2, middle))
  q <- diag(c(1 / p$intercept_sd^2, p$lambda * p$scale^2))
  m <- c(p$intercept_mean, 3, 0)
  qn <- crossprod(x) + q
  mn <- drop(solve(qn, crossprod(x, rows$z) + q %*% m))
  a <- p$noise_shape + 20
  b <- p$noise_rate +
    drop(sum(rows$z^2) + m %*% q %*% m - mn %*% qn %*% mn) / 2
  expect_means(fit, c(
    "(Intercept)" = mn[[1]] - sum(mn[-1] * middle), x = mn[[2]], v = mn[[3]]
  ))
  expect_equal(
    as.numeric(log_evidence(fit)),
    (log(det(q)) - log(det(qn))) / 2 - 20 * log(2 * pi) +
      p$noise_shape * log(p$noise_rate) - a * log(b) + lgamma(a) -
      lgamma(p$noise_shape)
  )
})

test_that("a slope is Student t under the hierarchical prior", {
  skip_unless_extended()
  prior <- lm_prior(
    slope_shape = 2, noise_shape = 3, noise_rate = 4, slope_mean = 2.5,
    slope_sd = 0.3, intercept_mean = 0,
    intercept_sd = 1
  )
  fit <- quick(gibbs_lm, z ~ x, rows, prior, draws = 4000, burnin = 200)
  middle <- mean(rows$x)
  # alpha and sigma by a grid, with the t density of the slope
  grid <- expand.grid(
    w = seq(0, 4, length.out = 81), alpha = seq(-1.5, 2.5, length.out = 81),
    beta = seq(0.05, 3, length.out = 60)
  )
  n <- nrow(rows)
  xc <- rows$x - middle
  squares <- sum(rows$z^2) + n * grid$alpha^2 + grid$w^2 * sum(xc^2) -
    2 * grid$alpha * sum(rows$z) - 2 * grid$w * sum(xc * rows$z)
  log_p <- n / 2 * log(grid$beta) - grid$beta * squares / 2 +
    stats::dnorm(grid$alpha, log = TRUE) +
    stats::dt((grid$w - 2.5) / 0.3, 4, log = TRUE) +
    stats::dgamma(grid$beta, 3, 4, log = TRUE)
  p <- exp(log_p - max(log_p))
  expect_means(fit, c(
    x = sum(p * grid$w) / sum(p),
    "(Intercept)" = sum(p * (grid$alpha - grid$w * middle)) / sum(p)
  ))
})

test_that("logistic posteriors have the means and widths, by quadrature", {
  skip_long()
  prior <- logistic_prior(
    intercept_mean = -2, intercept_sd = 1, slope_mean = c(x = 3),
    slope_sd = 0.7
  )
  grid <- expand.grid(
    a = seq(-8, 4, length.out = 201), b = seq(-1, 7, length.out = 201)
  )
  cell <- 12 / 200 * 8 / 200
  for (link in fast_or("logit", c("logit", "probit"))) {
    share <- if (link == "logit") stats::plogis else stats::pnorm
    log_p <- stats::dnorm(grid$a, -2, 1, log = TRUE) +
      stats::dnorm(grid$b, 3, 0.7, log = TRUE)
    for (i in seq_len(nrow(rows))) {
      eta <- (2 * rows$y[[i]] - 1) * (grid$a + grid$b * rows$x[[i]])
      log_p <- log_p + share(eta, log.p = TRUE)
    }
    p <- exp(log_p - max(log_p))
    fit <- quick(
      gibbs_logistic, y ~ x, rows, prior, link = link,
      draws = fast_or(1500, 4000), burnin = 100
    )
    expect_means(fit, c(
      "(Intercept)" = sum(p * grid$a) / sum(p), x = sum(p * grid$b) / sum(p)
    ))
    evidence <- log_evidence(fit)
    exact <- max(log_p) + log(sum(p) * cell)
    expect_lt(abs(as.numeric(evidence) - exact), 0.02)
    if (link == "logit") {
      laplace <- quick(laplace_logistic, y ~ x, rows, prior)
      best <- stats::optim(c(0, 1), function(w) {
        -sum(stats::plogis((2 * rows$y - 1) * (w[1] + w[2] * rows$x),
                           log.p = TRUE)) -
          sum(stats::dnorm(w, c(-2, 3), c(1, 0.7), log = TRUE))
      }, method = "BFGS", control = list(reltol = 1e-14))
      expect_equal(unname(coef(laplace)), best$par, tolerance = 1e-5)
      expect_equal(fit_part(laplace, "model")$log_joint_map, -best$value)
    }
  }
})

test_that("a width is a factor of the default, one word for all", {
  skip_long()
  wide <- function(sampler, formula, ...) {
    prior_summary(quick(sampler, formula, rows, ...))
  }
  plain <- wide(gibbs_lm, z ~ x + v)
  twice <- wide(gibbs_lm, z ~ x + v, lm_prior(slope_scale = 2))
  expect_equal(twice$scale, plain$scale / 2)
  plain <- wide(laplace_logistic, y ~ x + v)
  twice <- wide(laplace_logistic, y ~ x + v, logistic_prior(slope_scale = 5))
  expect_equal(twice$slope_variance[-1], 4 * plain$slope_variance[-1])
  one <- wide(
    laplace_logistic, y ~ x + v, logistic_prior(slope_scale = c(v = 5))
  )
  expect_equal(one$slope_variance[-1], c(1, 4) * plain$slope_variance[-1])
  plain <- wide(gibbs_hlm, z ~ x + v + (1 | g))
  twice <- wide(
    gibbs_hlm, z ~ x + v + (1 | g), hlm_prior(slope_scale = c(x = 20))
  )
  expect_equal(twice$slope_sd, c(2, 1) * plain$slope_sd)
  named <- wide(
    laplace_logistic, y ~ x + v, logistic_prior(slope_variance = c(v = 2))
  )
  expect_equal(named$slope_variance[["v"]], 2)
  moved <- wide(
    laplace_logistic, y ~ x + v, logistic_prior(slope_mean = c(x = 2))
  )
  expect_equal(moved$intercept_mean, -2 * mean(rows$x))
})

test_that("a completed prior gives the same fit, and new data keep it", {
  skip_long()
  prior <- logistic_prior(slope_mean = c(x = 1), slope_sd = c(x = 0.5))
  fit <- quick(gibbs_logistic, y ~ x + v, rows, prior)
  again <- quick(gibbs_logistic, y ~ x + v, rows, prior_summary(fit))
  expect_identical(as.matrix(fit), as.matrix(again))
  longer <- suppressWarnings(extend(fit, 20))
  expect_identical(
    as.matrix(longer[[1]]),
    as.matrix(quick(gibbs_logistic, y ~ x + v, rows, prior, draws = 70)[[1]])
  )
  prior <- lm_prior(slope_mean = c(x = 1), slope_sd = c(x = 0.5))
  fit <- quick(gibbs_lm, z ~ x + v, rows, prior)
  again <- quick(gibbs_lm, z ~ x + v, rows, prior_summary(fit))
  expect_identical(as.matrix(fit), as.matrix(again))
})

test_that("draws from the prior have its means", {
  skip_long()
  tight <- logistic_prior(
    slope_mean = 3, slope_sd = 1e-6, intercept_mean = 2, intercept_sd = 1e-6
  )
  drawn <- list(
    prior_predict(
      gibbs_lm(z ~ x, rows, lm_prior(
        "nig", noise_shape = 3, noise_rate = 3, slope_mean = 3, slope_sd = 1e-6
      )), n = 2, seed = 1
    ),
    prior_predict(
      gibbs_logistic(y ~ x, rows, tight, burnin = 5), n = 2, seed = 1
    ),
    prior_predict(
      gibbs_logistic(y ~ x + (1 | g), rows, tight, burnin = 5), n = 2, seed = 1
    )
  )
  for (one in drawn) {
    expect_equal(unname(one$quantities[, "x"]), c(3, 3), tolerance = 1e-4)
  }
})

test_that("the means of grouped logistic regressions are those of the prior", {
  tight <- logistic_prior(slope_mean = c(x = -4), slope_sd = 0.001)
  fit <- quick(gibbs_logistic, y ~ x + (1 | g), rows, tight, draws = 500)
  expect_equal(nlme::fixef(fit)[["x"]], -4, tolerance = 0.001)
})

test_that("fields of coefficients at fault are named", {
  skip_long()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    gibbs_lm(z ~ x + v, rows, lm_prior(slope_mean = c(w = 1)))
    gibbs_lm(z ~ x + v, rows, lm_prior(slope_sd = c("(Intercept)" = 1)))
    gibbs_lm(z ~ x + v, rows, lm_prior(slope_scale = 1:3))
    gibbs_logistic(y ~ x + v, rows, logistic_prior(slope_sd = c(x = 1, x = 2)))
    gibbs_logistic(y ~ x + v, rows, logistic_prior(slope_variance = c(w = 1)))
    gibbs_hlm(z ~ x + (1 | g), rows, hlm_prior(slope_mean = c(v = 1)))
    lm_prior(slope_sd = -1)
    logistic_prior(slope_mean = "x")
    logistic_prior(slope_variance = 1, slope_sd = 2)
    logistic_prior(intercept_variance = 1, intercept_sd = 2)
  })
  expect_snapshot({
    lm_prior("nig", slope_mean = c(x = 1), slope_sd = c(x = 2))
    logistic_prior(slope_mean = c(x = 1), slope_scale = 5)
    prior_summary(quick(
      laplace_logistic, y ~ x + v, rows,
      logistic_prior(slope_mean = c(x = 1), slope_sd = c(x = 2))
    ))
  })
})

test_that("a coefficient that only the prior bounds is named", {
  skip_long()
  level <- rep(c("a", "b", "rare"), c(18, 18, 4))
  data <- cbind(rows, level = factor(level))
  data$y[37:40] <- 1
  says <- "do not bound levelrare: it separates"
  expect_output(print(quick(laplace_logistic, y ~ level + v, data)), says)
  expect_output(print(quick(gibbs_logistic, y ~ level + v, data)), says)
  expect_output(
    print(summary(quick(gibbs_logistic, y ~ level + v, data))), says
  )
  expect_output(
    print(quick(gibbs_logistic, y ~ level + v + (1 | g), data)), says
  )
  data$level <- stats::relevel(data$level, "rare")
  expect_output(
    print(summary(quick(laplace_logistic, y ~ level + v, data))),
    "bound \\(Intercept\\), levela, and levelb: they separate"
  )
  plain <- quick(laplace_logistic, y ~ x + v, rows)
  expect_false(any(grepl("bound", utils::capture.output(print(plain)))))
})

test_that("compare() takes a list of fits", {
  skip_long()
  a <- quick(gibbs_lm, z ~ x, rows)
  b <- quick(gibbs_lm, z ~ x, rows, lm_prior(slope_scale = 2))
  expect_equal(compare(list(a, b)), compare(a, b))
  expect_equal(compare(list(one = a, b)), compare(one = a, b))
  fits <- list(one = a, two = b)
  expect_equal(
    compare(fits, reference = "one"),
    compare(one = a, two = b, reference = "one")
  )
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    compare(list())
    compare(list(a))
    compare(fits, a)
    compare(list(a, 1))
  })
})
