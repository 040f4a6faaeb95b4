# gibbs_logistic() with several grouping factors.

bars_data <- function(n = 40, a = 5, b = 4, seed = 1) {
  withr::with_seed(seed, {
    d <- data.frame(
      a = factor(sample(a, n, TRUE), seq_len(a)),
      b = factor(sample(b, n, TRUE), seq_len(b)), x = rnorm(n),
      o = rnorm(n) / 2, m = sample(1:4, n, TRUE), v = sample(0:2, n, TRUE)
    )
    d$c <- factor(sample(3, n, TRUE))
    d$s <- rbinom(n, d$m, plogis(d$x + rnorm(a)[d$a] + rnorm(b)[d$b]))
    d$hit <- d$s > d$m / 2
    d
  })
}

short_bars <- function(formula, data = bars_data(), ..., draws = 20,
                       burnin = 5, chains = 1) {
  suppressMessages(suppressWarnings(gibbs_logistic(
    formula, data, ..., draws = draws, burnin = burnin, chains = chains,
    seed = 1, progress = FALSE
  )))
}

shares_prior <- logistic_prior(
  slope_variance = 0.6, intercept_variance = 1.5, group_df = 4, group_scale = 1
)

# the formula, the link and further arguments
bars_cases <- list(
  crossed = list(cbind(s, m - s) ~ x + (1 | a) + (1 | b), "logit"),
  weighted = list(hit ~ x + (1 | a) + (1 | b), "logit", weights = quote(v)),
  nested = list(hit ~ x + (1 | a / c), "logit", offset = quote(o)),
  slopes = list(
    cbind(s, m - s) ~ x + (1 + x | a) + (0 + x | b), "probit",
    offset = quote(o)
  ),
  deep = list(hit ~ x + (1 + x | a / c), "probit"),
  twice = list(cbind(s, m - s) ~ x + (1 | a) + (0 + x | a) + (x || b), "logit"),
  none = list(hit ~ 0 + (1 | a) + (1 | b), "probit")
)

bars_model <- function(name, data = bars_data(24)) {
  case <- bars_cases[[name]]
  call <- as.call(c(
    list(quote(gibbs_logistic), case[[1]], quote(data),
         prior = quote(shares_prior), link = case[[2]]), case[-(1:2)],
    list(draws = 2, burnin = 0, chains = 1, seed = 1, progress = FALSE)
  ))
  gibbsite:::fit_part(quietly(eval(call)), "model")
}

bars_draws_of_both <- function(model, wrong = "", n = 4) {
  draws_of_both(twin_bars_sweeps, model, wrong, n)
}

# ---- exactness ---------------------------------------------------------------

test_that("the core draws what its twin draws", {
  skip_long()
  for (name in names(bars_cases)) {
    both <- bars_draws_of_both(bars_model(name))
    expect_equal(both$core, both$twin, tolerance = 1e-7, label = name)
  }
})

test_that("the twin's mistakes are found", {
  for (wrong in c("others_left", "latent_kept", "bar_left", "own_scales")) {
    both <- bars_draws_of_both(bars_model("crossed"), wrong, 3)
    expect_gt(max(abs(both$core - both$twin)), 1e-3, label = wrong)
  }
})

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  for (name in setdiff(names(bars_cases), c("weighted", "none"))) {
    change <- change_in_sweep(
      bars_model(name), gibbsite:::model_quantities, 4000
    )
    expect_lt(largest_change(change), 4.5, label = name)
  }
})

test_that("a bar without terms is the regression without groups", {
  d <- bars_data(200)
  alone <- gibbs_logistic(
    hit ~ x, d, shares_prior, draws = 2000, chains = 1, seed = 1,
    progress = FALSE
  )
  x <- cbind(1, d$x)
  data <- list(
    count = 1, p = 2, n = 200, fixed = as.double(t(x)), offset = numeric(),
    constant = 0, nesting = list(),
    response = list(
      type = "logit", success = as.double(d$hit), total = rep(1, 200)
    ),
    bars = list(list(
      q = 0, p = 2, groups = 1, diagonal = 0, known = 1, half_t = 1,
      collapsed = 0, keep = 1, mean = c(0, 0), precision = c(1 / 1.5, 1 / 0.6),
      df = 1, scale = numeric(), shape = 0, rate = 0, unit = c(1, 1),
      column_mean = c(0, 0), centre = 0, intercept_at = 2,
      fixed_at = integer(), first = c(0L, 200L), row = 0:199, bar = numeric()
    ))
  )
  state <- list(
    sweep = 0, factor = numeric(), beta = 1, b = c(0, 0), u = numeric()
  )
  control <- list(burnin = 100, thin = 1, threads = 1)
  found <- withr::with_seed(1, .Call(
    gibbsite:::C_hlm_latent_sweeps, data, state, 4100, control
  ))
  expect_identical(dim(found$draws), c(4000L, 3L))
  for (k in 1:2) {
    own <- as.matrix(alone)[, k]
    # draws of the latent responses correlate: a fifth of 4,000 at the least
    error <- sd(own) * sqrt(1 / 2000 + 5 / 4000)
    expect_lt(abs(mean(found$draws[, k]) - mean(own)), 4.5 * error)
    expect_lt(abs(sd(found$draws[, k]) / sd(own) - 1), 4.5 * sqrt(5 / 8000))
  }
})

