# Regressions: effective draws a second of gibbs_lm(), gibbs_hlm() and
# gibbs_logistic() over those of other packages, alternately in one process on
# one thread; the least of the named parameters counts. Times are of the
# processor and include the preparation of the data and the burn-in.
#
# Rscript bench/regression.R [linear] [hierarchical] [logistic] [groups]

library(gibbsite)
source(file.path("bench", "deps.R"))

wanted <- commandArgs(trailingOnly = TRUE)
is_wanted <- function(part) length(wanted) == 0 || part %in% wanted

rate_of <- function(run) {
  time <- sum(system.time(draws <- run())[1:2])
  min(coda::effectiveSize(draws)) / time
}

# first, second: functions that return draws.
compare_rates <- function(what, first, second, pairs = 5) {
  both <- replicate(pairs, c(rate_of(first), rate_of(second)))
  ratios <- both[1, ] / both[2, ]
  cat(sprintf(
    "%s: %.0f and %.0f effective draws a second, ratio %.1f (%.1f to %.1f)\n",
    what, stats::median(both[1, ]), stats::median(both[2, ]),
    stats::median(ratios), min(ratios), max(ratios)
  ))
}

# ---- linear: all coefficients ------------------------------------------------

# MCMCregress() and runiregGibbs() have a flat and a wide normal prior; the
# prior of gibbs_lm() is its default.
linear <- function(n, p) {
  set.seed(1)
  data <- sim_lm(n, stats::rnorm(p), sigma = 2, intercept = 1)
  ours <- function() {
    gibbs_lm(
      y ~ ., data, draws = 10000, burnin = 1000, chains = 1, seed = 1,
      progress = FALSE
    )[[1]][, seq_len(p + 1)]
  }
  size <- sprintf("%d x %d", n, p)
  if (peer_available("MCMCpack")) {
    compare_rates(paste0(size, ", MCMCregress"), ours, function() {
      MCMCpack::MCMCregress(
        y ~ ., data, mcmc = 10000, burnin = 1000, seed = 1
      )[, seq_len(p + 1)]
    })
  }
  if (peer_available("bayesm")) {
    x <- stats::model.matrix(y ~ ., data)
    compare_rates(paste0(size, ", runiregGibbs"), ours, function() {
      utils::capture.output(made <- bayesm::runiregGibbs(
        list(y = data$y, X = x), list(A = diag(0.01, p + 1)),
        list(R = 11000, nprint = 0)
      ))
      made$betadraw[-seq_len(1000), ]
    })
  }
}

if (is_wanted("linear")) {
  linear(5000, 3)
  linear(5000, 50)
}

# ---- hierarchical: fixed effects, standard deviations of the deviations, sigma

# The prior of Sigma is IW(q + 2, (q + 2) I) for all three. MCMChregress() has
# the same model; its fixed effects have variance 10^6 and its sigma^2 is
# IG(0.001, 0.001). rhierLinearModel() has a sigma for each group (which are not
# counted), and the prior variance of the fixed effects is 100 Sigma.
simulate_groups <- function(groups, size) {
  set.seed(1)
  data <- sim_hlm(groups, size, c(1, 2), diag(c(0.7, 0.4)^2))
  data.frame(g = as.integer(data$group), x = data$x1, y = data$y)
}

