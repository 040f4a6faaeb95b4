# The coefficients of centred variables: R/regression-rows.R and R/hlm-model.R.

basis_data <- function(shift = 0, n = 60) {
  withr::with_seed(4, {
    d <- data.frame(
      x = rnorm(n, 5), z = rnorm(n, -2, 3), f = factor(rep(1:3, n / 3)),
      g = factor(rep(letters[1:10], each = n / 10)),
      h = factor(sample(1:6, n, replace = TRUE)), w = runif(n, 0.5, 2)
    )
    u <- rnorm(10)[d$g] + rnorm(10, 0, 0.5)[d$g] * (d$x - 5)
    d$eta <- 1 + 0.6 * (d$x - 5) - 0.3 * d$z + 0.2 * (d$x - 5) * d$z + u
    d$y <- d$eta + rnorm(n)
    d$success <- rbinom(n, 1, plogis(d$eta))
    d$count <- rpois(n, exp(d$eta / 3))
    d$size <- cut(d$eta + rnorm(n), c(-Inf, 0, 2, Inf), c("s", "m", "l"),
                  ordered_result = TRUE)
    d$kind <- factor(as.character(d$size))
  })
  d$x <- d$x + shift
  d
}

basis_of <- function(formula, data, all = FALSE, used = rep(TRUE, nrow(data)),
                     contrasts = NULL) {
  frame <- model.frame(formula, data)
  gibbsite:::centred_basis(
    terms(formula), frame, contrasts, used, NULL, all
  )
}

test_that("the columns of the basis are those of centred variables", {
  d <- basis_data()
  d$"a b" <- d$z
  d$i <- I(d$x)
  centred <- d
  for (name in c("x", "z", "a b", "i")) {
    centred[[name]] <- d[[name]] - mean(d[[name]])
  }
  formulas <- list(
    y ~ x * z, y ~ x * f, y ~ x * z * f, y ~ 0 + f + f:x, y ~ f / x,
    y ~ x * z + f, y ~ x * `a b`, y ~ i * f, y ~ (x + z + f)^2 - f:z,
    y ~ poly(z, 2) * x
  )
  for (formula in formulas) {
    m <- basis_of(formula, d)
    x <- model.matrix(formula, d)
    expect_identical(dim(m), rep(ncol(x), 2L))
    other <- if ("poly(z, 2)" %in% attr(terms(formula), "term.labels")) {
      cbind(centred[setdiff(names(d), "z")], z = d$z)
    } else {
      centred
    }
    moved <- model.matrix(formula, other)
    # a variable that stands in no interaction stays
    own <- colSums(abs(x %*% m - moved)) < 1e-8
    alone <- vapply(colnames(moved), function(name) {
      name == "z" && !any(grepl(":.*z|z.*:", colnames(x)))
    }, NA)
    expect_true(all(own | alone), label = deparse(formula))
    expect_equal(abs(det(m)), 1)
  }
  contrasts <- list(f = "contr.helmert")
  m <- basis_of(y ~ x * f, d, contrasts = contrasts)
  expect_equal(
    unname(model.matrix(y ~ x * f, d, contrasts) %*% m),
    unname(model.matrix(y ~ x * f, centred, contrasts)), ignore_attr = TRUE
  )
})

test_that("some of many rows give the basis, and all where they do not", {
  n <- 2e4
  d <- withr::with_seed(1, data.frame(
    x = rnorm(n, 5), z = rnorm(n, 2), f = sample(letters[1:3], n, TRUE)
  ))
  d$y <- d$x
  # a level that none of the chosen rows has
  d$f[[2]] <- "rare"
  d$f[[4]] <- "rare"
  for (formula in list(y ~ x * z, y ~ x * f + z)) {
    m <- basis_of(formula, d)
    moved <- transform(d, x = x - mean(x))
    if (identical(formula[[3]][[1]], quote(`*`))) moved$z <- d$z - mean(d$z)
    x <- model.matrix(formula, d)
    expect_identical(dim(m), rep(ncol(x), 2L))
    expect_equal(x %*% m, model.matrix(formula, moved), ignore_attr = TRUE)
  }
})

