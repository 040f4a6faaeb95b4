# laplace(): the approximation of any density, its check, and its correction.

quick <- function(log_density, init, ..., draws = 500, chains = 2, seed = 1) {
  laplace(
    log_density, init, ..., draws = draws, chains = chains, seed = seed,
    progress = FALSE
  )
}

# A density with everything about it known: y ~ N(m, S), log q up to `constant`.
normal_parts <- function(p = 3, constant = 1.7) {
  a <- matrix(c(2, 0.5, -0.3, 0.5, 1, 0.2, -0.3, 0.2, 0.7), 3)[1:p, 1:p]
  m <- c(1, -2, 30)[1:p]
  precision <- solve(a)
  list(
    mean = m, covariance = a, constant = constant,
    log_evidence = constant + p / 2 * log(2 * pi) +
      as.numeric(determinant(a)$modulus) / 2,
    value = function(x) {
      constant - 0.5 * sum((x - m) * (precision %*% (x - m)))
    },
    gradient = function(x) as.vector(-precision %*% (x - m)),
    hessian = function(x) -precision
  )
}

# theta = log X, X ~ Gamma(shape, 1): skewed, and all of it known.
log_gamma <- function(shape) function(x) shape * x[[1]] - exp(x[[1]])

log_gamma_fit <- function(shape, ...) {
  density <- log_gamma(shape)
  quick(
    density, c(x = 0),
    gradient = function(x) shape - exp(x[[1]]),
    hessian = function(x) matrix(-exp(x[[1]])), ...
  )
}

# E g(theta) for log_gamma(shape)
log_gamma_mean <- function(g, shape) {
  stats::integrate(function(x) {
    g(x) * exp(shape * x - exp(x) - lgamma(shape))
  }, -Inf, Inf, rel.tol = 1e-10)$value
}

# ---- exact ------------------------------------------------------------------

test_that("a normal density is approximated by itself", {
  skip_long()
  n <- normal_parts()
  fit <- quick(n$value, c(a = 0, b = 0, c = 0))
  expect_equal(coef(fit), c(a = 1, b = -2, c = 30), tolerance = 1e-7)
  expect_equal(unname(vcov(fit)), n$covariance, tolerance = 1e-7)
  expect_identical(rownames(vcov(fit)), names(coef(fit)))
  expect_equal(
    as.numeric(log_evidence(fit)), n$log_evidence, tolerance = 1e-9
  )
  given <- quick(
    n$value, c(a = 0, b = 0, c = 0), gradient = n$gradient, hessian = n$hessian
  )
  check <- importance_check(given)
  expect_identical(check$pareto_k, -Inf)
  expect_identical(check$verdict, "good")
  expect_equal(check$ess, 1000, tolerance = 1e-8)
  expect_equal(check$log_evidence, n$log_evidence, tolerance = 1e-9)
  expect_equal(exp(check$log_weights), rep(1e-3, 1000), tolerance = 1e-7)
})

test_that("every kind of derivative finds the same mode", {
  skip_long()
  density <- log_gamma(3)
  gradient <- function(x) 3 - exp(x[[1]])
  hessian <- function(x) matrix(-exp(x[[1]]))
  fits <- list(
    quick(density, c(x = 5)), quick(density, c(x = -5), gradient),
    quick(density, c(x = 2), gradient, hessian)
  )
  for (fit in fits) {
    # within a millionth of a standard deviation
    expect_lt(abs(coef(fit) - log(3)), 1e-6 / sqrt(3))
    expect_equal(vcov(fit)[[1]], 1 / 3, tolerance = 1e-6)
  }
  banana <- function(x) -(1 - x[[1]])^2 - 50 * (x[[2]] - x[[1]]^2)^2
  fit <- quick(banana, c(a = -1.2, b = 1))
  expect_equal(coef(fit), c(a = 1, b = 1), tolerance = 1e-5)
})

# numDeriv's own steps are a share of the coordinate, and were 100 standard
# deviations wide.
test_that("the place of the mode and the units do not matter", {
  log_density <- function(x, at, by) {
    sum(dlogis(x, at, by, log = TRUE)) - sum(diff((x - at) / by)^2) / 4
  }
  by <- c(1e-3, 1, 1e4)
  slope <- function(x, at, by) {
    d <- diff((x - at) / by)
    (1 - 2 * plogis((x - at) / by) + c(d[[1]], d[[2]] - d[[1]], -d[[2]]) / 2) /
      by
  }
  precision <- diag(0.5, 3) + crossprod(diff(diag(3))) / 2
  for (far in fast_or(1e6, c(0, 1, 1e6))) {
    at <- far * by * c(1, -1, 1)
    for (gradient in list(NULL, slope)) {
      fit <- quick(
        log_density, at + 3 * by, gradient, at = at, by = by, draws = 10
      )
      expect_lt(max(abs(coef(fit) - at) / by), 1e-4)
      expect_equal(
        unname(vcov(fit) / outer(by, by)), solve(precision), tolerance = 1e-5
      )
    }
  }
})

