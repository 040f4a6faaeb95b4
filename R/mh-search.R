# The search for the region of high density, from which the chains of
# mh_sample() start. It is made once for a fit, before the chains.
#
# It climbs the log density by Newton's method in axes that it rescales as it
# goes. Derivatives are differences over about one standard deviation along
# these axes. So the units of the parameters do not matter, nor does a start
# thousands of standard deviations away. Bounded coordinates are searched on the
# whole line, also without `transform = TRUE`: a mode on a bound is inside there.
#
# The result is list(evaluations, ended), where `ended` says how the search
# ended. If it is "found", there are also `centre`, `factor` (lower triangular,
# L L' = the covariance that the curvature at the centre gives) and `top`, the
# log density at the centre, all on the scale of the search (search_scale()).

# Words for each other end.
search_ends <- c(
  bound = "no mode was reached", random = "the density is random",
  flat = "the density has no peak", several = "there are several modes",
  narrow = "the mode has little mass", zero = "the density is zero"
)

# The most evaluations in d dimensions. The default burn-in of four chains has
# at least 2000 d evaluations, and 80 d^2.
search_bound <- function(d) 500 + 100 * d + 10 * d^2

# The Hessian takes 2 d^2 evaluations: too many if no proposal needs a
# covariance.
searches <- function(model) {
  proposals <- lapply(model$plan, `[[`, "proposal")
  learns <- any(vapply(proposals, needs_covariance, NA))
  model$spec$d <= (if (learns) 500 else 100)
}

# The search, with a separate stream, because a density may draw random numbers.
# An interrupted search is made again later, with the values known by then.
#' @exportS3Method
model_prepare.mh_model <- function(model, running, call) {
  search <- model$search
  if (!is.null(running$inits) || !is.null(search$ended) || !searches(model)) {
    return(model)
  }
  if (is.null(search$stream)) {
    search$stream <- spare_stream(running$seed, running$chains, 6L, call)
  }
  record <- new_record(search)
  found <- cut_short(allowInterrupts(with_stream(
    search$stream, find_region(model, record), call
  )))
  if (is.null(found)) {
    model$search <- c(search["stream"], recorded_search(record))
    class(model) <- union(class(model), "unfinished_model")
    return(model)
  }
  model$search <- found$value
  class(model) <- setdiff(class(model), "unfinished_model")
  model
}

find_region <- function(model, record = NULL) {
  model$spec <- search_scale(model)
  start <- to_working(model$spec, model$init)
  seen <- count_evaluations(
    working_density(model), record, search_bound(length(start))
  )
  found <- tryCatch(
    search_from(seen, start),
    gibbsite_search_bound = function(cnd) list(ended = "bound")
  )
  c(list(evaluations = seen$count), found)
}

# The spec of the model with a map for each bounded coordinate, unless init is on
# its bound.
search_scale <- function(model) {
  spec <- model$spec
  if (!is.null(spec$map) || is.null(spec$lower)) {
    return(spec)
  }
  inside <- model$init > spec$lower & model$init < spec$upper
  spec$map <- inside * (is.finite(spec$lower) + 2L * is.finite(spec$upper))
  spec
}

# ---- Where chains start -----------------------------------------------------

# The region that was found, on the working scale, or NULL:
#
#   centre     its centre
#   mean       where the mean of an adaptive proposal begins (NULL: at the start)
#   scale      of each coordinate given the others
#   place      function of d normal variates that gives a point of the region
#   depth      how far below the centre the log density of a start may be
#   factor_of  function of a block's index: its covariance's factor given the
#              other coordinates, d * d numbers
found_region <- function(model) {
  found <- model$search
  if (!identical(found$ended, "found")) {
    return(NULL)
  }
  spec <- search_scale(model)
  to <- function(x) to_working(model$spec, from_working(spec, x))
  moved <- is.null(model$spec$map) && !is.null(spec$map)
  factor <- found$factor * if (moved) map_slope(spec, found$centre) else 1
  centre <- to(found$centre)
  list(
    centre = centre, mean = centre, scale = conditional_scale(factor),
    place = function(z) to(found$centre + drop(found$factor %*% z)),
    # twice the spread of a normal density goes no deeper
    depth = 50 + 10 * length(centre),
    factor_of = function(index) conditional_factor(factor, index)
  )
}

# The region around a point, without a search. `look`: whether scales are needed.
region_around <- function(model, centre, look) {
  density <- working_density(model)
  scale <- if (look) reach(density, centre) else rep(1, length(centre))
  list(
    centre = centre, scale = scale, place = function(z) centre + scale * z,
    depth = Inf, factor_of = function(index) {
      curvature_factor(density, centre, index, scale)
    }
  )
}

# Standard deviations of the coordinates given all others, from the factor of
# the covariance.
conditional_scale <- function(factor) {
  1 / sqrt(colSums(forwardsolve(factor, diag(nrow(factor)))^2))
}

# Factor of the covariance of the coordinates `index` given the others.
conditional_factor <- function(factor, index) {
  if (identical(as.integer(index), seq_len(nrow(factor)))) {
    return(as.double(factor))
  }
  inverse <- forwardsolve(factor, diag(nrow(factor)))[, index, drop = FALSE]
  as.double(t(chol(chol2inv(qr.R(qr(inverse, tol = 0))))))
}

