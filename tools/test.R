# Runs the tests on the installed package; a regular expression as argument
# selects files. Two R processes run the files, the longest first, and a line is
# printed for each file when it ends. TESTTHAT_CPUS is another number of
# processes; with 1, this one runs the tests itself.
#
# The last line is `N passed, N failed`, by testthat's counts: an error outside
# an expectation counts as a failure. On CI (`CI=true`) a snapshot that is not
# stored also counts as a failure, because there is nothing to compare with. The
# failures are printed again before the last line, so that the end of a log
# shows them. The seconds of each test are in check/test-times.tsv.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- "tests/testthat"

# The files that take longest, in this order; of the others a long file comes
# before a short one.
longest <- c(
  "gmm", "faults", "shards", "evidence", "gibbs-sample", "mh", "checkpoint",
  "interrupt", "joint", "parallel", "input", "badinput", "registration",
  "gmm-exact", "bmf-exact"
)

on_ci <- identical(tolower(Sys.getenv("CI")), "true")

# ---- One file, in a process that runs tests ----------------------------------

# A sampler that hangs fails its test and does not stop the rest: the core polls
# for interrupts, and there R looks at the clock.
limit <- as.double(Sys.getenv(
  "GIBBSITE_TEST_LIMIT",
  if (nzchar(Sys.getenv("GIBBSITE_EXTENDED_TESTS"))) "7200" else "1200"
))
time_limit <- R6::R6Class("TimeLimit", inherit = testthat::Reporter, list(
  start_test = function(context, test) setTimeLimit(elapsed = limit),
  end_test = function(context, test) setTimeLimit(elapsed = Inf)
))

# Older versions of testthat warn of a snapshot that is not stored, and pass.
is_unstored <- function(result) {
  inherits(result, "expectation_warning") &&
    startsWith(conditionMessage(result), "Adding new")
}

is_failure <- function(result) {
  inherits(result, c("expectation_failure", "expectation_error")) ||
    (on_ci && is_unstored(result))
}

# "Failed: test-gmm.R:12: <test>", and the first lines of the message.
told <- function(what, test, result) {
  place <- c(test$file, result$srcref[1])
  lines <- utils::head(strsplit(conditionMessage(result), "\n")[[1]], 20L)
  paste(c(
    paste0(what, ": ", paste(place, collapse = ":"), ": ", test$test),
    paste0("  ", lines, recycle0 = TRUE)
  ), collapse = "\n")
}

# What testthat found, in numbers and text.
digest <- function(results) {
  texts <- function(what, is) {
    unlist(lapply(results, function(test) {
      lapply(Filter(is, test$results), function(result) {
        told(what, test, result)
      })
    }))
  }
  # each result by itself: testthat's table has an error only where it is the
  # last result of its test
  all <- unlist(lapply(results, `[[`, "results"), recursive = FALSE)
  kind <- function(name) vapply(all, inherits, NA, paste0("expectation_", name))
  skips <- vapply(all[kind("skip")], conditionMessage, "")
  list(
    passed = sum(kind("success")),
    failures = texts("Failed", is_failure),
    warnings = texts("Warning", function(result) {
      inherits(result, "expectation_warning") && !is_failure(result)
    }),
    skips = sub("^Reason: ", "", skips),
    times = do.call(rbind, lapply(results, function(test) {
      data.frame(
        file = test$file, test = paste(test$test, collapse = ""),
        expectations = length(test$results),
        processor = round(test$user + test$system, 3),
        elapsed = round(test$real, 3)
      )
    }))
  )
}

# testthat sets the options of its output before each comparison. Nothing is
# printed here, so it need not.
testthat::MultiReporter$set("public", "local_user_output", function(...) NULL)

# The helpers are read once for all files of a process: what once() has made for
# one is there for the next, and functions are compiled once.
read_helpers <- function() {
  library(testthat)
  library(gibbsite)
  helpers <- test_env("gibbsite")
  source_test_helpers(folder, helpers)
  helpers
}

run_file <- function(name, helpers) {
  began <- proc.time()[["elapsed"]]
  found <- tryCatch(
    digest(testthat::test_dir(
      folder, package = "gibbsite", load_package = "installed",
      filter = paste0("^", name, "$"), reporter = time_limit$new(),
      env = helpers, load_helpers = FALSE,
      stop_on_failure = FALSE
    )),
    error = function(condition) {
      list(passed = 0, failures = paste0(
        "Failed: ", name, " could not be run: ", conditionMessage(condition)
      ))
    }
  )
  kind <- RNGkind()
  if (!identical(kind, c("Mersenne-Twister", "Inversion", "Rejection"))) {
    RNGkind("default", "default", "default")
    found$failures <- c(found$failures, paste(
      c("Failed:", name, "left a generator of the kind", kind), collapse = " "
    ))
  }
  found$seconds <- proc.time()[["elapsed"]] - began
  found
}

