# Logistic regression, exact: gibbs_logistic().

#' Logistic and probit regression
#'
#' Draws from the posterior of the logistic regression of [laplace_logistic()],
#' without its approximation, or of the probit regression. With \eqn{n}
#' observations of \eqn{m_i} trials with \eqn{s_i} successes, predictors
#' \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i},
#' \deqn{s_i \mid w \sim \mathrm{Binomial}(m_i, F(\eta_i)), \quad
#'   \eta_i = x_i^\top w + o_i, \quad w \sim \mathrm{N}(0, C).}{
#'   s_i | w ~ Binomial(m_i, F(eta_i)), eta_i = x_i'w + o_i, w ~ N(0, C).}
#' With `link = "logit"` \eqn{F} is the logistic function, with
#' `link = "probit"` the distribution function of the standard normal
#' distribution:
#' \deqn{F(\eta) = \sigma(\eta) = \frac{1}{1 + e^{-\eta}} \quad \mathrm{or}
#'   \quad F(\eta) = \Phi(\eta) = \int_{-\infty}^\eta
#'   \frac{e^{-t^2/2}}{\sqrt{2\pi}} \, dt.}{
#'   F(eta) = sigma(eta) = 1 / (1 + exp(-eta)) or F(eta) = Phi(eta) =
#'   pnorm(eta).}
#' [logistic_prior()] describes the prior and its defaults, which are the same
#' for both links. Formula, response, prior and scales are those of
#' [laplace_logistic()], so that [compare()] can put the fits beside each other.
#'
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
#' all sweeps. Step 3 is done if fewer than half of the proposals of 50 sweeps
#' or more of the burn-in were accepted, as with few observations for each
#' coefficient. [acceptance()] gives the share of proposals of step 2 that were
#' accepted.
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g)` has coefficients that vary between groups, in
#' the notation of [gibbs_hlm()], which says what `||` and `a:b` mean:
#' \deqn{s_i \sim \mathrm{Binomial}(m_i, F(\eta_i)), \quad \eta_i = o_i +
#'   x_i^\top b + z_i^\top u_{j(i)}, \quad u_j \sim \mathrm{N}(0, \Sigma).}{
#'   s_i ~ Binomial(m_i, F(eta_i)), eta_i = o_i + x_i'b + z_i'u_j(i),
#'   u_j ~ N(0, Sigma).}
#' The fixed effects \eqn{b} have the prior of [logistic_prior()] with finite
#' variances, \eqn{\Sigma} the half-t prior of its fields `group_df` and
#' `group_scale`. A sweep has three steps.
#'
#' 1. For each term \eqn{k} before the bar a scale \eqn{s}, by a slice step:
#'    \eqn{u_{jk} \to s u_{jk}}{u_jk -> s u_jk} in all groups, with
#'    \eqn{\Sigma} scaled alike.
#' 2. The latent variables of step 1 above, given \eqn{\eta}{eta}. With them
#'    each observation has a normal response of known variance,
#'    \eqn{\kappa_i/\omega_i}{kappa_i / omega_i} with
#'    \eqn{1/\omega_i}{1 / omega_i} (logit), or the mean of its
#'    \eqn{z_{ij}}{z_ij} with \eqn{1/m_i}{1 / m_i} (probit).
#' 3. A sweep of [gibbs_hlm()] for these responses.
#'
#' The columns are those of [gibbs_hlm()] with `keep = "w"`: the coefficients of
#' the groups, `w[k,j]`, are always stored. Convergence is judged on all other
#' columns and on the coefficients of at most 20 groups. An entry of `inits` is
#' a list with `Sigma`. The methods of such a fit are those of other
#' regressions, and [nlme::ranef()] and the like: see
#' [fixef.gibbsite_regression].
#'
#' @section Number of trials:
#' The time of step 1 is proportional to the number of trials: about 0.07
#' seconds for a million of them in each sweep that has the step (probit: 0.05).
#' All observations together may have \eqn{10^8}{10^8} trials, with which the
#' first 50 sweeps of a chain take about six minutes. With groups every sweep
#' draws a variate for each trial.
#' `laplace_logistic(correct = "importance")` takes any number of trials: its
#' time does not depend on it.
#'
#' @section Weights:
#' A weight \eqn{v} counts an observation \eqn{v} times: it multiplies its
#' successes and its trials. Weights must be whole numbers, since a latent
#' variable is drawn for each trial.
#'
#' @section Without a prior:
#' With `logistic_prior(slope_variance = Inf)` the posterior is proper only if
#' the maximum likelihood estimate exists. Collinear columns and separated data
#' are errors then, as in [laplace_logistic()]. Under a proper prior neither is.
#'
#' @section Matrices:
#' With a matrix `x` instead of a formula the columns are used as they are: no
#' intercept is added. A column of ones named `"(Intercept)"` gets the
#' intercept's prior. Sparse matrices of the Matrix package stay sparse.
#'
#' @section Stored quantities:
#' One column for each coefficient, with the name of its column of the model
#' matrix.
#'
#' @section Starting values:
#' By default each chain starts at a draw of \eqn{\mathrm{N}(\hat w, 9
#' \Sigma)}{N(w_map, 9 Sigma)}. An entry of `inits` is a list with
#' `coefficients`: `p` numbers.
#'
#' @section Data supplied again:
#' The fit holds its data. After [drop_data()] or with `keep_data = FALSE`,
#' [extend()] takes them as `data = list(x = , y = )`, the model matrix and the
#' response of the rows used, with `weights` and `offset` if the fit had any.
#'
#' @inheritParams laplace_logistic
#' @param weights `NULL` or `n` whole numbers, 0 or more, not all 0. Where the
#'   response has proportions between 0 and 1 they are numbers of trials, as in
#'   [stats::glm()].
#' @param link `"logit"` (default) or `"probit"`. All methods of the fit use it.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @return An object of class `gibbs_logistic` (with groups
#'   `gibbs_hlm_binomial`), a `gibbsite_fit` and a [coda::mcmc.list]: one matrix
#'   of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_regression()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_regression()],
#'   [log_lik.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_size` for more than
#' \eqn{10^8}{10^8} trials, `gibbsite_error_formula` for several
#' bars or nested groups, `gibbsite_error_collinear` and
#' `gibbsite_error_separated` for a flat prior. A search for the mode that fails
#' is an error of class `gibbsite_error_numeric`. A chain that fails raises
#' `gibbsite_error_chain`, which carries the other chains in `$fit`.
#' @references
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
#' @seealso `tidy(fit, exponentiate = TRUE)` for odds ratios
#'   ([tidy()][tidy.gibbsite_fit]);
#'   [laplace_logistic()] for the approximation, which is faster;
#'   [log_evidence()].
#' @examples
#' fit <- gibbs_logistic(type ~ npreg + glu + bmi + ped + age,
#'   data = MASS::Pima.tr, seed = 1
#' )
#' fit
#' coef(fit)
#' gibbs_logistic(type ~ glu + bmi, MASS::Pima.tr, link = "probit", seed = 1)
#'
#' # children with otitis media, each seen up to five times
#' gibbs_logistic(y ~ trt + (1 | ID), MASS::bacteria, seed = 1)
#'
#' # the data of a dose-response experiment, as counts
#' budworm <- data.frame(
#'   dose = log2(rep(2^(0:5), 2)), sex = rep(c("male", "female"), each = 6),
#'   dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
#' )
#' both <- gibbs_logistic(cbind(dead, 20 - dead) ~ sex + dose, budworm,
#'   seed = 1
#' )
#' predict(both, data.frame(sex = "male", dose = 2:3), type = "response",
#'   interval = "mean"
#' )
#' @export
gibbs_logistic <- function(x, ...) {
  UseMethod("gibbs_logistic", formula_or_first(x, ...))
}

