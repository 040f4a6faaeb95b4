# Pictures of fits by ggplot2, of the numbers that plot() draws. Registered if
# ggplot2 is installed.

#' Plot a fit by ggplot2
#'
#' `ggplot2::autoplot()` of a fit gives a picture of one type as a ggplot, to
#' which scales, themes and layers can be added. The numbers are those that
#' `plot()` draws; the theme is the current one. Components, chains and
#' intervals have the colours of `plot()`.
#'
#' - All fits: `"trace"`, `"density"`, `"autocorrelation"` and `"ranks"`, see
#'   [plot.gibbsite_fit()]. Quantities that are constant or not finite are left
#'   out.
#' - [gibbs_gmm()]: `"mixture"` (default), see [plot.gibbs_gmm()]. With an
#'   unknown `k`: `"number"` (default) and `"mixture"`, see
#'   [plot.gibbs_gmm_unknown()].
#' - [gibbs_lda()]: `"terms"` (default), `"prevalence"` and `"map"`, see
#'   [plot.gibbs_lda()].
#' - [gibbs_bmf()]: `"rmse"` (default), `"predicted"` and `"coverage"`, see
#'   [plot.gibbs_bmf()].
#' - [gibbs_lm()]: `"coefficients"` and `"response"`, see
#'   [plot.gibbsite_regression()], also for the default.
#' - [gibbs_hlm()], and [gibbs_logistic()] with groups: `"groups"` (default) and
#'   `"coefficients"` (also `"odds"`), see [plot.gibbsite_regression()].
#' - [laplace_logistic()], [gibbs_logistic()]: `"coefficients"` (default),
#'   `"odds"`, `"response"` and `"calibration"`, see
#'   [plot.gibbsite_regression()].
#' - [laplace()]: `"coefficients"`, see [plot.gibbsite_laplace()].
#' - [mh_sample()], [gibbs_sample()]: `"density"` (default).
#'
#' @param object A fit.
#' @param type A name from the list in Details; `NULL` for the default, which is `"density"`
#'   if `variables` are given.
#' @param variables,level,topics,n,chain,newdata,variable,term,groups,per As in
#'   the `plot()` method.
#' @param ... Not used.
#' @return A ggplot.
#' @section Errors: As for the `plot()` method; `gibbsite_error_argument` for
#'   more than 30 panels and if there is nothing to draw.
#' @seealso [plot.gibbsite_fit()] and the `plot()` methods named above for base
#'   graphics.
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

# ---- chains

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_fit <- function(object, type = "density", variables = NULL,
                                  ...) {
  now <- current_fit(object)
  if (!is.null(now)) {
    given <- if (!missing(type)) type
    return(ggplot2::autoplot(now, given, variables = variables, ...))
  }
  call <- rlang::current_env()
  check_no_more(...)
  type <- type %||% "density"
  type <- check_choice(type, plot_types)
  autoplot_chains(object, type, variables, call)
}

autoplot_chains <- function(fit, type, variables, call) {
  table <- chain_table(fit, type, variables, call)
  chains <- nlevels(table$chain)
  picture <- ggplot2::ggplot(table, ggplot2::aes(
    x = .data$x, y = .data$y, colour = .data$chain
  )) +
    ggplot2::facet_wrap(
      ~variable, ncol = panel_grid(nlevels(table$variable), 1L)[[2L]],
      scales = if (type == "autocorrelation") "fixed" else "free"
    ) +
    sparse_axis() +
    ggplot2::scale_colour_manual(
      "chain", values = gibbsite_palette(chains),
      aesthetics = c("colour", "fill")
    ) +
    ggplot2::labs(x = along_words(type), y = height_words(type)) +
    key_below()
  switch(type,
    trace = picture + ggplot2::geom_line(linewidth = 0.3, alpha = 0.75) +
      clear_key(),
    density = add_densities(picture, table),
    autocorrelation = picture +
      ggplot2::geom_hline(yintercept = 0, colour = "grey60") +
      ggplot2::geom_line(na.rm = TRUE),
    ranks = picture +
      ggplot2::geom_hline(yintercept = 1, linetype = 2, colour = "grey40") +
      ggplot2::geom_step()
  )
}

