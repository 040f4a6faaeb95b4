# Which tests run where: tests/README.md, "Long tests".

# A test that takes more than a fifth of a second of processor time begins with
# this, unless it is one of the few that tests/README.md keeps for CRAN.
skip_long <- function() {
  testthat::skip_if_not(
    identical(Sys.getenv("NOT_CRAN"), "true"), "On CRAN: a long test"
  )
}

is_extended <- function() {
  identical(Sys.getenv("GIBBSITE_EXTENDED_TESTS"), "true")
}

# What a test of `make test` takes, and what it takes in the extended suite.
fast_or <- function(fast, extended) if (is_extended()) extended else fast

skip_unless_extended <- function() {
  testthat::skip_if_not(is_extended(), "GIBBSITE_EXTENDED_TESTS is not true")
}
