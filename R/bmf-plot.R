# Plots of a matrix factorisation.

bmf_plot_types <- c("predicted", "coverage", "rmse")

#' Plot a matrix factorisation
#'
#' - `"predicted"`: posterior means against the ratings; for ratings with few
#'   different values a box for each of them.
#' - `"coverage"`: the share of ratings inside their central predictive
#'   intervals against the intervals' probability. With correct coverage the
#'   points lie on the line.
#' - `"rmse"`: for each chain the root mean square error of each draw in the
#'   data, by sweep. If ratings were held back, also the error in these ratings
#'   of the mean over all kept draws so far, of all chains.
#'
#' The first two are drawn for the ratings held back if `predict_at` had some
#' (or for `newdata`). Otherwise they are drawn for the ratings in the data, for
#' which the model looks better than it is.
#'
#' @param x A fit made by [gibbs_bmf()].
#' @param type Any of `"predicted"`, `"coverage"` and `"rmse"` (default: all),
#'   or types of [plot.gibbsite_fit()], such as `"trace"`.
#' @param newdata `NULL`, or a data frame of pairs with ratings.
#' @param variables For types of [plot.gibbsite_fit()]: the variables to show.
#' @param ... Not used.
#' @return `x`, invisibly. The graphical parameters are restored.
#' @section Errors: `gibbsite_error_argument` for an unknown type, and if there
#'   are no ratings to compare with.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' back <- sample(nrow(made), 50)
#' fit <- gibbs_bmf(made[-back, ], rank = 2, predict_at = made[back, ],
#'   draws = 200, burnin = 200, chains = 2, seed = 1
#' )
#' plot(fit)
#' plot(fit, type = "trace", variables = c("beta", "log_joint"))
#' @export
plot.gibbs_bmf <- function(x, type = NULL, newdata = NULL, variables = NULL,
                           ...) {
  call <- rlang::current_env()
  check_no_more(...)
  check_whole_fit(x, "x", call)
  type <- check_plot_types(type %||% bmf_plot_types, call, bmf_plot_types)
  if (any(type %in% plot_types)) {
    if (!all(type %in% plot_types)) {
      abort_argument(
        "{.arg type} must be some of {.val {bmf_plot_types}}, or some of
         {.val {plot_types}}, not both."
      )
    }
    plot.gibbsite_fit(x, type, variables)
    return(invisible(x))
  }
  check_plots_with(variables, type, plot_types, call)
  shown <- plotted_ratings(x, newdata, type, call)
  old <- graphics::par(
    mfrow = c(1L, length(type)), mar = c(4.1, 4.1, 3, 1.1), las = 1,
    mgp = c(2.6, 0.7, 0), bty = "l", cex = 0.85
  )
  on.exit(graphics::par(old))
  for (one in type) {
    switch(one,
      predicted = plot_predicted(shown),
      coverage = plot_coverage(shown),
      rmse = plot_rmse(x, shown)
    )
  }
  invisible(x)
}

# The ratings compared with: list(value, mean, below, title, pairs, kept).
plotted_ratings <- function(fit, newdata, type, call) {
  model <- fit_part(fit, "model")
  held <- !is.null(newdata) || !all(is.na(model$pairs$value %||% NA))
  if (!held && is.null(model$data)) {
    if (identical(unique(type), "rmse")) {
      return(list(held = FALSE))
    }
    abort_no_data("newdata", call)
  }
  pairs <- if (held) {
    held_out_pairs(fit, newdata, call)
  } else {
    spread_pairs(bmf_pairs(model, NULL, call), 20000)
  }
  kept <- kept_factors(fit, call = call)
  list(
    held = held, kept = kept, pairs = pairs, value = pairs$value,
    mean = pair_moments(kept, pairs)$mean,
    below = score_pairs(kept, pairs)[, 2L],
    where = if (held) "held back" else "in the data"
  )
}

# At most `most` pairs, spread evenly: more would overlap in the plot.
spread_pairs <- function(pairs, most) {
  n <- length(pairs$user)
  rows <- unique(round(seq(1, n, length.out = min(n, most))))
  pairs$ids <- lapply(pairs$ids, `[`, rows)
  pairs[c("user", "item", "value", "unknown")] <- lapply(
    pairs[c("user", "item", "value", "unknown")], function(x) x[rows]
  )
  pairs
}

