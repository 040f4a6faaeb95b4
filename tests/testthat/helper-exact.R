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

sweep_state <- function(model, state, n = 1) {
  control <- list(burnin = 0, thin = 1, threads = 1)
  gibbsite:::model_sweeps(model, state, n, control)$state
}

# list(model, state) with data simulated from a state. Entries that are missing
# in the model are hidden again, and their simulated values go into the state.
with_simulated_data <- function(model, state) {
  x <- gibbsite:::simulate_data(model, state)
  if (is.null(model$data$x)) { # of another form, and complete
    return(list(model = gibbsite:::set_data(model, x), state = state))
  }
  hidden <- is.na(model$data$x)
  state$x_missing <- t(x)[t(hidden)]
  x[hidden] <- NA
  list(model = gibbsite:::set_data(model, x), state = state)
}

# `n` times quantities of draw(), stacked: a matrix, one row a draw.
stack_rows <- function(n, draw) {
  do.call(rbind, lapply(seq_len(n), function(i) draw()))
}

# ---- One sweep ---------------------------------------------------------------

# What one sweep adds to the quantities of a draw from the joint distribution:
# one row a draw. Each column has mean zero if the sweep leaves that distribution
# as it is. prepare(state) changes the state before the sweep.
change_in_sweep <- function(model, quantities, draws, prepare = identity) {
  stack_rows(draws, function() {
    joint <- suppressMessages(
      with_simulated_data(model, gibbsite:::draw_prior(model))
    )
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
    joint <- with_simulated_data(model, gibbsite:::draw_prior(model))
    quantities(joint$model, joint$state)
  })
}

# The same distribution by the sampler: two sweeps, then data from the new
# state. Two sweeps are needed because new data replace the missing entries: the
# entries drawn in the first sweep have an effect in the second. The quantities
# are computed before the new data. There are `chains` chains of `steps` steps,
# each begun at a draw of the joint distribution. So a correct sampler is
# stationary from the first step, and the chains' means are independent and
# identically distributed about the true value, however slowly it mixes. Their
# spread gives the standard error, and no spectrum has to be estimated. One row
# a chain: its means.
joint_by_sampler <- function(model, quantities, chains, steps) {
  stack_rows(chains, function() {
    joint <- with_simulated_data(model, gibbsite:::draw_prior(model))
    total <- 0
    for (step in seq_len(steps)) {
      state <- sweep_state(joint$model, joint$state, 2)
      total <- total + quantities(joint$model, state)
      joint <- with_simulated_data(joint$model, state)
    }
    total / steps
  })
}

# data.frame(quantity, t, p): Welch's t-test of equal means, for each quantity.
joint_test <- function(model, quantities, reference, chains, steps) {
  sampled <- joint_by_sampler(model, quantities, chains, steps)
  compare <- function(a, b) {
    if (stats::sd(a) + stats::sd(b) == 0) {
      return(c(0, if (a[[1]] == b[[1]]) 1 else 0))
    }
    test <- stats::t.test(a, b)
    c(test$statistic, test$p.value)
  }
  results <- vapply(colnames(reference), function(name) {
    compare(sampled[, name], reference[, name])
  }, c(0, 0))
  data.frame(
    quantity = colnames(reference), t = results[1, ], p = results[2, ],
    row.names = NULL
  )
}

# The smallest p-value times the number of quantities: if it is below `error`,
# the sampler is rejected. A correct sampler is rejected with probability at
# most `error` (Bonferroni).
smallest_adjusted <- function(test) min(1, min(test$p) * nrow(test))

# ---- simulation-based calibration --------------------------------------------

# Ranks 0..draws of the quantities of the true state among those of `draws`
# draws from the posterior given its data: a matrix, one row a simulation. The
# chain begins at the model's default starting values. Ties are broken at
# random. The attribute "autocorrelation" holds, for each quantity, the
# correlation of successive draws, averaged over the simulations.
sbc_ranks <- function(model, quantities, simulations, draws, thin, burnin) {
  correlation <- list()
  ranks <- stack_rows(simulations, function() {
    joint <- with_simulated_data(model, gibbsite:::draw_prior(model))
    model <- joint$model
    state <- gibbsite:::model_start(model, NULL)
    state <- sweep_state(model, state, burnin)
    sampled <- stack_rows(draws, function() {
      state <<- sweep_state(model, state, thin)
      quantities(model, state)
    })
    correlation[[length(correlation) + 1L]] <<- lag_one(sampled)
    rank_among(quantities(model, joint$state), sampled)
  })
  attr(ranks, "autocorrelation") <- colMeans(
    do.call(rbind, correlation), na.rm = TRUE
  )
  ranks
}

# By column; NaN where a column is constant.
lag_one <- function(x) {
  centred <- sweep(x, 2, colMeans(x))
  n <- nrow(x)
  colSums(centred[-1, ] * centred[-n, ]) / colSums(centred^2)
}

rank_among <- function(value, sampled) {
  value <- rep(value, each = nrow(sampled))
  below <- colSums(sampled < value)
  ties <- colSums(sampled == value)
  below + floor(stats::runif(length(ties)) * (ties + 1))
}

# The simultaneous band of the empirical distribution of n ranks, uniform on
# 0..draws (Saeilynoja, Buerkner & Vehtari 2022,
# doi:10.1007/s11222-022-10090-6): counts of ranks <= r stay within
# lower[r + 1]..upper[r + 1] for all r with probability at least 1 - error.  The
# bounds are binomial quantiles at one pointwise level, the largest for which
# this holds.
ecdf_band <- function(n, draws, error) {
  bounds <- function(level) {
    p <- seq_len(draws + 1) / (draws + 1)
    list(
      lower = stats::qbinom(level / 2, n, p),
      upper = stats::qbinom(level / 2, n, p, lower.tail = FALSE)
    )
  }
  low <- error / (draws + 1) # Bonferroni: keeps the promise
  high <- error
  for (step in 1:30) {
    middle <- sqrt(low * high)
    band <- bounds(middle)
    if (band_probability(n, band$lower, band$upper) >= 1 - error) {
      low <- middle
    } else {
      high <- middle
    }
  }
  bounds(low)
}

# P(lower_r <= #{ranks <= r} <= upper_r for all r), exactly: the counts are a
# Markov chain, C_r | C_(r-1) ~ C_(r-1) + Bin(n - C_(r-1), 1 / (cells left)).
band_probability <- function(n, lower, upper) {
  cells <- length(lower)
  count <- 0
  probability <- 1
  for (r in seq_len(cells)) {
    reached <- seq(lower[[r]], upper[[r]])
    step <- outer(reached, count, function(to, from) {
      stats::dbinom(to - from, n - from, 1 / (cells - r + 1))
    })
    probability <- drop(step %*% probability)
    count <- reached
  }
  sum(probability)
}

# For each quantity: does the empirical distribution of the ranks stay within
# the band? For a correct sampler the probability that any of them does not is
# at most `error` (Bonferroni over the quantities).
sbc_inside <- function(ranks, draws, error) {
  band <- ecdf_band(nrow(ranks), draws, error / ncol(ranks))
  apply(ranks, 2, function(rank) {
    counts <- cumsum(tabulate(rank + 1, draws + 1))
    all(band$lower <= counts & counts <= band$upper)
  })
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
