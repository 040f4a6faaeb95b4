# gibbs_count(): its methods and errors. test-count-exact.R has the sampler.

count_fit <- short_fit(quote(gibbs_count))

test_that("default calls converge, and the posterior is near glm.nb's", {
  skip_long()
  formula <- Days ~ Eth + Sex + Age
  for (seed in seq_len(fast_or(1, 10))) {
    fit <- gibbs_count(formula, MASS::quine, "negbinomial", seed = seed,
                       progress = FALSE)
    expect_true(converged(fit))
  }
  theirs <- MASS::glm.nb(formula, MASS::quine)
  se <- sqrt(diag(stats::vcov(theirs)))
  expect_identical(names(coef(fit)), names(stats::coef(theirs)))
  expect_lt(max(abs(coef(fit) - stats::coef(theirs)) / se), 0.3)
  size <- 1 / as.matrix(fit)[, "dispersion"]^2
  expect_lt(abs(mean(size) - theirs$theta) / theirs$SE.theta, 0.5)
})

test_that("groups have the posterior that glmer approximates", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  data <- transform(MASS::epil, lbase = log(base / 4))
  formula <- y ~ trt + lbase + (1 | subject)
  for (seed in seq_len(10)) {
    fit <- gibbs_count(formula, data, seed = seed, progress = FALSE)
    expect_true(converged(fit))
  }
  theirs <- lme4::glmer(formula, data, family = stats::poisson)
  se <- sqrt(diag(as.matrix(stats::vcov(theirs))))
  ours <- nlme::fixef(fit)
  expect_identical(names(ours), names(lme4::fixef(theirs)))
  expect_lt(max(abs(ours - lme4::fixef(theirs)) / se), 0.3)
  expect_gt(
    cor(nlme::ranef(fit)$subject, lme4::ranef(theirs)$subject)[[1]], 0.99
  )
})

test_that("three factors, one with a level for each row, converge", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  found <- new.env()
  utils::data("grouseticks", package = "lme4", envir = found)
  data <- transform(found$grouseticks, height = HEIGHT - mean(HEIGHT))
  fit <- gibbs_count(
    TICKS ~ YEAR + height + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION), data,
    seed = 1, progress = FALSE
  )
  expect_true(converged(fit))
  # glmer's Laplace approximation
  expect_equal(
    unname(colMeans(as.matrix(fit)[, c("YEAR96", "YEAR97", "height")])),
    c(1.18, -0.98, -0.024), tolerance = 0.05
  )
})

test_that("pieces, thinning, extend() and resume() give the same bits", {
  skip_long()
  data <- count_example()
  run <- function(draws, thin = 1, ...) {
    quietly(gibbs_count(
      count ~ x + (x | g), data, "negbinomial", offset = log(t), draws = draws,
      burnin = 10, thin = thin, chains = 2, seed = 1, progress = FALSE, ...
    ))
  }
  expect_same_pieces(run)
})

test_that("a weight counts a row so often, and an exposure is an offset", {
  data <- count_example()
  rows <- rep(seq_len(nrow(data)), data$times)
  once <- function(fit) as.matrix(quietly(fit))
  # the default is that of the rows without their weights
  prior <- count_prior(slope_variance = 4, intercept_variance = 9)
  weighted <- once(gibbs_count(
    count ~ x + offset(log(t)), data, prior = prior, weights = times,
    draws = 20, burnin = 5, seed = 1, progress = FALSE
  ))
  repeated <- once(gibbs_count(
    count ~ x, data[rows, ], prior = prior, offset = log(t), draws = 20,
    burnin = 5, seed = 1, progress = FALSE
  ))
  expect_equal(
    weighted[, c("(Intercept)", "x", "log_lik")],
    repeated[, c("(Intercept)", "x", "log_lik")], tolerance = 1e-6
  )
})

