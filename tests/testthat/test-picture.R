# What is on pictures: the same table by plot() and autoplot(), keys on pages of
# any size, what is left out and what goes on.

few_draws <- function(f, ...) {
  quietly(f(..., draws = 40, burnin = 40, chains = 2, seed = 1,
            progress = FALSE))
}
cars <- transform(mtcars, cyl = factor(cyl))
line <- few_draws(gibbs_lm, mpg ~ wt + hp + cyl, cars)
logit <- laplace_logistic(am ~ wt + cyl, cars, seed = 1)
mixture <- few_draws(gibbs_gmm, faithful, 2)
chicks <- few_draws(
  gibbs_hlm, weight ~ Time + (Time | Chick), datasets::ChickWeight
)

picture_of <- function(...) drawn(plot(...))$pictures[[1]]
layer_of <- function(picture, key, kind = NULL) {
  rows <- lapply(picture$layers, function(layer) {
    if (is.null(kind) || layer$kind == kind) {
      layer$data[layer$data$key == key, ]
    }
  })
  rows <- Filter(function(data) NROW(data) > 0, rows)
  if (length(rows) > 0) rows[[1]]
}

test_that("plot() and autoplot() draw one table, in every class and type", {
  skip_long()
  skip_if_not_installed("ggplot2", "3.4.0")
  types <- list(
    list(line, "coefficients", "response", "trace"),
    list(logit, "calibration", "coefficients", "odds", "response", "density"),
    list(mixture, "mixture", c("trace", "density"), "ranks"),
    list(chicks, "shrinkage", "groups", "coefficients", "response")
  )
  # test-autoplot.R has those of all classes in the fast suite
  if (is_extended()) {
    topics <- few_draws(
      gibbs_lda, withr::with_seed(1, sim_lda(30, 3, 30, 40)$x), 3
    )
    made <- withr::with_seed(1, sim_bmf(20, 15, rank = 1, share = 0.5))
    ratings <- few_draws(
      gibbs_bmf, made[-(1:20), ], rank = 1, predict_at = made[1:20, ]
    )
    free <- few_draws(
      gibbs_gmm, faithful, "unknown", keep = c("components", "z")
    )
    normal <- laplace(function(x) -sum(x^2) / 2, c(a = 0, b = 0), seed = 1)
    types <- c(types, list(
      list(topics, "terms", "prevalence", "map", "autocorrelation"),
      list(ratings, "predicted", "coverage", "rmse"),
      list(free, "number", "mixture"), list(normal, "density", "coefficients")
    ))
  }
  for (one in types) {
    fit <- one[[1]]
    # the default is one of the types
    for (type in fast_or(one[2], c(list(NULL), one[-1]))) {
      base <- picture_of(fit, type = type)
      auto <- ggplot2::autoplot(fit, type = type)
      expect_identical(auto$data, base$table, info = paste(class(fit)[1], type))
      expect_s3_class(ggplot2::ggplot_build(auto)$plot, "ggplot")
      # every part has its look in the key
      keys <- unlist(lapply(base$layers, function(layer) layer$data$key))
      expect_true(all(keys %in% base$key$label))
      expect_true(all(shown_key(base$key)$label %in% auto$scales$get_scales(
        "colour"
      )$breaks))
    }
  }
})

test_that("a page that is drawn again at another size is as if drawn at once", {
  skip_long()
  pictures <- list(
    quote(plot(mixture)), quote(plot(mixture, type = "trace")),
    quote(plot(line)), quote(plot(chicks)),
    quote(plot(mixture, "mixture", variables = 1)),
    quote(plot(markov_chain(matrix(0.5, 2, 2), c("a", "b")))),
    quote({
      graphics::par(mfrow = c(1, 2))
      plot(line, type = "response", variable = "wt")
      plot(logit, type = "calibration")
    })
  )
  for (code in pictures[fast_or(c(1, 3, 7), seq_along(pictures))]) {
    for (size in fast_or(list(c(4, 3)), list(c(4, 3), c(11, 5)))) {
      again <- page_lines(replayed(eval(code), size[1], size[2]))
      expect_gt(length(again), 10)
      once <- page_lines(drawn_at(eval(code), size[1], size[2]))
      expect_identical(again, once)
    }
  }
})

