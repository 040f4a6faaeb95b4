# gibbs_logistic() with groups: the model of gibbs_hlm() with binomial
# responses.
# src/core/hlm/hlm_binomial.h has the mathematics.

# The frame of hlm_frame() with the parts of logistic_frame(). user_call: that
# of gibbs_logistic().
hlm_binomial_frame <- function(formula, data, user_call, action, contrasts,
                               link, env, call) {
  others <- c("lme4::glmer", "rstanarm::stan_glmer")
  parsed <- parse_hlm_formula(formula, data, others, call)
  check_model_formula(parsed$flat, "gibbs_logistic", others, call)
  user_call$formula <- parsed$with_group
  made <- regression_frame(
    parsed$with_group, data, user_call, action, env, call
  )
  name <- deparse1(formula[[2L]])
  response <- as_weighted_response(
    stats::model.response(made$frame), name, call
  )
  response$name <- name
  frame <- hlm_frame(made, parsed, formula, response, contrasts, NULL, call)
  settled <- trials_of_weights(response, frame$weights, call)
  response <- settled$response
  frame["weights"] <- list(settled$weights)
  frame$link <- link
  frame$known <- TRUE
  frame <- binomial_frame(frame, response)
  check_whole_weights(frame, call)
  frame
}

# The frame with the counts of a response, of as_response() with its name.
binomial_frame <- function(frame, response) {
  own <- logistic_frame(list(
    x = frame$x, response = response, weights = frame$weights,
    offset = frame$offset, total = total_weights(response, frame$weights),
    link = frame$link
  ))
  frame[names(own)] <- own
  frame
}

# A formula with groups, such as y ~ x + (1 | g).
has_bar <- function(formula) {
  inherits(formula, "formula") && length(formula) == 3L &&
    any(vapply(formula_terms(formula[[3L]]), is_random_effect, NA))
}

hlm_binomial_model <- function(frame, prior, call) {
  used <- rows_used(frame)
  if (!any(used)) {
    abort_argument("There are no observations with trials.", call = call)
  }
  design <- hlm_design(frame, used, frame$total[used], call)
  prior <- complete_group_prior(prior, frame, design, call)
  hlm_binomial_model_of(frame, prior, design)
}

