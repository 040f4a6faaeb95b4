# Quantiles of mixtures of normal distributions, for predictive intervals.

# A data frame with sd, lower and upper of the mixture, for each column; NA for
# a column with an unknown mean or without finite variances. tails: NULL for sd
# alone.
mixture_table <- function(mean, sd, tails) {
  none <- rep(NA_real_, ncol(mean))
  out <- data.frame(sd = none, lower = none, upper = none)
  known <- which(!is.na(colSums(mean)) & is.finite(colSums(sd)))
  mean <- mean[, known, drop = FALSE]
  sd <- sd[, known, drop = FALSE]
  out$sd[known] <- mixture_sd(mean, sd)
  if (is.null(tails)) {
    return(out)
  }
  fixed <- colSums(sd != 0) == 0
  for (end in 1:2) {
    out[[1L + end]][known[fixed]] <- column_quantiles(
      mean[, fixed, drop = FALSE], tails[[end]]
    )
    out[[1L + end]][known[!fixed]] <- mixture_quantile(
      mean[, !fixed, drop = FALSE], sd[, !fixed, drop = FALSE], tails[[end]]
    )
  }
  out
}

# The standard deviation of the mixture.
mixture_sd <- function(mean, sd) {
  if (nrow(mean) == 1L) {
    return(drop(sd))
  }
  sqrt(apply(mean, 2L, stats::var) + colMeans(sd^2))
}

# quantile() of each column, probs x columns; NA for one with a missing value.
column_quantiles <- function(values, probs) {
  storage.mode(values) <- "double"
  out <- .Call(C_column_quantiles, values, as.double(probs))
  colnames(out) <- colnames(values)
  out
}

column_sds <- function(values) {
  centred <- values - rep(colMeans(values), each = nrow(values))
  sqrt(colSums(centred^2) / (nrow(values) - 1))
}

# Quantile p of the mixture, with equal weights, of N(mean[s, ], sd[s, ]^2) over
# the draws s, for each column: Newton's method from the quantile of the normal
# distribution with the mixture's mean and variance, kept within the bracket
# that holds the root (it lies between the least and the largest of the
# components' quantiles), to 1e-9 of its standard deviation.  A column's
# result does not depend on other columns.
mixture_quantile <- function(mean, sd, p) {
  draws <- nrow(mean)
  if (ncol(mean) == 0) {
    return(numeric())
  }
  sd <- matrix(sd, draws, ncol(mean))
  own <- mean + stats::qnorm(p) * sd
  if (draws == 1L) {
    return(drop(own))
  }
  low <- apply(own, 2, min)
  high <- apply(own, 2, max)
  centre <- colMeans(mean)
  away <- mean - rep(centre, each = draws)
  spread <- sqrt(colMeans(sd^2 + away^2))
  q <- pmin(pmax(centre + stats::qnorm(p) * spread, low), high)
  active <- seq_along(q)
  for (step in seq_len(200)) {
    m <- mean[, active, drop = FALSE]
    s <- sd[, active, drop = FALSE]
    z <- (rep(q[active], each = draws) - m) / s
    excess <- colMeans(stats::pnorm(z)) - p
    above <- excess > 0
    high[active[above]] <- q[active[above]]
    low[active[!above]] <- q[active[!above]]
    next_q <- q[active] - excess / colMeans(stats::dnorm(z) / s)
    outside <- !is.finite(next_q) | next_q < low[active] |
      next_q > high[active]
    middle <- (low[active] + high[active]) / 2
    next_q[outside] <- middle[outside]
    moved <- abs(next_q - q[active])
    q[active] <- next_q
    active <- active[moved > 1e-9 * spread[active]]
    if (length(active) == 0) {
      break
    }
  }
  q
}
