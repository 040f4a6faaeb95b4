# gibbs_hlm() with several grouping factors.

crossed_data <- function(n = 40, a = 5, b = 4, seed = 1) {
  withr::with_seed(seed, {
    d <- data.frame(
      a = factor(sample(a, n, TRUE), seq_len(a)),
      b = factor(sample(b, n, TRUE), seq_len(b)), x = rnorm(n),
      v = runif(n, 0.5, 2)
    )
    d$c <- factor(sample(3, n, TRUE))
    d$y <- 1 + d$x + rnorm(a)[d$a] + rnorm(b)[d$b] + rnorm(n)
    d
  })
}

short_crossed <- function(formula, data = crossed_data(), ..., draws = 20,
                          burnin = 5, chains = 1) {
  suppressMessages(suppressWarnings(gibbs_hlm(
    formula, data, ..., draws = draws, burnin = burnin, chains = chains,
    seed = 1, progress = FALSE
  )))
}

proper <- function(...) {
  hlm_prior(..., nu0 = 6, sigma0 = 1.2, slope_mean = 0.5, slope_sd = 1,
            intercept_mean = 1, intercept_sd = 1)
}

crossed_cases <- list(
  crossed = list(y ~ x + (1 | a) + (1 | b), proper(df = 4, scale = 1)),
  nested = list(y ~ x + (1 | a / c), proper(df = 4, scale = 1)),
  slopes = list(y ~ x + (1 + x | a) + (0 + x | b), proper(df = 4, scale = 1)),
  deep = list(y ~ x + (1 + x | a / c), proper(df = 4, scale = 1)),
  twice = list(y ~ x + (1 | a) + (0 + x | a) + (1 + x || b),
               proper("inverse-wishart", df = 6)),
  none = list(y ~ 0 + (1 | a) + (1 | b), hlm_prior(
    df = 4, scale = 1, nu0 = 6, sigma0 = 1.2
  ))
)

# ---- exactness ---------------------------------------------------------------

test_that("the twin draws the same", {
  skip_long()
  for (name in names(crossed_cases)) {
    case <- crossed_cases[[name]]
    model <- attr(suppressMessages(suppressWarnings(gibbs_hlm(
      case[[1]], crossed_data(24), case[[2]], weights = v, draws = 5,
      burnin = 0, chains = 1, seed = 1, progress = FALSE
    ))), "model")
    model <- without_bases(model)
    state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
    control <- list(burnin = 0, thin = 1, threads = 1)
    core <- withr::with_seed(3, gibbsite:::model_sweeps(model, state, 4, control))
    twin <- withr::with_seed(3, twin_crossed_sweeps(model, state, 4))
    expect_equal(core$draws, twin, tolerance = 1e-8, label = name)
  }
})

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  # the twin has all in the fast suite
  for (name in names(crossed_cases)) {
    case <- crossed_cases[[name]]
    model <- attr(suppressMessages(suppressWarnings(gibbs_hlm(
      case[[1]], crossed_data(24), case[[2]], weights = v, draws = 5,
      burnin = 0, chains = 1, seed = 1, progress = FALSE
    ))), "model")
    change <- change_in_sweep(
      model, gibbsite:::model_quantities, 4000
    )
    expect_lt(largest_change(change), 4.5, label = name)
  }
})

