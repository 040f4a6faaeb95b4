# The check of a Laplace approximation by importance sampling.

#' How good a Laplace approximation is
#'
#' Computes importance weights of draws of the normal approximation with respect
#' to the density that it approximates: \eqn{w_s = q(\theta_s) /
#' \mathrm{N}(\theta_s \mid \hat\theta, \Sigma)}{w_s = q(theta_s) / N(theta_s |
#' map, Sigma)}, where \eqn{q} is likelihood times prior, or the density given
#' to [laplace()]. If the approximation is good, the weights are nearly equal.
#' If its tails are too light, a few draws have almost all of the weight, and
#' the shape \eqn{k} of a generalised Pareto distribution fitted to the largest
#' weights is large.
#'
#' Pareto \eqn{k} and the smoothing of the largest weights come from
#' [loo::psis()]; without the loo package the weights are used as they are, and
#' `pareto_k` is `NA`.
#'
#' | Pareto k | effective size of the draws | the approximation |
#' |---|---|---|
#' | below 0.5 | half of them or more | good: weights of finite variance |
#' | 0.5 to 0.7 | a fifth to a half | usable: prefer corrected values |
#' | above 0.7 | less than a fifth | not good |
#'
#' The worse of the two counts. A normal distribution that is much too wide has
#' a small \eqn{k}, and few draws where the density is.
#'
#' If it is not good, use `correct = "importance"` and check R-hat and effective
#' sample size, or use another sampler.
#'
#' @section Corrected values:
#' Posterior means, standard deviations and the evidence are not computed from
#' the weights above, because these contain no information about a tail that the
#' draws do not reach. For \eqn{k} above about 0.4 their error is often
#' larger than an estimate of it from the same weights, and usually towards the
#' mode. (Smoothing changes this error little.) So an equal number of draws from
#' the multivariate t distribution with 5 degrees of freedom, centred at the
#' mode with scale \eqn{\Sigma}{Sigma}, is added, on a stream that the fit's
#' seed determines. All draws are weighted with respect to the mixture: \eqn{v_s
#' = q(\theta_s) / [\mathrm{N}(\theta_s) / 2 + t_5(\theta_s) / 2]}{v_s =
#' q(theta_s) / [N(theta_s) / 2 + t_5(theta_s) / 2]} (Hesterberg 1995). These
#' weights are bounded where \eqn{q} has lighter tails than the t distribution,
#' as every posterior of a logistic regression with a normal prior has. The
#' standard errors `mcse` and `log_evidence_se` are then valid. The estimate of
#' the evidence uses \eqn{\mathrm{N} / (\mathrm{N} / 2 + t_5 / 2)}{N / (N / 2 +
#' t_5 / 2)}, whose mean is 1, as a control variate (Owen and Zhou 2000), so
#' that it is exact for a normal density.
#'
#' `corrected_k`, the Pareto \eqn{k} of the weights \eqn{v_s}, shows whether
#' this correction is sufficient. From 0.5 on (heavy tails, several modes, tens
#' of parameters with few data) errors may be larger than the standard errors
#' say. Above 0.7 the corrected values are not reliable either; [print()] says
#' so.
#'
#' The numbers are not stored in the fit: [print()] and [summary()] compute
#' them, too.
#'
#' @section Draws of the density itself:
#' With `correct = "importance"` of
#' [laplace()] and [laplace_logistic()] each chain is an iterated sampling
#' importance resampling (Andrieu, Lee and Vihola 2018): every sweep draws 15
#' points from a multivariate t distribution with 5 degrees of freedom, with
#' \eqn{\hat\theta}{the mode} as its centre and \eqn{\Sigma}{Sigma} as its
#' scale, adds the current point, and chooses one of the 16 with probability
#' proportional to its weight, the density divided by the t density. This leaves
#' the density itself invariant for any approximation. A poor approximation only
#' makes the chain mix slowly, and R-hat and effective sample sizes show this as
#' for any chain. (The chain is uniformly ergodic if the weights are bounded, as
#' they are for posteriors with normal priors. With normal proposals the weights
#' need not be bounded.) The first 20 sweeps are burn-in. A draw takes 15
#' evaluations of the density.
#'
#' @param fit A fit of [laplace_logistic()] or [laplace()], with its data.
#' @param ndraws `NULL` for all draws of the fit, or the number of draws to use,
#'   spread evenly. (The chains of a corrected fit are draws of the posterior.
#'   For such a fit, `ndraws` new draws of the approximation are made, by
#'   default as many as the fit has, on a stream that the fit's seed
#'   determines.)
#' @return An object of class `laplace_importance`, a list: `pareto_k`; `ess`
#'   (the effective size of the weighted draws, \eqn{(\sum w)^2 / \sum w^2});
#'   `draws`; `corrected_k` and `corrected_ess`, the same for the weights of the
#'   corrected values (there are twice `draws` of these weights); `log_evidence`
#'   and `log_evidence_se`, the corrected evidence with its standard error,
#'   beside `log_evidence_laplace`; `estimates`, a data frame with the columns
#'   `variable`, `map`, `map_sd` (of the approximation), `mean`, `sd`
#'   (corrected), `mcse` (Monte Carlo standard error of the mean);
#'   `log_weights`, the logarithms of the draws' weights, smoothed, normalised
#'   so that the weights sum to one, in the order of the draws; and `verdict` on
#'   the approximation, `"good"`, `"usable"`, `"not good"` or `"unknown"`.
#' @section Errors: `gibbsite_error_argument` for anything but a Laplace
#'   approximation and for more draws than there are; `gibbsite_error_state` for
#'   a fit without its data; `gibbsite_error_numeric` when no draw has a
#'   positive density.
#' @references
#' Vehtari A, Simpson D, Gelman A, Yao Y, Gabry J (2024). Pareto smoothed
#' importance sampling. *Journal of Machine Learning Research* 25(72), 1-58.
#' \doi{10.48550/arXiv.1507.02646}
#'
#' Hesterberg T (1995). Weighted average importance sampling and defensive
#' mixture distributions. *Technometrics* 37, 185-194.
#' \doi{10.1080/00401706.1995.10484303}
#'
#' Owen A, Zhou Y (2000). Safe and effective importance sampling. *Journal of
#' the American Statistical Association* 95, 135-143.
#' \doi{10.1080/01621459.2000.10473909}
#'
#' Andrieu C, Lee A, Vihola M (2018). Uniform ergodicity of the iterated
#' conditional SMC and geometric ergodicity of particle Gibbs samplers.
#' *Bernoulli* 24, 842-872. \doi{10.3150/15-BEJ785}
#' @seealso [laplace_logistic()], [laplace()], [log_evidence()], [compare()]
#'   with exact draws.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' importance_check(fit)
#' @export
importance_check <- function(fit, ndraws = NULL) {
  check_needed(fit = "a fit made by laplace_logistic() or laplace()")
  call <- rlang::current_env()
  check_laplace(fit, call = call)
  model <- fit_part(fit, "model")
  if (is.null(model$frame)) {
    abort_no_data(call = call)
  }
  both <- mixture_draws(fit, ndraws, call)
  own <- seq_len(nrow(both$w) / 2)
  weighed <- weigh_draws(
    model, both$w[own, , drop = FALSE], both$log_joint[own], call
  )
  corrected <- correct_moments(model, both$w, both$log_joint)
  structure(
    c(weighed, corrected), class = "laplace_importance"
  )
}

