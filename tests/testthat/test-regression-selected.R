# selected(), and the prior number of relevant slopes.

selected_data <- function() {
  withr::with_seed(1, sim_lm(30, c(3, -2, rep(0, 8))))
}

selected_fit <- function(prior = lm_prior("horseshoe", relevant = 2),
                         draws = 100, ...) {
  quietly(gibbs_lm(
    y ~ ., selected_data(), prior, draws = draws, burnin = 50, chains = 2,
    seed = 1, progress = FALSE, ...
  ))
}

test_that("probabilities and effects are those of the draws", {
  data <- selected_data()
  fit <- selected_fit(lm_prior())
  found <- selected(fit, threshold = 0.3, level = 0.8)
  for (name in c("x1", "x5", "x10")) {
    effect <- as.matrix(fit)[, name] * sd(data[[name]])
    row <- found[found$term == name, ]
    expect_equal(row$effect, mean(effect))
    expect_equal(row$probability, mean(abs(effect) > 0.3))
    expect_equal(
      c(row$lower, row$upper), unname(quantile(effect, c(0.1, 0.9)))
    )
  }
  expect_identical(is.unsorted(-found$probability), FALSE)
  expect_equal(attr(selected(fit), "threshold"), sd(data$y) / 10)
  expect_null(found$shrinkage)
})

test_that("every kind of coefficient has its unit", {
  short <- function(f, ...) {
    quietly(f(..., draws = 20, burnin = 20, chains = 1, seed = 1,
              progress = FALSE))
  }
  fit <- short(gibbs_hlm, weight ~ Time + Diet + (1 | Chick), ChickWeight)
  found <- selected(fit)
  expect_setequal(found$predictor, c("Time", "Diet: 2", "Diet: 3", "Diet: 4"))
  expect_identical(found$per[found$term == "Time"], "sd")
  expect_identical(found$per[found$term == "Diet2"], "level")
  fit <- short(gibbs_categorical, Species ~ Sepal.Width, iris)
  found <- selected(fit)
  expect_setequal(
    found$predictor, c("versicolor, Sepal.Width", "virginica, Sepal.Width")
  )
  expect_equal(
    found$effect[found$predictor == "virginica, Sepal.Width"],
    coef(fit)[["b[virginica,Sepal.Width]"]] * sd(iris$Sepal.Width)
  )
  fit <- short(gibbs_logistic, am ~ wt, mtcars)
  expect_equal(attr(selected(fit), "threshold"), 0.1 * pi / sqrt(3))
})

test_that("the shrinkage of the horseshoe is that of quadrature", {
  data <- selected_data()
  fit <- selected_fit(draws = 30, weights = rep(1:2, 15))
  draws <- as.matrix(fit)
  v <- rep(1:2, 15)
  for (name in c("x1", "x7")) {
    x <- data[[name]]
    s <- sd(x)
    n <- sum(v * (x - weighted.mean(x, v))^2) / s^2
    kappa <- vapply(seq_len(nrow(draws)), function(i) {
      draw <- draws[i, ]
      density <- function(t) {
        dnorm(s * draw[[name]], 0, exp(t) * draw[["tau"]] * draw[["sigma"]]) *
          exp(t) / (1 + exp(2 * t))
      }
      of <- function(f) {
        integrate(f, -30, 30, subdivisions = 1000, rel.tol = 1e-8)$value
      }
      of(function(t) density(t) / (1 + n * draw[["tau"]]^2 * exp(2 * t))) /
        of(density)
    }, 0)
    found <- selected(fit)
    expect_equal(found$shrinkage[found$term == name], mean(kappa),
                 tolerance = 1e-5)
  }
  # at a = 1 the formula has a limit
  expect_equal(
    gibbsite:::mean_shrinkage(1, 0.4), gibbsite:::mean_shrinkage(1.001, 0.4),
    tolerance = 1e-3
  )
  expect_equal(gibbsite:::scaled_e1(2), 0.3613286169, tolerance = 1e-9)
})

test_that("the number of relevant slopes is the scale of the horseshoe", {
  by_number <- selected_fit()
  tau <- 2 / ((10 - 2) * sqrt(30))
  tau_of <- function(fit) gibbsite:::fit_part(fit, "model")$prior$tau
  expect_equal(tau_of(by_number), tau)
  by_tau <- selected_fit(lm_prior("horseshoe", tau = tau))
  expect_identical(as.matrix(by_number), as.matrix(by_tau))
  doubled <- selected_fit(weights = rep(2, 30))
  expect_equal(tau_of(doubled), 2 / ((10 - 2) * sqrt(60)))
  expect_output(
    print(lm_prior("horseshoe", relevant = 2)), "from the data, for 2 relevant"
  )
})

test_that("what is printed and drawn is the table", {
  found <- selected(selected_fit(), threshold = 0.25)
  expect_output(print(found, n = 3), "above 0.25 in size.*x1 .*7 more rows")
  expect_output(print(found), "Effective number of slopes")
  picture <- drawn(plot(found, n = 4))$pictures[[1L]]
  expect_identical(nrow(picture$table), 4L)
  expect_equal(picture$table$centre, found$effect[1:4])
  expect_s3_class(as.data.frame(found), "data.frame", exact = TRUE)
})

test_that("errors say what is wrong", {
  fit <- selected_fit()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    selected()
    selected(1)
    selected(fit, threshold = -1)
    selected(fit, level = 2)
    lm_prior(relevant = 2)
    lm_prior("horseshoe", tau = 1, relevant = 2)
    lm_prior("horseshoe", relevant = 0)
    selected_fit(lm_prior("horseshoe", relevant = 10))
    plot(selected(fit), n = 0)
    plot(selected(fit)[1:2, ])
  })
  expect_gibbsite_error(selected(drop_data(fit)), "gibbsite_error_no_data")
})
