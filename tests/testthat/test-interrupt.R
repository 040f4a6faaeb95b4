# Interrupts.  In this process they are made by rlang::interrupt(), which does
# what a Ctrl-C that has arrived does, at a place that the test chooses; further
# down real signals go to real processes at no place in particular.

interrupted <- function(code) {
  withr::local_options(gibbsite.on_interrupt = "return")
  testthat::expect_warning(
    fit <- quietly(code), class = "gibbsite_warning_interrupted"
  )
  fit
}

# Interrupts the probe in the segment number `at`.
interrupt_at <- function(at, frame = parent.frame()) {
  count <- 0
  withr::local_options(.local_envir = frame, probe.segment = function(state) {
    count <<- count + 1
    if (count == at) rlang::interrupt()
  })
}

shown <- function(fit) attr(fit, "running")$draws

test_that("a fit interrupted at any place goes on to the same bits", {
  skip_long()
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  whole <- quietly(probe(draws = 6, burnin = 3, thin = 2))
  for (at in seq(1, 2 * (3 + 6 * 2), by = fast_or(7, 1))) {
    interrupt_at(at)
    part <- interrupted(probe(draws = 6, burnin = 3, thin = 2))
    expect_lt(shown(part), 6)
    options(probe.segment = NULL)
    expect_true(identical_fit(longer(part, 6 - shown(part)), whole))
  }
})

test_that("the first interrupt stops all chains, and says how to go on", {
  interrupt_at(5)
  withr::local_options(
    gibbsite.on_interrupt = "return", gibbsite.segment_seconds = 1e-9
  )
  expect_gibbsite_condition(
    part <- probe(draws = 20, burnin = 0), "gibbsite_warning_interrupted"
  )
  expect_identical(shown(part), 2L)
  expect_identical(attr(part, "run")$outcome, "interrupted")
})

test_that("before the first kept draw there is a partial fit", {
  interrupt_at(4)
  part <- interrupted(probe(draws = 20, burnin = 100))
  expect_s3_class(part, "gibbsite_partial")
  expect_false(inherits(part, "mcmc.list"))
  expect_output(print(part), "no draws yet")
  options(probe.segment = NULL)
  path <- withr::local_tempfile()
  saveRDS(part, path)
  whole <- quietly(probe(draws = 20, burnin = 100))
  expect_true(identical_fit(longer(readRDS(path), 20), whole))
})

# ---- Before the first sweep --------------------------------------------------

# Interrupts at the call number `at` of a function of the user.
interrupting <- function(f, at) {
  count <- 0
  at <- at
  function(...) {
    count <<- count + 1
    if (count == at) rlang::interrupt()
    f(...)
  }
}

test_that("a start that was interrupted is made later, to the same bits", {
  skip_long()
  plain <- function(k) list(pi = prop.table(runif(2)))
  whole <- short_gmm(inits = plain, chains = 3)
  for (at in fast_or(2, 1:3)) {
    part <- interrupted(short_gmm(inits = interrupting(plain, at), chains = 3))
    expect_s3_class(part, "gibbsite_partial")
    expect_length(attr(part, "chains"), 3)
    path <- withr::local_tempfile()
    saveRDS(part, path)
    # the generator in use plays no part, and stays as it was
    withr::with_preserve_seed({
      suppressWarnings(RNGkind("Wichmann-Hill"))
      set.seed(1)
      before <- .Random.seed
      fit <- longer(readRDS(path), 60)
      expect_identical(.Random.seed, before)
    })
    for (k in 1:3) expect_identical(fit[[k]], whole[[k]])
    expect_identical(attr(fit, "chains"), attr(whole, "chains"))
  }
})

test_that("a partial fit without starts says what it is", {
  skip_long()
  start <- function(k) list(chain = k)
  part <- interrupted(probe(inits = interrupting(start, 2)))
  expect_match(
    capture.output(part), "^1 of 2 chains has its starting values yet to be",
    all = FALSE
  )
  none <- interrupted(probe(inits = interrupting(start, 1), chains = 3))
  expect_match(
    capture.output(none), "^3 of 3 chains have their starting values yet",
    all = FALSE
  )
  expect_error(
    probe(inits = none), "before its chains had starting values",
    class = "gibbsite_error_argument"
  )
  # interrupted again, and then not
  withr::local_options(gibbsite.on_interrupt = "return")
  again <- interrupting(start, 2)
  part <- suppressWarnings(probe(inits = again))
  environment(again)$at <- 3
  expect_warning(part <- longer(part, 100),
    class = "gibbsite_warning_interrupted"
  )
  expect_s3_class(part, "gibbsite_partial")
  expect_identical(
    attr(longer(part, 100), "chains"), attr(quietly(probe()), "chains")
  )
})

