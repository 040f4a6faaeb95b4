# helper-errors.R: what is stored of a condition, and that nothing passes which
# is none.

test_that("class, call and message of a condition are written down", {
  f <- function(x) {
    message("a line\nand another")
    warning("careful")
    cli::cli_abort(
      c("No {.arg x}.", i = "Give one."), class = "gibbsite_error_argument"
    )
  }
  told <- evaluated(quote({
    f(1)
    y <- 2
  }), environment())
  expect_identical(told_lines(told), c(
    "> f(1)", "Message <simpleMessage>", "a line", "and another",
    "Warning in `f()` <simpleWarning>", "careful",
    "Error in `f()` <gibbsite_error_argument>", "No `x`.", "i Give one.",
    "> y <- 2"
  ))
  expect_identical(y, 2)
  lines <- evaluated(quote({
    list(1,
      2
    )
  }), environment())[[1]]$lines
  expect_identical(lines, c("list(1,", "  2", ")"))
})

test_that("the words of an error are those that cli gives a user", {
  f <- function() {
    abort_argument(c(
      "No {.arg x}, {.code a - b} or {.val {c(1, 2)}}; {1:3} {{}}.",
      x = "Not {.cls {c('a', 'b')}}.", i = "Give {.val {letters[1:3]}}.",
      "!" = "So.", "*" = "One.", ">" = "Two.", " " = "Three.",
      "Four  on
        two lines.",
      i = strrep("A long line.", 20)
    ))
  }
  error <- rlang::catch_cnd(f(), "error")
  by_cli <- getS3method(
    "conditionMessage", "rlang_error", envir = asNamespace("rlang")
  )
  expect_identical(conditionMessage(error), by_cli(error))
  caused <- rlang::catch_cnd(abort_state("This.", parent = error), "error")
  expect_identical(conditionMessage(caused), by_cli(caused))
})

test_that("a call without its condition fails", {
  outcome <- function(code) {
    withr::local_envvar(NOT_CRAN = "false")
    found <- NULL
    withCallingHandlers(code, expectation = function(e) {
      found <<- c(found, class(e)[[1]])
      invokeRestart("continue_test")
    })
    setdiff(found, "expectation_skip")
  }
  stop_as <- function(class) rlang::abort("no", class = class)
  good <- "expectation_success"
  bad <- "expectation_failure"
  expect_identical(outcome(expect_gibbsite_error(1 + 1)), bad)
  expect_identical(outcome(expect_gibbsite_error(stop("no"))), bad)
  expect_identical(
    outcome(expect_gibbsite_error(stop_as("gibbsite_error"))), good
  )
  expect_identical(outcome(expect_gibbsite_condition(1 + 1, "message")), bad)
  expect_identical(outcome(expect_gibbsite_condition(stop("no"), "error")), bad)
  expect_identical(
    outcome(expect_gibbsite_condition(message("a"), "warning")), bad
  )
  expect_identical(
    outcome(expect_gibbsite_condition(message("a"), "message")), good
  )
})

test_that("long numbers can be read", {
  expect_identical(format_number(2^53), "9,007,199,254,740,992")
  expect_identical(format_number(2^53 + 2), "9.007199e+15")
  expect_identical(format_number(1e20), "1e+20")
  expect_identical(format_number(.Machine$double.xmax), "1.797693e+308")
  expect_identical(format_number(.Machine$double.xmin), "2.225074e-308")
  expect_identical(format_number(123456789), "123456789")
  expect_identical(format_number(0.3), "0.3")
  expect_identical(format_number(Inf), "Inf")
})
