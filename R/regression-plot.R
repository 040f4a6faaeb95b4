# Plots of a regression.

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
#' linear regression on one numeric variable, and `"coefficients"` for others.
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
plot.gibbsite_regression <- function(x, type = NULL, variable = NULL,
                                     level = 0.95, variables = NULL,
                                     groups = NULL, per = c("sd", "unit"),
                                     term = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  draw_base(picture_regression(
    x, type, variable, level, variables, groups, per, term,
    rlang::current_env(), ...
  ), list(...))
  invisible(x)
}

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_regression <- function(object, type = NULL, variable = NULL,
                                         level = 0.95, variables = NULL,
                                         groups = NULL, per = c("sd", "unit"),
                                         term = NULL, ...) {
  check_no_more(...)
  draw_ggplot(picture_regression(
    object, type, variable, level, variables, groups, per, term,
    rlang::current_env()
  ))
}

picture_regression <- function(fit, type, variable, level, variables, groups,
                               per, term, call, ...) {
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
  per <- check_per(per, call)
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
  line <- length(slopes) == 1L && !is.null(model$frame) &&
    (is.null(data) || is.numeric(data[[slopes]]) &&
       is.null(dim(data[[slopes]])))
  if (line) "response" else "coefficients"
}

# ---- Probabilities of categories ---------------------------------------------

picture_categories <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  estimate <- coefficient_estimates(fit)
  clear <- abs(estimate$mean / estimate$sd)
  if (is_unordered(model_response(model))) clear <- clearest_terms(model, clear)
  grid <- response_grid(fit, frame, variable, clear, call)
  grid["by"] <- list(NULL)
  rows <- rows_to_predict(
    model, grid_rows(grid, grid$at, NULL), typical_offset(model), NA, TRUE, call
  )
  table <- category_intervals(fit, rows, level, call)
  categories <- levels(table$category)
  at <- rep(seq_along(grid$at), each = length(categories))
  others <- others_of(grid)
  note <- others_text(grid$typical[others], grid$data[others])
  name <- as.character(table$category)
  ordered <- !is_unordered(model_response(model))
  colours <- (if (ordered) ordered_palette else gibbsite_palette)(
    length(categories)
  )
  ylab <- paste("probability of", frame$response$name)
  curves <- is.numeric(grid$values)
  # many bands on each other cannot be told apart
  panels <- if (curves && length(categories) > 4L) {
    data.frame(panel = categories, title = categories)
  }
  if (curves) {
    table$x <- grid$at[at]
    own <- if (!is.null(panels)) {
      data.frame(panel = factor(name, categories))
    } else {
      data.frame(row.names = seq_along(name))
    }
    layers <- list(
      picture_layer("band", data.frame(
        table[c("x", "lower", "upper")], group = name, own
      ), paste("band", name)),
      picture_layer("line", data.frame(
        x = table$x, y = table$mean, group = name, own
      ), name)
    )
    x <- picture_axis(grid$variable)
  } else {
    # side by side
    table$x <- at + 0.5 * (as.integer(table$category) - 1) /
      (length(categories) - 1) - 0.25
    layers <- list(
      picture_layer("segment", data.frame(
        x = table$x, xend = table$x, y = table$lower, yend = table$upper
      ), name),
      picture_layer("point", data.frame(
        x = table$x, y = table$mean, size = 1.5
      ), name)
    )
    labels <- id_words(grid$at)
    x <- picture_axis(grid$variable, at = seq_along(labels), labels = labels,
                      limits = c(0.6, length(labels) + 0.4))
  }
  picture(
    table, layers, rbind(
      plot_key(
        categories, colours, lty = 1, pch = if (curves) NA else 19,
        shown = is.null(panels)
      ),
      plot_key(paste("band", categories), NA, fill = pale(colours, 0.2),
               shown = FALSE)
    ), x = x, y = picture_axis(ylab, limits = 0:1, at = seq(0, 1, 0.2)),
    note = c(note, paste(if (curves) "bands:" else "lines:", percent(level))),
    panels = panels
  )
}

# The largest of `clear` over the categories, by terms.
clearest_terms <- function(model, clear) {
  terms <- colnames(model$frame$x)
  stats::setNames(
    apply(matrix(clear, length(terms)), 1L, max), terms
  )
}
