# The model behind gibbs_lm(): its fields, states and starting values.
# src/core/lm/lm.h has the mathematics.

# parts: of formula_parts() or matrix_parts(); keep: NULL or "y".
lm_model <- function(parts, prior, keep, call) {
  parts <- lm_parts(parts, prior, keep, call)
  lm_model_of(parts$frame, parts$prior, parts$design, keep)
}

# list(frame, prior, design), the prior with every field filled in.
lm_parts <- function(parts, prior, keep, call) {
  frame <- lm_frame(parts, call)
  design <- centred_design(
    lm_design(frame, parts$columns, prior$type, keep, call), frame
  )
  intercept <- length(design$intercept) == 1L
  measured <- measure_response(frame, intercept)
  check_response_size(measured, frame$response$name, call)
  slopes <- parts$columns[design$slopes]
  given <- inherits(prior, "lm_prior") &&
    !is.null(c(unclass(prior)$scale, unclass(prior)$slope_sd))
  tell_constant_columns(design$constant, slopes, given)
  prior <- complete_lm_prior(
    prior, slopes, measured, ifelse(design$constant, 1, design$scale),
    intercept, call
  )
  list(frame = frame, prior = prior, design = design)
}

# The columns of a design: list(columns, intercept, slopes), the last two their
# positions.
lm_design <- function(frame, columns, type, keep, call) {
  x <- frame$x
  if (ncol(x) == 0L) {
    abort_argument("The model has no coefficients.", call = call)
  }
  used <- rows_used(frame)
  if (!any(used)) {
    abort_argument(
      "There are no observations: no row has a response and a weight above 0.",
      call = call, class = "empty"
    )
  }
  if ("y" %in% keep && any(is.na(frame$y) & (frame$weights %||% 1) == 0)) {
    abort_argument(
      "`weights` must be above 0 where a missing response is to be drawn.",
      call = call
    )
  }
  check_square_size(
    min(dim(x)), 3, "The decomposition of {.arg x} has", "Use fewer columns",
    call
  )
  found <- describe_design(
    x, columns, measure_columns(x, as.double(used)), call
  )
  taken <- intersect(c("sigma", precision_column(type), "log_lik"), columns)
  check_none_taken(taken, call)
  # the column of that name is an intercept only if it is one
  intercept <- Filter(function(j) all(x[used, j] == 1), found$intercept)
  slopes <- setdiff(seq_along(columns), intercept)
  list(columns = columns, intercept = intercept, slopes = slopes)
}

# The design with what centred_basis() (left out if NULL) and measure_slopes()
# find in the rows that a frame uses: with other rows it is another, since a
# sweep takes the slopes' columns to be orthogonal to the intercept.
centred_design <- function(design, frame) {
  used <- rows_used(frame)
  weights <- used_weights(frame, used)
  design$basis <- centred_basis(
    frame$terms, frame$model, frame$contrasts, used, NULL
  )
  x <- in_basis(frame$x, design$basis)
  sd <- measure_columns(x, as.double(used))$sd[design$slopes]
  found <- measure_slopes(
    x[used, design$slopes, drop = FALSE], weights, sd,
    length(design$intercept) == 1L
  )
  design[names(found)] <- found
  design
}

# What is stored of the precision of the slopes.
precision_column <- function(type) {
  switch(type, hierarchical = "lambda", horseshoe = "tau", nig = NULL)
}

check_response_size <- function(measured, name, call) {
  squares <- c(measured$spread, measured$centre)^2
  squares <- squares[c(measured$spread, measured$centre) != 0]
  if (!isTRUE(all(squares > 1e-290 & squares < 1e290))) {
    abort_argument(
      c("`{name}` has values or a spread whose square is beyond the range of
         doubles.",
        i = "Change its unit."),
      call = call
    )
  }
}

lm_model_of <- function(frame, prior, design, keep) {
  data <- lm_data(frame, prior, design, keep)
  nig <- prior$type == "nig"
  n <- sum(rows_used(frame))
  new_model(
    "lm_model",
    name = "gibbs_lm",
    title = "Linear regression",
    headline = paste0(
      lm_headline("Linear regression", design, n, frame),
      if (nig) "; independent draws of the conjugate posterior"
    ),
    data = data, gram = lm_gram(data), data_part = "frame", prior = prior,
    nobs = n,
    columns = c(
      design$columns, "sigma", precision_column(prior$type), "log_lik",
      if (!is.null(data$missing)) indexed("y", which(is.na(frame$y)))
    ),
    independent = nig,
    cures = if (prior$type == "horseshoe") {
      "Try a smaller scale of the slopes, `lm_prior(tau = )`: see ?lm_prior."
    } else {
      lm_cures
    },
    coefficients = design$columns, layout = design, keep = keep,
    log_evidence = if (nig) lm_log_evidence(data) else NULL,
    design = kept_parts(frame), frame = frame
  )
}

