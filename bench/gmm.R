# Gaussian mixtures: gibbs_gmm() beside bayesm::rnmixGibbs() and
# mixAK::NMixMCMC().
#
#   Rscript bench/gmm.R [ROUNDS]       ROUNDS: default 7; about six minutes
#
# Questions: how many sweeps a second, how many effective draws of the
# log-likelihood a second, and what a second thread gains.
#
# The model and the priors are those of gmm-peers.R. Each keeps every 10th sweep
# (every sweep at n = 1e5).
#
# Speed: a program is run for few sweeps and for as many more as take about two
# seconds, and the second number is divided by the difference of the elapsed
# times, so that setting up does not count.  Of gibbs_gmm() the time in sweeps
# counts, which the fit records: the whole call goes on to judge convergence,
# which the others do not do; a line below each table has its speed too.  It
# starts where bayesm does: its own search for a start takes about as long as 50
# sweeps, once a chain.  The programs take turns, ROUNDS times; medians, and
# medians of the ratios within a round.  They mean something on an otherwise
# idle machine.
#
# GFLOP/s: additions and multiplications of the densities alone, d^2 + 3 d + 2
# an observation and component by forward substitution, over the time of the
# whole sweep.  A processor that adds or multiplies 8 doubles in each of two
# units has 16 times its clock rate to offer; exponentials, sums by component
# and random numbers take the rest of the time.
#
# Effective draws: posterior::ess_bulk() of log p(x | pi, mu, Sigma) after a
# burn-in of half the run, from one run a program at its own default start; the
# log-likelihood of each program's draws is computed by mixture_log_lik() below.
# Where the mean log-likelihoods differ by more than a few units, the chains
# were in different modes, and their effective draws say nothing about each
# other.  With k = 3 components `faithful` has several modes between which all
# three hop: one run's number is then rough.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(here) > 0L) dirname(here) else "bench"
source(file.path(here, "deps.R"))
source(file.path(here, "gmm-peers.R"))

argument <- commandArgs(trailingOnly = TRUE)
rounds <- if (length(argument) > 0L) as.integer(argument[[1L]]) else 7L

# ---- the data ----------------------------------------------------------------

simulated <- function(n, d, k) {
  set.seed(42)
  mu <- matrix(stats::rnorm(k * d, sd = 3), k)
  x <- sim_gmm(n, rep(1 / k, k), mu, diag(d))
  attr(x, "z") <- NULL
  x
}

# few: sweeps of the shorter of the runs that are timed; ess: sweeps of the run
# for the effective draws; target: the ratio over bayesm to be reached
cases <- list(
  list(
    name = "faithful K=2", x = as.matrix(faithful), k = 2L, thin = 10L,
    few = 1000L, ess = 20000L, target = 7
  ),
  list(
    name = "faithful K=3", x = as.matrix(faithful), k = 3L, thin = 10L,
    few = 1000L, ess = 40000L, target = 7
  ),
  list(
    name = "n=1e4 d=5 K=5", x = simulated(1e4, 5, 5), k = 5L, thin = 10L,
    few = 50L, ess = 2000L, target = 3.5
  ),
  list(
    name = "n=1e5 d=10 K=10", x = simulated(1e5, 10, 10), k = 10L, thin = 1L,
    few = 4L, ess = 200L, target = 7
  )
)

# ---- the programs: each a function of a case and a number of sweeps ----------

run_gibbsite <- function(case, sweeps, threads = 1, inits = NULL) {
  quietly(gibbs_gmm(
    case$x, case$k, prior = own_prior(case), draws = sweeps / case$thin,
    thin = case$thin, burnin = 0, chains = 1, threads = threads, inits = inits,
    progress = FALSE
  ))
}

# From bayesm's start.
time_gibbsite <- function(case, sweeps, threads = 1) {
  z <- rep_len(seq_len(case$k), nrow(case$x))
  run_gibbsite(case, sweeps, threads, inits = list(list(z = z)))
}

# Effective draws a sweep, and the mean log-likelihood, of a run's second half.
effective <- function(case, program) {
  set.seed(1)
  draws <- program$draws(program$run(case, case$ess))
  second_half <- seq.int(draws$count %/% 2L + 1L, draws$count)
  log_lik <- vapply(second_half, function(s) {
    p <- draws$draw(s)
    mixture_log_lik(case$x, p$pi, p$mu, p$roots)
  }, 0)
  c(
    mean = mean(log_lik),
    a_sweep = posterior::ess_bulk(log_lik) / (case$ess / 2)
  )
}

programs <- list(gibbsite = list(
  timed = time_gibbsite, run = run_gibbsite, draws = draws_gibbsite
))
if (peer_available("bayesm")) {
  programs$bayesm <- list(
    timed = run_bayesm, run = run_bayesm, draws = draws_bayesm
  )
}
if (peer_available("mixAK")) {
  programs[["mixAK"]] <- list(
    timed = run_mixak, run = run_mixak, draws = draws_mixak
  )
}

