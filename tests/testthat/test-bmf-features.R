# Features of users and items in gibbs_bmf(): the sampler draws from the
# posterior it names (a twin on the same random numbers, closed forms, Geweke's
# joint test, calibration by simulation, wrong samplers that these reject),
# predictions of new users and items by their features are exact, and tables in
# every form mean the same.
#
# A z-score is compared with max_z = 4.5: a correct sampler fails one such
# comparison with probability 7e-6.  Seeds are fixed, so a pass stays a pass.

max_z <- 4.5
error_rate <- 1e-3

both <- c("u", "v")

# ---- the twin ----------------------------------------------------------------

test_that("a sweep with features is that of the twin, draw for draw", {
  skip_long()
  withr::local_seed(1)
  for (sides in list("u", "v", both)) {
    for (biases in c(FALSE, TRUE)) {
      for (rank in fast_or(c(2, 11), c(1, 2, 5, 11))) {
        model <- tiny_bmf("wishart", 6, 5, rank, 40, biases = biases,
          features = sides, known = if (rank == 2) 0.7
        )
        state <- draw_prior(model)
        core <- withr::with_seed(3, run_bmf_sweeps(model, state, 2)$state)
        twin <- withr::with_seed(3, {
          bmf_twin_sweep(model, bmf_twin_sweep(model, twin_bmf(model, state)))
        })
        core <- unlist(twin_bmf(model, core))
        difference <- abs(core - unlist(twin)) / pmax(1, abs(core))
        expect_lt(
          max(difference), 1e-11, label = paste(toString(sides), biases, rank)
        )
      }
    }
  }
})

test_that("a sweep is that of the twin with more features than users", {
  withr::local_seed(2)
  model <- tiny_bmf("wishart", 4, 5, 2, 30, features = both, p = 9)
  state <- draw_prior(model)
  core <- withr::with_seed(3, run_bmf_sweeps(model, state, 1)$state)
  twin <- withr::with_seed(3, bmf_twin_sweep(model, twin_bmf(model, state)))
  expect_equal(unlist(twin_bmf(model, core)), unlist(twin), tolerance = 1e-10)
})

test_that("the recorded log joint density is that of its factors", {
  skip_long()
  withr::local_seed(4)
  for (biases in c(FALSE, TRUE)) {
    for (known in list(NULL, 0.7)) {
      model <- tiny_bmf(
        "wishart", biases = biases, features = both, known = known
      )
      swept <- run_bmf_sweeps(model, draw_prior(model), 1)
      twin <- twin_bmf(model, swept$state)
      expect_equal(
        swept$draws[[1, "log_joint"]], bmf_log_joint_by_factors(model, twin),
        tolerance = 1e-12
      )
      recorded <- startsWith(model$columns, "lambda_b")
      expect_identical(
        unname(swept$draws[1, recorded]),
        if (is.null(known)) c(twin$lambda_b_u, twin$lambda_b_v) else numeric()
      )
    }
  }
})

# ---- the conditionals in closed form -----------------------------------------

