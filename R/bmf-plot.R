# Pictures of a matrix factorisation.

bmf_plot_types <- c("predicted", "coverage", "rmse")

picture_bmf <- function(fit, type = NULL, newdata = NULL, variables = NULL,
                        ..., call) {
  check_bmf_plot(fit_part(fit, "model"), type, call)
  type <- check_plot_types(
    default_types(type, variables, "predicted"), call, bmf_plot_types
  )
  if (type[[1L]] %in% plot_types) {
    return(picture_chains(fit, type, variables, call))
  }
  check_plots_with(variables, type, plot_types, call)
  shown <- plotted_ratings(fit, newdata, type, call)
  switch(type,
    predicted = picture_predicted(shown),
    coverage = picture_coverage(shown),
    rmse = picture_rmse(fit, shown)
  )
}

#' Plot a matrix factorisation
#'
#' `ggplot2::autoplot()` draws the same picture as a ggplot, see [autoplot].
#'
#' - `"predicted"`: posterior means against the ratings; for ratings with few
#'   different values a box for each of them.
#' - `"coverage"`: the share of ratings inside their central predictive
#'   intervals against the intervals' probability. With correct coverage the
#'   points lie on the line. With `link` or `range` an interval of whole ratings
#'   holds more than its probability. A rating at its end therefore counts in
#'   part: by that share of the rating's probability that completes the
#'   probability of the interval (Czado, Gneiting and Held 2009). With `range`,
#'   whole ratings, or others on a grid, stand for the values that round to
#'   them.
#' - `"rmse"`: for each chain the root mean square error of each draw in the
#'   data, by sweep. If ratings were held back, also the error in these ratings
#'   of the mean over all kept draws so far, of all chains.
#'
#' The first two are drawn for the ratings held back if `predict_at` had some
#' (or for `newdata`). Otherwise they are drawn for the ratings in the data, for
#' which the model looks better than it is: a line above says so.
#'
#' @param x A fit made by [gibbs_bmf()].
#' @param type `"predicted"` (default), `"coverage"` or `"rmse"`, or types of
#'   [plot.gibbsite_fit()], such as `"trace"` (the default if `variables` are
#'   given).
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
plot.gibbs_bmf <- plot_method(picture_bmf)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_bmf <- autoplot_method(picture_bmf)

# The error of each draw is not stored of ordinal ratings.
check_bmf_plot <- function(model, type, call) {
  if (is_ordinal(model) && "rmse" %in% type) {
    abort_argument(
      c(
        "{.arg type} must not be \"rmse\" for ratings with a {.arg link}: the
         error of each draw is not stored.",
        i = "See {.code type = \"trace\"} of {.val log_lik}."
      ),
      call = call
    )
  }
}

# The ratings compared with: list(held, kept, pairs, value, mean, below, note):
# what a type needs of it.
plotted_ratings <- function(fit, newdata, type, call) {
  model <- fit_part(fit, "model")
  held <- !is.null(newdata) || !all(is.na(model$pairs$value %||% NA))
  if (!held && type == "rmse") {
    return(list(held = FALSE))
  }
  if (!held && is.null(model$data)) {
    abort_no_data("newdata", call)
  }
  pairs <- if (held) {
    held_out_pairs(fit, newdata, call)
  } else {
    plotted_pairs(bmf_pairs(model, NULL, call))
  }
  kept <- kept_factors(fit, call = call)
  stand_ins <- if (type != "rmse") draw_stand_ins(kept, pairs)
  list(
    held = held, kept = kept, pairs = pairs, value = pairs$value,
    mean = if (type == "predicted") pair_moments(kept, pairs, stand_ins)$mean,
    below = if (type == "coverage") {
      below_and_up_to(kept, pairs, stand_ins)
    },
    note = if (held) {
      "ratings held back"
    } else {
      "ratings in the data of the fit: the model looks better than it is"
    }
  )
}

# rating_below() of each pair. Ratings on a grid that reaches both ends of
# `range`, as 1, ..., 5, stand for the values that round to them.
below_and_up_to <- function(kept, pairs, stand_ins) {
  half <- grid_step(pairs$value, kept$model$response$range) / 2
  by_blocks(kept, pairs, function(rows) {
    latent <- bmf_normals(kept, pairs, rows, stand_ins)
    value <- pairs$value[rows]
    cbind(
      rating_below(kept, value + half, latent)[, 1L],
      rating_below(kept, value - half, latent)[, 2L]
    )
  })
}

# The step of the grid from one end of `range` to the other that has all values;
# 0 for none.
grid_step <- function(value, range) {
  if (is.null(range) || length(unique(value)) < 2L) {
    return(0)
  }
  step <- min(diff(sort(unique(value))))
  away <- (c(value, range[[2L]]) - range[[1L]]) / step
  if (all(abs(away - round(away)) < 1e-6)) step else 0
}

# At most 5,000 pairs, spread evenly: more would overlap in the plot.
plotted_pairs <- function(pairs) {
  some_pairs(pairs, evenly(length(pairs$user), 5000))
}