test_that("there is no basis where nothing can be centred", {
  d <- basis_data()
  # without interactions, of factors alone, without the columns that are needed
  for (formula in list(y ~ x + z, y ~ f * g, y ~ x:z, y ~ 0 + x + z + x:z,
                       y ~ poly(x, 2) * f, y ~ 1)) {
    expect_null(basis_of(formula, d), label = deparse(formula))
  }
  expect_null(basis_of(y ~ f, d, all = TRUE))
  expect_null(basis_of(y ~ 0 + x, d, all = TRUE))
  expect_identical(
    unname(basis_of(y ~ x, d, all = TRUE)), matrix(c(1, 0, -mean(d$x), 1), 2)
  )
  # of the rows that are used
  used <- d$z > 0
  expect_identical(
    basis_of(y ~ x, d, TRUE, used)[[1L, 2L]], -mean(d$x[used])
  )
  # without the rows of a level, and of centred variables
  expect_null(basis_of(y ~ x * f, d[d$f != "2", ]))
  expect_null(basis_of(y ~ x * f, transform(d, x = rep(c(-1, 1), 30))))
})

short <- function(f, formula, data, ...) {
  quietly(f(formula, data, draws = 40, burnin = 20, chains = 2, seed = 1,
            progress = FALSE, ...))
}

# Fits of data whose predictor has its 0 elsewhere.
expect_same_answers <- function(f, formula, ..., columns = NULL, like = NULL) {
  near <- short(f, formula, basis_data(), ...)
  far <- short(f, formula, basis_data(1000), ...)
  label <- deparse(formula)
  expect_equal(
    posterior_epred(far, ndraws = 5), posterior_epred(near, ndraws = 5),
    tolerance = 1e-6, label = label
  )
  if (!is.null(like)) {
    columns <- grep(like, colnames(as.matrix(near)), value = TRUE)
  }
  expect_equal(
    as.matrix(far)[, columns], as.matrix(near)[, columns], tolerance = 1e-6,
    label = label
  )
  invisible(list(near = near, far = far))
}

test_that("the answers do not depend on where a predictor has its 0", {
  skip_long()
  for (prior in list(lm_prior(), lm_prior("nig"), lm_prior("horseshoe"))) {
    fits <- expect_same_answers(
      gibbs_lm, y ~ x * z + f, prior, columns = c("x:z", "f2", "sigma")
    )
  }
  expect_equal(
    selected(fits$far)$shrinkage[[1L]], selected(fits$near)$shrinkage[[1L]],
    tolerance = 1e-6
  )
  expect_same_answers(
    gibbs_lm, y ~ x * z, errors = "t", columns = c("x:z", "sigma", "nu")
  )
  one <- c("x:z", "sd[2]", "sigma", "w[2,3]")
  fits <- expect_same_answers(
    gibbs_hlm, y ~ x * z + (x | g), keep = "w", columns = one
  )
  # of the coefficients at x = 5
  at <- as.matrix(fits$near)[, "w[1,3]"] + 5 * as.matrix(fits$near)[, "w[2,3]"]
  expect_equal(
    as.matrix(fits$far)[, "w[1,3]"] + 1005 * as.matrix(fits$far)[, "w[2,3]"],
    at, tolerance = 1e-6
  )
  expect_equal(ranef(fits$far)$g$x, ranef(fits$near)$g$x, tolerance = 1e-5)
  expect_same_answers(
    gibbs_hlm, y ~ x * z + (x | g), errors = "t", columns = one
  )
  several <- c("x:z", "sd[1,2]", "u[1,2,3]", "sd[2,1]")
  expect_same_answers(
    gibbs_hlm, y ~ x * z + (x | g) + (1 | h), columns = several
  )
  expect_same_answers(
    gibbs_hlm, y ~ x * z + (x | g) + (1 | h), errors = "t", columns = several
  )
})

