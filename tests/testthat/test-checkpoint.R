# Checkpoints: what is written, what is read back, and what is refused.

# A run of 80 draws that was stopped three times by an interrupt, so that its
# checkpoint in `path` has several files of draws a chain.
stopped_run <- function(path, seed = 1) {
  stop_at <- 20
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "stop",
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == stop_at) rlang::interrupt()
    }
  )
  stopped <- "gibbsite_error_interrupted"
  expect_error(
    probe(draws = 80, seed = seed, checkpoint = path), class = stopped
  )
  for (stop_at in c(30, 40)) expect_error(resumed(path), class = stopped)
}

# The working directory is a new one, so that messages have no long paths.
local_folder <- function(frame = parent.frame()) {
  withr::local_dir(withr::local_tempdir(.local_envir = frame),
    .local_envir = frame
  )
}

# ---- Promise 4: kill -9 ------------------------------------------------------

test_that("a run that was killed is resumed to the same bits", {
  skip_unless_processes()
  # each would take many seconds if it were let
  child <- start_child(quote({
    options(gibbsite.checkpoint_seconds = 0)
    slow_from(0, 5, "started")
    probe(draws = 4000, checkpoint = "run")
  }))
  ruled <- start_child(quote({
    options(gibbsite.checkpoint_seconds = 0)
    rule <- until(rhat = 1.01, ess = 4000, every = 1000)
    slow_from(0, 5, "started")
    probe(draws = 1000, checkpoint = "run", stop_when = rule)
  }))
  for (one in list(child, ruled)) {
    wait_for(one, "run/chain-2/draws-0002.rds")
    tools::pskill(one$process$get_pid(), tools::SIGKILL)
    expect_identical(end_of(one), -9L)
  }
  fit <- resumed(file_in(child, "run"))
  expect_true(identical_fit(fit, quietly(probe(draws = 4000))))
  rule <- until(rhat = 1.01, ess = 4000, every = 1000)
  fit <- resumed(file_in(ruled, "run"))
  whole <- quietly(probe(draws = 1000, stop_when = rule))
  expect_true(identical_fit(fit, whole))
  # the rule held before its cap
  expect_lt(attr(whole, "running")$draws, 10000)
})

# ---- Resuming in all circumstances -------------------------------------------

test_that("an interrupted run is resumed, and resumed again", {
  local_folder()
  stopped_run("run")
  whole <- quietly(probe(draws = 80))
  expect_true(identical_fit(resumed("run"), whole))
  # a run that is over is read back, and nothing is written
  before <- md5_of("run")
  expect_true(identical_fit(resumed("run"), whole))
  expect_identical(md5_of("run"), before)
})

test_that("data, thinning, kept blocks and cores make no difference", {
  local_folder()
  withr::local_options(
    gibbsite.checkpoint_seconds = 0, gibbsite.segment_seconds = 1e-9
  )
  fit <- short_gmm(
    40, thin = 3, keep = "z", keep_data = FALSE, checkpoint = "run"
  )
  again <- resumed("run", data = datasets::faithful, cores = 2)
  expect_true(identical_fit(again, fit))
  expect_null(attr(again, "model")$data)
})

test_that("an extended fit has a checkpoint of its own", {
  local_folder()
  whole <- quietly(probe(draws = 80))
  part <- quietly(probe(draws = 30))
  withr::local_options(
    gibbsite.on_interrupt = "stop", gibbsite.segment_seconds = 1e-9,
    probe.hook = function(state) if (state$sweep == 60) rlang::interrupt()
  )
  expect_error(
    longer(part, 50, checkpoint = "run"), class = "gibbsite_error_interrupted"
  )
  options(probe.hook = NULL)
  expect_true(identical_fit(resumed("run"), whole))
})

test_that("a run with a rule stops where it would have stopped", {
  local_folder()
  rule <- until(rhat = 1.05, ess = 120, every = 20)
  withr::local_options(
    gibbsite.on_interrupt = "stop", gibbsite.segment_seconds = 1e-9,
    probe.hook = function(state) if (state$sweep == 45) rlang::interrupt()
  )
  expect_error(
    probe(draws = 20, stop_when = rule, checkpoint = "run"),
    class = "gibbsite_error_interrupted"
  )
  options(probe.hook = NULL)
  expect_true(identical_fit(
    resumed("run"), quietly(probe(draws = 20, stop_when = rule))
  ))
})

test_that("after a chain has failed all chains can be resumed", {
  local_folder()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9,
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == 30) stop("no luck")
    }
  )
  failure <- rlang::catch_cnd(
    probe(draws = 40, checkpoint = "run"), "gibbsite_error_chain"
  )
  expect_match(conditionMessage(failure), "All chains can be resumed")
  options(probe.hook = NULL)
  expect_true(identical_fit(resumed("run"), quietly(probe(draws = 40))))
})