# Boxes of few different ratings, points of many. The table: value, mean.
picture_predicted <- function(shown) {
  table <- data.frame(value = shown$value, mean = shown$mean)
  few <- length(unique(table$value)) <= 12L
  colour <- gibbsite_palette(1)
  some <- table[evenly(nrow(table), 5000), ]
  parts <- if (few) box_layers(table) else list(
    picture_layer("point", data.frame(
      x = some$value, y = some$mean, size = 0.9
    ), "rating")
  )
  picture(
    table, c(list(picture_layer("diagonal", data.frame(at = 0), "equal")),
             parts),
    rbind(
      if (few) {
        rbind(
          plot_key("half of the ratings", colour, fill = pale(colour, 0.35)),
          plot_key("median", colour, lty = 1, lwd = 3),
          plot_key("whisker", colour, lty = 1, lwd = 1, shown = FALSE)
        )
      } else {
        plot_key("rating", pale(colour, 0.4), pch = 19)
      },
      rule_key("equal", shown = TRUE, lty = 2)
    ), x = picture_axis("rating", at = if (few) sort(unique(table$value))),
    # as far as the ratings, so that the line of equal values is seen
    y = picture_axis("posterior mean", limits = range(table)), note = shown$note
  )
}

# A box, a median and whiskers for each value (Tukey's, as boxplot() has them).
box_layers <- function(table) {
  values <- sort(unique(table$value))
  half <- 0.3 * if (length(values) > 1L) min(diff(values)) else 1
  stats <- t(vapply(split(table$mean, table$value), function(x) {
    grDevices::boxplot.stats(x)$stats
  }, numeric(5)))
  list(
    picture_layer("segment", data.frame(
      x = values, xend = values, y = stats[, 1L], yend = stats[, 5L]
    ), "whisker"),
    picture_layer("rect", data.frame(
      xmin = values - half, xmax = values + half, ymin = stats[, 2L],
      ymax = stats[, 4L]
    ), "half of the ratings"),
    picture_layer("segment", data.frame(
      x = values - half, xend = values + half, y = stats[, 3L],
      yend = stats[, 3L]
    ), "median")
  )
}

picture_coverage <- function(shown) {
  table <- coverage_shown(shown)
  picture(
    table, list(
      picture_layer("band", data.frame(
        x = table$level, lower = table$level - table$error,
        upper = table$level + table$error
      ), "2 standard errors"),
      picture_layer("diagonal", data.frame(at = 0), "equal"),
      picture_layer("point", data.frame(
        x = table$level, y = table$inside, size = 1.5
      ), "ratings")
    ), rbind(
      plot_key("ratings", gibbsite_palette(1), pch = 19),
      plot_key("2 standard errors", NA, fill = "grey85"),
      rule_key("equal", lty = 2)
    ), x = picture_axis("probability of the interval", limits = 0:1),
    y = picture_axis("share of ratings inside", limits = 0:1),
    note = shown$note
  )
}

# The table: sweep, error, chain.
picture_rmse <- function(fit, shown) {
  running <- fit_part(fit, "running")
  rmse <- draws_of(fit, "rmse")
  rows <- evenly(nrow(rmse), 5000)
  chains <- seq_len(ncol(rmse))
  table <- data.frame(
    sweep = as.numeric(running$burnin) + rows * as.numeric(running$thin),
    error = as.vector(rmse[rows, ]),
    chain = factor(rep(chains, each = length(rows)))
  )
  held <- if (shown$held) running_error(fit, shown)
  labels <- paste0("in the data, chain ", chains)
  picture(
    table, list(
      picture_layer("line", data.frame(
        x = table$sweep, y = table$error, group = table$chain
      ), labels[table$chain], 0.75),
      picture_layer("line", data.frame(
        x = as.double(held$sweep), y = as.double(held$error)
      ), "held back, mean so far")
    ), rbind(
      plot_key("held back, mean so far", lty = 1, lwd = 2.5,
               shown = shown$held),
      plot_key(labels, gibbsite_palette(length(chains)), lty = 1, lwd = 0.8,
               shown = length(chains) <= 8L |
                 chains %in% range(chains))
    ), x = picture_axis("sweep"), y = picture_axis("root mean square error")
  )
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

# Root mean square error in the ratings held back: of the mean over the kept
# draws so far, all chains together.
running_error <- function(fit, shown) {
  running <- fit_part(fit, "running")
  kept <- shown$kept
  pairs <- plotted_pairs(shown$pairs)
  given <- predictor_means(kept, pairs)
  numbers <- bmf_kept(kept$states[[1]])[kept$which[[1]]]
  of_chain <- lapply(seq_along(kept$states), function(k) {
    given[kept$chain == k, , drop = FALSE]
  })
  rows <- min(vapply(of_chain, nrow, 0L))
  total <- 0
  error <- numeric(rows)
  for (s in seq_len(rows)) {
    total <- total +
      Reduce(`+`, lapply(of_chain, function(m) m[s, ]))
    error[[s]] <- sqrt(mean((pairs$value - total / (s * length(of_chain)))^2))
  }
  list(
    error = error, sweep = as.numeric(running$burnin) +
      numbers[seq_len(rows)] * running_of_job(running)$thin
  )
}
