# Hamiltonian dynamics: what nuts() and hmc() share, and what is known of their
# transitions. src/core/mh/mh_trajectory.h has the mathematics.

# Numbers in the place of `mass` are probably starting values for mh_sample().
check_mass <- function(mass, name, call = rlang::caller_env()) {
  if (is.numeric(mass)) {
    abort_argument(
      c(
        "{.arg mass} must be {.val diagonal} or {.val dense}, not numbers.",
        i = "{.fn {name}} makes a proposal:
             {.code mh_sample(log_density, init, {name}())}."
      ),
      call = call
    )
  }
  check_choice(mass, c("diagonal", "dense"), arg = "mass", call = call)
}

dynamics_traits <- function(move, learns) {
  list(
    dynamics = TRUE, far = TRUE, gradient = TRUE, mass = learns,
    scale = learns, matrix = move$mass == "dense",
    why_not = "{.fn langevin} with {.code tune = FALSE} takes a gradient."
  )
}

compile_dynamics <- function(move, learns) {
  list(
    target = move$target, tuned = as.integer(learns),
    dense = as.integer(move$mass == "dense")
  )
}

dynamics_memory <- function(compiled, scale, factor, step = NULL) {
  d <- compiled$d
  if (compiled$tuned == 0L) {
    scale <- rep(1, d)
    factor <- NULL
  }
  start <- if (compiled$dense > 0L) {
    factor %||% as.double(diag(scale, d))
  } else if (is.null(factor)) {
    as.double(scale)
  } else {
    sqrt(rowSums(matrix(factor, d)^2))
  }
  # the best order of the step for many independent coordinates
  step <- step %||% d^(-1 / 4)
  new_memory(start, numeric(d), log(step), list(
    spread = numeric(length(start)), averaging = numeric(5L),
    energies = numeric(7L)
  ))
}

# ---- Diagnostics ------------------------------------------------------------

# In the order in which C stores them, without the sweep and the block.
transition_names <- c(
  "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__",
  "energy__"
)

#' @rdname fit-bayesplot
#' @param pars `NULL` (default: all), or names of diagnostics: `accept_stat__`,
#'   `stepsize__`, `treedepth__`, `n_leapfrog__`, `divergent__`, `energy__`.
#' @param block Whole number (default 1): with several blocks that [nuts()] or
#'   [hmc()] moves, the one wanted, counted among them.
#' @exportS3Method bayesplot::nuts_params
nuts_params.mh_sample <- function(object, pars = NULL, block = 1, ...) {
  check_no_more(...)
  call <- rlang::current_env()
  plan <- fit_part(object, "model")$plan
  blocks <- which(plan_traits(plan, "dynamics"))
  if (length(blocks) == 0L) {
    abort_argument(
      "{.arg object} must be made with {.fn nuts} or {.fn hmc}.", call = call
    )
  }
  block <- check_count(block, min = 1, max = length(blocks))
  pars <- check_subset(pars %||% transition_names, transition_names,
    arg = "pars", call = call
  )
  tables <- lapply(seq_along(object), function(k) {
    numbers <- transitions_of(object, k, blocks[[block]])[, pars, drop = FALSE]
    data.frame(
      Chain = k, Iteration = rep(seq_len(nrow(numbers)), ncol(numbers)),
      Parameter = factor(rep(pars, each = nrow(numbers)), levels = pars),
      Value = as.double(numbers)
    )
  })
  do.call(rbind, tables)
}

# The transitions of a chain's draws, a row each. A chain may have made more
# than the fit shows.
transitions_of <- function(fit, k, block) {
  stored <- fit_part(fit, "chains")[[k]]$state$transitions
  stored <- matrix(stored, ncol = 8L, byrow = TRUE)
  stored <- stored[stored[, 2L] == block, , drop = FALSE]
  at <- coda::mcpar(fit[[k]])
  rows <- match(seq(at[[1L]], at[[2L]], by = at[[3L]]), stored[, 1L])
  numbers <- stored[rows, -(1:2), drop = FALSE]
  colnames(numbers) <- transition_names
  numbers
}

# A column for each chain and block: divergences, transitions of the greatest
# depth, all transitions, and what the E-BFMI is made of.
energies_of <- function(fit) {
  do.call(cbind, lapply(fit_part(fit, "chains"), function(chain) {
    do.call(cbind, lapply(chain$state$blocks, `[[`, "energies"))
  }))
}

# Words for a warning where divergences are many.
many_divergences <- function(fit) {
  energies <- energies_of(fit)
  divergences <- sum(energies[1L, ])
  if (divergences > 0 && divergences >= sum(energies[3L, ]) / 100) {
    c(
      paste0(digits(divergences), " of ", digits(sum(energies[3L, ])),
             " transitions diverged."),
      divergence_cure(fit_part(fit, "model"), fit, many = TRUE)
    )
  }
}

# A line on all sweeps after burn-in, and one on what to do.
dynamics_words <- function(model, fit, rates) {
  energies <- energies_of(fit)
  steps <- sum(energies[3L, ])
  if (steps == 0) {
    return(NULL)
  }
  divergences <- sum(energies[1L, ])
  deepest <- sum(energies[2L, ])
  fraction <- min(energies[6L, ] / energies[5L, ])
  c(
    paste0(
      digits(divergences), " divergence", if (divergences != 1) "s", " in ",
      digits(steps), " transitions; greatest depth reached in ",
      digits(deepest), if (is.finite(fraction)) {
        paste0("; E-BFMI ", format(fraction, digits = 2), " at least")
      }, "."
    ),
    if (divergences > 0) {
      divergence_cure(model, fit, many = divergences >= steps / 100)
    },
    if (isTRUE(fraction < 0.3)) low_energy_words
  )
}

divergence_words <- paste(
  "Divergences: draws may miss a region of high curvature. Give `target`",
  "nearer to 1, or reparameterise."
)

# What to do about divergences. If there are many, trajectories may leave the
# bounds.
divergence_cure <- function(model, fit, many) {
  edges <- Filter(function(doubt) doubt$kind == "edge",
                  fit_part(fit, "run")$doubts)
  if (many && leaves_bounds(model$spec)) {
    bounds_words
  } else if (many && length(edges) > 0L) {
    doubt_words(edges)
  } else {
    divergence_words
  }
}

leaves_bounds <- function(spec) is.null(spec$map) && !is.null(spec$lower)

bounds_cure <- "Give `transform = TRUE`, which samples without bounds."

bounds_words <- paste(
  "Divergences: trajectories leave the bounds.", bounds_cure
)

low_energy_words <- paste(
  "E-BFMI below 0.3: chains explore the tails slowly. Reparameterise, or run",
  "longer."
)