# Keys are below the panels, as in plot(), because panels may be narrow.
key_below <- function() ggplot2::theme(legend.position = "bottom")

# The lines of a key thicker than those of the panels.
clear_key <- function() {
  ggplot2::guides(colour = ggplot2::guide_legend(
    override.aes = list(linewidth = 1, alpha = 1)
  ))
}

# Labels that would overlap on a narrow panel are left out.
sparse_axis <- function(...) {
  ggplot2::scale_x_continuous(
    ..., guide = ggplot2::guide_axis(check.overlap = TRUE)
  )
}

add_densities <- function(picture, table) {
  continuous <- table[!table$discrete, ]
  discrete <- table[table$discrete, ]
  if (nrow(continuous) > 0L) {
    picture <- picture + ggplot2::geom_line(data = continuous)
  }
  if (nrow(discrete) > 0L) {
    picture <- picture + ggplot2::geom_col(
      ggplot2::aes(fill = .data$chain), data = discrete, colour = NA,
      position = "dodge", width = 0.8
    )
  }
  picture
}

# A row for each point of each line: variable, chain (factors), x, y; `discrete`
# for bars of a density.
chain_table <- function(fit, type, variables, call) {
  draws <- plotted_draws(fit, variables, call)
  if (dim(draws)[[3L]] > 30L) {
    abort_argument(
      c("There must be at most 30 panels, not {dim(draws)[[3L]]}.",
        i = "Name fewer {.arg variables}."),
      call = call
    )
  }
  measures <- diagnose_sets(draws, chain_sets(fit))
  shown <- which(measures$finite & !measures$constant)
  if (length(shown) == 0L) {
    abort_argument(
      "{.arg object} has nothing to draw: all quantities are constant or not
       finite.", call = call
    )
  }
  names <- measures$variable[shown]
  chains <- as.character(seq_len(dim(draws)[[2L]]))
  tables <- lapply(shown, function(v) {
    values <- matrix(draws[, , v], dim(draws)[[1L]])
    lines <- chain_lines(type, values, fit_part(fit, "running"))
    rows <- lapply(seq_along(lines), function(k) {
      data.frame(
        variable = factor(measures$variable[[v]], names),
        chain = factor(chains[[k]], chains), x = lines[[k]]$x,
        y = lines[[k]]$y,
        discrete = type == "density" && is_discrete(values)
      )
    })
    do.call(rbind, rows)
  })
  do.call(rbind, tables)
}

# Of each chain list(x, y).
chain_lines <- function(type, values, running) {
  columns <- function(x, y) {
    lapply(seq_len(ncol(y)), function(k) list(x = x, y = y[, k]))
  }
  switch(type,
    trace = {
      shown <- trace_shown(values, running)
      columns(shown$x, shown$y)
    },
    density = density_of_chains(values)$curves,
    autocorrelation = {
      y <- autocorrelation_shown(values)
      columns(seq_len(nrow(y)) - 1, y)
    },
    ranks = {
      shown <- ranks_shown(values)
      # the last step ends at the last cut
      columns(shown$cuts, rbind(shown$share, shown$share[nrow(shown$share), ]))
    }
  )
}

# ---- mixtures

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_gmm <- function(object, type = NULL, level = 0.95,
                               variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  own <- if (is.null(model$data)) "density" else "mixture"
  type <- default_types(type, variables, own, "density")
  type <- check_choice(type, c("mixture", plot_types))
  if (type != "mixture") {
    return(autoplot_chains(object, type, variables, call))
  }
  level <- check_level(level)
  shown <- plotted_variables(model, variables, call)
  if (length(shown) == 1L) {
    autoplot_density(object, shown, level)
  } else if (length(shown) == 2L) {
    autoplot_plane(object, shown, level)
  } else {
    autoplot_pairs(object, shown, level)
  }
}

# Names of the components, a factor.
component_names <- function(p, numbers) {
  labels <- component_key(p)$label
  factor(labels[numbers], labels)
}

