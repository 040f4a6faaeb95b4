# Posteriors that are known without a sampler: by summation over all values of
# the discrete parameters, and by quadrature over the others. For test-known.R
# and tools/trust.R.

# run(): list(chains, exact). `chains`: a list of matrices, a row a draw and a
# column a quantity. `exact`: the posterior means of the quantities.
known_case <- function(sampler, option, how, run) {
  list(sampler = sampler, option = option, how = how, run = run)
}

# For each quantity the distance of the chains' mean from the exact one, in
# posterior standard deviations, and in Monte Carlo standard errors (z).
known_scores <- function(result) {
  scores <- vapply(seq_along(result$exact), function(q) {
    draws <- vapply(result$chains, function(chain) {
      chain[, q] + 0
    }, result$chains[[1]][, 1] + 0)
    exact <- result$exact[[q]]
    # an event that never or always happens
    if (stats::sd(draws) == 0) {
      apart <- abs(draws[[1]] - exact) > 1e-3
      return(c(apart, apart) * c(1, Inf^apart))
    }
    c(abs(mean(draws) - exact) / stats::sd(draws), z_of_chains(draws, exact))
  }, c(0, 0))
  data.frame(distance = scores[1, ], z = scores[2, ])
}

# f(draws) of each chain of a fit.
chain_columns <- function(fit, f = identity) {
  lapply(fit, function(chain) f(unclass(chain)[, ]))
}

# ---- mixtures ----------------------------------------------------------------

# One component of dimension 1 with observations x: mu given sigma2 in closed
# form, sigma2 by the trapezoidal rule in its logarithm (whose error is far
# below rounding for so smooth an integrand, once the step is small).
# Returns the evidence p(x), and E(mu), E(mu^2), E(log sigma2), density at `at`.
component_by_quadrature <- function(x, prior, at, step = 0.02) {
  log_variance <- seq(-14, 22, by = step)
  s2 <- exp(log_variance)
  n <- length(x)
  m0 <- prior$m0
  v0 <- drop(prior$v0)
  v <- 1 / (1 / v0 + n / s2)
  m <- v * (m0 / v0 + sum(x) / s2)
  log_prior <- stats::dgamma(
    1 / s2, prior$nu0 / 2, drop(prior$s0) / 2, log = TRUE
  ) - log_variance # of 1 / sigma2, times |d(1 / sigma2) / d log sigma2|
  log_lik <- -n / 2 * log(2 * pi * s2) + log(v / v0) / 2 -
    (sum(x^2) / s2 + m0^2 / v0 - m^2 / v) / 2
  weight <- exp(log_prior + log_lik) * step
  average <- function(value) sum(weight * value) / sum(weight)
  list(
    evidence = sum(weight), mu = average(m), mu2 = average(m^2 + v),
    log_s2 = average(log_variance),
    density = vapply(at, function(a) {
      average(stats::dnorm(a, m, sqrt(v + s2)))
    }, 0)
  )
}

# E max(p, 1 - p), p ~ Beta(a, b)
mean_largest_weight <- function(a, b) {
  upper <- stats::pbeta(0.5, a + 1, b, lower.tail = FALSE)
  (a * upper + b * stats::pbeta(0.5, a, b + 1)) / (a + b)
}

# Posterior expectations, k = 2, given one allocation z; and its probability
# p(z, x): Dirichlet-multinomial times the components' evidence.
given_allocation <- function(z, x, prior, at, step) {
  a <- prior$alpha + tabulate(z, 2)
  one <- component_by_quadrature(x[z == 1], prior, at, step)
  two <- component_by_quadrature(x[z == 2], prior, at, step)
  p <- a / sum(a)
  p2 <- c(a * (a + 1), a[[1]] * a[[2]]) / (sum(a) * (sum(a) + 1))
  list(
    probability = exp(sum(lgamma(a))) * one$evidence * two$evidence,
    values = c(
      pi_1 = p[[1]], largest = mean_largest_weight(a[[1]], a[[2]]),
      mean = p[[1]] * one$mu + p[[2]] * two$mu,
      mean_square = p2[[1]] * one$mu2 + p2[[2]] * two$mu2 +
        2 * p2[[3]] * one$mu * two$mu,
      mu_1 = one$mu, log_s2 = one$log_s2 + two$log_s2,
      log_s2_1 = one$log_s2, occupied = length(unique(z)),
      density = p[[1]] * one$density + p[[2]] * two$density,
      together = as.double(stats::dist(z) == 0)
    )
  )
}

