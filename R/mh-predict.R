# Functions of the draws of one's own model: predictions, replicated data and
# the log-likelihood, for loo.

#' Predictions from the draws of your own model
#'
#' [mh_sample()] and [gibbs_sample()] know a density or conditionals, and not
#' what they say of data. Predictions, log-likelihoods and `loo()` therefore
#' come from a function of yours, which is called with each draw.
#'
#' `f` gets one draw: of [mh_sample()] a vector with the names of the
#' parameters, of [gibbs_sample()] the list of its blocks, with their
#' dimensions. Arguments in `...` are passed on by name. Further arguments that
#' the fit was made with, such as data, are passed to `f` if it has arguments of
#' their names and they are not in `...`.
#'
#' `predict()` gives the means of what `f` returns, or with `interval = "mean"`
#' the standard deviations and central intervals too. If one of the arguments in
#' `...` is a numeric vector with as many values as `f` returns, such as the
#' places of a curve, it is the first column of that table. `plot()` draws the
#' table as a line with a band, along that column. `posterior_epred()` gives the
#' values of `f` themselves. `posterior_predict()` does the same for a function
#' that draws random numbers, such as new data.
#'
#' `log_lik()` gives the log-likelihood of each observation, from which
#' [loo()][loo::loo] and [waic()][loo::waic] estimate how well new observations
#' would be predicted.
#'
#' @param object,x A fit of [mh_sample()] or [gibbs_sample()]; for `plot()` the
#'   table of `predict()` with `interval = "mean"`.
#' @param f A function of one draw that returns one number or several, as many
#'   for every draw.
#' @param log_lik A function of one draw that returns the log-likelihood of each
#'   observation.
#' @param ... Further arguments of `f` or `log_lik`, by name. For `plot()`,
#'   graphical parameters. For `loo()` and `waic()` further arguments of the
#'   function only: all others have their defaults.
#' @param interval `"none"` (default), or `"mean"` for standard deviations and
#'   intervals of what `f` returns. A new observation has no interval here: the
#'   quantiles of `posterior_predict()` are one.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param ndraws `NULL` for all draws, or the number of draws to use, spread
#'   evenly over the chains' draws.
#' @return `predict()`: a vector, or with an interval a data frame of class
#'   `function_band` with the columns `mean`, `sd`, `lower` and `upper`.
#'   `posterior_epred()`, `posterior_predict()` and `log_lik()`: a matrix, draws
#'   x values, chain after chain. `plot()`: `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for a level out of range, and for
#'   a fit that does not hold all parameters or its
#'   further arguments; `gibbsite_error_numeric` when the function fails, and
#'   when it returns anything but finite numbers, as many for every draw. The
#'   draw is named.
#' @seealso [mh_sample()], [gibbs_sample()], [coef.gibbsite_fit()] for the means
#'   of the parameters, [summary()] for the standard errors
#'   of the means.
#' @examples
#' # a curve: stopping distances that grow with a power of the speed
#' log_posterior <- function(p, speed, dist) {
#'   mean <- p[["a"]] * speed^p[["b"]]
#'   sum(dnorm(dist, mean, exp(p[["log_sd"]]), log = TRUE)) +
#'     dnorm(p[["a"]], 0, 5, log = TRUE) + dnorm(p[["b"]], 1, 1, log = TRUE)
#' }
#' fit <- mh_sample(log_posterior, c(a = 1, b = 1, log_sd = 3),
#'   speed = cars$speed, dist = cars$dist, draws = 1000, burnin = 3000, seed = 1
#' )
#' coef(fit)
#' confint(fit)
#' curve <- function(p, speed) p[["a"]] * speed^p[["b"]]
#' band <- predict(fit, curve, speed = 4:25, interval = "mean")
#' head(band, 3)
#' plot(band, ylim = c(0, 120), ylab = "distance (feet)")
#' points(cars)
#' # the data were given to the fit
#' each <- function(p, speed, dist) {
#'   dnorm(dist, curve(p, speed), exp(p[["log_sd"]]), log = TRUE)
#' }
#' dim(log_lik(fit, each))
#' loo(fit, each)
#' @name mh-predict
NULL

