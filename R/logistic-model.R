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

# ---- The search for the mode -------------------------------------------------

# The search for the mode of a logistic regression, and the errors when it
# fails.

# ---- the search for the mode -----------------------------------------------

# The log joint density as C reads it: of the coefficients less their prior
# means m, with the offset o + X m.
logistic_density <- function(frame, quadratic) {
  offset <- frame$offset
  if (!is.null(quadratic$mean)) {
    offset <- drop(linear_predictors(frame$x, quadratic$mean, offset))
  }
  list(
    x = design_for_c(frame$x), success = frame$success, total = frame$total,
    offset = offset, precision = quadratic$precision,
    probit = as.double(identical(frame$link, "probit")),
    constant = frame$constant + quadratic$constant
  )
}

climb_density <- function(density, start, method = "newton", share = FALSE,
                          limit = if (method == "newton") 200 else 20000,
                          tolerance = 1e-8) {
  found <- .Call(
    C_logistic_search, density, as.double(start),
    list(
      gradient = as.double(method == "gradient"),
      limit = as.double(limit),
      share = as.double(share), tolerance = tolerance
    )
  )
  if (is.null(found)) {
    rlang::interrupt()
  }
  outcomes <- c("converged", "limit", "stalled", "singular", "interrupted")
  found$outcome <- outcomes[[found$outcome + 1L]]
  # the mode is found to rounding error
  if (found$outcome == "stalled" && found$distance < 1e-4) {
    found$outcome <- "converged"
  }
  found
}

# list(map, ...) of climb_density(): the mode less the prior means.
search_mode_logistic <- function(frame, quadratic, start, method, columns,
                                 call) {
  density <- logistic_density(frame, quadratic)
  before <- NULL
  if (!is.null(start)) {
    start <- start - (quadratic$mean %||% 0)
  }
  if (is.null(start)) {
    start <- numeric(length(columns))
    if (method == "newton" && length(columns) > nrow(frame$x) &&
          length(quadratic$flat) == 0L) {
      reduced <- search_row_space(frame, density)
      start <- reduced$map
      before <- reduced$trace
    } else if (method == "newton") {
      start <- warm_start(frame, density, start)
    }
  }
  found <- climb_density(
    density, start, method, share = length(quadratic$flat) > 0L
  )
  if (!is.null(before)) {
    found$trace <- c(before, found$trace[-1L])
  }
  flat <- quadratic$flat
  # so small a share indicates collinear columns or separated data
  if (length(flat) > 0L &&
        (found$outcome != "converged" || found$share < 1e-10)) {
    check_collinear(frame, flat, columns, call)
    check_separated(frame, flat, columns, call)
  }
  if (found$outcome != "converged" || !is.finite(found$log_joint)) {
    abort_search(found, method, call)
  }
  found
}

# The mode for every step-th row. With many rows a Newton step on this subset is
# cheap, and the full data then need only two or three steps.
warm_start <- function(frame, density, start) {
  n <- nrow(frame$x)
  step <- floor(min(40, n / 1000, n / (50 * length(start))))
  if (step < 4) {
    return(start)
  }
  found <- climb_density(
    every_row(frame, density, step), start, limit = 25, tolerance = 0.1
  )
  if (found$outcome == "converged" && all(is.finite(found$map))) {
    found$map
  } else {
    start
  }
}

# The density of rows 1, 1 + step, ..., each of which counts `step` times.
every_row <- function(frame, density, step) {
  rows <- seq.int(1L, nrow(frame$x), by = step)
  density$x <- design_for_c(frame$x[rows, , drop = FALSE])
  density$success <- step * density$success[rows]
  density$total <- step * density$total[rows]
  density["offset"] <- list(density$offset[rows])
  density
}

