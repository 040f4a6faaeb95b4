# gibbs_bmf() draws from the posterior it names, for the three priors, with and
# without intercepts: the log joint density, a twin on the same random numbers,
# conditionals in closed form, conditional modes, a posterior by quadrature,
# Geweke's joint test, calibration by simulation, coverage of predictions, wrong
# samplers that these reject, and the same bits however a run is cut.
#
# A z-score is compared with max_z = 4.5: a correct sampler fails one such
# comparison with probability 7e-6.  Seeds are fixed, so a pass stays a pass.

max_z <- 4.5

# ---- the log joint density ---------------------------------------------------

test_that("the recorded log joint density is that of its factors", {
  skip_long()
  withr::local_seed(1)
  for (kind in bmf_kinds_tested) {
    for (biases in c(FALSE, TRUE)) {
      for (rank in 1:3) {
        model <- tiny_bmf(kind, rank = rank, biases = biases)
        swept <- run_bmf_sweeps(model, draw_prior(model), 1)
        expect_equal(
          swept$draws[[1, "log_joint"]],
          bmf_log_joint_by_factors(model, twin_bmf(model, swept$state)),
          tolerance = 1e-12
        )
      }
    }
  }
})

# ---- the twin ----------------------------------------------------------------

# Largest difference between the parameters of the core and of its twin after
# some sweeps on the same random numbers.
twin_difference <- function(model, state, sweeps) {
  force(state)
  seed <- sample.int(1e6, 1)
  core <- withr::with_seed(seed, run_bmf_sweeps(model, state, sweeps))
  twin <- twin_bmf(model, state)
  withr::with_seed(seed, for (i in seq_len(sweeps)) {
    twin <- bmf_twin_sweep(model, twin)
  })
  of_core <- unlist(twin_bmf(model, core$state))
  max(abs(of_core - unlist(twin)) / pmax(1, abs(of_core)))
}

test_that("a sweep is that of the twin, draw for draw", {
  skip_long()
  withr::local_seed(2)
  for (kind in bmf_kinds_tested) {
    for (biases in c(FALSE, TRUE)) {
      for (rank in fast_or(c(1, 3, 8, 21), c(1:5, 7, 8, 11, 12, 16, 21))) {
        model <- tiny_bmf(kind, 6, 5, rank, 40, biases = biases)
        expect_lt(
          twin_difference(model, draw_prior(model), 2), 1e-12,
          label = paste(kind, biases, rank)
        )
      }
    }
  }
})

test_that("a sweep is that of the twin for rows longer than a panel", {
  skip_long()
  withr::local_seed(3)
  # items with many users each: one with few would be all but singular, and
  # the order of its sums would tell
  for (rank in c(3, 12)) {
    model <- tiny_bmf("wishart", 300, 3, rank, 2500, biases = TRUE)
    expect_gt(max(diff(model$data$items$start)), 1024)
    expect_lt(twin_difference(model, draw_prior(model), 1), 1e-12)
  }
})

test_that("columns are what their names say", {
  withr::local_seed(4)
  for (kind in bmf_kinds_tested) {
    model <- tiny_bmf(kind, biases = TRUE, keep = c("u", "v"))
    swept <- run_bmf_sweeps(model, draw_prior(model), 1)
    p <- twin_bmf(model, swept$state)
    wishart <- function(side) {
      precision <- hyper(p, "precision", side)
      c(
        sum(diag(precision)), determinant(precision)$modulus,
        sqrt(sum(hyper(p, "mu", side)^2))
      )
    }
    expected <- c(
      switch(kind,
        gamma = c(p$beta, p$lambda_u, p$lambda_v),
        wishart = c(p$beta, wishart("u"), wishart("v"))
      ),
      sqrt(mean(twin_residuals(model, p)^2)),
      bmf_log_joint_by_factors(model, p),
      model$center +
        bmf_predictor(model, p, model$cells$user, model$cells$item),
      p$u, p$v
    )
    expect_equal(unname(swept$draws[1, ]), expected, tolerance = 1e-12)
  }
})

