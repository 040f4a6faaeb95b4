# Why chains have not converged. Four causes are told apart:
#
#   climbing  the log density still rises: the posterior is not reached
#   burnin  the first draws differ from the later ones of the same chain
#   stuck   the chains are level but apart, or move rarely between two levels
#   short   none of these: the chains overlap and need more draws
#
# Each test is made on the failed quantities, at most ten. The false alarms on
# autoregressive chains are counted in test-verdict.R.

# list(kind, variable, drop, more, slow). `drop`: draws of each chain to leave
# out; `more`: further draws to make; `slow`: the effective sample size is less
# than a fiftieth of the draws. NULL if the chains have converged or nothing can
# be said. `invariants`: draws x chains x quantities.
find_cause <- function(invariants, table) {
  if (table_converged(table) || all(table$constant) || !all(table$finite)) {
    return(NULL)
  }
  failed <- which(!table$ok & !table$constant)
  worst <- utils::head(failed[order(-distances(table)[failed])], 10)
  draws <- dim(invariants)[1]
  climbing <- climbing_cause(invariants)
  if (!is.null(climbing)) {
    return(climbing)
  }
  step <- max(1, draws %/% 1000)
  some <- invariants[seq(1, draws, by = step), , worst, drop = FALSE]
  drop <- max(each_variable(some, transient_length, 1L))
  rest <- some[seq(drop + 1, dim(some)[1]), , , drop = FALSE]
  long <- draws >= shortest_stuck
  stuck <- each_variable(rest, function(x) is_stuck(x, long), 1L) > 0
  if (any(stuck)) {
    variable <- dimnames(some)[[3]][which(stuck)[1]]
    return(list(kind = "stuck", variable = variable, drop = 0, more = 0))
  }
  drop <- min(drop * step, draws - fewest_draws)
  cause <- if (drop > 0) cause_burnin(invariants, table, worst[1], drop)
  cause %||% arrival_cause(invariants, table) %||% list(
    kind = "short", variable = table$variable[worst[1]], drop = 0,
    more = more_draws(table), slow = mixes_slowly(table)
  )
}

# Chains with fewer draws than this that move are not called stuck.
shortest_stuck <- 400

# Whether more draws are all that is missing. Fewer than 100 effective draws do
# not show it. `table` may lack quantities.
is_short <- function(invariants, table) {
  judged <- invariants[, , table$variable, drop = FALSE]
  isTRUE(least_ess(table) >= 100) &&
    identical(find_cause(judged, table)$kind, "short")
}

mixes_slowly <- function(table) {
  made <- attr(table, "draws") * attr(table, "chains")
  made >= 400 && isTRUE(least_ess(table) < made / 50)
}

# The least effective sample size, that of an inner quantity in the measure of
# answers.
least_ess <- function(table) {
  share <- attr(table, "thresholds")$ess / limits_of(table)$ess
  size <- (effective_sizes(table) * share)[!table$constant]
  if (all(is.na(size))) NA else min(size, na.rm = TRUE)
}

# NULL if the chains are hardly better without their first `drop` draws: the
# effective draws that are left need more draws than all of them do.
cause_burnin <- function(invariants, table, worst, drop) {
  limits <- attr(table, "thresholds")
  later <- invariants[seq(drop + 1, attr(table, "draws")), , , drop = FALSE]
  after <- convergence_table(later, limits$rhat, limits$ess, limits$inner)
  more <- if (table_converged(after)) 0 else more_draws(after)
  if (more < more_draws(table)) {
    arrival <- arrival(invariants)
    rises <- min(arrival$before) > 0
    variable <- if (rises) arrival$variable else table$variable[worst]
    list(kind = "burnin", variable = variable, drop = drop, more = more,
         rises = rises)
  }
}

# Rank-normalised values (Vehtari et al. 2021, eq. 14).
normal_scores <- function(x) {
  array(stats::qnorm((rank(x) - 3 / 8) / (length(x) + 1 / 4)), dim(x))
}

