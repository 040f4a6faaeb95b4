# langevin(). src/core/mh/mh_langevin.c moves it.

#' Langevin proposal (MALA)
#'
#' The Metropolis-adjusted Langevin algorithm: a normal step along the gradient
#' of the log density,
#' \deqn{y \sim N(x + \tfrac{s^2}{2} C \nabla \log p(x), s^2 C),}{
#'   y ~ N(x + s^2/2 C grad log p(x), s^2 C),}
#' corrected for its asymmetry (Roberts and Tweedie 1996). In many dimensions it
#' needs about \eqn{d^{1/3}}{d^(1/3)} steps where a random walk needs \eqn{d}.
#'
#' The step \eqn{s} is tuned during burn-in to an acceptance rate of 0.574, the
#' best one for many independent coordinates (Roberts and Rosenthal 1998), and
#' then fixed.
#'
#' @param step `NULL` or a positive number: the \eqn{s} at which the tuning
#'   begins. With `NULL` (default) it is found at the mode, or at the starting
#'   point if there was no search for the mode.
#' @param gradient `NULL` (default): found as for [nuts()], section Gradient. Or
#'   a function of a point: the gradient of the *whole* log density (on its own
#'   scale, also with `transform = TRUE`), `d` finite numbers. It gets those
#'   further arguments of the density that it has arguments for. [mh_step()]
#'   needs it here.
#' @param cov \eqn{C}: `NULL` (default: the identity), a symmetric positive
#'   definite matrix, `"laplace"` (the inverse of the negative Hessian at the
#'   mode), or a Laplace approximation. Set it if the coordinates' scales
#'   differ.
#' @param tune `TRUE` (default): tune the step in burn-in. `FALSE`: keep it.
#' @param target Number between 0 and 1 (default 0.574): the target acceptance
#'   rate.
#' @return A proposal: an object of class `langevin` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Roberts GO, Rosenthal JS (1998). Optimal scaling of discrete approximations
#' to Langevin diffusions. *JRSS B* 60, 255-268. \doi{10.1111/1467-9868.00123}
#'
#' Roberts GO, Tweedie RL (1996). Exponential convergence of Langevin
#' distributions and their discrete approximations. *Bernoulli* 2, 341-363.
#' \doi{10.2307/3318418}
#' @family proposals
#' @examples
#' langevin(gradient = function(x) -x)
#' @export
langevin <- function(step = NULL, gradient = NULL, cov = NULL, tune = TRUE,
                     target = 0.574) {
  step <- check_tuned_step(step, tune)
  new_proposal("langevin",
    step = step, gradient = check_gradient_function(gradient),
    cov = check_spread(cov), tune = check_flag(tune),
    target = check_rate(target)
  )
}

#' @exportS3Method
move_traits.langevin <- function(move) {
  list(
    density = TRUE, scalable = TRUE, gradient = TRUE, learns = move$tune,
    scale = is.null(move$step) && is.null(move$cov),
    matrix = !is.null(move$cov), mode = identical(move$cov, "laplace")
  )
}

#' @exportS3Method
move_words.langevin <- function(move) {
  paste0(
    "Langevin proposal",
    if (!is.null(move$step)) paste0(", step ", format(move$step, digits = 4)),
    if (move$tune) ", tuned in burn-in"
  )
}

# A fixed step is part of the factor L.
#' @exportS3Method
move_compile.langevin <- function(move, at) {
  factor <- if (is.null(move$cov)) {
    rep(1, at$d)
  } else {
    proposal_factor(move$cov, at)
  }
  list(
    target = move$target, tuned = if (move$tune) 1L else 0L,
    factor = if (move$tune) factor else move$step * factor
  )
}

#' @exportS3Method
move_memory.langevin <- function(move, compiled, x, scale, factor = NULL) {
  if (!move$tune) return(new_memory())
  unit <- if (is.null(move$cov)) min(scale) else 1
  new_memory(
    log_step = log(move$step %||% (1.65 / compiled$d^(1 / 6) * unit))
  )
}
