# Plots of a matrix factorisation.

bmf_plot_types <- c("predicted", "coverage", "rmse")

#' Plot a matrix factorisation
#'
#' - `"predicted"`: posterior means against the ratings; for ratings with few
#'   different values a box for each of them.
#' - `"coverage"`: the share of ratings inside their central predictive
#'   intervals against the intervals' probability. With correct coverage the
#'   points lie on the line. With `link` or `range` an interval of whole ratings
#'   holds more than its probability. A rating at its end therefore counts in
#'   part: by that share of the rating's probability that completes the
#'   probability of the interval (Czado, Gneiting and Held 2009).
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
#'   or types of [plot.gibbsite_fit()], such as `"trace"` (the default if
#'   `variables` are given).
#' @param newdata `NULL`, or a data frame of pairs with ratings.
#' @param variables As in [plot.gibbsite_fit()].
#' @param ... Not used.
#' @return `x`, invisibly. The graphical parameters are restored.
#' @section Errors: `gibbsite_error_argument` for an unknown type, and if there
#'   are no ratings to compare with.
#' @references
#' Czado C, Gneiting T, Held L (2009). Predictive model assessment for count
#' data. *Biometrics* 65, 1254-1261. \doi{10.1111/j.1541-0420.2009.01191.x}
#' @seealso [plot.gibbsite_fit()] for the chains,
#'   [autoplot()][autoplot.gibbs_bmf] for ggplot2, [held_out()].
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
  own <- bmf_plot_types_of(fit_part(x, "model"), type, call)
  type <- check_plot_types(
    default_types(type, variables, own), call, bmf_plot_types
  )
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
  old <- graphics::par(c("mfrow", "las", "bty", "cex", "mar", "mgp"))
  on.exit(graphics::par(old))
  graphics::par(
    mfrow = page_grid(length(type)), las = 1, bty = "l", cex = 0.85
  )
  for (one in type) {
    switch(one,
      predicted = plot_predicted(shown),
      coverage = plot_coverage(shown),
      rmse = plot_rmse(x, shown)
    )
  }
  invisible(x)
}

# The types that a fit has: the error of each draw is not stored of ordinal
# ratings.
bmf_plot_types_of <- function(model, type, call) {
  if (!is_ordinal(model)) {
    return(bmf_plot_types)
  }
  if ("rmse" %in% type) {
    abort_argument(
      c(
        "{.arg type} must not be \"rmse\" for ratings with a {.arg link}: the
         error of each draw is not stored.",
        i = "See {.code type = \"trace\"} of {.val log_lik}."
      ),
      call = call
    )
  }
  setdiff(bmf_plot_types, "rmse")
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
    some_pairs_of(bmf_pairs(model, NULL, call), 20000)
  }
  kept <- kept_factors(fit, call = call)
  stand_ins <- draw_stand_ins(kept, pairs)
  list(
    held = held, kept = kept, pairs = pairs, value = pairs$value,
    mean = pair_moments(kept, pairs, stand_ins)$mean,
    below = score_pairs(kept, pairs, stand_ins)[, 2:3, drop = FALSE],
    where = if (held) "held back" else "in the data"
  )
}

# At most `most` pairs, spread evenly: more would overlap in the plot.
some_pairs_of <- function(pairs, most) {
  rows <- evenly(length(pairs$user), most)
  pairs$ids <- lapply(pairs$ids, `[`, rows)
  pairs[c("user", "item", "value", "unknown")] <- lapply(
    pairs[c("user", "item", "value", "unknown")], function(x) x[rows]
  )
  pairs
}

plot_predicted <- function(shown) {
  blue <- gibbsite_palette(1)
  levels <- sort(unique(shown$value))
  few <- length(levels) <= 12
  pale <- grDevices::adjustcolor(blue, 0.4)
  key <- rbind(
    if (few) {
      plot_key("half of the ratings", fill = pale)
    } else {
      plot_key("rating", pale, pch = 19)
    },
    plot_key("equal", "grey40", lty = 2, lwd = 1)
  )
  open_keyed(key, c(3.4, 4.1, 3, 1.1))
  if (few) {
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
      shown$value[some], shown$mean[some], pch = 19, cex = 0.5, col = pale,
      xlab = "rating", ylab = "posterior mean"
    )
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  error <- sqrt(mean((shown$value - shown$mean)^2))
  plot_title(
    paste("Ratings", shown$where), paste("RMSE", format(error, digits = 4))
  )
  draw_key(key)
}

