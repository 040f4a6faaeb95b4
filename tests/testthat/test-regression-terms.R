# Terms of a formula whose value in a row depends on other rows.

n <- 60
rows <- withr::with_seed(1, data.frame(
  y = stats::rnorm(n), x = stats::rnorm(n, 3), z = stats::rexp(n),
  g = gl(4, 15, labels = letters[1:4]), k = rep(1:3, 20),
  t = rep(c("u", "v"), 30), n = stats::rpois(n, 20) + 1,
  b = stats::rbinom(n, 1, 0.5), day = as.Date("2020-01-01") + 1:60
))
rows$M <- cbind(p = rows$x, q = rows$z)
rows$at <- as.POSIXct(rows$day, tz = "UTC") + 3600 * rows$x

short <- list(draws = 8, burnin = 2, chains = 1, seed = 1, progress = FALSE)
quietly <- function(code) {
  suppressMessages(
    suppressWarnings(code, classes = "gibbsite_warning_convergence")
  )
}
fit_short <- function(sampler, ...) {
  quietly(do.call(sampler, c(list(...), short)))
}

# The names of terms of y ~ x + term that the fit warns of.
named_terms <- function(term) {
  said <- NULL
  formula <- stats::as.formula(call("~", quote(y), term), globalenv())
  fit <- withCallingHandlers(
    fit_short(gibbs_lm, formula, rows),
    gibbsite_warning_other_rows = function(cnd) {
      said <<- conditionMessage(cnd)
      invokeRestart("muffleWarning")
    }
  )
  list(said = said, fit = fit)
}

test_that("terms that use other rows are named, and refused for new data", {
  skip_long()
  using <- expression(
    I(x - mean(x)), cumsum(x), rank(x), c(0, diff(x)), cut(x, 3),
    cut(x, quantile(x, 0:3 / 3), labels = c("a", "b", "c"),
        include.lowest = TRUE),
    ave(x, g), (x == max(x)), I(x > quantile(x, 0.9)), cummax(sort(x)),
    duplicated(k), scale(x)[, 1], log(10 + scale(x)), poly(x, 2)[, 1],
    as.integer(factor(k + 1)), factor(k, labels = "q"), rep(c(0, 1), 30),
    as.numeric(at - min(at)), x:I(z - mean(z)), offset(log(n / sum(n))),
    I(M - rep(colMeans(M), each = nrow(M)))
  )
  every <- seq_along(using)
  for (term in as.list(using)[fast_or(every[every %% 7 == 1], every)]) {
    found <- named_terms(term)
    expect_false(is.null(found$said), label = deparse1(term))
    expect_error(
      predict(found$fit, rows[1:2, ]), class = "gibbsite_error_other_rows"
    )
  }
})

test_that("terms that are made row by row are not named", {
  skip_long()
  squares <- function(v) vapply(v, function(a) a^2, 0)
  choosy <- function(v) if (length(v) == 1L) stop("too few") else v + 1
  own <- list(squares = squares, choosy = choosy, m = 2.5, knots = c(2, 4))
  list2env(own, globalenv())
  withr::defer(rm(list = names(own), envir = globalenv()))
  by_row <- expression(
    log(z), I(x^2), x:z, poly(x, 2), poly(x, z, degree = 2),
    splines::ns(x, 3), splines::bs(x, df = 5), splines::ns(x, knots = knots),
    scale(x), scale(M), factor(k), cut(x, c(-10, 2, 3, 10)), squares(x),
    choosy(x), sapply(x, squares), rep(1, length(x)) * z,
    relevel(factor(k), ref = "3"), relevel(factor(t), "v"), C(g, sum),
    ordered(k), reorder(g, x), factor(k, labels = c("a", "b", "c")), M[, 1],
    I(x - m), offset(log(n)), difftime(at, as.POSIXct("2020-01-01", tz = "UTC"))
  )
  every <- seq_along(by_row)
  for (term in as.list(by_row)[fast_or(every[every %% 6 == 1], every)]) {
    found <- named_terms(term)
    expect_null(found$said, label = deparse1(term))
    expect_equal(
      unname(predict(found$fit, rows[5:40, ])),
      unname(fitted(found$fit)[5:40]), label = deparse1(term)
    )
  }
})

