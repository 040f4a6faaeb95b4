# summary(), tidy(), glance() and print() of a fit.

#' Print and summary of a fit
#'
#' `print()` shows a few lines: the model, the numbers of chains and draws, the
#' seed, whether the chains have converged, and what to do next. `summary()`
#' gives the posterior mean, standard deviation and quantiles of every stored
#' quantity, with the Monte Carlo standard error of the mean, R-hat and
#' effective sample sizes.
#'
#' If components are exchangeable (as in mixtures), the posterior is the same
#' under any renumbering of them. The draws of mixtures and of topic models
#' are numbered to agree. Where draws are not, R-hat, effective sample size and
#' Monte Carlo error of a single component's parameter are meaningless: they are
#' `NA` (shown as `-`). In either case convergence is judged on quantities that
#' do not depend on the numbering; their table, see [convergence()], is printed
#' below. So a row of a single component may have a larger R-hat in a fit that
#' has converged, where its number mixes slowly; a line says so.
#' [posterior::summarise_draws()] of the fit gives the measures of every column.
#'
#' @param object,x A fit.
#' @param times `TRUE` (default) or `FALSE`: whether `print()` says how many
#'   seconds the run took and more draws would take. Notes that must not change
#'   when they are rendered again set `options(gibbsite.times = FALSE)`, which
#'   also holds for warnings.
#' @param variables `NULL` (default) for all stored quantities, or names of
#'   columns or blocks, such as `c("mu", "log_lik")`, or of quantities of
#'   [convergence()], such as `"weight[1]"` of a mixture.
#' @param probs Numbers between 0 and 1: which quantiles; default
#'   `c(0.025, 0.5, 0.975)`.
#' @param ... Not used.
#' @return `print()`: `x`, invisibly. `summary()`: a data frame of class
#'   `gibbsite_summary` with a row for each quantity and the columns `variable`,
#'   `mean`, `sd`, the quantiles (`q2.5`, ...), `mcse_mean`, `rhat`, `ess_bulk`
#'   and `ess_tail`; its attribute `convergence` is the table of
#'   [convergence()]. Of a regression `coef(summary(fit))` has the rows of the
#'   coefficients, as a matrix. It is printed rounded, 40 rows at most, and
#'   without the deviations of groups, unless `variables` names them;
#'   `print(x, n = 100)` shows more. `print(x, digits = 3)`: significant figures
#'   of `sd`, to which the row is rounded. Rows of several summaries bound
#'   together are a plain data frame.
#' @section Errors: `gibbsite_error_argument` for variables that are not stored
#'   and for `probs` outside 0 to 1.
#' @seealso [converged()], [tidy.gibbsite_fit()] for one line for each quantity,
#' with readable labels.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' fit
#' summary(fit, "mu", probs = c(0.05, 0.95))
#' @export
summary.gibbsite_fit <- function(object, variables = NULL,
                                 probs = c(0.025, 0.5, 0.975), ...) {
  now <- current_fit(object)
  if (!is.null(now)) return(summary(now, variables, probs, ...))
  check_no_more(...)
  fit_summary(object, variables, probs, "object", rlang::current_env())
}

# The summary of the fit that the user's call names `arg`.
fit_summary <- function(fit, variables, probs, arg, call) {
  probs <- check_numeric_vector(
    probs, lower = 0, upper = 1, arg = "probs", call = call
  )
  model <- fit_part(fit, "model")
  invariants <- fit_invariants(fit)
  draws <- chosen_draws(fit, variables, invariants, call, arg)
  labelled <- intersect(
    dimnames(draws)$variable,
    model_labelled(model, dimnames(invariants)$variable)
  )
  numbered <- is_numbered(model)
  table <- summary_table(draws, probs, chain_sets(fit))
  if (!numbered) {
    table[table$variable %in% labelled,
          c("mcse_mean", "rhat", "ess_bulk", "ess_tail")] <- NA
  }
  convergence <- explained(
    fit_convergence(fit, invariants = invariants), fit, invariants
  )
  structure(
    table,
    class = c("gibbsite_summary", "data.frame"), rows = table$variable,
    headline = model$headline,
    coefficients = coefficients_in(fit),
    length = length_lines(fit_part(fit, "running")),
    key = model_key(model, table$variable),
    leading = if (is.null(variables)) {
      length(setdiff(table$variable, model_details(model)))
    },
    convergence = convergence,
    remarks = c(imputed_lines(fit), model_notes(model, fit, convergence)),
    note = if (length(labelled) > 0) {
      if (!numbered) {
        "labelled"
      } else if (identical(model$pivot, "first draw")) {
        "matched"
      } else {
        "numbered"
      }
    }
  )
}

