# gibbs_bmf(link = "ordinal"): the sampler against a twin in R and a posterior
# by quadrature, wrong samplers, the same bits however a run is cut, and what is
# said of ratings on their scale.

max_z <- 4.5

# ---- the sampler -------------------------------------------------------------

test_that("a sweep is that of the twin, draw for draw", {
  skip_long()
  withr::local_seed(1)
  for (kind in bmf_kinds_tested) {
    for (biases in c(FALSE, TRUE)) {
      for (levels in fast_or(c(2, 6), c(2, 3, 6))) {
        model <- tiny_ordinal(kind, levels, biases = biases, n = 6, count = 30)
        state <- draw_prior(model)
        twin <- twin_bmf(model, state)
        core <- withr::with_seed(levels, run_bmf_sweeps(model, state, 3))
        twin <- withr::with_seed(levels, {
          for (i in 1:3) twin <- ordinal_twin_sweep(model, twin)
          twin
        })
        of_core <- unlist(twin_bmf(model, core$state))
        # both find the proposal's mode by iteration
        expect_lt(
          max(abs(of_core - unlist(twin)) / pmax(1, abs(of_core))), 1e-9,
          label = paste(kind, biases, levels)
        )
      }
    }
  }
})

test_that("a sweep with features is that of the twin, draw for draw", {
  skip_long()
  withr::local_seed(8)
  for (biases in c(FALSE, TRUE)) {
    for (sides in list("u", "v", c("u", "v"))) {
      model <- tiny_ordinal(
        "wishart", 4, biases = biases, n = 6, count = 30, features = sides
      )
      state <- draw_prior(model)
      twin <- twin_bmf(model, state)
      core <- withr::with_seed(9, run_bmf_sweeps(model, state, 3))
      twin <- withr::with_seed(9, {
        for (i in 1:3) twin <- ordinal_twin_sweep(model, twin)
        twin
      })
      of_core <- unlist(twin_bmf(model, core$state))
      expect_lt(
        max(abs(of_core - unlist(twin)) / pmax(1, abs(of_core))), 1e-9,
        label = paste(biases, paste(sides, collapse = " "))
      )
    }
  }
})

test_that("what is recorded is what its name says", {
  withr::local_seed(2)
  for (kind in bmf_kinds_tested) {
    model <- tiny_ordinal(kind, biases = TRUE, keep = c("u", "v"))
    swept <- run_bmf_sweeps(model, draw_prior(model), 4)
    row <- swept$draws[4, ]
    p <- twin_bmf(model, swept$state)
    expect_identical(unname(row[paste0("theta[", 1:3, "]")]), p$theta)
    expect_equal(
      row[["log_lik"]],
      ordinal_log_lik(p$theta, ordinal_codes(model), ordinal_eta(model, p))
    )
    expect_equal(row[["log_joint"]], ordinal_log_joint(model, p))
    at <- model$cells
    eta <- bmf_predictor(model, p, at$user, at$item)
    bounds <- c(-Inf, p$theta, Inf)
    mean <- vapply(eta, function(x) {
      sum(diff(pnorm(bounds - x)) * model$response$values)
    }, 0)
    expect_equal(unname(row[startsWith(names(row), "cell")]), mean)
    expect_false(any(c("beta", "rmse") %in% names(row)))
  }
})

