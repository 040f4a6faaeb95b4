# Promise 5: threads, cores and the kind of engine never change a draw.

# The plan of this session as it was, after each test.
local_plan <- function(..., frame = parent.frame()) {
  old <- future::plan(...)
  withr::defer(future::plan(old), envir = frame)
}

# Several segments in a round, chains more than workers.
engine_fit <- function(...) {
  short_gmm(draws = 150, burnin = 50, thin = 5, chains = 3, ...)
}

test_that("forked processes give the bits of one process, and leave the plan", {
  skip_long()
  short_rounds()
  before <- plan_now()
  local_plan(future::sequential)
  with_one <- plan_now()
  whole <- engine_fit()
  expect_true(identical_fit(engine_fit(cores = 2), whole))
  expect_identical(plan_now(), with_one)
  # and continue one another's fits
  part <- short_gmm(draws = 50, burnin = 50, thin = 5, chains = 3)
  expect_true(identical_fit(longer(part, 100, cores = 2), whole))
  if (is_extended()) {
    part <- short_gmm(draws = 50, burnin = 50, thin = 5, chains = 3, cores = 2)
    expect_true(identical_fit(longer(part, 100), whole))
  }
})

test_that("a pool of other sessions gives the same bits, also one repaired", {
  skip_on_cran()
  skip_on_os("windows")
  short_rounds()
  whole <- engine_fit()
  local_plan(future::multisession, workers = 2)
  fit <- engine_fit()
  expect_true(identical_fit(fit, whole))
  expect_identical(attr(fit, "run")$outcome, "done")

  # a worker that died is reported, and replaced; newer versions of `future`
  # replace it by themselves before the chains start
  pid <- future::value(future::future(Sys.getpid()))
  start <- function(k) list(pi = c(0.4, 0.6))
  killer <- function(k) {
    if (k == 1) tools::pskill(pid, tools::SIGKILL)
    start(k)
  }
  restarted <- FALSE
  result <- withCallingHandlers(
    tryCatch(
      suppressWarnings(short_gmm(inits = killer)),
      gibbsite_error_chain = identity
    ),
    gibbsite_message_pool = function(cnd) restarted <<- TRUE
  )
  if (inherits(result, "gibbsite_error_chain")) {
    expect_true(restarted)
  } else {
    expect_identical(as.matrix(result), as.matrix(short_gmm(inits = start)))
    expect_false(pid %in% lapply(1:4, function(i) {
      future::value(future::future(Sys.getpid()))
    }))
  }
  answers <- lapply(1:2, function(i) future::future(i, globals = list(i = i)))
  expect_identical(vapply(answers, future::value, 0L), 1:2)
  expect_true(identical_fit(engine_fit(), whole))
})

test_that("a plan of worker processes gives the same bits", {
  skip_unless_extended()
  skip_on_cran()
  short_rounds()
  whole <- engine_fit()
  workers <- future::makeClusterPSOCK(2)
  withr::defer(parallel::stopCluster(workers))
  local_plan(future::cluster, workers = workers)
  expect_true(identical_fit(engine_fit(), whole))
})

test_that("other kinds of generator travel with the chains", {
  skip_long()
  short_rounds()
  withr::local_preserve_seed()
  withr::defer(RNGkind("default", "default", "default"))
  RNGkind("Wichmann-Hill", "Ahrens-Dieter", "Rejection")
  whole <- engine_fit()
  kind <- RNGkind()
  left <- get(".Random.seed", globalenv())
  expect_true(identical_fit(engine_fit(cores = 2), whole))
  expect_identical(RNGkind(), kind)
  expect_identical(get(".Random.seed", globalenv()), left)
})

test_that("a rule stops at the same place on any engine", {
  skip_unless_extended()
  short_rounds()
  rule <- until(rhat = 1.05, ess = 120, every = 20)
  run <- function(...) quietly(probe(draws = 20, stop_when = rule, ...))
  expect_true(identical_fit(run(cores = 2), run()))
})

test_that("threads never change a draw", {
  skip_long()
  x <- many_observations()
  # the thread's parts of the observations are whole chunks
  fit <- function(threads) short_gmm(6, x = x, k = 3, threads = threads)
  one <- fit(1)
  for (threads in fast_or(3, c(2, 3, 7))) {
    expect_true(identical_fit(fit(threads), one))
  }
})

