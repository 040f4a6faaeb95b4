# Which packages take the fits as they are: calls each client with a short fit
# of each kind, compares the answer with the package's own, and prints a table.
# Takes about two minutes.
#
# Rscript tools/clients.R [regular expression of some clients]
#
#   works            an answer, which agrees with the package's own
#   one conversion   an answer for the draws by as_draws(), coda or posterior
#   refused          an error of gibbsite, which says what to do
#   FAILS            another error, no answer, or another answer
#   absent           the client is not installed
#   -                not asked of this fit

suppressMessages(library(gibbsite))
filter <- c(commandArgs(trailingOnly = TRUE), "")[1]
options(marginaleffects_safe = FALSE, future.cache.path = tempdir())
# emmeans shows an error by try(), and then raises its own
shown <- tempfile()

quietly <- function(code) {
  sink(nullfile())
  on.exit(sink())
  suppressWarnings(suppressMessages(code))
}

# ---- fits --------------------------------------------------------------------

cars <- transform(datasets::mtcars, cyl = factor(cyl))
chicks <- as.data.frame(datasets::ChickWeight)
chicks <- chicks[chicks$Chick %in% 1:12, ]
chicks[["Chick"]] <- factor(as.character(chicks[["Chick"]]))
chicks$heavy <- as.integer(chicks$weight > 90)
set.seed(1)
corpus <- sim_lda(30, k = 2, terms = 20, tokens = 40)
ratings <- sim_bmf(20, 15, rank = 2, share = 0.4)
log_density <- function(x) -sum((x - c(1, -1))^2) / 2

fits <- quietly(list(
  gmm = gibbs_gmm(faithful, 2, draws = 200, burnin = 200, chains = 2, seed = 1),
  lda = gibbs_lda(corpus$x, 2, draws = 200, burnin = 200, chains = 2, seed = 1),
  bmf = gibbs_bmf(ratings, 2, draws = 200, burnin = 200, chains = 2, seed = 1),
  lm = gibbs_lm(mpg ~ wt + cyl, cars, draws = 200, burnin = 200, chains = 2,
                seed = 1),
  hlm = gibbs_hlm(weight ~ Time + (1 | Chick), chicks, draws = 200,
                  burnin = 200, chains = 2, seed = 1),
  logistic = gibbs_logistic(vs ~ wt + cyl, cars, draws = 200, burnin = 200,
                            chains = 2, seed = 1),
  "logistic, groups" = gibbs_logistic(
    heavy ~ Time + (1 | Chick), chicks, draws = 200, burnin = 200, chains = 2,
    seed = 1
  ),
  laplace_logistic = laplace_logistic(vs ~ wt + cyl, cars, draws = 200,
                                      chains = 2, seed = 1),
  mh = mh_sample(log_density, c(a = 0, b = 0), draws = 200, burnin = 200,
                 chains = 2, seed = 1),
  gibbs = gibbs_sample(
    list(
      u = function(state) rnorm(1, state$v / 2, 1),
      v = function(state) rnorm(1, state$u / 2, 1)
    ),
    list(u = 0, v = 0), draws = 200, burnin = 200, chains = 2, seed = 1
  )
))
regressions <- c("lm", "hlm", "logistic", "logistic, groups",
                 "laplace_logistic")
data_of <- function(fit) {
  if (inherits(fit, "gibbs_bmf")) {
    ratings
  } else if (inherits(fit, "gibbs_hlm")) {
    chicks
  } else {
    cars
  }
}
variable_of <- function(fit) if (inherits(fit, "gibbs_hlm")) "Time" else "wt"

# ---- the package's own answers -----------------------------------------------

near <- function(x, y, tolerance = 1e-6) {
  length(x) == length(y) && length(x) > 0 &&
    isTRUE(all.equal(unname(as.vector(x)), unname(as.vector(y)), tolerance))
}
summary_of <- function(fit) {
  as.data.frame(gibbsite:::summary.gibbsite_fit(fit))
}
# values: one for each name; do they agree with a column of the summary?
as_summary <- function(fit, names, values, column = "q50",
                       tolerance = 1e-6) {
  own <- summary_of(fit)
  at <- match(gsub("b_", "", names, fixed = TRUE), own$variable)
  !anyNA(at) && near(values, own[[column]][at], tolerance)
}
epred_mean <- function(fit, newdata = NULL) {
  colMeans(posterior_epred(fit, newdata = newdata))
}
# A draw of the groups' deviations is taken in each call.
epred_tolerance <- function(fit) {
  if (inherits(fit, "gibbs_hlm")) 0.1 else 1e-6
}
# The model as future's workers run it.
lm_again <- function(...) {
  gibbs_lm(mpg ~ wt + cyl, cars, draws = 20, burnin = 0, chains = 2, seed = 1,
           progress = FALSE, ...)
}

