# The search for the region of high density, from which the chains of
# mh_sample() start. It is made once for a fit, before the chains.
#
# It climbs the log density (density-search.R). Bounded coordinates are searched on
# the whole line, also without `transform = TRUE`: a mode on a bound is an inner
# point there.
#
# The result is list(evaluations, ended, centre, factor, top) on the scale of
# the search (search_scale()): how the search ended, its best point and, where
# this is a peak, a factor (lower triangular, L L' = the covariance that the
# curvature gives) and the log density there.

# Messages for searches that found no mode.
search_ends <- c(
  bound = "none was reached", random = "the density is random",
  flat = "the density has no peak", several = "there are several",
  narrow = "it has little mass", zero = "the density is zero"
)

# Whether a search is made. The Hessian takes 2 d^2 evaluations. This is too
# many if no proposal needs a covariance. With Hamiltonian dynamics and a large
# d it is more than the chains take.
is_searched <- function(model) {
  if (all(plan_traits(model$plan, "dynamics"))) {
    return(length(model$init) <= 30)
  }
  needed <- plan_traits(model$plan, "covariance") |
    plan_traits(model$plan, "mode")
  length(model$init) <= (if (any(needed)) 500 else 100)
}

#' @exportS3Method
model_prepare.mh_model <- function(model, running, call) {
  class(model) <- setdiff(class(model), "unfinished_model")
  model <- with_region(model, running, call)
  if (inherits(model, "unfinished_model") || !lacks_unit(model)) {
    return(model)
  }
  unit <- cut_short(allowInterrupts(difference_unit(model)))
  if (is.null(unit)) {
    return(unfinished(model))
  }
  model$search$unit <- unit
  model
}

# The search, with a separate stream, because a density may draw random numbers.
# An interrupted search is made again later, with the values known by then.
with_region <- function(model, running, call) {
  search <- model$search
  done <- !is.null(search$ended)
  if (done || !is.null(running$inits) || !is_searched(model)) {
    return(model)
  }
  if (is.null(search$stream)) {
    search$stream <- spare_stream(
      running$seed, running$chains, "mh_search", call
    )
  }
  record <- new_record(search)
  found <- cut_short(allowInterrupts(with_stream(
    search$stream, find_region(model, record), call
  )))
  if (is.null(found)) {
    model$search <- c(search["stream"], recorded_search(record))
    return(unfinished(model))
  }
  model$search <- found$value
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
  found$centre <- found$centre %||% seen$best$x
  c(list(evaluations = seen$count), found)
}

# The spec of the model with a map for each bounded coordinate, unless init is
# on its bound.
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
#   mean       where the mean of an adaptive proposal begins (NULL: at a start)
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
  factor <- factor_of_search(model)
  centre <- to(found$centre)
  list(
    centre = centre, mean = centre, scale = conditional_scale(factor),
    place = function(z) to(found$centre + drop(found$factor %*% z)),
    depth = depth_of_starts(centre),
    factor_of = function(index) conditional_factor(factor, index)
  )
}

lacks_unit <- function(model) {
  identical(model$gradient, "differences") && is.null(model$search$unit)
}

# The distances over which a gradient's differences are taken: about a standard
# deviation of each parameter given the others, where the search ended.
difference_unit <- function(model) {
  saved <- save_generator()
  on.exit(restore_generator(saved))
  centre <- model$search$centre
  at <- if (is.null(centre)) {
    model$init
  } else {
    from_working(search_scale(model), centre)
  }
  reach(point_density(model), as.double(at))
}

# The factor of a search on the working scale.
factor_of_search <- function(model) {
  spec <- search_scale(model)
  moved <- is.null(model$spec$map) && !is.null(spec$map)
  slope <- if (moved) map_slope(spec, model$search$centre) else 1
  positive_diagonal(slope * model$search$factor)
}

# The factor of the same covariance with a positive diagonal.
positive_diagonal <- function(factor) {
  factor * rep(sign(diag(factor)), each = nrow(factor))
}

# A start may lie this far below the centre's log density. Draws of a normal
# density with twice the standard deviation do not lie deeper.
depth_of_starts <- function(x) 50 + 10 * length(x)

# The region around a point, without a search. `look`: whether scales are
# needed.
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
      paste0("; none used: ", search_ends[[search$ended]])
    }, "."
  )
}

# ---- The search -------------------------------------------------------------

search_from <- function(seen, start) {
  top <- seen$at(start)
  if (top == -Inf) {
    return(list(ended = "zero"))
  }
  if (seen$at(start) != top) {
    return(list(ended = "random"))
  }
  unit <- reach(seen$at, start)
  found <- climb_to_mode(seen, start, diag(unit, length(unit)))
  if (found$ended != "found") {
    return(found)
  }
  if (seen$at(found$centre) != found$top) {
    return(list(ended = "random"))
  }
  if (log_mass(found) < top + sum(log(unit)) - length(start)) {
    found$ended <- "narrow"
    return(found)
  }
  if (!is.null(another_mode(seen, start, found))) found$ended <- "several"
  found
}

# The log mass of the normal density with the height and curvature found, up to
# a constant. Chains do not start at a peak with less mass than there is around
# the start, such as the neck of a funnel. (The mass at the start is computed
# for independent coordinates, which makes it smaller. Half a unit for each
# coordinate allows for the error of the normal densities.)
log_mass <- function(found) found$top + sum(log(diag(found$factor)))

# ---- Other modes ------------------------------------------------------------

# The end of a climb from the other side of the start, if it is another mode;
# otherwise NULL. The climb is made if the start is far from the mode, but not
# too deep below it: a start in a region of very low density is no reason to
# expect a second mode.
another_mode <- function(seen, start, found) {
  # in standard deviations for each coordinate
  far <- function(x, by) {
    sum(forwardsolve(found$factor, x - found$centre)^2) > by^2 * length(x)
  }
  look <- function() {
    if (!far(start, 2) || seen$at(start) < found$top - depth_of_starts(start)) {
      return(NULL)
    }
    for (half in 0:4) {
      x <- start - (found$centre - start) / 2^half
      if (seen$at(x) > -Inf) {
        end <- climb_to_mode(seen, x, found$factor)
        return(if (end$ended == "found" && far(end$centre, 4)) end)
      }
    }
  }
  tryCatch(look(), gibbsite_search_bound = function(cnd) NULL)
}

# ---- The covariance at the mode ----------------------------------------------

# For proposals with `cov = "laplace"`: the model after a search, and a function
# of a block's index: inverse of the negative Hessian of the working log density
# at its mode. The state of the user's generator is restored.
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
  d <- length(start)
  scaled <- new_density(
    function(z) seen$at(start + drop(axes %*% z)), NULL, NULL,
    model$parameters, list()
  )
  at <- list(
    theta = numeric(d), value = seen$at(start), iterations = 0L,
    axes = rep(1, d)
  )
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
