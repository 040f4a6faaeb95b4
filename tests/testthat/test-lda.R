# gibbs_lda() as a user meets it: its promises, its answers, its errors.

corpus <- local({
  set.seed(11)
  sim_lda(40, k = 3, terms = 30, tokens = 40, alpha = 0.2)
})

short_lda <- function(draws = 40, ..., x = corpus$x, k = 3, burnin = 20,
                      chains = 2, seed = 1) {
  suppressWarnings(gibbs_lda(
    x, k, draws = draws, burnin = burnin, chains = chains, seed = seed,
    progress = FALSE, ...
  ))
}

methods <- c("collapsed", "partially_collapsed", "uncollapsed")

long_fit <- local({
  fit <- NULL
  function() {
    if (is.null(fit)) {
      fit <<- short_lda(
        300, burnin = 300, keep = c("theta", "phi"), chains = 3
      )
    }
    fit
  }
})

# ---- the driver's promises ---------------------------------------------------

for (method in methods) {
  test_that(paste("a run continued is the longer run:", method), {
    skip_long()
    whole <- short_lda(12, method = method, thin = 2)
    part <- short_lda(5, method = method, thin = 2)
    expect_true(identical_fit(longer(part, 7), whole))
    file <- withr::local_tempfile()
    saveRDS(part, file)
    expect_true(identical_fit(longer(readRDS(file), 7), whole))
  })

  test_that(paste("segments and threads never change a draw:", method), {
    skip_on_cran()
    whole <- short_lda(10, method = method)
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(short_lda(10, method = method), whole))
    })
    for (threads in fast_or(3, c(2, 3, 7))) {
      expect_true(identical_fit(
        short_lda(10, method = method, threads = threads), whole
      ))
    }
  })
}

test_that("cores never change a draw", {
  skip_on_cran()
  expect_true(identical_fit(short_lda(25, cores = 2), short_lda(25)))
})

test_that("an earlier fit is a start, and starts are taken", {
  skip_long()
  fit <- short_lda(10)
  z <- rep(1L, sum(corpus$x))
  started <- short_lda(5, burnin = 0, inits = list(
    list(z = z, alpha = 0.5), list(z = z)
  ))
  expect_s3_class(started, "gibbs_lda")
  expect_s3_class(short_lda(5, inits = fit), "gibbs_lda")
})

test_that("a fit without its data goes on with them", {
  skip_long()
  whole <- short_lda(20)
  bare <- drop_data(short_lda(8))
  more <- longer(bare, 12, data = corpus$x)
  expect_identical(as.matrix(more), as.matrix(whole))
  expect_error(coherence(bare), class = "gibbsite_error_no_data")
  expect_gibbsite_error(ldavis_data(bare))
  expect_error(predict(bare, corpus$x), NA)
})

# ---- what is stored ----------------------------------------------------------

test_that("the columns are what the page says", {
  fit <- short_lda(10)
  expect_identical(
    colnames(fit[[1]]),
    c("alpha", "log_joint", "log_lik", "n_topics_used",
      paste0("size[", 1:3, "]"))
  )
  sizes <- as.matrix(fit)[, paste0("size[", 1:3, "]")]
  expect_true(all(rowSums(sizes) == sum(corpus$x)))
  expect_identical(nobs(fit), as.integer(sum(corpus$x)))
  fixed <- short_lda(5, prior = lda_prior(0.5, gamma_prior(1, 1)))
  expect_true("eta" %in% colnames(fixed[[1]]))
  expect_false("alpha" %in% colnames(fixed[[1]]))
})

test_that("streamed means and deviations are those of the stored draws", {
  skip_long()
  fit <- long_fit()
  # the total variance is close to that of the draws themselves
  for (block in c("theta", "phi")) {
    draws <- draws_of(fit, block)
    for (chain in 1:3) {
      topics <- topic_estimates(fit, chain)
      own <- draws[, chain, , ]
      mean <- apply(own, 2:3, mean)
      sd <- apply(own, 2:3, stats::sd)
      # Monte Carlo error of 300 dependent draws against the exact conditional
      # means: five standard errors of an effective sample of at least 50
      expect_lt(max(abs(mean - topics[[block]]) / (sd / sqrt(50))), 5)
      expect_equal(
        mean(topics[[paste0(block, "_sd")]]), mean(sd), tolerance = 0.15
      )
    }
  }
  expect_equal(rowSums(topics$theta), rep(1, 40), ignore_attr = TRUE)
  expect_equal(rowSums(topics$phi), rep(1, 3), ignore_attr = TRUE)
})

# ---- topics ------------------------------------------------------------------