test_that("interactions of other responses do not depend on it", {
  skip_long()
  same <- function(f, formula, ...) {
    expect_same_answers(f, formula, ..., like = "x:z")
  }
  fits <- same(gibbs_logistic, success ~ x * z)
  same(gibbs_logistic, success ~ x * z, link = "probit")
  if (is_extended()) same(gibbs_logistic, success ~ x * z + (1 | g))
  same(gibbs_logistic, success ~ x * z + (x | g) + (1 | h))
  same(gibbs_count, count ~ x * z)
  same(gibbs_count, count ~ x * z + (1 | g), family = "negbinomial")
  if (is_extended()) same(gibbs_ordinal, size ~ x * z)
  same(gibbs_ordinal, size ~ x * z + (1 | g))
  if (is_extended()) same(gibbs_categorical, kind ~ x * z)
  same(gibbs_categorical, kind ~ x * z + (1 | g))
  # the prior is that of the centred variables
  d <- basis_data()
  centred <- transform(d, x = x - mean(x), z = z - mean(z))
  of <- function(data, ...) {
    attr(short(gibbs_logistic, success ~ x * z, data, ...), "model")
  }
  raw <- of(d)
  own <- of(centred)
  w <- c(0.3, 0.5, -0.2, 0.1)
  expect_equal(
    gibbsite:::logistic_log_joint(
      raw, drop(gibbsite:::of_basis(t(w), raw$prior$basis))
    ), gibbsite:::logistic_log_joint(own, w), tolerance = 1e-3
  )
  expect_output(print(prior_summary(fits$far)), "interactions are centred")
  # covariances and flat priors are of the formula's coefficients
  expect_null(of(d, logistic_prior(Inf, Inf))$prior$basis)
  expect_null(of(d, logistic_prior(diag(3)))$prior$basis)
})

test_that("moments of draws from a prior are those of centred variables", {
  skip_unless_extended()
  d <- basis_data()
  models <- list(
    short(gibbs_logistic, success ~ x * z, d),
    short(gibbs_count, count ~ x * z, d),
    short(gibbs_ordinal, size ~ x * z + (1 | g), d)
  )
  n <- 1000
  for (fit in models) {
    model <- attr(fit, "model")
    p <- length(model$prior$slope_variance)
    b <- withr::with_seed(1, t(replicate(n, gibbsite:::model_quantities(
      model, gibbsite:::draw_prior(model)
    )[seq_len(p)])))
    c <- gibbsite:::to_basis(b, model$prior$basis)
    error <- sqrt(2 / n)
    expect_lt(
      max(abs(apply(c, 2, var) / model$prior$slope_variance - 1)), 4.5 * error
    )
    expect_lt(max(abs(cor(c)[lower.tri(diag(p))])), 4.5 / sqrt(n))
  }
})

test_that("coefficients of starting values are those of the data's columns", {
  d <- basis_data()
  for (fit in list(
    short(gibbs_count, count ~ x * z, d), short(gibbs_ordinal, size ~ x * z, d),
    short(gibbs_categorical, kind ~ x * z, d)
  )) {
    model <- attr(fit, "model")
    b <- seq_along(model$coefficients) / 10
    init <- gibbsite:::model_check_init(
      model, list(coefficients = b), "inits", NULL
    )
    state <- gibbsite:::model_start(model, init)
    expect_equal(gibbsite:::model_init_from_state(model, state)$coefficients, b)
  }
})

# The coefficients of these have their prior at 0: a known slope takes its part.
test_that("deviations of other responses do not depend on it either", {
  near <- basis_data()
  far <- basis_data(1000)
  near$m <- near$x - 5
  far$m <- near$m
  fits <- function(f, formula, ...) {
    list(short(f, formula, near, ...), short(f, formula, far, ...))
  }
  cases <- list(
    list(gibbs_logistic, success ~ m + (x | g)),
    list(gibbs_count, count ~ m + (x | g)),
    list(gibbs_logistic, success ~ m + (x | g) + (1 | h)),
    list(gibbs_ordinal, size ~ m + (x | g)),
    list(gibbs_categorical, kind ~ m + (x | g))
  )
  for (case in cases[fast_or(3:5, 1:5)]) {
    pair <- fits(case[[1]], case[[2]])
    shown <- grep("^sd.*2\\]$|^(u|w)\\[.*2,[0-9]+\\]$|^m$|m\\]$",
                  colnames(as.matrix(pair[[1]])), value = TRUE)
    expect_gt(length(shown), 10)
    expect_equal(
      as.matrix(pair[[1]])[, shown], as.matrix(pair[[2]])[, shown],
      tolerance = 1e-6
    )
    expect_equal(
      posterior_epred(pair[[1]], ndraws = 5),
      posterior_epred(pair[[2]], ndraws = 5), tolerance = 1e-6
    )
  }
})

