# laplace_logistic() as people call it: what it takes, what it refuses and in
# which words, and what the driver promises of its fits.

# The call with few draws, evaluated where it stands: formulas and weights are
# looked up there.
quiet_fit <- function(...) {
  call <- match.call()
  call[[1L]] <- quote(laplace_logistic)
  given <- as.list(call)
  few <- list(draws = 5, chains = 1, seed = 1, progress = FALSE)
  few <- few[setdiff(names(few), names(given))]
  eval(as.call(c(given, few)), parent.frame())
}

cars <- transform(mtcars, manual = factor(am, labels = c("auto", "manual")))

map_of <- function(fit) {
  stats::setNames(fit_model(fit)$data$map, fit_model(fit)$columns)
}

# ---- the response ------------------------------------------------------------

test_that("responses of every kind are understood", {
  number <- quiet_fit(am ~ wt, cars)
  expect_equal(map_of(quiet_fit(am == 1 ~ wt, cars)), map_of(number))
  expect_equal(map_of(quiet_fit(manual ~ wt, cars)), map_of(number))
  expect_equal(map_of(quiet_fit(cbind(am, 1 - am) ~ wt, cars)), map_of(number))
  expect_identical(
    fit_model(quiet_fit(manual ~ wt, cars))$frame$response$levels,
    c("auto", "manual")
  )
  # an unused third level does not count
  odd <- factor(cars$am, levels = 0:2)
  expect_equal(map_of(quiet_fit(odd ~ wt, cars)), map_of(number))
  # one level used of two: which one is success is known
  cars$yes <- factor(rep("b", 32), levels = c("a", "b"))
  expect_message(fit <- quiet_fit(yes ~ wt, cars), "is a success")
  expect_gt(map_of(fit)[["(Intercept)"]], 0)
})

# The maximum likelihood fit of glm(), and what it counts.
expect_as_glm <- function(fit, glm) {
  expect_equal(map_of(fit), coef(glm), tolerance = 1e-6)
  frame <- fit_model(fit)$frame
  expect_equal(frame$total, unname(glm$prior.weights))
  expect_equal(frame$success, unname(glm$y * glm$prior.weights))
  expect_equal(nobs(fit), nobs(glm))
}

test_that("responses of every kind are those of glm()", {
  skip_long()
  flat <- logistic_prior(slope_variance = Inf)
  cars$name <- as.character(cars$manual)
  for (response in c("am", "manual", "am == 1", "name")) {
    formula <- stats::reformulate(c("wt", "hp"), response)
    if (response == "name") {
      formula[[2]] <- quote(factor(name))
    }
    expected <- stats::glm(formula, stats::binomial(), cars)
    if (response == "name") {
      formula[[2]] <- quote(name)
    }
    fit <- suppressMessages(quiet_fit(formula, cars, prior = flat))
    expect_as_glm(fit, expected)
    predicted <- stats::predict(expected, cars[1:3, ], type = "link")
    expect_equal(
      as.matrix(cbind(1, cars[1:3, c("wt", "hp")])) %*% map_of(fit),
      as.matrix(predicted), tolerance = 1e-6, ignore_attr = TRUE
    )
  }
})

test_that("of two texts the second is success, and a message says so", {
  skip_long()
  cars$name <- as.character(cars$manual)
  expect_gibbsite_condition(
    fit <- laplace_logistic(name ~ wt, cars, draws = 50, chains = 1, seed = 1,
                            progress = FALSE),
    "gibbsite_message_conversion"
  )
  by_factor <- laplace_logistic(manual ~ wt, cars, draws = 50, chains = 1,
    seed = 1, progress = FALSE
  )
  expect_identical(as.matrix(fit), as.matrix(by_factor))
  new <- cars[1:3, ]
  expect_identical(
    predict(fit, new, type = "class"), predict(by_factor, new, type = "class")
  )
  expect_silent(density <- log_lik(fit, new))
  expect_identical(density, log_lik(by_factor, new))
  # in the order of the C locale, whatever the session's is
  mixed <- ifelse(cars$am == 1, "b", "A")
  x <- cbind(wt = cars$wt)
  expect_identical(
    suppressMessages(map_of(quiet_fit(x, mixed))), map_of(quiet_fit(x, cars$am))
  )
})

budworm <- data.frame(
  dose = log2(rep(2^(0:5), 2)), sex = rep(c("male", "female"), each = 6),
  dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16), trials = 20
)

