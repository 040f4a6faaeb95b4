# The prior of a Gaussian mixture.

#' Prior of a Gaussian mixture
#'
#' The prior of [gibbs_gmm()]:
#' \deqn{\pi \sim \mathrm{Dir}(\alpha), \quad
#'   \mu_c \sim \mathrm{N}(m_0, V_0), \quad
#'   \Sigma_c \sim \mathrm{IW}(\nu_0, S_0),}{
#'   pi ~ Dir(alpha), mu_c ~ N(m0, V0), Sigma_c ~ IW(nu0, S0),}
#' independently over the components \eqn{c = 1, \dots, k}. The inverse Wishart
#' \eqn{\mathrm{IW}(\nu_0, S_0)} has density proportional to
#' \eqn{|\Sigma|^{-(\nu_0 + d + 1)/2} \exp(-\mathrm{tr}(S_0 \Sigma^{-1})/2)} and
#' mean \eqn{S_0 / (\nu_0 - d - 1)} when \eqn{\nu_0 > d + 1}.
#'
#' Fields left `NULL` are completed from the data at the fit, and
#' [prior_summary()] shows the values used. The defaults of `nu0` and of the
#' size of `s0` follow Fraley and Raftery (2007), those of `m0` and `v0`
#' Richardson and Green (1997):
#'
#' * `alpha`: half the number of free parameters of one component, plus 1/2 (see
#'   below);
#' * `m0`: the middle of each variable's range;
#' * `v0`: diagonal, the square of each variable's range;
#' * `nu0`: `d + 2`;
#' * `s0`: \eqn{V / k^{2/d}}{V / k^(2/d)}. \eqn{V} is proportional to an
#'   estimate of the covariance within groups (see below). It has the
#'   determinant of the covariance of the data. With diagonal covariances, or
#'   fewer than `4 d (d + 1)` complete observations, \eqn{V} is diagonal with
#'   each variable's variance.
#'
#' With `covariance = "diagonal"` the variances are independent,
#' \eqn{\sigma^2_{cj} \sim \mathrm{IG}(\nu_0 / 2, S_{0,jj} / 2)}{sigma2_cj ~
#' IG(nu0 / 2, S0_jj / 2)} (shape, scale), and `nu0` is 3 by default and may be
#' any positive number. With `"shared"` there is one \eqn{\Sigma \sim
#' \mathrm{IW}(\nu_0, S_0)}{Sigma ~ IW(nu0, S0)}.
#'
#' The default of `alpha` says that `k` components are meant. A component has
#' \eqn{D} free parameters: \eqn{d + d(d + 1)/2} with full covariances, \eqn{2
#' d} with diagonal ones, \eqn{d} with a shared one. If the data come from fewer
#' than `k` components and \eqn{\alpha < D/2}, the posterior empties those that
#' are not needed as \eqn{n} grows. If \eqn{\alpha > D/2}, two components with a
#' weight each come to describe the same group (Rousseau and Mengersen 2011).
#' The default is \eqn{\alpha = (D + 1)/2}. `alpha = "sparse"` has the other
#' aim: `k` is more than enough, and components that are not needed are to be
#' left empty. It means 0.01 for each component (Malsiner-Walli,
#' Frühwirth-Schnatter and Grün 2016); count `n_occupied`. `alpha = 1` is
#' uniform over the weights.
#'
#' The covariance of all data mixes the spread within groups with the distances
#' between them. Observations close to each other mostly belong to one group.
#' Their differences therefore show the covariance within groups, up to a factor
#' (Art, Gnanadesikan and Kettenring 1982). With \eqn{N(i)} the \eqn{n/5}
#' observations that are nearest to \eqn{x_i}, let
#' \deqn{S_i = \frac{1}{2 |N(i)|} \sum_{j \in N(i)} (x_i - x_j)(x_i - x_j)^\top
#'   + \frac{1}{12} \mathrm{diag}(\delta_1^2, \dots, \delta_d^2).}{
#'   S_i = sum_{j in N(i)} (x_i - x_j)(x_i - x_j)' / (2 |N(i)|)
#'         + diag(delta_1^2, ..., delta_d^2) / 12.}
#' The estimate is improved in ten rounds, beginning with the covariance of the
#' data:
#' \deqn{W \leftarrow \frac{1}{n} \sum_{i = 1}^n \frac{d}{\mathrm{tr}(W^{-1}
#'   S_i)} S_i.}{W <- sum_i (d / tr(W^-1 S_i)) S_i / n.}
#' Distances are Mahalanobis distances of the current \eqn{W}. All observations
#' count alike (as in Tyler 1987), so that a few far from the others hardly
#' matter. The second term of \eqn{S_i} is for rounded values. If fewer than
#' half of the values of variable \eqn{j} are different, \eqn{\delta_j} is the
#' median of the differences between adjacent values, at most the standard
#' deviation. Otherwise it is 0. Observations that are equal in all variables
#' are not neighbours. \eqn{V} is \eqn{W} times a number. If the covariance of
#' the data or \eqn{W} is nearly singular, \eqn{V} is diagonal as above. Only
#' complete observations are used. Of more than 500, \eqn{W} is that of 500,
#' chosen by a fixed rule.
#'
#' A range or variance that is zero (or unknown, with one observation) counts as
#' 1, with a message.
#'
#' With an unknown number of components ([unknown_k()]) other defaults hold:
#'
#' * `alpha`: `"drawn"`, which is \eqn{\alpha \sim \mathrm{F}(6, 3)}{alpha ~
#'   F(6, 3)};
#' * `nu0`: `d + 4` (diagonal covariances: 5);
#' * `s0`: `"drawn"`, which is \eqn{S_0 \sim \mathrm{W}(g, M / g)}{S0 ~ W(g, M /
#'   g)} with `s0_df` \eqn{g} degrees of freedom and the mean `s0_mean` \eqn{M}
#'   (diagonal covariances: \eqn{S_{0,jj} \sim \mathrm{Gamma}(g/2, g/(2
#'   M_{jj}))}{S0_jj ~ Gamma(g/2, g/(2 M_jj))}, shape and rate);
#' * `s0_df`: `d` (diagonal covariances: 1);
#' * `s0_mean`: diagonal, `nu0 / 100` times the square of each variable's range.
#'
#' The last three are those of Frühwirth-Schnatter, Malsiner-Walli and Grün
#' (2021). The prior of Richardson and Green (1997) for one variable with range
#' \eqn{R}, \eqn{\sigma_c^{-2} \sim \mathrm{Gamma}(2, \beta)}{sigma_c^-2 ~
#' Gamma(2, beta)} and \eqn{\beta \sim \mathrm{Gamma}(0.2, 10/R^2)}{beta ~
#' Gamma(0.2, 10/R^2)}, is `nu0 = 4`, `s0 = "drawn"`, `s0_df = 0.4` and `s0_mean
#' = 0.04 * R^2`, since \eqn{S_0 = 2\beta}{S0 = 2 beta}.
#'
#' @param alpha `NULL`, one positive number (for every component) or `k` of
#'   them: the Dirichlet concentrations. Or `"sparse"`: 0.01 for every
#'   component. With an unknown `k`: `NULL`, one positive number, or `"drawn"`.
#' @param m0 `NULL`, one number or `d` numbers: the prior mean of each mean.
#'   Names of `m0`, `v0`, `s0` and `s0_mean` match those of the columns.
#' @param v0 `NULL`, one positive number (a multiple of the identity), `d`
#'   positive numbers (a diagonal) or a symmetric positive definite `d x d`
#'   matrix: the prior covariance of each mean, in squared units of the data.
#' @param nu0 `NULL` or one number above `d - 1` (with diagonal covariances
#'   above 0): degrees of freedom.
#' @param s0 Scale matrix of the inverse Wishart, given like `v0`. With an
#'   unknown `k` also `"drawn"`: it has a prior of its own.
#' @param s0_df,s0_mean With `s0 = "drawn"`: `NULL` or the degrees of freedom of
#'   `s0`, above `d - 1` (with diagonal covariances above 0), and its mean,
#'   given like `v0`.
#' @return An object of class `gmm_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the data at the fit.
#' @references
#' Art D, Gnanadesikan R, Kettenring JR (1982). Data-based metrics for cluster
#' analysis. *Utilitas Mathematica* 21A, 75-99.
#'
#' Fraley C, Raftery AE (2007). Bayesian regularization for normal mixture
#' estimation and model-based clustering. *Journal of Classification* 24,
#' 155-181. \doi{10.1007/s00357-007-0004-5}
#'
#' Frühwirth-Schnatter S, Malsiner-Walli G, Grün B (2021). Generalized
#' mixtures of finite mixtures and telescoping sampling. *Bayesian Analysis* 16,
#' 1279-1307. \doi{10.1214/21-BA1294}
#'
#' Malsiner-Walli G, Frühwirth-Schnatter S, Grün B (2016). Model-based
#' clustering based on sparse finite Gaussian mixtures. *Statistics and
#' Computing* 26, 303-324. \doi{10.1007/s11222-014-9500-2}
#'
#' Richardson S, Green PJ (1997). On Bayesian analysis of mixtures with an
#' unknown number of components. *JRSS B* 59, 731-792.
#' \doi{10.1111/1467-9868.00095}
#'
#' Rousseau J, Mengersen K (2011). Asymptotic behaviour of the posterior
#' distribution in overfitted mixture models. *JRSS B* 73, 689-710.
#' \doi{10.1111/j.1467-9868.2011.00781.x}
#'
#' Tyler DE (1987). A distribution-free M-estimator of multivariate scatter.
#' *Annals of Statistics* 15, 234-251. \doi{10.1214/aos/1176350263}
#' @seealso [gibbs_gmm()] for the model, [prior_predict()] for the data that a
#'   prior predicts, [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' gmm_prior()
#' gmm_prior(alpha = 2, nu0 = 6)
#' gmm_prior(alpha = "sparse")
#' gmm_prior(s0 = "drawn", nu0 = 4, s0_df = 0.4)
#' @export
gmm_prior <- function(alpha = NULL, m0 = NULL, v0 = NULL, nu0 = NULL,
                      s0 = NULL, s0_df = NULL, s0_mean = NULL) {
  call <- rlang::current_env()
  numbers <- function(x, arg, above = -Inf, ...) {
    check_numeric_vector(
      x, lower = above, lower_open = TRUE, null_ok = TRUE, ..., arg = arg,
      call = call
    )
  }
  spread <- function(x, arg) {
    x <- numeric_matrix(x, arg, call)
    if (is.matrix(x)) {
      check_covariance(x, arg, call)
    } else {
      numbers(x, arg, above = 0, expected = "a numeric vector or matrix")
    }
  }
  degrees <- function(x, arg) {
    if (!is.null(x)) {
      check_number(x, lower = 0, lower_open = TRUE, arg = arg, call = call)
    }
  }
  if (!is.null(s0) && !identical(s0, "drawn") &&
        !(is.null(s0_df) && is.null(s0_mean))) {
    abort_argument(
      "{.arg s0_df} and {.arg s0_mean} are for {.code s0 = \"drawn\"} alone."
    )
  }
  structure(
    list(
      alpha = if (is_word(alpha, c("sparse", "drawn"), "alpha", call)) {
        alpha
      } else {
        numbers(alpha, "alpha", above = 0)
      },
      m0 = numbers(m0, "m0"),
      v0 = spread(v0, "v0"), nu0 = degrees(nu0, "nu0"),
      s0 = if (is_word(s0, "drawn", "s0", call)) s0 else spread(s0, "s0"),
      s0_df = degrees(s0_df, "s0_df"), s0_mean = spread(s0_mean, "s0_mean")
    ),
    class = c("gmm_prior", "gibbsite_prior")
  )
}

