# Pictures of the chains.

#' Plot the chains of a fit
#'
#' Draws one panel for each quantity and type, with one colour for each chain.
#' `ggplot2::autoplot()` draws the same picture as a ggplot, see [autoplot].
#'
#' - `"trace"`: the draws against the sweep in which they were made. The grey
#'   strip at the left marks the burn-in, whose draws are not kept. Of a long
#'   chain at most 2,000 evenly spaced draws are shown.
#' - `"density"`: a density of each chain's draws between the smallest and the
#'   largest of all; bars for quantities that take few whole values.
#' - `"autocorrelation"`: the autocorrelation of each chain's draws, by lag.
#' - `"ranks"`, for two chains or more: the distribution of the ranks of a
#'   chain's draws among the draws of all chains. If the chains agree, it stays
#'   close to the dashed line (Vehtari et al. 2021).
#'
#' A quantity that is constant, or has draws that are not finite, has a panel
#' that says so.
#'
#' @param x A fit.
#' @param type One or more of `"trace"`, `"density"`, `"autocorrelation"` and
#'   `"ranks"`; default trace and density side by side.
#' @param variables `NULL` (default): the quantities on which [convergence()] is
#'   judged. If there are more than six (with several types four), the six with
#'   the largest R-hats are drawn if any split R-hat is above 1.01; otherwise
#'   the first six. Otherwise names of such quantities, of columns or of blocks,
#'   such as `c("pi", "log_lik")`, at most 30 panels in all. Components are
#'   renumbered as in [summary.gibbsite_fit()].
#' @param ... Not used.
#' @return `x`, invisibly. The graphical parameters are restored.
#' @section Errors: `gibbsite_error_argument` for an unknown type or variable,
#'   and for more than 30 panels.
#' @references Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner,
#'   P.-C. (2021). Rank-normalization, folding, and localization: an improved
#'   R-hat for assessing convergence of MCMC. *Bayesian Analysis* 16(2),
#'   667-718. \doi{10.1214/20-BA1221}
#' @seealso [converged()] for the verdict; [plot.gibbs_gmm()],
#'   [plot.gibbsite_regression()], [plot.gibbs_bmf()], [plot.gibbs_lda()] for
#'   the pictures of a model; [autoplot()][autoplot.gibbsite_fit] for ggplot2.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' plot(fit, type = c("trace", "density"))
#' plot(fit, type = "ranks", variables = "log_lik")
#' @export
plot.gibbsite_fit <- function(x, type = c("trace", "density"),
                              variables = NULL, ...) {
  now <- current_fit(x)
  if (!is.null(now)) {
    given <- if (!missing(type)) type
    return(plot(now, given, variables = variables, ...))
  }
  check_no_more(...)
  draw_base(picture_chains(x, type, variables, rlang::current_env()))
  invisible(x)
}

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_fit <- function(object, type = c("trace", "density"),
                                  variables = NULL, ...) {
  now <- current_fit(object)
  if (!is.null(now)) {
    given <- if (!missing(type)) type
    return(ggplot2::autoplot(now, given, variables = variables, ...))
  }
  check_no_more(...)
  draw_ggplot(picture_chains(object, type, variables, rlang::current_env()))
}

# The table has a row for each point of each line: variable, type, chain
# (factors), x, y; `discrete` for bars of a density.
picture_chains <- function(fit, type, variables, call, ...) {
  check_no_more(..., call = call)
  type <- check_plot_types(type %||% c("trace", "density"), call)
  picture_draws(
    plotted_draws(fit, variables, call, most_quantities(type)), chain_sets(fit),
    fit_part(fit, "running"), type, call
  )
}

