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

# Doubts about the density that the run recorded, as sentences.
# `few`: the chains may only be too short, also where no peak was found.
density_doubts <- function(fit, few = FALSE) {
  doubts <- fit_part(fit, "run")$doubts
  doubt_words(doubts, c("improper", "scale", "pole", "whole",
                        if (!few) "peak"))
}

# The others, and all that the verdict on a table does not give as the cause.
doubt_notes <- function(fit, table) {
  doubts <- fit_part(fit, "run")$doubts
  words <- doubt_words(
    doubts,
    c("improper", "scale", "pole", "bound", "left", "whole", "steps", "unused")
  )
  setdiff(words, attr(table, "cause")$words)
}

doubt_words <- function(doubts, kinds = NULL) {
  if (!is.null(kinds)) {
    doubts <- Filter(function(doubt) doubt$kind %in% kinds, doubts)
  }
  vapply(doubts, `[[`, "", "words")
}

# Chains may agree with each other and miss a region.
warn_faults <- function(fit) {
  words <- model_faults(fit_part(fit, "model"), fit)
  if (length(words) > 0L) {
    fit_is <- short_call(fit_part(fit, "model"))
    warn_plainly(
      paste0("The draws of `", fit_is, "` may miss a region."), words, "region"
    )
  }
  invisible(fit)
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
#' ..., `mean[j]` and `cov[i,j]`, those of the mixture, and `together`, which
#' tells clusterings apart (see [gibbs_gmm()]); of a topic model
#' `share[1]`, the share of the largest topic of a draw, ...; of ratings with a
#' link `gap[c]`, the distance of cutpoints next to each other. `summary()` and
#' `plot()` take these names as `variables`, too.
#'
#' Some internal quantities are judged less strictly, because results do not
#' depend on them directly: of ratings `beta`, `rmse`, `log_lik` and
#' `log_joint`, which follow the number of factors in use (the results are the
#' predictions); of topics `log_joint`, `log_lik`, `alpha` and `eta`; of a
#' mixture with an unknown number of components `k`, which counts empty ones,
#' and `alpha`. For these the limits are R-hat 1.05 and an effective sample size
#' of 50 by default (five times the excess over 1, and an eighth of the size). A
#' line of the verdict says so if they need it.
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
          "ok") %in% names(x)) &&
    has_own_rows(x) && nrow(x) >= length(attr(x, "rows"))
  # the verdict is about all quantities
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
`[.gibbsite_convergence` <- function(x, ...) bare_frame(x)[...]

#' @export
as.data.frame.gibbsite_convergence <- function(x, ...) bare_frame(x)

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
  if (is.null(unconverged(invariants, limits$rhat, limits$ess, inner))) {
    return(warn_faults(fit))
  }
  # the table of all quantities, from which print() speaks
  table <- fit_convergence(fit, limits$rhat, limits$ess, invariants)
  class <- c(if (!is.null(rule)) "cap", "convergence")
  fit_is <- short_call(fit_part(fit, "model"))
  if (all(table$constant)) {
    warn_plainly(
      paste0(
        "No quantity moved in any chain of `", fit_is, "`: convergence cannot ",
        "be judged."
      ),
      "See `summary(fit)` and the data.", class, call = call
    )
    return(invisible(fit))
  }
  table <- explained(table, fit, invariants)
  worst <- worst_words(table)
  # by the limits of print() and converged()
  good <- !is.null(rule) && table_converged(
    fit_convergence(fit, invariants = invariants)
  )
  verdict <- if (good) {
    paste0("converged, but not met the rule (", limits_words(rule), ")")
  } else {
    "not converged"
  }
  cause <- c(attr(table, "cause")$lead, cause_lines(table))
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
    kept <- if (total > count) paste0(" (", format_number(count), " kept)")
    paste0(
      " after ", format_number(total), " draws", kept, ", where ", ends
    )
  }
  warn_plainly(
    paste0(
      "The chains of `", fit_is, "` have ", verdict, made, ": ", worst, "."
    ),
    cause, class, call = call, table = table, cause = attr(table, "cause")$kind
  )
  invisible(fit)
}

limits_words <- function(rule) {
  paste0("R-hat <= ", format(rule$rhat), ", ESS >= ", format_number(rule$ess))
}

