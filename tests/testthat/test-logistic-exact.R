# laplace_logistic() finds the mode of the density it names and the curvature
# there: derivatives against numDeriv, densities that sum and integrate to 1,
# the mode against optim() and glm(), evidence and moments against quadrature, a
# twin, draws against the normal distribution, and mistakes that these reject.
#
# A z-score is compared with max_z = 4.5 and a p-value with tiny_p = 1e-4; seeds
# are fixed, so a pass stays a pass.

max_z <- 4.5
tiny_p <- 1e-4

# Settings that exercise every term; sizes around the blocks of 256 rows.
settings <- list(
  list(n = 1, p = 1), list(n = 2, p = 4, weighted = TRUE),
  list(n = 40, p = 3, offset = TRUE), list(n = 255, p = 5, counts = TRUE),
  list(n = 256, p = 2, weighted = TRUE, matrix_prior = TRUE),
  list(n = 257, p = 7, sparse = TRUE, offset = TRUE, weighted = TRUE),
  list(n = 600, p = 13, counts = TRUE, weighted = TRUE, offset = TRUE,
       matrix_prior = TRUE),
  list(n = 30, p = 70), list(n = 300, p = 131)
)

problems <- withr::with_seed(41, lapply(settings, function(s) {
  do.call(logistic_problem, s)
}))

density_for_c <- function(problem, sparse = FALSE) {
  model <- fit_model(fit_problem(problem, sparse = sparse))
  gibbsite:::logistic_density(
    model$frame, gibbsite:::prior_precision(model$prior)
  )
}

test_that("the log joint density is that of its factors", {
  skip_long()
  withr::local_seed(42)
  for (problem in problems) {
    model <- fit_model(fit_problem(problem))
    w <- matrix(rnorm(3 * ncol(problem$x), sd = 2), 3)
    expect_equal(
      gibbsite:::logistic_log_joint(model, w),
      apply(w, 1, logistic_joint_twin, problem = problem), tolerance = 1e-12
    )
    terms <- gibbsite:::logistic_log_lik(model, w)
    expect_identical(dim(terms), c(3L, nrow(problem$x)))
    expect_equal(
      rowSums(terms),
      apply(w, 1, function(w) {
        logistic_joint_twin(problem, w) - twin_log_prior(problem$c, w)
      }), tolerance = 1e-12
    )
  }
})

test_that("gradient and Hessian are the derivatives of the log joint", {
  skip_long()
  withr::local_seed(43)
  for (k in fast_or(3:6, 1:7)) {
    problem <- problems[[k]]
    w <- rnorm(ncol(problem$x))
    gradient <- numDeriv::grad(logistic_joint_twin, w, problem = problem)
    hessian <- -numDeriv::hessian(logistic_joint_twin, w, problem = problem)
    for (sparse in c(FALSE, TRUE)) {
      found <- .Call(
        gibbsite:::C_logistic_derivatives, density_for_c(problem, sparse), w
      )
      scale <- sqrt(diag(hessian))
      # Richardson's extrapolation is good to 1e-8 or so of the size of things
      expect_lt(max(abs(found$gradient - gradient) / scale), 1e-6)
      expect_lt(max(abs(found$hessian - hessian) / outer(scale, scale)), 1e-6)
      expect_equal(
        found$value, logistic_joint_twin(problem, w), tolerance = 1e-12
      )
    }
  }
})

test_that("no term is lost where all observations are saturated", {
  x <- cbind(c(1000, -1000, 500), c(1, 2, 3))
  problem <- list(
    x = x, success = c(0, 1, 1), trials = rep(1, 3), offset = rep(0, 3),
    weights = rep(1, 3), c = c(1e6, 1e6)
  )
  found <- .Call(
    gibbsite:::C_logistic_derivatives, density_for_c(problem), c(1, 0)
  )
  # log sigma(-1000) = -1000 and so on, to the last bit that counts
  expect_equal(
    found$value, -1000 - 1000 + twin_log_prior(problem$c, c(1, 0)),
    tolerance = 1e-14
  )
  expect_equal(found$gradient[[1]], -1000 - 1000 - 1e-6, tolerance = 1e-12)
  expect_true(all(is.finite(found$hessian)))
})

