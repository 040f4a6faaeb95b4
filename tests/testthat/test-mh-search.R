# The search of mh_sample() for the region of high density: what it finds, how
# it ends where there is nothing to find, and where chains then start.

searched <- function(log_density, init, ...) {
  model <- bare_mh(log_density, init, adaptive(), ...)
  model$search <- gibbsite:::find_region(model)
  model
}

# A regression on variables in their own units with a flat prior of the
# coefficients and of log sigma, and its mode in log sigma: least squares,
# sigma^2 = RSS / n, covariance sigma^2 (X'X)^-1 and 1 / (2 n).
air_regression <- function() {
  air <- stats::na.omit(airquality)
  x <- stats::model.matrix(~ Solar.R + Wind + Temp, air)
  y <- air$Ozone
  ols <- stats::lm.fit(x, y)
  n <- nrow(x)
  s2 <- sum(ols$residuals^2) / n
  list(
    log_density = function(theta) {
      sum(stats::dnorm(y, x %*% theta[1:4], theta[[5]], log = TRUE)) -
        log(theta[[5]])
    },
    init = c(numeric(4), 1), lower = c(rep(-Inf, 4), 0),
    beta = unname(ols$coefficients), s = sqrt(s2), n = n,
    cov = s2 * chol2inv(ols$qr$qr[1:4, 1:4])
  )
}

# ---- what is found -----------------------------------------------------------

test_that("zeros do for a regression on variables in their own units", {
  skip_unless_extended()
  air <- air_regression()
  fit <- mh_sample(air$log_density, air$init,
    lower = air$lower, seed = 1, progress = FALSE
  )
  expect_true(converged(fit))
  z <- vapply(1:4, function(j) {
    one <- vapply(fit, function(chain) unclass(chain)[, j], numeric(1000))
    z_of_chains(one, air$beta[[j]])
  }, 0)
  expect_lt(max(abs(z)), 4.5)
})

test_that("the search finds the mode and the curvature there", {
  air <- air_regression()
  model <- searched(air$log_density, air$init, lower = air$lower)
  expect_identical(model$search$ended, "found")
  region <- gibbsite:::found_region(model)
  # to 0.1 standard deviations, as close_enough says
  distance <- region$centre[1:4] - air$beta
  expect_lt(sqrt(sum(distance * solve(air$cov, distance))), 0.15)
  # of sigma on its own scale: sigma / sqrt(2 n), by the slope of the map
  sd <- air$s / sqrt(2 * air$n)
  expect_lt(abs(region$centre[[5]] - air$s) / sd, 0.15)
  factor <- matrix(region$factor_of(1:5), 5)
  expect_identical(factor[upper.tri(factor)], numeric(10))
  cov <- tcrossprod(factor)
  # differences over one standard deviation: of relative order 1 / n
  relative <- eigen(solve(air$cov, cov[1:4, 1:4]))$values
  expect_lt(max(abs(log(Re(relative)))), 5 / air$n)
  expect_lt(abs(log(sqrt(cov[5, 5]) / sd)), 5 / air$n)
})

test_that("scales and covariances given other coordinates are those", {
  cov <- 0.9^abs(outer(1:4, 1:4, "-")) * tcrossprod(10^(-2:1))
  precision <- solve(cov)
  factor <- t(chol(cov))
  expect_equal(
    gibbsite:::conditional_scale(factor), 1 / sqrt(diag(precision)),
    tolerance = 1e-10
  )
  index <- c(4L, 2L)
  block <- matrix(gibbsite:::conditional_factor(factor, index), 2)
  expect_equal(
    tcrossprod(block), solve(precision[index, index]), tolerance = 1e-10
  )
  expect_identical(gibbsite:::conditional_factor(factor, 1:4), c(factor))
  turned <- factor * c(1, -1, 1, -1)
  upright <- gibbsite:::positive_diagonal(turned)
  expect_true(all(diag(upright) > 0))
  expect_equal(tcrossprod(upright), tcrossprod(turned), tolerance = 1e-14)
})