posterior_by_summation <- function(x, prior, at, step = 0.02) {
  allocations <- expand.grid(rep(list(1:2), length(x)))
  terms <- lapply(seq_len(nrow(allocations)), function(row) {
    z <- unlist(allocations[row, ], use.names = FALSE)
    given_allocation(z, x, prior, at, step)
  })
  probability <- vapply(terms, function(term) term$probability, 0)
  values <- vapply(terms, function(term) term$values, terms[[1]]$values)
  drop(values %*% probability) / sum(probability)
}

# The same quantities of draws (columns of gibbs_gmm(), d = 1, k = 2).
summation_quantities <- function(draws, at) {
  p <- draws[, c("pi[1]", "pi[2]")]
  mu <- draws[, c("mu[1,1]", "mu[2,1]")]
  s2 <- draws[, c("Sigma[1,1,1]", "Sigma[2,1,1]")]
  z <- draws[, startsWith(colnames(draws), "z["), drop = FALSE]
  mean <- rowSums(p * mu)
  density <- vapply(at, function(a) {
    rowSums(p * stats::dnorm(a, mu, sqrt(s2)))
  }, mean)
  pairs <- utils::combn(ncol(z), 2)
  cbind(
    p[, 1], pmax(p[, 1], p[, 2]), mean, mean^2, mu[, 1],
    rowSums(log(s2)), log(s2[, 1]), draws[, "n_occupied"], density,
    z[, pairs[1, ]] == z[, pairs[2, ]]
  )
}

# log p(x | z) of observations of one variable: full covariances component by
# component, a shared one by the trapezoidal rule in the logarithm of sigma2.
log_allocation <- function(z, x, prior, form, step = 0.02) {
  parts <- split(x, z)
  if (form != "shared") {
    return(sum(vapply(parts, function(part) {
      log(component_by_quadrature(part, prior, numeric(), step)$evidence)
    }, 0)))
  }
  log_variance <- seq(-14, 22, by = step)
  s2 <- exp(log_variance)
  total <- stats::dgamma(
    1 / s2, prior$nu0 / 2, drop(prior$s0) / 2, log = TRUE
  ) - log_variance
  for (part in parts) {
    n <- length(part)
    v <- 1 / (1 / drop(prior$v0) + n / s2)
    m <- v * (prior$m0 / drop(prior$v0) + sum(part) / s2)
    total <- total - n / 2 * log(2 * pi * s2) + log(v / drop(prior$v0)) / 2 -
      (sum(part^2) / s2 + prior$m0^2 / drop(prior$v0) - m^2 / v) / 2
  }
  log(sum(exp(total)) * step)
}

# z: draws x n
allocation_quantities <- function(z, k) {
  pairs <- utils::combn(ncol(z), 2)
  count <- vapply(seq_len(k), function(c) rowSums(z == c), z[, 1] + 0)
  cbind(
    z[, pairs[1, ]] == z[, pairs[2, ]], count, count^2, rowSums(count > 0)
  )
}

summed_allocations <- function(x, prior, k, form) {
  z <- as.matrix(expand.grid(rep(list(seq_len(k)), length(x))))
  log_p <- apply(z, 1, function(z) {
    sum(lgamma(prior$alpha + tabulate(z, k))) +
      log_allocation(z, x, prior, form)
  })
  p <- exp(log_p - max(log_p))
  drop(p %*% allocation_quantities(z, k)) / sum(p)
}

# The counters of tries begin again every 100 sweeps: each sweep has a try.
sweeps_with_tries <- function(model, rounds = 80) {
  state <- gibbsite:::draw_prior(model)
  tried <- numeric(8)
  draws <- stack_rows(rounds, function() {
    state$moves <<- numeric(8)
    run <- gibbsite:::model_sweeps(
      model, state, 100, list(burnin = 0, thin = 1, threads = 1)
    )
    state <<- run$state
    tried <<- tried + state$moves
    run$draws
  })
  colnames(draws) <- model$columns
  list(z = draws[, startsWith(colnames(draws), "z[")], tried = tried)
}

