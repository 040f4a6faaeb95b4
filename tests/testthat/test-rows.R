# Rows that say nothing of the parameters: a fit with them is a fit without.

# The last row says nothing, by a weight of 0, no trials or a missing response.
few <- withr::with_seed(3, local({
  n <- 21
  x <- c(seq(-1, 1, length.out = n - 1), 40)
  data.frame(
    x = x, g = factor(rep(c("a", "b", "c"), 7), c("a", "b", "c", "d")),
    y = replace(1 + x + rnorm(n, sd = 0.5), n, -300),
    w = replace(rep(c(1, 2), length.out = n), n, 0),
    s = replace(rbinom(n, 3, 0.6), n, 0), trials = replace(rep(3, n), n, 0),
    up = rbinom(n, 1, 0.6)
  )
}))
few$g[21] <- "d"
few$hole <- replace(few$y, 21, NA)

# f(...) evaluated where it stands, because of `weights = w`.
short <- function(f, ...) {
  call <- match.call()
  call[[1]] <- call$f
  call$f <- NULL
  run <- list(draws = 200, chains = 2, seed = 1, progress = FALSE)
  left_out <- setdiff(names(run), names(call))
  call[left_out] <- run[left_out]
  quietly(suppressMessages(eval(call, parent.frame())))
}

# fit_to(data): the rows of data that say something are all but the last.
silent_rows <- list(
  "lm, weight 0" = function(data) {
    short(gibbs_lm, y ~ x, data, weights = w)
  },
  "lm, no response" = function(data) {
    short(gibbs_lm, hole ~ x, data, na_action = "impute")
  },
  "lm by matrix, conjugate" = function(data) {
    x <- cbind("(Intercept)" = 1, x = data$x)
    short(gibbs_lm, x, data$y, lm_prior("nig"), weights = data$w)
  },
  "horseshoe, weight 0" = function(data) {
    short(gibbs_lm, y ~ x, data, lm_prior("horseshoe"), weights = w)
  },
  "hlm, weight 0" = function(data) {
    data$g[data$g == "d"] <- "a"
    short(gibbs_hlm, y ~ x + (1 | g), data, weights = w)
  },
  "logistic, weight 0" = function(data) {
    short(gibbs_logistic, up ~ x, data, weights = w)
  },
  "logistic, no trials" = function(data) {
    short(gibbs_logistic, cbind(s, trials - s) ~ x, data)
  },
  "probit, no trials" = function(data) {
    short(gibbs_logistic, cbind(s, trials - s) ~ x, data, link = "probit")
  },
  "grouped, no trials" = function(data) {
    data$g[data$g == "d"] <- "a"
    short(gibbs_logistic, cbind(s, trials - s) ~ x + (1 | g), data)
  },
  "laplace, no trials" = function(data) {
    short(laplace_logistic, cbind(s, trials - s) ~ x, data)
  },
  "laplace, weight 0" = function(data) {
    short(laplace_logistic, up ~ x, data, weights = w, correct = "importance")
  }
)

of_fit <- function(f, fit) withr::with_seed(5, f(fit))

test_that("a regression with a silent row is that without it", {
  skip_long()
  some <- "lm, weight 0"
  for (name in fast_or(some, names(silent_rows))) {
    with <- silent_rows[[name]](few)
    less <- silent_rows[[name]](few[-21, ])
    expect_identical(nobs(with), 20L, info = name)
    expect_equal(glance(with)$nobs, 20, info = name)
    expect_output(print(with), "20\\s+observations")
    # the same draws
    expect_equal(as.matrix(with), as.matrix(less), info = name)
    own <- of_fit(log_lik, with)
    expect_identical(ncol(own), 20L, info = name)
    expect_equal(own, of_fit(log_lik, less), ignore_attr = TRUE, info = name)
    expect_equal(of_fit(bayes_R2, with), of_fit(bayes_R2, less), info = name)
    judges <- list(
      loo::loo, loo::waic,
      function(fit) loo::kfold(fit, K = fast_or(2, 4), seed = 1)
    )
    for (judge in lapply(judges, function(f) {
      function(fit) suppressWarnings(f(fit))
    })) {
      one <- of_fit(judge, with)
      other <- of_fit(judge, less)
      expect_identical(rownames(one$pointwise), as.character(1:20), info = name)
      expect_equal(one$estimates, other$estimates, info = name)
      expect_identical(attr(one, "yhash"), attr(other, "yhash"), info = name)
    }
    if (!startsWith(name, "horseshoe") && !startsWith(name, "grouped")) {
      value <- function(fit) {
        as.numeric(suppressWarnings(log_evidence(fit, seed = 1)))
      }
      expect_equal(value(with), value(less), info = name)
    }
    # each row of the data has an answer
    expect_length(predict(with), 21L)
    expect_length(residuals(with), 21L)
    if (!inherits(with, "gibbs_hlm")) {
      expect_identical(nrow(augment(with)), 21L)
    }
    expect_identical(ncol(of_fit(posterior_predict, with)), 21L)
  }
})

