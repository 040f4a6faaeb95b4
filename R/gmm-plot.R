# Pictures of a Gaussian mixture.

picture_gmm <- function(fit, type = NULL, level = 0.95, variables = NULL, ...,
                        call) {
  model <- fit_part(fit, "model")
  if (draws_k(model)) {
    return(picture_gmm_unknown(fit, type, level, variables, call, ...))
  }
  chains <- c("trace", "density")
  own <- if (is.null(model$data)) chains else "mixture"
  # names of the data's variables ask for a picture of the data
  of_data <- is.character(variables) && length(variables) > 0L &&
    all(variables %in% setdiff(model$variables, names_of_draws(model$columns)))
  type <- check_plot_types(
    default_types(type, variables, own, if (of_data) own else chains), call,
    c("mixture", "labels")
  )
  if (identical(type, "labels")) {
    return(picture_labels(fit, variables, call))
  }
  if (!identical(type, "mixture")) {
    return(picture_chains(fit, type, variables, call, ...))
  }
  level <- check_level(level, call = call)
  shown <- plotted_variables(model, variables, call)
  if (length(shown) == 1L) {
    picture_density(fit, shown, level)
  } else {
    picture_components(fit, shown, level)
  }
}

#' Plot a Gaussian mixture
#'
#' `ggplot2::autoplot()` draws the same picture as a ggplot, see [autoplot].
#'
#' One variable: a histogram with the posterior mean of the density, the band
#' that holds it pointwise with probability `level`, and the components: the
#' posterior mean of each component's part of the density, so that the parts add
#' up to it. Ticks below are the observations. Two variables: the observations,
#' the contours of the posterior predictive density, and for each component the
#' ellipse that contains the probability `level`. More variables: a matrix of
#' scatter plots of at most six variables, with the components' ellipses.
#' Observations have the colour of their most probable component, and are paler
#' if it is less certain. Ellipses and weights are those of the posterior means
#' of the parameters. Components are numbered as in the fit; those of one
#' variable have their colours from left to right. If components are empty in
#' part of the draws, those with the largest weights are drawn: as many as hold
#' observations in a draw, on average. A component to which an observation most
#' probably belongs is drawn too.
#'
#' `type = "labels"` shows label switching: the mean of one variable in each
#' component, draw by draw, in the sampler's own numbers above and in those of
#' the fit below (see [relabel()]). The chains stand one after another. Own
#' numbers are those stored by `keep = "labels"`. Without them each chain goes
#' on for at most 200 draws, which are drawn and not kept; the fit does not
#' change.
#'
#' @param x A fit made by [gibbs_gmm()].
#' @param type `"mixture"` (the default where the fit holds its data),
#'   `"labels"`, or types of [plot.gibbsite_fit()], such as `"trace"` (the
#'   default if `variables` are given that are not names of the data).
#' @param level Number between 0 and 1, default 0.95: the probability of bands
#'   and ellipses.
#' @param variables As in [plot.gibbsite_fit()]. For `type = "mixture"` with
#'   several variables: which of the data to show, names or numbers, at most
#'   six. For `"labels"` one of them, default the first.
#' @param ... Graphical parameters for `"mixture"` and `"labels"`; `main`
#'   replaces the note above the picture.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type` or variable,
#'   and for `"mixture"` without the data.
#' @seealso [plot.gibbsite_fit()] for the chains, [plot.gibbs_gmm_unknown()]
#'   for an unknown `k`, [autoplot()][autoplot.gibbs_gmm] for ggplot2.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' plot(fit)
#' plot(fit, type = "trace")
#' plot(fit, type = "labels")
#' @export
plot.gibbs_gmm <- graphical_method(picture_gmm)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_gmm <- autoplot_method(picture_gmm)

