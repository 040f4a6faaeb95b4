# Plots of a regression.

picture_regression <- function(fit, type = NULL, variable = NULL, level = 0.95,
                               variables = NULL, groups = NULL,
                               per = c("sd", "unit"), term = NULL, ..., call) {
  model <- fit_part(fit, "model")
  own <- regression_plots(model)
  type <- check_plot_types(
    default_types(type, variables, default_regression_plot(fit)), call, own
  )
  of_groups <- intersect(c("groups", "shrinkage"), c("groups", own))
  check_plots_with(variable, type, "response", call)
  check_plots_with(groups, type, "calibration", call)
  check_plots_with(term, type, of_groups, call)
  check_plots_with(
    variables, type,
    c(intersect(c("coefficients", "odds"), own), plot_types), call
  )
  per <- check_choice(per, c("sd", "unit"), call = call)
  level <- check_level(level, call = call)
  if (is_target_picture(model, type)) {
    return(picture_target(fit, variables, call))
  }
  if (!type[[1L]] %in% own) {
    return(picture_chains(fit, type, variables, call, ...))
  }
  if (type %in% of_groups) {
    bar <- group_terms(model)
    terms <- if (is.null(term)) {
      utils::head(bar, 4L)
    } else {
      check_group_term(term, bar, call)
    }
  }
  switch(type,
    coefficients = ,
    odds = picture_intervals(coefficients_shown(
      fit, variables, level, per, call, type == "odds"
    )),
    response = if (has_categories(model_response(model))) {
      picture_categories(fit, variable, level, call)
    } else {
      picture_response(fit, variable, level, call)
    },
    calibration = picture_calibration(fit, level, groups, call),
    groups = picture_groups(fit, terms, level),
    shrinkage = picture_shrinkage(fit, terms, call)
  )
}

