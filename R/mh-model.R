# The model behind mh_sample(): the state, starting values, and its methods for
# the generics of model.R. src/core/mh/mh.h has the mathematics.

mh_model <- function(log_density, extra, init, names, plan, box, keep, on_nan,
                     debug, call, gradient = NULL) {
  d <- length(init)
  kept <- which(column_parts(names)$block %in% keep)
  model <- new_model(
    "mh_model",
    name = "mh_sample", title = "Metropolis-Hastings",
    headline = mh_headline(d, plan),
    data = list(log_density = log_density),
    prior = no_prior("the log density given to mh_sample()"),
    nobs = NA_integer_, columns = c(names[kept], "log_density"),
    coefficients = names[kept],
    arguments_at = "extra",
    cures = c(
      if (plan_has(plan, "dynamics") && leaves_bounds(box)) bounds_cure,
      mh_cure
    ),
    extra = extra, init = unname(init), parameters = names,
    user_names = names(init), plan = plan, given_gradient = gradient,
    gradient = find_gradient(
      gradient, plan, log_density, extra, init, call
    ),
    given = given_density
  )
  model$spec <- list(
    d = d, names = names(init), map = box$map, lower = box$lower,
    upper = box$upper, reject_nan = as.integer(on_nan == "reject"),
    keep = kept, debug = as.integer(debug)
  )
  at_mode <- NULL
  if (plan_has(plan, "mode")) {
    mode <- mode_covariance(model, call)
    model <- mode$model
    at_mode <- mode$at
  }
  model$spec$blocks <- lapply(seq_along(plan), function(b) {
    block <- plan[[b]]
    several <- length(plan) > 1L
    where <- if (several) paste0("proposal[[", b, "]]") else "proposal"
    list(
      index = block$index, names = block$names,
      proposal = compile_proposal(
        block$proposal, length(block$index), where,
        function() at_mode(block$index), call, block$names
      )
    )
  })
  width <- sum(vapply(model$spec$blocks, block_variates, 0))
  model$spec$rows <- ahead_rows(width)
  model
}

mh_cure <- paste(
  "Start near the mode (`init`), update dependent parameters in one block, or",
  "reparameterise. If the density has several modes, `proposal = tempered()`",
  "goes between them."
)

# Number of sweeps for which variates are drawn ahead: up to 256, about 4,000
# variates.
ahead_rows <- function(width) as.double(max(1, min(256, floor(4096 / width))))

#' @exportS3Method
model_start.mh_model <- function(model, init) {
  kind <- generator_seed()[[1L]]
  own <- own_stream()
  # from here on the user's functions may change the generator, but neither the
  # start nor the chain's draws may depend on this
  chain <- generator_seed()
  set_generator_seed(side_stream(own))
  region <- if (is.null(init)) found_region(model)
  centre <- region$centre %||% to_working(model$spec, init %||% model$init)
  settled <- settle(model, mh_state(model, centre, own))
  check_density_at(model, settled, init)
  look <- is.null(init) || plan_has(model$plan, "scale")
  region <- region %||% region_around(model, centre, look)
  if (is.null(init)) {
    start <- scatter_start(model, settled, region, chain)
    settled <- start$state
    chain <- start$stream
  }
  settled$high <- settled$value[[2L]]
  settled$blocks <- lapply(seq_along(model$plan), function(b) {
    index <- model$plan[[b]]$index
    proposal <- model$plan[[b]]$proposal
    move_memory(
      proposal, model$spec$blocks[[b]]$proposal,
      (region$mean %||% settled$x)[index], region$scale[index],
      if (any_trait(proposal, "covariance") ||
            any_trait(proposal, "mass") && !is.null(region$mean)) {
        region$factor_of(index)
      }
    )
  })
  settled <- place_replicas(settled)
  check_gradient(model, settled$point, rlang::call2("mh_sample"))
  check_same_kind(kind, rlang::call2("mh_sample"))
  # a user's proposal draws on the chain's stream; the density then has a
  # separate stream
  if (plan_has(model$plan, "user")) {
    settled$asked <- generator_seed()
  }
  set_generator_seed(chain)
  settled
}

check_density_at <- function(model, settled, init) {
  if (settled$value[[2L]] == -Inf) {
    abort_zero_density(
      model, init %||% model$init,
      if (is.null(init)) "init" else model$start_from %||% "inits",
      rlang::call2("mh_sample")
    )
  }
}

