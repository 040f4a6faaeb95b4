# Names, distinctive words and covariates of topics.

named_corpus <- withr::with_seed(
  1, sim_lda(30, k = 3, terms = 20, tokens = 30, alpha = 0.3)
)
named <- quietly(gibbs_lda(
  named_corpus$x, 3, draws = 60, burnin = 60, chains = 2, keep = "theta",
  seed = 1, progress = FALSE
))
named_fit <- function() named

test_that("names are shown wherever topics are", {
  fit <- named_fit()
  named <- name_topics(fit, c("1" = "sport", "3" = "trade"))
  names <- c("sport", "2", "trade")
  expect_identical(unique(top_terms(named, 2)$name), names)
  expect_identical(rownames(topic_estimates(named)$phi), names)
  expect_identical(colnames(predict(named)), names)
  expect_identical(levels(predict(named, type = "class")), names)
  expect_identical(unique(tidy(named, matrix = "phi")$name), names)
  expect_match(
    paste(utils::capture.output(print(summary(named))), collapse = "\n"),
    "trade"
  )
  expect_true(any(grepl("sport", drawn(plot(named))$text)))
  expect_identical(as.matrix(named), as.matrix(fit))
  again <- name_topics(named, c("2" = "war"))
  expect_identical(
    colnames(predict(again)), c("sport", "war", "trade")
  )
  expect_true(identical_fit(name_topics(named, NULL), fit))
  expect_identical(
    colnames(predict(name_topics(fit, letters[1:3]))), letters[1:3]
  )
})

test_that("names stay with their topics in longer and united fits", {
  fit <- named_fit()
  named <- name_topics(fit, letters[1:3])
  longer <- quietly(extend(named, 5, progress = FALSE))
  expect_identical(colnames(predict(longer)), letters[1:3])
  other <- quietly(update(fit, seed = 9, keep = "theta"))
  united <- quietly(combine_fits(named, other))
  affinity <- sqrt(topic_estimates(united)$phi[letters[1:3], ]) %*%
    t(sqrt(topic_estimates(named)$phi))
  expect_identical(unname(apply(affinity, 1, which.max)), 1:3)
  # the numbers of the second chain are swapped, and so its names
  order <- attr(other, "chains")[[1]]$order
  expect_length(order, 3)
  backwards <- quietly(combine_fits(name_topics(other, letters[1:3]), fit))
  affinity <- sqrt(topic_estimates(backwards)$phi[letters[1:3], ]) %*%
    t(sqrt(topic_estimates(other)$phi))
  expect_identical(unname(apply(affinity, 1, which.max)), 1:3)
})

test_that("names that are none are refused", {
  fit <- named_fit()
  for (names in list(c("9" = "a"), c("1" = "a", "1" = "b"), "a", 1:3,
                     c("1" = NA), c("1" = ""), c("1" = "a", "2" = "a"),
                     c("1" = "2"), list("a"))) {
    expect_gibbsite_error(name_topics(fit, names))
  }
})

test_that("distinctive words are those of the formulas", {
  phi <- rbind(c(0.5, 0.3, 0.15, 0.05), c(0.5, 0.1, 0.1, 0.3))
  topics <- list(phi = phi, share = c(0.25, 0.75))
  p <- c(0.5, 0.15, 0.1125, 0.2375)
  score <- function(...) gibbsite:::score_of_terms(topics, ...)
  expect_equal(score("lift", 1), phi / rbind(p, p), ignore_attr = TRUE)
  expect_equal(
    score("relevance", 0.3), 0.3 * log(phi) + 0.7 * log(phi / rbind(p, p)),
    ignore_attr = TRUE
  )
  # the exclusivities of topic 1 are .5, .75, .6, 1 / 7
  expect_equal(
    score("frex", 0.4)[1, ],
    1 / (0.4 / c(0.5, 1, 0.75, 0.25) + 0.6 / c(1, 0.75, 0.5, 0.25))
  )
  fit <- named_fit()
  all <- top_terms(fit, 20, by = "relevance", weight = 1)
  expect_identical(all$term, top_terms(fit, 20)$term)
  expect_false(is.unsorted(-all$score[all$topic == 2]))
  expect_gibbsite_error(top_terms(fit, weight = 0.5))
  expect_gibbsite_error(top_terms(fit, by = "frex", weight = 2))
})

test_that("prevalence is the regression of the shares", {
  skip_long()
  fit <- named_fit()
  d <- data.frame(
    party = rep(c("l", "r"), 15), year = seq(-1, 1, length.out = 30)
  )
  set.seed(1)
  table <- topic_prevalence(fit, ~ party + year, d)
  theta <- predict(fit)
  exact <- stats::coef(stats::lm(theta ~ party + year, d))
  expect_identical(table$term[1:3], rownames(exact))
  expect_lt(
    max(abs(table$estimate - c(exact)) / table$std.error), 5 / sqrt(120)
  )
  # the variance: that of the least squares estimates over the draws, and the
  # mean of those within
  all <- do.call(rbind, lapply(fit, unclass))
  parts <- apply(all[, grep("^theta\\[.*,2]", colnames(all))], 1, function(y) {
    within <- summary(stats::lm(y ~ party + year, d))
    c(within$coefficients[, 1], diag(stats::vcov(within)))
  })
  sd <- sqrt(
    apply(parts[1:3, ], 1, stats::var) + rowMeans(parts[4:6, ]) * 27 / 25
  )
  expect_lt(max(abs(table$std.error[4:6] / sd - 1)), 5 / sqrt(2 * 120))
  expect_output(print(table), "95% intervals")
  expect_s3_class(as.data.frame(table), "data.frame", exact = TRUE)
  # panels have words, and one axis for shares of the levels
  levels <- topic_prevalence(fit, ~ 0 + party, d)
  picture <- picture_effects(levels, call = environment())
  expect_identical(picture$panels$title, c("party: l", "party: r"))
  expect_false(picture$x$free)
  d$year <- 1000 * d$year
  table <- topic_prevalence(fit, ~ party + year, d)
  expect_true(picture_effects(table, call = environment())$x$free)
})

