# Packages that read every fit: their numbers against those of the package.

short <- function(f, ..., draws = 80, burnin = 60) {
  quietly(f(
    ..., draws = draws, burnin = burnin, chains = 2, seed = 1, progress = FALSE
  ))
}

mixture <- once(function() short(gibbs_gmm, faithful, 2))
line <- once(function() short(gibbs_lm, mpg ~ wt + qsec, mtcars))
chicks <- transform(
  as.data.frame(datasets::ChickWeight)[1:220, ],
  Chick = factor(as.character(Chick)), heavy = as.integer(weight > 90)
)
flock <- once(function() {
  short(gibbs_hlm, weight ~ Time + (1 | Chick), chicks)
})
heavy <- once(function() {
  short(gibbs_logistic, heavy ~ Time + (1 | Chick), chicks)
})
topics_with <- function(...) {
  corpus <- withr::with_seed(1, sim_lda(20, k = 2, terms = 15, tokens = 30))
  short(gibbs_lda, corpus$x, 2, ...)
}
topics <- once(topics_with)
own_numbers <- function(fit, names, column) {
  table <- as.data.frame(summary.gibbsite_fit(fit))
  table[[column]][match(names, table$variable)]
}

# ---- rstantools and tidybayes ------------------------------------------------

test_that("`ndraws` and `re_formula` are taken by all", {
  skip_long()
  ratings <- withr::with_seed(1, sim_bmf(12, 10, rank = 2, share = 0.5))
  fits <- list(
    line(), short(gibbs_logistic, am ~ wt, mtcars),
    quietly(laplace_logistic(am ~ wt, mtcars, draws = 80, chains = 2, seed = 1,
                             progress = FALSE)),
    flock(), heavy(), short(gibbs_bmf, ratings, 2)
  )
  generics <- list(posterior_epred, posterior_linpred, posterior_predict)
  turn <- 0
  for (fit in fits) {
    for (draw in generics) {
      few <- withr::with_seed(1, draw(fit, ndraws = 7))
      expect_identical(nrow(few), 7L)
      turn <- turn + 1
      for (wrong in list(0, 1e6, "a")[fast_or(1 + turn %/% 2 %% 3, 1:3)]) {
        expect_error(
          draw(fit, ndraws = wrong), "ndraws",
          class = "gibbsite_error_argument"
        )
      }
      if (identical(draw, posterior_epred) || is_extended()) {
        expect_error(
          draw(fit, re_formula = ~ x), class = "gibbsite_error_argument"
        )
      }
      if (is.null(attr(fit, "model")$group_name)) {
        expect_identical(
          withr::with_seed(1, draw(fit, ndraws = 7, re_formula = NA)), few
        )
      }
    }
  }
})

test_that("the number of draws to use is `ndraws`, and not `draws`", {
  skip_long()
  ratings <- withr::with_seed(1, sim_bmf(12, 10, rank = 2, share = 0.5))
  mh <- short(mh_sample, function(x) -sum(x^2) / 2, c(a = 0))
  by_own <- function(f) function(fit, ...) f(fit, function(x, ...) x[[1]], ...)
  expected <- list(posterior_epred, posterior_linpred, posterior_predict)
  answers <- list(
    list(line(), c(expected, log_lik, bayes_R2, predictive_interval,
                   bayesplot::pp_check)),
    list(short(gibbs_bmf, ratings, 2),
         c(expected, log_lik, predict, predictive_interval,
           bayesplot::pp_check)),
    list(mixture(), c(log_lik, posterior_predict, bayesplot::pp_check)),
    list(topics(), c(log_lik, posterior_predict, predict)),
    list(mh, lapply(c(posterior_epred, posterior_predict, log_lik), by_own))
  )
  for (answer in answers[fast_or(c(1, 3), seq_along(answers))]) {
    for (f in answer[[2]]) {
      expect_error(
        f(answer[[1]], draws = 7), "ndraws", class = "gibbsite_error_argument"
      )
    }
  }
  fit <- line()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    posterior_predict(fit, draws = 7)
    bayesplot::pp_check(fit, draws = 7)
    posterior_predict(mh, function(x, ...) x[["a"]], draws = 7)
    gibbs_lm(dist ~ speed, cars, ndraws = 7)
  })
})

