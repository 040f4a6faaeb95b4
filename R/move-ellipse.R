# elliptical_slice(). src/core/mh/mh_ellipse.c has the mathematics.

#' Elliptical slice sampling
#'
#' For a posterior whose prior is normal, such as that of a Gaussian process:
#' \deqn{p(x) \propto L(x) N(x; m, C),}{p(x) = L(x) N(x; m, C) up to a
#'   constant,}
#' where \eqn{m} is `prior_mean` and \eqn{C} is `prior_cov`. A variate \eqn{v
#' \sim N(0, C)}{v ~ N(0, C)} gives the ellipse
#' \deqn{x(a) = m + (x - m) \cos a + v \sin a.}{
#'   x(a) = m + (x - m) cos(a) + v sin(a).}
#' An angle \eqn{a} is drawn uniformly until the likelihood at \eqn{x(a)}{x(a)}
#' is above a height, drawn uniformly between 0 and \eqn{L(x)}{L(x)}; the range
#' of angles shrinks towards 0 meanwhile (Murray, Adams and MacKay 2010). There
#' is nothing to tune and nothing to reject.
#'
#' As everywhere, `log_density` of [mh_sample()] is the log *posterior* density
#' up to a constant, with the prior. The sampler subtracts the logarithm of
#' \eqn{N(x; m, C)}{N(x; m, C)} to get the likelihood.
#'
#' The draws are exact with any mean and covariance: they need not be those of
#' the prior. With the actual prior, moves are long if the likelihood is
#' weak. Where it is strong, a normal approximation of the posterior serves
#' better (Nishihara, Murray and Adams 2014): a Laplace approximation can be
#' given as `prior_cov`. Its tails should not be much lighter than those of the
#' posterior.
#'
#' With `blocks` the mean and covariance are those of the block's coordinates
#' (given the others, or any); with `transform = TRUE` they are those of the
#' transformed coordinates. The log density must not be random, as with
#' [univariate_slice()].
#'
#' `print()` and `summary()` of a fit show the mean number of points at which a
#' sweep after burn-in needed the log density.
#'
#' @param prior_cov The prior covariance: a symmetric positive definite `d x d`
#'   matrix; one positive number or `d` of them, variances of independent
#'   coordinates; or a Laplace approximation.
#' @param prior_mean The prior mean: one number (default 0) or `d` of them, or a
#'   Laplace approximation, whose mode and (if `prior_cov` is missing)
#'   covariance are used. Names match those of `init`.
#' @return A proposal: an object of class `elliptical_slice` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Murray I, Adams RP, MacKay DJC (2010). Elliptical slice sampling. *JMLR
#' Workshop and Conference Proceedings* 9, 541-548.
#' \doi{10.48550/arXiv.1001.0175}
#'
#' Nishihara R, Murray I, Adams RP (2014). Parallel MCMC with generalized
#' elliptical slice sampling. *Journal of Machine Learning Research* 15,
#' 2087-2112. \doi{10.48550/arXiv.1210.7477}
#' @family proposals
#' @examples
#' # a smooth rate of counts: the log rate is a Gaussian process over years
#' y <- as.vector(discoveries)[1:40]
#' distance <- abs(outer(1:40, 1:40, "-"))
#' prior_cov <- exp(-(distance / 10)^2) + diag(1e-4, 40)
#' precision <- solve(prior_cov)
#' log_posterior <- function(f) {
#'   z <- f - 1
#'   sum(dpois(y, exp(f), log = TRUE)) - sum(z * (precision %*% z)) / 2
#' }
#' fit <- mh_sample(log_posterior, rep(1, 40), elliptical_slice(prior_cov, 1),
#'   draws = 300, burnin = 200, thin = 20, chains = 2, seed = 1,
#'   inits = list(numeric(40), rep(2, 40))
#' )
#' plot(coef(fit), type = "l", xlab = "Year", ylab = "Log rate")
#' @export
elliptical_slice <- function(prior_cov, prior_mean = 0) {
  call <- rlang::current_env()
  if (missing(prior_cov)) {
    if (!is_laplace_fit(prior_mean)) {
      check_needed(prior_cov = "the covariance of the normal prior")
    }
    prior_cov <- prior_mean
  }
  borrowed <- is_laplace_fit(prior_mean) || is_laplace_fit(prior_cov)
  if (is_laplace_fit(prior_mean)) {
    check_approximation(prior_mean, "prior_mean", call)
    prior_mean <- approximation_mean(prior_mean)
  }
  prior_cov <- check_prior_cov(prior_cov, call)
  d <- if (is.matrix(prior_cov)) nrow(prior_cov) else length(prior_cov)
  prior_mean <- check_numeric_vector(prior_mean,
    length = if (d > 1L) c(1L, d), length_why = "the size of `prior_cov`"
  )
  new_proposal("elliptical_slice",
    prior_cov = in_order_of_mean(
      prior_cov, prior_mean, borrowed, "prior_cov", call
    ),
    prior_mean = prior_mean, borrowed = borrowed
  )
}

# `prior_cov`: a matrix, or a vector of variances.
check_prior_cov <- function(prior_cov, call) {
  if (is_laplace_fit(prior_cov)) {
    check_approximation(prior_cov, "prior_cov", call)
    return(approximation_covariance(prior_cov))
  }
  if (is.matrix(prior_cov)) {
    return(check_spread(prior_cov, "prior_cov", FALSE, call))
  }
  if (!is.numeric(prior_cov)) {
    abort_expected(
      prior_cov,
      "a covariance matrix, positive variances or a Laplace approximation",
      FALSE, "prior_cov", call
    )
  }
  check_numeric_vector(prior_cov,
    lower = 0, lower_open = TRUE, arg = "prior_cov", call = call
  )
}

#' @exportS3Method
move_traits.elliptical_slice <- function(move) {
  list(
    far = TRUE, slice = TRUE, matrix = is.matrix(move$prior_cov),
    why_not = slices_alternate
  )
}

#' @exportS3Method
move_words.elliptical_slice <- function(move) "elliptical slice sampling"

#' @exportS3Method
move_compile.elliptical_slice <- function(move, at) {
  cov <- move$prior_cov
  list(
    mean = as_coordinates(move$prior_mean, "prior_mean", at, move$borrowed),
    factor = if (is.matrix(cov)) {
      proposal_factor(cov, at, arg = "prior_cov", borrowed = move$borrowed)
    } else {
      sqrt(as_coordinates(cov, "prior_cov", at, move$borrowed))
    }
  )
}

#' @exportS3Method
move_memory.elliptical_slice <- function(move, compiled, x, scale,
                                         factor = NULL) {
  new_memory(more = list(effort = numeric(2L)))
}

#' @exportS3Method
move_notes.elliptical_slice <- function(move, ...) slice_words(...)
