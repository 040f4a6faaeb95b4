# A slow twin of the sampler behind gibbs_logistic(), written from the formulas
# on its page. It takes the same random numbers in the same order as the core:
# in the augmentation what the latent variables of each observation use, then
# the normals of the coefficients; in the independence step a uniform for the
# part of the proposal, normals, a chi-squared variate for its t part, and a
# uniform; in the Hamiltonian step normals, a uniform for the number of leaps,
# and a uniform.
#
# `wrong` names a mistake to be made:
#   tilt_whole     PG(m, 2 eta): the tilt is not halved
#   scale_whole    Polya-Gamma variates are not divided by 4
#   kappa_whole    s in the place of s - m/2
#   offset_left    the offset is left out of the conditional mean
#   prior_left     the prior precision is left out of P
#   trial_left     one trial fewer where there are several
#   q_left         the proposal's density is left out of the acceptance
#   heavy_left     the normal part alone stands in the proposal's density
#   prior_ignored  the prior is left out of the acceptance
#   untruncated    the latent variables of the probit link have either sign
#   one_latent     one latent variable for all trials of an observation
#   other_link     the other link in the acceptance
#   kinetic_left   the kinetic energy is left out of the acceptance
#   whole_kick     the first kick of a trajectory is not halved

# ---- Polya-Gamma -------------------------------------------------------------

# PG(1, c) = J / 4 by Devroye's method. The density of J*(1, z), z = |c| / 2, is
# an alternating series; its terms over the first one, at x:
twin_pg_terms <- function(x, n) {
  if (x <= 0.64) {
    (2 * n + 1) * exp(-2 * n * (n + 1) / x)
  } else {
    (2 * n + 1) * exp(-n * (n + 1) * pi^2 * x / 2)
  }
}

twin_pg_one <- function(tilt) {
  z <- abs(tilt) / 2
  t <- 0.64
  k <- pi^2 / 8 + z^2 / 2
  right <- pi / (2 * k) * exp(-k * t)
  left <- 2 * exp(-z) * (
    pnorm((t * z - 1) / sqrt(t)) + exp(2 * z) * pnorm(-(t * z + 1) / sqrt(t))
  )
  repeat {
    x <- if (runif(1) < right / (left + right)) {
      t + rexp(1) / k
    } else if (z * t < 1) {
      repeat {
        repeat {
          e <- rexp(2)
          if (e[[1]]^2 <= 2 * e[[2]] / t) break
        }
        x <- t / (1 + t * e[[1]])^2
        if (runif(1) <= exp(-z^2 * x / 2)) break
      }
      x
    } else {
      repeat {
        mean <- 1 / z
        y <- rnorm(1)^2
        x <- mean + mean^2 * y / 2 -
          mean / 2 * sqrt(4 * mean * y + mean^2 * y^2)
        if (runif(1) > mean / (mean + x)) x <- mean^2 / x
        if (x <= t) break
      }
      x
    }
    u <- runif(1)
    sums <- 1 + cumsum((-1)^(1:20) * twin_pg_terms(x, 1:20))
    if (u <= sums[[20]]) {
      return(x / 4)
    }
  }
}

twin_pg <- function(trials, tilt) {
  sum(vapply(seq_len(trials), function(i) twin_pg_one(tilt), 0))
}

# ---- the two steps -----------------------------------------------------------

# What the twin knows of the model: data with whole weights counted in.
twin_logistic_data <- function(model) {
  frame <- model$frame
  n <- length(frame$y)
  weights <- if (is.null(frame$weights)) rep(1, n) else frame$weights
  trials <- if (is.null(frame$trials)) rep(1, n) else frame$trials
  c <- model$prior$slope_variance
  list(
    x = unname(as.matrix(frame$x)), m = weights * trials,
    s = weights * trials * frame$y,
    o = if (is.null(frame$offset)) rep(0, n) else frame$offset,
    q = if (is.matrix(c)) solve(unname(c)) else diag(1 / unname(c), length(c)),
    link = frame$link
  )
}

