# Plots of a Gaussian mixture.

#' Plot a Gaussian mixture
#'
#' One variable: a histogram with the posterior mean of the density, the band
#' that holds it pointwise with probability `level`, and the components. Two
#' variables: the observations coloured by cluster (paler if the cluster is less
#' certain), the contours of the posterior predictive density, and for each
#' component the ellipse that contains the probability `level`. More variables:
#' a matrix of scatter plots of at most six variables, with the components'
#' ellipses. Components are drawn at the posterior mean of their parameters,
#' numbered as in the fit. If components are empty in part of the draws, as many
#' are drawn as hold observations on average. These have the largest weights.
#' A component to which an observation most probably belongs is drawn too.
#'
#' @param x A fit made by [gibbs_gmm()].
#' @param type `"mixture"` (the default where the fit holds its data), or types
#'   of [plot.gibbsite_fit()], such as `"trace"` (the default if `variables` are
#'   given).
#' @param level Number between 0 and 1, default 0.95: the probability of bands
#'   and ellipses.
#' @param variables As in [plot.gibbsite_fit()]. For `type = "mixture"` with
#'   several variables: which of the data to show, names or numbers, at most
#'   six.
#' @param ... Graphical parameters for `"mixture"`.
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
#' @export
plot.gibbs_gmm <- function(x, type = NULL, level = 0.95, variables = NULL,
                           ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  model <- fit_part(x, "model")
  own <- if (is.null(model$data)) "trace" else "mixture"
  type <- check_plot_types(
    default_types(type, variables, own), call, "mixture"
  )
  if (!identical(type, "mixture")) {
    plot.gibbsite_fit(x, type = type, variables = variables, ...)
    return(invisible(x))
  }
  level <- check_level(level)
  shown <- plotted_variables(model, variables, call)
  if (length(shown) == 1L) {
    plot_density(x, shown, level, ...)
  } else if (length(shown) == 2L) {
    plot_plane(x, shown, level, ...)
  } else {
    plot_pairs(x, shown, level, ...)
  }
  invisible(x)
}

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

# The mixture at the posterior mean of its parameters, for the shown variables
# only. Components that are not drawn have the colour NA. prob: probabilities of
# the components, observations x components; needed if some may be left out.
mean_mixture <- function(fit, shown, prob = predict(fit, type = "prob")) {
  model <- fit_part(fit, "model")
  mean <- colMeans(do.call(rbind, chain_matrices(fit)))
  blocks <- gmm_blocks(model, t(mean))
  p <- parameters_of_row(marginal_blocks(blocks, shown), 1L)
  p$colours <- gibbsite_palette(model$k)
  occupied <- round(mean[["n_occupied"]])
  if (occupied < model$k) {
    holds <- max.col(prob, ties.method = "first")
    small <- rank(-p$pi, ties.method = "first") > occupied
    p$colours[small & !(seq_len(model$k) %in% holds)] <- NA
  }
  p
}

component_key <- function(p, lty = 1) {
  words <- sprintf("%d: weight %.2f", seq_along(p$pi), p$pi)
  left_out <- is.na(p$colours)
  words[left_out] <- paste0(words[left_out], ", not drawn")
  plot_key(words, p$colours, lty = lty)
}

# A single variable without a name is called as in the call of the fit.
variable_words <- function(fit) {
  name <- fit_part(fit, "model")$variables[[1L]]
  given <- stats::getCall(fit)$x
  if (name != "x") {
    return(name)
  }
  if (is.call(given) && deparse(given[[1L]])[[1L]] %in% c("$", "[[")) {
    given <- given[[3L]]
  }
  words <- if (is.call(given)) deparse(given) else as.character(given)
  # what a function passed on (`..1`) or data written out say nothing
  plain <- length(words) == 1L && nchar(words) <= 40L &&
    !grepl("^[.]|\\[|^c[(]", words)
  if (plain) words else name
}

# One variable: list(p, x, at, band, parts, xlab), the density with its band and
# the weighted densities of the components, points x components.
density_shown <- function(fit, j, level) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, j]
  x <- x[!is.na(x)]
  p <- mean_mixture(fit, j)
  draws <- do.call(rbind, chain_matrices(fit))
  rows <- unique(round(seq(1, nrow(draws), length.out = 1000)))
  at <- seq_range(grDevices::extendrange(x, f = 0.1), 400L)
  blocks <- marginal_blocks(
    gmm_blocks(model, draws[rows, , drop = FALSE]), j
  )
  parts <- vapply(seq_along(p$pi), function(c) {
    p$pi[[c]] * stats::dnorm(at, p$mu[c, 1L], sqrt(p$Sigma[c, 1L, 1L]))
  }, at)
  list(
    p = p, x = x, at = at, band = predict_density(blocks, matrix(at), level),
    parts = parts, xlab = if (length(model$variables) == 1L) {
      variable_words(fit)
    } else {
      model$variables[[j]]
    },
    bars = density_bars(x)
  )
}