# draws: of plotted_draws(); sets: the chains of each data set; running: a list
# with burnin, thin and draws.
picture_draws <- function(draws, sets, running, type, call) {
  count <- dim(draws)[[3L]] * length(type)
  if (count > 30L) {
    abort_argument(
      c("There must be at most 30 panels, not {count}.",
        i = "Name fewer {.arg variables} or types."),
      call = call
    )
  }
  if ("ranks" %in% type && dim(draws)[[2L]] == 1L) {
    abort_argument(
      c("{.code type = \"ranks\"} compares chains, and {.arg x} has one.",
        i = "{.code \"trace\"} and {.code \"autocorrelation\"} show one."),
      call = call
    )
  }
  measures <- diagnose_sets(draws, sets)
  # their numbers may switch from draw to draw, and measures are meaningless
  measures[measures$variable %in% attr(draws, "labelled"),
           c("rhat", "ess_bulk")] <- NA
  panels <- chain_panels(measures, type)
  parts <- Map(function(v, one) {
    values <- matrix(draws[, , v], dim(draws)[[1L]])
    if (!measures$finite[[v]] || measures$constant[[v]]) {
      return(list(empty = empty_words(measures[v, ], values)))
    }
    list(lines = chain_lines(one, values, running))
  }, panels$v, panels$type)
  tables <- in_panels(lapply(parts, `[[`, "lines"), panels$panel)
  if (nrow(tables) > 0L) {
    at <- match(tables$panel, panels$panel)
    tables$variable <- factor(panels$title[at], unique(panels$title))
    tables$type <- panels$type[at]
    tables$chain <- factor(tables$chain, seq_len(dim(draws)[[2L]]))
  }
  empty <- in_panels(lapply(parts, function(part) {
    if (!is.null(part$empty)) data.frame(x = 0, y = 0, label = part$empty)
  }), panels$panel)
  several <- length(type) > 1L
  free <- several || type != "autocorrelation"
  picture(
    tables, c(chain_marks(panels, running), chain_parts(tables), list(
      picture_layer("text", empty, "rule")
    )), chain_key(dim(draws)[[2L]], type, running),
    x = picture_axis(
      if (!several) along_words[[type]], free = free
    ),
    y = picture_axis(
      if (!several) height_words[[type]], free = free,
      floor = all(type %in% c("density", "ranks"))
    ),
    note = attr(draws, "note"), panels = panels,
    columns = if (several) length(type)
  )
}

# A row for each panel: v, the number of the quantity; type; and what picture()
# says.
chain_panels <- function(measures, type) {
  v <- rep(seq_len(nrow(measures)), each = length(type))
  type <- rep_len(type, length(v))
  names <- measures$variable[v]
  of_rhat <- type %in% c("trace", "ranks")
  value <- ifelse(of_rhat, measures$rhat[v], measures$ess_bulk[v])
  note <- rep(NA_character_, length(v))
  known <- !is.na(value)
  note[known & of_rhat] <- paste("R-hat", format_rhat(value[known & of_rhat]))
  note[known & !of_rhat] <- paste("ESS", floor(value[known & !of_rhat]))
  out <- data.frame(
    panel = paste(v, type), v = v, type = type, title = names, note = note,
    no_y = type == "density"
  )
  if (length(unique(type)) > 1L) {
    out$xlab <- unname(along_words[type])
  }
  out
}

empty_words <- function(measures, values) {
  if (measures$finite) {
    paste("constant at", format(values[[1L]], digits = 5))
  } else {
    "draws that are not finite"
  }
}

# What stands behind the lines: the strip of the burn-in, and lines to compare
# with.
chain_marks <- function(panels, running) {
  mark <- function(type, ...) {
    own <- factor(panels$panel[panels$type == type], panels$panel)
    data.frame(panel = own, lapply(list(...), rep, length(own)))
  }
  burnin <- as.numeric(running$burnin)
  last <- burnin + as.numeric(running$thin) * as.numeric(running$draws)
  list(
    if (burnin > 0) {
      picture_layer("rect", mark(
        "trace", xmin = burnin - 0.035 * (last - burnin), xmax = burnin,
        ymin = -Inf, ymax = Inf
      ), burnin_words(running))
    },
    picture_layer("hline", mark("autocorrelation", y = 0), "rule"),
    picture_layer("hline", mark("ranks", y = 1), "expected")
  )
}

burnin_words <- function(running) {
  paste0("burn-in (", digits(running$burnin), " sweeps, not kept)")
}

chain_parts <- function(tables) {
  if (nrow(tables) == 0L) {
    return(list())
  }
  chain <- chain_names(nlevels(tables$chain))[tables$chain]
  lines <- !tables$discrete & tables$type != "ranks"
  steps <- tables$type == "ranks"
  bars <- tables[tables$discrete, ]
  chains <- nlevels(tables$chain)
  left <- bars$x - 0.4 + (as.integer(bars$chain) - 1) * 0.8 / chains
  list(
    picture_layer("line", tables[lines, ], paste0(
      ifelse(tables$type == "trace", "trace ", ""), chain
    )[lines], 0.8),
    picture_layer("step", tables[steps, ], chain[steps], 0.8),
    picture_layer("rect", data.frame(
      panel = bars$panel, xmin = left, xmax = left + 0.72 / chains,
      ymin = rep(0, nrow(bars)), ymax = bars$y
    ), paste("bar", bars$chain), 0.8)
  )
}

