# insight, emmeans and marginaleffects read the regressions: their numbers
# against the methods of the package.

# A short fit: maker(...), as a call that this file makes.
client_fit <- function(...) {
  call <- match.call(expand.dots = FALSE)$...
  short <- list(draws = 60, chains = 2, seed = 1, progress = FALSE)
  if (!identical(call[[1]], quote(laplace_logistic))) short$burnin <- 60
  call <- as.call(c(as.list(call), short))
  quietly(eval(call, parent.frame()))
}

cars <- transform(
  datasets::mtcars, cyl = factor(cyl), am = factor(am, labels = c("a", "m")),
  exposure = wt / 10
)
cars$hp[5] <- NA
chicks <- as.data.frame(datasets::ChickWeight)
chicks[["Chick"]] <- factor(as.character(chicks$Chick))
chicks$cold <- factor(rep(c("no", "yes"), length.out = nrow(chicks)))

# Made in the frame of this file, once: the session may drop the frame of a
# function that has returned, and with it the data that a fit does not use.
delayedAssign("known_regressions", list(
  lm = client_fit(
    gibbs_lm, log(mpg) ~ poly(qsec, 2) + cyl * wt + factor(gear), cars,
    weights = carb, subset = disp < 400
  ),
  logit = client_fit(
    gibbs_logistic, am ~ splines::ns(hp, 2) + cyl, cars, na_action = "omit"
  ),
  probit = client_fit(
    gibbs_logistic, am ~ qsec + cyl, cars, link = "probit", offset = exposure
  ),
  laplace = client_fit(
    laplace_logistic, cbind(carb, gear) ~ scale(wt) + cyl + offset(exposure),
    cars
  ),
  hlm = client_fit(
    gibbs_hlm, weight ~ splines::ns(Time, 2) + Diet + (1 + cold || Chick),
    chicks
  )
))
regressions <- function() known_regressions

bare_fit <- function() {
  client_fit(gibbs_lm, as.matrix(cars[c("wt", "qsec")]), cars$mpg)
}

# ---- insight -----------------------------------------------------------------

test_that("insight finds formulas and variables", {
  skip_long()
  skip_if_not_installed("insight")
  fits <- regressions()
  for (fit in fits) {
    expect_identical(insight::get_call(fit), getCall(fit))
  }
  expect_equal(
    insight::find_formula(fits$lm)$conditional, formula(fits$lm),
    ignore_attr = TRUE
  )
  expect_identical(
    insight::find_variables(fits$lm, flatten = TRUE),
    c("mpg", "qsec", "cyl", "wt", "gear")
  )
  both <- insight::find_formula(fits$hlm)
  expect_equal(
    both$conditional, weight ~ splines::ns(Time, 2) + Diet, ignore_attr = TRUE
  )
  expect_equal(both$random, ~ 1 + cold | Chick, ignore_attr = TRUE)
  expect_null(insight::find_formula(bare_fit()))
})

test_that("insight reads the data as they were before the formula", {
  skip_long()
  skip_if_not_installed("insight")
  fits <- regressions()
  used <- cars[cars$disp < 400, c("mpg", "qsec", "cyl", "wt", "gear", "carb")]
  expect_identical(insight::get_data(fits$lm), used)
  expect_identical(
    insight::get_data(fits$logit), cars[!is.na(cars$hp), c("am", "hp", "cyl")]
  )
  expect_identical(
    insight::get_data(fits$probit), cars[c("am", "qsec", "cyl", "exposure")]
  )
  expect_identical(
    insight::get_data(fits$laplace),
    cars[c("carb", "gear", "wt", "cyl", "exposure")]
  )
  names <- c("weight", "Time", "Diet", "cold", "Chick")
  expect_identical(insight::get_data(fits$hlm), chicks[names])
  expect_identical(
    insight::get_data(fits$hlm, effects = "random"), chicks["Chick"]
  )
  expect_identical(
    insight::get_data(fits$hlm, effects = "fixed"), chicks[names[1:4]]
  )
  expect_setequal(
    names(insight::get_data(fits$lm, additional_variables = TRUE)), names(cars)
  )
  expect_identical(insight::get_response(fits$probit), cars$am)
})