# The numbers of the variables in a picture of the data.
plotted_variables <- function(model, variables, call) {
  if (is.null(model$data)) {
    abort_no_data(
      call = call, hint = "{.code type = \"trace\"} needs the draws alone."
    )
  }
  names <- model$variables
  if (is.null(variables)) {
    return(utils::head(seq_along(names), 6L))
  }
  found <- match(check_some_of(variables, names, call), names)
  if (length(found) > 6L || anyDuplicated(found) > 0L) {
    abort_argument(
      "{.arg variables} must be at most six of {.val {names}}, each once.",
      call = call
    )
  }
  found
}

# Of more variables than a picture has room for.
left_out_words <- function(shown, variables) {
  if (length(variables) > 6L && identical(shown, 1:6)) {
    paste0(
      "the first 6 of ", length(variables),
      " variables; `variables` names others"
    )
  }
}

# The mixture at the posterior mean of its parameters, for the shown variables
# only. Components that are not drawn have the colour NA. prob: probabilities of
# the components, observations x components; needed if some may be left out.
mean_mixture <- function(fit, shown, prob = component_probabilities(fit)) {
  model <- fit_part(fit, "model")
  mean <- colMeans(bind_chains(chain_matrices(fit)))
  blocks <- gmm_blocks(model, t(mean))
  p <- parameters_of_blocks(marginal_blocks(blocks, shown))
  p$colours <- gibbsite_palette(model$k)
  occupied <- round(mean[["n_occupied"]])
  if (occupied < model$k) {
    holds <- max.col(prob, ties.method = "first")
    small <- rank(-p$pi, ties.method = "first") > occupied
    p$colours[small & !(seq_len(model$k) %in% holds)] <- NA
  }
  p
}

# The probabilities of the components of observations, observations x
# components: of many observations from fewer draws, which is precise enough.
component_probabilities <- function(fit, x = fit_part(fit, "model")$data$x) {
  model <- fit_part(fit, "model")
  draws <- some_draws(fit, max(100, floor(2e7 / (length(x) * model$k))))
  evaluate_observed(
    gmm_blocks(model, draws), x, prob = TRUE
  )$prob
}

# The observations that are drawn, at most `most`: list(x, note).
drawn_observations <- function(fit, most) {
  x <- fit_part(fit, "model")$data$x
  rows <- evenly(nrow(x), most)
  list(x = x[rows, , drop = FALSE], note = if (length(rows) < nrow(x)) {
    paste(digits(length(rows)), "of", digits(nrow(x)), "observations drawn")
  })
}

# What components, their means and the parts of a density look like.
component_key <- function(p, lty = 1, pch = 19) {
  words <- component_words(p)
  colours <- p$colours
  rbind(
    plot_key(words, ifelse(is.na(colours), "transparent", colours), lty = lty,
             pch = pch),
    plot_key(paste("mean of", seq_along(words)), colours, pch = 3,
             shown = FALSE)
  )
}

component_words <- function(p) {
  words <- sprintf("%d: weight %.2f", seq_along(p$pi), p$pi)
  left_out <- is.na(p$colours)
  words[left_out] <- paste0(words[left_out], ", not drawn")
  words
}

# Names of components, a factor.
component_names <- function(p, numbers) {
  labels <- component_words(p)
  factor(labels[numbers], labels)
}

# A single variable without a name is called as in the call of the fit.
variable_words <- function(fit, j) {
  variables <- fit_part(fit, "model")$variables
  given <- stats::getCall(fit)$x
  if (length(variables) > 1L || variables[[j]] != "x") {
    return(variables[[j]])
  }
  if (is.call(given) && deparse(given[[1L]])[[1L]] %in% c("$", "[[")) {
    given <- given[[3L]]
  }
  words <- if (is.call(given)) deparse(given) else as.character(given)
  # `..1`, which a function passed on, or data written out are no name
  plain <- length(words) == 1L && nchar(words) <= 40L &&
    !grepl("^[.]|\\[|^c[(]", words)
  if (plain) words else "x"
}


# ---- one variable

# list(x, at, band, xlab): the values of a variable, and the density with its
# band at 400 points.
density_band <- function(fit, j, level, draws) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, j]
  x <- x[!is.na(x)]
  at <- seq_range(grDevices::extendrange(x, f = 0.1), 400L)
  list(
    x = x, at = at, band = predict_density(model, draws, matrix(at), level, j),
    xlab = variable_words(fit, j)
  )
}

