# gibbs_categorical(): its methods and errors. test-categorical-exact.R has the
# sampler.

category_fit <- short_fit(quote(gibbs_categorical))

test_that("default calls converge, and the posterior is near multinom()'s", {
  skip_unless_extended()
  skip_if_not_installed("MASS")
  skip_if_not_installed("nnet")
  multinom <- getExportedValue("nnet", "multinom")
  theirs <- multinom(
    Type ~ Infl + Cont, MASS::housing, weights = Freq, trace = FALSE,
    Hess = TRUE
  )
  fit <- gibbs_categorical(
    Type ~ Infl + Cont, MASS::housing, weights = Freq, seed = 1,
    progress = FALSE
  )
  expect_true(converged(fit))
  ours <- matrix(coef(fit), 3, byrow = TRUE)
  se <- summary(theirs)$standard.errors
  expect_lt(max(abs(ours - stats::coef(theirs)) / se), 0.15)
  sd <- apply(as.matrix(fit)[, 1:12], 2, sd)
  expect_lt(max(abs(matrix(sd, 3, byrow = TRUE) / se - 1)), 0.1)
  shares <- predict(fit, type = "response")
  expect_identical(dimnames(shares), dimnames(stats::fitted(theirs)))
  expect_lt(max(abs(shares - stats::fitted(theirs))), 0.01)
})

test_that("a category apart from the others is reached", {
  skip_unless_extended()
  # setosa is separated: the prior alone bounds its distance
  fit <- gibbs_categorical(
    Species ~ Petal.Length, iris, logistic_prior(4), seed = 1, progress = FALSE
  )
  expect_true(converged(fit))
  expect_true(all(predict(fit, type = "class")[1:50] == "setosa"))
})

test_that("weights, single rows and counts are one likelihood", {
  skip_long()
  data <- category_example()
  prior <- logistic_prior(2, intercept_variance = 3, intercept_mean = 0)
  n <- fast_or(800, 3000)
  counted <- category_fit(r ~ x, data, prior, weights = count, draws = n)
  rows <- data[rep(seq_len(nrow(data)), data$count), ]
  single <- category_fit(r ~ x, rows, prior, draws = n)
  data[c("n1", "n2", "n3")] <- outer(data$r, levels(data$r), `==`) * data$count
  counts <- category_fit(cbind(n1, n2, n3) ~ x, data, prior, draws = n)
  expect_identical(nobs(counted), sum(data$count > 0))
  expect_identical(nobs(counts), nobs(counted))
  # of the same sweeps
  expect_equal(
    unname(as.matrix(counted)[, 1:4]), unname(as.matrix(counts)[, 1:4])
  )
  expect_same_means(counted, single, 1:4)
})

test_that("pieces, thinning, extend() and resume() give the same bits", {
  skip_long()
  data <- category_example()
  formulas <- c(r ~ x, r ~ x + (x | g) + (1 | h))
  for (formula in formulas[fast_or(2, 1:2)]) {
    run <- function(draws, thin = 1, ...) {
      quietly(gibbs_categorical(
        formula, data, draws = draws, burnin = 10, thin = thin, chains = 2,
        seed = 1, progress = FALSE, ...
      ))
    }
    expect_same_pieces(run)
  }
})