test_that("topics of chains are matched", {
  fit <- long_fit()
  topics <- topic_estimates(fit)
  expect_true(all(topics$affinity > 0.9))
  expect_false(is.unsorted(-topics$share))
  # they are those of the simulation
  affinity <- sqrt(topics$phi) %*% t(sqrt(corpus$phi))
  best <- as.integer(clue::solve_LSAP(affinity, maximum = TRUE))
  expect_true(all(affinity[cbind(1:3, best)] > 0.95))
  z_share <- rowSums(corpus$theta[, best] * topics$theta)
  expect_gt(mean(z_share), 0.7)
})

test_that("tables of topics have their names", {
  skip_long()
  fit <- long_fit()
  top <- top_terms(fit, 4)
  expect_identical(dim(top), c(12L, 7L))
  expect_snapshot(print(top_terms(short_lda(30), 5)))
  phi <- tidy(fit, matrix = "phi")
  expect_identical(names(phi), c("topic", "term", "estimate", "std.error"))
  expect_equal(sum(phi$estimate), 3)
  theta <- tidy(fit, matrix = "theta")
  expect_identical(theta$document[1:2], c("document1", "document2"))
  expect_identical(nrow(tidy(fit)), ncol(fit[[1]]))
  expect_s3_class(topic_distances(fit), "dist")
  expect_true(all(topic_distances(fit) > 0.2 & topic_distances(fit) <= 1))
  ldavis <- ldavis_data(fit)
  expect_equal(sum(ldavis$term.frequency), sum(ldavis$doc.length))
  expect_equal(rowSums(ldavis$phi), rep(1, 3), ignore_attr = TRUE)
})

test_that("print and summary", {
  skip_long()
  fit <- short_lda(30)
  seconds <- function(lines) {
    lines <- sub("about [0-9.]+ (s|min)", "about 0 s", lines)
    sub("; [0-9.]+ s", "; 0 s", lines)
  }
  expect_snapshot(print(fit), transform = seconds)
  expect_snapshot(summary(fit), transform = seconds)
  expect_snapshot(print(lda_prior(gamma_prior(2, 4), 1:8)))
  expect_snapshot(uniform_prior(0, 10))
})

# ---- new documents -----------------------------------------------------------

test_that("shares of new documents agree with the exact posterior", {
  # phi known: a document of 3 tokens and 2 topics by the sum over all z
  phi <- rbind(c(0.7, 0.2, 0.1), c(0.1, 0.3, 0.6))
  alpha <- c(0.4, 0.7)
  word <- c(1L, 3L, 3L)
  z <- as.matrix(expand.grid(1:2, 1:2, 1:2))
  n <- t(apply(z, 1, tabulate, 2))
  joint <- apply(z, 1, function(own) prod(phi[cbind(own, word)])) *
    exp(rowSums(lgamma(sweep(n, 2, alpha, "+"))))
  weight <- joint / sum(joint)
  exact <- colSums(weight * sweep(n, 2, alpha, "+")) / (3 + sum(alpha))
  set.seed(3)
  draws <- 4000
  out <- lda_fold_in(
    rep(word, draws), 3 * (0:draws), phi, alpha, 30, 20
  )$mean
  error <- apply(out, 1, stats::sd) / sqrt(draws)
  expect_true(all(abs(rowMeans(out) - exact) < 4.5 * error))
  # and the probability of the document
  constant <- lgamma(sum(alpha)) - sum(lgamma(alpha)) -
    lgamma(3 + sum(alpha))
  truth <- log(sum(joint)) + constant
  estimates <- lda_left_to_right(
    rep(word, draws), 3 * (0:draws), phi, alpha, 5
  )
  p <- exp(estimates)
  expect_lt(
    abs(mean(p) - exp(truth)), 4.5 * stats::sd(p) / sqrt(draws)
  )
})

# Texts without topics: each chain finds its own.
fit_without_topics <- function(...) {
  x <- withr::with_seed(5, matrix(stats::rpois(40 * 30, 1), 40, 30))
  suppressWarnings(gibbs_lda(x, 4, draws = 50, burnin = 0, chains = 2, seed = 1,
    prior = lda_prior(alpha = 0.1, eta = 0.05), progress = FALSE, ...
  ))
}

