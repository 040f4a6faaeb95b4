# plot() of chains and of other classes: that each is drawn, that odd fits have
# a picture, and that the device is left as it was. What is on pictures is in
# test-picture.R.

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
  skip_long()
  fit <- fake_fit(draws = 50)
  for (type in plot_types) {
    expect_identical(draw(fit, type, variables = "a"), fit)
  }
  draw(fit)
  draw(fit, plot_types, variables = "b")
  draw(fit, "trace", variables = c("a", "b[2]"))
})

test_that("odd fits have a picture", {
  skip_long()
  of_one <- setdiff(plot_types, "ranks")
  draw(fake_fit(draws = 1, chains = 1), of_one)
  draw(fake_fit(draws = 2, chains = 1), of_one)
  draw(fake_fit(draws = 50, chains = 1, burnin = 0), of_one)
  expect_error(
    draw(fake_fit(draws = 50, chains = 1), "ranks"), "compares chains",
    class = "gibbsite_error_argument"
  )
  draw(fake_fit(draws = 2, chains = 2), plot_types)
  draw(
    fake_fit(draws = 20, chains = 30),
    fast_or(c("trace", "ranks"), plot_types)
  )
  draw(fake_fit(values = function(k) cbind(1, NA, rpois(100, 2))), plot_types)
  draw(fake_fit(values = function(k) {
    cbind(k, k + rnorm(100), 1e-200 * rnorm(100))
  }), plot_types)
  draw(
    fake_fit(draws = 6000, chains = 2, columns = 1),
    fast_or("trace", plot_types)
  )
})

test_that("six quantities are drawn by default, with a large R-hat if any", {
  skip_long()
  values <- function(shift) {
    function(k) {
      x <- matrix(rnorm(900), 100)
      x[, c(2, 8)] <- x[, c(2, 8)] + shift * k
      x
    }
  }
  fit <- fake_fit(draws = 100, columns = 9, values = values(3))
  shown <- plotted_draws(fit, NULL, NULL)
  expect_equal(dim(shown)[3], 6)
  expect_true(all(c("x[2]", "x[8]") %in% dimnames(shown)$variable))
  expect_match(attr(shown, "note"), "^6 of 9 quantities: those with the larg")
  # the first, if all chains agree
  long <- array(stats::qnorm(stats::ppoints(4000)), c(1000, 4, 9))
  long[] <- withr::with_seed(1, sample(long))
  expect_identical(dim(plotted_draws(fit, NULL, NULL, 4L))[3], 4L)
  chosen <- default_quantities(long, list(1:4))
  expect_identical(chosen$shown, 1:6)
  expect_match(chosen$note, "the first; of all")
  draw(fit)
})

test_that("R-hat of halves is that of posterior, for all quantities at once", {
  draws <- array(withr::with_seed(1, rnorm(300)), c(25, 4, 3))
  draws[, 2, 3] <- draws[, 2, 3] + 2
  expect_equal(
    split_rhat(draws), apply(draws, 3, posterior::rhat_basic),
    tolerance = 0.02
  )
  even <- draws[1:24, , ]
  expect_equal(split_rhat(even), apply(even, 3, posterior::rhat_basic))
  even[, , 1] <- 4
  even[3, 1, 2] <- Inf
  expect_identical(split_rhat(even)[1:2], c(1, Inf))
})