test_that("the gamma prior's names match the first coordinates", {
  model <- tiny_bmf("gamma", keep = c("u", "v"))
  at <- match(c("u[2,1]", "v[1,2]"), model$columns)
  swept <- run_bmf_sweeps(model, draw_prior(model), 1)
  p <- twin_bmf(model, swept$state)
  expect_identical(unname(swept$draws[1, at]), c(p$u[2, 1], p$v[1, 2]))
})

test_that("a sweep is that of the twin for users in batches", {
  skip_long()
  withr::local_seed(23)
  model <- tiny_bmf("wishart", 400, 40, 40, 12000)
  expect_lt(twin_difference(model, draw_prior(model), 1), 1e-12)
})

# ---- running means and stored draws ------------------------------------------

test_that("predictions are averaged over every kept draw", {
  withr::local_seed(5)
  pairs <- list(user = c(1L, 4L, 1L), item = c(5L, 5L, 1L))
  model <- tiny_bmf("gamma", biases = TRUE, keep = c("u", "v"),
    predict_at = pairs
  )
  swept <- run_bmf_sweeps(model, draw_prior(model), 60, burnin = 20, thin = 2)
  expect_equal(nrow(swept$draws), 20)
  values <- apply(swept$draws, 1, function(row) {
    p <- list(
      u = matrix(row[startsWith(names(row), "u[")], model$size),
      v = matrix(row[startsWith(names(row), "v[")], model$size)
    )
    bmf_predictor(model, p, pairs$user, pairs$item)
  })
  state <- swept$state
  expect_identical(state$kept, 20)
  expect_equal(state$at_mean, rowMeans(values), tolerance = 1e-12)
  expect_equal(
    state$at_m2, rowSums((values - rowMeans(values))^2), tolerance = 1e-12
  )
  expect_equal(state$noise, mean(1 / swept$draws[, "beta"]))
})

test_that("stored draws are those whose number is a multiple of a power of 2", {
  skip_long()
  withr::local_seed(6)
  model <- tiny_bmf("wishart", keep = c("u", "v"))
  model$data$cap <- 5L
  start <- draw_prior(model)
  for (draws in c(1:12, 20:24, 40, 41)) {
    swept <- withr::with_seed(7, run_bmf_sweeps(model, start, draws))
    every <- 2^max(0, which(draws %/% 2^(0:10) <= 5)[[1]] - 1)
    at <- seq_len(draws %/% every) * every
    expect_equal(bmf_kept(swept$state), at)
    factors <- t(vapply(seq_along(at), function(j) {
      kept <- bmf_kept_draw(model, swept$state, j)
      c(kept$u, kept$v)
    }, numeric(model$size * (model$n + model$m))))
    stored <- swept$draws[at, grepl("^[uv]\\[", model$columns), drop = FALSE]
    expect_equal(factors, unname(stored), tolerance = 2^-23)
    betas <- vapply(seq_along(at), function(j) {
      bmf_kept_hyper(model, swept$state, j)$beta
    }, 0)
    expect_identical(betas, unname(swept$draws[at, "beta"]))
  }
  last <- bmf_kept_hyper(model, swept$state, length(at))
  expect_equal(
    sum(diag(last$precision_v)), swept$draws[[at[length(at)], "trace_v"]]
  )
})

test_that("the set of stored draws does not show how a run was cut", {
  withr::local_seed(8)
  model <- tiny_bmf("gamma")
  model$data$cap <- 5L
  start <- draw_prior(model)
  whole <- withr::with_seed(9, run_bmf_sweeps(model, start, 43, burnin = 3))
  withr::with_seed(9, {
    state <- start
    for (n in c(2, 1, 7, 1, 20, 12)) {
      state <- run_bmf_sweeps(model, state, n, burnin = 3)$state
    }
  })
  expect_identical(state, whole$state)
})

