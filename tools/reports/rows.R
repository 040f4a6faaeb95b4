# Rows that say nothing, folds, and what a fit keeps.

quick <- function(code) suppressWarnings(suppressMessages(code))
run <- list(draws = 400, chains = 2, seed = 1, progress = FALSE)
fit <- function(f, ...) {
  call <- match.call()
  call[[1]] <- call$f
  call$f <- NULL
  left_out <- setdiff(names(run), names(call))
  call[left_out] <- run[left_out]
  quick(eval(call, parent.frame()))
}

set.seed(1)
line <- data.frame(x = 1:20)
line$y <- 2 + line$x + rnorm(20)
half <- rep(1:2, each = 10)
by_hand <- function(whole, of) {
  sum(vapply(1:2, function(h) {
    refit <- of(line[half != h, ], prior_summary(whole))
    sum(log(colMeans(exp(log_lik(refit, line[half == h, ])))))
  }, 0))
}
for (type in c("nig", "hierarchical", "horseshoe")) {
  of <- function(data, prior = lm_prior(type)) {
    fit(gibbs_lm, y ~ x, data, prior, draws = 4000)
  }
  right(paste("kfold() of sorted halves, a line with the prior", type), {
    whole <- of(line)
    fold <- quick(loo::kfold(whole, folds = half, seed = 2))$estimates[1, 1]
    # 8000 draws: a standard error of each sum below 0.2
    abs(fold - by_hand(whole, of)) < 1.3
  })
}

counts <- data.frame(
  x = -2:2, s = c(1, 0, 2, 0, 3), n = c(3, 0, 3, 2, 3)
)
right("a row without trials is counted by neither nobs() nor loo()", {
  bare <- fit(gibbs_logistic, cbind(s, n - s) ~ x, counts)
  found <- quick(loo::loo(bare))
  nobs(bare) == 4 && nrow(found$pointwise) == 4 &&
    identical(rownames(found$pointwise), c("1", "3", "4", "5")) &&
    all(is.finite(found$diagnostics$pareto_k))
})
right("a fit with a row of weight 0 is the fit without the row", {
  line$w <- replace(rep(1, 20), 7, 0)
  with <- fit(gibbs_lm, y ~ x, line, lm_prior("nig"), weights = w)
  less <- fit(gibbs_lm, y ~ x, line[-7, ], lm_prior("nig"))
  nobs(with) == 19 && all.equal(
    c(log_evidence(with), quick(loo::loo(with))$estimates,
      mean(bayes_R2(with))),
    c(log_evidence(less), quick(loo::loo(less))$estimates,
      mean(bayes_R2(less)))
  )
})

holes <- rbind(NA, as.matrix(datasets::faithful)[1:60, ])
mixture <- fit(gibbs_gmm, holes, 2, na_action = "impute", keep = "z")
plain <- fit(gibbs_gmm, holes[-1, ], 2)
right("log_evidence() of a mixture with a row without values", {
  one <- quick(log_evidence(mixture, seed = 1))
  other <- quick(log_evidence(plain, seed = 1))
  abs(one - other) < 5 * sqrt(attr(one, "se")^2 + attr(other, "se")^2)
})
right("compare_k() of such mixtures", {
  one <- fit(gibbs_gmm, holes, 1, na_action = "impute")
  nrow(quick(compare_k(one, mixture, seed = 1))) == 2
})
right("nobs() and loo() count the rows with values alone", {
  nobs(mixture) == 60 && nrow(quick(loo::loo(mixture))$pointwise) == 60
})
told("a row of many trials with a high Pareto k",
  loo::loo(fit(
    gibbs_logistic, cbind(s, 40 - s) ~ x,
    data.frame(x = -3:3, s = c(0, 40, 0, 20, 40, 0, 40))
  )),
  "a row for each trial"
)
refused("allocations that were not kept", coclustering(plain), "keep = \"z\"")
refused("loo() of groups, which it would not notice", {
  fit <- suppressWarnings(gibbs_hlm(
    mpg ~ wt + (1 | cyl), mtcars, draws = 50, seed = 1, progress = FALSE
  ))
  loo::loo(fit, by = "cyl")
}, "kfold\\(x, by = \\)")
