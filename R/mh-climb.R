# The climb to the mode of a log density: Newton's method in axes that it
# rescales as it goes. Derivatives are differences over about one standard
# deviation along these axes. So the units of the parameters do not matter, nor
# does a start thousands of standard deviations away.
#
# `seen`: the density as made by count_evaluations(), with seen$at(x) and the
# best point so far, seen$best.

# Newton's method from x; the columns of `axes` are directions of about one
# standard deviation. Most steps use the curvature along the axes alone (2 d
# evaluations). The whole Hessian (2 d^2) is computed first, last, and after a
# step that gained less than half of what was expected. `enough`: function of a
# point, TRUE where the climb need not go on.
climb_axes <- function(seen, x, axes, whole = TRUE,
                       enough = function(x) FALSE) {
  seen$best <- list(x = x, value = seen$at(x))
  climb <- list(axes = axes, whole = whole, vain = 0)
  while (is.null(climb$ended)) {
    climb <- if (enough(seen$best$x)) {
      list(ended = "enough")
    } else {
      climb_once(seen, climb)
    }
  }
  climb
}

# list(axes, whole, vain) for the next step, where `vain` counts steps with the
# whole Hessian that gained nothing; or how the climb ended.
climb_once <- function(seen, climb) {
  at <- seen$best
  look <- look_around(seen$at, at, climb$axes)
  whole <- climb$whole || expected_rise(look) < close_enough
  if (whole) look <- cross_axes(seen$at, at, look)
  rise <- expected_rise(look)
  # axes that have shrunk or grown without end
  if (!is.finite(rise) || !all(is.finite(look$axes))) {
    return(list(ended = "flat"))
  }
  if (rise >= close_enough || any(look$bend <= 0.1)) {
    step_up(seen$at, at, look)
  }
  gain <- seen$best$value - at$value
  if (whole && is_peak(look, gain)) {
    return(found_at(at, look))
  }
  vain <- if (whole && gain < close_enough) climb$vain + 1 else 0
  if (vain > 5) {
    return(list(ended = "flat"))
  }
  list(
    axes = look$axes, vain = vain,
    whole = gain < rise / 2 || any(look$bend < 0.1)
  )
}

# Whether there is a mode near the point of a look after which `gain` was
# gained. Differences see a skew peak's mean slope, and expect a rise there.
is_peak <- function(look, gain) {
  rise <- expected_rise(look)
  all(look$bend > 0.1) && (rise < close_enough || gain == 0 && rise < 0.5)
}

# A rise of the log density that needs no further step: that from a point 0.1
# standard deviations from the mode.
close_enough <- 0.005

expected_rise <- function(look) sum(look$slope^2) / 2

found_at <- function(at, look) {
  factor <- positive_diagonal(t(qr.R(qr(t(look$axes), tol = 0))))
  if (any(diag(factor) == 0)) {
    return(list(ended = "flat"))
  }
  list(ended = "found", centre = at$x, factor = factor, top = at$value)
}

# list(axes, slope, bend, curvature): the axes, the slope of the log density
# along each, and minus its second derivatives, in units of the axes
# (`curvature`) and of the axes before they were scaled by it (`bend`).
look_around <- function(f, at, axes) {
  d <- length(at$x)
  along <- vapply(seq_len(d), function(j) {
    look_along(f, at, axes[, j])
  }, numeric(3L))
  rescale(
    axes * rep(along[1L, ], each = d), along[2L, ], along[3L, ]
  )
}

# c(h, slope, bend): the step at which one_reach() ends, and differences over
# it. Steps that left the density, or over which it did not fall, do not count.
look_along <- function(f, at, axis) {
  last <- c(1, 0, 0)
  one_reach(function(h) {
    up <- f(at$x + h * axis)
    down <- f(at$x - h * axis)
    bend <- 2 * at$value - up - down
    if (is.finite(bend) && (h == 1 || bend > 1e-3)) {
      last <<- c(h, (up - down) / 2, bend)
    }
    bend / 2
  }, 1)
  last
}

# The look with the whole Hessian in place of its diagonal. Differences over
# four corners contain no even terms in each of two coordinates.
cross_axes <- function(f, at, look) {
  d <- length(look$slope)
  hessian <- diag(d)
  for (i in seq_len(d)[-1L]) {
    for (j in seq_len(i - 1L)) {
      sum <- look$axes[, i] + look$axes[, j]
      difference <- look$axes[, i] - look$axes[, j]
      mixed <- f(at$x + difference) + f(at$x - difference) -
        f(at$x + sum) - f(at$x - sum)
      if (is.finite(mixed)) hessian[i, j] <- hessian[j, i] <- mixed / 4
    }
  }
  diag(hessian) <- look$curvature
  parts <- eigen(hessian, symmetric = TRUE)
  rescale(
    look$axes %*% parts$vectors, drop(look$slope %*% parts$vectors),
    parts$values
  )
}

# A look whose axes have the curvature 1 or -1, except where the density is
# flat.
rescale <- function(axes, slope, bend) {
  flat <- abs(bend) < 1e-10
  size <- ifelse(flat, 1, sqrt(abs(bend)))
  list(
    axes = axes / rep(size, each = length(size)), slope = slope / size,
    bend = bend, curvature = bend / size^2
  )
}

# Goes up along Newton's step: twice as far while the density rises, or else a
# quarter as far until it does. Where the density is hardly curved the step may
# be far too long; a second one is shorter along these axes.
step_up <- function(f, at, look) {
  cautious <- pmin(1, abs(look$bend) / close_enough)
  for (size in unique(list(rep(1, length(cautious)), cautious))) {
    step <- drop(look$axes %*% (look$slope * size))
    value <- f(at$x + step)
    if (value > at$value) {
      go_on(f, at$x, step, value)
    } else {
      go_back(f, at, step)
    }
  }
}

go_on <- function(f, x, step, value) {
  for (twice in 1:60) {
    before <- value
    value <- f(x + 2^twice * step)
    if (value <= before) break
  }
}

go_back <- function(f, at, step) {
  for (quarter in 1:15) {
    if (f(at$x + step / 4^quarter) > at$value) break
  }
}

# The factor of the same covariance with a positive diagonal.
positive_diagonal <- function(factor) {
  factor * rep(sign(diag(factor)), each = nrow(factor))
}
