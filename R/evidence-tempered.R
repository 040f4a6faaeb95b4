# The evidence of a fit with tempered(), by bridge sampling between neighbouring
# temperatures.
#
# With Z(b) the integral of p(x)^b over the working coordinates, and powers 1 =
# b_1 > ... > b_K,
#   log Z(1) = log Z(b_K) + sum_k log Z(b_k) / Z(b_(k + 1)).
# The first term is a bridge from the hottest replica to a normal density. Each
# other term is a bridge between neighbours, whose log ratios at x are (b_k -
# b_(k + 1)) log p(x). Thermodynamic integration is the limit of many such steps
# (Gelman & Meng 1998, doi:10.1214/ss/1028905934, sec. 3). A quadrature over few
# temperatures has an error that more draws do not reduce.

tempered_evidence <- function(fit, seed, call) {
  model <- fit_part(fit, "model")
  running <- fit_part(fit, "running")
  check_tempered_fit(model, call)
  check_bridge_draws(
    running$draws, length(model$parameters), " in each chain", call
  )
  root <- root_seed(seed, call)
  tick <- part_counter(
    "Draws of log_evidence()", length(fit) * running$draws, TRUE
  )
  chains <- lapply(seq_along(fit), function(k) {
    state <- fit_part(fit, "chains")[[k]]$state
    stream <- spare_stream(root, length(fit), "continued_chain", call, k - 1L)
    with_stream(stream, {
      chain_evidence(
        model, continued_replicas(model, state, running, tick, call), call
      )
    }, call)$value
  })
  combine_chains(chains)
}

# list(value, se, draws, ess, apart) of all chains.
combine_chains <- function(chains) {
  numbers <- function(part) vapply(chains, `[[`, 0, part)
  count <- length(chains)
  value <- numbers("value")
  differ <- any(abs(value - mean(value)) > 4 * numbers("se"))
  halves <- vapply(chains, `[[`, NA, "apart")
  # With the estimate of its chain added, each series has the estimate as its
  # mean. So the effective number allows for differences between the chains.
  series <- do.call(cbind, lapply(chains, function(chain) {
    chain$value + chain$series
  }))
  ess <- draws_worth(series)
  list(
    value = mean(value),
    se = max(
      sqrt(stats::var(as.vector(series)) / ess +
             sum(numbers("proposal_se")^2) / count^2),
      if (differ) stats::sd(value) / sqrt(count),
      sqrt(sum(numbers("hottest_se")[halves]^2)) / count
    ),
    draws = as.double(length(series)), ess = ess, apart = differ || any(halves)
  )
}

check_tempered_fit <- function(model, call) {
  if (is.null(model$plan) ||
        !has_trait(model$plan[[1L]]$proposal, "replicas")) {
    abort_argument(
      c("{.code method = \"tempered\"} is for fits of {.fn mh_sample} with
         {.fn tempered} alone.",
        i = "Use {.code method = \"normal\"} or {.code \"warp3\"}."),
      call = call
    )
  }
  check_has_density(model, call)
}

# Continues a chain from `state` for as many draws as the fit has. Returns
# list(power, log_p, hottest). log_p: the working log density of each replica,
# draws x temperatures. hottest: working points of the last replica, draws x
# coordinates.
continued_replicas <- function(model, state, running, tick, call) {
  model$spec$debug <- 0L
  state$trace <- NULL
  # From here on all random numbers are those of the current stream. The state
  # has variates that the fit drew ahead, for extend(); new ones are drawn where
  # the sweep is a multiple of their number.
  state$own <- own_stream()
  if (!is.null(state$asked)) {
    state$asked <- side_stream(state$own)
  }
  rows <- model$spec$rows
  state$sweep <- rows * ceiling(state$sweep / rows)
  control <- list(burnin = running$burnin, thin = running$thin, threads = 1)
  power <- state$blocks[[1L]]$power
  others <- length(power) - 1L
  d <- length(state$x)
  log_p <- matrix(0, running$draws, others + 1L)
  hottest <- matrix(0, running$draws, d)
  for (draw in seq_len(running$draws)) {
    state <- of_call(sweep_on(model, state, running$thin, control), call)
    replicas <- state$blocks[[1L]]
    log_p[draw, ] <- c(
      state$value[[2L]], replicas$value[2L * seq_len(others)]
    )
    hottest[draw, ] <- replicas$x[(others - 1L) * d + seq_len(d)]
    tick()
  }
  list(power = power, log_p = log_p, hottest = hottest)
}

# list(value, se, series, proposal_se, hottest_se, apart) of one chain, as
# bridge_integral().
chain_evidence <- function(model, replicas, call) {
  last <- length(replicas$power)
  hottest <- hottest_bridge(
    model, replicas$hottest, replicas$power[[last]], call
  )
  steps <- Map(function(k, difference) {
    neighbour_bridge(
      difference * replicas$log_p[, k], difference * replicas$log_p[, k + 1L],
      call
    )
  }, seq_len(last - 1L), -diff(replicas$power))
  # The replicas of a sweep depend on each other, and two bridges use the same
  # draws of a replica. The error is therefore that of one series, the sum of
  # the contributions of all bridges.
  series <- Reduce(`+`, lapply(steps, `[[`, "series"), hottest$series)
  list(
    value = hottest$value + sum(vapply(steps, `[[`, 0, "value")),
    se = sqrt(
      stats::var(series) / draws_worth(series) + hottest$proposal_se^2
    ),
    series = series, proposal_se = hottest$proposal_se,
    hottest_se = hottest$se, apart = hottest$apart
  )
}

# The integral of p(x)^power, from draws of that density: points x coordinates.
hottest_bridge <- function(model, draws, power, call) {
  spec <- model$spec
  density <- working_density(model)
  # transformed coordinates have no bounds
  bounded <- is.null(spec$map) && !is.null(spec$lower)
  none <- rep(Inf, spec$d)
  box <- unbounded_box(
    if (bounded) spec$lower else -none, if (bounded) spec$upper else none,
    function(x) power * apply(x, 1L, density)
  )
  tryCatch(
    bridge_integral(
      list(box$points(draws)), normal_ratios(box$log_density, "normal", call),
      call
    ),
    gibbsite_error_numeric = function(cnd) {
      temperature <- format(1 / power, digits = 3)
      abort_numeric(
        c("The integral at the highest temperature, {temperature}, was not
           found.",
          i = "The density to the power 1/T may have no finite integral there.
               Lower the highest temperature: see {.fn tempered}."),
        call = call, class = "evidence", parent = cnd
      )
    }
  )
}

# list(value, series): log of the ratio of the integrals of two densities, and
# what each draw adds to its relative error. own, proposed: log ratios of the
# densities at draws of the first and of the second.
neighbour_bridge <- function(own, proposed, call) {
  size <- rep(length(own), 2L)
  value <- bridge_root(own, proposed, size)
  above <- stats::plogis(proposed - value)
  below <- stats::plogis(value - own)
  # The sums are equal. If they are small, few draws determine the ratio, and
  # the error cannot be estimated.
  if (!isTRUE(sum(above) > 10)) {
    abort_numeric(
      c("Replicas at neighbouring temperatures have hardly any points in
         common.",
        i = "Give {.fn tempered} more temperatures, closer to each other, or
             use more draws ({.fn extend})."),
      call = call, class = "evidence"
    )
  }
  list(value = value, series = above / mean(above) - below / mean(below))
}