# One user, one item: eta = u v has the density K0(|x| / c) / (pi c), and theta
# two cutpoints.
exact_posterior <- function(counts, c, sd) {
  # x = sign s^2 takes the pole at 0 away
  s <- (seq_len(300) - 0.5) / 300 * 4
  eta <- c(-rev(s^2), s^2)
  weight <- 2 * sqrt(abs(eta)) * besselK(abs(eta) / c, 0)
  theta <- seq(-6, 6, length.out = 301) * sd / 1.2
  grid <- expand.grid(low = theta, high = theta)
  grid <- grid[grid$low < grid$high, ]
  prior <- dnorm(grid$low, 0, sd) * dnorm(grid$high, 0, sd)
  total <- numeric(6)
  for (i in seq_along(eta)) {
    low <- pnorm(grid$low - eta[[i]])
    high <- pnorm(grid$high - eta[[i]])
    p <- prior * weight[[i]] * low^counts[[1]] *
      (high - low)^counts[[2]] * (1 - high)^counts[[3]]
    total <- total + c(
      sum(p), sum(p * grid$low), sum(p * grid$high), sum(p * low),
      sum(p * (high - low)), sum(p * eta[[i]]^2)
    )
  }
  total[-1] / total[[1]]
}

test_that("the posterior is that of quadrature", {
  skip_unless_extended()
  counts <- c(4, 1, 2)
  ratings <- list(
    user = rep(1L, 7), item = rep(1L, 7), value = rep(1:3, counts), users = 1L,
    items = 1L, names = c("user", "item", "value")
  )
  sd <- 1.3
  prior <- tiny_bmf_prior("fixed", 1)
  prior$noise_variance <- 1
  prior$cutpoint_sd <- sd
  model <- bmf_model(ratings, 1, prior, response = list(
    link = "ordinal", values = 1:3, labels = as.character(1:3),
    cutpoint_sd = sd
  ), keep = c("u", "v"))
  withr::local_seed(3)
  draws <- run_bmf_sweeps(model, draw_prior(model), 40000, burnin = 100)$draws
  eta <- draws[, "u[1,1]"] * draws[, "v[1,1]"]
  low <- pnorm(draws[, "theta[1]"] - eta)
  middle <- pnorm(draws[, "theta[2]"] - eta) - low
  found <- cbind(
    draws[, "theta[1]"], draws[, "theta[2]"], low, middle, eta^2
  )
  exact <- exact_posterior(counts, prior$factor_variance, sd)
  z <- (colMeans(found) - exact) / apply(found, 2, posterior::mcse_mean)
  expect_lt(max(abs(z)), max_z)
})

# One user with a bias, two items, three ratings: the posterior by weighting
# draws of the prior. The cutpoints and the biases are shifted together.
test_that("the posterior with biases is that of importance sampling", {
  skip_unless_extended()
  sd <- 1.3
  prior <- tiny_bmf_prior("fixed", 2)
  prior$noise_variance <- 1
  prior$cutpoint_sd <- sd
  ratings <- list(
    user = rep(1L, 3), item = c(1L, 1L, 2L), value = c(3L, 3L, 2L), users = 1L,
    items = 1:2, names = c("user", "item", "value")
  )
  model <- bmf_model(ratings, 1, prior, 0, TRUE, c("u", "v"), response = list(
    link = "ordinal", values = 1:3, labels = as.character(1:3),
    cutpoint_sd = sd
  ))
  quantities <- function(theta, one, two) {
    cbind(theta, theta^2, pnorm(theta - one), pnorm(theta - two),
          theta[, 1] * one)
  }
  withr::local_seed(5)
  n <- 4e5
  normal <- function(sd) stats::rnorm(n, 0, sd)
  first <- normal(sd)
  second <- normal(sd)
  theta <- cbind(pmin(first, second), pmax(first, second))
  u <- normal(sqrt(prior$factor_variance))
  a <- normal(sqrt(prior$factor_variance))
  one <- u * normal(sqrt(prior$factor_variance)) + a +
  normal(sqrt(prior$factor_variance))
  two <- u * normal(sqrt(prior$factor_variance)) + a +
  normal(sqrt(prior$factor_variance))
  weight <- pnorm(theta[, 2] - one, lower.tail = FALSE)^2 *
    (pnorm(theta[, 2] - two) - pnorm(theta[, 1] - two))
  weight <- weight / sum(weight)
  values <- quantities(theta, one, two)
  exact <- colSums(weight * values)
  error <- sqrt(colSums(weight^2 * (values - rep(exact, each = n))^2))

  draws <- run_bmf_sweeps(model, draw_prior(model), 20000, burnin = 100)$draws
  eta <- function(item) {
    v <- draws[, paste0("v[", 1:2, ",", item, "]")]
    draws[, "u[1,1]"] * v[, 1] + draws[, "u[2,1]"] + v[, 2]
  }
  found <- quantities(draws[, c("theta[1]", "theta[2]")], eta(1), eta(2))
  error <- sqrt(error^2 + apply(found, 2, posterior::mcse_mean)^2)
  expect_lt(max(abs(colMeans(found) - exact) / error), max_z)
})