test_that("densities of all data sets, integrated over w, sum to 1", {
  skip_long()
  rule <- quadrature(-60, 60, 200)
  x <- c(0.5, -1.2, 2)
  total <- 0
  outcomes <- expand.grid(a = 0:1, b = 0:3, c = 0:1)
  trials <- c(1, 3, 1)
  for (i in seq_len(nrow(outcomes))) {
    s <- as.numeric(outcomes[i, ])
    fit <- suppressMessages(laplace_logistic(
      cbind(slope = x), cbind(s, trials - s),
      prior = logistic_prior(slope_variance = 7),
      offset = c(0.3, 0, -1), draws = 1, chains = 1, progress = FALSE
    ))
    value <- gibbsite:::logistic_log_joint(fit_model(fit), cbind(rule$node))
    total <- total + sum(rule$weight * exp(value))
  }
  expect_equal(total, 1, tolerance = 1e-12)
})

# ---- the mode ----------------------------------------------------------------

# How far (map, precision) is from the mode and the curvature of the log joint
# density, by numerical derivatives: in posterior standard deviations, and
# relative.
distance_from_truth <- function(problem, map, precision) {
  gradient <- numDeriv::grad(logistic_joint_twin, map, problem = problem)
  hessian <- -numDeriv::hessian(logistic_joint_twin, map, problem = problem)
  scale <- sqrt(diag(hessian))
  c(
    mode = sqrt(sum(gradient * solve(hessian, gradient))),
    curvature = max(abs(precision - hessian) / outer(scale, scale))
  )
}

is_right <- function(problem, map, precision) {
  all(distance_from_truth(problem, map, precision) < c(1e-6, 1e-5))
}

test_that("the mode is where the gradient vanishes, with the curvature there", {
  skip_long()
  for (k in fast_or(3:6, 1:7)) {
    for (sparse in c(FALSE, TRUE)) {
      fit <- fit_problem(problems[[k]], sparse = sparse)
      expect_true(is_right(
        problems[[k]], fit_model(fit)$data$map, precision_of(fit)
      ))
    }
  }
})

test_that("the twin finds the same mode, curvature and trace", {
  skip_long()
  for (problem in problems) {
    twin <- twin_search(problem)
    for (sparse in c(FALSE, TRUE)) {
      fit <- fit_problem(problem, sparse = sparse)
      model <- fit_model(fit)
      sd <- sqrt(diag(solve(twin$precision)))
      expect_lt(max(abs(model$data$map - twin$map) / sd), 1e-7)
      expect_equal(
        precision_of(fit), unname(twin$precision), tolerance = 1e-7
      )
      expect_equal(model$trace[[1]], twin$trace[[1]], tolerance = 1e-12)
      expect_equal(model$log_joint_map, max(twin$trace), tolerance = 1e-11)
      expect_true(all(diff(model$trace) > -1e-9))
    }
  }
})

test_that("optim() finds the same mode", {
  skip_long()
  for (k in c(3, 5, 7)) {
    problem <- problems[[k]]
    found <- optim(
      numeric(ncol(problem$x)), logistic_joint_twin, problem = problem,
      method = "BFGS", control = list(fnscale = -1, reltol = 1e-15,
                                      maxit = 1000)
    )
    fit <- fit_problem(problem)
    sd <- sqrt(diag(solve(precision_of(fit))))
    expect_gte(fit_model(fit)$log_joint_map, found$value - 1e-12)
    # BFGS stops within a relative 1e-15 of the value: about 1e-6 sd
    expect_lt(max(abs(fit_model(fit)$data$map - found$par) / sd), 1e-4)
  }
})

pima <- type ~ npreg + glu + bmi + ped + age

test_that("with a wide prior it is glm's estimate on Pima.tr", {
  skip_if_not_installed("MASS")
  reference <- glm(pima, binomial, MASS::Pima.tr,
                   control = list(epsilon = 1e-14))
  error <- sqrt(diag(vcov(reference)))
  fit <- laplace_logistic(pima, MASS::Pima.tr, progress = FALSE, draws = 10,
                          prior = logistic_prior(1e6, 1e6))
  model <- fit_model(fit)
  expect_identical(model$columns, names(coef(reference)))
  expect_lt(max(abs(model$data$map - coef(reference)) / error), 1e-3)
  expect_equal(
    unname(sqrt(diag(solve(precision_of(fit))))), unname(error),
    tolerance = 1e-3
  )
  flat <- laplace_logistic(pima, MASS::Pima.tr, progress = FALSE, draws = 10,
                           prior = logistic_prior(Inf, Inf))
  expect_lt(max(abs(fit_model(flat)$data$map - coef(reference)) / error), 1e-7)
  expect_equal(
    fit_model(flat)$log_joint_map, as.numeric(logLik(reference)),
    tolerance = 1e-12
  )
  expect_identical(fit_model(flat)$log_evidence, NA_real_)
})

