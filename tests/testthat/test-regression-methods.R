# Methods of regressions, which each predictor and each response shares.

quick <- function(f, ..., draws = 60, burnin = 60) {
  suppressWarnings(f(
    ..., draws = draws, burnin = burnin, chains = 2, seed = 1, progress = FALSE
  ))
}

cars <- datasets::mtcars
cars$share <- cars$carb

expect_refused <- function(code) {
  expect_error(code, class = "gibbsite_error_argument")
}

grouped_fits <- once(function() {
  list(
    normal = quick(gibbs_hlm, mpg ~ wt + (1 | cyl), cars),
    slopes = quick(gibbs_hlm, mpg ~ wt + (wt | cyl), cars),
    logit = quick(gibbs_logistic, am ~ wt + (1 | cyl), cars),
    probit = quick(
      gibbs_logistic, cbind(carb, 8 - carb) ~ wt + (wt || cyl), cars,
      link = "probit"
    )
  )
})

test_that("each kind of fit has the class of all regressions", {
  skip_long()
  line <- quick(gibbs_lm, mpg ~ wt, cars)
  fits <- c(grouped_fits(), list(
    line = line, plain = quick(gibbs_logistic, am ~ wt, cars),
    laplace = laplace_logistic(am ~ wt, cars, draws = 40, seed = 1)
  ))
  made_by <- c(
    normal = "gibbs_hlm", slopes = "gibbs_hlm", logit = "gibbs_logistic",
    probit = "gibbs_logistic", line = "gibbs_lm", plain = "gibbs_logistic",
    laplace = "laplace_logistic"
  )
  for (kind in names(fits)) {
    expect_identical(class(fits[[kind]])[[1]], made_by[[kind]])
    expect_true(inherits(fits[[kind]], "gibbsite_regression"))
  }
  expect_s3_class(attr(fits$plain, "model"), "logistic_model")
  # methods are registered once
  found <- getNamespaceInfo("gibbsite", "S3methods")
  once <- c(
    "coef", "vcov", "confint", "fitted", "residuals", "weights", "formula",
    "terms", "family", "model.frame", "model.matrix", "simulate", "augment",
    "predict", "posterior_linpred", "posterior_epred", "posterior_predict",
    "log_lik", "bayes_R2", "sigma"
  )
  own <- c("gibbs_lm", "gibbs_hlm", "gibbs_logistic", "laplace_logistic")
  expect_false(any(found[, 1] %in% once & found[, 2] %in% own))
})

test_that("types and intervals of predict() are the same for all", {
  skip_long()
  new <- data.frame(wt = c(2, 3.5), cyl = 4)
  fits <- c(grouped_fits(), list(
    line = quick(gibbs_lm, mpg ~ wt, cars),
    plain = quick(gibbs_logistic, am ~ wt, cars),
    laplace = laplace_logistic(am ~ wt, cars, draws = 400, seed = 1)
  ))
  for (fit in fits[fast_or(c(2, 4, 5, 7), seq_along(fits))]) {
    inverse <- family(fit)$linkinv
    link <- predict(fit, new, interval = "mean", level = 0.5)
    mean <- predict(fit, new, type = "response", interval = "mean", level = 0.5)
    expect_identical(names(mean), c("mean", "sd", "lower", "upper"))
    expect_identical(unname(predict(fit, new)), link$mean)
    expect_identical(unname(predict(fit, new, type = "response")), mean$mean)
    expect_equal(mean$lower, inverse(link$lower), tolerance = 1e-3)
    expect_equal(mean$upper, inverse(link$upper), tolerance = 1e-3)
    expect_identical(
      unname(fitted(fit)), predict(fit, NULL, "response", "mean")$mean
    )
    # a new observation varies more than its mean
    other <- predict(fit, new, interval = "prediction", level = 0.5)
    expect_identical(
      other, predict(fit, new, "response", "prediction", level = 0.5)
    )
    expect_true(all(other$sd > mean$sd))
    drawn <- withr::with_seed(1, {
      do.call(rbind, lapply(1:5, function(i) posterior_predict(fit, new)))
    })
    error <- apply(drawn, 2, stats::sd) / sqrt(ndraws(fit))
    expect_true(all(abs(other$mean - colMeans(drawn)) < 5 * error))
    expect_refused(predict(fit, new, interval = TRUE))
    expect_refused(predict(fit, new, type = "mean"))
    expect_refused(
      predict(fit, new, type = "link", interval = "prediction")
    )
  }
})