lm_headline <- function(title, design, n, frame) {
  missing <- sum(is.na(frame$y))
  paste0(
    title, ": ", counted(length(design$columns), "coefficient"), ", ",
    counted(n, "observation"),
    if (missing > 0) paste0(", ", counted(missing, "missing response"))
  )
}

lm_cures <- paste(
  "Try a prior of the precisions with larger shapes,",
  "`lm_prior(slope_shape = , noise_shape = )`: see ?lm_prior."
)

# Z'VZ of the horseshoe with as many directions as slopes (lm.h: B'B), which
# the sweeps would otherwise compute at the start of each segment.
lm_gram <- function(data) {
  p <- nrow(data$vectors)
  if (data$horseshoe == 0L || ncol(data$vectors) < p) {
    return(NULL)
  }
  tcrossprod(data$vectors * rep(data$eigenvalue, each = p), data$vectors)
}

# log p(y) under the conjugate prior; NA if alpha has a flat one.
lm_log_evidence <- function(data) {
  k <- data$prior_precision
  if (data$intercept == 1L && k == 0) {
    return(NA_real_)
  }
  e <- data$eigenvalue
  shrink <- data$lambda / (e + data$lambda)
  squares <- data$rss + sum(data$estimate^2 * e * shrink)
  determinant <- sum(log(shrink))
  if (data$intercept == 1L) {
    squares <- squares + data$prior_gap^2 * data$total * k / (data$total + k)
    determinant <- determinant + log(k / (data$total + k))
  }
  shape <- data$c + data$n / 2
  (data$log_weights - data$n * log(2 * pi) + determinant) / 2 +
    data$c * log(data$d) - shape * log(data$d + squares / 2) +
    lgamma(shape) - lgamma(data$c)
}

#' @exportS3Method
model_response.lm_model <- function(model) normal_response()

# Words, and what is computed from the data, may be of another version.
#' @exportS3Method
model_comparable.lm_model <- function(model) {
  model[c("cures", "gram")] <- NULL
  model_comparable.default(model)
}

# ---- Starting values and state ----------------------------------------------

# The rest of a state follows from lambda and beta in the first sweep.
lm_state <- function(model, lambda, beta) {
  data <- model$data
  p <- nrow(data$vectors)
  r <- ncol(data$vectors)
  ones <- rep(1, if (data$horseshoe == 1L) p else 0)
  list(
    sweep = 0, lambda = as.double(lambda), beta = as.double(beta),
    alpha = 0, theta = numeric(r), free = numeric(if (r < p) p else 0),
    local = ones, local_aux = ones
  )
}

# beta by the residuals of least squares with one prior observation, lambda by
# the least squares estimates, each over or under by a factor of up to 10.
#' @exportS3Method
model_start.lm_model <- function(model, init) {
  data <- model$data
  if (model$independent) {
    return(lm_state(model, data$lambda, 1))
  }
  spread <- exp(stats::runif(2L, -1, 1) * log(10))
  squares <- data$rss + sum(data$eigenvalue * data$estimate^2)
  rough <- data$rss + max(squares, 2 * data$d) / (data$n + 1)
  beta <- if (is.null(init$sigma)) {
    spread[[2L]] * data$n / rough
  } else {
    init$sigma^-2
  }
  if (data$horseshoe == 1L) {
    tau <- init$tau %||% (data$tau * spread[[1L]])
    return(lm_state(model, tau^-2, beta))
  }
  r <- length(data$estimate)
  e <- data$eigenvalue
  # each estimate as far as the data determine it
  squares <- sum(data$estimate^2 * (e / (e + 1))^2)
  lambda <- init$lambda %||% (
    spread[[1L]] * (data$a + r / 2) / (data$b + squares / 2)
  )
  lm_state(model, lambda, beta)
}

#' @exportS3Method
model_sweeps.lm_model <- function(model, state, n, control) {
  # fits of earlier versions have no `gram`
  data <- c(model$data, list(gram = model$gram %||% lm_gram(model$data)))
  run <- .Call(C_lm_sweeps, data, state, n, control)
  by <- lm_prior_means(model)
  basis <- model$layout$basis
  if (any(by != 0) || !is.null(basis)) {
    at <- seq_along(by)
    own <- run$draws[, at, drop = FALSE] + rep(by, each = nrow(run$draws))
    run$draws[, at] <- of_basis(own, basis)
  }
  run
}

# The prior means of the coefficients of centred_basis(), with alpha = 0.
lm_prior_means <- function(model) {
  design <- model$layout
  out <- numeric(length(design$columns))
  out[design$slopes] <- model$prior$slope_mean %||% 0
  out[design$intercept] <- -sum(out[design$slopes] * design$mean)
  out
}

