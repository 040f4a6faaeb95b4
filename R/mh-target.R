# Whether the function given to mh_sample() can be a log density. It is
# evaluated at some points far from the draws, and its values at the draws are
# compared.
#
# A doubt is list(kind, words):
#
#   improper  the density cannot be integrated; no chain converges
#   scale     its values look like densities, not like their logarithms
#   peak      no peak was found, and it rises with a parameter
#   pole      it is unbounded at a point, but may be integrable
#   steps     it is constant between jumps, and the proposal is continuous
#   unused    an argument of the function is not used
#   edge      it becomes zero at a bound that was not given
#   bound     chains seldom come near a bound
#   left      no draw is near the mode that the search found
#   whole     it is positive at whole numbers alone

#' @exportS3Method
model_doubts.mh_model <- function(model, draws, converged) {
  f <- point_density(model)
  if (is.null(draws)) {
    # trajectories in a density without a peak take long
    lost <- if (is.null(model$search$ended)) {
      plan_has(model$plan, "dynamics")
    } else {
      has_no_peak(model)
    }
    return(if (lost) doubts_before(model, f))
  }
  whole <- if (converged) {
    doubts_of_levels(model, f, draws)
  } else {
    doubts_after(model, f, draws)
  }
  c(
    whole, doubts_of_steps(model, f, draws), doubts_of_gaps(model, f, draws),
    doubts_of_arguments(model),
    if (length(whole) == 0L) doubts_of_bounds(model, f),
    if (converged) doubts_of_mode(model, draws),
    if (plan_has(model$plan, "dynamics")) doubts_of_edges(model, f, draws)
  )
}

has_no_peak <- function(model) {
  isTRUE(model$search$ended %in% c("flat", "bound"))
}

# Before the chains: from `init`, because the search has found no peak. The log
# density of a start is no lower than the limit used here.
doubts_before <- function(model, f) {
  start <- model$init
  top <- f(start)
  found <- improper_doubts(model, f, start, top - 50 - 10 * length(start))
  scale <- if (length(found) > 0L && top >= 0 && top <= 1) {
    doubts_of_scale(c(top, found$ends))
  }
  c(scale, found$doubts)
}

doubts_after <- function(model, f, draws) {
  values <- unlist(lapply(draws, function(x) x[, "log_density"]))
  values <- values[is.finite(values)]
  if (length(values) == 0L) {
    return(NULL)
  }
  start <- model$init
  best <- best_draw(model, draws)
  lowest <- min(values) - 1
  found <- improper_doubts(model, f, start, lowest)
  if (length(found$doubts) == 0L && !is.null(best)) {
    found <- improper_doubts(model, f, best, lowest, along = FALSE)
  }
  scale <- doubts_of_scale(c(f(start), values, found$ends))
  doubts <- c(scale, found$doubts)
  if (length(doubts) == 0L && has_no_peak(model)) {
    return(doubts_of_peak(draws))
  }
  doubts
}

# The draw of the highest density; NULL if not all parameters are kept.
best_draw <- function(model, draws) {
  if (length(model$spec$keep) < length(model$init)) {
    return(NULL)
  }
  rows <- lapply(draws, function(x) x[which.max(x[, "log_density"]), ])
  heights <- vapply(rows, `[[`, 0, "log_density")
  unname(rows[[which.max(heights)]][seq_along(model$init)])
}

doubt <- function(kind, ...) list(list(kind = kind, words = paste0(...)))

# ---- Is it integrable? ------------------------------------------------------

