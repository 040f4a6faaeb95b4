# The prior of laplace_logistic() and gibbs_logistic().

#' Prior of a logistic regression
#'
#' The prior of [laplace_logistic()] and [gibbs_logistic()]: the coefficients
#' are normal,
#' \deqn{w \sim \mathrm{N}(m, C), \quad w_j \sim \mathrm{N}(m_j, c_j)}{w ~
#'   N(m, C), w_j ~ N(m_j, c_j)}
#' with mean 0 by default, and independent unless `slope_variance` is a
#' covariance matrix \eqn{C}. The variance \eqn{c_j} of a slope is
#' `slope_sd^2`, or \eqn{(g_j/s_j)^2} with `slope_scale` \eqn{g_j} and the
#' standard deviation \eqn{s_j} of the predictor, or it is given as
#' `slope_variance`. The intercept has a mean and a standard deviation of its
#' own, `intercept_mean` and `intercept_sd` (or the variance
#' `intercept_variance`).
#'
#' Fields left `NULL` are completed at the fit from the predictors, never from
#' the response, and [prior_summary()] shows the values used:
#'
#' * `slope_mean`: 0.
#' * `slope_scale`: 2.5, so that 5 is a prior twice as wide.
#' * `slope_variance`: \eqn{(2.5 / s_j)^2} for a predictor with standard
#'   deviation \eqn{s_j}. The change in log-odds for one standard deviation of
#'   the predictor then has a prior standard deviation of 2.5. This prior is
#'   weak (a change by 5, from odds of 1 to 12 to odds of 12 to 1, is two
#'   standard deviations), and does not depend on the predictor's unit. Gelman
#'   et al. (2008) discuss the scale. With the probit link of [gibbs_logistic()]
#'   the variances are the same, and weaker: a probit is about 0.6 times the
#'   log-odds.
#' * `intercept_variance`: \eqn{10^2 + \sum_j c_j \bar x_j^2}{10^2 + sum_j c_j
#'   xbar_j^2}, with \eqn{\bar x_j}{xbar_j} the mean of predictor \eqn{j}: the
#'   variance that the intercept has when the log-odds at the predictors' means
#'   are \eqn{\mathrm{N}(0, 10^2)}{N(0, 10^2)}. With a matrix the sum is
#'   \eqn{\bar x^\top C \bar x}{xbar'C xbar}.
#' * `intercept_mean`: minus the sum of the slopes' prior means times the means
#'   of the predictors. The log-odds at these have mean 0 then.
#'
#' In an interaction, `x * z`, numeric variables are centred: \eqn{w_j}{w_j} of
#' `x` is its slope at the mean of `z`, and \eqn{s_j}{s_j} of `x:z` is the
#' standard deviation of the product of the centred variables. The draws are
#' those of the formula's coefficients. A covariance matrix `slope_variance`,
#' and a prior with `Inf`, are of the formula's coefficients, without centring.
#'
#' The intercept and the slopes are independent beforehand. The default prior
#' therefore depends on where a predictor has its 0, though not on its unit. The
#' log-odds at the predictors' means have the variance \eqn{10^2 + 2 \sum_j c_j
#' \bar x_j^2}{10^2 + 2 sum_j c_j xbar_j^2}. Given these, the slope of one
#' predictor has the prior standard deviation 2.5 if the predictor is centred,
#' and down to 1.8 if it is far from 0. Where data are few, centre the
#' predictors; fits of predictors with other zeros (degrees Celsius and
#' Fahrenheit) have slightly different posteriors, and log evidences that must
#' not be compared.
#'
#' A predictor that is constant and not zero is treated as an intercept (with
#' variance \eqn{10^2 / \bar x_j^2}{10^2 / xbar_j^2}). One that is zero
#' everywhere gets the variance 1, with a message.
#'
#' With groups in the formula, `y ~ x + (1 + x | g)`, \eqn{w} are the fixed
#' effects, and the covariance matrix \eqn{\Sigma}{Sigma} of the groups'
#' deviations has the half-t prior of [hlm_prior()]:
#'
#' * `group_df`: 2.
#' * `group_scale`: \eqn{A_k = 2.5/s_k}{A_k = 2.5/s_k} for a slope, with
#'   \eqn{s_k} the standard deviation of the column. For the intercept it is
#'   \eqn{2.5 \sqrt{1 + \sum_k (\bar z_k/s_k)^2}}{2.5 sqrt(1 + sum_k (mean_k /
#'   s_k)^2)} with the means of the columns that are not centred.
#'
#' \eqn{\Sigma}{Sigma} is the covariance of the deviations where each numeric
#' variable of the bar is at its mean, as in [hlm_prior()].
#'
#' @param slope_variance `NULL`, or the prior variance in squared units of the
#'   coefficients: one positive number for every coefficient but the intercept;
#'   a vector, one for each of them or, when `intercept_variance` is `NULL`, for
#'   all coefficients in the order of the model matrix; a vector with names is
#'   for the coefficients that it names, and the others have the default;
#'   or a symmetric positive definite matrix of either size. `Inf` leaves a
#'   coefficient without a prior (a flat one). A formula with groups takes
#'   neither `Inf`, for any coefficient, nor a matrix.
#' @param intercept_variance `NULL`, or the prior variance of the intercept: a
#'   positive number or `Inf`.
#' @param group_df `NULL` or a positive number: degrees of freedom
#'   \eqn{\nu}{nu} of the half-t distributions.
#' @param group_scale `NULL` or positive numbers \eqn{A_k}{A_k}, one for all or
#'   one for each term before the bar. Both are used only if the formula has
#'   groups. With several grouping factors each may be a list by their names,
#'   `group_scale = list(item = 1)`; the others have the default.
#' @param slope_mean,slope_sd,slope_scale `NULL` or numbers (the last two
#'   positive), one for all slopes, or one for each in the order of the model
#'   matrix. A vector with names is for the slopes that it names, `c(age = 1)`;
#'   the others have the default. `slope_sd` may be `Inf`, and goes before
#'   `slope_scale`; neither goes with `slope_variance`.
#' @param intercept_mean,intercept_sd `NULL` or a number, for `intercept_sd`
#'   positive or `Inf`; not with `intercept_variance`.
#' @return An object of class `logistic_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @references
#' Gelman A, Jakulin A, Pittau MG, Su Y-S (2008). A weakly informative default
#' prior distribution for logistic and other regression models. *Annals of
#' Applied Statistics* 2, 1360-1383. \doi{10.1214/08-AOAS191}
#' @seealso [gibbs_logistic()], [laplace_logistic()], [prior_predict()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' logistic_prior()
#' logistic_prior(slope_variance = 100, intercept_variance = Inf)
#'
#' # twice as wide, and what is known of one slope
#' prior <- logistic_prior(
#'   slope_scale = 5, slope_mean = c(glu = 0.03), slope_sd = c(glu = 0.01)
#' )
#' prior_summary(gibbs_logistic(type ~ glu + bmi, MASS::Pima.tr, prior,
#'                              seed = 1))
#' @export
logistic_prior <- function(slope_variance = NULL, intercept_variance = NULL,
                           group_df = NULL, group_scale = NULL,
                           slope_mean = NULL, slope_sd = NULL,
                           slope_scale = NULL, intercept_mean = NULL,
                           intercept_sd = NULL) {
  structure(
    check_coefficient_fields(
      slope_variance, intercept_variance, group_df, group_scale, slope_mean,
      slope_sd, slope_scale, intercept_mean, intercept_sd,
      rlang::current_env()
    ),
    class = c("logistic_prior", "gibbsite_prior")
  )
}

