# Faults: processes that are killed, interrupted, started twice or without a
# disk, and the state of their runs afterwards. tools/faults.R tries each fault
# many times, the tests of test-faults.R a few times. Only exported functions of
# gibbsite are used here, so that older versions can be tested in the same way.
#
# Every function that tries a fault returns "good" when nothing was lost:
# resume(), extend() or the same call again gives exactly the fit of an
# undisturbed run. "good, late": the run had ended before the fault. Any other
# value says what was lost.

# ---- samplers ----------------------------------------------------------------

# Each run takes about half a second and writes checkpoints as often as
# possible. The option fault.pause slows down the work before the first sweep.
local_faults <- function(frame = parent.frame()) {
  old <- options(
    gibbsite.segment_seconds = 0.02, gibbsite.round_seconds = 0.3,
    gibbsite.checkpoint_seconds = 0, fault.pause = 0, fault.calls = 0,
    fault.act = pause_a_little
  )
  withr::defer(options(old), envir = frame)
}

# Called where user code makes starting values. It is busy like a slow function,
# and reports at its first call that the start has begun.
pause_a_little <- function(unused) {
  calls <- getOption("fault.calls", 0)
  options(fault.calls = calls + 1)
  if (calls == 0 && !is.null(getOption("fault.note"))) {
    file.create(getOption("fault.note"))
  }
  if (calls < 60) {
    began <- proc.time()[["elapsed"]]
    while (proc.time()[["elapsed"]] - began < getOption("fault.pause", 0)) NULL
  }
}

# Functions as a user would write them. They are in the global environment, as
# if typed there, but use nothing else from it.
as_typed <- function(f) {
  environment(f) <- globalenv()
  f
}

fault_density <- as_typed(function(theta) {
  getOption("fault.act", identity)(NULL)
  -sum((theta - c(1, 2))^2) / 2 - theta[[1]]^4 / 10
})

fault_conditionals <- list(
  a = as_typed(function(state) stats::rnorm(1, state$b / 2)),
  b = mh_step(as_typed(function(state) {
    getOption("fault.act", identity)(NULL)
    -(state$b - state$a / 2)^2 / 2
  }))
)

fault_inits <- list(
  gmm = as_typed(function(k) {
    getOption("fault.act", identity)(NULL)
    list(pi = c(0.4, 0.6))
  }),
  bmf = as_typed(function(k) {
    getOption("fault.act", identity)(NULL)
    list()
  }),
  lda = as_typed(function(k) {
    getOption("fault.act", identity)(NULL)
    list(alpha = 1)
  })
)

fault_ratings <- function() {
  ratings <- as.matrix(datasets::USJudgeRatings)
  replace(ratings, (seq_along(ratings) * 7) %% 5 == 0, NA)
}

fault_counts <- function() {
  outer(1:30, 1:30, function(d, w) (d * w + d + 3 * w) %% 5 * ((d + w) %% 3))
}

fault_samplers <- list(
  gmm = function(draws = 300, ...) {
    gibbs_gmm(
      datasets::faithful, 2, draws = draws, burnin = 20, thin = 40, chains = 2,
      seed = 1, progress = FALSE, inits = fault_inits$gmm, ...
    )
  },
  bmf = function(draws = 300, ...) {
    gibbs_bmf(
      fault_ratings(), rank = 2, draws = draws, burnin = 20, thin = 20,
      chains = 2, seed = 1, progress = FALSE, inits = fault_inits$bmf, ...
    )
  },
  lda = function(draws = 300, ...) {
    gibbs_lda(
      fault_counts(), 3, draws = draws, burnin = 20, thin = 10, chains = 2,
      seed = 1, progress = FALSE, inits = fault_inits$lda, ...
    )
  },
  mh = function(draws = 300, ...) {
    mh_sample(
      fault_density, c(a = 0, b = 0), draws = draws, burnin = 100, thin = 100,
      chains = 2, seed = 1, progress = FALSE, ...
    )
  },
  gibbs_sample = function(draws = 300, ...) {
    gibbs_sample(
      fault_conditionals, init = list(a = 0, b = 0), draws = draws,
      burnin = 100, thin = 40, chains = 2, seed = 1, progress = FALSE, ...
    )
  },
  laplace = function(draws = 300, ...) {
    laplace(
      fault_density, c(a = 0, b = 0), correct = "importance", draws = draws,
      chains = 2, seed = 1, progress = FALSE, ...
    )
  }
)

