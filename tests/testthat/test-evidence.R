# log_evidence() by bridge sampling: against closed forms, quadrature, and sums
# over all allocations.

quick <- function(f, ..., draws = 1000, burnin = 500, chains = 2, seed = 1) {
  # values in the call: a method evaluates `weights` in its own frame
  quietly(do.call(f, list(
    ..., draws = draws, burnin = burnin, chains = chains, seed = seed,
    progress = FALSE
  )))
}

evidence_of <- function(fit, ..., seed = 1) {
  withr::with_seed(seed, log_evidence(fit, ...))
}

# Standard errors between an estimate and the truth.
evidence_z <- function(evidence, exact) {
  (as.numeric(evidence) - exact) / attr(evidence, "se")
}

both_proposals <- c("normal", "warp3")

# By each proposal, the log evidence is `exact`.
expect_evidence <- function(fit, exact, ...,
                            methods = fast_or("warp3", both_proposals)) {
  for (method in methods) {
    found <- evidence_of(fit, method = method, ...)
    expect_lt(attr(found, "se"), 0.1)
    expect_lt(abs(evidence_z(found, exact)), 4.5)
  }
}

unbounded <- function(fit, given = NULL) {
  gibbsite:::model_unbounded(attr(fit, "model"), given, NULL)
}

# The bridge between points (by chain) of a density and a normal proposal.
normal_bridge <- function(points, log_density, method = "normal", seed = 2) {
  ratios <- gibbsite:::normal_ratios(log_density, method, NULL)
  withr::with_seed(seed, gibbsite:::bridge_integral(points, ratios, NULL))
}

# The bridge of a fit, with its log density changed.
bridge_of <- function(fit, alter = function(value, x) value) {
  known <- unbounded(fit)
  points <- lapply(gibbsite:::model_matrices(fit), known$points)
  found <- normal_bridge(
    points, function(x) alter(known$log_density(x), x), seed = 1
  )
  gibbsite:::new_evidence(found$value, found$se, "normal")
}

log_normal <- function(x, mean, covariance) {
  root <- chol(covariance)
  white <- backsolve(root, x - mean, transpose = TRUE)
  -sum(white^2) / 2 - sum(log(diag(root))) - length(x) / 2 * log(2 * pi)
}

log_sum <- function(x) max(x) + log(sum(exp(x - max(x))))

# ---- the estimator -----------------------------------------------------------

test_that("the bridge of a normal density is exact", {
  skip_long()
  covariance <- matrix(c(4, 1, 1, 2), 2)
  first <- withr::with_seed(1, sample_mvnorm(100, c(1, 2), covariance))
  # each half of the chains makes the same proposal
  second <- t(2 * colMeans(first) - t(first))
  points <- lapply(list(1:50, 51:100), function(chain) {
    rbind(first[chain, ], second[chain, ])
  })
  proposal <- function(x) {
    apply(x, 1, log_normal, mean = colMeans(first), covariance = cov(first))
  }
  for (method in c("normal", "warp3")) {
    found <- normal_bridge(points, function(x) 3 + proposal(x), method)
    expect_equal(found$value, 3, tolerance = 1e-9)
    expect_lt(found$se, 1e-6)
    expect_identical(found$draws, 200L)
    expect_false(found$apart)
  }
  # the fixed point of Meng and Wong's iteration
  own <- withr::with_seed(3, rnorm(50))
  proposed <- c(withr::with_seed(4, rnorm(70) - 1), -Inf)
  s <- c(40, 71) / 111
  r <- 1
  for (i in 1:500) {
    r <- mean(exp(proposed) / (s[1] * exp(proposed) + s[2] * r)) /
      mean(1 / (s[1] * exp(own) + s[2] * r))
  }
  expect_equal(
    gibbsite:::bridge_root(own, proposed, c(40, 71)), log(r), tolerance = 1e-8
  )
})

test_that("halves that disagree give their difference as the error", {
  skip_long()
  # each half of the chain is in one mode; the proposal of the first is narrow
  both <- withr::with_seed(1, c(rnorm(200, -4), rnorm(200, 4, 5)))
  density <- function(x) log(dnorm(x, -4) / 2 + dnorm(x, 4, 5) / 2)
  found <- normal_bridge(list(cbind(both)), function(x) density(x[, 1]))
  expect_true(found$apart)
  expect_gt(found$se, 0.3)
  fit <- quick(mh_sample, density, 0, draws = 400, chains = 1)
  fit[[1]][] <- both
  expect_gibbsite_condition(evidence_of(fit), "gibbsite_warning_evidence")
})

test_that("reflections of a skew density make the error smaller", {
  density <- function(x) dgamma(exp(x[, 1]), 2, log = TRUE) + x[, 1]
  points <- withr::with_seed(1, lapply(1:2, function(k) {
    matrix(log(rgamma(2000, 2)))
  }))
  found <- lapply(c(normal = "normal", warp3 = "warp3"), function(method) {
    normal_bridge(points, density, method)
  })
  for (one in found) {
    expect_lt(abs(one$value) / one$se, 4.5)
  }
  expect_lt(found$warp3$se, found$normal$se)
})

test_that("priors of covariance matrices integrate to 1 on their coordinates", {
  skip_long()
  integral <- function(draws, log_prior) {
    q <- dim(draws)[2]
    factor <- aperm(apply(draws, 1, function(s) t(chol(s))) |>
                      array(c(q, q, dim(draws)[1])), c(3, 1, 2))
    x <- gibbsite:::factor_coordinates(factor, FALSE)
    back <- gibbsite:::coordinate_factors(x, q, FALSE)
    expect_equal(back, factor)
    normal_bridge(list(x), function(x) {
      log_prior(gibbsite:::coordinate_factors(x, q, FALSE)) +
        gibbsite:::log_factor_jacobian(x, q, FALSE)
    })
  }
  n <- fast_or(1000, 3000)
  for (q in fast_or(2, 1:3)) {
    scale <- 0.5 * diag(q) + 0.5 + diag(seq_len(q))
    wishart <- withr::with_seed(q, vapply(seq_len(n), function(s) {
      solve(rWishart(1, q + 2, solve(scale))[, , 1])
    }, diag(q)))
    found <- integral(
      aperm(array(wishart, c(q, q, n)), c(3, 1, 2)),
      function(factor) gibbsite:::log_inverse_wishart(factor, q + 2, scale)
    )
    expect_lt(abs(found$value) / found$se, 4.5)
    expect_lt(found$se, 0.05)
    scale <- seq_len(q)
    half_t <- withr::with_seed(q, vapply(seq_len(n), function(s) {
      sums <- 2 * 3 * rgamma(q, 0.5, 1 / scale^2)
      solve(rWishart(1, 3 + q - 1, diag(1 / sums, q))[, , 1])
    }, diag(q)))
    found <- integral(
      aperm(array(half_t, c(q, q, n)), c(3, 1, 2)),
      function(factor) gibbsite:::log_half_t_covariance(factor, 3, scale)
    )
    expect_lt(abs(found$value) / found$se, 4.5)
    expect_lt(found$se, 0.1)
  }
  # half-t, by its density
  at <- array(c(0.3, 1, 4), c(3, 1, 1))
  expect_equal(
    gibbsite:::log_half_t_covariance(at, 3, 2) + log(2 * at[, 1, 1]),
    log(2) + dt(at[, 1, 1] / 2, 3, log = TRUE) - log(2)
  )
})

