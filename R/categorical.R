# Regression of categories without an order: gibbs_categorical().

#' Regression of categories without an order
#'
#' Draws from the posterior of a multinomial logit regression, with or without
#' groups. With \eqn{n} responses in the categories \eqn{1, \ldots, K}{1, ...,
#' K}, predictors \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i}, the
#' log-odds of category \eqn{k} against the first are
#' \deqn{\log \frac{p_{ik}}{p_{i1}} = \eta_{ik} = x_i^\top b_k + o_i, \quad
#'   k = 2, \ldots, K.}{log(p_ik / p_i1) = eta_ik = x_i'b_k + o_i,
#'   k = 2, ..., K.}
#' A row has one category, or a count in each category,
#' \deqn{(s_{i1}, \ldots, s_{iK}) \sim \mathrm{Multinomial}(m_i, p_i).}{
#'   (s_i1, ..., s_iK) ~ Multinomial(m_i, p_i).}
#' The first category is the reference, as in `nnet::multinom()`. With two
#' categories the model is that of [gibbs_logistic()].
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g) + (1 | item)` has coefficients that vary
#' between groups, in the notation of [gibbs_hlm()]: any number of bars, whose
#' groups are nested or crossed. With bar \eqn{f},
#' \deqn{\eta_{ik} = o_i + x_i^\top b_k + \sum_f z_{fi}^\top u_{fk,j(f,i)},
#'   \quad u_{fkj} \sim \mathrm{N}(0, \Sigma_{fk}).}{
#'   eta_ik = o_i + x_i'b_k + sum_f z_fi'u_fk,j(f,i), u_fkj ~ N(0, Sigma_fk).}
#' Each category has deviations and covariances of its own, which are
#' independent of those of the others.
#'
#' @section Prior:
#' Each category but the first has its own coefficients and covariances, with
#' the prior of [logistic_prior()]. Variances of coefficients must be finite.
#' The prior is that of differences from the first category: another reference
#' is another prior.
#'
#' @section Sampler:
#' A Gibbs sampler that takes one category after the other against the rest
#' (Holmes and Held 2006). Given the coefficients of the other categories, those
#' of category \eqn{k} have the likelihood of a logistic regression with the
#' offset \eqn{o_i - \log \sum_{l \ne k} \exp \eta_{il}}{o_i - log(sum over the
#' other categories of exp(eta_il))}. This is the sampler of [gibbs_logistic()]
#' with groups, with Polya-Gamma variables (Polson, Scott and Windle 2013). With
#' more than two categories a further step moves the fixed effects of all of
#' them together, which are correlated where the first category is rare. The
#' draws have no error but the Monte Carlo error. The time of a sweep is
#' proportional to the number of observations times \eqn{K - 1}.
#'
#' @section Weights:
#' A weight is the whole number of observations that a row stands for, as in a
#' table of frequencies. Rows with weight 0 are left out.
#'
#' @section Stored quantities:
#' One column for each coefficient, `b[category,term]`; of groups the standard
#' deviations `sd[category,f,k]` of term \eqn{k} of factor \eqn{f}, the
#' correlations `cor[category,f,k,l]` and the deviations `u[category,f,k,j]` of
#' group \eqn{j}; and `log_lik`, the log-likelihood. Convergence is judged on
#' all columns but the deviations, and on those of at most 20 groups of each
#' factor.
#'
#' @section Predictions:
#' `predict(type = "response")`, `fitted()` and [posterior_epred()] have a
#' probability for each category: see [predict.gibbsite_categories()].
#'
#' @section Starting values:
#' An entry of `inits` is a list with `coefficients`, all in the order of the
#' columns, and with groups `Sigma`: by the names of categories, lists of
#' matrices by the names of the factors.
#'
#' @param formula A formula `y ~ x`, with offsets and bars if there are any. The
#'   response is a factor without an order, whose first level is the reference,
#'   or text, or a matrix of counts with a column for each category, such as
#'   `cbind(a, b, c)`. There are two categories or more, each with observations.
#' @param data A data frame, list or environment with the variables.
#' @param prior A [logistic_prior()] for each category, or a list of these with
#'   the names of all categories but the first.
#' @param weights `NULL` or `n` whole numbers, 0 or more, not all 0.
#' @param offset `NULL` or `n` numbers, added to the linear predictors of all
#'   categories but the first.
#' @param subset,contrasts As in [gibbs_lm()].
#' @param na_action As in [gibbs_lm()], but for `"impute"`.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: an argument that is not known is an error.
#' @return An object of class `gibbs_categorical`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_categories()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_formula` for the
#' formula, and `gibbsite_error_empty` for a category without observations.
#' [log_evidence()], [residuals()] and [bayes_R2()] of a fit are errors. A chain
#' that fails raises `gibbsite_error_chain`, which carries the other chains in
#' `$fit`.
#' @references
#' Holmes CC, Held L (2006). Bayesian auxiliary variable models for binary and
#' multinomial regression. *Bayesian Analysis* 1, 145-168.
#' \doi{10.1214/06-BA105}
#'
#' Polson NG, Scott JG, Windle J (2013). Bayesian inference for logistic models
#' using Polya-Gamma latent variables. *Journal of the American Statistical
#' Association* 108, 1339-1349. \doi{10.1080/01621459.2013.829001}
#' @seealso [gibbs_logistic()] for two outcomes, [gibbs_ordinal()] for ordered
#'   categories, [logistic_prior()].
#' @examples
#' fit <- gibbs_categorical(Species ~ Sepal.Length, iris, draws = 2000,
#'                          chains = 2, seed = 1, progress = FALSE)
#' fit
#' head(predict(fit, type = "response"), 3)
#' plot(fit, type = "response", variable = "Sepal.Length")
#'
#' # counts: the types of dwellings by satisfaction, in a row for each
#' homes <- as.data.frame.matrix(xtabs(Freq ~ Sat + Type, MASS::housing))
#' homes$Sat <- rownames(homes)
#' gibbs_categorical(
#'   cbind(Tower, Apartment, Atrium, Terrace) ~ Sat, homes, draws = 500,
#'   burnin = 300, chains = 2, seed = 1, progress = FALSE
#' )
#' @export
gibbs_categorical <- function(formula, data, prior = logistic_prior(),
                              weights = NULL, offset = NULL, subset = NULL,
                              na_action = "fail", contrasts = NULL,
                              draws = NULL, burnin = 1000, thin = 1,
                              chains = 4, inits = NULL,
                              cores = getOption("mc.cores", 1L), seed = NULL,
                              checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  running <- running_of(call, keep_choices = character())
  user_call <- call_of_model(match.call(), "gibbs_categorical", formula)
  action <- check_na_action(na_action, call)
  frame <- frame_with_bars(
    formula, if (!missing(data)) data, user_call, "gibbs_categorical",
    as_categories, action, contrasts, parent.frame(), call
  )
  run_chains(categorical_model(frame, prior, call), running, user_call, call)
}
