# gibbs_bmf() as its users meet it: priors, predictions, new users, factors,
# pictures, odd data, messages.  That its draws have the right distribution is
# tested in test-bmf-exact.R.

longer <- function(fit, draws, ...) {
  quiet(extend(fit, draws, progress = FALSE, ...))
}

priors <- list(
  fixed = bmf_prior("fixed"), gamma = bmf_prior("gamma"), wishart = bmf_prior()
)

# ---- the promises of the driver --------------------------------------------

for (kind in fast_or("wishart", names(priors))) {
  test_that(paste("a fit goes on as one run, its answers too:", kind), {
    skip_long()
    biases <- kind != "fixed"
    run <- function(draws, ...) {
      short_bmf(draws = draws, prior = priors[[kind]], biases = biases,
        predict_at = some_pairs, keep = c("u", "v"), ...
      )
    }
    whole <- run(30)
    part <- longer(run(11), 19)
    expect_true(identical_fit(part, whole))
    expect_identical(predicted_at(part), predicted_at(whole))
    expect_identical(predict(part), predict(whole))
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(run(30), whole))
    })
    expect_true(identical_fit(run(30, threads = 2), whole))
    path <- withr::local_tempfile()
    saveRDS(run(11), path)
    expect_true(identical_fit(longer(readRDS(path), 19), whole))
  })
}

test_that("a fit without its data predicts, and goes on with them", {
  skip_long()
  ratings <- small_ratings()
  # one id that only predict_at has
  asked <- rbind(some_pairs, data.frame(user = "new", item = 10))
  fit <- short_bmf(ratings, predict_at = asked)
  bare <- drop_data(fit)
  expect_identical(predict(bare, some_pairs), predict(fit, some_pairs))
  expect_identical(predicted_at(bare), predicted_at(fit))
  expect_identical(factors_of(bare), factors_of(fit))
  expect_true(identical_fit(
    longer(bare, 5, data = ratings), drop_data(longer(fit, 5))
  ))
  shuffled <- ratings[rev(seq_len(nrow(ratings))), ]
  expect_gibbsite_error({
    extend(bare, 5)
    extend(bare, 5, data = shuffled)
    predict(bare)
    recommend(bare)
    plot(bare)
  })
  # ids of another type
  other <- transform(ratings, user = as.character(user), item = factor(item))
  expect_true(identical_fit(
    longer(bare, 5, data = other), drop_data(longer(fit, 5))
  ))
  # a formula's terms are evaluated again
  data <- data.frame(
    y = exp(ratings$value), s = ratings$user, d = ratings$item
  )
  by_formula <- short_bmf(log(y) ~ s + d, data = data)
  expect_true(identical_fit(
    longer(drop_data(by_formula), 5, data = data),
    drop_data(longer(by_formula, 5))
  ))
  # columns of other names, of which one is no name in R
  renamed <- stats::setNames(ratings, c("a user", "b", "c"))
  for (known in list(fit, quietly(short_bmf(
    renamed, user = "a user", item = "b", value = "c"
  )))) {
    for (given in fast_or(list(renamed), list(ratings, renamed))) {
      expect_true(identical_fit(
        longer(drop_data(known), 5, data = given), drop_data(longer(known, 5))
      ))
    }
  }
  expect_gibbsite_error(extend(bare, 5, data = cbind(renamed, more = 1)))
})

test_that("the kind of table plays no part", {
  skip_long()
  ratings <- small_ratings()
  fit <- short_bmf(ratings)
  matrix <- with(ratings, tapply(value, list(user, item), mean))
  # by rows of the table, as the matrix has them by columns
  sorted <- ratings[order(ratings$item, ratings$user), ]
  from_matrix <- short_bmf(matrix)
  expect_equal(do.call(rbind, from_matrix), do.call(rbind, short_bmf(sorted)))
  expect_equal(
    predict(from_matrix, some_pairs)$mean, predict(fit, some_pairs)$mean
  )
})

# ---- predictions -----------------------------------------------------------

for (biases in c(FALSE, TRUE)) {
  some <- if (biases) "wishart" else c("fixed", "gamma")
  for (kind in fast_or(some, names(priors))) {
    test_that(paste("means and variances by hand:", kind, biases), {
      skip_long()
      fit <- short_bmf(prior = priors[[kind]], biases = biases)
      eta <- etas_by_hand(fit, some_pairs$user, some_pairs$item)
      expect_identical(nrow(eta), 80L)
      mean <- predict(fit, some_pairs)
      expect_equal(mean$mean, colMeans(eta))
      centred <- eta - rep(colMeans(eta), each = nrow(eta))
      expect_equal(mean$parameters, colMeans(centred^2))
      expect_equal(mean$noise, rep(mean(noise_by_hand(fit)), 5))
      expect_equal(mean$variance, mean$noise + mean$parameters)
      expect_identical(mean$unknown, rep("none", 5))
      expect_identical(mean$user, some_pairs$user)
      expect_identical(predict(fit, some_pairs, variance = FALSE), mean$mean)
      expect_equal(predict(fit, some_pairs, type = "draws"), eta)
      expect_equal(posterior_epred(fit, some_pairs), eta)
      expect_equal(posterior_linpred(fit, newdata = some_pairs), eta)
    })

    test_that(paste("new users and items by hand:", kind, biases), {
      skip_long()
      fit <- short_bmf(prior = priors[[kind]], biases = biases)
      model <- attr(fit, "model")
      new <- data.frame(user = c("a", "new", "new"), item = c(11, 10, 11))
      k <- seq_len(model$rank)
      one <- vapply(raw_draws(fit), function(draw) {
        u <- prior_by_hand(fit, draw, "u")
        v <- prior_by_hand(fit, draw, "v")
        a <- draw$u[, 1]
        x <- draw$v[, 1]
        d <- model$size
        # what multiplies the other side's factors, and adds to them
        coefficient <- function(x) if (biases) c(x[k], 1) else x
        added <- function(x) if (biases) x[d] else 0
        form <- function(s, x) sum(coefficient(x) * (s %*% coefficient(x)))
        eta <- function(one, other) {
          sum(coefficient(one) * other) + added(one)
        }
        c(
          eta(a, v$mean), eta(x, u$mean), eta(u$mean, v$mean),
          form(v$covariance, a), form(u$covariance, x),
          form(u$covariance, v$mean) + form(v$covariance, u$mean) +
            sum(u$covariance[k, k] * v$covariance[k, k])
        )
      }, numeric(6))
      eta <- model$center + t(one[1:3, ])
      predicted <- predict(fit, new)
      expect_equal(predicted$mean, colMeans(eta))
      centred <- eta - rep(colMeans(eta), each = nrow(eta))
      expect_equal(
        predicted$parameters, colMeans(centred^2) + rowMeans(one[4:6, ])
      )
      expect_identical(predicted$unknown, c("item", "user", "both"))
    })
  }
}