test_that("linear predictors of stored draws are those of their factors", {
  withr::local_seed(10)
  for (biases in c(FALSE, TRUE)) {
    model <- tiny_bmf("gamma", biases = biases)
    state <- run_bmf_sweeps(model, draw_prior(model), 4)$state
    user <- c(1L, 4L, 2L)
    item <- c(1L, 2L, 5L)
    direct <- t(vapply(1:4, function(j) {
      bmf_predictor(model, bmf_kept_draw(model, state, j), user, item)
    }, numeric(3)))
    linear <- bmf_linear(model, state$factor_draws, user, item)
    expect_equal(linear, model$center + direct, tolerance = 1e-14)
    moments <- bmf_linear(
      model, state$factor_draws, user, item, moments = TRUE
    )
    expect_equal(moments$mean, colMeans(linear))
    expect_equal(moments$m2, colSums(sweep(linear, 2, moments$mean)^2))
  }
})

test_that("a new user's factors are drawn from their conditional", {
  withr::local_seed(12)
  for (kind in bmf_kinds_tested) {
    model <- tiny_bmf(kind, biases = TRUE)
    state <- run_bmf_sweeps(model, draw_prior(model), 2)$state
    new <- list(
      n = 2L, user = rep(1L, 3), item = c(2L, 5L, 2L), value = c(0.3, 2, -1)
    )
    given <- bmf_kept_draw(model, state, 2)
    fold <- model
    fold$data[c("user", "item", "value")] <- new[c("user", "item", "value")]
    given$u <- matrix(0, model$size, 2)
    twin <- withr::with_seed(13, twin_rows(fold, given, "u")$u)
    core <- withr::with_seed(13, bmf_fold_in(model, state, 2, new))
    expect_equal(core, twin, tolerance = 1e-12)
  }
})

# ---- the conditionals --------------------------------------------------------

# One sweep from the same state, again and again.  Without the moves, which come
# between: these tests need the factors that each block was drawn given, and a
# state after the sweep holds the moved ones.  The moves have their own tests.
sweeps_from_one_state <- function(kind, times = fast_or(800, 4000)) {
  withr::local_seed(14)
  model <- tiny_bmf(kind, n = 3, m = 4, count = 8, biases = TRUE)
  model$data$cap <- 0L
  model$data$directions <- 0L
  state <- draw_prior(model)
  list(
    model = model, before = twin_bmf(model, state),
    after = lapply(seq_len(times), function(i) {
      twin_bmf(model, run_bmf_sweeps(model, state, 1)$state)
    })
  )
}
from_one_state <- lapply(stats::setNames(nm = bmf_kinds_tested), function(k) {
  once(function() sweeps_from_one_state(k))
})

# z-scores of the means and of the products of standard normals, a row a draw
standard_scores <- function(z) {
  d <- ncol(z)
  pairs <- which(lower.tri(diag(d), diag = TRUE), arr.ind = TRUE)
  products <- z[, pairs[, 1]] * z[, pairs[, 2]]
  c(
    z_of_means(z, numeric(d)),
    z_of_means(products, as.numeric(pairs[, 1] == pairs[, 2]))
  )
}

test_that("users and items are drawn from Bayesian linear regressions", {
  skip_long()
  for (kind in fast_or(c("gamma", "wishart"), bmf_kinds_tested)) {
    one <- from_one_state[[kind]]()
    for (side in c("u", "v")) {
      for (row in fast_or(2, 1:3)) {
        white <- t(vapply(one$after, function(after) {
          # items are drawn given the new users and the old hyperparameters
          given <- one$before
          if (side == "v") given$u <- after$u
          expected <- row_conditional(one$model, given, side, row)
          drop(chol(expected$precision) %*%
                 (after[[side]][, row] - expected$mean))
        }, numeric(one$model$size)))
        expect_lt(max(abs(standard_scores(white))), max_z)
      }
    }
  }
})

# Uniform when x are draws of gammas with these shapes and rates.
expect_gamma <- function(x, shape, rate, label) {
  p <- pgamma(x, shape, rate)
  expect_lt(abs(z_of_means(p, 0.5)), max_z, label = label)
  expect_lt(abs(z_of_means((p - 0.5)^2, 1 / 12)), max_z, label = label)
}

