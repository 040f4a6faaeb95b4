# kfold() and loo_moment_match(): against exact leave-one-out, by closed forms
# and by fits without an observation.

few <- datasets::mtcars[c(1:8, 15:18), ]
fixed <- list(
  nig = lm_prior("nig", noise_shape = 2, noise_rate = 8, lambda = 0.5,
                 scale = 1),
  hierarchical = lm_prior(slope_shape = 3, slope_rate = 6, noise_shape = 2,
                          noise_rate = 8, scale = 1)
)

fit_line <- function(data, prior = "nig", draws = 1000, ...) {
  quietly(gibbs_lm(
    mpg ~ wt + qsec - 1, data, fixed[[prior]], draws = draws, burnin = 100,
    chains = 2, progress = FALSE, ...
  ))
}

fit_clubs <- function(data, draws = 1000, ...) {
  quietly(gibbs_logistic(
    am ~ wt, data, logistic_prior(slope_variance = 1, intercept_variance = 4),
    draws = draws,
    chains = 2, progress = FALSE, ...
  ))
}

# The standard error of the log of a mean of exp(log_lik), by column.
log_mean_error <- function(log_lik, chains = 2) {
  apply(log_lik, 2, function(x) {
    p <- exp(x - max(x))
    posterior::mcse_mean(matrix(p, ncol = chains)) / mean(p)
  })
}

# list(elpd, error): each observation's log density given the others, by a fit
# without it.
left_out <- function(data, fit_to) {
  found <- lapply(seq_len(nrow(data)), function(i) {
    fit <- fit_to(data[-i, ], seed = 100 + i)
    log_lik(fit, data[i, ])
  })
  list(
    elpd = vapply(found, function(x) log(mean(exp(x))), 0),
    error = vapply(found, log_mean_error, 0)
  )
}

# ---- exact leave-one-out -----------------------------------------------------

test_that("kfold() and moment matching give the ratio of evidences", {
  skip_unless_extended()
  fit <- fit_line(few, draws = 4000, seed = 1)
  exact <- vapply(seq_len(nrow(few)), function(i) {
    as.numeric(log_evidence(fit)) -
      as.numeric(log_evidence(fit_line(few[-i, ], draws = 10, seed = 1)))
  }, 0)
  by_fold <- loo::kfold(fit, K = nrow(few), seed = 1)
  # a fold's draws, to know the error
  error <- vapply(seq_len(nrow(few)), function(i) {
    one <- gibbsite:::fit_fold(fit, i, "observation", i, 1, "i", NULL)
    log_mean_error(log_lik(one$fit))
  }, 0)
  expect_lt(max(abs(by_fold$pointwise[, "elpd_kfold"] - exact) / error), 4.5)
  first <- suppressWarnings(loo::loo(fit))
  matched <- suppressWarnings(
    loo::loo_moment_match(fit, first, k_threshold = -1)
  )
  away <- abs(matched$pointwise[, "elpd_loo"] - exact)
  expect_lt(max(away / matched$pointwise[, "mcse_elpd_loo"]), 4.5)
})

test_that("both agree with a fit without each observation", {
  skip_unless_extended()
  fits <- list(
    line = function(...) fit_line(..., prior = "hierarchical"),
    clubs = fit_clubs
  )
  for (fit_to in fits) {
    fit <- fit_to(few, seed = 1)
    exact <- left_out(few, fit_to)
    by_fold <- quietly(loo::kfold(fit, K = nrow(few), seed = 1))
    away <- abs(by_fold$pointwise[, "elpd_kfold"] - exact$elpd)
    # two runs of the same length
    expect_lt(max(away / (sqrt(2) * exact$error)), 4.5)
    matched <- suppressWarnings(loo::loo_moment_match(
      fit, loo::loo(fit), k_threshold = -1
    ))
    away <- abs(matched$pointwise[, "elpd_loo"] - exact$elpd)
    error <- sqrt(
      matched$pointwise[, "mcse_elpd_loo"]^2 + exact$error^2
    )
    expect_lt(max(away / error), 4.5)
  }
})