# ---- regressions -------------------------------------------------------------

test_that("the bridge of a conjugate regression is its closed form", {
  skip_long()
  prior <- lm_prior("nig", noise_shape = 2, noise_rate = 20, lambda = 0.5)
  fit <- quick(gibbs_lm, mpg ~ wt + qsec, mtcars, prior)
  exact <- log_evidence(fit)
  expect_identical(attr(exact, "method"), "exact")
  expect_identical(attr(exact, "se"), 0)
  expect_lt(abs(evidence_z(bridge_of(fit), as.numeric(exact))), 4.5)
})

test_that("the evidence of a hierarchical prior is a mean over its precision", {
  skip_long()
  # given lambda and beta all is normal: by quadrature over the logs of both
  prior <- lm_prior(
    slope_shape = 2, slope_rate = 1, noise_shape = 3, noise_rate = 20,
    scale = 1, intercept_mean = 20,
    intercept_sd = 5
  )
  fit <- quick(gibbs_lm, mpg ~ wt, mtcars, prior)
  x <- mtcars$wt - mean(mtcars$wt)
  joint <- function(u, v) {
    covariance <- 25 + outer(x, x) / exp(u) + diag(exp(-v), 32)
    log_normal(mtcars$mpg, 20, covariance) +
      dgamma(exp(u), 2, 1, log = TRUE) + u +
      dgamma(exp(v), 3, 20, log = TRUE) + v
  }
  grid <- expand.grid(u = seq(-9, 3, 0.4), v = seq(-5, 0, 0.2))
  exact <- log_sum(mapply(joint, grid$u, grid$v)) + log(0.4 * 0.2)
  expect_evidence(fit, exact)
})

test_that("logistic and probit regressions have their evidence", {
  skip_long()
  for (link in fast_or("logit", c("logit", "probit"))) {
    fit <- quick(gibbs_logistic, cbind(3, 5) ~ 1, data.frame(one = 1),
                 logistic_prior(intercept_variance = 2), link = link)
    share <- c(logit = plogis, probit = pnorm)[[link]]
    exact <- log(integrate(function(w) {
      dbinom(3, 8, share(w)) * dnorm(w, 0, sqrt(2))
    }, -Inf, Inf, rel.tol = 1e-10)$value)
    expect_evidence(fit, exact)
  }
})

test_that("Pima: by Laplace's method corrected, and by bridgesampling", {
  skip_unless_extended()
  formula <- type ~ npreg + glu + bmi + ped + age
  fit <- quick(gibbs_logistic, formula, MASS::Pima.tr)
  laplace <- quietly(laplace_logistic(
    formula, MASS::Pima.tr, draws = 2000, seed = 1, progress = FALSE
  ))
  other <- log_evidence(laplace, "importance")
  found <- evidence_of(fit)
  factor <- found - other
  expect_lt(abs(evidence_z(factor, 0)), 4.5)
  expect_lt(abs(as.numeric(factor)), 0.05)
  skip_if_not_installed("bridgesampling")
  known <- gibbsite:::model_density(attr(fit, "model"))
  draws <- as.matrix(fit)[, known$columns]
  bound <- function(x) stats::setNames(x, colnames(draws))
  peer <- withr::with_seed(1, quietly(bridgesampling::bridge_sampler(
    draws, log_posterior = function(x, data) known$log_joint(matrix(x, 1)),
    data = list(), lb = bound(known$spec$lower),
    ub = bound(known$spec$upper), silent = TRUE
  )))
  error <- sqrt(bridgesampling::error_measures(peer)$re2)
  expect_lt(abs(peer$logml - as.numeric(found)), 4.5 * error)
})

# ---- hierarchical regressions ------------------------------------------------

schools <- data.frame(
  y = c(28, 8, -3, 7, -1, 1, 18, 12), g = 1:8,
  se = c(15, 10, 16, 11, 9, 11, 10, 18)
)

# log p(y), where prior(tau) is the density of the groups' standard deviation.
schools_evidence <- function(prior) {
  integral <- function(low, high) {
    integrate(function(tau) {
      prior(tau) * vapply(tau, function(tau) {
        exp(log_normal(schools$y, 8, diag(schools$se^2 + tau^2) + 100))
      }, 0)
    }, low, high, rel.tol = 1e-9)$value
  }
  log(integral(0, 20) + integral(20, Inf))
}

half_t <- hlm_prior(df = 2, scale = 10, intercept_mean = 8, intercept_sd = 10)
half_t_density <- function(tau) 2 * dt(tau / 10, 2) / 10

test_that("eight schools have the evidence of quadrature over one scale", {
  skip_long()
  cases <- list(
    list(half_t, half_t_density),
    list(
      hlm_prior("inverse-wishart", df = 3, scale = matrix(50),
                intercept_mean = 8, intercept_sd = 10),
      function(tau) dgamma(tau^-2, 1.5, 25) * 2 / tau^3
    )
  )
  for (case in cases) {
    fit <- quick(gibbs_hlm, y ~ 1 + (1 | g), schools, case[[1]],
                 se = schools$se)
    expect_evidence(
      fit, schools_evidence(case[[2]]), methods = both_proposals
    )
  }
})

# log p(y | Sigma, sigma) by the covariance matrix of all responses, with
# dense matrices. prior: of prior_summary().
dense_hlm <- function(x, z, group, y, weights, prior, sigma, covariance) {
  middle <- colSums(x * weights) / sum(weights)
  middle[1] <- 0
  about <- x - rep(middle, each = nrow(x))
  mean <- c(prior$intercept_mean, prior$slope_mean)
  sd <- c(prior$intercept_sd, prior$slope_sd)
  total <- about %*% (sd^2 * t(about)) + diag(sigma^2 / weights) +
    z %*% covariance %*% t(z) * outer(group, group, "==")
  log_normal(y, drop(about %*% mean), total)
}

test_that("fixed and random effects of a regression are integrated out", {
  skip_long()
  data <- as.data.frame(nlme::Orthodont)
  data$v <- rep(c(1, 2), length.out = nrow(data))
  data$age <- data$age - 10
  x <- model.matrix(~ age, data)
  group <- as.integer(data$Subject)
  for (bar in c("|", "||")) {
    formula <- as.formula(paste("distance ~ age + (1 + age", bar, "Subject)"))
    fit <- quick(gibbs_hlm, formula, data, weights = data$v, draws = 50)
    prior <- prior_summary(fit)
    known <- unbounded(fit)
    draws <- gibbsite:::model_matrices(fit)[[1]][c(1, 20, 50), ]
    points <- known$points(draws)
    at <- gibbsite:::hlm_at_points(
      attr(fit, "model")$data, points[, -ncol(points), drop = FALSE]
    )
    cor <- if (bar == "|") draws[, "cor[2,1]"] else c(0, 0, 0)
    slow <- vapply(1:3, function(s) {
      sd <- draws[s, c("sd[1]", "sd[2]")]
      covariance <- outer(sd, sd) * matrix(c(1, cor[s], cor[s], 1), 2)
      sigma <- draws[s, "sigma"]
      dense_hlm(x, x, group, data$distance, data$v, prior, sigma, covariance) +
        dgamma(sigma^-2, prior$nu0 / 2, prior$nu0 * prior$sigma0^2 / 2,
               log = TRUE) - 2 * log(sigma)
    }, 0)
    expect_equal(known$log_density(points) - at$log_prior, slow)
  }
})