test_that("one chain's topics give the shares of documents", {
  skip_long()
  fit <- fit_without_topics(keep = c("theta", "phi"))
  one <- predict(fit, chain = 1)
  two <- predict(fit, chain = 2)
  expect_gt(max(abs(one - two)), 0.1)
  expect_identical(two, topic_estimates(fit, chain = 2)$theta)
  expect_identical(
    predict(fit, chain = 2, type = "sd"),
    topic_estimates(fit, chain = 2)$theta_sd
  )
  expect_identical(
    unname(predict(fit, chain = 2, type = "class")),
    factor(colnames(two)[max.col(two, "first")], colnames(two))
  )
  draws <- predict(fit, chain = 2, type = "draws", ndraws = 50)
  expect_equal(draws[7, 3, 2], fit[[2]][7, "theta[3,2]"], ignore_attr = TRUE)
  # new documents: the draws of phi are those of the chain
  first <- withr::with_seed(3, predict(fit, diag(30)[1:3, ], chain = 1))
  phi <- gibbsite:::fold_in_topics(fit, 50, NULL, 1L)[[7]]$phi
  expect_equal(phi[2, 5], fit[[1]][7, "phi[2,5]"], ignore_attr = TRUE)
  expect_equal(rowSums(first), rep(1, 3), ignore_attr = TRUE)
  expect_gibbsite_error(predict(fit, chain = 3))
})

test_that("shares of topics that differ between chains say so", {
  fit <- fit_without_topics()
  expect_gibbsite_condition(predict(fit), "gibbsite_message_topics")
  new <- matrix(1, 2, 30, dimnames = list(NULL, 1:30))
  expect_message(predict(fit, new), class = "gibbsite_message_topics")
  expect_silent(predict(fit, chain = 1))
})

test_that("new documents are folded in", {
  skip_long()
  fit <- long_fit()
  new <- corpus$x[1:5, ]
  set.seed(2)
  mean <- predict(fit, new)
  sd <- predict(fit, new, type = "sd")
  expect_identical(dim(mean), c(5L, 3L))
  expect_equal(rowSums(mean), rep(1, 5), ignore_attr = TRUE)
  # these documents were in the fit, which knows their shares
  own <- predict(fit)[1:5, ]
  expect_lt(max(abs(mean - own)), 0.1)
  draws <- predict(fit, new, type = "draws", ndraws = 200)
  expect_identical(dim(draws), c(200L, 5L, 3L))
  expect_lt(max(abs(apply(draws, 2:3, mean) - mean) / (sd / sqrt(100))), 5)
  expect_identical(dim(predict(fit, type = "draws", ndraws = 20)),
                   c(20L, 40L, 3L))
  set.seed(2)
  expect_identical(predict(fit, new), mean)
  # without stored draws the mean phi of each chain serves
  bare <- short_lda(100, burnin = 200)
  expect_lt(max(abs(predict(bare, new)[, 1] - mean[, 1])), 0.15)
  # a document without a known word has the prior
  expect_message(
    none <- predict(fit, data.frame(document = "d", term = "unheard")),
    class = "gibbsite_message_terms"
  )
  expect_equal(as.vector(none), rep(1 / 3, 3))
  alpha <- mean(as.matrix(fit)[, "alpha"])
  expect_message(
    spread <- predict(
      fit, data.frame(document = "d", term = "unheard"), type = "sd"
    ),
    class = "gibbsite_message_terms"
  )
  expect_equal(
    as.vector(spread), rep(sqrt(2 / 9 / (3 * alpha + 1)), 3), tolerance = 0.05
  )
})

test_that("no documents have no rows of answers", {
  corpus <- withr::with_seed(1, sim_lda(12, k = 2, terms = 15, tokens = 20))
  fit <- suppressWarnings(gibbs_lda(
    corpus$x, 2, draws = 20, burnin = 100, chains = 1, seed = 1, keep = "phi",
    progress = FALSE
  ))
  none <- corpus$x[0, ]
  expect_silent(mean <- predict(fit, none))
  expect_identical(dim(mean), c(0L, 2L))
  expect_identical(colnames(mean), colnames(predict(fit, corpus$x[1:2, ])))
  expect_identical(predict(fit, character()), mean)
  expect_identical(dim(predict(fit, none, "draws", ndraws = 5)), c(5L, 0L, 2L))
  expect_length(predict(fit, none, "class"), 0)
  expect_identical(dim(log_lik(fit, none)), c(20L, 0L))
  expect_gibbsite_error(held_out_perplexity(fit, none))
})

