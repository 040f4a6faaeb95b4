# Regressions with t errors: gibbs_lm() and gibbs_hlm() with errors = "t".
# src/core/hlm/hlm_t.h and hlm_latent.h have the mathematics. The classes
# lm_t_model (R/lm-t.R), hlm_t_model and hlm_crossed_t_model (R/hlm-t.R) are
# t_errors_model too. C has the fixed effects in units of their scales, with
# the former centred and the responses less the prior mean of the intercept; so
# has a state.

error_types <- c("normal", "t")

# `nu` of the prior belongs to t errors.
check_errors <- function(errors, prior, call) {
  errors <- check_choice(errors, error_types, arg = "errors", call = call)
  if (errors == "normal" && !is.null(prior$nu)) {
    abort_argument(
      c("`nu` of `prior` must be NULL with {.code errors = \"normal\"}.",
        i = "Degrees of freedom belong to {.code errors = \"t\"}."),
      call = call
    )
  }
  errors
}

errors_title <- function(title, prior) {
  nu <- prior$nu
  paste0(
    title, " with t errors",
    if (!is.null(nu)) paste0(" (nu = ", format_prior_value(nu), ")")
  )
}

# The columns with that of the degrees of freedom.
with_nu_column <- function(columns, prior) {
  if (is.null(prior$nu)) {
    append(columns, "nu", match("sigma", columns))
  } else {
    columns
  }
}

# What C reads. fixed: list(x, y, weights, unit, middle, centre, intercept,
# mean, precision) of the rows that are used; noise: shape and rate of 1 /
# sigma^2; slopes: list(at, shape, rate), those whose precision is drawn.
t_data <- function(fixed, bars, noise, nu, slopes = list(at = integer()),
                   nesting = list()) {
  p <- ncol(fixed$x)
  log_weights <- sum(log(fixed$weights))
  common <- bar_fixed_effects(fixed$mean, fixed$precision)
  list(
    count = as.double(length(bars)), p = as.double(p),
    n = as.double(length(fixed$y)), known = 0,
    bars = unname(lapply(bars, function(bar) c(bar, common))),
    fixed = as.double(t(fixed$x)), offset = numeric(),
    constant = log_weights / 2, nesting = nesting,
    response = list(
      type = "t", y = as.double(fixed$y), root = sqrt(as.double(fixed$weights)),
      shape = noise[[1L]], rate = noise[[2L]],
      nu_known = as.double(!is.null(nu)), nu_shape = nu_shape,
      nu_rate = nu_rate, slopes = slopes
    ),
    unit = unname(fixed$unit), middle = unname(fixed$middle),
    centre = fixed$centre, intercept = fixed$intercept,
    log_weights = log_weights
  )
}

# Fixed effects in the units of C as those of the data, in the columns of a
# matrix.
in_units_of_data <- function(data, b) {
  b <- b / rep(data$unit, each = nrow(b))
  at <- data$intercept
  if (length(at) == 1L) {
    b[, at] <- b[, at] + data$centre - drop(b %*% data$middle)
  }
  b
}

coefficients_of_state <- function(model, state) {
  drop(in_units_of_data(model$data, t(state$b)))
}

# ---- Starting values and sweeps ----------------------------------------------

t_state <- function(model, covariances, sigma, nu, lambda) {
  data <- model$data
  list(
    sweep = 0, factor = as.double(unlist(lapply(covariances, function(m) {
      t(chol(m))
    }))),
    beta = 1, b = numeric(data$p),
    u = numeric(sum(vapply(data$bars, function(bar) bar$q * bar$groups, 0))),
    sigma = as.double(sigma), nu = as.double(nu), lambda = as.double(lambda)
  )
}

# The bars that have terms.
bars_with_terms <- function(model) Filter(function(b) b$q > 0, model$data$bars)

# sigma and the standard deviations of the groups are the spread of the
# responses, each over or under by a factor of up to 10, and so is nu about 10.
#' @exportS3Method
model_start.t_errors_model <- function(model, init) {
  data <- model$data
  own <- data$response
  bars <- bars_with_terms(model)
  factors <- exp(stats::runif(length(bars) + 3L, -1, 1) * log(10))
  spread <- start_spread(
    c(data["n"], own[c("shape", "rate")]), sum((own$root * own$y)^2)
  )
  default <- Map(function(bar, factor) {
    sd <- factor * bar$reach * sqrt(spread / mean_weight_of(data))
    diag(sd^2, bar$q)
  }, bars, factors[-(1:3)])
  slopes <- own$slopes
  t_state(
    model, start_covariances(model, default, init$Sigma),
    init$sigma %||% (factors[[1L]] * sqrt(spread)),
    model$prior$nu %||% init$nu %||% (10 * factors[[2L]]),
    if (length(slopes$at) > 0L) {
      init$lambda %||% (factors[[3L]] * slopes$shape / slopes$rate)
    }
  )
}

