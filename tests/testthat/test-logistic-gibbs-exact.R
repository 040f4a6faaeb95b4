# gibbs_logistic() is exact: the core against its R twin, quadrature, another
# sampler and Geweke's joint test, and the mistakes that these find.

logistic_gibbs_cases <- list(
  plain = function() logistic_gibbs_model_for(y ~ a + b, logistic_example()),
  counts = function() {
    logistic_gibbs_model_for(
      cbind(s, m - s) ~ a + g, logistic_example(), weights = v, offset = o,
      prior = logistic_prior(c = c(1, 2, 3), intercept_c = 4)
    )
  },
  alone = function() logistic_gibbs_model_for(y ~ 1, logistic_example()),
  matrix_prior = function() {
    logistic_gibbs_model_for(
      y ~ a + b + offset(o), logistic_example(),
      prior = logistic_prior(matrix(c(4, 1, 0, 1, 3, 1, 0, 1, 2), 3))
    )
  },
  flat = function() {
    logistic_gibbs_model_for(
      y ~ a, logistic_example(40), prior = logistic_prior(Inf, Inf)
    )
  },
  sparse = function() {
    data <- logistic_example(30)
    x <- cbind(data$a * (data$a > 0), data$b, data$a < 0)
    logistic_gibbs_model_for(
      Matrix::Matrix(x, sparse = TRUE), data$y, offset = data$o
    )
  },
  collinear = function() {
    logistic_gibbs_model_for(y ~ a + I(2 * a), logistic_example())
  },
  wide = function() {
    x <- withr::with_seed(1, matrix(stats::rnorm(6 * 9), 6))
    logistic_gibbs_model_for(x, c(0, 1, 1, 0, 1, 0))
  },
  separated = function() {
    logistic_gibbs_model_for(
      am ~ wt, datasets::mtcars, subset = wt < 2.5 | wt > 3.6
    )
  }
)

# The draws of the core and of the twin, on the same random numbers.
logistic_draws_of_both <- function(model, wrong = "", n = 12) {
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  list(
    core = withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, n, control)$draws
    ),
    twin = withr::with_seed(3, twin_logistic_sweeps(model, state, n, wrong))
  )
}

for (name in names(logistic_gibbs_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    model <- suppressMessages(logistic_gibbs_cases[[name]]())
    both <- logistic_draws_of_both(model)
    expect_equal(both$core, both$twin, tolerance = 1e-7)
    # proposals were accepted, and others not
    expect_identical(anyDuplicated(both$core), 0L)
  })
}

test_that("the twin's mistakes are found", {
  case_of <- c(
    tilt_whole = "plain", scale_whole = "plain", kappa_whole = "plain",
    offset_left = "counts", prior_left = "plain", trial_left = "counts",
    q_left = "plain", heavy_left = "separated", prior_ignored = "separated"
  )
  for (wrong in names(case_of)) {
    model <- suppressMessages(logistic_gibbs_cases[[case_of[[wrong]]]]())
    both <- logistic_draws_of_both(model, wrong, n = 60)
    expect_gt(max(abs(both$core - both$twin)), 1e-3)
  }
})

test_that("the augmentation is done in the sweeps that the help names", {
  model <- logistic_gibbs_cases$plain()
  model$data$every <- 3
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  drawn <- function(counts, augments, sweep = 0) {
    state$counts <- counts
    state$sweep <- sweep
    control <- list(burnin = 0, thin = 1, threads = 1)
    core <- withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, 10, control)$draws
    )
    twin <- withr::with_seed(
      3, twin_logistic_sweeps(model, state, 10, augments = augments)
    )
    expect_equal(core, twin, tolerance = 1e-7)
  }
  third <- function(t) t %% 3 == 0
  drawn(c(100, 90, 0, 0), third)
  drawn(c(100, 50, 7, 1), third, 4)
  drawn(c(100, 49, 7, 7), function(t) TRUE)
  drawn(c(49, 49, 7, 7), function(t) TRUE)
})

test_that("steps are counted, those of the burn-in apart", {
  model <- logistic_gibbs_cases$plain()
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 60, thin = 1, threads = 1)
  run <- withr::with_seed(3, {
    gibbsite:::model_sweeps(model, state, 100, control)
  })
  counts <- run$state$counts
  expect_identical(counts[c(1, 3)], c(60, 40))
  expect_true(all(counts[c(2, 4)] > 0 & counts[c(2, 4)] < c(60, 40)))
  expect_lte(nrow(unique(run$draws)), 41)
})