test_that("random terms are named, and do not change the draws", {
  set.seed(3)
  found <- named_terms(quote(jitter(x)))
  expect_match(
    found$said, "of `jitter\\(x\\)` in a row depends on random"
  )
  expect_error(
    predict(found$fit, rows[1:3, ]), "depends on random numbers",
    class = "gibbsite_error_other_rows"
  )
  expect_identical(predict(found$fit), predict(found$fit))
  both <- named_terms(quote(jitter(x) + rank(x)))
  expect_match(
    both$said, "depend on other rows of the data or random"
  )
  set.seed(3)
  jittered <- stats::runif(2)
  set.seed(3)
  suppressWarnings(fit_short(gibbs_lm, y ~ I(x - mean(x)) + exp(x), rows))
  expect_equal(stats::runif(2), jittered)
})

test_that("every regression and every function of new data refuses them", {
  skip_long()
  expect_warning(
    grouped <- fit_short(gibbs_hlm, y ~ x + (1 | cut(z, 3)), rows),
    class = "gibbsite_warning_other_rows"
  )
  expect_equal(
    predict(grouped, rows[1:2, ], re_formula = NA),
    predict(grouped, rows, re_formula = NA)[1:2]
  )
  expect_warning(
    sloped <- fit_short(gibbs_hlm, y ~ 1 + (rank(x) | g), rows),
    class = "gibbsite_warning_other_rows"
  )
  expect_warning(
    binomial <- fit_short(gibbs_logistic, b ~ rank(x) + (1 | g), rows),
    class = "gibbsite_warning_other_rows"
  )
  expect_warning(
    logit <- fit_short(gibbs_logistic, b ~ rank(x), rows),
    class = "gibbsite_warning_other_rows"
  )
  expect_warning(
    laplace <- laplace_logistic(
      b ~ rank(x) + I(z - mean(z)), rows, draws = 20, seed = 1,
      progress = FALSE
    ),
    "`rank\\(x\\)` and `I\\(z - mean\\(z\\)\\)`",
    class = "gibbsite_warning_other_rows"
  )
  expect_warning(
    mixture <- fit_short(
      gibbs_gmm, ~ x + I(z - mean(z)), data = rows, k = 2
    ),
    class = "gibbsite_warning_other_rows"
  )
  of_response <- fit_short(gibbs_lm, I(y - mean(y)) ~ x, rows)
  expect_length(predict(of_response, rows[1:2, ]), 2L)
  new <- rows[1:2, ]
  expect_gibbsite_error(class = "gibbsite_error_other_rows", {
    predict(grouped, new)
    predict(sloped, new)
    predict(binomial, new)
    posterior_predict(logit, newdata = new)
    posterior_epred(laplace, newdata = new)
    posterior_linpred(laplace, newdata = new)
    log_lik(laplace, newdata = new)
    log_lik(of_response, new)
    augment(laplace, newdata = new)
    plot(laplace, "response")
    predict(drop_data(logit), new)
    predict(mixture, new)
  })
  skip_if_not_installed("emmeans")
  expect_error(
    suppressMessages(emmeans::recover_data(laplace)),
    class = "gibbsite_error_other_rows"
  )
})

test_that("an offset that uses other rows is not made of a grid", {
  skip_if_not_installed("emmeans")
  fit <- fit_short(gibbs_lm, y ~ x, rows, offset = quote(log(n / sum(n))))
  expect_length(predict(fit, rows[1:2, ], offset = 0), 2L)
  expect_error(
    emmeans::recover_data(fit), class = "gibbsite_error_other_rows"
  )
})

test_that("the density of new responses keeps what scale() took", {
  fit <- fit_short(gibbs_lm, scale(y) ~ x, rows)
  expect_equal(
    unname(log_lik(fit, rows[1:3, ])), unname(log_lik(fit)[, 1:3])
  )
})

test_that("the rows of data of any form are found again", {
  skip_long()
  x <- rows$x
  y <- rows$y
  given <- list(x = x, y = y)
  held <- list2env(given, new.env())
  fits <- list(
    quote(gibbs_lm(y ~ exp(x), subset = x > 2)),
    quote(gibbs_lm(y ~ exp(x), given, subset = x > 2)),
    quote(gibbs_lm(y ~ exp(x), held)),
    quote(gibbs_lm(y ~ exp(x), rows[60:1, ], subset = x > 2)),
    quote(gibbs_lm(y ~ exp(x), transform(rows, x = replace(x, 1:9, NA)),
                   na_action = "omit"))
  )
  for (fit in fits[fast_or(c(2, 5), seq_along(fits))]) {
    made <- as.call(c(as.list(fit), short))
    expect_no_warning(
      quietly(eval(made)), class = "gibbsite_warning_other_rows"
    )
    made[[2L]] <- y ~ I(x - mean(x, na.rm = TRUE))
    expect_warning(quietly(eval(made)), class = "gibbsite_warning_other_rows")
  }
})

