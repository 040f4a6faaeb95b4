# univariate_slice() and elliptical_slice(). src/core/mh/mh_slice.c and
# mh_ellipse.c have the mathematics.

# ---- elliptical_slice() ------------------------------------------------------

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
  prior_mean <- mode_or_point(prior_mean, "prior_mean", call)
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

# ---- univariate_slice() ------------------------------------------------------

#' Slice sampling of each coordinate
#'
#' In each sweep every coordinate \eqn{x_j}{x_j} in turn is moved by univariate
#' slice sampling (Neal 2003). A height \eqn{h}{h} is drawn uniformly between 0
#' and \eqn{p(x)}{p(x)}. An interval of width \eqn{w_j}{w_j}, placed at random
#' around \eqn{x_j}{x_j}, is extended by \eqn{w_j}{w_j} at both ends while the
#' density there is above \eqn{h}{h} (stepping out), to at most `max_steps`
#' widths. Points are then drawn uniformly from the interval until one has a
#' density above \eqn{h}{h}. Each point that has not becomes an end of the
#' interval (shrinkage).
#'
#' There is nothing to reject, and the draws depend little on the widths: a poor
#' width costs evaluations. No gradient is needed. Strongly dependent
#' coordinates make the moves short; [adaptive()] and [nuts()] use their
#' covariance.
#'
#' With `width = "auto"` the widths adapt during burn-in and are then fixed.
#' After each move of sweep \eqn{n}{n},
#' \deqn{\log w_j \leftarrow \log w_j + \min(1, 3 n^{-2/3}) (e / (e + c) -
#'   1/2),}{log w <- log w + min(1, 3 n^(-2/3)) (e / (e + c) - 1/2),}
#' where \eqn{e} counts the steps out and \eqn{c} the points that shrank the
#' interval. Tibbits et al. (2014) aim at the same share. The widths begin at
#' twice the scales of the coordinates at the mode, or at the start (see
#' [mh_sample()]).
#'
#' The log density must not be random: slice sampling with estimates of a
#' density (see [mh_sample()]) does not leave it invariant.
#'
#' `print()` and `summary()` of a fit show the mean number of points at which a
#' sweep after burn-in needed the log density.
#'
#' @param width `"auto"` (default), or one positive number or `d` of them: fixed
#'   widths, in units of the parameters. Names match those of `init`.
#' @param max_steps Whole number (default 100): an interval grows to at most
#'   `max_steps` widths. The posterior is exactly invariant with any bound.
#' @return A proposal: an object of class `univariate_slice` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#'
#' Tibbits MM, Groendyke C, Haran M, Liechty JC (2014). Automated factor slice
#' sampling. *Journal of Computational and Graphical Statistics* 23, 543-563.
#' \doi{10.1080/10618600.2013.791193}
#' @family proposals
#' @examples
#' # shape and rate of a gamma distribution
#' log_posterior <- function(x, y) {
#'   sum(dgamma(y, x[1], x[2], log = TRUE)) - x[1] / 10 - x[2]
#' }
#' fit <- mh_sample(log_posterior, c(shape = 1, rate = 1), univariate_slice(),
#'   lower = 0, y = warpbreaks$breaks, draws = 300, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' fit
#' @export
univariate_slice <- function(width = "auto", max_steps = 100) {
  new_proposal("univariate_slice",
    width = check_width(width),
    max_steps = check_count(max_steps, min = 1, max = 1e6)
  )
}

check_width <- function(width, call = rlang::caller_env()) {
  if (is.character(width)) {
    return(check_choice(width, "auto", arg = "width", call = call))
  }
  if (is.function(width)) {
    abort_argument(
      c(
        "{.arg width} must be {.val auto} or positive numbers, not a function.",
        i = "{.fn univariate_slice} makes a proposal:
             {.code mh_sample(log_density, init, univariate_slice())}."
      ),
      call = call
    )
  }
  if (!is.numeric(width)) {
    abort_expected(width, "\"auto\" or positive numbers", FALSE, "width", call)
  }
  check_numeric_vector(width,
    lower = 0, lower_open = TRUE, arg = "width", call = call
  )
}

#' @exportS3Method
move_traits.univariate_slice <- function(move) {
  list(
    far = TRUE, slice = TRUE, scale = identical(move$width, "auto"),
    why_not = slices_alternate
  )
}

slices_alternate <-
  "{.arg blocks} that share coordinates alternate between proposals."

#' @exportS3Method
move_words.univariate_slice <- function(move) {
  paste0(
    "slice sampling of each coordinate, ",
    if (is.character(move$width)) "widths tuned in burn-in" else "given widths"
  )
}

# `width` is empty if it is tuned in burn-in.
#' @exportS3Method
move_compile.univariate_slice <- function(move, at) {
  tuned <- is.character(move$width)
  list(
    tuned = as.integer(tuned), widths = as.double(move$max_steps),
    width = if (tuned) {
      numeric()
    } else {
      as_coordinates(move$width, "width", at)
    }
  )
}

#' @exportS3Method
move_memory.univariate_slice <- function(move, compiled, x, scale,
                                         factor = NULL) {
  new_memory(
    factor = if (length(compiled$width) > 0L) {
      compiled$width + 0
    } else {
      # about the width that tuning finds for a normal density
      2 * as.double(scale)
    },
    more = list(effort = numeric(2L))
  )
}

#' @exportS3Method
move_notes.univariate_slice <- function(move, ...) slice_words(...)

# A line on the points that slices asked for, in all sweeps after burn-in.
slice_words <- function(model, fit, rates) {
  slices <- plan_traits(model$plan, "slice", has_trait)
  counts <- vapply(fit_part(fit, "chains"), function(chain) {
    memories <- chain$state$blocks[slices]
    c(
      sum(vapply(memories, function(memory) memory$effort[[2L]], 0)),
      memories[[1L]]$counts[[3L]]
    )
  }, numeric(2L))
  sweeps <- sum(counts[2L, ])
  if (sweeps == 0) {
    return(NULL)
  }
  paste0(
    "Slice sampling: ", format(sum(counts[1L, ]) / sweeps, digits = 3),
    " evaluations a sweep."
  )
}
