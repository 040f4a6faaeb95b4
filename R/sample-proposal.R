# Sampling by a proposal: self-normalised importance sampling, and below it
# rejection sampling.

#' Importance sampling
#'
#' Draws points from a proposal with density \eqn{q} and weighs them towards a
#' density \eqn{p(x) = \tilde p(x) / Z}{p(x) = p~(x) / Z} known up to its
#' normaliser: \deqn{w_i \propto \frac{\tilde p(x_i)}{q(x_i)}, \quad \sum_i w_i
#' = 1, \quad \hat Z = \frac1n \sum_i \frac{\tilde p(x_i)}{q(x_i)}.}{w_i
#' proportional to p~(x_i) / q(x_i), sum w_i = 1, Z = mean(p~(x_i) / q(x_i)).}
#' Expectations are weighted means (the self-normalised estimate), whose bias is
#' of order \eqn{1/n}; [monte_carlo()] gives them with their error.
#'
#' The effective size \eqn{1 / \sum w_i^2}{1 / sum(w_i^2)} is the number of
#' equal weights with the same variance. It, and every error computed from the
#' weights, says nothing about regions that no point has reached. The shape
#' \eqn{k} of a Pareto distribution fitted to the largest weights
#' ([loo::psis()]) is the better warning (Vehtari et al. 2024): below 0.5 the
#' weights have a finite variance; above 0.7 the estimates are not reliable, and
#' `print()` says so. It is `NA` without the loo package and for fewer than 25
#' points, and `-Inf` for several weights that are all equal. The weights
#' themselves are not smoothed.
#'
#' A proposal must have heavier tails than the target: [independence()] makes
#' multivariate t proposals.
#'
#' @inheritParams sample_rejection
#' @param n Whole number, 1 or more: how many points.
#' @return An object of class `importance_sample`, an [empirical_distribution()]
#'   with all its methods (`mean()`, `quantile()`, `summary()`, `plot()`,
#'   `resample_draws()`, ...): a list with `x` (the points, a matrix),
#'   `weights`, `log_weights` (\eqn{\log \tilde p - \log q}{log p~ - log q}),
#'   `ess`, `pareto_k`, and `log_normaliser` with its standard error
#'   `log_normaliser_se`.
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong kind;
#'   `gibbsite_error_numeric` when a function fails or returns anything but one
#'   number for each point, and when the target is zero at every point.
#' @references
#' Geweke J (1989). Bayesian inference in econometric models using Monte Carlo
#' integration. *Econometrica* 57, 1317-1339. \doi{10.2307/1913710}
#'
#' Vehtari A, Simpson D, Gelman A, Yao Y, Gabry J (2024). Pareto smoothed
#' importance sampling. *Journal of Machine Learning Research* 25(72), 1-58.
#' \doi{10.48550/arXiv.1507.02646}
#' @family samples
#' @examples
#' set.seed(1)
#' x <- sample_importance(
#'   2000, function(x) dgamma(x, 3, log = TRUE),
#'   list(
#'     draw = function(n) rexp(n, 0.3),
#'     log_density = function(x) dexp(x, 0.3, log = TRUE)
#'   )
#' )
#' x
#' monte_carlo(x, function(x) x > 5)
#' pgamma(5, 3, lower.tail = FALSE)
#' @export
sample_importance <- function(n, log_target, proposal) {
  check_needed(
    n = "how many points", log_target = "the log density to weigh towards",
    proposal = "where the points are drawn"
  )
  call <- rlang::current_env()
  n <- check_sample_size(n)
  check_function(log_target, "log_target", call = call)
  proposal <- sampling_proposal(proposal, call)
  batch <- propose_draws(n, log_target, proposal, call)
  log_weights <- batch$log_target - batch$log_proposal
  largest <- max(log_weights)
  if (largest == -Inf) {
    abort_numeric(
      c("{.arg log_target} is -Inf at every point.",
        i = "{.arg proposal} draws where the target is zero."),
      class = "density"
    )
  }
  weight <- exp(log_weights - largest)
  new_empirical(
    named_points(batch$x), weight, is.null(dim(batch$x)), "importance_sample",
    log_weights = log_weights, ess = sum(weight)^2 / sum(weight^2),
    pareto_k = smooth_weights(log_weights)$pareto_k,
    log_normaliser = largest + log(mean(weight)),
    log_normaliser_se = stats::sd(weight) / mean(weight) / sqrt(n)
  )
}