test_that("moment matching mends an observation that loo() cannot weigh", {
  skip_long()
  odd <- rbind(few, transform(few[1, ], mpg = 45))
  fit <- fit_line(odd, draws = fast_or(1500, 4000), seed = 1)
  exact <- as.numeric(log_evidence(fit)) -
    as.numeric(log_evidence(fit_line(few, draws = 10, seed = 1)))
  first <- suppressWarnings(loo::loo(fit))
  expect_gt(loo::pareto_k_values(first)[[13]], 0.7)
  matched <- suppressWarnings(loo::loo_moment_match(fit, first))
  expect_lt(loo::pareto_k_values(matched)[[13]], 0.7)
  expect_lt(
    abs(matched$pointwise[[13, "elpd_loo"]] - exact),
    4.5 * matched$pointwise[[13, "mcse_elpd_loo"]]
  )
})

test_that("the densities are those that the sampler stores", {
  skip_long()
  for (prior in names(fixed)) {
    fit <- fit_line(few, prior, draws = 20, seed = 1)
    known <- gibbsite:::model_density(attr(fit, "model"))
    rows <- as.matrix(fit)[, known$columns]
    each <- vapply(seq_len(nrow(few)), function(i) {
      known$log_lik(rows, i)
    }, numeric(40))
    expect_equal(each, log_lik(fit), ignore_attr = TRUE)
    # up to the prior, which is the same for the same parameters
    more <- fit_line(rbind(few, few), prior, draws = 20, seed = 1)
    twice <- gibbsite:::model_density(attr(more, "model"))
    expect_equal(twice$log_joint(rows) - known$log_joint(rows), rowSums(each))
    expect_equal(as.matrix(fit)[, "log_lik"], rowSums(each),
                 ignore_attr = TRUE)
  }
})

# ---- a fold's fit ------------------------------------------------------------

# The fit without the elements `held`, by the seed 7.
without <- function(fit, held, by = "observation") {
  quietly(gibbsite:::fit_fold(fit, held, by, 7, 1, "a", NULL))$fit
}

test_that("a fold's fit is the fit to the other observations", {
  skip_long()
  out <- c(2, 5, 6)
  fit <- fit_line(few, "hierarchical", draws = 20, seed = 1)
  one <- without(fit, out)
  other <- fit_line(few[-out, ], "hierarchical", draws = 20, seed = 7)
  expect_equal(as.matrix(one), as.matrix(other))
  expect_equal(log_lik(one), log_lik(other, few[out, ]))

  fit <- fit_clubs(few, draws = 20, seed = 1)
  one <- without(fit, out)
  other <- quietly(gibbs_logistic(
    am ~ wt, few[-out, ], prior_summary(fit), draws = 20, chains = 2, seed = 7,
    progress = FALSE
  ))
  expect_identical(as.matrix(one), as.matrix(other))
  expect_equal(log_lik(one), log_lik(other, few[out, ]))

  for (correct in fast_or("importance", c("none", "importance"))) {
    fit <- quietly(laplace_logistic(
      cbind(carb, gear) ~ wt, few, correct = correct, draws = 20, chains = 2,
      seed = 1, progress = FALSE
    ))
    one <- without(fit, out)
    other <- quietly(laplace_logistic(
      cbind(carb, gear) ~ wt, few[-out, ], prior_summary(fit), draws = 20,
      correct = correct, chains = 2, seed = 7, progress = FALSE
    ))
    expect_identical(as.matrix(one), as.matrix(other))
    expect_equal(log_lik(one), log_lik(other, few[out, ]))
  }

  x <- as.matrix(datasets::faithful)[1:60, ]
  x[3, 1] <- NA
  mixture <- function(x, prior, seed) {
    quietly(gibbs_gmm(
      x, 2, prior, na_action = "impute", draws = 20, burnin = 20, chains = 2,
      seed = seed, progress = FALSE, keep = c("z", "x")
    ))
  }
  fit <- mixture(x, gmm_prior(), 1)
  one <- without(fit, 1:5)
  other <- mixture(x[-(1:5), ], prior_summary(fit), 7)
  expect_equal(one[, "log_lik"], other[, "log_lik"])
  expect_equal(log_lik(one), log_lik(other, x[1:5, ]))
})

chicks <- as.data.frame(datasets::ChickWeight)[1:120, ]