#' Plot a regression
#'
#' `ggplot2::autoplot()` draws the same picture as a ggplot, see [autoplot].
#'
#' * `"coefficients"`: the posterior mean of each coefficient (for
#'   [laplace_logistic()] the mode) with its 50% and `level` intervals, the
#'   intercept left out. Coefficients of columns with more than two values are
#'   shown per standard deviation of the column, so that they can be compared;
#'   those of other columns per unit, and of levels of factors against the
#'   reference level, each in a panel of its own. Of more than 40 there are
#'   those with the largest |mean| / sd; a line above says where the others'
#'   means are. If a few intervals are more than three times as long as most,
#'   and reach three times as far as all others, they are cut at the others'
#'   range: arrows show that they go on, and a line above says how far.
#' * `"odds"`, for the logit link: the exponentials of these numbers, which are
#'   odds ratios, on a logarithmic axis. At 1 the odds do not change. The point
#'   is the exponential of the coefficient's estimate and not the mean of the
#'   odds ratio.
#' * `"response"`: the expected response or the probability of success along one
#'   variable, with the band that holds it pointwise with probability `level`.
#'   If the formula has a factor of two to five levels, each level has a curve
#'   and points of its colour, of several such factors those of the one with the
#'   clearest coefficient. With one curve a linear regression also has lines
#'   between which a new response of weight 1 lies with that probability. With
#'   groups the band is that of a group without deviations, and a new response
#'   is one of a new group. Other numeric variables are set to their means,
#'   factors to their most frequent level: a line above the plot says where,
#'   unless `main` is given. A variable that is a matrix has no curve. Points of
#'   a linear regression are the observations, moved along the fixed effects to
#'   where the other variables are set, which are partial residuals around the
#'   curve. Those of a binomial one are observed proportions of counts, or ticks
#'   above and below for successes and failures, of the observations with the
#'   levels that are drawn. A factor is shown level by level. Categories have a
#'   curve each, more than four a panel each.
#' * `"calibration"`, for binomial responses: observations in groups of similar
#'   predicted probability; their observed proportion of successes against the
#'   predicted one, with the interval that holds the proportion with probability
#'   `level` if the model is right.
#' * `"groups"`, for a formula with groups: the coefficient \eqn{w_{jk}}{w_jk}
#'   of each term in every group, in the order of its posterior mean, with its
#'   50% and `level` intervals. The vertical line is the posterior mean of
#'   \eqn{\mu_w}{mu_w}, the fixed effect of the term, or 0 if the term has none.
#'   Of more than 40 groups there are those that are furthest from this line in
#'   posterior standard deviations, with intervals from at most 1,000 draws.
#' * `"shrinkage"`, for [gibbs_hlm()] with one bar and normal errors: on the
#'   left the least squares estimate of the coefficient from the rows of the
#'   group alone, on the right its posterior mean. Fixed effects of columns that
#'   are not before the bar are held at their posterior means. The horizontal
#'   line is as above. A group is left out if its rows do not determine its
#'   estimates.
#' * types of [plot.gibbsite_fit()], such as `"trace"` and `"density"`. For
#'   [laplace_logistic()] `"density"` alone is the approximation beside the
#'   posterior, see [plot.gibbsite_laplace()].
#'
#' The default is `"groups"` for a formula with groups, `"response"` for a
#' linear regression on one numeric variable, a date or a time, and
#' `"coefficients"` for others.
#' It is `"trace"` with `"density"` if `variables` are given.
#'
#' @param x A fit of [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()],
#'   [gibbs_count()], [gibbs_ordinal()], [gibbs_categorical()] or
#'   [laplace_logistic()].
#' @param type `NULL` for the default, or the name of one of the pictures that
#'   the description and Details list.
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
#' @param term For `"groups"` and `"shrinkage"`: the name of a term before the
#'   bar, with several bars `"term | factor"`; default all, at most four, in a
#'   panel each.
#' @param ... Graphical parameters; `main` replaces the lines above the
#'   picture.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type, term or
#'   variable, and for `"shrinkage"` where no group has estimates of its own;
#'   `gibbsite_error_state` if the data are needed and the fit does not hold
#'   them.
#' @seealso [plot.gibbsite_fit()] for the chains,
#'   [predict.gibbsite_regression()] for the numbers,
#'   [autoplot()][autoplot.gibbsite_fit] for ggplot2.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1)
#' plot(fit)
#' plot(fit, type = "response", variable = "wt")
#'
#' fit <- laplace_logistic(am ~ wt + qsec, mtcars, seed = 1)
#' plot(fit, type = "odds")
#' plot(fit, type = "response", variable = "wt")
#' plot(fit, type = "calibration")
#'
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' plot(fit, term = "Time")
#' plot(fit, type = "shrinkage", term = "Time")
#' @export
plot.gibbsite_regression <- graphical_method(picture_regression)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_regression <- autoplot_method(picture_regression)

# A variable has no coefficients by groups, but a curve of the response.
check_group_term <- function(term, bar, call) {
  if (is_plain_string(term) && !term %in% bar) {
    abort_expected(
      term, paste("a term of the groups,", or_words(quoted(bar))), TRUE, "term",
      call, hint = paste0("`type = \"response\", variable = ` draws the ",
                          "response along a variable.")
    )
  }
  check_choice(term, bar, arg = "term", call = call)
}

# The pictures that a regression has in addition to those of chains.
regression_plots <- function(model) {
  response <- model_response(model)
  normal <- is.null(response$link) && !inherits(response, "t_response")
  c(
    if (has_groups(model)) c(
      "groups", if (normal && is.character(model$levels)) "shrinkage"
    ),
    "coefficients", if (has_log_odds(model)) "odds", "response",
    if (is_binomial(response)) "calibration"
  )
}