# The same with list(p, ticks, parts, component, certainty): the part of each
# component, points x components. The density and its parts are means over the
# same draws: the parts add up to the density.
density_shown <- function(fit, j, level) {
  model <- fit_part(fit, "model")
  some <- drawn_observations(fit, 2000)
  prob <- component_probabilities(fit, some$x)
  p <- mean_mixture(fit, j, prob)
  # from left to right, also where components are not drawn
  p$colours[order(p$mu[, 1L])] <- ifelse(
    is.na(p$colours[order(p$mu[, 1L])]), NA, gibbsite_palette(model$k)
  )
  draws <- some_draws(fit, 1000)
  band <- density_band(fit, j, level, draws)
  at <- band$at
  blocks <- marginal_blocks(gmm_blocks(model, draws), j)
  sd <- sqrt(gmm_covariance(blocks, 1L, 1L))
  parts <- vapply(seq_along(p$pi), function(c) {
    density <- stats::dnorm(
      rep(at, each = nrow(sd)), blocks$mu[, c], sd[, c]
    )
    colMeans(matrix(density * blocks$pi[, c], nrow(sd)))
  }, at)
  component <- max.col(prob, ties.method = "first")
  seen <- !is.na(some$x[, j])
  c(band, list(
    p = p, ticks = some$x[seen, j], parts = parts, component = component[seen],
    certainty = prob[cbind(seq_along(component), component)][seen]
  ))
}

picture_density <- function(fit, j, level) {
  shown <- density_shown(fit, j, level)
  p <- shown$p
  drawn <- rep(!is.na(p$colours), each = length(shown$at))
  numbers <- rep(seq_along(p$pi), each = length(shown$at))
  parts <- data.frame(
    x = rep(shown$at, length(p$pi)), y = as.vector(shown$parts), group = numbers
  )
  names <- component_names(p, numbers)
  key <- component_key(p, lty = 2, pch = NA)
  density_picture(
    shown, level, list(
      picture_layer("line", parts[drawn, ], names[drawn]),
      picture_layer("rug", data.frame(x = shown$ticks),
                    component_names(p, shown$component),
            certainty_alpha(shown$certainty, length(p$pi)))
    ), key[key$shown, ][order(p$mu[, 1L]), ]
  )
}

# A histogram, and the density with its band, of density_band().
density_picture <- function(shown, level, layers, key) {
  bars <- graphics::hist(
    shown$x, breaks = max(10, min(60, ceiling(2 * sqrt(length(shown$x))))),
    plot = FALSE
  )
  table <- data.frame(x = shown$at, shown$band[c("mean", "lower", "upper")])
  band <- paste0(percent(level), " band")
  picture(
    table, c(list(
      picture_layer("rect", data.frame(
        xmin = bars$breaks[-length(bars$breaks)], xmax = bars$breaks[-1L],
        ymin = 0, ymax = bars$density
      ), "histogram"),
      picture_layer("band", table, band),
      picture_layer("line", data.frame(x = table$x, y = table$mean), "density")
    ), layers), rbind(
      plot_key("density", lty = 1), plot_key(band, fill = pale("black", 0.25)),
      plot_key("histogram", "grey75", fill = "grey90", shown = FALSE),
      plot_key("observation", "grey40", shown = FALSE), key
    ), x = picture_axis(shown$xlab), y = picture_axis("density", floor = TRUE)
  )
}

# ---- two and more variables

certainty_alpha <- function(certainty, k) {
  if (k == 1L) {
    return(0.8)
  }
  pmin(pmax(0.12, 0.8 * (certainty - 1 / k) / (1 - 1 / k)), 0.8)
}

