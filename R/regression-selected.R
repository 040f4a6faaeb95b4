# Which predictors of a regression matter: selected().

#' Predictors that matter
#'
#' For each coefficient but the intercept the posterior probability that its
#' effect is of a size that matters, \eqn{P(|\delta_j| > d \mid y)}{P(|delta_j|
#' > d | y)}. The effect \eqn{\delta_j}{delta_j} is what a change of the
#' predictor by one standard deviation adds to the linear predictor; of a
#' predictor with two values a change by one unit, of a level of a factor the
#' difference to the reference level. If two predictors are nearly equal, each
#' may have a low probability although one of them surely matters.
#'
#' The default of \eqn{d} is a tenth of a standard deviation (Kruschke 2018): of
#' the responses for normal and t errors, of the latent error for categories and
#' counts, which is \eqn{\pi/\sqrt 3}{pi / sqrt(3)} for the logit link and 1
#' otherwise. Effects below it count as none for practical purposes. A threshold
#' from the subject is better.
#'
#' With the horseshoe prior ([lm_prior()]) `shrinkage` is the posterior mean of
#' \deqn{\kappa_j = \frac{1}{1 + n_j \tau^2 \ell_j^2}, \quad
#'   n_j = \sum_i v_i (x_{ij} - \bar x_j)^2 / s_j^2,}{
#'   kappa_j = 1 / (1 + n_j tau^2 l_j^2),  n_j = sum_i v_i (x_ij - mean_j)^2 /
#'   s_j^2,}
#' the share by which the prior pulls the slope to its mean: 1 for a slope that
#' is pulled there whole, 0 for one that the data alone determine. The scales
#' \eqn{\ell_j}{l_j} are integrated out given each draw. The sum of
#' \eqn{1 - \kappa_j}{1 - kappa_j} is the effective number of slopes (Piironen
#' and Vehtari 2017, section 3.2). Not with `errors = "t"`.
#'
#' @param fit A fit of [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()],
#'   [gibbs_count()], [gibbs_ordinal()] or [gibbs_categorical()] that holds its
#'   data.
#' @param threshold `NULL` for the default, or \eqn{d}, a number of at least 0,
#'   in units of the linear predictor: for a linear regression those of the
#'   response.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   central interval.
#' @param x,object What `selected()` returned.
#' @param n Whole number of rows to print (default 20) or of intervals to draw
#'   (at most 20 by default).
#' @param ... Not used.
#' @return A data frame of class `selected_predictors` with a row for each
#'   coefficient, the most probable first: `term`, the name of the coefficient,
#'   `predictor`, in words, `per` (`"sd"`, `"unit"` or `"level"`), `effect`
#'   (posterior mean), `lower`, `upper`, `probability` and, with the horseshoe
#'   prior, `shrinkage`. The attribute `threshold` is \eqn{d}. `plot()` draws
#'   the intervals of the first `n` with lines at \eqn{\pm d}{-d and d}.
#' @section Errors: `gibbsite_error_argument` for another kind of fit, for a
#'   formula without slopes, and for values out of range;
#'   `gibbsite_error_no_data` for a fit without its data.
#' @references
#' Kruschke JK (2018). Rejecting or accepting parameter values in Bayesian
#' estimation. *Advances in Methods and Practices in Psychological Science* 1,
#' 270-280. \doi{10.1177/2515245918771304}
#'
#' Piironen J, Vehtari A (2017). Sparsity information and regularization in the
#' horseshoe and other shrinkage priors. *Electronic Journal of Statistics* 11,
#' 5018-5051. \doi{10.1214/17-EJS1337SI}
#' @seealso [lm_prior()] for the number of predictors thought to matter,
#'   [compare()], [loo][loo.gibbsite_fit] for predictions.
#' @examples
#' set.seed(1)
#' wide <- sim_lm(40, c(3, -2, 2, rep(0, 37)))
#' fit <- gibbs_lm(y ~ ., wide, lm_prior("horseshoe", relevant = 3), seed = 1)
#' found <- selected(fit, threshold = 0.2)
#' print(found, n = 5)
#' plot(found)
#' @export
selected <- function(fit, threshold = NULL, level = 0.95) {
  check_needed(fit = "a fit of a regression")
  call <- rlang::current_env()
  check_fit_of(fit, paste0("gibbs_", c(
    "lm", "hlm", "logistic", "count", "ordinal", "categorical"
  )), "fit", call)
  threshold <- check_number(
    threshold, lower = 0, null_ok = TRUE, call = call
  )
  level <- check_level(level, call = call)
  model <- fit_part(fit, "model")
  if (is.null(model$frame$x)) abort_no_data(call = call)
  chosen <- slope_columns(coefficient_columns(model))
  if (length(chosen) == 0L) {
    abort_argument("The formula has no slopes to choose among.", call = call)
  }
  units <- units_of_coefficients(model, chosen, "sd")
  draws <- coefficient_draws(fit)[, chosen, drop = FALSE]
  effects <- draws * rep(units$factor, each = nrow(draws))
  threshold <- threshold %||% (0.1 * effect_unit(model))
  out <- data.frame(
    term = chosen, predictor = units$words, per = units$per,
    effect = colMeans(effects), interval_columns(effects, level),
    probability = colMeans(abs(effects) > threshold), row.names = NULL
  )
  out$shrinkage <- unname(horseshoe_shrinkage(fit)[chosen])
  rows <- order(-out$probability, -abs(out$effect))
  structure(
    out[rows, ], row.names = seq_along(rows), threshold = threshold,
    level = level, half = interval_columns(effects, 0.5)[rows, ],
    class = c("selected_predictors", "data.frame")
  )
}