test_that("ids are found whatever their type, and come back as they came", {
  skip_long()
  ratings <- small_ratings()
  fit <- short_bmf(ratings)
  text <- data.frame(user = factor("b"), item = "150")
  expect_identical(
    predict(fit, text)$mean,
    predict(fit, data.frame(user = "b", item = 150L))$mean
  )
  expect_s3_class(predict(fit, text)$user, "factor")
  expect_identical(recommend(fit, "a", 2)$user, c("a", "a"))
  expect_type(recommend(fit, "a", 2)$item, "integer")
  ratings$item <- factor(ratings$item, rev(sort(unique(ratings$item))))
  by_factor <- short_bmf(ratings)
  expect_identical(levels(factors_of(by_factor)$item), levels(ratings$item))
  # names of the data's own columns
  own <- stats::setNames(small_ratings(), c("student", "lecturer", "mark"))
  fit <- short_bmf(own, user = "student", item = "lecturer", value = "mark")
  expect_named(
    predict(fit, own[1:2, ], interval = "prediction"),
    c("student", "lecturer", "mean", "sd", "lower", "upper", "unknown")
  )
  expect_named(
    recommend(fit, "a", 1),
    c("student", "place", "lecturer", "mean", "sd", "lower", "upper",
      "ratings")
  )
  expect_identical(dim(log_lik(fit, own[1:4, ])), c(80L, 4L))
})

test_that("replications, densities and fitted values agree with the draws", {
  skip_long()
  ratings <- small_ratings()
  fit <- short_bmf(ratings)
  eta <- etas_by_hand(fit, ratings$user, ratings$item)
  sd <- sqrt(noise_by_hand(fit))
  expect_equal(fitted(fit), colMeans(eta))
  expect_equal(residuals(fit), ratings$value - colMeans(eta))
  density <- stats::dnorm(
    rep(ratings$value, each = nrow(eta)), eta, sd, log = TRUE
  )
  expect_equal(log_lik(fit), matrix(density, nrow(eta)))
  expect_identical(dim(log_lik(fit, ndraws = 7)), c(7L, nrow(ratings)))
  set.seed(1)
  first <- posterior_predict(fit)
  set.seed(1)
  expect_identical(posterior_predict(fit), first)
  z <- (first - eta) / sd
  expect_lt(abs(mean(z)), 4.5 / sqrt(length(z)))
  expect_lt(abs(mean(z^2) - 1), 4.5 * sqrt(2 / length(z)))
  augmented <- augment(fit)
  expect_named(
    augmented,
    c("user", "item", "value", ".fitted", ".se.fit", ".lower", ".upper",
      ".resid")
  )
  expect_equal(augmented$.resid, residuals(fit))
  expect_equal(augmented$.se.fit, sqrt(predict(fit)$parameters))
  expect_false("value" %in% names(augment(fit, some_pairs)))
  suppressWarnings(expect_s3_class(loo(fit), "psis_loo"))
  if (is_extended()) {
    suppressWarnings(expect_s3_class(waic(fit), "waic"))
    if (requireNamespace("bayesplot", quietly = TRUE)) {
      expect_s3_class(bayesplot::pp_check(fit, ndraws = 5), "ggplot")
    }
  }
})

# ---- recommendations, new users ----------------------------------------------

test_that("recommendations are the best predictions of what is not rated", {
  skip_long()
  ratings <- small_ratings()
  fit <- short_bmf(ratings)
  best <- recommend(fit, c("d", "a"), n = 4, level = 0.5)
  expect_identical(best$user, rep(c("d", "a"), each = 4))
  expect_identical(best$place, rep(1:4, 2))
  for (user in c("a", "d")) {
    rated <- ratings$item[ratings$user == user]
    left <- setdiff(unique(ratings$item), rated)
    all <- predict(
      fit, data.frame(user, item = left), interval = "prediction", level = 0.5
    )
    all <- all[order(-all$mean), ][1:4, ]
    own <- best[best$user == user, ]
    expect_identical(own$item, all$item)
    expect_equal(own$mean, all$mean)
    expect_equal(own$lower, all$lower)
    expect_equal(own$upper, all$upper)
    expect_equal(own$sd, all$sd)
    expect_equal(own$ratings, as.vector(table(ratings$item)[
      as.character(own$item)
    ]))
  }
  # as many as are left
  expect_identical(
    nrow(recommend(fit, "a", 100)), 15L - sum(ratings$user == "a")
  )
  everyone <- recommend(fit, n = 1)
  expect_setequal(everyone$user, unique(ratings$user))
  # a user who has rated all
  full <- rbind(
    ratings, data.frame(user = "all", item = unique(ratings$item), value = 3)
  )
  expect_identical(nrow(recommend(short_bmf(full), "all")), 0L)
  expect_gibbsite_error({
    recommend(fit, c("a", "nobody"))
    recommend(fit, character())
    recommend(fit, NA)
    recommend(fit, "a", n = 0)
    recommend(fit, "a", level = 1)
    recommend(fit, "a", best = TRUE)
    recommend(1)
  })
})