# How much of each rating is inside its central interval of probability p: the
# probability that a value drawn uniformly between P(rating < value) and
# P(rating <= value) is between (1 - p) / 2 and (1 + p) / 2 (Czado, Gneiting and
# Held 2009, doi:10.1111/j.1541-0420.2009.01191.x). below: as rating_below()
# gives it.
share_inside <- function(below, p) {
  high <- below[, 1L]
  low <- below[, 2L]
  ends <- (1 + c(-p, p)) / 2
  width <- high - low
  overlap <- pmin(high, ends[[2L]]) - pmax(low, ends[[1L]])
  ifelse(width > 0, pmax(overlap, 0) / width, as.numeric(overlap >= 0))
}

# A row for each probability of an interval: level, inside (the share of ratings
# in it), error (two standard errors of the share).
coverage_shown <- function(shown) {
  level <- seq(0.05, 0.95, by = 0.05)
  data.frame(
    level = level,
    inside = vapply(level, function(p) {
      mean(share_inside(shown$below, p))
    }, 0),
    error = 2 * sqrt(level * (1 - level) / length(shown$value))
  )
}

plot_coverage <- function(shown) {
  table <- coverage_shown(shown)
  level <- table$level
  key <- rbind(
    plot_key("ratings", gibbsite_palette(1), pch = 19),
    plot_key("2 standard errors", fill = "grey85")
  )
  open_keyed(key, c(3.4, 4.1, 3, 1.1))
  graphics::plot(
    level, table$inside, type = "n", xlim = 0:1, ylim = 0:1, xaxs = "i",
    yaxs = "i", xlab = "probability of the interval",
    ylab = "share of ratings inside"
  )
  graphics::polygon(
    c(level, rev(level)), c(level - table$error, rev(level + table$error)),
    border = NA, col = "grey88"
  )
  graphics::abline(0, 1, lty = 2, col = "grey40")
  graphics::points(
    level, table$inside, pch = 19, cex = 0.8, col = gibbsite_palette(1),
    xpd = NA
  )
  plot_title(
    paste("Intervals,", shown$where),
    sprintf(
      "%.0f%% inside 95%% intervals",
      100 * mean(share_inside(shown$below, 0.95))
    )
  )
  draw_key(key)
}

# list(sweeps, rmse, curve): the error of each draw in the data, sweeps x
# chains, and running_error().
rmse_shown <- function(fit, shown) {
  running <- fit_part(fit, "running")
  rmse <- draws_of(fit, "rmse")
  rows <- unique(round(seq(1, nrow(rmse), length.out = min(5000, nrow(rmse)))))
  list(
    sweeps = as.numeric(running$burnin) + rows * as.numeric(running$thin),
    rmse = rmse[rows, , drop = FALSE],
    curve = if (shown$held) running_error(fit, shown)
  )
}

plot_rmse <- function(fit, shown) {
  error <- rmse_shown(fit, shown)
  curve <- error$curve
  chains <- ncol(error$rmse)
  colours <- grDevices::adjustcolor(gibbsite_palette(chains), 0.75)
  some <- if (chains <= 8) seq_len(chains) else c(1, chains)
  labels <- paste("in the data, chain", some)
  labels[-1] <- paste("chain", some[-1])
  key <- rbind(
    if (shown$held) plot_key("held back, mean so far", lty = 1, lwd = 2.5),
    plot_key(labels, colours[some], lty = 1)
  )
  open_keyed(key, c(3.4, 4.1, 3, 1.1))
  # the room that the heights' labels take differs
  graphics::par(mgp = c(2.9, 0.7, 0))
  graphics::plot(
    range(error$sweeps), range(error$rmse, curve$error), type = "n", xlab = "",
    ylab = "root mean square error"
  )
  graphics::title(xlab = "sweep", line = 2.3)
  graphics::matlines(
    error$sweeps, error$rmse, lty = 1, lwd = trace_width(error$rmse),
    col = colours
  )
  if (shown$held) {
    graphics::lines(curve$sweep, curve$error, lwd = 2.5)
  }
  plot_title(
    "Error by sweep",
    if (shown$held) "in the data and held back" else "in the data, each draw"
  )
  draw_key(key)
}

# Root mean square error in the ratings held back: of the mean over the kept
# draws so far, all chains together.
running_error <- function(fit, shown) {
  running <- fit_part(fit, "running")
  kept <- shown$kept
  given <- predictor_means(kept, some_pairs_of(shown$pairs, 5000))
  value <- some_pairs_of(shown$pairs, 5000)$value
  numbers <- bmf_kept(kept$model, kept$states[[1]])[kept$which[[1]]]
  of_chain <- lapply(seq_along(kept$states), function(k) {
    given[kept$chain == k, , drop = FALSE]
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
