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

# The check of the rule: "met", "drop" (the draws so far become burn-in) or
# "go on"; `vain`, for a rule that gives up a run which will not converge;
# `suspect`, a quantity that has not converged, and the table of it, for
# the words of a run that goes on. Draws before the last new beginning are not
# judged. `suspect`: the quantity that failed the previous check. It is tested
# first, because one failure settles the check.
rule_verdict <- function(job, rule, common, suspect) {
  first <- draws_dropped(job)
  if (!is_checked(rule, common) || common <= first) {
    return(list(verdict = "go on", suspect = NULL))
  }
  # after a long burn-in, agreement over few draws is not convergence
  if (common - first < draws_before(job) + first) {
    return(list(verdict = "go on", suspect = suspect))
  }
  invariants <- invariant_array(length(job$chains), function(k) {
    kept <- seq_len(kept_of(job$chains[[k]], common))
    chain_draws(job, k)[kept, , drop = FALSE]
  }, job$model)
  inner <- model_inner(job$model)
  # the cause is looked for among several quantities
  drop <- may_drop(job, rule, common)
  several <- drop || isTRUE(rule$gives_up)
  if (!several && !is.null(suspect)) {
    table <- convergence_table(
      invariants[, , suspect, drop = FALSE], rule$rhat, rule$ess, inner
    )
    if (surely_fails(table)) {
      return(list(verdict = "go on", suspect = suspect, table = table))
    }
  }
  table <- unconverged(
    invariants, rule$rhat, rule$ess, inner, first = if (several) 10 else 1
  )
  if (is.null(table)) {
    return(list(verdict = "met", suspect = NULL))
  }
  list(
    verdict = if (drop && !is_short(invariants, table)) "drop" else "go on",
    suspect = table$variable[[which.max(distances(table))]], table = table,
    vain = isTRUE(rule$gives_up) && is_given_up(job, common, table)
  )
}

# Whether chains that have not converged need more than twice the draws that are
# left, which is asked from a quarter to three quarters of all.
is_given_up <- function(job, common, table) {
  4 * common >= job$goal && 4 * common <= 3 * job$goal &&
    stride_of(job) * more_draws(table) > 2 * (job$goal - common)
}

is_checked <- function(rule, common) {
  !is.null(rule) && common %% rule$every == 0
}

# Whether a quantity has not converged, from the table of it alone. FALSE does
# not say that it has.
surely_fails <- function(table) !table$ok && table$finite && !table$constant

# ---- Draws that are kept -----------------------------------------------------

# Gives up draws at a check, if there are more than the rule keeps. R/run-kept.R
# says how. `left` is the last beginning, or the one before if the draws have
# just begun anew: may_drop() then takes care that the kept draws have the same
# places from both. All chains are written before, so that no chain in a
# checkpoint lacks draws with which another one must still be judged.
keep_fewer <- function(job, rule, common) {
  left <- draws_to_leave_out(job)
  if (!is_checked(rule, common) || draws_dropped(job) > left) {
    return(job)
  }
  stride <- max(stride_of(job), least_stride(rule, common - left))
  same <- vapply(job$chains, function(chain) {
    chain$left == left && chain$stride == stride
  }, NA)
  if (!all(same)) {
    job <- write_checkpoint(job, force = TRUE)
    job$chains <- lapply(job$chains, keep_every, left, stride)
  }
  job
}

# ---- Burn-in that the rule adds ---------------------------------------------

# The draws so far become burn-in after 1, 2, 4, ... rounds, counted from the
# end of the run's own burn-in, so that at least half of the draws are dropped.
# The cap must leave room for as many again.
#
# A chain records in `from` the sweeps after which its draws began anew: the
# run's own burn-in first. Its averages begin anew with them. The draws before
# are deleted after the next round.

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
  kept <- job$chains[[1L]]
  rule$burnin == "auto" && all(here) && doublings == round(doublings) &&
    2 * total <= before + job$goal &&
    (common - kept$left) %% kept$stride == 0
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

# The job without the first n draws of each chain.
leave_out <- function(job, n) {
  dropped <- draws_dropped(job)
  if (dropped > 0) {
    # averages may have begun later than the draws that are shown
    later <- dropped - n
    job$running$averaged_from <- if (later > 0) later
  }
  stride <- stride_of(job)
  job$chains <- lapply(job$chains, function(chain) {
    chain <- keep_every(chain, n, stride)
    chain$drawn <- chain$drawn - n
    chain$left <- 0
    chain
  })
  running <- job$running
  running$burnin <- running$burnin + n * running$thin
  if (!is.null(running$stop_when)) {
    running$stop_when$max_draws <- running$stop_when$max_draws - n
  }
  job$running <- running
  job$goal <- job$goal - n
  job
}
