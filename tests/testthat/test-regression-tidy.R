# tidy(effects =) of regressions with groups, and the coefficients of groups
# that it shares with the pictures.

grouped <- once(grouped_fits)

test_that("the rows of each effect are those of the methods", {
  skip_long()
  fits <- grouped()
  some <- c("crossed", "logit", "ordered", "three")
  for (name in fast_or(some, names(fits))) {
    fit <- fits[[name]]
    draws <- as.matrix(fit)
    all <- tidy(fit)
    fixed <- tidy(fit, effects = "fixed")
    columns <- c(
      "estimate", "std.error", "conf.low", "conf.high", "rhat", "ess"
    )
    expect_equal(
      fixed[columns], all[match(fixed$term, all$term), columns],
      ignore_attr = TRUE, label = name
    )
    spread <- tidy(fit, effects = "ran_pars")
    expect_equal(spread$estimate, nlme::VarCorr(fit)$mean)
    own <- tidy(fit, effects = "ran_vals")
    deviations <- nlme::ranef(fit)
    expect_equal(
      own$estimate, unlist(deviations, use.names = FALSE), label = name
    )
    expect_gt(stats::sd(own$estimate), 0, label = name)
    expect_false(anyNA(own[c("rhat", "ess")]), label = name)
    expect_identical(
      unique(own$level), unique(unlist(lapply(deviations, rownames)))
    )
    u <- grep("^u\\[", colnames(draws))
    if (length(u) == nrow(own)) {
      ends <- apply(
        draws[, u, drop = FALSE], 2, stats::quantile, c(0.025, 0.975)
      )
      expect_setequal(round(own$conf.low, 8), round(unname(ends[1, ]), 8))
      expect_setequal(round(own$conf.high, 8), round(unname(ends[2, ]), 8))
      # of draws that are stored
      expect_setequal(
        own$ess, all$ess[match(colnames(draws)[u], all$term)]
      )
      expect_setequal(
        own$rhat, all$rhat[match(colnames(draws)[u], all$term)]
      )
    }
  }
})

test_that("a formula without fixed effects has no rows of them", {
  fit <- quietly(gibbs_hlm(
    mpg ~ 0 + (1 | cyl), datasets::mtcars, draws = 20, burnin = 20, chains = 2,
    seed = 1, progress = FALSE
  ))
  fixed <- tidy(fit, effects = "fixed")
  expect_identical(nrow(fixed), 0L)
  all <- tidy(fit, effects = c("fixed", "ran_pars", "ran_vals"))
  expect_identical(names(fixed), names(all))
  expect_equal(all$estimate[3:5], nlme::ranef(fit)$cyl[[1]])
})

test_that("the coefficients of the groups in pictures are those of coef()", {
  fits <- grouped()
  for (name in setdiff(names(fits), c("two", "three"))) {
    fit <- fits[[name]]
    for (id in group_terms(attr(fit, "model"))) {
      at <- group_term(attr(fit, "model"), id)
      drawn <- group_coefficients(fit, id, 0.95)
      expect_equal(
        drawn$mean, coef(fit)[[at$name]][[at$term]], label = paste(name, id)
      )
    }
  }
})

test_that("deviations of imputed data are those of each data set", {
  cars <- transform(datasets::mtcars, cyl = factor(cyl))
  of <- function(data) {
    quietly(gibbs_hlm(mpg ~ wt + (1 | cyl), data, draws = 60, burnin = 60,
                      chains = 2, seed = 1, progress = FALSE))
  }
  away <- withr::with_seed(1, stats::rnorm(nrow(cars), 0, 0.6))
  fit <- quietly(combine_fits(
    of(cars), of(transform(cars, wt = wt + away)), data = "imputed"
  ))
  expect_equal(
    tidy(fit, effects = "ran_vals")$estimate, nlme::ranef(fit)$cyl[[1]]
  )
})

test_that("ratios and intervals touch what they say", {
  skip_long()
  cars <- transform(datasets::mtcars, cyl = factor(cyl))
  fit <- quietly(gibbs_count(
    carb ~ wt + (1 | cyl), cars, draws = 60, burnin = 60, chains = 2, seed = 1,
    progress = FALSE
  ))
  kinds <- c("fixed", "ran_pars", "ran_vals")
  plain <- tidy(fit, effects = kinds)
  ratios <- tidy(fit, effects = kinds, exponentiate = TRUE)
  fixed <- plain$effect == "fixed"
  expect_equal(ratios$estimate[fixed], exp(plain$estimate[fixed]))
  expect_identical(ratios[!fixed, ], plain[!fixed, ])
  expect_identical(
    names(tidy(fit, effects = kinds, conf.int = FALSE)),
    setdiff(names(plain), c("conf.low", "conf.high"))
  )
  wide <- tidy(fit, 0.99, effects = kinds)
  expect_true(all(wide$conf.low <= plain$conf.low))
  expect_gibbsite_error({
    tidy(fit, effects = "random")
    tidy(fit, effects = character())
    tidy(quietly(gibbs_lm(mpg ~ wt, cars, draws = 20, progress = FALSE)),
         effects = "ran_vals")
  })
})

test_that("fits without groups have fixed effects and sigma", {
  fit <- quietly(gibbs_lm(dist ~ speed, cars, draws = 50, seed = 1))
  table <- generics::tidy(fit, effects = c("fixed", "ran_pars", "ran_vals"))
  expect_identical(
    table$term, c("(Intercept)", "speed", "sd__Observation")
  )
  expect_identical(table$group, c(NA, NA, "Residual"))
  expect_equal(table$estimate[[3L]], mean(as.matrix(fit)[, "sigma"]))
  counts <- quietly(gibbs_count(carb ~ wt, mtcars, draws = 50, seed = 1))
  expect_identical(
    generics::tidy(counts, effects = c("fixed", "ran_pars"))$effect,
    c("fixed", "fixed")
  )
})
