# The fit: a list of coda::mcmc matrices, one for each chain. Everything else is
# in attributes of the list (never of the matrices):
#
#   model    the model, with or without its data
#   running  what determines the draws: draws, burnin, thin, chains, inits,
#            keep, seed, rng_kind, stop_when, keep_data; `stride` see
#            R/run-kept.R
#   chains   the state of each chain: list(state, rng, hash, from, order);
#            `hash` is that of every draw the chain has made, shown or pending;
#            `from` see R/run-rule.R, `order` see R/run-pool.R
#   pending  NULL, or one matrix a chain: draws ahead of the shortest chain
#   run      how it was run: call, elapsed, threads, cores, ...; the one part
#            that identical_fit() leaves out
#
# mcpar is c(burnin + thin, burnin + draws * thin, thin): the true sweeps, so
# that coda's gelman.diag() does not discard kept draws as burn-in.

# draws: one matrix (draws x columns) a chain, all of one length. Without any
# draw the fit is partial: the run was stopped before every chain had one.
new_fit <- function(draws, model, running, chains, pending = NULL,
                    run = list()) {
  draws <- lapply(draws, named_matrix, columns = model$columns)
  lengths <- vapply(draws, nrow, integer(1))
  stopifnot(length(lengths) >= 1, all(lengths == lengths[1]))
  partial <- lengths[1] == 0
  pending <- plain_pending(pending, model$columns)
  running$draws <- lengths[1]
  sweeps <- true_sweeps(running)
  structure(
    if (partial) list() else lapply(draws, as_mcmc_matrix, mcpar = sweeps),
    model = model,
    running = running,
    chains = hashed_chains(chains, draws, pending, model$columns),
    pending = pending,
    run = run,
    class = if (partial) {
      "gibbsite_partial"
    } else {
      c(model$fit_class, "gibbsite_fit", "mcmc.list")
    }
  )
}

true_sweeps <- function(running) {
  burnin <- as.numeric(running$burnin)
  thin <- as.numeric(running$thin)
  c(burnin + thin, burnin + as.numeric(running$draws) * thin, thin)
}

# coda::mcmc() drops dimensions and recomputes the sweeps: the object is built
# by hand.
as_mcmc_matrix <- function(x, mcpar) {
  structure(x, mcpar = as.numeric(mcpar), class = "mcmc")
}

# A double matrix with the names of the columns and no other attribute; NULL
# has no rows.
named_matrix <- function(x, columns = colnames(x)) {
  if (is.null(x)) {
    x <- numeric(0)
  }
  plain <- list(
    dim = as.integer(c(length(x) / length(columns), length(columns))),
    dimnames = list(NULL, columns)
  )
  if (is.double(x) && identical(attributes(x), plain)) {
    return(x)
  }
  stopifnot(length(x) %% length(columns) == 0)
  # attributes alone are replaced without a copy of the numbers
  if (!is.double(x)) x <- as.double(x)
  attributes(x) <- plain
  x
}

# Pending draws as a fit holds them. NULL if there are none, so that a run in
# one piece and a run in several give the same object.
plain_pending <- function(pending, columns) {
  if (is.null(pending) || all(lengths(pending) == 0)) {
    return(NULL)
  }
  lapply(pending, named_matrix, columns = columns)
}

# ---- Parts ------------------------------------------------------------------

# These functions read the parts of a fit and its draws. They check that the fit
# is whole, because a user can set the class by hand.
fit_part <- function(x, part) {
  check_whole_fit(x)
  value <- attr(x, part, exact = TRUE)
  if (part == "model") current_model(value) else value
}

# The matrices of the draws, a chain each.
fit_draws <- function(x) {
  check_whole_fit(x)
  lapply(seq_along(x), function(k) .subset2(x, k))
}

# A fit that an earlier version saved, with the classes of this one; NULL for
# other objects.
current_fit <- function(fit) {
  model <- attr(fit, "model", exact = TRUE)
  now <- current_model(model)
  if (identical(class(fit)[seq_along(now$fit_class)], now$fit_class) ||
        !is_model(model) || !all(model$fit_class %in% class(fit))) {
    return(NULL)
  }
  attr(fit, "model") <- now
  class(fit) <- c(now$fit_class, "gibbsite_fit", "mcmc.list")
  fit
}

