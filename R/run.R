# The driver, one for all models: starts the chains, runs them to their goal,
# makes the fit, and raises the error or the warning of a run that failed, was
# interrupted or has not converged.
#
# A job describes a run: list(model, running, chains, goal, settings, options,
# call). `goal` is the number of draws that each chain is to have. `settings`
# (threads, cores, progress, checkpoint) and `options` never change a draw.

# A run from the beginning: streams, starting values, then the loop.
run_chains <- function(model, running, user_call, call) {
  running <- complete_rule(running, model, call)
  check_run_size(model, running, call)
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
  given <- data_of_call(model, stored_call(user_call), call)
  job <- new_job(
    model, running, chains, given$call, given$columns, given$further
  )
  run_job(job, call)
}

# Drives a job to its end and makes the fit. Until the fit is returned,
# interrupts are allowed only while user code makes starting values, or while a
# segment or a round runs. So a second Ctrl-C cannot lose the draws that the
# first one kept.
run_job <- function(job, call) suspendInterrupts(run_to_the_end(job, call))

run_to_the_end <- function(job, call) {
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
  fit <- with_doubts(job, fit)
  announce(job, fit, call)
  drain_interrupts()
  fit
}

# Settings that never change a draw; the fit does not keep them among its
# running arguments.
settings_names <- c("threads", "cores", "progress", "checkpoint")

new_job <- function(model, running, chains, call, columns = NULL,
                    further = list(), seconds = 0) {
  own <- with_own_objects(
    list(model = model, inits = running$inits, call = call), columns, further
  )
  model <- own$model
  running["inits"] <- own["inits"]
  call <- own$call
  settings <- unclass(running)[settings_names]
  names(settings) <- settings_names
  running <- unclass(running)[setdiff(names(running), settings_names)]
  rule <- running$stop_when
  list(
    model = model, running = running, chains = chains,
    goal = if (is.null(rule)) running$draws else rule$max_draws,
    settings = settings, call = call, began = now(), seconds = seconds,
    outcome = "done", failures = list()
  )
}

# ---- Starting values --------------------------------------------------------

# Starting values with one list entry for each chain: checked lists, functions
# to be called on the chain's stream, or NULL. All are checked before anything
# runs.
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
  earlier <- fit_part(fit, "model")
  if (!identical(class(earlier), class(model)) ||
        !identical(earlier$columns, model$columns)) {
    abort_argument(
      "`inits` must be an earlier fit of the same model and stored quantities.",
      call = call
    )
  }
  lapply(seq_len(chains), function(k) {
    init <- model_init_from_state(model, old[[k]]$state)
    init <- Filter(Negate(is.null), init)
    model_check_init(
      model, init, paste0("inits (chain ", k, " of the fit)"), call
    )
  })
}

# Work before the first sweep: an unfinished model (a search for the mode) is
# completed, and each chain gets its starting values. Both depend only on the
# run's streams. If an interrupt stops them, they are made later with the same
# result.
begin_chains <- function(job, call) {
  waiting <- which(!vapply(job$chains, has_started, NA))
  if (length(waiting) > 0L) {
    rlang::local_options(gibbsite.tell = job$settings$progress)
    job$model <- model_prepare(job$model, job$running, call)
    job <- doubt_before(job)
  }
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
  tryCatch(
    start_chain(job$model, init, job$chains[[k]]$rng, k, call),
    gibbsite_error_worker = function(cnd) abort_lost_start(cnd, k, call)
  )
}

abort_lost_start <- function(cnd, k, call) {
  rlang::abort(
    c(
      paste0("Chain ", k, " could not start."),
      x = cli::ansi_strip(conditionMessage(cnd))
    ),
    class = setdiff(c("gibbsite_error_chain", class(cnd)), c(
      "rlang_error", "error", "condition"
    )),
    call = call, worker = cnd$worker, machine = cnd$machine
  )
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
    # for error messages
    if (!is.null(init)) model$start_from <- where
    model_start(model, init)
  }, call)
  new_chain(started$value, started$stream)
}

