# What a fit of laplace_logistic() answers: predictions, residuals, comparisons.

# A short run, by a call that update() can evaluate again.
short_logistic <- function(...) {
  call <- sys.call()
  call[[1L]] <- quote(laplace_logistic)
  settings <- list(draws = 200, chains = 2, seed = 1, progress = FALSE)
  for (name in setdiff(names(settings), names(call))) {
    call[[name]] <- settings[[name]]
  }
  eval(call, parent.frame())
}

# Fits that several tests look at, made once.
fits <- new.env()
fitted_once <- function(name, make) {
  if (is.null(fits[[name]])) fits[[name]] <- make()
  fits[[name]]
}

pima <- function() {
  fitted_once("pima", function() {
    short_logistic(type ~ ., MASS::Pima.tr, draws = 600, chains = 4)
  })
}

cars <- function() {
  fitted_once("cars", function() {
    short_logistic(am ~ wt + factor(gear > 3), mtcars)
  })
}

# counts: insect deaths by dose (Bliss 1935, the beetle data)
beetles <- data.frame(
  dose = c(1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.861, 1.8839),
  killed = c(6, 13, 18, 28, 52, 53, 61, 60),
  exposed = c(59, 60, 62, 56, 63, 59, 62, 60)
)

beetle <- function() {
  fitted_once("beetle", function() {
    short_logistic(cbind(killed, exposed - killed) ~ dose, beetles)
  })
}

# one response as a factor, as logical values, as numbers
three_forms <- function() {
  transform(mtcars, f = factor(am, labels = c("no", "yes")), l = am == 1)
}

# ---- the predictive integral ------------------------------------------------

# E sigma(m + s Z) by adaptive quadrature on pieces that end where sigma turns
# and where the normal density does.
mean_by_quadrature <- function(m, s) {
  turn <- -m / s
  ends <- c(-40, -8, -4, -1, 0, 1, 4, 8, 40, turn + c(-40, -5, 0, 5, 40) / s)
  ends <- sort(unique(pmin(pmax(ends, -40), 40)))
  sum(vapply(seq_along(ends)[-1], function(i) {
    stats::integrate(
      function(z) stats::plogis(m + s * z) * stats::dnorm(z), ends[i - 1],
      ends[i], rel.tol = 1e-13, abs.tol = 0, subdivisions = 1000L,
      stop.on.error = FALSE
    )$value
  }, 0))
}

integral_grid <- function() {
  s <- c(1e-3, 10^seq(-2, 3, by = 0.5))
  m <- c(0, 10^seq(-3, 3, by = 0.5))
  grid <- expand.grid(m = c(-m, m[-1]), s = s)
  grid$value <- mapply(mean_by_quadrature, grid$m, grid$s)
  grid
}

test_that("the predictive integral is that of adaptive quadrature", {
  skip_long()
  grid <- fitted_once("grid", integral_grid)
  error <- abs(gibbsite:::logistic_mean(grid$m, grid$s) - grid$value)
  expect_lt(max(error), 1e-12)
  # also in proportion, where the quadrature itself can tell
  known <- grid$value > 1e-12
  expect_lt(max((error / grid$value)[known]), 1e-9)
  expect_equal(
    gibbsite:::logistic_mean(grid$m, 0 * grid$s), plogis(grid$m),
    tolerance = 1e-15
  )
})

test_that("plug-in and Gauss-Hermite are not within its tolerance", {
  skip_long()
  grid <- fitted_once("grid", integral_grid)
  expect_gt(max(abs(plogis(grid$m) - grid$value)), 0.1)
  # nodes and weights by the eigenvalues of the recurrence (Golub & Welsch)
  n <- 20
  jacobi <- matrix(0, n, n)
  jacobi[cbind(1:(n - 1), 2:n)] <- sqrt(1:(n - 1))
  parts <- eigen(jacobi + t(jacobi), symmetric = TRUE)
  hermite <- function(m, s) {
    sum(parts$vectors[1, ]^2 * plogis(m + s * parts$values))
  }
  wrong <- abs(mapply(hermite, grid$m, grid$s) - grid$value)
  expect_gt(max(wrong), 1e-3)
  expect_lt(max(wrong[grid$s < 0.5]), 1e-10)
})