test_that("files aside, and draws that no state names, are not read", {
  local_folder()
  stopped_run("run")
  writeBin(as.raw(1:200), "run/chain-1/state.rds.part")
  writeBin(as.raw(1:200), "run/data.rds.part")
  writeBin(as.raw(1:200), sprintf("run/chain-1/%s", draws_file(
    length(list.files("run/chain-1", "draws-.*rds$")) + 1
  )))
  expect_true(identical_fit(resumed("run"), quietly(probe(draws = 80))))
})

test_that("a checkpoint is written at most every so many seconds", {
  local_folder()
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  quietly(probe(draws = 80, checkpoint = "run"))
  # at the start and at the end
  expect_identical(
    list.files("run/chain-1"), c("draws-0001.rds", "state.rds")
  )
})

# ---- What is refused ---------------------------------------------------------

test_that("a damaged or foreign checkpoint is an error, its files untouched", {
  skip_long()
  local_folder()
  stopped_run("good")
  stopped_run("other", seed = 2)
  # a copy is called `run`; `damage` works in it
  copy_good <- function() {
    unlink("run", recursive = TRUE)
    dir.create("run")
    file.copy(list.files("good", full.names = TRUE), "run", recursive = TRUE)
  }
  damaged <- function(damage) {
    copy_good()
    damage()
    before <- md5_of("run")
    stopifnot(!identical(before, md5_of("good")))
    withr::defer(expect_identical(md5_of("run"), before))
    resume("run", progress = FALSE)
  }
  cut <- function(path, n) {
    function() {
      path <- file.path("run", path)
      writeBin(readBin(path, "raw", file.size(path))[seq_len(n)], path)
    }
  }
  flip <- function(path, place) {
    function() {
      path <- file.path("run", path)
      bytes <- readBin(path, "raw", file.size(path))
      at <- length(bytes) - place
      bytes[at] <- xor(bytes[at], as.raw(1))
      writeBin(bytes, path)
    }
  }
  put <- function(from, path) {
    function() file.copy(from, file.path("run", path), overwrite = TRUE)
  }
  remove <- function(path) function() unlink(file.path("run", path))
  change <- function(path, ...) {
    function() {
      path <- file.path("run", path)
      envelope <- unserialize(readBin(path, "raw", file.size(path)))
      envelope <- utils::modifyList(envelope, list(...))
      writeBin(serialize(envelope, NULL), path)
    }
  }
  state <- "chain-1/state.rds"
  expect_gibbsite_error({
    damaged(cut(state, 100))
    damaged(cut(state, 0))
    damaged(cut("chain-2/draws-0002.rds", 60))
    damaged(flip("chain-1/draws-0003.rds", 20))
    damaged(flip("data.rds", 2000))
    damaged(function() saveRDS(1:10, "run/chain-1/state.rds"))
    damaged(function() writeLines("hello", "run/data.rds"))
    damaged(function() writeBin(serialize(mtcars, NULL), "run/data.rds"))
    damaged(change("data.rds", version = 99L))
    damaged(put("other/chain-1/state.rds", state))
    damaged(put("other/data.rds", "data.rds"))
    damaged(put("good/data.rds", state))
    damaged(put("good/chain-2/draws-0001.rds", "chain-1/draws-0001.rds"))
    damaged(remove("data.rds"))
    damaged(remove(state))
    damaged(remove("chain-1/draws-0001.rds"))
  })
  expect_error(damaged(cut(state, 100)), class = "gibbsite_error_checkpoint")
  # the copy that they were made from is a good one
  copy_good()
  expect_true(identical_fit(resumed("run"), quietly(probe(draws = 80))))
})

test_that("a file cut anywhere is an error and nothing worse", {
  skip_long()
  local_folder()
  stopped_run("run")
  bytes <- readBin("run/chain-1/state.rds", "raw", 1e6)
  for (n in unique(round(seq(0, length(bytes) - 1, length.out = 60)))) {
    writeBin(bytes[seq_len(n)], "run/chain-1/state.rds")
    expect_error(resume("run"), class = "gibbsite_error_checkpoint")
  }
})

test_that("other data, and what is no checkpoint, are refused", {
  local_folder()
  short_gmm(10, checkpoint = "run")
  before <- md5_of("run")
  dir.create("empty")
  expect_gibbsite_error({
    resume("run", data = datasets::faithful + 1)
    resume("nowhere")
    resume("empty")
    resume(3)
    resume("run", cores = 0)
  })
  expect_identical(md5_of("run"), before)
})

