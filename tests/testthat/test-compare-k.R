# compare_k(): numbers of components, topics and factors.

# Short chains of mixtures are not sure of their log evidence.
hushed <- function(code) {
  suppressWarnings(quietly(code), classes = "gibbsite_warning_evidence")
}

short <- function(f, ..., draws = 300, burnin = 300, seed = 1) {
  quietly(f(..., draws = draws, burnin = burnin, chains = 2, seed = seed,
            progress = FALSE))
}

mixtures <- once(function() {
  lapply(fast_or(2, 3):1, function(k) {
    short(gibbs_gmm, faithful, k, draws = fast_or(50, 300))
  })
})
corpus <- withr::with_seed(1, sim_lda(90, k = 3, terms = 40, tokens = 50))
topics <- once(function() {
  lapply(c(1, 3), function(k) short(gibbs_lda, corpus$x, k))
})
ratings <- withr::with_seed(1, sim_bmf(50, 40, rank = 3, share = 0.5))
factors <- once(function() {
  lapply(c(1, 3), function(k) short(gibbs_bmf, ratings, k))
})
two_compared <- once(function() {
  hushed(compare_k(utils::tail(mixtures(), 2), seed = 2))
})

test_that("mixtures are compared by log evidence, and loo is beside it", {
  skip_unless_extended()
  most <- 3
  fits <- mixtures()
  found <- hushed(compare_k(fits, seed = 2))
  expect_identical(found$k, seq_len(most))
  expect_identical(found$fit, paste("fit", most:1))
  withr::local_seed(5)
  for (row in seq_len(most)) {
    own <- hushed(log_evidence(fits[[most + 1 - row]]))
    error <- sqrt(found$log_evidence_se[[row]]^2 + attr(own, "se")^2)
    expect_lt(abs(as.numeric(own) - found$log_evidence[[row]]), 4.5 * error)
  }
  factor <- exp(found$log_evidence - max(found$log_evidence))
  expect_equal(found$probability, factor / sum(factor))
  expect_equal(found$difference, max(found$log_evidence) - found$log_evidence)
  # one component is out of the question
  expect_identical(found$sure[[1]], "clear")
  expect_identical(sum(found$sure == "best"), 1L)
  loo <- quietly(loo::loo(fits[[most - 1]]))
  expect_equal(found$elpd_loo[[2]], loo$estimates["elpd_loo", "Estimate"])
  expect_identical(found$pareto_k[[2]], sum(loo$diagnostics$pareto_k > 0.64))
})

test_that("topics are compared by the same halves of held-out documents", {
  skip_unless_extended()
  fits <- topics()
  found <- hushed(compare_k(one = fits[[1]], three = fits[[2]], folds = 3,
                            seed = 2))
  expect_identical(found$fit, c("one", "three"))
  expect_identical(found$sure, c("clear", "best"))
  # one topic has nothing to learn from the first half of a document
  expect_gt(found$perplexity[[1]], 1.2 * found$perplexity[[2]])
  expect_equal(found$coherence[[2]], mean(coherence(fits[[2]])$npmi))
  # halves in common: the difference is less variable than the perplexities
  expect_lt(found$difference_se[[1]],
            0.7 * sqrt(sum(found$perplexity_se^2)))
  # without a fold: the model of the other documents
  model <- attr(fits[[2]], "model")
  held <- c(2, 5, 90)
  train <- gibbsite:::model_fold(model, held, NULL)$train
  whole <- attr(short(gibbs_lda, corpus$x[-held, ], 3), "model")
  expect_identical(train$data[c("word", "start")],
                   whole$data[c("word", "start")])
  expect_identical(train$documents, whole$documents)
})

test_that("the error of a difference of perplexities is that of a jackknife", {
  withr::local_seed(3)
  tokens <- rpois(60, 40) + 1
  base <- rnorm(60, -3, 0.3)
  one <- list(log_lik = tokens * base, tokens = tokens)
  other <- list(log_lik = tokens * (base + rnorm(60, 0.02, 0.05)),
                tokens = tokens)
  perplexity <- function(x, rows) exp(-sum(x$log_lik[rows]) / sum(tokens[rows]))
  without <- vapply(1:60, function(d) {
    perplexity(one, -d) - perplexity(other, -d)
  }, 0)
  jackknife <- sqrt(59 / 60 * sum((without - mean(without))^2))
  expect_equal(gibbsite:::difference_se(one, other), jackknife,
               tolerance = 0.05)
})