# Short chains have not converged; the warning does not matter here.
fault_run <- function(sampler, ...) {
  options(fault.calls = 0)
  suppressWarnings(
    fault_samplers[[sampler]](...),
    classes = c("gibbsite_warning_convergence", "gibbsite_warning_interrupted")
  )
}

fault_whole <- local({
  made <- list()
  function(sampler, draws = 300) {
    key <- paste(sampler, draws)
    if (is.null(made[[key]])) made[[key]] <<- fault_run(sampler, draws)
    made[[key]]
  }
})

# ---- what is left ------------------------------------------------------------

# Continues from a directory: by resume(), or by the same call again if resume()
# says that the directory holds no run. If both fail, the run is lost.
recovers <- function(sampler, path, draws = 300, ...) {
  dir.create(path, showWarnings = FALSE)
  fit <- tryCatch(
    suppressWarnings(resume(path, progress = FALSE, ...)),
    gibbsite_error_checkpoint = function(cnd) NULL,
    gibbsite_error_argument = function(cnd) NULL,
    error = function(cnd) conditionMessage(cnd)
  )
  if (is.null(fit)) {
    fit <- tryCatch(
      fault_run(sampler, draws, checkpoint = path),
      error = function(cnd) conditionMessage(cnd)
    )
  }
  if (!is.list(fit)) {
    return(fit)
  }
  if (identical_fit(fit, fault_whole(sampler, draws))) "good" else other_draws
}

other_draws <- "the draws are others"

# The first value that is not "good", or "good".
all_good <- function(...) {
  results <- unlist(list(...))
  bad <- results[!grepl("^good", results)]
  if (length(bad) > 0L) bad[[1L]] else "good"
}

good_if <- function(condition, otherwise) {
  if (isTRUE(condition)) "good" else otherwise
}

# ---- other processes ---------------------------------------------------------

# Where the folders of runs are made: in memory if possible, because fsync() of
# a disk takes so long that few checkpoints would be written.
fault_root <- local({
  root <- NULL
  function() {
    if (is.null(root)) {
      place <- if (file.access("/dev/shm", 3L) == 0L) "/dev/shm" else tempdir()
      root <<- tempfile("faults", place)
      dir.create(root)
    }
    root
  }
})

fault_folder <- function(name) tempfile(name, fault_root())

# Ends the processes that are still running, and removes the folders.
clear_faults <- function() {
  for (folder in list.files(fault_root(), full.names = TRUE)) {
    if (has_file(folder, "pid") && !has_file(folder, "status")) {
      tools::pskill(pid_of(folder), tools::SIGKILL)
      await_end(folder, 5)
    }
  }
  unlink(fault_root(), recursive = TRUE)
  dir.create(fault_root())
  invisible()
}

# Runs `code` by Rscript in a new folder, after this file.  `wrap`: words of a
# shell before its command.
start_process <- function(code, wrap = "",
                          folder = fault_folder("process")) {
  dir.create(folder, showWarnings = FALSE)
  helper <- getOption("fault.helper") %||% testthat::test_path(
    "helper-faults.R"
  )
  writeLines(c(
    "writeLines(format(Sys.getpid()), 'pid.part')",
    "invisible(file.rename('pid.part', 'pid'))",
    "suppressMessages(library(gibbsite))",
    sprintf("source(%s)", encodeString(normalizePath(helper), quote = "'")),
    "local_faults()", deparse(code)
  ), file.path(folder, "script.R"))
  libraries <- paste(.libPaths(), collapse = .Platform$path.sep)
  command <- paste0(
    "cd ", shQuote(folder), " && R_LIBS=", shQuote(libraries), " ", wrap, " ",
    hearing_signals(), " ", shQuote(file.path(R.home("bin"), "Rscript")),
    " --vanilla script.R >output 2>&1; echo $? >status"
  )
  system2("sh", c("-c", shQuote(command)), wait = FALSE)
  folder
}

