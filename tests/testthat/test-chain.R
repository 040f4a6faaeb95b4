# The driver in one process.  What needs other processes is in test-parallel.R,
# real signals in test-interrupt.R.

set_stream <- function(stream) assign(".Random.seed", stream, globalenv())

# ---- Promise 1: segments never show ------------------------------------------

gmm_of <- function(x, k) {
  x <- as.matrix(x)
  gmm_model(x, k, complete_gmm_prior(gmm_prior(), x, k))
}

# A chain carried through sum(cuts) sweeps in pieces, without the driver.
by_hand <- function(model, cuts, burnin, thin) {
  withr::local_preserve_seed()
  chain <- start_chain(model, NULL, chain_streams(1, 1)[[1]], 1, environment())
  control <- list(burnin = burnin, thin = thin, threads = 1L)
  state <- chain$state
  stream <- chain$rng
  draws <- list()
  for (n in cuts) {
    set_stream(stream)
    result <- model_sweeps(model, state, n, control)
    state <- result$state
    stream <- result$rng
    draws <- c(draws, list(result$draws))
  }
  list(state = state, rng = stream, draws = do.call(rbind, draws))
}

# burn-in and thinning
cases_of_runs <- fast_or(
  list(c(0, 1), c(7, 3)), list(c(0, 1), c(0, 3), c(7, 1), c(7, 3))
)

test_that("sweeps cut in any way give the same bits", {
  total <- 41
  cuttings <- list(
    ones = rep(1, total), primes = c(2, 3, 5, 7, 11, 13),
    with_nothing = c(0, 20, 0, 21), one_by_one_then_all = c(1, 1, 39)
  )
  for (model in list(gmm_of(datasets::faithful, 3), probe_model())) {
    for (case in cases_of_runs) {
      burnin <- case[[1]]
      thin <- case[[2]]
      whole <- by_hand(model, total, burnin, thin)
      expect_equal(nrow(whole$draws), (total - burnin) %/% thin)
      for (cuts in cuttings) {
        expect_identical(by_hand(model, cuts, burnin, thin), whole)
      }
    }
  }
})

test_that("the state handed to a segment is not changed in place", {
  skip_long()
  model <- gmm_of(datasets::faithful, 2)
  withr::local_preserve_seed()
  chain <- start_chain(model, NULL, chain_streams(1, 1)[[1]], 1, environment())
  before <- serialize(chain$state, NULL)
  set_stream(chain$rng)
  model_sweeps(model, chain$state, 3, list(burnin = 0, thin = 1, threads = 1))
  expect_identical(serialize(chain$state, NULL), before)
})

test_that("the driver's segments never show", {
  skip_long()
  segments <- 0
  withr::local_options(
    probe.segment = function(state) segments <<- segments + 1
  )
  run_in <- function(seconds, fit, ...) {
    segments <<- 0
    withr::with_options(list(gibbsite.segment_seconds = seconds), fit(...))
  }
  for (case in cases_of_runs) {
    burnin <- case[[1]]
    thin <- case[[2]]
    for (fit in list(short_gmm, function(...) quietly(probe(...)))) {
      many <- run_in(1e-9, fit, draws = 20, burnin = burnin, thin = thin)
      of_one_sweep <- segments
      few <- run_in(1000, fit, draws = 20, burnin = burnin, thin = thin)
      expect_true(identical_fit(many, few))
    }
    # the last of the two is the probe, which counts
    expect_identical(of_one_sweep, 2 * (burnin + 20 * thin))
    expect_lt(segments, of_one_sweep / 2)
  }
})

test_that("a segment ends where burn-in ends", {
  ends <- numeric()
  withr::local_options(
    gibbsite.segment_seconds = 1000,
    probe.segment = function(state) ends <<- c(ends, state$sweep)
  )
  quietly(probe(draws = 50, burnin = 13, chains = 1))
  expect_true(13 %in% ends)
})

# ---- Promise 2: extend -------------------------------------------------------

test_that("a fit that was extended is the fit of one run", {
  skip_long()
  whole <- short_gmm(150)
  expect_true(identical_fit(longer(short_gmm(60), 90), whole))
  pieces <- short_gmm(1)
  for (n in c(1, 2, 46, 100)) pieces <- longer(pieces, n)
  expect_true(identical_fit(pieces, whole))
  expect_false(identical_fit(longer(short_gmm(60), 89), whole))
})

