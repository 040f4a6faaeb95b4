# The driver: one for all models.
#
# A chain is a value: list(state, rng, chunks, drawn, pace, seconds), where
#   state    what the model's next sweep needs; state$sweep counts sweeps
#   rng      its own .Random.seed
#   chunks   list of matrices of draws, oldest first
#   drawn    number of draws ever recorded (shown ones of a continued fit count)
#   pace     sweeps that the next segment should have; never affects a draw
#   seconds  time spent in sweeps
#
# A chain that has not begun has no state but list(sweep = 0, begun = FALSE),
# and its rng is that on which its start is to be made.
#
# A job is what is to be done: list(model, running, chains, goal, settings,
# options, call).  `goal` is the number of draws that each chain shall have;
# `settings` (threads, cores, progress, checkpoint) and `options` never change a
# draw.

now <- function() unclass(Sys.time())[[1L]]

# ---- starting ----------------------------------------------------------------

# A run from the beginning: streams, starting values, then the loop.
run_chains <- function(model, running, user_call, call) {
  check_size(model, running, call)
  root <- root_seed(running$seed, call)
  running$seed <- root
  running$rng_kind <- rng_kind()
  streams <- chain_streams(root, running$chains, call)
  starts <- check_inits(model, running$inits, running$chains, call)
  if (!is.function(running$inits) && !is.null(running$inits)) {
    running$inits <- starts
  }
  chains <- lapply(streams, function(stream) {
    new_chain(list(sweep = 0, begun = FALSE), stream)
  })
  conclude(new_job(model, running, chains, user_call), call)
}

# Drives a job to its end and makes the fit.  From the start until the fit is
# returned interrupts are let in only while user code makes starting values, or
# a segment or a round runs: a second Ctrl-C must not lose what the first one
# left.
conclude <- function(job, call) suspendInterrupts(run_job(job, call))

run_job <- function(job, call) {
  job$frame <- call
  job$checkpoint <- claim_checkpoint(job, call)
  on.exit(release_checkpoint(job$checkpoint), add = TRUE)
  generator <- save_generator()
  on.exit(restore_generator(generator), add = TRUE)
  job <- read_options(job)
  if (job$outcome == "done") job <- read_options(begin_chains(job, call))
  if (job$outcome == "done") job <- drive(job)
  lost <- vapply(job$failures, function(failure) failure$chain, 0L)
  fit <- build_fit(job, setdiff(seq_along(job$chains), lost))
  announce(job, fit, call)
  drain_interrupts()
  fit
}

# Evaluates `code`, cut short by an interrupt: `otherwise` then.  Sockets, forks
# and Sys.sleep() let interrupts through a suspension, so that what is not to be
# lost to one keeps them in here.
cut_short <- function(code, otherwise = NULL) {
  tryCatch(code, interrupt = function(cnd) otherwise)
}

# An interrupt that arrived while they were suspended is let in and ends here;
# whether there was one.
drain_interrupts <- function() {
  cut_short(
    {
      allowInterrupts(Sys.sleep(0.001))
      FALSE
    },
    otherwise = TRUE
  )
}

announce <- function(job, fit, call) {
  warn_same_streams(job)
  switch(job$outcome,
    failed = abort_failed(job, fit, call),
    broken = abort_broken(job, fit),
    interrupted = say_interrupted(job, fit, call),
    cap = warn_cap(job, fit),
    rule = NULL, # the user's own thresholds are met
    if (!model_independent(job$model)) judge(fit)
  )
}

# Streams that were apart at the start have met: a function of the user sets a
# seed.
warn_same_streams <- function(job) {
  streams <- lapply(job$chains, sampler_stream)
  twin <- anyDuplicated(streams)
  if (twin > 0L && job$outcome %in% c("done", "cap", "rule")) {
    first <- match(streams[twin], streams)
    warn_gibbsite(
      c(
        "Chains {first} and {twin} ended at the same place of the same stream of
         random numbers: they may be copies of each other.",
        i = "A function given to a sampler must not call {.fn set.seed}."
      ),
      class = "streams"
    )
  }
}

# The stream of which a chain's sampler draws: its own, where user code has the
# chain's to itself.  Where log densities have one of theirs (`asked`), the
# draws are made on the chain's.
sampler_stream <- function(chain) {
  apart <- if (is.null(chain$state$asked)) chain$state$own
  apart %||% chain$rng
}

# To judge a large fit takes a while: Ctrl-C gives it up, and not the fit.
judge <- function(fit) cut_short(allowInterrupts(warn_convergence(fit)))