# ---- Doubts about a density -------------------------------------------------

# Said at once: the chains may take long.
doubt_before <- function(job) {
  if (inherits(job$model, "unfinished_model")) {
    return(job)
  }
  doubts <- cut_short(
    allowInterrupts(model_doubts(job$model, NULL, FALSE)), "interrupted"
  )
  if (identical(doubts, "interrupted")) {
    job$outcome <- "interrupted"
  } else if (length(doubts) > 0L) {
    words <- doubt_words(doubts)
    fit_is <- short_call(job$model)
    inform_gibbsite(
      c("{.code {fit_is}} has found no peak of the log density.",
        bullets_of("words", words)),
      class = "improper"
    )
    job$doubts <- doubts
    if (is_cut_short(job)) {
      job$running$burnin <- min(job$running$burnin, draws_in_doubt)
    }
  }
  job
}

# Fewer draws than this do not show where chains go. A run to a stopping rule
# that cannot hold ends after as many.
draws_in_doubt <- 100

is_cut_short <- function(job) {
  !is.null(job$running$stop_when) && length(job$doubts) > 0L &&
    is_hopeless(job)
}

# Whether chains that have not converged at a check never will converge.
is_hopeless <- function(job) {
  doubts <- job$doubts %||% model_doubts(job$model, lapply(
    seq_along(job$chains), function(k) chain_draws(job, k)
  ), FALSE)
  "improper" %in% vapply(doubts, `[[`, "", "kind")
}

# The fit with what is doubtful about its density, in the record of the run.
with_doubts <- function(job, fit) {
  if (is.null(fit) || !inherits(fit, "gibbsite_fit") ||
        !job$outcome %in% endings ||
        shown_draws(fit) < draws_in_doubt) {
    return(fit)
  }
  draws <- lapply(seq_along(fit), function(k) {
    named_matrix(.subset2(fit, k), job$model$columns)
  })
  # most models do not ask whether the chains have converged
  delayedAssign(
    "good", job$outcome == "rule" || table_converged(fit_convergence(fit))
  )
  doubts <- cut_short(allowInterrupts(model_doubts(job$model, draws, good)))
  if (length(doubts) == 0L && length(job$doubts) > 0L && !good) {
    doubts <- job$doubts
  }
  attr(fit, "run")$doubts <- doubts
  fit
}

# ---- The loop ---------------------------------------------------------------

# Runs all chains to the goal in legs; a leg ends at a check of the stopping
# rule. The job always holds the last complete segment or round of each chain,
# so that a fit can be built from it at any time.
drive <- function(job) {
  job$clock <- list(
    began = now(), sweeps = total_sweeps(job), say = now_and_then(job$began)
  )
  job <- write_checkpoint(job, force = !has_begun(job$checkpoint))
  engine <- open_engine(job)
  # before the generator is restored, because stopping workers may use it
  on.exit(engine$close(job$outcome), add = TRUE)
  # on.exit() needs the outcome
  job <- drive_legs(job, engine$run)
  job
}

# How the run ends at this check; NULL if it goes on. `vain`: further draws
# would not help.
end_of_run <- function(job, check, common, vain) {
  if (check$verdict == "met") {
    "rule"
  } else if (common >= job$goal) {
    if (is.null(job$running$stop_when)) "done" else "cap"
  } else if (vain) {
    "vain"
  } else if (is_late(job, common)) {
    "time"
  }
}

# Whether the time of a rule is over. Runs end at the end of a round alone.
is_late <- function(job, common) {
  rule <- job$running$stop_when
  !is.null(rule$seconds) && common > 0 && common %% rule$every == 0 &&
    now() - job$began >= rule$seconds
}

