# Calls every exported function and method with hostile arguments
# (tests/testthat/helper-badinput.R) and prints what came of it; fails unless
# each call ends in an error of the package's that names the argument, or in a
# right result.  A regular expression as argument picks functions; a second
# argument is a file to which the outcome of each call is written.

library(gibbsite)
`%||%` <- rlang::`%||%`
source("tests/testthat/helper-badinput.R")

arguments <- commandArgs(trailingOnly = TRUE)
pick <- if (length(arguments) > 0L) arguments[[1L]] else ""
file <- if (length(arguments) > 1L) {
  normalizePath(arguments[[2L]], mustWork = FALSE)
}

# not in R's own temporary folder: a process that crashes takes that along
folder <- file.path(dirname(tempdir()), paste0("badinput-", Sys.getpid()))
dir.create(folder)
here <- setwd(folder)
grDevices::pdf(NULL)
forks <- .Platform$OS.type == "unix"

# In a process of its own, which a call may end: NULL then.
apart <- function(code, seconds) {
  if (!forks) {
    return(code)
  }
  job <- parallel::mcparallel(code, silent = TRUE)
  answer <- parallel::mccollect(job, wait = FALSE, timeout = seconds)
  if (is.null(answer)) {
    tools::pskill(job$pid, tools::SIGKILL)
  }
  suppressWarnings(parallel::mccollect(job))
  dir.create(tempdir(), showWarnings = FALSE)
  answer <- answer[[1L]]
  if (inherits(answer, "try-error")) NULL else answer
}

# Some calls at a time: a new process for each would take longer than they do.
run_some <- function(calls, target) {
  all <- apart(lapply(calls, try_hostile, target), 30 * length(calls))
  if (!is.null(all)) {
    return(all)
  }
  # one of them ended the process: which
  lapply(calls, function(call) {
    apart(try_hostile(call, target), 60) %||% c(
      call[c("name", "arg", "value")],
      list(verdict = "crash", said = "the process ended", seconds = NA_real_)
    )
  })
}

tell <- function(outcome) {
  if (!outcome$verdict %in% c("classed", "right")) {
    cat(sprintf(
      "%-7s %s(%s = <%s>): %s\n", outcome$verdict, outcome$name, outcome$arg,
      outcome$value, substr(outcome$said, 1L, 120L)
    ))
  }
}

run_target <- function(calls, target) {
  groups <- split(calls, (seq_along(calls) - 1L) %/% 50L)
  outcomes <- lapply(groups, run_some, target)
  outcomes <- unlist(outcomes, recursive = FALSE, use.names = FALSE)
  lapply(outcomes, tell)
  flush(stdout())
  outcomes
}

began <- proc.time()[["elapsed"]]
objects <- hostile_objects(folder)
targets <- hostile_targets(objects)
calls <- hostile_calls(targets)
calls <- Filter(function(call) grepl(pick, call$name), calls)
outcomes <- lapply(
  split(calls, vapply(calls, `[[`, 0L, "target")),
  function(own) run_target(own, targets[[own[[1L]]$target]])
)
table <- do.call(rbind, lapply(
  unlist(outcomes, recursive = FALSE, use.names = FALSE),
  as.data.frame
))
if (!is.null(file)) saveRDS(table, file)

bad <- table[!table$verdict %in% c("classed", "right"), ]
count <- function(verdict) sum(table$verdict == verdict)
cat(sprintf(
  paste(
    "%d calls of %d functions: %d classed, %d right, %d bare, %d unnamed,",
    "%d wrong, %d late, %d crashed (%.0f s)\n"
  ),
  nrow(table), length(unique(table$name)), count("classed"), count("right"),
  count("bare"), count("unnamed"), count("wrong"), count("late"),
  count("crash"), proc.time()[["elapsed"]] - began
))
setwd(here)
unlink(folder, recursive = TRUE)
quit(status = if (nrow(bad) > 0L) 1L else 0L)