test_that("numbers of successes have quantiles of the mixture", {
  skip_long()
  fit <- quick(gibbs_logistic, cbind(carb, 8 - carb) ~ wt, cars, draws = 400)
  new <- data.frame(wt = c(1.5, 3, 5))
  found <- predict(
    fit, new, interval = "prediction", trials = c(1, 8, 50), level = 0.8
  )
  share <- posterior_epred(fit, new)
  for (i in 1:3) {
    m <- c(1, 8, 50)[[i]]
    p <- vapply(0:m, function(k) mean(dbinom(k, m, share[, i])), 0)
    mean <- sum(0:m * p)
    expect_equal(found$mean[i], mean)
    expect_equal(found$sd[i], sqrt(sum((0:m - mean)^2 * p)), tolerance = 1e-3)
    expect_identical(found$lower[i], which(cumsum(p) >= 0.1)[1] - 1)
    expect_identical(found$upper[i], which(cumsum(p) >= 0.9)[1] - 1)
  }
  # of the normal approximation they are integrals
  near <- laplace_logistic(
    cbind(carb, 8 - carb) ~ wt, cars, draws = 100, seed = 1
  )
  exact <- predict(near, new[2, , drop = FALSE], interval = "mean")
  p <- vapply(0:50, function(k) {
    integrate(function(z) {
      dbinom(k, 50, plogis(exact$mean + exact$sd * z)) * dnorm(z)
    }, -9, 9, rel.tol = 1e-10)$value
  }, 0)
  found <- predict(
    near, new[2, , drop = FALSE], interval = "prediction", trials = 50
  )
  expect_equal(found$mean, sum(0:50 * p), tolerance = 1e-8)
  expect_identical(found$lower, which(cumsum(p) >= 0.025)[1] - 1)
  expect_identical(found$upper, which(cumsum(p) >= 0.975)[1] - 1)
})

test_that("augment() takes the offset of new data", {
  cars <- datasets::mtcars
  of <- function(f, formula) {
    quietly(f(
      formula, cars, offset = hp / 100, draws = 20, burnin = 20, chains = 1,
      seed = 1, progress = FALSE
    ))
  }
  counts <- of(gibbs_count, carb ~ wt)
  ordered <- of(gibbs_ordinal, ordered(gear) ~ wt)
  take <- function(fit) {
    out <- augment(fit, newdata = cars[3:1, ], offset = cars$hp[3:1] / 100)
    out[c(".fitted", intersect(names(out), ".probability"))]
  }
  expect_equal(
    take(counts), augment(counts)[3:1, ".fitted", drop = FALSE],
    ignore_attr = TRUE
  )
  expect_equal(
    take(ordered), augment(ordered)[3:1, c(".fitted", ".probability")],
    ignore_attr = TRUE
  )
})

test_that("grouped fits have augment(), simulate() and response curves", {
  skip_long()
  withr::local_pdf(NULL)
  size <- fast_or(100, 300)
  for (fit in grouped_fits()[fast_or(c(2, 4), 1:4)]) {
    out <- augment(fit)
    expect_identical(out$.fitted, unname(fitted(fit)))
    expect_identical(out$.resid, unname(residuals(fit)))
    fresh <- augment(
      fit, newdata = data.frame(wt = 2, cyl = 5), allow_new_levels = TRUE
    )
    expect_true(fresh$.lower < fresh$.fitted && fresh$.fitted < fresh$.upper)
    sets <- simulate(fit, size, seed = 3)
    expect_identical(sets, simulate(fit, size, seed = 3))
    draws <- if (is.matrix(sets[[1]])) {
      vapply(sets, function(one) one[, 1], numeric(32))
    } else {
      as.matrix(sets)
    }
    replicated <- withr::with_seed(1, posterior_predict(fit))
    error <- apply(rbind(t(draws), replicated), 2, stats::sd) *
      sqrt(1 / size + 1 / ndraws(fit))
    away <- abs(rowMeans(draws) - colMeans(replicated))
    expect_lt(max(away[error > 0] / error[error > 0]), 5)
    expect_identical(plot(fit, type = "response", variable = "wt"), fit)
    shown <- gibbsite:::response_shown(fit, "wt", 0.9, NULL)
    at <- data.frame(wt = shown$grid$at)
    expect_equal(
      shown$table[c("mean", "lower", "upper")], predict(
        fit, at, "response", "mean", level = 0.9, re_formula = NA
      )[c("mean", "lower", "upper")], ignore_attr = TRUE
    )
    if (shown$normal) {
      at$cyl <- 99
      expect_equal(
        shown$table[c("new_lower", "new_upper")], predict(
          fit, at, interval = "prediction", level = 0.9, allow_new_levels = TRUE
        )[c("lower", "upper")], ignore_attr = TRUE
      )
    }
  }
  binary <- grouped_fits()$logit
  expect_identical(plot(binary, type = "calibration", groups = 3), binary)
})

