# Plots of a logistic regression.

#' Plot a logistic regression
#'
#' * `"coefficients"` (default): the mode of each coefficient (for
#'   [gibbs_logistic()] its posterior mean) with its 50% and `level` intervals,
#'   the intercept left out. Coefficients of columns with
#'   more than two values are shown per standard deviation of the column, so
#'   that they can be compared; others, such as levels of factors, per unit.
#' * `"odds"`: the exponentials of these numbers, which are odds ratios, on a
#'   logarithmic axis. At 1 the odds do not change. The point is the exponential
#'   of the coefficient's estimate and not the mean of the odds ratio. Only for
#'   the logit link.
#' * `"response"`: the probability of success along one variable, with the band
#'   that holds it pointwise with probability `level`. Other numeric variables
#'   are set to their means, factors to their most frequent level: a line above
#'   the plot says where, unless `main` is given. A variable that is a matrix
#'   has no curve. Ticks above and below are the successes and failures; for
#'   counts, points are the observed proportions. A factor is shown level by
#'   level.
#' * `"calibration"`: observations in groups of similar predicted probability;
#'   their observed proportion of successes against the predicted one, with the
#'   interval that holds the proportion with probability `level` if the model is
#'   right.
#' * types of [plot.gibbsite_fit()], such as `"trace"` and `"density"`.
#'
#' @param x A fit of [laplace_logistic()] or [gibbs_logistic()].
#' @param type One of the above; `NULL`: `"coefficients"`, or `"trace"` and
#'   `"density"` if `variables` are given.
#' @param variable For `"response"`: the name of a variable; default the one
#'   with the largest effect relative to its standard deviation.
#' @param level Number between 0 and 1, default 0.95.
#' @param variables For `"coefficients"`, `"odds"` and chains: `NULL`, or names
#'   of coefficients.
#' @param per For `"coefficients"` and `"odds"`: `"sd"` (default), per standard
#'   deviation as described, or `"unit"`, per unit of each column. The axis says
#'   which. Contrasts of factors are per unit in either case.
#' @param groups For `"calibration"`: whole number, at least 2, of groups;
#'   default 10, fewer with fewer than 100 observations.
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type or variable;
#'   `gibbsite_error_state` if the data are needed and the fit does not hold
#'   them.
#' @examples
#' fit <- laplace_logistic(am ~ wt + qsec, mtcars, seed = 1)
#' plot(fit)
#' plot(fit, type = "odds")
#' plot(fit, type = "response", variable = "wt")
#' plot(fit, type = "calibration")
#' @export
plot.laplace_logistic <- function(x, type = NULL, variable = NULL,
                                  level = 0.95, variables = NULL,
                                  groups = NULL, per = c("sd", "unit"), ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  odds <- odds_type(x)
  own <- c("coefficients", odds, "response", "calibration")
  type <- check_plot_types(
    default_types(type, variables, "coefficients"), call, own
  )
  check_plots_with(variable, type, "response", call)
  check_plots_with(groups, type, "calibration", call)
  check_plots_with(variables, type, c("coefficients", odds, plot_types), call)
  per <- check_per(per)
  if (length(type) != 1L || !type %in% own) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- check_level(level)
  switch(type,
    coefficients = ,
    odds = plot_coefficients(
      logistic_coefficients_shown(
        x, variables, level, per, call, type == "odds"
      ),
      ...
    ),
    response = plot_response(x, variable, level, call, ...),
    calibration = plot_calibration(x, level, groups, call, ...)
  )
  invisible(x)
}

#' @rdname plot.laplace_logistic
#' @export
plot.gibbs_logistic <- plot.laplace_logistic

# ---- coefficients

# The type of plot that a logit link has in addition.
odds_type <- function(fit) {
  if (model_link(fit_part(fit, "model")) == "logit") "odds"
}

logistic_coefficients_shown <- function(fit, variables, level, per, call,
                                        odds = FALSE) {
  model <- fit_part(fit, "model")
  chosen <- coefficients_to_plot(variables, model$columns, call)
  shown <- laplace_coefficients_shown(fit, chosen, level)
  units <- column_units(
    model$frame$x, chosen, model$columns, per, model_design(model)
  )
  if (odds) {
    odds_shown(shown, units)
  } else {
    in_units(shown, units, link_words(model))
  }
}

# ---- response curve

# list(grid, curve, frame, ylab): the probability along a variable.
logistic_response <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  estimate <- laplace_estimates(fit)
  grid <- response_grid(
    fit, frame, variable, abs(estimate$mean / estimate$sd), call
  )
  curve <- predict(
    fit, grid$newdata, type = "response", interval = TRUE, level = level,
    offset = typical_offset(model)
  )
  list(
    grid = grid, curve = curve, frame = frame,
    ylab = paste("probability of", success_words(frame))
  )
}