test_that("held-out perplexity is near that of the truth", {
  skip_unless_extended()
  set.seed(12)
  n <- 200
  new <- sim_lda(n, 3, 30, 60, alpha = 0.2)
  # documents of the same topics
  words <- lapply(seq_len(n), function(d) {
    theta <- sim_dirichlet(1, rep(0.2, 3))
    sample.int(30, 60, TRUE, theta %*% corpus$phi)
  })
  new <- data.frame(
    document = rep(seq_len(n), each = 60), term = paste0("term", unlist(words))
  )
  fit <- long_fit()
  result <- held_out_perplexity(fit, new)
  expect_equal(result$tokens, n * 30)
  # the probabilities of the true topics, by the same completion
  tokens <- as_counts(new, known = colnames(corpus$x))
  truth <- perplexity_row(complete_halves(
    split_documents(tokens),
    list(list(phi = corpus$phi, alpha = rep(0.2, 3))), 50, 100
  ), "completion")
  expect_gt(result$perplexity, truth$perplexity - 3 * truth$se)
  expect_lt(result$perplexity, 1.1 * truth$perplexity)
  whole <- held_out_perplexity(fit, new, "left_to_right", ndraws = 5)
  expect_equal(whole$tokens, n * 60)
  expect_lt(whole$perplexity, 30)
  expect_gt(whole$perplexity, truth$perplexity - 5 * truth$se)
})

test_that("halves of documents are disjoint and complete", {
  tokens <- as_counts(corpus$x)
  set.seed(1)
  halves <- split_documents(tokens)
  expect_equal(diff(halves$seen$start), rep(20, 40))
  both <- function(d) {
    at <- function(part) {
      part$word[(part$start[d] + 1):part$start[d + 1]]
    }
    sort(c(at(halves$seen), at(halves$hidden)))
  }
  for (d in c(1, 17, 40)) {
    expect_identical(both(d), rep(seq_len(30), corpus$x[d, ]))
  }
})

# ---- checks ------------------------------------------------------------------

test_that("log_lik is the sum over tokens by hand", {
  fit <- long_fit()
  log_lik <- log_lik(fit, ndraws = 4)
  expect_identical(dim(log_lik), c(4L, 40L))
  theta <- draws_of(fit, "theta")
  phi <- draws_of(fit, "phi")
  by_hand <- rowSums(as.matrix(corpus$x) *
                       log(theta[1, 1, , ] %*% phi[1, 1, , ]))
  expect_equal(log_lik[1, ], by_hand)
  expect_equal(
    sum(by_hand) / sum(corpus$x), fit[[1]][[1, "log_lik"]]
  )
  new <- posterior_predict(fit, ndraws = 2)
  expect_identical(Matrix::rowSums(new[[2]]), Matrix::rowSums(corpus$x))
  expect_identical(dim(log_lik(fit, corpus$x[1:3, ], ndraws = 2)), c(2L, 3L))
  # without a word that the fit knows
  expect_identical(unname(log_lik(fit, 0 * corpus$x[1:2, ], ndraws = 2)),
                   matrix(0, 2, 2))
})

test_that("coherence is that of the counts by hand", {
  x <- matrix(0, 6, 4, dimnames = list(NULL, letters[1:4]))
  x[, "a"] <- c(1, 2, 1, 1, 0, 0)
  x[, "b"] <- c(1, 0, 3, 0, 1, 0)
  x[, "c"] <- c(0, 0, 0, 0, 1, 1)
  x[, "d"] <- 1
  fit <- short_lda(20, x = x, k = 1)
  result <- coherence(fit, 4)
  terms <- strsplit(result$terms, " ")[[1]]
  present <- x[, terms] > 0
  umass <- 0
  npmi <- numeric()
  for (m in 2:4) {
    for (l in seq_len(m - 1)) {
      both <- sum(present[, m] & present[, l])
      umass <- umass + log((both + 1) / sum(present[, l]))
      p <- both / 6
      apart <- mean(present[, m]) * mean(present[, l])
      npmi <- c(npmi, if (both == 0) -1 else log(p / apart) / -log(p))
    }
  }
  expect_equal(result$umass, umass)
  expect_equal(result$npmi, mean(npmi))
  # always together, and never
  expect_equal(coherence_of(matrix(3, 2, 2), 3)$npmi, 1)
  expect_equal(coherence_of(diag(2), 3)$npmi, -1)
})

test_that("pictures are drawn", {
  skip_long()
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  fit <- long_fit()
  for (type in c("terms", "prevalence", "map", "trace")) {
    expect_identical(plot(fit, type = type), fit)
  }
  expect_gibbsite_error({
    plot(fit, type = "words")
    plot(fit, topics = 4)
    plot(short_lda(5, k = 2), type = "map")
  })
})

# ---- odd data and errors -----------------------------------------------------

