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
  frame <- environment()
  killed <- function(code) {
    child <- start_child(code, frame)
    wait_for(child, "run/chain-2/draws-0002.rds")
    tools::pskill(child$process$get_pid(), tools::SIGKILL)
    expect_identical(end_of(child), -9L)
    child
  }
  # each would take a minute if it were let: on a busy machine writes are rare
  child <- killed(quote({
    options(gibbsite.checkpoint_seconds = 0)
    slow_from(0, 5, "started", 0.01)
    probe(draws = 4000, checkpoint = "run")
  }))
  fit <- resumed(file_in(child, "run"))
  expect_true(identical_fit(fit, quietly(probe(draws = 4000))))
  if (is_extended()) {
    ruled <- killed(quote({
      options(gibbsite.checkpoint_seconds = 0)
      rule <- until(rhat = 1.01, ess = 4000, every = 1000)
      slow_from(0, 5, "started", 0.01)
      probe(draws = 1000, checkpoint = "run", stop_when = rule)
    }))
    rule <- until(rhat = 1.01, ess = 4000, every = 1000)
    fit <- resumed(file_in(ruled, "run"))
    whole <- quietly(probe(draws = 1000, stop_when = rule))
    expect_true(identical_fit(fit, whole))
    # the rule held before its cap
    expect_lt(attr(whole, "running")$draws, 10000)
  }
})

# ---- Resuming in all circumstances -------------------------------------------