# given: a matrix of the only bar, or a list with names of bars, or NULL.
start_covariances <- function(model, default, given) {
  if (is.matrix(given)) {
    return(list(given))
  }
  if (!is.null(given)) {
    default[match(names(given), names(model$layout))] <- given
  }
  default
}

#' @exportS3Method
model_sweeps.t_errors_model <- function(model, state, n, control) {
  data <- model$data
  run <- .Call(C_hlm_latent_sweeps, data, state, n, control)
  if (length(run$draws) > 0L) {
    at <- seq_len(data$p)
    run$draws[, at] <- in_units_of_data(data, run$draws[, at, drop = FALSE])
    run$draws <- model_stored_draws(model, run$draws)
  }
  run
}

#' @exportS3Method
model_stored_draws.t_errors_model <- function(model, draws) draws

#' @exportS3Method
model_check_init.t_errors_model <- function(model, init, where, call) {
  slopes <- model$data$response$slopes$at
  known <- c(
    "sigma", if (is.null(model$prior$nu)) "nu",
    if (length(slopes) > 0L) "lambda",
    if (length(bars_with_terms(model)) > 0L) "Sigma"
  )
  check_init_names(init, known, where, call)
  check_init_scales(init, setdiff(known, "Sigma"), where, call)
  if (!is.null(init$Sigma)) {
    # as with normal errors
    class(model) <- setdiff(class(model), "t_errors_model")
    init$Sigma <- model_check_init(model, init["Sigma"], where, call)$Sigma
  }
  init
}

#' @exportS3Method
model_init_from_state.t_errors_model <- function(model, state) {
  covariances <- state_covariances(model, state)
  c(
    list(sigma = state$sigma), if (is.null(model$prior$nu)) state["nu"],
    if (length(state$lambda) > 0L) state["lambda"],
    if (inherits(model, "hlm_crossed_model")) {
      list(Sigma = stats::setNames(covariances, names(model$layout)))
    } else if (length(covariances) > 0L) {
      list(Sigma = covariances[[1L]])
    }
  )
}

# Sigma of each bar.
state_covariances <- function(model, state) {
  q <- vapply(bars_with_terms(model), `[[`, 0, "q")
  factors <- split(state$factor, rep(seq_along(q), q^2))
  unname(Map(function(factor, q) tcrossprod(matrix(factor, q)), factors, q))
}

#' @exportS3Method
model_labels.t_errors_model <- function(model) {
  out <- NextMethod()
  words <- c(
    sigma = "scale of an error", nu = "degrees of freedom of the errors"
  )
  own <- out$variable %in% setdiff(names(words), model$coefficients)
  out$label[own] <- words[out$variable[own]]
  out
}

#' @exportS3Method
model_response.t_errors_model <- function(model) t_response(model$prior$nu)

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
draw_prior.t_errors_model <- function(model) {
  data <- model$data
  own <- data$response
  bars <- bars_with_terms(model)
  covariances <- lapply(bars, draw_covariance_prior)
  sigma <- stats::rgamma(1L, own$shape, own$rate)^-0.5
  nu <- model$prior$nu %||% stats::rgamma(1L, own$nu_shape, own$nu_rate)
  slopes <- own$slopes
  lambda <- if (length(slopes$at) > 0L) {
    stats::rgamma(1L, slopes$shape, slopes$rate)
  }
  state <- t_state(model, covariances, sigma, nu, lambda)
  precision <- data$bars[[1L]]$precision
  precision[slopes$at + 1L] <- lambda
  state$b <- data$bars[[1L]]$mean + stats::rnorm(data$p) / sqrt(precision)
  state$u <- as.double(unlist(Map(draw_deviations, bars, covariances)))
  state
}

t_eta <- function(model, state) {
  state$b <- coefficients_of_state(model, state)
  eta_of_state(model$frame, state)
}

# One response for each row.
#' @exportS3Method
simulate_data.t_errors_model <- function(model, state) {
  eta <- t_eta(model, state)
  weights <- model$frame$weights %||% rep(1, length(eta))
  eta + state$sigma * stats::rt(length(eta), state$nu) / sqrt(weights)
}

# The parameters, the first deviations of each bar and the likelihood given the
# groups.
#' @exportS3Method
model_quantities.t_errors_model <- function(model, state) {
  log_lik <- log_lik_of_state(
    model, t_eta(model, state), cbind(state$sigma, state$nu)
  )
  state$b <- coefficients_of_state(model, state)
  c(
    model_effects(model, state), sigma = state$sigma,
    nu = if (is.null(model$prior$nu)) state$nu,
    lambda = if (length(state$lambda) > 0L) state$lambda,
    log_lik = log_lik
  )
}