plot_response <- function(fit, variable, level, call, ...) {
  shown <- logistic_response(fit, variable, level, call)
  if (is.numeric(shown$grid$values)) {
    draw_response_curve(shown, level, ...)
  } else {
    draw_response_levels(
      shown$grid, shown$curve, shown$ylab, 0:1, level, NULL, ...
    )
  }
}

success_words <- function(frame) {
  response <- frame$response
  switch(response$kind,
    factor = paste(response$name, "=", response$levels[[2L]]),
    counts = "success",
    number = paste(response$name, "= 1"),
    response$name
  )
}

draw_response_curve <- function(shown, level, ...) {
  grid <- shown$grid
  curve <- shown$curve
  frame <- shown$frame
  colour <- gibbsite_palette(1)
  band <- grDevices::adjustcolor(colour, 0.2)
  counts <- !is.null(frame$trials)
  at <- grid$at
  key <- rbind(
    plot_key("mean", colour, lty = 1),
    plot_key(paste0(percent(level), " band"), fill = band),
    plot_key(
      if (counts) "observed proportion" else "observed: top yes, bottom no",
      grey_points, pch = if (counts) 19 else 124
    )
  )
  old <- open_keyed(key)
  on.exit(graphics::par(old))
  defaults <- list(
    x = at, y = curve$mean, type = "n", ylim = c(-0.05, 1.05),
    xlab = grid$variable, ylab = shown$ylab, las = 1, bty = "l", yaxs = "i"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::polygon(
    c(at, rev(at)), c(curve$lower, rev(curve$upper)), border = NA, col = band
  )
  graphics::lines(at, curve$mean, col = colour, lwd = 2)
  if (counts) {
    graphics::points(
      grid$values, frame$y, pch = 19, col = grey_points,
      cex = 0.5 + sqrt(frame$trials / max(frame$trials))
    )
  } else {
    middle <- ifelse(frame$y > 0.5, 1.03, -0.03)
    graphics::segments(
      grid$values, middle - 0.015, grid$values, middle + 0.015,
      col = grey_points
    )
  }
  draw_others(grid, ...)
  draw_key(key)
}

# ---- calibration

calibration_shown <- function(fit, level, groups, call) {
  frame <- check_frame(fit_part(fit, "model"), call)
  calibration_table(fit, frame, level, groups, call)
}

plot_calibration <- function(fit, level, groups, call, ...) {
  table <- calibration_shown(fit, level, groups, call)
  colour <- gibbsite_palette(2)
  bar <- grDevices::adjustcolor(colour[[1L]], 0.45)
  key <- rbind(
    plot_key("observed", colour[[2L]], pch = 19),
    plot_key(
      paste0(percent(level), " interval if the model is right"), bar,
      lty = 1, lwd = 5
    )
  )
  old <- open_keyed(key, pty = "s")
  on.exit(graphics::par(old))
  defaults <- list(
    x = table$predicted, y = table$observed, type = "n", xlim = 0:1,
    ylim = 0:1, las = 1, bty = "l", xlab = "predicted probability",
    ylab = "observed proportion"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::abline(0, 1, col = "grey60", lty = 2)
  graphics::segments(
    table$predicted, table$lower, table$predicted, table$upper, col = bar,
    lwd = 5, lend = 1
  )
  graphics::points(
    table$predicted, table$observed, pch = 19, col = colour[[2L]], cex = 1.1
  )
  draw_key(key)
}

# Groups of equal numbers of trials by predicted probability. The intervals are
# of replicated data, so that they include both the binomial variation and the
# posterior uncertainty. They are computed from the fit's draws on a fixed
# stream, so that a plot can be reproduced.
calibration_table <- function(fit, frame, level, groups, call) {
  total <- frame$trials %||% rep(1, length(frame$y))
  if (is.null(groups)) {
    groups <- max(2, min(10, floor(sum(total) / 10)))
  }
  groups <- check_count(groups, min = 2, arg = "groups", call = call)
  model <- fit_part(fit, "model")
  rows <- prediction_rows(model, NULL, NULL, call)
  mean <- predict_moments(fit, rows, "response", level, FALSE)$mean
  rank <- order(mean)
  passed <- cumsum(total[rank]) - total[rank] / 2
  group <- integer(length(mean))
  group[rank] <- pmin(
    floor(groups * passed / sum(total)), groups - 1
  ) + 1L
  seed <- fit_part(fit, "running")$seed
  stream <- spare_stream(seed, length(fit), "plot", call)
  replicated <- with_stream(stream, {
    posterior_predict.laplace_logistic(fit, draws = min(1000, ndraws(fit)))
  }, call)$value
  share <- rowsum(t(replicated), group) / as.vector(rowsum(total, group))
  tails <- central_tails(level)
  bounds <- apply(share, 1L, stats::quantile, tails, names = FALSE)
  sums <- function(v) as.vector(rowsum(v * total, group) / rowsum(total, group))
  data.frame(
    predicted = sums(mean), observed = sums(frame$y), lower = bounds[1L, ],
    upper = bounds[2L, ], trials = as.vector(rowsum(total, group))
  )
}
