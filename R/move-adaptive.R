# adaptive(). src/core/mh/mh_adaptive.c moves it.

#' Adaptive random walk
#'
#' A normal random walk \eqn{y = x + s L e}{y = x + s L e}, \eqn{e \sim N(0,
#' I)}{e ~ N(0, I)}, whose covariance \eqn{L L^\top}{L L'} and scale \eqn{s} are
#' adapted during burn-in and then fixed. The kept draws are those of an
#' ordinary random walk, which leaves the posterior exactly invariant.
#'
#' After each step of burn-in, with \eqn{x} the current point of the chain,
#' \eqn{\alpha} the acceptance probability of the step and \eqn{n} the number of
#' steps (Haario et al. 2001; Andrieu and Thoms 2008, algorithm 4):
#' \deqn{\log s \leftarrow \log s + \min(1, 3 n^{-2/3}) (\alpha - \alpha^*),}{
#'   log s <- log s + min(1, 3 n^(-2/3)) (alpha - alpha*),}
#' \deqn{m \leftarrow m + g_n (x - m), \quad
#'   L L^\top \leftarrow (1 - g_n) L L^\top + g_n (x - m)(x - m)^\top,}{
#'   m <- m + g (x - m), L L' <- (1 - g) L L' + g (x - m)(x - m)',}
#' with \eqn{g_n = 2 / (n + 10 d + 40)}{g = 2 / (n + 10 d + 40)}. With these
#' gains the weight of a point grows with \eqn{n}, so that the points visited on
#' the way from a poor start lose their weight.
#'
#' `forever = TRUE` continues to adapt after burn-in, with the same decreasing
#' gains (diminishing adaptation). The draws are then not a Markov chain, and
#' have the posterior distribution only asymptotically (Vihola 2012 gives
#' conditions).
#'
#' @param target `NULL` or a number between 0 and 1: the target acceptance rate.
#'   `NULL` (default) is \eqn{0.234 + 0.206 / d}{0.234 + 0.206 / d}: 0.44 for
#'   one coordinate, near 0.234 for many (Roberts, Gelman and Gilks 1997).
#' @param scale,cov The scales or the covariance of the density with which the
#'   adaptation begins, in the forms that [random_walk()] takes. The first
#'   steps have \eqn{2.38 / \sqrt d}{2.38 / sqrt(d)} times this scale. The
#'   default is the covariance of the normal density with the curvature of the
#'   log density at its mode, which [mh_sample()] finds once for all chains. If
#'   no mode is found, or with `inits`, it is the curvature at `init` or at the
#'   chain's entry of `inits`. It is then computed from differences over the
#'   distances at which the log density has fallen by 1/2 along each coordinate,
#'   and again along the principal axes that these give. This takes some
#'   \eqn{d^2 + 10 d}{d^2 + 10 d} evaluations for each chain.
#' @param forever `FALSE` (default): stop adapting after burn-in. `TRUE`: never
#'   stop.
#' @return A proposal: an object of class `adaptive` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Andrieu C, Thoms J (2008). A tutorial on adaptive MCMC. *Statistics and
#' Computing* 18, 343-373. \doi{10.1007/s11222-008-9110-y}
#'
#' Haario H, Saksman E, Tamminen J (2001). An adaptive Metropolis algorithm.
#' *Bernoulli* 7, 223-242. \doi{10.2307/3318737}
#'
#' Vihola M (2012). Robust adaptive Metropolis algorithm with coerced acceptance
#' rate. *Statistics and Computing* 22, 997-1008.
#' \doi{10.1007/s11222-011-9269-5}
#'
#' Roberts GO, Gelman A, Gilks WR (1997). Weak convergence and optimal scaling
#' of random walk Metropolis algorithms. *Annals of Applied Probability* 7,
#' 110-120. \doi{10.1214/aoap/1034625254}
#' @family proposals
#' @examples
#' adaptive()
#' adaptive(scale = c(0.1, 10), target = 0.3)
#' @export
adaptive <- function(target = NULL, scale = NULL, cov = NULL,
                     forever = FALSE) {
  if (!is.null(scale) && !is.null(cov)) {
    abort_argument("{.arg scale} and {.arg cov} must not both be given.")
  }
  new_proposal("adaptive",
    target = check_rate(target, null_ok = TRUE), scale = check_scale(scale),
    cov = check_spread(cov), forever = check_flag(forever)
  )
}

#' @exportS3Method
move_traits.adaptive <- function(move) {
  unknown <- is.null(move$scale) && is.null(move$cov)
  list(
    density = TRUE, scalable = TRUE, learns = TRUE, matrix = TRUE,
    scale = unknown, covariance = unknown,
    mode = identical(move$cov, "laplace")
  )
}

#' @exportS3Method
move_words.adaptive <- function(move) {
  paste0(
    "adaptive random walk, ",
    if (move$forever) "never frozen" else "frozen after burn-in"
  )
}

# `factor` is the starting value of the adaptation; it is empty when it still
# has to be found.
#' @exportS3Method
move_compile.adaptive <- function(move, at) {
  list(
    target = move$target %||% (0.234 + 0.206 / at$d),
    tuned = if (move$forever) 2L else 1L,
    factor = if (!is.null(move$scale)) {
      diag_vector(as_coordinates(move$scale, "scale", at))
    } else if (!is.null(move$cov)) {
      proposal_factor(move$cov, at)
    } else {
      numeric()
    }
  )
}

#' @exportS3Method
move_memory.adaptive <- function(move, compiled, x, scale, factor = NULL) {
  new_memory(
    factor = if (length(compiled$factor) > 0L) {
      compiled$factor + 0
    } else {
      factor %||% diag_vector(scale)
    },
    mean = as.double(x), log_step = log(2.38 / sqrt(compiled$d))
  )
}
