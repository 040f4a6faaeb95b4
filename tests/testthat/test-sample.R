# Samples from distributions, against their exact distribution: a right sampler
# fails a test of fit with a probability below 1e-6.

least_p <- 1e-6

expect_uniform <- function(u) {
  testthat::expect_gt(suppressWarnings(stats::ks.test(u, "punif"))$p.value,
                      least_p)
}

expect_not_uniform <- function(u) {
  testthat::expect_lt(suppressWarnings(stats::ks.test(u, "punif"))$p.value,
                      least_p)
}

# z scores of the means of draws: all within 5, which a right sampler exceeds
# with a probability below 1e-6 each
expect_means <- function(draws, expected) {
  testthat::expect_lt(max(abs(z_of_means(draws, as.vector(expected)))), 5)
}

# ---- transformations --------------------------------------------------------

test_that("a cdf is inverted to the last digits", {
  skip_long()
  u <- withr::with_seed(1, stats::runif(2000))
  draw <- function(...) withr::with_seed(1, sample_inverse_cdf(2000, ...))
  expect_identical(draw(quantile = qexp, rate = 2), qexp(u, 2))
  # the error of a quantile is that of the cdf, divided by the density
  x <- draw(cdf = pnorm, mean = 3, sd = 1e-5)
  expect_lt(max(abs(pnorm(x, 3, 1e-5) - u)), 1e-9)
  expect_equal(draw(cdf = pnorm), qnorm(u), tolerance = 1e-12)
  expect_equal(draw(cdf = pcauchy), qcauchy(u), tolerance = 1e-10)
  expect_equal(draw(cdf = pexp, lower = 0), qexp(u), tolerance = 1e-12)
  expect_equal(
    draw(cdf = punif, min = -3e10, max = -2e10, lower = -3e10, upper = -2e10),
    qunif(u, -3e10, -2e10), tolerance = 1e-14
  )
  # down to the smallest doubles
  tiny <- draw(cdf = function(x) 1 + log10(x) / 310, lower = 1e-310, upper = 1)
  expect_equal(log10(tiny), 310 * (u - 1), tolerance = 1e-10)
})

test_that("what is no cdf is refused whatever the draws are", {
  skip_long()
  wrong <- list(
    function(x) 0.99 * pnorm(x), function(x) 0.01 + 0.99 * pnorm(x),
    function(x) pnorm(x) - 0.3 * (x > 0 & x < 0.5),
    function(x) ifelse(x > 3, NaN, pnorm(x)),
    function(x) ifelse(x > 3, 0.9, pnorm(x)), function(x) 0.999999 * pexp(x)
  )
  for (cdf in wrong) {
    for (seed in seq_len(fast_or(2, 20))) {
      withr::with_seed(seed, {
        expect_error(
          sample_inverse_cdf(1, cdf = cdf), class = "gibbsite_error_numeric"
        )
      })
    }
  }
  # Inf / Inf far out, where the cdf has been 1 for long
  x <- withr::with_seed(1, sample_inverse_cdf(9, cdf = function(x) {
    ifelse(x < 0, 0, x^2 / (1 + x^2))
  }))
  u <- withr::with_seed(1, runif(9))
  expect_equal(x, sqrt(u / (1 - u)), tolerance = 1e-10)
})

test_that("steps and flat parts of a cdf are met exactly", {
  skip_long()
  u <- withr::with_seed(1, stats::runif(2000))
  draw <- function(...) withr::with_seed(1, sample_inverse_cdf(2000, ...))
  expect_identical(draw(cdf = ppois, lambda = 3, lower = 0), qpois(u, 3))
  expect_identical(
    draw(cdf = pbinom, size = 9, prob = 0.3), as.double(qbinom(u, 9, 0.3))
  )
  # 1/4 at pi, 1/2 uniform on (4, 5), 1/4 at 7
  mixed <- function(x) {
    (x >= pi) / 4 + pmin(pmax(x - 4, 0), 1) / 2 + (x >= 7) / 4
  }
  x <- draw(cdf = mixed)
  expect_identical(x == pi, u <= 0.25)
  expect_identical(x == 7, u > 0.75)
  inner <- u > 0.25 & u <= 0.75
  expect_equal(x[inner], 4 + 2 * (u[inner] - 0.25), tolerance = 1e-14)
  # the probability at `lower` is that of `lower` itself
  x <- draw(cdf = pnorm, lower = 0)
  expect_identical(x == 0, u <= 0.5)
})