# A shell makes background processes ignore SIGINT, and R 4.5 then ignores it
# too; GNU's env restores the signal.
hearing_signals <- function() {
  env <- "env --default-signal=INT"
  known <- system2("sh", c("-c", shQuote(paste(env, "true"))),
    stdout = FALSE, stderr = FALSE
  )
  if (known == 0) env else ""
}

`%||%` <- function(x, y) if (is.null(x)) y else x

await <- function(condition, seconds = 60) {
  deadline <- proc.time()[["elapsed"]] + seconds
  repeat {
    if (condition()) return(TRUE)
    if (proc.time()[["elapsed"]] > deadline) return(FALSE)
    Sys.sleep(0.005)
  }
}

has_file <- function(process, name) file.exists(file.path(process, name))

# TRUE once the process has made the file; an error when it ends without.
await_file <- function(process, name, seconds = 60) {
  await(function() has_file(process, name) || has_file(process, "status"),
        seconds)
  if (!has_file(process, name)) {
    stop("no ", name, ": ", paste(output_of(process), collapse = "\n"))
  }
  TRUE
}

await_end <- function(process, seconds = 60) {
  await(function() has_file(process, "status"), seconds)
}

output_of <- function(process) {
  readLines(file.path(process, "output"), warn = FALSE)
}

pid_of <- function(process) {
  as.integer(readLines(file.path(process, "pid")))
}

kill_process <- function(process) {
  tools::pskill(pid_of(process), tools::SIGKILL)
  await_end(process)
}

# data.frame(pid, parent) of the running processes; zombies have ended. Read
# from /proc if it exists, because a small system has no ps.
running_processes <- function() {
  lines <- if (file.exists("/proc/self/stat")) {
    files <- file.path("/proc", list.files("/proc", "^[0-9]+$"), "stat")
    stats <- unlist(lapply(files, function(file) {
      tryCatch(suppressWarnings(readLines(file)), error = function(cnd) NULL)
    }))
    # number (name) state parent ...; a name may hold anything
    sub("^([0-9]+) .*[)] ([A-Z]) ([0-9]+) .*$", "\\1 \\3 \\2", stats)
  } else {
    system2("ps", c("-A", "-o", "pid=", "-o", "ppid=", "-o", "stat="),
      stdout = TRUE
    )
  }
  words <- strsplit(trimws(lines), " +")
  words <- words[lengths(words) == 3L]
  table <- data.frame(
    pid = as.integer(vapply(words, `[`, "", 1L)),
    parent = as.integer(vapply(words, `[`, "", 2L))
  )
  table[!grepl("^[ZX]", vapply(words, `[`, "", 3L)), ]
}

children_of <- function(pid) {
  table <- running_processes()
  table$pid[table$parent == pid]
}

any_alive <- function(pids) any(pids %in% running_processes()$pid)

# ---- kill -9 -----------------------------------------------------------------

# Kills the process `delay` seconds after the call of the run.
killed_at_any_time <- function(sampler, delay) {
  process <- start_process(bquote({
    options(fault.pause = 0.002)
    invisible(file.create("ready"))
    fit <- fault_run(.(sampler), checkpoint = "run")
    invisible(file.create("over"))
  }))
  await_file(process, "ready")
  Sys.sleep(delay)
  kill_process(process)
  late <- if (has_file(process, "over")) ", late"
  paste0(recovers(sampler, file.path(process, "run")), late)
}

# The functions that write a checkpoint.
file_operations <- c("dir.create", "file", "writeBin", "close", "file.rename")

# In a forked child: calls at_operation(number, half) before each of them;
# half() writes half of the data given to writeBin().
watch_operations <- function(at_operation) {
  counted <- 0
  plain <- base::writeBin
  step <- function(frame) {
    counted <<- counted + 1
    at_operation(counted, function() {
      object <- frame$object
      if (is.raw(object) && inherits(frame$con, "connection")) {
        plain(object[seq_len(length(object) %/% 2)], frame$con)
        flush(frame$con)
      }
    })
  }
  options(fault.step = step)
  for (name in file_operations) {
    suppressMessages(trace(
      name, quote(getOption("fault.step")(environment())),
      print = FALSE, where = baseenv()
    ))
  }
}