test_that("the silent row may be any, and the others keep their names", {
  skip_long()
  holes <- few[c(21, 1:20), ]
  rownames(holes) <- paste0("r", 0:20)
  fit <- short(gibbs_logistic, cbind(s, trials - s) ~ x, holes)
  found <- suppressWarnings(loo::loo(fit))
  expect_identical(rownames(found$pointwise), paste0("r", 1:20))
  fold <- quietly(loo::kfold(fit, folds = rep(1:2, 10), seed = 1))
  expect_identical(rownames(fold$pointwise), paste0("r", 1:20))
  # observation i of the moved draws is that of loo()
  known <- gibbsite:::model_density(attr(fit, "model"))
  rows <- as.matrix(fit)
  each <- vapply(1:20, function(i) known$log_lik(rows, i), numeric(400))
  expect_equal(each, log_lik(fit), ignore_attr = TRUE)
  # rows without names have numbers
  bare <- short(gibbs_lm, cbind(1, holes$x), holes$y, weights = holes$w)
  expect_identical(colnames(log_lik(bare)), as.character(2:21))
  whole <- short(gibbs_lm, cbind(1, few$x[1:20]), few$y[1:20])
  expect_null(colnames(log_lik(whole)))
})

test_that("a group without observations is none", {
  skip_long()
  with <- short(gibbs_hlm, y ~ x + (1 | g), few, weights = w)
  less <- short(gibbs_hlm, y ~ x + (1 | g), few[-21, ], weights = w)
  prior <- prior_summary(with)
  expect_equal(prior, prior_summary(less))
  expect_identical(colnames(log_lik(with, by = "group")), c("a", "b", "c"))
  # other draws: the group of no rows has random numbers
  value <- function(fit) suppressWarnings(log_evidence(fit, seed = 1))
  one <- value(with)
  other <- value(less)
  error <- sqrt(attr(one, "se")^2 + attr(other, "se")^2)
  expect_lt(abs(as.numeric(one) - as.numeric(other)), 4.5 * error)
  found <- quietly(loo::kfold(with, folds = 1:3, by = "group", seed = 1))
  expect_identical(rownames(found$pointwise), c("a", "b", "c"))
  # the group in the middle
  moved <- transform(few, g = factor(g, c("a", "d", "b", "c")))
  moved <- short(gibbs_hlm, y ~ x + (1 | g), moved, weights = w)
  again <- quietly(loo::kfold(moved, folds = 1:3, by = "group", seed = 1))
  expect_lt(max(abs(again$pointwise[, 1] - found$pointwise[, 1])), 1)
  grouped <- short(gibbs_logistic, cbind(s, trials - s) ~ x + (1 | g), few)
  expect_identical(ncol(log_lik(grouped)), 20L)
  expect_identical(nobs(grouped), 20L)
})

# ---- mixtures ----------------------------------------------------------------

