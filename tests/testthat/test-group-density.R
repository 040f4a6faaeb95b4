# log_lik(by = ) and kfold(by = ) of regressions with groups.

group_data <- function() {
  withr::with_seed(1, {
    d <- data.frame(
      a = factor(sample(letters[1:5], 80, TRUE)),
      b = factor(sample(LETTERS[1:4], 80, TRUE)), x = rnorm(80)
    )
    eta <- 0.5 + d$x / 2 + rnorm(5)[d$a] + rnorm(4)[d$b] / 2
    d$y <- eta + rnorm(80)
    d$n <- rpois(80, exp(eta))
    d$hit <- rbinom(80, 1, plogis(eta))
    d$o <- cut(eta + rnorm(80), c(-Inf, 0, 1, Inf), labels = FALSE)
    d$k <- factor(letters[d$o])
    d$w <- rep(1:2, 40)
    d
  })
}

group_fit <- function(f, formula, data = group_data(), ..., draws = 20) {
  # arguments such as weights are columns of the data
  call <- as.call(c(
    list(substitute(f), formula, quote(data)), eval(substitute(alist(...))),
    list(draws = draws, burnin = 40, chains = 2, seed = 1, progress = FALSE)
  ))
  suppressMessages(suppressWarnings(
    eval(call, list(data = data), parent.frame())
  ))
}

crossed_fits <- function() {
  made <- alist(
    t = group_fit(gibbs_hlm, y ~ x + (1 | a) + (1 | b), errors = "t",
                  weights = w),
    logit = group_fit(gibbs_logistic, hit ~ x + (1 | a) + (1 | b)),
    probit = group_fit(gibbs_logistic, hit ~ x + (1 | a) + (1 | b),
                       link = "probit"),
    poisson = group_fit(gibbs_count, n ~ x + (1 | a) + (1 | b), weights = w,
                        offset = x / 2, family = "poisson"),
    negbinomial = group_fit(gibbs_count, n ~ x + (1 | a) + (1 | b)),
    ordered = group_fit(gibbs_ordinal, o ~ x + (1 | a) + (1 | b), weights = w),
    two = group_fit(gibbs_categorical, factor(hit) ~ x + (1 | a) + (1 | b))
  )
  some <- c("t", "probit", "poisson", "two")
  lapply(made[fast_or(some, names(made))], eval, environment())
}

# log p(y_i | u) of draw s as a function of u, of the rows of level j of b: by
# predictions without the deviation.
without_b <- function(fit, s, j) {
  model <- attr(fit, "model")
  response <- gibbsite:::model_response(model)
  i <- which(group_data()$b == j)
  draw <- as.matrix(fit)[s, , drop = FALSE]
  rows <- gibbsite:::rows_at_places(
    gibbsite:::predictor_rows(model, list(), NULL), i
  )
  own <- draw[, grep("^u\\[(1,)?2,1,|^u\\[1,2,1,", colnames(draw))]
  eta <- gibbsite:::predictor_at_draws(model, draw, rows)
  column <- if (inherits(response, "categories_response")) {
    sprintf("u[1,2,1,%d]", match(j, LETTERS))
  } else {
    sprintf("u[2,1,%d]", match(j, LETTERS))
  }
  eta <- eta - draw[, column]
  scale <- gibbsite:::response_scale(response, draw)
  frame <- gibbsite:::frame_rows(model$frame, i)
  function(u) {
    vapply(u, function(u) {
      sum(gibbsite:::response_log_lik(response, eta + u, frame, scale))
    }, 0)
  }
}

test_that("the density of a group is the integral over its deviation", {
  skip_long()
  fits <- crossed_fits()
  for (name in names(fits)) {
    fit <- fits[[name]]
    found <- log_lik(fit, by = "b")
    expect_identical(dim(found), c(40L, 4L))
    expect_identical(colnames(found), LETTERS[1:4])
    draws <- as.matrix(fit)
    sd <- draws[, if (name == "two") "sd[1,2,1]" else "sd[2,1]"]
    for (s in fast_or(20, c(1, 20, 40))) {
      for (j in fast_or(2, 1:4)) {
        log_density <- without_b(fit, s, LETTERS[[j]])
        integral <- integrate(function(u) {
          exp(log_density(u) - found[[s, j]]) * dnorm(u, 0, sd[[s]])
        }, -10 * sd[[s]], 10 * sd[[s]], rel.tol = 1e-9, subdivisions = 2000L)
        expect_equal(log(integral$value), 0, tolerance = 1e-6, label = name)
      }
    }
  }
})

