# The responses of gibbs_count() given the linear predictor: counts with a log
# link, Poisson or negative binomial. scale: the dispersion tau of each draw,
# NULL for Poisson. The variance is mu + tau^2 mu^2.

# poisson, poisson() and poisson("log"), as glm() takes them, are "poisson".
check_count_family <- function(family, call) {
  known <- if (identical(family, stats::poisson)) family() else family
  if (inherits(known, "family") && identical(known[["family"]], "poisson") &&
        identical(known[["link"]], "log")) {
    return("poisson")
  }
  check_choice(family, c("poisson", "negbinomial"), call = call)
}

events_response <- function(family) {
  structure(list(family = family, link = "log"), class = "count_response")
}

# Numbers of events: whole, 0 or more. most: those that a double tells apart;
# simulated ones may be larger.
as_events <- function(y, name, call, most = 2^53) {
  expected <- "whole numbers, 0 or more"
  if (is.logical(y) || is.factor(y)) {
    hint <- if (nlevels(y) > 2L) {
      paste("For categories use `gibbs_categorical()`, with an order",
            "`gibbs_ordinal()`.")
    } else {
      paste0(
        "For two outcomes use `gibbs_logistic()`",
        if (is.logical(y)) paste0(", for events `as.integer(", name, ")`"), "."
      )
    }
    abort_expected(y, expected, FALSE, name, call, hint = hint)
  }
  y <- as_measurements(y, name, call)$y
  wrong <- function(at) at & !is.na(y)
  abort_elements(
    wrong(y < 0 | y != round(y)), y, name, expected, call,
    "Measurements are the response of {.fn gibbs_lm} or {.fn gibbs_hlm}."
  )
  abort_elements(wrong(y > most), y, name, "at most 2^53", call)
  list(y = y, kind = "events")
}

# The distribution of an observation with a mean and the size 1 / tau^2.
count_distribution <- function(response, what) {
  if (response$family == "poisson") {
    of <- list(d = stats::dpois, p = stats::ppois, r = stats::rpois)[[what]]
    function(x, mean, scale, ...) of(x, mean, ...)
  } else {
    of <- list(d = stats::dnbinom, p = stats::pnbinom, r = stats::rnbinom)[[
      what
    ]]
    function(x, mean, scale, ...) of(x, size = 1 / scale^2, mu = mean, ...)
  }
}

#' @exportS3Method
response_types.count_response <- function(response) c("link", "response")

# As of stats::glm(); the functions of the variance are those of one dispersion.
#' @exportS3Method
response_family.count_response <- function(response) {
  out <- stats::poisson()
  if (response$family == "negbinomial") {
    out$family <- "Negative Binomial"
    out[c("variance", "dev.resids", "aic", "initialize", "simulate")] <- NULL
  }
  out
}

#' @exportS3Method
response_mean.count_response <- function(response, eta, scale = NULL) {
  expected_responses("log", eta)
}

#' @exportS3Method
response_moments.count_response <- function(response, mean, sd,
                                            spread = TRUE) {
  out <- list(mean = exp(mean + sd^2 / 2), sd = 0 * mean)
  if (spread) out$sd <- out$mean * sqrt(expm1(sd^2))
  out
}

#' @exportS3Method
response_scale.count_response <- function(response, draws) {
  if (response$family == "negbinomial") unname(draws[, "dispersion"])
}

#' @exportS3Method
response_draw.count_response <- function(response, eta, size, scale) {
  draw <- count_distribution(response, "r")
  # of NA, which a missing predictor gives, R's functions warn
  eta[] <- suppressWarnings(as.double(
    draw(length(eta), exp(eta), rep_len(scale %||% 0, length(eta)))
  ))
  eta
}