# N(mean, 1) given that it is positive: below 0 Robert's exponential proposals.
twin_positive <- function(mean) {
  if (mean > 0) {
    repeat {
      z <- rnorm(1, mean)
      if (z > 0) {
        return(z)
      }
    }
  }
  rate <- (-mean + sqrt(mean^2 + 4)) / 2
  repeat {
    z <- rexp(1) / rate
    if (runif(1) < exp(-(z - mean - rate)^2 / 2)) {
      return(z)
    }
  }
}

# Sums over the trials of z_ij - o_i.
twin_latent <- function(d, eta, wrong) {
  vapply(seq_along(eta), function(i) {
    success <- rep(c(1, -1), c(d$s[[i]], d$m[[i]] - d$s[[i]]))
    if (wrong == "one_latent") success <- success[seq_len(min(1, d$m[[i]]))]
    z <- vapply(success, function(sign) {
      if (wrong == "untruncated") {
        return(rnorm(1, eta[[i]]))
      }
      sign * twin_positive(sign * eta[[i]])
    }, 0)
    if (wrong == "one_latent") z <- rep(z, d$m[[i]])
    sum(z - if (wrong == "offset_left") 0 else d$o[[i]])
  }, 0)
}

twin_augment_probit <- function(d, w, wrong) {
  r <- twin_latent(d, drop(d$x %*% w) + d$o, wrong)
  p <- crossprod(d$x, d$m * d$x)
  if (wrong != "prior_left") p <- p + d$q
  drop(solve(p, crossprod(d$x, r)) + backsolve(chol(p), rnorm(length(w))))
}

twin_augment <- function(d, w, wrong) {
  if (d$link == "probit") {
    return(twin_augment_probit(d, w, wrong))
  }
  eta <- drop(d$x %*% w) + d$o
  m <- d$m
  if (wrong == "trial_left") m <- ifelse(m > 1, m - 1, m)
  omega <- mapply(function(m, eta) {
    twin_pg(m, if (wrong == "tilt_whole") 2 * eta else eta)
  }, m, eta)
  if (wrong == "scale_whole") omega <- 4 * omega
  kappa <- if (wrong == "kappa_whole") d$s else d$s - d$m / 2
  if (wrong != "offset_left") kappa <- kappa - omega * d$o
  p <- crossprod(d$x, omega * d$x)
  if (wrong != "prior_left") p <- p + d$q
  root <- chol(p)
  mean <- solve(p, crossprod(d$x, kappa))
  drop(mean + backsolve(root, rnorm(length(w))))
}

twin_log_posterior <- function(d, w, wrong = "") {
  eta <- drop(d$x %*% w) + d$o
  log_share <- if ((d$link == "probit") != (wrong == "other_link")) {
    function(eta) pnorm(eta, log.p = TRUE)
  } else {
    function(eta) plogis(eta, log.p = TRUE)
  }
  likelihood <- sum(d$s * log_share(eta) + (d$m - d$s) * log_share(-eta))
  if (wrong == "prior_ignored") {
    return(likelihood)
  }
  likelihood - drop(w %*% d$q %*% w) / 2
}

# log q: 3/4 N(map, H^-1) + 1/4 t_5(map, H^-1), up to |H|.
twin_log_q <- function(away, wrong) {
  p <- length(away)
  if (wrong == "q_left") {
    return(0)
  }
  square <- sum(away^2)
  normal <- 0.75 * (2 * pi)^(-p / 2) * exp(-square / 2)
  if (wrong == "heavy_left") {
    return(log(normal))
  }
  heavy <- gamma((5 + p) / 2) / gamma(5 / 2) * (5 * pi)^(-p / 2) *
    (1 + square / 5)^(-(5 + p) / 2)
  log(normal + 0.25 * heavy)
}

