# hmc(). src/core/mh/mh_hmc.c has the mathematics.

#' Hamiltonian Monte Carlo
#'
#' The position \eqn{x}{x} gets a momentum \eqn{p \sim N(0, M)}{p ~ N(0, M)},
#' and both move `n_steps` leapfrog steps of size \eqn{s} along \eqn{H(x, p) =
#' -\log p(x) + p^\top M^{-1} p / 2}{H(x, p) = -log p(x) + p' M^-1 p / 2}. The
#' end is accepted with probability \eqn{\min(1, \exp(-\Delta H))}{min(1,
#' exp(-change of H))} (Duane et al. 1987; Neal 2011). [nuts()] finds the number
#' of steps itself and is easier to use.
#'
#' The step of each trajectory is \eqn{s (1 + j u)}{s (1 + j u)}, where \eqn{j}
#' is `jitter` and \eqn{u} is uniform on \eqn{(-1, 1)}, independent of the
#' state. Trajectories of one length could be periodic and never reach some
#' points.
#'
#' Step and mass adapt during burn-in in the same way as those of [nuts()], and
#' are then fixed.
#'
#' @param step `NULL` (default) or a positive number: the \eqn{s} at which the
#'   adaptation begins, in units of the standard deviations that \eqn{M^{-1}}{
#'   M^-1} has; with `tune = FALSE` the step, in units of the parameters.
#' @param n_steps Whole number (default 10): leapfrog steps of a trajectory.
#' @inheritParams nuts
#' @param jitter Number from 0 to below 1 (default 0.1).
#' @param tune `TRUE` (default): adapt step and mass in burn-in. `FALSE`: keep
#'   the step, and \eqn{M} the identity.
#' @param target Number between 0 and 1 (default 0.8): the acceptance rate aimed
#'   at.
#' @param ... Not used: any other argument is an error.
#' @return A proposal: an object of class `hmc` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @inheritSection nuts Gradient
#' @references
#' Duane S, Kennedy AD, Pendleton BJ, Roweth D (1987). Hybrid Monte Carlo.
#' *Physics Letters B* 195, 216-222. \doi{10.1016/0370-2693(87)91197-X}
#'
#' Neal RM (2011). MCMC using Hamiltonian dynamics. In Brooks S, Gelman A, Jones
#' GL, Meng X-L (eds.), *Handbook of Markov Chain Monte Carlo*, 113-162.
#' Chapman & Hall/CRC. \doi{10.1201/b10905-6}
#' @family proposals
#' @examples
#' hmc(gradient = function(x) -x)
#' hmc(0.2, n_steps = 20, gradient = function(x) -x, tune = FALSE)
#' @export
hmc <- function(step = NULL, n_steps = 10, gradient = NULL,
                mass = c("diagonal", "dense"), jitter = 0.1, tune = TRUE,
                target = 0.8, ...) {
  check_no_extra(...)
  step <- check_tuned_step(step, tune)
  new_proposal("hmc",
    step = step, n_steps = check_count(n_steps, min = 1, max = 1e6),
    gradient = check_gradient_function(gradient),
    mass = check_mass(mass, "hmc"),
    jitter = check_number(jitter, lower = 0, upper = 1, upper_open = TRUE),
    tune = check_flag(tune), target = check_rate(target)
  )
}

#' @exportS3Method
move_traits.hmc <- function(move) {
  dynamics_traits(move, move$tune)
}

#' @exportS3Method
move_words.hmc <- function(move) {
  paste0(
    cli::pluralize("Hamiltonian Monte Carlo, {move$n_steps} step{?s}"),
    if (!is.null(move$step)) paste(" of", format(move$step, digits = 4)),
    if (move$tune) paste0(", ", move$mass, " mass, tuned in burn-in")
  )
}

#' @exportS3Method
move_compile.hmc <- function(move, at) {
  c(
    compile_dynamics(move, move$tune),
    list(steps = as.double(move$n_steps), jitter = move$jitter)
  )
}

#' @exportS3Method
move_memory.hmc <- function(move, compiled, x, scale, factor = NULL) {
  dynamics_memory(compiled, scale, factor, move$step)
}

#' @exportS3Method
move_notes.hmc <- function(move, ...) dynamics_words(...)
