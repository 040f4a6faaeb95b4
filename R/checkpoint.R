# Checkpoints: a directory that the main process alone writes.
#
#   data.rds                 model (with its data), running values, call: once
#   chain-<k>/draws-0001.rds the draws since the one before: only ever added
#   chain-<k>/state.rds      state, generator and the list of its draws' files:
#                            written aside and renamed into place, last
#
# A crash between two writes leaves the older state.rds, which names only files
# that are complete.  Each file is an envelope with format, version, kind, the
# run it belongs to and a checksum.

checkpoint_format <- "gibbsite-checkpoint"
checkpoint_version <- 1L

# ---- envelopes ---------------------------------------------------------------

# Writes aside, looks whether all of it arrived (a full disk may show only
# then), renames into place.
write_envelope <- function(path, kind, run, value) {
  payload <- serialize(value, NULL, version = 3L, xdr = FALSE)
  sum <- cli::hash_raw_md5(payload)
  envelope <- serialize(
    list(
      format = checkpoint_format, version = checkpoint_version, kind = kind,
      run = run, sum = sum, payload = payload
    ),
    NULL, version = 3L, xdr = FALSE
  )
  aside <- paste0(path, ".part")
  on.exit(unlink(aside), add = TRUE)
  connection <- file(aside, "wb")
  tryCatch(
    writeBin(envelope, connection),
    finally = close(connection)
  )
  if (!identical(as.numeric(file.size(aside)), as.numeric(length(envelope)))) {
    abort_state("the file could not be written in full (is the disk full?)")
  }
  if (!file.rename(aside, path)) {
    abort_state("the file could not be renamed into place")
  }
  sum
}

read_envelope <- function(path, kind, run = NULL, call) {
  bad <- function(what, hint = NULL) {
    abort_state(
      c("{.file {path}} {what}", i = hint),
      call = call, class = "checkpoint"
    )
  }
  if (!file.exists(path)) {
    bad("does not exist.", "Is this the directory given as `checkpoint`?")
  }
  envelope <- tryCatch(
    unserialize(readBin(path, "raw", n = file.size(path))),
    error = function(cnd) NULL
  )
  if (is.null(envelope)) {
    bad("is damaged, or is not a file of a gibbsite checkpoint.")
  }
  if (!is.list(envelope) || !identical(envelope$format, checkpoint_format)) {
    bad("is not a file of a gibbsite checkpoint.")
  }
  if (!identical(envelope$version, checkpoint_version)) {
    bad(
      paste0("was written in version ", format(envelope$version),
             " of the format; this package reads version ",
             checkpoint_version, "."),
      "Use the version of gibbsite that wrote it."
    )
  }
  if (!identical(envelope$sum, cli::hash_raw_md5(envelope$payload))) {
    bad("is damaged: its checksum does not match.")
  }
  if (!identical(envelope$kind, kind)) {
    bad(paste0("holds ", envelope$kind, ", not ", kind, "."))
  }
  if (!is.null(run) && !identical(envelope$run, run)) {
    bad("belongs to another run.")
  }
  list(value = unserialize(envelope$payload), run = envelope$run,
       sum = envelope$sum)
}

# ---- writing -----------------------------------------------------------------

# The open checkpoint of a job: an environment, because what has been written is
# a fact about the disk and not part of any value.  NULL without `checkpoint`.
open_checkpoint <- function(job) {
  path <- job$settings$checkpoint
  if (is.null(path)) {
    return(NULL)
  }
  if (!is.null(job$checkpoint)) {
    return(job$checkpoint)
  }
  checkpoint <- new_checkpoint(path, length(job$chains))
  writing(checkpoint, write_chains(checkpoint, job))
  checkpoint
}

# What all chains share.  The run has a name only once this is on the disk.
write_top <- function(checkpoint, job) {
  dir.create(checkpoint$path, showWarnings = FALSE, recursive = TRUE)
  value <- list(model = job$model, running = job$running, call = job$call)
  run <- hash(list(value, Sys.time(), Sys.getpid()))
  write_envelope(file.path(checkpoint$path, "data.rds"), "data", run, value)
  checkpoint$run <- run
}

new_checkpoint <- function(path, chains, run = NULL) {
  checkpoint <- new.env(parent = emptyenv())
  checkpoint$path <- path
  checkpoint$run <- run
  checkpoint$written <- rep(list(character()), chains)
  checkpoint$drawn <- numeric(chains)
  checkpoint$sweep <- rep(-1, chains)
  checkpoint$due <- -Inf
  checkpoint$warned <- FALSE
  checkpoint
}

# Writes when it is time: not before gibbsite.checkpoint_seconds have passed,
# and not so often that it takes more than a twentieth of the run.
write_checkpoint <- function(job, force = FALSE) {
  checkpoint <- job$checkpoint
  if (is.null(checkpoint) || (!force && now() < checkpoint$due)) {
    return(job)
  }
  writing(checkpoint, write_chains(checkpoint, job))
  job
}

# Evaluates `code`, which writes.  A failure is a warning, once, and the run
# goes on; the next one is due after 20 times the time that this one took.
writing <- function(checkpoint, code) {
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
               "` could not be written: ", conditionMessage(problem), "."),
        i = "The run goes on; it cannot be resumed beyond the last good one."
      ),
      class = c("gibbsite_warning_checkpoint", "gibbsite_warning")
    )
  }
  spent <- now() - began
  checkpoint$due <-
    now() + max(gibbsite_option("checkpoint_seconds"), 20 * spent)
  invisible()
}