test_that("the interval of the augmentation is that of the trials", {
  every <- function(...) logistic_gibbs_model_for(...)$data$every
  expect_identical(every(y ~ a, logistic_example()), 10)
  data <- logistic_example()
  expect_identical(
    every(cbind(s, m - s) ~ a, data),
    ceiling(10 * mean(data$m[data$m > 0]))
  )
})

# ---- quadrature --------------------------------------------------------------

# Means of w, its squares and product in two dimensions.
posterior_moments <- function(model) {
  d <- twin_logistic_data(model)
  data <- model$data
  sd <- sqrt(diag(chol2inv(t(data$precision_factor))))
  grid <- lapply(1:2, function(j) {
    quadrature(data$map[[j]] - 14 * sd[[j]], data$map[[j]] + 14 * sd[[j]], 15)
  })
  points <- as.matrix(expand.grid(grid[[1]]$node, grid[[2]]$node))
  eta <- points %*% t(d$x) + rep(d$o, each = nrow(points))
  logs <- stats::plogis(eta, log.p = TRUE) %*% d$s +
    stats::plogis(-eta, log.p = TRUE) %*% (d$m - d$s) -
    rowSums((points %*% d$q) * points) / 2
  share <- as.vector(outer(grid[[1]]$weight, grid[[2]]$weight)) *
    exp(logs - max(logs))
  colSums(as.vector(share) * functions_of(points)) / sum(share)
}

functions_of <- function(w) {
  cbind(w[, 1], w[, 2], w[, 1]^2, w[, 2]^2, w[, 1] * w[, 2])
}

# z-scores of the means of 4 chains of the core; `model` and `counts` choose the
# steps.
quadrature_z <- function(model, expected, counts = numeric(4), n = 4000) {
  chains <- withr::with_seed(7, lapply(1:4, function(k) {
    state <- gibbsite:::model_start(model, NULL)
    state$counts <- counts
    control <- list(burnin = 100, thin = 1, threads = 1)
    functions_of(gibbsite:::model_sweeps(model, state, n + 100, control)$draws)
  }))
  vapply(seq_along(expected), function(j) {
    z_of_chains(vapply(chains, function(x) x[, j], numeric(n)), expected[[j]])
  }, 0)
}

test_that("each step and both together agree with quadrature", {
  two <- list(
    counts = suppressMessages(logistic_gibbs_model_for(
      cbind(s, m - s) ~ a, logistic_example(), weights = v, offset = o
    )),
    separated = logistic_gibbs_cases$separated(),
    few = logistic_gibbs_model_for(
      y ~ a, logistic_example(5), prior = logistic_prior(c = 9, intercept_c = 9)
    )
  )
  for (model in two) {
    expected <- posterior_moments(model)
    expect_lt(max(abs(quadrature_z(model, expected))), 4.5)
    # the independence step alone, but for a sweep in a million
    alone <- model
    alone$data$every <- 1e6
    expect_lt(
      max(abs(quadrature_z(alone, expected, c(1e6, 1e6, 0, 0)))), 4.5
    )
    # proposals so far away that none is accepted: the augmentation alone
    other <- model
    other$data$map <- model$data$map + 1e4
    expect_lt(max(abs(quadrature_z(other, expected))), 4.5)
    # and of another posterior than theirs both are found wrong
    shifted <- expected * 1.3
    expect_gt(max(abs(quadrature_z(alone, shifted, c(1e6, 1e6, 0, 0)))), 4.5)
  }
})

test_that("one coefficient agrees with quadrature", {
  model <- logistic_gibbs_cases$alone()
  s <- sum(model$frame$y)
  n <- length(model$frame$y)
  density <- function(w) {
    exp(s * stats::plogis(w, log.p = TRUE) +
          (n - s) * stats::plogis(-w, log.p = TRUE)) *
      stats::dnorm(w, 0, sqrt(model$prior$c))
  }
  moment <- function(f) {
    stats::integrate(
      function(w) f(w) * density(w), -20, 20, rel.tol = 1e-10,
      subdivisions = 1000
    )$value
  }
  mean <- moment(identity) / moment(function(w) 1)
  fit <- gibbs_logistic(
    y ~ 1, logistic_example(), draws = 5000, seed = 3, progress = FALSE
  )
  expect_lt(abs(z_of_chains(as.array(fit)[, , 1], mean)), 4.5)
})

# ---- other samplers ----------------------------------------------------------