# ---- clients -----------------------------------------------------------------

# client(package, call, answer, agrees, converted, only): `answer` takes a fit;
# `agrees` takes the fit and the answer; `converted` takes a fit and uses the
# draws instead; `only`: names of fits.
client <- function(package, call, answer, agrees = function(fit, x) TRUE,
                   converted = NULL, only = names(fits)) {
  list(package = package, call = call, answer = answer, agrees = agrees,
       converted = converted, only = only)
}

clients <- list(
  client("insight", "get_parameters()",
    function(fit) insight::get_parameters(fit),
    function(fit, x) as_summary(fit, names(x), colMeans(x), "mean")),
  client("emmeans", "emmeans()",
    function(fit) {
      as.data.frame(emmeans::emmeans(fit, variable_of(fit)))
    },
    function(fit, x) all(is.finite(x$emmean))),
  client("marginaleffects", "predictions()",
    function(fit) marginaleffects::predictions(fit),
    function(fit, x) near(x$estimate, epred_mean(fit), 0.2)),
  client("parameters", "model_parameters()",
    function(fit) parameters::model_parameters(fit),
    function(fit, x) as_summary(fit, x$Parameter, x$Median),
    function(fit) parameters::model_parameters(posterior::as_draws_df(fit))),
  client("performance", "model_performance()",
    function(fit) performance::model_performance(fit),
    function(fit, x) {
      y <- insight::get_response(fit)
      y <- if (is.numeric(y)) y else as.integer(y) - 1
      near(x$RMSE, sqrt(mean((y - epred_mean(fit))^2)), 0.05)
    }),
  client("performance", "r2_bayes()",
    function(fit) performance::r2_bayes(fit),
    function(fit, x) {
      near(x$R2_Bayes, median(bayes_R2(fit)), 0.1)
    }),
  client("ggeffects", "ggpredict()",
    function(fit) {
      terms <- paste0(variable_of(fit), " [2, 4]")
      as.data.frame(ggeffects::ggpredict(fit, terms))
    },
    function(fit, x) {
      new <- data_of(fit)[c(1, 1), ]
      new[[variable_of(fit)]] <- c(2, 4)
      if ("cyl" %in% names(new)) new$cyl[] <- levels(new$cyl)[1]
      mean <- colMeans(posterior_epred(fit, newdata = new, re_formula = NA))
      near(x$predicted, mean) &&
        all(x$conf.low < x$predicted & x$predicted < x$conf.high)
    }),
  client("ggeffects", "ggemmeans()",
    function(fit) {
      terms <- paste0(variable_of(fit), " [2, 4]")
      as.data.frame(ggeffects::ggemmeans(fit, terms))
    },
    function(fit, x) all(x$conf.low < x$predicted & x$predicted < x$conf.high)),
  client("bayestestR", "describe_posterior()",
    function(fit) bayestestR::describe_posterior(fit),
    function(fit, x) as_summary(fit, x$Parameter, x$Median),
    function(fit) bayestestR::describe_posterior(posterior::as_draws_df(fit))),
  client("bayestestR", "diagnostic_posterior()",
    function(fit) bayestestR::diagnostic_posterior(fit),
    function(fit, x) {
      as_summary(fit, x$Parameter, x$Rhat, "rhat") &&
        as_summary(fit, x$Parameter, x$ESS, "ess_bulk")
    }),
  client("bayestestR", "effective_sample()",
    function(fit) bayestestR::effective_sample(fit),
    function(fit, x) as_summary(fit, x$Parameter, x$ESS, "ess_bulk", 1e-2)),
  client("bayestestR", "bayesfactor_parameters()",
    function(fit) bayestestR::bayesfactor_parameters(fit),
    function(fit, x) all(is.finite(x$log_BF)),
    function(fit) {
      prior <- as.data.frame(prior_predict(fit, 400)$quantities)
      draws <- as.data.frame(fit, index = FALSE)
      shared <- intersect(names(prior), names(draws))
      stopifnot(length(shared) > 0)
      bayestestR::bayesfactor_parameters(draws[shared], prior[shared])
    }),
  client("modelsummary", "modelsummary()",
    function(fit) {
      modelsummary::modelsummary(fit, output = "data.frame")
    },
    function(fit, x) {
      own <- summary_of(fit)[1, ]
      shown <- x[x$part == "estimates" & x$term == own$variable, ]
      nrow(shown) > 0 && any(abs(
        suppressWarnings(as.numeric(shown[[ncol(shown)]][1])) -
          unlist(own[c("mean", "q50")])
      ) < 0.001)
    }),
  client("broom.mixed", "tidy()",
    function(fit) broom.mixed::tidy(fit),
    function(fit, x) {
      if (inherits(fit, "laplace_logistic")) {
        near(x$estimate, coef(fit))
      } else {
        as_summary(fit, x$term, x$estimate, "mean")
      }
    }),
  client("tidybayes", "spread_draws()",
    function(fit) tidybayes::tidy_draws(fit),
    function(fit, x) {
      near(colMeans(x[-(1:3)]), colMeans(as.matrix(fit)))
    },
    function(fit) tidybayes::tidy_draws(posterior::as_draws_df(fit))),
  client("tidybayes", "add_epred_draws()",
    function(fit) {
      tidybayes::add_epred_draws(head(data_of(fit)), fit, ndraws = 400)
    },
    function(fit, x) {
      near(tapply(x$.epred, x$.row, mean), epred_mean(fit, head(data_of(fit))),
           epred_tolerance(fit))
    }),
  client("tidybayes", "add_epred_draws(re_formula = NA)",
    function(fit) {
      tidybayes::add_epred_draws(
        head(data_of(fit)), fit, ndraws = 400, re_formula = NA
      )
    },
    function(fit, x) {
      near(
        tapply(x$.epred, x$.row, mean),
        colMeans(posterior_epred(fit, head(data_of(fit)), re_formula = NA))
      )
    }, only = c("hlm", "logistic, groups")),
  client("tidybayes", "add_linpred_draws()",
    function(fit) {
      tidybayes::add_linpred_draws(head(data_of(fit)), fit, ndraws = 400)
    },
    function(fit, x) {
      own <- colMeans(posterior_linpred(fit, newdata = head(data_of(fit))))
      near(tapply(x$.linpred, x$.row, mean), own, epred_tolerance(fit))
    }),
  client("tidybayes", "add_predicted_draws()",
    function(fit) {
      tidybayes::add_predicted_draws(head(data_of(fit)), fit, ndraws = 100)
    },
    function(fit, x) nrow(x) == 600 && all(is.finite(x$.prediction))),
  client("MCMCvis", "MCMCsummary()",
    function(fit) MCMCvis::MCMCsummary(fit),
    function(fit, x) as_summary(fit, rownames(x), x[["50%"]]),
    function(fit) {
      x <- MCMCvis::MCMCsummary(as.mcmc.list(
        if (inherits(fit, "gibbs_gmm")) relabel(fit) else fit
      ))
      stopifnot(as_summary(fit, rownames(x), x[["50%"]]))
      x
    }),
  client("ggmcmc", "ggs()",
    function(fit) ggmcmc::ggs(fit),
    function(fit, x) {
      means <- tapply(x$value, as.character(x$Parameter), mean)
      near(means[colnames(as.matrix(fit))], colMeans(as.matrix(fit)))
    }, function(fit) ggmcmc::ggs(as.mcmc.list(fit))),
  client("shinystan", "as.shinystan()",
    function(fit) shinystan::as.shinystan(fit),
    function(fit, x) {
      near(x@posterior_sample[, , 1], as.array(fit)[, , 1])
    }, function(fit) shinystan::as.shinystan(as.array(fit))),
  client("projpred", "get_refmodel()",
    function(fit) projpred::get_refmodel(fit),
    function(fit, x) {
      near(x$mu, epred_mean(fit), 0.1) || near(rowMeans(x$mu),
                                               epred_mean(fit), 0.1)
    }),
  client("mcmcse", "mcse.mat()", function(fit) mcmcse::mcse.mat(fit),
    function(fit, x) as_summary(fit, rownames(x), x[, "est"], "mean"),
    function(fit) mcmcse::mcse.mat(as.matrix(fit))),
  client("mcmcse", "multiESS()", function(fit) mcmcse::multiESS(fit),
    converted = function(fit) {
      x <- as.matrix(fit)
      mcmcse::multiESS(x[, seq_len(min(2, ncol(x))), drop = FALSE])
    }),
  client("tidytext", "tidy(matrix = \"beta\")",
    function(fit) tidytext::tidy(fit, matrix = "beta"),
    function(fit, x) {
      phi <- topic_estimates(fit)$phi
      identical(names(x), c("topic", "term", "beta")) &&
        near(x$beta, phi[cbind(x$topic, match(x$term, colnames(phi)))])
    }, only = "lda"),
  client("tidytext", "tidy(matrix = \"gamma\")",
    function(fit) tidytext::tidy(fit, matrix = "gamma"),
    function(fit, x) {
      theta <- topic_estimates(fit)$theta
      identical(names(x), c("document", "topic", "gamma")) &&
        near(x$gamma, theta[cbind(match(x$document, rownames(theta)), x$topic)])
    }, only = "lda"),
  client("topicmodels", "posterior(as_topicmodels())",
    function(fit) topicmodels::posterior(as_topicmodels(fit)),
    function(fit, x) {
      own <- topic_estimates(fit)
      near(x$terms, own$phi) && near(x$topics, own$theta)
    }, only = "lda"),
  client("topicdoc", "topic_diagnostics(as_topicmodels())",
    function(fit) {
      topicdoc::topic_diagnostics(
        as_topicmodels(fit), slam::as.simple_triplet_matrix(corpus$x)
      )
    }, function(fit, x) nrow(x) == 2, only = "lda"),
  client("LDAvis", "createJSON()",
    function(fit) {
      do.call(LDAvis::createJSON, c(ldavis_data(fit),
                                    mds.method = function(x) cbind(1:2, 0)))
    }, function(fit, x) nchar(x) > 100, only = "lda"),
  client("future.batchtools", "plan(batchtools_local)",
    function(fit) {
      old <- future::plan(future.batchtools::batchtools_local)
      on.exit(future::plan(old))
      lm_again()
    }, function(fit, x) isTRUE(identical_fit(x, lm_again())), only = "lm"),
  client("furrr", "future_map()",
    function(fit) {
      old <- future::plan(future::multisession, workers = 2)
      on.exit(future::plan(old))
      furrr::future_map(
        1:2, function(i) lm_again(),
        .options = furrr::furrr_options(seed = TRUE, packages = "gibbsite")
      )
    }, function(fit, x) {
      # the generator of furrr's processes
      old <- RNGkind("L'Ecuyer-CMRG")
      on.exit(RNGkind(old[1]))
      isTRUE(identical_fit(x[[2]], lm_again()))
    }, only = "lm")
)