#' @exportS3Method
print_weighing.importance_sample <- function(x) {
  fields <- c("pareto_k", "log_normaliser", "log_normaliser_se")
  check_made(x, fields, "sample_importance()")
  numbers <- vapply(fields, function(name) {
    is.numeric(x[[name]]) && length(x[[name]]) == 1L
  }, NA)
  if (!all(numbers)) {
    check_made(list(), "pareto_k", "sample_importance()", "x")
  }
  writeLines(c(
    paste0(
      "Log normaliser ", format(x$log_normaliser, digits = 5),
      " (standard error ", format(x$log_normaliser_se, digits = 2), ")"
    ),
    paste0(
      "Pareto k ", format(x$pareto_k, digits = 2), ": ",
      switch(importance_verdict(x$pareto_k),
        good = "the weights are good",
        usable = "the weights are usable",
        "not good" = "the estimates are not reliable",
        unknown = "not known (the loo package, 25 points)"
      )
    )
  ))
}

# Proposals of rejection and importance sampling: a function that draws and the
# log density of its draws.

# list(draw(n), log_density(x)) of what a user gives as a proposal.
sampling_proposal <- function(proposal, call) {
  if (inherits(proposal, "independence")) {
    check_proposal_fields(proposal, "proposal", call)
    return(independent_draws(proposal))
  }
  parts <- c("draw", "log_density")
  plain <- is.list(proposal) && !is.object(proposal)
  there <- plain & vapply(parts, function(part) {
    plain && is.function(proposal[[part]])
  }, NA)
  if (!all(there)) {
    given <- if (plain) {
      paste0("a list without the function `", parts[!there][[1L]], "`")
    } else {
      describe(proposal)
    }
    abort_argument(
      c("{.arg proposal} must be a list of two functions, {.field draw} and
         {.field log_density}, or made by {.fn independence}, not {given}.",
        i = "{.code list(draw = function(n) rnorm(n),
             log_density = function(x) dnorm(x, log = TRUE))}"),
      call = call
    )
  }
  proposal[parts]
}

# independence(): N(m, R'R), or multivariate t.
independent_draws <- function(proposal) {
  d <- length(proposal$mean)
  df <- proposal$df
  factor <- chol(proposal$cov)
  log_det <- sum(log(diag(factor)))
  list(
    draw = function(n) {
      z <- matrix(stats::rnorm(n * d), d)
      x <- crossprod(z, factor)
      if (is.finite(df)) x <- x / sqrt(stats::rchisq(n, df) / df)
      x <- x + rep(proposal$mean, each = n)
      colnames(x) <- names(proposal$mean)
      if (d == 1L) as.vector(x) else x
    },
    log_density = function(x) {
      away <- t(as.matrix(x)) - as.vector(proposal$mean)
      square <- colSums(backsolve(factor, away, transpose = TRUE)^2)
      if (!is.finite(df)) {
        return(-d / 2 * log(2 * pi) - log_det - square / 2)
      }
      lgamma((df + d) / 2) - lgamma(df / 2) - d / 2 * log(df * pi) - log_det -
        (df + d) / 2 * log1p(square / df)
    }
  )
}

