# gibbs_gmm() with an unknown number of components draws from the posterior it
# names: a twin on the same random numbers, exact posteriors of tiny data, the
# joint distribution of parameters and data, and wrong samplers.
#
# A z-score is compared with 4.5, as in test-gmm-exact.R.

forms <- c("full", "diagonal", "shared")

unknown_model <- function(x, number, prior, covariance = "full",
                          keep = c("components", "z", "x")) {
  gibbsite:::gmm_unknown_model(
    x, number,
    gibbsite:::complete_unknown_prior(prior, x, number, covariance, NULL),
    covariance, keep, TRUE, NULL
  )
}

observations <- function(n, d, seed = 1) {
  withr::with_seed(seed, {
    x <- matrix(rnorm(n * d), n) + 2 * rbinom(n, 1, 0.5)
  })
  colnames(x) <- paste0("x", seq_len(d))
  x
}

# ---- the twin ----------------------------------------------------------------

cases <- list(
  list(unknown_k(6), gmm_prior()),
  list(unknown_k(5, "uniform", "static"), gmm_prior(alpha = 0.7, s0 = 2)),
  list(unknown_k(prior = c(0, 1, 2, 0, 3)), gmm_prior(alpha = 2))
)

for (form in forms) {
  test_that(paste("a sweep is that of the twin:", form), {
    x <- observations(40, 2)
    x[3, 1] <- x[7, 2] <- NA
    n <- fast_or(8, 15)
    for (case in cases) {
      model <- unknown_model(x, case[[1]], case[[2]], form)
      state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
      control <- list(burnin = 0, thin = 1, threads = 1)
      core <- withr::with_seed(3, gibbsite:::model_sweeps(model, state, n,
                                                          control))
      twin <- twin_unknown(model, state)
      values <- withr::with_seed(3, {
        for (sweep in seq_len(n)) twin <- unknown_sweep_twin(model, twin)
        list(sweeps = twin, after = runif(1))
      })
      twin <- values$sweeps
      expect_identical(core$state$z, as.integer(twin$z))
      expect_equal(core$state$k, twin$k)
      expect_equal(core$state$alpha, twin$alpha, tolerance = 1e-7)
      expect_equal(matrix(core$state$s0, 2), twin$s0, tolerance = 1e-7)
      expect_equal(core$state$x_missing, missing_entries(model, twin$x),
                   tolerance = 1e-7)
      parts <- gibbsite:::gmm_parameters(
        gibbsite:::fixed_of(model, core$state),
        gibbsite:::fixed_state(model, core$state)
      )
      expect_equal(parts$mu, twin$mu, tolerance = 1e-7)
      expect_equal(log(parts$pi), twin$log_pi, tolerance = 1e-6)
      for (c in seq_len(twin$k)) {
        expect_equal(parts$Sigma[c, , ], twin$sigma[[c]], tolerance = 1e-6)
      }
      row <- core$draws[n, ]
      names(row) <- model$columns
      expect_equal(row[["k"]], twin$k)
      expect_equal(row[["n_occupied"]], length(unique(twin$z)))
      expect_equal(row[["log_lik"]], twin$log_lik, tolerance = 1e-8)
    }
  })
}

# ---- exact posteriors --------------------------------------------------------

test_that("named priors of k are those of their distributions", {
  k <- 1:7
  of <- function(...) exp(gibbsite:::log_size_prior(unknown_k(7, ...)))
  truncated <- function(p) p / sum(p)
  # BNB(1, 4, 3): beta mixtures of geometric distributions
  bnb <- vapply(k, function(k) {
    integrate(function(p) dgeom(k - 1, p) * dbeta(p, 4, 3), 0, 1,
              rel.tol = 1e-10)$value
  }, 0)
  expect_equal(of("bnb"), truncated(bnb))
  expect_equal(of("uniform"), rep(1 / 7, 7))
  expect_equal(of("geometric"), truncated(dgeom(k - 1, 0.1)))
  expect_equal(of("poisson"), truncated(dpois(k - 1, 1)))
  expect_equal(of(c(1, 0, 2, 0, 0, 0, 1)), c(1, 0, 2, 0, 0, 0, 1) / 4)
})

# z-scores of P(k), P(k+) and of all pairs that share a cluster.
partition_scores <- function(model, draws = fast_or(1500, 4000), chains = 4,
                             seed = 1) {
  exact <- exact_partitions(model)
  control <- list(burnin = 200, thin = 2, threads = 1)
  runs <- withr::with_seed(seed, lapply(seq_len(chains), function(chain) {
    state <- gibbsite:::model_start(model, NULL)
    out <- gibbsite:::model_sweeps(model, state, 200 + 2 * draws, control)$draws
    colnames(out) <- model$columns
    out
  }))
  n <- ncol(exact$partitions)
  together <- which(upper.tri(diag(n)), arr.ind = TRUE)
  clusters <- apply(exact$partitions, 1, max)
  weight <- rowSums(exact$posterior)
  expected <- c(
    colSums(exact$posterior),
    vapply(seq_len(n), function(c) sum(weight[clusters == c]), 0),
    apply(together, 1, function(pair) {
      z <- exact$partitions
      sum(weight[z[, pair[[1]]] == z[, pair[[2]]]])
    })
  )
  seen <- function(draws) {
    z <- draws[, startsWith(colnames(draws), "z["), drop = FALSE]
    cbind(
      outer(draws[, "k"], seq_len(model$k), "=="),
      outer(draws[, "n_occupied"], seq_len(n), "=="),
      matrix(apply(together, 1, function(pair) {
        z[, pair[[1]]] == z[, pair[[2]]]
      }), nrow(draws))
    )
  }
  seen <- lapply(runs, seen)
  vapply(seq_along(expected), function(e) {
    columns <- vapply(seen, function(s) as.numeric(s[, e]), numeric(draws))
    if (max(columns) == min(columns)) {
      # P(no such draw) of independent ones
      return(if (abs(mean(columns) - expected[[e]]) < 1e-3) 0 else Inf)
    }
    z_of_chains(columns, expected[[e]])
  }, 0)
}

