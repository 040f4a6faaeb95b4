# compare(): coefficients of several fits beside each other.

#' Compare the posteriors of several fits
#'
#' Puts the posteriors of the same coefficients by several fits beside each
#' other: an approximation and exact draws, two samplers, two priors or two
#' links. For a fit of [laplace_logistic()] or [laplace()] the columns describe
#' its normal approximation (with `correct = "importance"` its draws), for other
#' fits the draws. Of a fit of [gibbs_hlm()] the fixed effects are compared.
#'
#' @param ... Two or more fits, or a list of them, of regressions with the same
#'   coefficients and responses, or fits of [mh_sample()] or [laplace()] whose
#'   parameters include these coefficients by name. The names of the arguments
#'   or of the list, or else of the variables, name the fits.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of the central intervals.
#' @param reference The name or number of the fit with which the others are
#'   compared; `NULL` (default) is the last one.
#' @param x The result of `compare()`.
#' @param variables `NULL` for all coefficients but the intercept (the six that
#'   differ most between the fits if there are more), or names of coefficients,
#'   30 at most.
#' @param n Whole number: how many rows are printed; `Inf` is all.
#' @return A data frame of class `coefficient_comparison` with a row for each
#'   coefficient and fit: `coefficient`, `fit`, `mean`, `sd`, `lower` and
#'   `upper` (the interval), `shift` (its mean minus that of the reference,
#'   divided by the standard deviation of the latter) and `sd_ratio` (its
#'   standard deviation over that of the reference). `plot()` draws the
#'   densities of each coefficient by all fits in one panel, dashed for normal
#'   approximations, and returns `x` invisibly.
#' @section Errors: `gibbsite_error_argument` for other objects than such fits,
#'   and for fits of different coefficients or data, which it names.
#' @seealso [importance_check()] for the quality of one approximation,
#'   [combine_fits()] for runs of one model.
#' @examples
#' laplace <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' exact <- gibbs_logistic(am ~ wt, mtcars, seed = 1)
#' both <- compare(laplace, exact)
#' both
#' plot(both)
#' @export
compare <- function(...) {
  if (...length() == 0L) {
    abort_argument("There must be two fits or more to compare.")
  }
  UseMethod("compare")
}

#' @export
compare.default <- function(...) {
  check_fit_of(..1, compared_makers, "fit 1", rlang::current_env())
}

#' @rdname compare
#' @export
compare.gibbsite_fit <- function(..., level = 0.95, reference = NULL) {
  compare_fits(
    list(...), as.list(substitute(list(...)))[-1L], level, reference,
    rlang::current_env()
  )
}

#' @export
compare.list <- function(..., level = 0.95, reference = NULL) {
  call <- rlang::current_env()
  if (...length() > 1L) {
    abort_argument("There must be one list of fits, or fits.", call = call)
  }
  fits <- unclass(..1)
  # names of variables are known where the call makes the list
  made_by <- substitute(list(...))[[2L]]
  shown <- if (is.call(made_by) && identical(made_by[[1L]], quote(list)) &&
                 length(made_by) == length(fits) + 1L) {
    as.list(made_by)[-1L]
  } else {
    lapply(fits, function(fit) NA)
  }
  names(shown) <- names(fits)
  compare_fits(fits, shown, level, reference, call)
}

# expressions: of the fits in the call, with the names that they were given.
compare_fits <- function(fits, expressions, level, reference, call) {
  check_compared_fits(fits, call)
  names <- fit_names(fits, expressions, call)
  level <- check_level(level, call = call)
  reference <- if (is.null(reference)) {
    length(fits)
  } else {
    match(
      check_some_of(reference, names, call, one = TRUE, arg = "reference"),
      names
    )
  }
  posteriors <- lapply(fits, coefficient_posterior, level)
  columns <- shared_coefficients(fits, posteriors, call)
  posteriors <- lapply(posteriors, chosen_coefficients, columns)
  structure(
    comparison_table(posteriors, names, columns, reference),
    class = c("coefficient_comparison", "data.frame"),
    level = level, reference = names[[reference]],
    curves = stats::setNames(lapply(posteriors, `[[`, "curves"), names),
    normal = vapply(posteriors, function(of) is.null(of$draws), NA)
  )
}

