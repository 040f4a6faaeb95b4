# sbc(), geweke_joint() and prior_predict().

proper_line <- lm_prior(c = 3, d = 600)

line_call <- function(check, ...) {
  check(
    gibbs_lm(dist ~ speed, datasets::cars, proper_line, burnin = 30), ...,
    seed = 1, progress = FALSE
  )
}

prior_of <- function(..., progress) prior_predict(...)

normal_target <- function(mu, y) {
  sum(stats::dnorm(y, mu, 1, log = TRUE)) + stats::dnorm(mu, log = TRUE)
}

# A fit whose sweeps are made by other data than those of the model.
mutant_fit <- function(fit, change) {
  model <- attr(fit, "model")
  own <- model
  attr(fit, "model") <- mutant_of(model, function(model, state, n, control) {
    wrong <- model
    class(wrong) <- class(own)
    wrong$data <- change(wrong$data)
    gibbsite:::model_sweeps(wrong, state, n, control)
  })
  fit
}

smallest_p <- function(check) {
  p <- summary(check)$p
  min(1, length(p) * min(p))
}

# One small case of each sampler, as calls.
joint_calls <- function() {
  x <- withr::with_seed(2, matrix(stats::rnorm(40), 20))
  x[3, 1] <- NA
  corpus <- withr::with_seed(3, sim_lda(15, 3, 12, 10))$x
  ratings <- withr::with_seed(4, sim_bmf(10, 8, 2, 0.5))
  d <- withr::with_seed(5, data.frame(
    g = gl(6, 4), z = rep(c(-1, 0, 1, 2), 6), y = stats::rnorm(24),
    s = stats::rbinom(24, 5, 0.5)
  ))
  d$f <- 5 - d$s
  here <- rlang::current_env()
  quos <- rlang::quos(
    gibbs_gmm = gibbs_gmm(
      x, 2, gmm_prior(2, c(0, 0), diag(2), 6, diag(2)), na_action = "impute",
      burnin = 100
    ),
    gibbs_lda = gibbs_lda(
      corpus, 3, lda_prior(gamma_prior(2, 2), 0.5), burnin = 100
    ),
    gibbs_bmf = gibbs_bmf(ratings, 2, burnin = 100),
    gibbs_lm = gibbs_lm(
      y ~ z, d, lm_prior("nig", lambda = 1, c = 3, d = 3), burnin = 0
    ),
    gibbs_hlm = gibbs_hlm(
      y ~ z + (z | g), d, hlm_prior(
        df = 4, scale = 1, nu0 = 6, sigma0 = 1, slope_mean = 0, slope_sd = 1,
        intercept_mean = 0, intercept_sd = 1
      ),
      burnin = 100
    ),
    gibbs_logistic = gibbs_logistic(
      cbind(s, f) ~ z, d, logistic_prior(c = 1), burnin = 100
    ),
    gibbs_hlm_binomial = gibbs_logistic(
      cbind(s, f) ~ z + (1 | g), d,
      logistic_prior(c = 1, group_df = 4, group_scale = 1), burnin = 100
    )
  )
  lapply(quos, rlang::quo_set_env, here)
}

# check(quo, ...) of a call kept in a quosure
check_call <- function(check, quo, ...) {
  expr <- rlang::call2(check, rlang::quo_get_expr(quo), ..., seed = 1,
                       progress = FALSE)
  eval(expr, rlang::quo_get_env(quo))
}

test_that("every sampler passes both tests", {
  skip_long()
  calls <- joint_calls()
  n <- if (is_extended()) 1000 else 60
  for (name in names(calls)) {
    geweke <- check_call(geweke_joint, calls[[name]], n = n)
    expect_gt(smallest_p(geweke), 1e-4)
    ranks <- check_call(
      sbc, calls[[name]], n = n / 2, draws = 19, thin = 20
    )
    expect_gt(smallest_p(ranks), 1e-4)
  }
})

test_that("so do a user's log density and conditionals", {
  skip_long()
  draw <- function() c(mu = stats::rnorm(1))
  data <- function(mu) list(y = stats::rnorm(2, mu))
  target <- quote(mh_sample(
    normal_target, c(mu = 0), y = c(0, 1), burnin = 200
  ))
  target <- rlang::new_quosure(target, rlang::current_env())
  expect_gt(smallest_p(check_call(
    geweke_joint, target, n = 100, draw_prior = draw, simulate_data = data
  )), 1e-4)
  ranks <- check_call(
    sbc, target, n = 100, draws = 19, draw_prior = draw, simulate_data = data
  )
  expect_gt(smallest_p(ranks), 1e-4)
  expect_identical(
    colnames(as.matrix(ranks)), c("mu", "log_density")
  )
  # data of twice the variance are not those of the log density
  wrong <- function(mu) list(y = stats::rnorm(2, mu, 2))
  expect_lt(smallest_p(check_call(
    sbc, target, n = 200, draws = 19, draw_prior = draw, simulate_data = wrong
  )), 1e-4)
  conditionals <- list(
    mu = function(state, y) {
      precision <- 1 + length(y) * state$tau
      stats::rnorm(1, sum(y) * state$tau / precision, 1 / sqrt(precision))
    },
    tau = mh_step(function(state, y) {
      if (state$tau <= 0) return(-Inf)
      stats::dgamma(state$tau, 2, 2, log = TRUE) +
        sum(stats::dnorm(y, state$mu, 1 / sqrt(state$tau), log = TRUE))
    })
  )
  draw <- function() list(mu = stats::rnorm(1), tau = stats::rgamma(1, 2, 2))
  data <- function(v) list(y = stats::rnorm(4, v$mu, 1 / sqrt(v$tau)))
  blocks <- rlang::new_quosure(quote(gibbs_sample(
    conditionals, list(mu = 0, tau = 1), y = c(1, 2, 0, 3), burnin = 200
  )), rlang::current_env())
  expect_gt(smallest_p(check_call(
    geweke_joint, blocks, n = 200, draw_prior = draw, simulate_data = data
  )), 1e-4)
  expect_gt(smallest_p(check_call(
    sbc, blocks, n = 60, draws = 19, thin = 10, draw_prior = draw,
    simulate_data = data
  )), 1e-4)
})