#' @exportS3Method
model_check_init.lm_model <- function(model, init, where, call) {
  known <- if (model$independent) {
    character()
  } else {
    c("sigma", precision_column(model$prior$type))
  }
  check_init_names(init, known, where, call)
  check_init_scales(init, known, where, call)
  init
}

#' @exportS3Method
model_init_from_state.lm_model <- function(model, state) {
  if (model$independent) {
    return(list())
  }
  sigma <- 1 / sqrt(state$beta)
  if (model$data$horseshoe == 1L) {
    return(list(sigma = sigma, tau = 1 / sqrt(state$lambda)))
  }
  list(sigma = sigma, lambda = state$lambda)
}

# The prior draws the slopes towards its means, which a table does not show.
#' @exportS3Method
model_key.lm_model <- function(model, shown) {
  words <- c(
    lambda = "lambda: precision of the slopes' common normal prior",
    tau = "tau: scale of the slopes' common horseshoe prior"
  )
  known <- intersect(names(words), shown)
  if (length(known) > 0L) words[[known]]
}

#' @exportS3Method
model_labels.lm_model <- function(model) {
  columns <- model$columns
  label <- columns
  slopes <- model$coefficients[model$layout$slopes]
  label[match(slopes, columns)] <- paste("slope of", slopes)
  words <- c(
    "(Intercept)" = "intercept", sigma = "standard deviation of an observation",
    lambda = "precision of the slopes", tau = "scale of the slopes",
    log_lik = "log-likelihood"
  )
  known <- setdiff(intersect(columns, names(words)), slopes)
  label[match(known, columns)] <- words[known]
  drawn <- !columns %in% c(model$coefficients, names(words))
  label[drawn] <- paste(
    "missing response of observation", gsub("[^0-9]", "", columns[drawn])
  )
  data.frame(variable = columns, label = label)
}

# ---- The joint distribution -------------------------------------------------

# With the coefficients `w` of centred_basis(), in the order of the columns.
#' @exportS3Method
draw_prior.lm_model <- function(model) {
  prior <- model$prior
  design <- model$layout
  beta <- stats::rgamma(1L, prior$noise_shape, prior$noise_rate)
  lambda <- switch(prior$type,
    nig = prior$lambda, horseshoe = stats::rcauchy(1L, 0, prior$tau)^-2,
    stats::rgamma(1L, prior$slope_shape, prior$slope_rate)
  )
  unit <- if (prior$type == "hierarchical") 1 else beta
  p <- length(design$slopes)
  local <- if (prior$type == "horseshoe") stats::rcauchy(p)^2
  slopes <- stats::rnorm(p) * sqrt((local %||% 1) / (lambda * unit)) /
    prior$scale + prior$slope_mean
  w <- numeric(length(design$columns))
  w[design$slopes] <- slopes
  if (length(design$intercept) == 1L) {
    alpha <- prior$intercept_mean + prior$intercept_sd * stats::rnorm(1L) /
      sqrt(unit)
    w[design$intercept] <- alpha - sum(slopes * design$mean)
  }
  state <- state_at(model, w, lambda, beta)
  if (!is.null(local)) {
    # given a scale, 1 / its auxiliary variable is exponential
    state$local <- local
    state$local_aux <- (1 + 1 / local) / stats::rexp(p)
  }
  state
}

# The state with given parameters; w: coefficients of centred_basis().
state_at <- function(model, w, lambda, beta) {
  data <- model$data
  design <- model$layout
  state <- lm_state(model, lambda, beta)
  u <- (w - lm_prior_means(model))[design$slopes] * data$scale
  state$theta <- drop(crossprod(data$vectors, u))
  if (length(state$free) > 0L) {
    state$free <- u
  }
  if (data$intercept == 1L) {
    state$alpha <- w[[design$intercept]] + sum(w[design$slopes] * data$mean)
  }
  state
}

# The coefficients of a state.
lm_coefficients <- function(model, state) {
  data <- model$data
  design <- model$layout
  u <- drop(data$vectors %*% state$theta)
  if (length(state$free) > 0L) {
    along <- drop(crossprod(data$vectors, state$free))
    u <- u + state$free - drop(data$vectors %*% along)
  }
  w <- numeric(length(design$columns))
  slopes <- u / data$scale + (model$prior$slope_mean %||% 0)
  w[design$slopes] <- slopes
  w[design$intercept] <- state$alpha - sum(slopes * data$mean)
  drop(of_basis(t(w), design$basis))
}

# One response for each row.
#' @exportS3Method
simulate_data.lm_model <- function(model, state) {
  frame <- model$frame
  eta <- drop(frame$x %*% lm_coefficients(model, state)) +
    (frame$offset %||% 0)
  eta + response_noise(frame, state$beta)
}

