# Estimates of a hierarchical linear regression.

#' Estimates, fitted values and residuals of a hierarchical linear regression
#'
#' `fixef()` are the posterior means of the fixed effects \eqn{b}, `vcov()`
#' their posterior covariance matrix. `ranef()` are the posterior means of the
#' groups' deviations \eqn{u_j}{u_j}, `coef()` those of the groups'
#' coefficients: the fixed effects plus the deviations. Both are averages of
#' exact conditional means over the draws, and so are the covariances.
#' `VarCorr()` summarises the standard deviations and correlations of the
#' deviations and \eqn{\sigma}, `confint()` are central posterior intervals of
#' all parameters. `fitted()` are the posterior means of the expected responses,
#' `residuals()` the differences between the responses and these. `sigma()` is
#' the posterior mean of the standard deviation of an observation of weight 1 (1
#' with known standard errors). `weights()` are the observations' weights, 1
#' where none were given. `formula()`, `model.frame()` and `family()` return
#' these parts of the fit.
#'
#' `fixef()`, `ranef()` and `VarCorr()` are generics of nlme (and lme4): load
#' one of these packages to call them, or write `nlme::ranef(fit)`.
#'
#' @param object,x,formula A fit of [gibbs_hlm()], or of [gibbs_logistic()] with
#'   groups.
#' @param sigma Not used (an argument of the generic).
#' @param parm Names or numbers of parameters; default all.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param type `"response"` (default), or `"pearson"`: residuals times the root
#'   of the weights.
#' @param ... Not used.
#' @return `fixef()`: a vector with names; `ranef()` and `coef()`: a list with
#'   the name of the grouping factor, which has a data frame with a row for each
#'   group; that of `ranef()` has the attribute `postVar`, the posterior
#'   covariances (terms x terms x groups); `VarCorr()`: a data frame with a row
#'   for each parameter; `vcov()` and `confint()`: matrices with names;
#'   `fitted()` and `residuals()`: vectors with the names of the rows (`NA` for
#'   rows left out by `na_action = "exclude"`).
#' @section Errors: `gibbsite_error_argument` for unknown parameters and a
#'   level out of range; `gibbsite_error_state` for a fit without its data.
#' @examples
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' nlme::fixef(fit)
#' head(nlme::ranef(fit)$Chick)
#' nlme::VarCorr(fit)
#' head(coef(fit)$Chick)
#' @name hlm-data
NULL

#' @rdname hlm-data
#' @exportS3Method nlme::fixef
fixef.gibbs_hlm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  colMeans(hlm_draws(object)$b)
}

# list(mean, cov): q x J and q x q x J, of the deviations.
deviation_moments <- function(fit) {
  if (is_imputed(fit)) {
    return(mixed_moments(lapply(imputed_parts(fit), deviation_moments)))
  }
  model <- fit_part(fit, "model")
  d <- hlm_draws(fit)
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

#' @rdname hlm-data
#' @exportS3Method nlme::ranef
ranef.gibbs_hlm <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  found <- deviation_moments(object)
  bar <- model$layout$bar
  out <- as.data.frame(t(found$mean))
  dimnames(out) <- list(model$levels, bar)
  dimnames(found$cov) <- list(bar, bar, model$levels)
  attr(out, "postVar") <- found$cov
  stats::setNames(list(out), model$group_name)
}

#' @rdname hlm-data
#' @export
coef.gibbs_hlm <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  fixed <- fixef.gibbs_hlm(object)
  deviations <- ranef.gibbs_hlm(object)[[1L]]
  names <- union(names(fixed), model$layout$bar)
  out <- vapply(names, function(name) {
    rep(if (name %in% names(fixed)) fixed[[name]] else 0, nrow(deviations)) +
      if (name %in% names(deviations)) deviations[[name]] else 0
  }, numeric(nrow(deviations)))
  out <- as.data.frame(matrix(out, nrow(deviations)))
  dimnames(out) <- list(model$levels, names)
  stats::setNames(list(out), model$group_name)
}

#' @rdname hlm-data
#' @exportS3Method nlme::VarCorr
VarCorr.gibbs_hlm <- function( # nolint: object_name_linter.
    x, sigma = 1, level = 0.95, ...) {
  check_no_more(...)
  if (!identical(sigma, 1)) {
    abort_argument("`sigma` must be 1: it belongs to nlme's generic.")
  }
  level <- check_level(level)
  model <- fit_part(x, "model")
  bar <- model$layout$bar
  q <- length(bar)
  at <- which(lower.tri(diag(q)), arr.ind = TRUE)
  cor <- if (!model$layout$diagonal) at else at[0L, , drop = FALSE]
  noise <- "sigma" %in% model$columns
  columns <- c(
    indexed("sd", seq_len(q)), if (nrow(cor) > 0L) correlation_names(q),
    if (noise) "sigma"
  )
  draws <- do.call(rbind, chain_matrices(x))[
    , match(columns, model$columns), drop = FALSE
  ]
  bounds <- central_intervals(draws, level)
  data.frame(
    group = c(
      rep(model$group_name, q + nrow(cor)), if (noise) "Residual"
    ),
    term = c(bar, bar[cor[, 2L]], if (noise) NA),
    with = c(rep(NA, q), bar[cor[, 1L]], if (noise) NA),
    mean = colMeans(draws), sd = apply(draws, 2L, stats::sd),
    lower = bounds[, 1L], upper = bounds[, 2L], row.names = columns
  )
}

#' @rdname hlm-data
#' @export
vcov.gibbs_hlm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  stats::cov(hlm_draws(object)$b)
}

#' @rdname hlm-data
#' @export
confint.gibbs_hlm <- function(object, parm, level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  out <- interval_table(object, level, hlm_interval, call)
  if (missing(parm)) out else some_rows(out, parm, call)
}

# parameters x (lower, upper)
hlm_interval <- function(fit, level) {
  draws <- do.call(rbind, chain_matrices(fit))
  kept <- setdiff(
    colnames(draws), c("log_lik", grep("^w\\[", colnames(draws), value = TRUE))
  )
  central_intervals(draws[, kept, drop = FALSE], level)
}

#' @rdname hlm-data
#' @export
sigma.gibbs_hlm <- function(object, ...) {
  check_no_more(...)
  check_whole_fit(object, "object", rlang::current_env())
  mean(hlm_draws(object)$sigma)
}

#' @rdname hlm-data
#' @export
fitted.gibbs_hlm <- function(object, ...) {
  check_no_more(...)
  check_frame(fit_part(object, "model"))
  predict(object)
}

#' @rdname hlm-data
#' @export
residuals.gibbs_hlm <- function(object, type = c("response", "pearson"), ...) {
  check_no_more(...)
  type <- check_choice(type, c("response", "pearson"))
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  rows <- hlm_rows(model, NULL, NULL, NULL, FALSE, rlang::current_env())
  mean <- hlm_moments(object, rows, NULL, "mean", 0.95, FALSE)$mean
  as_excluded(
    model, with_row_names(frame_residuals(frame, mean, type), rows$names)
  )
}

#' @rdname hlm-data
#' @export
formula.gibbs_hlm <- function(x, ...) {
  in_its_space(model_design(fit_part(x, "model"))$formula)
}

#' @rdname hlm-data
#' @export
model.frame.gibbs_hlm <- function(formula, ...) {
  check_frame(fit_part(formula, "model"))$model
}