# More columns than rows: the mode lies where w = C X'a, as there L' = 0 reads
# X'(s - m sigma) = Q w.  With X C X' = R R' and w = C X' R^-T u the linear
# predictor is o + R u and w'Qw = u'u: a regression on n columns with prior
# N(0, I), whose L is that of w.
search_row_space <- function(frame, density) {
  q <- density$precision
  rows <- Matrix::t(frame$x)
  spread <- unname(as.matrix(if (is.matrix(q)) solve(q, rows) else rows / q))
  cross <- unname(as.matrix(frame$x %*% spread))
  root <- eigen((cross + t(cross)) / 2, symmetric = TRUE)
  kept <- root$values > 1e-14 * max(root$values, 0)
  if (!any(kept)) {
    return(list(map = numeric(ncol(frame$x))))
  }
  vectors <- root$vectors[, kept, drop = FALSE]
  sizes <- sqrt(root$values[kept])
  reduced <- density
  reduced$x <- vectors * rep(sizes, each = nrow(vectors))
  reduced$precision <- rep(1, length(sizes))
  found <- climb_density(reduced, numeric(length(sizes)))
  list(
    map = drop(spread %*% (vectors %*% (found$map / sizes))),
    trace = found$trace
  )
}

abort_search <- function(found, method, call) {
  taken <- length(found$trace) - 1L
  distance <- format(found$distance, digits = 2)
  hint <- if (method == "gradient") {
    "`method = \"newton\"` needs far fewer iterations."
  } else {
    paste(
      "Look for predictors on very different scales, nearly collinear ones,",
      "and very large offsets or weights."
    )
  }
  abort_numeric(
    c(
      "The mode was not found in {taken} iteration{?s} ({found$outcome}).",
      x = "It is about {distance} posterior standard deviations away.",
      i = "{hint}"
    ),
    call = call, class = "mode", trace = found$trace
  )
}

# ---- diagnosis under a flat prior ------------------------------------------

# Columns that are linear combinations of those before them, by the Gram matrix
# of the flat columns in units of their length: qr() moves such columns to the
# end.  (1 - R^2 below 1e-11 is a relative residual below 3e-6.)
check_collinear <- function(frame, flat, columns, call,
                            prior = "logistic_prior()") {
  p <- ncol(frame$x)
  # minus the Hessian at eta = 0 is x' diag(total / 4) x
  gram <- .Call(
    C_logistic_derivatives,
    list(
      x = design_for_c(frame$x), success = frame$total / 2,
      total = 4 * frame$total, offset = NULL, precision = numeric(p),
      probit = 0, constant = 0
    ),
    numeric(p)
  )$hessian[flat, flat, drop = FALSE]
  size <- sqrt(diag(gram))
  empty <- !(size > 0)
  size[empty] <- 1
  reduced <- qr(gram / outer(size, size), tol = 1e-11)
  dependent <- reduced$pivot[seq_along(flat) > reduced$rank]
  if (length(dependent) == 0L) {
    return(invisible())
  }
  names <- columns[flat][sort(dependent)]
  zero <- all(empty[dependent])
  abort_argument(
    c(
      "{cli::qty(names)}The column{?s} {.val {names}} {?is/are} {?a linear
       combination/linear combinations} of the others: without a prior
       {?its coefficient is/their coefficients are} not determined.",
      x = if (zero) "{cli::qty(names)}{?It is/They are} 0 in every row.",
      i = "Leave {cli::qty(names)}{?it/them} out, or give a proper prior, such
           as {.code {prior}}."
    ),
    call = call, class = "collinear", columns = names
  )
}

# Data are separated when some beta != 0 of the flat columns has x_i'beta >= 0
# for every success, <= 0 for every failure (both: = 0), and not 0 everywhere:
# the likelihood then increases without end along beta (Albert & Anderson 1984).
# A linear program finds one (Konis 2007, sec. 4.2). Columns are then dropped
# one by one as long as the same number of observations is separated.
check_separated <- function(frame, flat, columns, call) {
  needed <- separating_columns(signed_rows(frame, flat), length(flat))
  if (length(needed) == 0L) {
    return(invisible())
  }
  names <- columns[flat][needed]
  abort_argument(
    c(
      "{cli::qty(names)}Successes and failures are separated by column{?s}
       {.val {names}}: without a prior {?its coefficient is/their coefficients
       are} infinite.",
      i = "Give {cli::qty(names)}{?it/them} a proper prior, such as
           {.code logistic_prior()}."
    ),
    call = call, class = "separated", columns = names
  )
}