search_words <- function(search) {
  if (is.null(search$ended)) {
    return(NULL)
  }
  count <- format(search$evaluations, big.mark = ",", scientific = FALSE)
  paste0(
    "Search for the mode: ", count, " evaluations",
    if (search$ended != "found") {
      paste0("; ", search_ends[[search$ended]], ", so chains start around `init`")
    }, "."
  )
}

# ---- The search -------------------------------------------------------------

# The density as seen$at(), which counts its evaluations, keeps the best point,
# and signals the condition "gibbsite_search_bound" instead of exceeding `bound`.
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

search_from <- function(seen, start) {
  top <- seen$at(start)
  if (top == -Inf) {
    return(list(ended = "zero"))
  }
  if (seen$at(start) != top) {
    return(list(ended = "random"))
  }
  unit <- reach(seen$at, start)
  found <- climb_density(seen, start, diag(unit, length(unit)))
  if (found$ended != "found") {
    return(found)
  }
  if (seen$at(found$centre) != found$top) {
    return(list(ended = "random"))
  }
  # the log masses of the normal densities there; at the start it is that of
  # independent coordinates, which is less
  if (found$top + sum(log(diag(found$factor))) < top + sum(log(unit))) {
    return(list(ended = "narrow"))
  }
  another <- tryCatch(
    has_another_mode(seen, start, unit, found),
    gibbsite_search_bound = function(cnd) FALSE
  )
  if (another) list(ended = "several") else found
}

# ---- The climb --------------------------------------------------------------

# Newton's method from x; the columns of `axes` are directions of about one
# standard deviation. Most steps use the curvature along the axes alone (2 d
# evaluations). The whole Hessian (2 d^2) is computed first, last, and after a
# step that gained less than half of what was expected. `enough`: function of a
# point, TRUE where the climb need not go on.
climb_density <- function(seen, x, axes, whole = TRUE,
                          enough = function(x) FALSE) {
  seen$best <- list(x = x, value = seen$at(x))
  vain <- 0
  repeat {
    at <- seen$best
    if (enough(at$x)) {
      return(list(ended = "enough"))
    }
    look <- look_around(seen$at, at, axes)
    whole <- whole || expected_rise(look) < close_enough
    if (whole) look <- cross_axes(seen$at, at, look)
    rise <- expected_rise(look)
    peaked <- whole && all(look$bend > 0.1)
    if (peaked && rise < close_enough) {
      return(found_at(at, look))
    }
    step_up(seen$at, at, look)
    gain <- seen$best$value - at$value
    if (peaked && gain == 0 && rise < 0.5) {
      return(found_at(at, look))
    }
    vain <- if (whole && gain < close_enough) vain + 1 else 0
    if (vain > 5) {
      return(list(ended = "flat"))
    }
    whole <- gain < rise / 2 || any(look$bend < 0.1)
    axes <- look$axes
  }
}

# A rise of the log density that needs no further step: that from a point 0.2
# standard deviations from the mode.
close_enough <- 0.02

expected_rise <- function(look) sum(look$slope^2) / 2

found_at <- function(at, look) {
  root <- qr.R(qr(t(look$axes), tol = 0))
  list(
    ended = "found", centre = at$x,
    factor = t(root * sign(diag(root))), top = at$value
  )
}

# list(axes, slope, bend): axes of unit curvature, the slope of the log density
# along each, and `bend`, minus the second derivatives from which the axes were
# scaled, in units of the step of the differences.
look_around <- function(f, at, axes) {
  d <- length(at$x)
  along <- vapply(seq_len(d), function(j) {
    look_along(f, at, axes[, j])
  }, numeric(3L))
  rescale(
    axes * rep(along[1L, ], each = d), along[2L, ], along[3L, ]
  )
}

# c(h, slope, bend): the last step of one_reach() at which both values were
# finite, and differences over it.
look_along <- function(f, at, axis) {
  last <- c(1, 0, 0)
  one_reach(function(h) {
    up <- f(at$x + h * axis)
    down <- f(at$x - h * axis)
    if (is.finite(up) && is.finite(down)) {
      last <<- c(h, (up - down) / 2, 2 * at$value - up - down)
    }
    at$value - (up + down) / 2
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
  diag(hessian) <- look$bend / pmax(abs(look$bend), least_bend)
  parts <- eigen(hessian, symmetric = TRUE)
  rescale(
    look$axes %*% parts$vectors, drop(look$slope %*% parts$vectors),
    parts$values
  )
}

# A look in which the curvature is 1 along all axes, or -1, except where the
# density is flat.
rescale <- function(axes, slope, bend) {
  size <- sqrt(pmax(abs(bend), least_bend))
  list(
    axes = axes / rep(size, each = length(size)), slope = slope / size,
    bend = bend
  )
}

least_bend <- 1e-10

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

# ---- Other modes ------------------------------------------------------------

# Whether a climb from a point far from the start ends at another mode. It is
# made if the density around the start is much wider than around the mode.
has_another_mode <- function(seen, start, unit, found) {
  if (all(unit < 3 * conditional_scale(found$factor))) {
    return(FALSE)
  }
  same <- function(x) {
    sum(forwardsolve(found$factor, x - found$centre)^2) < 16 * length(x)
  }
  ends <- vapply(c(-2, 2), function(side) {
    x <- start + side * unit
    if (seen$at(x) == -Inf) {
      return("zero")
    }
    climb_density(seen, x, found$factor, FALSE, same)$ended
  }, "")
  "found" %in% ends
}