known_cases_of_mixtures <- function() {
  c(
    list(known_case("gibbs_gmm", "full", "sum over 64 allocations", function() {
      x <- c(-1.9, -1.2, -0.4, 0.7, 1.1, 2.6)
      at <- c(-2, 0.3, 1.7)
      prior <- gmm_prior(
        alpha = c(1.7, 0.6), m0 = 0.4, v0 = 2.3, nu0 = 3.4, s0 = 0.9
      )
      fit <- suppressWarnings(gibbs_gmm(
        x, 2, prior, draws = fast_or(1500, 5000), burnin = 100, chains = 4,
        keep = "z",
        seed = 31, progress = FALSE
      ))
      list(
        chains = chain_columns(fit, function(draws) {
          summation_quantities(draws, at)
        }),
        exact = posterior_by_summation(x, attr(fit, "model")$prior, at)
      )
    })),
    lapply(c("full", "shared"), function(form) {
      option <- paste0(form, ", a move of groups in every sweep")
      known_case("gibbs_gmm", option, "sum over 243 allocations", function() {
        withr::local_seed(32)
        x <- cbind(v1 = c(-2.4, -1.9, 0.3, 0.6, 2.7))
        prior <- gmm_prior(
          alpha = c(0.7, 0.4, 1.2), m0 = 0.4, v0 = 2.3, nu0 = 3.4, s0 = 0.4
        )
        completed <- gibbsite:::complete_gmm_prior(prior, x, 3, form)
        model <- gibbsite:::gmm_model(x, 3, completed, form, "z")
        runs <- replicate(4, sweeps_with_tries(model), simplify = FALSE)
        tried <- Reduce(`+`, lapply(runs, `[[`, "tried"))
        # tries and successes; a shared covariance has no combinations
        some <- if (form == "shared") tried[-c(4, 8)] else tried
        if (min(some) <= 100) stop("Some moves were hardly tried.")
        list(
          chains = lapply(runs, function(run) allocation_quantities(run$z, 3)),
          exact = summed_allocations(drop(x), completed, 3, form)
        )
      })
    })
  )
}

# ---- topics ------------------------------------------------------------------

# Every assignment of k topics to the tokens, and the log of p(z | alpha) and
# p(w | z, eta) on grids of the concentrations: given z the two are independent.
by_summation <- function(model, points = 400) {
  n <- model$nobs
  all <- as.matrix(expand.grid(rep(list(seq_len(model$k)), n)))
  side <- function(prior, pick) {
    grid <- if (is.numeric(prior)) {
      list(values = list(prior), weight = 0)
    } else {
      ends <- c(1e-7, if (inherits(prior, "uniform_prior")) prior$upper else 80)
      x <- seq(log(ends[[1]]), log(ends[[2]]), length.out = points)
      inside <- lda_log_prior_at(prior, exp(x))
      step <- rep(x[[2]] - x[[1]], points)
      step[c(1, points)] <- step[[1]] / 2
      list(values = as.list(exp(x)), weight = inside + x + log(step))
    }
    # many assignments have the same counts
    tables <- lapply(seq_len(nrow(all)), function(i) {
      twin_counts(model, all[i, ])[[pick]]
    })
    key <- vapply(tables, paste, "", collapse = " ")
    first <- which(!duplicated(key))
    log_p <- vapply(tables[first], function(count) {
      vapply(grid$values, function(a) log_dirichlet_counts(count, a), 0)
    }, numeric(length(grid$values)))
    log_p <- matrix(log_p, ncol = length(first))[, match(key, key[first])]
    log_p <- t(matrix(log_p, ncol = nrow(all)))
    total <- sweep(log_p, 2, grid$weight, `+`)
    weight <- exp(total)
    inside <- if (is.numeric(prior)) {
      0
    } else {
      lda_log_prior_at(prior, unlist(grid$values))
    }
    list(
      mass = rowSums(weight),
      log = rowSums(weight * sweep(log_p, 2, inside, `+`)) / rowSums(weight),
      value = drop(weight %*% vapply(grid$values, `[[`, 0, 1)) /
        rowSums(weight)
    )
  }
  alpha <- side(model$prior$alpha, "by_document")
  eta <- side(model$prior$eta, "by_term")
  p <- alpha$mass * eta$mass
  p <- p / sum(p)
  pairs <- utils::combn(n, 2)
  together <- all[, pairs[1, ]] == all[, pairs[2, ]]
  used <- apply(all, 1, function(z) length(unique(z)))
  c(
    log_joint = sum(p * (alpha$log + eta$log)), used = sum(p * used),
    alpha = sum(p * alpha$value), eta = sum(p * eta$value),
    together = drop(p %*% together), topic_1 = drop(p %*% (all == 1))
  )
}

