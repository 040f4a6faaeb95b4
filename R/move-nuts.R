# nuts(). src/core/mh/mh_nuts.c has the mathematics.

#' No-U-turn sampler
#'
#' Hamiltonian Monte Carlo that finds the length of its trajectories itself
#' (Hoffman and Gelman 2014). The position \eqn{x}{x} gets a momentum \eqn{p
#' \sim N(0, M)}{p ~ N(0, M)}, and both move by leapfrog steps of size \eqn{s}
#' along \eqn{H(x, p) = -\log p(x) + p^\top M^{-1} p / 2}{H(x, p) = -log p(x) +
#' p' M^-1 p / 2}. The trajectory is doubled, forwards or backwards in time,
#' until it turns back. The next point of the chain is drawn from its points,
#' with probabilities proportional to \eqn{\exp(-H)}{exp(-H)} within each half,
#' and with a preference for the newer half (Betancourt 2017, appendix A). The
#' posterior is exactly invariant, whatever the step, the mass and the gradient.
#'
#' It is the default proposal of [mh_sample()] if a gradient is given. In many
#' dimensions it needs far fewer evaluations than a random walk.
#'
#' @section Burn-in:
#' The step and the mass adapt during burn-in and are then fixed.
#' * The step: dual averaging (Nesterov 2009) towards a mean acceptance
#'   statistic of `target`, with the constants of Hoffman and Gelman (2014). It
#'   begins at a step at which the acceptance probability is near 0.8.
#' * The mass: \eqn{M^{-1}}{M^-1} is the covariance of the chain in a window of
#'   \eqn{n} sweeps, multiplied by \eqn{n / (n + 5)}{n / (n + 5)}, plus
#'   \eqn{0.005 / (n + 5)}{0.005 / (n + 5)} times its value before. With `mass =
#'   "diagonal"` only the variances are used.
#'
#' As in Stan (Stan Development Team 2024), the first 75 sweeps adapt the step
#' alone. Windows of 25, 50, 100, ... sweeps follow; after each, the step is
#' found anew. The last 50 sweeps adapt the step to the last mass. With a
#' burn-in below 150 sweeps, the first buffer is 15% of it, the last one 10%,
#' and there is one window; below 20 sweeps the mass does not adapt.
#' \eqn{M^{-1}}{M^-1} begins at the covariance that the curvature at the mode
#' gives, or else at the scales of the coordinates at the start (see
#' [mh_sample()]).
#'
#' @section Diagnostics:
#' Stored with each draw, and given by `bayesplot::nuts_params()`
#' ([fit-bayesplot]): the acceptance statistic, the step, the depth of the
#' tree, the number of leapfrog steps, whether the trajectory diverged, and the
#' energy. `print()` and `summary()` show a line: the number of divergences
#' (\eqn{H} rose by more than 1,000: the step is too long for a region of high
#' curvature, and the draws may miss it), of trees of the greatest depth
#' (trajectories that could have been longer), and the least energy Bayesian
#' fraction of missing information, E-BFMI (Betancourt 2016; values below 0.3
#' mean that the chains explore the tails slowly). They count all sweeps after
#' burn-in, also those that `thin` leaves out. Where the chains agree, but one
#' transition in a hundred or more diverged, a warning of class
#' `gibbsite_warning_region` says so.
#'
#' A trajectory that leaves the region where the density is positive ends as a
#' divergence. Where `lower` and `upper` bound the parameters,
#' `transform = TRUE` avoids this.
#'
#' @section Gradient:
#' The gradient is that of the *whole* log density, on its own scale, also with
#' `blocks` and with `transform = TRUE`. It can be
#' * a function of a point, as `gradient` here or of [mh_sample()]; it gets
#'   those further arguments of the density that it has arguments for;
#' * part of [native_density()], in compiled code;
#' * the attribute `"gradient"` of the values of `log_density`, such as
#'   expressions by [stats::deriv()] have;
#' * if none of these is given, computed by differences
#'   ([numDeriv::grad()]) with a message. This takes `4 d` evaluations of the
#'   density for each leapfrog step.
#'
#' It is compared with differences of the log density where each chain starts: a
#' wrong gradient is an error. Where the density is positive it must be finite.
#'
#' @param gradient `NULL` (default), or a function of a point: see Gradient.
#' @param mass `"diagonal"` (default), or `"dense"`: the whole covariance, for
#'   strongly correlated parameters; a step then takes time proportional to
#'   \eqn{d^2}{d^2}.
#' @param max_depth Whole number from 1 to 15 (default 10): the tree is doubled
#'   at most so many times, so that a trajectory has at most `2^max_depth - 1`
#'   steps.
#' @param target Number between 0 and 1 (default 0.8): the mean acceptance
#'   statistic aimed at. A higher one makes shorter steps, which helps against
#'   divergences.
#' @param ... Not used: any other argument is an error.
#' @return A proposal: an object of class `nuts` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Betancourt M (2016). Diagnosing suboptimal cotangent disintegrations in
#' Hamiltonian Monte Carlo. arXiv:1604.00695.
#' \doi{10.48550/arXiv.1604.00695}
#'
#' Betancourt M (2017). A conceptual introduction to Hamiltonian Monte Carlo.
#' arXiv:1701.02434. \doi{10.48550/arXiv.1701.02434}
#'
#' Hoffman MD, Gelman A (2014). The No-U-Turn sampler: adaptively setting path
#' lengths in Hamiltonian Monte Carlo. *Journal of Machine Learning Research*
#' 15, 1593-1623. \doi{10.48550/arXiv.1111.4246}
#'
#' Nesterov Y (2009). Primal-dual subgradient methods for convex problems.
#' *Mathematical Programming* 120, 221-259. \doi{10.1007/s10107-007-0149-x}
#'
#' Stan Development Team (2024). *Stan Reference Manual*, "MCMC Sampling",
#' version 2.35. <https://mc-stan.org/docs/reference-manual/>
#' @family proposals
#' @examples
#' # logistic regression of transmission on weight
#' log_posterior <- function(w, x, y) {
#'   eta <- drop(x %*% w)
#'   sum(y * eta - log1p(exp(eta))) - sum(w^2) / 50
#' }
#' slope <- function(w, x, y) {
#'   drop(crossprod(x, y - plogis(drop(x %*% w)))) - w / 25
#' }
#' fit <- mh_sample(log_posterior, c(intercept = 0, weight = 0), nuts(slope),
#'   x = cbind(1, mtcars$wt - 3), y = mtcars$am, draws = 500, burnin = 300,
#'   chains = 2, seed = 1
#' )
#' fit
#' @export
nuts <- function(gradient = NULL, mass = c("diagonal", "dense"),
                 max_depth = 10, target = 0.8, ...) {
  check_no_extra(...)
  new_proposal("nuts",
    gradient = check_gradient_function(gradient),
    mass = check_mass(mass, "nuts"),
    max_depth = check_count(max_depth, min = 1, max = 15),
    target = check_rate(target)
  )
}

#' @exportS3Method
move_traits.nuts <- function(move) {
  dynamics_traits(move, TRUE)
}

#' @exportS3Method
move_words.nuts <- function(move) {
  paste0("no-U-turn sampler, ", move$mass, " mass")
}

#' @exportS3Method
move_compile.nuts <- function(move, at) {
  c(compile_dynamics(move, TRUE), list(depth = as.double(move$max_depth)))
}

#' @exportS3Method
move_memory.nuts <- function(move, compiled, x, scale, factor = NULL) {
  dynamics_memory(compiled, scale, factor)
}

#' @exportS3Method
move_notes.nuts <- function(move, ...) dynamics_words(...)
