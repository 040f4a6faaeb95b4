# Rows to predict, of every regression: their variables are those of the fit in
# class, unit, name and group.

maker <- function(sampler) {
  function(...) quietly(sampler(..., draws = 20, seed = 1, progress = FALSE))
}
fit_lm <- maker(function(...) gibbs_lm(..., burnin = 20, chains = 2))
fit_hlm <- maker(function(...) gibbs_hlm(..., burnin = 20, chains = 2))
fit_logit <- maker(function(...) gibbs_logistic(..., burnin = 20, chains = 2))

rows <- withr::with_seed(1, data.frame(
  y = stats::rnorm(20), x = stats::rnorm(20), g = gl(4, 5),
  z = rep(0:1, 10), day = as.Date("2020-01-01") + 1:20,
  took = as.difftime(1:20, units = "days")
))
rows$start <- as.POSIXct(rows$day)
rows$M <- cbind(p = rows$x, q = rows$z)

# 64-bit integers as bit64 makes them, also without bit64
long <- function(x) structure(as.double(x) * 2^-1074, class = "integer64")

test_that("predictions of no rows have the dimensions of draws", {
  rows$k <- gl(3, 1, 20)
  none <- rows[0, ]
  binary <- fit_logit(z ~ x + (1 | g), rows)
  three <- quietly(gibbs_categorical(
    k ~ x, rows, draws = 20, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  expect_identical(dim(posterior_epred(binary, none)), c(40L, 0L))
  expect_identical(dim(posterior_predict(binary, none)), c(40L, 0L))
  expect_silent(empty <- posterior_epred(three, none))
  expect_identical(dim(empty), c(40L, 0L, 3L))
  expect_silent(empty <- log_lik(three, none))
  expect_identical(dim(empty), c(40L, 0L))
})

test_that("64-bit integers in new data are refused", {
  skip_long()
  grouped <- fit_hlm(y ~ x + (1 | g), rows)
  fits <- list(
    fit_lm(y ~ x, rows), grouped, fit_logit(z ~ x, rows),
    laplace_logistic(z ~ x, rows, seed = 1), fit_logit(z ~ x + (1 | g), rows)
  )
  new <- rows[1:2, ]
  new$x <- long(3:4)
  for (fit in fits) {
    expect_error(predict(fit, new), class = "gibbsite_error_column")
  }
  by_matrix <- fit_lm(as.matrix(rows["x"]), rows$y)
  of_groups <- rows[1:2, ]
  of_groups$g <- long(1:2)
  expect_gibbsite_error(class = "gibbsite_error_column", {
    predict(fits[[1]], new)
    predict(grouped, of_groups)
    predict(by_matrix, structure(long(1:2), dim = 2:1))
    predict(by_matrix, new["x"])
  })
})

test_that("differences of times are read in the unit of the fit", {
  skip_long()
  new <- data.frame(
    took = as.difftime(c(1, 36), units = "hours"), x = 0, g = "1"
  )
  same <- transform(new, took = as.difftime(c(1, 36) / 24, units = "days"))
  fits <- list(
    fit_lm(y ~ took, rows), fit_lm(y ~ as.numeric(took), rows),
    fit_hlm(y ~ took + (1 | g), rows), fit_hlm(y ~ x + (took | g), rows),
    drop_data(fit_lm(y ~ took, rows))
  )
  for (fit in fits) {
    expect_equal(predict(fit, new), predict(fit, same))
  }
  # R chooses the unit of a difference
  between <- fit_lm(y ~ I(day - as.Date("2020-01-02")), rows)
  expect_equal(
    unname(predict(between, rows[1:3, ])), unname(predict(between)[1:3])
  )
  by_time <- fit_lm(y ~ difftime(start, as.POSIXct("2020-01-01")), rows)
  near <- data.frame(start = as.POSIXct("2020-01-01") + c(60, 86400))
  far <- rbind(near, rows[20, "start", drop = FALSE])
  expect_equal(predict(by_time, near), predict(by_time, far)[1:2])
})

test_that("variables of another kind than in the fit are named", {
  skip_long()
  dated <- fit_lm(y ~ day, rows)
  timed <- fit_lm(y ~ as.numeric(start), rows)
  factors <- fit_lm(y ~ g + x, rows)
  others <- fit_lm(y ~ M, rows)
  texts <- fit_lm(y ~ t + f, transform(
    rows, t = rep(c("a", "b"), 10), f = x > 0
  ))
  probit <- fit_logit(z ~ g, rows, link = "probit")
  grouped <- fit_hlm(y ~ 1 + (1 | day), transform(rows, day = rep(day[1:4], 5)))
  expect_gibbsite_error(class = "gibbsite_error_column", {
    predict(dated, data.frame(day = as.POSIXct("2020-01-05", tz = "UTC")))
    predict(dated, data.frame(day = 18000))
    predict(dated, data.frame(day = "2020-01-05"))
    predict(timed, data.frame(start = as.Date("2020-01-05")))
    predict(factors, data.frame(g = 1, x = 1))
    predict(factors, data.frame(g = "1", x = "1"))
    predict(others, data.frame(M = 1))
    predict(texts, data.frame(t = 1, f = TRUE))
    predict(texts, data.frame(t = "a", f = 1))
    predict(probit, data.frame(g = 1))
    predict(grouped, data.frame(day = as.POSIXct("2020-01-02", tz = "UTC")))
  })
  # text for a factor, and the other way round
  expect_equal(
    predict(factors, data.frame(g = "2", x = 1)),
    predict(factors, data.frame(g = factor("2", levels = 1:4), x = 1))
  )
  expect_equal(
    predict(texts, data.frame(t = factor("b"), f = TRUE)),
    predict(texts, data.frame(t = "b", f = TRUE))
  )
})

test_that("a level that is not known is named in plain words", {
  skip_long()
  fit <- fit_lm(y ~ g, rows)
  grouped <- fit_hlm(y ~ x + (1 | g), rows)
  expect_gibbsite_error(class = "gibbsite_error_level", {
    predict(fit, data.frame(g = c("8", "9")))
    predict(fit, data.frame(g = c("8", "1")))
    predict(grouped, data.frame(x = 1, g = c("8", "9")))
    predict(grouped, data.frame(x = 1, g = c("8", "1")))
  })
})

test_that("groups are the same as whole numbers of any type", {
  skip_long()
  rows$id <- rep(c(1e5, 2e5, 123456, 3e5), 5)
  rows$half <- rep(c(0.5, 1e5), 10)
  for (make in list(
    function(f, d) fit_hlm(stats::update(f, y ~ .), d),
    function(f, d) fit_logit(stats::update(f, z ~ .), d)
  )) {
    fit <- make(~ x + (1 | id), rows)
    expect_identical(
      rownames(coef(fit)$id), c("100000", "123456", "200000", "300000")
    )
    double <- data.frame(x = 1, id = c(1e5, 3e5))
    integer <- transform(double, id = as.integer(id))
    expect_identical(predict(fit, integer), predict(fit, double))
    text <- transform(double, id = c("100000", "300000"))
    expect_identical(predict(fit, text), predict(fit, double))
    # R's own labels of a factor stay
    of_factor <- make(~ x + (1 | id), transform(rows, id = factor(id)))
    expect_identical(predict(of_factor, integer), predict(of_factor, double))
    expect_identical(
      predict(of_factor, transform(double, id = factor(id))),
      predict(of_factor, double)
    )
  }
  fit <- fit_hlm(y ~ x + (1 | half), rows)
  expect_identical(rownames(coef(fit)$half), c("0.5", "100000"))
  crossed <- fit_hlm(y ~ x + (1 | g:half), rows)
  new <- data.frame(x = 1, g = "2", half = c(1e5, 0.5))
  expect_identical(
    predict(crossed, new[1, ]),
    predict(crossed, transform(new, half = as.integer(half))[1, ])
  )
})

test_that("columns of a matrix are taken by name where both have names", {
  skip_long()
  x <- cbind(a = rows$x, b = rows$z)
  fit <- fit_lm(x, rows$y)
  new <- cbind(a = c(1, 2), b = 3)
  expected <- predict(fit, new)
  expect_identical(predict(fit, new[, 2:1]), expected)
  expect_identical(predict(fit, unname(new)), expected)
  expect_equal(unname(predict(fit, as.data.frame(new[, 2:1]))),
               unname(expected))
  expect_identical(predict(fit, c(b = 3, a = 1)), expected[1])
  nameless <- fit_lm(unname(x), rows$y)
  expect_identical(predict(nameless, cbind(p = c(1, 2), q = 3)), expected)
  expect_gibbsite_error({
    predict(fit, cbind(a = 1, c = 2))
    predict(drop_data(fit), cbind(d = 1, c = 2))
    predict(fit, data.frame(a = 1, other = 2))
    predict(fit, 1:3)
    predict(fit, "a")
  })
  expect_identical(predict(fit, x[0, ]), numeric())
  expect_identical(
    predict(fit, x[0, ], interval = "mean"),
    predict(fit, x[1, , drop = FALSE], interval = "mean")[0, ]
  )
})

test_that("values of a formula that are no columns need not be in new data", {
  skip_long()
  d <- withr::with_seed(1, data.frame(x = runif(40), s = rep(1:4, 10)))
  d$y <- d$x + d$s + withr::with_seed(2, rnorm(40))
  breaks <- c(0, 0.3, 0.6, 1)
  words <- letters[1:4]
  brief_fit <- function(f, ...) {
    quietly(f(..., draws = 20, burnin = 5, chains = 1, seed = 1,
              progress = FALSE))
  }
  fits <- list(
    brief_fit(gibbs_lm, y ~ cut(x, breaks), d),
    brief_fit(gibbs_hlm, y ~ x + (1 | cut(x, breaks)), d),
    brief_fit(
      gibbs_hlm, y ~ cut(x, breaks) + (1 | words[s]) + (1 | x > 0.5), d
    ),
    brief_fit(gibbs_logistic, y > 3 ~ cut(x, breaks) + (1 | words[s]), d)
  )
  for (fit in fits) {
    # as many rows as breaks, and others
    for (rows in list(3, 1:4, 1:40)) {
      expect_equal(predict(fit, d[rows, ], type = "response"),
                   fitted(fit)[rows])
    }
    saved <- unserialize(serialize(fit, NULL))
    expect_equal(predict(saved, d[5, ], type = "response"), fitted(fit)[5])
  }
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  fit <- quietly(gibbs_lm(y ~ cut(x, breaks), d, draws = 20, seed = 1,
                          progress = FALSE))
  expect_no_error(plot(fit, type = "response"))
  # a column is never taken from elsewhere
  x <- d$x
  s <- d$s
  y <- d$y
  for (fit in c(fits[1:3], list(brief_fit(gibbs_lm, y ~ cut(x, breaks))))) {
    expect_error(predict(fit, d["s"]), "lacks the variable",
                 class = "gibbsite_error_argument")
  }
  expect_error(predict(fits[[3]], d["x"]), "lacks the groups",
               class = "gibbsite_error_argument")
})

test_that("a row of 0 trials has 0 successes", {
  b <- data.frame(d = 0:3, s = c(1, 4, 9, 0), n = c(20, 20, 20, 0))
  fit <- quietly(gibbs_logistic(
    cbind(s, n - s) ~ d, b, draws = 50, burnin = 5, chains = 1, seed = 1,
    progress = FALSE
  ))
  found <- predict(fit, interval = "prediction")
  expect_identical(unlist(found[4, ], use.names = FALSE), numeric(4))
  expect_identical(
    predict(fit, b[1:3, ], interval = "prediction", trials = 20),
    found[1:3, ]
  )
})
