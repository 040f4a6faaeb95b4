# The names of columns, such as mu[1,2]: made, taken apart and chosen here;
# summaries of columns of draws.

# Names of the elements of a block, the first index fastest: "mu[1,1]", ...
indexed <- function(block, ...) {
  paste0(block, "[", do.call(paste, c(expand.grid(...), sep = ",")), "]")
}

# Names taken apart: list(block, index). "mu[1,2]" belongs to the block "mu"
# with the subscripts 1 and 2; "poly(x)[1][2]" to the block "poly(x)[1]". A name
# without subscripts is a separate block with an empty index.
column_parts <- function(columns) {
  block <- sub("\\[[0-9,]+\\]$", "", columns)
  inside <- substring(columns, nchar(block) + 2L, nchar(columns) - 1L)
  list(
    block = block,
    index = lapply(strsplit(inside, ",", fixed = TRUE), as.integer)
  )
}

block_names <- function(columns) unique(column_parts(columns)$block)

# What draws_of() takes: the names of blocks and of columns.
names_of_draws <- function(columns) unique(c(block_names(columns), columns))

# The columns that belong to one of `blocks`.
in_blocks <- function(columns, blocks) {
  columns[column_parts(columns)$block %in% blocks]
}

# Columns of a block and their subscripts, a row each: list(column, index).
# NULL: no such block.
block_places <- function(columns, block) {
  parts <- column_parts(columns)
  column <- which(parts$block == block & lengths(parts$index) > 0)
  if (length(unique(lengths(parts$index[column]))) != 1) {
    return(NULL)
  }
  list(column = column, index = do.call(rbind, parts$index[column]))
}

# data.frame(variable, label): `label` makes the words for a block's name and
# the subscripts of a column.
label_columns <- function(columns, label) {
  parts <- column_parts(columns)
  data.frame(
    variable = columns,
    label = as.character(mapply(label, parts$block, parts$index))
  )
}

# Names of columns or blocks -> names of columns, in the order asked for.
choose_variables <- function(variables, available, call,
                             arg = "variables") {
  if (is.null(variables)) {
    return(available)
  }
  if (!is.character(variables) || length(variables) == 0 || anyNA(variables)) {
    given <- describe(variables)
    abort_argument(
      "{.arg {arg}} must be NULL or names of variables, not {given}.",
      call = call
    )
  }
  check_text(variables, arg, call)
  found <- lapply(variables, function(name) {
    if (name %in% available) {
      return(name)
    }
    place <- block_places(available, name)$column
    # a category is a subscript too, which is no number
    available[place %||% startsWith(available, paste0(name, "["))]
  })
  missing <- variables[lengths(found) == 0]
  if (length(missing) > 0) {
    abort_argument(
      c("{.arg {arg}} must name columns or blocks of the fit; there is no
         {.val {missing[1]}}.",
        i = "There are {.val {block_names(available)}}."),
      call = call
    )
  }
  unique(unlist(found))
}

# Numbers from 1 to n, at most `count` of them, at equal distances.
evenly <- function(n, count) {
  unique(round(seq(1, n, length.out = min(n, count))))
}

# `count` of `available` draws, spread evenly; NULL: all.
spread_rows <- function(count, available, call) {
  if (is.null(count)) {
    return(seq_len(available))
  }
  count <- check_count(
    count, max = available, max_why = "draws of the fit", arg = "ndraws",
    call = call
  )
  evenly(available, count)
}

# Values in the order of the coordinates' names, if both have names; otherwise
# in the order given.
in_order_of <- function(x, names, arg, whose, call) {
  given <- names(x)
  if (is.null(given) || is.null(names)) {
    return(unname(x))
  }
  if (anyDuplicated(given) > 0L || !setequal(given, names)) {
    abort_argument(
      c("Names of `{arg}` must be those of {whose}: {.val {names}}.",
        i = "Without names the order counts."),
      call = call
    )
  }
  unname(x[names])
}