test_that("log_lik() of new rows is that of the same rows in the fit", {
  skip_long()
  for (fit in grouped_fits()[fast_or(c(2, 4), 1:4)]) {
    rows <- c(3, 9, 20)
    # deviations that are not stored are drawn in the order of the groups
    whole <- withr::with_seed(1, log_lik(fit))
    again <- withr::with_seed(1, log_lik(fit, newdata = cars))
    expect_equal(again, whole, ignore_attr = TRUE)
    some <- log_lik(fit, newdata = cars[rows, ], ndraws = 10)
    expect_identical(dim(some), c(10L, 3L))
    other <- cars[1, ]
    other$cyl <- 11
    expect_error(log_lik(fit, newdata = other), class = "gibbsite_error_level")
    new <- withr::with_seed(1, log_lik(
      fit, newdata = other, allow_new_levels = TRUE
    ))
    expect_true(all(is.finite(new)))
  }
  fit <- grouped_fits()$normal
  other$cyl <- 4
  near <- withr::with_seed(2, log_lik(fit, newdata = other, weights = 4))
  mu <- withr::with_seed(2, posterior_linpred(fit, newdata = other))
  expect_equal(
    unname(near[, 1]),
    dnorm(other$mpg, mu[, 1], as.matrix(fit)[, "sigma"] / 2, log = TRUE)
  )
})

test_that("the density of a group's binomial responses is an integral", {
  skip_long()
  # by integrate(), of one deviation
  for (link in fast_or("probit", c("logit", "probit"))) {
    fit <- suppressWarnings(gibbs_logistic(
      cbind(carb, 8 - carb) ~ wt + (0 + wt | cyl), cars, link = link,
      weights = rep(1:2, 16), draws = 30, burnin = 60, chains = 2, seed = 1,
      progress = FALSE
    ))
    found <- log_lik(fit, by = "group", ndraws = 5)
    expect_identical(colnames(found), c("4", "6", "8"))
    draws <- as.matrix(fit)[round(seq(1, ndraws(fit), length.out = 5)), ]
    inverse <- family(fit)$linkinv
    for (s in 1:5) {
      for (g in 1:3) {
        rows <- cars[cars$cyl == c(4, 6, 8)[[g]], ]
        v <- rep(1:2, 16)[cars$cyl == c(4, 6, 8)[[g]]]
        log_density <- function(u) {
          eta <- draws[s, 1] + (draws[s, "wt"] + u) * rows$wt
          sum(v * (rows$carb * log(inverse(eta)) +
                     (8 - rows$carb) * log(1 - inverse(eta)) +
                     lchoose(8, rows$carb)))
        }
        sd <- draws[s, "sd[1]"]
        top <- found[s, g]
        exact <- integrate(function(u) {
          vapply(u, function(one) {
            exp(log_density(one) - top) * dnorm(one, 0, sd)
          }, 0)
        }, -8 * sd, 8 * sd, rel.tol = 1e-9, subdivisions = 500L)$value
        expect_equal(log(exact), 0, tolerance = 1e-4)
      }
    }
  }
  # of two, by the mean over draws of the deviations
  fit <- quick(gibbs_logistic, am ~ wt + (wt | cyl), cars)
  found <- log_lik(fit, by = "group", ndraws = 1)
  at <- as.matrix(fit)[1, ]
  sd <- at[c("sd[1]", "sd[2]")]
  sigma <- outer(sd, sd) * matrix(c(1, at["cor[2,1]"], at["cor[2,1]"], 1), 2)
  rows <- cars[cars$cyl == 6, ]
  u <- withr::with_seed(1, sample_mvnorm(20000, c(0, 0), sigma))
  value <- exp(rowSums(vapply(seq_len(nrow(rows)), function(i) {
    eta <- at[1] + u[, 1] + (at["wt"] + u[, 2]) * rows$wt[i]
    plogis(if (rows$am[i] == 1) eta else -eta, log.p = TRUE)
  }, numeric(20000))))
  expect_lt(
    abs(exp(found[1, "6"]) - mean(value)), 5 * sd(value) / sqrt(20000)
  )
})

