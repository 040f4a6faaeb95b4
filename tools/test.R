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

counts <- tryCatch(
  {
    results <- testthat::test_dir(
      "tests/testthat",
      package = "gibbsite",
      load_package = "installed",
      filter = if (length(filter) > 0L) filter[1L],
      # one line for each file, because a log cannot show a moving line
      reporter = testthat::ProgressReporter$new(
        show_praise = FALSE, update_interval = Inf
      ),
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
