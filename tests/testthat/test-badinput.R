# A part of `make badinput`, by the same functions (helper-badinput.R): each
# function and each value has its share.

test_that("hostile arguments end in an error that names them, or are right", {
  skip_long()
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  withr::local_preserve_seed()
  local_bounded_memory()
  objects <- hostile_objects(folder)
  targets <- hostile_targets(objects)
  calls <- hostile_calls(targets)
  expect_gt(length(calls), 1500)
  share <- fast_or(60, 10)
  some <- some_hostile_calls(calls, share)
  expect_gt(length(some), length(calls) / share / 1.5)
  of <- function(calls, part) sort(unique(unlist(lapply(calls, `[[`, part))))
  expect_identical(of(some, "target"), of(calls, "target"))
  expect_identical(of(some, "value"), of(calls, "value"))
  # in two processes where there are, each function in one: there is one
  # checkpoint to resume
  half <- vapply(some, function(call) call$target %% 2, 0)
  outcomes <- parallel::mclapply(split(some, half), function(calls) {
    lapply(calls, function(call) try_hostile(call, targets[[call$target]]))
  }, mc.cores = if (.Platform$OS.type == "unix") 2L else 1L)
  outcomes <- unlist(outcomes, recursive = FALSE, use.names = FALSE)
  expect_length(outcomes, length(some))
  bad <- Filter(function(outcome) {
    !outcome$verdict %in% c("classed", "right")
  }, outcomes)
  words <- vapply(bad, function(outcome) {
    sprintf(
      "%s: %s(%s = <%s>): %s", outcome$verdict, outcome$name, outcome$arg,
      outcome$value, outcome$said
    )
  }, "")
  expect_identical(words, character())
})

test_that("a bare error, a nonsense taken and another's name are told apart", {
  skip_long()
  judge <- function(f, arg = "x", value = "string") {
    target <- list(
      name = "f", f = f, call = f, base = list(x = 1, y = 2), object = ""
    )
    call <- list(target = 1L, name = "f", arg = arg, value = value)
    try_hostile(call, target)$verdict
  }
  expect_identical(judge(function(x, y) gibbsite:::check_number(x)), "classed")
  expect_identical(
    judge(function(x, y) gibbsite:::check_number(x, arg = "z")), "unnamed"
  )
  expect_identical(judge(function(x, y) x + 1), "bare")
  expect_identical(judge(function(x, y) y), "wrong")
  expect_identical(judge(function(x, y = 1) NaN, "y", "null"), "wrong")
  expect_identical(judge(function(x, y = NULL) 1, "y", "null"), "right")
  expect_identical(judge(function(x, y) x, value = "missing"), "bare")
})
