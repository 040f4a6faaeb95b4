# Every sampler against posteriors that are known without one (helper-known.R).

test_that("posteriors that are known are recovered", {
  skip_unless_extended()
  for (case in known_cases()) {
    scores <- known_scores(case$run())
    expect_lt(
      max(abs(scores$z)), 4.5, label = paste(case$sampler, case$option)
    )
  }
})

test_that("the comparison finds draws of another posterior", {
  skip_long()
  case <- known_cases_of_topics()[[1]]
  result <- case$run()
  result$chains <- lapply(result$chains, function(chain) 1.1 * chain)
  expect_gt(max(abs(known_scores(result)$z)), 4.5)
  result$exact <- result$exact[1]
  result$chains <- lapply(result$chains, function(chain) 0 * chain)
  expect_identical(known_scores(result)$z, Inf)
})
