# The search for the mode of a logistic regression, and the errors when it
# fails.

# ---- the search for the mode -----------------------------------------------

# The log joint density as C reads it: of the coefficients less their prior
# means m, with the offset o + X m.
logistic_density <- function(frame, quadratic) {
  offset <- frame$offset
  if (!is.null(quadratic$mean)) {
    offset <- drop(linear_predictors(frame$x, quadratic$mean, offset))
  }
  list(
    x = design_for_c(frame$x), success = frame$success, total = frame$total,
    offset = offset, precision = quadratic$precision,
    probit = as.double(identical(frame$link, "probit")),
    constant = frame$constant + quadratic$constant
  )
}

climb_density <- function(density, start, method = "newton", share = FALSE,
                          limit = if (method == "newton") 200 else 20000,
                          tolerance = 1e-8) {
  found <- .Call(
    C_logistic_search, density, as.double(start),
    list(
      gradient = as.double(method == "gradient"),
      limit = as.double(limit),
      share = as.double(share), tolerance = tolerance
    )
  )
  if (is.null(found)) {
    rlang::interrupt()
  }
  outcomes <- c("converged", "limit", "stalled", "singular", "interrupted")
  found$outcome <- outcomes[[found$outcome + 1L]]
  # the mode is found to rounding error
  if (found$outcome == "stalled" && found$distance < 1e-4) {
    found$outcome <- "converged"
  }
  found
}

# list(map, ...) of climb_density(): the mode less the prior means.
search_mode_logistic <- function(frame, quadratic, start, method, columns,
                                 call) {
  density <- logistic_density(frame, quadratic)
  before <- NULL
  if (!is.null(start)) {
    start <- start - (quadratic$mean %||% 0)
  }
  if (is.null(start)) {
    start <- numeric(length(columns))
    if (method == "newton" && length(columns) > nrow(frame$x) &&
          length(quadratic$flat) == 0L) {
      reduced <- search_row_space(frame, density)
      start <- reduced$map
      before <- reduced$trace
    } else if (method == "newton") {
      start <- warm_start(frame, density, start)
    }
  }
  found <- climb_density(
    density, start, method, share = length(quadratic$flat) > 0L
  )
  if (!is.null(before)) {
    found$trace <- c(before, found$trace[-1L])
  }
  flat <- quadratic$flat
  # so small a share indicates collinear columns or separated data
  if (length(flat) > 0L &&
        (found$outcome != "converged" || found$share < 1e-10)) {
    check_collinear(frame, flat, columns, call)
    check_separated(frame, flat, columns, call)
  }
  if (found$outcome != "converged" || !is.finite(found$log_joint)) {
    abort_search(found, method, call)
  }
  found
}

# The mode for every step-th row. With many rows a Newton step on this subset is
# cheap, and the full data then need only two or three steps.
warm_start <- function(frame, density, start) {
  n <- nrow(frame$x)
  step <- floor(min(40, n / 1000, n / (50 * length(start))))
  if (step < 4) {
    return(start)
  }
  found <- climb_density(
    every_row(frame, density, step), start, limit = 25, tolerance = 0.1
  )
  if (found$outcome == "converged" && all(is.finite(found$map))) {
    found$map
  } else {
    start
  }
}

# The density of rows 1, 1 + step, ..., each of which counts `step` times.
every_row <- function(frame, density, step) {
  rows <- seq.int(1L, nrow(frame$x), by = step)
  density$x <- design_for_c(frame$x[rows, , drop = FALSE])
  density$success <- step * density$success[rows]
  density$total <- step * density$total[rows]
  density["offset"] <- list(density$offset[rows])
  density
}