lda_log_prior_at <- function(prior, x) {
  if (inherits(prior, "uniform_prior")) {
    return(rep(-log(prior$upper - prior$lower), length(x)))
  }
  stats::dgamma(x, prior$shape, prior$rate, log = TRUE)
}

summation_values <- function(model, draws) {
  colnames(draws) <- model$columns
  z <- draws[, startsWith(colnames(draws), "z[")]
  pairs <- utils::combn(ncol(z), 2)
  of <- function(name) {
    if (name %in% colnames(draws)) {
      draws[, name]
    } else {
      rep(model$prior[[name]][[1]], nrow(draws))
    }
  }
  cbind(
    draws[, "log_joint"], draws[, "n_topics_used"], of("alpha"), of("eta"),
    z[, pairs[1, ]] == z[, pairs[2, ]], z == 1
  )
}

known_cases_of_topics <- function() {
  cases <- list(
    "uniform prior of alpha" = list(c(4, 3), 3, 2, uniform_prior(0, 10), 0.4),
    "gamma priors of both" =
      list(c(3, 2, 2), 3, 2, gamma_prior(2, 1.5), gamma_prior(1.5, 2)),
    asymmetric = list(c(4, 4), 3, 2, c(0.3, 1.4), c(0.2, 0.7, 1.5)),
    "three topics" = list(c(3, 3), 4, 3, gamma_prior(1, 1), 0.3)
  )
  each <- expand.grid(
    method = lda_test_methods, prior = names(cases), stringsAsFactors = FALSE
  )
  Map(function(method, prior) {
    option <- paste0(gsub("_", " ", method), ", ", prior)
    arguments <- cases[[prior]]
    how <- paste("sum over", arguments[[3]]^sum(arguments[[1]]), "assignments")
    known_case("gibbs_lda", option, how, function() {
      model <- withr::with_seed(77, do.call(
        tiny_lda, c(arguments, list(method, "z"))
      ))
      chains <- lapply(1:4, function(chain) {
        withr::local_seed(76 + chain)
        control <- list(burnin = 100, thin = 1, threads = 1)
        summation_values(model, own_sweeps(
          model, gibbsite:::model_start(model, NULL), 4100, control
        )$draws)
      })
      list(chains = chains, exact = by_summation(model))
    })
  }, each$method, each$prior, USE.NAMES = FALSE)
}

# ---- ratings -----------------------------------------------------------------

# One user, one item, rank 1, the fixed prior: p(u, v | r) on a grid.
known_cases_of_ratings <- function() {
  of_both <- function(u, v) {
    cbind(u * v, (u * v)^2, u^2, abs(u * v) * v^2, u * v > 1)
  }
  list(known_case("gibbs_bmf", "fixed prior", "quadrature", function() {
    withr::local_seed(15)
    r <- c(1.9, 0.4, 1.6)
    ratings <- list(
      user = rep(1L, 3), item = rep(1L, 3), value = r, users = 1L, items = 1L,
      names = c("user", "item", "value")
    )
    prior <- tiny_bmf_prior("fixed", 1)
    model <- gibbsite:::bmf_model(ratings, 1, prior, 0, keep = c("u", "v"))
    grid <- seq(-6, 6, length.out = 601) * sqrt(prior$factor_variance)
    at <- expand.grid(u = grid, v = grid)
    log_density <- stats::dnorm(at$u, 0, sqrt(prior$factor_variance),
                                log = TRUE) +
      stats::dnorm(at$v, 0, sqrt(prior$factor_variance), log = TRUE)
    for (value in r) {
      log_density <- log_density +
        stats::dnorm(value, at$u * at$v, sqrt(prior$noise_variance), log = TRUE)
    }
    weight <- exp(log_density - max(log_density))
    chains <- lapply(1:4, function(chain) {
      draws <- gibbsite:::model_sweeps(
        model, gibbsite:::model_start(model, NULL), fast_or(5100, 20100),
        list(burnin = 100, thin = 1, threads = 1)
      )$draws
      colnames(draws) <- model$columns
      of_both(draws[, "u[1,1]"], draws[, "v[1,1]"])
    })
    exact <- colSums(weight * of_both(at$u, at$v)) / sum(weight)
    list(chains = chains, exact = exact)
  }))
}

