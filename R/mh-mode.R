# The covariance at the mode, for proposals with `cov = "laplace"`.

# The model after a search, and a function of a block's index: inverse of the
# negative Hessian of the working log density at its mode. The state of the
# user's generator is restored.
mode_covariance <- function(model, call) {
  saved <- save_generator()
  on.exit(restore_generator(saved))
  if (is_searched(model)) model$search <- find_region(model)
  mode <- mode_factor(model, call)
  if (!is.null(model$search)) {
    model$search$evaluations <- model$search$evaluations + mode$evaluations
  }
  list(model = model, at = function(index) {
    block <- conditional_factor(mode$factor, index)
    tcrossprod(matrix(block, length(index)))
  })
}

# list(factor, evaluations): L, where L L' is the inverse of the negative
# Hessian. Uses laplace()'s search, in the axes of the region that was found, or
# in units of the reach of each coordinate, so that scales do not matter.
mode_factor <- function(model, call) {
  density <- working_density(model)
  start <- to_working(model$spec, model$init)
  if (!(density(start) > -Inf)) {
    abort_zero_density(model, model$init, "init", call)
  }
  region <- found_region(model)
  seen <- count_evaluations(density, NULL, Inf)
  axes <- if (is.null(region)) {
    diag(reach(seen$at, start), length(start))
  } else {
    start <- region$centre
    matrix(region$factor_of(seq_along(start)), length(start))
  }
  found <- mode_in_axes(seen, start, axes, model$parameters, call)
  root <- t(chol(chol2inv(t(found$factor))))
  list(factor = axes %*% root, evaluations = seen$count)
}

mode_in_axes <- function(seen, start, axes, names, call) {
  scaled <- new_density(
    function(z) seen$at(start + drop(axes %*% z)), NULL, NULL, names, list()
  )
  tryCatch(
    find_mode(scaled, numeric(length(start)), "BFGS", call),
    gibbsite_error_indefinite = function(cnd) abort_flat_mode(call),
    gibbsite_error_no_maximum = function(cnd) abort_no_mode(call),
    gibbsite_error_density = function(cnd) {
      # its points are in units of the axes; an error of the user's function is
      # passed on
      if (is.null(cnd$parent)) abort_no_mode(call)
      rlang::cnd_signal(cnd$parent)
    }
  )
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
