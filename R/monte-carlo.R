# Monte Carlo estimates of expectations, with their errors.

#' Monte Carlo estimates with their error
#'
#' Estimates \eqn{\mathrm{E} f(X)}{E f(X)} by the mean of \eqn{f} over draws of
#' \eqn{X}, with a standard error that suits the draws: \deqn{\mathrm{E} f(X)
#' \approx \frac1S \sum_{s=1}^S f(x_s).}{E f(X) ~ 1/S sum_s f(x_s).}
#'
#' The Monte Carlo standard error (`mcse`) is
#' * for independent draws, a vector or a matrix: \eqn{\mathrm{sd}(f) /
#'   \sqrt{S}}{sd(f) / sqrt(S)};
#' * for chains, a fit or an `mcmc.list`: computed from autocorrelations within
#'   the chains and from their differences, by [posterior::mcse_mean()], as in
#'   `summary()`;
#' * for weighted points, an [empirical_distribution()] or the result of
#'   [sample_importance()]: \eqn{\sqrt{\sum w_s^2 (f(x_s) - \bar f)^2 / (1 -
#'   w_s)}}{sqrt(sum w_s^2 (f(x_s) - mean)^2 / (1 - w_s))} (Geweke 1989, here
#'   with the factor that makes it the first one if weights are equal), for
#'   independent points whose weights are a function of the point.
#'
#' It is 0 if all values of \eqn{f} are equal, and `NA` for one draw alone,
#' from which no error can be estimated.
#'
#' `ess` is \eqn{\mathrm{var}(f) / \mathrm{mcse}^2}{var(f) / mcse^2}: how many
#' independent draws would have the same error. Intervals use the t
#' distribution, with `df` degrees of freedom: the number of draws (of weighted
#' points, \eqn{1 / \sum w_s^2}{1 / sum(w_s^2)}; of chains, their effective
#' size) less one and less the number of control variates.
#'
#' @section Antithetic and control variates:
#' `antithetic = m`: each draw is joined by its mirror image \eqn{m(x)}, and
#' \eqn{(f(x) + f(m(x)))/2}{(f(x) + f(m(x)))/2} is averaged. The error is
#' smaller if \eqn{f(x)} and \eqn{f(m(x))} are negatively correlated.
#' \eqn{m(X)} must have the distribution of \eqn{X}: \eqn{-x} for a distribution
#' symmetric about 0, \eqn{1 - u} for a uniform one.
#'
#' `control = g`, whose mean \eqn{\mu}{mu} is known: \eqn{f(x) - b^\top (g(x) -
#' \mu)}{f(x) - b'(g(x) - mu)} is averaged, with \eqn{b} the coefficients of the
#' regression of \eqn{f} on \eqn{g}. Only the variance that \eqn{g} leaves
#' unexplained remains; the bias from estimating \eqn{b} is of order \eqn{1/S}.
#' The error is that of the regression's intercept for residuals of unequal
#' variance (MacKinnon and White 1985, HC2). Both may be combined.
#'
#' @param draws Draws of \eqn{X}: a numeric vector, or a matrix or data frame
#'   with a draw in each row; a fit of this package, an [coda::mcmc.list] or
#'   [coda::mcmc], or draws of the posterior package, also an `rvar`; an
#'   [empirical_distribution()] or an importance sample.
#' @param f A function of one draw, a number or a vector with the names of the
#'   variables: it returns one or several numbers, or logical values (then
#'   the estimates are probabilities). Default: the draw itself.
#' @param ... Further arguments of `f`, by name. Arguments of `monte_carlo()`
#'   itself need their whole names.
#' @param vectorised `FALSE` (default): functions take one draw. `TRUE`: `f`,
#'   `control` and `antithetic` take all draws at once, in a vector or in a
#'   matrix with a draw in each row, and return a number or a row for each.
#' @param antithetic `NULL`, or a function of a draw that returns its mirror
#'   image. Not for weighted points.
#' @param control `NULL`, or a function of a draw that returns one number or
#'   several.
#' @param control_mean The means of `control`: as many numbers.
#' @param x,object A result of `monte_carlo()`.
#' @param parm Names or numbers of estimates; default all.
#' @param n Whole number or `Inf` (default 40): the most quantities printed or
#'   drawn.
#' @param digits Whole number: the significant figures of `mcse` to which a row
#'   is rounded.
#' @param level,conf.level A number between 0 and 1 (default 0.95): the
#'   probability with which an interval covers the expectation.
#' @param row.names,optional As in [as.data.frame()]; `optional` is not used.
#' @return An object of class `monte_carlo`, a list: `estimate` (named numbers),
#'   `mcse`, `ess`, `df` (degrees of freedom), `draws`, `source` (in words),
#'   `coefficients` (of the control variates, a column for each estimate, or
#'   `NULL`) and `antithetic`. `coef()` gives the estimates, `confint()`
#'   intervals (a matrix), `summary()` and `as.data.frame()` all of these:
#'   `quantity`, `estimate`, `mcse`, `ess`, `lower`, `upper`; `tidy()` the same
#'   under broom's names: `term`, `estimate`, `std.error`, `conf.low`,
#'   `conf.high`, `ess`. `plot()` draws each estimate with its 50% and `level`
#'   intervals.
#' @section Errors: `gibbsite_error_argument` for draws or arguments of the
#'   wrong kind; `gibbsite_error_numeric` when a function fails, and when it
#'   returns anything but finite numbers, as many for every draw. The draw is
#'   named.
#' @references
#' Robert CP, Casella G (2004). *Monte Carlo Statistical Methods*,
#' chapters 3 and 4. Springer. \doi{10.1007/978-1-4757-4145-2}
#'
#' Geweke J (1989). Bayesian inference in econometric models using Monte Carlo
#' integration. *Econometrica* 57, 1317-1339. \doi{10.2307/1913710}
#'
#' MacKinnon JG, White H (1985). Some heteroskedasticity-consistent covariance
#' matrix estimators with improved finite sample properties. *Journal of
#' Econometrics* 29, 305-325. \doi{10.1016/0304-4076(85)90158-7}
#' @seealso [empirical_distribution()], [sample_importance()],
#'   [sample_rejection()].
#' @examples
#' set.seed(1)
#' u <- runif(1000)
#' monte_carlo(u, exp) # e - 1
#' monte_carlo(u, exp, antithetic = function(u) 1 - u)
#' monte_carlo(u, exp, control = function(u) u, control_mean = 1 / 2)
#' # of a posterior: the distance of two means, and a probability
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' monte_carlo(fit, function(x) {
#'   larger <- max(x[["pi[1]"]], x[["pi[2]"]])
#'   c(gap = abs(x[["mu[1,1]"]] - x[["mu[2,1]"]]), more = larger > 0.65)
#' })
#' @export
monte_carlo <- function(draws, f = identity, ..., vectorised = FALSE,
                        antithetic = NULL, control = NULL,
                        control_mean = NULL) {
  if (has_short_names()) return(with_whole_names())
  check_needed(draws = "draws of a distribution")
  call <- rlang::current_env()
  source <- mc_source(draws, call)
  check_function(f, "f", call = call)
  check_function(antithetic, "antithetic", TRUE, call)
  check_function(control, "control", TRUE, call)
  vectorised <- check_flag(vectorised)
  if (is.null(control) != is.null(control_mean)) {
    abort_argument(
      "{.arg control} and {.arg control_mean} must be given together."
    )
  }
  control_mean <- check_numeric_vector(control_mean, null_ok = TRUE)
  x <- source$x
  of_draw <- function(x) f(x, ...)
  values <- mc_values(of_draw, x, vectorised, "f", call)
  plain <- values
  mirrored <- NULL
  if (!is.null(antithetic)) {
    mirrored <- mirror_draws(antithetic, source, vectorised, call)
    values <- (
      values + mc_values(of_draw, mirrored, vectorised, "f", call)
    ) / 2
  }
  controls <- NULL
  if (!is.null(control)) {
    controls <- mc_values(control, x, vectorised, "control", call)
    if (!is.null(mirrored)) {
      other <- mc_values(control, mirrored, vectorised, "control", call)
      controls <- (controls + other) / 2
    }
    controls <- centre_controls(controls, control_mean, call)
  }
  estimate_means(source, plain, values, controls, !is.null(antithetic))
}

