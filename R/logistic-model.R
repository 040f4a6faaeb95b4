# The model behind gibbs_logistic(): its fields, states and starting values.
# src/core/logistic/logistic_gibbs.h has the mathematics.

# parts: of formula_parts() or matrix_parts().
logistic_model <- function(parts, prior, link, call) {
  parts$link <- link
  posterior <- logistic_posterior(parts, prior, NULL, "newton", call)
  frame <- posterior$frame
  mode <- posterior$mode
  data <- list(
    density = posterior$density, map = mode$map,
    precision_factor = mode$precision_factor,
    every = augmentation_interval(frame$success, frame$total)
  )
  new_model(
    "logistic_model",
    name = "gibbs_logistic",
    title = link_title(link),
    headline = paste0(
      link_title(link), ": ",
      counted(length(parts$columns), "coefficient"), ", ",
      counted(posterior$nobs, "observation")
    ),
    data = data, data_part = c("data", "frame"),
    given = given_words(
      hint = "Give {.code list(x = , y = )}, the model matrix and the response
              of the fit, with {.code weights} and {.code offset} if it had
              any."
    ),
    prior = linked_prior(posterior$prior, link), nobs = posterior$nobs,
    columns = parts$columns,
    cures = paste(
      "Try a prior with smaller variances,",
      "`logistic_prior(slope_variance = )`: see ?logistic_prior."
    ),
    unbounded = posterior$unbounded, design = logistic_design_of(frame),
    frame = frame
  )
}

# The time of the augmentation is proportional to the trials, that of the other
# steps to the observations. 0: it is left out, of fractions, which it does not
# take, and of so many trials that it would be slow and its moves small.
augmentation_interval <- function(success, total) {
  many <- sum(total) > 1e5 && has_proposals(success, total)
  if (many || has_fractions(success, total)) {
    return(0)
  }
  ceiling(10 * sum(total) / sum(total > 0))
}

# Without names and attributes, so that the same data have the same hash however
# they were given.
#' @exportS3Method
model_hash.logistic_model <- function(model) {
  density <- model$data$density
  if (is.matrix(density$x)) {
    size <- dim(density$x)
    attributes(density$x) <- NULL
    dim(density$x) <- size
  }
  hash(density)
}

# ---- Starting values and state ----------------------------------------------

# w: coefficients less their prior means, as C has them.
logistic_gibbs_state <- function(w) {
  list(sweep = 0, w = as.double(w), counts = numeric(4L), leap = 0.5)
}

# About the mode, with three times the standard deviations of the normal
# approximation.
#' @exportS3Method
model_start.logistic_model <- function(model, init) {
  if (!is.null(init$coefficients)) {
    return(logistic_gibbs_state(
      init$coefficients - unname(coefficient_means(model$prior))
    ))
  }
  data <- model$data
  e <- stats::rnorm(length(data$map))
  away <- backsolve(
    data$precision_factor, e, upper.tri = FALSE, transpose = TRUE
  )
  logistic_gibbs_state(data$map + 3 * away)
}

#' @exportS3Method
model_sweeps.logistic_model <- function(model, state, n, control) {
  run <- .Call(C_logistic_sweeps, model$data, state, n, control)
  means <- coefficient_means(model$prior)
  if (any(means != 0)) {
    run$draws <- run$draws + rep(unname(means), each = nrow(run$draws))
  }
  run
}

state_coefficients <- function(model, state) {
  state$w + unname(coefficient_means(model$prior))
}

#' @exportS3Method
model_check_init.logistic_model <- function(model, init, where, call) {
  check_init_names(init, "coefficients", where, call)
  check_init_vector(init, "coefficients", length(model$columns), where, call)
  init
}

#' @exportS3Method
model_init_from_state.logistic_model <- function(model, state) {
  list(coefficients = state_coefficients(model, state))
}

#' @exportS3Method
model_acceptance.logistic_model <- function(model, state) {
  memory_table(
    "coefficients", list(list(counts = state$counts, tuning = 0))
  )
}

#' @exportS3Method
model_notes.logistic_model <- function(model, fit, table) {
  rates <- range(acceptance(fit)$rate)
  c(
    paste0(
      "Acceptance of the independence steps ",
      paste(unique(format(rates, digits = 2, nsmall = 2)), collapse = " to "),
      "."
    ),
    unbounded_note(model$unbounded),
    # with one trial a row the residuals do not show the variance
    if (any(model$frame$trials > 1)) {
      dispersion_note(fit, "add (1 | row), where each row is a group.")
    }
  )
}

#' @exportS3Method
model_labels.logistic_model <- function(model) {
  data.frame(
    variable = model$columns, label = coefficient_labels(model$columns)
  )
}

#' @exportS3Method
model_response.trials_model <- function(model) binomial_response(model)

#' @exportS3Method
model_notes.trials_model <- function(model, fit, table) {
  unbounded_note(model$unbounded)
}

#' @exportS3Method
predictor_log_lik.ungrouped_logistic_model <- function(model, draws) {
  logistic_log_lik(model, draws)
}

# ---- The joint distribution -------------------------------------------------

#' @exportS3Method
draw_prior.logistic_model <- function(model) {
  variance <- model$prior$slope_variance
  e <- stats::rnorm(length(model$columns))
  w <- if (is.matrix(variance)) {
    drop(e %*% chol(variance))
  } else {
    drop(of_basis(t(sqrt(variance) * e), model$prior$basis))
  }
  logistic_gibbs_state(w)
}

# In the form of set_data().
#' @exportS3Method
simulate_data.logistic_model <- function(model, state) {
  frame <- model$frame
  w <- state_coefficients(model, state)
  eta <- drop(linear_predictors(frame$x, w, frame$offset))
  list(
    x = frame$x, y = simulated_successes(model, eta),
    weights = frame$weights, offset = frame$offset
  )
}