# A line for print(), whose limits are not those of the run's own rule.
rule_line <- function(fit, table) {
  rule <- fit_part(fit, "running")$stop_when
  outcome <- fit_part(fit, "run")$outcome
  good <- table_converged(table)
  met <- identical(outcome, "rule")
  if (is.null(rule) || met == good || !met && !outcome %in% endings) {
    return(NULL)
  }
  paste0(
    "The stopping rule (", limits_words(rule), ") was ", if (!met) "not ",
    "met."
  )
}

# ---- Why chains have not converged -------------------------------------------

# Why chains have not converged. Four causes are told apart:
#
#   climbing  the log density still rises: the posterior is not reached
#   burnin  the first draws differ from the later ones of the same chain
#   stuck   the chains are level but apart, or move rarely between two levels
#   short   none of these: the chains overlap and need more draws
#
# Each test is made on the failed quantities, at most ten. The false alarms on
# autoregressive chains are counted in test-verdict.R.

# list(kind, variable, drop, more, slow). `drop`: draws of each chain to leave
# out; `more`: further draws to make; `slow`: the effective sample size is less
# than a fiftieth of the draws. NULL if the chains have converged or nothing can
# be said. `invariants`: draws x chains x quantities.
find_cause <- function(invariants, table) {
  if (table_converged(table) || all(table$constant) || !all(table$finite)) {
    return(NULL)
  }
  failed <- which(!table$ok & !table$constant)
  worst <- utils::head(failed[order(-distances(table)[failed])], 10)
  draws <- dim(invariants)[1]
  climbing <- climbing_cause(invariants)
  if (!is.null(climbing)) {
    return(climbing)
  }
  step <- max(1, draws %/% 1000)
  some <- invariants[seq(1, draws, by = step), , worst, drop = FALSE]
  drop <- max(each_variable(some, transient_length))
  rest <- some[seq(drop + 1, dim(some)[1]), , , drop = FALSE]
  long <- draws >= shortest_stuck
  stuck <- each_variable(rest, function(x) is_stuck(x, long)) > 0
  if (any(stuck)) {
    variable <- dimnames(some)[[3]][which(stuck)[1]]
    return(list(kind = "stuck", variable = variable, drop = 0, more = 0))
  }
  drop <- min(drop * step, draws - fewest_draws)
  cause <- if (drop > 0) cause_burnin(invariants, table, worst[1], drop)
  cause %||% arrival_cause(invariants, table) %||% list(
    kind = "short", variable = table$variable[worst[1]], drop = 0,
    more = more_draws(table), slow = mixes_slowly(table)
  )
}

# Chains with fewer draws than this that move are not called stuck.
shortest_stuck <- 400

# Whether more draws are all that is missing. Fewer than 100 effective draws do
# not show it. `table` may lack quantities.
is_short <- function(invariants, table) {
  judged <- invariants[, , table$variable, drop = FALSE]
  isTRUE(least_ess(table) >= 100) &&
    identical(find_cause(judged, table)$kind, "short")
}

mixes_slowly <- function(table) {
  made <- attr(table, "draws") * attr(table, "chains")
  made >= 400 && isTRUE(least_ess(table) < made / 50)
}

# The least effective sample size, that of an inner quantity in the measure of
# answers.
least_ess <- function(table) {
  share <- attr(table, "thresholds")$ess / limits_of(table)$ess
  size <- (effective_sizes(table) * share)[!table$constant]
  if (all(is.na(size))) NA else min(size, na.rm = TRUE)
}

# A cause of kind "burnin". NULL if the chains are hardly better without their
# first `drop` draws: the effective draws that are left need more draws than all
# of them do.
cause_burnin <- function(invariants, table, worst, drop) {
  more <- more_without(invariants, table, drop)
  if (more < more_draws(table)) {
    arrival <- arrival(invariants)
    rises <- min(arrival$before) > 0
    variable <- if (rises) arrival$variable else table$variable[worst]
    list(kind = "burnin", variable = variable, drop = drop, more = more,
         rises = rises)
  }
}

# The further draws that the chains need without their first `drop` draws.
more_without <- function(invariants, table, drop) {
  limits <- attr(table, "thresholds")
  later <- invariants[seq(drop + 1, attr(table, "draws")), , , drop = FALSE]
  after <- convergence_table(later, limits$rhat, limits$ess, limits$inner)
  if (table_converged(after)) 0 else more_draws(after)
}