# ---- Draws ------------------------------------------------------------------

# list(x, chains, weights, words): the draws, a vector or a matrix, those of all
# chains one below the other; the number of Markov chains, NULL for none; the
# weights, NULL where they are equal.
mc_source <- function(draws, call, arg = "draws") {
  if (inherits(draws, "empirical_distribution")) {
    check_empirical(draws, arg, call)
    equal <- diff(range(draws$weights)) == 0
    return(list(
      x = if (draws$flat) draws$x[, 1L] else draws$x,
      weights = if (!equal) draws$weights,
      words = if (equal) "points" else "weighted points"
    ))
  }
  chains <- if (inherits(draws, "gibbsite_fit")) {
    shown_matrices(draws)
  } else {
    plain_chains(draws, call, arg)
  }
  if (is.null(chains)) {
    flat <- is.null(dim(draws))
    x <- check_points(unclassed_sample(draws), arg, call)
    return(list(
      x = if (flat) x[, 1L] else x, words = "independent draws"
    ))
  }
  x <- check_points(do.call(rbind, chains), arg, call)
  list(
    x = if (is.null(colnames(chains[[1L]]))) x[, 1L] else x,
    chains = length(chains),
    words = paste("draws of", counted(length(chains), "Markov chain"))
  )
}

unclassed_sample <- function(x) {
  if (!inherits(x, "rejection_sample")) {
    return(x)
  }
  if (is.matrix(x)) matrix(x, nrow(x), dimnames = dimnames(x)) else as.vector(x)
}