test_that("data are read without a data frame, and never if they changed", {
  skip_long()
  skip_if_not_installed("insight")
  x <- cars$wt
  y <- cars$mpg
  k <- 2
  fit <- client_fit(gibbs_lm, y ~ poly(x, k))
  expect_identical(insight::get_data(fit), data.frame(y = y, x = x))
  own <- cars
  fit <- client_fit(gibbs_lm, mpg ~ log(wt), own)
  plain <- client_fit(gibbs_lm, mpg ~ wt, own)
  own$wt <- rev(own$wt)
  expect_gibbsite_error(insight::get_data(fit), class = "gibbsite_error_state")
  rm(own)
  expect_gibbsite_error(insight::get_data(fit), class = "gibbsite_error_state")
  expect_identical(insight::get_data(plain), cars[c("mpg", "wt")])
  expect_gibbsite_error(
    insight::get_data(drop_data(plain)), class = "gibbsite_error_state"
  )
  expect_gibbsite_error(
    insight::get_data(bare_fit()), class = "gibbsite_error_argument"
  )
})

test_that("insight's parameters are the draws", {
  skip_long()
  skip_if_not_installed("insight")
  for (fit in c(regressions(), list(bare_fit()))) {
    draws <- insight::get_parameters(fit)
    names <- rownames(vcov(fit))
    expect_identical(as.matrix(draws), as.matrix(fit)[, names])
    expect_equal(cov(draws), if (inherits(fit, "laplace_logistic")) {
      cov(as.matrix(fit))
    } else {
      vcov(fit)
    })
    summary <- insight::get_parameters(fit, summary = TRUE)
    expect_equal(summary$Estimate, unname(colMeans(draws)))
    found <- insight::find_parameters(fit)
    expect_identical(found$conditional, names)
    expect_setequal(
      unlist(found), setdiff(posterior::variables(fit), "log_lik")
    )
  }
  fit <- regressions()$hlm
  expect_identical(
    names(insight::get_parameters(fit, effects = "random")),
    c("sd[1]", "sd[2]")
  )
  expect_identical(
    insight::find_parameters(fit, component = "sigma"), list(sigma = "sigma")
  )
  expect_identical(
    insight::find_parameters(fit, parameters = "^Diet", flatten = TRUE),
    paste0("Diet", 2:4)
  )
})

test_that("insight knows the family and the sampler", {
  skip_long()
  skip_if_not_installed("insight")
  fits <- regressions()
  links <- list(
    lm = identity, logit = plogis, probit = pnorm, laplace = plogis,
    hlm = identity
  )
  for (name in names(fits)) {
    fit <- fits[[name]]
    expect_equal(
      insight::link_inverse(fit)(c(-1, 0.3)), links[[name]](c(-1, 0.3))
    )
    expect_equal(insight::link_function(fit)(links[[name]](0.3)), 0.3)
  }
  expect_identical(
    insight::find_algorithm(fits$lm)[c("chains", "iterations", "warmup")],
    list(chains = 2L, iterations = 60L, warmup = 60)
  )
  for (name in names(fits)) {
    info <- insight::model_info(fits[[name]])
    expect_true(info$is_bayesian)
    expect_identical(info$is_mixed, name == "hlm")
    expect_identical(info$is_linear, name %in% c("lm", "hlm"))
    expect_identical(info$is_binomial, !name %in% c("lm", "hlm"))
    expect_identical(info$is_bernoulli, name %in% c("logit", "probit"))
    expect_identical(info$is_trial, name == "laplace")
    expect_identical(info$link_function, family(fits[[name]])$link)
  }
  others <- alist(
    student = client_fit(gibbs_lm, mpg ~ wt, cars, errors = "t"),
    students = client_fit(gibbs_hlm, mpg ~ wt + (1 | cyl), cars, errors = "t"),
    poisson = client_fit(gibbs_count, carb ~ wt, cars),
    negbinomial = client_fit(
      gibbs_count, carb ~ wt + (1 | gear), cars, family = "negbinomial"
    ),
    ordinal = client_fit(gibbs_ordinal, ordered(carb) ~ wt, cars),
    ordinals = client_fit(
      gibbs_ordinal, ordered(carb) ~ wt + (1 | cyl), cars
    ),
    categories = client_fit(gibbs_categorical, cyl ~ wt, cars)
  )
  some <- c("student", "negbinomial", "ordinal", "ordinals")
  others <- lapply(
    others[fast_or(some, names(others))], eval, environment()
  )
  # as insight has fits of rstanarm and brms, and t errors with normal ones
  known <- list(
    student = "is_linear", students = c("is_linear", "is_mixed"),
    poisson = c("is_count", "is_poisson"),
    negbinomial = c("is_count", "is_negbin", "is_mixed"),
    ordinal = c("is_probit", "is_ordinal", "is_cumulative"),
    ordinals = c("is_probit", "is_ordinal", "is_cumulative", "is_mixed"),
    categories = c("is_logit", "is_multinomial", "is_categorical")
  )
  for (name in names(others)) {
    info <- insight::model_info(others[[name]])
    expect_setequal(
      names(Filter(isTRUE, info)), c("is_bayesian", known[[name]])
    )
    expect_identical(info$n_obs, 32L)
  }
  further <- function(name) {
    insight::find_parameters(others[[name]], component = "auxiliary")$auxiliary
  }
  expect_identical(further("student"), c("nu", "lambda"))
  expect_identical(further("negbinomial"), "dispersion")
  expect_identical(further("ordinals"), sprintf("theta[%d]", 1:5))
  expect_identical(
    insight::find_parameters(others$ordinal)$conditional, "wt"
  )
  expect_identical(insight::find_random(fits$hlm), list(random = "Chick"))
  expect_null(insight::find_random(fits$lm))
  groups <- client_fit(gibbs_hlm, mpg ~ wt + (1 | cyl:am), cars)
  expect_identical(insight::find_random(groups, flatten = TRUE), "cyl:am")
  expect_identical(
    insight::find_random(groups, split_nested = TRUE, flatten = TRUE),
    c("cyl", "am")
  )
})