# With variances that the priors fix, b and u are normal.
test_that("effects of known variances have their exact moments", {
  skip_unless_extended()
  formulas <- list(
    crossed = y ~ x + (1 | a) + (1 | b), nested = y ~ x + (1 | a / c),
    aliased = y ~ x + (1 | a) + (1 | k), slopes = y ~ (1 + x | a) + (x | b)
  )
  d <- crossed_data(30)
  d$k <- factor(letters[d$a])
  d$se <- sqrt(d$v)
  for (name in names(formulas)) {
    fit <- suppressMessages(suppressWarnings(gibbs_hlm(
      formulas[[name]], d, hlm_prior(
        "inverse-wishart", df = 1e8, scale = list(a = 4e8, b = 1e8, k = 1e8,
                                                  "a:c" = 1e8)[
          names(attr(short_crossed(formulas[[name]], d), "model")$layout)
        ], slope_sd = 2, intercept_sd = 3, intercept_mean = 0
      ), se = se, draws = 4000, burnin = 200, chains = 2, seed = 3,
      progress = FALSE
    )))
    model <- attr(fit, "model")
    z <- do.call(cbind, lapply(model$frame$bars, function(bar) {
      as.matrix(gibbsite:::bar_matrix(bar$z, bar$group, length(bar$levels)))
    }))
    x <- model$frame$x
    centred <- sweep(x, 2, c(0, if (ncol(x) > 1) mean(x[, 2])))
    # the prior of the intercept is at the weighted means
    w <- 1 / d$se^2
    if (ncol(x) > 1) centred[, 2] <- x[, 2] - sum(w * x[, 2]) / sum(w)
    design <- cbind(centred, z)
    variance <- c(9, if (ncol(x) > 1) 4, unlist(Map(function(design, levels) {
      rep(if (identical(levels, model$levels$a)) 4 else 1,
          length(design$bar) * length(levels))
    }, model$layout, model$levels)))
    if (name == "aliased") {
      variance <- c(9, 4, rep(4, 5), rep(1, 5))
    }
    precision <- crossprod(design * sqrt(w)) + diag(1 / variance)
    covariance <- solve(precision)
    mean <- drop(covariance %*% crossprod(design, w * d$y))
    draws <- do.call(rbind, lapply(fit, unclass))
    u <- draws[, grep("^u", colnames(draws))]
    own <- seq_along(mean)[-seq_len(ncol(x))]
    # chains hardly correlate: four standard errors of 2,000 draws
    error <- sqrt(diag(covariance)[own] / 2000)
    expect_lt(max(abs(colMeans(u) - mean[own]) / error), 4.5, label = name)
    expect_lt(
      max(abs(apply(u, 2, var) / diag(covariance)[own] - 1)), 4.5 * sqrt(2 / 2000),
      label = name
    )
  }
})

test_that("threads and segments never show", {
  skip_long()
  for (name in fast_or("deep", c("crossed", "deep", "twice"))) {
    case <- crossed_cases[[name]]
    run <- function(...) {
      short_crossed(case[[1]], prior = case[[2]], chains = 2, ...)
    }
    expect_never_shown(run, threads = 2)
  }
})

test_that("estimates of known data are near those of REML", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  fit <- suppressWarnings(gibbs_hlm(
    diameter ~ 1 + (1 | plate) + (1 | sample), lme4::Penicillin, draws = 2000,
    seed = 1, progress = FALSE
  ))
  point <- lme4::lmer(
    diameter ~ 1 + (1 | plate) + (1 | sample), lme4::Penicillin
  )
  table <- nlme::VarCorr(fit)
  reml <- as.data.frame(lme4::VarCorr(point))$sdcor
  expect_true(all(table$lower < reml & reml < table$upper))
  expect_equal(nlme::ranef(fit)$plate[, 1], lme4::ranef(point)$plate[, 1],
               tolerance = 0.03)
})

# ---- the formula -------------------------------------------------------------

test_that("bars are expanded as in lme4", {
  skip_long()
  d <- crossed_data()
  groups <- function(formula) {
    names(attr(short_crossed(formula, d), "model")$layout)
  }
  expect_identical(groups(y ~ x + (1 | a / c)), c("a", "a:c"))
  expect_identical(groups(y ~ x + (1 | a / b / c)), c("a", "a:b", "a:b:c"))
  expect_identical(groups(y ~ (1 | a) + (x | a:b) + x), c("a", "a:b"))
  expect_identical(groups(y ~ (1 | a) + (0 + x | a)), c("a", "a.1"))
  expect_identical(
    as.matrix(short_crossed(y ~ x + (1 | a / c), d)),
    as.matrix(short_crossed(y ~ x + (1 | a) + (1 | a:c), d))
  )
  plain <- short_crossed(y ~ x + (1 | a) + (1 | b), d)
  for (formula in list(y ~ (x + (1 | a) + (1 | b)),
                       y ~ x + ((1 | a)) + ((1 | b)))) {
    expect_identical(as.matrix(short_crossed(formula, d)), as.matrix(plain))
  }
  dot <- short_crossed(y ~ . - v - c + (1 | a) + (1 | b), d)
  expect_identical(attr(dot, "model")$coefficients, c("(Intercept)", "x"))
  expect_gibbsite_error(class = "gibbsite_error_formula", {
    gibbs_hlm(y ~ x + (1 | a + b), d)
    gibbs_hlm(y ~ x + (1 | a * b), d)
    gibbs_hlm(y ~ x + (1 | a %in% b), d)
    gibbs_hlm(y ~ x * (1 | a), d)
    gibbs_hlm(y ~ x + (1 | .), d)
  })
})

