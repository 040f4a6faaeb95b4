# The two models behind laplace(). The first is the search for the mode, a run
# that Ctrl-C can stop. Preparing it gives the second, the approximation.

# ---- The search for the mode ------------------------------------------------

# laplace() before its mode is found. Its state is the list of values that the
# user's functions have returned so far, in order, and the generator after the
# last of them. A continued search replays these values without calling the
# functions, and so reaches the point where it was interrupted.
search_model <- function(density, init, method, correct, rho = NULL) {
  model <- new_model(
    c("laplace_search_model", "unfinished_model"),
    name = "laplace", fit_class = "gibbsite_laplace",
    title = "Density", headline = NULL, data = list(),
    data_part = NULL, prior = NULL, nobs = NA_integer_,
    columns = density$names
  )
  model$frame <- density
  model$search <- list(
    init = init, method = method, correct = correct, stream = NULL,
    values = list(), seed = NULL, best = NULL
  )
  model$search$rho <- rho
  say_search(model)
}

# The headline shows the progress of the search.
say_search <- function(model) {
  p <- length(model$columns)
  best <- model$search$best
  calls <- length(model$search$values)
  model$headline <- paste0(
    "Density of ", counted(p, "parameter"), "; its mode is yet to be found",
    if (!is.null(best)) {
      paste0("\n", cli::pluralize(
        "The search has called it {calls} time{?s}; highest so far: ",
        "{format(best$value, digits = 7)} at {point_words(best$theta)}"
      ))
    }
  )
  model
}

# The search has a separate stream, because a density may draw random numbers.
#' @exportS3Method
model_prepare.laplace_search_model <- function(model, running, call) {
  search <- model$search
  if (is.null(search$stream)) {
    search$stream <- spare_stream(
      running$seed, running$chains, "laplace_search", call
    )
  }
  density <- model$frame
  density$record <- new_record(search)
  found <- cut_short(allowInterrupts(with_stream(
    search$stream,
    find_mode(density, search$init, search$method, call, search$rho), call
  )))
  if (is.null(found)) {
    search[c("values", "seed", "best")] <- recorded_search(density$record)
    model$search <- search
    return(say_search(model))
  }
  out <- density_model(
    model$frame, found$value, search$method, search$correct
  )
  # of gradient ascent alone
  out[c("path", "trace")] <- found$value[c("path", "trace")]
  out$rho <- search$rho
  out
}

# ---- The approximation ------------------------------------------------------

density_model <- function(density, found, method, correct) {
  new_laplace_model(
    "laplace_density_model",
    name = "laplace", fit_class = "gibbsite_laplace", title = "Density",
    headline = paste0(
      "Density of ", counted(length(density$names), "parameter"),
      "; Laplace approximation"
    ), map = found$map,
    precision_factor = found$factor, prior = NULL, nobs = NA_integer_,
    columns = density$names, log_joint_map = found$value,
    log_evidence = laplace_log_evidence(found$value, found$factor),
    iterations = found$iterations, method = method, correct = correct,
    frame = density, arguments_at = c("frame", "arguments"),
    given = given_density
  )
}

# The log density of a corrected fit, which is called for its draws.
#' @exportS3Method
set_data.laplace_density_model <- function(model, data,
                                           call = rlang::caller_env()) {
  data <- check_function(data, "log_density", call = call)
  if (is.null(model$frame)) {
    abort_no_data("log_density", call)
  }
  if (!same_code(model$frame$log_density, data)) {
    model$data_hash <- hash_code(data)
  }
  model$frame$log_density <- data
  model
}

#' @exportS3Method
model_log_joint.laplace_density_model <- function(model, w) {
  density <- model$frame
  if (is.null(density)) {
    abort_no_data(call = rlang::call2("laplace"))
  }
  density_value(density, w, rlang::call2("laplace"))
}
