# ggplot2::autoplot(): its data are the numbers of summary() and of plot().

skip_if_not_installed("ggplot2", "3.4.0")

layers <- function(picture) {
  # building fails where a layer lacks what it draws
  expect_s3_class(picture, "ggplot")
  ggplot2::ggplot_build(picture)$data
}

# Besides the first of a test.
expect_built <- function(picture) if (is_extended()) layers(picture)

mixture <- gibbs_gmm(
  faithful, 2, draws = 100, burnin = 50, chains = 2, seed = 1
) |> suppressWarnings()

test_that("every type of chains has the numbers of plot()", {
  skip_long()
  fit <- fake_fit(draws = 50, chains = 3)
  draws <- plotted_draws(fit, NULL, NULL)
  for (type in plot_types) {
    picture <- ggplot2::autoplot(fit, type)
    if (type == plot_types[[1]] || is_extended()) layers(picture)
    table <- picture$data
    expect_identical(levels(table$variable), dimnames(draws)$variable)
    expect_identical(levels(table$chain), c("1", "2", "3"))
    one <- table[table$variable == "b[1]" & table$chain == "2", ]
    values <- draws[, , "b[1]"]
    expected <- switch(type,
      trace = list(100 + 1:50, values[, 2]),
      # reflected at the ends of all draws, which leaves its integral
      density = {
        width <- stats::bw.nrd0(values)
        x <- seq(min(values), max(values), length.out = 512)
        kernel <- function(at) {
          rowMeans(outer(at, values[, 2], stats::dnorm, sd = width))
        }
        y <- kernel(x) + kernel(2 * min(values) - x) +
          kernel(2 * max(values) - x)
        expect_equal(mean(y) * diff(range(x)), 1, tolerance = 0.01)
        list(x, y)
      },
      autocorrelation = list(0:40, stats::acf(
        values[, 2], lag.max = 40, plot = FALSE
      )$acf[, 1, 1]),
      ranks = {
        count <- hist(
          rank(values)[51:100], seq(0.5, 150.5, length.out = 11), right = FALSE,
          plot = FALSE
        )$counts / 5
        list(seq(0, 150, length.out = 11), c(count, count[10]))
      }
    )
    expect_equal(one$x, expected[[1]], ignore_attr = TRUE)
    expect_equal(
      one$y, expected[[2]], ignore_attr = TRUE,
      tolerance = if (type == "density") 1e-3 else 1e-8
    )
  }
  # the default is that of plot()
  expect_identical(ggplot2::autoplot(fit)$labels$x, "sweep | value")
})

test_that("few whole values have bars, and constant quantities say so", {
  skip_long()
  fit <- fake_fit(values = function(k) cbind(1, rpois(100, 2), rnorm(100)))
  picture <- ggplot2::autoplot(fit, "density")
  expect_identical(levels(picture$data$variable), c("a", "b[1]", "b[2]"))
  bars <- picture$data[picture$data$discrete, ]
  expect_identical(as.character(unique(bars$variable)), "b[1]")
  expect_equal(as.vector(tapply(bars$y, bars$chain, sum)), rep(1, 4))
  labels <- function(picture) {
    unlist(lapply(layers(picture), `[[`, "label"))
  }
  expect_identical(labels(picture), "constant at 1")
  still <- fake_fit(values = function(k) matrix(1, 10, 3))
  expect_identical(
    labels(ggplot2::autoplot(still)), rep("constant at 1", 6)
  )
  expect_gibbsite_error({
    ggplot2::autoplot(fit, "pie")
    ggplot2::autoplot(fit, variables = "y")
    ggplot2::autoplot(fit, colour = 1)
    ggplot2::autoplot(fake_fit(columns = 40), variables = "x")
  })
})