test_that("the dot is the columns but those of the response and the groups", {
  skip_long()
  few <- rows[c("y", "x", "z", "g")]
  names(few)[3L] <- "odd name"
  fixed <- function(formula, data = few) {
    fit <- expect_no_warning(fit_short(gibbs_hlm, formula, data))
    new <- data[c(3, 20), ]
    expect_equal(unname(predict(fit, new)), unname(predict(fit))[c(3, 20)])
    list(names(nlme::fixef(fit)), colnames(coef(fit)[[1L]]))
  }
  both <- c("(Intercept)", "x", "`odd name`")
  expect_equal(fixed(y ~ . + (1 | g))[[1L]], both)
  expect_equal(fixed(log(y + 9) ~ . + (1 | g))[[1L]], both)
  expect_equal(fixed(cbind(y) ~ . - x + (1 | g))[[1L]], both[-2L])
  expect_equal(fixed(y ~ .^2 + (1 | g))[[1L]], c(both, "x:`odd name`"))
  expect_equal(fixed(y ~ . - 1 + (1 | g))[[1L]], both[-1L])
  expect_equal(fixed(y ~ . + offset(x) + (1 | g))[[1L]], both)
  expect_equal(
    fixed(y ~ . * g + (1 | g), few[c("y", "x", "g")])[[1L]],
    c("(Intercept)", "x", paste0("g", letters[2:4]),
      paste0("x:g", letters[2:4]))
  )
  expect_equal(fixed(y ~ 1 + (. | g))[[2L]], both)
  expect_equal(fixed(y ~ 0 + x + (0 + . || g))[[2L]], both[-1L])
  expect_equal(
    fixed(y ~ . + (1 | `odd name`), few[c("y", "x", "odd name")])[[1L]],
    both[1:2]
  )
  expect_equal(
    fixed(y ~ . + (1 | g), rows[c("y", "M", "g")])[[1L]],
    c("(Intercept)", "Mp", "Mq")
  )
  binomial <- fit_short(gibbs_logistic, b ~ . - g + (1 | g), rows[c(2, 3:4, 8)])
  expect_equal(names(nlme::fixef(binomial)), c("(Intercept)", "x", "z"))
  without <- fit_short(gibbs_lm, y ~ ., rows["y"])
  expect_named(coef(without), "(Intercept)")
  if (is_extended()) {
    expect_equal(fixed(y ~ . - g + (1 | g))[[1L]], both)
    expect_equal(fixed(y ~ 0 + . + (1 | g))[[1L]], both[-1L])
    expect_equal(fixed(y ~ . + I(x^2) + (1 | g))[[1L]], c(both, "I(x^2)"))
    expect_equal(fixed(y ~ . + (1 | g), few[c("y", "g")])[[1L]], "(Intercept)")
    expect_equal(fixed(y ~ . - g + (1 | g), few[c("y", "g")])[[1L]],
                 "(Intercept)")
  }
})

test_that("a dot or bars that cannot be read have an error with a way out", {
  skip_long()
  expect_gibbsite_error(class = "gibbsite_error_formula", {
    gibbs_hlm(y ~ z + (x | g) + (x - 1 | g) + (0 + z || g), rows)
    gibbs_logistic(b ~ (0 + x | g) + (x - 1 | g), rows)
    gibbs_logistic(b ~ (1 | g + k), rows)
    gibbs_hlm(y ~ (1 | g) + (1 | g), rows)
    gibbs_hlm(y ~ x + (1 | .), rows)
    gibbs_hlm(y ~ log(.) + (1 | g), rows)
    gibbs_hlm(y ~ x + (log(.) | g), rows)
    gibbs_hlm(y ~ . + (1 | g), as.list(rows))
    gibbs_lm(y ~ x + offset(.), rows)
    gibbs_lm(y ~ .)
    laplace_logistic(b ~ log(.), rows)
  })
})
