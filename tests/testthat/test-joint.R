# sbc(), geweke_joint() and prior_predict().

proper_line <- lm_prior(noise_shape = 3, noise_rate = 600)

line_call <- function(check, ...) {
  check(
    gibbs_lm(dist ~ speed, datasets::cars, proper_line, burnin = 30), ...,
    seed = 1, progress = FALSE
  )
}

# A check that several tests look at, made once.
line_ranks <- local({
  made <- NULL
  function() {
    if (is.null(made)) made <<- line_call(sbc, n = 40, draws = 9, thin = 2)
    made
  }
})

prior_of <- function(..., progress) prior_predict(...)

normal_target <- function(mu, y) {
  sum(stats::dnorm(y, mu, 1, log = TRUE)) + stats::dnorm(mu, log = TRUE)
}

# `make trust` runs all cases for longer.
test_that("samplers pass both tests", {
  skip_long()
  # the files of the models test that one sweep leaves the joint distribution as
  # it is
  cases <- if (is_extended()) {
    joint_cases_of_all()
  } else {
    c(joint_cases_of_regression()[1], joint_cases_of_functions()[2])
  }
  for (case in cases) {
    label <- paste(case$sampler, case$option)
    if (case$joint) {
      joint <- check_case(geweke_joint, case, n = fast_or(4, 60))
      expect_gt(smallest_p(joint), 1e-4, label = label)
    }
    ranks <- suppressMessages(
      check_case(sbc, case, n = fast_or(5, 30), draws = 19)
    )
    expect_gt(smallest_p(ranks), 1e-4, label = label)
  }
})

test_that("mistakes of a user are found", {
  skip_long()
  # data of twice the variance are not those of the log density
  expect_lt(smallest_p(sbc(
    mh_sample(normal_target, c(mu = 0), y = c(0, 1), burnin = 100),
    n = fast_or(50, 200), draws = 19,
    draw_prior = function() c(mu = stats::rnorm(1)),
    simulate_data = function(mu) list(y = stats::rnorm(2, mu, 2)), seed = 1,
    progress = FALSE
  )), 1e-4)
})

test_that("mistakes of a sampler are found", {
  skip_unless_extended()
  fit <- gibbs_lm(dist ~ speed, datasets::cars[1:12, ], proper_line,
                  draws = 200, burnin = 30, seed = 1, progress = FALSE)
  n <- 400
  for (mutant in lm_mutants[c("noise", "slopes")]) {
    wrong <- mutant_fit(fit, mutant)
    expect_lt(smallest_p(geweke_joint(
      wrong, n = n, seed = 1, progress = FALSE
    )), 1e-4)
    expect_lt(smallest_p(sbc(
      wrong, n = n, draws = 19, thin = 3, seed = 1, progress = FALSE
    )), 1e-4)
  }
})

test_that("a p-value of uniform ranks is one", {
  skip_long()
  withr::local_seed(8)
  sets <- fast_or(300, 800)
  p <- replicate(sets, {
    uniform <- sample.int(20, 40, replace = TRUE) - 1
    gibbsite:::uniform_p_value(uniform, 19)
  })
  for (level in c(0.01, 0.1, 0.5)) {
    # never more often than that, up to 4.5 standard errors
    expect_lt(
      mean(p <= level), level + 4.5 * sqrt(level * (1 - level) / sets)
    )
  }
  # discrete, but not far from uniform
  expect_gt(mean(p <= 0.5), 0.35)
  # the band and the p-value agree
  band <- ecdf_band(40, 19, 0.1)
  ranks <- replicate(
    fast_or(60, 200), sample.int(20, 40, replace = TRUE) - 1
  )
  outside <- apply(ranks, 2, function(r) {
    count <- gibbsite:::rank_counts(r, 19)
    any(count < band$lower | count > band$upper)
  })
  p <- apply(ranks, 2, gibbsite:::uniform_p_value, draws = 19)
  expect_true(all(p[outside] <= 0.1))
  expect_true(all(p[p < 0.09] %in% p[outside]))
  expect_lt(gibbsite:::uniform_p_value(rep(0, 40), 19), 1e-10)
  expect_lt(gibbsite:::uniform_p_value(rep(19, 40), 19), 1e-10)
})

