# Generics of stats and posterior for every fit: answers where they have a
# meaning, and errors that say what to call where they have none. Generics of
# vectors would take a fit for a list of numbers: they refuse it. Of a run
# without draws all refuse that need draws.

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
#' * `range()`, `quantile()`, `mean()` and the like are of the draws of one
#'   quantity, [draws_of()]; `summary()` has those of all quantities.
#' * Topics, components of a mixture and factors have no coefficients: see
#'   `summary()`, [relabel()], [topic_estimates()] and [factors_of()].
#' * Expected responses and linear predictors are those of regressions and of
#'   ratings. Of draws of one's own model a function gives them, see
#'   [predict.gibbsite_sample()]. Such a fit has no data for `pp_check()`.
#' * Only regressions have a formula, a model frame, a family, weights of
#'   observations, fitted values and residuals. Ratings have fitted values and
#'   residuals too.
#'
#' @section Errors: `gibbsite_error_argument`, always.
#' @seealso [gibbsite_fit] for the methods that a fit has.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, seed = 1, progress = FALSE)
#' try(logLik(fit))
#' try(coef(fit))
#' @importFrom stats anova deviance df.residual vcov weights
#' @name fit-generics
NULL

# A method that refuses: `what` a fit does not have, and hints, or names of
# those of model_hints(). args: the method's arguments, the fit first; call:
# what the error shows as its call. A regression that an earlier version saved
# is asked again with the classes of this one.
no_answer <- function(what, hints, args = alist(object = , ... = ),
                      refuse = abort_no_answer,
                      call = quote(rlang::current_env())) {
  arg <- names(args)[[1L]]
  fit <- as.name(arg)
  force(list(what, hints, refuse))
  rlang::new_function(args, bquote({
    now <- current_fit(.(fit))
    if (!is.null(now)) {
      return(ask_again(now, .Generic, match.call(), parent.frame()))
    }
    refuse(.(fit), what, hints, arg, .(call))
  }))
}

# The answer of a regression or sample with the classes of this version; imputed
# data have methods of their own.
ask_again <- function(now, generic, call, frame) {
  methods <- paste0(generic, ".", setdiff(class(now), "gibbsite_fit"))
  method <- Filter(function(name) exists(name, mode = "function"), methods)
  call[[1L]] <- get(method[[1L]], mode = "function")
  call[[2L]] <- now
  eval(call, frame)
}

abort_no_answer <- function(fit, what, hints, arg, call) {
  model <- fit_part(fit, "model")
  known <- model_hints(model)
  hints <- vapply(hints, function(hint) known[[hint]] %||% hint, "")
  abort_argument(
    c(paste0("A fit of {.fn {model$name}} has no ", what, "."),
      as_bullets(hints)),
    call = call
  )
}

#' @exportS3Method
model_hints.default <- function(model) {
  list(
    comparison = "Compare models by {.fn log_evidence} or
      {.fn loo::loo_compare}, their coefficients by {.fn compare}.",
    coefficients = "{.fn summary} describes its quantities, {.fn as.matrix}
      has their draws.",
    weights = "Only regressions have them.",
    likelihood = "{.fn log_lik} has that of each draw.",
    fitted = "See {.fn predict} and {.fn posterior_predict}.",
    predictions = "See {.fn predict} and {.fn draws_of}.",
    replicates = "See {.fn draws_of}.",
    augment = "See {.fn predict}.",
    residuals = "{.fn pp_check} compares a fit with its data.",
    pp_check = "{.fn posterior_predict} draws replicated data, where the model
      has them."
  )
}

sizes_hint <- "{.fn compare_k} compares fits with other numbers of components,
  topics or factors."

# Where a user asks for one number and the posterior has a distribution of it.
distribution_hints <- c("likelihood", "comparison")

formula_hint <- "Only regressions have a formula and what belongs to it."
groups_hint <- "Only regressions by a formula with groups have them."

#' @export
logLik.gibbsite_fit <- no_answer( # nolint: object_name_linter.
  "single log-likelihood", distribution_hints,
  # AIC() and BIC() call it by another name
  call = quote(quote(logLik(object)))
)

#' @export
deviance.gibbsite_fit <- no_answer("single deviance", distribution_hints)

#' @export
df.residual.gibbsite_fit <- no_answer(
  "degrees of freedom",
  "{.fn loo::loo} estimates the effective number of parameters."
)

