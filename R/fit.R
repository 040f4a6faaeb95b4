# The fit: a list of coda::mcmc matrices, one a chain, with everything else in
# attributes of the list (never of the matrices):
#
#   model    the model, with or without its data
#   running  what determines the draws: draws, burnin, thin, chains, inits,
#            keep, seed, rng_kind, stop_when, keep_data
#   chains   where each chain stands: list(state, rng, hash), `hash` being that
#            of every draw the chain has made, shown or pending
#   pending  NULL, or one matrix a chain: draws ahead of the shortest chain
#   run      how it was run: call, elapsed, threads, cores, ...; the one part
#            that identical_fit() leaves out
#
# mcpar is c(burnin + thin, burnin + draws * thin, thin): the true sweeps, so
# that coda's gelman.diag() does not take burnt-in draws for a warm-up.


# Constructors -------------------------------------------------------------

# draws: one matrix (draws x columns) a chain, all of one length.  No draws at
# all make a partial fit.
new_fit <- function(draws, model, running, chains, pending = NULL,
                    run = list()) {
  draws <- lapply(draws, named_matrix, columns = model$columns)
  lengths <- vapply(draws, nrow, integer(1))
  stopifnot(length(lengths) >= 1, all(lengths == lengths[1]))
  if (lengths[1] == 0) {
    return(new_partial(model, running, chains, pending, run))
  }
  pending <- plain_pending(pending, model$columns)
  running$draws <- lengths[1]
  sweeps <- true_sweeps(running)
  structure(
    lapply(draws, as_mcmc_matrix, mcpar = sweeps),
    model = model,
    running = running,
    chains = hashed_chains(chains, draws, pending, model$columns),
    pending = pending,
    run = run,
    class = c(model$name, "gibbsite_fit", "mcmc.list")
  )
}