test_that("Box and Muller's pairs are independent normals", {
  skip_long()
  z <- withr::with_seed(2, sample_box_muller(20001))
  expect_length(z, 20001)
  expect_uniform(pnorm(z))
  pairs <- matrix(z[-20001], 2)
  # functions of both that notice a wrong angle or a shared radius
  expect_uniform(pnorm((pairs[1, ] + pairs[2, ]) / sqrt(2)))
  expect_uniform(pchisq(colSums(pairs^2), 2))
  expect_uniform(atan2(pairs[2, ], pairs[1, ]) / (2 * pi) + 0.5)
  # the angle of notes that take 2 pi twice
  u <- withr::with_seed(2, matrix(stats::runif(2e5), 2))
  expect_not_uniform(pnorm(sqrt(-2 * log(u[1, ])) * cos(4 * pi^2 * u[2, ])))
})

# ---- standard distributions -------------------------------------------------

test_that("multivariate normals have their distribution", {
  skip_long()
  m <- c(a = 1, b = -2, c = 1e6)
  s <- matrix(c(2, 0.5, -300, 0.5, 1, 200, -300, 200, 7e5), 3)
  forms <- list(
    withr::with_seed(3, sample_mvnorm(5000, m, cov = s)),
    withr::with_seed(4, sample_mvnorm(5000, m, precision = solve(s)))
  )
  for (x in forms) {
    expect_identical(dim(x), c(5000L, 3L))
    expect_identical(colnames(x), names(m))
    away <- t(x) - m
    expect_uniform(pchisq(colSums(away * solve(s, away)), 3))
    for (direction in list(c(1, 0, 0), c(1, 1, 0), c(1, -2, 0.01))) {
      spread <- sqrt(sum(direction * (s %*% direction)))
      expect_uniform(pnorm(colSums(direction * away) / spread))
    }
    # the transpose of the factor is noticed
    transposed <- chol(s) %*% solve(t(chol(s)), away)
    expect_not_uniform(pchisq(colSums(transposed * solve(s, transposed)), 3))
  }
  # the first draws do not depend on their number
  expect_equal(
    withr::with_seed(3, sample_mvnorm(5, m, cov = s)), forms[[1]][1:5, ]
  )
  # names of the covariance, where the mean has none
  dimnames(s) <- list(names(m), names(m))
  expect_identical(colnames(sample_mvnorm(1, cov = s)), names(m))
  expect_null(colnames(sample_mvnorm(1, cov = diag(2))))
  expect_identical(dim(sample_mvnorm(4, cov = 2)), c(4L, 1L))
})

test_that("a singular covariance has draws in its subspace", {
  skip_long()
  # units of very different size
  root <- matrix(c(1, 2e-8, 3e6, 4e-8, 2, 1e-8, -1e6, 1e-8), 4)
  s <- tcrossprod(root)
  expect_gibbsite_condition(
    x <- withr::with_seed(5, sample_mvnorm(4000, 1, cov = s)),
    "gibbsite_message_singular"
  )
  away <- t(x) - 1
  scale <- sqrt(diag(s))
  coordinates <- qr.solve(root / scale, away / scale)
  expect_lt(
    max(abs((root / scale) %*% coordinates - away / scale)), 1e-7
  )
  expect_uniform(pchisq(colSums(coordinates^2), 2))
  expect_uniform(pnorm(coordinates[1, ]))
  constant <- suppressMessages(sample_mvnorm(10, 3, cov = matrix(0, 2, 2)))
  expect_identical(unname(constant), matrix(3, 10, 2))
})