test_that("an interrupted start leaves no checkpoint, and says so", {
  skip_long()
  withr::local_dir(withr::local_tempdir())
  withr::local_options(gibbsite.on_interrupt = "stop")
  start <- function(k) list(chain = k)
  inits <- interrupting(start, 2)
  stopped <- rlang::catch_cnd(
    probe(inits = inits, checkpoint = "run"), "gibbsite_error_interrupted"
  )
  expect_no_match(conditionMessage(stopped), "resume(", fixed = TRUE)
  whole <- quietly(probe())
  expect_identical(
    attr(longer(stopped$fit, 100), "chains"), attr(whole, "chains")
  )
  expect_identical(directory_holds("run"), "empty")
  fit <- quietly(probe(inits = inits, checkpoint = "run"))
  expect_identical(attr(fit, "chains"), attr(whole, "chains"))
  expect_true(identical_fit(resumed("run"), fit))
})

test_that("mh_sample()'s search for a start may be interrupted anywhere", {
  skip_long()
  density <- function(x) -sum((x - c(1, 2))^2) / 2 - x[[1]]^4
  count <- 0
  at <- Inf
  counting <- function(x) {
    count <<- count + 1
    if (count == at) rlang::interrupt()
    density(x)
  }
  run <- function() {
    count <<- 0
    quietly(mh_sample(
      counting, c(a = 0, b = 0), draws = 5, burnin = 5, chains = 2, seed = 1,
      progress = FALSE
    ))
  }
  whole <- run()
  calls <- count
  for (at in unique(round(seq(1, calls, length.out = fast_or(4, 15))))) {
    part <- interrupted(run())
    shown <- attr(part, "running")$draws
    expect_identical(
      attr(longer(part, 5 - shown), "chains"), attr(whole, "chains")
    )
  }
})

test_that("laplace()'s search goes on where it was interrupted", {
  skip_long()
  density <- function(x) -sum((x - c(1, 2))^2) / 2 - x[[1]]^4
  count <- 0
  at <- Inf
  # draws random numbers, as a density may
  counting <- function(x) {
    count <<- count + 1
    if (count == at) rlang::interrupt()
    density(x) + 0 * stats::rnorm(1)
  }
  run <- function(...) {
    count <<- 0
    laplace(counting, c(a = 0, b = 0), draws = 20, chains = 2, seed = 3, ...)
  }
  whole <- run()
  calls <- count
  for (place in unique(round(seq(1, calls, length.out = fast_or(3, 12))))) {
    at <- place
    part <- interrupted(run())
    expect_s3_class(part, "gibbsite_partial")
    at <- Inf
    count <- 0
    fit <- longer(part, 20)
    # the call that was cut short, and what came after
    expect_identical(count, calls - place + 1)
    expect_true(identical_fit(fit, whole))
  }
  expect_match(
    capture.output(part), "^The search has called it [0-9]+ times; highest so",
    all = FALSE
  )
  # twice, and in between to a file and another kind of generator
  at <- 20
  part <- interrupted(run(keep_data = FALSE))
  at <- 10
  count <- 0
  part <- interrupted(extend(part, 20))
  path <- withr::local_tempfile()
  saveRDS(part, path)
  at <- Inf
  withr::with_preserve_seed({
    RNGkind("Wichmann-Hill")
    fit <- longer(readRDS(path), 20)
  })
  expect_true(identical_fit(fit, run(keep_data = FALSE)))
  # in a script the error carries it
  at <- 20
  withr::local_options(gibbsite.on_interrupt = "stop")
  stopped <- rlang::catch_cnd(run(), "gibbsite_error_interrupted")
  expect_true(identical_fit(longer(stopped$fit, 20), whole))
})