# ---- The response ------------------------------------------------------------

# As of R/regression-response.R: normal but for its tails. `scale` is a matrix
# with the columns sigma and nu, a row for each draw.

# nu: NULL if the draws have it.
t_response <- function(nu) {
  structure(list(nu = nu), class = c("t_response", "normal_response"))
}

# The name is that of brms.
#' @exportS3Method
response_family.t_response <- function(response) {
  family <- stats::gaussian()
  family$family <- "student"
  family
}

#' @exportS3Method
response_scale.t_response <- function(response, draws) {
  cbind(
    sigma = unname(draws[, "sigma"]),
    nu = response$nu %||% unname(draws[, "nu"])
  )
}

#' @exportS3Method
response_draw.t_response <- function(response, eta, size, scale) {
  # rt() recycles nu down the columns
  eta + errors_sd(size, scale[, 1L]) * stats::rt(length(eta), scale[, 2L])
}

#' @exportS3Method
response_log_lik.t_response <- function(response, eta, data, scale) {
  sd <- errors_sd(column_weights(data, eta), scale[, 1L])
  away <- (rep(data$y, each = nrow(eta)) - eta) / sd
  out <- stats::dt(away, scale[, 2L], log = TRUE) - log(sd)
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

# The log density is not concave: the precision of the normal response that has
# the same first derivatives takes the place of the second.
#' @exportS3Method
response_bend.t_response <- function(response, eta, data, scale) {
  variance <- errors_sd(column_weights(data, eta), scale[, 1L])^2
  nu <- scale[, 2L]
  away <- rep(data$y, each = nrow(eta)) - eta
  precision <- (nu + 1) / (nu * variance + away^2)
  list(first = precision * away, second = precision)
}

# Infinite with 2 degrees of freedom or fewer.
#' @exportS3Method
response_variance.t_response <- function(response, eta, scale) {
  scale[, 1L]^2 * t_variance(scale[, 2L])
}

t_variance <- function(nu) ifelse(nu > 2, nu / (nu - 2), Inf)

#' @exportS3Method
new_observations.t_response <- function(response, at, size, scale, tails) {
  mean <- as_double_matrix(with_mean(at)$mean)
  sd <- scale[, 1L]
  nu <- scale[, 2L]
  moments <- column_moments(mean)
  within <- mean(t_variance(nu) * sd^2) / size
  if (any(at$sd > 0, na.rm = TRUE)) {
    spread <- as_double_matrix(at$sd)
    within <- within + colMeans(spread^2)
  } else {
    spread <- NULL
  }
  points <- normal_points(nrow(mean))
  unit <- 1 / sqrt(size)
  # of errors about a known mean: where the search for a row's quantiles begins
  errors <- vapply(tails, t_mixture_quantile, 0, numeric(nrow(mean)), sd, nu)
  ends <- .Call(
    C_t_mixture_quantiles, list(
      mean = mean, spread = spread, points = points, sd = sd, nu = nu,
      scale = unit, near = 1e-5 * stats::median(sd) * min(unit),
      guess = outer(errors, unit) + rep(moments$mean, each = length(tails))
    ), tails
  )
  for (k in which(is.na(ends))) {
    i <- col(ends)[[k]]
    about <- mean[, i]
    if (!is.null(spread)) about <- about + spread[, i] * points
    times <- length(about) / nrow(mean)
    ends[[k]] <- t_mixture_quantile(
      tails[[row(ends)[[k]]]], as.vector(about), rep(sd * unit[[i]], times),
      rep(nu, times)
    )
  }
  data.frame(
    mean = moments$mean,
    sd = sqrt(moments$squares / max(1, nrow(mean) - 1) + within),
    lower = ends[1L, ], upper = ends[2L, ]
  )
}

# The quantile of the mixture of t distributions with equal weights, to 1e-8 of
# the usual sd, from anywhere.
t_mixture_quantile <- function(p, mean, sd, nu) {
  if (anyNA(mean) || !all(is.finite(sd))) {
    return(NA_real_)
  }
  # the quantiles of the components enclose it
  ends <- range(mean + sd * stats::qt(p, nu))
  if (!(ends[[2L]] > ends[[1L]])) {
    return(ends[[1L]])
  }
  stats::uniroot(
    function(x) mean(stats::pt((x - mean) / sd, nu)) - p, ends,
    tol = 1e-8 * stats::median(sd), maxiter = 1000, extendInt = "upX"
  )$root
}