# list(w, log_joint): draws of N(map, Sigma), then as many of the t distribution
# about the same mode, with their log density.
mixture_draws <- function(fit, ndraws, call) {
  model <- fit_part(fit, "model")
  w <- importance_draws(fit, ndraws, call)
  w <- rbind(w, on_stream_of(
    fit, "check_points", draw_proposals(model, nrow(w))$w, call
  ))
  list(w = w, log_joint = joint_of_draws(fit, w, call))
}

# The part of the check that measures the quality of the approximation.
importance_weights <- function(fit) {
  call <- rlang::current_env()
  w <- importance_draws(fit, NULL, call)
  weigh_draws(
    fit_part(fit, "model"), w, joint_of_draws(fit, w, call), call
  )
}

check_laplace <- function(fit, arg = "fit", call = rlang::caller_env()) {
  check_fit_of(fit, c("laplace_logistic", "gibbsite_laplace"), arg, call)
}

# Whether x has every element that print() reads; a user may have changed them.
is_importance_check <- function(x) {
  parts <- unclass(x)
  numbers <- c(
    "pareto_k", "corrected_k", "ess", "corrected_ess", "draws", "log_evidence",
    "log_evidence_se", "log_evidence_laplace"
  )
  columns <- c("variable", "map", "map_sd", "mean", "sd", "mcse")
  is.list(parts) && is_plain_string(parts$verdict) &&
    all(vapply(parts[numbers], function(one) {
      is.numeric(one) && length(one) == 1L
    }, NA)) && is.data.frame(parts$estimates) &&
    all(columns %in% names(parts$estimates))
}

# Draws of the normal approximation, one a row.
importance_draws <- function(fit, ndraws, call) {
  model <- fit_part(fit, "model")
  if (!is_corrected(model)) {
    all <- bind_chains(chain_matrices(fit))
    return(all[spread_rows(ndraws, nrow(all), call), , drop = FALSE])
  }
  available <- length(fit) * nrow(.subset2(fit, 1L))
  ndraws <- check_count(ndraws %||% available, arg = "ndraws", call = call)
  on_stream_of(fit, "check_draws", draw_normal(model, ndraws), call)
}

