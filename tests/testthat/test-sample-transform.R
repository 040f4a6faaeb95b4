
test_that("an inverse is the least number that has the probability", {
  skip_long()
  withr::local_seed(1)
  evaluated <- 0
  cdf <- function(x) {
    evaluated <<- evaluated + length(x)
    stats::pgamma(x, 2)
  }
  # many draws: cells of equal probability first
  many <- fast_or(1e5 + 1, 2e5)
  x <- withr::with_seed(2, sample_inverse_cdf(many, cdf = cdf, lower = 0))
  expect_equal(
    x, stats::qgamma(withr::with_seed(2, runif(many)), 2), tolerance = 1e-12
  )
  expect_lt(evaluated, 20 * many)
  # the least number, but for rounding: one a little smaller has not enough
  u <- withr::with_seed(2, runif(many))
  expect_true(all(stats::pgamma(x, 2) >= u))
  expect_true(all(stats::pgamma(x * (1 - 1e-12), 2) < u))
  mixed <- function(x) (x >= 0) / 2 + stats::pnorm(x, 1) / 2
  n <- fast_or(4000, 2e5)
  x <- withr::with_seed(2, sample_inverse_cdf(n, cdf = mixed))
  u <- withr::with_seed(2, runif(n))
  jump <- u > mixed(-1e-300) & u <= mixed(0)
  expect_true(all(x[jump] == 0))
  expect_equal(mixed(x[!jump]), u[!jump], tolerance = 1e-12)
  whole <- withr::with_seed(2, sample_inverse_cdf(
    n, cdf = function(x) stats::ppois(x, 3), lower = -1
  ))
  expect_identical(whole, as.double(stats::qpois(u, 3)))
})

test_that("a distribution function of stats is no quantile function", {
  expect_error(
    sample_inverse_cdf(3, pnorm), "must be a quantile function, not `pnorm()`",
    fixed = TRUE, class = "gibbsite_error_argument"
  )
  expect_error(sample_inverse_cdf(3, stats::ppois, lambda = 2), "= qpois")
  expect_length(sample_inverse_cdf(3, stats::qnorm), 3)
})