test_that("a group left out is predicted with its deviations integrated out", {
  skip_long()
  fit <- quietly(gibbs_hlm(
    weight ~ 1 + (1 | Chick), chicks, draws = 50, burnin = 50, chains = 2,
    seed = 1, progress = FALSE
  ))
  levels <- attr(fit, "model")$levels
  prior <- unclass(prior_summary(fit))
  prior <- prior[names(prior) %in% names(formals(hlm_prior))]
  prior <- do.call(hlm_prior, prior[lengths(prior) > 0])
  held <- c(2, 4)
  one <- without(fit, held, "group")
  kept <- as.numeric(!chicks$Chick %in% levels[held])
  other <- quietly(gibbs_hlm(
    weight ~ 1 + (1 | Chick), chicks, prior, weights = kept, draws = 50,
    burnin = 50, chains = 2, seed = 7, progress = FALSE
  ))
  expect_equal(as.matrix(one), as.matrix(other))
  y <- chicks$weight[chicks$Chick == levels[2]]
  by_hand <- apply(as.matrix(other), 1, function(draw) {
    n <- length(y)
    covariance <- draw[["sigma"]]^2 * diag(n) + draw[["sd[1]"]]^2
    away <- y - draw[["(Intercept)"]]
    -(n * log(2 * pi) + as.numeric(determinant(covariance)$modulus) +
        sum(away * solve(covariance, away))) / 2
  })
  expect_equal(
    log_lik(one, by = "group")[, levels[2]], by_hand, ignore_attr = TRUE
  )

  # an observation: its group's deviation given the others of the group
  one <- without(fit, 1)
  mine <- which(chicks$Chick == chicks$Chick[1])[-1]
  draws <- as.matrix(one)
  precision <- draws[, "sd[1]"]^-2 + length(mine) * draws[, "sigma"]^-2
  centre <- draws[, "(Intercept)"] + draws[, "sigma"]^-2 / precision *
    (sum(chicks$weight[mine]) - length(mine) * draws[, "(Intercept)"])
  spread <- sqrt(1 / precision + draws[, "sigma"]^2)
  exact <- dnorm(chicks$weight[1], centre, spread)
  # given the parameters, a draw of the deviation
  away <- exp(log_lik(one)) - exact
  expect_lt(abs(mean(away)), 4.5 * sd(away) / sqrt(length(away)))
})

test_that("observations and groups of outcomes are left out", {
  skip_long()
  chicks <- transform(chicks, heavy = weight > 90)
  fit <- quietly(gibbs_logistic(
    heavy ~ Time + (1 | Chick), chicks, draws = 20, burnin = 20, chains = 2,
    seed = 1, progress = FALSE
  ))
  out <- which(chicks$Chick %in% c("1", "2"))[-1]
  one <- without(fit, out)
  # the deviations of a group without observations have their prior
  w <- as.matrix(one)
  eta <- w[, "Time"] * chicks$Time[out[1]]
  at <- match(as.character(chicks$Chick[out[1]]), attr(fit, "model")$levels)
  eta <- eta + w[, paste0("w[1,", at, "]")]
  expect_equal(
    log_lik(one)[, 1],
    plogis(if (chicks$heavy[out[1]]) eta else -eta, log.p = TRUE),
    ignore_attr = TRUE
  )
  found <- quietly(loo::kfold(fit, folds = chicks$Chick, seed = 1))
  expect_identical(attr(found, "K"), nlevels(factor(chicks$Chick)))
  expect_true(all(found$pointwise[, "elpd_kfold"] < 0))
})

# ---- folds that shift the predictors -----------------------------------------

# Every predictor is larger in the upper half.
sorted <- withr::with_seed(2, local({
  n <- 24
  data <- data.frame(
    x = seq_len(n), z = seq(-1, 3, length.out = n)^2,
    f = factor(rep(c("a", "b", "a", "c"), c(8, 4, 8, 4))),
    g = factor(rep(c("p", "q", "r", "s"), n / 4)),
    v = rep(c(0.5, 1, 2), n / 3), o = rep(c(0, 1), n / 2)
  )
  data$y <- 2 + data$x + 3 * (data$f == "b") + data$o + rnorm(n)
  data$trials <- rep(c(1, 3, 5, 2), n / 4)
  data$s <- rbinom(n, data$trials, plogis(data$x / 6 - 2))
  data$up <- rbinom(n, 1, plogis(data$x / 6 - 2))
  data
}))
upper <- which(sorted$x > 12)

short_run <- function(fit_to, data, ...) {
  quietly(suppressMessages(
    fit_to(data, ..., draws = 20, chains = 2, progress = FALSE)
  ))
}

# list(fold, refit): the fit without the rows `held`, and one to the others with
# the prior of the fit to all, by the same seed. `of`: what is equal of them.
expect_refit <- function(fit_to, held = upper, data = sorted, of = as.matrix) {
  fit <- short_run(fit_to, data, seed = 1)
  fold <- without(fit, held)
  refit <- short_run(
    fit_to, data[-held, ], prior = prior_summary(fit), seed = 7
  )
  expect_equal(of(fold), of(refit))
  list(fold = fold, refit = refit)
}

