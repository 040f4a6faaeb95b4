# The prior of gibbs_lm().

#' Prior of a linear regression
#'
#' The prior of [gibbs_lm()]. The slopes \eqn{w_j}{w_j} are normal with mean
#' \eqn{m_j}{m_j}, 0 by default, in units of a scale \eqn{s_j}{s_j} of each
#' predictor. \eqn{\alpha}{alpha} is
#' the value of the regression at the predictors' (weighted) means, and
#' \eqn{\beta}{beta} the precision of an observation of weight 1. `type =
#' "hierarchical"`:
#' \deqn{s_j (w_j - m_j) \mid \lambda \sim \mathrm{N}(0, 1/\lambda),
#'   \quad \lambda \sim \mathrm{Gamma}(a, b), \quad
#'   \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \sim \mathrm{N}(m, t^2).}{
#'   s_j (w_j - m_j) | lambda ~ N(0, 1/lambda), lambda ~ Gamma(a, b),
#'   beta ~ Gamma(c, d), alpha ~ N(m, t^2).}
#' `type = "nig"`, the conjugate (normal inverse gamma) prior, whose posterior
#' has a closed form:
#' \deqn{s_j (w_j - m_j) \mid \beta \sim \mathrm{N}(0, 1/(\lambda \beta)),
#'   \quad \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \mid \beta \sim \mathrm{N}(m, t^2/\beta),}{
#'   s_j (w_j - m_j) | beta ~ N(0, 1/(lambda beta)), beta ~ Gamma(c, d),
#'   alpha | beta ~ N(m, t^2 / beta),}
#' with a fixed \eqn{\lambda}{lambda}. A gamma distribution is given by its
#' shape and rate: \eqn{a, b} are `slope_shape`, `slope_rate`, and \eqn{c, d}
#' `noise_shape`, `noise_rate`. With `intercept_sd = Inf` \eqn{\alpha}{alpha}
#' takes a degree of freedom: the shape of the posterior of \eqn{\beta}{beta} is
#' then \eqn{c + (n - 1)/2}{c + (n - 1)/2}, where any finite value gives \eqn{c
#' + n/2}{c + n/2}, so that `Inf` is not the limit of large values.
#'
#' `type = "horseshoe"` (Carvalho et al. 2010) is for many predictors of which
#' few have an effect. Each slope has a scale of its own, so that small slopes
#' are pulled to zero and large ones hardly at all:
#' \deqn{s_j (w_j - m_j) \mid \ell_j, \tau, \beta \sim \mathrm{N}(0,
#'   \ell_j^2 \tau^2 / \beta), \quad \ell_j \sim \mathrm{C}^+(0, 1), \quad
#'   \tau \sim \mathrm{C}^+(0, \tau_0), \quad
#'   \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \mid \beta \sim \mathrm{N}(m, t^2/\beta),}{
#'   s_j (w_j - m_j) | l_j, tau, beta ~ N(0, l_j^2 tau^2 / beta),
#'   l_j ~ C+(0, 1), tau ~ C+(0, tau0), beta ~ Gamma(c, d),
#'   alpha | beta ~ N(m, t^2 / beta),}
#' where \eqn{\mathrm{C}^+(0, s)}{C+(0, s)} is the half-Cauchy distribution of
#' scale \eqn{s}.
#'
#' The width of the prior of a slope is \eqn{t_j = h/s_j}{t_j = h/s_j}, with
#' \eqn{h = \sqrt{b/a}}{h = sqrt(b/a)} (`"hierarchical"`),
#' \eqn{1/\sqrt\lambda}{1/sqrt(lambda)} (`"nig"`) or \eqn{\tau_0}{tau0}
#' (`"horseshoe"`). With \eqn{\lambda}{lambda} integrated out, \eqn{w_j}{w_j}
#' has under `"hierarchical"` a Student t distribution with \eqn{2a} degrees of
#' freedom, centre \eqn{m_j}{m_j} and scale \eqn{t_j}{t_j}: a Cauchy
#' distribution by default, and nearly \eqn{\mathrm{N}(m_j, t_j^2)}{N(m_j,
#' t_j^2)} with a large `slope_shape`, such as 1e6. Under `"nig"` it is
#' \eqn{\mathrm{N}(m_j, t_j^2 \sigma^2)}{N(m_j, t_j^2 sigma^2)} given
#' \eqn{\sigma = 1/\sqrt\beta}{sigma = 1/sqrt(beta)}. `slope_sd` gives
#' \eqn{t_j}{t_j} itself, `slope_scale` a factor of its default: 2 is a prior
#' twice as wide. [prior_summary()] shows \eqn{t_j}{t_j} as `slope sd`.
#'
#' In an interaction, `x * z`, numeric variables are centred: \eqn{w_j}{w_j} of
#' `x` is its slope at the mean of `z`, and \eqn{s_j}{s_j} of `x:z` is the
#' standard deviation of the product of the centred variables. So the prior does
#' not depend on where a predictor has its 0. The draws are those of the
#' formula's coefficients.
#'
#' Fields left `NULL` are completed from the data at the fit, so that the prior
#' has the same meaning in any units, and [prior_summary()] shows the values
#' used. The prior shrinks all slopes towards zero by an amount that the data
#' determine. With many observations this hardly matters. With few, and
#' predictors that are nearly collinear, as in [longley][datasets::longley], the
#' slopes differ from those of least squares. With \eqn{S^2}{S^2} the weighted
#' variance of the responses (less the offset) about their mean, with divisor
#' \eqn{n}:
#'
#' * `scale`: the standard deviation of each predictor, without weights and with
#'   divisor \eqn{n - 1} (without an intercept: the root of its mean square). A
#'   slope then has the same prior in any unit of its predictor. `scale = 1` is
#'   the prior \eqn{w_j \sim \mathrm{N}(0, 1/\lambda)}{w_j ~ N(0, 1/lambda)} in
#'   the predictors' own units.
#' * `slope_shape`, `slope_rate`: 1/2 and \eqn{S^2/2}{S^2/2}. A change of the
#'   predictor by \eqn{s_j}{s_j} then has a Cauchy distributed effect of scale
#'   \eqn{S}{S}, and the prior counts as one slope of that size.
#' * `noise_shape`, `noise_rate`: 0.001 and \eqn{0.001 S^2}{0.001 S^2} (times
#'   the mean weight).
#' * `lambda`: 1. The prior then counts as one observation.
#' * `tau`, \eqn{\tau_0}{tau0}: 1. If about \eqn{q} of the \eqn{p} slopes are
#'   thought to matter, `relevant = q` takes \eqn{q/((p - q) \sqrt n)}{q / ((p -
#'   q) sqrt(n))}, where \eqn{n} is the sum of the weights, without weights the
#'   number of rows (Piironen and Vehtari 2017, equation 3.12; their factor
#'   \eqn{\sigma}{sigma} is in the prior above).
#' * `intercept_mean`: the weighted mean of the responses (less the offset).
#' * `intercept_sd`: \eqn{10 S}{10 S}; with `"nig"` and `"horseshoe"` 10.
#'
#' If the responses do not vary, \eqn{S}{S} counts as 1, with a message.
#'
#' @param type `"hierarchical"` (default), `"nig"` or `"horseshoe"`.
#' @param slope_shape,slope_rate `NULL` or positive numbers: shape and rate of
#'   the precision \eqn{\lambda}{lambda} of the slopes. For `"hierarchical"`
#'   only.
#' @param noise_shape,noise_rate `NULL` or positive numbers: shape and rate of
#'   the precision \eqn{\beta}{beta} of the observations. The rate is in squared
#'   units of the response.
#' @param lambda `NULL` or a positive number. For `"nig"` only.
#' @param tau `NULL` or a positive number: \eqn{\tau_0}{tau0}. For
#'   `"horseshoe"` only.
#' @param relevant `NULL` or a number above 0 and below the number of slopes:
#'   how many of them are thought to matter, in place of `tau`. For
#'   `"horseshoe"` only. [selected()] says which do.
#' @param scale `NULL`, or positive numbers \eqn{s_j}{s_j} in the units of the
#'   predictors: one for all slopes, or one for each slope in the order of the
#'   model matrix. A vector with names is for the slopes that it names, `c(age =
#'   1)`; the others have the default.
#' @param intercept_mean `NULL` or a number: \eqn{m}{m}.
#' @param intercept_sd `NULL`, a positive number or `Inf` (flat): \eqn{t}{t}, in
#'   units of the response; with `"nig"` and `"horseshoe"` in units of
#'   \eqn{\sigma = 1/\sqrt\beta}{sigma = 1/sqrt(beta)}.
#' @param slope_mean,slope_sd,slope_scale `NULL` or numbers, one for all slopes
#'   or several as for `scale`: the mean \eqn{m_j}{m_j} (default 0), the width
#'   \eqn{t_j}{t_j} (positive), or a positive factor of the default width. A
#'   slope with a `slope_sd` takes neither `scale` nor `slope_scale`.
#' @param nu `NULL` or a number, 0.01 or more, for `errors = "t"` alone: the
#'   degrees of freedom of the errors. `NULL` draws them, with the prior
#'   \eqn{\mathrm{Gamma}(2, 0.1)}{Gamma(2, 0.1)} (shape and rate; mean 20).
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
#' @seealso [gibbs_lm()] for the model, [prior_predict()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' lm_prior()
#' lm_prior(slope_shape = 1, slope_rate = 1, noise_shape = 1, noise_rate = 1,
#'   scale = 1
#' )
#' lm_prior("nig", lambda = 0.1)
#' lm_prior("horseshoe", relevant = 3)
#'
#' # what is known of one slope
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1,
#'   prior = lm_prior(slope_mean = c(wt = -4), slope_sd = c(wt = 1))
#' )
#' prior_summary(fit)
#' @export
lm_prior <- function(type = c("hierarchical", "nig", "horseshoe"),
                     slope_shape = NULL, slope_rate = NULL, noise_shape = NULL,
                     noise_rate = NULL, lambda = NULL, tau = NULL, scale = NULL,
                     intercept_mean = NULL, intercept_sd = NULL,
                     slope_mean = NULL, slope_sd = NULL, slope_scale = NULL,
                     nu = NULL, relevant = NULL) {
  call <- rlang::current_env()
  type <- check_choice(type, c("hierarchical", "nig", "horseshoe"))
  prior <- list(
    type = type,
    slope_shape = positive_number(slope_shape, "slope_shape", call),
    slope_rate = positive_number(slope_rate, "slope_rate", call),
    noise_shape = positive_number(noise_shape, "noise_shape", call),
    noise_rate = positive_number(noise_rate, "noise_rate", call),
    lambda = positive_number(lambda, "lambda", call),
    tau = positive_number(tau, "tau", call),
    scale = check_slope_numbers(scale, "scale", call, 0),
    intercept_mean = check_number(
      intercept_mean, null_ok = TRUE, arg = "intercept_mean", call = call
    ),
    intercept_sd = positive_number(intercept_sd, "intercept_sd", call, TRUE),
    nu = check_known_nu(nu, call),
    relevant = positive_number(relevant, "relevant", call)
  )
  prior <- c(
    prior, check_slope_fields(slope_mean, slope_sd, slope_scale, call)
  )
  own <- list(
    hierarchical = c("slope_shape", "slope_rate"), nig = "lambda",
    horseshoe = c("tau", "relevant")
  )
  foreign <- unlist(own[names(own) != type], use.names = FALSE)
  for (name in foreign) {
    if (!is.null(prior[[name]])) {
      abort_argument(
        "`{name}` must be NULL with {.code type = \"{type}\"}.", call = call
      )
    }
  }
  if (!is.null(prior$tau) && !is.null(prior$relevant)) {
    abort_argument(
      "Give `tau` or `relevant`: the one follows from the other.", call = call
    )
  }
  structure(prior, class = c("lm_prior", "gibbsite_prior"))
}

