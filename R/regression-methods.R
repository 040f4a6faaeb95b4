# Estimates from the draws of regressions and of one's own models; parts of a
# regression's call and data.

# ---- Estimates ---------------------------------------------------------------

# The draws of the coefficients, chain after chain; of one's own model, of all
# parameters that were kept.
coefficient_draws <- function(fit) {
  model <- fit_part(fit, "model")
  columns <- model$coefficients %||% model$columns
  do.call(rbind, chain_matrices(fit))[, seq_along(columns), drop = FALSE]
}

# coefficients x (lower, upper)
coefficient_interval <- function(fit, level) {
  central_intervals(coefficient_draws(fit), level)
}

# The value of confint(), from interval(fit, level): parameters x (lower,
# upper).
interval_table <- function(object, level, interval, call) {
  check_whole_fit(object, "object", call)
  level <- check_level(level, call = call)
  out <- interval(object, level)
  colnames(out) <- tail_names(level)
  out
}

#' @rdname lm-data
#' @export
coef.gibbs_lm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  colMeans(coefficient_draws(object))
}

#' @rdname logistic-data
#' @export
coef.gibbs_logistic <- coef.gibbs_lm

#' @rdname mh-estimates
#' @export
coef.mh_sample <- coef.gibbs_lm

#' @rdname mh-estimates
#' @export
coef.gibbs_sample <- coef.gibbs_lm

#' @rdname lm-data
#' @export
vcov.gibbs_lm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  stats::cov(coefficient_draws(object))
}

#' @rdname logistic-data
#' @export
vcov.gibbs_logistic <- vcov.gibbs_lm

#' @rdname mh-estimates
#' @export
vcov.mh_sample <- vcov.gibbs_lm

#' @rdname mh-estimates
#' @export
vcov.gibbs_sample <- vcov.gibbs_lm

#' @rdname lm-data
#' @export
confint.gibbs_lm <- function(object, parm, level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  out <- interval_table(object, level, coefficient_interval, call)
  if (missing(parm)) out else some_rows(out, parm, call)
}

#' @rdname logistic-data
#' @export
confint.gibbs_logistic <- confint.gibbs_lm

#' @rdname mh-estimates
#' @export
confint.mh_sample <- confint.gibbs_lm

#' @rdname mh-estimates
#' @export
confint.gibbs_sample <- confint.gibbs_lm

# The weights of the observations, 1 where none were given.
frame_weights <- function(object) {
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  weights <- frame$total %||% frame$weights %||% rep(1, nrow(frame$x))
  as_excluded(model, with_row_names(weights, rownames(frame$x)))
}

#' @rdname lm-data
#' @export
weights.gibbs_lm <- function(object, ...) {
  check_no_more(...)
  frame_weights(object)
}

#' @rdname hlm-data
#' @export
weights.gibbs_hlm <- weights.gibbs_lm

#' @rdname logistic-data
#' @export
weights.laplace_logistic <- weights.gibbs_lm

#' @rdname logistic-data
#' @export
weights.gibbs_logistic <- weights.gibbs_lm

# type: "response" or "pearson".
frame_residuals <- function(frame, mean, type) {
  out <- frame$y - mean
  if (type == "pearson") out * sqrt(frame$weights %||% 1) else out
}

# Those columns of `mean`, draws x rows, that are observations of the fit or of
# new data.
observed_columns <- function(fit, newdata, mean) {
  if (is.null(newdata)) {
    mean <- used_columns(mean, rows_used(fit_part(fit, "model")$frame))
  }
  mean
}

# R^2 of each draw (Gelman et al. 2019, doi:10.1080/00031305.2018.1549100).
# mean: expected responses, draws x observations.  noise: their mean variance.
explained_share <- function(mean, noise) {
  explained <- apply(mean, 1L, stats::var)
  explained / (explained + noise)
}

#' @rdname lm-draws
#' @exportS3Method bayesplot::pp_check
pp_check.gibbs_lm <- function(object, draws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  frame <- check_frame(fit_part(object, "model"))
  draws <- draws %||% min(50, ndraws(object))
  used <- rows_used(frame)
  replicated <- unname(posterior_predict(object, draws = draws))
  bayesplot::ppc_dens_overlay(
    frame$y[used], replicated[, used, drop = FALSE], ...
  )
}