test_that("mixtures have the means of summary() and the density of predict()", {
  skip_long()
  picture <- ggplot2::autoplot(mixture)
  result <- summary(mixture, variables = "mu")
  mean <- result$mean[match(
    c("mu[1,1]", "mu[2,1]", "mu[1,2]", "mu[2,2]"), result$variable
  )]
  expect_true(any(vapply(layers(picture), function(data) {
    isTRUE(all.equal(c(data$x, data$y), mean))
  }, NA)))
  expect_identical(picture$data$x, faithful$eruptions)
  cluster <- as.integer(picture$data$component)
  expect_identical(cluster, as.integer(predict(mixture)))

  line <- ggplot2::autoplot(mixture, "mixture", variables = "waiting")
  shown <- gibbsite:::density_shown(mixture, 2, 0.95)
  expect_equal(line$data$mean, shown$band$mean)
  expect_equal(line$data$upper, shown$band$upper)
  layers(line)
  single <- gibbs_gmm(
    faithful$waiting, 2, draws = 100, burnin = 50, chains = 1, seed = 1
  ) |> suppressWarnings()
  picture <- ggplot2::autoplot(single)
  at <- picture$data$x[c(50, 200)]
  expect_identical(picture$labels$x, "waiting")
  expect_equal(
    picture$data$mean[c(50, 200)],
    predict(single, matrix(at), type = "density")$mean
  )
  several <- ggplot2::autoplot(gibbs_gmm(
    iris[1:3], 2, draws = 20, burnin = 20, chains = 1, seed = 1
  ) |> suppressWarnings())
  expect_built(several)
  expect_identical(nrow(several$data), 150L * 6L)
  expect_error(ggplot2::autoplot(drop_data(mixture), "mixture"),
               class = "gibbsite_error")
})

test_that("an unknown k has the numbers of plot() and of predict()", {
  skip_long()
  of <- function(x) {
    quietly(gibbs_gmm(
      x, "unknown", draws = 40, burnin = 20, chains = 2, seed = 1,
      keep = c("components", "z"), progress = FALSE
    ))
  }
  fit <- of(iris[1:3])
  picture <- ggplot2::autoplot(fit)
  drawn <- layers(picture)
  table <- gibbsite:::size_table(fit)[seq_len(nrow(picture$data)), ]
  expect_equal(picture$data, table, ignore_attr = TRUE)
  expect_equal(drawn[[1]]$ymax, table$components)
  expect_equal(drawn[[2]]$ymax, table$clusters)

  pairs <- ggplot2::autoplot(fit, "mixture")
  expect_built(pairs)
  cluster <- as.integer(predict(fit))
  expect_identical(as.integer(pairs$data$cluster), rep(cluster, 6))
  plane <- ggplot2::autoplot(fit, "mixture", variables = c(3, 1))
  expect_equal(plane$data$x, iris[[3]])
  expect_identical(as.integer(plane$data$cluster), cluster)
  expect_identical(plane$labels$y, "Sepal.Length")

  single <- of(faithful["waiting"])
  picture <- ggplot2::autoplot(single, "mixture", level = 0.5)
  expect_built(picture)
  at <- picture$data$x[c(50, 200)]
  expect_equal(
    picture$data[c(50, 200), -1],
    predict(single, matrix(at), "density", 0.5)[c("mean", "lower", "upper")],
    ignore_attr = TRUE
  )
  expect_gibbsite_error({
    ggplot2::autoplot(fit, "pie")
    ggplot2::autoplot(fit, "number", variables = 1)
    ggplot2::autoplot(fit, "mixture", variables = 4)
  })
})

test_that("topics have the numbers of top_terms()", {
  skip_long()
  corpus <- withr::with_seed(1, sim_lda(50, k = 4, terms = 40, tokens = 60))
  fit <- gibbs_lda(
    corpus$x, 4, draws = 50, burnin = 50, chains = 2, seed = 1
  ) |> suppressWarnings()
  terms <- as.data.frame(top_terms(fit, n = 5))
  picture <- ggplot2::autoplot(fit, n = 5)
  layers(picture)
  expect_equal(picture$data$probability, terms$probability)
  expect_identical(picture$data$term, terms$term)
  some <- ggplot2::autoplot(fit, topics = c(3, 1), n = 5)
  expect_setequal(some$data$topic, c(1, 3))
  # the panels are in the order asked for
  expect_match(levels(some$data$title), "^Topic [31] ")
  expect_match(levels(some$data$title)[1], "^Topic 3 ")
  picture <- ggplot2::autoplot(fit, "prevalence")
  expect_built(picture)
  share <- terms$share[!duplicated(terms$topic)]
  expect_equal(picture$data$share, sort(share, decreasing = TRUE))
  expect_true(all(picture$data$lower <= picture$data$upper))
  picture <- ggplot2::autoplot(fit, "map")
  expect_built(picture)
  # two coordinates of four points cannot exceed the distances
  phi <- topic_estimates(fit)$phi
  apart <- sqrt(outer(1:4, 1:4, Vectorize(function(i, j) {
    sum((sqrt(phi[i, ]) - sqrt(phi[j, ]))^2) / 2
  })))
  placed <- as.matrix(stats::dist(picture$data[c("x", "y")]))
  expect_true(all(placed <= apart + 1e-8))
  expect_error(ggplot2::autoplot(fit, topics = 9), class = "gibbsite_error")
  twice <- matrix(c(1, 2, 2, 1), 2)
  expect_error(ggplot2::autoplot(fit, topics = twice), class = "gibbsite_error")
})

