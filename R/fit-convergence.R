# Convergence: R-hat and effective sample sizes, computed by posterior (Vehtari
# et al. 2021, doi:10.1214/20-BA1221). They are judged on the model's
# invariants: quantities that do not depend on the labels of components.

# posterior treats draws whose range is below 2.2e-16 as constant. Its measures
# do not depend on the scale, so that multiplying by a power of two, which is
# exact, changes nothing else.
scaled_to_one <- function(x) {
  range <- max(x) - min(x)
  exponent <- if (is.finite(range) && range > 0) floor(log2(range)) else 0
  factor <- 2^min(max(-exponent, -1000), 1000)
  list(x = x * factor, factor = factor)
}

# Measures of one quantity; x: draws x chains.
# `constant`: the quantity is the same in all draws, so that it cannot be
# judged.
diagnose_one <- function(x) {
  out <- c(rhat = NA_real_, ess_bulk = NA_real_, ess_tail = NA_real_)
  if (!all(is.finite(x))) {
    return(c(out, constant = 0, finite = 0))
  }
  constant <- min(x) == max(x)
  if (!constant) {
    x <- scaled_to_one(x)$x
    # posterior warns when it caps the ESS of antithetic chains
    suppressWarnings({
      out[["rhat"]] <- posterior::rhat(x)
      out[["ess_bulk"]] <- posterior::ess_bulk(x)
      out[["ess_tail"]] <- posterior::ess_tail(x)
    })
  }
  c(out, constant = as.numeric(constant), finite = 1)
}

# f(matrix draws x chains) of every variable of an array draws x chains x
# variables: `length` numbers each, a column for each variable
each_variable <- function(draws, f, length) {
  size <- dim(draws)
  vapply(seq_len(size[3]), function(v) {
    f(matrix(draws[, , v], size[1], size[2]))
  }, numeric(length))
}

# array draws x chains x variables -> one row a variable
diagnose <- function(draws) {
  measures <- each_variable(draws, diagnose_one, 5L)
  out <- data.frame(variable = dimnames(draws)[[3]], t(measures))
  out$constant <- out$constant == 1
  out$finite <- out$finite == 1
  out
}

# The Monte Carlo standard error of the mean of every variable.
mean_errors <- function(draws) {
  each_variable(draws, function(x) {
    if (!all(is.finite(x))) {
      return(NA_real_)
    }
    if (min(x) == max(x)) {
      return(0)
    }
    scaled <- scaled_to_one(x)
    suppressWarnings(posterior::mcse_mean(scaled$x)) / scaled$factor
  }, 1L)
}

# ---- Quantities that are judged ---------------------------------------------

# The invariants of all chains, draws x chains x quantities. `matrices`: one
# matrix of draws for each chain.
invariant_array <- function(matrices, model) {
  stack_chains(lapply(matrices, function(draws) {
    # the model's names, also if the columns of the fit were renamed
    colnames(draws) <- model$columns
    model_invariants(model, draws)
  }))
}

fit_invariants <- function(fit) {
  invariant_array(chain_matrices(fit), fit_part(fit, "model"))
}

# R-hat compares halves of chains: with fewer draws in a chain than this it is
# meaningless.
fewest_draws <- 8

# The table of convergence(), for any set of chains.
convergence_table <- function(invariants, rhat, ess) {
  table <- diagnose(invariants)
  # The tail of a discrete quantity may be a single value, and its tail ESS is
  # then NA. So only a missing bulk ESS or R-hat is a failure.
  size <- pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
  size[is.na(table$ess_bulk)] <- NA
  good <- table$rhat <= rhat & size >= ess & dim(invariants)[1] >= fewest_draws
  table$ok <- table$constant | (!is.na(good) & good)
  structure(
    table[c("variable", "rhat", "ess_bulk", "ess_tail", "constant", "finite",
            "ok")],
    class = c("gibbsite_convergence", "data.frame"),
    thresholds = list(rhat = rhat, ess = ess),
    draws = dim(invariants)[1], chains = dim(invariants)[2]
  )
}

