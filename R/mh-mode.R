# The covariance at the mode, for proposals with `cov = "laplace"`.

# The model after a search, and a function of a block's index: inverse of the
# negative Hessian of the working log density at its mode. The state of the
# user's generator is restored.
mode_covariance <- function(model, call) {
  saved <- save_generator()
  on.exit(restore_generator(saved))
  model$search <- find_region(model)
  if (identical(model$search$ended, "zero")) {
    abort_zero_density(model, model$init, "init", call)
  }
  mode <- mode_factor(model, call)
  model$search$evaluations <- model$search$evaluations + mode$evaluations
  list(model = model, at = function(index) {
    block <- conditional_factor(mode$factor, index)
    tcrossprod(matrix(block, length(index)))
  })
}

# list(factor, evaluations): L, where L L' is the inverse of the negative
# Hessian. Newton's method of laplace() starts where the search ended, along
# the axes of its peak or in units of the reach of each coordinate, so that
# scales do not matter.
mode_factor <- function(model, call) {
  search <- model$search
  seen <- count_evaluations(working_density(model), NULL, Inf)
  start <- to_working(
    model$spec, from_working(search_scale(model), search$centre)
  )
  axes <- if (is.null(search$factor)) {
    axes_of_reach(seen$at, start)
  } else {
    factor_of_search(model)
  }
  # centred at 1, because numDeriv's steps are proportional to the coordinate
  scaled <- new_density(
    function(z) seen$at(start + drop(axes %*% (z - 1))), NULL, NULL,
    model$parameters, list()
  )
  at <- list(theta = rep(1, length(start)), value = seen$at(start))
  found <- tryCatch(
    polish_mode(scaled, at, call),
    gibbsite_error_indefinite = function(cnd) abort_flat_mode(call),
    gibbsite_error_no_maximum = function(cnd) abort_no_mode(call),
    # not passed on: it shows points in units of the axes
    gibbsite_error_density = function(cnd) abort_no_mode(call)
  )
  root <- t(chol(chol2inv(t(found$factor))))
  list(factor = axes %*% root, evaluations = seen$count)
}

abort_flat_mode <- function(call) {
  abort_numeric(
    c("`cov = \"laplace\"`: the Hessian of the log density at its mode is not
       negative definite.",
      i = "Use {.code adaptive()}, or give `cov` as a matrix."),
    call = call, class = "laplace"
  )
}

abort_no_mode <- function(call) {
  abort_numeric(
    c("`cov = \"laplace\"`: no mode of the log density was found from
       `init`.",
      i = "Start nearer to it, or use {.code adaptive()}."),
    call = call, class = "laplace"
  )
}
