# Two tests that a sampler draws from the posterior it names, for any model with
# methods for the hooks draw_prior(model), simulate_data(model, state),
# set_data(model, data) and model_sweeps(model, state, n, control):
#
#   joint_test()  Geweke (2004), Getting it right,
#                 doi:10.1198/016214504000001132
#   sbc_ranks()   Talts et al. (2018), Validating Bayesian inference algorithms
#                 with simulation-based calibration, arXiv:1804.06788
#
# The model holds its data as a matrix `model$data$x`; missing entries are a
# part of the state, `state$x_missing`, by row and then by column.
#
# The tests compare `quantities(model, state)`: a named vector of numbers,
# computed from the state and from the data that the model holds.

# The helpers that tools/trust.R needs, which runs outside testthat.
trust_helpers <- function(folder) {
  twins <- paste0(
    c("bmf", "gmm", "gmm-unknown", "hlm", "hlm-binomial", "hlm-categorical",
      "hlm-count", "lda", "lm", "logistic", "logistic-gibbs", "ordinal",
      "philox", "pmf", "t"),
    "-twin"
  )
  names <- c("exact", twins, "joint", "known", "run", "skip")
  file.path(folder, paste0("helper-", names, ".R"))
}

sweep_state <- function(model, state, n = 1) {
  control <- list(burnin = 0, thin = 1, threads = 1)
  gibbsite:::model_sweeps(model, state, n, control)$state
}

# From the package.
with_simulated_data <- gibbsite:::with_simulated_data
stack_rows <- gibbsite:::stack_rows
ecdf_band <- gibbsite:::ecdf_band
band_probability <- gibbsite:::band_probability
smallest_adjusted <- gibbsite:::smallest_adjusted

# A value that is computed when it is first asked for, so that a skipped test
# costs nothing.
once <- function(make) {
  value <- NULL
  function() {
    if (is.null(value)) {
      value <<- make()
    }
    value
  }
}

# ---- One sweep ---------------------------------------------------------------

# What one sweep adds to the quantities of a draw from the joint distribution:
# one row a draw. Each column has mean zero if the sweep leaves that
# distribution as it is. prepare(state) changes the state before the sweep.
change_in_sweep <- function(model, quantities, draws, prepare = identity) {
  stack_rows(draws, function() {
    joint <- gibbsite:::draw_joint(model)
    joint$state <- prepare(joint$state)
    after <- sweep_state(joint$model, joint$state)
    quantities(joint$model, after) - quantities(joint$model, joint$state)
  })
}

# The largest |z| of these means. The sweep changes some quantities in no draw.
largest_change <- function(change) {
  moved <- apply(change, 2, stats::sd) > 0
  max(abs(z_of_means(change[, moved, drop = FALSE], 0)))
}

# ---- Geweke's joint distribution test ----------------------------------------

# Draws of the joint distribution of parameters and data, from the prior and the
# likelihood only: they do not depend on the sampler, so that all mutants use
# the same draws.
joint_by_simulation <- function(model, quantities, draws) {
  stack_rows(draws, function() {
    joint <- gibbsite:::draw_joint(model)
    quantities(joint$model, joint$state)
  })
}

# The same distribution by the sampler: `chains` chains of `steps` steps, each
# begun at a draw of the joint distribution. So a correct sampler is stationary
# from the first step, and the chains' means are independent and identically
# distributed about the true value, however slowly it mixes. Their spread gives
# the standard error, and no spectrum has to be estimated. One row a chain: its
# means.
joint_by_sampler <- function(model, quantities, chains, steps) {
  stack_rows(chains, function() {
    gibbsite:::joint_chain(model, quantities, steps)
  })
}

# data.frame(quantity, t, p): Welch's t-test of equal means, for each quantity.
joint_test <- function(model, quantities, reference, chains, steps) {
  sampled <- joint_by_sampler(model, quantities, chains, steps)
  results <- vapply(colnames(reference), function(name) {
    gibbsite:::two_means(sampled[, name], reference[, name])
  }, c(0, 0))
  data.frame(
    quantity = colnames(reference), t = results[1, ], p = results[2, ],
    row.names = NULL
  )
}

# ---- simulation-based calibration --------------------------------------------

# Ranks 0..draws of the quantities of the true state among those of `draws`
# draws from the posterior given its data: a matrix, one row a simulation. The
# chain begins at the model's default starting values. Ties are broken at
# random. The attribute "autocorrelation" holds, for each quantity, the
# correlation of successive draws, averaged over the simulations.
sbc_ranks <- function(model, quantities, simulations, draws, thin, burnin) {
  correlation <- list()
  ranks <- stack_rows(simulations, function() {
    joint <- gibbsite:::draw_joint(model)
    model <- joint$model
    state <- gibbsite:::model_start(model, NULL)
    state <- sweep_state(model, state, burnin)
    sampled <- stack_rows(draws, function() {
      state <<- sweep_state(model, state, thin)
      quantities(model, state)
    })
    correlation[[length(correlation) + 1L]] <<- gibbsite:::lag_one(sampled)
    gibbsite:::rank_among(quantities(model, joint$state), sampled)
  })
  attr(ranks, "autocorrelation") <- colMeans(
    do.call(rbind, correlation), na.rm = TRUE
  )
  ranks
}