# list(doubts, ends): each coordinate is followed from a point as far as the
# density can be computed, or to its bound. `lowest`: log densities below this
# do not matter to the chains. `along`: also directions of several coordinates.
improper_doubts <- function(model, f, at, lowest, along = TRUE) {
  d <- length(at)
  if (d > 50L) {
    return(list())
  }
  at <- general_point(f, at)
  top <- f(at)
  lower <- model$spec$lower %||% rep(-Inf, d)
  upper <- model$spec$upper %||% rep(Inf, d)
  rays <- unlist(lapply(seq_len(d), function(j) {
    lapply(c(-1, 1)[c(lower[[j]] == -Inf, upper[[j]] == Inf)], function(side) {
      axis <- replace(numeric(d), j, side * max(1, abs(at[[j]])))
      ray_end(f, at, axis, lowest, 10^c(24, 18, 12, 9, 6, 4, 3, 2))
    })
  }), recursive = FALSE)
  rays <- rays[lengths(rays) > 0L]
  bounded <- is.finite(lower) | is.finite(upper)
  doubts <- c(
    doubts_of_rays(model, rays, bounded),
    doubts_of_poles(model, f, at, top, lower, upper)
  )
  if (length(doubts) == 0L && d > 1L && d <= 12L) {
    doubts <- c(
      if (along) doubts_of_ridges(model, f, at, lowest),
      doubts_of_products(model, f, at, top)
    )
  }
  list(doubts = doubts, ends = vapply(rays, `[[`, 0, "value"))
}

# A point nearby with no coordinate at zero or equal to another one: at such
# special points a density may be infinite along a line, but not beside it.
general_point <- function(f, at) {
  away <- pmax(1, abs(at)) * ((seq_along(at) * 0.618) %% 1 + 0.1)
  for (size in c(1e-2, -1e-2, 1e-4, -1e-4)) {
    if (isTRUE(f(at + size * away) > -Inf)) {
      return(at + size * away)
    }
  }
  at
}

# The far end of a ray on which the density does not fall faster than one over
# the distance, so that its integral along the ray is infinite; NULL if there is
# none. `sizes`: distances, the farthest first, because far out a density may
# fail. Short distances can only show that the density rises. It has to fall as
# slowly where it is at `lowest` or above.
ray_end <- function(f, at, axis, lowest, sizes) {
  size <- Find(function(size) {
    point <- at + size * axis
    all(is.finite(point)) && isTRUE(f(point) < Inf)
  }, sizes)
  if (is.null(size)) {
    return(NULL)
  }
  before_of <- function(size) f(at + size / 10 * axis)
  is_slow <- function(value, before) {
    isTRUE(value > -Inf && value + log(10) >= before - 0.05)
  }
  point <- at + size * axis
  value <- f(point)
  before <- before_of(size)
  rises <- isTRUE(value > before + 1e-6 * abs(before))
  level <- function(size) {
    value <- f(at + size * axis)
    isTRUE(value >= lowest) && is_slow(value, before_of(size))
  }
  if (!is_slow(value, before) ||
        !rises && is.null(Find(level, sizes[sizes <= size & sizes >= 1e4]))) {
    return(NULL)
  }
  list(
    axis = axis, point = point, value = value, rises = rises,
    slow = value < before - 0.05,
    same = value == before && value == f(at)
  )
}

doubts_of_rays <- function(model, rays, bounded) {
  if (length(rays) == 0L) {
    return(NULL)
  }
  along <- vapply(rays, function(ray) which(ray$axis != 0), 0L)
  rises <- vapply(rays, `[[`, NA, "rises")
  same <- vapply(rays, `[[`, NA, "same")
  names <- model$parameters
  # both sides, and no bounds
  unused <- setdiff(
    intersect(along[same], along[same][duplicated(along[same])]),
    which(bounded)
  )
  words_of <- function(which) {
    first <- rays[[which[[1L]]]]
    j <- along[[which[[1L]]]]
    paste0(
      few_words(unique(names[along[which]])), " (it is ",
      format(first$value, digits = 3), " at ", names[[j]], " = ",
      format(first$point[[j]], digits = 3), ")"
    )
  }
  up <- which(rises)
  level <- which(!rises & !along %in% unused)
  sign <- if (anyDuplicated(along[up]) > 0L) " Is its sign right?"
  c(
    if (length(up) > 0L) {
      doubt("improper", "The log density rises without end in the direction ",
            "of ", words_of(up), ": is it integrable?", sign)
    },
    if (length(level) > 0L) {
      doubt("improper", "The log density does not fall",
            if (rays[[level[[1L]]]]$slow) " fast enough",
            " in the direction of ", words_of(level),
            ": is it integrable? Give a proper prior, or bounds.")
    },
    if (length(unused) > 0L) {
      doubt("improper", "The log density does not change with ",
            few_words(names[unused]), ": is it integrable? Give a proper ",
            "prior or bounds, or leave the parameter out.")
    }
  )
}