test_that("a far mode of any scale is found in few evaluations", {
  scale <- 10^seq(-3, 3, length.out = 8)
  precision <- solve(0.8^abs(outer(1:8, 1:8, "-")))
  f <- function(x) {
    z <- x / scale - 1000
    -0.5 * sum(z * (precision %*% z))
  }
  search <- searched(f, numeric(8))$search
  expect_identical(search$ended, "found")
  expect_equal(search$centre, 1000 * scale, tolerance = 1e-6)
  cov <- solve(precision) * tcrossprod(scale)
  expect_equal(tcrossprod(search$factor), cov, tolerance = 1e-6)
  expect_lt(search$evaluations, 700)
  # tails that are flat, and a peak of another shape
  far <- list(
    function(x) sum(stats::dcauchy(c(-1, 0, 1, 3, 2) + 5000, x, log = TRUE)),
    function(x) -abs(x - 5001)
  )
  for (f in far) {
    search <- searched(f, 0)$search
    expect_identical(search$ended, "found")
    expect_lt(abs(search$centre - 5001), 1)
  }
})

test_that("a mode on a bound is inside on the scale of the search", {
  f <- function(x) -x[[1]] - (x[[2]] - 3)^2
  model <- searched(f, c(50, 0), lower = c(0, -Inf))
  expect_identical(model$search$ended, "found")
  region <- gibbsite:::found_region(model)
  # x exp(-x) has its mode at 1
  expect_equal(region$centre, c(1, 3), tolerance = 0.1)
  expect_true(all(region$place(c(-20, 0)) > c(0, -Inf)))
  # a start on the bound has no place there
  expect_identical(
    gibbsite:::search_scale(bare_mh(f, c(0, 0), adaptive(), lower = 0))$map,
    c(0L, 0L)
  )
})

test_that("the slope of the map of bounds is its derivative", {
  spec <- list(
    map = 0:3, lower = c(-Inf, 2, -Inf, -1), upper = c(Inf, Inf, 5, 4)
  )
  x <- c(0.3, -0.7, 1.2, 0.4)
  by_differences <- numDeriv::jacobian(function(x) {
    gibbsite:::from_working(spec, x)
  }, x)
  expect_equal(gibbsite:::map_slope(spec, x), diag(by_differences),
               tolerance = 1e-8)
  expect_equal(
    sum(log(abs(gibbsite:::map_slope(spec, x)))),
    gibbsite:::log_jacobian(spec, x), tolerance = 1e-12
  )
})

test_that("cov = \"laplace\" is found from far away, too", {
  air <- air_regression()
  f <- function(w) {
    air$log_density(c(w[1:4], exp(w[[5]]))) + w[[5]]
  }
  proposal <- bare_mh(f, numeric(5), adaptive(cov = "laplace"))
  root <- matrix(proposal$spec$blocks[[1]]$proposal$factor, 5)
  cov <- tcrossprod(root)
  expect_equal(cov[1:4, 1:4], air$cov, tolerance = 1e-4)
  expect_equal(cov[5, 5], 1 / (2 * air$n), tolerance = 1e-4)
  # one search serves the proposal and the starts
  expect_identical(proposal$search$ended, "found")
})

# Regressions from zeros with s = 1: log density -n log s - RSS / (2 s^2), with
# its maximum at least squares and s^2 = RSS / n.
least_squares <- function(formula, data) {
  frame <- stats::model.frame(formula, data)
  x <- stats::model.matrix(formula, frame)
  y <- stats::model.response(frame)
  p <- ncol(x)
  n <- nrow(x)
  rss <- sum(stats::lm.fit(x, y)$residuals^2)
  list(
    value = function(theta, s) {
      -n * log(s) - sum((y - x %*% theta[seq_len(p)])^2) / (2 * s^2)
    },
    p = p, top = -n / 2 * log(rss / n) - n / 2
  )
}

