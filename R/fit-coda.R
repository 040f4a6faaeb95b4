# The fit as a coda object: parts and plain mcmc.lists.

#' Fits and their methods
#'
#' Every sampler returns an object of class `gibbsite_fit`, which is also a
#' [coda::mcmc.list]: a list of matrices, one for each chain, with one row for
#' each kept draw and one column for each stored quantity. coda, bayesplot and
#' posterior accept it.
#'
#' Columns are named `mu[1,2]`: block, then subscripts counted from 1. The
#' sampler's help page lists the blocks and the meaning of the subscripts;
#' [tidy()][tidy.gibbsite_fit] replaces subscripts by names in the data.
#'
#' @section Methods:
#' * To look: `print()`, [summary()][summary.gibbsite_fit],
#'   [plot()][plot.gibbsite_fit], [tidy()][tidy.gibbsite_fit],
#'   [glance()][tidy.gibbsite_fit].
#' * To judge: [converged()], [convergence()].
#' * To go on: [extend()], [window()][window.gibbsite_fit], [resume()],
#'   [combine_fits()] or `c()`, and
#'   [update()][update.gibbsite_fit] to fit again.
#' * To take the draws: [draws_of()];
#'   `as.data.frame()`, `as.matrix()`, `as.array()`; [posterior::as_draws()] and
#'   similar functions;
#'   [as.mcmc.list()][coda-methods], `fit[i, j]`.
#' * To get its parts: [prior_summary()][prior_summary.gibbsite_fit], `nobs()`,
#'   `variables()`, `ndraws()`, `nchains()`, `niterations()`.
#' * To compare: [identical_fit()], [compare()], [loo()][loo::loo],
#'   [kfold()][kfold.gibbsite_fit]. To make it smaller: [drop_data()], whose
#'   page says what a saved fit holds.
#'
#' A run that was interrupted before every chain had a draw returns an object of
#' class `gibbsite_partial`, which prints and can be given to [extend()].
#'
#' @name gibbsite_fit
#' @aliases gibbsite_partial
#' @seealso [running] for the arguments that all samplers share.
NULL

#' Fits as coda objects
#'
#' A fit *is* a [coda::mcmc.list]: a list of [coda::mcmc] matrices, one for each
#' chain, with one row for each kept draw and one column for each stored
#' quantity. Functions of coda, bayesplot and posterior accept it. The methods
#' below give plain coda objects, without the model and the chains' states that
#' a fit also holds.
#'
#' Row `r` of a chain is the state after sweep `burnin + r * thin`, and
#' [coda::mcpar()] says so; therefore [window()][window.gibbsite_fit], whose
#' result is again a fit, counts sweeps, while `fit[i, j]` counts draws.
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
#' @param name,value What `$` is asked for or to assign.
#' @param ... Not used.
#' @return A plain `mcmc.list`; [coda::as.mcmc()] gives the [coda::mcmc] matrix
#'   of a fit with one chain.
#' @section Gelman and Rubin's diagnostic: Use `coda::gelman.diag(fit,
#'   multivariate = FALSE)`. Its default also needs the inverse of the columns'
#'   covariance matrix. Where a column is a function of others there is none,
#'   and an error names those columns. Many fits have some: in
#'   those of [gibbs_gmm()] the last weight is 1 less the others, and a
#'   covariance matrix is stored whole, with `Sigma[1,1,2]` and `Sigma[1,2,1]`.
#'   A column that does not vary has no value. [convergence()] has a newer R-hat
#'   of each quantity that does not depend on the numbering of components.
#' @section Names: A fit has no elements by name. `fit$mu` is an error that says
#'   what to call: for draws [draws_of()] or `as.matrix()`, for estimates
#'   `coef()` or `summary()`. `fit[[k]]` is the matrix of chain `k`.
#'   `fit[["mu"]]` is the same error if `mu` is a stored quantity; of other names
#'   it is `NULL`, as of any list, for programs that ask whether there is such an
#'   element.
#' @section Errors: An error of class `gibbsite_error_argument` for chains,
#'   draws or columns that are not there, for draws that are not evenly spaced,
#'   from [coda::as.mcmc()] when there are several chains, from `$`, and from
#'   `[[` with the name of a stored quantity.
#' @seealso [draws_of()]
#' @name coda-methods
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' coda::effectiveSize(fit[, "log_lik"])
#' coda::gelman.diag(fit[, c("pi[1]", "mu[1,1]", "Sigma[1,1,2]", "log_lik")])
#' coda::gelman.diag(fit, multivariate = FALSE)
#' coda::mcpar(fit[101:200, ][[1]])
#' summary(as.mcmc.list(fit)[, c("pi[1]", "pi[2]")])$statistics
NULL

