# Draws of standard distributions that R has not, or has one at a time.

#' Draws of the multivariate normal and related distributions
#'
#' * `sample_mvnorm()`: \eqn{\mathrm{N}(m, \Sigma)}{N(m, Sigma)}, with the
#'   covariance \eqn{\Sigma}{Sigma} or the precision \eqn{\Sigma^{-1}}{Sigma^-1}
#'   given. With \eqn{z}{z} standard normal, a draw is \eqn{m + L z}{m + L z},
#'   \eqn{L L^\top = \Sigma}{L L' = Sigma}, or \eqn{m + R^{-1} z}{m + R^-1 z},
#'   \eqn{R^\top R = \Sigma^{-1}}{R'R = Sigma^-1} (LAPACK's Cholesky factors).
#' * `sample_truncated_normal()`: \eqn{\mathrm{N}(m, s^2)}{N(m, s^2)} restricted
#'   to an interval.
#' * `sample_wishart()`: \eqn{\mathrm{W}(\nu, S)}{W(nu, S)}, with density
#'   proportional to \eqn{|X|^{(\nu - d - 1)/2} \exp(-\mathrm{tr}(S^{-1} X) /
#'   2)}{|X|^((nu - d - 1)/2) exp(-tr(S^-1 X)/2)} and mean \eqn{\nu S}{nu S}.
#' * `sample_inverse_wishart()`: \eqn{\mathrm{IW}(\nu, S)}{IW(nu, S)}, with
#'   density proportional to \eqn{|X|^{-(\nu + d + 1)/2} \exp(-\mathrm{tr}(S
#'   X^{-1}) / 2)}{|X|^(-(nu + d + 1)/2) exp(-tr(S X^-1)/2)} and mean
#'   \eqn{S / (\nu - d - 1)}{S / (nu - d - 1)} if \eqn{\nu > d + 1}{nu > d + 1}.
#' * `sample_dirichlet()`: \eqn{\mathrm{Dir}(\alpha)}{Dir(alpha)}, with density
#'   proportional to \eqn{\prod_k p_k^{\alpha_k - 1}}{prod_k p_k^(alpha_k - 1)}.
#'
#' A singular covariance has a distribution within a subspace. It is factored by
#' Cholesky's method with pivots, and a message says its rank. An eigenvalue
#' below \eqn{-10^{-10}}{-1e-10} times the largest one (of the covariance with
#' its variances scaled to 1) is an error.
#'
#' The truncated normal is drawn by the quantile function where tail
#' probabilities have all their digits, otherwise by rejection, which is exact:
#' from a uniform distribution if the interval is short, and in a tail by
#' Marsaglia's (1964) method, which is accepted the more often the further the
#' tail. So the bounds may lie 1e300 standard deviations from the mean (Robert
#' 1995 compares such methods).
#'
#' Wishart and inverse Wishart matrices are products of Bartlett's factor, and
#' no inverse is formed. Dirichlet variates are made from the logarithms of
#' gamma variates: with `log = TRUE` no element is lost where
#' \eqn{\alpha}{alpha} is tiny and the probability is below the smallest double.
#'
#' @param n Whole number, 1 or more: how many draws.
#' @param mean `sample_mvnorm()`: the mean, one finite number for each variable,
#'   or a single one for all (default 0). `sample_truncated_normal()`: the mean
#'   before truncation, one finite number (default 0) or `n`.
#' @param cov,precision One of them: a symmetric matrix of finite numbers, the
#'   covariance, which may be singular, or its inverse, which may not be.
#' @param sd Positive numbers, one (default 1) or `n`: the standard deviation
#'   before truncation.
#' @param lower,upper Numbers, one or `n`, `lower < upper`: the interval, in the
#'   units of `mean`. Default: `-Inf` and `Inf`.
#' @param df A number above `d - 1`: the degrees of freedom \eqn{\nu}{nu}.
#' @param scale A symmetric positive definite `d x d` matrix, or a positive
#'   number for `d = 1`: the scale matrix \eqn{S}.
#' @param alpha Positive numbers, at least two: the concentrations.
#' @param log `FALSE` (default): probabilities. `TRUE`: their logarithms.
#' @return `sample_mvnorm()` and `sample_dirichlet()`: a matrix with a draw in
#'   each row and a column for each variable, named as `mean`, `cov` or `alpha`
#'   are. `sample_truncated_normal()`: a vector. `sample_wishart()` and
#'   `sample_inverse_wishart()`: an array, `n x d x d`; `x[i, , ]` is draw `i`.
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong kind or
#'   size, a covariance that has a negative eigenvalue, a precision or a scale
#'   that is not positive definite, degrees of freedom that are too few, and a
#'   `lower` that is not below `upper`. A Wishart or inverse Wishart matrix
#'   beyond the range of doubles is a `gibbsite_error_numeric`.
#' @references
#' Marsaglia G (1964). Generating a variable from the tail of the normal
#' distribution. *Technometrics* 6, 101-102.
#' \doi{10.1080/00401706.1964.10490150}
#'
#' Robert CP (1995). Simulation of truncated normal variables. *Statistics and
#' Computing* 5, 121-125. \doi{10.1007/BF00143942}
#'
#' Smith WB, Hocking RR (1972). Algorithm AS 53: Wishart variate generator.
#' *Applied Statistics* 21, 341-345. \doi{10.2307/2346290}
#' @family samples
#' @examples
#' set.seed(1)
#' x <- sample_mvnorm(1000, c(a = 0, b = 5), cov = matrix(c(1, 0.9, 0.9, 2), 2))
#' cov(x)
#' range(sample_truncated_normal(1000, lower = 40))
#' w <- sample_wishart(1000, 5, diag(2))
#' apply(w, c(2, 3), mean)
#' sample_dirichlet(2, c(0.001, 0.001, 1), log = TRUE)
#' @name sample_mvnorm
NULL

