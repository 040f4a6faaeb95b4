# Generics of stats and posterior for every fit: answers where they have a
# meaning, and errors that say what to call where they have none.

# ---- No answer ---------------------------------------------------------------

#' Generics without a meaning for a fit
#'
#' These generics of the package stats would return `NULL`, or an error that
#' does not help. For a fit for which they have no meaning they give an error
#' that names what to call.
#'
#' * A fit by draws has no single log-likelihood, deviance or number of degrees
#'   of freedom: its likelihood has a posterior distribution, [log_lik()].
#'   Models are compared by [log_evidence()], [loo()][loo::loo],
#'   [waic()][loo::waic] and [kfold()][kfold.gibbsite_fit], numbers of
#'   components, topics and factors by [compare_k()], coefficients by
#'   [compare()].
#' * Topics, components of a mixture and factors have no coefficients: see
#'   `summary()`, [relabel()], [topic_estimates()] and [factors_of()].
#' * Expected responses and linear predictors are those of regressions and of
#'   ratings. Of draws of one's own model a function gives them, see
#'   [predict.mh_sample()]. Such a fit has no data for `pp_check()`.
#' * Only regressions have a formula, a model frame, a family, weights of
#'   observations, fitted values and residuals. Ratings have fitted values and
#'   residuals too.
#'
#' @param object,x,formula A fit.
#' @param parm,level,transform,sigma,... Not used.
#' @return Nothing.
#' @section Errors: `gibbsite_error_argument`, always.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, seed = 1, progress = FALSE)
#' try(logLik(fit))
#' try(coef(fit))
#' @name fit-generics
NULL

# arg: the generic's name of the fit
abort_no_answer <- function(fit, what, hint, call, arg = "object") {
  check_whole_fit(fit, arg, call)
  name <- fit_part(fit, "model")$name
  abort_argument(
    c(
      paste0("A fit of {.fn {name}} has no ", what, "."),
      i = hint[[1L]], hint[-1L]
    ),
    call = call
  )
}

# What to compare fits of a kind by.
comparison_hint <- function(fit) {
  if (inherits(fit, c("gibbs_gmm", "gibbs_lda", "gibbs_bmf"))) {
    "{.fn compare_k} compares fits with other numbers of components, topics or
     factors."
  } else {
    "Compare models by {.fn log_evidence} or {.fn loo::loo_compare}, their
     coefficients by {.fn compare}."
  }
}

# One number of which a posterior has a distribution.
abort_distribution <- function(fit, what, call) {
  abort_no_answer(
    fit, what,
    c("{.fn log_lik} has that of each draw.", i = comparison_hint(fit)), call
  )
}

# The method of a generic that has no meaning for a fit. `hint`: words, or a
# function of the fit. A regression that an earlier version saved is asked again
# with the classes of this one.
no_answer <- function(generic, what, hint, arg = "object") {
  method <- function(object, ...) {
    fit <- get(arg, inherits = FALSE)
    now <- current_fit(fit)
    if (!is.null(now)) {
      return(rlang::eval_tidy(rlang::expr((!!generic)(now, ...))))
    }
    abort_no_answer(
      fit, what, if (is.function(hint)) hint(fit) else hint,
      rlang::current_env(), arg
    )
  }
  names(formals(method))[[1L]] <- arg
  method
}

other_answers <- function(fit) {
  if (inherits(fit, "gibbs_lda")) {
    "{.fn topic_estimates} has the shares and the terms of its topics,
     {.fn top_terms} the first of them."
  } else if (inherits(fit, "gibbs_bmf")) {
    "{.fn factors_of} has its factors, {.fn predict} its ratings."
  } else {
    "{.fn summary} tells of its quantities, {.fn as.matrix} has their draws."
  }
}

of_groups <- "Only regressions by a formula with groups have them."

of_regressions <- "Only regressions have a formula and what belongs to it."

#' @rdname fit-generics
#' @export
logLik.gibbsite_fit <- function( # nolint: object_name_linter.
    object, ...) {
  # AIC() and BIC() call it by another name
  abort_distribution(object, "single log-likelihood", quote(logLik(object)))
}

#' @rdname fit-generics
#' @importFrom stats deviance
#' @export
deviance.gibbsite_fit <- function(object, ...) {
  abort_distribution(object, "single deviance", rlang::current_env())
}

#' @rdname fit-generics
#' @importFrom stats df.residual
#' @export
df.residual.gibbsite_fit <- function(object, ...) {
  abort_no_answer(
    object, "degrees of freedom",
    "{.fn loo::loo} tells the effective number of parameters.",
    rlang::current_env()
  )
}

#' @rdname fit-generics
#' @importFrom stats anova
#' @export
anova.gibbsite_fit <- function(object, ...) {
  now <- current_fit(object)
  if (!is.null(now)) return(stats::anova(now, ...))
  abort_no_answer(
    object, "table of deviances", comparison_hint(object),
    rlang::current_env()
  )
}

#' @rdname fit-generics
#' @export
coef.gibbsite_fit <- no_answer(
  quote(stats::coef), "coefficients",
  other_answers
)

