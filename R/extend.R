# Continued runs: extend() from a fit in memory, resume() from a checkpoint.

#' Continue a fit
#'
#' Continues every chain from its last state. The result is the same, bit for
#' bit, as one run of the whole length: `extend(f(draws = 200), 300)` is
#' [identical_fit()] to `f(draws = 500)`, also in another session, after
#' [saveRDS()], and with other numbers of threads and processes. A saved fit is
#' known again after an update of R or of another package.
#'
#' A fit of [gibbs_lda()] can be continued with more documents, see below.
#'
#' `extend()` continues the chains of a fit. [update()] discards them and fits
#' again, with changed arguments in the call of the fit. [resume()] continues a
#' run from its checkpoint.
#'
#' @param object A fit, or the object that an interrupted run returned.
#' @param draws Whole number, at least 1: how many more draws to keep in each
#'   chain, as many sweeps apart as those of the fit. With `stop_when` they are
#'   the draws that are made at most ([until()]). Draws that faster chains of an
#'   interrupted run have made already are used first.
#' @param data `NULL` (default) for a fit that holds its data. A fit of
#'   [gibbs_gmm()], [gibbs_bmf()], [gibbs_pmf()], [gibbs_lda()] or
#'   [fit_markov_chain()] that was made with `keep_data = FALSE`, or went
#'   through [drop_data()], needs the data of the fit, as they were given to it;
#'   one of [gibbs_logistic()] without groups needs `list(x = , y = )` with the
#'   model matrix. The other regressions and [laplace_logistic()] need none:
#'   `data` is an error. For [gibbs_sample()] the list of conditionals. For a
#'   fit of [gibbs_lda()] that holds its data also new documents, see below.
#' @param burnin With more documents: a whole number, 0 or more, the sweeps that
#'   each chain runs first and does not keep. `NULL` (default): as many as in
#'   the fit. A number is an error if there are no new documents.
#' @param log_density The log density of a fit made by [mh_sample()] or of a
#'   corrected fit made by [laplace()], in the same way. It is needed after
#'   `keep_data = FALSE`, and if the fit's log density is compiled code whose
#'   address belongs to another session.
#' @param threads,cores,checkpoint,stop_when,progress As in [running];
#'   `threads = NULL` (default) takes the number that the fit was run with. Only
#'   `stop_when` changes the result.
#' @param ... Passed to methods.
#' @return The longer fit; with more documents, a new fit of all documents.
#' @section More documents:
#' `extend(fit, draws, data = more)` adds documents to a fit of [gibbs_lda()]
#' that holds its data. `more` has the new documents alone, in any form that
#' `gibbs_lda()` takes. The result is a new fit, of the posterior given all
#' documents, those of `fit` first. Its draws are all new: `burnin` sweeps that
#' are not kept and then `draws` draws, with the `thin`, `prior`, `method` and
#' `keep` of `fit`, and a verdict of their own. A rule counts them from 0.
#'
#' Each chain starts at its last state, and uses its own stream of random
#' numbers further, so that the same call gives the same bits. The tokens of
#' `fit` keep their topics; those of new tokens are drawn given the means of
#' \eqn{\phi}{phi} that belong to these topics. So the start is near the
#' posterior of all documents if the new ones resemble the old ones, and a
#' shorter `burnin` then does; the trace of `log_joint` shows whether it was
#' long enough. Topics keep the numbers and names that they have in `fit`.
#'
#' Names of documents must be new. Documents without names are numbered after
#' those of `fit`, and a document without a word has the prior. Terms are
#' matched by name. New terms join the vocabulary, with a message:
#' \eqn{\phi_t}{phi_t} is then a distribution over more terms. If `eta` has a
#' number for each term, as with [seeded_topics()], new terms are an error;
#' without them `eta` stays as it is. Documents in [shards()] cannot be added
#' to.
#' @section Errors: `gibbsite_error_argument` for arguments out of range and for
#'   data that are missing or differ from those of the fit, and for more
#'   documents that cannot be added;
#'   `gibbsite_error_state` when draws of the fit were changed by hand, so that
#'   they no longer belong to the states of its chains. An error of class
#'   `gibbsite_error_old_hash`: the fit was saved by an early version of
#'   gibbsite, whose hashes were rlang's, and the rlang installed does not give
#'   them again, so that the draws cannot be verified.
#' @seealso [combine_fits()], [identical_fit()]
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' longer <- extend(fit, 100, progress = FALSE)
#' posterior::niterations(longer)
#'
#' # more documents
#' corpus <- sim_lda(60, k = 2, terms = 30, tokens = 60)
#' fit <- gibbs_lda(corpus$x[1:50, ], 2, draws = 100, burnin = 200, chains = 2,
#'                  seed = 1, progress = FALSE)
#' all <- extend(fit, 100, data = corpus$x[51:60, ], burnin = 50,
#'               progress = FALSE)
#' @export
extend <- function(object, ...) {
  check_needed(object = "a fit")
  UseMethod("extend")
}