# Whether a field is one of the words that mean something in it.
is_word <- function(x, words, arg, call) {
  if (is.character(x) && !(length(x) == 1L && x %in% words)) {
    abort_expected(
      x, or_words(c("a numeric vector", quoted(words))), FALSE, arg,
      call, hint = case_hint(x, words)
    )
  }
  is.character(x)
}

#' @export
format.gmm_prior <- function(x, ...) {
  check_made(x, names(formals(gmm_prior)), "gmm_prior()")
  c(
    "pi       ~ Dir(alpha)      z_i | pi ~ Categorical(pi)",
    "mu_c     ~ N(m0, V0)       x_i | z_i = c ~ N(mu_c, Sigma_c)",
    "Sigma_c  ~ IW(nu0, S0)     (degrees of freedom, scale matrix)",
    format_gmm_fields(x)
  )
}

format_gmm_fields <- function(x) {
  value <- format_prior_value
  c(
    paste0("  alpha ", switch(
      if (is.character(x$alpha)) x$alpha else "given",
      drawn = "~ F(6, 3)", sparse = "= 0.01 (\"sparse\")",
      given = paste("=", value(x$alpha))
    )),
    paste0("  m0    = ", value(x$m0)),
    paste0("  V0    = ", value(x$v0)),
    paste0("  nu0   = ", value(x$nu0)),
    if (is.character(x$s0)) {
      c("  S0    ~ W(s0_df, s0_mean / s0_df)     (mean s0_mean)",
        paste0("    s0_df   = ", value(x$s0_df)),
        paste0("    s0_mean = ", value(x$s0_mean)))
    } else {
      paste0("  S0    = ", value(x$s0))
    }
  )
}