test_that("standard deviations of probabilities are those of quadrature", {
  skip_long()
  grid <- expand.grid(
    m = c(-15, -3, -0.5, 0, 2, 8), s = fast_or(c(0.1, 9), c(1e-3, 0.1, 1, 3, 9))
  )
  for (link in c("logit", "probit")) {
    model <- gibbsite:::binomial_response(list(design = list(link = link)))
    share <- if (link == "logit") plogis else pnorm
    by_quadrature <- mapply(function(m, s) {
      # pieces, so that no peak is missed
      ends <- seq(-12, 30, by = 0.5)
      integral <- function(f) {
        sum(vapply(seq_along(ends[-1]), function(k) {
          stats::integrate(
            f, ends[k], ends[k + 1], rel.tol = 1e-11, abs.tol = 0,
            stop.on.error = FALSE
          )$value
        }, 0))
      }
      mean <- integral(function(z) share(-abs(m) + s * z) * dnorm(z))
      sqrt(integral(function(z) {
        (share(-abs(m) + s * z) - mean)^2 * dnorm(z)
      }))
    }, grid$m, grid$s)
    got <- gibbsite:::share_sd(model, grid$m, grid$s)
    expect_lt(max(abs(got / by_quadrature - 1)), 1e-9)
    # for small s: the slope at m, also far out
    m <- c(-18, -2, 0, 2, 18)
    slope <- if (link == "logit") dlogis(m) else dnorm(m)
    expect_equal(
      gibbsite:::share_sd(model, m, rep(1e-6, 5)) / slope, rep(1e-6, 5),
      tolerance = 1e-9
    )
    expect_identical(gibbsite:::share_sd(model, c(0, 3), c(0, 0)), c(0, 0))
  }
  # far out sigma(x) is exp(x), on either side
  expect_equal(
    gibbsite:::share_sd(list(link = "logit"), c(-60, 60), c(1, 1)),
    rep(exp(-60) * sqrt(exp(1) * (exp(1) - 1)), 2), tolerance = 1e-12
  )
})

test_that("missing and infinite arguments give what they should", {
  got <- gibbsite:::logistic_mean(c(NA, 1, Inf, -Inf, 0), c(1, NA, 1, 1, Inf))
  expect_identical(is.na(got), c(TRUE, TRUE, FALSE, FALSE, FALSE))
  expect_equal(got[3:5], c(1, 0, 0.5))
})

# ---- predictions ------------------------------------------------------------

test_that("predictions are those of the normal distribution of x'w", {
  skip_long()
  skip_if_not_installed("MASS")
  fit <- pima()
  x <- model.matrix(fit)
  link <- predict(fit, interval = "mean", level = 0.9)
  m <- as.vector(x %*% coef(fit))
  s <- sqrt(rowSums((x %*% vcov(fit)) * x))
  expect_equal(link$mean, m)
  expect_equal(link$sd, unname(s))
  expect_equal(link$lower, unname(m - qnorm(0.95) * s))
  response <- predict(fit, type = "response", interval = "mean", level = 0.9)
  expect_equal(response$mean, mapply(mean_by_quadrature, m, s),
               tolerance = 1e-12)
  expect_equal(response$upper, plogis(link$upper))
  expect_identical(predict(fit), setNames(link$mean, row.names(link)))
  expect_identical(
    unname(predict(fit, type = "response")), response$mean
  )
})

test_that("they agree with the draws, which the mode alone does not", {
  skip_long()
  skip_if_not_installed("MASS")
  fit <- pima()
  draws <- posterior_epred(fit, MASS::Pima.te)
  mean <- predict(fit, MASS::Pima.te, type = "response")
  expect_lt(max(abs(z_of_means(draws, mean))), 4.5)
  at_mode <- plogis(predict(fit, MASS::Pima.te))
  expect_gt(max(abs(z_of_means(draws, at_mode))), 4.5)
  sd <- predict(fit, MASS::Pima.te, type = "response", interval = "mean")$sd
  squares <- sweep(draws, 2, mean)^2
  expect_lt(max(abs(z_of_means(squares, sd^2))), 4.5)
})

test_that("with a flat prior fit and error on new data are glm's", {
  skip_if_not_installed("MASS")
  fit <- short_logistic(
    type ~ ., MASS::Pima.tr, prior = logistic_prior(1e6, 1e6)
  )
  peer <- glm(type ~ ., binomial, MASS::Pima.tr)
  error <- sqrt(diag(vcov(peer)))
  expect_lt(max(abs(coef(fit) - coef(peer)) / error), 1e-3)
  expect_equal(sqrt(diag(vcov(fit))), error, tolerance = 1e-3)
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peer)),
               tolerance = 1e-6)
  expect_identical(attributes(logLik(fit))[c("df", "nobs")],
                   attributes(logLik(peer))[c("df", "nobs")])
  predicted <- predict(fit, MASS::Pima.te, type = "class")
  expect_s3_class(predicted, "factor")
  expect_lte(mean(predicted != MASS::Pima.te$type), 0.199)
})