test_that("truncated normals have their distribution on every interval", {
  skip_long()
  intervals <- list(
    c(-Inf, Inf), c(-1, 1), c(0, Inf), c(0.4, Inf), c(0.6, Inf), c(3, Inf),
    c(8, 8.1), c(0.1, 0.2), c(0.4, 0.6), c(0.45, 3), c(-8, 0.3), c(-0.2, 0.9),
    c(-1e-9, 1e-9)
  )
  set.seed(6)
  for (ends in intervals) {
    x <- sample_truncated_normal(4000, 2, 3, 2 + 3 * ends[1], 2 + 3 * ends[2])
    z <- (x - 2) / 3
    # by tail probabilities, which keep their digits
    p <- function(z) pnorm(z, lower.tail = FALSE)
    u <- (p(ends[1]) - p(z)) / (p(ends[1]) - p(ends[2]))
    if (diff(ends) < 1e-6) u <- (z - ends[1]) / diff(ends)
    expect_uniform(u)
    # the lower tail mirrors the upper one
    y <- sample_truncated_normal(4000, -2, 3, -2 - 3 * ends[2],
                                 -2 - 3 * ends[1])
    v <- (p(ends[1]) - p(-(y + 2) / 3)) / (p(ends[1]) - p(ends[2]))
    if (diff(ends) < 1e-6) v <- (-(y + 2) / 3 - ends[1]) / diff(ends)
    expect_uniform(v)
  }
})

test_that("truncated normals are right far in the tails", {
  skip_long()
  set.seed(7)
  # beyond a, (x - a) a is exponential up to 1 / a^2
  for (a in c(1e4, 1e6)) {
    x <- sample_truncated_normal(4000, lower = a)
    expect_uniform(pexp((x - a) * a + (x - a)^2 / 2))
    y <- sample_truncated_normal(4000, lower = a, upper = a + 1 / a)
    expect_uniform(pexp((y - a) * a + (y - a)^2 / 2) / pexp(1 + 0.5 / a^2))
  }
  for (a in c(1e300, 1.7e308)) {
    expect_identical(sample_truncated_normal(2, lower = a), c(a, a))
    expect_identical(sample_truncated_normal(2, upper = -a), -c(a, a))
    expect_identical(
      sample_truncated_normal(1, sd = 1e-300, lower = a), a
    )
  }
  # each draw has its own distribution
  x <- sample_truncated_normal(
    4000, mean = c(rep(0, 2000), rep(100, 2000)),
    lower = c(rep(-Inf, 2000), rep(101, 2000))
  )
  expect_uniform(pnorm(x[1:2000]))
  expect_gt(min(x[-(1:2000)]), 101)
})

test_that("the tail's rejection step is needed", {
  # Marsaglia's proposal alone is a Rayleigh distribution
  x <- withr::with_seed(8, sqrt(0.6^2 + 2 * stats::rexp(20000)))
  p <- function(z) pnorm(z, lower.tail = FALSE)
  expect_not_uniform(1 - p(x) / p(0.6))
})