test_that("an interrupted run is resumed, and resumed again", {
  skip_long()
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
  skip_unless_extended()
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
  skip_long()
  local_folder()
  rule <- until(rhat = 1.05, ess = fast_or(60, 120), every = 20)
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
  skip_long()
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
  skip_long()
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
  of_version <- function(version) {
    function() {
      header <- make_header("data", strrep("0", 32), raw(1), version)
      writeBin(c(header, raw(1)), "run/data.rds")
    }
  }
  # as version 1 began
  first_version <- list(
    format = "gibbsite-checkpoint", version = 1L, kind = "data"
  )
  state <- "chain-1/state.rds"
  expect_gibbsite_error({
    damaged(cut(state, 100))
    damaged(cut(state, 0))
    damaged(cut("chain-2/draws-0002.rds", 60))
    damaged(flip("chain-1/draws-0003.rds", 20))
    damaged(flip("data.rds", 500))
    damaged(flip(state, file.size("good/chain-1/state.rds") - 20))
    damaged(function() saveRDS(1:10, "run/chain-1/state.rds"))
    damaged(function() writeLines("hello", "run/data.rds"))
    damaged(function() writeBin(serialize(mtcars, NULL), "run/data.rds"))
    damaged(of_version(99L))
    damaged(function() {
      writeBin(serialize(first_version, NULL, xdr = FALSE), "run/data.rds")
    })
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
  places <- seq(0, length(bytes) - 1, length.out = fast_or(7, 60))
  for (n in unique(round(places))) {
    writeBin(bytes[seq_len(n)], "run/chain-1/state.rds")
    expect_error(resume("run"), class = "gibbsite_error_checkpoint")
  }
})

# Changes what a file of a checkpoint holds, its checksums being right: what a
# fault of ours, or an enemy, could write.
rewrite <- function(path, edit) {
  file <- file.path("run", path)
  bytes <- readBin(file, "raw", 64)
  kind <- checkpoint_kinds[readBin(bytes[13:16], "integer", endian = "little")]
  run <- raw_to_hex(bytes[41:56])
  value <- read_envelope(file, kind, call = environment())$value
  write_aside(file, kind, run, edit(value))
  put_in_place(file)
}

test_that("what is read is checked before it is used", {
  skip_long()
  local_folder()
  stopped_run("good")
  after <- function(path, edit) {
    unlink("run", recursive = TRUE)
    dir.create("run")
    file.copy(list.files("good", full.names = TRUE), "run", recursive = TRUE)
    rewrite(path, edit)
    resume("run", progress = FALSE)
  }
  with <- function(...) {
    # what has a class takes the place of all
    function(x) {
      new <- list(...)
      whole <- vapply(new, is.object, NA)
      x[names(new)[whole]] <- new[whole]
      utils::modifyList(x, new[!whole])
    }
  }
  top <- "data.rds"
  state <- "chain-1/state.rds"
  expect_gibbsite_error(class = "gibbsite_error_checkpoint", {
    after(top, function(x) x["running"])
    after(top, function(x) 1:3)
    after(top, with(model = structure(list(1), class = "gibbsite_model")))
    after(top, with(call = "f()"))
    after(top, with(running = list(chains = 1L)))
    after(top, with(running = list(draws = NaN)))
    after(top, with(running = list(thin = 0)))
    after(top, with(running = list(stop_when = 1)))
    after(state, with(state = list(sweep = NaN)))
    after(state, with(state = list(sweep = 1e9)))
    after(state, with(state = NULL))
    after(state, with(drawn = 3))
    after(state, with(seconds = "long"))
    after(state, function(x) replace(x, "files", list(x$files[-1])))
    after("chain-1/draws-0001.rds", function(x) x[, 1])
  })
  expect_error(
    after(state, with(rng = 3:5)),
    class = "gibbsite_error_generator"
  )
  # the rewriting does no harm of its own
  expect_true(identical_fit(
    quietly(after(state, identity)), quietly(probe(draws = 80))
  ))
})

test_that("other data, and what is no checkpoint, are refused", {
  skip_long()
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
  skip_long()
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

# ---- Not yet begun -----------------------------------------------------------

# What a run leaves that is killed before its first checkpoint is complete: all
# but the last step of the first writing.
leave_unfinished <- function(path) {
  quietly(probe(draws = 5, checkpoint = path))
  file.rename(file.path(path, "data.rds"), file.path(path, "data.rds.part"))
}

test_that("a directory in which no run has begun is taken by the next one", {
  skip_long()
  local_folder()
  leave_unfinished("run")
  holds <- directory_holds("run")
  expect_identical(holds, "unfinished")
  expect_gibbsite_error(
    class = "gibbsite_error_checkpoint", resume("run", progress = FALSE)
  )
  fit <- quietly(probe(draws = 80, seed = 2, checkpoint = "run"))
  expect_true(identical_fit(fit, quietly(probe(draws = 80, seed = 2))))
  expect_true(identical_fit(resumed("run"), fit))
  # files that were cut short too, by a loss of power to zeros
  leave_unfinished("cut")
  for (name in list.files("cut", "rds$", recursive = TRUE)) {
    file.rename(
      file.path("cut", name), file.path("cut", paste0(name, ".part"))
    )
  }
  writeBin(raw(100), "cut/chain-1/state.rds.part")
  writeBin(charToRaw("GIB"), "cut/data.rds.part")
  expect_identical(directory_holds("cut"), "unfinished")
  quietly(probe(draws = 5, checkpoint = "cut"))
  expect_length(list.files("cut", "part$", recursive = TRUE), 0)
})

test_that("nothing is taken for a leftover that may be somebody's own", {
  skip_long()
  local_folder()
  begin <- function(path) quietly(probe(draws = 5, checkpoint = path))
  add <- function(text, path) {
    function() writeLines(text, file.path("run", path))
  }
  for (spoil in list(
    add("mine", "notes.txt"), add("mine", "chain-1/notes.txt"),
    add("mine", "chain-1/state.rds"), add("mine", "data.rds.part"),
    function() unlink("run/data.rds.part"),
    function() dir.create("run/chain-1/draws-0009.rds")
  )) {
    leave_unfinished("run")
    spoil()
    before <- md5_of("run")
    expect_error(begin("run"), class = "gibbsite_error_checkpoint")
    expect_identical(md5_of("run"), before)
    unlink("run", recursive = TRUE)
  }
})

test_that("a first checkpoint that fails leaves nothing", {
  local_folder()
  # the folder of chain 2 cannot be made
  inits <- function(k) {
    if (k == 2) file.create("run/chain-2")
    list(chain = k)
  }
  expect_warning(
    fit <- quietly(probe(draws = 80, checkpoint = "run", inits = inits)),
    class = "gibbsite_warning_checkpoint"
  )
  expect_identical(list.files("run"), c("chain-2", "lock"))
})

# ---- One run at a time -------------------------------------------------------

test_that("a directory that another process writes to is refused by its name", {
  skip_unless_processes()
  child <- start_child(quote({
    slow_from(0, 5, "started")
    probe(draws = 100000, checkpoint = "run")
  }))
  withr::local_dir(child$folder)
  wait_for(child, "started")
  pid <- child$process$get_pid()
  host <- Sys.info()[["nodename"]]
  masked <- function(lines) {
    lines <- sub(pid, "<pid>", lines, fixed = TRUE)
    lines <- sub(quoted(host), "<host>", lines, fixed = TRUE)
    lines <- sub("^'.*run'", "'run'", lines)
    sub("since [-0-9]+ [0-9:]+ [^ ]+", "since <time>.", lines)
  }
  expect_gibbsite_error(class = "gibbsite_error_lock", transform = masked, {
    resume("run", progress = FALSE)
    probe(checkpoint = "run")
  })
  locked <- rlang::catch_cnd(resume("run"), "gibbsite_error_lock")
  expect_s3_class(locked, "gibbsite_error_state")
  expect_identical(locked$pid, pid)
  expect_identical(locked$host, host)
  # the lock goes with its process, and nobody has to remove anything
  tools::pskill(pid, tools::SIGKILL)
  end_of(child)
  expect_true(file.exists("run/owner"))
  withr::local_options(
    gibbsite.on_interrupt = "stop",
    probe.hook = function(state) if (state$sweep == 3000) rlang::interrupt()
  )
  expect_error(resumed("run"), class = "gibbsite_error_interrupted")
  expect_false(file.exists("run/owner"))
})

test_that("two runs of one session cannot write to one directory either", {
  skip_long()
  local_folder()
  nested <- NULL
  withr::local_options(probe.hook = function(state) {
    if (state$sweep == 3 && is.null(nested)) {
      nested <<- rlang::catch_cnd(resume("run"), "gibbsite_error_lock")
    }
  })
  fit <- quietly(probe(draws = 80, checkpoint = "run"))
  expect_match(conditionMessage(nested), "a run of this session", fixed = TRUE)
  # the lock is given up at the end, also of a run that fails
  options(probe.hook = function(state) if (state$sweep == 3) stop("no"))
  expect_error(
    probe(checkpoint = "failed", chains = 1), class = "gibbsite_error_chain"
  )
  options(probe.hook = NULL)
  expect_true(identical_fit(
    resumed("failed"), quietly(probe(chains = 1))
  ))
  expect_error(
    probe(checkpoint = "start", inits = function(k) stop("no start")),
    "no start"
  )
  expect_true(identical_fit(
    quietly(probe(checkpoint = "start", draws = 80)), fit
  ))
  expect_length(ls(open_locks), 0)
})

test_that("a forked child has no part in the lock of its parent", {
  skip_on_cran()
  skip_on_os("windows")
  local_folder()
  result <- NULL
  withr::local_options(probe.hook = function(state) {
    if (state$sweep == 3 && is.null(result)) {
      job <- parallel::mcparallel(silent = TRUE, {
        tryCatch(resume("run", progress = FALSE), error = function(cnd) {
          list(class = class(cnd), pid = cnd$pid)
        })
      })
      result <<- parallel::mccollect(job)[[1]]
    }
  })
  fit <- quietly(probe(draws = 80, checkpoint = "run"))
  expect_true("gibbsite_error_lock" %in% result$class)
  expect_identical(result$pid, Sys.getpid())
  expect_true(identical_fit(resumed("run"), fit))
  # and what the child does with it when its parent has let go is its own matter
  take_lock("run", environment())
  job <- parallel::mcparallel(silent = TRUE, {
    # as if the parent had ended
    key <- normalizePath("run")
    open_locks[[key]]$owner$started <- -1
    class(tryCatch(take_lock("run", environment()), error = identity))
  })
  other <- parallel::mccollect(job)[[1]]
  forget_lock(normalizePath("run"))
  expect_true("gibbsite_error_lock" %in% other)
})

test_that("a directory that another run has taken is not written to", {
  skip_long()
  local_folder()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.checkpoint_seconds = 0,
    probe.hook = function(state) {
      if (state$chain == 2 && state$sweep == 30) {
        write_owner("run", c(this_process(), list(since = "now", token = "x")))
      }
    }
  )
  expect_warning(
    fit <- quietly(probe(draws = 80, checkpoint = "run")),
    "removed or taken by another run", class = "gibbsite_warning_checkpoint"
  )
  options(probe.hook = NULL)
  expect_true(identical_fit(resumed("run"), fit))
})

test_that("where a file system has no locks, who writes is asked instead", {
  local_folder()
  dir.create("run")
  ours <- c(this_process(), list(since = "now", token = "x"))
  write_owner("run", ours)
  expect_identical(read_owner("run")[names(ours)], ours)
  expect_error(
    go_without_lock("run", "no locks", environment()),
    class = "gibbsite_error_lock"
  )
  # a process that is no more, or another of its number
  for (change in list(list(pid = 2^22 + 1), list(started = ours$started + 1))) {
    write_owner("run", utils::modifyList(ours, change))
    expect_warning(
      go_without_lock("run", "no locks", environment()),
      class = "gibbsite_warning_lock"
    )
  }
})

test_that("processes are known by number and start", {
  expect_true(process_lives(this_process()))
  expect_identical(.Call(C_process_started, 4194305L), NA_real_)
  expect_error(.Call(C_process_started, 0L), "number of a process")
  # this is no forked child, and shall not end with whoever started it
  expect_false(.Call(C_end_with_parent, 1L, 0))
  expect_error(.Call(C_end_with_parent, 1L, NULL), "start of a process")
})

test_that("what cannot be brought to the disk is an error", {
  local_folder()
  writeLines("a", "file")
  expect_null(sync_file("file"))
  expect_null(sync_directory("."))
  expect_error(sync_file("nothing"))
  skip_on_os("windows")
  expect_error(sync_directory("nothing"))
})

test_that("the disk has what is written before anything relies on it", {
  skip_long()
  local_folder()
  events <- list()
  withr::local_options(probe.log = function(what, path) {
    events[[length(events) + 1]] <<- c(what, path)
  })
  namespace <- asNamespace("gibbsite")
  logged <- c("write_aside", "sync_file", "put_in_place", "sync_directory")
  withr::defer(suppressMessages(untrace(logged, where = namespace)))
  for (name in logged) {
    suppressMessages(trace(
      name, bquote(getOption("probe.log")(.(name), path)),
      print = FALSE, where = namespace
    ))
  }
  quietly(probe(draws = 5, checkpoint = "run"))
  what <- vapply(events, `[[`, "", 1)
  path <- sub("^.*/run", "run", vapply(events, `[[`, "", 2))
  at <- function(event, where) which(what == event & path == where)
  put <- which(what == "put_in_place")
  # two states a chain, the draws of each at the end, and the data
  expect_setequal(path[put], c(
    "run/data.rds", "run/chain-1/state.rds", "run/chain-2/state.rds",
    "run/chain-1/draws-0001.rds", "run/chain-2/draws-0001.rds"
  ))
  expect_length(put, 7)
  for (i in put) {
    written <- max(Filter(function(j) j < i, at("write_aside", path[i])))
    synced <- at("sync_file", paste0(path[i], ".part"))
    expect_true(any(synced > written & synced < i))
    # its name, before the next file of its folder or of the one above
    synced <- at("sync_directory", dirname(path[i]))
    named <- min(synced[synced > i])
    later <- put[put > i & (dirname(path[put]) == dirname(path[i]) |
                              path[put] == "run/data.rds")]
    expect_true(all(named < later))
  }
  begun <- at("put_in_place", "run/data.rds")
  expect_true(all(at("put_in_place", "run/chain-2/state.rds")[1] < begun))
  expect_true(any(at("sync_directory", "run") < begun))
  expect_true(any(at("sync_directory", "run") > begun))
})

# ---- Functions given anew ----------------------------------------------------

# A run of mh_sample() that has not come to its end, whose stored functions are
# then replaced by ones that leave a note when they are called.
density <- function(x, scale, link) -sum(link(x)^2) / (2 * scale^2)
slope <- function(x, scale, link) -x / scale^2
twice <- function(x) x
propose <- custom_proposal(
  function(x) x + stats::rnorm(length(x)), function(to, from) 0
)

test_that("with all functions given anew none of the checkpoint is called", {
  skip_long()
  local_folder()
  proposals <- list(langevin(0.5, slope, tune = FALSE), propose)
  sampler <- function(draws, ...) {
    quietly(mh_sample(
      density, c(a = 1, b = 2), proposals, scale = 2, link = twice,
      blocks = list(1, 2), draws = draws, burnin = 10, thin = 1, chains = 2,
      seed = 1, progress = FALSE, ...
    ))
  }
  whole <- sampler(50)
  sampler(20, checkpoint = "run")
  spy <- function(f) {
    body(f) <- bquote({
      file.create("called")
      .(body(f))
    })
    f
  }
  rewrite("data.rds", function(top) {
    top$running$draws <- 50
    top$model$data$log_density <- spy(density)
    top$model$gradient <- spy(slope)
    top
  })
  expect_true(identical_fit(
    resumed("run", log_density = density, proposal = proposals, scale = 2,
            link = twice),
    whole
  ))
  expect_false(file.exists("called"))
  # what is stored is called where nothing is given
  sampler(20, checkpoint = "other")
  file.rename("run", "used")
  file.rename("other", "run")
  rewrite("data.rds", function(top) {
    top$running$draws <- 50
    top$model$data$log_density <- spy(density)
    top
  })
  resumed("run")
  expect_true(file.exists("called"))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    resume("used", log_density = function(x, scale, link) 0)
    resume("used", proposal = random_walk(1))
    resume("used", proposal = rev(proposals))
    resume("used", scale = 3)
    resume("used", link = density)
    resume("used", other = 1)
    resume("used", gradient = slope)
    resume("used", "data", 1, 1, FALSE, NULL, NULL, NULL, 5)
  })
})

test_that("the gradient can be given anew, and is compared", {
  skip_long()
  local_folder()
  make <- function(scale) {
    list(
      f = function(x) -sum(x^2) / (2 * scale^2), g = function(x) -x / scale^2
    )
  }
  own <- make(2)
  sampler <- function(draws, ...) {
    quietly(mh_sample(
      own$f, c(a = 1, b = 2), gradient = own$g, draws = draws, burnin = 10,
      chains = 2, seed = 1, progress = FALSE, ...
    ))
  }
  whole <- sampler(50)
  sampler(20, checkpoint = "run")
  rewrite("data.rds", function(top) {
    top$running$draws <- 50
    top$model$gradient <- top$model$given_gradient
    body(top$model$gradient) <- quote(stop("called"))
    top
  })
  again <- make(2)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    resume("run", gradient = make(3)$g)
    resume("run", gradient = function(x) -x)
    resume("run", gradient = 1)
  })
  # no function of the checkpoint is called
  expect_true(identical_fit(
    resumed("run", log_density = again$f, gradient = again$g), whole
  ))
})

