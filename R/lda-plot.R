# Plots of topics.

#' Plot a topic model
#'
#' `"terms"`: the most probable terms of each topic, with intervals of two
#' posterior standard deviations. `"prevalence"`: each topic's share of all
#' tokens with the interval that holds it with probability `level`, and its top
#' terms. `"map"`: the topics as points in the plane whose distances approximate
#' the Hellinger distances ([stats::cmdscale()]), with areas proportional to
#' their shares.
#'
#' @param x A fit made by [gibbs_lda()].
#' @param type `"terms"` (default), `"prevalence"`, `"map"`, or types of
#'   [plot.gibbsite_fit()], such as `"trace"`.
#' @param topics Which topics, for `"terms"`; by default the largest twelve.
#' @param n Whole number: how many terms.
#' @param level Number between 0 and 1, for `"prevalence"`.
#' @param chain As in [topic_estimates()].
#' @param variables As in [plot.gibbsite_fit()].
#' @param ... Passed to [plot.gibbsite_fit()]; otherwise not used.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type` or topic.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' plot(fit)
#' plot(fit, type = "prevalence")
#' @export
plot.gibbs_lda <- function(x, type = "terms", topics = NULL, n = 10,
                           level = 0.9, chain = NULL, variables = NULL, ...) {
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  own <- c("terms", "prevalence", "map")
  type <- check_plot_types(type, call, own)
  # plots of topics are drawn one at a time
  if (length(type) > 1L && any(type %in% own)) {
    type <- check_choice(type, c(own, plot_types))
  }
  if (!type[[1L]] %in% own) {
    plot.gibbsite_fit(x, type = type, variables = variables, ...)
    return(invisible(x))
  }
  choose_variables(variables, fit_part(x, "model")$columns, call)
  check_no_more(...)
  n <- check_count(n)
  level <- check_level(level)
  k <- fit_part(x, "model")$k
  topics <- check_topics(topics, k, call)
  estimates <- estimate_topics(x, chain)
  switch(type[[1L]],
    terms = plot_terms(estimates, topics, n),
    prevalence = plot_prevalence(x, estimates, level, chain),
    map = plot_map(estimates)
  )
  invisible(x)
}

check_topics <- function(topics, k, call) {
  if (is.null(topics)) {
    return(seq_len(min(k, 12L)))
  }
  fine <- is.numeric(topics) && length(topics) %in% 1:30 &&
    all(topics %in% seq_len(k)) && !anyDuplicated(topics)
  if (!fine) {
    given <- describe(topics)
    abort_argument(
      "{.arg topics} must be at most 30 different numbers from 1 to {k}, not
       {given}.",
      call = call
    )
  }
  as.integer(topics)
}

plot_terms <- function(estimates, topics, n) {
  table <- as.data.frame(table_of_terms(estimates, n))
  columns <- ceiling(sqrt(length(topics) * 0.75))
  grid <- c(ceiling(length(topics) / columns), columns)
  old <- graphics::par(mfrow = grid, mar = c(2.2, 6.5, 1.8, 0.8), las = 1,
                       mgp = c(1.5, 0.4, 0), tcl = -0.2, cex = 0.7)
  on.exit(graphics::par(old))
  shown <- table[table$topic %in% topics, ]
  right <- max(shown$probability + 2 * shown$sd)
  colour <- gibbsite_palette(1L)
  for (t in topics) {
    one <- shown[shown$topic == t, ]
    at <- rev(seq_len(nrow(one)))
    graphics::plot(
      one$probability, at, type = "n", xlim = c(0, right), yaxt = "n",
      ylab = "", xlab = "", bty = "n", ylim = c(0.5, nrow(one) + 0.5)
    )
    graphics::rect(0, at - 0.35, one$probability, at + 0.35, border = NA,
                   col = grDevices::adjustcolor(colour, 0.35))
    graphics::segments(
      pmax(0, one$probability - 2 * one$sd), at, one$probability + 2 * one$sd,
      at, col = colour, lwd = 2
    )
    graphics::axis(2, at, substr(one$term, 1L, 16L), tick = FALSE)
    graphics::title(
      main = sprintf("Topic %d (%.1f%%)", t, 100 * one$share[[1L]]),
      line = 0.5, cex.main = 1, adj = 0
    )
  }
}