# More columns than rows: the mode lies where w = C X'a, as there L' = 0 reads
# X'(s - m sigma) = Q w.  With X C X' = R R' and w = C X' R^-T u the linear
# predictor is o + R u and w'Qw = u'u: a regression on n columns with prior
# N(0, I), whose L is that of w.
search_row_space <- function(frame, density) {
  q <- density$precision
  rows <- Matrix::t(frame$x)
  spread <- unname(as.matrix(if (is.matrix(q)) solve(q, rows) else rows / q))
  cross <- unname(as.matrix(frame$x %*% spread))
  root <- eigen((cross + t(cross)) / 2, symmetric = TRUE)
  kept <- root$values > 1e-14 * max(root$values, 0)
  if (!any(kept)) {
    return(list(map = numeric(ncol(frame$x))))
  }
  vectors <- root$vectors[, kept, drop = FALSE]
  sizes <- sqrt(root$values[kept])
  reduced <- density
  reduced$x <- vectors * rep(sizes, each = nrow(vectors))
  reduced$precision <- rep(1, length(sizes))
  found <- climb_density(reduced, numeric(length(sizes)))
  list(
    map = drop(spread %*% (vectors %*% (found$map / sizes))),
    trace = found$trace
  )
}

abort_search <- function(found, method, call) {
  taken <- length(found$trace) - 1L
  distance <- format(found$distance, digits = 2)
  hint <- if (method == "gradient") {
    "`method = \"newton\"` needs far fewer iterations."
  } else {
    paste(
      "Look for predictors on very different scales, nearly collinear ones,",
      "and very large offsets or weights."
    )
  }
  abort_numeric(
    c(
      "The mode was not found in {taken} iteration{?s} ({found$outcome}).",
      x = "It is about {distance} posterior standard deviations away.",
      i = "{hint}"
    ),
    call = call, class = "mode", trace = found$trace
  )
}

# ---- diagnosis under a flat prior ------------------------------------------

# Columns that are linear combinations of those before them, by the Gram matrix
# of the flat columns in units of their length: qr() moves such columns to the
# end.  (1 - R^2 below 1e-11 is a relative residual below 3e-6.)
check_collinear <- function(frame, flat, columns, call,
                            prior = "logistic_prior()") {
  p <- ncol(frame$x)
  # minus the Hessian at eta = 0 is x' diag(total / 4) x
  gram <- .Call(
    C_logistic_derivatives,
    list(
      x = design_for_c(frame$x), success = frame$total / 2,
      total = 4 * frame$total, offset = NULL, precision = numeric(p),
      probit = 0, constant = 0
    ),
    numeric(p)
  )$hessian[flat, flat, drop = FALSE]
  size <- sqrt(diag(gram))
  empty <- !(size > 0)
  size[empty] <- 1
  reduced <- qr(gram / outer(size, size), tol = 1e-11)
  dependent <- reduced$pivot[seq_along(flat) > reduced$rank]
  if (length(dependent) == 0L) {
    return(invisible())
  }
  names <- columns[flat][sort(dependent)]
  zero <- all(empty[dependent])
  abort_argument(
    c(
      "{cli::qty(names)}The column{?s} {.val {names}} {?is/are} {?a linear
       combination/linear combinations} of the others: without a prior
       {?its coefficient is/their coefficients are} not determined.",
      x = if (zero) "{cli::qty(names)}{?It is/They are} 0 in every row.",
      i = "Leave {cli::qty(names)}{?it/them} out, or give a proper prior, such
           as {.code {prior}}."
    ),
    call = call, class = "collinear", columns = names
  )
}

# Data are separated when some beta != 0 of the flat columns has x_i'beta >= 0
# for every success, <= 0 for every failure (both: = 0), and not 0 everywhere:
# the likelihood then increases without end along beta (Albert & Anderson 1984).
# A linear program finds one (Konis 2007, sec. 4.2). Columns are then dropped
# one by one as long as the same number of observations is separated.
check_separated <- function(frame, flat, columns, call) {
  needed <- separating_columns(signed_rows(frame, flat), length(flat))
  if (length(needed) == 0L) {
    return(invisible())
  }
  names <- columns[flat][needed]
  abort_argument(
    c(
      "{cli::qty(names)}Successes and failures are separated by column{?s}
       {.val {names}}: without a prior {?its coefficient is/their coefficients
       are} infinite.",
      i = "Give {cli::qty(names)}{?it/them} a proper prior, such as
           {.code logistic_prior()}."
    ),
    call = call, class = "separated", columns = names
  )
}

