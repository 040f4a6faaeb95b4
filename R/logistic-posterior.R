# The posterior of a logistic regression: its mode, and its densities. The model
# behind laplace_logistic().

# list(frame, prior, density, flat, nobs, mode, mean, unbounded): the density as
# C reads it, coefficients with a flat prior, the result of the search, the
# prior means that its mode is from, NULL for 0, and names of coefficients that
# only the prior bounds.
logistic_posterior <- function(parts, prior, start, method, call) {
  frame <- logistic_frame(parts)
  p <- length(parts$columns)
  if (p == 0L) {
    abort_argument("The model has no coefficients.", call = call)
  }
  check_square_size(
    p, 2, "The precision matrix of the coefficients of {.arg x} has",
    "Use fewer columns", call
  )
  nobs <- sum(rows_used(frame))
  if (nobs == 0L) {
    abort_argument("There are no observations with trials.", call = call)
  }
  found <- parts$found %||% measure_columns(frame$x, frame$total)
  design <- describe_design(frame$x, parts$columns, found, call)
  prior <- complete_logistic_prior(prior, design, call)
  quadratic <- prior_precision(prior)
  start <- check_numeric_vector(
    start, length = p, length_why = "the number of coefficients",
    null_ok = TRUE, arg = "start", call = call
  )
  tell_constant_response(frame, quadratic$flat)
  mode <- search_mode_logistic(frame, quadratic, start, method, parts$columns,
                               call)
  list(
    frame = frame, prior = prior, density = logistic_density(frame, quadratic),
    flat = quadratic$flat, nobs = nobs, mode = mode, mean = quadratic$mean,
    unbounded = if (length(quadratic$flat) == 0L) {
      parts$columns[unbounded_columns(frame, wide_coefficients(mode, prior))]
    }
  )
}

# The coefficients whose posterior standard deviation, in the normal
# approximation, is not far below that of the prior.
wide_coefficients <- function(mode, prior) {
  variance <- prior$slope_variance
  if (is.matrix(variance)) variance <- diag(variance)
  posterior <- diag(chol2inv(t(mode$precision_factor)))
  which(posterior > 0.01 * variance)
}

# The parts of the frame that predictions for new data need, without the data.
logistic_design_of <- function(frame) {
  c(
    kept_parts(frame),
    list(offset = has_offset_argument(frame), link = frame$link)
  )
}

# ---- Densities --------------------------------------------------------------

# log p(y | w) + log p(w), every constant included (a flat direction counts as
# having density 1), for each row of w.
logistic_log_joint <- function(model, w) {
  at <- logistic_points(model, check_frame(model), w)
  .Call(C_logistic_draws, at$density, t(unname(at$w)), 0)
}

# list(density, w): rows of coefficients, less their prior means, and the
# density of these.
logistic_points <- function(model, frame, w) {
  quadratic <- prior_precision(model$prior)
  w <- parameter_rows(w, length(model$columns))
  if (!is.null(quadratic$mean)) {
    w <- w - rep(quadratic$mean, each = nrow(w))
  }
  list(density = logistic_density(frame, quadratic), w = w)
}

# log p(y_i | w), rows of w by observations, with weights and binomial
# coefficients.
logistic_log_lik <- function(model, w) {
  frame <- check_frame(model)
  at <- logistic_points(model, frame, w)
  values <- .Call(C_logistic_draws, at$density, t(unname(at$w)), 1)
  if (is.null(frame$trials)) {
    return(values)
  }
  values + rep(log_choose(frame), each = nrow(values))
}

# A message for a response of only successes or only failures: then only the
# prior keeps the coefficients finite.
tell_constant_response <- function(frame, flat) {
  none <- max(frame$success) <= 0
  all <- identical(frame$success, frame$total)
  if (!none && !all || length(flat) > 0L) {
    return(invisible())
  }
  what <- if (none) "failure" else "success"
  name <- frame$response$name
  inform_gibbsite(
    c(i = "Every observation of `{name}` is a {what}: the prior alone keeps the
           coefficients finite."),
    class = "constant_response"
  )
}