# Given the rows, (B, mu) have the density of rows, B and mu as a function of
# them: a Gaussian, whose mean and precision a regression on the given features,
# not rotated, gives.
test_that("coefficients are drawn from a conjugate regression", {
  skip_unless_extended()
  withr::local_seed(5)
  model <- tiny_bmf("wishart", 7, 5, 2, 20, features = "u")
  model$data$cap <- 0L
  model$data$directions <- 0L
  state <- draw_prior(model)
  lambda <- state$lambda_b_u
  f <- cbind(t(as.matrix(model$features$u$x)), 1)
  k0 <- diag(c(rep(lambda, 3), model$prior$kappa0))
  m0 <- rbind(matrix(0, 3, 2), model$prior$mu0)
  k <- crossprod(f) + k0
  ridge <- bmf_ridge(model$prior, "u")
  results <- t(replicate(4000, {
    p <- twin_bmf(model, run_bmf_sweeps(model, state, 1)$state)
    mean <- solve(k, crossprod(f, t(p$u)) + k0 %*% m0)
    drawn <- rbind(t(p$coefficients_u), p$mu_u)
    white <- chol(k) %*% (drawn - mean) %*% t(chol(p$precision_u))
    rest <- t(p$u) - f %*% mean
    inverse <- solve(model$prior$W0) + crossprod(rest) +
      t(mean - m0) %*% k0 %*% (mean - m0)
    square <- sum(p$coefficients_u * (p$precision_u %*% p$coefficients_u))
    c(
      pchisq(
        p$precision_u[1, 1] / solve(inverse)[1, 1], model$prior$nu0 + 7
      ),
      pchisq(
        inverse[2, 2] / solve(p$precision_u)[2, 2], model$prior$nu0 + 7 - 1
      ),
      pgamma(p$lambda_b_u, ridge$shape + 3, ridge$rate + square / 2),
      white
    )
  }))
  expect_lt(max(abs(z_of_means(results[, 1:3], 0.5))), max_z)
  expect_lt(max(abs(z_of_means((results[, 1:3] - 0.5)^2, 1 / 12))), max_z)
  white <- results[, -(1:3)]
  pairs <- which(lower.tri(diag(8), diag = TRUE), arr.ind = TRUE)
  products <- white[, pairs[, 1]] * white[, pairs[, 2]]
  expect_lt(max(abs(z_of_means(white, 0))), max_z)
  expect_lt(max(abs(z_of_means(
    products, as.numeric(pairs[, 1] == pairs[, 2])
  ))), max_z)
})

test_that("without information all-zero features change no distribution", {
  skip_unless_extended()
  withr::local_seed(6)
  plain <- tiny_bmf("wishart", 4, 5, 2, 12)
  zero <- rotated_features(by_row(matrix(0, 4, 2)), list(count = 2), "x", NULL)
  prior <- plain$prior
  prior$feature_shape <- c(users = 3)
  prior$feature_rate <- c(users = 2)
  ratings <- c(
    plain$data[c("user", "item", "value")],
    plain[c("users", "items", "names", "levels")]
  )
  with_zeros <- bmf_model(
    ratings, 2, prior, plain$center, features = list(u = zero)
  )
  run <- function(model) {
    draws <- run_bmf_sweeps(model, model_start(model, NULL), 40200,
      burnin = 200, thin = 20
    )$draws
    draws[, c("beta", "trace_u", "logdet_u", "norm_mu_u", "rmse", "cell[1]")]
  }
  one <- run(plain)
  other <- run(with_zeros)
  p <- vapply(seq_len(6), function(at) {
    stats::ks.test(one[, at], other[, at])$p.value
  }, 0)
  expect_gt(min(p), error_rate / 6)
})

# ---- identities --------------------------------------------------------------

test_that("threads and segments do not show, with features", {
  withr::local_seed(7)
  # enough work for more threads
  model <- tiny_bmf("wishart", 600, 80, 8, 9000, features = both, p = 30)
  start <- model_start(model, NULL)
  whole <- withr::with_seed(8, run_bmf_sweeps(model, start, 4, burnin = 1))
  again <- withr::with_seed(8, run_bmf_sweeps(model, start, 4, 2, burnin = 1))
  expect_identical(again, whole)
  withr::with_seed(8, {
    first <- run_bmf_sweeps(model, start, 2, burnin = 1)
    second <- run_bmf_sweeps(model, first$state, 2, 2, burnin = 1)
  })
  expect_identical(second$state, whole$state)
})

