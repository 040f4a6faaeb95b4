# univariate_slice(). src/core/mh/mh_slice.c has the mathematics.

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