#' @rdname hlm-draws
#' @exportS3Method bayesplot::pp_check
pp_check.gibbs_hlm <- pp_check.gibbs_lm


# ---- Other responses ---------------------------------------------------------

# Normal errors of precision beta times the weights, one for each row.
response_noise <- function(frame, beta) {
  n <- nrow(frame$x)
  stats::rnorm(n) / sqrt(beta * (frame$weights %||% rep(1, n)))
}

# The log density of the responses at their expectations.
response_log_lik <- function(frame, mean, beta) {
  weights <- (frame$weights %||% 1) + 0 * mean
  used <- weights > 0 & !is.na(frame$y)
  sum(stats::dnorm(
    frame$y[used], mean[used], 1 / sqrt(beta * weights[used]), log = TRUE
  ))
}

# The model with other responses: one for each row of the fit's data.
# what: the model in words.  remake(frame, response): its parts, made from a
# frame with other responses, of read(data).
with_responses <- function(model, data, what, remake, call,
                           read = function(y) {
                             as_measurements(y, "data", call)
                           }) {
  if (is.null(model$frame)) {
    abort_argument(
      c("`data` are not needed to draw on from a {what}.",
        i = "Leave `data` out."),
      call = call
    )
  }
  frame <- model$frame
  response <- read(data)
  check_vector_length(
    response$y, nrow(frame$x), "one for each row", "data", call
  )
  frame$y <- response$y
  fresh <- remake(frame, response)
  model[names(fresh)] <- fresh
  model
}

# ---- Data with predictions, and simulated responses --------------------------

# type: of predict(), the expected response.
augmented <- function(x, data, newdata, level, type, call) {
  level <- check_level(level, arg = "conf.level", call = call)
  model <- fit_part(x, "model")
  if (!is.null(data)) {
    if (!is.data.frame(data)) {
      abort_expected(data, "a data frame", TRUE, "data", call)
    }
    check_data_frame(data, "data", call)
  }
  prediction <- stats::predict(
    x, newdata, type = type, interval = TRUE, level = level
  )
  names(prediction) <- c(".fitted", ".sd", ".lower", ".upper")
  if (!is.null(newdata)) {
    return(cbind(as.data.frame(newdata), prediction))
  }
  prediction$.resid <- unname(stats::residuals(x))
  own <- data %||% model$frame$model
  if (is.null(own)) {
    return(prediction)
  }
  left_out <- model$frame$na.action
  if (is.null(data) && inherits(left_out, "exclude")) {
    # the model frame does not have these rows
    prediction <- prediction[-as.integer(left_out), ]
  }
  if (nrow(own) != nrow(prediction)) {
    abort_argument(
      "{.arg data} must have {nrow(prediction)} row{?s}, as the fit has
       observations, not {nrow(own)}.",
      call = call
    )
  }
  cbind(as.data.frame(own), prediction)
}

#' @rdname augment.laplace_logistic
#' @export
augment.gibbs_lm <- function(x, data = NULL, newdata = NULL, conf.level = 0.95,
                             ...) {
  call <- rlang::current_env()
  check_no_more(...)
  augmented(x, data, newdata, conf.level, "mean", call)
}

# respond(draw): responses given one row of draws.
simulated <- function(object, nsim, seed, frame, respond, call) {
  check_unlocked(call)
  nsim <- check_count(nsim, arg = "nsim", call = call)
  check_result_size(
    c(length(frame$y), nsim), "observations x simulations", "{.arg nsim}", call
  )
  draws <- do.call(rbind, chain_matrices(object))
  simulated_columns(nsim, seed, frame$row_names %||% seq_along(frame$y), {
    function() respond(draws[sample.int(nrow(draws), 1L), , drop = FALSE])
  }, call)
}

#' @rdname lm-data
#' @importFrom stats simulate
#' @export
simulate.gibbs_lm <- function(object, nsim = 1, seed = NULL, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  simulated(object, nsim, seed, frame, function(draw) {
    p <- length(model$coefficients)
    w <- draw[, seq_len(p), drop = FALSE]
    eta <- as.vector(linear_predictors(as.matrix(frame$x), w, frame$offset))
    weights <- frame$weights %||% rep(1, length(eta))
    noise <- stats::rnorm(length(eta)) * draw[[p + 1L]]
    eta + ifelse(weights > 0, noise / sqrt(weights), NA_real_)
  }, rlang::current_env())
}

# ---- Call and data -----------------------------------------------------------

