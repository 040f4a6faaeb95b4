# The log density of mh_sample(), in the forms that C and the search for scales
# call.
#
# `point` is a point on the user's scale. `x` (the working point) is the same on
# the whole line, where `transform = TRUE` maps bounded coordinates.

# The calls for C, made again for each segment, because C writes into them.
mh_functions <- function(model) {
  list(
    log_density = density_caller(model$data$log_density, model$extra),
    gradient = gradient_caller(model),
    blocks = lapply(model$plan, function(block) {
      move_functions(block$proposal)
    })
  )
}

# The object that C calls for a log density: a caller, or another object for
# other classes of density.
density_caller <- function(log_density, extra = list()) {
  UseMethod("density_caller")
}

#' @exportS3Method
density_caller.default <- function(log_density, extra = list()) {
  caller(log_density, "log_density", 1L, extra)
}

#' @exportS3Method
density_caller.gibbsite_native_density <- function(log_density,
                                                   extra = list()) {
  native_pointer(log_density)
}

# ---- Scales -----------------------------------------------------------------

# The working point of a user's point, and back.
to_working <- function(spec, point) {
  x <- as.double(point)
  if (is.null(spec$map)) {
    return(x)
  }
  low <- spec$lower
  up <- spec$upper
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  x[one] <- log(x[one] - low[one])
  x[two] <- log(up[two] - x[two])
  x[both] <- log(x[both] - low[both]) - log(up[both] - x[both])
  x
}

from_working <- function(spec, x) {
  if (is.null(spec$map)) {
    return(x)
  }
  low <- spec$lower
  up <- spec$upper
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  x[one] <- low[one] + exp(x[one])
  x[two] <- up[two] - exp(x[two])
  x[both] <- low[both] + (up[both] - low[both]) * stats::plogis(x[both])
  x
}

# log of the Jacobian d point / d x.
log_jacobian <- function(spec, x) {
  if (is.null(spec$map)) {
    return(0)
  }
  both <- spec$map == 3L
  width <- (spec$upper - spec$lower)[both]
  sum(x[spec$map %in% 1:2]) +
    sum(log(width) + stats::plogis(x[both], log.p = TRUE) +
          stats::plogis(-x[both], log.p = TRUE))
}

# The points of draws (a row each) on a scale without bounds, the log density
# there and the Jacobian, for any bounds. log_density: of a user's point.
unbounded_box <- function(lower, upper, log_density) {
  spec <- list(
    lower = lower, upper = upper,
    map = is.finite(lower) + 2L * is.finite(upper)
  )
  d <- length(lower)
  # the coordinates of a point stand together, as the maps expect them
  rows <- function(values) matrix(values, ncol = d, byrow = TRUE)
  list(
    points = function(draws) {
      rows(to_working(spec, t(draws)))
    },
    log_density = function(x) {
      log_density(rows(from_working(spec, as.double(t(x))))) +
        apply(x, 1L, log_jacobian, spec = spec)
    }
  )
}

# d point / d x, for each coordinate.
map_slope <- function(spec, x) {
  slope <- rep(1, length(x))
  point <- from_working(spec, x)
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  slope[one] <- (point - spec$lower)[one]
  slope[two] <- (point - spec$upper)[two]
  width <- (spec$upper - spec$lower)[both]
  slope[both] <- width * stats::dlogis(x[both])
  slope
}

# The working log density as a function of x, for computations before the chains
# run. If it is NaN or fails at a point, the density there counts as zero.
working_density <- function(model) {
  spec <- model$spec
  density <- point_density(model)
  function(x) {
    point <- from_working(spec, x)
    value <- if (all(is.finite(point))) density(point) else -Inf
    if (is.na(value) || value == Inf) -Inf else value + log_jacobian(spec, x)
  }
}

