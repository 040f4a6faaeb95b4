# Intervals and diagnostics by the generics of rstantools and bayesplot.

#' Intervals of parameters and of new observations
#'
#' Central posterior intervals: the draws' quantiles that leave the same
#' probability on both sides.
#'
#' @param object A fit.
#' @param prob A number between 0 and 1, default 0.95: the probability of the
#'   interval.
#' @param variables `NULL` (default: all stored quantities), or names of
#'   quantities or blocks, as in [summary.gibbsite_fit()]. Components are
#'   renumbered as there.
#' @param ... `posterior_interval()`: not used. `predictive_interval()`:
#'   arguments of the fit's [posterior_predict()], such as `newdata`.
#' @return A matrix with two columns. `posterior_interval()`: a row for each
#'   quantity. `predictive_interval()`: a row for each observation; by the draws
#'   of [posterior_predict()], which depend on the state of R's generator.
#' @section Errors: `gibbsite_error_argument`.
#' @seealso [summary.gibbsite_fit()], and `confint()` on [regression-data].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1, progress = FALSE)
#' posterior_interval(fit, prob = 0.9)
#' set.seed(1)
#' predictive_interval(fit, newdata = data.frame(speed = c(5, 10)))
#' @name fit-intervals
NULL

#' @rdname fit-intervals
#' @export
posterior_interval.gibbsite_fit <- function(object, prob = 0.95,
                                            variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  prob <- check_level(prob)
  table <- fit_summary(object, variables, central_tails(prob), "object", call)
  matrix(
    c(table[[4L]], table[[5L]]), ncol = 2L,
    dimnames = list(table$variable, end_names(prob))
  )
}

# "2.5%" and "97.5%", as rstantools has them.
end_names <- function(prob) paste0(format_probs(central_tails(prob)), "%")

# Those whose posterior_predict() has one number for each observation.
predicting <- c(
  "gibbs_lm", "gibbs_hlm", "gibbs_logistic", "gibbs_count", "gibbs_ordinal",
  "laplace_logistic", "gibbs_bmf", "gibbs_pmf"
)

#' @rdname fit-intervals
#' @export
predictive_interval.gibbsite_fit <- function(object, prob = 0.95, ...) {
  if (has_short_names()) return(with_whole_names())
  check_fit_of(object, predicting, "object")
  prob <- check_level(prob)
  draws <- posterior_predict(object, ...)
  out <- central_intervals(draws, prob)
  dimnames(out) <- list(colnames(draws), end_names(prob))
  out
}

# ---- bayesplot ---------------------------------------------------------------

#' Convergence of a fit for bayesplot
#'
#' Methods for generics of bayesplot: `rhat()` and `neff_ratio()`, for
#' `mcmc_rhat()` and `mcmc_neff()`, and `log_posterior()`. The quantities are
#' those on which [convergence()] is judged. They do not depend on the numbering
#' of components.
#'
#' @param object A fit.
#' @param ... Not used.
#' @return `rhat()` and `neff_ratio()`: a vector with names; the ratio is the
#'   bulk effective sample size divided by the number of draws. `NA` for a
#'   quantity that is constant. `log_posterior()`: a data frame with the columns
#'   `Chain`, `Iteration` and `Value`, for fits of [mh_sample()], [gibbs_bmf()]
#'   and [gibbs_lda()], which store the log density.
#' @section Errors: `gibbsite_error_argument`; `log_posterior()` also for a fit
#'   that does not store the log density.
#' @seealso [convergence()], [plot.gibbsite_fit()], [clients].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1, progress = FALSE)
#' if (requireNamespace("bayesplot", quietly = TRUE)) {
#'   bayesplot::rhat(fit)
#'   bayesplot::mcmc_neff(bayesplot::neff_ratio(fit))
#' }
#' @name fit-bayesplot
NULL

#' @rdname fit-bayesplot
#' @exportS3Method bayesplot::rhat
rhat.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  table <- judged_table(object)
  stats::setNames(table$rhat, table$variable)
}

#' @rdname fit-bayesplot
#' @exportS3Method bayesplot::neff_ratio
neff_ratio.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  table <- judged_table(object)
  draws <- attr(table, "draws") * attr(table, "chains")
  stats::setNames(table$ess_bulk / draws, table$variable)
}

judged_table <- function(object) {
  fit_convergence(object)
}

#' @rdname fit-bayesplot
#' @exportS3Method bayesplot::log_posterior
log_posterior.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  matrices <- model_matrices(object)
  known <- intersect(c("log_density", "log_joint"), colnames(matrices[[1L]]))
  if (length(known) == 0L) {
    abort_argument(c(
      "The fit does not store the log density.",
      i = "{.fn log_lik} gives the log likelihood of each observation."
    ))
  }
  draws <- nrow(matrices[[1L]])
  data.frame(
    Chain = rep(seq_along(matrices), each = draws),
    Iteration = rep(seq_len(draws), length(matrices)),
    Value = unlist(lapply(matrices, function(m) m[, known[[1L]]]))
  )
}
