# predict() of ratings.

test_that("an interval of the mean has the variance of the parameters alone", {
  skip_long()
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
  many <- do.call(rbind, lapply(seq_len(fast_or(15, 40)), function(i) {
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
  skip_long()
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
  skip_long()
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

test_that("moments and intervals of new ids agree with draws of them", {
  skip_unless_extended()
  fit <- short_bmf(draws = 100, biases = TRUE)
  new <- data.frame(user = c("a", "new", "new"), item = c(11, 10, 11))
  moments <- predict(fit, new)
  withr::with_seed(1, {
    interval <- predict(fit, new, interval = "prediction", level = 0.8)
    # 200 draws of the fit, each with 50 new users and items
    rated <- lapply(1:50, function(k) posterior_predict(fit, new))
  })
  rated <- do.call(rbind, rated)
  error <- apply(rated, 2, stats::sd) / sqrt(nrow(rated))
  expect_true(all(abs(colMeans(rated) - moments$mean) < 4.5 * error))
  squares <- (rated - rep(moments$mean, each = nrow(rated)))^2
  error <- apply(squares, 2, stats::sd) / sqrt(nrow(rated))
  expect_true(all(abs(colMeans(squares) - moments$variance) < 4.5 * error))
  inside <- colMeans(
    rated >= rep(interval$lower, each = nrow(rated)) &
      rated <= rep(interval$upper, each = nrow(rated))
  )
  # where both are new the ends rest on one new user for each of 200 draws
  allowance <- 4.5 * sqrt(0.8 * 0.2 * c(1 / 10000, 1 / 10000, 1 / 200))
  expect_true(all(abs(inside - 0.8) < allowance))
  # one new id has the same factors in all its pairs
  two <- data.frame(user = "new", item = c(10, 10))
  eta <- predict(fit, two, type = "draws")
  expect_identical(eta[, 1], eta[, 2])
  expect_gt(stats::sd(eta[, 1]), 0)
})

test_that("interval ends are the quantiles of the draws' mixture", {
  fit <- short_bmf()
  eta <- etas_by_hand(fit, some_pairs$user, some_pairs$item)
  sd <- sqrt(noise_by_hand(fit))
  for (level in c(0.5, 0.9, 0.999)) {
    interval <- predict(fit, some_pairs, interval = "prediction", level = level)
    below <- function(ends) {
      vapply(1:5, function(p) mean(stats::pnorm(ends[p], eta[, p], sd)), 0)
    }
    expect_equal(below(interval$lower), rep((1 - level) / 2, 5))
    expect_equal(below(interval$upper), rep((1 + level) / 2, 5))
  }
  mean <- predict(fit, some_pairs)
  expect_equal(interval$mean, mean$mean)
  expect_equal(interval$sd, sqrt(mean$variance))
})

test_that("pairs predicted together and one by one are the same to the bit", {
  skip_unless_extended()
  fit <- short_bmf(biases = TRUE)
  pairs <- data.frame(
    user = c("a", "b", "new", "c", "y"), item = c(10, 20, 30, 11, 150)
  )
  for (interval in c("none", "mean", "prediction")) {
    together <- predict(fit, pairs, interval = interval)
    alone <- do.call(rbind, lapply(1:5, function(p) {
      predict(fit, pairs[p, ], interval = interval)
    }))
    expect_identical(alone, together)
  }
  known <- pairs[c(1, 2, 5), ]
  together <- predict(fit, known, type = "draws")
  alone <- lapply(1:3, function(p) predict(fit, known[p, ], type = "draws"))
  expect_identical(do.call(cbind, alone), together)
  # many pairs are worked off in blocks
  many <- pairs[rep(1:5, 30000), ]
  expect_identical(
    predict(fit, many)$variance, rep(predict(fit, pairs)$variance, 30000)
  )
})

test_that("no pairs have no rows of answers", {
  skip_long()
  ratings <- small_ratings()
  levels <- transform(ratings, value = pmin(pmax(round(value), 1), 5))
  fits <- list(
    short_bmf(ratings), short_bmf(levels, range = c(1, 5)),
    short_bmf(levels, link = "ordinal")
  )
  some <- levels[1:2, ]
  none <- some[0, ]
  for (fit in fits[fast_or(2:3, 1:3)]) {
    for (interval in c("none", "prediction", if (is_extended()) "mean")) {
      expect_identical(
        predict(fit, none, interval = interval),
        predict(fit, some, interval = interval)[0, ]
      )
    }
    expect_identical(augment(fit, none), augment(fit, some)[0, ])
    for (draws in list(posterior_predict, posterior_epred, log_lik)) {
      expect_identical(dim(draws(fit, none)), c(80L, 0L))
    }
    folded <- fold_in(fit, data.frame(user = "new", item = 10, value = 3))
    expect_identical(
      predict(folded, none, interval = "prediction"),
      predict(folded, data.frame(user = "new", item = 10L),
              interval = "prediction")[0, ]
    )
  }
  expect_identical(
    predict(fit, none, type = "probabilities"),
    predict(fit, some, type = "probabilities")[0, ]
  )
  top <- gibbs_bmf(ratings, 1, method = "icm", seed = 1)
  expect_identical(
    predict(top, none, interval = "prediction"),
    predict(top, some, interval = "prediction")[0, ]
  )
})

test_that("terms of the formula are evaluated in new data", {
  made <- withr::with_seed(1, sim_bmf(30, 20, rank = 2, share = 0.5))
  made$stars <- exp(made$value)
  made$value <- NULL
  fit <- brief(gibbs_bmf, log(stars) ~ toupper(user) + item, made, rank = 2,
               predict_at = made[1:20, ])
  model <- attr(fit, "model")
  expect_equal(model$pairs$value, log(made$stars[1:20]))
  expect_equal(log_lik(fit, made), log_lik(fit), ignore_attr = TRUE)
  expect_equal(augment(fit, made)$.resid, augment(fit)$.resid)
  # another column is not taken in its place
  other <- transform(made, value = stars)
  expect_equal(log_lik(fit, other), log_lik(fit), ignore_attr = TRUE)
  names(other) <- sub("stars", "marks", names(other))
  expect_error(log_lik(fit, other), "\"log\\(stars\\)\" or \"stars\"")
  expect_error(
    predict(fit, data.frame(user = 1, item = 1, value = 1)[-1]),
    "no column \"toupper\\(user\\)\" or \"user\""
  )
  # ratings that predictions do not need are not read
  expect_length(posterior_predict(fit, other[1:2, ], ndraws = 1), 2)
})
