# Runs situations that users of other software reported, each a real call, and
# prints what comes of it: right (the answer is the one that the file computes
# by other means), refused (a classed error or warning whose words name the
# cause) or WRONG. It fails if one is wrong. The situations are in
# tools/reports/, a file a topic. A regular expression as argument selects
# files.

suppressPackageStartupMessages(library(gibbsite))

`%||%` <- rlang::`%||%`

outcomes <- data.frame(topic = character(), title = character(),
                       verdict = character(), seconds = numeric())
topic <- ""

note_outcome <- function(title, verdict, seconds, said = "") {
  outcomes[nrow(outcomes) + 1L, ] <<- list(topic, title, verdict, seconds)
  cat(sprintf("%-8s %s (%.1f s)\n", verdict, title, seconds))
  if (verdict == "WRONG" && nzchar(said)) cat("         ", said, "\n")
}

# The value of `code`, with the conditions that it raised.
observe <- function(code) {
  seen <- character()
  remember <- function(cnd) {
    seen <<- c(seen, conditionMessage(cnd))
  }
  start <- proc.time()[["elapsed"]]
  value <- tryCatch(
    withCallingHandlers(code,
      warning = function(cnd) {
        remember(cnd)
        invokeRestart("muffleWarning")
      },
      message = function(cnd) {
        remember(cnd)
        invokeRestart("muffleMessage")
      }
    ),
    error = identity
  )
  list(
    value = value, seen = seen, seconds = proc.time()[["elapsed"]] - start
  )
}

# `code` must be TRUE (as all.equal() is), without an error.
right <- function(title, code) {
  run <- observe(code)
  verdict <- if (isTRUE(run$value)) "right" else "WRONG"
  said <- if (inherits(run$value, "error")) {
    conditionMessage(run$value)
  } else {
    paste(format(run$value), collapse = " ")
  }
  note_outcome(title, verdict, run$seconds, said)
}

# `code` must raise an error of the package whose text matches `says`.
refused <- function(title, code, says) {
  run <- observe(code)
  said <- if (inherits(run$value, "gibbsite_error")) {
    paste(cli::ansi_strip(conditionMessage(run$value)), collapse = " ")
  } else {
    paste("no classed error, but", class(run$value)[[1L]])
  }
  flat <- gsub("[[:space:]]+", " ", said)
  ok <- inherits(run$value, "gibbsite_error") && grepl(says, flat)
  note_outcome(title, if (ok) "refused" else "WRONG", run$seconds, flat)
}

# `code` must say something that matches `says`: a warning, a message or a line
# that it prints.
told <- function(title, code, says) {
  printed <- utils::capture.output(run <- observe(code))
  flat <- gsub("[[:space:]]+", " ", cli::ansi_strip(
    paste(c(run$seen, printed), collapse = " ")
  ))
  ok <- !inherits(run$value, "error") && grepl(says, flat)
  if (inherits(run$value, "error")) flat <- conditionMessage(run$value)
  note_outcome(title, if (ok) "right" else "WRONG", run$seconds, flat)
}

pattern <- c(commandArgs(trailingOnly = TRUE), "")[[1L]]
for (file in list.files("tools/reports", pattern, full.names = TRUE)) {
  topic <- sub("[.]R$", "", basename(file))
  cat("\n", topic, "\n", sep = "")
  source(file, local = new.env())
}

count <- table(factor(outcomes$verdict, c("right", "refused", "WRONG")))
cat(sprintf(
  "\n%d situations: %d right, %d refused with a word, %d wrong\n",
  nrow(outcomes), count[["right"]], count[["refused"]], count[["WRONG"]]
))
quit(status = if (count[["WRONG"]] > 0L) 1L else 0L)