test_that("predictions are those of the stored draws", {
  skip_long()
  data <- category_example()
  fit <- category_fit(r ~ x + (x | g) + (1 | h), data, offset = o)
  draws <- as.matrix(fit)
  g <- match(data$g, letters)
  h <- match(data$h, letters)
  eta <- vapply(c("car", "on foot"), function(category) {
    of <- function(...) draws[, paste0(..., "]")]
    vapply(seq_along(g), function(i) {
      data$o[[i]] + of("b[", category, ",(Intercept)") +
        data$x[[i]] * of("b[", category, ",x") +
        of("u[", category, ",1,1,", g[[i]]) +
        of("u[", category, ",1,2,", g[[i]]) * data$x[[i]] +
        of("u[", category, ",2,1,", h[[i]])
    }, numeric(nrow(draws)))
  }, matrix(0, nrow(draws), nrow(data)))
  expect_equal(posterior_linpred(fit), eta, ignore_attr = TRUE)
  expect_equal(predict(fit), apply(eta, 2:3, mean), ignore_attr = TRUE)
  expect_identical(colnames(predict(fit)), c("car", "on foot"))
  shares <- array(c(0 * eta[, , 1], eta), dim(eta) + c(0, 0, 1))
  shares <- exp(shares)
  total <- apply(shares, 1:2, sum)
  for (k in 1:3) shares[, , k] <- shares[, , k] / total
  expect_equal(posterior_epred(fit), shares, ignore_attr = TRUE)
  expect_identical(dimnames(posterior_epred(fit))[[3]], levels(data$r))
  mean <- apply(shares, 2:3, mean)
  expect_equal(fitted(fit), mean, ignore_attr = TRUE)
  band <- predict(fit, type = "response", interval = "mean", level = 0.9)
  expect_equal(band$mean, as.vector(t(mean)))
  expect_equal(band$sd, as.vector(t(apply(shares, 2:3, stats::sd))))
  expect_identical(levels(band$category), levels(data$r))
  link <- predict(fit, interval = "mean")
  expect_identical(nrow(link), 2L * nrow(data))
  expect_equal(link$sd, as.vector(t(apply(eta, 2:3, stats::sd))))
  most <- levels(data$r)[max.col(mean, "first")]
  class <- predict(fit, type = "class")
  expect_identical(unname(class), factor(most, levels(data$r)))
  code <- as.integer(data$r)
  each <- vapply(seq_along(code), function(i) {
    log(shares[, i, code[[i]]])
  }, numeric(nrow(draws)))
  expect_equal(unname(log_lik(fit)), each)
  expect_equal(rowSums(log_lik(fit)), unname(draws[, "log_lik"]))
  expect_equal(unname(log_lik(fit, data, offset = data$o)), each)
  new <- withr::with_seed(1, posterior_predict(fit))
  expect_true(all(new %in% 1:3))
  for (k in 1:3) {
    expect_lt(
      abs(mean(new == k) - mean(mean[, k])), 4.5 * sqrt(0.25 / length(new))
    )
  }
  made <- simulate(fit, 2, seed = 1)
  expect_identical(levels(made$sim_1), levels(data$r))
  expect_false(is.ordered(made$sim_1))
  both <- augment(fit)
  expect_identical(as.character(both$.fitted), most)
  expect_equal(both$.probability, unname(apply(mean, 1, max)))
  bare <- category_fit(
    r ~ x + (x | g) + (1 | h), data, offset = o, keep_data = FALSE
  )
  expect_identical(
    predict(bare, data[1:3, ], "response", offset = data$o[1:3]),
    predict(fit, data[1:3, ], "response", offset = data$o[1:3])
  )
})

test_that("counts have their predictions and likelihood", {
  skip_long()
  data <- category_example()
  data$a[[3]] <- data$b[[3]] <- data$c[[3]] <- 0
  fit <- category_fit(cbind(a, b, c) ~ x + (1 | g), data)
  counts <- as.matrix(data[c("a", "b", "c")])
  expect_identical(nobs(fit), sum(rowSums(counts) > 0))
  shares <- posterior_epred(fit)
  own <- vapply(which(rowSums(counts) > 0), function(i) {
    apply(shares[, i, ], 1, function(p) {
      stats::dmultinom(counts[i, ], prob = p, log = TRUE)
    })
  }, numeric(400))
  expect_equal(unname(log_lik(fit)), own, ignore_attr = TRUE)
  expect_equal(rowSums(log_lik(fit)), unname(as.matrix(fit)[, "log_lik"]))
  new <- withr::with_seed(1, posterior_predict(fit))
  expect_identical(dim(new), c(400L, nrow(data), 3L))
  expect_equal(apply(new, 2:3, mean)[, 1] + apply(new, 2:3, mean)[, 2] +
                 apply(new, 2:3, mean)[, 3], unname(rowSums(counts)),
               ignore_attr = TRUE)
  # each row by its own probabilities
  total <- rowSums(counts)
  wanted <- apply(shares, 2:3, mean) * total
  expect_gt(max(apply(wanted / pmax(total, 1), 2, stats::sd)), 0.1)
  away <- abs(apply(new, 2:3, mean) - wanted)
  expect_true(all(away <= 4.5 * sqrt(0.25 * total / 400)))
  made <- simulate(fit, 1, seed = 1)$sim_1
  expect_identical(unname(rowSums(made)), unname(rowSums(counts)) + 0)
  expect_identical(colnames(made), c("a", "b", "c"))
  more <- posterior_predict(fit, data[1:2, ], trials = 30)
  expect_true(all(rowSums(more[, 1, ]) == 30))
  expect_equal(unname(log_lik(fit, data[1:2, ])), own[, 1:2])
  expect_s3_class(augment(fit)$.fitted, "factor")
  expect_gibbsite_error({
    predict(fit, type = "class")
    log_lik(fit, transform(data, a = -1))
  })
})

