# The rating of a matrix factorisation as a function of its latent value, which
# is normal about the linear predictor. The field `response` of a model is
#
#   NULL                 the rating is the latent value
#   list(range)          the latent value moved to the nearer end of the range
#   list(link, values, labels, cutpoint_sd)
#                        values[c] (labels[c] in words), where the latent value
#                        lies between the cutpoints theta[c - 1] and theta[c]
#
# Latent values given a draw are list(mean, sd) as bmf_normals() gives them:
# draws x pairs; sd may be a vector. `kept` is as kept_factors() gives it, or a
# list with `model` alone if there are no cutpoints.

bmf_response <- function(ratings, range, link, cutpoint_sd, call) {
  if (!is.null(link)) {
    return(ordinal_response(ratings, range, link, cutpoint_sd, call))
  }
  if (is.null(range)) {
    return(NULL)
  }
  range <- check_rating_range(range, call)
  outside <- which(ratings$value < range[[1L]] | ratings$value > range[[2L]])
  if (length(outside) > 0) {
    at <- outside[[1L]]
    pair <- pair_words(ratings, at)
    given <- ratings$value[[at]]
    count <- length(outside)
    abort_argument(
      c(
        "{.arg range} must hold every rating: that of {pair} is {given}.",
        i = if (count > 1) "{count} ratings are outside."
      ),
      call = call, class = "range", row = at
    )
  }
  list(range = range)
}

check_rating_range <- function(range, call) {
  range <- check_numeric_vector(range, arg = "range", call = call)
  if (length(range) != 2L || !(range[[1L]] < range[[2L]])) {
    abort_argument(
      c(
        "{.arg range} must be two numbers, the lowest possible rating and, above
         it, the highest, not {and_words(range)}.",
        i = "For ratings from 1 to 5: {.code range = c(1, 5)}."
      ),
      call = call
    )
  }
  as.double(range)
}

ordinal_response <- function(ratings, range, link, cutpoint_sd, call) {
  if (!is.null(range)) {
    abort_argument(
      c(
        "{.arg range} is for ratings that are numbers, without a {.arg link}.",
        i = "With {.code link = \"{link}\"} predictions are on the ratings'
             scale anyhow."
      ),
      call = call
    )
  }
  values <- ratings$scale
  if (is.null(values)) {
    values <- if (link == "probit") c(0, 1) else sort(unique(ratings$value))
  }
  check_rating_scale(values, ratings, link, call)
  list(
    link = link, values = values,
    labels = ratings$levels %||% format_values(values),
    cutpoint_sd = cutpoint_sd
  )
}

format_values <- function(values) vapply(values, format, "", digits = 15)

check_rating_scale <- function(values, ratings, link, call) {
  count <- length(values)
  if (link == "probit") {
    other <- which(!ratings$value %in% values)
    if (count != 2L || length(other) > 0) {
      given <- if (count != 2L) {
        paste(count, "levels")
      } else {
        paste("the rating", format(ratings$value[[other[[1L]]]]))
      }
      abort_argument(
        c(
          "With {.code link = \"probit\"} ratings must be 0 and 1, logical, or a
           factor of two levels, not {given}.",
          i = "For more than two ratings use {.code link = \"ordinal\"}."
        ),
        call = call, class = "scale"
      )
    }
    return(invisible())
  }
  if (count < 2L || count > 100L) {
    abort_argument(
      c(
        "With {.code link = \"ordinal\"} there must be from 2 to 100 different
         ratings, not {count}.",
        i = if (count > 100L) {
          "For numbers that are not on a scale of few levels leave {.arg link}
           out."
        }
      ),
      call = call, class = "scale"
    )
  }
}

# Ratings given later (NA: not known) must be possible, too.
check_held_values <- function(value, response, arg, call) {
  if (is.null(value) || is.null(response)) {
    return(invisible())
  }
  possible <- response$range %||% response$values
  outside <- if (is.null(response$range)) {
    which(!is.na(value) & !value %in% possible)
  } else {
    which(value < possible[[1L]] | value > possible[[2L]])
  }
  if (length(outside) == 0) {
    return(invisible())
  }
  row <- outside[[1L]]
  are <- if (is.null(response$range)) {
    paste0("one of the fit's, ", or_words(format_values(possible)))
  } else {
    sprintf("from %s to %s, the `range` of the fit", possible[1L], possible[2L])
  }
  abort_argument(
    "Each rating of {.arg {arg}} must be {are}: row {row} has {value[[row]]}.",
    call = call, class = "range", row = row
  )
}

is_latent <- function(model) !is.null(model$response)

is_ordinal <- function(model) !is.null(model$response$link)

