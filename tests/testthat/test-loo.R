
test_that("fits are compared by loo_compare(), and loo() takes one", {
  one <- quietly(gibbs_lm(dist ~ speed, cars, seed = 1, draws = 200))
  none <- quietly(gibbs_lm(dist ~ 1, cars, seed = 1, draws = 200))
  compared <- suppressWarnings(loo_compare(one, flat = none))
  expect_identical(rownames(compared), c("one", "flat"))
  by_hand <- suppressWarnings(loo::loo_compare(loo(one), loo(none)))
  expect_equal(compared, by_hand, ignore_attr = TRUE)
  expect_error(loo_compare(one, 1), "must be a fit")
  expect_error(loo(one, none), "take one fit")
  expect_error(loo(one, reloo = TRUE), "`kfold\\(\\)` fits the model")
  expect_error(loo(one, moment_match = TRUE), "`loo_moment_match\\(\\)` does")
})
