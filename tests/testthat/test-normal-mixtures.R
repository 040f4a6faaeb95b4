# The share of each mixture below q (probs x columns), or above it where the
# probability is larger than 1/2, over what it should be.
share_beyond <- function(q, mean, sd, probs) {
  out <- vapply(seq_len(ncol(mean)), function(j) {
    vapply(seq_along(probs), function(k) {
      lower <- probs[[k]] <= 0.5
      z <- (q[k, j] - mean[, j]) / sd[, j]
      mean(stats::pnorm(z, lower.tail = lower)) /
        (if (lower) probs[[k]] else 1 - probs[[k]])
    }, 0)
  }, numeric(length(probs)))
  matrix(out, length(probs))
}

probs_tried <- c(1e-12, 1e-5, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-9)

test_that("quantiles of mixtures have their probability below them", {
  skip_long()
  withr::local_seed(1)
  for (spread in c(0.02, 0.3, 3, 20)) {
    for (unlike in c(0, 0.05, 0.5)) {
      for (draws in c(2, 7, 64, 501)) {
        mean <- matrix(rnorm(draws * 5, 10, spread), draws)
        sd <- exp(matrix(rnorm(draws * 5, 0, unlike), draws))
        q <- mixture_quantiles(mean, sd, probs_tried)
        ratio <- share_beyond(q, mean, sd, probs_tried)
        expect_lt(max(abs(ratio - 1)), 1e-8)
        # one number for each draw, and every column by itself
        same <- sd[, c(1, 1, 1, 1, 1)]
        by_draw <- mixture_quantiles(mean, sd[, 1], probs_tried)
        expect_identical(by_draw, mixture_quantiles(mean, same, probs_tried))
        expect_identical(
          by_draw[, 3, drop = FALSE],
          mixture_quantiles(mean[, 3, drop = FALSE], sd[, 1], probs_tried)
        )
      }
    }
  }
})

test_that("a mixture's quantile is found wherever its mass lies", {
  # two far clusters, equal components, very different widths, an atom beside
  # one
  mean <- cbind(c(-1e6, 1e6), c(2, 2), c(0, 0), c(0, 5))
  sd <- cbind(c(1, 1), c(3, 3), c(0.1, 10), c(1e-9, 2))
  probs <- c(0.001, 0.25, 0.7, 0.999)
  q <- mixture_quantiles(mean, sd, probs)
  expect_equal(share_beyond(q, mean, sd, probs), matrix(1, 4, 4),
               tolerance = 1e-6)
  expect_equal(q[, 2], stats::qnorm(probs, 2, 3))
  expect_equal(
    mixture_quantiles(matrix(1), 2, 0.3), matrix(stats::qnorm(0.3, 1, 2))
  )
  # the atom at 0 has the probabilities from 0.003 to 0.503
  jump <- mixture_quantiles(cbind(c(0, 5)), cbind(c(0, 2)), c(0.1, 0.4, 0.9))
  expect_equal(jump[, 1], c(0, 0, stats::qnorm(0.8, 5, 2)), tolerance = 1e-9)
  expect_equal(
    mixture_quantiles(matrix(c(-1, 1)), matrix(1e200, 2), 0.9),
    matrix(stats::qnorm(0.9) * 1e200)
  )
})

test_that("summaries of mixtures are those of plain R", {
  withr::local_seed(2)
  mean <- matrix(rnorm(60), 12)
  sd <- matrix(rexp(60), 12)
  table <- mixture_table(mean, sd, c(0.1, 0.9))
  expect_equal(table$mean, colMeans(mean))
  expect_equal(table$sd, sqrt(apply(mean, 2, var) + colMeans(sd^2)))
  expect_equal(
    unname(as.matrix(table[3:4])), t(mixture_quantiles(mean, sd, c(0.1, 0.9)))
  )
  expect_equal(column_sds(mean), apply(mean, 2, stats::sd))
  # no variance: the quantiles of the means; unknown: NA
  mean[3, 2] <- NA
  sd[4, 3] <- Inf
  sd[, 4] <- 0
  table <- mixture_table(mean, sd, c(0.1, 0.9))
  expect_identical(is.na(table$lower), c(FALSE, TRUE, TRUE, FALSE, FALSE))
  expect_identical(is.na(table$sd), is.na(table$lower))
  expect_equal(
    c(table$lower[4], table$upper[4]),
    unname(stats::quantile(mean[, 4], c(0.1, 0.9)))
  )
})