test_that("a fork after a run in threads does not hang", {
  skip_unless_extended()
  skip_unless_processes()
  child <- start_child(quote({
    x <- many_observations()
    one <- short_gmm(10, x = x, threads = 2)
    two <- short_gmm(10, x = x, threads = 2, cores = 2)
    three <- short_gmm(10, x = x, threads = 2)
    saveRDS(c(identical_fit(one, two), identical_fit(one, three)), "fit.rds")
  }))
  expect_identical(result_of(child, timeout = 60), c(TRUE, TRUE))
})

test_that("progress is told from other processes too", {
  skip_unless_extended()
  # progress is told after each round; a chain sleeps for several rounds
  short_rounds()
  withr::local_options(probe.hook = function(state) Sys.sleep(0.03))
  steps <- numeric()
  bar <- progressr::make_progression_handler("steps",
    reporter = list(update = function(config, state, progression, ...) {
      steps <<- c(steps, state$step)
    }),
    target = "null", enable = TRUE, interval = 0, intrusiveness = 0
  )
  fit <- progressr::with_progress(
    quietly(probe(draws = 50, cores = 2, progress = TRUE)),
    handlers = bar, enable = TRUE
  )
  expect_identical(max(steps), 2 * 60)
  expect_gt(length(steps), 2)
  expect_false(is.unsorted(steps))
})

# The packages are not in Suggests.
test_that("jobs of batchtools and furrr's calls give the bits of one process", {
  skip_long()
  skip_on_os("windows")
  skip_if_not_installed("future.batchtools")
  withr::local_dir(withr::local_tempdir())
  run <- function(seed = 1) {
    quietly(gibbs_gmm(
      datasets::faithful, 2, draws = 30, burnin = 20, chains = 2, seed = seed,
      progress = FALSE
    ))
  }
  environment(run) <- list2env(list(quietly = quietly), parent = globalenv())
  whole <- run()
  jobs <- getExportedValue("future.batchtools", "batchtools_local")
  old <- future::plan(list(jobs))
  withr::defer(future::plan(old))
  expect_true(identical_fit(run(), whole))
  skip_if_not_installed("furrr")
  future::plan(future::multisession, workers = 2)
  # the generator of furrr's processes
  withr::local_seed(1, .rng_kind = "L'Ecuyer-CMRG")
  alone <- lapply(1:2, run)
  options <- getExportedValue("furrr", "furrr_options")(
    seed = TRUE, packages = "gibbsite"
  )
  both <- getExportedValue("furrr", "future_map")(1:2, run, .options = options)
  for (k in 1:2) {
    expect_true(identical_fit(both[[k]], alone[[k]]))
  }
})

# ---- Workers that are lost ---------------------------------------------------

# Kills the process of chain 2 at sweep `at`, if that is not this one.
kill_worker <- function(at, frame = parent.frame()) {
  here <- Sys.getpid()
  withr::local_options(.local_envir = frame, probe.hook = function(state) {
    if (state$chain == 2 && state$sweep == at && Sys.getpid() != here) {
      tools::pskill(Sys.getpid(), tools::SIGKILL)
    }
  })
}

test_that("a worker killed in mid-run is named, the good chains are kept", {
  skip_unless_extended()
  skip_on_os("windows")
  skip_on_cran()
  short_rounds()
  withr::local_dir(withr::local_tempdir())
  whole <- quietly(probe(draws = 3000, chains = 3))
  kill_worker(1500)
  withr::local_options(gibbsite.checkpoint_seconds = 0)
  before <- plan_now()
  failure <- suppressWarnings(rlang::catch_cnd(
    probe(draws = 3000, chains = 3, cores = 2, checkpoint = "run"),
    "gibbsite_error_chain"
  ))
  expect_s3_class(failure, "gibbsite_error_chain")
  expect_match(conditionMessage(failure), "1 of 3 chains failed")
  expect_match(conditionMessage(failure), "Chain 2 after sweep")
  expect_identical(plan_now(), before)
  options(probe.hook = NULL)
  rest <- failure$fit
  expect_length(attr(rest, "chains"), 2)
  # on a busy machine the good chains may have ended first
  left <- 3000 - attr(rest, "running")$draws
  if (left > 0) {
    rest <- longer(rest, left, cores = 2)
  }
  expect_identical(
    unclass(rest)[1:2], unclass(whole)[c(1, 3)], ignore_attr = TRUE
  )
  expect_true(identical_fit(resumed("run"), whole))
})

