# The prior of a Poisson factorisation.

#' Prior of a Poisson factorisation
#'
#' The prior of [gibbs_pmf()], in its notation; all gamma distributions have a
#' shape and a rate:
#' \deqn{\theta_{uk} \sim \mathrm{Gamma}(a, \xi_u), \quad \xi_u \sim
#'   \mathrm{Gamma}(a', a' / b'), \quad \beta_{ik} \sim \mathrm{Gamma}(c,
#'   \eta_i), \quad \eta_i \sim \mathrm{Gamma}(c', c' / d').}{
#'   theta_uk ~ Gamma(a, xi_u), xi_u ~ Gamma(a', a'/b'),
#'   beta_ik ~ Gamma(c, eta_i), eta_i ~ Gamma(c', c'/d').}
#' The rates \eqn{\xi_u}{xi_u} and \eqn{\eta_i}{eta_i} have the means
#' \eqn{b'} and \eqn{d'}. The defaults are those of Gopalan, Hofman and Blei
#' (2015): shapes below 1 make most entries of \eqn{\theta_u}{theta_u} and
#' \eqn{\beta_i}{beta_i} small.
#'
#' @param user_shape,item_shape Positive numbers, default 0.3: \eqn{a} and
#'   \eqn{c}.
#' @param user_rate_shape,item_rate_shape Positive numbers, default 0.3:
#'   \eqn{a'} and \eqn{c'}. With `Inf` the rates are known and equal to their
#'   mean.
#' @param user_rate_mean,item_rate_mean Positive numbers, default 1: \eqn{b'}
#'   and \eqn{d'}.
#' @return An object of class `pmf_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`.
#' @inherit gibbs_pmf references
#' @seealso [gibbs_pmf()] for the model.
#' @examples
#' pmf_prior()
#' pmf_prior(user_shape = 1, user_rate_shape = Inf, user_rate_mean = 2)
#' @export
pmf_prior <- function(user_shape = 0.3, item_shape = 0.3, user_rate_shape = 0.3,
                      item_rate_shape = 0.3, user_rate_mean = 1,
                      item_rate_mean = 1) {
  call <- rlang::current_env()
  given <- mget(names(formals()))
  fields <- Map(function(x, field) {
    if (endsWith(field, "rate_shape") && identical(x, Inf)) {
      return(Inf)
    }
    check_number(
      x, lower = 1e-10, upper = 1e10, arg = field, call = call
    )
  }, given, names(given))
  structure(fields, class = c("pmf_prior", "gibbsite_prior"))
}

#' @export
format.pmf_prior <- function(x, ...) {
  check_made(x, names(formals(pmf_prior)), "pmf_prior()")
  rate <- function(role, name) {
    if (identical(x[[paste0(role, "_rate_shape")]], Inf)) {
      return(paste0(name, " = ", role, "_rate_mean"))
    }
    paste0(
      name, " ~ Gamma(", role, "_rate_shape, ", role, "_rate_shape / ", role,
      "_rate_mean)"
    )
  }
  fields <- unclass(x)
  c(
    "y_ui ~ Poisson(theta_u'beta_i)",
    paste0("theta_uk ~ Gamma(user_shape, xi_u)      ",
           "beta_ik ~ Gamma(item_shape, eta_i)"),
    rate("user", "xi_u "), rate("item", "eta_i"),
    paste0("  ", format(names(fields)), " = ",
           vapply(fields, format_prior_value, ""))
  )
}