#' @export
anova.gibbsite_fit <- no_answer("table of deviances", "comparison")

#' @importFrom stats extractAIC
#' @export
extractAIC.gibbsite_fit <- no_answer( # nolint: object_name_linter.
  "AIC, by which step(), add1() and drop1() go", "comparison",
  alist(fit = , scale = , k = 2, ... = )
)

#' @export
sigma.gibbsite_fit <- no_answer(
  "standard deviation of residuals",
  "{.fn summary} describes its quantities."
)

#' @export
fitted.gibbsite_fit <- no_answer("fitted values", "fitted")

#' @export
residuals.gibbsite_fit <- no_answer("residuals", "residuals")

#' @export
weights.gibbsite_fit <- no_answer("weights of observations", "weights")

#' @export
formula.gibbsite_fit <- no_answer(
  "formula", formula_hint, alist(x = , ... = )
)

#' @export
terms.gibbsite_fit <- no_answer("terms", formula_hint, alist(x = , ... = ))

#' @export
family.gibbsite_fit <- no_answer("family", formula_hint)

#' @export
model.frame.gibbsite_fit <- no_answer(
  "model frame", formula_hint, alist(formula = , ... = )
)

#' @export
model.matrix.gibbsite_fit <- no_answer("model matrix", formula_hint)

#' @export
posterior_epred.gibbsite_fit <- no_answer("expected response", "predictions")

#' @export
posterior_linpred.gibbsite_fit <- no_answer(
  "linear predictor", "predictions",
  alist(object = , transform = FALSE, ... = )
)

#' @export
posterior_predict.gibbsite_fit <- no_answer(
  "data that it could predict", "replicates"
)

#' @rawNamespace S3method(bayesplot::pp_check, gibbsite_fit)
pp_check.gibbsite_fit <- no_answer(
  "picture that compares it with its data", "pp_check"
)

#' @importFrom stats predict
#' @export
predict.gibbsite_fit <- no_answer("predictions", "See {.fn draws_of}.")

#' @export
simulate.gibbsite_fit <- no_answer(
  "data that it could simulate", "See {.fn posterior_predict}."
)

#' @export
augment.gibbsite_fit <- no_answer(
  "predictions of its observations", "augment",
  alist(x = , ... = )
)

#' @export
log_lik.gibbsite_fit <- no_answer(
  "log-likelihood of observations", "See {.fn draws_of}."
)

#' @export
bayes_R2.gibbsite_fit <- no_answer( # nolint: object_name_linter.
  "explained variance", "Only regressions have one."
)

#' @rawNamespace S3method(nlme::fixef, gibbsite_fit)
fixef.gibbsite_fit <- no_answer("effects of groups", groups_hint)

#' @rawNamespace S3method(nlme::ranef, gibbsite_fit)
ranef.gibbsite_fit <- no_answer("effects of groups", groups_hint)

#' @rawNamespace S3method(nlme::VarCorr, gibbsite_fit)
VarCorr.gibbsite_fit <- no_answer( # nolint: object_name_linter.
  "variances of groups", groups_hint, alist(x = , sigma = 1, ... = )
)

# ---- posterior ---------------------------------------------------------------

#' Draws of a fit by the functions of posterior
#'
#' The draws of a fit, as [posterior::as_draws()] has them, by functions of
#' posterior that change draws or describe them. Changed draws are an object of
#' posterior and no longer a fit. [window()] returns a fit.
#'
#' [posterior::as_draws()] and its kinds, [posterior::summarise_draws()],
#' [posterior::ndraws()], [posterior::nchains()], [posterior::niterations()],
#' [posterior::variables()] and [posterior::resample_draws()] need no
#' `library(posterior)` once gibbsite is attached. They are posterior's own; see
#' their pages there.
#'
#' [rstantools::nsamples()] is the number of draws of all chains, as
#' [posterior::ndraws()].
#'
#' @param .x,x,object A fit.
#' @param ... Arguments of the function of posterior. Of
#'   [posterior::bind_draws()], further fits or draws.
#' @return An object of class `draws`. Of `nsamples()` and `nvariables()` a
#'   number, of `iteration_ids()`, `chain_ids()` and `draw_ids()` whole numbers.
#' @seealso [draws_of()] for one block of parameters, [window.gibbsite_fit()]
#'   for fewer draws, [coda-methods].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, seed = 1, progress = FALSE)
#' if (requireNamespace("posterior", quietly = TRUE)) {
#'   posterior::subset_draws(fit, "speed", iteration = 1:5)
#'   feet <- posterior::mutate_variables(fit, metres = 0.3048 * speed)
#'   posterior::summarise_draws(feet, "mean", "sd")
#' }
#' @name fit-draws
#' @aliases posterior-functions as_draws as_draws_array as_draws_df
#'   as_draws_list as_draws_matrix as_draws_rvars summarise_draws ndraws nchains
#'   niterations variables resample_draws
NULL