test_that("every start leads to the same mode", {
  skip_long()
  skip_if_not_installed("MASS")
  at <- function(start, c = 1e6, ...) {
    fit_model(laplace_logistic(
      pima, MASS::Pima.tr, prior = logistic_prior(c, c), start = start,
      draws = 1, chains = 1, progress = FALSE, ...
    ))
  }
  for (c in c(1, 1e6, Inf)) {
    here <- at(NULL, c)
    sd <- sqrt(diag(chol2inv(t(here$data$precision_factor))))
    for (start in list(rep(30, 6), rep(-30, 6), c(-500, 1:5), rep(1e4, 6))) {
      there <- at(start, c)
      expect_lt(max(abs(there$data$map - here$data$map) / sd), 1e-7)
      expect_true(all(diff(there$trace) > -1e-9 * abs(there$trace[[1]])))
    }
  }
  expect_lte(at(here$data$map)$iterations, 3)
})

test_that("gradient ascent gets to where Newton's method does", {
  skip_if_not_installed("MASS")
  for (start in list(NULL, rep(30, 6))) {
    newton <- laplace_logistic(pima, MASS::Pima.tr, draws = 1, chains = 1)
    ascent <- laplace_logistic(pima, MASS::Pima.tr, draws = 1, chains = 1,
                               method = "gradient", start = start)
    sd <- sqrt(diag(solve(precision_of(newton))))
    apart <- fit_model(ascent)$data$map - fit_model(newton)$data$map
    expect_lt(max(abs(apart) / sd), 1e-7)
    expect_equal(precision_of(ascent), precision_of(newton), tolerance = 1e-7)
    trace <- fit_model(ascent)$trace
    expect_true(all(diff(trace) > -1e-9 * abs(trace[[1]])))
    expect_gt(length(trace), 20)
  }
})

# A step that has taken the distance to the mode from `last` to d sds is the
# last but one when d <= 1e-4 and (d / last)^2 <= 1e-8, or d <= 1e-9
# (has_converged(), logistic.c).  Newton's error is of second order,
# d = (c / 2) last^2, c the relative change of the curvature over a sd.  So the
# last step ends within (c / 2) d^2 = (d / last)^2 d <= 1e-12 sds of the mode,
# and the curvature, which is that of the point before it, is off by
# c d = 2 (d / last)^2 <= 2e-8 of itself.  To the first comes rounding, of the
# gradient: a sum of n terms of which none is above weight |x|, in whatever
# order, is off by at most n eps sum weight |x|.
expect_same_mode <- function(one, two, problem) {
  precision <- precision_of(one)
  sd <- sqrt(diag(solve(precision)))
  sums <- colSums(abs(problem$x) * problem$weights * problem$trials)
  slope <- nrow(problem$x) * .Machine$double.eps * sums
  # |H^-1 g| in sds: at most the length of g in the metric of H^-1
  rounding <- sqrt(sum(abs(slope) * (abs(solve(precision)) %*% abs(slope))))
  apart <- abs(fit_model(one)$data$map - fit_model(two)$data$map)
  expect_lt(max(apart / sd), 2 * (1e-12 + rounding))
  expect_lt(
    max(abs(precision_of(two) - precision) * outer(sd, sd)), 2 * 2e-8
  )
}

# The mode of every 20th row has, about that of all, 19 times the covariance of
# the posterior: 19 / 2 times a chi-square variate on 4 degrees of freedom is
# what the first value of the full search then lacks.
test_that("a warm start on some of the rows does not show", {
  skip_long()
  withr::local_seed(44)
  for (times in 1:3) {
    problem <- logistic_problem(20000, 4, weighted = TRUE, offset = TRUE)
    problem$weights <- problem$weights + 0.01
    warm <- fit_problem(problem)
    cold <- fit_problem(problem, start = numeric(4))
    lacks <- function(fit) diff(range(fit_model(fit)$trace))
    most <- 19 / 2 * qchisq(tiny_p, 4, lower.tail = FALSE)
    expect_lt(lacks(warm), most)
    expect_gt(lacks(cold), most)
    expect_same_mode(cold, warm, problem)
  }
})

# ---- many columns ------------------------------------------------------------

