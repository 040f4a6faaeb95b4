# fit_markov_chain(): counts, the exact posterior, and what fits have.

short <- function(sequences, ...) {
  suppressMessages(fit_markov_chain(
    sequences, ..., draws = 400, chains = 2, seed = 1, progress = FALSE
  ))
}

counts_of <- function(fit) {
  model <- attr(fit, "model")
  out <- model$data$counts
  dimnames(out) <- list(model$tuples, model$states)
  out
}

test_that("every form of sequences has the same counts", {
  skip_long()
  path <- c("b", "a", "a", "b", "b", "a")
  wanted <- matrix(c(1, 2, 1, 1), 2, dimnames = rep(list(c("a", "b")), 2))
  steps <- table(path[-6], path[-1])
  for (one in list(
    path, factor(path), list(path), list(factor(path)), t(path),
    as.data.frame(t(path)), as.data.frame(t(path), stringsAsFactors = TRUE),
    steps, unclass(steps), wanted
  )) {
    expect_identical(counts_of(short(one)), wanted)
  }
  mixed <- data.frame(factor("b"), "a", "a", "b", factor("b"), "a")
  expect_identical(counts_of(short(mixed)), wanted)
  numbers <- short(c(2, 1, 1, 2, 2, 1))
  expect_identical(unname(counts_of(numbers)), unname(wanted))
  expect_identical(colnames(counts_of(numbers)), c("1", "2"))
  expect_identical(
    colnames(counts_of(short(c(10, 9, 10, 100)))), c("9", "10", "100")
  )
  expect_identical(
    counts_of(short(path, states = c("b", "c", "a")))["c", ],
    c(b = 0, c = 0, a = 0)
  )
  expect_identical(
    colnames(counts_of(short(factor(path, c("b", "a", "z"))))),
    c("b", "a", "z")
  )
  expect_identical(
    unname(counts_of(short(matrix(c(5, 0, 3, 9), 2), states = c("a", "b")))),
    matrix(c(5, 0, 3, 9), 2)
  )
  # two sequences have no step from one to the other
  expect_identical(sum(counts_of(short(list(path, path)))), 10)
})

test_that("a step with a missing state is left out and said", {
  hole <- c("a", "b", NA, "a", "b", "a")
  expect_message(
    fit <- fit_markov_chain(hole, draws = 2, seed = 1, progress = FALSE),
    "2 steps", class = "gibbsite_message_omitted"
  )
  expect_identical(unname(counts_of(fit)), rbind(c(0, 2), c(1, 0)))
  expect_message(
    fit_markov_chain(hole, order = 2, draws = 2, seed = 1, progress = FALSE),
    "3 steps"
  )
  rows <- rbind(c("a", "b", "a"), c("b", "a", NA))
  expect_identical(unname(counts_of(short(rows))), rbind(c(0, 1), c(2, 0)))
})

test_that("draws are those of the Dirichlet posterior", {
  skip_long()
  counts <- matrix(c(8, 1, 0, 2, 12, 1, 0, 3, 30), 3,
                   dimnames = rep(list(c("a", "b", "c")), 2))
  priors <- list(matrix(c(2, 1e-3, 3, 1, 1, 1, 0, 2, 4), 3), 0.5, 1)
  for (prior in priors[seq_len(fast_or(1, 3))]) {
    fit <- fit_markov_chain(counts, prior = prior, seed = 1, progress = FALSE)
    shape <- counts + prior
    expect_equal(coef(fit), shape / rowSums(shape), ignore_attr = TRUE)
    draws <- as.matrix(fit)
    total <- as.vector(rep(rowSums(shape), 3))
    mean <- as.vector(shape) / total
    var <- mean * (1 - mean) / (total + 1)
    size <- nrow(draws)
    some <- var > 0
    expect_lt(max(abs(
      (colMeans(draws[, 1:9]) - mean)[some] / sqrt(var[some] / size)
    )), 4.5)
    # the distribution of each entry is beta
    for (k in which(some)) {
      p <- suppressWarnings(stats::ks.test(
        draws[, k], "pbeta", shape[k], total[k] - shape[k]
      ))$p.value
      expect_gt(p, 1e-4)
    }
    expect_true(all(draws[, 1:9][, !some] == 0))
    for (s in c(1, 77)) {
      p <- matrix(draws[s, 1:9], 3)
      expect_equal(
        unname(draws[s, 10:12]), unname(stationary(markov_chain(p))),
        tolerance = 1e-10
      )
    }
  }
})