# list(values, further): f of each draw, draws x values, and the further
# arguments that it was given. arg: the name of f in messages.
values_of_draws <- function(fit, f, further, draws, arg, call) {
  check_function(f, arg, call = call)
  model <- fit_part(fit, "model")
  check_all_kept(model, call)
  if (is_imputed(fit)) {
    # each data set gives its own further arguments
    parts <- lapply(imputed_parts(fit), values_of_draws, f, further, NULL, arg,
                    call)
    values <- do.call(rbind, lapply(parts, `[[`, "values"))
    rows <- spread_rows(draws, nrow(values), call)
    return(list(
      values = values[rows, , drop = FALSE], further = parts[[1L]]$further
    ))
  }
  further <- further_of(model, f, further, arg, call)
  rows <- bind_chains(chain_matrices(fit))
  rows <- rows[spread_rows(draws, nrow(rows), call), , drop = FALSE]
  points <- lapply(seq_len(nrow(rows)), function(s) {
    model_point(model, rows[s, ])
  })
  values <- mc_values(function(x) {
    do.call(f, c(list(x), further), quote = TRUE)
  }, points, FALSE, arg, call)
  list(values = values, further = further)
}

check_all_kept <- function(model, call) {
  lacking <- setdiff(model_point_columns(model), model$columns)
  if (length(lacking) > 0L) {
    abort_argument(
      c("{.arg object} does not hold the draws of {.val {lacking[[1L]]}}.",
        i = "Fit again without {.arg keep}."),
      call = call
    )
  }
}

# The arguments in `...` and those of the fit that f has.
further_of <- function(model, f, given, arg, call) {
  if ("draws" %in% setdiff(names(given), names(argument_list(f)))) {
    abort_unknown("draws", call)
  }
  check_extra(given, f, arg, "the draw", call)
  own <- taken_by(f, model[[model$arguments_at]])
  all <- c(given, own[setdiff(names(own), names(given))])
  formals <- argument_list(f)[-1L]
  needed <- names(formals)[vapply(formals, rlang::is_missing, NA)]
  lacking <- setdiff(needed, c("...", names(all)))
  if (length(lacking) > 0L) {
    abort_argument(
      c("`{arg}` has the argument {.arg {lacking[[1L]]}}, which is not given.",
        i = "Give it in {.arg ...}.",
        i = if (!model_has_data(model)) {
          "The fit does not hold the further arguments that it was made with."
        }),
      call = call
    )
  }
  all
}

# ---- A draw as the user's functions take it ----------------------------------

#' @exportS3Method
model_point_columns.mh_model <- function(model) model$parameters
#' @exportS3Method
model_point_columns.gibbs_sample_model <- function(model) {
  unlist(Map(block_columns, names(model$init), model$init), use.names = FALSE)
}

#' @exportS3Method
model_point.mh_model <- function(model, row) {
  stats::setNames(as.double(row[model$parameters]), model$user_names)
}
#' @exportS3Method
model_point.gibbs_sample_model <- function(model, row) {
  Map(function(block, value) {
    kind <- if (block %in% names(model$steps)) "double" else typeof(value)
    value[] <- as.vector(row[block_columns(block, value)], kind)
    value
  }, names(model$init), model$init)
}

# ---- Methods -----------------------------------------------------------------

