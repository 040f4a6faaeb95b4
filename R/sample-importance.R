# Self-normalised importance sampling.

#' Importance sampling
#'
#' Draws points from a proposal with density \eqn{q} and weighs them towards a
#' density \eqn{p(x) = \tilde p(x) / Z}{p(x) = p~(x) / Z} known up to its
#' normaliser: \deqn{w_i \propto \frac{\tilde p(x_i)}{q(x_i)}, \quad \sum_i w_i
#' = 1, \quad \hat Z = \frac1n \sum_i \frac{\tilde p(x_i)}{q(x_i)}.}{w_i
#' proportional to p~(x_i) / q(x_i), sum w_i = 1, Z = mean(p~(x_i) / q(x_i)).}
#' Expectations are weighted means (the self-normalised estimate), whose bias is
#' of order \eqn{1/n}; [monte_carlo()] gives them with their error.
#'
#' The effective size \eqn{1 / \sum w_i^2}{1 / sum(w_i^2)} is the number of
#' equal weights with the same variance. It, and every error computed from the
#' weights, says nothing about regions that no point has reached. The shape
#' \eqn{k} of a Pareto distribution fitted to the largest weights
#' ([loo::psis()]) is the better warning (Vehtari et al. 2024): below 0.5 the
#' weights have a finite variance; above 0.7 the estimates are not reliable, and
#' `print()` says so. It is `NA` without the loo package and for fewer than 25
#' points, and `-Inf` for several weights that are all equal. The weights
#' themselves are not smoothed.
#'
#' A proposal must have heavier tails than the target: [independence()] makes
#' multivariate t proposals.
#'
#' @inheritParams sample_rejection
#' @param n Whole number, 1 or more: how many points.
#' @return An object of class `importance_sample`, an [empirical_distribution()]
#'   with all its methods (`mean()`, `quantile()`, `summary()`, `plot()`,
#'   `resample_draws()`, ...): a list with `x` (the points, a matrix),
#'   `weights`, `log_weights` (\eqn{\log \tilde p - \log q}{log p~ - log q}),
#'   `ess`, `pareto_k`, and `log_normaliser` with its standard error
#'   `log_normaliser_se`.
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong kind;
#'   `gibbsite_error_numeric` when a function fails or returns anything but one
#'   number for each point, and when the target is zero at every point.
#' @references
#' Geweke J (1989). Bayesian inference in econometric models using Monte Carlo
#' integration. *Econometrica* 57, 1317-1339. \doi{10.2307/1913710}
#'
#' Vehtari A, Simpson D, Gelman A, Yao Y, Gabry J (2024). Pareto smoothed
#' importance sampling. *Journal of Machine Learning Research* 25(72), 1-58.
#' \doi{10.48550/arXiv.1507.02646}
#' @family samples
#' @examples
#' set.seed(1)
#' x <- sample_importance(
#'   2000, function(x) dgamma(x, 3, log = TRUE),
#'   list(
#'     draw = function(n) rexp(n, 0.3),
#'     log_density = function(x) dexp(x, 0.3, log = TRUE)
#'   )
#' )
#' x
#' monte_carlo(x, function(x) x > 5)
#' pgamma(5, 3, lower.tail = FALSE)
#' @export
sample_importance <- function(n, log_target, proposal) {
  check_needed(
    n = "how many points", log_target = "the log density to weigh towards",
    proposal = "where the points are drawn"
  )
  call <- rlang::current_env()
  n <- check_sample_size(n)
  check_function(log_target, "log_target", call = call)
  proposal <- sampling_proposal(proposal, call)
  batch <- propose_draws(n, log_target, proposal, call)
  log_weights <- batch$log_target - batch$log_proposal
  largest <- max(log_weights)
  if (largest == -Inf) {
    abort_numeric(
      c("{.arg log_target} is -Inf at every point.",
        i = "{.arg proposal} draws where the target is zero."),
      class = "density"
    )
  }
  weight <- exp(log_weights - largest)
  x <- as.matrix(batch$x)
  colnames(x) <- colnames(x) %||% if (ncol(x) == 1L) "x" else
    paste0("V", seq_len(ncol(x)))
  new_empirical(
    x, weight, is.null(dim(batch$x)), "importance_sample",
    log_weights = log_weights, ess = sum(weight)^2 / sum(weight^2),
    pareto_k = smooth_weights(log_weights)$pareto_k,
    log_normaliser = largest + log(mean(weight)),
    log_normaliser_se = stats::sd(weight) / mean(weight) / sqrt(n)
  )
}

#' @exportS3Method
print_weighing.importance_sample <- function(x) {
  fields <- c("pareto_k", "log_normaliser", "log_normaliser_se")
  check_made(x, fields, "sample_importance()")
  numbers <- vapply(fields, function(name) {
    is.numeric(x[[name]]) && length(x[[name]]) == 1L
  }, NA)
  if (!all(numbers)) {
    check_made(list(), "pareto_k", "sample_importance()", "x")
  }
  writeLines(c(
    paste0(
      "Log normaliser ", format(x$log_normaliser, digits = 5),
      " (standard error ", format(x$log_normaliser_se, digits = 2), ")"
    ),
    paste0(
      "Pareto k ", format(x$pareto_k, digits = 2), ": ",
      switch(importance_verdict(x$pareto_k),
        good = "the weights are good",
        usable = "the weights are usable",
        "not good" = "the estimates are not reliable",
        unknown = "not known (the loo package, 25 points)"
      )
    )
  ))
}
