# The verdict on convergence, in words: converged(), convergence(), the lines of
# print() and summary(), and the warning at the end of a run.

# ---- In words ---------------------------------------------------------------

# The worst quantity in words, "R-hat 1.24 of log_lik".
worst_words <- function(table) {
  worst <- which.max(distances(table))
  row <- as.data.frame(table)[worst, ]
  thresholds <- lapply(limits_of(table), `[[`, worst)
  if (!row$finite) {
    return(paste(row$variable, "has draws that are not finite"))
  }
  if (attr(table, "draws") < fewest_draws) {
    return(paste("fewer than", fewest_draws, "draws a chain"))
  }
  if (is.na(row$rhat) || is.na(row$ess_bulk)) {
    return(paste(row$variable, "has no R-hat"))
  }
  ess <- min(row$ess_bulk, row$ess_tail, na.rm = TRUE)
  faults <- c(
    if (row$rhat > thresholds$rhat) {
      paste("R-hat", format_rhat(row$rhat, thresholds$rhat))
    },
    if (ess < thresholds$ess) paste("effective sample size", floor(ess))
  )
  paste0(paste(faults, collapse = " and "), " of ", row$variable)
}

# The verdict with the worst of each measure, and the cause of a failure with
# its cure.
verdict_lines <- function(table) {
  if (all(table$constant)) {
    return("Not judged: no quantity moved in any chain.")
  }
  if (table_converged(table)) {
    return(converged_line(table))
  }
  thresholds <- attr(table, "thresholds")
  bad <- sum(!table$ok)
  c(
    attr(table, "cause")$lead,
    paste0("Not converged: ", worst_words(table), "."),
    paste0(
      cli::pluralize("{bad} of {nrow(table)} quantit{?y/ies} "),
      if (bad == 1) "misses" else "miss", " R-hat <= ",
      format(thresholds$rhat), " or ESS >= ", format(thresholds$ess), "."
    ),
    cause_lines(table)
  )
}

converged_line <- function(table) {
  of <- attr(table, "thresholds")
  table <- as.data.frame(table)
  inner <- table$variable %in% of$inner & !table$constant
  answers <- if (all(inner | table$constant)) table else table[!inner, ]
  size <- effective_sizes(answers)
  c(
    paste0(
      "Converged: R-hat at most ", format_rhat(max(answers$rhat, na.rm = TRUE)),
      " (", answers$variable[which.max(answers$rhat)], "), ESS at least ",
      floor(min(size, na.rm = TRUE)), " (",
      answers$variable[which.min(size)], ")."
    ),
    lagging_line(table[inner, ], of)
  )
}

# Internal quantities that meet their own limits, but not those of the results.
lagging_line <- function(inner, of) {
  size <- effective_sizes(inner)
  lags <- which(inner$rhat > of$rhat | size < of$ess)
  if (length(lags) == 0L) {
    return(NULL)
  }
  paste0(
    "The model's internal quantities mix more slowly: R-hat at most ",
    format_rhat(max(inner$rhat)), " (", inner$variable[which.max(inner$rhat)],
    "), ESS at least ", floor(min(size)), " (",
    inner$variable[which.min(size)], ")."
  )
}

constant_line <- function(table) {
  fixed <- table$variable[table$constant]
  if (length(fixed) == 0 || length(fixed) == nrow(table)) {
    return(NULL)
  }
  more <- length(fixed) - 3
  names <- paste(utils::head(fixed, 3), collapse = ", ")
  paste0(
    "Constant in every draw, not judged: ", names,
    if (more > 0) paste(" and", more, "more"), "."
  )
}