drive_legs <- function(job, run) {
  rule <- job$running$stop_when
  check <- NULL
  asked <- FALSE
  doubtful <- is_cut_short(job)
  repeat {
    common <- common_draws(job$chains)
    job <- keep_fewer(job, rule, common)
    check <- rule_verdict(job, rule, common, check$suspect)
    failed <- !is.null(check$suspect)
    vain <- doubtful && common > 0 || failed && !asked && is_hopeless(job) ||
      isTRUE(check$vain)
    asked <- asked || failed
    ended <- end_of_run(job, check, common, vain)
    if (!is.null(ended)) {
      job$outcome <- ended
      break
    }
    if (check$verdict == "drop") {
      job <- begin_anew(job, common)
    }
    end <- leg_end(common, rule, job$goal)
    if (doubtful) end <- min(end, draws_in_doubt)
    job <- show_progress(job, end, check, function(tick) run(job, end, tick))
    if (job$outcome != "done") {
      break
    }
  }
  write_checkpoint(job, force = TRUE)
  job
}

# ---- The result -------------------------------------------------------------

# The fit shows the draws that all chains have; further draws are in `pending`.
build_fit <- function(job, kept) {
  if (length(kept) == 0L) {
    return(NULL)
  }
  job$chains <- job$chains[kept]
  job <- leave_out(job, draws_to_leave_out(job))
  drawn <- min(common_draws(job$chains), job$goal)
  shown <- kept_of(job$chains[[1L]], drawn)
  job$chains <- ordered_chains(job$model, job$chains)
  draws <- lapply(seq_along(job$chains), function(k) {
    fit_numbers(job$model, chain_draws(job, k), job$chains[[k]]$order)
  })
  ahead <- vapply(draws, nrow, 0L) > shown
  pending <- if (any(ahead)) {
    lapply(draws, function(x) x[seq_len(nrow(x)) > shown, , drop = FALSE])
  }
  running <- running_of_fit(job$running, stride_of(job))
  running$chains <- length(kept)
  if (is.list(running$inits)) {
    running$inits <- running$inits[kept]
  }
  own <- with_workspace(list(
    model = job$model, inits = running$inits, call = job$call
  ))
  model <- own$model
  running["inits"] <- own["inits"]
  job$call <- own$call
  if (!running$keep_data) {
    model <- with_own_objects(model_without_data(model), bare = TRUE)
    job$call <- call_without_data(job$call)
  }
  new_fit(
    draws = if (any(ahead)) {
      lapply(draws, function(x) x[seq_len(shown), , drop = FALSE])
    } else {
      draws
    },
    model = model, running = running, chains = job$chains, pending = pending,
    run = run_record(job)
  )
}

# The record of the run: the only part of a fit that may differ between two runs
# with identical draws.
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

announce <- function(job, fit, call) {
  warn_same_streams(job)
  say_dropped(job, fit)
  switch(job$outcome,
    failed = abort_failed(job, fit, call),
    broken = abort_broken(job, fit),
    interrupted = say_interrupted(job, fit, call),
    cap = ,
    vain = ,
    time = judge(fit, job$running$stop_when),
    rule = warn_faults(fit), # the user's own thresholds are met
    if (job$model$independent) warn_faults(fit) else judge(fit)
  )
}

# The check of convergence takes a while for a large fit. Ctrl-C skips it and
# keeps the fit.
judge <- function(fit, rule = NULL) {
  cut_short(allowInterrupts(warn_convergence(fit, rule = rule)))
}

