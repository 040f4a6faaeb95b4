# The prior of laplace_logistic() and gibbs_logistic().

#' Prior of a logistic regression
#'
#' The prior of [laplace_logistic()] and [gibbs_logistic()]: the coefficients
#' are normal with mean 0 and variance `c`,
#' \deqn{w \sim \mathrm{N}(0, c I)}{w ~ N(0, c I)}
#' for one number `c`, \eqn{\mathrm{N}(0, \mathrm{diag}(c))}{N(0, diag(c))} for
#' several, \eqn{\mathrm{N}(0, C)}{N(0, C)} for a covariance matrix. The
#' intercept has a separate variance, `intercept_c`.
#'
#' Fields left `NULL` are completed at the fit from the predictors, never from
#' the response, and [prior_summary()] shows the values used:
#'
#' * `c`: \eqn{(2.5 / s_j)^2} for a predictor with standard deviation \eqn{s_j}.
#'   The change in log-odds for one standard deviation of the predictor then has
#'   a prior standard deviation of 2.5. This prior is weak (a change by 5, from
#'   odds of 1 to 12 to odds of 12 to 1, is two standard deviations), and does
#'   not depend on the predictor's unit. Gelman et al. (2008) discuss the scale.
#'   With the probit link of [gibbs_logistic()] the variances are the same, and
#'   weaker: a probit is about 0.6 times the log-odds.
#' * `intercept_c`: \eqn{10^2 + \sum_j c_j m_j^2}, with \eqn{m_j} the mean of
#'   predictor \eqn{j}: the variance that the intercept has when the log-odds at
#'   the predictors' means are \eqn{\mathrm{N}(0, 10^2)}{N(0, 10^2)}. With a
#'   matrix `c` the sum is \eqn{m^\top C m}{m'Cm}.
#'
#' A predictor that is constant and not zero is treated as an intercept (with
#' variance \eqn{10^2 / m_j^2}). One that is zero everywhere gets the variance
#' 1, with a message.
#'
#' With groups in the formula, `y ~ x + (1 + x | g)`, \eqn{w} are the fixed
#' effects, and the covariance matrix \eqn{\Sigma}{Sigma} of the groups'
#' deviations has the half-t prior of [hlm_prior()]:
#'
#' * `group_df`: 2.
#' * `group_scale`: \eqn{A_k = 2.5/s_k}{A_k = 2.5/s_k} for a slope, with
#'   \eqn{s_k} the standard deviation of the column. For the intercept it is
#'   \eqn{2.5 \sqrt{1 + \sum_k (\bar z_k/s_k)^2}}{2.5 sqrt(1 + sum_k (mean_k /
#'   s_k)^2)}.
#'
#' @param c `NULL`, or the prior variance in squared units of the coefficients:
#'   one positive number for every coefficient but the intercept; a vector, one
#'   for each of them or, when `intercept_c` is `NULL`, for all coefficients in
#'   the order of the model matrix (a vector with names is reordered by name);
#'   or a symmetric positive definite matrix of either size. `Inf` leaves a
#'   coefficient without a prior (a flat one).
#' @param intercept_c `NULL`, or the prior variance of the intercept: a positive
#'   number or `Inf`.
#' @param group_df `NULL` or a positive number: degrees of freedom
#'   \eqn{\nu}{nu} of the half-t distributions.
#' @param group_scale `NULL` or positive numbers \eqn{A_k}{A_k}, one for all or
#'   one for each term before the bar. Both are used only if the formula has
#'   groups.
#' @return An object of class `logistic_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @references
#' Gelman A, Jakulin A, Pittau MG, Su Y-S (2008). A weakly informative default
#' prior distribution for logistic and other regression models. *Annals of
#' Applied Statistics* 2, 1360-1383. \doi{10.1214/08-AOAS191}
#' @examples
#' logistic_prior()
#' logistic_prior(c = 100, intercept_c = Inf)
#' @export
logistic_prior <- function(c = NULL, intercept_c = NULL, group_df = NULL,
                           group_scale = NULL) {
  call <- rlang::current_env()
  structure(
    list(
      c = check_prior_variance(c, call),
      intercept_c = check_number(
        intercept_c, lower = 0, lower_open = TRUE, infinite_ok = TRUE,
        null_ok = TRUE, arg = "intercept_c", call = call
      ),
      group_df = check_number(
        group_df, lower = 0, lower_open = TRUE, null_ok = TRUE,
        arg = "group_df", call = call
      ),
      group_scale = check_numeric_vector(
        group_scale, lower = 0, lower_open = TRUE, null_ok = TRUE,
        arg = "group_scale", call = call
      )
    ),
    class = c("logistic_prior", "gibbsite_prior")
  )
}

check_prior_variance <- function(c, call) {
  if (is.null(c)) {
    return(NULL)
  }
  c <- numeric_matrix(c, "c", call)
  if (!is.matrix(c)) {
    return(check_numeric_vector(
      c, lower = 0, lower_open = TRUE, finite = FALSE,
      expected = "a numeric vector or matrix", arg = "c", call = call
    ))
  }
  check_covariance(c, "c", call)
}