test_that("odd corpora have an answer", {
  skip_long()
  one <- matrix(1, 1, 1)
  expect_s3_class(short_lda(5, x = one, k = 1), "gibbs_lda")
  expect_s3_class(short_lda(5, x = one, k = 4), "gibbs_lda")
  expect_s3_class(short_lda(5, x = rbind(1:3, 0), empty = "keep"), "gibbs_lda")
  many <- matrix(c(70000, 1, 2, 3), 2)
  expect_s3_class(short_lda(3, x = many, burnin = 2), "gibbs_lda")
  tiny <- short_lda(20, prior = lda_prior(1e-3, 1e-3))
  expect_true(all(is.finite(as.matrix(tiny))))
  for (method in methods) {
    tiny <- short_lda(20, prior = lda_prior(1e-3, 1e-3), method = method)
    expect_true(all(is.finite(as.matrix(tiny))))
    expect_true(all(is.finite(topic_estimates(tiny)$phi_sd)))
  }
})

test_that("errors name the argument and the way out", {
  skip_long()
  x <- corpus$x
  fit <- short_lda(5)
  expect_gibbsite_error({
    gibbs_lda(x, 0)
    gibbs_lda(x, 1e6)
    gibbs_lda(x, 3, prior = gmm_prior())
    gibbs_lda(x, 3, prior = lda_prior(alpha = c(1, 2)))
    gibbs_lda(x, 3, prior = lda_prior(eta = c(1, 2)))
    gibbs_lda(x, 3, prior = lda_prior(alpha = c(1, 1e-20, 1)))
    gibbs_lda(x, 3, prior = lda_prior(eta = 1e25))
    gibbs_lda(x, 3, method = "variational")
    gibbs_lda(x, 3, keep = "w")
    gibbs_lda(x, 3, empty = "drop")
    gibbs_lda(x, 3, inits = list(list(z = 1:3)), chains = 1)
    gibbs_lda(x, 3, inits = list(list(beta = 1)), chains = 1)
    gibbs_lda(x, 3, inits = list(list(alpha = -1)), chains = 1)
    lda_prior(alpha = 0)
    lda_prior(eta = "small")
    uniform_prior(2, 1)
    uniform_prior(-1, 1)
    gamma_prior(0, 1)
    gamma_prior(1, Inf)
    draws_of(fit, "phi")
    log_lik(fit)
    posterior_predict(fit)
    held_out_perplexity(fit)
    held_out_perplexity(fit, data.frame(document = 1, term = "term1"))
    top_terms(fit, chain = 3)
    top_terms(1)
    coherence(fit, 1)
    predict(fit, x, type = "median")
    tidy(fit, matrix = "z")
    sim_lda(0, 1, 1, 1)
    sim_lda(2, 2, 3, c(1, 2, 3))
    sim_lda(2, 2, 3, 5, alpha = c(1, 2, 3))
  })
})

test_that("new documents can be left by an interrupt", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  fit <- short_lda(10)
  for (method in c("completion", "left_to_right")) {
    interrupt_later()
    stopped <- tryCatch(
      held_out_perplexity(
        fit, corpus$x, method, sweeps = 1e6, burnin = 1e6, particles = 1e6
      ),
      interrupt = function(cnd) "stopped"
    )
    expect_identical(stopped, "stopped")
  }
})

test_that("pictures of topics are drawn one at a time, one term has no pairs", {
  skip_long()
  fit <- short_lda(10)
  expect_error(
    plot(fit, type = c("terms", "map")), class = "gibbsite_error_argument"
  )
  single <- quietly(gibbs_lda(
    matrix(2:5, 4), 2, draws = 5, burnin = 0, chains = 1, progress = FALSE
  ))
  expect_true(all(is.na(coherence(single)$npmi)))
})

test_that("estimates of phi alone are those with theta", {
  fit <- short_lda(10)
  whole <- topic_estimates(fit)
  expect_identical(topic_distances(fit), hellinger(whole$phi))
  expect_identical(
    tidy(fit, matrix = "theta")$estimate, as.vector(whole$theta)
  )
  expect_identical(top_terms(fit, 4), table_of_terms(whole, 4))
})

test_that("labels of a map do not overlap", {
  set.seed(1)
  x <- c(runif(20), 0.5, 0.5, 0.5)
  y <- c(runif(20), 0.5, 0.5, 0.5)
  width <- runif(23, 0.1, 0.3)
  moved <- apart(x, y, width, 0.05)
  pairs <- combn(23, 2)
  i <- pairs[1, ]
  j <- pairs[2, ]
  touching <- abs(x[i] - x[j]) < (width[i] + width[j]) / 2
  expect_true(all(abs(moved[i] - moved[j])[touching] > 0.05 - 1e-8))
  expect_true(any(abs(y[i] - y[j])[touching] < 0.05))
  expect_true(all(moved >= y))
  expect_identical(apart(c(0, 1), c(0, 0), c(0.5, 0.5), 1), c(0, 0))
})
