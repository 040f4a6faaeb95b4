# gibbs_lm() and gibbs_hlm() with errors = "t": the methods of their fits.

short_t <- function(f, ...) {
  call <- match.call(expand.dots = FALSE)
  short <- list(
    errors = "t", draws = 30, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  )
  given <- call$...
  short[intersect(names(given), names(short))] <- NULL
  quietly(eval(as.call(c(call$f, given, short)), parent.frame()))
}

loss <- once(function() {
  short_t(gibbs_lm, stack.loss ~ ., stackloss, draws = NULL, burnin = 1000)
})

t_groups <- function() {
  data <- hlm_example()
  data$h <- rep_len(letters[1:3], nrow(data))
  data
}

one_bar <- once(function() short_t(gibbs_hlm, y ~ x + (x | g), t_groups()))

two_bars <- once(function() {
  short_t(gibbs_hlm, y ~ x + (1 | g) + (1 | h), t_groups(), weights = v)
})

test_that("print, the prior and the columns say what the errors are", {
  expect_match(format(prior_summary(loss())), "t_nu", all = FALSE, fixed = TRUE)
  expect_output(print(loss()), "Linear regression with t errors")
  expect_output(print(one_bar()), "Hierarchical linear regression with t errors")
  expect_identical(
    colnames(loss()[[1]]),
    c(names(coef(loss())), "sigma", "nu", "lambda", "log_lik")
  )
  expect_identical(
    head(colnames(one_bar()[[1]]), 8),
    c("(Intercept)", "x", "sd[1]", "sd[2]", "cor[2,1]", "sigma", "nu",
      "log_lik")
  )
  fixed <- short_t(
    gibbs_lm, stack.loss ~ ., stackloss, prior = lm_prior(nu = 4)
  )
  expect_output(print(fixed), "t errors (nu = 4)", fixed = TRUE)
  expect_false("nu" %in% colnames(fixed[[1]]))
  expect_match(format(lm_prior(nu = 4)), "nu = 4", all = FALSE)
  expect_match(format(hlm_prior()), "y_i | b, u ~ N(", all = FALSE,
               fixed = TRUE)
})

test_that("log_lik() is the density of t, and the column is its sum", {
  for (fit in list(loss(), one_bar(), two_bars())) {
    model <- gibbsite:::fit_part(fit, "model")
    draws <- do.call(rbind, gibbsite:::chain_matrices(fit))
    each <- log_lik(fit)
    expect_equal(unname(rowSums(each)), unname(draws[, "log_lik"]))
    eta <- posterior_linpred(fit)
    sd <- outer(draws[, "sigma"], 1 / sqrt(unname(weights(fit))))
    z <- (rep(model$frame$y, each = nrow(eta)) - eta) / sd
    expect_equal(
      unname(each), unname(dt(z, draws[, "nu"], log = TRUE) - log(sd))
    )
  }
})

test_that("the predictor is that of the stored coefficients", {
  draws <- do.call(rbind, gibbsite:::chain_matrices(one_bar()))
  data <- t_groups()
  g <- match(data$g, sort(unique(data$g)))
  at <- function(k) draws[, sprintf("w[%d,%d]", k, g)]
  expect_equal(
    unname(posterior_linpred(one_bar())),
    unname(at(1) + at(2) * rep(data$x, each = nrow(draws)))
  )
  expect_equal(
    unname(as.matrix(coef(one_bar())$g[c("(Intercept)", "x")])),
    matrix(colMeans(draws[, grep("^w", colnames(draws))]), ncol = 2,
           byrow = TRUE)
  )
})