# For each quantity: does the empirical distribution of the ranks stay within
# the band? For a correct sampler the probability that any of them does not is
# at most `error` (Bonferroni over the quantities).
sbc_inside <- function(ranks, draws, error) {
  band <- ecdf_band(nrow(ranks), draws, error / ncol(ranks))
  apply(ranks, 2, function(rank) {
    counts <- gibbsite:::rank_counts(rank, draws)
    all(band$lower <= counts & counts <= band$upper)
  })
}

# ---- twins -------------------------------------------------------------------

# The rows of n sweeps of a twin. sweep(model, state, ...): list(row, state).
sweep_rows <- function(sweep, model, state, n, ...) {
  rows <- matrix(0, n, length(model$columns))
  for (i in seq_len(n)) {
    step <- sweep(model, state, ...)
    rows[i, ] <- step$row[seq_along(model$columns)]
    state <- step$state
  }
  rows
}

# A function that gives the model behind a call of the function `name`.
model_for <- function(name) {
  function(...) {
    call <- match.call()
    call[[1]] <- call("::", quote(gibbsite), as.name(name))
    model_of_call(call, parent.frame())
  }
}

model_of_call <- function(call, env) {
  call[c("draws", "burnin", "chains", "seed")] <- c(2, 0, 1, 1)
  call$progress <- FALSE
  gibbsite:::fit_part(quietly(eval(call, env)), "model")
}

# ---- expectations ------------------------------------------------------------

# The draws of the core and of twin(model, state, n, wrong), on the same random
# numbers.
# The model of the columns in C: its frame has those of centred variables.
without_bases <- function(model) {
  designs <- gibbsite:::bar_designs(model)
  if (length(designs) == 0L) {
    return(model)
  }
  model$frame$x <- gibbsite:::in_basis(model$frame$x, model$data$basis)
  model$data$basis <- NULL
  several <- is.list(model$levels)
  for (f in seq_along(designs)) {
    centred <- function(z) gibbsite:::in_basis(z, designs[[f]]$bar_basis)
    if (several) {
      model$frame$bars[[f]]$z <- centred(model$frame$bars[[f]]$z)
    } else {
      model$frame$z <- centred(model$frame$z)
    }
    designs[[f]][c("basis", "bar_basis")] <- NULL
  }
  model$layout <- if (several) designs else designs[[1L]]
  model
}

draws_of_both <- function(twin, model, wrong = "", n) {
  model <- without_bases(model)
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  list(
    core = withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, n, control)$draws
    ),
    twin = withr::with_seed(3, twin(model, state, n, wrong))
  )
}

expect_kept_by_sweep <- function(models, quantities, draws) {
  for (model in models) {
    change <- change_in_sweep(model, quantities, draws)
    expect_lt(largest_change(change), 4.5)
  }
}

expect_joint_passes <- function(models, quantities) {
  for (model in models) {
    reference <- joint_by_simulation(model, quantities, 4000)
    test <- joint_test(model, quantities, reference, 400, 20)
    expect_gt(smallest_adjusted(test), 0.001)
  }
}

expect_joint_finds <- function(mutants, model, quantities) {
  force(model)
  expect_named(mutants)
  reference <- joint_by_simulation(model, quantities, 4000)
  for (name in names(mutants)) {
    wrong <- mutant_of(model, mutants[[name]])
    # a small mistake needs more chains
    for (chains in c(400, 1600)) {
      p <- smallest_adjusted(
        joint_test(wrong, quantities, reference, chains, 20)
      )
      if (p < 0.001) break
    }
    expect_lt(p, 0.001, label = name)
  }
}

# ---- wrong samplers ----------------------------------------------------------

# A model whose sweeps are `sweeps(model, state, n, control)` and which
# otherwise has the methods of `model`.
mutant_of <- function(model, sweeps) {
  model$mutant <- sweeps
  class(model) <- c("mutant_model", class(model))
  model
}

registerS3method(
  "model_sweeps", "mutant_model",
  function(model, state, n, control) model$mutant(model, state, n, control),
  envir = asNamespace("gibbsite")
)

# A fit whose sweeps are those of a mutant.
mutant_fit <- function(fit, sweeps) {
  attr(fit, "model") <- mutant_of(attr(fit, "model"), sweeps)
  fit
}

# Sweeps of the core on altered data, for mutant_of(). What the core reads holds
# the prior too.
data_mutant <- function(change) {
  force(change)
  function(model, state, n, control) {
    class(model) <- setdiff(class(model), "mutant_model")
    model$data <- change(model$data)
    gibbsite:::model_sweeps(model, state, n, control)
  }
}

# ---- Monte Carlo errors ------------------------------------------------------

# (mean - expected) / Monte Carlo standard error, independent draws, by column.
z_of_means <- function(draws, expected) {
  draws <- as.matrix(draws)
  error <- apply(draws, 2, stats::sd) / sqrt(nrow(draws))
  (colMeans(draws) - expected) / error
}

# The same of chains: `draws` has a row a draw and a column a chain.
z_of_chains <- function(draws, expected) {
  (mean(draws) - expected) / posterior::mcse_mean(draws)
}