# A weight counts an observation so often.
#' @exportS3Method
response_log_lik.count_response <- function(response, eta, data, scale) {
  density <- count_distribution(response, "d")
  out <- density(
    rep(data$y, each = nrow(eta)), exp(eta), scale %||% 0, log = TRUE
  )
  out <- out * rep(column_weights(data, eta), each = nrow(eta))
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

#' @exportS3Method
response_bend.count_response <- function(response, eta, data, scale) {
  y <- rep(data$y, each = nrow(eta))
  weights <- rep(column_weights(data, eta), each = nrow(eta))
  if (is.null(scale)) {
    mean <- exp(eta)
    return(list(first = weights * (y - mean), second = weights * mean))
  }
  # a binomial response of y + size trials
  at <- eta + 2 * log(scale)
  share <- stats::plogis(at)
  trials <- y + scale^-2
  list(
    first = weights * (y - trials * share),
    second = weights * trials * share * stats::plogis(at, lower.tail = FALSE)
  )
}

#' @exportS3Method
observed_response.count_response <- function(response, y, known, weights,
                                             call) {
  list(y = as_events(y, known$name, call)$y, weights = weights)
}

#' @exportS3Method
response_residual.count_response <- function(response, frame, mean, type,
                                             scale) {
  y <- frame$y
  weights <- frame$weights %||% 1
  # the mean of the variance over the draws
  square <- if (is.null(scale)) 0 else mean(scale^2)
  switch(type,
    response = y - mean,
    pearson = (y - mean) * sqrt(weights / (mean + square * mean^2)),
    deviance = sign(y - mean) *
      sqrt(weights * pmax(0, count_deviance(y, mean, square)))
  )
}

# Twice the log of the ratio of the density at its best mean to that at `mean`;
# square: tau^2.
count_deviance <- function(y, mean, square) {
  own <- ifelse(y == 0, 0, y * log(y / mean))
  2 * if (square == 0) {
    own - (y - mean)
  } else {
    own - (y + 1 / square) * log1p(
      (y - mean) * square / (1 + mean * square)
    )
  }
}

#' @exportS3Method
response_variance.count_response <- function(response, eta, scale, ...) {
  rowMeans(exp(eta)) + (scale %||% 0)^2 * rowMeans(exp(2 * eta))
}

#' @exportS3Method
new_observations.count_response <- function(response, at, size, scale, tails) {
  square <- (scale %||% 0)^2
  at <- with_mean(at)
  known <- is.null(at$sd)
  own <- if (known) {
    list(mean = exp(at$mean), sd = 0)
  } else {
    response_moments(response, at$mean, at$sd)
  }
  whole <- mixture_table(own$mean, own$sd, NULL)
  within <- whole$mean
  if (any(square > 0)) {
    within <- within + colMeans(square * (own$mean^2 + own$sd^2))
  }
  z <- if (known) 0 else normal_points(nrow(at$mean))
  ends <- vapply(seq_len(ncol(at$mean)), function(i) {
    mean <- if (known) {
      own$mean[, i]
    } else {
      exp(as.vector(at$mean[, i] + at$sd[, i] * z))
    }
    count_quantiles(response, mean, rep(scale, NCOL(z)), tails)
  }, numeric(2))
  data.frame(
    mean = whole$mean, sd = sqrt(whole$sd^2 + within), two_ends(ends)
  )
}

# The least counts whose probability, the mean over the draws, is at least p.
count_quantiles <- function(response, mean, scale, probs) {
  if (!all(is.finite(mean))) {
    return(rep(NA_real_, length(probs)))
  }
  distribution <- count_distribution(response, "p")
  square <- (scale %||% 0)^2
  slope <- square * mean / (1 + square * mean)
  poisson <- response$family == "poisson"
  least_counts(
    if (poisson) -mean else -log1p(square * mean) / square,
    if (poisson) 0 * mean else slope,
    if (poisson) mean else slope * (1 / square - 1),
    probs, 4 * max(1, mean) + 16,
    function(k) mean(distribution(k, mean, scale))
  )
}