test_that("one by one is the same as all at once, dense as sparse", {
  skip_long()
  skip_if_not_installed("MASS")
  skip_if_not_installed("Matrix")
  fit <- pima()
  n <- fast_or(8, 40)
  new <- MASS::Pima.te[seq_len(n), ]
  for (type in c("link", "response", "class")) {
    all <- predict(fit, new, type = type)
    single <- lapply(seq_len(n), function(i) {
      predict(fit, new[i, ], type = type)
    })
    if (type == "class") {
      expect_identical(as.character(all), vapply(single, as.character, ""))
    } else {
      expect_identical(unname(all), vapply(single, unname, 0))
    }
  }
  expect_identical(
    posterior_epred(fit, new, ndraws = 30)[, 7],
    posterior_epred(fit, new[7, ], ndraws = 30)[, 1]
  )
  x <- model.matrix(fit)
  y <- as.integer(MASS::Pima.tr$type) - 1L
  dense <- laplace_logistic(
    x, y, draws = 10, chains = 1, seed = 1, progress = FALSE
  )
  sparse <- laplace_logistic(
    Matrix::Matrix(x, sparse = TRUE), y, draws = 10, seed = 1, progress = FALSE
  )
  one <- predict(dense, x, type = "response")
  expect_equal(predict(sparse, type = "response"), one)
  expect_identical(
    predict(dense, Matrix::Matrix(x, sparse = TRUE), type = "response"), one
  )
  expect_identical(predict(dense, x[, 8:1], type = "response"), one)
  expect_identical(predict(dense, unname(x)), unname(predict(dense, x)))
  expect_identical(predict(dense, x[3, ]), unname(predict(dense)[3]))
})

test_that("offsets of the formula and of the argument count", {
  skip_long()
  data <- transform(mtcars, o = qsec / 10)
  inside <- short_logistic(am ~ wt + offset(o), data)
  beside <- short_logistic(am ~ wt, data, offset = o)
  expect_equal(coef(inside), coef(beside))
  new <- data[1:5, ]
  expect_equal(predict(inside, new), predict(inside)[1:5])
  expect_equal(predict(beside, new, offset = new$o), predict(inside, new))
  expect_equal(predict(beside), predict(inside))
  expect_equal(
    predict(beside, new, offset = 0) + new$o, predict(inside, new)
  )
  expect_equal(
    log_lik(beside, new, offset = new$o), log_lik(beside)[, 1:5]
  )
})

test_that("missing predictors give missing predictions", {
  new <- mtcars[1:3, ]
  new$wt[2] <- NA
  fit <- cars()
  for (type in c("link", "response")) {
    got <- predict(fit, new, type = type, interval = "mean")
    expect_identical(is.na(got$mean), c(FALSE, TRUE, FALSE))
    expect_identical(is.na(got$sd), c(FALSE, TRUE, FALSE))
  }
  expect_identical(is.na(predict(fit, new, type = "class"))[[2]], TRUE)
  expect_identical(
    unname(is.na(posterior_predict(fit, new, ndraws = 3)[1, ])),
    c(FALSE, TRUE, FALSE)
  )
})

test_that("rows that na.exclude left out come back", {
  data <- mtcars
  data$wt[c(2, 7)] <- NA
  fit <- suppressMessages(short_logistic(am ~ wt, data, na_action = na.exclude))
  for (values in list(fitted(fit), residuals(fit), predict(fit))) {
    expect_identical(names(values), rownames(mtcars))
    expect_identical(which(is.na(values)), c("Mazda RX4 Wag" = 2L,
                                             "Duster 360" = 7L))
  }
  expect_identical(nobs(fit), 30L)
})

test_that("classes have the form of the response", {
  data <- three_forms()
  class_of <- function(formula) {
    predict(short_logistic(formula, data), type = "class")
  }
  expect_identical(levels(class_of(f ~ wt)), c("no", "yes"))
  expect_type(class_of(l ~ wt), "logical")
  expect_type(class_of(am ~ wt), "double")
  success <- unname(class_of(l ~ wt))
  expect_identical(unname(class_of(f ~ wt) == "yes"), success)
  expect_identical(unname(class_of(am ~ wt) == 1), success)
})

# ---- data, residuals, likelihood --------------------------------------------

test_that("residuals are those of their formulas", {
  fit <- beetle()
  p <- fitted(fit)
  n <- beetles$exposed
  y <- beetles$killed / n
  expect_equal(residuals(fit, "response"), y - p)
  expect_equal(residuals(fit, "pearson"), (y - p) / sqrt(p * (1 - p) / n))
  part <- function(a, b) ifelse(a > 0, a * log(a / b), 0)
  deviance <- 2 * n * (part(y, p) + part(1 - y, 1 - p))
  expect_equal(residuals(fit), sign(y - p) * sqrt(deviance))
  expect_identical(names(residuals(fit)), row.names(beetles))
  weighted <- short_logistic(am ~ wt, mtcars, weights = rep(c(0.5, 2), 16))
  p <- fitted(weighted)
  expect_equal(
    residuals(weighted, "pearson"),
    (mtcars$am - p) * sqrt(rep(c(0.5, 2), 16) / (p * (1 - p)))
  )
})