# From zeros, without bounds: predictors that are nearly collinear, and a search
# that runs into zero density.
test_that("regressions of R's own data are found from zeros", {
  x <- cbind(1, as.matrix(longley[1:6]))
  sum_of_squares <- function(t) {
    s <- exp(t[[8]])
    sum(stats::dnorm(longley$Employed, drop(x %*% t[1:7]), s, log = TRUE))
  }
  least <- stats::lm(Employed ~ ., longley)
  slope <- function(t) {
    r <- longley$Employed - drop(x %*% t[1:7])
    v <- exp(2 * t[[8]])
    c(crossprod(x, r) / v, sum(r^2) / v - nrow(x))
  }
  for (gradient in fast_or(list(NULL), list(NULL, slope))) {
    fit <- quick(sum_of_squares, numeric(8), gradient, draws = 10)
    expect_equal(
      unname(coef(fit)[1:7]), unname(coef(least)), tolerance = 1e-5
    )
    sd <- sqrt(diag(vcov(least)) * stats::df.residual(least) / nrow(longley))
    expect_equal(
      unname(sqrt(diag(vcov(fit)))[1:7]), unname(sd), tolerance = 1e-4
    )
  }
  rate <- function(t) {
    if (t[[2]] <= 0) {
      return(-Inf)
    }
    mean <- t[[1]] * Puromycin$conc / (t[[2]] + Puromycin$conc)
    sum(stats::dnorm(Puromycin$rate, mean, exp(t[[3]]), log = TRUE))
  }
  least <- stats::nls(
    rate ~ v * conc / (k + conc), Puromycin, list(v = 200, k = 0.1)
  )
  fit <- quick(rate, c(v = 1, k = 1, log_sd = 0), draws = 10)
  expect_equal(coef(fit)[1:2], coef(least), tolerance = 1e-4)
})

test_that("a search of many parameters takes few evaluations", {
  count <- 0
  wide <- seq_len(fast_or(15, 40))
  log_density <- function(x) {
    count <<- count + 1
    -sum((x / wide)^2) / 2 - sum(x^4) / 100
  }
  fit <- quick(log_density, rep(1, length(wide)), draws = 10)
  expect_lt(max(abs(coef(fit)) / sqrt(diag(vcov(fit)))), 1e-5)
  expect_equal(unname(diag(vcov(fit))), wide^2, tolerance = 1e-4)
  expect_lt(count, fast_or(5000, 20000))
})

test_that("further arguments reach all three functions", {
  fit <- quick(
    function(x, m) -sum((x - m)^2) / 2, c(0, 0),
    gradient = function(x, m) m - x,
    hessian = function(x, m) -diag(length(m)), m = c(4, 5)
  )
  expect_equal(coef(fit), c("theta[1]" = 4, "theta[2]" = 5))
  expect_identical(variables(fit), c("theta[1]", "theta[2]"))
  expect_identical(dim(draws_of(fit, "theta")), c(500L, 2L, 2L))
  expect_equal(importance_check(fit)$log_evidence, log(2 * pi))
})

test_that("the density sees the names of `init`", {
  seen <- character()
  fit <- quick(function(x) {
    seen <<- union(seen, paste(names(x), collapse = " "))
    -(x[["a b"]] - 1)^2 - x[["c"]]^2
  }, c("a b" = 0, c = 1))
  importance_check(fit)
  expect_identical(seen, "a b c")
  expect_identical(variables(fit), c("a b", "c"))
})

test_that("the draws are those of the normal distribution", {
  skip_long()
  n <- normal_parts()
  fit <- quick(
    n$value, c(a = 0, b = 0, c = 0), n$gradient, n$hessian, draws = 5000
  )
  white <- t(solve(t(chol(n$covariance)), t(as.matrix(fit)) - n$mean))
  size <- nrow(white)
  expect_lt(max(abs(colMeans(white))) * sqrt(size), 4.5)
  moments <- crossprod(white) / size - diag(3)
  error <- sqrt((1 + diag(3)) / size)
  expect_lt(max(abs(moments) / error), 4.5)
})

# Lighter tails than a normal density, and skewed: the weights are bounded.
quartic <- function(x) x[[1]] - x[[1]]^2 / 2 - x[[1]]^4 / 4

quartic_fit <- function(...) {
  quick(
    quartic, c(x = 0), gradient = function(x) 1 - x - x^3,
    hessian = function(x) matrix(-1 - 3 * x^2), ...
  )
}

quartic_mean <- function(g) {
  integral <- function(f) {
    stats::integrate(f, -Inf, Inf, rel.tol = 1e-10)$value
  }
  density <- function(x) exp(x - x^2 / 2 - x^4 / 4)
  integral(function(x) g(x) * density(x)) / integral(density)
}