cutpoint_count <- function(response) max(0L, length(response$values) - 1L)

clip <- function(x, range) pmin(pmax(x, range[[1L]]), range[[2L]])

# ---- clipped ratings --------------------------------------------------------

# clip(m + s z) = o + s y, z standard normal, with
#   a = (low - m) / s,  b = (high - m) / s,
#   o = m if a < 0 < b, otherwise the end of the range nearer to m.
# Counted from there no digits cancel, however far the other end is. With
# h(a) = E (z - a)_+ and w(a) = E (z - a)_+^2, as beyond() and square() below,
# y has the moments
#   o = m:      h(-a) - h(b),
#               1 - w(b) - 2 b h(b) - w(-a) + 2 a h(-a)
#   o = low:    h(a) - h(b),  w(a) - w(b) - 2 (b - a) h(b)
#   o = high:   as for low with (-b, -a) for (a, b), and of -y.
# A range that is narrow beside s has o = low and integrals.
clipped_moments <- function(mean, sd, range) {
  beyond <- function(x) stats::dnorm(x) - x * stats::pnorm(-x)
  square <- function(x) (1 + x^2) * stats::pnorm(-x) - x * stats::dnorm(x)
  # beyond 40 standard deviations there is nothing in double precision
  scaled <- function(end) clip((end - mean) / sd, c(-40, 40))
  a <- scaled(range[[1L]])
  b <- scaled(range[[2L]])
  inside <- a < 0 & b > 0
  above <- b <= 0
  near <- ifelse(above, -b, a)
  far <- ifelse(above, -a, b)
  first <- ifelse(
    inside, beyond(-a) - beyond(b), beyond(near) - beyond(far)
  )
  second <- ifelse(
    inside,
    1 - square(b) - 2 * b * beyond(b) - square(-a) + 2 * a * beyond(-a),
    square(near) - square(far) - 2 * (far - near) * beyond(far)
  )
  from <- ifelse(inside, mean, ifelse(above, range[[2L]], range[[1L]]))
  # A narrow range, from the lower end: E y = int_a^b P(z > t) dt and
  # E y^2 = int_a^b 2 (t - a) P(z > t) dt, by Gauss's rule with three points.
  width <- (range[[2L]] - range[[1L]]) / sd
  narrow <- width < 0.01 & b > -40 & a < 40
  if (any(narrow)) {
    tail <- function(share) stats::pnorm(-(a + share * width))
    at <- 0.5 + sqrt(0.15) * c(-1, 0, 1)
    sum_of <- function(f) {
      width * (5 * f(at[[1L]]) + 8 * f(at[[2L]]) + 5 * f(at[[3L]])) / 18
    }
    near_first <- sum_of(tail)
    near_second <- sum_of(function(share) 2 * share * width * tail(share))
    first <- ifelse(narrow, near_first, first)
    second <- ifelse(narrow, near_second, second)
    from <- ifelse(narrow, range[[1L]], from)
    above <- above & !narrow
  }
  list(
    mean = clip(from + ifelse(above, -1, 1) * sd * first, range),
    variance = sd^2 * pmax(second - first^2, 0)
  )
}

# ---- ordinal ratings --------------------------------------------------------

# P(rating <= values[c]) given each draw, 0 < c < K: draws x pairs. `upper`: 1
# less that.
probability_up_to <- function(kept, latent, c, upper = FALSE) {
  z <- (kept$cutpoints[, c] - latent$mean) / latent$sd
  matrix(stats::pnorm(z, lower.tail = !upper), nrow(latent$mean))
}

# With F(c) the probability up to values[c] and g_c = values[c + 1] - values[c],
# the mean is the largest value less sum_c g_c F(c), and the variance
#   sum_c (1 - F(c)) g_c (g_c F(c) + 2 sum_{b < c} g_b F(b)).
ordinal_moments <- function(kept, latent) {
  values <- kept$model$response$values
  gaps <- diff(values)
  variance <- before <- 0 * latent$mean
  for (c in seq_along(gaps)) {
    below <- gaps[[c]] * probability_up_to(kept, latent, c)
    above <- gaps[[c]] * probability_up_to(kept, latent, c, upper = TRUE)
    variance <- variance + above * (below + 2 * before)
    before <- before + below
  }
  list(mean = values[[length(values)]] - before, variance = variance)
}

ordinal_log_density <- function(kept, value, latent) {
  draws <- nrow(latent$mean)
  code <- match(value, kept$model$response$values)
  bounds <- cbind(-Inf, kept$cutpoints, Inf)
  scaled <- function(which) {
    (bounds[, which, drop = FALSE] - latent$mean) / latent$sd
  }
  matrix(log_between(scaled(code), scaled(code + 1L)), draws)
}