test_that("partition and k have their exact posterior", {
  skip_unless_extended()
  x <- matrix(c(-1.2, -0.9, 0.3, 1.8, 2.4), dimnames = list(NULL, "x"))
  for (number in list(
    unknown_k(6), unknown_k(4, "uniform", "static"),
    unknown_k(prior = c(2, 0, 1, 3))
  )) {
    model <- unknown_model(
      x, number, gmm_prior(alpha = 1.5, m0 = 0.2, v0 = 3, nu0 = 4, s0 = 0.6)
    )
    expect_lt(max(abs(partition_scores(model))), 4.5)
  }
})

test_that("partition and k have their exact posterior, alpha drawn", {
  skip_unless_extended()
  x <- matrix(c(-1.2, -0.9, 0.3, 1.8), dimnames = list(NULL, "x"))
  for (number in list(unknown_k(5), unknown_k(4, "uniform", "static"))) {
    model <- unknown_model(
      x, number, gmm_prior(m0 = 0.2, v0 = 3, nu0 = 4, s0 = 0.6)
    )
    expect_lt(max(abs(partition_scores(model))), 4.5)
  }
})

test_that("the prior of k is recovered from one observation", {
  skip_long()
  # one observation says nothing of k
  x <- matrix(0.5, dimnames = list(NULL, "x"))
  number <- unknown_k(5, c(1, 4, 2, 0, 3))
  model <- suppressMessages(
    unknown_model(x, number, gmm_prior(m0 = 0, v0 = 1, s0 = 1))
  )
  exact <- exact_partitions(model)
  expect_equal(drop(exact$posterior), c(1, 4, 2, 0, 3) / 10, tolerance = 1e-6)
  expect_lt(max(abs(partition_scores(model, 2000))), 4.5)
})

# ---- the joint distribution --------------------------------------------------

# Three sweeps of a draw from the joint distribution of parameters and data
# leave it as it is: bounded quantities change by zero on average.
change_in_sweeps <- function(model, sweeps, draws) {
  bounded <- function(model, state) {
    atan(c(
      gibbsite:::model_quantities(model, state),
      gibbsite:::further_quantities(model, state)
    ) / 3)
  }
  control <- list(burnin = 0, thin = 1, threads = 1)
  stack_rows(draws, function() {
    joint <- gibbsite:::draw_joint(model)
    after <- sweeps(joint$model, joint$state, 3, control)$state
    bounded(joint$model, after) - bounded(joint$model, joint$state)
  })
}

joint_model_of <- function(form, number = unknown_k(4, c(1, 7, 1, 3))) {
  unknown_model(
    observations(6, if (form == "shared") 1 else 2), number,
    gmm_prior(m0 = 0.5, v0 = 3, nu0 = 7, s0_df = 6, s0_mean = 4), form,
    keep = "components"
  )
}

for (form in forms) {
  test_that(paste("sweeps leave the joint distribution invariant:", form), {
    skip_unless_extended()
    draws <- 4000
    weights <- if (form == "diagonal") "static" else "dynamic"
    model <- joint_model_of(form, unknown_k(4, c(1, 7, 1, 3), weights))
    change <- withr::with_seed(
      1, change_in_sweeps(model, gibbsite:::model_sweeps, draws)
    )
    expect_lt(largest_change(change), 4.5)
  })
}

# test-mutants.R finds them all, by one sweep beside the right one.
test_that("wrong samplers are found", {
  skip_unless_extended()
  draws <- vapply(unknown_mutants, function(sweeps) 600, 0)
  draws[["prior_of_k_dropped"]] <- 12000
  model <- joint_model_of("full")
  for (name in names(draws)) {
    change <- withr::with_seed(1, change_in_sweeps(
      model, unknown_mutants[[name]], draws[[name]]
    ))
    expect_gt(largest_change(change), 4.5, label = name)
  }
})

test_that("geweke_joint() and prior_predict() take an unknown k", {
  skip_unless_extended()
  x <- observations(6, 1)
  joint <- geweke_joint(
    gibbs_gmm(x, unknown_k(4), gmm_prior(
      m0 = 0.5, v0 = 3, nu0 = 7, s0_df = 6, s0_mean = 4
    ), burnin = 50), n = 20, seed = 1, progress = FALSE
  )
  expect_gt(smallest_adjusted(summary(joint)), 1e-4)
})

test_that("tidy() has the rows of summary()", {
  fit <- suppressWarnings(gibbs_gmm(
    faithful, "unknown", draws = 40, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  table <- generics::tidy(fit)
  expect_identical(table$term, summary(fit)$variable)
  expect_identical(table$estimate, summary(fit)$mean)
  expect_error(generics::tidy(fit, level = 0.9), "level")
})