# Observations, ellipses and means of components; of two variables contours too.
# The table has a row for each point: x, y, component, certainty; with more
# variables for each pair of variables.
picture_components <- function(fit, shown, level) {
  some <- drawn_observations(fit, if (length(shown) > 2L) 2000 else 10000)
  x <- some$x[, shown, drop = FALSE]
  prob <- component_probabilities(fit, some$x)
  p <- mean_mixture(fit, shown, prob)
  cluster <- max.col(prob, ties.method = "first")
  certainty <- prob[cbind(seq_along(cluster), cluster)]
  table <- pair_table(ncol(x), function(a, b) {
    data.frame(
      x = x[, a], y = x[, b], component = component_names(p, cluster),
      certainty = certainty
    )
  })
  ellipses <- pair_table(ncol(x), function(a, b) {
    ellipse_table(p, level, c(a, b))
  })
  numbers <- which(!is.na(p$colours))
  centres <- pair_table(ncol(x), function(a, b) {
    data.frame(
      x = p$mu[numbers, a], y = p$mu[numbers, b],
      component = component_names(p, numbers), size = 2.5
    )
  })
  several <- ncol(x) > 2L
  contours <- if (!several) {
    contours_shown(fit, shown, rbind(x, as.matrix(ellipses[c("x", "y")])))
  }
  ellipse <- paste(percent(level), "ellipse")
  pairs_picture(
    table, c(
      if (!several) list(picture_layer("line", contours, "predictive density")),
      observations(table, table$component, certainty_alpha(
        table$certainty, length(p$pi)
      ), several),
      list(
        picture_layer("line", ellipses, ellipses$component),
        picture_layer(
          "point", centres, paste("mean of", as.integer(centres$component))
        )
      )
    ), rbind(
      component_key(p), plot_key(ellipse, "grey35", lty = 1),
      plot_key("mean", "grey35", pch = 3),
      if (!several) plot_key("predictive density", "grey75", lty = 1, lwd = 1)
    ), colnames(x), c(
      if (several) left_out_words(shown, fit_part(fit, "model")$variables),
      "paler points: less certain", some$note
    )
  )
}

# Points, and ticks on the axis where the other value is missing.
observations <- function(table, key, alpha, several) {
  alpha <- rep_len(alpha, nrow(table))
  both <- !is.na(table$x) & !is.na(table$y)
  one <- function(kind, rows, columns) {
    rows <- which(rows)
    keep <- intersect(c(columns, "panel", "row", "column"), names(table))
    picture_layer(kind, table[rows, keep, drop = FALSE], key[rows], alpha[rows])
  }
  points <- table
  points$size <- if (several) 0.9 else 1.3
  list(
    picture_layer("point", points[both, ], key[both], alpha[both]),
    one("rug", is.na(table$y) & !is.na(table$x), "x"),
    one("yrug", is.na(table$x) & !is.na(table$y), "y")
  )
}

# Two variables against each other, or panels of all pairs.
pairs_picture <- function(table, layers, key, names, note) {
  if (length(names) == 2L) {
    return(picture(
      table, layers, key, x = picture_axis(names[[1L]]),
      y = picture_axis(names[[2L]]), note = note
    ))
  }
  panels <- unique(table$panel)
  picture(
    table, layers, key, note = note, panels = data.frame(panel = panels),
    layout = "pairs", names = names
  )
}

# The rows table(a, b) of all pairs of variables, for the panel of column a and
# row b; of two variables the second against the first.
pair_table <- function(count, table) {
  if (count == 2L) {
    return(table(1L, 2L))
  }
  pairs <- expand.grid(a = seq_len(count), b = seq_len(count))
  pairs <- pairs[pairs$a != pairs$b, ]
  names <- paste(pairs$b, pairs$a)
  do.call(rbind, Map(function(a, b) {
    data.frame(
      table(a, b), panel = factor(paste(b, a), names),
      row = factor(b, seq_len(count)), column = factor(a, seq_len(count))
    )
  }, pairs$a, pairs$b))
}