# Which of p columns separate the rows of signed_rows(); none if they are not
# separated.
separating_columns <- function(signed, p) {
  count <- separating_direction(signed, seq_len(p))$count
  needed <- if (count > 0) seq_len(p)
  for (j in rev(needed)) {
    fewer <- setdiff(needed, j)
    if (length(fewer) > 0L &&
          separating_direction(signed, fewer)$count >= count) {
      needed <- fewer
    }
  }
  needed
}

# Columns that separate successes from failures, so that under a proper prior
# only this bounds their coefficients. wide: columns whose posterior standard
# deviation is not far below that of the prior; without them none is looked for.
# A column that does so alone, such as that of a rare level, is found with any
# number of rows, several together by a linear program of moderate size.
unbounded_columns <- function(frame, wide) {
  kept <- which(frame$total > 0)
  success <- frame$success[kept]
  all <- success == frame$total[kept]
  none <- success == 0
  alone <- Filter(function(j) {
    v <- column_of(frame$x, j)[kept]
    at <- v != 0
    any(at) && (all(v >= 0) || all(v <= 0)) && (all(all[at]) || all(none[at]))
  }, wide)
  p <- ncol(frame$x)
  if (length(alone) > 0L || length(wide) == 0L || p > 30L) {
    return(alone)
  }
  if (p * length(kept) > 1e7) {
    return(integer())
  }
  signed <- signed_rows(frame, seq_len(p))
  if (length(signed$x) > 2e4) integer() else separating_columns(signed, p)
}

# The line about them of print() and summary(), or NULL.
unbounded_note <- function(names) {
  if (length(names) > 0L) {
    cli::pluralize(
      "The data do not bound {names}: {cli::qty(names)}",
      "{?it separates/they separate} ",
      "successes from failures, and {?its/their} size comes from the prior."
    )
  }
}

# Rows x_i of the flat columns for successes and -x_i for failures, in units of
# each column's largest value, and whether an observation has both; each
# distinct row occurs once, with its count in `times`.
signed_rows <- function(frame, flat) {
  kept <- rows_used(frame)
  x <- as.matrix(frame$x[kept, flat, drop = FALSE])
  success <- frame$success[kept]
  both <- success > 0 & success < frame$total[kept]
  size <- apply(abs(x), 2L, max)
  size[!(size > 0)] <- 1
  x <- ifelse(success > 0, 1, -1) * x / rep(size, each = nrow(x))
  rows <- row_codes(c(list(both), as.data.frame(x)))
  first <- !duplicated(rows)
  list(
    x = unname(x[first, , drop = FALSE]), both = both[first],
    times = tabulate(rows)
  )
}

# max sum_i x_i'beta, x_i'beta >= 0 (= 0 where both), |beta_j| <= 1, for the
# columns `among`: how many observations the maximum separates.
separating_direction <- function(signed, among) {
  x <- signed$x[, among, drop = FALSE]
  p <- length(among)
  gain <- colSums(x[!signed$both, , drop = FALSE])
  # the variables of the linear program are 1 + beta, which are not negative
  solved <- lpSolve::lp(
    "max", gain, rbind(x, diag(p)),
    c(ifelse(signed$both, "=", ">="), rep("<=", p)), c(rowSums(x), rep(2, p))
  )
  if (solved$status != 0L) {
    return(list(count = 0))
  }
  beyond <- drop(x %*% (solved$solution - 1)) > 1e-9
  list(count = sum(signed$times[beyond]))
}
