# What print() says about the topics of several chains.

notes_of <- function(fit, table = convergence(fit)) {
  model_notes(attr(fit, "model"), fit, table)
}

verdict_of <- function(fit) verdict_lines(convergence(fit))

agreement_of <- function(fit) {
  topics <- chain_topics(fit, c("phi", "theta"))
  topic_agreement(fit, topics, match_topics(fit, topics))
}

test_that("chains with the same topics are said to agree", {
  skip_long()
  corpus <- withr::with_seed(1, sim_lda(150, k = 3, terms = 200, tokens = 80))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 3, draws = 200, burnin = 300, chains = 3, seed = 1
  ))
  agreement <- agreement_of(fit)
  expect_length(agreement$affinity, 3)
  expect_true(all(agreement$affinity > 0.97 & agreement$affinity <= 1))
  expect_lt(agreement$documents, 0.02)
  expect_equal(
    agreement$perplexity,
    vapply(1:3, function(k) exp(-mean(fit[[k]][, "log_lik"])), 0)
  )
  expect_match(
    notes_of(fit, NULL)[1], "^Topics: 3 of 3 are the same in all chains"
  )
  expect_length(grep("Nearly|Hardly", notes_of(fit)), 0)
})

test_that("the distance between documents is computed as it is defined", {
  corpus <- withr::with_seed(2, sim_lda(20, k = 2, terms = 30, tokens = 20))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 2, draws = 30, burnin = 5, chains = 3, seed = 1
  ))
  order <- topic_orders(fit)
  theta <- lapply(1:3, function(chain) {
    own <- lda_streamed(attr(fit, "model"), attr(fit, "chains")[[chain]]$state)
    own$theta[, order[chain, ]]
  })
  apart <- function(a, b) mean(apply(abs(theta[[a]] - theta[[b]]), 1, sum) / 2)
  expect_equal(
    agreement_of(fit)$documents,
    (apart(1, 2) + apart(1, 3) + apart(2, 3)) / 3
  )
})

test_that("chains with other topics are said to differ, and what to do", {
  skip_long()
  corpus <- withr::with_seed(3, sim_lda(60, k = 12, terms = 300, tokens = 200))
  # fewer topics than there are: each chain finds others
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 5, draws = 40, burnin = 60, chains = 2, seed = 1
  ))
  expect_match(
    notes_of(fit, NULL)[1], "least 0\\.[0-9]+, topic [1-5]\\.$"
  )
  verdict <- verdict_of(fit)
  expect_match(verdict[1], " topics? .*the same in all chains")
  expect_match(verdict[4], "topics of one chain: top_terms(fit, chain = 1)",
               fixed = TRUE)
  expect_length(notes_of(suppressWarnings(gibbs_lda(
    corpus$x, 5, draws = 8, burnin = 5, chains = 1, seed = 1
  ))), 0)
})

test_that("superfluous topics are named", {
  skip_long()
  corpus <- withr::with_seed(4, sim_lda(150, k = 3, terms = 200, tokens = 80))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 7, draws = 200, burnin = 300, chains = 2, seed = 1
  ))
  expect_match(
    paste(notes_of(fit), collapse = " "),
    "Nearly the same terms: topics .* Hardly used .*: topics "
  )
  lines <- duplicate_lines(list(
    phi = rbind(c(0.9, 0.1), c(0.88, 0.12), c(0.1, 0.9)),
    share = c(0.5, 0.49, 0.01)
  ))
  expect_identical(lines, c(
    "Nearly the same terms: topics 1 and 2.",
    "Hardly used (less than a tenth of an equal share): topics 3."
  ))
})

test_that("a window without averages says nothing about topics", {
  skip_long()
  corpus <- withr::with_seed(5, sim_lda(30, k = 2, terms = 30, tokens = 20))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 2, draws = 40, burnin = 5, chains = 2, seed = 1
  ))
  late <- window(fit, start = 26)
  expect_null(notes_of(late))
  expect_output(print(summary(late)), "Not converged|Converged")
  expect_gibbsite_error({
    top_terms(late)
    predict(late)
    held_out_perplexity(late, corpus$x)
  })
  more <- suppressWarnings(extend(late, 20, progress = FALSE))
  expect_identical(
    as.mcmc.list(more),
    suppressWarnings(extend(fit, 20, progress = FALSE))[21:60, ]
  )
  expect_equal(
    lda_streamed(attr(more, "model"), attr(more, "chains")[[1]]$state)$draws, 20
  )
})

