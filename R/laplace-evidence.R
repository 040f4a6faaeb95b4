# The comparison of Laplace approximations by their evidence.

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
