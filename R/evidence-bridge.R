# Bridge sampling: the integral of a density known up to a constant, from draws
# of it and of a normal proposal (Meng & Wong 1996). bridgesampling evaluates a
# density one point at a time, and its proposals ignore the constraint on the
# numbering of components. So the estimator is here, for all points of a matrix
# at once.

# list(value, se, draws, ess, apart, series, proposal_se): the log of the
# integral with its standard error. points: for each chain its draws as points x
# coordinates. ratios(before, kept): list(own, proposed), the log ratios of the
# density and of a proposal that the draws `before` make, at the draws `kept`
# and at as many proposals.
#
# Each half of the draws makes the proposal for the other half, because the
# integral would be estimated too large from draws that made their own proposal
# (Overstall & Forster 2010, doi:10.1016/j.csda.2010.03.008). `apart`: the two
# estimates differ by more than four of their standard errors; then half of the
# difference is the error. This happens if few proposals come near a mode of the
# posterior: a standard error cannot reflect modes that the proposals never
# visited.
#
# `series`: what each draw adds to the relative error of the value, for each
# chain its draws in order. `proposal_se`: the error from the proposals alone.
bridge_integral <- function(points, ratios, call) {
  half <- seq_len(nrow(points[[1L]]) %/% 2L)
  check_bridge_draws(
    2L * length(half) * length(points), ncol(points[[1L]]), "", call
  )
  first <- lapply(points, function(x) x[half, , drop = FALSE])
  second <- lapply(points, function(x) x[-half, , drop = FALSE])
  one <- half_bridge(first, second, ratios, call)
  two <- half_bridge(second, first, ratios, call)
  difference <- abs(one$value - two$value)
  se <- sqrt(one$se^2 + two$se^2)
  # the errors of exact proposals are 0
  apart <- difference > 4 * se + 1e-6
  # the draws of the first half were compared with the second proposal
  series <- rbind(two$series, one$series)
  list(
    value = (one$value + two$value) / 2,
    se = if (apart) difference / 2 else se / 2,
    draws = one$draws + two$draws, ess = one$ess + two$ess, apart = apart,
    series = as.vector(series),
    proposal_se = sqrt(one$proposal_se^2 + two$proposal_se^2) / 2
  )
}

# where: in words, "" or " in each chain".
check_bridge_draws <- function(draws, d, where, call) {
  if (draws < 4 * (d + 1)) {
    abort_argument(
      c("{.arg fit} must have at least {4 * (d + 1)} draws{where} for bridge
         sampling in {d} dimension{?s}.",
        i = "Use {.fn extend}."),
      call = call
    )
  }
}

# The integral by the proposal that the draws `before` make and the ratios at
# the draws `kept`.
half_bridge <- function(before, kept, ratios, call) {
  at <- ratios(before, kept)
  own <- at$own
  proposed <- at$proposed
  found <- if (any(proposed > -Inf) && any(own > -Inf)) {
    # there is no root where the density of too many draws is 0 to rounding
    tryCatch(
      optimal_bridge(own, proposed, length(kept)), error = function(cnd) NULL
    )
  }
  # if all shares underflow, the error is undefined
  if (!isTRUE(is.finite(found$se))) {
    abort_numeric(
      c("The proposal and the posterior have no points in common.",
        i = "Did the chains converge? More draws help."),
      call = call, class = "evidence"
    )
  }
  c(found, list(draws = length(own)))
}

# `ratios` of a normal proposal. log_density(x): at each row of x.
normal_ratios <- function(log_density, method, call) {
  function(before, kept) {
    kept <- do.call(rbind, kept)
    proposal <- normal_proposal(do.call(rbind, before), call)
    z <- backsolve(proposal$root, t(kept) - proposal$mean, transpose = TRUE)
    new <- matrix(stats::rnorm(length(z)), ncol(kept))
    list(
      own = log_ratios(z, proposal, log_density, method),
      proposed = log_ratios(new, proposal, log_density, method)
    )
  }
}