test_that("thin, kept allocations and running means are continued too", {
  skip_long()
  cases <- list(
    list(thin = 3, burnin = 0), list(keep = "z"), list(threads = 2),
    list(thin = 3), list(chains = 1)
  )
  for (args in cases[fast_or(1:3, 1:5)]) {
    fit <- function(n) do.call(short_gmm, c(list(draws = n), args))
    expect_true(identical_fit(longer(fit(20), 31), fit(51)))
  }
  fit <- function(n) quietly(probe(draws = n, thin = 3))
  expect_true(identical_fit(longer(fit(20), 31), fit(51)))
  means <- vapply(attr(fit(51), "chains"), function(chain) chain$state$mean, 0)
  of_draws <- vapply(fit(51), function(m) mean(m[, "value"]), 0)
  expect_equal(means, unname(of_draws))
})

test_that("a fit without its data is continued with them, and with no others", {
  skip_long()
  whole <- short_gmm(50, keep_data = FALSE)
  part <- short_gmm(20, keep_data = FALSE)
  expect_null(attr(part, "model")$data)
  expect_true(
    identical_fit(longer(part, 30, data = datasets::faithful), whole)
  )
  expect_true(identical_fit(
    longer(short_gmm(20), 30, data = datasets::faithful), short_gmm(50)
  ))
  others <- datasets::faithful
  others[272, 1] <- others[272, 1] + 1e-12
  expect_gibbsite_error({
    extend(part, 30)
    extend(part, 30, data = others)
    extend(short_gmm(20), 30, data = others)
  })
})

test_that("a fit is continued in another session", {
  skip_unless_extended()
  skip_unless_processes()
  fits <- list(
    short_gmm(20), short_gmm(20, thin = 3, keep = "z"),
    short_gmm(20, keep_data = FALSE), quietly(probe(draws = 20))
  )
  folder <- withr::local_tempdir()
  saveRDS(fits, file.path(folder, "fits.rds"))
  child <- start_child(folder = folder, quote({
    # another kind of generator, and one in use: neither may matter
    RNGkind("Wichmann-Hill", "Ahrens-Dieter")
    runif(3)
    fits <- readRDS("fits.rds")
    long <- lapply(fits[c(1, 2, 4)], longer, 30)
    long[[4]] <- longer(fits[[3]], 30, data = datasets::faithful)
    saveRDS(long, "fit.rds")
  }))
  long <- result_of(child)
  expect_true(identical_fit(long[[1]], short_gmm(50)))
  expect_true(identical_fit(long[[2]], short_gmm(50, thin = 3, keep = "z")))
  expect_true(identical_fit(long[[3]], quietly(probe(draws = 50))))
  expect_true(identical_fit(long[[4]], short_gmm(50, keep_data = FALSE)))
})

# ---- Promise 6: streams ------------------------------------------------------

uniforms <- function(fit) unlist(lapply(fit, function(m) m[, "u"]))

test_that("two fits in a row share no number, and set.seed() governs both", {
  skip_long()
  withr::local_preserve_seed()
  set.seed(42)
  one <- quietly(probe(seed = NULL))
  two <- quietly(probe(seed = NULL))
  set.seed(42)
  again <- quietly(probe(seed = NULL))
  expect_true(identical_fit(one, again))
  expect_length(intersect(uniforms(one), uniforms(two)), 0)
  # nor do the chains of one fit, nor the user's own numbers after it
  expect_identical(anyDuplicated(uniforms(one)), 0L)
  expect_length(intersect(uniforms(again), runif(1000)), 0)
})

test_that("a run leaves the user's generator one uniform on, its kind kept", {
  skip_long()
  withr::local_preserve_seed()
  kinds <- list(
    c("L'Ecuyer-CMRG", "Ahrens-Dieter", "Rounding"),
    c("Mersenne-Twister", "Inversion", "Rejection"),
    c("Wichmann-Hill", "Kinderman-Ramage", "Rejection")
  )
  for (kind in kinds[fast_or(1, 1:3)]) {
    suppressWarnings(RNGkind(kind[1], kind[2], kind[3]))
    set.seed(7)
    runif(1)
    left <- get(".Random.seed", globalenv())
    set.seed(7)
    fit <- short_gmm(10, seed = NULL)
    expect_identical(get(".Random.seed", globalenv()), left)
    expect_identical(RNGkind(), kind)
    # nothing of it is left to `seed`, extend() and errors
    longer(short_gmm(10, seed = 3), 5)
    longer(fit, 5)
    withr::with_options(
      list(probe.hook = function(state) stop("no")),
      expect_error(probe(seed = 1), class = "gibbsite_error_chain")
    )
    expect_identical(get(".Random.seed", globalenv()), left)
    expect_identical(RNGkind(), kind)
  }
  RNGkind("default", "default", "default")
})