test_that("beta and the lambdas are drawn from their gammas", {
  skip_long()
  one <- from_one_state$gamma()
  prior <- one$model$prior
  each <- function(f) vapply(one$after, f, 0)
  expect_gamma(
    each(function(p) p$beta), prior$noise_shape + 8 / 2,
    prior$noise_rate +
      each(function(p) sum(twin_residuals(one$model, p)^2) / 2), "beta"
  )
  expect_gamma(
    each(function(p) p$lambda_u), prior$user_shape + 9 / 2,
    prior$user_rate + each(function(p) sum(p$u^2) / 2), "lambda_u"
  )
  expect_gamma(
    each(function(p) p$lambda_v), prior$item_shape + 12 / 2,
    prior$item_rate + each(function(p) sum(p$v^2) / 2), "lambda_v"
  )
})

test_that("means and precisions are drawn from their Normal-Wisharts", {
  skip_long()
  one <- from_one_state$wishart()
  direction <- c(0.3, -1, 2)
  for (side in c("u", "v")) {
    # x'Lambda x / x'W x ~ chi-square(df); Lambda^-1's element d, d without
    # the others: 1 / (Lambda^-1)_dd over 1 / (W^-1)_dd ~ chi-square(df - d + 1)
    results <- t(vapply(one$after, function(p) {
      given <- wishart_conditional(one$model, p, side)
      precision <- hyper(p, "precision", side)
      white <- chol(precision) %*% (hyper(p, "mu", side) - given$mean)
      scale <- solve(given$inverse)
      along <- function(m) drop(direction %*% m %*% direction)
      c(
        pchisq(along(precision) / along(scale), given$df),
        pchisq(given$inverse[3, 3] / solve(precision)[3, 3], given$df - 2),
        white * sqrt(given$kappa)
      )
    }, numeric(5)))
    expect_lt(max(abs(z_of_means(results[, 1:2], 0.5))), max_z)
    expect_lt(
      max(abs(z_of_means((results[, 1:2] - 0.5)^2, 1 / 12))), max_z
    )
    expect_lt(max(abs(standard_scores(results[, 3:5]))), max_z)
  }
})

# Along its orbit the log joint density is quadratic in delta.
test_that("shifts of intercepts are drawn from their normals", {
  withr::local_seed(21)
  for (kind in bmf_kinds_tested) {
    model <- tiny_bmf(kind, rank = 3, biases = TRUE)
    twin <- twin_bmf(model, draw_prior(model))
    conditional <- shift_conditional(model, twin)
    log_joint <- function(delta) {
      bmf_log_joint_by_factors(model, shifted(twin, delta, c(0, 0, 0, 1)))
    }
    for (delta in c(-1.3, 0.4, 2)) {
      expect_equal(
        log_joint(delta) - log_joint(0),
        conditional$linear * delta - conditional$precision * delta^2 / 2,
        tolerance = 1e-9
      )
    }
  }
})

# log |d moved state / d state| by the determinant of a numerical derivative,
# over all numbers that a scale moves: what the twin adds to the log joint
# density along an orbit.
log_jacobian <- function(numbers, moved) {
  derivative <- vapply(seq_along(numbers), function(at) {
    step <- replace(numeric(length(numbers)), at, 1e-4)
    (moved(numbers + step) - moved(numbers - step)) / 2e-4
  }, numeric(length(numbers)))
  as.numeric(determinant(derivative)$modulus)
}

