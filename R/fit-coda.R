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
#' @return `as.mcmc.list()`: a plain `mcmc.list`; [coda::as.mcmc()] gives the
#'   [coda::mcmc] matrix of a fit with one chain.
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

# ---- Draws in other forms ----------------------------------------------------

# The draws of a fit as matrices, arrays, data frames and posterior's formats.

#' @rdname draws_of
#' @export
as.data.frame.gibbsite_fit <- function(x, row.names = NULL, optional = FALSE,
                                       ..., index = TRUE,
                                       stringsAsFactors = FALSE) { # nolint
  check_no_more(...)
  check_flag(stringsAsFactors)
  index <- check_flag(index)
  draws <- bind_chains(shown_matrices(x))
  check_row_names(row.names, nrow(draws), rlang::current_env())
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

#' @rdname draws_of
#' @export
as.matrix.gibbsite_fit <- function(x, iters = FALSE, chains = FALSE, ...) {
  check_no_more(...)
  as.matrix(as.mcmc.list(x), check_flag(iters), check_flag(chains))
}

#' @rdname draws_of
#' @export
as.array.gibbsite_fit <- function(x, ...) {
  check_no_more(...)
  stack_chains(shown_matrices(x))
}

#' The draws of a fit as arrays, matrices and data frames
#'
#' `draws_of(fit, "mu")` gathers the columns `mu[1,1]`, `mu[2,1]`, ... into an
#' array with the block's own dimensions. `as.data.frame()` gives one row a draw
#' with the columns `chain` and `draw` in front, ready for a plot by chain.
#' `as.matrix()` stacks the chains one below the other; `as.array()` gives draws
#' x chains x variables, the shape that bayesplot and posterior use.
#'
#' The posterior package has a function of the same name for its random
#' variables (`rvar`). The default method here passes these on to posterior, so
#' that `draws_of(rvar)` works also if gibbsite was attached last. If posterior
#' was attached last, write `gibbsite::draws_of(fit, "mu")`. For the formats of
#' posterior see [posterior::as_draws()]; its functions accept a fit.
#'
#' @param x A fit.
#' @param block Name of a block, such as `"mu"`, or of a single column, such as
#'   `"log_lik"` or `"mu[1,2]"`.
#' @param row.names,optional,stringsAsFactors As in [as.data.frame()]; the last
#'   two are not used, since names of columns are never altered and no column
#'   is text.
#' @param index `TRUE` (default): put `chain` (its number) and `draw` (the
#'   number of the kept draw within the chain, from 1) in front of the
#'   variables. `FALSE`: variables only, in the order of `as.matrix()`.
#' @param iters,chains As in coda's `as.matrix()`: `TRUE` adds columns with the
#'   sweep and the chain.
#' @param ... For `draws_of()`, passed to methods. Otherwise not used.
#' @return `draws_of()`: an array, draws x chains x the dimensions of the block;
#'   of a scalar a matrix, draws x chains; draws x chains x columns, with names,
#'   where subscripts are names or the fit has some elements only. The others: a
#'   matrix, a three-dimensional array or a data frame.
#' @section Errors: An error of class `gibbsite_error_argument` when the fit has
#'   no such block, and in `as.data.frame(index = TRUE)` when a variable is
#'   itself named `chain` or `draw`.
#' @seealso [fit-draws] for the functions of posterior, [coda-methods].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' dim(draws_of(fit, "mu"))
#' apply(draws_of(fit, "Sigma"), c(3, 4, 5), mean)
#' head(as.data.frame(fit)[, c("chain", "draw", "log_lik")])
#' dim(as.array(fit))
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
  own <- startsWith(columns, paste0(block, "["))
  if (!any(own)) {
    one_of <- or_words(quoted(unique(sub("[[][^]]*[]]$", "", columns))))
    abort_argument("{.arg block} must be {one_of}, not {.val {block}}.")
  }
  if (is.null(place)) {
    return(draws[, , own, drop = FALSE])
  }
  shape <- apply(place$index, 2, max)
  stride <- c(1, cumprod(shape))[seq_along(shape)]
  where <- 1 + drop((place$index - 1) %*% stride)
  if (length(where) != prod(shape) || anyDuplicated(where)) {
    return(draws[, , own, drop = FALSE])
  }
  array(draws[, , place$column[order(where)]], c(size, unname(shape)))
}

# Names of columns or blocks, or of quantities that convergence() judges ->
# names of single ones. NULL: all columns. invariants: those of
# fit_invariants().
chosen_variables <- function(variables, columns, invariants, call) {
  if (is.null(variables)) {
    return(columns)
  }
  derived <- setdiff(dimnames(invariants)$variable, columns)
  choose_variables(variables, c(columns, derived), call)
}

