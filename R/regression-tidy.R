# tidy() of regressions: rows by kind of effect, with broom.mixed's columns.

#' @rdname tidy.gibbsite_fit
#' @export
tidy.gibbsite_regression <- function(x, conf.level = 0.95, ..., conf.int = TRUE,
                                     exponentiate = FALSE, effects = NULL) {
  if (inherits(x, "gibbsite_laplace")) {
    return(NextMethod())
  }
  now <- current_fit(x)
  if (!is.null(now)) {
    return(generics::tidy(
      now, conf.level, ..., conf.int = conf.int, exponentiate = exponentiate,
      effects = effects
    ))
  }
  call <- rlang::current_env()
  check_no_more(...)
  if (is.null(effects)) {
    return(tidy_quantities(x, conf.level, conf.int, exponentiate, call))
  }
  effects <- check_effects(effects, call)
  conf.int <- check_flag(conf.int)
  model <- fit_part(x, "model")
  parameters <- tidy_quantities(
    x, conf.level, TRUE, exponentiate, call,
    union(
      model$columns[predictor_parameters(model)],
      intersect("sigma", model$columns)
    )
  )
  if (!"fixed" %in% effects) grouped_model(x, "x", call)
  if (!has_groups(model)) effects <- setdiff(effects, "ran_vals")
  parts <- lapply(effects, function(effect) {
    switch(effect,
      fixed = tidy_fixed(x, parameters),
      ran_pars = tidy_spread(x, parameters, conf.level),
      ran_vals = tidy_deviations(x, conf.level)
    )
  })
  out <- do.call(rbind, parts)
  if (conf.int) out else out[setdiff(names(out), c("conf.low", "conf.high"))]
}

check_effects <- function(effects, call) {
  kinds <- c("fixed", "ran_pars", "ran_vals")
  if (!is.character(effects) || length(effects) == 0L ||
        !all(effects %in% kinds)) {
    abort_expected(
      effects, "NULL or some of \"fixed\", \"ran_pars\" and \"ran_vals\"",
      FALSE, "effects", call
    )
  }
  unique(effects)
}

tidy_rows <- function(effect, group, level, term, estimate, std.error, conf.low,
                      conf.high, rhat = NA_real_, ess = NA_real_) {
  data.frame(
    effect, group, level, term, estimate, std.error, conf.low, conf.high, rhat,
    ess, row.names = NULL
  )
}

# table: of the parameters.
tidy_fixed <- function(fit, table) {
  columns <- coefficient_columns(fit_part(fit, "model"))
  table <- table[table$term %in% columns | startsWith(table$term, "theta["), ]
  tidy_parameters("fixed", NA_character_, table)
}

# Rows of a table of parameters, which may have none.
tidy_parameters <- function(effect, group, table) {
  table$label <- NULL
  of_rows <- function(x) rep(x, nrow(table))
  do.call(tidy_rows, c(
    list(effect = of_rows(effect), group = of_rows(group),
         level = of_rows(NA_character_)), table
  ))
}

# Standard deviations and correlations.
tidy_spread <- function(fit, parameters, level) {
  if (!has_groups(fit_part(fit, "model"))) {
    table <- parameters[parameters$term == "sigma", ]
    table$term <- sub("sigma", "sd__Observation", table$term)
    return(tidy_parameters("ran_pars", "Residual", table))
  }
  table <- nlme::VarCorr(fit, level = level)
  at <- match(rownames(table), parameters$term)
  term <- ifelse(is.na(table$term), "Observation", table$term)
  term <- ifelse(
    is.na(table$with), paste0("sd__", term),
    paste0("cor__", term, ".", table$with)
  )
  tidy_rows(
    "ran_pars", table$group, NA_character_, term, table$mean, table$sd,
    table$lower, table$upper, parameters$rhat[at], parameters$ess[at]
  )
}

# Deviations of the groups, of some groups at a time.
tidy_deviations <- function(fit, level) {
  model <- fit_part(fit, "model")
  draws <- sum(lengths(fit)) / length(model$columns)
  do.call(rbind, lapply(group_terms(model), function(id) {
    at <- group_term(model, id)
    blocks <- row_blocks(length(at$levels), draws, most = 4e6)
    table <- do.call(rbind, lapply(blocks, function(groups) {
      group_coefficients(
        fit, id, level, groups, deviation = TRUE, measured = TRUE
      )
    }))
    tidy_rows(
      "ran_vals", at$name, rownames(table), at$term, table$mean, table$sd,
      table$lower, table$upper, table$rhat, table$ess
    )
  }))
}
