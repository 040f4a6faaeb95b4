# Plots of a hierarchical linear regression.

#' Plot a hierarchical linear regression
#'
#' * `"groups"` (default): the coefficient \eqn{w_{jk}}{w_jk} of one term in
#'   every group, in the order of its posterior mean, with its 50% and `level`
#'   intervals. The vertical line is the posterior mean of
#'   \eqn{\mu_w}{mu_w}, the fixed effect of the term, or 0 if the term has none.
#'   More than 60 groups are drawn as thin lines without names.
#' * `"shrinkage"`: on the left the least squares estimate of the coefficient
#'   from the rows of the group alone, on the right its posterior mean. Fixed
#'   effects of columns that are not before the bar are held at their posterior
#'   means. The horizontal line is as above. A group is left out if its rows do
#'   not determine its estimates. Only for [gibbs_hlm()].
#' * `"coefficients"`: the posterior mean of each fixed effect with its 50% and
#'   `level` intervals, the intercept left out. Those of columns with more than
#'   two values are shown per standard deviation of the column, so that they can
#'   be compared; others, such as levels of factors, per unit.
#' * `"odds"`: the same as odds ratios, as in [plot.laplace_logistic()]. Only
#'   for [gibbs_logistic()] with the logit link.
#' * types of [plot.gibbsite_fit()], such as `"trace"` and `"density"`.
#'
#' @param x A fit of [gibbs_hlm()], or of [gibbs_logistic()] with groups.
#' @param type One of the above; `NULL`: the default, or `"trace"` and
#'   `"density"` if `variables` are given.
#' @param term For `"groups"` and `"shrinkage"`: the name of a term before the
#'   bar; default the first.
#' @param level Number between 0 and 1, default 0.95.
#' @param variables For `"coefficients"`, `"odds"` and chains: `NULL`, or
#'   names of coefficients.
#' @param per For `"coefficients"` and `"odds"`: `"sd"` (default) or `"unit"`,
#'   as in [plot.laplace_logistic()].
#' @param ... Graphical parameters.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown type, term or
#'   variable, and for `"shrinkage"` where no group has estimates of its own;
#'   `gibbsite_error_state` if the data are needed and the fit does not hold
#'   them.
#' @examples
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' plot(fit, term = "Time")
#' plot(fit, type = "shrinkage", term = "Time")
#' @export
plot.gibbs_hlm <- function(x, type = NULL, term = NULL, level = 0.95,
                           variables = NULL, per = c("sd", "unit"), ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  normal <- !inherits(fit_part(x, "model"), "hlm_binomial_model")
  odds <- if (!normal) odds_type(x)
  own <- c("groups", if (normal) "shrinkage", "coefficients", odds)
  type <- check_plot_types(default_types(type, variables, "groups"), call, own)
  check_plots_with(term, type, c("groups", "shrinkage"), call)
  check_plots_with(variables, type, c("coefficients", odds, plot_types), call)
  per <- check_per(per)
  if (length(type) != 1L || !type %in% own) {
    return(plot.gibbsite_fit(x, type = type, variables = variables, ...))
  }
  level <- check_level(level)
  term <- check_choice(term, fit_part(x, "model")$layout$bar)
  switch(type,
    groups = plot_coefficients(hlm_groups_shown(x, term, level), ...),
    shrinkage = plot_hlm_shrinkage(x, term, call, ...),
    coefficients = ,
    odds = plot_coefficients(
      hlm_coefficients_shown(x, variables, level, per, call, type == "odds"),
      ...
    )
  )
  invisible(x)
}

hlm_coefficients_shown <- function(fit, variables, level, per, call,
                                   odds = FALSE) {
  model <- fit_part(fit, "model")
  if (length(model$coefficients) == 0L) {
    type <- if (odds) "odds" else "coefficients"
    abort_argument(
      c("{.arg type} cannot be {.val {type}}: the formula has no fixed
         effects.",
        i = "{.code type = \"groups\"} draws the coefficients of the groups."),
      call = call
    )
  }
  regression_coefficients_shown(
    fit, variables, fixef.gibbs_hlm(fit), hlm_interval, level,
    if (inherits(model, "hlm_binomial_model")) {
      link_words(model)
    } else {
      model_design(model)$response$name
    }, per, call, odds
  )
}