# Users whose factors follow their features: list(ratings, features), 16 users
# of whom the last 4 have no rating.
made_with_features <- function() {
  withr::with_seed(9, {
    f <- matrix(rnorm(48), 16, dimnames = list(letters[1:16], NULL))
    u <- f %*% matrix(rnorm(6), 3) + rnorm(32) / 4
    v <- matrix(rnorm(20), 10)
    all <- expand.grid(user = letters[1:16], item = 1:10)
    all$user <- as.character(all$user)
    all$value <- rowSums(u[match(all$user, letters), ] * v[all$item, ]) +
      rnorm(160) / 3
    some <- sample(which(all$user %in% letters[1:12]), 80)
  })
  list(
    ratings = all[some, ], features = f, all = all,
    new = all[all$user %in% letters[13:16], ]
  )
}
quick_fit <- function(..., draws = 60, burnin = 40, chains = 2) {
  suppressWarnings(suppressMessages(gibbs_bmf(
    ..., rank = 2, draws = draws, burnin = burnin, chains = chains, seed = 1,
    progress = FALSE
  )))
}
feature_fit <- local({
  fit <- NULL
  function() {
    if (is.null(fit)) {
      made <- made_with_features()
      fit <<- quick_fit(made$ratings, user_features = made$features[1:12, ])
    }
    fit
  }
})

test_that("a fit with features is extended, saved and resumed bit for bit", {
  skip_long()
  made <- made_with_features()
  path <- withr::local_tempdir()
  fit <- function(draws, ...) {
    quick_fit(made$ratings, user_features = made$features, draws = draws, ...)
  }
  whole <- fit(80)
  short <- fit(30, checkpoint = file.path(path, "run"))
  again <- suppressWarnings(extend(short, 50, progress = FALSE))
  expect_true(identical_fit(again, whole))
  resumed <- suppressWarnings(
    resume(file.path(path, "run"), progress = FALSE)
  )
  expect_true(identical_fit(suppressWarnings(
    extend(resumed, 50, progress = FALSE)
  ), whole))
  # the features stay in a fit without its data
  bare <- drop_data(short)
  longer <- suppressWarnings(
    extend(bare, 50, data = made$ratings, progress = FALSE)
  )
  expect_identical(as.matrix(longer), as.matrix(whole))
})

test_that("a table without columns is no table", {
  made <- made_with_features()
  none <- quick_fit(made$ratings, draws = 10)
  empty <- quick_fit(made$ratings,
    user_features = made$features[1:12, 0], draws = 10
  )
  expect_identical(as.matrix(empty), as.matrix(none))
})

test_that("starting values may come from a fit with features", {
  fit <- feature_fit()
  made <- made_with_features()
  again <- quick_fit(
    made$ratings, user_features = made$features[1:12, ], inits = fit, draws = 5
  )
  expect_identical(
    model_init_from_state(
      fit_part(again, "model"), attr(fit, "chains")[[1]]$state
    )$coefficients_u,
    twin_bmf(fit_part(fit, "model"), attr(fit, "chains")[[1]]$state)$
      coefficients_u
  )
})

test_that("folds keep the features", {
  model <- fit_part(feature_fit(), "model")
  fold <- model_fold(model, 1:10, "observation")
  expect_identical(fold$train$features, model$features)
  expect_identical(fold$train$nobs, model$nobs - 10L)
})

# ---- conditional modes -------------------------------------------------------

test_that("conditional modes with features raise the log joint density", {
  skip_long()
  withr::local_seed(10)
  model <- tiny_bmf("wishart", 8, 7, 2, 40, biases = TRUE, features = both)
  state <- draw_prior(model)
  value <- -Inf
  for (i in 1:30) {
    step <- model_climb(model, state, 1)
    twin <- twin_bmf(model, step$state)
    expect_equal(
      step$log_joint, bmf_log_joint_by_factors(model, twin), tolerance = 1e-10
    )
    expect_gte(step$log_joint, value - 1e-9 * abs(value))
    value <- step$log_joint
    state <- step$state
  }
})

# ---- Geweke's joint test, calibration and their mutants ----------------------

feature_model <- function(..., sides = both) {
  withr::local_seed(41)
  model <- tiny_bmf("wishart", features = sides, ...)
  model$data$cap <- 0L
  model
}

feature_cases <- list(
  plain = feature_model(), biases = feature_model(biases = TRUE),
  known = feature_model(known = 0.6),
  # more features than users
  wide = feature_model(n = 3, m = 6, count = 8, p = 5, sides = "u")
)