test_that("conditionals and the density of laplace() can be given anew", {
  skip_long()
  local_folder()
  conditionals <- list(
    a = function(state, s) stats::rnorm(1, state$b / 2, s),
    b = mh_step(function(state, s) -(state$b - state$a / 2)^2 / 2)
  )
  gibbs <- function(draws, ...) {
    quietly(gibbs_sample(
      conditionals, list(a = 0, b = 0), s = 1, draws = draws, burnin = 10,
      chains = 2, seed = 1, progress = FALSE, ...
    ))
  }
  gibbs(20, checkpoint = "run")
  rewrite("data.rds", function(top) {
    top$running$draws <- 40
    top
  })
  expect_true(identical_fit(
    resumed("run", data = conditionals, s = 1), gibbs(40)
  ))
  expect_error(
    resume("run", data = rev(conditionals)), class = "gibbsite_error_argument"
  )
  expect_error(
    resume("run", proposal = adaptive()), class = "gibbsite_error_argument"
  )
  unlink("run", recursive = TRUE)

  bent <- function(x, m) -sum((x - m)^2) / 2 - x[1]^4
  approximate <- function(draws, ...) {
    quietly(laplace(
      bent, c(0, 0), m = 1, correct = "importance", draws = draws, chains = 2,
      seed = 1, progress = FALSE, ...
    ))
  }
  approximate(20, checkpoint = "run")
  rewrite("data.rds", function(top) {
    top$running$draws <- 40
    top$model$frame$log_density <- function(x, m) {
      file.create("called")
      -sum((x - m)^2) / 2 - x[1]^4
    }
    top
  })
  expect_error(
    resume("run", log_density = bent), class = "gibbsite_error_argument"
  )
  rewrite("data.rds", function(top) {
    top$model$frame$log_density <- bent
    top
  })
  expect_true(identical_fit(
    resumed("run", log_density = bent, m = 1), approximate(40)
  ))
  expect_false(file.exists("called"))
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
  skip_long()
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

test_that("a resumed run has the time of the whole run", {
  folder <- file.path(withr::local_tempdir(), "run")
  withr::local_options(probe.segment = function(state) Sys.sleep(0.1))
  fit <- quietly(probe(draws = 20, checkpoint = folder))
  options(probe.segment = NULL)
  total <- function(fit) attr(fit, "run")$elapsed$total
  again <- resumed(folder)
  expect_gt(total(again), 0.9 * total(fit))
  expect_lt(total(again), total(fit) + 1)
})
