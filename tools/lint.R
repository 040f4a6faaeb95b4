# Lints the package, its tests and its scripts by .lintr, and R/ by what holds
# there alone: conditions are classed, so nothing calls stop() or warning().

conditions <- lintr::undesirable_function_linter(c(
  stop = "raise a classed condition: see R/check.R",
  warning = "raise a classed condition: see R/check.R",
  message = "use cli::cli_inform()",
  print = "write print methods with cli or cat()"
))

lints <- c(
  lintr::lint_package(),
  lintr::lint_dir("tools"),
  lintr::lint_dir("bench"),
  lintr::lint_dir("R", linters = list(conditions = conditions))
)
class(lints) <- "lints"
if (length(lints) > 0L) {
  print(lints)
}
cat(length(lints), "lints\n")
quit(status = if (length(lints) > 0L) 1L else 0L)