test_that("what cannot be drawn is an error", {
  skip_long()
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

test_that("a key has all its entries, in rows that fit", {
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  key <- plot_key(paste("component", 1:20), gibbsite_palette(20), lty = 1)
  for (inches in c(2, 5, 100)) {
    rows <- key_rows(key, inches)
    expect_length(rows, 20)
    expect_true(all(diff(rows) %in% 0:1))
    expect_true(all(tapply(key_widths(key), rows, sum) <= inches))
  }
  expect_equal(max(rows), 1)
  # an entry wider than the page has a row of its own
  expect_equal(key_rows(key, 0.01), 1:20)
})

test_that("panels are as square as the page allows", {
  three <- list(layout = "wrap", panels = data.frame(panel = 1:3))
  grids <- lapply(list(c(7, 3), c(6, 6), c(3, 7)), function(size) {
    panel_grid(three, c(width = size[1], height = size[2]))
  })
  expect_equal(grids, list(c(1, 3), c(2, 2), c(3, 1)))
})

test_that("parameters of different scales have axes of their own", {
  skip_long()
  fit <- function(scale) {
    laplace(
      function(x) -sum((x / c(1, scale))^2) / 2, c(a = 1, b = scale), seed = 1
    )
  }
  panels <- function(fit) drawn(plot(fit, type = "coefficients"))$panels
  expect_identical(panels(fit(2)), 1L)
  expect_identical(panels(fit(100)), 2L)
  draw(fit(100), "coefficients")
})

test_that("topics are drawn, many terms and few", {
  skip_long()
  corpus <- withr::with_seed(1, sim_lda(30, k = 2, terms = 60, tokens = 60))
  fit <- gibbs_lda(
    corpus$x, 2, draws = 20, burnin = 20, chains = 1, seed = 1
  ) |> suppressWarnings()
  draw(fit, n = 60)
  draw(fit, n = 3, topics = 2)
  draw(fit, "prevalence")
})

# ---- label switching, co-clustering ------------------------------------------

test_that("labels are drawn in the sampler's numbers and renumbered", {
  skip_long()
  fit <- short_gmm(30, x = datasets::iris[1:4], k = 3, keep = "labels")
  page <- drawn(plot(fit, type = "labels"))$pictures[[1]]
  own <- relabel(fit, "none")
  columns <- paste0("mu[", 1:3, ",1]")
  at <- split(page$table$y, page$table$panel)
  expect_equal(at$own, as.vector(do.call(rbind, own)[, columns]))
  expect_equal(at$renumbered, as.vector(as.matrix(fit)[, columns]))
  numbers <- do.call(rbind, attr(own, "labels"))
  expect_match(page$panels$title[[1]], paste(
    "changed", gibbsite:::count_switches(numbers), "time"
  ))
  skip_if_not_installed("ggplot2")
  expect_identical(ggplot2::autoplot(fit, type = "labels")$data, page$table)
})

test_that("names of the data's variables ask for a picture of the data", {
  skip_long()
  fit <- short_gmm(30, x = datasets::iris[1:4], k = 3)
  two <- c("Petal.Length", "Petal.Width")
  expect_identical(
    drawn(plot(fit, variables = two))$pictures,
    drawn(plot(fit, type = "mixture", variables = two))$pictures
  )
  # those of the fit ask for its chains
  expect_identical(
    drawn(plot(fit, variables = "mu[1,1]"))$pictures,
    drawn(plot(fit, type = c("trace", "density"),
               variables = "mu[1,1]"))$pictures
  )
})

test_that("labels that were not kept are those of the chain's next draws", {
  skip_long()
  fit <- short_gmm(30, x = datasets::iris[1:4], k = 3, thin = 2)
  chains <- attr(fit, "chains")
  seed <- withr::with_seed(1, {
    page <- drawn(plot(fit, type = "labels", variables = 2))$pictures[[1]]
    stats::runif(1)
  })
  expect_identical(seed, withr::with_seed(1, stats::runif(1)))
  expect_identical(attr(fit, "chains"), chains)
  more <- extend(fit, 30, progress = FALSE) |> suppressWarnings()
  after <- do.call(rbind, lapply(more, function(chain) chain[31:60, ]))
  expect_equal(
    page$table$y[page$table$panel == "renumbered"],
    as.vector(after[, paste0("mu[", 1:3, ",2]")])
  )
  expect_match(page$note, "made for this picture")
})

test_that("the mean of an empty component does not flatten the others", {
  fit <- short_gmm(30, k = 3, keep = "labels")
  column <- match("mu[1,1]", colnames(fit[[1]]))
  for (k in seq_along(fit)) fit[[k]][7, column] <- 1e4
  page <- drawn(plot(fit, type = "labels"))$pictures[[1]]
  expect_equal(max(page$table$y), 1e4)
  points <- Filter(function(layer) layer$kind == "point", page$layers)
  expect_lt(max(points[[1]]$data$y), 100)
  expect_match(
    page$note, paste(length(fit), "means outside the axis"), all = FALSE
  )
})

test_that("observations that are together stand together", {
  skip_long()
  fit <- short_gmm(20, k = 2, keep = "z", x = datasets::faithful[1:60, ])
  shared <- coclustering(fit)
  page <- drawn(plot(shared))$pictures[[1]]
  order <- stats::hclust(stats::as.dist(1 - shared), "average")$order
  expect_equal(page$table$share, as.vector(unclass(shared)[order, order]))
  # a square for each pair that was ever together
  expect_identical(
    nrow(page$layers[[1]]$data), sum(page$table$share > 0.005)
  )
  large <- coclustering(short_gmm(5, k = 2, keep = "z"))
  expect_match(
    drawn(plot(large))$pictures[[1]]$note[[2]], "200 of 272 are drawn"
  )
  expect_gibbsite_error({
    plot(structure(list(), class = "gmm_coclustering"))
    plot(shared, 2)
    plot(fit, type = "labels", variables = 1:2)
  })
  skip_if_not_installed("ggplot2")
  expect_identical(ggplot2::autoplot(shared)$data, page$table)
  expect_output(print(shared[1:2, 1:2]), "[1,]", fixed = TRUE)
})

test_that("relabelled draws have the package's picture of chains", {
  skip_long()
  fit <- suppressWarnings(gibbs_gmm(
    faithful, 2, draws = 60, burnin = 20, chains = 2, keep = "labels", seed = 1,
    progress = FALSE
  ))
  own <- relabel(fit, "none")
  page <- drawn(plot(own, "trace", "pi"))$pictures[[1]]
  expect_identical(levels(page$table$variable), c("pi[1]", "pi[2]"))
  one <- page$table[page$table$variable == "pi[2]" & page$table$chain == "2", ]
  expect_identical(one$y, as.vector(own[[2]][, "pi[2]"]))
  expect_identical(one$x, 20 + as.numeric(1:60))
  expect_identical(nrow(drawn(plot(own))$pictures[[1]]$panels), 8L)
  expect_gibbsite_error({
    plot(own, "violin")
    plot(own, variables = "nu")
    plot(own, colour = 2)
    plot(structure(list(), class = c("relabelled_draws", "mcmc.list")))
  })
  skip_if_not_installed("ggplot2")
  expect_identical(ggplot2::autoplot(own, "trace", "pi")$data, page$table)
})

# ---- steps of a chain --------------------------------------------------------

traced <- function(init = c(a = 0, b = 0), ...) {
  suppressWarnings(mh_trace(mh_sample(
    function(x) -sum(x^2) / 2, init, random_walk(2), draws = 30, burnin = 0,
    chains = 2, debug = TRUE, seed = 1, progress = FALSE, ...
  )))
}

test_that("the path of a chain is drawn step by step", {
  skip_long()
  trace <- traced()
  withr::local_pdf(NULL)
  for (steps in fast_or(3, c(1, 2, 17, 30))) {
    expect_silent(shown <- plot(trace, steps = steps, chain = 2))
    expect_identical(shown, trace)
  }
  expect_silent(plot(
    trace, steps = fast_or(4, 30), variables = "b", xlim = c(0, 10)
  ))
  expect_silent(plot(traced(c(a = 0)), steps = fast_or(4, 30)))
  expect_match(
    step_words(trace[[1]], 3), "^Step 3: (accepted|rejected), log ratio "
  )
  # gradients and slices have no ratio
  slices <- suppressWarnings(mh_trace(mh_sample(
    function(x) -sum(x^2) / 2, c(0, 0), univariate_slice(), draws = 10,
    burnin = 0, chains = 1, debug = TRUE, seed = 1, progress = FALSE
  )))
  expect_silent(plot(slices, steps = 2))
  expect_identical(
    step_words(slices[[1]], 10), "Step 10: accepted; accepted so far 100%"
  )
  expect_output(print(trace), "log_ratio")
})

plane_steps <- function(...) {
  suppressWarnings(gibbs_sample(
    list(
      a = function(state) rnorm(1, 0.8 * state$b, 0.6),
      b = function(state) rnorm(1, 0.8 * state$a, 0.6)
    ), list(a = -3, b = 2), draws = 20, chains = 2, seed = 1,
    progress = FALSE, ...
  ))
}
plane_log_density <- function(x) {
  -(x[["a"]]^2 - 1.6 * x[["a"]] * x[["b"]] + x[["b"]]^2) / 0.72
}

test_that("a picture of steps that are not there is an error", {
  skip_long()
  trace <- traced()
  expect_gibbsite_error({
    plot(trace, steps = 0)
    plot(trace, steps = 3000)
    plot(trace, chain = 3)
    plot(trace, variables = "c")
    plot(trace, variables = c("a", "b", "a"))
    plot(trace, xlim = 2:1)
    plot(structure(list(1), class = "mh_trace"))
    plot(trace, frames = 3)
    plot(trace, chain = c(1, 1))
    plot(trace, chain = seq_len(2^31))
    plot(trace, log_density = function(x) stop("it failed"))
    plot(trace, log_density = 1)
    plot(trace, log_density = function(x) c(1, 2))
    plot(trace, variables = "a", log_density = function(x) 0)
    mh_trace(plane_steps(thin = 2))
    mh_trace(plane_steps(keep = "a"))
    mh_trace(list(plane_steps(), short_gmm()))
  })
})

test_that("the path of a Gibbs sampler is a staircase from its start", {
  skip_long()
  fit <- plane_steps(burnin = 0)
  trace <- mh_trace(fit)
  steps <- trace[[2]]
  draws <- as.matrix(fit[[2]])
  expect_identical(steps$a, rep(unname(draws[, "a"]), each = 2))
  expect_identical(steps$b[steps$block == 2], unname(draws[, "b"]))
  expect_identical(
    steps$b[steps$block == 1], c(2, unname(draws[-20, "b"]))
  )
  expect_true(all(steps$accepted & steps$log_ratio == 0))
  page <- drawn(plot(trace, chain = 2, log_density = plane_log_density))
  path <- Filter(function(l) l$kind == "line", page$pictures[[1]]$layers)
  # the target is below the path, which begins at the start
  expect_identical(path[[1]]$data$key[[1]], "target")
  expect_identical(path[[2]]$data$x, c(-3, steps$a))
  expect_identical(path[[2]]$data$y, c(2, steps$b))
  # the contours are those of the density
  on <- path[[1]]$data
  height <- apply(on[c("x", "y")], 1, function(point) {
    plane_log_density(c(a = point[["x"]], b = point[["y"]]))
  })
  near <- vapply(height, function(h) {
    min(abs(h - log(c(0.02, 0.05, 0.1, 0.2, 0.4, 0.7))))
  }, 0)
  expect_lt(max(near), 0.1)
  expect_match(page$pictures[[1]]$title, "block 2 of sweep 20")
})

test_that("steps after burn-in begin at the first draw", {
  fit <- plane_steps(burnin = 5)
  steps <- mh_trace(fit)[[1]]
  expect_identical(range(steps$sweep), c(7, 25))
  expect_identical(unname(attr(steps, "start")), unname(fit[[1]][1, ]))
})

test_that("a block that is moved is accepted if it moved", {
  fit <- suppressWarnings(gibbs_sample(
    list(
      a = mh_step(function(state) -state$a^2 / 2, random_walk(4)),
      b = function(state) rnorm(1)
    ), list(a = 0, b = 0), draws = 50, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  ))
  steps <- mh_trace(fit)[[1]]
  moved <- steps[steps$block == 1, ]
  expect_identical(moved$accepted, diff(c(0, moved$a)) != 0)
  expect_false(all(moved$accepted))
  expect_true(all(is.nan(moved$log_ratio)))
})

test_that("several runs are side by side with their rates and times", {
  skip_unless_extended()
  target <- function(x) -sum(x^2) / 2
  walk <- function(scale) {
    suppressWarnings(mh_sample(
      target, c(a = 0, b = 0), random_walk(scale), draws = 200, burnin = 0,
      thin = 1, chains = 2, inits = list(c(3, 3), c(0, 0)), debug = TRUE,
      seed = 1, progress = FALSE
    ))
  }
  fits <- list(small = walk(0.1), good = walk(1.5), large = walk(30))
  trace <- mh_trace(fits)
  expect_named(trace[c(1, 6)], c("small, chain 1", "large, chain 2"))
  page <- drawn(plot(trace))$pictures[[1]]
  expect_identical(nrow(page$panels), 3L)
  rates <- vapply(fits, function(fit) acceptance(fit)$rate[[1]], 0)
  for (i in 1:3) {
    expect_match(page$panels$title[[i]], paste0(
      format(100 * rates[[i]], digits = 2),
      "% accepted, autocorrelation time [0-9]+"
    ))
  }
  good <- as.matrix(fits$good[[1]])[, c("a", "b")]
  time <- as.numeric(sub(".*time ", "", page$panels$title[[2]]))
  expect_equal(
    time, signif(200 / min(apply(good, 2, mean_ess)), 2), tolerance = 0.02
  )
  # the path begins at the start that was given
  first <- page$table[page$table$panel == "small, chain 1", ]
  expect_identical(unlist(first[1, c("x", "y")], use.names = FALSE), c(3, 3))
  expect_identical(n_panels(drawn(plot(trace, chain = 1:6))$pictures[[1]]), 6L)
  skip_if_not_installed("ggplot2")
  shown <- ggplot2::autoplot(trace)
  expect_identical(shown$data, page$table)
  expect_no_error(ggplot2::ggplot_build(shown))
})
