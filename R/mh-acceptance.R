# Acceptance rates, and the trace of every step.

#' Acceptance rates
#'
#' The share of proposals that were accepted, by chain and block, during burn-in
#' and after it. The best rates are about 0.44 in one dimension and 0.234 in
#' many dimensions for a random walk, and 0.574 for a Langevin proposal. A much
#' higher rate means that the steps are too small, a much lower one that they
#' are too large. The rate of an independence proposal should be near 1. That of
#' [nuts()] is the mean acceptance statistic of its trajectories, and that of a
#' slice sampler is 1. So is that of a Gibbs sampler, whose conditionals are
#' proposals that are always accepted: of a fit by [gibbs_sample()] without
#' [mh_step()] each block is listed with the rate 1. For [tempered()] the rate
#' and the scale are those at temperature 1 (the coldest). [delayed_rejection()]
#' has a row for the block, whose rate is the share of steps that moved, and a
#' row for each of its two tries.
#'
#' @param fit A fit made by [mh_sample()] or [gibbs_sample()], or of another
#'   model with Metropolis-Hastings steps. Of a Gibbs sampler with some of them
#'   only their blocks are listed.
#' @return A data frame with a row for each chain and block and the columns
#'   `chain`, `block`, `steps` and `rate` (after burn-in), `burnin_steps` and
#'   `burnin_rate`, and `scale` (the scale factor that an adaptive proposal has
#'   reached, or the step of [langevin()], [nuts()] and [hmc()]; 1 for other
#'   proposals). The rate is NA if there were no steps. The
#'   attribute `nan` holds the number of NaNs that were treated as zero density,
#'   by chain.
#' @section Errors: `gibbsite_error_argument` when `fit` is not such a fit.
#' @seealso [coda::rejectionRate()] counts draws that repeat the one before.
#' @examples
#' fit <- mh_sample(function(x) -sum(x^2) / 2, c(0, 0), seed = 1)
#' acceptance(fit)
#' @export
acceptance <- function(fit) {
  call <- rlang::current_env()
  check_needed(fit = "one made by mh_sample() or gibbs_sample()")
  check_fit(fit, "fit", call)
  model <- fit_part(fit, "model")
  chains <- fit_part(fit, "chains")
  tables <- lapply(seq_along(chains), function(k) {
    table <- model_acceptance(model, chains[[k]]$state)
    if (is.null(table)) {
      abort_argument(
        "{.arg fit} has no Metropolis-Hastings steps.", call = call
      )
    }
    # blocks that are drawn from their conditionals
    if (is.null(table$steps)) {
      burnin <- min(fit_part(fit, "running")$burnin, chains[[k]]$state$sweep)
      steps <- chains[[k]]$state$sweep - burnin
      table <- memory_table(table$block, rep(
        list(list(counts = c(burnin, burnin, steps, steps), tuning = 0)),
        nrow(table)
      ))
    }
    data.frame(chain = k, table)
  })
  structure(
    do.call(rbind, tables),
    nan = vapply(chains, function(chain) chain$state$nan_count %||% 0, 0)
  )
}

# The same table from the blocks' states.
memory_table <- function(names, memories) {
  rows <- unlist(Map(memory_rows, names, memories), recursive = FALSE)
  counts <- vapply(rows, `[[`, numeric(4L), "counts")
  rate <- function(moves, steps) ifelse(steps > 0, moves / steps, NA_real_)
  data.frame(
    block = vapply(rows, `[[`, "", "block"), steps = counts[3L, ],
    rate = rate(counts[4L, ], counts[3L, ]),
    burnin_steps = counts[1L, ],
    burnin_rate = rate(counts[2L, ], counts[1L, ]),
    scale = vapply(rows, function(row) exp(row$tuning[[1L]]), 0),
    row.names = NULL
  )
}

# The rows of a block: the state of the block, and of each of its two tries.
memory_rows <- function(name, memory) {
  # of parallel tempering, the coldest
  memory <- memory$inner[[1L]] %||% memory
  rows <- c(list(memory), tries_of(memory))
  names <- c(name, paste0(name, ", ", try_words))[seq_along(rows)]
  Map(function(block, row) {
    list(block = block, counts = row$counts, tuning = row$tuning)
  }, unname(names), rows)
}

