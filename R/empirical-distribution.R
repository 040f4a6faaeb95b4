# Weighted points as a distribution: sums of point masses. An importance sample
# is one.

#' Empirical distribution
#'
#' Weighted points as a distribution: \deqn{P(A) = \sum_{l=1}^L w_l \, 1[z_l \in
#' A], \quad \sum_l w_l = 1.}{P(A) = sum_l w_l 1[z_l in A], sum_l w_l = 1.}
#' Samples of any kind are such distributions: draws with equal weights, or the
#' points of [sample_importance()] with theirs. Every expectation of it is a
#' weighted mean ([monte_carlo()] adds its Monte Carlo error).
#'
#' Quantiles are those of the distribution itself: the smallest point \eqn{x}
#' with \eqn{P(X \le x) \ge p}{P(X <= x) >= p} (type 1 of [stats::quantile()] if
#' weights are equal). `as.stepfun()` gives its cumulative distribution
#' function, as [stats::ecdf()] does.
#'
#' @param x The points: a numeric vector, or a matrix or data frame with a point
#'   in each row. For methods, the distribution.
#' @param weights `NULL` (default) for equal weights, or one number of at least
#'   0 for each point. They are divided by their sum.
#' @param object The distribution.
#' @param probs Probabilities, default the quartiles.
#' @param ndraws Whole number, default the number of points: how many draws.
#' @param type `"histogram"` (default), `"cdf"`, or `"weights"`: a line for each
#'   point, as high as its weight. Of more than 300 there are the 50 highest and
#'   250 of the others, evenly spaced by weight.
#' @param variables `NULL` (default: the first nine) or names or numbers of
#'   variables, a panel each.
#' @param row.names,optional As in [as.data.frame()]; `optional` is not used.
#' @param method `"stratified"` (default): draws with little noise, in the order
#'   of the points. `"simple"`: independent draws.
#' @param ... Not used.
#' @return `empirical_distribution()`: an object of this class, which prints.
#'   * `mean()`: the means, a number for each variable.
#'   * `quantile()`: a vector, or a matrix with a row for each variable.
#'   * `summary()`: a data frame with the columns `variable`, `mean`, `sd`,
#'     `q2.5`, `q50` and `q97.5`.
#'   * `weights()`: the weights, which sum to one.
#'   * `resample_draws()`: `ndraws` of the points, drawn by their weights, in
#'     the form (vector or matrix) of `x`.
#'   * `as.data.frame()`: the points, a column for each variable, and their
#'     `weight`.
#'   * `as.stepfun()`: a function of class `ecdf` and [stats::stepfun], of one
#'     variable.
#'   * `plot()`: `x`, invisibly; `ggplot2::autoplot()`: the same picture as a
#'     ggplot. Axes leave out a thousandth of the probability in each tail if
#'     weights differ or points reach far beyond the others.
#' @section Errors: `gibbsite_error_argument` for points that are not finite
#'   numbers, weights that are negative or all 0, unknown variables, and several
#'   variables where one is needed.
#' @seealso [monte_carlo()], [sample_importance()].
#' @examples
#' set.seed(1)
#' z <- empirical_distribution(rnorm(500), weights = runif(500))
#' z
#' quantile(z)
#' mean(z)
#' as.stepfun(z)(0) # P(Z <= 0)
#' plot(z)
#' plot(empirical_distribution(faithful), type = "cdf")
#' @export
empirical_distribution <- function(x, weights = NULL) {
  check_needed(x = "the points")
  flat <- is.null(dim(x))
  x <- check_points(x, "x", rlang::current_env())
  weights <- check_numeric_vector(
    weights, length = nrow(x), length_why = "one for each point", lower = 0,
    null_ok = TRUE
  )
  if (!is.null(weights) && !any(weights > 0)) {
    abort_argument("{.arg weights} must not all be 0.")
  }
  new_empirical(
    x, as.vector(weights %||% rep(1, nrow(x))), flat, "empirical_distribution"
  )
}

# Points in rows, all of them finite.
check_points <- function(x, arg, call) {
  x <- check_data_matrix(x, "keep", arg = arg, call = call)
  if (anyNA(x)) {
    place <- place_words(x, first_place(is.na(x)))
    abort_argument(
      "{.arg {arg}} must have no missing value: {place} is NA.", call = call,
      class = "missing"
    )
  }
  x
}