# What determines the draws is kept in the fit; how they are made is not.
settings_names <- c("threads", "cores", "progress", "checkpoint")

new_job <- function(model, running, chains, call, shown = NULL,
                    seconds = 0) {
  settings <- unclass(running)[settings_names]
  names(settings) <- settings_names
  running <- unclass(running)[setdiff(names(running), settings_names)]
  rule <- running$stop_when
  list(
    model = model, running = running, chains = chains,
    goal = if (is.null(rule)) running$draws else rule$max_draws,
    settings = settings, call = call, shown = shown, began = now(),
    seconds = seconds, outcome = "done", failures = list()
  )
}

check_size <- function(model, running, call) {
  draws <- if (is.null(running$stop_when)) {
    running$draws
  } else {
    running$stop_when$max_draws
  }
  columns <- length(model$columns)
  mb <- 8 * draws * running$chains * columns / 2^20
  limit <- gibbsite_option("max_draws_mb")
  if (mb > limit) {
    abort_argument(
      c(
        paste0(
          "{format_number(draws)} draws of {columns} quantit{?y/ies} in ",
          "{running$chains} chain{?s} ",
          "would take {format(ceiling(mb), big.mark = ',')} MB, more than the ",
          "{format(limit, big.mark = ',')} MB allowed."
        ),
        i = paste0(
          "Keep fewer draws (`draws`, `thin`), or raise ",
          "`options(gibbsite.max_draws_mb = )`."
        )
      ),
      call = call, class = "gibbsite_error_size"
    )
  }
}

# Starting values as one list entry a chain: checked lists, functions left for
# the chain's stream, or NULL.  All are checked before anything runs.
check_inits <- function(model, inits, chains, call) {
  if (is.null(inits)) {
    return(vector("list", chains))
  }
  if (is.function(inits)) {
    return(rep(list(inits), chains))
  }
  if (inherits(inits, c("gibbsite_fit", "gibbsite_partial"))) {
    return(inits_from_fit(model, inits, chains, call))
  }
  lapply(seq_len(chains), function(k) {
    model_check_init(model, inits[[k]], paste0("inits[[", k, "]]"), call)
  })
}

inits_from_fit <- function(model, fit, chains, call) {
  old <- attr(fit, "chains")
  if (length(old) < chains) {
    abort_argument(
      c(
        paste0(
          "`inits` is a fit with {length(old)} chain{?s}; ",
          "{chains} chains need as many starting points."
        ),
        i = "Ask for `chains = {length(old)}`, or give a list or a function."
      ),
      call = call
    )
  }
  if (!all(vapply(old[seq_len(chains)], has_started, NA))) {
    abort_argument(
      "`inits` was interrupted before its chains had starting values.",
      call = call
    )
  }
  earlier <- attr(fit, "model")
  if (!identical(class(earlier), class(model)) ||
        !identical(earlier$columns, model$columns)) {
    abort_argument(
      "`inits` must be an earlier fit of the same model and stored quantities.",
      call = call
    )
  }
  lapply(seq_len(chains), function(k) {
    init <- model_init_from_state(model, old[[k]]$state)
    model_check_init(
      model, init, paste0("inits (chain ", k, " of the fit)"), call
    )
  })
}

has_started <- function(chain) !isFALSE(chain$state$begun)

# What comes before the first sweep: a model that is not finished (laplace()'s
# search for the mode) is, and each chain gets its start.  Both depend on
# nothing but the run's streams: what an interrupt cuts short is made later as
# if there had been none.
begin_chains <- function(job, call) {
  job$model <- model_prepare(job$model, job$running, call)
  waiting <- which(!vapply(job$chains, has_started, NA))
  for (k in waiting) {
    begun <- if (!inherits(job$model, "unfinished_model")) {
      cut_short(allowInterrupts(begin_chain(job, k, call)))
    }
    if (is.null(begun)) {
      job$outcome <- "interrupted"
      return(job)
    }
    job$chains[[k]] <- begun
  }
  if (length(waiting) > 0L) {
    check_distinct_streams(lapply(job$chains, sampler_stream), call)
  }
  job
}

begin_chain <- function(job, k, call) {
  inits <- job$running$inits
  init <- if (is.function(inits)) inits else inits[[k]]
  start_chain(job$model, init, job$chains[[k]]$rng, k, call)
}