chain_names <- function(chains) {
  numbers <- seq_len(chains)
  paste0(ifelse(chains > 8L & numbers == chains, "... ", ""), "chain ", numbers)
}

# With more than eight chains the first and the last colour represent the scale.
chain_key <- function(chains, type, running) {
  colours <- gibbsite_palette(chains)
  numbers <- seq_len(chains)
  some <- chains <= 8L | numbers %in% c(1L, chains)
  rbind(
    plot_key(chain_names(chains), colours, lty = 1, lwd = 1.5, shown = some),
    plot_key(paste("trace", chain_names(chains)), colours, lty = 1, lwd = 0.8,
             shown = FALSE),
    plot_key(paste("bar", numbers), NA, fill = colours, shown = FALSE),
    plot_key(burnin_words(running), NA, fill = "grey85",
             shown = "trace" %in% type && running$burnin > 0),
    rule_key(), rule_key("expected", lty = 2)
  )
}

# draws x chains x variables to plot; attributes: `note` if some are left out,
# `labelled`.
plotted_draws <- function(x, variables, call, most = 6L) {
  invariants <- fit_invariants(x)
  if (is.null(variables)) {
    return(default_draws(invariants, chain_sets(x), most))
  }
  model <- fit_part(x, "model")
  out <- chosen_draws(x, variables, invariants, call)
  if (!is_numbered(model)) {
    attr(out, "labelled") <- model_labelled(
      model, dimnames(invariants)$variable
    )
  }
  out
}

# With several types a quantity has several panels, which are as many as a page
# of 480 x 480 pixels holds.
most_quantities <- function(type) if (length(type) > 1L) 4L else 6L

default_draws <- function(draws, sets, most) {
  chosen <- default_quantities(draws, sets, most)
  structure(draws[, , chosen$shown, drop = FALSE], note = chosen$note)
}

# list(shown, note): which of the quantities are shown by default.
default_quantities <- function(invariants, sets, most = 6L) {
  all <- dim(invariants)[[3L]]
  if (all <= most) {
    return(list(shown = seq_len(all)))
  }
  rhat <- do.call(pmax, lapply(sets, function(own) {
    split_rhat(invariants[, own, , drop = FALSE])
  }))
  high <- max(rhat) > 1.01
  list(
    shown = if (high) sort(order(-rhat)[seq_len(most)]) else seq_len(most),
    note = paste0(
      most, " of ", all, " quantities: ", if (high) {
        "those with the largest R-hat"
      } else {
        "the first; of all, R-hat of halves of chains is at most 1.01"
      }
    )
  )
}

# R-hat of the halves of chains (Gelman et al. 2013, Bayesian Data Analysis,
# section 11.4) of all quantities at once: it chooses panels, and those have the
# measures of diagnose(). Inf for draws that are not finite, 1 for constants.
split_rhat <- function(draws) {
  size <- dim(draws)
  half <- size[[1L]] %/% 2L
  if (half < 2L) {
    return(rep(1, size[[3L]]))
  }
  halves <- lapply(list(seq_len(half), size[[1L]] - half + seq_len(half)),
                   function(rows) {
    part <- matrix(draws[rows, , ], half)
    mean <- colMeans(part)
    list(
      mean = matrix(mean, size[[2L]]),
      var = matrix(colSums((part - rep(mean, each = half))^2), size[[2L]]) /
        (half - 1)
    )
  })
  of <- function(name) do.call(rbind, lapply(halves, `[[`, name))
  within <- colMeans(of("var"))
  centred <- of("mean") - rep(colMeans(of("mean")), each = 2L * size[[2L]])
  between <- colSums(centred^2) / (2L * size[[2L]] - 1)
  out <- sqrt((half - 1) / half + between / within)
  out[within == 0 & between == 0] <- 1
  out[is.na(out)] <- Inf
  out
}

# The titles of both axes, by the type of picture.
along_words <- c(
  trace = "sweep", density = "value", autocorrelation = "lag, in kept draws",
  ranks = "rank among the draws of all chains"
)

height_words <- c(
  trace = "value", density = "density", autocorrelation = "autocorrelation",
  ranks = "draws / expected"
)

