# Predictions of ordered categories: probabilities, the most probable category,
# and the data with them.

#' Predictions of ordered categories
#'
#' Predictions of a fit of [gibbs_ordinal()] for its data or for new data, from
#' the whole posterior: the linear predictor \eqn{\eta}{eta} (`"link"`), the
#' probability \eqn{\Phi(\theta_k - \eta) - \Phi(\theta_{k-1} -
#' \eta)}{Phi(theta_k - eta) - Phi(theta_(k-1) - eta)} of each category
#' (`"response"`), or the category with the largest mean probability
#' (`"class"`).
#'
#' The mean probabilities are those over the draws, where deviations of new
#' groups are integrated out. With `interval = "mean"` the standard deviations
#' and intervals are those of the draws, in which the deviations of new groups
#' are drawn.
#'
#' `posterior_epred()` is an array, draws x observations x categories;
#' `posterior_predict()` has the numbers of the categories, 1 to \eqn{K}.
#' `simulate()` gives responses in the form of the fit's. `augment()` adds the
#' most probable category and its probability. `residuals()` and `bayes_R2()`
#' are errors: categories have no differences and no variance.
#'
#' @inheritParams predict.gibbsite_regression
#' @param object A fit of [gibbs_ordinal()].
#' @param type `"link"` (default), `"response"` or `"class"`.
#' @param interval `"none"` (default) or `"mean"`; `"prediction"` is an error,
#'   as a category has no interval.
#' @param weights,trials Must be `NULL`.
#' @param x,data,conf.level As in [augment.gibbsite_regression()].
#' @return `"link"`: as [predict.gibbsite_regression()]. `"response"`: a matrix
#'   with a row for each observation and a column for each category; with
#'   `interval = "mean"` a data frame with a row for each observation and
#'   category: `row`, `category`, `mean`, `sd`, `lower` and `upper`. `"class"`:
#'   the type of the response, an ordered factor or numbers.
#' @section Errors: Those of [predict.gibbsite_regression()].
#' @seealso [gibbs_ordinal()], [regression-draws].
#' @examples
#' fit <- gibbs_ordinal(Sat ~ Infl, MASS::housing, weights = Freq, seed = 1)
#' new <- data.frame(Infl = c("Low", "High"))
#' predict(fit, new, type = "response")
#' predict(fit, new, type = "response", interval = "mean")
#' predict(fit, new, type = "class")
#' dim(posterior_epred(fit, new))
#' @export
predict.gibbs_ordinal <- function(object, newdata = NULL, type = NULL,
                                  interval = c("none", "mean", "prediction"),
                                  level = 0.95, offset = NULL, weights = NULL,
                                  trials = NULL, ..., re_formula = NULL,
                                  allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  response <- model_response(model)
  interval <- check_interval(interval, call)
  if (interval == "prediction") {
    abort_argument(
      c("{.arg interval} must be {.val none} or {.val mean} for ordered
         categories: a new category has no interval.",
        i = "{.code type = \"response\"} has the probabilities of new ones."),
      call = call
    )
  }
  type <- check_prediction_type(type, interval, response, call)
  if (type == "link") {
    return(NextMethod())
  }
  level <- check_level(level)
  rows <- rows_to_predict(
    model, newdata, offset, re_formula, allow_new_levels, call
  )
  response_size(response, model, newdata, weights, trials, nrow(rows$x), call)
  if (interval == "mean") {
    return(category_intervals(object, rows, level, call))
  }
  shares <- category_shares(object, rows)
  out <- if (type == "class") {
    most_probable(model, shares)
  } else {
    shares
  }
  if (is.null(newdata)) as_excluded_rows(model, out) else out
}

# The mean probabilities, rows x categories: the thresholds' distances from eta
# over the standard deviation of z where new groups are integrated out.
category_shares <- function(fit, rows) {
  model <- fit_part(fit, "model")
  response <- model_response(model)
  draws <- do.call(rbind, chain_matrices(fit))
  bounds <- cbind(-Inf, response_scale(response, draws), Inf)
  n <- nrow(rows$x)
  out <- matrix(
    NA_real_, n, length(response$levels),
    dimnames = list(rows$names, response$levels)
  )
  order <- if (is.null(rows$group)) seq_len(n) else order(rows$group)
  for (block in row_blocks(n, nrow(draws), most = 1e6)) {
    i <- order[block]
    if (length(i) == 0L || anyNA(i)) next
    at <- predictor_moments(model, draws, rows_at_places(rows, i))
    wide <- sqrt(1 + (at$sd %||% 0)^2)
    for (k in seq_along(response$levels)) {
      out[i, k] <- colMeans(between(
        (bounds[, k] - at$mean) / wide, (bounds[, k + 1L] - at$mean) / wide
      ))
    }
  }
  out[is.nan(out)] <- NA_real_
  out
}

category_intervals <- function(fit, rows, level, call) {
  model <- fit_part(fit, "model")
  response <- model_response(model)
  if (has_groups(model)) check_unlocked(call)
  draws <- do.call(rbind, chain_matrices(fit))
  n <- nrow(rows$x)
  check_result_size(
    c(nrow(draws), n, length(response$levels)), "draws x rows x categories",
    "{.arg newdata}", call
  )
  shares <- response_mean(
    response, predictor_at_draws(model, draws, rows),
    response_scale(response, draws)
  )
  names <- rows$names %||% as.character(seq_len(n))
  tables <- lapply(seq_along(response$levels), function(k) {
    values <- matrix(shares[, , k], nrow(draws))
    data.frame(
      row = names, category = factor(
        rep(response$levels[[k]], n), levels = response$levels, ordered = TRUE
      ),
      draws_table(values, central_tails(level)), stringsAsFactors = FALSE
    )
  })
  out <- do.call(rbind, tables)
  out$mean <- as.vector(category_shares(fit, rows))
  out <- out[order(rep(seq_len(n), length(tables))), ]
  rownames(out) <- NULL
  out
}

most_probable <- function(model, shares) {
  response <- model_design(model)$response
  code <- rep(NA_real_, nrow(shares))
  known <- which(!is.na(rowSums(shares)))
  code[known] <- max.col(shares[known, , drop = FALSE], "first")
  out <- as_outcome(list(response = response), code)
  if (!is.null(rownames(shares))) names(out) <- rownames(shares)
  out
}

# Rows that na_action = "exclude" left out are NA.
as_excluded_rows <- function(model, x) {
  if (is.factor(x)) {
    action <- model$frame$na.action
    codes <- stats::napredict(action, stats::setNames(as.integer(x), names(x)))
    out <- factor(levels(x)[codes], levels = levels(x), ordered = TRUE)
    names(out) <- names(codes)
    return(out)
  }
  stats::napredict(model$frame$na.action, x)
}

#' @rdname predict.gibbs_ordinal
#' @export
augment.gibbs_ordinal <- function(x, data = NULL, newdata = NULL,
                                  conf.level = 0.95, ..., re_formula = NULL,
                                  allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  check_level(conf.level, arg = "conf.level")
  model <- fit_part(x, "model")
  check_augmented_data(data, call)
  shares <- stats::predict(
    x, newdata, type = "response", re_formula = re_formula,
    allow_new_levels = allow_new_levels
  )
  prediction <- data.frame(
    .fitted = unname(most_probable(model, shares)),
    .probability = unname(apply(shares, 1L, max))
  )
  beside_data(prediction, model, data, newdata, call)
}