ask_inits <- function(inits, k, call) {
  tryCatch(inits(k), error = function(cnd) {
    abort_argument(
      "{.arg inits} failed for chain {k}.", call = call, parent = cnd,
      class = "user_function"
    )
  })
}

# Everything random about a start happens on the chain's own stream.
start_chain <- function(model, init, stream, k, call) {
  started <- with_stream(stream, {
    where <- paste0("inits[[", k, "]]")
    if (is.function(init)) {
      where <- paste0("inits(", k, ")")
      init <- model_check_init(model, ask_inits(init, k, call), where, call)
    }
    # for the words of an error
    if (!is.null(init)) model$start_from <- where
    model_start(model, init)
  }, call)
  new_chain(started$value, started$stream)
}

new_chain <- function(state, rng, chunks = list(), drawn = 0, seconds = 0) {
  list(
    state = state, rng = rng, chunks = chunks, drawn = drawn, pace = 1,
    seconds = seconds
  )
}

# ---- going on ----------------------------------------------------------------

# `draws` more kept draws in each chain of a fit (or a partial fit).
continue_chains <- function(fit, draws, settings, stop_when, call) {
  running <- attr(fit, "running")
  model <- attr(fit, "model")
  shown <- shown_draws(fit)
  running$draws <- shown + draws
  running["stop_when"] <- list(
    continued_rule(stop_when, shown, draws, call)
  )
  running[settings_names] <- settings[settings_names]
  check_size(model, running, call)
  chains <- resume_chains(fit)
  run <- attr(fit, "run")
  job <- new_job(
    model, running, chains, run$call,
    shown = lapply(unclass(fit), plain_matrix), seconds = run$elapsed$total
  )
  conclude(job, call)
}

# The rule of a continued run counts draws from the first one, and has room for
# one more look at least.
continued_rule <- function(rule, shown, draws, call) {
  if (is.null(rule)) {
    return(NULL)
  }
  rule["max_draws"] <- list(rule$max_draws %||% (shown + draws))
  rule <- resolve_until(rule, draws, call)
  if (rule$max_draws <= shown) {
    abort_argument(
      c(
        paste0(
          "{.arg stop_when} allows {format_number(rule$max_draws)} draws of ",
          "each chain (`max_draws`, in whole rounds of `every`); the fit has ",
          "{format_number(shown)}."
        ),
        i = "Raise `max_draws` in `until()`, or `draws`."
      ),
      call = call
    )
  }
  rule
}

shown_draws <- function(fit) {
  if (inherits(fit, "gibbsite_partial")) 0 else attr(fit, "running")$draws
}

plain_matrix <- function(x) {
  matrix(as.vector(x), nrow(x), ncol(x))
}

# The chains of a fit as the driver holds them: draws ahead of the common
# length come first.
resume_chains <- function(fit) {
  shown <- shown_draws(fit)
  pending <- attr(fit, "pending")
  seconds <- attr(fit, "run")$elapsed$chains
  lapply(seq_along(attr(fit, "chains")), function(k) {
    chain <- attr(fit, "chains")[[k]]
    ahead <- if (is.null(pending)) NULL else pending[[k]]
    new_chain(
      chain$state, chain$rng,
      chunks = if (NROW(ahead) > 0) list(ahead) else list(),
      drawn = shown + NROW(ahead), seconds = seconds[[k]]
    )
  })
}

# ---- the loop ----------------------------------------------------------------

# Drives all chains to the goal, leg by leg; a leg ends where the stopping rule
# looks.  The job always holds the last finished segment or round of each chain,
# so that whatever happens a fit can be built from it.
drive <- function(job) {
  job <- write_checkpoint(job, force = !has_begun(job$checkpoint))
  engine <- open_engine(job)
  # before the generator is put back: stopping workers may use it
  on.exit(engine$close(job$outcome), add = TRUE)
  job <- show_progress(job, function(tick) drive_legs(job, engine$run, tick))
  job
}

drive_legs <- function(job, run, tick) {
  rule <- job$running$stop_when
  repeat {
    common <- common_draws(job$chains)
    if (rule_holds(job, rule, common)) {
      job$outcome <- "rule"
      break
    }
    if (common >= job$goal) {
      job$outcome <- if (is.null(rule)) "done" else "cap"
      break
    }
    job <- run(job, leg_end(common, rule, job$goal), tick)
    if (job$outcome != "done") {
      break
    }
  }
  write_checkpoint(job, force = TRUE)
  job
}

common_draws <- function(chains) {
  min(vapply(chains, function(chain) as.numeric(chain$drawn), 0))
}