our_groups <- function(data, sweeps) {
  prior <- hlm_prior(
    "inverse-wishart", df = 4, scale = diag(4, 2), slope_sd = 1000,
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
  variance <- c("VCV.(Intercept).(Intercept)", "VCV.x.x", "sigma2")
  fixed <- c("beta.(Intercept)", "beta.x")
  stopifnot(c(variance, fixed) %in% colnames(draws))
  cbind(draws[, fixed], sqrt(draws[, variance]))
}

hier_linear <- function(data, sweeps) {
  groups <- lapply(split(data, data$g), function(rows) {
    list(y = rows$y, X = cbind(1, rows$x))
  })
  utils::capture.output(made <- bayesm::rhierLinearModel(
    list(regdata = unname(groups)),
    list(nu = 4, V = diag(4, 2), A = matrix(0.01)),
    list(R = 1.1 * sweeps, keep = 1, nprint = 0)
  ))
  kept <- -seq_len(sweeps / 10)
  cbind(made$Deltadraw, sqrt(made$Vbetadraw[, c(1, 4)]))[kept, ]
}

if (is_wanted("hierarchical")) {
  peers <- Filter(Negate(is.null), list(
    MCMChregress = if (peer_available("MCMCpack")) hregress,
    rhierLinearModel = if (peer_available("bayesm")) hier_linear
  ))
  cases <- list(
    "100 groups of 10" = list(simulate_groups(100, 10), 10000),
    "1000 groups of 10" = list(simulate_groups(1000, 10), 1000)
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
    for (peer in names(peers)) {
      compare_rates(
        paste0(name, ", ", peer),
        function() do.call(our_groups, cases[[name]]),
        function() do.call(peers[[peer]], cases[[name]]),
        pairs = 3
      )
    }
  }
  # the time of a default fit with a deviation for each of 2,972 students
  if (peer_available("lme4")) {
    time <- system.time(fit <- gibbs_hlm(
      y ~ 1 + (1 | s), lme4::InstEval, seed = 1, progress = FALSE
    ))
    cat(sprintf(
      "InstEval, 2,972 students: %.1f s for %d chains of %d sweeps, R-hat %.3f",
      time[["elapsed"]], length(fit), nrow(fit[[1]]) + 1000L,
      max(convergence(fit)$rhat)
    ), "\n", sep = "")
  }
}

# ---- logistic and probit: all coefficients -----------------------------------

# MCMClogit() is a random walk and MCMCprobit() Albert and Chib's augmentation,
# with the same posterior: every coefficient ~ N(0, v).
simulate_outcomes <- function(n, p, sd) {
  set.seed(1)
  x <- matrix(stats::rnorm(n * p), n)
  eta <- drop(x %*% stats::rnorm(p, sd = sd)) - 0.5
  data.frame(y = stats::rbinom(n, 1, stats::plogis(eta)), x)
}

our_outcomes <- function(case, link, draws = 10000, burnin = 1000) {
  gibbs_logistic(
    y ~ ., case$data, link = link, draws = draws, burnin = burnin, chains = 1,
    prior = logistic_prior(
      slope_variance = case$variance, intercept_variance = case$variance
    ),
    seed = 1, progress = FALSE
  )[[1]]
}

their_outcomes <- function(case, link) {
  f <- switch(
    link, logit = MCMCpack::MCMClogit, probit = MCMCpack::MCMCprobit
  )
  f(
    y ~ ., case$data, b0 = 0, B0 = 1 / case$variance, mcmc = 10000,
    burnin = 1000, seed = 1
  )
}

if (is_wanted("logistic") && peer_available("MCMCpack")) {
  pima <- MASS::Pima.tr
  pima$y <- as.integer(pima$type == "Yes")
  pima$type <- NULL
  wide <- list(data = simulate_outcomes(200, 50, 0.2), variance = 6.25)
  cases <- list(
    "Pima, 200 x 7" = list(data = pima, variance = 100),
    "simulated, 5000 x 10" = list(
      data = simulate_outcomes(5000, 10, 0.5), variance = 100
    ),
    "simulated, 200 x 50" = wide
  )
  for (name in names(cases)) {
    for (link in c("logit", "probit")) {
      compare_rates(
        paste0(name, ", ", link),
        function() our_outcomes(cases[[name]], link),
        function() their_outcomes(cases[[name]], link)
      )
    }
  }
  # The Hamiltonian steps: without a burn-in each sweep is an augmentation and
  # an independence step; the first tenth is left out.
  for (link in c("logit", "probit")) {
    compare_rates(
      paste0("with Hamiltonian steps and without, 200 x 50, ", link),
      function() our_outcomes(wide, link),
      function() {
        utils::tail(
          our_outcomes(wide, link, draws = 11000, burnin = 0), 10000
        )
      }
    )
  }
}

# ---- groups of outcomes: fixed effects and the groups' standard deviation ----

# MCMChlogit() has an inverse Wishart prior of the groups' variance, here
# IW(2, 2), and flat priors of the fixed effects.
if (is_wanted("groups") && peer_available("MCMCpack")) {
  bacteria <- MASS::bacteria
  bacteria$y <- as.integer(bacteria$y == "y")
  bacteria$child <- as.integer(bacteria$ID)
  compare_rates("bacteria, 50 groups, MCMChlogit", function() {
    gibbs_logistic(
      y ~ trt + week + (1 | child), bacteria, draws = 10000, burnin = 1000,
      chains = 1, seed = 1, progress = FALSE
    )[[1]][, 1:5]
  }, function() {
    utils::capture.output(made <- MCMCpack::MCMChlogit(
      y ~ trt + week, random = ~1, group = "child", data = bacteria,
      burnin = 1000, mcmc = 10000, thin = 1, verbose = 0, seed = 1, r = 2,
      R = diag(1), FixOD = 1
    ))
    columns <- grepl("^(beta|VCV)", colnames(made$mcmc))
    made$mcmc[, columns]
  })
}