test_that("the log-likelihood is the binomial one", {
  fit <- beetle()
  p <- posterior_epred(fit)
  by_hand <- dbinom(
    rep(beetles$killed, each = nrow(p)), rep(beetles$exposed, each = nrow(p)),
    p, log = TRUE
  )
  expect_equal(as.vector(log_lik(fit)), by_hand)
  expect_equal(log_lik(fit, beetles), log_lik(fit))
  expect_equal(
    as.numeric(logLik(fit)),
    sum(dbinom(beetles$killed, beetles$exposed, plogis(predict(fit)),
               log = TRUE))
  )
  both <- cars()
  expect_equal(log_lik(both, mtcars), log_lik(both))
  expect_equal(log_lik(both, mtcars[4, ], ndraws = 20)[, 1],
               log_lik(both, ndraws = 20)[, 4])
  x <- cbind(1, mtcars$wt)
  colnames(x) <- c("(Intercept)", "wt")
  matrix_fit <- laplace_logistic(x, mtcars$am, draws = 20, progress = FALSE)
  expect_equal(
    unname(log_lik(matrix_fit, x, y = mtcars$am)), unname(log_lik(matrix_fit))
  )
})

test_that("formula, terms, frames and family are there", {
  skip_long()
  fit <- cars()
  expect_equal(
    formula(fit), am ~ wt + factor(gear > 3), ignore_formula_env = TRUE
  )
  expect_identical(attr(terms(fit), "term.labels"), c("wt", "factor(gear > 3)"))
  expect_identical(dim(model.frame(fit)), c(32L, 3L))
  expect_identical(
    colnames(model.matrix(fit)), c("(Intercept)", "wt", "factor(gear > 3)TRUE")
  )
  expect_identical(family(fit)$link, "logit")
  expect_identical(nobs(fit), 32L)
  expect_s3_class(prior_summary(fit), "logistic_prior")
  smaller <- update(fit, . ~ wt)
  expect_equal(formula(smaller), am ~ wt, ignore_formula_env = TRUE)
  expect_identical(
    update(fit, prior = logistic_prior(1), evaluate = FALSE)$prior,
    quote(logistic_prior(1))
  )
  expect_identical(
    coef(update(fit, prior = logistic_prior(1, 1))),
    coef(short_logistic(am ~ wt + factor(gear > 3), mtcars,
                        prior = logistic_prior(1, 1)))
  )
})

test_that("simulated responses look like the response", {
  data <- three_forms()
  one <- function(formula) {
    simulate(short_logistic(formula, data), 3, seed = 7)
  }
  expect_s3_class(one(f ~ wt)$sim_2, "factor")
  expect_type(one(l ~ wt)$sim_2, "logical")
  expect_true(all(one(am ~ wt)$sim_2 %in% 0:1))
  counts <- simulate(beetle(), 2, seed = 7)
  expect_identical(dim(counts$sim_1), c(8L, 2L))
  expect_equal(rowSums(counts$sim_1), beetles$exposed)
  expect_identical(row.names(one(l ~ wt)), row.names(mtcars))
  set.seed(1)
  before <- .Random.seed
  again <- simulate(beetle(), 2, seed = 7)
  expect_identical(counts, again)
  expect_identical(.Random.seed, before)
})

test_that("replicated data have the predictive mean", {
  fit <- beetle()
  set.seed(1)
  draws <- posterior_predict(fit)
  expect_identical(dim(draws), c(400L, 8L))
  expect_lt(max(abs(z_of_means(draws, fitted(fit) * beetles$exposed))), 4.5)
  set.seed(1)
  expect_identical(posterior_predict(fit), draws)
  new <- posterior_predict(
    fit, beetles[1:2, ], trials = c(1, 1000), ndraws = 50
  )
  expect_lte(max(new[, 1]), 1)
  expect_gt(max(new[, 2]), 1)
  expect_identical(
    posterior_linpred(fit, transform = TRUE), posterior_epred(fit)
  )
  r2 <- bayes_R2(cars())
  expect_length(r2, 400)
  expect_true(all(r2 > 0 & r2 < 1))
})

test_that("the predictions of a corrected fit are those of its draws", {
  skip_long()
  fit <- suppressWarnings(
    short_logistic(am ~ wt, mtcars, correct = "importance", draws = 100)
  )
  draws <- posterior_epred(fit)
  got <- predict(fit, type = "response", interval = "mean", level = 0.8)
  expect_equal(got$mean, unname(colMeans(draws)))
  expect_equal(got$sd, unname(apply(draws, 2, sd)))
  expect_equal(got$lower, unname(apply(draws, 2, quantile, 0.1)))
  expect_equal(predict(fit), colMeans(posterior_linpred(fit)))
})

