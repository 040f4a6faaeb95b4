# A fit of several completed data sets, made by combine_fits(data = "imputed"):
# its chains by data set. The field `imputed` of its model is a list with
# `models`, the model of each data set, and `set`, the data set of each chain.
# All other fields are those of the first data set's model.

is_imputed <- function(fit) !is.null(attr(fit, "model", exact = TRUE)$imputed)

# The numbers of the chains of each data set; all chains of other fits.
chain_sets <- function(fit) {
  set <- fit_part(fit, "model")$imputed$set %||% rep(1L, length(fit))
  unname(split(seq_along(set), set))
}

# The fits of the single data sets, for predictions.
imputed_parts <- function(fit) {
  models <- fit_part(fit, "model")$imputed$models
  sets <- chain_sets(fit)
  lapply(seq_along(sets), function(m) {
    own <- sets[[m]]
    running <- fit_part(fit, "running")
    running$chains <- length(own)
    structure(
      unclass(fit)[own], model = models[[m]], running = running,
      chains = fit_part(fit, "chains")[own], pending = NULL,
      run = fit_part(fit, "run"),
      class = c(models[[m]]$fit_class, "gibbsite_fit", "mcmc.list")
    )
  })
}

# Measures of sets of chains as one: the worst of them.
worst_measures <- function(tables) {
  each <- function(column, f) do.call(f, lapply(tables, `[[`, column))
  out <- tables[[1L]]
  out$rhat <- each("rhat", pmax)
  out$ess_bulk <- each("ess_bulk", pmin)
  out$ess_tail <- each("ess_tail", pmin)
  # `ok` is there in a table of convergence alone
  for (column in intersect(c("constant", "finite", "ok"), names(out))) {
    out[[column]] <- Reduce(`&`, lapply(tables, `[[`, column))
  }
  out
}

# diagnose(), convergence_table() and mean_errors() within each data set.
diagnose_sets <- function(draws, sets) {
  worst_measures(lapply(sets, function(own) {
    diagnose(draws[, own, , drop = FALSE])
  }))
}

# The table of convergence() of a fit.
fit_convergence <- function(fit, rhat = 1.01, ess = 400,
                            invariants = fit_invariants(fit)) {
  inner <- model_inner(fit_part(fit, "model"))
  worst_measures(lapply(chain_sets(fit), function(own) {
    convergence_table(invariants[, own, , drop = FALSE], rhat, ess, inner)
  }))
}

# Errors of the mean over data sets, whose chains are independent.
mean_errors_of_sets <- function(draws, sets) {
  squares <- lapply(sets, function(own) {
    mean_errors(draws[, own, , drop = FALSE])^2
  })
  sqrt(Reduce(`+`, squares)) / length(sets)
}

# The share of the posterior variance of each coefficient that is due to the
# missing values, (1 + 1/M) B / T, T = W + (1 + 1/M) B, with W the mean variance
# within data sets and B the variance of their means (Rubin 1987).
missing_information <- function(fit) {
  model <- fit_part(fit, "model")
  columns <- seq_along(coefficient_columns(model))
  draws <- lapply(imputed_parts(fit), function(part) {
    bind_chains(chain_matrices(part), columns = columns)
  })
  each <- function(f) do.call(rbind, lapply(draws, f))
  within <- colMeans(each(function(x) apply(x, 2L, stats::var)))
  between <- (1 + 1 / length(draws)) * apply(each(colMeans), 2L, stats::var)
  stats::setNames(between / (within + between), colnames(draws[[1L]]))
}

# Lines about the data sets, for print() and summary(); NULL for other fits.
imputed_lines <- function(fit) {
  if (!is_imputed(fit)) {
    return(NULL)
  }
  share <- missing_information(fit)
  share <- share[is.finite(share)]
  first <- utils::head(sort(share, decreasing = TRUE), 5L)
  more <- length(share) - length(first)
  sets <- length(chain_sets(fit))
  strwrap(c(
    paste0(
      "The mixture of the posteriors of ", sets, " completed data sets; ",
      "convergence is judged within each, and the worst is shown."
    ),
    paste0(
      "Fraction of missing information: ",
      paste(names(first), format(round(first, 2), nsmall = 2),
            collapse = ", "),
      if (more > 0L) paste0(", ", more, " more at most as large"), "."
    )
  ), 80, exdent = 2)
}
