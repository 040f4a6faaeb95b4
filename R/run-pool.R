# A segment of a chain, and where the chains run: in this process, in turns of
# one segment, or in other processes, in rounds of a few seconds by future.

chains_behind <- function(job, until) {
  which(vapply(job$chains, function(chain) chain$state$sweep < until, NA))
}

# Chains take turns of one segment until every chain has `draws` draws.
run_here <- function(job, draws, tick) {
  control <- control_of(job)
  until <- sweep_of(job$running, draws)
  repeat {
    behind <- chains_behind(job, until)
    if (length(behind) == 0L) {
      return(job)
    }
    for (k in behind) {
      chain <- job$chains[[k]]
      began <- now()
      result <- try_segment(chain, job$model, control, until)
      if (is.null(result)) {
        job$outcome <- "interrupted"
        return(job)
      }
      if (inherits(result, "error")) {
        return(add_failure(job, k, result))
      }
      job$chains[[k]] <- accept_segment(
        chain, result, now() - began, job$options$segment_seconds
      )
      tick(job$chains[[k]]$state$sweep - chain$state$sweep)
      job <- read_options(job)
      job <- write_checkpoint(job)
      if (job$outcome != "done") {
        return(job)
      }
    }
  }
}

# Where the chains run: in this process, or wherever future::plan() says; with
# `cores` in a pool that is made and stopped here.
open_engine <- function(job) {
  here <- list(run = run_here, close = function(outcome) NULL)
  if (is_in_shards(job$model)) {
    return(here)
  }
  if (!inherits(future::plan(), "sequential")) {
    return(list(run = run_elsewhere, close = repair_pool))
  }
  cores <- min(job$settings$cores, length(job$chains))
  if (cores < 2) {
    return(here)
  }
  strategy <- if (future::supportsMulticore()) {
    future::multicore
  } else {
    future::multisession
  }
  old <- future::plan(strategy, workers = cores)
  list(run = run_elsewhere, close = function(outcome) {
    while (!cut_short({
      future::plan(old)
      TRUE
    }, FALSE)) NULL
  })
}

# After an interrupt or the loss of a worker the user's pool may be unusable. So
# each worker is asked for an answer, and the plan is set up again if one does
# not answer.
repair_pool <- function(outcome) {
  if (!outcome %in% c("interrupted", "failed")) {
    return(invisible())
  }
  answers <- tryCatch({
    futures <- lapply(seq_len(future::nbrOfWorkers()), function(i) {
      future::future(quote(TRUE), substitute = FALSE, envir = baseenv(),
                     globals = FALSE, seed = NULL)
    })
    vapply(futures, function(future) isTRUE(future::value(future)), NA)
  }, error = function(cnd) FALSE, interrupt = function(cnd) FALSE)
  if (!all(answers)) {
    # set to sequential first: otherwise future would use the broken workers
    # again
    plans <- future::plan("list")
    cut_short({
      future::plan(future::sequential)
      future::plan(plans, substitute = FALSE)
    })
    inform_gibbsite(
      "The workers of `future::plan()` did not answer and were restarted.",
      class = "pool"
    )
  }
}

# ---- In other processes -----------------------------------------------------

# The work of a worker: segments until `seconds` have passed or the chain is at
# `until`. Returns the chain with the draws of this round only. Here too
# interrupts are allowed only while a segment runs: an interrupt between two
# segments would end the worker and lose its draws.
advance <- function(chain, model, control, until, seconds, aim, parent) {
  suspendInterrupts({
    orphaned <- watch_parent(parent)
    result <- advance_round(
      chain, model, control, until, seconds, aim, orphaned
    )
    if (drain_interrupts() && result$chain$state$sweep < until) {
      result$interrupted <- TRUE
    }
    result
  })
}