test_that("the posterior of the Pima data is that of other samplers", {
  formula <- type ~ npreg + glu + bmi + ped + age
  fit <- gibbs_logistic(
    formula, MASS::Pima.tr, draws = 4000, seed = 1, progress = FALSE
  )
  corrected <- laplace_logistic(
    formula, MASS::Pima.tr, correct = "importance", draws = 1000, seed = 2,
    progress = FALSE
  )
  model <- gibbsite:::fit_part(fit, "model")
  l <- model$data$precision_factor
  d <- twin_logistic_data(model)
  walk <- mh_sample(
    function(w) twin_log_posterior(d, w), model$data$map,
    proposal = independence(model$data$map, chol2inv(t(l)), df = 8),
    draws = 1000, burnin = 100, seed = 3, progress = FALSE
  ) |> quietly()
  arrays <- lapply(list(fit, corrected, walk), function(f) {
    unclass(posterior::as_draws_array(f))[, , 1:6]
  })
  for (f in list(identity, function(w) w^2)) {
    of <- lapply(arrays, function(a) {
      vapply(1:6, function(j) {
        w <- f((a[, , j] - model$data$map[[j]]))
        c(mean(w), posterior::mcse_mean(w))
      }, c(0, 0))
    })
    for (k in 2:3) {
      z <- (of[[1]][1, ] - of[[k]][1, ]) /
        sqrt(of[[1]][2, ]^2 + of[[k]][2, ]^2)
      expect_lt(max(abs(z)), 4.5)
    }
  }
})

# ---- the joint distribution --------------------------------------------------

logistic_joint_model <- function() {
  data <- logistic_example(8)
  x <- cbind("(Intercept)" = 1, a = data$a)
  logistic_gibbs_model_for(
    x, cbind(data$s, data$m - data$s), offset = data$o,
    weights = rep_len(c(1, 2), 8),
    prior = logistic_prior(c = 1.5, intercept_c = 0.8)
  )
}

logistic_quantities <- function(model, state) {
  w <- state$w
  share <- model$frame$success / pmax(model$frame$total, 1)
  c(
    w = w, square = tanh(w^2 / 2), product = tanh(w[[1]] * w[[2]]),
    share = mean(share), both = w[[1]] * mean(share),
    slope = w[[2]] * sum(share * model$frame$x[, 2]) / 8
  )
}

test_that("one sweep leaves the joint distribution invariant", {
  withr::local_seed(12)
  model <- logistic_joint_model()
  # weights count a simulated observation twice: they are not of this test
  model <- gibbsite:::set_data(model, within(
    gibbsite:::simulate_data(model, gibbsite:::draw_prior(model)),
    weights <- NULL
  ))
  both <- stack_rows(700, function() {
    joint <- suppressMessages(
      with_simulated_data(model, gibbsite:::draw_prior(model))
    )
    after <- sweep_state(joint$model, joint$state)
    c(
      logistic_quantities(joint$model, joint$state),
      logistic_quantities(joint$model, after)
    )
  })
  k <- ncol(both) / 2
  change <- both[, k + seq_len(k)] - both[, seq_len(k)]
  expect_lt(max(abs(z_of_means(change[, colSums(change != 0) > 0], 0))), 4.5)
  # every draw moved
  expect_gt(min(colSums(change != 0)[1:2]), 699)
})

test_that("Geweke's joint test passes, and finds mistakes", {
  skip_unless_extended()
  withr::local_seed(11)
  model <- logistic_joint_model()
  model <- gibbsite:::set_data(model, within(
    gibbsite:::simulate_data(model, gibbsite:::draw_prior(model)),
    weights <- NULL
  ))
  quiet_test <- function(model) {
    suppressMessages(
      joint_test(model, logistic_quantities, reference, 150, 10)
    )
  }
  reference <- suppressMessages(
    joint_by_simulation(model, logistic_quantities, 4000)
  )
  expect_gt(smallest_adjusted(quiet_test(model)), 0.001)
  mutants <- list(
    prior = function(data) {
      data$density$precision <- 1.6 * data$density$precision
      data
    },
    offset = function(data) {
      data$density["offset"] <- list(NULL)
      data
    },
    trials = function(data) {
      data$density$total <- data$density$total + 1
      data
    },
    success = function(data) {
      data$density$success[[1]] <- 0
      data
    }
  )
  for (mutant in mutants) {
    wrong <- mutant_of(model, function(model, state, n, control) {
      .Call(
        gibbsite:::C_logistic_sweeps, mutant(model$data), state, n, control
      )
    })
    expect_lt(smallest_adjusted(quiet_test(wrong)), 0.001)
  }
})