test_that("levels without ratings, and one rating alone, have their prior", {
  skip_long()
  # nothing is known of the second of four levels but what the prior says
  model <- tiny_ordinal("fixed", 4, count = 12)
  model <- set_data(model, rep(c(0.5, 1.5, 2), 4))
  withr::local_seed(4)
  draws <- run_bmf_sweeps(model, draw_prior(model), 4000, burnin = 200)$draws
  moves <- mean(diff(draws[, "theta[2]"]) != 0)
  expect_gt(moves, 0.4)
  expect_true(all(apply(
    draws[, paste0("theta[", 1:3, "]")], 1, function(x) all(diff(x) > 0)
  )))
})

test_that("wrong samplers are rejected", {
  skip_unless_extended()
  cases <- joint_cases_of_ratings()
  case <- cases[[which(vapply(cases, `[[`, "", "option") == "ordinal, biases")]]
  fit <- fit_of_case(case)
  p_value <- function(fit, n) {
    smallest_p(geweke_joint(fit, n = n, seed = 1, progress = FALSE))
  }
  expect_gt(p_value(fit, 400), 1e-4)
  for (name in names(ordinal_mutants)) {
    wrong <- mutant_fit(fit, ordinal_mutants[[name]])
    n <- if (name == "latent_not_redrawn") 2000 else 150
    expect_lt(p_value(wrong, n), 1e-4, label = name)
  }
})

# ---- the same bits however a run is cut --------------------------------------

stars <- function(seed = 1, levels = 5) {
  made <- withr::with_seed(seed, sim_bmf(25, 20, 2, 0.4))
  cuts <- seq(-1.2, 1.2, length.out = levels - 1)
  made$value <- 1 + findInterval(made$value, cuts)
  made
}

star_fit <- function(data = stars(), ..., draws = 40, link = "ordinal") {
  suppressMessages(suppressWarnings(gibbs_bmf(data, 2, link = link, ...,
    draws = draws, burnin = 30, chains = 2, seed = 1, progress = FALSE
  )))
}

plain_stars <- once(star_fit)

test_that("extending, thinning, threads and checkpoints change nothing", {
  skip_long()
  whole <- star_fit(biases = TRUE)
  expect_true(identical_fit(whole, suppressWarnings(
    extend(star_fit(biases = TRUE, draws = 15), 25, progress = FALSE)
  )))
  thinned <- star_fit(biases = TRUE, draws = 20, thin = 2)
  expect_identical(
    unclass(thinned[[1]])[, ], unclass(whole[[1]])[2 * (1:20), ]
  )
  folder <- withr::local_tempfile()
  star_fit(biases = TRUE, checkpoint = folder)
  expect_true(identical_fit(
    whole, suppressWarnings(resume(folder, progress = FALSE))
  ))
})

test_that("threads do not change a draw", {
  skip_on_cran()
  withr::local_seed(5)
  n <- 12000
  ratings <- list(
    user = sample.int(150, n, TRUE), item = sample.int(80, n, TRUE),
    value = sample(1:5, n, TRUE), users = 1:150, items = 1:80,
    names = c("user", "item", "value")
  )
  prior <- tiny_bmf_prior("gamma", 9)
  prior$noise_shape <- prior$noise_rate <- NULL
  model <- bmf_model(ratings, 8, prior, biases = TRUE, response = list(
    link = "ordinal", values = 1:5, labels = as.character(1:5),
    cutpoint_sd = 5
  ))
  state <- draw_prior(model)
  run <- function(threads) {
    withr::with_seed(1, run_bmf_sweeps(model, state, 3, threads))[
      c("state", "draws")
    ]
  }
  expect_identical(run(2), run(1))
})