test_that("chain k runs on the k-th stream of L'Ecuyer's generator", {
  withr::local_preserve_seed()
  withr::defer(RNGkind("default", "default", "default"))
  RNGkind("L'Ecuyer-CMRG", "Inversion", "Rejection")
  fit <- quietly(probe(draws = 20, burnin = 0, chains = 3, seed = 11))
  set.seed(11)
  stream <- get(".Random.seed", globalenv())
  for (k in 1:3) {
    stream <- parallel::nextRNGStream(stream)
    set_stream(stream)
    rnorm(1)
    u <- vapply(1:20, function(i) {
      rnorm(1)
      runif(1)
    }, 0)
    expect_identical(as.vector(fit[[k]][, "u"]), u)
  }
})

test_that("more chains leave the first ones as they are", {
  skip_long()
  two <- short_gmm(20, chains = 2)
  four <- short_gmm(20, chains = 4)
  expect_identical(unclass(four)[1:2], unclass(two)[1:2], ignore_attr = TRUE)
})

test_that("starting values may be drawn, on the chain's stream", {
  skip_long()
  drawn <- function(k) list(mu = matrix(c(2, 4, 50, 80) + runif(4), 2))
  run <- function() short_gmm(20, inits = drawn, seed = NULL)
  withr::local_preserve_seed()
  set.seed(3)
  one <- run()
  left <- get(".Random.seed", globalenv())
  set.seed(3)
  expect_true(identical_fit(run(), one))
  set.seed(3)
  runif(1)
  expect_identical(get(".Random.seed", globalenv()), left)
  expect_false(identical(one[[1]][1, ], one[[2]][1, ]))
})

test_that("shared streams, and kinds that hide state, are refused", {
  skip_long()
  withr::local_preserve_seed()
  fixed <- function(k) {
    set.seed(1)
    list(mu = matrix(c(2, 4, 50, 80), 2))
  }
  expect_gibbsite_error(short_gmm(inits = fixed))
  withr::defer(RNGkind("default", "default", "default"))
  RNGkind("Mersenne-Twister", "Box-Muller")
  expect_gibbsite_error(short_gmm(seed = NULL))
  expect_error(short_gmm(), class = "gibbsite_error_generator")
})

# ---- A chain that fails ------------------------------------------------------

test_that("a failing chain is named, and the others can be continued", {
  skip_long()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9,
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == 30) stop("the probe {broke}")
    }
  )
  expect_gibbsite_error(probe(draws = 40, chains = 3, seed = 5))
  failure <- rlang::catch_cnd(
    probe(draws = 40, chains = 3, seed = 5), "gibbsite_error_chain"
  )
  expect_s3_class(failure, "gibbsite_error")
  expect_identical(failure$failures[[1]]$chain, 2L)
  rest <- failure$fit
  expect_length(attr(rest, "chains"), 2)
  options(probe.hook = NULL)
  shown <- attr(rest, "running")$draws
  whole <- quietly(probe(draws = 40, chains = 3, seed = 5))
  rest <- longer(rest, 40 - shown)
  expect_identical(
    unclass(rest)[1:2], unclass(whole)[c(1, 3)], ignore_attr = TRUE
  )
  expect_identical(
    attr(rest, "chains")[1:2], attr(whole, "chains")[c(1, 3)]
  )
})

test_that("with no chain left there is no fit, and the error says why", {
  withr::local_options(probe.hook = function(state) stop("never"))
  failure <- rlang::catch_cnd(probe(chains = 1), "gibbsite_error_chain")
  expect_null(failure$fit)
  expect_match(conditionMessage(failure), "1 of 1 chain failed")
  expect_match(conditionMessage(failure), "never")
})