test_that("predictions are those of the mixture of t distributions", {
  skip_long()
  fit <- loss()
  new <- stackloss[c(1, 7), ]
  table <- predict(fit, new, interval = "prediction", level = 0.8)
  draws <- do.call(rbind, gibbsite:::chain_matrices(fit))
  eta <- posterior_linpred(fit, newdata = new)
  for (i in 1:2) {
    below <- function(x) {
      mean(pt((x - eta[, i]) / draws[, "sigma"], draws[, "nu"]))
    }
    expect_equal(below(table$lower[[i]]), 0.1, tolerance = 1e-6)
    expect_equal(below(table$upper[[i]]), 0.9, tolerance = 1e-6)
  }
  expect_identical(is.finite(table$sd), rep(all(draws[, "nu"] > 2), 2))
  # the same by draws
  withr::local_seed(3)
  y <- posterior_predict(fit, newdata = new[1, ])
  inside <- mean(y > table$lower[[1]] & y < table$upper[[1]])
  expect_lt(abs(inside - 0.8), 5 * sqrt(0.16 / length(y)))
  # a new group has the deviation and the error
  groups <- one_bar()
  wide <- predict(
    groups, data.frame(x = 3, g = "new"), interval = "prediction",
    allow_new_levels = TRUE, level = 0.5
  )
  eta <- replicate(40, posterior_predict(
    groups, newdata = data.frame(x = 3, g = "new"), allow_new_levels = TRUE
  ))
  share <- mean(eta > wide$lower & eta < wide$upper)
  expect_lt(abs(share - 0.5), 0.05)
})

test_that("augment() has the weights of the observations", {
  out <- augment(loss())
  draws <- do.call(rbind, gibbsite:::chain_matrices(loss()))
  z <- (rep(stackloss$stack.loss, each = nrow(draws)) -
          posterior_linpred(loss())) / draws[, "sigma"]
  nu <- draws[, "nu"]
  expect_equal(out$.weight, unname(colMeans((nu + 1) / (nu + z^2))))
  expect_identical(which.min(out$.weight), 21L)
  expect_null(augment(
    quietly(gibbs_lm(stack.loss ~ ., stackloss, draws = 10, burnin = 5,
                     seed = 1, progress = FALSE))
  )$.weight)
})

test_that("rows that were left out have no weight", {
  gaps <- datasets::stackloss
  gaps$Air.Flow[c(2, 5)] <- NA
  fit <- quietly(gibbs_lm(
    stack.loss ~ ., gaps, na_action = "exclude", errors = "t", draws = 10,
    burnin = 5, chains = 1, seed = 1, progress = FALSE
  ))
  own <- augment(fit)
  all <- augment(fit, data = gaps)
  expect_identical(dim(own), c(19L, 10L))
  expect_identical(all$.weight[-c(2, 5)], own$.weight)
  expect_identical(which(is.na(all$.weight)), c(2L, 5L))
})

test_that("the methods of regressions have answers", {
  skip_long()
  withr::local_seed(4)
  for (fit in list(loss(), one_bar(), two_bars())) {
    r2 <- bayes_R2(fit)
    expect_true(all(r2 >= 0 & r2 <= 1))
    heavy <- do.call(rbind, gibbsite:::chain_matrices(fit))[, "nu"] <= 2
    expect_true(all(r2[heavy] == 0))
    expect_identical(family(fit)$family, "student")
    expect_gt(sigma(fit), 0)
    expect_length(simulate(fit, 2, seed = 1), 2)
    expect_true(all(is.finite(residuals(fit, "pearson"))))
    expect_s3_class(tidy(fit), "data.frame")
    expect_s3_class(glance(fit), "data.frame")
    expect_s3_class(summary(fit), "gibbsite_summary")
    grDevices::pdf(NULL)
    expect_identical(plot(fit, type = "response"), fit)
    if (is_extended()) expect_identical(plot(fit), fit)
    grDevices::dev.off()
  }
  expect_identical(names(nlme::ranef(two_bars())), c("g", "h"))
  expect_identical(rownames(nlme::VarCorr(one_bar()))[[4]], "sigma")
})

test_that("fits of the rows that are left give kfold() and loo()", {
  skip_long()
  for (fit in list(one_bar(), two_bars())) {
    folds <- quietly(loo::kfold(fit, K = 2, seed = 1, progress = FALSE))
    expect_s3_class(folds, "kfold")
  }
  normal <- gibbs_lm(stack.loss ~ ., stackloss, seed = 1, progress = FALSE)
  expect_gt(
    loo::loo(loss())$estimates[1, 1], quietly(loo::loo(normal))$estimates[1, 1]
  )
})