test_that("evidence and moments, corrected, are those of quadrature", {
  skip_long()
  fit <- quartic_fit(draws = fast_or(2500, 5000))
  check <- importance_check(fit)
  truth <- log(stats::integrate(function(x) {
    exp(x - x^2 / 2 - x^4 / 4)
  }, -Inf, Inf, rel.tol = 1e-10)$value)
  expect_lt(abs(check$log_evidence - truth) / check$log_evidence_se, 4.5)
  mean <- quartic_mean(identity)
  variance <- quartic_mean(function(x) (x - mean)^2)
  e <- check$estimates
  expect_lt(abs(e$mean - mean) / e$mcse, 4.5)
  share <- exp(check$log_weights)
  away <- (as.matrix(fit)[, 1] - mean)^2
  error <- sqrt(sum((share * (away - variance))^2))
  # by the draws' own weights, and by those of corrected values
  expect_lt(abs(sum(share * away) - variance) / error, 4.5)
  expect_lt(abs(e$sd^2 - variance) / error, 4.5)
  # uncorrected it does not pass
  expect_gt(abs(e$map - mean) / e$mcse, 4.5)
  expect_identical(
    as.vector(log_evidence(fit, "importance")), check$log_evidence
  )
  expect_identical(
    attr(log_evidence(fit, "importance"), "se"), check$log_evidence_se
  )
})

test_that("the check tells good approximations from poor ones", {
  expect_identical(importance_check(log_gamma_fit(30))$verdict, "good")
  # a narrow peak on a wide base
  peak <- function(x) log(dnorm(x[[1]], 0, 0.2) + dnorm(x[[1]], 0, 2))
  narrow <- quick(peak, c(x = 0.01))
  check <- importance_check(narrow)
  expect_gt(check$pareto_k, 0.7)
  expect_identical(check$verdict, "not good")
  expect_output(print(narrow), "not good.*correct = .importance.")
  expect_output(print(summary(narrow)), "correct = \"importance\"")
  expect_output(print(check), "cannot be trusted")
  # k is what loo says of the same weights
  w <- as.matrix(narrow)[, 1]
  ratio <- log(dnorm(w, 0, 0.2) + dnorm(w, 0, 2)) -
    dnorm(w, coef(narrow), sqrt(vcov(narrow)), log = TRUE)
  k <- suppressWarnings(loo::psis(ratio, r_eff = 1))$diagnostics$pareto_k
  expect_equal(check$pareto_k, k, tolerance = 1e-6)
  few <- importance_check(narrow, ndraws = 20)
  expect_identical(few$draws, 20L)
  expect_identical(few$verdict, "unknown")
})

test_that("zero density at some draws is a weight of zero", {
  skip_long()
  fit <- quick(
    function(x) if (x[[1]] > 3) -Inf else -x[[1]]^2 / 2, c(x = 1),
    gradient = function(x) -x, hessian = function(x) matrix(-1), draws = 5000
  )
  check <- importance_check(fit)
  expect_true(any(check$log_weights == -Inf))
  outside <- as.matrix(fit)[, 1] > 3
  expect_identical(check$log_weights == -Inf, outside)
  truth <- log(2 * pi) / 2 + pnorm(3, log.p = TRUE)
  expect_lt(abs(check$log_evidence - truth) / check$log_evidence_se, 4.5)
})

# ---- the corrected chain ----------------------------------------------------

# What the corrected chain says of a density with a far heavier tail than its
# approximation: z-scores of three means.
corrected_z <- function(shape = 0.3) {
  fit <- suppressWarnings(
    log_gamma_fit(
      shape, correct = "importance", draws = fast_or(500, 1500), chains = 4
    )
  )
  draws <- draws_of(fit, "x")
  vapply(list(tanh, function(x) x > 0.5, function(x) x < -6), function(g) {
    z_of_chains(g(draws) + 0, log_gamma_mean(function(x) g(x) + 0, shape))
  }, 0)
}

test_that("the corrected chain draws from the density itself", {
  skip_long()
  expect_lt(max(abs(corrected_z())), 4.5)
})

test_that("wrong ways of picking are noticed", {
  skip_unless_extended()
  # no weights at all; weights squared; the current point left out of the pool
  pick <- gibbsite:::pick_by_weight
  mutants <- list(
    uniform = function(log_weight) sample.int(length(log_weight), 1L),
    squared = function(log_weight) pick(2 * log_weight),
    memoryless = function(log_weight) {
      if (length(log_weight) > 15L) log_weight[[1L]] <- -Inf
      pick(log_weight)
    }
  )
  for (mutant in mutants) {
    z <- with_function("pick_by_weight", mutant, corrected_z())
    expect_gt(max(abs(z)), 4.5)
  }
})