test_that("proportions with numbers of trials are counts, as in glm()", {
  skip_long()
  data <- transform(budworm, share = dead / trials, extra = trials / 2)
  flat <- logistic_prior(slope_variance = Inf)
  expected <- stats::glm(share ~ sex + dose, stats::binomial(), data,
    weights = trials
  )
  by_counts <- quiet_fit(cbind(dead, trials - dead) ~ sex + dose, data,
    prior = flat
  )
  fit <- quiet_fit(share ~ sex + dose, data, weights = trials, prior = flat)
  expect_as_glm(fit, expected)
  expect_identical(as.matrix(fit), as.matrix(by_counts))
  # the likelihood has the binomial coefficients
  expect_identical(log_lik(fit), log_lik(by_counts))
  expect_identical(
    withr::with_seed(1, posterior_predict(fit)),
    withr::with_seed(1, posterior_predict(by_counts))
  )
  expect_identical(
    predict(fit, budworm[3, ], type = "response"),
    predict(by_counts, budworm[3, ], type = "response")
  )
  counts <- with(data, cbind(dead, trials - dead))
  expect_identical(
    log_lik(fit, data, y = counts), log_lik(by_counts, data, y = counts)
  )
  # by a matrix, and with a proportion that was rounded in a file
  x <- stats::model.matrix(~ sex + dose, data)
  expect_equal(
    map_of(quiet_fit(x, data$share, weights = data$trials, prior = flat)),
    map_of(fit)
  )
  thirds <- data.frame(y = c(0.3333, 0.6667, 0.5), n = c(3, 3, 2), z = 1:3)
  expect_equal(
    map_of(quiet_fit(y ~ z, thirds, weights = n, prior = flat)),
    map_of(quiet_fit(cbind(c(1, 2, 1), c(2, 1, 1)) ~ z, thirds, prior = flat))
  )
  # no trials, and a proportion that is not known
  holes <- rbind(data, transform(data[1:2, ], share = c(NA, 0.3),
                                 trials = c(20, 0)))
  some <- suppressMessages(quiet_fit(share ~ sex + dose, holes,
    na_action = "omit",
    weights = trials, prior = flat
  ))
  expect_equal(map_of(some), map_of(fit))
  # 0 and 1 with weights stay single outcomes
  single <- quiet_fit(am ~ wt, cars, weights = rep(2, 32))
  expect_identical(fit_model(single)$frame$response$kind, "number")
  expect_gibbsite_error({
    quiet_fit(share ~ dose, data)
    quiet_fit(share ~ dose, data, weights = rep(1, 12))
    quiet_fit(share ~ dose, data, weights = trials + 0.5)
    quiet_fit(share ~ dose, data, weights = rep(7, 12))
    quiet_fit(I(share + 1) ~ dose, data, weights = trials)
    log_lik(fit, data)
  })
})

test_that("responses of the wrong kind are refused", {
  skip_long()
  x <- cbind(a = 1:4)
  y <- function(y) quiet_fit(x, y)
  expect_gibbsite_error({
    y(factor(1:4, ordered = TRUE))
    y(factor(c("a", "b", "c", "c")))
    y(factor(rep("a", 4)))
    y(c(0, 1, 2, 1))
    y(c(0.5, 1, 0, 1))
    y(c("a", "b", "c", "a"))
    y(c("a", "a", NA, "a"))
    y(c("a", "\xff", "a", "a"))
    y(Sys.Date() + 1:4)
    y(list(1, 2, 3, 4))
    y(NULL)
    y(1:3)
    y(matrix(1, 4, 3))
    y(cbind(c(1, 2, 3, -1), 1))
    y(cbind(c(1, 2, 2.5, 1), 1))
    y(cbind(c(1, 2, Inf, 1), 1))
    y(cbind(rep("a", 4), "b"))
    y(cbind(rep(0, 4), 0))
    quiet_fit(x)
  })
})

test_that("a constant response is fine under a prior, and is said", {
  expect_gibbsite_condition(class = "gibbsite_message_constant_response", {
    fit <- quiet_fit(rep(1, 32) ~ wt, cars)
    fit <- quiet_fit(cbind(a = c(1, 2, 4)), c(FALSE, FALSE, FALSE))
  })
  expect_true(all(is.finite(map_of(fit))))
  expect_lt(map_of(fit), 0)
})

# ---- weights, offset, subset, missing values ---------------------------------

test_that("weights, offset and subset are looked up as glm() does", {
  # prior and rows fixed, so that only what is tested differs
  prior <- logistic_prior(slope_variance = 10, intercept_variance = 10)
  cars$half <- rep(c(0, 1), 16)
  a <- quiet_fit(am ~ wt, cars, prior, weights = half, offset = qsec / 10)
  b <- quiet_fit(am ~ wt + offset(qsec / 10), cars, prior, subset = half == 1)
  expect_equal(map_of(a), map_of(b), tolerance = 1e-7)
  expect_identical(nobs(a), nobs(b))
  expect_identical(nobs(a), 16L)
  local <- cars$half
  expect_identical(map_of(quiet_fit(am ~ wt, cars, prior, weights = local)),
                   map_of(quiet_fit(am ~ wt, cars, prior, weights = half)))
})

