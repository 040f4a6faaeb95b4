# The numbers of topics: alike in all chains, columns and summaries of a fit.

numbers_corpus <- withr::with_seed(
  5, sim_lda(60, k = 3, terms = 60, tokens = 50)
)

numbered_fit <- function(draws = 40, ..., chains = 3, burnin = 220, seed = 1) {
  suppressMessages(suppressWarnings(gibbs_lda(
    numbers_corpus$x, 3, draws = draws, burnin = burnin, chains = chains,
    seed = seed, progress = FALSE, ...
  )))
}

plain_fit <- once(numbered_fit)

more <- function(fit, draws, ...) {
  suppressMessages(suppressWarnings(
    extend(fit, draws, progress = FALSE, ...)
  ))
}

permutations <- function(k) {
  if (k == 1L) {
    return(list(1L))
  }
  unlist(lapply(permutations(k - 1L), function(p) {
    lapply(0:(k - 1L), function(at) append(p, k, at))
  }), recursive = FALSE)
}

test_that("the orders of two chains maximise the tokens in common", {
  skip_long()
  model <- attr(plain_fit(), "model")
  n <- 40
  for (seed in 1:20) {
    z <- withr::with_seed(seed, list(
      sample.int(3, n, TRUE), sample.int(3, n, TRUE, prob = 1:3)
    ))
    orders <- model_orders(model, lapply(z, function(x) {
      list(pivot = lda_pack(x))
    }))
    common <- function(p) sum(match(z[[1]], orders[[1]]) == match(z[[2]], p))
    expect_identical(
      common(orders[[2]]), max(vapply(permutations(3L), common, 0L))
    )
    sizes <- tabulate(match(unlist(z), orders[[1]]), 3)
    both <- tabulate(c(match(z[[1]], orders[[1]]), match(z[[2]], orders[[2]])))
    expect_false(is.unsorted(-both))
  }
})

test_that("chains with renamed topics get one order", {
  skip_long()
  model <- attr(plain_fit(), "model")
  z <- withr::with_seed(1, sample.int(3, 200, TRUE, prob = c(1, 6, 3)))
  names <- list(1:3, c(3L, 1L, 2L), c(2L, 1L, 3L), c(2L, 3L, 1L))
  orders <- model_orders(model, lapply(names, function(p) {
    list(pivot = lda_pack(p[z]))
  }))
  for (chain in seq_along(names)) {
    expect_identical(orders[[chain]], names[[chain]][c(2, 3, 1)])
  }
})

test_that("columns, running means and summaries have the same numbers", {
  skip_long()
  fit <- numbered_fit(keep = c("theta", "phi", "z", "labels"))
  topics <- topic_estimates(fit)
  draws <- do.call(rbind, chain_matrices(fit))
  own <- do.call(rbind, lapply(relabel(fit, "none"), unclass))
  # the chains did not number alike by chance
  expect_gt(nrow(unique(topic_orders(fit))), 1)
  for (d in list(draws, own)) {
    for (s in c(1, 40, 41, 120)) {
      z <- d[s, startsWith(colnames(d), "z[")]
      expect_equal(tabulate(z, 3), unname(d[s, indexed("size", 1:3)]))
    }
  }
  expect_equal(
    topics$share, colMeans(draws[, indexed("size", 1:3)]) / 3000,
    ignore_attr = TRUE
  )
  # the draws of theta and phi vary about the means given z
  for (block in c("theta", "phi")) {
    kept <- apply(draws_of(fit, block), 3:4, mean)
    error <- topics[[paste0(block, "_sd")]] / sqrt(30)
    expect_lt(max(abs(kept - topics[[block]]) / error), 6)
  }
  expect_identical(predict(fit), topics$theta)
  by_draw <- predict(fit, type = "draws", ndraws = 120)
  expect_equal(
    apply(by_draw, 2:3, mean), apply(draws_of(fit, "theta"), 3:4, mean),
    ignore_attr = TRUE
  )
  shares <- predict(fit, numbers_corpus$x[1:5, ])
  expect_gt(stats::cor(c(shares), c(topics$theta[1:5, ])), 0.97)
})

# A corpus of so few tokens that a sweep exchanges its topics.
small_corpus <- withr::with_seed(1, sim_lda(8, k = 3, terms = 6, tokens = 6))

small_fit <- function(draws = 400, ..., chains = 2, seed = 1) {
  suppressMessages(suppressWarnings(gibbs_lda(
    small_corpus$x, 3, draws = draws, burnin = 200, chains = chains,
    prior = lda_prior(0.5, 0.5), seed = seed, progress = FALSE,
    keep = c("theta", "phi", "z", "labels"), ...
  )))
}