test_that("Wishart and inverse Wishart matrices have their distribution", {
  skip_unless_extended()
  s <- matrix(c(2, 0.5, -0.3, 0.5, 1, 0.2, -0.3, 0.2, 0.7), 3,
    dimnames = list(NULL, c("a", "b", "c"))
  )
  set.seed(9)
  for (df in c(2.1, 7)) {
    w <- sample_wishart(3000, df, s)
    expect_identical(dimnames(w), list(NULL, colnames(s), colnames(s)))
    for (v in list(c(1, 0, 0), c(1, -1, 2))) {
      q <- apply(w, 1, function(x) sum(v * (x %*% v)))
      expect_uniform(pchisq(q / sum(v * (s %*% v)), df))
    }
    # v' S^-1 v / v' W^-1 v is chi-squared with df - d + 1
    x <- sample_inverse_wishart(3000, df, s)
    v <- c(1, -1, 2)
    q <- apply(x, 1, function(x) sum(v * (x %*% v)))
    expect_uniform(pchisq(sum(v * (s %*% v)) / q, df - 2))
    expect_true(all(apply(x, 1, isSymmetric)))
  }
  # E W = df S, E X = S / (df - d - 1), all elements
  expect_means(matrix(w, 3000), 7 * s)
  big <- sample_inverse_wishart(3000, 12, s)
  expect_means(matrix(big, 3000), s / 8)
  # |W| / |S| is a product of chi-squared variates with df - j degrees
  log_det <- apply(w, 1, function(x) determinant(x)$modulus) -
    as.numeric(determinant(s)$modulus)
  expect_means(log_det, sum(digamma((7 - 0:2) / 2) + log(2)))
  one <- sample_wishart(3000, 0.3, 4)
  expect_identical(dim(one), c(3000L, 1L, 1L))
  expect_uniform(pchisq(one / 4, 0.3))
  # stats::rWishart() has the same draws, where it has any
  ours <- withr::with_seed(10, sample_wishart(1, 5, diag(1)))
  theirs <- withr::with_seed(10, stats::rWishart(1, 5, diag(1)))
  expect_equal(ours[1, 1, 1], theirs[1, 1, 1])
})

test_that("Dirichlet variates have their distribution, tiny ones too", {
  skip_long()
  set.seed(11)
  alpha <- c(a = 0.5, b = 1, c = 3)
  p <- sample_dirichlet(4000, alpha)
  expect_identical(colnames(p), names(alpha))
  expect_equal(rowSums(p), rep(1, 4000))
  for (k in 1:3) expect_uniform(pbeta(p[, k], alpha[k], sum(alpha[-k])))
  expect_uniform(pbeta(p[, 1] / (p[, 1] + p[, 2]), 0.5, 1))
  # of two tiny ones each has the most with probability 1/2, and alpha log p of
  # the other one is then -log u, exactly in the limit
  log_p <- sample_dirichlet(4000, c(1e-200, 1e-200), log = TRUE)
  expect_true(all(is.finite(log_p)))
  expect_lt(abs(z_of_means(log_p[, 1] == 0, 0.5)), 5)
  # the smaller of two boosts less the larger is exponential: -log u1 + log u2
  expect_uniform(pexp(-1e-200 * apply(log_p, 1, min)))
  # a probability below the smallest double
  log_p <- sample_dirichlet(4000, c(1e-3, 1), log = TRUE)
  expect_lt(min(log_p), -1000)
  # p^alpha is uniform for Beta(alpha, 1)
  expect_uniform(exp(1e-3 * log_p[, 1]))
})

# ---- errors -----------------------------------------------------------------

test_that("samples name wrong arguments", {
  skip_long()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    sample_inverse_cdf(10)
    sample_inverse_cdf(0, quantile = qexp)
    sample_inverse_cdf(10, quantile = qexp, lower = 0)
    sample_inverse_cdf(10, cdf = pexp, lower = 3, upper = 1)
    sample_box_muller(1.5)
    sample_mvnorm(10)
    sample_mvnorm(10, cov = matrix(c(1, 2, 2, 1), 2))
    sample_mvnorm(10, cov = matrix(c(1, 2, 3, 1), 2))
    sample_mvnorm(10, cov = matrix(c(0, 1, 1, 1), 2))
    sample_mvnorm(10, precision = matrix(1, 2, 2))
    sample_mvnorm(10, c(1, 2, 3), cov = diag(2))
    sample_truncated_normal(10, lower = 1, upper = 1)
    sample_truncated_normal(10, sd = 0)
    sample_truncated_normal(10, mean = 1:3)
    sample_wishart(10, 1, diag(2))
    sample_inverse_wishart(10, 3, matrix(1, 2, 2))
    sample_dirichlet(10, 1)
    sample_dirichlet(10, c(1, 0))
    sample_dirichlet(2e9, c(1, 1))
  })
})

