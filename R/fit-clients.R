# Methods by which bayestestR, parameters and performance read every
# fit. Those of regressions alone are in regression-clients.R.

#' Fits in other packages
#'
#' A fit is a list of coda's matrices, and most packages for draws accept it.
#' These have methods of their own, so that their answers are those of
#' [summary()][summary.gibbsite_fit]. Of a regression, bayestestR and parameters
#' show the coefficients.
#'
#' - bayestestR: `describe_posterior()`, `diagnostic_posterior()`,
#'   `effective_sample()` and `mcse()` give the numbers of `summary()`. These,
#'   `hdi()`, `rope()`, `p_direction()` and others take `effects` and
#'   `parameters`.
#'   `bayesfactor_parameters()` of a regression draws from its prior, which must
#'   be proper; give the draws of another prior as `prior`, a data frame with
#'   the same columns.
#' - parameters: `model_parameters()`, and so modelsummary.
#' - bridgesampling: `bridge_sampler()` takes `as.matrix(fit)` with a
#'   `log_posterior`, `lb` and `ub`; [log_evidence()] needs none of them.
#' - tidybayes: `add_epred_draws()`, `add_linpred_draws()` and
#'   `add_predicted_draws()` of regressions and of [gibbs_bmf()], with `ndraws`
#'   and `re_formula`; `tidy_draws()` and `spread_draws()` of every fit.
#' - coda, MCMCvis, ggmcmc, shinystan and broom.mixed take a fit as it is.
#' - mcmcse takes matrices: `mcmcse::mcse.mat(as.matrix(fit))`.
#' - furrr and future: a seed gives the same draws in every process that has the
#'   same [RNGkind()]. furrr's processes have L'Ecuyer's generator.
#' - tidytext, topicmodels, topicdoc and LDAvis: see [tidy.gibbs_lda()],
#'   [as_topicmodels()] and [ldavis_data()].
#' - insight, ggeffects, emmeans, marginaleffects, performance and projpred: see
#'   [regression-clients].
#'
#' @section Errors: `gibbsite_error_argument` where a fit has no answer.
#' @seealso [fit-draws] for posterior, [regression-clients] for packages about
#'   regressions, [coda-methods].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' if (requireNamespace("bayestestR", quietly = TRUE)) {
#'   bayestestR::describe_posterior(fit)
#' }
#' @name clients
NULL

# ---- S4 ----------------------------------------------------------------------

# S4 generics, such as shinystan's, find the method for coda's lists.
local({
  classes <- c(
    "gibbs_gmm", "gibbs_lda", "gibbs_bmf", "gibbs_pmf", "gibbsite_regression",
    "gibbsite_laplace", "gibbsite_sample"
  )
  for (class in classes) {
    methods::setOldClass(c(class, "gibbsite_fit", "mcmc.list"))
  }
  for (class in c("gibbs_lm", "gibbs_hlm", "gibbs_logistic",
                  "gibbs_count", "gibbs_ordinal", "gibbs_categorical",
                  "laplace_logistic")) {
    methods::setOldClass(c(class, "gibbsite_regression"))
  }
  for (class in c("mh_sample", "gibbs_sample")) {
    methods::setOldClass(c(class, "gibbsite_sample"))
  }
  methods::setOldClass(c("gibbs_gmm_unknown", "gibbs_gmm"))
})

# ---- bayestestR --------------------------------------------------------------

client_effects <- c("fixed", "all", "random")
client_components <- c(
  "conditional", "all", "location", "sigma", "auxiliary"
)

client_diagnostics <- c("Rhat", "ESS", "ESS_tail", "MCSE")

# Names of the quantities that insight::get_parameters() has.
client_parameters <- function(fit, effects, component, parameters, call) {
  check_string(parameters, null_ok = TRUE, call = call)
  effects <- check_choice(effects, client_effects, call = call)
  component <- check_choice(component, client_components, call = call)
  names <- if (is_regression(fit)) {
    insight::find_parameters(
      fit, effects = effects, component = component, flatten = TRUE
    )
  } else {
    fit_part(fit, "model")$columns
  }
  if (is.null(parameters)) {
    return(names)
  }
  found <- tryCatch(
    suppressWarnings(grep(parameters, names, value = TRUE)),
    error = function(cnd) NULL
  )
  if (length(found) == 0L) {
    abort_argument(
      "{.arg parameters} must be a regular expression for some of {.val
       {names}}.",
      call = call
    )
  }
  found
}