# Matrices of the chains of coda's and posterior's objects, without names of
# columns if the draws are numbers; NULL for all others.
plain_chains <- function(draws, call, arg) {
  if (!inherits(draws, c("mcmc.list", "mcmc", "draws", "rvar"))) {
    return(NULL)
  }
  chains <- tryCatch(
    chains_of_numbers(draws) %||% chains_of_vectors(draws),
    error = function(cnd) NULL
  )
  if (length(chains) == 0L || length(chains[[1L]]) == 0L) {
    abort_argument(
      "{.arg {arg}} has the class of draws, but cannot be read as such.",
      call = call, class = "forged"
    )
  }
  lapply(chains, unname_rows)
}

# Chains whose draws are single numbers: coda's vectors, a scalar rvar.
chains_of_numbers <- function(draws) {
  if (inherits(draws, "rvar")) {
    if (length(draws) > 1L) {
      return(NULL)
    }
    all <- posterior::draws_of(draws, with_chains = TRUE)
    return(lapply(seq_len(dim(all)[[2L]]), function(k) matrix(all[, k, 1L])))
  }
  chains <- if (inherits(draws, "mcmc")) list(draws) else unclass(draws)
  if (inherits(draws, "draws") || any(lengths(lapply(chains, dim)) > 0L)) {
    return(NULL)
  }
  stopifnot(length(unique(lengths(chains))) == 1L)
  lapply(chains, function(x) matrix(bare_values(x)))
}

chains_of_vectors <- function(draws) {
  all <- posterior::as_draws_array(
    if (inherits(draws, "rvar")) list(x = draws) else draws
  )
  lapply(seq_len(dim(all)[[2L]]), function(k) {
    matrix(all[, k, ], dim(all)[[1L]], dimnames = dimnames(all)[c(1L, 3L)])
  })
}

unname_rows <- function(x) {
  rownames(x) <- NULL
  x
}

# ---- Functions of draws -----------------------------------------------------

