# gibbs_logistic() is exact: the core against its R twin, quadrature, another
# sampler and Geweke's joint test, and the mistakes that these find.

# Models by link.
logistic_gibbs_cases <- list(
  plain = function(link) {
    logistic_gibbs_model_for(y ~ a + b, logistic_example(), link = link)
  },
  counts = function(link) {
    logistic_gibbs_model_for(
      cbind(s, m - s) ~ a + g, logistic_example(), weights = v, offset = o,
      prior = logistic_prior(
        slope_variance = c(1, 2, 3), intercept_variance = 4
      ), link = link
    )
  },
  alone = function(link) {
    logistic_gibbs_model_for(y ~ 1, logistic_example(), link = link)
  },
  matrix_prior = function(link) {
    logistic_gibbs_model_for(
      y ~ a + b + offset(o), logistic_example(),
      prior = logistic_prior(matrix(c(4, 1, 0, 1, 3, 1, 0, 1, 2), 3)),
      link = link
    )
  },
  flat = function(link) {
    logistic_gibbs_model_for(
      y ~ a, logistic_example(40), prior = logistic_prior(Inf, Inf), link = link
    )
  },
  sparse = function(link) {
    data <- logistic_example(30)
    x <- cbind(data$a * (data$a > 0), data$b, data$a < 0)
    logistic_gibbs_model_for(
      Matrix::Matrix(x, sparse = TRUE), data$y, offset = data$o, link = link
    )
  },
  collinear = function(link) {
    logistic_gibbs_model_for(y ~ a + I(2 * a), logistic_example(), link = link)
  },
  wide = function(link) {
    x <- withr::with_seed(1, matrix(stats::rnorm(6 * 9), 6))
    logistic_gibbs_model_for(x, c(0, 1, 1, 0, 1, 0), link = link)
  },
  separated = function(link) {
    logistic_gibbs_model_for(
      am ~ wt, datasets::mtcars, subset = wt < 2.5 | wt > 3.6, link = link
    )
  }
)

logistic_case <- function(name, link = "logit") {
  suppressMessages(logistic_gibbs_cases[[name]](link))
}

# The draws of the core and of the twin, on the same random numbers; `far`: of a
# chain most of whose proposals were rejected, with Hamiltonian steps.
logistic_draws_of_both <- function(model, wrong = "", n = 12, far = FALSE) {
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  if (far) state[c("counts", "leap")] <- list(c(90, 20, 0, 0), 0.7)
  control <- list(burnin = 0, thin = 1, threads = 1)
  list(
    core = withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, n, control)$draws
    ),
    twin = withr::with_seed(
      3, twin_logistic_sweeps(model, state, n, wrong, travels = function(t) far)
    )
  )
}

for (name in names(logistic_gibbs_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    skip_long()
    for (link in c("logit", "probit")) {
      model <- logistic_case(name, link)
      for (far in c(FALSE, TRUE)) {
        both <- logistic_draws_of_both(model, far = far)
        expect_equal(both$core, both$twin, tolerance = 1e-7)
        # proposals were accepted, and others not
        expect_identical(anyDuplicated(both$core), 0L)
      }
    }
  })
}

test_that("the twin's mistakes are found", {
  skip_long()
  mistakes <- list(
    logit = c(
      tilt_whole = "plain", scale_whole = "plain", kappa_whole = "plain",
      offset_left = "counts", prior_left = "plain", trial_left = "counts",
      q_left = "plain", heavy_left = "separated", prior_ignored = "separated",
      kinetic_left = "plain", whole_kick = "plain"
    ),
    probit = c(
      untruncated = "plain", one_latent = "counts", offset_left = "counts",
      prior_left = "plain", other_link = "plain", kinetic_left = "plain"
    )
  )
  for (link in names(mistakes)) {
    for (wrong in names(mistakes[[link]])) {
      model <- logistic_case(mistakes[[link]][[wrong]], link)
      both <- logistic_draws_of_both(
        model, wrong, n = 60, far = wrong %in% c("kinetic_left", "whole_kick")
      )
      expect_gt(max(abs(both$core - both$twin)), 1e-3)
    }
  }
})