test_that("factorisations have the errors of held_out()", {
  skip_long()
  made <- withr::with_seed(1, sim_bmf(30, 20, rank = 1, share = 0.5))
  fit <- gibbs_bmf(
    made[-(1:40), ], rank = 1, predict_at = made[1:40, ], draws = 50,
    burnin = 50, chains = 2, seed = 1
  ) |> suppressWarnings()
  picture <- ggplot2::autoplot(fit, "rmse")
  drawn <- layers(picture)
  expect_equal(picture$data$error, as.vector(draws_of(fit, "rmse")))
  # the mean over all kept draws is the last of the means so far
  expect_equal(utils::tail(drawn[[2]]$y, 1), held_out(fit)$rmse[[1]])
  picture <- ggplot2::autoplot(fit)
  expect_built(picture)
  expect_equal(picture$data$mean, predict(fit, made[1:40, ])$mean)
  picture <- ggplot2::autoplot(fit, "coverage")
  expect_built(picture)
  inside <- predict(fit, made[1:40, ], interval = "prediction", level = 0.5)
  covered <- mean(
    made$value[1:40] >= inside$lower & made$value[1:40] <= inside$upper
  )
  expect_equal(picture$data$inside[10], covered)
})

test_that("regressions have the numbers of their methods", {
  skip_long()
  fit <- gibbs_lm(
    mpg ~ wt + am, mtcars, draws = 100, chains = 2, seed = 1
  ) |> suppressWarnings()
  picture <- ggplot2::autoplot(fit, level = 0.8)
  expect_built(picture)
  unit <- c(stats::sd(mtcars$wt), 1)
  expect_equal(picture$data$centre, unname(coef(fit)[-1]) * unit)
  ends <- unname(confint(fit, level = 0.8)[-1, ]) * unit
  expect_equal(cbind(picture$data$lower, picture$data$upper), ends)
  picture <- ggplot2::autoplot(fit, "response", variable = "wt")
  expect_built(picture)
  row <- data.frame(wt = picture$data$x[10], am = stats::median(mtcars$am))
  expect_equal(picture$data$mean[10], unname(predict(fit, row)))
  expect_built(ggplot2::autoplot(fit, "trace"))
  expect_error(ggplot2::autoplot(fit, "trace", variable = "wt"),
               class = "gibbsite_error")

  feeds <- gibbs_lm(
    weight ~ feed, chickwts, draws = 100, chains = 1, seed = 1
  ) |> suppressWarnings()
  picture <- ggplot2::autoplot(feeds, "response")
  drawn <- layers(picture)
  expect_equal(
    picture$data$mean,
    unname(predict(feeds, data.frame(feed = levels(chickwts$feed))))
  )
  expect_equal(drawn[[1]]$y, chickwts$weight)

  groups <- gibbs_hlm(
    weight ~ Time + (1 | Chick), ChickWeight, draws = 100, chains = 2, seed = 1
  ) |> suppressWarnings()
  picture <- ggplot2::autoplot(groups)
  expect_built(picture)
  means <- coef(groups)$Chick
  expect_equal(
    picture$data$centre, means[picture$data$name, "(Intercept)"]
  )
  expect_false(is.unsorted(-stats::na.omit(picture$data$centre)))
  picture <- ggplot2::autoplot(groups, "coefficients")
  expect_built(picture)
  expect_equal(
    picture$data$centre,
    nlme::fixef(groups)[["Time"]] * stats::sd(ChickWeight$Time)
  )
})