test_that("starting values of the chains that are left stay theirs", {
  withr::local_options(probe.hook = function(state) {
    if (state$chain == 1 && state$sweep == 3) stop("no")
  })
  starts <- list(list(chain = 1), list(chain = 2), list(chain = 3))
  failure <- rlang::catch_cnd(
    probe(chains = 3, inits = starts), "gibbsite_error_chain"
  )
  expect_identical(attr(failure$fit, "running")$inits, starts[2:3])
})

# ---- What a user's function does to the session ------------------------------

test_that("an option that was set to nonsense ends the run, with the fit", {
  skip_long()
  names <- c("round_seconds", "segment_seconds", "checkpoint_seconds")
  for (name in names[fast_or(1, 1:3)]) {
    option <- paste0("gibbsite.", name)
    withr::local_options(
      gibbsite.segment_seconds = 1e-9, gibbsite.round_seconds = NULL,
      gibbsite.checkpoint_seconds = NULL,
      probe.hook = function(state) {
        if (state$chain == 2 && state$sweep == 30) {
          do.call(options, stats::setNames(list("x"), option))
        }
      }
    )
    broken <- rlang::catch_cnd(probe(), "gibbsite_error_argument")
    expect_match(conditionMessage(broken), option, fixed = TRUE)
    expect_match(conditionMessage(broken), "The fit so far is kept")
    expect_identical(conditionCall(broken)[[1]], quote(probe))
    part <- broken$fit
    expect_identical(attr(part, "running")$draws, 21L)
    # as long as it stands no run goes on
    expect_error(longer(part, 79), class = "gibbsite_error_argument")
    do.call(options, stats::setNames(list(NULL), option))
    options(probe.hook = NULL)
    expect_true(identical_fit(longer(part, 79), quietly(probe())))
  }
})

test_that("an option is looked at before an interrupt is answered by it", {
  withr::local_options(
    gibbsite.on_interrupt = "return",
    probe.hook = function(state) {
      if (state$sweep == 30) {
        options(gibbsite.on_interrupt = "x")
        rlang::interrupt()
      }
    }
  )
  expect_warning(part <- probe(), class = "gibbsite_warning_interrupted")
  withr::local_options(
    gibbsite.on_interrupt = "return", gibbsite.segment_seconds = 1e-9,
    probe.hook = function(state) {
      if (state$sweep == 30) options(gibbsite.on_interrupt = "x")
    }
  )
  broken <- rlang::catch_cnd(probe(), "gibbsite_error_argument")
  expect_s3_class(broken$fit, "gibbsite_fit")
})

test_that("with other processes too", {
  skip_long()
  short_rounds()
  # what the main process runs between two rounds: here, a warning's handler
  withr::local_dir(withr::local_tempdir())
  withr::local_options(
    gibbsite.checkpoint_seconds = 0,
    probe.hook = function(state) Sys.sleep(0.03)
  )
  dir.create("run")
  broken <- rlang::catch_cnd(
    withCallingHandlers(
      probe(draws = 40, cores = 2, checkpoint = "run", inits = function(k) {
        # the first writing fails, and is warned of
        if (k == 2) file.create("run/chain-1")
        list(chain = k)
      }),
      gibbsite_warning_checkpoint = function(cnd) {
        options(gibbsite.round_seconds = "x")
        tryInvokeRestart("muffleWarning")
      }
    ),
    "gibbsite_error_argument"
  )
  options(gibbsite.round_seconds = 0.3)
  expect_true(is_fit(broken$fit))
})

test_that("a generator that is locked is an error, with the fit so far", {
  skip_long()
  withr::local_preserve_seed()
  lock <- function() lockBinding(".Random.seed", globalenv())
  unlock <- function() unlockBinding(".Random.seed", globalenv())
  withr::defer(unlock())
  set.seed(1)
  lock()
  expect_gibbsite_error(class = "gibbsite_error_generator", {
    probe()
    probe(seed = NULL)
  })
  unlock()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9,
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == 30) lock()
    }
  )
  failure <- rlang::catch_cnd(probe(), "gibbsite_error_chain")
  unlock()
  options(probe.hook = NULL)
  rest <- failure$fit
  whole <- quietly(probe())
  expect_identical(
    attr(longer(rest, 100 - attr(rest, "running")$draws), "chains")[[1]],
    attr(whole, "chains")[[1]]
  )
})

# ---- stop_when ---------------------------------------------------------------