is_fit <- function(x) inherits(x, c("gibbsite_fit", "gibbsite_partial"))

check_fit <- function(x, arg = "object", call = rlang::caller_env()) {
  if (!is_fit(x)) {
    given <- describe(x)
    abort_argument(
      c("{.arg {arg}} must be a fit made by gibbsite, not {given}.",
        i = "Functions such as {.fn gibbs_gmm} make fits."),
      call = call
    )
  }
  check_whole_fit(x, arg, call)
}

# The function that made a fit, by the fit's class: a class whose bare name
# another package has too begins with the package's name.
class_maker <- function(class) sub("^gibbsite_", "", class)

maker_of <- function(fit) {
  class_maker(setdiff(class(fit), "gibbsite_imputed")[[1L]])
}

# A fit of one of the classes `makers`.
check_fit_of <- function(fit, makers, arg = "fit",
                         call = rlang::caller_env()) {
  if (!inherits(fit, makers)) {
    given <- describe(fit)
    words <- or_words(paste0("{.fn ", class_maker(makers), "}"))
    abort_argument(
      paste0("{.arg {arg}} must be a fit made by ", words, ", not {given}."),
      call = call
    )
  }
  check_whole_fit(fit, arg, call)
}

# arg, call: by default those of given_as().
check_whole_fit <- function(x, arg = NULL, call = NULL, draws = TRUE) {
  lacking <- fit_fault(x, draws)
  if (!is.null(lacking)) {
    given <- given_as(x)
    arg <- arg %||% given$arg
    call <- call %||% given$call
    abort_argument(
      c("{.arg {arg}} has the class of a fit, but has {lacking}.",
        i = "Functions such as {.fn gibbs_gmm} make fits."),
      call = call, class = "forged"
    )
  }
  x
}

# The argument by which the user gave x, and the call of which it is one: those
# of the first running function of this package that has x as an argument.
given_as <- function(x) {
  for (i in seq_len(sys.nframe())) {
    f <- sys.function(i)
    frame <- sys.frame(i)
    if (identical(topenv(environment(f)), topenv())) {
      known <- intersect(names(formals(f)), rlang::env_names(frame))
      known <- setdiff(known, "...")
      known <- known[!rlang::env_binding_are_lazy(frame, known)]
      for (arg in known) {
        if (!rlang::is_missing(frame[[arg]]) && identical(frame[[arg]], x)) {
          return(list(arg = arg, call = frame))
        }
      }
    }
  }
}

# Says in words what part this fit lacks; NULL if it is whole. The user may have
# replaced the draws by others of the same quantities; with `draws = FALSE` only
# verify_fit() checks them.
fit_fault <- function(x, draws = TRUE) {
  part <- function(name) attr(x, name, exact = TRUE)
  model <- part("model")
  if (!is_model(model)) {
    return("no model")
  }
  if (!is_running_record(part("running"))) {
    return("no running arguments")
  }
  if (!are_chain_records(part("chains")) || !is.list(part("run"))) {
    return("no states of its chains")
  }
  if (inherits(x, "gibbsite_partial")) {
    return(NULL)
  }
  if (!all(model$fit_class %in% class(x))) {
    return("the model of another function")
  }
  draws_fault(unclass(x), length(model$columns), draws)
}

# Says in words what is wrong with the draws, which must be matrices of `width`
# columns.
draws_fault <- function(shown, width, draws) {
  if (!is.list(shown) || length(shown) == 0L) {
    return("no draws")
  }
  whole <- vapply(shown, is_matrix_of, NA, width, NROW(shown[[1L]]))
  if (draws && !all(whole)) {
    return("no draws of its quantities")
  }
  named <- vapply(shown, function(x) !is.null(colnames(x)), NA)
  if (draws && !all(named)) "draws without names"
}

is_model <- function(x) {
  is.list(x) && inherits(x, "gibbsite_model") && is.character(x$columns) &&
    is_plain_string(x$name)
}

is_running_record <- function(running) {
  numbers <- c("draws", "burnin", "thin", "chains")
  is.list(running) &&
    all(vapply(numbers, function(n) is_plain_number(running[[n]]), NA))
}