test_that("ranks are compared by held-out ratings", {
  skip_long()
  fits <- factors()
  found <- hushed(
    compare_k(fits, folds = fast_or(2, 3), level = 0.8, seed = 2)
  )
  expect_identical(found$sure, c("clear", "best"))
  expect_lt(found$interval_score[[2]], found$interval_score[[1]])
  expect_gt(found$lpd[[2]], found$lpd[[1]])
  # the noise has variance 0.25
  expect_gt(found$rmse[[2]], 0.5)
  expect_output(print(found), "of intervals of 80%")
  # without a fold: the model of the other ratings
  held <- c(3, 10, 200)
  train <- gibbsite:::model_fold(attr(fits[[2]], "model"), held, NULL)$train
  own <- attr(short(gibbs_bmf, ratings[-held, ], 3,
                    predict_at = ratings[held, ]), "model")
  same <- c("users", "items", "pairs", "user_counts", "item_counts", "columns")
  expect_identical(train[same], own[same])
  same <- c("user", "item", "value", "predict_at")
  expect_identical(train$data[same], own$data[same])
  # by the definition
  expect_equal(
    gibbsite:::interval_scores(c(1, 0, 4), c(0, 1, 1), c(3, 3, 3), 0.8),
    c(3, 2 + 10, 2 + 10)
  )
})

test_that("a comparison is the same for a seed, wherever its chains run", {
  skip_unless_extended()
  fits <- factors()
  withr::local_seed(1)
  before <- .Random.seed
  found <- hushed(compare_k(fits, folds = 2, seed = 4))
  expect_identical(.Random.seed, before)
  expect_identical(hushed(compare_k(fits, folds = 2, seed = 4, cores = 2)),
                   found)
})

test_that("a word says how sure a difference is", {
  words <- gibbsite:::sure_words
  expect_identical(words(c(0, 1.1, 1.3, 6), c(0, 0.1, 0.1, 0.1), TRUE),
                   c("best", "open", "likely", "clear"))
  expect_identical(words(c(6, 0), c(1, 0), TRUE), c("likely", "best"))
  expect_identical(words(c(0, 1.9, 2.1, 4.1), c(0, 1, 1, 1), FALSE),
                   c("best", "open", "likely", "clear"))
  # with a smallest difference that matters
  expect_identical(
    words(c(0, 0.9, 1.1, 3.1, 5.1, 2.9), c(0, 0.04, 0.4, 1, 1, 1), FALSE, 1),
    c("best", "equal", "open", "likely", "clear", "open")
  )
  expect_identical(words(c(0, 2.1, 2.3), c(0, 0.1, 0.1), TRUE, 1),
                   c("best", "open", "likely"))
  made <- function(sure) {
    data.frame(fit = c("a", "b", "c"), k = 2:4, sure = sure)
  }
  say <- function(sure) gibbsite:::k_words(made(sure))
  expect_identical(say(c("clear", "best", "clear")),
                   "Best: k = 3; all others are clearly worse.")
  expect_identical(say(c("open", "best", "likely")),
                   "Best: k = 3; not told apart from it: k = 2.")
  expect_identical(say(c("likely", "clear", "best")),
                   "Best: k = 4; probably worse: k = 2.")
  expect_identical(
    say(c("equal", "best", "clear")),
    paste("Best: k = 3; no relevant difference from it: k = 2; all others are",
          "clearly worse.")
  )
  expect_identical(say(c("equal", "best", "equal")),
                   "Best: k = 3; no relevant difference from it: k = 2, 4.")
})

test_that("topics are judged by the agreement of chains", {
  skip_long()
  note <- gibbsite:::topics_note
  scores <- list(
    list(list(same = 3L, topics = 3L), list(same = 3L, topics = 3L)),
    list(list(same = 6L, topics = 6L), list(same = 4L, topics = 6L))
  )
  expect_identical(
    note(scores, c("a", "b")),
    "Topics that all chains agree on, in the worst fold: b 4 of 6."
  )
  expect_null(note(scores[1], "a"))
  # the number is that of the print of a fit
  fit <- topics()[[2]]
  same <- gibbsite:::same_topics(fit)
  expect_output(print(fit), gibbsite:::same_words(seq_len(3) <= same))
})