test_that("with many columns the twin finds the same mode", {
  skip_unless_extended()
  for (matrix_prior in c(FALSE, TRUE)) {
    problem <- withr::with_seed(46, logistic_problem(
      420, 260, counts = matrix_prior, weighted = TRUE, offset = TRUE,
      matrix_prior = matrix_prior, sparse = TRUE
    ))
    twin <- twin_search(problem)
    sd <- sqrt(diag(solve(twin$precision)))
    for (sparse in c(FALSE, TRUE)) {
      model <- fit_model(fit_problem(problem, sparse = sparse))
      expect_lt(max(abs(model$data$map - twin$map) / sd), 1e-7)
      expect_equal(
        tcrossprod(model$data$precision_factor), unname(twin$precision),
        tolerance = 1e-8
      )
      expect_equal(model$log_joint_map, max(twin$trace), tolerance = 1e-11)
      expect_true(all(diff(model$trace) > -1e-9))
    }
  }
})

test_that("with more columns than rows both ways lead to the same mode", {
  skip_long()
  problem <- withr::with_seed(47, logistic_problem(300, 400))
  problem$c <- rep(100, 400)
  model <- fit_model(fit_problem(problem, start = numeric(400)))
  # from the space of the rows
  other <- fit_model(fit_problem(problem))
  sd <- 1 / sqrt(diag(tcrossprod(model$data$precision_factor)))
  expect_lt(max(abs(other$data$map - model$data$map) / sd), 1e-7)
  expect_equal(model$log_evidence, other$log_evidence, tolerance = 1e-11)
  gradient <- function(w) {
    mean <- plogis(drop(problem$x %*% w))
    drop(crossprod(problem$x, problem$success - mean)) - w / 100
  }
  found <- optim(
    numeric(400), function(w) logistic_joint_twin(problem, w), gradient,
    method = "L-BFGS-B",
    control = list(fnscale = -1, factr = 0, pgtol = 1e-10, maxit = 5000)
  )
  expect_equal(model$log_joint_map, found$value, tolerance = 1e-10)
  expect_gte(model$log_joint_map, found$value - 1e-10 * abs(found$value))
  expect_lt(max(abs(model$data$map - found$par) / sd), 1e-4)
})

# ---- the evidence and the approximation --------------------------------------

test_that("the evidence is the integral of the quadratic that it stands for", {
  skip_long()
  problem <- withr::with_seed(45, logistic_problem(50, 2, offset = TRUE))
  model <- fit_model(fit_problem(problem))
  map <- model$data$map
  precision <- model$data$precision_factor %*% t(model$data$precision_factor)
  sd <- sqrt(diag(solve(precision)))
  rules <- lapply(1:2, function(j) {
    ends <- map[[j]] + c(-12, 12) * sd[[j]]
    quadrature(ends[[1]], ends[[2]], fast_or(10, 30))
  })
  grid <- as.matrix(expand.grid(rules[[1]]$node, rules[[2]]$node))
  weight <- as.vector(outer(rules[[1]]$weight, rules[[2]]$weight))
  from <- t(t(grid) - map)
  quadratic <- -0.5 * rowSums((from %*% precision) * from)
  value <- logistic_joint_twin(problem, map)
  expect_equal(
    model$log_evidence, value + log(sum(weight * exp(quadratic))),
    tolerance = 1e-10
  )
  # the posterior itself: its evidence, mean and covariance are near
  exact <- gibbsite:::logistic_log_joint(model, grid)
  evidence <- value + log(sum(weight * exp(exact - value)))
  share <- weight * exp(exact - evidence)
  mean <- colSums(share * grid)
  covariance <- crossprod(grid, share * grid) - tcrossprod(mean)
  # corrections are of order 1 / n, of the mean 1 / sqrt(n) standard deviations
  expect_lt(abs(model$log_evidence - evidence), 2 / 50)
  expect_lt(max(abs(mean - map) / sd), 2 / sqrt(50))
  expect_lt(max(abs(covariance / solve(precision) - 1)), 0.5)
})