# A line for one slope, of a normal response to a variable that is a column of
# the data.
default_regression_plot <- function(fit) {
  model <- fit_part(fit, "model")
  if (has_groups(model)) {
    return("groups")
  }
  # thresholds alone
  if (length(coefficient_columns(model)) == 0L) {
    return(c("trace", "density"))
  }
  slopes <- model$coefficients[model$layout$slopes]
  data <- model$frame$model
  line <- length(slopes) == 1L && !is.null(model$frame) && (
    is.null(data) || !is.null(time_kind(data[[slopes]])) ||
      is.numeric(data[[slopes]]) && is.null(dim(data[[slopes]]))
  )
  if (line) "response" else "coefficients"
}

# ---- Probabilities of categories ---------------------------------------------

picture_categories <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  ordered <- is_ordered(model_response(model))
  estimate <- coefficient_estimates(fit)
  clear <- abs(estimate$mean / estimate$sd)
  if (!ordered) clear <- clearest_terms(model, clear)
  grid <- response_grid(fit, frame, variable, clear, call)
  grid["by"] <- list(NULL)
  rows <- grid_predictors(model, grid, grid$at, NULL, call)
  table <- category_intervals(fit, rows, level, call)
  categories <- levels(table$category)
  at <- rep(seq_along(grid$at), each = length(categories))
  palette <- if (ordered) ordered_palette else gibbsite_palette
  colours <- palette(length(categories))
  ylab <- if (is.null(frame$counts)) {
    paste("probability of", frame$response$name)
  } else {
    "probability of a category"
  }
  curves <- is.numeric(grid$values)
  # many bands on each other cannot be told apart
  panels <- if (curves && length(categories) > 4L) {
    data.frame(panel = categories, title = categories)
  }
  if (curves) {
    table$x <- as.double(grid$at)[at]
    x <- grid$axis
  } else {
    # side by side
    table$x <- at + 0.5 * (as.integer(table$category) - 1) /
      (length(categories) - 1) - 0.25
    labels <- id_words(grid$at)
    x <- picture_axis(grid$variable, at = seq_along(labels), labels = labels,
                      limits = c(0.6, length(labels) + 0.4))
  }
  picture(
    table, category_layers(table, curves, !is.null(panels)), rbind(
      plot_key(
        categories, colours, lty = 1, pch = if (curves) NA else 19,
        shown = is.null(panels)
      ),
      plot_key(paste("band", categories), NA, fill = pale(colours, 0.2),
               shown = FALSE)
    ), x = x, y = picture_axis(ylab, limits = 0:1, at = seq(0, 1, 0.2)),
    note = c(
      grid_note(grid, model),
      paste(if (curves) "bands:" else "lines:", percent(level))
    ), panels = panels
  )
}

# Bands and curves, or intervals with points. panels: whether each category has
# one.
category_layers <- function(table, curves, panels) {
  name <- as.character(table$category)
  if (!curves) {
    return(list(
      picture_layer("segment", data.frame(
        x = table$x, xend = table$x, y = table$lower, yend = table$upper
      ), name),
      picture_layer("point", data.frame(
        x = table$x, y = table$mean, size = 1.5
      ), name)
    ))
  }
  own <- data.frame(group = name)
  if (panels) own$panel <- factor(name, levels(table$category))
  list(
    picture_layer("band", data.frame(
      table[c("x", "lower", "upper")], own
    ), paste("band", name)),
    picture_layer("line", data.frame(x = table$x, y = table$mean, own), name)
  )
}

# The largest of `clear` over the categories, by terms.
clearest_terms <- function(model, clear) {
  terms <- colnames(model$frame$x)
  stats::setNames(
    apply(matrix(clear, length(terms)), 1L, max), terms
  )
}

# ---- The grid of a response curve --------------------------------------------

