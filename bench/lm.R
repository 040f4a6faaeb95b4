# Linear regression: effective draws of the coefficients a second, gibbs_lm()
# over MCMCpack::MCMCregress(), alternately in one process on one thread; the
# least of the coefficients counts. Elapsed times include the preparation of the
# data.
library(gibbsite)
source(file.path("bench", "deps.R"))
if (!peer_available("MCMCpack")) {
  quit(save = "no")
}

simulate <- function(n, p) {
  set.seed(1)
  sim_lm(n, stats::rnorm(p), sigma = 2, intercept = 1)
}

rate_of <- function(run, p) {
  time <- system.time(draws <- run())[["elapsed"]]
  min(coda::effectiveSize(draws[, seq_len(p + 1)])) / time
}

for (size in list(c(5000, 3), c(5000, 50))) {
  n <- size[[1]]
  p <- size[[2]]
  data <- simulate(n, p)
  ours <- function() {
    gibbs_lm(
      y ~ ., data, draws = 10000, burnin = 1000, chains = 1, seed = 1,
      progress = FALSE
    )[[1]]
  }
  theirs <- function() {
    MCMCpack::MCMCregress(y ~ ., data, mcmc = 10000, burnin = 1000, seed = 1)
  }
  ratios <- vapply(1:5, function(i) rate_of(ours, p) / rate_of(theirs, p), 0)
  cat(sprintf(
    "%d x %d: effective draws a second over MCMCregress: %.1f (%.1f to %.1f)\n",
    n, p, stats::median(ratios), min(ratios), max(ratios)
  ))
}