test_that("runs can be extended, cut and resumed", {
  skip_long()
  for (call in list(
    quote(gibbs_lm(y ~ x + m, t_groups(), weights = v)),
    quote(gibbs_hlm(y ~ x + (x | g), t_groups())),
    quote(gibbs_hlm(y ~ x + (1 | g) + (1 | h), t_groups()))
  )) {
    call$errors <- "t"
    call[c("seed", "chains", "burnin")] <- list(3, 2, 10)
    call$progress <- FALSE
    run <- function(draws, ...) {
      call$draws <- draws
      quietly(eval(as.call(c(as.list(call), list(...)))))
    }
    whole <- run(12)
    expect_identical(
      lapply(quietly(extend(run(5), 7, progress = FALSE)), unclass),
      lapply(whole, unclass)
    )
    folder <- withr::local_tempfile()
    expect_identical(
      lapply(run(12, checkpoint = folder), unclass), lapply(whole, unclass)
    )
  }
})

test_that("starting values are taken and returned", {
  fit <- short_t(
    gibbs_lm, stack.loss ~ ., stackloss, chains = 1,
    inits = list(list(sigma = 2, nu = 3, lambda = 0.1))
  )
  expect_identical(nchains(fit), 1L)
  model <- gibbsite:::fit_part(one_bar(), "model")
  state <- withr::with_seed(1, gibbsite:::model_start(model, NULL))
  init <- gibbsite:::model_init_from_state(model, state)
  expect_named(init, c("sigma", "nu", "Sigma"))
  again <- gibbsite:::model_start(
    model, gibbsite:::model_check_init(model, init, "inits", NULL)
  )
  expect_equal(again, state)
})

test_that("the evidence of a regression is that of quadrature", {
  y <- c(0.3, 1.1, -0.4, 0.8, 6)
  prior <- lm_prior(
    noise_shape = 2, noise_rate = 2, intercept_mean = 0, intercept_sd = 2,
    nu = 3
  )
  fit <- gibbs_lm(
    y ~ 1, data.frame(y), prior = prior, errors = "t", seed = 1,
    progress = FALSE
  )
  at <- expand.grid(
    alpha = seq(-9, 9, length.out = 301), s = seq(-4, 4, length.out = 161)
  )
  log_p <- dnorm(at$alpha, 0, 2, log = TRUE) +
    dgamma(exp(-2 * at$s), 2, 2, log = TRUE) + log(2) - 2 * at$s
  for (value in y) {
    log_p <- log_p + dt((value - at$alpha) / exp(at$s), 3, log = TRUE) - at$s
  }
  exact <- log(sum(exp(log_p))) + log(18 / 300) + log(8 / 160)
  found <- log_evidence(fit)
  expect_lt(abs(as.double(found) - exact), 0.03)
})

test_that("with many degrees of freedom the errors are normal", {
  d <- t_groups()
  run <- function(...) {
    gibbs_hlm(y ~ x + (1 | g), d, ..., seed = 2, draws = 2000, progress = FALSE)
  }
  heavy <- run(prior = hlm_prior(nu = 1e8), errors = "t")
  normal <- run()
  for (name in c("x", "sigma", "sd[1]")) {
    value <- function(fit) {
      vapply(gibbsite:::chain_matrices(fit), function(m) m[, name], 0 * 1:2000)
    }
    a <- value(heavy)
    b <- value(normal)
    se <- sqrt(posterior::mcse_mean(a)^2 + posterior::mcse_mean(b)^2)
    expect_lt(abs(mean(a) - mean(b)) / se, 4.5)
  }
})

test_that("what t errors do not go with is refused", {
  d <- t_groups()
  expect_gibbsite_error({
    gibbs_lm(y ~ x, d, errors = "cauchy")
    gibbs_lm(y ~ x, d, prior = lm_prior(nu = 4))
    gibbs_lm(y ~ x, d, prior = lm_prior("nig"), errors = "t")
    gibbs_lm(y ~ x, d, prior = lm_prior("horseshoe"), errors = "t")
    gibbs_lm(y ~ x, d, keep = "y", errors = "t")
    gibbs_lm(y ~ nu, transform(d, nu = x), errors = "t")
    gibbs_hlm(y ~ x + (1 | g), d, prior = hlm_prior(nu = 4))
    gibbs_hlm(y ~ x + (1 | g), d, se = v, errors = "t")
    lm_prior(nu = 0)
    hlm_prior(nu = c(1, 2))
    log_evidence(one_bar())
    log_evidence(two_bars())
    plot(one_bar(), type = "shrinkage")
    gibbs_lm(y ~ x, d, errors = "t", inits = list(list(tau = 1)), chains = 1)
    gibbs_hlm(
      y ~ x + (1 | g), d, errors = "t", inits = list(list(nu = -1)), chains = 1
    )
  })
})