test_that("what a fit lacks is refused in words", {
  skip_long()
  line <- quick(gibbs_lm, mpg ~ wt, cars)
  plain <- quick(gibbs_logistic, am ~ wt, cars)
  grouped <- grouped_fits()$logit
  expect_gibbsite_error({
    log_lik(line, by = "group")
    log_lik(grouped, newdata = cars, by = "group")
    nlme::ranef(plain)
    nlme::VarCorr(line)
    sigma(grouped)
    predict(plain, cars, weights = 2)
    predict(line, cars, trials = 2)
    predict(plain, type = "class", interval = "mean")
    plot(line, type = "odds")
    plot(plain, type = "groups")
    plot(plain, term = "wt")
  })
  expect_identical(nlme::fixef(line), coef(line))
})

test_that("explained variance takes many rows in blocks of draws", {
  fits <- list(
    brief(gibbs_logistic, am ~ wt, datasets::mtcars),
    brief(gibbs_lm, dist ~ speed, datasets::cars, errors = "t")
  )
  new <- list(datasets::mtcars[1:9, ], NULL)
  whole <- Map(bayes_R2, fits, new)
  local_object("row_blocks", function(n, ...) {
    unname(split(seq_len(n), seq_len(n) %/% 7))
  })
  expect_identical(Map(bayes_R2, fits, new), whole)
})

test_that("data of a name that a function has are said to be missing", {
  made <- function(df, formula) {
    suppressWarnings(gibbs_lm(
      formula, df, draws = 5, burnin = 5, chains = 1, seed = 1, progress = FALSE
    ))
  }
  fit <- made(mtcars, mpg ~ wt)
  expect_identical(nrow(client_data(fit)), 32L)
  # the fit's own variables take their place
  again <- suppressWarnings(update(fit, . ~ 1))
  expect_identical(nobs(again), 32L)
  expect_error(update(fit, . ~ hp), "data = df", class = "gibbsite_error_data")
  # the call has the data, but no columns that its formula does not have
  whole <- suppressWarnings(do.call(gibbs_lm, list(
    mpg ~ wt, mtcars, draws = 5, burnin = 5, chains = 1, seed = 1,
    progress = FALSE
  )))
  expect_error(
    suppressWarnings(update(whole, . ~ . + hp)), "not \"hp\"",
    class = "gibbsite_error_data"
  )
  again <- suppressWarnings(update(whole, . ~ 1))
  expect_identical(names(coef(again)), "(Intercept)")
})

test_that("update() finds the constants of a formula that a function made", {
  make <- function(d) {
    rows <- d[1:20, ]
    power <- 2
    gibbs_lm(mpg ~ wt + I(wt^power), rows, draws = 20, burnin = 5, chains = 2,
             seed = 1, progress = FALSE)
  }
  fit <- suppressWarnings(make(mtcars))
  again <- suppressWarnings(update(fit, seed = 2))
  expect_identical(nobs(again), 20L)
  expect_named(coef(again), names(coef(fit)))
  rows <- mtcars
  expect_message(more <- suppressWarnings(update(fit)), "32 observations",
                 class = "gibbsite_message_other_data")
  expect_named(coef(more), names(coef(fit)))
})