component_scale <- function(p) {
  key <- component_key(p)
  colours <- ifelse(is.na(key$col), "transparent", key$col)
  list(
    ggplot2::scale_colour_manual(
      NULL, values = stats::setNames(colours, key$label), drop = FALSE,
      guide = ggplot2::guide_legend(ncol = min(3L, length(p$pi)))
    ),
    key_below()
  )
}

autoplot_density <- function(fit, j, level) {
  shown <- density_shown(fit, j, level)
  numbers <- rep(seq_along(shown$p$pi), each = length(shown$at))
  parts <- data.frame(
    x = shown$at, y = as.vector(shown$parts),
    component = component_names(shown$p, numbers)
  )
  ggplot_density(shown, level) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$y, colour = .data$component), data = parts,
      linetype = 2
    ) +
    component_scale(shown$p)
}

# A histogram, and the density with its band.
ggplot_density <- function(shown, level) {
  bars <- shown$bars
  bars <- data.frame(
    left = bars$breaks[-length(bars$breaks)], right = bars$breaks[-1L],
    density = bars$density
  )
  band <- data.frame(x = shown$at, shown$band[c("mean", "lower", "upper")])
  ggplot2::ggplot(band, ggplot2::aes(x = .data$x)) +
    ggplot2::geom_rect(
      ggplot2::aes(
        x = NULL, xmin = .data$left, xmax = .data$right, ymin = 0,
        ymax = .data$density
      ), data = bars, fill = "grey85", colour = "grey70"
    ) +
    ggplot2::geom_ribbon(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper), alpha = 0.25
    ) +
    ggplot2::geom_line(ggplot2::aes(y = .data$mean)) +
    ggplot2::labs(
      x = shown$xlab, y = "density",
      caption = paste0("line and band: density, ", percent(level), " band")
    )
}

# A row for each point of the ellipses: x, y, component.
ellipse_table <- function(p, level, columns = 1:2) {
  do.call(rbind, lapply(which(!is.na(p$colours)), function(c) {
    edge <- ellipse_edge(p, c, level, columns)
    data.frame(
      x = edge[, 1L], y = edge[, 2L], component = component_names(p, c)
    )
  }))
}

autoplot_plane <- function(fit, shown, level) {
  clusters <- clusters_shown(fit, shown)
  p <- clusters$p
  points <- data.frame(
    x = clusters$x[, 1L], y = clusters$x[, 2L],
    component = component_names(p, clusters$cluster),
    certainty = clusters$certainty
  )
  edges <- apply(points[c("x", "y")], 2L, function(values) {
    grDevices::extendrange(values[!is.na(values)], f = 0.25)
  })
  contours <- contours_shown(fit, shown, edges)
  grid <- expand.grid(x = contours$x, y = contours$y)
  grid$density <- as.vector(contours$density)
  centres <- data.frame(
    x = p$mu[, 1L], y = p$mu[, 2L],
    component = component_names(p, seq_along(p$pi))
  )[!is.na(p$colours), ]
  names <- colnames(clusters$x)
  ggplot2::ggplot(points, ggplot2::aes(
    x = .data$x, y = .data$y, colour = .data$component
  )) +
    ggplot2::geom_contour(
      ggplot2::aes(z = .data$density, colour = NULL), data = grid,
      breaks = contours$levels, colour = "grey75"
    ) +
    ggplot2::geom_point(ggplot2::aes(alpha = .data$certainty), na.rm = TRUE) +
    ggplot2::geom_path(data = ellipse_table(p, level)) +
    ggplot2::geom_point(data = centres, shape = 3, size = 3) +
    component_scale(p) +
    ggplot2::scale_alpha(
      limits = c(min(0.5, 1 / length(p$pi)), 1), range = c(0.15, 0.8),
      guide = "none"
    ) +
    ggplot2::labs(
      x = names[[1L]], y = names[[2L]],
      caption = paste0(
        percent(level), " ellipses; grey: predictive density; paler: less ",
        "certain"
      )
    )
}

