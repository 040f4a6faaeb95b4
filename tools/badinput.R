# Calls every exported function and method with hostile arguments
# (tests/testthat/helper-badinput.R) and prints the outcomes. It fails unless
# each call ends in an error of the package that names the argument, or in a
# valid result. A regular expression as argument selects functions; a second
# argument is a file to which the outcome of each call is written.

library(gibbsite)
`%||%` <- rlang::`%||%`
source("tests/testthat/helper-badinput.R")
try_hostile <- get("try_hostile") # for lintr, which does not see the file

arguments <- commandArgs(trailingOnly = TRUE)
pick <- if (length(arguments) > 0L) arguments[[1L]] else ""
file <- if (length(arguments) > 1L) {
  normalizePath(arguments[[2L]], mustWork = FALSE)
}

# not in R's own temporary folder, which is lost if the process crashes
folder <- file.path(dirname(tempdir()), paste0("badinput-", Sys.getpid()))
dir.create(folder)
here <- setwd(folder) # nolint: undesirable_function_linter.
# where the processes' standard error goes: a crash writes pages to it
traces <- file.path(here, "check", "badinput-stderr.txt")
dir.create(dirname(traces), showWarnings = FALSE)
unlink(traces)
grDevices::pdf(NULL)
forks <- .Platform$OS.type == "unix"

# In a separate process, because a call may end it; the value is then NULL.
apart <- function(code, seconds) {
  if (!forks) {
    return(code)
  }
  job <- parallel::mcparallel(
    {
      sink(file(traces, "a"), type = "message")
      code
    },
    silent = TRUE
  )
  answer <- parallel::mccollect(job, wait = FALSE, timeout = seconds)
  if (is.null(answer)) {
    tools::pskill(job$pid, tools::SIGKILL)
  }
  suppressWarnings(parallel::mccollect(job))
  dir.create(tempdir(), showWarnings = FALSE)
  answer <- answer[[1L]]
  if (inherits(answer, "try-error")) NULL else answer
}

# Several calls in one process: a new process for each would take longer than
# the call.
run_some <- function(calls, target) {
  all <- apart(lapply(calls, try_hostile, target), 10 + 2 * length(calls))
  if (!is.null(all)) {
    return(all)
  }
  # one of them ended the process: find out which
  lapply(calls, function(call) {
    apart(try_hostile(call, target), 30) %||% c(
      call[c("name", "arg", "value")],
      list(verdict = "crash", said = "the process ended", seconds = NA_real_)
    )
  })
}

good <- c("classed", "right")
verdict_of <- function(outcomes) vapply(outcomes, `[[`, "", "verdict")

# One line a function, and one more for each call that ended badly.
tell <- function(outcomes, seconds) {
  verdicts <- verdict_of(outcomes)
  bad <- outcomes[!verdicts %in% good]
  lines <- vapply(bad, function(outcome) {
    sprintf(
      "  %-7s %s = <%s>: %s\n", outcome$verdict, outcome$arg, outcome$value,
      substr(outcome$said, 1L, 120L)
    )
  }, "")
  cat(paste0(c(
    sprintf(
      "%-36s %4d calls, %4d bad, %3.0f s\n", outcomes[[1L]]$name,
      length(outcomes), length(bad), seconds
    ), lines
  ), collapse = ""))
  flush(stdout())
}

run_target <- function(calls, target) {
  began <- proc.time()[["elapsed"]]
  groups <- split(calls, (seq_along(calls) - 1L) %/% 50L)
  outcomes <- lapply(groups, run_some, target)
  outcomes <- unlist(outcomes, recursive = FALSE, use.names = FALSE)
  tell(outcomes, proc.time()[["elapsed"]] - began)
  outcomes
}

began <- proc.time()[["elapsed"]]
objects <- hostile_objects(folder)
targets <- hostile_targets(objects)
calls <- hostile_calls(targets)
calls <- Filter(function(call) grepl(pick, call$name), calls)
outcomes <- parallel::mclapply(
  unname(split(calls, vapply(calls, `[[`, 0L, "target"))),
  function(own) run_target(own, targets[[own[[1L]]$target]]),
  mc.cores = if (forks) 2L else 1L, mc.preschedule = FALSE
)
outcomes <- unlist(outcomes, recursive = FALSE, use.names = FALSE)
stopifnot(length(outcomes) == length(calls))
result <- do.call(rbind, lapply(outcomes, as.data.frame))
if (!is.null(file)) saveRDS(result, file)

bad <- sum(!result$verdict %in% good)
verdicts <- c(good, "bare", "unnamed", "wrong", "late", "crash")
counts <- table(factor(result$verdict, verdicts))
cat(sprintf(
  "%d calls of %d functions in %.0f s:\n", nrow(result),
  length(unique(result$name)), proc.time()[["elapsed"]] - began
))
cat(sprintf("%8s %6d\n", verdicts, as.integer(counts)), sep = "")
setwd(here) # nolint: undesirable_function_linter.
unlink(folder, recursive = TRUE)
quit(status = if (bad > 0L) 1L else 0L)
