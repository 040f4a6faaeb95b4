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

# What loading the package changes.
.onLoad <- function(libname, pkgname) { # nolint: object_name_linter.
  bind_late_generics(topenv())
  name_to_marginaleffects()
  setHook(
    packageEvent("parsnip", "onLoad"), function(...) register_engines()
  )
  if (isNamespaceLoaded("parsnip")) register_engines()
}

# marginaleffects takes models of other packages by this option alone.
name_to_marginaleffects <- function() {
  options(marginaleffects_model_classes = union(
    getOption("marginaleffects_model_classes"), "gibbsite_fit"
  ))
}

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

# ---- The page of the simulators ----------------------------------------------

# The help page of the simulators of the models.

#' Simulated data for the models
#'
#' Each function draws data from the model of its name: `sim_gmm()` for
#' [gibbs_gmm()], `sim_lm()` for [gibbs_lm()], `sim_hlm()` for [gibbs_hlm()],
#' `sim_bmf()` for [gibbs_bmf()], `sim_pmf()` for [gibbs_pmf()] and `sim_lda()`
#' for [gibbs_lda()]. Random numbers come from R's generator.
#'
#' * `sim_gmm()`: the component of each observation, and the observation from
#'   it.
#' * `sim_lm()`: standard normal predictors, and responses \eqn{y_i \sim
#'   \mathrm{N}(w_0 + x_i^\top w, \sigma^2)}{y_i ~ N(w_0 + x_i'w, sigma^2)}.
#' * `sim_hlm()`: groups with coefficients \eqn{w_j \sim \mathrm{N}(\mu,
#'   \Sigma)}{w_j ~ N(mu, Sigma)}, standard normal predictors, and responses
#'   \eqn{y_i \sim \mathrm{N}(w_{j0} + x_i^\top w_{j1}, \sigma^2)}{y_i ~
#'   N(w_j0 + x_i'w_j1, sigma^2)}, where \eqn{w_{j0}}{w_j0} is the intercept of
#'   the group of row \eqn{i} and \eqn{w_{j1}}{w_j1} are its slopes.
#' * `sim_bmf()`: factors \eqn{u_i, v_j \sim \mathrm{N}(0, c I)}{u_i, v_j ~ N(0,
#'   c I)}, intercepts from \eqn{\mathrm{N}(0, b^2)}{N(0, b^2)}, and ratings
#'   \eqn{r_{ij} \sim \mathrm{N}(m + u_i^\top v_j + a_i + b_j, \sigma^2)}{r_ij ~
#'   N(m + u_i'v_j + a_i + b_j, sigma2)} in cells taken at random, each at most
#'   once.
#' * `sim_pmf()`: factors from Gamma(0.5, 1) times the activity of a user and
#'   the popularity of an item, Gamma(3, 3) (shape, rate), all multiplied by one
#'   number that makes the mean expected count `mean`, and Poisson counts.
#' * `sim_lda()`: topics, the documents' shares of them, and words.
#'
#' @param n Whole number, at least 1: how many observations.
#' @param pi The weights of the `k` components, positive numbers that sum to 1.
#' @param mu `sim_gmm()`: the means, a `k x d` matrix (for one variable a vector
#'   of `k`). `sim_hlm()`: at least one number, the means of the intercept and
#'   the slopes; names of the slopes become those of the predictors.
#' @param Sigma `sim_gmm()`: the covariances, a `k x d x d` array, one `d x d`
#'   matrix for all components, or for one variable `k` (or one) variances.
#'   `sim_hlm()`: the covariances of the groups' coefficients, a symmetric
#'   positive definite matrix with a row for each number of `mu`, or a variance
#'   if `mu` is one number.
#' @param w The slopes, at least one number; names become those of the
#'   predictors.
#' @param sigma Number, 0 or more (default 1): the standard deviation of an
#'   observation.
#' @param intercept Number (default 0): \eqn{w_0}{w_0}.
#' @param groups Whole number, at least 1: how many groups.
#' @param size Whole numbers, at least 1: the observations of each group, one
#'   number for all groups or one for each.
#' @param users,items Whole numbers, at least 1: how many of them.
#' @param rank Whole number, at least 1: the length of each factor.
#' @param share Number above 0 and at most 1: the share of all cells that is
#'   rated (at least one cell is).
#' @param sigma2 Number, at least 0, default 0.25: the variance of a rating.
#' @param c Positive number, default `1 / sqrt(rank)`, with which
#'   \eqn{u_i^\top v_j}{u_i'v_j} has variance 1: the variance of each
#'   coordinate.
#' @param mean `sim_bmf()`: number, default 0, the mean \eqn{m} of all ratings.
#'   `sim_pmf()`: positive number, default 0.3, the mean of the expected counts.
#' @param biases Number, at least 0, default 0: standard deviation of the
#'   intercepts.
#' @param documents,k,terms Whole numbers, at least 1: how many documents,
#'   topics and terms.
#' @param tokens The number of tokens of each document: one whole number, or one
#'   for each document.
#' @param alpha,eta Positive numbers, one, or one for each topic (`alpha`) or
#'   term (`eta`): the concentrations.
#' @return
#'   * `sim_gmm()`: a matrix with `n` rows and `d` columns, with the components
#'     that the observations came from in its attribute `z`.
#'   * `sim_lm()`: a data frame with `n` rows, the response `y` and the
#'     predictors, `x1`, `x2`, ... if `w` has no names.
#'   * `sim_hlm()`: a data frame with a row for each observation: the response
#'     `y`, the predictors, `x1`, `x2`, ... if `mu` has no names, and the factor
#'     `group`. Its attribute `w` is the matrix of the groups' coefficients, one
#'     row a group.
#'   * `sim_bmf()`: a data frame with a row for each rating and the columns
#'     `user`, `item` (factors, whose levels are all users and all items) and
#'     `value`; its attributes `u` (`rank x users`) and `v` (`rank x items`) are
#'     the factors, `a` and `b` the intercepts, and `truth` is the mean of each
#'     rating.
#'   * `sim_pmf()`: a data frame with a row for each pair with a count above 0
#'     and the columns `user`, `item` (factors, whose levels are all users and
#'     all items) and `count`; its attributes are `theta` (`rank x users`),
#'     `beta` (`rank x items`) and `truth`, the expected counts (users x items).
#'   * `sim_lda()`: a list: `x` (documents x terms, a sparse `dgCMatrix` of
#'     counts), `theta` (documents x topics), `phi` (topics x terms) and `z`,
#'     the topic of each token in the order of [gibbs_lda()]: document after
#'     document, within a document by term.
#' @section Errors: `gibbsite_error_argument` for arguments out of range, sizes
#'   that do not fit and matrices that are not positive definite;
#'   `gibbsite_error_size` for a corpus larger than
#'   `options(gibbsite.max_draws_mb = )` allows.
#' @seealso [prior_predict()] for data from the prior of a fit, [sbc()].
#' @examples
#' set.seed(1)
#' x <- sim_gmm(200, c(0.3, 0.7), rbind(c(0, 0), c(4, 1)), diag(2))
#' plot(x, col = attr(x, "z"))
#'
#' data <- sim_lm(100, c(1, -2), sigma = 0.5, intercept = 3)
#' coef(gibbs_lm(y ~ x1 + x2, data, seed = 1))
#'
#' data <- sim_hlm(50, 10, mu = c(3, 1), Sigma = diag(c(1, 0.25)))
#' fit <- gibbs_hlm(y ~ x1 + (x1 | group), data, seed = 1)
#' plot(attr(data, "w")[, 2], coef(fit)$group[, "x1"])
#'
#' made <- sim_bmf(20, 10, rank = 2, share = 0.5)
#' head(made)
#' cor(made$value, attr(made, "truth"))
#'
#' corpus <- sim_lda(20, k = 3, terms = 30, tokens = 50)
#' dim(corpus$x)
#' rowSums(corpus$theta)[1:3]
#' @name simulated-data
NULL