# Of each family, without and with groups.
count_fits <- function() {
  data <- count_example()
  list(
    poisson = count_fit(count ~ x + offset(log(t)), data),
    negbinomial = count_fit(count ~ x + f, data, "negbinomial"),
    groups = count_fit(count ~ x + (x | g), data, "negbinomial"),
    crossed = count_fit(count ~ x + (1 | g) + (1 | h), data)
  )
}

test_that("densities and means are those of R's functions", {
  skip_long()
  data <- count_example()
  for (fit in count_fits()) {
    draws <- as.matrix(fit)[c(1, 7), ]
    eta <- posterior_linpred(fit)[c(1, 7), ]
    mean <- exp(eta)
    y <- rep(data$count, each = 2)
    tau <- if ("dispersion" %in% colnames(draws)) draws[, "dispersion"]
    density <- if (is.null(tau)) {
      stats::dpois(y, mean, log = TRUE)
    } else {
      stats::dnbinom(y, size = 1 / tau^2, mu = mean, log = TRUE)
    }
    expect_equal(
      unname(log_lik(fit)[c(1, 7), ]), unname(matrix(density, 2))
    )
    expect_equal(unname(rowSums(matrix(density, 2))),
                 unname(draws[, "log_lik"]))
    expect_equal(posterior_epred(fit)[c(1, 7), ], mean)
    expect_equal(
      unname(fitted(fit)), unname(colMeans(posterior_epred(fit)))
    )
  }
})

test_that("predicted counts are whole, and intervals are those of the draws", {
  skip_long()
  withr::local_seed(1)
  data <- count_example()
  for (fit in count_fits()[fast_or(c(2, 4), 1:4)]) {
    counts <- posterior_predict(fit)
    expect_true(all(counts >= 0 & counts == round(counts)))
    fit <- longer(fit, fast_or(500, 2000))
    new <- data[1:3, ]
    table <- predict(fit, new, type = "response", interval = "prediction")
    counts <- do.call(rbind, lapply(1:20, function(i) {
      posterior_predict(fit, new)
    }))
    error <- apply(counts, 2, stats::sd) / sqrt(nrow(counts))
    expect_lt(max(abs(colMeans(counts) - table$mean) / error), 5)
    expect_true(all(table$lower == round(table$lower)))
    below <- colMeans(counts < rep(table$lower, each = nrow(counts)))
    above <- colMeans(counts > rep(table$upper, each = nrow(counts)))
    # at most a tail, up to 5 standard errors
    most <- 0.025 + 5 * sqrt(0.025 / nrow(counts))
    expect_true(all(below <= most & above <= most))
  }
})

test_that("residuals are those of glm", {
  data <- count_example()
  fit <- count_fit(count ~ x, data, draws = 50)
  # of a glm with the same means
  mean <- fitted(fit)
  glm <- stats::glm(count ~ 0 + offset(log(mean)), stats::poisson, data)
  for (type in c("deviance", "pearson", "response")) {
    expect_equal(
      unname(residuals(fit, type)),
      unname(stats::residuals(glm, type)), tolerance = 1e-6
    )
  }
  over <- count_fit(count ~ x, data, "negbinomial", draws = 50)
  square <- mean(as.matrix(over)[, "dispersion"]^2)
  mean <- fitted(over)
  unit <- MASS::negative.binomial(1 / square)
  expect_equal(
    unname(residuals(over)),
    unname(sign(data$count - mean) *
             sqrt(unit$dev.resids(data$count, mean, rep(1, nrow(data))))),
    tolerance = 1e-6
  )
  expect_equal(
    unname(residuals(over, "pearson")),
    unname((data$count - mean) / sqrt(mean + square * mean^2))
  )
})

test_that("the evidence of one coefficient is that of quadrature", {
  skip_unless_extended()
  y <- c(0, 2, 5, 1)
  fit <- quietly(gibbs_count(
    y ~ 1, data.frame(y = y), draws = 3000, seed = 1, progress = FALSE
  ))
  w <- seq(-8, 6, length.out = 4001)
  density <- vapply(w, function(w) {
    exp(sum(stats::dpois(y, exp(w), log = TRUE)))
  }, 0) * stats::dnorm(w, 0, 10)
  expect_equal(
    as.numeric(log_evidence(fit)), log(sum(density) * (w[[2]] - w[[1]])),
    tolerance = 0.02
  )
})