test_that("missing values are left out with a message, or refused", {
  skip_long()
  skip_if_not_installed("MASS")
  f <- type ~ npreg + bp + skin
  expect_gibbsite_condition(class = "gibbsite_message_omitted", {
    fit <- quiet_fit(f, MASS::Pima.tr2, na_action = "omit")
    fit2 <- quiet_fit(f, MASS::Pima.tr2, na_action = na.exclude)
  })
  reference <- glm(f, binomial, MASS::Pima.tr2)
  expect_identical(nobs(fit), nobs(reference))
  frame <- fit_model(fit)$frame
  expect_identical(unclass(frame$na.action),
                   structure(unclass(reference$na.action)))
  expect_s3_class(frame$na.action, "omit")
  expect_s3_class(fit_model(fit2)$frame$na.action, "exclude")
  expect_identical(map_of(fit), map_of(fit2))
  expect_gibbsite_error({
    quiet_fit(f, MASS::Pima.tr2)
    quiet_fit(f, MASS::Pima.tr2, na_action = na.pass)
    quiet_fit(f, MASS::Pima.tr2, na_action = "drop")
    quiet_fit(y ~ a, data.frame(y = c(0, 1), a = NA_real_), na_action = "omit")
    quiet_fit(y ~ a, data.frame(y = c(0, 1, 1), a = c(1, NaN, NA)))
    quiet_fit(y ~ log(a), data.frame(y = c(0, 1, 1), a = 0:2))
  })
  x <- cbind(a = c(1, 2, NA, 4), b = c(2, 1, 1, 0))
  y <- c(1, 0, 1, NA)
  expect_gibbsite_error({
    quiet_fit(x, y)
    quiet_fit(x, c(1, 0, 1, 0))
    quiet_fit(x, y, na_action = function(x) x)
    quiet_fit(x * NA, y, na_action = "omit")
    quiet_fit(cbind(a = c(1, NaN)), c(1, 0), na_action = "omit")
    quiet_fit(cbind(a = c(1, 2), b = c(1, -Inf)), c(1, 0))
  })
  expect_gibbsite_condition(
    fit <- quiet_fit(x, y, na_action = "omit"), "gibbsite_message_omitted"
  )
  expect_identical(map_of(fit), map_of(quiet_fit(x[1:2, ], y[1:2])))
  sparse <- Matrix::Matrix(x, sparse = TRUE)
  expect_message(again <- quiet_fit(sparse, y, na_action = "omit"), "2 rows")
  expect_equal(map_of(again), map_of(fit))
})

test_that("weights and offsets of the wrong kind are refused", {
  skip_long()
  expect_gibbsite_error({
    quiet_fit(am ~ wt, cars, weights = -wt)
    quiet_fit(am ~ wt, cars, weights = 0 * wt)
    quiet_fit(am ~ wt, cars, weights = manual)
    quiet_fit(am ~ wt, cars, weights = 1:3)
    quiet_fit(as.matrix(cars["wt"]), cars$am, weights = 1:3)
    quiet_fit(as.matrix(cars["wt"]), cars$am, weights = c(NA, 2:32))
    quiet_fit(as.matrix(cars["wt"]), cars$am, offset = c(Inf, 2:32))
    quiet_fit(as.matrix(cars["wt"]), cars$am, offset = "a")
    quiet_fit(am ~ wt, cars, subset = wt > 100)
  })
})

# ---- formula and matrix ------------------------------------------------------

test_that("formula and matrix agree, dense and sparse", {
  skip_long()
  f <- am ~ wt + factor(cyl)
  by_formula <- quiet_fit(f, cars)
  x <- model.matrix(f, cars)
  by_matrix <- quiet_fit(x, cars$am)
  expect_identical(map_of(by_formula), map_of(by_matrix))
  expect_identical(variables(by_formula), colnames(x))
  expect_identical(as.matrix(by_formula), as.matrix(by_matrix))
  expect_identical(map_of(quiet_fit(x = x, y = cars$am)), map_of(by_matrix))
  expect_identical(map_of(quiet_fit(data = cars, formula = f)),
                   map_of(by_formula))
  # every kind of matrix; an integer one is converted
  for (class in c("dgCMatrix", "dgTMatrix", "dgRMatrix", "dgeMatrix")) {
    m <- Matrix::Matrix(x, sparse = TRUE)
    m <- switch(class,
      dgCMatrix = m, dgTMatrix = methods::as(m, "TsparseMatrix"),
      dgRMatrix = methods::as(m, "RsparseMatrix"),
      dgeMatrix = Matrix::Matrix(x, sparse = FALSE)
    )
    expect_s4_class(m, class)
    expect_equal(map_of(quiet_fit(m, cars$am)), map_of(by_formula),
                 tolerance = 1e-9)
  }
  whole <- round(x)
  storage.mode(whole) <- "integer"
  expect_identical(map_of(quiet_fit(whole, cars$am)),
                   map_of(quiet_fit(whole + 0, cars$am)))
  expect_identical(map_of(quiet_fit(as.data.frame(x[, -1]), cars$am)),
                   map_of(quiet_fit(x[, -1], cars$am)))
  expect_identical(unname(map_of(quiet_fit(cars$wt, cars$am))),
                   unname(map_of(quiet_fit(x[, "wt", drop = FALSE], cars$am))))
})