#' @export
format.logistic_prior <- function(x, ...) {
  check_made(x, names(formals(logistic_prior)), "logistic_prior()")
  value <- function(v) {
    if (is.matrix(v)) {
      return(paste0("a ", nrow(v), " x ", ncol(v), " covariance matrix"))
    }
    format_prior_value(v, "from the predictors")
  }
  share <- if (identical(x$link, "probit")) "Phi" else "sigma"
  head <- paste0("y_i | w ~ Bernoulli(", share, "(x_i'w + o_i)),  w ~ N(0, C)")
  each <- x$c
  if (!is.null(names(each)) && !is.matrix(each)) {
    return(c(
      head,
      paste0(
        "  ", format(c("coefficient", names(each))), "  ",
        format(c("variance", vapply(each, value, "")), justify = "right")
      ),
      if (!is.null(x$group_scale)) {
        c("groups: sqrt(Sigma_kk) ~ half-t(df, A_k)    (Huang and Wand)",
          paste0("  df = ", format_prior_value(x$group_df, "2")),
          paste0("  A = ", format_prior_value(x$group_scale)))
      }
    ))
  }
  c(
    head,
    paste0("  variance of the coefficients:  c = ", value(x$c)),
    if (!isTRUE(x$complete)) {
      paste0(
        "  variance of the intercept:     intercept_c = ", value(x$intercept_c)
      )
    }
  )
}

# The prior with `c` for every column of the design: p variances, or a p x p
# matrix, with names.  design: what as_design() gives.
complete_logistic_prior <- function(prior, design, call) {
  check_class(prior, "logistic_prior", "logistic_prior()", call = call)
  prior <- remade(prior, logistic_prior, "logistic_prior()", call = call)
  columns <- design$columns
  p <- length(columns)
  intercept <- design$intercept
  slopes <- setdiff(seq_len(p), intercept)
  given <- arrange_prior(prior, columns, slopes, call)
  if (NROW(given) == p && (p > length(slopes) || is.matrix(given))) {
    return(completed_prior(given, columns))
  }
  if (is.null(given)) {
    given <- default_variances(design, slopes, call)
  }
  own <- prior$intercept_c
  if (length(intercept) == 1L && is.null(own)) {
    means <- design$mean[slopes]
    own <- 100 + if (is.matrix(given)) {
      sum(means * (given %*% means))
    } else {
      sum(ifelse(means == 0, 0, means^2 * given))
    }
  }
  completed_prior(unite_variances(given, own, slopes, intercept, p), columns)
}

completed_prior <- function(variances, columns) {
  if (is.matrix(variances)) {
    dimnames(variances) <- list(columns, columns)
  } else {
    names(variances) <- columns
  }
  structure(
    list(
      c = variances, intercept_c = NULL, group_df = NULL, group_scale = NULL,
      complete = TRUE
    ),
    class = c("logistic_prior", "gibbsite_prior")
  )
}

# A completed prior that is printed with the model of its link.
linked_prior <- function(prior, link) {
  if (link == "probit") prior$link <- link
  prior
}

# The user's `c` for the slopes (or for all columns, if it has as many
# elements), in the order of the columns.
arrange_prior <- function(prior, columns, slopes, call) {
  given <- prior$c
  p <- length(columns)
  if (is.null(given)) {
    return(NULL)
  }
  if (length(given) == 1L && !is.matrix(given) &&
        !identical(names(given), columns)) {
    return(rep(unname(given), length(slopes)))
  }
  size <- NROW(given)
  sizes <- unique(c(length(slopes), if (is.null(prior$intercept_c)) p))
  if (!size %in% sizes) {
    wanted <- or_words(sizes)
    what <- if (is.matrix(given)) "rows" else "elements"
    abort_argument(
      c(
        "`c` of `prior` must have {wanted} {what}, not {size}.",
        i = "The coefficients are {.val {columns}}."
      ),
      call = call
    )
  }
  names <- if (is.matrix(given)) colnames(given) else names(given)
  expected <- if (size == p) columns else columns[slopes]
  if (is.null(names)) {
    return(given)
  }
  check_prior_names(names, expected, call)
  at <- match(expected, names)
  if (is.matrix(given)) given[at, at, drop = FALSE] else given[at]
}

check_prior_names <- function(names, expected, call) {
  if (!setequal(names, expected) || anyDuplicated(names)) {
    odd <- c(setdiff(names, expected), names[duplicated(names)])[1L]
    abort_argument(
      c(
        "The names of `c` of `prior` must be those of the coefficients.",
        x = "{.val {odd}} is not one, or is there twice.",
        i = "The coefficients are {.val {expected}}."
      ),
      call = call
    )
  }
}

# (2.5 / s_j)^2; a constant column has no scale.
default_variances <- function(design, slopes, call) {
  sd <- design$sd[slopes]
  mean <- design$mean[slopes]
  flat <- !(sd > 0)
  variances <- (2.5 / sd)^2
  variances[flat] <- ifelse(mean[flat] == 0, 1, 100 / mean[flat]^2)
  names <- design$columns[slopes][flat]
  if (length(names) > 0L) {
    inform_gibbsite(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?does/do} not vary: the
         default prior takes {?it/them} for an intercept, or gives variance 1
         where all is 0.",
        i = "Give `prior = logistic_prior(c = )` in the data's units."
      ),
      class = "constant"
    )
  }
  variances
}

# The variances or the matrix for all p columns, from those of the slopes and
# that of the intercept.
unite_variances <- function(given, own, slopes, intercept, p) {
  if (!is.matrix(given)) {
    all <- numeric(p)
    all[slopes] <- given
    all[intercept] <- own
    return(all)
  }
  all <- matrix(0, p, p)
  all[slopes, slopes] <- given
  diag(all)[intercept] <- own
  all
}

# Q = C^-1 as C reads it, and log((2 pi)^-p/2 |Q|^1/2): only over the proper
# directions if some are flat; flat ones count as having density 1.
prior_precision <- function(prior) {
  c <- prior$c
  if (!is.matrix(c)) {
    proper <- is.finite(c)
    return(list(
      precision = unname(1 / c),
      constant = -0.5 * sum(log(2 * pi * c[proper])), flat = which(!proper)
    ))
  }
  root <- chol(unname(c))
  list(
    precision = chol2inv(root),
    constant = -nrow(c) / 2 * log(2 * pi) - sum(log(diag(root))),
    flat = integer()
  )
}