# The draws of the chosen variables, draws x chains x variables.
chosen_draws <- function(fit, variables, invariants, call,
                         arg = rlang::caller_arg(fit)) {
  draws <- stack_chains(chain_matrices(fit, arg, call))
  columns <- dimnames(draws)$variable
  chosen <- chosen_variables(variables, columns, invariants, call)
  if (all(chosen %in% columns)) {
    return(draws[, , chosen, drop = FALSE])
  }
  size <- dim(draws)
  out <- array(NA_real_, c(size[1:2], length(chosen)),
               list(draw = NULL, chain = seq_len(size[2]), variable = chosen))
  for (name in chosen) {
    from <- if (name %in% columns) draws else invariants
    out[, , name] <- from[, , name]
  }
  out
}

# Row names are NULL, or strings or whole numbers, one a row and no two alike. A
# single one is an error, because data.frame() takes it for the name of a
# column.
check_row_names <- function(x, rows, call, arg = "row.names") {
  if (is.null(x)) {
    return(invisible())
  }
  if (!is_plain_choice(x)) {
    abort_expected(x, "a vector of names, one a row", TRUE, arg, call)
  }
  check_vector_length(x, rows, "the number of rows", arg, call)
  check_text(x, arg, call)
  if (anyNA(x) || anyDuplicated(x) > 0L) {
    fault <- if (anyNA(x)) "a missing one" else "one of them twice"
    abort_argument(
      "{.arg {arg}} must hold names that differ, but has {fault}.",
      call = call
    )
  }
}

#' @rawNamespace S3method(posterior::as_draws, gibbsite_fit)
as_draws.gibbsite_fit <- function(x, ...) {
  posterior::as_draws_array(as.mcmc.list(x), ...)
}

#' @rawNamespace S3method(posterior::ndraws, gibbsite_fit)
ndraws.gibbsite_fit <- function(x) {
  length(x) * niterations(x)
}

#' @rawNamespace S3method(posterior::nchains, gibbsite_fit)
nchains.gibbsite_fit <- function(x) {
  length(fit_draws(x))
}

#' @rawNamespace S3method(posterior::niterations, gibbsite_fit)
niterations.gibbsite_fit <- function(x) {
  nrow(fit_draws(x)[[1L]])
}

#' @rawNamespace S3method(posterior::variables, gibbsite_fit)
variables.gibbsite_fit <- function(x, ...) {
  colnames(fit_draws(x)[[1L]])
}

# ---- Measures of posterior ---------------------------------------------------

# A method of a generic of posterior, whose default would take a fit for the
# draws of one variable: its value for each variable.
of_each_variable <- function(name) {
  force(name)
  function(x, ...) {
    measure <- getExportedValue("posterior", name)
    apply(as.array(x), 3L, function(draws) measure(draws, ...))
  }
}

#' @rawNamespace S3method(posterior::rhat_basic, gibbsite_fit)
rhat_basic.gibbsite_fit <- of_each_variable("rhat_basic")

#' @rawNamespace S3method(posterior::ess_bulk, gibbsite_fit)
ess_bulk.gibbsite_fit <- of_each_variable("ess_bulk")

#' @rawNamespace S3method(posterior::ess_tail, gibbsite_fit)
ess_tail.gibbsite_fit <- of_each_variable("ess_tail")

#' @rawNamespace S3method(posterior::ess_basic, gibbsite_fit)
ess_basic.gibbsite_fit <- of_each_variable("ess_basic")

#' @rawNamespace S3method(posterior::ess_mean, gibbsite_fit)
ess_mean.gibbsite_fit <- of_each_variable("ess_mean")

#' @rawNamespace S3method(posterior::ess_quantile, gibbsite_fit)
ess_quantile.gibbsite_fit <- of_each_variable("ess_quantile")

#' @rawNamespace S3method(posterior::mcse_mean, gibbsite_fit)
mcse_mean.gibbsite_fit <- of_each_variable("mcse_mean")

#' @rawNamespace S3method(posterior::mcse_sd, gibbsite_fit)
mcse_sd.gibbsite_fit <- of_each_variable("mcse_sd")

#' @rawNamespace S3method(posterior::mcse_quantile, gibbsite_fit)
mcse_quantile.gibbsite_fit <- of_each_variable("mcse_quantile")

#' @rawNamespace S3method(posterior::quantile2, gibbsite_fit)
quantile2.gibbsite_fit <- of_each_variable("quantile2")

# bayesplot's generic of this name has a method of its own.
#' @rawNamespace S3method(posterior::rhat, gibbsite_fit, rhat_of_variables)
rhat_of_variables <- of_each_variable("rhat")

# window(): a fit with fewer of its draws.