# The fields of the coefficients and of groups, checked.
check_coefficient_fields <- function(slope_variance, intercept_variance,
                                     group_df, group_scale, slope_mean,
                                     slope_sd, slope_scale, intercept_mean,
                                     intercept_sd, call) {
  slope_variance <- check_prior_variance(slope_variance, call)
  slopes <- check_slope_fields(
    slope_mean, slope_sd, slope_scale, call, infinite_ok = TRUE
  )
  check_one_width(
    slope_variance, slopes[c("slope_sd", "slope_scale")], "slope_variance", call
  )
  check_one_width(
    intercept_variance, list(intercept_sd = intercept_sd),
    "intercept_variance", call
  )
  c(list(
    slope_variance = slope_variance,
    intercept_variance = positive_number(
      intercept_variance, "intercept_variance", call, infinite_ok = TRUE
    ),
    group_df = each_bar(group_df, positive_number, "group_df", call),
    group_scale = each_bar(group_scale, positive_numbers, "group_scale", call),
    intercept_mean = check_number(
      intercept_mean, null_ok = TRUE, arg = "intercept_mean", call = call
    ),
    intercept_sd = positive_number(
      intercept_sd, "intercept_sd", call, infinite_ok = TRUE
    )
  ), slopes)
}

# The fields that logistic_prior() has too, of a prior of counts or categories.
as_logistic_prior <- function(prior) {
  own <- c("dispersion_df", "dispersion_scale", "family", "threshold_sd",
           "centre")
  structure(
    unclass(prior)[setdiff(names(prior), own)],
    class = c("logistic_prior", "gibbsite_prior")
  )
}

