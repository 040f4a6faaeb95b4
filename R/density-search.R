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

# ---- The climb to the mode ---------------------------------------------------

# The climb to the mode of a log density: stats::nlminb() along axes of about
# one standard deviation. The axes are first those of the parameters, later
# those of the peak.
#
# `seen`: the density as made by count_evaluations(), with seen$at(x) and the
# best point so far, seen$best.

# The most evaluations in d dimensions. The default burn-in of four chains has
# at least 2000 d evaluations, and 80 d^2.
search_bound <- function(d) 500 + 200 * d + 10 * d^2

# The density as seen$at(), which counts its evaluations, keeps the best point,
# and signals the condition "gibbsite_search_bound" instead of exceeding
# `bound`.
count_evaluations <- function(density, record, bound) {
  seen <- new.env(parent = emptyenv())
  seen$count <- 0
  # what begin_chains() sets
  say <- if (isTRUE(getOption("gibbsite.tell"))) now_and_then()
  seen$at <- function(x) {
    if (seen$count >= bound) {
      rlang::cnd_signal(rlang::error_cnd("gibbsite_search_bound"))
    }
    seen$count <- seen$count + 1
    if (!is.null(say)) {
      say(function(gone) {
        paste0("Search for the mode: ", format_number(seen$count),
               " evaluations of at most ", format_number(bound), ".")
      })
    }
    value <- recorded(record, function() density(x))
    # a point beyond the range of doubles
    if (is.nan(value)) value <- -Inf
    if (value > seen$best$value) seen$best <- list(x = x, value = value)
    value
  }
  seen$best <- list(x = NULL, value = -Inf)
  seen
}

# Rounds of nlminb() from x: first along the columns of `axes`, then in the axes
# of the normal density that has the curvature at the best point. The climb ends
# where a round in such axes gains nothing: at a peak with list(ended = "found",
# centre, factor, top), otherwise with list(ended = "flat").
climb_to_mode <- function(seen, x, axes) {
  seen$best <- list(x = x, value = seen$at(x))
  ascend(seen, axes)
  repeat {
    look <- look_around(seen, axes)
    if (is.null(look)) {
      return(list(ended = "flat"))
    }
    axes <- look$axes
    gain <- ascend(seen, axes)
    if (gain < close_enough && !(look$peak && look$rise < 0.5)) {
      gain <- roam(seen)
      if (gain >= close_enough) axes <- axes_of_reach(seen$at, seen$best$x)
    }
    if (gain < close_enough) {
      best <- seen$best
      return(if (look$peak) {
        list(ended = "found", centre = best$x, factor = axes, top = best$value)
      } else {
        list(ended = "flat")
      })
    }
  }
}

# The climb ends if a round would gain less than this in the log density: the
# gain from a point 0.1 standard deviations from the mode.
close_enough <- 0.005

axes_of_reach <- function(density, x) diag(reach(density, x), length(x))

# One round from the best point, in units of `axes`: how much the log density
# gained. Rounds are short, because better axes help more than more iterations.
ascend <- function(seen, axes) {
  at <- seen$best
  d <- length(at$x)
  # 1: tolerances are relative to the value
  stats::nlminb(
    numeric(d), function(z) 1 + at$value - seen$at(at$x + drop(axes %*% z)),
    control = list(iter.max = 20 + d, eval.max = 1000, rel.tol = 1e-6)
  )
  seen$best$value - at$value
}

# The same by Nelder and Mead's method, where the density has no derivatives.
# The size of its simplex in each coordinate is the larger reach of both sides.
roam <- function(seen) {
  at <- seen$best
  d <- length(at$x)
  wide <- reach(seen$at, at$x, average = max)
  # the first simplex of optim() has the size 0.1
  suppressWarnings(stats::optim(
    numeric(d), function(z) at$value - seen$at(at$x + 10 * wide * z),
    control = list(maxit = 50 * (1 + d), reltol = 0, abstol = -Inf)
  ))
  seen$best$value - at$value
}

# The log density at both ends of each axis. Where the density is zero at one
# end, the value of the other end is used for both, so that a peak may lie on
# the edge of the support.
ends_of_axes <- function(f, x, axes) {
  apply(axes, 2L, function(axis) {
    ends <- c(f(x + axis), f(x - axis))
    ifelse(ends == -Inf, max(ends), ends)
  })
}

# list(axes, peak, rise): the axes in which the curvature at the best point is
# that of a standard normal density; whether the density falls along all of them
# as from a peak; and the rise that is expected from the slopes. NULL where
# there is no curvature.
look_around <- function(seen, axes) {
  at <- seen$best
  d <- length(at$x)
  # where the density is zero, the value of the opposite point is used, as in
  # ends_of_axes()
  density <- function(z) {
    step <- drop(axes %*% z)
    value <- seen$at(at$x + step)
    if (value == -Inf) seen$at(at$x - step) else value
  }
  scale <- reach(density, numeric(d), 1)
  factor <- curvature_factor(density, numeric(d), seq_len(d), scale, 1e-6)
  axes <- axes %*% matrix(factor, d)
  if (!all(is.finite(axes)) || any(diag(axes) == 0)) {
    return(NULL)
  }
  ends <- ends_of_axes(seen$at, at$x, axes)
  fall <- at$value - colMeans(ends)
  slope <- (ends[1L, ] - ends[2L, ]) / 2
  list(
    axes = axes, peak = all(fall > 0.05 & fall < 5), rise = sum(slope^2) / 2
  )
}