test_that("new groups are drawn, whatever the other rows are", {
  skip_long()
  data <- category_example()
  fit <- category_fit(r ~ x + (1 | g) + (1 | h), data, draws = 1000)
  new <- data.frame(x = c(2, 1, 2, 2), g = c("new", "a", "other", "b"),
                    h = c("a", "b", "a", "new"))
  expect_error(predict(fit, new), class = "gibbsite_error_level")
  of <- function(rows, ...) {
    predict(fit, new[rows, ], "response", allow_new_levels = TRUE, ...)
  }
  all <- of(1:4)
  for (i in 1:4) expect_identical(of(i), all[i, , drop = FALSE])
  expect_identical(unname(all[1, ]), unname(all[3, ]))
  draws <- as.matrix(fit)
  # with four deviations a draw
  eta <- vapply(c("car", "on foot"), function(k) {
    of <- function(...) draws[, paste0(..., "]")]
    mean <- of("b[", k, ",(Intercept)") + 2 * of("b[", k, ",x") +
      of("u[", k, ",2,1,1")
    rep(mean, 4) + withr::with_seed(
      nchar(k), rnorm(4 * nrow(draws))
    ) * of("sd[", k, ",1,1")
  }, numeric(4 * nrow(draws)))
  shares <- exp(cbind(0, eta)) / rowSums(exp(cbind(0, eta)))
  expect_lt(
    max(abs(colMeans(shares) - all[1, ])),
    4.5 * max(apply(shares, 2, sd)) * sqrt(1 / 2000 + 1 / 8000)
  )
})

test_that("missing values are left out, and other methods have their values", {
  data <- category_example()
  data$r[[2]] <- NA
  data$x[[5]] <- NA
  fit <- quietly(gibbs_categorical(
    r ~ x, data, na_action = "exclude", draws = 40, burnin = 10, chains = 2,
    seed = 1, progress = FALSE
  ))
  expect_identical(nobs(fit), nrow(data) - 2L)
  expect_identical(unname(which(is.na(fitted(fit)[, 1]))), c(2L, 5L))
  expect_identical(unname(which(is.na(predict(fit, type = "class")))),
                   c(2L, 5L))
  new <- predict(fit, data.frame(x = c(1, NA)), type = "response")
  expect_identical(unname(is.na(new[, 1])), c(FALSE, TRUE))
  drawn <- posterior_predict(fit, data.frame(x = c(1, NA)))
  expect_identical(unname(colSums(is.na(drawn))), c(0, 80))
  expect_identical(family(fit)$family, "categorical")
  expect_identical(
    tidy(fit)$label,
    c("car: intercept", "car: slope of x", "on foot: intercept",
      "on foot: slope of x", "log-likelihood")
  )
  expect_identical(rownames(confint(fit)), names(coef(fit)))
  expect_equal(
    tidy(fit, exponentiate = TRUE)$estimate[1:4], unname(exp(coef(fit)))
  )
  expect_identical(
    as.character(summary(fit, "b")$variable),
    names(coef(fit))
  )
  few <- quietly(update(fit, . ~ m, draws = 10))
  expect_identical(names(coef(few))[[2]], "b[car,m]")
})

