# Pictures of topics.

picture_lda <- function(fit, type = NULL, topics = NULL, n = 10, level = 0.95,
                        chain = NULL, variables = NULL, ..., call) {
  own <- c("terms", "prevalence", "map")
  type <- check_plot_types(default_types(type, variables, "terms"), call, own)
  if (!type[[1L]] %in% own) {
    return(picture_chains(fit, type, variables, call))
  }
  check_plots_with(variables, type, plot_types, call)
  n <- check_count(n, call = call)
  level <- check_level(level, call = call)
  estimates <- estimate_topics(fit, chain)
  topics <- check_topics(topics, estimates$share, call)
  switch(type,
    terms = picture_terms(estimates, topics, n),
    prevalence = picture_prevalence(fit, estimates, level, chain),
    map = picture_map(estimates, call)
  )
}

#' Plot a topic model
#'
#' `ggplot2::autoplot()` draws the same picture as a ggplot, see [autoplot].
#'
#' `"terms"`: the most probable terms of each topic, with intervals of two
#' posterior standard deviations. `"prevalence"`: each topic's share of all
#' tokens with its 50% and `level` intervals, and its top terms; the 40 largest
#' topics. `"map"`: the topics as circles in the plane whose distances
#' approximate the Hellinger distances ([stats::cmdscale()]), with areas
#' proportional to their shares, and their two most probable terms, or with more
#' than 20 topics their numbers.
#'
#' @param x A fit made by [gibbs_lda()].
#' @param type `"terms"` (default), `"prevalence"`, `"map"`, or types of
#'   [plot.gibbsite_fit()], such as `"trace"` (the default if `variables` are
#'   given).
#' @param topics Which topics, for `"terms"`; by default the twelve largest;
#'   a line above says how many are left out.
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
plot.gibbs_lda <- plot_method(picture_lda)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_lda <- autoplot_method(picture_lda)