# ---- Scales and curvature of a log density -----------------------------------

# They are the starting values of proposals.

# For each coordinate the distance at which the log density has fallen by 1/2,
# on the average of both sides (or another `average`): one standard deviation
# of a normal density. It is bracketed by doubling and halving from `start`, and
# then computed from a parabola.
reach <- function(density, x, start = pmax(abs(x), 1) / 10,
                  average = function(up, down) (up + down) / 2) {
  top <- density(x)
  start <- rep_len(start, length(x))
  vapply(seq_along(x), function(j) {
    fall <- function(h) {
      step <- replace(numeric(length(x)), j, h)
      top - average(density(x + step), density(x - step))
    }
    one_reach(fall, start[[j]])
  }, 0)
}

one_reach <- function(fall, start) {
  h <- start
  drop <- fall(h)
  for (i in 1:60) {
    if (isTRUE(drop > 1)) {
      h <- h / 2
    } else if (!isTRUE(drop > 0.1)) {
      if (h > 1e10 * start) {
        return(start)
      }
      h <- h * 2
    } else {
      return(h / sqrt(2 * drop))
    }
    before <- drop
    drop <- fall(h)
    if (is_edge(before, drop)) {
      return(h)
    }
  }
  h
}

# Whether a step leads from a flat part to zero density, or back: the density
# has an edge in between.
is_edge <- function(before, drop) {
  flat <- function(fall) !isTRUE(fall > 0.1)
  zero <- function(fall) isTRUE(fall > 1)
  flat(before) && zero(drop) || zero(before) && flat(drop)
}

# Lower Cholesky factor of the covariance of the normal density that has the
# curvature of `density` around x in the coordinates `index`, d * d numbers.
# The curvature is computed from differences over one `scale` (from reach()) in
# pairs of coordinates, in which cubic terms cancel. Its eigenvectors are the
# axes of the normal density; the scale along each axis is then found by reach()
# again.
curvature_factor <- function(density, x, index, scale, least = 0.01) {
  unit <- scale[index]
  d <- length(index)
  at <- function(z) density(replace(x, index, x[index] + unit * z))
  top <- at(numeric(d))
  fall <- function(z) top - (at(z) + at(-z)) / 2
  axis <- function(j) replace(numeric(d), j, 1)
  alone <- vapply(seq_len(d), function(j) fall(axis(j)), 0)
  curvature <- diag(d)
  for (i in seq_len(d)[-1L]) {
    for (j in seq_len(i - 1L)) {
      joint <- fall(axis(i) + axis(j)) - alone[[i]] - alone[[j]]
      if (is.finite(joint) && abs(joint) > least) {
        curvature[i, j] <- joint
      }
    }
  }
  if (all(curvature == diag(d))) {
    return(diag_vector(unit))
  }
  axes <- eigen(curvature, symmetric = TRUE)
  far <- vapply(seq_len(d), function(k) {
    one_reach(
      function(h) fall(h * axes$vectors[, k]),
      1 / sqrt(max(axes$values[[k]], 1e-4))
    )
  }, 0)
  far <- pmax(far, 1e-5 * max(far))
  spread <- axes$vectors %*% (far^2 * t(axes$vectors))
  as.double(unit * t(chol(spread)))
}

# ---- The values that a search has seen ---------------------------------------

# An interrupted search goes on with these values and does not call the density
# again.
new_record <- function(search) {
  record <- new.env(parent = emptyenv())
  record$at <- 0L
  # by their numbers: a list would be copied with each value
  record$values <- list2env(stats::setNames(
    as.list(search$values), as.character(seq_along(search$values))
  ), new.env(parent = emptyenv()))
  record$known <- length(search$values)
  record$seed <- search$seed
  record$best <- search$best
  record
}

# The stored value of the user's function at this step of the search, or
# otherwise the value of `evaluate`. `known` is set last, so that a value that
# was not stored completely is computed again.
recorded <- function(record, evaluate) {
  if (is.null(record)) {
    return(evaluate())
  }
  at <- record$at <- record$at + 1L
  if (at <= record$known) {
    if (at == record$known) set_generator_seed(record$seed)
    return(record$values[[as.character(at)]])
  }
  value <- evaluate()
  assign(as.character(at), value, record$values)
  suspendInterrupts({
    record$seed <- generator_seed()
    record$known <- at
  })
  value
}

recorded_search <- function(record) {
  list(
    values = unname(mget(
      as.character(seq_len(record$known)), envir = record$values
    )), seed = record$seed,
    best = record$best
  )
}

remember_best <- function(record, values, points) {
  top <- which.max(values)
  if (!is.null(record) && values[[top]] > max(record$best$value, -Inf)) {
    record$best <- list(value = values[[top]], theta = points[top, ])
  }
}
