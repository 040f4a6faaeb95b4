# Predictions and predictive checks of a Gaussian mixture.

# ---- Predictions ------------------------------------------------------------

#' Clusters, probabilities and densities from a Gaussian mixture
#'
#' Clusters, probabilities and densities are averages over the posterior draws;
#' nothing is refitted. The density of new data does not depend on how
#' components are numbered. Clusters and probabilities have the numbers of the
#' fit's components (see [gibbs_gmm()], section Labels).
#'
#' For observations with missing entries only the observed entries are used.
#'
#' @param object A fit made by [gibbs_gmm()].
#' @param newdata `NULL` for the data of the fit, or new observations: a matrix
#'   (also of the Matrix package), data frame or vector with the fit's
#'   variables, taken by name where there are names. Of a fit by formula: a data
#'   frame with the variables of the formula.
#' @param type `"cluster"`: the most probable component of each observation;
#'   `"prob"`: the posterior probabilities of all components; `"density"`: the
#'   density \eqn{\sum_c \pi_c \mathrm{N}(x \mid \mu_c, \Sigma_c)}{sum_c pi_c
#'   N(x | mu_c, Sigma_c)}; its mean over the draws is the posterior predictive
#'   density.
#' @param level For `"density"`: a number between 0 and 1, the probability of
#'   the central interval; default 0.95.
#' @param ... Not used; for `loo()` and `waic()` passed to the loo package, for
#'   `pp_check()` to [bayesplot::ppc_dens_overlay()].
#' @return `predict()`: for `"cluster"` a vector of whole numbers, for `"prob"`
#'   a matrix with a row for each observation and a column for each component,
#'   for `"density"` a data frame with the columns `mean`, `sd`, `lower` and
#'   `upper` (per unit of volume of the data). Row names are kept. The other
#'   observations in `newdata` do not change a bit of an observation's result.
#' @section Errors: `gibbsite_error_argument` for variables that are missing or
#'   too many, infinite values, and for a fit without its data when `newdata` is
#'   `NULL`.
#' @seealso [gmm-unknown] for an unknown `k`, [point_clustering()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' table(predict(fit))
#' new <- data.frame(eruptions = c(2, 3, 4.5), waiting = c(55, 70, NA))
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "density")
#' @importFrom stats predict
#' @export
predict.gibbs_gmm <- function(object, newdata = NULL,
                              type = c("cluster", "prob", "density"),
                              level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("cluster", "prob", "density"))
  level <- check_level(level)
  model <- fit_part(object, "model")
  x <- gmm_newdata(model, newdata, call)
  draws <- component_draws(object, call)
  if (type == "density") {
    return(predict_density(model, draws, x, level))
  }
  predict_cluster(gmm_blocks(model, draws), x, type)
}