# Shares of the topics draw by draw, in the order of the estimates.
draws_of_shares <- function(fit, estimates, chain) {
  model <- fit_part(fit, "model")
  chains <- if (is.null(chain)) seq_along(fit) else chain
  matrices <- chain_matrices(fit)[chains]
  do.call(rbind, lapply(seq_along(matrices), function(c) {
    columns <- paste0("size[", estimates$order[c, ], "]")
    unname(matrices[[c]][, columns, drop = FALSE]) / model$nobs
  }))
}

plot_prevalence <- function(fit, estimates, level, chain) {
  shares <- draws_of_shares(fit, estimates, chain)
  shown <- seq_len(min(40L, ncol(shares)))
  bounds <- apply(
    shares[, shown, drop = FALSE], 2L, stats::quantile,
    probs = central_tails(level), names = FALSE
  )
  table <- as.data.frame(table_of_terms(estimates, 4L))
  words <- vapply(shown, function(t) {
    paste(table$term[table$topic == t], collapse = " ")
  }, "")
  label <- paste(shown, words)
  old <- graphics::par(
    mar = c(4, min(22, 1 + 0.5 * max(nchar(label))), 1, 1.6), las = 1,
    mgp = c(2.2, 0.6, 0), cex = if (length(shown) > 20) 0.6 else 0.85
  )
  on.exit(graphics::par(old))
  at <- rev(shown)
  colour <- gibbsite_palette(1L)
  graphics::plot(
    estimates$share[shown], at, xlim = c(0, max(bounds)), type = "n",
    xlab = "share of all tokens", ylab = "", yaxt = "n", bty = "l"
  )
  graphics::abline(h = at, col = "grey92")
  graphics::segments(bounds[1L, ], at, bounds[2L, ], at, col = colour, lwd = 3)
  graphics::points(estimates$share[shown], at, pch = 19, col = colour)
  graphics::axis(2, at, label, tick = FALSE)
}

plot_map <- function(estimates) {
  k <- nrow(estimates$phi)
  if (k < 3L) {
    abort_argument(
      "A map needs at least 3 topics, not {k}.", call = rlang::caller_env()
    )
  }
  place <- stats::cmdscale(hellinger(estimates$phi), k = 2L)
  table <- as.data.frame(table_of_terms(estimates, 1L))
  old <- graphics::par(mar = c(1, 1, 1, 1))
  on.exit(graphics::par(old))
  limits <- apply(place, 2L, grDevices::extendrange, f = 0.15)
  graphics::plot(
    place, type = "n", axes = FALSE, xlab = "", ylab = "", asp = 1,
    xlim = limits[, 1L], ylim = limits[, 2L]
  )
  graphics::box(col = "grey80")
  radius <- 0.08 * max(diff(limits)) * sqrt(estimates$share / max(
    estimates$share
  ))
  graphics::symbols(
    place, circles = radius, inches = FALSE, add = TRUE, fg = "grey40",
    bg = grDevices::adjustcolor(gibbsite_palette(1L), 0.25)
  )
  label <- paste(seq_len(k), table$term)
  heights <- apart(
    place[, 1L], place[, 2L], graphics::strwidth(label, cex = 0.8),
    1.3 * graphics::strheight("X", cex = 0.8)
  )
  graphics::text(place[, 1L], heights, label, cex = 0.8)
}

# Heights of labels at x, y, moved upwards where they would overlap.
apart <- function(x, y, width, height) {
  placed <- integer()
  for (i in order(y)) {
    near <- placed[abs(x[placed] - x[i]) < (width[placed] + width[i]) / 2]
    for (j in near[order(y[near])]) {
      # the tolerance is for labels that exactly touch
      if (abs(y[i] - y[j]) < height * (1 - 1e-9)) y[i] <- y[j] + height
    }
    placed <- c(placed, i)
  }
  y
}