# The distribution of a new user's factors given one draw, by hand.
fold_by_hand <- function(fit, draw, item, value) {
  model <- attr(fit, "model")
  prior <- prior_by_hand(fit, draw, "u")
  x <- t(draw$v[, match(item, model$items), drop = FALSE])
  y <- value - model$center
  if (model$biases) {
    y <- y - x[, model$size]
    x[, model$size] <- 1
  }
  precision <- solve(prior$covariance) + draw$beta * crossprod(x)
  mean <- solve(
    precision,
    solve(prior$covariance, prior$mean) + draw$beta * crossprod(x, y)
  )
  list(mean = drop(mean), covariance = solve(precision))
}

for (kind in names(priors)) {
  test_that(paste("a new user's factors are drawn given the ratings:", kind), {
    skip_long()
    fit <- short_bmf(prior = priors[[kind]], biases = kind != "fixed")
    model <- attr(fit, "model")
    # the same new user many times over is many draws
    new <- data.frame(
      user = rep(1:200, each = 3), item = c(10, 40, 40), value = c(5, 1, 2)
    )
    folded <- withr::with_seed(2, fold_in(fit, new))
    expect_identical(dim(folded$draws), c(model$size, 200L, 80L))
    expect_identical(folded$ratings, rep(3L, 200))
    for (s in c(1, 80)) {
      expected <- fold_by_hand(
        fit, raw_draws(fit)[[s]], c(10, 40, 40), c(5, 1, 2)
      )
      white <- forwardsolve(
        t(chol(expected$covariance)), folded$draws[, , s] - expected$mean
      )
      n <- length(white)
      expect_lt(abs(mean(white)), 4.5 / sqrt(n))
      expect_lt(abs(mean(white^2) - 1), 4.5 * sqrt(2 / n))
      cross <- white[1, ] * white[2, ]
      expect_lt(abs(mean(cross)), 4.5 / sqrt(200))
    }
  })
}

test_that("new users are predicted from their draws", {
  skip_long()
  fit <- short_bmf(biases = TRUE)
  new <- data.frame(
    user = c("p", "p", "q"), item = c(10, 40, 40), value = c(5, 1, NA)
  )
  folded <- withr::with_seed(1, fold_in(fit, new))
  expect_identical(folded$users, c("p", "q"))
  expect_identical(folded$ratings, c(2L, 0L))
  pairs <- data.frame(user = c("p", "q", "p"), item = c(70, 70, 71))
  eta <- vapply(seq_along(raw_draws(fit)), function(s) {
    draw <- raw_draws(fit)[[s]]
    draw$u[, 1:2] <- folded$draws[, , s]
    eta_by_hand(fit, draw, c("a", "b"), c(70, 70))
  }, numeric(2))
  predicted <- predict(folded, pairs)
  expect_equal(predicted$mean[1:2], rowMeans(eta))
  expect_equal(
    predicted$parameters[1:2], apply(eta, 1, function(x) mean((x - mean(x))^2))
  )
  expect_identical(predicted$unknown, c("none", "user", "item"))
  expect_gt(predicted$parameters[3], predicted$parameters[1])
  ends <- predict(folded, pairs, interval = "prediction", level = 0.8)
  expect_equal(
    mean(stats::pnorm(ends$upper[1], eta[1, ], sqrt(noise_by_hand(fit)))), 0.9
  )
  expect_equal(predict(folded, pairs[1:2, ], type = "draws"), t(eta))
  best <- recommend(folded, "p", n = 3)
  expect_false(any(best$item %in% c(10, 40)))
  all <- predict(folded, data.frame(
    user = "p", item = setdiff(attr(fit, "model")$items, c(10, 40))
  ))
  all <- all[order(-all$mean), ][1:3, ]
  expect_equal(best$mean, all$mean)
  expect_equal(best$sd^2, all$variance)
  expect_gt(min(best$sd^2), mean(noise_by_hand(fit)))
  expect_snapshot(folded)
  expect_gibbsite_error({
    fold_in(fit, data.frame(user = "p", item = c(10, 11), value = 1))
    fold_in(fit, data.frame(user = "p", item = 10))
    fold_in(fit, data.frame(user = "p", item = 10, value = Inf))
    fold_in(fit, new[0, ])
    fold_in(fit, list(1))
    fold_in(fit, new, ndraws = 1000)
    fold_in(1, new)
    predict(folded, data.frame(user = "r", item = 10))
    predict(folded, pairs, type = "cluster")
    recommend(folded, "r")
  })
})

# ---- factors -----------------------------------------------------------------

test_that("the canonical form keeps the product and does not see rotations", {
  withr::local_seed(1)
  u <- matrix(rnorm(3 * 20), 3)
  v <- matrix(rnorm(3 * 12), 3)
  form <- gibbsite:::canonical_form(u, v)
  left <- form$left %*% u
  right <- form$right %*% v
  expect_equal(crossprod(left, right), crossprod(u, v))
  expect_equal(form$d, svd(crossprod(u, v))$d[1:3])
  expect_equal(tcrossprod(left), diag(form$d))
  expect_equal(tcrossprod(right), diag(form$d))
  # any invertible matrix with its inverse on the other side
  a <- matrix(rnorm(9), 3)
  other <- gibbsite:::canonical_form(a %*% u, t(solve(a)) %*% v)
  expect_equal(other$d, form$d)
  turned <- other$left %*% a %*% u
  expect_equal(abs(turned), abs(left))
  # fewer users than factors
  few <- gibbsite:::canonical_form(u[, 1:2], v)
  expect_equal(few$d[3], 0, tolerance = 1e-6)
  expect_equal(
    crossprod(few$left %*% u[, 1:2], few$right %*% v), crossprod(u[, 1:2], v)
  )
  # a rotation is found again
  turn <- qr.Q(qr(a))
  expect_equal(gibbsite:::closest_rotation(turn %*% u, u), t(turn))
})