#' @rdname fit-generics
#' @export
vcov.gibbsite_fit <- no_answer(
  quote(stats::vcov), "coefficients",
  other_answers
)

#' @rdname fit-generics
#' @export
confint.gibbsite_fit <- function(object, parm, level = 0.95, ...) {
  now <- current_fit(object)
  if (!is.null(now)) {
    return(stats::confint(now, parm, level, ...))
  }
  abort_no_answer(
    object, "coefficients",
    "{.fn posterior_interval} has intervals of its quantities.",
    rlang::current_env()
  )
}

#' @rdname fit-generics
#' @export
sigma.gibbsite_fit <- no_answer(
  quote(stats::sigma), "standard deviation of residuals",
  "{.fn summary} tells of its quantities."
)

#' @rdname fit-generics
#' @export
fitted.gibbsite_fit <- no_answer(
  quote(stats::fitted), "fitted values",
  "See {.fn predict} and {.fn posterior_predict}."
)

#' @rdname fit-generics
#' @export
residuals.gibbsite_fit <- no_answer(
  quote(stats::residuals), "residuals",
  "{.fn pp_check} compares a fit with its data."
)

#' @rdname fit-generics
#' @importFrom stats weights
#' @export
weights.gibbsite_fit <- no_answer(
  quote(stats::weights), "weights of observations", function(fit) {
    if (inherits(fit, "gibbs_gmm")) {
      "Those of the components are {.code draws_of(fit, \"pi\")}."
    } else {
      "Only regressions have them."
    }
  }
)

#' @rdname fit-generics
#' @export
formula.gibbsite_fit <- no_answer(
  quote(stats::formula), "formula",
  of_regressions, "x"
)

#' @rdname fit-generics
#' @export
terms.gibbsite_fit <- no_answer(
  quote(stats::terms), "terms",
  of_regressions, "x"
)

#' @rdname fit-generics
#' @export
family.gibbsite_fit <- no_answer(
  quote(stats::family), "family",
  of_regressions
)

#' @rdname fit-generics
#' @export
model.frame.gibbsite_fit <- no_answer(
  quote(stats::model.frame), "model frame",
  of_regressions, "formula"
)

#' @rdname fit-generics
#' @export
model.matrix.gibbsite_fit <- no_answer(
  quote(stats::model.matrix), "model matrix",
  of_regressions
)

#' @rdname fit-generics
#' @importFrom stats predict
#' @export
predict.gibbsite_fit <- no_answer(
  quote(stats::predict), "predictions",
  "See {.fn draws_of}."
)

#' @rdname fit-generics
#' @export
simulate.gibbsite_fit <- no_answer(
  quote(stats::simulate), "data that it could simulate",
  "See {.fn posterior_predict}."
)

#' @rdname fit-generics
#' @export
augment.gibbsite_fit <- no_answer(
  quote(generics::augment), "predictions of its observations",
  "See {.fn predict}.", "x"
)

#' @rdname fit-generics
#' @export
log_lik.gibbsite_fit <- no_answer(
  quote(rstantools::log_lik), "log-likelihood of observations",
  "See {.fn draws_of}."
)

#' @rdname fit-generics
#' @export
bayes_R2.gibbsite_fit <- no_answer( # nolint: object_name_linter.
  quote(rstantools::bayes_R2), "explained variance",
  "Only regressions have one."
)

#' @rdname fit-generics
#' @export
posterior_epred.gibbsite_fit <- no_answer(
  quote(rstantools::posterior_epred), "expected response",
  "See {.fn predict} and {.fn draws_of}."
)

#' @rdname fit-generics
#' @export
posterior_linpred.gibbsite_fit <- function(object, transform = FALSE, ...) {
  check_flag(transform)
  now <- current_fit(object)
  if (!is.null(now)) {
    return(posterior_linpred(now, transform, ...))
  }
  abort_no_answer(
    object, "linear predictor", "See {.fn predict} and {.fn draws_of}.",
    rlang::current_env()
  )
}

#' @rdname fit-generics
#' @export
posterior_predict.gibbsite_fit <- no_answer(
  quote(rstantools::posterior_predict), "data that it could predict",
  "See {.fn draws_of}."
)

#' @rdname fit-generics
#' @exportS3Method bayesplot::pp_check
pp_check.gibbsite_fit <- no_answer(
  quote(bayesplot::pp_check), "picture that compares it with its data",
  function(fit) {
    if (inherits(fit, c("mh_sample", "gibbs_sample"))) {
      "Draw replicated data by {.code posterior_predict(object, f)}, and give
       them to {.fn bayesplot::ppc_dens_overlay}."
    } else {
      "{.fn posterior_predict} draws replicated data, where the model has them."
    }
  }
)

#' @rdname fit-generics
#' @exportS3Method nlme::fixef
fixef.gibbsite_fit <- no_answer(
  quote(nlme::fixef), "effects of groups",
  of_groups
)

#' @rdname fit-generics
#' @exportS3Method nlme::ranef
ranef.gibbsite_fit <- no_answer(
  quote(nlme::ranef), "effects of groups",
  of_groups
)

