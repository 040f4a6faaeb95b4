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