# `n` draws with both log densities: list(x, log_target, log_proposal).
propose_draws <- function(n, log_target, proposal, call) {
  x <- tryCatch(proposal$draw(n), error = function(cnd) {
    abort_numeric(
      "{.field draw} of {.arg proposal} failed.", parent = cnd, call = call,
      class = "density"
    )
  })
  if (!is.numeric(x) || NROW(x) != n || length(dim(x)) > 2L) {
    given <- describe(x)
    abort_numeric(
      c("{.field draw} of {.arg proposal} must return {n} draw{?s}, not
         {given}.",
        i = "Draws are a vector, or a matrix with a draw in each row."),
      call = call, class = "density"
    )
  }
  if (!all(is.finite(x))) {
    abort_numeric(
      "{.field draw} of {.arg proposal} must return finite numbers.",
      call = call, class = "density"
    )
  }
  # as the user's functions get it: a vector, or a matrix
  x <- if (is.matrix(x)) unclass(x) else as.double(x)
  log_proposal <- values_of(
    proposal$log_density, x, arg = "log_density", call = call, infinite = TRUE
  )
  if (any(is.infinite(log_proposal))) {
    first <- which(is.infinite(log_proposal))[[1L]]
    abort_numeric(
      "{.field log_density} of {.arg proposal} is {log_proposal[[first]]} at
       {draw_place(x, first)}, a draw of its own.",
      call = call, class = "density"
    )
  }
  value <- values_of(
    log_target, x, arg = "log_target", call = call, infinite = TRUE
  )
  if (any(value == Inf)) {
    first <- which(value == Inf)[[1L]]
    abort_numeric(
      "{.arg log_target} is Inf at {draw_place(x, first)}.", call = call,
      class = "density"
    )
  }
  list(x = x, log_target = value, log_proposal = log_proposal)
}

# Rejection sampling from a density known up to a constant.

