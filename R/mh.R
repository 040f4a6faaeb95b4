# Metropolis-Hastings on any log density: mh_sample().

#' Metropolis-Hastings on any log density
#'
#' Draws from a density \eqn{p(x)}{p(x)} on \eqn{R^d}. You supply a function
#' that returns its logarithm up to a constant. From the current point \eqn{x} a
#' proposal \eqn{y \sim q(\cdot | x)}{y ~ q(. | x)} is drawn, and the chain
#' moves to it with probability
#' \deqn{a(x, y) = \min\Bigl(1, \frac{p(y) q(x | y)}{p(x) q(y | x)}\Bigr)}{
#'   a(x, y) = min(1, p(y) q(x | y) / (p(x) q(y | x)))}
#' and otherwise stays at \eqn{x} (Metropolis et al. 1953; Hastings 1970). This
#' leaves \eqn{p}{p} invariant for any proposal. The proposal determines how
#' fast the chain converges.
#'
#' @section Proposals:
#' With a gradient of the log density, as `gradient` or as part of
#' [native_density()], the default is [nuts()], the no-U-turn sampler. Without
#' one it is [adaptive()], a normal random walk that adapts its covariance and
#' scale during burn-in. A gradient that comes as an attribute of the values of
#' `log_density` must be asked for, by `proposal = nuts()`. Others are
#' [random_walk()], [independence()], [langevin()] and [hmc()] (with a
#' gradient), [univariate_slice()] and [elliptical_slice()],
#' [mixture_proposal()] and [custom_proposal()]. [delayed_rejection()] makes a
#' second proposal after a rejection. [tempered()] runs a proposal at several
#' temperatures, for densities with several modes.
#'
#' With `blocks` a sweep takes several steps, one for each block of coordinates,
#' in their order. Each block has its own proposal, which moves the block's
#' coordinates given the others.
#'
#' @section Length of the run:
#' A step of a random walk in \eqn{d}{d} dimensions is worth at best about
#' \eqn{0.3 / d}{0.3 / d} independent draws. `thin` therefore defaults to
#' \eqn{d}{d} sweeps for each kept draw (divided by the number of blocks,
#' rounded up), and `burnin`, during which adaptive proposals adapt, to 500 such
#' draws, or \eqn{20 d}{20 d} if that is more: `thin * max(500, 20 * d)` sweeps.
#' If every block is moved by [nuts()], [hmc()], [univariate_slice()] or
#' [elliptical_slice()], `thin` defaults to 1 and `burnin` to 1000.
#'
#' @section Starting values:
#' Before the chains start, one search climbs from `init` to the mode of the log
#' density. `init` may be far from it: zeros suffice for a smooth density with
#' one mode. The chains start around the mode, more dispersed than the
#' posterior. If no mode is found they start around `init`. With `inits` no
#' search is made: an entry is a vector like `init`, and its chain starts
#' exactly there. Whole numbers in `init` that a [custom_proposal()] moves by
#' whole numbers stay whole. [mh_start] describes the search, and what the fit
#' says of functions that are the log density of no distribution.
#'
#' @section Bounds:
#' Proposals outside `lower` and `upper` are rejected without evaluating
#' `log_density`. This is exact, but slow if much of the mass lies near a bound.
#' With `transform = TRUE` bounded coordinates are sampled on the whole line
#' (logarithm of the distance from one bound; logit between two), with the
#' logarithm of the Jacobian added to the log density. Draws are on the original
#' scale; `scale`, `cov` and `mean` of proposals, and the points that
#' [custom_proposal()] gets, are on the transformed scale.
#'
#' It is needed where the density is unbounded at a bound, as a gamma density
#' with shape below 1, and by [langevin()] also where it falls to zero like a
#' power. Chains that seldom come near the bound agree with each other; a
#' warning of class `gibbsite_warning_region` then names the parameters. So does
#' one where no draw is near the mode of the search (see [mh_start]).
#'
#' @section Values of the log density:
#' `-Inf` is a density of zero: the proposal is rejected. An error, a value that
#' is not one number, and `+Inf` stop the chain with an error that names the
#' sweep and the point; so does `NaN` (or `NA`). With `on_nan = "reject"` NaN is
#' treated as zero density and counted. A starting point with zero density is an
#' error. Your function may draw random numbers, see [mh_start].
#'
#' The density is evaluated once for each proposal, and not again for the
#' current point. If `exp(log_density(x))` is a random, unbiased estimate of
#' \eqn{p(x)}{p(x)}, the chain therefore still has exactly \eqn{p}{p} as its
#' invariant distribution (pseudo-marginal sampling, Andrieu and Roberts 2009).
#'
#' @section Stored quantities:
#' A column for each coordinate (named as `init`, else `x[1]`, `x[2]`, ...) and
#' `log_density`, without the Jacobian. `keep` chooses among the parameters.
#'
#' @param log_density The log density: a function whose first argument is a
#'   numeric vector of length `d`, that returns one number; or the result of
#'   [native_density()].
#' @param init Numeric vector of length `d`, finite, where the density is
#'   positive: where the search for the mode begins. Its names become columns.
#' @param proposal A proposal; with `blocks` also a list of them, one for each
#'   block. `NULL` (default) is [nuts()] if there is a gradient, and otherwise
#'   [adaptive()].
#' @param ... Further arguments of `log_density` (and of the gradient), by name.
#'   Arguments of `mh_sample()` need their whole names, so that `p = 1` is an
#'   argument of `log_density`, not the `proposal`. [drop_data()] says what a
#'   fit saves with functions.
#' @param gradient `NULL` (default), or a function of a point: the gradient of
#'   the log density, for [nuts()], [hmc()] and [langevin()].
#' @param blocks `NULL` (default: one block of all coordinates), `"each"` (every
#'   coordinate on its own) or a list of vectors of names or numbers of
#'   coordinates, which together name all coordinates; its names become those of
#'   the blocks.
#' @param lower,upper One number or `d` of them: bounds of the coordinates
#'   (default none). Names match those of `init`; `lower = c(sigma = 0)` bounds
#'   one coordinate and leaves the others without a bound.
#' @param transform `FALSE` (default) or `TRUE`: see Bounds.
#' @param on_nan `"stop"` (default) or `"reject"`: what to do about NaN.
#' @param debug `FALSE` (default), or `TRUE`: store every step, for
#'   [mh_trace()]. Use it for short runs: the stored steps must not exceed
#'   `options(gibbsite.max_draws_mb = )`.
#' @param burnin,thin As in [running]; `NULL` (default): see Length of the run.
#' @param threads Accepted, but not used: the steps of a chain cannot run in
#'   parallel.
#' @param draws,chains,inits,keep,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @return An object of class `mh_sample`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]. [acceptance()] gives the acceptance rates.
#' @section Errors:
#' `gibbsite_error_argument` for arguments, before any chain runs;
#' `gibbsite_error_chain` for a chain that fails, with the others in `$fit`.
#' @references
#' Andrieu C, Roberts GO (2009). The pseudo-marginal approach for efficient
#' Monte Carlo computations. *Annals of Statistics* 37, 697-725.
#' \doi{10.1214/07-AOS574}
#'
#' Hastings WK (1970). Monte Carlo sampling methods using Markov chains and
#' their applications. *Biometrika* 57, 97-109. \doi{10.1093/biomet/57.1.97}
#'
#' Metropolis N, Rosenbluth AW, Rosenbluth MN, Teller AH, Teller E (1953).
#' Equation of state calculations by fast computing machines. *Journal of
#' Chemical Physics* 21, 1087-1092. \doi{10.1063/1.1699114}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides,
#' "Metropolis-Hastings". Indian Institute of Technology Kanpur.
#' @seealso [mh_start], [gibbs_sample()] for conditionals of your own,
#'   [predict()][mh-predict] for predictions from the draws; [acceptance()],
#'   [mh_trace()], [native_density()]; `vignette("metropolis", "gibbsite")`.
#' @examples
#' # logistic regression of transmission on weight
#' log_posterior <- function(w, x, y) {
#'   eta <- w[1] + w[2] * x
#'   sum(y * eta - log1p(exp(eta))) + sum(dnorm(w, 0, 5, log = TRUE))
#' }
#' fit <- mh_sample(log_posterior, c(intercept = 0, weight = 0),
#'   x = mtcars$wt - 3, y = mtcars$am, seed = 1
#' )
#' summary(fit)
#' acceptance(fit)
#' @export
mh_sample <- function(log_density, init, proposal = NULL, ...,
                      gradient = NULL, blocks = NULL, lower = -Inf, upper = Inf,
                      transform = FALSE, on_nan = c("stop", "reject"),
                      debug = FALSE, draws = NULL, burnin = NULL, thin = NULL,
                      chains = 4, inits = NULL, keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = TRUE, keep_data = TRUE) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_needed(
    log_density = "a function of a numeric vector",
    init = "a point where the density is positive"
  )
  check_log_density(log_density, call)
  extra <- check_extra(
    list(...), log_density, "log_density", "the point", call, "mh_sample"
  )
  init <- check_numeric_vector(
    mode_or_point(init, "init", call), arg = "init", call = call
  )
  names <- parameter_names(init, call)
  box <- check_box(lower, upper, transform, init, call)
  gradient <- check_gradient_function(gradient)
  proposal <- proposal %||% default_proposal(gradient, log_density)
  plan <- plan_blocks(proposal, blocks, init, names, call)
  check_gradient_used(gradient, plan, call)
  check_tempered_alone(plan, call)
  long <- all(plan_traits(plan, "far", has_trait))
  thin <- check_count(
    thin %||% if (long) 1 else ceiling(length(init) / length(plan)),
    arg = "thin", call = call
  )
  running <- running_of(
    call, burnin = burnin %||%
      if (long) 1000 else thin * burnin_draws(length(init)),
    keep_choices = block_names(names)
  )
  check_proposal_size(plan, running$chains, call)
  if (check_flag(debug)) {
    check_trace_size(running, length(plan), length(init), call)
  }
  model <- mh_model(
    log_density, extra, init, names, plan, box, running$keep,
    check_choice(on_nan, c("stop", "reject")), debug, call, gradient
  )
  run_chains(model, running, match.call(), call)
}