test_that("simulations are a run like any other", {
  skip_unless_extended()
  whole <- line_ranks()
  part <- line_call(sbc, n = 16, draws = 9, thin = 2)
  expect_true(identical_fit(whole, extend(part, 6, progress = FALSE)))
  folder <- withr::local_tempdir()
  saved <- line_call(sbc, n = 40, draws = 9, thin = 2,
                     checkpoint = file.path(folder, "run"))
  expect_true(identical_fit(whole, saved))
  expect_true(identical_fit(
    whole, resume(file.path(folder, "run"), progress = FALSE)
  ))
  ranks <- as.matrix(whole)
  expect_identical(dim(ranks), c(40L, 5L))
  expect_true(all(ranks %in% 0:9))
  before <- withr::with_seed(1, {
    line_call(geweke_joint, n = 8)
    stats::runif(1)
  })
  expect_identical(before, withr::with_seed(1, stats::runif(1)))
  skip_unless_processes()
  expect_true(identical_fit(
    whole, line_call(sbc, n = 40, draws = 9, thin = 2, cores = 2)
  ))
})

test_that("the tables have their meaning", {
  skip_long()
  check <- line_ranks()
  table <- summary(check)
  ranks <- as.matrix(check)
  expect_equal(table$mean_rank, unname(colMeans(ranks)) / 9)
  expect_equal(
    table$p[[1]], gibbsite:::uniform_p_value(ranks[, 1], 9)
  )
  joint <- line_call(geweke_joint, n = 20)
  rows <- as.matrix(joint)
  test <- stats::t.test(rows[, "sampler:speed"], rows[, "simulation:speed"])
  table <- summary(joint)
  row <- table[table$variable == "speed", ]
  expect_equal(row$z, test$statistic[[1]])
  expect_equal(row$p, test$p.value)
  expect_snapshot({
    check
    joint
  }, transform = function(lines) sub("; [0-9.e-]+ s$", "", lines))
})

test_that("the prior predicts data in the form of the model's", {
  skip_long()
  x <- withr::with_seed(2, matrix(stats::rnorm(40), 20))
  x[3, 1] <- NA
  mixture <- prior_predict(gibbs_gmm(
    x, 2, gmm_prior(2, c(0, 0), diag(2), 6, diag(2)), na_action = "impute",
    burnin = 5
  ), 3, seed = 1)
  expect_identical(dim(mixture$data[[1]]), c(20L, 2L))
  expect_false(anyNA(mixture$data[[1]]))
  expect_identical(sum(is.na(mixture$observed)), 1L)
  corpus <- withr::with_seed(3, sim_lda(15, 3, 12, 10))$x
  topics <- prior_predict(gibbs_lda(corpus, 3, burnin = 5), 3, seed = 1)
  expect_identical(unname(Matrix::rowSums(topics$data[[1]])), rep(10, 15))
  expect_equal(as.matrix(topics$observed), as.matrix(corpus),
               ignore_attr = TRUE)
  given <- withr::with_seed(4, sim_bmf(10, 8, 2, 0.5))
  ratings <- prior_predict(gibbs_bmf(given, 2, burnin = 5), 3, seed = 1)
  expect_identical(names(ratings$data[[2]]), c("user", "item", "value"))
  expect_equal(sort(ratings$observed$value), sort(given$value))
  trials <- prior_predict(gibbs_logistic(
    cbind(ncases, ncontrols) ~ agegp, datasets::esoph,
    logistic_prior(slope_variance = 1), burnin = 5
  ), 3, seed = 1)
  expect_identical(
    rowSums(trials$data[[3]]), rowSums(trials$observed)
  )
  coins <- prior_predict(
    gibbs_logistic(
      am ~ wt, datasets::mtcars, logistic_prior(slope_variance = 1), burnin = 5
    ), 3,
    seed = 1
  )
  expect_true(all(as.matrix(coins) %in% 0:1))
  expect_equal(coins$observed, datasets::mtcars$am, ignore_attr = TRUE)
  # moments of a conjugate prior: y_i ~ a t distribution about 0
  drawn <- as.matrix(prior_predict(
    gibbs_lm(dist ~ speed, datasets::cars, lm_prior(
      "nig", lambda = 1, noise_shape = 5, noise_rate = 8, intercept_mean = 3,
      intercept_sd = 1
    ), burnin = 0),
    n = fast_or(200, 4000), seed = 1
  ))
  expect_lt(max(abs(z_of_means(drawn, 3))), 5)
  prior <- line_call(prior_of, n = 5)
  expect_snapshot(prior)
})