advance_round <- function(chain, model, control, until, seconds, aim,
                          orphaned) {
  generator <- save_generator()
  on.exit(restore_generator(generator))
  began <- now()
  repeat {
    if (orphaned()) {
      quit(save = "no", status = 1L, runLast = FALSE)
    }
    start <- now()
    result <- try_segment(chain, model, control, until)
    if (is.null(result) || inherits(result, "error")) {
      return(list(chain = chain, error = result, interrupted = is.null(result)))
    }
    chain <- accept_segment(chain, result, now() - start, aim)
    if (chain$state$sweep >= until || now() - began >= seconds) {
      return(list(chain = chain))
    }
  }
}

# A worker ends when its parent process has ended, because its draws would be
# lost. A forked worker is ended at any time by a thread of its own. Any other
# worker checks before each segment, if it can see the parent process. Returns
# the function that checks.
watch_parent <- function(parent) {
  if (parent$pid == Sys.getpid() || !is_in_sight(parent) ||
        .Call(C_end_with_parent, parent$pid, parent$started)) {
    return(function() FALSE)
  }
  function() !.Call(C_process_started, parent$pid) %in% parent$started
}

# Synchronous rounds: every chain that is behind gets a future of a few seconds;
# the round is accepted when all have returned.
run_elsewhere <- function(job, draws, tick) {
  until <- sweep_of(job$running, draws)
  repeat {
    behind <- chains_behind(job, until)
    if (length(behind) == 0L) {
      return(job)
    }
    round <- new.env(parent = emptyenv())
    results <- cut_short(allowInterrupts(run_round(job, behind, until, round)))
    if (is.null(results)) {
      drain(round$futures)
      job$outcome <- "interrupted"
      return(job)
    }
    before <- total_sweeps(job)
    job <- accept_round(job, behind, results)
    tick(total_sweeps(job) - before)
    job <- read_options(job)
    if (job$outcome != "done") {
      return(job)
    }
    job <- write_checkpoint(job)
  }
}

total_sweeps <- function(job) {
  sum(vapply(job$chains, function(chain) chain$state$sweep, 0))
}

# `round` is an environment, so that the caller still has the futures when an
# interrupt ends this function.
run_round <- function(job, behind, until, round) {
  for (k in behind) {
    chain <- job$chains[[k]]
    chain$chunks <- list()
    round$futures[[length(round$futures) + 1L]] <- tryCatch(
      start_future(chain, job, until),
      error = function(cnd) cnd
    )
  }
  lapply(round$futures, function(future) {
    if (inherits(future, "error")) {
      return(list(error = future))
    }
    tryCatch(
      future::value(future),
      error = function(cnd) list(error = cnd)
    )
  })
}

# The expression and its globals are given explicitly, so that the driver's
# frames are not sent to the worker. Objects of the global environment that
# functions of the user need are set there in the worker.
start_future <- function(chain, job, until) {
  needs <- needs_of(job$model)
  ours <- list(
    advance = advance, chain = chain, model = job$model,
    control = control_of(job), until = until,
    seconds = job$options$round_seconds, aim = job$options$segment_seconds,
    parent = this_process()
  )
  future::future(
    quote(with(
      gibbsite_round,
      advance(chain, model, control, until, seconds, aim, parent)
    )),
    substitute = FALSE, envir = baseenv(), seed = NULL,
    packages = c("gibbsite", needs$packages), stdout = NA,
    globals = c(needs$globals, list(gibbsite_round = ours))
  )
}

# After an interrupt: waits for the running futures, so that the pool is idle.
# Another interrupt ends the wait; repair_pool() then repairs the pool.
drain <- function(futures) {
  cut_short(for (future in futures) {
    if (inherits(future, "Future")) {
      try(suppressWarnings(future::value(future)), silent = TRUE)
    }
  })
}

accept_round <- function(job, behind, results) {
  for (i in seq_along(behind)) {
    k <- behind[[i]]
    result <- results[[i]]
    if (isTRUE(result$interrupted)) {
      job$outcome <- "interrupted"
    }
    if (!is.null(result$chain)) {
      earlier <- job$chains[[k]]$chunks
      job$chains[[k]] <- result$chain
      job$chains[[k]]$chunks <- c(earlier, result$chain$chunks)
    }
    if (!is.null(result$error)) {
      job <- add_failure(job, k, result$error)
    }
  }
  job
}