test_that("kept deviations of groups are those of all draws", {
  fit <- quick(
    gibbs_hlm, weight ~ Time + (1 + Time | Chick), ChickWeight, keep = "w"
  )
  eta <- posterior_linpred(fit)
  expect_identical(posterior_linpred(fit), eta)
  w <- as.matrix(fit)
  at <- match(ChickWeight$Chick[[30]], rownames(coef(fit)$Chick))
  expect_equal(
    unname(eta[, 30]), unname(
      w[, sprintf("w[1,%d]", at)] +
        ChickWeight$Time[[30]] * w[, sprintf("w[2,%d]", at)]
    )
  )
})

test_that("one group is said to inform nothing about its spread", {
  expect_message(
    quick(gibbs_hlm, mpg ~ wt + (1 | cyl), subset(mtcars, cyl == 4)),
    "one group", class = "gibbsite_message_single_group"
  )
  expect_message(
    quick(gibbs_logistic, am ~ wt + (1 | vs) + (1 | cyl),
          subset(mtcars, cyl == 4)),
    "one group", class = "gibbsite_message_single_group"
  )
})

test_that("augment() keeps the kind of data frame, and replaces its columns", {
  skip_if_not_installed("tibble")
  fit <- quietly(gibbs_lm(mpg ~ wt, mtcars, seed = 1, draws = 50))
  data <- tibble::as_tibble(mtcars)
  out <- augment(fit, data = data)
  expect_s3_class(out, "tbl_df")
  expect_s3_class(augment(fit, newdata = data[1:3, ]), "tbl_df")
  other <- quietly(gibbs_lm(mpg ~ hp, mtcars, seed = 1, draws = 50))
  again <- augment(other, data = out)
  expect_identical(names(again), names(out))
  expect_equal(again$.fitted, unname(fitted(other)))
  # no terms, which hold an environment
  expect_named(attributes(augment(fit)), c("names", "class", "row.names"),
               ignore.order = TRUE)
  expect_identical(
    names(augment(fit)), c("mpg", "wt", ".fitted", ".sd", ".lower", ".upper",
                           ".resid")
  )
})

test_that("bayes_R2() has the variance of weighted observations", {
  w <- rep(c(1, 5, 0.2, 3), 8)
  for (errors in c("normal", "t")) {
    one <- function(k) {
      d <- transform(mtcars, w = w * k)
      bayes_R2(quick(gibbs_lm, mpg ~ wt, d, weights = w, errors = errors))
    }
    # the scale of the weights has no meaning
    expect_equal(mean(one(1)), mean(one(1000)), tolerance = 1e-6)
  }
  schools <- data.frame(
    effect = c(28, 8, -3, 7, -1, 1, 18, 12),
    error = c(15, 10, 16, 11, 9, 11, 10, 18), school = LETTERS[1:8]
  )
  fit <- quick(gibbs_hlm, effect ~ 1 + (1 | school), schools, se = error,
               keep = "w")
  explained <- apply(posterior_epred(fit), 1, var)
  expect_equal(
    bayes_R2(fit), explained / (explained + mean(schools$error^2))
  )
  expect_equal(bayes_R2(fit, newdata = schools), bayes_R2(fit))
})

test_that("every regression takes an earlier fit as starting values", {
  skip_long()
  data <- withr::with_seed(1, data.frame(
    x = rnorm(60), g = rep(1:6, 10), h = rep(1:5, 12), count = rpois(60, 2)
  ))
  data <- withr::with_seed(2, transform(data, y = x + rnorm(60)))
  data <- transform(
    data, success = y > 0, kind = c("a", "b", "c")[1 + count %% 3],
    rank = cut(y, c(-Inf, -1, 0, 1, Inf), ordered_result = TRUE)
  )
  samplers <- list(
    y = gibbs_hlm, count = gibbs_count, success = gibbs_logistic,
    rank = gibbs_ordinal, kind = gibbs_categorical
  )
  bars_of <- list(character(), "(1 | g)", c("(1 | g)", "(1 + x | h)"))
  for (response in names(samplers)) {
    few <- if (response == "y") c(1, 3) else 3
    for (bars in bars_of[fast_or(few, 1:3)]) {
      formula <- stats::reformulate(c("x", bars), response)
      sampler <- samplers[[response]]
      if (response == "y" && length(bars) == 0L) sampler <- gibbs_lm
      fit <- brief(sampler, formula, data)
      again <- brief(sampler, formula, data, inits = fit)
      expect_identical(colnames(again[[1]]), colnames(fit[[1]]))
    }
  }
})