default_proposal <- function(gradient, log_density) {
  known <- !is.null(gradient) || has_native_gradient(log_density)
  if (known) nuts() else adaptive()
}

check_gradient_used <- function(gradient, plan, call) {
  used <- plan_has(plan, "gradient")
  if (!is.null(gradient) && !used) {
    abort_argument(
      c("{.arg gradient} is not used by {.arg proposal}.",
        i = "{.fn nuts}, {.fn hmc} and {.fn langevin} use it."),
      call = call
    )
  }
}

# Adaptation takes longer with more coordinates, because there are more
# covariances to estimate.
burnin_draws <- function(d) max(500, 20 * d)

#' Starts, checks and random numbers of mh_sample()
#'
#' Where the chains of [mh_sample()] start, which faults of a log density it
#' finds, and what the functions given to it may do.
#'
#' @section Starting values:
#' Before the chains start, one search for them all climbs from `init` to the
#' mode of the log density. It uses [stats::nlminb()], in rounds: first in units
#' of the distances over which the log density falls around `init`, then along
#' the axes of the curvature at the best point so far. `init` may therefore be
#' far from the mode, the parameters may have any units, and zero density, NaN
#' and errors may lie on the way: zeros suffice for a smooth density with one
#' mode. The chains start around the mode. Their starts are normal, with four
#' times the covariance that the curvature at the mode gives, so that they are
#' more dispersed than the posterior (Gelman and Rubin 1992). Where the log
#' density is zero, or lower by more than \eqn{50 + 10 d}{50 + 10 d} than at the
#' mode, a new start is drawn with half the deviation, up to 50 times. Adaptive
#' proposals begin with the same covariance.
#'
#' A coordinate with `lower` or `upper` is searched on the whole line (see
#' Bounds), with or without `transform`. Errors and NaN away from `init` count
#' as zero density in the search. It takes at most \eqn{500 + 200 d + 10
#' d^2}{500 + 200 d + 10 d^2} evaluations, and usually far fewer; the fit prints
#' the number.
#'
#' The search is not used if it reaches no mode within that number, or finds
#' that the density is random or has no peak, that there are several modes, or
#' that the peak has less mass than the neighbourhood of `init`. The fit says
#' so. No search is made with more than 500 parameters (100 if no proposal needs
#' a covariance, 30 if all blocks are moved by [nuts()] or [hmc()]). In both
#' cases the chains start around `init`. For each coordinate the sampler finds
#' the distance from `init` at which the log density has fallen by 1/2, and adds
#' a normal variate whose standard deviation is twice this distance (halved, up
#' to 50 times, if the density is zero at the start).
#'
#' A chain that starts far below the typical log density climbs at first. What
#' adaptive proposals learn on the way up is forgotten: in burn-in, each time
#' the log density is higher by more than \eqn{10 + d}{10 + d} than where the
#' adaptation began, it begins again.
#'
#' With `inits` no search is made. An entry of `inits` is a vector like `init`;
#' its chain starts exactly there. A Laplace approximation can be given as
#' `init`: its mode is used.
#'
#' @section Functions that are no log density:
#' Some functions are the log density of no distribution, and the fit says what
#' it has found. Where the search has found no peak, or [nuts()] or [hmc()] move
#' chains without a search, `log_density` is followed far from `init` along each
#' coordinate. If it does not fall there (faster than one over the distance),
#' rises without bound at a point, or depends only on a sum or a product of
#' parameters, a message of class `gibbsite_message_improper` names the
#' parameters before the chains run. A run to a stopping rule then ends after
#' 100 sweeps of burn-in and 100 draws. The same is looked for after the run if
#' the chains have not converged, and at the first check of a stopping rule,
#' which then ends the run.
#'
#' After a run of at least 100 draws the fit also says whether all values lie
#' between 0 and 1, as those of a density and not of its logarithm do; whether
#' the density has steps in a parameter, or is zero between whole numbers, so
#' that whole numbers are meant;
#' whether it becomes zero beside the draws of [nuts()], which bounds with
#' `transform = TRUE` avoid; whether no draw is near the mode of the search,
#' although it has more mass than their region; and whether a further argument
#' is not used. All of this takes at most a few hundred evaluations for a few
#' parameters.
#'
#' @section Your function and random numbers:
#' The sampler and the starting points have separate streams, and your function
#' may use R's generator. It may draw random numbers (governed by `seed`), run
#' another chain, set a seed (its noise is then the same at each call, as
#' simulated likelihoods with common random numbers need it) or change the kind
#' of generator and restore it. The number of random numbers that it uses does
#' not change the chain's own. The exception is `draw` of a [custom_proposal()],
#' which uses the chain's stream and must not set a seed. Changing the kind of
#' generator without restoring it is an error. Your function gets a new vector
#' at each call, with the names of `init`, and may keep it.
#'
#' @references
#' Gelman A, Rubin DB (1992). Inference from iterative simulation using multiple
#' sequences. *Statistical Science* 7, 457-472. \doi{10.1214/ss/1177011136}
#' @seealso [mh_sample()], [converged()], [laplace()].
#' @name mh_start
NULL