# The number of operations in a run that writes only at its start and its end.
count_operations <- function(sampler) {
  job <- parallel::mcparallel(silent = TRUE, {
    all <- 0
    watch_operations(function(number, half) all <<- number)
    options(gibbsite.checkpoint_seconds = 1e6)
    fault_run(sampler, 1, checkpoint = fault_folder("run"))
    all
  })
  parallel::mccollect(job)[[1L]]
}

# The process kills itself before the n-th operation on a file, or in the middle
# of it.
killed_while_writing <- function(sampler, n, in_the_middle = FALSE) {
  path <- fault_folder("run")
  job <- parallel::mcparallel(silent = TRUE, {
    watch_operations(function(number, half) {
      if (number == n) {
        if (in_the_middle) half()
        tools::pskill(Sys.getpid(), tools::SIGKILL)
      }
    })
    fault_run(sampler, checkpoint = path)
    TRUE
  })
  over <- suppressWarnings(parallel::mccollect(job))[[1L]]
  paste0(recovers(sampler, path), if (isTRUE(over)) ", late")
}

# ---- Ctrl-C ------------------------------------------------------------------

# One process runs again and again and is interrupted `delays` seconds after its
# start has begun; a `pause` makes the start slow enough to be interrupted.
# Returns a value for each.
interrupted_at_any_time <- function(sampler, delays, pauses) {
  process <- start_process(bquote({
    options(gibbsite.on_interrupt = "return")
    for (i in seq_along(.(pauses))) {
      options(fault.pause = .(pauses)[i], fault.note = paste0("began-", i))
      good <- went_on(.(sampler), tryCatch(
        fault_run(.(sampler), 20000), interrupt = function(cnd) NULL
      ), paste0("sent-", i))
      writeLines(good, paste0("done-", i, ".part"))
      invisible(file.rename(paste0("done-", i, ".part"), paste0("done-", i)))
    }
  }))
  vapply(seq_along(delays), function(i) {
    await_file(process, paste0("began-", i))
    Sys.sleep(delays[[i]])
    tools::pskill(pid_of(process), tools::SIGINT)
    file.create(file.path(process, paste0("sent-", i)))
    await_file(process, paste0("done-", i), 120)
    readLines(file.path(process, paste0("done-", i)))
  }, "")
}

# In the child: the interrupted run, continued, gives the fit of an undisturbed
# run.
went_on <- function(sampler, part, sent) {
  force(part)
  tryCatch(
    await(function() file.exists(sent)),
    interrupt = function(cnd) NULL
  )
  options(fault.pause = 0)
  if (is.null(part)) {
    return("nothing was returned")
  }
  if (!identical(attr(part, "run")$outcome, "interrupted")) {
    return("it was not interrupted")
  }
  shown <- attr(part, "running")$draws
  ahead <- max(0L, vapply(attr(part, "pending"), NROW, 0L))
  draws <- shown + ahead + 1
  fit <- tryCatch(
    suppressWarnings(extend(part, draws - shown, progress = FALSE)),
    error = function(cnd) NULL
  )
  if (is.null(fit)) {
    return("it could not be extended")
  }
  same <- identical_fit(fit, fault_run(sampler, draws))
  state <- if (inherits(part, "gibbsite_partial")) "partial" else "draws"
  if (same) paste("good,", state) else other_draws
}

# ---- a full disk -------------------------------------------------------------

# A file system of the given size in bytes, or NULL if it cannot be made.
small_disk <- function(bytes) {
  folder <- fault_folder("disk")
  dir.create(folder)
  status <- suppressWarnings(system2(
    "mount", c("-t", "tmpfs", "-o", paste0("size=", bytes), "tmpfs", folder),
    stdout = FALSE, stderr = FALSE
  ))
  if (status == 0) folder
}