# The variables of the formula as columns, from the model frame, or, if they are
# transformed (`log(x)`), from the data named in the call.
plain_variables <- function(fit, frame, call) {
  wanted <- setdiff(
    all.vars(stats::delete.response(frame$terms)), frame$constants
  )
  if (all(wanted %in% names(frame$model))) {
    return(as.data.frame(frame$model)[wanted])
  }
  found <- tryCatch(
    {
      data <- eval(stats::getCall(fit)$data, environment(stats::formula(fit)))
      env <- environment(in_its_space(frame$terms))
      names <- paste0("`", wanted, "`")
      plain <- stats::get_all_vars(stats::reformulate(names, env = env), data)
      plain[frame$row_names, , drop = FALSE]
    },
    error = function(cnd) NULL
  )
  if (is.null(found) || nrow(found) != length(frame$y) || anyNA(found)) {
    abort_argument(
      c("The response curve needs the variables as they are in the data, which
         cannot be found.",
        i = "Use {.fn predict} with {.arg newdata}."),
      call = call
    )
  }
  found
}

# An axis of numbers that are dates or times.
time_axis <- function(variable, values) {
  if (inherits(values, "difftime")) {
    return(picture_axis(paste0(variable, " (", attr(values, "units"), ")")))
  }
  ticks <- pretty(values, 5L)
  inside <- ticks >= min(values) & ticks <= max(values)
  picture_axis(
    variable, at = as.double(ticks)[inside],
    labels = attr(ticks, "labels")[inside]
  )
}

# The rows along which a response curve goes: list(variable, values, at, axis,
# by, data, groups, factors, typical, matrix). variable, clear: as for
# check_plot_variable(). `values`: of the variable in the data, times as
# numbers, of which `at` are drawn; `by`: the name of a factor with a curve for
# each of its levels `groups`, NULL for one curve; `typical`: where the other
# variables stand; `factors`: the names of those with levels; `matrix`: whether
# the fit has no formula.
response_grid <- function(fit, frame, variable, clear, call) {
  data <- if (is.null(frame$model)) {
    model <- fit_part(fit, "model")
    stats::setNames(
      as.data.frame(as.matrix(frame$x)), coefficient_columns(model)
    )
  } else {
    plain_variables(fit, frame, call)
  }
  variable <- check_curve_variable(variable, data, clear, call)
  made_factors <- unlist(lapply(names(frame$xlevels), function(name) {
    all.vars(str2lang(name))
  }))
  factors <- names(data)[names(data) %in% made_factors |
                           vapply(data, is.logical, NA)]
  values <- data[[variable]]
  at <- sort(unique(values))
  axis <- picture_axis(variable)
  if (variable %in% made_factors) {
    values <- factor(match(values, at), seq_along(at), id_words(at))
  } else if (is.numeric(values)) {
    at <- seq_range(range(values), 81L)
  } else if (!is.null(time_kind(values))) {
    axis <- time_axis(variable, values)
    at <- structure(
      seq_range(range(as.double(values)), 81L),
      class = oldClass(values), units = attr(values, "units"),
      tzone = attr(values, "tzone")
    )
    values <- as.double(values)
  }
  by <- if (is.numeric(values)) {
    curve_factor(data[setdiff(factors, variable)], clear)
  }
  list(
    variable = variable, values = values, at = at, axis = axis, by = by,
    data = data, groups = if (!is.null(by)) sort(unique(data[[by]])),
    factors = factors,
    typical = Map(typical_value, data, names(data) %in% made_factors),
    matrix = is.null(frame$model)
  )
}

# The factor whose levels have a curve each: of those with two to five levels
# the one with the clearest coefficient.
curve_factor <- function(data, clear) {
  few <- names(data)[vapply(data, function(x) {
    length(unique(x)) %in% 2:5
  }, NA)]
  if (length(few) == 0L) {
    return(NULL)
  }
  size <- vapply(few, function(name) {
    max(0, clear[grepl(name, names(clear), fixed = TRUE)], na.rm = TRUE)
  }, 0)
  few[[which.max(size)]]
}

# Rows to predict where the variable is `at` and the factor `by`, and all others
# are typical.
grid_rows <- function(grid, at, by) {
  newdata <- structure(
    lapply(grid$typical, repeat_rows, length(at)), names = names(grid$data),
    class = "data.frame", row.names = seq_along(at)
  )
  newdata[[grid$variable]] <- at
  if (!is.null(grid$by)) newdata[[grid$by]] <- by
  if (grid$matrix) as.matrix(newdata) else newdata
}