# The value of an expression that may draw random numbers. They come from a
# stream that the fit's seed determines, so that a check can be repeated and the
# session's generator does not change.
on_stream_of <- function(fit, purpose, expr, call) {
  seed <- fit_part(fit, "running")$seed
  with_stream(spare_stream(seed, length(fit), purpose, call), expr, call)$value
}

# log q at each of the draws. A user's density may draw random numbers.
joint_of_draws <- function(fit, w, call) {
  model <- fit_part(fit, "model")
  if (is.null(model$frame$log_density)) {
    return(model_log_joint(model, w))
  }
  on_stream_of(fit, "check_density", model_log_joint(model, w), call)
}

weigh_draws <- function(model, w, log_joint, call) {
  log_ratio <- log_joint - log_normal_kernel(model, w) -
    log_normal_constant(model)
  check_some_density(log_ratio, call)
  smoothed <- smooth_weights(log_ratio)
  largest <- max(smoothed$log_weights)
  weight <- exp(smoothed$log_weights - largest)
  total <- sum(weight)
  ess <- total^2 / sum(weight^2)
  list(
    pareto_k = smoothed$pareto_k, ess = ess, draws = nrow(w),
    log_weights = smoothed$log_weights - largest - log(total),
    verdict = importance_verdict(smoothed$pareto_k, ess / nrow(w))
  )
}

check_some_density <- function(log_joint, call) {
  if (!any(log_joint > -Inf)) {
    abort_numeric(
      c("No draw of the normal approximation has a positive density.",
        i = "The approximation is useless here."),
      call = call
    )
  }
}

# Estimates from the draws w, of which the first half is from N(map, Sigma) and
# the second half from the t distribution about the same mode. The weights are
# with respect to the mixture of both, whose density is at least half of the
# larger of the two everywhere.
correct_moments <- function(model, w, log_joint) {
  weighed <- mixture_weights(model, w, log_joint)
  weight <- weighed$weight
  largest <- weighed$largest
  # the control variate has mean 0 under the mixture
  control <- exp(weighed$log_normal - weighed$log_mixture) - 1
  slope <- stats::cov(weight, control) / stats::var(control)
  evidence <- weight - slope * control
  if (!isTRUE(mean(evidence) > 0)) { # of a handful of draws
    evidence <- weight
  }
  known <- is.finite(model$log_evidence)
  list(
    corrected_k = weighed$pareto_k, corrected_ess = weighed$ess,
    log_evidence = if (known) largest + log(mean(evidence)) else NA_real_,
    log_evidence_se = if (known) {
      stats::sd(evidence) / mean(evidence) / sqrt(nrow(w))
    } else {
      NA_real_
    },
    log_evidence_laplace = model$log_evidence,
    estimates = data.frame(
      variable = model$columns, map = unname(model$data$map),
      map_sd = sqrt(diag(laplace_covariance(model))),
      weighted_moments(w, weight / sum(weight)), row.names = NULL
    )
  )
}

# Of draws of mixture_draws(): `weight`, relative to the largest, whose
# logarithm is `largest`; their effective size `ess`; and the log densities of
# the normal distribution and of the mixture.
mixture_weights <- function(model, w, log_joint) {
  log_normal <- log_normal_kernel(model, w) + log_normal_constant(model)
  log_mixture <- log_mean_of(log_normal, log_t_density(model, w))
  log_ratio <- log_joint - log_mixture
  weight <- exp(log_ratio - max(log_ratio))
  list(
    log_normal = log_normal, log_mixture = log_mixture, weight = weight,
    largest = max(log_ratio), ess = sum(weight)^2 / sum(weight^2),
    pareto_k = smooth_weights(log_ratio)$pareto_k
  )
}

# log((exp(a) + exp(b)) / 2)
log_mean_of <- function(a, b) {
  pmax(a, b) + log1p(exp(-abs(a - b))) - log(2)
}

# log density of the draws of draw_proposals()
log_t_density <- function(model, w) {
  df <- corrected_df
  p <- ncol(w)
  lgamma((df + p) / 2) - lgamma(df / 2) - p / 2 * log(df / 2) +
    log_normal_constant(model) -
    (df + p) / 2 * log1p(-2 * log_normal_kernel(model, w) / df)
}

# Whether weights differ only by rounding: the density is then normal.
equal_weights <- function(log_ratio) {
  all(is.finite(log_ratio)) && diff(range(log_ratio)) < 1e-8
}