test_that("the corrected chain keeps the promises of the driver", {
  skip_long()
  noisy <- function(x) {
    # a density may draw random numbers
    1 - x[[1]]^2 / 2 + 0 * stats::rnorm(1)
  }
  # a closure made once, so that fits hold the same function
  run <- function(draws, ...) {
    quick(
      noisy, c(x = 1), gradient = noisy_gradient, hessian = noisy_hessian,
      correct = "importance", draws = draws, ...
    )
  }
  noisy_gradient <- function(x) -x
  noisy_hessian <- function(x) matrix(-1)
  suppressWarnings({
    whole <- run(30)
    expect_true(identical_fit(extend(run(12), 18, progress = FALSE), whole))
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(run(30), whole))
    })
    path <- withr::local_tempfile()
    saveRDS(run(12), path)
    expect_true(
      identical_fit(extend(readRDS(path), 18, progress = FALSE), whole)
    )
  })
  expect_identical(coda::mcpar(whole[[1]]), c(21, 50, 1))
  bare <- drop_data(whole)
  expect_error(extend(bare, 5, progress = FALSE), "does not hold")
})

test_that("the check of a corrected fit is that of its approximation", {
  skip_long()
  fit <- suppressWarnings(
    log_gamma_fit(2, correct = "importance", draws = 100)
  )
  plain <- log_gamma_fit(2)
  check <- importance_check(fit)
  expect_identical(check, importance_check(fit))
  both <- c(check$log_evidence, importance_check(plain)$log_evidence)
  se <- c(check$log_evidence_se, importance_check(plain)$log_evidence_se)
  expect_lt(abs(diff(both)) / sqrt(sum(se^2)), 4.5)
  expect_identical(importance_check(fit, ndraws = 77)$draws, 77L)
  expect_identical(coef(fit), coef(plain))
  expect_identical(vcov(fit), vcov(plain))
  expect_true(all(c("rhat", "ess_bulk") %in% names(summary(fit))))
  expect_false("rhat" %in% names(summary(plain)))
})

# ---- independent draws and the driver ---------------------------------------

test_that("independent draws are continued, united and judged as such", {
  whole <- log_gamma_fit(3, draws = 50)
  half <- log_gamma_fit(3, draws = 20)
  expect_no_warning(half)
  expect_identical(
    as.matrix(extend(half, 30, progress = FALSE)), as.matrix(whole)
  )
  bare <- drop_data(half)
  expect_identical(
    as.matrix(extend(bare, 30, progress = FALSE)), as.matrix(whole)
  )
  expect_true(converged(half))
  other <- log_gamma_fit(3, draws = 50, seed = 2)
  expect_identical(nchains(combine_fits(whole, other)), 4L)
  expect_error(extend(half, 5, data = 1), class = "gibbsite_error_argument")
})

test_that("set.seed() governs, and the search leaves the generator alone", {
  jitter <- function(x) -x[[1]]^2 + 0 * stats::runif(1)
  set.seed(3)
  one <- laplace(jitter, c(x = 1), draws = 10, progress = FALSE)
  after <- stats::runif(1)
  set.seed(3)
  two <- laplace(jitter, c(x = 1), draws = 10, progress = FALSE)
  expect_identical(as.matrix(one), as.matrix(two))
  set.seed(3)
  stats::runif(1)
  expect_identical(stats::runif(1), after)
})

test_that("a fit is a coda object that others take", {
  fit <- log_gamma_fit(3)
  expect_s3_class(fit, c("gibbsite_laplace", "gibbsite_fit", "mcmc.list"),
                  exact = TRUE)
  expect_equal(coda::niter(fit), 500)
  expect_identical(posterior::ndraws(posterior::as_draws(fit)), 1000L)
  expect_identical(coda::mcpar(fit[[1]]), c(1, 500, 1))
})

# ---- what it answers --------------------------------------------------------

test_that("intervals are those of the normal approximation, or of the draws", {
  skip_long()
  fit <- log_gamma_fit(3)
  expect_equal(
    unname(confint(fit, level = 0.9)),
    matrix(log(3) + c(-1, 1) * qnorm(0.95) / sqrt(3), 1)
  )
  expect_identical(colnames(confint(fit)), c("2.5 %", "97.5 %"))
  expect_identical(confint(fit, "x"), confint(fit, 1))
  corrected <- suppressWarnings(
    log_gamma_fit(3, correct = "importance", draws = 100)
  )
  expect_equal(
    unname(confint(corrected)[1, ]),
    quantile(as.matrix(corrected), c(0.025, 0.975), names = FALSE)
  )
  expect_equal(
    tidy(corrected)$estimate, mean(as.matrix(corrected))
  )
  expect_equal(tidy(fit)$estimate, log(3))
  expect_identical(tidy(fit)$rhat, NA_real_)
  expect_identical(
    tidy(corrected)$ess, as.data.frame(summary(corrected))$ess_bulk
  )
  common <- c("model", "nobs", "chains", "draws", "burnin", "thin", "rhat",
              "ess_bulk", "ess_tail", "converged", "elapsed")
  expect_named(glance(fit), c(
    common, "parameters", "log_evidence", "log_joint", "iterations", "correct"
  ))
  expect_identical(glance(fit)$converged, NA)
  expect_false(is.na(glance(corrected)$rhat))
})