rule <- function(...) {
  until(rhat = 1.05, ess = 120, burnin = "fixed", ...)
}

test_that("a rule stops at the first good look, at a multiple of `every`", {
  skip_long()
  fit <- quietly(probe(draws = 20, burnin = 0, stop_when = rule()))
  stopped <- attr(fit, "running")$draws
  expect_identical(stopped %% 20, 0)
  expect_gt(stopped, 20)
  expect_lt(stopped, 200)
  expect_true(converged(fit, rhat = 1.05, ess = 120))
  # no earlier look was good
  for (n in seq(20, stopped - 20, by = 20)) {
    expect_false(converged(
      quietly(probe(draws = n, burnin = 0)), rhat = 1.05, ess = 150
    ))
  }
  expect_identical(unclass(fit)[1:2], ignore_attr = TRUE,
    unclass(quietly(probe(draws = stopped, burnin = 0)))[1:2]
  )
})

test_that("where a rule stops depends on the draws alone", {
  skip_long()
  run <- function() {
    quietly(probe(draws = 20, burnin = 3, thin = 2, stop_when = rule()))
  }
  fit <- run()
  for (seconds in fast_or(1e-9, c(1e-9, 1e-4, 1000))) {
    withr::local_options(gibbsite.segment_seconds = seconds)
    expect_true(identical_fit(run(), fit))
  }
  # chains of unequal pace
  withr::local_options(
    gibbsite.segment_seconds = 0.001,
    probe.hook = function(state) {
      if (state$chain == 2) Sys.sleep(0.0005)
    }
  )
  expect_true(identical_fit(run(), fit))
})

test_that("a run that hits its cap says so", {
  skip_long()
  never <- until(ess = 1e6, max_draws = 60, every = 20, burnin = "fixed")
  cnd <- rlang::catch_cnd(
    probe(draws = 20, stop_when = never), "gibbsite_warning_cap"
  )
  expect_s3_class(cnd, "gibbsite_warning_convergence")
  expect_match(
    conditionMessage(cnd), fixed = TRUE,
    "have not converged after 60 draws, where the rule ends: R-hat 1.057 and"
  )
  fit <- quietly(probe(draws = 20, stop_when = never))
  expect_identical(attr(fit, "running")$draws, 60L)
  # the thresholds of the rule count
  easy <- until(ess = 1e6, max_draws = 2000)
  expect_warning(
    fit <- probe(draws = 2000, stop_when = easy),
    class = "gibbsite_warning_cap"
  )
  expect_true(converged(fit))
})

test_that("extend() takes a rule, anchored at the first draw", {
  skip_long()
  whole <- quietly(
    probe(draws = 20, burnin = 0, stop_when = rule(max_draws = 400))
  )
  for (n in fast_or(33, c(1, 20, 33))) {
    part <- quietly(probe(draws = n, burnin = 0))
    fit <- quietly(extend(part, 400 - n, progress = FALSE,
      stop_when = rule(max_draws = 400, every = 20)
    ))
    expect_true(identical_fit(fit, whole))
  }
  # not looked at where the fit ends, be it as good as you like
  easy <- until(rhat = 10, ess = 1, every = 20)
  fit <- quietly(extend(
    quietly(probe(draws = 33)), 100, stop_when = easy, progress = FALSE
  ))
  expect_identical(attr(fit, "running")$draws, 40L)
  # the cap comes from `draws`, in whole rounds
  part <- quietly(probe(draws = 33, burnin = 0))
  expect_message(
    fit <- quietly(
      extend(part, 380, progress = FALSE, stop_when = rule(every = 20))
    ),
    class = "gibbsite_message_rounded"
  )
  expect_identical(attr(fit, "running")$stop_when$max_draws, 400)
  expect_gibbsite_error({
    extend(part, 10, stop_when = until(max_draws = 20, every = 10))
  })
})

# ---- Size, convergence -------------------------------------------------------

test_that("a run that would not fit in memory is refused before it starts", {
  skip_long()
  withr::local_options(gibbsite.max_draws_mb = 0.01)
  ran <- FALSE
  withr::local_options(probe.segment = function(state) ran <<- TRUE)
  expect_gibbsite_error({
    gibbs_gmm(datasets::faithful, 2, draws = 1e5)
    gibbs_gmm(datasets::faithful, 2, stop_when = until(max_draws = 1000))
  })
  expect_error(probe(draws = 1e4), class = "gibbsite_error_size")
  expect_false(ran)
  small <- quietly(probe(draws = 10))
  expect_error(longer(small, 1e4), class = "gibbsite_error_size")
})