test_that("quantiles of columns are those of quantile()", {
  withr::local_seed(3)
  probs <- c(0, 0.001, 0.025, 0.3, 0.5, 0.975, 0.999, 1)
  for (n in c(1, 2, 100, 511, 512, 513, 4000)) {
    columns <- cbind(
      rnorm(n), rcauchy(n), rpois(n, 2), sort(rexp(n)), rbinom(n, 1, 0.01),
      rep(c(0, 1), length.out = n), rep(c(rep(0, 31), 1), length.out = n),
      rep(7, n), -sort(rexp(n)), rep(c(-Inf, 1, Inf), length.out = n)
    )
    found <- column_quantiles(columns, probs)
    plain <- unname(apply(columns, 2, stats::quantile, probs))
    # of infinite numbers quantile() may give NaN
    finite <- seq_len(ncol(columns) - 1L)
    expect_equal(found[, finite], plain[, finite], tolerance = 1e-12)
    expect_identical(found[, -finite], column_quantiles(
      columns[sample.int(n), -finite, drop = FALSE], probs
    )[, 1L])
    columns[1L, 2L] <- NA
    expect_identical(
      is.na(column_quantiles(columns, probs)[, 2L]), rep(TRUE, length(probs))
    )
  }
})

test_that("summaries of rows of a design are those of the matrix of means", {
  withr::local_seed(6)
  probs <- c(0.025, 0.5, 0.9)
  responses <- list(
    normal_response(), events_response("poisson"),
    structure(list(link = "logit"), class = "binomial_response"),
    structure(list(link = "probit"), class = "binomial_response")
  )
  for (draws in c(1, 7, 600)) {
    w <- matrix(rnorm(draws * 5, 0, 0.5), draws)
    at <- list(x = matrix(rnorm(19 * 4), 19), w = w, offset = rnorm(19))
    at$x[2, 3] <- NA
    whole <- with_mean(at)["mean"]
    expect_equal(
      whole$mean, w[, 1:4, drop = FALSE] %*% t(at$x) +
        rep(at$offset, each = draws)
    )
    for (response in responses) {
      for (sd in list(NULL, rexp(draws), numeric(draws))) {
        found <- predicted_columns(response, at, probs, sd)
        expect_identical(found, predicted_columns(response, whole, probs, sd))
      }
      expect_identical(
        predicted_columns(response, at)[1:2],
        column_moments(response_mean(response, whole$mean))
      )
    }
  }
})

test_that("expected responses are those of R's functions, in any place", {
  eta <- matrix(seq(-30, 30, length.out = 601), 1)
  links <- list(logit = stats::plogis, probit = stats::pnorm, log = exp)
  for (link in names(links)) {
    found <- expected_responses(link, eta)
    known <- links[[link]](eta)
    expect_lt(max(abs(found / known - 1)), 1e-13)
    expect_identical(expected_responses(link, eta[500:503]), found[500:503])
    ends <- c(-Inf, Inf, NA, NaN)
    expect_identical(expected_responses(link, ends), links[[link]](ends))
  }
  expect_identical(expected_responses(NULL, eta), eta)
  expect_identical(expected_responses("logit", 0L), 0.5)
})

test_that("linear predictors are those of plain R, for any number of draws", {
  withr::local_seed(4)
  x <- matrix(rnorm(35), 7)
  for (draws in c(1, 15, 16, 33, 300)) {
    w <- matrix(rnorm(draws * 5), draws)
    offset <- rnorm(7)
    out <- linear_predictors(x, w, offset)
    expect_equal(out, w %*% t(x) + rep(offset, each = draws))
    expect_identical(
      linear_predictors(x[3, , drop = FALSE], w[draws, , drop = FALSE],
                        offset[3]),
      out[draws, 3, drop = FALSE]
    )
  }
})

