# The last file: what the tests leave behind, and the helpers as a whole.

test_that("no test has left another kind of generator", {
  expect_identical(
    RNGkind(), c("Mersenne-Twister", "Inversion", "Rejection")
  )
})

test_that("no helper overwrites another one's function", {
  files <- dir(test_path("."), "^helper.*[.]R$", full.names = TRUE)
  expect_gt(length(files), 10)
  names <- unlist(lapply(files, function(file) {
    calls <- Filter(function(call) {
      is.call(call) && identical(call[[1]], as.name("<-"))
    }, as.list(parse(file, keep.source = FALSE)))
    unique(vapply(calls, function(call) deparse1(call[[2]]), ""))
  }))
  expect_identical(names[duplicated(names)], character())
})