autoplot_pairs <- function(fit, shown, level) {
  clusters <- clusters_shown(fit, shown)
  p <- clusters$p
  names <- colnames(clusters$x)
  points <- pair_table(names, function(a, b) {
    data.frame(
      x = clusters$x[, a], y = clusters$x[, b],
      component = component_names(p, clusters$cluster)
    )
  })
  ellipses <- pair_table(names, function(a, b) {
    ellipse_table(p, level, c(a, b))
  })
  ggplot2::ggplot(points, ggplot2::aes(
    x = .data$x, y = .data$y, colour = .data$component
  )) +
    ggplot2::geom_point(alpha = 0.6, size = 0.8, na.rm = TRUE) +
    ggplot2::geom_path(data = ellipses) +
    pair_panels() +
    component_scale(p) +
    ggplot2::labs(
      x = NULL, y = NULL, caption = paste(percent(level), "ellipses")
    )
}

# The rows table(a, b) of all pairs of variables, for the panel of column a and
# row b.
pair_table <- function(names, table) {
  pairs <- expand.grid(a = seq_along(names), b = seq_along(names))
  pairs <- pairs[pairs$a != pairs$b, ]
  do.call(rbind, Map(function(a, b) {
    data.frame(
      table(a, b), row = factor(names[[b]], names),
      column = factor(names[[a]], names)
    )
  }, pairs$a, pairs$b))
}

pair_panels <- function() {
  list(
    ggplot2::facet_grid(
      rows = ggplot2::vars(.data$row), cols = ggplot2::vars(.data$column),
      scales = "free", switch = "both"
    ),
    sparse_axis()
  )
}

# ---- mixtures with an unknown number of components

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_gmm_unknown <- function(object, type = NULL, level = 0.95,
                                       variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- default_types(type, variables, "number", "density")
  type <- check_choice(type, c("number", "mixture", plot_types))
  level <- check_level(level)
  if (type %in% plot_types) {
    return(autoplot_chains(object, type, variables, call))
  }
  if (type == "number") {
    check_plots_with(variables, type, c("mixture", plot_types), call)
    return(autoplot_sizes(sizes_shown(object)))
  }
  shown <- plotted_variables(fit_part(object, "model"), variables, call)
  if (length(shown) == 1L) {
    ggplot_density(unknown_density_shown(object, shown, level, call), level)
  } else {
    autoplot_clusters(object, shown)
  }
}

autoplot_sizes <- function(table) {
  bars <- c("components", "clusters")
  long <- data.frame(
    k = factor(table$k, table$k),
    of = factor(rep(bars, each = nrow(table)), bars),
    probability = c(table$components, table$clusters)
  )
  prior <- data.frame(
    k = long$k[seq_len(nrow(table))], probability = table$prior,
    of = "prior of components"
  )
  ggplot2::ggplot(long, ggplot2::aes(x = .data$k, y = .data$probability)) +
    ggplot2::geom_col(ggplot2::aes(fill = .data$of), position = "dodge") +
    ggplot2::geom_point(ggplot2::aes(shape = .data$of), data = prior) +
    ggplot2::scale_fill_manual(NULL, values = gibbsite_palette(2L)) +
    ggplot2::scale_shape_manual(NULL, values = 19) +
    ggplot2::labs(x = "number", y = "probability") +
    key_below()
}

autoplot_clusters <- function(fit, shown) {
  x <- fit_part(fit, "model")$data$x[, shown, drop = FALSE]
  cluster <- factor(c(point_clustering(fit)))
  table <- function(a, b) data.frame(x = x[, a], y = x[, b], cluster = cluster)
  pairs <- length(shown) > 2L
  points <- if (pairs) pair_table(colnames(x), table) else table(1L, 2L)
  ggplot2::ggplot(points, ggplot2::aes(
    x = .data$x, y = .data$y, colour = .data$cluster
  )) +
    ggplot2::geom_point(
      alpha = 0.6, size = if (pairs) 0.8 else 1.5, na.rm = TRUE
    ) +
    (if (pairs) pair_panels()) +
    ggplot2::scale_colour_manual(
      "cluster", values = gibbsite_palette(nlevels(cluster))
    ) +
    ggplot2::labs(
      x = if (!pairs) colnames(x)[[1L]], y = if (!pairs) colnames(x)[[2L]]
    ) +
    key_below()
}