test_that("effects that a formula has independent stay so", {
  d <- basis_data()
  fit <- short(gibbs_hlm, y ~ x + (x || g), d)
  expect_null(attr(fit, "model")$layout$bar_basis)
  # a Wishart prior is that of the data's columns
  fit <- short(gibbs_hlm, y ~ x + (x | g), d, hlm_prior("inverse-wishart"))
  expect_null(attr(fit, "model")$layout$bar_basis)
})

test_that("draws are turned back", {
  d <- basis_data()
  formulas <- list(y ~ x * z + (x * z | g), y ~ x * z + (x | g) + (z | h))
  for (formula in formulas) {
    keep <- if (!"h" %in% all.vars(formula)) "w"
    fit <- short(gibbs_hlm, formula, d, keep = keep)
    model <- attr(fit, "model")
    draws <- as.matrix(fit)
    own <- gibbsite:::rebase_draws(model, draws, back = TRUE)
    expect_gt(max(abs(own - draws)), 0.01)
    expect_equal(gibbsite:::rebase_draws(model, own), draws, tolerance = 1e-8)
  }
})

test_that("covariances are those of the turned effects", {
  s <- crossprod(withr::with_seed(1, matrix(rnorm(9), 3)))
  basis <- rbind(c(1, -2, 0.5), c(0, 1, 3), c(0, 0, 1))
  words <- function(s) c(sqrt(diag(s)), cov2cor(s)[lower.tri(s)])
  expect_equal(
    gibbsite:::rebase_covariances(rbind(words(s), words(2 * s)), basis),
    rbind(words(basis %*% s %*% t(basis)), words(2 * basis %*% s %*% t(basis)))
  )
})

test_that("starting values are those of the data's columns", {
  d <- basis_data()
  given <- matrix(c(4, -0.5, -0.5, 0.3), 2, dimnames = list(NULL, NULL))
  start_of <- function(f, formula, sigma) {
    model <- attr(short(f, formula, d), "model")
    init <- gibbsite:::model_check_init(
      model, list(Sigma = sigma), "inits", NULL
    )
    state <- gibbsite:::model_start(model, init)
    gibbsite:::model_init_from_state(model, state)$Sigma
  }
  expect_equal(start_of(gibbs_hlm, y ~ x + (x | g), given), given,
               ignore_attr = TRUE)
  expect_equal(start_of(gibbs_logistic, success ~ z + (x | g), given), given,
               ignore_attr = TRUE)
  expect_equal(start_of(gibbs_count, count ~ z + (x | g), list(g = given))$g,
               given, ignore_attr = TRUE)
  both <- list(a = list(g = given))
  names(both) <- levels(d$kind)[[2]]
  expect_equal(start_of(gibbs_categorical, kind ~ z + (x | g), both)[[1]]$g,
               given, ignore_attr = TRUE)
})

test_that("the evidence is that of centred data", {
  skip_long()
  d <- basis_data(100)
  centred <- transform(d, x = x - mean(x))
  of <- function(data, formula) {
    fit <- quietly(gibbs_hlm(
      formula, data, draws = fast_or(400, 1000), chains = 2, seed = 1,
      progress = FALSE
    ))
    log_evidence(fit)
  }
  formulas <- list(y ~ x + (x | g), y ~ x + (x | g) + (1 | h))
  for (formula in formulas[fast_or(1, 1:2)]) {
    a <- of(d, formula)
    b <- of(centred, formula)
    expect_lt(abs(a - b), 4 * sqrt(attr(a, "se")^2 + attr(b, "se")^2))
  }
})