feature_reference <- function(case) {
  withr::local_seed(42)
  joint_by_simulation(feature_cases[[case]], bmf_all_quantities, 1500)
}

feature_test <- function(case, reference, model = feature_cases[[case]],
                         chains = 40, steps = 40) {
  withr::local_seed(43)
  joint_test(model, bmf_all_quantities, reference, chains, steps)
}

test_that("Geweke's joint test passes with features", {
  skip_unless_extended()
  for (case in names(feature_cases)) {
    test <- feature_test(case, feature_reference(case), steps = 40)
    expect_gte(smallest_adjusted(test), error_rate, label = case)
  }
})

# The chains, and their steps, that find each mistake.
feature_mutants <- list(
  features_left_out = c(40, 40), wishart_without_b = c(30, 20),
  wishart_without_features = c(40, 40), ridge_shape_of_prior = c(30, 20),
  residuals_for_rows = c(30, 20)
)

test_that("Geweke's joint test rejects wrong samplers with features", {
  skip_unless_extended()
  reference <- feature_reference("plain")
  for (name in names(feature_mutants)) {
    model <- mutant_of(feature_cases$plain, bmf_mutants[[name]])
    size <- feature_mutants[[name]]
    test <- feature_test("plain", reference, model, size[[1]], size[[2]])
    expect_lt(smallest_adjusted(test), error_rate, label = name)
  }
})

# Not the coefficients themselves, which turn with the factors, slowly.
without_coefficients <- function(model, state) {
  all <- bmf_quantities(model, state)
  all[!grepl("\\.first", names(all))]
}

feature_ranks <- function(model, simulations = 200) {
  withr::local_seed(52)
  sbc_ranks(model, without_coefficients, simulations, 31, 30, burnin = 200)
}

test_that("the posterior with features is calibrated over the prior", {
  skip_unless_extended()
  ranks <- feature_ranks(feature_cases$plain, 200)
  expect_lt(max(attr(ranks, "autocorrelation")), 0.1)
  expect_identical(
    names(which(!sbc_inside(ranks, 31, error_rate))), character()
  )
})

test_that("a wrong sampler with features is not calibrated", {
  skip_unless_extended()
  model <- mutant_of(feature_cases$plain, bmf_mutants$wishart_without_features)
  ranks <- feature_ranks(model)
  expect_false(all(sbc_inside(ranks, 31, error_rate)))
})

# ---- predictions -------------------------------------------------------------

# Mean, variance and distribution of a new user's rating, summed by hand over
# the draws that the fit keeps.
test_that("new users are predicted from their features, exactly", {
  skip_long()
  fit <- feature_fit()
  made <- made_with_features()
  model <- fit_part(fit, "model")
  pairs <- made$new[c(1, 6, 30), ]
  kept <- kept_factors(fit)
  draws <- over_draws(kept, identity)
  moments <- vapply(seq_len(3), function(k) {
    f <- made$features[pairs$user[[k]], ]
    item <- match(pairs$item[[k]], model$items)
    one <- vapply(draws, function(draw) {
      v <- draw$v[, item]
      mean <- draw$mu_u + draw$coefficients_u %*% f
      c(
        model$center + sum(mean * v),
        drop(t(v) %*% solve(draw$precision_u, v)), 1 / draw$beta
      )
    }, numeric(3))
    lower <- uniroot(function(x) {
      mean(pnorm(x, one[1, ], sqrt(one[2, ] + one[3, ]))) - 0.05
    }, c(-50, 50), tol = 1e-10)$root
    c(
      mean(one[1, ]), mean(one[2, ]) + mean((one[1, ] - mean(one[1, ]))^2),
      lower
    )
  }, numeric(3))
  mean <- predict(fit, pairs, user_features = made$features)
  expect_equal(mean$mean, moments[1, ])
  expect_equal(mean$parameters, moments[2, ])
  interval <- predict(
    fit, pairs, interval = "prediction", level = 0.9,
    user_features = made$features
  )
  expect_equal(interval$lower, moments[3, ], tolerance = 1e-7)
  expect_identical(interval$unknown, rep("user", 3))
  # rows and columns of the table in another order
  expect_identical(
    predict(fit, pairs, user_features = made$features[16:1, ]), mean
  )
})

