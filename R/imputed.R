# Methods of fits of several completed data sets. Predictions are those of the
# mixture: every draw predicts with its own data set, which also gives the basis
# of terms such as poly().

# The kinds of fits of which draws have the same meaning in every data set.
imputed_kinds <- c(
  "gibbs_lm", "gibbs_hlm", "gibbs_logistic", "mh_sample", "gibbs_sample"
)

# Whether the functions of predictions are the user's.
has_own_functions <- function(fit) !is_regression(fit)

#' Predictions of fits of completed data sets
#'
#' How fits of `combine_fits(data = "imputed")` differ from the fits of the
#' single data sets.
#'
#' Means average over the data sets; draws of predictions are those of all data
#' sets, one after the other, as the draws of the parameters are. Without
#' `newdata` each draw predicts with the predictors of its own data set. An
#' interval of `predict()` has the quantiles of the mixture; the deviations of
#' groups are drawn for it with random numbers. `residuals()` are averages.
#'
#' The fits have no `log_lik()`, no `loo()` and no evidence, because the
#' likelihoods are of different data. Each fit has its own. They
#' are not continued either: extend the fits of the single data sets and combine
#' them again.
#' @param object A fit of `combine_fits(data = "imputed")`.
#' @param newdata,ndraws,... As for the fits of one data set; `predict()`
#'   also takes `type`, `interval` and `level`.
#' @return As for the fits of one data set.
#' @section Errors: `gibbsite_error_argument` with the reason where there is no
#'   answer.
#' @seealso [combine_fits()] for fits of data sets that were completed
#'   elsewhere, such as by mice.
#' @examples
#' holes <- transform(mtcars, wt = replace(wt, 1:6, NA))
#' guess <- lm(wt ~ mpg + hp, holes)
#' fits <- lapply(1:3, function(m) {
#'   lost <- is.na(holes$wt)
#'   drawn <- predict(guess, holes[lost, ]) + rnorm(sum(lost), 0, sigma(guess))
#'   full <- transform(holes, wt = replace(wt, lost, drawn))
#'   gibbs_lm(mpg ~ wt, full, seed = m)
#' })
#' fit <- combine_fits(fits, data = "imputed")
#' predict(fit, data.frame(wt = 2:3), interval = "mean")
#' try(log_lik(fit))
#' @name imputed-fits
NULL

#' @rdname imputed-fits
#' @export
predict.gibbsite_imputed <- function(object, newdata = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  if (has_own_functions(object)) {
    return(NextMethod())
  }
  mixed_prediction(object, newdata, ..., call = rlang::current_env())
}

mixed_prediction <- function(object, newdata, type = NULL, interval = "none",
                             level = 0.95, ..., call) {
  model <- fit_part(object, "model")
  response <- model_response(model)
  interval <- check_interval(interval, call)
  type <- check_prediction_type(type, interval, response, call)
  level <- check_level(level, arg = "level", call = call)
  average <- function(type) {
    each <- lapply(
      imputed_parts(object), stats::predict, newdata, type = type, ...
    )
    Reduce(`+`, each) / length(each)
  }
  if (type == "class") {
    return(as_class(model, average("response"), call))
  }
  mean <- average(type)
  if (interval == "none") {
    return(mean)
  }
  found <- mixed_spread(
    object, newdata, type, interval, level, ..., call = call
  )
  # of new observations the mean is that of their number of successes
  out <- cbind(
    mean = if (is.null(found$mean)) unname(mean) else found$mean,
    found[c("sd", "lower", "upper")]
  )
  rownames(out) <- names(mean)
  out
}

# sd and quantiles of the draws of all data sets; of new observations those of
# the mixture of their distributions.
mixed_spread <- function(object, newdata, type, interval, level, ...,
                         weights = NULL, trials = NULL, call) {
  response <- model_response(fit_part(object, "model"))
  tails <- central_tails(level)
  if (interval == "mean") {
    draw <- if (type == "link") posterior_linpred else posterior_epred
    drawn <- unname(draw(object, newdata = newdata, ...))
    table <- draws_table(normal_response(), list(mean = drawn), tails)
    return(table[c("sd", "lower", "upper")])
  }
  eta <- unname(posterior_linpred(object, newdata = newdata, ...))
  size <- response_size(
    response, fit_part(object, "model"), newdata, weights, trials, ncol(eta),
    call
  )
  scale <- response_scale(response, do.call(rbind, chain_matrices(object)))
  new_observations(response, list(mean = eta), size, scale, tails)
}

