# The prior of gibbs_ordinal().

#' Prior of a regression of ordered categories
#'
#' The prior of [gibbs_ordinal()]: the coefficients are normal and the standard
#' deviations of groups half-t, as in [logistic_prior()]. The thresholds
#' \eqn{\theta}{theta}, at the predictors' means \eqn{\bar x}{xbar}, are ordered
#' normal variates,
#' \deqn{w \sim \mathrm{N}(m, C), \quad \sqrt{\Sigma_{kk}} \sim
#'   \mathrm{half}\textrm{-}t_{\nu}(A_k), \quad p(\theta \mid w) = (K - 1)!
#'   \prod_{k=1}^{K-1} \mathrm{N}(\theta_k - \bar x^\top w \mid 0, s^2)
#'   \quad \mathrm{for} \quad \theta_1 < \ldots < \theta_{K-1}.}{
#'   w ~ N(m, C), sqrt(Sigma_kk) ~ half-t_nu(A_k),
#'   p(theta | w) = (K - 1)! prod_k N(theta_k - xbar'w | 0, s^2)
#'   for theta_1 < ... < theta_(K-1).}
#'
#' Fields left `NULL` are completed at the fit from the predictors, never from
#' the response, and [prior_summary()] shows the values used. Those of the
#' coefficients and of groups are as in [logistic_prior()], in units of the
#' standard deviation of the latent response. The prior of the thresholds is
#' that of [gibbs_bmf()] with `link = "ordinal"`; with \eqn{s} = 5 a threshold
#' may be far beyond all responses.
#'
#' * `threshold_sd`: \eqn{s} = 5.
#'
#' @param slope_variance,slope_mean,slope_sd,slope_scale As in
#'   [logistic_prior()]; variances must be finite.
#' @param group_df,group_scale As in [logistic_prior()].
#' @param threshold_sd `NULL` or a positive number: \eqn{s}, the prior standard
#'   deviation of a threshold at the predictors' means.
#' @return An object of class `ordinal_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @seealso [gibbs_ordinal()], [logistic_prior()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' ordinal_prior()
#' ordinal_prior(slope_scale = 1, threshold_sd = 3)
#' @export
ordinal_prior <- function(slope_variance = NULL, group_df = NULL,
                          group_scale = NULL, slope_mean = NULL,
                          slope_sd = NULL, slope_scale = NULL,
                          threshold_sd = NULL) {
  call <- rlang::current_env()
  coefficients <- of_call(logistic_prior(
    slope_variance, group_df = group_df, group_scale = group_scale,
    slope_mean = slope_mean, slope_sd = slope_sd, slope_scale = slope_scale
  ), call)
  structure(
    c(unclass(coefficients), list(
      threshold_sd = check_number(
        threshold_sd, lower = 0, lower_open = TRUE, upper = 1e50,
        null_ok = TRUE, arg = "threshold_sd", call = call
      )
    )),
    class = c("ordinal_prior", "gibbsite_prior")
  )
}

# The prior with every field filled in. design: of describe_design(); bars: a
# list of hlm_design(), NULL without groups. centre: where the thresholds have
# their prior.
complete_ordinal_prior <- function(prior, design, bars, call) {
  prior <- made_prior(prior, ordinal_prior, call)
  for (field in c("slope_mean", "slope_sd", "slope_scale", "slope_variance")) {
    if ("(Intercept)" %in% names(prior[[field]])) {
      abort_argument(
        c("`{field}` of `prior` is for slopes: the model has no intercept.",
          i = "The thresholds stand in its place: {.arg threshold_sd}."),
        call = call
      )
    }
  }
  done <- unclass(
    complete_latent_prior(as_logistic_prior(prior), design, bars, call)
  )
  structure(
    c(done, list(
      threshold_sd = prior$threshold_sd %||% 5,
      centre = stats::setNames(as.double(design$mean), design$columns)
    )),
    class = c("ordinal_prior", "gibbsite_prior")
  )
}

#' @export
format.ordinal_prior <- function(x, ...) {
  check_made(x, needed_fields(ordinal_prior), "ordinal_prior()")
  lines <- format(as_logistic_prior(x))
  lines[[1L]] <- sub(
    "^.*,  w ~", "P(y_i <= k) = Phi(theta_k - x_i'w - o_i),  w ~", lines[[1L]]
  )
  c(
    lines[!grepl("^  intercept_", lines)],
    paste(
      "thresholds, at the predictors' means: theta_k ~ N(0, s^2), in",
      "increasing order"
    ),
    paste0("  s = ", format_prior_value(x$threshold_sd, "5"))
  )
}