test_that("the density of a scale has the Jacobian of its move", {
  withr::local_seed(22)
  log_c <- 0.3
  for (biases in c(FALSE, TRUE)) {
    model <- tiny_bmf("wishart", 4, 2, 2, biases = biases)
    q <- twin_direction(model)
    map <- diag(model$size) + expm1(log_c) * tcrossprod(q)
    lower <- which(lower.tri(map, diag = TRUE))
    twin <- twin_bmf(model, draw_prior(model))
    squares <- c("precision_u", "precision_v")
    flat <- function(twin) {
      for (name in squares) twin[[name]] <- twin[[name]][lower]
      unlist(twin)
    }
    full <- function(numbers) {
      whole <- relist(numbers, within(twin, {
        precision_u <- precision_u[lower]
        precision_v <- precision_v[lower]
      }))
      for (name in squares) {
        square <- replace(0 * map, lower, whole[[name]])
        whole[[name]] <- square + t(square) - diag(diag(square), nrow(map))
      }
      whole
    }
    moved <- function(numbers) flat(scaled_sides(full(numbers), map))
    expect_equal(
      log_jacobian(flat(twin), moved), (4 - 2) * log_c, tolerance = 1e-6
    )
    # the lambdas' own factors, c^-2 and c^2, make 1
    model <- tiny_bmf("gamma", 4, 2, 2, biases = biases)
    twin <- twin_bmf(model, draw_prior(model))
    map <- diag(c(rep(exp(log_c), 2), if (biases) 1))
    moved <- function(numbers) unlist(scaled_sides(relist(numbers, twin), map))
    expect_equal(
      log_jacobian(unlist(twin), moved), 2 * (4 - 2) * log_c, tolerance = 1e-6
    )
  }
})

# ---- conditional modes -------------------------------------------------------

test_that("each block goes to its conditional mode", {
  skip_unless_extended()
  withr::local_seed(16)
  for (kind in bmf_kinds_tested) {
    model <- tiny_bmf(kind, 5, 6, 2, 25, biases = TRUE)
    state <- draw_prior(model)
    before <- -Inf
    for (sweep in 1:5000) {
      step <- model_climb(model, state, 1)
      state <- step$state
      expect_gte(step$log_joint, before - 1e-9 * abs(step$log_joint))
      if (step$log_joint - before < 1e-12) {
        break
      }
      before <- step$log_joint
    }
    expect_equal(
      step$log_joint, bmf_log_joint_by_factors(model, twin_bmf(model, state))
    )
    # no small step leads higher
    top <- twin_bmf(model, state)
    for (name in names(model_init_from_state(model, state))) {
      for (at in seq_along(top[[name]])) {
        for (step in c(-1e-3, 1e-3)) {
          moved <- top
          moved[[name]][at] <- moved[[name]][at] + step
          if (startsWith(name, "precision")) {
            moved[[name]] <- (moved[[name]] + t(moved[[name]])) / 2
          }
          expect_lt(
            bmf_log_joint_by_factors(model, moved),
            bmf_log_joint_by_factors(model, top) + 1e-7
          )
        }
      }
    }
  }
})

# ---- identities --------------------------------------------------------------

test_that("threads and segments never change a bit", {
  skip_long()
  withr::local_seed(17)
  for (kind in bmf_kinds_tested) {
    # enough for several threads and, the last one, for batches of users
    large <- kind == "wishart"
    model <- tiny_bmf(
      kind, if (large) 400 else 90, 40, if (large) 40 else 19,
      if (large) 12000 else 3000, biases = kind != "gamma",
      predict_at = list(user = 1:3, item = 3:1)
    )
    start <- model_start(model, NULL)
    whole <- withr::with_seed(18, run_bmf_sweeps(model, start, 12, burnin = 4))
    for (threads in fast_or(3, c(2, 3, 7))) {
      again <- withr::with_seed(18, {
        run_bmf_sweeps(model, start, 12, threads, burnin = 4)
      })
      expect_identical(again, whole)
    }
    withr::with_seed(18, {
      first <- run_bmf_sweeps(model, start, 5, burnin = 4)
      second <- run_bmf_sweeps(model, first$state, 7, 2, burnin = 4)
    })
    expect_identical(second$state, whole$state)
    expect_identical(rbind(first$draws, second$draws), whole$draws)
  }
})

test_that("an extended fit is the longer fit, stored draws included", {
  skip_long()
  withr::local_seed(20)
  made <- sim_bmf(30, 20, rank = 2, share = 0.4)
  fit <- function(draws, ...) {
    suppressWarnings(gibbs_bmf(
      made, 3, draws = draws, burnin = 20, chains = 2, seed = 1, biases = TRUE,
      predict_at = made[1:5, ], progress = FALSE, ...
    ))
  }
  whole <- fit(500)
  longer <- suppressWarnings(extend(fit(150), 350, progress = FALSE))
  expect_true(identical_fit(longer, whole))
  expect_length(attr(whole, "chains")[[1]]$state$factor_draws, 125)
  withr::local_options(gibbsite.segment_seconds = 1e-4)
  expect_true(identical_fit(fit(500, threads = 2), whole))
})