test_that("a key is below the title of the axis on every page", {
  heights <- function(path, word) {
    lines <- readLines(path, warn = FALSE)
    lines <- lines[validEnc(lines)]
    found <- grep(paste0("(", word, ") Tj"), lines, fixed = TRUE, value = TRUE)
    as.double(sub(".* ([-0-9.]+) Tm .*", "\\1", found))
  }
  for (size in list(c(3.2, 3), c(6, 4), c(12, 9))) {
    path <- replayed(
      plot(line, type = "response", variable = "wt"), size[1], size[2]
    )
    expect_length(heights(path, "wt"), 1)
    expect_gt(heights(path, "wt"), heights(path, "cyl = 8") + 8)
    expect_gt(heights(path, "cyl = 8"), 0)
  }
})

test_that("the parts of a mixture are never above the whole and add up to it", {
  skip_long()
  galaxies <- c(faithful$waiting, 20, 130)
  fit <- few_draws(gibbs_gmm, galaxies, 3)
  shown <- density_shown(fit, 1, 0.95)
  expect_equal(rowSums(shown$parts), shown$band$mean)
  expect_true(all(shown$parts <= shown$band$mean + 1e-12))
  # colours are from left to right
  expect_identical(
    shown$p$colours[order(shown$p$mu[, 1])], gibbsite_palette(3)
  )
  # ticks are paler where the component is less certain
  ticks <- layer_of(picture_of(fit), component_words(shown$p)[1], "rug")
  expect_gt(diff(range(ticks$alpha)), 0.05)
})

test_that("each level has a curve, and only its own observations", {
  bud <- data.frame(
    dose = rep(0:5, 2), sex = rep(c("male", "female"), each = 6),
    dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
  )
  fit <- laplace_logistic(cbind(dead, 20 - dead) ~ dose + sex, bud, seed = 1)
  picture <- picture_of(fit, type = "response", variable = "dose")
  expect_identical(levels(picture$table$by), c("female", "male"))
  one <- picture$table[picture$table$by == "male", ]
  expect_equal(
    one$mean[c(1, 81)], unname(predict(
      fit, data.frame(dose = c(0, 5), sex = "male"), type = "response"
    ))
  )
  points <- layer_of(picture, "points sex = male", "point")
  expect_equal(points$y, bud$dead[1:6] / 20)
  expect_identical(picture$y$title, "probability of dead")
  # a second factor stays at one level, whose observations are drawn
  two <- data.frame(
    y = rep(0:1, 20), x = seq(0, 1, length.out = 40), a = gl(2, 10, 40),
    b = gl(2, 20, 40, labels = c("p", "q"))
  )
  two$y[two$a == 1] <- rep(c(0, 0, 1, 0), 5)
  shown <- response_shown(
    laplace_logistic(y ~ x + a + b, two, seed = 1), "x", 0.95, NULL
  )
  other <- setdiff(c("a", "b"), shown$grid$by)
  here <- two[[other]] == shown$grid$typical[[other]]
  expect_identical(shown$points$x, two$x[here])
  expect_true(any(grepl("20 of 40 observations drawn", shown$note)))
})

test_that("points of a linear regression are partial residuals of the curve", {
  fit <- few_draws(gibbs_lm, mpg ~ wt + hp, mtcars)
  shown <- response_shown(fit, "wt", 0.95, NULL)
  w <- coef(fit)
  residual <- mtcars$mpg - drop(cbind(1, mtcars$wt, mtcars$hp) %*% w)
  curve <- w[[1]] + w[[2]] * mtcars$wt + w[[3]] * mean(mtcars$hp)
  expect_equal(shown$points$y, unname(curve + residual))
  expect_identical(observed_words(shown), "partial residual")
  # nothing is moved where there is no other variable
  alone <- response_shown(
    few_draws(gibbs_lm, mpg ~ wt, mtcars), "wt", 0.95, NULL
  )
  expect_identical(alone$points$y, mtcars$mpg)
  # with a factor the points of a level are around its curve
  by <- response_shown(line, "wt", 0.95, NULL)
  expect_identical(by$grid$by, "cyl")
  expect_identical(as.character(by$points$by), as.character(cars$cyl))
  expect_null(by$table$new_lower)
})

