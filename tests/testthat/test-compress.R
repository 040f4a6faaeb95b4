# compress_draws(): few draws in the place of many.

correlated_draws <- function(n) {
  cov <- matrix(c(1, 0.8, 0.8, 1), 2)
  sample_mvnorm(n, c(a = 3, b = -1), cov)
}
normal_gradient <- function(x) {
  -solve(matrix(c(1, 0.8, 0.8, 1), 2), x - c(3, -1))
}
away_from <- function(truth, found, sd) sqrt(mean(((found - truth) / sd)^2))

test_that("each point is the one that makes the energy distance smallest", {
  set.seed(1)
  x <- correlated_draws(30)
  z <- sweep(x, 2, apply(x, 2, sd), "/")
  pairs <- as.matrix(dist(z))
  energy <- function(rows) {
    2 * mean(pairs[rows, ]) - mean(pairs[rows, rows])
  }
  # i / 2 times the energy of the points so far and j, but for a constant
  greedy <- integer()
  for (i in 1:5) {
    cost <- vapply(1:30, function(j) {
      if (j %in% greedy) Inf else mean(pairs[j, ]) - sum(pairs[j, greedy]) / i
    }, 0)
    greedy <- c(greedy, which.min(cost))
  }
  few <- compress_draws(x, 5)
  expect_identical(few$chosen, sort(greedy))
  expect_identical(few$x, x[few$chosen, ])
  expect_identical(weights(few), rep(1 / 5, 5))
  random <- replicate(200, energy(sample(30, 5)))
  expect_lt(energy(few$chosen), quantile(random, 0.1))
})

test_that("Stein points are those of the kernel written out", {
  set.seed(2)
  x <- correlated_draws(25)
  gamma <- solve(cov(x))
  kernel <- function(x, y) {
    r <- drop(gamma %*% (x - y))
    q <- 1 + sum((x - y) * r)
    gx <- normal_gradient(x)
    gy <- normal_gradient(y)
    -3 * sum(r^2) / q^2.5 + (sum(diag(gamma)) + sum(r * (gx - gy))) / q^1.5 +
      sum(gx * gy) / sqrt(q)
  }
  # the kernel of the package is in coordinates of covariance 1, where norms of
  # vectors are those of gamma; the same Stein kernel for x = L z
  root <- chol(cov(x))
  z <- x %*% solve(root)
  g <- t(apply(x, 1, normal_gradient)) %*% t(root)
  unit <- function(i, j) {
    r <- z[i, ] - z[j, ]
    q <- 1 + sum(r^2)
    -3 * sum(r^2) / q^2.5 + (2 + sum(r * (g[i, ] - g[j, ]))) / q^1.5 +
      sum(g[i, ] * g[j, ]) / sqrt(q)
  }
  all <- outer(1:25, 1:25, Vectorize(unit))
  order <- integer()
  for (i in 1:10) {
    cost <- diag(all) / 2 + rowSums(all[, order, drop = FALSE])
    order <- c(order, which.min(cost))
  }
  few <- compress_draws(x, 10, normal_gradient)
  expect_identical(few$chosen, sort(unique(order)))
  expect_equal(sum(weights(few)), 1)
  # a Stein kernel has mean 0 under the density, whatever the other point
  n <- fast_or(4000, 20000)
  many <- correlated_draws(n)
  values <- apply(many, 1, kernel, y = c(4, 0))
  expect_lt(abs(mean(values)), 5 * sd(values) / sqrt(n))
})

test_that("means of few draws are close to those of all", {
  fit <- gibbs_gmm(faithful, 2, draws = 250, seed = 1)
  few <- compress_draws(fit, 40)
  means <- few$means[few$means$sd > 0, ]
  from_all <- function(name) away_from(means$mean, means[[name]], means$sd)
  expect_lt(from_all("compressed"), from_all("thinned") / 3)
  expect_equal(means$compressed, unname(mean(few)[means$variable]))
  expect_s3_class(
    posterior::as_draws_df(few$x), "draws_df"
  )
})

test_that("Stein thinning leaves a start far away out", {
  set.seed(3)
  x <- rbind(correlated_draws(200) + 6, correlated_draws(800))
  by_gradient <- compress_draws(x, 40, normal_gradient)
  expect_true(all(by_gradient$chosen > 200))
  expect_lt(away_from(c(3, -1), mean(by_gradient), 1), 0.1)
  expect_gt(away_from(c(3, -1), colMeans(x), 1), 1)
})

test_that("draws of other packages, vectors and constants are taken", {
  set.seed(4)
  x <- correlated_draws(50)
  wanted <- compress_draws(x, 7)$chosen
  expect_identical(compress_draws(coda::mcmc(x), 7)$chosen, wanted)
  expect_identical(
    compress_draws(posterior::as_draws_matrix(x), 7)$chosen, wanted
  )
  expect_identical(compress_draws(cbind(x, c = 1), 7)$chosen, wanted)
  expect_identical(
    compress_draws(cbind(x, c = rnorm(50)), 7, variables = c("a", "b"))$chosen,
    wanted
  )
  one <- compress_draws(x[, "a"], 7)
  expect_equal(mean(one), mean(x[one$chosen, "a"]))
  expect_identical(compress_draws(x, 50)$chosen, 1:50)
  single <- compress_draws(2, 1)
  expect_identical(c(mean(single), single$chosen), c(2, 1))
})

test_that("the printed object says what is lost", {
  set.seed(5)
  expect_snapshot(compress_draws(correlated_draws(100), 10))
})

test_that("errors say what is wrong", {
  x <- cbind(a = c(1, 2, 4), b = c(2, 4, 8))
  expect_gibbsite_error(compress_draws(x, 4), "gibbsite_error_argument")
  expect_gibbsite_error(compress_draws(x), "gibbsite_error_argument")
  expect_gibbsite_error(
    compress_draws(empirical_distribution(1:3, 1:3), 2),
    "gibbsite_error_argument"
  )
  expect_gibbsite_error(
    compress_draws(x, 2, function(x) -x), "gibbsite_error_argument"
  )
  expect_gibbsite_error(
    compress_draws(x, 2, function(x) 1), "gibbsite_error_numeric"
  )
  expect_gibbsite_error(
    compress_draws(x, 2, function(x) NA * x), "gibbsite_error_numeric"
  )
  expect_gibbsite_error(
    compress_draws(x, 2, variables = "c"), "gibbsite_error_argument"
  )
})

test_that("with a gradient the variables of a fit are its parameters", {
  fit <- quietly(mh_sample(
    function(x) -sum(x^2) / 2, c(a = 0, b = 0), draws = 200, seed = 1
  ))
  few <- compress_draws(fit, 10, function(x) -x)
  expect_identical(few$means$variable, c("a", "b"))
  expect_identical(
    few$chosen,
    compress_draws(fit, 10, function(x) -x, variables = c("a", "b"))$chosen
  )
  expect_error(
    compress_draws(fit, 10, function(x) c(-x, 0)), "`variables` chooses"
  )
})
