# The responses of gibbs_ordinal() given the linear predictor: ordered
# categories 1 to K with P(y <= k) = Phi(theta_k - eta). scale: the thresholds
# theta, draws x (K - 1).

ordered_response <- function(levels) {
  structure(list(link = "probit", levels = levels), class = "ordered_response")
}

# The codes of ordered categories: list(y, kind, levels).
as_ordered <- function(y, name, call) {
  expected <- "an ordered factor, or whole numbers from 1"
  if (is.ordered(y)) {
    return(list(y = as.double(y), kind = "ordered", levels = levels(y)))
  }
  if (is.factor(y) || is.character(y) || is.logical(y)) {
    hint <- if (is.factor(y) && nlevels(y) > 2L) {
      paste0("An order is given by `ordered(", name, ", levels = )`; the",
             " levels of a factor have none.")
    } else if (is.logical(y) || is.factor(y) || length(unique(y)) <= 2L) {
      "For two outcomes use `gibbs_logistic()`."
    } else {
      paste0("An order is given by `ordered(", name, ", levels = )`.")
    }
    abort_expected(y, expected, FALSE, name, call, hint = hint)
  }
  y <- as_measurements(y, name, call)$y
  abort_elements(
    !is.na(y) & (y < 1 | y != round(y)), y, name, "whole numbers from 1", call,
    "{.fn ordered} or {.fn cut} makes categories of numbers; measurements are
     the response of {.fn gibbs_lm} or {.fn gibbs_hlm}."
  )
  most <- max(0, y, na.rm = TRUE)
  if (most > 1000) {
    abort_argument(
      c("`{name}` must have 1000 categories at most, not {digits(most)}.",
        i = "Numbers with many values are the response of {.fn gibbs_lm}."),
      call = call
    )
  }
  list(y = y, kind = "codes", levels = as.character(seq_len(most)))
}

# At least three categories, each with observations.
check_categories <- function(frame, call) {
  response <- frame$response
  levels <- response$levels
  name <- response$name
  if (length(levels) < 3L) {
    abort_argument(
      c("`{name}` must have at least three ordered categories, not
         {length(levels)}.",
        i = "For two outcomes use {.fn gibbs_logistic}."),
      call = call
    )
  }
  count <- tabulate(frame$y[rows_used(frame)], length(levels))
  check_none_empty(
    name, levels[count == 0], if (response$kind == "ordered") {
      "Leave {cli::qty(empty)}{?it/them} out: give {.arg data} as `droplevels()`
       of the rows to fit."
    } else {
      "Number the categories from 1 without gaps, or give an ordered factor."
    }, call
  )
}

# empty: the categories without observations; hint: a template with these.
check_none_empty <- function(name, empty, hint, call) {
  if (length(empty) > 0L) {
    abort_argument(
      c("{cli::qty(empty)}Categor{?y/ies} {.val {empty}} of `{name}`
         {cli::qty(empty)}{?has/have} no observations in the rows that
         {.arg subset} and {.arg na_action} keep.",
        i = hint),
      call = call, class = "empty"
    )
  }
}

#' @exportS3Method
response_family.ordered_response <- function(response) {
  structure(
    list(family = "Cumulative", link = "probit"), class = "family"
  )
}

# The probabilities of the categories, draws x rows x K.
#' @exportS3Method
response_mean.ordered_response <- function(response, eta, scale = NULL) {
  levels <- response$levels
  bounds <- cbind(-Inf, scale, Inf)
  out <- vapply(seq_along(levels), function(k) {
    as.double(between(bounds[, k] - eta, bounds[, k + 1L] - eta))
  }, numeric(length(eta)))
  out[is.nan(out)] <- NA_real_
  array(
    out, c(dim(eta), length(levels)),
    dimnames = list(rownames(eta), colnames(eta), levels)
  )
}

#' @exportS3Method
response_scale.ordered_response <- function(response, draws) {
  unname(draws[
    , indexed("theta", seq_len(length(response$levels) - 1L)), drop = FALSE
  ])
}

# Codes of categories.
#' @exportS3Method
response_draw.ordered_response <- function(response, eta, size, scale) {
  z <- eta + stats::rnorm(length(eta))
  out <- eta
  out[] <- 1
  for (k in seq_len(ncol(scale))) out <- out + (z > scale[, k])
  out
}

# list(low, high): the thresholds less eta on both sides of each code, draws x
# rows.
bounds_of_codes <- function(eta, data, scale) {
  bounds <- cbind(-Inf, scale, Inf)
  code <- rep(as.integer(data$y), each = nrow(eta))
  row <- rep_len(seq_len(nrow(eta)), length(eta))
  list(
    low = bounds[cbind(row, code)] - as.vector(eta),
    high = bounds[cbind(row, code + 1L)] - as.vector(eta)
  )
}

# A weight counts an observation so often.
#' @exportS3Method
response_log_lik.ordered_response <- function(response, eta, data, scale) {
  at <- bounds_of_codes(eta, data, scale)
  out <- log_between(at$low, at$high)
  out <- out * rep(column_weights(data, eta), each = nrow(eta))
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

#' @exportS3Method
response_bend.ordered_response <- function(response, eta, data, scale) {
  at <- bounds_of_codes(eta, data, scale)
  low <- at$low
  high <- at$high
  log_share <- log_between(low, high)
  density <- function(x) exp(stats::dnorm(x, log = TRUE) - log_share)
  times <- function(x) ifelse(is.finite(x), x, 0) * density(x)
  first <- density(low) - density(high)
  weights <- rep(column_weights(data, eta), each = nrow(eta))
  list(
    first = weights * first,
    # of rounding errors not below 0
    second = weights * pmax(0, first^2 + times(high) - times(low))
  )
}

#' @exportS3Method
observed_response.ordered_response <- function(response, y, known, weights,
                                               call) {
  check_no_size(weights, "weights", "normal", call)
  levels <- response$levels
  if (is.factor(y) || is.character(y)) {
    check_known_levels(y, levels, call)
    return(list(y = match(as.character(y), levels)))
  }
  y <- as_ordered(y, known$name, call)$y
  abort_elements(
    !is.na(y) & y > length(levels), y, known$name,
    paste("whole numbers from 1 to", length(levels)), call
  )
  list(y = y)
}