test_that("what a fit cannot predict is an error that says so", {
  skip_long()
  gmm <- mixture()
  lda <- topics()
  mh <- short(mh_sample, function(x) -sum(x^2) / 2, c(a = 0))
  own <- short(gibbs_sample, list(u = function(state) rnorm(1)), list(u = 0))
  fit <- line()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    posterior_epred(gmm)
    posterior_linpred(gmm)
    posterior_epred(lda)
    posterior_linpred(lda)
    posterior_epred(mh)
    posterior_linpred(mh)
    posterior_predict(mh)
    posterior_epred(own)
    posterior_linpred(own)
    posterior_predict(own)
    bayesplot::pp_check(mh)
    posterior_epred(fit, ndraws = 1e6)
  })
})

test_that("tidy() leaves out the interval", {
  skip_long()
  laplace <- quietly(laplace_logistic(
    am ~ wt, mtcars, draws = 20, chains = 2, seed = 1, progress = FALSE
  ))
  for (fit in list(line(), laplace, topics())) {
    whole <- tidy(fit)
    expect_identical(
      tidy(fit, conf.int = FALSE),
      whole[setdiff(names(whole), c("conf.low", "conf.high"))]
    )
    expect_gibbsite_error(
      tidy(fit, conf.int = 2), class = "gibbsite_error_argument"
    )
  }
})

# ---- bayestestR and parameters -----------------------------------------------

test_that("draws for insight are numbered as in summary()", {
  skip_long()
  skip_if_not_installed("insight")
  fit <- mixture()
  draws <- insight::get_parameters(fit)
  expect_equal(
    unname(colMeans(draws)), own_numbers(fit, names(draws), "mean")
  )
  # chain by chain the means are apart
  expect_gt(abs(mean(draws[["mu[1,2]"]]) - mean(draws[["mu[2,2]"]])), 20)
  expect_identical(
    names(insight::get_parameters(fit, parameters = "^pi")),
    c("pi[1]", "pi[2]")
  )
})

test_that("bayestestR's functions take `effects` and `parameters`", {
  skip_long()
  skip_if_not_installed("bayestestR")
  skip_if_not_installed("insight")
  fit <- flock()
  functions <- list(
    bayestestR::describe_posterior, bayestestR::hdi, bayestestR::eti,
    bayestestR::ci, bayestestR::bci, bayestestR::p_direction,
    bayestestR::p_map, bayestestR::p_significance, bayestestR::rope,
    bayestestR::point_estimate, bayestestR::map_estimate,
    bayestestR::estimate_density, bayestestR::equivalence_test,
    bayestestR::diagnostic_posterior
  )
  functions <- functions[fast_or(c(1, 2, 9, 12, 14), seq_along(functions))]
  names_of <- function(f, ...) unique(quietly(f(fit, ...))$Parameter)
  for (f in functions) {
    for (effects in c("fixed", "all", "random")) {
      expect_setequal(
        names_of(f, effects = effects),
        names(insight::get_parameters(fit, effects = effects))
      )
    }
    expect_identical(names_of(f, effects = "all", parameters = "sd"), "sd[1]")
    expect_error(f(fit, effects = "some"), "effects",
                 class = "gibbsite_error_argument")
  }
  expect_equal(
    bayestestR::hdi(as.matrix(fit)[, "sd[1]"], ci = 0.5)$CI_low,
    bayestestR::hdi(fit, ci = 0.5, effects = "random")$CI_low
  )
})

test_that("bayestestR's numbers are those of summary()", {
  skip_long()
  skip_if_not_installed("bayestestR")
  skip_if_not_installed("insight")
  fits <- list(mixture(), flock(), line(), topics())
  for (fit in fits[fast_or(1:2, 1:4)]) {
    described <- quietly(bayestestR::describe_posterior(fit))
    expect_equal(
      described$Median, own_numbers(fit, described$Parameter, "q50")
    )
    measures <- bayestestR::diagnostic_posterior(fit)
    expect_identical(measures$Parameter, described$Parameter)
    columns <- c(
      Rhat = "rhat", ESS = "ess_bulk", ESS_tail = "ess_tail",
      MCSE = "mcse_mean"
    )
    for (name in names(columns)) {
      expect_equal(
        measures[[name]],
        own_numbers(fit, measures$Parameter, columns[[name]])
      )
    }
    expect_equal(
      bayestestR::effective_sample(fit),
      measures[c("Parameter", "ESS", "ESS_tail")]
    )
    expect_equal(bayestestR::mcse(fit), measures[c("Parameter", "MCSE")])
  }
  fit <- line()
  expect_identical(
    names(bayestestR::diagnostic_posterior(fit, "Rhat")),
    c("Parameter", "Rhat")
  )
  expect_identical(
    bayestestR::diagnostic_posterior(fit, parameters = "wt")$Parameter, "wt"
  )
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    bayestestR::diagnostic_posterior(fit, "khat")
    bayestestR::diagnostic_posterior(fit, parameters = "none")
  })
})