test_that("a comparison prints, and its picture has the two criteria", {
  skip_long()
  found <- two_compared()
  expect_output(print(found), "Mixtures of the same 272 observations")
  expect_output(print(found), "Best: k = 2; all others are clearly worse.")
  expect_identical(
    gibbsite:::with_errors(data.frame(a = "1", a_se = "2", b = "3")),
    data.frame("a (se)" = "1 (2)", b = "3", check.names = FALSE)
  )
  plain <- as.data.frame(found)
  expect_identical(class(plain), "data.frame")
  expect_output(print(structure(plain, class = class(found))), "log_evidence")
  file <- withr::local_tempfile(fileext = ".png")
  grDevices::png(file)
  shown <- withVisible(plot(found))
  grDevices::dev.off()
  expect_false(shown$visible)
  expect_gt(file.size(file), 1000)
  if (is_extended()) {
    one <- short(gibbs_gmm, faithful, 1, draws = 100)
    same <- hushed(compare_k(a = one, b = one, seed = 2))
    expect_output(print(same), "Best: [ab]; not told apart from it: [ab]")
  }
})

test_that("a part of a comparison, or one changed by hand, is a data frame", {
  skip_long()
  made <- gibbsite:::new_k_comparison(
    c("a", "b"), 1:2,
    list(
      of = "Of", columns = data.frame(rmse = c(2, 1), rmse_se = c(1, 1)),
      criterion = "rmse", second = NULL, evidence = FALSE,
      difference = c(1, 0), se = c(0.1, 0), notes = NULL
    ), 0
  )
  expect_output(print(made), "Best: k = 2; all others are clearly worse.")
  expect_identical(class(made[1, ]), "data.frame")
  expect_identical(names(attributes(made[1, ])),
                   c("names", "row.names", "class"))
  expect_identical(class(made[made$sure != "best", c("k", "rmse")]),
                   "data.frame")
  expect_identical(made[[2, "rmse"]], 1)
  changed <- list(
    within(made, k <- as.character(k)), within(made, rm(sure)),
    within(made, sure <- "open"), within(made, rmse <- "low"),
    within(made, fit <- NULL)
  )
  for (one in changed) {
    expect_output(print(one), "rmse")
    expect_error(plot(one), class = "gibbsite_error_argument")
  }
})

test_that("values that are much worse are cut, and no better ones", {
  comparison <- function(values) {
    gibbsite:::new_k_comparison(
      letters[seq_along(values)], seq_along(values),
      list(
        of = "Of", columns = data.frame(rmse = values, rmse_se = 0),
        criterion = "rmse", second = NULL, evidence = FALSE,
        difference = values - min(values), se = 0 * values, notes = NULL
      ), 0
    )
  }
  cut <- function(...) measure_shown("rmse", comparison(c(...)))$cut
  expect_identical(cut(9, 1.2, 1.1), c(TRUE, FALSE, FALSE))
  expect_false(any(cut(9, 9.1, 1)))
  expect_false(any(cut(3, 2, 1)))
  page <- drawn(plot(comparison(c(9, 1.2, 1.1))))$pictures[[1]]
  text <- Filter(function(layer) layer$kind == "text", page$layers)
  expect_identical(text[[1]]$data$label, "9")
  expect_lt(text[[1]]$data$y, 1.2)
})

test_that("documents of one token are not scored, and a note counts them", {
  skip_long()
  one_token <- c(strsplit(rep("a b a c b a", 6), " "), list("a", "b"))
  fits <- lapply(2:1, function(k) short(gibbs_lda, one_token, k, draws = 20))
  found <- hushed(compare_k(fits, folds = 4, seed = 1))
  expect_true(all(is.finite(found$perplexity)))
  expect_output(print(found),
                "Not scored: 2 documents with fewer than two tokens.")
  # a single document has no standard error
  single <- list(c("a", "b", "a"), "a", "b", "a")
  fits <- lapply(2:1, function(k) short(gibbs_lda, single, k, draws = 20))
  found <- hushed(compare_k(fits, folds = 2, seed = 1))
  expect_setequal(found$sure, c("best", "open"))
  expect_output(print(found), "not told apart from it")
  none <- list("a", "b", "a", "b")
  fits <- lapply(2:1, function(k) short(gibbs_lda, none, k, draws = 20))
  expect_gibbsite_error(compare_k(fits, folds = 2))
})