# Legs are anchored at draw 0: where a segment, an interrupt or an earlier run
# ended plays no part.
leg_end <- function(common, rule, goal) {
  if (is.null(rule)) {
    return(goal)
  }
  min(goal, (floor(common / rule$every) + 1) * rule$every)
}

rule_holds <- function(job, rule, common) {
  if (is.null(rule) || common == 0 || common %% rule$every != 0) {
    return(FALSE)
  }
  draws <- lapply(seq_along(job$chains), function(k) {
    chain_draws(job, k)[seq_len(common), , drop = FALSE]
  })
  stop_rule_met(draws, job$model, rule)
}

# All draws of a chain as one matrix with names: those shown before, then the
# new ones.
chain_draws <- function(job, k) {
  parts <- c(job$shown[k], job$chains[[k]]$chunks)
  parts <- parts[!vapply(parts, is.null, NA)]
  all <- if (length(parts) == 1L) parts[[1L]] else do.call(rbind, parts)
  if (is.null(all)) {
    all <- matrix(0, 0L, length(job$model$columns))
  }
  dimnames(all) <- list(NULL, job$model$columns)
  all
}

# The sweep at which a chain has `draws` draws.
sweep_of <- function(running, draws) running$burnin + draws * running$thin

control_of <- function(job) {
  list(
    burnin = job$running$burnin, thin = job$running$thin,
    threads = job$settings$threads
  )
}

# ---- one segment -------------------------------------------------------------

# One call of the model.  A segment ends where burn-in ends, so that a model may
# take it that its sweeps are of one phase.  NULL: interrupted.
run_segment <- function(chain, model, control, until) {
  sweep <- chain$state$sweep
  end <- if (sweep < control$burnin) min(control$burnin, until) else until
  n <- min(chain$pace, end - sweep)
  # Where sweeps are slow a segment is over before C or R has looked for an
  # interrupt: this does.
  Sys.sleep(0)
  set_generator_seed(chain$rng)
  model_sweeps(model, chain$state, n, control)
}

# What a segment returns, NULL when it was interrupted, or its error.
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
  if (nrow(result$draws) > 0) {
    chain$chunks[[length(chain$chunks) + 1L]] <- result$draws
    chain$drawn <- chain$drawn + nrow(result$draws)
  }
  chain$seconds <- chain$seconds + seconds
  if (swept > 0) {
    wanted <- floor(swept * aim / max(seconds, 1e-6))
    chain$pace <- max(1, min(wanted, 8 * max(swept, chain$pace)))
  }
  chain
}

# ---- options -----------------------------------------------------------------

# What the run goes by from here on.  A function of the user may have set an
# option to nonsense: the run ends there, with what it has.
read_options <- function(job) {
  names <- setdiff(option_names, "max_draws_mb")
  values <- tryCatch(
    lapply(stats::setNames(names, names), gibbsite_option, call = job$frame),
    gibbsite_error_argument = function(cnd) cnd
  )
  if (!inherits(values, "condition")) {
    job$options <- values
  } else if (job$outcome == "done") {
    job$outcome <- "broken"
    job$problem <- values
  }
  job
}

# ---- chains in this process --------------------------------------------------

# Round-robin, a segment each, until every chain has `draws` draws.
run_here <- function(job, draws, tick) {
  control <- control_of(job)
  until <- sweep_of(job$running, draws)
  repeat {
    behind <- which(vapply(job$chains, function(chain) {
      chain$state$sweep < until
    }, NA))
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

add_failure <- function(job, k, cnd) {
  job$outcome <- "failed"
  job$failures[[length(job$failures) + 1L]] <- list(
    chain = k, sweep = job$chains[[k]]$state$sweep, condition = cnd
  )
  job
}

# ---- chains in other processes -----------------------------------------------

# What a worker does: segments until `seconds` have passed or the chain is at
# `until`.  Sends back the chain with the draws of this round only.  Here too
# interrupts are let in only while a segment runs: one that reached a worker
# between two would end it with what it has drawn.
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
    start <- now()
    result <- try_segment(chain, model, control, until)
    if (is.null(result) || inherits(result, "error")) {
      return(list(chain = chain, error = result, interrupted = is.null(result)))
    }
    if (orphaned()) {
      quit(save = "no", status = 1L, runLast = FALSE)
    }
    chain <- accept_segment(chain, result, now() - start, aim)
    if (chain$state$sweep >= until || now() - began >= seconds) {
      return(list(chain = chain))
    }
  }
}