# ---- regressions -------------------------------------------------------------

# log p(lambda, beta | y) by the full covariance matrix of the responses.
log_precisions <- function(data, prior, lambda, beta) {
  x <- cbind(data$x1, data$x2)
  x <- sweep(x, 2, colMeans(x))
  across <- diag(1 / beta, nrow(x)) + tcrossprod(x) / lambda +
    prior$intercept_sd^2
  root <- chol(across)
  white <- backsolve(root, data$y - prior$intercept_mean, transpose = TRUE)
  stats::dgamma(lambda, prior$slope_shape, prior$slope_rate, log = TRUE) +
    stats::dgamma(beta, prior$noise_shape, prior$noise_rate, log = TRUE) -
    sum(log(diag(root))) - sum(white^2) / 2
}

known_lm <- function(n) {
  data <- lm_example(n)
  prior <- lm_prior(
    slope_shape = 2, slope_rate = 1, noise_shape = 2, noise_rate = 3, scale = 1,
    intercept_mean = 3,
    intercept_sd = 1.5
  )
  grid <- expand.grid(
    l = seq(-7, 5, length.out = 101), b = seq(-6, 4, length.out = 101)
  )
  logs <- mapply(function(l, b) {
    log_precisions(data, prior, exp(l), exp(b)) + l + b
  }, grid$l, grid$b)
  share <- exp(logs - max(logs))
  share <- share / sum(share)
  x <- sweep(cbind(data$x1, data$x2), 2, c(mean(data$x1), mean(data$x2)))
  slopes <- mapply(function(l, b) {
    solve(exp(b) * crossprod(x) + diag(exp(l), 2),
          exp(b) * crossprod(x, data$y))
  }, grid$l, grid$b)
  fit <- gibbs_lm(
    y ~ x1 + x2, data, prior = prior, draws = fast_or(2000, 6000),
    burnin = 100, seed = 1, progress = FALSE
  )
  list(
    chains = chain_columns(fit, function(draws) {
      cbind(log(draws[, "lambda"]), -2 * log(draws[, "sigma"]),
            draws[, c("x1", "x2")])
    }),
    exact = c(sum(share * grid$l), sum(share * grid$b), slopes %*% share)
  )
}

eight_schools <- data.frame(
  y = c(28, 8, -3, 7, -1, 1, 18, 12), se = c(15, 10, 16, 11, 9, 11, 10, 18),
  school = LETTERS[1:8]
)

# Moments of tau, mu and the first w_j by a grid of tau, mu and w_1 given tau
# being normal.
known_posterior <- function(data, prior) {
  tau <- exp(seq(log(1e-6), log(1e5), length.out = 20001))
  a <- prior$scale[[1]]
  nu <- prior$df
  log_prior <- stats::dt(tau / a, nu, log = TRUE)
  each <- vapply(tau, function(t) {
    v <- data$se^2 + t^2
    precision <- sum(1 / v) + 1 / prior$intercept_sd^2
    mean <- (sum(data$y / v) + prior$intercept_mean / prior$intercept_sd^2) /
      precision
    across <- diag(v, length(v)) + prior$intercept_sd^2
    root <- chol(across)
    white <- backsolve(root, data$y - prior$intercept_mean, transpose = TRUE)
    share <- t^2 / v[[1]]
    c(
      -sum(log(diag(root))) - sum(white^2) / 2, mean, 1 / precision,
      share * data$y[[1]] + (1 - share) * mean
    )
  }, numeric(4))
  log_p <- log_prior + each[1, ] + log(tau) # the grid is of log tau
  p <- exp(log_p - max(log_p))
  p <- p / sum(p)
  mu <- sum(p * each[2, ])
  c(
    log_tau = sum(p * log(tau)), small = sum(p[tau < a / 4]),
    large = sum(p[tau > 2 * a]), bounded = sum(p * tanh(tau / a)), mu = mu,
    square = sum(p * (each[2, ]^2 + each[3, ])), w = sum(p * each[4, ])
  )
}

