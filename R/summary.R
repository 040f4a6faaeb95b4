# What a fit says of itself: print, summary, convergence, tidy, glance.
#
# R-hat and effective sample sizes are posterior's (Vehtari, Gelman, Simpson,
# Carpenter and Buerkner 2021).  They are judged on the model's invariants:
# quantities that do not depend on how components are labelled.


# Diagnostics --------------------------------------------------------------

# posterior takes draws whose range is below 2.2e-16 for constant.  Its
# measures do not depend on scale, so that multiplying by a power of two, which
# is exact, alters nothing else.
scaled_to_one <- function(x) {
  range <- max(x) - min(x)
  exponent <- if (is.finite(range) && range > 0) floor(log2(range)) else 0
  factor <- 2^min(max(-exponent, -1000), 1000)
  list(x = x * factor, factor = factor)
}

# Measures of one quantity; x: draws x chains.
# `constant`: nothing moved in any chain, so there is nothing to judge.
diagnose_one <- function(x) {
  out <- c(rhat = NA_real_, ess_bulk = NA_real_, ess_tail = NA_real_)
  if (!all(is.finite(x))) {
    return(c(out, constant = 0, finite = 0))
  }
  constant <- min(x) == max(x)
  if (!constant) {
    x <- scaled_to_one(x)$x
    # posterior warns where it caps the size of antithetic chains
    suppressWarnings({
      out[["rhat"]] <- posterior::rhat(x)
      out[["ess_bulk"]] <- posterior::ess_bulk(x)
      out[["ess_tail"]] <- posterior::ess_tail(x)
    })
  }
  c(out, constant = as.numeric(constant), finite = 1)
}

# f(matrix draws x chains) of every variable of an array draws x chains x
# variables: `length` numbers each, a column a variable
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

# Two more questions to a model with exchangeable components, each with an
# answer for models that have none.

# The columns that mean something only under a numbering of the components.
model_labelled <- function(model, invariants) UseMethod("model_labelled")

#' @exportS3Method
model_labelled.default <- function(model, invariants) {
  setdiff(model$columns, invariants)
}

# The draws (one matrix a chain) with the components of each draw renumbered so
# that a column means the same in every draw; NULL where that is not done.
model_relabelled <- function(model, draws) UseMethod("model_relabelled")

#' @exportS3Method
model_relabelled.default <- function(model, draws) NULL

# The invariants of all chains, draws x chains x quantities.  `matrices`: one
# matrix of draws a chain.
invariant_array <- function(matrices, model) {
  stack_chains(lapply(matrices, function(draws) {
    # whatever the columns of a fit have been renamed to
    colnames(draws) <- model$columns
    model_invariants(model, draws)
  }))
}

fit_invariants <- function(fit) {
  invariant_array(chain_matrices(fit), fit_part(fit, "model"))
}

# R-hat compares halves of chains: with fewer draws than these in a chain it
# says nothing.
fewest_draws <- 8