# The prior with every field filled in.
complete_group_prior <- function(prior, frame, design, call) {
  found <- describe_design(
    frame$x, design$columns, measure_columns(frame$x, frame$total), call
  )
  done <- complete_logistic_prior(prior, found, call)
  if (is.matrix(done$c) || !all(is.finite(done$c))) {
    abort_argument(
      c("`c` of `prior` must hold finite variances for a formula with groups,
         not a covariance matrix or `Inf`.",
        i = "A coefficient without a prior can have an improper posterior
             there."),
      call = call
    )
  }
  done$group_df <- prior$group_df %||% 2
  done$group_scale <- complete_each(
    prior$group_scale, 2.5 * design$reach, design$bar, "group_scale",
    "the terms before the bar", call
  )
  done
}

hlm_binomial_model_of <- function(frame, prior, design) {
  data <- hlm_binomial_data(frame, prior, design)
  nobs <- sum(rows_used(frame))
  title <- paste("Hierarchical", tolower(link_title(frame$link)))
  new_model(
    c("hlm_binomial_model", "hlm_model"),
    name = "gibbs_logistic", title = title,
    headline = hlm_headline(title, frame, design, nobs),
    data = data, data_part = "frame",
    prior = linked_prior(prior, frame$link), nobs = nobs,
    columns = hlm_columns(frame, design, "w"),
    cures = paste(
      "Groups with few observations say little about the covariance of their",
      "effects: use fewer terms before the bar, or a prior with a smaller",
      "`group_scale`: see ?logistic_prior."
    ),
    fit_class = c("gibbs_hlm_binomial", "gibbs_hlm"),
    coefficients = design$columns, layout = design, keep = "w",
    levels = frame$levels, group_name = frame$group_name,
    unbounded = design$columns[
      unbounded_columns(frame, seq_along(design$columns))
    ],
    design = c(hlm_design_of(frame), list(link = frame$link)), frame = frame
  )
}

# What C reads, as core/hlm/hlm_binomial.h describes.
hlm_binomial_data <- function(frame, prior, design) {
  groups <- length(frame$levels)
  used <- which(rows_used(frame))
  rows <- used[order(frame$group[used])]
  size <- tabulate(frame$group[used], groups)
  p <- length(design$columns)
  list(
    q = as.double(length(design$bar)), p = as.double(p),
    groups = as.double(groups), diagonal = as.double(design$diagonal),
    known = 1, half_t = 1, collapsed = 0, keep = 1,
    probit = as.double(frame$link == "probit"),
    mean = unname(prior_means(prior)),
    precision = unname(1 / prior$c), df = as.double(prior$group_df),
    scale = unname(as.double(prior$group_scale)), shape = 0, rate = 0,
    unit = rep(1, p), column_mean = numeric(p), centre = 0,
    intercept_at = as.double(p),
    fixed_at = as.integer(match(design$bar, design$columns, 0L) - 1L),
    first = c(0L, cumsum(size)),
    bar = as.double(t(frame$z[rows, , drop = FALSE])),
    fixed = as.double(t(frame$x[rows, , drop = FALSE])),
    success = as.double(frame$success[rows]),
    total = as.double(frame$total[rows]),
    offset = as.double(frame$offset[rows]), constant = frame$constant
  )
}

# ---- Starting values and sweeps ----------------------------------------------

# The standard deviations of the groups are those of the prior, each over or
# under by a factor of up to 10; b and u are 0.
#' @exportS3Method
model_start.hlm_binomial_model <- function(model, init) {
  q <- model$data$q
  sd <- exp(stats::runif(q, -1, 1) * log(10)) * model$data$scale / 2.5
  hlm_state(model, init$Sigma %||% diag(sd^2, q), 1)
}

#' @exportS3Method
model_sweeps.hlm_binomial_model <- function(model, state, n, control) {
  .Call(C_hlm_binomial_sweeps, model$data, state, n, control)
}

#' @exportS3Method
model_notes.hlm_binomial_model <- function(model, fit, table) {
  unbounded_note(model$unbounded)
}

#' @exportS3Method
model_next.hlm_binomial_model <- function(model) logistic_next(model)

# No column depends on a numbering.
#' @exportS3Method
model_labelled.hlm_binomial_model <- function(model, invariants) character()

# The parameters, the log-likelihood, and the coefficients of at most 20 groups.
# Those of thousands of groups would take longer to judge than to draw.
#' @exportS3Method
model_invariants.hlm_binomial_model <- function(model, draws) {
  groups <- length(model$levels)
  shown <- unique(round(seq(1, groups, length.out = 20)))
  left_out <- coefficient_names(model$data$q, groups)[
    rep(!seq_len(groups) %in% shown, each = model$data$q)
  ]
  draws <- unclass(draws)
  draws[, !colnames(draws) %in% left_out, drop = FALSE]
}

# ---- Other responses ---------------------------------------------------------

# In the form of set_data().
#' @exportS3Method
simulate_data.hlm_binomial_model <- function(model, state) {
  frame <- model$frame
  share <- success_probability(model, state_predictor(model, state))
  trials <- frame$trials %||% rep(1, length(share))
  successes <- stats::rbinom(length(share), trials, share)
  cbind(successes, trials - successes)
}

# `data`: the response, one for each row of the fit's data.
#' @exportS3Method
set_data.hlm_binomial_model <- function(model, data,
                                        call = rlang::caller_env()) {
  read <- function(y) as_response(y, "data", call)
  remake <- function(frame, response) {
    counts <- c(response[c("y", "trials")], frame$response)
    hlm_binomial_model_of(
      binomial_frame(frame, counts), model$prior, model$layout
    )
  }
  with_responses(model, data, "hierarchical regression", remake, call, read)
}

#' @exportS3Method
model_quantities.hlm_binomial_model <- function(model, state) {
  eta <- state_predictor(model, state)
  c(group_quantities(model, state), log_lik = share_sum(model, eta))
}

#' @exportS3Method
model_fold_kinds.hlm_binomial_model <- function(model) "observation"

#' @exportS3Method
model_fold.hlm_binomial_model <- function(model, held, by) {
  frame <- model$frame
  rows <- which(rows_used(frame))[held]
  rest <- frame
  rest$total[rows] <- 0
  rest$success[rows] <- 0
  train <- hlm_binomial_model_of(rest, model$prior, model$layout)
  test <- train
  test$frame <- frame_rows(frame, rows)
  list(train = train, test = test)
}

# ---- Predictions -------------------------------------------------------------

#' Predictions of a logistic regression with groups
#'
#' The methods of [gibbs_logistic()] for a formula with groups. `fixef()`,
#' `ranef()`, `coef()`, `VarCorr()`, `vcov()`, `confint()` and [plot()] are
#' those of [gibbs_hlm()]: see [fixef.gibbs_hlm] and [plot.gibbs_hlm()].
#'
#' `predict()`: `"link"` is the linear predictor \eqn{o + x^\top b + z^\top
#' u_j}{o + x'b + z'u_j}, `"response"` the probability of success, `"class"` the
#' more probable outcome. For a group of the fit the deviations are those of the
#' draws. For a new group they are integrated out: given a draw the linear
#' predictor is normal, and the mean of the logistic or normal distribution
#' function over it is exact (see [predict.laplace_logistic()]).
#' `posterior_linpred()`, `posterior_epred()`, `posterior_predict()` and
#' `log_lik()` have a row for each draw; the deviations of new groups are drawn
#' with R's generator. `residuals()`, `pp_check()` and `bayes_R2()` are as in
#' [fitted.gibbs_logistic()] and [posterior_epred.gibbs_logistic()].
#'
#' @param object A fit of [gibbs_logistic()] by a formula with groups.
#' @param newdata `NULL` for the data of the fit, or a data frame with the
#'   formula's variables. Rows with missing values have missing predictions.
#' @param type For `predict()`: `"link"` (default), `"response"` or `"class"`.
#'   For `residuals()`: `"deviance"` (default), `"pearson"` or `"response"`.
#' @param interval,level,re_formula,allow_new_levels,offset As in
#'   [predict.gibbs_hlm()].
#' @param draws `NULL` for all draws (`pp_check()`: for at most 50), or the
#'   number of draws to use, spread evenly over the chains' draws.
#' @param ndraws Another name of `draws`, which tidybayes uses.
#' @param transform `FALSE` (default); `TRUE` is `posterior_epred()`.
#' @param trials For `posterior_predict()` with `newdata`: the number of trials
#'   of each row, one number or several; default 1.
#' @param ... Not used; for `pp_check()` passed to bayesplot.
#' @return `predict()` and `fitted()`: a vector with the names of the rows, with
#'   `interval` a data frame with the columns `mean`, `sd`, `lower` and `upper`;
#'   `residuals()` a vector; the others as in [posterior_epred.gibbs_hlm()].
#' @section Errors: `gibbsite_error_argument` for variables that are missing, of
#'   another kind, or with levels or groups that are not in the fit
#'   (`gibbsite_error_level`), for terms that use other rows of the data
#'   (`gibbsite_error_other_rows`, see [gibbs_lm()]), and for `newdata = NULL`
#'   when the fit does not hold its data.
#' @examples
#' fit <- gibbs_logistic(y ~ trt + (1 | ID), MASS::bacteria, seed = 1)
#' new <- data.frame(trt = "drug", ID = c("X01", "new"))
#' predict(fit, new, "response", interval = TRUE, allow_new_levels = TRUE)
#' nlme::VarCorr(fit)
#' @name hlm-binomial
#' @aliases predict.gibbs_hlm_binomial
NULL

#' @rdname hlm-binomial
#' @export
predict.gibbs_hlm_binomial <- function(object, newdata = NULL,
                                       type = c("link", "response", "class"),
                                       interval = FALSE, level = 0.95,
                                       re_formula = NULL,
                                       allow_new_levels = FALSE, offset = NULL,
                                       ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("link", "response", "class"))
  interval <- check_flag(interval) && type != "class"
  level <- check_level(level)
  allow_new_levels <- check_flag(allow_new_levels)
  check_re_formula(re_formula, call)
  model <- fit_part(object, "model")
  rows <- hlm_rows(model, newdata, offset, re_formula, allow_new_levels, call)
  out <- hlm_moments(
    object, rows, NULL, if (type == "link") "mean" else "share", level, interval
  )
  out <- if (type == "class") {
    as_class(model, out$mean, call)
  } else if (interval) {
    as.data.frame(out)
  } else {
    out$mean
  }
  out <- with_row_names(out, rows$names)
  if (is.null(newdata)) as_excluded(model, out) else out
}

