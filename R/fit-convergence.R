# Convergence: R-hat and effective sample sizes (Vehtari et al. 2021,
# doi:10.1214/20-BA1221), computed in C (src/core/numeric/convergence.h); they
# are posterior's up to rounding. They are judged on the model's invariants:
# quantities that do not depend on the labels of components.

# The number f(draws x chains) of every variable of an array, draws x chains x
# variables.
each_variable <- function(draws, f) {
  size <- dim(draws)
  vapply(seq_len(size[3]), function(v) {
    f(matrix(draws[, , v], size[1], size[2]))
  }, 0)
}

# The measures of the last sets of draws, by the hash of the draws: print(),
# summary(), converged() and plot() of one fit measure them once. Draws that
# were changed have another hash.
measured <- new.env(parent = emptyenv())

# array draws x chains x variables -> one row a variable
diagnose <- function(draws) {
  # without the names of the chains, which may be numbers or text
  key <- hash(list(dimnames(draws)[[3L]], unname(draws)))
  if (is.null(measured$tables[[key]])) {
    fresh <- stats::setNames(list(diagnose_anew(draws)), key)
    measured$tables <- utils::head(c(fresh, measured$tables), 8L)
  }
  measured$tables[[key]]
}

# `constant`: the variable is the same in all draws, so that it cannot be
# judged.
diagnose_anew <- function(draws) {
  storage.mode(draws) <- "double"
  data.frame(variable = dimnames(draws)[[3]], .Call(C_convergence, draws))
}

# The Monte Carlo standard error of the mean of every variable: 0 of a constant,
# NA of one draw alone.
mean_errors <- function(draws) {
  storage.mode(draws) <- "double"
  .Call(C_mean_error, draws)$error
}

# The effective number of draws of a mean; x: draws x chains.
mean_ess <- function(x) {
  x <- as.matrix(x)
  .Call(C_mean_error, array(as.double(x), c(dim(x), 1L)))$ess
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
  draws <- fit_draws(fit)
  invariant_array(
    length(draws), function(k) draws[[k]], fit_part(fit, "model")
  )
}

# R-hat compares halves of chains: with fewer draws in a chain than this it is
# meaningless.
fewest_draws <- 8

# Internal quantities of the model (`inner`: their names; model_inner() gives
# them) may have five times the excess of R-hat and an eighth of the effective
# sample size that answers must have. They then lie at one level in all chains,
# which is what they are judged for.
row_limits <- function(variables, rhat, ess, inner) {
  of_answer <- !variables %in% inner
  list(
    rhat = 1 + (rhat - 1) * ifelse(of_answer, 1, 5),
    ess = ess / ifelse(of_answer, 1, 8)
  )
}

# The table of convergence(), for any set of chains.
convergence_table <- function(invariants, rhat, ess, inner = character()) {
  table <- diagnose(invariants)
  # only a missing bulk ESS or R-hat is a failure
  size <- effective_sizes(table)
  size[is.na(table$ess_bulk)] <- NA
  limits <- row_limits(table$variable, rhat, ess, inner)
  good <- table$rhat <= limits$rhat & size >= limits$ess &
    dim(invariants)[1] >= fewest_draws
  table$ok <- table$constant | (!is.na(good) & good)
  structure(
    table[c("variable", "rhat", "ess_bulk", "ess_tail", "constant", "finite",
            "ok")],
    class = c("gibbsite_convergence", "data.frame"), rows = table$variable,
    thresholds = list(rhat = rhat, ess = ess, inner = inner),
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

# The thresholds of each row of a table.
limits_of <- function(table) {
  of <- attr(table, "thresholds")
  row_limits(table$variable, of$rhat, of$ess, of$inner)
}

# The distance of each quantity from its threshold, on a common scale: the
# larger of the excess of R-hat divided by the allowed excess, and the required
# ESS divided by the ESS.
distances <- function(table) {
  limits <- limits_of(table)
  size <- effective_sizes(table)
  distance <- pmax(
    (table$rhat - 1) / pmax(limits$rhat - 1, 1e-8), limits$ess / size
  )
  distance[is.na(distance)] <- Inf
  distance[table$constant] <- -Inf
  distance
}

# The table computed from an evenly thinned subset of the draws: a faster check
# of a long run. NULL for a run that is not long, or with values that are not
# finite.
few_draws_table <- function(invariants, rhat, ess, inner = character()) {
  size <- dim(invariants)[1]
  step <- size %/% 2000
  if (step < 2 || !all(is.finite(invariants))) {
    return(NULL)
  }
  few <- invariants[seq(step, size, by = step), , , drop = FALSE]
  table <- convergence_table(few, rhat, ess, inner)
  if (any(table$constant)) NULL else table
}

# NULL if the chains have converged, otherwise a table of quantities of which
# some have not. The effective sample size of a thinned subset is a lower bound
# of that of all draws, so that the whole run passes if a thinned run does. The
# margins allow for the larger variation of the measures on fewer draws. If the
# thinned run fails, its `first` worst quantities are checked first.
unconverged <- function(invariants, rhat, ess, inner = character(),
                        first = 10) {
  few <- few_draws_table(invariants, 1 + (rhat - 1) / 2, 1.5 * ess, inner)
  if (!is.null(few)) {
    if (table_converged(few)) {
      return(NULL)
    }
    worst <- utils::head(order(-distances(few)), first)
    table <- convergence_table(
      invariants[, , worst, drop = FALSE], rhat, ess, inner
    )
    if (!table_converged(table)) {
      return(table)
    }
  }
  table <- convergence_table(invariants, rhat, ess, inner)
  if (!table_converged(table)) table
}
