# Convergence: R-hat and effective sample sizes, computed by posterior (Vehtari
# et al. 2021, doi:10.1214/20-BA1221). They are judged on the model's
# invariants: quantities that do not depend on the labels of components.

# posterior treats draws whose range is below 2.2e-16 as constant. Its measures
# do not depend on the scale, so that multiplying by a power of two, which is
# exact, changes nothing else.
scaled_to_one <- function(x) {
  range <- max(x) - min(x)
  exponent <- if (is.finite(range) && range > 0) floor(log2(range)) else 0
  factor <- 2^min(max(-exponent, -1000), 1000)
  list(x = x * factor, factor = factor)
}

# Measures of one quantity; x: draws x chains.
# `constant`: the quantity is the same in all draws, so that it cannot be
# judged. wanted: which measures; others are NA.
diagnose_one <- function(x, wanted = chain_measures) {
  out <- c(rhat = NA_real_, ess_bulk = NA_real_, ess_tail = NA_real_)
  if (!all(is.finite(x))) {
    return(c(out, constant = 0, finite = 0))
  }
  constant <- min(x) == max(x)
  if (!constant) {
    x <- scaled_to_one(x)$x
    # posterior warns when it caps the ESS of antithetic chains
    suppressWarnings({
      for (measure in wanted) {
        out[[measure]] <- switch(measure,
          rhat = posterior::rhat(x), ess_bulk = posterior::ess_bulk(x),
          ess_tail = posterior::ess_tail(x)
        )
      }
    })
  }
  c(out, constant = as.numeric(constant), finite = 1)
}

chain_measures <- c("rhat", "ess_bulk", "ess_tail")

# Whether one quantity has not converged, by the first measure that fails. FALSE
# does not say that it has.
surely_fails <- function(x, rhat, ess) {
  if (!all(is.finite(x)) || min(x) == max(x)) {
    return(FALSE)
  }
  x <- scaled_to_one(x)$x
  suppressWarnings(isTRUE(
    posterior::ess_bulk(x) < ess || posterior::rhat(x) > rhat ||
      posterior::ess_tail(x) < ess
  ))
}

# f(matrix draws x chains) of every variable of an array draws x chains x
# variables: `length` numbers each, a column for each variable
each_variable <- function(draws, f, length) {
  size <- dim(draws)
  vapply(seq_len(size[3]), function(v) {
    f(matrix(draws[, , v], size[1], size[2]))
  }, numeric(length))
}

# The measures of the last sets of draws, by the hash of the draws: print(),
# summary(), converged() and plot() of one fit measure them once. Draws that
# were changed have another hash.
measured <- new.env(parent = emptyenv())

# array draws x chains x variables -> one row a variable
diagnose <- function(draws, wanted = chain_measures) {
  # without the names of the chains, which may be numbers or text
  key <- hash(list(dimnames(draws)[[3L]], unname(draws), wanted))
  if (is.null(measured$tables[[key]])) {
    fresh <- stats::setNames(list(diagnose_anew(draws, wanted)), key)
    measured$tables <- utils::head(c(fresh, measured$tables), 8L)
  }
  measured$tables[[key]]
}

diagnose_anew <- function(draws, wanted = chain_measures) {
  measures <- each_variable(draws, function(x) diagnose_one(x, wanted), 5L)
  out <- data.frame(variable = dimnames(draws)[[3]], t(measures))
  out$constant <- out$constant == 1
  out$finite <- out$finite == 1
  out
}

# The Monte Carlo standard error of the mean of every variable: 0 of a constant,
# NA of one draw alone.
mean_errors <- function(draws) {
  each_variable(draws, function(x) {
    if (!all(is.finite(x)) || length(x) == 1L) {
      return(NA_real_)
    }
    if (min(x) == max(x)) {
      return(0)
    }
    scaled <- scaled_to_one(x)
    suppressWarnings(posterior::mcse_mean(scaled$x)) / scaled$factor
  }, 1L)
}