test_that("tables have the columns of those of draws", {
  skip_long()
  fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
  drawn <- quietly(gibbs_logistic(
    am ~ wt, mtcars, draws = 20, seed = 1, progress = FALSE
  ))
  expect_named(tidy(fit), names(tidy(drawn)))
  expect_identical(tidy(fit)$label, tidy(drawn)$label)
  expect_named(glance(fit)[seq_along(glance(drawn))], names(glance(drawn)))
})

test_that("fits are compared by their evidence", {
  skip_long()
  a <- log_gamma_fit(3)
  b <- quick(
    function(x) 3 * x[[1]] - exp(x[[1]]) - log(4), c(x = 0),
    gradient = function(x) 3 - exp(x[[1]]),
    hessian = function(x) matrix(-exp(x[[1]]))
  )
  table <- anova(a, b)
  expect_equal(table$probability, c(0.8, 0.2))
  expect_equal(table$log_bayes_factor, c(0, -log(4)))
  expect_identical(table$model, c("a", "b"))
  expect_equal(anova(a, b, prior_odds = c(1, 4))$probability, c(0.5, 0.5))
  corrected <- anova(a, b, correct = "importance")
  expect_equal(corrected$log_evidence[[1]], importance_check(a)$log_evidence)
  expect_snapshot(anova(a, b))
})

test_that("pictures are drawn and leave the settings alone", {
  pdf(NULL)
  withr::defer(dev.off())
  fit <- log_gamma_fit(3)
  before <- par(c("mar", "mfrow", "oma"))
  expect_invisible(plot(fit))
  plot(fit, type = c("trace", "density"))
  expect_identical(par(c("mar", "mfrow", "oma")), before)
  expect_error(plot(fit, type = "mixture"), class = "gibbsite_error_argument")
})

test_that("the target of one parameter is its density on a grid", {
  table <- function(log_density) {
    fit <- laplace(log_density, c(a = 0.1), draws = 1, chains = 1, seed = 1)
    picture_target(fit, NULL, NULL)$table
  }
  normal <- table(function(x) -(x - 3)^2 / 2)
  expect_equal(normal$target, dnorm(normal$x, 3), tolerance = 1e-6)
  expect_equal(normal$normal, normal$target, tolerance = 1e-5)
  # a thousandth of the probability is beyond 64 standard deviations
  heavy <- table(function(x) dt(x, 2, log = TRUE))
  expect_equal(heavy$target, dt(heavy$x, 2), tolerance = 1e-3)
})

test_that("the targets of several parameters are weighted marginals", {
  # log gamma(2) and normal, mixed so that neither is a coordinate
  log_density <- function(z) {
    a <- z[[1]] + z[[2]]
    2 * a - exp(a) + dnorm(z[[2]], 1, 2, log = TRUE)
  }
  fit <- laplace(log_density, c(x = 0, y = 1), seed = 1)
  check <- importance_check(fit)$estimates
  table <- picture_target(fit, NULL, NULL)$table
  for (j in 1:2) {
    one <- table[table$variable == c("x", "y")[j], ]
    share <- one$target / sum(one$target)
    expect_equal(sum(one$target) * diff(one$x[1:2]), 1, tolerance = 0.005)
    # as the marginal, up to the tails that are left out
    exact <- c(digamma(2) - 1, 1)[j]
    expect_lt(abs(sum(share * one$x) - exact), 5 * check$mcse[j] + 0.02)
  }
  shape <- table[table$variable == "y", ]
  expect_lt(max(abs(shape$target - dnorm(shape$x, 1, 2))), 0.1 * dnorm(0, 0, 2))
})

test_that("six targets are drawn, or those that are named", {
  skip_long()
  fit <- laplace(function(x) -sum(x^2) / 2, numeric(7), draws = 20, seed = 1)
  picture <- picture_target(fit, NULL, NULL)
  expect_identical(levels(picture$table$variable), indexed("theta", 1:6))
  expect_match(picture$note[1], "first 6 of 7 parameters")
  named <- drawn(plot(fit, variables = "theta[7]"))$pictures[[1]]
  expect_identical(levels(named$table$variable), "theta[7]")
  logit <- quietly(laplace_logistic(
    am ~ wt, mtcars, correct = "importance", draws = 200, seed = 1,
    chains = 2
  ))
  base <- drawn(plot(logit, type = "density"))$pictures[[1]]
  expect_identical(base$table, picture_target(logit, NULL, NULL)$table)
  expect_gibbsite_error(
    plot(drop_data(fit), type = "density"), "gibbsite_error_state"
  )
  expect_identical(drawn(plot(drop_data(fit)))$panels, 1L)
})