# f(part) of every data set, of which some draws are taken.
mixed_draws <- function(object, f, ndraws, call) {
  all <- stacked_parts(object, f)
  all[spread_rows(ndraws, nrow(all), call), , drop = FALSE]
}

#' @rdname imputed-fits
#' @export
posterior_epred.gibbsite_imputed <- function(object, ..., ndraws = NULL) {
  if (has_own_functions(object)) {
    return(NextMethod())
  }
  mixed_draws(object, function(part) {
    posterior_epred(part, ...)
  }, ndraws, rlang::current_env())
}

#' @rdname imputed-fits
#' @export
posterior_linpred.gibbsite_imputed <- function(object, ..., ndraws = NULL) {
  mixed_draws(object, function(part) {
    posterior_linpred(part, ...)
  }, ndraws, rlang::current_env())
}

#' @rdname imputed-fits
#' @export
posterior_predict.gibbsite_imputed <- function(object, ..., ndraws = NULL) {
  if (has_own_functions(object)) {
    return(NextMethod())
  }
  mixed_draws(object, function(part) {
    posterior_predict(part, ...)
  }, ndraws, rlang::current_env())
}

#' @rdname imputed-fits
#' @export
bayes_R2.gibbsite_imputed <- function( # nolint: object_name_linter.
    object, ...) {
  unlist(lapply(imputed_parts(object), bayes_R2, ...))
}

#' @rdname imputed-fits
#' @export
residuals.gibbsite_imputed <- function(object, ...) {
  if (has_own_functions(object)) {
    return(NextMethod())
  }
  each <- lapply(imputed_parts(object), stats::residuals, ...)
  Reduce(`+`, each) / length(each)
}

# ---- No answer ---------------------------------------------------------------

abort_imputed <- function(fit, what, hints, arg, call) {
  abort_argument(
    c(paste0("A fit of several completed data sets has no ", what, "."),
      i = hints),
    call = call, class = "imputed"
  )
}

different_data_hint <-
  "Their likelihoods are of different data: take those of the single fits."
own_frame_hint <- "Each data set has its own: see the single fits."

no_imputed <- function(...) no_answer(..., refuse = abort_imputed)

#' @export
log_lik.gibbsite_imputed <- no_imputed("log-likelihood", different_data_hint)

#' @export
loo.gibbsite_imputed <- no_imputed(
  "{.fn loo}", different_data_hint, alist(x = , ... = )
)

#' @export
waic.gibbsite_imputed <- no_imputed(
  "{.fn waic}", different_data_hint, alist(x = , ... = )
)

#' @exportS3Method loo::loo_moment_match
loo_moment_match.gibbsite_imputed <- no_imputed(
  "{.fn loo}", different_data_hint, alist(x = , ... = )
)

#' @export
kfold.gibbsite_imputed <- no_imputed(
  "{.fn kfold}", different_data_hint, alist(x = , ... = )
)

#' @export
extend.gibbsite_imputed <- no_imputed(
  "chains to continue",
  "Extend the fits of the single data sets, and combine them again."
)

#' @export
simulate.gibbsite_imputed <- no_imputed(
  "{.fn simulate}", "{.fn posterior_predict} draws responses."
)

#' @export
model.frame.gibbsite_imputed <- no_imputed(
  "single model frame", own_frame_hint,
  alist(formula = , ... = )
)

#' @export
model.matrix.gibbsite_imputed <- no_imputed(
  "single model frame", own_frame_hint
)

# A fit of several completed data sets, made by combine_fits(data = "imputed"):
# its chains by data set. The field `imputed` of its model is a list with
# `models`, the model of each data set, and `set`, the data set of each chain.
# All other fields are those of the first data set's model.

is_imputed <- function(fit) !is.null(attr(fit, "model", exact = TRUE)$imputed)