# A state at x, before its log density is computed.
mh_state <- function(model, x, own) {
  spec <- model$spec
  width <- sum(vapply(spec$blocks, block_variates, 0))
  d <- spec$d
  list(
    sweep = 0, x = x, point = numeric(d), value = c(-Inf, -Inf),
    slope = numeric(d + 1L), nan_count = 0, high = Inf,
    ahead = numeric(spec$rows * width), own = own,
    blocks = lapply(seq_along(model$plan), function(b) {
      index <- model$plan[[b]]$index
      move_memory(
        model$plan[[b]]$proposal, spec$blocks[[b]]$proposal, x[index],
        rep(1, length(index))
      )
    }),
    trace = if (spec$debug > 0L) numeric()
  )
}

# With the unit of differences, which models of stored runs may lack.
functions_to_run <- function(model) {
  if (lacks_unit(model)) model$search$unit <- difference_unit(model)
  mh_functions(model)
}

# The state with its point and log density at x; the density is evaluated once.
settle <- function(model, state) {
  calling_user_code(model, function(place) {
    .Call(C_mh_settle, model$spec, mh_functions(model), state, place)
  }, call = rlang::call2("mh_sample"))
}

# A start in the region with positive density: list(state, stream). Its normals
# are drawn on `stream`. Their standard deviation is 2, so that starts are more
# dispersed than the posterior (Gelman and Rubin 1992,
# doi:10.1214/ss/1177011136). Whole numbers that a user's proposal moves stay
# whole.
scatter_start <- function(model, state, region, stream) {
  whole <- whole_coordinates(model)
  spread <- 2
  lowest <- state$value[[2L]] - region$depth
  for (attempt in 1:50) {
    normals <- with_stream(stream, stats::rnorm(length(state$x)))
    stream <- normals$stream
    trial <- state
    trial$x <- region$place(spread * normals$value)
    trial$x[whole] <- round(trial$x[whole])
    trial <- tryCatch(
      suppressWarnings(settle(model, trial)), error = function(cnd) state
    )
    value <- trial$value[[2L]]
    if (value > -Inf && value >= lowest && !identical(trial, state)) {
      return(list(state = trial, stream = stream))
    }
    spread <- spread / 2
  }
  list(state = state, stream = stream)
}

# The coordinates that are whole in `init` and that custom_proposal() moves by
# whole numbers.
whole_coordinates <- function(model) {
  unlist(lapply(model$plan, function(block) {
    index <- block$index
    x <- stats::setNames(model$init, model$user_names)[index]
    if (!any_trait(block$proposal, "user") || any(model$spec$map[index] != 0)) {
      return(NULL)
    }
    drawn <- from_seed(1L, tryCatch(
      vapply(1:10, function(i) block$proposal$draw(x) + 0, x),
      error = function(cnd) x + 0.5
    ))
    index[which(rowSums(cbind(x, matrix(drawn, length(x))) %% 1) == 0)]
  }))
}

# The sampler's own stream, made from the chain's, of the same kind: user code
# uses only the chain's stream.
own_stream <- function() {
  if (identical(rng_kind()[[1L]], "L'Ecuyer-CMRG")) {
    return(parallel::nextRNGSubStream(generator_seed()))
  }
  seed <- uniform_integer(1)
  chain <- generator_seed()
  set.seed(seed)
  own <- generator_seed()
  set_generator_seed(chain)
  own
}

# A stream for functions of the user, whose random numbers must not change the
# sampler's. It is made from another stream of the same kind, which does not
# change.
side_stream <- function(stream) {
  if (identical(stream_kind(stream)[[1L]], "L'Ecuyer-CMRG")) {
    return(parallel::nextRNGSubStream(stream))
  }
  with_stream(stream, {
    set.seed(uniform_integer(1))
    generator_seed()
  })$value
}

#' @exportS3Method
model_sweeps.mh_model <- function(model, state, n, control) {
  kind <- generator_seed()[[1L]]
  # C copies the state
  stored <- state[stored_steps]
  state[stored_steps] <- NULL
  # states stored by earlier versions have none
  state$high <- state$high %||% Inf
  functions <- functions_to_run(model)
  result <- calling_user_code(model, function(place) {
    .Call(C_mh_sweeps, model$spec, functions, state, n, control, place)
  })
  if (is.null(result)) {
    return(NULL)
  }
  check_same_kind(kind, NULL)
  for (what in stored_steps) {
    result$state[[what]] <- c(stored[[what]], result[[what]])
    result[[what]] <- NULL
  }
  result
}

# Parts of a state that grow: every step of a run with `debug`, and what
# Hamiltonian dynamics met on the way to each draw.
stored_steps <- c("trace", "transitions")

#' @exportS3Method
model_renew.mh_model <- function(model) {
  model$spec$blocks <- lapply(model$spec$blocks, function(block) {
    block$proposal <- renew_proposal(block$proposal)
    block
  })
  model
}