# ---- Quantities that are judged ---------------------------------------------

# The invariants of all chains, draws x chains x quantities. `draws_of(k)`: the
# draws of chain k. Draws may be large, so that one chain is copied at a time.
invariant_array <- function(chains, draws_of, model) {
  stack_chains(lapply(seq_len(chains), function(k) {
    # the model's names, also if the columns of the fit were renamed
    model_invariants(model, named_matrix(draws_of(k), model$columns))
  }))
}

fit_invariants <- function(fit) {
  check_whole_fit(fit, "fit", rlang::caller_env())
  invariant_array(
    length(fit), function(k) .subset2(fit, k), fit_part(fit, "model")
  )
}

# R-hat compares halves of chains: with fewer draws in a chain than this it is
# meaningless.
fewest_draws <- 8

# The table of convergence(), for any set of chains.
convergence_table <- function(invariants, rhat, ess) {
  table <- diagnose(invariants)
  # only a missing bulk ESS or R-hat is a failure
  size <- effective_sizes(table)
  size[is.na(table$ess_bulk)] <- NA
  good <- table$rhat <= rhat & size >= ess & dim(invariants)[1] >= fewest_draws
  table$ok <- table$constant | (!is.na(good) & good)
  structure(
    table[c("variable", "rhat", "ess_bulk", "ess_tail", "constant", "finite",
            "ok")],
    class = c("gibbsite_convergence", "data.frame"),
    thresholds = list(rhat = rhat, ess = ess),
    draws = dim(invariants)[1], chains = dim(invariants)[2]
  )
}

# Constant quantities are not a failure if other quantities varied. If all are
# constant, there is no evidence of convergence.
table_converged <- function(table) {
  all(table$ok) && !all(table$constant)
}

# The smaller of bulk and tail. The tail of a discrete quantity may be a single
# value, and its tail ESS is then NA.
effective_sizes <- function(table) {
  pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
}

# The distance of each quantity from its threshold, on a common scale: the
# larger of the excess of R-hat divided by the allowed excess, and the required
# ESS divided by the ESS.
distances <- function(table) {
  thresholds <- attr(table, "thresholds")
  size <- effective_sizes(table)
  distance <- pmax(
    (table$rhat - 1) / max(thresholds$rhat - 1, 1e-8),
    thresholds$ess / size
  )
  distance[is.na(distance)] <- Inf
  distance[table$constant] <- -Inf
  distance
}

# The table computed from an evenly thinned subset of the draws: a faster check
# of a long run. NULL for a run that is not long, or with values that are not
# finite.
few_draws_table <- function(invariants, rhat, ess) {
  size <- dim(invariants)[1]
  step <- size %/% 2000
  if (step < 2 || !all(is.finite(invariants))) {
    return(NULL)
  }
  few <- invariants[seq(step, size, by = step), , , drop = FALSE]
  table <- convergence_table(few, rhat, ess)
  if (any(table$constant)) NULL else table
}

# NULL if the chains have converged, otherwise a table of quantities of which
# some have not. The effective sample size of a thinned subset is a lower bound
# of that of all draws, so that the whole run passes if a thinned run does. The
# margins allow for the larger variation of the measures on fewer draws. If the
# thinned run fails, its `first` worst quantities are checked first.
unconverged <- function(invariants, rhat, ess, first = 10) {
  few <- few_draws_table(invariants, 1 + (rhat - 1) / 2, 1.5 * ess)
  if (!is.null(few)) {
    if (table_converged(few)) {
      return(NULL)
    }
    worst <- utils::head(order(-distances(few)), first)
    table <- convergence_table(invariants[, , worst, drop = FALSE], rhat, ess)
    if (!table_converged(table)) {
      return(table)
    }
  }
  table <- convergence_table(invariants, rhat, ess)
  if (!table_converged(table)) table
}