#' @rdname gibbs_logistic
#' @export
gibbs_logistic.formula <- function(formula, data, prior = logistic_prior(),
                                   weights = NULL, offset = NULL, subset = NULL,
                                   na_action = "fail", contrasts = NULL,
                                   link = c("logit", "probit"), draws = NULL,
                                   burnin = 1000, thin = 1, chains = 4,
                                   inits = NULL,
                                   cores = getOption("mc.cores", 1L),
                                   seed = NULL, checkpoint = NULL,
                                   stop_when = NULL, progress = TRUE,
                                   keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  link <- check_choice(link, logistic_links)
  running <- running_of(call, keep_choices = character())
  user_call <- call_with_formula(match.call(), formula, "gibbs_logistic")
  action <- check_na_action(na_action, call)
  rows <- if (!missing(data)) data
  if (has_bar(formula)) {
    frame <- hlm_binomial_frame(
      formula, rows, user_call, action, contrasts, link, parent.frame(), call
    )
    return(run_chains(
      hlm_binomial_model(frame, prior, call), running, user_call, call
    ))
  }
  check_model_formula(
    formula, "gibbs_logistic", c("lme4::glmer", "rstanarm::stan_glmer"), call
  )
  made <- regression_frame(
    formula, rows, user_call, action, parent.frame(), call
  )
  parts <- formula_parts(made, contrasts, as_weighted_response, call)
  model <- logistic_model(parts, prior, link, call)
  run_chains(model, running, user_call, call)
}

#' @rdname gibbs_logistic
#' @export
gibbs_logistic.default <- function(x, y, prior = logistic_prior(),
                                   weights = NULL, offset = NULL,
                                   na_action = "fail",
                                   link = c("logit", "probit"), draws = NULL,
                                   burnin = 1000, thin = 1, chains = 4,
                                   inits = NULL,
                                   cores = getOption("mc.cores", 1L),
                                   seed = NULL, checkpoint = NULL,
                                   stop_when = NULL, progress = TRUE,
                                   keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  link <- check_choice(link, logistic_links)
  running <- running_of(call, keep_choices = character())
  user_call <- match.call()
  user_call[[1L]] <- quote(gibbs_logistic)
  action <- check_na_action(na_action, call, frame = FALSE)
  parts <- matrix_parts(
    x, y, weights, offset, action, as_weighted_response, call
  )
  model <- logistic_model(parts, prior, link, call)
  run_chains(model, running, user_call, call)
}