# `data`: the responses, one for each row of the fit's data.
#' @exportS3Method
set_data.lm_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "linear regression", function(frame, ...) {
    lm_model_of(
      frame, model$prior, centred_design(model$layout, frame), model$keep
    )
  }, call)
}

#' @exportS3Method
model_quantities.lm_model <- function(model, state) {
  frame <- model$frame
  w <- lm_coefficients(model, state)
  c(
    stats::setNames(w, model$layout$columns), sigma = 1 / sqrt(state$beta),
    lambda = if (model$prior$type != "nig") state$lambda,
    log_lik = errors_log_lik(
      frame, drop(frame$x %*% w) + (frame$offset %||% 0), state$beta
    )
  )
}

# The sums of squares are those about the least squares estimates, so that a
# point takes time proportional to the number of coefficients.
#' @exportS3Method
model_density.lm_model <- function(model) {
  prior <- model$prior
  if (prior$type == "horseshoe") {
    return(NULL)
  }
  scales <- c("sigma", precision_column(prior$type))
  list(
    columns = c(model$coefficients, scales), spec = lm_spec(model, scales),
    log_joint = function(x) {
      at <- lm_point(model, x)
      lm_log_likelihood(model, at) + lm_log_prior(model, at)
    },
    log_lik = function(x, i) {
      frame <- model$frame
      row <- frame_rows(frame, which(rows_used(frame))[[i]])
      at <- lm_point(model, x)
      stats::dnorm(
        row$y, drop(at$w %*% row$x[1L, ]) + (row$offset %||% 0),
        1 / sqrt(at$beta * (row$weights %||% 1)), log = TRUE
      )
    },
    proper = lm_is_proper(model)
  )
}

# The bounds of the coefficients and of scales above 0.
lm_spec <- function(model, scales) {
  lower <- rep(c(-Inf, 0), c(length(model$coefficients), length(scales)))
  list(
    lower = lower, upper = rep(Inf, length(lower)),
    map = as.integer(is.finite(lower))
  )
}

lm_is_proper <- function(model) {
  length(model$layout$intercept) == 0L || is.finite(model$prior$intercept_sd)
}

# list(w, u, alpha, beta, lambda) of parameters in rows: u are the slopes of
# centred_basis() less their prior means, times their scales, points x slopes.
lm_point <- function(model, x) {
  design <- model$layout
  p <- length(model$coefficients)
  w <- x[, seq_len(p), drop = FALSE]
  own <- to_basis(w, design$basis)
  slopes <- own[, design$slopes, drop = FALSE]
  centre <- lm_prior_means(model)[design$slopes]
  list(
    w = w, u = (slopes - rep(centre, each = nrow(x))) *
      rep(unname(model$prior$scale), each = nrow(x)),
    alpha = if (length(design$intercept) == 1L) {
      own[, design$intercept] + drop(slopes %*% unname(design$mean))
    },
    beta = x[, p + 1L]^-2,
    lambda = if (model$prior$type == "nig") {
      model$prior$lambda
    } else {
      x[, p + 2L]
    }
  )
}

lm_log_likelihood <- function(model, at) {
  data <- model$data
  away <- at$u %*% data$vectors - rep(data$estimate, each = nrow(at$u))
  squares <- data$rss + drop(away^2 %*% data$eigenvalue)
  if (!is.null(at$alpha)) {
    squares <- squares + data$total * (at$alpha - data$centre)^2
  }
  (data$log_weights + data$n * (log(at$beta) - log(2 * pi)) -
     at$beta * squares) / 2
}

# In the scales of the columns: coefficients, sigma = beta^(-1/2), lambda.
lm_log_prior <- function(model, at) {
  prior <- model$prior
  hierarchical <- prior$type == "hierarchical"
  unit <- if (hierarchical) 1 else at$beta
  precision <- at$lambda * unit
  out <- stats::dgamma(at$beta, prior$noise_shape, prior$noise_rate,
                       log = TRUE) + log(2) +
    1.5 * log(at$beta) + sum(log(prior$scale)) +
    (ncol(at$u) * (log(precision) - log(2 * pi)) -
       precision * rowSums(at$u^2)) / 2
  if (hierarchical) {
    out <- out + stats::dgamma(at$lambda, prior$slope_shape, prior$slope_rate,
                               log = TRUE)
  }
  if (!is.null(at$alpha) && is.finite(prior$intercept_sd)) {
    out <- out + stats::dnorm(
      at$alpha, prior$intercept_mean, prior$intercept_sd / sqrt(unit),
      log = TRUE
    )
  }
  out
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.lm_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    lm_model_of(
      rest, model$prior, centred_design(model$layout, rest), character()
    )
  })
}
