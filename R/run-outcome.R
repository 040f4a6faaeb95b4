# The result of a run: the fit, and the error or warning of a run that failed,
# was interrupted or has not converged.

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
    lapply(draws, function(x) {
      unname(x[seq_len(nrow(x)) > shown, , drop = FALSE])
    })
  }
  running <- running_of_fit(job$running, stride_of(job))
  running$draws <- shown
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
  chains <- lapply(seq_along(job$chains), function(k) {
    chain <- job$chains[[k]]
    record <- list(
      state = chain$state, rng = chain$rng, hash = hash_draws(draws[[k]])
    )
    record$from <- chain$from
    record$order <- chain$order
    record
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