#' @rdname extend
#' @export
extend.default <- function(object, draws, data = NULL, burnin = NULL,
                           threads = NULL, cores = getOption("mc.cores", 1L),
                           checkpoint = NULL, stop_when = NULL,
                           progress = TRUE, log_density = NULL, ...) {
  call <- rlang::current_env()
  if (!is_fit(object)) check_fit(object)
  check_no_more(...)
  if (missing(draws)) {
    abort_argument(
      c("{.arg draws} is needed: how many more draws to keep in each chain.",
        i = "With {.arg stop_when} it is the most: the run ends earlier if its
             rule is met.")
    )
  }
  draws <- check_count(draws)
  check_whole_fit(object, "object", call, draws = FALSE)
  threads <- threads %||% attr(object, "run", exact = TRUE)$threads
  settings <- list(
    threads = check_count(threads, max = 1024),
    cores = check_count(cores, max = 1024),
    progress = check_flag(progress),
    checkpoint = check_checkpoint(checkpoint, call)
  )
  stop_when <- check_stop_when(stop_when)
  object <- verify_fit(object, call = call)
  model <- fit_part(object, "model")
  bare <- !model_has_data(model)
  data <- given_data(model, data, log_density, call)
  burnin <- check_count(burnin, min = 0, null_ok = TRUE)
  larger <- if (!bare && !is.null(data)) model_enlarged(model, data, call)
  if (!is.null(larger)) {
    running <- larger_running(object, draws, burnin, settings, stop_when, call)
    return(run_larger(object, larger, running, match.call(), call))
  }
  if (!is.null(burnin)) {
    abort_argument(
      c(
        "{.arg burnin} goes with more documents in {.arg data}: a run that is
         continued has had its burn-in.",
        i = "Leave it out."
      )
    )
  }
  object <- attach_data(object, data, call = call)
  longer <- continue_chains(object, draws, settings, stop_when, call)
  if (bare) drop_data(longer) else longer
}

# `draws` more kept draws in each chain of a fit (or a partial fit).
continue_chains <- function(fit, draws, settings, stop_when, call) {
  stride <- stride_in(attr(fit, "running"))
  running <- running_of_job(attr(fit, "running"))
  model <- attr(fit, "model")
  shown <- shown_draws(fit)
  chains <- resume_chains(fit)
  running$draws <- (shown + draws) * stride
  running["stop_when"] <- list(
    continued_rule(stop_when, draws_made(fit), draws, call)
  )
  running[settings_names] <- settings[settings_names]
  running <- complete_rule(running, model, call)
  check_run_size(model, running, call, stride)
  run <- attr(fit, "run")
  job <- new_job(
    model, running, chains, run$call, seconds = run$elapsed$total
  )
  run_job(job, call)
}

# ---- More data --------------------------------------------------------------

# The running arguments of new chains from the last states of a fit.
larger_running <- function(fit, draws, burnin, settings, stop_when, call) {
  running <- running_of_job(attr(fit, "running"))
  running$burnin <- as.double(burnin %||% running$burnin)
  running$draws <- as.double(draws)
  running[c("inits", "averaged_from")] <- NULL
  running["stop_when"] <- list(continued_rule(stop_when, 0, draws, call))
  running[settings_names] <- settings[settings_names]
  check_run_length(
    running$stop_when$max_draws, draws, running$burnin, running$thin, call
  )
  running
}

# A chain of the larger model goes on in the chain's own stream.
run_larger <- function(fit, model, running, user_call, call) {
  running <- complete_rule(running, model, call)
  check_run_size(model, running, call)
  user_call[[1L]] <- quote(extend)
  before <- attr(fit, "model")
  chains <- lapply(attr(fit, "chains"), function(chain) {
    if (!has_started(chain) || isTRUE(chain$state$to_choose)) {
      abort_argument(
        c("{.arg object} was interrupted before its chains had a draw.",
          i = "Let it have draws first:
               {.code extend(object, {running$draws})}."),
        call = call
      )
    }
    start <- with_stream(
      chain$rng, model_state_enlarged(model, before, chain), call
    )
    new_chain(start$value, start$stream)
  })
  run_job(new_job(model, running, chains, stored_call(user_call)), call)
}

# The chains of a fit as the driver holds them.
resume_chains <- function(fit) {
  shown <- shown_in_chains(fit)
  pending <- pending_in_chains(fit)
  stride <- stride_in(attr(fit, "running"))
  running <- running_of_job(attr(fit, "running"))
  seconds <- attr(fit, "run")$elapsed$chains
  chains <- attr(fit, "chains")
  passing <- is_order_passing(chains, running$thin)
  lapply(seq_along(chains), function(k) {
    chain <- chains[[k]]
    parts <- list(shown[[k]], pending[[k]])
    new_chain(
      chain$state, chain$rng,
      chunks = parts[vapply(parts, NROW, 0L) > 0L],
      drawn = draws_at(chain$state$sweep, running), seconds = seconds[[k]],
      from = chain$from, order = if (!passing) chain$order, stride = stride
    )
  })
}

# The fit with its data. Data from the user are accepted only if they are the
# same.
attach_data <- function(fit, data, call) {
  model <- fit_part(fit, "model")
  if (is.null(data)) {
    if (!model_has_data(model)) {
      abort_no_data(
        model$given$arg, call, model$given$hint, model$given$what
      )
    }
    return(fit)
  }
  attr(fit, "model") <- check_same_data(model, data, call)
  fit
}

#' Drop the data from a fit
#'
#' A fit holds the data, so that it can be continued and used for prediction
#' without supplying them again. `drop_data()` removes them to save space. The
#' result is the same as with `keep_data = FALSE`.
#'
#' @section What stays in a fit without its data:
#' A fit without its data is not private. A regression keeps the form of the
#' data that its sampler reads, so that [extend()] needs no data:
#' * With t errors, and in [gibbs_count()], [gibbs_ordinal()],
#'   [gibbs_categorical()], [gibbs_logistic()] with groups and [gibbs_hlm()]
#'   with several bars, this form has the response and the predictors of each
#'   row.
#' * In [gibbs_lm()], and in [gibbs_hlm()] with one bar, it has a decomposition
#'   or rotations of the rows. A group of one row is there as it is.
#' * [gibbs_logistic()] without groups and [laplace_logistic()] keep no such
#'   form.
#'
#' The other fits keep no data, but for the features of [gibbs_bmf()]. They have
#' the names of users, items, documents, terms and groups, and the last state of
#' each chain, such as the component of each observation or the topic of each
#' token. [extend()] says which of them need their data again; it compares these
#' by a hash.
#'
#' @section What a fit saves:
#' A fit is complete: saved by `saveRDS()`, it works in another session. With a
#' formula or a function of the user R would save the whole environment in which
#' it was made, such as all local objects of a function that fits models. A fit
#' keeps only these of its objects:
#' * for a function of the user (a density, a conditional, a proposal, a
#'   gradient, `inits`), the objects that it uses, those of the workspace too,
#'   the functions among them with the objects that those use, and so on;
#' * for a formula, the functions and variables that it uses and the data do not
#'   have, such as `centre` in `y ~ I(x - centre)`; if it transforms variables
#'   of the data, also these variables;
#' * of data that stand in the call as a value, as `do.call()` makes it, the
#'   variables that the formula uses.
#'
#' The objects are those at the time of the fit: [extend()] and [log_evidence()]
#' draw from the same posterior after `y`, which the density reads, has changed
#' in the workspace. A function that is given again must read the same values.
#' Of the workspace a fit does not keep environments (such as R6 objects),
#' pointers to memory, lists that hold one, methods of S3 generics, and objects
#' that code does not name. These, objects of packages, and what formulas use of
#' the workspace are looked up when they are used, as always in R. Functions are
#' kept without their comments.
#'
#' The environments are kept as they are, and nothing of the workspace, if it
#' cannot be known what a function or a formula uses, or if it changes objects:
#' if its code, or that of a function which it uses, has `<<-`, `get()`,
#' `exists()`, `eval()`, `assign()`, `environment()`, `parent.frame()`,
#' `sys.function()` or the like, or `...` of an outer function; and if an object
#' that it names is an argument that was not given or an active binding.
#'
#' Without its data a fit has of the objects for formulas only functions and
#' single values, and no data in its call: [update()][update.gibbsite_fit] then
#' needs them.
#'
#' @param fit A fit.
#' @return The fit without its data.
#' @section Errors: An error of class `gibbsite_error_argument` when `fit` is
#'   not a fit.
#' @seealso [extend()], and [running] for `keep_data`.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                  progress = FALSE)
#' small <- drop_data(fit)
#' longer <- extend(small, 50, data = faithful, progress = FALSE)
#' @export
drop_data <- function(fit) {
  check_needed(fit = "a fit")
  check_fit(fit, "fit")
  model <- model_without_data(fit_part(fit, "model"))
  attr(fit, "model") <- with_own_objects(model, bare = TRUE)
  run <- fit_part(fit, "run")
  run["call"] <- list(call_without_data(run$call))
  attr(fit, "run") <- run
  attr(fit, "running")$keep_data <- FALSE
  fit
}

# ---- From disk --------------------------------------------------------------

#' Resume a run from its checkpoint
#'
#' Reads the directory that a sampler wrote under `checkpoint =` and runs the
#' chains on to the number of draws (or the stopping rule) that was asked for.
#' The result has the same draws, bit for bit, as a run that was never
#' stopped. A run that was complete is returned at once.
#'
#' The directory must be complete and undamaged. Each file has a version and a
#' checksum; a file that is truncated, not from this package or from another run
#' raises an error that names it. All files are read before any is changed; the
#' resumed run then goes on writing to the directory. If the run was stopped
#' before its first checkpoint was complete, the error says so: start that run
#' again, with the same `checkpoint`. If another run is writing to the
#' directory, the error names the process.
#'
#' @section What is trusted:
#' A checkpoint holds code as well as numbers: the functions that a user gave to
#' [mh_sample()], [gibbs_sample()] or [laplace()] are stored in it and called
#' when the run is resumed. So treat a checkpoint like an R script: do not
#' resume one from a source whose code you would not run. Checksums detect
#' damage; they do not protect against a forged file. Everything else that is
#' read (sizes, counts, streams of random numbers, kinds of models) is checked
#' for consistency, and raises an error if it is not consistent.
#'
#' The checksum is SipHash, which the package computes itself, so that an update
#' of R or of another package changes nothing. In version 2 of the format it was
#' made by rlang. Such a checkpoint is resumed if the rlang installed gives the
#' same checksum, and its files are then brought to the present version.
#'
#' The functions can be supplied again: `log_density`, `gradient`, `proposal`
#' and further arguments for [mh_sample()], `log_density` and further arguments
#' for [laplace()], the conditionals as `data` and further arguments for
#' [gibbs_sample()]. Their code and values must be those of the run. They
#' replace the stored functions, which are compared with them and never called.
#' If all are supplied, no function of the checkpoint is called. (Reading a file
#' can itself run code in R before 4.4.0, by a fault in [unserialize()],
#' CVE-2024-27322.)
#'
#' @param path The directory, as given to `checkpoint`.
#' @param data `NULL`, or the data that the run was started with: they are
#'   compared with those of the checkpoint, and other data are an error. For
#'   [gibbs_sample()], the list of conditionals. A run of documents in shards
#'   needs them, as a corpus or as documents: see [shards()].
#' @param log_density `NULL`, or the log density of a run of [mh_sample()] or
#'   [laplace()], compared in the same way: by its code, its further arguments
#'   and the values that it uses from the environment where it was made.
#' @param proposal `NULL`, or the proposal of a run of [mh_sample()], or the
#'   list of them, compared in the same way.
#' @param gradient `NULL`, or the `gradient` of a run of [mh_sample()], compared
#'   in the same way.
#' @param ... Further arguments of the log density or of the conditionals, by
#'   name, compared in the same way.
#' @param threads,cores,progress As in [running]; they never change a draw.
#' @return The fit, as the sampler would have returned it.
#' @section Errors:
#' `gibbsite_error_checkpoint` for a directory or file that no run wrote or that
#' has changed since, also of class `gibbsite_error_old_hash` if its checksum is
#' one that the rlang installed does not give again; `gibbsite_error_lock` for a
#' directory that is in use, with the fields `pid`, `host` and `since`;
#' `gibbsite_error_argument` for data and functions other than those of the run.
#' @seealso [extend()] for a fit in memory; [running] for `checkpoint`.
#' @examples
#' folder <- file.path(tempdir(), "faithful")
#' fit <- gibbs_gmm(faithful, 2, draws = 100, burnin = 50, chains = 2,
#'   seed = 1, progress = FALSE, checkpoint = folder
#' ) |> suppressWarnings()
#' again <- suppressWarnings(resume(folder, progress = FALSE))
#' identical_fit(fit, again)
#' @export
resume <- function(path, data = NULL, ..., threads = 1,
                   cores = getOption("mc.cores", 1L),
                   progress = TRUE, log_density = NULL,
                   proposal = NULL, gradient = NULL) {
  if (has_short_names()) return(with_whole_names())
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
    gradient = gradient, arguments = list(...)
  )
  checkpoint <- new_checkpoint(
    settings$checkpoint, 0L, owner = take_lock(path, call)
  )
  on.exit(suspendInterrupts(release_checkpoint(checkpoint)))
  stored <- read_checkpoint(path, call)
  model <- model_given(renew_model(stored$model), given, call)
  remember_written(checkpoint, stored)
  if (stored$version < checkpoint_version && !is.null(checkpoint$owner)) {
    writing(checkpoint, renew_checkpoint(checkpoint), 0)
  }
  chains <- lapply(stored$chains, function(chain) {
    new_chain(
      state_from_store(model, chain$state), chain$rng, chain$chunks,
      chain$drawn, chain$seconds, chain$from, chain$order, chain$left,
      chain$stride
    )
  })
  # early checkpoints lack the time of the run itself
  elapsed <- unlist(lapply(stored$chains, `[[`, "elapsed"))
  elapsed <- elapsed %||% sum(vapply(stored$chains, `[[`, 0, "seconds"))
  job <- new_job(
    model, c(stored$running, settings), chains, stored$call,
    seconds = max(elapsed)
  )
  job$checkpoint <- checkpoint
  run_job(job, call)
}

# ---- Data and functions supplied by the user --------------------------------

# The model with all of it.  `given`: list(data, log_density, proposal,
# gradient, arguments).
model_given <- function(model, given, call) {
  model <- check_same_arguments(model, given$arguments, call)
  model <- check_same_proposal(model, given$proposal, call)
  model <- check_same_gradient(model, given$gradient, call)
  data <- given_data(model, given$data, given$log_density, call)
  model_moved(model, data, call) %||% check_same_data(model, data, call)
}

# The model of a fit or a checkpoint with data supplied by the user in place of
# its own: an error unless the hash is the same.
check_same_data <- function(model, data, call) {
  if (is.null(data)) {
    return(model)
  }
  what <- model$given
  given <- set_data(model, data, call)
  if (!has_same_data(model, given, data, call)) {
    if (is_old_hash(model$data_hash)) {
      abort_unverified(
        "`{what$arg}`", paste("`{what$arg}`", what$are, "of the run"),
        "extend the fit once, by this version of gibbsite",
        call = call
      )
    }
    abort_other_data(model, call, data)
  }
  # a fit keeps its own data, with their names; functions are replaced, so that
  # those of a checkpoint are never called
  model <- model_placed(model, given, data, call)
  if (model_has_data(model) && length(functions_in(list(data))) == 0L) {
    return(model)
  }
  for (part in intersect(c("data", "frame"), names(given))) {
    model[part] <- given[part]
  }
  renew_model(model)
}

abort_other_data <- function(model, call, given = NULL) {
  what <- model$given
  other <- changed_values(list(model$data, model$frame), list(given))
  abort_argument(
    c(
      "`{what$arg}` {what$are} that the run was started with.",
      x = if (length(other) > 0L) {
        "It reads {.code {other}} from the workspace, which {?has/have} changed
         since."
      },
      i = if (model_has_data(model)) {
        "Leave `{what$arg}` out to use {what$those} of the checkpoint or the
         fit."
      } else {
        what$hint
      },
      i = if (what$arg == "data" && model_has_data(model)) {
        "More data need a new fit. Only one of {.fn gibbs_lda} can be continued
         with more, by {.fn extend}."
      }
    ),
    call = call
  )
}

# `given`: the model with the data that were supplied again.
has_same_data <- function(model, given, data, call) {
  if (is_old_hash(model$data_hash)) {
    given <- as_before(set_data(model, data, call))
  }
  identical(given$data_hash, model$data_hash)
}

# `data` or `log_density`, depending on the model.
given_data <- function(model, data, log_density, call) {
  given <- c("data", "log_density")[
    c(!is.null(data), !is.null(log_density))
  ]
  wrong <- setdiff(given, model$given$arg)
  if (length(wrong) > 0L) {
    abort_argument(
      "A fit of {.fn {model$name}} goes by {.arg {model$given$arg}}, not
       by {.arg {wrong[1]}}.",
      call = call
    )
  }
  data %||% log_density
}

# The names of values of the workspace that differ between two functions (or
# lists of them) of the same names.
changed_values <- function(a, b) {
  a <- workspace_values(a)
  b <- workspace_values(b)
  both <- intersect(names(a), names(b))
  same <- mapply(function(x, y) hash_code(x) == hash_code(y), a[both], b[both])
  both[!as.logical(same)]
}

same_code <- function(a, b) identical(hash_functions(a), hash_functions(b))

abort_not_the_same <- function(arg, call, block = NULL) {
  abort_argument(
    c("{.arg {arg}} is not what the run was started with{block}.",
      i = "Leave it out to use that of the checkpoint."),
    call = call
  )
}

check_same_arguments <- function(model, given, call) {
  if (length(given) == 0L) {
    return(model)
  }
  place <- model$arguments_at
  stored <- if (!is.null(place)) model[[place]]
  names <- names(given) %||% rep("", length(given))
  unknown <- setdiff(names, names(stored))
  if (any(!nzchar(names)) || length(unknown) > 0L) {
    abort_argument(
      if (any(!nzchar(names))) {
        "Further arguments must be named."
      } else {
        "There is no argument {.arg {unknown[1]}}, neither of {.fn resume} nor
         of the run."
      },
      call = call
    )
  }
  check_once(names, call)
  for (name in names) {
    if (!same_code(stored[[name]], given[[name]])) {
      abort_not_the_same(name, call)
    }
  }
  stored[names] <- given
  model[[place]] <- stored
  model
}

check_same_proposal <- function(model, proposal, call) {
  if (is.null(proposal)) {
    return(model)
  }
  if (is.null(model$plan)) {
    abort_argument(
      "A fit of {.fn {model$name}} has no {.arg proposal}: leave it out.",
      call = call
    )
  }
  blocks <- length(model$plan)
  labels <- vapply(model$plan, `[[`, "", "name")
  given <- block_proposals(
    proposal, blocks, if (blocks > 1L) labels, labels, call
  )
  for (b in seq_len(blocks)) {
    if (!same_code(model$plan[[b]]$proposal, given[[b]])) {
      block <- if (blocks > 1L) paste0(", in block ", b)
      abort_not_the_same("proposal", call, block)
    }
    model$plan[[b]]$proposal <- given[[b]]
  }
  given <- unlist(lapply(given, proposal_gradients), recursive = FALSE)
  if (length(given) > 0L) model$gradient <- given[[1L]]
  model
}

# The argument `gradient` of mh_sample(); that of a proposal comes with it.
check_same_gradient <- function(model, gradient, call) {
  if (is.null(gradient)) {
    return(model)
  }
  if (is.null(model$given_gradient)) {
    abort_argument(
      c(
        "The run was started without {.arg gradient}: leave it out.",
        i = if (!is.null(model$plan)) {
          "A gradient within a proposal is given with {.arg proposal}."
        }
      ),
      call = call
    )
  }
  if (!same_code(model$given_gradient, gradient)) {
    abort_not_the_same("gradient", call)
  }
  model$given_gradient <- model$gradient <- gradient
  model
}