# Directions of several coordinates in which the density is level: those without
# curvature at a point.
doubts_of_ridges <- function(model, f, at, lowest) {
  unit <- vapply(seq_along(at), function(j) curved_step(f, at, j), 0)
  curvature <- tryCatch(
    numDeriv::hessian(function(z) f(at + unit * z), numeric(length(at)),
                      method.args = list(eps = 0.1)),
    error = function(cnd) NULL
  )
  if (is.null(curvature) || !all(is.finite(curvature))) {
    return(NULL)
  }
  parts <- eigen(curvature, symmetric = TRUE)
  flat <- abs(parts$values) < 1e-5 * max(abs(parts$values))
  level <- Filter(function(k) {
    axis <- unit * parts$vectors[, k]
    !is.null(ray_end(f, at, axis, lowest, 1e5)) &&
      !is.null(ray_end(f, at, -axis, lowest, 1e5))
  }, which(flat))
  if (length(level) == 0L) {
    return(NULL)
  }
  share <- rowSums(parts$vectors[, level, drop = FALSE]^2)
  doubt(
    "improper", "The log density is level in a direction of ",
    few_words(model$parameters[share > 0.01]), ", where only combinations of ",
    "them matter: is it integrable? Give a proper prior, or leave one out."
  )
}

# Pairs of coordinates of which only the product matters: the density is
# constant along an infinite curve, and changes off it. (A density of a large
# scale is level everywhere near its mode.)
doubts_of_products <- function(model, f, at, top) {
  if (sum(at != 0) < 2L) {
    return(NULL)
  }
  pairs <- utils::combn(which(at != 0), 2L, simplify = FALSE)
  free <- Filter(function(pair) {
    level <- function(by, within) {
      value <- f(replace(at, pair, at[pair] * by))
      isTRUE(abs(value - top) <= within * (1 + abs(top)))
    }
    all(vapply(c(1.37, 1e-6, 1e6), function(by) {
      level(c(by, 1 / by), 1e-10)
    }, NA)) && !(level(1e-6, 1e-8) && level(1e6, 1e-8))
  }, pairs)
  names <- model$parameters
  unlist(lapply(utils::head(free, 3L), function(pair) {
    doubt("improper", "The log density changes only with the product of ",
          and_words(names[pair]), ": is it integrable? Give a proper prior, ",
          "or leave one out.")
  }), recursive = FALSE)
}

# A step along a coordinate that changes the log density by 0.01 to 4: long
# enough to measure its curvature.
curved_step <- function(f, at, j) {
  top <- f(at)
  size <- max(1, abs(at[[j]])) / 10
  for (i in 1:30) {
    step <- replace(numeric(length(at)), j, size)
    fall <- top - (f(at + step) + f(at - step)) / 2
    size <- if (isTRUE(abs(fall) < 0.01)) {
      size * 4
    } else if (isTRUE(abs(fall) < 4)) {
      break
    } else {
      size / 4
    }
  }
  size
}

