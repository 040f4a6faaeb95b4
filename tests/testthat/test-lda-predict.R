
test_that("a document without words has no class", {
  x <- rbind(a = c(2, 1, 0), b = c(0, 0, 0), c = c(0, 1, 3))
  fit <- brief(gibbs_lda, x, 2, empty = "keep")
  class <- quietly(predict(fit, type = "class"))
  expect_identical(unname(is.na(class)), c(FALSE, TRUE, FALSE))
  expect_identical(names(class), c("a", "b", "c"))
  expect_identical(
    is.na(quietly(predict(fit, x, type = "class"))), is.na(class)
  )
})
