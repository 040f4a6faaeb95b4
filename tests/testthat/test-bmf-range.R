# gibbs_bmf(range = ): predictions of ratings that cannot leave their range.

max_z <- 4.5

rounded <- function(seed = 1) {
  made <- withr::with_seed(seed, sim_bmf(25, 20, 2, 0.4, mean = 3.6))
  made$value <- pmin(pmax(round(made$value), 1), 5)
  made
}

short_fit <- function(data, ...) {
  suppressMessages(suppressWarnings(gibbs_bmf(data, 2, ...,
    draws = 60, burnin = 60, chains = 2, seed = 1, progress = FALSE
  )))
}

test_that("moments of clipped normal variates are their integrals", {
  skip_long()
  range <- c(1, 5)
  for (mean in c(-4, 0.7, 1, 3.2, 4.9, 9)) {
    for (sd in c(0.05, 0.9, 6)) {
      moment <- function(power) {
        inside <- stats::integrate(
          function(z) (mean + sd * z)^power * stats::dnorm(z),
          max(-30, (range[[1]] - mean) / sd), min(30, (range[[2]] - mean) / sd),
          rel.tol = 1e-12, subdivisions = 2000
        )
        (if (mean + 30 * sd > 1 && mean - 30 * sd < 5) inside$value else 0) +
          range[[1]]^power * stats::pnorm(range[[1]], mean, sd) +
          range[[2]]^power * stats::pnorm(range[[2]], mean, sd, FALSE)
      }
      found <- gibbsite:::clipped_moments(mean, sd, range)
      expect_equal(found$mean, moment(1), tolerance = 1e-9)
      expect_equal(found$variance, moment(2) - moment(1)^2, tolerance = 1e-6)
    }
  }
})

test_that("moments of clipped normal variates do not see a far end", {
  mean <- c(-4.2, 4.2, 4.999, 5, 8)
  near <- gibbsite:::clipped_moments(mean, 0.9, c(-100, 5))
  for (far in c(1e6, 1e9, 1e15, 1e200, 1e308)) {
    expect_equal(gibbsite:::clipped_moments(mean, 0.9, c(-far, 5)), near,
      tolerance = 1e-12
    )
    turned <- gibbsite:::clipped_moments(-mean, 0.9, c(-5, far))
    expect_equal(-turned$mean, near$mean, tolerance = 1e-12)
    expect_equal(turned$variance, near$variance, tolerance = 1e-12)
  }
  # a narrow range: two values
  for (width in c(1e-2, 1e-4, 1e-9)) {
    for (centre in c(-2, 0, 3)) {
      found <- gibbsite:::clipped_moments(centre, 1, c(0, width))
      share <- stats::pnorm(centre - width / 2)
      expect_equal(found$mean / width, share, tolerance = max(width, 1e-12))
      expect_equal(found$variance / width^2, share * (1 - share),
        tolerance = max(2 * width, 1e-12)
      )
    }
  }
  found <- gibbsite:::clipped_moments(3, 1e10, c(1, 5))
  expect_equal(found, list(mean = 3, variance = 4), tolerance = 1e-6)
  # without any end in reach
  expect_equal(gibbsite:::clipped_moments(mean, 0.9, c(-1e9, 1e9)),
    list(mean = mean, variance = rep(0.81, 5)), tolerance = 1e-12
  )
})

test_that("a range changes predictions and not the posterior", {
  skip_long()
  made <- rounded()
  plain <- short_fit(made)
  fit <- short_fit(made, range = c(1, 5))
  expect_identical(
    lapply(fit, function(x) unclass(x)[, ]),
    lapply(plain, function(x) unclass(x)[, ])
  )
  expect_identical(log_lik(fit), log_lik(plain))
  expect_identical(posterior_linpred(fit), posterior_linpred(plain))
  free <- predict(plain, interval = "prediction", level = 0.99)
  held <- predict(fit, interval = "prediction", level = 0.99)
  expect_true(any(free$upper > 5) && any(free$lower < 1))
  expect_identical(held$upper, pmin(free$upper, 5))
  expect_identical(held$lower, pmax(free$lower, 1))
})

test_that("all predictions are of the clipped rating", {
  skip_unless_extended()
  n <- 40
  made <- rounded()
  fit <- short_fit(made, range = c(1, 5))
  pairs <- new_pairs(made)
  predicted <- withr::with_seed(1, predict(fit, pairs))
  draws <- withr::with_seed(2, do.call(rbind, lapply(seq_len(n), function(i) {
    posterior_predict(fit, pairs)
  })))
  expect_true(all(draws >= 1 & draws <= 5))
  # the draws of the factors are the same each time: those known are exact
  known <- predicted$unknown == "none"
  kept <- nrow(draws) / n
  within <- apply(array(draws, c(kept, n, ncol(draws))), c(1, 3), stats::var)
  error <- sqrt(colMeans(within) / nrow(draws))
  z <- (colMeans(draws) - predicted$mean) / error
  expect_lt(max(abs(z[known])), max_z)
  expect_equal(
    colMeans(posterior_epred(fit, pairs[known, ])), predicted$mean[known]
  )
  spread <- apply(draws, 2, stats::var) / predicted$variance
  expect_lt(max(abs(spread[known] - 1)), 0.1)
  expect_equal(predicted$variance, predicted$noise + predicted$parameters)
  # a new user's or item's factors are integrated over in closed form
  one <- predicted$unknown %in% c("user", "item")
  means <- vapply(seq_len(n), function(i) {
    colMeans(posterior_predict(fit, pairs))
  }, numeric(nrow(pairs)))
  error <- apply(means, 1, stats::sd) / sqrt(n)
  z <- (rowMeans(means) - predicted$mean) / error
  expect_lt(max(abs(z[one])), max_z)
})

