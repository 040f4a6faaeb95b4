# The responses of gibbs_categorical() given the linear predictors eta, draws x
# rows x (K - 1): categories 1 to K, or numbers of observations in each.

# trials: whether a row has counts.
categories_response <- function(levels, trials) {
  structure(
    list(link = "logit", levels = levels, trials = trials),
    class = "categories_response"
  )
}

# Categories without an order, of a factor or text: list(y, kind, levels), with
# codes from 1; or counts, a column for each: list(y, counts, trials, kind,
# levels), where y are the numbers of trials, NA for none.
as_categories <- function(y, name, call) {
  check_not_64_bit(y, paste0("`", name, "`"), call)
  if (length(dim(y)) == 2L && ncol(y) > 1L) {
    return(as_category_counts(y, name, call))
  }
  if (is.character(y) && is.null(dim(y))) {
    check_text(y, name, call)
    levels <- sort(unique(y[!is.na(y)]), method = "radix")
    inform_gibbsite(
      c(i = "`{name}` is text: the first category is {.val {levels[1]}}."),
      class = "conversion"
    )
    y <- factor(y, levels)
  }
  if (!is.factor(y) || is.ordered(y)) {
    hint <- if (is.ordered(y)) {
      paste0("Use `gibbs_ordinal()`, or `factor(", name, ", ordered = FALSE)`.")
    } else if (is.logical(y)) {
      "For two outcomes use `gibbs_logistic()`."
    } else if (is.numeric(y)) {
      paste0("Numbers become categories by `factor(", name, ")`.")
    }
    abort_expected(
      y, paste("a factor without an order, text, or two columns of counts or",
               "more"), FALSE, name, call, hint = hint
    )
  }
  list(y = as.double(y), kind = "category", levels = levels(y))
}

as_category_counts <- function(y, name, call) {
  y <- as.matrix(y)
  bad <- if (is.numeric(y)) {
    is.nan(y) | !is.na(y) & (y < 0 | y != round(y) | !is.finite(y))
  } else {
    !is.na(y)
  }
  if (any(bad)) {
    at <- first_place(bad)
    given <- describe(y[[at$row, at$column]])
    abort_argument(
      "`{name}` must have whole numbers, 0 or more: row {at$row}, column
       {at$column} is {given}.",
      call = call
    )
  }
  storage.mode(y) <- "double"
  levels <- colnames(y) %||% character(ncol(y))
  unnamed <- is.na(levels) | levels == ""
  levels[unnamed] <- as.character(seq_along(levels))[unnamed]
  twice <- levels[duplicated(levels)]
  if (length(twice) > 0L) {
    abort_argument(
      "`{name}` has two columns of the name {.val {twice[[1L]]}}.",
      call = call, class = "names"
    )
  }
  dimnames(y) <- list(NULL, levels)
  trials <- rowSums(y)
  list(
    y = ifelse(trials > 0, trials, NA), counts = y, trials = trials,
    kind = "category_counts", levels = levels
  )
}

# The observations in each category of each row, times the weights.
category_counts <- function(frame) {
  counts <- frame$counts %||%
    outer(frame$y, seq_along(frame$response$levels), `==`)
  counts * (frame$weights %||% 1)
}

# At least two categories, each with observations.
check_any_categories <- function(frame, call) {
  response <- frame$response
  levels <- response$levels
  name <- response$name
  if (length(levels) < 2L || length(levels) > 1000L) {
    abort_argument(
      "`{name}` must have 2 to 1000 categories, not {length(levels)}.",
      call = call
    )
  }
  count <- colSums(category_counts(frame)[rows_used(frame), , drop = FALSE])
  check_none_empty(
    name, levels[count == 0], response$kind == "category",
    "Leave {cli::qty(empty)}{?this column/these columns} out.", call
  )
}

# ---- Methods -----------------------------------------------------------------

#' @exportS3Method
response_family.categories_response <- function(response) {
  structure(
    list(family = "categorical", link = "logit"), class = "family"
  )
}

# The logarithms of the probabilities, draws x rows x K.
log_shares <- function(response, eta) {
  size <- dim(eta)
  flat <- cbind(numeric(prod(size[1:2])), matrix(eta, ncol = size[[3L]]))
  top <- do.call(pmax, lapply(seq_len(ncol(flat)), function(k) flat[, k]))
  array(
    flat - (top + log(rowSums(exp(flat - top)))), size + c(0, 0, 1),
    dimnames = list(rownames(eta), colnames(eta), response$levels)
  )
}

