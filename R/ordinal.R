# Regression of ordered categories: gibbs_ordinal().

#' Regression of ordered categories
#'
#' Draws from the posterior of an ordered probit regression (cumulative probit
#' model), with or without groups. With \eqn{n} responses \eqn{y_i} in the
#' ordered categories \eqn{1, \ldots, K}{1, ..., K}, predictors
#' \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i},
#' \deqn{P(y_i \le k \mid w, \theta) = \Phi(\theta_k - \eta_i), \quad
#'   \eta_i = x_i^\top w + o_i, \quad \theta_1 < \ldots < \theta_{K-1}.}{
#'   P(y_i <= k | w, theta) = Phi(theta_k - eta_i), eta_i = x_i'w + o_i,
#'   theta_1 < ... < theta_(K-1).}
#' Or, \eqn{y_i = k} if a latent response \eqn{z_i \sim \mathrm{N}(\eta_i,
#' 1)}{z_i ~ N(eta_i, 1)} lies between \eqn{\theta_{k-1}}{theta_(k-1)} and
#' \eqn{\theta_k}{theta_k}. The thresholds stand in the place of the intercept,
#' which \eqn{\eta} does not have. A positive coefficient makes higher
#' categories more probable, as in `MASS::polr(method = "probit")`.
#' [ordinal_prior()] describes the priors.
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g) + (1 | item)` has coefficients that vary
#' between groups, in the notation of [gibbs_hlm()]: any number of bars, whose
#' groups are nested or crossed. With bar \eqn{f},
#' \deqn{\eta_i = o_i + x_i^\top b + \sum_f z_{fi}^\top u_{f,j(f,i)}, \quad
#'   u_{fj} \sim \mathrm{N}(0, \Sigma_f).}{
#'   eta_i = o_i + x_i'b + sum_f z_fi'u_f,j(f,i), u_fj ~ N(0, Sigma_f).}
#'
#' The columns are those of [gibbs_hlm()] with several factors, also for one
#' bar: `sd[f,k]` and `cor[f,k,l]` of factor \eqn{f}, and the deviations
#' `u[f,k,j]` of group \eqn{j}. Convergence is judged on all other columns and
#' on the deviations of at most 20 groups of each factor.
#'
#' @section Sampler:
#' A Gibbs sampler with the latent responses \eqn{z_i} (Albert and Chib 1993),
#' whose draws have no error but the Monte Carlo error. The thresholds are moved
#' together, given the linear predictor, with the latent responses integrated
#' out (as in Cowles 1996): given these, each threshold could only move between
#' the largest \eqn{z_i} of one category and the smallest of the next, which
#' takes a step of order \eqn{1/n}. The proposal is a t distribution with 5
#' degrees of freedom at the mode, which Newton's method finds, in the
#' coordinates \eqn{\theta_1, \log(\theta_k - \theta_{k-1})}{theta_1,
#' log(theta_k - theta_(k-1))}. Then the coefficients are drawn given the latent
#' responses with the groups' deviations integrated out, together with a shift
#' of all thresholds and latent responses, which changes no probability (Liu
#' and Sabatti 2000). With groups there are the further steps of [gibbs_hlm()].
#' The time of a sweep is proportional to the number of observations.
#'
#' @section Weights:
#' A weight is the whole number of observations that a row stands for, as in a
#' table of frequencies. Rows with weight 0 are left out.
#'
#' @section Stored quantities:
#' One column for each coefficient, with the name of its column of the model
#' matrix; of groups the columns named above; the thresholds `theta[k]`,
#' between category \eqn{k} and the next; and `log_lik`, the log-likelihood.
#'
#' @section Predictions:
#' `predict(type = "response")`, `fitted()` and [posterior_epred()] have a
#' probability for each category: see [predict.gibbsite_categories()].
#'
#' @section Starting values:
#' An entry of `inits` is a list with `coefficients`, `thresholds`, which
#' increase, and with groups `Sigma`, a list of matrices by the names of the
#' factors.
#'
#' @param formula A formula `y ~ x`, with offsets and bars if there are any,
#'   never without an intercept. The response is an ordered factor ([ordered()])
#'   or has the whole numbers from 1 to \eqn{K}. There are three categories or
#'   more, each with observations.
#' @param data A data frame, list or environment with the variables.
#' @param prior An [ordinal_prior()].
#' @param weights `NULL` or `n` whole numbers, 0 or more, not all 0.
#' @param offset `NULL` or `n` numbers, added to the linear predictor.
#' @param subset,contrasts As in [gibbs_lm()].
#' @param na_action As in [gibbs_lm()], but for `"impute"`.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: an argument that is not known is an error.
#' @return An object of class `gibbs_ordinal`, a `gibbsite_fit` and a
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
#' Albert JH, Chib S (1993). Bayesian analysis of binary and polychotomous
#' response data. *Journal of the American Statistical Association* 88, 669-679.
#' \doi{10.1080/01621459.1993.10476321}
#'
#' Cowles MK (1996). Accelerating Monte Carlo Markov chain convergence for
#' cumulative-link generalized linear models. *Statistics and Computing* 6,
#' 101-111. \doi{10.1007/BF00162520}
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#'
#' McCullagh P (1980). Regression models for ordinal data. *Journal of the Royal
#' Statistical Society B* 42, 109-127. \doi{10.1111/j.2517-6161.1980.tb01109.x}
#' @seealso [ordinal_prior()], [gibbs_logistic()] for two outcomes,
#'   [gibbs_bmf()] for ratings of many items by many users.
#' @examples
#' # satisfaction of tenants, from a table of frequencies
#' fit <- gibbs_ordinal(Sat ~ Infl + Type + Cont, MASS::housing,
#'   weights = Freq, seed = 1
#' )
#' fit
#' head(predict(fit, type = "response"), 3)
#' plot(fit, type = "response", variable = "Infl")
#' @export
gibbs_ordinal <- function(formula, data, prior = ordinal_prior(),
                          weights = NULL, offset = NULL, subset = NULL,
                          na_action = "fail", contrasts = NULL, draws = NULL,
                          burnin = 1000, thin = 1, chains = 4, inits = NULL,
                          cores = getOption("mc.cores", 1L), seed = NULL,
                          checkpoint = NULL, stop_when = NULL, progress = TRUE,
                          keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  running <- running_of(call, keep_choices = character())
  user_call <- call_of_model(match.call(), "gibbs_ordinal", formula)
  action <- check_na_action(na_action, call)
  frame <- ordinal_frame(
    formula, if (!missing(data)) data, user_call, action, contrasts,
    parent.frame(), call
  )
  run_chains(ordinal_model(frame, prior, call), running, user_call, call)
}