# Rank-normalised values (Vehtari et al. 2021, eq. 14).
normal_scores <- function(x) {
  array(stats::qnorm((rank(x) - 3 / 8) / (length(x) + 1 / 4)), dim(x))
}

# The number of first draws that differ from the second half of their own chain,
# 0 if none do: the end of the last stretch of the first half that differs. A
# difference of means is compared with its standard error (Geweke 1992, summed
# over chains); the autocorrelation time is that of the second half. A second
# half with few effective draws allows no comparison.
transient_length <- function(x) {
  n <- nrow(x)
  half <- n %/% 2
  if (n < 40 || min(x) == max(x)) {
    return(0)
  }
  x <- normal_scores(x)
  late <- x[seq(half + 1, n), , drop = FALSE]
  size <- mean_ess(late)
  if (is.na(size) || size < 40) {
    return(0)
  }
  time <- max(1, length(late) / size)
  variance <- mean(apply(late, 2, stats::var))
  difference <- function(from, to) {
    early <- colMeans(x[seq(from, to), , drop = FALSE])
    error <- variance * time * (1 / (to - from + 1) + 1 / (n - half))
    z2 <- sum((early - colMeans(late))^2) / error
    stats::pchisq(z2, ncol(x), lower.tail = FALSE)
  }
  ends <- unique(c(ceiling(n * c(0.02, 0.05, seq(0.1, 0.45, 0.05))), half))
  beginnings <- vapply(ends, function(end) difference(1, end), 0)
  stretches <- mapply(difference, c(1, utils::head(ends, -1) + 1), ends)
  if (min(beginnings) > 1e-4) {
    return(0)
  }
  max(ends[stretches < 0.001], ends[1])
}

# ---- Climbing ---------------------------------------------------------------

# The columns that rise while chains come from far away, the surest first.
log_densities <- c("log_density", "log_joint", "log_posterior", "log_lik")

# list(variable, draws): the surest of these, draws x chains. NULL if there is
# none, or there are few draws.
log_density_draws <- function(invariants) {
  variable <- intersect(log_densities, dimnames(invariants)[[3]])
  count <- dim(invariants)[1]
  if (length(variable) > 0L && count >= 20) {
    list(
      variable = variable[[1L]],
      draws = matrix(invariants[, , variable[[1L]]], count)
    )
  }
}

climbing_cause <- function(invariants) {
  seen <- log_density_draws(invariants)
  chains <- if (!is.null(seen)) chains_that_climb(seen$draws)
  if (length(chains) > 0L) {
    list(kind = "climbing", variable = seen$variable, drop = 0, more = 0,
         chains = chains)
  }
}

quarters <- function(x) ceiling(4 * seq_len(nrow(x)) / nrow(x))

quarter_means <- function(x) rowsum(x, quarters(x)) / tabulate(quarters(x))

# The chains whose log density rises from quarter to quarter, in the last one by
# more than twice the spread within it; none of them if another chain is no
# higher. The spread counts the rise within the quarter: of a steady rise the
# ratio is 3.5, of a random walk seldom more than 2.
chains_that_climb <- function(x) {
  means <- quarter_means(x)
  spread <- apply(x[quarters(x) == 4, , drop = FALSE], 2, stats::sd)
  climbs <- colSums(diff(means) > 0) == 3 &
    means[4, ] - means[1, ] > 6 * spread & means[4, ] - means[3, ] > 2 * spread
  # draws beyond the range of doubles have no means
  if (isTRUE(any(climbs) && all(climbs | means[4, ] > max(means[4, climbs])))) {
    which(climbs)
  }
}

# list(variable, before): for each chain the number of first draws that lie
# below the log density of its second half, by more than five standard
# deviations.
arrival <- function(invariants) {
  seen <- log_density_draws(invariants)
  if (is.null(seen)) {
    return(list(before = 0))
  }
  x <- seen$draws
  late <- x[seq(nrow(x) %/% 2 + 1, nrow(x)), , drop = FALSE]
  bound <- colMeans(late) - 5 * apply(late, 2, stats::sd)
  list(
    variable = seen$variable,
    before = apply(x >= rep(bound, each = nrow(x)), 2, which.max) - 1
  )
}

