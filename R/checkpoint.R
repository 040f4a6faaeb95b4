# Checkpoints: a directory that the main process alone writes.
#
#   lock, owner              who writes here (R/lock.R)
#   data.rds                 model (with its data), running values, call: once
#   chain-<k>/draws-0001.rds the draws since the one before: only ever added
#   chain-<k>/state.rds      state, generator and the list of its draws' files
#
# Every file (R/envelope.R) is written aside, handed to the disk and renamed
# into place, and the directory's entry is handed to the disk before anything
# that relies on it.  A crash between two writes leaves the older state.rds,
# which names only files that are complete.
#
# data.rds is put in place last of the first writing: a directory with it can be
# resumed, and one without it has not begun.  Until then it stands aside, beside
# the first states, and says that these are no more than leftovers.

# ---- what a directory holds --------------------------------------------------

# "empty"; "begun": there is a run to be resumed, or what calls itself so;
# "unfinished": nothing but what a run left that was stopped before its first
# checkpoint was complete; "foreign".
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

# Files that begin as ours do, as far as they were written (a file system that
# has lost its power may leave zeros), and folders.
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

# What says that they are leftovers goes last.
remove_leftovers <- function(path) {
  folders <- list.files(path, "^chain-[0-9]+$", full.names = TRUE)
  unlink(folders, recursive = TRUE)
  unlink(file.path(path, "data.rds.part"))
}

# ---- writing -----------------------------------------------------------------

# The checkpoint of a job: an environment, because what has been written is a
# fact about the disk and not part of any value.  NULL without `checkpoint`.
# From here on no other run can write there.
claim_checkpoint <- function(job, call) {
  path <- job$settings$checkpoint
  if (is.null(path) || !is.null(job$checkpoint)) {
    return(job$checkpoint)
  }
  checkpoint <- new_checkpoint(path, length(job$chains))
  claim_directory(checkpoint, call)
  checkpoint
}

# `call` is that of an error, should the directory be in use or have been taken
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

release_checkpoint <- function(checkpoint) {
  if (!is.null(checkpoint) && !is.null(checkpoint$owner)) {
    release_lock(checkpoint$owner)
    checkpoint$owner <- NULL
  }
}

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
  checkpoint$drawn <- numeric(chains)
  checkpoint$sweep <- rep(-1, chains)
}

has_begun <- function(checkpoint) {
  !is.null(checkpoint) && !is.null(checkpoint$run)
}

# Writes when it is time: not before gibbsite.checkpoint_seconds have passed,
# and not so often that all writing takes more than a twentieth of the run.
write_checkpoint <- function(job, force = FALSE) {
  checkpoint <- job$checkpoint
  if (is.null(checkpoint) || (!force && now() < checkpoint$due)) {
    return(job)
  }
  writing(
    checkpoint, write_chains(checkpoint, job),
    job$options$checkpoint_seconds
  )
  job
}

# Evaluates `code`, which writes.  A failure is a warning, once, and the run
# goes on.
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
    error = function(cnd) cnd
  )
  if (!is.null(problem) && !checkpoint$warned) {
    checkpoint$warned <- TRUE
    rlang::warn(
      c(
        paste0("The checkpoint in `", checkpoint$path,
               "` could not be written: ",
               sub("[.]$", "", conditionMessage(problem)), "."),
        i = "The run goes on; it cannot be resumed beyond the last good one."
      ),
      class = c("gibbsite_warning_checkpoint", "gibbsite_warning")
    )
  }
  spent <- now() - began
  checkpoint$spent <- checkpoint$spent + spent
  # the next one and the last one are expected to take as long
  checkpoint$due <- max(
    now() + least, checkpoint$opened + 20 * (checkpoint$spent + 2 * spent)
  )
  invisible()
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

# The first writing.  The run has a name only once all of it is on the disk; of
# one that fails nothing is left.
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
  value <- list(model = job$model, running = job$running, call = job$call)
  run <- hash(list(value, Sys.time(), Sys.getpid()))
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
  folder <- file.path(checkpoint$path, paste0("chain-", k))
  dir.create(folder, showWarnings = FALSE)
  files <- checkpoint$written[[k]]
  if (chain$drawn > checkpoint$drawn[[k]]) {
    fresh <- chain_rows(job, k, checkpoint$drawn[[k]])
    path <- file.path(folder, draws_file(length(files) + 1L))
    files <- c(files, write_aside(path, "draws", run, fresh))
    put_in_place(path)
    sync_directory(folder)
  }
  path <- file.path(folder, "state.rds")
  write_aside(
    path, "state", run,
    list(
      state = chain$state, rng = chain$rng, drawn = chain$drawn,
      seconds = chain$seconds, files = files
    )
  )
  put_in_place(path)
  sync_directory(folder)
  checkpoint$written[[k]] <- files
  checkpoint$drawn[[k]] <- chain$drawn
  checkpoint$sweep[[k]] <- chain$state$sweep
}