density_bars <- function(x) {
  graphics::hist(
    x, breaks = max(10, min(60, ceiling(2 * sqrt(length(x))))), plot = FALSE
  )
}

plot_density <- function(fit, j, level, ...) {
  shown <- density_shown(fit, j, level)
  at <- shown$at
  bars <- shown$bars
  grey <- grDevices::adjustcolor("black", 0.2)
  key <- rbind(
    plot_key("density", lty = 1),
    plot_key(paste0(percent(level), " band"), fill = grey),
    component_key(shown$p, lty = 2)
  )
  old <- open_keyed(key, c(3.8, 4.1, 2.1, 1.1), mgp = c(2.9, 0.7, 0))
  on.exit(graphics::par(old))
  defaults <- list(
    x = bars, freq = FALSE, col = "grey90", border = "grey75", main = "",
    xlim = range(at), ylim = c(0, 1.05 * max(bars$density, shown$band$upper)),
    xlab = "", ylab = "density", las = 1
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  if (is.null(list(...)$xlab)) {
    graphics::title(xlab = shown$xlab, line = 2.4)
  }
  graphics::polygon(
    c(at, rev(at)), c(shown$band$lower, rev(shown$band$upper)), border = NA,
    col = grey
  )
  graphics::lines(at, shown$band$mean, lwd = 2)
  graphics::matlines(at, shown$parts, col = shown$p$colours, lwd = 2, lty = 2)
  graphics::rug(shown$x, col = "grey50")
  draw_key(key)
}

# What the ellipses and points of the components are.
cluster_key <- function(p, level) {
  rbind(
    component_key(p),
    plot_key(paste0(percent(level), " ellipse"), "grey35", pch = 1),
    plot_key("mean", "grey35", pch = 3)
  )
}

# Several variables: list(p, x, cluster, certainty), the observations with their
# most probable components.
clusters_shown <- function(fit, shown) {
  model <- fit_part(fit, "model")
  prob <- predict(fit, type = "prob")
  cluster <- max.col(prob, ties.method = "first")
  list(
    p = mean_mixture(fit, shown, prob), x = model$data$x[, shown, drop = FALSE],
    cluster = cluster, certainty = prob[cbind(seq_along(cluster), cluster)]
  )
}

plot_plane <- function(fit, shown, level, ...) {
  clusters <- clusters_shown(fit, shown)
  x <- clusters$x
  limits <- apply(x, 2L, function(values) {
    grDevices::extendrange(values[!is.na(values)], f = 0.08)
  })
  key <- rbind(
    cluster_key(clusters$p, level),
    plot_key("predictive density", "grey75", lty = 1, lwd = 1.5)
  )
  defaults <- list(
    x = x, type = "n", xlim = limits[, 1L], ylim = limits[, 2L],
    xlab = colnames(x)[[1L]], ylab = colnames(x)[[2L]], las = 1, bty = "l"
  )
  old <- open_keyed(key, c(3.8, 4.1, 2.1, 1.1))
  on.exit(graphics::par(old))
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  edges <- matrix(graphics::par("usr"), 2L)
  contours <- contours_shown(fit, shown, edges)
  graphics::contour(
    contours$x, contours$y, contours$density, add = TRUE, drawlabels = FALSE,
    levels = contours$levels, col = "grey75"
  )
  draw_observations(clusters)
  draw_ellipses(clusters$p, level)
  draw_key(key)
}

# Paler where the most probable component is less certain; a tick at the axis
# where the other value is missing.
draw_observations <- function(clusters) {
  x <- clusters$x
  least <- 1 / length(clusters$p$pi)
  strength <- if (least < 1) {
    (clusters$certainty - least) / (1 - least)
  } else {
    1
  }
  shade <- mapply(
    grDevices::adjustcolor, clusters$p$colours[clusters$cluster],
    pmax(0.12, 0.8 * strength)
  )
  graphics::points(x, pch = 19, cex = 0.7, col = shade)
  edge <- graphics::par("usr")[c(1L, 3L)]
  no_y <- is.na(x[, 2L]) & !is.na(x[, 1L])
  no_x <- is.na(x[, 1L]) & !is.na(x[, 2L])
  graphics::points(x[no_y, 1L], rep(edge[[2L]], sum(no_y)), pch = "|",
                   col = shade[no_y])
  graphics::points(rep(edge[[1L]], sum(no_x)), x[no_x, 2L], pch = "-",
                   cex = 1.5, col = shade[no_x])
}

# The posterior predictive density from at most 200 draws, on a 60 x 60 grid
# between edges (a column for each variable): list(x, y, density, levels).
contours_shown <- function(fit, shown, edges) {
  model <- fit_part(fit, "model")
  draws <- do.call(rbind, chain_matrices(fit))
  rows <- unique(round(seq(1, nrow(draws), length.out = 200)))
  across <- seq_range(edges[, 1L], 60L)
  up <- seq_range(edges[, 2L], 60L)
  blocks <- marginal_blocks(
    gmm_blocks(model, draws[rows, , drop = FALSE]), shown
  )
  log_density <- evaluate_draws(
    blocks, as.matrix(expand.grid(across, up)), density = TRUE
  )$log_density
  density <- matrix(colMeans(exp(log_density)), 60L, 60L)
  list(
    x = across, y = up, density = density,
    levels = max(density) * c(0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
  )
}

# The edge of the ellipse that holds `level` of component c, points x 2.
ellipse_edge <- function(p, c, level, columns = 1:2) {
  angle <- seq(0, 2 * pi, length.out = 200)
  circle <- cbind(cos(angle), sin(angle)) * sqrt(stats::qchisq(level, 2))
  circle %*% chol(p$Sigma[c, columns, columns]) +
    rep(p$mu[c, columns], each = nrow(circle))
}

# Ellipses with a cross at their centres.
draw_ellipses <- function(p, level, columns = 1:2) {
  for (c in seq_along(p$pi)) {
    centre <- p$mu[c, columns]
    graphics::lines(
      ellipse_edge(p, c, level, columns), col = p$colours[[c]], lwd = 2
    )
    graphics::points(
      centre[[1L]], centre[[2L]], pch = 3, cex = 1.4, lwd = 2,
      col = p$colours[[c]]
    )
  }
}

plot_pairs <- function(fit, shown, level, ...) {
  clusters <- clusters_shown(fit, shown)
  x <- clusters$x
  p <- clusters$p
  colours <- grDevices::adjustcolor(p$colours, 0.6)[clusters$cluster]
  # two rows more, with the ends of the ellipses, for the limits of the axes
  sd <- t(vapply(seq_along(p$pi), function(c) {
    sqrt(diag(p$Sigma[c, , ]))
  }, p$mu[1L, ]))
  reach <- sqrt(stats::qchisq(level, 2)) * sd
  drawn <- !is.na(p$colours)
  ends <- rbind(
    apply((p$mu - reach)[drawn, , drop = FALSE], 2L, min),
    apply((p$mu + reach)[drawn, , drop = FALSE], 2L, max)
  )
  n <- seq_len(nrow(x))
  # pairs() gives a panel two columns but not their numbers; the position of the
  # panel gives them (its row and column: y and x)
  panel <- function(a, b, ...) {
    graphics::points(a[n], b[n], pch = 19, cex = 0.6, col = colours)
    draw_ellipses(p, level, graphics::par("mfg")[2:1])
  }
  keyed_pairs(
    cluster_key(p, level), list(x = rbind(x, ends), panel = panel), ...
  )
}

# pairs() with a key below it. `defaults`: arguments of pairs() that `...` may
# replace.
keyed_pairs <- function(key, defaults, ...) {
  rows <- max(key_rows(key, 0.98 * graphics::par("din")[[1L]]))
  line <- graphics::par("csi")
  defaults <- c(defaults, list(
    gap = 0.3, las = 1,
    oma = c(2.5 + rows * key_line() / line, 3,
            if (is.null(list(...)$main)) 3 else 5, 3)
  ))
  # the state of the page is that of pairs(); the key is drawn over the page
  do.call(graphics::pairs, utils::modifyList(defaults, list(...)))
  old <- graphics::par(c("fig", "oma", "mar", "cex", "mex"))
  on.exit(graphics::par(old))
  draw_page_key(key)
}