# A cause of kind "burnin" if all chains came from far away. NULL if the draws
# on the way to the posterior are few.
arrival_cause <- function(invariants, table) {
  arrival <- arrival(invariants)
  drop <- max(arrival$before)
  draws <- attr(table, "draws")
  if (min(arrival$before) == 0 || drop < draws / 50 || drop > draws / 2) {
    return(NULL)
  }
  list(kind = "burnin", variable = arrival$variable, drop = drop,
       more = more_without(invariants, table, drop), rises = TRUE)
}

# ---- Transients and levels --------------------------------------------------

# Whether chains are at different levels. In a short run they count as stuck
# only if one never moves.
is_stuck <- function(x, long) {
  if (nrow(x) < 40 || min(x) == max(x) ||
        !long && all(apply(x, 2, stats::var) > 0)) {
    return(FALSE)
  }
  are_apart(normal_scores(x)) || switches_rarely(x)
}

# Chains each of which is level (it has effective draws of its own), with means
# that differ by more than their standard errors, by a variance of more than a
# tenth of that within chains (an R-hat of about 1.05), and of more than six
# times that of a chain's means over its quarters. A chain whose quarters differ
# as much as chains do moves slowly: topics of texts do, and more draws help.
are_apart <- function(x) {
  variance <- apply(x, 2, stats::var)
  means <- colMeans(x)
  if (any(variance == 0)) {
    return(diff(range(means)) > 0)
  }
  size <- apply(x, 2, function(chain) mean_ess(matrix(chain)))
  if (anyNA(size) || min(size) < 20) {
    return(FALSE)
  }
  weight <- size / variance
  z2 <- sum(weight * (means - stats::weighted.mean(means, weight))^2)
  ncol(x) > 1 && stats::var(means) > mean(variance) / 10 &&
    stats::var(means) > 6 * mean(apply(quarter_means(x), 2, stats::var)) &&
    stats::pchisq(z2, ncol(x) - 1, lower.tail = FALSE) < 1e-4
}

# Draws that fall into two levels (the split with the largest variance between
# them, as in Otsu 1979, takes up more than that of a normal density, 2 / pi),
# where few effective draws are due to the switches: the draws about the mean of
# their level have ten times as many.
switches_rarely <- function(x) {
  own <- mean_ess(x)
  if (is.na(own) || own >= 100) {
    return(FALSE)
  }
  split <- two_levels(as.vector(x))
  upper <- x > split$cut
  centred <- x - ifelse(upper, mean(x[upper]), mean(x[!upper]))
  split$share > 0.65 && min(centred) < max(centred) &&
    isTRUE(mean_ess(centred) > 10 * own)
}

# list(cut, share): the threshold, and the share of the variance between the
# values above and below it.
two_levels <- function(x) {
  x <- sort(x)
  n <- length(x)
  below <- seq_len(n - 1)
  sums <- cumsum(x)
  between <- (sums[n] * below / n - sums[below])^2 * n / (below * (n - below))
  between[x[below] == x[below + 1]] <- 0
  at <- which.max(between)
  list(cut = (x[at] + x[at + 1]) / 2,
       share = between[at] / sum((x - sums[n] / n)^2))
}

# The number of further draws: as many as there are, or more if the effective
# sample size (with a margin) or R-hat needs them. It is rounded up to 1, 2 or 5
# times a power of ten. The excess of R-hat falls like one over the draws.
more_draws <- function(table) {
  draws <- attr(table, "draws")
  limits <- limits_of(table)
  size <- effective_sizes(table)
  judged <- !table$constant & is.finite(size)
  if (!any(judged)) {
    return(round_number(max(draws, 100)))
  }
  factor <- max(
    (1.2 * limits$ess / size)[judged],
    ((table$rhat - 1) / (limits$rhat - 1))[judged], na.rm = TRUE
  )
  round_number(draws * max(1, factor - 1))
}

round_number <- function(x) {
  unit <- 10^floor(log10(x))
  # 2000 / 1000 may come out a rounding error above 2
  unit * c(1, 2, 5, 10)[which(x / unit <= c(1, 2, 5, 10) + 1e-9)[1]]
}