test_that("functions that are no cdf or quantile function are named", {
  skip_long()
  set.seed(22)
  expect_gibbsite_error(class = "gibbsite_error_numeric", {
    sample_inverse_cdf(10, quantile = function(u) mean(u))
    sample_inverse_cdf(10, quantile = function(u) log(-u) + NaN)
    sample_inverse_cdf(10, cdf = function(x) stop("no"))
    sample_inverse_cdf(10, cdf = function(x) 1 - pnorm(x))
    sample_inverse_cdf(10, cdf = function(x) 0.6 + 0 * x)
    sample_inverse_cdf(10, cdf = function(x) pnorm(x) / 2)
    sample_inverse_cdf(10, cdf = function(x) 2 * pnorm(x))
    sample_inverse_cdf(10, cdf = pnorm, upper = 1)
    sample_inverse_cdf(50, cdf = function(x) {
      pnorm(x) - (abs(x) < 0.01) * 0.3
    })
  })
})

# ---- rejection --------------------------------------------------------------

cauchy <- list(
  draw = rcauchy, log_density = function(x) dcauchy(x, log = TRUE)
)
# max exp(-x^2 / 2) / q(x) = 2 pi exp(-1/2), at 1 and -1
cauchy_log_m <- log(2 * pi) - 0.5

test_that("the axis of rejections has all proposals unless they are far", {
  x <- seq(0, 1, 0.01)
  near <- x > 0.2 & x < 0.8
  expect_identical(rejection_limits(x, near), c(0, 1))
  expect_equal(
    rejection_limits(10 * x - 4.5, near & x > 0.4 & x < 0.6),
    grDevices::extendrange(c(-0.4, 1.4), f = 0.1)
  )
})

test_that("accepted and rejected points are drawn under the envelope", {
  x <- withr::with_seed(1, sample_rejection(
    300, function(x) -x^2 / 2, cauchy, cauchy_log_m, keep_proposals = TRUE
  ))
  picture <- drawn(plot(x))$pictures[[1]]
  # in units of the envelope's top, which is next to 0
  height <- exp(-picture$table$x^2 / 2 - cauchy_log_m) * pi
  below <- picture$table$y <= height
  expect_identical(picture$table$accepted, below)
  expect_identical(sum(below), 300L)
  expect_match(picture$note, "300 of [0-9]+ proposals accepted")
  plane <- withr::with_seed(1, sample_rejection(
    100, function(x) -rowSums(x^2), independence(c(a = 0, b = 0), diag(2)),
    log(2 * pi), keep_proposals = TRUE
  ))
  expect_identical(drawn(plot(plane))$pictures[[1]]$y$title, "b")
  # without them a histogram
  plain <- withr::with_seed(1, sample_rejection(
    300, function(x) -x^2 / 2, cauchy, cauchy_log_m
  ))
  expect_true("xmin" %in% names(drawn(plot(plain))$pictures[[1]]$table))
  skip_if_not_installed("ggplot2")
  expect_identical(
    ggplot2::ggplot_build(ggplot2::autoplot(x))$plot$data, picture$table
  )
})

test_that("rejection sampling draws from the target", {
  x <- withr::with_seed(12, sample_rejection(
    5000, function(x) -x^2 / 2, cauchy, cauchy_log_m
  ))
  expect_length(x, 5000)
  expect_uniform(pnorm(as.vector(x)))
  expect_null(attributes(x[1:3]))
  # a looser envelope draws from the same target
  y <- withr::with_seed(13, sample_rejection(
    2000, function(x) -x^2 / 2, cauchy, cauchy_log_m + 3
  ))
  expect_uniform(pnorm(as.vector(y)))
  # proposals that are kept change no draw
  kept <- withr::with_seed(12, sample_rejection(
    5000, function(x) -x^2 / 2, cauchy, cauchy_log_m, keep_proposals = TRUE
  ))
  table <- attr(kept, "proposals")
  expect_identical(nrow(table), as.integer(attr(kept, "tries")))
  accepted <- table[, "log_uniform"] <= table[, "log_target"] -
    table[, "log_envelope"]
  expect_identical(unname(table[accepted, "x"]), as.vector(kept))
  attr(kept, "proposals") <- NULL
  expect_identical(kept, x)
  # part of the support only
  h <- withr::with_seed(14, sample_rejection(
    2000, function(x) ifelse(x > 1, -x^2 / 2, -Inf), cauchy, cauchy_log_m
  ))
  expect_uniform(pnorm(as.vector(h), lower.tail = FALSE) / pnorm(-1))
  # without the rejection, or by the root of the ratio, the test of fit fails
  z <- withr::with_seed(15, rcauchy(50000))
  expect_not_uniform(pnorm(z))
  keep <- withr::with_seed(16, log(stats::runif(50000))) * 2 <=
    -z^2 / 2 - dcauchy(z, log = TRUE) - cauchy_log_m
  expect_not_uniform(pnorm(z[keep]))
})