# Bounds, or else zero, at which the density grows without bound. A density that
# grows like one over the distance has no integral.
doubts_of_poles <- function(model, f, at, top, lower, upper) {
  ends <- lapply(seq_along(at), function(j) {
    ends <- c(lower[[j]], upper[[j]])
    ends <- if (any(is.finite(ends))) ends[is.finite(ends)] else 0
    ends[ends != at[[j]]]
  })
  poles <- unlist(lapply(seq_along(at), function(j) {
    lapply(ends[[j]], function(end) pole_at(f, at, top, j, end))
  }), recursive = FALSE)
  unlist(lapply(poles[lengths(poles) > 0L], function(pole) {
    name <- model$parameters[[pole$j]]
    end <- format(pole$end, digits = 6)
    words <- paste0(
      "The log density rises without bound as ", name, " approaches ", end,
      " (it is ", format(pole$value, digits = 3), " at a distance of ",
      format(pole$distance, digits = 3), ")"
    )
    if (pole$rate > 0.98) {
      doubt("improper", words, ": is it integrable?")
    } else if (is.null(model$spec$map)) {
      bound <- if (at[[pole$j]] > pole$end) "lower" else "upper"
      given <- pole$end %in% c(lower[[pole$j]], upper[[pole$j]])
      doubt("pole", words, ": give ",
            if (!given) paste0("`", bound, " = ", end, "` and "),
            "`transform = TRUE`.")
    }
  }), recursive = FALSE)
}

pole_at <- function(f, at, top, j, end) {
  near <- growth_towards(f, at, j, end)
  if (!is.null(near) && near$value > top && all(near$rates > 0.05)) {
    list(j = j, end = end, value = near$value, distance = near$distance,
         rate = near$rates[[1L]])
  }
}

# By how much the log density grows with the logarithm of one over the distance
# from an end of coordinate j, at two distances; NULL if it is not finite there.
growth_towards <- function(f, at, j, end) {
  distance <- (at[[j]] - end) * c(1e-12, 1e-11, 1e-6)
  # a small distance is lost in rounding beside a bound far from zero
  if (any(end + distance == end)) {
    return(NULL)
  }
  values <- vapply(distance, function(h) f(replace(at, j, end + h)), 0)
  if (all(is.finite(values))) {
    list(value = values[[1L]], distance = abs(distance[[1L]]),
         rates = -diff(values) / log(c(10, 1e5)))
  }
}

# Bounds at which the log density grows with the logarithm of one over the
# distance: the density has a pole there. Or it falls so, and Langevin steps are
# thrown back; with a power of 3 or more little mass is so near.
doubts_of_bounds <- function(model, f) {
  if (!leaves_bounds(model$spec)) {
    return(NULL)
  }
  at <- general_point(f, model$init)
  ends <- c(model$spec$lower, model$spec$upper)
  coordinates <- rep(seq_along(at), 2L)
  moved <- function(which) unlist(lapply(model$plan[which], `[[`, "index"))
  continuous <- moved(!plan_traits(model$plan, "user"))
  thrown_back <- moved(
    plan_traits(model$plan, "gradient") & !plan_traits(model$plan, "dynamics")
  )
  found <- Filter(function(i) {
    j <- coordinates[[i]]
    near <- if (is.finite(ends[[i]]) && ends[[i]] != at[[j]]) {
      growth_towards(f, at, j, ends[[i]])
    }
    !is.null(near) && (
      all(near$rates > 0.05) && j %in% continuous ||
        all(near$rates < -0.05 & near$rates > -3) && j %in% thrown_back
    )
  }, seq_along(ends))
  if (length(found) > 0L) {
    names <- unique(model$parameters[coordinates[found]])
    doubt("bound", "The log density rises or falls without end where ",
          few_words(names), if (length(names) > 1L) " approach" else {
            " approaches"
          }, " a bound, and chains seldom come near: give `transform = TRUE`, ",
          "which samples without bounds.")
  }
}

# ---- Other doubts -----------------------------------------------------------