test_that("leaps are adapted as the twin does, in the burn-in alone", {
  for (link in c("logit", "probit")) {
    model <- logistic_case("counts", link)
    state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
    state[c("sweep", "counts")] <- list(69, c(70, 10, 0, 0))
    control <- list(burnin = 70, thin = 1, threads = 1)
    one <- withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, 1, control)
    )$state
    probability <- withr::with_seed(3, {
      d <- twin_logistic_data(model)
      w <- twin_augment(d, state$w, "")
      w <- twin_propose(d, w, model$data, "")
      twin_travel(d, w, model$data, state$leap, "")$probability
    })
    gain <- (71 - 50 + 1)^-0.6
    expect_equal(one$leap, 0.5 * exp((probability - 0.8) * gain))
    expect_identical(one$counts[c(1, 3)], c(71, 0))
    after <- withr::with_seed(
      3, gibbsite:::model_sweeps(model, one, 5, control)
    )$state
    expect_identical(after$leap, one$leap)
  }
})

test_that("the augmentation is done in the sweeps that the help names", {
  model <- logistic_case("plain")
  model$data$every <- 3
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  drawn <- function(counts, augments, sweep = 0,
                    travels = function(t) FALSE) {
    state$counts <- counts
    state$sweep <- sweep
    control <- list(burnin = 0, thin = 1, threads = 1)
    core <- withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, 10, control)$draws
    )
    twin <- withr::with_seed(
      3, twin_logistic_sweeps(
        model, state, 10, augments = augments, travels = travels
      )
    )
    expect_equal(core, twin, tolerance = 1e-7)
  }
  third <- function(t) t %% 3 == 0
  drawn(c(100, 90, 0, 0), third)
  drawn(c(100, 50, 7, 1), third, 4)
  always <- function(t) TRUE
  drawn(c(100, 49, 7, 7), always, travels = always)
  drawn(c(49, 49, 7, 7), always)
  drawn(c(49, 0, 7, 7), always)
})