write_chains <- function(checkpoint, job) {
  if (is.null(checkpoint$run)) {
    write_top(checkpoint, job)
  }
  for (k in seq_along(job$chains)) {
    chain <- job$chains[[k]]
    if (chain$state$sweep > checkpoint$sweep[[k]]) {
      write_chain(checkpoint, job, k)
    }
  }
}

write_chain <- function(checkpoint, job, k) {
  chain <- job$chains[[k]]
  folder <- file.path(checkpoint$path, paste0("chain-", k))
  dir.create(folder, showWarnings = FALSE)
  files <- checkpoint$written[[k]]
  if (chain$drawn > checkpoint$drawn[[k]]) {
    fresh <- chain_rows(job, k, checkpoint$drawn[[k]])
    path <- file.path(folder, draws_file(length(files) + 1L))
    files <- c(
      files, write_envelope(path, "draws", checkpoint$run, fresh)
    )
  }
  write_envelope(
    file.path(folder, "state.rds"), "state", checkpoint$run,
    list(
      state = chain$state, rng = chain$rng, drawn = chain$drawn,
      seconds = chain$seconds, files = files
    )
  )
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
#' been read; the resumed run then goes on writing to it.
#'
#' @param path The directory, as given to `checkpoint`.
#' @param data `NULL`, or the data that the run was started with: they are
#'   compared with those of the checkpoint, and other data are an error.
#' @param log_density `NULL`, or the log density of a run of [mh_sample()],
#'   compared in the same way: by its code, its further arguments and what it
#'   finds in the environment where it was made.
#' @param threads,cores,progress As in [running]; they never change a draw.
#' @return The fit, as the sampler would have returned it.
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
                   progress = interactive(), log_density = NULL) {
  call <- rlang::current_env()
  check_string(path, arg = "path", call = call)
  settings <- list(
    threads = check_count(threads, min = 1, arg = "threads", call = call),
    cores = check_count(cores, min = 1, arg = "cores", call = call),
    progress = check_flag(progress, arg = "progress", call = call),
    checkpoint = path
  )
  if (!dir.exists(path)) {
    fault <- if (file.exists(path)) "is a file" else "does not exist"
    abort_argument(
      "`path` must be the directory of a checkpoint; `{path}` {fault}.",
      call = call
    )
  }
  top <- read_envelope(file.path(path, "data.rds"), "data", call = call)
  job <- top$value
  data <- given_data(job$model, data, log_density, call)
  if (!is.null(data)) {
    job$model$data <- check_same_data(job$model, data, call)$data
  }
  running <- c(job$running, settings)
  chains <- lapply(seq_len(job$running$chains), function(k) {
    read_chain(path, k, top$run, call)
  })
  checkpoint <- new_checkpoint(path, length(chains), top$run)
  checkpoint$written <- lapply(chains, function(chain) chain$files)
  checkpoint$drawn <- vapply(chains, function(chain) chain$drawn, 0)
  checkpoint$sweep <- vapply(chains, function(chain) chain$state$sweep, 0)
  chains <- lapply(chains, function(chain) {
    new_chain(
      chain$state, chain$rng, chain$chunks, chain$drawn, chain$seconds
    )
  })
  next_job <- new_job(job$model, running, chains, job$call)
  next_job$checkpoint <- checkpoint
  conclude(next_job, call)
}

read_chain <- function(path, k, run, call) {
  folder <- file.path(path, paste0("chain-", k))
  chain <- read_envelope(
    file.path(folder, "state.rds"), "state", run, call
  )$value
  check_stream(chain$rng, paste0("Chain ", k, "'s"), call = call)
  chain$chunks <- lapply(seq_along(chain$files), function(number) {
    file <- file.path(folder, draws_file(number))
    part <- read_envelope(file, "draws", run, call)
    if (!identical(part$sum, chain$files[[number]])) {
      abort_state(
        "`{file}` is not the file that this checkpoint wrote.",
        call = call, class = "checkpoint"
      )
    }
    part$value
  })
  chain
}

# The model of a fit or a checkpoint, and data given by hand: the same hash or
# an error.
check_same_data <- function(model, data, call) {
  if (is.null(data)) {
    return(invisible(model))
  }
  given <- set_data(model, data)
  if (!identical(given$data_hash, model$data_hash)) {
    what <- data_words(model)
    abort_argument(
      c(
        "`{what$arg}` {what$are} that the run was started with.",
        i = "Leave `{what$arg}` out to use {what$those} of the checkpoint or the
             fit."
      ),
      call = call
    )
  }
  invisible(given)
}

# What a model is given by its user in the place of data.
data_words <- function(model) UseMethod("data_words")

#' @exportS3Method
data_words.default <- function(model) {
  list(
    arg = "data", them = "them", are = "are not the data", those = "those",
    hint = "Give the data to which the model was fitted."
  )
}

# `data` or `log_density`, whichever the model goes by.
given_data <- function(model, data, log_density, call) {
  given <- c("data", "log_density")[
    c(!is.null(data), !is.null(log_density))
  ]
  wrong <- setdiff(given, data_words(model)$arg)
  if (length(wrong) > 0L) {
    abort_argument(
      "A fit of {.fn {model$name}} goes by {.arg {data_words(model)$arg}}, not by
       {.arg {wrong[1]}}.",
      call = call
    )
  }
  data %||% log_density
}
