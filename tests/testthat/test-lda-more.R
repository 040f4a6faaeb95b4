# More documents for a fit of gibbs_lda(): extend(data = ).

more_corpus <- withr::with_seed(11, {
  sim_lda(24, k = 3, terms = 20, tokens = 20)$x
})
rownames(more_corpus) <- paste0("d", 1:24)

first_fit <- function(x = more_corpus[1:18, ], ..., draws = 30, chains = 2) {
  suppressWarnings(gibbs_lda(
    x, 3, draws = draws, burnin = 205, chains = chains, seed = 6,
    progress = FALSE, ...
  ))
}

plain_first <- once(first_fit)

grown <- function(fit, draws, more, ...) {
  suppressMessages(suppressWarnings(
    extend(fit, draws, data = more, progress = FALSE, ...)
  ))
}

test_that("the fit is that of all documents, and of its own draws alone", {
  fit <- first_fit(keep = c("theta", "z"), thin = 2)
  expect_gibbsite_condition(class = "gibbsite_message_documents", {
    suppressWarnings(
      extend(fit, 25, data = more_corpus[19:24, ], progress = FALSE)
    )
  })
  all <- grown(fit, 25, more_corpus[19:24, ], burnin = 40)
  model <- attr(all, "model")
  whole <- attr(first_fit(more_corpus), "model")
  parts <- c("word", "start")
  expect_identical(model$data[parts], whole$data[parts])
  expect_identical(model$documents, rownames(more_corpus))
  expect_identical(model$terms, colnames(more_corpus))
  expect_identical(coda::mcpar(all[[1]]), c(42, 90, 2))
  expect_identical(nobs(all), as.integer(sum(more_corpus)))
  expect_identical(dim(topic_estimates(all)$theta), c(24L, 3L))
  expect_identical(rownames(predict(all)), rownames(more_corpus))
  expect_identical(
    coda::mcpar(grown(fit, 25, more_corpus[19:24, ])[[1]]), c(207, 255, 2)
  )
})

test_that("the result is reproducible, and can be continued", {
  skip_long()
  fit <- plain_first()
  more <- more_corpus[19:24, ]
  all <- grown(fit, 30, more, burnin = 20)
  withr::with_seed(1, expect_true(
    identical_fit(grown(fit, 30, more, burnin = 20, cores = 2), all)
  ))
  part <- grown(fit, 10, more, burnin = 20)
  expect_true(identical_fit(longer(part, 20), all))
  path <- withr::local_tempfile()
  grown(fit, 30, more, burnin = 20, checkpoint = path)
  expect_true(identical_fit(resumed(path), all))
  again <- suppressMessages(suppressWarnings(update(all, draws = 10)))
  expect_equal(shown_draws(again), 10)
})

for (method in lda_test_methods) {
  test_that(paste("a state keeps its topics, in the fit's numbers:", method), {
    fit <- first_fit(keep = "z", method = method)
    before <- attr(fit, "model")
    model <- suppressMessages(
      model_enlarged(before, more_corpus[19:24, ], environment())
    )
    for (k in seq_along(fit)) {
      chain <- attr(fit, "chains")[[k]]
      # a row of the draws has the numbers of the fit
      own <- lda_topics(chain$state)
      state <- model_state_enlarged(model, before, chain)
      z <- lda_topics(state)
      expect_identical(chain$order[z[seq_along(own)]], own)
      expect_length(z, sum(more_corpus))
      expect_true(all(z %in% 1:3))
      expect_identical(state$alpha, chain$state$alpha)
      expect_identical(state$sweep, 0)
    }
  })
}

test_that("topics keep numbers and names", {
  skip_long()
  fit <- name_topics(plain_first(), c("2" = "sport"))
  all <- grown(fit, 30, more_corpus[19:24, ], burnin = 50)
  expect_identical(topic_names(attr(all, "model")), c("1", "sport", "3"))
  phi <- function(fit) topic_estimates(fit)$phi
  likeness <- sqrt(phi(fit)) %*% t(sqrt(phi(all)))
  expect_identical(unname(max.col(likeness)), 1:3)
})

# Topics of the tokens of a document have the probabilities of theta * phi.
test_that("topics of new tokens are drawn given theta and phi", {
  withr::local_seed(3)
  phi <- rbind(c(0.2, 0.8), c(0.5, 0.5), c(0.9, 0.1))
  theta <- cbind(c(0.6, 0.3, 0.1), c(0.1, 0.1, 0.8), c(1, 0, 0))
  z <- draw_topics(
    rep(c(1L, 2L, 1L), c(4000, 4000, 5)), c(0, 4000, 8000, 8005), phi, theta
  )
  share <- function(z) tabulate(z, 3) / length(z)
  expect_p <- function(z, p) {
    p <- p / sum(p)
    expect_lt(max(abs(share(z) - p) / sqrt(p * (1 - p) / length(z))), 4.5)
  }
  expect_p(z[1:4000], theta[, 1] * phi[, 1])
  expect_p(z[4001:8000], theta[, 2] * phi[, 2])
  expect_identical(z[8001:8005], rep(1L, 5))
})