# Constant quantities are not a failure if other quantities varied. If all are
# constant, there is no evidence of convergence.
table_converged <- function(table) {
  all(table$ok) && !all(table$constant)
}

# The table computed from an evenly thinned subset of the draws: a faster check
# of a long run. NULL for a run that is not long, or with values that are not
# finite.
few_draws_table <- function(invariants, rhat, ess) {
  size <- dim(invariants)[1]
  step <- size %/% 2000
  if (step < 2 || !all(is.finite(invariants))) {
    return(NULL)
  }
  few <- invariants[seq(step, size, by = step), , , drop = FALSE]
  table <- convergence_table(few, rhat, ess)
  if (any(table$constant)) NULL else table
}

# NULL if the chains have converged, otherwise a table of quantities of which
# some have not. The effective sample size of a thinned subset is a lower bound
# of that of all draws, so that the whole run passes if a thinned run does. The
# margins allow for the larger variation of the measures on fewer draws. If the
# thinned run fails, its worst quantities are checked first.
unconverged <- function(invariants, rhat, ess) {
  few <- few_draws_table(invariants, 1 + (rhat - 1) / 2, 1.5 * ess)
  if (!is.null(few)) {
    if (table_converged(few)) {
      return(NULL)
    }
    worst <- utils::head(order(-distances(few)), 10)
    table <- convergence_table(invariants[, , worst, drop = FALSE], rhat, ess)
    if (!table_converged(table)) {
      return(table)
    }
  }
  table <- convergence_table(invariants, rhat, ess)
  if (!table_converged(table)) table
}

# The stopping rule of until(): a pure function of the draws. `draws`: one
# matrix for each chain.
stop_rule_met <- function(draws, model, until) {
  is.null(unconverged(invariant_array(draws, model), until$rhat, until$ess))
}

# ---- In words ---------------------------------------------------------------

# The distance of each quantity from its threshold, on a common scale: the
# larger of the excess of R-hat divided by the allowed excess, and the required
# ESS divided by the ESS.
distances <- function(table) {
  thresholds <- attr(table, "thresholds")
  size <- pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
  distance <- pmax(
    (table$rhat - 1) / max(thresholds$rhat - 1, 1e-8),
    thresholds$ess / size
  )
  distance[is.na(distance)] <- Inf
  distance[table$constant] <- -Inf
  distance
}