test_that("a fit without its data predicts for new ones", {
  skip_long()
  fit <- cars()
  bare <- drop_data(fit)
  expect_identical(
    predict(bare, mtcars, type = "response"), predict(fit, mtcars, "response")
  )
  expect_identical(posterior_epred(bare, mtcars), posterior_epred(fit, mtcars))
  expect_equal(log_lik(bare, mtcars), log_lik(fit))
  expect_identical(coef(bare), coef(fit))
  expect_equal(
    formula(bare), formula(fit), ignore_formula_env = TRUE
  )
  for (answer in list(predict, fitted, residuals, logLik, simulate,
                      model.frame, log_lik, importance_check)) {
    expect_error(answer(bare), class = "gibbsite_error")
  }
})

test_that("augment() puts predictions beside the data", {
  fit <- cars()
  own <- augment(fit)
  expect_identical(nrow(own), 32L)
  expect_identical(own$.fitted, unname(fitted(fit)))
  expect_identical(own$.resid, unname(residuals(fit)))
  beside <- augment(fit, data = mtcars)
  expect_identical(names(beside)[1:11], names(mtcars))
  new <- augment(fit, newdata = mtcars[1:3, ], conf.level = 0.5)
  expect_identical(names(new)[12:15], c(".fitted", ".sd", ".lower", ".upper"))
})

# Of draws from N(map, Sigma) the linear predictor of an observation is normal;
# m and s: its mean, of the sign of what was observed, and its sd.  What loo()
# and waic() estimate then has one dimension, with p = sigma(m + s Z):
#   loo   sum -log E(1 / p), where 1 / p = 1 + exp(-m - s Z)
#   waic  sum  log E(p) - var(log p)
# Both are sums over observations of functions of means over the same draws; a
# draw adds the sum of its parts to the error, to first order, so that the sd of
# these sums over the root of the number of draws is the Monte Carlo error.
# (1 / p is log-normal but for a constant: its variance is finite, and for s up
# to about 1.7, as here, means of some thousand are near enough to normal.)
test_that("loo() and waic() take it", {
  skip_long()
  skip_if_not_installed("MASS")
  fit <- pima()
  x <- model.matrix(fit)
  sign <- ifelse(MASS::Pima.tr$type == "Yes", 1, -1)
  m <- sign * as.vector(x %*% coef(fit))
  s <- sqrt(rowSums((x %*% vcov(fit)) * x))
  expect_lt(max(s), 1.7)
  log_p <- log_lik(fit)
  n <- nrow(log_p)
  relative <- function(x) x / rep(colMeans(x), each = n) - 1
  estimate <- suppressWarnings(loo::loo(fit))$estimates["elpd_loo", "Estimate"]
  error <- sd(rowSums(relative(exp(-log_p)))) / sqrt(n)
  expect_lt(abs(estimate + sum(log1p(exp(-m + s^2 / 2)))), 4.5 * error)
  # the mode by itself, or one draw's log p on average, is something else
  expect_gt(abs(estimate - sum(plogis(m, log.p = TRUE))), 4.5 * error)
  expect_gt(abs(estimate - mean(rowSums(log_p))), 4.5 * error)
  waic <- suppressWarnings(loo::waic(fit))$estimates
  spread <- (log_p - rep(colMeans(log_p), each = n))^2
  error <- sd(
    rowSums(relative(exp(log_p))) -
      rowSums(spread - rep(colMeans(spread), each = n))
  ) / sqrt(n)
  rule <- quadrature(-10, 10)
  weight <- rule$weight * dnorm(rule$node)
  at <- plogis(m + outer(s, rule$node), log.p = TRUE)
  variance <- drop(at^2 %*% weight) - drop(at %*% weight)^2
  exact <- sum(log(drop(exp(at) %*% weight)) - variance)
  expect_lt(abs(waic["elpd_waic", "Estimate"] - exact), 4.5 * error)
})

# ---- the approximation beside the posterior ---------------------------------

# Random-walk Metropolis for a logistic regression, written from the model:
# log p(w | y) = sum_i [y_i eta_i - log(1 + exp(eta_i))] - sum_j w_j^2 / 2 c_j.
random_walk <- function(x, y, c, start, scale, n) {
  log_density <- function(w) {
    eta <- as.vector(x %*% w)
    sum(stats::plogis(ifelse(y == 1, eta, -eta), log.p = TRUE)) -
      sum(w^2 / c) / 2
  }
  p <- length(start)
  steps <- matrix(stats::rnorm(n * p), n) %*% chol(scale) * 2.4 / sqrt(p)
  limits <- log(stats::runif(n))
  out <- matrix(0, n, p)
  now <- log_density(start)
  for (t in seq_len(n)) {
    proposal <- start + steps[t, ]
    value <- log_density(proposal)
    if (limits[[t]] < value - now) {
      start <- proposal
      now <- value
    }
    out[t, ] <- start
  }
  out
}

