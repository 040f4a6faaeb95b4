# Predictions of categories, with an order or without: probabilities, the most
# probable category, and the data with them.

#' Predictions of categories
#'
#' Predictions of a fit of [gibbs_ordinal()] or [gibbs_categorical()] for its
#' data or for new data, from the whole posterior: the linear predictor
#' \eqn{\eta}{eta} (`"link"`), the probability of each category (`"response"`),
#' or the category with the largest mean probability (`"class"`). The
#' probability of an ordered category is \eqn{\Phi(\theta_k - \eta) -
#' \Phi(\theta_{k-1} - \eta)}{Phi(theta_k - eta) - Phi(theta_(k-1) - eta)},
#' that of one without an order \eqn{\exp(\eta_k) / \sum_l
#' \exp(\eta_l)}{exp(eta_k) / sum_l exp(eta_l)}.
#'
#' The mean probabilities are those over the draws. Where deviations of new
#' groups are needed, those of an ordered response are integrated out, and those
#' of one without an order are drawn for each draw, with random numbers of their
#' own: the prediction is always the same. With `interval = "mean"` the standard
#' deviations and intervals are those of the draws, in which the deviations of
#' new groups are drawn.
#'
#' `posterior_epred()` is an array, draws x observations x categories;
#' `posterior_predict()` has the numbers of the categories, 1 to \eqn{K}, with
#' their names as the attribute `levels`, and
#' for a response of counts an array of counts of the same form. Of
#' [gibbs_categorical()] `posterior_linpred()` is an array too, without the
#' first category. `simulate()` gives responses in the form of the fit's.
#' `augment()` adds the most probable category and its probability.
#' `residuals()` and `bayes_R2()` are errors: categories have no differences and
#' no variance.
#'
#' @inheritParams predict.gibbsite_regression
#' @param object A fit of [gibbs_ordinal()] or [gibbs_categorical()].
#' @param type `"link"` (default), `"response"` or `"class"`.
#' @param interval `"none"` (default) or `"mean"`; `"prediction"` is an error,
#'   as a category has no interval.
#' @param weights,trials Must be `NULL`; for a response of counts `trials` has
#'   no effect.
#' @param x,data,conf.level As in [augment.gibbsite_regression()].
#' @return `"link"`: as [predict.gibbsite_regression()]. `"response"`: a matrix
#'   with a row for each observation and a column for each category; with
#'   `interval = "mean"` a data frame with a row for each observation and
#'   category: `row`, `category`, `mean`, `sd`, `lower` and `upper`. Of
#'   [gibbs_categorical()] `"link"` has these forms too, without the first
#'   category. `"class"`: the type of the response, a factor or numbers; an
#'   error for counts.
#' @section Errors: Those of [predict.gibbsite_regression()].
#' @seealso [gibbs_ordinal()], [gibbs_categorical()], [regression-draws].
#' @examples
#' fit <- gibbs_ordinal(Sat ~ Infl, MASS::housing, weights = Freq, seed = 1)
#' new <- data.frame(Infl = c("Low", "High"))
#' predict(fit, new, type = "response")
#' predict(fit, new, type = "response", interval = "mean")
#' predict(fit, new, type = "class")
#' dim(posterior_epred(fit, new))
#' @export
predict.gibbsite_categories <- function(object, newdata = NULL, type = NULL,
                                  interval = c("none", "mean", "prediction"),
                                  level = 0.95, offset = NULL, weights = NULL,
                                  trials = NULL, ..., re_formula = NULL,
                                  allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  response <- model_response(model)
  interval <- check_category_interval(interval, response, call)
  type <- check_prediction_type(type, interval, response, call)
  if (type == "link" && is_ordered(response)) {
    return(NextMethod())
  }
  if (type == "class") check_single_outcomes(model_design(model)$response, call)
  level <- check_level(level)
  rows <- rows_to_predict(
    model, newdata, offset, re_formula, allow_new_levels, call
  )
  response_size(response, model, newdata, weights, trials, nrow(rows$x), call)
  if (interval == "mean") {
    return(category_intervals(object, rows, level, call, type))
  }
  out <- category_shares(object, rows, type)
  if (type == "class") out <- most_probable(model, out)
  if (is.null(newdata)) as_excluded(model, out) else out
}

check_category_interval <- function(interval, response, call) {
  interval <- check_interval(interval, call)
  if (interval == "prediction") {
    kind <- category_words(response)
    abort_argument(
      c("{.arg interval} must be {.val none} or {.val mean} for {kind}: a new
         category has no interval.",
        i = "{.code type = \"response\"} has the probabilities of new ones."),
      call = call
    )
  }
  interval
}

