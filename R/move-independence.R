# independence(). src/core/mh/mh_independence.c moves it.

#' Independence proposal
#'
#' Proposes \eqn{y \sim N(m, C)}{y ~ N(m, C)}, or multivariate t, independently
#' of the current point. [mh_sample()] accepts it with probability \eqn{\min(1,
#' p(y) q(x) / (p(x) q(y)))}{min(1, p(y) q(x) / (p(x) q(y)))}. It works well if
#' the proposal is close to the target and has heavier tails. If its tails are
#' lighter, a chain can stay in the tail for a very long time; for this reason
#' the default is a t distribution.
#'
#' @param mean The centre: `d` numbers, or a Laplace approximation, whose mode
#'   and (if `cov` is missing) covariance are used. Names of `mean` and `cov`
#'   match those of `init`.
#' @param cov The covariance (for t: the scale matrix), a symmetric positive
#'   definite `d x d` matrix or a Laplace approximation.
#' @param df Degrees of freedom, a positive number (default 5); `Inf` for the
#'   normal distribution.
#' @return A proposal: an object of class `independence` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Tierney L (1994). Markov chains for exploring posterior distributions.
#' *Annals of Statistics* 22, 1701-1728. \doi{10.1214/aos/1176325750}
#' @family proposals
#' @examples
#' independence(c(0, 0), diag(2))
#' @export
independence <- function(mean, cov = NULL, df = 5) {
  check_needed(mean = "the centre of the proposal")
  call <- rlang::current_env()
  borrowed <- is_laplace_fit(mean) || is_laplace_fit(cov)
  if (is_laplace_fit(mean)) {
    check_approximation(mean, "mean", call)
    cov <- cov %||% mean
    mean <- approximation_mean(mean)
  }
  if (is.null(cov)) {
    abort_argument("{.arg cov} is needed: the covariance of the proposal.")
  }
  if (is_laplace_fit(cov)) {
    check_approximation(cov, "cov", call)
    cov <- approximation_covariance(cov)
  }
  cov <- check_spread(cov, laplace_ok = FALSE)
  mean <- check_numeric_vector(mean, length = nrow(cov),
    length_why = "rows of `cov`"
  )
  new_proposal("independence",
    mean = mean, cov = in_order_of_mean(cov, mean, borrowed, "cov", call),
    borrowed = borrowed,
    df = check_number(df, 0, lower_open = TRUE, infinite_ok = TRUE)
  )
}

#' @exportS3Method
move_traits.independence <- function(move) {
  list(density = TRUE, matrix = TRUE)
}

#' @exportS3Method
move_words.independence <- function(move) {
  paste0(
    "independence proposal, ",
    if (is.finite(move$df)) paste0("t with ", move$df, " degrees of freedom")
    else "normal"
  )
}

#' @exportS3Method
move_compile.independence <- function(move, at) {
  list(
    family = if (is.finite(move$df)) 1L else 0L,
    df = as.double(move$df),
    mean = as_coordinates(move$mean, "mean", at, move$borrowed),
    factor = proposal_factor(move$cov, at, borrowed = move$borrowed)
  )
}
