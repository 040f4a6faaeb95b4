# Checkpoints: a directory to which only the main process writes.
#
#   lock, owner              who writes here (R/run-file.R)
#   data.rds                 model (with its data), running values, call: once
#   chain-<k>/draws-0001.rds the draws since the one before: only ever added
#   chain-<k>/state.rds      state, generator and the list of its draws' files;
#                            if not all draws are kept, `left` and `stride` of
#                            the chain, and `grid`: for each file the number of
#                            the first of its draws, and of the draws from one
#                            to the next
#
# Every file (R/run-file.R) is written under a temporary name, flushed to the
# disk and renamed; the directory's entry is flushed before anything relies on
# it.  A crash between two writes leaves the older state.rds, which names only
# complete files.
#
# In the first write, data.rds is renamed last: a directory with it can be
# resumed, and one without it holds no run yet.  Until then its temporary file
# marks the first states as leftovers.

# "empty"; "begun": it holds a run to resume, or files with the names of one;
# "unfinished": it holds only leftovers of a run that was stopped before its
# first checkpoint was complete; "foreign": anything else.
directory_holds <- function(path) {
  files <- list.files(
    path, all.files = TRUE, no.. = TRUE, recursive = TRUE, include.dirs = TRUE
  )
  if ("data.rds" %in% files) {
    return("begun")
  }
  files <- setdiff(files, c("lock", "owner", "owner.part"))
  if (length(files) == 0L) {
    return("empty")
  }
  ours <- grepl(
    "^chain-[0-9]+(/(state|draws-[0-9]{4,})[.]rds([.]part)?)?$", files
  ) | files == "data.rds.part"
  if (!all(ours) || !"data.rds.part" %in% files ||
        !all(is_leftover(file.path(path, files)))) {
    return("foreign")
  }
  "unfinished"
}

# Files that begin like a checkpoint file, as far as they were written (a file
# system may leave zeros after a power cut), and folders.
is_leftover <- function(files) {
  vapply(files, function(file) {
    if (dir.exists(file)) {
      return(!endsWith(file, ".part") && !endsWith(file, ".rds"))
    }
    bytes <- readBin(file, "raw", 8L)
    identical(bytes, checkpoint_magic[seq_along(bytes)]) ||
      all(bytes == as.raw(0))
  }, NA)
}

# The file that marks them as leftovers is removed last.
remove_leftovers <- function(path) {
  folders <- list.files(path, "^chain-[0-9]+$", full.names = TRUE)
  unlink(folders, recursive = TRUE)
  unlink(file.path(path, "data.rds.part"))
}

# The checkpoint of a job: an environment, because it records the files on the
# disk and must not be copied. NULL without `checkpoint`. From here on no other
# run can write to the directory.
claim_checkpoint <- function(job, call) {
  path <- job$settings$checkpoint
  if (is.null(path) || !is.null(job$checkpoint)) {
    return(job$checkpoint)
  }
  checkpoint <- new_checkpoint(path, length(job$chains))
  claim_directory(checkpoint, call)
  checkpoint
}

# `call` is the call of the error if the directory is in use or has been taken
# since the arguments were checked.
claim_directory <- function(checkpoint, call) {
  path <- checkpoint$path
  dir.create(path, showWarnings = FALSE)
  if (!dir.exists(path)) {
    return(invisible())
  }
  checkpoint$owner <- take_lock(path, call)
  if (directory_holds(path) %in% c("begun", "foreign")) {
    release_checkpoint(checkpoint)
    abort_taken(path, call)
  }
}

# `given`: the path as the user wrote it.
abort_taken <- function(path, call, given = path) {
  begun <- directory_holds(path) == "begun"
  if (begun && file.exists(lock_file(path))) {
    # if a run is still going on, the error names its process
    owner <- take_lock(path, call)
    if (!is.null(owner)) release_lock(owner)
  }
  holds <- if (begun) "the checkpoint of an earlier run" else "other files"
  given <- quoted(given)
  hint <- if (begun) {
    "Continue that run with {.code resume({given})}, or name another directory."
  } else {
    "Name a directory that is new or empty."
  }
  abort_argument(
    c("{.arg checkpoint} is a directory that holds {holds}.", i = hint),
    call = call, class = "checkpoint"
  )
}

release_checkpoint <- function(checkpoint) {
  if (!is.null(checkpoint) && !is.null(checkpoint$owner)) {
    release_lock(checkpoint$owner)
    checkpoint$owner <- NULL
  }
}

# ---- Writing ----------------------------------------------------------------

new_checkpoint <- function(path, chains, run = NULL, owner = NULL) {
  checkpoint <- new.env(parent = emptyenv())
  checkpoint$path <- path
  checkpoint$owner <- owner
  checkpoint$run <- run
  checkpoint$due <- -Inf
  checkpoint$opened <- now()
  checkpoint$spent <- 0
  checkpoint$warned <- FALSE
  nothing_written(checkpoint, chains)
  checkpoint
}

nothing_written <- function(checkpoint, chains) {
  checkpoint$written <- rep(list(character()), chains)
  checkpoint$grid <- rep(list(matrix(0, 0L, 2L)), chains)
  checkpoint$drawn <- numeric(chains)
  checkpoint$sweep <- rep(-1, chains)
}

has_begun <- function(checkpoint) {
  !is.null(checkpoint) && !is.null(checkpoint$run)
}