# f of every draw: a matrix with a draw in each row.
mc_values <- function(f, x, vectorised, arg, call) {
  n <- NROW(x)
  at <- 1L
  fail <- function(cnd) {
    where <- if (!vectorised) paste(" at draw", at)
    abort_numeric(
      "{.arg {arg}} failed{where}.", parent = cnd, call = call,
      class = "density"
    )
  }
  values <- tryCatch(
    if (vectorised) {
      f(x)
    } else {
      lapply(seq_len(n), function(i) {
        at <<- i
        f(if (is.matrix(x)) x[i, ] else x[[i]])
      })
    },
    error = fail
  )
  values <- if (vectorised) {
    vectorised_rows(values, n, arg, call)
  } else {
    bound_rows(values, arg, call)
  }
  check_finite_rows(values, arg, call)
  if (is.null(colnames(values))) {
    colnames(values) <- if (ncol(values) == 1L) arg else
      indexed(arg, seq_len(ncol(values)))
  }
  values
}

is_number_like <- function(x) {
  (is.numeric(x) || is.logical(x)) && !is.object(x) && length(x) > 0L
}

vectorised_rows <- function(values, n, arg, call) {
  if (!is_number_like(values) || NROW(values) != n || length(dim(values)) > 2) {
    given <- describe(values)
    abort_numeric(
      c("{.arg {arg}} must return a number or a row of numbers for each of {n}
         draw{?s}, not {given}.",
        i = "With {.code vectorised = TRUE} it is given all draws at once."),
      call = call, class = "density"
    )
  }
  values <- as.matrix(values)
  storage.mode(values) <- "double"
  unname_rows(values)
}

bound_rows <- function(values, arg, call) {
  size <- length(values[[1L]])
  good <- vapply(values, is_number_like, NA) & lengths(values) == size
  if (!all(good)) {
    first <- which(!good)[[1L]]
    given <- describe(values[[first]])
    wanted <- if (is_number_like(values[[1L]])) {
      counted(size, "number")
    } else {
      "numbers"
    }
    abort_numeric(
      "{.arg {arg}} must return {wanted} for every draw: at draw {first} it is
       {given}.",
      call = call, class = "density"
    )
  }
  names <- names(values[[1L]])
  matrix(
    as.double(unlist(values, use.names = FALSE)), ncol = size, byrow = TRUE,
    dimnames = if (!is.null(names)) list(NULL, names)
  )
}

check_finite_rows <- function(values, arg, call) {
  wild <- !is.finite(values)
  if (any(wild)) {
    at <- first_place(wild)
    value <- values[at$row, at$column]
    abort_numeric(
      "{.arg {arg}} must be finite: at draw {at$row} it is {value}.",
      call = call, class = "density"
    )
  }
}

# The images of the draws, in the form of the draws.
mirror_draws <- function(antithetic, source, vectorised, call) {
  if (!is.null(source$weights)) {
    abort_argument(
      c("{.arg antithetic} must be NULL for weighted points.",
        i = "The mirror image of a weighted point has another weight."),
      call = call
    )
  }
  x <- source$x
  mirrored <- mc_values(antithetic, x, vectorised, "antithetic", call)
  if (ncol(mirrored) != NCOL(x)) {
    abort_numeric(
      "{.arg antithetic} must return {NCOL(x)} number{?s}, as a draw has, not
       {ncol(mirrored)}.",
      call = call, class = "density"
    )
  }
  if (!is.matrix(x)) {
    return(mirrored[, 1L])
  }
  colnames(mirrored) <- colnames(x)
  mirrored
}

centre_controls <- function(controls, control_mean, call) {
  if (length(control_mean) != ncol(controls)) {
    abort_argument(
      "{.arg control_mean} must have length {ncol(controls)} (the values of
       {.arg control}), not {length(control_mean)}.",
      call = call
    )
  }
  if (ncol(controls) + 2L > nrow(controls)) {
    abort_argument(
      "{.arg control} must have fewer values ({ncol(controls)}) than there are
       draws ({nrow(controls)}) less one.",
      call = call
    )
  }
  controls - rep(as.vector(control_mean), each = nrow(controls))
}

# ---- Estimates --------------------------------------------------------------