# ---- the table ---------------------------------------------------------------

is_there <- function(package) {
  # marginaleffects 1.0.0 calls `%||%`, which R has since 4.4
  (package != "marginaleffects" || getRversion() >= "4.4") &&
    requireNamespace(package, quietly = TRUE)
}

of_package <- function(cnd) inherits(cnd, "gibbsite_error")

# list(cell, note)
tried <- function(client, name) {
  fit <- fits[[name]]
  if (!name %in% client$only) {
    return(list(cell = "-"))
  }
  if (!is_there(client$package)) {
    return(list(cell = "absent"))
  }
  set.seed(1)
  options(try.outFile = file(shown, "wt"))
  on.exit(close(getOption("try.outFile")))
  x <- tryCatch(quietly(client$answer(fit)), error = identity)
  if (inherits(x, "error")) {
    word <- strsplit(cli::ansi_strip(conditionMessage(x)), "\n")[[1]]
    if (of_package(x) || of_package(x$parent)) {
      return(list(cell = "refused", note = word))
    }
    flush(getOption("try.outFile"))
    words <- cli::ansi_strip(readLines(shown))
    if (any(grepl("must be a fit of a regression", words))) {
      return(list(cell = "refused", note = words))
    }
    return(other(client, fit, word[1]))
  }
  agrees <- !is.null(x) &&
    isTRUE(tryCatch(quietly(client$agrees(fit, x)), error = function(cnd) {
      FALSE
    }))
  if (agrees) {
    return(list(cell = "works"))
  }
  other(client, fit, if (is.null(x)) "no answer" else "another answer")
}