# `flat`: points are numbers, and not rows of a matrix.
new_empirical <- function(x, weights, flat, class, ...) {
  # so that the sum of large weights cannot overflow
  weights <- weights / max(weights)
  structure(
    list(x = x, weights = weights / sum(weights), flat = flat, ...),
    class = unique(c(class, "empirical_distribution"))
  )
}

check_empirical <- function(x, arg = rlang::caller_arg(x),
                            call = rlang::caller_env()) {
  force(arg)
  made_by <- "empirical_distribution()"
  check_made(x, c("x", "weights", "flat"), made_by, arg, call)
  parts <- unclass(x)
  if (!are_points(parts$x) || !is_plain_scalar(parts$flat) ||
        !are_weights(parts$weights, nrow(parts$x))) {
    check_made(list(), "x", made_by, arg, call)
  }
  x
}

are_points <- function(x) {
  is.matrix(x) && is.numeric(x) && nrow(x) > 0L && !is.null(colnames(x))
}

are_weights <- function(weights, n) {
  is.numeric(weights) && length(weights) == n && isTRUE(sum(weights) > 0)
}

effective_points <- function(x) 1 / sum(x$weights^2)

# The smallest points at which the sum of weights reaches `probs`.
weighted_quantile <- function(x, weights, probs) {
  used <- which(weights > 0)
  used <- used[order(x[used])]
  total <- cumsum(weights[used])
  # rounding of the sum must not move a quantile to the next point
  reached <- total / total[[length(total)]] * (1 + 1e-13)
  x[used[pmin(findInterval(probs, reached, left.open = TRUE) + 1L,
              length(used))]]
}

#' @rdname empirical_distribution
#' @export
mean.empirical_distribution <- function(x, ...) {
  check_empirical(x)
  mean <- colSums(x$x * x$weights)
  if (x$flat) unname(mean) else mean
}

#' @rdname empirical_distribution
#' @importFrom stats quantile
#' @export
quantile.empirical_distribution <- function(x, probs = c(0, 0.25, 0.5, 0.75, 1),
                                            ...) {
  check_empirical(x)
  check_no_more(...)
  probs <- as.vector(check_numeric_vector(probs, lower = 0, upper = 1))
  out <- t(apply(x$x, 2L, weighted_quantile, x$weights, probs))
  out <- matrix(out, ncol(x$x), dimnames = list(
    colnames(x$x), paste0(format(100 * probs, trim = TRUE, digits = 7), "%")
  ))
  if (x$flat) out[1L, ] else out
}

#' @rdname empirical_distribution
#' @export
summary.empirical_distribution <- function(object, ...) {
  check_empirical(object)
  check_no_more(...)
  data.frame(
    variable = colnames(object$x),
    weighted_moments(object$x, object$weights)[c("mean", "sd")],
    t(matrix(
      apply(object$x, 2L, weighted_quantile, object$weights,
            c(0.025, 0.5, 0.975)),
      3L, dimnames = list(c("q2.5", "q50", "q97.5"), NULL)
    )),
    row.names = NULL
  )
}

#' @rdname empirical_distribution
#' @importFrom stats weights
#' @export
weights.empirical_distribution <- function(object, ...) {
  check_empirical(object)$weights
}

#' @rdname empirical_distribution
#' @export
as.data.frame.empirical_distribution <- function(x, row.names = NULL,
                                                 optional = FALSE, ...) {
  check_empirical(x)
  check_row_names(row.names, nrow(x$x), rlang::current_env())
  if ("weight" %in% colnames(x$x)) {
    abort_argument(
      c("A variable of {.arg x} is named {.val weight}.",
        i = "The weights have a column of this name.")
    )
  }
  out <- as.data.frame(x$x, row.names = row.names, optional = TRUE)
  out$weight <- x$weights
  out
}

#' @rdname empirical_distribution
#' @importFrom stats as.stepfun
#' @export
as.stepfun.empirical_distribution <- function(x, ...) {
  check_empirical(x)
  if (ncol(x$x) > 1L) {
    abort_argument(
      "{.arg x} must have one variable, not {ncol(x$x)}: a cumulative
       distribution function is of one."
    )
  }
  step_cdf(x$x[, 1L], x$weights)
}

