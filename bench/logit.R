# Exact logistic and probit regression: effective draws of the coefficients a
# second, gibbs_logistic() over MCMCpack::MCMClogit() (a random walk) and
# MCMCpack::MCMCprobit() (Albert and Chib's augmentation) with the same
# posterior: every coefficient ~ N(0, v). They run alternately in one process on
# one thread; the least of the coefficients counts. Times are of the processor
# and include the preparation of the data and the burn-in.
#
# The last lines are of gibbs_logistic() with its Hamiltonian steps over the
# same without them, in the case that takes them.
library(gibbsite)
source(file.path("bench", "deps.R"))
if (!peer_available("MCMCpack")) {
  quit(save = "no")
}

simulate <- function(n, p, sd) {
  set.seed(1)
  x <- matrix(stats::rnorm(n * p), n)
  eta <- drop(x %*% stats::rnorm(p, sd = sd)) - 0.5
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
    list(data = data, variance = 100)
  }),
  "simulated, 5000 x 10" = list(data = simulate(5000, 10, 0.5), variance = 100),
  "simulated, 200 x 50" = list(data = simulate(200, 50, 0.2), variance = 6.25)
)
ours <- function(case, link, draws = 10000, burnin = 1000) {
  gibbs_logistic(
    y ~ ., case$data, link = link, draws = draws, burnin = burnin, chains = 1,
    prior = logistic_prior(c = case$variance, intercept_c = case$variance),
    seed = 1, progress = FALSE
  )[[1]]
}
theirs <- function(case, link) {
  f <- switch(
    link, logit = MCMCpack::MCMClogit, probit = MCMCpack::MCMCprobit
  )
  f(
    y ~ ., case$data, b0 = 0, B0 = 1 / case$variance, mcmc = 10000,
    burnin = 1000, seed = 1
  )
}
show_ratio <- function(what, both) {
  ratios <- both[1, ] / both[2, ]
  cat(sprintf(
    "%s: %.0f and %.0f effective draws a second, ratio %.1f (%.1f to %.1f)\n",
    what, stats::median(both[1, ]), stats::median(both[2, ]),
    stats::median(ratios), min(ratios), max(ratios)
  ))
}
for (name in names(cases)) {
  for (link in c("logit", "probit")) {
    both <- replicate(5, c(
      rate_of(function() ours(cases[[name]], link)),
      rate_of(function() theirs(cases[[name]], link))
    ))
    show_ratio(paste0(name, ", ", link), both)
  }
}

# Without a burn-in each sweep is an augmentation and an independence step; the
# first tenth is left out.
plain <- function(case, link) {
  utils::tail(ours(case, link, draws = 11000, burnin = 0), 10000)
}
for (link in c("logit", "probit")) {
  case <- cases[["simulated, 200 x 50"]]
  both <- replicate(5, c(
    rate_of(function() ours(case, link)), rate_of(function() plain(case, link))
  ))
  show_ratio(paste0("Hamiltonian steps, 200 x 50, ", link), both)
}