test_that("nested bars share an intercept whatever else they have", {
  d <- crossed_data()
  for (form in list(
    y ~ x + (1 + x | a) + (1 | a:c), y ~ x + (1 | a) + (1 + x | a:c)
  )) {
    model <- attr(short_crossed(form, d), "model")
    expect_length(model$data$nesting, 1)
    terms <- lapply(model$layout, `[[`, "bar")
    nest <- model$data$nesting[[1]]
    expect_equal(terms[[1]][nest$outer_term + 1], "(Intercept)")
    expect_equal(terms[[2]][nest$inner_term + 1], "(Intercept)")
  }
})

test_that("factors with the same groups are named", {
  d <- crossed_data()
  d$k <- factor(letters[d$a])
  expect_message(
    suppressWarnings(gibbs_hlm(
      y ~ x + (1 | a) + (1 | k), d, draws = 5, burnin = 0, chains = 1,
      seed = 1, progress = FALSE
    )), class = "gibbsite_message_aliased"
  )
  expect_silent(short_crossed(y ~ x + (1 | a) + (1 | b), d))
})

test_that("each factor has its own prior", {
  skip_long()
  d <- crossed_data()
  fit <- short_crossed(y ~ x + (1 | a) + (1 | b), d, prior = hlm_prior(
    scale = list(a = 3), df = list(b = 5)
  ))
  prior <- prior_summary(fit)
  expect_identical(prior$scale$a[[1]], 3)
  expect_identical(prior$df, list(a = 2, b = 5))
  expect_output(print(prior), "df of b = 5")
  again <- short_crossed(y ~ x + (1 | a) + (1 | b), d, prior = prior)
  expect_identical(as.matrix(again), as.matrix(fit))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    gibbs_hlm(y ~ x + (1 | a) + (1 | b), d, hlm_prior(scale = list(k = 3)))
    hlm_prior(scale = list(3))
    hlm_prior(df = list(a = -1))
  })
})

test_that("starting covariances are those of the bars", {
  d <- crossed_data()
  start <- function(...) {
    short_crossed(y ~ x + (1 + x || a) + (1 | b), d,
                  inits = list(list(Sigma = list(...))))
  }
  expect_identical(dim(as.matrix(start(a = diag(2), b = 4)))[[1]], 20L)
  expect_error(start(a = matrix(c(1, 0.5, 0.5, 1), 2)), "must be diagonal",
               class = "gibbsite_error_argument")
  expect_error(start(k = 1), class = "gibbsite_error_argument")
})

# ---- methods -----------------------------------------------------------------