test_that("means of phi are those given the topics", {
  for (eta in list(0.3, 1:20 / 10, matrix(1:60 / 20, 3), uniform_prior(0, 2))) {
    prior <- lda_prior(0.5, eta)
    fit <- first_fit(prior = prior, chains = 1)
    model <- attr(fit, "model")
    state <- attr(fit, "chains")[[1]]$state
    z <- lda_topics(state)
    by_term <- twin_counts(model, z)$by_term
    by_term <- by_term + rows_of(state$eta %||% unname(model$prior$eta), 3, 20)
    expect_equal(
      phi_of_topics(model, state, z), unname(by_term / rowSums(by_term))
    )
  }
})

# Exactness: a fit of two documents, to which a third with a new term comes.
for (method in lda_test_methods) {
  test_that(paste("the draws are those of the larger corpus:", method), {
    if (method == "uncollapsed") skip_long() else skip_unless_extended()
    old <- list(a = c("u", "u", "v"), b = c("v", "w"))
    fit <- suppressWarnings(gibbs_lda(
      old, 2, lda_prior(gamma_prior(2, 2), 0.4), method, keep = "z", draws = 20,
      burnin = 50, chains = 4, seed = 8, progress = FALSE
    ))
    all <- grown(fit, fast_or(4000, 20000), list(c = c("u", "x", "w")),
                 burnin = 100)
    model <- attr(all, "model")
    exact <- by_summation(model, 200)
    values <- lapply(all, function(draws) {
      colnames(draws) <- NULL
      summation_values(model, unclass(draws))
    })
    # topics have the numbers of the pivot: without those that depend on them
    free <- !startsWith(names(exact), "topic_1")
    scores <- vapply(which(free), function(q) {
      column <- vapply(values, function(chain) chain[, q], values[[1]][, 1])
      if (stats::sd(column) == 0) 0 else z_of_chains(column, exact[[q]])
    }, 0)
    expect_lt(max(abs(scores)), 4.5)
  })
}

test_that("new terms join the vocabulary", {
  fit <- plain_first()
  more <- list(e1 = c("term1", "lion", "term2"), e2 = c("lion", "bear"),
               e3 = character())
  expect_gibbsite_condition(class = "gibbsite_message_documents", {
    suppressWarnings(extend(fit, 20, data = more, progress = FALSE))
  })
  all <- grown(fit, 20, more, burnin = 20)
  expect_identical(
    attr(all, "model")$terms, c(colnames(more_corpus), "lion", "bear")
  )
  expect_identical(tail(rownames(predict(all)), 3), names(more))
  expect_equal(unname(predict(all)["e3", ]), rep(1 / 3, 3))
  # a term that no new document has does not
  wide <- cbind(more_corpus[19:24, ], unused = 0)
  expect_identical(
    attr(grown(fit, 20, wide, burnin = 20), "model")$terms,
    colnames(more_corpus)
  )
  capital <- list(e = c("Term1", "term2"))
  expect_gibbsite_condition(class = "gibbsite_message_documents", {
    suppressWarnings(extend(fit, 20, data = capital, progress = FALSE))
  })
})

test_that("documents without names are numbered on", {
  x <- unname(as.matrix(more_corpus))
  fit <- first_fit(x[1:18, ])
  all <- grown(fit, 20, x[19:24, ], burnin = 20)
  expect_identical(attr(all, "model")$documents, as.character(1:24))
  expect_identical(attr(all, "model")$data$word,
                   attr(first_fit(x), "model")$data$word)
})

test_that("the documents of the fit continue it", {
  fit <- plain_first()
  expect_true(identical_fit(grown(fit, 5, more_corpus[1:18, ]), longer(fit, 5)))
})

test_that("seeded topics take documents of known terms", {
  seeds <- lda_prior(0.5, seeded_topics(list(one = "term1", two = "term2")))
  fit <- first_fit(prior = seeds)
  all <- grown(fit, 20, more_corpus[19:24, ], burnin = 20)
  expect_identical(attr(all, "model")$prior, attr(fit, "model")$prior)
  expect_gibbsite_error({
    extend(fit, 20, data = list(e = c("term1", "lion")))
  })
})

test_that("what cannot be added is refused", {
  skip_long()
  fit <- plain_first()
  more <- more_corpus[17:24, ]
  expect_gibbsite_error(extend(fit, 5, data = more), "gibbsite_error_names")
  expect_gibbsite_error({
    extend(fit, 5, data = iris)
    extend(fit, 5, burnin = 10)
    extend(fit, 5, data = more_corpus[19:24, ], burnin = -1)
    extend(drop_data(fit), 5, data = more_corpus[19:24, ])
    extend(first_fit(prior = lda_prior(0.1, 1:20 / 20)), 5,
           data = list(e = "lion"))
    extend(
      first_fit(scatter(NULL, more_corpus[1:18, ]),
                method = "partially_collapsed"),
      5, data = more_corpus[19:24, ]
    )
    extend(quietly(gibbs_gmm(faithful, 2, draws = 20, burnin = 5, seed = 1,
                             progress = FALSE)), 5, data = faithful[1:9, ])
  })
})

test_that("chains that have no topics yet cannot take documents", {
  fit <- plain_first()
  attr(fit, "chains")[[2]]$state$to_choose <- TRUE
  expect_gibbsite_error({
    suppressMessages(extend(fit, 5, data = more_corpus[19:24, ]))
  })
})