# sets: the chains of each data set.
summary_table <- function(draws, probs,
                          sets = list(seq_len(dim(draws)[2]))) {
  measures <- diagnose_sets(draws, sets)
  data.frame(
    variable = measures$variable, draw_summary(draws, probs),
    mcse_mean = mean_errors_of_sets(draws, sets),
    measures[c("rhat", "ess_bulk", "ess_tail")],
    check.names = FALSE
  )
}

# The columns mean, sd and quantiles, a row for each variable of the chains.
draw_summary <- function(draws, probs) {
  flat <- matrix(draws, ncol = dim(draws)[3])
  # as posterior's quantile2()
  quantiles <- t(column_quantiles(flat, probs))
  colnames(quantiles) <- paste0("q", format_probs(probs))
  data.frame(
    mean = colMeans(flat), sd = column_sds(flat), quantiles, check.names = FALSE
  )
}

format_probs <- function(probs) {
  vapply(100 * probs, format, character(1), digits = 6, trim = TRUE)
}

#' @export
print.gibbsite_summary <- function(x, n = NULL, ..., digits = 3) {
  shown_as <- if (!missing(digits)) digits
  digits <- check_count(digits, max = 22)
  convergence <- attr(x, "convergence")
  quantiles <- grep("^q[0-9.]+$", names(x), value = TRUE)
  needed <- c("variable", "mean", "sd", "mcse_mean", "rhat", "ess_bulk",
              "ess_tail")
  if (!is.data.frame(convergence) || !is.character(attr(x, "headline")) ||
        !all(needed %in% names(x)) || !has_own_rows(x)) {
    return(invisible(print(as.data.frame(x), digits = shown_as, ...)))
  }
  n <- if (is.null(n)) {
    min(40, attr(x, "leading"), nrow(x))
  } else {
    check_rows_shown(n)
  }
  write_lines(c(attr(x, "headline"), attr(x, "length"), ""))
  whole <- x
  x <- x[!is_above_diagonal(x$variable), ]
  shown <- data.frame(
    show_numbers(x[c("mean", "sd", quantiles)], x$mean, x$sd, digits),
    mcse = show_significant(x$mcse_mean, max(1, digits - 1)),
    rhat = show_rhat(x$rhat), bulk = show_ess(x$ess_bulk),
    tail = show_ess(x$ess_tail), check.names = FALSE
  )
  print_table(x$variable, shown, n)
  write_lines(c(
    attr(whole, "key"),
    "mcse: of the mean; bulk, tail: effective sample sizes"
  ))
  note <- attr(whole, "note")
  if (is.null(note)) {
    write_lines(c(
      "", verdict_lines(convergence), unjudged_line(x, convergence),
      constant_line(convergence), attr(whole, "remarks")
    ))
    return(invisible(whole))
  }
  write_lines(c("", switch(note,
    numbered = "Components are numbered to agree between draws.",
    matched = "Topics are numbered to agree between chains.",
    labelled = "-: not meaningful, for the numbers of components may switch.",
    rotated = "-: not meaningful, for factors may rotate from draw to draw."
  ), paste0(
    "Convergence, judged on quantities that do not depend on the ",
    if (note == "rotated") "rotation:" else "numbering:"
  ), ""))
  print(convergence)
  slow <- slow_component_line(x, convergence, note)
  write_lines(c(
    if (length(slow) > 0L) slow else unjudged_line(x, convergence),
    attr(whole, "remarks")
  ))
  invisible(whole)
}