test_that("one interval that goes far does not squeeze the others", {
  set.seed(1)
  data <- data.frame(
    y = c(rep(0:1, 20), rep(1, 8)), g = gl(6, 8, labels = letters[1:6]),
    x = stats::rnorm(48)
  )
  fit <- laplace_logistic(
    y ~ x + g, data, prior = logistic_prior(1e6), seed = 1
  )
  for (type in c("coefficients", "odds")) {
    picture <- picture_of(fit, type = type)
    far <- picture$table[picture$table$name == "g: f", ]
    wide <- layer_of(picture, "95% interval", "segment")
    cut <- wide[wide$y == far$at, ]
    expect_lt(cut$xend, far$upper)
    arrows <- Filter(function(layer) layer$kind == "arrow", picture$layers)
    expect_true(all(arrows[[1]]$data$y == far$at))
    expect_match(picture$note, "Arrows: intervals that go on (g: f from",
                 fixed = TRUE, all = FALSE)
    others <- wide[wide$panel == far$panel & wide$y != far$at, ]
    scale <- if (type == "odds") log else identity
    span <- function(x) diff(range(scale(x)))
    rest <- span(c(others$x, others$xend))
    expect_gt(rest, span(c(wide$x, wide$xend)[rep(
      wide$panel == far$panel, 2
    )]) / 3)
  }
  ends <- cbind(c(-1, -2, 0), c(1, 0, 2))
  expect_identical(squeezing(ends, 0), integer())
  expect_identical(squeezing(rbind(ends, c(100, 400)), 0), 4L)
})

test_that("an axis has one scale, and names are words", {
  skip_long()
  data <- withr::with_seed(1, data.frame(
    weight = stats::rnorm(40), age = stats::runif(40, 20, 40),
    race = gl(2, 20, labels = c("white", "black"))
  ))
  data$old <- data$age > 30
  fit <- few_draws(gibbs_lm, weight ~ age * race + old, data)
  picture <- picture_of(fit)
  expect_identical(
    levels(picture$table$panel),
    c("per standard deviation", "against the reference level")
  )
  expect_setequal(
    picture$table$name, c("age", "race: black", "old: TRUE",
                          "age * race: black")
  )
  expect_identical(
    as.character(picture$table$panel[picture$table$name == "race: black"]),
    "against the reference level"
  )
  expect_true("posterior mean" %in% shown_key(picture$key)$label)
  # in raw units no interval is a dot
  raw <- picture_of(
    few_draws(gibbs_lm, mpg ~ wt + disp, mtcars), per = "unit"
  )
  expect_identical(nlevels(raw$table$panel), 2L)
  expect_true(raw$x$free)
  raw <- picture_of(
    few_draws(gibbs_lm, mpg ~ wt + factor(cyl) + disp, mtcars), per = "unit"
  )
  expect_identical(levels(raw$table$panel), c(
    "wt, per unit", "disp, per unit", "against the reference level"
  ))
})

test_that("labels of ticks are read at once, and have room", {
  skip_long()
  expect_identical(tick_labels(c(0, 2e-4)), c("0.0000", "0.0002"))
  expect_identical(tick_labels(c(0, 1e5)), c("     0", "100000"))
  pairs <- picture_of(few_draws(gibbs_gmm, iris[1:4], 2))
  for (j in 1:4) {
    expect_lte(heights_shown(pairs)[[j]][[1]], min(iris[[j]]))
  }
})

test_that("of many the largest are drawn, and the picture says so", {
  skip_long()
  x <- withr::with_seed(1, matrix(stats::rnorm(200 * 60), 200))
  colnames(x) <- paste0("v", 1:60)
  fit <- few_draws(gibbs_lm, y ~ ., data.frame(y = x[, 7] + x[, 9], x))
  picture <- picture_of(fit)
  expect_identical(nrow(picture$table), 40L)
  estimate <- coefficient_estimates(fit)
  size <- abs(estimate$mean / estimate$sd)[-1]
  expect_setequal(
    picture$table$name, names(sort(size, decreasing = TRUE))[1:40]
  )
  expect_match(picture$note, "^40 of 60 coefficients", all = FALSE)
  sd <- apply(x, 2, stats::sd)
  rest <- setdiff(colnames(x), picture$table$name)
  ends <- trimws(format(range((estimate$mean[rest] * sd[rest])), digits = 2))
  expect_match(
    picture$note, paste("others:", ends[1], "to", ends[2]), fixed = TRUE,
    all = FALSE
  )
  # all that are named
  named <- picture_of(fit, "coefficients", variables = colnames(x))
  expect_identical(nrow(named$table), 60L)

  groups <- picture_of(chicks, term = "Time")
  # and a row for the others, where they would stand
  expect_identical(nrow(groups$table), 41L)
  gap <- match("... 10 others ...", groups$table$name)
  above <- groups$table$centre > groups$table$line
  expect_identical(above, ifelse(seq_len(41) == gap, NA, seq_len(41) < gap))
  expect_match(groups$note, "^40 of 50 groups: those furthest from the line")
  expect_identical(groups$y$title, "Chick")
  # all terms by default, a panel each
  expect_identical(
    levels(picture_of(chicks)$table$panel),
    c("intercept by Chick", "slope of Time by Chick")
  )
})