test_that("a regression from zeros needs no bound, in any dress", {
  skip_long()
  air <- stats::na.omit(airquality)
  r <- least_squares(Ozone ~ Solar.R + Wind + Temp, air)
  dresses <- list(
    function(t) if (t[[5]] <= 0) -Inf else r$value(t, t[[5]]),
    function(t) r$value(t, t[[5]]), # NaN, with a warning
    function(t) r$value(t, exp(t[[5]])),
    function(t) if (t[[5]] <= 0) -Inf else r$value(t, sqrt(t[[5]])),
    function(t) if (t[[5]] <= 0) -Inf else r$value(t, 1 / sqrt(t[[5]]))
  )
  for (k in fast_or(c(1, 2, 5), seq_along(dresses))) {
    f <- dresses[[k]]
    init <- c(numeric(4), if (k == 3) 0 else 1)
    search <- searched(f, init)$search
    expect_identical(search$ended, "found")
    expect_gt(search$top, r$top - 0.1)
    expect_lt(search$evaluations, 700)
  }
  fit <- mh_sample(dresses[[1]], c(numeric(4), 1), seed = 1, progress = FALSE)
  expect_true(converged(fit))
  expect_gt(min(all_columns(fit)[, "log_density"]), r$top - 50)
})

test_that("the mode of regressions of many kinds is found from zeros", {
  skip_long()
  cases <- list(
    list(mpg ~ ., mtcars), list(Employed ~ ., longley),
    list(RTEN ~ ., USJudgeRatings), list(medv ~ ., MASS::Boston),
    list(perm ~ area + peri + shape, rock), list(y ~ ., MASS::UScrime),
    list(GNP ~ Year + Population, longley), list(weight ~ height, women)
  )
  for (case in cases[fast_or(c(1, 5, 7), seq_along(cases))]) {
    r <- least_squares(case[[1]], case[[2]])
    f <- function(t) {
      s <- t[[r$p + 1]]
      if (s <= 0) -Inf else r$value(t, s)
    }
    search <- searched(f, c(numeric(r$p), 1))$search
    expect_identical(search$ended, "found")
    expect_gt(search$top, r$top - 0.1)
  }
})

test_that("other densities far from a normal one have their mode found", {
  skip_long()
  peaks <- list(
    # steps, an edge, a kink, a valley, units of 1e8, a narrow corner
    list(function(x) -sum((floor(x) - 40)^2) / 50, c(0, 0), 0, 0.1),
    list(function(x) -sum((floor(x) - 40)^2) / 2, c(0, 0), 0, 0.1),
    list(function(x) if (x[[1]] < 0) -Inf else -x[[1]] - x[[2]]^2, c(50, 3),
         0, 0.1),
    list(function(x) -sum(abs(x - 50)), numeric(3), 0, 0.1),
    list(function(x) -(1 - x[[1]])^2 / 2 - 50 * (x[[2]] - x[[1]]^2)^2,
         c(-5, 10), 0, 0.1),
    list(function(x) -sum((x / 1e8 - 30)^2) / 2, numeric(3), 0, 0.1),
    list(function(x) -sum((x / 1e-8 - 30)^2) / 2, numeric(3), 0, 0.1)
  )
  for (peak in peaks) {
    search <- searched(peak[[1]], peak[[2]])$search
    expect_identical(search$ended, "found")
    expect_gt(search$top, peak[[3]] - peak[[4]])
  }
})

# ---- how it ends -------------------------------------------------------------

