# The data of every regression: errors name the argument at fault.

rows <- withr::with_seed(1, data.frame(
  y = stats::rnorm(20), x = stats::rnorm(20), g = gl(4, 5), z = rep(0:1, 10)
))

# 64-bit integers as bit64 makes them, also without bit64
long <- function(x) structure(as.double(x) * 2^-1074, class = "integer64")

test_that("64-bit integers are refused, in whatever place", {
  skip_long()
  big <- rows
  big$i <- long(1:20)
  expect_gibbsite_error(class = "gibbsite_error_column", {
    gibbs_lm(y ~ i, big)
    gibbs_lm(i ~ x, big)
    gibbs_lm(y ~ x, big, weights = i)
    gibbs_lm(y ~ x, big, offset = i)
    gibbs_lm(y ~ x + offset(i), big)
    gibbs_hlm(y ~ x + (1 | i), big)
    gibbs_hlm(y ~ i + (1 | g), big)
    gibbs_logistic(z ~ i, big)
    gibbs_logistic(z ~ x + (1 | i), big)
    laplace_logistic(z ~ i, big)
    gibbs_lm(structure(long(1:20), dim = c(20, 1)), rows$y)
    gibbs_lm(cbind(rows$x), long(1:20))
    gibbs_lm(cbind(rows$x), structure(long(1:20), dim = c(20, 1)))
    gibbs_logistic(cbind(rows$x), structure(long(1:20), dim = c(20, 1)))
  })
  expect_gibbsite_error({
    gibbs_lm(cbind(rows$x), rows$y, weights = long(1:20))
    gibbs_lm(cbind(rows$x), rows$y, offset = long(1:20))
    gibbs_hlm(y ~ x + (1 | g), big, se = i)
  })
})

test_that("a function `na_action` must leave whole rows of the frame", {
  skip_long()
  holes <- transform(
    rows, y = replace(y, 1, NA), z = replace(z, 1, NA)
  )
  lost <- transform(rows, g = replace(g, 2, NA))
  same <- function(frame) frame
  expect_gibbsite_error({
    gibbs_lm(y ~ x, holes, na_action = same)
    gibbs_hlm(y ~ x + (1 | g), lost, na_action = same)
    gibbs_logistic(z ~ x, holes, na_action = same)
    gibbs_logistic(z ~ x + (1 | g), lost, na_action = same)
    laplace_logistic(z ~ x, holes, na_action = identity)
    gibbs_hlm(y ~ x + (1 | g), rows, se = c(NA, rep(1, 19)), na_action = same)
    gibbs_lm(y ~ x, rows, na_action = function(frame) {
      as.data.frame(as.list(frame))
    })
    gibbs_lm(y ~ x, rows, na_action = function(frame) frame[0, ])
  })
})

test_that("a variable is never taken for weights or offset by its name", {
  skip_long()
  odd <- transform(rows, w = abs(x), o = x)
  names(odd)[5:6] <- c("(weights)", "(offset)")
  expect_gibbsite_error(class = "gibbsite_error_formula", {
    gibbs_lm(y ~ `(weights)`, odd)
    gibbs_lm(y ~ ., odd)
    gibbs_lm(y ~ `(offset)`, odd)
    gibbs_hlm(y ~ x + (`(weights)` | g), odd)
    gibbs_hlm(y ~ x + (1 | `(offset)`), odd)
    gibbs_hlm(y ~ `(weights)` + (1 | g), odd, se = abs(x))
    gibbs_logistic(z ~ `(weights)`, odd)
    laplace_logistic(z ~ `(offset)`, odd)
  })
})

