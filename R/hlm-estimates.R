# Estimates of regressions with groups.

#' Effects of the groups of a regression
#'
#' `fixef()` are the posterior means of the fixed effects \eqn{b}. `ranef()` are
#' the posterior means of the groups' deviations \eqn{u_j}{u_j}, and
#' [coef()][coef.gibbsite_fit] those of the groups' coefficients: the
#' fixed effects plus the deviations, of all bars of a factor together. Of
#' [gibbs_hlm()] both are averages of exact conditional means over the draws,
#' and so are the covariances.
#' `VarCorr()` summarises the standard deviations and correlations of the
#' deviations and \eqn{\sigma}.
#'
#' `fixef()`, `ranef()` and `VarCorr()` are the generics of nlme, which lme4 has
#' too: fits of these packages are read by them as before.
#'
#' @param object,x A fit of [gibbs_hlm()], or of [gibbs_logistic()] with groups;
#'   for `fixef()` of any regression.
#' @param sigma Not used (an argument of the generic).
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param ... Not used.
#' @return `fixef()`: a vector with names; `ranef()`: a list with a data frame
#'   for each grouping factor, by its name. It has a row for each group and the
#'   attribute `postVar`, the posterior covariances (terms x terms x groups);
#'   `VarCorr()`: a data frame with a row for each parameter.
#' @section Errors: `gibbsite_error_argument` for a level out of range, and for
#'   fits without groups.
#' @seealso [gibbs_hlm()], [gibbs_logistic()], [regression-data],
#'   [plot.gibbsite_regression()].
#' @examples
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' fixef(fit)
#' head(ranef(fit)$Chick)
#' VarCorr(fit)
#' head(coef(fit)$Chick)
#' @aliases fixef ranef VarCorr
#' @name fixef.gibbsite_regression
NULL

#' @rdname fixef.gibbsite_regression
#' @rawNamespace S3method(nlme::fixef, gibbsite_regression)
fixef.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  if (has_groups(model)) fixed_effects(object) else stats::coef(object)
}

fixed_effects <- function(fit) colMeans(coefficient_draws(fit))

# The model of a fit with groups.
grouped_model <- function(fit, arg, call) {
  model <- fit_part(fit, "model")
  if (!has_groups(model)) {
    abort_no_groups(model, arg, "a fit of a formula with groups", call)
  }
  model
}

# list(mean, cov): q x J and q x q x J, of the deviations.
deviation_moments <- function(fit) {
  if (is_imputed(fit)) {
    return(mixed_moments(lapply(imputed_parts(fit), deviation_moments)))
  }
  model <- fit_part(fit, "model")
  d <- hlm_draws_in(model, bind_chains(chain_matrices(fit)))
  q <- model$data$q
  groups <- length(model$levels)
  mean <- matrix(0, q, groups)
  cov <- array(0, c(q, q, groups))
  for (block in row_blocks(groups, length(d$sigma) * q^2, most = 4e6)) {
    u <- hlm_deviations(model, d, block)
    for (g in seq_along(block)) {
      centre <- matrix(u$mean[, g, ], q)
      j <- block[[g]]
      mean[, j] <- rowMeans(centre)
      within <- 0
      for (c in seq_len(q)) {
        within <- within + tcrossprod(matrix(u$root[, c, g, ], q))
      }
      cov[, , j] <- within / ncol(centre) + stats::cov(t(centre))
    }
  }
  list(mean = mean, cov = cov)
}

# The moments of a mixture with equal weights.
mixed_moments <- function(parts) {
  count <- length(parts)
  mean <- Reduce(`+`, lapply(parts, `[[`, "mean")) / count
  cov <- Reduce(`+`, lapply(parts, `[[`, "cov")) / count
  for (j in seq_len(ncol(mean))) {
    away <- vapply(parts, function(part) part$mean[, j] - mean[, j], mean[, j])
    cov[, , j] <- cov[, , j] + tcrossprod(matrix(away, nrow(mean))) / count
  }
  list(mean = mean, cov = cov)
}

