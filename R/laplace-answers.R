# What every Laplace approximation answers: laplace() and laplace_logistic()
# alike.  Methods are registered for both classes.

laplace_covariance <- function(model) {
  covariance <- chol2inv(t(model$data$precision_factor))
  dimnames(covariance) <- list(model$columns, model$columns)
  covariance
}

laplace_mode <- function(model) {
  stats::setNames(model$data$map, model$columns)
}

laplace_sd <- function(model) sqrt(diag(laplace_covariance(model)))

# ---- mode, covariance, intervals -----------------------------------------

#' Mode, covariance and intervals of a Laplace approximation
#'
#' `coef()` is the mode of the posterior (MAP) and `vcov()` the covariance
#' matrix \eqn{\Sigma}{Sigma}, the inverse of minus the Hessian of the log
#' density there: mean and covariance of the normal approximation, also of a fit
#' with `correct = "importance"`. They are a start and a proposal for any other
#' sampler. `confint()` gives central intervals: of the normal approximation, or
#' for a corrected fit between quantiles of its draws.
#'
#' @param object A fit of [laplace_logistic()] or [laplace()].
#' @param parm Names or numbers of parameters; default all.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param ... Not used.
#' @return `coef()`: a vector with names; `vcov()`: a matrix with names;
#'   `confint()`: a matrix with a row for each parameter and two columns.
#' @section Errors: `gibbsite_error_argument` for parameters that there are not
#'   and a level out of range.
#' @seealso [importance_check()] for how far these can be trusted.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' coef(fit)
#' vcov(fit)
#' confint(fit, level = 0.9)
#' @name laplace-estimates
NULL

#' @rdname laplace-estimates
#' @importFrom stats coef
#' @export
coef.laplace <- function(object, ...) {
  laplace_mode(fit_part(object, "model"))
}

#' @rdname laplace-estimates
#' @export
coef.laplace_logistic <- coef.laplace

#' @rdname laplace-estimates
#' @importFrom stats vcov
#' @export
vcov.laplace <- function(object, ...) {
  laplace_covariance(fit_part(object, "model"))
}

#' @rdname laplace-estimates
#' @export
vcov.laplace_logistic <- vcov.laplace

#' @rdname laplace-estimates
#' @importFrom stats confint
#' @export
confint.laplace <- function(object, parm, level = 0.95, ...) {
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  columns <- fit_part(object, "model")$columns
  chosen <- if (missing(parm)) {
    columns
  } else {
    check_parameters(parm, columns, rlang::current_env())
  }
  bounds <- laplace_interval(object, level)
  colnames(bounds) <- paste(
    format(100 * c(1 - level, 1 + level) / 2, trim = TRUE, digits = 3), "%"
  )
  bounds[chosen, , drop = FALSE]
}

#' @rdname laplace-estimates
#' @export
confint.laplace_logistic <- confint.laplace

check_parameters <- function(parm, columns, call) {
  found <- if (is.numeric(parm)) columns[parm] else as.character(parm)
  lost <- is.na(found) | !found %in% columns
  if (any(lost)) {
    bad <- describe(parm[lost][[1L]])
    abort_argument(
      c("{.arg parm} must name parameters of the fit, not {bad}.",
        i = "They are {.val {columns}}."),
      call = call
    )
  }
  found
}

# parameters x (lower, upper)
laplace_interval <- function(fit, level) {
  model <- fit_part(fit, "model")
  tails <- c(1 - level, 1 + level) / 2
  if (is_corrected(model)) {
    draws <- do.call(rbind, chain_matrices(fit))
    return(t(apply(draws, 2L, stats::quantile, tails, names = FALSE)))
  }
  bounds <- outer(laplace_sd(model), stats::qnorm(tails)) + laplace_mode(model)
  rownames(bounds) <- model$columns
  bounds
}

# Mean and sd of the posterior as the fit has it.
laplace_estimates <- function(fit) {
  model <- fit_part(fit, "model")
  if (!is_corrected(model)) {
    return(list(mean = laplace_mode(model), sd = laplace_sd(model)))
  }
  draws <- do.call(rbind, chain_matrices(fit))
  list(mean = colMeans(draws), sd = apply(draws, 2L, stats::sd))
}

# ---- print ---------------------------------------------------------------