# The numbers that a fit gives to components which each chain numbers in its own
# way.
#
# While chains run, their draws have the chain's own numbers: in a job and in a
# checkpoint. build_fit() renumbers them, and keeps for each chain `order`, the
# chain's numbers of the fit's components 1, 2, ... The first draws fix it, so
# that a fit keeps its numbers when it is continued.

# The chains, each with its order, once all of them have a draw.
ordered_chains <- function(model, chains) {
  known <- all(lengths(lapply(chains, `[[`, "order")) > 0L)
  if (known || common_draws(chains) == 0) {
    return(chains)
  }
  orders <- model_orders(model, lapply(chains, `[[`, "state"))
  set_orders(chains, orders)
}

set_orders <- function(chains, orders) {
  for (k in seq_along(orders)) chains[[k]]$order <- orders[[k]]
  chains
}

# A chain's draws in the fit's numbers, and draws of a fit in the chain's.
fit_numbers <- function(model, draws, order) {
  if (is.null(order) || NROW(draws) == 0L) {
    return(draws)
  }
  model_reordered(model, draws, order)
}

chain_numbers <- function(model, draws, order) {
  fit_numbers(model, draws, if (!is.null(order)) order(order))
}

# The draws that a fit shows and those that it holds ahead, in the chains'
# numbers: a matrix (or NULL) for each chain.
shown_in_chains <- function(fit) in_chains(fit, unclass(fit))

pending_in_chains <- function(fit) in_chains(fit, attr(fit, "pending"))

in_chains <- function(fit, draws) {
  chains <- attr(fit, "chains")
  lapply(seq_along(chains), function(k) {
    if (length(draws) > 0L) {
      chain_numbers(
        attr(fit, "model"), plain_matrix(draws[[k]]), chains[[k]]$order
      )
    }
  })
}

plain_matrix <- function(x) {
  if (!is.null(x)) matrix(as.vector(x), nrow(x), ncol(x))
}

# Whether some chain has no draw since its draws began anew. Then the order does
# not come from the first draw, and only this fit uses it.
is_order_passing <- function(chains, thin) {
  any(vapply(chains, function(chain) {
    length(chain$from) > 0L && chain$state$sweep < max(chain$from) + thin
  }, NA))
}

# ---- A chain and a segment of it ---------------------------------------------

# A chain and one segment of it.
#
# A chain is a value: list(state, rng, chunks, drawn, pace, seconds, ...),
# where
#   state    what the model's next sweep needs; state$sweep counts sweeps
#   rng      its own .Random.seed
#   chunks   list of matrices of the draws that are kept, oldest first
#   drawn    number of draws made so far (with those of a continued fit)
#   left     number of draws made before those in `chunks`; of the later ones
#   stride   each `stride`-th is kept (R/run-kept.R)
#   pace     number of sweeps of the next segment; it never affects a draw
#   seconds  time of its sweeps, as that of the later ones of a call: in the
#            first two segments R loads packages and compiles functions
#   segments number of segments in this call
#   untimed  number of its sweeps that `seconds` lacks
#   from     NULL, or the sweeps after which its draws began anew (R/run-rule.R)
#   order    NULL, or its numbers of the fit's components (R/run-pool.R)
#
# A chain that has not begun has the state list(sweep = 0, begun = FALSE), and
# its rng is the stream on which its starting values will be drawn.

new_chain <- function(state, rng, chunks = list(), drawn = 0, seconds = 0,
                      from = NULL, order = NULL, left = 0, stride = 1) {
  chain <- list(
    state = state, rng = rng, chunks = chunks, drawn = drawn, left = left,
    stride = stride, pace = 1, seconds = seconds, segments = 0, untimed = 0
  )
  chain$from <- from
  chain$order <- order
  chain
}

common_draws <- function(chains) {
  min(vapply(chains, function(chain) as.numeric(chain$drawn), 0))
}