test_that("columns without names get them; the matrix is not touched", {
  x <- matrix(c(1, 3, 2, 5, 2, 2, 1, 0), 4)
  before <- x + 0
  fit <- quiet_fit(x, c(0, 1, 0, 1))
  expect_identical(variables(fit), c("V1", "V2"))
  expect_identical(x, before)
  colnames(x) <- c("a", "a")
  expect_message(fit <- quiet_fit(x, c(0, 1, 0, 1)), "share the name")
  expect_identical(variables(fit), c("a", "a.1"))
})

test_that("formulas and matrices that cannot be used are refused", {
  skip_long()
  expect_gibbsite_error({
    quiet_fit(~wt, cars)
    quiet_fit(am ~ nothing, cars)
    quiet_fit(am ~ 0, cars)
    quiet_fit(am ~ wt, cars, contrasts = "odd")
    quiet_fit(am ~ wt, cars, burnin = 100)
    quiet_fit(am ~ wt, cars, 7)
    quiet_fit(am ~ wt, cars, prior = logistic_prior)
    quiet_fit(am ~ wt, cars, method = "Newton")
    quiet_fit(am ~ wt, cars, start = 1)
    quiet_fit(am ~ wt, cars, start = c(1, NA))
    quiet_fit(am ~ manual, transform(cars, manual = "same"))
    quiet_fit("am", cars)
    quiet_fit(matrix("a", 2, 2), 0:1)
    quiet_fit(matrix(0, 0, 2), numeric())
    quiet_fit(matrix(0, 2, 0), 0:1)
    quiet_fit(array(0, c(2, 2, 2)), 0:1)
    quiet_fit(data.frame(a = letters[1:2]), 0:1)
  })
})

test_that("values beyond what doubles can square are refused by name", {
  skip_long()
  expect_gibbsite_error({
    quiet_fit(cbind(big = c(1, 1e200), b = 1:2), 0:1)
    quiet_fit(cbind(small = c(0, 1e-200), b = 1:2), 0:1)
    quiet_fit(cbind(tiny = c(1, 1) * 1e-200, b = 1:2), 0:1)
  })
  # large, but fine
  fit <- quiet_fit(cbind(a = c(1, 2, 3, 4) * 1e100), c(0, 1, 0, 1))
  small <- quiet_fit(cbind(a = c(1, 2, 3, 4)), c(0, 1, 0, 1))
  expect_equal(map_of(fit)[["a"]] * 1e100, map_of(small)[["a"]])
})

# ---- the prior ---------------------------------------------------------------

test_that("the prior prints, and checks itself", {
  skip_long()
  expect_snapshot({
    logistic_prior()
    logistic_prior(100, Inf)
    logistic_prior(c(a = 1, b = 2))
    logistic_prior(diag(2))
  })
  expect_gibbsite_error({
    logistic_prior(0)
    logistic_prior(-1)
    logistic_prior(NA)
    logistic_prior("a")
    logistic_prior(c(1, NaN))
    logistic_prior(numeric())
    logistic_prior(matrix(1:6, 2))
    logistic_prior(matrix(c(1, 2, 2, 1), 2))
    logistic_prior(1, intercept_variance = 0)
    logistic_prior(1, intercept_variance = c(1, 2))
  })
})

test_that("the default prior is the one stated", {
  fit <- quiet_fit(am ~ wt + hp, cars)
  c <- c((2.5 / sd(cars$wt))^2, (2.5 / sd(cars$hp))^2)
  intercept <- 100 + sum(c * c(mean(cars$wt), mean(cars$hp))^2)
  expect_equal(prior_summary(fit)$slope_variance,
               c("(Intercept)" = intercept, wt = c[[1]], hp = c[[2]]))
  expect_snapshot(prior_summary(fit))
  # rows of weight zero do not count
  some <- quiet_fit(am ~ wt + hp, cars, weights = rep(0:1, 16))
  half <- quiet_fit(am ~ wt + hp, cars[c(FALSE, TRUE), ])
  expect_equal(
    prior_summary(some)$slope_variance, prior_summary(half)$slope_variance
  )
  # nor does it matter how the zeros are stored
  x <- cbind("(Intercept)" = 1, a = c(0, 0, 3, 1), b = c(0, 1, 0, 0))
  expect_equal(
    prior_summary(quiet_fit(Matrix::Matrix(x, sparse = TRUE), c(0, 1, 1, 0))),
    prior_summary(quiet_fit(x, c(0, 1, 1, 0)))
  )
})