test_that("rejection sampling of several variables, by independence()", {
  skip_long()
  s <- matrix(c(1, 0.6, 0.6, 2), 2)
  target <- function(x) -rowSums(x * t(solve(s, t(x)))) / 2
  z_of <- function(df) {
    proposal <- independence(c(a = 0, b = 0), 1.5 * s, df = df)
    # the ratio is greatest where r'S^-1 r = d - df / 2, or at 0
    parts <- gibbsite:::independent_draws(proposal)
    square <- if (is.finite(df)) max(0, 2 - df / 2) else 0
    top <- cbind(sqrt(square), 0.6 * sqrt(square))
    log_m <- max(target(top) - parts$log_density(top)) + 1e-6
    sample_rejection(3000, target, proposal, log_m)
  }
  for (df in c(2, Inf)) {
    x <- withr::with_seed(17, z_of(df))
    expect_identical(colnames(x), c("a", "b"))
    plain <- x[, ]
    expect_uniform(pchisq(-2 * target(plain), 2))
    expect_uniform(pnorm(plain[, 1] + plain[, 2], 0, sqrt(4.2)))
  }
})

test_that("densities of independence() are normalised", {
  skip_long()
  for (df in c(3, Inf)) {
    one <- gibbsite:::independent_draws(independence(2, 9, df))
    known <- if (is.finite(df)) dt((0:4 - 2) / 3, df) / 3 else dnorm(0:4, 2, 3)
    expect_equal(one$log_density(0:4), log(known))
    two <- gibbsite:::independent_draws(
      independence(c(0, 0), matrix(c(1, 0.5, 0.5, 2), 2), df)
    )
    inner <- function(y) {
      vapply(y, function(b) {
        stats::integrate(function(a) {
          exp(two$log_density(cbind(a, b)))
        }, -Inf, Inf, rel.tol = 1e-8)$value
      }, 0)
    }
    expect_equal(stats::integrate(inner, -Inf, Inf)$value, 1, tolerance = 1e-5)
  }
})

test_that("acceptance rate and normaliser are estimated without bias", {
  skip_long()
  set.seed(18)
  # U(0, 1) under log M = log 4: accepted with probability 1/4, Z = 1
  target <- function(x) 0 * x
  uniform <- list(draw = stats::runif, log_density = function(x) 0 * x)
  n <- fast_or(800, 4000)
  few <- replicate(n, {
    x <- sample_rejection(5, target, uniform, log(4))
    c(attr(x, "acceptance"), attr(x, "tries"))
  })
  expect_means(few[1, ], 0.25)
  # the 5th acceptance: a negative binomial number of tries
  expect_means(few[2, ], 20)
  # none or one more, ..., 25 or more: each expected 15 times or more
  if (is_extended()) {
    count <- tabulate(pmin(pmax(few[2, ] - 4, 2), 26), 26)[-1]
    p <- c(
      pnbinom(1, 5, 0.25), dnbinom(2:24, 5, 0.25),
      pnbinom(24, 5, 0.25, lower.tail = FALSE)
    )
    expect_gt(stats::chisq.test(count, p = p)$p.value, least_p)
  }
  # errors are as large as they say
  n <- fast_or(100, 400)
  many <- replicate(n, {
    x <- sample_rejection(200, target, uniform, log(4))
    c(
      (attr(x, "acceptance") - 0.25) / attr(x, "acceptance_se"),
      attr(x, "log_normaliser") / attr(x, "log_normaliser_se")
    )
  })
  spread <- sqrt(2 / n)
  for (z in list(many[1, ], many[2, ])) {
    expect_lt(abs(var(z) - 1), 6 * spread)
    expect_lt(abs(mean(z)), 0.4)
  }
  one <- sample_rejection(1, target, uniform, 0)
  expect_identical(attr(one, "acceptance"), 1)
})

