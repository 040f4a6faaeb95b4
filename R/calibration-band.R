# Ranks that should be uniform: the test of their empirical distribution, for
# sbc().

# Ranks 0..draws of numbers among the rows of `sampled`, by column. Ties are
# broken at random.
rank_among <- function(value, sampled) {
  value <- rep(value, each = nrow(sampled))
  below <- colSums(sampled < value)
  ties <- colSums(sampled == value)
  below + floor(stats::runif(length(ties)) * (ties + 1))
}

# The correlation of successive rows, by column; NaN where a column is constant.
lag_one <- function(x) {
  centred <- sweep(x, 2L, colMeans(x))
  n <- nrow(x)
  colSums(centred[-1L, , drop = FALSE] * centred[-n, , drop = FALSE]) /
    colSums(centred^2)
}

# The simultaneous band of the empirical distribution of n ranks, uniform on
# 0..draws (Säilynoja, Bürkner & Vehtari 2022,
# doi:10.1007/s11222-022-10090-6): counts of ranks <= r stay within
# lower[r + 1]..upper[r + 1] for all r with probability at least 1 - error. The
# bounds are binomial quantiles at one pointwise level, the largest for which
# this holds.
ecdf_band <- function(n, draws, error) {
  low <- error / (draws + 1) # Bonferroni: keeps the promise
  high <- error
  for (step in 1:30) {
    middle <- sqrt(low * high)
    band <- pointwise_band(n, draws, middle)
    if (band_probability(n, band$lower, band$upper) >= 1 - error) {
      low <- middle
    } else {
      high <- middle
    }
  }
  pointwise_band(n, draws, low)
}

pointwise_band <- function(n, draws, level) {
  p <- seq_len(draws + 1) / (draws + 1)
  list(
    lower = stats::qbinom(level / 2, n, p),
    upper = stats::qbinom(level / 2, n, p, lower.tail = FALSE)
  )
}

# P(lower_r <= #{ranks <= r} <= upper_r for all r), exactly: the counts are a
# Markov chain, C_r | C_(r-1) ~ C_(r-1) + Bin(n - C_(r-1), 1 / (cells left)).
band_probability <- function(n, lower, upper) {
  cells <- length(lower)
  count <- 0
  probability <- 1
  for (r in seq_len(cells)) {
    if (lower[[r]] > upper[[r]]) {
      return(0)
    }
    reached <- seq(lower[[r]], upper[[r]])
    step <- outer(reached, count, function(to, from) {
      stats::dbinom(to - from, n - from, 1 / (cells - r + 1))
    })
    probability <- drop(step %*% probability)
    count <- reached
  }
  sum(probability)
}

# The p-value of uniform ranks: the probability that uniform ranks leave, at
# some r, the pointwise band whose level is the smallest pointwise p-value of
# these ranks.
uniform_p_value <- function(ranks, draws) {
  n <- length(ranks)
  counts <- rank_counts(ranks, draws)[-(draws + 1)]
  p <- seq_len(draws) / (draws + 1)
  level <- min(
    1, 2 * stats::pbinom(counts, n, p),
    2 * stats::pbinom(counts - 1, n, p, lower.tail = FALSE)
  )
  # a little more, so that counts at this level are outside the band
  band <- pointwise_band(n, draws, min(1, level * (1 + 1e-9)))
  max(0, 1 - band_probability(n, band$lower, band$upper))
}

# The number of ranks <= r, r = 0..draws.
rank_counts <- function(ranks, draws) cumsum(tabulate(ranks + 1, draws + 1))
