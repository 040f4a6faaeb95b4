# The evidence of a fit by tempered(): from temperature to temperature.
#
# With Z(b) the integral of p(x)^b over the working coordinates, and powers 1 =
# b_1 > ... > b_K,
#   log Z(1) = log Z(b_K) + sum_k log Z(b_k) / Z(b_(k + 1)).
# The first term is a bridge from the hottest replica to a normal density. Each
# other term is a bridge between neighbours, whose log ratios at x are (b_k -
# b_(k + 1)) log p(x). Thermodynamic integration is the limit of many such
# bridges (Gelman & Meng 1998, doi:10.1214/ss/1028905934, sec. 3); a quadrature
# over few temperatures would have an error that no number of draws reduces.

tempered_evidence <- function(fit, seed, call) {
  model <- fit_part(fit, "model")
  check_tempered_fit(model, call)
  streams <- chain_streams(root_seed(seed, call), length(fit), call)
  chains <- Map(function(chain, stream) {
    with_stream(stream, {
      sweeps <- replica_sweeps(model, chain$state, fit_part(fit, "running"))
      chain_evidence(model, sweeps, call)
    }, call)$value
  }, fit_part(fit, "chains"), streams)
  value <- vapply(chains, `[[`, 0, "value")
  se <- vapply(chains, `[[`, 0, "se")
  apart <- any(abs(value - mean(value)) > 4 * se)
  list(
    value = mean(value),
    se = max(
      sqrt(sum(se^2)) / length(se),
      if (apart) stats::sd(value) / sqrt(length(value))
    ),
    draws = sum(vapply(chains, `[[`, 0, "draws")),
    ess = sum(vapply(chains, `[[`, 0, "ess")), apart = apart
  )
}

check_tempered_fit <- function(model, call) {
  if (!inherits(model, "mh_model") || !is_tempered(model$plan[[1L]]$proposal)) {
    abort_argument(
      c("{.code method = \"tempered\"} is for fits of {.fn mh_sample} with
         {.fn tempered} alone.",
        i = "Use {.code method = \"normal\"} or {.code \"warp3\"}."),
      call = call
    )
  }
  if (is.null(model$data$log_density)) {
    abort_no_data(call = call, what = "log density")
  }
}

# What a chain meets if it goes on from `state` for as many draws as the fit
# has: list(power, heights, hottest). heights: the working log density of each
# replica, draws x temperatures. hottest: working points of the last one, draws
# x coordinates.
replica_sweeps <- function(model, state, running) {
  state$own <- own_stream()
  if (!is.null(state$asked)) {
    state$asked <- side_stream(state$own)
  }
  control <- list(burnin = running$burnin, thin = running$thin, threads = 1)
  power <- state$blocks[[1L]]$power
  others <- length(power) - 1L
  d <- length(state$x)
  heights <- matrix(0, running$draws, others + 1L)
  hottest <- matrix(0, running$draws, d)
  for (draw in seq_len(running$draws)) {
    state <- model_sweeps(model, state, running$thin, control)$state
    if (is.null(state)) {
      rlang::interrupt()
    }
    memory <- state$blocks[[1L]]
    heights[draw, ] <- c(
      state$value[[2L]], memory$value[2L * seq_len(others)]
    )
    hottest[draw, ] <- memory$x[(others - 1L) * d + seq_len(d)]
  }
  list(power = power, heights = heights, hottest = hottest)
}

# list(value, se, draws, ess) of one chain.
chain_evidence <- function(model, sweeps, call) {
  spec <- model$spec
  density <- working_density(model)
  last <- length(sweeps$power)
  # transformed coordinates have no bounds
  bounded <- is.null(spec$map) && !is.null(spec$lower)
  none <- rep(Inf, spec$d)
  box <- unbounded_box(
    if (bounded) spec$lower else -none, if (bounded) spec$upper else none,
    function(x) sweeps$power[[last]] * apply(x, 1L, density)
  )
  hottest <- bridge_integral(
    list(box$points(sweeps$hottest)),
    normal_ratios(box$log_density, "normal", call), call
  )
  steps <- Map(function(k, apart) {
    neighbour_bridge(
      apart * sweeps$heights[, k], apart * sweeps$heights[, k + 1L]
    )
  }, seq_len(last - 1L), -diff(sweeps$power))
  # The replicas of a sweep depend on each other: the error is that of one
  # series, which has the contributions of all steps.
  series <- Reduce(`+`, lapply(steps, `[[`, "series"))
  ess <- min(posterior::ess_mean(series), length(series), na.rm = TRUE)
  list(
    value = hottest$value + sum(vapply(steps, `[[`, 0, "value")),
    se = sqrt(hottest$se^2 + stats::var(series) / ess),
    draws = length(series), ess = ess
  )
}

# list(value, series): log of the ratio of the integrals of two densities, and
# what each draw adds to its relative error. own, proposed: log ratios of the
# densities at draws of the first and of the second.
neighbour_bridge <- function(own, proposed) {
  size <- rep(length(own), 2L)
  value <- bridge_root(own, proposed, size)
  above <- stats::plogis(proposed - value)
  below <- stats::plogis(value - own)
  list(value = value, series = above / mean(above) - below / mean(below))
}