test_that("an interrupt that compiled code has seen is handed on", {
  skip_on_cran()
  skip_on_os("windows")
  seen <- function(code) {
    tryCatch(
      {
        force(code)
        "went on"
      },
      interrupt = function(cnd) "interrupt"
    )
  }
  # gibbs_gmm()'s search for a start: a signal in the midst of its sweeps
  x <- as.matrix(datasets::faithful)
  model <- gmm_model(x, 2, complete_gmm_prior(gmm_prior(), x, 2))
  withr::local_seed(1)
  interrupt_later()
  expect_identical(seen(highest_climb(model, 1, 1e7)), "interrupt")
  # one that is waiting when the core looks
  send <- function() {
    suspendInterrupts(tools::pskill(Sys.getpid(), tools::SIGINT))
  }
  approximation <- attr(laplace_logistic(am ~ wt, mtcars, draws = 1), "model")
  expect_identical(
    seen({
      send()
      draw_normal(approximation, 10)
    }),
    "interrupt"
  )
  state <- start_chain(
    model, NULL, chain_streams(1, 1)[[1]], 1, environment()
  )$state
  expect_identical(
    seen({
      send()
      model_climb(model, state, 1)
    }),
    "interrupt"
  )
})

# ---- After it ----------------------------------------------------------------

# A sweep of chain 2 takes twice the time of a segment. So chain 1, whose sweeps
# take no time, is far ahead where chain 2 has 10 draws.
uneven_fit <- function() {
  withr::local_options(
    gibbsite.segment_seconds = 0.05,
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == 10) rlang::interrupt()
      if (state$chain == 2) Sys.sleep(0.1)
    }
  )
  interrupted(probe(draws = 500, burnin = 0))
}

test_that("draws of a chain that is ahead wait, and are used first", {
  skip_long()
  whole <- quietly(probe(draws = 500, burnin = 0))
  part <- uneven_fit()
  ahead <- vapply(attr(part, "pending"), nrow, 0L)
  expect_gt(ahead[1], 1)
  expect_identical(ahead[2], 0L)
  swept <- c(0, 0)
  withr::local_options(probe.hook = function(state) {
    swept[state$chain] <<- swept[state$chain] + 1
  })
  next_one <- longer(part, 1)
  expect_identical(swept, c(0, 1))
  expect_identical(nrow(attr(next_one, "pending")[[1]]), ahead[1] - 1L)
  expect_identical(
    lapply(next_one, as.vector),
    lapply(whole, function(m) as.vector(unclass(m)[seq_len(shown(next_one)), ]))
  )
  swept <- c(0, 0)
  level <- longer(next_one, 500 - shown(next_one))
  expect_identical(swept, 500 - c(shown(part) + ahead[1], shown(part) + 1))
  expect_true(identical_fit(level, whole))
})

test_that("with a rule an interrupted run goes on to the same stop", {
  skip_long()
  rule <- until(
    rhat = 1.05, ess = 120, every = 20, max_draws = 200, burnin = "fixed"
  )
  whole <- quietly(probe(draws = 20, burnin = 5, stop_when = rule))
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  for (at in fast_or(c(3, 75), c(3, 40, 75, 100))) {
    interrupt_at(at)
    part <- interrupted(probe(draws = 20, burnin = 5, stop_when = rule))
    options(probe.segment = NULL)
    fit <- longer(part, 200 - shown(part), stop_when = rule)
    expect_true(identical_fit(fit, whole))
  }
  interrupt_at(60)
  withr::local_options(gibbsite.on_interrupt = "return")
  expect_gibbsite_condition(
    part <- probe(draws = 20, burnin = 5, stop_when = rule),
    "gibbsite_warning_interrupted"
  )
})

test_that("`stop` raises an error that carries the fit", {
  skip_long()
  withr::local_options(
    gibbsite.on_interrupt = "stop", gibbsite.segment_seconds = 1e-9
  )
  interrupt_at(60)
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  expect_gibbsite_error(
    probe(draws = 50, checkpoint = "run"),
    transform = function(lines) sub("\\(\".*run\"\\)", "(\"run\")", lines)
  )
  interrupt_at(60)
  stopped <- rlang::catch_cnd(probe(draws = 50), "gibbsite_error_interrupted")
  options(probe.segment = NULL)
  whole <- quietly(probe(draws = 50))
  part <- stopped$fit
  expect_true(identical_fit(longer(part, 50 - shown(part)), whole))
  expect_true(identical_fit(resumed("run"), whole))
})

test_that("an interrupt leaves the user's generator as a whole run would", {
  withr::local_preserve_seed()
  set.seed(1)
  runif(1)
  left <- get(".Random.seed", globalenv())
  set.seed(1)
  interrupt_at(3)
  part <- interrupted(probe(seed = NULL))
  expect_identical(get(".Random.seed", globalenv()), left)
})