test_that("gradient ascent steps by rho times the gradient", {
  skip_long()
  gradient <- function(x) 3 - exp(x[[1]])
  fit <- quick(
    log_gamma(3), c(x = -2), gradient, method = "gradient", rho = 0.1
  )
  # Newton's method ends where the next step would raise log q by 1e-10
  expect_lt(abs(coef(fit) - log(3)), sqrt(2.1e-10) / sqrt(3))
  path <- attr(fit, "model")$path
  expect_identical(path[[1]], -2)
  expect_identical(path[-1], path[-nrow(path)] +
                     0.1 * vapply(path[-nrow(path)], gradient, 0))
  expect_output(print(fit), "gradient ascent with rho = 0.1")
  # contours of a density of two parameters, named in any order
  banana <- quick(
    function(x) -(1 - x[["a"]])^2 - (x[["b"]] - x[["a"]]^2)^2, c(a = 0, b = 1),
    method = "gradient", rho = 0.1
  )
  for (names in list(c("b", "a"), c("a", "b"))[fast_or(1, 1:2)]) {
    picture <- drawn(plot(banana, type = "path", variables = names))$pictures
    line <- picture[[1]]$layers[[1]]$data
    point <- as.list(stats::setNames(line[1, c("x", "y")], names))
    drop <- (1 - point$a)^2 + (point$b - point$a^2)^2
    # k^2 / 2 below the maximum, up to the grid
    expect_lt(abs(sqrt(2 * drop) - round(sqrt(2 * drop))), 0.05)
  }
  steps <- drawn(plot(fit, type = "path"))$pictures[[1]]
  expect_identical(steps$table$x, unname(path[, 1]))
  expect_null(attr(quick(log_gamma(3), c(x = 0)), "model")$path)
  expect_error(plot(quick(log_gamma(3), c(x = 0)), type = "path"),
               class = "gibbsite_error_argument")
})

test_that("an ascent that does not arrive names rho", {
  ascend <- function(rho, log_density = log_gamma(3), init = c(x = -2)) {
    quick(log_density, init, method = "gradient", rho = rho)
  }
  expect_gibbsite_error(ascend(2), "gibbsite_error_rho")
  expect_gibbsite_error(ascend(1e-9), "gibbsite_error_rho")
  expect_gibbsite_error(
    ascend(0.3, function(x) if (abs(x) < 1) log(1 - x^2) else NaN, c(x = -0.9)),
    "gibbsite_error_rho"
  )
  expect_gibbsite_error(ascend(NULL), "gibbsite_error_argument")
  expect_gibbsite_error(ascend(0), "gibbsite_error_argument")
  expect_gibbsite_error(
    quick(log_gamma(3), c(x = -2), rho = 1), "gibbsite_error_argument"
  )
})

# Elapsed times differ from run to run.
without_time <- function(lines) sub("; [0-9.e-]+ (s|min|h)$", "", lines)

# The words alone: what a corrected chain draws depends on how its random
# numbers are taken.
without_numbers <- function(lines) {
  gsub(" +", " ", gsub("-?[0-9][0-9.]*", "#", without_time(lines)))
}

test_that("what is printed says that it approximates, and how well", {
  skip_long()
  n <- normal_parts(2)
  fit <- quick(n$value, c(a = 0, b = 0), n$gradient, n$hessian)
  expect_snapshot({
    fit
    summary(fit)
    importance_check(log_gamma_fit(3))
  }, transform = function(x) {
    # the rounding errors of an exact value
    sub("se [0-9.]+e-1[0-9]", "se 0", without_time(x))
  })
  expect_snapshot(
    suppressWarnings(log_gamma_fit(3, correct = "importance", draws = 1000)),
    transform = without_numbers
  )
  expect_output(print(drop_data(fit)), "needs the data")
  expect_output(print(summary(drop_data(fit))), "needs the data")
  slow <- quick(function(x) {
    Sys.sleep(0.005)
    -x[[1]]^2 / 2
  }, c(x = 0), function(x) -x, function(x) matrix(-1))
  expect_output(print(slow), "not run yet")
})

test_that("an edge on the way to the mode is no obstacle", {
  skip_long()
  y <- as.numeric(LakeHuron)
  n <- length(y)
  f <- function(t) {
    if (t[[3]] <= 0 || abs(t[[2]]) >= 1) {
      return(-Inf)
    }
    mean <- t[[1]] + t[[2]] * (y[-n] - t[[1]])
    sum(stats::dnorm(y[-1], mean, t[[3]], log = TRUE)) +
      stats::dnorm(y[[1]], t[[1]], t[[3]] / sqrt(1 - t[[2]]^2), log = TRUE)
  }
  fit <- quick(f, c(mu = 0, rho = 0, s = 1), draws = 10)
  arima <- stats::arima(y, c(1, 0, 0))
  expect_equal(
    unname(coef(fit)), unname(c(rev(coef(arima)), sqrt(arima$sigma2))),
    tolerance = 1e-3
  )
})

# ---- messages ---------------------------------------------------------------

test_that("mistakes in the arguments are named", {
  skip_long()
  expect_gibbsite_error({
    laplace(1, c(a = 1))
    laplace(function(x) -x^2, "a")
    laplace(function(x) -x^2, c(a = NA))
    laplace(function(x) -x^2, c(a = 1, a = 2))
    laplace(function(x) -x^2, c(a = 1, 2))
    laplace(function(x) -x^2, c(a = 1), gradient = "numeric")
    laplace(function(x) -x^2, c(a = 1), method = "SANN")
    laplace(function(x) -x^2, c(a = 1), correct = "yes")
    laplace(function(x) -x^2, c(a = 1), draws = 0)
  })
})

