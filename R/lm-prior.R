# The prior of gibbs_lm().

#' Prior of a linear regression
#'
#' The prior of [gibbs_lm()]. The slopes \eqn{w_j}{w_j} are normal with mean 0,
#' in units of a scale \eqn{s_j}{s_j} of each predictor. \eqn{\alpha}{alpha} is
#' the value of the regression at the predictors' (weighted) means, and
#' \eqn{\beta}{beta} the precision of an observation of weight 1. `type =
#' "hierarchical"`:
#' \deqn{s_j w_j \mid \lambda \sim \mathrm{N}(0, 1/\lambda), \quad
#'   \lambda \sim \mathrm{Gamma}(a, b), \quad
#'   \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \sim \mathrm{N}(m, t^2).}{
#'   s_j w_j | lambda ~ N(0, 1/lambda), lambda ~ Gamma(a, b),
#'   beta ~ Gamma(c, d), alpha ~ N(m, t^2).}
#' `type = "nig"`, the conjugate (normal inverse gamma) prior, whose posterior
#' has a closed form:
#' \deqn{s_j w_j \mid \beta \sim \mathrm{N}(0, 1/(\lambda \beta)), \quad
#'   \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \mid \beta \sim \mathrm{N}(m, t^2/\beta),}{
#'   s_j w_j | beta ~ N(0, 1/(lambda beta)), beta ~ Gamma(c, d),
#'   alpha | beta ~ N(m, t^2 / beta),}
#' with a fixed \eqn{\lambda}{lambda}. A gamma distribution is given by its
#' shape and rate.
#'
#' `type = "horseshoe"` (Carvalho et al. 2010) is for many predictors of which
#' few have an effect. Each slope has a scale of its own, so that small slopes
#' are pulled to zero and large ones hardly at all:
#' \deqn{s_j w_j \mid \ell_j, \tau, \beta \sim \mathrm{N}(0, \ell_j^2 \tau^2 /
#'   \beta), \quad \ell_j \sim \mathrm{C}^+(0, 1), \quad
#'   \tau \sim \mathrm{C}^+(0, \tau_0), \quad
#'   \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \mid \beta \sim \mathrm{N}(m, t^2/\beta),}{
#'   s_j w_j | l_j, tau, beta ~ N(0, l_j^2 tau^2 / beta), l_j ~ C+(0, 1),
#'   tau ~ C+(0, tau0), beta ~ Gamma(c, d), alpha | beta ~ N(m, t^2 / beta),}
#' where \eqn{\mathrm{C}^+(0, s)}{C+(0, s)} is the half-Cauchy distribution of
#' scale \eqn{s}.
#'
#' Fields left `NULL` are completed from the data at the fit, so that the prior
#' says the same in any units, and [prior_summary()] shows the values used. The
#' prior shrinks all slopes towards zero by an amount that the data determine.
#' With many observations this hardly matters. With few, and predictors that are
#' nearly collinear, as in [longley][datasets::longley], the slopes differ from
#' those of least squares. With
#' \eqn{S^2}{S^2} the weighted variance of the responses (less the offset) about
#' their mean:
#'
#' * `scale`: the standard deviation of each predictor (without an intercept:
#'   the root of its mean square). A slope then has the same prior in any unit
#'   of its predictor. `scale = 1` is the prior \eqn{w_j \sim \mathrm{N}(0,
#'   1/\lambda)}{w_j ~ N(0, 1/lambda)} in the predictors' own units.
#' * `a`, `b`: 1/2 and \eqn{S^2/2}{S^2/2}. A change of the predictor by
#'   \eqn{s_j}{s_j} then has a Cauchy distributed effect of scale \eqn{S}{S},
#'   and the prior counts as one slope of that size.
#' * `c`, `d`: 0.001 and \eqn{0.001 S^2}{0.001 S^2} (times the mean weight).
#' * `lambda`: 1. The prior then counts as one observation.
#' * `tau`, \eqn{\tau_0}{tau0}: 1. If about \eqn{q} of \eqn{p} slopes are
#'   thought to matter, Piironen and Vehtari (2017) take \eqn{q/((p - q)
#'   \sqrt n)}{q / ((p - q) sqrt(n))}.
#' * `intercept_mean`: the weighted mean of the responses (less the offset).
#' * `intercept_sd`: \eqn{10 S}{10 S}; with `"nig"` and `"horseshoe"` 10.
#'
#' If the responses do not vary, \eqn{S}{S} counts as 1, with a message.
#'
#' @param type `"hierarchical"` (default), `"nig"` or `"horseshoe"`.
#' @param a,b `NULL` or positive numbers: shape and rate of the precision
#'   \eqn{\lambda}{lambda} of the slopes. For `"hierarchical"` only.
#' @param c,d `NULL` or positive numbers: shape and rate of the precision
#'   \eqn{\beta}{beta} of the observations. The rate is in squared units of the
#'   response.
#' @param lambda `NULL` or a positive number. For `"nig"` only.
#' @param tau `NULL` or a positive number: \eqn{\tau_0}{tau0}. For
#'   `"horseshoe"` only.
#' @param scale `NULL`, or positive numbers in the units of the predictors: one
#'   for all slopes, or one for each slope in the order of the model matrix (a
#'   vector with names is reordered by name).
#' @param intercept_mean `NULL` or a number: \eqn{m}{m}.
#' @param intercept_sd `NULL`, a positive number or `Inf` (flat): \eqn{t}{t}, in
#'   units of the response; with `"nig"` and `"horseshoe"` in units of
#'   \eqn{\sigma = 1/\sqrt\beta}{sigma = 1/sqrt(beta)}.
#' @return An object of class `lm_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range, or a field of the other type,
#' is an error of class `gibbsite_error_argument`; `scale` is compared with the
#' model matrix at the fit.
#' @references
#' Gelman A (2006). Prior distributions for variance parameters in hierarchical
#' models. *Bayesian Analysis* 1, 515-534. \doi{10.1214/06-BA117A}
#'
#' Carvalho CM, Polson NG, Scott JG (2010). The horseshoe estimator for sparse
#' signals. *Biometrika* 97, 465-480. \doi{10.1093/biomet/asq017}
#'
#' Piironen J, Vehtari A (2017). Sparsity information and regularization in the
#' horseshoe and other shrinkage priors. *Electronic Journal of Statistics* 11,
#' 5018-5051. \doi{10.1214/17-EJS1337SI}
#' @examples
#' lm_prior()
#' lm_prior(a = 1, b = 1, c = 1, d = 1, scale = 1)
#' lm_prior("nig", lambda = 0.1)
#' lm_prior("horseshoe", tau = 0.05)
#' @export
lm_prior <- function(type = c("hierarchical", "nig", "horseshoe"), a = NULL,
                     b = NULL, c = NULL, d = NULL, lambda = NULL, tau = NULL,
                     scale = NULL, intercept_mean = NULL,
                     intercept_sd = NULL) {
  call <- rlang::current_env()
  positive <- function(x, arg, infinite_ok = FALSE) {
    check_number(
      x, lower = 0, lower_open = TRUE, null_ok = TRUE,
      infinite_ok = infinite_ok, arg = arg, call = call
    )
  }
  # first: a function `c` would be called where `type` has its default
  c <- positive(c, "c")
  type <- check_choice(type, c("hierarchical", "nig", "horseshoe"))
  prior <- list(
    type = type, a = positive(a, "a"), b = positive(b, "b"), c = c,
    d = positive(d, "d"),
    lambda = positive(lambda, "lambda"), tau = positive(tau, "tau"),
    scale = check_slope_numbers(scale, "scale", call, 0),
    intercept_mean = check_number(
      intercept_mean, null_ok = TRUE, arg = "intercept_mean", call = call
    ),
    intercept_sd = positive(intercept_sd, "intercept_sd", infinite_ok = TRUE)
  )
  own <- list(
    hierarchical = c("a", "b"), nig = "lambda", horseshoe = "tau"
  )
  foreign <- unlist(own[names(own) != type], use.names = FALSE)
  for (name in foreign) {
    if (!is.null(prior[[name]])) {
      abort_argument(
        "`{name}` must be NULL with {.code type = \"{type}\"}.", call = call
      )
    }
  }
  structure(prior, class = c("lm_prior", "gibbsite_prior"))
}