test_that("insight's predictions are those of the draws", {
  skip_long()
  skip_if_not_installed("insight")
  fits <- regressions()
  fit <- fits$logit
  draws <- posterior_epred(fit)
  shown <- as.data.frame(insight::get_predicted(fit))
  expect_equal(shown$Predicted, unname(colMeans(draws)))
  expect_equal(shown$CI_low, unname(apply(draws, 2, quantile, 0.025)))
  expect_equal(shown$CI_high, unname(apply(draws, 2, quantile, 0.975)))
  new <- insight::get_data(fit)[1:3, ]
  linear <- as.data.frame(
    insight::get_predicted(fit, new, predict = "link", ci = 0.8)
  )
  draws <- posterior_linpred(fit, newdata = new)
  expect_equal(linear$Predicted, unname(colMeans(draws)))
  expect_equal(linear$CI_low, unname(apply(draws, 2, quantile, 0.1)))
  # of new data without the groups, unless they are asked for
  new <- chicks[c(1, 300), ]
  bare <- as.data.frame(insight::get_predicted(fits$hlm, new))
  draws <- posterior_epred(fits$hlm, newdata = new, re_formula = NA)
  expect_equal(bare$Predicted, unname(colMeans(draws)))
  whole <- withr::with_seed(1, as.data.frame(
    insight::get_predicted(fits$hlm, new, include_random = TRUE)
  ))
  draws <- withr::with_seed(1, posterior_epred(fits$hlm, newdata = new))
  expect_equal(whole$Predicted, unname(colMeans(draws)))
  own <- withr::with_seed(1, as.data.frame(insight::get_predicted(fits$hlm)))
  draws <- withr::with_seed(1, posterior_epred(fits$hlm))
  expect_equal(own$Predicted, unname(colMeans(draws)))
})

test_that("insight's predictions take the offset from the new data", {
  skip_if_not_installed("insight")
  fit <- quietly(gibbs_lm(
    mpg ~ wt, datasets::mtcars, offset = hp / 100, draws = 20, burnin = 20,
    chains = 1, seed = 1, progress = FALSE
  ))
  shown <- insight::get_predicted(fit, datasets::mtcars[3:1, ])
  expect_equal(as.numeric(shown), unname(fitted(fit)[3:1]))
  expect_error(
    insight::get_predicted(fit, data.frame(wt = 1)),
    class = "gibbsite_error_argument"
  )
})

test_that("insight finds the predictors", {
  skip_long()
  skip_if_not_installed("insight")
  fit <- client_fit(
    gibbs_hlm, weight ~ log1p(Time) + Diet + (1 + cold || Chick), chicks
  )
  expect_identical(
    insight::find_predictors(fit), list(conditional = c("Time", "Diet"))
  )
  expect_identical(
    insight::find_predictors(fit, effects = "all", flatten = TRUE),
    c("Time", "Diet", "Chick", "cold")
  )
  expect_identical(
    insight::find_predictors(fit, effects = "random"), list(random = "Chick")
  )
  crossed <- client_fit(
    gibbs_hlm, weight ~ Diet + (1 + cold | Chick) + (1 | Diet:Time), chicks
  )
  expect_identical(
    insight::find_predictors(crossed, effects = "all"),
    list(conditional = "Diet", random = c("Chick", "Diet", "Time", "cold"))
  )
  expect_named(
    insight::get_data(crossed, effects = "random"), c("Chick", "Diet", "Time"),
    ignore.order = TRUE
  )
  expect_named(
    insight::get_data(crossed, effects = "fixed"), c("weight", "Diet", "cold"),
    ignore.order = TRUE
  )
  expect_null(insight::find_predictors(client_fit(gibbs_gmm, faithful, 2)))
  expect_null(insight::find_predictors(bare_fit()))
})