#' @section Leave out draws of a fit:
#' `window()` returns the fit with the draws from sweep `start` to sweep `end`
#' only: to drop a burn-in that was too short, or to thin. The result is a fit:
#' it can be summarised, judged, saved and continued by [extend()].
#'
#' The sweeps before the first draw count as burn-in. Draws after `end` stay in
#' the fit without being shown, and [extend()] uses them first. So
#' `extend(window(fit, start = s), n)` has the same draws, bit for bit, as
#' `window(extend(fit, n), start = s)`.
#'
#' Some quantities are averaged as the chains run, because their draws are too
#' large to store: the topics of [gibbs_lda()], the allocation probabilities of
#' [gibbs_gmm()], the predictions of [gibbs_bmf()] and the factors it predicts
#' from. An average cannot leave out draws that are in it. When `window()` drops
#' draws, these averages therefore start again, with the first draw that
#' [extend()] makes. Until then the functions that need them raise an error that
#' says so.
#' @param start,end The first and the last sweep, numbers within the sweeps of
#'   the fit ([coda::mcpar()]); default all.
#' @param thin Whole number, a multiple of the fit's own `thin`: keep the draws
#'   at `start`, `start + thin` and so on (or at `thin`, `2 * thin` and so on
#'   when `start` is less than `thin`).
#' @return `window()`: a fit.
#' @section Errors: `gibbsite_error_argument` for sweeps outside the fit, for a
#'   `thin` that is no multiple, and if no draw is left.
#' @seealso [convergence()], which says when to drop draws; [extend()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 0, chains = 2,
#'                  seed = 1, progress = FALSE)
#' late <- window(fit, start = 101)
#' late
#' extend(late, 100, progress = FALSE)
#' @importFrom stats window
#' @rdname coda-methods
#' @export
window.gibbsite_fit <- function(x, start = NULL, end = NULL, thin = NULL,
                                ...) {
  check_no_more(...)
  call <- rlang::current_env()
  sweeps <- attr(fit_draws(x)[[1L]], "mcpar")
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
  # the draws at or after `start` and at or before `end`; the burn-in before the
  # first of them has at least no sweeps
  first <- ceiling((max(start, thin) - sweeps[1]) / sweeps[3]) + 1
  last <- floor((end - sweeps[1]) / sweeps[3]) + 1
  if (first > last) {
    abort_argument(c(
      "There is no draw between sweeps {start} ({.arg start}) and {end}
       ({.arg end}).",
      i = if (thin > sweeps[3]) {
        "The draws at every {thin} sweeps ({.arg thin}) are asked for."
      }
    ))
  }
  windowed(x, first, last, thin / sweeps[3])
}

# The fit with draws first, first + step, ..., at most `last`.
windowed <- function(fit, first, last, step) {
  if (first == 1 && last == shown_draws(fit) && step == 1) {
    return(fit)
  }
  whole <- is.null(find_damage(fit))
  if (whole) fit <- renew_fit(fit)
  running <- attr(fit, "running")
  pending <- attr(fit, "pending")
  parts <- lapply(seq_along(attr(fit, "chains")), function(k) {
    all <- rbind(plain_matrix(.subset2(fit, k)), plain_matrix(pending[[k]]))
    rows <- seq(first, nrow(all), by = step)
    list(
      shown = all[rows[rows <= last], , drop = FALSE],
      ahead = all[rows[rows > last], , drop = FALSE]
    )
  })
  running$burnin <- running$burnin + (first - step) * running$thin
  running$thin <- running$thin * step
  running$stride <- NULL
  model <- attr(fit, "model")
  chains <- lapply(attr(fit, "chains"), function(chain) {
    chain$state <- model_without_averages(model, chain$state)
    # a fit whose draws were changed stays recognisable
    if (whole) chain$hash <- NULL
    chain$from <- NULL
    chain
  })
  if (!identical(chains[[1]]$state, attr(fit, "chains")[[1]]$state)) {
    running$averaged_from <- nrow(parts[[1]]$shown) + nrow(parts[[1]]$ahead)
  }
  new_fit(
    lapply(parts, `[[`, "shown"), model, running, chains,
    lapply(parts, `[[`, "ahead"), attr(fit, "run")
  )
}

# Draws of a chain that came before its averages, because window() has dropped
# some.
draws_before_averages <- function(fit) {
  fit_part(fit, "running")$averaged_from %||% 0
}

abort_no_averages <- function(what, call) {
  abort_argument(
    c(
      paste(what, "are averaged as the chains run, and {.fn window} has dropped
                   draws that were in the averages."),
      i = "Use {.code extend(fit, n)}: they are averaged over the {.code n} new
           draws."
    ),
    call = call, class = "window"
  )
}