#' @rdname print.gibbsite_fit
#' @export
print.laplace <- function(x, ...) {
  model <- fit_part(x, "model")
  table <- if (is_corrected(model)) judged(x, 1.01, 400, rlang::current_env())
  writeLines(c(
    paste0("<", class(x)[1L], "> ", model_headline(model)),
    "",
    mode_line(model),
    if (is_corrected(model)) {
      "Corrected: draws of the posterior itself, picked by importance."
    },
    laplace_length_line(x),
    seed_line(x),
    surplus_line(x),
    if (!is.null(table)) verdict_lines(table),
    ""
  ))
  print_estimates(x)
  writeLines(c(
    if (!is_corrected(model)) c("", print_check_line(x)),
    "",
    paste0(
      "Next: summary(fit), plot(fit)",
      if (inherits(x, "laplace_logistic")) ", predict(fit)",
      if (!is.null(table)) next_call(x, table)
    )
  ))
  invisible(x)
}

#' @rdname print.gibbsite_fit
#' @export
print.laplace_logistic <- print.laplace

mode_line <- function(model) {
  how <- switch(model$method,
    newton = "Newton's method", gradient = "gradient ascent",
    paste(model$method, "and Newton's method")
  )
  evidence <- if (is.finite(model$log_evidence)) {
    paste("log evidence", format_evidence(model$log_evidence))
  } else {
    "no evidence, for the prior is improper"
  }
  cli::pluralize(
    "Mode by {how}, {model$iterations} iteration{?s}; ", evidence
  )
}

laplace_length_line <- function(x) {
  if (is_corrected(fit_part(x, "model"))) {
    return(length_lines(fit_part(x, "running")))
  }
  running <- fit_part(x, "running")
  cli::pluralize(
    "{running$chains} chain{?s} of {running$draws} independent ",
    "draw{?s} of the normal approximation"
  )
}

print_estimates <- function(x, most = 12L) {
  columns <- fit_part(x, "model")$columns
  shown <- utils::head(seq_along(columns), most)
  estimate <- laplace_estimates(x)
  bounds <- laplace_interval(x, 0.95)
  table <- show_numbers(
    data.frame(
      mean = estimate$mean, sd = estimate$sd, low = bounds[, 1L],
      high = bounds[, 2L]
    ),
    estimate$mean, estimate$sd
  )
  first <- if (is_corrected(fit_part(x, "model"))) "mean" else "MAP"
  names(table) <- c(first, "sd", "2.5%", "97.5%")
  print_table(columns[shown], table[shown, , drop = FALSE])
  if (length(columns) > most) {
    writeLines(sprintf("... and %d more", length(columns) - most))
  }
}

# The check where it takes less than about half a second.
print_check_line <- function(x) {
  model <- fit_part(x, "model")
  if (is.null(model$frame)) {
    return("Importance check: needs the data, which the fit does not hold.")
  }
  if (!is_check_cheap(model, ndraws(x))) {
    return("Importance check: see importance_check(fit); not run yet.")
  }
  tryCatch(
    importance_line(importance_weights(x)),
    gibbsite_error = function(cnd) {
      "Importance check: failed; see importance_check(fit)."
    }
  )
}

is_check_cheap <- function(model, draws) UseMethod("is_check_cheap")

#' @exportS3Method
is_check_cheap.laplace_logistic_model <- function(model, draws) {
  # about a nanosecond a product and 20 an exponential
  as.numeric(draws) * nrow(model$frame$x) * (length(model$columns) + 20) < 3e8
}

#' @exportS3Method
is_check_cheap.laplace_density_model <- function(model, draws) {
  at_mode <- rbind(model$data$map)
  saved <- save_generator()
  on.exit(restore_generator(saved))
  seconds <- vapply(1:5, function(i) {
    began <- now()
    model_log_joint(model, at_mode)
    now() - began
  }, 0)
  # the fastest: the first one compiles
  min(seconds) * draws < 0.5
}

# ---- summary -------------------------------------------------------------

