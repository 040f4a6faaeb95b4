# Methods of every regression: estimates from its draws, and parts of its call
# and data.

# ---- Estimates ---------------------------------------------------------------

# The draws of the coefficients, chain after chain.
coefficient_draws <- function(fit) {
  model <- fit_part(fit, "model")
  columns <- model$coefficients %||% model$columns
  do.call(rbind, chain_matrices(fit))[, seq_along(columns), drop = FALSE]
}

# coefficients x (lower, upper)
coefficient_interval <- function(fit, level) {
  tails <- c(1 - level, 1 + level) / 2
  t(apply(coefficient_draws(fit), 2L, stats::quantile, tails, names = FALSE))
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

#' @rdname lm-data
#' @export
confint.gibbs_lm <- function(object, parm, level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  check_whole_fit(object, "object", call)
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  out <- coefficient_interval(object, level)
  colnames(out) <- paste(
    format(100 * c(1 - level, 1 + level) / 2, trim = TRUE, digits = 3), "%"
  )
  if (missing(parm)) {
    return(out)
  }
  rows <- check_some_of(parm, rownames(out), call)
  out[rows, , drop = FALSE]
}

#' @rdname logistic-data
#' @export
confint.gibbs_logistic <- confint.gibbs_lm

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
  design$formula
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
  check_whole_fit(object, "object", rlang::current_env())
  if (missing(formula.)) {
    out <- NextMethod(evaluate = FALSE)
  } else {
    new <- changed_formula(
      formula.laplace_logistic(object), formula., rlang::current_env()
    )
    out <- update.gibbsite_fit(object, ..., evaluate = FALSE)
    out$formula <- new
  }
  if (evaluate) eval(out, parent.frame()) else out
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