test_that("weights, offset and standard errors at fault are named", {
  skip_long()
  huge <- c(1e-300, 1e300, rep(1, 18))
  expect_gibbsite_error({
    gibbs_lm(y ~ x, rows, offset = as.character(x))
    gibbs_lm(y ~ x + offset(as.character(x)), rows)
    gibbs_lm(y ~ x, rows, offset = x > 0)
    gibbs_hlm(y ~ x + (1 | g), rows, offset = as.character(x))
    gibbs_logistic(z ~ x, rows, offset = as.character(x))
    gibbs_logistic(z ~ x + (1 | g), rows, offset = c(1e200, rep(0, 19)))
    gibbs_lm(y ~ x, rows, offset = c(1e200, rep(0, 19)))
    gibbs_hlm(y ~ x + (1 | g), rows, offset = c(1e200, rep(0, 19)))
    gibbs_lm(y ~ x, rows, offset = c(NA, rep(0, 19)))
    gibbs_lm(y ~ x, rows, offset = c(Inf, rep(0, 19)))
    gibbs_lm(y ~ x, rows, weights = huge)
    gibbs_lm(cbind(rows$x), rows$y, weights = huge)
    gibbs_hlm(y ~ x + (1 | g), rows, weights = huge)
    laplace_logistic(z ~ x, rows, weights = huge)
    gibbs_hlm(y ~ x + (1 | g), rows, weights = c(NaN, rep(1, 19)))
    gibbs_hlm(y ~ x + (1 | g), rows, se = c(1e-200, rep(1, 19)))
    gibbs_hlm(y ~ x + (1 | g), rows, se = c(NA, rep(1, 19)))
    gibbs_hlm(y ~ x + (1 | g), rows, se = as.character(x))
  })
})

test_that("a factor of one level is named", {
  skip_long()
  one <- transform(rows, a = factor("only"), b = "only")
  expect_gibbsite_error(class = "gibbsite_error_level", {
    gibbs_lm(y ~ x + a, one)
    gibbs_lm(y ~ b, one)
    gibbs_lm(y ~ g, one, subset = g == "1")
    gibbs_hlm(y ~ a + (1 | g), one)
    gibbs_hlm(y ~ x + (a | g), one)
    gibbs_logistic(z ~ a + (1 | g), one)
    laplace_logistic(z ~ a, one)
  })
})

test_that("update() names data that are gone, and changes without a name", {
  skip_long()
  gone <- rows
  fit <- quietly(gibbs_lm(
    y ~ x, gone, draws = 5, burnin = 2, chains = 1, seed = 1, progress = FALSE
  ))
  x <- as.matrix(rows["x"])
  by_matrix <- laplace_logistic(x, rows$z, seed = 1)
  shorter <- quietly(update(fit, , data = rows[1:10, ]))
  expect_identical(nobs(shorter), 10L)
  rm(gone, x)
  expect_gibbsite_error(class = "gibbsite_error_data", {
    update(fit, . ~ . + z, draws = 6)
    update(by_matrix, draws = 6)
  })
  # the fit has its own variables
  expect_identical(niterations(quietly(update(fit, draws = 6))), 6L)
  expect_identical(
    names(coef(quietly(update(fit, . ~ 1, draws = 6)))), "(Intercept)"
  )
  expect_gibbsite_error({
    update(fit, , rows)
    update(fit, y ~ 1, rows)
    update(fit, data = rows, draws = 0)
  })
  expect_identical(
    niterations(quietly(update(fit, data = rows, draws = 6))), 6L
  )
})

test_that("update() fits a matrix again", {
  x <- as.matrix(mtcars[c("wt", "hp")])
  fit <- quietly(gibbs_lm(x, mtcars$mpg, draws = 30, seed = 1))
  expect_true(identical_fit(quietly(update(fit)), fit))
  expect_named(
    coef(quietly(update(fit, x = x[, "wt", drop = FALSE]))), "wt"
  )
  by_mode <- laplace_logistic(x, mtcars$vs, seed = 1)
  expect_identical(coef(update(by_mode, seed = 2)), coef(by_mode))
  expect_error(update(fit, . ~ . - hp), "no formula", class = "gibbsite_error")
})

