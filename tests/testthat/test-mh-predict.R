# Functions of the draws of one's own model: predict(), posterior_epred(),
# posterior_predict(), log_lik(), loo().

# y_i ~ N(mu, 1), mu ~ N(0, 10^2)
own_data <- c(0.3, -0.8, 1.1, 0.4, 2)
own_mh <- function(...) {
  quietly(mh_sample(
    function(p, y) {
      sum(dnorm(y, p[["mu"]], 1, log = TRUE)) + dnorm(p[["mu"]], 0, 10, TRUE)
    },
    c(mu = 0), y = own_data, draws = 200, burnin = 200, chains = 2, seed = 1,
    progress = FALSE, ...
  ))
}
own_gibbs <- function(...) {
  quietly(gibbs_sample(
    list(
      m = function(state, y) array(rnorm(4, state$s), c(2, 2)),
      on = function(state) state$m[1, 1] > 0, s = function(state, y) {
        rnorm(1, mean(y) / 2, 1)
      }
    ),
    list(m = matrix(0, 2, 2), on = TRUE, s = 0), y = own_data, draws = 100,
    burnin = 10, chains = 2, seed = 1, progress = FALSE, ...
  ))
}

test_that("a draw comes as the user's functions know it", {
  skip_long()
  seen <- NULL
  fit <- own_mh()
  expect_equal(
    posterior_epred(fit, function(p) {
      seen <<- p
      c(one = p[["mu"]], two = p[["mu"]]^2)
    }),
    cbind(one = as.matrix(fit)[, "mu"], two = as.matrix(fit)[, "mu"]^2)
  )
  expect_named(seen, "mu")
  gibbs <- own_gibbs()
  draws <- as.matrix(gibbs)
  value <- posterior_epred(gibbs, function(state) {
    stopifnot(
      is.matrix(state$m), identical(dim(state$m), c(2L, 2L)),
      is.logical(state$on)
    )
    c(state$m[2, 1], state$m[1, 2], state$on, state$s)
  })
  expect_equal(
    unname(value), unname(draws[, c("m[2,1]", "m[1,2]", "on", "s")])
  )
  # names only where the user gave them
  unnamed <- quietly(mh_sample(
    function(x) -sum(x^2) / 2, c(0, 0), draws = 50, burnin = 50, chains = 2,
    seed = 1, progress = FALSE
  ))
  posterior_epred(unnamed, function(p) {
    seen <<- p
    sum(p)
  })
  expect_null(names(seen))
})

test_that("arguments of the fit are passed on, and others come first", {
  fit <- own_mh()
  last <- function(p, y) p[["mu"]] - y[[length(y)]]
  mu <- as.matrix(fit)[, "mu"]
  expect_equal(posterior_epred(fit, last)[, 1], mu - 2)
  expect_equal(posterior_epred(fit, last, y = 5)[, 1], mu - 5)
  expect_equal(posterior_epred(fit, function(p, ...) {
    p[["mu"]] - list(...)$y[[1]]
  })[, 1], mu - 0.3)
})

test_that("predict() gives means and bands, and a column of places", {
  fit <- own_mh()
  line <- function(p, at) p[["mu"]] * at
  mu <- as.matrix(fit)[, "mu"]
  expect_equal(unname(predict(fit, line, at = 1:3)), mean(mu) * 1:3)
  band <- predict(fit, line, at = c(2, 1, 3), interval = "mean", level = 0.5)
  expect_s3_class(band, "data.frame")
  expect_named(band, c("at", "mean", "sd", "lower", "upper"))
  expect_identical(band$at, c(2, 1, 3))
  expect_equal(band$sd, sd(mu) * c(2, 1, 3))
  expect_equal(band$lower[[2]], quantile(mu, 0.25, names = FALSE))
  alone <- predict(fit, function(p) c(a = p[["mu"]], b = 1), interval = "mean")
  expect_named(alone, c("mean", "sd", "lower", "upper"))
  expect_identical(rownames(alone), c("a", "b"))
  pdf(NULL)
  withr::defer(dev.off())
  expect_invisible(plot(band, main = "band"))
  expect_invisible(plot(alone))
})

test_that("new data come from R's generator", {
  fit <- own_mh()
  draw <- function(p, n) rnorm(n, p[["mu"]])
  withr::with_seed(3, one <- posterior_predict(fit, draw, n = 2, ndraws = 10))
  withr::with_seed(3, two <- posterior_predict(fit, draw, n = 2, ndraws = 10))
  expect_identical(one, two)
  expect_identical(dim(one), c(10L, 2L))
  expect_false(identical(one, posterior_predict(fit, draw, n = 2, ndraws = 10)))
})

test_that("log_lik() is that of the function, loo() that of the matrix", {
  fit <- own_mh()
  each <- function(p, y) dnorm(y, p[["mu"]], 1, log = TRUE)
  mu <- as.matrix(fit)[, "mu"]
  by_hand <- outer(mu, own_data, function(m, y) dnorm(y, m, 1, log = TRUE))
  expect_equal(unname(log_lik(fit, each)), unname(by_hand))
  made <- quietly(loo::loo(fit, each))
  r_eff <- loo::relative_eff(exp(by_hand), chain_id = rep(1:2, each = 200))
  expect_equal(
    made$estimates, quietly(loo::loo(by_hand, r_eff = r_eff))$estimates
  )
  expect_equal(
    quietly(loo::waic(fit, log_lik = each))$estimates,
    quietly(loo::waic(by_hand))$estimates
  )
  # exactly: the posterior is N(m, v), and so is that without an observation
  n <- length(own_data)
  without <- vapply(seq_len(n), function(i) {
    v <- 1 / (n - 1 + 1 / 100)
    dnorm(own_data[[i]], v * sum(own_data[-i]), sqrt(1 + v), log = TRUE)
  }, 0)
  expect_lt(abs(made$estimates["elpd_loo", 1] - sum(without)), 0.3)
})

test_that("functions that cannot be called are refused by name", {
  skip_long()
  fit <- own_mh()
  gibbs <- own_gibbs(keep = "s")
  bare <- drop_data(fit)
  expect_gibbsite_error({
    predict(fit)
    predict(fit, 1)
    predict(fit, function(p, z) p[["mu"]])
    predict(fit, function(p) p[["mu"]], z = 1)
    predict(fit, function(p, z) p[["mu"]], 1)
    predict(fit, function(p, z) p[["mu"]], p = 1, z = 1)
    predict(fit, function(p) p[["mu"]], level = 2)
    predict(fit, function(p) p[["mu"]], interval = TRUE)
    predict(fit, function(p) p[["mu"]], interval = "prediction")
    predict(fit, function(p) if (p[["mu"]] > 0.6) 1 else 1:2)
    predict(fit, function(p) stop("no"))
    log_lik(fit)
    log_lik(fit, function(p) NA_real_)
    predict(gibbs, function(state) state$s)
  })
  expect_error(loo::loo(fit), class = "gibbsite_error_argument")
  expect_equal(
    predict(bare, function(p) p[["mu"]]), predict(fit, function(p) p[["mu"]])
  )
})