# The numbers of the chains of each data set; all chains of other fits.
chain_sets <- function(fit) {
  set <- fit_part(fit, "model")$imputed$set %||% rep(1L, length(fit))
  unname(split(seq_along(set), set))
}

# The fits of the single data sets, for predictions.
imputed_parts <- function(fit) {
  models <- fit_part(fit, "model")$imputed$models
  sets <- chain_sets(fit)
  lapply(seq_along(sets), function(m) {
    own <- sets[[m]]
    running <- fit_part(fit, "running")
    running$chains <- length(own)
    structure(
      unclass(fit)[own], model = models[[m]], running = running,
      chains = fit_part(fit, "chains")[own], pending = NULL,
      run = fit_part(fit, "run"),
      class = c(models[[m]]$fit_class, "gibbsite_fit", "mcmc.list")
    )
  })
}

# f(part) of each data set, one below the other: draws x anything.
stacked_parts <- function(fit, f) do.call(rbind, lapply(imputed_parts(fit), f))

# Measures of sets of chains as one: the worst of them.
worst_measures <- function(tables) {
  each <- function(column, f) do.call(f, lapply(tables, `[[`, column))
  out <- tables[[1L]]
  out$rhat <- each("rhat", pmax)
  out$ess_bulk <- each("ess_bulk", pmin)
  out$ess_tail <- each("ess_tail", pmin)
  # `ok` is there in a table of convergence alone
  for (column in intersect(c("constant", "finite", "ok"), names(out))) {
    out[[column]] <- Reduce(`&`, lapply(tables, `[[`, column))
  }
  out
}

# diagnose(), convergence_table() and mean_errors() within each data set.
diagnose_sets <- function(draws, sets) {
  worst_measures(lapply(sets, function(own) {
    diagnose(draws[, own, , drop = FALSE])
  }))
}

# The table of convergence() of a fit.
fit_convergence <- function(fit, rhat = 1.01, ess = 400,
                            invariants = fit_invariants(fit)) {
  inner <- model_inner(fit_part(fit, "model"))
  worst_measures(lapply(chain_sets(fit), function(own) {
    convergence_table(invariants[, own, , drop = FALSE], rhat, ess, inner)
  }))
}

# Errors of the mean over data sets, whose chains are independent.
mean_errors_of_sets <- function(draws, sets) {
  squares <- lapply(sets, function(own) {
    mean_errors(draws[, own, , drop = FALSE])^2
  })
  sqrt(Reduce(`+`, squares)) / length(sets)
}

# The share of the posterior variance of each coefficient that is due to the
# missing values, (1 + 1/M) B / T, T = W + (1 + 1/M) B, with W the mean variance
# within data sets and B the variance of their means (Rubin 1987).
missing_information <- function(fit) {
  model <- fit_part(fit, "model")
  columns <- seq_along(coefficient_columns(model))
  draws <- lapply(imputed_parts(fit), function(part) {
    do.call(rbind, chain_matrices(part))[, columns, drop = FALSE]
  })
  each <- function(f) do.call(rbind, lapply(draws, f))
  within <- colMeans(each(function(x) apply(x, 2L, stats::var)))
  between <- (1 + 1 / length(draws)) * apply(each(colMeans), 2L, stats::var)
  stats::setNames(between / (within + between), colnames(draws[[1L]]))
}

# Lines about the data sets, for print() and summary(); NULL for other fits.
imputed_lines <- function(fit) {
  if (!is_imputed(fit)) {
    return(NULL)
  }
  share <- missing_information(fit)
  share <- share[is.finite(share)]
  first <- utils::head(sort(share, decreasing = TRUE), 5L)
  more <- length(share) - length(first)
  sets <- length(chain_sets(fit))
  strwrap(c(
    paste0(
      "The mixture of the posteriors of ", sets, " completed data sets; ",
      "convergence is judged within each, and the worst is shown."
    ),
    paste0(
      "Fraction of missing information: ",
      paste(names(first), format(round(first, 2), nsmall = 2),
            collapse = ", "),
      if (more > 0L) paste0(", ", more, " more at most as large"), "."
    )
  ), 80, exdent = 2)
}