# ---- checks ------------------------------------------------------------------

compared_regressions <- c(
  "gibbs_lm", "gibbs_hlm", "gibbs_logistic", "gibbs_count",
  "gibbs_ordinal", "gibbs_categorical", "laplace_logistic"
)

compared_makers <- c(compared_regressions, "mh_sample", "gibbsite_laplace")

check_compared_fits <- function(fits, call) {
  for (k in seq_along(fits)) {
    check_fit_of(fits[[k]], compared_makers, paste("fit", k), call)
  }
  if (length(fits) < 2L) {
    abort_argument("There must be two fits or more to compare.", call = call)
  }
  responses <- lapply(fits, function(fit) model_outcome(fit_part(fit, "model")))
  check_equal_responses(responses, "y", "Their responses differ.", call)
}

# The names given, or else those of variables, or else of the functions.
fit_names <- function(fits, expressions, call) {
  given <- names(expressions) %||% character(length(expressions))
  variable <- vapply(expressions, is.name, NA)
  default <- vapply(fits, maker_of, "")
  for (maker in unique(default[!variable & duplicated(default)])) {
    at <- which(default == maker & !variable)
    if (length(at) > 1L) default[at] <- paste(maker, seq_along(at))
  }
  default[variable] <- vapply(expressions[variable], deparse1, "")
  twice <- given[nzchar(given) & duplicated(given)]
  if (length(twice) > 0L) {
    abort_argument(
      "The fits must have different names: {.val {twice[[1L]]}} is there
       twice.",
      call = call
    )
  }
  make.unique(unname(ifelse(nzchar(given), given, default)), " ")
}