#' @export
format.lm_prior <- function(x, ...) {
  check_made(x, names(formals(lm_prior)), "lm_prior()")
  value <- format_prior_value
  type <- x$type %||% "hierarchical"
  by_beta <- !identical(type, "hierarchical")
  none <- isTRUE(x$no_intercept)
  c(
    "y_i | w, beta ~ N(o_i + alpha + (x_i - mean)'w, 1 / (beta v_i))",
    switch(type,
      nig = c("s_j w_j | beta ~ N(0, 1 / (lambda beta))",
              "beta ~ Gamma(c, d)    (shape, rate)"),
      horseshoe = c("s_j w_j | l_j, tau, beta ~ N(0, l_j^2 tau^2 / beta)",
                    "l_j ~ C+(0, 1), tau ~ C+(0, tau0)    (half-Cauchy)",
                    "beta ~ Gamma(c, d)    (shape, rate)"),
      c("s_j w_j | lambda ~ N(0, 1 / lambda)",
        "lambda ~ Gamma(a, b), beta ~ Gamma(c, d)    (shape, rate)")
    ),
    if (!none) {
      if (by_beta) "alpha | beta ~ N(m, t^2 / beta)" else "alpha ~ N(m, t^2)"
    },
    switch(type,
      nig = paste0("  lambda = ", value(x$lambda, "1")),
      horseshoe = paste0("  tau0 = ", value(x$tau, "1")),
      c(paste0("  a = ", value(x$a, "0.5")), paste0("  b = ", value(x$b)))
    ),
    paste0("  c = ", value(x$c, "0.001")),
    paste0("  d = ", value(x$d)),
    paste0("  s = ", value(x$scale)),
    if (!none) {
      c(
        paste0("  m = ", value(x$intercept_mean)),
        paste0(
          "  t = ",
          value(x$intercept_sd, if (by_beta) "10" else "from the data")
        )
      )
    }
  )
}

