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

# The name in a lint of the use of objects, where `said` describes the message
# with a group for the name; NA for other lints.
name_in <- function(lint, said) {
  found <- regmatches(lint$message, regexec(said, lint$message))[[1L]]
  if (lint$linter == "object_usage_linter") found[2L] else NA_character_
}

# A local variable may be used in the text of a condition, "{given}", where
# lintr does not look.
used_in_text <- function(lint) {
  name <- name_in(lint, "local variable .(.+). assigned")
  if (is.na(name)) {
    return(FALSE)
  }
  inside <- sprintf("\\{[^}]*\\b%s\\b[^}]*\\}", name)
  any(grepl(inside, readLines(lint$filename), perl = TRUE))
}

# A script may use what a file that it sources makes, from its folder or from
# the helpers of the tests, where lintr does not look.
of_a_sourced_file <- function(lint) {
  name <- name_in(lint, "no visible .* for (?:global variable )?.(.+).$")
  !is.na(name) && name %in% sourced_names(lint$filename)
}

sourced_names <- function(script) {
  text <- readLines(script)
  sources <- grep("\\bsource\\(", text, value = TRUE)
  names <- unlist(regmatches(sources, gregexpr("[a-z-]+[.]R\\b", sources)))
  files <- file.path(dirname(script), names)
  if (any(grepl("tests/testthat", text, fixed = TRUE))) {
    helpers <- list.files("tests/testthat", "^helper-", full.names = TRUE)
    files <- c(files, helpers)
  }
  lines <- unlist(lapply(files[file.exists(files)], readLines))
  made <- "^([a-z][a-z0-9_]*) <- .*"
  sub(made, "\\1", grep(made, lines, value = TRUE))
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
  !used_in_text(lint) && !of_the_tests(lint) && !of_a_sourced_file(lint)
}, lints)
class(lints) <- "lints"
if (length(lints) > 0L) {
  print(lints)
}
cat(length(lints), "lints\n")
quit(status = if (length(lints) > 0L) 1L else 0L)
