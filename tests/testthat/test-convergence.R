# The measures in C beside those of posterior, which are another program's.

# Kinds of draws: independent, counts, two values, slow, a random walk, a level
# for each chain, antithetic.
random_draws <- function(n, m) {
  size <- n * m
  x <- switch(sample(7, 1),
    rnorm(size),
    rpois(size, 1),
    rbinom(size, 1, 0.5),
    stats::filter(rnorm(size), 0.95, "recursive"),
    cumsum(rnorm(size)),
    rep(rnorm(m), each = n),
    (-0.9)^seq_len(size) + rnorm(size) / 10
  )
  array(as.double(x), c(n, m, 1L), list(NULL, NULL, variable = "a"))
}

by_posterior <- function(x) {
  x <- matrix(x, nrow(x))
  suppressWarnings(c(
    posterior::rhat(x), posterior::ess_bulk(x), posterior::ess_tail(x),
    posterior::ess_mean(x), posterior::mcse_mean(x)
  ))
}

by_us <- function(x) {
  error <- .Call(gibbsite:::C_mean_error, x)
  c(unlist(diagnose(x)[2:4]), error$ess, error$error)
}

test_that("R-hat and effective sample sizes are posterior's", {
  skip_long()
  sizes <- c(1, 4:12, 50, 99, 100, 333)
  worst <- 0
  withr::local_seed(1)
  for (i in seq_len(fast_or(60, 5000))) {
    x <- random_draws(sample(sizes, 1), sample(5, 1))
    if (min(x) == max(x)) next
    expected <- by_posterior(x)
    found <- by_us(x)
    expect_identical(is.na(found), is.na(expected), ignore_attr = TRUE)
    off <- abs(found - expected) / pmax(1, abs(expected))
    # Inf is Inf
    off[found == expected] <- 0
    worst <- max(worst, off, na.rm = TRUE)
  }
  expect_lt(worst, 1e-10)
})

test_that("autocovariances of long lags are those of short ones", {
  withr::local_seed(2)
  x <- array(
    stats::filter(rnorm(4 * 5000), 0.999, "recursive"), c(5000, 4, 1),
    list(NULL, NULL, variable = "a")
  )
  expect_equal(by_us(x), by_posterior(x), tolerance = 1e-10,
               ignore_attr = TRUE)
  # an odd number of chains
  expect_equal(by_us(x[, 1:3, , drop = FALSE]),
               by_posterior(x[, 1:3, , drop = FALSE]), tolerance = 1e-10,
               ignore_attr = TRUE)
})

test_that("what cannot be measured is NA", {
  one <- function(x, chains = 2) {
    x <- array(x, c(length(x) / chains, chains, 1L),
               list(NULL, NULL, variable = "a"))
    c(diagnose(x), .Call(gibbsite:::C_mean_error, x))
  }
  same <- one(rep(3, 20))
  expect_true(same$constant)
  expect_identical(c(same$rhat, same$ess_bulk, same$ess), rep(NA_real_, 3))
  expect_identical(same$error, 0)
  for (bad in c(NA, NaN, Inf)) {
    found <- one(c(bad, rnorm(19)))
    expect_false(found$finite)
    expect_false(found$constant)
    expect_identical(c(found$ess_tail, found$error), rep(NA_real_, 2))
  }
  expect_identical(one(1, 1)$error, NA_real_)
  # of three draws a half is one
  expect_identical(one(rnorm(6))$rhat, NA_real_)
})

test_that("a filtered table of convergence has no verdict", {
  table <- convergence(fake_fit(chains = 2))
  # as dplyr filters rows: it keeps all attributes
  some <- table
  attr(some, "row.names") <- 1L
  for (column in names(some)) some[[column]] <- NULL
  some <- structure(
    lapply(as.data.frame(table), `[`, 1L), class = class(table),
    row.names = 1L, names = names(table)
  )
  for (part in c("rows", "thresholds", "draws", "chains")) {
    attr(some, part) <- attr(table, part)
  }
  expect_false(any(grepl("onverged", capture.output(print(some)))))
  skip_if_not_installed("dplyr")
  shown <- capture.output(print(
    getExportedValue("dplyr", "filter")(table, rhat > 0, rhat < 1)
  ))
  expect_false(any(grepl("onverged", shown)))
  sorted <- capture.output(print(
    getExportedValue("dplyr", "arrange")(table, rhat)
  ))
  expect_true(any(grepl("onverged", sorted)))
})