remove_disk <- function(folder) {
  system2("umount", folder, stdout = FALSE, stderr = FALSE)
  unlink(folder, recursive = TRUE)
}

# The run continues to its end, with a warning; the run on the disk can be
# continued too, once there is space. If no disk can be made, the test uses a
# limit on the size of files.
survives_full_disk <- function(sampler, kilobytes) {
  disk <- small_disk(kilobytes * 1024)
  if (is.null(disk)) {
    return(survives_limit(sampler, kilobytes))
  }
  on.exit(remove_disk(disk))
  warned <- 0
  fit <- withCallingHandlers(
    fault_run(sampler, checkpoint = file.path(disk, "run")),
    gibbsite_warning_checkpoint = function(cnd) {
      warned <<- warned + 1
      tryInvokeRestart("muffleWarning")
    }
  )
  path <- fault_folder("run")
  dir.create(path)
  file.copy(
    list.files(file.path(disk, "run"), full.names = TRUE), path,
    recursive = TRUE
  )
  paste0(
    all_good(
      good_if(identical_fit(fit, fault_whole(sampler)), other_draws),
      recovers(sampler, path)
    ),
    if (warned == 0) ", late"
  )
}

survives_limit <- function(sampler, kilobytes) {
  process <- start_process(bquote({
    fit <- suppressWarnings(
      fault_run(.(sampler), checkpoint = "run"),
      classes = "gibbsite_warning_checkpoint"
    )
    options(fault.calls = 0)
    writeLines(format(identical_fit(fit, fault_run(.(sampler)))), "same")
  }), wrap = sprintf("sh -c 'ulimit -f %d; exec \"$@\"' sh", kilobytes))
  await_file(process, "same")
  await_end(process)
  all_good(
    good_if(readLines(file.path(process, "same")) == "TRUE", other_draws),
    recovers(sampler, file.path(process, "run"))
  )
}

# ---- two at once -------------------------------------------------------------

# `what`: code that writes to the directory "run" of `folder`.
contender <- function(what, folder, name) {
  start_process(bquote({
    setwd(.(folder)) # nolint: the process is ours
    invisible(file.create(paste0("ready-", .(name))))
    await(function() file.exists("go"))
    result <- tryCatch(
      {
        .(what)
        list(won = TRUE)
      },
      error = function(cnd) {
        list(
          won = FALSE, class = class(cnd), pid = cnd$pid,
          message = conditionMessage(cnd)
        )
      }
    )
    saveRDS(c(result, me = Sys.getpid()), paste0("result-", .(name), ".rds"))
  }))
}

# Two processes start (or resume) the same run at the same moment: one of them
# does, the other gets an error that names it.
one_of_two_wins <- function(sampler, resuming = FALSE) {
  folder <- fault_folder("two")
  dir.create(folder)
  path <- file.path(folder, "run")
  if (resuming) {
    begun <- start_process(bquote({
      fit <- fault_run(.(sampler), checkpoint = .(path))
    }))
    await(function() file.exists(file.path(path, "data.rds")))
    kill_process(begun)
    what <- quote(suppressWarnings(resume("run", progress = FALSE)))
  } else {
    what <- bquote(fault_run(.(sampler), checkpoint = "run"))
  }
  both <- lapply(c("a", "b"), function(name) contender(what, folder, name))
  await(function() all(file.exists(file.path(folder, c("ready-a", "ready-b")))))
  file.create(file.path(folder, "go"))
  ended <- vapply(both, await_end, NA)
  results <- lapply(
    file.path(folder, c("result-a.rds", "result-b.rds")), readRDS
  )
  won <- vapply(results, `[[`, NA, "won")
  all_good(
    good_if(all(ended), "a process did not end"), judge_contest(results, won),
    recovers(sampler, path)
  )
}

judge_contest <- function(results, won) {
  if (all(won)) {
    # one after the other: the second reads the completed run of the first
    return("good, late")
  }
  if (!any(won)) {
    return("neither has won")
  }
  loser <- results[!won][[1L]]
  if ("gibbsite_error_lock" %in% loser$class) {
    return(good_if(
      identical(loser$pid, results[won][[1L]]$me), "another process is named"
    ))
  }
  if ("gibbsite_error_checkpoint" %in% loser$class) "good, late" else
    loser$message
}

