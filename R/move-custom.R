# custom_proposal(). src/core/mh/mh_custom.c moves it.

#' Proposal of your own
#'
#' Any proposal \eqn{q(y | x)} that can be drawn from and whose density is known
#' up to a constant that does not depend on \eqn{x} and \eqn{y}. [mh_sample()]
#' accepts a draw with probability \eqn{\min(1, p(y) q(x | y) / (p(x) q(y |
#' x)))}{min(1, p(y) q(x | y) / (p(x) q(y | x)))} (Hastings 1970), which
#' corrects for an asymmetric proposal.
#'
#' Both functions get points in the form in which proposals are made: with names
#' if `init` has them, only the coordinates of the block if there are blocks,
#' and on the transformed scale with `transform = TRUE`. `draw` may use R's
#' random numbers, but must not set a seed.
#'
#' @param draw Function of one argument, the current point `x`. It returns a
#'   draw `y`, finite numbers, as many as `x` has.
#' @param log_density Function of two arguments, `y` and `x` (in this order):
#'   \eqn{\log q(y | x)}{log q(y | x)}, one number; `-Inf` where `y` cannot be
#'   drawn from `x`. `NULL` says that the proposal is symmetric, \eqn{q(y | x) =
#'   q(x | y)}{q(y | x) = q(x | y)}: this is not checked.
#' @return A proposal: an object of class `custom_proposal` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Hastings WK (1970). Monte Carlo sampling methods using Markov chains and
#' their applications. *Biometrika* 57, 97-109. \doi{10.1093/biomet/57.1.97}
#' @family proposals
#' @examples
#' # a positive number, moved by a random factor
#' custom_proposal(
#'   draw = function(x) x * exp(rnorm(1, 0, 0.5)),
#'   log_density = function(y, x) dlnorm(y, log(x), 0.5, log = TRUE)
#' )
#' @export
custom_proposal <- function(draw, log_density) {
  check_needed(
    draw = "a function that draws from the proposal",
    log_density = "log q(y | x), or NULL for a symmetric proposal"
  )
  new_proposal("custom_proposal",
    draw = check_user_function(draw, 1L),
    log_density = if (!is.null(log_density)) {
      check_user_function(log_density, 2L)
    }
  )
}

#' @exportS3Method
move_traits.custom_proposal <- function(move) {
  list(density = TRUE, user = TRUE)
}

#' @exportS3Method
move_words.custom_proposal <- function(move) {
  if (is.null(move$log_density)) {
    "custom proposal, taken for symmetric"
  } else {
    "custom proposal with its density"
  }
}

#' @exportS3Method
move_compile.custom_proposal <- function(move, at) {
  list()
}

#' @exportS3Method
move_functions.custom_proposal <- function(move) {
  list(
    draw = caller(move$draw, "draw", role = "draw of custom_proposal()"),
    log_q = caller(move$log_density %||% function(y, x) 0, "log_density", 2L,
      role = "log_density of custom_proposal()"
    )
  )
}