grid_predictors <- function(model, grid, at, by, call) {
  rows_to_predict(
    model, grid_rows(grid, at, by), typical_offset(model), NA, TRUE, call
  )
}

others_of <- function(grid) {
  setdiff(names(grid$data), c(grid$variable, grid$by, "(Intercept)"))
}

# A variable that is a matrix has no curve.
check_curve_variable <- function(variable, data, clear, call) {
  matrices <- names(data)[lengths(lapply(data, dim)) > 1L]
  if (is_plain_string(variable) && variable %in% matrices ||
        length(matrices) == length(data) && length(matrices) > 0L) {
    shown <- variable %||% matrices[[1L]]
    abort_argument(
      c("Variable {.val {shown}} is a matrix: it has no response curve.",
        i = "{.code type = \"coefficients\"} draws the slopes of its columns."),
      call = call
    )
  }
  check_plot_variable(variable, setdiff(names(data), matrices), clear, call)
}

# A mean, the middle of two numbers, the most frequent level. is_level: whether
# the formula makes levels of the values, as factor(x) does.
typical_value <- function(values, is_level) {
  if (length(dim(values)) > 1L) {
    return(t(colMeans(values)))
  }
  if (is.numeric(values) && !is_level) {
    two <- length(unique(values)) <= 2L
    return(if (two) stats::median(values) else mean(values))
  }
  if (!is.null(time_kind(values)) && !is_level) {
    return(mean(values))
  }
  if (is.logical(values)) {
    return(mean(values) > 0.5)
  }
  at <- sort(unique(values))
  at[[which.max(tabulate(match(values, at)))]]
}

repeat_rows <- function(value, n) {
  if (is.matrix(value)) value[rep(1L, n), , drop = FALSE] else rep(value, n)
}

# The variable along which a plot goes; by default the one with the largest
# `clear`, a vector with the names of coefficients.
check_plot_variable <- function(variable, names, clear, call) {
  names <- setdiff(names, "(Intercept)")
  if (!is.null(variable)) {
    if (!is_plain_string(variable) || !variable %in% names) {
      abort_argument(
        "{.arg variable} must be one of {.val {names}}, not
         {describe(variable)}.",
        call = call
      )
    }
    return(variable)
  }
  if (length(names) == 0L) {
    abort_argument(
      "{.arg type} cannot be {.val response}: the formula has no variables.",
      call = call
    )
  }
  clear <- clear[names]
  if (all(is.na(clear))) names[[1L]] else names[[which.max(clear)]]
}

# The mean of an offset that was an argument of the fit; NULL if there is none.
typical_offset <- function(model) {
  design <- model_design(model)
  if (isTRUE(design$offset)) {
    mean(model$frame$model[["(offset)"]] %||% model$frame$offset %||% 0)
  }
}

# Where a curve stands of the other variables, and of an offset that was an
# argument and varies.
grid_note <- function(grid, model) {
  others <- others_of(grid)
  offset <- typical_offset(model)
  c(
    others_text(grid$typical[others], grid$data[others]),
    if (!is.null(offset) && length(unique(model$frame$offset)) > 1L) {
      paste("at the mean offset,", format(offset, digits = 3))
    }
  )
}

# "at hp = 147, cyl = 4"; NULL if there are no others. A number that is 0 but
# for rounding is 0.
others_text <- function(typical, data) {
  if (length(typical) == 0L) {
    return(NULL)
  }
  values <- Map(function(value, all) {
    if (is.matrix(value)) {
      return("its means")
    }
    if (is.numeric(value)) {
      if (abs(value) < 1e-8 * max(abs(all))) value <- 0
      format(value, digits = 3)
    } else {
      format(value)
    }
  }, typical, data)
  paste("at", paste(names(typical), "=", values, collapse = ", "))
}

# ---- response curve