test_that("the warning of convergence can be suppressed alone", {
  skip_long()
  expect_warning(
    gibbs_gmm(datasets::faithful, 2, draws = 10, burnin = 0, seed = 1,
      chains = 2, progress = FALSE
    ),
    class = "gibbsite_warning_convergence"
  )
  expect_no_warning(suppressWarnings(
    gibbs_gmm(datasets::faithful, 2, draws = 10, burnin = 0, seed = 1,
      chains = 2, progress = FALSE
    ),
    classes = "gibbsite_warning_convergence"
  ))
  expect_no_warning(probe(draws = 800, chains = 4))
})

# ---- Progress ----------------------------------------------------------------

# A handler that counts what it is told.
counting_handler <- function(counts) {
  record <- function(what) {
    function(config, state, progression, ...) {
      counts[[what]] <- c(counts[[what]], state$step)
      counts$steps <- config$max_steps
    }
  }
  progressr::make_progression_handler("counting",
    reporter = list(
      initiate = record("initiate"), update = record("update"),
      finish = record("finish")
    ),
    target = "null", enable = TRUE, interval = 0, intrusiveness = 0
  )
}

test_that("one progress reaches the user's handlers, and no draw", {
  skip_long()
  counts <- new.env()
  withr::local_options(gibbsite.segment_seconds = 1e-4)
  plain <- short_gmm(60)
  output <- capture.output(type = "message", {
    fit <- progressr::with_progress(
      quietly(gibbs_gmm(
        datasets::faithful, 2,
        draws = 60, burnin = 7, chains = 2, seed = 1, progress = TRUE
      )),
      handlers = counting_handler(counts), enable = TRUE
    )
  })
  expect_true(identical_fit(fit, plain))
  expect_length(counts$initiate, 1)
  expect_length(counts$finish, 1)
  expect_gt(length(counts$update), 4)
  expect_identical(as.numeric(counts$steps), 2 * 67)
  expect_identical(max(counts$update), 2 * 67)
  expect_identical(output, character())
})

test_that("without a terminal nothing is drawn", {
  output <- capture.output(type = "message", {
    printed <- capture.output(fit <- quietly(probe(progress = TRUE)))
  })
  expect_identical(c(output, printed), character())
  expect_true(identical_fit(fit, quietly(probe())))
})

test_that("without_progress() is respected", {
  expect_true(progressr::without_progress(user_shows_progress()))
  expect_true(progressr::with_progress(user_shows_progress()))
  expect_false(user_shows_progress())
})

# A clock that goes on by a second at each look.
with_quick_clock <- function(code) {
  seconds <- 0
  local_object("now", function() {
    seconds <<- seconds + 1
    seconds
  })
  lines <- character()
  withCallingHandlers(code, gibbsite_message_progress = function(cnd) {
    lines <<- c(lines, gsub("\\s+", " ", conditionMessage(cnd)))
    rlang::cnd_muffle(cnd)
  })
  lines
}

test_that("lines are said after 10 and 30 seconds and then every minute", {
  clock <- 0
  local_object("now", function() clock)
  say <- gibbsite:::now_and_then()
  said <- integer()
  for (clock in 1:200) {
    # there is nothing to say: asked again at the next look
    say(function(gone) {
      said <<- c(said, gone)
      NULL
    })
  }
  expect_equal(said[1:2], c(10, 11))
  said <- integer()
  clock <- 0
  say <- gibbsite:::now_and_then()
  for (clock in 1:200) {
    suppressMessages(say(function(gone) {
      said <<- c(said, gone)
      "a line"
    }))
  }
  expect_equal(said, c(10, 30, 90, 150))
})

test_that("a run in a script says how long it takes", {
  skip_long()
  withr::local_options(gibbsite.segment_seconds = 1)
  lines <- with_quick_clock(quietly(probe(draws = 200, progress = TRUE)))
  expect_match(
    lines[[1L]], "[0-9]+% of the sweeps done, about [0-9.]+ (s|min|h) left"
  )
  expect_identical(with_quick_clock(quietly(probe(draws = 200))), character())
  # a short run says nothing
  expect_no_message(
    quietly(probe(draws = 10, progress = TRUE)),
    class = "gibbsite_message_progress"
  )
})