# Sigma[..., i, j] with i < j where the table has Sigma[..., j, i] too, which is
# the same.
is_above_diagonal <- function(variables) {
  form <- "^(Sigma\\[(?:\\d+,)?)(\\d+),(\\d+)\\]$"
  i <- suppressWarnings(as.integer(sub(form, "\\2", variables, perl = TRUE)))
  j <- suppressWarnings(as.integer(sub(form, "\\3", variables, perl = TRUE)))
  mirror <- sub(form, "\\1\\3,\\2]", variables, perl = TRUE)
  !is.na(i) & !is.na(j) & i < j & mirror %in% variables
}

# Rows that miss the limits although the chains have converged: the verdict does
# not judge them.
unjudged_line <- function(x, convergence) {
  if (!table_converged(convergence)) {
    return(character())
  }
  limits <- attr(convergence, "thresholds")
  beyond <- x$rhat > limits$rhat | x$ess_bulk < limits$ess |
    x$ess_tail < limits$ess
  rows <- setdiff(x$variable[which(beyond)], convergence$variable)
  if (length(rows) == 0L) {
    return(character())
  }
  paste0(
    "Not part of the verdict, with R-hat above ", format(limits$rhat),
    " or ESS below ", format(limits$ess), ": ", few_words(rows), "."
  )
}

# Why rows of single components may have an R-hat above the limit although the
# chains have converged. NULL if none has.
slow_component_line <- function(x, convergence, note) {
  limit <- attr(convergence, "thresholds")$rhat
  slow <- which(x$rhat > limit)
  if (!note %in% c("numbered", "matched") || length(slow) == 0L ||
        !table_converged(convergence)) {
    return(character())
  }
  what <- if (note == "matched") "topics" else "components"
  worst <- slow[[which.max(x$rhat[slow])]]
  paste0(
    "Rows of single ", what, " have R-hat up to ",
    format_rhat(x$rhat[[worst]], limit), " (", x$variable[[worst]],
    "): the numbers of the ", what, " mix more slowly than what does not ",
    "depend on them. More draws improve such rows."
  )
}

#' @export
as.data.frame.gibbsite_summary <- function(x, ...) bare_frame(x)

# The names of the coefficients that coef() of a fit has, for its summary.
coefficients_in <- function(fit) {
  model <- fit_part(fit, "model")
  if (is_regression(fit) || inherits(model, c("user_model", "laplace_model"))) {
    coefficient_columns(model)
  }
}

# The rows of the coefficients as a matrix, as of a summary of lm().
#' @export
coef.gibbsite_summary <- function(object, ...) {
  check_no_more(...)
  names <- attr(object, "coefficients", exact = TRUE)
  if (is.null(names) || !"variable" %in% names(object)) {
    abort_argument(
      c("{.arg object} must be a summary with coefficients, as of a
         regression.",
        i = "{.fn as.data.frame} has all its columns.")
    )
  }
  rows <- object$variable %in% names
  out <- as.matrix(bare_frame(object)[rows, names(object) != "variable"])
  rownames(out) <- object$variable[rows]
  out
}

#' @export
coef.laplace_summary <- coef.gibbsite_summary

# `summary(fit)$coefficients` works as for lm(), of which a beginning is enough.
#' @export
`$.gibbsite_summary` <- function(x, name) {
  if (!is.list(x)) {
    abort_argument(
      "{.arg x} has the class of a summary, but not its parts.",
      class = "forged"
    )
  }
  if (nchar(name) > 3L && startsWith("coefficients", name)) {
    return(stats::coef(x))
  }
  NextMethod()
}

#' @export
`$.laplace_summary` <- `$.gibbsite_summary`

# Rows of several fits have no common headline and verdict.
#' @export
rbind.gibbsite_summary <- function(...) bind_bare(...)

