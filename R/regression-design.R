# What every regression knows of its design, and its weights and offset.

# ---- the design --------------------------------------------------------------

# list(mean, sd, squares, finite) of the columns of a matrix, dense or sparse;
# `total`: only observations for which it is positive are used.
measure_columns <- function(x, total) {
  .Call(C_design_columns, columns_for_c(x), as.double(total))
}

# list(columns, intercept, mean, sd) of a matrix with the measures `found`.
describe_design <- function(x, columns, found, call) {
  if (!all(found$finite)) {
    j <- which(!found$finite)[[1L]]
    abort_wild(column_of(x, j), columns[[j]], rownames(x), call)
  }
  empty <- found$sd == 0 & found$mean == 0
  wild <- !empty & !(found$squares > 1e-290 & found$squares < 1e290)
  if (any(wild)) {
    names <- columns[wild]
    abort_argument(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?has/have} values or a
         spread whose square is beyond the range of doubles.",
        i = "Change {cli::qty(names)}{?its/their} unit."
      ),
      call = call
    )
  }
  check_far_columns(columns, found, call)
  list(
    columns = columns, intercept = which(columns == "(Intercept)"),
    mean = found$mean, sd = found$sd
  )
}

# If a column is far from 0: the names of those that are nearly a combination of
# other columns, and of the one that is most alike. Where x is a year they are x
# and x^2, or the indicator of a group and its product with x.
nearly_one <- function(x, columns, found) {
  any_far <- any(found$sd > 0 & abs(found$mean) > 15 * found$sd)
  varying <- which(found$sd > 0)
  if (!any_far || length(varying) < 2L || length(varying) > 50L) {
    return(character())
  }
  values <- vapply(varying, function(j) {
    (column_of(x, j) - found$mean[[j]]) / found$sd[[j]]
  }, numeric(nrow(x)))
  # of each column what those before it do not explain
  own <- abs(diag(qr.R(qr(values, tol = 0)))) / sqrt(colSums(values^2))
  last <- which(own < 0.05)
  if (length(last) == 0L) {
    return(character())
  }
  alike <- abs(crossprod(values, values[, last[[1L]]]))
  alike[last[[1L]]] <- 0
  columns[varying[c(which.max(alike), last)]]
}

# The precision matrix of the coefficients has the squares of the columns, whose
# last digits are lost beside a large mean.
check_far_columns <- function(columns, found, call) {
  far <- which(found$sd > 0 & abs(found$mean) > 1e6 * found$sd)
  if (length(far) > 0L) {
    name <- columns[[far[[1L]]]]
    size <- signif(c(found$mean[[far[[1L]]]], found$sd[[far[[1L]]]]), 3)
    abort_argument(
      c("Column {.val {name}} is too far from 0: its mean is {size[[1]]}, and
         its standard deviation {size[[2]]}.",
        i = "Centre it: the intercept takes up the difference."),
      call = call
    )
  }
}

# One column as plain doubles, so that a large matrix is never copied as a
# whole.
column_of <- function(x, j) {
  if (is.matrix(x)) {
    return(x[, j])
  }
  v <- numeric(nrow(x))
  at <- seq_len(x@p[[j + 1L]] - x@p[[j]]) + x@p[[j]]
  v[x@i[at] + 1L] <- x@x[at]
  v
}

abort_wild <- function(v, column, rows, call) {
  at <- which(!is.finite(v))[[1L]]
  given <- v[[at]]
  place <- row_words(at, rows[at])
  abort_argument(
    "The predictors must be finite: {place}, column {.val {column}} is
     {given}.",
    call = call, class = "infinite"
  )
}

# Sparse matrices by rows, in the layout of core/logistic/logistic.h; a dense
# matrix unchanged.
design_for_c <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  rows <- Matrix::t(x)
  list(
    n = nrow(x), p = ncol(x), row_start = rows@p, column = rows@i,
    value = rows@x
  )
}