test_that("factors come with ids, ordered, on the ratings' scale", {
  skip_long()
  ratings <- withr::with_seed(3, {
    sim_bmf(60, 40, rank = 2, share = 0.6, sigma2 = 0.01, biases = 0.5)
  })
  fit <- short_bmf(ratings, draws = 200, burnin = 200, biases = TRUE)
  items <- factors_of(fit)
  users <- factors_of(fit, "users")
  expect_named(items, c(
    "item", "ratings", "factor_1", "factor_2", "intercept", "sd_1", "sd_2",
    "sd_intercept"
  ))
  expect_identical(items$item, factor(1:40))
  expect_identical(users$ratings, as.vector(table(ratings$user)))
  # with so little noise the mean factors reproduce the predictions
  pairs <- expand.grid(user = users$user, item = items$item)
  i <- match(pairs$user, users$user)
  j <- match(pairs$item, items$item)
  product <- attr(fit, "model")$center +
    users$factor_1[i] * items$factor_1[j] +
    users$factor_2[i] * items$factor_2[j] +
    users$intercept[i] + items$intercept[j]
  predicted <- predict(fit, pairs)
  known <- predicted$parameters < 0.01
  expect_gt(mean(known), 0.5)
  expect_lt(sqrt(mean((product - predicted$mean)[known]^2)), 0.1)
  expect_equal(mean(users$factor_1^2), 1, tolerance = 0.05)
  # larger entries positive
  expect_gt(sum(items$factor_1^3), 0)
  table <- attr(summary(fit), "factors")
  expect_true(all(diff(table$variance) < 0))
  expect_equal(sum(table$share), 1)
  expect_equal(table$variance[1], mean(items$factor_1^2), tolerance = 0.1)
  top <- items$item[items$ratings >= 5][
    which.max(items$factor_1[items$ratings >= 5])
  ]
  expect_match(table$high[1], paste0("^", top))
})

test_that("draws stay raw", {
  skip_long()
  fit <- short_bmf(keep = c("u", "v"))
  raw <- draws_of(fit, "u")
  summary(fit)
  expect_identical(draws_of(fit, "u"), raw)
  # measures of single coordinates mean nothing, and say so
  table <- summary(fit, "u", factors = FALSE)
  expect_true(all(is.na(table$rhat)))
  expect_output(print(table), "factors may rotate")
  expect_false(any(grepl("^[uv]\\[", convergence(fit)$variable)))
})

# ---- looking at a fit ------------------------------------------------------

test_that("print, tidy and glance say what was fitted", {
  skip_long()
  fit <- short_bmf(biases = TRUE, keep = "v")
  expect_snapshot({
    writeLines(attr(fit, "model")$headline)
    writeLines(attr(
      short_bmf(small_ratings()[1, ], prior = bmf_prior("gamma"), rank = 1),
      "model"
    )$headline)
  })
  labels <- gibbsite:::model_labels(attr(fit, "model"))
  cells <- attr(fit, "model")$cells
  expect_identical(labels$variable, colnames(fit[[1]]))
  shown <- c("beta", "logdet_u", "cell[1]", "v[2,1]", "v[3,2]")
  expect_identical(
    labels$label[match(shown, labels$variable)],
    c("precision of a rating", "log determinant of the users' precision matrix",
      sprintf("mean rating of item %d by user %s",
        attr(fit, "model")$items[cells$item[1]],
        attr(fit, "model")$users[cells$user[1]]
      ), "factor 2 of item 10", "intercept of item 20")
  )
  # a cell's column is the mean of a rating
  cell <- draws_of(fit, "cell[1]")
  expect_lt(abs(mean(cell) - predict(fit, data.frame(
    user = attr(fit, "model")$users[cells$user[1]],
    item = attr(fit, "model")$items[cells$item[1]]
  ))$mean), 1e-6)
  expect_identical(
    tidy(fit)$label[1], "precision of a rating"
  )
  one <- glance(fit)
  expect_identical(one$rank, 2L)
  expect_identical(c(one$users, one$items), c(25L, 15L))
  expect_equal(one$sigma^2, mean(1 / draws_of(fit, "beta")))
  expect_identical(nobs(fit), nrow(small_ratings()))
})

test_that("pictures are drawn and leave the device as it was", {
  skip_long()
  ratings <- small_ratings()
  pdf(NULL)
  withr::defer(dev.off())
  fit <- short_bmf(ratings[-(1:20), ], predict_at = ratings[1:20, ])
  before <- par(no.readonly = TRUE)
  expect_invisible(plot(fit))
  expect_identical(par("mfrow"), before$mfrow)
  expect_invisible(plot(short_bmf(ratings)))
  expect_invisible(plot(fit, type = "predicted", newdata = ratings[1:5, ]))
  expect_invisible(plot(fit, type = c("trace", "ranks"), variables = "beta"))
  expect_invisible(plot(drop_data(fit), type = "rmse"))
  # few values: a box for each
  ratings$value <- round(ratings$value)
  expect_invisible(plot(short_bmf(ratings), type = "predicted"))
  expect_gibbsite_error({
    plot(fit, type = "mixture")
    plot(fit, type = c("rmse", "trace"))
    plot(fit, newdata = some_pairs)
    plot(fit, colour = 1)
  })
})

# ---- search for a mode -----------------------------------------------------

test_that("the mode is a fixed point of alternating least squares", {
  skip_long()
  ratings <- small_ratings()
  prior <- bmf_prior("fixed", factor_variance = 0.8, noise_variance = 0.3)
  top <- gibbs_bmf(ratings, 2, prior, method = "icm", seed = 1)
  expect_s3_class(top, "gibbsite_map")
  expect_true(top$converged)
  expect_true(all(diff(top$trace) > -1e-8 * abs(top$log_joint)))
  u <- top$estimate$u
  v <- top$estimate$v
  user <- match(ratings$user, sort(unique(ratings$user)))
  item <- match(ratings$item, sort(unique(ratings$item)))
  y <- ratings$value - mean(ratings$value)
  # ridge regression of each item's ratings on its users' factors
  for (j in 1:15) {
    x <- t(u[, user[item == j], drop = FALSE])
    ridge <- solve(
      crossprod(x) / 0.3 + diag(2) / 0.8, crossprod(x, y[item == j]) / 0.3
    )
    expect_equal(v[, j], drop(ridge), tolerance = 1e-6)
  }
  of_ratings <- stats::dnorm(
    y, colSums(u[, user] * v[, item]), sqrt(0.3), log = TRUE
  )
  joint <- sum(of_ratings) +
    sum(stats::dnorm(c(u, v), 0, sqrt(0.8), log = TRUE))
  expect_equal(top$log_joint, joint)
  mean <- mean(ratings$value) + colSums(u[, user] * v[, item])
  expect_equal(predict(top), mean)
  expect_equal(fitted(top), mean)
  expect_equal(residuals(top), ratings$value - mean)
})