# The cause in a table and the cure, one sentence an element. With fields that
# only a fit knows: `start` (the first sweep to keep), `seconds` (for `more`
# draws) and `cures` (those of the model).
cause_lines <- function(table) {
  cause <- attr(table, "cause")
  if (is.null(cause)) {
    return(NULL)
  }
  switch(cause$kind,
    target = ,
    topics = cause$words,
    climbing = c(
      paste0(
        "Not yet at the posterior: ", cause$variable, " still rises in ",
        chains_words(cause$chains, attr(table, "chains")), "."
      ),
      paste0(
        "Give `burnin = ", digits(cause$burnin), "` or more, or starting ",
        "values of higher density (`inits`)."
      )
    ),
    short = c(
      paste0(
        if (cause$slow) "The chains mix slowly: " else "Too few draws: ",
        "extend(fit, ", digits(cause$more), ")", cost_words(cause$seconds), "."
      ),
      if (cause$slow) cause$cures
    ),
    burnin = c(
      paste0(
        if (isTRUE(cause$rises)) {
          "Not yet at the posterior, the burn-in is too short: "
        } else {
          "The burn-in is too short: "
        },
        cause$variable, if (isTRUE(cause$rises)) " rises" else " moves",
        " in the first ", digits(cause$drop), " draws."
      ),
      paste0(
        "Drop them: fit <- window(fit, start = ", digits(cause$start), ")",
        if (cause$more > 0) {
          paste0("; then extend(fit, ", digits(cause$more), ")",
                 cost_words(cause$seconds))
        }, "."
      )
    ),
    stuck = c(
      paste0(
        if (attr(table, "chains") == 1) {
          "The halves of the chain are"
        } else {
          "The chains are stuck"
        },
        " at different levels of ", cause$variable,
        "; a few more draws will not help."
      ),
      cause$cures,
      paste0("See plot(fit, type = \"trace\", variables = \"", cause$variable,
             "\").")
    )
  )
}

# Why chains have not converged, in a few words. table: NULL if no quantity
# moved.
reason_words <- function(table) {
  if (is.null(table) || all(table$constant)) {
    return("no quantity moved")
  }
  cause <- attr(table, "cause")
  words <- switch(cause$kind %||% "none",
    target = "the density is doubtful",
    topics = sub("[.]$", "", cause$lead),
    climbing = "not yet at the posterior",
    burnin = "the burn-in is too short", stuck = "the chains are stuck",
    short = if (cause$slow) "the chains mix slowly" else "too few draws"
  )
  paste0(worst_words(table), if (!is.null(words)) paste0(": ", words))
}

# "all chains", "the chain", "chains 1 and 3"
chains_words <- function(which, chains) {
  if (length(which) == chains) {
    return(if (chains == 1) "the chain" else "all chains")
  }
  paste(if (length(which) == 1L) "chain" else "chains", and_words(which))
}

shows_times <- function() !isFALSE(getOption("gibbsite.times"))

cost_words <- function(seconds) {
  known <- length(seconds) == 1 && is.finite(seconds) && seconds > 0
  if (known && shows_times()) {
    paste0(", about ", seconds_words(seconds))
  }
}

# The cure as a call, for the last line of print().
next_call <- function(table) {
  cause <- attr(table, "cause")
  if (is.null(cause)) {
    return(NULL)
  }
  switch(cause$kind,
    topics = cause$call,
    target = "convergence(fit)",
    climbing = "plot(fit, type = \"trace\")",
    short = paste0("extend(fit, ", digits(cause$more), ")"),
    burnin = paste0("window(fit, start = ", digits(cause$start), ")"),
    stuck = "convergence(fit)"
  )
}

# The table with its cause, completed by what the fit knows.
explained <- function(table, fit, invariants) {
  # chains of several data sets differ, and are not continued
  if (table_converged(table) || is_imputed(fit)) {
    return(table)
  }
  cause <- find_cause(invariants, table)
  few <- identical(cause$kind, "short") && !cause$slow
  doubts <- density_doubts(fit, few)
  if (length(doubts) > 0L) {
    worst <- table$variable[which.max(distances(table))]
    # a search that failed does not prove that there is no peak
    only_peak <- length(doubt_words(fit_part(fit, "run")$doubts, "peak")) ==
      length(doubts)
    attr(table, "cause") <- list(
      kind = "target", variable = worst, drop = 0, more = 0,
      words = c(doubts, if (only_peak) fit_part(fit, "model")$cures)
    )
    return(table)
  }
  cause <- model_cause(fit_part(fit, "model"), fit, table, cause)
  if (is.null(cause)) {
    return(table)
  }
  running <- fit_part(fit, "running")
  cause$start <- running$burnin + (cause$drop + 1) * running$thin
  cause$seconds <- seconds_of_sweeps(fit, cause$more * running$thin)
  cause$burnin <- round_number(
    2 * (running$burnin + running$draws * running$thin)
  )
  cause$cures <- fit_part(fit, "model")$cures
  attr(table, "cause") <- cause
  table
}