twin_propose <- function(d, w, data, wrong) {
  l <- data$precision_factor
  heavy <- runif(1) < 0.25
  e <- rnorm(length(w))
  if (heavy) e <- e * sqrt(5 / rchisq(1, 5))
  trial <- data$map + solve(t(l), e)
  log_ratio <- twin_log_posterior(d, trial, wrong) - twin_log_q(e, wrong) -
    twin_log_posterior(d, w, wrong) +
    twin_log_q(drop(t(l) %*% (w - data$map)), wrong)
  if (log(runif(1)) < log_ratio) drop(trial) else w
}

twin_gradient <- function(d, w) {
  eta <- drop(d$x %*% w) + d$o
  slope <- if (d$link == "probit") {
    d$s * exp(dnorm(eta, log = TRUE) - pnorm(eta, log.p = TRUE)) -
      (d$m - d$s) * exp(dnorm(eta, log = TRUE) - pnorm(-eta, log.p = TRUE))
  } else {
    d$s - d$m * plogis(eta)
  }
  drop(crossprod(d$x, slope) - d$q %*% w)
}

# In the coordinates a = L'w, whose gradient is L^-1 times that of w.
twin_travel <- function(d, w, data, length, wrong) {
  l <- data$precision_factor
  to_w <- function(a) drop(solve(t(l), a))
  slope <- function(a) drop(solve(l, twin_gradient(d, to_w(a))))
  energy <- function(a, r) {
    twin_log_posterior(d, to_w(a), wrong) -
      if (wrong == "kinetic_left") 0 else sum(r^2) / 2
  }
  start <- a <- drop(t(l) %*% w)
  momentum <- r <- rnorm(base::length(w))
  leaps <- 1 + floor(runif(1) * min(50, ceiling(pi / length)))
  first <- if (wrong == "whole_kick") length else length / 2
  r <- r + first * slope(a)
  for (k in seq_len(leaps)) {
    a <- a + length * r
    r <- r + (if (k < leaps) length else length / 2) * slope(a)
  }
  change <- energy(a, r) - energy(start, momentum)
  list(
    w = if (log(runif(1)) < change) to_w(a) else w,
    probability = min(1, exp(change))
  )
}

# `n` sweeps with the augmentation in the sweeps for which `augments(t)`, and
# the Hamiltonian step in those for which `travels(t)`, never in the burn-in.
twin_logistic_sweeps <- function(model, state, n, wrong = "",
                                 augments = function(t) TRUE,
                                 travels = function(t) FALSE) {
  d <- twin_logistic_data(model)
  w <- state$w
  rows <- matrix(0, n, length(w))
  for (t in seq_len(n)) {
    if (augments(state$sweep + t)) w <- twin_augment(d, w, wrong)
    w <- twin_propose(d, w, model$data, wrong)
    if (travels(state$sweep + t)) {
      w <- twin_travel(d, w, model$data, state$leap, wrong)$w
    }
    rows[t, ] <- w
  }
  rows
}

logistic_gibbs_model_for <- model_for("gibbs_logistic")

# Counts of 12 rows, with a factor, weights and an offset.
logistic_example <- function(n = 12, seed = 1) {
  withr::with_seed(seed, {
    data <- data.frame(
      a = stats::rnorm(n), b = 2 + stats::rexp(n),
      g = factor(rep_len(c("u", "v", "w"), n)), o = stats::rnorm(n) / 2,
      v = rep_len(c(1, 2, 0, 3), n), m = rep_len(c(4, 0, 1, 7, 2), n)
    )
    data$s <- stats::rbinom(n, data$m, stats::plogis(data$a))
    data$y <- stats::rbinom(n, 1, stats::plogis(data$a))
    data
  })
}

# ---- wrong samplers ----------------------------------------------------------

# The prior or the data are not those of the model.
logistic_mutants <- list(
  prior = data_mutant(function(data) {
    data$density$precision <- 1.6 * data$density$precision
    data
  }),
  offset = data_mutant(function(data) {
    data$density["offset"] <- list(NULL)
    data
  }),
  trials = data_mutant(function(data) {
    data$density$total <- data$density$total + 1
    data
  }),
  success = data_mutant(function(data) {
    data$density$success[[1]] <- 0
    data
  })
)