test_that("a mode answers what a point can", {
  skip_long()
  ratings <- small_ratings()
  top <- quiet(gibbs_bmf(ratings[-(1:10), ], 2,
    method = "icm", predict_at = ratings[1:10, ], biases = TRUE, chains = 2,
    seed = 1
  ))
  new <- data.frame(user = c("a", "new"), item = c(10, 10))
  ends <- predict(top, new, interval = "prediction", level = 0.8)
  expect_equal(ends$upper - ends$mean, stats::qnorm(0.9) * ends$sd)
  expect_identical(ends$unknown, c("none", "user"))
  # a new user has the mean of the prior
  e <- top$estimate
  j <- match(10, top$model$items)
  expect_equal(
    ends$mean[2],
    top$model$center + sum(e$mu_u[1:2] * e$v[1:2, j]) + e$mu_u[3] + e$v[3, j]
  )
  scores <- held_out(top)
  expect_equal(scores, held_out(top, ratings[1:10, ]))
  expect_equal(
    scores$rmse,
    sqrt(mean((ratings$value[1:10] - predict(top, ratings[1:10, ]))^2))
  )
  factors <- factors_of(top)
  users <- factors_of(top, "users")
  expect_named(factors, c("item", "ratings", "factor_1", "factor_2",
                          "intercept"))
  expect_equal(mean(users$factor_1^2), 1)
  product <- as.matrix(users[3:4]) %*% t(as.matrix(factors[3:4]))
  expect_equal(unname(product), crossprod(e$u[1:2, ], e$v[1:2, ]))
  expect_output(print(top), "mode, not a posterior")
  expect_identical(nrow(summary(top)), 2L)
})

# ---- calibration -----------------------------------------------------------

# Factors, precisions and ratings drawn from the model with informative priors;
# 10 ratings of each table held back.  For each replication the predictive
# distribution function at these.  The chain is run without the driver, whose
# judgement of each run takes longer than the run.
calibrated <- function(prior, replications, rank = 2) {
  cells <- expand.grid(user = factor(1:12), item = factor(1:9))
  model_of <- function(ratings) {
    gibbsite:::bmf_model(
      quiet(gibbsite:::as_ratings(ratings)), rank,
      gibbsite:::complete_bmf_prior(prior, 1, rank, FALSE)
    )
  }
  control <- list(burnin = 200, thin = 2, threads = 1)
  lapply(seq_len(replications), function(r) {
    withr::local_seed(r)
    ratings <- cbind(cells[sample(nrow(cells), 70), ], value = 0)
    all <- model_of(ratings)
    ratings$value <- gibbsite:::simulate_data(all, gibbsite:::draw_prior(all))
    model <- gibbsite:::described_bmf(model_of(ratings[-(1:10), ]), list(
      ratings = gibbsite:::as_ratings(ratings[-(1:10), ]) |> quiet()
    ))
    run <- gibbsite:::model_sweeps(
      model, gibbsite:::model_start(model, NULL), 600, control
    )
    places <- seq_along(gibbsite:::bmf_kept(run$state))
    kept <- list(
      model = model, states = list(run$state), which = list(places),
      chain = rep(1, length(places)), noise = vapply(places, function(j) {
        1 / gibbsite:::bmf_kept_hyper(model, run$state, j)$beta
      }, 0)
    )
    pairs <- gibbsite:::bmf_pairs(model, ratings[1:10, ], NULL)
    gibbsite:::score_pairs(kept, pairs)[, 2]
  })
}

# Shares inside central intervals against their probability, in standard errors
# from the spread between replications (ratings of one table are dependent).
coverage_errors <- function(below, levels = c(0.5, 0.8, 0.95)) {
  vapply(levels, function(level) {
    inside <- vapply(below, function(p) mean(abs(p - 0.5) <= level / 2), 0)
    (mean(inside) - level) / (stats::sd(inside) / sqrt(length(inside)))
  }, 0)
}

informative <- list(
  wishart = bmf_prior(
    mu0 = 0.3, kappa0 = 3, W0 = c(0.2, 0.3), nu0 = 8, noise_shape = 5,
    noise_rate = 2
  ),
  gamma = bmf_prior("gamma", user_shape = 6, user_rate = 4, item_shape = 5,
                    item_rate = 3, noise_shape = 5, noise_rate = 2),
  fixed = bmf_prior("fixed", factor_variance = 0.7, noise_variance = 0.4)
)

test_that("intervals cover what they promise on data from the model", {
  skip_unless_extended()
  n <- 200
  below <- calibrated(informative$wishart, n)
  expect_true(all(abs(coverage_errors(below)) < 4))
  # the whole distribution, not three points of it alone
  deciles <- table(cut(unlist(below), seq(0, 1, 0.1)))
  share <- vapply(below, function(p) {
    as.vector(table(cut(p, seq(0, 1, 0.1)))) / 10
  }, numeric(10))
  error <- apply(share, 1, stats::sd) / sqrt(n)
  expect_true(all(abs(rowMeans(share) - 0.1) < 4 * error))
  # the test can fail: a spread wrong by a fifth does
  narrow <- lapply(below, function(p) stats::pnorm(1.2 * stats::qnorm(p)))
  expect_true(any(abs(coverage_errors(narrow)) > 4))
})

test_that("intervals cover what they promise under the other priors", {
  skip_unless_extended()
  for (kind in c("gamma", "fixed")) {
    below <- calibrated(informative[[kind]], 1000)
    expect_true(all(abs(coverage_errors(below)) < 4))
  }
})