test_that("logistic regressions and Laplace approximations too", {
  skip_long()
  fit <- laplace_logistic(am ~ wt + qsec, mtcars, seed = 1)
  unit <- c(stats::sd(mtcars$wt), stats::sd(mtcars$qsec))
  picture <- ggplot2::autoplot(fit)
  expect_built(picture)
  expect_equal(picture$data$centre, unname(coef(fit)[-1]) * unit)
  picture <- ggplot2::autoplot(fit, "response", variable = "wt")
  expect_built(picture)
  row <- data.frame(wt = picture$data$x[10], qsec = mean(mtcars$qsec))
  expect_equal(
    picture$data$mean[10], unname(predict(fit, row, type = "response"))
  )
  picture <- ggplot2::autoplot(fit, "calibration", groups = 4)
  expect_built(picture)
  table <- picture$data
  expect_equal(sum(table$observed * table$trials), sum(mtcars$am))

  counts <- laplace_logistic(
    cbind(ncases, ncontrols) ~ as.numeric(agegp), esoph, seed = 1
  )
  expect_built(ggplot2::autoplot(counts, "response"))

  scales <- laplace(
    function(x) -sum(((x - c(0.01, 500)) / c(0.002, 90))^2) / 2,
    c(small = 0, large = 400), seed = 1
  )
  picture <- ggplot2::autoplot(scales, "coefficients")
  # a panel for each, because the scales differ
  expect_identical(nlevels(layers(picture)[[1]]$PANEL), 2L)
  expect_equal(picture$data$centre, unname(coef(scales)))
})

test_that("panels of a stack are as high as in plot(), and keys have rows", {
  skip_long()
  fit <- suppressWarnings(gibbs_lm(
    mpg ~ wt + hp + factor(cyl), mtcars[1:20, ], draws = 50, burnin = 20,
    chains = 1, seed = 1
  ))
  picture <- ggplot2::autoplot(fit, per = "unit")
  table <- ggplot2::ggplotGrob(picture)
  rows <- table$layout$t[startsWith(table$layout$name, "panel")]
  sizes <- as.numeric(table$heights[sort(rows)])
  expect_identical(sizes, c(1, 1, 2))
  rows_of_key <- function(labels) {
    guide <- ggplot_key(plot_key(labels, pch = 1))[[4]]$guide
    # in params since ggplot2 3.5
    guide$nrow %||% guide$params$nrow
  }
  expect_equal(rows_of_key(c("a", "b")), 1)
  expect_equal(rows_of_key(paste("in the data, chain", 1:5)), 2)
})

test_that("plot() and autoplot() of results draw the same picture", {
  skip_long()
  fit <- short_fit(quote(gibbs_lm))(mpg ~ wt + hp, datasets::mtcars)
  other <- quietly(update(fit, seed = 2))
  selected_by <- quietly(gibbs_lm(
    mpg ~ wt + hp, datasets::mtcars, prior = lm_prior("horseshoe"),
    draws = 50, burnin = 50, chains = 2, seed = 1, progress = FALSE
  ))
  chain <- quietly(mh_sample(
    function(x) sum(stats::dnorm(x, log = TRUE)), c(a = 0, b = 0),
    draws = 50, burnin = 50, chains = 2, seed = 1, progress = FALSE
  ))
  results <- list(
    compare(a = fit, b = other),
    suppressWarnings(compare_k(list(
      short_gmm(draws = 40, k = 1), short_gmm(draws = 40, k = 2)
    ))),
    predict(chain, function(x) x[[1]] + x[[2]] * 1:5, interval = "mean"),
    monte_carlo(cbind(u = 1:9, v = 2:10)),
    quietly(selected(selected_by)),
    gibbs_gmm(datasets::faithful, 2, method = "icm", seed = 1)
  )
  if (is_extended()) {
    model <- short_fit(quote(gibbs_lm))(
      mpg ~ wt, datasets::mtcars[1:8, ], lm_prior(
        "nig", noise_shape = 3, noise_rate = 3, intercept_mean = 20,
        intercept_sd = 1
      ), draws = 20
    )
    results <- c(results, list(
      suppressWarnings(sbc(model, n = 20, seed = 1, progress = FALSE)),
      geweke_joint(model, n = 10, chains = 2, seed = 1, progress = FALSE)
    ))
  }
  for (x in results) {
    made <- with_function("draw_ggplot", identity, ggplot2::autoplot(x))
    drawn <- NULL
    with_function(
      "draw_base", function(picture, ...) drawn <<- picture, plot(x)
    )
    expect_equal(drawn, made)
    page <- ggplot2::ggplot_build(ggplot2::autoplot(x))
    expect_gt(nrow(page$data[[1]]), 0)
    if (inherits(x, "monte_carlo") || is_extended()) {
      expect_error(ggplot2::autoplot(x, odd = 1), class = "gibbsite_error")
    }
  }
  # errors name the argument of the function that was called
  expect_error(plot(structure(list(), class = "monte_carlo")), "`x`")
  expect_error(
    ggplot2::autoplot(structure(list(), class = "monte_carlo")), "`object`"
  )
})