# The kept draws of a chain as one matrix with names.
chain_draws <- function(job, k) {
  parts <- job$chains[[k]]$chunks
  all <- if (length(parts) == 1L) parts[[1L]] else do.call(rbind, parts)
  if (is.null(all)) {
    all <- matrix(0, 0L, length(job$model$columns))
  }
  dimnames(all) <- list(NULL, job$model$columns)
  all
}

control_of <- function(job) {
  list(
    burnin = job$running$burnin, thin = job$running$thin,
    threads = job$settings$threads
  )
}

# ---- One segment ------------------------------------------------------------

# One call of the model; NULL if it was interrupted. A segment ends at the end
# of burn-in, so that its sweeps are either all burn-in or all after it.
run_segment <- function(chain, model, control, until) {
  sweep <- chain$state$sweep
  end <- if (sweep < control$burnin) min(control$burnin, until) else until
  n <- min(chain$pace, end - sweep)
  # check for an interrupt here: a short segment may finish before C does
  Sys.sleep(0)
  set_generator_seed(chain$rng)
  run <- model_sweeps(model, chain$state, n, control)
  if (is.null(run)) NULL else model_numbered(model, run, chain$state)
}

# The result of a segment, NULL if it was interrupted, or its error.
try_segment <- function(chain, model, control, until) {
  tryCatch(
    allowInterrupts(run_segment(chain, model, control, until)),
    interrupt = function(cnd) NULL,
    error = function(cnd) cnd
  )
}

# The chain after a segment that took `seconds`; segments aim at `aim` seconds.
accept_segment <- function(chain, result, seconds, aim) {
  swept <- result$state$sweep - chain$state$sweep
  chain$state <- result$state
  chain$rng <- result$rng
  fresh <- nrow(result$draws)
  if (fresh > 0) {
    chain$chunks <- c(chain$chunks, thinned(
      list(result$draws), chain$drawn + seq_len(fresh), chain$left, chain$stride
    ))
    chain$drawn <- chain$drawn + fresh
  }
  chain <- count_time(chain, swept, seconds)
  if (swept > 0) {
    wanted <- floor(swept * aim / max(seconds, 1e-6))
    chain$pace <- max(1, min(wanted, 8 * max(swept, chain$pace)))
  }
  chain
}

count_time <- function(chain, swept, seconds) {
  chain$segments <- chain$segments + 1
  chain$untimed <- chain$untimed + swept
  if (chain$segments > 2 && swept > 0) {
    chain$seconds <- chain$seconds + seconds * chain$untimed / swept
    chain$untimed <- 0
  }
  chain
}

# The time of `sweeps` further sweeps of every chain, from the times of the
# sweeps that a fit has made; NA if these are not known.
seconds_of_sweeps <- function(fit, sweeps) {
  run <- fit_part(fit, "run")
  made <- vapply(fit_part(fit, "chains"), function(chain) {
    as.numeric(chain$state$sweep)
  }, 0)
  seconds <- run$elapsed$chains
  if (length(seconds) != length(made) || !all(seconds > 0)) {
    return(NA_real_)
  }
  at_once <- max(1, min(run$cores, length(made)))
  sum(seconds / made) * sweeps / at_once
}

add_failure <- function(job, k, cnd) {
  job$outcome <- "failed"
  job$failures[[length(job$failures) + 1L]] <- list(
    chain = k, sweep = job$chains[[k]]$state$sweep, condition = cnd
  )
  job
}

# ---- Interrupts -------------------------------------------------------------

# Evaluates `code`; its value is `otherwise` if an interrupt stops it. Sockets,
# forks and Sys.sleep() allow interrupts even while they are suspended. Code
# whose result must not be lost to such an interrupt is evaluated here.
cut_short <- function(code, otherwise = NULL) {
  tryCatch(code, interrupt = function(cnd) otherwise)
}

# Whether an interrupt arrived while interrupts were suspended. It is handled
# here.
drain_interrupts <- function() {
  cut_short(
    {
      allowInterrupts(Sys.sleep(0.001))
      FALSE
    },
    otherwise = TRUE
  )
}