# Words that make the density itself doubtful, as far as the run has found.
# `few`: the chains may only be too short, also where no peak was found.
density_doubts <- function(fit, few = FALSE) {
  doubts <- fit_part(fit, "run")$doubts
  doubt_words(doubts, c("improper", "scale", "pole", if (!few) "peak"))
}

# The others, and all that the verdict on a table does not give as the cause.
doubt_notes <- function(fit, table) {
  doubts <- fit_part(fit, "run")$doubts
  words <- doubt_words(
    doubts, c("improper", "scale", "pole", "steps", "unused")
  )
  setdiff(words, attr(table, "cause")$words)
}

doubt_words <- function(doubts, kinds = NULL) {
  words <- vapply(doubts, `[[`, "", "words")
  if (is.null(kinds)) {
    return(words)
  }
  words[vapply(doubts, `[[`, "", "kind") %in% kinds]
}

has_converged <- function(fit) {
  table_converged(fit_convergence(fit))
}

# ---- The user's view --------------------------------------------------------

#' Whether the chains of a fit have converged
#'
#' `converged()` returns `TRUE` or `FALSE`; `convergence()` returns the table on
#' which this is based: the rank-normalised split R-hat and the bulk and tail
#' effective sample sizes of Vehtari et al. (2021), which are those of the
#' posterior package.
#'
#' The chains are judged on quantities that do not depend on the labels of
#' components. In a mixture the labels may switch from draw to draw, so that the
#' R-hat of a single component's mean is meaningless.
#'
#' Some of these quantities are not columns of the fit: of a mixture
#' `weight[1]`, the largest weight of a draw, `weight[2]`, the second largest,
#' ..., `mean[j]` and `cov[i,j]`, those of the mixture; of a topic model
#' `share[1]`, the share of the largest topic of a draw, ...; of ratings with a
#' link `gap[c]`, the distance of cutpoints next to each other. `summary()` and
#' `plot()` take these names as `variables`, too.
#'
#' Some internal quantities are judged less strictly, because results do not
#' depend on them directly: of ratings `beta`, `rmse`, `log_lik` and
#' `log_joint`, which follow the number of factors in use (the results are the
#' predictions); of topics `log_joint`, `log_lik`, `alpha` and `eta`; of a
#' mixture with an unknown number of components `k`, which counts empty ones,
#' and `alpha`. They may have five times the excess of R-hat and an eighth of
#' the effective sample size: 1.05 and 50 by default. A line of the verdict says
#' so if they need it.
#'
#' A quantity that is the same in every draw of every chain (often the number of
#' occupied components) has no R-hat. It counts as converged if other quantities
#' varied, and the table says that it is constant. If all quantities are
#' constant, none counts as converged. A quantity that cannot be judged, because
#' a chain has fewer than eight draws or a draw is not finite, counts as not
#' converged. With one chain R-hat compares its two halves, which is a weaker
#' check than several chains from different starting values.
#'
#' Draws that are independent by construction ([laplace()],
#' [laplace_logistic()], [gibbs_lm()] with the conjugate prior) do not need to
#' converge: `converged()` is `TRUE` for them, and for the first two it does not
#' measure the error of the Laplace approximation.
#'
#' @section Causes:
#' If the chains have not converged, `print()`, `summary()`, `convergence()` and
#' the warning at the end of a run name one of these causes, and what to do:
#'
#' * *The density.* [mh_sample()] has found that the log density cannot be that
#'   of a distribution, or has found no peak of it (see
#'   [mh_start]). No further draws help.
#' * *Not yet at the posterior.* The log density (`log_density`, `log_joint` or
#'   `log_lik`) still rises from each quarter of the draws to the next, in all
#'   chains, or in chains that lie below the others. Run again with the burn-in
#'   that is printed, or from starting values of higher density.
#' * *The burn-in is too short.* The first draws of the chains differ from the
#'   second half of the same chains: the difference of means is more than its
#'   standard error allows (Geweke 1992). Drop them with
#'   [window()][window.gibbsite_fit], then [extend()] if too few are left.
#' * *The chains are stuck.* Each chain has effective draws of its own, but the
#'   chains lie at different values; or the draws form two levels between which
#'   a chain moves rarely. Only very many more draws would help. Try the cure
#'   that is printed: it depends on the model. Chains of fewer than 400 draws
#'   are called stuck only if one of them never moves.
#' * *Too few draws.* Neither of these: the chains overlap and move. [extend()]
#'   by the number that is printed, which follows from the effective sample size
#'   and R-hat. If the effective sample size is below a fiftieth of the draws,
#'   the chains *mix slowly*, and the cure of the model is printed too.
#' * *Topics.* Several chains of [gibbs_lda()] seldom agree on all topics.
#'   Unless they are not yet at the posterior, the first line says how many
#'   topics are the same in all chains and which are not, and the advice depends
#'   on that alone.
#'
#' The attribute `cause` of the table of `convergence()` is a list with `kind`
#' (`"target"`, `"climbing"`, `"burnin"`, `"stuck"`, `"short"` or `"topics"`),
#' `variable`,
#' `drop` (draws to leave out), `start` (the first sweep to keep), `more`
#' (further draws), `seconds` (their time) and `burnin` (for a new run);
#' `NULL` if the chains have converged.
#' @param fit A fit.
#' @param rhat Number above 1, default 1.01: the largest R-hat accepted.
#' @param ess Number of at least 0, default 400: the least effective sample size
#'   accepted, bulk and tail, over all chains together.
#' @return `converged()`: `TRUE` or `FALSE`. `convergence()`: a data frame of
#'   class `gibbsite_convergence`, a row for each quantity, with the columns
#'   `variable`, `rhat`, `ess_bulk`, `ess_tail`, `constant`, `finite` (all
#'   draws are) and `ok`.
#' @section Errors: `gibbsite_error_argument` when `fit` is not a fit with draws
#'   or a threshold is out of range.
#' @references Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner,
#'   P.-C. (2021). Rank-normalization, folding, and localization: an improved
#'   R-hat for assessing convergence of MCMC. *Bayesian Analysis* 16(2),
#'   667-718. \doi{10.1214/20-BA1221}
#'
#'   Geweke, J. (1992). Evaluating the accuracy of sampling-based approaches to
#'   the calculation of posterior moments. In *Bayesian Statistics 4*, 169-193.
#'   Oxford University Press.
#' @seealso [until()] to run until this holds; [extend()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' converged(fit)
#' convergence(fit)
#' @export
converged <- function(fit, rhat = 1.01, ess = 400) {
  check_needed(fit = "a fit with draws")
  table <- judged(fit, rhat, ess, rlang::current_env(), cause = FALSE)
  fit_part(fit, "model")$independent || table_converged(table)
}