# The prior with every field filled in for k components and the data x, or an
# error of the user's call that names the field. names: those that the user gave
# the columns, NULL for none.
complete_gmm_prior <- function(prior, x, k, covariance = "full", call = NULL,
                               names = colnames(x)) {
  prior <- made_prior(prior, gmm_prior, call)
  d <- ncol(x)
  drawn <- c(
    alpha = identical(prior$alpha, "drawn"), s0 = identical(prior$s0, "drawn"),
    s0_df = !is.null(prior$s0_df), s0_mean = !is.null(prior$s0_mean)
  )
  if (any(drawn)) {
    arg <- names(which(drawn))[[1L]]
    abort_argument(
      c("{.field alpha} and {.field s0} of {.arg prior} are drawn only if the
         number of components is unknown: {.field {arg}} is not for a fixed
         {.arg k}.",
        i = "Give numbers, or {.code k = \"unknown\"}."),
      call = call
    )
  }
  spans <- column_scales(x, call)
  alpha <- prior$alpha %||% default_alpha(d, covariance)
  if (identical(alpha, "sparse")) {
    alpha <- 0.01
  }
  prior$alpha <- as_length(alpha, k, "alpha", "k", call)
  prior <- complete_components(
    prior, spans, if (covariance == "diagonal") 3 else d + 2, names,
    covariance, call
  )
  prior$s0 <- complete_gmm_scale(
    prior$s0 %||% (default_spread(x, covariance, spans$variance) / k^(2 / d)),
    d, names, "s0", covariance, call
  )
  prior
}