# Probabilities of the ratings over all draws: pairs x K.
rating_probabilities <- function(kept, latent) {
  bounds <- cbind(-Inf, kept$cutpoints, Inf)
  scaled <- function(c) (bounds[, c] - latent$mean) / latent$sd
  out <- vapply(seq_len(ncol(bounds) - 1L), function(c) {
    share <- between(scaled(c), scaled(c + 1L))
    colMeans(matrix(share, nrow(latent$mean)))
  }, numeric(ncol(latent$mean)))
  matrix(out, ncol(latent$mean), ncol(bounds) - 1L)
}

# ---- all of them ------------------------------------------------------------

# Mean and variance of the rating given a draw: list(mean, variance), draws x
# pairs; for models with a response.
rating_moments <- function(kept, latent) {
  if (is_ordinal(kept$model)) {
    return(ordinal_moments(kept, latent))
  }
  clipped_moments(latent$mean, latent$sd, kept$model$response$range)
}

# A draw of the rating for each latent mean, from R's generator.
rating_draws <- function(kept, linear) {
  latent <- matrix(
    stats::rnorm(length(linear), linear, sqrt(kept$noise)), nrow(linear)
  )
  response <- kept$model$response
  if (is_ordinal(kept$model)) {
    code <- 1L
    for (c in seq_len(ncol(kept$cutpoints))) {
      code <- code + (latent > kept$cutpoints[, c])
    }
    return(matrix(response$values[code], nrow(linear)))
  }
  if (is.null(response)) latent else clip(latent, response$range)
}

# P(rating <= value) and P(rating < value), averaged over the draws: pairs x 2.
rating_below <- function(kept, value, latent) {
  if (is_ordinal(kept$model)) {
    values <- kept$model$response$values
    up_to <- cbind(0, t(apply(rating_probabilities(kept, latent), 1L, cumsum)))
    take <- function(count) up_to[cbind(seq_along(value), count + 1L)]
    return(cbind(
      take(findInterval(value, values)),
      take(findInterval(value, values, left.open = TRUE))
    ))
  }
  below <- probability_below(value, latent)
  range <- kept$model$response$range
  if (is.null(range)) {
    return(cbind(below, below))
  }
  cbind(
    ifelse(value >= range[[2L]], 1, ifelse(value < range[[1L]], 0, below)),
    ifelse(value <= range[[1L]], 0, ifelse(value > range[[2L]], 1, below))
  )
}

probability_below <- function(value, latent) {
  draws <- nrow(latent$mean)
  z <- (rep(value, each = draws) - latent$mean) / latent$sd
  colMeans(matrix(stats::pnorm(z), draws))
}

# The smallest values with at least the probabilities `probs` at or below them,
# over all draws: pairs x probs.
rating_quantiles <- function(kept, latent, probs) {
  if (is_ordinal(kept$model)) {
    probability <- rating_probabilities(kept, latent)
    last <- ncol(probability)
    code <- matrix(1L, nrow(probability), length(probs))
    up_to <- 0
    for (c in seq_len(last - 1L)) {
      up_to <- up_to + probability[, c]
      code <- code + outer(up_to, probs, `<`)
    }
    code[] <- kept$model$response$values[code]
    return(code)
  }
  ends <- t(mixture_quantiles(latent$mean, latent$sd, probs))
  range <- kept$model$response$range
  if (is.null(range)) ends else clip(ends, range)
}

# The ends of the central interval of the rating, or of its mean given a draw:
# pairs x 2. If the rating is the latent value, latent$sd is that of the mean,
# without noise.
rating_ends <- function(kept, latent, level, interval = "prediction") {
  tails <- central_tails(level)
  if (interval == "prediction") {
    return(rating_quantiles(kept, latent, tails))
  }
  if (is_latent(kept$model)) {
    return(t(column_quantiles(rating_moments(kept, latent)$mean, tails)))
  }
  t(mixture_quantiles(latent$mean, latent$sd, tails))
}

# The log density of the model, draws x pairs: of ordinal ratings the log
# probability; with `range` that of the latent value, as in the chain.
rating_log_density <- function(kept, value, latent) {
  if (is_ordinal(kept$model)) {
    return(ordinal_log_density(kept, value, latent))
  }
  value <- rep(value, each = nrow(latent$mean))
  matrix(
    stats::dnorm(value, latent$mean, latent$sd, log = TRUE), nrow(latent$mean)
  )
}

# Whether values lie in their central intervals: below as rating_below() gives
# it.
inside_interval <- function(below, level) {
  below[, 1L] >= (1 - level) / 2 & below[, 2L] <= (1 + level) / 2
}