test_that("a chain does not write into the state it was given", {
  withr::local_seed(19)
  model <- tiny_bmf("wishart")
  state <- run_bmf_sweeps(model, draw_prior(model), 3)$state
  copy <- unserialize(serialize(state, NULL))
  run_bmf_sweeps(model, state, 300)
  expect_identical(state, copy)
})

# ---- Geweke's joint test and its mutants -------------------------------------

# Every test below rejects a correct sampler with probability at most error_rate
# (Bonferroni over its quantities).
error_rate <- 1e-3

joint_model <- function(kind, biases = FALSE, ...) {
  withr::local_seed(41)
  model <- tiny_bmf(kind, biases = biases, ...)
  model$data$cap <- 0L
  model
}
joint_cases <- list(
  fixed = joint_model("fixed"), gamma = joint_model("gamma"),
  wishart = joint_model("wishart"), biases = joint_model("gamma", TRUE),
  biases_wishart = joint_model("wishart", TRUE),
  # many more users than items: what a scale does to one side is not undone by
  # what it does to the other
  tall_gamma = joint_model("gamma", TRUE, n = 9, m = 2, count = 5),
  tall_wishart = joint_model("wishart", TRUE, n = 9, m = 2, count = 5)
)
joint_references <- lapply(joint_cases, function(model) {
  once(function() {
    withr::local_seed(42)
    joint_by_simulation(model, bmf_all_quantities, 1500)
  })
})
run_joint_test <- function(case, model = joint_cases[[case]], chains = 40,
                           steps = 40) {
  withr::local_seed(43)
  joint_test(
    model, bmf_all_quantities, joint_references[[case]](), chains, steps
  )
}
expect_rejected <- function(case, mutants, ...) {
  for (name in mutants) {
    model <- mutant_of(joint_cases[[case]], bmf_mutants[[name]])
    test <- run_joint_test(case, model, ...)
    expect_lt(smallest_adjusted(test), error_rate, label = paste(case, name))
  }
}

test_that("Geweke's joint test passes", {
  skip_unless_extended()
  # test-joint.R has it in the fast suite
  for (case in names(joint_cases)) {
    p <- smallest_adjusted(run_joint_test(case))
    expect_gte(p, error_rate, label = case)
  }
})

gamma_mutants <- c(
  "lambda_scale_for_rate", "lambda_u_prior_rate_inverted",
  "lambda_v_prior_rate_inverted", "beta_prior_rate_inverted",
  "beta_shape_halved", "beta_shape_without_prior",
  "beta_shape_of_half_the_ratings", "beta_rate_doubled", "lambda_shape_of_rows",
  "stale_users"
)
wishart_mutants <- c(
  "scatter_about_zero", "w0_for_its_inverse", "wishart_mean", "nu0_off_by_d",
  "kappa_dropped", "log_det_dropped"
)

test_that("Geweke's joint test rejects wrong samplers", {
  skip_unless_extended()
  expect_rejected("gamma", gamma_mutants, chains = 20, steps = 20)
  expect_rejected("wishart", wishart_mutants, chains = 20, steps = 20)
  expect_rejected("wishart", "mu0_dropped")
  expect_rejected("biases", "intercept_as_factor", chains = 20, steps = 20)
  expect_rejected("biases", "intercept_kept")
  expect_rejected(
    "tall_gamma", "jacobian_dropped_lambda", chains = 20, steps = 20
  )
  expect_rejected("tall_wishart", "jacobian_dropped", chains = 20, steps = 20)
})