say_dropped <- function(job, fit) {
  dropped <- draws_to_leave_out(job)
  if (dropped > 0 && job$outcome %in% setdiff(endings, "done")) {
    kept <- format_number(shown_draws(fit))
    fit_is <- short_call(job$model)
    inform_gibbsite(
      c(i = "The chains of {.code {fit_is}} needed a longer burn-in: the first
             {format_number(dropped)} draws of each were dropped, and {kept}
             were kept."),
      class = "burnin"
    )
  }
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
      paste0(
        "The other chains are kept: `rlang::last_error()$fit`",
        if (!is_in_shards(job$model)) ", which extend() goes on with", "."
      )
    },
    i = if (has_begun(job$checkpoint)) {
      paste0("All chains can be resumed: ", resume_words(job), ".")
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

# The call that goes on from the checkpoint.
resume_words <- function(job) {
  paste0(
    "resume(\"", job$settings$checkpoint, "\"",
    if (is_in_shards(job$model)) {
      paste0(", data = ", job$model$corpus$name %||% "corpus")
    }, ")"
  )
}

# An error if the user's functions have broken the session, with the fit so far.
abort_broken <- function(job, fit) {
  cnd <- job$problem
  cnd$fit <- fit
  cnd$body <- c(
    cnd$body, i = "The fit so far is kept: `rlang::last_error()$fit`."
  )
  rlang::cnd_signal(cnd)
}

say_interrupted <- function(job, fit, call) {
  drawn <- min(common_draws(job$chains), job$goal)
  rule <- job$running$stop_when
  ruled <- function(text) if (!is.null(rule)) text
  returned <- job$options$on_interrupt == "return"
  waiting <- !all(vapply(job$chains, has_started, NA))
  same <- "the draws will be those of an uninterrupted run."
  text <- c(
    paste0(
      "Interrupted after ", drawn, " of ", ruled("at most "), job$goal,
      " draws in each chain",
      if (waiting) ", before all chains had starting values", "."
    ),
    i = if (returned) {
      paste0(
        "Go on with `extend(fit, ", job$goal - drawn, ruled(", stop_when = "),
        ")`", ruled(paste0(" and the same rule, `every = ", rule$every, "`")),
        ": ", same
      )
    },
    i = if (has_begun(job$checkpoint)) {
      paste0(
        if (returned) "Or from disk: " else "Go on from disk: ",
        resume_words(job), if (!returned) paste0(": ", same) else "."
      )
    } else if (!is.null(job$checkpoint)) {
      "Nothing is in the directory of `checkpoint` yet: to use it, run again."
    },
    # a script has no fit after an error
    i = if (!returned) {
      "The fit so far is `rlang::last_error()$fit`; extend() goes on with it."
    },
    i = if (!returned && is.null(job$checkpoint)) {
      paste(
        "A script that ends here loses it: with `checkpoint`, a directory,",
        "resume() goes on from disk."
      )
    }
  )
  if (returned) {
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

# ---- Progress ----------------------------------------------------------------

# Progress of a run: a bar in a terminal, elsewhere a line now and then. A run
# of a few seconds shows nothing there.

# ---- Lines ------------------------------------------------------------------

# A function that says a line if one is due: after 10 s, after 30 s and then
# every minute. Its argument makes the line from the seconds since the
# beginning; NULL says none.
now_and_then <- function(began = now()) {
  due <- 10
  function(line) {
    gone <- now() - began
    text <- if (gone >= due) line(gone)
    if (!is.null(text)) {
      due <<- if (gone < 30) 30 else gone + 60
      say_progress(text)
    }
  }
}

# A message. While a document is knitted it goes to the terminal, so that the
# document does not change between runs.
say_progress <- function(text) {
  if (isTRUE(getOption("knitr.in.progress"))) {
    writeLines(text, stderr())
  } else {
    inform_gibbsite("{text}", class = "progress")
  }
}

# For work in equal parts: a function to be called after each of `total` parts.
# `frame`: the function whose end closes the bar.
part_counter <- function(what, total, progress, frame = parent.frame()) {
  if (!progress) {
    return(function() NULL)
  }
  if (cli::is_dynamic_tty()) {
    bar <- cli::cli_progress_bar(what, total = total, .envir = frame)
    return(function() cli::cli_progress_update(id = bar, .envir = frame))
  }
  say <- now_and_then()
  done <- 0
  function() {
    done <<- done + 1
    say(function(gone) {
      left <- seconds_words(gone * (total - done) / done)
      if (done < total) {
        paste0(what, ": ", done, " of ", total, " done, about ", left, " left.")
      }
    })
  }
}

# lapply() that shows which of the parts are done, if they take long.
tell_each <- function(parts, what, f) {
  done <- part_counter(what, length(parts), length(parts) > 1L)
  lapply(parts, function(part) {
    out <- f(part)
    done()
    out
  })
}

# What a run says after `done` further sweeps of a leg to `end` draws. `check`:
# that of the stopping rule before this leg.
progress_line <- function(job, end, check, done) {
  running <- job$running
  chains <- length(job$chains)
  made <- total_sweeps(job) + done
  pace <- (made - job$clock$sweeps) / (now() - job$clock$began)
  until <- function(draws) {
    left <- chains * sweep_of(running, min(draws, job$goal)) - made
    seconds_words(max(left, 0) / pace)
  }
  name <- short_call(job$model)
  if (!is.finite(pace) || pace <= 0) {
    return(NULL)
  }
  if (is.null(running$stop_when)) {
    share <- made / (chains * sweep_of(running, job$goal))
    return(paste0(
      name, ": ", floor(100 * share), "% of the sweeps done, about ",
      until(job$goal), " left."
    ))
  }
  swept <- made / chains
  drawn <- max(0, floor((swept - running$burnin) / running$thin))
  cap <- paste0(
    "At most ", format_number(job$goal), " draws, ", until(job$goal), "."
  )
  if (is.null(check$table)) {
    return(paste0(
      name, ": ", if (swept < running$burnin) {
        paste0(floor(100 * swept / running$burnin), "% of the burn-in")
      } else {
        paste(format_number(drawn), "draws of each chain")
      },
      "; convergence is judged after ", format_number(end), " draws, in about ",
      until(end), ". ", cap
    ))
  }
  wanted <- common_draws(job$chains) +
    stride_of(job) * more_draws(check$table)
  paste0(
    name, ": ", format_number(drawn), " draws of each chain. Not converged: ",
    worst_words(check$table), ". About ", if (wanted > job$goal) {
      paste(format_number(signif(wanted, 1)), "draws would be needed. ")
    } else {
      paste0(format_number(wanted), " draws are needed, ", until(wanted), ". ")
    }, cap
  )
}

# ---- One leg ----------------------------------------------------------------

# Calls body(tick), where tick(n) reports n sweeps, for a leg of a run to `end`
# draws. If the user has set progressr's handlers, only these are used.
show_progress <- function(job, end, check, body) {
  if (!job$settings$progress) {
    return(body(function(n) NULL))
  }
  remaining <- sum(vapply(job$chains, function(chain) {
    max(0, sweep_of(job$running, end) - chain$state$sweep)
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
    done <- 0
    return(body(function(n) {
      done <<- done + n
      if (done < remaining) {
        job$clock$say(function(gone) progress_line(job, end, check, done))
      }
    }))
  }
  bar <- progressr::handler_cli(
    format = bar_format(job, end, check), show_after = 0, clear = TRUE
  )
  progressr::with_progress(
    run(),
    # handlers that the session has set take precedence over our bar
    handlers = progressr::handlers(default = bar), enable = TRUE
  )
}

bar_format <- function(job, end, check) {
  every <- job$running$stop_when$every
  waits <- if (!is.null(check$table)) paste0("; ", worst_words(check$table))
  paste0(
    job$running$chains, " chains {cli::pb_bar} {cli::pb_percent} ",
    "ETA {cli::pb_eta}",
    if (!is.null(every)) {
      paste(
        " of round", ceiling(end / every), "of at most",
        ceiling(job$goal / every)
      )
    },
    # cli would evaluate what stands between braces
    gsub("([{}])", "\\1\\1", waits)
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