# ---- real data -------------------------------------------------------------

test_that("lecturers' ratings are predicted better than by their means", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  data(InstEval, package = "lme4", envir = environment())
  # one student in eight, to be quick
  some <- InstEval[as.integer(InstEval$s) %% 8 == 0, ]
  some$s <- droplevels(some$s)
  some$d <- droplevels(some$d)
  back <- withr::with_seed(1, sample(nrow(some), nrow(some) %/% 10))
  fit <- quiet(gibbs_bmf(y ~ s + d, rank = 3, data = some[-back, ],
    biases = TRUE, predict_at = some[back, c("s", "d", "y")],
    draws = 400, burnin = 200, chains = 2, seed = 1,
    progress = FALSE
  ))
  scores <- held_out(fit)
  truth <- some$y[back]
  by_mean <- sqrt(mean((truth - mean(some$y[-back]))^2))
  mixed <- lme4::lmer(y ~ 1 + (1 | s) + (1 | d), some[-back, ])
  crossed <- stats::predict(mixed, some[back, ], allow.new.levels = TRUE)
  by_lmer <- sqrt(mean((truth - crossed)^2))
  expect_lt(scores$rmse, by_mean)
  # paired difference of squared errors, in its standard errors
  difference <- (truth - predicted_at(fit)$mean)^2 - (truth - crossed)^2
  error <- stats::sd(difference) / sqrt(length(difference))
  expect_lt(mean(difference), 2 * error)
  # ratings from 1 to 5 have no tails: at least what is promised, and not all
  error <- sqrt(0.95 * 0.05 / length(truth))
  expect_gt(scores$coverage_95, 0.95 - 4 * error)
  expect_lt(scores$coverage_95, 0.99)
  # intercepts are what the mixed model calls random effects
  items <- factors_of(fit)
  effects <- lme4::ranef(mixed)$d[as.character(items$d), 1]
  expect_gt(stats::cor(items$intercept, effects, use = "complete.obs"), 0.8)
})

# ---- odd data --------------------------------------------------------------

test_that("tables of every shape have an answer", {
  skip_long()
  runs <- function(ratings, ...) {
    fit <- short_bmf(ratings, draws = 20, burnin = 5, ...)
    draws <- do.call(rbind, lapply(fit, unclass))
    expect_true(all(is.finite(draws)))
    out <- predict(fit, ratings, interval = "prediction")
    expect_true(all(is.finite(as.matrix(out[3:6]))))
    expect_true(all(out$lower < out$mean & out$mean < out$upper))
    expect_no_error(summary(fit))
    fit
  }
  one <- data.frame(user = "a", item = "x", value = 3)
  for (prior in priors[fast_or(1, seq_along(priors))]) {
    runs(one, prior = prior)
    runs(data.frame(user = "a", item = 1:5, value = c(1, 2, 3, 4, 9)),
      prior = prior, biases = TRUE
    )
    runs(data.frame(user = 1:5, item = "x", value = c(1, 2, 3, 4, 9)),
      prior = prior, rank = 7
    )
  }
  expect_message(
    quiet_run <- suppressWarnings(gibbs_bmf(
      data.frame(user = 1:3, item = 1:3, value = 2), 1, draws = 10,
      burnin = 5, chains = 1, seed = 1, progress = FALSE
    )),
    class = "gibbsite_message_constant"
  )
  expect_equal(prior_summary(quiet_run)$noise_rate, 0.5)
  # the mean of equal numbers is rounded
  expect_identical(suppressMessages(rating_spread(rep(0.1, 3), 0.1 + 1e-17)), 1)
  # squares that underflow
  tiny <- small_ratings()
  tiny$value <- 1e-200 * tiny$value
  expect_gibbsite_error(gibbs_bmf(tiny, 2))
  if (is_extended()) {
    # one cell, many times over: its mean is learnt
    many <- withr::with_seed(1, {
      data.frame(user = "a", item = "x", value = rnorm(500, 5))
    })
    fit <- runs(many, center = FALSE, rank = 1)
    expect_lt(abs(predict(fit, many[1, ])$mean - mean(many$value)), 0.3)
    # units of any size
    tiny <- small_ratings()
    tiny$value <- 1e-8 * tiny$value
    big <- small_ratings()
    big$value <- 1e8 * big$value
    expect_equal(
      predict(runs(big), some_pairs)$mean / 1e8,
      predict(short_bmf(draws = 20, burnin = 5), some_pairs)$mean,
      tolerance = 1e-4
    )
    runs(tiny)
  }
})

test_that("unrated users and items get the prior, and are flagged", {
  skip_long()
  ratings <- small_ratings()
  ratings$user <- factor(ratings$user, c(letters[1:25], "nobody"))
  expect_message(
    suppressWarnings(gibbs_bmf(ratings, 1, draws = 10, burnin = 5, chains = 1,
      progress = FALSE, seed = 1
    )), "1 user has no rating",
    class = "gibbsite_message_unrated"
  )
  fit <- short_bmf(ratings, draws = 400)
  pairs <- data.frame(user = c("nobody", "stranger"), item = 10)
  out <- predict(fit, pairs)
  expect_identical(out$unknown, c("user", "user"))
  # drawn factors of the one and exact moments for the other agree
  eta <- predict(fit, pairs[1, ], type = "draws")
  error <- stats::sd(eta) / sqrt(posterior::ess_mean(eta))
  expect_lt(abs(out$mean[1] - out$mean[2]), 4.5 * error)
  expect_lt(abs(log(out$parameters[1] / out$parameters[2])), 0.5)
})

# ---- priors and messages ---------------------------------------------------

test_that("priors print as mathematics, before and after the fit", {
  skip_long()
  expect_snapshot({
    bmf_prior()
    bmf_prior("gamma", noise_shape = 3, noise_rate = 0.5)
    bmf_prior("fixed", factor_variance = 0.5)
    bmf_prior(mu0 = c(1, 2), W0 = matrix(c(2, 1, 1, 2), 2))
    for (prior in priors) {
      print(prior_summary(short_bmf(prior = prior, draws = 5, biases = TRUE)))
    }
  })
})