are_chain_records <- function(chains) {
  is.list(chains) && length(chains) > 0L &&
    all(vapply(chains, is_chain_record, NA))
}

is_chain_record <- function(chain) {
  is.list(chain) && is.list(chain$state) &&
    is_plain_number(chain$state$sweep) && is.integer(chain$rng)
}

# Whether a chain has its starting values.
has_started <- function(chain) !isFALSE(chain$state$begun)

is_matrix_of <- function(x, columns, rows) {
  is.matrix(x) && is.numeric(x) && ncol(x) == columns && nrow(x) == rows &&
    rows > 0L
}

# "`fit`", the variable of a call, or "the fit".
fit_words <- function(expression) {
  if (!is.name(expression)) {
    return("the fit")
  }
  paste0("`", expression, "`")
}

# An error for any argument in `...`, so that a misspelt argument is noticed,
# and for a name that R has completed: `user` for `user_features`.
check_no_more <- function(..., call = rlang::caller_env()) {
  short <- completed_names(call)
  if (length(short) > 0L) {
    abort_unknown(short[[1L]], call)
  }
  check_no_extra(..., call = call)
}

# check_no_more() for a function of which R takes shorter names of arguments.
check_no_extra <- function(..., call = rlang::caller_env()) {
  if (...length() > 0) {
    abort_extra(rlang::names2(substitute(list(...)))[-1L], call)
  }
}

# names: those of the arguments that there should not be, "" for none.
abort_extra <- function(names, call) {
  named <- names[nzchar(names)]
  if (length(named) > 0L) {
    abort_unknown(named[[1L]], call)
  }
  abort_argument("There are more arguments than expected.", call = call)
}

# known: the arguments that there are.
abort_unknown <- function(name, call, known = names(frame_formals(call))) {
  abort_argument(
    c("There is no argument {.arg {name}}.",
      i = prior_field_hint(name, call) %||% foreign_hint(name, known)),
    call = call
  )
}

# An error for a name that begins several arguments of the method that a generic
# of models calls: the method would fail in R's own words. `known`: the method's
# arguments.
check_ambiguous <- function(..., known, call = rlang::caller_env()) {
  given <- setdiff(names(substitute(list(...)))[-1L], c("", known))
  for (name in given) {
    if (sum(startsWith(known, name)) > 1L) abort_unknown(name, call, known)
  }
}

# A hint, a template or NULL, for a field of the prior that was given as an
# argument of the function in `frame`.
prior_field_hint <- function(name, frame) {
  prior <- frame_formals(frame)$prior
  if (!is.call(prior)) {
    return(NULL)
  }
  maker <- as.character(prior[[1L]])
  if (name %in% setdiff(names(formals(maker)), "...")) {
    paste0("It belongs to the prior: {.code prior = ", maker, "(", name,
           " = )}.")
  }
}