# The number of first draws that differ from the second half of their own chain,
# 0 if none do: the end of the last stretch of the first half that differs. A
# difference of means is compared with its standard error (Geweke 1992, summed
# over chains); the autocorrelation time is that of the second half. A second
# half with few effective draws allows no comparison.
transient_length <- function(x) {
  n <- nrow(x)
  half <- n %/% 2
  if (n < 40 || min(x) == max(x)) {
    return(0)
  }
  x <- normal_scores(x)
  late <- x[seq(half + 1, n), , drop = FALSE]
  size <- mean_ess(late)
  if (is.na(size) || size < 40) {
    return(0)
  }
  time <- max(1, length(late) / size)
  variance <- mean(apply(late, 2, stats::var))
  difference <- function(from, to) {
    early <- colMeans(x[seq(from, to), , drop = FALSE])
    error <- variance * time * (1 / (to - from + 1) + 1 / (n - half))
    z2 <- sum((early - colMeans(late))^2) / error
    stats::pchisq(z2, ncol(x), lower.tail = FALSE)
  }
  ends <- unique(c(ceiling(n * c(0.02, 0.05, seq(0.1, 0.45, 0.05))), half))
  beginnings <- vapply(ends, function(end) difference(1, end), 0)
  stretches <- mapply(difference, c(1, utils::head(ends, -1) + 1), ends)
  if (min(beginnings) > 1e-4) {
    return(0)
  }
  max(ends[stretches < 0.001], ends[1])
}

# ---- Climbing ---------------------------------------------------------------

# The columns that rise while chains come from far away, the surest first.
log_densities <- c("log_density", "log_joint", "log_posterior", "log_lik")

climbing_cause <- function(invariants) {
  variable <- intersect(log_densities, dimnames(invariants)[[3]])
  if (length(variable) == 0L || dim(invariants)[1] < 20) {
    return(NULL)
  }
  x <- matrix(invariants[, , variable[[1L]]], dim(invariants)[1])
  chains <- chains_that_climb(x)
  if (length(chains) > 0L) {
    list(kind = "climbing", variable = variable[[1L]], drop = 0, more = 0,
         chains = chains)
  }
}

# The chains whose log density rises from quarter to quarter, in the last one by
# more than twice the spread within it; none of them if another chain is no
# higher. The spread counts the rise within the quarter: of a steady rise the
# ratio is 3.5, of a random walk seldom more than 2.
chains_that_climb <- function(x) {
  quarter <- ceiling(4 * seq_len(nrow(x)) / nrow(x))
  means <- rowsum(x, quarter) / tabulate(quarter)
  spread <- apply(x[quarter == 4, , drop = FALSE], 2, stats::sd)
  climbs <- colSums(diff(means) > 0) == 3 &
    means[4, ] - means[1, ] > 6 * spread & means[4, ] - means[3, ] > 2 * spread
  if (any(climbs) && all(climbs | means[4, ] > max(means[4, climbs]))) {
    which(climbs)
  }
}

# list(variable, before): for each chain the number of first draws that lie
# below the log density of its second half, by more than five standard
# deviations.
arrival <- function(invariants) {
  variable <- intersect(log_densities, dimnames(invariants)[[3]])
  draws <- dim(invariants)[1]
  if (length(variable) == 0L || draws < 20) {
    return(list(before = 0))
  }
  x <- matrix(invariants[, , variable[[1L]]], draws)
  late <- x[seq(draws %/% 2 + 1, draws), , drop = FALSE]
  bound <- colMeans(late) - 5 * apply(late, 2, stats::sd)
  list(
    variable = variable[[1L]],
    before = apply(x >= rep(bound, each = draws), 2, which.max) - 1
  )
}

# NULL if the draws on the way to the posterior are few.
arrival_cause <- function(invariants, table) {
  arrival <- arrival(invariants)
  drop <- max(arrival$before)
  draws <- attr(table, "draws")
  if (min(arrival$before) == 0 || drop < draws / 50 || drop > draws / 2) {
    return(NULL)
  }
  limits <- attr(table, "thresholds")
  after <- convergence_table(
    invariants[seq(drop + 1, draws), , , drop = FALSE], limits$rhat,
    limits$ess, limits$inner
  )
  list(kind = "burnin", variable = arrival$variable, drop = drop,
       more = if (table_converged(after)) 0 else more_draws(after),
       rises = TRUE)
}

