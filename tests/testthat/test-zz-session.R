# The last file: what the tests leave behind.

test_that("no test has left another kind of generator", {
  expect_identical(
    RNGkind(), c("Mersenne-Twister", "Inversion", "Rejection")
  )
})