client_measures <- function(fit, names, call = rlang::caller_env()) {
  table <- as.data.frame(fit_summary(fit, names, 0.5, "fit", call))
  table <- table[match(names, table$variable), ]
  data.frame(
    Parameter = names, Rhat = table$rhat, ESS = table$ess_bulk,
    ESS_tail = table$ess_tail, MCSE = table$mcse_mean
  )
}

client_draws <- function(fit, effects, component, parameters = NULL,
                         call = rlang::caller_env()) {
  effects <- check_choice(effects, client_effects, call = call)
  component <- check_choice(component, client_components, call = call)
  parameters <- check_string(parameters, null_ok = TRUE, call = call)
  insight::get_parameters(
    fit, effects = effects, component = component, parameters = parameters
  )
}

# The method of a function of bayestestR that reads draws, whose first argument
# has the name `first`: its methods for coda's lists take no `effects`. range:
# the name of an argument whose default is the range of practical equivalence.
draws_method <- function(generic, first, range = NULL) {
  method <- function(fit, ..., effects = c("fixed", "all", "random"),
                     component = c(
                       "conditional", "all", "location", "sigma", "auxiliary"
                     ),
                     parameters = NULL) {
    NULL
  }
  names(formals(method))[[1L]] <- first
  body(method) <- bquote({
    draws <- client_draws(.(as.name(first)), effects, component, parameters)
    more <- with_own_range(list(...), .(range), .(as.name(first)))
    # the name, because bayestestR keeps the text of this argument
    do.call(
      .(call("::", quote(bayestestR), as.name(generic))),
      c(list(quote(draws)), more)
    )
  })
  method
}

# Matrices of draws do not know the range of their fit.
with_own_range <- function(more, range, fit) {
  if (!is.null(range) && is_regression(fit) &&
        identical(more[[range]] %||% "default", "default")) {
    more[[range]] <- bayestestR::rope_range(fit)
  }
  more
}

#' @exportS3Method bayestestR::describe_posterior
describe_posterior.gibbsite_fit <- draws_method(
  "describe_posterior", "posteriors", "rope_range"
)

#' @exportS3Method bayestestR::bci
bci.gibbsite_fit <- draws_method("bci", "x")

#' @exportS3Method bayestestR::ci
ci.gibbsite_fit <- draws_method("ci", "x")

#' @exportS3Method bayestestR::equivalence_test
equivalence_test.gibbsite_fit <- draws_method("equivalence_test", "x", "range")

#' @exportS3Method bayestestR::estimate_density
estimate_density.gibbsite_fit <- draws_method("estimate_density", "x")

#' @exportS3Method bayestestR::eti
eti.gibbsite_fit <- draws_method("eti", "x")

#' @exportS3Method bayestestR::hdi
hdi.gibbsite_fit <- draws_method("hdi", "x")

#' @exportS3Method bayestestR::map_estimate
map_estimate.gibbsite_fit <- draws_method("map_estimate", "x")

#' @exportS3Method bayestestR::p_direction
p_direction.gibbsite_fit <- draws_method("p_direction", "x")

#' @exportS3Method bayestestR::p_map
p_map.gibbsite_fit <- draws_method("p_map", "x")

#' @exportS3Method bayestestR::p_significance
p_significance.gibbsite_fit <- draws_method("p_significance", "x", "threshold")

#' @exportS3Method bayestestR::point_estimate
point_estimate.gibbsite_fit <- draws_method("point_estimate", "x")

#' @exportS3Method bayestestR::rope
rope.gibbsite_fit <- draws_method("rope", "x", "range")