step_cdf <- function(x, weights) {
  used <- weights > 0
  points <- sort(unique(x[used]))
  total <- cumsum(rowsum(weights[used], match(x[used], points)))
  out <- stats::approxfun(
    points, pmin(total / total[[length(total)]], 1), method = "constant",
    yleft = 0, yright = 1, ties = "ordered"
  )
  structure(out, class = c("ecdf", "stepfun", class(out)),
            call = quote(as.stepfun(x)))
}

#' @rdname empirical_distribution
#' @rawNamespace S3method(posterior::resample_draws, empirical_distribution)
resample_draws.empirical_distribution <- function(x, ndraws = nrow(x$x),
                                                  method = c("stratified",
                                                             "simple"),
                                                  ...) {
  check_empirical(x)
  check_no_more(...)
  ndraws <- check_sample_size(ndraws, ncol(x$x))
  method <- check_choice(method, c("stratified", "simple"))
  at <- posterior::resample_draws(
    posterior::as_draws_matrix(matrix(
      seq_len(nrow(x$x)), dimnames = list(NULL, "row")
    )),
    weights = x$weights, ndraws = ndraws, method = method
  )
  at <- as.vector(at)
  if (x$flat) x$x[at, 1L] else x$x[at, , drop = FALSE]
}

#' @export
print.empirical_distribution <- function(x, ...) {
  check_empirical(x)
  equal <- diff(range(x$weights)) == 0
  writeLines(paste0(
    "<", class(x)[[1L]], "> ", counted(nrow(x$x), "point"), " of ",
    counted(ncol(x$x), "variable"),
    if (!equal) {
      paste0(", weighted (effective size ", show_ess(effective_points(x)), ")")
    }
  ))
  print_weighing(x)
  table <- summary(x)
  shown <- utils::head(table, 20L)
  print_table(shown$variable, show_numbers(shown[-1L], shown$mean, shown$sd))
  if (nrow(table) > 20L) {
    writeLines(paste("...", nrow(table) - 20L, "variables more"))
  }
  invisible(x)
}

# What print() says of a sample besides its points.
print_weighing <- function(x) UseMethod("print_weighing")

#' @exportS3Method
print_weighing.default <- function(x) invisible()

chosen_empirical <- function(x, type = c("histogram", "cdf", "weights"),
                             variables = NULL, ..., call, arg) {
  check_empirical(x, arg, call)
  type <- check_choice(
    type, c("histogram", "cdf", "weights"), arg = "type", call = call
  )
  names <- colnames(x$x)
  chosen <- if (is.null(variables)) {
    utils::head(names, 9L)
  } else {
    check_some_of(variables, names, call)
  }
  if (length(chosen) > 30L) {
    abort_argument(
      "{.arg variables} must be 30 at most, not {length(chosen)}.", call = call
    )
  }
  picture_empirical(x, type, chosen)
}

#' @rdname empirical_distribution
#' @export
plot.empirical_distribution <- plot_method(chosen_empirical)

#' @rdname empirical_distribution
#' @exportS3Method ggplot2::autoplot
autoplot.empirical_distribution <- autoplot_method(chosen_empirical)

picture_empirical <- function(x, type, chosen) {
  colour <- gibbsite_palette(1)
  shown <- switch(
    type, histogram = weighted_histogram, cdf = weighted_cdf,
    weights = weight_stems
  )
  table <- in_panels(lapply(chosen, function(name) {
    shown(x$x[, name], x$weights, effective_points(x))
  }), chosen)
  picture(
    table, list(picture_layer(
      switch(type, histogram = "rect", cdf = "step", weights = "segment"),
      table, switch(type, histogram = "bars", cdf = "cdf", weights = "stems")
    )), rbind(
      plot_key("stems", colour, lty = 1, lwd = 1, shown = FALSE),
      plot_key("bars", colour, fill = pale(colour, 0.4), shown = FALSE),
      plot_key("cdf", colour, lty = 1, lwd = 1.5, shown = FALSE)
    ), x = picture_axis(
      if (length(chosen) > 1L) "value" else chosen, free = TRUE
    ),
    y = picture_axis(switch(
      type, histogram = "density", cdf = "probability of at most the value",
      weights = "weight"
    ), free = type == "histogram", floor = TRUE),
    note = if (diff(range(x$weights)) > 0) paste0(
      "Effective size ", show_ess(effective_points(x)), " of ",
      counted(nrow(x$x), "point"),
      if (type == "weights" && max(table(table$panel)) == 300L) {
        "; at most 300 are drawn"
      }
    ),
    panels = if (length(chosen) > 1L) {
      data.frame(panel = chosen, title = chosen)
    }
  )
}