# The prior with every field filled in. slopes: names of the slopes' columns;
# measured: of measure_response(); scales: default scales of the slopes;
# intercept: whether there is one.
complete_lm_prior <- function(prior, slopes, measured, scales, intercept,
                              call) {
  spread <- measured$spread
  if (!(spread > 0)) {
    spread <- 1
    if (is.null(prior$d) || prior$type == "hierarchical" && is.null(prior$b)) {
      inform_gibbsite(
        c(
          "The responses do not vary: the default prior takes 1 for their
           spread.",
          i = "Give `prior = lm_prior(b = , d = )` in the data's units."
        ),
        class = "constant"
      )
    }
  }
  prior$scale <- complete_scale(prior$scale, slopes, scales, call)
  prior$c <- prior$c %||% 0.001
  prior$d <- prior$d %||% (0.001 * spread^2 * measured$mean_weight)
  hierarchical <- prior$type == "hierarchical"
  if (hierarchical) {
    prior$a <- prior$a %||% 0.5
    prior$b <- prior$b %||% (spread^2 / 2)
  }
  if (prior$type == "nig") {
    prior$lambda <- prior$lambda %||% 1
  }
  if (prior$type == "horseshoe") {
    prior$tau <- prior$tau %||% 1
  }
  if (intercept) {
    prior$intercept_mean <- prior$intercept_mean %||% measured$centre
    prior$intercept_sd <- prior$intercept_sd %||%
      (if (hierarchical) 10 * spread else 10)
  }
  prior$no_intercept <- !intercept
  prior
}

complete_scale <- function(scale, slopes, scales, call) {
  if (is.null(scale)) {
    return(stats::setNames(as.double(scales), slopes))
  }
  p <- length(slopes)
  if (!length(scale) %in% c(1L, p)) {
    wanted <- or_words(unique(c(1L, p)))
    abort_argument(
      c("`scale` of `prior` must have length {wanted}, not {length(scale)}.",
        i = "The slopes are {.val {slopes}}."),
      call = call
    )
  }
  if (length(scale) == 1L && is.null(names(scale))) {
    scale <- rep(scale, p)
  }
  scale <- in_order_of(scale, slopes, "scale", "the slopes", call)
  stats::setNames(scale, slopes)
}