test_that("draws for new users have the exact mean and variance", {
  skip_long()
  withr::local_seed(11)
  fit <- feature_fit()
  made <- made_with_features()
  pairs <- made$new[c(1, 6), ]
  exact <- predict(fit, pairs, user_features = made$features)
  many <- do.call(rbind, replicate(fast_or(3, 60), simplify = FALSE, {
    predict(fit, pairs, type = "draws", user_features = made$features)
  }))
  expect_lt(max(abs(z_of_means(many, exact$mean))), max_z)
  square <- sweep(many, 2, exact$mean)^2
  expect_lt(max(abs(z_of_means(square, exact$parameters))), max_z)
  one <- posterior_predict(fit, pairs, user_features = made$features)
  expect_identical(dim(one), c(120L, 2L))
})

test_that("held_out() and augment() take new users with features", {
  skip_long()
  fit <- feature_fit()
  made <- made_with_features()
  pairs <- transform(made$new[c(1, 6, 9), ], value = c(0.5, -1, 2))
  mean <- predict(fit, pairs, user_features = made$features)
  interval <- predict(
    fit, pairs, interval = "prediction", level = 0.9,
    user_features = made$features
  )
  withr::local_seed(14)
  likelihood <- log_lik(fit, pairs, user_features = made$features)
  withr::local_seed(14)
  held <- held_out(fit, pairs, level = 0.9, user_features = made$features)
  expect_equal(held$rmse, sqrt(mean((pairs$value - mean$mean)^2)))
  expect_equal(held$lpd, mean(log(colMeans(exp(likelihood)))))
  inside <- pairs$value > interval$lower & pairs$value < interval$upper
  expect_equal(held$coverage_90, mean(inside))
  made_up <- augment(
    fit, pairs, level = 0.9, user_features = made$features
  )
  expect_equal(made_up$.fitted, mean$mean)
  expect_equal(made_up$.se.fit, sqrt(mean$parameters))
  expect_equal(made_up$.lower, interval$lower)
  expect_equal(made_up$.resid, pairs$value - mean$mean)
  expect_gibbsite_error({
    held_out(fit, user_features = made$features)
    augment(fit, user_features = made$features)
  })
})

test_that("pairs of a new user and a new item have the exact moments", {
  skip_unless_extended()
  withr::local_seed(12)
  made <- made_with_features()
  items <- matrix(rnorm(22), 11, dimnames = list(1:11, NULL))
  fit <- quick_fit(made$ratings, user_features = made$features[1:12, ],
    item_features = items[1:10, ]
  )
  pairs <- data.frame(user = c("m", "m", "a"), item = c(11, 1, 11))
  of <- function(...) {
    predict(
      fit, pairs, ..., user_features = made$features, item_features = items
    )
  }
  exact <- of()
  expect_identical(exact$unknown, c("both", "user", "item"))
  times <- 60
  many <- do.call(
    rbind, replicate(times, of(type = "draws"), simplify = FALSE)
  )
  expect_lt(max(abs(z_of_means(many, exact$mean))), max_z)
  square <- sweep(many, 2, exact$mean)^2
  expect_lt(max(abs(z_of_means(square, exact$parameters))), max_z)
  interval <- of(interval = "prediction", level = 0.9)
  expect_identical(interval$mean, exact$mean)
  # both ends are quantiles of the draws, noise included
  noise <- rep(kept_factors(fit)$noise, times)
  rating <- many + rnorm(length(many)) * sqrt(noise)
  below <- sweep(rating, 2, interval$lower) < 0
  # the draws of one fit have factors in common: a tenth of them counts
  error <- sqrt(0.05 * 0.95 / (nrow(rating) / 10))
  expect_lt(max(abs(colMeans(below) - 0.05)), max_z * error)
})

