# Where the gradient of the log density of mh_sample() comes from.

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
    value <- do.call(log_density, c(list(z), extra), quote = TRUE)
    # numDeriv refuses NaN
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