# list(log_weights, pareto_k): unnormalised.
smooth_weights <- function(log_ratio) {
  if (length(log_ratio) > 1L && equal_weights(log_ratio)) {
    return(list(log_weights = log_ratio, pareto_k = -Inf))
  }
  if (length(log_ratio) < 25L) {
    return(list(log_weights = log_ratio, pareto_k = NA_real_))
  }
  # loo does not accept -Inf: use a weight that is negligible relative to all
  # others
  shift <- max(log_ratio)
  ratio <- pmax(log_ratio - shift, -1e4)
  # loo warns of large k, which the verdict already shows
  smoothed <- suppressWarnings(loo::psis(ratio, r_eff = 1))
  weights <- as.vector(stats::weights(smoothed, normalize = FALSE))
  # loo subtracts a constant; it follows from the least weight, which is not
  # smoothed
  least <- which.min(ratio)
  weights <- weights - weights[[least]] + ratio[[least]] + shift
  weights[log_ratio == -Inf] <- -Inf
  list(
    log_weights = weights,
    pareto_k = as.vector(loo::pareto_k_values(smoothed))
  )
}

weighted_moments <- function(w, share) {
  mean <- colSums(w * share)
  away <- w - rep(mean, each = nrow(w))
  data.frame(
    mean = mean, sd = sqrt(colSums(away^2 * share)),
    mcse = sqrt(colSums((away * share)^2))
  )
}

# share: the effective size as a share of the draws, 1 where it does not matter.
importance_verdict <- function(pareto_k, share = 1) {
  if (is.na(pareto_k)) {
    "unknown"
  } else if (pareto_k >= 0.7 || share < 0.2) {
    "not good"
  } else if (pareto_k >= 0.5 || share < 0.5) {
    "usable"
  } else {
    "good"
  }
}

pareto_words <- function(k) paste("Pareto k", format(round(k, 2), nsmall = 2))

# One line for print() and summary(). size: whether it names the effective size
# where the verdict is due to it.
importance_line <- function(check, size = TRUE) {
  if (check$verdict == "unknown") {
    return("Importance check: k needs the loo package and 25 draws or more.")
  }
  k <- if (check$pareto_k == -Inf) {
    "the density is normal"
  } else {
    pareto_words(check$pareto_k)
  }
  few <- size && check$verdict != importance_verdict(check$pareto_k)
  paste0(
    "Importance check: ", k, ", ",
    if (few) {
      paste0("effective size ", floor(check$ess), " of ", check$draws, ", ")
    },
    switch(check$verdict,
      good = "the approximation is good.",
      usable = "the approximation is usable; prefer corrected values.",
      "not good" = "the approximation is not good."
    )
  )
}

# A warning about the corrected values if they are not reliable.
correction_line <- function(check) {
  k <- check$corrected_k
  if (is.na(k) || k < 0.5) {
    return(NULL)
  }
  paste0(
    "Corrected values ",
    if (k < 0.7) {
      "may be further off than their errors say"
    } else {
      "cannot be trusted"
    },
    " (", pareto_words(k), ")."
  )
}

correction_advice <-
  "Fit with correct = \"importance\", or sample by other means."

needs_correction <- function(check) {
  check$verdict == "not good" || isTRUE(check$corrected_k >= 0.7)
}

#' @export
print.laplace_importance <- function(x, ...) {
  if (!is_importance_check(x)) {
    return(invisible(print(unclass(x), ...)))
  }
  e <- x$estimates
  write_lines(c(
    importance_line(x, size = FALSE),
    paste0(
      "Effective size ", floor(x$ess), " of ", x$draws, " draws, ",
      floor(x$corrected_ess), " of ", 2 * x$draws, " for corrected values."
    ),
    if (!is.na(x$log_evidence)) {
      paste0(
        "Log evidence ", format_evidence(x$log_evidence), " (se ",
        show_significant(x$log_evidence_se, 2), "), Laplace's ",
        format_evidence(x$log_evidence_laplace), "."
      )
    },
    correction_line(x),
    if (needs_correction(x)) correction_advice,
    ""
  ))
  shown <- data.frame(
    show_numbers(e[c("map", "map_sd", "mean", "sd")], e$mean, e$sd),
    mcse = show_significant(e$mcse, 2), check.names = FALSE
  )
  names(shown)[1:2] <- c("MAP", "MAP sd")
  print_table(e$variable, shown)
  invisible(x)
}

format_evidence <- function(x) formatC(x, format = "f", digits = 2)

# Whether print() may evaluate the log joint density at `draws` points: only if
# this takes less than a third of a second.
check_is_cheap <- function(model, draws) {
  seconds <- model$point_seconds
  if (is.na(seconds)) {
    at_mode <- rbind(model$data$map)
    # the density may draw random numbers
    saved <- save_generator()
    on.exit(restore_generator(saved))
    # the fastest of five: the first one compiles
    seconds <- min(vapply(1:5, function(i) {
      began <- now()
      model_log_joint(model, at_mode)
      now() - began
    }, 0))
  }
  seconds * draws < 0.3
}