# ---- workers -----------------------------------------------------------------

# A run on two workers of its own; "workers" holds the pids of a pool.
start_on_workers <- function(sampler, engine, draws, round = 0.3,
                             begun = "run/chain-2/draws-0001.rds") {
  pool <- engine == "multisession"
  process <- start_process(bquote({
    options(gibbsite.round_seconds = .(round))
    .(if (pool) {
      quote({
        future::plan(future::multisession, workers = 2)
        both <- lapply(1:2, function(i) future::future(Sys.getpid()))
        writeLines(format(vapply(both, future::value, 0L)), "workers")
      })
    })
    result <- tryCatch(
      {
        fit <- fault_run(
          .(sampler), .(draws),
          checkpoint = "run", cores = .(if (pool) 1 else 2)
        )
        "ended"
      },
      error = function(cnd) class(cnd)
    )
    writeLines(result, "result.part")
    invisible(file.rename("result.part", "result"))
  }))
  await_file(process, begun)
  process
}

workers_of <- function(process) {
  if (has_file(process, "workers")) {
    return(as.integer(readLines(file.path(process, "workers"))))
  }
  found <- integer()
  await(function() {
    found <<- children_of(pid_of(process))
    length(found) > 0
  }, 5)
  found
}

# A fault after the end of the run shows nothing, so runs are made longer until
# the fault comes before the end.
in_time <- function(draws, try_fault) {
  for (longer in c(1, 3, 9)) {
    result <- try_fault(draws * longer)
    if (!grepl(", late$", result)) break
  }
  result
}

# A worker is killed: the run says so, and can be resumed.
survives_lost_worker <- function(sampler, engine, draws = 1500) {
  in_time(draws, function(draws) {
    process <- start_on_workers(sampler, engine, draws)
    workers <- workers_of(process)
    tools::pskill(utils::head(workers, 1L), tools::SIGKILL)
    await_file(process, "result")
    result <- readLines(file.path(process, "result"))
    await_end(process)
    late <- identical(result, "ended")
    named <- good_if(late || "gibbsite_error_chain" %in% result, result[[1L]])
    paste0(
      all_good(named, recovers(sampler, file.path(process, "run"), draws)),
      if (late) ", late"
    )
  })
}

# The parent process of the workers is killed: they end within `seconds`, and
# the run can be resumed.
survives_killed_parent <- function(sampler, engine, delay = 0, draws = 1500,
                                   seconds = 10) {
  in_time(draws, function(draws) {
    process <- start_on_workers(sampler, engine, draws)
    ended <- workers_end(process, delay, seconds)
    late <- has_file(process, "result")
    paste0(
      all_good(
        if (!late) ended, recovers(sampler, file.path(process, "run"), draws)
      ),
      if (late) ", late"
    )
  })
}

# The same in the middle of a round that would take minutes.
leaves_long_round <- function(sampler, engine, delay = 0.5, seconds = 10) {
  process <- start_on_workers(
    sampler, engine, 1e6, round = 600, begun = "run/data.rds"
  )
  workers_end(process, delay, seconds)
}

workers_end <- function(process, delay, seconds) {
  Sys.sleep(delay)
  workers <- workers_of(process)
  kill_process(process)
  gone <- await(function() !any_alive(workers), seconds)
  if (!gone) {
    # not to be left behind
    tools::pskill(workers, tools::SIGKILL)
  }
  if (length(workers) == 0L) {
    return("there were no workers")
  }
  good_if(gone, "a worker lived on")
}

# ---- bits --------------------------------------------------------------------