#' Every step of a run
#'
#' `mh_trace()` lists every step of [mh_sample()] with `debug = TRUE`, or of
#' [gibbs_sample()], where a step is the update of a block. The chain can be
#' recomputed by hand from these numbers. `plot()` draws the first steps: the
#' points of the chain and its path, the rejected proposals, and the last step.
#' Pictures after 1, 2, 3, ... steps have the same axes and make a film. Two
#' parameters are drawn against each other, over contours of the target, one
#' against the steps. Several runs are drawn side by side, such as the same
#' random walk with three scales. `ggplot2::autoplot()` gives the same picture.
#'
#' The path of a Gibbs sampler with a block for each coordinate is a staircase:
#' a step changes one block. Its steps are known from the draws, if all blocks
#' are stored (`keep = NULL`) after each sweep (`thin = 1`) of a systematic
#' scan.
#' The path begins at `inits`, or at `init`, and after burn-in at the first
#' draw.
#'
#' Contours are those of the log density of [mh_sample()] if it has two
#' parameters and both are drawn, on the scale on which proposals are made. They
#' are at 0.7, 0.4, 0.2, 0.1, 0.05 and 0.02 of its largest value, from a grid of
#' 60 x 60 points. The axes then contain the points of the chains and the
#' contours, and rejected proposals may be outside. Without contours the axes
#' contain all proposals.
#'
#' @param fit A fit made by [mh_sample()] with `debug = TRUE`, or by
#'   [gibbs_sample()]; or a list of such fits, whose names are the titles of the
#'   panels.
#' @param x,object The steps: the value of `mh_trace()`.
#' @param steps Whole number, or `NULL` (default, all): how many steps to draw.
#' @param chain Whole numbers: the chains, a panel each. `NULL` (default): the
#'   first chain of each fit.
#' @param variables Names of one or two parameters; default the first two.
#' @param log_density `NULL` (default): the log density of the fit. Otherwise a
#'   function of the two parameters drawn, a vector with their names, which
#'   returns a log density up to a constant; or `FALSE` for no contours.
#' @param xlim,ylim `NULL` (default), or two increasing numbers: the axes.
#' @param ... Not used.
#' @return `plot()`: `x`, invisibly. `autoplot()`: a ggplot. `mh_trace()`: a
#'   list of class `mh_trace` with a data frame for each chain, with a row for
#'   each step: `sweep`, `block` (its number), `uniform` (the proposal is
#'   accepted when its logarithm is below `log_ratio`), `log_density` (of the
#'   proposal; also `-Inf` if the proposal is out of bounds, where the density
#'   is not evaluated), `log_target` (with the Jacobian), `log_correction`
#'   (\eqn{\log q(x | y) - \log q(y | x)}{log q(x | y) - log q(y | x)}),
#'   `log_ratio`, `accepted`, and the proposal, with a column for each
#'   coordinate, on the scale on which proposals are made. With [nuts()] this is
#'   the point that was drawn from the trajectory, with [delayed_rejection()]
#'   the last of the two tries that was made, with slice samplers and
#'   [tempered()] the point after the sweep over the block; `log_correction` and
#'   `log_ratio` are NaN, and `uniform` is not used, but by [elliptical_slice()]
#'   for the height. If `inits` was given, a chain begins at its entry.
#'
#'   Of a Gibbs sampler `log_ratio` is 0 and `accepted` is `TRUE`; the point is
#'   the state after the update. The densities and `uniform` are NaN. Of a block
#'   with [mh_step()] `accepted` is whether it moved, and `log_ratio` is NaN.
#'
#'   The title of a panel beside others has the share of accepted steps, and the
#'   autocorrelation time in sweeps: draws divided by their effective number
#'   (ESS of the mean), the larger of the two parameters. The first points until
#'   the first accepted proposal are left out if the start is not known.
#' @section Errors: `gibbsite_error_argument` for a fit without its steps, and
#'   for steps, a chain and variables that are not there.
#' @seealso [mh_sample()], [gibbs_sample()], [acceptance()].
#' @examples
#' fit <- mh_sample(function(x) -sum(x^2) / 2, 0, debug = TRUE, draws = 10,
#'   burnin = 0, chains = 1, inits = list(0), seed = 1
#' ) |> suppressWarnings()
#' mh_trace(fit)[[1]]
#'
#' # a film: a page for each step
#' log_density <- function(x) -(x[1]^2 - 1.6 * x[1] * x[2] + x[2]^2) / 0.72
#' walk <- function(scale) {
#'   mh_sample(log_density, c(a = 0, b = 0), random_walk(scale), draws = 60,
#'     burnin = 0, chains = 1, inits = list(c(-3, 2)), debug = TRUE, seed = 1
#'   ) |> suppressWarnings()
#' }
#' fit <- walk(0.8)
#' for (s in c(1, 5, 20, 40)) {
#'   plot(mh_trace(fit), steps = s)
#' }
#'
#' # too small, good and too large steps
#' plot(mh_trace(list("scale 0.1" = walk(0.1), "scale 1" = walk(1),
#'                    "scale 8" = walk(8))))
#'
#' # a Gibbs sampler of the same target
#' fit <- gibbs_sample(
#'   list(
#'     a = function(state) rnorm(1, 0.8 * state$b, 0.6),
#'     b = function(state) rnorm(1, 0.8 * state$a, 0.6)
#'   ),
#'   init = list(a = -3, b = 2), draws = 30, burnin = 0, chains = 1, seed = 1
#' ) |> suppressWarnings()
#' plot(mh_trace(fit), steps = 20, log_density = log_density)
#' @export
mh_trace <- function(fit) {
  call <- rlang::current_env()
  check_needed(
    fit = "one made by mh_sample(debug = TRUE) or gibbs_sample()"
  )
  several <- is.list(fit) && !is.object(fit) && length(fit) > 0L
  fits <- if (several) fit else list(fit)
  names <- names(fits) %||% character(length(fits))
  tables <- unlist(lapply(seq_along(fits), function(i) {
    arg <- if (several) paste0("fit[[", i, "]]") else "fit"
    check_fit(fits[[i]], arg, call)
    tables <- model_trace(
      fit_part(fits[[i]], "model"), fits[[i]], arg, call
    )
    if (several) {
      title <- if (nzchar(names[[i]])) names[[i]] else paste("run", i)
      names(tables) <- paste0(title, if (length(tables) > 1L) {
        paste(", chain", seq_along(tables))
      })
    }
    attr(tables[[1L]], "first") <- TRUE
    tables
  }), recursive = FALSE)
  structure(tables, class = "mh_trace")
}

trace_columns <- c(
  "sweep", "block", "uniform", "log_density", "log_target", "log_correction",
  "log_ratio", "accepted"
)