test_that("a long search for the mode says how far it is", {
  run <- function(progress) {
    with_quick_clock(quietly(mh_sample(
      function(x) -sum(x^2) / 2, c(a = 3, b = 3, c = 3), draws = 10,
      burnin = 10, chains = 1, seed = 1, progress = progress
    )))
  }
  expect_match(
    run(TRUE), "Search for the mode: [0-9]+ evaluations of at most 1190",
    all = FALSE
  )
  expect_identical(run(FALSE), character())
})

test_that("a run by a rule says what it waits for, and its cap", {
  skip_long()
  withr::local_options(gibbsite.segment_seconds = 1)
  lines_of <- function(rule) {
    with_quick_clock(quietly(probe(
      draws = 100, stop_when = rule, progress = TRUE
    )))
  }
  waits_of <- function(lines) {
    grep("Not converged: effective sample size", lines, value = TRUE)
  }
  rule <- until(ess = 1e5, every = 100, max_draws = 1000)
  lines <- lines_of(until(ess = 1e5, every = 100, max_draws = 300))
  expect_match(
    waits_of(lines), "About [1-9]0+ draws would be needed\\. At most"
  )
  expect_match(lines, "At most 300 draws, [0-9.]+ (s|min|h)")
  expect_match(
    waits_of(lines_of(until(ess = 120, every = 100, max_draws = 1000))),
    "About [0-9]+ draws are needed, [0-9.]+ (s|min|h)\\. At most"
  )
  job <- list(
    model = list(name = "probe"), goal = 1000, chains = vector("list", 2),
    clock = list(began = gibbsite:::now() - 20, sweeps = 0), running = list(
      stop_when = rule, burnin = 500, thin = 1
    )
  )
  local_object("total_sweeps", function(job) 0)
  line <- function(done) gibbsite:::progress_line(job, 100, list(), done)
  expect_match(
    line(400), ": 40% of the burn-in; convergence is judged after 100 draws, in"
  )
  expect_match(line(1080), ": 40 draws of each chain; convergence is judged")
  bar <- gibbsite:::bar_format(
    list(running = list(chains = 2, stop_when = rule), goal = 1000), 200,
    list(table = gibbsite:::convergence_table(
      array(rnorm(40), c(10, 2, 2), list(NULL, NULL, c("a{b}", "a{b}"))),
      1.01, 400
    ))
  )
  expect_match(bar, "of round 2 of at most 10; R-hat|effective")
  expect_match(bar, " of a{{b}}", fixed = TRUE)
})

test_that("lines of a knitted document go to the terminal", {
  withr::local_options(knitr.in.progress = TRUE)
  expect_no_message(
    told <- capture.output(gibbsite:::say_progress("slow"), type = "message")
  )
  expect_identical(told, "slow")
})

test_that("handlers that a session has set for good are the only ones", {
  skip_unless_processes()
  child <- start_child(bquote({
    counting_handler <- .(counting_handler)
    counts <- new.env()
    options(progressr.enable = TRUE)
    progressr::handlers(global = TRUE)
    progressr::handlers(counting_handler(counts))
    options(gibbsite.segment_seconds = 0.001)
    fit <- quietly(probe(progress = TRUE))
    saveRDS(list(fit = fit, counts = as.list(counts)), "fit.rds")
  }))
  told <- result_of(child)
  expect_true(identical_fit(told$fit, quietly(probe())))
  expect_length(told$counts$initiate, 1)
  expect_identical(max(told$counts$update), 2 * 110)
  expect_identical(child_output(child), "")
})

test_that("extend() with a rule makes no more draws than it is asked for", {
  fit <- brief(gibbs_gmm, faithful, 2)
  never <- until(rhat = 1.0001, every = 10, max_draws = 1000, burnin = "fixed")
  longer <- quietly(extend(fit, 20, stop_when = never, progress = FALSE))
  expect_identical(coda::niter(longer), 50L)
  # and none beyond the rule
  few <- until(rhat = 1.0001, every = 10, max_draws = 40, burnin = "fixed")
  longer <- quietly(extend(fit, 20, stop_when = few, progress = FALSE))
  expect_identical(coda::niter(longer), 40L)
})