test_that("the evidence of a logistic regression with groups is a quadrature", {
  skip_long()
  data <- data.frame(
    y = c(1, 0, 1, 1, 1, 0, 0, 0, 1), g = rep(c("a", "b", "c"), each = 3)
  )
  prior <- logistic_prior(intercept_variance = 2, group_df = 3, group_scale = 1)
  fit <- quick(gibbs_logistic, y ~ 1 + (1 | g), data, prior,
               draws = fast_or(500, 2000))
  v <- seq(-6, 6, length.out = 61)
  weight <- dnorm(v) * (v[2] - v[1])
  success <- tapply(data$y, data$g, sum)
  given <- function(b, tau) {
    p <- plogis(b + tau * v)
    sum(log(vapply(success, function(s) sum(weight * p^s * (1 - p)^(3 - s)),
                   0)))
  }
  # b = 0 in the middle, log tau
  grid <- expand.grid(b = seq(-7, 7, 0.4), u = seq(-8, 5, 0.4))
  values <- mapply(given, grid$b, exp(grid$u)) +
    dnorm(grid$b, 0, sqrt(2), log = TRUE) +
    log(2) + dt(exp(grid$u), 3, log = TRUE) + grid$u
  expect_evidence(fit, log_sum(values) + log(0.16))
})

# log p(y | b, u) p(b) p(u | Sigma) of the draw `one` with the deviations u (2 x
# groups), and the Jacobian of their standard deviates. other: effects of the
# rows beside those of b and u.
log_joint_of_slopes <- function(one, u, data, prior, other = 0) {
  covariance <- outer(one[3:4], one[3:4]) * matrix(c(1, one[5], one[5], 1), 2)
  w <- one[1:2] + u[, data$g]
  share <- plogis(0.1 + rowSums(cbind(1, data$wt) * t(w)) + other)
  sum(dbinom(data$am + 1, 3, share, log = TRUE)) +
    sum(dnorm(one[1:2], 0, sqrt(prior$slope_variance), log = TRUE)) +
    sum(apply(u, 2, log_normal, mean = 0, covariance = covariance)) +
    4 * sum(log(diag(chol(covariance))))
}

test_that("the joint density of a logistic regression with slopes by group", {
  skip_long()
  data <- transform(mtcars, g = rep(1:4, 8), wt = wt - 3)
  fit <- quick(gibbs_logistic, cbind(am + 1, 2 - am) ~ wt + (1 + wt | g), data,
               draws = 50, offset = rep(0.1, 32))
  prior <- prior_summary(fit)
  known <- unbounded(fit)
  draws <- gibbsite:::model_matrices(fit)[[1]][c(1, 20, 50), ]
  slow <- vapply(1:3, function(s) {
    one <- draws[s, ]
    u <- matrix(one[paste0("w[", 1:2, ",", rep(1:4, each = 2), "]")], 2) -
      one[1:2]
    log_joint_of_slopes(one, u, data, prior)
  }, 0)
  points <- known$points(draws)
  at <- gibbsite:::hlm_at_points(attr(fit, "model")$data, points[, 3:5])
  expect_equal(known$log_density(points) - at$log_prior, slow)
})

# ---- several bars ------------------------------------------------------------

bars_grid <- function(seed = 2) {
  d <- data.frame(a = rep(1:3, each = 4), b = rep(1:4, 3))
  d$inner <- paste(d$a, (d$b + 1) %/% 2)
  d$v <- rep(c(1, 2, 0.5), 4)
  d$y <- withr::with_seed(seed, c(0, 2, 1)[d$a] + c(-1, 0, 1, 0.5)[d$b] +
                            rnorm(12, 0, 0.7))
  d
}

# log p(y) of y ~ 1 + (1 | one) + (1 | two), by sums over the logs of the
# standard deviations. The prior is `bars_prior`.
bars_prior <- hlm_prior(
  df = 3, scale = 2, nu0 = 6, sigma0 = 1, intercept_mean = 1, intercept_sd = 2
)
bars_evidence <- function(y, one, two, v = rep(1, length(y)), known = FALSE) {
  prior <- function(u) log(2) + dt(exp(u) / 2, 3, log = TRUE) - log(2) + u
  step <- 0.4
  u <- seq(-8, 5, step)
  w <- if (known) 0 else seq(-2, 1.8, 0.2)
  noise <- if (known) 0 else {
    dgamma(exp(-2 * w), 3, 3, log = TRUE) - 2 * w + log(2 * 0.2)
  }
  groups <- list(outer(one, one, "=="), outer(two, two, "=="))
  values <- vapply(seq_along(w), function(i) {
    rest <- 4 + diag(exp(2 * w[[i]]) / v)
    log_sum(outer(u, u, Vectorize(function(a, b) {
      total <- rest + exp(2 * a) * groups[[1]] + exp(2 * b) * groups[[2]]
      log_normal(y, 1, total) + prior(a) + prior(b)
    }))) + noise[[i]]
  }, 0)
  log_sum(values) + 2 * log(step)
}

test_that("several bars have the evidence of quadrature over the variances", {
  skip_unless_extended()
  d <- bars_grid()
  cases <- list(
    crossed = list(y ~ 1 + (1 | a) + (1 | b), d$b),
    nested = list(y ~ 1 + (1 | a / b), interaction(d$a, d$b)),
    weights = list(y ~ 1 + (1 | a) + (1 | inner), d$inner, weights = d$v),
    # the same groups twice
    redundant = list(y ~ 1 + (1 | a) + (1 | factor(a)), d$a),
    known = list(y ~ 1 + (1 | a) + (1 | b), d$b, se = 1 / sqrt(d$v))
  )
  for (name in names(cases)) {
    case <- cases[[name]]
    fit <- quick(gibbs_hlm, case[[1]], d, bars_prior,
                 draws = 1500, weights = case$weights,
                 se = case$se)
    v <- if (name %in% c("weights", "known")) d$v else rep(1, 12)
    exact <- bars_evidence(d$y, d$a, case[[2]], v, name == "known")
    expect_evidence(fit, exact)
  }
})