#' @exportS3Method bayestestR::spi
spi.gibbsite_fit <- draws_method("spi", "x")

#' @exportS3Method bayestestR::diagnostic_posterior
diagnostic_posterior.gibbsite_fit <- function(posterior, diagnostic = "all",
                                              effects = c(
                                                "fixed", "all", "random"
                                              ),
                                              component = c(
                                                "conditional", "all",
                                                "location", "sigma",
                                                "auxiliary"
                                              ),
                                              parameters = NULL, ...) {
  call <- rlang::current_env()
  names <- client_parameters(posterior, effects, component, parameters, call)
  if (is.null(diagnostic)) {
    return(data.frame(Parameter = names))
  }
  diagnostic <- if (identical(diagnostic, "all")) {
    client_diagnostics
  } else {
    check_subset(diagnostic, client_diagnostics, "measures")
  }
  client_measures(posterior, names)[c("Parameter", diagnostic)]
}

#' @exportS3Method bayestestR::effective_sample
effective_sample.gibbsite_fit <- function(model,
                                          effects = c(
                                            "fixed", "all", "random"
                                          ),
                                          component = c(
                                            "conditional", "all", "location",
                                            "sigma", "auxiliary"
                                          ),
                                          parameters = NULL, ...) {
  names <- client_parameters(
    model, effects, component, parameters, rlang::current_env()
  )
  client_measures(model, names)[c("Parameter", "ESS", "ESS_tail")]
}

#' @exportS3Method bayestestR::mcse
mcse.gibbsite_fit <- function(model, effects = c("fixed", "all", "random"),
                              component = c(
                                "conditional", "all", "location", "sigma",
                                "auxiliary"
                              ),
                              parameters = NULL, ...) {
  names <- client_parameters(
    model, effects, component, parameters, rlang::current_env()
  )
  client_measures(model, names)[c("Parameter", "MCSE")]
}

#' @exportS3Method bayestestR::bayesfactor_parameters
bayesfactor_parameters.gibbsite_fit <- function(posterior, prior = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  draws <- insight::get_parameters(posterior)
  prior <- prior %||% drawn_prior(posterior, names(draws), call)
  if (!is.data.frame(prior)) {
    abort_expected(
      prior, "a data frame of draws", TRUE, "prior", call,
      hint = "Its columns are those of `insight::get_parameters()`."
    )
  }
  lacking <- setdiff(names(draws), names(prior))
  if (length(lacking) > 0L) {
    abort_argument(
      "{.arg prior} must have a column {.val {lacking[1]}}.", call = call
    )
  }
  bayestestR::bayesfactor_parameters(draws, prior[names(draws)], ...)
}