# ---- The page of the samplers of the regressions -----------------------------

# The help page of the samplers of the regressions.

#' The samplers of the regressions
#'
#' What a sweep of [gibbs_lm()], [gibbs_hlm()] and [gibbs_logistic()] draws, in
#' the notation of these pages, and how [laplace_logistic()] finds the mode.
#'
#' @section Linear regression:
#' One sweep draws in turn, with \eqn{z_{ij} = (x_{ij} - \bar x_j)/s_j}{z_ij =
#' (x_ij - xbar_j)/s_j}, \eqn{u_j = s_j w_j}{u_j = s_j w_j} and its prior mean
#' \eqn{\mu_j = s_j m_j}{mu_j = s_j m_j}, \eqn{V = \mathrm{diag}(v)}{V =
#' diag(v)}, \eqn{v_+ = \sum_i v_i}{v+ = sum_i v_i} and
#' \eqn{\bar y}{ybar} the weighted mean of \eqn{y - o}:
#' \deqn{\alpha \mid \beta \sim \mathrm{N}\Bigl(\frac{\beta v_+ \bar y +
#'   m_\alpha/t^2}{\beta v_+ + 1/t^2}, \frac{1}{\beta v_+ + 1/t^2}\Bigr),}{
#'   alpha | beta ~ N((beta v+ ybar + m_alpha/t^2)/q, 1/q),
#'   q = beta v+ + 1/t^2,}
#' \deqn{u \mid \lambda, \beta \sim \mathrm{N}(\Sigma (\beta Z^\top V (y - o) +
#'   \lambda \mu), \Sigma), \quad \Sigma^{-1} = \beta Z^\top V Z + \lambda I,}{
#'   u | lambda, beta ~ N(Sigma (beta Z'V(y - o) + lambda mu), Sigma),
#'   Sigma^-1 = beta Z'VZ + lambda I,}
#' \deqn{\lambda \mid u \sim \mathrm{Gamma}(a + r/2, b + (u -
#'   \mu)^\top P (u - \mu)/2),}{
#'   lambda | u ~ Gamma(a + r/2, b + (u - mu)'P(u - mu)/2),}
#' \deqn{\beta \mid \alpha, u \sim \mathrm{Gamma}\Bigl(c + \frac n2, d +
#'   \frac12 \sum_i v_i (y_i - o_i - \alpha - z_i^\top u)^2\Bigr).}{
#'   beta | alpha, u ~ Gamma(c + n/2, d + sum_i v_i (y_i - o_i - alpha -
#'   z_i'u)^2 / 2).}
#' \eqn{r} is the rank of \eqn{Z} and \eqn{P} the projection on its row space.
#' With full rank \eqn{P = I}{P = I}. The data do not inform the part of
#' \eqn{u} outside this space: it is drawn from its prior given
#' \eqn{\lambda}{lambda}. \eqn{\lambda}{lambda} is drawn without this part, so
#' that chains mix well when there are many more predictors than observations.
#'
#' The singular value decomposition of \eqn{V^{1/2} Z}{V^(1/2) Z} is computed
#' once. In its coordinates the parts of \eqn{u} are independent, so that a
#' sweep takes time proportional to the number of predictors, whatever \eqn{n}.
#'
#' With `lm_prior("nig")` the draws are independent draws of the posterior,
#' \deqn{\beta \mid y \sim \mathrm{Gamma}(c + n/2, d_n), \quad
#'   u \mid \beta \sim \mathrm{N}(\Sigma (Z^\top V (y - o) + \lambda \mu),
#'   \Sigma/\beta), \quad
#'   \Sigma^{-1} = Z^\top V Z + \lambda I,}{
#'   beta | y ~ Gamma(c + n/2, d_n), u | beta ~ N(Sigma (Z'V(y - o) + lambda
#'   mu), Sigma/beta), Sigma^-1 = Z'VZ + lambda I,}
#' and [log_evidence()] is exact.
#'
#' @section The horseshoe:
#' With `lm_prior("horseshoe")` a sweep draws \eqn{\tau}{tau} given the local
#' scales alone, by a slice step on its logarithm, then \eqn{\beta}{beta} given
#' these, then \eqn{\alpha}{alpha} and \eqn{u} (Johndrow et al. 2020), then the
#' local scales by their inverse gamma conditionals given auxiliary variables
#' (Makalic and Schmidt 2016). \eqn{u} is drawn from a system of equations of
#' order \eqn{r}, so that a sweep takes time proportional to \eqn{r^3 + r^2 p}
#' (Bhattacharya et al. 2016).
#'
#' @section More predictors than observations:
#' The conditionals of \eqn{\lambda}{lambda} and \eqn{\beta}{beta} mix slowly
#' where the data hardly separate noise from slopes. If the residual degrees of
#' freedom, \eqn{n - r} (with an intercept \eqn{n - r - 1}), are fewer than
#' \eqn{r}, a sweep therefore draws \eqn{\lambda}{lambda} and then
#' \eqn{\beta}{beta} with \eqn{\alpha}{alpha} and \eqn{u} integrated out, each
#' by a slice step on its logarithm (Neal 2003), from
#' \deqn{p(\lambda, \beta \mid y) \propto p(\lambda)\, p(\beta) \,
#'   \mathrm{N}\bigl(y - o \mid m_\alpha 1 + Z \mu, \, (\beta V)^{-1} +
#'   Z Z^\top/\lambda + t^2 1 1^\top\bigr),}{
#'   p(lambda, beta | y) prop. to p(lambda) p(beta) N(y - o | m_alpha 1 + Z mu,
#'   (beta V)^-1 + ZZ'/lambda + t^2 11'),}
#' and then \eqn{\alpha}{alpha} and \eqn{u} as above. The posterior of
#' \eqn{\sigma} then depends on its prior.
#'
#' @section Hierarchical linear regression:
#' One sweep, with \eqn{\beta = 1/\sigma^2}{beta = 1/sigma^2} and
#' \eqn{V_j}{V_j} the covariance matrix of the responses of group \eqn{j} with
#' \eqn{u_j}{u_j} integrated out, \eqn{Z_j \Sigma Z_j^\top + \sigma^2
#' \mathrm{diag}(1/v)}{Z_j Sigma Z_j' + sigma^2 diag(1/v)}:
#'
#' 1. \eqn{b \mid \Sigma, \beta}{b | Sigma, beta}: normal with precision
#'    \eqn{T + \sum_j X_j^\top V_j^{-1} X_j}{T + sum_j X_j'V_j^-1 X_j}, where
#'    \eqn{T} is that of the prior. The deviations are integrated out.
#' 2. \eqn{u_j \mid b, \Sigma, \beta}{u_j | b, Sigma, beta} for every group.
#' 3. For each term \eqn{k} a scale \eqn{s}, by a slice step:
#'    \eqn{u_{jk} \to s u_{jk}}{u_jk -> s u_jk} in all groups, with \eqn{\Sigma}
#'    scaled alike. For each pair of terms a shear, \eqn{u_{jk} \to u_{jk} + c
#'    u_{jl}}{u_jk -> u_jk + c u_jl}, where \eqn{c} is normal. These moves are
#'    those of the non-centred parametrisation, interwoven with the centred one
#'    (Yu and Meng 2011; Liu and Sabatti 2000), so that chains mix when the
#'    groups hardly differ and when they differ much.
#' 4. \eqn{\Sigma \mid u}{Sigma | u}: inverse Wishart with \eqn{J} more degrees
#'    of freedom and the scale matrix plus \eqn{\sum_j u_j u_j^\top}{sum_j u_j
#'    u_j'}.
#' 5. \eqn{\beta \mid b, u \sim \mathrm{Gamma}((\nu_0 + n)/2, (\nu_0
#'    \sigma_0^2 + \mathrm{RSS})/2)}{beta | b, u ~ Gamma((nu0 + n)/2, (nu0
#'    sigma0^2 + RSS)/2)}.
#'
#' If there are few more observations than deviations, a sweep begins with a
#' slice step of \eqn{\log \beta}{log beta} with \eqn{b} and \eqn{u} integrated
#' out. The rows of each group are rotated once, so that a sweep uses at most as
#' many rows of a group as there are terms before the bar: its time does not
#' depend on the number of observations.
#'
#' With several bars, steps 1 to 4 are taken for one bar after the other, with
#' the responses less the deviations of the other bars: collapsed Gibbs sampling
#' (Papaspiliopoulos, Roberts and Zanella 2020), whose autocorrelation does not
#' grow with the data for crossed factors. Where the groups of bar \eqn{g} lie
#' within those of bar \eqn{f} and both have a term in common, two moves follow
#' that leave the means of all observations as they are. The first is
#' \eqn{u_{fj} \to u_{fj} + d_j}{u_fj -> u_fj + d_j}, \eqn{u_{gc} \to u_{gc} -
#' d_j}{u_gc -> u_gc - d_j} for all groups \eqn{c}{c} in \eqn{j}{j}, where
#' \eqn{d_j}{d_j} is normal. The second scales the \eqn{u_{fj}}{u_fj} of a term
#' with \eqn{\Sigma_f}{Sigma_f}, by a slice step, and moves the
#' \eqn{u_{gc}}{u_gc} accordingly. Both are made four times in a sweep, and
#' between these times \eqn{\Sigma_f}{Sigma_f} and \eqn{\Sigma_g}{Sigma_g} are
#' drawn given the deviations. Step 5 is taken at last.
#'
#' Groups that are nearly nested, such as pupils of whom few change their school,
#' would need many of these sweeps. The autocorrelation of normal draws of one
#' bar after the other is known before the chain (Roberts and Sahu 1997). Where
#' it is large, and one draw of the deviations of all bars costs less than the
#' sweeps that it saves, a sweep begins with such a draw, with \eqn{b} integrated
#' out. It is made by a sparse Cholesky factor, whose order comes from
#' [Matrix::Cholesky()]. [print()] says so. The same holds for the other
#' responses with latent normal variables or weights: binomial, ordered,
#' categories and t errors.
#'
#' @section Regressions with t errors:
#' With \eqn{e_i = \sqrt{v_i} (y_i - \eta_i)}{e_i = sqrt(v_i) (y_i - eta_i)} and
#' \eqn{y_i \mid \lambda_i \sim \mathrm{N}(\eta_i, \sigma^2/(\lambda_i
#' v_i))}{y_i
#' | lambda_i ~ N(eta_i, sigma^2 / (lambda_i v_i))}, \eqn{\lambda_i \sim
#' \mathrm{Gamma}(\nu/2, \nu/2)}{lambda_i ~ Gamma(nu/2, nu/2)} (Geweke 1993), a
#' sweep of [gibbs_lm()] or [gibbs_hlm()] has these steps.
#'
#' 1. \eqn{\log \sigma}{log sigma}, then \eqn{\log \nu}{log nu}, by slice steps
#'    given \eqn{\eta}{eta}, with the \eqn{\lambda_i}{lambda_i} integrated out.
#' 2. For each bar and each term a scale of its deviations, by a slice step with
#'    the \eqn{\lambda_i}{lambda_i} integrated out; of [gibbs_lm()] the
#'    precision
#'    \eqn{\lambda}{lambda} of the slopes.
#' 3. \eqn{\lambda_i \mid \eta \sim \mathrm{Gamma}((\nu + 1)/2, (\nu +
#'    e_i^2/\sigma^2)/2)}{lambda_i | eta ~ Gamma((nu + 1)/2, (nu + e_i^2 /
#'    sigma^2)/2)} for all observations.
#' 4. Given these the responses are normal with known variances: steps 1 to 4 of
#'    the hierarchical linear regression for one bar after the other, or a
#'    normal draw of the coefficients without bars.
#'
#' The time of a sweep grows in proportion to the number of observations.
#'
#' @section Logistic and probit regression:
#' A sweep has up to three steps. Each of them leaves the posterior invariant,
#' so that the draws have no error but the Monte Carlo error.
#'
#' 1. Augmentation. Logit link (Polson, Scott and Windle 2013): with
#'    \eqn{\kappa_i = s_i - m_i/2}{kappa_i = s_i - m_i/2} and Polya-Gamma
#'    variates \eqn{\omega_i}{omega_i},
#'    \deqn{\omega_i \mid w \sim \mathrm{PG}(m_i, \eta_i), \qquad
#'      w \mid \omega \sim \mathrm{N}(P^{-1} X^\top (\kappa - \Omega o),
#'      P^{-1}), \quad P = X^\top \Omega X + C^{-1}.}{
#'      omega_i | w ~ PG(m_i, eta_i), w | omega ~ N(P^-1 X'(kappa - Omega o),
#'      P^-1), P = X' Omega X + C^-1.}
#'    The variates are drawn exactly, as sums of \eqn{m_i} variates
#'    \eqn{\mathrm{PG}(1, \eta_i)}{PG(1, eta_i)}, each by Devroye's method.
#'    Probit link (Albert and Chib 1993): with a normal variate
#'    \eqn{z_{ij}}{z_ij} for each trial, positive for a success and negative for
#'    a failure,
#'    \deqn{z_{ij} \mid w \sim \mathrm{N}(\eta_i, 1), \quad
#'      w \mid z \sim \mathrm{N}(P^{-1} X^\top r, P^{-1}), \quad
#'      r_i = \sum_j (z_{ij} - o_i), \quad P = X^\top M X + C^{-1},}{
#'      z_ij | w ~ N(eta_i, 1), w | z ~ N(P^-1 X'r, P^-1), r_i = sum_j (z_ij -
#'      o_i), P = X' M X + C^-1,}
#'    with \eqn{M = \mathrm{diag}(m_1, \ldots, m_n)}{M = diag(m_1, ..., m_n)}.
#' 2. Independence Metropolis-Hastings: a proposal \eqn{w^*}{w*} from
#'    \deqn{q = \tfrac34 \mathrm{N}(\hat w, \Sigma) + \tfrac14
#'      \mathrm{t}_5(\hat w, \Sigma)}{q = 3/4 N(w_map, Sigma) + 1/4 t_5(w_map,
#'      Sigma)}
#'    with the mode \eqn{\hat w}{w_map} and the covariance
#'    \eqn{\Sigma}{Sigma} of the Laplace approximation is accepted with
#'    probability
#'    \eqn{\min(1, p(w^* \mid s) q(w) / (p(w \mid s) q(w^*)))}{min(1,
#'    p(w* | s) q(w) / (p(w | s) q(w*)))}. The tails of \eqn{q} are heavier than
#'    those of the posterior.
#'
#' 3. Hamiltonian Monte Carlo (Neal 2011) in the coordinates in which
#'    \eqn{\Sigma}{Sigma} is the identity, with a random number of leapfrog
#'    steps, which together are at most \eqn{\pi}{pi} long. The length of one is
#'    adapted in the burn-in, so that about 80% of the ends are accepted, and is
#'    constant after it.
#'
#' Step 2 takes a small part of the time of step 1. Where the posterior is
#' nearly normal, most proposals are accepted and the draws are nearly
#' independent. The first step is therefore left out of most sweeps there. It is
#' done in the first 50 sweeps of the burn-in, in all sweeps if fewer than half
#' of the proposals were accepted in the burn-in, and otherwise in every
#' \eqn{\lceil 10 \bar m \rceil}{ceiling(10 mbar)}-th sweep, with
#' \eqn{\bar m}{mbar} the mean number of trials. Without a burn-in it is done in
#' all sweeps, and with fractional weights, or more than \eqn{10^5}{10^5} trials
#' of which rows have five or more on average, in none. Step 3 is done if fewer than half of the proposals of 50 sweeps
#' or more of the burn-in were accepted, as with few observations for each
#' coefficient.
#'
#' @section Logistic and probit regression with groups:
#' A sweep has three steps.
#'
#' 1. For each bar and each term \eqn{k} before it a scale \eqn{s}, by a slice
#'    step:
#'    \eqn{u_{jk} \to s u_{jk}}{u_jk -> s u_jk} in all groups, with
#'    \eqn{\Sigma} scaled alike.
#' 2. The latent variables of step 1 above, given \eqn{\eta}{eta}. With them
#'    each observation has a normal response of known variance,
#'    \eqn{\kappa_i/\omega_i}{kappa_i / omega_i} with
#'    \eqn{1/\omega_i}{1 / omega_i} (logit), or the mean of its
#'    \eqn{z_{ij}}{z_ij} with \eqn{1/m_i}{1 / m_i} (probit).
#' 3. A sweep of [gibbs_hlm()] for these responses. With several bars, which it
#'    takes one after the other, they are the same ones for all bars.
#'
#' Rows of five trials or more on average, and rows with fractional weights, have
#' no latent variables: with these the chains mix slowly where a row has many
#' trials, the more so the rarer successes or failures are (Johndrow et al.
#' 2019). The steps are those of [gibbs_count()], which propose coefficients and
#' deviations at the mode of their conditionals. Groups of successes or failures
#' alone have the slice steps of groups whose counts are all 0.
#'
#' @section Search for the mode of a logistic regression:
#' `method = "newton"` takes steps \eqn{\Sigma(w) L'(w)}{Sigma(w) L'(w)}, each
#' halved until \eqn{L} rises enough (Armijo's rule). Because \eqn{L} is
#' strictly concave, the search converges from any `start`. With many
#' observations it starts at the mode for an evenly spaced subset of them.
#' `method = "gradient"` is gradient ascent in units of each coefficient's
#' largest curvature, with Barzilai and Borwein's first step and the same
#' halving. It solves no system of equations and takes many more steps. Both end
#' when the mode is within 1e-8 posterior standard deviations (in the metric of
#' \eqn{\Sigma^{-1}}) up to rounding.
#'
#' @references
#' Roberts GO, Sahu SK (1997). Updating schemes, correlation structure, blocking
#' and parameterization for the Gibbs sampler. *Journal of the Royal Statistical
#' Society B* 59, 291-317. \doi{10.1111/1467-9868.00070}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "Gibbs
#' sampling: another simple example" (the conditionals with \eqn{s_j = 1}{s_j =
#' 1}). Indian Institute of Technology Kanpur.
#'
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#'
#' Makalic E, Schmidt DF (2016). A simple sampler for the horseshoe estimator.
#' *IEEE Signal Processing Letters* 23, 179-182. \doi{10.1109/LSP.2015.2503725}
#'
#' Johndrow JE, Smith A, Pillai N, Dunson DB (2019). MCMC for imbalanced
#' categorical data. *Journal of the American Statistical Association* 114,
#' 1394-1403. \doi{10.1080/01621459.2018.1505626}
#'
#' Johndrow J, Orenstein P, Bhattacharya A (2020). Scalable approximate MCMC
#' algorithms for the horseshoe prior. *Journal of Machine Learning Research*
#' 21(73), 1-61.
#'
#' Bhattacharya A, Chakraborty A, Mallick BK (2016). Fast sampling with Gaussian
#' scale mixture priors in high-dimensional regression. *Biometrika* 103,
#' 985-991. \doi{10.1093/biomet/asw042}
#'
#' Yu Y, Meng XL (2011). To center or not to center: that is not the question.
#' *Journal of Computational and Graphical Statistics* 20, 531-570.
#' \doi{10.1198/jcgs.2011.203main}
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#'
#' Geweke J (1993). Bayesian treatment of the independent Student-t linear
#' model. *Journal of Applied Econometrics* 8, S19-S40.
#' \doi{10.1002/jae.3950080504}
#'
#' Polson NG, Scott JG, Windle J (2013). Bayesian inference for logistic models
#' using Polya-Gamma latent variables. *Journal of the American Statistical
#' Association* 108, 1339-1349. \doi{10.1080/01621459.2013.829001}
#'
#' Albert JH, Chib S (1993). Bayesian analysis of binary and polychotomous
#' response data. *Journal of the American Statistical Association* 88, 669-679.
#' \doi{10.1080/01621459.1993.10476321}
#'
#' Devroye L (2009). On exact simulation algorithms for some distributions
#' related to Jacobi theta functions. *Statistics & Probability Letters* 79,
#' 2251-2259. \doi{10.1016/j.spl.2009.07.028}
#'
#' Hastings WK (1970). Monte Carlo sampling methods using Markov chains and
#' their applications. *Biometrika* 57, 97-109. \doi{10.1093/biomet/57.1.97}
#'
#' Neal RM (2011). MCMC using Hamiltonian dynamics. In Brooks S et al. (eds),
#' *Handbook of Markov Chain Monte Carlo*, 113-162. Chapman & Hall/CRC.
#' \doi{10.1201/b10905-6}
#'
#' Barzilai J, Borwein JM (1988). Two-point step size gradient methods. *IMA
#' Journal of Numerical Analysis* 8, 141-148. \doi{10.1093/imanum/8.1.141}
#' @seealso [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()],
#'   [laplace_logistic()].
#' @name regression_sampler
NULL