#' @rdname coda-methods
#' @method as.mcmc.list gibbsite_fit
#' @export
as.mcmc.list.gibbsite_fit <- function(x, ...) {
  call <- rlang::current_env()
  draws <- fit_draws(x)
  caller <- parent.frame()
  if (identical(parent.env(caller), asNamespace("coda")) &&
        isTRUE(caller$multivariate)) {
    check_independent_columns(draws, caller)
  }
  structure(draws, class = "mcmc.list")
}

# coda::gelman.diag() stops in chol() where a column is a function of others.
check_independent_columns <- function(draws, call) {
  if (length(draws) == 1L || ncol(draws[[1L]]) == 1L) {
    return()
  }
  columns <- dependent_columns(draws)
  if (length(columns) > 0L) {
    abort_argument(
      c("{.fn gelman.diag} cannot invert the covariance matrix of all columns.",
        x = "Constant, or linear functions of others: {few_words(columns)}.",
        i = "Use {.code coda::gelman.diag(fit, multivariate = FALSE)}."),
      call = call
    )
  }
}

# Names of columns that, within chains, are linear functions of the columns
# before them, or constant.
dependent_columns <- function(draws) {
  within <- Reduce(`+`, lapply(draws, stats::var))
  if (anyNA(within)) {
    return(character())
  }
  moves <- diag(within) > 0
  scale <- sqrt(diag(within)[moves])
  correlation <- within[moves, moves, drop = FALSE] / outer(scale, scale)
  found <- qr(correlation, tol = 1e-9)
  last <- setdiff(found$pivot, found$pivot[seq_len(found$rank)])
  c(names(which(moves))[sort(last)], names(which(!moves)))
}

#' @rdname coda-methods
#' @method as.mcmc gibbsite_fit
#' @rawNamespace S3method(coda::as.mcmc, gibbsite_fit)
as.mcmc.gibbsite_fit <- function(x, ...) {
  draws <- fit_draws(x)
  if (length(x) != 1) {
    abort_argument(c(
      "{.arg x} must have one chain, not {length(x)}.",
      i = "Use {.fn as.mcmc.list}, or {.code x[[1]]} for one chain of them."
    ))
  }
  draws[[1L]]
}

#' @rdname coda-methods
#' @export
`[.gibbsite_fit` <- function(x, i, j, drop = FALSE) {
  call <- rlang::current_env()
  one_index <- nargs() - (!missing(drop)) < 3
  if (one_index) {
    chains <- if (missing(i)) seq_along(x) else i
    return(as.mcmc.list(x)[pick(chains, length(x), "chain", call = call)])
  }
  draws <- fit_draws(x)
  n <- nrow(draws[[1L]])
  columns <- colnames(draws[[1L]])
  rows <- if (missing(i)) seq_len(n) else pick(i, n, "draw", call = call)
  cols <- if (missing(j)) {
    seq_along(columns)
  } else {
    pick(j, length(columns), "column", columns, call)
  }
  step <- even_step(rows, call)
  from <- attr(draws[[1L]], "mcpar")
  first <- from[1] + (rows[1] - 1) * from[3]
  thin <- step * from[3]
  sweeps <- c(first, first + (length(rows) - 1) * thin, thin)
  picked <- lapply(shown_matrices(x), function(m) {
    as_mcmc_matrix(m[rows, cols, drop = isTRUE(drop)], sweeps)
  })
  structure(picked, class = "mcmc.list")
}