# Draws of the coefficients from the prior of the fit.
drawn_prior <- function(fit, names, call) {
  model <- fit_part(fit, "model")
  if (!is_regression(fit) || model_algorithm(model) == "laplace") {
    abort_argument(
      c("{.arg prior} must be given for a fit of {.fn {maker_of(fit)}}.",
        i = "It is a data frame of draws from the prior, with the columns of
             {.fn insight::get_parameters}."),
      call = call
    )
  }
  check_unlocked(call)
  check_frame(model)
  draws <- vapply(seq_len(4000L), function(i) {
    model_quantities(model, draw_prior(model))[names]
  }, numeric(length(names)))
  draws <- matrix(draws, ncol = length(names), byrow = TRUE)
  if (!all(is.finite(draws))) {
    abort_argument(
      c("The prior of the fit is too vague for a Bayes factor.",
        i = "Fit with a prior that says what size the coefficients have, or
             give draws from one as {.arg prior}."),
      call = call
    )
  }
  stats::setNames(as.data.frame(draws), names)
}

# ---- parameters and performance ----------------------------------------------

#' @exportS3Method parameters::model_parameters
model_parameters.gibbsite_fit <- function(model, ...,
                                          diagnostic = c("ESS", "Rhat"),
                                          effects = c(
                                            "fixed", "all", "random"
                                          ),
                                          component = c(
                                            "conditional", "all", "location",
                                            "sigma", "auxiliary"
                                          ), exponentiate = FALSE) {
  exponentiate <- check_exponentiate(exponentiate, model)
  if (!is.null(diagnostic)) {
    diagnostic <- check_subset(diagnostic, client_diagnostics, "measures")
  }
  draws <- as.matrix(client_draws(model, effects, component))
  if (exponentiate) {
    own <- intersect(
      colnames(draws), coefficient_columns(fit_part(model, "model"))
    )
    draws[, own] <- exp(draws[, own])
  }
  out <- parameters::model_parameters(posterior::as_draws_matrix(draws), ...)
  measures <- client_measures(model, colnames(draws))
  out[diagnostic] <-
    measures[match(out$Parameter, measures$Parameter), diagnostic]
  out
}

#' @exportS3Method performance::model_performance
model_performance.gibbsite_fit <- function(model, ...) {
  check_regression(model, "model", rlang::current_env())
  NextMethod()
}

# ---- Intervals and diagnostics of rstantools and bayesplot -------------------

# Intervals and diagnostics by the generics of rstantools and bayesplot.

#' @section Intervals of parameters and of new observations:
#' `posterior_interval()` and `predictive_interval()` give central intervals:
#' the draws' quantiles that leave the same probability on both sides.
#' @param object A fit; for `predictive_interval()` of [gibbs_lm()],
#'   [gibbs_hlm()], [gibbs_logistic()], [gibbs_count()], [laplace_logistic()],
#'   [gibbs_bmf()] or [gibbs_pmf()].
#' @param prob A number between 0 and 1, default 0.95: the probability of the
#'   interval.
#' @param variables `NULL` (default: all stored quantities), or names of
#'   quantities or blocks, as in [summary.gibbsite_fit()]. Components are
#'   renumbered as there.
#' @param ... Of `predictive_interval()` and `predictive_error()`: the other
#'   arguments of the fit's [posterior_predict()], such as `newdata`. Otherwise
#'   not used.
#' @param newdata `NULL` for the data of the fit, or new observations with their
#'   response.
#' @return `posterior_interval()`, `predictive_interval()`: a matrix with two
#'   columns, with a row for each quantity or observation; the latter by draws
#'   of [posterior_predict()], which depend on the state of R's generator.
#'   Categories have no intervals.
#'
#'   [rstantools::predictive_error()]: the observed responses less those of
#'   [posterior_predict()], draws x observations.
#' @seealso [summary.gibbsite_fit()], and `confint()` on [regression-data].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1, progress = FALSE)
#' posterior_interval(fit, prob = 0.9)
#' set.seed(1)
#' predictive_interval(fit, newdata = data.frame(speed = c(5, 10)))
#' @rdname clients
#' @name fit-intervals
NULL

#' @rdname clients
#' @export
posterior_interval.gibbsite_fit <- function(object, prob = 0.95,
                                            variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  prob <- check_level(prob)
  table <- fit_summary(object, variables, central_tails(prob), "object", call)
  matrix(
    c(table[[4L]], table[[5L]]), ncol = 2L,
    dimnames = list(table$variable, end_names(prob))
  )
}

# "2.5%" and "97.5%", as rstantools has them.
end_names <- function(prob) paste0(format_probs(central_tails(prob)), "%")

# The kinds of fits whose posterior_predict() has numbers: categories have no
# interval.
predicting <- c(
  "gibbs_lm", "gibbs_hlm", "gibbs_logistic", "gibbs_count", "laplace_logistic",
  "gibbs_bmf", "gibbs_pmf"
)

check_predicting <- function(fit, call) {
  if (inherits(fit, "gibbsite_categories")) {
    check_whole_fit(fit, "object", call)
    abort_argument(
      c("{.arg object} must predict numbers: those of a fit of
         {.fn {maker_of(fit)}} are categories.",
        i = "{.code predict(fit, type = \"response\")} has the probabilities of
             new ones, {.fn posterior_predict} draws them."),
      call = call
    )
  }
  check_fit_of(fit, predicting, "object", call)
}

#' @rdname clients
#' @export
predictive_interval.gibbsite_fit <- function(object, prob = 0.95, ...) {
  if (has_short_names()) return(with_whole_names())
  check_predicting(object, rlang::current_env())
  prob <- check_level(prob)
  draws <- posterior_predict(object, ...)
  out <- central_intervals(draws, prob)
  dimnames(out) <- list(colnames(draws), end_names(prob))
  out
}

#' @rdname clients
#' @exportS3Method rstantools::predictive_error
predictive_error.gibbsite_fit <- function(object, newdata = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_predicting(object, call)
  seen <- seen_response(object, newdata, call)
  drawn <- if (is.null(seen$trials)) {
    posterior_predict(object, newdata = newdata, ...)
  } else {
    posterior_predict(object, newdata = newdata, trials = seen$trials, ...)
  }
  rep(seen$y, each = nrow(drawn)) - drawn
}

# list(y, trials): what posterior_predict() draws, as it was observed.
seen_response <- function(fit, newdata, call) {
  model <- fit_part(fit, "model")
  if (!is_regression(fit)) {
    pairs <- bmf_pairs(model, newdata, call)
    check_values(pairs, model, call)
    return(list(y = pairs$value))
  }
  if (is.null(newdata)) {
    frame <- check_frame(model)
    return(list(y = frame$y * (frame$trials %||% 1)))
  }
  n <- nrow(rows_to_predict(model, newdata, NULL, NA, TRUE, call)$x)
  seen <- new_response(model, newdata, NULL, n, function(y, known) {
    observed_response(model_response(model), y, known, NULL, call)
  }, call)
  list(y = seen$y * (seen$trials %||% 1), trials = seen$trials)
}

# ---- bayesplot ---------------------------------------------------------------

#' @section Convergence of a fit for bayesplot:
#' Methods for generics of bayesplot: `rhat()` and `neff_ratio()`, for
#' `mcmc_rhat()` and `mcmc_neff()`, and `log_posterior()`. The quantities are
#' those on which [convergence()] is judged. They do not depend on the numbering
#' of components.
#' @return `rhat()` and `neff_ratio()`: a vector with names; the ratio is the
#'   bulk effective sample size divided by the number of draws. `NA` for a
#'   quantity that is constant. `log_posterior()`: a data frame with the columns
#'   `Chain`, `Iteration` and `Value`, for fits of [mh_sample()], [gibbs_bmf()],
#'   [gibbs_pmf()] and [gibbs_lda()], which store the log density.
#' @section Errors: `log_posterior()`: also for a fit that does not store the
#'   log density.
#' @seealso [convergence()], [plot.gibbsite_fit()].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1, progress = FALSE)
#' if (requireNamespace("bayesplot", quietly = TRUE)) {
#'   bayesplot::rhat(fit)
#'   bayesplot::mcmc_neff(bayesplot::neff_ratio(fit))
#' }
#' @rdname clients
#' @name fit-bayesplot
NULL

#' @rdname clients
#' @exportS3Method bayesplot::rhat
rhat.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  table <- fit_convergence(object)
  stats::setNames(table$rhat, table$variable)
}

#' @rdname clients
#' @exportS3Method bayesplot::neff_ratio
neff_ratio.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  table <- fit_convergence(object)
  draws <- attr(table, "draws") * attr(table, "chains")
  stats::setNames(table$ess_bulk / draws, table$variable)
}

#' @rdname clients
#' @exportS3Method bayesplot::log_posterior
log_posterior.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  matrices <- model_matrices(object)
  known <- intersect(c("log_density", "log_joint"), colnames(matrices[[1L]]))
  if (length(known) == 0L) {
    abort_argument(c(
      "The fit does not store the log density.",
      i = "{.fn log_lik} gives the log likelihood of each observation."
    ))
  }
  draws <- nrow(matrices[[1L]])
  data.frame(
    Chain = rep(seq_along(matrices), each = draws),
    Iteration = rep(seq_len(draws), length(matrices)),
    Value = unlist(lapply(matrices, function(m) m[, known[[1L]]]))
  )
}