test_that("the methods of regressions answer for counts", {
  skip_long()
  data <- count_example()
  for (fit in count_fits()[fast_or(4, 1:4)]) {
    rates <- tidy(fit, exponentiate = TRUE)
    expect_equal(
      rates$estimate[[2]], exp(tidy(fit)$estimate[[2]]), tolerance = 0.2
    )
    expect_true(all(c(".fitted", ".resid") %in% names(augment(fit))))
    sim <- simulate(fit, 2, seed = 1)
    expect_true(all(sim >= 0 & sim == round(sim)))
    expect_true(all(bayes_R2(fit) > 0 & bayes_R2(fit) < 1))
    if (is_extended()) {
      expect_s3_class(
        quietly(loo::kfold(fit, 2, progress = FALSE)), "kfold"
      )
    }
    expect_s3_class(quietly(loo::loo(fit)), "loo")
    expect_identical(family(fit)$link, "log")
    expect_s3_class(quietly(update(fit, . ~ . - x)), "gibbs_count")
    expect_output(print(prior_summary(fit)), "exp\\(x_i'w")
    some <- window(fit, start = 261)
    shown <- gibbsite:::picture_response(some, "x", 0.9, NULL)$data
    expect_true(all(shown$lower > 0 & shown$lower < shown$upper))
    expect_setequal(
      acceptance(fit)$block,
      c("coefficients", if (is.list(coef(fit))) "groups")
    )
    expect_true(all(acceptance(fit)$rate > 0.5))
  }
})

test_that("the family may be that of glm()", {
  data <- data.frame(y = c(3, 5, 2, 4), x = 1:4)
  counts <- function(family) {
    quietly(gibbs_count(y ~ x, data, family, draws = 5, burnin = 5, chains = 1,
                        seed = 1, progress = FALSE))
  }
  plain <- as.matrix(counts("poisson"))
  expect_identical(as.matrix(counts(poisson)), plain)
  expect_identical(as.matrix(counts(poisson())), plain)
})

test_that("effects that the counts do not bound still mix", {
  data <- data.frame(y = c(3, 5, 2, 4, 0, 0, 0, 0), f = gl(2, 4))
  for (family in c("poisson", "negbinomial")) {
    fit <- gibbs_count(y ~ f, data, family, seed = 1, progress = FALSE)
    expect_true(converged(fit))
  }
})

test_that("huge and rare counts are drawn", {
  rows <- data.frame(
    y = c(12e8, 11e8, 9e15, 8e15), f = gl(2, 2), t = c(1, 1, 1e6, 1e6)
  )
  fit <- gibbs_count(y ~ 1 + f + offset(log(t)), rows, seed = 1, draws = 500,
                     progress = FALSE)
  expect_equal(coef(fit)[["(Intercept)"]], log(11.5e8), tolerance = 1e-4)
  few <- data.frame(y = c(2, 1, 3, 0), t = 1e-6)
  rare <- gibbs_count(y ~ offset(log(t)), few, seed = 1, progress = FALSE)
  expect_true(converged(rare))
  expect_lt(abs(coef(rare)[[1]] - log(1.5e6)), 1)
})

