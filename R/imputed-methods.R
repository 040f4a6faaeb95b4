# Methods of fits of several completed data sets. Predictions are those of the
# mixture: every draw predicts with its own data set, which also gives the basis
# of terms such as poly().

# The kinds of fits of which draws have the same meaning in every data set.
imputed_kinds <- c(
  "gibbs_lm", "gibbs_hlm", "gibbs_logistic", "gibbs_count", "gibbs_ordinal",
  "gibbs_categorical", "mh_sample", "gibbs_sample"
)

# Whether the functions of predictions are the user's.
has_own_functions <- function(fit) !is_regression(fit)

fits_categories <- function(fit) {
  has_categories(model_response(fit_part(fit, "model")))
}

#' Predictions of fits of completed data sets
#'
#' How fits of `combine_fits(data = "imputed")` differ from the fits of the
#' single data sets.
#'
#' Means average over the data sets; draws of predictions are those of all data
#' sets, one after the other, as the draws of the parameters are. Without
#' `newdata` each draw predicts with the predictors of its own data set. An
#' interval of `predict()` has the quantiles of the mixture; the deviations of
#' groups are drawn for it with random numbers. `residuals()` are averages, and
#' the probabilities of categories too.
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
  call <- rlang::current_env()
  if (fits_categories(object)) {
    mixed_categories(object, newdata, ..., call = call)
  } else {
    mixed_prediction(object, newdata, ..., call = call)
  }
}

mixed_prediction <- function(object, newdata, type = NULL, interval = "none",
                             level = 0.95, ..., call) {
  model <- fit_part(object, "model")
  response <- model_response(model)
  interval <- check_interval(interval, call)
  type <- check_prediction_type(type, interval, response, call)
  level <- check_level(level, arg = "level", call = call)
  average <- function(type) {
    each <- predict_parts(object, newdata, type = type, ...)
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
  # as `mean` has them
  if (is.null(newdata)) found <- as_excluded(model, found)
  # of new observations the mean is that of their number of successes
  out <- cbind(
    mean = if (is.null(found$mean)) unname(mean) else found$mean,
    found[c("sd", "lower", "upper")]
  )
  rownames(out) <- names(mean)
  out
}

# Errors name predict().
predict_parts <- function(fit, ...) {
  lapply(imputed_parts(fit), function(part) predict(part, ...))
}

# The result has the forms of predict.gibbsite_categories().
mixed_categories <- function(object, newdata, type = NULL, interval = "none",
                             level = 0.95, ..., call) {
  model <- fit_part(object, "model")
  response <- model_response(model)
  interval <- check_category_interval(interval, response, call)
  type <- check_prediction_type(type, interval, response, call)
  level <- check_level(level, arg = "level", call = call)
  if (type == "link" && is_ordered(response)) {
    return(mixed_prediction(
      object, newdata, type, interval, level, ..., call = call
    ))
  }
  if (type == "class") check_single_outcomes(model_design(model)$response, call)
  each <- predict_parts(
    object, newdata, type = if (type == "class") "response" else type,
    interval = interval, level = level, ...
  )
  average <- function(tables) Reduce(`+`, tables) / length(tables)
  if (interval == "none") {
    mean <- average(each)
    return(if (type == "class") most_probable(model, mean) else mean)
  }
  out <- each[[1L]]
  out$mean <- average(lapply(each, `[[`, "mean"))
  # the rows of the table, one category after the other
  draw <- if (type == "link") posterior_linpred else posterior_epred
  drawn <- aperm(draw(object, newdata = newdata, ...), c(1L, 3L, 2L))
  spread <- c("sd", "lower", "upper")
  out[spread] <- draws_table(
    normal_response(), list(mean = matrix(drawn, nrow(drawn))),
    central_tails(level)
  )[spread]
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
  scale <- response_scale(response, bind_chains(chain_matrices(object)))
  new_observations(response, list(mean = eta), size, scale, tails)
}

# f(part) of every data set, of which some draws are taken.
mixed_draws <- function(object, f, ndraws, call) {
  all <- lapply(imputed_parts(object), f)
  size <- dim(all[[1L]])
  names <- dimnames(all[[1L]])
  # draws of categories are arrays
  all <- do.call(rbind, lapply(all, function(x) matrix(x, nrow(x))))
  all <- all[spread_rows(ndraws, nrow(all), call), , drop = FALSE]
  array(all, c(nrow(all), size[-1L]), if (!is.null(names)) {
    c(list(NULL), names[-1L])
  })
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
  if (fits_categories(object)) {
    return(NextMethod())
  }
  unlist(lapply(imputed_parts(object), function(part) bayes_R2(part, ...)))
}

#' @rdname imputed-fits
#' @export
residuals.gibbsite_imputed <- function(object, ...) {
  if (has_own_functions(object) || fits_categories(object)) {
    return(NextMethod())
  }
  each <- lapply(imputed_parts(object), function(part) residuals(part, ...))
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