test_that("corrected, the means are those of a long Markov chain", {
  skip_unless_extended()
  skip_if_not_installed("MASS")
  fit <- pima()
  x <- unname(model.matrix(fit))
  y <- as.integer(MASS::Pima.tr$type == "Yes")
  n <- 1e6
  set.seed(20)
  chain <- random_walk(
    x, y, prior_summary(fit)$slope_variance, coef(fit), vcov(fit), n
  )
  chain <- chain[-seq_len(n / 20), ]
  mean <- colMeans(chain)
  error <- apply(chain, 2, posterior::mcse_mean)
  check <- importance_check(fit)
  expect_lt(check$pareto_k, 0.7)
  e <- check$estimates
  z <- (e$mean - mean) / sqrt(error^2 + e$mcse^2)
  expect_lt(max(abs(z)), 4)
  # the mode is not the mean
  expect_gt(max(abs(e$map - mean) / sqrt(error^2 + e$mcse^2)), 4)
  corrected <- update(fit, correct = "importance")
  draws <- posterior::as_draws_array(corrected)
  own <- apply(draws, 3, posterior::mcse_mean)
  z <- (apply(draws, 3, mean) - mean) / sqrt(error^2 + own^2)
  expect_lt(max(abs(z)), 4)
  expect_true(converged(corrected))
})

# Posteriors with tails that their approximations lack, from a little to much:
# the density without its constant, where the mass is, and how to fit it.
corrected_cases <- function() {
  regression <- function(x, y, c, lower, upper) {
    sign <- ifelse(y == 1, 1, -1)
    list(
      fit = function(...) {
        laplace_logistic(x, y, prior = logistic_prior(c, c), ...)
      },
      log_joint = function(w) {
        eta <- rep(sign, each = nrow(w)) * (w %*% t(x))
        rowSums(plogis(eta, log.p = TRUE)) +
          rowSums(dnorm(w, 0, sqrt(c), log = TRUE))
      },
      lower = lower, upper = upper
    )
  }
  six <- c(-3:-1, 1:3)
  list(
    # k about 0.3, 0.55, 0.55, 0.8 and 0.7
    overlap = regression(
      cbind(a = 1, b = rep(c(-1, 0, 1, 2), 10)), rep(c(0, 1, 0, 1, 1), 8), 4,
      c(-3, -3), c(4, 3)
    ),
    one = regression(
      cbind(b = c(-2, -1, 0.5, 1, 3, 4)), c(0, 0, 1, 0, 1, 1), 4, -8, 14
    ),
    six = regression(cbind(a = 0.1, b = six), c(0, 0, 0, 1, 1, 1), 9,
                     c(-24, -4), c(24, 24)),
    separated = regression(cbind(a = 1, b = six), c(0, 0, 0, 1, 1, 1), 100,
                           c(-70, -10), c(70, 80)),
    log_gamma = list(
      fit = function(...) {
        laplace(
          function(x) 0.7 * x[[1]] - exp(x[[1]]), c(x = 0),
          gradient = function(x) 0.7 - exp(x),
          hessian = function(x) -exp(x), ...
        )
      },
      log_joint = function(w) drop(0.7 * w - exp(w)), lower = -60, upper = 6
    )
  )
}

# list(log_evidence, mean, sd) of a case's last parameter, by the product of
# rules with that many pieces
by_quadrature <- function(case, pieces) {
  rules <- Map(function(l, u) quadrature(l, u, pieces), case$lower, case$upper)
  node <- as.matrix(expand.grid(lapply(rules, `[[`, "node")))
  weight <- Reduce(function(a, b) as.vector(outer(a, b)),
                   lapply(rules, `[[`, "weight"))
  value <- unname(case$log_joint(node))
  share <- weight * exp(value - max(value))
  last <- node[, ncol(node)]
  mean <- sum(share * last) / sum(share)
  list(
    log_evidence = log(sum(share)) + max(value), mean = mean,
    sd = sqrt(sum(share * (last - mean)^2) / sum(share))
  )
}

# Over seeds, errors in units of what is told of them have squares of mean 1,
# and errors of the sd have mean zero.  Rows: of corrected values, and of the
# draws by their own weights, whose errors the same formulas do not tell.
errors_of_corrected <- function(case, truth, seeds) {
  vapply(seeds, function(seed) {
    fit <- case$fit(seed = seed, progress = FALSE)
    check <- importance_check(fit)
    estimate <- check$estimates[nrow(check$estimates), ]
    share <- exp(check$log_weights)
    draws <- as.matrix(fit)
    draws <- draws[, ncol(draws)]
    own <- sum(share * draws)
    c(
      evidence = (check$log_evidence - truth$log_evidence) /
        check$log_evidence_se,
      mean = (estimate$mean - truth$mean) / estimate$mcse,
      sd = estimate$sd / truth$sd - 1,
      own_mean = (own - truth$mean) / sqrt(sum((share * (draws - own))^2)),
      own_sd = sqrt(sum(share * (draws - own)^2)) / truth$sd - 1
    )
  }, numeric(5))
}