# The draws of all chains, which must hold the components.
component_draws <- function(fit, call) {
  model <- fit_part(fit, "model")
  if (!draws_k(model)) {
    return(bind_chains(chain_matrices(fit, "object", call)))
  }
  if (!"components" %in% model$keep) {
    abort_argument(
      c("The fit does not hold the draws of the components.",
        i = "Fit again with {.code keep = c(\"components\", \"z\")}, the
             default."),
      call = call
    )
  }
  bind_chains(model_matrices(fit))
}

# type: "cluster" or "prob".
predict_cluster <- function(blocks, x, type) {
  prob <- evaluate_observed(blocks, x, prob = TRUE)$prob
  dimnames(prob) <- list(rownames(x), seq_len(blocks$k))
  if (type == "prob") {
    return(prob)
  }
  stats::setNames(max.col(prob, ties.method = "first"), rownames(x))
}

# Mean, sd and bounds of the density at each row of x over the draws. In blocks
# of observations, so that draws x observations stays below 64 MB. `seen`: the
# variables in x.
predict_density <- function(model, draws, x, level,
                            seen = seq_along(model$variables)) {
  probs <- central_tails(level)
  parts <- lapply(row_blocks(nrow(x), nrow(draws)), function(rows) {
    density <- exp(mixture_log_density(
      model, draws, x[rows, , drop = FALSE], seen
    ))
    bounds <- column_quantiles(density, probs)
    data.frame(
      mean = colMeans(density), sd = apply(density, 2, stats::sd),
      lower = bounds[1L, ], upper = bounds[2L, ]
    )
  })
  out <- do.call(rbind, parts)
  with_row_names(out, rownames(x))
}

# The observations to predict, with the variables of the fit in their order.
gmm_newdata <- function(model, newdata, call) {
  if (is.null(newdata)) {
    if (is.null(model$data)) {
      abort_no_data("newdata", call)
    }
    return(model$data$x)
  }
  newdata <- observations_of(model, newdata, "newdata", call)
  d <- length(model$variables)
  if (d > 1L && is.atomic(newdata) && is.null(dim(newdata)) &&
        length(newdata) == d) {
    check_array(newdata, "newdata", call)
    newdata <- matrix(newdata, 1L)
  }
  x <- check_data_matrix(
    newdata, "keep", arg = "newdata", call = call, empty_ok = TRUE
  )
  if (any(abs(x) > 1e150, na.rm = TRUE)) {
    abort_argument(
      "{.arg newdata} must be below 1e150: the square of a larger value is
       beyond the range of doubles.",
      call = call
    )
  }
  if (ncol(x) != d) {
    abort_argument(
      "{.arg newdata} must have {d} column{?s} like the fit, not {ncol(x)}.",
      call = call
    )
  }
  x
}

#' @section Log-likelihood and replicated data of a Gaussian mixture:
#' `log_lik()` gives \eqn{\log \sum_c \pi_c \mathrm{N}(x_i \mid \mu_c,
#' \Sigma_c)}{log sum_c pi_c N(x_i | mu_c, Sigma_c)} of each observation under
#' each draw, with the allocations summed out, as `loo()` and `waic()` need it.
#' `posterior_predict()` draws new data sets of the fit's size from the mixture,
#' a set for each draw.
#' @param x A fit made by [gibbs_gmm()].
#' @param ndraws `NULL` for all draws (`pp_check()`: for at most 50), or the
#'   number of draws to use, spread evenly over the chains' draws.
#' @param nobs For `posterior_predict()`: the number of observations in each
#'   data set; `NULL` for the rows of the fit's data.
#' @param variable For `pp_check()`: the variable to show, a name or a number.
#' @return `log_lik()`: a matrix, draws x observations (chain after chain);
#'   that of the fit's own data leaves out rows without any value, see
#'   [kfold][kfold.gibbsite_fit], section Observations.
#'   `posterior_predict()`: an array, draws x observations x variables, or a
#'   matrix for one variable; it takes its random numbers from R's generator.
#'   `loo()` and `waic()`: as the loo package gives them, with the relative
#'   efficiency of the chains; [loo::loo_compare()] warns of fits of other data,
#'   such as `y` and `log(y)`. `pp_check()`: a plot.
#' @section Choosing k:
#' Compare `loo()` of fits with different `k` by [loo::loo_compare()]:
#' components that are not needed do not raise the expected log predictive
#' density. [unknown_k()] makes `k` an unknown of the model instead.
#' @section Errors: `log_lik()`, `posterior_predict()`: for more draws than
#'   there are.
#' @seealso [kfold()], [compare_k()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' dim(log_lik(fit))
#' dim(posterior_predict(fit, ndraws = 10))
#' loo(fit)
#' @rdname predict.gibbs_gmm
#' @name gmm-checks
#' @export
log_lik.gibbs_gmm <- function(object, newdata = NULL, ndraws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  all <- component_draws(object, call)
  x <- gmm_newdata(model, newdata, call)
  rows <- spread_rows(ndraws, nrow(all), call)
  out <- mixture_log_density(model, all[rows, , drop = FALSE], x)
  colnames(out) <- rownames(x)
  if (is.null(newdata)) used_columns(out, rows_seen(x)) else out
}

#' @rdname predict.gibbs_gmm
#' @export
posterior_predict.gibbs_gmm <- function(object, ndraws = NULL, nobs = NULL,
                                        ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(object, "model")
  all <- component_draws(object, call)
  n <- check_count(nobs %||% model$rows, arg = "nobs", call = call)
  rows <- spread_rows(ndraws, nrow(all), call)
  d <- length(model$variables)
  check_result_size(
    c(length(rows), n, d), "draws x observations x variables",
    "{.arg ndraws} or {.arg nobs}", call
  )
  blocks <- component_blocks(model, all)
  k <- drawn_k(model, all)
  out <- vapply(rows, function(s) {
    p <- parameters_of_blocks(present_blocks(model, blocks, s, k[[s]]))
    sim_normals(p, sample.int(length(p$pi), n, replace = TRUE, prob = p$pi))
  }, matrix(0, n, d))
  out <- aperm(array(out, c(n, d, length(rows))), c(3L, 1L, 2L))
  dimnames(out) <- list(NULL, NULL, model$variables)
  if (d == 1L) matrix(out, length(rows), n) else out
}

#' @rdname predict.gibbs_gmm
#' @rawNamespace S3method(bayesplot::pp_check, gibbs_gmm)
pp_check.gibbs_gmm <- function(object, ndraws = NULL, variable = 1, ...) {
  if (has_short_names()) return(with_whole_names())
  check_passed_on(...)
  model <- fit_part(object, "model")
  ndraws <- ndraws %||% min(50, sum(vapply(chain_matrices(object), nrow, 0L)))
  variable <- check_some_of(
    variable, model$variables, rlang::current_env(), one = TRUE
  )
  j <- match(variable, model$variables)
  if (is.null(model$data)) {
    abort_argument(c(
      "{.arg object} must hold its data to be compared with them.",
      i = "It was made with {.code keep_data = FALSE} or {.fn drop_data}."
    ))
  }
  y <- model$data$x[, j]
  replicated <- posterior_predict(object, ndraws = ndraws)
  if (length(model$variables) > 1L) {
    replicated <- matrix(replicated[, , j], dim(replicated)[[1L]])
  }
  seen <- !is.na(y)
  bayesplot::ppc_dens_overlay(
    unname(y[seen]), replicated[, seen, drop = FALSE], ...
  )
}

# ---- Search for a mode ------------------------------------------------------

#' @export
print.gmm_map <- function(x, ...) {
  check_map(x)
  NextMethod()
  writeLines("")
  table <- cbind(weight = x$estimate$pi, x$estimate$mu)
  rownames(table) <- seq_len(x$model$k)
  print(signif(table, 4))
  invisible(x)
}

#' @rdname gibbsite_map
#' @param newdata `NULL` for the data of the search, or new observations.
#' @param type For a mixture: `"cluster"`, the most probable component of each
#'   observation, or `"prob"`, the probabilities of all.
#' @export
predict.gmm_map <- function(object, newdata = NULL, type = c("cluster", "prob"),
                            ...) {
  check_map(object)
  check_no_more(...)
  type <- check_choice(type, c("cluster", "prob"))
  model <- object$model
  x <- gmm_newdata(model, newdata, rlang::current_env())
  e <- object$estimate
  blocks <- list(
    k = model$k, d = length(model$variables), covariance = "full",
    pi = matrix(e$pi, 1L), mu = matrix(e$mu, 1L), sigma = matrix(e$Sigma, 1L)
  )
  predict_cluster(blocks, x, type)
}