test_that("Geweke's joint test passes for other sizes, longer", {
  skip_unless_extended()
  sizes <- list(c(1, 1, 1, 2), c(6, 3, 3, 14), c(3, 8, 1, 20), c(5, 5, 4, 3))
  for (kind in bmf_kinds_tested) {
    for (size in sizes) {
      for (biases in c(FALSE, TRUE)) {
        model <- joint_model(kind, biases,
          n = size[[1]], m = size[[2]], rank = size[[3]], count = size[[4]]
        )
        withr::local_seed(44)
        reference <- joint_by_simulation(model, bmf_all_quantities, 5000)
        test <- joint_test(model, bmf_all_quantities, reference, 100, 60)
        expect_gte(
          smallest_adjusted(test), error_rate,
          label = toString(c(kind, size, biases))
        )
      }
    }
  }
})

# ---- simulation-based calibration --------------------------------------------

sbc_draws <- 31
run_sbc <- function(model, simulations, seed, thin = 30) {
  withr::local_seed(seed)
  sbc_ranks(model, bmf_quantities, simulations, sbc_draws, thin, burnin = 200)
}

# Ranks are uniform when draws are independent.  Successive draws with a
# correlation of 0.1 raise the variance of the ranks by about 1%.
expect_calibrated <- function(ranks, label) {
  expect_lt(max(attr(ranks, "autocorrelation")), 0.1, label = label)
  expect_identical(
    names(which(!sbc_inside(ranks, sbc_draws, error_rate))), character(),
    label = label
  )
}

test_that("the posterior is calibrated over the prior", {
  skip_unless_extended()
  for (case in c("biases_wishart", "fixed", "gamma", "wishart")) {
    ranks <- run_sbc(joint_cases[[case]], 200, seed = 52)
    expect_calibrated(ranks, case)
  }
})

expect_not_calibrated <- function(case, name) {
  mutant <- mutant_of(joint_cases[[case]], bmf_mutants[[name]])
  ranks <- run_sbc(mutant, 200, seed = 52)
  expect_false(all(sbc_inside(ranks, sbc_draws, error_rate)), label = name)
}

test_that("wrong samplers are not calibrated", {
  skip_unless_extended()
  expect_not_calibrated("gamma", "lambda_u_prior_rate_inverted")
  expect_not_calibrated("wishart", "w0_for_its_inverse")
})

test_that("more wrong samplers are not calibrated", {
  skip_unless_extended()
  expect_not_calibrated("gamma", "beta_prior_rate_inverted")
  expect_not_calibrated("wishart", "nu0_off_by_d")
})

test_that("the posterior is calibrated over the prior, longer", {
  skip_unless_extended()
  for (case in names(joint_cases)) {
    expect_calibrated(run_sbc(joint_cases[[case]], 1000, seed = 53), case)
  }
})

# ---- coverage of predictions -------------------------------------------------

# The rank of a new rating among draws of its predictive distribution, data from
# the model: intervals of any level cover as often as they say.
test_that("predictive intervals cover as often as they say", {
  skip_unless_extended()
  withr::local_seed(61)
  model <- tiny_bmf("wishart", 8, 8, 2, 40, biases = TRUE,
    predict_at = list(user = 1L, item = 2L)
  )
  draws <- 199
  position <- replicate(200, {
    truth <- draw_prior(model)
    p <- twin_bmf(model, truth)
    mean <- bmf_predictor(model, p, 1L, 2L)
    new <- model$center + mean + rnorm(1) / sqrt(p$beta)
    own <- set_data(model, simulate_data(model, truth))
    state <- run_bmf_sweeps(
      own, model_start(own, NULL), 200 + 10 * draws, burnin = 200, thin = 10
    )$state
    linear <- drop(bmf_linear(own, state$factor_draws, 1L, 2L))
    noise <- vapply(seq_along(linear), function(j) {
      bmf_kept_hyper(own, state, j)$beta
    }, 0)
    predictive <- linear + rnorm(draws) / sqrt(noise)
    sum(predictive < new) / (draws + 1)
  })
  for (level in c(0.5, 0.8, 0.95)) {
    covered <- sum(abs(position - 0.5 * draws / (draws + 1)) < level / 2)
    expect_gte(covered, qbinom(1e-4, 200, level))
    expect_lte(covered, qbinom(1 - 1e-4, 200, level))
  }
})