# ---- topics

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_lda <- function(object, type = NULL, topics = NULL, n = 10,
                               level = 0.95, chain = NULL, variables = NULL,
                               ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- default_types(type, variables, "terms", "density")
  type <- check_choice(type, c("terms", "prevalence", "map", plot_types))
  if (type %in% plot_types) {
    return(autoplot_chains(object, type, variables, call))
  }
  check_plots_with(variables, type, plot_types, call)
  n <- check_count(n)
  level <- check_level(level)
  topics <- check_topics(topics, fit_part(object, "model")$k, call)
  estimates <- estimate_topics(object, chain)
  switch(type,
    terms = autoplot_terms(terms_shown(estimates, topics, n), topics),
    prevalence = autoplot_prevalence(
      prevalence_shown(object, estimates, level, chain), level
    ),
    map = autoplot_map(map_shown(estimates, call))
  )
}

autoplot_terms <- function(shown, topics) {
  colour <- gibbsite_palette(1L)
  titles <- unique(shown[c("topic", "name", "share")])
  titles <- titles[match(topics, titles$topic), ]
  shown$title <- factor(
    topic_title(shown$topic, shown$share, shown$name),
    topic_title(titles$topic, titles$share, titles$name)
  )
  # a term may be in several topics, with a rank in each
  place <- sprintf("%d:%d:%s", shown$topic, shown$rank, shown$label)
  shown$place <- factor(place, rev(place))
  ggplot2::ggplot(
    shown, ggplot2::aes(x = .data$probability, y = .data$place)
  ) +
    ggplot2::geom_col(fill = colour, alpha = 0.35, width = 0.7) +
    ggplot2::geom_linerange(
      ggplot2::aes(xmin = .data$lower, xmax = .data$upper), colour = colour
    ) +
    ggplot2::scale_y_discrete(
      labels = function(x) sub("^[0-9]+:[0-9]+:", "", x)
    ) +
    ggplot2::facet_wrap(
      ~title, scales = "free_y", ncol = ceiling(sqrt(length(topics) * 0.75))
    ) +
    sparse_axis(n.breaks = 3) +
    ggplot2::labs(
      x = "probability of the term, with two standard deviations", y = NULL
    )
}

autoplot_prevalence <- function(shown, level) {
  label <- joined_words(shown[c("name", "terms")], " ")
  shown$label <- factor(label, rev(label))
  ggplot2::ggplot(shown, ggplot2::aes(x = .data$share, y = .data$label)) +
    ggplot2::geom_pointrange(
      ggplot2::aes(xmin = .data$lower, xmax = .data$upper),
      colour = gibbsite_palette(1L)
    ) +
    ggplot2::expand_limits(x = 0) +
    ggplot2::labs(
      x = paste0("share of all tokens, ", percent(level), " interval"), y = NULL
    )
}

autoplot_map <- function(shown) {
  # names of many topics would cover each other
  shown$label <- if (nrow(shown) > 10L) {
    shown$name
  } else {
    paste(shown$name, sub(" .*", "", shown$terms))
  }
  ggplot2::ggplot(shown, ggplot2::aes(x = .data$x, y = .data$y)) +
    ggplot2::geom_point(
      ggplot2::aes(size = .data$share), colour = gibbsite_palette(1L),
      alpha = 0.35
    ) +
    ggplot2::geom_text(ggplot2::aes(label = .data$label), size = 3) +
    ggplot2::scale_size_area("share of tokens", max_size = 14) +
    ggplot2::scale_x_continuous(expand = c(0.15, 0)) +
    ggplot2::coord_equal() +
    key_below() +
    ggplot2::labs(
      x = "first coordinate (Hellinger distance)", y = "second coordinate"
    )
}