test_that("other fits are coda's lists to insight, and errors elsewhere", {
  skip_long()
  skip_if_not_installed("insight")
  fit <- client_fit(gibbs_gmm, faithful, 2)
  expect_null(insight::find_formula(fit))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    insight::get_data(fit)
    insight::get_predicted(fit)
  })
  expect_identical(dim(insight::get_parameters(fit)), dim(as.matrix(fit)))
  expect_identical(
    insight::find_parameters(fit)$conditional, posterior::variables(fit)
  )
  skip_if_not_installed("emmeans")
  expect_gibbsite_error(
    emmeans::recover_data(fit), class = "gibbsite_error_argument"
  )
})

# ---- emmeans -----------------------------------------------------------------

# Draws of the means of a grid on the scale of the linear predictor.
grid_draws <- function(grid) {
  draws <- grid@post.beta %*% t(grid@linfct)
  offset <- grid@grid$.offset.
  if (is.null(offset)) draws else draws + rep(offset, each = nrow(draws))
}

test_that("emmeans are draws of the linear predictor", {
  skip_long()
  skip_if_not_installed("emmeans")
  fits <- regressions()
  at <- list(qsec = c(15, 19), wt = 3, gear = c(3, 5))
  grid <- emmeans::ref_grid(fits$lm, at = at)
  new <- transform(grid@grid, carb = 1)
  expect_equal(
    grid_draws(grid), posterior_linpred(fits$lm, newdata = new),
    tolerance = 1e-10, ignore_attr = TRUE
  )
  grid <- emmeans::ref_grid(fits$logit, at = list(hp = c(80, 200)))
  expect_equal(
    grid_draws(grid), posterior_linpred(fits$logit, newdata = grid@grid),
    tolerance = 1e-10, ignore_attr = TRUE
  )
  grid <- emmeans::ref_grid(fits$hlm, at = list(Time = c(3, 11)))
  expect_setequal(names(grid@levels), c("Time", "Diet"))
  new <- transform(grid@grid, cold = "no")
  expect_equal(
    grid_draws(grid),
    posterior_linpred(fits$hlm, newdata = new, re_formula = NA),
    tolerance = 1e-10, ignore_attr = TRUE
  )
})

test_that("emmeans' offsets and weights are those of glm()", {
  skip_unless_extended()
  skip_if_not_installed("emmeans")
  fits <- regressions()
  ours <- emmeans::emmeans(fits$probit, ~ cyl)
  theirs <- suppressWarnings(emmeans::emmeans(
    glm(am ~ qsec + cyl, binomial("probit"), cars, offset = exposure), ~ cyl
  ))
  expect_equal(ours@linfct, theirs@linfct)
  expect_equal(ours@grid, theirs@grid)
  ours <- emmeans::emmeans(fits$laplace, ~ cyl)
  theirs <- emmeans::emmeans(
    glm(cbind(carb, gear) ~ scale(wt) + cyl + offset(exposure), binomial, cars),
    ~ cyl
  )
  expect_equal(ours@linfct, theirs@linfct)
  # the weights of older versions of emmeans are 1 here
  expect_equal(ours@grid$.offset., theirs@grid$.offset.)
  expect_equal(
    ours@grid$.wgt., with(cars, as.vector(tapply(carb + gear, cyl, sum)))
  )
  least <- lm(
    log(mpg) ~ poly(qsec, 2) + cyl * wt + factor(gear), cars, weights = carb,
    subset = disp < 400
  )
  ours <- suppressMessages(
    emmeans::emmeans(fits$lm, ~ cyl, weights = "proportional")
  )
  theirs <- suppressMessages(
    emmeans::emmeans(least, ~ cyl, weights = "proportional")
  )
  expect_equal(ours@linfct, theirs@linfct)
})

