# Plots of the chains, in base graphics.

# Colours that people with any kind of colour vision can tell apart (Okabe and
# Ito), in an order that keeps the first ones far from each other; beyond eight
# a scale from dark to light.
gibbsite_palette <- function(n) {
  distinct <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7",
                "#E69F00", "#56B4E9", "#000000", "#999999")
  if (n <= length(distinct)) {
    return(distinct[seq_len(n)])
  }
  grDevices::hcl.colors(n, "viridis", rev = FALSE)
}

plot_types <- c("trace", "density", "autocorrelation", "ranks")

#' Plot the chains of a fit
#'
#' Draws one panel for each quantity and type, with one colour for each chain.
#'
#' - `"trace"`: the draws against the sweep in which they were made. The grey
#'   strip at the left marks the burn-in, whose draws are not kept.
#' - `"density"`: a density of each chain's draws; bars for quantities that take
#'   few whole values.
#' - `"autocorrelation"`: the autocorrelation of each chain's draws, by lag.
#' - `"ranks"`: the distribution of the ranks of a chain's draws among the draws
#'   of all chains. If the chains agree, it stays close to the dashed line
#'   (Vehtari et al. 2021).
#'
#' @param x A fit.
#' @param type One or more of `"trace"`, `"density"`, `"autocorrelation"` and
#'   `"ranks"`; default trace and density side by side.
#' @param variables `NULL` (default): the quantities on which [convergence()] is
#'   judged, or the six with the largest R-hat if there are more. Otherwise
#'   names of such quantities, of columns or of blocks, such as `c("pi",
#'   "log_lik")`, at most 30 panels in all. Components are renumbered as in
#'   [summary.gibbsite_fit()].
#' @param ... Not used.
#' @return `x`, invisibly. The graphical parameters are restored.
#' @section Errors: `gibbsite_error_argument` for an unknown type or variable,
#'   and for more than 30 panels.
#' @references Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner,
#'   P.-C. (2021). Rank-normalization, folding, and localization: an improved
#'   R-hat for assessing convergence of MCMC. *Bayesian Analysis* 16(2),
#'   667-718. \doi{10.1214/20-BA1221}
#' @seealso [converged()] for the verdict; [plot.gibbs_gmm()],
#'   [plot.gibbsite_regression()], [plot.gibbs_bmf()], [plot.gibbs_lda()] for the
#'   pictures of a model; [autoplot()][autoplot.gibbsite_fit] for ggplot2.
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
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_plot_types(type, call)
  draws <- plotted_draws(x, variables, call)
  panels <- dim(draws)[3] * length(type)
  if (panels > 30) {
    abort_argument(
      c("There must be at most 30 panels, not {panels}.",
        i = "Name fewer {.arg variables} or types."),
      call = call
    )
  }
  grid <- panel_grid(dim(draws)[3], length(type))
  old <- open_panels(
    grid, tall = length(type) > 2, left = if ("trace" %in% type) {
      tick_width(draws)
    } else {
      0
    }
  )
  on.exit(graphics::par(old))
  table <- diagnose_sets(draws, chain_sets(x))
  # their numbers may switch from draw to draw, and measures are meaningless
  table[table$variable %in% attr(draws, "labelled"),
        c("rhat", "ess_bulk")] <- NA
  for (p in seq_len(panels)) {
    v <- (p - 1) %/% length(type) + 1
    values <- matrix(draws[, , v], dim(draws)[1], dim(draws)[2])
    # the axis is labelled if there is no panel below
    lowest <- p > panels - grid[2]
    one <- type[(p - 1) %% length(type) + 1]
    draw_panel(one, values, table[v, ], fit_part(x, "running"), lowest,
               length(type) > 2)
    if (lowest) {
      title_heights(one)
    }
  }
  if (!is.null(attr(draws, "of"))) {
    graphics::mtext(
      paste0(dim(draws)[3], " of ", attr(draws, "of"),
             " quantities: those with the largest R-hat"),
      outer = TRUE, adj = 0.99, line = 0, cex = 0.65, col = "grey35"
    )
  }
  draw_legend(dim(draws)[2], fit_part(x, "running"), "trace" %in% type)
  invisible(x)
}

