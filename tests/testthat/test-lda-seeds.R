# Topics with priors of their own: matrices of concentrations, seeded topics.

seed_texts <- function(n = 30) {
  withr::with_seed(31, {
    words <- list(
      c("tax", "trade", "bank", "rate"), c("game", "team", "goal", "player"),
      c("the", "of", "and", "to")
    )
    x <- t(vapply(seq_len(n), function(d) {
      own <- words[[1 + d %% 2]]
      tokens <- sample(c(own, own, words[[3]]), 25, replace = TRUE)
      table(factor(tokens, unlist(words)))
    }, numeric(12)))
  })
  rownames(x) <- paste0("d", seq_len(n))
  x
}

fit_seeds <- function(k = 3, prior = NULL, ...) {
  prior <- if (is.null(prior)) {
    lda_prior(0.5, seeded_topics(list(sport = "game", money = c("tax", "ba*"))))
  } else {
    prior
  }
  # so few draws do not converge
  withCallingHandlers(
    gibbs_lda(
      seed_texts(), k, prior, draws = 40, burnin = 200, chains = 2, seed = 5,
      progress = FALSE, ...
    ),
    gibbsite_warning_convergence = function(w) rlang::cnd_muffle(w)
  )
}

seeded_fit <- once(fit_seeds)
four_topics <- once(function() fit_seeds(k = 4))

test_that("seeds become a matrix", {
  x <- seed_texts()
  counts <- as_counts(x, NULL, "error", arg = "x", call = rlang::current_env())
  seeds <- seeded_topics(
    list(sport = "game", money = c("tax", "ba*")), weight = 0.2, eta = 0.05
  )
  eta <- matrix_of_seeds(seeds, 4, counts, rlang::current_env())
  expect_identical(rownames(eta), c("sport", "money", "topic 3", "topic 4"))
  expect_identical(colnames(eta), colnames(x))
  more <- 0.2 * sum(x) / 4
  expected <- matrix(0.05, 4, 12, dimnames = dimnames(eta))
  expected["sport", "game"] <- 0.05 + more
  expected["money", c("tax", "bank")] <- 0.05 + more / 2
  expect_equal(eta, expected)
})

test_that("a matrix with equal elements is the number", {
  skip_long()
  one <- fit_seeds(prior = lda_prior(0.5, 0.3))
  same <- fit_seeds(prior = lda_prior(0.5, matrix(0.3, 3, 12)),
                    inits = list(list(z = rep(1:3, 250)),
                                 list(z = rep(3:1, 250))))
  plain <- fit_seeds(prior = lda_prior(0.5, 0.3),
                     inits = list(list(z = rep(1:3, 250)),
                                  list(z = rep(3:1, 250))))
  expect_equal(topic_estimates(same), topic_estimates(plain),
               tolerance = 1e-6)
  expect_identical(dim(one[[1]]), dim(same[[1]]))
})

test_that("columns are matched by name", {
  eta <- matrix(
    seq_len(36) / 20, 3, dimnames = list(NULL, colnames(seed_texts()))
  )
  shuffled <- cbind(eta[, 12:1], other = 1)
  expect_message(
    fit <- fit_seeds(prior = lda_prior(0.5, shuffled)),
    class = "gibbsite_message_terms"
  )
  expect_identical(
    lapply(fit, as.numeric),
    lapply(fit_seeds(prior = lda_prior(0.5, eta)), as.numeric)
  )
})

test_that("seeded topics keep their numbers and names", {
  skip_long()
  fit <- seeded_fit()
  names <- c("sport", "money", "topic 3")
  topics <- topic_estimates(fit)
  expect_identical(rownames(topics$phi), names)
  expect_identical(colnames(topics$theta), names)
  expect_identical(names(topics$share), names)
  orders <- gibbsite:::topic_orders(fit)
  expect_identical(orders[, 1:2], rbind(1:2, 1:2))
  terms <- top_terms(fit, 3)
  expect_identical(unique(terms$name), names)
  expect_true("game" %in% terms$term[terms$name == "sport"])
  expect_output(print(terms), "sport")
  expect_output(print(summary(fit)), "money")
  expect_identical(unique(tidy(fit, "beta")$name), names)
  expect_named(tidy(fit, "beta"), c("topic", "name", "term", "beta"))
  expect_identical(colnames(predict(fit)), names)
  expect_identical(colnames(fit[[1]])[4:6], indexed("size", 1:3))
})

test_that("only topics with the same row are exchanged", {
  fit <- fit_seeds(k = 5, keep = c("labels", "phi"))
  expect_identical(gibbsite:::topic_groups(gibbsite:::fit_part(fit, "model")),
                   c(1L, 2L, 3L, 3L, 3L))
  labels <- do.call(rbind, lapply(fit, function(chain) {
    unclass(chain)[, indexed("label", 1:5)]
  }))
  expect_identical(unname(labels[, 1]), rep(1, nrow(labels)))
  expect_identical(unname(labels[, 2]), rep(2, nrow(labels)))
  expect_true(all(labels[, 3:5] %in% 3:5))
})