test_that("in one dimension the errors fall as they should with more data", {
  errors <- vapply(c(20, 80, 320), function(n) {
    x <- cbind(slope = rep(c(0.5, 1, 2, 3), length.out = n))
    y <- rep(c(1, 0, 1, 1, 0, 1, 1, 1, 1, 0), each = 2, length.out = n)
    model <- fit_model(laplace_logistic(
      x, y, prior = logistic_prior(slope_variance = 4), draws = 1, chains = 1
    ))
    map <- model$data$map
    sd <- 1 / model$data$precision_factor[[1]]
    rule <- quadrature(map - 12 * sd, map + 12 * sd)
    exact <- gibbsite:::logistic_log_joint(model, cbind(rule$node))
    value <- model$log_joint_map
    evidence <- value + log(sum(rule$weight * exp(exact - value)))
    share <- rule$weight * exp(exact - evidence)
    mean <- sum(share * rule$node)
    c(
      evidence = abs(model$log_evidence - evidence),
      mean = abs(mean - map) / sd,
      sd = abs(sqrt(sum(share * (rule$node - mean)^2)) / sd - 1)
    )
  }, numeric(3))
  # n times 4: evidence and sd err a quarter as much, the mean half
  expect_equal(errors["evidence", -3] / errors["evidence", -1], c(4, 4),
               tolerance = 0.15)
  expect_equal(errors["sd", -3] / errors["sd", -1], c(4, 4), tolerance = 0.15)
  expect_equal(errors["mean", -3] / errors["mean", -1], c(2, 2),
               tolerance = 0.1)
})

# ---- draws -------------------------------------------------------------------

test_that("a draw is the twin's on the same random numbers", {
  fit <- fit_problem(problems[[6]], draws = 20, chains = 2, seed = 9)
  model <- fit_model(fit)
  chain <- gibbsite:::chain_streams(9L, 2L, NULL)[[2]]
  normals <- withr::with_preserve_seed({
    assign(".Random.seed", chain, globalenv())
    matrix(rnorm(20 * 7), 7)
  })
  twin <- model$data$map + backsolve(t(model$data$precision_factor), normals)
  expect_equal(unclass(fit[[2]]), t(twin), ignore_attr = TRUE,
               tolerance = 1e-12)
})

# Draws as standard normals, if they are what they should be.
whitened <- function(fit) {
  model <- fit_model(fit)
  t(t(model$data$precision_factor) %*% (t(as.matrix(fit)) - model$data$map))
}

normality <- function(e) {
  p <- ncol(e)
  n <- nrow(e)
  second <- crossprod(e) / n
  off <- second[upper.tri(second)] * sqrt(n)
  c(
    radius = stats::ks.test(rowSums(e^2), "pchisq", p)$p.value,
    each = stats::ks.test(as.vector(e), "pnorm")$p.value,
    means = stats::pchisq(n * sum(colMeans(e)^2), p, lower.tail = FALSE),
    variances = 2 * stats::pnorm(
      -max(abs(diag(second) - 1)) * sqrt(n / 2)
    ) * p,
    covariances = if (p > 1) 2 * stats::pnorm(-max(abs(off))) * length(off)
  )
}

test_that("draws have the normal distribution of the approximation", {
  skip_long()
  for (k in c(1, 3, 7)) {
    fit <- fit_problem(problems[[k]], draws = 5000, chains = 2, seed = 46)
    expect_gt(min(normality(whitened(fit))), tiny_p)
  }
  # and not any other: L for L', no mean, a variance off by a tenth
  e <- whitened(fit)
  model <- fit_model(fit)
  l <- model$data$precision_factor
  wrong <- t(t(l) %*% forwardsolve(l, t(e)))
  expect_lt(min(normality(wrong)), tiny_p)
  expect_lt(min(normality(e + 0.1)), tiny_p)
  expect_lt(min(normality(1.05 * e)), tiny_p)
})

# ---- wrong searches ----------------------------------------------------------

test_that("mistakes in the search are found out", {
  skip_long()
  problem <- withr::with_seed(
    47, logistic_problem(60, 4, weighted = TRUE, offset = TRUE)
  )
  problem$c <- c(20, 0.5, 0.5, 0.5)
  right <- twin_search(problem)
  expect_true(is_right(problem, right$map, right$precision))
  fit <- fit_problem(problem)
  expect_true(is_right(problem, fit_model(fit)$data$map, precision_of(fit)))
  for (mutant in c(
    "prior not in gradient", "prior not in Hessian", "intercept by c",
    "weights squared"
  )) {
    wrong <- twin_search(problem, mutant)
    expect_false(is_right(problem, wrong$map, wrong$precision))
  }
})