test_that("the density of several bars is that of all responses, dense", {
  skip_long()
  d <- bars_grid()
  d$x <- d$b - 2.5
  # a zero in a bar
  d$x[[3]] <- 0
  offset <- seq_len(12) / 10
  fit <- quick(gibbs_hlm, y ~ x + (1 + x | a) + (x || b), d, draws = 20,
               weights = d$v, offset = offset)
  prior <- prior_summary(fit)
  known <- unbounded(fit)
  draws <- gibbsite:::model_matrices(fit)[[1]][c(1, 10, 20), ]
  x <- model.matrix(~ x, d)
  points <- known$points(draws)
  expect_identical(dim(points), c(3L, 6L))
  bars <- attr(fit, "model")$data$bars
  log_prior <- gibbsite:::hlm_at_points(bars[[1]], points[, 1:3])$log_prior +
    gibbsite:::hlm_at_points(bars[[2]], points[, 4:5])$log_prior
  slow <- vapply(1:3, function(s) {
    one <- draws[s, ]
    first <- outer(one[3:4], one[3:4]) * matrix(c(1, one[5], one[5], 1), 2)
    second <- diag(one[6:7]^2)
    of_b <- x %*% second %*% t(x) * outer(d$b, d$b, "==")
    middle <- c(0, weighted.mean(d$x, d$v))
    about <- x - rep(middle, each = 12)
    sd <- c(prior$intercept_sd, prior$slope_sd)
    total <- about %*% (sd^2 * t(about)) + diag(one[["sigma"]]^2 / d$v) + of_b +
      x %*% first %*% t(x) * outer(d$a, d$a, "==")
    mean <- drop(about %*% c(prior$intercept_mean, prior$slope_mean))
    log_normal(d$y, offset + mean, total) +
      dgamma(one[["sigma"]]^-2, prior$nu0 / 2,
             prior$nu0 * prior$sigma0^2 / 2, log = TRUE) -
      2 * log(one[["sigma"]])
  }, 0)
  expect_equal(known$log_density(points) - log_prior, slow)
  # far out too, where rounding leaves no factor
  far <- known$log_density(points + rep(c(rep(0, 5), 30), each = 3))
  expect_true(all(far < -1e6))
})

test_that("one bar is a case of several", {
  d <- bars_grid()
  fit <- quick(gibbs_hlm, y ~ b + (1 + b | a), d, bars_prior, draws = 20,
               weights = d$v)
  model <- attr(fit, "model")
  bars <- gibbsite:::with_bars(model$frame)
  several <- gibbsite:::hlm_crossed_model(bars, bars_prior, NULL)
  known <- unbounded(fit)
  points <- known$points(gibbsite:::model_matrices(fit)[[1]])
  other <- gibbsite:::model_unbounded(several, NULL, NULL)
  expect_equal(other$log_density(points), known$log_density(points))
})

test_that("a logistic regression with crossed groups has its evidence", {
  skip_long()
  d <- data.frame(
    y = c(1, 1, 0, 1, 0, 1, 1, 0), a = rep(1:2, each = 4), b = rep(1:2, 4)
  )
  prior <- logistic_prior(group_df = 3, group_scale = 1)
  m <- 25
  v <- seq(-5, 5, length.out = m)
  weight <- dnorm(v) * (v[2] - v[1])
  for (link in fast_or("probit", c("logit", "probit"))) {
    fit <- quick(gibbs_logistic, y ~ 0 + (1 | a) + (1 | b), d, prior,
                 draws = fast_or(500, 2000), link = link)
    share <- c(logit = plogis, probit = pnorm)[[link]]
    # given the deviations of a, those of b are independent
    given <- function(one, two) {
      cell <- function(i, j) {
        y <- d$y[d$a == i & d$b == j]
        p <- share(outer(one * v, two * v, `+`))
        p^sum(y) * (1 - p)^sum(1 - y)
      }
      each <- lapply(1:2, function(j) {
        first <- cell(1, j) * rep(weight, each = m)
        tcrossprod(first, cell(2, j))
      })
      log(sum(outer(weight, weight) * each[[1]] * each[[2]]))
    }
    u <- seq(-7, 4, 0.4)
    density <- log(2) + dt(exp(u), 3, log = TRUE) + u
    values <- outer(exp(u), exp(u), Vectorize(given)) +
      outer(density, density, `+`)
    expect_evidence(fit, log_sum(values) + 2 * log(0.4))
  }
})

test_that("the joint density of a logistic regression with several bars", {
  skip_long()
  data <- transform(mtcars, g = rep(1:4, 8), h = rep(1:2, each = 16),
                    wt = wt - 3)
  fit <- quick(gibbs_logistic, cbind(am + 1, 2 - am) ~ wt + (1 + wt | g) +
                 (1 | h), data, draws = 50, offset = rep(0.1, 32))
  prior <- prior_summary(fit)
  known <- unbounded(fit)
  draws <- gibbsite:::model_matrices(fit)[[1]][c(1, 20, 50), ]
  slow <- vapply(1:3, function(s) {
    one <- draws[s, ]
    u <- matrix(one[paste0("u[1,", 1:2, ",", rep(1:4, each = 2), "]")], 2)
    other <- one[c("u[2,1,1]", "u[2,1,2]")]
    log_joint_of_slopes(one, u, data, prior, other[data$h]) +
      sum(dnorm(other / one[["sd[2,1]"]], log = TRUE))
  }, 0)
  points <- known$points(draws)
  bars <- attr(fit, "model")$data$bars
  log_prior <- gibbsite:::hlm_at_points(bars[[1]], points[, 3:5])$log_prior +
    gibbsite:::hlm_at_points(bars[[2]], points[, 6, drop = FALSE])$log_prior
  expect_equal(known$log_density(points) - log_prior, slow)
})

# ---- mixtures ----------------------------------------------------------------

# log p(x) of a mixture by the sum over all allocations. log_of(rows): log
# marginal density of the observations `rows` as one component.
by_allocations <- function(n, alpha, log_of) {
  k <- length(alpha)
  bits <- 2^(seq_len(n) - 1)
  subsets <- vapply(0:(2^n - 1), function(s) {
    log_of(which(s %/% bits %% 2 == 1))
  }, 0)
  z <- as.matrix(expand.grid(rep(list(seq_len(k)), n)))
  log_sum(apply(z, 1, function(z) {
    size <- tabulate(z, k)
    lgamma(sum(alpha)) - lgamma(sum(alpha) + n) +
      sum(lgamma(alpha + size) - lgamma(alpha)) +
      sum(vapply(seq_len(k), function(c) subsets[sum(bits[z == c]) + 1], 0))
  }))
}

tiny <- c(-1.2, -0.8, 0.3, 1.9, 2.4)
tiny_prior <- function(alpha) {
  gmm_prior(alpha = alpha, m0 = 0.5, v0 = 2, nu0 = 4, s0 = 1.5)
}
tiny_component <- local({
  known <- list()
  log_of <- function(x) {
    log(integrate(function(u) {
      vapply(u, function(u) {
        exp(log_normal(x, 0.5, diag(exp(u), length(x)) + 2) +
              dgamma(exp(-u), 2, 0.75, log = TRUE) - u)
      }, 0)
    }, -12, 12, rel.tol = 1e-9, subdivisions = 1000)$value)
  }
  function(rows) {
    if (length(rows) == 0) {
      return(0)
    }
    set <- toString(rows)
    if (is.null(known[[set]])) known[[set]] <<- log_of(tiny[rows])
    known[[set]]
  }
})

