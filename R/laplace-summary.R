# Methods of every Laplace approximation, of laplace() and of
# laplace_logistic(): estimates, intervals, print, summary.

#' Tables and picture of a Laplace approximation
#'
#' `summary()` shows the mode, the draws, the log evidence and
#' the check of the approximation, [importance_check()], with its advice.
#' `tidy()` gives one row for each parameter, `glance()` one row for the fit.
#' `plot()` draws the approximation beside the density that it approximates, or
#' the mode of each parameter with its intervals.
#'
#' [coef()][coef.gibbsite_fit] is the mode of the posterior (MAP),
#' [vcov()][vcov.gibbsite_fit] the inverse of the negative Hessian of the log
#' density there, and [confint()][confint.gibbsite_fit] has the intervals. Of a
#' fit with `correct = "importance"`, `summary()` describes draws of the
#' posterior, with R-hat and effective sample sizes. (Independent draws need
#' neither.)
#'
#' @param object,x A fit of [laplace_logistic()] or [laplace()]; for `plot()`
#'   one of [laplace()].
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param variables `NULL` (default) for all parameters, or some of their names.
#'   Of more than 40 coefficients `plot()` shows those with the largest |mean| /
#'   sd.
#' @param probs Numbers between 0 and 1: which quantiles of the draws; default
#'   `c(0.025, 0.5, 0.975)`.
#' @param conf.level Number between 0 and 1, default 0.95: the posterior
#'   probability of the interval from `conf.low` to `conf.high`.
#' @param conf.int `TRUE` (default), or `FALSE` to leave the interval out.
#' @param exponentiate `TRUE`: odds ratios of a fit of [laplace_logistic()],
#'   `exp()` of `estimate`, `conf.low` and `conf.high`. `std.error` remains that
#'   of the coefficient, as in broom. Default `FALSE`.
#' @param type `"density"` (default for a fit with its data): each parameter's
#'   normal approximation beside its target. Of one parameter the target is the
#'   density itself, normalised on a grid. Of several it is the marginal density
#'   of weighted draws, those of [importance_check()]: at most 4,000 of the
#'   normal distribution and as many of the t distribution, whose effective size
#'   stands above the picture. Without `variables` the first six are drawn.
#'   `"coefficients"`: the mode of each parameter with its 50% and `level`
#'   intervals, each on a scale of its own if some interval would be too short
#'   on a common one. `"path"`, for `method = "gradient"`: the path of the
#'   ascent, of two parameters over contours, where the log density is
#'   \eqn{k^2/2}{k^2 / 2} below its maximum, otherwise parameters and log
#'   density by step. Or types of [plot.gibbsite_fit()], of which `"density"` is
#'   drawn together with others alone.
#' @param ... For `plot()`, graphical parameters; `main` replaces the note above
#'   the picture. Otherwise not used.
#' @return `summary()`: a data frame of class `laplace_summary` with a row for
#'   each parameter and the columns `variable`, `map`, `map_sd`, `mean`, `sd`,
#'   the quantiles (`q2.5`, ...), and for a corrected fit `rhat`, `ess_bulk`,
#'   `ess_tail`. The attribute `importance` is the check, or `NULL` for a fit
#'   without its data.
#'
#'   `tidy()`: a data frame with the columns of [tidy.gibbsite_fit()], of which
#'   `estimate` is the mode, where that of other fits is the mean, and
#'   `std.error`, `conf.low` and `conf.high` are of the normal approximation; of
#'   a corrected fit all are of the draws, and `estimate` is their mean.
#'   `glance()`: a data frame of one row with the columns of
#'   [glance()][tidy.gibbsite_fit], and `parameters`, `log_evidence`,
#'   `log_joint` (at the mode), `iterations` and `correct` (`"none"`: `estimate`
#'   is the mode). R-hat, effective sizes and `converged` are `NA` for independent
#'   draws. `plot()`: `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for unknown parameters, variables
#'   and types, for a level, `conf.level` or `probs` out of range, and for
#'   `exponentiate = TRUE` where parameters are not log-odds.
#'   `gibbsite_error_state` for `type = "density"` of a fit without its data.
#' @seealso [importance_check()] for their reliability,
#'   [plot.gibbsite_regression()] for pictures of logistic regressions.
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' summary(fit)
#' attr(summary(fit), "importance")$pareto_k
#' tidy(fit, exponentiate = TRUE)
#' glance(fit)
#'
#' # a known density
#' fit <- laplace(
#'   function(x) -sum((x - 1)^2) / 2, c(a = 0, b = 0),
#'   gradient = function(x) 1 - x, hessian = function(x) -diag(2), seed = 1
#' )
#' plot(fit)
#' @name laplace-estimates
NULL

