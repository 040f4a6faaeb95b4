# Regressions with t errors: gibbs_lm() and gibbs_hlm() with errors = "t".
# src/core/hlm/hlm_t.h and hlm_latent.h have the mathematics. The classes
# lm_t_model, hlm_t_model and hlm_crossed_t_model are t_errors_model too. C has
# the fixed effects in units of their scales, with the former centred and the
# responses less the prior mean of the intercept; so has a state.

# `nu` of the prior belongs to t errors.
check_errors <- function(errors, prior, call) {
  errors <- check_choice(errors, c("normal", "t"), call = call)
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
  data <- list(
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
  data$basis <- fixed$basis
  data
}

# Fixed effects in the units of C as those of the data, in the columns of a
# matrix.
in_units_of_data <- function(data, b) {
  b <- b / rep(data$unit, each = nrow(b))
  at <- data$intercept
  if (length(at) == 1L) {
    b[, at] <- b[, at] + data$centre - drop(b %*% data$middle)
  }
  of_basis(b, data$basis)
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
    run$draws <- model_stored_draws(
      model, rebase_draws(model, run$draws, fixed = NULL, means = FALSE)
    )
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
  c(
    list(sigma = state$sigma), if (is.null(model$prior$nu)) state["nu"],
    if (length(state$lambda) > 0L) state["lambda"],
    if (inherits(model, "hlm_model")) {
      list(Sigma = init_covariances(model, state))
    }
  )
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
  eta_of_state(model, state)
}

# One response for each row.
#' @exportS3Method
simulate_data.t_errors_model <- function(model, state) {
  eta <- t_eta(model, state)
  eta + state$sigma * stats::rt(length(eta), state$nu) /
    sqrt(row_weights(model$frame))
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

# A normal response but for its tails. `scale` is a matrix with the columns
# sigma and nu, a row for each draw.

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
response_variance.t_response <- function(response, eta, scale, spread = 1) {
  scale[, 1L]^2 * t_variance(scale[, 2L]) * spread
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

# ---- gibbs_lm() --------------------------------------------------------------

lm_t_model <- function(parts, prior, keep, call) {
  if (prior$type != "hierarchical") {
    abort_argument(
      c("`type` of `prior` must be \"hierarchical\" with
         {.code errors = \"t\"}, not {.val {prior$type}}.",
        i = "The variances of the coefficients must not depend on that of the
             errors."),
      call = call
    )
  }
  if ("y" %in% keep) {
    abort_argument(
      c("{.arg keep} must be NULL with {.code errors = \"t\"}.",
        i = "{.fn posterior_predict} draws missing responses."),
      call = call
    )
  }
  check_none_taken(intersect("nu", parts$columns), call)
  parts <- lm_parts(parts, prior, keep, call)
  parts$prior$errors <- "t"
  lm_t_model_of(parts$frame, parts$prior, parts$design)
}

lm_t_model_of <- function(frame, prior, design) {
  n <- sum(rows_used(frame))
  title <- errors_title("Linear regression", prior)
  new_model(
    c("lm_t_model", "t_errors_model", "lm_model"),
    name = "gibbs_lm",
    title = title,
    headline = lm_headline(title, design, n, frame),
    data = lm_t_data(frame, prior, design), data_part = "frame", prior = prior,
    nobs = n,
    columns = with_nu_column(
      c(
        design$columns, "sigma", if (length(design$slopes) > 0L) "lambda",
        "log_lik"
      ),
      prior
    ),
    cures = lm_cures, coefficients = design$columns, layout = design,
    design = c(kept_parts(frame), list(errors = "t")), frame = frame
  )
}

lm_t_data <- function(frame, prior, design) {
  used <- rows_used(frame)
  y <- without_offset(frame)[used]
  slopes <- design$slopes
  intercept <- design$intercept
  centre <- 0
  mean <- numeric(length(design$columns))
  precision <- rep(1, length(mean))
  mean[slopes] <- prior$slope_mean * prior$scale
  if (length(intercept) == 1L) {
    # not of the responses, on which a state must not depend
    centre <- prior$intercept_mean
    precision[intercept] <- prior$intercept_sd^-2
  }
  design$scale <- prior$scale
  fixed <- c(scaled_design(frame, design), list(
    y = y - centre, weights = used_weights(frame, used), centre = centre,
    intercept = intercept, mean = mean, precision = precision
  ))
  t_data(
    fixed, list(no_groups(length(y))), c(prior$noise_shape, prior$noise_rate),
    prior$nu,
    list(
      at = slopes - 1L, shape = as.double(prior$slope_shape),
      rate = as.double(prior$slope_rate)
    )
  )
}

# `data`: the responses, one for each row of the fit's data.
#' @exportS3Method
set_data.lm_t_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "linear regression", function(frame, ...) {
    lm_t_model_of(frame, model$prior, centred_design(model$layout, frame))
  }, call)
}

#' @exportS3Method
model_fold.lm_t_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    lm_t_model_of(rest, model$prior, centred_design(model$layout, rest))
  })
}

