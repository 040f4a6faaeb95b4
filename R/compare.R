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
#' @param x,object The result of `compare()`.
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

picture_comparison <- function(x, variables = NULL, ..., call, arg) {
  if (!is_made_comparison(x) || !is.list(attr(x, "curves"))) {
    abort_argument(
      "{.arg {arg}} must be what {.fn compare} returns, whole.", call = call
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
  picture(
    table, list(picture_layer("line", table, fits[table$group])),
    plot_key(fits, gibbsite_palette(length(fits)), lty = 1 + attr(x, "normal")),
    x = picture_axis("coefficient", free = TRUE),
    y = picture_axis("density", free = TRUE, floor = TRUE),
    note = if (length(chosen) < of) {
      paste(length(chosen), "of", of, "coefficients: those that differ most")
    }, panels = data.frame(panel = chosen, title = chosen, no_y = TRUE)
  )
}

#' @rdname compare
#' @export
plot.coefficient_comparison <- plot_method(picture_comparison)

#' @rdname compare
#' @exportS3Method ggplot2::autoplot
autoplot.coefficient_comparison <- autoplot_method(picture_comparison)

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

# ---- compare_k() -------------------------------------------------------------

# compare_k(): how many components, topics or factors. What is compared depends
# on the model: model_compare_k() in R/gmm-evidence.R, R/lda-predict.R and
# R/bmf-held-out.R.

#' Compare numbers of components, topics or factors
#'
#' Puts fits of [gibbs_gmm()] with several numbers of components, of
#' [gibbs_lda()] with several numbers of topics, or of [gibbs_bmf()] with
#' several ranks beside each other. The fits must be of the same data, and hold
#' them.
#'
#' @section Mixtures:
#' The criterion is the log evidence ([log_evidence()]). It is exact up to its
#' standard error, and is defined for the prior of each fit. `probability` is
#' the posterior probability of each model, if all have the same prior
#' probability. It depends on the prior of the covariances. A fit with an
#' unknown `k` cannot be compared here: it has another default prior, and
#' [posterior_k()] gives its own probabilities. If
#' loo is installed, the expected log predictive densities of
#' [loo()][loo::loo] and [waic()][loo::waic] are beside it. These ask which fit
#' predicts best, not which number is right, and change little where
#' a component is superfluous.
#'
#' @section Topics:
#' The documents are divided at random into folds. Each model is fitted without
#' each fold, with the settings of its fit, and predicts the documents of the
#' fold by document completion: a random half of a document's tokens gives its
#' topics, and the other half is scored ([held_out_perplexity()]). The criterion
#' is the perplexity; lower is better. All models see the same folds and the
#' same halves, so that their differences are less variable than the
#' perplexities. `coherence` is the mean NPMI over the topics of the whole fit
#' ([coherence()]), and `coherence_least` that of the least coherent topic. The
#' number of topics with the least perplexity is often larger than the number
#' that people can interpret: read both. Documents with fewer than two tokens
#' cannot be scored; a note below the table counts them.
#'
#' @section Ratings:
#' The ratings are divided at random into folds. Each model is fitted without
#' each fold, and predicts the ratings of the fold. The mean that `center`
#' subtracts and the prior are those of the whole fit. The criterion is the root
#' mean square error of the posterior mean. `interval_score` is the mean score
#' of the predictive intervals (their length, and \eqn{2 / (1 - }{2 / (1 -
#' }`level` \eqn{)}{)} times the distance of ratings outside; Gneiting and
#' Raftery 2007, eq. 43), `lpd` the mean log predictive density of a rating.
#' With a `link` it is a log probability, and with a `range` a log probability
#' at its ends: `lpd` is `NA` where fits differ in these, and a note says so.
#'
#' @section Fits that have not converged:
#' A line below the table names each mixture or factorisation whose chains have
#' not converged, with the reason, and those of which some folds have not. Folds
#' of a fit that was made by a rule (without `draws`) run by its rule, and are
#' given up early where they will not converge, as those of [kfold()][kfold].
#' The time of `until(seconds = )` is that of each fit and of each fold: fits
#' made by `stop_when = until(seconds = 60)` take a minute each, whatever their
#' `k`.
#'
#' @section How sure a difference is:
#' `difference` is how much worse a fit is by the criterion than the best one.
#' `difference_se` is its standard error. For log evidences it comes from their
#' two standard errors. Otherwise it comes from the differences of the two fits'
#' scores for each document (rating). `sure` rates the difference by one word.
#' For log evidences, whose difference \eqn{d}
#' is a log Bayes factor with standard error \eqn{s}: `"clear"` if \eqn{d - 2 s
#' > 5}, `"likely"` if \eqn{d - 2 s > 1}, `"open"` otherwise (Kass and Raftery
#' 1995 call 5 very strong and 1 positive evidence). For other criteria
#' `"clear"` if \eqn{d > 4 s}, `"likely"` if \eqn{d > 2 s}, `"open"` otherwise.
#'
#' With many ratings or documents a difference may be sure and too small to
#' matter. `relevant` is the smallest difference that does: \eqn{d} is then
#' compared less `relevant`, and a fit is `"equal"` if \eqn{d + 2 s} is below
#' `relevant`.
#'
#' @param ... Two or more fits of one sampler, or one list of them. The names of
#'   the arguments, or else of the variables, name the fits.
#' @param folds Whole number, 2 or more (default 5): how many parts the
#'   documents or the ratings are divided into. Each takes a run of each fit.
#'   Mixtures have none.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   predictive intervals of ratings.
#' @param relevant Number, 0 (default) or more: the smallest difference of the
#'   criterion that matters, in its units.
#' @param cores,seed,progress As in [running]. The chains of the folds run where
#'   `cores` and [future::plan()] say, and the result is the same everywhere.
#' @param x,object The result of `compare_k()`.
#' @return A data frame of class `k_comparison` with a row for each fit, by
#'   increasing `k` (the number of components, topics or factors): `fit` (its
#'   name), `k`; of mixtures `log_evidence`, `log_evidence_se`, `probability`,
#'   `elpd_loo`, `elpd_loo_se`, `pareto_k` (how many observations have a Pareto
#'   \eqn{k} above the limit of loo), `elpd_waic`; of topics `perplexity`,
#'   `perplexity_se`, `coherence`, `coherence_least`; of ratings `rmse`,
#'   `rmse_se`, `interval_score`, `lpd`; and `difference`, `difference_se` and
#'   `sure`. `plot()` draws the criterion against `k`, with bars of two standard
#'   errors of the difference from the best. A second panel shows the second
#'   measure as plain points. `plot()` returns `x` invisibly. A subset of the
#'   table is an ordinary data frame.
#' @section Errors: `gibbsite_error_argument` for other objects than such fits,
#'   for fits of different data, for more folds than documents or ratings, and
#'   for documents none of which has two tokens;
#'   `gibbsite_error_no_data` for a fit without its data; those of
#'   [log_evidence()]; `gibbsite_error_fold` names a fold without which a model
#'   cannot be fitted. A warning of class `gibbsite_warning_evidence` names
#'   the fits whose log evidence is uncertain.
#' @references
#' Gneiting T, Raftery AE (2007). Strictly proper scoring rules, prediction, and
#' estimation. *Journal of the American Statistical Association* 102, 359-378.
#' \doi{10.1198/016214506000001437}
#'
#' Kass RE, Raftery AE (1995). Bayes factors. *Journal of the American
#' Statistical Association* 90, 773-795. \doi{10.1080/01621459.1995.10476572}
#' @seealso [compare()] for the coefficients of regressions,
#'   [loo::loo_compare()] for other fits.
#' @examples
#' fits <- lapply(1:2, function(k) {
#'   gibbs_gmm(faithful, k, draws = 400, burnin = 200, chains = 2, seed = 1,
#'             progress = FALSE)
#' })
#' both <- compare_k(fits, seed = 1)
#' both
#' plot(both)
#' @export
compare_k <- function(..., folds = 5, level = 0.95, relevant = 0,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      progress = TRUE) {
  call <- rlang::current_env()
  check_unlocked(call)
  given <- chosen_fits(list(...), as.list(substitute(list(...)))[-1L], call)
  settings <- list(
    folds = check_count(folds, min = 2), level = check_level(level),
    relevant = check_number(relevant, lower = 0),
    cores = check_count(cores, max = 1024), progress = check_flag(progress)
  )
  seed <- check_seed(seed)
  fits <- given$fits
  model <- fit_part(fits[[1L]], "model")
  check_one_data(fits, given$names, call)
  settings$seed <- root_seed(seed, call)
  k <- vapply(fits, function(fit) model_size(fit_part(fit, "model")), 0L)
  order <- order(k)
  found <- model_compare_k(model, fits[order], given$names[order], settings,
                           call)
  new_k_comparison(given$names[order], k[order], found, settings$relevant)
}

# list(fits, names) of `...`, or of the list that it holds.
chosen_fits <- function(fits, expressions, call) {
  listed <- length(fits) == 1L && is.list(fits[[1L]]) &&
    !is.object(fits[[1L]])
  if (listed) {
    fits <- fits[[1L]]
    expressions <- stats::setNames(
      rep(list(NULL), length(fits)), names(fits)
    )
  }
  if (length(fits) < 2L) {
    abort_argument("There must be two fits or more to compare.", call = call)
  }
  makers <- c("gibbs_gmm", "gibbs_lda", "gibbs_bmf")
  for (i in seq_along(fits)) {
    check_fit_of(fits[[i]], makers, paste("fit", i), call)
    first <- fit_part(fits[[1L]], "model")$name
    check_fit_of(fits[[i]], first, paste("fit", i), call)
    if (lacks_data(fit_part(fits[[i]], "model"))) abort_no_data(call = call)
  }
  names <- if (listed && is.null(names(fits))) {
    paste("fit", seq_along(fits))
  } else {
    fit_names(fits, expressions, call)
  }
  list(fits = unname(fits), names = names)
}

check_one_data <- function(fits, names, call) {
  data <- lapply(fits, function(fit) model_observed(fit_part(fit, "model")))
  for (i in seq_along(fits)[-1L]) {
    if (!identical(data[[i]], data[[1L]])) {
      abort_argument(
        "The fits must be of the same data: those of {.val {names[[i]]}} are
         not those of {.val {names[[1L]]}}.",
        call = call
      )
    }
  }
}

# found: list(columns, criterion, second, higher, difference, se, evidence,
# notes), see model_compare_k().
new_k_comparison <- function(names, k, found, relevant) {
  structure(
    cbind(
      data.frame(fit = names, k = k), found$columns,
      data.frame(
        difference = found$difference, difference_se = found$se,
        sure = sure_words(
          found$difference, found$se, found$evidence, relevant
        )
      )
    ),
    class = c("k_comparison", "data.frame"),
    of = found$of, criterion = found$criterion, second = found$second,
    notes = found$notes
  )
}

# Kass & Raftery (1995), section 3.2, for log Bayes factors.
sure_words <- function(difference, se, evidence, relevant = 0) {
  limits <- if (evidence) {
    cbind(1 + 2 * se, 5 + 2 * se)
  } else {
    cbind(2 * se, 4 * se)
  }
  words <- c("open", "likely", "clear")
  out <- words[1L + rowSums(difference - relevant > limits)]
  # a single document has no standard error
  out[is.na(out)] <- "open"
  out[difference + 2 * se < relevant] <- "equal"
  out[which.min(difference)] <- "best"
  out
}

# ---- folds -------------------------------------------------------------------

# list(scores, slow). scores: for each fit a list with an element for each fold,
# the value of score(fit, held, common) for the fit without the elements `held`.
# common: the value of prepare(held), which all fits take from the fold, such as
# random halves. slow: for each fit the reasons why its runs have not converged,
# one for each such fold.
fit_folds <- function(fits, elements, settings, what, prepare, score, call) {
  count <- settings$folds
  if (count > elements) {
    abort_argument(
      "{.arg folds} must be at most {elements}, the number of {what}.",
      call = call
    )
  }
  streams <- chain_streams(settings$seed, 2L, call)
  plan <- with_stream(streams[[1L]], {
    list(
      folds = sample(rep_len(seq_len(count), elements)),
      seeds = distinct_seeds(count)
    )
  }, call)$value
  tick <- part_counter("Folds", count * length(fits), settings$progress)
  out <- rep(list(vector("list", count)), length(fits))
  slow <- rep(list(character()), length(fits))
  for (fold in seq_len(count)) {
    held <- which(plan$folds == fold)
    seed <- plan$seeds[[fold]]
    common <- with_stream(
      spare_stream(seed, length(fits[[1L]]), "fold", call), prepare(held), call
    )$value
    for (i in seq_along(fits)) {
      one <- fit_fold(fits[[i]], held, NULL, seed, settings$cores, fold, call)
      slow[[i]] <- c(slow[[i]], one$slow)
      stream <- spare_stream(seed, length(fits[[i]]), "fold_score", call)
      out[[i]][[fold]] <- with_stream(
        stream, score(one$fit, held, common), call
      )$value
      tick()
    }
  }
  list(scores = out, slow = slow)
}

# A sentence for each fit that has not converged, and for each of which some
# folds have not. slow: of fit_folds(), or NULL.
slow_notes <- function(fits, names, slow = NULL, folds = NULL) {
  notes <- lapply(seq_along(fits), function(i) {
    table <- judged(fits[[i]], 1.01, 400, NULL)
    in_folds <- slow[[i]]
    c(
      if (!table_converged(table)) {
        paste0("Not converged: ", names[[i]], ", ", reason_words(table), ".")
      },
      if (length(in_folds) > 0L) {
        paste0(
          "Not converged: ", names[[i]], " in ", length(in_folds), " of ",
          folds, " folds, ", in_folds[[1L]], "."
        )
      }
    )
  })
  unlist(notes)
}

# ---- print and plot ----------------------------------------------------------

# A user can take columns away or change them.
is_made_k_comparison <- function(x) {
  criterion <- attr(x, "criterion")
  if (!is.data.frame(x) || !is_plain_string(criterion)) {
    return(FALSE)
  }
  needed <- c("fit", "k", criterion, "difference", "difference_se", "sure")
  all(needed %in% names(x)) && is.character(x$fit) &&
    sum(x$sure %in% "best") == 1L && !anyNA(x$k) &&
    all(vapply(x[setdiff(names(x), c("fit", "sure"))], is.numeric, NA))
}

#' @rdname compare_k
#' @export
print.k_comparison <- function(x, ...) {
  if (!is_made_k_comparison(x)) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  write_lines(c(attr(x, "of"), ""))
  plain <- as.data.frame(x)
  shown <- plain[setdiff(names(plain), c("fit", "k", "sure"))]
  shown <- shown[vapply(shown, function(column) !all(is.na(column)), NA)]
  shown[] <- lapply(names(shown), function(name) {
    show_measure(name, shown[[name]])
  })
  shown <- with_errors(shown)
  body <- as.matrix(cbind(
    k = format(plain$k), shown, sure = plain$sure
  ))
  dimnames(body) <- list(plain$fit, colnames(body))
  print(body, quote = FALSE, right = TRUE)
  write_lines(c("", k_words(plain), attr(x, "notes")))
  invisible(x)
}

# Puts each column `name_se` in parentheses behind that of its measure.
with_errors <- function(shown) {
  measures <- grep("_se$", names(shown), value = TRUE, invert = TRUE)
  out <- lapply(measures, function(name) {
    error <- shown[[paste0(name, "_se")]]
    paste0(shown[[name]], if (!is.null(error)) paste0(" (", error, ")"))
  })
  has_error <- paste0(measures, "_se") %in% names(shown)
  names(out) <- paste0(measures, ifelse(has_error, " (se)", ""))
  as.data.frame(out, optional = TRUE)
}

show_measure <- function(name, x) {
  if (name == "pareto_k") {
    return(format(x))
  }
  if (name == "probability") {
    return(ifelse(x < 0.0005, "<.001", formatC(x, format = "f", digits = 3)))
  }
  if (endsWith(name, "_se")) {
    return(show_significant(x, 2))
  }
  spread <- stats::sd(x)
  digits <- if (is.na(spread) || spread == 0) 3 else 2 - floor(log10(spread))
  formatC(x, format = "f", digits = min(max(digits, 1), 6))
}

# What the table says, in a sentence.
k_words <- function(x) {
  best <- which(x$sure == "best")
  named <- function(rows) {
    if (anyDuplicated(x$k)) {
      few_words(x$fit[rows])
    } else {
      paste("k =", few_words(x$k[rows]))
    }
  }
  equal <- which(x$sure == "equal")
  open <- which(x$sure == "open")
  likely <- which(x$sure == "likely")
  paste0(
    "Best: ", named(best),
    if (length(equal) > 0L) {
      paste0("; no relevant difference from it: ", named(equal))
    },
    if (length(open) > 0L) {
      paste0("; not told apart from it: ", named(open))
    } else if (length(likely) > 0L) {
      paste0("; probably worse: ", named(likely))
    } else if (length(best) + length(equal) < nrow(x)) {
      "; all others are clearly worse"
    },
    "."
  )
}

# A subset of the table is an ordinary data frame, because the verdicts are
# about all fits.
#' @export
`[.k_comparison` <- function(x, ...) bare_frame(x)[...]

#' @export
as.data.frame.k_comparison <- function(x, ...) bare_frame(x)

picture_k <- function(x, ..., call, arg) {
  if (!is_made_k_comparison(x)) {
    abort_argument(
      "{.arg {arg}} must be what {.fn compare_k} returns, whole.", call = call
    )
  }
  shown <- intersect(c(attr(x, "criterion"), attr(x, "second")), names(x))
  shown <- shown[vapply(x[shown], function(column) !all(is.na(column)), NA)]
  tables <- lapply(shown, measure_shown, x = x)
  table <- in_panels(tables, shown)
  twice <- anyDuplicated(x$k) > 0L
  at <- unique(table$x)
  arrows <- table[table$cut, ]
  look <- c(best = "best", equal = "not told apart from the best",
            open = "not told apart from the best")[table$sure]
  look[is.na(look)] <- "worse"
  look[!table$judged] <- "not judged"
  blue <- gibbsite_palette(1)
  bars <- "2 standard errors of the difference"
  picture(
    table, list(
      picture_layer("line", table[!table$cut, ], "line"),
      picture_layer("segment", data.frame(
        x = table$x, xend = table$x, y = table$lower, yend = table$upper,
        panel = table$panel
      )[table$judged & !table$cut, ], bars),
      picture_layer("arrow", data.frame(
        x = arrows$x, xend = arrows$x, y = arrows$from, yend = arrows$to,
        panel = arrows$panel
      ), bars),
      picture_layer("text", data.frame(
        x = arrows$x, y = arrows$beside, panel = arrows$panel,
        label = vapply(arrows$y, format, "", digits = 4)
      ), "value"),
      picture_layer("point", table[!table$cut, ], look[!table$cut])
    ), rbind(
      plot_key("best", blue, pch = 19),
      plot_key("not told apart from the best", blue, pch = 21),
      plot_key("worse", "grey35", pch = 21),
      plot_key("not judged", "grey35", pch = 15, shown = FALSE),
      plot_key("line", "grey60", lty = 1, lwd = 1, shown = FALSE),
      plot_key("value", "grey35", shown = FALSE),
      plot_key(bars, "grey35", lty = 1, lwd = 1.5)
    ), x = picture_axis(
      if (twice) "fit" else k_title(x), at = at,
      labels = if (twice) x$fit else as.character(at)
    ), y = picture_axis(free = TRUE),
    note = if (nrow(arrows) > 0L) "Arrows: values beyond the axis",
    panels = data.frame(panel = shown, title = measure_words[shown]),
    columns = 1L
  )
}

#' @rdname compare_k
#' @export
plot.k_comparison <- plot_method(picture_k)

#' @rdname compare_k
#' @exportS3Method ggplot2::autoplot
autoplot.k_comparison <- autoplot_method(picture_k)

# Values of one measure, with the error of the difference if the verdicts are
# about it: x, y, lower, upper, sure, judged; `cut` where a value is so much
# worse than the others that it would flatten their axis, with an arrow `from`,
# `to` and its number at `beside`.
measure_shown <- function(name, x) {
  value <- x[[name]]
  # the verdicts are on the criterion alone
  judged <- name == attr(x, "criterion")
  se <- if (judged) x$difference_se else 0 * value
  se[is.na(se)] <- 0
  ends <- cbind(value - 2 * se, value + 2 * se)
  seen <- which(!is.na(value))
  cut <- seq_along(value) %in% seen[squeezing(
    ends[seen, , drop = FALSE], stats::median(value[seen])
  )]
  good <- if (grepl("lower", measure_words[[name]])) -value else value
  if (any(cut) && max(good[cut]) > min(good[!cut], na.rm = TRUE)) cut[] <- FALSE
  limits <- range(ends[!cut, ], na.rm = TRUE)
  high <- value > limits[[2L]]
  tip <- ifelse(high, limits[[2L]], limits[[1L]])
  back <- ifelse(high, -1, 1) * diff(limits)
  data.frame(
    x = if (anyDuplicated(x$k)) seq_along(value) else x$k, y = value,
    lower = ends[, 1L], upper = ends[, 2L], sure = x$sure, judged = judged,
    cut = cut, from = tip + 0.1 * back, to = tip, beside = tip + 0.17 * back
  )[seen, ]
}

measure_words <- c(
  log_evidence = "log evidence: higher is better",
  elpd_loo = "expected log predictive density (loo): higher is better",
  perplexity = "perplexity of held-out documents: lower is better",
  coherence = "mean coherence of topics (NPMI): higher is better",
  rmse = "root mean square error of held-out ratings: lower is better",
  interval_score = "score of predictive intervals: lower is better"
)

k_title <- function(x) {
  c(log_evidence = "components", perplexity = "topics", rmse = "factors")[[
    attr(x, "criterion")
  ]]
}