test_that("a density that fails says where", {
  skip_long()
  line <- function(x) -sum(x^2) / 2
  expect_gibbsite_error({
    laplace(function(x) if (x[[1]] > 0) -Inf else -x[[1]]^2, c(a = 1, b = 2))
    laplace(function(x) NaN, c(a = 1))
    laplace(function(x) Inf, c(a = 1))
    laplace(function(x) c(1, 2), c(a = 1))
    laplace(function(x) "high", c(a = 1))
    laplace(function(x) stop("no such file"), c(a = 1.5))
    laplace(line, c(a = 1, b = 2), gradient = function(x) -x[[1]])
    laplace(line, c(a = 1, b = 2), gradient = function(x) c(NaN, 1))
    laplace(line, c(a = 0, b = 0), gradient = function(x) -x,
            hessian = function(x) c(1, 2))
  })
  expect_error(
    laplace(function(x) NaN, c(a = 1)), class = "gibbsite_error_density"
  )
  expect_error(
    laplace(function(x) -Inf, c(a = 1)), class = "gibbsite_error_argument"
  )
})

test_that("no mode, no approximation", {
  skip_long()
  saddle <- function(x) -x[[1]]^4 + 3 * x[[1]]^2 - x[[2]]^2
  ridge <- function(x) -(x[[1]] + x[[2]])^2
  edge <- function(x) if (x[[1]] > 0) -x[[1]] else -Inf
  # from the saddle to one of the modes, also with its derivatives
  for (derivatives in list(
    list(), list(function(x) {
      c(-4 * x[[1]]^3 + 6 * x[[1]], -2 * x[[2]])
    }, function(x) diag(c(6 - 12 * x[[1]]^2, -2)))
  )) {
    # the other one is seen, too
    expect_warning(
      fit <- do.call(quick, c(
        list(saddle, c(a = 0, b = 1)), derivatives, draws = 50
      )),
      "another\\s+mode", class = "gibbsite_warning_region"
    )
    expect_equal(abs(coef(fit)), c(a = sqrt(1.5), b = 0), tolerance = 1e-6)
  }
  expect_error(quick(ridge, c(a = 0, b = 1)),
               class = "gibbsite_error_indefinite")
  expect_error(quick(function(x) x[[1]], c(a = 0)),
               class = "gibbsite_error_numeric")
  expect_error(quick(edge, c(a = 1)), class = "gibbsite_error_density")
  line <- function(x) -sum((x - 3)^2) / 2
  expect_error(
    quick(line, c(a = 1), gradient = function(x) 1 - x),
    class = "gibbsite_error_derivative"
  )
  expect_gibbsite_error({
    quick(ridge, c(a = 0, b = 1), gradient = function(x) rep(-2 * sum(x), 2),
          hessian = function(x) matrix(-2, 2, 2))
    # derivatives of another density
    quick(line, c(a = 3), gradient = function(x) 1 - x,
          hessian = function(x) matrix(-1))
    quick(line, c(a = 3), gradient = function(x) 3 - x,
          hessian = function(x) matrix(-4))
    # a gradient that points the wrong way from the very start
    quick(line, c(a = 1), gradient = function(x) x - 3,
          hessian = function(x) matrix(-1))
  })
})

test_that("questions that a fit cannot answer are errors", {
  skip_long()
  fit <- log_gamma_fit(3)
  bare <- drop_data(fit)
  lone <- fake_fit()
  expect_gibbsite_error({
    importance_check(lone)
    importance_check(bare)
    importance_check(fit, ndraws = 5000)
    log_evidence(1)
    confint(fit, "z")
    confint(fit, level = 95)
    anova(fit)
    anova(fit, lone)
    prior_summary(fit)
    summary(fit, variables = "z")
    summary(fit, 1, 2, 3, 4)
  })
})

test_that("no class has a print, plot or summary method of another package", {
  ours <- parseNamespaceFile(
    "gibbsite", dirname(system.file(package = "gibbsite"))
  )$S3methods
  words <- c("default", "formula", "function", "list")
  ours <- ours[!ours[, 2] %in% words, ]
  expect_true(any(ours[, 2] == "gibbsite_laplace"))
  expect_false(any(ours[, 2] %in% c("laplace", "sbc", "importance")))
  peers <- c(
    "LaplacesDemon", "rstan", "coda", "MCMCpack", "brms", "posterior",
    "mclust", "topicmodels", "bayesplot"
  )
  for (peer in peers) {
    found <- system.file(package = peer)
    if (nzchar(found)) {
      theirs <- parseNamespaceFile(peer, dirname(found))$S3methods
      both <- intersect(
        paste(ours[, 1], ours[, 2]), paste(theirs[, 1], theirs[, 2])
      )
      expect_identical(both, character(), label = peer)
    }
  }
})

