# print() of a fit and of a partial fit.

#' @rdname summary.gibbsite_fit
#' @export
print.gibbsite_fit <- function(x, times = getOption("gibbsite.times", TRUE),
                               ...) {
  times <- check_flag(times)
  now <- current_fit(x)
  if (!is.null(now)) return(print(now, times))
  old <- options(gibbsite.times = times)
  on.exit(options(old))
  running <- fit_part(x, "running")
  model <- fit_part(x, "model")
  table <- judged(x, 1.01, 400, rlang::current_env())
  write_lines(c(
    paste0("<", model$name, "> ", model$headline),
    "",
    length_lines(running),
    seed_line(x),
    surplus_line(x),
    imputed_lines(x),
    verdict_lines(table),
    constant_line(table),
    moves_line(x),
    model_notes(model, x, table),
    if (attr(table, "chains") == 1) {
      "One chain: R-hat compares its two halves; several chains show more."
    },
    "",
    next_line(x, table)
  ))
  invisible(x)
}

# The moves of groups of observations that succeeded, over all chains and sweeps
# of a mixture.
moves_line <- function(fit) {
  counts <- lapply(fit_part(fit, "chains"), function(chain) chain$state$moves)
  counts <- Reduce(`+`, counts)
  # other models have none
  if (!any(counts > 0)) {
    return(NULL)
  }
  counts <- matrix(counts, 4L)
  tried <- counts[, 1L] > 0
  name <- c("exchanges", "merges or splits", "resplits", "combinations")
  share <- paste(each_digits(counts[tried, 2L]), "of",
                 each_digits(counts[tried, 1L]), name[tried])
  paste0("Moves that succeeded: ", paste(share, collapse = ", "), ".")
}

# `table`: NULL if convergence is not judged.
next_line <- function(fit, table) {
  model <- fit_part(fit, "model")
  averaged <- draws_before_averages(fit) < fit_part(fit, "running")$draws
  whole <- !any(vapply(unclass(model)[model$data_part], is.null, NA))
  usable <- averaged && whole && (is.null(table) || table_converged(table))
  calls <- c(
    "summary(fit)", "plot(fit)", if (!is.null(table)) next_call(table),
    if (usable) model_next(model)
  )
  paste("Next:", paste(calls, collapse = ", "))
}

length_lines <- function(running) {
  thin <- as.numeric(running$thin)
  sweeps <- as.numeric(running$burnin) + as.numeric(running$draws) * thin
  every <- if (thin > 1) paste0(", every ", ordinal(thin), " sweep kept")
  paste0(
    cli::pluralize("{running$chains} chain{?s} of {running$draws} draw{?s}"),
    " (sweeps ", digits(running$burnin + thin), " to ", digits(sweeps), every,
    "; ", if (running$burnin > 0) {
      paste0("burn-in ", digits(running$burnin), ")")
    } else {
      "no burn-in)"
    }
  )
}

# The sweeps that the chains have reached, if they have no common draw yet.
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
    "{paste(each_digits(sweeps), collapse = ', ')}; ",
    "burn-in ends at {digits(fit_part(x, \"running\")$burnin)}."
  )
}

ordinal <- function(n) {
  last <- n %% 10
  teen <- n %% 100 %in% 11:13
  end <- if (teen || last == 0 || last > 3) "th" else c("st", "nd", "rd")[last]
  paste0(digits(n), end)
}

seed_line <- function(x) {
  running <- fit_part(x, "running")
  seeds <- each_digits(running$seed)
  elapsed <- fit_part(x, "run")$elapsed$total
  paste0(
    if (length(seeds) > 1) "Seeds " else "Seed ",
    paste(seeds, collapse = ", "),
    if (!is.null(running$rng_kind)) paste0(" (", running$rng_kind[1], ")"),
    if (!is.null(elapsed) && shows_times()) {
      paste0("; ", seconds_words(elapsed))
    }
  )
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

#' @export
print.gibbsite_partial <- function(x, ...) {
  model <- fit_part(x, "model")
  write_lines(c(
    paste0("<", model$name, ", no draws yet> ", model$headline),
    "",
    chains_line(x),
    seed_line(x),
    surplus_line(x),
    "",
    "Go on with extend(fit, draws): it gives the draws of an undisturbed run."
  ))
  invisible(x)
}

each_digits <- function(x) vapply(x, digits, character(1))
