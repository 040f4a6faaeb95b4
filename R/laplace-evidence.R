# The evidence of Laplace approximations, and the comparison of models by it.

#' Evidence of a Laplace approximation, and fits compared by it
#'
#' The evidence (marginal likelihood) \eqn{p(y) = \int p(y \mid w) p(w)\,
#' dw}{p(y) = integral of p(y | w) p(w)} is the prior predictive density of the
#' data. `log_evidence()` gives its logarithm by Laplace's method or corrected
#' by importance ([importance_check()]). `anova()` compares fits of the same
#' response by it.
#'
#' The evidence depends on the priors even if the posteriors hardly do: a vague
#' prior gives much of its probability to large effects, which lowers the
#' evidence. Choose informative priors before comparing models. Under an
#' improper prior the evidence is not defined (`NA`).
#'
#' @param fit,object A fit of [laplace_logistic()] or [laplace()]; for
#'   `log_evidence()` also one of [gibbs_lm()] with the conjugate prior.
#' @param correct `"none"` (default): by Laplace's method. `"importance"`:
#'   corrected, with a standard error.
#' @param ... More fits, all of the same response. (Whether fits of [laplace()]
#'   are of the same data cannot be checked.)
#' @param prior_odds `NULL` for models that are equally probable beforehand, or
#'   a positive number for each: their prior probabilities, up to a constant.
#' @return `log_evidence()`: a number; with `"importance"` its attribute `se` is
#'   the standard error. `anova()`: a data frame of class `laplace_comparison`
#'   with a row for each fit and the columns `model`, `parameters`,
#'   `log_evidence`, `log_bayes_factor` (against the best) and `probability` (of
#'   the model given the data, among these).
#' @section Errors: `gibbsite_error_argument` for fits that are not Laplace
#'   approximations of the same response, or that have no evidence;
#'   `gibbsite_error_state` for a fit without its data, whose response cannot be
#'   compared.
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
  check_needed(
    fit = "a fit made by laplace_logistic(), laplace() or gibbs_lm()"
  )
  correct <- check_choice(correct, c("none", "importance"))
  if (inherits(fit, "gibbs_lm")) {
    return(conjugate_evidence(fit, correct, rlang::current_env()))
  }
  check_laplace(fit)
  model <- fit_part(fit, "model")
  if (correct == "none" || is.na(model$log_evidence)) {
    return(model$log_evidence)
  }
  check <- importance_check(fit)
  structure(check$log_evidence, se = check$log_evidence_se)
}

conjugate_evidence <- function(fit, correct, call) {
  check_whole_fit(fit, "fit", call)
  value <- fit_part(fit, "model")$log_evidence
  if (is.null(value)) {
    abort_argument(
      c("`fit` has no evidence in closed form.",
        i = "Fit with {.code prior = lm_prior(\"nig\")}."),
      call = call
    )
  }
  if (correct != "none") {
    abort_argument(
      "{.code correct = \"importance\"} is for Laplace approximations: the
       evidence of a linear regression is exact.",
      call = call
    )
  }
  value
}

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

#' @rdname log_evidence
#' @export
anova.laplace_logistic <- anova.gibbsite_laplace

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