test_that("an envelope that is exceeded, and endless rejection, are errors", {
  skip_long()
  set.seed(22)
  expect_gibbsite_error(class = "gibbsite_error_numeric", {
    withr::with_seed(1, sample_rejection(
      100, function(x) -x^2 / 2, cauchy, cauchy_log_m - 0.1
    ))
    withr::with_seed(1, sample_rejection(
      100, function(x) -rowSums(x^2), independence(c(a = 0, b = 0), diag(2)), 0
    ))
    withr::with_seed(1, sample_rejection(
      100, function(x) -x^2 / 2, cauchy, 50
    ))
    sample_rejection(10, function(x) stop("no"), cauchy, 0)
    sample_rejection(10, function(x) sum(x), cauchy, 0)
    withr::with_seed(1, sample_rejection(10, sqrt, cauchy, 0))
    sample_rejection(10, function(x) Inf * abs(x), list(
      draw = function(n) rep(2, n), log_density = function(x) 0 * x
    ), 0)
    sample_rejection(10, dnorm, list(
      draw = function(n) 1, log_density = function(x) 0
    ), 0)
    sample_rejection(10, dnorm, list(
      draw = function(n) rep(NaN, n), log_density = function(x) 0
    ), 0)
    sample_rejection(10, dnorm, list(
      draw = function(n) rep(2, n), log_density = function(x) x - Inf
    ), 0)
  })
  found <- tryCatch(
    withr::with_seed(1, sample_rejection(
      100, function(x) -x^2 / 2, cauchy, cauchy_log_m - 0.1
    )),
    gibbsite_error_envelope = identity
  )
  expect_equal(
    found$excess,
    -found$point^2 / 2 - dcauchy(found$point, log = TRUE) - cauchy_log_m + 0.1
  )
  found <- tryCatch(
    withr::with_seed(2, sample_rejection(
      1000, function(x) -x^2 / 2, cauchy, 3, max_tries = 1200
    )),
    gibbsite_error_max_tries = identity
  )
  expect_identical(found$tries, 1200)
  expect_gt(length(found$draws), 10)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    sample_rejection(10, dnorm, rnorm, 0)
    sample_rejection(10, dnorm, random_walk(1), 0)
    sample_rejection(10, dnorm, cauchy, Inf)
    sample_rejection(10, dnorm, cauchy, 0, max_tries = 5)
  })
})

# ---- importance -------------------------------------------------------------

exponential <- list(
  draw = function(n) rexp(n, 0.3),
  log_density = function(x) dexp(x, 0.3, log = TRUE)
)

test_that("importance samples have the target's moments, with right errors", {
  skip_long()
  set.seed(19)
  # Gamma(3, 1) times 5
  target <- function(x) dgamma(x, 3, log = TRUE) + log(5)
  n <- fast_or(80, 300)
  z <- replicate(n, {
    i <- sample_importance(400, target, exponential)
    m <- monte_carlo(i, function(x) c(x, x > 5))
    c(
      (m$estimate - c(3, pgamma(5, 3, lower.tail = FALSE))) / m$mcse,
      (i$log_normaliser - log(5)) / i$log_normaliser_se
    )
  })
  for (k in 1:3) {
    # a right mean has z within 5 / sqrt(n) and the bias, of order 1 / 400
    expect_lt(abs(mean(z[k, ])), 0.4)
    expect_lt(abs(var(z[k, ]) - 1), 6 * sqrt(2 / n))
  }
  i <- sample_importance(400, target, exponential)
  w <- dgamma(i$x, 3) / dexp(i$x, 0.3)
  expect_equal(weights(i), as.vector(w / sum(w)))
  expect_equal(i$log_weights, as.vector(log(5 * w)))
  expect_equal(i$ess, sum(w)^2 / sum(w^2))
  expect_equal(i$log_normaliser, log(mean(5 * w)))
})