# ---- ratings

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_bmf <- function(object, type = NULL, newdata = NULL,
                               variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  own <- bmf_plot_types_of(fit_part(object, "model"), type, call)
  type <- check_choice(
    default_types(type, variables, rev(own)[[1L]], "density"),
    c(bmf_plot_types, plot_types), arg = "type"
  )
  if (type %in% plot_types) {
    return(autoplot_chains(object, type, variables, call))
  }
  check_plots_with(variables, type, plot_types, call)
  shown <- plotted_ratings(object, newdata, type, call)
  switch(type,
    predicted = autoplot_predicted(shown),
    coverage = autoplot_coverage(shown),
    rmse = autoplot_rmse(object, shown)
  )
}

autoplot_predicted <- function(shown) {
  colour <- gibbsite_palette(1L)
  table <- data.frame(value = shown$value, mean = shown$mean)
  shape <- if (length(unique(table$value)) <= 12L) {
    ggplot2::geom_boxplot(
      ggplot2::aes(group = .data$value), fill = colour, alpha = 0.35,
      outlier.shape = NA
    )
  } else {
    ggplot2::geom_point(colour = colour, alpha = 0.4)
  }
  ggplot2::ggplot(table, ggplot2::aes(x = .data$value, y = .data$mean)) +
    ggplot2::geom_abline(linetype = 2, colour = "grey40") +
    shape +
    ggplot2::labs(
      x = "rating", y = "posterior mean", title = paste("Ratings", shown$where)
    )
}

autoplot_coverage <- function(shown) {
  table <- coverage_shown(shown)
  ggplot2::ggplot(table, ggplot2::aes(x = .data$level, y = .data$inside)) +
    ggplot2::geom_ribbon(ggplot2::aes(
      ymin = .data$level - .data$error, ymax = .data$level + .data$error
    ), fill = "grey85") +
    ggplot2::geom_abline(linetype = 2, colour = "grey40") +
    ggplot2::geom_point(colour = gibbsite_palette(1L)) +
    ggplot2::labs(
      x = "probability of the interval", y = "share of ratings inside",
      title = paste("Intervals,", shown$where),
      caption = "band: two standard errors"
    )
}

autoplot_rmse <- function(fit, shown) {
  error <- rmse_shown(fit, shown)
  chains <- seq_len(ncol(error$rmse))
  table <- data.frame(
    sweep = error$sweeps, error = as.vector(error$rmse),
    chain = factor(rep(chains, each = length(error$sweeps)))
  )
  picture <- ggplot2::ggplot(
    table, ggplot2::aes(x = .data$sweep, y = .data$error)
  ) +
    ggplot2::geom_line(
      ggplot2::aes(colour = .data$chain), linewidth = 0.3, alpha = 0.75
    ) +
    ggplot2::scale_colour_manual(
      "in the data, chain", values = gibbsite_palette(length(chains))
    ) +
    ggplot2::labs(x = "sweep", y = "root mean square error") +
    key_below() +
    clear_key()
  if (is.null(error$curve)) {
    return(picture)
  }
  held <- data.frame(
    sweep = error$curve$sweep, error = error$curve$error,
    which = "mean so far"
  )
  picture +
    ggplot2::geom_line(
      ggplot2::aes(linetype = .data$which), data = held, linewidth = 1
    ) +
    ggplot2::scale_linetype_manual("held back", values = 1)
}

# ---- regressions

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_regression <- function(object, type = NULL, variable = NULL,
                                         level = 0.95, variables = NULL,
                                         groups = NULL, per = c("sd", "unit"),
                                         term = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  own <- setdiff(regression_plots(fit_part(object, "model")), "shrinkage")
  asked <- plot_of_regression(
    object, type, variable, level, variables, groups, per, term, own, call,
    function(type, call, own) {
      check_choice(type, c(own, plot_types), arg = "type", call = call)
    },
    chains = "density"
  )
  level <- asked$level
  switch(asked$type,
    coefficients = ,
    odds = autoplot_intervals(coefficients_shown(
      object, variables, level, asked$per, call, asked$type == "odds"
    )),
    response = autoplot_response(
      response_shown(object, variable, level, call), level
    ),
    calibration = autoplot_calibration(
      calibration_shown(object, level, groups, call), level
    ),
    groups = autoplot_intervals(hlm_groups_shown(object, asked$term, level)),
    autoplot_chains(object, asked$type, variables, call)
  )
}

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.laplace_logistic <- autoplot.gibbsite_regression