# A run that was stopped before every chain had a kept draw.
new_partial <- function(model, running, chains, pending = NULL, run = list()) {
  none <- lapply(chains, function(chain) named_matrix(NULL, model$columns))
  pending <- plain_pending(pending, model$columns)
  running$draws <- 0L
  structure(
    list(),
    model = model,
    running = running,
    chains = hashed_chains(chains, none, pending, model$columns),
    pending = pending,
    run = run,
    class = "gibbsite_partial"
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
  matrix(as.double(x), ncol = length(columns), dimnames = list(NULL, columns))
}

# No surplus at all is NULL, so that a run in one piece and a run in pieces
# give the same object.
plain_pending <- function(pending, columns) {
  if (is.null(pending) || all(lengths(pending) == 0)) {
    return(NULL)
  }
  lapply(pending, named_matrix, columns = columns)
}

hashed_chains <- function(chains, draws, pending, columns) {
  stopifnot(length(chains) == length(draws))
  lapply(seq_along(chains), function(k) {
    made <- list(draws[[k]], pending[[k]])
    list(
      state = chains[[k]]$state, rng = chains[[k]]$rng,
      hash = chains[[k]]$hash %||% hash_draws(made, columns)
    )
  })
}

# Hash of one chain's draws, in one matrix or a list of them: where they are cut
# plays no part.  The names of the columns are part of it.
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


# Parts --------------------------------------------------------------------

# Every method begins with one of these: a class can be written on anything.
fit_part <- function(x, part, arg = rlang::caller_arg(x),
                     call = rlang::caller_env()) {
  check_whole_fit(x, arg, call)
  attr(x, part, exact = TRUE)
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

check_whole_fit <- function(x, arg, call, draws = TRUE) {
  lacking <- fit_fault(x, draws)
  if (!is.null(lacking)) {
    abort_argument(
      c("{.arg {arg}} has the class of a fit, but has {lacking}.",
        i = "Functions such as {.fn gibbs_gmm} make fits."),
      call = call, class = "forged"
    )
  }
  x
}

# NULL, or what a fit needs and this one has not, in words.  Other draws may
# have been put into it, if they are of the same quantities; without `draws`
# these are left to verify_fit().
fit_fault <- function(x, draws = TRUE) {
  part <- function(name) attr(x, name, exact = TRUE)
  model <- part("model")
  if (!is.list(model) || !inherits(model, "gibbsite_model") ||
        !is.character(model$columns) || !is_plain_string(model$name)) {
    return("no model")
  }
  running <- part("running")
  numbers <- c("draws", "burnin", "thin", "chains")
  if (!is.list(running) ||
        !all(vapply(numbers, function(n) is_plain_number(running[[n]]), NA))) {
    return("no running arguments")
  }
  chains <- part("chains")
  sound <- is.list(chains) && length(chains) > 0L &&
    all(vapply(chains, is_chain_record, NA))
  if (!sound || !is.list(part("run"))) {
    return("no states of its chains")
  }
  if (inherits(x, "gibbsite_partial")) {
    return(NULL)
  }
  if (!model$name %in% class(x)) {
    return("the model of another function")
  }
  shown <- unclass(x)
  if (!is.list(shown) || length(shown) == 0L) {
    return("no draws")
  }
  width <- length(model$columns)
  whole <- vapply(shown, is_matrix_of, NA, width, NROW(shown[[1L]]))
  if (draws && !all(whole)) "no draws of its quantities"
}

is_chain_record <- function(chain) {
  is.list(chain) && is.list(chain$state) &&
    is_plain_number(chain$state$sweep) && is.integer(chain$rng)
}

is_matrix_of <- function(x, columns, rows) {
  is.matrix(x) && is.numeric(x) && ncol(x) == columns && nrow(x) == rows &&
    rows > 0L
}

# `arg`: the argument that can take their place, or NULL where none can.
abort_no_data <- function(arg, call) {
  abort_argument(
    c(
      if (is.null(arg)) {
        "This needs the data, which the fit does not hold."
      } else {
        "{.arg {arg}} is needed: the fit does not hold its data."
      },
      i = "It was made with {.code keep_data = FALSE} or {.fn drop_data}.",
      i = if (is.null(arg)) {
        "Give them back with {.code extend(fit, 1, data = )}, or use a fit that
         holds them."
      }
    ),
    call = call
  )
}

# Nothing may be left over for `...`: a misspelt argument must not pass unseen.
check_no_more <- function(..., call = rlang::caller_env()) {
  if (...length() > 0) {
    names <- names(substitute(list(...)))[-1]
    named <- names[nzchar(names)]
    abort_argument(
      if (length(named) > 0) {
        "There is no argument {.arg {named[1]}}."
      } else {
        "There are more arguments than expected."
      },
      call = call
    )
  }
}

# one plain matrix a chain
chain_matrices <- function(x, arg = rlang::caller_arg(x),
                           call = rlang::caller_env()) {
  check_whole_fit(x, arg, call)
  lapply(seq_along(x), function(k) {
    m <- .subset2(x, k)
    named_matrix(m, colnames(m))
  })
}

# Draws can be changed by hand while the states stay what they were: such a fit
# must not be continued.
verify_fit <- function(fit, call = rlang::caller_env()) {
  damage <- find_damage(fit)
  if (!is.null(damage)) {
    abort_state(
      c("The fit is no longer what the sampler returned: {damage}.",
        x = "Its chains cannot be continued from there.",
        i = "Change a copy made by {.fn as.mcmc.list}; keep the fit itself."),
      call = call
    )
  }
  invisible(fit)
}

# NULL, or what is wrong in a few words
find_damage <- function(fit) {
  part <- function(name) attr(fit, name, exact = TRUE)
  chains <- part("chains")
  running <- part("running")
  columns <- part("model")$columns
  if (inherits(fit, "gibbsite_partial")) {
    shown <- vector("list", length(chains))
  } else {
    shown <- unclass(fit)
    if (length(shown) != length(chains)) {
      return(cli::pluralize(
        "it holds {length(shown)} chain{?s} where {length(chains)} ran"
      ))
    }
    if (!is.null(names(fit))) {
      return("its chains were given names")
    }
  }
  for (k in seq_along(chains)) {
    damage <- find_chain_damage(shown[[k]], columns, running)
    if (!is.null(damage)) {
      return(paste("in chain", k, damage))
    }
    made <- list(shown[[k]], part("pending")[[k]])
    if (!identical(hash_draws(made, columns), chains[[k]]$hash)) {
      return(paste("in chain", k, "draws were changed"))
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

#' Whether two fits are the same to the last bit
#'
#' Compares everything that makes a fit: every bit of every draw, the states
#' and generators from which the chains would go on, draws waiting to be shown,
#' the model with its data and prior, and the running arguments. Only the
#' record of how the fit was run is left out: the call, elapsed times, and the
#' numbers of threads and processes, which never change a draw.
#'
#' @param a,b Fits made by one of the package's samplers.
#' @return `TRUE` or `FALSE`.
#' @section Errors: An error of class `gibbsite_error_argument` when `a` or `b`
#'   is not a fit.
#' @seealso [extend()]
#' @examples
#' a <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                progress = FALSE)
#' b <- gibbs_gmm(faithful, 2, draws = 20, burnin = 50, chains = 2, seed = 1,
#'                progress = FALSE)
#' identical_fit(a, b)
#' identical_fit(a, extend(b, 30, progress = FALSE))
#' @export
identical_fit <- function(a, b) {
  check_needed(a = "a fit", b = "a fit")
  check_fit(a, "a")
  check_fit(b, "b")
  comparable <- function(fit) {
    attr(fit, "model") <- model_comparable(fit_part(fit, "model"))
    attr(fit, "run") <- NULL
    fit
  }
  a <- comparable(a)
  b <- comparable(b)
  # num.eq = FALSE: 0 and -0 differ.  Functions (user's starting values) are
  # compared by their code.
  identical(a, b, num.eq = FALSE, ignore.bytecode = TRUE,
            ignore.environment = TRUE, ignore.srcref = TRUE)
}


#' What a fit is and what it answers
#'
#' Every sampler returns an object of class `gibbsite_fit`, which is also a
#' [coda::mcmc.list]: a list of matrices, one a chain, with one row a kept draw
#' and one column a stored quantity. coda, bayesplot and posterior take it as it
#' is.
#'
#' Columns are named `mu[1,2]`: block, then subscripts counted from 1. The
#' blocks, and what the subscripts mean, stand on the sampler's page;
#' [tidy()][tidy.gibbsite_fit] puts names in the data in their place.
#'
#' @section What to type:
#' * To look: `print()`, [summary()][summary.gibbsite_fit],
#'   [plot()][plot.gibbsite_fit], [tidy()][tidy.gibbsite_fit],
#'   [glance()][tidy.gibbsite_fit].
#' * To judge: [converged()], [convergence()].
#' * To go on: [extend()], [resume()], [combine_fits()] or `c()`, and
#'   [update()][update.gibbsite_fit] to fit anew.
#' * To take the draws: [draws_of()];
#'   [as.data.frame()][as.data.frame.gibbsite_fit], `as.matrix()`,
#'   `as.array()`; [posterior::as_draws()] and its kin;
#'   [as.mcmc.list()][coda-methods], `window()`, `fit[i, j]`.
#' * To ask for its parts: [prior_summary()][prior_summary.gibbsite_fit],
#'   `nobs()`, `variables()`, `ndraws()`, `nchains()`, `niterations()`.
#' * To compare: [identical_fit()]. To make it smaller: [drop_data()].
#'
#' A run that was interrupted before every chain had a draw returns an object of
#' class `gibbsite_partial`, which prints and can be given to [extend()].
#'
#' @name gibbsite_fit
#' @aliases gibbsite_partial
#' @seealso [running] for the arguments that all samplers share.
NULL


# As a coda object ---------------------------------------------------------

#' Fits as coda objects
#'
#' A fit *is* a [coda::mcmc.list]: a list of [coda::mcmc] matrices, one a chain,
#' with one row a kept draw and one column a stored quantity. Functions of coda,
#' bayesplot and posterior take it as it is. The methods below give plain coda
#' objects, without the model and the states that a fit carries beside its
#' draws.
#'
#' Row `r` of a chain is the state after sweep `burnin + r * thin`, and
#' [coda::mcpar()] says so; hence `window(fit, start = )` counts sweeps while
#' `fit[i, j]` counts draws.
#'
#' A plain `mcmc.list` cannot be continued by [extend()].
#'
#' @param x A fit.
#' @param i With one index, `x[i]`: which chains. With two, `x[i, j]`: which
#'   draws, increasing and evenly spaced, because coda's objects know only
#'   evenly spaced draws.
#' @param j Which columns: names, numbers or a logical vector.
#' @param drop `FALSE` (default) keeps matrices, also of one column; `TRUE`
#'   gives vectors for one column, as coda does.
#' @param start,end,thin For `window()`, in sweeps: the first and the last, and
#'   the steps (a multiple of the fit's own `thin`).
#' @param ... Not used.
#' @return A plain `mcmc.list`; [coda::as.mcmc()] gives the [coda::mcmc] matrix
#'   of a fit with one chain.
#' @section Errors: An error of class `gibbsite_error_argument` for chains,
#'   draws or columns that are not there, for draws that are not evenly spaced,
#'   and from [coda::as.mcmc()] when there are several chains.
#' @seealso [draws_of()], [as.data.frame.gibbsite_fit()]
#' @name coda-methods
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' coda::effectiveSize(fit[, "log_lik"])
#' coda::mcpar(window(fit, start = 201)[[1]])
#' summary(as.mcmc.list(fit)[, c("pi[1]", "pi[2]")])$statistics
NULL

#' @rdname coda-methods
#' @method as.mcmc.list gibbsite_fit
#' @export
as.mcmc.list.gibbsite_fit <- function(x, ...) {
  check_whole_fit(x, "x", rlang::current_env())
  structure(lapply(seq_along(x), function(k) .subset2(x, k)),
            class = "mcmc.list")
}

#' @rdname coda-methods
#' @method as.mcmc gibbsite_fit
#' @rawNamespace S3method(coda::as.mcmc, gibbsite_fit)
as.mcmc.gibbsite_fit <- function(x, ...) {
  check_whole_fit(x, "x", rlang::current_env())
  if (length(x) != 1) {
    abort_argument(c(
      "{.arg x} must have one chain, not {length(x)}.",
      i = "Use {.fn as.mcmc.list}, or {.code x[[1]]} for one chain of them."
    ))
  }
  .subset2(x, 1)
}

#' @rdname coda-methods
#' @importFrom stats window
#' @export
window.gibbsite_fit <- function(x, start = NULL, end = NULL, thin = NULL,
                                ...) {
  check_no_more(...)
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  sweeps <- attr(.subset2(x, 1), "mcpar")
  within <- function(value, arg) {
    check_number(
      value, lower = sweeps[1], upper = sweeps[2], null_ok = TRUE, arg = arg,
      call = call
    )
  }
  start <- within(start, "start") %||% sweeps[1]
  end <- within(end, "end") %||% sweeps[2]
  thin <- check_count(thin, null_ok = TRUE) %||% sweeps[3]
  if (thin %% sweeps[3] > 0) {
    abort_argument(c(
      "{.arg thin} must be a multiple of {sweeps[3]}, not {thin}.",
      i = "The draws are {sweeps[3]} sweep{?s} apart."
    ))
  }
  # the draws at or after `start` and at or before `end`
  first <- ceiling((start - sweeps[1]) / sweeps[3]) + 1
  last <- floor((end - sweeps[1]) / sweeps[3]) + 1
  if (first > last) {
    abort_argument(
      "There is no draw between sweeps {start} ({.arg start}) and {end}
       ({.arg end})."
    )
  }
  x[seq(first, last, by = thin / sweeps[3]), ]
}

#' @rdname coda-methods
#' @export
`[.gibbsite_fit` <- function(x, i, j, drop = FALSE) {
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  one_index <- nargs() - (!missing(drop)) < 3
  if (one_index) {
    chains <- if (missing(i)) seq_along(x) else i
    return(as.mcmc.list(x)[pick(chains, length(x), "chain", call = call)])
  }
  n <- nrow(.subset2(x, 1))
  columns <- colnames(.subset2(x, 1))
  rows <- if (missing(i)) seq_len(n) else pick(i, n, "draw", call = call)
  cols <- if (missing(j)) {
    seq_along(columns)
  } else {
    pick(j, length(columns), "column", columns, call)
  }
  step <- even_step(rows, call)
  from <- attr(.subset2(x, 1), "mcpar")
  first <- from[1] + (rows[1] - 1) * from[3]
  thin <- step * from[3]
  sweeps <- c(first, first + (length(rows) - 1) * thin, thin)
  picked <- lapply(chain_matrices(x), function(m) {
    as_mcmc_matrix(m[rows, cols, drop = isTRUE(drop)], sweeps)
  })
  structure(picked, class = "mcmc.list")
}

# Positions out of an index of any kind, with an error for what is not there.
pick <- function(index, n, what, names = NULL, call) {
  chosen <- index_positions(index, n, what, names, call)
  missing <- which(is.na(chosen))
  if (length(missing) > 0) {
    if (!is.character(index) && !is.numeric(index)) {
      given <- describe(index)
      abort_argument(
        "A {what} must be chosen by number, by name or by a logical value for
         each, not by {given}.",
        call = call
      )
    }
    bad <- index[[missing[[1]]]]
    hint <- if (is.null(names)) {
      cli::pluralize("It has {n} ", what, "{?s}.")
    } else {
      "See `variables(fit)`."
    }
    abort_argument(
      c("There is no {what} {.val {bad}} in this fit.", i = "{hint}"),
      call = call
    )
  }
  if (length(chosen) == 0) {
    abort_argument("At least one {what} must be chosen.", call = call)
  }
  if (anyDuplicated(chosen)) {
    twice <- chosen[duplicated(chosen)][[1]]
    abort_argument(
      "Each {what} can be chosen once: {.val {twice}} is there twice.",
      call = call
    )
  }
  chosen
}

# NA where the index names nothing.  Nothing is recycled or cut to a whole
# number, and negative numbers leave out.
index_positions <- function(index, n, what, names, call) {
  if (length(index) > max(n, 1) && !is.object(index) && is.numeric(index)) {
    abort_argument(
      "Each {what} can be chosen once: there are {format_number(n)}, not
       {format_number(length(index))}.",
      call = call
    )
  }
  if (is.logical(index)) {
    if (length(index) != n) {
      abort_argument(
        "A logical index must have a value for each {what} ({n}), not
         {length(index)}.",
        call = call
      )
    }
    return(if (anyNA(index)) NA else which(index))
  }
  if (is.character(index)) {
    return(match(index, names))
  }
  if (!is.numeric(index) || is.object(index)) {
    return(NA)
  }
  if (length(index) > 0 && all(index %in% -seq_len(n))) {
    return(setdiff(seq_len(n), -index))
  }
  match(index, seq_len(n))
}

even_step <- function(rows, call) {
  steps <- unique(diff(rows))
  if (length(steps) == 0) {
    return(1)
  }
  if (length(steps) > 1 || steps[1] < 1) {
    abort_argument(
      c("Draws must be chosen in increasing order and evenly spaced.",
        i = "Use {.fn as.matrix} or {.fn as.data.frame} for other choices."),
      call = call
    )
  }
  steps
}


# Draws in other shapes ----------------------------------------------------

#' Draws as a matrix, an array or a data frame
#'
#' `as.matrix()` stacks the chains one below the other; `as.array()` gives
#' draws x chains x variables, the shape that bayesplot and posterior use;
#' `as.data.frame()` gives one row a draw with the columns `chain` and `draw`
#' in front, ready for a plot by chain.
#'
#' For the formats of the posterior package see [posterior::as_draws()], whose
#' functions take a fit as it is.
#'
#' @param x A fit.
#' @param row.names,optional As in [as.data.frame()]; `optional` is not used:
#'   names of columns are never altered.
#' @param index `TRUE` (default): put `chain` (its number) and `draw` (the
#'   number of the kept draw within the chain, from 1) in front of the
#'   variables. `FALSE`: variables only, in the order of `as.matrix()`.
#' @param ... For `as.matrix()`, `iters` and `chains` as in coda; otherwise not
#'   used.
#' @return A matrix, a three-dimensional array or a data frame.
#' @section Errors: `as.data.frame(index = TRUE)` raises an error of class
#'   `gibbsite_error_argument` when a variable is itself named `chain` or
#'   `draw`.
#' @seealso [draws_of()] for one block with its dimensions.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' dim(as.array(fit))
#' head(as.data.frame(fit)[, c("chain", "draw", "log_lik")])
#' @export
as.data.frame.gibbsite_fit <- function(x, row.names = NULL, optional = FALSE,
                                       ..., index = TRUE) {
  index <- check_flag(index)
  draws <- do.call(rbind, chain_matrices(x))
  out <- as.data.frame(draws, row.names = row.names, optional = TRUE)
  if (!index) {
    return(out)
  }
  taken <- intersect(c("chain", "draw"), names(out))
  if (length(taken) > 0) {
    abort_argument(c(
      "A variable of this fit is named {.val {taken[1]}}.",
      i = "Use {.code index = FALSE} for the variables alone."
    ))
  }
  n <- nrow(.subset2(x, 1))
  place <- data.frame(
    chain = rep(seq_along(x), each = n),
    draw = rep(seq_len(n), times = length(x)),
    row.names = row.names
  )
  cbind(place, out)
}

#' @rdname as.data.frame.gibbsite_fit
#' @export
as.matrix.gibbsite_fit <- function(x, ...) {
  as.matrix(as.mcmc.list(x), ...)
}

#' @rdname as.data.frame.gibbsite_fit
#' @export
as.array.gibbsite_fit <- function(x, ...) {
  stack_chains(chain_matrices(x))
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

#' The draws of one block of parameters
#'
#' `draws_of(fit, "mu")` gathers the columns `mu[1,1]`, `mu[2,1]`, ... into an
#' array with the block's own dimensions.
#'
#' The posterior package has a function of the same name for its random
#' variables (`rvar`). The default method here hands those on to it, so that
#' `draws_of(rvar)` works whichever package was attached last; write
#' `gibbsite::draws_of(fit, "mu")` where posterior was attached after gibbsite.
#'
#' @param x A fit.
#' @param block Name of a block, such as `"mu"`, or of a single column, such as
#'   `"log_lik"` or `"mu[1,2]"`.
#' @param ... Passed to methods.
#' @return An array: draws x chains x the dimensions of the block. A scalar
#'   gives a matrix, draws x chains.
#' @section Errors: An error of class `gibbsite_error_argument` when the fit has
#'   no such block, or only some of its elements.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' dim(draws_of(fit, "mu"))
#' apply(draws_of(fit, "Sigma"), c(3, 4, 5), mean)
#' @export
draws_of <- function(x, ...) {
  check_needed(x = "a fit")
  UseMethod("draws_of")
}

#' @rdname draws_of
#' @export
draws_of.default <- function(x, ...) {
  if (!posterior::is_rvar(x)) {
    check_fit(x, arg = "x")
  }
  posterior::draws_of(x, ...)
}

#' @rdname draws_of
#' @export
draws_of.gibbsite_fit <- function(x, block, ...) {
  check_no_more(...)
  if (missing(block)) {
    abort_argument(c(
      "{.arg block} is needed: which block of parameters.",
      i = "This fit has {.val {block_names(variables(x))}}."
    ))
  }
  block <- check_string(block)
  draws <- as.array(x)
  columns <- dimnames(draws)$variable
  size <- dim(draws)[1:2]
  if (block %in% columns) {
    return(array(draws[, , block], size))
  }
  place <- block_places(columns, block)
  if (is.null(place)) {
    one_of <- or_words(quoted(block_names(columns)))
    abort_argument("{.arg block} must be {one_of}, not {.val {block}}.")
  }
  shape <- apply(place$index, 2, max)
  stride <- c(1, cumprod(shape))[seq_along(shape)]
  where <- 1 + drop((place$index - 1) %*% stride)
  if (length(where) != prod(shape) || anyDuplicated(where)) {
    abort_argument(c(
      "This fit has only some elements of {.val {block}}.",
      i = "Ask for single columns, such as {.val {columns[place$column[1]]}}."
    ))
  }
  array(draws[, , place$column[order(where)]], c(size, unname(shape)))
}

block_names <- function(columns) unique(sub("\\[[0-9,]+\\]$", "", columns))

# Columns of a block and their subscripts: "mu[1,2]" -> 1, 2.  NULL: no such
# block.
block_places <- function(columns, block) {
  head <- paste0(block, "[")
  column <- which(startsWith(columns, head) &
                    grepl("\\[[0-9]+(,[0-9]+)*\\]$", columns))
  inside <- substring(columns[column], nchar(head) + 1,
                      nchar(columns[column]) - 1)
  # a name such as "poly(x)[1][2]" belongs to the block "poly(x)[1]"
  column <- column[!grepl("[", inside, fixed = TRUE)]
  inside <- inside[!grepl("[", inside, fixed = TRUE)]
  if (length(column) == 0) {
    return(NULL)
  }
  subscripts <- lapply(strsplit(inside, ",", fixed = TRUE), as.numeric)
  if (length(unique(lengths(subscripts))) > 1) {
    return(NULL)
  }
  list(column = column, index = do.call(rbind, subscripts))
}

#' @export
as_draws.gibbsite_fit <- function(x, ...) {
  posterior::as_draws_array(x, ...)
}

#' @export
ndraws.gibbsite_fit <- function(x) {
  check_whole_fit(x, "x", rlang::current_env())
  length(x) * nrow(.subset2(x, 1))
}

#' @export
nchains.gibbsite_fit <- function(x) {
  check_whole_fit(x, "x", rlang::current_env())
  length(x)
}

#' @export
niterations.gibbsite_fit <- function(x) {
  check_whole_fit(x, "x", rlang::current_env())
  nrow(.subset2(x, 1))
}

#' @export
variables.gibbsite_fit <- function(x, ...) {
  check_whole_fit(x, "x", rlang::current_env())
  colnames(.subset2(x, 1))
}


# The model's parts --------------------------------------------------------

#' @importFrom stats nobs
#' @export
nobs.gibbsite_fit <- function(object, ...) {
  fit_part(object, "model")$nobs
}

#' The prior of a fit
#'
#' The prior with which the model was fitted, complete: fields that were left
#' open hold the values that the data gave them.
#'
#' @param object A fit.
#' @param ... Not used.
#' @return The prior, an object of the kind that the model's prior constructor
#'   makes; it prints as mathematics.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                  progress = FALSE)
#' prior_summary(fit)
#' @export
prior_summary.gibbsite_fit <- function(object, ...) {
  fit_part(object, "model")$prior
}

#' Drop the data from a fit
#'
#' A fit carries the data, so that it can be continued and predicted from
#' alone. `drop_data()` takes them out, to save space or to keep them private;
#' [extend()] then needs them again, and compares them by a hash. The result is
#' what `keep_data = FALSE` gives.
#'
#' @param fit A fit.
#' @return The fit without its data.
#' @section Errors: An error of class `gibbsite_error_argument` when `fit` is
#'   not a fit.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                  progress = FALSE)
#' small <- drop_data(fit)
#' longer <- extend(small, 50, data = faithful, progress = FALSE)
#' @export
drop_data <- function(fit) {
  check_needed(fit = "a fit")
  check_fit(fit, "fit")
  attr(fit, "model") <- model_without_data(fit_part(fit, "model"))
  attr(fit, "running")$keep_data <- FALSE
  fit
}


# Going on -----------------------------------------------------------------

#' Continue a fit
#'
#' Runs every chain on from where it stands. The result is the same, bit for
#' bit, as one run of the whole length: `extend(f(draws = 200), 300)` is
#' [identical_fit()] to `f(draws = 500)`, also in another session, after
#' [saveRDS()], and with other numbers of threads and processes.
#'
#' `extend()` continues the chains of a fit; [update()] forgets them and fits
#' anew, by the call of the fit with arguments changed; [resume()] takes up a
#' run from its checkpoint.
#'
#' @param object A fit, or what an interrupted run returned.
#' @param draws Whole number, at least 1: how many more draws to keep in each
#'   chain. Draws that faster chains of an interrupted run have made already
#'   are used first.
#' @param data The data, when the fit was made with `keep_data = FALSE` or went
#'   through [drop_data()]; they must be those of the fit. `NULL` (default) when
#'   the fit holds them.
#' @param log_density The log density, in the same way, of a fit made by
#'   [mh_sample()]: needed after `keep_data = FALSE`, and where it is compiled
#'   code at an address of another session. Also that of a corrected fit made by
#'   [laplace()].
#' @param threads,cores,checkpoint,stop_when,progress As in [running];
#'   `threads = NULL` (default) takes what the fit was run with. None but
#'   `stop_when` changes a draw.
#' @param ... Passed to methods.
#' @return The longer fit.
#' @section Errors: `gibbsite_error_argument` for arguments out of range and for
#'   data that are missing or differ from those of the fit;
#'   `gibbsite_error_state` when draws of the fit were changed by hand, so that
#'   they no longer belong to the states of its chains.
#' @seealso [combine_fits()], [identical_fit()]
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' longer <- extend(fit, 100, progress = FALSE)
#' posterior::niterations(longer)
#' @export
extend <- function(object, ...) {
  check_needed(object = "a fit")
  UseMethod("extend")
}

#' @rdname extend
#' @export
extend.gibbsite_fit <- function(object, draws, data = NULL, threads = NULL,
                                cores = getOption("mc.cores", 1L),
                                checkpoint = NULL, stop_when = NULL,
                                progress = interactive(), log_density = NULL,
                                ...) {
  call <- rlang::current_env()
  check_no_more(...)
  if (missing(draws)) {
    abort_argument(
      "{.arg draws} is needed: how many more draws to keep in each chain."
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
  verify_fit(object, call = call)
  model <- fit_part(object, "model")
  bare <- !model_has_data(model)
  data <- given_data(model, data, log_density, call)
  object <- attach_data(object, data, call = call)
  longer <- continue_chains(object, draws, settings, stop_when, call)
  if (bare) drop_data(longer) else longer
}

#' @rdname extend
#' @export
extend.gibbsite_partial <- extend.gibbsite_fit

#' @export
extend.default <- function(object, ...) {
  check_fit(object)
}

# The fit with its data, the user's being taken only if they are the same.
attach_data <- function(fit, data, call) {
  model <- fit_part(fit, "model")
  if (is.null(data)) {
    if (!model_has_data(model)) {
      what <- data_words(model)
      abort_argument(
        c("{.arg {what$arg}} is needed: the fit was made without keeping
           {what$them}.",
          i = what$hint),
        call = call
      )
    }
    return(fit)
  }
  attr(fit, "model") <- check_same_data(model, data, call)
  fit
}

#' Unite the chains of several runs
#'
#' Puts the chains of runs of the same model on the same data, made with
#' different seeds on one machine or several, into one fit. The result is a fit
#' like any other and can be continued with [extend()]. `c()` does the same.
#'
#' @param ... Two or more fits with the same model, data, prior, `burnin`,
#'   `thin`, `keep` and number of draws; or one list of them.
#' @return One fit with the chains of all, in the order given. Its seed is the
#'   vector of the runs' seeds.
#' @section Errors: `gibbsite_error_argument` when the fits do not match, naming
#'   the first difference; `gibbsite_error_state` when chains share a stream of
#'   random numbers (the same seed, generator or draws), for such chains are
#'   copies and not evidence, and when draws were changed by hand.
#' @examples
#' one <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 1,
#'                  seed = 1, progress = FALSE)
#' two <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 1,
#'                  seed = 2, progress = FALSE)
#' posterior::nchains(combine_fits(one, two))
#' @export
combine_fits <- function(...) {
  call <- rlang::current_env()
  fits <- list(...)
  if (length(fits) == 1 && !is_fit(fits[[1]]) && is.list(fits[[1]])) {
    fits <- fits[[1]]
  }
  unite_fits(unname(fits), call)
}

#' @rdname combine_fits
#' @export
c.gibbsite_fit <- function(...) {
  unite_fits(unname(list(...)), rlang::current_env())
}

unite_fits <- function(fits, call) {
  for (k in seq_along(fits)) {
    if (!inherits(fits[[k]], "gibbsite_fit")) {
      given <- describe(fits[[k]])
      abort_argument(
        "Argument {k} must be a fit with draws, not {given}.",
        call = call
      )
    }
  }
  for (k in seq_along(fits)) {
    check_whole_fit(fits[[k]], paste("fit", k), call, draws = FALSE)
  }
  if (length(fits) < 2) {
    abort_argument("There must be two or more fits, not {length(fits)}.",
                   call = call)
  }
  for (fit in fits) {
    verify_fit(fit, call = call)
  }
  check_same_runs(fits, call)
  check_streams(fits, call)
  each <- function(part) lapply(fits, fit_part, part)
  chains <- do.call(c, each("chains"))
  new_fit(
    do.call(c, lapply(fits, chain_matrices)),
    model = united_model(each("model")),
    running = united_running(each("running")),
    chains = chains,
    pending = united_pending(fits),
    run = united_run(each("run"))
  )
}

# The first difference between runs that must be alike is an error.
check_same_runs <- function(fits, call) {
  bare <- function(fit) {
    model <- model_comparable(fit_part(fit, "model"))
    running <- fit_part(fit, "running")
    list(
      "model" = class(fit)[1],
      "specification" = model[
        setdiff(
          names(model), c("data", "data_hash", "prior", "columns", "frame")
        )
      ],
      "stored quantities" = model$columns,
      "prior" = model$prior,
      "data" = model$data_hash,
      "burnin" = as.numeric(running$burnin),
      "thin" = as.numeric(running$thin),
      "number of draws" = as.numeric(running$draws),
      "keep" = running$keep,
      "kind of generator" = running$rng_kind
    )
  }
  first <- bare(fits[[1]])
  for (k in seq_along(fits)[-1]) {
    other <- bare(fits[[k]])
    same <- mapply(identical, first, other,
                   MoreArgs = list(ignore.environment = TRUE))
    if (!all(same)) {
      what <- names(first)[!same][1]
      abort_argument(
        c("Fits 1 and {k} cannot be united: they differ in {what}.",
          i = if (what == "number of draws") {
            "Bring them to one length with {.fn extend} first."
          }),
        call = call
      )
    }
  }
}

# Two chains with one stream are one chain written twice.
check_streams <- function(fits, call) {
  run <- rep(seq_along(fits), lengths(fits))
  chain <- sequence(lengths(fits))
  within <- function(values) {
    twice <- which(duplicated(values))
    if (length(twice) > 0) {
      again <- twice[1]
      first <- match(values[again], values)
      abort_state(
        c("Chain {chain[first]} of fit {run[first]} and chain {chain[again]}
           of fit {run[again]} ran on the same stream of random numbers.",
          x = "Such chains are copies of each other.",
          i = "Run the fits with different seeds."),
        call = call, class = "streams"
      )
    }
  }
  chains <- do.call(c, lapply(fits, fit_part, "chains"))
  within(lapply(chains, sampler_stream))
  within(vapply(chains, `[[`, character(1), "hash"))
  within(vapply(do.call(c, lapply(fits, chain_matrices)),
                function(x) hash_draws(list(x)), character(1)))
  # A seed that occurs twice gives both fits the same chain 1, even when other
  # starting values hide it.
  seeds <- lapply(fits, function(fit) fit_part(fit, "running")$seed)
  seed <- unlist(seeds)
  if (anyDuplicated(seed)) {
    value <- seed[duplicated(seed)][1]
    holders <- which(vapply(seeds, function(s) value %in% s, logical(1)))
    abort_state(
      c("Fits {.val {holders}} were made with the same seed, {value}.",
        x = "Their chains ran on the same streams of random numbers.",
        i = "Run the fits with different seeds."),
      call = call, class = "streams"
    )
  }
}

united_model <- function(models) {
  kept <- vapply(models, model_has_data, logical(1))
  models[[if (any(kept)) which(kept)[1] else 1]]
}

united_running <- function(runs) {
  out <- runs[[1]]
  each <- function(name) lapply(runs, `[[`, name)
  inits <- do.call(c, lapply(runs, function(run) {
    if (is.list(run$inits)) run$inits else rep(list(run$inits), run$chains)
  }))
  none <- all(vapply(inits, is.null, logical(1)))
  out["inits"] <- list(if (none) NULL else inits)
  out$chains <- sum(unlist(each("chains")))
  out$seed <- unlist(each("seed"))
  same_rule <- length(unique(each("stop_when"))) == 1
  out["stop_when"] <- list(if (same_rule) runs[[1]]$stop_when)
  out$keep_data <- any(unlist(each("keep_data")))
  out
}

united_pending <- function(fits) {
  each <- lapply(fits, function(fit) {
    pending <- fit_part(fit, "pending")
    if (is.null(pending)) vector("list", length(fit)) else pending
  })
  do.call(c, each)
}

united_run <- function(runs) {
  out <- runs[[1]]
  out["call"] <- list(NULL)
  elapsed <- lapply(runs, `[[`, "elapsed")
  out$elapsed <- list(
    total = sum(unlist(lapply(elapsed, `[[`, "total"))),
    chains = unlist(lapply(elapsed, `[[`, "chains"))
  )
  out
}

#' Fit again with changed arguments
#'
#' Evaluates the call of a fit again with arguments changed or added: a new run
#' from new starting values. To go on with the chains of a fit use [extend()].
#'
#' @param object A fit.
#' @param ... Arguments of the call to change or to add; `NULL` removes one.
#' @param evaluate `TRUE` (default): evaluate the new call; `FALSE`: return it.
#' @return A new fit, or the call.
#' @section Errors: `gibbsite_error_state` when the fit holds no call; otherwise
#'   those of the function called.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1,
#'                  progress = FALSE)
#' update(fit, k = 3, evaluate = FALSE)
#' @importFrom stats update
#' @export
update.gibbsite_fit <- function(object, ..., evaluate = TRUE) {
  call <- stats::getCall(object)
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
  if (is.function(fun)) {
    call <- match.call(fun, call)
  }
  changes <- as.list(substitute(list(...)))[-1]
  call <- rlang::call_modify(call, !!!lapply(changes, function(change) {
    if (is.null(change)) rlang::zap() else change
  }))
  if (evaluate) eval(call, parent.frame()) else call
}

#' @importFrom stats getCall
#' @export
getCall.gibbsite_fit <- function(x, ...) {
  fit_part(x, "run")$call
}
