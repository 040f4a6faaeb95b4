# Transformations of uniform variates: the inverse cumulative distribution
# function, and Box and Muller's pairs of normals.

#' Sampling by transformation
#'
#' `sample_inverse_cdf()` draws from a distribution on the line by its quantile
#' function or by its cumulative distribution function (cdf) \eqn{F}: with
#' \eqn{u} uniform on (0, 1), the draw is
#' \deqn{x = F^{-1}(u) = \min\{x : F(x) \ge u\}.}{
#'   x = F^-1(u) = min{x: F(x) >= u}.}
#' `sample_box_muller()` draws standard normal variates (Box and Muller 1958):
#' two uniform variates \eqn{u, v} give the independent pair
#' \deqn{z_1 = \sqrt{-2 \log u} \cos 2 \pi v, \quad
#'   z_2 = \sqrt{-2 \log u} \sin 2 \pi v.}{
#'   z1 = sqrt(-2 log u) cos(2 pi v), z2 = sqrt(-2 log u) sin(2 pi v).}
#'
#' A cdf is inverted by bisection and interpolation, for all draws at once. The
#' draw is the smallest double whose cdf is at least \eqn{u}, but for rounding:
#' where the cdf rises by no more than some units in its last place, one up to
#' 6e-14 of it larger. Steps of a discrete distribution are therefore met
#' exactly. A draw calls `cdf` some 60 times, and some 6 times if there are more
#' than 1e5; the quantile function is faster if there is one.
#' The draws are as fine as the uniform variates, which are multiples of
#' \eqn{2^{-32}}{2^-32} by R's default generator: no draw lies further in the
#' tail than the quantile of \eqn{2^{-33}}{2^-33}, 6.4 standard deviations of a
#' normal distribution. [sample_truncated_normal()] reaches any tail.
#'
#' @param n Whole number, 1 or more: how many draws.
#' @param quantile,cdf One of them: a vectorised function of a numeric vector,
#'   such as [stats::qexp()] or [stats::pexp()]. A cdf must not decrease, and
#'   must reach 1.
#' @param ... Further arguments of `quantile` or `cdf`, by name. Arguments of
#'   `sample_inverse_cdf()` itself need their whole names.
#' @param lower,upper With `cdf`: the bounds of the support, which may be
#'   infinite (default). `cdf` must be 1 at `upper`. What it is at `lower` is
#'   the probability of `lower` itself: a Poisson distribution has `lower = 0`.
#' @return A numeric vector of `n` draws. Of `sample_box_muller()` the elements
#'   1 and 2, 3 and 4, ... are pairs of the same two uniform variates (the last
#'   one of an odd number is one of a pair).
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong kind;
#'   `gibbsite_error_numeric` when `quantile` or `cdf` fails or returns anything
#'   but as many numbers as it was given, and when a cdf decreases, leaves the
#'   interval from 0 to 1, or does not reach 1.
#' @references
#' Box GEP, Muller ME (1958). A note on the generation of random
#' normal deviates.
#' *Annals of Mathematical Statistics* 29, 610-611.
#' \doi{10.1214/aoms/1177706645}
#'
#' Devroye L (1986). *Non-Uniform Random Variate Generation*, chapter II.2.
#' Springer. \doi{10.1007/978-1-4613-8643-8}
#' @family samples
#' @examples
#' set.seed(1)
#' x <- sample_inverse_cdf(1000, quantile = qexp, rate = 2)
#' mean(x)
#' # only the cdf is known: the larger of two exponential times
#' y <- sample_inverse_cdf(1000, cdf = function(x) pexp(x)^2, lower = 0)
#' mean(y) # 1.5
#' z <- sample_box_muller(1000)
#' qqnorm(z)
#' @name sample_inverse_cdf
NULL

