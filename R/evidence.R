# The evidence of a fit: in closed form, by Laplace's method or by bridge
# sampling.

#' Evidence of a fit, and Laplace approximations compared by it
#'
#' `log_evidence()` gives the logarithm of the evidence (marginal likelihood)
#' \eqn{p(y) = \int p(y \mid \theta) p(\theta)\, d\theta}{p(y) = integral of p(y
#' | theta) p(theta)}: the density of the data under the model, averaged over
#' the prior. `anova()` compares Laplace approximations of the same response by
#' it.
#'
#' The method depends on the fit:
#'
#' - of [gibbs_lm()] with the conjugate prior and [fit_markov_chain()] in closed
#'   form;
#' - of [laplace_logistic()] and [laplace()] by Laplace's method, or corrected
#'   by importance ([importance_check()]);
#' - of [gibbs_lm()] with the hierarchical prior, [gibbs_hlm()],
#'   [gibbs_logistic()] with and without groups, [gibbs_count()] without groups,
#'   [gibbs_gmm()], [mh_sample()] and [gibbs_sample()] by bridge sampling, with
#'   a standard error. There may be several grouping factors, crossed or nested.
#'
#' The difference of two values is a log Bayes factor with its standard error.
#'
#' The evidence depends on the priors even if the posteriors hardly do: a vague
#' prior gives much of its probability to large effects, which lowers the
#' evidence. Choose informative priors before comparing models. Priors that were
#' completed from the data (see [prior_summary()]) are part of it. Under an
#' improper prior the evidence is not defined (`NA`).
#'
#' After bridge sampling a warning is given for a standard error above 0.5, for
#' an R-hat above 1.05, and if the two halves of the draws disagree. The
#' standard error does not include the error from a mode that no chain visited.
#' [evidence_methods] has the formulas.
#'
#' @section One's own density:
#' For [mh_sample()] the result is the log of the integral of `exp(log_density)`
#' within the bounds. It is the evidence only if `log_density` is the log of
#' likelihood times prior *with all constants*: use `dnorm(log = TRUE)` and the
#' like, and not kernels. [gibbs_sample()] knows conditionals only: give
#' `log_density`, a function of the state that returns the same, and bounds.
#'
#' @param fit A fit.
#' @param object,... For `anova()`: two fits or more of [laplace_logistic()] or
#'   of [laplace()], all of the same response. (Whether fits of [laplace()] are
#'   of the same data cannot be checked.)
#' @param correct For Laplace approximations: `"none"` (default): by Laplace's
#'   method. `"importance"`: corrected, with a standard error.
#' @param method The proposal of bridge sampling, `"normal"` (default) or
#'   `"warp3"`; without effect on mixtures and on other evidence. `"tempered"`:
#'   for fits with [tempered()] alone, see [evidence_methods].
#' @param log_density For [gibbs_sample()] alone: a function of the state. It
#'   gets the fit's further arguments that it has.
#' @param lower,upper For [gibbs_sample()] alone: the bounds of the parameters,
#'   one number or one for each column of the fit (a vector with names is
#'   reordered by name); default none.
#' @param seed `NULL` or a whole number, as in [running].
#' @param x A number that `log_evidence()` returned, or the difference of two.
#' @param prior_odds `NULL` for models that are equally probable beforehand, or
#'   a positive number for each: their prior probabilities, up to a constant.
#' @return `log_evidence()`: a number of class `gibbsite_evidence` with the
#'   attributes `se` (standard error; 0 in closed form, `NA` by Laplace's
#'   method) and `method` (`"exact"`, `"laplace"`, `"importance"`, `"normal"`,
#'   `"warp3"`, `"tempered"` or `"conditionals"`); with `"importance"` also
#'   `draws` and `ess`, the effective number of the weighted draws; after bridge
#'   sampling `draws`, the number of draws compared with as many of the proposal
#'   (with `"tempered"`, the draws of each replica), `ess`, their effective
#'   number, and `rhat`, the largest R-hat, if it is above 1.05.
#'   `as.numeric()` gives the number alone, and so does arithmetic other than
#'   the difference of two.
#'   `as.data.frame()` gives a row with the columns `log_evidence` (of a
#'   difference `log_bayes_factor`), `se`, `method`, `draws`, `ess` and `rhat`,
#'   `NA` where there is none.
#'   `anova()`: a data frame of class `laplace_comparison` with a row for each
#'   fit and the columns `model`, `parameters`, `log_evidence`,
#'   `log_bayes_factor` (against the best) and `probability` (of the model given
#'   the data, among these).
#' @section Random numbers: Bridge sampling draws on a stream of its own, which
#' `seed` or else R's generator determines. Other evidence takes none.
#' @section Errors: `gibbsite_error_no_evidence`, a `gibbsite_error_argument`,
#'   for fits that have no evidence here: of [gibbs_lda()], [gibbs_bmf()],
#'   [gibbs_pmf()], [gibbs_ordinal()] and [gibbs_categorical()], of
#'   [gibbs_count()] and t errors with groups, of [gibbs_gmm()] with an unknown
#'   `k`, of [gibbs_lm()] with the horseshoe prior, of [gibbs_sample()] without
#'   `log_density`; regressions are compared by [loo::loo_compare()] then.
#'   `gibbsite_error_argument` for too few draws, and in `anova()` for fits that
#'   are not Laplace approximations of the same response or have no evidence.
#'   `gibbsite_error_no_data` for a fit without its data.
#'   `gibbsite_error_numeric` for draws without a covariance matrix.
#' @references
#' Kass RE, Raftery AE (1995). Bayes factors. *Journal of the American
#' Statistical Association* 90, 773-795. \doi{10.1080/01621459.1995.10476572}
#' @seealso [evidence_methods], [compare_k()] for numbers of components,
#'   [kfold()] and `loo()` for predictive accuracy, which depends less on the
#'   prior.
#' @examples
#' weight <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' both <- laplace_logistic(am ~ wt + qsec, mtcars, seed = 1)
#' log_evidence(weight)
#' anova(weight, both)
#' # how many components?
#' of <- function(k) {
#'   gibbs_gmm(faithful, k, draws = 500, burnin = 200, seed = 1,
#'             progress = FALSE)
#' }
#' log_evidence(of(2)) - log_evidence(of(1))
#' @export
log_evidence <- function(fit, correct = c("none", "importance"),
                         method = c("normal", "warp3", "tempered"),
                         log_density = NULL, lower = -Inf, upper = Inf,
                         seed = NULL) {
  call <- rlang::current_env()
  check_needed(fit = "a fit")
  seed <- check_seed(seed)
  correct <- check_choice(correct, c("none", "importance"))
  method <- check_choice(method, c("normal", "warp3", "tempered"))
  check_fit(fit, "fit", call)
  if (inherits(fit, "gibbsite_partial")) abort_no_draws("log_evidence", call)
  given <- list(log_density = log_density, lower = lower, upper = upper)
  if (is_imputed(fit)) {
    abort_imputed(fit, "evidence", different_data_hint, call = call)
  }
  model <- fit_part(fit, "model")
  check_own_density(model, given, call)
  model_evidence(model, fit, correct, call) %||%
    bridge_evidence(fit, method, given, seed, call)
}