test_that("the interrupt of one run is not left over for what comes next", {
  interrupt_at(3)
  part <- interrupted(probe())
  expect_no_error(for (i in 1:5000) identity(i))
  options(probe.segment = NULL)
  expect_no_warning(quietly(probe()))
})

# ---- Real signals ------------------------------------------------------------

test_that("SIGINT in a batch session that returns: nothing is lost", {
  skip_unless_processes()
  child <- start_child(quote({
    options(gibbsite.on_interrupt = "return")
    finish <- function(part, draws) {
      force(part)
      options(probe.hook = NULL)
      stopifnot(attr(part, "run")$outcome == "interrupted")
      path <- tempfile()
      saveRDS(part, path)
      part <- readRDS(path)
      list(
        shown = attr(part, "running")$draws, printed = capture.output(part),
        class = class(part), draws = draws,
        fit = longer(part, draws - attr(part, "running")$draws)
      )
    }

    slow_from(0, 30, "in-burnin")
    in_burnin <- finish(probe(draws = 50, burnin = 5000), 50)

    slow_from(0, 60, "in-mid-run")
    mid_run <- finish(probe(draws = 5000), 5000)

    # a second Ctrl-C while the first one is answered, and two at once
    again <- function() tools::pskill(Sys.getpid(), tools::SIGINT)
    options(probe.hook = function(state) if (state$sweep == 60) again())
    second <- finish(
      withCallingHandlers(probe(draws = 100), warning = function(cnd) again()),
      100
    )
    options(probe.hook = function(state) {
      if (state$sweep == 60) for (i in 1:20) again()
    })
    at_once <- finish(probe(draws = 100), 100)

    # one that comes while no R code runs, in segments of one slow sweep each
    after <- 0
    options(
      gibbsite.segment_seconds = 1e-9,
      probe.segment = function(state) after <<- after + 1,
      probe.hook = function(state) {
        if (state$sweep == 60 && state$chain == 1) {
          suspendInterrupts(again())
          after <<- 0
        }
      }
    )
    part <- probe(draws = 100)
    segments_after <- after
    slow <- finish(part, 100)
    slow$after <- segments_after

    # one long segment in C
    options(
      probe.hook = NULL, probe.segment = NULL, gibbsite.segment_seconds = 1e6
    )
    started <- function(k) {
      note("in-long-segment")
      list(pi = c(0.4, 0.6))
    }
    part <- short_gmm(draws = 1e6, thin = 100, chains = 1, inits = started)
    long <- finish(part, attr(part, "running")$draws + 20)
    saveRDS(list(
      in_burnin = in_burnin, mid_run = mid_run, second = second,
      at_once = at_once, slow = slow, long = long
    ), "fit.rds")
  }))
  for (place in c("in-burnin", "in-mid-run")) {
    wait_for(child, place)
    interrupt_child(child)
  }
  wait_for(child, "in-long-segment")
  # into the segment of 32,768 or 262,144 sweeps; sooner would do as well
  Sys.sleep(0.4)
  interrupt_child(child)
  results <- result_of(child, timeout = 30)

  expect_identical(results$in_burnin$shown, 0L)
  expect_identical(results$in_burnin$class, "gibbsite_partial")
  expect_match(results$in_burnin$printed[1], "no draws yet")
  expect_true(identical_fit(
    results$in_burnin$fit, quietly(probe(draws = 50, burnin = 5000))
  ))
  expect_gt(results$mid_run$shown, 0)
  expect_lt(results$mid_run$shown, 5000)
  expect_true(identical_fit(
    results$mid_run$fit, quietly(probe(draws = 5000))
  ))
  expect_identical(results$slow$after, 0)
  for (name in c("second", "at_once", "slow")) {
    expect_lt(results[[name]]$shown, 100)
    expect_true(identical_fit(results[[name]]$fit, quietly(probe())))
  }
  # a function of the same code, which leaves its note in a folder to be lost
  withr::local_dir(withr::local_tempdir())
  whole <- short_gmm(
    draws = results$long$draws, thin = 100, chains = 1,
    inits = function(k) {
      note("in-long-segment")
      list(pi = c(0.4, 0.6))
    }
  )
  expect_true(identical_fit(results$long$fit, whole))
})

