# Is a gradient that of the log density? It is compared with differences where
# each chain starts.

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