#' @rdname mh-predict
#' @export
predict.gibbsite_sample <- function(object, f, ...,
                                    interval = c("none", "mean"),
                                    level = 0.95) {
  call <- rlang::current_env()
  check_needed(f = "a function of a draw")
  interval <- check_interval(interval, call, c(
    prediction = paste(
      "The fit does not know the distribution of a new observation: give",
      "`posterior_predict()` a function that draws one, and take its quantiles."
    )
  ))
  level <- check_level(level)
  found <- values_of_draws(object, f, list(...), NULL, "f", call)
  values <- found$values
  mean <- colMeans(values)
  if (interval == "none") {
    return(mean)
  }
  ends <- central_intervals(values, level)
  band <- data.frame(
    mean = mean, sd = apply(values, 2L, stats::sd), lower = ends[, 1L],
    upper = ends[, 2L]
  )
  at <- Filter(function(x) {
    is.numeric(x) && is.null(dim(x)) && length(x) == nrow(band)
  }, list(...))
  if (length(at) == 1L && !names(at) %in% names(band)) {
    band <- cbind(as.data.frame(at), band)
    rownames(band) <- NULL
  }
  structure(band, class = c("function_band", "data.frame"), level = level)
}

#' @rdname mh-predict
#' @export
posterior_epred.gibbsite_sample <- function(object, f, ..., ndraws = NULL) {
  check_needed(f = "a function of a draw")
  values_of_draws(
    object, f, list(...), ndraws, "f", rlang::current_env()
  )$values
}

#' @rdname mh-predict
#' @export
posterior_predict.gibbsite_sample <- function(object, f, ..., ndraws = NULL) {
  call <- rlang::current_env()
  check_needed(f = "a function that draws new data, given a draw")
  check_unlocked(call)
  values_of_draws(object, f, list(...), ndraws, "f", call)$values
}

#' @rdname mh-predict
#' @export
log_lik.gibbsite_sample <- function(object, log_lik, ..., ndraws = NULL) {
  if (has_short_names()) return(with_whole_names())
  check_needed(log_lik = "a function of a draw: the log-likelihood of each
                          observation")
  values_of_draws(
    object, log_lik, list(...), ndraws, "log_lik", rlang::current_env()
  )$values
}

#' @rdname mh-predict
#' @export
loo.gibbsite_sample <- function(x, log_lik, ...) {
  if (has_short_names()) return(with_whole_names())
  values <- log_lik.gibbsite_sample(x, log_lik, ...)
  loo::loo(values, r_eff = relative_efficiency(x, values))
}

#' @rdname mh-predict
#' @export
waic.gibbsite_sample <- function(x, log_lik, ...) {
  if (has_short_names()) return(with_whole_names())
  loo::waic(log_lik.gibbsite_sample(x, log_lik, ...))
}

picture_band <- function(x, ..., call, arg) {
  check_made(
    x, c("mean", "lower", "upper"), "predict(, interval = \"mean\")", arg, call
  )
  for (column in c("mean", "lower", "upper")) {
    check_numeric_vector(
      x[[column]], length = nrow(x), arg = paste0(arg, "$", column), call = call
    )
  }
  named <- !names(x)[[1L]] %in% c("mean", "sd")
  at <- if (named) x[[1L]] else seq_len(nrow(x))
  order <- order(at)
  at <- at[order]
  table <- data.frame(x = at, x[order, c("mean", "lower", "upper")])
  colour <- gibbsite_palette(1)
  # rows that were chosen from a band have no level
  level <- attr(x, "level")
  band <- if (is.null(level)) "interval" else paste(percent(level), "interval")
  picture(
    table, list(
      picture_layer("band", table, band),
      picture_layer("line", data.frame(x = at, y = table$mean), "mean")
    ), rbind(
      plot_key("mean", colour, lty = 1),
      plot_key(band, NA, fill = pale(colour, 0.2))
    ), x = picture_axis(if (named) names(x)[[1L]] else "value"),
    y = picture_axis("f")
  )
}

#' @rdname mh-predict
#' @export
plot.function_band <- graphical_method(picture_band)

#' @rdname mh-predict
#' @exportS3Method ggplot2::autoplot
autoplot.function_band <- autoplot_method(picture_band)

# ---- Hints -------------------------------------------------------------------

#' @exportS3Method
model_hints.user_model <- function(model) {
  utils::modifyList(NextMethod(), list(
    pp_check = "Draw replicated data by {.code posterior_predict(object, f)},
      and give them to {.fn bayesplot::ppc_dens_overlay}."
  ))
}
