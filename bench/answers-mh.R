# Answers of mh_sample() by default from starts far from the posterior: zeros,
# with a standard deviation of 1, for regressions on variables in their own
# units.
#
#   Rscript bench/answers-mh.R [SEEDS [LIBRARY]]     SEEDS: default 10
#
# LIBRARY: where gibbsite is installed, to compare builds. About six minutes.
#
# Columns
#
#   d           number of parameters
#   converged   fits of SEEDS that converged() accepts
#   worst       largest |posterior mean - truth| / posterior standard deviation
#               over the parameters, then over the fits
#   typical     the same, its median over the fits
#   seconds     median time of a fit
#   search      evaluations of the search for the mode (largest; NA: no search)
#   ended       how the search ended
#
# The truth never comes from gibbsite. Linear regressions have a flat prior of
# the coefficients and of log sigma: the posterior is a multivariate t
# distribution, and sigma^2 is inverse chi squared (Gelman et al. 2013, Bayesian
# Data Analysis, 14.2). Logistic and Poisson regressions (flat prior) have
# moments by importance sampling of glm()'s estimate, with a t distribution; the
# eight schools by quadrature over mu and tau.

argument <- commandArgs(trailingOnly = TRUE)
seeds <- if (length(argument) > 0L) as.integer(argument[[1L]]) else 10L
if (length(argument) > 1L) .libPaths(c(argument[[2L]], .libPaths()))
library(gibbsite)

# ---- Densities and true moments ----------------------------------------------

# list(log_density, init, mean, sd, ...): what mh_sample() is given, and the
# truth. Further elements are arguments of mh_sample().
linear <- function(formula, data, log_scale = FALSE) {
  x <- stats::model.matrix(formula, data)
  y <- stats::model.response(stats::model.frame(formula, data))
  p <- ncol(x)
  df <- nrow(x) - p
  ols <- stats::lm(y ~ x - 1)
  s2 <- sum(stats::residuals(ols)^2) / df
  root <- qr.R(ols$qr)
  sd <- sqrt(s2 * df / (df - 2) * diag(chol2inv(root)))
  case <- list(
    log_density = function(theta) {
      sigma <- if (log_scale) exp(theta[p + 1]) else theta[p + 1]
      sum(stats::dnorm(y, x %*% theta[1:p], sigma, log = TRUE)) -
        if (log_scale) 0 else log(sigma)
    },
    init = stats::setNames(
      c(numeric(p), if (log_scale) 0 else 1),
      c(colnames(x), if (log_scale) "log_sigma" else "sigma")
    )
  )
  if (log_scale) {
    mean_s <- log(s2 * df / 2) / 2 - digamma(df / 2) / 2
    sd_s <- sqrt(trigamma(df / 2)) / 2
  } else {
    case$lower <- c(rep(-Inf, p), 0)
    mean_s <- sqrt(s2 * df / 2) * exp(lgamma((df - 1) / 2) - lgamma(df / 2))
    sd_s <- sqrt(s2 * df / (df - 2) - mean_s^2)
  }
  c(case, list(mean = c(unname(stats::coef(ols)), mean_s), sd = c(sd, sd_s)))
}

generalised <- function(formula, data, family) {
  x <- stats::model.matrix(formula, data)
  y <- stats::model.response(stats::model.frame(formula, data))
  if (is.factor(y)) y <- as.integer(y) - 1
  log_density <- if (family == "binomial") {
    function(w) sum(stats::dbinom(y, 1, stats::plogis(x %*% w), log = TRUE))
  } else {
    function(w) sum(stats::dpois(y, exp(x %*% w), log = TRUE))
  }
  start <- stats::setNames(numeric(ncol(x)), colnames(x))
  fitted <- stats::glm(y ~ x - 1, family = family)
  c(
    list(log_density = log_density, init = start),
    weighted_moments(log_density, stats::coef(fitted), stats::vcov(fitted))
  )
}

# Mean and standard deviation by importance sampling with a multivariate t
# distribution.
weighted_moments <- function(log_density, centre, cov, n = 40000, df = 5) {
  set.seed(1)
  d <- length(centre)
  e <- matrix(stats::rnorm(n * d), n) * sqrt(df / stats::rchisq(n, df))
  log_q <- -(df + d) / 2 * log1p(rowSums(e^2) / df)
  w <- rep(centre, each = n) + e %*% chol(cov)
  log_ratio <- apply(w, 1, log_density) - log_q
  weight <- exp(log_ratio - max(log_ratio))
  weight <- weight / sum(weight)
  mean <- colSums(w * weight)
  list(mean = mean, sd = sqrt(colSums((w - rep(mean, each = n))^2 * weight)))
}

autoregression <- function(d = 50, rho = 0.8) {
  scale <- 10^seq(-2, 2, length.out = d)
  mean <- 5 * scale
  list(
    log_density = function(x) {
      z <- (x - mean) / scale
      -0.5 * (z[[1]]^2 + sum((z[-1] - rho * z[-d])^2) / (1 - rho^2))
    },
    init = numeric(d), mean = mean, sd = scale
  )
}