test_that("higher orders are chains on tuples", {
  withr::local_seed(2)
  path <- sample(c("x", "y"), 300, TRUE)
  fit <- short(path, order = 2)
  tuples <- paste(path[1:298], path[2:299], sep = ",")
  expect_identical(
    unname(counts_of(fit)), unname(unclass(table(tuples, path[3:300]))) + 0,
    ignore_attr = TRUE
  )
  chain <- markov_chain(fit)
  expect_identical(rownames(as.matrix(chain)), c("x,x", "x,y", "y,x", "y,y"))
  expect_equal(as.matrix(chain)["x,y", "y,x"], coef(fit)["x,y", "x"])
  expect_identical(as.matrix(chain)["x,y", "x,x"], 0)
  # the marginal of a draw's tuples
  draw <- as.matrix(fit)[5, ]
  p <- matrix(draw[1:8], 4)
  by_tuples <- as.matrix(chain) * 0
  for (i in 1:4) {
    by_tuples[i, ((i - 1) %% 2) * 2 + 1:2] <- p[i, ]
  }
  limit <- stationary(markov_chain(by_tuples))
  expect_equal(
    unname(draw[9:10]), unname(c(sum(limit[1:2]), sum(limit[3:4]))),
    tolerance = 1e-10
  )
  paths <- simulate(fit, 2, seed = 1, n = 30, initial = "y,x")
  expect_identical(as.character(unlist(paths[1, ])), c("x", "x"))
  third <- short(path, order = 3)
  expect_identical(dim(coef(third)), c(8L, 2L))
  expect_equal(
    unname(stationary(markov_chain(third)) |> sum()), 1
  )
})

test_that("a prior of 0 makes a step impossible", {
  counts <- matrix(c(3, 2, 0, 4), 2, dimnames = rep(list(c("a", "b")), 2))
  prior <- matrix(c(1, 1, 0, 1), 2)
  draws <- as.matrix(short(counts, prior = prior))
  expect_true(all(draws[, "P[1,2]"] == 0))
  # b leads to a, which is closed
  expect_true(all(draws[, "stationary[1]"] == 1))
  apart <- short(diag(c(3, 4)) |> `dimnames<-`(rep(list(c("a", "b")), 2)),
                 prior = diag(2))
  expect_false("stationary[1]" %in% colnames(as.matrix(apart)))
  expect_error(
    short(counts, prior = rbind(c(0, 0), 1) * c(0, 1)), NA
  )
  none <- matrix(c(0, 2, 0, 4), 2, dimnames = rep(list(c("a", "b")), 2))
  expect_error(
    short(none, prior = rbind(c(0, 0), c(1, 1))), "row 1",
    class = "gibbsite_error_argument"
  )
  # tiny weights and no data: no draw is lost to underflow
  small <- as.matrix(short(none, prior = 1e-4))
  expect_true(all(is.finite(small)))
  expect_equal(rowSums(small[, c(1, 3)]), rep(1, 800), ignore_attr = TRUE)
})

test_that("predictions are means over the draws' powers", {
  skip_long()
  fit <- short(c("a", "b", "b", "a", "c", "b", "a"))
  draws <- as.matrix(fit)
  by_hand <- t(apply(draws[, 1:9], 1, function(row) {
    p <- matrix(row, 3)
    (p %*% p %*% p)[1, ]
  }))
  found <- predict(fit, c(3, 1))
  expect_identical(found$step, rep(c(3, 1), each = 3))
  expect_equal(found$mean[1:3], colMeans(by_hand))
  expect_equal(found$sd[1:3], apply(by_hand, 2, sd))
  expect_equal(
    found$upper[[2]], stats::quantile(by_hand[, 2], 0.975)[[1]]
  )
  mixed <- predict(fit, 0, initial = c(0.2, 0.3, 0.5))
  expect_equal(mixed$mean, c(0.2, 0.3, 0.5))
  expect_error(predict(short(list(c("a", "b"), c("b", "a")))), "initial")
  # paths: the predictive distribution
  paths <- unlist(simulate(fit, 3000, seed = 1, n = 3, initial = "a")[4, ])
  p <- found$mean[1:3]
  seen <- tabulate(paths, 3) / 3000
  expect_true(all(abs(seen - p) <= 4.5 * sqrt(p * (1 - p) / 3000)))
})

test_that("a fit has what fits of the package have", {
  skip_long()
  path <- c("a", "b", "b", "a", "c", "b", "a", "a")
  fit <- short(path)
  expect_s3_class(fit, "gibbsite_fit")
  expect_true(converged(fit))
  expect_identical(nobs(fit), 7)
  expect_output(print(fit), "order 1 on 3 states: 7 steps")
  expect_identical(tidy(fit)$label[[4]], "a to b")
  expect_identical(
    confint(fit, "P[1,2]", level = 0.9),
    posterior_interval(fit, 0.9, "P[1,2]"), ignore_attr = TRUE
  )
  expect_true(identical_fit(
    fit, extend(suppressMessages(fit_markov_chain(
      path, draws = 150, chains = 2, seed = 1, progress = FALSE
    )), 250, progress = FALSE)
  ))
  # the evidence: sequential predictive probabilities
  counts <- matrix(0.5, 3, 3)
  at <- match(path, letters)
  total <- 0
  for (k in 2:8) {
    total <- total + log(counts[at[k - 1], at[k]] / sum(counts[at[k - 1], ]))
    counts[at[k - 1], at[k]] <- counts[at[k - 1], at[k]] + 1
  }
  expect_equal(as.numeric(log_evidence(fit)), total)
  withr::local_pdf(NULL)
  for (type in c("transitions", "stationary", "trace")) {
    expect_identical(plot(fit, type), fit)
    if (requireNamespace("ggplot2", quietly = TRUE)) {
      expect_s3_class(ggplot2::autoplot(fit, type), "ggplot")
    }
  }
})