autoplot_response <- function(shown, level) {
  if (is.null(shown$new)) {
    autoplot_logistic_response(shown, level)
  } else {
    autoplot_lm_response(shown, level)
  }
}

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_laplace <- function(object, type = NULL, level = 0.95,
                                      variables = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- default_types(type, variables, "coefficients", "density")
  type <- check_choice(type, c("coefficients", plot_types))
  if (type != "coefficients") {
    return(autoplot_chains(object, type, variables, call))
  }
  level <- check_level(level)
  chosen <- choose_variables(
    variables, fit_part(object, "model")$columns, call
  )
  autoplot_intervals(laplace_coefficients_shown(
    object, chosen, level, "value"
  ))
}

# shown: as from intervals_shown()
autoplot_intervals <- function(shown,
                               own = !shown$log && needs_own_scales(shown)) {
  colour <- gibbsite_palette(1L)
  table <- shown$table
  table$name <- factor(table$name, rev(table$name))
  wide <- percent(shown$level)
  widths <- c(1.8, 0.6)
  picture <- ggplot2::ggplot(
    table, ggplot2::aes(x = .data$centre, y = .data$name)
  ) +
    ggplot2::geom_linerange(
      ggplot2::aes(xmin = .data$lower, xmax = .data$upper, linewidth = wide),
      colour = colour
    ) +
    ggplot2::geom_linerange(
      ggplot2::aes(
        xmin = .data$lower_50, xmax = .data$upper_50, linewidth = "50%"
      ), colour = colour
    ) +
    ggplot2::geom_point(shape = 21, fill = "white", colour = colour) +
    ggplot2::scale_linewidth_manual(
      "interval", values = stats::setNames(widths, c("50%", wide)),
      breaks = unique(c("50%", wide))
    ) +
    ggplot2::labs(x = shown$xlab, y = NULL) +
    key_below()
  if (shown$log) {
    picture <- picture + ggplot2::scale_x_log10(labels = plain_numbers)
  }
  if (own) {
    return(
      picture +
        ggplot2::facet_wrap(
          ~factor(name, rev(levels(name))), scales = "free", ncol = 1
        ) +
        ggplot2::theme(axis.text.y = ggplot2::element_blank(),
                       axis.ticks.y = ggplot2::element_blank())
    )
  }
  picture <- picture + ggplot2::geom_vline(
    xintercept = shown$line, colour = "grey60"
  )
  if (!is.null(shown$words)) {
    picture <- picture + ggplot2::labs(
      caption = paste("vertical line:", shown$words)
    )
  }
  picture + ggplot2::theme(
    axis.text.y = if (shown$named) {
      # smaller letters for more names
      ggplot2::element_text(size = ggplot2::rel(
        max(0.5, min(0.8, 24 / nrow(table)))
      ))
    } else {
      ggplot2::element_blank()
    }
  )
}

mean_band <- function(colour, alpha) {
  ggplot2::geom_ribbon(
    ggplot2::aes(ymin = .data$lower, ymax = .data$upper), fill = colour,
    alpha = alpha
  )
}

