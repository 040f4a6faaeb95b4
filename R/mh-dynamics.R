# Hamiltonian dynamics as a proposal: which proposals use it, their words, and
# the lists that C reads. mh-hamiltonian.R makes them.

check_gradient_function <- function(gradient, null_ok = FALSE,
                                    call = rlang::caller_env()) {
  if (is.null(gradient) && null_ok) {
    return(NULL)
  }
  if (!is.function(gradient) || is_native_density(gradient)) {
    abort_expected(
      gradient, "a function of a point", null_ok, "gradient", call
    )
  }
  if (length(argument_list(gradient)) == 0L) {
    abort_argument(
      "{.arg gradient} must be a function of a point; it takes no argument.",
      call = call
    )
  }
  gradient
}

is_hamiltonian <- function(proposal) inherits(proposal, c("nuts", "hmc"))

has_hamiltonian <- function(plan) {
  any(vapply(plan, function(block) is_hamiltonian(block$proposal), NA))
}

all_hamiltonian <- function(plan) {
  all(vapply(plan, function(block) is_hamiltonian(block$proposal), NA))
}

# Whether a proposal's mass adapts in burn-in.
learns_mass <- function(proposal) {
  is_hamiltonian(proposal) && !isFALSE(proposal$tune)
}

format_hamiltonian <- function(x) {
  mass <- paste0(", ", x$mass, " mass")
  if (inherits(x, "nuts")) {
    return(paste0("no-U-turn sampler", mass))
  }
  paste0(
    cli::pluralize("Hamiltonian Monte Carlo, {x$n_steps} step{?s}"),
    if (!is.null(x$step)) paste(" of", format(x$step, digits = 4)),
    if (x$tune) paste0(mass, ", tuned in burn-in")
  )
}

# ---- The form for C ---------------------------------------------------------

compile_hamiltonian <- function(proposal) {
  list(
    target = proposal$target, tuned = as.integer(learns_mass(proposal)),
    dense = as.integer(proposal$mass == "dense"),
    depth = proposal$max_depth, steps = proposal$n_steps,
    jitter = proposal$jitter %||% 0
  )
}

# The block's part of a state. `scale`: of the density in each coordinate;
# `factor`: NULL, or that of its covariance, d * d numbers.
hamiltonian_memory <- function(proposal, compiled, scale, factor) {
  d <- compiled$d
  if (!learns_mass(proposal)) {
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
  step <- proposal$step %||% d^(-1 / 4)
  list(
    factor = start, mean = numeric(d), tuning = c(log(step), 0),
    counts = numeric(4L), spread = numeric(length(start)),
    averaging = numeric(5L), energies = numeric(7L)
  )
}