hlm_groups_shown <- function(fit, term, level) {
  wide <- group_coefficients(fit, term, level)
  narrow <- group_coefficients(fit, term, 0.5)
  order <- order(wide$mean, decreasing = TRUE)
  ends <- c("lower", "upper")
  intervals_shown(
    stats::setNames(wide$mean, rownames(wide))[order],
    as.matrix(wide[order, ends]), as.matrix(narrow[order, ends]), level,
    group_coefficient_words(fit, term), line = mean_coefficient(fit, term),
    words = line_words(fit, term), named = nrow(wide) <= 60L
  )
}

# What the line of mean_coefficient() is.
line_words <- function(fit, term) {
  if (term %in% names(fixef.gibbs_hlm(fit))) "fixed effect" else "zero"
}

# A data frame with the columns mean, sd, lower and upper and a row for each
# group: the coefficient of one term before the bar.
group_coefficients <- function(fit, term, level) {
  model <- fit_part(fit, "model")
  groups <- length(model$levels)
  only <- function(columns) {
    matrix(as.double(columns == term), groups, length(columns), byrow = TRUE)
  }
  rows <- list(
    x = only(model$coefficients), z = only(model$layout$bar),
    group = seq_len(groups), names = model$levels
  )
  out <- hlm_moments(fit, rows, NULL, "mean", level, TRUE)
  data.frame(out, row.names = model$levels)
}

# The posterior mean of the element of mu_w that belongs to a term.
mean_coefficient <- function(fit, term) {
  fixed <- fixef.gibbs_hlm(fit)
  if (term %in% names(fixed)) fixed[[term]] else 0
}

group_coefficient_words <- function(fit, term) {
  what <- if (term == "(Intercept)") "intercept" else paste("slope of", term)
  paste(what, "by", fit_part(fit, "model")$group_name)
}

# Least squares estimates from each group's rows, groups x terms; NA where the
# rows do not determine them.
own_coefficients <- function(fit, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  fixed <- fixef.gibbs_hlm(fit)
  others <- !model$coefficients %in% model$layout$bar
  y <- frame$y - (frame$offset %||% 0) -
    drop(frame$x[, others, drop = FALSE] %*% fixed[others])
  root <- sqrt(frame$weights %||% rep(1, length(y)))
  rows <- split(
    which(rows_used(frame)), factor(
      frame$group[rows_used(frame)], levels = seq_along(frame$levels)
    )
  )
  out <- vapply(rows, function(i) {
    factors <- qr(root[i] * frame$z[i, , drop = FALSE])
    if (factors$rank < ncol(frame$z)) {
      return(rep(NA_real_, ncol(frame$z)))
    }
    qr.coef(factors, root[i] * y[i])
  }, numeric(ncol(frame$z)))
  matrix(
    out, ncol = ncol(frame$z), byrow = TRUE,
    dimnames = list(frame$levels, model$layout$bar)
  )
}

plot_hlm_shrinkage <- function(fit, term, call, ...) {
  own <- own_coefficients(fit, call)[, term]
  found <- !is.na(own)
  if (!any(found)) {
    abort_argument(
      c("{.arg type} cannot be {.val shrinkage}: the rows of no group determine
         its coefficients.",
        i = "{.code type = \"groups\"} does not need them."),
      call = call
    )
  }
  own <- own[found]
  mean <- coef.gibbs_hlm(fit)[[1L]][[term]][found]
  many <- length(own) > 60L
  colour <- grDevices::adjustcolor(gibbsite_palette(1), if (many) 0.4 else 1)
  key <- rbind(
    plot_key("group", colour, lty = 1, lwd = 1),
    plot_key(line_words(fit, term), "grey70", lty = 1)
  )
  old <- open_keyed(key, c(2.2, 4.1, 1.6, 1.1))
  on.exit(graphics::par(old))
  defaults <- list(
    x = 1:2, y = range(own, mean), type = "n", xlim = c(0.8, 2.2), xaxt = "n",
    xlab = "", ylab = group_coefficient_words(fit, term), las = 1, bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::axis(1, 1:2, c("least squares", "posterior mean"), tick = FALSE)
  graphics::abline(h = mean_coefficient(fit, term), col = "grey70", lwd = 2)
  graphics::segments(1, own, 2, mean, col = colour)
  graphics::points(
    rep(1:2, each = length(own)), c(own, mean), pch = 21, bg = "white",
    col = colour, cex = if (many) 0.6 else 1
  )
  draw_key(key)
  if (!all(found)) {
    graphics::mtext(
      paste(sum(!found), "of", length(found), "groups left out"), adj = 1,
      line = 0.3, cex = 0.8, col = "grey35"
    )
  }
}