# list(table, points, grid, ylab, normal, note). `table`: x, mean, lower, upper
# and, of a normal response with one curve, new_lower and new_upper; by, the
# level of each curve. `points`: x, y, by and size of the observations. With
# groups the curve is that of a group without deviations, and new responses are
# those of a new group.
response_shown <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  estimate <- coefficient_estimates(fit)
  grid <- response_grid(
    fit, frame, variable, abs(estimate$mean / estimate$sd), call
  )
  count <- max(1L, length(grid$groups))
  at <- grid$at[rep(seq_along(grid$at), count)]
  by <- rep(grid$groups, each = length(grid$at))
  predicted <- function(at, by) grid_predictors(model, grid, at, by, call)
  rows <- predicted(at, by)
  curve <- function(rows, interval) {
    rows$size <- rep(1, nrow(rows$x))
    prediction_table(fit, rows, "response", interval, level)
  }
  table <- data.frame(
    x = if (is.numeric(grid$values)) as.double(at) else at,
    curve(rows, "mean")[c("mean", "lower", "upper")]
  )
  table$by <- if (!is.null(by)) factor(id_words(by), id_words(grid$groups))
  normal <- is.null(frame$total)
  # new observations have no weight of their own
  if (normal && count == 1L && is.null(frame$weights)) {
    if (has_groups(model)) {
      rows <- predictor_rows(model, list(
        newdata = grid_rows(grid, at, by), offset = typical_offset(model),
        new_groups = TRUE
      ), call)
    }
    ends <- curve(rows, "prediction")[c("lower", "upper")]
    table[c("new_lower", "new_upper")] <- ends
  }
  points <- response_points(grid, frame, estimate$mean, predicted, table$by)
  list(
    table = table, points = points$table, grid = grid, normal = normal,
    frame = frame, moved = points$moved,
    note = c(grid_note(grid, model), points$note),
    ylab = if (normal) {
      frame$response$name
    } else {
      paste("probability of", success_words(frame))
    }
  )
}

# The observations that belong to the curves: list(table, moved, note). Those of
# a normal response are moved along the fixed effects to where the others stand
# (partial residuals around the curve), counts by the ratio of their means. Of a
# binomial response those with other levels of factors are left out.
response_points <- function(grid, frame, mean, predicted, by) {
  y <- frame$y
  others <- others_of(grid)
  out <- data.frame(x = grid$values, y = y)
  if (!is.null(by)) {
    out$by <- factor(id_words(grid$data[[grid$by]]), levels(by))
  }
  if (is.null(frame$total)) {
    moved <- length(others) > 0L || length(unique(frame$offset)) > 1L
    if (moved) {
      rows <- predicted(grid$data[[grid$variable]], if (!is.null(grid$by)) {
        grid$data[[grid$by]]
      })
      offset <- (rows$offset %||% 0) - (frame$offset %||% 0)
      shift <- drop(as.matrix((rows$x - frame$x) %*% mean)) + offset
      out$y <- if (counts_events(frame)) y * exp(shift) else y + shift
    }
    return(list(table = out, moved = moved))
  }
  out$trials <- frame$trials %||% rep(1, length(y))
  out$size <- if (!is.null(frame$trials)) {
    0.8 + 1.6 * sqrt(frame$trials / max(frame$trials))
  } else {
    1
  }
  levels <- intersect(others, grid$factors)
  here <- rep(TRUE, length(y))
  for (name in levels) {
    here <- here & as.character(grid$data[[name]]) ==
      as.character(grid$typical[[name]])
  }
  list(
    table = out[here, ], moved = FALSE,
    note = if (!all(here) && is.numeric(grid$values)) {
      paste0(
        digits(sum(here)), " of ", digits(length(here)),
        " observations drawn: those with these levels"
      )
    }
  )
}

# Whether the response has a log link.
counts_events <- function(frame) identical(frame$response$kind, "events")

success_words <- function(frame) {
  response <- frame$response
  switch(response$kind,
    factor = paste(response$name, "=", response$levels[[2L]]),
    counts = counted_word(response$name),
    number = paste(response$name, "= 1"),
    response$name
  )
}

