# The scales and the curvature of a log density: the starting values of
# proposals.

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

# The starting factor for move_memory(): NULL unless adaptive() is to find it.
factor_to_begin_with <- function(proposal, density, x, index, scale) {
  if (any_trait(proposal, "covariance")) {
    curvature_factor(density, x, index, scale)
  }
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