test_that("the evidence of a mixture is the sum over all allocations", {
  skip_long()
  # with an alpha of 0.5, components are often empty
  # of an alpha of 0.01, some weights are 0 to rounding
  alphas <- c(list(c(1, 3)), if (is_extended()) {
    list(
      2, rep(0.01, 2), rep(0.01, 3), c(2, 2), c(1, 3, 2), c(2, 2, 2),
      rep(0.5, 4), rep(0.001, 3)
    )
  })
  for (alpha in alphas) {
    fit <- quick(gibbs_gmm, matrix(tiny), length(alpha), tiny_prior(alpha),
                 draws = fast_or(600, 3000), burnin = 100)
    found <- evidence_of(fit)
    expect_identical(attr(found, "method"), "conditionals")
    exact <- by_allocations(5, alpha, tiny_component)
    expect_lt(attr(found, "se"), 0.03)
    expect_lt(abs(evidence_z(found, exact)), 4.5)
  }
})

# Five components for three species: two of them are hardly more than the prior.
test_that("components that the data do not need leave the error small", {
  skip_unless_extended()
  found <- lapply(1:2, function(seed) {
    fit <- quick(gibbs_gmm, iris[, 1:4], 5, draws = 2000, burnin = 2000,
                 chains = 4, seed = seed)
    # the R-hat of some quantities is 1.1
    suppressWarnings(
      evidence_of(fit, seed = seed), classes = "gibbsite_warning_evidence"
    )
  })
  factor <- found[[1]] - found[[2]]
  expect_lt(attr(factor, "se"), 0.3)
  expect_lt(abs(evidence_z(factor, 0)), 4.5)
})

test_that("mixtures of two variables and missing entries have their evidence", {
  skip_unless_extended()
  x <- rbind(c(-1, 0), c(1.5, NA), c(0.5, 2))
  s0 <- matrix(c(2, 0.5, 0.5, 1), 2)
  prior <- gmm_prior(alpha = 2, m0 = c(0, 1), v0 = 2, nu0 = 5, s0 = s0)
  draws <- 4000
  sigma <- withr::with_seed(1, lapply(seq_len(draws), function(s) {
    solve(rWishart(1, 5, solve(s0))[, , 1])
  }))
  diagonal <- withr::with_seed(2, lapply(seq_len(draws), function(s) {
    diag(1 / rgamma(2, 2.5, diag(s0) / 2))
  }))
  # likelihoods of all subsets given each matrix, the mean integrated out
  subset_values <- function(sigma) {
    vapply(sigma, function(s) {
      vapply(0:7, function(set) {
        rows <- which(set %/% c(1, 2, 4) %% 2 == 1)
        if (length(rows) == 0) {
          return(1)
        }
        n <- length(rows)
        values <- as.vector(t(x[rows, ]))
        total <- kronecker(diag(n), s) + kronecker(matrix(1, n, n), diag(2, 2))
        seen <- !is.na(values)
        exp(log_normal(values[seen], rep(0:1, n)[seen],
                       total[seen, seen, drop = FALSE]))
      }, 0)
    }, numeric(8))
  }
  z <- as.matrix(expand.grid(1:2, 1:2, 1:2))
  share <- apply(z, 1, function(z) {
    size <- tabulate(z, 2)
    exp(lgamma(4) - lgamma(7) + sum(lgamma(2 + size) - lgamma(2)))
  })
  sets <- apply(z, 1, function(z) sum(c(1, 2, 4)[z == 1])) + 1
  exact <- function(covariance) {
    values <- subset_values(if (covariance == "diagonal") diagonal else sigma)
    if (covariance == "shared") {
      of_draws <- colSums(share * values[sets, ] * values[9 - sets, ])
    } else {
      # the second component has other draws of the prior
      of_draws <- colSums(
        share * values[sets, ] * values[9 - sets, c(draws, seq_len(draws - 1))]
      )
    }
    list(
      value = log(mean(of_draws)),
      # neighbours share a draw
      se = sd(of_draws) / mean(of_draws) * sqrt(3 / draws)
    )
  }
  for (covariance in c("full", "shared", "diagonal")) {
    own <- prior
    if (covariance == "diagonal") {
      own <- gmm_prior(alpha = 2, m0 = c(0, 1), v0 = 2, nu0 = 5, s0 = diag(s0))
    }
    fit <- quick(gibbs_gmm, x, 2, own, covariance = covariance,
                 na_action = "impute", draws = 2000)
    known <- exact(covariance)
    found <- evidence_of(fit)
    error <- sqrt(attr(found, "se")^2 + known$se^2)
    expect_lt(error, 0.1)
    expect_lt(abs(as.numeric(found) - known$value), 4.5 * error)
  }
})

test_that("weights' priors are summed over all numberings", {
  log_pi <- log(rbind(c(0.2, 0.3, 0.5), c(0.6, 0.1, 0.3)))
  alpha <- c(1.5, 4, 2)
  orders <- rbind(1:3, c(1, 3, 2), c(2, 1, 3), c(2, 3, 1), c(3, 1, 2), 3:1)
  slow <- apply(log_pi, 1, function(row) {
    log_sum(apply(orders, 1, function(order) {
      lgamma(sum(alpha)) - sum(lgamma(alpha)) + sum((alpha[order] - 1) * row)
    }))
  })
  expect_equal(gibbsite:::log_weights_prior(log_pi, alpha), slow)
})

# ---- one's own density -------------------------------------------------------

test_that("mh_sample() gives the integral of its density within its bounds", {
  skip_long()
  y <- c(0.3, -1, 2.2, 0.8)
  fit <- quick(mh_sample, function(x) {
    sum(dnorm(y, x, 1, log = TRUE)) + dnorm(x, 0, 2, log = TRUE)
  }, 0, draws = fast_or(300, 2000), burnin = 100)
  expect_evidence(fit, log_normal(y, 0, diag(4) + 4))
  density <- function(x, scale) {
    dgamma(x[1], 3, scale, log = TRUE) + dbeta(x[2], 2, 3, log = TRUE) +
      dgamma(-x[3], 3, log = TRUE) + 5
  }
  for (transform in fast_or(TRUE, c(FALSE, TRUE))) {
    fit <- quick(
      mh_sample, density, c(a = 1, b = 0.5, c = -1), scale = 2,
      lower = c(0, 0, -Inf), upper = c(Inf, 1, 0), transform = transform,
      draws = fast_or(500, 2000)
    )
    expect_evidence(fit, 5)
  }
})

# Two modes, 8 apart in each coordinate, with standard deviations 1 and 0.5.
two_modes <- function(x) {
  of <- c(
    log(0.3) + sum(dnorm(x, -4, 1, log = TRUE)),
    log(0.7) + sum(dnorm(x, 4, 0.5, log = TRUE))
  )
  log_sum(of) + 3
}