test_that("print() and glance() name laplace() by its own name", {
  fit <- log_gamma_fit(3)
  expect_match(capture.output(print(fit))[1], "<laplace>", fixed = TRUE)
  expect_identical(generics::glance(fit)$model, "laplace")
})

test_that("arguments that no function takes are named", {
  density <- function(x) -x^2
  expect_error(
    laplace(density, c(a = 1), sead = 1), "neither of `laplace",
    class = "gibbsite_error_argument"
  )
  expect_error(laplace(density, c(a = 1), iter = 9), "It is `draws` here")
  expect_error(mh_sample(density, c(a = 1), warmup = 9), "It is `burnin` here")
  scaled <- function(x, scale) -x^2 / scale
  expect_s3_class(quick(scaled, c(a = 1), scale = 2), "gibbsite_fit")
})

test_that("a gradient of another scale is found at the mode", {
  q <- function(x) sum(stats::dnorm(x, log = TRUE))
  for (scale in c(3, 1.2)) {
    expect_error(
      laplace(q, c(a = 0.1, b = 1), gradient = function(x) -scale * x),
      "`gradient` is not that of", class = "gibbsite_error_derivative"
    )
  }
  expect_no_error(
    laplace(q, c(a = 0.1, b = 1), gradient = function(x) -x, seed = 1)
  )
  expect_error(
    laplace(q, c(a = 0.1, b = 1), gradient = function(x) x),
    "Or `gradient` or `hessian` is not that of"
  )
})

test_that("another mode on the other side of the start is said", {
  skip_long()
  two <- function(p, share = 0.7) {
    log(share * stats::dnorm(p[["a"]], -9) +
          (1 - share) * stats::dnorm(p[["a"]], 9))
  }
  for (correct in c("none", "importance")) {
    draws <- if (correct == "none") 50 else fast_or(200, 1000)
    expect_warning(
      fit <- laplace(two, c(a = 1), draws = draws, correct = correct, seed = 1,
                     progress = FALSE),
      "another\\s+mode, at \\(a = -9\\), with\\s+about\\s+70%",
      class = "gibbsite_warning_region"
    )
    expect_match(capture.output(print(fit)), "another mode", all = FALSE)
  }
  # one mode, or another one without mass
  one <- list(
    function(p) -sum((p - 1)^2) / 2, function(p) -abs(p[[1L]] - 1)^3,
    function(p) stats::dt(p[[1L]], 3, log = TRUE),
    function(p) two(p, 1e-8)
  )
  for (f in one) {
    expect_no_warning(
      laplace(f, c(a = 4), draws = 10, seed = 1, progress = FALSE),
      class = "gibbsite_warning_region"
    )
  }
})

test_that("a normal that is much too wide is not a good approximation", {
  wide <- quietly(laplace(
    function(x) -abs(x)^3, c(a = 1), seed = 1, progress = FALSE
  ))
  check <- importance_check(wide)
  expect_lt(check$pareto_k, 0.5)
  expect_identical(check$verdict, "not good")
  expect_output(print(check), "the\\s+approximation is not good")
  expect_output(print(summary(wide)), "effective size [0-9]+ of 4000")
  usable <- quietly(laplace(
    function(x) -2 * abs(x)^2.5, c(a = 2), seed = 1, progress = FALSE
  ))
  expect_identical(importance_check(usable)$verdict, "usable")
})

test_that("a corrected log evidence of a handful of draws is a warning", {
  flat <- quietly(laplace(
    function(x) -x^4, c(a = 1), seed = 1, progress = FALSE
  ))
  expect_warning(log_evidence(flat, "importance"), "cannot be trusted",
                 class = "gibbsite_warning_evidence")
  normal <- quietly(laplace(
    function(x) -x^2, c(a = 1), seed = 1, progress = FALSE
  ))
  found <- expect_no_warning(log_evidence(normal, "importance"))
  expect_identical(attr(found, "draws"), 8000)
  expect_gt(attr(found, "ess"), 3000)
})

test_that("a plateau is no mode", {
  # separated data without a prior: the density rises without end
  separated <- function(w) {
    sum(stats::plogis(c(2, 1, 1, 2) * w[[2]] + c(-1, -1, 1, 1) * w[[1]],
                      log.p = TRUE))
  }
  expect_error(
    laplace(separated, c(a = 0, b = 0), seed = 1), "nearly flat",
    class = "gibbsite_error_indefinite"
  )
  expect_error(
    laplace(function(x) -exp(-x), c(a = 0), seed = 1), class = "gibbsite_error"
  )
  # tails, skew and bounds are none
  for (density in list(
    function(x) stats::dcauchy(x, log = TRUE),
    function(x) stats::dt(x, 3, log = TRUE),
    function(x) stats::dgamma(x, 1.05, log = TRUE),
    function(x) stats::dlogis(x, log = TRUE),
    function(x) stats::dbeta(x, 1.2, 30, log = TRUE),
    function(x) -log(cosh(x)^8)
  )) {
    expect_no_error(quietly(laplace(density, c(a = 0.03), seed = 1)))
  }
})
