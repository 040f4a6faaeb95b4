# The responses of regressions given the linear predictor eta: normal, and
# binomial with a link. A response is a class with methods for the generics
# below, which model_response() of its models returns.
#
# size: a number for each row, the weights of normal responses, the trials of
# binomial ones (NULL: 1). scale: sigma of each draw; NULL if there is none.

normal_response <- function() structure(list(), class = "normal_response")

binomial_response <- function(model) {
  structure(
    list(link = model_design(model)$link %||% "logit"),
    class = "binomial_response"
  )
}

logistic_links <- c("logit", "probit")

is_regression <- function(fit) {
  !is.null(model_response(fit_part(fit, "model")))
}

is_ordered <- function(response) inherits(response, "ordered_response")

is_unordered <- function(response) inherits(response, "categories_response")

# Categories, with an order or without.
has_categories <- function(response) {
  is_ordered(response) || is_unordered(response)
}

category_words <- function(response) {
  paste0(if (is_ordered(response)) "ordered ", "categories")
}

# Packages that read fits take one linear predictor for each row.
check_one_predictor <- function(model, call) {
  if (is_unordered(model_response(model))) {
    abort_argument(
      c("A fit of {.code {short_call(model)}} has a linear predictor for each
         category, and not one.",
        i = "{.fn predict} and {.fn posterior_epred} have the categories."),
      call = call
    )
  }
}