test_that("errors say what is wrong", {
  data <- data.frame(
    y = c(1, 0, 3, 2), z = 0, x = c(1, 2, 3, 5), g = c(1, 1, 2, 2),
    half = c(1, 0.5, 2, 3), low = c(1, -1, 2, 0), f = gl(2, 2),
    hole = c(1, NA, 2, 3), t = c(1, 0, 1, 2), flag = c(TRUE, FALSE, TRUE, TRUE)
  )
  flat <- count_prior(slope_variance = Inf, intercept_variance = Inf)
  expect_gibbsite_error({
    gibbs_count(half ~ x, data)
    gibbs_count(low ~ x, data)
    gibbs_count(f ~ x, data)
    gibbs_count(flag ~ x, data)
    gibbs_count(cbind(y, z) ~ x, data)
    gibbs_count(y ~ x, data, family = "binomial")
    gibbs_count(y ~ x, data, family = poisson("identity"))
    gibbs_count(y ~ x, data, family = quasipoisson)
    gibbs_count(y ~ x, data, prior = logistic_prior())
    gibbs_count(y ~ x + (1 | g), data, prior = flat)
    gibbs_count(y ~ x, data, "negbinomial", prior = flat)
    gibbs_count(y ~ 0, data)
    gibbs_count(y ~ x, data, weights = rep(0, 4))
    count_prior(dispersion_df = 0)
    count_prior(slope_sd = -1)
    count_prior(dispersion_scale = "a")
  })
  expect_gibbsite_error(
    gibbs_count(hole ~ x, data), class = "gibbsite_error_missing"
  )
  expect_gibbsite_error(
    gibbs_count(y ~ x + offset(log(t)), data),
    class = "gibbsite_error_infinite"
  )
  expect_gibbsite_error(class = "gibbsite_error_separated", {
    gibbs_count(z ~ x, data, prior = flat)
    gibbs_count(c(0, 0, 3, 2) ~ f, data, prior = flat)
  })
  expect_gibbsite_error(
    gibbs_count(y ~ x + I(2 * x), data, prior = flat),
    class = "gibbsite_error_collinear"
  )
  expect_gibbsite_condition(
    count_fit(z ~ x, data), "gibbsite_message_constant_response"
  )
})

test_that("a flat prior gives the likelihood", {
  fit <- gibbs_count(count ~ spray, InsectSprays, seed = 1, progress = FALSE,
                     prior = count_prior(slope_variance = Inf,
                                         intercept_variance = Inf))
  theirs <- stats::glm(count ~ spray, stats::poisson, InsectSprays)
  se <- sqrt(diag(stats::vcov(theirs)))
  expect_lt(max(abs(coef(fit) - coef(theirs)) / se), 0.2)
})

test_that("counts that vary more than Poisson are told of", {
  skip_long()
  note <- function(fit) grep("vary", capture.output(print(fit)), value = TRUE)
  fit <- function(...) {
    quietly(gibbs_count(
      breaks ~ wool + tension, datasets::warpbreaks, ..., draws = 50,
      seed = 1, progress = FALSE
    ))
  }
  theirs <- stats::glm(
    breaks ~ wool + tension, stats::poisson(), datasets::warpbreaks
  )
  ratio <- sum(stats::residuals(theirs, "pearson")^2) / 50
  expect_match(note(fit()), paste("vary", format(ratio, digits = 2), "times"))
  expect_length(note(fit(family = "negbinomial")), 0)
  # the data of the model itself
  d <- withr::with_seed(1, data.frame(y = stats::rpois(60, 0.5)))
  expect_length(note(quietly(gibbs_count(
    y ~ 1, d, draws = 50, seed = 1, progress = FALSE
  ))), 0)
})

test_that("a printed summary leaves out the deviations of groups", {
  skip_long()
  fit <- quietly(gibbs_count(y ~ trt + (1 | subject), MASS::epil, draws = 20,
                             burnin = 5, chains = 1, seed = 1,
                             progress = FALSE))
  lines_of <- function(...) {
    sum(grepl("^u\\[[0-9]", utils::capture.output(print(...))))
  }
  expect_identical(lines_of(summary(fit)), 0L)
  expect_output(print(summary(fit)), "59 more rows; print(x, n = 63) shows all",
                fixed = TRUE)
  expect_identical(lines_of(summary(fit), n = 63), 59L)
  expect_identical(lines_of(summary(fit, "u")), 40L)
  expect_identical(nrow(summary(fit)), 63L)
})