test_that("known and new groups are predicted", {
  skip_long()
  d <- crossed_data()
  fit <- short_crossed(y ~ x + (x | a) + (1 | b), d, draws = 300)
  expect_equal(unname(predict(fit, d)), unname(fitted(fit)))
  draws <- as.matrix(fit)
  by_hand <- draws[, "(Intercept)"] + draws[, "x"] * d$x[[3]] +
    draws[, sprintf("u[1,1,%d]", d$a[[3]])] +
    draws[, sprintf("u[1,2,%d]", d$a[[3]])] * d$x[[3]] +
    draws[, sprintf("u[2,1,%d]", d$b[[3]])]
  expect_equal(unname(posterior_epred(fit, d[3, ])[, 1]), unname(by_hand))
  new <- transform(d[1:2, ], a = "new")
  expect_error(predict(fit, new), class = "gibbsite_error_level")
  # known of b, new of a
  at <- predict(fit, new, allow_new_levels = TRUE, interval = "mean")
  sd2 <- draws[, "sd[1,1]"]^2 + 2 * d$x[[1]] * draws[, "cor[1,2,1]"] *
    draws[, "sd[1,1]"] * draws[, "sd[1,2]"] + (d$x[[1]] * draws[, "sd[1,2]"])^2
  mean <- draws[, "(Intercept)"] + draws[, "x"] * d$x[[1]] +
    draws[, sprintf("u[2,1,%d]", d$b[[1]])]
  expect_equal(at$mean[[1]], mean(mean))
  expect_equal(at$sd[[1]], sqrt(mean(sd2) + var(mean)), tolerance = 1e-2)
  # rows of one new group have one deviation
  same <- withr::with_seed(1, posterior_epred(
    fit, d[c(1, 1), ] |> transform(a = "new"), allow_new_levels = TRUE
  ))
  expect_identical(same[, 1], same[, 2])
  expect_equal(
    unname(predict(fit, d[1, ], re_formula = NA)),
    mean(draws[, "(Intercept)"] + draws[, "x"] * d$x[[1]])
  )
})

test_that("effects are lists by factor", {
  d <- crossed_data()
  fit <- short_crossed(y ~ x + (x | a) + (1 | b), d)
  effects <- nlme::ranef(fit)
  expect_identical(names(effects), c("a", "b"))
  expect_identical(dim(effects$a), c(5L, 2L))
  expect_equal(coef(fit)$b[["(Intercept)"]],
               unname(nlme::fixef(fit)[[1]]) + effects$b[["(Intercept)"]])
  expect_equal(coef(fit)$b[["x"]], rep(unname(nlme::fixef(fit)[[2]]), 4))
  # two bars of a factor make the coefficients of its groups
  twice <- short_crossed(y ~ x + (1 | a) + (0 + x | a) + (1 | b), d)
  effects <- nlme::ranef(twice)
  fixed <- nlme::fixef(twice)
  expect_named(coef(twice), c("a", "b"))
  expect_equal(coef(twice)$a, data.frame(
    "(Intercept)" = fixed[[1L]] + effects$a[[1L]],
    x = fixed[[2L]] + effects$a.1[[1L]], row.names = 1:5, check.names = FALSE
  ), ignore_attr = "row.names")
  table <- nlme::VarCorr(fit)
  expect_identical(table$group, c("a", "a", "a", "b", "Residual"))
  expect_identical(table$with[[3]], "x")
})

test_that("columns of one name and other values are different effects", {
  # with levels of numbers the sums to zero and the indicators are "c1" and "c2"
  sums <- list(c = "contr.sum")
  x <- model.matrix(~c, crossed_data(), contrasts.arg = sums)
  z <- model.matrix(~ 0 + c, crossed_data())
  d <- crossed_data()
  rows <- match(levels(d$a), d$a)
  for (bars in list(y ~ c + (0 + c | a), y ~ c + (0 + c | a) + (1 | b))) {
    fit <- short_crossed(bars, d, contrasts = sums)
    fixed <- nlme::fixef(fit)
    effects <- nlme::ranef(fit)$a
    expect_named(effects, c("c1.1", "c2.1", "c3"))
    coefficients <- coef(fit)$a
    expect_equal(coefficients[names(effects)], effects, ignore_attr = TRUE)
    expect_equal(coefficients$c1, rep(fixed[["c1"]], 5))
    eta <- x %*% fixed + rowSums(z * as.matrix(effects)[d$a, ])
    expect_equal(
      eta[rows] + if (length(nlme::ranef(fit)) > 1L) {
        nlme::ranef(fit)$b[d$b[rows], 1L]
      } else 0,
      unname(fitted(fit)[rows])
    )
  }
  # the same columns by the usual contrasts
  plain <- short_crossed(y ~ c + (0 + c | a), d)
  expect_named(nlme::ranef(plain)$a, c("c1", "c2", "c3"))
  expect_named(coef(plain)$a, c("(Intercept)", "c2", "c3", "c1"))
})

