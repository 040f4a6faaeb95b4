# compare(): the posteriors of several fits beside each other.

short_fit <- function(f, ...) {
  quietly(f(..., draws = 200, chains = 2, seed = 1, progress = FALSE))
}

cars <- datasets::mtcars
near <- short_fit(laplace_logistic, am ~ wt + qsec, cars)
exact <- short_fit(gibbs_logistic, am ~ wt + qsec, cars, burnin = 100)

test_that("the table has each fit's posterior, by coefficient", {
  table <- gibbsite::compare(near, exact)
  expect_identical(
    table$coefficient, rep(c("(Intercept)", "wt", "qsec"), each = 2)
  )
  expect_identical(table$fit, rep(c("near", "exact"), 3))
  of <- function(name) as.data.frame(table)[table$fit == name, ]
  bounds <- function(name) unname(as.matrix(of(name)[c("lower", "upper")]))
  expect_equal(of("near")$mean, unname(coef(near)))
  expect_equal(of("near")$sd, unname(sqrt(diag(vcov(near)))))
  expect_equal(bounds("near"), unname(confint(near)), ignore_attr = TRUE)
  expect_equal(of("exact")$mean, unname(coef(exact)))
  expect_equal(of("exact")$sd, unname(sqrt(diag(vcov(exact)))))
  expect_equal(bounds("exact"), unname(confint(exact)), ignore_attr = TRUE)
  expect_equal(of("near")$sd_ratio, of("near")$sd / of("exact")$sd)
  expect_equal(
    of("near")$shift, (of("near")$mean - of("exact")$mean) / of("exact")$sd
  )
  expect_identical(of("exact")$shift, numeric(3))
  expect_identical(of("exact")$sd_ratio, rep(1, 3))
})

test_that("level and reference are used", {
  table <- gibbsite::compare(
    a = near, b = exact, level = 0.5, reference = "a"
  )
  expect_identical(table, gibbsite::compare(
    a = near, b = exact, level = 0.5, reference = 1
  ))
  expect_identical(table$sd_ratio[table$fit == "a"], rep(1, 3))
  expect_equal(
    table$upper[table$fit == "b"], unname(confint(exact, level = 0.5)[, 2])
  )
})

test_that("a corrected approximation shows its draws", {
  skip_long()
  corrected <- short_fit(
    laplace_logistic, am ~ wt + qsec, cars, correct = "importance"
  )
  table <- gibbsite::compare(near, corrected, exact)
  draws <- as.matrix(corrected)
  expect_equal(
    table$mean[table$fit == "corrected"], unname(colMeans(draws))
  )
  expect_identical(attr(table, "normal"), c(TRUE, FALSE, FALSE))
})

test_that("other regressions and samplers are compared by name", {
  skip_long()
  line <- short_fit(gibbs_lm, mpg ~ wt + qsec, cars, burnin = 20)
  swapped <- short_fit(
    gibbs_lm, mpg ~ qsec + wt, cars, burnin = 20, prior = lm_prior("nig")
  )
  levels <- short_fit(
    gibbs_hlm, mpg ~ wt + qsec + (1 | cyl), cars, burnin = 20
  )
  walk <- short_fit(
    mh_sample, function(w) -sum(w^2) / 2,
    c(other = 0, qsec = 0, wt = 0, "(Intercept)" = 0), burnin = 20
  )
  table <- gibbsite::compare(line, swapped, levels, walk)
  mean_of <- function(name) {
    rows <- table$fit == name
    stats::setNames(table$mean[rows], table$coefficient[rows])
  }
  names <- c("(Intercept)", "wt", "qsec")
  expect_equal(mean_of("line"), coef(line))
  expect_equal(mean_of("swapped"), coef(swapped)[names])
  expect_equal(mean_of("levels"), colMeans(as.matrix(levels)[, names]))
  expect_equal(mean_of("walk"), colMeans(as.matrix(walk)[, names]))
  # the regression says which coefficients
  expect_identical(
    unique(gibbsite::compare(walk, line)$coefficient), names
  )
  # samplers alone are compared in all parameters
  expect_identical(
    unique(gibbsite::compare(walk, walk)$coefficient),
    c("other", "qsec", "wt", "(Intercept)")
  )
})

test_that("fits get names", {
  name <- function(...) unique(gibbsite::compare(...)$fit)
  expect_identical(name(near, exact), c("near", "exact"))
  expect_identical(name(one = near, exact), c("one", "exact"))
  expect_identical(name(near, near), c("near", "near 1"))
  pair <- list(near, exact)
  expect_identical(
    name(pair[[1]], pair[[2]]), c("laplace_logistic", "gibbs_logistic")
  )
  # also without the data, which are then not compared
  bare <- drop_data(near)
  expect_identical(name(bare, exact), c("bare", "exact"))
})

test_that("a comparison prints and is plotted", {
  skip_long()
  table <- gibbsite::compare(laplace = near, exact = exact)
  shown <- capture.output(print(table))
  expect_identical(shown[[1]], "3 coefficients by 2 fits, with 95% intervals")
  expect_length(grep("laplace|exact", shown), 8L)
  expect_match(
    capture.output(print(table, n = 2)), "4 more rows", all = FALSE
  )
  expect_output(print(table[1:3]), "coefficient")
  expect_s3_class(as.data.frame(table), "data.frame", exact = TRUE)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_identical(plot(table), table)
  expect_identical(plot(table, variables = "wt"), table)
  expect_gibbsite_error({
    plot(table, variables = "cyl")
    plot(table[1:3])
    print(table, n = -1)
  })
})

test_that("of many coefficients those are plotted that differ most", {
  many <- datasets::mtcars
  a <- short_fit(gibbs_lm, mpg ~ ., many, burnin = 20)
  b <- short_fit(gibbs_lm, mpg ~ ., many, burnin = 20, prior = lm_prior("nig"))
  table <- gibbsite::compare(a, b)
  chosen <- gibbsite:::most_different(table, unique(table$coefficient), 3L)
  one <- table[table$fit == "a", ]
  difference <- pmax(abs(one$shift), abs(log(one$sd_ratio)))
  expect_setequal(chosen, one$coefficient[order(-difference)[1:3]])
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_identical(plot(table), table)
})

test_that("fits that cannot be compared are named", {
  skip_long()
  other <- short_fit(laplace_logistic, am ~ wt, cars)
  fewer <- short_fit(laplace_logistic, am ~ wt + qsec, cars[-1, ])
  response <- short_fit(laplace_logistic, vs ~ wt + qsec, cars)
  walk <- short_fit(mh_sample, function(w) -sum(w^2) / 2, c(wt = 0))
  mixture <- short_fit(gibbs_gmm, datasets::faithful, 2, burnin = 10)
  compare <- gibbsite::compare
  expect_gibbsite_error({
    compare()
    compare(near)
    compare(near, 1)
    compare(1, near)
    compare(mixture, near)
    compare(near, mixture)
    compare(near, other)
    compare(other, near)
    compare(near, fewer)
    compare(exact, response)
    compare(near, walk)
    compare(a = near, a = exact)
    compare(near, exact, level = 2)
    compare(near, exact, reference = "third")
    compare(near, exact, reference = 3)
  })
})