# An error for arguments of pp_check() that other packages have, or for `draws`:
# its `...` go on to a function that would not notice them.
check_passed_on <- function(..., call = rlang::caller_env()) {
  given <- names(substitute(list(...)))
  if ("draws" %in% given) {
    abort_unknown("draws", call)
  }
  others <- intersect(c("type", "plotfun", "stat", "group"), given)
  if (length(others) > 0L) {
    abort_argument(
      c("There is no argument {.arg {others[[1L]]}}: one picture is drawn.",
        i = "bayesplot has the others, such as
             {.code ppc_stat(y, posterior_predict(fit))}."),
      call = call
    )
  }
}

# One plain matrix a chain, for code that looks up columns by name: an error
# unless they have the names of the model.
chain_matrices <- function(x, arg = rlang::caller_arg(x),
                           call = rlang::caller_env()) {
  matrices <- shown_matrices(x)
  check_own_names(matrices, attr(x, "model")$columns, arg, call)
  matrices
}

# One plain matrix a chain with the names that the user sees, who may have
# renamed the columns.
shown_matrices <- function(x) {
  lapply(fit_draws(x), function(m) named_matrix(m, colnames(m)))
}

# One plain matrix a chain with the model's names, also if the columns were
# renamed.
model_matrices <- function(x) {
  columns <- fit_part(x, "model")$columns
  lapply(shown_matrices(x), named_matrix, columns = columns)
}

check_own_names <- function(matrices, columns, arg, call) {
  for (matrix in matrices) {
    names <- colnames(matrix) %||% character(length(columns))
    other <- which(names != columns | is.na(names))
    if (length(other) > 0L) {
      first <- other[[1L]]
      abort_argument(
        c(
          "The draws of {.arg {arg}} do not have the names of the fit: column
           {first} is {.val {names[[first]]}} and was
           {.val {columns[[first]]}}.",
          i = "Rename the columns of a copy made by {.fn as.mcmc.list}; keep the
               fit itself."
        ),
        call = call, class = "names"
      )
    }
  }
}

# One matrix of the draws of all chains, one chain below the other. Of the draws
# only `rows` (in rising order) and `columns` are copied, if they are given.
bind_chains <- function(matrices, rows = NULL, columns = NULL) {
  if (!is.null(rows) || !is.null(columns)) {
    last <- cumsum(vapply(matrices, nrow, 1L))
    matrices <- Map(function(m, last) {
      own <- rows - (last - nrow(m))
      m[
        if (is.null(rows)) TRUE else own[own > 0 & own <= nrow(m)],
        columns %||% TRUE, drop = FALSE
      ]
    }, matrices, last)
  }
  do.call(rbind, matrices)
}

# At most `count` draws of all chains, spread evenly, in one matrix.
some_draws <- function(fit, count) {
  matrices <- chain_matrices(fit)
  bind_chains(matrices, evenly(sum(vapply(matrices, nrow, 1L)), count))
}

# list of matrices -> draws x chains x variables
stack_chains <- function(matrices) {
  first <- matrices[[1]]
  out <- array(
    NA_real_, c(nrow(first), length(matrices), ncol(first)),
    list(draw = NULL, chain = seq_along(matrices), variable = colnames(first))
  )
  for (k in seq_along(matrices)) {
    out[, k, ] <- matrices[[k]]
  }
  out
}

# ---- Whole and undamaged ----------------------------------------------------

hashed_chains <- function(chains, draws, pending, columns) {
  stopifnot(length(chains) == length(draws))
  lapply(seq_along(chains), function(k) {
    made <- list(draws[[k]], pending[[k]])
    record <- list(
      state = chains[[k]]$state, rng = chains[[k]]$rng,
      hash = chains[[k]]$hash %||% hash_draws(made, columns)
    )
    record$from <- chains[[k]]$from
    record$order <- chains[[k]]$order
    record
  })
}

# Hash of one chain's draws, in one matrix or a list of matrices. It does not
# depend on the division into matrices. It includes the names of the columns.
hash_draws <- function(matrices, columns = NULL) {
  if (!is.list(matrices)) {
    matrices <- list(matrices)
  }
  columns <- columns %||% colnames(matrices[[1]])
  parts <- lapply(matrices, named_matrix, columns = columns)
  filled <- parts[vapply(parts, nrow, integer(1)) > 0]
  made <- if (length(filled) == 1) filled[[1]] else do.call(rbind, filled)
  hash(list(
    columns = as.character(columns),
    values = made
  ))
}

# A user can change draws by hand, but the states do not change with them: such
# a fit must not be continued.
verify_fit <- function(fit, call = rlang::caller_env()) {
  damage <- find_damage(fit)
  if (!is.null(damage)) {
    if (endsWith(damage, "draws were changed")) {
      check_hashed_here(fit, call)
    }
    abort_state(
      c("The fit is no longer what the sampler returned: {damage}.",
        x = "Its chains cannot be continued from there.",
        i = "Change a copy made by {.fn as.mcmc.list}; keep the fit itself."),
      call = call
    )
  }
  renew_fit(fit)
}

# An error unless the hashes of a fit were made as they are here. The hash of
# its data, if it holds them, shows whether rlang is still the same.
check_hashed_here <- function(fit, call) {
  model <- fit_part(fit, "model")
  chains <- fit_part(fit, "chains")
  old <- vapply(chains, function(chain) is_old_hash(chain$hash), NA)
  holds <- model_has_data(model) && is_old_hash(model$data_hash)
  known <- holds && identical(as_before(model_hash(model)), model$data_hash)
  if (any(old) && !known) {
    abort_unverified(
      "The draws of the fit", if (!holds) "draws were changed",
      "extend the fit by this version of gibbsite and save the result; or run
       again with the same seed, as {.fn update} does",
      call = call
    )
  }
}

# The fit with hashes of this version in place of those that rlang made. The
# caller has verified its draws, or compares them.
renew_fit <- function(fit) {
  fit <- current_fit(fit) %||% fit
  model <- renew_model(attr(fit, "model"))
  made <- made_draws(fit)
  attr(fit, "model") <- model
  attr(fit, "chains") <- Map(function(chain, draws) {
    if (is_old_hash(chain$hash)) {
      chain$hash <- hash_draws(draws, model$columns)
    }
    chain
  }, attr(fit, "chains"), made)
  fit
}

# The draws of each chain: list(shown, pending).
made_draws <- function(fit) {
  pending <- attr(fit, "pending", exact = TRUE)
  partial <- inherits(fit, "gibbsite_partial")
  lapply(seq_along(attr(fit, "chains")), function(k) {
    list(if (!partial) .subset2(fit, k), pending[[k]])
  })
}

has_hash <- function(draws, columns, hash) {
  own <- if (is_old_hash(hash)) {
    as_before(hash_draws(draws, columns))
  } else {
    hash_draws(draws, columns)
  }
  identical(own, hash)
}

# NULL, or a short description of the damage
find_damage <- function(fit) {
  part <- function(name) attr(fit, name, exact = TRUE)
  chains <- part("chains")
  running <- part("running")
  columns <- part("model")$columns
  if (!inherits(fit, "gibbsite_partial")) {
    if (length(fit) != length(chains)) {
      return(cli::pluralize(
        "it holds {length(fit)} chain{?s} where {length(chains)} ran"
      ))
    }
    if (!is.null(names(fit))) {
      return("its chains were given names")
    }
  }
  made <- made_draws(fit)
  for (k in seq_along(chains)) {
    damage <- find_chain_damage(made[[k]][[1L]], columns, running)
    if (!is.null(damage)) {
      return(paste("in chain", k, damage))
    }
    if (!has_hash(made[[k]], columns, chains[[k]]$hash)) {
      return(paste("in chain", k, "draws were changed"))
    }
    # a chain whose sweep is beyond its draws would never reach the next one
    drawn <- sum(vapply(made[[k]], NROW, 0L))
    if (drawn != draws_at(chains[[k]]$state$sweep, running)) {
      return(paste("chain", k, "stands at a sweep of other draws"))
    }
  }
  NULL
}

find_chain_damage <- function(x, columns, running) {
  if (is.null(x)) {
    return(NULL)
  }
  if (!is.matrix(x) || !is.numeric(x) || ncol(x) != length(columns)) {
    return("the matrix of draws was replaced")
  }
  if (!identical(colnames(x), columns)) {
    return("columns were renamed")
  }
  if (nrow(x) != running$draws ||
        !identical(as.numeric(attr(x, "mcpar")), true_sweeps(running))) {
    return("draws were added or taken away")
  }
  NULL
}

#' @section Whether two fits are the same to the last bit:
#' `identical_fit()` compares every bit of every draw, the states and random
#' number generators from which the chains would continue, draws that the fit
#' holds but does not show yet, the model with its data and prior, and the
#' running arguments. Only the record of how the fit was run is not compared:
#' the call, elapsed times, and the numbers of threads and processes, which
#' never change a draw.
#' @param a,b Fits made by one of the package's samplers.
#' @return `identical_fit()`: `TRUE` or `FALSE`.
#' @section Errors: `identical_fit()`: an error of class
#'   `gibbsite_error_argument` when `a` or `b` is not a fit;
#'   `gibbsite_error_old_hash` when one of them holds no data and was saved by
#'   an early version of gibbsite, so that it cannot be told whether the data
#'   are the same.
#' @seealso [extend()]
#' @examples
#' a <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                progress = FALSE)
#' b <- gibbs_gmm(faithful, 2, draws = 20, burnin = 50, chains = 2, seed = 1,
#'                progress = FALSE)
#' identical_fit(a, b)
#' identical_fit(a, extend(b, 30, progress = FALSE))
#' @rdname gibbsite_fit
#' @export
identical_fit <- function(a, b) {
  check_needed(a = "a fit", b = "a fit")
  check_fit(a, "a")
  check_fit(b, "b")
  comparable <- function(fit) {
    # the draws themselves are compared, whatever the hash
    fit <- renew_fit(fit)
    model <- model_comparable(fit_part(fit, "model"))
    # of several completed data sets
    if (!is.null(model$imputed)) {
      model$imputed$models <- lapply(model$imputed$models, model_comparable)
    }
    attr(fit, "model") <- model
    attr(fit, "run") <- NULL
    fit
  }
  a <- comparable(a)
  b <- comparable(b)
  # num.eq = FALSE: 0 and -0 differ.  Functions (user's starting values) are
  # compared by their code.
  same <- function(a, b) {
    identical(a, b, num.eq = FALSE, ignore.bytecode = TRUE,
              ignore.environment = TRUE, ignore.srcref = TRUE)
  }
  hashes <- c(attr(a, "model")$data_hash, attr(b, "model")$data_hash)
  attr(b, "model")$data_hash <- hashes[[1L]]
  if (!same(a, b)) {
    return(FALSE)
  }
  check_same_hash(hashes, rlang::current_env())
  hashes[[1L]] == hashes[[2L]]
}

# Hashes of data that the fits do not hold: one that rlang made equals no other
# kind, nor one of another version of rlang, even if the data are the same.
check_same_hash <- function(hashes, call) {
  old <- vapply(hashes, is_old_hash, NA)
  if (any(old) && length(unique(hashes)) > 1L) {
    abort_unverified(
      "Whether the data of the fits are the same", "the data differ",
      "extend the fits that hold no data, with their {.arg data}, by this
       version of gibbsite",
      call = call
    )
  }
}

# ---- The call ---------------------------------------------------------------

#' Fit again with changed arguments
#'
#' Evaluates the call of a fit again with arguments changed or added: a new run
#' from new starting values. To go on with the chains of a fit use [extend()].
#'
#' Variables of the call are looked up where `update()` is called. If the data
#' of a regression by formula are not found there, as those of a fit that a
#' function returned, they are the variables of the rows that the fit used. A
#' message says so if other data are found than those of the fit.
#'
#' @param object A fit.
#' @param ... Arguments of the call to change or to add; `NULL` removes one.
#' @param evaluate `TRUE` (default): evaluate the new call; `FALSE`: return it.
#' @return A new fit, or the call.
#' @section Errors: `gibbsite_error_state` when the fit holds no call; otherwise
#'   those of the function called.
#' @seealso [extend()] to go on with the chains, [compare()] for the fits side
#'   by side.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                  progress = FALSE)
#' update(fit, k = 3, evaluate = FALSE)
#' @importFrom stats update
#' @export
update.gibbsite_fit <- function(object, ..., evaluate = TRUE) {
  now <- current_fit(object)
  if (!is.null(now)) {
    return(eval(as.call(c(
      quote(stats::update), list(now), as.list(sys.call())[-(1:2)]
    )), parent.frame()))
  }
  call <- fit_part(object, "run")$call
  evaluate <- check_flag(evaluate)
  if (!is.call(call)) {
    abort_state(c(
      "The fit holds no call to evaluate again.",
      i = "One made by {.fn combine_fits} has a call for each run: update the
           fits that it was made of."
    ))
  }
  # k = 3 must replace a k that was given by position
  fun <- tryCatch(eval(call[[1]], parent.frame()), error = function(e) NULL)
  if (is.function(fun) && !all(nzchar(rlang::names2(call)[-1L]))) {
    call <- match.call(fun, call)
  }
  changes <- as.list(substitute(list(...)))[-1]
  check_changes(changes, rlang::current_env())
  call <- rlang::call_modify(call, !!!lapply(changes, function(change) {
    if (is.null(change)) rlang::zap() else change
  }))
  if (!evaluate) {
    return(call)
  }
  evaluate_again(call, parent.frame(), object, rlang::current_env())
}

check_changes <- function(changes, call) {
  if (any(rlang::names2(changes) == "")) {
    abort_argument(
      "Changes must have the names of arguments:
       {.code update(fit, data = d)}.",
      call = call
    )
  }
}

# `again`: the call of `fit`, with changes. If it fails, the error names what is
# not found, if something is not: this is asked afterwards, since it evaluates
# the data.
evaluate_again <- function(again, env, fit, call) {
  force(env)
  out <- withCallingHandlers(eval(again, env), error = function(cnd) {
    check_found_again(again, env, call)
  })
  say_other_data(fit, out, again)
  out
}

check_found_again <- function(again, env, call) {
  for (arg in rlang::names2(again)[-1L]) {
    given <- again[[arg]]
    shown <- deparse1(given)
    holds <- arg %in% data_arguments
    lost <- if (holds) {
      found <- tryCatch(eval(given, env), error = function(cnd) NULL)
      # where the data were an argument, a function may have its name
      is.null(found) || is.name(given) && is.function(found)
    } else {
      nzchar(arg) && is.name(given) && !exists(shown, envir = env)
    }
    if (lost) {
      what <- if (holds) "data" else "argument"
      abort_state(
        c("The {what} of the fit's call, {.code {arg} = {shown}},
           {if (holds) 'are' else 'is'} not found.",
          i = "Give {if (holds) 'them' else 'it'}:
               {.code update(fit, {arg} = )}."),
        call = call, class = "data"
      )
    }
    # of data in a call those variables alone are kept that its formula has
    lacking <- setdiff(all.vars(again$formula), c(".", names(given)))
    lacking <- Filter(function(name) !exists(name, envir = env), lacking)
    if (holds && is.data.frame(given) && length(lacking) > 0L) {
      abort_state(
        c("The call of the fit has the data themselves, of which it keeps the
           variables of its own formula, not {.val {lacking[[1L]]}}.",
          i = "Give them: {.code update(fit, {arg} = )}."),
        call = call, class = "data"
      )
    }
  }
}

# What a model holds of the observations; nothing of densities, whose data are
# not known.
observations_in <- function(model) {
  Filter(length, c(
    model$frame[c("x", "y")],
    model$data[c("x", "counts", "user", "item", "value", "word")]
  ))
}

# The names in the call of a fit that a function made may mean other objects
# where it is updated.
say_other_data <- function(fit, new, again) {
  old <- stats::getCall(fit)
  asked <- c(data_arguments, "formula", "subset", "weights", "na_action")
  if (!inherits(new, "gibbsite_fit") ||
        !identical(as.list(again)[asked], as.list(old)[asked])) {
    return(invisible())
  }
  model <- fit_part(fit, "model")
  other <- fit_part(new, "model")
  seen <- observations_in(model)
  if (length(seen) > 0L && !identical(seen, observations_in(other))) {
    arg <- intersect(data_arguments, names(again))
    arg <- if (length(arg) > 0L) arg[[1L]] else "data"
    shown <- deparse1(again[[arg]])
    inform_gibbsite(
      c("!" = "{.code {arg} = {shown}} is not what the fit was made with:
               {counted(other$nobs, 'observation')} in place of
               {counted(model$nobs, 'observation')}.",
        i = "{.code update(fit, {arg} = )} says which data are meant."),
      class = "other_data"
    )
  }
}

# A fit in one line, as in a column of fits.
#' @export
toString.gibbsite_fit <- function(x, ...) short_call(fit_part(x, "model"))

#' @importFrom stats getCall
#' @export
getCall.gibbsite_fit <- function(x, ...) {
  fit_part(x, "run")$call
}

#' @importFrom stats nobs
#' @export
nobs.gibbsite_fit <- function(object, ...) {
  fit_part(object, "model")$nobs
}

#' @section The prior of a fit:
#' `prior_summary()` returns the complete prior with which the model was fitted:
#' fields that were left `NULL` hold the values computed from the data.
#' @param object A fit.
#' @param ... Not used.
#' @return `prior_summary()`: the prior, an object of the kind that the model's
#'   prior constructor makes; it prints as mathematics.
#' @seealso [gmm_prior()], [lm_prior()], [hlm_prior()], [logistic_prior()],
#'   [bmf_prior], [lda_prior()]; [prior_predict()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                  progress = FALSE)
#' prior_summary(fit)
#' @rdname gibbsite_fit
#' @export
prior_summary.gibbsite_fit <- function(object, ...) {
  fit_part(object, "model")$prior
}

shown_draws <- function(fit) {
  if (inherits(fit, "gibbsite_partial")) 0 else attr(fit, "running")$draws
}