test_that("summaries of emmeans are those of the draws", {
  skip_long()
  skip_if_not_installed("emmeans")
  fits <- regressions()
  grid <- emmeans::emmeans(fits$logit, ~ cyl)
  draws <- grid_draws(grid)
  shown <- as.data.frame(summary(grid, type = "response"))
  expect_equal(shown$prob, apply(plogis(draws), 2, median))
  hpd <- coda::HPDinterval(coda::as.mcmc(plogis(draws)), prob = 0.95)
  expect_equal(shown$lower.HPD, unname(hpd[, "lower"]))
  expect_equal(shown$upper.HPD, unname(hpd[, "upper"]))
  pairs <- as.data.frame(emmeans::contrast(grid, "pairwise"))
  expect_equal(pairs$estimate[1], median(draws[, 1] - draws[, 2]))
  # the logarithm of the response is undone
  grid <- suppressMessages(emmeans::emmeans(fits$lm, ~ cyl))
  shown <- as.data.frame(summary(grid, type = "response"))
  expect_equal(shown$response, apply(exp(grid_draws(grid)), 2, median))
  # each chain has its own draws
  expect_length(coda::as.mcmc(grid), 2)
  expect_equal(
    as.data.frame(summary(grid, frequentist = TRUE))$emmean,
    drop(grid@linfct %*% coef(fits$lm))
  )
})

test_that("emmeans takes data that the call does not give", {
  skip_long()
  skip_if_not_installed("emmeans")
  own <- cars
  fit <- client_fit(gibbs_lm, mpg ~ log(wt) + cyl, own)
  before <- emmeans::emmeans(fit, ~ cyl)
  rm(own)
  expect_gibbsite_error(
    emmeans::recover_data(fit), class = "gibbsite_error_state"
  )
  after <- emmeans::emmeans(fit, ~ cyl, data = cars)
  expect_identical(before@linfct, after@linfct)
  shifted <- client_fit(gibbs_lm, mpg ~ log(wt), cars, offset = exposure)
  expect_equal(
    emmeans::ref_grid(shifted, data = cars)@grid,
    emmeans::ref_grid(shifted)@grid
  )
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    emmeans::recover_data(shifted, data = cars["wt"])
    emmeans::recover_data(fit, data = cars["cyl"])
    emmeans::recover_data(fit, data = as.list(cars))
  })
  expect_gibbsite_error(
    emmeans::recover_data(bare_fit()), class = "gibbsite_error_argument"
  )
})

# ---- marginaleffects ---------------------------------------------------------

local_marginaleffects <- function(env = parent.frame()) {
  # marginaleffects 1.0.0 calls `%||%`, which R has since 4.4
  skip_if(getRversion() < "4.4", "marginaleffects needs R 4.4")
  skip_if_not_installed("marginaleffects")
  skip_if_not_installed("collapse")
  withr::local_options(
    marginaleffects_safe = FALSE, .local_envir = env
  )
}

test_that("loading the package makes fits known to marginaleffects", {
  expect_true("gibbsite_fit" %in% getOption("marginaleffects_model_classes"))
  withr::local_options(marginaleffects_model_classes = "another")
  name_to_marginaleffects()
  expect_identical(
    getOption("marginaleffects_model_classes"), c("another", "gibbsite_fit")
  )
})

draws_in <- function(x) unname(marginaleffects::get_draws(x, "DxP"))

test_that("marginaleffects predicts by the draws", {
  skip_long()
  local_marginaleffects()
  fits <- regressions()
  for (name in c("lm", "logit", "probit", "laplace")) {
    fit <- fits[[name]]
    mean <- unname(posterior_epred(fit))
    found <- marginaleffects::predictions(fit)
    expect_equal(draws_in(found), mean, tolerance = 1e-12)
    expect_equal(found$estimate, apply(mean, 2, median), tolerance = 1e-12)
    linear <- marginaleffects::predictions(fit, type = "link")
    expect_equal(
      draws_in(linear), unname(posterior_linpred(fit)), tolerance = 1e-12
    )
    by <- marginaleffects::avg_predictions(fit, by = "cyl")
    group <- insight::get_data(fit)$cyl
    expect_equal(
      draws_in(by)[, match("6", by$cyl)], rowMeans(mean[, group == "6"]),
      tolerance = 1e-12
    )
  }
  new <- head(cars[c("qsec", "cyl", "wt", "gear")], 3)
  expect_identical(
    withr::with_seed(2, t(attr(
      marginaleffects::get_predict(fits$lm, new, "prediction"),
      "posterior_draws"
    ))),
    unname(withr::with_seed(2, posterior_predict(fits$lm, new)))
  )
})