draws_file <- function(number) sprintf("draws-%04d.rds", number)

# Draws from + 1, from + 2, ... of chain k, without building what is on disk
# already.
chain_rows <- function(job, k, from) {
  parts <- c(job$shown[k], job$chains[[k]]$chunks)
  parts <- parts[!vapply(parts, is.null, NA)]
  ends <- cumsum(vapply(parts, nrow, 0L))
  starts <- ends - vapply(parts, nrow, 0L)
  parts <- parts[ends > from]
  starts <- starts[ends > from]
  if (starts[[1L]] < from) {
    first <- parts[[1L]]
    parts[[1L]] <- first[-seq_len(from - starts[[1L]]), , drop = FALSE]
  }
  unname(do.call(rbind, parts))
}

# ---- reading -----------------------------------------------------------------

#' Resume a run from its checkpoint
#'
#' Reads the directory that a sampler wrote under `checkpoint =` and runs the
#' chains on to the number of draws (or the stopping rule) that was asked for.
#' The result has the same draws, bit for bit, as a run that was never
#' stopped. A run that had come to its end is returned at once.
#'
#' The directory must be complete and undamaged: each file carries a version
#' and a checksum, and one that is truncated, foreign or of another run is an
#' error that names it. Nothing in the directory is changed before all of it has
#' been read; the resumed run then goes on writing to it. A directory in which a
#' run was stopped before its first checkpoint was complete says so: start that
#' run again, with the same `checkpoint`. One that another run is writing to is
#' an error that names the process.
#'
#' @section What is trusted:
#' A checkpoint holds code as well as numbers: the functions that a user gave to
#' [mh_sample()], [gibbs_sample()] or [laplace()] are stored in it and called
#' when the run is resumed. So a checkpoint is to be trusted as an R script is:
#' do not resume one from a source that you would not run code from. Checksums
#' find damage; they are no protection against a file that was made to deceive.
#' All else that is read (sizes, counts, streams of random numbers, kinds of
#' models) is checked, and is an error where it does not fit together.
#'
#' Functions can be given anew: `log_density`, `proposal` and further arguments
#' for [mh_sample()], `log_density` and further arguments for [laplace()], the
#' conditionals as `data` and further arguments for [gibbs_sample()]. They must
#' be those of the run, by their code and values, and take the place of the
#' stored ones, which are compared and not called. With all of them given no
#' function of the checkpoint is called. (Reading a file can itself run code in
#' R before 4.4.0, by a fault in [unserialize()], CVE-2024-27322.)
#'
#' @param path The directory, as given to `checkpoint`.
#' @param data `NULL`, or the data that the run was started with: they are
#'   compared with those of the checkpoint, and other data are an error. For
#'   [gibbs_sample()], the list of conditionals.
#' @param log_density `NULL`, or the log density of a run of [mh_sample()] or
#'   [laplace()], compared in the same way: by its code, its further arguments
#'   and what it finds in the environment where it was made.
#' @param proposal `NULL`, or the proposal of a run of [mh_sample()], or the
#'   list of them, compared in the same way.
#' @param ... Further arguments of the log density or of the conditionals, by
#'   name, compared in the same way.
#' @param threads,cores,progress As in [running]; they never change a draw.
#' @return The fit, as the sampler would have returned it.
#' @section Errors:
#' `gibbsite_error_checkpoint` for a directory or file that is not what a run
#' wrote; `gibbsite_error_lock` for one that is in use, with the fields `pid`,
#' `host` and `since`; `gibbsite_error_argument` for data and functions other
#' than those of the run.
#' @seealso [extend()] for a fit in memory; [running] for `checkpoint`.
#' @examples
#' folder <- file.path(tempdir(), "faithful")
#' fit <- gibbs_gmm(faithful, 2, draws = 100, burnin = 50, chains = 2,
#'   seed = 1, progress = FALSE, checkpoint = folder
#' ) |> suppressWarnings()
#' again <- suppressWarnings(resume(folder, progress = FALSE))
#' identical_fit(fit, again)
#' @export
resume <- function(path, data = NULL, threads = 1,
                   cores = getOption("mc.cores", 1L),
                   progress = interactive(), log_density = NULL,
                   proposal = NULL, ...) {
  check_needed(path = "the directory of a checkpoint")
  call <- rlang::current_env()
  check_string(path, arg = "path", call = call)
  settings <- list(
    threads = check_count(threads, max = 1024, arg = "threads", call = call),
    cores = check_count(cores, max = 1024, arg = "cores", call = call),
    progress = check_flag(progress, arg = "progress", call = call)
  )
  check_options(call)
  settings$checkpoint <- check_begun(path, call)
  given <- list(
    data = data, log_density = log_density, proposal = proposal,
    arguments = list(...)
  )
  checkpoint <- new_checkpoint(
    settings$checkpoint, 0L, owner = take_lock(path, call)
  )
  on.exit(suspendInterrupts(release_checkpoint(checkpoint)))
  stored <- read_checkpoint(path, call)
  model <- model_given(stored$model, given, call)
  remember_written(checkpoint, stored)
  chains <- lapply(stored$chains, function(chain) {
    new_chain(
      chain$state, chain$rng, chain$chunks, chain$drawn, chain$seconds
    )
  })
  job <- new_job(model, c(stored$running, settings), chains, stored$call)
  job$checkpoint <- checkpoint
  conclude(job, call)
}