# Categories have no differences and no variance.
check_has_moments <- function(response, what, call) {
  if (has_categories(response)) {
    kind <- category_words(response)
    abort_argument(
      c("A fit of {kind} has no {what}: these are no numbers.",
        i = "{.code predict(fit, type = \"response\")} has the probabilities of
             the categories, {.fn pp_check} compares their numbers."),
      call = call
    )
  }
}

is_binomial <- function(response) inherits(response, "binomial_response")

# Whether coefficients are log-odds, and whether exponentiate = TRUE makes them
# ratios of odds or of rates.
has_log_odds <- function(model) {
  identical(model_response(model)$link, "logit")
}

has_ratios <- function(model) {
  model_response(model)$link %in% c("logit", "log")
}

# What a coefficient changes.
changed_words <- function(model) {
  link <- model_response(model)$link
  if (is.null(link)) {
    model_design(model)$response$name
  } else {
    c(
      logit = "log-odds", probit = "probit",
      log = paste("log of the mean of", model_design(model)$response$name)
    )[[link]]
  }
}

# ---- The generics ------------------------------------------------------------

# Types of predict() and of residuals(), which categories do not have; the
# default first.
response_types <- function(response) UseMethod("response_types")
#' @exportS3Method
response_types.default <- function(response) c("link", "response", "class")
#' @exportS3Method
response_types.normal_response <- function(response) c("link", "response")

residual_types <- function(response) UseMethod("residual_types")
#' @exportS3Method
residual_types.default <- function(response) {
  c("deviance", "pearson", "response")
}
#' @exportS3Method
residual_types.normal_response <- function(response) c("response", "pearson")

response_family <- function(response) UseMethod("response_family")
#' @exportS3Method
response_family.normal_response <- function(response) stats::gaussian()
#' @exportS3Method
response_family.binomial_response <- function(response) {
  stats::binomial(response$link)
}

# The expected response; of a binomial one the probability of success, of
# categories their probabilities, draws x rows x categories.
response_mean <- function(response, eta, scale = NULL) {
  UseMethod("response_mean")
}
#' @exportS3Method
response_mean.normal_response <- function(response, eta, scale = NULL) eta
#' @exportS3Method
response_mean.binomial_response <- function(response, eta, scale = NULL) {
  success_probability(response, eta)
}

# list(mean, sd) of the expected response where eta is N(mean, sd^2), the second
# with `spread`.
response_moments <- function(response, mean, sd, spread = TRUE) {
  UseMethod("response_moments")
}
#' @exportS3Method
response_moments.normal_response <- function(response, mean, sd,
                                             spread = TRUE) {
  list(mean = mean, sd = sd)
}
#' @exportS3Method
response_moments.binomial_response <- function(response, mean, sd,
                                               spread = TRUE) {
  wide <- which(sd > 0)
  out <- list(mean = success_probability(response, mean), sd = 0 * mean)
  out$mean[wide] <- mean_share(response, mean[wide], sd[wide])
  if (spread) {
    out$sd[wide] <- share_sd(response, mean[wide], sd[wide])
  }
  out
}

# The sizes of the fit's own rows (newdata = NULL) or of n new ones.
response_size <- function(response, model, newdata, weights, trials, n, call) {
  UseMethod("response_size")
}
#' @exportS3Method
response_size.default <- function(response, model, newdata, weights, trials, n,
                                  call) {
  check_no_size(trials, "trials", "binomial", call)
  check_no_size(weights, "weights", "normal", call)
}
#' @exportS3Method
response_size.normal_response <- function(response, model, newdata, weights,
                                          trials, n, call) {
  check_no_size(trials, "trials", "binomial", call)
  size <- given_size(weights, "weights", newdata, n, TRUE, call)
  (if (is.null(newdata)) model$frame$weights else size) %||% rep(1, n)
}

# New normal observations of a fit with weights, which have none.
say_weight_one <- function(model, newdata, weights) {
  own <- model$frame$weights
  if (is.null(newdata) || !is.null(weights) || all(own %in% c(1, NA)) ||
        !inherits(model_response(model), "normal_response")) {
    return(invisible())
  }
  known <- isTRUE(model$frame$known)
  inform_gibbsite(
    c(i = if (known) {
      "The new observations have the standard error 1, since `weights` are not
       given: those of standard error `se` are {.code weights = 1 / se^2}."
    } else {
      "The new observations have the weight 1, since `weights` are not given;
       those of the fit differ."
    }),
    class = "weights"
  )
}

# A weight counts a row several times in the likelihood alone.
say_rows_once <- function(model, newdata) {
  own <- model$frame$weights
  if (is.null(newdata) && !all(own %in% c(0, 1, NA)) &&
        !inherits(model_response(model), "normal_response")) {
    inform_gibbsite(
      c(i = "Each row is replicated once: the `weights` of the fit count in the
             likelihood alone. Where they are numbers of observations, repeat
             the rows before the fit."),
      class = "weights"
    )
  }
}

#' @exportS3Method
response_size.binomial_response <- function(response, model, newdata, weights,
                                            trials, n, call) {
  check_no_size(weights, "weights", "normal", call)
  size <- given_size(trials, "trials", newdata, n, FALSE, call)
  if (is.null(newdata)) model$frame$trials else size
}

check_no_size <- function(x, arg, of, call) {
  if (!is.null(x)) {
    abort_argument(
      "{.arg {arg}} must be NULL for this fit: it is an argument for {of}
       responses.",
      call = call
    )
  }
}

given_size <- function(x, arg, newdata, n, above, call) {
  if (is.null(x)) {
    return(NULL)
  }
  if (is.null(newdata)) {
    abort_argument(
      "{.arg {arg}} goes with {.arg newdata}: the fit's own data have theirs.",
      call = call
    )
  }
  x <- check_numeric_vector(
    x, length = c(1, n), length_why = "one for each row of `newdata`",
    lower = 0, lower_open = above, arg = arg, call = call
  )
  rep_len(unname(x), n)
}

# sigma of each draw. draws: a matrix with the model's columns.
response_scale <- function(response, draws) UseMethod("response_scale")
#' @exportS3Method
response_scale.default <- function(response, draws) NULL
#' @exportS3Method
response_scale.normal_response <- function(response, draws) {
  if ("sigma" %in% colnames(draws)) {
    unname(draws[, "sigma"])
  } else {
    rep(1, nrow(draws))
  }
}

# New responses, draws x rows; of a binomial one the successes.
response_draw <- function(response, eta, size, scale) UseMethod("response_draw")
#' @exportS3Method
response_draw.normal_response <- function(response, eta, size, scale) {
  eta + errors_sd(size, scale) * stats::rnorm(length(eta))
}
#' @exportS3Method
response_draw.binomial_response <- function(response, eta, size, scale) {
  trials <- if (is.null(size)) 1 else rep(size, each = nrow(eta))
  mean <- success_probability(response, eta)
  # rbinom() warns of NA, which a missing predictor gives
  eta[] <- suppressWarnings(
    as.double(stats::rbinom(length(mean), trials, mean))
  )
  eta
}

# sigma_s / sqrt(v_i), draws x rows; NA where v_i is 0.
errors_sd <- function(size, scale) {
  root <- sqrt(size)
  root[root == 0] <- NA
  outer(scale, 1 / root)
}

# The weights of the columns of eta.
column_weights <- function(data, eta) data$weights %||% rep(1, ncol(eta))

# The log density of each observed response, draws x rows. data: a frame, or the
# parts of one that observed_response() makes.
response_log_lik <- function(response, eta, data, scale) {
  UseMethod("response_log_lik")
}
#' @exportS3Method
response_log_lik.normal_response <- function(response, eta, data, scale) {
  sd <- errors_sd(column_weights(data, eta), scale)
  out <- stats::dnorm(rep(data$y, each = nrow(eta)), eta, sd, log = TRUE)
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}
#' @exportS3Method
response_log_lik.binomial_response <- function(response, eta, data, scale) {
  share_log_lik(response, eta, data$success, data$total) +
    rep(log_choose(data), each = nrow(eta))
}

# The first derivatives of the log density of each observed response with
# respect to eta, of the shape of eta; and minus the second ones, or for t
# responses positive ones in their place. Of several linear predictors the
# second have the dimensions of eta and that of the other predictor.
response_bend <- function(response, eta, data, scale) {
  UseMethod("response_bend")
}
#' @exportS3Method
response_bend.normal_response <- function(response, eta, data, scale) {
  precision <- errors_sd(column_weights(data, eta), scale)^-2
  away <- rep(data$y, each = nrow(eta)) - eta
  list(first = precision * away, second = precision)
}
#' @exportS3Method
response_bend.binomial_response <- function(response, eta, data, scale) {
  success <- rep(data$success, each = nrow(eta))
  failure <- rep(data$total, each = nrow(eta)) - success
  if (response$link == "logit") {
    p <- stats::plogis(eta)
    total <- success + failure
    return(list(
      first = success - total * p,
      second = total * p * stats::plogis(eta, lower.tail = FALSE)
    ))
  }
  ratio <- function(x) {
    exp(stats::dnorm(x, log = TRUE) - stats::pnorm(x, log.p = TRUE))
  }
  up <- ratio(eta)
  down <- ratio(-eta)
  list(
    first = success * up - failure * down,
    second = success * up * (up + eta) + failure * down * (down - eta)
  )
}

# The response of new data with its sizes. known: of the fit's response.
observed_response <- function(response, y, known, weights, call) {
  UseMethod("observed_response")
}
#' @exportS3Method
observed_response.normal_response <- function(response, y, known, weights,
                                              call) {
  list(y = as_measurements(y, known$name, call)$y, weights = weights)
}
#' @exportS3Method
observed_response.binomial_response <- function(response, y, known, weights,
                                                call) {
  check_no_size(weights, "weights", "normal", call)
  check_no_shares(y, known, call)
  out <- response_of_kind(y, known, call)
  out$total <- out$trials %||% rep(1, length(out$y))
  out$success <- round(out$total * out$y)
  out
}

# New observations have no weights, which are the numbers of trials of shares.
check_no_shares <- function(y, known, call) {
  if (!is.numeric(y) || NCOL(y) > 1L || all(y < 0 | y > 1 | y %% 1 == 0,
                                            na.rm = TRUE)) {
    return(invisible())
  }
  abort_argument(
    c("The response {.code {known$name}} of new observations must hold 0 and 1,
       or counts: it has proportions, whose numbers of trials are not known.",
      i = "Give the counts as {.code y = cbind(successes, failures)}."),
    call = call
  )
}

# Residuals of a frame. mean: the expected responses; type: of residual_types();
# scale: of each draw.
response_residual <- function(response, frame, mean, type, scale) {
  UseMethod("response_residual")
}
#' @exportS3Method
response_residual.normal_response <- function(response, frame, mean, type,
                                              scale) {
  out <- frame$y - mean
  if (type == "pearson") out * sqrt(frame$weights %||% 1) else out
}
#' @exportS3Method
response_residual.binomial_response <- function(response, frame, mean, type,
                                                scale) {
  y <- frame$y
  out <- switch(type,
    response = y - mean,
    # 0 also if the mean is 0 or 1 in double precision
    pearson = ifelse(
      y == mean, 0, (y - mean) * sqrt(frame$total / (mean * (1 - mean)))
    ),
    deviance = sign(y - mean) *
      sqrt(stats::binomial()$dev.resids(y, mean, frame$total))
  )
  # an observation without trials has no proportion
  out[frame$trials == 0] <- NA
  out
}

# The mean variance of an observation in each draw: of size 1, or of normal
# responses with the mean of 1 / weight `spread`.
response_variance <- function(response, eta, scale, spread = 1) {
  UseMethod("response_variance")
}
#' @exportS3Method
response_variance.normal_response <- function(response, eta, scale,
                                              spread = 1) {
  scale^2 * spread
}
#' @exportS3Method
response_variance.binomial_response <- function(response, eta, scale, ...) {
  rowMeans(
    success_probability(response, eta) *
      success_probability(response, eta, success = FALSE)
  )
}

# A data frame with mean, sd, lower and upper of a new observation in each row.
# at: of predictor_moments().
new_observations <- function(response, at, size, scale, tails) {
  UseMethod("new_observations")
}
#' @exportS3Method
new_observations.normal_response <- function(response, at, size, scale, tails) {
  sd <- if (!is.null(at$sd)) {
    sqrt(at$sd^2 + outer(scale^2, 1 / size))
  } else if (length(unique(size)) == 1L) {
    scale / sqrt(size[[1L]])
  } else {
    outer(scale, 1 / sqrt(size))
  }
  mixture_table(at, sd, tails)
}
#' @exportS3Method
new_observations.binomial_response <- function(response, at, size, scale,
                                               tails) {
  if (is.null(size) || all(size == 1)) {
    return(single_outcomes(response, at, tails))
  }
  at <- with_mean(at)
  own <- response_moments(response, at$mean, at$sd %||% (0 * at$mean))
  whole <- mixture_table(own$mean, own$sd, NULL)
  z <- normal_points(nrow(at$mean))
  ends <- vapply(seq_along(size), function(i) {
    eta <- at$mean[, i]
    if (any(at$sd[, i] > 0, na.rm = TRUE)) {
      eta <- eta + at$sd[, i] * z
    }
    share <- success_probability(response, as.vector(eta))
    binomial_quantiles(share, size[[i]], tails)
  }, numeric(2))
  p <- whole$mean
  data.frame(
    mean = size * p,
    sd = sqrt(size * p * (1 - p) + size * (size - 1) * whole$sd^2),
    two_ends(ends)
  )
}

# The means over the draws of the expected responses; at: as in
# new_observations().
mean_over_draws <- function(response, at) {
  if (is.null(at$sd)) {
    return(predicted_columns(response, at)$mean)
  }
  values <- response_moments(response, at$mean, at$sd, spread = FALSE)
  column_moments(values$mean)$mean
}

# Of one trial each: a success has the probability `mean`.
single_outcomes <- function(response, at, tails) {
  p <- mean_over_draws(response, at)
  end <- function(tail) ifelse(1 - p >= tail, 0, 1)
  data.frame(
    mean = p, sd = sqrt(p * (1 - p)), lower = end(tails[[1L]]),
    upper = end(tails[[2L]])
  )
}

# The least numbers of successes whose probability, the mean over `share`, is at
# least p.
binomial_quantiles <- function(share, trials, probs) {
  if (anyNA(share)) {
    return(rep(NA_real_, length(probs)))
  }
  if (trials == 0) {
    return(numeric(length(probs)))
  }
  odds <- share / (1 - share)
  least_counts(
    trials * log1p(-share), -odds, (trials + 1) * odds, probs, trials,
    function(k) mean(stats::pbinom(k, trials, share))
  )
}

# The least whole numbers where the mean of distributions is at least p, for
# probabilities of the class of Panjer (1981, doi:10.1017/S0515036100006796):
# P(k) = (slope + rise / k) P(k - 1), P(0) = exp(log_start). Where P(0) has no
# number, by the distribution function, searched upwards from `high`.
least_counts <- function(log_start, slope, rise, probs, high, distribution) {
  if (isTRUE(min(log_start) > -700) && !is.unsorted(probs)) {
    found <- .Call(
      C_least_counts, exp(log_start), slope, rise, probs, 8 * high
    )
    if (!anyNA(found)) {
      return(found)
    }
  }
  least_whole(distribution, probs, ceiling(high))
}

least_whole <- function(distribution, probs, high) {
  vapply(probs, function(p) {
    low <- -1
    while (distribution(high) < p) {
      low <- high
      high <- 2 * high
    }
    while (high - low > 1) {
      middle <- floor((low + high) / 2)
      if (distribution(middle) >= p) {
        high <- middle
      } else {
        low <- middle
      }
    }
    high
  }, 0)
}

# Responses in the form of those of the fit.
as_outcome <- function(frame, values) {
  response <- frame$response
  switch(response$kind %||% "number",
    factor = factor(response$levels[1L + values], levels = response$levels),
    logical = values == 1,
    ordered = ,
    category = factor(
      response$levels[values], levels = response$levels,
      ordered = response$kind == "ordered"
    ),
    category_counts = matrix(
      values, ncol = length(response$levels),
      dimnames = list(NULL, response$levels)
    ),
    counts = cbind(successes = values, failures = frame$trials - values),
    values
  )
}

# Probabilities as classes, in the form of the fit's response.
as_class <- function(model, probability, call) {
  response <- model_design(model)$response
  check_single_outcomes(response, call)
  success <- probability > 0.5
  # with the names of the rows
  if (identical(response$kind, "logical")) {
    return(success)
  }
  as_outcome(list(response = response), as.numeric(success))
}

check_single_outcomes <- function(response, call) {
  if (isTRUE(response$kind %in% c("counts", "category_counts"))) {
    abort_argument(
      c("{.code type = \"class\"} needs a response of single outcomes; that of
         the fit is counts.",
        i = "Use {.code type = \"response\"}."),
      call = call
    )
  }
}

# A response in the levels of the fit's own, `known`.
response_of_kind <- function(y, known, call) {
  if (identical(known$kind, "factor")) {
    check_known_levels(y, known$levels, call)
    y <- factor(as.character(y), levels = known$levels)
  }
  as_response(y, known$name, call)
}

check_known_levels <- function(y, levels, call) {
  unseen <- setdiff(as.character(y[!is.na(y)]), levels)
  if (length(unseen) > 0L) {
    abort_argument(
      c("The response of {.arg newdata} must have the levels of the fit,
         not {.val {unseen[[1L]]}}.",
        i = "They are {.val {levels}}."),
      call = call, class = "level"
    )
  }
}

# ---- Summaries over the draws ------------------------------------------------

# `at` of predictor_moments() with its mean.
with_mean <- function(at) {
  if (is.null(at$mean)) {
    columns <- seq_len(ncol(at$x))
    at$mean <- linear_predictors(
      at$x, at$w[, columns, drop = FALSE], at$offset
    )
    if (anyNA(at$mean)) at$mean[is.nan(at$mean)] <- NA_real_
  }
  at
}

draws_in <- function(at) nrow(at$w %||% at$mean)

# list(mean, squares, quantiles) of the expected responses of the rows over the
# draws, the first two as column_moments(), the third probs x rows; at: of
# predictor_moments(), without sd. sd: NULL, or a number for each draw:
# quantiles are those of normal distributions with these about the responses.
predicted_columns <- function(response, at, probs = numeric(), sd = NULL) {
  if (is.null(at$x) || is.matrix(sd)) {
    values <- response_mean(response, with_mean(at)$mean)
    quantiles <- if (length(probs) == 0L) {
      NULL
    } else if (is.null(sd)) {
      column_quantiles(values, probs)
    } else {
      mixture_quantiles(values, sd, probs)
    }
    return(c(column_moments(values), list(quantiles = quantiles)))
  }
  at$link <- link_code(response$link)
  .Call(C_predicted_columns, at, sd, as.double(probs))
}

# The number that C has for a link; NULL: the identity.
link_code <- function(link) {
  match(link %||% "identity", c("identity", "logit", "probit", "log")) - 1
}

# The inverse of the link, of a vector or matrix of linear predictors.
expected_responses <- function(link, eta) {
  storage.mode(eta) <- "double"
  .Call(C_expected_responses, eta, link_code(link))
}

# A data frame with a row for each column of `mean`, a matrix or the moments of
# predictor_moments() that stand for one: mean, sd, lower and upper of the
# mixture of N(mean[s, ], sd[s, ]^2) over the draws s; sd: draws x columns, or a
# number for each draw. sd, lower and upper are NA for a column with an unknown
# mean or without finite variances. tails: NULL for mean and sd alone.
mixture_table <- function(mean, sd, tails) {
  at <- if (is.list(mean)) mean else list(mean = mean)
  found <- predicted_columns(normal_response(), at, tails, sd)
  within <- if (is.matrix(sd)) colMeans(sd^2) else colMeans(cbind(sd^2))
  within[!is.finite(within)] <- NA
  between <- found$squares / max(1, draws_in(at) - 1)
  out <- data.frame(mean = found$mean, sd = sqrt(between + within))
  if (is.null(tails)) out else cbind(out, two_ends(found$quantiles))
}

# ---- The binomial response ---------------------------------------------------

# F(eta), or 1 - F(eta), or their logarithms; eta: a vector or a matrix.
success_probability <- function(response, eta, success = TRUE, log = FALSE) {
  if (!log) {
    return(expected_responses(response$link, if (success) eta else -eta))
  }
  distribution <- switch(
    response$link, logit = stats::plogis, probit = stats::pnorm
  )
  # of no rows R's functions drop the dimensions
  eta[] <- distribution(eta, lower.tail = success, log.p = TRUE)
  eta
}

# s log F(eta) + (m - s) log (1 - F(eta)), draws x observations
share_log_lik <- function(response, eta, success, total) {
  # a logarithm of 0 is not used
  part <- function(count, side) {
    count <- rep(count, each = nrow(eta))
    value <- success_probability(response, eta, success = side, log = TRUE)
    ifelse(!is.na(count) & count == 0, 0, count * value)
  }
  out <- part(success, TRUE) + part(total - success, FALSE)
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

# The logarithms of the binomial coefficients, times the weights.
log_choose <- function(frame) {
  trials <- frame$trials %||% rep(1, length(frame$y))
  row_weights(frame) * lchoose(trials, round(trials * frame$y))
}

# E sigma(m + s Z), or its derivative with respect to m.
logistic_mean <- function(m, s, slope = FALSE) {
  value <- .Call(C_logistic_mean, as.double(m), as.double(s), slope)
  value[is.na(m)] <- m[is.na(m)]
  value
}

# E F(m + s Z)
mean_share <- function(response, m, s) {
  if (response$link == "logit") {
    logistic_mean(m, s)
  } else {
    stats::pnorm(m / sqrt(1 + s^2))
  }
}

# sd of F(m + s Z), which is that of F(-m + s Z). The mean is p. E F^2 is, with
# sigma' = sigma - sigma^2, p - E sigma', or by Owen's function, p - 2 T. Where
# the differences have few digits the variance is an integral.
share_sd <- function(response, m, s) {
  m <- -abs(m)
  p <- mean_share(response, m, s)
  variance <- if (response$link == "logit") {
    p * (1 - p) - logistic_mean(m, s, slope = TRUE)
  } else {
    p * (1 - p) - 2 * owen_t(m / sqrt(1 + s^2), 1 / sqrt(1 + 2 * s^2))
  }
  variance[s == 0] <- 0
  few <- which(variance < 1e-6 * p & s > 0)
  variance[few] <- vapply(few, function(i) {
    share_variance(response, m[[i]], s[[i]], p[[i]])
  }, 0)
  sqrt(variance)
}

# E (F(m + s Z) - p)^2 for m <= 0, by the trapezoidal rule, whose error is below
# rounding for functions as smooth as these. F^2 phi is greatest at `top` at
# most.
share_variance <- function(response, m, s, p) {
  logit <- response$link == "logit"
  top <- min(if (logit) 2 * s else -2 * m * s / (1 + 2 * s^2), -m / s)
  step <- 0.3 / max(1, s)
  z <- seq(-9, 9 + top, by = step)
  away <- success_probability(response, m + s * z) - p
  step * sum(away^2 * stats::dnorm(z))
}

# Owen's T(h, a), the integral over 0 < x < a, a <= 1, of exp(-h^2 (1 + x^2) /
# 2) / (1 + x^2) / (2 pi), by 20 nodes of Gauss and Legendre.
owen_t <- function(h, a) {
  k <- seq_len(19)
  rule <- gauss_rule(k / sqrt(4 * k^2 - 1))
  sum <- 0
  for (node in seq_len(20)) {
    x <- a * (1 + rule$nodes[[node]]) / 2
    sum <- sum + rule$weights[[node]] * exp(-h^2 * (1 + x^2) / 2) / (1 + x^2)
  }
  a * sum / (2 * pi)
}

# list(nodes, weights) of the Gauss quadrature whose orthogonal polynomials have
# the Jacobi matrix with 0 on the diagonal and `beside` next to it (Golub and
# Welsch 1969, doi:10.1090/S0025-5718-69-99647-1).
gauss_rule <- function(beside) {
  k <- seq_along(beside)
  jacobi <- matrix(0, length(k) + 1, length(k) + 1)
  jacobi[cbind(k, k + 1)] <- jacobi[cbind(k + 1, k)] <- beside
  found <- eigen(jacobi, symmetric = TRUE)
  list(nodes = found$values, weights = found$vectors[1L, ]^2)
}
