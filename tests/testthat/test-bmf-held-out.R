# Predictions of pairs given up front, and scores of ratings held back.

test_that("pairs given up front are averaged over every kept draw", {
  skip_long()
  ratings <- small_ratings()
  back <- c(3, 30, 77)
  asked <- ratings[back, ]
  asked$value[2] <- NA
  fit <- short_bmf(ratings[-back, ], draws = 300, predict_at = asked,
    keep = c("u", "v")
  )
  model <- attr(fit, "model")
  u <- draws_of(fit, "u")
  v <- draws_of(fit, "v")
  i <- match(asked$user, model$users)
  j <- match(asked$item, model$items)
  eta <- vapply(1:3, function(p) {
    model$center + apply(u[, , , i[p]] * v[, , , j[p]], 1:2, sum)
  }, matrix(0, 300, 2))
  out <- predicted_at(fit)
  expect_equal(out$mean, apply(eta, 3, mean))
  expect_equal(
    out$parameters, apply(eta, 3, function(x) mean((x - mean(x))^2))
  )
  expect_equal(out$noise, rep(mean(1 / draws_of(fit, "beta")), 3))
  expect_identical(out$value, asked$value)
  # fewer draws are stored: every second one
  expect_identical(nrow(predict(fit, asked, type = "draws")), 300L)
  stored <- predict(fit, asked, interval = "prediction")
  expect_false(isTRUE(all.equal(stored$mean, out$mean, tolerance = 1e-6)))
  standard <- (stored$upper - stored$mean) / stored$sd
  expect_equal(out$upper, out$mean + sqrt(out$variance) * standard)

  scores <- held_out(fit)
  expect_identical(scores$ratings, 2L)
  error <- (asked$value - out$mean)[c(1, 3)]
  expect_equal(scores$rmse, sqrt(mean(error^2)))
  density <- exp(log_lik(fit, asked[c(1, 3), ]))
  expect_equal(scores$lpd, mean(log(colMeans(density))))
  expect_equal(held_out(fit, asked[c(1, 3), ])$lpd, scores$lpd)
})

test_that("coverage is counted by the predictive distribution", {
  ratings <- small_ratings()
  fit <- short_bmf(ratings)
  scores <- held_out(fit, ratings, level = c(0.2, 0.995))
  expect_named(
    scores, c("ratings", "rmse", "mae", "lpd", "coverage_20", "coverage_99.5")
  )
  ends <- predict(fit, ratings, interval = "prediction", level = 0.2)
  expect_equal(
    scores$coverage_20,
    mean(ratings$value >= ends$lower & ratings$value <= ends$upper)
  )
  expect_equal(scores$mae, mean(abs(residuals(fit))))
})

test_that("one rating held back is scored like others", {
  ratings <- small_ratings()
  one <- short_bmf(ratings[-1, ], predict_at = ratings[1, ])
  row <- held_out(one, level = 0.99)
  expect_identical(row$ratings, 1L)
  again <- held_out(one, ratings[1, ], level = 0.99)
  expect_equal(row$lpd, again$lpd)
  expect_identical(row$coverage_99, again$coverage_99)
})

test_that("pairs that the fit has used are said not to be held out", {
  made <- withr::with_seed(1, sim_bmf(12, 8, rank = 2, share = 0.5))
  pairs <- made[1:5, 1:3]
  run <- function(data) {
    quietly(gibbs_bmf(
      data, rank = 2, predict_at = pairs, draws = 20, burnin = 5, chains = 1,
      seed = 1, progress = FALSE
    ))
  }
  known <- run(made)
  expect_message(held_out(known), "5 pairs of `predict_at` are in",
                 class = "gibbsite_message_not_held_out")
  expect_message(held_out(known, pairs[1, ]), "1 pair of `newdata` is in",
                 class = "gibbsite_message_not_held_out")
  other <- run(made[-(1:5), ])
  expect_no_message(held_out(other), class = "gibbsite_message_not_held_out")
})