#' @rdname hlm-binomial
#' @export
residuals.gibbs_hlm_binomial <- function(object,
                                         type = c(
                                           "deviance", "pearson", "response"
                                         ), ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("deviance", "pearson", "response"))
  model <- fit_part(object, "model")
  check_frame(model)
  rows <- hlm_rows(model, NULL, NULL, NULL, FALSE, call)
  mean <- hlm_moments(object, rows, NULL, "share", 0.95, FALSE)$mean
  share_residuals(model, mean, type, rows$names)
}

#' @rdname hlm-binomial
#' @export
posterior_linpred.gibbs_hlm_binomial <- function(object, transform = FALSE,
                                                 newdata = NULL, draws = NULL,
                                                 re_formula = NULL,
                                                 allow_new_levels = FALSE,
                                                 offset = NULL, ...,
                                                 ndraws = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  transform <- check_flag(transform)
  draws <- either_draws(draws, ndraws, call)
  eta <- hlm_draws_at(
    object, newdata, re_formula, allow_new_levels, offset, NULL, draws, call
  )$mu
  if (transform) success_probability(fit_part(object, "model"), eta) else eta
}

#' @rdname hlm-binomial
#' @export
posterior_epred.gibbs_hlm_binomial <- function(object, newdata = NULL,
                                               draws = NULL, re_formula = NULL,
                                               allow_new_levels = FALSE,
                                               offset = NULL, ...,
                                               ndraws = NULL) {
  if (has_short_names()) return(with_whole_names())
  draws <- either_draws(draws, ndraws, rlang::current_env())
  posterior_linpred.gibbs_hlm_binomial(
    object, TRUE, newdata, draws, re_formula, allow_new_levels, offset, ...
  )
}