# Two columns: successes and failures.
simulated_successes <- function(model, eta) {
  share <- success_probability(model_response(model), eta)
  trials <- model$frame$trials %||% rep(1, length(share))
  successes <- stats::rbinom(length(share), trials, share)
  cbind(successes, trials - successes)
}

# `data`: list(x, y, weights, offset), as gibbs_logistic() takes them of a
# matrix, with the rows that the fit uses.
#' @exportS3Method
set_data.logistic_model <- function(model, data,
                                 call = rlang::caller_env()) {
  known <- c("x", "y", "weights", "offset")
  if (!is.list(data) || is.object(data) || !all(c("x", "y") %in% names(data)) ||
        !all(names(data) %in% known)) {
    abort_argument(
      "`data` must be {.code list(x = , y = )}, the model matrix and the
       response of the fit, with {.code weights} and {.code offset} if it had
       any.",
      call = call
    )
  }
  columns <- model$columns
  x <- data$x
  if (length(dim(x)) == 2L && all(columns %in% colnames(x))) {
    x <- x[, columns, drop = FALSE]
  }
  parts <- matrix_parts(
    x, data$y, data$weights, data$offset, "omit", as_weighted_response, call
  )
  if (length(parts$columns) != length(columns)) {
    abort_argument(
      "The matrix of `data` must have {length(columns)} column{?s} like the fit,
       not {length(parts$columns)}.",
      call = call
    )
  }
  parts$columns <- columns
  fresh <- logistic_model(
    parts, model$prior, model_response(model)$link, call
  )
  if (!is.null(model$frame) && identical(fresh$data_hash, model$data_hash)) {
    return(model)
  }
  model[c("data", "data_hash", "frame")] <-
    fresh[c("data", "data_hash", "frame")]
  model
}

#' @exportS3Method
shown_data.logistic_model <- function(model, data) {
  trials <- rowSums(data$y)
  if (all(trials == 1)) data$y[, 1L] else data$y
}

#' @exportS3Method
model_quantities.logistic_model <- function(model, state) {
  frame <- model$frame
  w <- state_coefficients(model, state)
  eta <- drop(linear_predictors(frame$x, w, frame$offset))
  c(
    stats::setNames(w, model$columns),
    log_lik = share_sum(model, eta)
  )
}

# The log likelihood at linear predictors, without binomial coefficients.
share_sum <- function(model, eta) {
  frame <- model$frame
  sum(share_log_lik(
    model_response(model), matrix(eta, 1L), frame$success, frame$total))
}

#' @exportS3Method
model_density.ungrouped_logistic_model <- function(model) {
  p <- length(model$columns)
  list(
    columns = model$columns,
    spec = list(lower = rep(-Inf, p), upper = rep(Inf, p), map = NULL),
    log_joint = function(x) logistic_log_joint(model, x),
    log_lik = function(x, i) {
      row <- which(rows_used(model$frame))[[i]]
      model$frame <- frame_rows(model$frame, row)
      drop(logistic_log_lik(model, x))
    },
    proper = all(is.finite(model$prior$slope_variance))
  )
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.logistic_model <- function(model, held, by) {
  logistic_fold(model, held, function(parts, call) {
    logistic_model(parts, model$prior, model_response(model)$link, call)
  })
}

# make(parts, call): the model of parts as those of formula_parts().
logistic_fold <- function(model, held, make) {
  frame <- model$frame
  rows <- which(rows_used(frame))
  kept <- frame_rows(frame, rows[-held])
  parts <- list(
    x = kept$x, columns = model$columns,
    response = c(kept$response, kept[c("y", "trials")]),
    weights = kept$weights, offset = kept$offset, total = kept$total,
    more = kept[c(
      "formula", "terms", "xlevels", "contrasts", "model", "row_names"
    )]
  )
  train <- make(parts, NULL)
  test <- train
  test$frame <- frame_rows(frame, rows[held])
  list(train = train, test = test)
}

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
  design <- fixed_design(
    frame, parts$columns, frame$total, call, parts$found
  )
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
  if (is.matrix(variance)) {
    variance <- diag(variance)
  } else if (!is.null(prior$basis)) {
    variance <- diag(covariance_of_basis(diag(variance), prior$basis))
  }
  posterior <- diag(chol2inv(t(mode$precision_factor)))
  which(posterior > 0.01 * variance)
}

logistic_design_of <- function(frame) {
  c(kept_parts(frame), list(link = frame$link))
}

# ---- Densities --------------------------------------------------------------

# log p(y | w) + log p(w), every constant included (a flat direction counts as
# having density 1), for each row of w.
logistic_log_joint <- function(model, w) {
  logistic_values(model, check_frame(model), w, 0)
}

# log p(y_i | w), rows of w by observations, with weights and binomial
# coefficients.
logistic_log_lik <- function(model, w) {
  frame <- check_frame(model)
  values <- logistic_values(model, frame, w, 1)
  if (is.null(frame$trials)) {
    return(values)
  }
  values + rep(log_choose(frame), each = nrow(values))
}

# What C computes at rows of coefficients; what: 0 for the log joint density, 1
# for the log likelihood of each observation.
logistic_values <- function(model, frame, w, what) {
  quadratic <- prior_precision(model$prior)
  w <- parameter_rows(w, length(model$columns))
  if (!is.null(quadratic$mean)) {
    w <- w - rep(quadratic$mean, each = nrow(w))
  }
  density <- logistic_density(frame, quadratic)
  .Call(C_logistic_draws, density, t(unname(w)), what)
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