# The log density as a function of the user's point: -Inf outside of its bounds,
# NaN where it fails.
point_density <- function(model) {
  functions <- mh_functions(model)
  spec <- model$spec
  place <- new.env(parent = emptyenv())
  function(point) {
    if (any(point < spec$lower) || any(point > spec$upper)) {
      return(-Inf)
    }
    tryCatch(
      suppressWarnings(.Call(
        C_mh_evaluate, functions$log_density, as.double(point), spec$names,
        place
      )),
      error = function(cnd) NaN
    )
  }
}

abort_zero_density <- function(model, point, arg, call) {
  at <- state_point_words(point, model$user_names)
  value <- if (model$spec$reject_nan > 0L) "-Inf or NaN" else "-Inf"
  abort_argument(
    c("`{arg}` must have positive density: `log_density` is {value} there.",
      x = "At {at}.",
      i = "Start the chains at a point that is possible under the model."),
    call = call, class = "zero_density"
  )
}

# ---- Where the gradient comes from -------------------------------------------

# The gradient of a model: NULL, a function, or a word for where it is: "native"
# (with the compiled density), "value" (an attribute of the density's value) or
# "differences".
find_gradient <- function(given, plan, log_density, extra, init, call) {
  proposals <- lapply(plan, `[[`, "proposal")
  found <- unique(c(
    given, unlist(lapply(proposals, proposal_gradients), recursive = FALSE)
  ))
  if (length(found) > 1L) {
    abort_argument(
      c("Proposals of one sampler must have the same {.arg gradient}.",
        i = "It is that of the whole log density; each block takes its part."),
      call = call
    )
  }
  if (length(found) == 1L) {
    return(found[[1L]])
  }
  if (!plan_has(plan, "gradient")) {
    return(NULL)
  }
  if (has_native_gradient(log_density)) {
    return("native")
  }
  if (value_has_gradient(log_density, extra, init)) {
    return("value")
  }
  inform_gibbsite(
    c(
      "No gradient is given: it is computed by differences, which takes
       {4 * length(init)} evaluations of {.arg log_density} for each step.",
      i = "{.arg gradient} or {.fn native_density} makes it faster.",
      i = "The default proposal, {.fn adaptive}, needs no gradient and is
           probably faster than differences."
    ),
    class = "gradient"
  )
  "differences"
}

# An error of the density is reported where the chains start.
value_has_gradient <- function(log_density, extra, init) {
  if (is_native_density(log_density)) {
    return(FALSE)
  }
  saved <- save_generator()
  on.exit(restore_generator(saved))
  value <- tryCatch(
    suppressWarnings(do.call(log_density, c(list(init), extra), quote = TRUE)),
    error = function(cnd) NULL
  )
  !is.null(attr(value, "gradient", exact = TRUE))
}

# The object that C calls for the gradient.
gradient_caller <- function(model) {
  gradient <- model$gradient
  density <- model$data$log_density
  if (is.null(gradient)) {
    return(NULL)
  }
  if (is.function(gradient)) {
    return(caller(
      gradient, "gradient", 1L, taken_by(gradient, model$extra)
    ))
  }
  switch(gradient,
    native = native_gradient_pointer(density),
    value = gradient,
    differences = caller(
      difference_gradient, "gradient", 1L,
      list(
        log_density = density, extra = model$extra, unit = model$search$unit
      )
    )
  )
}

# Two steps of Richardson's extrapolation. Beside an edge of the density the
# differences are of the side where it is finite.
difference_gradient <- function(x, log_density, extra, unit) {
  density <- function(z) {
    value <- if (length(extra) == 0L) log_density(z) else {
      do.call(log_density, c(list(z), extra), quote = TRUE)
    }
    if (is.na(value)) -Inf else value
  }
  slope <- gradient_along(density, x, unit, r = 2)
  for (side in c(1, -1)) {
    lost <- !is.finite(slope)
    if (any(lost)) {
      sides <- ifelse(lost, side, NA)
      slope[lost] <- gradient_along(density, x, unit, sides, r = 2)[lost]
    }
  }
  slope
}

# ---- Is it the gradient of the log density? ----------------------------------

# A gradient is compared with differences where each chain starts.