# ---- Print and summary ------------------------------------------------------

#' @rdname laplace-estimates
#' @export
print.gibbsite_laplace <- function(x, ...) {
  model <- fit_part(x, "model")
  table <- if (is_corrected(model)) judged(x, 1.01, 400, rlang::current_env())
  write_lines(c(
    paste0("<", model$name, "> ", model$headline),
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
  write_lines(c(
    if (!is_corrected(model)) c("", print_check_line(x)),
    model_notes(model, x, table),
    "",
    next_line(x, table)
  ))
  invisible(x)
}

mode_line <- function(model) {
  how <- switch(model$method,
    newton = "Newton's method",
    gradient = paste0("gradient ascent", if (!is.null(model$rho)) {
      paste(" with rho =", format(model$rho), "and Newton's method")
    }),
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
  estimate <- coefficient_estimates(x)
  bounds <- parameter_interval(x, 0.95)
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
    write_lines(sprintf("... and %d more", length(columns) - most))
  }
}

# The check with its advice, if it takes less than about half a second.
print_check_line <- function(x) {
  model <- fit_part(x, "model")
  if (is.null(model$frame)) {
    return("Importance check: needs the data, which the fit does not hold.")
  }
  if (!check_is_cheap(model, ndraws(x))) {
    return("Importance check: see importance_check(fit); not run yet.")
  }
  tryCatch(
    {
      check <- importance_weights(x)
      c(importance_line(check),
        if (needs_correction(check)) correction_advice)
    },
    gibbsite_error = function(cnd) {
      "Importance check: failed; see importance_check(fit)."
    }
  )
}

#' @rdname laplace-estimates
#' @export
summary.gibbsite_laplace <- function(object, variables = NULL,
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
    class = c("laplace_summary", "data.frame"), rows = chosen,
    headline = model$headline, coefficients = coefficients_in(object),
    lines = c(mode_line(model), laplace_length_line(object)),
    convergence = if (corrected) {
      judged(object, 1.01, 400, call)
    },
    importance = if (!is.null(model$frame)) importance_check(object),
    remarks = model_notes(model, object, NULL)
  )
}

laplace_table <- function(model, draws, probs, corrected) {
  chosen <- dimnames(draws)$variable
  table <- data.frame(
    variable = chosen, map = unname(laplace_mode(model)[chosen]),
    map_sd = unname(laplace_sd(model)[chosen]), draw_summary(draws, probs),
    check.names = FALSE
  )
  if (corrected) {
    measures <- diagnose(draws)[c("rhat", "ess_bulk", "ess_tail")]
    table <- cbind(table, measures)
  }
  table
}

#' @export
print.laplace_summary <- function(x, n = 40, ..., digits = 3) {
  n <- check_rows_shown(n)
  shown_as <- if (!missing(digits)) digits
  digits <- check_count(digits, max = 22)
  quantiles <- grep("^q[0-9.]+$", names(x), value = TRUE)
  needed <- c("variable", "map", "map_sd", "mean", "sd")
  if (!is.character(attr(x, "headline")) || !all(needed %in% names(x)) ||
        !has_own_rows(x)) {
    return(invisible(print(as.data.frame(x), digits = shown_as, ...)))
  }
  write_lines(c(attr(x, "headline"), attr(x, "lines"), ""))
  shown <- show_numbers(
    x[c("map", "map_sd", "mean", "sd", quantiles)], x$mean, x$sd, digits
  )
  names(shown)[1:2] <- c("MAP", "MAP sd")
  if ("rhat" %in% names(x)) {
    shown <- cbind(shown, data.frame(
      rhat = show_rhat(x$rhat), bulk = show_ess(x$ess_bulk),
      tail = show_ess(x$ess_tail)
    ))
  }
  print_table(x$variable, shown, n)
  write_lines(c(
    "MAP, MAP sd: the normal approximation; the rest: of the draws", ""
  ))
  convergence <- attr(x, "convergence")
  if (!is.null(convergence)) {
    write_lines(verdict_lines(convergence))
  }
  write_lines(c(check_lines(attr(x, "importance")), attr(x, "remarks")))
  invisible(x)
}

#' @export
as.data.frame.laplace_summary <- function(x, ...) bare_frame(x)

#' @export
rbind.laplace_summary <- function(...) bind_bare(...)

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

# The shift of the mean under the weights is easier to understand than Pareto k.
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

#' @rdname laplace-estimates
#' @export
tidy.gibbsite_laplace <- function(x, conf.level = 0.95, ..., conf.int = TRUE,
                                  exponentiate = FALSE) {
  check_no_more(...)
  exponentiate <- check_exponentiate(exponentiate, x)
  conf.int <- check_flag(conf.int)
  level <- check_level(conf.level)
  model <- fit_part(x, "model")
  columns <- model$columns
  estimate <- coefficient_estimates(x)
  bounds <- parameter_interval(x, level)
  # independent draws have neither R-hat nor effective sizes
  measures <- if (is_corrected(model)) {
    diagnose(stack_chains(chain_matrices(x)))
  } else {
    list(rhat = NA_real_, ess_bulk = NA_real_)
  }
  out <- data.frame(
    term = columns,
    label = if (is_regression(x)) coefficient_labels(columns) else columns,
    estimate = unname(estimate$mean), std.error = unname(estimate$sd),
    conf.low = unname(bounds[, 1L]), conf.high = unname(bounds[, 2L]),
    rhat = measures$rhat, ess = measures$ess_bulk
  )
  tidied(out, x, conf.int, exponentiate)
}

#' @rdname laplace-estimates
#' @export
glance.gibbsite_laplace <- function(x, ...) {
  model <- fit_part(x, "model")
  out <- glance.gibbsite_fit(x)
  if (!is_corrected(model)) {
    out[c("rhat", "ess_bulk", "ess_tail", "converged")] <- NA
  }
  cbind(out, data.frame(
    parameters = length(model$columns), log_evidence = model$log_evidence,
    log_joint = model$log_joint_map, iterations = model$iterations,
    correct = model$correct
  ))
}

#' @export
prior_summary.gibbsite_laplace <- function(object, ...) {
  if (is_regression(object)) {
    return(NextMethod())
  }
  abort_argument(c(
    "A fit of {.fn laplace} has no separate prior.",
    i = "{.arg log_density} contains prior and likelihood."
  ))
}

# ---- Comparison by the evidence ----------------------------------------------

#' @rdname log_evidence
#' @importFrom stats anova
#' @export
anova.gibbsite_laplace <- function(object, ...,
                                   correct = c("none", "importance"),
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

comparison_label <- function(fit, name) {
  formula <- fit_part(fit, "model")$design$formula
  if (is.null(formula)) name else deparse1(formula)
}

check_comparable <- function(fits, call) {
  for (k in seq_along(fits)) {
    check_laplace(
      fits[[k]], if (k == 1L) "object" else paste("fit", k), call
    )
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
  responses <- lapply(fits, function(fit) {
    frame <- fit_part(fit, "model")$frame
    if (is.null(frame)) {
      abort_no_data(call = call)
    }
    list(success = frame$success, total = frame$total)
  })
  check_equal_responses(
    responses, "total", "Their responses or weights differ.", call,
    "Rows with missing values may have been left out of one only."
  )
}

# responses: a list of vectors for each fit, NULL if it is not known; `counted`:
# the vector with an element for each observation; `differ`: what to say if the
# numbers of observations are the same.
check_equal_responses <- function(responses, counted, differ, call,
                                  hint = NULL) {
  known <- which(lengths(responses) > 0L)
  for (k in known[-1L]) {
    first <- known[[1L]]
    if (!identical(responses[[first]], responses[[k]])) {
      counts <- lengths(lapply(responses[c(first, k)], `[[`, counted))
      why <- if (counts[[1L]] != counts[[2L]]) {
        paste("They have", counts[[1L]], "and", counts[[2L]], "observations.")
      } else {
        differ
      }
      abort_argument(
        c("Fits {first} and {k} cannot be compared: they are not of the same
           data.",
          x = "{why}", i = hint),
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
  write_lines(c(
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

# ---- Pictures ----------------------------------------------------------------

# Plots of a Laplace approximation.

picture_laplace <- function(fit, type = NULL, level = 0.95, variables = NULL,
                            ..., call) {
  model <- fit_part(fit, "model")
  type <- check_plot_types(
    type %||% if (is.null(model$frame)) "coefficients" else "density", call,
    c("coefficients", if (!is.null(model$path)) "path")
  )
  if (identical(type, "path")) {
    return(picture_path(model, variables, call))
  }
  if (is_target_picture(model, type)) {
    return(picture_target(fit, variables, call))
  }
  if (!identical(type, "coefficients")) {
    return(picture_chains(fit, type, variables, call, ...))
  }
  level <- check_level(level, call = call)
  chosen <- choose_variables(variables, model$columns, call)
  estimate <- lapply(coefficient_estimates(fit), `[`, chosen)
  few <- clearest(estimate, is.null(variables), "parameters")
  chosen <- chosen[few$rows]
  interval <- function(level) {
    parameter_interval(fit, level)[chosen, , drop = FALSE]
  }
  picture_intervals(intervals_shown(
    estimate$mean[chosen], interval(level), interval(0.5), level, "value",
    estimate = "mode", note = few$note, scaled = TRUE
  ))
}

#' @rdname laplace-estimates
#' @export
plot.gibbsite_laplace <- graphical_method(picture_laplace)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_laplace <- autoplot_method(picture_laplace)

# ---- The approximation beside its target -------------------------------------

is_target_picture <- function(model, type) {
  inherits(model, "laplace_model") && identical(type, "density")
}

# The table has a row for each point of the curves: variable, x, and the
# densities `target` and `normal` there.
picture_target <- function(fit, variables, call, most = 6L) {
  model <- fit_part(fit, "model")
  if (is.null(model$frame)) {
    abort_no_data(call = call, hint = "{.code type = \"coefficients\"} needs
      none.")
  }
  chosen <- choose_variables(variables, model$columns, call)
  shown <- if (is.null(variables)) utils::head(chosen, most) else chosen
  if (length(shown) > 30L) {
    abort_argument(
      "{.arg variables} must be 30 at most, not {length(shown)}.", call = call
    )
  }
  target <- if (length(model$columns) == 1L) {
    grid_target(fit, call)
  } else {
    weighted_target(fit, call)
  }
  table <- in_panels(lapply(shown, function(name) {
    curve <- target$curve(match(name, model$columns))
    data.frame(curve, normal = stats::dnorm(
      curve$x, laplace_mode(model)[[name]], laplace_sd(model)[[name]]
    ))
  }), shown)
  modes <- in_panels(lapply(shown, function(name) {
    data.frame(x = laplace_mode(model)[[name]])
  }), shown)
  names(table)[names(table) == "panel"] <- "variable"
  several <- length(shown) > 1L
  picture(
    table, target_layers(table, modes), target_key(),
    x = picture_axis(if (several) "value" else shown, free = TRUE),
    y = picture_axis("density", free = TRUE, floor = TRUE),
    note = c(
      if (length(shown) < length(chosen)) paste0(
        "The first ", most, " of ", digits(length(chosen)), " parameters; ",
        "`variables` names others."
      ), target$note
    ),
    panels = if (several) {
      data.frame(panel = shown, title = shown, no_y = TRUE)
    }
  )
}

target_layers <- function(table, modes) {
  at <- data.frame(panel = table$variable, x = table$x)
  list(
    picture_layer("band", data.frame(at, lower = 0, upper = table$normal),
                  "normal"),
    picture_layer("vline", modes, "mode"),
    picture_layer("line", data.frame(at, y = table$normal), "approximation"),
    picture_layer("line", data.frame(at, y = table$target), "target")
  )
}

target_key <- function() {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("approximation", colours[[1L]], lty = 2),
    plot_key("target", colours[[2L]], lty = 1),
    plot_key("normal", NA, fill = pale(colours[[1L]], 0.2), shown = FALSE),
    rule_key("mode", shown = TRUE)
  )
}

# A target: list(curve, note), where curve(j) has the columns x and target.

# The marginal densities of weighted draws.
weighted_target <- function(fit, call) {
  model <- fit_part(fit, "model")
  draws <- length(fit) * nrow(.subset2(fit, 1L))
  both <- mixture_draws(fit, min(draws, 4000), call)
  check_some_density(both$log_joint, call)
  weighed <- mixture_weights(model, both$w, both$log_joint)
  weight <- weighed$weight / sum(weighed$weight)
  k <- weighed$pareto_k
  list(
    curve = function(j) weighted_density(
      both$w[, j], weight, weighed$ess, model$data$map[[j]],
      laplace_sd(model)[[j]]
    ),
    note = paste0(
      "Effective size ", digits(floor(weighed$ess)), " of ",
      digits(length(weight)), " weighted draws.",
      if (isTRUE(k >= 0.5)) paste0(
        " ", correction_line(list(corrected_k = k))
      )
    )
  )
}

weighted_density <- function(x, weight, size, centre, sd) {
  ends <- weighted_quantile(x, weight, c(0.001, 0.25, 0.75, 0.999))
  limits <- target_limits(ends[c(1L, 4L)], centre, sd)
  spread <- min(
    sqrt(sum(weight * (x - sum(weight * x))^2)),
    (ends[[3L]] - ends[[2L]]) / 1.34
  )
  curve <- stats::density(
    x, if (spread > 0) 0.9 * spread / size^0.2 else sd / 20, weights = weight,
    from = limits[[1L]], to = limits[[2L]], n = 201L
  )
  data.frame(x = curve$x, target = curve$y)
}

# Both curves, as far as 8 standard deviations of the approximation.
target_limits <- function(ends, centre, sd) {
  ends <- range(ends, centre + c(-3.3, 3.3) * sd)
  pmin(pmax(ends, centre - 8 * sd), centre + 8 * sd)
}

# The density of one parameter on a grid of 50 points per standard deviation, as
# far as it is above a ten thousandth of its largest value.
grid_target <- function(fit, call) {
  model <- fit_part(fit, "model")
  sd <- laplace_sd(model)[[1L]]
  wide <- 8
  repeat {
    x <- model$data$map + seq(-wide, wide, by = 0.02) * sd
    log_joint <- joint_of_draws(fit, cbind(x), call)
    height <- exp(log_joint - max(log_joint))
    if (max(height[c(1L, length(x))]) < 1e-4 || wide >= 64) break
    wide <- 2 * wide
  }
  share <- height / sum(height)
  ends <- weighted_quantile(x, share, c(0.001, 0.999))
  limits <- target_limits(ends, model$data$map, sd)
  drawn <- x >= limits[[1L]] & x <= limits[[2L]]
  list(curve = function(j) {
    data.frame(x = x[drawn], target = share[drawn] / (0.02 * sd))
  })
}

# ---- The path of gradient ascent ---------------------------------------------

# The table has a row for each step: step, the parameters, log_density.
picture_path <- function(model, variables, call) {
  names <- utils::head(choose_variables(variables, model$columns, call), 6L)
  table <- data.frame(
    step = seq_len(nrow(model$path)) - 1L,
    model$path[, names, drop = FALSE],
    log_density = model$trace[seq_len(nrow(model$path))], check.names = FALSE
  )
  if (length(names) == 2L && length(model$columns) == 2L) {
    path_in_plane(model, table, names, call)
  } else {
    path_by_step(model, table, names)
  }
}

path_key <- function() {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("path", colours[[1L]], lty = 1, lwd = 1.5, pch = 19),
    plot_key("mode", colours[[2L]], pch = 4),
    plot_key("log density", "grey60", lty = 1, lwd = 1),
    rule_key()
  )
}

path_words <- function(model) {
  paste0(
    "Gradient ascent, rho = ", format(model$rho), ": ",
    counted(nrow(model$path) - 1L, "step")
  )
}

path_in_plane <- function(model, table, names, call) {
  key <- path_key()
  mode <- laplace_mode(model)[names]
  points <- data.frame(x = table[[names[[1L]]]], y = table[[names[[2L]]]])
  sd <- 3 * laplace_sd(model)[names]
  limits <- Map(function(x, mode, sd) {
    grDevices::extendrange(c(x, mode - sd, mode + sd), f = 0.05)
  }, points, mode, sd)
  contours <- ascent_contours(
    model, limits, min(table$log_density), names, call
  )
  key$shown[key$label == "log density"] <- NROW(contours) > 0L
  picture(
    table, list(
      picture_layer("line", contours, "log density"),
      picture_layer("line", points, "path"),
      picture_layer("point", data.frame(points, size = 1), "path", 0.7),
      picture_layer("point", data.frame(x = mode[[1L]], y = mode[[2L]],
                                        size = 4), "mode")
    ), key[key$label != "rule", ],
    x = picture_axis(names[[1L]], limits = limits[[1L]]),
    y = picture_axis(names[[2L]], limits = limits[[2L]]),
    note = path_words(model)
  )
}

# Where log q is k^2 / 2 below its maximum, k = 1, 2, ... as far as the start
# is, at most twelve such lines.
ascent_contours <- function(model, limits, lowest, names, call) {
  if (is.null(model$frame)) {
    return(NULL)
  }
  # as far as the margins that an axis has beyond its limits
  grid <- lapply(limits, function(ends) {
    seq_range(grDevices::extendrange(ends, f = 0.05), 60L)
  })
  points <- as.matrix(expand.grid(grid))[, match(model$columns, names)]
  height <- apply(points, 1L, density_or_zero(model$frame, call))
  last <- max(3, sqrt(2 * (model$log_joint_map - lowest)))
  steps <- seq(1, last, length.out = min(12, floor(last)))
  contour_lines(
    grid[[1L]], grid[[2L]], matrix(pmax(height, -1e300), 60L),
    model$log_joint_map - steps^2 / 2
  )
}

path_by_step <- function(model, table, names) {
  shown <- c(names, "log_density")
  lines <- in_panels(lapply(shown, function(name) {
    data.frame(x = table$step, y = table[[name]])
  }), shown)
  rules <- in_panels(lapply(laplace_mode(model)[names], function(mode) {
    data.frame(y = mode)
  }), names)
  rules$panel <- factor(rules$panel, shown)
  key <- path_key()
  key$pch <- NA
  left <- length(model$columns) - length(names)
  picture(
    table, list(
      picture_layer("hline", rules, "mode of a parameter"),
      picture_layer("line", lines, "path")
    ), rbind(
      key[key$label == "path", ], rule_key("mode of a parameter", TRUE)
    ),
    x = picture_axis("step"), y = picture_axis("value", free = TRUE),
    note = c(path_words(model), if (left > 0L) {
      paste0(length(names), " of ", length(model$columns), " parameters")
    }),
    panels = data.frame(panel = shown, title = c(names, "log density"))
  )
}