known_hlm <- function(data, prior, draws = fast_or(5000, 20000)) {
  fit <- gibbs_hlm(
    y ~ 1 + (1 | school), data, se = se, prior = prior, draws = draws,
    burnin = 100, seed = 1, keep = "w", progress = FALSE
  )
  full <- prior_summary(fit)
  a <- full$scale[[1]]
  list(
    chains = chain_columns(fit, function(draws) {
      tau <- draws[, "sd[1]"]
      mu <- draws[, "(Intercept)"]
      cbind(log(tau), tau < a / 4, tau > 2 * a, tanh(tau / a), mu, mu^2,
            draws[, "w[1,1]"])
    }),
    exact = known_posterior(data, full)
  )
}

# Moments of log(sd) and of the intercept: a grid of both, with the groups'
# deviations integrated out on a grid of their own.
binomial_posterior <- function(s, m, link, prior) {
  f <- if (link == "logit") stats::plogis else stats::pnorm
  log_sd <- seq(log(1e-4), log(200), length.out = 300)
  b <- seq(-9, 9, length.out = 300)
  z <- seq(-8, 8, length.out = 801)
  log_p <- outer(log_sd, b, function(log_sd, b) {
    scaled <- exp(log_sd) / prior$group_scale[[1]]
    stats::dnorm(b, 0, sqrt(prior$slope_variance[[1]]), log = TRUE) + log_sd +
      stats::dt(scaled, prior$group_df, log = TRUE)
  })
  for (k in seq_along(log_sd)) {
    eta <- outer(exp(log_sd[[k]]) * z, b, `+`)
    up <- f(eta, log.p = TRUE)
    down <- f(eta, lower.tail = FALSE, log.p = TRUE)
    for (j in seq_along(s)) {
      each <- exp(
        s[[j]] * up + (m[[j]] - s[[j]]) * down + stats::dnorm(z, log = TRUE)
      )
      log_p[k, ] <- log_p[k, ] + log(colSums(each))
    }
  }
  p <- exp(log_p - max(log_p))
  p <- p / sum(p)
  c(
    log_sd = sum(p * log_sd), large = sum(p[exp(log_sd) > 1, ]),
    b = sum(t(p) * b), square = sum(t(p) * b^2),
    both = sum(p * outer(log_sd, b))
  )
}

known_binomial <- function(link) {
  data <- data.frame(
    s = c(0, 3, 9, 4, 5), m = c(6, 7, 9, 12, 8), g = letters[1:5]
  )
  prior <- logistic_prior(
    intercept_variance = 4, group_df = 4, group_scale = 1.5
  )
  fit <- gibbs_logistic(
    cbind(s, m - s) ~ 1 + (1 | g), data, prior, link = link,
    draws = fast_or(3000, 10000),
    burnin = 200, seed = 1, progress = FALSE
  )
  list(
    chains = chain_columns(fit, function(draws) {
      sd <- draws[, "sd[1]"]
      b <- draws[, "(Intercept)"]
      cbind(log(sd), sd > 1, b, b^2, log(sd) * b)
    }),
    exact = binomial_posterior(data$s, data$m, link, prior_summary(fit))
  )
}

# Means of w, its squares and product in two dimensions.
posterior_moments <- function(model) {
  d <- twin_logistic_data(model)
  data <- model$data
  sd <- sqrt(diag(chol2inv(t(data$precision_factor))))
  grid <- lapply(1:2, function(j) {
    quadrature(data$map[[j]] - 14 * sd[[j]], data$map[[j]] + 14 * sd[[j]], 15)
  })
  points <- as.matrix(expand.grid(grid[[1]]$node, grid[[2]]$node))
  eta <- points %*% t(d$x) + rep(d$o, each = nrow(points))
  cdf <- if (d$link == "probit") stats::pnorm else stats::plogis
  logs <- cdf(eta, log.p = TRUE) %*% d$s +
    cdf(-eta, log.p = TRUE) %*% (d$m - d$s) -
    rowSums((points %*% d$q) * points) / 2
  share <- as.vector(outer(grid[[1]]$weight, grid[[2]]$weight)) *
    exp(logs - max(logs))
  colSums(as.vector(share) * functions_of(points)) / sum(share)
}