#' Rejection sampling
#'
#' Draws exactly from a density \eqn{p(x) = \tilde p(x) / Z}{p(x) = p~(x) / Z}
#' whose normaliser \eqn{Z} need not be known. A point \eqn{x} is drawn from a
#' proposal with density \eqn{q}, and kept with probability \deqn{\frac{\tilde
#' p(x)}{M q(x)}, \quad M q(x) \ge \tilde p(x) \text{ for all } x.}{p~(x) / (M
#' q(x)), M q(x) >= p~(x) for all x.} The proportion of kept points is \eqn{Z /
#' M}, so that it estimates \eqn{Z}.
#'
#' Points are proposed in batches, until `n` are kept. With \eqn{T} proposals up
#' to the last one kept, the acceptance rate is estimated by \eqn{(n - 1) / (T -
#' 1)}, which is unbiased; its standard error is the rate times \eqn{\sqrt{(1 -
#' \mathrm{rate}) / n}}{sqrt((1 - rate) / n)}.
#'
#' Only the drawn points can show that \eqn{M} is too small. A draw at which
#' \eqn{\tilde p}{p~} exceeds \eqn{M q} is an error. Without such a draw the
#' sample may still be wrong where the proposal seldom goes.
#'
#' @param n Whole number, 1 or more: how many draws.
#' @param log_target A function: the log density \eqn{\log \tilde p}{log p~} up
#'   to a constant, `-Inf` where the density is zero. It is called with many
#'   points at once, as `draw` returns them, and returns one number for each.
#' @param proposal A list of two functions: `draw(n)` returns `n` draws, in a
#'   vector or (several variables) in a matrix with a draw in each row;
#'   `log_density(x)` returns their log densities, normalised. Or a proposal
#'   made by [independence()], normal or t.
#' @param log_m A number: \eqn{\log M}.
#' @param max_tries A number of at least `n` (default `1e6 + 1000 * n`): an
#'   error is raised when `n` draws would need more proposals.
#' @param keep_proposals `TRUE` to keep all proposals up to the last accepted
#'   one, for `plot()`. Default `FALSE`.
#' @param x,object A sample.
#' @param ... Not used.
#' @return An object of class `rejection_sample`: the draws, a vector or a
#'   matrix, with the attributes `acceptance` and `acceptance_se` (the rate with
#'   its standard error), `log_normaliser` and `log_normaliser_se` (\eqn{\log Z}
#'   likewise) and `tries` (the number \eqn{T}). A subset of it is a plain
#'   vector or matrix. With `keep_proposals = TRUE` there is also `proposals`, a
#'   matrix with a row for each: its variables, `log_target`, `log_envelope`
#'   (\eqn{\log M q}{log(M q)}) and `log_uniform`, the logarithm of the uniform
#'   number, which is at most `log_target - log_envelope` where it is accepted.
#'
#'   `plot()` and `ggplot2::autoplot()` draw these: of one variable the target
#'   and its envelope \eqn{M q}, with at most 2,000 of the points at the height
#'   of their uniform number times \eqn{M q}, which are accepted below the
#'   target; of several the first two, without heights. Of a sample without its
#'   proposals they draw histograms.
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong kind.
#'   `gibbsite_error_numeric` when a function fails or returns anything but one
#'   number for each point; of class `gibbsite_error_envelope` when the target
#'   exceeds its envelope (fields `point` and `excess`, \eqn{\log \tilde p -
#'   \log M q}{log p~ - log(M q)} there); of class `gibbsite_error_max_tries`
#'   (fields `draws`, those kept so far, and `tries`).
#' @references
#' von Neumann J (1951). Various techniques used in connection with random
#' digits. *National Bureau of Standards Applied Mathematics Series* 12, 36-38.
#'
#' Robert CP, Casella G (2004). *Monte Carlo Statistical Methods*, chapter 2.
#' Springer. \doi{10.1007/978-1-4757-4145-2}
#' @family samples
#' @examples
#' # a normal density without its constant, within a Cauchy envelope
#' set.seed(1)
#' x <- sample_rejection(
#'   1000, function(x) -x^2 / 2,
#'   list(draw = rcauchy, log_density = function(x) dcauchy(x, log = TRUE)),
#'   log_m = log(2 * pi) - 0.5
#' )
#' x
#' log(sqrt(2 * pi)) # the normaliser
#'
#' # the points under the envelope
#' x <- sample_rejection(
#'   500, function(x) -x^2 / 2,
#'   list(draw = rcauchy, log_density = function(x) dcauchy(x, log = TRUE)),
#'   log_m = log(2 * pi) - 0.5, keep_proposals = TRUE
#' )
#' plot(x)
#' @export
sample_rejection <- function(n, log_target, proposal, log_m,
                             max_tries = 1e6 + 1000 * n,
                             keep_proposals = FALSE) {
  check_needed(
    n = "how many draws", log_target = "the log density to draw from",
    proposal = "where draws are proposed",
    log_m = "the log of the envelope's constant"
  )
  call <- rlang::current_env()
  n <- check_sample_size(n)
  check_function(log_target, "log_target", call = call)
  proposal <- sampling_proposal(proposal, call)
  log_m <- check_number(log_m)
  max_tries <- check_number(max_tries, n, infinite_ok = TRUE)
  keep_proposals <- check_flag(keep_proposals)
  kept <- list()
  proposals <- list()
  found <- 0
  tries <- 0
  while (found < n) {
    size <- next_batch(n, found, tries, max_tries)
    if (size < 1) {
      abort_tries(kept, found, tries, n, call)
    }
    batch <- propose_draws(size, log_target, proposal, call)
    log_ratio <- batch$log_target - batch$log_proposal - log_m
    check_envelope(batch, log_ratio, call)
    log_uniform <- log(stats::runif(size))
    accepted <- which(log_uniform <= log_ratio)
    used <- size
    if (length(accepted) >= n - found) {
      accepted <- accepted[seq_len(n - found)]
      used <- accepted[[n - found]]
    }
    tries <- tries + used
    if (keep_proposals) {
      proposals[[length(proposals) + 1L]] <- proposal_table(
        batch, log_uniform, log_m, used
      )
    }
    found <- found + length(accepted)
    kept[[length(kept) + 1L]] <- pick_draws(batch$x, accepted)
  }
  out <- rejection_sample(stack_draws(kept), n, tries, log_m)
  attr(out, "proposals") <- if (keep_proposals) do.call(rbind, proposals)
  out
}