test_that("a matrix whose class has one missing value a row is a variable", {
  registerS3method("is.na", "one_value_a_row", function(x) {
    rowSums(is.na(unclass(x))) > 0
  }, envir = asNamespace("gibbsite"))
  frame <- data.frame(x = c(1, NA, 3))
  frame$two <- structure(cbind(1:3, c(4:5, NA)), class = "one_value_a_row")
  expect_identical(
    which(gibbsite:::frame_missing(frame), arr.ind = TRUE),
    cbind(row = 2:3, col = 1:2)
  )
})

test_that("update() fits the data of a function that made the fit again", {
  made <- function(df) {
    quietly(gibbs_lm(
      y ~ x, df, draws = 5, burnin = 2, chains = 1, seed = 1, progress = FALSE
    ))
  }
  fit <- made(rows)
  again <- quietly(update(fit))
  expect_true(identical_fit(again, fit))
  expect_true(identical_fit(quietly(update(again)), fit))
  # not in the place of data that are misspelt
  expect_gibbsite_error(class = "gibbsite_error_data", update(fit, data = fwe))
})

test_that("columns that share a name, and types without a slope, are refused", {
  twice <- cbind(cars, speed = rev(cars$speed), dist = cars$dist)
  odd <- transform(cars, g = gl(2, 25))
  odd$pair <- cbind(1:2, 1:50)
  odd$bytes <- as.raw(1:50)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    gibbs_lm(dist ~ speed, twice)
    gibbs_hlm(dist ~ 1 + (1 | speed), twice)
    gibbs_lm(dist ~ 1, twice, weights = speed)
    gibbs_lm(dist ~ I(speed + 1i), cars)
    gibbs_count(dist ~ bytes, odd)
    gibbs_hlm(dist ~ speed + (1 | pair), odd)
    gibbs_logistic(I(dist > 40) ~ 1 + (1 | pair:g), odd)
  })
  fit <- brief(gibbs_lm, speed ~ dist, twice[-3])
  expect_identical(coef(fit), coef(brief(gibbs_lm, speed ~ dist, cars)))
  expect_error(predict(fit, cbind(cars, dist = 1)), "columns named",
               class = "gibbsite_error_argument")
})

test_that("contrasts of a factor are those of its attribute", {
  skip_long()
  coded <- transform(rows, h = gl(2, 10))
  stats::contrasts(coded$g) <- stats::contr.helmert(4)
  stats::contrasts(coded$h) <- "contr.sum"
  design <- function(fit) unname(model.matrix(fit))
  same <- function(formula, data = coded) {
    unname(stats::model.matrix(formula, data))
  }
  brief <- function(f, ...) {
    quietly(f(..., draws = 20, burnin = 5, chains = 1, seed = 1,
              progress = FALSE))
  }
  fit <- brief(gibbs_lm, y ~ g + h, coded)
  expect_equal(design(fit), same(~ g + h), ignore_attr = TRUE)
  # new data need not have them
  expect_equal(predict(fit, droplevels(rows[7, ] |> transform(h = "1"))),
               fitted(fit)[7])
  fit <- brief(gibbs_lm, y ~ C(g, contr.sum), rows)
  expect_equal(design(fit), same(~ C(g, contr.sum), rows), ignore_attr = TRUE)
  expect_equal(predict(fit, rows[3:9, ]), fitted(fit)[3:9])
  fit <- brief(gibbs_hlm, y ~ g + (0 + g | z), coded)
  expect_equal(design(fit), same(~g), ignore_attr = TRUE)
  expect_named(nlme::ranef(fit)$z, c("g1.1", "g2.1", "g3.1", "g4"))
  # a matrix of contrasts has no rows for other levels
  expect_warning(
    fit <- brief(gibbs_lm, y ~ g + h, coded, subset = g != "2"),
    'contrasts of "g" are left out.*droplevels',
    class = "gibbsite_warning_contrasts"
  )
  rest <- droplevels(transform(rows, h = coded$h)[rows$g != "2", ])
  stats::contrasts(rest$h) <- "contr.sum"
  expect_equal(design(fit), same(~ g + h, rest), ignore_attr = TRUE)
})

