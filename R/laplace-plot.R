# Plots of a Laplace approximation.

picture_laplace <- function(fit, type = NULL, level = 0.95, variables = NULL,
                            ..., call) {
  model <- fit_part(fit, "model")
  type <- check_plot_types(
    type %||% if (is.null(model$frame)) "coefficients" else "density", call,
    c("coefficients", if (!is.null(model$path)) "path")
  )
  if (identical(type, "path")) {
    return(picture_path(model, variables, call))
  }
  if (is_target_picture(model, type)) {
    return(picture_target(fit, variables, call))
  }
  if (!identical(type, "coefficients")) {
    return(picture_chains(fit, type, variables, call, ...))
  }
  level <- check_level(level, call = call)
  chosen <- choose_variables(variables, model$columns, call)
  estimate <- lapply(coefficient_estimates(fit), `[`, chosen)
  few <- clearest(estimate, is.null(variables), "parameters")
  chosen <- chosen[few$rows]
  interval <- function(level) {
    parameter_interval(fit, level)[chosen, , drop = FALSE]
  }
  picture_intervals(intervals_shown(
    estimate$mean[chosen], interval(level), interval(0.5), level, "value",
    estimate = "mode", note = few$note, scaled = TRUE
  ))
}

#' @rdname laplace-estimates
#' @export
plot.gibbsite_laplace <- graphical_method(picture_laplace)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_laplace <- autoplot_method(picture_laplace)

# ---- The approximation beside its target -------------------------------------

is_target_picture <- function(model, type) {
  inherits(model, "laplace_model") && identical(type, "density")
}

# The table has a row for each point of the curves: variable, x, and the
# densities `target` and `normal` there.
picture_target <- function(fit, variables, call, most = 6L) {
  model <- fit_part(fit, "model")
  if (is.null(model$frame)) {
    abort_no_data(call = call, hint = "{.code type = \"coefficients\"} needs
      none.")
  }
  chosen <- choose_variables(variables, model$columns, call)
  shown <- if (is.null(variables)) utils::head(chosen, most) else chosen
  if (length(shown) > 30L) {
    abort_argument(
      "{.arg variables} must be 30 at most, not {length(shown)}.", call = call
    )
  }
  target <- if (length(model$columns) == 1L) {
    grid_target(fit, call)
  } else {
    weighted_target(fit, call)
  }
  table <- in_panels(lapply(shown, function(name) {
    curve <- target$curve(match(name, model$columns))
    data.frame(curve, normal = stats::dnorm(
      curve$x, laplace_mode(model)[[name]], laplace_sd(model)[[name]]
    ))
  }), shown)
  modes <- in_panels(lapply(shown, function(name) {
    data.frame(x = laplace_mode(model)[[name]])
  }), shown)
  names(table)[names(table) == "panel"] <- "variable"
  several <- length(shown) > 1L
  picture(
    table, target_layers(table, modes), target_key(),
    x = picture_axis(if (several) "value" else shown, free = TRUE),
    y = picture_axis("density", free = TRUE, floor = TRUE),
    note = c(
      if (length(shown) < length(chosen)) paste0(
        "The first ", most, " of ", digits(length(chosen)), " parameters; ",
        "`variables` names others."
      ), target$note
    ),
    panels = if (several) {
      data.frame(panel = shown, title = shown, no_y = TRUE)
    }
  )
}

target_layers <- function(table, modes) {
  at <- data.frame(panel = table$variable, x = table$x)
  list(
    picture_layer("band", data.frame(at, lower = 0, upper = table$normal),
                  "normal"),
    picture_layer("vline", modes, "mode"),
    picture_layer("line", data.frame(at, y = table$normal), "approximation"),
    picture_layer("line", data.frame(at, y = table$target), "target")
  )
}

target_key <- function() {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("approximation", colours[[1L]], lty = 2),
    plot_key("target", colours[[2L]], lty = 1),
    plot_key("normal", NA, fill = pale(colours[[1L]], 0.2), shown = FALSE),
    rule_key("mode", shown = TRUE)
  )
}

# A target: list(curve, note), where curve(j) has the columns x and target.

# The marginal densities of weighted draws.
weighted_target <- function(fit, call) {
  model <- fit_part(fit, "model")
  draws <- length(fit) * nrow(.subset2(fit, 1L))
  both <- mixture_draws(fit, min(draws, 4000), call)
  check_some_density(both$log_joint, call)
  weighed <- mixture_weights(model, both$w, both$log_joint)
  weight <- weighed$weight / sum(weighed$weight)
  k <- weighed$pareto_k
  list(
    curve = function(j) weighted_density(
      both$w[, j], weight, weighed$ess, model$data$map[[j]],
      laplace_sd(model)[[j]]
    ),
    note = paste0(
      "Effective size ", digits(floor(weighed$ess)), " of ",
      digits(length(weight)), " weighted draws.",
      if (isTRUE(k >= 0.5)) paste0(
        " ", correction_line(list(corrected_k = k))
      )
    )
  )
}

weighted_density <- function(x, weight, size, centre, sd) {
  ends <- weighted_quantile(x, weight, c(0.001, 0.25, 0.75, 0.999))
  limits <- target_limits(ends[c(1L, 4L)], centre, sd)
  spread <- min(
    sqrt(sum(weight * (x - sum(weight * x))^2)),
    (ends[[3L]] - ends[[2L]]) / 1.34
  )
  curve <- stats::density(
    x, if (spread > 0) 0.9 * spread / size^0.2 else sd / 20, weights = weight,
    from = limits[[1L]], to = limits[[2L]], n = 201L
  )
  data.frame(x = curve$x, target = curve$y)
}