#' @rdname converged
#' @export
convergence <- function(fit, rhat = 1.01, ess = 400) {
  check_needed(fit = "a fit with draws")
  judged(fit, rhat, ess, rlang::current_env())
}

judged <- function(fit, rhat, ess, call, cause = TRUE) {
  if (!inherits(fit, "gibbsite_fit")) {
    given <- describe(fit)
    abort_argument("{.arg fit} must be a fit with draws, not {given}.",
                   call = call)
  }
  rhat <- check_number(rhat, lower = 1, lower_open = TRUE, call = call)
  ess <- check_number(ess, lower = 0, call = call)
  invariants <- fit_invariants(fit)
  table <- fit_convergence(fit, rhat, ess, invariants)
  if (cause) explained(table, fit, invariants) else table
}

#' @export
print.gibbsite_convergence <- function(x, n = 20, ...) {
  n <- check_rows_shown(n)
  whole <- is.data.frame(x) && is_plain_number(attr(x, "chains")) &&
    all(c("variable", "rhat", "ess_bulk", "ess_tail", "constant", "finite",
          "ok") %in% names(x))
  if (!whole) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  write_lines(c(verdict_lines(x), constant_line(x)))
  if (attr(x, "chains") == 1) {
    write_lines("One chain: R-hat compares its two halves.")
  }
  if (nrow(x) > 0) {
    # the worst first when not all fit
    rows <- seq_len(nrow(x))
    if (nrow(x) > n) {
      rows <- order(x$ok, -x$rhat, x$ess_bulk)[seq_len(n)]
    }
    shown <- data.frame(
      rhat = show_rhat(x$rhat), ess_bulk = show_ess(x$ess_bulk),
      ess_tail = show_ess(x$ess_tail),
      verdict = ifelse(x$constant, "constant", ifelse(x$ok, "ok", "not ok"))
    )
    write_lines("")
    print_table(x$variable[rows], shown[rows, ])
    if (nrow(x) > n) {
      write_lines(sprintf("... %d more, all at least as good", nrow(x) - n))
    }
  }
  invisible(x)
}