# What does the client say of the draws alone?
other <- function(client, fit, note) {
  if (is.null(client$converted)) {
    return(list(cell = "FAILS", note = note))
  }
  x <- tryCatch(quietly(client$converted(fit)), error = identity)
  cell <- if (is.null(x) || inherits(x, "error")) "FAILS" else "one conversion"
  list(cell = cell, note = note)
}

chosen <- Filter(function(client) {
  grepl(filter, paste0(client$package, "::", client$call))
}, clients)
cat("|", paste(c("client", names(fits)), collapse = " | "), "|\n")
cat("|", paste(rep("---", length(fits) + 1), collapse = " | "), "|\n")
notes <- character()
counts <- character()
for (client in chosen) {
  row <- lapply(names(fits), function(name) tried(client, name))
  cells <- vapply(row, `[[`, "", "cell")
  label <- paste0(client$package, "::", client$call)
  cat("|", paste(c(label, cells), collapse = " | "), "|\n")
  counts <- c(counts, cells)
  for (i in which(lengths(lapply(row, `[[`, "note")) > 0)) {
    notes <- c(notes, paste0(
      "* ", label, ", ", names(fits)[i], ", ", cells[i], ": ",
      paste(row[[i]]$note, collapse = " ")
    ))
  }
}
installed <- unique(vapply(chosen, `[[`, "", "package"))
installed <- Filter(is_there, installed)
versions <- vapply(installed, function(p) {
  as.character(utils::packageVersion(p))
}, "")
cat("\n", paste(names(table(counts)), table(counts), collapse = ", "),
    "\n\n", as.character(R.version.string), "; ",
    paste(installed, versions, collapse = ", "), "\n\n", sep = "")
writeLines(notes)
if (any(counts == "FAILS")) {
  quit(status = 1)
}