# ---- All files ---------------------------------------------------------------

queue <- sub("^test-(.*)[.]R$", "\\1", dir(folder, "^test-.*[.]R$"))

# A process that runs tests claims the next file by making its directory, which
# only one process can; what it found is there when the process takes another.
work_from <- function(desk) {
  helpers <- read_helpers()
  for (name in readLines(file.path(desk, "queue"))) {
    own <- file.path(desk, name)
    if (dir.create(own, showWarnings = FALSE)) {
      writeLines(as.character(Sys.getpid()), file.path(own, "process"))
      saveRDS(run_file(name, helpers), file.path(own, "writing"))
      file.rename(file.path(own, "writing"), file.path(own, "found"))
    }
  }
}

if (identical(arguments[1], "--work-from")) {
  work_from(arguments[2])
  quit()
}

if (length(arguments) > 0L) queue <- grep(arguments[1], queue, value = TRUE)
queue <- queue[order(
  match(queue, longest),
  -file.size(file.path(folder, sprintf("test-%s.R", queue)))
)]
processes <- min(
  as.integer(Sys.getenv("TESTTHAT_CPUS", "2")), length(queue),
  max(1L, parallel::detectCores(), na.rm = TRUE)
)

tell <- function(lines) cat(paste0(lines, "\n", recycle0 = TRUE), sep = "")

found <- list()
report <- function(name, result) {
  found[[name]] <<- result
  cat(sprintf(
    "%-22s %5d passed %3d failed %3d skipped %7.1f s %4d left\n", name,
    result$passed, length(result$failures), length(result$skips),
    result$seconds, length(queue) - length(found)
  ))
  tell(c(result$failures, result$warnings))
}

start_worker <- function(desk) {
  processx::process$new(
    file.path(R.home("bin"), "Rscript"),
    c("tools/test.R", "--work-from", desk),
    stdout = "|", stderr = "2>&1", supervise = TRUE, cleanup_tree = TRUE
  )
}

# The file that a process was at when it ended, and what it last said.
lost_file <- function(desk, worker, said) {
  open <- Filter(function(name) {
    process <- file.path(desk, name, "process")
    file.exists(process) && readLines(process) == worker$get_pid()
  }, setdiff(queue, names(found)))
  status <- worker$get_exit_status()
  for (name in open) {
    report(name, list(passed = 0, seconds = NA_real_, failures = paste(
      c(
        sprintf("Failed: %s: its process ended with status %d", name, status),
        utils::tail(said, 20L)
      ),
      collapse = "\n"
    )))
  }
  length(open) > 0L
}

run_by_workers <- function() {
  desk <- tempfile("tests-")
  dir.create(desk)
  writeLines(queue, file.path(desk, "queue"))
  workers <- lapply(seq_len(processes), function(i) start_worker(desk))
  said <- vector("list", processes)
  collect <- function() {
    for (name in setdiff(queue, names(found))) {
      path <- file.path(desk, name, "found")
      if (file.exists(path)) report(name, readRDS(path))
    }
  }
  are_alive <- function() vapply(workers, function(w) w$is_alive(), NA)
  alive <- are_alive()
  # a process that ends has written what it found: collected after the question
  while (any(alive)) {
    processx::poll(workers[alive], 1000L)
    alive <- are_alive()
    for (i in seq_along(workers)) {
      lines <- workers[[i]]$read_output_lines()
      said[[i]] <- utils::tail(c(said[[i]], lines), 20L)
    }
    collect()
    for (i in which(!alive)) {
      if (lost_file(desk, workers[[i]], said[[i]])) {
        workers[[i]] <- start_worker(desk)
        alive[[i]] <- TRUE
      }
    }
  }
}

if (processes > 1L) {
  run_by_workers()
} else {
  helpers <- read_helpers()
  for (name in queue) report(name, run_file(name, helpers))
}

# ---- What was found ----------------------------------------------------------

skips <- sort(table(unlist(lapply(found, `[[`, "skips"))), decreasing = TRUE)
tell(sprintf("Skipped: %d: %s", skips, names(skips)))
times <- do.call(rbind, unname(lapply(found, `[[`, "times")))
if (dir.exists("check") && length(times) > 0L) {
  utils::write.table(times[order(-times$processor), ], "check/test-times.tsv",
    sep = "\t", quote = FALSE, row.names = FALSE
  )
}

passed <- sum(vapply(found, function(result) as.double(result$passed), 0))
failures <- c(
  unlist(lapply(found, `[[`, "failures"), use.names = FALSE),
  sprintf("Failed: %s was not run", setdiff(queue, names(found)))
)
if (passed + length(failures) == 0) failures <- "There was no test to run."
tell(failures)
cat(sprintf("%d passed, %d failed\n", passed, length(failures)))
quit(status = if (length(failures) > 0L) 1L else 0L)