test_that("a predictor far from 0 is an error where it would lose digits", {
  data <- withr::with_seed(1, data.frame(
    x = stats::rnorm(40) + 1e8, b = rep(0:1, 20), g = rep(letters[1:4], 10)
  ))
  far <- function(call) {
    expect_error(call, "too far from 0: its mean is 1e\\+08")
  }
  far(gibbs_logistic(b ~ x, data, link = "probit"))
  far(gibbs_logistic(b ~ x + (1 | g), data))
  far(gibbs_count(b ~ x, data))
  far(gibbs_categorical(g ~ x, data))
  data$x <- data$x - 1e8 + 1e5
  expect_no_error(quietly(gibbs_logistic(
    b ~ x, data, draws = 10, burnin = 10, chains = 1, seed = 1
  )))
})

test_that("terms and responses of brms are named", {
  expect_error(gibbs_lm(mpg | weights(wt) ~ hp, mtcars), "Give `weights = `")
  expect_error(
    gibbs_hlm(mpg | se(wt) ~ hp + (1 | cyl), mtcars),
    "`gibbs_hlm\\(\\)` has `se`"
  )
  expect_error(
    gibbs_logistic(am | trials(1) ~ wt, mtcars),
    "cbind\\(successes, failures\\)"
  )
  expect_error(gibbs_lm(mpg ~ mo(cyl), mtcars), "`mo\\(\\)`, which is of brms")
  # a function of this name is the user's, and `|` is a logical or
  mo <- function(x) x
  expect_no_error(quietly(gibbs_lm(
    mpg ~ mo(cyl), mtcars, draws = 10, burnin = 10, chains = 1, seed = 1
  )))
  expect_no_error(quietly(gibbs_logistic(
    am | vs ~ wt, mtcars, draws = 10, burnin = 10, chains = 1, seed = 1
  )))
})

test_that("a raw polynomial far from 0 is said to lose its curvature", {
  skip_long()
  set.seed(1)
  d <- data.frame(x = runif(60, 2000, 2020), g = rep(1:6, 10))
  z <- (d$x - 2010) / 6
  d$y <- rbinom(60, 1, stats::plogis(z - z^2))
  d$k <- rpois(60, exp(z / 2))
  d$o <- cut(z + rnorm(60), 4, labels = FALSE)
  said <- function(f, ...) {
    count <- 0
    withCallingHandlers(
      suppressWarnings(
        f(..., data = d, draws = 5, burnin = 5, chains = 1, seed = 1,
          progress = FALSE)
      ),
      gibbsite_message_collinear = function(cnd) {
        count <<- count + 1
        invokeRestart("muffleMessage")
      }
    )
    count
  }
  expect_identical(said(gibbs_logistic, y ~ poly(x, 3, raw = TRUE)), 1)
  expect_identical(said(gibbs_logistic, y ~ x + I(x^2) + (1 | g)), 1)
  expect_identical(said(gibbs_count, k ~ x + I(x^2)), 1)
  expect_identical(said(gibbs_ordinal, ordered(o) ~ x + I(x^2)), 1)
  expect_identical(said(gibbs_categorical, factor(o) ~ x + I(x^2)), 1)
  d$h <- d$g > 3
  # the variables of an interaction are centred
  expect_identical(said(gibbs_logistic, y ~ x * h), 0)
  expect_identical(said(gibbs_count, k ~ x * h + I(x^2)), 1)
  # not of orthogonal or centred ones, of columns that are only far from 0, nor
  # where the user gives the scales
  expect_identical(said(gibbs_logistic, y ~ poly(x, 2)), 0)
  expect_identical(
    said(gibbs_logistic, y ~ I(x - 2010) + I((x - 2010)^2)), 0
  )
  expect_identical(said(gibbs_logistic, y ~ x + I(1000 + g)), 0)
  expect_identical(said(gibbs_logistic, y ~ x + I(x^2), prior = logistic_prior(
    slope_sd = c(x = 10, "I(x^2)" = 1)
  )), 0)
})