# m0, v0 and nu0.
complete_components <- function(prior, spans, nu0, names, covariance, call) {
  d <- length(spans$middle)
  prior$m0 <- as_columns(prior$m0 %||% spans$middle, d, names, "m0", call)
  prior$v0 <- as_covariance(prior$v0 %||% spans$range^2, d, names, "v0", call)
  check_invertible(prior$v0, "v0", call)
  prior$nu0 <- prior$nu0 %||% nu0
  check_degrees(prior$nu0, "nu0", d, covariance, "inverse Wishart", call)
  prior
}

check_degrees <- function(df, arg, d, covariance, of, call) {
  if (covariance != "diagonal" && df <= d - 1) {
    abort_argument(
      c(
        paste0(
          "`{arg}` of `prior` must be above {d - 1} for {d} variable{?s}, ",
          "not {df}."
        ),
        i = "The {of} is proper for `{arg} > ncol(x) - 1` only."
      ),
      call = call
    )
  }
}

# A scale matrix, diagonal where the covariances are.
complete_gmm_scale <- function(value, d, names, arg, covariance, call) {
  value <- as_covariance(value, d, names, arg, call)
  check_invertible(value, arg, call)
  if (covariance == "diagonal" && any(value[upper.tri(value)] != 0)) {
    abort_argument(
      paste(
        "`{arg}` of `prior` must be diagonal with",
        "{.code covariance = \"diagonal\"}."
      ),
      call = call
    )
  }
  value
}

# Above half the number of free parameters of a component (Rousseau & Mengersen
# 2011, doi:10.1111/j.1467-9868.2011.00781.x).
default_alpha <- function(d, covariance) {
  free <- switch(covariance,
    full = d + d * (d + 1) / 2, diagonal = 2 * d, shared = d
  )
  (free + 1) / 2
}

# V of ?gmm_prior: a matrix, or the variances of the columns. It does not depend
# on k, so that models with different k can be compared.
default_spread <- function(x, covariance, variance) {
  d <- ncol(x)
  complete <- which(rowSums(is.na(x)) == 0)
  n <- length(complete)
  if (covariance == "diagonal" || d == 1L || n < 4 * d * (d + 1)) {
    return(variance)
  }
  within_covariance(x[complete, , drop = FALSE]) %||% variance
}

# The covariance within groups, W of ?gmm_prior, times the number that makes it
# V. NULL if it or the covariance of x is nearly singular. (Art, Gnanadesikan &
# Kettenring 1982, "data-based metrics for cluster analysis", Utilitas
# Mathematica 21A, 75-99; Tyler 1987, doi:10.1214/aos/1176350263)
within_covariance <- function(x) {
  unit <- apply(x, 2L, stats::sd)
  if (!all(unit > 0)) {
    return(NULL)
  }
  z <- scale(x)
  within <- total <- stats::cov(z)
  z <- z[rows_taken(nrow(z), 500L), , drop = FALSE]
  if (!all(apply(z, 2L, stats::sd) > 0)) {
    return(NULL)
  }
  rounding <- pmin(apply(z, 2L, gap_of_rounding), 1)^2 / 12
  for (round in 1:10) {
    if (rcond(within) < 1e-10) {
      return(NULL)
    }
    within <- neighbour_scatter(z, within, rounding)
  }
  if (rcond(within) < 1e-10) {
    return(NULL)
  }
  log_det <- function(m) c(determinant(m)$modulus)
  size <- exp((log_det(total) - log_det(within)) / ncol(x))
  unname(size * within * tcrossprod(unit))
}