test_that("half of a line is predicted as by a fit to the other half", {
  skip_long()
  priors <- list(
    lm_prior("nig"), lm_prior(), lm_prior("horseshoe"),
    lm_prior("nig", scale = 1, intercept_sd = Inf)
  )
  held <- sorted[upper, ]
  for (given in priors) {
    both <- expect_refit(function(data, prior = given, ...) {
      gibbs_lm(y ~ x + z, data, prior, weights = v, offset = o, ...)
    })
    expect_equal(
      log_lik(both$fold),
      log_lik(both$refit, held, weights = held$v, offset = held$o)
    )
    # a matrix, without an intercept and with one
    first <- identical(given, priors[[1]])
    sets <- list("x", c("(Intercept)", "x", "z"))
    for (columns in sets[first || is_extended()]) {
      expect_refit(function(data, prior = given, ...) {
        x <- cbind("(Intercept)" = 1, as.matrix(data[c("x", "z")]))
        gibbs_lm(x[, columns, drop = FALSE], data$y, prior, ...)
      })
    }
  }
})

test_that("kfold() of a line is the ratio of evidences", {
  skip_long()
  fit <- gibbs_lm(
    y ~ x + z, sorted, lm_prior("nig"), draws = 2000, seed = 1, progress = FALSE
  )
  prior <- prior_summary(fit)
  # log p(y) with the columns about their means over the rows `train`
  evidence <- function(rows, train) {
    x <- as.matrix(sorted[c("x", "z")])
    x <- x[rows, ] - rep(colMeans(x[train, ]), each = length(rows))
    n <- length(rows)
    covariance <- diag(n) + prior$intercept_sd^2 +
      tcrossprod(x / rep(prior$scale, each = n)) / prior$lambda
    away <- sorted$y[rows] - prior$intercept_mean
    shape <- prior$noise_shape + n / 2
    lgamma(shape) - shape * log(prior$noise_rate + sum(away * solve(covariance,
                                                                    away)) /
                                  2) -
      (n * log(2 * pi) + as.numeric(determinant(covariance)$modulus)) / 2
  }
  folds <- seq_len(nrow(sorted)) %in% upper
  exact <- vapply(seq_along(folds), function(i) {
    train <- which(folds != folds[i])
    evidence(c(train, i), train) - evidence(train, train)
  }, 0)
  by_fold <- loo::kfold(fit, folds = folds, seed = 1)
  error <- unlist(lapply(list(which(!folds), upper), function(held) {
    log_mean_error(log_lik(without(fit, held)), chains = 4)
  }))
  away <- abs(by_fold$pointwise[, "elpd_kfold"] - exact)
  expect_lt(max(away / error), 4.5)
})

test_that("a level that one fold alone has is drawn from the prior", {
  skip_long()
  held <- which(sorted$f == "b")
  for (type in c("nig", "hierarchical")) {
    fit <- quietly(gibbs_lm(
      y ~ x + f, sorted, lm_prior(type), draws = 2000, chains = 2, seed = 1,
      progress = FALSE
    ))
    fold <- log_lik(without(fit, held))
    prior <- prior_summary(fit)
    scale <- prior$scale[["fb"]]
    for (field in c("scale", "slope_mean")) {
      prior[[field]] <- prior[[field]][c("x", "fc")]
    }
    refit <- quietly(gibbs_lm(
      y ~ x + f, sorted[-held, ], prior, draws = 2000, chains = 2, seed = 7,
      progress = FALSE
    ))
    draws <- as.matrix(refit)
    unit <- switch(type, nig = draws[, "sigma"], draws[, "lambda"]^-0.5)
    mean <- draws[, "(Intercept)"] + draws[, "x"] %o% sorted$x[held]
    # the effect of the level, integrated out
    by_hand <- dnorm(
      rep(sorted$y[held], each = nrow(mean)), mean,
      sqrt(draws[, "sigma"]^2 + (unit / scale)^2), log = TRUE
    )
    dim(by_hand) <- dim(mean)
    away <- log(colMeans(exp(fold))) - log(colMeans(exp(by_hand)))
    error <- sqrt(log_mean_error(fold)^2 + log_mean_error(by_hand)^2)
    expect_lt(max(abs(away) / error), 4.5)
  }
})