test_that("a mixture with a row without values is that without it", {
  skip_unless_extended()
  x <- unname(as.matrix(datasets::faithful)[1:60, ])
  x[5, 1] <- NA
  holes <- rbind(NA, x)
  mixture <- function(x, k, ...) {
    short(
      gibbs_gmm, x, k, na_action = "impute", ..., draws = 1000
    )
  }
  for (k in 1:2) {
    forms <- c("full", "diagonal", "shared")
    for (form in forms) {
      with <- mixture(holes, k, covariance = form, keep = "z")
      less <- mixture(x, k, covariance = form)
      expect_equal(prior_summary(with), prior_summary(less))
      expect_identical(nobs(with), 60L)
      expect_output(print(with), "60\\s+observations")
      expect_identical(colnames(log_lik(with)), as.character(2:61))
      one <- log_evidence(with, seed = 1)
      other <- log_evidence(less, seed = 1)
      error <- sqrt(attr(one, "se")^2 + attr(other, "se")^2)
      expect_lt(abs(as.numeric(one) - as.numeric(other)), 4.5 * error)
      one <- suppressWarnings(loo::loo(with))
      other <- suppressWarnings(loo::loo(less))
      error <- sqrt(sum(one$pointwise[, "mcse_elpd_loo"]^2) +
                      sum(other$pointwise[, "mcse_elpd_loo"]^2))
      away <- one$estimates["elpd_loo", 1] - other$estimates["elpd_loo", 1]
      expect_lt(abs(away), 4.5 * error)
      # a fold's fit has the observations alone
      folds <- rep(1:3, 20)
      expect_equal(
        quietly(loo::kfold(with, folds = folds, seed = 1))$estimates[1, ],
        quietly(loo::kfold(less, folds = folds, seed = 1))$estimates[1, ]
      )
      # but each row has an allocation
      expect_identical(nrow(coclustering(with)), 61L)
      expect_length(predict(with), 61L)
      expect_identical(dim(allocation_probabilities(with)$prob)[[1]], 61L)
    }
  }
  expect_output(
    print(compare_k(one = mixture(holes, 1), two = with, seed = 1)),
    "same 60 observations"
  )
  free <- mixture(holes, unknown_k(3), keep = c("components", "z"))
  expect_identical(nobs(free), 60L)
  expect_identical(colnames(log_lik(free)), as.character(2:61))
  expect_identical(nrow(suppressWarnings(loo::loo(free))$pointwise), 60L)
  expect_length(point_clustering(free), 61L)
})

# ---- topics and ratings ------------------------------------------------------

test_that("a document without words is no observation", {
  skip_unless_extended()
  words <- rbind(matrix(1:12 %% 5, 4), 0)[c(1, 5, 2:4), ]
  rownames(words) <- c("a", "none", "b", "c", "d")
  topics <- function(x) {
    short(gibbs_lda, x, 2, empty = "keep", keep = c("theta", "phi"))
  }
  with <- topics(words)
  expect_identical(nobs(with), nobs(topics(words[-2, ])))
  expect_identical(colnames(log_lik(with)), c("a", "b", "c", "d"))
  found <- suppressWarnings(loo::loo(with))
  expect_identical(rownames(found$pointwise), c("a", "b", "c", "d"))
  expect_true(all(is.finite(found$diagnostics$pareto_k)))
  expect_identical(nrow(predict(with)), 5L)
  # one fold holds the empty document alone
  compared <- quietly(compare_k(one = with, two = with, folds = 5, seed = 1))
  expect_true(all(is.finite(compared$perplexity)))
})

test_that("users and items without ratings are no observations", {
  rated <- data.frame(
    user = factor(rep(1:4, each = 3), 1:5),
    item = factor(c(1:3, 2:4, 1:3, 2:4), 1:6),
    value = c(1, 2, 3, 2, 4, 1, 5, 2, 2, 3, 3, 1)
  )
  fit <- short(gibbs_bmf, rated, 1)
  expect_identical(nobs(fit), 12L)
  expect_identical(ncol(log_lik(fit)), 12L)
  expect_identical(nrow(suppressWarnings(loo::loo(fit))$pointwise), 12L)
  expect_length(residuals(fit), 12L)
})

# ---- rows of several trials --------------------------------------------------

test_that("loo() says that a row of several trials is one observation", {
  skip_long()
  counts <- data.frame(
    x = -3:3, s = c(0, 40, 0, 20, 40, 0, 40), trials = 40
  )
  fit <- short(gibbs_logistic, cbind(s, trials - s) ~ x, counts)
  cnd <- rlang::catch_cnd(loo::loo(fit), "gibbsite_warning_pareto_k")
  expect_match(conditionMessage(cnd), "a row for each trial")
  single <- data.frame(
    x = rep(counts$x, each = 40),
    up = unlist(lapply(counts$s, function(s) rep(1:0, c(s, 40 - s))))
  )
  expanded <- short(gibbs_logistic, up ~ x, single)
  expect_no_warning(loo::loo(expanded))
})
