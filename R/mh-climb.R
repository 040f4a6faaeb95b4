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