test_that("a worker sees that the process it works for has ended", {
  skip_unless_processes()
  child <- start_child(quote({
    saveRDS(gibbsite:::this_process(), "me.part")
    file.rename("me.part", "me.rds")
    Sys.sleep(60)
  }))
  wait_for(child, "me.rds")
  parent <- readRDS(file_in(child, "me.rds"))
  orphaned <- watch_parent(parent)
  changed <- function(...) {
    lapply(list(...), function(change) {
      watch_parent(utils::modifyList(parent, change))
    })
  }
  # on another machine or in another container; with the number of a process
  # that ended before
  blind <- changed(list(host = "elsewhere"), list(space = "pid:[1]"))
  late <- changed(list(started = parent$started + 1), list(pid = 4194305L))
  expect_false(orphaned())
  expect_true(all(vapply(late, function(f) f(), NA)))
  tools::pskill(parent$pid, tools::SIGKILL)
  # before anybody has asked for its exit status, too
  Sys.sleep(0.2)
  expect_true(orphaned())
  expect_false(any(vapply(blind, function(f) f(), NA)))
  # nobody watches itself
  expect_false(watch_parent(this_process())())
})

test_that("a worker whose parent ended before it began ends at once", {
  skip_unless_processes()
  skip_on_os("windows")
  parent <- start_child(quote({
    me <- gibbsite:::this_process()
    worker <- parallel::mcparallel({
      while (!file.exists("go")) Sys.sleep(0.01)
      gibbsite:::watch_parent(me)
      file.create("lived")
    })
    saveRDS(worker$pid, "worker.part")
    file.rename("worker.part", "worker.rds")
    Sys.sleep(60)
  }))
  wait_for(parent, "worker.rds")
  worker <- readRDS(file_in(parent, "worker.rds"))
  tools::pskill(parent$process$get_pid(), tools::SIGKILL)
  end_of(parent)
  gone <- function() is.na(.Call(C_process_started, worker))
  expect_false(gone())
  file.create(file_in(parent, "go"))
  deadline <- Sys.time() + 30
  while (!gone() && Sys.time() < deadline) Sys.sleep(0.01)
  expect_true(gone())
  expect_false(file.exists(file_in(parent, "lived")))
})

test_that("a signal to a worker alone is an interrupt, not a failure", {
  skip_unless_extended()
  skip_on_os("windows")
  skip_on_cran()
  short_rounds()
  here <- Sys.getpid()
  send <- function() tools::pskill(Sys.getpid(), tools::SIGINT)
  # in a sweep, and so that it is noticed in what comes after the sweep
  for (signal in list(send, function() suspendInterrupts(send()))) {
    withr::local_options(
      gibbsite.on_interrupt = "return", gibbsite.segment_seconds = 1e-9,
      probe.hook = function(state) {
        if (state$chain == 2 && state$sweep == 300 && Sys.getpid() != here) {
          signal()
        }
      }
    )
    expect_warning(
      part <- probe(draws = 1000, cores = 2),
      class = "gibbsite_warning_interrupted"
    )
    options(probe.hook = NULL)
    expect_true(identical_fit(
      longer(part, 1000 - attr(part, "running")$draws),
      quietly(probe(draws = 1000))
    ))
  }
})

test_that("a chain that fails in a worker says why", {
  skip_long()
  short_rounds()
  withr::local_options(probe.hook = function(state) {
    if (state$chain == 2 && state$sweep == 30) stop("the probe broke")
  })
  failure <- rlang::catch_cnd(
    probe(draws = 40, chains = 3, cores = 2), "gibbsite_error_chain"
  )
  expect_match(conditionMessage(failure), "the probe broke")
  expect_length(attr(failure$fit, "chains"), 2)
})
