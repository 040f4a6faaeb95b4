# The model of every Laplace approximation, for the driver: a sweep is one
# independent draw from N(map, precision^-1).

# map: the mode; precision_factor: lower triangular L, L L' = minus the Hessian
# of the log joint density there.  Draws need only these two, and they are kept
# also if the user's data, in `frame`, are dropped.
#
# correct: "none" or "importance".  point_seconds: the approximate time of the
# log joint density at one point; NA: unknown.
new_laplace_model <- function(class, name, title, headline, map,
                              precision_factor, prior, nobs, columns, frame,
                              correct, point_seconds = NA_real_, ...) {
  new_model(
    c(class, "laplace_model"),
    name = name, title = title, headline = headline,
    data = list(
      map = as.double(map),
      precision_factor = matrix(as.double(precision_factor), length(map))
    ),
    prior = prior, nobs = nobs, columns = columns, data_part = "frame",
    independent = correct == "none", frame = frame, correct = correct,
    point_seconds = point_seconds, ...
  )
}

#' @exportS3Method
model_start.laplace_model <- function(model, init) {
  if (is_corrected(model)) {
    return(corrected_start(model))
  }
  map <- model$data$map
  # eight draws are made at a time (core/laplace/laplace.h); at first none is
  # stored
  list(sweep = 0, w = map, ahead = numeric(8 * length(map)), used = 8)
}

#' @exportS3Method
model_sweeps.laplace_model <- function(model, state, n, control) {
  if (is_corrected(model)) {
    return(corrected_sweeps(model, state, n, control))
  }
  .Call(C_laplace_sweeps, model$data, state, n, control)
}

#' @exportS3Method
model_algorithm.laplace_model <- function(model) "laplace"

#' @exportS3Method
set_data.laplace_model <- function(model, data,
                                   call = rlang::caller_env()) {
  abort_argument(
    c(
      "`data` are not needed to draw on from a Laplace approximation.",
      i = "Leave `data` out."
    ),
    call = call
  )
}

# log p(y | w) p(w) at the mode, plus the log volume of the normal approximation
# of the posterior (MacKay 2003, eq. 27.9).
laplace_log_evidence <- function(log_joint_map, precision_factor) {
  p <- nrow(precision_factor)
  log_joint_map + p / 2 * log(2 * pi) - sum(log(diag(precision_factor)))
}