test_that("steps are counted, those of the burn-in apart", {
  model <- logistic_case("plain")
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

# Functions of the draws of 4 chains of the core; `model` and `counts` choose
# the steps.
quadrature_chains <- function(model, counts = numeric(4)) {
  withr::with_seed(7, lapply(1:4, function(k) {
    state <- gibbsite:::model_start(model, NULL)
    state$counts <- counts
    control <- list(burnin = 100, thin = 1, threads = 1)
    n <- 100 + fast_or(1500, 2500)
    functions_of(gibbsite:::model_sweeps(model, state, n, control)$draws)
  }))
}

worst_z <- function(chains, expected) {
  max(abs(vapply(seq_along(expected), function(j) {
    draws <- do.call(cbind, lapply(chains, function(x) x[, j]))
    z_of_chains(draws, expected[[j]])
  }, 0)))
}

# What a fit does; the augmentation alone, as proposals so far away are never
# accepted; the independence step alone, but for a sweep in a million; all three
# steps, as far from normal.
chains_by_step <- function(model) {
  away <- alone <- model
  away$data$map <- model$data$map + 1e4
  alone$data$every <- 1e6
  list(
    whole = quadrature_chains(model), augmentation = quadrature_chains(away),
    independence = quadrature_chains(alone, c(1e6, 1e6, 0, 0)),
    far = quadrature_chains(model, c(1e6, 0, 0, 0))
  )
}

for (link in c("logit", "probit")) {
  test_that(paste("steps agree with quadrature:", link), {
    skip_long()
    two <- list(
      counts = suppressMessages(logistic_gibbs_model_for(
        cbind(s, m - s) ~ a, logistic_example(), weights = v, offset = o,
        link = link
      )),
      separated = logistic_case("separated", link),
      few = logistic_gibbs_model_for(
        y ~ a, logistic_example(5), link = link,
        prior = logistic_prior(slope_variance = 9, intercept_variance = 9)
      )
    )
    one <- c(logit = "counts", probit = "separated")[[link]]
    shown <- fast_or(one, names(two))
    for (model in two[shown]) {
      expected <- posterior_moments(model)
      for (chains in chains_by_step(model)) {
        expect_lt(worst_z(chains, expected), 4.5)
        # and of another posterior than theirs they are found wrong
        expect_gt(worst_z(chains, expected * 1.5), 4.5)
      }
    }
  })
}

test_that("one coefficient agrees with quadrature", {
  model <- logistic_case("alone")
  s <- sum(model$frame$y)
  n <- length(model$frame$y)
  density <- function(w) {
    exp(s * stats::plogis(w, log.p = TRUE) +
          (n - s) * stats::plogis(-w, log.p = TRUE)) *
      stats::dnorm(w, 0, sqrt(model$prior$slope_variance))
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

# z-scores of the means of two arrays of draws, and of their squares.
agreement_z <- function(one, other, centre) {
  vapply(list(identity, function(w) w^2), function(f) {
    of <- lapply(list(one, other), function(a) {
      vapply(seq_along(centre), function(j) {
        w <- f(a[, , j] - centre[[j]])
        c(mean(w), posterior::mcse_mean(w))
      }, c(0, 0))
    })
    z <- (of[[1]][1, ] - of[[2]][1, ]) / sqrt(of[[1]][2, ]^2 + of[[2]][2, ]^2)
    max(abs(z))
  }, 0)
}

test_that("the posterior of the Pima data is that of other samplers", {
  skip_unless_extended()
  formula <- type ~ npreg + glu + bmi + ped + age
  draws_of <- function(fit) unclass(posterior::as_draws_array(fit))[, , 1:6]
  for (link in c("logit", "probit")) {
    fit <- gibbs_logistic(
      formula, MASS::Pima.tr, link = link, draws = 4000, seed = 1,
      progress = FALSE
    )
    model <- gibbsite:::fit_part(fit, "model")
    l <- model$data$precision_factor
    d <- twin_logistic_data(model)
    others <- list(quietly(mh_sample(
      function(w) twin_log_posterior(d, w), model$data$map,
      proposal = independence(model$data$map, chol2inv(t(l)), df = 8),
      draws = 500, burnin = 100, seed = 3, progress = FALSE
    )))
    if (link == "logit") {
      others$corrected <- laplace_logistic(
        formula, MASS::Pima.tr, correct = "importance", draws = 1000, seed = 2,
        progress = FALSE
      )
    }
    for (other in others) {
      z <- agreement_z(draws_of(fit), draws_of(other), model$data$map)
      expect_lt(max(z), 4.5)
    }
  }
})

test_that("the probit mode is that of glm(), and far tails are right", {
  model <- logistic_case("flat", "probit")
  by_glm <- stats::glm(
    y ~ a, stats::binomial("probit"), logistic_example(40),
    control = list(epsilon = 1e-14)
  )
  expect_equal(model$data$map, unname(stats::coef(by_glm)), tolerance = 1e-7)
  at <- c(-1e6, -300, -39, -5, 0, 5, 39, 300, 1e6)
  design <- cbind(rep(at, 2))
  far <- logistic_gibbs_model_for(
    design, rep(0:1, each = 9), prior = logistic_prior(1), link = "probit"
  )
  logs <- .Call(gibbsite:::C_logistic_draws, far$data$density, matrix(1), 1)
  expect_equal(
    drop(logs), stats::pnorm(c(-at, at), log.p = TRUE), tolerance = 1e-14
  )
})

# ---- the joint distribution --------------------------------------------------

logistic_joint_model <- function(link) {
  data <- logistic_example(8)
  x <- cbind("(Intercept)" = 1, a = data$a)
  logistic_gibbs_model_for(
    x, cbind(data$s, data$m - data$s), offset = data$o,
    weights = rep_len(c(1, 2), 8), link = link,
    prior = logistic_prior(slope_variance = 1.5, intercept_variance = 0.8)
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

# `far`: with Hamiltonian steps.
invariance_of_sweep <- function(link, far, n) {
  model <- logistic_joint_model(link)
  # weights count a simulated observation twice: they are not of this test
  model <- gibbsite:::set_data(model, within(
    gibbsite:::simulate_data(model, gibbsite:::draw_prior(model)),
    weights <- NULL
  ))
  change_in_sweep(model, logistic_quantities, n, function(state) {
    if (far) state$counts[[1]] <- 1000
    state
  })
}

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  n <- 250
  for (link in c("logit", "probit")) {
    for (far in c(FALSE, TRUE)) {
      change <- invariance_of_sweep(link, far, n)
      moved <- colSums(change != 0)
      expect_lt(largest_change(change), 4.5)
      # every draw moved
      expect_identical(unname(moved[1:2]), c(n, n))
    }
  }
})

for (link in c("logit", "probit")) {
  test_that(paste("Geweke's joint test passes, and finds mistakes:", link), {
    skip_unless_extended()
    withr::local_seed(11)
    model <- logistic_joint_model(link)
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
    for (mutant in logistic_mutants) {
      wrong <- mutant_of(model, mutant)
      expect_lt(smallest_adjusted(quiet_test(wrong)), 0.001)
    }
  })
}