interval_columns <- function(draws, level) {
  ends <- central_intervals(draws, level)
  data.frame(lower = ends[, 1L], upper = ends[, 2L])
}

# The standard deviation of which the default threshold is a tenth.
effect_unit <- function(model) {
  response <- model_response(model)
  if (!is.null(response$link)) {
    return(if (identical(response$link, "logit")) pi / sqrt(3) else 1)
  }
  stats::sd(model$frame$y, na.rm = TRUE)
}

# ---- Shrinkage of the horseshoe ----------------------------------------------

# The posterior mean of kappa_j = 1 / (1 + n_j tau^2 l_j^2) of each slope, by
# name; NULL with another prior. Given the slope, tau and beta, u = 1 / l_j^2
# has the density exp(-c u) / (1 + u), c = beta (s_j (w_j - m_j))^2 / (2 tau^2),
# and kappa_j is u / (u + a), a = n_j tau^2. With F(x) = exp(x) E_1(x) its mean
# is (a F(a c) / F(c) - 1) / (a - 1).
horseshoe_shrinkage <- function(fit) {
  model <- fit_part(fit, "model")
  prior <- model$prior
  if (!identical(prior$type, "horseshoe") ||
        inherits(model_response(model), "t_response")) {
    return(NULL)
  }
  frame <- model$frame
  design <- model$layout
  used <- rows_used(frame)
  v <- used_weights(frame, used)
  draws <- bind_chains(chain_matrices(fit))
  sigma <- draws[, match("sigma", model$columns)]
  tau <- draws[, match("tau", model$columns)]
  x <- in_basis(frame$x, design$basis)
  w <- to_basis(draws[, seq_along(design$columns), drop = FALSE], design$basis)
  kappa <- vapply(seq_along(design$slopes), function(j) {
    column <- design$slopes[[j]]
    away <- x[used, column] - design$mean[[j]]
    a <- sum(v * away^2) / prior$scale[[j]]^2 * tau^2
    effect <- prior$scale[[j]] * (w[, column] - prior$slope_mean[[j]])
    mean(mean_shrinkage(a, (effect / (sigma * tau))^2 / 2))
  }, 0)
  stats::setNames(kappa, design$columns[design$slopes])
}