test_that("a user with features and no rating is predicted as a new one", {
  skip_unless_extended()
  made <- made_with_features()
  inside <- quick_fit(made$ratings,
    user_features = made$features, draws = 2000, burnin = 500
  )
  outside <- quick_fit(made$ratings,
    user_features = made$features[1:12, ], draws = 2000, burnin = 500
  )
  expect_identical(tail(fit_part(inside, "model")$users, 4), letters[13:16])
  one <- predict(inside, made$new)
  other <- predict(outside, made$new, user_features = made$features)
  expect_identical(one$unknown, other$unknown)
  # both have the error of their draws, some 200 of which are independent
  error <- sqrt(2 * other$parameters / 200)
  expect_lt(max(abs(one$mean - other$mean) / error), max_z)
})

test_that("features tell of users without a rating", {
  skip_unless_extended()
  made <- made_with_features()
  error <- function(...) {
    fit <- quick_fit(made$ratings, draws = 500, burnin = 500, ...)
    fit
  }
  with <- error(user_features = made$features[1:12, ])
  without <- error()
  square <- function(predicted) (predicted$mean - made$new$value)^2
  one <- square(predict(with, made$new, user_features = made$features))
  other <- square(predict(without, made$new))
  expect_lt(mean(one), mean(other) / 2)
  z <- mean(other - one) / (sd(other - one) / sqrt(length(one)))
  expect_gt(z, 3)
})

test_that("recommendations for new users are the best of the predictions", {
  skip_long()
  fit <- feature_fit()
  made <- made_with_features()
  best <- recommend(fit, "n", n = 3, user_features = made$features)
  all <- predict(
    fit, data.frame(user = "n", item = 1:10), interval = "prediction",
    user_features = made$features
  )
  all <- all[order(-all$mean)[1:3], ]
  expect_equal(best$item, all$item)
  for (column in c("mean", "sd", "lower", "upper")) {
    expect_equal(best[[column]], all[[column]])
  }
  if (is_extended()) {
    every <- recommend(fit, n = 1, user_features = made$features)
    expect_identical(every$user, letters[13:16])
  }
})

test_that("a new user with ratings is drawn from its conditional", {
  fit <- feature_fit()
  made <- made_with_features()
  kept <- kept_factors(fit)
  given <- over_draws(kept, identity)
  model <- kept$model
  rated <- made$new[made$new$user == "m", ][1:4, ]
  folded <- withr::with_seed(13, {
    fold_in(fit, rated, user_features = made$features)
  })
  # a draw is one half sweep
  normals <- withr::with_seed(13, vapply(seq_along(given), function(s) {
    philox_normals(twin_key(), 2)
  }, numeric(2)))
  expected <- vapply(seq_along(given), function(s) {
    p <- given[[s]]
    x <- t(p$v[, rated$item])
    q <- p$precision_u + p$beta * crossprod(x)
    prior <- p$mu_u + p$coefficients_u %*% made$features["m", ]
    b <- p$precision_u %*% prior +
      p$beta * crossprod(x, rated$value - model$center)
    upper <- chol(q)
    drop(backsolve(upper, backsolve(upper, b, transpose = TRUE) + normals[, s]))
  }, numeric(2))
  expect_equal(folded$draws[, 1, ], expected, tolerance = 1e-10)
})

test_that("a mode predicts new users by their features", {
  made <- made_with_features()
  top <- suppressWarnings(gibbs_bmf(made$ratings, 2,
    user_features = made$features[1:12, ], method = "icm", seed = 1, chains = 1
  ))
  expect_equal(
    predict(top, made$new[3, ], user_features = made$features),
    top$model$center + sum(
      (top$estimate$mu_u + top$estimate$coefficients_u %*%
         made$features[made$new$user[[3]], ]) *
        top$estimate$v[, made$new$item[[3]]]
    )
  )
})