# In the coefficients, sigma, nu and lambda.
#' @exportS3Method
model_density.lm_t_model <- function(model) {
  prior <- model$prior
  p <- length(model$coefficients)
  scales <- setdiff(model$columns, c(model$coefficients, "log_lik"))
  columns <- c(model$coefficients, scales)
  point <- function(x) {
    each <- function(name, default) {
      at <- match(name, columns)
      if (is.na(at)) rep(default, nrow(x)) else x[, at]
    }
    list(
      w = x[, seq_len(p), drop = FALSE], lambda = each("lambda", 1),
      scale = cbind(sigma = each("sigma"), nu = each("nu", prior$nu))
    )
  }
  log_lik <- function(at, frame) {
    eta <- tcrossprod(at$w, frame$x) +
      rep(frame$offset %||% 0, each = nrow(at$w))
    response_log_lik(t_response(prior$nu), eta, frame, at$scale)
  }
  list(
    columns = columns, spec = lm_spec(model, scales),
    log_joint = function(x) {
      at <- point(x)
      frame <- frame_rows(model$frame, which(rows_used(model$frame)))
      # the coordinates of lm_point()
      normal <- lm_point(model, cbind(at$w, at$scale[, 1L], at$lambda))
      out <- rowSums(log_lik(at, frame)) + lm_log_prior(model, normal)
      if (is.null(prior$nu)) {
        out <- out +
          stats::dgamma(at$scale[, 2L], nu_shape, nu_rate, log = TRUE)
      }
      # without slopes there is no lambda
      if (!"lambda" %in% columns) {
        out <- out - stats::dgamma(
          1, prior$slope_shape, prior$slope_rate, log = TRUE
        )
      }
      out
    },
    log_lik = function(x, i) {
      frame <- model$frame
      log_lik(point(x), frame_rows(frame, which(rows_used(frame))[[i]]))[, 1L]
    },
    proper = lm_is_proper(model)
  )
}

# ---- gibbs_hlm() -------------------------------------------------------------

hlm_t_model <- function(frame, prior, call) {
  check_none_taken(intersect("nu", colnames(frame$x)), call)
  parts <- hlm_parts(bar_frames(frame), prior, call)
  priors <- lapply(parts$priors, function(own) {
    own$errors <- "t"
    own
  })
  if (is.null(frame$bars)) {
    return(hlm_t_model_of(frame, priors, parts$layout))
  }
  model <- hlm_crossed_t_model_of(frame, priors, parts$layout)
  say_aliased(model)
  model
}

