# The stopping rule in a run: when it is checked, its verdict, and the burn-in
# that it adds. until() makes the rule (R/run-arguments.R).

# Legs are counted from draw 0, and do not depend on where a segment, an
# interrupt or an earlier run ended.
leg_end <- function(common, rule, goal) {
  if (is.null(rule)) {
    return(goal)
  }
  min(goal, (floor(common / rule$every) + 1) * rule$every)
}

# The check of the rule: "met", "drop" (the draws so far become burn-in) or "go
# on"; `suspect`, a quantity that has not converged, and the table of it, for
# the words of a run that goes on. Draws before the last new beginning are not
# judged. `suspect`: that of the check before. It is often still the one that
# fails, and one quantity that fails is enough.
rule_verdict <- function(job, rule, common, suspect) {
  first <- draws_dropped(job)
  if (is.null(rule) || common <= first || common %% rule$every != 0) {
    return(list(verdict = "go on", suspect = NULL))
  }
  # after a long burn-in, agreement over few draws is not convergence
  if (common - first < draws_before(job) + first) {
    return(list(verdict = "go on", suspect = suspect))
  }
  invariants <- invariant_array(length(job$chains), function(k) {
    chain_draws(job, k)[seq(first + 1, common), , drop = FALSE]
  }, job$model)
  inner <- model_inner(job$model)
  # the cause is looked for among several quantities
  drop <- may_drop(job, rule, common)
  if (!drop && !is.null(suspect)) {
    table <- convergence_table(
      invariants[, , suspect, drop = FALSE], rule$rhat, rule$ess, inner
    )
    if (surely_fails(table)) {
      return(list(verdict = "go on", suspect = suspect, table = table))
    }
  }
  table <- unconverged(
    invariants, rule$rhat, rule$ess, inner, first = if (drop) 10 else 1
  )
  if (is.null(table)) {
    return(list(verdict = "met", suspect = NULL))
  }
  list(
    verdict = if (drop && !is_short(invariants, table)) "drop" else "go on",
    suspect = table$variable[[which.max(distances(table))]], table = table
  )
}

# Whether a quantity has not converged, from the table of it alone. FALSE does
# not say that it has.
surely_fails <- function(table) !table$ok && table$finite && !table$constant

# ---- Burn-in that the rule adds ---------------------------------------------

# The draws so far become burn-in after 1, 2, 4, ... rounds, counted from the
# end of the run's own burn-in, so that at least half of the draws are dropped.
# The cap must leave room for as many again.
#
# Nothing is deleted while the chains run. A chain records in `from` the sweeps
# after which its draws began anew: the run's own burn-in first. Its averages
# begin anew with them. build_fit() leaves the draws out.

# Draws of the job before its chains began anew for the last time. A chain that
# was read from a checkpoint may be behind the others by one.
draws_dropped <- function(job) {
  (last_beginning(job) - job$running$burnin) / job$running$thin
}

last_beginning <- function(job) {
  own <- job$running$burnin
  min(vapply(job$chains, function(chain) max(own, chain$from), 0))
}

may_drop <- function(job, rule, common) {
  running <- job$running
  sweep <- sweep_of(running, common)
  here <- vapply(job$chains, function(chain) {
    chain$state$sweep == sweep || sweep %in% chain$from
  }, NA)
  before <- draws_before(job)
  total <- before + common
  doublings <- log2(total / rule$every)
  rule$burnin == "auto" && all(here) && doublings == round(doublings) &&
    2 * total <= before + job$goal
}

# Draws of an earlier run that became burn-in, and that the fit which this job
# continues does not count.
draws_before <- function(job) {
  running <- job$running
  origin <- min(running$burnin, unlist(lapply(job$chains, `[[`, "from")))
  (running$burnin - origin) / running$thin
}

begin_anew <- function(job, common) {
  sweep <- sweep_of(job$running, common)
  job$chains <- lapply(job$chains, function(chain) {
    if (!sweep %in% chain$from) {
      chain$from <- c(chain$from %||% job$running$burnin, sweep)
      chain$state <- model_without_averages(
        job$model, chain$state, anew = TRUE
      )
    }
    chain$order <- NULL
    chain
  })
  job
}

# The draws that the rule has made burn-in. If the run ended in the first round
# after that, the draws before it are shown too, as far as they began anew
# before.
draws_to_leave_out <- function(job) {
  rule <- job$running$stop_when
  if (is.null(rule)) {
    return(0)
  }
  histories <- lapply(job$chains, `[[`, "from")
  history <- histories[[which.min(lengths(histories))]]
  before <- (history - job$running$burnin) / job$running$thin
  enough <- before >= 0 & common_draws(job$chains) - before >= rule$every
  max(0, before[enough])
}

leave_out <- function(job, n) {
  dropped <- draws_dropped(job)
  if (dropped > 0) {
    # averages may have begun later than the draws that are shown
    later <- dropped - n
    job$running$averaged_from <- if (later > 0) later
  }
  if (n == 0) {
    return(job)
  }
  running <- job$running
  job$shown <- lapply(seq_along(job$chains), function(k) {
    unname(chain_draws(job, k)[-seq_len(n), , drop = FALSE])
  })
  job$chains <- lapply(job$chains, function(chain) {
    chain$chunks <- list()
    chain$drawn <- chain$drawn - n
    chain
  })
  running$burnin <- running$burnin + n * running$thin
  running$stop_when$max_draws <- running$stop_when$max_draws - n
  job$running <- running
  job$goal <- job$goal - n
  job
}