test_that("a run never writes over what is there", {
  local_folder()
  short_gmm(10, checkpoint = "run")
  dir.create("mine")
  writeLines("my own", "mine/notes.txt")
  before <- c(md5_of("run"), md5_of("mine"))
  expect_gibbsite_error({
    gibbs_gmm(datasets::faithful, 2, checkpoint = "run")
    gibbs_gmm(datasets::faithful, 2, checkpoint = "mine")
    extend(short_gmm(10), 10, checkpoint = "run")
  })
  expect_identical(c(md5_of("run"), md5_of("mine")), before)
})

# ---- A disk that fails -------------------------------------------------------

test_that("a directory that goes away is a warning, and the run goes on", {
  local_folder()
  whole <- quietly(probe(draws = 80))
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.checkpoint_seconds = 0,
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == 30) {
        unlink("run", recursive = TRUE)
        file.create("run")
      }
    }
  )
  expect_gibbsite_condition(
    fit <- quietly(probe(draws = 80, checkpoint = "run")),
    "gibbsite_warning_checkpoint",
    transform = function(lines) {
      # one line, without the path
      sub("in `.*` could not", "in `run` could not", lines)
    }
  )
  expect_true(identical_fit(fit, whole))
})

test_that("a directory that cannot be set up at first may be later", {
  local_folder()
  dir.create("run")
  full <- TRUE
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.checkpoint_seconds = 0,
    probe.hook = function(state) {
      if (full && state$chain == 2 && state$sweep == 30) {
        unlink("run/data.rds.part", recursive = TRUE)
        full <<- FALSE
      }
    }
  )
  inits <- function(k) {
    # nothing can be written aside where a folder stands
    if (k == 2) dir.create("run/data.rds.part")
    list(chain = k)
  }
  expect_warning(
    fit <- quietly(probe(draws = 80, checkpoint = "run", inits = inits)),
    class = "gibbsite_warning_checkpoint"
  )
  expect_true(identical_fit(resumed("run"), fit))
})

# The disk is full at 16 files' blocks: `ulimit -f` counts blocks of 512 bytes
# in some shells, of 1024 in others.
full_disk_child <- function(trap, frame = parent.frame()) {
  start_child(
    frame = frame,
    wrap = c("sh", "-c", paste0(trap, "ulimit -f 32; exec \"$@\""), "sh"),
    quote({
      ignored <- .Call(gibbsite:::C_file_size_signal, TRUE)
      if (!ignored) .Call(gibbsite:::C_file_size_signal, FALSE)
      warned <- 0
      fit <- withCallingHandlers(
        short_gmm(100, keep = "z", checkpoint = "run"),
        gibbsite_warning_checkpoint = function(cnd) {
          warned <<- warned + 1
          tryInvokeRestart("muffleWarning")
        }
      )
      # as the signal was before
      after <- .Call(gibbsite:::C_file_size_signal, ignored)
      hash <- vapply(attr(fit, "chains"), function(chain) chain$hash, "")
      saveRDS(list(
        warned = warned, hash = hash, draws = nrow(fit[[1]]),
        kept = identical(after, ignored)
      ), "fit.rds")
    })
  )
}

test_that("a full disk is a warning, and the run goes on", {
  skip_unless_processes()
  whole <- short_gmm(100, keep = "z")
  hash <- vapply(attr(whole, "chains"), function(chain) chain$hash, "")
  children <- lapply(c("", "trap '' XFSZ; "), full_disk_child,
    frame = environment()
  )
  for (child in children) {
    result <- result_of(child)
    expect_identical(result$warned, 1)
    expect_identical(result$draws, 100L)
    expect_identical(result$hash, hash)
    expect_true(result$kept)
    # the start was written: what is on the disk is good
    expect_true(identical_fit(resumed(file_in(child, "run")), whole))
    expect_length(
      list.files(file_in(child, "run"), "part$", recursive = TRUE), 0
    )
  }
})

test_that("kills at random times, again and again", {
  skip_unless_processes()
  skip_unless_extended()
  whole <- quietly(probe(draws = 300))
  delays <- withr::with_seed(1, runif(20, 0, 1))
  killed <- 0
  for (delay in delays) {
    child <- start_child(quote({
      options(gibbsite.checkpoint_seconds = 0)
      slow_from(0, 5, "started")
      probe(draws = 300, checkpoint = "run")
    }))
    wait_for(child, "run/chain-2/state.rds")
    Sys.sleep(delay)
    tools::pskill(child$process$get_pid(), tools::SIGKILL)
    killed <- killed + (end_of(child) == -9)
    expect_true(identical_fit(resumed(file_in(child, "run")), whole))
  }
  expect_gt(killed, 10)
})