# "dead" of `cbind(dead, 20 - dead)`.
counted_word <- function(name) {
  made <- tryCatch(str2lang(name), error = function(cnd) NULL)
  if (is.call(made) && identical(made[[1L]], quote(cbind)) &&
        is.name(made[[2L]])) {
    as.character(made[[2L]])
  } else {
    "success"
  }
}

picture_response <- function(fit, variable, level, call) {
  shown <- response_shown(fit, variable, level, call)
  if (is.numeric(shown$grid$values)) {
    picture_curves(shown, level)
  } else {
    picture_levels(shown, level)
  }
}

observed_words <- function(shown) {
  if (shown$moved) {
    if (counts_events(shown$frame)) "adjusted count" else "partial residual"
  } else if (shown$normal) {
    "observation"
  } else if (is.null(shown$frame$trials)) {
    "ticks: top yes, bottom no"
  } else {
    "observed proportion"
  }
}

picture_curves <- function(shown, level) {
  table <- shown$table
  points <- shown$points
  by <- shown$grid$by
  words <- function(rows) {
    if (is.null(by)) {
      rep("mean", nrow(rows))
    } else {
      paste(by, "=", as.character(rows$by))
    }
  }
  band <- paste0(percent(level), " band", if (shown$normal) " of the mean")
  new <- paste(percent(level), "of new observations")
  single <- !shown$normal && is.null(shown$frame$trials)
  observed <- observed_words(shown)
  of_points <- if (is.null(by)) observed else paste("points", words(points))
  layers <- list(
    picture_layer("band", data.frame(
      table[c("x", "lower", "upper")], group = words(table)
    ), if (is.null(by)) band else paste("band", words(table))),
    if (!is.null(table$new_lower)) {
      picture_layer("line", data.frame(
        x = table$x, y = c(table$new_lower, table$new_upper),
        group = rep(1:2, each = nrow(table))
      ), new)
    },
    if (single) {
      top <- points$y > 0.5
      middle <- ifelse(top, 1.03, -0.03)
      picture_layer("segment", data.frame(
        x = points$x, xend = points$x, y = middle - 0.015, yend = middle + 0.015
      ), of_points, 0.5)
    } else {
      picture_layer("point", points[intersect(c("x", "y", "size"), names(
        points
      ))], of_points, 0.5)
    },
    picture_layer("line", data.frame(x = table$x, y = table$mean), words(table))
  )
  picture(
    table, layers,
    curve_key(shown, by, levels(table$by), band, new, observed, single),
    x = shown$grid$axis, y = picture_axis(
      shown$ylab, limits = if (!shown$normal) c(-0.05, 1.05),
      at = if (!shown$normal) seq(0, 1, 0.2)
    ), note = c(shown$note, if (!is.null(by)) {
      if (single) observed else paste0("points: ", observed, "s")
    })
  )
}

curve_key <- function(shown, by, levels, band, new, observed, single) {
  if (is.null(by)) {
    colour <- gibbsite_palette(1L)
    return(rbind(
      plot_key("mean", colour, lty = 1),
      plot_key(band, NA, fill = pale(colour, 0.25)),
      if (!is.null(shown$table$new_lower)) {
        plot_key(new, colour, lty = 3, lwd = 1.5)
      },
      plot_key(observed, grey_points, pch = if (single) 124 else 19, lwd = 1)
    ))
  }
  colours <- gibbsite_palette(length(levels))
  names <- paste(by, "=", levels)
  rbind(
    plot_key(names, colours, lty = 1, pch = if (single) NA else 19),
    plot_key(paste("band", names), NA, fill = pale(colours, 0.2),
             shown = FALSE),
    plot_key(paste("points", names), colours, pch = 19, lwd = 1, shown = FALSE)
  )
}

