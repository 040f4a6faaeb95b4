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

# `chains` records what each chain has on the disk: list(files, grid, drawn,
# sweep).
new_checkpoint <- function(path, chains, owner = NULL) {
  checkpoint <- new.env(parent = emptyenv())
  checkpoint$path <- path
  checkpoint$owner <- owner
  checkpoint$due <- -Inf
  checkpoint$opened <- now()
  checkpoint$spent <- 0
  checkpoint$warned <- FALSE
  nothing_written(checkpoint, chains)
  checkpoint
}

nothing_written <- function(checkpoint, chains) {
  none <- list(
    files = character(), grid = matrix(0, 0L, 2L), drawn = 0, sweep = -1
  )
  checkpoint$chains <- rep(list(none), chains)
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
    if (job$chains[[k]]$state$sweep > checkpoint$chains[[k]]$sweep) {
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
  value <- with_workspace(list(
    model = model_to_store(job$model), running = job$running, call = job$call
  ))
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
  files <- checkpoint$chains[[k]]$files
  grid <- checkpoint$chains[[k]]$grid
  before <- kept_of(chain, checkpoint$chains[[k]]$drawn)
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
    seconds = chain$seconds, elapsed = job$seconds + now() - job$began,
    files = files
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
  checkpoint$chains[[k]] <- list(
    files = files, grid = grid, drawn = chain$drawn, sweep = chain$state$sweep
  )
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

# ---- Reading a checkpoint ----------------------------------------------------

# Reads a checkpoint: every field is checked before it is used.

# Checks that a directory holds a run that has begun. Nothing is written to it
# yet, because it may be any directory.
check_begun <- function(path, call) {
  if (!dir.exists(path)) {
    fault <- if (file.exists(path)) "is a file" else "does not exist"
    abort_argument(
      "`path` must be the directory of a checkpoint; `{path}` {fault}.",
      call = call
    )
  }
  holds <- directory_holds(path)
  # a run that was stopped before its chains began leaves its lock alone
  locked <- file.exists(lock_file(path))
  if (holds == "unfinished" || holds == "empty" && locked) {
    if (locked) {
      release_lock(take_lock(path, call))
    }
    abort_file(
      path, "holds no whole checkpoint: the run was stopped before its first.",
      "Start it again, with the same `checkpoint`.",
      call = call
    )
  }
  top <- file.path(path, "data.rds")
  if (file.exists(top)) {
    connection <- open_file(top, call)
    on.exit(close(connection))
    read_header(connection, top, call)
  }
  normalizePath(path)
}

remember_written <- function(checkpoint, stored) {
  checkpoint$run <- stored$run
  checkpoint$chains <- lapply(stored$chains, function(chain) {
    list(
      files = chain$files, grid = chain$grid, drawn = chain$drawn,
      sweep = chain$state$sweep
    )
  })
}

# list(model, running, call, run, chains): all of it, checked.
read_checkpoint <- function(path, call) {
  file <- file.path(path, "data.rds")
  top <- read_envelope(file, "data", call = call)
  check_stored_run(top$value, file, call)
  count <- top$value$running$chains
  folders <- list.files(path, "^chain-[0-9]+$")
  if (!setequal(folders, paste0("chain-", seq_len(count)))) {
    abort_file(
      path,
      cli::pluralize(
        "must hold one folder for each of {count} chain{?s}, not ",
        "{length(folders)} folder{?s}."
      ),
      call = call
    )
  }
  chains <- lapply(seq_len(count), function(k) {
    read_chain(path, k, top$run, top$value, call)
  })
  c(top$value, list(run = top$run, version = top$version, chains = chains))
}

read_chain <- function(path, k, run, top, call) {
  folder <- file.path(path, paste0("chain-", k))
  file <- file.path(folder, "state.rds")
  chain <- read_envelope(file, "state", run, call)$value
  check_stored_chain(chain, top$running, top$model$k, file, call)
  check_stream(chain$rng, paste0("Chain ", k, "'s"), call = call)
  chain$chunks <- lapply(seq_along(chain$files), function(number) {
    file <- file.path(folder, draws_file(number))
    part <- read_envelope(file, "draws", run, call, chain$files[[number]])
    check_stored_draws(part$value, top$model$columns, file, call)
    part$value
  })
  on_grid(chain, file, call)
}

# The chain with those of its stored draws that it keeps.
on_grid <- function(chain, file, call) {
  size <- vapply(chain$chunks, nrow, 0L)
  all_kept <- is.null(chain$grid)
  if (all_kept) {
    chain$left <- 0
    chain$stride <- 1
    chain$grid <- cbind(cumsum(size) - size + 1, rep(1, length(size)))
  } else {
    number <- rep(chain$grid[, 1L], size) +
      rep(chain$grid[, 2L], size) * (sequence(size) - 1)
    chain$chunks <- thinned(chain$chunks, number, chain$left, chain$stride)
  }
  rows <- sum(vapply(chain$chunks, nrow, 0L))
  if (rows != kept_of(chain)) {
    abort_file(
      file, paste0("counts ", format_number(kept_of(chain)),
                   " draws; there are ", format_number(rows), "."),
      call = call
    )
  }
  chain
}

# ---- An earlier version -----------------------------------------------------

# Brings the files of a checkpoint, which have been read, to this version. If it
# is stopped, the rest can still be read: a state names its draws by their old
# checksums until it is renewed itself, and data.rds comes last.
renew_checkpoint <- function(checkpoint) {
  path <- checkpoint$path
  for (k in seq_along(checkpoint$chains)) {
    folder <- file.path(path, paste0("chain-", k))
    files <- vapply(seq_along(checkpoint$chains[[k]]$files), function(number) {
      renew_file(file.path(folder, draws_file(number)), "draws", checkpoint$run)
    }, "")
    sync_directory(folder)
    renew_file(file.path(folder, "state.rds"), "state", checkpoint$run, files)
    sync_directory(folder)
    checkpoint$chains[[k]]$files <- files
  }
  renew_file(file.path(path, "data.rds"), "data", checkpoint$run)
  sync_directory(path)
}

# Writes the same bytes under a new header, a state with the checksums `files`.
# Returns the checksum.
renew_file <- function(path, kind, run, files = NULL) {
  file <- read_envelope(path, kind, run, NULL)
  named <- kind != "state" || identical(file$value$files, files)
  if (file$version == checkpoint_version && named) {
    return(file$sum)
  }
  sum <- if (kind == "state") {
    file$value$files <- files
    write_aside(path, kind, run, file$value)
  } else {
    write_payload(path, kind, run, file$payload)
  }
  put_in_place(path)
  sum
}

# ---- Fields -----------------------------------------------------------------

#
# A checksum shows that a file has not changed since it was written, but not
# that its contents are valid. So the values that the driver uses are checked
# first.

# Fails for the first name in `good`, a list of named flags, that is not TRUE.
check_fields <- function(good, file, call) {
  good <- vapply(good, isTRUE, NA)
  if (!all(good)) {
    field <- names(good)[!good][[1L]]
    abort_file(
      file,
      paste0("cannot be used: its `", field, "` is missing or not valid."),
      call = call
    )
  }
}

is_whole <- function(x, min = 0, max = 2^53) {
  is_plain_number(x) && is.finite(x) && x == round(x) && x >= min && x <= max
}

is_names <- function(x) {
  is.character(x) && length(x) > 0L && !anyNA(x) && anyDuplicated(x) == 0L
}

check_stored_run <- function(top, file, call) {
  check_fields(
    list(
      model = is.list(top) && is_stored_model(top$model),
      running = is.list(top) && is.list(top$running)
    ), file, call
  )
  running <- top$running
  most <- .Machine$integer.max
  check_fields(
    list(
      call = is.null(top$call) || is.call(top$call),
      draws = is_whole(running$draws, 1, most),
      burnin = is_whole(running$burnin), thin = is_whole(running$thin, 1),
      chains = is_whole(running$chains, 1, most),
      inits = is_stored_inits(running$inits, running$chains),
      seed = is.integer(running$seed) && length(running$seed) > 0L &&
        !anyNA(running$seed),
      rng_kind = is.character(running$rng_kind) &&
        length(running$rng_kind) == 3L,
      keep_data = is_plain_scalar(running$keep_data) &&
        is.logical(running$keep_data),
      stop_when = is_stored_rule(running$stop_when)
    ), file, call
  )
}

# Whether x is a model of this package, with the fields that every model has.
is_stored_model <- function(model) {
  if (!is.list(model) || !inherits(model, "gibbsite_model")) {
    return(FALSE)
  }
  strings <- unclass(model)[c("name", "title", "data_hash")]
  all(vapply(strings, is_plain_string, NA)) && is_names(model$columns) &&
    has_sweeps(class(current_model(model)))
}

has_sweeps <- function(classes) {
  any(vapply(classes, function(class) {
    !is.null(utils::getS3method(
      "model_sweeps", class,
      optional = TRUE, envir = asNamespace("gibbsite")
    ))
  }, NA))
}

is_stored_inits <- function(inits, chains) {
  is.null(inits) || is.function(inits) ||
    (is.list(inits) && length(inits) == chains)
}

is_stored_rule <- function(rule) {
  if (is.null(rule)) {
    return(TRUE)
  }
  if (!is.list(rule) || !inherits(rule, "gibbsite_until")) {
    return(FALSE)
  }
  counts <- unclass(rule)[c("every", "max_draws")]
  numbers <- unclass(rule)[c("rhat", "ess")]
  typed <- all(vapply(counts, is_whole, NA, min = 1)) &&
    all(vapply(numbers, is_plain_number, NA)) && is_plain_string(rule$burnin)
  typed && all(
    rule$rhat > 1, rule$ess >= 0, rule$max_draws %% rule$every == 0,
    rule$burnin %in% c("auto", "fixed")
  )
}

# The number of draws must match the sweep; otherwise the draws are another
# chain's.
check_stored_chain <- function(chain, running, k, file, call) {
  is_state <- is.list(chain) && is.list(chain$state) &&
    is_whole(chain$state$sweep)
  check_fields(list(state = is_state), file, call)
  sweep <- chain$state$sweep
  drawn <- chain$drawn
  check_fields(
    list(
      drawn = is_whole(drawn) && drawn == draws_at(sweep, running),
      seconds = is_plain_number(chain$seconds) && is.finite(chain$seconds) &&
        chain$seconds >= 0,
      elapsed = is.null(chain$elapsed) || is_plain_number(chain$elapsed),
      files = is.character(chain$files) && !anyNA(chain$files),
      from = is_stored_history(chain$from, running, sweep),
      order = is_stored_order(chain$order, k),
      grid = is_stored_grid(chain)
    ), file, call
  )
}

# Sweeps after which the draws of a chain began anew; the first may be before
# the burn-in of a run that continues a fit.
is_stored_history <- function(from, running, sweep) {
  if (is.null(from)) {
    return(TRUE)
  }
  sweeps <- is.double(from) && length(from) > 1L && all(is.finite(from))
  sweeps && all(
    diff(from) > 0, from[[1L]] >= 0, from <= sweep,
    (from - running$burnin) %% running$thin == 0
  )
}

# Which of its draws a chain keeps; NULL: all.
is_stored_grid <- function(chain) {
  grid <- chain$grid
  is.null(grid) || (
    is_whole(chain$left) && is_whole(chain$stride, 1) && is.double(grid) &&
      identical(dim(grid), c(length(chain$files), 2L)) &&
      all(is.finite(grid), grid >= 1)
  )
}

is_stored_order <- function(order, k) {
  is.null(order) || (is.integer(order) && setequal(order, seq_len(k)) &&
                       length(order) == k)
}

check_stored_draws <- function(draws, columns, file, call) {
  check_fields(
    list(
      draws = is.double(draws) && is.matrix(draws) && !is.object(draws) &&
        ncol(draws) == length(columns)
    ), file, call
  )
}
