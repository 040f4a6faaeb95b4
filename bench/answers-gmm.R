# Processor time until a mixture has converged: gibbs_gmm() beside bayesm and
# mixAK with the usual checks by hand.
#
#   Rscript bench/answers-gmm.R [SEEDS]      SEEDS: default 5; about ten minutes
#
# gibbs_gmm() runs until its draws have converged; `converged` counts the
# fits that did. By hand means four chains of 1,000 sweeps of burn-in and 1,000
# kept ones. If R-hat of the log-likelihood is above 1.01 or its bulk effective
# sample size is below 400, all four run again from the beginning, twice as
# long, half of it burn-in; from 2,000 kept sweeps a chain on, 1,000 of them are
# stored. By hand ends after a minute of processor time. This is kind to the
# others: only the time in their samplers counts, not that of their
# log-likelihoods and judgements, and one quantity is judged, while gibbs_gmm()
# judges all that do not depend on the numbering of the components.
#
# Columns: converged, median seconds of processor time (calls that did not
# converge included), median number of sweeps of a chain. The prior is that of
# gmm-peers.R, which is not the default of gibbs_gmm(); answers.R has that.
suppressPackageStartupMessages(library(gibbsite))

argument <- commandArgs(trailingOnly = TRUE)
seeds <- seq_len(if (length(argument) > 0L) as.integer(argument[[1L]]) else 5L)
self <- grep("^--file=", commandArgs(), value = TRUE)
here <- dirname(sub("^--file=", "", self))
source(file.path(here, "deps.R"))
source(file.path(here, "data.R"))
source(file.path(here, "gmm-peers.R"))

sets <- list(
  "faithful 2" = list(function() faithful, 2L),
  "iris 3" = list(function() iris[, 1:4], 3L),
  "galaxies 3" = list(galaxies, 3L),
  "galaxies 4" = list(galaxies, 4L),
  "galaxies 6" = list(galaxies, 6L),
  "banknote 2" = list(function() columns_of("banknote", "mclust", -1), 2L),
  "crabs 4" = list(function() columns_of("crabs", "MASS", 4:8), 4L),
  "diabetes 3" = list(function() columns_of("diabetes", "mclust", -1), 3L)
)

# ---- one fit -----------------------------------------------------------------

processor <- function(expr) sum(system.time(expr)[c("user.self", "sys.self")])

ours <- function(case, seed) {
  seconds <- processor(quietly(
    fit <- gibbs_gmm(
      case$x, case$k, prior = own_prior(case), seed = seed, progress = FALSE
    )
  ))
  c(
    converged = converged(fit), seconds = seconds,
    sweeps = stats::end(fit[[1L]])
  )
}

second_half_log_lik <- function(case, draws) {
  kept <- seq.int(draws$count %/% 2L + 1L, draws$count)
  vapply(kept, function(s) {
    p <- draws$draw(s)
    mixture_log_lik(case$x, p$pi, p$mu, p$roots)
  }, 0)
}

by_hand <- function(case, seed, program) {
  set.seed(seed)
  seconds <- 0
  sweeps <- 2000L
  repeat {
    case$thin <- sweeps %/% 2000L
    log_lik <- vapply(1:4, function(chain) {
      seconds <<- seconds + processor(fit <- program$run(case, sweeps))
      second_half_log_lik(case, program$draws(fit))
    }, numeric(1000L))
    good <- posterior::rhat(log_lik) <= 1.01 &&
      posterior::ess_bulk(log_lik) >= 400
    if (isTRUE(good) || seconds > 60) break
    sweeps <- 2L * sweeps
  }
  c(converged = isTRUE(good), seconds = seconds, sweeps = sweeps)
}

programs <- list()
if (peer_available("bayesm")) {
  programs$bayesm <- list(run = run_bayesm, draws = draws_bayesm)
}
if (peer_available("mixAK")) {
  programs[["mixAK"]] <- list(run = run_mixak, draws = draws_mixak)
}

# ---- the table ---------------------------------------------------------------

line <- function(name, program, fits) {
  cat(sprintf(
    "%-12s %-9s %3d of %-3d %9.2f %9.0f\n", name, program,
    sum(fits["converged", ]), ncol(fits), stats::median(fits["seconds", ]),
    stats::median(fits["sweeps", ])
  ))
}

cat(
  "gibbsite ", format(utils::packageVersion("gibbsite")), ", ",
  R.version.string, ", seeds 1 to ", max(seeds), "\n\n",
  sprintf(
    "%-12s %-9s %-10s %9s %9s\n", "", "", "converged", "seconds", "sweeps"
  ),
  sep = ""
)
# R compiles what it meets first
invisible(ours(list(x = as.matrix(trees), k = 2L), 1))
for (name in names(sets)) {
  x <- sets[[name]][[1L]]()
  if (is.null(x)) next
  case <- list(x = as.matrix(x), k = sets[[name]][[2L]])
  line(name, "gibbsite", vapply(seeds, ours, numeric(3L), case = case))
  for (program in names(programs)) {
    line(name, program, vapply(
      seeds, by_hand, numeric(3L), case = case, program = programs[[program]]
    ))
  }
}