test_that("where there is no mode the run begins around init", {
  skip_long()
  ends <- list(
    random = function(x) -sum(x^2) / 2 + stats::rnorm(1),
    flat = function(x) if (all(abs(x) < 5)) 0 else -Inf,
    flat = function(x) 0,
    bound = function(x) sum(x^2), bound = function(x) exp(x[[1]]),
    bound = function(x) x[[1]] - x[[2]]^2,
    several = function(x) {
      log(0.4 * exp(-sum((x - 8)^2) / 2) + 0.6 * exp(-sum(x^2) / 2))
    }
  )
  for (k in seq_along(ends)) {
    f <- ends[[k]]
    init <- if (k == 7) c(4.5, 4.5) else c(0.5, 0.5)
    model <- withr::with_seed(1, searched(f, init))
    expect_identical(model$search$ended, names(ends)[[k]])
    expect_null(gibbsite:::found_region(model))
    expect_lte(model$search$evaluations, gibbsite:::search_bound(2))
  }
})

test_that("a density that is random far from the start has no mode", {
  f <- function(x) -sum((x - 5)^2) / 2 + (x[[1]] > 2) * stats::rnorm(1)
  for (seed in 1:5) {
    search <- withr::with_seed(seed, searched(f, c(0, 0))$search)
    expect_false(search$ended == "found")
  }
})

test_that("a peak with little mass is no place for chains", {
  # the neck of a funnel, at x[1] = -8
  f <- function(x) {
    stats::dnorm(x[[1]], log = TRUE) +
      sum(stats::dnorm(x[-1], 0, exp(x[[1]]), log = TRUE))
  }
  search <- searched(f, numeric(9))$search
  expect_identical(search$ended, "narrow")
})

test_that("walls, errors and NaN far away do not stop the search", {
  skip_long()
  walls <- list(
    function(x) stop("not here"), function(x) NaN, function(x) -Inf,
    function(x) "a", function(x) Inf
  )
  for (wall in walls) {
    f <- function(x) if (any(x < -1)) wall(x) else -sum((x - 2)^2) / 2
    search <- searched(f, c(-0.99, 50))$search
    expect_identical(search$ended, "found")
    expect_equal(search$centre, c(2, 2), tolerance = 0.1)
  }
  # at init itself they are errors, as before
  expect_error(short_mh(function(x) stop("not here"), 1), "not here")
  expect_error(
    short_mh(function(x) -Inf, 1), class = "gibbsite_error_zero_density"
  )
})

test_that("the evaluations are counted, and bounded", {
  skip_long()
  count <- 0
  counting <- function(f) {
    function(x) {
      count <<- count + 1
      f(x)
    }
  }
  densities <- list(function(x) -sum(x^2), function(x) 0, function(x) sum(x))
  for (f in densities) {
    for (d in c(1, 4)) {
      count <- 0
      search <- searched(counting(f), numeric(d))$search
      expect_identical(search$evaluations, count)
      expect_lte(count, gibbsite:::search_bound(d))
    }
  }
})

# ---- where chains start ------------------------------------------------------

test_that("chains start around the mode, twice as spread out", {
  skip_long()
  cov <- matrix(c(1, 9, 9, 100), 2)
  precision <- solve(cov)
  f <- function(x) {
    z <- x - 1e4
    -0.5 * sum(z * (precision %*% z))
  }
  # steps so short that the draws are the starts
  fit <- short_mh(f, c(0, 0), random_walk(1e-9),
    draws = 1, burnin = 0, chains = fast_or(60, 200)
  )
  z <- backsolve(chol(cov), t(all_columns(fit)[, 1:2] - 1e4), transpose = TRUE)
  expect_gt(stats::ks.test(as.vector(z) / 2, "pnorm")$p.value, 1e-4)
})

test_that("modes apart are not lost from the starts", {
  f <- function(x) {
    log(0.4 * stats::dnorm(x, -10) + 0.6 * stats::dnorm(x, 10))
  }
  fit <- short_mh(f, 0.2, random_walk(1e-9),
    draws = 1, burnin = 0, chains = 20
  )
  starts <- all_columns(fit)[, 1]
  expect_true(any(starts < -5))
  expect_true(any(starts > 5))
})