# A factor or another variable that is no number, level by level.
picture_levels <- function(shown, level) {
  table <- shown$table
  labels <- id_words(shown$grid$at)
  table$x <- factor(labels, labels)
  at <- seq_along(labels)
  interval <- paste(percent(level), "interval")
  colour <- gibbsite_palette(1L)
  observed <- observed_words(shown)
  # side by side, by a sequence that fills 0 to 1 evenly
  place <- (seq_along(shown$points$y) * (sqrt(5) - 1) / 2) %% 1
  points <- data.frame(
    x = match(id_words(shown$points$x), labels) + 0.3 * (place - 0.5),
    y = shown$points$y
  )
  picture(
    table, list(
      picture_layer("point", if (shown$normal) points else points[0L, ],
                    observed, 0.45),
      picture_layer("segment", data.frame(
        x = at, y = table$lower, xend = at, yend = table$upper
      ), interval),
      picture_layer("point", data.frame(x = at, y = table$mean, size = 2),
                    "mean")
    ), rbind(
      plot_key("mean", colour, pch = 19),
      plot_key(interval, colour, lty = 1, lwd = 3),
      plot_key(observed, grey_points, pch = 19, shown = shown$normal)
    ), x = picture_axis(shown$grid$variable, at = at, labels = labels),
    y = picture_axis(shown$ylab, limits = if (!shown$normal) 0:1),
    note = shown$note
  )
}

# ---- calibration

picture_calibration <- function(fit, level, groups, call) {
  frame <- check_frame(fit_part(fit, "model"), call)
  table <- calibration_table(fit, frame, level, groups, call)
  colour <- gibbsite_palette(2)
  interval <- paste0(percent(level), " interval if the model is right")
  picture(
    table, list(
      picture_layer("diagonal", data.frame(at = 0), "equal"),
      picture_layer("segment", data.frame(
        x = table$predicted, xend = table$predicted, y = table$lower,
        yend = table$upper
      ), interval),
      picture_layer("point", data.frame(
        x = table$predicted, y = table$observed, size = 1.8
      ), "observed")
    ), rbind(
      plot_key("observed", colour[[2L]], pch = 19),
      plot_key(interval, pale(colour[[1L]], 0.45), lty = 1, lwd = 5),
      rule_key("equal", lty = 2)
    ), x = picture_axis("predicted probability", limits = 0:1),
    y = picture_axis("observed proportion", limits = 0:1), square = TRUE
  )
}

# Groups of about equal numbers of trials by predicted probability. The
# intervals are of replicated data, so that they include both the binomial
# variation and the posterior uncertainty. They are computed from the fit's
# draws on a fixed stream, so that a plot can be reproduced.
calibration_table <- function(fit, frame, level, groups, call) {
  total <- frame$trials %||% rep(1, length(frame$y))
  if (is.null(groups)) {
    groups <- max(2, min(10, floor(sum(total) / 10)))
  }
  groups <- check_count(groups, min = 2, arg = "groups", call = call)
  rows <- rows_to_predict(fit_part(fit, "model"), call = call)
  mean <- prediction_table(fit, rows, "response")$mean
  # equal predictions stay together
  place <- match(signif(mean, 10), sort(unique(signif(mean, 10))))
  own <- as.vector(rowsum(total, place))
  passed <- cumsum(own) - own / 2
  group <- (pmin(floor(groups * passed / sum(total)), groups - 1) + 1)[place]
  seed <- fit_part(fit, "running")$seed
  stream <- spare_stream(seed, length(fit), "plot", call)
  replicated <- with_stream(stream, {
    posterior_predict(fit, ndraws = min(1000, ndraws(fit)))
  }, call)$value
  trials <- as.vector(rowsum(total, group))
  share <- rowsum(t(replicated), group) / trials
  tails <- central_tails(level)
  bounds <- apply(share, 1L, stats::quantile, tails, names = FALSE)
  means <- function(v) as.vector(rowsum(v * total, group)) / trials
  data.frame(
    predicted = means(mean), observed = means(frame$y), two_ends(bounds),
    trials = trials, row.names = NULL
  )
}