#' @exportS3Method
model_check_init.mh_model <- function(model, init, where, call) {
  if (is_laplace_fit(init)) {
    check_approximation(init, where, call)
    init <- approximation_mean(init)
  }
  d <- model$spec$d
  init <- check_numeric_vector(init,
    length = d, length_why = "like `init`", arg = where, call = call
  )
  given <- names(init)
  if (!is.null(given) && !is.null(model$user_names)) {
    if (!setequal(given, model$user_names)) {
      abort_argument(
        "Names of `{where}` must be those of `init`:
         {.val {model$user_names}}.",
        call = call
      )
    }
    init <- init[model$user_names]
  }
  spec <- model$spec
  if (!is.null(spec$lower)) {
    check_inside(init, spec$lower, spec$upper, !is.null(spec$map), where, call)
  }
  unname(init)
}

#' @exportS3Method
model_init_from_state.mh_model <- function(model, state) state$point

# How many evaluations a search took may depend on a density's random numbers.
#' @exportS3Method
model_comparable.mh_model <- function(model) {
  model$search <- NULL
  model
}

mh_headline <- function(d, plan) {
  proposals <- unique(vapply(plan, function(block) format(block$proposal), ""))
  blocks <- length(plan)
  paste0(
    cli::pluralize("Metropolis-Hastings: {d} parameter{?s}; "),
    if (blocks > 1L) paste0(blocks, " blocks, "),
    if (length(proposals) == 1L) proposals else "each with its own proposal"
  )
}

#' @exportS3Method
model_hash.mh_model <- function(model) {
  f <- model$data$log_density
  hash_functions(f, list(f, model$extra, closure_values(f)))
}

#' @exportS3Method
set_data.mh_model <- function(model, data, call = rlang::caller_env()) {
  check_log_density(data, call)
  model$data <- list(log_density = data)
  model$data_hash <- model_hash(model)
  model
}

# Acceptance after burn-in over all chains, the number of NaNs, and the least
# effective sample size per second of the run.
#' @exportS3Method
model_faults.mh_model <- function(model, fit) {
  c(
    doubt_words(fit_part(fit, "run")$doubts, c("bound", "left")),
    if (plan_has(model$plan, "dynamics")) many_divergences(fit)
  )
}

#' @exportS3Method
model_notes.mh_model <- function(model, fit, table) {
  rates <- acceptance(fit)
  nan <- sum(attr(rates, "nan"))
  blocks <- vapply(model$plan, `[[`, "", "name")
  range <- format(range(rates$rate[rates$block %in% blocks], na.rm = TRUE),
    digits = 2, nsmall = 2
  )
  running <- fit_part(fit, "running")
  seconds <- seconds_of_sweeps(
    fit, running$burnin + running$draws * running$thin
  )
  size <- least_ess(table)
  c(
    search_words(model$search),
    paste0("Acceptance ", paste(unique(range), collapse = " to "), "."),
    plan_notes(model, fit, rates),
    if (is.finite(seconds) && is.finite(size)) {
      paste0("ESS a second: ", format(signif(size / seconds, 2),
        big.mark = ",", scientific = FALSE
      ), " at least.")
    },
    doubt_notes(fit, table),
    if (nan > 0) {
      cli::pluralize("NaN taken for a density of zero: {nan} time{?s}.")
    },
    if (learns_for_ever(model)) unfrozen_words
  )
}

# Whether a proposal of mh_sample(), or of a step of gibbs_sample(), never stops
# adapting.
learns_for_ever <- function(model) {
  given <- lapply(model$plan, function(block) isTRUE(block$proposal$forever))
  compiled <- lapply(model$steps, function(step) identical(step$tuned, 2L))
  any(unlist(c(given, compiled)))
}

unfrozen_words <-
  "Adaptation never stops: the draws are only asymptotically correct."

#' @exportS3Method
model_acceptance.mh_model <- function(model, state) {
  memory_table(vapply(model$plan, `[[`, "", "name"), state$blocks)
}

#' @exportS3Method
model_trace.mh_model <- function(model, fit, arg, call) {
  if (!isTRUE(model$spec$debug > 0L)) {
    abort_argument(
      "{.arg {arg}} must be made by {.code mh_sample(debug = TRUE)}.",
      call = call
    )
  }
  names <- c(trace_columns, model$parameters)
  log_density <- if (model$spec$d == 2L) working_density(model)
  chains <- fit_part(fit, "chains")
  inits <- fit_part(fit, "running")$inits
  lapply(seq_along(chains), function(k) {
    steps <- matrix(chains[[k]]$state$trace, nrow = length(names))
    table <- as.data.frame(t(steps))
    names(table) <- names
    table$accepted <- table$accepted > 0
    known <- !is.function(inits) && !is.null(inits[[k]]) &&
      identical(table$sweep[1L], 1)
    structure(
      table, log_density = log_density,
      start = if (known) to_working(model$spec, inits[[k]])
    )
  })
}