# A subset of the table is an ordinary data frame, because the verdict is about
# all quantities.
#' @export
`[.gibbsite_convergence` <- function(x, ...) {
  as.data.frame(x)[...]
}

#' @export
as.data.frame.gibbsite_convergence <- function(x, ...) {
  attr(x, "thresholds") <- attr(x, "draws") <- attr(x, "chains") <- NULL
  attr(x, "cause") <- NULL
  class(x) <- "data.frame"
  x
}

# ---- At the end of a run ----------------------------------------------------

# The warning at the end of a run: the worst quantity, the cause and what to
# type next. Its class is "gibbsite_warning_convergence", and also
# "gibbsite_warning_cap" if a stopping rule did not hold: its thresholds count.
warn_convergence <- function(fit, call = NULL, rule = NULL) {
  if (!inherits(fit, "gibbsite_fit")) {
    return(invisible(fit))
  }
  invariants <- fit_invariants(fit)
  limits <- rule %||% until()
  inner <- model_inner(fit_part(fit, "model"))
  table <- unconverged(invariants, limits$rhat, limits$ess, inner)
  if (is.null(table)) {
    return(invisible(fit))
  }
  class <- c(if (!is.null(rule)) "cap", "convergence")
  fit_is <- short_call(fit_part(fit, "model"))
  if (all(table$constant)) {
    warn_gibbsite(
      c("No quantity moved in any chain of {.code {fit_is}}: convergence cannot
         be judged.",
        i = "See {.code summary(fit)} and the data."),
      class = class, call = call
    )
    return(invisible(fit))
  }
  table <- explained(table, fit, invariants[, , table$variable, drop = FALSE])
  worst <- worst_words(table)
  cause <- c(attr(table, "cause")$lead, cause_lines(table))
  lines <- sprintf("{cause[[%d]]}", seq_along(cause))
  names(lines) <- rep("i", length(lines))
  made <- if (!is.null(rule)) {
    ends <- switch(fit_part(fit, "run")$outcome,
      time = "the time of the rule ends",
      vain = if (isTRUE(rule$gives_up)) "the run is given up" else {
        "the run ends"
      },
      "the rule ends"
    )
    count <- attr(table, "draws")
    total <- draws_made(fit)
    kept <- if (total > count) " ({format_number(count)} kept)"
    paste0(" after {format_number(total)} draws", kept, ", where {ends}")
  }
  warn_gibbsite(
    c(
      paste0("The chains of {.code {fit_is}} have not converged", made,
             ": {worst}."),
      lines
    ),
    class = class, call = call, table = table,
    cause = attr(table, "cause")$kind
  )
  invisible(fit)
}