#' @export
format.lm_prior <- function(x, ...) {
  check_made(x, needed_fields(lm_prior), "lm_prior()")
  value <- format_prior_value
  type <- x$type %||% "hierarchical"
  by_beta <- !identical(type, "hierarchical")
  none <- isTRUE(x$no_intercept)
  moved <- any(x$slope_mean != 0)
  slope <- if (moved) "s_j (w_j - m_j)" else "s_j w_j"
  noise <- "beta ~ Gamma(noise_shape, noise_rate)"
  c(
    if (has_t_errors(x)) {
      "y_i | w, beta, nu ~ t_nu(o_i + alpha + (x_i - mean)'w, 1 / (beta v_i))"
    } else {
      "y_i | w, beta ~ N(o_i + alpha + (x_i - mean)'w, 1 / (beta v_i))"
    },
    switch(type,
      nig = c(paste(slope, "| beta ~ N(0, 1 / (lambda beta))"),
              noise),
      horseshoe = c(paste(slope, "| l_j, tau, beta ~",
                          "N(0, l_j^2 tau^2 / beta)"),
                    "l_j ~ C+(0, 1), tau ~ C+(0, tau0)    (half-Cauchy)",
                    noise),
      c(paste(slope, "| lambda ~ N(0, 1 / lambda)"),
        "lambda ~ Gamma(slope_shape, slope_rate)", noise)
    ),
    if (!none) {
      if (by_beta) "alpha | beta ~ N(m, t^2 / beta)" else "alpha ~ N(m, t^2)"
    },
    switch(type,
      nig = paste0("  lambda = ", value(x$lambda, "1")),
      horseshoe = paste0("  tau0 = ", value(x$tau, if (is.null(x$relevant)) {
        "1"
      } else {
        paste("from the data, for", value(x$relevant), "relevant slopes")
      })),
      c(paste0("  slope_shape = ", value(x$slope_shape, "0.5")),
        paste0("  slope_rate = ", value(x$slope_rate)))
    ),
    paste0("  noise_shape = ", value(x$noise_shape, "0.001")),
    paste0("  noise_rate = ", value(x$noise_rate)),
    format_nu(x),
    paste0("  s = ", value(x$scale)),
    if (moved) paste0("  slope mean = ", format_prior_named(x$slope_mean)),
    format_slope_sd(x, by_beta),
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

# The widths of the slopes' priors, as far as they are known.
format_slope_sd <- function(x, by_beta) {
  sd <- x$slope_sd
  if (!is.null(x$no_intercept)) {
    sd <- slope_width(x) / x$scale
  }
  words <- c("slope sd" = if (length(sd) > 0L) {
    paste0(format_prior_named(sd), if (by_beta) ", times 1 / sqrt(beta)")
  }, "slope scale" = if (!is.null(x$slope_scale)) {
    format_prior_named(x$slope_scale)
  })
  if (length(words) > 0L) paste0("  ", names(words), " = ", words)
}

# The width of the prior of s_j w_j.
slope_width <- function(prior) {
  switch(prior$type,
    nig = 1 / sqrt(prior$lambda), horseshoe = prior$tau,
    sqrt(prior$slope_rate / prior$slope_shape)
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
    if (is.null(prior$noise_rate) ||
          prior$type == "hierarchical" && is.null(prior$slope_rate)) {
      inform_gibbsite(
        c(
          "The responses do not vary: the default prior takes 1 for their
           spread.",
          i = "Give `lm_prior(slope_rate = ,
                              noise_rate = )` in the data's units."
        ),
        class = "constant"
      )
    }
  }
  hierarchical <- prior$type == "hierarchical"
  prior <- with_defaults(
    prior, noise_shape = 0.001,
    noise_rate = 0.001 * spread^2 * measured$mean_weight
  )
  prior <- switch(prior$type,
    nig = with_defaults(prior, lambda = 1),
    horseshoe = with_defaults(
      prior, tau = tau_of_relevant(prior, length(slopes), measured$total, call)
    ),
    with_defaults(prior, slope_shape = 0.5, slope_rate = spread^2 / 2)
  )
  prior$relevant <- NULL
  prior <- complete_slope_scales(prior, slopes, scales, call)
  if (intercept) {
    prior$intercept_mean <- prior$intercept_mean %||% measured$centre
    prior$intercept_sd <- prior$intercept_sd %||%
      (if (hierarchical) 10 * spread else 10)
  }
  prior$no_intercept <- !intercept
  prior
}

# tau0 = q / ((p - q) sqrt(n)), where about q of p slopes are relevant (Piironen
# and Vehtari 2017, equation 3.12); n: the sum of the weights.
tau_of_relevant <- function(prior, p, n, call) {
  q <- prior$relevant
  if (is.null(q)) {
    return(1)
  }
  if (q >= p) {
    abort_argument(
      c("`relevant` must be below the number of slopes, {p}, not {q}.",
        i = "Use {.code lm_prior()} if most slopes are thought to matter."),
      call = call
    )
  }
  q / ((p - q) * sqrt(n))
}

# The means of the slopes, and their scales s_j = (width of s_j w_j) / (width of
# w_j).
complete_slope_scales <- function(prior, slopes, scales, call) {
  each <- function(field, default) {
    complete_slopes(prior, field, default, slopes, call)
  }
  prior$slope_mean <- each("slope_mean", 0)
  sd <- each("slope_sd", NA)
  prior$scale <- each("scale", scales) / each("slope_scale", 1)
  known <- which(!is.na(sd))
  prior$scale[known] <- slope_width(prior) / sd[known]
  prior[c("slope_sd", "slope_scale")] <- list(NULL)
  prior
}