test_that("temperatures lead to the integral of a density with two modes", {
  skip_unless_extended()
  draws <- 2000
  fit <- quick(mh_sample, two_modes, c(a = 0, b = 0, c = 0), tempered(),
               draws = draws, burnin = draws, chains = 4)
  before <- unserialize(serialize(fit, NULL))
  found <- evidence_of(fit, method = "tempered")
  expect_lt(attr(found, "se"), 0.1)
  expect_lt(abs(evidence_z(found, 3)), 4.5)
  expect_identical(attr(found, "draws"), 4 * draws)
  expect_output(print(found), "between neighbouring temperatures")
  # the fit is as it was, and the seed alone determines the number
  expect_true(identical_fit(fit, before))
  few <- quick(mh_sample, function(x) -sum(x^2) / 2, c(0, 0),
               tempered(c(1, 3)), draws = 300)
  of <- function(state, seed) {
    withr::with_seed(state, list(
      log_evidence(few, method = "tempered", seed = seed), runif(1)
    ))
  }
  short <- of(1, 7)
  expect_identical(of(2, 7)[[1L]], short[[1L]])
  expect_identical(short[[2L]], withr::with_seed(1, runif(1)))
  expect_false(identical(short[[1L]], of(1, 8)[[1L]]))
})

test_that("temperatures lead to integrals within bounds", {
  skip_long()
  density <- function(x) {
    dgamma(x[1], 3, 2, log = TRUE) + dbeta(x[2], 2, 3, log = TRUE) + 5
  }
  for (transform in fast_or(TRUE, c(FALSE, TRUE))) {
    fit <- quick(
      mh_sample, density, c(a = 1, b = 0.5), tempered(c(1, 3, 9)),
      lower = c(0, 0), upper = c(Inf, 1), transform = transform,
      draws = fast_or(900, 2000), thin = 2
    )
    found <- evidence_of(fit, method = "tempered")
    expect_lt(attr(found, "se"), 0.1)
    expect_lt(abs(evidence_z(found, 5)), 4.5)
  }
})

normal_fit <- function(d, ladder, ..., draws = 300) {
  quick(mh_sample, function(x) -sum(x^2) / 2, numeric(d), tempered(ladder),
        draws = draws, ...)
}

test_that("replicas go on with random numbers of their own", {
  skip_long()
  fit <- normal_fit(2, c(1, 3), chains = 1, thin = 1)
  state <- attr(fit, "chains")[[1L]]$state
  model <- attr(fit, "model")
  # variates that the fit drew ahead are left
  expect_gt(state$sweep %% model$spec$rows, 0)
  of <- function(seed) {
    withr::with_seed(seed, gibbsite:::continued_replicas(
      model, state, attr(fit, "running"), function() NULL, NULL
    ))
  }
  one <- of(1)
  expect_identical(of(1), one)
  # most of the first sweeps propose and accept: 20 draws differ
  expect_lt(mean(of(2)$log_p[1:20, 1] == one$log_p[1:20, 1]), 0.5)
  extended <- as.matrix(longer(fit, 20))[301:320, "log_density"]
  expect_lt(mean(extended == one$log_p[1:20, 1]), 0.5)
})

test_that("windows, kept columns, thinning and traces give the evidence", {
  skip_long()
  exact <- log(2 * pi)
  of <- function(fit) {
    found <- evidence_of(fit, method = "tempered")
    expect_lt(attr(found, "se"), 0.2)
    expect_lt(abs(evidence_z(found, exact)), 4.5)
    found
  }
  fit <- normal_fit(2, c(1, 2, 4), draws = 600, chains = 1)
  whole <- of(fit)
  expect_identical(attr(of(window(fit, start = 1001)), "draws"), 350)
  of(quick(mh_sample, function(x) -sum(x^2) / 2, c(a = 0, b = 0),
           tempered(c(1, 2, 4)), keep = "b", draws = 600, chains = 1))
  traced <- normal_fit(2, c(1, 2, 4), draws = 600, chains = 1, debug = TRUE)
  expect_identical(of(traced), whole)
})

test_that("errors of a few temperatures are as large as the standard error", {
  skip_unless_extended()
  z <- vapply(1:60, function(seed) {
    fit <- quick(mh_sample, two_modes, c(a = 0, b = 0), tempered(c(1, 3, 10)),
                 draws = 4000, burnin = 1000, seed = seed)
    evidence_z(evidence_of(fit, method = "tempered", seed = seed), 3)
  }, 0)
  expect_lt(abs(mean(z)) * sqrt(60), 4.5)
  expect_lt(sum(z^2), qchisq(1e-5, 60, lower.tail = FALSE))
  expect_gt(sum(z^2), qchisq(1e-5, 60))
})

test_that("temperatures that do not help are told of", {
  skip_long()
  # each chain stays in its mode, also at the higher temperature
  stays <- quick(mh_sample, function(x) {
    log(0.2 * dnorm(x, -30) + 0.8 * dnorm(x, 30))
  }, 0, tempered(c(1, 1.2)), inits = list(-30, 30), draws = 500)
  expect_gibbsite_condition(
    evidence_of(stays, method = "tempered"), "gibbsite_warning_evidence"
  )
  heavy <- quick(mh_sample, function(x) dt(x, 3, log = TRUE), 0,
                 tempered(c(1, 5, 25)), draws = 500, seed = 3)
  far <- normal_fit(20, c(1, 1e6))
  withr::local_seed(1)
  expect_gibbsite_error(class = "gibbsite_error_evidence", {
    log_evidence(heavy, method = "tempered")
    log_evidence(far, method = "tempered")
  })
  few <- normal_fit(2, c(1, 3), draws = 10, chains = 4)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    log_evidence(few, method = "tempered")
  })
  bare <- drop_data(normal_fit(1, c(1, 3)))
  expect_gibbsite_error(class = "gibbsite_error_no_data", {
    log_evidence(bare, method = "tempered")
  })
  calls <- 0
  breaks <- quick(mh_sample, function(x) {
    calls <<- calls + 1
    if (calls > 1e5) NaN else -x^2 / 2
  }, 0, tempered(c(1, 3)), draws = 50)
  calls <- 1e5
  expect_gibbsite_error(class = "gibbsite_error_user_function", {
    log_evidence(breaks, method = "tempered")
  })
})

test_that("a bridge of neighbours is the difference of their integrals", {
  # exact draws of N(0, 1 / power); log p(x) = -x^2 / 2
  power <- c(1, 0.4)
  draws <- withr::with_seed(1, vapply(power, function(b) {
    rnorm(4000, 0, 1 / sqrt(b))
  }, numeric(4000)))
  ratio <- -0.6 * draws^2 / 2
  found <- gibbsite:::neighbour_bridge(ratio[, 1], ratio[, 2], NULL)
  se <- sd(found$series) / sqrt(4000)
  expect_lt(se, 0.02)
  expect_lt(abs(found$value - log(0.4) / 2), 4.5 * se)
  swapped <- gibbsite:::neighbour_bridge(-ratio[, 2], -ratio[, 1], NULL)
  expect_equal(swapped$value, -found$value, tolerance = 1e-8)
})