# ---- predictions -------------------------------------------------------------

test_that("probabilities are those of the draws", {
  skip_long()
  fit <- plain_stars()
  kept <- kept_factors(fit)
  eta <- posterior_linpred(fit)
  theta <- do.call(rbind, lapply(1:2, function(k) {
    unclass(fit[[k]])[, paste0("theta[", 1:4, "]")]
  }))
  # factors are stored in single precision
  expect_equal(kept$cutpoints, unname(theta))
  bounds <- cbind(-Inf, theta, Inf)
  probability <- vapply(1:5, function(c) {
    colMeans(pnorm(bounds[, c + 1] - eta) - pnorm(bounds[, c] - eta))
  }, numeric(ncol(eta)))
  found <- predict(fit, type = "probabilities")
  expect_equal(unname(as.matrix(found[as.character(1:5)])), probability)
  expect_equal(
    predict(fit, variance = FALSE), drop(probability %*% 1:5)
  )
  value <- stars()$value
  exact <- log(pnorm(bounds[, value + 1] - eta) - pnorm(bounds[, value] - eta))
  expect_equal(log_lik(fit), unname(exact))
  total <- predict(fit)
  expect_equal(
    total$variance, drop(probability %*% (1:5)^2) - total$mean^2
  )
  expect_equal(total$variance, total$noise + total$parameters)
})

test_that("predictions are on the scale and agree", {
  skip_long()
  made <- stars()
  held <- new_pairs(made)[1:8, ]
  fit <- star_fit(predict_at = held)
  pairs <- new_pairs(made)
  interval <- withr::with_seed(1, predict(fit, pairs, interval = "prediction"))
  p <- withr::with_seed(1, predict(fit, pairs, type = "probabilities"))
  p <- as.matrix(p[as.character(1:5)])
  expect_equal(rowSums(p), rep(1, 12), ignore_attr = TRUE)
  expect_equal(interval$mean, drop(p %*% 1:5), ignore_attr = TRUE)
  expect_true(all(c(interval$lower, interval$upper) %in% 1:5))
  up_to <- t(apply(cbind(0, p), 1, cumsum))
  inside <- up_to[cbind(1:12, interval$upper + 1)] -
    up_to[cbind(1:12, interval$lower)]
  expect_true(all(inside >= 0.95))
  times <- seq_len(fast_or(6, 60))
  draws <- withr::with_seed(2, do.call(rbind, lapply(times, function(i) {
    posterior_predict(fit, pairs)
  })))
  expect_true(all(draws %in% 1:5))
  known <- interval$unknown != "both"
  shares <- vapply(1:5, function(c) colMeans(draws == c), numeric(ncol(draws)))
  error <- sqrt(p * (1 - p) / nrow(draws)) + 1e-3
  old <- interval$unknown == "none"
  expect_lt(max(abs(shares - p)[old, ] / error[old, ]), max_z)
  expect_equal(
    colMeans(posterior_epred(fit, pairs[old, ])), interval$mean[old]
  )
  at <- predicted_at(fit)
  expect_equal(at$mean, interval$mean[1:8])
  expect_equal(at$lower, interval$lower[1:8])
  row <- held_out(fit, level = 0.95)
  expect_identical(
    row$coverage_95,
    mean(held$value >= at$lower & held$value <= at$upper)
  )
  expect_equal(row$lpd, mean(log(p[cbind(1:8, held$value)])))
  augmented <- augment(fit)
  expect_equal(augmented$.fitted, fitted(fit))
})

