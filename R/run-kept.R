# Which of its draws a chain keeps. A long run under a rule keeps each 2nd, 4th,
# 8th, ... draw: the chain has `left` and `stride`. They change only at a check,
# before the draws are judged, and depend on the number of draws alone. The
# model makes all draws, and averages over all of them.

# The sweep at which a chain has made `draws` draws.
sweep_of <- function(running, draws) running$burnin + draws * running$thin

draws_at <- function(sweep, running) {
  max(0, floor((sweep - running$burnin) / running$thin))
}

# The kept ones among the chain's first `drawn` draws.
kept_of <- function(chain, drawn = chain$drawn) {
  max(0, floor((drawn - chain$left) / chain$stride))
}

# The chain with those of its kept draws alone that come after `left` draws, and
# of them each `stride`-th.
keep_every <- function(chain, left, stride) {
  if (chain$left != left || chain$stride != stride) {
    number <- chain$left + chain$stride * seq_len(kept_of(chain))
    chain$chunks <- thinned(chain$chunks, number, left, stride)
    chain$left <- left
    chain$stride <- stride
  }
  chain
}

# The kept rows of matrices of the draws with these numbers.
thinned <- function(chunks, number, left, stride) {
  kept <- number > left & (number - left) %% stride == 0
  if (all(kept)) {
    chunks
  } else if (any(kept)) {
    list(do.call(rbind, chunks)[kept, , drop = FALSE])
  } else {
    list()
  }
}

stride_of <- function(job) {
  max(vapply(job$chains, `[[`, 0, "stride"))
}

# The smallest power of 2 by which `draws` draws are at most rule$kept ones. The
# rule of a run that an earlier version began has no such number.
least_stride <- function(rule, draws) {
  2^max(0, ceiling(log2(draws / (rule$kept %||% Inf))))
}

# ---- In a fit and in a job --------------------------------------------------

# The running arguments of a fit count kept draws: `thin` is the number of
# sweeps between them, and `stride`, if it is not 1, the number of draws that
# the chain has made for each.
running_of_fit <- function(running, stride) {
  running$stride <- if (stride > 1) stride
  times_thin(running, stride)
}

running_of_job <- function(running) {
  stride <- stride_in(running)
  running$stride <- NULL
  times_thin(running, 1 / stride)
}

times_thin <- function(running, times) {
  running$thin <- running$thin * times
  if (!is.null(running$averaged_from)) {
    running$averaged_from <- running$averaged_from / times
  }
  running
}

stride_in <- function(running) running$stride %||% 1

# The draws that each chain of a fit has made, also those that it has not kept.
draws_made <- function(fit) {
  running <- attr(fit, "running")
  if (stride_in(running) == 1) {
    return(running$draws)
  }
  running <- running_of_job(running)
  min(vapply(attr(fit, "chains"), function(chain) {
    draws_at(chain$state$sweep, running)
  }, 0))
}