test_that("gibbs_sample() takes a log density of the state", {
  skip_long()
  # y ~ N(mu, 1 / tau), both proper
  y <- c(1, 2.5, 0.2, 1.7)
  conditionals <- list(
    mu = function(state, y) {
      precision <- length(y) * state$tau + 1
      rnorm(1, sum(y) * state$tau / precision, 1 / sqrt(precision))
    },
    tau = function(state, y) {
      rgamma(1, 3 + length(y) / 2, 2 + sum((y - state$mu)^2) / 2)
    }
  )
  fit <- quick(gibbs_sample, conditionals, list(mu = 0, tau = 1), y = y,
               draws = fast_or(500, 2000))
  joint <- function(state, y) {
    sum(dnorm(y, state$mu, state$tau^-0.5, log = TRUE)) +
      dnorm(state$mu, 0, 1, log = TRUE) + dgamma(state$tau, 3, 2, log = TRUE)
  }
  exact <- log(integrate(function(u) {
    vapply(u, function(u) {
      exp(log_normal(y, 0, diag(exp(-u), 4) + 1) +
            dgamma(exp(u), 3, 2, log = TRUE) + u)
    }, 0)
  }, -10, 6, rel.tol = 1e-9)$value)
  expect_evidence(fit, exact, log_density = joint, lower = c(-Inf, 0))
  of <- function(...) {
    evidence_of(fit, method = "normal", log_density = joint, ...)
  }
  expect_identical(of(lower = c(tau = 0, mu = -Inf)), of(lower = c(-Inf, 0)))
})

# ---- wrong densities ---------------------------------------------------------

test_that("a density without Jacobian or constant is told from the right", {
  skip_long()
  fit <- quick(gibbs_lm, mpg ~ wt + qsec, mtcars,
               lm_prior("nig", noise_shape = 2, noise_rate = 20, lambda = 0.5))
  exact <- as.numeric(log_evidence(fit))
  # the last coordinate is log sigma
  without <- bridge_of(fit, function(value, x) value - x[, ncol(x)])
  expect_gt(abs(evidence_z(without, exact)), 10)
  without <- bridge_of(fit, function(value, x) value - 2 * log(20) + lgamma(2))
  expect_gt(abs(evidence_z(without, exact)), 10)
  fit <- quick(gibbs_hlm, y ~ 1 + (1 | g), schools, half_t, se = schools$se)
  exact <- schools_evidence(half_t_density)
  without <- bridge_of(fit, function(value, x) {
    value - gibbsite:::log_factor_jacobian(x, 1, FALSE)
  })
  expect_gt(abs(evidence_z(without, exact)), 10)
})

test_that("errors are as large as the standard error says", {
  skip_unless_extended()
  of_schools <- schools_evidence(half_t_density)
  of_mixture <- by_allocations(5, c(2, 2), tiny_component)
  z <- vapply(1:60, function(seed) {
    school <- quick(
      gibbs_hlm, y ~ 1 + (1 | g), schools, half_t, se = schools$se, seed = seed
    )
    line <- quick(gibbs_lm, mpg ~ wt + qsec, mtcars,
                  lm_prior("nig", noise_shape = 2, noise_rate = 20,
                           lambda = 0.5), seed = seed)
    mixture <- quick(gibbs_gmm, matrix(tiny), 2, tiny_prior(2), seed = seed)
    exact <- as.numeric(log_evidence(line))
    bridge <- function(method) {
      withr::with_seed(seed, gibbsite:::bridge_evidence(
        line, method, NULL, NULL
      ))
    }
    both <- function(fit, exact) {
      vapply(c("normal", "warp3"), function(method) {
        evidence_z(evidence_of(fit, method = method, seed = seed), exact)
      }, 0)
    }
    modes <- quick(mh_sample, two_modes, c(a = 0, b = 0), tempered(),
                   burnin = 1000, seed = seed)
    c(
      both(school, of_schools),
      evidence_z(evidence_of(mixture, seed = seed), of_mixture),
      evidence_z(bridge("normal"), exact), evidence_z(bridge("warp3"), exact),
      # short chains, which may be said not to have converged
      quietly(evidence_z(
        evidence_of(modes, method = "tempered", seed = seed), 3
      ))
    )
  }, numeric(6))
  for (row in seq_len(nrow(z))) {
    expect_lt(abs(mean(z[row, ])) * sqrt(60), 4.5)
    # sum of squares: chi squared with 60 degrees of freedom
    expect_lt(sum(z[row, ]^2), qchisq(1e-5, 60, lower.tail = FALSE))
    expect_gt(sum(z[row, ]^2), qchisq(1e-5, 60))
  }
})

# ---- the number --------------------------------------------------------------

test_that("the number prints with its error, and differences have one", {
  skip_long()
  fit <- quick(gibbs_lm, mpg ~ wt, mtcars, lm_prior("nig"), draws = 50)
  exact <- log_evidence(fit)
  made <- function(value, se) {
    gibbsite:::new_evidence(value, se, "warp3", draws = 1000, ess = 912.4)
  }
  a <- made(-84.901234, 0.00471)
  b <- made(-90, 0.3)
  expect_snapshot({
    a
    b
    a - b
    gibbsite:::new_evidence(NA, NA, "laplace")
  })
  expect_identical(attr(a - b, "se"), sqrt(0.00471^2 + 0.3^2))
  expect_identical(as.numeric(a - b), -84.901234 + 90)
  expect_identical(a + 1, -83.901234)
  expect_identical(-a, 84.901234)
  expect_identical(exp(b), exp(-90))
  expect_identical(a > b, TRUE)
  expect_identical(c(a, b), c(-84.901234, -90))
  expect_identical(format(exact), formatC(as.numeric(exact), 2, format = "f"))
  expect_output(print(exact), "In closed form")
  expect_output(print(structure(1, class = "gibbsite_evidence")), "1")
  # a factor is no evidence, and its differences have no error
  expect_identical((a - b) - b, as.numeric(a - b) + 90)
})

test_that("bridge sampling draws on a stream that the seed determines", {
  skip_long()
  fit <- quick(gibbs_lm, mpg ~ wt, mtcars, draws = 100)
  expect_identical(evidence_of(fit), evidence_of(fit))
  expect_false(identical(evidence_of(fit), evidence_of(fit, seed = 2)))
  # the seed alone, which leaves the user's generator as it is
  of <- function(state, seed) {
    withr::with_seed(state, list(log_evidence(fit, seed = seed), runif(1)))
  }
  expect_identical(of(1, 7)[[1L]], of(2, 7)[[1L]])
  expect_identical(of(1, 7)[[2L]], withr::with_seed(1, runif(1)))
  expect_false(identical(of(1, NULL)[[1L]], of(2, NULL)[[1L]]))
})

test_that("an evidence of chains that have not converged says so in print", {
  bad <- gibbsite:::new_evidence(-90, 0.3, "normal", rhat = 1.8412)
  good <- gibbsite:::new_evidence(-91, 0.4, "normal", rhat = NULL)
  expect_output(print(bad), "not converged (R-hat 1.84)", fixed = TRUE)
  expect_output(print(bad - good), "not converged (R-hat 1.84)", fixed = TRUE)
  expect_no_match(capture.output(print(good - good)), "converged")
})