# The mode of the search, if no draw is within three standard deviations of it
# (for each coordinate, those of its own curvature), and the normal density with
# its height and curvature has more mass than that of the draws.
doubts_of_mode <- function(model, draws) {
  found <- model$search
  d <- length(model$init)
  if (!identical(found$ended, "found") || length(model$spec$keep) < d ||
        any(search_scale(model)$map != 0)) {
    return(NULL)
  }
  all <- do.call(rbind, draws)
  x <- unname(all[, seq_len(d), drop = FALSE])
  away <- forwardsolve(found$factor, t(x) - found$centre)
  spread <- eigen(stats::cov(x), TRUE, only.values = TRUE)$values
  mass <- max(all[, "log_density"]) + sum(log(pmax(spread, 0))) / 2
  if (min(colSums(away^2)) > 9 * d && log_mass(found) > mass) {
    doubt(
      "left", "No draw is near the mode of the log density at ",
      state_point_words(found$centre, model$user_names), ", which has more ",
      "mass than the region of the draws: chains that leave it do not come ",
      "back. `proposal = tempered()` goes between modes."
    )
  }
}

# Values between 0 and 1, and not all the same.
doubts_of_scale <- function(values) {
  values <- values[is.finite(values)]
  if (all(values >= 0 & values <= 1) && min(values) < max(values)) {
    doubt("scale", "All log densities lie between 0 and 1: does ",
          "`log_density` return the logarithm?")
  }
}

# Chains that have converged on values that are never negative, and zero far
# away.
doubts_of_levels <- function(model, f, draws) {
  lowest <- min(vapply(draws, function(x) min(x[, "log_density"]), 0))
  if (!isTRUE(lowest >= 0)) {
    return(NULL)
  }
  ends <- improper_doubts(model, f, model$init, -Inf, along = FALSE)$ends
  if (length(ends) > 0L && all(ends == 0)) {
    doubt("scale", "The log density is never negative, and 0 far away: does ",
          "`log_density` return the logarithm?")
  }
}

# A parameter with which the log density still rises.
doubts_of_peak <- function(draws) {
  all <- do.call(rbind, draws)
  height <- all[, "log_density"]
  kept <- setdiff(colnames(all), "log_density")
  trend <- vapply(kept, function(name) {
    x <- all[, name]
    constant <- min(x) == max(x) || min(height) == max(height)
    if (constant) 0 else stats::cor(rank(x), rank(height))
  }, 0)
  if (!any(abs(trend) > 0.8)) {
    return(NULL)
  }
  name <- kept[[which.max(abs(trend))]]
  at <- which.max(height)
  doubt(
    "peak", "No peak of the log density was found. It still rises as ", name,
    if (trend[[name]] > 0) " grows" else " falls", ": it is ",
    format(height[[at]], digits = 4), " at ", name, " = ",
    format(all[[at, name]], digits = 4), ". Is it integrable?"
  )
}

# Coordinates in which the density is level around several draws, but differs
# between draws. `scale` is of the draws.
doubts_of_steps <- function(model, f, draws) {
  d <- length(model$init)
  moved <- moved_continuously(model)
  if (length(model$spec$keep) < d || d > 500L) {
    return(NULL)
  }
  all <- do.call(rbind, draws)[, seq_len(d), drop = FALSE]
  some <- unname(all[evenly(nrow(all), 9L), , drop = FALSE])
  stepped <- Filter(function(j) has_steps(f, some, j), moved)
  if (length(stepped) > 0L) {
    doubt("steps", "The log density has steps in ",
          few_words(model$parameters[stepped]), ", and the proposal is ",
          "continuous: if whole numbers are meant, round the draws as the ",
          "density does, or propose whole numbers (`custom_proposal()`).")
  }
}

moved_continuously <- function(model) {
  continuous <- !plan_traits(model$plan, "user")
  unlist(lapply(model$plan[continuous], `[[`, "index"))
}

# Coordinates in which chains stay at a whole number, because the density is
# zero between them; dpois() and others take one up to rounding.
doubts_of_gaps <- function(model, f, draws) {
  point <- best_draw(model, draws)
  moved <- if (!is.null(point)) moved_continuously(model)
  stays <- Filter(function(j) has_gaps(f, point, j), moved)
  doubt_of_gaps(model$parameters[stays])
}