test_that("an observation left out is predicted as by a fit without it", {
  skip_long()
  d <- crossed_data()
  fit <- short_crossed(y ~ x + (1 | a) + (1 | b), d, draws = 50)
  found <- suppressWarnings(loo::kfold(fit, K = 2, seed = 1))
  expect_identical(nrow(found$pointwise), 40L)
  folds <- model_fold(attr(fit, "model"), 1:20, "observation")
  by_hand <- hlm_crossed_model_of(
    gibbsite:::without_rows(attr(fit, "model")$frame, 1:20),
    attr(fit, "model")$priors, folds$train$layout
  )
  expect_identical(folds$train$data, by_hand$data)
  expect_identical(folds$train$nobs, 20L)
})

test_that("predictions have the deviations of the bars that are asked for", {
  skip_long()
  data <- transform(crossed_data(), z = v - 1, o = seq_len(40) / 40,
                    l = v > 1)
  fit <- short_crossed(
    y ~ scale(x) + offset(o) + (c + log(v) | a) + (1 | b) + (0 + z | b), data
  )
  part <- function(re_formula, needs) {
    value <- predict(fit, data[c("x", "o", needs)], re_formula = re_formula)
    expect_equal(value, predict(fit, re_formula = re_formula))
    value - predict(fit, re_formula = NA)
  }
  expect_identical(unname(part(NA, NULL)), numeric(40))
  expect_equal(
    predict(fit) - predict(fit, re_formula = ~0),
    part(~ (log(v) | a), c("a", "v")) + part(~ (0 + c | a), c("a", "c")) +
      part(~ (0 + z | b), c("b", "z")) + part(~ (1 | b), "b")
  )
  expect_equal(unname(part(~ (1 | b), "b")),
               nlme::ranef(fit)$b[data$b, "(Intercept)"])
  expect_equal(part(~ (1 + z | b), c("b", "z")),
               part(~ (1 | b) + (0 + z | b), c("b", "z")))
  # one bar, whose deviations are drawn given the draw
  fit <- short_crossed(y ~ poly(x, 2) + (l + z | a), data)
  expect_equal(
    part(~ (1 + l | a), c("a", "l")) + part(~ (0 + z | a), c("a", "z")),
    predict(fit) - predict(fit, re_formula = NA)
  )
  new <- data.frame(x = 0, a = "new")
  expect_error(predict(fit, new, re_formula = ~ (1 | a)), "new")
  expect_identical(
    dim(posterior_predict(fit, new, re_formula = ~ (1 | a), ndraws = 9,
                          allow_new_levels = TRUE)), c(9L, 1L)
  )
  # the outer factor of nested ones, and other responses
  fit <- short_crossed(y ~ 1 + (1 | a / c), data)
  expect_equal(
    predict(fit, data.frame(a = "2"), re_formula = ~ (1 | a))[[1L]],
    mean(as.matrix(fit)[, 1L]) + nlme::ranef(fit)$a["2", 1L]
  )
  data$k <- cut(data$y, 3, labels = FALSE)
  data$ordered <- ordered(data$k)
  data$text <- factor(letters[data$k])
  fits <- Map(function(f, formula) {
    quietly(f(formula, data, draws = 20, burnin = 5, chains = 1, seed = 1,
              progress = FALSE))
  }, list(gibbs_count, gibbs_ordinal, gibbs_categorical), list(
    k ~ x + (z | a) + (1 | b), ordered ~ x + (z | a) + (1 | b),
    text ~ x + (z | a) + (1 | b)
  ))
  for (fit in fits) {
    expect_equal(predict(fit, data[c("x", "b")], re_formula = ~ (1 | b)),
                 predict(fit, re_formula = ~ (1 | b)))
    expect_equal(predict(fit, data["x"], re_formula = NA),
                 predict(fit, re_formula = NA))
  }
})
