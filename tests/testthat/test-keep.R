# Every answer of a fit with every value of `keep`: right, or an error that
# names `keep`.

tiny <- function(f, ..., keep) {
  keep <- if (length(keep) > 0) keep
  quietly(suppressMessages(f(
    ..., draws = 30, burnin = 20, chains = 2, seed = 1, progress = FALSE,
    keep = keep
  )))
}

points <- as.matrix(datasets::faithful)[1:30, ]
points[2, 1] <- NA
words <- matrix(
  c(2, 0, 1, 3, 1, 1, 0, 2, 1, 1, 1, 1), 3,
  dimnames = list(NULL, c("a", "b", "c", "d"))
)
rated <- data.frame(
  user = rep(1:4, each = 3), item = c(1:3, 2:4, 1:3, 2:4),
  value = c(1, 2, 3, 2, 4, 1, 5, 2, 2, 3, 3, 1)
)
lines <- transform(datasets::mtcars, qsec = replace(qsec, 3, NA))
mixture <- function(k, ...) {
  function(keep) {
    tiny(gibbs_gmm, points, k, ..., na_action = "impute", keep = keep)
  }
}

# list(make, keep, answers): `answers` besides those of every fit.
kept_models <- local({
  regression <- list(
    log_evidence = function(fit) log_evidence(fit, seed = 1),
    bayes_R2 = bayes_R2, residuals = residuals, coef = coef, vcov = vcov,
    predict = predict, log_lik = log_lik, loo = function(fit) loo::loo(fit),
    kfold = function(fit) loo::kfold(fit, K = 2, seed = 1),
    posterior_predict = posterior_predict, posterior_epred = posterior_epred
  )
  clusters <- list(
    predict = predict, prob = function(fit) predict(fit, type = "prob"),
    log_lik = log_lik, loo = function(fit) loo::loo(fit),
    posterior_predict = posterior_predict, coclustering = coclustering,
    point_clustering = point_clustering
  )
  fixed_k <- c(clusters, list(
    log_evidence = function(fit) log_evidence(fit, seed = 1),
    kfold = function(fit) loo::kfold(fit, K = 2, seed = 1),
    probabilities = allocation_probabilities,
    ordered = function(fit) relabel(fit, "ordered"),
    own = function(fit) relabel(fit, "none"), pivot = relabel
  ))
  own <- c("z", "x", "labels")
  list(
    full = list(mixture(2), own, fixed_k),
    diagonal = list(mixture(2, covariance = "diagonal"), own, fixed_k),
    shared = list(mixture(2, covariance = "shared"), own, fixed_k),
    unequal = list(mixture(2, gmm_prior(alpha = c(1, 2))), own, fixed_k),
    one = list(mixture(1), own, fixed_k),
    unknown = list(
      mixture(unknown_k(3)), c("components", "z", "x"),
      c(clusters, list(posterior_k = posterior_k))
    ),
    topics = list(
      function(keep) tiny(gibbs_lda, words, 2, keep = keep),
      c("theta", "phi", "z", "labels"),
      list(
        predict = predict, log_lik = log_lik, loo = function(fit) loo::loo(fit),
        posterior_predict = function(fit) posterior_predict(fit, ndraws = 2),
        top_terms = top_terms, coherence = coherence,
        topic_distances = topic_distances, topic_estimates = topic_estimates,
        ldavis_data = ldavis_data, own = function(fit) relabel(fit, "none"),
        new = function(fit) predict(fit, words[1:2, ])
      )
    ),
    ratings = list(
      function(keep) tiny(gibbs_bmf, rated, 2, keep = keep), c("u", "v"),
      list(
        predict = predict, log_lik = log_lik, loo = function(fit) loo::loo(fit),
        posterior_predict = posterior_predict, factors_of = factors_of,
        recommend = function(fit) recommend(fit, n = 1),
        held_out = function(fit) held_out(fit, rated[1:2, ]),
        residuals = residuals, augment = augment
      )
    ),
    groups = list(
      function(keep) tiny(gibbs_hlm, wt ~ hp + (1 | cyl), lines, keep = keep),
      "w", regression
    ),
    line = list(
      function(keep) {
        tiny(gibbs_lm, qsec ~ wt, lines, na_action = "impute", keep = keep)
      },
      "y", c(regression, list(augment = augment))
    )
  )
})

general_answers <- list(
  print = function(fit) utils::capture.output(print(fit)), summary = summary,
  tidy = tidy, glance = glance, convergence = convergence,
  converged = converged, nobs = nobs, draws = as_draws_df,
  frame = as.data.frame, plot = function(fit) plot(fit, type = "trace"),
  extend = function(fit) extend(fit, 5, progress = FALSE)
)

# "right", or the text of the error; any other error is a failure.
outcome_of <- function(answer, fit, what) {
  tryCatch(
    {
      suppressWarnings(suppressMessages(withr::with_seed(1, answer(fit))))
      "right"
    },
    gibbsite_error = conditionMessage,
    error = function(cnd) {
      fail(paste0(what, ": ", conditionMessage(cnd)))
      "failed"
    }
  )
}

test_that("each answer is right or names `keep`, whatever is kept", {
  skip_long()
  withr::local_pdf(NULL)
  dresses <- c("diagonal", "shared", "unequal", "one")
  all <- names(kept_models)
  for (name in fast_or(setdiff(all, dresses), all)) {
    model <- kept_models[[name]]
    kept <- if (name %in% c("diagonal", "shared", "unequal", "one")) {
      list(model[[2]])
    } else {
      c(list(character()), as.list(model[[2]]), list(model[[2]]))
    }
    ends <- c(if (name == "line") 1L, length(kept))
    for (keep in unique(kept[fast_or(ends, seq_along(kept))])) {
      fit <- model[[1]](keep)
      some <- if (name == "line" || is_extended()) names(general_answers) else {
        c("summary", "extend")
      }
      answers <- c(general_answers[some], model[[3]])
      for (answer in names(answers)) {
        what <- paste0(name, ", keep ", toString(keep), ": ", answer)
        said <- outcome_of(answers[[answer]], fit, what)
        expect_true(said == "right" || grepl("keep", said), info = paste(
          what, said
        ))
      }
    }
  }
})

test_that("the log evidence of a mixture is the same with stored allocations", {
  skip_long()
  for (form in fast_or("full", c("full", "diagonal", "shared"))) {
    value <- function(keep) {
      fit <- mixture(2, covariance = form)(keep)
      suppressWarnings(log_evidence(fit, seed = 1))
    }
    alone <- value(character())
    expect_equal(value("z"), alone)
    expect_equal(value(c("z", "x", "labels")), alone)
  }
})