test_that("Pareto k tells good proposals from bad ones", {
  set.seed(20)
  normal <- function(x) -x^2 / 2
  good <- sample_importance(1000, normal, independence(0, 1.2, df = 3))
  expect_lt(good$pareto_k, 0.5)
  narrow <- sample_importance(1000, normal, independence(0, 0.2, df = Inf))
  expect_gt(narrow$pareto_k, 0.7)
  expect_output(print(narrow), "not reliable")
  same <- sample_importance(1000, normal, independence(0, 1, df = Inf))
  expect_identical(same$pareto_k, -Inf)
  expect_equal(same$ess, 1000)
  expect_equal(same$log_normaliser, log(2 * pi) / 2)
})

test_that("an importance sample can be resampled, and prints", {
  skip_long()
  set.seed(21)
  target <- function(x) -rowSums((x - 1)^2) / 2
  i <- sample_importance(20000, target, independence(c(a = 0, b = 0), diag(2)))
  x <- resample_draws(i, 2000, method = "simple")
  expect_identical(dim(x), c(2000L, 2L))
  expect_uniform(pnorm(x[, "a"], 1))
  expect_uniform(pnorm((x[, "a"] - x[, "b"]) / sqrt(2)))
  expect_snapshot(print(withr::with_seed(1, sample_importance(
    500, function(x) dgamma(x, 3, log = TRUE), exponential
  ))))
  expect_snapshot(print(withr::with_seed(1, sample_rejection(
    500, function(x) -x^2 / 2, cauchy, cauchy_log_m
  ))))
})

test_that("importance sampling names what is wrong", {
  skip_long()
  set.seed(22)
  expect_gibbsite_error(class = "gibbsite_error", {
    sample_importance(10, function(x) -Inf + 0 * x, exponential)
    sample_importance(10, function(x) NaN * x, exponential["log_density"])
    withr::with_seed(1, sample_importance(2, function(x) NaN * x, exponential))
    sample_importance(10, "a", exponential)
  })
})

test_that("a covariance may be a matrix of the package Matrix", {
  plain <- crossprod(matrix(c(1, 2, 3, 5), 2), diag(2)) + diag(4, 2)
  plain <- plain + t(plain)
  dimnames(plain) <- list(c("a", "b"), c("a", "b"))
  sparse <- Matrix::Matrix(plain, sparse = TRUE)
  same <- function(draw) {
    expect_identical(
      withr::with_seed(1, draw(sparse)), withr::with_seed(1, draw(plain))
    )
  }
  same(function(v) sample_mvnorm(3, c(0, 0), v))
  same(function(v) sample_mvnorm(3, c(0, 0), precision = v))
  same(function(v) sample_wishart(3, 5, v))
  same(function(v) sample_inverse_wishart(3, 5, v))
  same(function(v) unclass(random_walk(cov = v)))
  same(function(v) sim_gmm(9, c(0.5, 0.5), rbind(c(0, 0), c(3, 3)), v))
  same(function(v) bmf_prior(W0 = v)$W0)
  same(function(v) sim_hlm(4, 3, c(0, 1), v))
  expect_error(sample_mvnorm(3, c(0, 0), as.data.frame(plain)), "2 x 2, not a")
  expect_error(
    sample_mvnorm(3, c(0, 0), sparse[, c(2, 1)]), "must be symmetric"
  )
})