columns_for_c <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  list(n = nrow(x), p = ncol(x), start = x@p, row = x@i, value = x@x)
}

# ---- weights and offset ------------------------------------------------------

# v_i m_i: the total weight of an observation.
total_weights <- function(response, weights) {
  trials <- response$trials %||% rep(1, length(response$y))
  if (is.null(weights)) trials else weights * trials
}

# list(response, weights): for proportions, as glm() has them, weights are
# numbers of trials, and the response becomes counts.
trials_of_weights <- function(response, weights, call) {
  if (!identical(response$kind, "proportions")) {
    return(list(response = response, weights = weights))
  }
  name <- response$name
  if (is.null(weights)) {
    fraction <- which(response$y != round(response$y))[[1L]]
    given <- describe(response$y[[fraction]])
    abort_argument(
      c(
        "`weights` are needed where `{name}` has proportions: element {fraction}
         is {given}.",
        i = "They are the numbers of trials. Counts of successes are given as
             {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  abort_elements(
    weights != round(weights), weights, "weights",
    paste0("whole numbers of trials, where `", name, "` has proportions"), call
  )
  successes <- weights * response$y
  # glm() warns beyond this
  odd <- which(abs(successes - round(successes)) > 1e-3)
  if (length(odd) > 0L) {
    first <- odd[[1L]]
    given <- describe(response$y[[first]])
    trials <- weights[[first]]
    abort_argument(
      c(
        "`{name}` times `weights` must be whole numbers of successes: element
         {first} is {given} times {trials}.",
        i = "Counts are given as {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  response$y <- ifelse(weights == 0, 0 * response$y,
                       round(successes) / pmax(weights, 1))
  response$trials <- as.double(weights)
  response$kind <- "counts"
  list(response = response, weights = NULL)
}

# list(response, weights, offset, total), checked; of trials_of_weights() and
# total_weights(). n: the number of rows.
weighted_response <- function(response, name, weights, offset, n, call) {
  response$name <- name
  weights <- check_weights(weights, n, call)
  settled <- trials_of_weights(response, weights, call)
  c(settled, list(
    offset = check_offset(offset, n, call),
    total = total_weights(settled$response, settled$weights)
  ))
}

check_weights <- function(weights, n, call) {
  weights <- check_numeric_vector(
    weights, length = n, length_why = "one for each observation", lower = 0,
    null_ok = TRUE, arg = "weights", call = call
  )
  if (is.null(weights)) {
    return(NULL)
  }
  if (!any(weights > 0)) {
    abort_argument("`weights` must not all be 0.", call = call)
  }
  # sums of squares with them stay within the range of doubles
  abort_elements(
    weights > 0 & !in_range(weights, 1e-100, 1e100), weights, "weights",
    "0 or between 1e-100 and 1e+100", call
  )
  if (all(weights == 1)) NULL else unname(weights)
}

# The sum of the offsets of a model frame, or NULL.
frame_offset <- function(frame, call) {
  terms <- names(frame)[attr(attr(frame, "terms"), "offset")]
  for (name in intersect(c(terms, "(offset)"), names(frame))) {
    v <- frame[[name]]
    if (!is.numeric(v)) {
      arg <- if (name == "(offset)") "offset" else name
      abort_expected(v, "a numeric vector", FALSE, arg, call)
    }
  }
  stats::model.offset(frame)
}

check_offset <- function(offset, n, call) {
  # squares with them stay within the range of doubles
  offset <- check_numeric_vector(
    offset, length = n, length_why = "one for each observation",
    lower = -1e100, upper = 1e100, null_ok = TRUE, arg = "offset", call = call
  )
  if (is.null(offset) || all(offset == 0)) NULL else unname(offset)
}

# Whether an offset was an argument of the fit. New data do not hold it.
has_offset_argument <- function(frame) {
  !is.null(frame$offset) &&
    (is.null(frame$model) || "(offset)" %in% names(frame$model))
}
