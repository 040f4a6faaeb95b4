# Hierarchical linear regression: effective draws a second of the worst of the
# fixed effects, the standard deviations of the groups' deviations and sigma,
# gibbs_hlm() over MCMCpack::MCMChregress() and bayesm::rhierLinearModel(),
# alternately in one process on one thread. Times are of the processor and
# include the preparation of the data and the burn-in.
#
# The prior of Sigma is IW(q + 2, (q + 2) I) for all three. MCMChregress() has
# the same model; its fixed effects have variance 10^6 and its sigma^2 is
# IG(0.001, 0.001). rhierLinearModel() has a sigma for each group (which are not
# counted), and the prior variance of the fixed effects is 100 Sigma.
#
# Then the time of a default fit of lme4::InstEval with a deviation for each of
# 2,972 students.
library(gibbsite)
source(file.path("bench", "deps.R"))

simulate <- function(groups, size) {
  set.seed(1)
  g <- rep(seq_len(groups), each = size)
  x <- stats::rnorm(groups * size)
  w <- cbind(
    1 + stats::rnorm(groups, sd = 0.7), 2 + stats::rnorm(groups, sd = 0.4)
  )
  data.frame(g, x, y = w[g, 1] + w[g, 2] * x + stats::rnorm(groups * size))
}

rate_of <- function(run) {
  time <- sum(system.time(draws <- run())[1:2])
  min(coda::effectiveSize(draws)) / time
}

ours <- function(data, sweeps) {
  q <- 2
  prior <- hlm_prior(
    "inverse-wishart", df = q + 2, scale = diag(q + 2, q), slope_sd = 1000,
    intercept_mean = 0, intercept_sd = 1000, nu0 = 0.002, sigma0 = 1
  )
  fit <- gibbs_hlm(
    y ~ x + (x | g), data, prior = prior, draws = sweeps, burnin = sweeps / 10,
    chains = 1, seed = 1, progress = FALSE
  )
  fit[[1]][, c("(Intercept)", "x", "sd[1]", "sd[2]", "sigma")]
}

hregress <- function(data, sweeps) {
  utils::capture.output(made <- MCMCpack::MCMChregress(
    y ~ x, ~x, "g", data, burnin = sweeps / 10, mcmc = sweeps, thin = 1,
    verbose = 0, seed = 1, r = 4, R = diag(2)
  ))
  draws <- made$mcmc
  names <- colnames(draws)
  variance <- c("VCV.(Intercept).(Intercept)", "VCV.x.x", "sigma2")
  fixed <- c("beta.(Intercept)", "beta.x")
  stopifnot(c(variance, fixed) %in% names)
  cbind(draws[, fixed], sqrt(draws[, variance]))
}

hier_linear <- function(data, sweeps) {
  groups <- lapply(split(data, data$g), function(rows) {
    list(y = rows$y, X = cbind(1, rows$x))
  })
  utils::capture.output(made <- bayesm::rhierLinearModel(
    list(regdata = groups),
    list(nu = 4, V = diag(4, 2), A = matrix(0.01)),
    list(R = 1.1 * sweeps, keep = 1, nprint = 0)
  ))
  kept <- -seq_len(sweeps / 10)
  cbind(made$Deltadraw, sqrt(made$Vbetadraw[, c(1, 4)]))[kept, ]
}

peers <- Filter(Negate(is.null), list(
  MCMChregress = if (peer_available("MCMCpack")) hregress,
  rhierLinearModel = if (peer_available("bayesm")) hier_linear
))

cases <- list(
  "100 groups of 10" = list(simulate(100, 10), 10000),
  "1000 groups of 10" = list(simulate(1000, 10), 1000)
)
if (peer_available("nlme")) {
  schools <- nlme::MathAchieve
  cases[["MathAchieve, 160 schools"]] <- list(
    data.frame(
      g = as.integer(schools$School), x = schools$SES, y = schools$MathAch
    ),
    2000
  )
}

for (name in names(cases)) {
  data <- cases[[name]][[1]]
  sweeps <- cases[[name]][[2]]
  for (peer in names(peers)) {
    both <- replicate(3, c(
      rate_of(function() ours(data, sweeps)),
      rate_of(function() peers[[peer]](data, sweeps))
    ))
    ratios <- both[1, ] / both[2, ]
    cat(sprintf(
      "%s, %s: %.0f and %.0f effective draws a second, %.1f (%.1f to %.1f)\n",
      name, peer, stats::median(both[1, ]), stats::median(both[2, ]),
      stats::median(ratios), min(ratios), max(ratios)
    ))
  }
}

if (peer_available("lme4")) {
  time <- system.time(fit <- gibbs_hlm(
    y ~ 1 + (1 | s), lme4::InstEval, seed = 1, progress = FALSE
  ))
  cat(sprintf(
    "InstEval, 2,972 students: %.1f s for %d chains of %d sweeps, R-hat %.3f\n",
    time[["elapsed"]], length(fit), nrow(fit[[1]]) + 1000L,
    max(convergence(fit)$rhat)
  ))
}