mean_shrinkage <- function(a, c) {
  c <- pmax(c, 1e-300)
  near <- abs(a - 1) < 1e-4
  out <- (a * scaled_e1(a * c) / scaled_e1(c) - 1) / (a - 1)
  # the limit at a = 1
  out[near] <- 1 + c[near] - 1 / scaled_e1(c[near])
  out
}

# exp(x) E_1(x), from the incomplete gamma function of a shape near 0.
scaled_e1 <- function(x) {
  shape <- 1e-14
  exp(x + lgamma(shape) + stats::pgamma(
    x, shape, lower.tail = FALSE, log.p = TRUE
  ))
}

# ---- Printing and drawing ----------------------------------------------------

is_made_selected <- function(x) {
  is.data.frame(x) && is_plain_number(attr(x, "threshold")) &&
    all(c("predictor", "effect", "lower", "upper", "probability") %in% names(x))
}

#' @rdname selected
#' @export
print.selected_predictors <- function(x, n = 20, ...) {
  n <- check_rows_shown(n)
  if (!is_made_selected(x)) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  kappa <- x$shrinkage
  number <- function(x) format(x, digits = 3)
  write_lines(c(
    paste0(
      "Expected number of effects above ", number(attr(x, "threshold")),
      " in size: ", number(sum(x$probability)), " of ", nrow(x)
    ),
    if (!is.null(kappa)) {
      paste("Effective number of slopes:", number(sum(1 - kappa)))
    },
    ""
  ))
  shown <- data.frame(
    show_numbers(x[c("effect", "lower", "upper")], x$effect, x$upper - x$lower),
    probability = formatC(x$probability, digits = 3, format = "f")
  )
  if (!is.null(kappa)) {
    shown$shrinkage <- formatC(kappa, digits = 2, format = "f")
  }
  print_table(x$predictor, shown, n)
  invisible(x)
}

#' @export
as.data.frame.selected_predictors <- function(x, ...) bare_frame(x)

picture_selected <- function(x, n = 20, ..., call, arg) {
  half <- attr(x, "half")
  if (!is_made_selected(x) || NROW(half) != nrow(x)) {
    abort_argument(
      "{.arg {arg}} must be what {.fn selected} returns, whole.", call = call
    )
  }
  rows <- seq_len(min(check_count(n, call = call), nrow(x)))
  threshold <- attr(x, "threshold")
  words <- paste0(
    x$predictor, "  ", formatC(x$probability, digits = 2, format = "f")
  )
  shown <- intervals_shown(
    stats::setNames(x$effect, words)[rows],
    as.matrix(as.data.frame(x)[rows, c("lower", "upper")]),
    as.matrix(half[rows, ]), attr(x, "level"),
    xlab = "effect of one standard deviation", whole = TRUE
  )
  if (!all(x$per[rows] == "sd")) {
    shown$xlab <- "effect of one standard deviation, unit or level"
  }
  drawn <- picture_intervals(shown)
  bounds <- paste0("\u00b1", format(threshold, digits = 3))
  drawn$layers <- c(
    list(picture_layer("vline", data.frame(x = c(-1, 1) * threshold), bounds)),
    drawn$layers
  )
  drawn$key <- rbind(drawn$key, rule_key(bounds, shown = TRUE, lty = 2))
  drawn$note <- c(paste0(
    "Beside the names: P(|effect| > ", format(threshold, digits = 3), ")",
    if (length(rows) < nrow(x)) paste0("; ", length(rows), " of ", nrow(x))
  ), drawn$note)
  drawn
}

#' @rdname selected
#' @export
plot.selected_predictors <- plot_method(picture_selected)

#' @rdname selected
#' @exportS3Method ggplot2::autoplot
autoplot.selected_predictors <- autoplot_method(picture_selected)