# The directory of a run that has begun; nothing is written to it yet, for it
# may be anything.
check_begun <- function(path, call) {
  if (!dir.exists(path)) {
    fault <- if (file.exists(path)) "is a file" else "does not exist"
    abort_argument(
      "`path` must be the directory of a checkpoint; `{path}` {fault}.",
      call = call
    )
  }
  if (directory_holds(path) == "unfinished") {
    if (file.exists(lock_file(path))) {
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
  checkpoint$written <- lapply(stored$chains, function(chain) chain$files)
  checkpoint$drawn <- vapply(stored$chains, function(chain) chain$drawn, 0)
  checkpoint$sweep <- vapply(stored$chains, function(chain) {
    chain$state$sweep
  }, 0)
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
  c(top$value, list(run = top$run, chains = chains))
}

read_chain <- function(path, k, run, top, call) {
  folder <- file.path(path, paste0("chain-", k))
  file <- file.path(folder, "state.rds")
  chain <- read_envelope(file, "state", run, call)$value
  check_stored_chain(chain, top$running, file, call)
  check_stream(chain$rng, paste0("Chain ", k, "'s"), call = call)
  chain$chunks <- lapply(seq_along(chain$files), function(number) {
    file <- file.path(folder, draws_file(number))
    part <- read_envelope(file, "draws", run, call)
    if (!identical(part$sum, chain$files[[number]])) {
      abort_file(file, "is not the file that this checkpoint wrote.",
        call = call
      )
    }
    check_stored_draws(part$value, top$model$columns, file, call)
    part$value
  })
  rows <- sum(vapply(chain$chunks, nrow, 0L))
  if (rows != chain$drawn) {
    abort_file(
      file, paste0("counts ", format_number(chain$drawn), " draws; there are ",
                   format_number(rows), "."),
      call = call
    )
  }
  chain
}

# ---- what was read, checked --------------------------------------------------
#
# A checksum tells that a file is as it was written, and not that what was
# written makes sense: what the driver goes by is looked at before it is used.

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
      running = is.list(top) && is.list(top$running),
      call = is.list(top) && (is.null(top$call) || is.call(top$call))
    ), file, call
  )
  running <- top$running
  most <- .Machine$integer.max
  check_fields(
    list(
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

# A model of this package, with what every model has.
is_stored_model <- function(model) {
  if (!is.list(model) || !inherits(model, "gibbsite_model")) {
    return(FALSE)
  }
  strings <- unclass(model)[c("name", "title", "data_hash")]
  all(vapply(strings, is_plain_string, NA)) && is_names(model$columns) &&
    has_sweeps(class(model))
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
  all(vapply(counts, is_whole, NA, min = 1)) &&
    all(vapply(numbers, is_plain_number, NA)) &&
    rule$rhat > 1 && rule$ess >= 0 && rule$max_draws %% rule$every == 0
}

# Draws are counted by sweeps: one that does not fit its sweep is another
# chain's.
check_stored_chain <- function(chain, running, file, call) {
  is_state <- is.list(chain) && is.list(chain$state)
  sweep <- if (is_state) chain$state$sweep
  drawn <- if (is_state) chain$drawn
  check_fields(
    list(
      state = is_state && is_whole(sweep),
      drawn = is_whole(drawn) && drawn == draws_at(sweep, running),
      seconds = is_state && is_plain_number(chain$seconds) &&
        is.finite(chain$seconds) && chain$seconds >= 0,
      files = is_state && is.character(chain$files) && !anyNA(chain$files)
    ), file, call
  )
}

draws_at <- function(sweep, running) {
  max(0, floor((sweep - running$burnin) / running$thin))
}

check_stored_draws <- function(draws, columns, file, call) {
  check_fields(
    list(
      draws = is.double(draws) && is.matrix(draws) && !is.object(draws) &&
        ncol(draws) == length(columns)
    ), file, call
  )
}