test_that("open fields of priors are weak and follow the ratings' scale", {
  skip_long()
  ratings <- small_ratings()
  spread <- mean((ratings$value - mean(ratings$value))^2)
  of <- function(prior, ...) {
    prior_summary(short_bmf(ratings, draws = 5, prior = prior, ...))
  }
  fixed <- of(bmf_prior("fixed"))
  expect_equal(fixed$factor_variance, sqrt(spread / 2))
  expect_equal(fixed$noise_variance, spread / 2)
  # what is given stays
  expect_identical(of(bmf_prior("fixed", noise_variance = 2))$noise_variance, 2)
  gamma <- of(bmf_prior("gamma", user_shape = 5))
  expect_identical(gamma$user_shape, 5)
  expect_equal(gamma$user_rate / (2 - 1), sqrt(spread / 2))
  expect_equal(gamma$noise_rate / (gamma$noise_shape - 1), spread / 2)
  wishart <- of(bmf_prior(), biases = TRUE)
  expect_identical(wishart$nu0, 5)
  # the prior mean of the covariance, scale^-1 / (nu0 - D - 1)
  expect_equal(
    solve(wishart$W0), diag(c(sqrt(spread / 2), sqrt(spread / 2), spread / 2))
  )
  expect_identical(wishart$mu0, numeric(3))
  expect_equal(of(bmf_prior(W0 = 3))$W0, diag(3, 2))
  expect_equal(of(bmf_prior(W0 = c(1, 2)))$W0, diag(c(1, 2)))
  # uncentred: about 0
  expect_equal(
    of(bmf_prior("fixed"), center = FALSE)$noise_variance,
    mean(ratings$value^2) / 2
  )
})

test_that("faults of priors and arguments name themselves", {
  skip_long()
  ratings <- small_ratings()
  run <- function(...) gibbs_bmf(ratings, ..., draws = 5, burnin = 0, seed = 1)
  changed <- bmf_prior("gamma")
  changed$user_rate <- -1
  expect_gibbsite_error({
    bmf_prior("fixed", factor_variance = 0)
    bmf_prior("fixed", noise_variance = "a")
    bmf_prior("gamma", user_shape = -1)
    bmf_prior("gamma", noise_rate = c(1, 2))
    bmf_prior(kappa0 = 0)
    bmf_prior(mu0 = NA)
    bmf_prior(W0 = -1)
    bmf_prior(W0 = matrix(1, 2, 2))
    bmf_prior(nu0 = Inf)
    # against the rank
    run(rank = 3, prior = bmf_prior(mu0 = c(1, 2)))
    run(rank = 3, prior = bmf_prior(W0 = diag(2)))
    run(rank = 3, prior = bmf_prior(W0 = c(1, 1), nu0 = 9), biases = TRUE)
    run(rank = 3, prior = bmf_prior(nu0 = 2))
    run(prior = changed)
    run(prior = gmm_prior())
    run(prior = bmf_prior)
    # arguments
    run(rank = 0)
    run(rank = 201)
    run(rank = 1.5)
    run(center = NA)
    run(biases = 1)
    run(method = "als")
    run(keep = "w")
    run(predict_at = 1)
    run(predict_at = data.frame(user = "a"))
    run(predict_at = data.frame(user = "a", item = NA))
    run(predict_at = data.frame(user = "a", item = 10, value = NaN))
    run(predict_at = ratings[0, ])
    run(data = ratings)
    gibbs_bmf(ratings[1:2])
  })
  expect_gibbsite_error({
    withr::with_options(list(gibbsite.max_draws_mb = 0.001), {
      run(rank = 3, keep = c("u", "v"))
    })
  })
})

test_that("faults of questions name themselves", {
  skip_long()
  fit <- short_bmf()
  top <- gibbs_bmf(small_ratings(), 1, method = "icm", chains = 1, seed = 1)
  expect_gibbsite_error({
    predict(fit, 1:3)
    predict(fit, some_pairs["user"])
    held_out(fit, cbind(some_pairs, value = 3)[0, ])
    predict(fit, data.frame(user = "a", item = NA))
    predict(fit, some_pairs, type = "response")
    predict(fit, some_pairs, interval = "prediction", level = 90)
    predict(fit, some_pairs, variance = NA)
    predict(fit, some_pairs, ndraws = 1000)
    predict(fit, some_pairs, newlevels = TRUE)
    posterior_predict(fit, some_pairs, ndraws = 0)
    log_lik(fit, some_pairs)
    log_lik(fit, cbind(some_pairs, value = c(1, NA)[c(1, 2, 1, 1, 1)]))
    predicted_at(fit)
    predicted_at(top)
    held_out(fit)
    held_out(fit, some_pairs)
    held_out(fit, small_ratings(), level = 1)
    held_out(top)
    held_out(1)
    factors_of(fit, "movies")
    factors_of(1)
    summary(fit, "w")
    augment(fit, level = 2)
    predict(top, some_pairs, type = "draws")
  })
  small <- withr::local_options(list(gibbsite.max_draws_mb = 0.01))
  expect_gibbsite_error(predict(fit, type = "draws"))
  none <- withr::with_options(list(gibbsite.max_draws_mb = 0.001), {
    short_bmf(draws = 5, chains = 1, rank = 9)
  })
  expect_gibbsite_error(predict(none, some_pairs))
})

# ---- simulation ------------------------------------------------------------