# A checkpoint with one flipped bit each time: each must raise an error, within
# a second and without using much memory. Returns a value for each.
finds_flipped_bits <- function(sampler, positions, seed = 1) {
  path <- fault_folder("run")
  fault_run(sampler, 50, checkpoint = path)
  files <- list.files(path, recursive = TRUE, pattern = "rds$")
  contents <- lapply(file.path(path, files), function(file) {
    readBin(file, "raw", file.size(file))
  })
  set.seed(seed)
  vapply(seq_len(positions), function(i) {
    f <- (i - 1) %% length(files) + 1
    bytes <- contents[[f]]
    # every other time in the first bytes, which hold lengths and types
    last <- if (i %% 2 == 0) length(bytes) else min(160, length(bytes))
    at <- sample.int(last, 1)
    bytes[at] <- xor(bytes[at], as.raw(2^sample(0:7, 1)))
    file <- file.path(path, files[f])
    writeBin(bytes, file)
    result <- damage_is_found(path)
    writeBin(contents[[f]], file)
    result
  }, "")
}

damage_is_found <- function(path) {
  gc(reset = TRUE, full = FALSE)
  before <- sum(gc(full = FALSE)[, 2L])
  began <- proc.time()[["elapsed"]]
  result <- tryCatch(
    {
      suppressWarnings(resume(path, progress = FALSE))
      "it was taken"
    },
    gibbsite_error_checkpoint = function(cnd) "good",
    error = function(cnd) "another error"
  )
  seconds <- proc.time()[["elapsed"]] - began
  megabytes <- sum(gc(full = FALSE)[, 6L]) - before
  if (seconds > 1 || megabytes > 100) {
    return(sprintf("%.1f seconds and %.0f MB", seconds, megabytes))
  }
  result
}

# ---- one chain over the workers of a cluster ---------------------------------

shards_fault_run <- function(x, ...) {
  suppressWarnings(gibbs_lda(
    x, 3, method = "partially_collapsed", draws = 100, burnin = 20, chains = 2,
    seed = 1, progress = FALSE, ...
  ))
}

# Some time after the call the session is killed, or one of its three workers,
# or Ctrl-C reaches all of them. Then two workers of another session go on.
shards_go_on <- function(whom = c("session", "worker", "all"), delay) {
  process <- start_process(quote({
    cl <- parallel::makeCluster(3, useXDR = FALSE)
    pids <- unlist(parallel::clusterCall(cl, Sys.getpid))
    writeLines(format(pids), "workers")
    corpus <- scatter(cl, fault_counts())
    invisible(file.create("ready"))
    # Ctrl-C before the first draw is an error
    try(shards_fault_run(corpus, checkpoint = "run"), silent = TRUE)
    invisible(file.create("over"))
    # after Ctrl-C the cluster answers the next call
    again <- shards_fault_run(scatter(cl, fault_counts()))
    invisible(file.create("answered"))
  }))
  await_file(process, "ready")
  workers <- as.integer(readLines(file.path(process, "workers")))
  Sys.sleep(delay)
  late <- has_file(process, "over")
  switch(whom,
    session = kill_process(process),
    worker = tools::pskill(workers[[2L]], tools::SIGKILL),
    all = tools::pskill(c(pid_of(process), workers), tools::SIGINT)
  )
  await_end(process)
  gone <- await(function() !any_alive(workers), 10)
  tools::pskill(workers, tools::SIGKILL)
  paste0(all_good(
    good_if(gone, "workers were left"),
    if (whom == "all" && !late) {
      good_if(has_file(process, "answered"), "the cluster did not answer")
    },
    shards_recover(file.path(process, "run"))
  ), if (late) ", late")
}

shards_recover <- function(path) {
  cl <- parallel::makeCluster(2, useXDR = FALSE)
  on.exit(parallel::stopCluster(cl))
  corpus <- scatter(cl, fault_counts())
  fit <- tryCatch(
    suppressWarnings(resume(path, data = corpus, progress = FALSE)),
    gibbsite_error_checkpoint = function(cnd) NULL,
    gibbsite_error_argument = function(cnd) NULL
  )
  fit <- fit %||% shards_fault_run(corpus, checkpoint = path)
  whole <- shards_fault_run(fault_counts())
  bits <- function(fit) lapply(seq_along(fit), function(k) unclass(fit[[k]]))
  good_if(identical(bits(fit), bits(whole)), other_draws)
}