test_that("a prior is given by number, vector, names or matrix", {
  skip_long()
  c_of <- function(...) {
    prior <- logistic_prior(...)
    prior_summary(quiet_fit(am ~ wt + hp, cars, prior = prior))$slope_variance
  }
  expect_identical(
    c_of(3, 7), c("(Intercept)" = 7, wt = 3, hp = 3)
  )
  expect_identical(c_of(c(1, 2), 7), c("(Intercept)" = 7, wt = 1, hp = 2))
  expect_identical(c_of(c(hp = 1, wt = 2), 7),
                   c("(Intercept)" = 7, wt = 2, hp = 1))
  expect_identical(c_of(c(9, 1, 2)), c("(Intercept)" = 9, wt = 1, hp = 2))
  both <- matrix(c(2, 1, 1, 3), 2)
  expect_equal(unname(c_of(both, 7)), rbind(c(7, 0, 0), cbind(0, both)))
  expect_equal(c_of(both)[1, 1], 100 + drop(
    c(mean(cars$wt), mean(cars$hp)) %*% both %*% c(mean(cars$wt), mean(cars$hp))
  ))
  all <- diag(3) + 0.5
  expect_equal(unname(c_of(all)), all)
  # a completed prior is a prior
  first <- quiet_fit(am ~ wt + hp, cars)
  again <- quiet_fit(am ~ wt + hp, cars, prior = prior_summary(first))
  expect_identical(prior_summary(again), prior_summary(first))
  expect_identical(map_of(again), map_of(first))
  expect_gibbsite_error({
    c_of(c(1, 2, 3, 4))
    c_of(c(1, 2, 3), 1)
    c_of(diag(4))
    c_of(c(wt = 1, am = 2))
    c_of(c(wt = 1, wt = 2))
  })
})

test_that("the link is the logit alone", {
  skip_long()
  expect_gibbsite_error({
    laplace_logistic(am ~ wt, cars, link = "probit")
    laplace_logistic(cbind(1, cars$wt), cars$am, link = "logit")
    laplace_logistic(am ~ wt, cars, lnk = "probit")
  })
})

test_that("a column that does not vary counts as an intercept", {
  x <- cbind(one = 2, a = c(1, 2, 3, 4), none = 0)
  expect_gibbsite_condition(
    fit <- quiet_fit(x, c(0, 1, 0, 1)), "gibbsite_message_constant"
  )
  expect_equal(
    prior_summary(fit)$slope_variance[c("one", "none")],
    c(one = 25, none = 1)
  )
})

# ---- collinear and separated data --------------------------------------------

flat <- logistic_prior(Inf, Inf)

test_that("collinear columns are fine under a prior and named without", {
  skip_long()
  cars$lbs <- 1000 * cars$wt
  cars$both <- cars$wt + cars$hp
  fit <- quiet_fit(am ~ wt + lbs, cars)
  expect_true(all(is.finite(map_of(fit))))
  expect_gibbsite_error({
    quiet_fit(am ~ wt + lbs, cars, prior = flat)
    quiet_fit(am ~ wt + hp + both + lbs, cars, prior = flat)
    quiet_fit(cbind(a = 1:4, zero = 0), c(0, 1, 0, 1), prior = flat)
    quiet_fit(Matrix::Matrix(cbind(a = 1:4, b = 2:5, c = 1), sparse = TRUE),
              c(0, 1, 0, 1), prior = flat)
  })
  # more columns than rows
  withr::local_seed(3)
  x <- matrix(rnorm(60), 5, 12, dimnames = list(NULL, letters[1:12]))
  expect_error(quiet_fit(x, c(0, 1, 0, 1, 1), prior = flat), "\"f\", \"g\"",
               class = "gibbsite_error_collinear")
  expect_true(all(is.finite(map_of(quiet_fit(x, c(0, 1, 0, 1, 1))))))
  # a prior on one of two collinear columns is enough
  some <- logistic_prior(c(Inf, Inf, 1))
  expect_true(all(is.finite(map_of(quiet_fit(am ~ wt + lbs, cars, some)))))
  # nearly collinear columns are not collinear
  cars$near <- cars$wt + 1e-4 * sin(seq_len(32))
  reference <- glm(am ~ wt + near, binomial, cars,
                   control = list(epsilon = 1e-14))
  expect_equal(map_of(quiet_fit(am ~ wt + near, cars, flat)), coef(reference),
               tolerance = 1e-5)
})

separated_columns <- function(...) {
  call <- match.call()
  call[[1L]] <- quote(quiet_fit)
  cnd <- tryCatch(
    eval(call, parent.frame()), gibbsite_error_separated = identity
  )
  expect_s3_class(cnd, "gibbsite_error_separated")
  cnd$columns
}