test_that("threads and segments never show", {
  skip_long()
  formulas <- c(
    hit ~ x + (1 + x | a / c), cbind(s, m - s) ~ x + (1 | a) + (1 | b)
  )
  for (formula in formulas[seq_len(fast_or(1, 2))]) {
    run <- function(...) short_bars(formula, chains = 2, ...)
    expect_never_shown(run, cores = 2)
  }
})

test_that("estimates of known data are near those of maximum likelihood", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  # 60 people
  data(VerbAgg, package = "lme4", envir = environment())
  few <- droplevels(VerbAgg[VerbAgg$id %in% levels(VerbAgg$id)[1:60], ])
  fit <- suppressWarnings(gibbs_logistic(
    r2 ~ btype + (1 | id) + (1 | item), few, draws = 1000,
    burnin = 500, chains = 2, seed = 1, progress = FALSE
  ))
  point <- lme4::glmer(
    r2 ~ btype + (1 | id) + (1 | item), few, binomial, nAGQ = 0
  )
  table <- nlme::VarCorr(fit)
  found <- as.data.frame(lme4::VarCorr(point))$sdcor
  expect_identical(table$group, c("id", "item"))
  expect_true(all(table$lower < found & found < table$upper))
  expect_gt(
    cor(nlme::ranef(fit)$id[, 1], lme4::ranef(point)$id[, 1]), 0.99
  )
})

# ---- the formula and the prior -----------------------------------------------

test_that("bars are expanded as in gibbs_hlm()", {
  skip_long()
  d <- bars_data()
  groups <- function(formula) {
    names(attr(short_bars(formula, d), "model")$layout)
  }
  expect_identical(groups(hit ~ x + (1 | a / c)), c("a", "a:c"))
  expect_identical(groups(hit ~ (1 | a) + (0 + x | a)), c("a", "a.1"))
  expect_identical(
    as.matrix(short_bars(hit ~ x + (1 | a / c), d)),
    as.matrix(short_bars(hit ~ x + (1 | a) + (1 | a:c), d))
  )
  expect_gibbsite_error(class = "gibbsite_error_formula", {
    gibbs_logistic(hit ~ x + (1 | a + b), d)
    gibbs_logistic(hit ~ x + (1 | a) + (1 + x | a), d)
  })
  d$k <- factor(letters[d$a])
  expect_message(
    suppressWarnings(gibbs_logistic(
      hit ~ x + (1 | a) + (1 | k), d, draws = 5, burnin = 0, chains = 1,
      seed = 1, progress = FALSE
    )), class = "gibbsite_message_aliased"
  )
})

test_that("each factor has its own prior", {
  d <- bars_data()
  formula <- hit ~ x + (1 | a) + (1 | b)
  fit <- short_bars(formula, d, prior = logistic_prior(
    group_scale = list(a = 3), group_df = list(b = 5)
  ))
  prior <- prior_summary(fit)
  expect_identical(prior$group_scale$a[[1]], 3)
  expect_identical(prior$group_scale$b[[1]], 2.5)
  expect_identical(prior$group_df, list(a = 2, b = 5))
  expect_output(print(prior), "df of b = 5")
  again <- short_bars(formula, d, prior = prior)
  expect_identical(as.matrix(again), as.matrix(fit))
  # one factor has a name too
  expect_identical(
    as.matrix(short_bars(hit ~ x + (1 | a), d, prior = logistic_prior(
      group_scale = list(a = 3)
    ))),
    as.matrix(short_bars(hit ~ x + (1 | a), d, prior = logistic_prior(
      group_scale = 3
    )))
  )
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    gibbs_logistic(hit ~ x + (1 | a) + (1 | b), d,
                   logistic_prior(group_scale = list(k = 3)))
    gibbs_logistic(hit ~ x + (1 | a) + (1 | b), d,
                   logistic_prior(slope_variance = Inf))
    logistic_prior(group_scale = list(3))
    logistic_prior(group_df = list(a = -1))
  })
})