test_that("the shares of factors count the features", {
  withr::local_seed(14)
  model <- tiny_bmf("wishart", features = both)
  hyper <- twin_bmf(model, draw_prior(model))
  means <- row_means(model, hyper, "u")
  expect_equal(mean_square(model, hyper, "u"), tcrossprod(means) / model$n)
})

# ---- tables in every form ----------------------------------------------------

test_that("a table means the same in every form", {
  skip_long()
  made <- made_with_features()
  f <- made$features[1:12, ]
  colnames(f) <- c("x", "y", "z")
  one <- as.matrix(quick_fit(made$ratings, user_features = f, draws = 5))
  same <- function(table) {
    expect_identical(as.matrix(quick_fit(
      made$ratings, user_features = table, draws = 5
    )), one)
  }
  same(f[12:1, ])
  same(as.data.frame(f))
  same(data.frame(f, user = rownames(f), row.names = NULL))
  same(Matrix::Matrix(f, sparse = TRUE))
})

test_that("a factor has a feature for each level, and a logical one", {
  table <- data.frame(
    user = 1:3, job = factor(c("b", "a", "b"), c("a", "b", "c")),
    text = c("p", "q", "p"), yes = c(TRUE, FALSE, TRUE), age = c(3, 0, 2)
  )
  read <- feature_table(table, "user", "user", "x", NULL, NULL)
  expect_identical(read$ids, 1:3)
  expect_identical(
    read$spec$names,
    c("joba", "jobb", "jobc", "textp", "textq", "yes", "age")
  )
  expect_identical(unname(t(as.matrix(read$x))), rbind(
    c(0, 1, 0, 1, 0, 1, 3), c(1, 0, 0, 0, 1, 0, 0), c(0, 1, 0, 1, 0, 1, 2)
  ))
  # a table given later has the levels of the first
  later <- table[2, ]
  later$job <- as.character(later$job)
  again <- feature_table(later, "user", "user", "x", read$spec, NULL)
  expect_identical(as.matrix(again$x), as.matrix(read$x[, 2, drop = FALSE]))
})

test_that("columns with equal names are features of their own", {
  skip_long()
  read <- function(table, known = NULL) {
    suppressMessages(feature_table(table, "user", "user", "x", known, NULL))
  }
  frame <- data.frame(a = c(1, 2), user = 1:2, a = c(3, 4), check.names = FALSE)
  plain <- as.matrix(unname(frame[c(1, 3)]))
  for (table in list(frame, `colnames<-`(plain, c("a", "a")))) {
    made <- read(table)
    expect_identical(made$spec$names, c("a", "a.1"))
    expect_identical(unname(t(as.matrix(made$x))), unname(plain))
    expect_identical(as.matrix(read(table, made$spec)$x), as.matrix(made$x))
  }
  expect_gibbsite_condition(
    feature_table(frame, "user", "user", "x", NULL, NULL),
    "gibbsite_message_names"
  )
  # a level's name is that of another column
  table <- data.frame(user = 1:2, g = c("a", "b"), gb = c(5, 6))
  made <- read(table)
  expect_identical(made$spec$names, c("ga", "gb", "gb.1"))
  again <- read(table[2, c("gb", "user", "g")], made$spec)
  expect_identical(as.vector(again$x), c(0, 1, 6))
})

test_that("a table has what the fit's has, and may have more", {
  read <- function(table, known = NULL) {
    feature_table(table, "user", "user", "x", known, NULL)
  }
  made <- read(matrix(1:4, 2, dimnames = list(1:2, c("p", "q"))))
  later <- read(data.frame(user = 1:2, city = "X", q = 3:4, p = 1:2), made$spec)
  expect_identical(as.matrix(later$x), as.matrix(made$x))
  made <- read(data.frame(user = 1:2, year = factor(c(2000, 1e5))))
  later <- read(data.frame(user = 1:2, year = c(2000, 1e5)), made$spec)
  expect_identical(as.matrix(later$x), as.matrix(made$x))
})