test_that("half of some groups is predicted as by a fit to the other half", {
  skip_long()
  held <- sorted[upper, ]
  priors <- list(hlm_prior(), hlm_prior("inverse-wishart"))
  for (given in priors[fast_or(1, 1:2)]) {
    both <- expect_refit(function(data, prior = given, ...) {
      gibbs_hlm(
        y ~ x + z + (1 + x | g), data, prior, weights = v, offset = o, ...
      )
    })
    drawn <- withr::with_seed(1, log_lik(both$fold))
    mean <- withr::with_seed(1, posterior_epred(
      both$refit, held, offset = held$o
    ))
    sd <- as.matrix(both$refit)[, "sigma"] %o% (1 / sqrt(held$v))
    by_hand <- dnorm(rep(held$y, each = nrow(mean)), mean, sd, log = TRUE)
    expect_equal(drawn, by_hand, ignore_attr = TRUE)
  }
  expect_refit(function(data, ...) {
    gibbs_hlm(y ~ x + (1 | g), data, se = v, ...)
  })
})

test_that("a group left out with its predictors is predicted as by hand", {
  skip_long()
  fit <- short_run(function(data, ...) {
    gibbs_hlm(y ~ x + (1 | f), data, ...)
  }, sorted, seed = 1)
  held <- which(sorted$f == "c")
  fold <- without(fit, which(levels(sorted$f) == "c"), "group")
  draws <- as.matrix(fold)
  by_hand <- apply(draws, 1, function(draw) {
    away <- sorted$y[held] - draw[["(Intercept)"]] -
      draw[["x"]] * sorted$x[held]
    covariance <- diag(draw[["sigma"]]^2, length(held)) + draw[["sd[1]"]]^2
    root <- chol(covariance)
    -sum(backsolve(root, away, transpose = TRUE)^2) / 2 -
      sum(log(diag(root))) - length(held) * log(2 * pi) / 2
  })
  expect_equal(log_lik(fold, by = "group")[, "c"], by_hand, ignore_attr = TRUE)
})

test_that("a group of successes left out is predicted as by quadrature", {
  skip_long()
  for (link in fast_or("logit", c("logit", "probit"))) {
    fit <- short_run(function(data, ...) {
      gibbs_logistic(cbind(s, trials - s) ~ x + (1 | f), data, link = link, ...)
    }, sorted, seed = 1)
    held <- which(sorted$f == "c")
    fold <- without(fit, which(levels(sorted$f) == "c"), "group")
    inverse <- stats::make.link(link)$linkinv
    by_hand <- apply(as.matrix(fold), 1, function(draw) {
      density <- function(u) {
        vapply(u, function(u) {
          eta <- draw[["(Intercept)"]] + draw[["x"]] * sorted$x[held] + u
          exp(sum(dbinom(
            sorted$s[held], sorted$trials[held], inverse(eta), log = TRUE
          ))) * dnorm(u, 0, draw[["sd[1]"]])
        }, 0)
      }
      end <- 12 * draw[["sd[1]"]]
      log(integrate(density, -end, end, rel.tol = 1e-9,
                    subdivisions = 1000L)$value)
    })
    found <- log_lik(fold, by = "group")
    expect_identical(colnames(found), "c")
    # a standard deviation of 20 makes errors of 1e-4, one of 5 1e-7
    expect_equal(found[, "c"], by_hand, ignore_attr = TRUE, tolerance = 1e-4)
  }
  whole <- quietly(loo::kfold(fit, K = 2, by = "group", seed = 1))
  expect_identical(nrow(whole$pointwise), nlevels(sorted$f))
})

test_that("half of some outcomes is predicted as by a fit to the other half", {
  skip_long()
  held <- sorted[upper, ]
  both <- expect_refit(function(data, ...) {
    gibbs_logistic(cbind(s, trials - s) ~ x + z, data, offset = o, ...)
  })
  expect_equal(log_lik(both$fold), log_lik(both$refit, held, offset = held$o))
  both <- expect_refit(function(data, ...) {
    gibbs_logistic(up ~ x + z - 1, data, link = "probit", ...)
  })
  expect_equal(log_lik(both$fold), log_lik(both$refit, held))
  both <- expect_refit(function(data, ...) {
    laplace_logistic(up ~ x + z, data, weights = v, offset = o, ...)
  })
  expect_equal(
    log_lik(both$fold),
    log_lik(both$refit, held, offset = held$o) * rep(held$v, each = 40)
  )
  # with groups the sum of the binomial coefficients is that of all rows
  both <- expect_refit(function(data, ...) {
    gibbs_logistic(cbind(s, trials - s) ~ x + (1 | g), data, offset = o, ...)
  }, of = function(fit) subset(as.matrix(fit), select = -log_lik))
  share <- posterior_epred(both$refit, held, offset = held$o)
  by_hand <- dbinom(
    rep(held$s, each = 40), rep(held$trials, each = 40), share, log = TRUE
  )
  expect_equal(log_lik(both$fold), by_hand, ignore_attr = TRUE)
})

