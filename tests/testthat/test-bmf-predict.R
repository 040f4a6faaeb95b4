# Intervals of predict() for ratings.

test_that("an interval of the mean has the variance of the parameters alone", {
  fit <- short_bmf(biases = TRUE)
  pairs <- data.frame(
    user = c("a", "b", "new", "a", "new"), item = c(10, 20, 30, 1e6, 1e6)
  )
  parts <- predict(fit, pairs)
  set.seed(1)
  of_mean <- predict(fit, pairs, interval = "mean", level = 0.8)
  expect_named(
    of_mean, c("user", "item", "mean", "sd", "lower", "upper", "unknown")
  )
  expect_identical(of_mean$mean, parts$mean)
  expect_equal(of_mean$sd^2, parts$parameters)
  set.seed(1)
  of_rating <- predict(fit, pairs, interval = "prediction", level = 0.8)
  expect_equal(of_rating$sd^2, parts$variance)
  expect_true(all(
    of_rating$upper - of_rating$lower > of_mean$upper - of_mean$lower
  ))
  # of known ids: the quantiles of the draws
  draws <- predict(fit, pairs, type = "draws")
  ends <- apply(draws[, 1:2], 2, quantile, c(0.1, 0.9), names = FALSE)
  expect_equal(of_mean$lower[1:2], ends[1, ])
  expect_equal(of_mean$upper[1:2], ends[2, ])
  # of new ids each draw has factors of its own
  many <- do.call(rbind, lapply(1:40, function(i) {
    predict(fit, pairs[3:4, ], type = "draws")
  }))
  below <- colMeans(many <= rep(of_mean$upper[3:4], each = nrow(many)))
  expect_lt(max(abs(below - 0.9)), 4.5 * sqrt(0.09 / nrow(many)))
})

test_that("of a clipped rating the interval is that of its expected value", {
  ratings <- small_ratings()
  fit <- short_bmf(ratings, range = range(ratings$value))
  pairs <- ratings[1:4, 1:2]
  found <- predict(fit, pairs, interval = "mean", level = 0.5)
  draws <- predict(fit, pairs, type = "draws")
  ends <- apply(draws, 2, quantile, c(0.25, 0.75), names = FALSE)
  expect_equal(found$lower, ends[1, ])
  expect_equal(found$upper, ends[2, ])
  expect_equal(found$sd^2, predict(fit, pairs)$parameters)
})

test_that("folded users have both intervals", {
  fit <- short_bmf()
  new <- data.frame(user = "z", item = c(10, 20), value = c(1, 2))
  set.seed(1)
  folded <- fold_in(fit, new)
  pairs <- data.frame(user = "z", item = c(70, 30))
  parts <- predict(folded, pairs)
  found <- predict(folded, pairs, interval = "mean", level = 0.5)
  expect_equal(found$sd^2, parts$parameters)
  draws <- predict(folded, pairs, type = "draws")
  ends <- apply(draws, 2, quantile, c(0.25, 0.75), names = FALSE)
  expect_equal(found$lower, ends[1, ])
  expect_equal(found$upper, ends[2, ])
  all <- predict(folded, pairs, interval = "prediction")
  expect_equal(all$sd^2, parts$variance)
})

test_that("intervals that a fit does not have are refused by name", {
  fit <- short_bmf()
  pairs <- some_pairs
  top <- quiet(gibbs_bmf(small_ratings(), 2, method = "icm", seed = 1))
  expect_gibbsite_error({
    predict(fit, pairs, type = "interval")
    predict(fit, pairs, interval = TRUE)
    predict(fit, pairs, type = "draws", interval = "mean")
    predict(top, pairs, interval = "mean")
    predict(top, pairs, interval = "both")
  })
})