# list(mean, root): root'root is the covariance matrix of the points.
normal_proposal <- function(x, call) {
  centre <- colMeans(x)
  root <- if (all(is.finite(x))) {
    tryCatch(chol(stats::cov(x)), error = function(cnd) NULL)
  }
  if (is.null(root)) {
    abort_numeric(
      c("The draws have no covariance matrix of full rank: there is no normal
         proposal.",
        i = "Are draws on a bound ({.arg lower}, {.arg upper}), or equal, or
             too few?"),
      call = call, class = "evidence"
    )
  }
  list(mean = centre, root = root)
}

# log q - log N at the points mean + root'z; z: coordinates x points. For
# "warp3" q is the mean of the densities at z and -z, so that the sign of a draw
# has no effect (Meng & Schilling 2002).
log_ratios <- function(z, proposal, log_density, method) {
  at <- function(z) {
    value <- log_density(t(proposal$mean + crossprod(proposal$root, z)))
    value[is.nan(value)] <- -Inf
    value
  }
  value <- at(z)
  if (method == "warp3") {
    other <- at(-z)
    high <- pmax(value, other)
    value <- high - log(2) +
      ifelse(high == -Inf, 0, log1p(exp(pmin(value, other) - high)))
  }
  ratio <- value + colSums(z^2) / 2 + nrow(z) / 2 * log(2 * pi) +
    sum(log(diag(proposal$root)))
  # a density of zero where z^2 is infinite
  ratio[is.nan(ratio)] <- -Inf
  ratio
}

# list(value, se, ess, series, proposal_se), as bridge_integral(); series: draws
# x chains. own: log ratios at the draws, chain after chain.
optimal_bridge <- function(own, proposed, chains) {
  size <- c(length(own), length(proposed))
  value <- bridge_root(own, proposed, size)
  # the share of each draw; weights use the effective number of draws
  effective <- function(value) {
    share <- stats::plogis(value - log(size[[1L]] / size[[2L]]) - own)
    draws_worth(matrix(share, ncol = chains))
  }
  size[[1L]] <- effective(value)
  value <- bridge_root(own, proposed, size)
  shift <- log(size[[1L]] / size[[2L]])
  relative <- function(x) stats::var(x) / mean(x)^2
  ess <- effective(value)
  # the relative mean squared error (Frühwirth-Schnatter 2004)
  share <- stats::plogis(value - shift - own)
  proposal <- relative(stats::plogis(shift + proposed - value)) /
    length(proposed)
  list(
    value = value, se = sqrt(relative(share) / ess + proposal), ess = ess,
    series = matrix(1 - share / mean(share), ncol = chains),
    proposal_se = sqrt(proposal)
  )
}

# The effective number of the draws of a mean (draws x chains), at most their
# number.
draws_worth <- function(draws) {
  ess <- mean_ess(draws)
  if (is.na(ess)) length(draws) else min(ess, length(draws))
}

# log r, where r is the fixed point of Meng and Wong's iteration. It solves
#   mean_i r / (s1 l_i + s2 r) = mean_j l_j / (s1 l_j + s2 r)
# with ratios l_i at the draws and l_j at the proposals, and shares s1 and s2 of
# both. The left side rises in r and the right side falls, so there is one
# solution.
bridge_root <- function(own, proposed, size) {
  shift <- log(size[[1L]] / size[[2L]])
  gap <- function(u) {
    size[[1L]] * mean(stats::plogis(u - shift - own)) -
      size[[2L]] * mean(stats::plogis(shift + proposed - u))
  }
  known <- c(own, proposed)
  ends <- range(known[is.finite(known)]) + shift
  stats::uniroot(
    gap, ends + c(-1, 1), extendInt = "upX", tol = 1e-10, maxiter = 10000
  )$root
}

# log_density at the rows of x in blocks, where a point takes `cost` numbers.
by_point_blocks <- function(x, cost, log_density) {
  unlist(lapply(row_blocks(nrow(x), cost, most = 4e6), function(rows) {
    log_density(x[rows, , drop = FALSE])
  }))
}

# A density that takes one point, at the rows of x. tick: NULL, or called after
# each.
at_each_point <- function(x, density, tick) {
  apply(x, 1L, function(point) {
    value <- density(point)
    if (!is.null(tick)) tick()
    value
  })
}

# The log posterior densities on scales without bounds that log_evidence() needs
# of each model: model_unbounded(model, given, call). given: list(log_density,
# lower, upper, tick), the arguments and the count of points (at_each_point()).
# Those of mixtures and of hierarchical regressions are in R/gmm-evidence.R and
# R/hlm-evidence.R.

# This method is for models with model_density(): gibbs_lm() and
# gibbs_logistic().
#' @exportS3Method
model_unbounded.default <- function(model, given, call) {
  known <- model_density(model)
  if (is.null(known)) {
    abort_no_evidence(
      model, "the posterior density of what the fit stores is not known",
      c(if (identical(model$prior$type, "horseshoe")) {
          "With the horseshoe prior the local scales are not stored."
        },
        "Compare fits by {.fn loo} or {.fn kfold}."),
      call
    )
  }
  check_frame(model, call)
  if (!known$proper) {
    return(NULL)
  }
  box <- unbounded_box(known$spec$lower, known$spec$upper, known$log_joint)
  list(
    points = function(draws) {
      box$points(unname(draws[, known$columns, drop = FALSE]))
    },
    log_density = box$log_density
  )
}

#' @exportS3Method
model_unbounded.mh_model <- function(model, given, call) {
  d <- length(model$parameters)
  if (length(model$coefficients) < d) {
    abort_argument(
      c("{.arg fit} must have stored every parameter.",
        i = "Leave {.arg keep} out in {.fn mh_sample}."),
      call = call
    )
  }
  check_has_density(model, call)
  # at points of the user: the fit's own maps would add their Jacobian
  model$spec["map"] <- list(NULL)
  density <- working_density(model)
  box <- unbounded_box(
    model$spec$lower %||% rep(-Inf, d), model$spec$upper %||% rep(Inf, d),
    function(x) at_each_point(x, density, given$tick)
  )
  list(
    points = function(draws) {
      box$points(unname(draws[, seq_len(d), drop = FALSE]))
    },
    log_density = box$log_density
  )
}

check_has_density <- function(model, call) {
  if (is.null(model$data$log_density)) {
    abort_no_data(call = call, what = "log density")
  }
}

# The conditionals alone do not say what the joint density is.
#' @exportS3Method
model_unbounded.gibbs_sample_model <- function(model, given, call) {
  if (is.null(given$log_density)) {
    abort_argument(
      c("{.arg log_density} is needed for a fit of {.fn gibbs_sample}: its
         conditionals do not determine the evidence.",
        i = "Give the log of likelihood times prior, with all constants, as a
             function of the state; bounds of the parameters are {.arg lower}
             and {.arg upper}."),
      call = call, class = "no_evidence"
    )
  }
  columns <- model_point_columns(model)
  lacking <- setdiff(columns, model$columns)
  if (length(lacking) > 0L) {
    abort_argument(
      c("{.arg fit} must have stored every parameter: {.val {lacking[[1L]]}} is
         not.",
        i = "Leave {.arg keep} out in {.fn gibbs_sample}."),
      call = call
    )
  }
  arguments <- taken_by(given$log_density, model$arguments)
  bounds <- check_bounds(
    given$lower, given$upper, columns, length(columns),
    "numbers of the state", "the parameters", call
  )
  density <- function(row) {
    state <- model_point(model, stats::setNames(row, columns))
    value <- tryCatch(
      do.call(given$log_density, c(list(state), arguments), quote = TRUE),
      error = function(cnd) {
        abort_numeric(
          "{.arg log_density} failed at a point.", parent = cnd, call = call,
          class = "density"
        )
      }
    )
    if (!is_plain_number(value) && !identical(value, NaN)) {
      abort_numeric(
        "{.arg log_density} must return one number, not {describe(value)}.",
        call = call, class = "density"
      )
    }
    as.double(value)
  }
  box <- unbounded_box(
    bounds$lower, bounds$upper,
    function(x) at_each_point(x, density, given$tick)
  )
  list(
    points = function(draws) {
      values <- draws[, columns, drop = FALSE]
      whole <- columns[apply(values, 2L, function(v) {
        all(v == round(v)) && any(v != v[[1L]])
      })]
      if (length(whole) > 0L) {
        abort_argument(
          c("The parameters of {.arg fit} must be continuous: every draw of
             {.val {whole}} is a whole number.",
            i = "Integrate {cli::qty(whole)}{?it/them} out: sum the joint
                 density over {?its/their} values in {.arg log_density}, and fit
                 the others alone."),
          call = call, class = "no_evidence"
        )
      }
      outside <- rowSums(t(t(values) <= bounds$lower) |
                           t(t(values) >= bounds$upper)) > 0
      if (any(outside)) {
        abort_argument(
          c("The draws of {.arg fit} must lie between `lower` and `upper`.",
            x = "{sum(outside)} of them {?does/do} not."),
          call = call
        )
      }
      box$points(unname(values))
    },
    log_density = box$log_density
  )
}

#' @exportS3Method
model_unbounded.lda_model <- function(model, given, call) {
  abort_no_evidence(
    model, "the topics of all tokens would have to be summed out",
    "Compare numbers of topics by {.fn held_out_perplexity}.", call
  )
}

#' @exportS3Method
model_unbounded.bmf_model <- function(model, given, call) {
  abort_no_evidence(
    model,
    "a fit stores averages of the factors, which have too many dimensions",
    "Compare fits by the error of ratings held out: {.fn held_out}.", call
  )
}

#' @exportS3Method
model_unbounded.pmf_model <- function(model, given, call) {
  abort_no_evidence(
    model, "the factors have too many dimensions",
    "Compare fits by the ranks of pairs held back: {.fn rank_measures}.", call
  )
}

# why: a clause; hints: what to use instead.
abort_no_evidence <- function(model, why, hints, call) {
  abort_argument(
    c("A fit of {.fn {model$name}} has no evidence here: {why}.",
      as_bullets(hints)),
    call = call, class = "no_evidence"
  )
}

# ---- Fits with tempered() ----------------------------------------------------

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
  # Each series has the estimate as its mean when the estimate of its chain is
  # added. So the effective number allows for differences between the chains.
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
