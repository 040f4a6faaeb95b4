# Progress of a run: a bar in a terminal, otherwise an occasional line.

# Calls body(tick), where tick(n) reports n sweeps, for a leg of a run to `end`
# draws. It shows a bar by progressr in a terminal, otherwise an occasional
# line. If the user has set progressr's handlers, only these are used.
show_progress <- function(job, end, body) {
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
    return(body(line_ticker(remaining)))
  }
  format <- paste(
    job$running$chains, "chains {cli::pb_bar} {cli::pb_percent}",
    "ETA {cli::pb_eta}"
  )
  every <- job$running$stop_when$every
  if (!is.null(every)) {
    format <- paste(
      format, "of round", ceiling(end / every), "of at most",
      ceiling(job$goal / every)
    )
  }
  bar <- progressr::handler_cli(format = format, show_after = 0, clear = TRUE)
  progressr::with_progress(
    run(),
    # handlers that the session has set take precedence over our bar
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

# A plain line after every tenth of the run, at most one in ten seconds.
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
