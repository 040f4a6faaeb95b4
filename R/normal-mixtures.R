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
