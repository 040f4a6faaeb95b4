# The answers of regressions, for tools/identical.R: each kind of fit by each
# method, given a seed.  Sourced by it; show() and run() are there.

# Of predict(): `type` and `interval` in the words of this version, or in those
# of versions whose `interval` was TRUE or FALSE.
predicted <- function(fit, newdata, type, interval, ...) {
  tryCatch(
    predict(fit, newdata, type = type, interval = interval, ...),
    gibbsite_error = function(e) {
      if (interval == "prediction") {
        type <- "response"
      } else if (inherits(fit, c("gibbs_lm", "gibbs_hlm")) &&
                   !inherits(fit, "gibbs_hlm_binomial")) {
        type <- "mean"
      }
      predict(fit, newdata, type = type, interval = interval != "none", ...)
    }
  )
}

as_text <- function(code) utf8ToInt(paste(code, collapse = "\n"))

# What print() shows but for the times of the run.
printed <- function(x) {
  lines <- utils::capture.output(print(x))
  as_text(lines[!grepl("[0-9] (s|min)[.;]?$|seconds", lines)])
}

regression_answers <- function(new, grouped) {
  more <- if (grouped) list(allow_new_levels = TRUE) else list()
  with_more <- function(f, ...) do.call(f, c(list(...), more))
  list(
    coef = coef, vcov = vcov, confint = function(fit) confint(fit, level = 0.8),
    fitted = fitted, residuals = residuals,
    "residuals pearson" = function(fit) residuals(fit, "pearson"),
    "residuals response" = function(fit) residuals(fit, "response"),
    sigma = sigma, weights = weights,
    formula = function(fit) as_text(deparse(formula(fit))),
    family = function(fit) as_text(unlist(family(fit)[c("family", "link")])),
    terms = function(fit) as_text(deparse(attr(terms(fit), "variables"))),
    "model.frame" = function(fit) as.list(model.frame(fit)),
    "model.matrix" = model.matrix, nobs = nobs, logLik = logLik,
    deviance = deviance,
    "predict link" = function(fit) predict(fit),
    "predict link interval" = function(fit) {
      with_more(predicted, fit, new, "link", "mean")
    },
    "predict response" = function(fit) {
      with_more(predicted, fit, new, "response", "none")
    },
    "predict response interval" = function(fit) {
      list(with_more(predicted, fit, new, "response", "mean", level = 0.8),
           predicted(fit, NULL, "response", "mean"))
    },
    "predict new responses" = function(fit) {
      if (family(fit)$family != "gaussian") stop("not in earlier versions")
      list(with_more(predicted, fit, new, "response", "prediction"),
           predicted(fit, NULL, "response", "prediction"))
    },
    "predict class" = function(fit) as.integer(predict(fit, type = "class")),
    "predict without groups" = function(fit) {
      predict(fit, new, re_formula = NA)
    },
    posterior_linpred = function(fit) {
      list(with_more(posterior_linpred, fit, newdata = new),
           with_draws(posterior_linpred, fit, n = 7))
    },
    "posterior_linpred transform" = function(fit) {
      posterior_linpred(fit, transform = TRUE)
    },
    posterior_epred = function(fit) {
      list(with_more(posterior_epred, fit, newdata = new),
           with_draws(posterior_epred, fit, n = 7))
    },
    posterior_predict = function(fit) {
      list(with_more(with_draws, posterior_predict, fit, newdata = new, n = 7),
           posterior_predict(fit))
    },
    predictive_interval = function(fit) {
      with_draws(predictive_interval, fit, n = 20)
    },
    log_lik = function(fit) log_lik(fit),
    "log_lik draws" = function(fit) with_draws(log_lik, fit, n = 7),
    "log_lik newdata" = function(fit) log_lik(fit, newdata = new),
    "log_lik by group" = function(fit) log_lik(fit, by = "group"),
    simulate = function(fit) lapply(simulate(fit, 3, seed = 2), as.numeric),
    bayes_R2 = function(fit) bayes_R2(fit),
    "bayes_R2 newdata" = function(fit) {
      with_more(bayes_R2, fit, newdata = new)
    },
    fixef = function(fit) nlme::fixef(fit),
    ranef = function(fit) nlme::ranef(fit),
    VarCorr = function(fit) nlme::VarCorr(fit),
    tidy = function(fit) tidy(fit)[-(1:2)],
    "tidy odds" = function(fit) tidy(fit, exponentiate = TRUE)[-1],
    glance = function(fit) {
      out <- glance(fit)
      out[setdiff(names(out), "elapsed")]
    },
    augment = function(fit) augment(fit),
    "augment newdata" = function(fit) augment(fit, newdata = new),
    summary = summary, "summary printed" = function(fit) printed(summary(fit)),
    print = printed, loo = function(fit) loo::loo(fit)$pointwise,
    waic = function(fit) loo::waic(fit)$pointwise,
    kfold = function(fit) loo::kfold(fit, K = 2, seed = 3)$pointwise,
    log_evidence = function(fit) unclass(log_evidence(fit, seed = 1))[1],
    prior_summary = function(fit) printed(prior_summary(fit)),
    "insight predicted" = function(fit) {
      out <- insight::get_predicted(fit)
      list(as.vector(out), attr(out, "ci_data"))
    },
    "marginaleffects draws" = function(fit) {
      marginaleffects::get_predict(fit, new, "prediction")$estimate
    },
    "emmeans basis" = function(fit) {
      as.data.frame(emmeans::emmeans(fit, ~wt))
    }
  )
}

