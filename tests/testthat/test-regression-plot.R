# Pictures of regressions: axes, what stands where, and what cannot be drawn.

rows <- withr::with_seed(1, data.frame(
  y = stats::rnorm(20), x = stats::rnorm(20), g = gl(4, 5),
  z = rep(0:1, 10), day = as.Date("2020-01-01") + 1:20
))
rows$M <- cbind(p = rows$x, q = rows$z)
rows$one <- matrix(rows$x)

fit_lm <- function(formula) {
  quietly(gibbs_lm(
    formula, rows, draws = 20, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
}
logit <- laplace_logistic(z ~ x + g, rows, seed = 1)

# A picture's page as R's pdf() writes it.
page_of <- function(code) {
  path <- withr::local_tempfile(fileext = ".pdf")
  grDevices::pdf(path, compress = FALSE)
  tryCatch(code, finally = grDevices::dev.off())
  lines <- readLines(path, warn = FALSE)
  # not the second line, which has bytes that are no text
  lines[validEnc(lines)]
}

# The horizontal lines of a page: data frame (from, to, at).
horizontal_lines <- function(page) {
  number <- "(-?[0-9.]+)"
  form <- paste("^", " m ", " l  S$", sep = paste0(number, " ", number))
  parts <- regmatches(page, regexec(form, page))
  ends <- t(vapply(parts[lengths(parts) > 0], function(one) {
    as.double(one[-1])
  }, numeric(4)))
  ends <- ends[ends[, 2] == ends[, 4], ]
  data.frame(from = ends[, 1], to = ends[, 3], at = ends[, 2])
}

test_that("the fixed effects of a model without them cannot be drawn", {
  skip_long()
  fits <- list(
    quietly(gibbs_hlm(
      y ~ 0 + (x | g), rows, draws = 20, burnin = 20, chains = 2, seed = 1,
      progress = FALSE
    )),
    quietly(gibbs_logistic(
      z ~ 0 + (x | g), rows, draws = 20, burnin = 20, chains = 2, seed = 1,
      progress = FALSE
    ))
  )
  expect_gibbsite_error({
    plot(fits[[1]], type = "coefficients")
    plot(fits[[2]], type = "odds")
  })
})

test_that("a model of thresholds alone is drawn by its chains", {
  fit <- quietly(gibbs_ordinal(
    ordered(gear) ~ 1, datasets::mtcars, draws = 20, burnin = 20, chains = 2,
    seed = 1, progress = FALSE
  ))
  withr::local_pdf(NULL)
  expect_identical(plot(fit), fit)
  expect_gibbsite_error({
    plot(fit, type = "coefficients")
    plot(fit, type = "response")
  })
})

test_that("the axis of coefficients is as long as their intervals", {
  normal <- laplace(
    function(x) -sum((x - c(1, 100))^2 / c(1, 1e6)) / 2, c(a = 0, b = 0),
    seed = 1
  )
  pages <- list(
    page_of(plot(logit, "coefficients", variables = c("g2", "g3", "g4"))),
    page_of(plot(logit, type = "odds", variables = c("g2", "g3", "g4"))),
    page_of(plot(logit, type = "odds", variables = "x", per = "unit")),
    page_of(plot(normal, "coefficients", variables = "a"))
  )
  for (page in pages) {
    lines <- horizontal_lines(page)
    # below the axis there is the key
    axis <- lines$at > 50
    axis <- lines[axis & lines$at == min(lines$at[axis]), ]
    intervals <- lines[lines$at > axis$at[[1]], ]
    expect_lt(min(axis$from), min(intervals$from))
    expect_gt(max(axis$to), max(intervals$to))
  }
})

test_that("a response plot says where the other variables stand", {
  skip_long()
  others <- function(formula, variable) {
    shown <- response_shown(fit_lm(formula), variable, 0.95, NULL)
    grep("^at ", shown$note, value = TRUE)
  }
  expect_identical(
    others(y ~ x + z + g + day, "x"), "at z = 0.5, day = 2020-01-11"
  )
  expect_identical(
    others(y ~ x + z + g + day, "g"),
    paste0("at x = ", format(mean(rows$x), digits = 3),
           ", z = 0.5, day = 2020-01-11")
  )
  expect_identical(others(y ~ x, "x"), character())
  expect_identical(others(y ~ x + M, "x"), "at M = its means")
  # levels that the formula makes of numbers are levels in the plot too
  shown <- response_shown(fit_lm(y ~ x + factor(z)), "x", 0.95, NULL)
  expect_identical(shown$grid$by, "z")
  fit <- fit_lm(y ~ x + factor(z))
  grid <- response_shown(fit, "z", 0.95, NULL)$grid
  expect_identical(grid$at, 0:1)
  page <- page_of(plot(fit_lm(y ~ x + z), type = "response", variable = "x"))
  said <- function(page) {
    any(grepl("(at z = 0.5)", page, fixed = TRUE, useBytes = TRUE))
  }
  expect_true(said(page))
  own <- page_of(plot(
    fit_lm(y ~ x + z), type = "response", variable = "x", main = "A"
  ))
  expect_false(said(own))
  page_of(plot(fit, type = "response", variable = "z"))
  # a matrix without names of columns
  nameless <- laplace_logistic(
    cbind(rows$x, rows$y), rows$z, seed = 1, progress = FALSE
  )
  page_of(plot(nameless, type = "response", variable = "V2"))
  # no value is hidden, and 0 is 0 but for rounding
  many <- stats::setNames(as.list(1:9), paste("variable", 1:9))
  expect_identical(
    others_text(many, many),
    paste("at", paste0("variable ", 1:9, " = ", 1:9, collapse = ", "))
  )
  expect_identical(others_text(list(b = -3.7e-16), list(b = 1:3)), "at b = 0")
  skip_if_not_installed("ggplot2")
  picture <- ggplot2::autoplot(
    fit_lm(y ~ x + z), type = "response", variable = "x"
  )
  expect_identical(picture$labels$subtitle, "at z = 0.5")
})

test_that("a factor of the fixed effects may also make groups", {
  skip_long()
  d <- transform(mtcars, am = factor(am), cyl = factor(cyl))
  fit <- quietly(gibbs_hlm(mpg ~ am + wt + (1 | am:cyl), d, draws = 30,
                           burnin = 5, chains = 1, seed = 1, progress = FALSE))
  curve_of <- function(variable) {
    drawn <- ggplot2::autoplot(fit, type = "response", variable = variable)
    page_of(plot(fit, type = "response", variable = variable))
    drawn$labels$x
  }
  expect_identical(curve_of("wt"), "wt")
  expect_identical(curve_of("am"), "am")
})

test_that("a variable that is a matrix has no curve, others beside it have", {
  skip_long()
  fit <- fit_lm(y ~ x + M)
  page_of(plot(fit, type = "response"))
  expect_gibbsite_error({
    plot(fit, type = "response", variable = "M")
    plot(fit_lm(y ~ M), type = "response")
    plot(fit_lm(y ~ one), type = "response")
    plot(laplace_logistic(z ~ M, rows, seed = 1), type = "response")
  })
  expect_identical(default_regression_plot(fit_lm(y ~ one)), "coefficients")
})

test_that("an argument that no picture has is an error", {
  fit <- gibbs_lm(mpg ~ wt, mtcars, seed = 1)
  for (name in c("pars", "regex_pars")) {
    expect_error(
      do.call(plot, c(list(fit), stats::setNames(list("wt"), name))),
      "It is `variables` here", class = "gibbsite_error_argument"
    )
  }
  expect_error(plot(fit, colour = 2), "no argument `colour`")
  expect_error(
    plot(fit, "response", "wt", 0.9, NULL, NULL, "sd", NULL, 3), "more arguments"
  )
  mixture <- gibbs_gmm(faithful, 2, seed = 1)
  expect_error(plot(mixture, pars = "mu"), "It is `variables` here")
  withr::local_pdf(NULL)
  expect_no_warning(plot(fit, main = "Cars", cex.axis = 0.8, las = 1))
})

test_that("a curve stands at the offset that is said", {
  data <- transform(MASS::Insurance, Age = factor(Age, ordered = FALSE))
  fit <- brief(gibbs_count, Claims ~ Age, data, offset = log(Holders))
  shown <- gibbsite:::response_shown(fit, "Age", 0.95, NULL)
  expect_true(shown$moved)
  expect_match(shown$note, "at the mean offset, 4.9")
  # each count by the ratio of its exposure to that of the curve
  expect_equal(
    shown$points$y,
    data$Claims * exp(mean(log(data$Holders)) - log(data$Holders))
  )
})

test_that("times have a curve with their own ticks", {
  day <- as.Date("2020-01-15") + c(0, 400, 800, 1200, 1600, 2000)
  data <- data.frame(day, y = c(1, 3, 2, 5, 4, 6))
  data$lasting <- as.difftime(data$y^2, units = "hours")
  data$at <- as.POSIXct(day)
  for (name in c("day", "lasting", "at")) {
    fit <- brief(gibbs_lm, stats::reformulate(name, "y"), data)
    expect_identical(gibbsite:::default_regression_plot(fit), "response")
    shown <- gibbsite:::response_shown(fit, name, 0.95, NULL)
    expect_equal(range(shown$table$x), range(as.double(data[[name]])))
    expect_equal(
      shown$table$mean[c(1, 81)],
      unname(predict(fit, data[c(which.min(data[[name]]),
                                 which.max(data[[name]])), ]))
    )
    axis <- shown$grid$axis
    if (name == "lasting") {
      expect_identical(axis$title, "lasting (hours)")
    } else {
      expect_true(all(c("2021", "2024") %in% axis$labels))
    }
  }
})

test_that("observations of equal predictions are calibrated together", {
  data <- data.frame(f = factor(rep(c("a", "b"), each = 40)),
                     y = rep(c(1, 0, 1, 0), c(12, 28, 30, 10)))
  of <- function(data) {
    fit <- brief(gibbs_logistic, y ~ f, data)
    gibbsite:::calibration_table(
      fit, gibbsite:::check_frame(attr(fit, "model")), 0.9, 8, NULL
    )
  }
  sorted <- of(data)
  expect_equal(sorted$observed, c(0.3, 0.75))
  expect_identical(sorted$trials, c(40, 40))
  mixed <- of(data[withr::with_seed(1, sample(80)), ])
  expect_equal(mixed$observed, sorted$observed)
})

test_that("coefficients are said to be what they are", {
  data <- transform(warpbreaks, grade = factor(tension, ordered = TRUE))
  label <- function(formula, ...) {
    fit <- brief(gibbs_lm, formula, data, ...)
    shown <- gibbsite:::coefficients_shown(
      fit, setdiff(colnames(coef_matrix(fit)), "(Intercept)"), 0.95, "sd", NULL
    )
    shown$xlab
  }
  coef_matrix <- function(fit) t(coef(fit))
  expect_match(label(breaks ~ tension), "against the reference level")
  expect_match(label(breaks ~ grade), "per unit of a contrast")
  expect_match(
    label(breaks ~ wool, contrasts = list(wool = "contr.sum")),
    "per unit of a contrast"
  )
  expect_identical(label(breaks ~ 0 + tension), "breaks")
})

test_that("new observations of a fit with weights are said to have weight 1", {
  fit <- brief(gibbs_lm, dist ~ speed, cars, weights = 1 / speed^2)
  of <- function(...) predict(fit, cars[1:3, ], interval = "prediction", ...)
  expect_message(of(), class = "gibbsite_message_weights")
  expect_no_message(of(weights = 1:3), class = "gibbsite_message_weights")
  expect_no_message(predict(fit, cars[1:3, ]))
  expect_message(
    posterior_predict(fit, cars[1:3, ]), class = "gibbsite_message_weights"
  )
  # a curve of new observations would need a weight
  shown <- gibbsite:::response_shown(fit, "speed", 0.95, NULL)
  expect_null(shown$table$new_lower)
  counted <- brief(gibbs_ordinal, Sat ~ Infl, MASS::housing, weights = Freq)
  expect_message(
    posterior_predict(counted, ndraws = 2), "replicated once"
  )
})

test_that("the data of a call are evaluated once", {
  times <- 0
  made <- function() {
    times <<- times + 1
    data.frame(x = stats::runif(20), y = stats::rnorm(20))
  }
  expect_no_warning(
    fit <- withr::with_seed(1, brief(gibbs_lm, y ~ poly(x, 2), made()))
  )
  expect_length(predict(fit, data.frame(x = 0.5)), 1)
})