# A data frame with a row for each point of each chain's line: chain, x, y,
# discrete.
chain_lines <- function(type, values, running) {
  lines <- function(x, y) {
    data.frame(
      chain = rep(seq_len(ncol(values)), each = nrow(y)), x = x,
      y = as.vector(y), discrete = FALSE
    )
  }
  switch(type,
    trace = {
      rows <- evenly(nrow(values), 2000)
      lines(
        as.numeric(running$burnin) + rows * as.numeric(running$thin),
        values[rows, , drop = FALSE]
      )
    },
    density = density_lines(values),
    autocorrelation = {
      y <- autocorrelation_shown(values)
      lines(seq_len(nrow(y)) - 1, y)
    },
    ranks = {
      shown <- ranks_shown(values)
      # the last step ends at the last cut
      lines(shown$cuts, rbind(shown$share, shown$share[nrow(shown$share), ]))
    }
  )
}

is_discrete <- function(values) {
  all(values == round(values)) && length(unique(as.vector(values))) <= 20
}

# A density, or the whole values and their shares, of each chain.
density_lines <- function(values) {
  discrete <- is_discrete(values)
  level <- if (discrete) sort(unique(as.vector(values)))
  width <- if (!discrete) stats::bw.nrd0(values)
  ends <- range(values)
  do.call(rbind, lapply(seq_len(ncol(values)), function(k) {
    x <- values[, k]
    curve <- if (discrete) {
      list(
        x = level, y = tabulate(match(x, level), length(level)) / length(x)
      )
    } else {
      density_between(x, width, ends)
    }
    data.frame(chain = k, curve, discrete = discrete)
  }))
}

# list(x, y): a kernel density between `ends`, at which it is reflected, because
# draws may end at a bound; in a tail this adds nothing.
density_between <- function(x, width, ends) {
  if (ends[[1L]] == ends[[2L]]) {
    return(stats::density(x, bw = width, cut = 1)[c("x", "y")])
  }
  curve <- stats::density(
    c(x, 2 * ends[[1L]] - x, 2 * ends[[2L]] - x), bw = width,
    from = ends[[1L]], to = ends[[2L]]
  )
  list(x = curve$x, y = 3 * curve$y)
}

# Lags x chains, from lag 0; NA for a chain that never moved.
autocorrelation_shown <- function(values) {
  most <- min(40, nrow(values) - 1)
  correlation <- apply(values, 2, function(x) {
    if (max(x) == min(x)) return(rep(NA_real_, most + 1))
    stats::acf(x, lag.max = most, plot = FALSE)$acf
  })
  matrix(correlation, most + 1)
}

# Ranks in 20 equal classes, fewer where they would have less than five draws of
# a chain: list(cuts, share), the limits of the classes and each chain's counts,
# divided by their expectation if the chains agreed.
ranks_shown <- function(values) {
  ranks <- matrix(rank(values, ties.method = "average"), nrow(values))
  classes <- min(20, max(2, nrow(values) %/% 5))
  cuts <- seq(0, length(values), length.out = classes + 1)
  share <- apply(ranks, 2, function(r) {
    count <- tabulate(pmin(findInterval(r - 0.5, cuts), classes), classes)
    count / (nrow(values) / classes)
  })
  list(cuts = cuts, share = matrix(share, classes))
}

# The help page of pictures by ggplot2: the methods are beside those of plot().

#' Plot a fit by ggplot2
#'
#' `ggplot2::autoplot()` of a fit gives the picture of `plot()` as a ggplot, to
#' which scales, themes and layers can be added. Types, defaults and numbers are
#' those of `plot()`; the theme is the current one. The data of the ggplot are
#' the table of the picture. The colours are one scale, whose values have the
#' names of the legend.
#'
#' - All fits: types of [plot.gibbsite_fit()].
#' - Mixtures: [plot.gibbs_gmm()]; with an unknown `k`
#'   [plot.gibbs_gmm_unknown()].
#' - Topics: [plot.gibbs_lda()].
#' - Ratings: [plot.gibbs_bmf()].
#' - Regressions: [plot.gibbsite_regression()].
#' - Normal approximations: [plot.gibbsite_laplace()].
#' - Steps of a chain: [mh_trace()]. Label switching, and how often observations
#'   are together: [plot.gibbs_gmm()], [coclustering()].
#'
#' @param object A fit.
#' @param type,variables,level,topics,n,chain As in the `plot()` method.
#' @param newdata,variable,term,groups,per As in the `plot()` method.
#' @param ... Not used.
#' @return A ggplot.
#' @section Errors: As for the `plot()` method.
#' @seealso [plot.gibbsite_fit()], [plot.gibbsite_regression()],
#'   [plot.gibbs_gmm()], [plot.gibbs_lda()], [plot.gibbs_bmf()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   print(ggplot2::autoplot(fit))
#'   ggplot2::autoplot(fit, "trace", variables = "pi") +
#'     ggplot2::ggtitle("Weights of two components")
#' }
#' @name autoplot
NULL