test_that("what is learned on a climb is forgotten", {
  skip_long()
  cov <- 0.9^abs(outer(1:5, 1:5, "-"))
  precision <- solve(cov)
  f <- function(x) -0.5 * sum(x * (precision %*% x))
  climb <- function(...) {
    short_mh(f, rep(0, 5), inits = list(rep(300, 5)), chains = 1, draws = 1,
      burnin = 5000, seed = 1, ...
    )
  }
  fit <- suppressWarnings(climb())
  state <- attr(fit, "chains")[[1]]$state
  # began high, and not far below typical points
  expect_gt(state$high, -30)
  memory <- state$blocks[[1]]
  expect_gt(memory$tuning[[2]], 0)
  expect_lt(memory$tuning[[2]], 5000)
  factor <- matrix(memory$factor, 5)
  factor[upper.tri(factor)] <- 0
  learned <- tcrossprod(factor) * exp(2 * memory$tuning[[1]]) / (2.38^2 / 5)
  # a climb stretches the widest axis tenfold and more
  ratio <- sqrt(Re(eigen(solve(cov, learned))$values))
  expect_lt(max(abs(log(ratio))), log(2))
  if (is_extended()) {
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(suppressWarnings(climb()), fit))
    })
  }
})

test_that("no search is made where each chain has its start", {
  seen <- list()
  f <- function(x) {
    seen[[length(seen) + 1L]] <<- x
    -sum((x - 100)^2) / 2
  }
  fit <- short_mh(f, 0, random_walk(1), inits = list(1, 2))
  expect_identical(seen[1:2], list(1, 2))
  expect_length(seen, 2 + 2 * 30)
  expect_null(attr(fit, "model")$search)
  expect_false(any(grepl("Search", capture.output(print(fit)))))
  again <- short_mh(f, 0, inits = fit)
  expect_null(attr(again, "model")$search)
})

test_that("the search is the same in all processes and pieces", {
  skip_on_cran()
  skip_on_os("windows")
  air <- air_regression()
  run <- function(draws, ...) {
    short_mh(air$log_density, air$init,
      lower = air$lower, draws = draws, burnin = 50, ...
    )
  }
  whole <- run(40)
  expect_identical(attr(whole, "model")$search$ended, "found")
  expect_true(identical_fit(run(40, cores = 2), whole))
  expect_true(identical_fit(longer(run(10), 30), whole))
  expect_identical(
    attr(longer(run(10), 30), "model")$search, attr(whole, "model")$search
  )
})

test_that("an interrupted search goes on with the call that was interrupted", {
  skip_long()
  count <- 0
  # an environment is no part of the density's hash
  break_off <- new.env()
  break_off$at <- Inf
  counting <- function(x) {
    count <<- count + 1
    if (count == break_off$at) rlang::interrupt()
    -sum((x - c(30, 1000))^2) / 2 + 0 * stats::rnorm(1)
  }
  run <- function() short_mh(counting, c(a = 0, b = 0))
  whole <- run()
  calls <- count
  searched <- attr(whole, "model")$search$evaluations
  for (place in unique(round(seq(1, searched, length.out = fast_or(3, 6))))) {
    break_off$at <- place
    count <- 0
    part <- withr::with_options(
      list(gibbsite.on_interrupt = "return"), suppressWarnings(run())
    )
    expect_s3_class(part, "gibbsite_partial")
    break_off$at <- Inf
    count <- 0
    fit <- longer(part, 20)
    expect_identical(count, calls - place + 1)
    expect_true(identical_fit(fit, whole))
  }
})

test_that("a fit says what its search did", {
  skip_long()
  say <- function(f, init) {
    fit <- suppressMessages(short_mh(f, init), "gibbsite_message_improper")
    grep("^Search", capture.output(print(fit)), value = TRUE)
  }
  expect_snapshot({
    writeLines(say(function(x) -sum((x - 1000)^2), c(0, 0)))
    writeLines(say(function(x) -sum(x^2) + stats::rnorm(1), c(0, 0)))
    writeLines(say(function(x) if (all(abs(x) < 5)) 0 else -Inf, c(0, 0)))
    writeLines(say(function(x) 0, 1))
  })
})