test_that("text is a factor, and the message names the reference", {
  data <- category_example()
  data$text <- as.character(data$r)
  one <- category_fit(r ~ x, data)
  expect_message(
    other <- gibbs_categorical(text ~ x, data, draws = 4, burnin = 0,
                               chains = 1, seed = 1, progress = FALSE,
                               stop_when = NULL) |> suppressWarnings(),
    class = "gibbsite_message_conversion"
  )
  expect_identical(colnames(as.matrix(other)), colnames(as.matrix(one)))
})

test_that("starting values are those given", {
  data <- category_example()
  own <- list(g = matrix(4))
  init <- list(
    coefficients = c(1, 0.5, -1, 2), Sigma = list(car = own, "on foot" = own)
  )
  fit <- category_fit(r ~ x + (1 | g), data, draws = 2,
                      inits = list(init, init))
  model <- gibbsite:::fit_part(fit, "model")
  state <- gibbsite:::model_start(model, init)
  expect_equal(gibbsite:::model_init_from_state(model, state), init)
  expect_gibbsite_error({
    gibbs_categorical(r ~ x, data, chains = 1, inits = list(
      list(coefficients = 1:3)
    ))
    gibbs_categorical(r ~ x + (1 | g), data, chains = 1, inits = list(
      list(Sigma = list(bus = own))
    ))
  })
})

test_that("the groups' deviations have names and a covariance", {
  data <- category_example()
  fit <- category_fit(r ~ x + (1 + m | g) + (1 | h), data)
  draws <- as.matrix(fit)
  effects <- nlme::ranef(fit)
  expect_identical(names(effects), c("g", "h"))
  expect_identical(
    names(effects$g),
    c("b[car,(Intercept)]", "b[car,m]", "b[on foot,(Intercept)]",
      "b[on foot,m]")
  )
  expect_equal(
    effects$g["b", "b[on foot,m]"], mean(draws[, "u[on foot,1,2,2]"])
  )
  expect_equal(
    attr(effects$g, "postVar")["b[car,m]", "b[on foot,(Intercept)]", "b"],
    cov(draws[, "u[car,1,2,2]"], draws[, "u[on foot,1,1,2]"])
  )
  varying <- nlme::VarCorr(fit)
  expect_equal(varying["sd[car,2,1]", "mean"], mean(draws[, "sd[car,2,1]"]))
  expect_identical(varying["sd[car,2,1]", "group"], "h")
  expect_equal(
    coef(fit)$h["a", "b[car,(Intercept)]"],
    mean(draws[, "b[car,(Intercept)]"] + draws[, "u[car,2,1,1]"])
  )
  term <- "b[on foot,m] | g"
  shown <- gibbsite:::group_coefficients(fit, term, 0.9)
  expect_equal(shown$mean, unname(effects$g[["b[on foot,m]"]]))
})

test_that("pictures have a curve for each category", {
  skip_long()
  data <- category_example()
  fit <- category_fit(r ~ x + f + (1 | g), data)
  made <- gibbsite:::picture_categories(fit, "x", 0.9, NULL)
  shown <- made$table[made$table$category == "car", ]
  new <- data.frame(x = shown$x, f = "p", g = "a")
  expect_equal(
    shown$mean,
    unname(predict(fit, new, "response", re_formula = NA)[, "car"])
  )
  withr::local_pdf(withr::local_tempfile())
  for (type in c("groups", "coefficients", "odds", "response")) {
    expect_identical(plot(fit, type = type), fit)
  }
  expect_identical(plot(fit, type = "response", variable = "f"), fit)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(fit, type = "response"), "ggplot")
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::pp_check(fit), "ggplot")
})

test_that("loo(), kfold() and insight take the categories", {
  skip_long()
  data <- category_example()
  fit <- category_fit(r ~ x + (1 | g), data)
  folds <- quietly(loo::kfold(fit, K = 3, seed = 1, progress = FALSE))
  expect_true(is.finite(folds$estimates[["elpd_kfold", "Estimate"]]))
  expect_identical(nrow(quietly(loo::loo(fit))$pointwise), nrow(data))
  skip_if_not_installed("insight")
  info <- insight::model_info(fit)
  expect_true(info$is_categorical && info$is_bayesian && !info$is_binomial)
})

