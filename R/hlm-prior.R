# The prior of gibbs_hlm().

#' Prior of a hierarchical linear regression
#'
#' The prior of [gibbs_hlm()]: of the covariance matrix \eqn{\Sigma}{Sigma} of
#' the groups' deviations \eqn{u_j}{u_j}, of the fixed effects \eqn{b}{b}, and
#' of the variance \eqn{\sigma^2}{sigma^2} of an observation of weight 1. With
#' \eqn{q} terms before the bar, `type = "half-t"` (Huang and Wand 2013) is
#' \deqn{\Sigma \mid a \sim \mathrm{IW}(\nu + q - 1, \, 2 \nu \,
#'   \mathrm{diag}(1/a_1, \ldots, 1/a_q)), \quad
#'   a_k \sim \mathrm{IG}(1/2, 1/A_k^2).}{
#'   Sigma | a ~ IW(nu + q - 1, 2 nu diag(1/a_1, ..., 1/a_q)),
#'   a_k ~ IG(1/2, 1/A_k^2).}
#' Then each standard deviation \eqn{\sqrt{\Sigma_{kk}}}{sqrt(Sigma_kk)} has a
#' half-t distribution with \eqn{\nu}{nu} degrees of freedom and scale
#' \eqn{A_k}{A_k}, and with \eqn{\nu = 2}{nu = 2} each correlation is uniform on
#' \eqn{(-1, 1)}{(-1, 1)}. `type = "inverse-wishart"` is \eqn{\Sigma \sim
#' \mathrm{IW}(\eta_0, S_0)}{Sigma ~ IW(eta0, S0)}. \eqn{\mathrm{IW}(\eta,
#' S)}{IW(eta, S)} has density proportional to \eqn{|\Sigma|^{-(\eta+q+1)/2}
#' \exp(-\mathrm{tr}(S \Sigma^{-1})/2)}{|Sigma|^-((eta+q+1)/2) exp(-tr(S
#' Sigma^-1)/2)}, and \eqn{\mathrm{IG}(s, r)}{IG(s, r)} is the distribution of
#' the inverse of a \eqn{\mathrm{Gamma}(s, r)}{Gamma(s, r)} variable (shape,
#' rate). If \eqn{\Sigma} is diagonal (`||`), each variance has this prior with
#' \eqn{q = 1}. Further,
#' \deqn{b_k \sim \mathrm{N}(m_k, t_k^2), \quad \alpha \sim \mathrm{N}(m_\alpha,
#'   t_\alpha^2), \quad \sigma^2 \sim \mathrm{IG}(\nu_0/2, \nu_0
#'   \sigma_0^2/2),}{
#'   b_k ~ N(m_k, t_k^2), alpha ~ N(m_alpha, t_alpha^2),
#'   sigma^2 ~ IG(nu0/2, nu0 sigma0^2/2),}
#' where \eqn{b_k}{b_k} are the slopes and \eqn{\alpha}{alpha} is the value of
#' the fixed part at the predictors' (weighted) means.
#'
#' Numeric variables are centred in this prior, so that it does not depend on
#' where they have their 0. With `"half-t"` \eqn{\Sigma} is the covariance of
#' the deviations where each numeric variable of the bar is at its mean: in
#' `(year | subject)` the first \eqn{A_k} is that of the deviations in the mean
#' year. In an interaction of the fixed effects, `x * z`, the slope of `x` is
#' that at the mean of `z`. The draws are those of the formula's coefficients. A
#' bar with `||` is independent where the formula says, and `"inverse-wishart"`
#' is a prior of the formula's deviations: their variables are not centred.
#'
#' Fields left `NULL` are completed from the data at the fit, so that the prior
#' is weak in any units, and [prior_summary()] shows the values used. With
#' \eqn{S^2}{S^2} the weighted variance of the responses (less the offset), with
#' divisor \eqn{n}, and \eqn{s_k}{s_k} the standard deviation of a column,
#' without weights and with divisor \eqn{n - 1}:
#'
#' * `df`: 2 (half-t), \eqn{q + 2} (inverse-wishart; 3 if \eqn{\Sigma} is
#'   diagonal).
#' * `scale`: \eqn{A_k = S/s_k}{A_k = S/s_k} for a slope. For the intercept it
#'   is \eqn{S \sqrt{1 + \sum_k (\bar z_k/s_k)^2}}{S sqrt(1 + sum_k (mean_k /
#'   s_k)^2)} with the means of the columns that are not centred, which is
#'   \eqn{S} if there are none. For `"inverse-wishart"`
#'   \eqn{S_0} is diagonal with the squares of these.
#' * `nu0`, `sigma0`: 0.002 and \eqn{S} (times the root of the mean weight).
#' * `slope_mean`, `slope_sd`: 0 and \eqn{10 S/s_k}{10 S/s_k};
#'   `slope_scale` replaces the 10: 20 is twice as wide.
#' * `intercept_mean`, `intercept_sd`: the weighted mean of the responses (less
#'   the offset) and \eqn{10 S}.
#'
#' If the responses do not vary, \eqn{S} counts as 1, with a message.
#'
#' @param type `"half-t"` (default) or `"inverse-wishart"`.
#' @param df `NULL` or a positive number: \eqn{\nu}{nu}; or \eqn{\eta_0}{eta0},
#'   above \eqn{q - 1}. With several grouping factors each has this prior, and
#'   `df` and `scale` may be lists with the names of the factors.
#' @param scale `NULL`; for `"half-t"` positive numbers \eqn{A_k}{A_k}, one for
#'   all or one for each term before the bar, in units of the response over the
#'   term's; for `"inverse-wishart"` the matrix \eqn{S_0}{S0}, or positive
#'   numbers for its diagonal. Names match those of the terms.
#' @param nu0,sigma0 `NULL` or positive numbers. `sigma0` is in units of the
#'   response. Both are without effect if the fit has known standard errors.
#' @param slope_mean,slope_sd `NULL` or numbers (`slope_sd` positive), one for
#'   all slopes, or one for each in the order of the model matrix. A vector with
#'   names is for the slopes that it names, `c(age = 1)`; the others have the
#'   default.
#' @param slope_scale `NULL` or positive numbers, likewise: the standard
#'   deviation of a slope in units of \eqn{S/s_k}{S/s_k}. `slope_sd` goes before
#'   it.
#' @param intercept_mean,intercept_sd `NULL` or a number, positive for
#'   `intercept_sd`, in units of the response.
#' @param nu `NULL` or a number, 0.01 or more, for `errors = "t"` alone: the
#'   degrees of freedom of the errors. `NULL` draws them, with the prior
#'   \eqn{\mathrm{Gamma}(2, 0.1)}{Gamma(2, 0.1)} (shape and rate; mean 20).
#' @return An object of class `hlm_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model at the fit.
#' @references
#' Huang A, Wand MP (2013). Simple marginally noninformative prior distributions
#' for covariance matrices. *Bayesian Analysis* 8, 439-452.
#' \doi{10.1214/13-BA815}
#' @seealso [gibbs_hlm()] for the model, [prior_predict()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' hlm_prior()
#' hlm_prior(scale = c(20, 5), sigma0 = 30, nu0 = 1)
#' hlm_prior("inverse-wishart", df = 4, scale = diag(2))
#' @export
hlm_prior <- function(type = c("half-t", "inverse-wishart"), df = NULL,
                      scale = NULL, nu0 = NULL, sigma0 = NULL,
                      slope_mean = NULL, slope_sd = NULL,
                      intercept_mean = NULL, intercept_sd = NULL,
                      slope_scale = NULL, nu = NULL) {
  call <- rlang::current_env()
  type <- check_choice(type, c("half-t", "inverse-wishart"))
  checked_scale <- function(scale, arg, call) {
    if (type == "inverse-wishart") {
      scale <- numeric_matrix(scale, arg, call)
    }
    if (is.matrix(scale) && type == "inverse-wishart") {
      check_covariance(scale, arg, call)
    } else {
      positive_numbers(scale, arg, call)
    }
  }
  slopes <- check_slope_fields(slope_mean, slope_sd, slope_scale, call)
  structure(
    c(list(
      type = type, df = each_bar(df, positive_number, "df", call),
      scale = each_bar(scale, checked_scale, "scale", call),
      nu0 = positive_number(nu0, "nu0", call),
      sigma0 = positive_number(sigma0, "sigma0", call),
      intercept_mean = check_number(
        intercept_mean, null_ok = TRUE, arg = "intercept_mean", call = call
      ),
      intercept_sd = positive_number(intercept_sd, "intercept_sd", call),
      nu = check_known_nu(nu, call)
    ), slopes),
    class = c("hlm_prior", "gibbsite_prior")
  )
}