test_that("recommend() orders by the probability of at least a rating", {
  made <- stars()
  fit <- plain_stars()
  best <- recommend(fit, users = "3", n = 30, at_least = 4)
  p <- predict(fit, best[c("user", "item")], type = "probabilities")
  expect_equal(best$probability, p[["4"]] + p[["5"]])
  expect_false(is.unsorted(-best$probability))
  by_mean <- recommend(fit, users = "3", n = 30)
  expect_setequal(by_mean$item, best$item)
  expect_false("probability" %in% names(by_mean))
  # without a link it is that of the normal distribution
  plain <- star_fit(link = NULL)
  best <- recommend(plain, users = "3", n = 2, at_least = 4)
  eta <- posterior_linpred(plain, newdata = best)
  beta <- unlist(lapply(1:2, function(k) unclass(plain[[k]])[, "beta"]))
  expect_equal(
    best$probability, colMeans(pnorm(eta, 4, 1 / sqrt(beta)))
  )
})

test_that("likes may be numbers, logical or of a factor", {
  skip_long()
  made <- stars()
  made$value <- made$value > 2
  by_logical <- star_fit(made, link = "probit")
  as_number <- made
  as_number$value <- as.numeric(made$value)
  expect_identical(
    predict(star_fit(as_number, link = "probit")), predict(by_logical)
  )
  named <- made
  named$value <- factor(made$value, labels = c("no", "yes"))
  by_factor <- star_fit(named, link = "probit")
  p <- predict(by_factor, type = "probabilities")
  expect_equal(p$yes, predict(by_logical, variance = FALSE))
  expect_equal(
    held_out(by_factor, named[1:9, ])$lpd, held_out(by_logical, made[1:9, ])$lpd
  )
  expect_identical(coda::varnames(by_logical)[[1]], "theta[1]")
})

test_that("levels of an ordered factor are the scale, rated or not", {
  skip_long()
  made <- stars(levels = 4)
  made$value <- factor(
    c("bad", "fair", "good", "best")[made$value],
    c("bad", "poor", "fair", "good", "best"), ordered = TRUE
  )
  fit <- star_fit(made)
  p <- predict(fit, made[1:3, ], type = "probabilities")
  expect_true(all(c("bad", "poor", "best") %in% names(p)))
  expect_true(all(p$poor > 0))
  expect_output(print(prior_summary(fit)), "cutpoint_sd")
  expect_match(tidy(fit)$label[[1]], "bad", all = FALSE)
})

test_that("levels of a factor without a rating are on the scale", {
  skip_long()
  made <- stars()
  levels_of <- function(value, link = "ordinal") {
    made$value <- value
    fit <- star_fit(made, link = link, draws = 8)
    found <- predict(fit, made[1:2, ], type = "probabilities")
    setdiff(names(found), c("user", "item", "unknown"))
  }
  scale <- as.character(0:6)
  expect_identical(levels_of(made$value), scale[2:6])
  expect_identical(levels_of(ordered(made$value, 0:6)), scale)
  expect_identical(levels_of(factor(made$value, 6:0)), scale)
  expect_identical(levels_of(ordered(3, 1:5)), scale[2:6])
  expect_identical(levels_of(ordered("b", letters[1:3])), letters[1:3])
  likes <- 1 + (made$value > 3)
  expect_identical(levels_of(factor(likes), "probit"), c("1", "2"))
  expect_identical(levels_of(factor(likes - 1), "probit"), c("0", "1"))
})

