# What the driver adds to a bare C loop: runs of 20,000 sweeps of about 50
# microseconds, by the driver and as one .Call a chain, in interleaved pairs.
# The driver's part is starting values, segments, the fit with its hashes, and
# the look at convergence; the last is also given alone, for it grows with the
# draws kept and not with the sweeps.  These are times of the processor, which
# other programs disturb less; then, by the clock, the cost of checkpoints.
#
# Rscript bench/driver.R [pairs]

library(gibbsite)

# names that are not exported
inside <- function(name) get(name, asNamespace("gibbsite"))

pairs <- as.integer(c(commandArgs(trailingOnly = TRUE), "5")[1])
sweeps <- 20000
target <- 50e-6
draws <- 1000

simulate <- function(n) {
  set.seed(1)
  x <- matrix(rnorm(2 * n), n)
  half <- seq_len(n %/% 2)
  x[half, ] <- x[half, ] + 4
  colnames(x) <- c("a", "b")
  x
}

mixture <- function(x) {
  fit <- gibbs_gmm(x, 2, draws = 1, burnin = 0, chains = 1, progress = FALSE)
  attr(fit, "model")
}

start <- function(model, chains) {
  lapply(inside("chain_streams")(1L, chains), function(stream) {
    inside("start_chain")(model, NULL, stream, 1L, environment())
  })
}

control <- list(burnin = sweeps - draws, thin = 1, threads = 1L)

processor <- c("user.self", "sys.self")

seconds <- function(code, clock = processor) {
  gc()
  began <- sum(proc.time()[clock])
  force(code)
  sum(proc.time()[clock]) - began
}

# The models' methods are found from within the package alone.
all_sweeps <- function(model, state, n, control) {
  model_sweeps(model, state, n, control)
}
environment(all_sweeps) <- asNamespace("gibbsite")

bare_loop <- function(model, chains) {
  for (chain in start(model, chains)) {
    assign(".Random.seed", chain$rng, globalenv())
    all_sweeps(model, chain$state, sweeps, control)
  }
}

by_driver <- function(x, chains, ...) {
  suppressWarnings(gibbs_gmm(
    x, 2,
    draws = draws, burnin = control$burnin, chains = chains, seed = 1L,
    progress = FALSE, ...
  ))
}

# The number of observations at which a sweep takes the target.
calibrate <- function() {
  time_of <- function(n) {
    model <- suppressWarnings(mixture(simulate(n)))
    median(replicate(5, seconds(bare_loop(model, 1)))) / sweeps
  }
  n <- c(200, 2000)
  times <- vapply(n, time_of, 0)
  slope <- diff(times) / diff(n)
  max(10, round(n[1] + (target - times[1]) / slope))
}

interleaved <- function(first, second, clock, pairs) {
  times <- t(vapply(seq_len(pairs), function(pair) {
    c(seconds(first(), clock), seconds(second(), clock))
  }, c(0, 0)))
  c(
    first = median(times[, 1]), second = median(times[, 2]),
    added = median(times[, 2] / times[, 1] - 1)
  )
}

percent <- function(share) sprintf("%5.2f%%", 100 * share)

n <- calibrate()
x <- simulate(n)
model <- suppressWarnings(mixture(x))
cat(sprintf(
  "%s; %d pairs; n = %d, %.1f microseconds a sweep; %d draws kept\n",
  R.version.string, pairs, n, 1e6 * seconds(bare_loop(model, 1)) / sweeps, draws
))

missed <- character()
compare <- function(what, first, second, most = NULL, clock = processor,
                    pairs = 5) {
  times <- interleaved(first, second, clock, pairs)
  cat(sprintf(
    "%-34s %7.3f s -> %7.3f s: adds %s%s\n", what,
    times[["first"]], times[["second"]], percent(times[["added"]]),
    if (is.null(most)) "" else sprintf(" (at most %s)", percent(most))
  ))
  if (!is.null(most) && times[["added"]] > most) missed <<- c(missed, what)
}

for (chains in c(1, 4)) {
  compare(
    sprintf("driver, %d chain%s", chains, if (chains > 1) "s" else ""),
    function() bare_loop(model, chains), function() by_driver(x, chains), 0.03,
    pairs = pairs * 4 / chains
  )
}

fit <- by_driver(x, 4)
judging <- median(replicate(9, seconds(
  suppressWarnings(inside("warn_convergence")(fit))
)))
cat(sprintf("of which the look at convergence: %.3f s\n", judging))

# As often as they come: with no least time between two.
options(gibbsite.checkpoint_seconds = 0)
folder <- function() tempfile("checkpoint")
compare(
  "checkpoints, draws of 16 columns",
  function() by_driver(x, 4),
  function() by_driver(x, 4, checkpoint = folder()), 0.05,
  clock = "elapsed", pairs = pairs
)
# The last writing cannot be put off, and takes what the draws' volume takes:
# here that of every allocation.
draws <- 5000
control$burnin <- sweeps - draws
compare(
  sprintf("checkpoints, %.0f MB of draws", 4 * draws * (n + 16) * 8 / 2^20),
  function() by_driver(x, 4, keep = "z"),
  function() by_driver(x, 4, keep = "z", checkpoint = folder()),
  clock = "elapsed", pairs = 3
)

# How many can be written in a second, four chains with ten new draws each, with
# what hands them to the disk and without.
written_per_second <- function(writings = 25) {
  fit <- by_driver(x, 4)
  chains <- lapply(attr(fit, "chains"), function(chain) {
    inside("new_chain")(chain$state, chain$rng)
  })
  running <- c(attr(fit, "running"), list(checkpoint = NULL))
  job <- inside("new_job")(attr(fit, "model"), running, chains, NULL)
  path <- folder()
  checkpoint <- inside("new_checkpoint")(path, 4)
  write <- function() {
    job$chains <<- lapply(job$chains, function(chain) {
      chain$chunks <- c(chain$chunks, list(unclass(fit[[1]])[1:10, ]))
      chain$drawn <- chain$drawn + 10
      chain$state$sweep <- chain$state$sweep + 10
      chain
    })
    inside("write_chains")(checkpoint, job)
  }
  write()
  time <- seconds(for (i in seq_len(writings)) write(), "elapsed")
  inside("release_checkpoint")(checkpoint)
  unlink(path, recursive = TRUE)
  writings / time
}
draws <- 1000
control$burnin <- sweeps - draws
synced <- written_per_second()
for (name in c("sync_file", "sync_directory")) {
  utils::assignInNamespace(name, function(path) NULL, "gibbsite")
}
cat(sprintf(
  "checkpoints of 4 chains: %.0f a second, %.0f without fsync()\n",
  synced, written_per_second()
))

if (length(missed) > 0) {
  cat("Missed:", paste(missed, collapse = "; "), "\n")
  quit(status = 1L)
}