test_that("corrected values err as much as they say", {
  skip_unless_extended()
  seeds <- 1:25
  tiny_p <- 1e-5
  most <- qchisq(tiny_p, length(seeds), lower.tail = FALSE)
  cases <- corrected_cases()
  for (name in names(cases)) {
    pieces <- if (length(cases[[name]]$lower) == 1) 200 else 30
    truth <- by_quadrature(cases[[name]], pieces * 0.8)
    # far below any Monte Carlo error
    if (is_extended()) {
      expect_equal(
        by_quadrature(cases[[name]], pieces), truth, tolerance = 1e-8
      )
    }
    errors <- errors_of_corrected(cases[[name]], truth, seeds)
    expect_lt(sum(errors["evidence", ]^2), most, label = name)
    expect_lt(sum(errors["mean", ]^2), most, label = name)
    expect_gt(t.test(errors["sd", ])$p.value, tiny_p, label = name)
    if (name %in% c("one", "separated", "log_gamma")) {
      expect_gt(sum(errors["own_mean", ]^2), most, label = name)
      expect_lt(t.test(errors["own_sd", ])$p.value, tiny_p, label = name)
    }
  }
})

test_that("corrected values that cannot be trusted are told", {
  skip_long()
  heavy <- laplace(
    function(x) -log1p(x[[1]]^2), c(x = 0.1), gradient = function(x) {
      -2 * x / (1 + x^2)
    }, hessian = function(x) matrix(-2 * (1 - x^2) / (1 + x^2)^2), seed = 2,
    progress = FALSE
  )
  check <- importance_check(heavy)
  expect_gt(check$corrected_k, 0.5)
  expect_output(print(check), "Corrected values (may be|cannot)")
  expect_output(print(summary(heavy)), "Corrected values (may be|cannot)")
  light <- importance_check(cars())
  expect_lt(light$corrected_k, 0.5)
  printed <- paste(capture.output(print(light)), collapse = " ")
  expect_no_match(printed, "Corrected values (may be|cannot)")
})

test_that("the evidence of one coefficient is that of quadrature", {
  skip_long()
  case <- corrected_cases()$one
  truth <- by_quadrature(case, 200)$log_evidence
  fit <- case$fit(draws = 5000, seed = 1, progress = FALSE)
  evidence <- log_evidence(fit, "importance")
  expect_lt(abs(evidence - truth), 4.5 * attr(evidence, "se"))
  # Laplace's is 0.04 off, 16 of these errors
  expect_gt(abs(log_evidence(fit) - truth), 4.5 * attr(evidence, "se"))
})

test_that("intervals cover as often as they say", {
  skip_unless_extended()
  # coefficients from the prior, data from the model: the probability that an
  # interval covers is then the level, whatever the coefficients
  set.seed(11)
  count <- 4000
  covered <- replicate(count, {
    x <- cbind(1, matrix(rnorm(400), 200))
    colnames(x) <- c("(Intercept)", "a", "b")
    w <- rnorm(3)
    y <- rbinom(200, 1, plogis(x %*% w))
    fit <- suppressMessages(laplace_logistic(
      x, y, prior = logistic_prior(1, 1), draws = 1, chains = 1,
      progress = FALSE
    ))
    bounds <- confint(fit, level = 0.8)
    # half as wide: a wrong one
    half <- (bounds + coef(fit)) / 2
    c(
      bounds[, 1] < w & w < bounds[, 2], half[, 1] < w & w < half[, 2]
    )
  })
  share <- rowMeans(covered)
  error <- sqrt(0.8 * 0.2 / count)
  expect_lt(max(abs(share[1:3] - 0.8)) / error, 4.5)
  expect_gt(min(abs(share[4:6] - 0.8)) / error, 4.5)
})

# ---- comparisons ------------------------------------------------------------

test_that("models are compared by their evidence", {
  skip_long()
  a <- short_logistic(am ~ wt, mtcars)
  b <- short_logistic(am ~ wt + qsec, mtcars)
  table <- anova(a, b)
  evidence <- c(log_evidence(a), log_evidence(b))
  expect_equal(table$log_evidence, evidence)
  expect_equal(table$probability, exp(evidence) / sum(exp(evidence)))
  expect_identical(table$parameters, 2:3)
  expect_snapshot(anova(a, b))
  flat <- short_logistic(am ~ wt, mtcars, prior = logistic_prior(Inf, Inf))
  other <- short_logistic(vs ~ wt, mtcars)
  fewer <- short_logistic(am ~ wt, mtcars[-1, ])
  bare <- drop_data(a)
  line <- laplace(function(x) -x^2 / 2, c(a = 1), function(x) -x,
                  function(x) matrix(-1), progress = FALSE)
  expect_gibbsite_error({
    anova(a, flat)
    anova(a, other)
    anova(a, fewer)
    anova(a, bare)
    anova(a, line)
    anova(a, b, prior_odds = 1:3)
  })
})