# A worker does not outlive the process that it works for: nobody would take
# what it draws.  A forked one is ended by a thread of its own, whatever it is
# doing; any other on the same machine looks between two segments, if it can see
# the process at all (a container may show others under its numbers).  Returns
# the function that looks.
watch_parent <- function(parent) {
  never <- function() FALSE
  if (parent$pid == Sys.getpid() ||
        !identical(parent$host, Sys.info()[["nodename"]]) ||
        .Call(C_end_with_parent, parent$pid, parent$started)) {
    return(never)
  }
  seen <- .Call(C_process_started, parent$pid)
  if (is.na(seen) || seen != parent$started) {
    return(never)
  }
  function() !.Call(C_process_started, parent$pid) %in% seen
}

# Synchronous rounds: every chain that is behind gets a future of a few
# seconds; the round counts when all have come back.
run_elsewhere <- function(job, draws, tick) {
  until <- sweep_of(job$running, draws)
  repeat {
    behind <- which(vapply(job$chains, function(chain) {
      chain$state$sweep < until
    }, NA))
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

# `round` is an environment: the futures in it are known to the caller also when
# an interrupt ends this.
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

# The expression and its globals are given by hand: nothing of the driver's
# frames travels.  Functions of the user find what they need of the global
# environment where they look for it.
start_future <- function(chain, job, until) {
  needs <- model_needs(job$model)
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

# After an interrupt: wait for what still runs, so that a pool is left idle.
# Another interrupt ends the wait; repair_pool() sees to the rest.
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

# Where the chains run: in this process, or wherever future::plan() says; with
# `cores` in a pool that is made and stopped here.
open_engine <- function(job) {
  cores <- min(job$settings$cores, length(job$chains))
  if (!inherits(future::plan(), "sequential")) {
    return(list(run = run_elsewhere, close = repair_pool))
  }
  if (cores < 2) {
    return(list(run = run_here, close = function(outcome) NULL))
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

# A round that was interrupted or lost a worker can leave a pool of the user's
# unusable: ask each worker for an answer, and set the plan up again if one
# fails to give it.
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
    # to sequential first: future would take the broken workers up again
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

# ---- progress ----------------------------------------------------------------

# Calls body(tick), where tick(n) reports n sweeps.  A bar by progressr where it
# can be seen, a line now and then where it cannot, and nothing of our own where
# the user has chosen progressr's handlers.
show_progress <- function(job, body) {
  if (!job$settings$progress) {
    return(body(function(n) NULL))
  }
  remaining <- sum(vapply(job$chains, function(chain) {
    max(0, sweep_of(job$running, job$goal) - chain$state$sweep)
  }, 0))
  run <- function() {
    step <- progressr::progressor(steps = max(1, remaining))
    result <- body(function(n) step(amount = n))
    step(type = "finish")
    result
  }
  if (user_shows_progress()) {
    return(run())
  }
  if (!cli::is_dynamic_tty()) {
    return(body(line_ticker(remaining)))
  }
  format <- paste(
    job$running$chains, "chains {cli::pb_bar} {cli::pb_percent}",
    "ETA {cli::pb_eta}"
  )
  bar <- progressr::handler_cli(format = format, show_after = 0, clear = TRUE)
  progressr::with_progress(
    run(),
    # handlers that the session has set are taken before our bar
    handlers = progressr::handlers(default = bar), enable = TRUE
  )
}

user_shows_progress <- function() {
  if (isTRUE(progressr::handlers(global = NA))) {
    return(TRUE)
  }
  choices <- list(progressr::with_progress, progressr::without_progress)
  for (i in seq_len(sys.nframe())) {
    if (any(vapply(choices, identical, NA, sys.function(i)))) {
      return(TRUE)
    }
  }
  FALSE
}

# A plain line at every tenth of the way, at most one in ten seconds.
line_ticker <- function(total) {
  done <- 0
  began <- now()
  said <- began
  function(n) {
    done <<- done + n
    if (now() - said >= 10 && done < total) {
      said <<- now()
      left <- (now() - began) * (total - done) / max(done, 1)
      inform_gibbsite(
        paste0(
          "{round(100 * done / total)}% of the sweeps done, ",
          "about {format(round(left))} seconds left."
        ),
        class = "progress"
      )
    }
  }
}

# ---- the fit -----------------------------------------------------------------

# Shown is what all chains have in common; the surplus waits in `pending`.
build_fit <- function(job, kept) {
  if (length(kept) == 0L) {
    return(NULL)
  }
  job$shown <- job$shown[kept]
  job$chains <- job$chains[kept]
  shown <- min(common_draws(job$chains), job$goal)
  draws <- lapply(seq_along(job$chains), function(k) chain_draws(job, k))
  ahead <- vapply(draws, nrow, 0L) > shown
  pending <- if (any(ahead)) {
    lapply(draws, function(x) {
      unname(x[seq_len(nrow(x)) > shown, , drop = FALSE])
    })
  }
  running <- job$running
  running$draws <- shown
  running$chains <- length(kept)
  if (is.list(running$inits)) {
    running$inits <- running$inits[kept]
  }
  model <- job$model
  if (!running$keep_data) {
    model <- model_without_data(model)
  }
  chains <- lapply(seq_along(job$chains), function(k) {
    list(
      state = job$chains[[k]]$state, rng = job$chains[[k]]$rng,
      hash = hash_draws(draws[[k]])
    )
  })
  new_fit(
    draws = if (any(ahead)) {
      lapply(draws, function(x) x[seq_len(shown), , drop = FALSE])
    } else {
      draws
    },
    model = model, running = running, chains = chains, pending = pending,
    run = run_record(job)
  )
}

# How the run went: the one part of a fit that may differ between two runs that
# are otherwise identical.
run_record <- function(job) {
  list(
    call = job$call,
    elapsed = list(
      total = job$seconds + now() - job$began,
      chains = vapply(job$chains, function(chain) chain$seconds, 0)
    ),
    threads = job$settings$threads, cores = job$settings$cores,
    checkpoint = job$settings$checkpoint, outcome = job$outcome
  )
}

# What the user's functions did to the session, with the fit so far.
abort_broken <- function(job, fit) {
  cnd <- job$problem
  cnd$fit <- fit
  cnd$body <- c(cnd$body, i = "The fit so far is in `$fit` of this condition.")
  rlang::cnd_signal(cnd)
}

abort_failed <- function(job, fit, call) {
  reasons <- vapply(job$failures, function(failure) {
    paste0(
      "Chain ", failure$chain, " after sweep ",
      format(failure$sweep, scientific = FALSE), ": ",
      cli::ansi_strip(conditionMessage(failure$condition))
    )
  }, "")
  names(reasons) <- rep("x", length(reasons))
  way_out <- c(
    i = if (!is.null(fit)) {
      "The other chains are in `$fit` of this condition: they can be extended."
    },
    i = if (has_begun(job$checkpoint)) {
      paste0("All chains can be resumed: resume(\"",
             job$settings$checkpoint, "\").")
    }
  )
  rlang::abort(
    c(
      cli::pluralize(
        "{length(reasons)} of {length(job$chains)} chain{?s} failed."
      ),
      reasons, way_out
    ),
    class = c("gibbsite_error_chain", "gibbsite_error"),
    call = call, fit = fit,
    failures = job$failures, parent = NULL
  )
}

say_interrupted <- function(job, fit, call) {
  drawn <- shown_draws(fit)
  rule <- job$running$stop_when
  ruled <- function(text) if (!is.null(rule)) text
  text <- c(
    paste0(
      "Interrupted after ", drawn, " of ", ruled("at most "), job$goal,
      " draws in each chain."
    ),
    i = paste0(
      "Go on with `extend(fit, ", job$goal - drawn, ruled(", stop_when = "),
      ")`", ruled(paste0(" and the same rule, `every = ", rule$every, "`")),
      ": the draws will be those of an uninterrupted run."
    )
  )
  if (has_begun(job$checkpoint)) {
    text <- c(
      text,
      i = paste0("Or from disk: resume(\"", job$settings$checkpoint, "\").")
    )
  }
  if (job$options$on_interrupt == "return") {
    rlang::warn(
      text,
      class = c("gibbsite_warning_interrupted", "gibbsite_warning")
    )
  } else {
    rlang::abort(
      text,
      class = c("gibbsite_error_interrupted", "gibbsite_error"),
      call = call, fit = fit
    )
  }
}

warn_cap <- function(job, fit) {
  rlang::warn(
    c(
      paste0(
        "The chains reached `max_draws` (", job$goal,
        ") before the stopping rule held."
      ),
      i = paste0("Go on with `extend(fit, ", job$goal, ", stop_when = )`.")
    ),
    class = c("gibbsite_warning_cap", "gibbsite_warning")
  )
  judge(fit)
}