#' @rdname sample_mvnorm
#' @export
sample_mvnorm <- function(n, mean = 0, cov = NULL, precision = NULL) {
  check_needed(n = "how many draws")
  call <- rlang::current_env()
  if (is.null(cov) == is.null(precision)) {
    abort_argument(
      "Either {.arg cov} or {.arg precision} must be given, and not both."
    )
  }
  factor <- if (is.null(cov)) {
    chol(check_spd_matrix(precision, matrix_order(precision)))
  } else {
    factor_covariance(cov, call)
  }
  d <- nrow(factor)
  n <- check_sample_size(n, d)
  mean <- check_numeric_vector(
    mean, length = c(1, d), length_why = "the variables"
  )
  # by draw: the first draws do not depend on their number
  z <- matrix(stats::rnorm(n * d), d)
  x <- if (is.null(cov)) t(backsolve(factor, z)) else crossprod(z, factor)
  x <- x + rep(as.vector(mean), each = n, length.out = n * d)
  colnames(x) <- names(mean) %||% colnames(cov %||% precision)
  x
}

# The order of what should be a square matrix.
matrix_order <- function(x) if (length(dim(x)) == 2L) nrow(x) else 1L

# R with R'R = cov, d x d.  Variances are scaled to 1 before a singular matrix
# is judged, so that units do not matter.
factor_covariance <- function(cov, call) {
  d <- matrix_order(cov)
  if (d == 1L && is_plain_number(cov)) cov <- matrix(cov)
  cov <- check_square(cov, d, NULL, "cov", call)
  check_symmetric(cov, "cov", call)
  cov <- cov / 2 + t(cov) / 2
  factor <- tryCatch(chol(cov), error = function(cnd) NULL)
  if (is.null(factor)) factor_singular(cov, call) else factor
}