# The prior of the coefficients of a model of latent responses, which has no
# covariances between them, and of the groups of `layout`.
complete_latent_prior <- function(prior, design, layout, call, there = "") {
  done <- complete_logistic_prior(prior, design, call)
  check_no_covariances(done, there, call)
  check_finite_variances(prior, done, there, call)
  if (length(layout) > 0L) {
    done <- complete_group_fields(done, prior, layout, call)
  }
  done
}

# there: where this is asked for, as the message says it.
check_no_covariances <- function(done, there, call) {
  if (is.matrix(done$slope_variance)) {
    abort_argument(
      "`slope_variance` of `prior` must hold variances{there}, not a covariance
       matrix.",
      call = call
    )
  }
}

check_finite_variances <- function(prior, done, there, call) {
  if (all(is.finite(done$slope_variance))) {
    return(invisible())
  }
  fields <- c("slope_variance", "slope_sd", "intercept_variance",
              "intercept_sd")
  given <- Filter(function(field) {
    any(is.infinite(unlist(prior[[field]])))
  }, fields)
  abort_argument(
    c("{.code {given}} of `prior` must be finite{there}.",
      i = "A coefficient without a prior can have an improper posterior."),
    call = call
  )
}

# A variance and a standard deviation of the same coefficients cannot both be
# given. others: fields by name.
check_one_width <- function(variance, others, arg, call) {
  other <- names(others)[lengths(others) > 0L]
  if (!is.null(variance) && length(other) > 0L) {
    abort_argument(
      c("Give either {.arg {arg}} or {.arg {other[[1L]]}}, not both.",
        i = "{.arg {arg}} holds variances, {.arg {other[[1L]]}} is in units of
             a standard deviation."),
      call = call
    )
  }
}

check_prior_variance <- function(variance, call) {
  if (is.null(variance)) {
    return(NULL)
  }
  variance <- numeric_matrix(variance, "slope_variance", call)
  if (!is.matrix(variance)) {
    return(check_numeric_vector(
      variance, lower = 0, lower_open = TRUE, finite = FALSE,
      expected = "a numeric vector or matrix", arg = "slope_variance",
      call = call
    ))
  }
  check_covariance(variance, "slope_variance", call)
}

#' @export
format.logistic_prior <- function(x, ...) {
  check_made(x, needed_fields(logistic_prior), "logistic_prior()")
  value <- function(v) {
    if (is.matrix(v)) {
      return(paste0("a ", nrow(v), " x ", ncol(v), " covariance matrix"))
    }
    format_prior_value(v, "from the predictors")
  }
  share <- if (identical(x$link, "probit")) "Phi" else "sigma"
  each <- x$slope_variance
  moved <- any(c(x$slope_mean, x$intercept_mean) != 0)
  head <- paste0(
    "y_i | w ~ Bernoulli(", share, "(x_i'w + o_i)),  w ~ N(",
    if (moved) "m" else "0", ", C)"
  )
  if (!is.null(names(each)) && !is.matrix(each)) {
    column <- function(title, v) {
      paste0("  ", format(c(title, vapply(v, value, "")), justify = "right"))
    }
    return(c(
      head,
      paste0(
        "  ", format(c("coefficient", names(each))),
        if (moved && isTRUE(x$complete)) column("mean", prior_means(x)),
        column("sd", sqrt(each)),
        column("variance", each)
      ),
      if (!is.null(x$group_scale)) {
        c("groups: sqrt(Sigma_kk) ~ half-t(df, A_k)    (Huang and Wand)",
          format_each_bar("df", x$group_df, "2"),
          format_each_bar("A", x$group_scale))
      },
      if (!is.null(x$basis)) {
        "the numeric variables of interactions are centred"
      },
      if (!isTRUE(x$complete)) format_given_fields(x)
    ))
  }
  c(
    head,
    paste0("  slope_variance     = ", value(x$slope_variance)),
    if (!isTRUE(x$complete)) {
      paste0("  intercept_variance = ", value(x$intercept_variance))
    },
    format_given_fields(x)
  )
}

# The fields of the coefficients that a user gave, or that are not the default.
format_given_fields <- function(x) {
  fields <- c(
    "slope_mean", "slope_sd", "slope_scale", "intercept_mean", "intercept_sd"
  )
  given <- Filter(function(field) {
    length(x[[field]]) > 0L && !(isTRUE(x$complete) && all(x[[field]] == 0))
  }, fields)
  words <- vapply(given, function(field) format_prior_named(x[[field]]), "")
  if (length(words) > 0L) paste0("  ", given, " = ", words)
}

# The prior with `slope_variance` for every column of the design: p variances or
# a p x p matrix, with names. design: of fixed_design().
complete_logistic_prior <- function(prior, design, call) {
  prior <- made_prior(prior, logistic_prior, call)
  columns <- design$columns
  basis <- design$basis
  if (isTRUE(prior$complete)) {
    # of other rows
    basis <- prior$basis
  } else if (!is.null(basis) && is_of_columns(prior)) {
    basis <- NULL
    design <- design$raw
  }
  p <- length(columns)
  intercept <- design$intercept
  slopes <- setdiff(seq_len(p), intercept)
  own_means <- complete_slopes(prior, "slope_mean", 0, columns[slopes], call)
  middle <- if (length(intercept) == 1L) {
    # 0 and not -0 for slopes of mean 0
    prior$intercept_mean %||% (0 - sum(own_means * design$mean[slopes]))
  }
  completed <- function(variances) {
    completed_prior(variances, columns, own_means, middle, basis)
  }
  prior <- split_named_variances(prior, columns, intercept)
  variances <- prior$slope_variance
  if (is.null(variances) ||
        !is.null(names(variances)) && !is.matrix(variances)) {
    given <- slope_variances(prior, design, slopes, call)
  } else {
    given <- arrange_prior(prior, columns, slopes, call)
  }
  if (NROW(given) == p) {
    return(completed(given))
  }
  own <- prior$intercept_variance %||%
    (if (!is.null(prior$intercept_sd)) prior$intercept_sd^2)
  if (is.null(own)) {
    means <- design$mean[slopes]
    own <- 100 + if (is.matrix(given)) {
      sum(means * (given %*% means))
    } else {
      sum(ifelse(means == 0, 0, means^2 * given))
    }
  }
  completed(unite_variances(given, own, slopes, intercept, p))
}

# Whether a prior has covariances or flat parts, which are of the columns of the
# data.
is_of_columns <- function(prior) {
  is.matrix(prior$slope_variance) || any(is.infinite(unlist(prior[c(
    "slope_variance", "slope_sd", "intercept_variance", "intercept_sd"
  )])))
}

# With the variance of the intercept that a vector with names has.
split_named_variances <- function(prior, columns, intercept) {
  own <- columns[intercept]
  all <- prior$slope_variance
  if (!is.matrix(all) && length(own) == 1L && own %in% names(all) &&
        is.null(prior$intercept_variance) && is.null(prior$intercept_sd)) {
    prior$intercept_variance <- all[[own]]
    rest <- all[names(all) != own]
    prior["slope_variance"] <- list(if (length(rest) > 0L) rest)
  }
  prior
}

# The variances of the slopes, those that are not given by default.
slope_variances <- function(prior, design, slopes, call) {
  names <- design$columns[slopes]
  wide <- complete_slopes(prior, "slope_scale", 2.5, names, call)
  sd <- complete_slopes(prior, "slope_sd", NA, names, call)
  variances <- complete_slopes(prior, "slope_variance", NA, names, call)
  open <- is.na(sd) & is.na(variances)
  given <- ifelse(is.na(sd), variances, sd^2)
  if (any(open)) {
    given[open] <- default_variances(
      design, slopes[open], unname(wide[open])
    )
  }
  unname(given)
}

# means: of the slopes, by name; middle: of the intercept, or NULL; basis: of
# centred_basis().
completed_prior <- function(variances, columns, means, middle, basis) {
  if (is.matrix(variances)) {
    dimnames(variances) <- list(columns, columns)
  } else {
    names(variances) <- columns
  }
  out <- list(
    slope_variance = variances, intercept_variance = NULL, group_df = NULL,
    group_scale = NULL, slope_mean = means, slope_sd = NULL,
    slope_scale = NULL, intercept_mean = middle, intercept_sd = NULL,
    complete = TRUE
  )
  out$basis <- basis
  structure(out, class = c("logistic_prior", "gibbsite_prior"))
}

# The means of all coefficients of a completed prior, in their order.
prior_means <- function(prior) {
  variances <- prior$slope_variance
  columns <- if (is.matrix(variances)) rownames(variances) else names(variances)
  out <- stats::setNames(numeric(length(columns)), columns)
  out[names(prior$slope_mean)] <- prior$slope_mean
  if (!is.null(prior$intercept_mean)) {
    out[["(Intercept)"]] <- prior$intercept_mean
  }
  out
}

# The same of the coefficients of the data's columns.
coefficient_means <- function(prior) {
  drop(of_basis(t(prior_means(prior)), prior$basis))
}

# A completed prior that is printed with the model of its link.
linked_prior <- function(prior, link) {
  if (link == "probit") prior$link <- link
  prior
}

# The user's `slope_variance` without names, or as a matrix, for the slopes (or
# for all columns, if it has as many elements), in the order of the columns.
arrange_prior <- function(prior, columns, slopes, call) {
  given <- prior$slope_variance
  p <- length(columns)
  if (length(given) == 1L && !is.matrix(given)) {
    return(rep(given, length(slopes)))
  }
  size <- NROW(given)
  sizes <- unique(c(length(slopes), if (is.null(prior$intercept_variance)) p))
  if (!size %in% sizes) {
    wanted <- or_words(sizes)
    what <- if (is.matrix(given)) "rows" else "elements"
    abort_argument(
      c(
        "`slope_variance` of `prior` must have {wanted} {what}, not {size}.",
        i = "The coefficients are {.val {columns}}."
      ),
      call = call
    )
  }
  names <- colnames(given)
  expected <- if (size == p) columns else columns[slopes]
  if (is.null(names)) {
    return(given)
  }
  check_prior_names(names, expected, call)
  at <- match(expected, names)
  given[at, at, drop = FALSE]
}

check_prior_names <- function(names, expected, call) {
  if (!setequal(names, expected) || anyDuplicated(names)) {
    odd <- c(setdiff(names, expected), names[duplicated(names)])[1L]
    abort_argument(
      c(
        "The names of `slope_variance` of `prior` must be those of the
         coefficients.",
        x = "{.val {odd}} is not one, or is there twice.",
        i = "The coefficients are {.val {expected}}."
      ),
      call = call
    )
  }
}

# (wide / s_j)^2; a constant column has no scale.
default_variances <- function(design, slopes, wide) {
  sd <- design$sd[slopes]
  mean <- design$mean[slopes]
  flat <- !(sd > 0)
  variances <- (wide / sd)^2
  variances[flat] <- ifelse(mean[flat] == 0, 1, 100 / mean[flat]^2)
  say_near_columns(intersect(design$near, design$columns[slopes]))
  names <- design$columns[slopes][flat]
  if (length(names) > 0L) {
    inform_gibbsite(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?does/do} not vary: the
         default prior takes {?it/them} for an intercept, or gives variance 1
         where all is 0.",
        i = "Give `slope_variance` of `prior` in the data's units."
      ),
      class = "constant"
    )
  }
  variances
}

