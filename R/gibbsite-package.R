#' gibbsite: exact Gibbs and Metropolis-Hastings samplers
#'
#' Draws from the posteriors of classic Bayesian models with samplers written in
#' C on R's own generator of random numbers. A run is reproducible to the last
#' bit for any number of threads and processes; it can be interrupted,
#' continued, saved and resumed; and a fit is a coda object.
#'
#' New here? `vignette("gibbsite")` takes one data set through all steps.
#'
#' @section Fit a model:
#' | you have | function |
#' |---|---|
#' | measurements that may fall into groups | [gibbs_gmm()] |
#' | a numeric response and predictors | [gibbs_lm()] |
#' | the same, in groups or repeated | [gibbs_hlm()] |
#' | a response of yes and no | [gibbs_logistic()], [laplace_logistic()] |
#' | counts and predictors | [gibbs_count()] |
#' | categories, with an order or without | [gibbs_ordinal()], [gibbs_categorical()] |
#' | ratings of items by users | [gibbs_bmf()] |
#' | counts of items by users | [gibbs_pmf()] |
#' | texts | [gibbs_lda()] |
#' | a density of your own | [mh_sample()], [laplace()] |
#' | conditionals of your own | [gibbs_sample()], [mh_step()] |
#'
#' The arguments that the samplers share are on one page, [running]. Priors:
#' [gmm_prior()], [lm_prior()], [hlm_prior()], [logistic_prior()],
#' [count_prior()], [ordinal_prior()], [bmf_prior], [pmf_prior()],
#' [lda_prior()]; what a prior predicts: [prior_predict()].
#'
#' @section Check:
#' [converged()], [convergence()], [plot.gibbsite_fit()] with
#' `type = "trace"`; for Metropolis-Hastings [acceptance()]. A run goes on until
#' it has converged with [until()]. [window()][window.gibbsite_fit] drops draws.
#'
#' @section Read:
#' [summary()][summary.gibbsite_fit], [tidy()][tidy.gibbsite_fit],
#' [plot()][plot.gibbsite_fit], [autoplot()][autoplot.gibbsite_fit]. Of topics:
#' [top_terms()], [topic_estimates()], [coherence()]; of mixtures:
#' [coclustering()], [relabel()]; of ratings: [factors_of()], [recommend()].
#'
#' @section Predict and compare:
#' `predict()`, `posterior_predict()`, `posterior_epred()`,
#' [pp_check()], [log_lik()], `loo::loo()`, `loo::waic()`,
#' [log_evidence()], [compare()], [compare_k()], [held_out()],
#' [held_out_perplexity()].
#'
#' @section Go on:
#' [extend()] continues a fit, [resume()] a run on disk; [combine_fits()] unites
#' runs; [update()][update.gibbsite_fit] fits again with changed arguments.
#'
#' @section Use the draws:
#' [draws_of()] (arrays), [as.data.frame()][draws_of],
#' [posterior::as_draws()], [coda-methods].
#'
#' @section Without a chain:
#' [sample_inverse_cdf()], [sample_mvnorm()], [sample_rejection()],
#' [sample_importance()]; expectations with their error: [monte_carlo()],
#' [empirical_distribution()]; finite Markov chains: [markov_chain()],
#' [fit_markov_chain()].
#'
#' @section Test a sampler:
#' [sbc()], [geweke_joint()].
#'
#' @seealso [running], the arguments of every run; [gibbsite_fit], the methods
#'   of every fit; [coming_from], the calls of other packages.
#' @keywords internal
#' @useDynLib gibbsite, .registration = TRUE
#' @importFrom rlang %||%
#' @importFrom rlang .data
"_PACKAGE"

# Generics of other packages, re-exported: they work on fits once gibbsite is
# attached.

# Those of posterior, nlme and bayesplot are bound here without loading these
# packages, which would take longer than the rest of gibbsite. The first use
# loads them.
late_generics <- list(
  posterior = c(
    "as_draws", "as_draws_array", "as_draws_df", "as_draws_list",
    "as_draws_matrix", "as_draws_rvars", "summarise_draws", "ndraws", "nchains",
    "niterations", "variables", "resample_draws"
  ),
  nlme = c("fixef", "ranef", "VarCorr"),
  bayesplot = "pp_check"
)

bind_late_generics <- function(namespace) {
  for (package in names(late_generics)) {
    for (name in late_generics[[package]]) {
      value <- call("late_generic", package, name)
      eval(call("delayedAssign", name, value, namespace, namespace))
    }
  }
}

# Packages that are suggested may be missing when the generic is called.
late_generic <- function(package, name) {
  if (requireNamespace(package, quietly = TRUE)) {
    return(getExportedValue(package, name))
  }
  function(object, ...) {
    rlang::check_installed(package, paste0("for `", name, "()`."))
  }
}