# A row for each point of the ellipses: x, y, component, group.
ellipse_table <- function(p, level, columns = 1:2) {
  angle <- seq(0, 2 * pi, length.out = 200)
  circle <- cbind(cos(angle), sin(angle)) * sqrt(stats::qchisq(level, 2))
  do.call(rbind, lapply(which(!is.na(p$colours)), function(c) {
    edge <- circle %*% chol(p$Sigma[c, columns, columns]) +
      rep(p$mu[c, columns], each = nrow(circle))
    data.frame(
      x = edge[, 1L], y = edge[, 2L], component = component_names(p, c),
      group = c
    )
  }))
}

# Contours of the posterior predictive density, from at most 200 draws on a 60 x
# 60 grid around the points x: x, y, group.
contours_shown <- function(fit, shown, x) {
  model <- fit_part(fit, "model")
  draws <- some_draws(fit, 200)
  grid <- lapply(seq_len(2L), function(j) {
    ends <- range(x[, j], na.rm = TRUE)
    if (diff(ends) == 0) ends <- ends + c(-0.5, 0.5)
    seq_range(grDevices::extendrange(ends, f = 0.12), 60L)
  })
  blocks <- marginal_blocks(gmm_blocks(model, draws), shown)
  log_density <- evaluate_draws(
    blocks, as.matrix(expand.grid(grid)), density = TRUE
  )$log_density
  contour_lines(
    grid[[1L]], grid[[2L]], matrix(colMeans(exp(log_density)), 60L, 60L)
  )
}

# ---- label switching

# The table has a row for each mean: panel, x, y, component (a factor).
picture_labels <- function(fit, variables, call) {
  model <- fit_part(fit, "model")
  j <- plotted_variables(model, variables %||% 1L, call)
  if (length(j) > 1L) {
    abort_argument("{.arg variables} must be one variable for labels.",
                   call = call)
  }
  shown <- both_numberings(fit, call)
  rows <- evenly(nrow(shown$own), max(200, floor(4000 / model$k)))
  points <- function(draws) {
    mu <- gmm_mean(gmm_blocks(model, draws[rows, , drop = FALSE]), j)
    data.frame(
      x = rep(rows, model$k), y = as.vector(mu), size = 0.8,
      component = factor(rep(
        paste("component", seq_len(model$k)), each = length(rows)
      ), paste("component", seq_len(model$k)))
    )
  }
  panels <- c("own", "renumbered")
  table <- in_panels(list(points(shown$own), points(shown$renumbered)), panels)
  # the mean of an empty component can be far away
  most <- stats::quantile(table$y, c(0.01, 0.99), names = FALSE)
  limits <- grDevices::extendrange(most, f = 0.25)
  inside <- table$y >= limits[[1L]] & table$y <= limits[[2L]]
  outside <- sum(!inside & table$panel == "own")
  chains <- length(fit)
  ends <- seq_len(chains - 1L) * nrow(shown$own) / chains + 0.5
  ends <- in_panels(rep(list(data.frame(x = ends)), 2L), panels)
  picture(
    table, list(
      picture_layer("vline", ends, "rule"),
      picture_layer("point", table[inside, ], table$component[inside], 0.6)
    ), rbind(
      plot_key(levels(table$component), gibbsite_palette(model$k), pch = 19),
      rule_key()
    ), x = picture_axis(
      if (chains > 1L) "draw, chain after chain" else "draw"
    ), y = picture_axis(
      paste("mean of", variable_words(fit, j))
    ), note = c(shown$note, if (outside > 0) {
      paste0(counted(outside, "mean"), " outside the axis")
    }), panels = data.frame(
      panel = panels, title = c(
        paste0("The sampler's own numbers: changed ", counted(
          shown$switches, "time"
        )), "Renumbered"
      )
    ), columns = 1L
  )
}

# list(own, renumbered, switches, note): draws of all chains in the two
# numberings, and how often the sampler's changed, chain after chain.
both_numberings <- function(fit, call) {
  model <- fit_part(fit, "model")
  bare <- model
  model <- with_pivot(model, call)
  kept <- !is_numbered(bare) || "labels" %in% bare$keep
  own <- if (kept) {
    lapply(
      model_renumbered(bare, model_matrices(fit), "none", 1, call), `[[`,
      "draws"
    )
  } else {
    go_on(fit, call)
  }
  labels <- lapply(own, function(draws) pivot_labels(model, draws))
  list(
    own = do.call(rbind, own),
    renumbered = do.call(rbind, Map(function(draws, labels) {
      move_components(model, draws, labels)
    }, own, labels)), switches = count_switches(do.call(rbind, labels)),
    note = if (!kept) {
      "draws made for this picture; a fit with keep = \"labels\" shows its own"
    }
  )
}

