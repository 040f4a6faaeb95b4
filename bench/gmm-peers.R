# Other samplers of Gaussian mixtures, run with one prior for all, and the
# log-likelihood of their draws. gmm.R and answers-gmm.R source this file.
#
# A case is list(x = matrix, k =, thin =).
#
# The model is gibbs_gmm()'s: full covariances, pi ~ Dir(alpha, ..., alpha) and
# Sigma_c ~ IW(S0, nu0) with its default alpha and nu0. S0 is diagonal, since
# mixAK takes no other: the variances divided by k^(2 / d). The means have
#   gibbs_gmm   mu_c ~ N(m0, V0), its default;
#   mixAK       the same, and a hyperprior on S0 that cannot be left out: it is
#               set so narrow (1%) that S0 is as good as fixed. Each sweep it
#               also computes deviances, and the means of fitted values;
#   bayesm      mu_c ~ N(m0, Sigma_c / A), drawn jointly with Sigma_c, the only
#               prior it has. A is such that the spread is that of V0 where
#               Sigma_c is its prior mean.
# bayesm starts from allocations 1, ..., k, 1, ..., k, ...; mixAK from means of
# its own choice. Each keeps every `thin`-th sweep.

# The prior of gibbs_gmm() in these comparisons.
own_prior <- function(case) gmm_prior(s0 = common_prior(case)$s0)

# Its values.
common_prior <- function(case) {
  x <- case$x
  d <- ncol(x)
  span <- apply(x, 2L, range)
  list(
    m0 = colMeans(span), v0 = (span[2L, ] - span[1L, ])^2, nu0 = d + 2,
    s0 = apply(x, 2L, stats::var) / case$k^(2 / d),
    alpha = (d + d * (d + 1) / 2) / 2 + 1 / 2
  )
}

# What is printed is not the question, and must not reach the screen.
quietly <- function(expr) {
  utils::capture.output(value <- suppressWarnings(suppressMessages(expr)))
  value
}

run_bayesm <- function(case, sweeps) {
  p <- common_prior(case)
  quietly(bayesm::rnmixGibbs(
    Data = list(y = case$x),
    Prior = list(
      ncomp = case$k, Mubar = p$m0, A = matrix(mean(p$s0 / p$v0)), nu = p$nu0,
      V = diag(p$s0, length(p$s0)), a = rep(p$alpha, case$k)
    ),
    Mcmc = list(R = sweeps, keep = case$thin, nprint = 0)
  )$nmix)
}

run_mixak <- function(case, sweeps) {
  p <- common_prior(case)
  narrow <- 1e4
  quietly(mixAK::NMixMCMC(
    y0 = case$x, scale = list(shift = 0, scale = 1), PED = FALSE,
    prior = list(
      priorK = "fixed", priormuQ = "independentC", Kmax = case$k,
      delta = p$alpha, xi = p$m0, D = diag(p$v0, length(p$v0)), zeta = p$nu0,
      g = rep(narrow, length(p$s0)),
      h = narrow / p$s0
    ),
    nMCMC = c(
      burn = 0, keep = sweeps / case$thin, thin = case$thin, info = sweeps
    )
  ))
}

# ---- log-likelihood of a program's draws -------------------------------------

# log p(x | pi, mu, Sigma): mu k x d; roots a list of upper triangular U_c with
# Sigma_c^-1 = U_c U_c'.
mixture_log_lik <- function(x, pi, mu, roots) {
  terms <- vapply(seq_along(pi), function(c) {
    z <- (x - rep(mu[c, ], each = nrow(x))) %*% roots[[c]]
    log(pi[[c]]) + sum(log(diag(roots[[c]]))) - rowSums(z^2) / 2
  }, numeric(nrow(x)))
  top <- terms[cbind(seq_len(nrow(x)), max.col(terms, "first"))]
  sum(top + log(rowSums(exp(terms - top)))) - length(x) * log(2 * base::pi) / 2
}

# U with Sigma^-1 = U U'.
root_of <- function(sigma) backsolve(chol(sigma), diag(nrow(sigma)))

# A function that gives draw s as list(pi, mu, roots), and the number of draws.
draws_gibbsite <- function(fit) {
  pi <- draws_of(fit, "pi")
  mu <- draws_of(fit, "mu")
  sigma <- draws_of(fit, "Sigma")
  list(count = dim(pi)[[1L]], draw = function(s) {
    list(
      pi = pi[s, 1L, ], mu = matrix(mu[s, 1L, , ], dim(mu)[[3L]]),
      roots = lapply(seq_len(dim(pi)[[3L]]), function(c) {
        root_of(sigma[s, 1L, c, , ])
      })
    )
  })
}

draws_bayesm <- function(fit) {
  list(count = nrow(fit$probdraw), draw = function(s) {
    components <- fit$compdraw[[s]]
    list(
      pi = fit$probdraw[s, ], mu = do.call(rbind, lapply(components, `[[`, 1L)),
      roots = lapply(components, `[[`, 2L)
    )
  })
}

draws_mixak <- function(fit) {
  d <- fit$dim
  size <- d * (d + 1L) / 2L
  list(count = nrow(fit$w), draw = function(s) {
    k <- ncol(fit$w)
    roots <- lapply(seq_len(k), function(c) {
      sigma <- matrix(0, d, d)
      sigma[lower.tri(sigma, diag = TRUE)] <-
        fit$Sigma[s, (c - 1L) * size + seq_len(size)]
      root_of(sigma + t(sigma) - diag(diag(sigma), d))
    })
    list(
      pi = fit$w[s, ], mu = matrix(fit$mu[s, ], k, byrow = TRUE), roots = roots
    )
  })
}
