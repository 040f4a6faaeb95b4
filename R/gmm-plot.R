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
#' numbered as in the fit.
#'
#' @param x A fit made by [gibbs_gmm()].
#' @param type `"mixture"` (the default where the fit holds its data), or types
#'   of [plot.gibbsite_fit()], such as `"trace"`.
#' @param level Number between 0 and 1, default 0.9: the probability of bands
#'   and ellipses.
#' @param variables For `"mixture"` with several variables: which to show, names
#'   or numbers, at most six; otherwise as in [plot.gibbsite_fit()].
#' @param ... Graphical parameters for `"mixture"`.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type` or variable,
#'   and for `"mixture"` without the data.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' plot(fit)
#' plot(fit, type = "trace")
#' @export
plot.gibbs_gmm <- function(x, type = NULL, level = 0.9, variables = NULL, ...) {
  call <- rlang::current_env()
  model <- fit_part(x, "model")
  type <- type %||% if (is.null(model$data)) "trace" else "mixture"
  type <- check_plot_types(type, call, "mixture")
  if (!identical(type, "mixture")) {
    plot.gibbsite_fit(x, type = type, variables = variables, ...)
    return(invisible(x))
  }
  level <- check_level(level)
  if (is.null(model$data)) {
    abort_no_data(
      call = call, hint = "{.code type = \"trace\"} needs the draws alone."
    )
  }
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

plotted_variables <- function(model, variables, call) {
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
# only.
mean_mixture <- function(fit, shown) {
  model <- fit_part(fit, "model")
  mean <- colMeans(do.call(rbind, chain_matrices(fit)))
  blocks <- gmm_blocks(model, t(mean))
  p <- parameters_of_row(marginal_blocks(blocks, shown), 1L)
  p$colours <- gibbsite_palette(model$k)
  p
}

component_legend <- function(p, ..., lty = 1) {
  graphics::legend(
    ..., bty = "n", xpd = NA, cex = 0.9, lty = lty, col = p$colours, lwd = 2,
    legend = sprintf("%d: weight %.2f", seq_along(p$pi), p$pi)
  )
}

plot_density <- function(fit, j, level, ...) {
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
  band <- predict_density(blocks, matrix(at), level)
  bars <- graphics::hist(
    x, breaks = max(10, min(60, ceiling(2 * sqrt(length(x))))), plot = FALSE
  )
  old <- graphics::par(mar = c(4.1, 4.1, 2.6, 1.1))
  on.exit(graphics::par(old))
  defaults <- list(
    x = bars, freq = FALSE, col = "grey90", border = "grey75", main = "",
    xlim = range(at), ylim = c(0, 1.05 * max(bars$density, band$upper)),
    xlab = model$variables[[j]], ylab = "density", las = 1
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::polygon(
    c(at, rev(at)), c(band$lower, rev(band$upper)), border = NA,
    col = grDevices::adjustcolor("black", 0.2)
  )
  graphics::lines(at, band$mean, lwd = 2)
  for (c in seq_along(p$pi)) {
    graphics::lines(
      at, p$pi[[c]] * stats::dnorm(at, p$mu[c, 1L], sqrt(p$Sigma[c, 1L, 1L])),
      col = p$colours[[c]], lwd = 2, lty = 2
    )
  }
  graphics::rug(x, col = "grey50")
  component_legend(p, "topright", lty = 2)
}

plot_plane <- function(fit, shown, level, ...) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, shown, drop = FALSE]
  p <- mean_mixture(fit, shown)
  limits <- apply(x, 2L, function(values) {
    grDevices::extendrange(values[!is.na(values)], f = 0.08)
  })
  names <- model$variables[shown]
  defaults <- list(
    x = x, type = "n", xlim = limits[, 1L], ylim = limits[, 2L],
    xlab = names[[1L]], ylab = names[[2L]], las = 1, bty = "l"
  )
  old <- graphics::par(mar = c(4.1, 4.1, 2.6, 1.1))
  on.exit(graphics::par(old))
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  draw_contours(fit, model, shown)
  draw_observations(x, predict(fit, type = "prob"), p$colours)
  draw_ellipses(p, level)
  component_legend(p, "top", horiz = TRUE, inset = c(0, -0.08))
}

# Paler where the most probable component is less certain; a tick at the axis
# where the other value is missing.
draw_observations <- function(x, prob, colours) {
  cluster <- max.col(prob, ties.method = "first")
  certainty <- prob[cbind(seq_along(cluster), cluster)]
  least <- 1 / ncol(prob)
  strength <- if (least < 1) (certainty - least) / (1 - least) else 1
  shade <- mapply(
    grDevices::adjustcolor, colours[cluster], pmax(0.12, 0.8 * strength)
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
# over the plot.
draw_contours <- function(fit, model, shown) {
  draws <- do.call(rbind, chain_matrices(fit))
  rows <- unique(round(seq(1, nrow(draws), length.out = 200)))
  edges <- matrix(graphics::par("usr"), 2L)
  across <- seq_range(edges[, 1L], 60L)
  up <- seq_range(edges[, 2L], 60L)
  blocks <- marginal_blocks(
    gmm_blocks(model, draws[rows, , drop = FALSE]), shown
  )
  log_density <- evaluate_draws(
    blocks, as.matrix(expand.grid(across, up)), density = TRUE
  )$log_density
  density <- matrix(colMeans(exp(log_density)), 60L, 60L)
  graphics::contour(
    across, up, density, add = TRUE, drawlabels = FALSE,
    levels = max(density) * c(0.02, 0.05, 0.1, 0.2, 0.4, 0.7), col = "grey75"
  )
}

# The ellipse that holds `level` of each component, its centre a cross.
draw_ellipses <- function(p, level, columns = 1:2) {
  angle <- seq(0, 2 * pi, length.out = 200)
  circle <- cbind(cos(angle), sin(angle)) * sqrt(stats::qchisq(level, 2))
  for (c in seq_along(p$pi)) {
    centre <- p$mu[c, columns]
    edge <- circle %*% chol(p$Sigma[c, columns, columns]) +
      rep(centre, each = nrow(circle))
    graphics::lines(edge, col = p$colours[[c]], lwd = 2)
    graphics::points(
      centre[[1L]], centre[[2L]], pch = 3, cex = 1.4, lwd = 2,
      col = p$colours[[c]]
    )
  }
}

plot_pairs <- function(fit, shown, level, ...) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, shown, drop = FALSE]
  p <- mean_mixture(fit, shown)
  cluster <- predict(fit)
  colours <- grDevices::adjustcolor(p$colours, 0.6)[cluster]
  # pairs() gives a panel two columns but not their numbers; the position of the
  # panel gives them (its row and column: y and x)
  panel <- function(a, b, ...) {
    graphics::points(a, b, pch = 19, cex = 0.8, col = colours)
    draw_ellipses(p, level, graphics::par("mfg")[2:1])
  }
  graphics::pairs(x, panel = panel, gap = 0.3, las = 1, ...)
}