# Both curves, as far as 8 standard deviations of the approximation.
target_limits <- function(ends, centre, sd) {
  ends <- range(ends, centre + c(-3.3, 3.3) * sd)
  pmin(pmax(ends, centre - 8 * sd), centre + 8 * sd)
}

# The density of one parameter on a grid of 50 points per standard deviation, as
# far as it is above a ten thousandth of its largest value.
grid_target <- function(fit, call) {
  model <- fit_part(fit, "model")
  sd <- laplace_sd(model)[[1L]]
  wide <- 8
  repeat {
    x <- model$data$map + seq(-wide, wide, by = 0.02) * sd
    log_joint <- joint_of_draws(fit, cbind(x), call)
    height <- exp(log_joint - max(log_joint))
    if (max(height[c(1L, length(x))]) < 1e-4 || wide >= 64) break
    wide <- 2 * wide
  }
  share <- height / sum(height)
  ends <- weighted_quantile(x, share, c(0.001, 0.999))
  limits <- target_limits(ends, model$data$map, sd)
  drawn <- x >= limits[[1L]] & x <= limits[[2L]]
  list(curve = function(j) {
    data.frame(x = x[drawn], target = share[drawn] / (0.02 * sd))
  })
}

# ---- The path of gradient ascent ---------------------------------------------

# The table has a row for each step: step, the parameters, log_density.
picture_path <- function(model, variables, call) {
  names <- utils::head(choose_variables(variables, model$columns, call), 6L)
  table <- data.frame(
    step = seq_len(nrow(model$path)) - 1L,
    model$path[, names, drop = FALSE],
    log_density = model$trace[seq_len(nrow(model$path))], check.names = FALSE
  )
  if (length(names) == 2L && length(model$columns) == 2L) {
    path_in_plane(model, table, names, call)
  } else {
    path_by_step(model, table, names)
  }
}

path_key <- function() {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("path", colours[[1L]], lty = 1, lwd = 1.5, pch = 19),
    plot_key("mode", colours[[2L]], pch = 4),
    plot_key("log density", "grey60", lty = 1, lwd = 1),
    rule_key()
  )
}

path_words <- function(model) {
  paste0(
    "Gradient ascent, rho = ", format(model$rho), ": ",
    counted(nrow(model$path) - 1L, "step")
  )
}

path_in_plane <- function(model, table, names, call) {
  key <- path_key()
  mode <- laplace_mode(model)[names]
  points <- data.frame(x = table[[names[[1L]]]], y = table[[names[[2L]]]])
  sd <- 3 * laplace_sd(model)[names]
  limits <- Map(function(x, mode, sd) {
    grDevices::extendrange(c(x, mode - sd, mode + sd), f = 0.05)
  }, points, mode, sd)
  contours <- ascent_contours(
    model, limits, min(table$log_density), names, call
  )
  key$shown[key$label == "log density"] <- NROW(contours) > 0L
  picture(
    table, list(
      picture_layer("line", contours, "log density"),
      picture_layer("line", points, "path"),
      picture_layer("point", data.frame(points, size = 1), "path", 0.7),
      picture_layer("point", data.frame(x = mode[[1L]], y = mode[[2L]],
                                        size = 4), "mode")
    ), key[key$label != "rule", ],
    x = picture_axis(names[[1L]], limits = limits[[1L]]),
    y = picture_axis(names[[2L]], limits = limits[[2L]]),
    note = path_words(model)
  )
}

# Where log q is k^2 / 2 below its maximum, k = 1, 2, ... as far as the start
# is, at most twelve such lines.
ascent_contours <- function(model, limits, lowest, names, call) {
  if (is.null(model$frame)) {
    return(NULL)
  }
  # as far as the margins that an axis has beyond its limits
  grid <- lapply(limits, function(ends) {
    seq_range(grDevices::extendrange(ends, f = 0.05), 60L)
  })
  points <- as.matrix(expand.grid(grid))[, match(model$columns, names)]
  height <- apply(points, 1L, density_or_zero(model$frame, call))
  last <- max(3, sqrt(2 * (model$log_joint_map - lowest)))
  steps <- seq(1, last, length.out = min(12, floor(last)))
  contour_lines(
    grid[[1L]], grid[[2L]], matrix(pmax(height, -1e300), 60L),
    model$log_joint_map - steps^2 / 2
  )
}

path_by_step <- function(model, table, names) {
  shown <- c(names, "log_density")
  lines <- in_panels(lapply(shown, function(name) {
    data.frame(x = table$step, y = table[[name]])
  }), shown)
  rules <- in_panels(lapply(laplace_mode(model)[names], function(mode) {
    data.frame(y = mode)
  }), names)
  rules$panel <- factor(rules$panel, shown)
  key <- path_key()
  key$pch <- NA
  left <- length(model$columns) - length(names)
  picture(
    table, list(
      picture_layer("hline", rules, "mode of a parameter"),
      picture_layer("line", lines, "path")
    ), rbind(
      key[key$label == "path", ], rule_key("mode of a parameter", TRUE)
    ),
    x = picture_axis("step"), y = picture_axis("value", free = TRUE),
    note = c(path_words(model), if (left > 0L) {
      paste0(length(names), " of ", length(model$columns), " parameters")
    }),
    panels = data.frame(panel = shown, title = c(names, "log density"))
  )
}