test_that("each draw has the numbers that agree best with the first one", {
  skip_long()
  for (method in c("collapsed", "partially_collapsed", "uncollapsed")) {
    fit <- small_fit(method = method)
    for (chain in 1:2) {
      draws <- chain_matrices(fit)[[chain]]
      z <- draws[, startsWith(colnames(draws), "z[")]
      labels <- draws[, indexed("label", 1:3)]
      expect_gt(nrow(unique(labels)), 2)
      common <- vapply(permutations(3L), function(p) {
        rowSums(array(p[z], dim(z)) == z[rep(1L, nrow(z)), ])
      }, numeric(nrow(z)))
      expect_equal(rowSums(z == z[rep(1L, nrow(z)), ]), apply(common, 1, max))
      expect_equal(
        vapply(1:3, function(k) rowSums(z == k), numeric(nrow(z))),
        unname(draws[, indexed("size", 1:3)])
      )
    }
    # the running means have the numbers of the columns
    topics <- topic_estimates(fit)
    draws <- do.call(rbind, chain_matrices(fit))
    expect_equal(
      unname(topics$share), unname(colMeans(draws[, indexed("size", 1:3)])) / 48
    )
    for (block in c("theta", "phi")) {
      kept <- apply(draws_of(fit, block), 3:4, mean)
      error <- topics[[paste0(block, "_sd")]] / sqrt(200)
      expect_lt(max(abs(kept - topics[[block]]) / error), 6)
    }
    # the sampler's own numbers
    own <- do.call(rbind, lapply(relabel(fit, "none"), unclass))
    labels <- draws[, indexed("label", 1:3)]
    expect_identical(
      own[, indexed("size", 1:3)][cbind(rep(1:800, 3), c(labels))],
      c(draws[, indexed("size", 1:3)])
    )
    expect_true(all(own[, indexed("label", 1:3)] == col(labels)))
    z <- startsWith(colnames(draws), "z[")
    expect_identical(
      unname(own[, z]), matrix(labels[cbind(c(row(draws[, z])), c(draws[, z]))],
                               nrow(draws))
    )
  }
})

test_that("numbers of draws do not depend on how a run is cut", {
  skip_long()
  whole <- small_fit(60)
  expect_gt(attr(relabel(whole, "none"), "switches")[[1]], 5)
  part <- small_fit(15)
  expect_true(identical_fit(more(part, 45), whole))
  late <- window(part, start = 206)
  expect_identical(
    lapply(more(late, 45), unclass),
    lapply(window(whole, start = 206), unclass)
  )
  thinned <- small_fit(30, thin = 2)
  own <- function(fit) plain_matrix(relabel(fit, "none")[[1]])
  expect_identical(own(thinned), own(whole)[seq(2, 60, 2), ])
})

test_that("topics are numbered alike in every client", {
  skip_on_cran()
  means <- vapply(seq_len(fast_or(2, 10)), function(seed) {
    fit <- numbered_fit(200, chains = 4, seed = seed)
    own <- summary(fit, "size")
    expect_lt(max(own$rhat), 1.1)
    shown <- posterior::summarise_draws(fit, "mean", "rhat")
    at <- match(own$variable, shown$variable)
    expect_equal(as.numeric(shown$mean)[at], own$mean)
    expect_equal(as.numeric(shown$rhat)[at], own$rhat)
    coda_means <- summary(coda::as.mcmc.list(fit))$statistics[, "Mean"]
    expect_equal(unname(coda_means[own$variable]), own$mean)
    expect_equal(
      unname(topic_estimates(fit)$share) * 3000, own$mean
    )
    own$mean
  }, numeric(3))
  expect_lt(max(abs(means - rowMeans(means))), 100)
})

test_that("a fit keeps its numbers when it is continued", {
  skip_long()
  run <- function(draws) {
    numbered_fit(draws, keep = c("theta", "z"), burnin = fast_or(20, 220))
  }
  whole <- run(40)
  part <- run(15)
  expect_identical(topic_orders(part), topic_orders(whole))
  expect_true(identical_fit(more(part, 25), whole))
  sixth <- fast_or(26, 226)
  late <- window(part, start = sixth)
  # the averages begin anew
  expect_identical(
    lapply(more(late, 25), unclass),
    lapply(window(whole, start = sixth), unclass)
  )
  folder <- withr::local_tempdir()
  path <- file.path(folder, "run")
  expect_true(identical_fit(more(part, 25, checkpoint = path), whole))
  expect_true(identical_fit(resumed(path), whole))
})

# The model of a fit, whose sweeps are interrupted at the call
# getOption("stopped.at").
registerS3method(
  "model_sweeps", "stopped_lda_model",
  function(model, state, n, control) {
    calls <- getOption("stopped.calls") + 1
    options(stopped.calls = calls)
    if (calls == getOption("stopped.at")) {
      return(NULL)
    }
    NextMethod()
  },
  envir = asNamespace("gibbsite")
)