# The mean probabilities, rows x categories; with type "link" of categories
# without an order the mean linear predictors.
category_shares <- function(fit, rows, type = "response") {
  model <- fit_part(fit, "model")
  draws <- bind_chains(chain_matrices(fit))
  ordered <- is_ordered(model_response(model))
  n <- nrow(rows$x)
  parts <- if (ordered) {
    # rows of a group stay together
    list(if (is.null(rows$group)) seq_len(n) else order(rows$group))
  } else {
    rows <- with_one_new_group(model, rows)
    split(seq_len(n), rows$new_in)
  }
  names <- category_names(model, type)
  out <- matrix(NA_real_, n, length(names), dimnames = list(rows$names, names))
  for (part in parts) {
    for (block in row_blocks(length(part), nrow(draws), most = 1e6)) {
      i <- part[block]
      if (length(i) == 0L) next
      own <- rows_at_places(rows, i)
      out[i, ] <- if (ordered) {
        ordered_shares(model, draws, own)
      } else {
        colMeans(from_seed(1L, category_values(model, draws, own, type)))
      }
    }
  }
  out
}

# All new groups of a bar as one; new_in: the bars in which a row has one. Rows
# with the same bars of new groups have the same random numbers: a prediction
# does not depend on the other rows.
with_one_new_group <- function(model, rows) {
  rows$new_in <- rep("", nrow(rows$x))
  for (f in seq_len(ncol(rows$codes) %||% 0L)) {
    known <- length(model$levels[[f]])
    own <- which(rows$codes[, f] > known)
    rows$codes[own, f] <- known + 1
    rows$new_in[own] <- paste(rows$new_in[own], f)
  }
  rows
}

# The columns of a type of predictions.
category_names <- function(model, type) {
  levels <- model_response(model)$levels
  if (type == "link") levels[-1L] else levels
}

# draws x rows x categories
category_values <- function(model, draws, rows, type) {
  eta <- predictor_at_draws(model, draws, rows)
  response <- model_response(model)
  if (type == "link") eta else {
    response_mean(response, eta, response_scale(response, draws))
  }
}

# The deviations of new groups are integrated out: the distances of the
# thresholds from eta are divided by the standard deviation of z.
ordered_shares <- function(model, draws, rows) {
  response <- model_response(model)
  bounds <- cbind(-Inf, response_scale(response, draws), Inf)
  at <- with_mean(predictor_moments(model, draws, rows))
  wide <- sqrt(1 + (at$sd %||% 0)^2)
  out <- vapply(seq_along(response$levels), function(k) {
    colMeans(between(
      (bounds[, k] - at$mean) / wide, (bounds[, k + 1L] - at$mean) / wide
    ))
  }, numeric(nrow(rows$x)))
  out[is.nan(out)] <- NA_real_
  out
}

category_intervals <- function(fit, rows, level, call, type = "response") {
  model <- fit_part(fit, "model")
  response <- model_response(model)
  levels <- category_names(model, type)
  if (has_groups(model)) check_unlocked(call)
  draws <- bind_chains(chain_matrices(fit))
  n <- nrow(rows$x)
  # deviations of groups are drawn for all rows at once
  blocks <- if (has_groups(model)) {
    check_result_size(
      c(nrow(draws), n, length(levels)), "draws x rows x categories",
      "{.arg newdata}", call
    )
    list(seq_len(n))
  } else {
    row_blocks(n, nrow(draws) * length(levels), most = 1e6)
  }
  parts <- tell_each(blocks, "Blocks of predictions", function(i) {
    shares <- category_values(model, draws, rows_at_places(rows, i), type)
    lapply(seq_along(levels), function(k) {
      values <- matrix(shares[, , k], nrow(draws))
      draws_table(
        normal_response(), list(mean = values), central_tails(level)
      )
    })
  })
  names <- rows$names %||% as.character(seq_len(n))
  tables <- lapply(seq_along(levels), function(k) {
    data.frame(
      row = names, category = factor(
        rep(levels[[k]], n), levels = levels, ordered = is_ordered(response)
      ),
      do.call(rbind, lapply(parts, `[[`, k)), stringsAsFactors = FALSE
    )
  })
  out <- do.call(rbind, tables)
  out$mean <- as.vector(category_shares(fit, rows, type))
  out <- out[order(rep(seq_len(n), length(tables))), ]
  rownames(out) <- NULL
  out
}

most_probable <- function(model, shares) {
  response <- model_design(model)$response
  if (response$kind == "category_counts") response$kind <- "category"
  code <- rep(NA_real_, nrow(shares))
  known <- which(!is.na(rowSums(shares)))
  code[known] <- max.col(shares[known, , drop = FALSE], "first")
  out <- as_outcome(list(response = response), code)
  if (!is.null(rownames(shares))) names(out) <- rownames(shares)
  out
}

#' @rdname predict.gibbsite_categories
#' @export
augment.gibbsite_categories <- function(x, data = NULL, newdata = NULL,
                                  conf.level = 0.95, ..., offset = NULL,
                                  re_formula = NULL,
                                  allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  check_level(conf.level, arg = "conf.level")
  model <- fit_part(x, "model")
  if (!is.null(data)) check_given_data(data, call)
  shares <- stats::predict(
    x, newdata, type = "response", offset = offset, re_formula = re_formula,
    allow_new_levels = allow_new_levels
  )
  prediction <- data.frame(
    .fitted = unname(most_probable(model, shares)),
    .probability = unname(apply(shares, 1L, max))
  )
  beside_data(prediction, model, data, newdata, call)
}
