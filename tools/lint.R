# Lints the package, its tests and its scripts by .lintr, and R/ also by a rule
# of its own: conditions are classed (R/conditions.R raises them).

conditions <- lintr::undesirable_function_linter(
  c(
    stop = "raise a classed condition: see R/conditions.R",
    warning = "raise a classed condition: see R/conditions.R",
    message = "use cli::cli_inform()",
    printf = "use cli::cli_inform()"
  ),
  symbol_is_undesirable = FALSE
)

# The lints of a folder, with file names that start at the package.
lint_folder <- function(folder, ...) {
  lapply(lintr::lint_dir(folder, ...), function(lint) {
    lint$filename <- file.path(folder, lint$filename)
    lint
  })
}

# A local variable may be used in the text of a condition, "{given}", where
# lintr does not look.
used_in_text <- function(lint) {
  said <- regmatches(
    lint$message, regexec("local variable .(.+). assigned", lint$message)
  )[[1L]]
  if (lint$linter != "object_usage_linter" || length(said) < 2L) {
    return(FALSE)
  }
  inside <- sprintf("\\{[^}]*\\b%s\\b[^}]*\\}", said[2L])
  any(grepl(inside, readLines(lint$filename), perl = TRUE))
}

# testthat's functions and the helpers are visible only when the tests run.
of_the_tests <- function(lint) {
  lint$linter == "object_usage_linter" && startsWith(lint$filename, "tests/")
}

lints <- c(
  lintr::lint_package(),
  lint_folder("tools"),
  lint_folder("bench"),
  lint_folder("R", linters = list(conditions = conditions))
)
lints <- Filter(function(lint) {
  !used_in_text(lint) && !of_the_tests(lint)
}, lints)
class(lints) <- "lints"
if (length(lints) > 0L) {
  print(lints)
}
cat(length(lints), "lints\n")
quit(status = if (length(lints) > 0L) 1L else 0L)