doubt_of_gaps <- function(names) {
  if (length(names) > 0L) {
    doubt("whole", "The log density is -Inf between whole numbers of ",
          few_words(names), ", and continuous steps do not go from one to the ",
          "next: round the parameter in the density, as in ",
          "`dpois(round(x), ...)`, or propose whole numbers ",
          "(`custom_proposal()`).")
  }
}

has_gaps <- function(f, point, j) {
  whole <- round(point[[j]])
  at <- function(by) f(replace(point, j, whole + by))
  isTRUE(abs(point[[j]] - whole) < 1e-3 && at(0) > -Inf &&
           all(vapply(c(-0.5, -0.1, 0.1, 0.5), at, 0) == -Inf) &&
           max(at(-1), at(1)) > -Inf)
}

# Whether the density is level around each of some points along a coordinate,
# and takes several values over their range.
has_steps <- function(f, points, j) {
  x <- points[, j]
  size <- 1e-3 * stats::sd(x)
  if (!is.finite(size) || size <= 1e-12 * max(abs(x))) {
    return(FALSE)
  }
  top <- f(points[1L, ])
  at <- function(i, value) f(replace(points[i, ], j, value))
  if (!is.finite(top) || abs(top) > 1e9 || at(1L, x[[1L]] + size) != top) {
    return(FALSE)
  }
  level <- vapply(seq_along(x), function(i) {
    by <- if (i %% 2L == 0L) size else -size
    at(i, x[[i]] + by) == f(points[i, ])
  }, NA)
  values <- vapply(x, function(value) at(1L, value), 0)
  # a few of the points may lie beside an edge of the steps
  isTRUE(mean(level, na.rm = TRUE) > 0.75) &&
    length(unique(values[is.finite(values)])) > 1L
}

# Where the density becomes zero just beyond the draws, and no bound was given.
doubts_of_edges <- function(model, f, draws) {
  d <- length(model$init)
  if (length(model$spec$keep) < d || d > 50L) {
    return(NULL)
  }
  all <- unname(do.call(rbind, draws)[, seq_len(d), drop = FALSE])
  lower <- model$spec$lower %||% rep(-Inf, d)
  upper <- model$spec$upper %||% rep(Inf, d)
  unlist(lapply(seq_len(d), function(j) {
    width <- diff(range(all[, j]))
    sides <- c(-1, 1)[c(lower[[j]] == -Inf, upper[[j]] == Inf)]
    unlist(lapply(sides, function(side) {
      point <- all[which.max(side * all[, j]), ]
      x <- point[[j]]
      at <- function(value) f(replace(point, j, value))
      if (!isTRUE(at(x + side * width / 10) == -Inf) || at(x) == -Inf) {
        return(NULL)
      }
      inside <- 0
      outside <- width / 10
      for (half in 1:20) {
        middle <- (inside + outside) / 2
        if (isTRUE(at(x + side * middle) == -Inf)) outside <- middle else
          inside <- middle
      }
      edge <- zapsmall(c(x + side * outside, width), 6L)[[1L]]
      doubt(
        "edge", "The density is zero ", if (side < 0) "below " else "above ",
        model$parameters[[j]], " = ", format(edge, digits = 5), ": give `",
        if (side < 0) "lower" else "upper", "` and `transform = TRUE`."
      )
    }), recursive = FALSE)
  }), recursive = FALSE)
}

# Further arguments that the body of the function does not name.
doubts_of_arguments <- function(model) {
  f <- model$data$log_density
  given <- names(model$extra)
  if (!is.function(f) || is.primitive(f) || length(given) == 0L) {
    return(NULL)
  }
  used <- all.names(body(f), unique = TRUE)
  reflects <- c("match.call", "sys.call", "environment", "get", "mget", "eval",
                "parent.frame", "sys.function", "...", "with", "do.call",
                "evalq", "local", "nargs", "sys.frame")
  idle <- setdiff(intersect(given, names(formals(f))), used)
  if (length(idle) > 0L && !any(reflects %in% used)) {
    doubt("unused", "`log_density` does not use its argument ",
          few_words(paste0("`", idle, "`")), ".")
  }
}