# Which of p columns separate the rows of signed_rows(); none if they are not
# separated.
separating_columns <- function(signed, p) {
  count <- separating_direction(signed, seq_len(p))$count
  needed <- if (count > 0) seq_len(p)
  for (j in rev(needed)) {
    fewer <- setdiff(needed, j)
    if (length(fewer) > 0L &&
          separating_direction(signed, fewer)$count >= count) {
      needed <- fewer
    }
  }
  needed
}

# Columns that separate successes from failures, so that under a proper prior
# only this bounds their coefficients. wide: columns whose posterior standard
# deviation is not far below that of the prior; without them none is looked for.
# A column that does so alone, such as that of a rare level, is found with any
# number of rows, several together by a linear program of moderate size.
unbounded_columns <- function(frame, wide) {
  kept <- which(frame$total > 0)
  success <- frame$success[kept]
  all <- success == frame$total[kept]
  none <- success == 0
  alone <- Filter(function(j) {
    v <- column_of(frame$x, j)[kept]
    at <- v != 0
    any(at) && (all(v >= 0) || all(v <= 0)) && (all(all[at]) || all(none[at]))
  }, wide)
  p <- ncol(frame$x)
  if (length(alone) > 0L || length(wide) == 0L || p > 30L) {
    return(alone)
  }
  if (p * length(kept) > 1e7) {
    return(integer())
  }
  signed <- signed_rows(frame, seq_len(p))
  if (length(signed$x) > 2e4) integer() else separating_columns(signed, p)
}

# The line about them of print() and summary(), or NULL.
unbounded_note <- function(names) {
  if (length(names) > 0L) {
    cli::pluralize(
      "The data do not bound {names}: {cli::qty(names)}",
      "{?it separates/they separate} ",
      "successes from failures, and {?its/their} size comes from the prior."
    )
  }
}

# Rows x_i of the flat columns for successes and -x_i for failures, in units of
# each column's largest value, and whether an observation has both; each
# distinct row occurs once, with its count in `times`.
signed_rows <- function(frame, flat) {
  kept <- rows_used(frame)
  x <- as.matrix(frame$x[kept, flat, drop = FALSE])
  success <- frame$success[kept]
  both <- success > 0 & success < frame$total[kept]
  size <- apply(abs(x), 2L, max)
  size[!(size > 0)] <- 1
  x <- ifelse(success > 0, 1, -1) * x / rep(size, each = nrow(x))
  rows <- row_codes(c(list(both), as.data.frame(x)))
  first <- !duplicated(rows)
  list(
    x = unname(x[first, , drop = FALSE]), both = both[first],
    times = tabulate(rows)
  )
}

# max sum_i x_i'beta, x_i'beta >= 0 (= 0 where both), |beta_j| <= 1, for the
# columns `among`: how many observations the maximum separates.
separating_direction <- function(signed, among) {
  x <- signed$x[, among, drop = FALSE]
  p <- length(among)
  gain <- colSums(x[!signed$both, , drop = FALSE])
  # the variables of the linear program are 1 + beta, which are not negative
  solved <- lpSolve::lp(
    "max", gain, rbind(x, diag(p)),
    c(ifelse(signed$both, "=", ">="), rep("<=", p)), c(rowSums(x), rep(2, p))
  )
  if (solved$status != 0L) {
    return(list(count = 0))
  }
  beyond <- drop(x %*% (solved$solution - 1)) > 1e-9
  list(count = sum(signed$times[beyond]))
}