test_that("starting covariances are those of the bars", {
  start <- function(...) {
    short_bars(hit ~ x + (1 + x || a) + (1 | b),
               inits = list(list(Sigma = list(...))))
  }
  expect_identical(dim(as.matrix(start(a = diag(2), b = 4)))[[1]], 20L)
  expect_error(start(a = matrix(c(1, 0.5, 0.5, 1), 2)), "must be diagonal",
               class = "gibbsite_error_argument")
  expect_error(start(k = 1), class = "gibbsite_error_argument")
})

# ---- methods -----------------------------------------------------------------

test_that("known and new groups are predicted", {
  d <- bars_data()
  for (link in fast_or("logit", c("logit", "probit"))) {
    share <- if (link == "logit") stats::plogis else stats::pnorm
    fit <- short_bars(hit ~ x + (x | a) + (1 | b), d, draws = 300, link = link)
    expect_equal(unname(predict(fit, d, type = "response")),
                 unname(fitted(fit)))
    draws <- as.matrix(fit)
    by_hand <- draws[, "(Intercept)"] + draws[, "x"] * d$x[[3]] +
      draws[, sprintf("u[1,1,%d]", d$a[[3]])] +
      draws[, sprintf("u[1,2,%d]", d$a[[3]])] * d$x[[3]] +
      draws[, sprintf("u[2,1,%d]", d$b[[3]])]
    expect_equal(unname(posterior_linpred(fit, newdata = d[3, ])[, 1]),
                 unname(by_hand))
    expect_equal(unname(posterior_epred(fit, newdata = d[3, ])[, 1]),
                 unname(share(by_hand)))
    expect_equal(unname(log_lik(fit)[, 3]), unname(
      share(if (d$hit[[3]]) by_hand else -by_hand, log.p = TRUE)
    ))
    new <- transform(d[1:2, ], a = "new")
    expect_error(predict(fit, new), class = "gibbsite_error_level")
    # known of b, new of a: the mean over the new deviation by quadrature
    sd <- sqrt(draws[, "sd[1,1]"]^2 + 2 * d$x[[1]] * draws[, "cor[1,2,1]"] *
      draws[, "sd[1,1]"] * draws[, "sd[1,2]"] +
      (d$x[[1]] * draws[, "sd[1,2]"])^2)
    mean <- draws[, "(Intercept)"] + draws[, "x"] * d$x[[1]] +
      draws[, sprintf("u[2,1,%d]", d$b[[1]])]
    expected <- mean(vapply(seq_along(sd), function(i) {
      at <- function(z) share(mean[[i]] + sd[[i]] * z) * stats::dnorm(z)
      stats::integrate(at, -8, 8)$value
    }, 0))
    at <- predict(fit, new, allow_new_levels = TRUE, type = "response")
    expect_equal(at[[1]], expected, tolerance = 1e-3)
    # rows of one new group have one deviation
    same <- withr::with_seed(1, posterior_epred(
      fit, newdata = transform(d[c(1, 1), ], a = "new"),
      allow_new_levels = TRUE
    ))
    expect_identical(same[, 1], same[, 2])
  }
})

test_that("effects are lists by factor", {
  skip_long()
  fit <- short_bars(hit ~ x + (x | a) + (1 | b))
  effects <- nlme::ranef(fit)
  expect_identical(names(effects), c("a", "b"))
  expect_identical(dim(effects$a), c(5L, 2L))
  expect_equal(coef(fit)$b[["(Intercept)"]],
               unname(nlme::fixef(fit)[[1]]) + effects$b[["(Intercept)"]])
  # the responses have no standard deviation
  expect_identical(nlme::VarCorr(fit)$group, c("a", "a", "a", "b"))
  if (requireNamespace("lme4", quietly = TRUE)) {
    expect_identical(lme4::ngrps(fit), lengths(lapply(
      nlme::ranef(fit), rownames
    )))
  }
  expect_gibbsite_error(log_lik(fit, by = "group"))
})

test_that("an observation left out is predicted as by a fit without it", {
  d <- bars_data()
  fit <- short_bars(cbind(s, m - s) ~ x + (1 | a) + (1 | b), d, draws = 50)
  found <- suppressWarnings(loo::kfold(fit, K = 2, seed = 1))
  expect_identical(nrow(found$pointwise), 40L)
  model <- attr(fit, "model")
  folds <- gibbsite:::model_fold(model, 1:20, "observation")
  rest <- short_bars(cbind(s, m - s) ~ x + (1 | a) + (1 | b), d[21:40, ],
                     prior = prior_summary(fit))
  other <- attr(rest, "model")$data
  # the groups without observations left are the same
  other$constant <- folds$train$data$constant
  expect_identical(folds$train$data, other)
  expect_identical(folds$train$nobs, 20L)
})