test_that("ratings given later are matched by their levels", {
  skip_long()
  made <- stars()
  made$value <- ordered(
    c("1", "2", "many", "3", "none")[made$value],
    c("1", "2", "3", "many", "none")
  )
  fit <- star_fit(made, draws = 8)
  probability <- predict(fit, made[1:2], type = "probabilities")
  own <- as.matrix(probability[levels(made$value)])[
    cbind(seq_len(nrow(made)), made$value)
  ]
  expect_equal(unname(colMeans(exp(log_lik(fit)))), own)
  # levels left out are numbers alone
  some <- made$value %in% c("1", "3")
  expect_equal(
    unname(log_lik(fit, droplevels(made[some, ]))), unname(log_lik(fit)[, some])
  )
  likes <- stars()
  likes$value <- likes$value > 2
  worded <- likes
  worded$value <- factor(likes$value)
  yes <- star_fit(worded, draws = 8, link = "probit")
  expect_identical(log_lik(yes, likes), log_lik(yes))
  worded$value <- factor(likes$value, c(FALSE, TRUE), c("no", "yes"))
  fit <- star_fit(worded, draws = 8, link = "probit")
  expect_gibbsite_error({
    log_lik(fit, likes)
    log_lik(fit, transform(likes, value = factor("maybe")))
  })
})

test_that("a level may be called as another column of the probabilities", {
  made <- stars(levels = 3)
  made$value <- ordered(made$value, 1:3, c("user", "unknown", "mean"))
  fit <- star_fit(made, draws = 8)
  found <- suppressMessages(predict(fit, made[1:4, 1:2], type = "prob"))
  expect_identical(names(found), c(
    "user", "item", "user.1", "unknown.1", "mean", "unknown"
  ))
  expect_identical(as.character(found$user), as.character(made$user[1:4]))
  expect_equal(rowSums(found[3:5]), rep(1, 4), ignore_attr = TRUE)
  expect_identical(found$unknown, rep("none", 4))
})

test_that("ordinal ratings given again are known", {
  fit <- plain_stars()
  more <- suppressWarnings(
    extend(drop_data(fit), 5, data = stars(), progress = FALSE)
  )
  whole <- suppressWarnings(extend(fit, 5, progress = FALSE))
  expect_true(identical_fit(more, drop_data(whole)))
})

test_that("loo, compare_k() and plots take ordinal ratings", {
  skip_long()
  fit <- plain_stars()
  log_lik <- log_lik(fit)
  expect_equal(
    suppressWarnings(loo::waic(fit))$estimates["elpd_waic", 1],
    sum(log(colMeans(exp(log_lik))) - apply(log_lik, 2, stats::var))
  )
  compared <- suppressMessages(suppressWarnings(compare_k(
    fit, star_fit(biases = TRUE), folds = 2, progress = FALSE
  )))
  expect_true(all(is.finite(compared$lpd)))
  expect_gte(drawn(plot(fit))$panels, 1)
  trace <- drawn(plot(fit, type = "trace", variables = "log_lik"))
  expect_true(has_drawn(trace, unclass(fit[[1]])[, "log_lik"]))
})

test_that("what the model cannot take is an error", {
  skip_long()
  made <- stars()
  fit <- plain_stars()
  six <- data.frame(user = "1", item = "2", value = c(3, 6))
  expect_gibbsite_error({
    gibbs_bmf(made, 2, link = "logit")
    gibbs_bmf(made, 2, link = "ordinal", method = "icm")
    gibbs_bmf(made, 2, link = "ordinal", range = c(1, 5))
    gibbs_bmf(made, 2, link = "ordinal", cutpoint_sd = 0)
    gibbs_bmf(made, 2, bmf_prior("gamma", noise_shape = 2), link = "ordinal")
    gibbs_bmf(made, 2, link = "ordinal", inits = list(list(theta = 4:1)),
      chains = 1
    )
    predict(star_fit(link = NULL), type = "probabilities")
    plot(fit, type = "rmse")
  })
  expect_gibbsite_error(class = "gibbsite_error_scale", {
    gibbs_bmf(made, 2, link = "probit")
    gibbs_bmf(transform(made, value = 3), 2, link = "ordinal")
    gibbs_bmf(transform(made, value = seq_along(value)), 2, link = "ordinal")
  })
  expect_gibbsite_error(held_out(fit, six), class = "gibbsite_error_range")
  expect_gibbsite_error(fold_in(fit, six), class = "gibbsite_error_range")
})