#' @rawNamespace
#' export(as_draws, as_draws_array, as_draws_df, as_draws_list, as_draws_matrix,
#'   as_draws_rvars, summarise_draws, ndraws, nchains, niterations, variables,
#'   resample_draws, fixef, ranef, VarCorr, pp_check)
NULL

#' @importFrom rstantools posterior_predict
#' @seealso [fit-draws], [coda-methods], [clients] and [gibbsite_fit] for the
#'   methods of a fit.
#' @export
rstantools::posterior_predict

#' @importFrom rstantools posterior_epred
#' @export
rstantools::posterior_epred

#' @importFrom rstantools posterior_linpred
#' @export
rstantools::posterior_linpred

#' @importFrom rstantools posterior_interval
#' @export
rstantools::posterior_interval

#' @importFrom rstantools predictive_interval
#' @export
rstantools::predictive_interval

#' @importFrom rstantools prior_summary
#' @export
rstantools::prior_summary

#' @importFrom rstantools log_lik
#' @export
rstantools::log_lik

#' @importFrom rstantools bayes_R2
#' @export
rstantools::bayes_R2

#' @importFrom loo loo
#' @export
loo::loo

#' @importFrom loo waic
#' @export
loo::waic

#' @importFrom loo kfold
#' @export
loo::kfold

#' @importFrom loo loo_compare
#' @export
loo::loo_compare

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

# Only as.mcmc.list of coda's two generics is re-exported: with a generic
# as.mcmc it would look like a method of that generic.

#' @importFrom coda as.mcmc.list
#' @export
coda::as.mcmc.list

# The help page of the calls of other packages.

# a row of a table is one line
# nolint start: line_length_linter.

#' Coming from other packages
#'
#' The calls of gibbsite beside those of packages that you may know. The
#' formulas, and the names of the verbs, are theirs: `predict()`,
#' `posterior_predict()`, `posterior_epred()`, `log_lik()`, `loo()`.
#'
#' | you know | here |
#' |---|---|
#' | `lm(y ~ x, d)` | [gibbs_lm()]: `gibbs_lm(y ~ x, d)` |
#' | `glm(y ~ x, binomial, d)` | [gibbs_logistic()]: `gibbs_logistic(y ~ x, d)`; by an approximation [laplace_logistic()] |
#' | `lme4::lmer()` | [gibbs_hlm()] with the same formula |
#' | `lme4::glmer(family = binomial)` | [gibbs_logistic()] with the same formula |
#' | `lme4::fixef()`, `ranef()`, `VarCorr()` | the same, see [fixef.gibbsite_regression()] |
#' | `rstanarm::stan_glm()`, `stan_glmer()`, `brms::brm()` | [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()], [gibbs_count()], [gibbs_ordinal()], [gibbs_categorical()] |
#' | `MCMCpack::MCMCregress()`, `MCMClogit()` | [gibbs_lm()], [gibbs_logistic()] |
#' | `mclust::Mclust(x, 3)` | [gibbs_gmm()]: `gibbs_gmm(x, 3)` |
#' | `mclust::Mclust(x)` | `gibbs_gmm(x, "unknown")`, see [unknown_k()] |
#' | `topicmodels::LDA(dtm, 20)` | [gibbs_lda()]: `gibbs_lda(dtm, 20)` |
#' | `topicmodels::terms(fit, 10)`, `topics(fit)` | [top_terms()]: `top_terms(fit, 10)`; `predict(fit, type = "class")` |
#' | `rsparse::WRMF`, `recosystem::Reco()` | [gibbs_bmf()], [recommend()] |
#' | `mcmc::metrop(lupost, init, 1000)` | [mh_sample()]: `mh_sample(lupost, init)` |
#' | `rstan::stan(file)` | `mh_sample(log_density, init, nuts(gradient))`, see [nuts()] |
#' | `rjags::jags.model()`, `nimble` | [gibbs_sample()], with the conditionals written in R |
#' | `coda::gelman.diag()`, `posterior::rhat()` | [converged()], [convergence()]; both packages take a fit |
#'
#' The article "Coming from other packages" of the web site shows some of them
#' with their output. [clients] lists the packages that take a fit.
#'
#' @seealso [gibbsite] for a map of the functions, [running] for the arguments
#'   that say how long chains run.
#' @examples
#' # lm(dist ~ speed, cars), as draws
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1)
#' coef(fit)
#' confint(fit)
#' predict(fit, data.frame(speed = 15), interval = "prediction")
#' @name coming_from
NULL
# nolint end