# Some more draws of each chain, as the sampler numbers them. The fit and the
# user's generator stay the same.
go_on <- function(fit, call) {
  model <- fit_part(fit, "model")
  if (is.null(model$data)) {
    abort_no_data("fit", call)
  }
  thin <- fit_part(fit, "running")$thin
  draws <- min(200, nrow(fit_draws(fit)[[1L]]))
  lapply(fit_part(fit, "chains"), function(chain) {
    control <- list(burnin = chain$state$sweep, thin = thin, threads = 1)
    draws <- with_stream(
      chain$rng, model_sweeps(model, chain$state, draws * thin, control), call
    )$value$draws
    colnames(draws) <- model$columns[seq_len(ncol(draws))]
    draws
  })
}

# ---- an unknown number of components

picture_gmm_unknown <- function(fit, type, level, variables, call, ...) {
  type <- check_plot_types(
    default_types(type, variables, "number"), call, c("number", "mixture")
  )
  level <- check_level(level, call = call)
  if (identical(type, "number")) {
    check_plots_with(variables, type, c("mixture", plot_types), call)
    return(picture_sizes(fit))
  }
  if (!identical(type, "mixture")) {
    return(picture_chains(fit, type, variables, call, ...))
  }
  shown <- plotted_variables(fit_part(fit, "model"), variables, call)
  if (length(shown) == 1L) {
    draws <- component_draws(fit, call)
    draws <- draws[evenly(nrow(draws), 1000), , drop = FALSE]
    shown <- density_band(fit, shown, level, draws)
    ticks <- data.frame(x = shown$x[evenly(length(shown$x), 2000)])
    density_picture(
      shown, level, list(picture_layer("rug", ticks, "observation")), NULL
    )
  } else {
    picture_clusters(fit, shown)
  }
}

# The table: the rows of size_table() with posterior probability.
picture_sizes <- function(fit) {
  table <- size_table(fit)
  table <- table[seq_len(max(which(table$components + table$clusters > 0.002))),
                 ]
  bars <- function(left, heights) {
    data.frame(
      xmin = table$k + left, xmax = table$k + left + 0.35, ymin = 0,
      ymax = heights
    )
  }
  colours <- gibbsite_palette(2L)
  picture(
    table, list(
      picture_layer("rect", bars(-0.36, table$components), "components"),
      picture_layer("rect", bars(0.01, table$clusters), "clusters"),
      picture_layer("point", data.frame(x = table$k - 0.185, y = table$prior),
            "prior of components")
    ), rbind(
      plot_key(c("components", "clusters"), NA, fill = colours),
      plot_key("prior of components", pch = 19)
    ), x = picture_axis("number", at = table$k),
    y = picture_axis("probability", floor = TRUE)
  )
}

picture_clusters <- function(fit, shown) {
  x <- fit_part(fit, "model")$data$x
  rows <- evenly(nrow(x), if (length(shown) > 2L) 2000 else 10000)
  cluster <- factor(c(point_clustering(fit)))
  words <- paste0("cluster ", levels(cluster), " (", table(cluster), ")")
  some <- drawn_observations(fit, length(rows))
  x <- some$x[, shown, drop = FALSE]
  cluster <- cluster[rows]
  table <- pair_table(ncol(x), function(a, b) {
    data.frame(x = x[, a], y = x[, b], cluster = cluster)
  })
  pairs_picture(
    table, observations(table, words[table$cluster], 0.7, ncol(x) > 2L),
    plot_key(words, gibbsite_palette(nlevels(cluster)), pch = 19), colnames(x),
    some$note
  )
}