test_that("SIGINT in a batch session stops it, the checkpoint written", {
  skip_unless_extended()
  skip_unless_processes()
  child <- start_child(quote({
    slow_from(0, 60, "mid-run")
    probe(draws = 5000, checkpoint = "run")
    note("went-on")
  }))
  wait_for(child, "mid-run")
  interrupt_child(child)
  expect_false(identical(end_of(child), 0L))
  expect_match(child_output(child), "Interrupted after", fixed = TRUE)
  expect_match(child_output(child), "/run\")", fixed = TRUE)
  expect_false(file.exists(file_in(child, "went-on")))
  state <- read_envelope(
    file_in(child, "run/chain-1/state.rds"), "state", call = environment()
  )$value
  expect_gt(state$drawn, 0)
  expect_true(identical_fit(
    resumed(file_in(child, "run")), quietly(probe(draws = 5000))
  ))
})

# Reads what R writes to its terminal until it has written `pattern`.
read_until <- function(terminal, pattern, timeout = 60) {
  seen <- ""
  deadline <- Sys.time() + timeout
  while (!grepl(pattern, seen)) {
    if (Sys.time() > deadline || !terminal$is_alive()) {
      stop("The terminal did not show ", pattern, ":\n", seen)
    }
    terminal$poll_io(100)
    seen <- paste0(seen, terminal$read_output())
  }
  seen
}

test_that("Ctrl-C at a terminal returns the fit so far", {
  skip_unless_processes()
  folder <- withr::local_tempdir()
  terminal <- tryCatch(
    callr::process$new(
      r_program("R"), c("--vanilla", "--quiet", "--interactive"),
      wd = folder, pty = TRUE, cleanup_tree = TRUE,
      env = c(child_environment(), TERM = "xterm", COLUMNS = "80")
    ),
    error = function(cnd) skip("this system has no pseudo-terminals")
  )
  withr::defer(terminal$kill_tree())
  type <- function(...) terminal$write_input(paste0(..., "\n"))
  helper <- normalizePath(test_path("helper-run.R"))
  type("library(gibbsite); source('", helper, "'); 6 * 7")
  read_until(terminal, "\\[1\\] 42")
  type("slow_from(0, 60, 'mid-run')")
  type("fit <- probe(draws = 5000, progress = TRUE)")
  # no echo of the line has both
  shown <- read_until(terminal, "2 chains .*ETA")
  wait_for(list(process = terminal, folder = folder), "mid-run")
  terminal$write_input("\003")
  read_until(terminal, "Interrupted after [0-9]+ of 5000 draws")
  type("options(probe.hook = NULL); fit")
  printed <- read_until(terminal, "Next: ")
  expect_match(printed, "2 chains of [0-9]+ draws")
  type("saveRDS(longer(fit, 5000 - nrow(fit[[1]])), 'fit.rds')")
  type("6 * 9")
  read_until(terminal, "\\[1\\] 54")
  type("q('no')")
  expect_true(identical_fit(
    readRDS(file.path(folder, "fit.rds")), quietly(probe(draws = 5000))
  ))
})

# ---- Real signals, chains in other processes ---------------------------------

# The child's run; `plan` sets the engine up, `settle` says whether it still
# works.  Sweeps of some 20 microseconds, 500 for each draw.  A signal that
# comes when the run is over is no matter of ours: it is let pass, until the
# parent says that it has sent all.
engine_child <- function(plan, cores, settle, frame = parent.frame()) {
  start_child(frame = frame, bquote({
    options(
      gibbsite.on_interrupt = "return", gibbsite.round_seconds = 0.3,
      gibbsite.segment_seconds = 0.05, gibbsite.checkpoint_seconds = 0
    )
    .(plan)
    before <- plan_now()
    until_sent <- function(name) {
      deadline <- Sys.time() + 60
      repeat {
        over <- file.exists(paste0(name, "-sent")) || Sys.time() > deadline
        tryCatch(allowInterrupts(Sys.sleep(0.01)), interrupt = identity)
        if (over) break
      }
    }
    one_run <- function(name, inits) {
      part <- suspendInterrupts({
        part <- short_gmm(
          draws = 1e5, thin = 500, burnin = 0, checkpoint = name,
          cores = .(cores)
        )
        until_sent(name)
        part
      })
      note(paste0(name, "-over"))
      stopifnot(attr(part, "run")$outcome == "interrupted")
      made <- vapply(attr(part, "pending"), NROW, 0L)
      most <- attr(part, "running")$draws + max(0L, made) + 1L
      answers <- .(settle)
      list(
        shown = attr(part, "running")$draws, most = most, answers = answers,
        fit = longer(part, most - attr(part, "running")$draws)
      )
    }
    results <- list(one_run("first"), one_run("second"))
    results$same_plan <- identical(plan_now(), before)
    saveRDS(results, "fit.rds")
  }))
}