test_that("factors of new users given ordinal ratings, by quadrature", {
  skip_unless_extended()
  made <- withr::with_seed(2, sim_bmf(30, 12, rank = 1, share = 0.6))
  for (link in c("ordinal", "probit")) {
    cuts <- if (link == "probit") 0 else c(-1, 0.3, 1)
    stars <- transform(made, value = findInterval(value, cuts))
    fit <- suppressWarnings(gibbs_bmf(
      stars, rank = 1, link = link, draws = 1000, burnin = 200, chains = 2,
      seed = 1, progress = FALSE
    ))
    top <- max(stars$value)
    new <- data.frame(
      user = c("a", "a", "a", "b", "c"), item = c("3", "5", "8", "2", "2"),
      value = c(top, 0, top, 0, NA)
    )
    folded <- withr::with_seed(2, fold_in(fit, new))
    kept <- folded$kept
    model <- kept$model
    grid <- seq(-12, 12, by = 0.01)
    s <- 0
    moments <- gibbsite:::over_draws(kept, function(draw) {
      s <<- s + 1
      bounds <- c(-Inf, kept$cutpoints[s, ], Inf)
      vapply(c("a", "b", "c"), function(who) {
        own <- new[new$user == who & !is.na(new$value), ]
        log_p <- stats::dnorm(
          grid, draw$mu_u, 1 / sqrt(draw$precision_u[[1L]]), log = TRUE
        )
        for (i in seq_len(nrow(own))) {
          v <- draw$v[1L, match(own$item[[i]], model$items)]
          code <- match(own$value[[i]], model$response$values)
          z <- outer(bounds[code + 0:1], model$center + grid * v, `-`)
          log_p <- log_p + log(stats::pnorm(z[2L, ]) - stats::pnorm(z[1L, ]))
        }
        p <- exp(log_p - max(log_p))
        p <- p / sum(p)
        mean <- sum(p * grid)
        c(mean, sum(p * grid^2) - mean^2)
      }, numeric(2))
    })
    mean <- vapply(moments, function(one) one[1L, ], numeric(3))
    variance <- vapply(moments, function(one) one[2L, ], numeric(3))
    z <- (folded$draws[1L, , ] - mean) / sqrt(variance)
    draws <- ncol(z)
    expect_lt(max(abs(rowMeans(z))), 4.5 / sqrt(draws))
    expect_lt(max(abs(rowMeans(z^2) - 1)), 4.5 * sqrt(2.5 / draws))
    expect_identical(recommend(folded, "a", n = 3)$user, rep("a", 3))
    expect_true(all(predict(
      folded, data.frame(user = "a", item = "1"), interval = "mean"
    )$mean <= top))
  }
})

test_that("normals between bounds are right in both tails", {
  lower <- c(-Inf, 0, 3, 30, -40, -Inf, 35, -1e-9)
  upper <- c(-20, 1, Inf, 31, -38, Inf, Inf, 1e-9)
  withr::local_seed(1)
  z <- replicate(2000, truncated_normal(length(lower), lower, upper))
  expect_true(all(z >= lower & z <= upper))
  # uniform in the distribution function
  for (i in c(1, 2, 3, 4, 6)) {
    side <- lower[[i]] <= 0
    part <- function(x) stats::pnorm(x, lower.tail = side, log.p = TRUE)
    ends <- part(if (side) upper[[i]] else lower[[i]])
    other <- exp(part(if (side) lower[[i]] else upper[[i]]) - ends)
    u <- (exp(part(z[i, ]) - ends) - other) / (1 - other)
    expect_gt(stats::ks.test(u, "punif")$p.value, 1e-4)
  }
})

# ---- pictures, and users without items left ----------------------------------