test_that("classes are the topics with the largest shares", {
  skip_long()
  fit <- seeded_fit()
  class <- predict(fit, type = "class")
  expect_s3_class(class, "factor")
  expect_identical(levels(class), c("sport", "money", "topic 3"))
  share <- predict(fit)
  expect_identical(
    unname(as.integer(class)), unname(apply(share, 1, which.max))
  )
  expect_gt(mean(class == rep(c("sport", "money"), 15)), 0.8)
  new <- withr::with_seed(1, predict(fit, seed_texts()[1:5, ], type = "class"))
  expect_identical(names(new), paste0("d", 1:5))
  plain <- predict(fit_seeds(prior = lda_prior(0.5, 0.1)), type = "class")
  expect_identical(levels(plain), as.character(1:3))
})

test_that("a fit with seeds is extended bit for bit", {
  skip_long()
  whole <- four_topics()
  half <- suppressWarnings(
    gibbs_lda(
      seed_texts(), 4, fit_part(whole, "model")$prior, draws = 25,
      burnin = 200, chains = 2, seed = 5, progress = FALSE
    ),
    classes = "gibbsite_warning_convergence"
  )
  long <- suppressWarnings(
    extend(half, 15, progress = FALSE),
    classes = "gibbsite_warning_convergence"
  )
  expect_identical(lapply(long, as.numeric), lapply(whole, as.numeric))
  expect_identical(topic_estimates(long), topic_estimates(whole))
})

test_that("a checkpoint and another process give the same draws with seeds", {
  skip_long()
  whole <- four_topics()
  path <- withr::local_tempdir()
  fit_seeds(k = 4, checkpoint = file.path(path, "run"))
  read <- suppressWarnings(
    resume(file.path(path, "run"), progress = FALSE),
    classes = "gibbsite_warning_convergence"
  )
  expect_true(identical_fit(read, whole))
  expect_true(identical_fit(fit_seeds(k = 4, cores = 2), whole))
})

test_that("the prior predictive distribution has the seeds", {
  skip_long()
  eta <- matrix(0.1, 2, 12, dimnames = list(NULL, colnames(seed_texts())))
  eta[1, c("tax", "bank")] <- 500
  # all tokens of a document have the topic that its alpha prefers
  drawn <- prior_predict(
    gibbs_lda(seed_texts(), 2, lda_prior(c(1000, 0.001), eta)), 20, seed = 1
  )
  share <- vapply(drawn$data, function(x) {
    sum(x[, c("tax", "bank")]) / sum(x)
  }, 0)
  expect_gt(min(share), 0.99)
})

test_that("fits with seeds are compared by the number of topics", {
  skip_long()
  fits <- list(seeded_fit(), four_topics())
  table <- suppressWarnings(
    compare_k(fits, seed = 1, folds = fast_or(2, 3), progress = FALSE),
    classes = "gibbsite_warning_convergence"
  )
  expect_identical(table$k, 3:4)
  expect_true(all(is.finite(table$perplexity)))
  expect_lt(max(table$perplexity), 12)
})

test_that("errors of matrices and seeds name the way out", {
  skip_long()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    lda_prior(eta = matrix(c(1, 0, 1, 1), 2))
    lda_prior(eta = matrix(1, 2, 2, dimnames = list(c("a", "a"), NULL)))
    fit_seeds(prior = lda_prior(eta = matrix(1, 2, 12)))
    fit_seeds(prior = lda_prior(eta = matrix(1, 3, 2)))
    fit_seeds(prior = lda_prior(eta = matrix(
      1, 3, 1, dimnames = list(NULL, "tax")
    )))
    seeded_topics(list("a"))
    seeded_topics("a")
    seeded_topics(list(a = 1))
    seeded_topics(list(a = "a"), weight = 0)
    fit_seeds(1, lda_prior(eta = seeded_topics(list(a = "tax", b = "game"))))
    fit_seeds(3, lda_prior(eta = seeded_topics(list(a = "taxes"))))
  })
  expect_warning(
    fit_seeds(3, lda_prior(eta = seeded_topics(list(a = c("tax", "taxes"))))),
    "taxes", class = "gibbsite_warning_seeds"
  )
})

test_that("bytes that are no text are errors that name the place", {
  skip_long()
  bad <- "a\xff"
  expect_gibbsite_error(class = "gibbsite_error_text", {
    seeded_topics(list(a = c("tax", bad)))
    seeded_topics(setNames(list("tax"), bad))
    lda_prior(eta = matrix(1, 2, 2, dimnames = list(c("a", bad), NULL)))
    lda_prior(eta = matrix(1, 2, 2, dimnames = list(NULL, c("a", bad))))
  })
  latin <- "caf\xe9*"
  Encoding(latin) <- "latin1"
  expect_identical(
    gibbsite:::terms_of_seeds(latin, c("tea", "caf\u00e9s")), list(2L)
  )
})

test_that("priors with a matrix and with seeds are printed", {
  expect_snapshot({
    lda_prior(eta = matrix(c(1, 2, 3, 4), 2))
    lda_prior(eta = seeded_topics(list(a = c("tax", "trade"), b = "game")))
    seeded_topics(list(a = c("tax", "trade"), b = "game"))
  })
})