autoplot_lm_response <- function(shown, level) {
  observed <- data.frame(x = shown$grid$values, y = shown$frame$y)
  if (!is.numeric(shown$grid$values)) {
    return(autoplot_levels(shown$grid, shown$mean, shown$ylab, observed))
  }
  colour <- gibbsite_palette(1L)
  table <- data.frame(
    x = shown$grid$at, shown$mean[c("mean", "lower", "upper")],
    new_lower = shown$new$lower, new_upper = shown$new$upper
  )
  ggplot2::ggplot(table, ggplot2::aes(x = .data$x, y = .data$mean)) +
    mean_band(colour, 0.25) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$new_lower), colour = colour, linetype = 3
    ) +
    ggplot2::geom_line(
      ggplot2::aes(y = .data$new_upper), colour = colour, linetype = 3
    ) +
    ggplot2::geom_point(
      ggplot2::aes(y = .data$y), data = observed, alpha = 0.45, na.rm = TRUE
    ) +
    ggplot2::geom_line(colour = colour) +
    ggplot2::labs(
      x = shown$grid$variable, y = shown$ylab,
      subtitle = others_lines(shown$grid),
      caption = paste0(
        percent(level), " band of the mean; dotted: ", percent(level),
        " of new observations"
      )
    )
}

others_lines <- function(grid) {
  text <- others_text(grid$others)
  if (!is.null(text)) paste(strwrap(text, 70), collapse = "\n")
}

# observed: data frame with x and y, or NULL
autoplot_levels <- function(grid, curve, ylab, observed) {
  colour <- gibbsite_palette(1L)
  table <- data.frame(
    x = id_words(grid$at), curve[c("mean", "lower", "upper")]
  )
  table$x <- factor(table$x, table$x)
  picture <- ggplot2::ggplot(
    table, ggplot2::aes(x = .data$x, y = .data$mean)
  )
  if (!is.null(observed)) {
    observed$x <- factor(id_words(observed$x), levels(table$x))
    picture <- picture + ggplot2::geom_point(
      ggplot2::aes(y = .data$y), data = observed, alpha = 0.45, na.rm = TRUE
    )
  }
  picture +
    ggplot2::geom_pointrange(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper), colour = colour
    ) +
    ggplot2::labs(x = grid$variable, y = ylab, subtitle = others_lines(grid))
}

autoplot_logistic_response <- function(shown, level) {
  if (!is.numeric(shown$grid$values)) {
    return(autoplot_levels(shown$grid, shown$mean, shown$ylab, NULL))
  }
  colour <- gibbsite_palette(1L)
  frame <- shown$frame
  table <- data.frame(
    x = shown$grid$at, shown$mean[c("mean", "lower", "upper")]
  )
  observed <- data.frame(x = shown$grid$values, y = frame$y)
  picture <- ggplot2::ggplot(
    table, ggplot2::aes(x = .data$x, y = .data$mean)
  ) +
    mean_band(colour, 0.2) +
    ggplot2::geom_line(colour = colour) +
    ggplot2::coord_cartesian(ylim = c(0, 1)) +
    ggplot2::labs(
      x = shown$grid$variable, y = shown$ylab,
      subtitle = others_lines(shown$grid),
      caption = paste(
        percent(level), "band;",
        if (is.null(frame$trials)) "ticks" else "points", "are observed"
      )
    )
  if (!is.null(frame$trials)) {
    observed$trials <- frame$trials
    return(picture + ggplot2::geom_point(
      ggplot2::aes(y = .data$y, size = .data$trials), data = observed,
      alpha = 0.45
    ) + ggplot2::scale_size_area("trials", max_size = 4) + key_below())
  }
  picture +
    ggplot2::geom_rug(
      ggplot2::aes(y = NULL), data = observed[observed$y > 0.5, ], sides = "t",
      alpha = 0.45
    ) +
    ggplot2::geom_rug(
      ggplot2::aes(y = NULL), data = observed[observed$y <= 0.5, ], sides = "b",
      alpha = 0.45
    )
}

autoplot_calibration <- function(table, level) {
  colour <- gibbsite_palette(2L)
  ggplot2::ggplot(
    table, ggplot2::aes(x = .data$predicted, y = .data$observed)
  ) +
    ggplot2::geom_abline(linetype = 2, colour = "grey60") +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper),
      colour = colour[[1L]], alpha = 0.45, linewidth = 2
    ) +
    ggplot2::geom_point(colour = colour[[2L]], size = 2) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(
      x = "predicted probability", y = "observed proportion", caption = paste0(
        "lines: ", percent(level), " intervals if the model is right"
      )
    )
}
