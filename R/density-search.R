# The search for the mode of a density given as an R function. Gradient and
# Hessian are given or computed by differences.

# A vector with the names that the columns of the fit will have.
check_density_init <- function(init, call) {
  init <- check_numeric_vector(init, arg = "init", call = call)
  if (is.null(names(init))) {
    names(init) <- indexed("theta", seq_along(init))
    return(structure(init, unnamed = TRUE))
  }
  names <- names(init)
  if (anyNA(names) || !all(nzchar(names)) || anyDuplicated(names) > 0) {
    abort_argument(
      c("The names of {.arg init} must be different and not empty.",
        i = "They name the parameters; an {.arg init} without any names is
             numbered."),
      call = call
    )
  }
  init
}

# The user's functions with their arguments: a plain list, so that it can be
# sent to other processes.
new_density <- function(log_density, gradient, hessian, names, arguments) {
  list(
    log_density = log_density, gradient = gradient, hessian = hessian,
    names = names, arguments = arguments
  )
}

# Evaluates one of the user's functions at the rows of `points`: a list of its
# values. `points` has the names of the parameters.
call_density <- function(density, what, points, call) {
  values <- vector("list", nrow(points))
  at <- 1L
  evaluate <- function() {
    for (i in seq_len(nrow(points))) {
      at <<- i
      value <- recorded(density$record, function() {
        do.call(density[[what]], c(list(points[i, ]), density$arguments))
      })
      # assigning list(value) keeps the list's length also for NULL
      values[i] <<- list(value)
    }
  }
  tryCatch(evaluate(), error = function(cnd) {
    point <- point_words(points[at, ])
    abort_numeric(
      "{.arg {what}} failed at {point}.",
      parent = cnd, call = call, class = "density"
    )
  })
  values
}

# The first value that is not `size` numbers is an error.
check_density_values <- function(values, size, what, points, call) {
  bad <- !vapply(values, is.numeric, NA) | lengths(values) != size
  if (any(bad)) {
    first <- which(bad)[[1L]]
    point <- point_words(points[first, ])
    given <- describe(values[[first]])
    wanted <- if (size == 1) "one number" else paste(size, "numbers")
    abort_numeric(
      "{.arg {what}} must return {wanted}: at {point} it is {given}.",
      call = call, class = "density"
    )
  }
}

as_points <- function(density, theta) {
  matrix(
    theta, ncol = length(density$names), dimnames = list(NULL, density$names)
  )
}

# log q at each row of `theta`: numbers or -Inf.
density_value <- function(density, theta, call) {
  points <- as_points(density, theta)
  values <- call_density(density, "log_density", points, call)
  check_density_values(values, 1, "log_density", points, call)
  values <- as.double(unlist(values))
  bad <- is.na(values) | values == Inf
  if (any(bad)) {
    first <- which(bad)[[1L]]
    point <- point_words(points[first, ])
    value <- values[[first]]
    abort_numeric(
      c("{.arg log_density} is {value} at {point}.",
        i = "It must be a number, or {.code -Inf} where the density is zero."),
      call = call, class = "density"
    )
  }
  remember_best(density$record, values, points)
  values
}

# Gradient (p) or Hessian (p x p), given or by differences along `axes`: the
# columns of a matrix, or units of the parameters.
density_derivative <- function(density, what, theta, axes, call) {
  p <- length(theta)
  by_differences <- is.null(density[[what]])
  if (by_differences) {
    value <- differences(density, what, theta, axes, call)
  } else {
    points <- as_points(density, theta)
    value <- call_density(density, what, points, call)
    size <- if (what == "gradient") p else p^2
    check_density_values(value, size, what, points, call)
    value <- as.double(value[[1L]])
  }
  if (!all(is.finite(value))) {
    abort_not_finite(density, what, theta, by_differences, call)
  }
  if (what == "hessian") matrix(value, p, p) else as.double(value)
}

abort_not_finite <- function(density, what, theta, by_differences, call) {
  point <- point_words(stats::setNames(theta, density$names))
  how <- if (by_differences) " by differences"
  abort_numeric(
    c("The {what} of {.arg log_density}{how} is not finite at {point}.",
      i = "Is this the edge of where the density is positive? Parameters
           without bounds, such as logarithms, have no edge."),
    call = call, class = c(if (by_differences) "edge", "density")
  )
}

# The Hessian is that of the gradient if this is given.
differences <- function(density, what, theta, axes, call) {
  value <- function(x) density_value(density, x, call)
  if (what == "gradient") {
    return(gradient_along(value, theta, axes))
  }
  at <- moved_along(theta, axes)
  one <- rep(1, length(theta))
  hessian <- if (is.null(density$gradient)) {
    # with many parameters fewer extrapolations: each takes 4 p^2 / 2 values
    few <- list(r = if (length(theta) > 30L) 2 else 4)
    numDeriv::hessian(function(z) value(at(z)), one, method.args = few)
  } else {
    numDeriv::jacobian(function(z) {
      given <- density_derivative(density, "gradient", at(z), axes, call)
      if (is.matrix(axes)) drop(crossprod(axes, given)) else axes * given
    }, one, method.args = list(r = 2))
  }
  slope_of_axes(t(slope_of_axes(hessian, axes)), axes)
}

# Central differences over d, d / 2, ... with Richardson's extrapolation, r of
# them for each coordinate. They are those of numDeriv::grad() to the bit, whose
# own work takes longer than most densities. side: NULL, or 1 or -1 for
# differences to one side, NA for both.
gradient_along <- function(f, x, axes, side = NULL, d = 1e-4, r = 4L) {
  at <- moved_along(x, axes)
  one <- rep(1, length(x))
  ahead <- if (is.null(side)) one else ifelse(is.na(side), 1, 1 + side)
  value <- function(j, step) {
    one[[j]] <- 1 + step
    f(at(one))
  }
  slope <- matrix(0, r, length(x))
  for (k in seq_len(r)) {
    h <- d / 2^(k - 1)
    for (j in seq_along(x)) {
      # where the density is level it stays 0
      level <- k > 1L && length(x) > 1L && isTRUE(abs(slope[k - 1L, j]) < 1e-20)
      if (!level) {
        slope[k, j] <- (value(j, ahead[[j]] * h) -
                          value(j, (ahead[[j]] - 2) * h)) / (2 * h)
      }
    }
  }
  for (m in seq_len(r - 1L)) {
    longer <- slope[-nrow(slope), , drop = FALSE]
    slope <- (slope[-1L, , drop = FALSE] * 4^m - longer) / (4^m - 1)
  }
  slope_of_axes(drop(slope), axes)
}

# numDeriv's steps are in proportion to the coordinate. Those of z are 1, and so
# the steps are a share of the axes, wherever x is.
moved_along <- function(x, axes) {
  if (is.matrix(axes)) {
    function(z) x + drop(axes %*% (z - 1))
  } else {
    function(z) x + axes * (z - 1)
  }
}

# The gradient, from that in z.
slope_of_axes <- function(slope, axes) {
  if (is.matrix(axes)) solve(t(axes), slope, tol = 0) else slope / axes
}

# For each parameter about a standard deviation, given the others.
units_at <- function(density, theta, call) {
  force(theta)
  reach(density_or_zero(density, call), theta)
}

# list(map, factor, value, iterations): the mode, L where L L' is the negative
# Hessian there, the log density, and the number of steps; of gradient ascent
# also `path`, with a row for each point, and `trace`, their log densities.
find_mode <- function(density, init, method, rho, call) {
  theta <- as.double(init)
  value <- density_value(density, theta, call)
  if (value == -Inf) {
    point <- point_words(init)
    abort_argument(
      c("{.arg init} must be a point of positive density: {.arg log_density} is
         -Inf at {point}."),
      call = call
    )
  }
  if (method == "gradient") {
    at <- ascend_by_gradient(density, theta, value, rho, call)
    return(c(polish_mode(density, at, call), at[c("path", "trace")]))
  }
  onwards <- function(cnd) {
    at <- climb_by_search(density, theta, call)
    if (is.null(at)) rlang::cnd_signal(cnd)
    polish_mode(density, at, call)
  }
  tryCatch(
    {
      at <- ascend_density(density, theta, value, call)
      polish_mode(density, at, call)
    },
    gibbsite_error_edge = onwards, gibbsite_error_indefinite = onwards
  )
}

# The search of mh_sample(), where the other one ends at no peak, as at an edge
# of the density. NULL if it finds none. As there, NaN and errors on the way are
# zero density.
climb_by_search <- function(density, theta, call) {
  height <- density_or_zero(density, call)
  seen <- count_evaluations(height, NULL, search_bound(length(theta)))
  found <- tryCatch(
    climb_to_mode(seen, theta, axes_of_reach(seen$at, theta)),
    gibbsite_search_bound = function(cnd) NULL
  )
  if (identical(found$ended, "found")) {
    list(
      theta = found$centre, value = found$top, iterations = 1L,
      axes = found$factor
    )
  }
}

# log q, where NaN and errors are zero density.
density_or_zero <- function(density, call) {
  function(x) {
    tryCatch(
      density_value(density, x, call),
      gibbsite_error_density = function(cnd) -Inf
    )
  }
}

# ---- gradient ascent

# theta <- theta + rho * gradient, until a step is below 1e-7 of theta:
# list(theta, value, iterations, trace, path).
ascend_by_gradient <- function(density, theta, value, rho, call, most = 10000) {
  unit <- units_at(density, theta, call)
  path <- list(theta)
  trace <- value
  for (step in seq_len(most)) {
    change <- tryCatch(
      rho * density_derivative(density, "gradient", theta, unit, call),
      gibbsite_error_density = function(cnd) {
        abort_rho(rho, step, "has no gradient", call, cnd)
      }
    )
    if (all(abs(change) <= 1e-7 * (1 + abs(theta)))) {
      check_arrived(density, theta, rho, step, call)
      return(list(
        theta = theta, value = value, iterations = step - 1L, trace = trace,
        path = matrix(unlist(path), ncol = length(theta), byrow = TRUE,
                      dimnames = list(NULL, density$names))
      ))
    }
    theta <- theta + change
    value <- tryCatch(
      density_value(density, theta, call),
      gibbsite_error_density = function(cnd) {
        abort_rho(rho, step, "left where the density is known", call, cnd)
      }
    )
    if (value < trace[[1L]] - 1e-10 * (1 + abs(trace[[1L]]))) {
      abort_rho(rho, step, "fell below the density of {.arg init}", call)
    }
    path[[step + 1L]] <- theta
    trace[[step + 1L]] <- value
  }
  fell <- trace[[most + 1L]] < trace[[most]]
  abort_rho(rho, most, "did not reach the mode", call, larger = !fell)
}

# Whether a step was short because the mode is near: it is within 0.05 standard
# deviations by the derivatives. Newton's method goes on from there.
check_arrived <- function(density, theta, rho, step, call) {
  near <- derivatives_at(density, list(theta = theta), call)
  if (sum(near$slope^2) > 0.05^2) {
    abort_rho(rho, step, "took steps too short to go on", call, larger = TRUE)
  }
}

abort_rho <- function(rho, step, what, call, parent = NULL, larger = FALSE) {
  better <- if (larger) "larger" else "smaller"
  step <- digits(step)
  abort_numeric(
    c(paste0("Gradient ascent with {.arg rho} = {format(rho)} ", what,
             ", in step {step}."),
      i = "Use a {better} {.arg rho}. It is stable below 2 / the largest
           eigenvalue of minus the Hessian.",
      i = "{.code method = \"BFGS\"} needs no {.arg rho}."),
    call = call, parent = parent, class = "rho"
  )
}

# nlminb(), in units of the density's width at `theta`, so that scales do not
# matter. From an edge of the density its differences may lead nowhere.
ascend_density <- function(density, theta, value, call) {
  p <- length(theta)
  unit <- units_at(density, theta, call)
  last <- theta
  at <- function(z) {
    if (!all(is.finite(z))) {
      abort_not_finite(density, "gradient", last, TRUE, call)
    }
    last <<- theta + unit * z
  }
  slope <- function(z) {
    -unit * density_derivative(density, "gradient", at(z), unit, call)
  }
  found <- stats::nlminb(
    # 1: tolerances are relative to the value
    numeric(p), function(z) 1 + value - density_value(density, at(z), call),
    if (!is.null(density$gradient)) slope,
    control = list(iter.max = 500 + 100 * p, eval.max = 1e5, rel.tol = 1e-12)
  )
  list(
    theta = at(found$par), value = 1 + value - found$objective,
    iterations = found$iterations
  )
}

# Newton's method with step halving from the point where a search stopped. A
# search ends when the density rises little, which may be a tenth of a standard
# deviation from the mode. at: list(theta, value, iterations, axes or NULL).
polish_mode <- function(density, at, call, most = 100) {
  for (iteration in seq_len(most)) {
    near <- derivatives_at(density, at, call)
    step <- backsolve(t(near$factor), near$slope)
    rise <- sum(near$slope^2) / 2
    if (rise < 1e-10) {
      at <- half_steps(density, at, step, call) %||% at
      check_derivatives(density, at, near$factor, call)
      check_plateau(density, at, near$factor, call)
      return(list(
        map = at$theta, factor = near$factor, value = at$value,
        iterations = at$iterations
      ))
    }
    next_at <- half_steps(density, at, step, call)
    if (is.null(next_at)) {
      break
    }
    at <- next_at
  }
  abort_no_maximum(density, at$theta, rise, call)
}

# list(factor, slope): L, where L L' is the negative Hessian, and L^-1 gradient,
# whose squared length is twice the rise to the peak of the parabola.
derivatives_at <- function(density, at, call) {
  axes <- at$axes %||% units_at(density, at$theta, call)
  gradient <- density_derivative(density, "gradient", at$theta, axes, call)
  hessian <- density_derivative(density, "hessian", at$theta, axes, call)
  factor <- factor_precision(-hessian)
  if (is.null(factor)) {
    abort_indefinite(density, at$theta, hessian, call)
  }
  list(factor = factor, slope = forwardsolve(factor, gradient))
}

# The first of the points at + step, at + step / 2, ... where the density is not
# lower than at `at`, or NULL. Equal values count, because near the mode a rise
# is lost in rounding.
half_steps <- function(density, at, step, call) {
  slack <- 1e-13 * (1 + abs(at$value))
  for (half in 0:40) {
    theta <- at$theta + step / 2^half
    value <- density_value(density, theta, call)
    if (value >= at$value - slack) {
      return(list(
        theta = theta, value = value, iterations = at$iterations + 1L,
        axes = at$axes
      ))
    }
  }
  NULL
}

# Checks whether the given derivatives are those of the density: along the axes
# of the ellipsoid of Sigma, in units of standard deviations, the first
# derivative must be 0 and the second -1. They are computed by differences over
# 0.02 standard deviations. Without a Hessian the second derivatives are those
# of the gradient.
check_derivatives <- function(density, at, factor, call) {
  if (is.null(density$gradient) && is.null(density$hessian)) {
    return(invisible())
  }
  size <- 0.02
  axes <- backsolve(t(factor), diag(length(at$theta)))
  # bound of the rounding error of the differences
  noise <- 4 * .Machine$double.eps * (1 + abs(at$value)) / size^2
  for (j in seq_len(ncol(axes))) {
    up <- density_value(density, at$theta + size * axes[, j], call)
    down <- density_value(density, at$theta - size * axes[, j], call)
    first <- (up - down) / (2 * size)
    second <- (up - 2 * at$value + down) / size^2
    wrong <- c(
      gradient = !is.null(density$gradient) && !(abs(first) < 0.05 + noise),
      hessian = !(abs(second + 1) < 0.1 + noise)
    )
    if (any(wrong)) {
      what <- if (is.null(density$hessian)) "gradient" else {
        names(wrong)[wrong][[1L]]
      }
      point <- point_words(stats::setNames(at$theta, density$names))
      abort_numeric(
        c("{.arg {what}} is not that of {.arg log_density} at {point}.",
          x = if (wrong[["gradient"]]) {
            "It is 0 there, but the density is not at its highest."
          } else {
            "Second differences of the log density are
             {format(-second, digits = 3)} times as large."
          },
          i = "Leave {.arg {what}} out to have it computed."),
        call = call, class = "derivative", point = at$theta
      )
    }
  }
}

# On a plateau the curvature is that of rounding: one standard deviation along
# an axis of Sigma the density is as high on one side, where a normal density is
# lower by 0.5. (Where a top is flat it falls by far more, which
# importance_check() says.)
check_plateau <- function(density, at, factor, call) {
  height <- density_or_zero(density, call)
  axes <- backsolve(t(factor), diag(length(at$theta)))
  for (j in seq_len(ncol(axes))) {
    sides <- at$value -
      c(height(at$theta + axes[, j]), height(at$theta - axes[, j]))
    fall <- sides[[which.min(abs(sides))]]
    if (abs(fall) < 0.01) {
      main <- which.max(abs(axes[, j]))
      point <- point_words(stats::setNames(at$theta, density$names))
      size <- format(abs(axes[[main, j]]), digits = 3)
      abort_numeric(
        c("{.arg log_density} is nearly flat at {point}, where the search ended:
           it may have no maximum.",
          x = "{size} of {.val {density$names[[main]]}} away it is as high. By
               its curvature there it would be lower by 0.5.",
          i = "Try another {.arg init}, or a proper prior."),
        call = call, class = "indefinite", point = at$theta
      )
    }
  }
}

# L, lower triangular, with L L' = precision (symmetrised); NULL when the
# precision is not positive definite to working precision.
factor_precision <- function(precision) {
  precision <- precision / 2 + t(precision) / 2
  scale <- diag(precision)
  if (!all(scale > 0)) {
    return(NULL)
  }
  # scaled to a unit diagonal, so that units do not matter
  root <- sqrt(scale)
  unit <- precision / outer(root, root)
  least <- min(eigen(unit, symmetric = TRUE, only.values = TRUE)$values)
  if (least <= 1e-10) {
    return(NULL)
  }
  t(chol(precision))
}

abort_indefinite <- function(density, theta, hessian, call) {
  point <- point_words(stats::setNames(theta, density$names))
  symmetric <- hessian / 2 + t(hessian) / 2
  parts <- eigen(symmetric, symmetric = TRUE)
  largest <- format(parts$values[[1L]], digits = 4)
  main <- density$names[[which.max(abs(parts$vectors[, 1L]))]]
  abort_numeric(
    c("The Hessian of {.arg log_density} is not negative definite at {point},
       where the search ended.",
      x = "Its largest eigenvalue is {largest}, mainly in the direction of
           {.val {main}}.",
      i = "There the density is flat, still rises or ends: it may have a ridge,
           a saddle, an edge or no maximum. Try another {.arg init}, other
           parameters, or a proper prior.",
      i = if (!is.null(density$gradient) || !is.null(density$hessian)) {
        "Or {.arg gradient} or {.arg hessian} is not that of
         {.arg log_density}."
      }),
    call = call, class = "indefinite", point = theta
  )
}

abort_no_maximum <- function(density, theta, rise, call) {
  point <- point_words(stats::setNames(theta, density$names))
  rise <- format(rise, digits = 3)
  abort_numeric(
    c("No maximum of {.arg log_density} was found: the search ended at
       {point}.",
      x = "By its derivatives there the log density would rise by {rise}.",
      i = "Is it smooth, and are {.arg gradient} and {.arg hessian} its
           derivatives?"),
    call = call, class = "no_maximum", point = theta
  )
}
