#' gibbsite: exact Gibbs and Metropolis-Hastings samplers
#'
#' Draws from the posteriors of classic Bayesian models with samplers written in
#' C on R's own generator of random numbers. A run is reproducible to the last
#' bit for any number of threads and processes; it can be interrupted,
#' continued, saved and resumed; and a fit is a coda object.
#'
#' - Fit: [gibbs_gmm()], [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()],
#'   [laplace_logistic()], [laplace()], [mh_sample()], [gibbs_sample()],
#'   [gibbs_bmf()], [gibbs_lda()]; the arguments that every sampler takes:
#'   [running].
#' - Check: [converged()], [convergence()], [summary.gibbsite_fit()],
#'   [plot.gibbsite_fit()].
#' - Go on: [extend()], [resume()], [combine_fits()], [until()].
#' - Compare fits: [compare()], [anova.laplace()].
#' - Use the draws: [draws_of()], [as.data.frame.gibbsite_fit()],
#'   [coda-methods], [posterior::as_draws()], [tidy.gibbsite_fit()].
#' - Sample without a chain: [sample_inverse_cdf()], [sample_mvnorm()],
#'   [sample_rejection()], [sample_importance()]; expectations with their error:
#'   [monte_carlo()], [empirical_distribution()].
#' - Test a sampler: [sbc()], [geweke_joint()]; a prior: [prior_predict()].
#'
#' @keywords internal
#' @useDynLib gibbsite, .registration = TRUE
#' @importFrom rlang %||%
#' @importFrom rlang .data
"_PACKAGE"

# Generics of other packages, re-exported: they work on fits once gibbsite is
# attached.

#' @importFrom posterior as_draws
#' @export
posterior::as_draws

#' @importFrom posterior as_draws_array
#' @export
posterior::as_draws_array

#' @importFrom posterior as_draws_df
#' @export
posterior::as_draws_df

#' @importFrom posterior as_draws_list
#' @export
posterior::as_draws_list

#' @importFrom posterior as_draws_matrix
#' @export
posterior::as_draws_matrix

#' @importFrom posterior as_draws_rvars
#' @export
posterior::as_draws_rvars

#' @importFrom posterior summarise_draws
#' @export
posterior::summarise_draws

#' @importFrom posterior ndraws
#' @export
posterior::ndraws

#' @importFrom posterior nchains
#' @export
posterior::nchains

#' @importFrom posterior niterations
#' @export
posterior::niterations

#' @importFrom posterior variables
#' @export
posterior::variables

#' @importFrom rstantools posterior_predict
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