test_that("every method reports the same numbers", {
  skip_long()
  made <- rounded()
  held <- new_pairs(made)[1:8, ]
  fit <- short_fit(made, range = c(1, 5), predict_at = held)
  interval <- predict(fit, held, interval = "prediction", level = 0.6)
  at <- predicted_at(fit, level = 0.6)
  expect_equal(at$mean, interval$mean)
  expect_equal(at[c("lower", "upper")], interval[c("lower", "upper")])
  inside <- held$value >= interval$lower & held$value <= interval$upper
  expect_identical(held_out(fit, level = 0.6)$coverage_60, mean(inside))
  expect_equal(
    held_out(fit)$rmse, sqrt(mean((held$value - interval$mean)^2))
  )
  all <- predict(fit, interval = "prediction", level = 0.95)
  augmented <- augment(fit)
  expect_equal(augmented$.fitted, all$mean)
  expect_equal(augmented$.upper, all$upper)
  expect_equal(fitted(fit), all$mean)
  best <- recommend(fit, users = "3", n = 4)
  again <- predict(fit, best[c("user", "item")], interval = "prediction")
  expect_equal(best$mean, again$mean)
  expect_equal(best$sd, again$sd)
  expect_equal(best[c("lower", "upper")], again[c("lower", "upper")])
  expect_gte(drawn(plot(fit))$panels, 1)
})

test_that("intervals that end at an end of the range cover it", {
  skip_long()
  made <- rounded()
  fit <- short_fit(made, range = c(1, 5))
  for (level in c(0.5, 0.9)) {
    interval <- predict(fit, interval = "prediction", level = level)
    inside <- made$value >= interval$lower & made$value <= interval$upper
    row <- held_out(fit, made, level = level)
    expect_identical(row[[ncol(row)]], mean(inside))
  }
})

test_that("new users and modes keep to the range", {
  skip_long()
  made <- rounded()
  fit <- short_fit(made, range = c(1, 5))
  own <- data.frame(user = "ann", item = as.character(1:9), value = 5)
  folded <- withr::with_seed(1, fold_in(fit, own))
  at <- data.frame(user = "ann", item = as.character(10:15))
  interval <- predict(folded, at, interval = "prediction")
  draws <- predict(folded, at, type = "draws")
  expect_equal(colMeans(draws), interval$mean)
  expect_true(all(draws > 1 & draws < 5))
  expect_true(all(interval$upper <= 5 & interval$mean < 5))
  top <- recommend(folded, n = 3)
  expect_equal(
    top$mean, predict(folded, top[c("user", "item")])$mean
  )
  map <- suppressMessages(gibbs_bmf(made, 2, range = c(1, 5), method = "icm",
    seed = 1, progress = FALSE
  ))
  rated <- predict(map, interval = "prediction")
  expect_equal(rated$mean, predict(map))
  expect_true(all(rated$mean > 1 & rated$mean < 5 & rated$upper <= 5))
  expect_true(is.finite(held_out(map, made)$lpd))
})

test_that("extending and comparing keep the range", {
  skip_long()
  made <- rounded()
  fit <- short_fit(made, range = c(1, 5))
  expect_true(identical_fit(
    suppressWarnings(extend(fit, 20, progress = FALSE)),
    suppressMessages(suppressWarnings(gibbs_bmf(made, 2,
      range = c(1, 5), draws = 80, burnin = 60, chains = 2, seed = 1,
      progress = FALSE
    )))
  ))
  compared <- suppressMessages(suppressWarnings(compare_k(
    fit, short_fit(made, range = c(1, 5), biases = TRUE), folds = 2
  )))
  expect_true(all(is.finite(compared$rmse)))
})

test_that("what cannot be a range, and ratings outside it, are errors", {
  skip_long()
  made <- rounded()
  fit <- short_fit(made, range = c(1, 5))
  six <- data.frame(user = "1", item = "2", value = c(3, 6))
  expect_gibbsite_error({
    gibbs_bmf(made, 2, range = 5)
    gibbs_bmf(made, 2, range = c(5, 1))
    gibbs_bmf(made, 2, range = c(1, NA))
  })
  expect_gibbsite_error(class = "gibbsite_error_range", {
    gibbs_bmf(made, 2, range = c(2, 5))
    gibbs_bmf(made, 2, range = c(1, 5), predict_at = six)
    held_out(fit, six)
    fold_in(fit, six)
  })
})

test_that("the picture of coverage takes whole ratings as rounded", {
  expect_identical(grid_step(c(1, 5, 2.5), c(1, 5)), 0)
  expect_identical(grid_step(c(1, 2, 4), c(1, 5)), 1)
  expect_identical(grid_step(c(2, 4, 3.5), c(1, 5)), 0.5)
  expect_identical(grid_step(c(2, 4), NULL), 0)
  made <- withr::with_seed(1, sim_bmf(80, 60, rank = 2, share = 0.3))
  made$value <- pmin(5, pmax(1, round(3.6 + 1.1 * drop(scale(made$value)))))
  held <- seq(1, nrow(made), by = 2)
  fit <- quietly(gibbs_bmf(
    made[-held, ], rank = 2, range = c(1, 5), predict_at = made[held, ],
    draws = 100, burnin = 100, chains = 1, seed = 1, progress = FALSE
  ))
  table <- picture_bmf(fit, "coverage", call = NULL)$table
  expect_lt(max(abs(table$inside - table$level) / table$error), 1.7)
  # ratings at the ends are many: taken as they are they would show fewer
  kept <- kept_factors(fit)
  pairs <- held_out_pairs(fit, NULL, NULL)
  raw <- score_pairs(kept, pairs)[, 2:3]
  expect_lt(mean(share_inside(raw, 0.9)), 0.88)
})
