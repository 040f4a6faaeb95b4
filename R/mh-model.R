# The model behind mh_sample(): the state, starting values, and its methods for
# the generics of model.R; acceptance rates, and the trace of every step.
# src/core/mh/mh.h has the mathematics.

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
  init <- check_numeric_vector(
    mode_or_point(init, where, call), length = model$spec$d,
    length_why = "like `init`", arg = where, call = call
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
    doubt_words(fit_part(fit, "run")$doubts, c("bound", "left", "whole")),
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

# ---- Acceptance rates and traces ---------------------------------------------

#' @section Acceptance rates:
#' `acceptance()` gives the share of proposals that were accepted, by chain and
#' block, during burn-in and after it. The best rates are about 0.44 in one
#' dimension and 0.234 in many dimensions for a random walk, and 0.574 for a
#' Langevin proposal. A much higher rate means that the steps are too small, a
#' much lower one that they are too large. The rate of an independence proposal
#' should be near 1. That of [nuts()] is the mean acceptance statistic of its
#' trajectories, and that of a slice sampler is 1. So is that of a Gibbs
#' sampler, whose conditionals are proposals that are always accepted: of a fit
#' by [gibbs_sample()] without [mh_step()] each block is listed with the rate 1.
#' For [tempered()] the rate and the scale are those at temperature 1 (the
#' coldest). [delayed_rejection()] has a row for the block, whose rate is the
#' share of steps that moved, and a row for each of its two tries.
#' @return `acceptance()`: a data frame with a row for each chain and block and
#'   the columns
#'   `chain`, `block`, `steps` and `rate` (after burn-in), `burnin_steps` and
#'   `burnin_rate`, and `scale` (the scale factor that an adaptive proposal has
#'   reached, or the step of [langevin()], [nuts()] and [hmc()]; 1 for other
#'   proposals). The rate is NA if there were no steps. The
#'   attribute `nan` holds the number of NaNs that were treated as zero density,
#'   by chain.
#' @seealso [coda::rejectionRate()] counts draws that repeat the one before.
#' @examples
#' fit <- mh_sample(function(x) -sum(x^2) / 2, c(0, 0), seed = 1)
#' acceptance(fit)
#' @rdname mh_trace
#' @export
acceptance <- function(fit) {
  call <- rlang::current_env()
  check_needed(fit = "one made by mh_sample() or gibbs_sample()")
  check_fit(fit, "fit", call)
  model <- fit_part(fit, "model")
  chains <- fit_part(fit, "chains")
  tables <- lapply(seq_along(chains), function(k) {
    table <- model_acceptance(model, chains[[k]]$state)
    if (is.null(table)) {
      abort_argument(
        "{.arg fit} has no Metropolis-Hastings steps.", call = call
      )
    }
    # blocks that are drawn from their conditionals
    if (is.null(table$steps)) {
      burnin <- min(fit_part(fit, "running")$burnin, chains[[k]]$state$sweep)
      steps <- chains[[k]]$state$sweep - burnin
      table <- memory_table(table$block, rep(
        list(list(counts = c(burnin, burnin, steps, steps), tuning = 0)),
        nrow(table)
      ))
    }
    data.frame(chain = k, table)
  })
  structure(
    do.call(rbind, tables),
    nan = vapply(chains, function(chain) chain$state$nan_count %||% 0, 0)
  )
}

# The same table from the blocks' states.
memory_table <- function(names, memories) {
  rows <- unlist(Map(memory_rows, names, memories), recursive = FALSE)
  counts <- vapply(rows, `[[`, numeric(4L), "counts")
  rate <- function(moves, steps) ifelse(steps > 0, moves / steps, NA_real_)
  data.frame(
    block = vapply(rows, `[[`, "", "block"), steps = counts[3L, ],
    rate = rate(counts[4L, ], counts[3L, ]),
    burnin_steps = counts[1L, ],
    burnin_rate = rate(counts[2L, ], counts[1L, ]),
    scale = vapply(rows, function(row) exp(row$tuning[[1L]]), 0),
    row.names = NULL
  )
}

# The rows of a block: the state of the block, and of each of its two tries.
memory_rows <- function(name, memory) {
  # of parallel tempering, the coldest
  memory <- memory$inner[[1L]] %||% memory
  rows <- c(list(memory), tries_of(memory))
  names <- c(name, paste0(name, ", ", try_words))[seq_along(rows)]
  Map(function(block, row) {
    list(block = block, counts = row$counts, tuning = row$tuning)
  }, unname(names), rows)
}

#' Every step of a run
#'
#' `mh_trace()` lists every step of [mh_sample()] with `debug = TRUE`, or of
#' [gibbs_sample()], where a step is the update of a block. The chain can be
#' recomputed by hand from these numbers. `plot()` draws the first steps: the
#' points of the chain and its path, the rejected proposals, and the last step.
#' Pictures after 1, 2, 3, ... steps have the same axes and make a film. Two
#' parameters are drawn against each other, over contours of the target, one
#' against the steps. Several runs are drawn side by side, such as the same
#' random walk with three scales. `ggplot2::autoplot()` gives the same picture.
#'
#' The path of a Gibbs sampler with a block for each coordinate is a staircase:
#' a step changes one block. Its steps are known from the draws, if all blocks
#' are stored (`keep = NULL`) after each sweep (`thin = 1`) of a systematic
#' scan.
#' The path begins at `inits`, or at `init`, and after burn-in at the first
#' draw.
#'
#' Contours are those of the log density of [mh_sample()] if it has two
#' parameters and both are drawn, on the scale on which proposals are made. They
#' are at 0.7, 0.4, 0.2, 0.1, 0.05 and 0.02 of its largest value, from a grid of
#' 60 x 60 points. The axes then contain the points of the chains and the
#' contours, and rejected proposals may be outside. Without contours the axes
#' contain all proposals.
#'
#' @param fit A fit made by [mh_sample()] with `debug = TRUE`, or by
#'   [gibbs_sample()]; or a list of such fits, whose names are the titles of the
#'   panels. For `acceptance()` a fit made by [mh_sample()] or [gibbs_sample()],
#'   or of another model with Metropolis-Hastings steps: of a Gibbs sampler with
#'   some of them only their blocks are listed.
#' @param x,object The steps: the value of `mh_trace()`.
#' @param steps Whole number, or `NULL` (default, all): how many steps to draw.
#' @param chain Whole numbers: the chains, a panel each. `NULL` (default): the
#'   first chain of each fit.
#' @param variables Names of one or two parameters; default the first two.
#' @param log_density `NULL` (default): the log density of the fit. Otherwise a
#'   function of the two parameters drawn, a vector with their names, which
#'   returns a log density up to a constant; or `FALSE` for no contours.
#' @param xlim,ylim `NULL` (default), or two increasing numbers: the axes.
#' @param ... Not used.
#' @return `plot()`: `x`, invisibly. `autoplot()`: a ggplot. `mh_trace()`: a
#'   list of class `mh_trace` with a data frame for each chain, with a row for
#'   each step: `sweep`, `block` (its number), `uniform` (the proposal is
#'   accepted when its logarithm is below `log_ratio`), `log_density` (of the
#'   proposal; also `-Inf` if the proposal is out of bounds, where the density
#'   is not evaluated), `log_target` (with the Jacobian), `log_correction`
#'   (\eqn{\log q(x | y) - \log q(y | x)}{log q(x | y) - log q(y | x)}),
#'   `log_ratio`, `accepted`, and the proposal, with a column for each
#'   coordinate, on the scale on which proposals are made. With [nuts()] this is
#'   the point that was drawn from the trajectory, with [delayed_rejection()]
#'   the last of the two tries that was made, with slice samplers and
#'   [tempered()] the point after the sweep over the block; `log_correction` and
#'   `log_ratio` are NaN, and `uniform` is not used, but by [elliptical_slice()]
#'   for the height. If `inits` was given, a chain begins at its entry.
#'
#'   Of a Gibbs sampler `log_ratio` is 0 and `accepted` is `TRUE`; the point is
#'   the state after the update. The densities and `uniform` are NaN. Of a block
#'   with [mh_step()] `accepted` is whether it moved, and `log_ratio` is NaN.
#'
#'   The title of a panel beside others has the share of accepted steps, and the
#'   autocorrelation time in sweeps: draws divided by their effective number
#'   (ESS of the mean), the larger of the two parameters. The first points until
#'   the first accepted proposal are left out if the start is not known.
#' @section Errors: `gibbsite_error_argument` for a fit without its steps, and
#'   for steps, a chain and variables that are not there.
#' @seealso [mh_sample()], [gibbs_sample()], [acceptance()].
#' @examples
#' fit <- mh_sample(function(x) -sum(x^2) / 2, 0, debug = TRUE, draws = 10,
#'   burnin = 0, chains = 1, inits = list(0), seed = 1
#' ) |> suppressWarnings()
#' mh_trace(fit)[[1]]
#'
#' # a film: a page for each step
#' log_density <- function(x) -(x[1]^2 - 1.6 * x[1] * x[2] + x[2]^2) / 0.72
#' walk <- function(scale) {
#'   mh_sample(log_density, c(a = 0, b = 0), random_walk(scale), draws = 60,
#'     burnin = 0, chains = 1, inits = list(c(-3, 2)), debug = TRUE, seed = 1
#'   ) |> suppressWarnings()
#' }
#' fit <- walk(0.8)
#' for (s in c(5, 40)) {
#'   plot(mh_trace(fit), steps = s)
#' }
#'
#' # too small, good and too large steps
#' plot(mh_trace(list("scale 0.1" = walk(0.1), "scale 1" = walk(1),
#'                    "scale 8" = walk(8))))
#'
#' # a Gibbs sampler of the same target
#' fit <- gibbs_sample(
#'   list(
#'     a = function(state) rnorm(1, 0.8 * state$b, 0.6),
#'     b = function(state) rnorm(1, 0.8 * state$a, 0.6)
#'   ),
#'   init = list(a = -3, b = 2), draws = 30, burnin = 0, chains = 1, seed = 1
#' ) |> suppressWarnings()
#' plot(mh_trace(fit), steps = 20, log_density = log_density)
#' @export
mh_trace <- function(fit) {
  call <- rlang::current_env()
  check_needed(
    fit = "one made by mh_sample(debug = TRUE) or gibbs_sample()"
  )
  several <- is.list(fit) && !is.object(fit) && length(fit) > 0L
  fits <- if (several) fit else list(fit)
  names <- names(fits) %||% character(length(fits))
  tables <- unlist(lapply(seq_along(fits), function(i) {
    arg <- if (several) paste0("fit[[", i, "]]") else "fit"
    check_fit(fits[[i]], arg, call)
    tables <- model_trace(
      fit_part(fits[[i]], "model"), fits[[i]], arg, call
    )
    if (several) {
      title <- if (nzchar(names[[i]])) names[[i]] else paste("run", i)
      names(tables) <- paste0(title, if (length(tables) > 1L) {
        paste(", chain", seq_along(tables))
      })
    }
    attr(tables[[1L]], "first") <- TRUE
    tables
  }), recursive = FALSE)
  structure(tables, class = "mh_trace")
}

trace_columns <- c(
  "sweep", "block", "uniform", "log_density", "log_target", "log_correction",
  "log_ratio", "accepted"
)