test_that("a fit whose columns were renamed prints its topics", {
  skip_long()
  corpus <- withr::with_seed(6, sim_lda(30, k = 2, terms = 30, tokens = 20))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 2, draws = 20, burnin = 5, chains = 2, seed = 1
  ))
  coda::varnames(fit) <- paste0("v", seq_along(coda::varnames(fit)))
  expect_output(print(fit), "topics? .*the same in all chains")
  expect_output(print(fit), "Documents: their shares differ")
})

test_that("topics that changed places within a chain are named", {
  skip_long()
  switched <- rbind(c(0, 0.5, 0.01, 0), c(0.2, 0, 0.04, 0))
  expect_identical(switched_lines(switched)[[1]], paste(
    "Topics that changed places within a chain, in up to 50% of its draws:",
    "1, 2."
  ))
  expect_null(switched_lines(switched * 0.1))
  # so few tokens that no topic keeps them
  corpus <- withr::with_seed(1, sim_lda(8, k = 4, terms = 10, tokens = 6))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 4, draws = 2000, burnin = 200, chains = 2, seed = 1,
    progress = FALSE
  ))
  verdict <- verdict_of(fit)
  expect_length(grep("changed places within a chain", verdict), 1)
  expect_length(grep("of one chain|can be used", verdict), 0)
})

test_that("one state of the topics has one verdict, whatever its cause", {
  skip_long()
  corpus <- withr::with_seed(4, sim_lda(150, k = 3, terms = 200, tokens = 80))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 4, draws = 100, burnin = 100, chains = 2, seed = 1
  ))
  model <- attr(fit, "model")
  table <- convergence(fit)
  kinds <- list("stuck", "short", "burnin")
  causes <- lapply(kinds, function(kind) {
    model_cause(model, fit, table, list(kind = kind, more = 20000))
  })
  expect_identical(causes[[1]], causes[[2]])
  expect_identical(causes[[1]], causes[[3]])
  expect_identical(causes[[1]]$kind, "topics")
  climbs <- list(kind = "climbing")
  expect_identical(model_cause(model, fit, table, climbs), climbs)
  # the warning at the end of the run begins with it, too
  lead <- causes[[1]]$lead
  expect_warning(
    gibbs_lda(corpus$x, 4, draws = 100, burnin = 100, chains = 2, seed = 1),
    lead, fixed = TRUE
  )
})

test_that("the topics that are not the same in all chains are named", {
  same <- rep(TRUE, 8)
  expect_identical(same_words(same), "All 8 topics are the same in all chains.")
  same[3] <- FALSE
  expect_identical(
    same_words(same),
    "7 of 8 topics are the same in all chains; topic 3 is not."
  )
  same[7] <- FALSE
  expect_identical(
    same_words(same),
    "6 of 8 topics are the same in all chains; topics 3 and 7 are not."
  )
  expect_identical(
    same_words(c(TRUE, FALSE)),
    "1 of 2 topics is the same in all chains; topic 2 is not."
  )
  expect_identical(
    same_words(c(FALSE, FALSE)),
    "None of the 2 topics is the same in all chains."
  )
})

test_that("terms in most documents are named, and only those", {
  texts <- withr::with_seed(1, replicate(25, paste(
    c("the", "of", "and", sample(letters[1:20], 8)), collapse = " "
  )))
  lines_of <- function(counts) {
    fit <- quietly(gibbs_lda(
      counts, 3, draws = 5, burnin = 5, chains = 1, seed = 1, progress = FALSE
    ))
    gibbsite:::common_terms_lines(attr(fit, "model"))
  }
  expect_match(
    lines_of(token_counts(texts)), "\"the\", \"of\" and \"and\"", fixed = TRUE
  )
  # too few of them, and of documents
  expect_null(lines_of(token_counts(texts, max_share = 0.75)))
  expect_null(lines_of(token_counts(texts, "of")))
  expect_null(lines_of(token_counts(texts[1:19])))
  # without its data
  expect_null(gibbsite:::common_terms_lines(list(data = NULL)))
})