test_that("sequences that are none are refused", {
  expect_gibbsite_error({
    fit_markov_chain()
    fit_markov_chain(matrix(1:4, 2))
    fit_markov_chain("a")
    fit_markov_chain(c("a", "b"), states = c("a", "c"))
    fit_markov_chain(c("a", "b"), states = c("a", "a"))
    fit_markov_chain(list())
    fit_markov_chain(list(1:3, sum))
    fit_markov_chain(Sys.Date() + 0:3)
    fit_markov_chain(data.frame(id = c(1, 1, 2), at = c("a", "b", "a")))
    fit_markov_chain(c("a", "b"), prior = 0)
    fit_markov_chain(c("a", "b"), prior = diag(3))
    fit_markov_chain(table(c("a", "b"), c("b", "b")))
    fit_markov_chain(as.table(diag(2)), order = 2)
    fit_markov_chain(as.table(diag(2) / 2))
  })
})

test_that("names of a prior are those of the states", {
  w <- c("dry", "dry", "wet", "wet", "dry", "dry", "dry")
  prior <- matrix(c(100, 2, 3, 4), 2,
                  dimnames = list(c("wet", "dry"), c("wet", "dry")))
  fit <- function(prior, ...) {
    fit_markov_chain(w, prior = prior, ..., draws = 10, seed = 1,
                     progress = FALSE)
  }
  expect_identical(coef(fit(prior)), coef(fit(unname(prior[2:1, 2:1]))))
  other <- prior
  colnames(other) <- c("a", "b")
  expect_error(fit(other), "colnames\\(prior\\)",
               class = "gibbsite_error_argument")
  pairs <- matrix(1:8, 4, dimnames = list(
    c("wet,wet", "dry,dry", "dry,wet", "wet,dry"), NULL
  ))
  expect_identical(
    coef(fit(pairs, order = 2)), coef(fit(unname(pairs[c(2, 3, 4, 1), ]),
                                          order = 2))
  )
})

test_that("a fit goes on with its data given again", {
  w <- c("a", "b", "b", "c", "a", "a")
  for (order in 1:2) {
    fit <- fit_markov_chain(w, order = order, draws = 10, seed = 1,
                            progress = FALSE)
    bare <- drop_data(fit)
    longer <- extend(bare, 5, data = w, progress = FALSE)
    expect_identical(
      as.matrix(longer), as.matrix(extend(fit, 5, progress = FALSE))
    )
    expect_error(extend(bare, 5, data = rev(w)), "not the data",
                 class = "gibbsite_error_argument")
    same <- rep("a", 5)
    fit <- fit_markov_chain(same, order = order, draws = 10, seed = 1,
                            progress = FALSE)
    expect_no_warning(extend(drop_data(fit), 5, data = same, progress = FALSE))
  }
})

test_that("the covariance of the probabilities is that of the Dirichlet", {
  skip_unless_extended()
  fit <- fit_markov_chain(c(1, 2, 1, 1, 2, 2, 3, 1), draws = 20000, chains = 1,
                          seed = 1, progress = FALSE)
  draws <- as.matrix(fit)[, 1:9]
  expect_identical(colnames(vcov(fit)), colnames(draws))
  expect_equal(vcov(fit), cov(draws), tolerance = 0.05)
})

test_that("what has no answer names what has one", {
  fit <- short(c(1, 2, 1, 1, 2, 2, 3, 1))
  expect_identical(dim(vcov(fit)), c(9L, 9L))
  expect_error(logLik(fit), "log_evidence", class = "gibbsite_error_argument")
  expect_error(posterior_predict(fit), "simulate",
               class = "gibbsite_error_argument")
  expect_error(fitted(fit), "coef", class = "gibbsite_error_argument")
})

test_that("a data frame has a sequence in each row, which is said", {
  expect_message(
    fit_markov_chain(data.frame(id = c("A", "A"), state = c("a", "b")),
                     draws = 5, seed = 1, progress = FALSE),
    "2 sequences of 2 states", class = "gibbsite_message_rows"
  )
  turned <- matrix(c(5, 2, 3, 4), 2, dimnames = list(c("a", "b"), c("b", "a")))
  expect_error(fit_markov_chain(turned), "do not\\s+have the same names",
               class = "gibbsite_error_argument")
})

test_that("the time of many tuples is told beforehand", {
  states <- withr::with_seed(1, sample(letters[1:3], 400, TRUE))
  local_object("run_chains", function(...) NULL)
  withr::local_options(gibbsite.times = TRUE)
  expect_gibbsite_condition(class = "gibbsite_message_cost", {
    fit_markov_chain(states, order = 5)
  })
  expect_silent(fit_markov_chain(states, order = 2))
  withr::local_options(gibbsite.times = FALSE)
  expect_silent(fit_markov_chain(states, order = 5))
})