# `plain`: f of the draws; `values`: what is averaged; `controls`: centred, or
# NULL. The estimate is the intercept of the regression on the controls.
estimate_means <- function(source, plain, values, controls, antithetic) {
  n <- nrow(values)
  weights <- source$weights %||% rep(1 / n, n)
  # so that a constant has no error by rounding, nor one large weight
  shift <- values[which.max(weights), ]
  values <- values - rep(shift, each = n)
  fit <- intercept_of(values, weights, controls)
  part <- fit$share * fit$residuals
  if (is.null(source$chains)) {
    # as unbiased as sd(f) / sqrt(n) is (MacKinnon & White 1985, HC2)
    error <- sqrt(colSums(part^2 / fit$rest))
    size <- 1 / sum(weights^2)
  } else {
    part <- n * part
    error <- mean_errors(
      array(part, c(n / source$chains, source$chains, ncol(part)))
    )
    size <- variances(part, NULL) / error^2
  }
  # what is left of an exact value
  error[error <= 1e-14 * apply(abs(plain), 2L, max)] <- 0
  # one point alone does not show the variance
  if (sum(weights > 0) == 1L) error[] <- NA
  names(error) <- colnames(values)
  known <- !is.na(error)
  own <- variances(plain, source$weights) / error^2
  structure(
    list(
      estimate = shift + colSums(fit$share * values), mcse = error,
      ess = ifelse(known & error > 0, own, NA_real_),
      df = ifelse(
        known, ifelse(error > 0, pmax(size - fit$rank, 1), Inf), NA_real_
      ),
      draws = n, source = source$words, coefficients = fit$coefficients,
      antithetic = antithetic
    ),
    class = "monte_carlo"
  )
}

# The weighted regression of values on controls, NULL for none. Its intercept is
# sum(share * values); rest: 1 less the leverages.
intercept_of <- function(values, weights, controls) {
  n <- nrow(values)
  if (is.null(controls)) {
    return(list(
      share = weights, rest = others(weights), rank = 1L,
      residuals = values - rep(colSums(weights * values), each = n)
    ))
  }
  root <- sqrt(weights)
  regression <- qr(root * cbind(rep(1, n), controls))
  own <- seq_len(regression$rank)
  q <- qr.Q(regression)[, own, drop = FALSE]
  r <- qr.R(regression)[own, own, drop = FALSE]
  first <- as.numeric(own == 1)
  residuals <- qr.resid(regression, root * values) / root
  residuals[weights == 0, ] <- 0
  list(
    share = as.vector(root * (q %*% backsolve(r, first, transpose = TRUE))),
    rest = pmax(1 - rowSums(q^2), 1e-12), rank = regression$rank,
    residuals = residuals,
    # NA for a control that is a combination of others
    coefficients = structure(
      as.matrix(qr.coef(regression, root * values))[-1L, , drop = FALSE],
      dimnames = list(colnames(controls), colnames(values))
    )
  )
}

variances <- function(values, weights) {
  n <- nrow(values)
  weights <- weights %||% rep(1 / n, n)
  away <- values - rep(colSums(values * weights), each = n)
  colSums(weights * away^2) / sum(weights * others(weights))
}

# 1 - weights, where the largest may be nearly 1.
others <- function(weights) {
  top <- which.max(weights)
  rest <- 1 - weights
  rest[[top]] <- sum(weights[-top])
  rest
}

# ---- Methods ----------------------------------------------------------------

check_monte_carlo <- function(x, arg = rlang::caller_arg(x),
                              call = rlang::caller_env()) {
  force(arg)
  made_by <- "monte_carlo()"
  numbers <- c("estimate", "mcse", "ess", "df")
  check_made(x, c(numbers, "draws", "source"), made_by, arg, call)
  size <- length(x$estimate)
  whole <- all(vapply(unclass(x)[numbers], function(part) {
    is.numeric(part) && length(part) == size
  }, NA)) && size > 0L && length(names(x$estimate)) == size &&
    is_plain_number(x$draws) && is_plain_string(x$source)
  if (!whole) check_made(list(), "estimate", made_by, arg, call)
  x
}

mc_interval <- function(x, level) {
  half <- ifelse(
    x$mcse > 0, x$mcse * stats::qt((1 + level) / 2, x$df), 0
  )
  cbind(x$estimate - half, x$estimate + half)
}

#' @rdname monte_carlo
#' @export
coef.monte_carlo <- function(object, ...) {
  check_monte_carlo(object)$estimate
}