# The method of a generic of posterior with the arguments x and `...`.
posterior_method <- function(generic) {
  force(generic)
  function(x, ...) {
    draws <- posterior::as_draws(x)
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
  draws <- posterior::as_draws(.x)
  posterior::mutate_variables(draws, ...)
}

#' @rdname fit-draws
#' @exportS3Method posterior::rename_variables
rename_variables.gibbsite_fit <- function(.x, ...) {
  draws <- posterior::as_draws(.x)
  posterior::rename_variables(draws, ...)
}

#' @rdname fit-draws
#' @exportS3Method posterior::bind_draws
bind_draws.gibbsite_fit <- function(x, ...) {
  draws <- posterior::as_draws(x)
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
#' @rawNamespace S3method(posterior::resample_draws, gibbsite_fit)
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
  posterior::nvariables(posterior::as_draws(x))
}

#' @rdname fit-draws
#' @exportS3Method posterior::iteration_ids
iteration_ids.gibbsite_fit <- function(x) {
  posterior::iteration_ids(posterior::as_draws(x))
}

#' @rdname fit-draws
#' @exportS3Method posterior::chain_ids
chain_ids.gibbsite_fit <- function(x) {
  posterior::chain_ids(posterior::as_draws(x))
}

#' @rdname fit-draws
#' @exportS3Method posterior::draw_ids
draw_ids.gibbsite_fit <- function(x) {
  posterior::draw_ids(posterior::as_draws(x))
}

#' @rdname fit-draws
#' @exportS3Method rstantools::nsamples
nsamples.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  posterior::ndraws(object)
}

# ---- Tables of refusals -----------------------------------------------------

# The methods of `generics` for a class, by their names. abort: the name of a
# function of the generic's name and the frame of the method.
refused <- function(generics, class, abort) {
  methods <- lapply(generics, function(generic) {
    name <- sub("^.*::", "", generic)
    args <- switch(name,
      Math = alist(x = , ... = ), Ops = alist(e1 = , e2 = ),
      Summary = alist(... = , na.rm = FALSE), "$" = alist(x = , name = ),
      "[" = alist(x = , i = , j = , ... = , drop = TRUE),
      "[[" = alist(x = , i = , ... = ),
      formals(args(eval(str2lang(generic))))
    )
    rlang::new_function(args, bquote(
      .(as.name(abort))(.(name), rlang::current_env())
    ), topenv())
  })
  names(methods) <- paste0(sub("^.*::", "", generics), ".", class)
  methods
}

# ---- Generics of vectors -----------------------------------------------------

# R has no error for most of them: it prints all draws, or gives NA.
generics_of_vectors <- c(
  "Math", "Ops", "Summary", "mean", "stats::median", "stats::quantile", "rev",
  "sort", "split", "unique"
)

