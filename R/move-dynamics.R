# Hamiltonian dynamics: nuts() and hmc(), what they share, and what is known of
# their transitions. src/core/mh/mh_trajectory.h, mh_nuts.c and mh_hmc.c have
# the mathematics.

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

#' @rdname clients
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

# ---- hmc() -------------------------------------------------------------------

#' Hamiltonian Monte Carlo
#'
#' The position \eqn{x}{x} gets a momentum \eqn{p \sim N(0, M)}{p ~ N(0, M)},
#' and both move `n_steps` leapfrog steps of size \eqn{s} along \eqn{H(x, p) =
#' -\log p(x) + p^\top M^{-1} p / 2}{H(x, p) = -log p(x) + p' M^-1 p / 2}. The
#' end is accepted with probability \eqn{\min(1, \exp(-\Delta H))}{min(1,
#' exp(-change of H))} (Duane et al. 1987; Neal 2011). [nuts()] finds the number
#' of steps itself and is easier to use.
#'
#' The step of each trajectory is \eqn{s (1 + j u)}{s (1 + j u)}, where \eqn{j}
#' is `jitter` and \eqn{u} is uniform on \eqn{(-1, 1)}, independent of the
#' state. Trajectories of one length could be periodic and never reach some
#' points.
#'
#' Step and mass adapt during burn-in in the same way as those of [nuts()], and
#' are then fixed.
#'
#' @param step `NULL` (default) or a positive number: the \eqn{s} at which the
#'   adaptation begins, in units of the standard deviations that \eqn{M^{-1}}{
#'   M^-1} has; with `tune = FALSE` the step, in units of the parameters.
#' @param n_steps Whole number (default 10): leapfrog steps of a trajectory.
#' @inheritParams nuts
#' @param jitter Number from 0 to below 1 (default 0.1).
#' @param tune `TRUE` (default): adapt step and mass in burn-in. `FALSE`: keep
#'   the step, and \eqn{M} the identity.
#' @param target Number between 0 and 1 (default 0.8): the acceptance rate aimed
#'   at.
#' @param ... Not used: any other argument is an error.
#' @return A proposal: an object of class `hmc` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @inheritSection nuts Gradient
#' @references
#' Duane S, Kennedy AD, Pendleton BJ, Roweth D (1987). Hybrid Monte Carlo.
#' *Physics Letters B* 195, 216-222. \doi{10.1016/0370-2693(87)91197-X}
#'
#' Neal RM (2011). MCMC using Hamiltonian dynamics. In Brooks S, Gelman A, Jones
#' GL, Meng X-L (eds.), *Handbook of Markov Chain Monte Carlo*, 113-162.
#' Chapman & Hall/CRC. \doi{10.1201/b10905-6}
#' @family proposals
#' @examples
#' hmc(gradient = function(x) -x)
#' hmc(0.2, n_steps = 20, gradient = function(x) -x, tune = FALSE)
#' @export
hmc <- function(step = NULL, n_steps = 10, gradient = NULL,
                mass = c("diagonal", "dense"), jitter = 0.1, tune = TRUE,
                target = 0.8, ...) {
  check_no_extra(...)
  step <- check_tuned_step(step, tune)
  new_proposal("hmc",
    step = step, n_steps = check_count(n_steps, min = 1, max = 1e6),
    gradient = check_gradient_function(gradient),
    mass = check_mass(mass, "hmc"),
    jitter = check_number(jitter, lower = 0, upper = 1, upper_open = TRUE),
    tune = check_flag(tune), target = check_rate(target)
  )
}

#' @exportS3Method
move_traits.hmc <- function(move) {
  dynamics_traits(move, move$tune)
}

#' @exportS3Method
move_words.hmc <- function(move) {
  paste0(
    cli::pluralize("Hamiltonian Monte Carlo, {move$n_steps} step{?s}"),
    if (!is.null(move$step)) paste(" of", format(move$step, digits = 4)),
    if (move$tune) paste0(", ", move$mass, " mass, tuned in burn-in")
  )
}