#' Summary of a Laplace approximation
#'
#' The mode and standard deviations of the normal approximation beside mean,
#' standard deviation and quantiles of the draws, the log evidence, and the
#' check of the approximation, [importance_check()], with its advice. For a fit
#' with `correct = "importance"` the draws are those of the posterior; R-hat and
#' effective sample sizes are shown then. (Independent draws need neither.)
#'
#' @param object A fit of [laplace_logistic()] or [laplace()].
#' @param variables `NULL` (default) for all parameters, or some of their names.
#' @param probs Numbers between 0 and 1: which quantiles of the draws; default
#'   `c(0.025, 0.5, 0.975)`.
#' @param ... Not used.
#' @return A data frame of class `laplace_summary` with a row for each parameter
#'   and the columns `variable`, `map`, `map_sd`, `mean`, `sd`, the quantiles
#'   (`q2.5`, ...), and for a corrected fit `rhat`, `ess_bulk`, `ess_tail`. The
#'   attribute `importance` is the check, or `NULL` for a fit without its data.
#' @section Errors: `gibbsite_error_argument` for variables that there are not
#'   and for `probs` outside 0 to 1.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' summary(fit)
#' attr(summary(fit), "importance")$pareto_k
#' @export
summary.laplace <- function(object, variables = NULL,
                            probs = c(0.025, 0.5, 0.975), ...) {
  call <- rlang::current_env()
  check_no_more(...)
  probs <- check_numeric_vector(probs, lower = 0, upper = 1)
  model <- fit_part(object, "model")
  chosen <- choose_variables(variables, model$columns, call)
  corrected <- is_corrected(model)
  draws <- stack_chains(chain_matrices(object))[, , chosen, drop = FALSE]
  structure(
    laplace_table(model, draws, probs, corrected),
    class = c("laplace_summary", "data.frame"),
    headline = model_headline(model),
    lines = c(mode_line(model), laplace_length_line(object)),
    convergence = if (corrected) {
      convergence_table(fit_invariants(object), 1.01, 400)
    },
    importance = if (!is.null(model$frame)) importance_check(object)
  )
}

#' @rdname summary.laplace
#' @export
summary.laplace_logistic <- summary.laplace

laplace_table <- function(model, draws, probs, corrected) {
  size <- dim(draws)
  chosen <- dimnames(draws)$variable
  flat <- matrix(draws, size[[1L]] * size[[2L]], size[[3L]])
  quantiles <- t(apply(flat, 2L, stats::quantile, probs, names = FALSE))
  quantiles <- matrix(
    quantiles, size[[3L]], length(probs),
    dimnames = list(NULL, paste0("q", format_probs(probs)))
  )
  table <- data.frame(
    variable = chosen, map = unname(laplace_mode(model)[chosen]),
    map_sd = unname(laplace_sd(model)[chosen]), mean = colMeans(flat),
    sd = apply(flat, 2L, stats::sd), quantiles, check.names = FALSE
  )
  if (corrected) {
    measures <- diagnose(draws)[c("rhat", "ess_bulk", "ess_tail")]
    table <- cbind(table, measures)
  }
  table
}

#' @export
print.laplace_summary <- function(x, n = 40, ...) {
  quantiles <- grep("^q[0-9.]+$", names(x), value = TRUE)
  needed <- c("variable", "map", "map_sd", "mean", "sd")
  if (is.null(attr(x, "headline")) || !all(needed %in% names(x))) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  rows <- seq_len(min(n, nrow(x)))
  writeLines(c(attr(x, "headline"), attr(x, "lines"), ""))
  shown <- show_numbers(
    x[c("map", "map_sd", "mean", "sd", quantiles)], x$mean, x$sd
  )
  names(shown)[1:2] <- c("MAP", "MAP sd")
  if ("rhat" %in% names(x)) {
    shown <- cbind(shown, data.frame(
      rhat = show_rhat(x$rhat), bulk = show_ess(x$ess_bulk),
      tail = show_ess(x$ess_tail)
    ))
  }
  print_table(x$variable[rows], shown[rows, , drop = FALSE])
  if (nrow(x) > n) {
    writeLines(sprintf("... %d more rows; print(x, n = %d) shows all",
                       nrow(x) - n, nrow(x)))
  }
  writeLines(c(
    "MAP, MAP sd: the normal approximation; the rest: of the draws", ""
  ))
  convergence <- attr(x, "convergence")
  if (!is.null(convergence)) {
    writeLines(verdict_lines(convergence))
  }
  writeLines(check_lines(attr(x, "importance")))
  invisible(x)
}

#' @export
as.data.frame.laplace_summary <- function(x, ...) {
  for (part in c("headline", "lines", "convergence", "importance")) {
    attr(x, part) <- NULL
  }
  class(x) <- "data.frame"
  x
}