#' @rdname sample_inverse_cdf
#' @export
sample_inverse_cdf <- function(n, quantile = NULL, cdf = NULL, ...,
                               lower = -Inf, upper = Inf) {
  if (has_short_names()) return(with_whole_names())
  check_needed(n = "how many draws")
  call <- rlang::current_env()
  n <- check_sample_size(n)
  if (is.null(quantile) == is.null(cdf)) {
    abort_argument(
      "Either {.arg quantile} or {.arg cdf} must be given, and not both."
    )
  }
  lower <- check_number(lower, upper_open = TRUE, infinite_ok = TRUE)
  upper <- check_number(
    upper, lower, lower_open = TRUE, infinite_ok = TRUE
  )
  u <- stats::runif(n)
  if (is.null(cdf)) {
    if (is.finite(lower) || is.finite(upper)) {
      abort_argument(
        "{.arg lower} and {.arg upper} go with {.arg cdf}: {.arg quantile} needs
         no bounds."
      )
    }
    check_function(quantile, "quantile", call = call)
    check_no_cdf(quantile, call)
    f <- quantile
    return(values_of(function(u) f(u, ...), u, arg = "quantile", call = call))
  }
  check_function(cdf, "cdf", call = call)
  f <- cdf
  below <- function(x) f(x, ...)
  # fixed probabilities too, so that a function that is no cdf is found however
  # few draws there are
  draws <- invert_cdf(c(u, seq_len(63L) / 64), function(x) {
    checked_cdf(values_of(below, x, arg = "cdf", call = call), x, call)
  }, lower, upper, call)
  draws[seq_len(n)]
}

