# compare_k() of mixtures: the log evidence, and predictive densities by loo.

#' @exportS3Method
model_size.gmm_model <- function(model) model$k

#' @exportS3Method
model_observed.gmm_model <- function(model) {
  x <- unname(model$data$x)
  x[rows_seen(x), , drop = FALSE]
}

#' @exportS3Method
model_compare_k.gmm_model <- function(model, fits, names, settings, call) {
  evidence <- evidence_of_fits(fits, names, settings$seed, call)
  value <- vapply(evidence$values, as.numeric, 0)
  se <- vapply(evidence$values, attr, 0, "se")
  warn_uncertain(evidence$told, names, call)
  best <- which.max(value)
  share <- exp(value - max(value))
  list(
    of = paste0(
      "Mixtures of the same ", counted(model$nobs, "observation"),
      " by log evidence"
    ),
    columns = cbind(
      data.frame(
        log_evidence = value, log_evidence_se = se,
        probability = share / sum(share)
      ),
      predictive_densities(fits)
    ),
    criterion = "log_evidence", second = "elpd_loo", evidence = TRUE,
    difference = value[[best]] - value,
    se = ifelse(seq_along(value) == best, 0, sqrt(se^2 + se[[best]]^2)),
    notes = c(
      "probability: if all are equally probable beforehand",
      slow_notes(fits, names)
    )
  )
}

# list(values, told): the log evidences, and for each fit whether there was a
# warning.
evidence_of_fits <- function(fits, names, seed, call) {
  streams <- chain_streams(seed, length(fits), call)
  told <- logical(length(fits))
  values <- lapply(seq_along(fits), function(i) {
    withCallingHandlers(
      with_stream(streams[[i]], log_evidence(fits[[i]]), call)$value,
      gibbsite_warning_evidence = function(cnd) {
        told[[i]] <<- TRUE
        rlang::cnd_muffle(cnd)
      },
      gibbsite_error_argument = function(cnd) {
        abort_argument(
          "{.val {names[[i]]}} has no log evidence.", call = call,
          class = "no_evidence", parent = cnd
        )
      }
    )
  })
  list(values = values, told = told)
}

warn_uncertain <- function(told, names, call) {
  if (any(told)) {
    warn_gibbsite(
      c("The log evidence of {.val {names[told]}} may be wrong by more than its
         standard error.",
        i = "{.fn log_evidence} of the fit says why."),
      class = "evidence", call = call
    )
  }
}

predictive_densities <- function(fits) {
  each <- lapply(fits, function(fit) {
    # many Pareto k are counted; loo warns of large p_waic, which occurs where
    # Pareto k are large
    found <- suppressWarnings(loo::loo(fit))
    limit <- pareto_limit(dim(found)[[1L]])
    data.frame(
      elpd_loo = found$estimates["elpd_loo", "Estimate"],
      elpd_loo_se = found$estimates["elpd_loo", "SE"],
      pareto_k = sum(found$diagnostics$pareto_k > limit),
      elpd_waic =
        suppressWarnings(loo::waic(fit))$estimates["elpd_waic", "Estimate"]
    )
  })
  do.call(rbind, each)
}