test_that("documents are found by their names", {
  fit <- named_fit()
  d <- data.frame(x = sin(1:30), row.names = rownames(predict(fit)))
  one <- withr::with_seed(1, topic_prevalence(fit, ~x, d))
  mixed <- d[sample(30), , drop = FALSE]
  expect_identical(withr::with_seed(1, topic_prevalence(fit, ~x, mixed)), one)
  rownames(d)[[3]] <- "another"
  expect_gibbsite_error(topic_prevalence(fit, ~x, d))
})

test_that("prevalence is drawn and refused", {
  fit <- named_fit()
  d <- data.frame(a = factor(rep(1:3, 10)), b = c(NA, 2:30), c = 1:30)
  table <- topic_prevalence(fit, ~ a, d, topics = 2:3, ndraws = 20)
  expect_identical(unique(table$topic), 2:3)
  expect_true(any(grepl("a: 2", drawn(plot(table))$text)))
  expect_true(any(grepl("a: 3", drawn(plot(table[table$topic == 2, ]))$text)))
  expect_s3_class(ggplot2::autoplot(table, terms = "a2"), "ggplot")
  expect_gibbsite_error(plot(table, terms = "z"))
  for (formula in list(a ~ c, ~z, ~b, ~ c + I(2 * c), "a")) {
    expect_gibbsite_error(topic_prevalence(fit, formula, d))
  }
  expect_gibbsite_error(topic_prevalence(fit, ~a, d[-1, ]))
  expect_gibbsite_error(topic_prevalence(fit, ~a, as.list(d)))
  expect_gibbsite_error(topic_prevalence(fit, ~a, d, topics = 4))
})

test_that("a vector eta is matched to the terms by name", {
  x <- sim_lda(30, k = 2, terms = 6, tokens = 20)$x
  eta <- stats::setNames(c(50, 1:5), rev(colnames(x)))
  fit <- function(eta) {
    quietly(gibbs_lda(x, 2, prior = lda_prior(eta = eta), draws = 10,
                      burnin = 5, chains = 1, seed = 1, progress = FALSE))
  }
  expect_identical(
    as.matrix(fit(eta)), as.matrix(fit(unname(eta[colnames(x)])))
  )
  expect_error(fit(eta[-1L]), "no value for 1 term",
               class = "gibbsite_error_argument")
  expect_error(lda_prior(eta = c(a = 1, a = 2)), "must be different",
               class = "gibbsite_error_argument")
})

test_that("missing, empty and repeated names are treated alike", {
  skip_long()
  counts <- matrix(1:4, 2, dimnames = list(c("d", "d"), c("a", "b")))
  fit <- function(x) {
    quietly(gibbs_lda(x, 1, draws = 5, burnin = 1, chains = 1, seed = 1,
                      progress = FALSE))
  }
  forms <- list(
    counts, Matrix::Matrix(counts, sparse = TRUE),
    slam::as.simple_triplet_matrix(counts)
  )
  for (x in forms) {
    expect_message(
      made <- fit(x), "named \"d\"", class = "gibbsite_message_names"
    )
    expect_identical(rownames(quietly(predict(made))), c("d", "d.1"))
  }
  rownames(counts) <- c(NA, "")
  expect_identical(rownames(quietly(predict(fit(counts)))), c("1", "2"))
  colnames(counts) <- c("a", NA)
  expect_error(fit(counts), "term 2 in `x` is missing",
               class = "gibbsite_error_argument")
  colnames(counts) <- c("a", "")
  tokens <- data.frame(document = c("a", "a", "b"), term = c("", "y", "y"))
  for (x in list(counts, tokens, list(c("", "y"), "y"))) {
    expect_message(made <- fit(x), "left out", class = "gibbsite_message_terms")
    expect_identical(ncol(topic_estimates(made)$phi), 1L)
  }
})

test_that("a new document without terms of the fit has no class", {
  x <- sim_lda(30, k = 2, terms = 6, tokens = 20)$x
  fit <- quietly(gibbs_lda(x, 2, draws = 10, burnin = 5, chains = 1, seed = 1,
                           progress = FALSE))
  new <- rbind(x[1:2, ], none = 0)
  expect_message(shares <- predict(fit, new), "\"none\"",
                 class = "gibbsite_message_empty")
  expect_equal(unname(shares["none", ]), c(0.5, 0.5))
  class <- quietly(predict(fit, new, type = "class"))
  expect_identical(is.na(class), c(term = FALSE, term = FALSE, none = TRUE),
                   ignore_attr = TRUE)
  expect_no_message(predict(fit, new[1:2, ]), class = "gibbsite_message_empty")
})