# The first `used` proposals of a batch, one a row.
proposal_table <- function(batch, log_uniform, log_m, used) {
  cbind(
    named_points(batch$x), log_target = batch$log_target,
    log_envelope = batch$log_proposal + log_m, log_uniform = log_uniform
  )[seq_len(used), , drop = FALSE]
}

# A matrix whose columns have names: x, or V1, V2, ...
named_points <- function(x) {
  x <- as.matrix(x)
  colnames(x) <- colnames(x) %||% if (ncol(x) == 1L) "x" else
    paste0("V", seq_len(ncol(x)))
  x
}

# Enough proposals for the draws still missing, by the rate so far; at most
# 65536, so that memory is bounded.
next_batch <- function(n, found, tries, max_tries) {
  rate <- (found + 1) / (tries + 1)
  min(ceiling(1.1 * (n - found) / rate) + 10, 65536, floor(max_tries) - tries)
}

stack_draws <- function(parts) {
  if (is.matrix(parts[[1L]])) do.call(rbind, parts) else unlist(parts)
}

# Rounding alone may let the target exceed its envelope by little.
check_envelope <- function(batch, log_ratio, call) {
  slack <- 1e-10 * (1 + abs(batch$log_target))
  worst <- which.max(log_ratio)
  if (!any(log_ratio > slack)) {
    return(invisible())
  }
  excess <- log_ratio[[worst]]
  point <- draw_place(batch$x, worst)
  abort_numeric(
    c("{.arg log_target} exceeds its envelope by {format(excess, digits = 4)} at
       {point}.",
      i = "The envelope is {.arg log_m} plus the log density of
           {.arg proposal}: {.arg log_m} must be larger by this at least, or the
           proposal must have heavier tails."),
    call = call, class = "envelope", point = pick_draws(batch$x, worst),
    excess = excess
  )
}

abort_tries <- function(kept, found, tries, n, call) {
  abort_numeric(
    c("{digits(tries)} proposals gave {found} of {n} draws: {.arg max_tries} is
       reached.",
      i = "A smaller {.arg log_m} or a {.arg proposal} closer to the target
           accepts more."),
    call = call, class = "max_tries", draws = if (found > 0) stack_draws(kept),
    tries = tries
  )
}

# A single draw has no unbiased estimate of the rate.
rejection_sample <- function(x, n, tries, log_m) {
  rate <- if (n > 1) (n - 1) / (tries - 1) else 1 / tries
  error <- sqrt((1 - rate) / n)
  structure(x,
    acceptance = rate, acceptance_se = rate * error,
    log_normaliser = log_m + log(rate), log_normaliser_se = error,
    tries = tries,
    class = c("rejection_sample", if (is.matrix(x)) "matrix" else "numeric")
  )
}

check_rejection <- function(x, arg, call = rlang::caller_env()) {
  fields <- c("acceptance", "acceptance_se", "log_normaliser",
              "log_normaliser_se", "tries")
  whole <- vapply(fields, function(name) {
    is_plain_number(attr(x, name, exact = TRUE))
  }, NA)
  if (!all(whole) || !is.numeric(x)) {
    check_made(list(), "acceptance", "sample_rejection()", arg, call)
  }
}

#' @export
print.rejection_sample <- function(x, ...) {
  check_rejection(x, "x")
  part <- function(name) attr(x, name, exact = TRUE)
  with_error <- function(name) {
    paste0(format(part(name), digits = 4), " (standard error ",
           format(part(paste0(name, "_se")), digits = 2), ")")
  }
  writeLines(c(
    paste0(
      "<sample_rejection> ", counted(NROW(x), "draw"), " of ",
      counted(NCOL(x), "variable")
    ),
    paste0(
      "Acceptance rate ", with_error("acceptance"), ", ",
      counted(part("tries"), "proposal")
    ),
    paste("Log normaliser", with_error("log_normaliser"))
  ))
  invisible(x)
}

# ---- The picture of rejection sampling ---------------------------------------

# The table has a row for each proposal that is drawn: x, y, accepted.
picture_rejection <- function(x, ..., call, arg) {
  check_rejection(x, arg, call)
  kept <- attr(x, "proposals", exact = TRUE)
  if (is.null(kept)) {
    points <- named_points(unclassed_sample(x))
    return(picture_empirical(
      new_empirical(points, rep(1, nrow(points)), FALSE, NULL), "histogram",
      utils::head(colnames(points), 9L)
    ))
  }
  one <- ncol(kept) == 4L
  accepted <- kept[, "log_uniform"] <= kept[, "log_target"] -
    kept[, "log_envelope"]
  limits <- lapply(seq_len(if (one) 1L else 2L), function(j) {
    rejection_limits(kept[, j], accepted)
  })
  inside <- Reduce(`&`, Map(function(j, ends) {
    kept[, j] >= ends[[1L]] & kept[, j] <= ends[[2L]]
  }, seq_along(limits), limits))
  # heights relative to the largest of the envelope that is drawn
  top <- max(kept[inside, "log_envelope"])
  height <- function(name) exp(kept[, name] - top)
  points <- data.frame(
    x = kept[, 1L],
    y = if (one) height("log_envelope") * exp(kept[, "log_uniform"]) else
      kept[, 2L],
    accepted = accepted, row.names = NULL
  )
  shown <- which(inside)[evenly(sum(inside), 2000)]
  points <- points[shown, ]
  curves <- if (one) {
    along <- which(inside)[order(kept[inside, 1L])]
    along <- along[evenly(length(along), 2000)]
    lapply(c(target = "log_target", envelope = "log_envelope"), function(name) {
      data.frame(x = kept[along, 1L], y = height(name)[along])
    })
  }
  picture(
    points, list(
      picture_layer("point", data.frame(points[1:2], size = 1), ifelse(
        points$accepted, "accepted", "rejected"
      ), 0.8),
      picture_layer("line", curves$envelope, "envelope M q"),
      picture_layer("line", curves$target, "target")
    ), rejection_key(one),
    x = picture_axis(colnames(kept)[[1L]], limits = limits[[1L]]),
    y = if (one) {
      picture_axis("density / highest envelope", floor = TRUE)
    } else {
      picture_axis(colnames(kept)[[2L]], limits = limits[[2L]])
    },
    note = rejection_words(x, nrow(kept), length(shown), sum(!inside))
  )
}

#' @rdname sample_rejection
#' @export
plot.rejection_sample <- plot_method(picture_rejection)

#' @rdname sample_rejection
#' @exportS3Method ggplot2::autoplot
autoplot.rejection_sample <- autoplot_method(picture_rejection)

# Of all proposals, or where they reach much further than those accepted, around
# these.
rejection_limits <- function(x, accepted) {
  near <- grDevices::extendrange(x[accepted], f = 0.1)
  all <- range(x, near)
  if (isTRUE(diff(all) <= 2 * diff(near))) all else near
}

rejection_key <- function(curves) {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("accepted", colours[[1L]], pch = 19),
    plot_key("rejected", colours[[2L]], pch = 4),
    plot_key("target", "black", lty = 1, shown = curves),
    plot_key("envelope M q", "grey50", lty = 2, shown = curves)
  )
}

rejection_words <- function(x, proposed, shown, outside) {
  paste0(
    digits(NROW(x)), " of ", counted(proposed, "proposal"), " accepted (",
    format(100 * NROW(x) / proposed, digits = 2), "%)",
    if (shown + outside < proposed) paste0("; ", digits(shown), " drawn"),
    if (outside > 0) paste0("; ", digits(outside), " outside the axes")
  )
}