test_that("separated data have no mode without a prior, and are named", {
  skip_long()
  d <- data.frame(
    y = c(0, 0, 0, 1, 1, 1), x = c(1, 2, 3, 4, 5, 6), z = c(1, 3, 2, 1, 3, 2),
    g = c("a", "a", "b", "b", "b", "b"), k = c(0, 0, 0, 0, 1, 0)
  )
  expect_gibbsite_error({
    quiet_fit(y ~ x + z, d, flat)
    quiet_fit(y ~ z + g, d, flat)
    quiet_fit(rep(1, 6) ~ z, d, flat)
  })
  # complete; quasi-complete by one level; by two; by a combination alone
  expect_identical(separated_columns(y ~ x, d, flat), c("(Intercept)", "x"))
  expect_identical(separated_columns(y ~ k + z, d, flat), "k")
  two <- data.frame(
    y = c(0, 1, 0, 1, 0, 0, 1, 1), a = rep(c(0, 1, 0), c(4, 2, 2)),
    b = rep(0:1, c(6, 2))
  )
  expect_identical(separated_columns(y ~ a + b, two, flat), c("a", "b"))
  xor <- data.frame(
    u = c(1, 2, 3, 4, 2, 3, 4, 5), v = c(2, 3, 4, 5, 1, 2, 3, 4),
    y = rep(0:1, each = 4)
  )
  expect_setequal(separated_columns(y ~ 0 + u + v, xor, flat), c("u", "v"))
  # counts: a row with both pins its linear predictor
  counts <- data.frame(s = c(0, 0, 2, 3), f = c(2, 1, 0, 0), x = 1:4)
  expect_identical(separated_columns(cbind(s, f) ~ x, counts, flat),
                   c("(Intercept)", "x"))
  counts$f[[4]] <- 1
  counts$s[[1]] <- 1
  fit <- quiet_fit(cbind(s, f) ~ x, counts, flat)
  reference <- glm(
    cbind(s, f) ~ x, binomial, counts, control = list(epsilon = 1e-14)
  )
  expect_equal(map_of(fit), coef(reference), tolerance = 1e-6)
  # a far start in the direction of separation does not hide it
  expect_identical(
    separated_columns(y ~ x, d, flat, start = c(-350, 100)),
    c("(Intercept)", "x")
  )
  # any proper prior makes it finite; so does one on the columns in question
  for (c in c(1, 1e4)) {
    expect_true(all(is.finite(map_of(
      quiet_fit(y ~ x + z, d, logistic_prior(c, c))
    ))))
  }
  expect_true(all(is.finite(map_of(
    quiet_fit(y ~ k + z, d, logistic_prior(c(Inf, 1, Inf)))
  ))))
  # rows of weight zero neither separate nor overlap
  d$w <- c(1, 1, 1, 1, 1, 1)
  d <- rbind(d, transform(d[6, ], y = 0, w = 0))
  expect_identical(separated_columns(y ~ x, d, flat, weights = w),
                   c("(Intercept)", "x"))
})

test_that("overlapping data are never called separated", {
  skip_unless_extended()
  withr::local_seed(4)
  for (round in 1:20) {
    n <- sample(8:40, 1)
    x <- cbind("(Intercept)" = 1, a = rnorm(n), b = rbinom(n, 1, 0.3))
    y <- rbinom(n, 1, plogis(3 * x[, "a"]))
    fitted <- tryCatch(
      quiet_fit(x, y, flat), gibbsite_error_argument = function(cnd) cnd
    )
    reference <- suppressWarnings(glm.fit(
      x, y, family = binomial(), control = list(maxit = 100, epsilon = 1e-12)
    ))
    extreme <- max(abs(reference$linear.predictors)) > 15
    if (inherits(fitted, "gibbsite_fit")) {
      expect_equal(map_of(fitted), reference$coefficients, tolerance = 1e-4)
    } else {
      expect_true(extreme || reference$rank < 3)
    }
  }
})

test_that("a search that does not arrive says so", {
  d <- data.frame(y = c(0, 1, 0, 1), a = c(1, 2, 3, 4) * 1e8 + 1)
  found <- list(outcome = "limit", trace = c(-3, -2), distance = 0.1234)
  expect_gibbsite_error({
    gibbsite:::abort_search(found, "newton", NULL)
    gibbsite:::abort_search(found, "gradient", NULL)
  })
})

# ---- sizes -------------------------------------------------------------------

test_that("one row, one column, more columns than rows", {
  one <- suppressMessages(
    quiet_fit(cbind(a = 2), 1, prior = logistic_prior(1))
  )
  w <- map_of(one)[["a"]]
  expect_equal(w, 2 * plogis(-2 * w), tolerance = 1e-8)
  withr::local_seed(5)
  x <- matrix(rnorm(20 * 300), 20)
  y <- rep(0:1, 10)
  wide <- fit_model(quiet_fit(x, y, prior = logistic_prior(0.5)))
  # the mode lies in the span of the rows: w = c X'a, a = y - sigma(X w)
  a <- y - plogis(drop(x %*% wide$data$map))
  expect_equal(wide$data$map, drop(0.5 * t(x) %*% a), tolerance = 1e-7)
})

# ---- the driver --------------------------------------------------------------

test_that("extending, seeds, cores and lost data do not show", {
  skip_long()
  long <- quiet_fit(am ~ wt, cars, draws = 50, chains = 2)
  short <- quiet_fit(am ~ wt, cars, draws = 20, chains = 2)
  expect_true(identical_fit(extend(short, 30, progress = FALSE), long))
  set.seed(8)
  a <- quiet_fit(am ~ wt, cars, seed = NULL)
  after <- runif(1)
  set.seed(8)
  b <- quiet_fit(am ~ wt, cars, seed = NULL)
  expect_true(identical_fit(a, b))
  expect_identical(runif(1), after)
  expect_true(identical_fit(
    long, quiet_fit(am ~ wt, cars, draws = 50, chains = 2, cores = 2)
  ))
  bare <- drop_data(short)
  expect_null(fit_model(bare)$frame)
  expect_identical(
    as.matrix(extend(bare, 30, progress = FALSE)), as.matrix(long)
  )
  expect_null(fit_model(quiet_fit(am ~ wt, cars, keep_data = FALSE))$frame)
  expect_gibbsite_error({
    extend(bare, 5, data = cars, progress = FALSE)
    gibbsite:::logistic_log_joint(fit_model(bare), c(0, 0))
  })
})

