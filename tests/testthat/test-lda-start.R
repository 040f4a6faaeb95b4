# The starts of gibbs_lda(): the best of some short runs.

start_models <- local({
  make <- function(prior, method) {
    x <- withr::with_seed(1, sim_lda(12, k = 3, terms = 20, tokens = 15))$x
    counts <- as_counts(x, NULL, "keep", arg = "x", call = environment())
    prior <- complete_lda_prior(prior, 3, counts, environment())
    lda_model(counts, 3, prior, method)
  }
  list(
    collapsed = make(lda_prior(), "collapsed"),
    eta = make(lda_prior(0.2, gamma_prior(2, 4)), "collapsed"),
    partially = make(lda_prior(), "partially_collapsed"),
    uncollapsed = make(lda_prior(0.2), "uncollapsed")
  )
})

start_control <- function(burnin, threads = 1) {
  list(burnin = burnin, thin = 1, threads = threads)
}

# list(state, rng) of a chain before its first sweep
started <- function(model, burnin, threads = 1) {
  withr::with_seed(3, {
    state <- model_start(model, NULL)
    chosen <- model_sweeps(model, state, 0, start_control(burnin, threads))
    list(state = chosen$state, rng = .Random.seed)
  })
}

# The last states of four runs of so many sweeps, one sweep a call, by
# `uniform_start()` and the core alone.
short_runs <- function(model, sweeps) {
  withr::with_seed(3, {
    ends <- lapply(1:4, function(run) {
      state <- uniform_start(model)
      for (sweep in seq_len(sweeps)) {
        state <- .Call(
          C_lda_sweeps, model$data, state, 1, start_control(1e6)
        )$state
      }
      state
    })
    list(ends = ends, rng = .Random.seed)
  })
}

for (name in names(start_models)) {
  test_that(paste("a start is the best of the short runs:", name), {
    model <- start_models[[name]]
    for (case in list(c(200, 20), c(519, 51), c(1000, 100))) {
      runs <- short_runs(model, case[[2]])
      joint <- vapply(runs$ends, lda_log_joint, 0, model = model)
      expect_gt(diff(range(joint)), 0)
      best <- runs$ends[[which.max(joint)]]
      best$sweep <- 0
      chain <- started(model, case[[1]])
      expect_identical(chain$state, best)
      expect_identical(chain$rng, runs$rng)
    }
  })
}

test_that("a short burn-in, starts of the user and one topic have no runs", {
  model <- start_models$collapsed
  first <- withr::with_seed(3, list(uniform_start(model), .Random.seed))
  for (burnin in c(0, 199)) {
    expect_identical(unname(started(model, burnin)), first)
  }
  given <- withr::with_seed(3, model_start(model, list(alpha = 1)))
  expect_null(given$to_choose)
  one <- model
  one$k <- one$data$k <- 1L
  expect_null(model_start(one, NULL)$to_choose)
})

test_that("threads do not change a start", {
  for (name in c("partially", "uncollapsed")) {
    model <- start_models[[name]]
    expect_identical(started(model, 400, 3), started(model, 400))
  }
})

# ---- a chain that begins with its short runs ---------------------------------

start_corpus <- withr::with_seed(2, sim_lda(20, k = 3, terms = 20, tokens = 20))

started_fit <- function(draws = 12, burnin = 205, ...) {
  suppressWarnings(gibbs_lda(
    start_corpus$x, 3, draws = draws, burnin = burnin, chains = 2, seed = 4,
    progress = FALSE, ...
  ))
}

test_that("short runs are in front of the chain's own sweeps", {
  fit <- started_fit()
  model <- attr(fit, "model")
  stream <- chain_streams(attr(fit, "running")$seed, 2, environment())[[2]]
  own <- with_stream(stream, {
    state <- best_short_run(model, model_start(model, NULL), start_control(205))
    .Call(C_lda_sweeps, model$data, state, 217, start_control(205))$draws
  }, environment())$value
  order <- attr(fit, "chains")[[2]]$order
  expect_identical(
    plain_matrix(fit[[2]]), model_reordered(model, own, order)
  )
  expect_null(attr(fit, "chains")[[1]]$state$to_choose)
})

test_that("segments, cores and a continued run do not change a fit", {
  skip_on_cran()
  whole <- started_fit()
  withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
    expect_true(identical_fit(started_fit(), whole))
  })
  expect_true(identical_fit(started_fit(cores = 2), whole))
  expect_true(identical_fit(longer(started_fit(5), 7), whole))
})

for (way in c("in a sweep", "between sweeps")) {
  test_that(paste("an interrupted start is made again:", way), {
    skip_long()
    whole <- started_fit()
    calls <- 0
    real <- best_short_run
    interrupted <- function(...) {
      calls <<- calls + 1
      # the second chain's
      if (calls != 2) {
        return(real(...))
      }
      stats::runif(7)
      if (way == "between sweeps") rlang::interrupt()
      NULL
    }
    path <- withr::local_tempfile()
    withr::local_options(gibbsite.on_interrupt = "return")
    with_function("best_short_run", interrupted, {
      part <- started_fit(checkpoint = path)
      expect_s3_class(part, "gibbsite_partial")
      expect_identical(calls, 2)
    })
    expect_true(identical_fit(longer(part, 12), whole))
    expect_true(identical_fit(resumed(path), whole))
  })
}