plot_predicted <- function(shown) {
  blue <- gibbsite_palette(1)
  levels <- sort(unique(shown$value))
  if (length(levels) <= 12) {
    step <- if (length(levels) > 1) min(diff(levels)) else 1
    graphics::plot(
      range(levels) + c(-0.6, 0.6) * step, range(shown$mean, levels),
      type = "n", xlab = "rating", ylab = "posterior mean", xaxt = "n"
    )
    graphics::axis(1, levels)
    graphics::abline(0, 1, lty = 2, col = "grey40")
    graphics::boxplot(
      split(shown$mean, shown$value), at = levels, add = TRUE, axes = FALSE,
      boxwex = 0.6 * step, outline = FALSE, lty = 1, staplewex = 0,
      col = grDevices::adjustcolor(blue, 0.35), border = blue
    )
  } else {
    some <- unique(round(seq(
      1, length(shown$value), length.out = min(5000, length(shown$value))
    )))
    graphics::plot(
      shown$value[some], shown$mean[some], pch = 19, cex = 0.35,
      col = grDevices::adjustcolor(blue, 0.4), xlab = "rating",
      ylab = "posterior mean"
    )
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  error <- sqrt(mean((shown$value - shown$mean)^2))
  plot_title(
    paste("Ratings", shown$where), paste("RMSE", format(error, digits = 4))
  )
}

plot_coverage <- function(shown) {
  level <- seq(0.05, 0.95, by = 0.05)
  inside <- vapply(level, function(p) {
    mean(abs(shown$below - 0.5) <= p / 2)
  }, 0)
  graphics::plot(
    level, inside, type = "n", xlim = 0:1, ylim = 0:1, xaxs = "i", yaxs = "i",
    xlab = "probability of the interval", ylab = "share of ratings inside"
  )
  error <- 2 * sqrt(level * (1 - level) / length(shown$value))
  graphics::polygon(
    c(level, rev(level)), c(level - error, rev(level + error)), border = NA,
    col = "grey88"
  )
  graphics::abline(0, 1, lty = 2, col = "grey40")
  graphics::points(
    level, inside, pch = 19, cex = 0.8, col = gibbsite_palette(1), xpd = NA
  )
  plot_title(
    paste("Intervals,", shown$where),
    sprintf(
      "%.0f%% inside 90%% intervals",
      100 * mean(abs(shown$below - 0.5) <= 0.45)
    )
  )
}

plot_rmse <- function(fit, shown) {
  running <- fit_part(fit, "running")
  rmse <- draws_of(fit, "rmse")
  rows <- unique(round(seq(1, nrow(rmse), length.out = min(5000, nrow(rmse)))))
  sweeps <- as.numeric(running$burnin) + rows * as.numeric(running$thin)
  curve <- if (shown$held) running_error(fit, shown)
  graphics::plot(
    range(sweeps), range(rmse, curve$error), type = "n", xlab = "sweep",
    ylab = "root mean square error"
  )
  colours <- grDevices::adjustcolor(gibbsite_palette(ncol(rmse)), 0.6)
  graphics::matlines(
    sweeps, rmse[rows, , drop = FALSE], lty = 1, lwd = 0.6, col = colours
  )
  if (shown$held) {
    graphics::lines(curve$sweep, curve$error, lwd = 2.5)
    graphics::legend(
      "right", c("held back, mean so far", "in the data, each draw"),
      lwd = c(2.5, 1), col = c("black", colours[[1]]), bty = "n", cex = 0.85
    )
  }
  plot_title(
    "Error by sweep", if (shown$held) "" else "in the data, each draw"
  )
}

# Root mean square error in the ratings held back: of the mean over the kept
# draws so far, all chains together.
running_error <- function(fit, shown) {
  running <- fit_part(fit, "running")
  kept <- shown$kept
  linear <- new_pair_moments(kept, spread_pairs(shown$pairs, 5000))$mean
  value <- spread_pairs(shown$pairs, 5000)$value
  numbers <- bmf_kept(kept$model, kept$states[[1]])[kept$which[[1]]]
  of_chain <- lapply(seq_along(kept$states), function(k) {
    linear[kept$chain == k, , drop = FALSE]
  })
  rows <- min(vapply(of_chain, nrow, 0L))
  total <- 0
  error <- numeric(rows)
  for (s in seq_len(rows)) {
    total <- total +
      Reduce(`+`, lapply(of_chain, function(m) m[s, ]))
    error[[s]] <- sqrt(mean((value - total / (s * length(of_chain)))^2))
  }
  list(
    error = error, sweep = as.numeric(running$burnin) +
      numbers[seq_len(rows)] * as.numeric(running$thin)
  )
}