# One round: the mean over the rows i of d S_i / tr(within^-1 S_i), where S_i is
# computed from the nearest fifth of the rows (src/r_gmm.c).
neighbour_scatter <- function(z, within, rounding) {
  root <- chol(within)
  white <- backsolve(root, t(z), transpose = TRUE)
  own <- list(
    variance = rounding, trace = sum(diag(chol2inv(root)) * rounding)
  )
  .Call(C_near_scatter, t(z), white, ceiling(nrow(z) / 5), own)
}

gap_of_rounding <- function(v) {
  values <- sort(unique(v))
  if (length(values) < length(v) / 2) stats::median(diff(values)) else 0
}

# `most` of n rows, without regard to any period in their order: those whose
# multiples of the golden ratio have the smallest fractional parts.
rows_taken <- function(n, most) {
  if (n <= most) {
    return(seq_len(n))
  }
  sort(order((seq_len(n) * (sqrt(5) - 1) / 2) %% 1)[seq_len(most)])
}

# Midpoint, range and variance of each column; a range or variance of zero
# counts as 1.
column_scales <- function(x, call) {
  low <- apply(x, 2, min, na.rm = TRUE)
  high <- apply(x, 2, max, na.rm = TRUE)
  range <- high - low
  variance <- apply(x, 2, stats::var, na.rm = TRUE)
  variance[is.na(variance)] <- 0
  flat <- !(range > 0)
  if (any(flat)) {
    names <- colnames(x)[flat]
    inform_gibbsite(
      c(
        paste0(
          "Column{?s} {.val {names}} of `x` {?is/are} constant: ",
          "the default prior takes 1 for {?its/their} spread."
        ),
        i = "Give `prior = gmm_prior(v0 = , s0 = )` in the data's units."
      ),
      class = "constant"
    )
  }
  range[flat] <- 1
  variance[flat] <- 1
  squares <- cbind(range^2, variance)
  wild <- rowSums(!(squares > 0 & squares < Inf)) > 0
  if (any(wild)) {
    names <- colnames(x)[wild]
    abort_argument(
      c(
        paste(
          "{cli::qty(names)}Column{?s} {.val {names}} of {.arg x} {?has/have}",
          "a spread whose square is beyond the range of doubles."
        ),
        i = "Change {cli::qty(names)}{?its/their} unit."
      ),
      call = call
    )
  }
  list(
    middle = unname((low + high) / 2), range = unname(range),
    variance = unname(variance)
  )
}

as_length <- function(value, length, arg, size, call) {
  if (length(value) == 1L) {
    return(rep(as.double(value), length))
  }
  if (length(value) != length) {
    abort_argument(
      paste0(
        "`{arg}` of `prior` must have length 1 or {length} (`{size}`), ",
        "not {length(value)}."
      ),
      call = call
    )
  }
  as.double(value)
}

# One number for each of the d columns of x, whose names are `names`; and a
# matrix. Equal names tell nothing about the order.
as_columns <- function(value, d, names, arg, call) {
  if (length(value) == d && d > 1L && !anyDuplicated(names)) {
    value <- in_order_of(value, names, arg, "the columns of `x`", call)
  }
  as_length(value, d, arg, "ncol(x)", call)
}

as_covariance <- function(value, d, names, arg, call) {
  if (!is.matrix(value)) {
    return(diag(as_columns(value, d, names, arg, call), d))
  }
  if (nrow(value) != d) {
    abort_argument(
      paste0(
        "`{arg}` of `prior` must be a {d} x {d} matrix (`ncol(x)`), ",
        "not {nrow(value)} x {ncol(value)}."
      ),
      call = call
    )
  }
  if (anyDuplicated(names)) {
    return(unname(value))
  }
  matrix_in_order_of(value, names, arg, "the columns of `x`", call)
}

# The inverse of a covariance must be within the range of doubles.
check_invertible <- function(matrix, arg, call) {
  inverse <- chol2inv(chol(matrix))
  if (!all(is.finite(inverse))) {
    abort_argument(
      c(
        "`{arg}` of `prior` is so small that its inverse is beyond the range of
         doubles.",
        i = "Give it in squared units of the data, or change their unit."
      ),
      call = call
    )
  }
}
