# Runs the tests on the installed package; a regular expression as argument
# selects files. The last line is `N passed, N failed`, by testthat's counts: an
# error outside an expectation counts as a failure. On CI (`CI=true`) a snapshot
# that is not stored also counts as a failure, because there is nothing to
# compare with. The failures are printed again before the last line, so that the
# end of a log shows them.

filter <- commandArgs(trailingOnly = TRUE)
# the progress reporter stops at ten failures by default
Sys.setenv(TESTTHAT_MAX_FAILS = "Inf")

on_ci <- identical(tolower(Sys.getenv("CI")), "true")

# Older versions of testthat warn of a snapshot that is not stored, and pass.
is_unstored <- function(result) {
  inherits(result, "expectation_warning") &&
    startsWith(conditionMessage(result), "Adding new")
}

is_failure <- function(result) {
  inherits(result, c("expectation_failure", "expectation_error")) ||
    (on_ci && is_unstored(result))
}

retell <- function(results) {
  for (test in results) {
    for (result in test$results) {
      if (is_failure(result)) {
        lines <- utils::head(strsplit(conditionMessage(result), "\n")[[1]], 20L)
        cat(sprintf("Failed: %s: %s\n", test$file, test$test))
        cat(paste0("  ", lines, "\n"), sep = "")
      }
    }
  }
}

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

counts <- tryCatch(
  {
    results <- testthat::test_dir(
      "tests/testthat",
      package = "gibbsite",
      load_package = "installed",
      filter = if (length(filter) > 0L) filter[1L],
      # one line for each file, because a log cannot show a moving line
      reporter = testthat::MultiReporter$new(reporters = list(
        testthat::ProgressReporter$new(
          show_praise = FALSE, update_interval = Inf
        ),
        time_limit$new()
      )),
      stop_on_failure = FALSE
    )
    retell(results)
    # each result by itself: testthat's table has an error only where it is the
    # last result of its test
    all <- unlist(lapply(results, `[[`, "results"), recursive = FALSE)
    c(
      passed = sum(vapply(all, inherits, NA, "expectation_success")),
      failed = sum(vapply(all, is_failure, NA))
    )
  },
  error = function(condition) {
    message("The tests could not be run: ", conditionMessage(condition))
    c(passed = 0, failed = 1)
  }
)
if (sum(counts) == 0) {
  message("There was no test to run.")
  counts[["failed"]] <- 1
}
cat(sprintf("%d passed, %d failed\n", counts[["passed"]], counts[["failed"]]))
quit(status = if (counts[["failed"]] > 0) 1L else 0L)