factor_singular <- function(cov, call) {
  d <- nrow(cov)
  sd <- sqrt(pmax(diag(cov), 0))
  unit <- cov / outer(ifelse(sd > 0, sd, 1), ifelse(sd > 0, sd, 1))
  values <- eigen(unit, symmetric = TRUE, only.values = TRUE)$values
  if (values[[d]] < -1e-10 * max(abs(values))) {
    least <- min(eigen(cov, symmetric = TRUE, only.values = TRUE)$values)
    abort_argument(
      c("{.arg cov} must have no negative eigenvalue.",
        x = "Its smallest eigenvalue is {format(least, digits = 4)}."),
      call = call
    )
  }
  # LAPACK warns of the rank, which the message says
  factor <- suppressWarnings(chol(unit, pivot = TRUE))
  rank <- attr(factor, "rank")
  back <- order(attr(factor, "pivot"))
  factor[seq_len(d) > rank, ] <- 0
  inform_gibbsite(
    c(i = "{.arg cov} is singular, of rank {rank} of {d}: the draws lie in a
           subspace."),
    class = "singular"
  )
  factor[, back, drop = FALSE] * rep(sd, each = d)
}

#' @rdname sample_mvnorm
#' @export
sample_truncated_normal <- function(n, mean = 0, sd = 1, lower = -Inf,
                                    upper = Inf) {
  check_needed(n = "how many draws")
  call <- rlang::current_env()
  n <- check_sample_size(n)
  one_or_n <- function(x, ..., arg = rlang::caller_arg(x)) {
    unname(check_numeric_vector(
      x, length = c(1, n), length_why = "the draws", ..., arg = arg, call = call
    ))
  }
  mean <- one_or_n(mean)
  sd <- one_or_n(sd, lower = 0, lower_open = TRUE)
  lower <- one_or_n(lower, finite = FALSE)
  upper <- one_or_n(upper, finite = FALSE)
  wrong <- which(!(lower < upper) | lower == Inf | upper == -Inf)
  if (length(wrong) > 0L) {
    first <- wrong[[1L]]
    ends <- c(rep_len(lower, n)[[first]], rep_len(upper, n)[[first]])
    abort_argument(
      "{.arg lower} must be below {.arg upper}: for draw {first} they are
       {ends[[1L]]} and {ends[[2L]]}."
    )
  }
  # finite, so that no difference is Inf - Inf
  far <- 1e307
  units <- function(x) pmin(pmax((x - mean) / sd, -far), far)
  z <- truncated_normal(n, units(lower), units(upper))
  pmin(pmax(mean + sd * z, lower), upper)
}

# `n` draws of N(0, 1) on (a, b), whose lengths are 1 or n.
truncated_normal <- function(n, a, b) {
  # by symmetry, the lower tail is drawn as the upper one
  flip <- b < 0
  low <- ifelse(flip, -b, a)
  high <- ifelse(flip, -a, b)
  beyond <- stats::pnorm(low, lower.tail = FALSE)
  mass <- beyond - stats::pnorm(high, lower.tail = FALSE)
  # the quantile function where tail probabilities keep their digits
  kind <- ifelse(
    low < 30 & mass > 0.01 * beyond, "quantile",
    ifelse(low > 0.5, "tail", "short")
  )
  z <- numeric(n)
  for (one in unique(kind)) {
    at <- if (length(kind) == 1L) seq_len(n) else which(kind == one)
    from <- one_or_some(low, at)
    to <- one_or_some(high, at)
    z[at] <- switch(one,
      quantile = normal_quantiles(length(at), from, to),
      tail = normal_tail(length(at), from, to),
      short = short_normal(length(at), from, to)
    )
  }
  ifelse(flip, -1, 1) * z
}

one_or_some <- function(x, at) if (length(x) == 1L) x else x[at]

# With uniforms as fine as those of R's own rnorm().
normal_quantiles <- function(n, a, b) {
  fine <- 2^27
  u <- (floor(fine * stats::runif(n)) + stats::runif(n)) / fine
  p <- function(z) stats::pnorm(z, lower.tail = FALSE)
  z <- stats::qnorm(p(b) + u * (p(a) - p(b)), lower.tail = FALSE)
  pmin(pmax(z, a), b)
}

# x = sqrt(a^2 + 2 e), e exponential below (b^2 - a^2) / 2, kept with
# probability a / x (Marsaglia 1964).  Written by r = x / a, so that nothing
# overflows where a^2 does.
normal_tail <- function(n, a, b) {
  by_rejection(n, a, b, function(n, a, b) {
    most <- (b - a) / 2 * (b + a)
    # -log(1 - u (1 - exp(-most))): the exponential below `most`
    e <- -log1p(stats::runif(n) * expm1(-most))
    r <- sqrt(1 + 2 * (e / a) / a)
    list(x = a * r, keep = stats::runif(n) * r <= 1)
  })
}

# From the uniform distribution on an interval below length 1.
short_normal <- function(n, a, b) {
  by_rejection(n, a, b, function(n, a, b) {
    x <- stats::runif(n, a, b)
    nearest <- pmin(pmax(0, a), b)
    list(x = x, keep = stats::rexp(n) >= (x^2 - nearest^2) / 2)
  })
}

# Proposes for each draw until it is kept.
by_rejection <- function(n, a, b, propose) {
  out <- numeric(n)
  open <- seq_len(n)
  while (length(open) > 0L) {
    proposed <- propose(
      length(open), one_or_some(a, open), one_or_some(b, open)
    )
    out[open[proposed$keep]] <- proposed$x[proposed$keep]
    open <- open[!proposed$keep]
  }
  out
}

#' @rdname sample_mvnorm
#' @export
sample_wishart <- function(n, df, scale) {
  check_needed(
    n = "how many draws", df = "the degrees of freedom",
    scale = "the scale matrix"
  )
  wishart_draws(n, df, scale, FALSE, rlang::current_env())
}

#' @rdname sample_mvnorm
#' @export
sample_inverse_wishart <- function(n, df, scale) {
  check_needed(
    n = "how many draws", df = "the degrees of freedom",
    scale = "the scale matrix"
  )
  wishart_draws(n, df, scale, TRUE, rlang::current_env())
}

wishart_draws <- function(n, df, scale, inverse, call) {
  named <- colnames(scale)
  scale <- check_spd_matrix(scale, matrix_order(scale), call = call)
  d <- nrow(scale)
  n <- check_sample_size(n, d^2, call = call)
  df <- check_number(df, d - 1, lower_open = TRUE, call = call)
  x <- .Call(C_wishart, n, df, t(chol(scale)), inverse)
  if (!all(is.finite(x))) {
    abort_numeric(
      c("A draw is beyond the range of doubles.",
        i = "{.arg scale} is too large, or {.arg df} ({df}) is too close to its
             bound {d - 1}."),
      call = call
    )
  }
  if (!is.null(named)) dimnames(x) <- list(NULL, named, named)
  x
}

#' @rdname sample_mvnorm
#' @export
sample_dirichlet <- function(n, alpha, log = FALSE) {
  check_needed(n = "how many draws", alpha = "the concentrations")
  alpha <- check_numeric_vector(alpha, lower = 0, lower_open = TRUE)
  k <- length(alpha)
  if (k < 2L) {
    abort_argument("{.arg alpha} must hold two numbers or more, not {k}.")
  }
  n <- check_sample_size(n, k)
  log <- check_flag(log)
  shape <- rep(unname(alpha), each = n)
  names <- if (!is.null(names(alpha))) list(NULL, names(alpha))
  # a variate of such a shape cannot underflow
  if (all(alpha >= 0.1 & alpha < 1e100)) {
    x <- matrix(stats::rgamma(n * k, shape), n, dimnames = names)
    return(if (log) log(x) - log(rowSums(x)) else x / rowSums(x))
  }
  small <- shape < 1
  x <- log(stats::rgamma(n * k, shape + small))
  # Gamma(a) is Gamma(a + 1) u^(1/a)
  x[small] <- pmax(
    x[small] + log(stats::runif(sum(small))) / shape[small],
    -.Machine$double.xmax
  )
  x <- matrix(x, n, dimnames = names)
  x <- x - x[cbind(seq_len(n), max.col(x, "first"))]
  if (log) x - log(rowSums(exp(x))) else exp(x) / rowSums(exp(x))
}
