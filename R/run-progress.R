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
