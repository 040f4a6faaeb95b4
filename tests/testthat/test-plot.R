# Pictures are judged by eye; these tests see to it that each is drawn, that
# odd fits have one, and that the device is left as it was.

draw <- function(...) {
  file <- withr::local_tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit(grDevices::dev.off())
  before <- graphics::par(no.readonly = TRUE)
  result <- withVisible(plot(...))
  after <- graphics::par(no.readonly = TRUE)
  expect_false(result$visible)
  same <- setdiff(names(before), c("usr", "xaxp", "yaxp"))
  expect_equal(after[same], before[same])
  invisible(result$value)
}

test_that("every type is drawn, alone and together", {
  fit <- fake_fit(draws = 50)
  for (type in plot_types) {
    expect_identical(draw(fit, type), fit)
  }
  draw(fit)
  draw(fit, plot_types, variables = "b")
  draw(fit, "trace", variables = c("a", "b[2]"))
})

test_that("odd fits have a picture", {
  skip_long()
  draw(fake_fit(draws = 1, chains = 1), plot_types)
  draw(fake_fit(draws = 2, chains = 1), plot_types)
  draw(fake_fit(draws = 50, chains = 1, burnin = 0), plot_types)
  draw(fake_fit(draws = 20, chains = 30), plot_types)
  draw(fake_fit(values = function(k) cbind(1, NA, rpois(100, 2))), plot_types)
  draw(fake_fit(values = function(k) {
    cbind(k, k + rnorm(100), 1e-200 * rnorm(100))
  }), plot_types)
  draw(fake_fit(draws = 6000, chains = 2, columns = 1), plot_types)
})

test_that("six quantities are drawn by default, those with the largest R-hat", {
  fit <- fake_fit(draws = 100, columns = 9, values = function(k) {
    x <- matrix(rnorm(900), 100)
    x[, c(2, 8)] <- x[, c(2, 8)] + 3 * k
    x
  })
  shown <- plotted_draws(fit, NULL, NULL)
  expect_equal(dim(shown)[3], 6)
  expect_true(all(c("x[2]", "x[8]") %in% dimnames(shown)$variable))
  expect_equal(attr(shown, "of"), 9)
  draw(fit)
})

test_that("what cannot be drawn is an error", {
  fit <- fake_fit(draws = 50, columns = 40)
  expect_gibbsite_error({
    plot(fit, "pie")
    plot(fit, 1)
    plot(fit, variables = "y")
    plot(fit, variables = "x")
    plot(fit, ask = FALSE)
  })
})

test_that("the palette has a colour for each chain", {
  for (n in c(1, 4, 8, 9, 40)) {
    colours <- gibbsite_palette(n)
    expect_length(colours, n)
    expect_identical(anyDuplicated(colours), 0L)
  }
})

test_that("the autocorrelation of a chain that never moved is none", {
  expect_silent(draw(
    fake_fit(values = function(k) {
      cbind(if (k == 1) rep(1, 100) else rnorm(100), rnorm(100), rnorm(100))
    }),
    "autocorrelation"
  ))
})