#' @exportS3Method
response_mean.categories_response <- function(response, eta, scale = NULL) {
  exp(log_shares(response, eta))
}

#' @exportS3Method
response_size.categories_response <- function(response, model, newdata, weights,
                                              trials, n, call) {
  check_no_size(weights, "weights", "normal", call)
  if (!response$trials) {
    check_no_size(trials, "trials", "binomial", call)
    return(NULL)
  }
  size <- given_size(trials, "trials", newdata, n, FALSE, call)
  if (is.null(newdata)) model$frame$trials else size %||% rep(1, n)
}

# Codes, draws x rows; of counts the numbers in each category, draws x rows x K,
# by the binomial distribution of each among those that are left.
#' @exportS3Method
response_draw.categories_response <- function(response, eta, size, scale) {
  share <- response_mean(response, eta)
  count <- length(response$levels)
  if (is.null(size)) {
    u <- stats::runif(prod(dim(eta)[1:2]))
    out <- matrix(1, nrow(eta), ncol(eta), dimnames = dimnames(eta)[1:2])
    below <- 0
    for (k in seq_len(count - 1L)) {
      below <- below + share[, , k]
      out <- out + (u > as.vector(below))
    }
    return(out)
  }
  out <- share
  rest <- rep(size, each = nrow(eta))
  left <- rep(1, length(rest))
  for (k in seq_len(count)) {
    own <- if (k == count) 1 else pmin(1, as.vector(share[, , k]) / left)
    # of NA, which a missing predictor gives, R's function warns
    drawn <- suppressWarnings(stats::rbinom(
      length(rest), rest, ifelse(left > 0, own, 0)
    )) + 0 * as.vector(share[, , k])
    out[, , k] <- drawn
    rest <- rest - drawn
    left <- pmax(0, left - as.vector(share[, , k]))
  }
  out
}

# A weight counts an observation so often.
#' @exportS3Method
response_log_lik.categories_response <- function(response, eta, data, scale) {
  all <- log_shares(response, eta)
  each <- function(x) rep(x, each = nrow(eta))
  out <- if (is.null(data$counts)) {
    at <- cbind(
      rep_len(seq_len(nrow(eta)), prod(dim(eta)[1:2])),
      each(seq_len(ncol(eta))), each(data$y)
    )
    all[at]
  } else {
    # a logarithm of 0 is not used
    parts <- lapply(seq_along(response$levels), function(k) {
      count <- each(data$counts[, k])
      ifelse(!is.na(count) & count == 0, 0, count * as.vector(all[, , k]))
    })
    Reduce(`+`, parts) + each(log_multinomial(data$counts))
  }
  out <- out * each(column_weights(data, eta))
  matrix(out, nrow(eta), dimnames = dimnames(eta)[1:2])
}

# The logarithms of the multinomial coefficients.
log_multinomial <- function(counts) {
  lfactorial(rowSums(counts)) - rowSums(lfactorial(counts))
}

#' @exportS3Method
response_bend.categories_response <- function(response, eta, data, scale) {
  each <- function(x) rep(x, each = nrow(eta))
  count <- dim(eta)[[3L]]
  observed <- category_counts(data)
  total <- each(rowSums(observed))
  share <- response_mean(response, eta)
  first <- eta
  second <- array(0, c(dim(eta), count))
  for (k in seq_len(count)) {
    own <- share[, , k + 1L]
    first[, , k] <- each(observed[, k + 1L]) - total * own
    for (l in seq_len(count)) {
      second[, , k, l] <- total * own * ((k == l) - share[, , l + 1L])
    }
  }
  list(first = first, second = second)
}

#' @exportS3Method
observed_response.categories_response <- function(response, y, known, weights,
                                                  call) {
  check_no_size(weights, "weights", "normal", call)
  levels <- response$levels
  if (!response$trials) {
    if (!is.factor(y)) y <- factor(y, unique(y))
    check_known_levels(y, levels, call)
    return(list(y = match(as.character(y), levels)))
  }
  if (length(dim(y)) != 2L || ncol(y) != length(levels)) {
    abort_expected(
      y, paste("a matrix of", counted(length(levels), "column")), FALSE,
      known$name, call
    )
  }
  as_category_counts(y, known$name, call)[c("y", "counts", "trials")]
}
