# Plots of a linear regression.

#' Plot a linear regression
#'
#' * `"coefficients"`: the posterior mean of each slope with its 50% and `level`
#'   intervals. Slopes of columns with more than two values are shown per
#'   standard deviation of the column, so that they can be compared.
#' * `"response"`: the expected response along one variable, with the band that
#'   holds it pointwise with probability `level`, and lines between which a new
#'   response of weight 1 lies with that probability. Other numeric variables
#'   are set to their means, factors to their most frequent level: a line above
#'   the plot says where, unless `main` is given. Points are the observations. A
#'   factor is shown level by level. A variable that is a matrix has no curve.
#' * types of [plot.gibbsite_fit()], such as `"trace"` and `"density"`.
#'
#' The default is `"response"` for a regression on one numeric variable,
#' `"coefficients"` for others, and `"trace"` with `"density"` if `variables` are
#' given.
#'
#' @param x A fit of [gibbs_lm()].
#' @param type `NULL` for the default, or one of the above.
#' @param variable For `"response"`: the name of a variable; default the one
#'   with the largest effect relative to its standard deviation.
#' @param level Number between 0 and 1, default 0.95.
#' @param variables For `"coefficients"` and chains: `NULL`, or names of
#'   coefficients.
#' @param per For `"coefficients"`: `"sd"` (default) or `"unit"`, as in
#'   [plot.laplace_logistic()].
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type or variable;
#'   `gibbsite_error_state` if the data are needed and the fit does not hold
#'   them.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1)
#' plot(fit)
#' plot(fit, type = "response", variable = "wt")
#' @export
plot.gibbs_lm <- function(x, type = NULL, variable = NULL, level = 0.95,
                          variables = NULL, per = c("sd", "unit"), ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  own <- c("coefficients", "response")
  type <- check_plot_types(
    default_types(type, variables, default_lm_plot(x)), call, own
  )
  check_plots_with(variable, type, "response", call)
  check_plots_with(variables, type, c("coefficients", plot_types), call)
  per <- check_per(per)
  if (length(type) != 1L || !type %in% own) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- check_level(level)
  switch(type,
    coefficients = plot_coefficients(
      lm_coefficients_shown(x, variables, level, per, call), ...
    ),
    response = plot_lm_response(x, variable, level, call, ...)
  )
  invisible(x)
}

# One slope, of a variable that is a column of the data.
default_lm_plot <- function(fit) {
  model <- fit_part(fit, "model")
  slopes <- model$coefficients[model$layout$slopes]
  data <- model$frame$model
  line <- length(slopes) == 1L && !is.null(model$frame) &&
    (is.null(data) || is.numeric(data[[slopes]]) &&
       is.null(dim(data[[slopes]])))
  if (line) "response" else "coefficients"
}

lm_coefficients_shown <- function(fit, variables, level, per, call) {
  regression_coefficients_shown(
    fit, variables, coef.gibbs_lm(fit), coefficient_interval, level,
    model_design(fit_part(fit, "model"))$response$name, per, call
  )
}

# list(grid, mean, new, y, ylab): the expected and the new response along a
# variable, and the observations.
lm_response <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  w <- coefficient_draws(fit)
  grid <- response_grid(
    fit, frame, variable, abs(colMeans(w) / apply(w, 2L, stats::sd)), call
  )
  curve <- function(type) {
    predict(
      fit, grid$newdata, type = type, interval = TRUE, level = level,
      offset = typical_offset(model)
    )
  }
  list(
    grid = grid, mean = curve("mean"), new = curve("response"), y = frame$y,
    ylab = frame$response$name
  )
}

plot_lm_response <- function(fit, variable, level, call, ...) {
  shown <- lm_response(fit, variable, level, call)
  limits <- range(shown$new$lower, shown$new$upper, shown$y, na.rm = TRUE)
  if (is.numeric(shown$grid$values)) {
    draw_line(shown, limits, level, ...)
  } else {
    draw_response_levels(
      shown$grid, shown$mean, shown$ylab, limits, level, shown$y, ...
    )
  }
}

draw_line <- function(shown, limits, level, ...) {
  colour <- gibbsite_palette(1)
  band <- grDevices::adjustcolor(colour, 0.25)
  at <- shown$grid$at
  mean <- shown$mean
  words <- percent(level)
  key <- rbind(
    plot_key("mean", colour, lty = 1),
    plot_key(paste(words, "of the mean"), fill = band),
    plot_key(paste(words, "of new observations"), colour, lty = 3),
    plot_key("observation", grey_points, pch = 19)
  )
  old <- open_keyed(key)
  on.exit(graphics::par(old))
  defaults <- list(
    x = at, y = mean$mean, type = "n", ylim = limits,
    xlab = shown$grid$variable, ylab = shown$ylab, las = 1, bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::polygon(
    c(at, rev(at)), c(mean$lower, rev(mean$upper)), border = NA, col = band
  )
  graphics::matlines(
    at, cbind(shown$new$lower, shown$new$upper), col = colour, lty = 3,
    lwd = 1.5
  )
  graphics::points(
    shown$grid$values, shown$y, pch = 19, cex = 0.7, col = grey_points
  )
  graphics::lines(at, mean$mean, col = colour, lwd = 2)
  draw_others(shown$grid, ...)
  draw_key(key)
}