abort_vector_generic <- function(generic, frame) {
  # of a group of generics
  name <- get0(".Generic", frame, inherits = FALSE) %||% generic
  given <- if (generic == "Summary") {
    eval(quote(list(...)), frame)
  } else {
    mget(setdiff(names(frame_formals(frame)), "..."), frame,
         ifnotfound = list(NULL))
  }
  fit <- Filter(function(x) inherits(x, "gibbsite_fit"), given)[[1L]]
  model <- fit_part(fit, "model")
  column <- quoted(model$columns[[1L]])
  abort_argument(
    c("{.code {name}} has no meaning for a fit of {.fn {model$name}}, which has
       draws of several quantities.",
      i = "{.code draws_of(fit, {column})} has the draws of one,
           {.fn as.matrix} those of all; {.fn summary} has their means and
           quantiles."),
    call = if (name == generic) frame else as.call(list(as.name(name)))
  )
}

#' @rawNamespace
#' S3method(Math, gibbsite_fit)
#' S3method(Ops, gibbsite_fit)
#' S3method(Summary, gibbsite_fit)
#' S3method(mean, gibbsite_fit)
#' S3method(stats::median, gibbsite_fit)
#' S3method(stats::quantile, gibbsite_fit)
#' S3method(rev, gibbsite_fit)
#' S3method(sort, gibbsite_fit)
#' S3method(split, gibbsite_fit)
#' S3method(unique, gibbsite_fit)
list2env(
  refused(generics_of_vectors, "gibbsite_fit", "abort_vector_generic"),
  topenv()
)

# ---- A run without draws -----------------------------------------------------

generics_of_draws <- c(
  "$", "[", "[[", "as.array", "as.data.frame", "as.matrix", "c",
  "coda::as.mcmc.list", "draws_of", "generics::augment", "generics::glance",
  "generics::tidy", "loo::kfold", "loo::loo", "loo::waic", "plot",
  "posterior::as_draws", "posterior::nchains", "posterior::ndraws",
  "posterior::niterations", "posterior::variables", "rstantools::log_lik",
  "rstantools::posterior_epred", "rstantools::posterior_interval",
  "rstantools::posterior_linpred", "rstantools::posterior_predict",
  "stats::coef", "stats::confint", "stats::fitted", "stats::predict",
  "stats::residuals", "stats::simulate", "stats::vcov", "stats::window",
  "summary"
)

abort_no_draws <- function(generic, frame) {
  first <- names(frame_formals(frame))[[1L]]
  if (first != "...") check_whole_fit(frame[[first]], first, frame)
  abort_state(
    c("The run has no draws yet: it was stopped before every chain had one.",
      i = "Go on with {.code fit <- extend(fit, 1000)}, with the number of draws
           that you want. {.fn print} says where the chains are."),
    call = frame, class = "no_draws"
  )
}

#' @rawNamespace
#' S3method("$", gibbsite_partial)
#' S3method("[", gibbsite_partial)
#' S3method("[[", gibbsite_partial)
#' S3method(as.array, gibbsite_partial)
#' S3method(as.data.frame, gibbsite_partial)
#' S3method(as.matrix, gibbsite_partial)
#' S3method(c, gibbsite_partial)
#' S3method(as.mcmc.list, gibbsite_partial)
#' S3method(draws_of, gibbsite_partial)
#' S3method(augment, gibbsite_partial)
#' S3method(glance, gibbsite_partial)
#' S3method(tidy, gibbsite_partial)
#' S3method(kfold, gibbsite_partial)
#' S3method(loo, gibbsite_partial)
#' S3method(waic, gibbsite_partial)
#' S3method(plot, gibbsite_partial)
#' S3method(posterior::as_draws, gibbsite_partial)
#' S3method(posterior::nchains, gibbsite_partial)
#' S3method(posterior::ndraws, gibbsite_partial)
#' S3method(posterior::niterations, gibbsite_partial)
#' S3method(posterior::variables, gibbsite_partial)
#' S3method(log_lik, gibbsite_partial)
#' S3method(posterior_epred, gibbsite_partial)
#' S3method(posterior_interval, gibbsite_partial)
#' S3method(posterior_linpred, gibbsite_partial)
#' S3method(posterior_predict, gibbsite_partial)
#' S3method(coef, gibbsite_partial)
#' S3method(confint, gibbsite_partial)
#' S3method(fitted, gibbsite_partial)
#' S3method(predict, gibbsite_partial)
#' S3method(residuals, gibbsite_partial)
#' S3method(simulate, gibbsite_partial)
#' S3method(vcov, gibbsite_partial)
#' S3method(window, gibbsite_partial)
#' S3method(summary, gibbsite_partial)
list2env(
  refused(generics_of_draws, "gibbsite_partial", "abort_no_draws"), topenv()
)

# What needs none.

#' @export
getCall.gibbsite_partial <- function(x, ...) getCall.gibbsite_fit(x)

#' @export
nobs.gibbsite_partial <- function(object, ...) nobs.gibbsite_fit(object)

#' @export
prior_summary.gibbsite_partial <- function(object, ...) {
  prior_summary.gibbsite_fit(object)
}

#' @export
update.gibbsite_partial <- function(object, ..., evaluate = TRUE) {
  call <- sys.call()
  call[[1L]] <- update.gibbsite_fit
  eval(call, parent.frame())
}
