# The prior of gibbs_count().

#' Prior of a count regression
#'
#' The prior of [gibbs_count()]: the coefficients are normal and the standard
#' deviations of groups half-t, as in [logistic_prior()]; so is the dispersion
#' of the negative binomial distribution,
#' \deqn{w \sim \mathrm{N}(m, C), \quad \sqrt{\Sigma_{kk}} \sim
#'   \mathrm{half}\textrm{-}t_{\nu}(A_k), \quad \tau = 1/\sqrt{r} \sim
#'   \mathrm{half}\textrm{-}t_{\nu_\tau}(A_\tau).}{
#'   w ~ N(m, C), sqrt(Sigma_kk) ~ half-t_nu(A_k), tau = 1/sqrt(r) ~
#'   half-t_nu_tau(A_tau).}
#'
#' Fields left `NULL` are completed at the fit from the predictors, never from
#' the response, and [prior_summary()] shows the values used. Those of the
#' coefficients and of groups are as in [logistic_prior()], on the scale of the
#' log of the mean: with the default of a slope the change by one standard
#' deviation of the predictor has a prior standard deviation of 2.5, a factor of
#' 12 for the mean. As there, the prior depends on where a predictor has its 0:
#' with centred predictors the log of the mean at their means is `N(0, 10^2)`.
#' Where the response is far from 1 for rows with offset 0, such as
#' counts per million, `intercept_mean` says so.
#'
#' The dispersion \eqn{\tau}{tau} is the standard deviation, relative to its
#' mean, of the gamma variate that multiplies the mean of a Poisson variate to
#' give a negative binomial one. \eqn{\tau = 0}{tau = 0} is the Poisson
#' distribution, which a prior with a positive density at 0 does not exclude: a
#' prior of the size \eqn{r = 1/\tau^2}{r = 1/tau^2} that looks flat does
#' (Simpson et al. 2017). The half-t is that of standard deviations of groups
#' (Gelman 2006).
#'
#' * `dispersion_df`: 2.
#' * `dispersion_scale`: 1.
#'
#' @inheritParams logistic_prior
#' @param dispersion_df,dispersion_scale `NULL` or a positive number: degrees of
#'   freedom and scale of the half-t distribution of
#'   \eqn{\tau = 1/\sqrt{r}}{tau = 1/sqrt(r)}. Used with
#'   `family = "negbinomial"`.
#' @return An object of class `count_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @references
#' Gelman A (2006). Prior distributions for variance parameters in hierarchical
#' models. *Bayesian Analysis* 1, 515-534. \doi{10.1214/06-BA117A}
#'
#' Simpson D, Rue H, Riebler A, Martins TG, Sorbye SH (2017). Penalising model
#' component complexity: a principled, practical approach to constructing
#' priors. *Statistical Science* 32, 1-28. \doi{10.1214/16-STS576}
#' @seealso [gibbs_count()], [logistic_prior()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' count_prior()
#' count_prior(slope_scale = 1, dispersion_scale = 0.5)
#' @export
count_prior <- function(slope_variance = NULL, intercept_variance = NULL,
                        group_df = NULL, group_scale = NULL, slope_mean = NULL,
                        slope_sd = NULL, slope_scale = NULL,
                        intercept_mean = NULL, intercept_sd = NULL,
                        dispersion_df = NULL, dispersion_scale = NULL) {
  call <- rlang::current_env()
  coefficients <- check_coefficient_fields(
    slope_variance, intercept_variance, group_df, group_scale, slope_mean,
    slope_sd, slope_scale, intercept_mean, intercept_sd, call
  )
  structure(
    c(coefficients, list(
      dispersion_df = positive_number(dispersion_df, "dispersion_df", call),
      dispersion_scale = positive_number(
        dispersion_scale, "dispersion_scale", call
      )
    )),
    class = c("count_prior", "gibbsite_prior")
  )
}

# The prior with every field filled in. design: of describe_design(); bars: a
# list of hlm_design(), NULL without groups.
complete_count_prior <- function(prior, family, design, bars, call) {
  prior <- made_prior(prior, count_prior, call)
  own <- as_logistic_prior(prior)
  done <- unclass(complete_logistic_prior(own, design, call))
  if (family == "negbinomial" || length(bars) > 0L) {
    there <- " with groups or `family = \"negbinomial\"`"
    check_finite_variances(own, done, there, call)
  }
  if (length(bars) > 0L) {
    check_no_covariances(done, " for a formula with groups", call)
    done <- complete_group_fields(done, prior, bars, call)
  }
  negbinomial <- family == "negbinomial"
  done["dispersion_df"] <- list(if (negbinomial) prior$dispersion_df %||% 2)
  done["dispersion_scale"] <-
    list(if (negbinomial) prior$dispersion_scale %||% 1)
  structure(
    c(done, list(family = family)), class = c("count_prior", "gibbsite_prior")
  )
}

#' @export
format.count_prior <- function(x, ...) {
  check_made(x, needed_fields(count_prior), "count_prior()")
  mean <- c(
    poisson = "y_i | w ~ Poisson(exp(x_i'w + o_i)),",
    negbinomial = "y_i | w, tau ~ NB(mean exp(x_i'w + o_i), size 1 / tau^2),"
  )[[x$family %||% "poisson"]]
  lines <- format(as_logistic_prior(x))
  lines[[1L]] <- sub("^.*,  w ~", paste0(mean, "  w ~"), lines[[1L]])
  c(
    lines,
    if (!identical(x$family, "poisson")) {
      c("dispersion: tau ~ half-t(df, A)",
        paste0("  df = ", format_prior_value(x$dispersion_df, "2")),
        paste0("  A = ", format_prior_value(x$dispersion_scale, "1")))
    }
  )
}