test_that("the density of a group of one bar is the same integral", {
  skip_long()
  d <- group_data()
  fits <- list(
    normal = group_fit(gibbs_hlm, y ~ x + (1 | a)),
    t = group_fit(gibbs_hlm, y ~ x + (1 | a), errors = "t"),
    logit = group_fit(gibbs_logistic, hit ~ x + (1 | a)),
    negbinomial = group_fit(gibbs_count, n ~ x + (1 | a)),
    ordered = group_fit(gibbs_ordinal, o ~ x + (1 | a))
  )
  some <- c("logit", "negbinomial", "ordered")
  for (name in fast_or(some, names(fits))) {
    fit <- fits[[name]]
    model <- attr(fit, "model")
    response <- gibbsite:::model_response(model)
    draw <- as.matrix(fit)[40, , drop = FALSE]
    sd <- draw[[grep("^sd\\[", colnames(draw))]]
    eta <- posterior_linpred(fit, re_formula = NA)[40, ]
    scale <- gibbsite:::response_scale(response, draw)
    found <- log_lik(fit, by = "group")[40, ]
    for (j in fast_or(c(2, 5), 1:5)) {
      i <- which(d$a == letters[[j]])
      frame <- gibbsite:::frame_rows(model$frame, i)
      integral <- integrate(Vectorize(function(u) {
        own <- gibbsite:::response_log_lik(
          response, t(unname(eta[i]) + u), frame, scale
        )
        exp(sum(own) - found[[j]]) * dnorm(u, 0, sd)
      }), -10 * sd, 10 * sd, rel.tol = 1e-9, subdivisions = 2000L)
      expect_equal(log(integral$value), 0, tolerance = 1e-6, label = name)
    }
  }
})

test_that("the density of a group's normal responses is exact", {
  d <- group_data()
  fit <- group_fit(
    gibbs_hlm, y ~ x + (1 + x | a) + (1 | b) + (0 + w | b), d, weights = w,
    offset = x / 3
  )
  found <- log_lik(fit, by = "b")
  draws <- as.matrix(fit)
  for (s in c(1, 40)) {
    for (j in 1:4) {
      at <- draws[s, ]
      i <- which(d$b == LETTERS[[j]])
      u <- matrix(at[sprintf("u[1,%d,%d]", rep(1:2, 5), rep(1:5, each = 2))], 2)
      centre <- d$x[i] / 3 + at[["(Intercept)"]] + at[["x"]] * d$x[i] +
        u[1, d$a[i]] + u[2, d$a[i]] * d$x[i]
      across <- diag(at[["sigma"]]^2 / d$w[i]) + at[["sd[2,1]"]]^2 +
        at[["sd[3,1]"]]^2 * outer(d$w[i], d$w[i])
      root <- chol(across)
      white <- backsolve(root, d$y[i] - centre, transpose = TRUE)
      expect_equal(
        found[[s, j]], -sum(log(diag(root))) - sum(white^2) / 2 -
          length(i) * log(2 * pi) / 2,
        tolerance = 1e-10
      )
    }
  }
  # one factor in two bars is one factor
  two <- group_fit(gibbs_hlm, y ~ x + (1 | a) + (0 + x | a), d)
  expect_identical(log_lik(two, by = "group"), log_lik(two, by = "a"))
})

test_that("deviations of several categories are integrated over together", {
  skip_long()
  fit <- group_fit(gibbs_categorical, k ~ x + (1 | a))
  found <- log_lik(fit, by = "group", ndraws = 2)
  draws <- as.matrix(fit)[gibbsite:::spread_rows(2, 40, NULL), ]
  d <- group_data()
  z <- seq(-8, 8, by = 0.1)
  grid <- expand.grid(z, z)
  for (s in 1:2) {
    at <- draws[s, ]
    for (j in fast_or(c(1, 4), 1:5)) {
      i <- which(d$a == letters[[j]])
      log_density <- log(0.1^2) + dnorm(grid[[1]], log = TRUE) +
        dnorm(grid[[2]], log = TRUE)
      for (row in i) {
        eta <- lapply(1:2, function(k) {
          name <- c("b", "c")[[k]]
          at[[sprintf("b[%s,(Intercept)]", name)]] +
            at[[sprintf("b[%s,x]", name)]] * d$x[[row]] +
            at[[sprintf("sd[%s,1,1]", name)]] * grid[[k]]
        })
        own <- c(list(0), eta)[[d$o[[row]]]]
        log_density <- log_density + own -
          log(1 + exp(eta[[1]]) + exp(eta[[2]]))
      }
      expect_equal(found[[s, j]], log(sum(exp(log_density))), tolerance = 1e-5)
    }
  }
})