# The field of all bars, or a list with those of bars by the names of their
# groups.
each_bar <- function(x, check, arg, call) {
  if (!is.list(x) || is.data.frame(x)) {
    return(check(x, arg, call))
  }
  if (length(x) == 0L || is.null(names(x)) || any(!nzchar(names(x))) ||
        anyDuplicated(names(x)) > 0L) {
    abort_argument(
      "{.arg {arg}} as a list must have the names of grouping factors, each
       once.",
      call = call
    )
  }
  Map(function(one, name) {
    check(one, paste0(arg, "$", name), call)
  }, x, names(x))
}

# The prior of one bar; NULL for fields that a list does not name.
bar_prior <- function(prior, name, names, call, fields = c("df", "scale")) {
  for (field in fields) {
    given <- prior[[field]]
    if (!is.list(given)) next
    other <- setdiff(names(given), names)
    if (length(other) > 0L) {
      abort_argument(
        "`{field}` of `prior` names {.val {other[[1L]]}}, which is no grouping
         factor of the formula: {.val {names}}.",
        call = call
      )
    }
    prior[field] <- list(given[[name]])
  }
  prior
}

# `done` with group_df and group_scale of `prior`, each by bar, with the
# defaults filled in. layout: of hlm_design() by the names of the bars.
complete_group_fields <- function(done, prior, layout, call) {
  fields <- c("group_df", "group_scale")
  bars <- Map(function(design, name) {
    own <- bar_prior(prior, name, names(layout), call, fields)
    list(
      group_df = own$group_df %||% 2,
      group_scale = complete_each(
        own$group_scale, 2.5 * design$reach, design$bar, "group_scale",
        "the terms before the bar", call
      )
    )
  }, layout, names(layout))
  done[fields] <- lapply(fields, function(field) lapply(bars, `[[`, field))
  done
}