#' @rdname hlm-binomial
#' @export
posterior_predict.gibbs_hlm_binomial <- function(object, newdata = NULL,
                                                 draws = NULL,
                                                 re_formula = NULL,
                                                 allow_new_levels = FALSE,
                                                 offset = NULL, trials = NULL,
                                                 ..., ndraws = NULL) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_unlocked(call)
  draws <- either_draws(draws, ndraws, call)
  mean <- posterior_epred.gibbs_hlm_binomial(
    object, newdata, draws, re_formula, allow_new_levels, offset, ...
  )
  predicted_successes(
    mean, fit_part(object, "model"), is.null(newdata), trials, call
  )
}

#' @rdname hlm-binomial
#' @export
log_lik.gibbs_hlm_binomial <- function(object, draws = NULL, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  eta <- posterior_linpred.gibbs_hlm_binomial(object, draws = draws)
  out <- share_log_lik(model, eta, frame$success, frame$total) +
    rep(log_choose(frame), each = nrow(eta))
  used_columns(out, rows_used(frame))
}

#' @rdname hlm-binomial
#' @export
bayes_R2.gibbs_hlm_binomial <- function( # nolint: object_name_linter.
    object, newdata = NULL, draws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  eta <- posterior_linpred.gibbs_hlm_binomial(
    object, FALSE, newdata, draws, ...
  )
  explained_success(
    fit_part(object, "model"), observed_columns(object, newdata, eta)
  )
}

#' @rdname hlm-binomial
#' @exportS3Method bayesplot::pp_check
pp_check.gibbs_hlm_binomial <- function(object, draws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  pp_check.laplace_logistic(object, draws, ...)
}

#' @rdname hlm-binomial
#' @export
fitted.gibbs_hlm_binomial <- function(object, ...) {
  fitted.laplace_logistic(object, ...)
}

#' @rdname logistic-data
#' @export
family.gibbs_hlm_binomial <- function(object, ...) {
  family.laplace_logistic(object, ...)
}