# The coefficients of the first regression, which all fits must have.
shared_coefficients <- function(fits, posteriors, call) {
  known <- lapply(posteriors, function(of) {
    setdiff(names(of$mean), "log_density")
  })
  regression <- vapply(fits, inherits, NA, compared_regressions)
  first <- c(which(regression), 1L)[[1L]]
  for (k in seq_along(fits)) {
    lacking <- setdiff(known[[first]], known[[k]])
    more <- if (regression[[k]]) setdiff(known[[k]], known[[first]])
    odd <- c(lacking, more)
    if (length(odd) > 0L) {
      without <- if (length(lacking) > 0L) k else first
      with <- if (length(lacking) > 0L) first else k
      abort_argument(
        c("Fits {first} and {k} cannot be compared: they have different
           coefficients.",
          x = "Fit {with} has {.val {odd[[1L]]}}, fit {without} does not.",
          i = "{.fn loo_compare} and {.fn log_evidence} compare different
               models."),
        call = call
      )
    }
  }
  known[[first]]
}

# ---- the table ---------------------------------------------------------------

# list(mean, sd, bounds, draws): without draws the posterior is taken to be
# normal.
coefficient_posterior <- function(fit, level) {
  out <- coefficient_estimates(fit)
  out$bounds <- parameter_interval(fit, level)
  if (draws_posterior(fit_part(fit, "model"))) {
    out$draws <- coefficient_draws(fit)
  }
  out
}

# Adds `curves`: a density list(x, y) for each coefficient.
chosen_coefficients <- function(of, columns) {
  at <- match(columns, names(of$mean))
  of$mean <- unname(of$mean[at])
  of$sd <- unname(of$sd[at])
  of$bounds <- of$bounds[at, , drop = FALSE]
  of$draws <- of$draws[, at, drop = FALSE]
  of$curves <- lapply(seq_along(columns), function(j) {
    if (!is.null(of$draws)) {
      return(stats::density(of$draws[, j], n = 256)[c("x", "y")])
    }
    x <- of$mean[[j]] + of$sd[[j]] * seq(-4, 4, length.out = 256)
    list(x = x, y = stats::dnorm(x, of$mean[[j]], of$sd[[j]]))
  })
  names(of$curves) <- columns
  of
}

# The fits of a coefficient follow each other.
comparison_table <- function(posteriors, names, columns, reference) {
  by_coefficient <- function(part) {
    as.vector(do.call(rbind, lapply(posteriors, part)))
  }
  fits <- length(posteriors)
  mean <- by_coefficient(function(of) of$mean)
  sd <- by_coefficient(function(of) of$sd)
  other <- posteriors[[reference]]
  data.frame(
    coefficient = rep(columns, each = fits),
    fit = rep(names, length(columns)), mean = mean, sd = sd,
    lower = by_coefficient(function(of) of$bounds[, 1L]),
    upper = by_coefficient(function(of) of$bounds[, 2L]),
    shift = (mean - rep(other$mean, each = fits)) / rep(other$sd, each = fits),
    sd_ratio = sd / rep(other$sd, each = fits)
  )
}

# ---- print and plot ----------------------------------------------------------

is_made_comparison <- function(x) {
  needed <- c(
    "coefficient", "fit", "mean", "sd", "lower", "upper", "shift", "sd_ratio"
  )
  is.data.frame(x) && all(needed %in% names(x)) &&
    is_plain_number(attr(x, "level")) && is_plain_string(attr(x, "reference"))
}

#' @rdname compare
#' @export
print.coefficient_comparison <- function(x, n = 40, ...) {
  n <- check_rows_shown(n)
  if (!is_made_comparison(x)) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  write_lines(c(
    paste0(
      counted(length(unique(x$coefficient)), "coefficient"), " by ",
      counted(length(unique(x$fit)), "fit"), ", with ",
      format(100 * attr(x, "level")), "% intervals"
    ),
    ""
  ))
  shown <- data.frame(
    fit = x$fit,
    show_numbers(x[c("mean", "sd", "lower", "upper")], x$mean, x$sd),
    shift = formatC(x$shift, digits = 2, format = "f"),
    sd_ratio = formatC(x$sd_ratio, digits = 2, format = "f")
  )
  name <- ifelse(duplicated(x$coefficient), "", x$coefficient)
  print_table(name, shown, n)
  write_lines(c("", paste0(
    "shift: of the mean, in standard deviations of ", attr(x, "reference")
  ), paste0("sd_ratio: to the standard deviation of ", attr(x, "reference"))))
  invisible(x)
}

#' @export
as.data.frame.coefficient_comparison <- function(x, ...) bare_frame(x)

#' @rdname compare
#' @export
plot.coefficient_comparison <- function(x, variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  if (!is_made_comparison(x) || !is.list(attr(x, "curves"))) {
    abort_argument(
      "{.arg x} must be what {.fn compare} returns, whole.", call = call
    )
  }
  columns <- unique(x$coefficient)
  chosen <- coefficients_to_plot(variables, columns, call)
  of <- length(chosen)
  if (is.null(variables) && of > 6L) {
    chosen <- most_different(x, chosen, 6L)
  } else if (of > 30L) {
    abort_argument("There must be at most 30 panels, not {of}.", call = call)
  }
  fits <- names(attr(x, "curves"))
  table <- in_panels(lapply(chosen, curves_shown, x = x), chosen)
  draw_base(picture(
    table, list(picture_layer("line", table, fits[table$group])),
    plot_key(fits, gibbsite_palette(length(fits)), lty = 1 + attr(x, "normal")),
    x = picture_axis("coefficient", free = TRUE),
    y = picture_axis("density", free = TRUE, floor = TRUE),
    note = if (length(chosen) < of) {
      paste(length(chosen), "of", of, "coefficients: those that differ most")
    }, panels = data.frame(panel = chosen, title = chosen, no_y = TRUE)
  ))
  invisible(x)
}

# The curves of all fits of one coefficient: group (the fit's number), x, y.
curves_shown <- function(name, x) {
  curves <- lapply(attr(x, "curves"), `[[`, name)
  rows <- x[x$coefficient == name, ]
  ends <- range(rows$mean - 4 * rows$sd, rows$mean + 4 * rows$sd)
  do.call(rbind, lapply(seq_along(curves), function(k) {
    curve <- data.frame(group = k, curves[[k]][c("x", "y")])
    curve[curve$x >= ends[[1L]] & curve$x <= ends[[2L]], ]
  }))
}

# Returns n of the columns, in the order of the table.
most_different <- function(x, columns, n) {
  difference <- vapply(columns, function(name) {
    rows <- x[x$coefficient == name, ]
    max(abs(rows$shift), abs(log(rows$sd_ratio)), -Inf, na.rm = TRUE)
  }, 0)
  columns[sort(order(-difference)[seq_len(n)])]
}