functions_of <- function(w) {
  cbind(w[, 1], w[, 2], w[, 1]^2, w[, 2]^2, w[, 1] * w[, 2])
}

known_logistic <- function(link) {
  fit <- suppressMessages(gibbs_logistic(
    cbind(s, m - s) ~ a, logistic_example(), weights = v, offset = o,
    link = link, draws = 2500, burnin = 100, seed = 7, progress = FALSE
  ))
  list(
    chains = chain_columns(fit, functions_of),
    exact = posterior_moments(attr(fit, "model"))
  )
}

known_cases_of_regression <- function() {
  of <- function(sampler, option, run) {
    known_case(sampler, option, "quadrature", run)
  }
  wide <- hlm_prior(df = 1, scale = 25, intercept_mean = 5, intercept_sd = 30)
  prior <- hlm_prior(df = 3, scale = 10, intercept_mean = 2, intercept_sd = 20)
  list(
    of("gibbs_lm", "hierarchical prior", function() known_lm(10)),
    of("gibbs_lm", "as many coefficients as rows", function() known_lm(4)),
    of("gibbs_hlm", "eight schools", function() {
      known_hlm(eight_schools, hlm_prior())
    }),
    of("gibbs_hlm", "eight schools, wide prior", function() {
      known_hlm(eight_schools, wide)
    }),
    of("gibbs_hlm", "one group", function() {
      suppressMessages(known_hlm(eight_schools[1, ], prior, 8000))
    }),
    of("gibbs_hlm", "two groups", function() {
      known_hlm(eight_schools[1:2, ], prior, 8000)
    }),
    of("gibbs_hlm", "equal groups", function() {
      equal <- transform(eight_schools, y = 3, se = 1)
      suppressMessages(known_hlm(equal, prior, 8000))
    }),
    of("gibbs_hlm", "groups far apart", function() {
      known_hlm(transform(eight_schools, y = 10 * y, se = 0.1), prior, 8000)
    }),
    of("gibbs_logistic", "logit", function() known_logistic("logit")),
    of("gibbs_logistic", "probit", function() known_logistic("probit")),
    of("gibbs_logistic", "logit, groups", function() known_binomial("logit")),
    of("gibbs_logistic", "probit, groups", function() known_binomial("probit"))
  )
}

# ---- one's own models --------------------------------------------------------

# Means of mu, tau, mu^2, mu tau and log(tau) for joint_target().
target_moments <- function(y) {
  at <- expand.grid(
    mu = seq(-5, 6, length.out = 401),
    log_tau = seq(-9, 3, length.out = 401)
  )
  log_density <- apply(cbind(at$mu, exp(at$log_tau)), 1, joint_target, y) +
    at$log_tau
  weight <- exp(log_density - max(log_density))
  colSums(weight * functions_of_target(at$mu, exp(at$log_tau))) / sum(weight)
}

functions_of_target <- function(mu, tau) {
  cbind(mu, tau, mu^2, mu * tau, log(tau))
}

known_cases_of_functions <- function() {
  exact <- NULL
  lapply(joint_cases_of_functions(), function(case) {
    known_case(case$sampler, case$option, "quadrature", function() {
      y <- rlang::quo_get_env(case$call)$y
      exact <<- if (is.null(exact)) target_moments(y) else exact
      fit <- eval(
        rlang::call_modify(
          rlang::quo_get_expr(case$call), draws = fast_or(3000, 10000),
          seed = 1, progress = FALSE
        ),
        rlang::quo_get_env(case$call)
      )
      list(
        chains = chain_columns(fit, function(draws) {
          functions_of_target(draws[, "mu"], draws[, "tau"])
        }),
        exact = exact
      )
    })
  })
}

known_cases <- function() {
  c(
    known_cases_of_mixtures(), known_cases_of_topics(),
    known_cases_of_ratings(), known_cases_of_regression(),
    known_cases_of_functions()
  )
}
