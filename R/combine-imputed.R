# combine_fits(data = "imputed"): the mixture of the posteriors given several
# completed data sets.

mix_fits <- function(fits, call) {
  check_fits(fits, call)
  check_mixed_kinds(fits, call)
  check_same_models(fits, call)
  check_different_data(fits, call)
  draws <- vapply(fits, shown_draws, 0)
  if (any(draws != draws[[1L]])) {
    least <- min(draws)
    inform_gibbsite(
      c(i = "The fits have from {least} to {max(draws)} draws a chain: the first
             {least} of each are used, so that all data sets count alike."),
      class = "draws"
    )
    fits <- lapply(fits, windowed, 1, least, 1)
  }
  each <- function(part) lapply(fits, fit_part, part)
  models <- each("model")
  model <- models[[1L]]
  model$imputed <- list(
    models = models, set = rep(seq_along(fits), lengths(fits))
  )
  model$headline <- paste0(
    model$headline, "; ", length(fits), " completed data sets"
  )
  model$fit_class <- c("gibbsite_imputed", model$fit_class)
  running <- united_running(each("running"))
  running$burnin <- max(vapply(each("running"), `[[`, 0, "burnin"))
  new_fit(
    do.call(c, lapply(fits, shown_in_chains)),
    model = model, running = running, chains = do.call(c, each("chains")),
    run = united_run(each("run"))
  )
}

# Fits whose draws have the same meaning in every data set.
check_mixed_kinds <- function(fits, call) {
  for (k in seq_along(fits)) {
    fit <- fits[[k]]
    if (is_imputed(fit)) {
      abort_argument(
        c("Fit {k} is of several data sets already.",
          i = "Combine the fits of the single data sets, all at once."),
        call = call
      )
    }
    if (!inherits(fit, imputed_kinds)) {
      name <- fit_part(fit, "model")$name
      abort_argument(
        c(
          "Fits of {.fn {name}} to several completed data sets are not
           combined.",
          x = if (inherits(fit, c("laplace_logistic", "gibbsite_laplace"))) {
            "They are approximations at the mode of one data set."
          } else {
            "Their components, topics or factors have no common numbers."
          },
          i = "Combine their predictions instead: average them over the fits."
        ),
        call = call
      )
    }
  }
}

# An error for the first difference between models that must agree. The data and
# what is computed from them may differ, and so may a default prior.
check_same_models <- function(fits, call) {
  first <- mixed_parts(fits[[1L]])
  for (k in seq_along(fits)[-1L]) {
    other <- mixed_parts(fits[[k]])
    same <- mapply(identical, first, other,
                   MoreArgs = list(ignore.environment = TRUE,
                                   ignore.bytecode = TRUE,
                                   ignore.srcref = TRUE))
    same[["prior"]] <- same_priors(fits[[1L]], fits[[k]])
    if (!all(same)) {
      what <- names(first)[!same][[1L]]
      abort_argument(
        c("Fits 1 and {k} cannot be combined: they differ in {what}.",
          i = switch(what,
            prior = "Give the same call of the prior's function for all data
              sets.",
            "number of chains" =
              "Each data set must have as many draws as the others.",
            "stored quantities" = "Levels that some data sets lack must be
              levels of the factor in all of them."
          )),
        call = call
      )
    }
  }
}

mixed_parts <- function(fit) {
  model <- fit_part(fit, "model")
  regression <- inherits(fit, imputed_kinds[1:4])
  rows <- model$frame$x
  list(
    "model" = class(model),
    "formula" = if (regression) formula_words(fit),
    "stored quantities" = model$columns,
    "link" = model$link,
    "log density" = if (is.function(model$log_density)) body(model$log_density),
    "number of observations" = as.numeric(model$nobs),
    "rows" = if (!is.null(rows)) list(nrow(rows), rownames(rows)),
    "groups" = model$levels,
    "prior" = class(model$prior),
    "thin" = as.numeric(fit_part(fit, "running")$thin),
    "number of chains" = length(fit)
  )
}

formula_words <- function(fit) {
  formula <- tryCatch(stats::formula(fit), error = function(cnd) NULL)
  paste(deparse(formula), collapse = " ")
}

# Default priors depend on the scale of the data: the values may differ if the
# calls are equal.
same_priors <- function(a, b) {
  prior <- function(fit) fit_part(fit, "model")$prior
  given <- function(fit) fit_part(fit, "run")$call$prior
  if (identical(prior(a), prior(b), ignore.environment = TRUE)) {
    return(TRUE)
  }
  identical(class(prior(a)), class(prior(b))) &&
    identical(prior(a)$type, prior(b)$type) && identical(given(a), given(b))
}

# Fits of one and the same data are chains of one posterior.
check_different_data <- function(fits, call) {
  hashes <- vapply(fits, function(fit) fit_part(fit, "model")$data_hash, "")
  if (length(unique(hashes)) == 1L) {
    abort_argument(
      c("The fits are of the same data.",
        i = "Without {.code data = \"imputed\"} their chains are united."),
      call = call
    )
  }
  chains <- do.call(c, lapply(fits, fit_part, "chains"))
  hash <- vapply(chains, `[[`, "", "hash")
  if (anyDuplicated(hash) > 0L) {
    run <- rep(seq_along(fits), lengths(fits))
    again <- which(duplicated(hash))[[1L]]
    twice <- run[c(match(hash[again], hash), again)]
    abort_argument(
      c("Fits {twice[[1]]} and {twice[[2]]} have the same draws: they are of the
         same data, with the same seed.",
        i = "Give the fit of each completed data set once."),
      call = call
    )
  }
}