test_that("slopes are those of the expected response", {
  skip_long()
  local_marginaleffects()
  fits <- regressions()
  cases <- list(
    list("lm", "qsec"), list("lm", "wt"), list("logit", "hp"),
    list("probit", "qsec"), list("laplace", "wt")
  )
  for (case in cases) {
    fit <- fits[[case[[1]]]]
    variable <- case[[2]]
    data <- insight::get_data(fit)
    found <- marginaleffects::slopes(fit, variables = variable, eps = 1e-4)
    moved <- function(by) {
      new <- data
      new[[variable]] <- new[[variable]] + by
      offset <- if (case[[1]] == "probit") data$exposure
      unname(posterior_epred(fit, newdata = new, offset = offset))
    }
    expect_equal(
      draws_in(found), (moved(5e-5) - moved(-5e-5)) / 1e-4, tolerance = 1e-8
    )
  }
  found <- marginaleffects::comparisons(fits$logit, variables = "cyl")
  at <- function(level) {
    new <- transform(insight::get_data(fits$logit), cyl = level)
    unname(posterior_epred(fits$logit, newdata = new))
  }
  expect_equal(
    draws_in(found), cbind(at("6") - at("4"), at("8") - at("4")),
    tolerance = 1e-12
  )
})

test_that("the deviations of a group are the same in every call", {
  skip_long()
  local_marginaleffects()
  fit <- client_fit(
    gibbs_hlm, weight ~ Time + Diet + (1 + Time | Chick), chicks
  )
  new <- chicks[c(40, 3, 41, 200), ]
  first <- chicks[match(levels(chicks$Chick), chicks$Chick), ]
  withr::with_seed(7, {
    draws <- t(attr(marginaleffects::get_predict(fit, new), "posterior_draws"))
    after <- runif(1)
  })
  expect_identical(after, withr::with_seed(7, runif(1)))
  expected <- withr::with_seed(
    1, posterior_epred(fit, newdata = rbind(first, new))
  )
  expect_equal(draws, unname(expected[, -seq_len(nrow(first))]))
  # a linear effect has one slope for each group and draw, fixed and its own
  found <- marginaleffects::comparisons(
    fit, variables = list(Time = 2), newdata = new
  )
  by_two <- draws_in(found)
  expect_equal(by_two[, 1], by_two[, 3], tolerance = 1e-10)
  expect_gt(max(abs(by_two[, 1] - by_two[, 2])), 0.1)
  expect_equal(
    by_two[, 1], 2 * (draws[, 3] - draws[, 1]) / (new$Time[3] - new$Time[1]),
    tolerance = 1e-8
  )
  # without them
  bare <- suppressWarnings(
    marginaleffects::predictions(fit, newdata = new, re_formula = NA)
  )
  expect_equal(
    draws_in(bare), unname(posterior_epred(fit, new, re_formula = NA)),
    tolerance = 1e-12
  )
  new[["Chick"]] <- "none"
  expect_gibbsite_error(
    marginaleffects::get_predict(fit, new), class = "gibbsite_error_level"
  )
  some <- marginaleffects::get_predict(fit, new, allow_new_levels = TRUE)
  expect_identical(dim(attr(some, "posterior_draws")), c(4L, 120L))
})

test_that("what marginaleffects cannot have is an error", {
  skip_long()
  local_marginaleffects()
  fit <- regressions()$probit
  new <- cars[1:3, c("qsec", "cyl")]
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    marginaleffects::get_predict(fit, new)
    marginaleffects::get_predict(fit, cars, type = "odds")
    marginaleffects::set_coef(fit, coef(fit))
  })
  expect_equal(marginaleffects::get_coef(fit), coef(fit))
  expect_equal(marginaleffects::get_vcov(fit), vcov(fit))
})

# ---- outcomes in groups ------------------------------------------------------

herds <- function(...) {
  client_fit(
    gibbs_logistic,
    cbind(incidence, size - incidence) ~ period + (1 | herd), lme4::cbpp, ...
  )
}

trees <- function() {
  client_fit(
    gibbs_logistic, I(weight > 100) ~ Time + Diet + (1 + Time | Chick), chicks,
    link = "probit"
  )
}