#' @exportS3Method
model_comparable.laplace_logistic_model <- function(model) {
  bare <- function(x) {
    if (!is.null(x)) attr(x, ".Environment") <- NULL
    x
  }
  for (part in c("frame", "design")) {
    for (name in intersect(c("formula", "terms"), names(model[[part]]))) {
      model[[part]][name] <- list(bare(model[[part]][[name]]))
    }
  }
  if (!is.null(model$frame$model)) {
    attr(model$frame$model, "terms") <- bare(attr(model$frame$model, "terms"))
  }
  model
}

#' @exportS3Method
model_comparable.lm_model <- model_comparable.laplace_logistic_model

#' @exportS3Method
model_comparable.logit_model <- model_comparable.laplace_logistic_model

#' @rdname logistic-data
#' @importFrom stats formula
#' @export
formula.laplace_logistic <- function(x, ...) {
  design <- model_design(fit_part(x, "model"))
  if (is.null(design$formula)) {
    abort_argument("The fit was made from a matrix: it has no formula.")
  }
  in_its_space(design$formula)
}

#' @rdname lm-data
#' @export
formula.gibbs_lm <- formula.laplace_logistic

#' @rdname logistic-data
#' @export
formula.gibbs_logistic <- formula.laplace_logistic

#' @rdname logistic-data
#' @importFrom stats terms
#' @export
terms.laplace_logistic <- function(x, ...) {
  design <- model_design(fit_part(x, "model"))
  if (is.null(design$terms)) {
    abort_argument("The fit was made from a matrix: it has no terms.")
  }
  design$terms
}

#' @rdname lm-data
#' @export
terms.gibbs_lm <- terms.laplace_logistic

#' @rdname logistic-data
#' @export
terms.gibbs_logistic <- terms.laplace_logistic

#' @rdname logistic-data
#' @importFrom stats model.frame
#' @export
model.frame.laplace_logistic <- function(formula, ...) {
  frame <- check_frame(fit_part(formula, "model"))
  if (is.null(frame$model)) {
    abort_argument("The fit was made from a matrix: it has no model frame.")
  }
  frame$model
}

#' @rdname lm-data
#' @export
model.frame.gibbs_lm <- model.frame.laplace_logistic

#' @rdname logistic-data
#' @export
model.frame.gibbs_logistic <- model.frame.laplace_logistic

#' @rdname logistic-data
#' @importFrom stats model.matrix
#' @export
model.matrix.laplace_logistic <- function(object, ...) {
  check_frame(fit_part(object, "model"))$x
}

#' @rdname lm-data
#' @export
model.matrix.gibbs_lm <- model.matrix.laplace_logistic

#' @rdname logistic-data
#' @export
model.matrix.gibbs_logistic <- model.matrix.laplace_logistic

changed_formula <- function(old, changes, call) {
  if (!inherits(changes, "formula") && !is_plain_string(changes)) {
    abort_expected(changes, "a formula", FALSE, "formula.", call)
  }
  tryCatch(stats::update.formula(old, changes), error = function(cnd) {
    reason <- conditionMessage(cnd)
    abort_argument(
      c("{.arg formula.} cannot be applied to {.code {deparse1(old)}}.",
        x = "{reason}"),
      call = call
    )
  })
}

#' @rdname update.gibbsite_fit
#' @param formula. For a fit by formula: changes to it, as in
#'   [stats::update.formula()].
#' @export
update.laplace_logistic <- function(object,
                                    formula., # nolint: object_name_linter.
                                    ..., evaluate = TRUE) {
  evaluate <- check_flag(evaluate)
  call <- rlang::current_env()
  check_whole_fit(object, "object", call)
  check_changes(as.list(substitute(list(...)))[-1L], call)
  out <- update.gibbsite_fit(object, ..., evaluate = FALSE)
  if (!missing(formula.)) {
    out$formula <- changed_formula(
      formula.laplace_logistic(object), formula., call
    )
  }
  if (!evaluate) {
    return(out)
  }
  evaluate_again(out, parent.frame(), call)
}

#' @rdname update.gibbsite_fit
#' @export
update.gibbs_lm <- update.laplace_logistic

#' @rdname update.gibbsite_fit
#' @export
update.gibbs_logistic <- update.laplace_logistic

#' @rdname update.gibbsite_fit
#' @export
update.gibbs_hlm <- update.laplace_logistic
