# compare_k() of matrix factorisations: errors of ratings held out in folds.

#' @exportS3Method
model_size.bmf_model <- function(model) model$rank

#' @exportS3Method
model_observed.bmf_model <- function(model) {
  # the ids in words: users and items without a rating are no data
  list(
    id_words(model$users, exact = TRUE)[model$data$user],
    id_words(model$items, exact = TRUE)[model$data$item], model$data$value
  )
}

# held: numbers of ratings. The constant that is subtracted, and the prior, are
# those of all ratings.
#' @exportS3Method
model_fold.bmf_model <- function(model, held, by) {
  some <- function(rows) {
    lapply(model$data[c("user", "item", "value")], `[`, rows)
  }
  ratings <- c(
    some(-held), model[c("users", "items", "names", "levels")]
  )
  pairs <- some(held)
  train <- bmf_model(
    ratings, model$rank, model$prior, model$center, model$biases,
    predict_at = pairs, features = model$features,
    response = model$response
  )
  train$data$cap <- model$cap
  train <- described_bmf(train, list(ratings = ratings, pairs = pairs))
  list(train = train, test = train)
}

#' @exportS3Method
model_compare_k.bmf_model <- function(model, fits, names, settings, call) {
  level <- settings$level
  done <- fit_folds(
    fits, model$nobs, settings, "ratings", prepare = function(held) NULL,
    score = function(fit, held, common) {
      predicted <- predicted_at(fit, level)
      value <- predicted[[3L]]
      pairs <- held_out_pairs(fit, NULL, call)
      kept <- kept_factors(fit, call = call)
      data.frame(
        rating = held, square = (value - predicted$mean)^2,
        interval = interval_scores(
          value, predicted$lower, predicted$upper, level
        ),
        lpd = score_pairs(kept, pairs)[, 1L]
      )
    },
    call = call
  )
  scores <- lapply(done$scores, function(folds) {
    rows <- do.call(rbind, folds)
    rows[order(rows$rating), ]
  })
  lpd <- vapply(scores, function(rows) mean(rows$lpd), 0)
  apart <- apart_note(fits, names)
  if (!is.null(apart)) {
    lpd[] <- NA_real_
  }
  square <- vapply(scores, function(rows) rows$square, numeric(model$nobs))
  rmse <- sqrt(colMeans(square))
  best <- which.min(rmse)
  # the standard error of a mean square, or of a difference of two, divided by
  # the derivative of the square of an error
  spread <- function(x) stats::sd(x) / sqrt(length(x))
  list(
    of = paste0(
      "Factorisations of the same ", counted(model$nobs, "rating"),
      ", held out in ", settings$folds, " folds"
    ),
    columns = data.frame(
      rmse = rmse, rmse_se = apply(square, 2L, spread) / (2 * rmse),
      interval_score = vapply(scores, function(rows) mean(rows$interval), 0),
      lpd = lpd
    ),
    criterion = "rmse", second = "interval_score", evidence = FALSE,
    difference = rmse - rmse[[best]],
    se = vapply(seq_along(rmse), function(i) {
      spread(square[, i] - square[, best]) / (rmse[[i]] + rmse[[best]])
    }, 0),
    notes = c(
      paste0("interval_score: of intervals of ", percent(level)), apart,
      slow_note(done$slow, names)
    )
  )
}

# Log predictive densities can be compared only if all are with respect to the
# same measure. A link gives probabilities; a range gives probabilities at its
# ends and densities between them. NULL, or a sentence that says what differs.
apart_note <- function(fits, names) {
  measure <- lapply(fits, function(fit) {
    response <- fit_part(fit, "model")$response
    if (is.null(response$link)) response$range else "link"
  })
  other <- which(!vapply(measure, identical, NA, measure[[1L]]))
  if (length(other) > 0L) {
    paste0(
      "lpd: left out, since the log densities of ", names[[1L]], " and ",
      names[[other[[1L]]]],
      " cannot be compared (`link` and `range` must be the same)."
    )
  }
}

# Gneiting & Raftery (2007), eq. 43; lower is better.
interval_scores <- function(value, lower, upper, level) {
  upper - lower + 2 / (1 - level) *
    (pmax(lower - value, 0) + pmax(value - upper, 0))
}