#' @rdname monte_carlo
#' @export
confint.monte_carlo <- function(object, parm, level = 0.95, ...) {
  check_no_more(...)
  check_monte_carlo(object)
  level <- check_level(level)
  out <- mc_interval(object, level)
  dimnames(out) <- list(names(object$estimate), tail_names(level))
  if (missing(parm)) out else some_rows(out, parm, rlang::current_env())
}

#' @rdname monte_carlo
#' @export
as.data.frame.monte_carlo <- function(x, row.names = NULL, optional = FALSE,
                                      ..., level = 0.95) {
  check_monte_carlo(x)
  check_row_names(row.names, length(x$estimate), rlang::current_env())
  bounds <- mc_interval(x, check_level(level))
  data.frame(
    quantity = names(x$estimate), estimate = unname(x$estimate),
    mcse = unname(x$mcse), ess = unname(x$ess), lower = unname(bounds[, 1L]),
    upper = unname(bounds[, 2L]), row.names = row.names
  )
}

#' @rdname monte_carlo
#' @export
summary.monte_carlo <- function(object, level = 0.95, ...) {
  check_no_more(...)
  check_monte_carlo(object)
  as.data.frame(object, level = check_level(level))
}

#' @rdname monte_carlo
#' @export
tidy.monte_carlo <- function(x, conf.level = 0.95, ...) {
  check_no_more(...)
  check_monte_carlo(x)
  table <- as.data.frame(x, level = check_level(conf.level))
  names(table) <- c(
    "term", "estimate", "std.error", "ess", "conf.low", "conf.high"
  )
  table[c(1:3, 5:6, 4L)]
}

picture_monte_carlo <- function(x, level = 0.95, n = 40, ..., call, arg) {
  check_monte_carlo(x, arg, call)
  rows <- seq_len(min(check_rows_shown(n, call), length(x$estimate)))
  # of one draw alone, the point
  x$mcse[is.na(x$mcse)] <- 0
  bounds <- function(level) mc_interval(x, level)[rows, , drop = FALSE]
  level <- check_level(level, call = call)
  picture_intervals(intervals_shown(
    x$estimate[rows], bounds(level), bounds(0.5), level,
    xlab = "expectation", line = NA_real_, estimate = "estimate", scaled = TRUE,
    note = if (length(rows) < length(x$estimate)) {
      paste(length(rows), "of", length(x$estimate), "estimates")
    }
  ))
}

#' @rdname monte_carlo
#' @export
plot.monte_carlo <- plot_method(picture_monte_carlo)

#' @rdname monte_carlo
#' @exportS3Method ggplot2::autoplot
autoplot.monte_carlo <- autoplot_method(picture_monte_carlo)

#' @rdname monte_carlo
#' @export
print.monte_carlo <- function(x, level = 0.95, n = 40, digits = 3, ...) {
  check_monte_carlo(x)
  n <- check_rows_shown(n)
  digits <- check_count(digits, max = 22)
  level <- check_level(level)
  ways <- c(
    if (isTRUE(x$antithetic)) "antithetic variates",
    if (!is.null(x$coefficients)) "control variates"
  )
  writeLines(paste0(
    "<monte_carlo> ", format_number(x$draws), " ", x$source,
    if (length(ways) > 0L) paste0(", with ", and_words(ways))
  ))
  table <- as.data.frame(x, level = level)
  columns <- show_numbers(
    table[c("estimate", "lower", "upper")], table$estimate, table$mcse, digits
  )
  columns <- cbind(
    columns[1L], mcse = show_significant(table$mcse, max(1, digits - 1)),
    ess = show_ess(table$ess), columns[2:3]
  )
  rows <- seq_len(min(n, nrow(table)))
  print_table(table$quantity[rows], columns[rows, , drop = FALSE])
  if (nrow(table) > n) {
    writeLines(sprintf("... %d more; as.data.frame(x) has all",
                       nrow(table) - n))
  }
  writeLines(paste0(
    "mcse: standard error; lower, upper: interval of ",
    format(100 * level, digits = 4), "%"
  ))
  invisible(x)
}