test_that("what cannot be tested is an error", {
  skip_long()
  one <- function() 1
  fixed <- function(mu) list(y = mu)
  normal <- quietly(mh_sample(
    normal_target, 0, y = 1, draws = 10, burnin = 10, seed = 1,
    progress = FALSE
  ))
  check <- function(...) geweke_joint(normal, ..., seed = 1, progress = FALSE)
  line <- function(...) {
    sbc(gibbs_lm(dist ~ speed, datasets::cars), ..., seed = 1,
        progress = FALSE)
  }
  horseshoe <- lm_prior("horseshoe")
  expect_gibbsite_error({
    sbc(3)
    sbc(laplace_logistic(am ~ wt, datasets::mtcars, progress = FALSE))
    line()
    prior_predict(gibbs_lm(mpg ~ wt, datasets::mtcars, horseshoe), 3, seed = 1)
    line(draw_prior = one)
    check()
    check(draw_prior = one)
    check(draw_prior = function() 1:2, simulate_data = fixed)
    check(draw_prior = one, simulate_data = function(mu) list(z = mu))
    check(draw_prior = one, simulate_data = function(mu) mu)
    check(draw_prior = one, simulate_data = function(mu) stop("no data"))
    sbc(gibbs_logistic(am ~ wt, datasets::mtcars, weights = cyl))
    plot(line_call(prior_of, n = 5), statistic = range)
    as.matrix(prior_predict(gibbs_gmm(datasets::faithful, 2), 2, seed = 1))
  })
  draw <- function() list(mu = stats::rnorm(1))
  data <- function(x) list(y = stats::rnorm(2, x$mu))
  moved <- mh_step(
    function(state, y) normal_target(state$mu, y), adaptive(forever = TRUE)
  )
  fit <- quietly(gibbs_sample(
    list(mu = moved), list(mu = 0), y = c(0, 1), draws = 20, burnin = 20,
    chains = 2, seed = 1, progress = FALSE
  ))
  expect_output(print(fit), "Adaptation never stops")
  expect_error(
    geweke_joint(fit, draw_prior = draw, simulate_data = data),
    "never stops adapting", class = "gibbsite_error_argument"
  )
  hot <- quietly(mh_sample(
    function(x, y) normal_target(x, y), c(mu = 0), tempered(), y = c(0, 1),
    draws = 20, burnin = 20, chains = 2, seed = 1, progress = FALSE
  ))
  expect_error(
    geweke_joint(hot, draw_prior = draw, simulate_data = data), "tempered",
    class = "gibbsite_error_argument"
  )
})

test_that("the pictures are drawn", {
  skip_long()
  withr::local_pdf(NULL)
  check <- line_ranks()
  expect_identical(plot(check), check)
  expect_identical(plot(check, "histogram", "sigma"), check)
  joint <- line_call(geweke_joint, n = 4)
  expect_identical(plot(joint), joint)
  prior <- line_call(prior_of, n = 5)
  expect_identical(plot(prior), prior)
})

test_that("values that are not finite are compared by their share", {
  a <- withr::with_seed(1, stats::rnorm(40))
  of <- function(a, b) gibbsite:::two_means(a, b)[["p"]]
  expect_identical(of(c(a, NA), c(a, Inf)), of(a, a))
  expect_lt(of(c(a, rep(NA, 30)), a), 1e-5)
  expect_lt(of(rep(NaN, 40), a), 1e-5)
  expect_lt(of(c(a, Inf), c(a, Inf) + 9), 1e-5)
  expect_equal(of(c(a, NA), a), 1)
})
