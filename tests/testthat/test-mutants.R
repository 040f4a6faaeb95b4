# What makes the long tests of whole posteriors few: a core that is its slow
# twin on the same random numbers has none of the mistakes of the wrong
# samplers, each of which differs from it within a few sweeps.

test_that("every core is its slow twin", {
  skip_long()
  cases <- joint_cases_of_all()
  first <- !duplicated(vapply(cases, `[[`, "", "sampler"))
  for (case in cases[first | is_extended()]) {
    difference <- difference_from_twin(case, fast_or(8, 20))
    # topics' proportions are summed in another order
    near <- if (case$sampler == "gibbs_lda") 1e-5 else 1e-9
    if (!is.na(difference)) {
      expect_lt(difference, near, label = paste(case$sampler, case$option))
    }
  }
})

test_that("every wrong sampler differs from the right one at once", {
  skip_long()
  table <- differences_of_mutants()
  expect_gte(nrow(table), 76)
  expect_identical(table$mutant[table$difference <= 1e-3], character())
})
