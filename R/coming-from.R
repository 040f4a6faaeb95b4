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
#' | `lme4::lmer()` | [gibbs_hlm()] with the same formula, one grouping factor |
#' | `lme4::glmer(family = binomial)` | [gibbs_logistic()] with the same formula, one grouping factor |
#' | `lme4::fixef()`, `ranef()`, `VarCorr()` | the same, see [fixef.gibbsite_regression()] |
#' | `rstanarm::stan_glm()`, `stan_glmer()`, `brms::brm()` | [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()] |
#' | `MCMCpack::MCMCregress()`, `MCMClogit()` | [gibbs_lm()], [gibbs_logistic()] |
#' | `mclust::Mclust(x, 3)` | [gibbs_gmm()]: `gibbs_gmm(x, 3)` |
#' | `mclust::Mclust(x)` | `gibbs_gmm(x, unknown_k())`, see [unknown_k()] |
#' | `topicmodels::LDA(dtm, 20)` | [gibbs_lda()]: `gibbs_lda(dtm, 20)` |
#' | `topicmodels::terms(fit, 10)`, `topics(fit)` | [top_terms()]: `top_terms(fit, 10)`; `predict(fit)` |
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
