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
  seen$at <- function(x) {
    if (seen$count >= bound) {
      rlang::cnd_signal(rlang::error_cnd("gibbsite_search_bound"))
    }
    seen$count <- seen$count + 1
    value <- recorded(record, function() density(x))
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
      return(if (look$peak) found_at(seen$best, axes) else list(ended = "flat"))
    }
  }
}

# The climb ends if a round would gain less than this in the log density: the
# gain from a point 0.1 standard deviations from the mode.
close_enough <- 0.005

found_at <- function(best, axes) {
  list(ended = "found", centre = best$x, factor = axes, top = best$value)
}

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