check_topics <- function(topics, share, call, most = 30L) {
  k <- length(share)
  if (is.null(topics)) {
    return(sort(utils::head(order(-share), 12L)))
  }
  fine <- is.numeric(topics) && length(topics) %in% seq_len(most) &&
    all(topics %in% seq_len(k)) && !anyDuplicated(as.vector(topics))
  if (!fine) {
    given <- describe(topics)
    abort_argument(
      "{.arg topics} must be at most {min(most, k)} different numbers from 1
       to {k}, not {given}.",
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

# Shares of the topics draw by draw.
draws_of_shares <- function(fit, chain) {
  model <- fit_part(fit, "model")
  chains <- if (is.null(chain)) seq_along(fit) else chain
  all <- bind_chains(model_matrices(fit)[chains])
  unname(all[, indexed("size", seq_len(model$k)), drop = FALSE]) / model$nobs
}

picture_terms <- function(estimates, topics, n) {
  k <- length(estimates$share)
  table <- terms_shown(estimates, topics, n)
  table <- table[order(match(table$topic, topics), table$rank), ]
  first <- table[!duplicated(table$topic), ]
  panels <- data.frame(
    panel = as.character(first$topic),
    title = topic_title(first$topic, first$share, first$name)
  )
  table$title <- factor(panels$title[match(table$topic, first$topic)],
                        panels$title)
  panel <- factor(table$topic, panels$panel)
  at <- rev(seq_len(nrow(table)))
  colour <- gibbsite_palette(1L)
  picture(
    table, list(
      picture_layer("rect", data.frame(
        xmin = 0, xmax = table$probability, ymin = at - 0.35, ymax = at + 0.35,
        panel = panel
      ), "probability"),
      picture_layer("segment", data.frame(
        x = table$lower, xend = table$upper, y = at, yend = at, panel = panel
      ), "two standard deviations")
    ), rbind(
      plot_key("probability", NA, fill = pale(colour, 0.35)),
      plot_key("two standard deviations", colour, lty = 1)
    ), x = picture_axis("probability of the term", floor = TRUE),
    y = picture_axis(at = at, labels = table$label, free = TRUE),
    note = if (length(topics) < k) {
      rest <- estimates$share[-topics]
      paste0(
        length(topics), " of ", k, " topics; shares of the others: ",
        share_words(min(rest)), " to ", share_words(max(rest))
      )
    },
    panels = panels
  )
}

share_words <- function(x) sprintf("%.1f%%", 100 * x)

# The 40 largest topics. The table has the columns of picture_intervals(), and
# topic, share, terms.
picture_prevalence <- function(fit, estimates, level, chain) {
  shares <- draws_of_shares(fit, chain)
  all <- order(-estimates$share)
  shown <- utils::head(all, 40L)
  bounds <- function(level) {
    t(apply(
      shares[, shown, drop = FALSE], 2L, stats::quantile,
      probs = central_tails(level), names = FALSE
    ))
  }
  terms <- words_of_topics(table_of_terms(estimates, 4L), shown)
  share <- estimates$share[shown]
  names(share) <- paste(rownames(estimates$phi)[shown], terms)
  rest <- estimates$share[all[-seq_along(shown)]]
  out <- intervals_shown(
    share, bounds(level), bounds(0.5), level, "share of all tokens",
    note = if (length(rest) > 0L) {
      paste0("the 40 largest of ", length(all), " topics; the others: ",
             share_words(min(rest)), " to ", share_words(max(rest)))
    }
  )
  out$table <- data.frame(
    out$table, topic = shown, share = unname(share), terms = terms
  )
  picture_intervals(out)
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
    share = estimates$share,
    terms = words_of_topics(table_of_terms(estimates, 2L), seq_len(k))
  )
}

# Circles together cover a tenth of the square of the longer side.
picture_map <- function(estimates, call) {
  table <- map_shown(estimates, call)
  limits <- vapply(table[c("x", "y")], grDevices::extendrange, c(0, 0), f = 0.2)
  side <- max(apply(limits, 2L, diff))
  table$label <- if (nrow(table) > 20L) {
    table$name
  } else {
    paste0(table$name, " ", table$terms)
  }
  angle <- seq(0, 2 * pi, length.out = 73L)
  radius <- side * sqrt(0.1 / pi * table$share)
  first <- order(table$share, decreasing = TRUE)
  circles <- do.call(rbind, lapply(first, function(i) {
    data.frame(
      x = table$x[[i]] + radius[[i]] * cos(angle),
      y = table$y[[i]] + radius[[i]] * sin(angle), group = i
    )
  }))
  bands <- do.call(rbind, lapply(first, function(i) {
    across <- cos(seq(pi, 0, length.out = 37L))
    up <- radius[[i]] * sqrt(pmax(0, 1 - across^2))
    data.frame(
      x = table$x[[i]] + radius[[i]] * across, lower = table$y[[i]] - up,
      upper = table$y[[i]] + up, group = i
    )
  }))
  wide <- 0.0125 * side * nchar(table$label)
  picture(
    table, list(
      picture_layer("band", bands, "topic"),
      picture_layer("line", circles, "edge"),
      picture_layer("text", data.frame(
        x = table$x, y = apart(table$x, table$y, wide, 0.034 * side),
        label = table$label
      ), "label"),
      # room for the words
      picture_layer("text", data.frame(
        x = range(table$x - wide / 2, table$x + wide / 2), y = mean(table$y),
        label = ""
      ), "label")
    ), rbind(
      plot_key("topic", NA, fill = pale(gibbsite_palette(1L), 0.25)),
      plot_key("edge", "grey50", lty = 1, lwd = 1, shown = FALSE),
      plot_key("label", shown = FALSE)
    ), x = picture_axis("first coordinate (Hellinger distance)"),
    y = picture_axis("second coordinate"), square = TRUE,
    note = "areas: shares of all tokens"
  )
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