test_that("the draws of the prior for a Bayes factor are those of the prior", {
  skip_long()
  skip_if_not_installed("insight")
  prior <- logistic_prior(slope_variance = matrix(c(4, 1, 1, 2), 2))
  fit <- short(gibbs_logistic, am ~ wt, mtcars, prior)
  conjugate <- short(gibbs_lm, mpg ~ wt, mtcars, lm_prior("nig"))
  names <- names(coef(fit))
  draws <- withr::with_seed(1, gibbsite:::drawn_prior(fit, names, NULL))
  expect_named(draws, names)
  n <- nrow(draws)
  expect_lt(max(abs(colMeans(draws)) / sqrt(c(4, 2) / n)), 4.5)
  # the standard error of a normal sample's covariance
  error <- sqrt((outer(c(4, 2), c(4, 2)) + c(16, 1, 1, 4)) / n)
  expect_lt(max(abs(cov(draws) - matrix(c(4, 1, 1, 2), 2)) / error), 4.5)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    gibbsite:::drawn_prior(mixture(), "pi[1]", NULL)
    gibbsite:::drawn_prior(conjugate, "wt", NULL)
    bayesfactor_parameters.gibbsite_fit(fit, prior = 1)
    bayesfactor_parameters.gibbsite_fit(fit, prior = draws["wt"])
  })
})

test_that("model_parameters() has the numbers of summary()", {
  skip_long()
  skip_if_not_installed("parameters")
  skip_if_not_installed("insight")
  fits <- list(mixture(), flock(), line())
  for (fit in fits[fast_or(1:2, 1:3)]) {
    found <- quietly(parameters::model_parameters(fit))
    expect_s3_class(found, "parameters_model")
    expect_identical(found$Parameter, names(insight::get_parameters(fit)))
    expect_equal(found$Median, own_numbers(fit, found$Parameter, "q50"))
    expect_equal(found$Rhat, own_numbers(fit, found$Parameter, "rhat"))
    expect_equal(found$ESS, own_numbers(fit, found$Parameter, "ess_bulk"))
  }
  fit <- flock()
  bare <- quietly(parameters::model_parameters(
    fit, diagnostic = NULL, effects = "all", ci = 0.8
  ))
  expect_identical(bare$Parameter, c("(Intercept)", "Time", "sd[1]"))
  expect_false("ESS" %in% names(bare))
  expect_equal(
    bare$CI_low, unname(apply(as.matrix(fit)[, bare$Parameter], 2, quantile,
                              0.1))
  )
})

# ---- S4 ----------------------------------------------------------------------

test_that("S4 generics find the method for coda's lists", {
  skip_long()
  env <- new.env()
  setClass("first_of_fit", representation(x = "numeric"), where = env)
  setGeneric("chains_of_fit", function(x) standardGeneric("chains_of_fit"),
             where = env)
  setOldClass("mcmc.list", where = env)
  setMethod("chains_of_fit", "mcmc.list", function(x) length(x), where = env)
  for (fit in list(line(), mixture(), flock(), heavy())) {
    expect_identical(env$chains_of_fit(fit), 2L)
  }
})

# ---- topics ------------------------------------------------------------------

test_that("tidy() has tidytext's names", {
  fit <- topics()
  means <- topic_estimates(fit)
  beta <- tidy(fit, matrix = "beta")
  expect_named(beta, c("topic", "term", "beta"))
  at <- cbind(beta$topic, match(beta$term, colnames(means$phi)))
  expect_identical(beta$beta, means$phi[at])
  gamma <- tidy(fit, matrix = "gamma", chain = 2)
  expect_named(gamma, c("document", "topic", "gamma"))
  theta <- topic_estimates(fit, chain = 2)$theta
  expect_identical(
    gamma$gamma,
    theta[cbind(match(gamma$document, rownames(theta)), gamma$topic)]
  )
})

