# Plots of topics.

#' Plot a topic model
#'
#' `"terms"`: the most probable terms of each topic, with intervals of two
#' posterior standard deviations; fewer than `n` on a page too small for them.
#' `"prevalence"`: each topic's share of all
#' tokens with the interval that holds it with probability `level`, and its top
#' terms. `"map"`: the topics as points in the plane whose distances approximate
#' the Hellinger distances ([stats::cmdscale()]), with areas proportional to
#' their shares; at the side the numbers of the topics with their terms.
#'
#' @param x A fit made by [gibbs_lda()].
#' @param type `"terms"` (default), `"prevalence"`, `"map"`, or types of
#'   [plot.gibbsite_fit()], such as `"trace"` (the default if `variables` are
#'   given).
#' @param topics Which topics, for `"terms"`; by default the largest twelve.
#' @param n Whole number: how many terms.
#' @param level Number between 0 and 1, for `"prevalence"`.
#' @param chain As in [topic_estimates()].
#' @param variables As in [plot.gibbsite_fit()].
#' @param ... Passed to [plot.gibbsite_fit()]; otherwise not used.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type` or topic.
#' @seealso [plot.gibbsite_fit()] for the chains, [top_terms()],
#'   [topic_distances()], [autoplot()][autoplot.gibbs_lda] for ggplot2.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' plot(fit)
#' plot(fit, type = "prevalence")
#' @export
plot.gibbs_lda <- function(x, type = NULL, topics = NULL, n = 10,
                           level = 0.95, chain = NULL, variables = NULL, ...) {
  call <- rlang::current_env()
  own <- c("terms", "prevalence", "map")
  type <- check_plot_types(default_types(type, variables, "terms"), call, own)
  # plots of topics are drawn one at a time
  if (length(type) > 1L && any(type %in% own)) {
    type <- check_choice(type, c(own, plot_types))
  }
  if (!type[[1L]] %in% own) {
    plot.gibbsite_fit(x, type = type, variables = variables, ...)
    return(invisible(x))
  }
  check_plots_with(variables, type, plot_types, call)
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
    all(topics %in% seq_len(k)) && !anyDuplicated(as.vector(topics))
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

# A row for each of the first n terms of the topics: topic, label, probability,
# lower, upper (two standard deviations), rank.
terms_shown <- function(estimates, topics, n) {
  table <- as.data.frame(table_of_terms(estimates, n))
  table <- table[table$topic %in% topics, ]
  data.frame(
    topic = table$topic, name = table$name %||% as.character(table$topic),
    term = table$term,
    label = substr(table$term, 1L, 16L), probability = table$probability,
    lower = pmax(0, table$probability - 2 * table$sd),
    upper = table$probability + 2 * table$sd, share = table$share,
    rank = stats::ave(table$topic, table$topic, FUN = seq_along)
  )
}

# A name that is not the number stands in the number's place.
topic_title <- function(topic, share, name = as.character(topic)) {
  named <- name != as.character(topic)
  sprintf("%s (%.1f%%)", ifelse(named, name, paste("Topic", topic)),
          100 * share)
}

plot_terms <- function(estimates, topics, n) {
  shown <- terms_shown(estimates, topics, n)
  columns <- ceiling(sqrt(length(topics) * 0.75))
  rows <- ceiling(length(topics) / columns)
  page <- graphics::par("din")
  line <- graphics::par("csi")
  # the heights of a panel, less its title, and of a term on it
  high <- (page[[2L]] - 3 * line) / rows - 1.3 * line
  most <- max(shown$rank)
  size <- min(0.85, 0.95 * high / most / line)
  if (size < 0.5) {
    # smaller letters could not be read
    size <- 0.5
    shown <- shown[shown$rank <= max(1, floor(0.95 * high / size / line)), ]
  }
  left <- min(
    label_width(shown$label, size) + 0.12, 0.6 * page[[1L]] / columns
  )
  old <- set_par(
    mfrow = c(rows, columns), cex = 1,
    mai = c(0.15, 0, 1.15, 0.5) * line + c(0, left, 0, 0),
    oma = c(2.8, 0, 0, 0), las = 1, mgp = c(1.5, 0.3, 0), tcl = -0.2
  )
  on.exit(graphics::par(old))
  for (i in seq_along(topics)) {
    # the axis is shared by the panels of a column
    draw_terms(
      shown[shown$topic == topics[[i]], ], max(shown$upper), max(shown$rank),
      size, lowest = i > length(topics) - columns
    )
  }
  graphics::mtext(
    "probability of the term, with two standard deviations", side = 1,
    outer = TRUE, line = 1.5, cex = 0.85
  )
}

draw_terms <- function(one, right, most, size, lowest) {
  at <- rev(seq_len(most))[seq_len(nrow(one))]
  colour <- gibbsite_palette(1L)
  graphics::plot(
    one$probability, at, type = "n", xlim = c(0, right), axes = FALSE,
    ylab = "", xlab = "", ylim = c(0.5, most + 0.5), yaxs = "i"
  )
  ticks <- pretty(c(0, right), 2)
  ticks <- ticks[ticks <= right]
  graphics::axis(1, ticks, if (lowest) ticks else FALSE, cex.axis = 0.75)
  graphics::rect(0, at - 0.35, one$probability, at + 0.35, border = NA,
                 col = grDevices::adjustcolor(colour, 0.35))
  graphics::segments(one$lower, at, one$upper, at, col = colour, lwd = 2)
  left_labels(at, one$label, size)
  title <- topic_title(
    one$topic[[1L]], one$share[[1L]], one$name[[1L]]
  )
  room <- graphics::par("fin")[[1L]] - 0.05
  scale <- min(0.85, room / graphics::strwidth(
    title, units = "inches", font = 2
  ))
  graphics::text(
    graphics::grconvertX(0.02, "nfc", "user"),
    graphics::grconvertY(1, "nfc", "user") -
      0.6 * graphics::strheight("M", cex = 1.6 * scale),
    title, adj = c(0, 0.8), font = 2, cex = scale, xpd = NA
  )
}

# Shares of the topics draw by draw.
draws_of_shares <- function(fit, chain) {
  model <- fit_part(fit, "model")
  chains <- if (is.null(chain)) seq_along(fit) else chain
  all <- do.call(rbind, model_matrices(fit)[chains])
  unname(all[, indexed("size", seq_len(model$k)), drop = FALSE]) / model$nobs
}

# A row for each of the 40 largest topics: topic, share, lower, upper, terms.
prevalence_shown <- function(fit, estimates, level, chain) {
  shares <- draws_of_shares(fit, chain)
  shown <- utils::head(order(-estimates$share), 40L)
  bounds <- apply(
    shares[, shown, drop = FALSE], 2L, stats::quantile,
    probs = central_tails(level), names = FALSE
  )
  data.frame(
    topic = shown, name = rownames(estimates$phi)[shown],
    share = estimates$share[shown], lower = bounds[1L, ],
    upper = bounds[2L, ], terms = words_of_topics(estimates, shown, 4L)
  )
}

# The n most probable terms of each topic in one string.
words_of_topics <- function(estimates, topics, n) {
  table <- as.data.frame(table_of_terms(estimates, n))
  vapply(topics, function(t) {
    paste(table$term[table$topic == t], collapse = " ")
  }, "")
}

plot_prevalence <- function(fit, estimates, level, chain) {
  shown <- prevalence_shown(fit, estimates, level, chain)
  label <- paste(shown$name, shown$terms)
  line <- graphics::par("csi")
  page <- graphics::par("din")
  size <- max(0.4, min(
    0.85, (page[[2L]] - 5 * line) / nrow(shown) / line
  ))
  # long names are shortened where they would take half the page
  while (label_width(label, size) > 0.55 * page[[1L]]) {
    longest <- nchar(label) == max(nchar(label))
    label[longest] <- substr(label[longest], 1L, nchar(label[longest]) - 1L)
  }
  old <- set_par(
    mai = c(3.6, 0, 1, 1.6) * line +
      c(0, label_width(label, size) + 0.15, 0, 0),
    las = 1, mgp = c(2.2, 0.6, 0)
  )
  on.exit(graphics::par(old))
  at <- rev(shown$topic)
  colour <- gibbsite_palette(1L)
  graphics::plot(
    shown$share, at, xlim = c(0, max(shown$upper)), type = "n",
    xlab = paste0("share of all tokens, ", percent(level), " interval"),
    ylab = "", yaxt = "n", bty = "l"
  )
  graphics::abline(h = at, col = "grey92")
  graphics::segments(shown$lower, at, shown$upper, at, col = colour, lwd = 3)
  graphics::points(shown$share, at, pch = 19, col = colour)
  left_labels(at, label, size)
}

# A row for each topic: topic, x, y, share, terms.
map_shown <- function(estimates, call) {
  k <- nrow(estimates$phi)
  if (k < 3L) {
    abort_argument("A map needs at least 3 topics, not {k}.", call = call)
  }
  place <- stats::cmdscale(hellinger(estimates$phi), k = 2L)
  data.frame(
    topic = seq_len(k), name = rownames(estimates$phi),
    x = place[, 1L], y = place[, 2L],
    share = estimates$share, terms = words_of_topics(estimates, seq_len(k), 2L)
  )
}

# Numbers on the map and their terms beside it.
plot_map <- function(estimates) {
  shown <- map_shown(estimates, rlang::caller_env())
  line <- graphics::par("csi")
  page <- graphics::par("din")
  label <- paste(
    shown$topic, ifelse(shown$name == shown$topic, "", paste0(shown$name, ":")),
    substr(shown$terms, 1L, 24L)
  )
  label <- gsub("  ", " ", label, fixed = TRUE)
  size <- min(0.8, (page[[2L]] - 2 * line) / nrow(shown) / line)
  if (size < 0.4) {
    # too many topics for a list
    label <- character()
    size <- 0.4
  }
  old <- set_par(
    mai = c(3.6, 3.6, 1, 1) * line + c(0, 0, 0, label_width(label, size) + 0.1),
    mgp = c(2.2, 0.6, 0), las = 1
  )
  on.exit(graphics::par(old))
  limits <- apply(shown[c("x", "y")], 2L, grDevices::extendrange, f = 0.15)
  graphics::plot(
    shown$x, shown$y, type = "n", asp = 1, bty = "l", xlim = limits[, 1L],
    ylim = limits[, 2L], xlab = "first coordinate (Hellinger distance)",
    ylab = "second coordinate"
  )
  first <- order(shown$share, decreasing = TRUE)
  graphics::symbols(
    shown$x[first], shown$y[first], inches = FALSE, add = TRUE, fg = "grey40",
    # the circles together cover a tenth of the square of the longer side
    circles = max(diff(limits)) * sqrt(0.1 / pi * shown$share[first]),
    bg = grDevices::adjustcolor(gibbsite_palette(1L), 0.25)
  )
  heights <- apart(
    shown$x, shown$y, graphics::strwidth(shown$topic, cex = 0.9, font = 2),
    1.2 * graphics::strheight("0", cex = 0.9)
  )
  graphics::text(shown$x, heights, shown$topic, cex = 0.9, font = 2)
  if (length(label) > 0L) {
    graphics::text(
      graphics::grconvertX(1, "npc", "user") +
        0.5 * line * graphics::xinch(),
      graphics::grconvertY(1, "ndc", "user") - graphics::yinch(
        line * (0.9 + size * (seq_along(label) - 0.5))
      ), label, adj = c(0, 0.5), cex = size, xpd = NA
    )
  }
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