test_that("simulated ratings have the law that the page states", {
  skip_long()
  withr::local_seed(1)
  made <- sim_bmf(200, 100, rank = 3, share = 0.5, sigma2 = 0.5, mean = 2,
    biases = 0.6
  )
  expect_identical(nrow(made), 10000L)
  expect_false(anyDuplicated(made[1:2]) > 0)
  expect_identical(nlevels(made$user), 200L)
  error <- made$value - attr(made, "truth")
  expect_lt(abs(mean(error)), 4.5 * sqrt(0.5 / 10000))
  expect_lt(abs(mean(error^2) - 0.5), 4.5 * sqrt(2 / 10000) * 0.5)
  u <- attr(made, "u")
  v <- attr(made, "v")
  expect_identical(dim(u), c(3L, 200L))
  expect_lt(
    abs(mean(c(u, v)^2) - 1 / sqrt(3)), 4.5 * sqrt(2 / 900) / sqrt(3)
  )
  i <- as.integer(made$user)
  j <- as.integer(made$item)
  expect_equal(
    attr(made, "truth"),
    2 + colSums(u[, i] * v[, j]) + attr(made, "a")[i] + attr(made, "b")[j]
  )
  expect_lt(abs(mean(attr(made, "a")^2) - 0.36), 4.5 * sqrt(2 / 200) * 0.36)
  expect_identical(nrow(sim_bmf(1, 1, share = 0.01)), 1L)
  expect_gibbsite_error({
    sim_bmf(0, 1)
    sim_bmf(2, 1.5)
    sim_bmf(2, 2, rank = 0)
    sim_bmf(2, 2, share = 0)
    sim_bmf(2, 2, sigma2 = -1)
    sim_bmf(2, 2, c = 0)
    sim_bmf(2, 2, biases = -1)
    sim_bmf(2, 2, mean = NA)
  })
})

# ---- what can be used of chains that have not converged ----------------------

test_that("predictions that have converged are named", {
  level <- matrix(c(-2, 0, 0, 2), 500, 4, byrow = TRUE)
  noise <- function() withr::with_seed(1, matrix(rnorm(2000), 500))
  invariants <- array(
    c(level + noise(), rev(noise()), noise()), c(500, 4, 3),
    list(NULL, NULL, c("rmse", "cell[1]", "cell[2]"))
  )
  line_of <- function(invariants) {
    prediction_line(convergence_table(invariants, 1.01, 400))
  }
  line <- line_of(invariants)
  expect_match(
    line, "^Predictions have converged: R-hat at most 1\\.00[0-9] and ESS at "
  )
  expect_match(line, "least [12][0-9]{3} in 2 observed cells\\.$")
  # one of them has not
  expect_null(line_of(replace(invariants, 2001:2500, 3)))
  # all have, and the ordinary verdict says it
  expect_null(line_of(invariants[, , 2:3]))
  expect_null(line_of(invariants[, , 1, drop = FALSE]))
  # a constant is not judged
  still <- invariants
  still[, , "cell[2]"] <- 3
  expect_match(line_of(still), "in 1 observed cell\\.$")
})

# ---- ranks that are not used -------------------------------------------------

test_that("factors that are hardly used are named", {
  skip_long()
  made <- withr::with_seed(1, sim_bmf(100, 60, rank = 2, share = 0.3))
  fit_of <- function(rank, ...) {
    suppressWarnings(gibbs_bmf(
      made, rank = rank, draws = 150, burnin = 150, chains = 2, seed = 1,
      progress = FALSE, ...
    ))
  }
  notes <- function(fit) {
    model_notes(attr(fit, "model"), fit, convergence(fit))
  }
  fit <- fit_of(5)
  # lines are broken at the page
  printed <- function(x) {
    gsub("\\s+", " ", paste(utils::capture.output(print(x)), collapse = " "))
  }
  hardly <- "equal share of the variance): factors 3 to 5."
  expect_match(printed(fit), hardly, fixed = TRUE)
  expect_match(printed(summary(fit)), hardly, fixed = TRUE)
  expect_match(notes(fit_of(3, biases = TRUE)), "): factor 3.", fixed = TRUE)
  expect_null(notes(fit_of(2)))
  # a window has no kept factors
  expect_null(notes(window(fit, start = 200)))
  if (is_extended()) {
    expect_match(notes(fit_of(3)), "): factor 3.", fixed = TRUE)
    expect_null(notes(fit_of(1)))
    expect_null(notes(fit_of(5, prior = bmf_prior("gamma"))))
  }
})

test_that("shares of factors are those of the factors drawn", {
  skip_unless_extended()
  made <- withr::with_seed(2, sim_bmf(300, 200, rank = 3, share = 0.2))
  fit <- suppressWarnings(gibbs_bmf(
    made, rank = 4, draws = 100, burnin = 200, chains = 2, seed = 1,
    progress = FALSE, biases = TRUE
  ))
  share <- factor_shares(attr(fit, "model"), fit)
  expect_equal(sum(share), 1)
  own <- attr(summary(fit), "factors")$share
  # covariances of 200 items about those of their distribution: relative
  # standard errors of about sqrt(2 / 200) = 0.1, over users and items 0.13
  expect_lt(max(abs(share / own - 1)), 5 * sqrt(2 / 200 + 2 / 300))
})

test_that("fold_in() of a user of the fit uses the new ratings alone", {
  skip_long()
  made <- withr::with_seed(1, sim_bmf(8, 6, rank = 1, share = 0.5))
  fit <- suppressWarnings(gibbs_bmf(
    made, 1, draws = 20, burnin = 5, chains = 1, seed = 1, progress = FALSE
  ))
  rated <- as.character(made$item[made$user == "3"])
  left <- setdiff(as.character(1:6), rated)
  again <- data.frame(user = c("3", "new"), item = left[[1]], value = 1)
  expect_gibbsite_condition(class = "gibbsite_message_known_users", {
    folded <- withr::with_seed(1, fold_in(fit, again))
  })
  best <- recommend(folded, users = "3")
  expect_setequal(as.character(best$item), left[-1])
  best <- recommend(folded, users = "new")
  expect_setequal(as.character(best$item), setdiff(1:6, left[[1]]))
  expect_gibbsite_condition(class = "gibbsite_message_known_users", {
    fold_in(drop_data(fit), again)
  })
  # ids of another type are the same users
  expect_message(
    fold_in(fit, transform(again[1, ], user = factor(user))),
    class = "gibbsite_message_known_users"
  )
})