check_lines <- function(check) {
  if (is.null(check)) {
    return("Importance check: needs the data, which the fit does not hold.")
  }
  c(
    importance_line(check),
    if (is.finite(check$log_evidence)) {
      paste0(
        "Log evidence ", format_evidence(check$log_evidence_laplace),
        ", corrected ", format_evidence(check$log_evidence), " (se ",
        show_significant(check$log_evidence_se, 2), ")."
      )
    },
    correction_line(check),
    advice_line(check)
  )
}

# How far the mean moves under the weights says what a number cannot.
advice_line <- function(check) {
  if (needs_correction(check)) {
    return(correction_advice)
  }
  e <- check$estimates
  moved <- abs(e$mean - e$map) / e$sd
  worst <- which.max(moved)
  if (length(worst) == 0L || moved[[worst]] <= 0.05) {
    return(NULL)
  }
  paste0(
    "Posterior means lie up to ", show_significant(moved[[worst]], 2),
    " sd from the mode (", e$variable[[worst]], "): see importance_check(fit)."
  )
}

# ---- tidy, glance --------------------------------------------------------

#' Tidy a Laplace approximation
#'
#' `tidy()` gives one row for each parameter, `glance()` one row for the fit.
#'
#' @param x A fit of [laplace_logistic()] or [laplace()].
#' @param conf.level Number between 0 and 1, default 0.95: the posterior
#'   probability of the interval from `conf.low` to `conf.high`.
#' @param ... Not used.
#' @return `tidy()`: a data frame with the columns `term`, `estimate` (the mode;
#'   for a corrected fit the mean of the draws), `std.error` (posterior standard
#'   deviation), `conf.low` and `conf.high`. `glance()`: a data frame of one row
#'   with `model`, `nobs`, `parameters`, `log_evidence`, `log_joint` (at the
#'   mode), `iterations`, `correct`, `chains`, `draws` and `elapsed` (seconds).
#' @section Errors: `gibbsite_error_argument` for `conf.level` out of range.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' tidy(fit)
#' glance(fit)
#' @export
tidy.laplace <- function(x, conf.level = 0.95, ...) {
  level <- check_number(
    conf.level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  estimate <- laplace_estimates(x)
  bounds <- laplace_interval(x, level)
  data.frame(
    term = fit_part(x, "model")$columns, estimate = unname(estimate$mean),
    std.error = unname(estimate$sd), conf.low = unname(bounds[, 1L]),
    conf.high = unname(bounds[, 2L])
  )
}

#' @rdname tidy.laplace
#' @export
tidy.laplace_logistic <- tidy.laplace

#' @rdname tidy.laplace
#' @export
glance.laplace <- function(x, ...) {
  model <- fit_part(x, "model")
  running <- fit_part(x, "running")
  data.frame(
    model = class(x)[1L], nobs = stats::nobs(x),
    parameters = length(model$columns), log_evidence = model$log_evidence,
    log_joint = model$log_joint_map, iterations = model$iterations,
    correct = model$correct, chains = running$chains, draws = running$draws,
    elapsed = fit_part(x, "run")$elapsed$total %||% NA_real_
  )
}

#' @rdname tidy.laplace
#' @export
glance.laplace_logistic <- glance.laplace

#' @export
prior_summary.laplace <- function(object, ...) {
  abort_argument(c(
    "{.fn laplace} knows no prior apart from the likelihood.",
    i = "Both are in {.arg log_density}."
  ))
}

# ---- evidence ------------------------------------------------------------

#' Evidence of a Laplace approximation, and fits compared by it
#'
#' The evidence (marginal likelihood) \eqn{p(y) = \int p(y \mid w) p(w)\,
#' dw}{p(y) = integral of p(y | w) p(w)} is what the prior predicted of the data
#' before they were seen. `log_evidence()` gives its logarithm by Laplace's
#' method or corrected by importance ([importance_check()]). `anova()` compares
#' fits of the same response by it.
#'
#' An evidence depends on the priors, also where the posteriors do not: a vague
#' prior on an effect is a bet on large effects, and costs evidence. Give priors
#' that mean something before comparing. Under an improper prior there is none
#' (`NA`).
#'
#' @param fit,object A fit of [laplace_logistic()] or [laplace()].
#' @param correct `"none"` (default): by Laplace's method. `"importance"`:
#'   corrected, with a standard error.
#' @param ... More fits, all of the same response. (Whether fits of [laplace()]
#'   are of the same data cannot be checked.)
#' @param prior_odds `NULL` for models that are equally probable beforehand, or
#'   a positive number for each: their prior probabilities, up to a constant.
#' @return `log_evidence()`: a number; with `"importance"` its attribute `se` is
#'   the standard error. `anova()`: a data frame of class `laplace_comparison`
#'   with a row a fit and the columns `model`, `parameters`, `log_evidence`,
#'   `log_bayes_factor` (against the best) and `probability` (of the model given
#'   the data, among these).
#' @section Errors: `gibbsite_error_argument` for fits that are not Laplace
#'   approximations of the same response, or that have no evidence;
#'   `gibbsite_error_state` for a fit without its data, of which that cannot be
#'   told.
#' @references
#' Kass RE, Raftery AE (1995). Bayes factors. *Journal of the American
#' Statistical Association* 90, 773-795. \doi{10.1080/01621459.1995.10476572}
#' @examples
#' weight <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' both <- laplace_logistic(am ~ wt + qsec, mtcars, seed = 1)
#' log_evidence(weight)
#' anova(weight, both)
#' @export
log_evidence <- function(fit, correct = c("none", "importance")) {
  check_needed(fit = "a fit made by laplace_logistic() or laplace()")
  check_laplace(fit)
  correct <- check_choice(correct, c("none", "importance"))
  model <- fit_part(fit, "model")
  if (correct == "none" || is.na(model$log_evidence)) {
    return(model$log_evidence)
  }
  check <- importance_check(fit)
  structure(check$log_evidence, se = check$log_evidence_se)
}

#' @rdname log_evidence
#' @importFrom stats anova
#' @export
anova.laplace <- function(object, ..., correct = c("none", "importance"),
                          prior_odds = NULL) {
  call <- rlang::current_env()
  correct <- check_choice(correct, c("none", "importance"))
  fits <- list(object, ...)
  names <- vapply(
    as.list(substitute(list(object, ...)))[-1L], deparse1, ""
  )
  check_comparable(fits, call)
  odds <- check_numeric_vector(
    prior_odds %||% rep(1, length(fits)), length = length(fits),
    length_why = "one for each fit", lower = 0, lower_open = TRUE,
    arg = "prior_odds", call = call
  )
  evidence <- vapply(fits, function(fit) {
    as.vector(log_evidence(fit, correct))
  }, 0)
  if (anyNA(evidence)) {
    which <- which(is.na(evidence))[[1L]]
    abort_argument(
      c("Fit {which} has no evidence: its prior is improper.",
        i = "Give a proper prior, such as {.code logistic_prior()}."),
      call = call
    )
  }
  score <- evidence + log(odds)
  share <- exp(score - max(score))
  structure(
    data.frame(
      model = vapply(seq_along(fits), function(k) {
        comparison_label(fits[[k]], names[[k]])
      }, ""),
      parameters = vapply(fits, function(fit) {
        length(fit_part(fit, "model")$columns)
      }, 0L),
      log_evidence = evidence, log_bayes_factor = evidence - max(evidence),
      probability = share / sum(share)
    ),
    class = c("laplace_comparison", "data.frame"), correct = correct
  )
}

#' @rdname log_evidence
#' @export
anova.laplace_logistic <- anova.laplace

comparison_label <- function(fit, name) {
  formula <- fit_part(fit, "model")$design$formula
  if (is.null(formula)) name else deparse1(formula)
}

check_comparable <- function(fits, call) {
  for (k in seq_along(fits)) {
    check_laplace(fits[[k]], paste("fit", k), call)
  }
  if (length(fits) < 2L) {
    abort_argument("There must be two fits or more to compare.", call = call)
  }
  kinds <- vapply(fits, function(fit) class(fit)[[1L]], "")
  if (length(unique(kinds)) > 1L) {
    other <- which(kinds != kinds[[1L]])[[1L]]
    abort_argument(
      "Fits 1 and {other} cannot be compared: they are made by different
       functions.",
      call = call
    )
  }
  if (kinds[[1L]] == "laplace_logistic") {
    check_same_response(fits, call)
  }
}

check_same_response <- function(fits, call) {
  response <- lapply(fits, function(fit) {
    frame <- fit_part(fit, "model")$frame
    if (is.null(frame)) {
      abort_no_frame("the data that are to be compared", call)
    }
    list(success = frame$success, total = frame$total)
  })
  for (k in seq_along(fits)[-1L]) {
    if (!identical(response[[1L]], response[[k]])) {
      counts <- vapply(response[c(1L, k)], function(r) length(r$total), 0L)
      why <- if (counts[[1L]] != counts[[2L]]) {
        paste("They have", counts[[1L]], "and", counts[[2L]], "observations.")
      } else {
        "Their responses or weights differ."
      }
      abort_argument(
        c("Fits 1 and {k} cannot be compared: they are not of the same data.",
          x = "{why}",
          i = "Rows with missing values may have been left out of one only."),
        call = call
      )
    }
  }
}

#' @export
print.laplace_comparison <- function(x, ...) {
  needed <- c("model", "parameters", "log_evidence", "log_bayes_factor",
              "probability")
  if (!all(needed %in% names(x))) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  writeLines(c(
    if (identical(attr(x, "correct"), "importance")) {
      "Models by their evidence (corrected by importance)"
    } else {
      "Models by their evidence (Laplace's method)"
    },
    "",
    paste0(seq_len(nrow(x)), ": ", x$model),
    ""
  ))
  shown <- data.frame(
    parameters = x$parameters, evidence = format_evidence(x$log_evidence),
    factor = format_evidence(x$log_bayes_factor),
    probability = formatC(x$probability, format = "f", digits = 3)
  )
  names(shown)[2:3] <- c("log evidence", "log Bayes factor")
  print_table(seq_len(nrow(x)), shown)
  invisible(x)
}

# ---- pictures ------------------------------------------------------------

#' Plot a Laplace approximation
#'
#' @param x A fit of [laplace()].
#' @param type `"coefficients"` (default): the mode of each parameter with its
#'   50% and `level` intervals; or types of [plot.gibbsite_fit()].
#' @param level Number between 0 and 1, default 0.95.
#' @param variables `NULL` for all parameters, or some of their names.
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for a type or a variable that
#'   there is not.
#' @seealso [plot.laplace_logistic()] for logistic regressions.
#' @examples
#' # a known density
#' fit <- laplace(
#'   function(x) -sum((x - 1)^2) / 2, c(a = 0, b = 0),
#'   gradient = function(x) 1 - x, hessian = function(x) -diag(2), seed = 1
#' )
#' plot(fit)
#' @export
plot.laplace <- function(x, type = "coefficients", level = 0.95,
                         variables = NULL, ...) {
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  type <- check_plot_types(type, call, "coefficients")
  if (!identical(type, "coefficients")) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  chosen <- choose_variables(
    variables, fit_part(x, "model")$columns, call
  )
  plot_coefficients(x, chosen, level, 1, "value", ...)
  invisible(x)
}

# Estimates with two intervals each, first one at the top; `unit`: factors that
# bring them to one scale, one for each or one for all.
plot_coefficients <- function(fit, chosen, level, unit, xlab, ...) {
  centre <- laplace_estimates(fit)$mean[chosen] * unit
  wide <- laplace_interval(fit, level)[chosen, , drop = FALSE] * unit
  narrow <- laplace_interval(fit, 0.5)[chosen, , drop = FALSE] * unit
  at <- rev(seq_along(chosen))
  # room for the names, up to a third of the page
  inches <- max(graphics::strwidth(chosen, units = "inches", cex = 0.9))
  left <- min(inches + 0.25, graphics::par("din")[[1L]] / 3)
  line <- graphics::par("csi") * graphics::par("mex")
  old <- graphics::par(mai = c(4.1 * line, left, 1.1 * line, 1.1 * line))
  on.exit(graphics::par(old))
  defaults <- list(
    x = 0, y = 0, type = "n", xlim = range(wide, 0),
    ylim = c(0.5, length(at) + 0.5), yaxt = "n", xlab = xlab, ylab = "",
    bty = "n", las = 1
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::abline(v = 0, col = "grey70")
  graphics::axis(
    2, at, chosen, las = 1, tick = FALSE, line = -0.5, cex.axis = 0.9
  )
  colour <- gibbsite_palette(1)
  graphics::segments(wide[, 1L], at, wide[, 2L], at, col = colour, lwd = 1.5)
  graphics::segments(
    narrow[, 1L], at, narrow[, 2L], at, col = colour, lwd = 4.5, lend = 1
  )
  graphics::points(centre, at, pch = 21, bg = "white", col = colour, cex = 1.1)
}