#' @exportS3Method
move_compile.hmc <- function(move, at) {
  c(
    compile_dynamics(move, move$tune),
    list(steps = as.double(move$n_steps), jitter = move$jitter)
  )
}

#' @exportS3Method
move_memory.hmc <- function(move, compiled, x, scale, factor = NULL) {
  dynamics_memory(compiled, scale, factor, move$step)
}

#' @exportS3Method
move_notes.hmc <- function(move, ...) dynamics_words(...)

# ---- nuts() ------------------------------------------------------------------

#' No-U-turn sampler
#'
#' Hamiltonian Monte Carlo that finds the length of its trajectories itself
#' (Hoffman and Gelman 2014). The position \eqn{x}{x} gets a momentum \eqn{p
#' \sim N(0, M)}{p ~ N(0, M)}, and both move by leapfrog steps of size \eqn{s}
#' along \eqn{H(x, p) = -\log p(x) + p^\top M^{-1} p / 2}{H(x, p) = -log p(x) +
#' p' M^-1 p / 2}. The trajectory is doubled, forwards or backwards in time,
#' until it turns back. The next point of the chain is drawn from its points,
#' with probabilities proportional to \eqn{\exp(-H)}{exp(-H)} within each half,
#' and with a preference for the newer half (Betancourt 2017, appendix A). The
#' posterior is exactly invariant, whatever the step, the mass and the gradient.
#'
#' It is the default proposal of [mh_sample()] if a gradient is given. In many
#' dimensions it needs far fewer evaluations than a random walk.
#'
#' @section Burn-in:
#' The step and the mass adapt during burn-in and are then fixed.
#' * The step: dual averaging (Nesterov 2009) towards a mean acceptance
#'   statistic of `target`, with the constants of Hoffman and Gelman (2014). It
#'   begins at a step at which the acceptance probability is near 0.8.
#' * The mass: \eqn{M^{-1}}{M^-1} is the covariance of the chain in a window of
#'   \eqn{n} sweeps, multiplied by \eqn{n / (n + 5)}{n / (n + 5)}, plus
#'   \eqn{0.005 / (n + 5)}{0.005 / (n + 5)} times its value before. With `mass =
#'   "diagonal"` only the variances are used.
#'
#' As in Stan (Stan Development Team 2024), the first 75 sweeps adapt the step
#' alone. Windows of 25, 50, 100, ... sweeps follow; after each, the step is
#' found anew. The last 50 sweeps adapt the step to the last mass. With a
#' burn-in below 150 sweeps, the first buffer is 15% of it, the last one 10%,
#' and there is one window; below 20 sweeps the mass does not adapt.
#' \eqn{M^{-1}}{M^-1} begins at the covariance that the curvature at the mode
#' gives, or else at the scales of the coordinates at the start (see
#' [mh_sample()]).
#'
#' @section Diagnostics:
#' Stored with each draw, and given by `bayesplot::nuts_params()`
#' ([fit-bayesplot]): the acceptance statistic, the step, the depth of the
#' tree, the number of leapfrog steps, whether the trajectory diverged, and the
#' energy. `print()` and `summary()` show a line: the number of divergences
#' (\eqn{H} rose by more than 1,000: the step is too long for a region of high
#' curvature, and the draws may miss it), of trees of the greatest depth
#' (trajectories that could have been longer), and the least energy Bayesian
#' fraction of missing information, E-BFMI (Betancourt 2016; values below 0.3
#' mean that the chains explore the tails slowly). They count all sweeps after
#' burn-in, also those that `thin` leaves out. Where the chains agree, but one
#' transition in a hundred or more diverged, a warning of class
#' `gibbsite_warning_region` says so.
#'
#' A trajectory that leaves the region where the density is positive ends as a
#' divergence. Where `lower` and `upper` bound the parameters,
#' `transform = TRUE` avoids this.
#'
#' @section Gradient:
#' The gradient is that of the *whole* log density, on its own scale, also with
#' `blocks` and with `transform = TRUE`. It can be
#' * a function of a point, as `gradient` here or of [mh_sample()]; it gets
#'   those further arguments of the density that it has arguments for;
#' * part of [native_density()], in compiled code;
#' * the attribute `"gradient"` of the values of `log_density`, such as
#'   expressions by [stats::deriv()] have;
#' * if none of these is given, computed by differences, those of
#'   [numDeriv::grad()], with a message. This takes `4 d` evaluations of the
#'   density for each leapfrog step.
#'
#' It is compared with differences of the log density where each chain starts: a
#' wrong gradient is an error. Where the density is positive it must be finite.
#'
#' @param gradient `NULL` (default), or a function of a point: see Gradient.
#' @param mass `"diagonal"` (default), or `"dense"`: the whole covariance, for
#'   strongly correlated parameters; a step then takes time proportional to
#'   \eqn{d^2}{d^2}.
#' @param max_depth Whole number from 1 to 15 (default 10): the tree is doubled
#'   at most so many times, so that a trajectory has at most `2^max_depth - 1`
#'   steps.
#' @param target Number between 0 and 1 (default 0.8): the mean acceptance
#'   statistic aimed at. A higher one makes shorter steps, which helps against
#'   divergences.
#' @param ... Not used: any other argument is an error.
#' @return A proposal: an object of class `nuts` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Betancourt M (2016). Diagnosing suboptimal cotangent disintegrations in
#' Hamiltonian Monte Carlo. arXiv:1604.00695.
#' \doi{10.48550/arXiv.1604.00695}
#'
#' Betancourt M (2017). A conceptual introduction to Hamiltonian Monte Carlo.
#' arXiv:1701.02434. \doi{10.48550/arXiv.1701.02434}
#'
#' Hoffman MD, Gelman A (2014). The No-U-Turn sampler: adaptively setting path
#' lengths in Hamiltonian Monte Carlo. *Journal of Machine Learning Research*
#' 15, 1593-1623. \doi{10.48550/arXiv.1111.4246}
#'
#' Nesterov Y (2009). Primal-dual subgradient methods for convex problems.
#' *Mathematical Programming* 120, 221-259. \doi{10.1007/s10107-007-0149-x}
#'
#' Stan Development Team (2024). *Stan Reference Manual*, "MCMC Sampling",
#' version 2.35. <https://mc-stan.org/docs/reference-manual/>
#' @family proposals
#' @examples
#' # logistic regression of transmission on weight
#' log_posterior <- function(w, x, y) {
#'   eta <- drop(x %*% w)
#'   sum(y * eta - log1p(exp(eta))) - sum(w^2) / 50
#' }
#' slope <- function(w, x, y) {
#'   drop(crossprod(x, y - plogis(drop(x %*% w)))) - w / 25
#' }
#' fit <- mh_sample(log_posterior, c(intercept = 0, weight = 0), nuts(slope),
#'   x = cbind(1, mtcars$wt - 3), y = mtcars$am, draws = 500, burnin = 300,
#'   chains = 2, seed = 1
#' )
#' fit
#' @export
nuts <- function(gradient = NULL, mass = c("diagonal", "dense"),
                 max_depth = 10, target = 0.8, ...) {
  check_no_extra(...)
  new_proposal("nuts",
    gradient = check_gradient_function(gradient),
    mass = check_mass(mass, "nuts"),
    max_depth = check_count(max_depth, min = 1, max = 15),
    target = check_rate(target)
  )
}

#' @exportS3Method
move_traits.nuts <- function(move) {
  dynamics_traits(move, TRUE)
}

#' @exportS3Method
move_words.nuts <- function(move) {
  paste0("no-U-turn sampler, ", move$mass, " mass")
}

#' @exportS3Method
move_compile.nuts <- function(move, at) {
  c(compile_dynamics(move, TRUE), list(depth = as.double(move$max_depth)))
}

#' @exportS3Method
move_memory.nuts <- function(move, compiled, x, scale, factor = NULL) {
  dynamics_memory(compiled, scale, factor)
}

#' @exportS3Method
move_notes.nuts <- function(move, ...) dynamics_words(...)