test_that("half of a mixture is predicted as by a fit to the other half", {
  skip_long()
  x <- as.matrix(datasets::faithful)[order(faithful$waiting)[1:80 * 3], ]
  x[c(2, 70), 1] <- NA
  x[30, 2] <- NA
  for (form in fast_or("full", c("full", "diagonal", "shared"))) {
    both <- expect_refit(function(data, ...) {
      gibbs_gmm(data, 2, covariance = form, na_action = "impute", ...)
    }, 41:80, x, of = function(fit) as.matrix(fit)[, "log_lik"])
    expect_equal(log_lik(both$fold), log_lik(both$refit, x[41:80, ]))
  }
})

# ---- the result --------------------------------------------------------------

test_that("the result is one of loo's", {
  skip_long()
  fit <- fit_line(few, draws = 50, seed = 1)
  found <- loo::kfold(fit, K = 3, seed = 4)
  expect_true(loo::is.kfold(found))
  expect_identical(attr(found, "K"), 3L)
  expect_identical(as.vector(table(attr(found, "folds"))), c(4L, 4L, 4L))
  expect_identical(rownames(found$pointwise), rownames(few))
  expect_equal(found$estimates[, "Estimate"], colSums(found$pointwise))
  expect_equal(
    found$pointwise[, "elpd_kfold"] + found$pointwise[, "p_kfold"],
    log(colMeans(exp(log_lik(fit))))
  )
  shown <- utils::capture.output(print(found))
  expect_match(shown, "3-fold", all = FALSE)
  expect_match(shown, "elpd_kfold", all = FALSE)
  same <- loo::kfold(fit, folds = attr(found, "folds"), seed = 4)
  expect_identical(same$pointwise, found$pointwise)
  named <- c("c", "a", "b")[as.integer(attr(found, "folds"))]
  expect_identical(
    levels(attr(loo::kfold(fit, folds = named, seed = 4), "folds")),
    c("a", "b", "c")
  )
  other <- loo::kfold(
    fit_line(few, "hierarchical", draws = 50, seed = 2),
    folds = attr(found, "folds"), seed = 4
  ) |> quietly()
  compared <- loo::loo_compare(found, other)
  best <- max(found$estimates[1], other$estimates[1])
  worst <- min(found$estimates[1], other$estimates[1])
  expect_equal(compared[[2, "elpd_diff"]], worst - best)
  compared <- suppressWarnings(loo::loo_compare(found, loo::loo(fit)))
  expect_identical(nrow(compared), 2L)
})

test_that("the seed decides, not the session or the plan", {
  skip_long()
  fit <- fit_line(few, "hierarchical", draws = 30, seed = 1)
  withr::with_seed(1, {
    before <- .Random.seed
    found <- quietly(loo::kfold(fit, K = 2, seed = 4))
    expect_identical(.Random.seed, before)
  })
  expect_identical(quietly(loo::kfold(fit, K = 2, seed = 4, cores = 2)), found)
  again <- function() {
    withr::with_seed(9, quietly(loo::kfold(fit, K = 2)))
  }
  other <- again()
  expect_identical(again(), other)
  expect_false(identical(other, found))
  # test-parallel.R has other sessions in the fast suite
  if (is_extended()) {
    old <- future::plan(future::multisession, workers = 2)
    withr::defer(future::plan(old))
    expect_identical(quietly(loo::kfold(fit, K = 2, seed = 4)), found)
  }
})

test_that("folds that did not converge are named in one warning", {
  skip_long()
  fit <- fit_line(few, "hierarchical", draws = 20, seed = 1)
  expect_gibbsite_condition(
    loo::kfold(fit, K = 2, seed = 1, progress = FALSE),
    "gibbsite_warning_convergence"
  )
})