# The linear predictors of the rows of `data`, by hand: fixed effects `w` of the
# design `x`, and the coefficients of the groups for the terms in `own`.
linear_by_hand <- function(fit, x, own, group) {
  draws <- as.matrix(fit)
  w <- draws[, colnames(x)]
  eta <- matrix(0, nrow(draws), nrow(x))
  for (i in seq_len(nrow(x))) {
    of_row <- w
    for (k in seq_along(own)) {
      of_row[, own[k]] <- draws[, sprintf("w[%d,%d]", k, group[i])]
    }
    eta[, i] <- of_row %*% x[i, ]
  }
  eta
}

test_that("insight reads outcomes in groups", {
  skip_unless_extended()
  skip_if_not_installed("insight")
  counts <- herds()
  single <- trees()
  info <- insight::model_info(counts)
  expect_true(info$is_binomial && info$is_mixed && info$is_bayesian)
  expect_true(info$is_logit && info$is_trial && !info$is_bernoulli)
  info <- insight::model_info(single)
  expect_true(info$is_probit && info$is_bernoulli && !info$is_trial)
  expect_equal(insight::link_inverse(single)(0.3), pnorm(0.3))
  both <- insight::find_formula(counts)
  expect_equal(
    both$conditional, cbind(incidence, size - incidence) ~ period,
    ignore_attr = TRUE
  )
  expect_equal(both$random, ~ 1 | herd, ignore_attr = TRUE)
  expect_identical(insight::find_random(counts, flatten = TRUE), "herd")
  expect_identical(
    insight::get_data(counts)[c("incidence", "size", "period", "herd")],
    lme4::cbpp[c("incidence", "size", "period", "herd")]
  )
  expect_identical(
    insight::get_data(single), chicks[c("weight", "Time", "Diet", "Chick")]
  )
  expect_identical(
    insight::find_parameters(single),
    list(
      conditional = c("(Intercept)", "Time", paste0("Diet", 2:4)),
      random = c("sd[1]", "sd[2]", "cor[2,1]")
    )
  )
  expect_identical(
    as.matrix(insight::get_parameters(single)),
    as.matrix(single)[, c("(Intercept)", "Time", paste0("Diet", 2:4))]
  )
  expect_identical(insight::get_response(single), chicks$weight)
})

test_that("emmeans of outcomes in groups are those of the fixed effects", {
  skip_unless_extended()
  skip_if_not_installed("emmeans")
  fit <- herds()
  grid <- emmeans::emmeans(fit, ~ period)
  theirs <- emmeans::emmeans(
    lme4::glmer(formula(fit), lme4::cbpp, binomial), ~ period
  )
  expect_equal(grid@linfct, theirs@linfct)
  w <- unname(as.matrix(fit)[, 1:4])
  eta <- cbind(w[, 1], w[, 1] + w[, 2:4])
  shown <- as.data.frame(summary(grid))
  expect_equal(shown$emmean, apply(eta, 2, median))
  shown <- as.data.frame(summary(grid, type = "response"))
  expect_equal(shown$prob, apply(plogis(eta), 2, median))
  hpd <- coda::HPDinterval(coda::as.mcmc(plogis(eta)), prob = 0.95)
  expect_equal(shown$lower.HPD, unname(hpd[, "lower"]))
  expect_equal(shown$upper.HPD, unname(hpd[, "upper"]))
  odds <- as.data.frame(summary(
    emmeans::contrast(grid, "trt.vs.ctrl"), type = "response"
  ))
  expect_equal(odds$odds.ratio, apply(exp(w[, 2:4]), 2, median))
  expect_equal(
    posterior_linpred(
      fit, newdata = data.frame(period = levels(lme4::cbpp$period)),
      re_formula = NA
    ),
    eta,
    ignore_attr = TRUE
  )
  probit <- trees()
  # no transformation of this fit's response is undone
  shown <- as.data.frame(summary(
    emmeans::emmeans(probit, ~ Diet, at = list(Time = 8)), type = "response"
  ))
  w <- as.matrix(probit)[, 1:5]
  expect_equal(
    shown$prob[3], median(pnorm(w %*% c(1, 8, 0, 1, 0)))
  )
})