test_that("topics stand in the order of their shares, the largest first", {
  skip_long()
  x <- withr::with_seed(1, sim_lda(60, k = 14, terms = 60, tokens = 60)$x)
  fit <- few_draws(gibbs_lda, x, 14)
  share <- topic_estimates(fit)$share
  picture <- picture_of(fit, type = "prevalence")
  expect_identical(picture$table$topic, order(-share))
  expect_identical(picture$table$at, 14:1)
  expect_equal(layer_of(picture, "posterior mean")$x[order(-picture$table$at)],
               sort(share, decreasing = TRUE), ignore_attr = TRUE)
  terms <- picture_of(fit, type = "terms")
  expect_setequal(unique(terms$table$topic), order(-share)[1:12])
  expect_match(terms$note, "^12 of 14 topics; shares of the others: ")
  map <- picture_of(fit, type = "map")
  labels <- Filter(function(layer) layer$kind == "text", map$layers)
  expect_match(labels[[1]]$data$label[[3]], "^3 [a-z0-9]+ [a-z0-9]+")
})

test_that("words have the colours of text", {
  for (picture in list(picture_of(mixture), picture_of(line))) {
    text <- Filter(function(layer) layer$kind == "text", picture$layers)
    keys <- unlist(lapply(text, function(layer) layer$data$key))
    colours <- picture$key$col[picture$key$label %in% keys]
    expect_false(any(colours %in% gibbsite_palette(8)[1:6]))
  }
})

test_that("ratings in the data are called so, and no title counts in part", {
  made <- withr::with_seed(1, sim_bmf(20, 15, rank = 1, share = 0.5))
  fit <- few_draws(gibbs_bmf, made, rank = 1)
  coverage <- picture_of(fit, type = "coverage")
  expect_match(coverage$note, "looks better than it is")
  expect_null(coverage$title)
  expect_identical(drawn(plot(fit))$panels, 1L)
  expect_error(plot(fit, type = c("rmse", "coverage")),
               class = "gibbsite_error_argument")
})

test_that("points of weight 0 have no bins, far ones do not make the axis", {
  x <- c(stats::qnorm(stats::ppoints(2000)), 1e4)
  z <- empirical_distribution(x, c(rep(1, 2000), 0))
  bars <- picture_of(z)$table
  expect_lt(max(bars$xmax), 5)
  expect_equal(sum(bars$ymax * (bars$xmax - bars$xmin)), 1)
  far <- empirical_distribution(c(x[-2001], 60, -60))
  expect_lt(max(abs(picture_of(far, "cdf")$table$x)), 5)
  # 272 values have more than a handful
  bars <- picture_of(empirical_distribution(faithful$waiting))$table
  expect_gt(nrow(bars), 10)
})

test_that("a value far below does not flatten the comparison of numbers", {
  skip_unless_extended()
  fits <- lapply(1:3, function(k) {
    quietly(gibbs_gmm(
      faithful, k, draws = 100, burnin = 50, chains = 2, seed = 1,
      progress = FALSE
    ))
  })
  table <- suppressWarnings(do.call(compare_k, fits))
  picture <- picture_of(table)
  first <- picture$table[picture$table$panel == "log_evidence", ]
  expect_identical(first$x[first$cut], 1L)
  expect_match(picture$note, "Arrows: values beyond the axis", fixed = TRUE)
  # the number stands at the arrow
  said <- unlist(lapply(picture$layers, function(layer) layer$data$label))
  expect_true(any(startsWith(trimws(said), "-13")))
  expect_true("best" %in% shown_key(picture$key)$label)
})

test_that("a long chain is drawn by its shown draws, and measured once", {
  skip_long()
  fit <- fake_fit(draws = 3000, chains = 2, columns = 30)
  table <- picture_of(fit, "trace")$table
  expect_lte(max(table(table$variable, table$chain)), 2000)
  expect_identical(nlevels(table$variable), 6L)
  # only what is drawn
  last <- measured$tables[[1]]
  expect_identical(last$variable, levels(table$variable))
  expect_false(anyNA(last$rhat))
})