test_that("t responses of several modes, and many deviations, are integrated", {
  density <- gibbsite:::group_quadrature
  for (y in list(c(0, 3), c(0, 10), c(-20, 0, 20), c(0, 0, 0, 9, 9))) {
    slopes <- list(list(
      part = 1L, rows = seq_along(y), value = matrix(10, 1, length(y))
    ))
    found <- density(
      gibbsite:::t_response(NULL), list(y = y), matrix(0, 1, length(y)),
      slopes, cbind(1, 2)
    )
    f <- function(u) {
      vapply(u, function(u) {
        exp(sum(dt(y - u, 2, log = TRUE)) - found) * dnorm(u, 0, 10)
      }, 0)
    }
    pieces <- sort(c(-Inf, y[[1]] - 1, unique(y), max(y) + 1, Inf))
    exact <- sum(mapply(function(from, to) {
      integrate(f, from, to, rel.tol = 1e-9, subdivisions = 2000L)$value
    }, pieces[-length(pieces)], pieces[-1]))
    expect_lt(abs(log(exact)), 5e-3)
  }
  # of many independent deviations, a product
  n <- 8
  events <- gibbsite:::events_response("poisson")
  one <- density(
    events, list(y = 2), matrix(0, 1, 1),
    list(list(part = 1L, rows = 1L, value = matrix(0.8))), NULL
  )
  slopes <- lapply(1:n, function(k) {
    list(part = 1L, rows = 1:n, value = matrix(0.8 * (1:n == k), 1))
  })
  all <- density(events, list(y = rep(2, n)), matrix(0, 1, n), slopes, NULL)
  expect_lt(abs(all - n * one), 0.02)
})

test_that("a fold of groups is the fit without them", {
  skip_unless_extended()
  d <- group_data()
  fits <- crossed_fits()[c("t", "logit", "negbinomial", "ordered", "two")]
  fits$normal <- group_fit(gibbs_hlm, y ~ x + (1 | a) + (1 | b), d)
  for (fit in fits) {
    model <- attr(fit, "model")
    fold <- gibbsite:::model_fold(model, c(2, 4), "b")
    expect_identical(sort(unique(fold$test$frame$bars$b$group)), c(2L, 4L))
    left <- gibbsite:::rows_used(fold$train$frame)
    expect_identical(left, !d$b %in% c("B", "D"))
    expect_identical(fold$train$levels, model$levels)
  }
  prior <- hlm_prior(
    intercept_mean = 0, intercept_sd = 5, slope_sd = 1, scale = 1, sigma0 = 1
  )
  fit <- group_fit(
    gibbs_hlm, y ~ x + (1 | a) + (1 | b), d, prior, draws = 1000
  )
  found <- suppressWarnings(
    loo::kfold(fit, by = "b", K = 4, seed = 1, progress = FALSE)
  )
  expect_identical(rownames(found$pointwise), LETTERS[1:4])
  # by hand: a fit without the rows of the group, whose deviation is new
  by_hand <- vapply(LETTERS[1:4], function(j) {
    rest <- droplevels(d[d$b != j, ])
    at <- as.matrix(group_fit(
      gibbs_hlm, y ~ x + (1 | a) + (1 | b), rest, prior, draws = 1000
    ))
    i <- which(d$b == j)
    u <- at[, sprintf("u[1,1,%d]", 1:5)][, d$a[i]]
    mean <- at[, "(Intercept)"] + outer(at[, "x"], d$x[i]) + u
    value <- vapply(seq_len(nrow(at)), function(s) {
      root <- chol(diag(at[s, "sigma"]^2, length(i)) + at[s, "sd[2,1]"]^2)
      white <- backsolve(root, d$y[i] - mean[s, ], transpose = TRUE)
      -sum(log(diag(root))) - sum(white^2) / 2 - length(i) * log(2 * pi) / 2
    }, 0)
    value <- exp(value)
    # with five standard errors for the autocorrelation of both
    c(log(mean(value)), 5 * 2 * sd(value) / mean(value) / sqrt(length(value)))
  }, c(0, 0))
  away <- abs(found$pointwise[, "elpd_kfold"] - by_hand[1, ])
  expect_true(all(away < by_hand[2, ]))
})