# A line for each bar of a list.
format_each_bar <- function(name, x, ...) {
  if (!is.list(x)) {
    return(paste0("  ", name, " = ", format_prior_value(x, ...)))
  }
  paste0(
    "  ", name, " of ", names(x), " = ", vapply(x, format_prior_value, "", ...)
  )
}

#' @export
format.hlm_prior <- function(x, ...) {
  check_made(x, needed_fields(hlm_prior), "hlm_prior()")
  value <- format_prior_value
  wishart <- identical(x$type, "inverse-wishart")
  known <- isTRUE(x$known)
  c(
    paste0(
      "y_i | b, u ~ ", if (has_t_errors(x)) "t_nu" else "N",
      "(o_i + x_i'b + z_i'u_j, sigma^2 / v_i), u_j ~ N(0, Sigma)"
    ),
    if (wishart) {
      "Sigma ~ IW(df, S0)"
    } else {
      "sqrt(Sigma_kk) ~ half-t(df, A_k)    (Huang and Wand)"
    },
    format_each_bar("df", x$df, if (!wishart) "2"),
    format_each_bar(if (wishart) "S0" else "A", x$scale),
    "b_k ~ N(mean, sd^2), and the intercept at the predictors' means",
    if (is.null(x$slope_sd) || length(x$slope_sd) > 0L) {
      c(paste0("  slope mean = ", format_prior_named(x$slope_mean, "0")),
        paste0("  slope sd = ", format_prior_named(x$slope_sd)),
        if (!is.null(x$slope_scale)) {
          paste0("  slope scale = ", format_prior_named(x$slope_scale))
        })
    },
    if (!isTRUE(x$no_intercept)) {
      c(paste0("  intercept mean = ", value(x$intercept_mean)),
        paste0("  intercept sd = ", value(x$intercept_sd)))
    },
    if (known) {
      "sigma = 1, v_i = 1 / se_i^2"
    } else {
      c("sigma^2 ~ IG(nu0/2, nu0 sigma0^2/2)    (shape, rate)",
        paste0("  nu0 = ", value(x$nu0, "0.002")),
        paste0("  sigma0 = ", value(x$sigma0)))
    },
    format_nu(x)
  )
}

# The prior with every field filled in. design: of hlm_design(); measured: of
# measure_response().
complete_hlm_prior <- function(prior, design, measured, call) {
  spread <- measured$spread
  if (!(spread > 0)) {
    spread <- 1
    inform_gibbsite(
      c("The responses do not vary: the default prior takes 1 for their
         spread.",
        i = "Give the fields of `prior` in the data's units."),
      class = "constant"
    )
  }
  q <- length(design$bar)
  scales <- function(default) {
    complete_each(
      prior$scale, default, design$bar, "scale", "the terms before the bar",
      call
    )
  }
  order <- if (design$diagonal) 1L else q
  if (prior$type == "half-t") {
    prior$df <- prior$df %||% 2
    prior$scale <- scales(spread * design$reach)
  } else {
    prior$df <- prior$df %||% (order + 2)
    if (prior$df <= order - 1) {
      abort_argument(
        "`df` of `prior` must be above {order - 1}, not {prior$df}.",
        call = call
      )
    }
    if (!is.matrix(prior$scale)) {
      prior$scale <- diag(scales((spread * design$reach)^2), q)
    }
    if (nrow(prior$scale) != q) {
      abort_argument(
        "`scale` of `prior` must be {q} x {q} (terms before the bar), not
         {nrow(prior$scale)} x {ncol(prior$scale)}.",
        call = call
      )
    }
    prior$scale <- matrix_in_order_of(
      prior$scale, design$bar, "scale", "the terms before the bar", call
    )
    dimnames(prior$scale) <- list(design$bar, design$bar)
  }
  slopes <- design$columns[design$slopes]
  prior$slope_mean <- complete_slopes(prior, "slope_mean", 0, slopes, call)
  wide <- unname(complete_slopes(prior, "slope_scale", 10, slopes, call))
  prior$slope_sd <- complete_slopes(
    prior, "slope_sd", wide * spread / design$scale, slopes, call
  )
  prior["slope_scale"] <- list(NULL)
  prior$no_intercept <- length(design$intercept) == 0L
  if (!prior$no_intercept) {
    prior$intercept_mean <- prior$intercept_mean %||% measured$centre
    prior$intercept_sd <- prior$intercept_sd %||% (10 * spread)
  }
  prior$known <- design$known
  if (!design$known) {
    prior$nu0 <- prior$nu0 %||% 0.002
    prior$sigma0 <- prior$sigma0 %||% (spread * sqrt(measured$mean_weight))
  }
  prior
}
