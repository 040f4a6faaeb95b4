# Gaussian mixtures: do default calls of gibbs_gmm() give an answer?
#
#   Rscript bench/answers-gmm.R [SEEDS [WAY ...]]     SEEDS: default 10
#                                                     WAY: default all, below
#
# For each set of data and number of components, and each seed 1, 2, ...: the
# call gibbs_gmm(x, k, seed = ), all else by default.  A row says how many of
# the fits converged(), the median over the seeds of the largest R-hat and of
# the smallest effective sample size (bulk or tail) of the quantities on which
# convergence is judged, the median time of a call in seconds, and how far the
# seeds agree: the largest difference of a fit's mean from the mean over all
# fits (log-likelihood and sorted weights), in Monte Carlo standard errors of
# that difference.
#
#   before    alpha = 1 and no moves of groups: merge_split = FALSE
#   alpha     the default alpha, without moves
#   moves     the default: with moves
#
# Where "moves" has high agreement and few converged fits, chains are level, but
# draws are too dependent for 400 effective ones.

library(gibbsite)

argument <- commandArgs(trailingOnly = TRUE)
seeds <- seq_len(if (length(argument) > 0L) as.integer(argument[[1L]]) else 10L)

from <- function(package, name) {
  if (!requireNamespace(package, quietly = TRUE)) {
    return(NULL)
  }
  found <- new.env()
  utils::data(list = name, package = package, envir = found)
  found[[name]]
}
columns <- function(x, which) if (is.null(x)) NULL else x[, which]
galaxies <- from("MASS", "galaxies")
if (!is.null(galaxies)) galaxies <- galaxies / 1000

cases <- list(
  list("faithful", faithful, 2), list("iris", iris[1:4], 3),
  list("galaxies", galaxies, 3), list("galaxies", galaxies, 4),
  list("galaxies", galaxies, 6),
  list("banknote", columns(from("mclust", "banknote"), -1), 2),
  list("crabs", columns(from("MASS", "crabs"), 4:8), 4),
  list("diabetes", columns(from("mclust", "diabetes"), -1), 3),
  list("thyroid", columns(from("mclust", "thyroid"), -1), 3),
  list("Boston", columns(from("MASS", "Boston"), c("lstat", "medv")), 3),
  list("quakes", quakes[1:3], 4), list("swiss", swiss[1:4], 2),
  list("rock", rock, 2), list("trees", trees, 2),
  list("airquality", stats::na.omit(airquality)[1:4], 3)
)

ways <- list(
  before = function(...) {
    gibbs_gmm(..., prior = gmm_prior(alpha = 1), merge_split = FALSE)
  },
  alpha = function(...) gibbs_gmm(..., merge_split = FALSE),
  moves = function(...) gibbs_gmm(...)
)

# One fit: what is judged, and mean and error of the invariants.
answer <- function(way, x, k, seed) {
  seconds <- system.time(
    fit <- suppressMessages(suppressWarnings(
      way(x, k, seed = seed, progress = FALSE)
    ))
  )[["elapsed"]]
  verdict <- convergence(fit)
  weights <- vapply(fit, function(chain) {
    pi <- unclass(chain)[, paste0("pi[", seq_len(k), "]")]
    t(apply(pi, 1L, sort, decreasing = TRUE))
  }, matrix(0, nrow(fit[[1L]]), k))
  log_lik <- vapply(fit, function(chain) chain[, "log_lik"],
                    numeric(nrow(fit[[1L]])))
  quantities <- c(
    list(log_lik), lapply(seq_len(k), function(c) weights[, c, ])
  )
  list(
    converged = isTRUE(converged(fit)), seconds = seconds,
    rhat = max(verdict$rhat, na.rm = TRUE),
    ess = min(verdict$ess_bulk, verdict$ess_tail, na.rm = TRUE),
    mean = vapply(quantities, mean, 0),
    error = vapply(quantities, posterior::mcse_mean, 0)
  )
}

largest_difference <- function(answers) {
  mean <- do.call(rbind, lapply(answers, `[[`, "mean"))
  error <- do.call(rbind, lapply(answers, `[[`, "error"))
  n <- nrow(mean)
  gap <- mean - rep(colMeans(mean), each = n)
  variance <- (1 - 2 / n) * error^2 + rep(colSums(error^2) / n^2, each = n)
  max(abs(gap) / sqrt(variance))
}

line <- function(name, k, answers) {
  part <- function(field) vapply(answers, `[[`, 0, field)
  converged <- sum(vapply(answers, `[[`, NA, "converged"))
  sprintf("%-11s %d  %2d of %-2d  %6.3f  %5.0f  %6.2f  %9.1f", name, k,
          converged, length(answers), stats::median(part("rhat")),
          stats::median(part("ess")), stats::median(part("seconds")),
          largest_difference(answers))
}

for (way in if (length(argument) > 1L) argument[-1L] else names(ways)) {
  cat("\n", way, "\n", sep = "")
  cat("data        k  converged   R-hat    ESS  seconds  agreement\n")
  for (case in cases) {
    if (is.null(case[[2L]])) {
      next
    }
    answers <- lapply(seeds, function(seed) {
      answer(ways[[way]], case[[2L]], case[[3L]], seed)
    })
    cat(line(case[[1L]], case[[3L]], answers), "\n", sep = "")
  }
}