# A covariance matrix in the order of the coordinates' names, likewise.
matrix_in_order_of <- function(x, names, arg, whose, call) {
  if (nrow(x) == 1L) {
    return(unname(x))
  }
  at <- in_order_of(
    stats::setNames(seq_len(nrow(x)), rownames(x)), names, arg, whose, call
  )
  unname(x)[at, at, drop = FALSE]
}

# ---- Intervals of columns ----------------------------------------------------

# columns x (lower, upper)
central_intervals <- function(draws, level) {
  t(column_quantiles(draws, central_tails(level)))
}

# The probabilities below the two ends of a central interval.
central_tails <- function(level) c(1 - level, 1 + level) / 2

# "2.5 %" and "97.5 %", as confint() has them.
tail_names <- function(level) {
  paste(
    format(100 * central_tails(level), trim = TRUE, digits = 3), "%"
  )
}

some_rows <- function(table, parm, call) {
  table[check_some_of(parm, rownames(table), call), , drop = FALSE]
}

# ---- Names of rows -----------------------------------------------------------

# A vector or a data frame with names of its elements or rows. Those of a data
# frame must be unique: of equal names the second gets ".1" at its end.
with_row_names <- function(x, names) {
  if (is.data.frame(x)) {
    if (!is.null(names)) row.names(x) <- make.unique(names)
  } else {
    names(x) <- names
  }
  x
}

# Those columns of a matrix, a column a row of the data, that are used. Without
# names they get the numbers of their rows if others are left out.
used_columns <- function(x, used) {
  if (is.null(colnames(x)) && !all(used)) {
    colnames(x) <- seq_along(used)
  }
  x[, used, drop = FALSE]
}

# ---- Summaries of columns ----------------------------------------------------

# Summaries of columns of draws, and of mixtures of normal distributions over
# the draws, for intervals of predictions.

two_ends <- function(quantiles) {
  data.frame(lower = quantiles[1L, ], upper = quantiles[2L, ])
}

# Quantiles of the mixtures of mixture_table(), probs x columns. A column's do
# not depend on other columns. If all its sd are 0 they are those of its means.
mixture_quantiles <- function(mean, sd, probs) {
  .Call(C_mixture_quantiles, mean, sd, as.double(probs))
}

# list(mean, squares): the mean of each column, and the sum of the squared
# deviations from it.
column_moments <- function(values) {
  .Call(C_column_moments, as_double_matrix(values))
}

# Without a copy of what is one.
as_double_matrix <- function(values) {
  if (!is.double(values)) storage.mode(values) <- "double"
  values
}

column_sds <- function(values) {
  sqrt(column_moments(values)$squares / (nrow(values) - 1))
}

# quantile() of each column, probs x columns; NA for one with a missing value.
column_quantiles <- function(values, probs) {
  out <- .Call(C_column_quantiles, as_double_matrix(values), as.double(probs))
  colnames(out) <- colnames(values)
  out
}

# Points that integrate over a normal linear predictor, draws x points: each
# draw has one in every of `count` intervals of equal probability. Multiples of
# the golden ratio spread them there, so that those of all draws reach far into
# the tails.
normal_points <- function(draws) {
  count <- max(15, ceiling(1000 / draws))
  place <- (seq_len(draws) * (sqrt(5) - 1) / 2) %% 1
  stats::qnorm(outer(place, seq_len(count) - 1, "+") / count)
}

# pnorm(high) - pnorm(low), on the side of the smaller tail.
between <- function(low, high) {
  flip <- which(low > 0)
  from <- low
  to <- high
  from[flip] <- -high[flip]
  to[flip] <- -low[flip]
  stats::pnorm(to) - stats::pnorm(from)
}

# Its logarithm.
log_between <- function(low, high) {
  flip <- low > 0
  from <- ifelse(flip, -high, low)
  to <- ifelse(flip, -low, high)
  top <- stats::pnorm(to, log.p = TRUE)
  fall <- stats::pnorm(from, log.p = TRUE) - top
  top + ifelse(fall > -log(2), log(-expm1(fall)), log1p(-exp(fall)))
}