test_that("single outcomes are those of the binomial distribution", {
  withr::local_seed(5)
  response <- structure(
    list(link = "logit"), class = "binomial_response"
  )
  at <- list(mean = matrix(rnorm(200, rep(c(-5, 0, 1, 5), each = 50)), 50))
  tails <- c(0.1, 0.9)
  single <- single_outcomes(response, at, tails)
  for (i in 1:4) {
    share <- plogis(at$mean[, i])
    expect_equal(single$mean[i], mean(share))
    expect_equal(single$sd[i], sqrt(mean(share) * (1 - mean(share))))
    expect_equal(
      c(single$lower[i], single$upper[i]), binomial_quantiles(share, 1, tails)
    )
  }
})

test_that("least counts are those of R's distribution functions", {
  skip_long()
  probs <- c(0, 1e-6, 0.025, 0.5, 0.975, 1 - 1e-6)
  least <- function(below) {
    vapply(probs, function(p) {
      k <- 0
      while (below(k) < p) k <- k + 1
      k
    }, 0)
  }
  quantiles <- function(family, mean, scale = NULL) {
    count_quantiles(list(family = family), mean, scale, probs)
  }
  withr::local_seed(3)
  # the last means are beyond the range of exp(-mean)
  for (size in fast_or(c(1e-9, 20, 800), c(1e-9, 0.3, 20, 400, 2000))) {
    mean <- size * exp(stats::rnorm(50) / 3)
    expect_identical(
      quantiles("poisson", mean), least(function(k) mean(stats::ppois(k, mean)))
    )
    for (scale in fast_or(0.3, c(1e-4, 0.3, 1.5))) {
      tau <- scale * exp(stats::rnorm(50) / 4)
      below <- function(k) mean(stats::pnbinom(k, size = 1 / tau^2, mu = mean))
      expect_identical(quantiles("negbinomial", mean, tau), least(below))
    }
  }
  for (trials in fast_or(c(1, 60), c(1, 7, 60, 3000))) {
    for (centre in fast_or(c(-20, 0, 40), c(-20, -1, 0, 3, 40))) {
      share <- stats::plogis(centre + stats::rnorm(50))
      expect_identical(
        binomial_quantiles(share, trials, probs),
        least(function(k) mean(stats::pbinom(k, trials, share)))
      )
    }
  }
  expect_identical(binomial_quantiles(c(0.2, NA), 3, 0.5), NA_real_)
})

test_that("new observations of new groups have the tails of the mixture", {
  # the draws tell a mean and a large spread of the groups exactly
  at <- list(mean = matrix(log(100), 400, 1), sd = matrix(1, 400, 1))
  tails <- c(0.025, 0.975)
  ends <- function(response, size, scale) {
    unlist(new_observations(response, at, size, scale, tails)[3:4])
  }
  below <- function(distribution, k) {
    stats::integrate(function(z) {
      vapply(z, function(z) distribution(k, log(100) + z) * stats::dnorm(z), 0)
    }, -8, 8, rel.tol = 1e-8)$value
  }
  # step: 1 for whole numbers, the least that are not below the tail
  near <- function(distribution, found, step = 1) {
    for (k in 1:2) {
      expect_gt(below(distribution, found[[k]]), tails[[k]] - 5e-4)
      expect_lt(below(distribution, found[[k]] - step), tails[[k]] + 5e-4)
    }
  }
  near(function(k, eta) stats::ppois(k, exp(eta)),
       ends(events_response("poisson"), 1, NULL))
  near(function(k, eta) stats::pnbinom(k, 4, mu = exp(eta)),
       ends(events_response("negbinomial"), 1, rep(0.5, 400)))
  near(function(k, eta) stats::pt((k - eta) / 0.1, 5),
       ends(t_response(NULL), 1, cbind(sigma = rep(0.1, 400), nu = 5)), 0)
  at$mean[] <- 0
  near(function(k, eta) stats::pbinom(k, 1000, stats::plogis(eta - log(100))),
       ends(binomial_response(list(design = list(link = "logit"))), 1000, NULL))
})