test_that("mistakes are found", {
  skip_long()
  fit <- gibbs_lm(dist ~ speed, datasets::cars[1:12, ], proper_line,
                  draws = 200, burnin = 30, seed = 1, progress = FALSE)
  mutants <- list(
    count = function(data) {
      data$n <- data$n + 4
      data
    },
    rate = function(data) {
      data$d <- 1.5 * data$d
      data
    }
  )
  for (mutant in mutants) {
    wrong <- mutant_fit(fit, mutant)
    expect_lt(smallest_p(geweke_joint(
      wrong, n = 400, seed = 1, progress = FALSE
    )), 1e-4)
    expect_lt(smallest_p(sbc(
      wrong, n = 400, draws = 19, thin = 3, seed = 1, progress = FALSE
    )), 1e-4)
  }
})

test_that("a p-value of uniform ranks is one", {
  skip_long()
  withr::local_seed(8)
  p <- replicate(800, {
    uniform <- sample.int(20, 40, replace = TRUE) - 1
    gibbsite:::uniform_p_value(uniform, 19)
  })
  for (level in c(0.01, 0.1, 0.5)) {
    # never more often than that, up to 4.5 standard errors
    expect_lt(
      mean(p <= level), level + 4.5 * sqrt(level * (1 - level) / 800)
    )
  }
  # discrete, but not far from uniform
  expect_gt(mean(p <= 0.5), 0.35)
  # the band and the p-value agree
  band <- ecdf_band(40, 19, 0.1)
  ranks <- replicate(200, sample.int(20, 40, replace = TRUE) - 1)
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
  skip_long()
  whole <- line_call(sbc, n = 40, draws = 9, thin = 2)
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
  check <- line_call(sbc, n = 40, draws = 9, thin = 2)
  table <- summary(check)
  ranks <- as.matrix(check)
  expect_equal(table$mean_rank, unname(colMeans(ranks)) / 9)
  expect_equal(
    table$p[[1]], gibbsite:::uniform_p_value(ranks[, 1], 9)
  )
  joint <- line_call(geweke_joint, n = 40)
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
  calls <- joint_calls()
  predict <- function(name) {
    quo <- calls[[name]]
    eval(
      rlang::call2(prior_predict, rlang::quo_get_expr(quo), n = 3, seed = 1),
      rlang::quo_get_env(quo)
    )
  }
  mixture <- predict("gibbs_gmm")
  expect_identical(dim(mixture$data[[1]]), c(20L, 2L))
  expect_identical(sum(is.na(mixture$observed)), 1L)
  topics <- predict("gibbs_lda")
  expect_equal(
    Matrix::rowSums(topics$data[[1]]), Matrix::rowSums(topics$observed)
  )
  expect_identical(dim(topics$observed), c(15L, 12L))
  ratings <- predict("gibbs_bmf")
  expect_identical(names(ratings$data[[2]]), c("user", "item", "value"))
  expect_identical(
    ratings$data[[2]][c("user", "item")], ratings$observed[c("user", "item")]
  )
  expect_identical(dim(as.matrix(predict("gibbs_hlm"))), c(3L, 24L))
  expect_identical(dim(predict("gibbs_logistic")$data[[1]]), c(24L, 2L))
  expect_identical(
    predict("gibbs_lm"), predict("gibbs_lm")
  )
  # moments of a conjugate prior: y_i ~ a t distribution about 0
  line <- rlang::new_quosure(quote(prior_predict(
    gibbs_lm(dist ~ speed, datasets::cars, lm_prior(
      "nig", lambda = 1, c = 5, d = 8, intercept_mean = 3, intercept_sd = 1
    ), burnin = 0),
    n = 4000, seed = 1
  )), rlang::current_env())
  drawn <- as.matrix(rlang::eval_tidy(line))
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
  expect_gibbsite_error({
    sbc(3)
    sbc(laplace_logistic(am ~ wt, datasets::mtcars, progress = FALSE))
    line()
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
})

test_that("the pictures are drawn", {
  withr::local_pdf(NULL)
  check <- line_call(sbc, n = 40, draws = 9, thin = 2)
  expect_identical(plot(check), check)
  expect_identical(plot(check, "histogram", "sigma"), check)
  joint <- line_call(geweke_joint, n = 8)
  expect_identical(plot(joint), joint)
  prior <- line_call(prior_of, n = 5)
  expect_identical(plot(prior), prior)
})