test_that("a rating at the end of an interval counts in part", {
  p <- c(0.1, 0.4, 0.2, 0.3)
  below <- cbind(cumsum(p), cumsum(p) - p)
  for (level in c(0.05, 0.3, 0.62, 0.95)) {
    expect_equal(sum(p * share_inside(below, level)), level)
  }
  # without steps it is the indicator
  u <- seq(0.01, 0.99, by = 0.02)
  expect_equal(
    share_inside(cbind(u, u), 0.5), as.numeric(abs(u - 0.5) <= 0.25)
  )
})

test_that("recommendations know the scale, the features and what is left", {
  skip_long()
  one <- data.frame(user = 1, item = 1:4, value = 1:4)
  quick <- function(ratings, ...) {
    quietly(gibbs_bmf(ratings, 1, draws = 10, burnin = 10, chains = 1, seed = 1,
                      progress = FALSE, ...))
  }
  all_rated <- quick(one, link = "ordinal")
  expect_identical(nrow(recommend(all_rated)), 0L)
  expect_true("probability" %in% names(recommend(all_rated, at_least = 2)))
  two <- quick(rbind(one, data.frame(user = 2, item = 1, value = 3)),
               link = "ordinal")
  expect_identical(recommend(two, at_least = 2)$user, c(2, 2, 2))
  features <- data.frame(user = 1:3, age = c(1, 2, 5))
  described <- quick(rbind(one, data.frame(user = 2, item = 1, value = 3)),
                     link = "ordinal", user_features = features[1:2, ])
  ranged <- quick(one, range = c(1, 5))
  expect_gibbsite_error({
    recommend(two, at_least = 5)
    recommend(ranged, at_least = 5.5)
    recommend(two, users = "zoe")
    recommend(described, users = "zoe")
    recommend(ranged, users = "zoe")
  })
})

test_that("ratings that are all equal are said to be, whatever the link", {
  skip_long()
  alike <- data.frame(user = c(1, 1, 2, 3), item = c(1, 2, 2, 1), value = 1)
  quick <- function(ratings, ...) {
    suppressWarnings(gibbs_bmf(
      ratings, 2, ..., draws = 10, burnin = 5, chains = 1, seed = 1,
      progress = FALSE
    ))
  }
  expect_gibbsite_condition(class = "gibbsite_message_constant", {
    fit <- quick(alike)
    fit <- quick(alike, link = "probit")
    fit <- quick(transform(alike, value = TRUE), link = "probit")
    fit <- quick(transform(alike, value = 4), center = FALSE)
    fit <- quick(transform(alike, value = 4), range = c(1, 5))
    gibbs_bmf(
      transform(alike, value = 4), 2, method = "icm", chains = 1, seed = 1,
      progress = FALSE
    )
  })
  expect_gibbsite_error(class = "gibbsite_error_constant", {
    quick(alike, link = "ordinal")
  })
  # users of whom all ratings are equal are not the matter
  expect_no_message(quick(
    data.frame(user = c(1, 1, 2, 2), item = 1:2, value = c(1, 1, 5, 5))
  ), class = "gibbsite_message_constant")
})

test_that("a level's name is its code in recommend()", {
  made <- sim_bmf(12, 10, rank = 2, share = 0.6)
  made$value <- cut(made$value, 4, labels = c("bad", "ok", "good", "top"),
                    ordered_result = TRUE)
  fit <- suppressMessages(suppressWarnings(gibbs_bmf(
    made, rank = 2, link = "ordinal", draws = 20, burnin = 10, chains = 1,
    seed = 1, progress = FALSE
  )))
  user <- made$user[[1L]]
  expect_identical(
    recommend(fit, user, 2, at_least = "good"),
    recommend(fit, user, 2, at_least = 3)
  )
  expect_error(
    recommend(fit, user, at_least = "great"), "must be one of \"bad\"",
    class = "gibbsite_error_argument"
  )
})