expect_interrupted_well <- function(child) {
  started <- function(name) {
    wait_for(child, file.path(name, "chain-2", "draws-0001.rds"))
  }
  sent <- function(name) note(file_in(child, paste0(name, "-sent")))
  started("first")
  interrupt_child(child)
  sent("first")
  wait_for(child, "first-over")
  started("second")
  # as Ctrl-C does, and once more while the workers are waited for
  interrupt_group(child)
  Sys.sleep(0.1)
  interrupt_child(child)
  sent("second")
  results <- result_of(child)
  for (result in results[1:2]) {
    expect_gt(result$shown, 0)
    expect_identical(result$answers, c(1, 2))
    expect_true(identical_fit(
      result$fit, short_gmm(draws = result$most, thin = 500, burnin = 0)
    ))
  }
  results
}

test_that("SIGINT with chains in other processes, which work afterwards", {
  skip_unless_extended()
  skip_unless_processes()
  # both at once: it takes a while to start a pool
  forked <- engine_child(quote(NULL), 2, quote(c(1, 2)))
  if (is_extended()) {
    pool <- engine_child(
      quote(future::plan(future::multisession, workers = 2)), 1,
      quote({
        both <- lapply(1:2, function(i) {
          future::future(i, globals = list(i = i))
        })
        vapply(both, future::value, 0) + 0
      })
    )
  }
  results <- expect_interrupted_well(forked)
  expect_true(results$same_plan)
  if (is_extended()) expect_interrupted_well(pool)
})

test_that("interrupts at random times, again and again", {
  skip_unless_processes()
  skip_unless_extended()
  child <- start_child(quote({
    options(gibbsite.on_interrupt = "return", gibbsite.segment_seconds = 0.01)
    starts <- function(k) {
      note(paste0("run-", run))
      list(pi = c(0.4, 0.6))
    }
    for (run in 1:20) {
      part <- short_gmm(draws = 1e6, thin = 50, inits = starts)
      ahead <- vapply(attr(part, "pending"), NROW, 0L)
      most <- attr(part, "running")$draws + max(0L, ahead) + 1L
      fit <- longer(part, most - attr(part, "running")$draws)
      stopifnot(identical_fit(
        fit, short_gmm(draws = most, thin = 50, inits = starts)
      ))
      note(paste0("same-", run))
    }
    saveRDS(TRUE, "fit.rds")
  }))
  delays <- withr::with_seed(1, runif(20, 0, 0.5))
  for (run in seq_along(delays)) {
    wait_for(child, paste0("run-", run))
    Sys.sleep(delays[run])
    interrupt_child(child)
    wait_for(child, paste0("same-", run))
  }
  expect_true(result_of(child))
})

# ---- What is said ------------------------------------------------------------

test_that("an error of a script says how a script goes on", {
  withr::local_options(
    gibbsite.on_interrupt = "stop", gibbsite.segment_seconds = 1e-9
  )
  interrupt_at(9)
  expect_error(
    probe(draws = 20, burnin = 0), "A script that ends here loses it",
    class = "gibbsite_error_interrupted"
  )
  folder <- file.path(withr::local_tempdir(), "run")
  interrupt_at(9)
  expect_error(
    probe(draws = 20, burnin = 0, checkpoint = folder),
    "Go on from disk: resume",
    class = "gibbsite_error_interrupted"
  )
})

test_that("a run that was stopped in its search left no checkpoint", {
  withr::local_options(gibbsite.on_interrupt = "stop")
  folder <- file.path(withr::local_tempdir(), "run")
  density <- interrupting(function(x) -sum(x^2) / 2, 5)
  expect_error(
    mh_sample(density, c(a = 5, b = 5), draws = 20, burnin = 5, seed = 1,
              progress = FALSE, checkpoint = folder),
    "before all chains had starting values",
    class = "gibbsite_error_interrupted"
  )
  expect_error(
    resume(folder, progress = FALSE), "holds no whole checkpoint",
    class = "gibbsite_error_checkpoint"
  )
})