#' Tidy a fit
#'
#' `tidy()` gives one row for each stored quantity, `glance()` one row for the
#' fit.
#'
#' @param x A fit; for `augment()` of a regression by formula or matrix.
#' @param conf.level Number between 0 and 1, default 0.95: the mass of the
#'   central credible interval from `conf.low` to `conf.high`.
#' @param conf.int `TRUE` (default), or `FALSE` to leave the interval out.
#' @param exponentiate `TRUE`: ratios of odds of a logistic regression with the
#'   logit link, or of means of counts: `exp()` of `estimate`, `conf.low` and
#'   `conf.high` of each coefficient. `std.error` remains that of the
#'   coefficient, as in broom, and other rows, such as standard deviations of
#'   groups, remain as they are. Default `FALSE`.
#' @param effects For regressions (not [laplace_logistic()]): `NULL` (default)
#'   for all stored quantities, or some of `"fixed"` (coefficients, and
#'   thresholds of ordered responses), `"ran_pars"` (standard deviations, also
#'   of an observation, and correlations of groups) and `"ran_vals"` (the
#'   deviation of each group). Without groups they must contain `"fixed"`.
#'   `dispersion` and `nu` are rows of `NULL` alone. Deviations are not
#'   exponentiated.
#' @param ... Not used.
#' @return `tidy()`: a data frame with the columns `term` (the name of the
#'   column), `label` (its meaning, with the names in the data), `estimate`
#'   (posterior mean), `std.error` (posterior standard deviation), `conf.low`,
#'   `conf.high`, `rhat` and `ess` (bulk). The last two are `NA` where the
#'   numbers of components may switch, see [summary.gibbsite_fit()]. With
#'   `effects` the columns are `effect`, `group`, `level`, `term` (such as
#'   `"sd__(Intercept)"` and `"cor__(Intercept).x"`) and those from `estimate`
#'   on. Deviations that are not stored have the `rhat` and `ess` of their means
#'   given the parameters of each draw, of which `estimate` is the mean;
#'   correlations and the like that are not stored have none.
#'
#'   `glance()`: a data frame of one row with `model`, `nobs`, `chains`,
#'   `draws`, `burnin`, `thin`, `rhat` (the largest), `ess_bulk` and `ess_tail`
#'   (the least), `converged` and `elapsed` (seconds). Of [gibbs_bmf()] also
#'   `rank`, `users`, `items`, `sigma` and `rmse` (posterior means; `NA` with
#'   `link`).
#' @section Errors: `gibbsite_error_argument` for `conf.level` out of range, and
#'   for `exponentiate = TRUE` where coefficients are not log-odds or logs of
#'   ratios.
#' @seealso [summary.gibbsite_fit()], [converged()],
#'   [draws_of()] for the draws.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' head(tidy(fit), 4)
#' glance(fit)
#'
#' fit <- gibbs_logistic(am ~ wt, mtcars, draws = 500, seed = 1,
#'                       progress = FALSE)
#' tidy(fit, exponentiate = TRUE)
#' @export
tidy.gibbsite_fit <- function(x, conf.level = 0.95, ..., conf.int = TRUE,
                              exponentiate = FALSE) {
  now <- current_fit(x)
  if (!is.null(now)) {
    return(generics::tidy(
      now, conf.level, ..., conf.int = conf.int, exponentiate = exponentiate
    ))
  }
  check_no_more(...)
  tidy_quantities(
    x, conf.level, conf.int, exponentiate, rlang::current_env()
  )
}

# variables: of fit_summary(), NULL for all.
tidy_quantities <- function(x, conf.level, conf.int, exponentiate, call,
                            variables = NULL) {
  exponentiate <- check_exponentiate(exponentiate, x, call)
  conf.int <- check_flag(conf.int, call = call)
  level <- check_level(conf.level, call = call)
  # all quantities, also if the model's own summary shows fewer
  table <- as.data.frame(
    fit_summary(x, variables, central_tails(level), "x", call)
  )
  labels <- model_labels(fit_part(x, "model"))
  label <- labels$label[match(table$variable, labels$variable)]
  out <- data.frame(
    term = table$variable,
    label = ifelse(is.na(label), table$variable, as.character(label)),
    estimate = table$mean, std.error = table$sd,
    conf.low = table[[4]], conf.high = table[[5]],
    rhat = table$rhat, ess = table$ess_bulk
  )
  tidied(out, x, conf.int, exponentiate)
}