test_that("an evidence is a row of a data frame", {
  bridge <- gibbsite:::new_evidence(
    -90, 0.3, "normal", draws = 500, ess = 400
  )
  exact <- gibbsite:::new_evidence(-91, 0, "exact")
  both <- rbind(as.data.frame(bridge), as.data.frame(exact))
  expect_identical(both, data.frame(
    log_evidence = c(-90, -91), se = c(0.3, 0), method = c("normal", "exact"),
    draws = c(500, NA), ess = c(400, NA), rhat = NA_real_
  ))
  expect_identical(names(data.frame(fit = "a", e = bridge))[1:3],
                   c("fit", "e.log_evidence", "e.se"))
  expect_identical(as.data.frame(bridge - exact)[1:2],
                   data.frame(log_bayes_factor = 1, se = 0.3))
  changed <- structure(1, class = "gibbsite_evidence")
  expect_identical(dim(as.data.frame(changed)), c(1L, 1L))
})

test_that("an improper prior has no evidence", {
  fit <- quick(gibbs_lm, mpg ~ wt, mtcars, lm_prior(intercept_sd = Inf),
               draws = 50)
  expect_identical(as.numeric(log_evidence(fit)), NA_real_)
  fit <- quick(gibbs_logistic, am ~ wt, mtcars,
               logistic_prior(slope_variance = Inf),
               draws = 50)
  expect_identical(as.numeric(log_evidence(fit)), NA_real_)
})

test_that("a large error gives a warning", {
  skip_long()
  fit <- quick(mh_sample, function(x) {
    log(dnorm(x, -30) + dnorm(x, 30))
  }, 0, inits = list(-30, 30), draws = 20)
  for (method in c("normal", "warp3")) {
    expect_gibbsite_condition(
      evidence_of(fit, method = method), "gibbsite_warning_evidence"
    )
  }
})

test_that("fits without evidence are errors that say what to use", {
  skip_long()
  any_fit <- function(..., draws = 10) quick(..., draws = draws, burnin = 0)
  horseshoe <- any_fit(gibbs_lm, mpg ~ wt, mtcars, lm_prior("horseshoe"))
  corpus <- withr::with_seed(1, sim_lda(10, k = 2, terms = 10, tokens = 20))
  topics <- any_fit(gibbs_lda, corpus$x, 2)
  ratings <- withr::with_seed(1, sim_bmf(8, 6, rank = 1))
  factors <- any_fit(gibbs_bmf, ratings, 1)
  blocks <- quick(gibbs_sample, list(a = function(state) rnorm(1)), list(a = 0),
                  draws = 10, burnin = 0)
  counted <- any_fit(gibbs_count, carb ~ 1 + (1 | cyl), mtcars)
  ordered <- any_fit(gibbs_ordinal,
                     factor(gear, ordered = TRUE) ~ 1 + (1 | cyl), mtcars)
  classes <- any_fit(gibbs_categorical,
                     factor(gear) ~ 1 + (1 | cyl) + (1 | am), mtcars)
  expect_gibbsite_error(class = "gibbsite_error_no_evidence", {
    log_evidence(horseshoe)
    log_evidence(topics)
    log_evidence(factors)
    log_evidence(blocks)
    log_evidence(counted)
    log_evidence(ordered)
    log_evidence(classes)
  })
  # a density that rounding makes 0 at most of the draws
  points <- list(withr::with_seed(1, matrix(rnorm(100))))
  expect_error(
    normal_bridge(points, function(x) ifelse(x[, 1] > 1, 0, -Inf)),
    class = "gibbsite_error_evidence"
  )
  fit <- any_fit(gibbs_lm, mpg ~ wt, mtcars)
  few <- any_fit(gibbs_lm, mpg ~ wt + qsec + hp, mtcars, draws = 4)
  density <- function(x) sum(dnorm(x, log = TRUE))
  kept <- any_fit(mh_sample, density, c(a = 0, b = 0), keep = "a")
  normal <- function(state) dnorm(state$a, log = TRUE)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    log_evidence(mtcars)
    log_evidence(fit, method = "warp2")
    log_evidence(fit, method = "tempered")
    log_evidence(fit, correct = "importance")
    log_evidence(fit, log_density = normal)
    log_evidence(fit, lower = 0)
    log_evidence(few)
    log_evidence(kept)
    log_evidence(blocks, log_density = 1)
    log_evidence(blocks, log_density = normal, lower = c(0, 1))
    log_evidence(blocks, log_density = normal, lower = c(b = 1))
    log_evidence(blocks, log_density = normal, lower = 1, upper = 0)
    log_evidence(blocks, log_density = normal, lower = 0)
  })
  expect_gibbsite_error(class = "gibbsite_error_numeric", {
    log_evidence(blocks, log_density = function(state) "a")
    log_evidence(blocks, log_density = function(state) stop("no"))
    log_evidence(blocks, log_density = function(state) -Inf)
  })
  constant <- any_fit(gibbs_sample, list(a = function(state) 1), list(a = 0))
  bare <- drop_data(fit)
  mixture <- drop_data(any_fit(gibbs_gmm, faithful, 2))
  own <- drop_data(any_fit(mh_sample, density, c(a = 0, b = 0)))
  expect_gibbsite_error(class = "gibbsite_error", {
    log_evidence(constant, log_density = normal)
    log_evidence(bare)
    log_evidence(mixture)
    log_evidence(own)
  })
})

test_that("evidence at many points says how many are done", {
  skip_long()
  made <- NULL
  local_object("part_counter", function(what, total, progress, ...) {
    made <<- c(of = total, done = 0)
    function() made[["done"]] <<- made[["done"]] + 1
  })
  d <- withr::with_seed(1, data.frame(
    a = gl(4, 6), b = gl(3, 1, 24), y = stats::rnorm(24)
  ))
  crossed <- quick(
    gibbs_hlm, y ~ 1 + (1 | a) + (1 | b), d, draws = 50, chains = 2
  )
  own <- normal_fit(2, c(1, 3), draws = 60, chains = 2)
  suppressWarnings(log_evidence(crossed, seed = 1))
  expect_identical(made, c(of = 200, done = 200))
  suppressWarnings(log_evidence(own, method = "warp3", seed = 1))
  expect_identical(made, c(of = 480, done = 480))
  suppressWarnings(log_evidence(own, method = "tempered", seed = 1))
  expect_identical(made, c(of = 120, done = 120))
})

test_that("densities of means are those of each point, and of one alone", {
  roots <- list(matrix(c(1, 0, 0.5, 2), 2), diag(c(0.3, 4)))
  kernels <- list(means = list(list(
    list(mean = c(1, 2), root = roots[[1]]),
    list(mean = c(-1, 0.5), root = roots[[2]])
  )))
  mu <- matrix(c(0, 1, -2, 0.5, 3, 1), 3)
  all <- gibbsite:::means_log_density(list(mu = list(mu)), kernels)
  for (s in 1:3) {
    one <- gibbsite:::means_log_density(
      list(mu = list(mu[s, , drop = FALSE])), kernels
    )
    expect_equal(drop(one), all[s, ])
    known <- vapply(1:2, function(k) {
      away <- roots[[k]] %*% (mu[s, ] - kernels$means[[1]][[k]]$mean)
      sum(log(diag(roots[[k]]))) + sum(dnorm(away, log = TRUE))
    }, 0)
    expect_equal(all[s, ], known)
  }
})