# ---- measuring ---------------------------------------------------------------

# Seconds of a run: of the call, and in sweeps where the result records them.
seconds <- function(run, case, sweeps) {
  gc()
  call <- system.time(result <- run(case, sweeps))[["elapsed"]]
  own <- if (inherits(result, "gibbsite_fit")) {
    sum(attr(result, "run")$elapsed$chains)
  }
  c(sweeps = if (is.null(own)) call else own, call = call)
}

# Sweeps a second of `more` sweeps, setting up not counted: in sweeps, and of
# the whole call.
speed <- function(case, run, more) {
  few <- seconds(run, case, case$few)
  many <- seconds(run, case, case$few + more)
  more / (many - few)
}

# As many sweeps more as take about two seconds.  (In the first run R compiles
# what it meets.)
two_seconds_of <- function(case, run) {
  run(case, case$few)
  base <- seconds(run, case, case$few)[["call"]]
  more <- case$few
  repeat {
    time <- seconds(run, case, case$few + more)[["call"]] - base
    if (time > 0.3) {
      return(case$thin * ceiling(2 * more / time / case$thin))
    }
    more <- 3L * more
  }
}

# list(sweeps, call): each rounds x runs, in turns
in_turns <- function(case, runs) {
  more <- lapply(runs, function(run) two_seconds_of(case, run))
  speeds <- vapply(seq_len(rounds), function(round) {
    set.seed(round)
    mapply(function(run, more) speed(case, run, more), runs, more)
  }, matrix(0, 2L, length(runs)))
  by_round <- function(clock) {
    matrix(
      speeds[clock, , ], rounds, byrow = TRUE,
      dimnames = list(NULL, names(runs))
    )
  }
  list(sweeps = by_round(1L), call = by_round(2L))
}

median_ratio <- function(speeds, one, other) {
  stats::median(speeds[, one] / speeds[, other])
}

# Operations of the densities of one sweep.
density_flops <- function(case) {
  d <- ncol(case$x)
  nrow(case$x) * case$k * (d^2 + 3 * d + 2)
}

measure <- function(case) {
  both <- in_turns(case, lapply(programs, `[[`, "timed"))
  speeds <- both$sweeps
  medians <- apply(speeds, 2L, stats::median)
  ess <- vapply(programs, function(program) {
    effective(case, program)
  }, numeric(2L))
  table <- data.frame(
    case = case$name, program = names(programs),
    `sweeps/s` = signif(medians, 4),
    `ours over it` = round(vapply(names(programs), function(name) {
      median_ratio(speeds, "gibbsite", name)
    }, 0), 2),
    target = ifelse(names(programs) == "bayesm", case$target, NA),
    `GFLOP/s` = signif(medians * density_flops(case) / 1e9, 3),
    `mean log_lik` = round(ess["mean", ], 1),
    `ESS/sweep` = signif(ess["a_sweep", ], 2),
    `ESS/s` = signif(ess["a_sweep", ] * medians, 3),
    check.names = FALSE, row.names = NULL
  )
  whole <- vapply(names(programs)[-1L], function(name) {
    median_ratio(both$call, "gibbsite", name)
  }, 0)
  structure(table, whole = c(stats::median(both$call[, "gibbsite"]), whole))
}

# ---- the report --------------------------------------------------------------

blas <- extSoftVersion()[["BLAS"]]
cat(
  R.version.string, "on", R.version$platform, "\n",
  "BLAS:  ", if (nzchar(blas)) basename(blas) else "R's own", "\n",
  "LAPACK:", basename(La_library()), La_version(), "\n",
  "Processors:", parallel::detectCores(), "\n"
)
for (package in c("gibbsite", names(programs)[-1L], "posterior")) {
  cat(" ", package, format(utils::packageVersion(package)), "\n")
}

options(width = 110)
for (case in cases) {
  cat("\n")
  table <- measure(case)
  print(table, row.names = FALSE)
  whole <- attr(table, "whole")
  cat(sprintf(
    "gibbs_gmm() with the judgement of convergence: %s sweeps/s%s\n",
    format(signif(whole[[1L]], 4), big.mark = ","),
    paste0(", ", sprintf("%.2f", whole[-1L]), " times ", names(whole)[-1L],
           collapse = "")
  ))
}

cat("\ngibbs_gmm(threads = 2) against 1, ")
if (isTRUE(parallel::detectCores() < 2L)) {
  cat("skipped: one processor.\n")
} else {
  case <- cases[[4L]]
  speeds <- in_turns(case, list(
    two = function(case, sweeps) time_gibbsite(case, sweeps, threads = 2),
    one = time_gibbsite
  ))$sweeps
  ratios <- speeds[, 1L] / speeds[, 2L]
  cat(sprintf(
    "%s: %.2f (rounds %.2f to %.2f; target 1.7)\n", case$name,
    stats::median(ratios), min(ratios), max(ratios)
  ))
}