# The same mistakes, given to the package as input that is wrong by just so
# much: the comparison with the truth sees each of them.
test_that("a prior or weights that are slightly off are found out", {
  problem <- withr::with_seed(
    48, logistic_problem(60, 4, weighted = TRUE, offset = TRUE)
  )
  problem$c <- c(20, 0.5, 0.5, 0.5)
  passes <- function(change) {
    changed <- change(problem)
    fit <- fit_problem(changed)
    is_right(problem, fit_model(fit)$data$map, precision_of(fit))
  }
  expect_true(passes(identity))
  expect_false(passes(function(d) {
    d$c[] <- d$c[[2]]
    d
  }))
  expect_false(passes(function(d) {
    d$c <- d$c * 1.001
    d
  }))
  expect_false(passes(function(d) {
    d$weights <- d$weights^2
    d
  }))
  expect_false(passes(function(d) {
    d$offset <- 0 * d$offset
    d
  }))
})

# ---- identities --------------------------------------------------------------

expect_same_posterior <- function(a, b) {
  sd <- sqrt(diag(solve(precision_of(a))))
  apart <- fit_model(a)$data$map - fit_model(b)$data$map
  expect_lt(max(abs(apart) / sd), 1e-7)
  expect_equal(precision_of(a), precision_of(b), tolerance = 1e-7)
}

test_that("ways to give the same data give the same posterior", {
  withr::local_seed(49)
  problem <- logistic_problem(80, 3, counts = TRUE, offset = TRUE)
  one <- fit_problem(problem)
  # order of the rows
  shuffle <- sample(80)
  shuffled <- problem
  shuffled$x <- problem$x[shuffle, ]
  for (part in c("success", "trials", "offset")) {
    shuffled[[part]] <- problem[[part]][shuffle]
  }
  expect_same_posterior(one, fit_problem(shuffled))
  # a row a trial
  rows <- rep(seq_len(80), problem$trials)
  single <- problem
  single$x <- problem$x[rows, ]
  single$offset <- problem$offset[rows]
  single$success <- unlist(Map(function(s, m) rep(1:0, c(s, m - s)),
                               problem$success, problem$trials))
  single$trials <- single$weights <- rep(1, length(rows))
  expect_same_posterior(one, fit_problem(single))
  coefficients <- sum(lchoose(problem$trials, problem$success))
  expect_equal(
    fit_model(one)$log_evidence,
    fit_model(fit_problem(single))$log_evidence + coefficients,
    tolerance = 1e-10
  )
  # weights count observations
  single$weights <- sample(0:3, length(rows), replace = TRUE)
  several <- single
  copies <- rep(seq_along(rows), single$weights)
  several$x <- single$x[copies, ]
  for (part in c("success", "trials", "offset")) {
    several[[part]] <- single[[part]][copies]
  }
  several$weights <- rep(1, length(copies))
  a <- fit_problem(single)
  b <- fit_problem(several)
  expect_same_posterior(a, b)
  expect_equal(fit_model(a)$log_evidence, fit_model(b)$log_evidence,
               tolerance = 1e-10)
})

test_that("success and failure exchanged turn the coefficients around", {
  problem <- problems[[4]]
  turned <- problem
  turned$success <- problem$trials - problem$success
  a <- fit_model(fit_problem(problem))
  b <- fit_model(fit_problem(turned))
  expect_equal(a$data$map, -b$data$map, tolerance = 1e-7)
  expect_equal(a$log_evidence, b$log_evidence, tolerance = 1e-11)
})

test_that("the default prior does not depend on units", {
  skip_if_not_installed("MASS")
  other <- MASS::Pima.tr
  other$glu <- other$glu * 1000
  other$age <- other$age / 365
  a <- laplace_logistic(pima, MASS::Pima.tr, draws = 1, chains = 1)
  b <- laplace_logistic(pima, other, draws = 1, chains = 1)
  scale <- c(1, 1, 1000, 1, 1, 1 / 365)
  expect_equal(
    fit_model(a)$data$map, fit_model(b)$data$map * scale, tolerance = 1e-6
  )
  expect_equal(fit_model(a)$log_evidence, fit_model(b)$log_evidence,
               tolerance = 1e-9)
})

test_that("the posterior sd shrinks as one over the root of n", {
  problem <- withr::with_seed(50, logistic_problem(500, 2))
  problem$c <- c(1e4, 1e4)
  sds <- vapply(c(1, 4, 16), function(copies) {
    problem$weights <- rep(copies, 500)
    sqrt(diag(solve(precision_of(fit_problem(problem)))))[[2]]
  }, 0)
  expect_equal(sds[-3] / sds[-1], c(2, 2), tolerance = 1e-3)
})
