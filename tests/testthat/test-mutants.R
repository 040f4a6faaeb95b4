# What makes the long tests of whole posteriors few: a core that is its slow
# twin on the same random numbers has none of the mistakes of the wrong
# samplers, each of which differs from it within a few sweeps.

cases_once <- once(joint_cases_of_all)

test_that("every core is its slow twin", {
  skip_long()
  cases <- cases_once()
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
  # other cases show all that these show
  not_needed <- c(
    "gibbs_gmm diagonal", "gibbs_gmm shared", "gibbs_lda collapsed, eta drawn",
    "gibbs_lda collapsed, seeded topics", "gibbs_bmf probit, Wishart prior",
    "gibbs_pmf known rates", "gibbs_lm conjugate prior",
    "gibbs_lm horseshoe prior", "gibbs_lm weights, more columns than rows",
    "gibbs_hlm independent deviations", "gibbs_ordinal crossed factors",
    "gibbs_categorical counts, crossed factors", "gibbs_logistic probit, groups"
  )
  names <- vapply(cases_once(), function(case) {
    paste(case$sampler, case$option)
  }, "")
  needed <- is_extended() | !names %in% not_needed
  table <- differences_of_mutants(models_of_mutants(cases_once()[needed]))
  expect_gte(nrow(table), 76)
  expect_identical(table$mutant[table$difference <= 1e-3], character())
})