# Any increasing function is a quantile function of something: only those of
# stats are known to be something else.
check_no_cdf <- function(quantile, call) {
  known <- grep("^p", getNamespaceExports("stats"), value = TRUE)
  same <- vapply(known, function(name) {
    identical(getExportedValue("stats", name), quantile)
  }, NA)
  if (any(same)) {
    name <- known[same][[1L]]
    abort_argument(
      c("{.arg quantile} must be a quantile function, not {.fn {name}}.",
        i = "Use {.code quantile = {sub('^p', 'q', name)}}, or
             {.code cdf = {name}}."),
      call = call
    )
  }
}

#' @rdname sample_inverse_cdf
#' @export
sample_box_muller <- function(n) {
  check_needed(n = "how many draws")
  n <- check_sample_size(n)
  pairs <- (n + 1) %/% 2
  u <- matrix(stats::runif(2 * pairs), 2L)
  radius <- sqrt(-2 * log(u[1L, ]))
  angle <- 2 * pi * u[2L, ]
  z <- rbind(radius * cos(angle), radius * sin(angle))
  z[seq_len(n)]
}

# A number of draws that are `each` numbers: a matrix of them must be possible.
check_sample_size <- function(n, each = 1, arg = rlang::caller_arg(n),
                              call = rlang::caller_env()) {
  force(arg)
  check_count(n, max = .Machine$integer.max %/% each, arg = arg, call = call)
}

# The values of a user's vectorised function at `x`: a vector, or a matrix with
# a point a row.  One number a point, `infinite` ones only where allowed.
values_of <- function(f, x, arg, call, infinite = FALSE) {
  values <- tryCatch(f(x), error = function(cnd) {
    abort_numeric(
      "{.arg {arg}} failed.", parent = cnd, call = call, class = "density"
    )
  })
  size <- NROW(x)
  if (!(is.numeric(values) || is.logical(values)) || length(values) != size) {
    given <- describe(values)
    abort_numeric(
      c("{.arg {arg}} must return one number for each of {size} point{?s}, not
         {given}.",
        i = if (is.matrix(x)) {
          "It is given a matrix with a point in each row: {.fn apply} calls a
           function of one point for each."
        } else {
          "It is given all points in one vector: {.fn Vectorize} makes a
           function of one number take them."
        }),
      call = call, class = "density"
    )
  }
  values <- as.double(values)
  bad <- if (infinite) is.nan(values) | is.na(values) else !is.finite(values)
  if (any(bad)) {
    first <- which(bad)[[1L]]
    point <- draw_place(x, first)
    value <- values[[first]]
    abort_numeric(
      "{.arg {arg}} is {value} at {point}.", call = call, class = "density",
      point = pick_draws(x, first)
    )
  }
  values
}

# Draws are a vector, or a matrix with a draw a row.
pick_draws <- function(x, rows) {
  if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
}

draw_place <- function(x, row) {
  if (!is.matrix(x)) {
    return(format(x[[row]], digits = 7))
  }
  state_point_words(unname(x[row, ]), colnames(x))
}

# ---- The inverse of a cdf ---------------------------------------------------

checked_cdf <- function(p, x, call) {
  wrong <- p < 0 | p > 1
  if (any(wrong)) {
    first <- which(wrong)[[1L]]
    at <- format(x[[first]], digits = 7)
    value <- format(p[[first]], digits = 7)
    abort_numeric(
      "{.arg cdf} must lie between 0 and 1: at {at} it is {value}.",
      call = call, class = "cdf"
    )
  }
  p
}

# min{x: cdf(x) >= u}, element by element.  F(low) < u <= F(high) throughout,
# until low and high are neighbours among the doubles; a draw whose `low` has
# F(low) >= u is `lower` itself.
invert_cdf <- function(u, cdf, lower, upper, call) {
  bracket <- bracket_cdf(u, cdf, lower, upper, call)
  out <- list(
    x = rep(bracket$high, length(u)), f = rep(bracket$f_high, length(u))
  )
  inside <- u > bracket$f_low
  out$x[!inside] <- bracket$low
  cells <- if (length(u) > 1e5) 16384 else 1
  # the ends of cells of equal probability
  p <- seq_len(cells - 1) / cells
  p <- p[p > bracket$f_low & p <= bracket$f_high]
  ends <- halve_brackets(p, cdf, lapply(bracket, rep, length(p)), call)
  x <- c(bracket$low, ends$x, bracket$high)
  f <- c(bracket$f_low, ends$f, bracket$f_high)
  cell <- findInterval(u, p, left.open = TRUE) + 1L
  # a jump of the cdf may end above u
  open <- which(inside & f[cell] < u)
  at <- which(inside & f[cell] >= u)
  out$x[at] <- x[cell[at]]
  out$f[at] <- f[cell[at]]
  # few draws at a time, whose vectors stay in a near cache
  for (block in row_blocks(length(open), 1, most = 8192)) {
    at <- open[block]
    own <- halve_brackets(u[at], cdf, list(
      low = x[cell[at]], high = x[cell[at] + 1L], f_low = f[cell[at]],
      f_high = f[cell[at] + 1L]
    ), call)
    out$x[at] <- own$x
    out$f[at] <- own$f
  }
  whole_draws(out$x, out$f, cdf)
}

# The least doubles x with cdf(x) >= u, and their cdf: list(x, f). Where the cdf
# rises by no more than it is rounded, x is that but for rounding. `bracket`:
# low, high and their cdf, f_low < u <= f_high.
halve_brackets <- function(u, cdf, bracket, call) {
  low <- bracket$low
  x <- high <- bracket$high
  f_low <- bracket$f_low
  f <- f_high <- bracket$f_high
  place <- seq_along(u)
  step <- 0
  repeat {
    middle <- middle_double(low, high)
    apart <- middle > low & middle < high & (
      high - low > 2^-44 * abs(high) | f_high - f_low > 2^-48 * u
    )
    if (!all(apart)) {
      x[place[!apart]] <- high[!apart]
      f[place[!apart]] <- f_high[!apart]
      place <- place[apart]
      u <- u[apart]
      low <- low[apart]
      high <- high[apart]
      f_low <- f_low[apart]
      f_high <- f_high[apart]
      middle <- middle[apart]
    }
    if (length(u) == 0L) {
      return(list(x = x, f = f))
    }
    at <- near_root(low, high, f_low, f_high, u, middle, step)
    step <- step + 1
    f_at <- cdf(at)
    check_rising(at, f_at, f_low, f_high, call)
    right <- f_at >= u
    left <- !right
    high[right] <- at[right]
    f_high[right] <- f_at[right]
    low[left] <- at[left]
    f_low[left] <- f_at[left]
  }
}

# The next place to look at between a and b. In cells of little probability: a
# little below and then above the linear interpolation, nearer each time, since
# its error is of the order of the square of the cell, but not nearer than a cdf
# is rounded; the middle every fifth time.
near_root <- function(a, b, f_a, f_b, u, middle, step) {
  turn <- step %% 5
  if (turn == 4) {
    return(middle)
  }
  wide <- f_b - f_a
  away <- pmax(wide, 2^-50 * u / wide)
  share <- (u - f_a) / wide + if (turn %% 2 == 0) -away else away
  x <- a + pmin(pmax(share, 0), 1) * (b - a)
  good <- which(wide < 0.001 & x > a & x < b)
  middle[good] <- x[good]
  middle
}

# Rounding may let a cdf fall by little.
check_rising <- function(x, f, f_low, f_high, call) {
  wrong <- f < f_low - 1e-8 | f > f_high + 1e-8
  if (any(wrong)) {
    at <- format(x[which(wrong)[[1L]]], digits = 7)
    abort_numeric(
      "{.arg cdf} must not decrease, but does near {at}.", call = call,
      class = "cdf"
    )
  }
}

# Between a < b: the mean of ends of a similar size, the geometric mean of ends
# of one sign, 0 between ends of two.  So 64 steps or so reach neighbours
# wherever they lie.
middle_double <- function(a, b) {
  middle <- a / 2 + b / 2
  # ends of a similar size have a mean like either
  far <- which(abs(middle - a) > abs(middle) / 2)
  if (length(far) > 0L) {
    a <- a[far]
    b <- b[far]
    size <- function(x) sqrt(pmax(abs(x), 2^-1074))
    signs <- ifelse(a >= 0, 1, ifelse(b <= 0, -1, 0))
    middle[far] <- signs * size(a) * size(b)
  }
  middle
}

# R's cdfs of whole numbers rise 1e-7 below these.  A draw there is moved to the
# whole number, if the cdf is the same.
whole_draws <- function(x, f, cdf) {
  near <- which(x < round(x) & round(x) - x < 2e-7)
  if (length(near) > 0L) {
    same <- cdf(round(x[near])) == f[near]
    x[near[same]] <- round(x[near[same]])
  }
  x
}

# Finite ends between which all draws lie: list(low, high, f_low, f_high).
# Beyond them the cdf must go on to 0 and 1, whatever the draws are.
bracket_cdf <- function(u, cdf, lower, upper, call) {
  far <- .Machine$double.xmax
  steps <- c(2^(0:30), 2^(25 * 2:40), far)
  low <- least <- lower
  if (!is.finite(lower)) {
    starts <- -steps[-steps < min(upper, far)]
    low <- first_where(starts, function(x) cdf(x) < min(u))
    least <- first_where(starts[starts <= low], function(x) cdf(x) <= 1e-8)
  }
  high <- most <- upper
  if (!is.finite(upper)) {
    ends <- steps[steps > low]
    high <- first_where(ends, function(x) cdf(x) >= max(u))
    most <- first_where(ends[ends >= high], function(x) cdf(x) >= 1 - 1e-8)
  }
  x <- c(least, low, high, most)
  f <- cdf(x)
  if (f[[4L]] < 1 - 1e-8) {
    at <- format(most, digits = 7)
    value <- format(f[[4L]], digits = 7)
    abort_numeric(
      if (is.finite(upper)) {
        "{.arg cdf} must be 1 at {.arg upper} ({at}), not {value}."
      } else {
        "{.arg cdf} must reach 1, but at {at} it is {value}."
      },
      call = call, class = "cdf"
    )
  }
  if (!is.finite(lower) && f[[1L]] > 1e-8) {
    abort_numeric(
      c("{.arg cdf} must fall to 0, but at {format(least, digits = 7)} it is
         {format(f[[1L]], digits = 7)}.",
        i = "{.arg lower} sets the lower bound of the support."),
      call = call, class = "cdf"
    )
  }
  check_rising(x[-1L], f[-1L], f[-4L], 1, call)
  list(low = low, high = high, f_low = f[[2L]], f_high = f[[3L]])
}

# The first of `x` where `holds`, or the last.
first_where <- function(x, holds) {
  for (value in x) {
    if (holds(value)) break
  }
  value
}

# ---- Standard distributions --------------------------------------------------

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