test_that("marginaleffects of outcomes in groups are those of the draws", {
  skip_long()
  local_marginaleffects()
  fit <- herds()
  data <- lme4::cbpp
  x <- model.matrix(~ period, data)
  eta <- linear_by_hand(fit, x, "(Intercept)", as.integer(data$herd))
  found <- marginaleffects::predictions(fit)
  expect_equal(draws_in(found), plogis(eta), tolerance = 1e-10)
  expect_equal(found$estimate, apply(plogis(eta), 2, median), tolerance = 1e-10)
  linear <- marginaleffects::predictions(fit, type = "link")
  expect_equal(draws_in(linear), eta, tolerance = 1e-10)
  found <- marginaleffects::avg_comparisons(
    fit, variables = list(period = c("1", "4"))
  )
  moved <- x
  moved[, -1] <- 0
  first <- linear_by_hand(fit, moved, "(Intercept)", as.integer(data$herd))
  moved[, "period4"] <- 1
  last <- linear_by_hand(fit, moved, "(Intercept)", as.integer(data$herd))
  expect_equal(
    as.vector(draws_in(found)), rowMeans(plogis(last) - plogis(first)),
    tolerance = 1e-10
  )
  bare <- suppressWarnings(
    marginaleffects::predictions(fit, re_formula = NA)
  )
  expect_equal(
    draws_in(bare), plogis(unname(as.matrix(fit)[, 1:4] %*% t(x))),
    tolerance = 1e-10
  )
  new <- data.frame(period = factor(2, 1:4), herd = "none")
  expect_gibbsite_error(
    marginaleffects::get_predict(fit, new), class = "gibbsite_error_level"
  )
  some <- attr(
    marginaleffects::get_predict(fit, new, allow_new_levels = TRUE),
    "posterior_draws"
  )
  expect_true(all(some > 0 & some < 1))
  new <- marginaleffects::get_predict(fit, data, type = "prediction")
  expect_true(all(attr(new, "posterior_draws") %in% 0:1))
})

test_that("slopes of outcomes in groups are the derivatives", {
  skip_long()
  local_marginaleffects()
  fit <- trees()
  group <- match(chicks$Chick, levels(chicks$Chick))
  x <- model.matrix(~ Time + Diet, chicks)
  eta <- linear_by_hand(fit, x, c("(Intercept)", "Time"), group)
  own <- as.matrix(fit)[, sprintf("w[2,%d]", group)]
  slope <- unname(dnorm(eta) * own)
  found <- marginaleffects::slopes(fit, variables = "Time", eps = 1e-4)
  expect_equal(draws_in(found), slope, tolerance = 1e-6)
  average <- marginaleffects::avg_slopes(fit, variables = "Time", eps = 1e-4)
  expect_equal(average$estimate, median(rowMeans(slope)), tolerance = 1e-6)
})

# ---- performance and parameters ----------------------------------------------

test_that("R squared is that of bayes_R2(), and other summaries are errors", {
  skip_long()
  fits <- regressions()
  for (name in c("lm", "probit", "laplace")) {
    expect_identical(
      unname(r2_posterior.gibbsite_fit(fits[[name]])$R2_Bayes),
      unname(bayes_R2(fits[[name]]))
    )
  }
  shares <- withr::with_seed(1, r2_posterior.gibbsite_fit(fits$hlm))
  expect_identical(
    unname(shares$R2_Bayes), unname(withr::with_seed(1, bayes_R2(fits$hlm)))
  )
  expect_identical(
    unname(shares$R2_Bayes_marginal),
    unname(bayes_R2(fits$hlm, re_formula = NA))
  )
  expect_lt(mean(shares$R2_Bayes_marginal), mean(shares$R2_Bayes))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    r2.gibbsite_fit(fits$lm)
    model_performance.gibbsite_fit(client_fit(gibbs_gmm, faithful, 2))
    r2_posterior.gibbsite_fit(client_fit(gibbs_gmm, faithful, 2))
  })
})

# ---- matrices ----------------------------------------------------------------

test_that("fits of a matrix are drawn, and rows may have equal names", {
  skip_long()
  x <- cbind(a = rep(c(1, 3, 2, 5), 5), b = rep(1:5, each = 4))
  rownames(x) <- rep(c("r", "s"), 10)
  y <- sin(1:20) + x[, "a"]
  short <- function(f, ...) {
    quietly(f(x, ..., draws = 20, burnin = 20, chains = 2, seed = 1,
              progress = FALSE))
  }
  fits <- list(short(gibbs_lm, y), short(gibbs_logistic, as.numeric(y > 3)))
  for (fit in fits) {
    expect_true(all(c("a", "b") %in% drawn(plot(fit))$text))
    bands <- predict(fit, type = "response", interval = "mean")
    expect_identical(
      rownames(bands)[1:5], c("r", "s", "r.1", "s.1", "r.2")
    )
    expect_identical(unname(predict(fit, type = "response")), bands$mean)
    expect_identical(names(predict(fit))[1:3], c("r", "s", "r"))
  }
})