test_that("a factor that a fit does not have is refused", {
  skip_long()
  d <- group_data()
  two <- group_fit(gibbs_hlm, y ~ x + (1 | a) + (1 | b), d)
  one <- group_fit(gibbs_hlm, y ~ x + (1 | a), d)
  none <- group_fit(gibbs_lm, y ~ x, d)
  mixture <- quietly(gibbs_gmm(
    faithful, 2, draws = 20, chains = 1, seed = 1, progress = FALSE
  ))
  expect_identical(log_lik(one, by = "group"), log_lik(one, by = "a"))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    log_lik(two, by = "group")
    log_lik(two, by = "c")
    log_lik(two, by = c("a", "b"))
    log_lik(one, by = "b")
    log_lik(none, by = "group")
    log_lik(none, by = "b")
    log_lik(two, by = "a", offset = 1)
    log_lik(two, d, by = "a")
    loo::kfold(two, by = "group")
    loo::kfold(one, by = "b")
    loo::kfold(mixture, by = "group")
    loo::kfold(two, by = "b", folds = 1:3)
    loo::kfold(two, by = "b", K = 5)
  })
})

test_that("groups within a group that is left out are integrated out with it", {
  skip_unless_extended()
  n <- 60
  d <- withr::with_seed(2, {
    d <- data.frame(school = rep(1:4, each = 15), class = rep(1:3, 20))
    d$y <- rnorm(4)[d$school] + rnorm(12)[3 * d$school + d$class - 3] + rnorm(n)
    d$hit <- rbinom(n, 1, plogis(d$y))
    d
  })
  # the densities of school 2 with the draws of a fit of all
  left_out <- function(fit) {
    fold <- gibbsite:::model_fold(attr(fit, "model"), 2, "school")
    attr(fit, "model") <- fold$test
    log_lik(fit, by = "school")
  }
  own <- d[d$school == 2, ]
  fit <- group_fit(gibbs_hlm, y ~ 1 + (1 | school / class), d)
  draws <- as.matrix(fit)
  exact <- apply(draws, 1, function(at) {
    covariance <- at[["sigma"]]^2 * diag(15) + at[["sd[1,1]"]]^2 +
      at[["sd[2,1]"]]^2 * outer(own$class, own$class, "==")
    root <- chol(covariance)
    away <- backsolve(root, own$y - at[["(Intercept)"]], transpose = TRUE)
    -sum(away^2) / 2 - sum(log(diag(root))) - 15 * log(2 * pi) / 2
  })
  expect_equal(left_out(fit)[, 1], unname(exact), ignore_attr = TRUE)
  fit <- group_fit(gibbs_logistic, hit ~ 1 + (1 | school / class), d)
  found <- left_out(fit)
  z <- seq(-8, 8, length.out = 161)
  weights <- dnorm(z) * 0.1
  for (s in c(1, 20)) {
    at <- as.matrix(fit)[s, ]
    of_school <- vapply(z, function(one) {
      eta <- at[["(Intercept)"]] + at[["sd[1,1]"]] * one + at[["sd[2,1]"]] * z
      prod(vapply(split(own$hit, own$class), function(hit) {
        sum(weights * plogis(eta)^sum(hit) * plogis(-eta)^sum(1 - hit))
      }, 0))
    }, 0)
    expect_equal(found[[s, 1]], log(sum(weights * of_school)), tolerance = 5e-3)
  }
  # a class that other schools have keeps its draws
  crossed <- group_fit(gibbs_hlm, y ~ 1 + (1 | school) + (1 | class), d)
  expect_equal(
    left_out(crossed)[, 1], log_lik(crossed, by = "school")[, "2"],
    ignore_attr = TRUE
  )
})
