# loo() and waic() of every fit that has log_lik(): registered if loo is
# installed.

#' @rdname gmm-checks
#' @exportS3Method loo::loo
loo.gibbsite_fit <- function(x, ...) {
  check_whole_fit(x, "x", rlang::current_env())
  log_lik <- rstantools::log_lik(x)
  loo::loo(log_lik, r_eff = relative_efficiency(x, log_lik), ...)
}

#' @rdname gmm-checks
#' @exportS3Method loo::waic
waic.gibbsite_fit <- function(x, ...) {
  check_whole_fit(x, "x", rlang::current_env())
  loo::waic(rstantools::log_lik(x), ...)
}

relative_efficiency <- function(fit, log_lik) {
  chain <- rep(seq_along(fit), each = nrow(log_lik) / length(fit))
  # scaled because a likelihood may underflow; the result does not depend on the
  # scale
  largest <- apply(log_lik, 2L, max)
  loo::relative_eff(exp(sweep(log_lik, 2L, largest)), chain_id = chain)
}