# Rubin (1981), doi:10.3102/10769986006004377, with mu ~ N(0, 5^2) and tau
# half-Cauchy with scale 5.
schools <- function(centred) {
  y <- c(28, 8, -3, 7, -1, 1, 18, 12)
  s <- c(15, 10, 16, 11, 9, 11, 10, 18)
  log_prior <- function(mu, tau) {
    stats::dnorm(mu, 0, 5, log = TRUE) + stats::dcauchy(tau, 0, 5, log = TRUE)
  }
  log_density <- function(x) {
    mu <- x[[1]]
    tau <- x[[2]]
    if (centred) {
      log_prior(mu, tau) + sum(stats::dnorm(x[-(1:2)], mu, tau, log = TRUE)) +
        sum(stats::dnorm(y, x[-(1:2)], s, log = TRUE))
    } else {
      log_prior(mu, tau) + sum(stats::dnorm(x[-(1:2)], log = TRUE)) +
        sum(stats::dnorm(y, mu + tau * x[-(1:2)], s, log = TRUE))
    }
  }
  # midpoints: of mu, and of atan(tau / 5), of which the prior is uniform
  grid <- expand.grid(
    mu = seq(-30, 40, length.out = 701),
    tau = 5 * tan(pi / 2 * (seq_len(1000) - 0.5) / 1000)
  )
  weight <- stats::dnorm(grid$mu, 0, 5, log = TRUE) + Reduce(`+`, Map(
    function(y, s) stats::dnorm(y, grid$mu, sqrt(s^2 + grid$tau^2), log = TRUE),
    y, s
  ))
  weight <- exp(weight - max(weight))
  moments <- function(mean, variance) {
    first <- stats::weighted.mean(mean, weight)
    second <- stats::weighted.mean(mean^2 + variance, weight)
    c(first, sqrt(second - first^2))
  }
  each <- Map(function(y, s) {
    shrunk <- grid$tau^2 / (s^2 + grid$tau^2)
    if (centred) {
      moments(grid$mu + shrunk * (y - grid$mu), shrunk * s^2)
    } else {
      moments(shrunk * (y - grid$mu) / grid$tau, 1 - shrunk)
    }
  }, y, s)
  all <- cbind(
    moments(grid$mu, 0), moments(grid$tau, 0), do.call(cbind, each)
  )
  list(
    log_density = log_density, init = c(0, 1, numeric(8)),
    lower = c(-Inf, 0, rep(-Inf, 8)), mean = all[1, ], sd = all[2, ]
  )
}

# ---- The cases ---------------------------------------------------------------

simulated <- function(code) {
  set.seed(20)
  code()
}

kidiq_like <- simulated(function() {
  mom_iq <- stats::rnorm(434, 100, 15)
  data.frame(mom_iq, kid_score = 26 + 0.6 * mom_iq + stats::rnorm(434, 0, 18))
})

wells_like <- simulated(function() {
  dist <- stats::rexp(3020, 1 / 48)
  arsenic <- 0.5 + stats::rexp(3020, 1 / 1.2)
  eta <- -0.009 * dist + 0.46 * arsenic
  data.frame(switch = stats::rbinom(3020, 1, stats::plogis(eta)), dist, arsenic)
})

air <- stats::na.omit(datasets::airquality)

both_scales <- function(name, formula, data) {
  stats::setNames(
    list(linear(formula, data), linear(formula, data, TRUE)),
    paste0(name, c("", ", log sigma"))
  )
}

cases <- c(
  both_scales("mtcars", mpg ~ wt + hp + qsec, datasets::mtcars),
  both_scales("airquality", Ozone ~ Solar.R + Wind + Temp, air),
  both_scales("stackloss", stack.loss ~ ., datasets::stackloss),
  both_scales("swiss", Fertility ~ ., datasets::swiss),
  both_scales("longley", Employed ~ ., datasets::longley),
  both_scales("kidiq-like", kid_score ~ mom_iq, kidiq_like),
  list(
    "Pima.tr, logistic" = generalised(type ~ ., MASS::Pima.tr, "binomial"),
    "mtcars, logistic" = generalised(am ~ wt, datasets::mtcars, "binomial"),
    "wells-like, logistic" = generalised(
      switch ~ dist + arsenic, wells_like, "binomial"
    ),
    "birthwt, logistic" = generalised(
      low ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv,
      MASS::birthwt, "binomial"
    ),
    "warpbreaks, Poisson" = generalised(
      breaks ~ wool * tension, datasets::warpbreaks, "poisson"
    ),
    "quine, Poisson" = generalised(
      Days ~ Eth + Sex + Age + Lrn, MASS::quine, "poisson"
    ),
    "schools, centred" = schools(TRUE),
    "schools, non-centred" = schools(FALSE),
    "AR(1) normal" = autoregression()
  )
)

# ---- The table ---------------------------------------------------------------

run_once <- function(case, seed) {
  arguments <- case[setdiff(names(case), c("mean", "sd"))]
  seconds <- system.time(fit <- suppressWarnings(do.call(
    mh_sample, c(arguments, list(seed = seed, progress = FALSE))
  )))[["elapsed"]]
  draws <- do.call(rbind, lapply(fit, unclass))[, seq_along(case$mean)]
  search <- attr(fit, "model")$search
  data.frame(
    converged = converged(fit), seconds = seconds,
    far = max(abs(colMeans(draws) - case$mean) / case$sd),
    search = if (is.null(search)) NA else search$evaluations,
    ended = if (is.null(search)) "" else search$ended
  )
}

row_of <- function(name) {
  case <- cases[[name]]
  runs <- do.call(rbind, lapply(seq_len(seeds), function(seed) {
    run_once(case, seed)
  }))
  row <- data.frame(
    case = name, d = length(case$init), converged = sum(runs$converged),
    worst = signif(max(runs$far), 2), typical = signif(median(runs$far), 2),
    seconds = signif(median(runs$seconds), 2), search = max(runs$search),
    ended = paste(unique(runs$ended), collapse = "/")
  )
  message(paste(format(row), collapse = "  "))
  row
}

cat("gibbsite in ", dirname(find.package("gibbsite")), ", ", seeds, " seeds\n",
    sep = "")
print(do.call(rbind, lapply(names(cases), row_of)), row.names = FALSE)