# The types of a plot where none is given: `own`, or those of chains if their
# variables are named.
default_types <- function(type, variables, own,
                          chains = c("trace", "density")) {
  type %||% if (is.null(variables)) own else chains
}

# `own`: the model's own types of plot besides those of all chains.
check_plot_types <- function(type, call, own = NULL) {
  if (!is.character(type) || is.object(type) || length(type) == 0) {
    type <- list(type)
  }
  unique(vapply(type, function(one) {
    check_choice(one, c(own, plot_types), arg = "type", call = call)
  }, character(1), USE.NAMES = FALSE))
}

# draws x chains x variables to plot
plotted_draws <- function(x, variables, call) {
  invariants <- fit_invariants(x)
  if (is.null(variables)) {
    shown <- seq_len(dim(invariants)[3])
    all <- length(shown)
    if (all > 6) {
      rhat <- diagnose_sets(invariants, chain_sets(x))$rhat
      shown <- sort(order(-rhat)[1:6])
    }
    invariants <- invariants[, , shown, drop = FALSE]
    attr(invariants, "of") <- if (all > 6) all
    return(invariants)
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

# rows and columns of panels: types side by side, or one type in a block
panel_grid <- function(variables, types) {
  if (types > 1) {
    return(c(variables, types))
  }
  columns <- if (variables <= 3) 1 else if (variables <= 8) 2 else 3
  c(ceiling(variables / columns), columns)
}

# tall: two lines above each panel; left: inches of the widest tick's label
open_panels <- function(grid, tall = FALSE, left = 0) {
  old <- graphics::par(c("mfrow", "cex", "mar", "oma", "mgp", "tcl", "las",
                         "xpd"))
  cex <- if (max(grid) > 3) 0.72 else 0.8
  lines <- max(2.2, left / graphics::par("csi") / cex + 0.8)
  graphics::par(mfrow = grid, cex = cex,
                mar = c(1.9, lines + 1.6, if (tall) 2.6 else 1.7, 1.3),
                oma = c(3, 0, 1, 0), mgp = c(1.5, 0.45, 0), tcl = -0.25,
                las = 1, xpd = FALSE)
  old
}

# Inches of the labels of heights of traces.
tick_width <- function(draws) {
  ticks <- apply(draws, 3, function(values) {
    if (all(is.finite(values))) {
      max(nchar(format(pretty(range(values), 4))))
    } else {
      0
    }
  })
  label_width(strrep("0", max(0, ticks)), 0.8)
}

draw_panel <- function(type, values, measures, running, lowest, tall = FALSE) {
  colours <- grDevices::adjustcolor(gibbsite_palette(ncol(values)), 0.75)
  if (!measures$finite || measures$constant) {
    word <- if (measures$finite) {
      paste("constant at", format(values[1], digits = 5))
    } else {
      "draws that are not finite"
    }
    empty_panel(word)
  } else {
    switch(type,
      trace = draw_trace(values, running, colours),
      density = draw_density(values, colours),
      autocorrelation = draw_autocorrelation(values, colours),
      ranks = draw_ranks(values, colours)
    )
    if (lowest) {
      words <- along_words(type)
      room <- 1.25 * graphics::par("pin")[1]
      if (type == "ranks" && label_width(words, 1) > room) {
        words <- "rank"
      }
      size <- min(1, room / label_width(words, 1))
      graphics::mtext(
        words, side = 1, line = 1.6, cex = size * graphics::par("cex")
      )
    }
  }
  title_panel(type, measures, tall)
}

along_words <- function(type) {
  switch(type,
    trace = "sweep", density = "value",
    autocorrelation = "lag, in kept draws",
    ranks = "rank among the draws of all chains"
  )
}

height_words <- function(type) {
  switch(type,
    trace = "value", density = "density", autocorrelation = "autocorrelation",
    ranks = "draws / expected"
  )
}

# The title of the heights, once for a column of panels: at the middle of the
# page beside the last panel.  Densities have no axis of heights.
title_heights <- function(type) {
  if (type == "density") {
    return(invisible())
  }
  line <- graphics::par("csi") * graphics::par("cex")
  inches <- graphics::grconvertX(0, "npc", "inches") -
    graphics::par("mai")[2] + 0.7 * line
  graphics::text(
    graphics::grconvertX(inches, "inches", "user"),
    graphics::grconvertY(0.53, "ndc", "user"), height_words(type), srt = 90,
    adj = c(0.5, 0.5), xpd = NA
  )
}

# The name on the left, the measures of convergence on the right, or below if
# the panel has two lines.
title_panel <- function(type, measures, tall = FALSE) {
  graphics::mtext(measures$variable, adj = 0, line = if (tall) 1.25 else 0.35,
                  font = 2, cex = 0.95 * graphics::par("cex"))
  note <- switch(type,
    trace = , ranks = if (!is.na(measures$rhat)) {
      paste("R-hat", format_rhat(measures$rhat))
    },
    density = , autocorrelation = if (!is.na(measures$ess_bulk)) {
      paste("ESS", floor(measures$ess_bulk))
    }
  )
  if (is.null(note)) {
    return(invisible())
  }
  room <- graphics::par("pin")[1] - label_width(measures$variable, 1)
  if (tall || label_width(note, 0.95) < room) {
    graphics::mtext(note, adj = if (tall) 0 else 1, line = 0.35,
                    col = "grey35", cex = 0.9 * graphics::par("cex"))
  }
}

empty_panel <- function(word) {
  graphics::plot(0, 0, type = "n", axes = FALSE, xlab = "", ylab = "")
  graphics::box(col = "grey80")
  graphics::text(0, 0, word, col = "grey35")
}

# ticks: heights to label, NULL for none
frame_panel <- function(xlim, ylim, ticks = NULL, xaxt = "s", xaxs = "r",
                        yaxs = "r") {
  graphics::plot(0, 0, type = "n", xlim = xlim, ylim = ylim, xlab = "",
                 ylab = "", bty = "l", xaxt = xaxt, yaxt = "n", xaxs = xaxs,
                 yaxs = yaxs)
  if (!is.null(ticks)) {
    graphics::axis(2, ticks)
  }
}

# As many heights as fit on the panel, at least two.
nice_ticks <- function(range) {
  inches <- graphics::par("pin")[2]
  line <- graphics::par("csi") * graphics::par("cex")
  choices <- lapply(1:5, function(n) {
    ticks <- pretty(range, n)
    ticks[ticks >= range[1] & ticks <= range[2]]
  })
  choices <- choices[lengths(choices) >= 2]
  fits <- lengths(choices) * 1.7 * line <= inches
  if (length(choices) == 0) {
    return(signif(range, 3))
  }
  if (any(fits)) choices[[max(which(fits))]] else choices[[1]]
}

# A long chain is shown by 5,000 evenly spaced draws: more would not be visible.
# list(x, y): sweeps, and the draws in them, sweeps x chains
trace_shown <- function(values, running) {
  step <- ceiling(nrow(values) / 5000)
  rows <- seq(1, nrow(values), by = step)
  list(
    x = as.numeric(running$burnin) + rows * as.numeric(running$thin),
    y = values[rows, , drop = FALSE]
  )
}

# Thin lines where many would hide each other.
trace_width <- function(values) {
  if (nrow(values) > 500) 0.6 else 1
}

draw_trace <- function(values, running, colours) {
  shown <- trace_shown(values, running)
  sweeps <- shown$x
  first <- as.numeric(running$burnin)
  span <- max(sweeps) - first
  left <- if (first > 0) first - 0.035 * span else first
  heights <- if (is_discrete(values)) {
    level <- range(values)
    seq(level[1], level[2], by = max(1, ceiling(diff(level) / 4)))
  } else {
    nice_ticks(range(values))
  }
  frame_panel(c(left, max(sweeps)), range(values), heights, xaxt = "n",
              xaxs = "i")
  ticks <- pretty(c(first, max(sweeps)), n = 4)
  graphics::axis(1, ticks[ticks >= first & ticks <= max(sweeps)])
  if (first > 0) {
    edge <- graphics::par("usr")
    graphics::rect(left, edge[3], first, edge[4], col = "grey85", border = NA)
  }
  graphics::matlines(sweeps, shown$y, lty = 1, lwd = trace_width(shown$y),
                     col = colours)
}

# list(discrete, curves): of each chain list(x, y), a density, or the whole
# values and their shares.
density_of_chains <- function(values) {
  discrete <- is_discrete(values)
  curves <- if (discrete) {
    level <- sort(unique(as.vector(values)))
    apply(values, 2, function(x) {
      list(
        x = level, y = tabulate(match(x, level), length(level)) / length(x)
      )
    }, simplify = FALSE)
  } else {
    width <- stats::bw.nrd0(values)
    apply(values, 2, function(x) {
      stats::density(x, bw = width, cut = 1)[c("x", "y")]
    }, simplify = FALSE)
  }
  list(discrete = discrete, curves = curves)
}

draw_density <- function(values, colours) {
  shown <- density_of_chains(values)
  if (shown$discrete) {
    return(draw_bars(shown$curves, colours))
  }
  curves <- shown$curves
  x <- range(vapply(curves, function(d) range(d$x), numeric(2)))
  top <- max(vapply(curves, function(d) max(d$y), numeric(1)))
  # no axis, because the heights of a density are not needed
  frame_panel(x, c(0, 1.04 * top), yaxs = "i")
  for (k in seq_along(curves)) {
    graphics::lines(curves[[k]], col = colours[k], lwd = 1.5)
  }
}

is_discrete <- function(values) {
  all(values == round(values)) && length(unique(as.vector(values))) <= 20
}

# Shares of each whole value, chains side by side.
draw_bars <- function(curves, colours) {
  level <- curves[[1]]$x
  top <- max(vapply(curves, function(d) max(d$y), numeric(1)))
  width <- 0.8 / length(curves)
  frame_panel(range(level) + c(-0.6, 0.6), c(0, 1.04 * top),
              nice_ticks(c(0, top)), xaxt = "n", yaxs = "i")
  graphics::axis(1, level)
  for (k in seq_along(curves)) {
    left <- level - 0.4 + (k - 1) * width
    graphics::rect(left, 0, left + 0.9 * width, curves[[k]]$y,
                   col = colours[k], border = NA)
  }
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

draw_autocorrelation <- function(values, colours) {
  correlation <- autocorrelation_shown(values)
  most <- nrow(correlation) - 1
  if (all(is.na(correlation))) {
    return(empty_panel("no chain moved"))
  }
  low <- min(0, correlation, na.rm = TRUE)
  frame_panel(c(0, most), c(low, 1), nice_ticks(c(low, 1)))
  graphics::abline(h = 0, col = "grey60")
  for (k in seq_len(ncol(values))) {
    graphics::lines(0:most, correlation[, k], lwd = 1.5, col = colours[k])
  }
}

# Ranks in 20 equal classes: list(cuts, share), the limits of the classes and
# each chain's counts, divided by their expectation if the chains agreed.
ranks_shown <- function(values) {
  ranks <- matrix(rank(values, ties.method = "average"), nrow(values))
  classes <- min(20, nrow(values))
  cuts <- seq(0, length(values), length.out = classes + 1)
  share <- apply(ranks, 2, function(r) {
    count <- tabulate(pmin(findInterval(r - 0.5, cuts), classes), classes)
    count / (nrow(values) / classes)
  })
  list(cuts = cuts, share = matrix(share, classes))
}

draw_ranks <- function(values, colours) {
  shown <- ranks_shown(values)
  cuts <- shown$cuts
  share <- shown$share
  classes <- nrow(share)
  top <- max(2, share)
  frame_panel(range(cuts), c(0, top), nice_ticks(c(0, top)))
  graphics::abline(h = 1, lty = 2, col = "grey40")
  for (k in seq_len(ncol(values))) {
    graphics::lines(cuts, c(share[, k], share[classes, k]), type = "s",
                    col = colours[k], lwd = 1.5)
  }
}

# One line below all panels: the chains, and the meaning of the grey strip. It
# is smaller if it would be wider than the page.
draw_legend <- function(chains, running, trace) {
  colours <- gibbsite_palette(chains)
  labels <- paste("chain", seq_len(chains))
  if (chains > 8) {
    # the first and the last colour represent the scale
    colours <- colours[c(1, chains)]
    labels <- c("chain 1", paste("... chain", chains))
  }
  strip <- trace && running$burnin > 0
  if (strip) {
    labels <- c(labels, paste0("burn-in (", digits(running$burnin),
                               " sweeps, not kept)"))
    colours <- c(colours, "grey85")
  }
  draw_legend_line(labels, colours, strip = strip)
}

draw_legend_line <- function(labels, colours, lty = 1, strip = FALSE) {
  graphics::par(fig = c(0, 1, 0, 1), oma = rep(0, 4), mar = rep(0, 4),
                new = TRUE, xpd = NA, cex = 1)
  graphics::plot(0:1, 0:1, type = "n", axes = FALSE, xlab = "", ylab = "",
                 xaxs = "i", yaxs = "i")
  widths <- function(cex) {
    graphics::strwidth(labels, cex = cex) +
      4.5 * cex * graphics::strwidth("m", cex = 1)
  }
  cex <- 0.75 * min(1, 0.96 / sum(widths(0.75)))
  draw_keys(labels, colours, widths(cex), cex, lty, strip)
}

draw_keys <- function(labels, colours, widths, cex, lty, strip) {
  unit <- cex * graphics::strwidth("m", cex = 1)
  left <- (1 - sum(widths)) / 2 + cumsum(c(0, widths))[seq_along(widths)]
  y <- 0.75 * graphics::strheight("M", cex = 1)
  line <- seq_len(length(labels) - strip)
  graphics::segments(left[line], y, left[line] + 1.6 * unit, y,
                     col = colours[line], lwd = 2.5, lty = lty)
  if (strip) {
    box <- length(labels)
    high <- 0.6 * graphics::strheight("M", cex = cex)
    graphics::rect(left[box] + 0.6 * unit, y - high, left[box] + 1.6 * unit,
                   y + high, col = colours[box], border = NA)
  }
  graphics::text(left + 2.1 * unit, y, labels, adj = c(0, 0.45), cex = cex)
}

seq_range <- function(limits, n) seq(limits[[1L]], limits[[2L]], length.out = n)

# Name above, measures of convergence below, because panels may be narrow.
plot_title <- function(above, below = "") {
  graphics::mtext(above, adj = 0, line = 1.2, font = 2, cex = 0.8)
  graphics::mtext(below, adj = 0, line = 0.3, cex = 0.7, col = "grey35")
}

# An argument that some pictures have would pass unseen with the others.
check_plots_with <- function(x, type, types, call,
                             arg = rlang::caller_arg(x)) {
  force(arg)
  if (!is.null(x) && !all(type %in% types)) {
    abort_argument(
      "{.arg {arg}} must be NULL where {.arg type} is not
       {or_words(quoted(types))}.",
      call = call
    )
  }
}