test_that("log densities are left out where fits do not have the same kind", {
  skip_long()
  stars <- ratings[1:200, ]
  stars$value <- pmin(pmax(round(stars$value) + 3, 1), 5)
  fit <- function(...) {
    short(gibbs_bmf, stars, ..., draws = 40, burnin = 10)
  }
  plain <- fit(2)
  ordinal <- fit(1, link = "ordinal")
  bounded <- fit(1, range = c(1, 5))
  note <- "lpd: left out, since the log densities of"
  for (other in fast_or(list(ordinal), list(ordinal, bounded))) {
    found <- hushed(compare_k(a = other, b = plain, folds = 2, seed = 1))
    expect_identical(found$lpd, c(NA_real_, NA_real_))
    expect_true(all(is.finite(c(found$rmse, found$interval_score))))
    expect_output(print(found), paste(note, "a and b cannot be compared"))
    expect_false(any(grepl("lpd ", utils::capture.output(print(found))[1:6])))
  }
  apart <- gibbsite:::apart_note
  expect_null(apart(list(ordinal, fit(2, link = "ordinal")), c("a", "b")))
  expect_null(apart(list(bounded, fit(2, range = c(1, 5))), c("a", "b")))
  expect_match(apart(list(bounded, fit(2, range = c(0, 5))), c("a", "b")), note)
})

test_that("names and users without ratings are no part of the data", {
  skip_unless_extended()
  x <- unname(as.matrix(faithful[1:90, ]))
  named <- x
  dimnames(named) <- list(paste("row", seq_len(nrow(x))), c("a", "b"))
  fits <- list(short(gibbs_gmm, x, 1), short(gibbs_gmm, named, 2))
  expect_identical(hushed(compare_k(fits, seed = 1))$k, 1:2)
  few <- ratings[1:200, ]
  new <- data.frame(user = "new", item = few$item[[1]])
  fits <- list(
    short(gibbs_bmf, few, 1, predict_at = new, draws = 40),
    short(gibbs_bmf, few, 2, draws = 40)
  )
  expect_identical(hushed(compare_k(fits, folds = 2, seed = 1))$k, 1:2)
})

test_that("fits that cannot be compared are errors", {
  skip_long()
  fits <- rev(utils::tail(mixtures(), 2))
  other <- short(gibbs_gmm, faithful[-1, ], 2, draws = 10, burnin = 5)
  few <- topics()
  line <- short(gibbs_lm, mpg ~ wt, mtcars, draws = 10)
  unknown <- short(gibbs_gmm, faithful, "unknown", draws = 10, burnin = 5)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    compare_k()
    compare_k(fits[[1]])
    compare_k(fits[1])
    compare_k(1, 2)
    compare_k(fits[[1]], line)
    compare_k(fits[[1]], few[[1]])
    compare_k(first = fits[[1]], second = other)
    compare_k(unknown, fits[[1]])
    compare_k(fits[[1]], unknown)
    compare_k(fits, folds = 1)
    compare_k(fits, level = 1)
    compare_k(fits, relevant = -1)
    compare_k(few, folds = 91)
    plot(structure(1, class = "k_comparison"))
  })
  bare <- drop_data(fits[[1]])
  expect_gibbsite_error(class = "gibbsite_error_no_data", {
    compare_k(bare, fits[[2]])
  })
})

test_that("fits and folds that have not converged are named with the reason", {
  skip_long()
  fits <- lapply(1:2, function(k) {
    quietly(gibbs_gmm(
      datasets::faithful[1:60, ], k, draws = 60, burnin = 100, chains = 2,
      seed = 1, progress = FALSE
    ))
  })
  table <- suppressWarnings(compare_k(fits, seed = 1, progress = FALSE))
  expect_output(
    print(table),
    "Not converged: fit 1, .*effective sample size.*: too few draws[.]"
  )
  ratings <- data.frame(
    user = rep(1:8, each = 6), item = rep(1:6, 8),
    rating = rep(c(1, 5, 2, 4), 12)
  )
  never <- until(ess = 1e5, every = 40, max_draws = 160, burnin = "fixed")
  fits <- lapply(1:2, function(rank) {
    quietly(gibbs_bmf(
      ratings, rank, draws = 40, burnin = 40, chains = 2, seed = 1,
      stop_when = never, progress = FALSE
    ))
  })
  table <- suppressWarnings(
    compare_k(fits, folds = 3, seed = 1, progress = FALSE)
  )
  expect_output(print(table), "Not converged: fit 2, .*of ")
  expect_output(print(table), "Not converged: fit 2 in 3 of 3 folds, .*of ")
})
