# Regression of counts: gibbs_count().

#' Poisson and negative binomial regression
#'
#' Draws from the posterior of a regression of counts with a log link, with or
#' without groups. With \eqn{n} observations \eqn{y_i}, predictors
#' \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i},
#' \deqn{y_i \mid w \sim \mathrm{Poisson}(\mu_i) \quad \mathrm{or} \quad
#'   y_i \mid w, r \sim \mathrm{NB}(\mu_i, r), \quad \log \mu_i = \eta_i =
#'   x_i^\top w + o_i.}{
#'   y_i | w ~ Poisson(mu_i) or y_i | w, r ~ NB(mu_i, r),
#'   log mu_i = eta_i = x_i'w + o_i.}
#' The negative binomial distribution has the mean \eqn{\mu}{mu} and the
#' variance \eqn{\mu + \tau^2 \mu^2}{mu + tau^2 mu^2}, with the size \eqn{r =
#' 1/\tau^2}{r = 1/tau^2} ([stats::dnbinom()], `theta` of [MASS::glm.nb()]). The
#' fit stores the *dispersion* \eqn{\tau}{tau}, which is 0 where the counts are
#' Poisson and \eqn{r} is infinite. [count_prior()] describes the priors
#' of \eqn{w} and \eqn{\tau}{tau}.
#'
#' With exposures \eqn{t_i}, such as person-years or areas, a term
#' `offset(log(t))` of the formula makes \eqn{\exp(x_i^\top w)}{exp(x_i'w)} the
#' rate of one unit of exposure. `tidy(fit, exponentiate = TRUE)` has the ratios
#' of rates.
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g) + (1 | h)` has coefficients that vary between
#' groups, in the notation of [gibbs_hlm()]: any number of bars, whose groups
#' are nested or crossed. With bar \eqn{f},
#' \deqn{\eta_i = o_i + x_i^\top b + \sum_f z_{fi}^\top u_{f,j(f,i)}, \quad
#'   u_{fj} \sim \mathrm{N}(0, \Sigma_f).}{
#'   eta_i = o_i + x_i'b + sum_f z_fi'u_f,j(f,i), u_fj ~ N(0, Sigma_f).}
#' A bar `(1 | row)` with a group for each observation gives counts that are
#' more variable than Poisson ones.
#'
#' The columns are those of [gibbs_hlm()] with several factors, also for one
#' bar: `sd[f,k]` and `cor[f,k,l]` of factor \eqn{f}, and the deviations
#' `u[f,k,j]` of group \eqn{j}. Convergence is judged on all other columns and
#' on the deviations of at most 20 groups of each factor.
#'
#' @section Sampler:
#' The draws have no error but the Monte Carlo error. Given the rest, the log
#' density of the coefficients, and that of the deviations of one group, is
#' concave. A Metropolis-Hastings step proposes from a normal distribution (in
#' one of ten steps a t distribution with 5 degrees of freedom) at its mode,
#' with the curvature there, which Newton's method finds from a point that does
#' not depend on the present value. [acceptance()] gives the shares of proposals
#' that were accepted. A bar has two more steps: one of the coefficients with
#' the groups' own intercepts and slopes \eqn{u_j + A_j b} fixed, in which the
#' groups' means move with the coefficients (Yu and Meng 2011), and one that
#' multiplies the deviations and their standard deviation. Of two bars that are
#' nested, or nearly so (pupils of whom few change their school), the deviation
#' of each outer group and those of the groups within it move against each
#' other, by a normal draw or by a slice step. \eqn{\Sigma}{Sigma}
#' has its conditional, \eqn{\tau}{tau} a slice step given everything else. The
#' time of a sweep is proportional to the number of observations and does not
#' depend on the size of the counts.
#'
#' @section Weights:
#' A weight \eqn{v} multiplies the log-likelihood of an observation, so that a
#' whole number counts it \eqn{v} times.
#'
#' @section Without a prior:
#' With `count_prior(slope_variance = Inf)`, for `family = "poisson"` without
#' groups, the posterior is proper only if the maximum likelihood estimate
#' exists. Collinear columns, and counts that do not bound a coefficient (all
#' counts are 0, or all of one level), are errors then. Under a proper prior
#' neither is.
#'
#' @section Stored quantities:
#' One column for each coefficient, with the name of its column of the model
#' matrix; of groups the columns named above; `dispersion` with
#' `family = "negbinomial"`; and `log_lik`, the log-likelihood.
#'
#' @section Starting values:
#' An entry of `inits` is a list with `coefficients` (without groups),
#' `dispersion`, and with groups `Sigma`, a list of matrices by the names of the
#' factors.
#'
#' @param formula A formula `y ~ x`, with offsets and bars if there are any. The
#'   response has whole numbers from 0 to \eqn{2^{53}}{2^53}.
#' @param data A data frame, list or environment with the variables.
#' @param family `"poisson"` (default; also `poisson` of stats) or
#'   `"negbinomial"`. All methods of the fit use it.
#' @param prior A [count_prior()].
#' @param weights `NULL` or `n` numbers, 0 or more, not all 0.
#' @param offset `NULL` or `n` numbers, added to the linear predictor.
#' @param subset,contrasts As in [gibbs_lm()].
#' @param na_action As in [gibbs_lm()], but for `"impute"`.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: an argument that is not known is an error.
#' @return An object of class `gibbs_count`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_regression()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()]. `print()` says so if the counts vary
#'   clearly more about their means than a Poisson distribution allows: by the
#'   mean squared Pearson residual, without groups and weights.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_formula` for the
#' formula, `gibbsite_error_collinear` and `gibbsite_error_separated` for a flat
#' prior. [log_evidence()] of a fit with groups is an error. A chain that fails
#' raises `gibbsite_error_chain`, which carries the other chains in `$fit`.
#' @references
#' Gamerman D (1997). Sampling from the posterior distribution in generalized
#' linear mixed models. *Statistics and Computing* 7, 57-68.
#' \doi{10.1023/A:1018509429360}
#'
#' Sun T, Tran-Dinh Q (2019). Generalized self-concordant functions: a recipe
#' for Newton-type methods. *Mathematical Programming* 178, 145-213.
#' \doi{10.1007/s10107-018-1282-4}
#'
#' Yu Y, Meng X-L (2011). To center or not to center: that is not the question -
#' an ancillarity-sufficiency interweaving strategy (ASIS) for boosting MCMC
#' efficiency. *Journal of Computational and Graphical Statistics* 20, 531-570.
#' \doi{10.1198/jcgs.2011.203main}
#'
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#' @seealso [count_prior()], [gibbs_hlm()], [gibbs_logistic()].
#' @examples
#' fit <- gibbs_count(count ~ spray, InsectSprays, seed = 1)
#' fit
#' tidy(fit, exponentiate = TRUE)
#'
#' # rates: claims of insurance holders
#' gibbs_count(Claims ~ District + offset(log(Holders)), MASS::Insurance,
#'   seed = 1
#' )
#'
#' # counts that vary more than Poisson ones
#' quine <- gibbs_count(Days ~ Eth + Sex + Age, MASS::quine,
#'   family = "negbinomial", seed = 1
#' )
#' coef(quine)
#'
#' # patients, each seen four times
#' gibbs_count(y ~ trt + lbase + (1 | subject),
#'   transform(MASS::epil, lbase = log(base / 4)), seed = 1
#' )
#' @export
gibbs_count <- function(formula, data, family = c("poisson", "negbinomial"),
                        prior = count_prior(), weights = NULL, offset = NULL,
                        subset = NULL, na_action = "fail", contrasts = NULL,
                        draws = NULL, burnin = 1000, thin = 1, chains = 4,
                        inits = NULL, cores = getOption("mc.cores", 1L),
                        seed = NULL, checkpoint = NULL, stop_when = NULL,
                        progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  family <- check_count_family(family, call)
  running <- running_of(call, keep_choices = character())
  user_call <- call_of_model(match.call(), "gibbs_count", formula)
  action <- check_na_action(na_action, call)
  frame <- frame_with_bars(
    formula, if (!missing(data)) data, user_call, "gibbs_count",
    as_events, action, contrasts, parent.frame(), call
  )
  run_chains(
    count_model(frame, family, prior, call), running, user_call, call
  )
}
