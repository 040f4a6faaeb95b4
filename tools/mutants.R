# The wrong samplers of the tests, and the fast test (of `make test`) that finds
# each: a table, one line a mistake. Fails if a mistake is found by none.
#
# A sampler with a mistake is found by the tests of its core against the slow
# twin, if the two differ after some sweeps on the same random numbers; the
# difference is measured here. A mistake that a twin makes if `mutant` names it
# is found by the tests that name it and that the extended suite does not have
# for itself.

library(gibbsite)
library(testthat)
folder <- "tests/testthat"
source(file.path(folder, "helper-exact.R"))
for (file in trust_helpers(folder)) source(file)
`%||%` <- rlang::`%||%`
source(file.path(folder, "helper-mutants.R"))

# ---- samplers beside the right one -------------------------------------------

table <- differences_of_mutants()
found <- table$difference > 1e-3
cat(sprintf(
  "%-20s %-32s %s\n", table$family, table$mutant,
  ifelse(found, sprintf("twin: differs by %.2g", table$difference), "NOT FOUND")
), sep = "")

# ---- mistakes by name --------------------------------------------------------

parts_of <- function(expr) if (is.call(expr)) as.list(expr) else list()

# The calls within an expression for which `is` holds.
calls_in <- function(expr, is) {
  c(
    if (is.call(expr) && is(expr)) list(expr),
    unlist(lapply(parts_of(expr), calls_in, is), recursive = FALSE)
  )
}

strings_in <- function(expr) {
  if (is.character(expr)) expr else unlist(lapply(parts_of(expr), strings_in))
}

calls_of_files <- function(is) {
  files <- dir(folder, "^(helper|test)-.*[.]R$", full.names = TRUE)
  unlist(lapply(files, function(file) {
    expressions <- as.list(parse(file, keep.source = FALSE))
    calls <- do.call(c, lapply(expressions, calls_in, is))
    stats::setNames(as.list(calls), rep(basename(file), length(calls)))
  }), recursive = FALSE)
}

asked <- calls_of_files(function(call) {
  identical(as.list(call)[-3L], list(call[[1L]], as.name("mutant"))) &&
    as.character(call[[1L]]) %in% c("==", "!=") && call[[3L]] != "none"
})
tests <- calls_of_files(function(call) {
  identical(call[[1L]], as.name("test_that")) &&
    !list(quote(skip_unless_extended())) %in% parts_of(call[[3L]])
})
text <- lapply(tests, strings_in)
finders <- vapply(asked, function(call) {
  finds <- vapply(text, function(strings) call[[3L]] %in% strings, NA)
  titles <- vapply(text[finds], `[[`, "", 1L)
  toString(sprintf("%s: %s", names(titles), titles))
}, "")
named <- unique(data.frame(
  file = names(asked), mutant = vapply(asked, `[[`, "", 3L), finders
))
cat(sprintf(
  "%-20s %-32s %s\n", named$file, named$mutant,
  ifelse(nzchar(named$finders), named$finders, "NOT FOUND")
), sep = "")

lost <- sum(!found) + sum(!nzchar(named$finders))
cat(sprintf(
  "%d mistakes, %d not found by a fast test\n", nrow(table) + nrow(named), lost
))
quit(status = if (lost > 0L) 1L else 0L)