# ---- Transients and levels --------------------------------------------------

# In a short run, chains count as stuck only if one never moves.
is_stuck <- function(x, long) {
  if (nrow(x) < 40 || min(x) == max(x)) {
    return(0)
  }
  if (!long && all(apply(x, 2, stats::var) > 0)) {
    return(0)
  }
  as.numeric(are_apart(normal_scores(x)) || switches_rarely(x))
}

# Chains each of which is level (it has effective draws of its own), with means
# that differ by more than their standard errors, by a variance of more than a
# tenth of that within chains (an R-hat of about 1.05), and of more than six
# times that of a chain's means over its quarters. A chain whose quarters differ
# as much as chains do moves slowly: topics of texts do, and more draws help.
are_apart <- function(x) {
  variance <- apply(x, 2, stats::var)
  means <- colMeans(x)
  if (any(variance == 0)) {
    return(diff(range(means)) > 0)
  }
  size <- apply(x, 2, function(chain) mean_ess(matrix(chain)))
  if (anyNA(size) || min(size) < 20) {
    return(FALSE)
  }
  weight <- size / variance
  z2 <- sum(weight * (means - stats::weighted.mean(means, weight))^2)
  ncol(x) > 1 && stats::var(means) > mean(variance) / 10 &&
    stats::var(means) > 6 * quarter_variance(x) &&
    stats::pchisq(z2, ncol(x) - 1, lower.tail = FALSE) < 1e-4
}

# The variance of the means over quarters of a chain, averaged over chains.
quarter_variance <- function(x) {
  quarter <- ceiling(4 * seq_len(nrow(x)) / nrow(x))
  means <- rowsum(x, quarter) / tabulate(quarter)
  mean(apply(means, 2, stats::var))
}

# Draws that fall into two levels (the split with the largest variance between
# them, as in Otsu 1979, takes up more than that of a normal density, 2 / pi),
# where few effective draws are due to the switches: the draws about the mean of
# their level have ten times as many.
switches_rarely <- function(x) {
  own <- mean_ess(x)
  if (is.na(own) || own >= 100) {
    return(FALSE)
  }
  split <- two_levels(as.vector(x))
  upper <- x > split$cut
  centred <- x - ifelse(upper, mean(x[upper]), mean(x[!upper]))
  split$share > 0.65 && min(centred) < max(centred) &&
    isTRUE(mean_ess(centred) > 10 * own)
}

# list(cut, share): the threshold, and the share of the variance between the
# values above and below it.
two_levels <- function(x) {
  x <- sort(x)
  n <- length(x)
  below <- seq_len(n - 1)
  sums <- cumsum(x)
  between <- (sums[n] * below / n - sums[below])^2 * n / (below * (n - below))
  between[x[below] == x[below + 1]] <- 0
  at <- which.max(between)
  list(cut = (x[at] + x[at + 1]) / 2,
       share = between[at] / sum((x - sums[n] / n)^2))
}

# The number of further draws: as many as there are, or more if the effective
# sample size (with a margin) or R-hat needs them. It is rounded up to 1, 2 or 5
# times a power of ten. The excess of R-hat falls like one over the draws.
more_draws <- function(table) {
  draws <- attr(table, "draws")
  limits <- limits_of(table)
  size <- effective_sizes(table)
  judged <- !table$constant & is.finite(size)
  if (!any(judged)) {
    return(round_number(max(draws, 100)))
  }
  factor <- max(
    (1.2 * limits$ess / size)[judged],
    ((table$rhat - 1) / (limits$rhat - 1))[judged], na.rm = TRUE
  )
  round_number(draws * max(1, factor - 1))
}

round_number <- function(x) {
  unit <- 10^floor(log10(x))
  # 2000 / 1000 may come out a rounding error above 2
  unit * c(1, 2, 5, 10)[which(x / unit <= c(1, 2, 5, 10) + 1e-9)[1]]
}
