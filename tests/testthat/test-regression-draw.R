# Draws of new responses.

# The draws of each row, or of each row and category, less their expectation; NA
# for a category that a row never draws, whose mean has no standard error.
away_from_mean <- function(fit) {
  mean <- posterior_epred(fit)
  drawn <- withr::with_seed(1, posterior_predict(fit))
  if (length(dim(mean)) == 3L && length(dim(drawn)) == 2L) {
    count <- dim(mean)[[3L]]
    drawn <- vapply(seq_len(count), function(k) drawn == k, 0 * drawn)
  } else if (length(dim(mean)) == 3L) {
    mean <- mean * as.vector(apply(drawn, 1:2, sum))
  } else if (!is.null(attr(fit, "model")$frame$total)) {
    mean <- mean * rep(attr(fit, "model")$frame$total, each = nrow(mean))
  }
  away <- matrix(drawn - mean, nrow(drawn))
  away[, apply(matrix(drawn, nrow(drawn)), 2L, stats::sd) == 0] <- NA
  away
}

test_that("each row is drawn by its own distribution", {
  skip_long()
  fits <- grouped_fits()
  cars <- transform(datasets::mtcars, cyl = factor(cyl))
  cars$rest <- 8 - cars$carb
  fits$trials <- quietly(gibbs_logistic(
    cbind(carb, rest) ~ wt + (1 | cyl), cars, draws = 60, burnin = 60,
    chains = 2, seed = 1, progress = FALSE
  ))
  fits$counted <- quietly(gibbs_categorical(
    cbind(carb, gear, rest) ~ wt + (1 | cyl), cars, draws = 60, burnin = 60,
    chains = 2, seed = 1, progress = FALSE
  ))
  # the means of t errors with few degrees of freedom have no standard error
  for (name in setdiff(names(fits), "t")) {
    away <- away_from_mean(fits[[name]])
    moved <- !is.na(away[1L, ])
    expect_gt(mean(moved), 0.5, label = name)
    expect_lt(
      max(abs(z_of_means(away[, moved, drop = FALSE], 0))), 5, label = name
    )
  }
})
