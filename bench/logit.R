# Exact logistic regression: effective draws of the coefficients a second,
# gibbs_logistic() over MCMCpack::MCMClogit() (a random walk with the same
# posterior: every coefficient ~ N(0, 100)), alternately in one process on one
# thread; the least of the coefficients counts. Times are of the processor and
# include the preparation of the data and the burn-in.
library(gibbsite)
source(file.path("bench", "deps.R"))
if (!peer_available("MCMCpack")) {
  quit(save = "no")
}

simulate <- function(n, p) {
  set.seed(1)
  x <- matrix(stats::rnorm(n * p), n)
  eta <- drop(x %*% stats::rnorm(p, sd = 0.5)) - 0.5
  data.frame(y = stats::rbinom(n, 1, stats::plogis(eta)), x)
}

rate_of <- function(run) {
  time <- sum(system.time(draws <- run())[1:2])
  min(coda::effectiveSize(draws)) / time
}

cases <- list(
  "Pima, 200 x 7" = local({
    data <- MASS::Pima.tr
    data$y <- as.integer(data$type == "Yes")
    data$type <- NULL
    data
  }),
  "simulated, 5000 x 10" = simulate(5000, 10)
)
for (name in names(cases)) {
  data <- cases[[name]]
  ours <- function() {
    gibbs_logistic(
      y ~ ., data, prior = logistic_prior(c = 100, intercept_c = 100),
      draws = 10000, burnin = 1000, chains = 1, seed = 1, progress = FALSE
    )[[1]]
  }
  theirs <- function() {
    MCMCpack::MCMClogit(
      y ~ ., data, b0 = 0, B0 = 0.01, mcmc = 10000, burnin = 1000, seed = 1
    )
  }
  both <- replicate(5, c(rate_of(ours), rate_of(theirs)))
  ratios <- both[1, ] / both[2, ]
  cat(sprintf(
    "%s: %.0f and %.0f effective draws a second, ratio %.1f (%.1f to %.1f)\n",
    name, stats::median(both[1, ]), stats::median(both[2, ]),
    stats::median(ratios), min(ratios), max(ratios)
  ))
}