test_that("chains of several seeds unite, also without data", {
  skip_long()
  a <- quiet_fit(am ~ wt, cars, draws = 10, seed = 1)
  b <- drop_data(quiet_fit(am ~ wt, cars, draws = 10, seed = 2))
  both <- combine_fits(a, b)
  expect_identical(nchains(both), 2L)
  other <- quiet_fit(am ~ wt, cars[-1, ], draws = 10, seed = 3)
  expect_error(combine_fits(a, other), class = "gibbsite_error_argument")
})

test_that("a run can be resumed from its checkpoint", {
  path <- withr::local_tempdir()
  fit <- quiet_fit(am ~ wt, cars, draws = 30, chains = 2,
                   checkpoint = file.path(path, "run"))
  expect_true(identical_fit(resume(file.path(path, "run"), progress = FALSE),
                            fit))
})

test_that("update() fits again with arguments changed", {
  fit <- quiet_fit(am ~ wt, cars)
  again <- update(fit, formula = am ~ wt + hp)
  expect_identical(variables(again), c("(Intercept)", "wt", "hp"))
  expect_identical(getCall(fit)[[1]], quote(laplace_logistic))
})

test_that("a matrix of doubles is kept and not copied", {
  skip_if_not(capabilities("profmem"))
  x <- matrix(rnorm(4e5), 1e5, 4)
  tracemem(x)
  copied <- capture.output(fit <- quiet_fit(x, rep(0:1, 5e4)))
  untracemem(x)
  expect_length(grep("tracemem", copied), 0)
})

# ---- odds ratios -------------------------------------------------------------

test_that("the picture of odds ratios is that of coefficients, exponentiated", {
  skip_long()
  cars <- transform(mtcars, cyl = factor(cyl))
  fit <- laplace_logistic(am ~ wt + cyl, cars, draws = 20, seed = 1)
  chosen <- c("(Intercept)", "wt", "cyl6")
  sd <- stats::sd(cars$wt)
  shown <- coefficients_shown(fit, chosen, 0.9, "sd", NULL)
  expect_identical(shown$table$name, c("(Intercept)", "wt", "cyl: 6"))
  expect_identical(as.character(shown$table$panel), c(
    "intercept", "per standard deviation", "against the reference level"
  ))
  expect_identical(shown$xlab, "change in log-odds (intercept: log-odds)")
  expect_equal(shown$table$centre, unname(coef(fit)[chosen]) * c(1, sd, 1))
  odds <- coefficients_shown(fit, chosen, 0.9, "sd", NULL, odds = TRUE)
  ends <- stats::confint(fit, chosen, level = 0.9) * c(1, sd, 1)
  expect_equal(odds$table$lower, unname(exp(ends[, 1])))
  expect_equal(odds$table$upper, unname(exp(ends[, 2])))
  expect_identical(odds[c("line", "log")], list(line = 1, log = TRUE))
  expect_identical(odds$xlab, "odds ratio (intercept: odds)")
})

test_that("coefficients are per unit if asked for, and factors always are", {
  skip_long()
  cars <- transform(
    mtcars, cyl = factor(cyl), gear = factor(gear, ordered = TRUE)
  )
  fit <- laplace_logistic(am ~ wt + cyl, cars, draws = 20, seed = 1)
  odds <- coefficients_shown(fit, "wt", 0.9, "unit", NULL, odds = TRUE)
  expect_equal(odds$table$centre, unname(exp(coef(fit)["wt"])))
  expect_identical(odds$xlab, "odds ratio per unit")
  # contrasts with three values, and a number whose name begins as a factor's
  cars$cyl_size <- cars$disp
  fit <- gibbs_lm(mpg ~ cyl + gear + cyl_size + wt:gear, cars, draws = 20,
                  contrasts = list(cyl = "contr.sum"), chains = 1,
                  lm_prior("nig"), seed = 1, progress = FALSE)
  design <- attr(fit, "model")$design
  columns <- c("cyl1", "gear.L", "gear.Q", "cyl_size", "gear4:wt",
               "cyl1:gear.L")
  expect_identical(
    of_factors(columns, design), c(TRUE, TRUE, TRUE, FALSE, FALSE, TRUE)
  )
  shown <- coefficients_shown(fit, c("cyl1", "gear.L"), 0.9, "sd", NULL)
  expect_match(shown$xlab, "per unit of a contrast")
  file <- withr::local_tempfile(fileext = ".png")
  grDevices::png(file)
  plot(fit, type = "coefficients", per = "unit")
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
})