# ---- pictures ---------------------------------------------------------------

test_that("pictures are drawn and leave the settings alone", {
  skip_long()
  pdf(NULL)
  withr::defer(dev.off())
  before <- par(c("mar", "mfrow", "oma", "pty"))
  fit <- cars()
  for (type in c("coefficients", "response", "calibration", "trace")) {
    expect_invisible(plot(fit, type = type))
    expect_identical(par(c("mar", "mfrow", "oma", "pty")), before)
  }
  plot(fit, type = "response", variable = "gear")
  plot(beetle(), type = "response")
  plot(beetle(), type = "calibration", groups = 4)
  x <- cbind("(Intercept)" = 1, wt = mtcars$wt)
  plot(
    laplace_logistic(x, mtcars$am, draws = 50, progress = FALSE),
    type = "response"
  )
  curved <- short_logistic(am ~ log(wt), mtcars)
  plot(curved, type = "response", variable = "wt")
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::pp_check(fit), "ggplot")
  expect_s3_class(bayesplot::pp_check(beetle()), "ggplot")
})

test_that("the groups of the calibration hold every observation once", {
  fit <- beetle()
  frame <- attr(fit, "model")$frame
  table <- gibbsite:::calibration_table(fit, frame, 0.95, 4, NULL)
  expect_equal(sum(table$trials), sum(beetles$exposed))
  expect_equal(
    sum(table$observed * table$trials), sum(beetles$killed)
  )
  expect_equal(
    sum(table$predicted * table$trials), sum(fitted(fit) * beetles$exposed)
  )
  expect_true(all(table$lower <= table$predicted + 0.1))
  expect_identical(
    gibbsite:::calibration_table(fit, frame, 0.95, 4, NULL), table
  )
})

# ---- print and messages -----------------------------------------------------

without_time <- function(lines) sub("; [0-9.e-]+ (s|min|h)$", "", lines)

# the words alone
without_numbers <- function(lines) {
  gsub(" +", " ", gsub("-?[0-9][0-9.]*", "#", without_time(lines)))
}

test_that("what is printed says what was done, and how good it is", {
  skip_long()
  fit <- short_logistic(am ~ wt, mtcars, draws = 1000, chains = 4)
  expect_snapshot({
    fit
    summary(fit)
    importance_check(fit)
    drop_data(fit)
  }, transform = without_time)
  expect_snapshot(
    update(fit, prior = logistic_prior(Inf, Inf)), transform = without_time
  )
  expect_snapshot(
    update(fit, correct = "importance"), transform = without_numbers
  )
})

test_that("mistakes in predictions are named", {
  skip_long()
  fit <- cars()
  bare <- drop_data(fit)
  race <- transform(mtcars, cyl = factor(cyl))
  levels <- short_logistic(am ~ wt + cyl, race[race$cyl != "8", ])
  x <- cbind(a = mtcars$wt, b = mtcars$qsec)
  by_matrix <- laplace_logistic(x, mtcars$am, draws = 5, progress = FALSE)
  beside <- short_logistic(am ~ wt, mtcars, offset = qsec)
  counts <- beetle()
  factors <- short_logistic(factor(am) ~ wt, mtcars)
  expect_gibbsite_error({
    predict(bare)
    predict(fit, mtcars["gear"])
    predict(fit, 1:3)
    predict(fit, transform(mtcars, wt = as.character(wt)))
    predict(levels, race)
    predict(fit, type = "odds")
    predict(fit, level = 95)
    predict(fit, interval = "yes")
    predict(fit, offset = 1)
    predict(beside, mtcars)
    predict(beside, mtcars, offset = 1:3)
    predict(by_matrix, x[, 1, drop = FALSE])
    predict(by_matrix, mtcars["am"])
    predict(counts, type = "class")
    fitted(bare)
    residuals(bare)
    residuals(fit, "working")
    formula(by_matrix)
    terms(by_matrix)
    model.frame(by_matrix)
    posterior_epred(fit, ndraws = 401)
    posterior_predict(fit, trials = 2)
    log_lik(by_matrix, x)
    log_lik(fit, mtcars["wt"])
    log_lik(fit, mtcars[c("wt", "gear")])
    log_lik(factors, transform(mtcars, am = "x"))
    augment(fit, data = mtcars[1:3, ])
    plot(fit, type = "roc")
    plot(fit, type = "response", variable = "hp")
    plot(fit, type = "calibration", groups = 1)
    plot(bare, type = "response")
  })
  expect_error(predict(levels, race), class = "gibbsite_error_level")
})