# Writes when due: not before gibbsite.checkpoint_seconds have passed, and only
# so often that all writes take at most a twentieth of the run.
write_checkpoint <- function(job, force = FALSE) {
  checkpoint <- job$checkpoint
  if (is.null(checkpoint) || (!force && now() < checkpoint$due)) {
    return(job)
  }
  written <- writing(
    checkpoint, write_chains(checkpoint, job),
    job$options$checkpoint_seconds
  )
  if (!written && job$outcome == "done") {
    job$outcome <- "interrupted"
  }
  job
}

# Evaluates `code`, which writes.  A failure is a warning, once, and the run
# goes on.  FALSE: an interrupt ended it.  (They are suspended, but the wait for
# parts of a state that other processes hold allows them.)
writing <- function(checkpoint, code, least) {
  began <- now()
  ignored <- .Call(C_file_size_signal, TRUE)
  on.exit(if (!ignored) .Call(C_file_size_signal, FALSE), add = TRUE)
  problem <- tryCatch(
    {
      withCallingHandlers(code, warning = function(cnd) {
        tryInvokeRestart("muffleWarning")
      })
      NULL
    },
    error = function(cnd) cnd,
    interrupt = function(cnd) cnd
  )
  if (inherits(problem, "interrupt")) {
    return(FALSE)
  }
  if (!is.null(problem) && !checkpoint$warned) {
    checkpoint$warned <- TRUE
    rlang::warn(
      c(
        paste0("The checkpoint in `", checkpoint$path,
               "` could not be written: ",
               sub("[.]$", "", conditionMessage(problem)), "."),
        i = "The run goes on; resume() continues from the last good one."
      ),
      class = c("gibbsite_warning_checkpoint", "gibbsite_warning")
    )
  }
  spent <- now() - began
  checkpoint$spent <- checkpoint$spent + spent
  # the next and the last write are expected to take as long as this one
  checkpoint$due <- max(
    now() + least, checkpoint$opened + 20 * (checkpoint$spent + 2 * spent)
  )
  TRUE
}

write_chains <- function(checkpoint, job) {
  if (!has_begun(checkpoint)) {
    return(begin_checkpoint(checkpoint, job))
  }
  if (!is.null(checkpoint$owner) &&
        !owns_directory(checkpoint$path, checkpoint$owner)) {
    abort_state("the directory has been removed or taken by another run")
  }
  for (k in seq_along(job$chains)) {
    if (job$chains[[k]]$state$sweep > checkpoint$sweep[[k]]) {
      write_chain(checkpoint, job, k, checkpoint$run)
    }
  }
}

# The first write. data.rds gets its name only when everything is on the disk.
# If the write fails, everything is removed.
begin_checkpoint <- function(checkpoint, job) {
  path <- checkpoint$path
  if (is.null(checkpoint$owner)) {
    claim_directory(checkpoint, NULL)
  } else if (!owns_directory(path, checkpoint$owner)) {
    write_owner(path, checkpoint$owner)
  }
  if (!directory_holds(path) %in% c("empty", "unfinished")) {
    abort_state("the directory holds other files")
  }
  remove_leftovers(path)
  value <- list(
    model = model_to_store(job$model), running = job$running, call = job$call
  )
  run <- unique_token(this_process(), path)
  top <- file.path(path, "data.rds")
  begun <- FALSE
  on.exit(if (!begun) {
    remove_leftovers(path)
    nothing_written(checkpoint, length(job$chains))
  })
  write_aside(top, "data", run, value)
  for (k in seq_along(job$chains)) {
    write_chain(checkpoint, job, k, run)
  }
  sync_directory(path)
  put_in_place(top)
  begun <- TRUE
  checkpoint$run <- run
  sync_directory(path)
  sync_directory(dirname(path))
}

write_chain <- function(checkpoint, job, k, run) {
  chain <- job$chains[[k]]
  # before any file is written: other processes may hold parts of the state
  state <- state_to_store(job$model, chain$state)
  folder <- file.path(checkpoint$path, paste0("chain-", k))
  dir.create(folder, showWarnings = FALSE)
  files <- checkpoint$written[[k]]
  grid <- checkpoint$grid[[k]]
  before <- kept_of(chain, checkpoint$drawn[[k]])
  if (kept_of(chain) > before) {
    path <- file.path(folder, draws_file(length(files) + 1L))
    sum <- write_aside(path, "draws", run, rows_after(chain$chunks, before))
    files <- c(files, sum)
    first <- chain$left + chain$stride * (before + 1)
    grid <- rbind(grid, c(first, chain$stride))
    put_in_place(path)
    sync_directory(folder)
  }
  path <- file.path(folder, "state.rds")
  value <- list(
    state = state, rng = chain$rng, drawn = chain$drawn,
    seconds = chain$seconds, files = files
  )
  value$from <- chain$from
  value$order <- chain$order
  if (chain$left > 0 || chain$stride > 1) {
    value[c("left", "stride")] <- chain[c("left", "stride")]
    value$grid <- grid
  }
  write_aside(path, "state", run, value)
  put_in_place(path)
  sync_directory(folder)
  checkpoint$written[[k]] <- files
  checkpoint$grid[[k]] <- grid
  checkpoint$drawn[[k]] <- chain$drawn
  checkpoint$sweep[[k]] <- chain$state$sweep
}

draws_file <- function(number) sprintf("draws-%04d.rds", number)

# The rows of matrices in one, without the first n.
rows_after <- function(parts, n) {
  ends <- cumsum(vapply(parts, nrow, 0L))
  starts <- ends - vapply(parts, nrow, 0L)
  parts <- parts[ends > n]
  starts <- starts[ends > n]
  if (starts[[1L]] < n) {
    first <- parts[[1L]]
    parts[[1L]] <- first[-seq_len(n - starts[[1L]]), , drop = FALSE]
  }
  unname(do.call(rbind, parts))
}