test_that("what cannot be left out is an error", {
  skip_long()
  fit <- fit_line(few, draws = 20, seed = 1)
  own <- quietly(mh_sample(
    function(x) -x^2, c(a = 0), draws = 20, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  topics <- quietly(gibbs_lda(
    matrix(1:6, 2), 2, draws = 20, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  unknown <- quietly(gibbs_gmm(
    c(1, 2, 5, 6), "unknown", draws = 20, burnin = 20, chains = 1, seed = 1,
    progress = FALSE
  ))
  first <- suppressWarnings(loo::loo(fit))
  wide <- quietly(gibbs_lm(
    mpg ~ wt, few, lm_prior("horseshoe"), draws = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    loo::kfold(fit, K = 1)
    loo::kfold(fit, K = 13)
    loo::kfold(fit, folds = 1:3)
    loo::kfold(fit, folds = rep(1, 12))
    loo::kfold(fit, folds = c(1:11, NA))
    loo::kfold(fit, folds = as.list(1:12))
    loo::kfold(fit, by = "group")
    loo::kfold(fit, k = 3)
    loo::kfold(own)
    loo::kfold(topics)
    loo::kfold(unknown)
    loo::loo_moment_match(fit)
    loo::loo_moment_match(fit, 1)
    loo::loo_moment_match(fit_line(few[-1, ], draws = 20, seed = 1), first)
    loo::loo_moment_match(wide, first)
    loo::loo_moment_match(own, first)
  })
  expect_gibbsite_error(class = "gibbsite_error_no_data", {
    loo::kfold(drop_data(fit))
    loo::loo_moment_match(drop_data(fit), first)
  })
  # without its only failure a response is separated
  flat <- quietly(gibbs_logistic(
    c(1, 1, 0, 1, 1, 0) ~ 1,
    prior = logistic_prior(slope_variance = Inf, intercept_variance = Inf),
    draws = 20, chains = 2, seed = 1, progress = FALSE
  ))
  expect_gibbsite_error(class = "gibbsite_error_fold", {
    loo::kfold(flat, folds = c(1, 1, 2, 1, 1, 2))
  })
})

test_that("loo()'s warning names the fit and what it allows", {
  skip_long()
  far <- cars
  far$dist[50] <- 900
  odd <- gibbs_lm(dist ~ speed, far, draws = 200, seed = 1, progress = FALSE)
  cnd <- rlang::catch_cnd(loo::loo(odd), "warning")
  expect_s3_class(cnd, "gibbsite_warning_pareto_k")
  for (words in c("`odd`", "1 of 50", "loo_moment_match()", "kfold()")) {
    expect_match(conditionMessage(cnd), words, fixed = TRUE)
  }
  bare <- gibbs_lm(
    dist ~ speed, far, draws = 200, seed = 1, progress = FALSE,
    keep_data = TRUE, prior = lm_prior("horseshoe")
  ) |> suppressWarnings()
  said <- conditionMessage(rlang::catch_cnd(loo::loo(bare), "warning"))
  expect_no_match(said, "loo_moment_match", fixed = TRUE)
  expect_match(said, "kfold()", fixed = TRUE)
})

test_that("arguments that loo() and waic() do not have are refused", {
  skip_long()
  fit <- brief(gibbs_hlm, mpg ~ wt + (1 | cyl), mtcars)
  expect_gibbsite_error({
    loo::loo(fit, by = "cyl")
    loo::loo(fit, k_threshold = 0.7)
    loo::loo(fit, 3)
    loo::waic(fit, save_psis = TRUE)
    gibbs_gmm(faithful, K = 2)
  })
  kept <- suppressWarnings(loo::loo(fit, save_psis = TRUE, cores = 1))
  expect_s3_class(kept$psis_object, "psis")
})

test_that("loo_compare() warns of fits of other data", {
  skip_unless_extended()
  known <- function(...) gibbs_lm(..., draws = 200, seed = 1, progress = FALSE)
  raw <- quietly(loo::loo(known(dist ~ speed, cars)))
  logged <- quietly(loo::loo(known(log(dist) ~ speed, cars)))
  expect_warning(loo::loo_compare(raw, logged), "same y variable")
  groups <- data.frame(cars, g = gl(5, 10))
  others <- list(
    loo::loo(known(dist ~ poly(speed, 2), cars)),
    loo::waic(gibbs_hlm(
      dist ~ speed + (1 | g), groups, draws = 200, seed = 1, progress = FALSE
    )),
    loo::kfold(known(dist ~ 1, cars), K = 2, seed = 1)
  ) |> suppressWarnings()
  for (other in others) {
    expect_identical(attr(other, "yhash"), attr(raw, "yhash"))
  }
  mixture <- function(k) {
    gibbs_gmm(
      faithful, k, draws = 100, chains = 2, seed = 1, progress = FALSE
    )
  }
  two <- quietly(loo::loo(mixture(2)))
  unknown <- quietly(loo::loo(mixture("unknown")))
  expect_no_warning(loo::loo_compare(two, unknown))
  expect_false(attr(two, "yhash") == attr(raw, "yhash"))
  # documents of the same length
  words <- diag(5, 4)
  topics <- lapply(list(words, words[, 4:1], words + 0), function(x) {
    fit <- gibbs_lda(
      x, 2, draws = 50, chains = 2, seed = 1, progress = FALSE,
      keep = c("theta", "phi")
    )
    attr(suppressWarnings(loo::loo(fit)), "yhash")
  }) |> quietly()
  expect_identical(topics[[1]], topics[[3]])
  expect_false(topics[[1]] == topics[[2]])
})

# ---- Folds by a rule ---------------------------------------------------------

test_that("folds of a fit by a rule run by it, and are given up early", {
  skip_long()
  line <- function(...) {
    quietly(gibbs_lm(
      mpg ~ wt, few, fixed$hierarchical, draws = 100, burnin = 100,
      chains = 2, seed = 1, progress = FALSE, ...
    ))
  }
  fold <- function(fit) {
    gibbsite:::fit_fold(fit, 1:3, "observation", 5L, 1, "a", NULL)
  }
  # met at the first check
  easy <- until(rhat = 1.5, ess = 10, every = 100, max_draws = 800)
  fit <- line(stop_when = easy)
  one <- fold(fit)
  expect_null(one$slow)
  expect_identical(attr(one$fit, "run")$outcome, "rule")
  # it would need far more draws than the fit has
  never <- until(ess = 1e6, every = 100, max_draws = 800, burnin = "fixed")
  fit <- line(stop_when = never)
  expect_identical(shown_draws(fit), 800L)
  one <- fold(fit)
  expect_identical(shown_draws(one$fit), 200L)
  expect_match(one$slow, "^effective sample size .* of .*: too few draws$")
  expect_warning(
    out <- loo::kfold(fit, K = 3, seed = 1, progress = FALSE),
    "Without fold \"1\": effective sample size",
    class = "gibbsite_warning_convergence"
  )
  expect_true(all(is.finite(out$pointwise)))
  # fixed draws are asked for: as many in each fold
  expect_identical(shown_draws(fold(line())$fit), 100L)
})

test_that("a run is given up from a quarter to three quarters of its cap", {
  job <- list(goal = 20000)
  local_object("stride_of", function(job) 1)
  asked <- c(4000, 5000, 15000, 16000)
  of <- function(needed) {
    local_object("more_draws", function(table) needed)
    vapply(asked, function(common) is_given_up(job, common, NULL), NA)
  }
  expect_identical(of(40000), c(FALSE, TRUE, TRUE, FALSE))
  expect_identical(of(20000), c(FALSE, FALSE, TRUE, FALSE))
  expect_identical(of(9000), c(FALSE, FALSE, FALSE, FALSE))
})

test_that("a run by the default cap is given up if it will not converge", {
  skip_long()
  two_peaks <- function(x) log(sum(dnorm(x, c(-30, 30))))
  run <- function(rule) {
    mh_sample(
      two_peaks, 30, random_walk(1), draws = 100, burnin = 50, thin = 1,
      chains = 2, inits = list(-30, 30), seed = 1, progress = FALSE,
      stop_when = rule
    )
  }
  expect_warning(
    fit <- run(until(burnin = "fixed")),
    "after 500 draws, where the run is given up"
  )
  expect_identical(gibbsite:::draws_made(fit), 500L)
  # a time or a number of draws that the user names is used up
  expect_warning(
    fit <- run(until(burnin = "fixed", max_draws = 2000)), "the rule ends"
  )
  expect_identical(gibbsite:::draws_made(fit), 2000L)
  if (is_extended()) {
    expect_warning(
      fit <- run(until(burnin = "fixed", seconds = 1e6)), "the rule ends"
    )
    expect_identical(gibbsite:::draws_made(fit), 2000L)
  }
  # so are all the draws of few observations
  expect_warning(
    fit <- gibbs_lm(
      mpg ~ wt, mtcars, draws = 20, burnin = 10, chains = 2, seed = 1,
      progress = FALSE, stop_when = until(ess = 1e5, burnin = "fixed")
    ),
    "the rule ends"
  )
  expect_identical(gibbsite:::draws_made(fit), 1200L)
})