# priors, layout: lists with an element for each bar.
hlm_t_model_of <- function(frame, priors, layout) {
  design <- layout[[1L]]
  prior <- priors[[1L]]
  n <- sum(rows_used(frame))
  data <- hlm_t_data(frame, list(frame), priors, layout)
  # as the methods of a single bar read them
  bar <- data$bars[[1L]]
  data[c("q", "groups", "diagonal")] <- bar[c("q", "groups", "diagonal")]
  data$fixed_at <- match(design$bar, design$columns, 0L) - 1L
  title <- errors_title("Hierarchical linear regression", prior)
  new_model(
    c("hlm_t_model", "t_errors_model", "hlm_model"),
    name = "gibbs_hlm",
    title = title, headline = hlm_headline(title, frame, design, n),
    data = data, data_part = "frame", prior = prior, priors = priors, nobs = n,
    columns = with_nu_column(hlm_columns(frame, design, "w"), prior),
    cures = hlm_cures, coefficients = design$columns, layout = design,
    keep = "w", levels = frame$levels, group_name = frame$group_name,
    design = c(hlm_design_of(frame), list(errors = "t")), frame = frame
  )
}

hlm_crossed_t_model_of <- function(frame, priors, layout) {
  prior <- crossed_prior(priors)
  n <- sum(rows_used(frame))
  title <- errors_title("Hierarchical linear regression", prior)
  levels <- lapply(frame$bars, `[[`, "levels")
  data <- hlm_t_data(frame, bar_frames(frame), priors, layout)
  new_model(
    c("hlm_crossed_t_model", "t_errors_model", "hlm_crossed_model",
      "hlm_model"),
    name = "gibbs_hlm",
    title = title, headline = crossed_headline(title, layout, levels, n, data),
    data = data, data_part = "frame", prior = prior, priors = priors, nobs = n,
    columns = with_nu_column(crossed_columns(frame, layout), prior),
    cures = hlm_cures, coefficients = layout[[1L]]$columns, layout = layout,
    levels = levels, group_name = names(levels),
    design = c(crossed_design_of(frame), list(errors = "t")), frame = frame
  )
}

hlm_t_data <- function(frame, frames, priors, layout) {
  used <- rows_used(frame)
  design <- layout[[1L]]
  prior <- priors[[1L]]
  weights <- used_weights(frame, used)
  y <- without_offset(frame)[used]
  # a state must not depend on the responses
  centre <- if (length(design$intercept) == 1L) prior$intercept_mean else 0
  fixed <- c(
    scaled_design(frame, design), scaled_fixed_prior(prior, design, centre),
    list(
      y = y - centre, weights = weights, centre = centre,
      intercept = design$intercept
    )
  )
  bars <- Map(function(bar, prior, design) {
    c(
      bar_groups(bar, design, which(used), prior$df, prior$scale,
                 prior$type == "half-t"),
      list(reach = design$reach)
    )
  }, frames, priors, layout)
  noise <- c(prior$nu0, prior$nu0 * prior$sigma0^2) / 2
  nesting <- if (length(layout) > 1L) nestings(frame, layout) else list()
  data <- t_data(fixed, bars, noise, prior$nu, nesting = nesting)
  data$joint <- joint_draw(
    frame, layout, which(used), fixed$x, fixed$precision, weights, nesting
  )
  data
}

# ---- One bar -----------------------------------------------------------------

# The coefficients of the groups are stored.
#' @exportS3Method
model_stored_draws.hlm_t_model <- function(model, draws) {
  data <- model$data
  first <- ncol(draws) - data$q * data$groups
  for (k in which(data$fixed_at >= 0L)) {
    own <- first + seq.int(k, by = data$q, length.out = data$groups)
    draws[, own] <- draws[, own] + draws[, data$fixed_at[[k]] + 1L]
  }
  draws
}

# ---- Both --------------------------------------------------------------------

# Of other data or rows, with the priors as they are.
hlm_t_model_again <- function(model, frame, layout) {
  if (inherits(model, "hlm_crossed_model")) {
    hlm_crossed_t_model_of(frame, model$priors, layout)
  } else {
    hlm_t_model_of(frame, model$priors, layout)
  }
}

# `data`: the responses, one for each row of the fit's data. lm_t_model has
# methods of its own.
#' @exportS3Method
set_data.t_errors_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "hierarchical regression", function(frame, ...) {
    hlm_t_model_again(model, frame, bar_designs(model))
  }, call)
}

#' @exportS3Method
model_fold.t_errors_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    hlm_t_model_again(model, rest, designs_again(model, rest))
  })
}