test_that("responses that are no categories are refused", {
  data <- category_example()
  data$order <- ordered(data$r)
  data$number <- as.integer(data$r)
  data$yes <- data$r == "car"
  data$wide <- factor(data$r, c(levels(data$r), "train"))
  data$one <- factor("a")
  expect_gibbsite_error({
    gibbs_categorical(order ~ x, data)
    gibbs_categorical(number ~ x, data)
    gibbs_categorical(yes ~ x, data)
    gibbs_categorical(one ~ x, data)
    gibbs_categorical(cbind(a, -b) ~ x, data)
    gibbs_categorical(cbind(a, a) ~ x, data)
    gibbs_categorical(cbind(a, v) ~ x, data)
  })
  expect_gibbsite_error(class = "gibbsite_error_empty", {
    gibbs_categorical(wide ~ x, data)
    gibbs_categorical(r ~ x, data, subset = r != "car")
    gibbs_categorical(cbind(a, z = 0 * a) ~ x, data)
  })
})

test_that("other arguments that cannot be are refused", {
  data <- category_example()
  expect_gibbsite_error({
    gibbs_categorical(r ~ 0, data)
    gibbs_categorical(r ~ x, data, weights = 0 * x)
    gibbs_categorical(r ~ x, data, ordinal_prior())
    gibbs_categorical(r ~ x, data, list(car = logistic_prior()))
    gibbs_categorical(r ~ x, data, logistic_prior(slope_variance = Inf))
  })
})

test_that("what categories do not have is refused", {
  data <- category_example()
  fit <- category_fit(r ~ x, data)
  expect_gibbsite_error({
    residuals(fit)
    bayes_R2(fit)
    predict(fit, interval = "prediction")
    predict(fit, data, trials = 2)
    log_lik(fit, transform(data, r = "other"))
  })
  skip_if_not_installed("insight")
  expect_error(insight::get_predicted(fit), class = "gibbsite_error_argument")
})

test_that("a fit and its prior are printed", {
  data <- category_example()
  fit <- category_fit(r ~ x + (1 | g), data)
  expect_snapshot(prior_summary(fit))
  two <- category_fit(r ~ x, data, list(
    "on foot" = logistic_prior(1), car = logistic_prior(slope_sd = 2)
  ))
  expect_snapshot(prior_summary(two))
  # the prior of a fit is that of another
  again <- category_fit(r ~ x, data, prior_summary(two))
  expect_identical(as.matrix(again), as.matrix(two))
})

test_that("the advice names a page that exists", {
  data <- transform(category_example(), size = factor(h, ordered = TRUE))
  calls <- c(
    r ~ x + (1 | g), r ~ x, count ~ x, size ~ x + (1 | g)
  )
  samplers <- list(
    gibbs_categorical, gibbs_categorical, gibbs_count, gibbs_ordinal
  )
  for (i in seq_along(calls)) {
    fit <- quietly(samplers[[i]](
      calls[[i]], data, draws = 2, burnin = 0, chains = 1, seed = 1,
      progress = FALSE
    ))
    words <- gibbsite:::fit_part(fit, "model")$cures
    page <- sub(".*[?]([a-z_]+).*", "\\1", words)
    expect_true(page %in% getNamespaceExports("gibbsite"), label = page)
  }
})

# 16 effective draws of 600 without the move of what all categories of a group
# have in common
test_that("the deviations of groups mix where the first category is rare", {
  skip_long()
  data <- withr::with_seed(1, {
    g <- rep(seq_len(12), 3)
    eta <- cbind(0, 4 + stats::rnorm(12)[g], 4 + stats::rnorm(12)[g])
    counts <- t(apply(exp(eta), 1, stats::rmultinom, n = 1, size = 1000))
    data.frame(a = counts[, 1], b = counts[, 2], c = counts[, 3], g)
  })
  fit <- quietly(gibbs_categorical(
    cbind(a, b, c) ~ (1 | g), data, draws = 300, burnin = 100, chains = 2,
    seed = 1, progress = FALSE
  ))
  deviations <- startsWith(coda::varnames(fit), "u[")
  expect_gt(min(coda::effectiveSize(fit[, deviations])), 150)
})