# The table of convergence(), for any set of chains.
convergence_table <- function(invariants, rhat, ess) {
  table <- diagnose(invariants)
  # The tail of a discrete quantity may hold one value alone and then has no
  # size of its own: only a missing bulk size or R-hat is a failure.
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

# Constants are no failure beside quantities that moved.  Where nothing moved
# at all there is no evidence of anything.
table_converged <- function(table) {
  all(table$ok) && !all(table$constant)
}

# The table of every so-many-th draw: the quicker look at a long run.  NULL for
# a run that is not long, or holds what is not finite.
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

# What there is to say against the chains: NULL, or a table in which something
# has not converged.  Few draws hold no more effective draws than all do: they
# show that all is well, with margins for what the measures vary more among
# them, and else tell where to look first.
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

# The stopping rule of until(): a pure function of the draws.  `draws`: one
# matrix a chain.
stop_rule_met <- function(draws, model, until) {
  is.null(unconverged(invariant_array(draws, model), until$rhat, until$ess))
}

# How far each quantity is from its threshold, on a common scale: how many times
# over R-hat's excess or under the size.
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

# Rounded, but never so that a failure looks like a success.
format_rhat <- function(x, threshold = 1.01) {
  shown <- formatC(x, format = "f", digits = 3)
  close <- x > threshold & as.numeric(shown) <= threshold
  shown[close] <- paste("above", format(threshold))
  shown[x > 100] <- "above 100"
  shown
}

# How many more draws to ask for: as many as the effective sample size lacks,
# with a margin; as many again where R-hat is what fails.  1, 2 or 5 times a
# power of ten, at most 20 times what there is.
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

#' Whether the chains of a fit have converged
#'
#' `converged()` answers yes or no; `convergence()` shows the table behind the
#' answer: the rank-normalised split R-hat and the bulk and tail effective
#' sample sizes of Vehtari et al. (2021), computed by the posterior package.
#'
#' They are judged on quantities that do not depend on how components are
#' labelled: in a mixture the labels of a component may switch from draw to
#' draw, so that the R-hat of a single component's mean says nothing.
#'
#' A quantity that is the same in every draw of every chain (the number of
#' occupied components, often) has no R-hat; it counts as converged beside
#' others that moved, and the table says that it is constant. A quantity that
#' cannot be judged, because there are fewer than eight draws a chain or a draw
#' is not finite, counts as not converged; so does everything when nothing
#' moved. With one chain R-hat compares its two halves, which shows less than
#' several chains from different starting values would.
#'
#' Draws that are independent by construction ([laplace()],
#' [laplace_logistic()]) have nothing to converge to: `converged()` is `TRUE`
#' for them, which says nothing of how good their approximation is.
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
  model_independent(fit_part(fit, "model")) || table_converged(table)
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

#' @export
print.gibbsite_convergence <- function(x, n = 20, ...) {
  whole <- is.data.frame(x) && !is.null(attr(x, "thresholds")) &&
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

# A part that the user picks is an ordinary data frame: the verdict is on all.
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

# The warning that ends a run: which quantity is the worst, and what to type
# next.  Suppressed alone by class "gibbsite_warning_convergence".
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


# print --------------------------------------------------------------------

#' Print a fit
#'
#' A short account: what was fitted, how many chains and draws, the seed,
#' whether the chains have converged, and what to do next.
#'
#' @param x A fit.
#' @param ... Not used.
#' @return `x`, invisibly.
#' @export
print.gibbsite_fit <- function(x, ...) {
  running <- fit_part(x, "running")
  table <- judged(x, 1.01, 400, rlang::current_env())
  writeLines(c(
    paste0("<", class(x)[1], "> ", model_headline(fit_part(x, "model"))),
    "",
    length_lines(running),
    seed_line(x),
    surplus_line(x),
    verdict_lines(table),
    constant_line(table),
    model_notes(fit_part(x, "model"), x, table),
    if (length(x) == 1) {
      "One chain: R-hat compares its two halves; several chains show more."
    },
    "",
    paste0("Next: summary(fit), plot(fit)", next_call(x, table))
  ))
  invisible(x)
}

# Further lines about how a model's sampler did, for print() and summary().
model_notes <- function(model, fit, table) UseMethod("model_notes")

#' @exportS3Method
model_notes.default <- function(model, fit, table) NULL

length_lines <- function(running) {
  thin <- as.numeric(running$thin)
  sweeps <- as.numeric(running$burnin) + as.numeric(running$draws) * thin
  every <- if (thin > 1) paste0(", every ", ordinal(thin), " sweep kept")
  paste0(
    cli::pluralize("{running$chains} chain{?s} of {running$draws} draw{?s}"),
    " (sweeps ", whole(running$burnin + thin), " to ", whole(sweeps), every,
    "; ", if (running$burnin > 0) {
      paste0("burn-in ", whole(running$burnin), ")")
    } else {
      "no burn-in)"
    }
  )
}

ordinal <- function(n) {
  last <- n %% 10
  teen <- n %% 100 %in% 11:13
  end <- if (teen || last == 0 || last > 3) "th" else c("st", "nd", "rd")[last]
  paste0(whole(n), end)
}

whole <- function(x) format(as.numeric(x), scientific = FALSE, digits = 15)

seed_line <- function(x) {
  running <- fit_part(x, "running")
  seeds <- vapply(running$seed, whole, character(1))
  elapsed <- fit_part(x, "run")$elapsed$total
  paste0(
    if (length(seeds) > 1) "Seeds " else "Seed ",
    paste(seeds, collapse = ", "),
    if (!is.null(running$rng_kind)) paste0(" (", running$rng_kind[1], ")"),
    if (!is.null(elapsed)) paste0("; ", seconds_words(elapsed))
  )
}

seconds_words <- function(seconds) {
  if (seconds < 120) {
    shown <- if (seconds < 10) signif(seconds, 2) else round(seconds)
    return(paste(format(shown, scientific = FALSE), "s"))
  }
  minutes <- seconds / 60
  if (minutes < 120) {
    return(paste(format(round(minutes)), "min"))
  }
  paste(format(round(minutes / 60, 1)), "h")
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

next_call <- function(x, table) {
  if (table_converged(table)) {
    return("")
  }
  paste0(", extend(fit, ", whole(more_draws(table)), ")")
}

#' @export
print.gibbsite_partial <- function(x, ...) {
  model <- fit_part(x, "model")
  writeLines(c(
    paste0("<", model$name, ", no draws yet> ", model_headline(model)),
    "",
    chains_line(x),
    seed_line(x),
    surplus_line(x),
    "",
    "Go on with extend(fit, draws): it gives the draws of an undisturbed run."
  ))
  invisible(x)
}

# Where the chains stand that have no common draw.
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
    "{paste(whole_each(sweeps), collapse = ', ')}; ",
    "burn-in ends at {whole(fit_part(x, \"running\")$burnin)}."
  )
}

whole_each <- function(x) vapply(x, whole, character(1))


# summary ------------------------------------------------------------------

#' Summary of a fit
#'
#' Posterior mean, standard deviation and quantiles of every stored quantity,
#' with the Monte Carlo standard error of the mean, R-hat and effective sample
#' sizes.
#'
#' Where components have no names of their own (mixtures), the posterior is the
#' same under any renumbering of them. A sampler that can renumber the
#' components of each draw so that they agree does so for the summary. Where
#' that is not done, R-hat, effective sample size and Monte Carlo error of a
#' single component's parameter mean nothing: they are `NA` (shown as `-`).
#' Whether the chains have converged is judged, in either case, on quantities
#' that do not depend on the numbering; their table, see [convergence()], is
#' printed below.
#' [posterior::summarise_draws()] of the fit gives the raw measures of every
#' column as it was drawn.
#'
#' @param object A fit.
#' @param variables `NULL` (default) for all stored quantities, or names of
#'   columns or blocks, such as `c("mu", "log_lik")`.
#' @param probs Numbers between 0 and 1: which quantiles; default
#'   `c(0.025, 0.5, 0.975)`.
#' @param ... Not used.
#' @return A data frame of class `gibbsite_summary` with a row for each
#'   quantity and the columns `variable`, `mean`, `sd`, the quantiles (`q2.5`,
#'   ...), `mcse_mean`, `rhat`, `ess_bulk` and `ess_tail`; its attribute
#'   `convergence` is the table of [convergence()]. It is printed rounded, 40
#'   rows at most; `print(x, n = 100)` shows more.
#' @section Errors: `gibbsite_error_argument` for variables that are not stored
#'   and for `probs` outside 0 to 1.
#' @seealso [tidy.gibbsite_fit()] for one line a term with human labels.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' summary(fit, "mu", probs = c(0.05, 0.95))
#' @export
summary.gibbsite_fit <- function(object, variables = NULL,
                                 probs = c(0.025, 0.5, 0.975), ...) {
  call <- rlang::current_env()
  check_no_more(...)
  probs <- check_numeric_vector(probs, lower = 0, upper = 1)
  model <- fit_part(object, "model")
  invariants <- fit_invariants(object)
  matrices <- chain_matrices(object)
  chosen <- choose_variables(variables, model$columns, call)
  labelled <- intersect(
    chosen, model_labelled(model, dimnames(invariants)$variable)
  )
  renumbered <- if (length(labelled) > 0) model_relabelled(model, matrices)
  draws <- stack_chains(renumbered %||% matrices)[, , chosen, drop = FALSE]
  table <- summary_table(draws, probs)
  if (is.null(renumbered)) {
    table[table$variable %in% labelled,
          c("mcse_mean", "rhat", "ess_bulk", "ess_tail")] <- NA
  }
  convergence <- convergence_table(invariants, 1.01, 400)
  structure(
    table,
    class = c("gibbsite_summary", "data.frame"),
    headline = model_headline(model),
    length = length_lines(fit_part(object, "running")),
    convergence = convergence,
    remarks = model_notes(model, object, convergence),
    note = if (!is.null(renumbered)) {
      "renumbered"
    } else if (length(labelled) > 0) {
      "labelled"
    }
  )
}

summary_table <- function(draws, probs) {
  size <- dim(draws)
  flat <- matrix(draws, size[1] * size[2], size[3])
  quantiles <- t(apply(flat, 2, function(x) {
    # as posterior's quantile2(): type 7, NA where a draw is missing
    if (anyNA(x)) {
      return(rep(NA_real_, length(probs)))
    }
    stats::quantile(x, probs, names = FALSE)
  }))
  quantiles <- matrix(quantiles, size[3], length(probs))
  colnames(quantiles) <- paste0("q", format_probs(probs))
  measures <- diagnose(draws)
  data.frame(
    variable = measures$variable, mean = colMeans(flat),
    sd = apply(flat, 2, stats::sd), quantiles, mcse_mean = mean_errors(draws),
    measures[c("rhat", "ess_bulk", "ess_tail")],
    check.names = FALSE
  )
}

format_probs <- function(probs) {
  vapply(100 * probs, format, character(1), digits = 6, trim = TRUE)
}

# Names of columns or blocks -> names of columns, in the order asked for.
choose_variables <- function(variables, available, call,
                             arg = "variables") {
  if (is.null(variables)) {
    return(available)
  }
  if (!is.character(variables) || length(variables) == 0 || anyNA(variables)) {
    given <- describe(variables)
    abort_argument(
      "{.arg {arg}} must be NULL or names of variables, not {given}.",
      call = call
    )
  }
  found <- lapply(variables, function(name) {
    if (name %in% available) {
      return(name)
    }
    available[block_places(available, name)$column]
  })
  missing <- variables[lengths(found) == 0]
  if (length(missing) > 0) {
    abort_argument(
      c("{.arg {arg}} must name columns or blocks of the fit; there is no
         {.val {missing[1]}}.",
        i = "There are {.val {block_names(available)}}."),
      call = call
    )
  }
  unique(unlist(found))
}

#' @export
print.gibbsite_summary <- function(x, n = 40, ...) {
  convergence <- attr(x, "convergence")
  quantiles <- grep("^q[0-9.]+$", names(x), value = TRUE)
  needed <- c("variable", "mean", "sd", "mcse_mean", "rhat", "ess_bulk",
              "ess_tail")
  if (is.null(convergence) || !all(needed %in% names(x))) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  rows <- seq_len(min(n, nrow(x)))
  writeLines(c(attr(x, "headline"), attr(x, "length"), ""))
  shown <- data.frame(
    show_numbers(x[c("mean", "sd", quantiles)], x$mean, x$sd),
    mcse = show_significant(x$mcse_mean, 2),
    rhat = show_rhat(x$rhat), bulk = show_ess(x$ess_bulk),
    tail = show_ess(x$ess_tail), check.names = FALSE
  )
  print_table(x$variable[rows], shown[rows, ])
  if (nrow(x) > n) {
    writeLines(sprintf("... %d more rows; print(x, n = %d) shows all",
                       nrow(x) - n, nrow(x)))
  }
  writeLines("mcse: of the mean; bulk, tail: effective sample sizes")
  note <- attr(x, "note")
  if (is.null(note)) {
    writeLines(c(
      "", verdict_lines(convergence), constant_line(convergence),
      attr(x, "remarks")
    ))
    return(invisible(x))
  }
  writeLines(c("", switch(note,
    renumbered = "Components are numbered to agree between draws.",
    labelled = "-: not meaningful, for the numbers of components may switch.",
    rotated = "-: not meaningful, for factors may rotate from draw to draw."
  ), paste0(
    "Convergence, judged on quantities that do not depend on the ",
    if (note == "rotated") "rotation:" else "numbering:"
  ), ""))
  print(convergence)
  invisible(x)
}

#' @export
as.data.frame.gibbsite_summary <- function(x, ...) {
  for (part in c("headline", "length", "convergence", "note", "remarks")) {
    attr(x, part) <- NULL
  }
  class(x) <- "data.frame"
  x
}

# A row is rounded as its sd asks: three figures of the sd, the same number of
# decimals for mean and quantiles.
show_numbers <- function(columns, mean, sd) {
  spread <- ifelse(is.finite(sd) & sd > 0, sd, abs(mean) / 10)
  spread[!is.finite(spread) | spread == 0] <- 1
  decimals <- pmax(0, 2 - floor(log10(spread)))
  extreme <- decimals > 7 | abs(mean) >= 1e9 | (is.finite(sd) & sd == 0)
  as.data.frame(lapply(columns, function(column) {
    shown <- character(length(column))
    for (k in seq_along(column)) {
      shown[k] <- if (is.na(extreme[k]) || extreme[k]) {
        formatC(column[k], digits = 4, format = "g")
      } else {
        formatC(column[k], digits = decimals[k], format = "f")
      }
    }
    trimws(shown)
  }), check.names = FALSE, optional = TRUE)
}

show_significant <- function(x, digits) {
  shown <- formatC(signif(x, digits), digits = digits, format = "fg")
  tiny <- !is.na(x) & x != 0 & abs(x) < 1e-6
  shown[tiny] <- formatC(x[tiny], digits = digits - 1, format = "e")
  shown[is.na(x)] <- "-"
  trimws(shown)
}

show_rhat <- function(x) {
  ifelse(is.na(x), "-", ifelse(x > 100, ">100", formatC(x, format = "f",
                                                        digits = 3)))
}

show_ess <- function(x) {
  ifelse(is.na(x), "-", formatC(floor(x), format = "f", digits = 0))
}

# Names to the left, numbers to the right.
print_table <- function(names, columns) {
  body <- as.matrix(columns)
  dimnames(body) <- list(names, colnames(columns))
  print(body, quote = FALSE, right = TRUE)
}


# tidy and glance ----------------------------------------------------------

#' Tidy a fit
#'
#' `tidy()` gives one row for each stored quantity, `glance()` one row for the
#' fit.
#'
#' @param x A fit.
#' @param conf.level Number between 0 and 1, default 0.95: the mass of the
#'   central credible interval from `conf.low` to `conf.high`.
#' @param ... Not used.
#' @return `tidy()`: a data frame with the columns `term` (the name of the
#'   column), `label` (what it means, with the names in the data), `estimate`
#'   (posterior mean), `std.error` (posterior standard deviation), `conf.low`,
#'   `conf.high`, `rhat` and `ess` (bulk). The last two are `NA` where the
#'   numbers of components may switch, see [summary.gibbsite_fit()].
#'
#'   `glance()`: a data frame of one row with `model`, `nobs`, `chains`,
#'   `draws`, `burnin`, `thin`, `rhat` (the largest), `ess_bulk` and `ess_tail`
#'   (the least), `converged` and `elapsed` (seconds).
#' @section Errors: `gibbsite_error_argument` for `conf.level` out of range.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' head(tidy(fit), 4)
#' glance(fit)
#' @export
tidy.gibbsite_fit <- function(x, conf.level = 0.95, ...) {
  check_no_more(...)
  level <- check_number(conf.level, lower = 0, upper = 1, lower_open = TRUE,
                        upper_open = TRUE)
  # all quantities, whatever a model's own summary shows
  table <- as.data.frame(
    summary.gibbsite_fit(x, probs = 0.5 + c(-1, 1) * level / 2)
  )
  labels <- model_labels(fit_part(x, "model"))
  label <- labels$label[match(table$variable, labels$variable)]
  data.frame(
    term = table$variable,
    label = ifelse(is.na(label), table$variable, as.character(label)),
    estimate = table$mean, std.error = table$sd,
    conf.low = table[[4]], conf.high = table[[5]],
    rhat = table$rhat, ess = table$ess_bulk
  )
}

#' @rdname tidy.gibbsite_fit
#' @export
glance.gibbsite_fit <- function(x, ...) {
  check_no_more(...)
  running <- fit_part(x, "running")
  table <- convergence(x)
  extreme <- function(values, of) {
    values <- values[!is.na(values)]
    if (length(values) == 0) NA_real_ else of(values)
  }
  data.frame(
    model = class(x)[1], nobs = stats::nobs(x), chains = running$chains,
    draws = running$draws, burnin = running$burnin, thin = running$thin,
    rhat = extreme(table$rhat, max), ess_bulk = extreme(table$ess_bulk, min),
    ess_tail = extreme(table$ess_tail, min),
    converged = table_converged(table),
    elapsed = fit_part(x, "run")$elapsed$total %||% NA_real_
  )
}