# Compares the gradient at a point with differences of the log density.
# Differences over steps that are too long or too short are wrong; one that
# agrees is enough. Where no difference is finite there is no comparison, and an
# invalid gradient is reported by the first sweep.
check_gradient <- function(model, point, call) {
  if (!plan_has(model$plan, "dynamics") ||
        identical(model$gradient, "differences")) {
    return(invisible())
  }
  names(point) <- model$user_names
  given <- gradient_at(model, point)
  if (is.numeric(given) && length(given) != length(point)) {
    wanted <- counted(length(point), "number")
    abort_argument(
      c("`gradient` must return {wanted}, one for each parameter, not
         {length(given)}.",
        x = "At {state_point_words(unname(point), model$user_names)}."),
      call = call, class = "gradient", point = point
    )
  }
  if (!is.numeric(given) || length(given) != length(point) ||
        !all(is.finite(given))) {
    return(invisible())
  }
  model$spec$map <- NULL
  density <- working_density(model)
  check_gradient_value(model, point, attr(given, "value"), density, call)
  unit <- reach(density, unname(point))
  near <- lapply(c(1e-3, 1e-5, 1e-7), function(size) {
    differences_at(density, unname(point), size, unit)
  })
  wrong <- Reduce(`&`, lapply(near, function(by) {
    !(abs(given - by$value) <= 0.01 * pmax(abs(given), abs(by$value)) +
        by$noise)
  }))
  known <- is.finite(near[[1L]]$value)
  if (any(wrong & known)) {
    abort_gradient(
      model, point, which(wrong & known)[[1L]], given, near[[1L]]$value, call
    )
  }
}

# The log density that a compiled gradient returns.
check_gradient_value <- function(model, point, value, density, call) {
  direct <- density(unname(point))
  if (!identical(model$gradient, "native") ||
        isTRUE(abs(value - direct) <= 1e-6 * (1 + abs(direct)))) {
    return(invisible())
  }
  at <- state_point_words(unname(point), model$user_names)
  shown <- format(c(value, direct), digits = 6, trim = TRUE)
  abort_argument(
    c("The compiled `gradient` must return the log density.",
      x = "It returns {shown[1]}; the log density is {shown[2]}.",
      x = "At {at}."),
    call = call, class = "gradient", point = point
  )
}

# list(value, noise): differences over `size` times `unit`, and a bound of their
# rounding error.
differences_at <- function(density, x, size, unit) {
  value <- tryCatch(
    gradient_along(density, x, unit, d = size, r = 2),
    error = function(cnd) rep(NA_real_, length(x))
  )
  list(
    value = value,
    noise = 20 * .Machine$double.eps * (1 + abs(density(x))) / (size * unit)
  )
}

# The gradient at a user's point, NULL where it fails.
gradient_at <- function(model, point) {
  density <- model$data$log_density
  ask <- function() {
    if (is.function(model$gradient)) {
      extra <- taken_by(model$gradient, model$extra)
      return(do.call(model$gradient, c(list(point), extra), quote = TRUE))
    }
    if (model$gradient == "native") {
      return(.Call(
        C_native_gradient, native_gradient_pointer(density), unname(point)
      ))
    }
    value <- do.call(density, c(list(point), model$extra), quote = TRUE)
    attr(value, "gradient", exact = TRUE)
  }
  tryCatch(suppressWarnings(ask()), error = function(cnd) NULL)
}

abort_gradient <- function(model, point, j, given, differences, call) {
  name <- model$parameters[[j]]
  at <- state_point_words(unname(point), model$user_names)
  shown <- format(c(given[[j]], differences[[j]]), digits = 6, trim = TRUE)
  abort_argument(
    c("`gradient` must be that of `log_density`: it is not in coordinate
       {.val {name}}.",
      x = "It is {shown[1]}; by differences of the log density it is
           {shown[2]}.",
      x = "At {at}.",
      i = "It is the gradient of the whole log density, on the scale of
           `init`."),
    call = call, class = "gradient", point = point
  )
}