stopped_lda <- function(at, draws, burnin, stop_when = NULL) {
  withr::local_options(
    stopped.calls = 0, stopped.at = at, gibbsite.on_interrupt = "return",
    gibbsite.segment_seconds = 1e-9
  )
  model <- attr(numbered_fit(2), "model")
  class(model) <- c("stopped_lda_model", class(model))
  call <- rlang::current_env()
  running <- running(
    draws = draws, burnin = burnin, thin = 1, chains = 3, inits = NULL,
    threads = 1, cores = 1, seed = 1, checkpoint = NULL,
    stop_when = stop_when, progress = FALSE, keep_data = TRUE,
    keep_choices = "z", call = call
  )
  suppressMessages(suppressWarnings(
    run_chains(model, running, quote(stopped()), call)
  ))
}

continued <- function(fit, to, ...) {
  withr::local_options(stopped.calls = 0, stopped.at = Inf)
  reached <- attr(fit, "running")$burnin + shown_draws(fit)
  more(fit, to - reached, ...)
}

test_that("an interrupted run has the numbers of a whole one", {
  skip_long()
  burnin <- fast_or(20, 220)
  plain <- stopped_lda(Inf, 40, burnin)
  for (at in fast_or(c(15, 70), c(30, 240, 300, 700))) {
    part <- stopped_lda(at, 40, burnin)
    expect_lt(shown_draws(part), 40)
    expect_true(identical_fit(continued(part, burnin + 40), plain))
  }
})

test_that("numbers begin anew with the draws", {
  skip_unless_extended()
  rule <- until(rhat = 1.0001, ess = 1e5, every = 10, max_draws = 80)
  whole <- stopped_lda(Inf, 10, 0, rule)
  expect_gt(attr(whole, "running")$burnin, 0)
  fixed <- stopped_lda(
    Inf, 10, 0, until(1.0001, 1e5, max_draws = 80, every = 10, burnin = "fixed")
  )
  expect_false(identical(topic_orders(fixed), topic_orders(whole)))
  # some of these are between the new beginning and the first draw after it
  more <- c(20, 31:35, 61, 63:66, 121:124, 126, 200)
  for (at in c(5, 36, 62, 100, 125, more)) {
    part <- stopped_lda(at, 10, 0, rule)
    fit <- continued(
      part, 80, stop_when = until(rhat = 1.0001, ess = 1e5, every = 10)
    )
    expect_identical(topic_orders(fit), topic_orders(whole))
    expect_true(identical_fit(fit, whole))
  }
})

test_that("a new beginning carries the numbers on", {
  model <- attr(small_fit(2), "model")
  control <- list(burnin = 0, thin = 1, threads = 1)
  withr::local_seed(3)
  first <- model_sweeps(model, uniform_start(model), 20, control)
  state <- model_without_averages(model, first$state, anew = TRUE)
  expect_identical(state$pivot_due, 2)
  second <- model_sweeps(model, state, 20, control)
  expect_identical(second$state$pivot_due, 0)
  expect_identical(second$state$kept, 20)
  colnames(first$draws) <- colnames(second$draws) <- model$columns
  z_of <- function(draws, s) {
    as.integer(draws[s, startsWith(colnames(draws), "z[")])
  }
  expect_identical(lda_unpack(first$state$pivot), z_of(first$draws, 1))
  expect_identical(lda_unpack(second$state$pivot), z_of(second$draws, 1))
  # in the numbers of the old pivot
  z <- z_of(second$draws, 1)
  common <- vapply(permutations(3L), function(p) {
    sum(p[z] == z_of(first$draws, 1))
  }, 0L)
  expect_identical(sum(z == z_of(first$draws, 1)), max(common))
  expect_identical(
    model_without_averages(model, first$state)$pivot, first$state$pivot
  )
})

test_that("fits that are united get common numbers", {
  skip_long()
  one <- numbered_fit(30, chains = 2, keep = c("theta", "labels"))
  two <- numbered_fit(30, chains = 2, seed = 2, keep = c("theta", "labels"))
  both <- combine_fits(one, two)
  expect_lt(max(summary(both, "size")$rhat), 1.3)
  expect_identical(
    lapply(relabel(both, "none"), unclass),
    c(lapply(relabel(one, "none"), unclass),
      lapply(relabel(two, "none"), unclass))
  )
  expect_true(identical_fit(
    more(both, 10), combine_fits(more(one, 10), more(two, 10))
  ))
  # also without running means
  late <- combine_fits(window(one, start = 230), window(two, start = 230))
  expect_lt(max(summary(late, "size")$rhat), 1.3)
})

test_that("where alpha differs it numbers the topics", {
  skip_long()
  fit <- numbered_fit(prior = lda_prior(alpha = c(0.1, 0.2, 0.3)))
  expect_identical(topic_orders(fit), rbind(1:3, 1:3, 1:3))
  expect_identical(
    unclass(relabel(fit, "none")[[1]]), unclass(fit[[1]])
  )
  expect_true(all(is.na(summary(fit, "size")$rhat)))
})

test_that("relabel() refuses what topics do not have", {
  skip_long()
  fit <- plain_fit()
  expect_gibbsite_error({
    relabel(fit, "ordered")
    relabel(fit, "random")
    relabel(fit, by = 2)
    relabel(fit, "none")
  })
})