check_exponentiate <- function(x, fit, call = rlang::caller_env()) {
  x <- check_flag(x, arg = "exponentiate", call = call)
  if (x && !isTRUE(has_ratios(fit_part(fit, "model")))) {
    abort_argument(
      c("{.arg exponentiate} must be `FALSE` for this fit: its coefficients are
         not on the scale of a logarithm.",
        i = "Ratios of odds are those of {.fn gibbs_logistic} and
             {.fn laplace_logistic} with the logit link, ratios of means those
             of {.fn gibbs_count}."),
      call = call
    )
  }
  x
}

# The columns of the table that are asked for, as odds ratios if so wished: the
# coefficients are the first rows.
tidied <- function(table, fit, conf_int, exponentiate) {
  if (exponentiate) {
    model <- fit_part(fit, "model")
    rows <- seq_along(coefficient_columns(model))
    ratios <- c("estimate", "conf.low", "conf.high")
    table[rows, ratios] <- exp(table[rows, ratios])
  }
  interval <- c("conf.low", "conf.high")
  if (conf_int) table else table[setdiff(names(table), interval)]
}

#' @rdname tidy.gibbsite_fit
#' @export
glance.gibbsite_fit <- function(x, ...) {
  now <- current_fit(x)
  if (!is.null(now)) return(generics::glance(now, ...))
  check_no_more(...)
  running <- fit_part(x, "running")
  table <- judged(x, 1.01, 400, rlang::current_env(), cause = FALSE)
  extreme <- function(values, of) {
    values <- values[!is.na(values)]
    if (length(values) == 0) NA_real_ else of(values)
  }
  data.frame(
    model = maker_of(x), nobs = stats::nobs(x), chains = running$chains,
    draws = running$draws, burnin = running$burnin, thin = running$thin,
    rhat = extreme(table$rhat, max), ess_bulk = extreme(table$ess_bulk, min),
    ess_tail = extreme(table$ess_tail, min),
    converged = table_converged(table),
    elapsed = fit_part(x, "run")$elapsed$total %||% NA_real_
  )
}

# ---- print() of a fit --------------------------------------------------------

# print() of a fit and of a partial fit.

#' @rdname summary.gibbsite_fit
#' @export
print.gibbsite_fit <- function(x, times = getOption("gibbsite.times", TRUE),
                               ...) {
  times <- check_flag(times)
  now <- current_fit(x)
  if (!is.null(now)) return(print(now, times))
  old <- options(gibbsite.times = times)
  on.exit(options(old))
  running <- fit_part(x, "running")
  model <- fit_part(x, "model")
  table <- judged(x, 1.01, 400, rlang::current_env())
  write_lines(c(
    paste0("<", model$name, "> ", model$headline),
    "",
    length_lines(running),
    seed_line(x),
    surplus_line(x),
    imputed_lines(x),
    verdict_lines(table),
    rule_line(x, table),
    constant_line(table),
    moves_line(x),
    model_notes(model, x, table),
    if (attr(table, "chains") == 1) {
      "One chain: R-hat compares its two halves; several chains show more."
    },
    "",
    next_line(x, table)
  ))
  invisible(x)
}

# The moves of groups of observations that succeeded, over all chains and sweeps
# of a mixture.
moves_line <- function(fit) {
  counts <- lapply(fit_part(fit, "chains"), function(chain) chain$state$moves)
  counts <- Reduce(`+`, counts)
  # other models have none
  if (!any(counts > 0)) {
    return(NULL)
  }
  counts <- matrix(counts, 4L)
  tried <- counts[, 1L] > 0
  name <- c("exchanges", "merges or splits", "resplits", "combinations")
  share <- paste(each_digits(counts[tried, 2L]), "of",
                 each_digits(counts[tried, 1L]), name[tried])
  paste0("Moves that succeeded: ", paste(share, collapse = ", "), ".")
}

# `table`: NULL if convergence is not judged.
next_line <- function(fit, table) {
  model <- fit_part(fit, "model")
  averaged <- draws_before_averages(fit) < fit_part(fit, "running")$draws
  usable <- averaged && !lacks_data(model) &&
    (is.null(table) || table_converged(table))
  calls <- c(
    "summary(fit)", "plot(fit)", if (!is.null(table)) next_call(table),
    if (usable) model_next(model)
  )
  paste("Next:", paste(calls, collapse = ", "))
}

length_lines <- function(running) {
  thin <- as.numeric(running$thin)
  sweeps <- as.numeric(running$burnin) + as.numeric(running$draws) * thin
  every <- if (thin > 1) paste0(", every ", ordinal(thin), " sweep kept")
  paste0(
    cli::pluralize("{running$chains} chain{?s} of {running$draws} draw{?s}"),
    " (sweeps ", digits(running$burnin + thin), " to ", digits(sweeps), every,
    "; ", if (running$burnin > 0) {
      paste0("burn-in ", digits(running$burnin), ")")
    } else {
      "no burn-in)"
    }
  )
}

# The sweeps that the chains have reached, if they have no common draw yet.
chains_line <- function(x) {
  chains <- fit_part(x, "chains")
  waiting <- sum(!vapply(chains, has_started, NA))
  if (waiting > 0L) {
    return(cli::pluralize(
      "{waiting} of {length(chains)} chain{?s} {cli::qty(waiting)}{?has/have} ",
      "{?its/their} starting values yet to be made."
    ))
  }
  sweeps <- vapply(chains, function(chain) {
    as.numeric(chain$state$sweep)
  }, numeric(1))
  cli::pluralize(
    "{length(sweeps)} chain{?s} at sweep ",
    "{paste(each_digits(sweeps), collapse = ', ')}; ",
    "burn-in ends at {digits(fit_part(x, \"running\")$burnin)}."
  )
}

ordinal <- function(n) {
  last <- n %% 10
  teen <- n %% 100 %in% 11:13
  end <- if (teen || last == 0 || last > 3) "th" else c("st", "nd", "rd")[last]
  paste0(digits(n), end)
}

seed_line <- function(x) {
  running <- fit_part(x, "running")
  seeds <- each_digits(running$seed)
  elapsed <- fit_part(x, "run")$elapsed$total
  paste0(
    if (length(seeds) > 1) "Seeds " else "Seed ",
    paste(seeds, collapse = ", "),
    if (!is.null(running$rng_kind)) paste0(" (", running$rng_kind[1], ")"),
    if (!is.null(elapsed) && shows_times()) {
      paste0("; ", seconds_words(elapsed))
    }
  )
}

# An interrupted run, and draws ahead of the shortest chain.
surplus_line <- function(x) {
  pending <- fit_part(x, "pending")
  if (is.null(pending)) {
    if (identical(fit_part(x, "run")$outcome, "interrupted")) {
      return("The run was interrupted; extend() goes on from here.")
    }
    return(NULL)
  }
  ahead <- max(vapply(pending, nrow, integer(1)))
  cli::pluralize(
    "Some chains are ahead, by {ahead} draw{?s} at most; extend() uses them."
  )
}

#' @export
print.gibbsite_partial <- function(x, ...) {
  model <- fit_part(x, "model")
  write_lines(c(
    paste0("<", model$name, ", no draws yet> ", model$headline),
    "",
    chains_line(x),
    seed_line(x),
    surplus_line(x),
    "",
    "Go on with extend(fit, draws): it gives the draws of an undisturbed run."
  ))
  invisible(x)
}

each_digits <- function(x) vapply(x, digits, character(1))

# ---- str() ------------------------------------------------------------------

# A line for each part, in the place of all numbers of a fit.
#' @rdname summary.gibbsite_fit
#' @param indent.str Text that str() of a list puts before each line.
#' @importFrom utils str
#' @export
str.gibbsite_fit <- function(object, indent.str = "", ...) {
  if (!identical(indent.str, "")) check_string(indent.str)
  model <- fit_part(object, "model")
  running <- fit_part(object, "running")
  lines <- c(
    paste0(" <", model$name, "> ", model$headline),
    paste0(indent.str, " $ ", c(
      paste0("draws  : ", if (shown_draws(object) > 0) {
        length_lines(running)
      } else {
        paste0("none yet; ", chains_line(object))
      }),
      paste0("columns: ", few_words(model$columns)),
      paste0("prior  : ", class(model$prior)[[1L]]),
      paste0("data   : ", if (model_has_data(model)) "held" else "not held"),
      paste0("seed   : ", few_words(each_digits(running$seed)))
    ))
  )
  writeLines(strtrim(lines, max(getOption("width"), 40L)))
}

#' @export
str.gibbsite_partial <- function(object, ...) str.gibbsite_fit(object, ...)

# ---- Regressions -------------------------------------------------------------

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