show_regressions <- function() {
  cars <- mtcars
  cars$gear <- factor(cars$gear)
  cars$half <- cars$am + 1
  new <- cars[c(2, 9, 17), ]
  holes <- cars
  holes$wt[3] <- NA
  groups <- new
  groups$cyl <- c(4, 8, 5)
  x <- as.matrix(mtcars[2:4])
  # a call, so that `weights` and the like are found in the data
  fit_of_call <- function(call) {
    call$draws <- 50
    if (call[[1L]] != quote(laplace_logistic)) call$burnin <- 50
    call[c("chains", "seed", "progress")] <- list(2, 1, FALSE)
    suppressMessages(suppressWarnings(eval(call, parent.frame())))
  }
  made <- list(
    lm = quote(gibbs_lm(mpg ~ wt + gear, cars)),
    "lm conjugate weights" = quote(gibbs_lm(
      mpg ~ wt + gear, cars, weights = carb, prior = lm_prior("nig")
    )),
    "lm missing" = quote(gibbs_lm(
      mpg ~ wt + qsec, holes, na_action = "exclude"
    )),
    "lm matrix" = quote(gibbs_lm(x, cars$mpg)),
    "hlm" = quote(gibbs_hlm(mpg ~ wt + qsec + (1 | cyl), cars)),
    "hlm slopes weights" = quote(gibbs_hlm(
      mpg ~ wt + (wt | cyl), cars, weights = carb, keep = "w"
    )),
    "hlm known" = quote(gibbs_hlm(mpg ~ wt + (1 | cyl), cars, se = carb)),
    "hlm missing" = quote(gibbs_hlm(
      mpg ~ wt + (1 | cyl), holes, na_action = "exclude"
    )),
    logit = quote(gibbs_logistic(am ~ wt + qsec, cars)),
    probit = quote(gibbs_logistic(am == 1 ~ wt, cars, link = "probit")),
    "logit counts" = quote(gibbs_logistic(
      cbind(carb, 9 - carb) ~ wt, cars, weights = half
    )),
    "logit factor" = quote(gibbs_logistic(
      factor(am) ~ wt, holes, na_action = "exclude"
    )),
    "logit matrix" = quote(gibbs_logistic(x / 100, cars$am)),
    laplace = quote(laplace_logistic(am ~ wt + qsec, cars)),
    "laplace counts" = quote(laplace_logistic(
      cbind(carb, 9 - carb) ~ wt, cars
    )),
    "laplace corrected" = quote(laplace_logistic(
      am ~ wt, cars, correct = "importance"
    )),
    "grouped logit" = quote(gibbs_logistic(am ~ wt + (1 | cyl), cars)),
    "grouped probit" = quote(gibbs_logistic(
      am ~ wt + (wt || cyl), cars, link = "probit"
    )),
    "grouped counts" = quote(gibbs_logistic(
      cbind(carb, 9 - carb) ~ wt + (1 | cyl), cars, weights = half
    ))
  )
  for (kind in names(made)) {
    grouped <- grepl("hlm|grouped", kind)
    asked <- if (grepl("matrix", kind)) {
      x[1:3, ] / if (kind == "logit matrix") 100 else 1
    } else if (grouped) {
      groups
    } else {
      new
    }
    if (!grepl(chosen, paste("regression", kind)) && chosen != ".") next
    fit <- fit_of_call(made[[kind]])
    show(paste("regression", kind, "draws"), draws_alone(fit))
    answers <- regression_answers(asked, grouped)
    for (method in names(answers)) {
      show(paste("regression", kind, method), answers[[method]](fit))
    }
  }
}