#' @rdname fixef.gibbsite_regression
#' @rawNamespace S3method(nlme::ranef, gibbsite_regression)
ranef.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  grouped_model(object, "object", rlang::current_env())
  predictor_deviations(fit_part(object, "model"), object)
}

#' @exportS3Method
predictor_deviations.hlm_model <- function(model, fit) {
  found <- deviation_moments(fit)
  bar <- model$layout$bar
  out <- as.data.frame(t(found$mean))
  dimnames(out) <- list(model$levels, bar)
  dimnames(found$cov) <- list(bar, bar, model$levels)
  attr(out, "postVar") <- found$cov
  stats::setNames(list(out), model$group_name)
}

#' @exportS3Method
predictor_coefficients.hlm_model <- function(model, fit) {
  fixed <- fixed_effects(fit)
  effects <- predictor_deviations(model, fit)
  # all bars of a factor make the coefficients of its groups
  lapply(bars_by_factor(model), function(bars) {
    deviations <- do.call(cbind, unname(effects[bars]))
    names <- union(names(fixed), names(deviations))
    out <- vapply(names, function(name) {
      rep(if (name %in% names(fixed)) fixed[[name]] else 0, nrow(deviations)) +
        if (name %in% names(deviations)) deviations[[name]] else 0
    }, numeric(nrow(deviations)))
    out <- as.data.frame(matrix(out, nrow(deviations)))
    dimnames(out) <- list(rownames(deviations), names)
    out
  })
}

#' @rdname fixef.gibbsite_regression
#' @rawNamespace S3method(nlme::VarCorr, gibbsite_regression)
VarCorr.gibbsite_regression <- function( # nolint: object_name_linter.
    x, sigma = 1, level = 0.95, ...) {
  check_no_more(...)
  if (!identical(sigma, 1)) {
    abort_argument("`sigma` must be 1: it belongs to nlme's generic.")
  }
  level <- check_level(level)
  model <- grouped_model(x, "x", rlang::current_env())
  bars <- predictor_bars(model)
  noise <- "sigma" %in% model$columns
  columns <- c(
    unlist(lapply(bars, `[[`, "columns")), if (noise) "sigma"
  )
  words <- do.call(rbind, Map(function(name, design, columns) {
    bar <- design$bar
    q <- length(bar)
    cor <- which(lower.tri(diag(q)), arr.ind = TRUE)
    if (design$diagonal) cor <- cor[0L, , drop = FALSE]
    data.frame(
      group = rep(name, length(columns)), term = c(bar, bar[cor[, 2L]]),
      with = c(rep(NA, q), bar[cor[, 1L]])
    )
  }, names(bars), lapply(bars, `[[`, "design"), lapply(bars, `[[`, "columns")))
  if (noise) words <- rbind(words, data.frame(
    group = "Residual", term = NA, with = NA
  ))
  draws <- bind_chains(
    chain_matrices(x), columns = match(columns, model$columns)
  )
  bounds <- central_intervals(draws, level)
  data.frame(
    words, mean = colMeans(draws), sd = apply(draws, 2L, stats::sd),
    lower = bounds[, 1L], upper = bounds[, 2L], row.names = columns
  )
}

# The bars by the names of their groups: a list of list(design, columns), the
# names of the standard deviations and correlations.
#' @exportS3Method
predictor_bars.hlm_model <- function(model) {
  design <- model$layout
  q <- length(design$bar)
  stats::setNames(list(list(
    design = design, columns = c(
      indexed("sd", seq_len(q)),
      if (!design$diagonal && q > 1L) correlation_names(q)
    )
  )), model$group_name)
}

# All columns but the log-likelihood and the coefficients of groups.
#' @exportS3Method
predictor_parameters.hlm_model <- function(model) {
  grep("^(log_lik$|w\\[)", model$columns, invert = TRUE)
}