#' @rdname fit-generics
#' @exportS3Method nlme::VarCorr
VarCorr.gibbsite_fit <- function( # nolint: object_name_linter.
    x, sigma = 1, ...) {
  now <- current_fit(x)
  if (!is.null(now)) {
    return(nlme::VarCorr(now, sigma, ...))
  }
  abort_no_answer(
    x, "variances of groups", of_groups, rlang::current_env(), "x"
  )
}

# ---- posterior ---------------------------------------------------------------

#' Draws of a fit by the functions of posterior
#'
#' The draws of a fit, as [posterior::as_draws()] has them, by functions of
#' posterior that change draws or describe them. Changed draws are an object of
#' posterior and no longer a fit. [window()] and [relabel()] return fits.
#'
#' [rstantools::nsamples()] is the number of draws of all chains, as
#' [posterior::ndraws()].
#'
#' @param .x,x,object A fit.
#' @param ... Arguments of the function of posterior. Of
#'   [posterior::bind_draws()], further fits or draws.
#' @return An object of class `draws`. Of `nsamples()` and `nvariables()` a
#'   number, of `iteration_ids()`, `chain_ids()` and `draw_ids()` whole numbers.
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, seed = 1, progress = FALSE)
#' if (requireNamespace("posterior", quietly = TRUE)) {
#'   posterior::subset_draws(fit, "speed", iteration = 1:5)
#'   feet <- posterior::mutate_variables(fit, metres = 0.3048 * speed)
#'   posterior::summarise_draws(feet, "mean", "sd")
#' }
#' @name fit-draws
NULL

as_posterior <- function(x, arg, call) {
  posterior::as_draws(check_whole_fit(x, arg, call))
}

# The method of a generic of posterior with the arguments x and `...`.
posterior_method <- function(generic) {
  force(generic)
  function(x, ...) {
    draws <- as_posterior(x, "x", rlang::current_env())
    getExportedValue("posterior", generic)(draws, ...)
  }
}

#' @rdname fit-draws
#' @exportS3Method posterior::subset_draws
subset_draws.gibbsite_fit <- posterior_method("subset_draws")

#' @rdname fit-draws
#' @exportS3Method posterior::thin_draws
thin_draws.gibbsite_fit <- posterior_method("thin_draws")

#' @rdname fit-draws
#' @exportS3Method posterior::merge_chains
merge_chains.gibbsite_fit <- posterior_method("merge_chains")

#' @rdname fit-draws
#' @exportS3Method posterior::mutate_variables
mutate_variables.gibbsite_fit <- function(.x, ...) {
  draws <- as_posterior(.x, ".x", rlang::current_env())
  posterior::mutate_variables(draws, ...)
}

#' @rdname fit-draws
#' @exportS3Method posterior::rename_variables
rename_variables.gibbsite_fit <- function(.x, ...) {
  draws <- as_posterior(.x, ".x", rlang::current_env())
  posterior::rename_variables(draws, ...)
}

#' @rdname fit-draws
#' @exportS3Method posterior::bind_draws
bind_draws.gibbsite_fit <- function(x, ...) {
  draws <- as_posterior(x, "x", rlang::current_env())
  others <- lapply(rlang::list2(...), function(other) {
    if (inherits(other, "gibbsite_fit")) posterior::as_draws(other) else other
  })
  do.call(posterior::bind_draws, c(list(draws), others))
}

#' @rdname fit-draws
#' @exportS3Method posterior::order_draws
order_draws.gibbsite_fit <- posterior_method("order_draws")

#' @rdname fit-draws
#' @exportS3Method posterior::repair_draws
repair_draws.gibbsite_fit <- posterior_method("repair_draws")

#' @rdname fit-draws
#' @export
resample_draws.gibbsite_fit <- posterior_method("resample_draws")

#' @rdname fit-draws
#' @exportS3Method posterior::split_chains
split_chains.gibbsite_fit <- posterior_method("split_chains")

#' @rdname fit-draws
#' @exportS3Method posterior::weight_draws
weight_draws.gibbsite_fit <- posterior_method("weight_draws")

#' @rdname fit-draws
#' @exportS3Method posterior::nvariables
nvariables.gibbsite_fit <- function(x, ...) {
  posterior::nvariables(as_posterior(x, "x", rlang::current_env()))
}

#' @rdname fit-draws
#' @exportS3Method posterior::iteration_ids
iteration_ids.gibbsite_fit <- function(x) {
  posterior::iteration_ids(as_posterior(x, "x", rlang::current_env()))
}

#' @rdname fit-draws
#' @exportS3Method posterior::chain_ids
chain_ids.gibbsite_fit <- function(x) {
  posterior::chain_ids(as_posterior(x, "x", rlang::current_env()))
}

#' @rdname fit-draws
#' @exportS3Method posterior::draw_ids
draw_ids.gibbsite_fit <- function(x) {
  posterior::draw_ids(as_posterior(x, "x", rlang::current_env()))
}

#' @rdname fit-draws
#' @exportS3Method rstantools::nsamples
nsamples.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  posterior::ndraws(object)
}