#' @exportS3Method
model_evidence.default <- function(model, fit, correct, call) {
  if (correct != "none") {
    abort_argument(
      "{.code correct = \"importance\"} is for Laplace approximations alone.",
      call = call
    )
  }
  if (!is.null(model$log_evidence)) {
    new_evidence(model$log_evidence, 0, "exact")
  }
}

# gibbs_sample() has no joint density: the user may give one.
check_own_density <- function(model, given, call) {
  if (!is.null(model$steps)) {
    check_function(given$log_density, "log_density", TRUE, call)
    return(invisible())
  }
  default <- list(log_density = NULL, lower = -Inf, upper = Inf)
  for (name in names(default)) {
    if (!identical(given[[name]], default[[name]])) {
      abort_argument(
        "{.arg {name}} is for fits of {.fn gibbs_sample} alone.", call = call
      )
    }
  }
}

#' @exportS3Method
model_evidence.laplace_model <- function(model, fit, correct, call) {
  if (correct == "none" || is.na(model$log_evidence)) {
    return(new_evidence(model$log_evidence, NA_real_, "laplace"))
  }
  check <- importance_check(fit)
  if (isTRUE(check$corrected_k >= 0.7) || check$corrected_ess < 20) {
    warn_gibbsite(
      c("The corrected log evidence cannot be trusted:
         {pareto_words(check$corrected_k)}, effective size
         {floor(check$corrected_ess)} of {2 * check$draws} draws.",
        i = "The density is far from normal about its mode: sample it, and use
             {.fn log_evidence} of these draws."),
      class = "evidence"
    )
  }
  new_evidence(
    check$log_evidence, check$log_evidence_se, "importance",
    draws = 2 * check$draws, ess = check$corrected_ess
  )
}

bridge_evidence <- function(fit, method, given, seed, call) {
  check_unlocked(call)
  if (method == "tempered") {
    found <- tempered_evidence(fit, seed, call)
    return(report_evidence(found, method, fit, call))
  }
  # each draw, and as many proposals
  points <- 2 * length(fit) * nrow(fit[[1L]]) * (1 + (method == "warp3"))
  given$tick <- part_counter("Points of log_evidence()", points, TRUE)
  known <- model_unbounded(fit_part(fit, "model"), given, call)
  if (is.null(known)) {
    return(new_evidence(NA_real_, NA_real_, method))
  }
  method <- known$method %||% method
  ratios <- known$ratios %||% normal_ratios(known$log_density, method, call)
  stream <- chain_streams(root_seed(seed, call), 1L, call)[[1L]]
  found <- with_stream(stream, bridge_integral(
    lapply(model_matrices(fit), known$points), ratios, call
  ), call)$value
  report_evidence(found, method, fit, call)
}

# The number, with a warning if it cannot be trusted.
report_evidence <- function(found, method, fit, call) {
  problem <- if (found$apart) {
    apart_words(found, method)
  } else if (found$se > 0.5) {
    c("The standard error of the log evidence is
       {format(signif(found$se, 2))}.",
      i = if (method == "normal") {
        "Use more draws ({.fn extend}), or {.code method = \"warp3\"}."
      } else {
        "Use more draws ({.fn extend})."
      })
  }
  if (!is.null(problem)) {
    warn_gibbsite(problem, class = "evidence")
  }
  new_evidence(
    found$value, found$se, method, draws = found$draws, ess = found$ess,
    rhat = rhat_if_apart(fit, call)
  )
}

# Estimates of parts of the draws differ by more than their standard errors.
apart_words <- function(found, method) {
  if (method == "tempered") {
    return(c(
      "The log evidences of the chains, or of halves of a chain, differ by more
       than their standard errors. The standard error is that of their
       differences, and may be too small.",
      i = "Use more draws ({.fn extend}), or more temperatures."
    ))
  }
  c("The two halves of the draws give log evidences that differ by
     {format(signif(2 * found$se, 2))}: half of this is the standard error
     now, and may be too small.",
    i = "The halves of the chains differ, or the proposal does not fit the
         posterior. Use more draws ({.fn extend}), or compare fits by
         {.fn loo}.")
}

# The standard error does not include differences between chains: the largest
# R-hat, with a warning, or NULL.
rhat_if_apart <- function(fit, call) {
  table <- judged(fit, 1.05, 0, call, cause = FALSE)
  if (!table_converged(table)) {
    worst <- max(table$rhat, na.rm = TRUE)
    rhat <- format(signif(worst, 3))
    warn_gibbsite(
      c("The chains of {.arg fit} have not converged (R-hat {rhat}): the log
         evidence may be wrong by more than its standard error.",
        i = "{.code print(fit)} says what to do."),
      class = "evidence"
    )
    worst
  }
}

# ---- The number and its error ------------------------------------------------

# `...`: further attributes.
new_evidence <- function(value, se, method, ..., what = "Log evidence") {
  structure(
    as.double(value), se = as.double(se), method = method, ..., what = what,
    class = "gibbsite_evidence"
  )
}

is_made_evidence <- function(x) {
  is.numeric(x) && length(x) == 1L && is.numeric(attr(x, "se")) &&
    length(attr(x, "se")) == 1L && is_plain_string(attr(x, "what")) &&
    is_plain_string(attr(x, "method"))
}

#' @export
format.gibbsite_evidence <- function(x, ...) {
  if (!is_made_evidence(x)) {
    return(format(unclass(x), ...))
  }
  se <- attr(x, "se")
  value <- as.double(x)
  if (is.na(value)) {
    return("NA: the prior is improper")
  }
  if (is.na(se) || se == 0) {
    return(format_evidence(value))
  }
  # two figures of the error, at most six decimals
  digits <- max(2, min(6, 1 - floor(log10(se))))
  paste0(
    formatC(value, format = "f", digits = digits), " (se ",
    show_significant(se, 2), ")"
  )
}

#' @export
print.gibbsite_evidence <- function(x, ...) {
  if (!is_made_evidence(x)) {
    return(invisible(print(unclass(x), ...)))
  }
  how <- switch(
    attr(x, "method"), exact = "In closed form",
    laplace = "By Laplace's method",
    importance = "By Laplace's method, corrected by importance",
    normal = "By bridge sampling with a normal proposal",
    warp3 = "By bridge sampling with a warped normal proposal",
    tempered = "By bridge sampling between neighbouring temperatures",
    conditionals = "By bridge sampling with conditional densities"
  )
  draws <- attr(x, "draws")
  if (!is.null(draws)) {
    how <- paste0(
      how, ": ", digits(draws), " draws, worth ", digits(floor(attr(x, "ess"))),
      " independent ones"
    )
  }
  write_lines(c(
    paste(attr(x, "what"), format(x)), if (!is.null(how)) paste0(how, "."),
    apart_line(attr(x, "rhat"))
  ))
  invisible(x)
}

#' @rdname log_evidence
#' @export
as.data.frame.gibbsite_evidence <- function(x, ...) {
  if (!is_made_evidence(x)) {
    return(as.data.frame(as.vector(unclass(x)), ...))
  }
  part <- function(name) attr(x, name) %||% NA_real_
  out <- data.frame(
    value = as.double(x), se = part("se"), method = attr(x, "method"),
    draws = part("draws"), ess = part("ess"), rhat = part("rhat")
  )
  names(out)[[1L]] <- gsub(" ", "_", tolower(attr(x, "what")), fixed = TRUE)
  out
}

apart_line <- function(rhat) {
  if (is.numeric(rhat) && length(rhat) == 1L) {
    paste0(
      "The chains have not converged (R-hat ", format(signif(rhat, 3)),
      "): it may be wrong by more than its standard error."
    )
  }
}

# Arithmetic gives plain numbers. Only the difference of two values keeps a
# standard error.
#' @export
Ops.gibbsite_evidence <- function( # nolint: object_name_linter.
    e1, e2) {
  plain <- function(x) {
    if (inherits(x, "gibbsite_evidence")) as.double(x) else x
  }
  generic <- .Generic # nolint: object_usage_linter.
  operate <- get(generic, mode = "function")
  if (missing(e2)) {
    return(operate(plain(e1)))
  }
  value <- operate(plain(e1), plain(e2))
  both <- is_evidence(e1) && is_evidence(e2)
  if (generic != "-" || !both) {
    return(value)
  }
  how <- unique(c(attr(e1, "method"), attr(e2, "method")))
  new_evidence(
    value, sqrt(attr(e1, "se")^2 + attr(e2, "se")^2),
    paste(how, collapse = " and "), what = "Log Bayes factor",
    rhat = largest_rhat(e1, e2)
  )
}

# The largest R-hat, NULL if the chains of both have converged.
largest_rhat <- function(...) {
  rhat <- unlist(lapply(list(...), attr, "rhat"))
  if (length(rhat) > 0L) max(rhat)
}

is_evidence <- function(x) {
  inherits(x, "gibbsite_evidence") && is_made_evidence(x) &&
    identical(attr(x, "what"), "Log evidence")
}

#' @export
Math.gibbsite_evidence <- function( # nolint: object_name_linter.
    x, ...) {
  generic <- .Generic # nolint: object_usage_linter.
  get(generic, mode = "function")(as.double(x), ...)
}

#' How log_evidence() computes the evidence
#'
#' Bridge sampling, of which [log_evidence()] uses two kinds: with a normal
#' proposal or the densities of the Gibbs sampler, and between temperatures for
#' posteriors with several modes.
#'
#' @section Bridge sampling:
#' With \eqn{q} the likelihood times the prior on a scale without bounds, and
#' \eqn{g} a normal density with the mean and the covariance of the draws, the
#' estimate is the optimal bridge of Meng and Wong (1996), the fixed point
#' \eqn{r} of
#' \deqn{r = \frac{\mathrm{mean}_g [q / (s_1 q + s_2 r g)]}{
#'   \mathrm{mean}_p [g / (s_1 q + s_2 r g)]},}{
#'   r = mean_g[q / (s1 q + s2 r g)] / mean_p[g / (s1 q + s2 r g)],}
#' with means over draws of \eqn{g} and of the posterior, and \eqn{s_1 : s_2}
#' the ratio of the effective number of the latter to the number of the former.
#' The first half of each chain determines \eqn{g}, and the second half is
#' compared with as many draws of \eqn{g}: if the same draws served for both,
#' the estimate would be too large (Overstall and Forster 2010). Then the halves
#' are exchanged, and the two log evidences are averaged. `method =
#' "warp3"` replaces \eqn{q} by its mean over reflections in the posterior mean,
#' so that skewness does no harm (Meng and Schilling 2002). It takes twice the
#' time.
#'
#' The standard error is the root of the relative mean squared error
#' (Frühwirth-Schnatter 2004), with the effective sample size of the draws. It
#' does not include the error from a mode that no chain visited. If the two
#' halves differ by more than four standard errors, half of the difference is
#' the standard error. A warning is given in this case, for a standard error
#' above 0.5, and for an R-hat above 1.05.
#'
#' Scale parameters are replaced by their logarithms. A covariance matrix is
#' replaced by the logarithms of the diagonal of its Cholesky factor and by
#' transformed correlations. Some unknowns are integrated out in closed form:
#' the coefficients and deviations of [gibbs_hlm()], and the allocations and
#' missing entries of [gibbs_gmm()]. With groups in [gibbs_logistic()] the
#' deviations of the groups are coordinates; with hundreds of groups the
#' estimate needs many draws.
#'
#' With several grouping factors of [gibbs_hlm()] each draw and each proposal
#' takes a sparse Cholesky factor of the order of the coefficients and all
#' deviations: half a millisecond for a few dozen, several for a thousand.
#' Thousands of crossed groups take long.
#'
#' For a mixture, \eqn{g} is the mean of the densities from which the Gibbs
#' sampler draws weights, means and covariances at 400 of the draws
#' (Frühwirth-Schnatter 2004), on their own scale. A component without
#' observations has its prior there, as in the posterior. The components may be
#' numbered in \eqn{k!} ways, and the posterior has as many modes. The draws of
#' a fit are numbered to agree with one of them. The bridge is made in the
#' region of this numbering, and the result is multiplied by \eqn{k!}. This is
#' exact, whether or not the sampler visits all numberings. (If `alpha` differs
#' between the components, the prior of the weights is summed over all
#' numberings instead.) At most 8,000 draws of each half are compared.
#'
#' @section Several modes:
#' A normal distribution is a poor proposal for a posterior with several modes.
#' `method = "tempered"` is for such fits of [mh_sample()] with [tempered()].
#' With temperatures \eqn{1 = T_1 < \dots < T_K}{1 = T_1 < ... < T_K} and
#' \eqn{Z(T) = \int p(x)^{1/T}\, dx}{Z(T) = integral of p(x)^(1/T)},
#' \deqn{\log Z(1) = \log Z(T_K) + \sum_{k=1}^{K-1} \log
#'   \frac{Z(T_k)}{Z(T_{k+1})}.}{
#'   log Z(1) = log Z(T_K) + sum_k log[Z(T_k) / Z(T_(k + 1))].}
#' With `transform = TRUE` \eqn{p(x)}{p(x)} is the density of the transformed
#' coordinates. The first term is estimated by bridge sampling with a normal
#' proposal, from draws of the replica at the highest temperature, which crosses
#' between the modes. Each other term is estimated by bridge sampling from draws
#' of two neighbouring replicas. Thermodynamic integration goes the same way
#' (Gelman and Meng 1998, sections 3 and 4), but needs a quadrature over the
#' temperatures, whose error does not fall with the number of draws. Bridge
#' sampling has no such error.
#'
#' A fit stores the draws at temperature 1 only. The chains therefore go on for
#' as many draws as the fit has, on streams of their own. This takes at least
#' about the time of the run after burn-in, and does not change the fit. Each
#' chain gives an estimate, and their mean is returned. If an estimate differs
#' from the mean by more than four of its standard errors, there is a warning,
#' and the standard error is at least that of the spread of the estimates.
#' Neighbours without points in common are an error.
#'
#' @references
#' Frühwirth-Schnatter S (2004). Estimating marginal likelihoods for mixture
#' and Markov switching models using bridge sampling techniques. *Econometrics
#' Journal* 7, 143-167. \doi{10.1111/j.1368-423X.2004.00125.x}
#'
#' Gelman A, Meng X-L (1998). Simulating normalizing constants: from importance
#' sampling to bridge sampling to path sampling. *Statistical Science* 13,
#' 163-185. \doi{10.1214/ss/1028905934}
#'
#' Meng X-L, Schilling S (2002). Warp bridge sampling. *Journal of Computational
#' and Graphical Statistics* 11, 552-586. \doi{10.1198/106186002457}
#'
#' Meng X-L, Wong WH (1996). Simulating ratios of normalizing constants via a
#' simple identity: a theoretical exploration. *Statistica Sinica* 6, 831-860.
#'
#' Overstall AM, Forster JJ (2010). Default Bayesian model determination methods
#' for generalised linear mixed models. *Computational Statistics and Data
#' Analysis* 54, 3269-3288. \doi{10.1016/j.csda.2010.03.008}
#' @seealso [log_evidence()], [tempered()].
#' @name evidence_methods
NULL