#' @rdname coda-methods
#' @export
`$.gibbsite_fit` <- function(x, name) {
  abort_no_element(x, name, rlang::current_env())
}

#' @rdname coda-methods
#' @export
`[[.gibbsite_fit` <- function(x, i, ...) {
  check_needed(i = "the number of a chain")
  check_no_more(...)
  if (rlang::is_string(i)) {
    if (!i %in% names_of_draws(fit_part(x, "model")$columns)) {
      return(NULL)
    }
    abort_no_element(x, i, rlang::current_env())
  }
  check_count(i, max = length(x), max_why = "the chains")
  NextMethod()
}

#' @rdname coda-methods
#' @export
`$<-.gibbsite_fit` <- function(x, name, value) {
  check_whole_fit(x, "x", rlang::current_env(), draws = FALSE)
  abort_argument(c(
    "{.arg value} cannot be assigned to an element {.val {name}}: a fit is what
     the sampler returned.",
    i = if (identical(name, "formula")) {
      "{.code update(fit, formula)} fits another formula, {.fn compare} and
       {.fn loo::loo_compare} compare fits. {.fn step} is not for posteriors."
    } else {
      "Keep it beside the fit, in a list of both."
    }
  ))
}

# R would return NULL, because a fit is a list without names.
abort_no_element <- function(x, name, call) {
  check_whole_fit(x, "x", call, draws = FALSE)
  model <- attr(x, "model", exact = TRUE)
  blocks <- names_of_draws(model$columns)
  # the beginning of a name is enough, as for other lists
  block <- blocks[pmatch(name, blocks)]
  method <- element_methods[pmatch(name, names(element_methods))]
  abort_argument(
    c("A fit has no elements by name, such as {.code ${name}}.",
      i = if (!is.na(block)) {
        "{.code draws_of(fit, {quoted(block)})} has the draws of
         {.val {block}}, {.code summary(fit)} its estimates."
      } else if (!is.na(method)) {
        "Use {.fn {method}}."
      } else {
        "Use {.fn draws_of} or {.fn as.matrix} for draws, {.fn summary} for
         estimates, {.fn predict} for predictions."
      }),
    call = call, class = "element"
  )
}

# The functions for what R's own regressions hold as elements.
element_methods <- c(
  call = "getCall", coefficients = "coef", data = "model.frame",
  family = "family", fitted.values = "fitted", formula = "formula",
  model = "model.frame", prior = "prior_summary", residuals = "residuals",
  terms = "terms", weights = "weights"
)

# Positions from an index of any type, with an error for an element that does
# not exist.
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

# NA if the index has no match. Indices are not recycled or truncated to whole
# numbers; negative numbers exclude elements.
index_positions <- function(index, n, what, names, call) {
  numbers <- is.numeric(index) && !is.object(index)
  if (numbers && length(index) > max(n, 1)) {
    abort_argument(
      "Each {what} can be chosen once: there are {format_number(n)}, not
       {format_number(length(index))}.",
      call = call
    )
  }
  if (is.logical(index)) {
    logical_positions(index, n, what, call)
  } else if (is.character(index)) {
    match(index, names)
  } else if (!numbers) {
    NA
  } else if (length(index) > 0 && all(index %in% -seq_len(n))) {
    setdiff(seq_len(n), -index)
  } else {
    match(index, seq_len(n))
  }
}

logical_positions <- function(index, n, what, call) {
  if (length(index) != n) {
    abort_argument(
      "A logical index must have a value for each {what} ({n}), not
       {length(index)}.",
      call = call
    )
  }
  if (anyNA(index)) NA else which(index)
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