# The coefficients of x and x^2 far from 0 are large and opposite where there is
# a curvature. The default prior has a standard deviation for each alone.
say_near_columns <- function(names) {
  if (length(names) > 1L) {
    inform_gibbsite(
      c(i = "Columns {.val {names}} are nearly collinear, because a predictor is
             far from 0. The default prior, which has a scale for each of them
             alone, allows hardly any curvature.",
        i = "Give {.code poly(x, 2)}, or centre the predictor."),
      class = "collinear"
    )
  }
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

# Q = C^-1 as C reads it, log((2 pi)^-p/2 |Q|^1/2), and the means, or NULL if
# all are 0. The constant is only over the proper directions if some are flat;
# flat ones count as having density 1.
prior_precision <- function(prior) {
  variance <- prior$slope_variance
  means <- unname(coefficient_means(prior))
  mean <- if (any(means != 0)) means
  if (!is.matrix(variance)) {
    proper <- is.finite(variance)
    return(list(
      precision = if (is.null(prior$basis)) {
        unname(1 / variance)
      } else {
        crossprod(unname(solve(prior$basis)) / unname(sqrt(variance)))
      },
      mean = mean,
      constant = -0.5 * sum(log(2 * pi * variance[proper])),
      flat = which(!proper)
    ))
  }
  root <- chol(unname(variance))
  list(
    precision = chol2inv(root), mean = mean,
    constant = -nrow(variance) / 2 * log(2 * pi) - sum(log(diag(root))),
    flat = integer()
  )
}