test_that("users without a rating are added, with a message", {
  made <- made_with_features()
  expect_gibbsite_condition(
    suppressWarnings(gibbs_bmf(
      made$ratings, 2, user_features = made$features, draws = 5, burnin = 5,
      chains = 1, progress = FALSE
    )),
    "gibbsite_message_unrated"
  )
})

test_that("wrong tables of features are errors", {
  skip_long()
  r <- data.frame(
    user = c("a", "b", "c"), item = c(1, 2, 1), value = c(1, 2, 4)
  )
  f <- matrix(1:6, 3, dimnames = list(c("a", "b", "c"), c("x", "y")))
  frame <- data.frame(user = c("a", "b", "c"), x = 1:3, g = c("p", "q", NA))
  listed <- data.frame(user = r$user, x = I(list(1, 2, 3)))
  expect_gibbsite_error({
    gibbs_bmf(r, 1, user_features = "f")
    gibbs_bmf(r, 1, bmf_prior("gamma"), user_features = f)
    gibbs_bmf(r, 1, bmf_prior(feature_shape = 3))
    gibbs_bmf(r, 1, bmf_prior(feature_shape = c(items = 3)), user_features = f)
    bmf_prior(feature_precision = 2, feature_shape = 3)
    bmf_prior(feature_rate = c(user = 3))
    bmf_prior(feature_rate = 1:3)
  })
  expect_gibbsite_error(class = "gibbsite_error_missing", {
    gibbs_bmf(r, 1, user_features = f[1:2, ])
    gibbs_bmf(r, 1, user_features = f[1, , drop = FALSE])
    gibbs_bmf(r, 1, item_features = f)
    gibbs_bmf(r, 1, user_features = replace(f, 5, NA))
    gibbs_bmf(r, 1, user_features = frame)
  })
  expect_gibbsite_error(class = "gibbsite_error_infinite", {
    gibbs_bmf(r, 1, user_features = replace(f, 5, Inf))
  })
  expect_gibbsite_error(class = "gibbsite_error_duplicated", {
    gibbs_bmf(r, 1, user_features = f[c(1:3, 2), ])
  })
  expect_gibbsite_error(class = "gibbsite_error_column", {
    gibbs_bmf(r, 1, user_features = listed)
  })
  expect_gibbsite_error(class = "gibbsite_error_size", {
    gibbs_bmf(r, 1, user_features = Matrix::sparseMatrix(
      1, 1, x = 1, dims = c(3, 5001), dimnames = list(r$user, NULL)
    ))
  })
  expect_gibbsite_error(
    gibbs_bmf(r, 1, user_features = f * 1e200)
  )
})

test_that("wrong features of new users are errors", {
  skip_long()
  fit <- feature_fit()
  f <- made_with_features()$features
  new <- data.frame(user = c("m", "n"), item = 1)
  expect_gibbsite_error(class = "gibbsite_error_missing", {
    predict(fit, new)
    predict(fit, new, user_features = f[1:13, ])
    fold_in(fit, cbind(new, value = 1))
  })
  expect_gibbsite_error(class = "gibbsite_error_column", {
    predict(fit, new, user_features = f[, 1:2])
  })
  expect_gibbsite_error({
    predict(fit, new, item_features = f, user_features = f)
    recommend(fit, "zz", user_features = f)
    recommend(fit, "a", user_features = f)
    recommend(fit, user_features = f[1:12, ])
    recommend(fit, user_features = f[0, ])
  })
  # a column is named as the user knows it
  spec <- feature_table(
    data.frame(user = 1:2, g = c("p", "q"), z = 1:2), "user", "user", "x",
    NULL, NULL
  )$spec
  later <- function(...) {
    feature_table(
      data.frame(user = "n", ...), "user", "user", "user_features", spec,
      quote(predict())
    )
  }
  expect_gibbsite_error(class = "gibbsite_error_column", {
    later(z = 1)
    later(g = "p", z = "1")
    later(g = 1, z = 1)
    later(g = factor("r"), z = 1)
  })
})