# The worst quantity in words, "R-hat 1.24 of log_lik".
worst_words <- function(table) {
  row <- as.data.frame(table)[which.max(distances(table)), ]
  thresholds <- attr(table, "thresholds")
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

# The number of further draws to suggest: as many as there are, or more if the
# effective sample size needs them (with a margin), but at most 20 times as
# many. It is rounded up to 1, 2 or 5 times a power of ten.
more_draws <- function(table) {
  draws <- attr(table, "draws")
  size <- pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
  size <- size[!table$constant & is.finite(size)]
  lacking <- if (length(size) > 0) {
    draws * (1.2 * attr(table, "thresholds")$ess / min(size) - 1)
  } else {
    draws
  }
  round_number(min(max(draws, lacking), 20 * draws))
}

round_number <- function(x) {
  unit <- 10^floor(log10(x))
  # 2000 / 1000 may come out a rounding error above 2
  unit * c(1, 2, 5, 10)[which(x / unit <= c(1, 2, 5, 10) + 1e-9)[1]]
}

# Two lines at most: the verdict with the worst of each measure.
verdict_lines <- function(table) {
  if (all(table$constant)) {
    return("Not judged: no quantity moved in any chain.")
  }
  thresholds <- attr(table, "thresholds")
  if (table_converged(table)) {
    size <- pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
    verdict <- paste0(
      "Converged: R-hat at most ", format_rhat(max(table$rhat, na.rm = TRUE)),
      " (", table$variable[which.max(table$rhat)], "), ESS at least ",
      floor(min(size, na.rm = TRUE)), " (", table$variable[which.min(size)],
      ")."
    )
  } else {
    bad <- sum(!table$ok)
    verdict <- c(
      paste0("Not converged: ", worst_words(table), "."),
      paste0(
        cli::pluralize("{bad} of {nrow(table)} quantit{?y/ies} "),
        if (bad == 1) "misses" else "miss", " R-hat <= ",
        format(thresholds$rhat), " or ESS >= ", format(thresholds$ess), "."
      )
    )
  }
  verdict
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

# ---- The user's view --------------------------------------------------------

#' Whether the chains of a fit have converged
#'
#' `converged()` returns `TRUE` or `FALSE`; `convergence()` returns the table on
#' which this is based: the rank-normalised split R-hat and the bulk and tail
#' effective sample sizes of Vehtari et al. (2021), computed by the posterior
#' package.
#'
#' The chains are judged on quantities that do not depend on the labels of
#' components. In a mixture the labels may switch from draw to draw, so that the
#' R-hat of a single component's mean is meaningless.
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
#' [laplace_logistic()]) do not need to converge: `converged()` is `TRUE` for
#' them, and does not measure the error of the Laplace approximation.
#'
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
#' @references Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner,
#'   P.-C. (2021). Rank-normalization, folding, and localization: an improved
#'   R-hat for assessing convergence of MCMC. *Bayesian Analysis* 16(2),
#'   667-718. \doi{10.1214/20-BA1221}
#' @seealso [until()] to run until this holds; [extend()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' converged(fit)
#' convergence(fit)
#' @export
converged <- function(fit, rhat = 1.01, ess = 400) {
  check_needed(fit = "a fit with draws")
  table <- judged(fit, rhat, ess, rlang::current_env())
  fit_part(fit, "model")$independent || table_converged(table)
}

#' @rdname converged
#' @export
convergence <- function(fit, rhat = 1.01, ess = 400) {
  check_needed(fit = "a fit with draws")
  judged(fit, rhat, ess, rlang::current_env())
}

judged <- function(fit, rhat, ess, call) {
  if (!inherits(fit, "gibbsite_fit")) {
    given <- describe(fit)
    abort_argument("{.arg fit} must be a fit with draws, not {given}.",
                   call = call)
  }
  check_whole_fit(fit, "fit", call)
  rhat <- check_number(rhat, lower = 1, lower_open = TRUE, call = call)
  ess <- check_number(ess, lower = 0, call = call)
  convergence_table(fit_invariants(fit), rhat, ess)
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
  writeLines(c(verdict_lines(x), constant_line(x)))
  if (attr(x, "chains") == 1) {
    writeLines("One chain: R-hat compares its two halves.")
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
    writeLines("")
    print_table(x$variable[rows], shown[rows, ])
    if (nrow(x) > n) {
      writeLines(sprintf("... %d more, all at least as good", nrow(x) - n))
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
  class(x) <- "data.frame"
  x
}

# The warning at the end of a run: the worst quantity, and what to type next.
# Its class is "gibbsite_warning_convergence".
warn_convergence <- function(fit, call = NULL) {
  if (!inherits(fit, "gibbsite_fit")) {
    return(invisible(fit))
  }
  table <- unconverged(fit_invariants(fit), 1.01, 400)
  if (is.null(table)) {
    return(invisible(fit))
  }
  if (all(table$constant)) {
    warn_gibbsite(
      c("No quantity moved in any chain: convergence cannot be judged.",
        i = "See {.code summary(fit)} and the data."),
      class = "convergence", call = call
    )
    return(invisible(fit))
  }
  worst <- worst_words(table)
  more <- format(more_draws(table), scientific = FALSE)
  apart <- any(table$rhat > 1.1, na.rm = TRUE) || anyNA(table$rhat[!table$ok])
  warn_gibbsite(
    c("The chains have not converged: {worst}.",
      i = "Go on with {.code extend(fit, {more})}.",
      i = if (apart) "The chains lie apart: look at {.code plot(fit)}."),
    class = "convergence", call = call, table = table
  )
  invisible(fit)
}