test_that("the axis says what all coefficients are per, if it is the same", {
  axis <- function(variables) {
    coefficients_shown(fit, variables, 0.9, "sd", NULL)$xlab
  }
  cars <- transform(mtcars, cyl = factor(cyl))
  fit <- laplace_logistic(am ~ wt + cyl, cars, draws = 20, seed = 1)
  expect_identical(axis("wt"), "change in log-odds per standard deviation")
  expect_identical(
    axis(c("cyl6", "cyl8")), "change in log-odds against the reference level"
  )
  expect_identical(axis("(Intercept)"), "log-odds")
})

test_that("odds ratios are drawn, also of separated data, but for a probit", {
  skip_long()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- laplace_logistic(
    y ~ x, data.frame(y = rep(0:1, each = 5), x = 1:10 * 1e-4),
    prior = logistic_prior(slope_variance = 1e12), draws = 20, seed = 1
  )
  expect_identical(plot(fit, type = "odds"), fit)
  expect_lte(graphics::par("usr")[1], 0)
  expect_true(graphics::par("xlog"))
  skip_if_not_installed("ggplot2")
  picture <- ggplot2::autoplot(fit, "odds")
  expect_s3_class(ggplot2::ggplot_build(picture)$plot, "ggplot")
  probit <- gibbs_logistic(
    am ~ wt, mtcars, link = "probit", draws = 20, burnin = 0, seed = 1,
    progress = FALSE
  ) |> suppressWarnings()
  expect_error(
    plot(probit, type = "odds"), class = "gibbsite_error_argument"
  )
})

test_that("arguments of glm() and other packages lead to those here", {
  skip_long()
  hint <- function(code) conditionMessage(rlang::catch_cnd(code, "error"))
  expect_match(
    hint(gibbs_logistic(am ~ wt, mtcars, family = binomial)), "link"
  )
  expect_match(
    hint(gibbs_logistic(am ~ wt, mtcars, na.action = na.omit)), "na_action"
  )
  expect_match(
    hint(gibbs_lm(am ~ wt, mtcars, family = binomial)), "gibbs_logistic"
  )
  expect_match(hint(gibbs_lm(am ~ wt, mtcars, warmup = 3)), "burnin")
  expect_match(
    hint(gibbs_lda(c("a b", "b c"), 2, stopwords = "a")), "token_counts"
  )
  expect_match(hint(gibbs_lda(c("a b", "b c"), 2, alpha = 1)), "lda_prior")
  expect_match(hint(gibbs_gmm(faithful, 2, nu0 = 9)), "gmm_prior")
  expect_match(hint(gibbs_gmm(faithful, G = 2)), "It is `k`")
  expect_match(hint(gibbs_gmm(faithful, 2, modelNames = "EII")), "covariance")
  expect_match(hint(gibbs_lda(c("a b", "b c"), num_topics = 2)), "It is `k`")
  expect_match(hint(gibbs_lda(c("a b", "b c"), 2, control = list())), "burnin")
  expect_match(hint(gibbs_lm(am ~ wt, mtcars, family = "t")), "errors = .t")
  made <- data.frame(u = c("a", "b"), i = c("c", "d"), y = 1:2)
  # R's own error would be that `k` begins several arguments
  expect_match(hint(gibbs_bmf(y ~ u + i, made, k = 3)), "It is `rank`")
  expect_match(hint(gibbs_pmf(y ~ u + i, made, k = 3)), "It is `rank`")
  expect_match(hint(gibbs_bmf(y ~ u + i, made, kee = 3)), "keep_data")
  expect_match(
    hint(gibbs_count(carb ~ wt, mtcars, exposure = wt)), "log(exposure)",
    fixed = TRUE
  )
  expect_match(hint(gibbs_lm(mpg ~ wt, mtcars, se = wt)), "gibbs_hlm")
  expect_match(
    hint(gibbs_lm(mpg ~ wt, mtcars, random = ~ 1 | cyl)), "bars of the formula"
  )
  expect_match(hint(gibbs_ordinal(cyl ~ wt, mtcars, link = "probit")), "probit")
  expect_match(hint(gibbs_lm(mpg ~ wt, mtcars, REML = TRUE)), "no such setting")
  expect_match(
    hint(gibbs_lm(mpg ~ wt, mtcars, prior_intercept = 1)), "all priors"
  )
  expect_match(
    hint(gibbs_logistic(am ~ wt, mtcars, weights = 2)), "must have 32 values"
  )
  expect_match(hint(gibbs_count(factor(carb) ~ wt, mtcars)), "categorical")
  expect_match(hint(gibbs_count(wt ~ carb, mtcars)), "gibbs_lm")
  expect_match(hint(gibbs_ordinal(wt ~ carb, mtcars)), "cut")
  fit <- laplace_logistic(am ~ wt, mtcars, draws = 20, seed = 1)
  expect_match(hint(predict(fit, se.fit = TRUE)), "interval = .mean")
  expect_match(hint(predict(fit, summary = FALSE)), "posterior_epred")
  # only arguments that the function has
  expect_no_match(hint(coef(fit <- gibbs_gmm(
    faithful, 2, draws = 10, burnin = 0, chains = 1, seed = 1, family = 1
  ))), "link")
})
