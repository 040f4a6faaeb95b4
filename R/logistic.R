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
#' The draws have no error but the Monte Carlo error. [regression_sampler] has
#' the steps of a sweep: augmentation, independence Metropolis-Hastings and
#' Hamiltonian Monte Carlo. [acceptance()] gives the share of proposals that
#' were accepted: those of the second step, and with groups those of rows with
#' many trials.
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
#' `group_scale`.
#'
#' There may be several bars, crossed or nested, as in [gibbs_hlm()]. Each has
#' deviations with a covariance matrix of its own. The Rasch model of answers to
#' the items of a test is `y ~ 1 + (1 | person) + (1 | item)`.
#'
#' The columns are those of [gibbs_hlm()]. With one bar the coefficients of the
#' groups, `w[k,j]`, are always stored, with several the deviations, `u[f,k,j]`.
#' Convergence is judged on all other columns and on at most 20 groups of each
#' factor. An entry of `inits` is a list with `Sigma`, for several bars a list
#' of matrices with the names of the factors. The methods of such a fit are
#' those of other regressions, and [ranef()] and the like: see
#' [fixef.gibbsite_regression].
#'
#' @section Number of trials:
#' Responses may have any number of trials: the time does not grow with it. An
#' augmentation step ([regression_sampler]) draws a variate for each trial.
#' Chains of rows with many trials do without it: with groups from five trials
#' a row on average, without groups from \eqn{10^5}{10^5} trials in all.
#'
#' @section Weights:
#' A weight \eqn{v} multiplies the log-likelihood of an observation: a whole
#' number counts it \eqn{v} times. Weights may be fractions. With the weights of
#' a survey the intervals are not right, since they depend on its design.
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
#' The fit holds its data. After [drop_data()] or with `keep_data = FALSE`, a
#' fit with groups goes on without them. For one without groups [extend()] takes
#' them as `data = list(x = , y = )`, the model matrix and the response of the
#' rows used, with `weights` and `offset` if the fit had any.
#'
#' @inheritParams laplace_logistic
#' @param weights `NULL` or `n` numbers, 0 or more, not all 0. Where the
#'   response has proportions between 0 and 1 they are whole numbers of trials,
#'   as in [stats::glm()].
#' @param link `"logit"` (default) or `"probit"`. All methods of the fit use it.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @return An object of class `gibbs_logistic`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_regression()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_formula` for a
#' formula that cannot be read, `gibbsite_error_collinear` and
#' `gibbsite_error_separated` for a flat prior. A search for the mode that fails
#' is an error of class `gibbsite_error_numeric`. A chain that fails raises
#' `gibbsite_error_chain`, which carries the other chains in `$fit`.
#' @references
#' Polson NG, Scott JG, Windle J (2013). Bayesian inference for logistic models
#' using Polya-Gamma latent variables. *Journal of the American Statistical
#' Association* 108, 1339-1349. \doi{10.1080/01621459.2013.829001}
#'
#' Papaspiliopoulos O, Roberts GO, Zanella G (2020). Scalable inference for
#' crossed random effects models. *Biometrika* 107, 25-40.
#' \doi{10.1093/biomet/asz058}
#'
#' Albert JH, Chib S (1993). Bayesian analysis of binary and polychotomous
#' response data. *Journal of the American Statistical Association* 88, 669-679.
#' \doi{10.1080/01621459.1993.10476321}
#' @seealso [regression_sampler];
#'   `tidy(fit, exponentiate = TRUE)` for odds ratios
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
  user_call <- call_of_model(match.call(), "gibbs_logistic", formula)
  action <- check_na_action(na_action, call)
  rows <- if (!missing(data)) data
  if (has_bar(formula)) {
    frame <- hlm_binomial_frame(
      formula, rows, user_call, action, contrasts, link, parent.frame(), call
    )
    model <- if (is.null(frame$bars)) {
      hlm_binomial_model(frame, prior, call)
    } else {
      hlm_crossed_binomial_model(frame, prior, call)
    }
    return(run_chains(model, running, user_call, call))
  }
  parts <- formula_parts(
    formula, rows, user_call, "gibbs_logistic", as_weighted_response, action,
    contrasts, parent.frame(), call
  )
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
  user_call <- call_of_model(match.call(), "gibbs_logistic")
  action <- check_na_action(na_action, call, frame = FALSE)
  parts <- matrix_parts(
    x, y, weights, offset, action, as_weighted_response, call
  )
  model <- logistic_model(parts, prior, link, call)
  run_chains(model, running, user_call, call)
}