weighted_histogram <- function(x, weights, size) {
  x <- x[weights > 0]
  weights <- weights[weights > 0]
  breaks <- histogram_breaks(x, weights, size)
  bin <- findInterval(x, breaks, rightmost.closed = TRUE)
  share <- vapply(seq_along(breaks[-1L]), function(k) {
    sum(weights[bin == k])
  }, 0)
  data.frame(
    xmin = breaks[-length(breaks)], xmax = breaks[-1L], ymin = 0,
    ymax = share / diff(breaks)
  )
}

# The steps between those points that leave a thousandth in each tail, or all if
# they reach little further; at most 2,000 of them.
weighted_cdf <- function(x, weights, size) {
  cdf <- step_cdf(x, weights)
  points <- get("x", environment(cdf))
  limits <- shown_ends(x, weights)
  points <- points[points >= limits[[1L]] & points <= limits[[2L]]]
  points <- points[evenly(length(points), 2000)]
  edge <- 0.04 * max(diff(limits), 1e-300)
  at <- c(limits[[1L]] - edge, points, limits[[2L]] + edge)
  data.frame(x = at, y = cdf(at))
}

# Points with the same value have one line, for their weights together.
weight_stems <- function(x, weights, size) {
  value <- unique(x)
  weights <- as.vector(rowsum(weights, match(x, value)))
  x <- value
  limits <- shown_ends(x, weights)
  inside <- which(weights > 0 & x >= limits[[1L]] & x <= limits[[2L]])
  inside <- inside[order(-weights[inside])]
  rest <- inside[-seq_len(min(50L, length(inside)))]
  inside <- c(utils::head(inside, 50L), rest[evenly(length(rest), 250L)])
  data.frame(
    x = x[inside], y = rep(0, length(inside)), xend = x[inside],
    yend = weights[inside]
  )
}

# The range of the points, without a thousandth of the probability in each tail
# if weights differ or they reach far beyond the others.
shown_ends <- function(x, weights) {
  ends <- weighted_quantile(x, weights, c(0, 0.001, 0.25, 0.75, 0.999, 1))
  limits <- ends[c(1L, 6L)]
  middle <- ends[[4L]] - ends[[3L]]
  trimmed <- ends[c(2L, 5L)]
  tails <- diff(range(weights)) > 0 && diff(trimmed) > 0
  if (tails || (middle > 0 && diff(limits) > 12 * middle)) trimmed else limits
}

# Whole numbers have one bin each; otherwise bins have the width of Freedman and
# Diaconis for the effective size.
histogram_breaks <- function(x, weights, size) {
  limits <- shown_ends(x, weights)
  if (is_discrete(x) && diff(limits) < 60) {
    return(seq(limits[[1L]] - 0.5, limits[[2L]] + 0.5))
  }
  width <- 2 * spread_of_peak(x, weights) / size^(1 / 3)
  if (diff(limits) == 0) {
    limits <- limits + c(-0.5, 0.5) * max(abs(limits), 1)
  }
  count <- if (width > 0) diff(limits) / width else 30
  pretty(limits, min(max(count, 5), 60))
}

# The interquartile range of a normal distribution whose shortest interval with
# a quarter of the probability is as long: that of all points would be the
# distance between two groups of them.
spread_of_peak <- function(x, weights) {
  from <- seq(0, 0.75, by = 0.01)
  quarter <- min(
    weighted_quantile(x, weights, from + 0.25) -
      weighted_quantile(x, weights, from)
  )
  middle <- diff(weighted_quantile(x, weights, c(0.25, 0.75)))
  if (quarter > 0) {
    min(middle, quarter * stats::qnorm(0.75) / stats::qnorm(0.625))
  } else {
    middle
  }
}