# The package is not in Suggests.
of_topicmodels <- function(name) getExportedValue("topicmodels", name)

test_that("as_topicmodels() has the posterior means", {
  skip_if_not_installed("topicmodels")
  for (fit in list(topics(), topics_with(prior = lda_prior(0.3, 0.2)))) {
    means <- topic_estimates(fit)
    model <- as_topicmodels(fit)
    expect_true(methods::validObject(model))
    found <- of_topicmodels("posterior")(model)
    expect_equal(found$topics, means$theta, ignore_attr = TRUE)
    expect_equal(found$terms, means$phi, ignore_attr = TRUE)
    expect_identical(colnames(found$terms), colnames(means$phi))
    expect_identical(rownames(found$topics), rownames(means$theta))
    expect_identical(
      unname(of_topicmodels("terms")(model, 3)[1, ]),
      top_terms(fit, 1)$term
    )
    # each token once
    expect_identical(sum(lengths(list(model@z))), model@n)
    expect_true(all(model@z %in% 1:2))
  }
  expect_identical(model@alpha, 0.3)
  expect_identical(model@control@delta, 0.2)
  fit <- topics()
  second <- as_topicmodels(fit, chain = 2)
  expect_equal(second@gamma, topic_estimates(fit, 2)$theta, ignore_attr = TRUE)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    as_topicmodels()
    as_topicmodels(mixture())
    as_topicmodels(fit, chain = 3)
  })
  expect_gibbsite_error(
    as_topicmodels(drop_data(fit)), class = "gibbsite_error_state"
  )
})

test_that("the log-likelihood and words of as_topicmodels() are of the means", {
  skip_if_not_installed("topicmodels")
  counts <- matrix(c(2, 0, 1, 3, 1, 1, 0, 2, 1, 1, 1, 1), 3,
    dimnames = list(NULL, c("a", "b", "c", "d"))
  )
  fit <- short(gibbs_lda, counts, 2)
  model <- as_topicmodels(fit)
  means <- topic_estimates(fit)
  expect_equal(
    model@loglikelihood, sum(counts * log(means$theta %*% means$phi))
  )
  words <- model@wordassignments
  expect_identical(length(words$v), sum(counts > 0))
  for (at in seq_along(words$v)) {
    share <- means$theta[words$i[at], ] * means$phi[, words$j[at]]
    expect_identical(words$v[at], which.max(unname(share)))
  }
})

test_that("tidytext gives the same topics of the fit and of topicmodels", {
  skip_if_not_installed("topicmodels")
  skip_if_not_installed("tidytext")
  fit <- topics()
  model <- as_topicmodels(fit)
  for (matrix in c("beta", "gamma")) {
    expect_equal(
      as.data.frame(tidytext::tidy(model, matrix = matrix)),
      tidytext::tidy(fit, matrix = matrix)
    )
  }
})

test_that("pp_check() is found once the package is attached", {
  skip_if_not_installed("bayesplot")
  expect_identical(gibbsite::pp_check, bayesplot::pp_check)
})

test_that("the range of practical equivalence is that of the fit", {
  skip_if_not_installed("bayestestR")
  fit <- line()
  wide <- bayestestR::rope_range(fit)
  expect_equal(
    as.data.frame(bayestestR::rope(fit))$ROPE_Percentage,
    as.data.frame(bayestestR::rope(fit, range = wide))$ROPE_Percentage
  )
  shown <- as.data.frame(bayestestR::rope(fit))
  expect_equal(unique(shown$ROPE_high), wide[[2L]])
  whole <- as.data.frame(bayestestR::describe_posterior(fit))
  expect_equal(unique(whole$ROPE_high), wide[[2L]])
})

test_that("parameters shows ratios", {
  skip_if_not_installed("parameters")
  fit <- short(gibbs_logistic, am ~ wt, mtcars, draws = 400)
  shown <- parameters::model_parameters(fit, exponentiate = TRUE)
  expect_equal(
    shown$Median, unname(exp(apply(as.matrix(fit)[, 1:2], 2, stats::median))),
    tolerance = 1e-4
  )
  expect_error(
    parameters::model_parameters(line(), exponentiate = TRUE),
    "must be `FALSE`"
  )
})
