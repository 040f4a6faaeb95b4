# The search for a mode, `method = "icm"`, one for all models (iterated
# conditional modes, Besag 1986, doi:10.1111/j.2517-6161.1986.tb01412.x). Each
# start climbs, block by block, until the log joint density no longer rises.
# Only the starts are random, and any random numbers that a user's function
# draws on the chain's stream. No draw is stored, so the driver is not used.

# Arguments that only a run of chains uses. An argument whose effect the user
# would miss raises an error; for the length of the chains a message says that
# it is not used.
check_search <- function(running, user_call, call) {
  given <- names(user_call)
  refused <- c(
    if (!is.null(running$checkpoint)) "checkpoint",
    if ("stop_when" %in% given && !is.null(running$stop_when)) "stop_when",
    if ("keep" %in% given && length(running$keep) > 0L) "keep"
  )
  if (length(refused) > 0L) {
    abort_argument(
      c(
        paste(
          "{.arg {refused[1]}} has no meaning with",
          "{.code method = \"icm\"}, which stores no draws."
        ),
        i = "Leave it out, or use the sampler."
      ),
      call = call
    )
  }
  idle <- intersect(c("draws", "burnin", "thin", "cores"), given)
  if (length(idle) > 0L) {
    inform_gibbsite(
      paste(
        "{.arg {idle}} {?is/are} not used in the search for a mode:",
        "each of the `chains` starts climbs to a mode."
      ),
      class = "unused"
    )
  }
}

# Climbs from `chains` starts; each stops when the log joint density changes by
# less than 1e-8 of its size. If the log joint density is unknown, starts cannot
# be compared, and the result of the first one is returned.
icm_search <- function(model, running, user_call, call, max_sweeps = 10000) {
  check_search(running, user_call, call)
  root <- root_seed(running$seed, call)
  streams <- chain_streams(root, running$chains, call)
  starts <- check_inits(model, running$inits, running$chains, call)
  runs <- lapply(seq_len(running$chains), function(k) {
    # one random start each, not the best of several: the result shows the modes
    # that they lead to
    start <- starts[[k]] %||% list()
    chain <- start_chain(model, start, streams[[k]], k, call)
    climb(model, chain, running$threads, max_sweeps, call)
  })
  values <- vapply(runs, function(run) run$trace[[length(run$trace)]], 0)
  best <- if (all(is.na(values))) 1L else which.max(values)
  given <- data_of_call(model, stored_call(user_call), call)
  own <- with_own_objects(
    list(model = model, call = given$call), given$columns, given$further
  )
  own <- with_workspace(own)
  new_map(own$model, runs[[best]], values, root, own$call)
}

climb <- function(model, chain, threads, max_sweeps, call) {
  state <- chain$state
  stream <- chain$rng
  trace <- numeric()
  value <- -Inf
  for (sweep in seq_len(max_sweeps)) {
    step <- tryCatch(
      with_stream(stream, model_climb(model, state, threads), call),
      error = function(cnd) {
        reason <- conditionMessage(cnd)
        abort_numeric(
          "The search stopped in sweep {sweep}: {reason}.", call = call
        )
      }
    )
    stream <- step$stream
    state <- step$value$state
    before <- value
    value <- step$value$log_joint
    trace[[sweep]] <- value
    # the density may also fall: a mixture weight that went to 0 is left out of
    # it
    change <- if (is.na(value)) {
      step$value$change
    } else {
      abs(value - before) / (1 + abs(value))
    }
    if (change <= 1e-8) {
      return(list(state = state, trace = trace, converged = TRUE))
    }
  }
  list(state = state, trace = trace, converged = FALSE)
}

new_map <- function(model, run, values, seed, call) {
  structure(
    list(
      estimate = model_estimate(model, run$state),
      log_joint = run$trace[[length(run$trace)]],
      trace = run$trace, converged = run$converged, starts = values,
      seed = seed, model = model, call = call
    ),
    class = c(sub("_model$", "_map", class(model)[1L]), "gibbsite_map")
  )
}

# Checks that x is what icm_search() returns, and not only has its class.
check_map <- function(x, arg = rlang::caller_arg(x),
                      call = rlang::caller_env()) {
  force(arg)
  made_by <- "a sampler with method = \"icm\""
  check_made(
    x, c("estimate", "log_joint", "trace", "converged", "starts", "model"),
    made_by, arg, call
  )
  model <- x$model
  own <- is.list(model) && inherits(model, "gibbsite_model") &&
    sub("_model$", "_map", class(model)[[1L]]) %in% class(x)
  numbers <- vapply(x[c("log_joint", "trace", "starts")], function(part) {
    is.numeric(part) && length(part) > 0L
  }, NA)
  sound <- own && all(numbers) && is.list(x$estimate) &&
    is.logical(x$converged) && length(x$converged) == 1L
  if (!sound) {
    abort_argument(
      "{.arg {arg}} has the class of a mode, but is not what {made_by} makes.",
      call = call, class = "forged"
    )
  }
  invisible(x)
}

#' The result of a search for a mode
#'
#' What `method = "icm"` returns: a point of high posterior density, found by
#' setting each block to its conditional mode in turn. It is not a posterior: it
#' has no spread, and it may be one mode of several. The density includes the
#' prior, so that the log joint density is bounded. `summary()` shows the value
#' that each start reached, `plot()` the log joint density of the best start by
#' sweep.
#'
#' @param x,object An object of class `gibbsite_map`.
#' @param ... Not used; for `plot()`, graphical parameters.
#' @return The object is a list: `estimate` (list of the parameters; for
#'   [gibbs_gmm()] `pi`, `mu`, `Sigma`, `z` and `x_missing`, largest component
#'   first), `log_joint`, `trace` (its value after each sweep of the best
#'   start), `converged`, `starts` (the value that each start reached), `seed`,
#'   `model` and `call`. `summary()` gives a data frame with a row for each
#'   start.
#' @section Your own conditionals:
#' With `method = "icm"` of [gibbs_sample()]
#' (iterated conditional modes, Besag 1986) the functions return the *modes* of
#' the conditionals instead of draws. Blocks are set in turn until the log joint
#' density, if `log_joint` is given, no longer rises, or otherwise until no
#' number of the state changes by more than 1e-8 of its size.
#' @references
#' Besag J (1986). On the statistical analysis of dirty pictures. *Journal of
#' the Royal Statistical Society B* 48, 259-302.
#' \doi{10.1111/j.2517-6161.1986.tb01412.x}
#' @seealso [gibbs_gmm()] and [gibbs_sample()] with `method = "icm"`, [bmf_map]
#'   for ratings, [laplace()].
#' @examples
#' top <- gibbs_gmm(faithful, 2, method = "icm", seed = 1)
#' top
#' top$estimate$mu
#' summary(top)
#' @name gibbsite_map
NULL

#' @rdname gibbsite_map
#' @export
print.gibbsite_map <- function(x, ...) {
  check_map(x)
  write_lines(c(
    paste0("<mode, not a posterior> ", x$model$headline),
    "",
    paste0(
      "Log joint density ", format(x$log_joint, nsmall = 2, digits = 8),
      " after ", length(x$trace), " sweeps",
      if (!x$converged) " (not converged)", "; reached by ",
      sum(reached_best(x)), " of ", length(x$starts), " starts."
    )
  ))
  invisible(x)
}

reached_best <- function(x) {
  best <- max(x$starts)
  best - x$starts < 1e-6 * (1 + abs(best))
}

#' @rdname gibbsite_map
#' @export
summary.gibbsite_map <- function(object, ...) {
  check_map(object)
  check_no_more(...)
  data.frame(
    start = seq_along(object$starts), log_joint = object$starts,
    best = reached_best(object)
  )
}

picture_climb <- function(x, ..., call, arg) {
  check_map(x, arg, call)
  if (!any(is.finite(x$trace))) {
    abort_argument(
      c("{.arg {arg}} has no log joint density to draw.",
        i = "{.fn gibbs_sample} computes it if {.arg log_joint} is given."),
      call = call
    )
  }
  table <- data.frame(x = seq_along(x$trace), y = x$trace)
  picture(
    table, list(
      picture_layer("line", table, "log joint density"),
      picture_layer("point", data.frame(table, size = 1), "log joint density")
    ), plot_key("log joint density", gibbsite_palette(1), lty = 1, lwd = 1,
                pch = 19, shown = FALSE),
    x = picture_axis("sweep", at = unique(round(pretty(table$x)))),
    y = picture_axis("log joint density"),
    title = "Climb of the best start"
  )
}

#' @rdname gibbsite_map
#' @export
plot.gibbsite_map <- graphical_method(picture_climb)

#' @rdname gibbsite_map
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_map <- autoplot_method(picture_climb)

#' @export
prior_summary.gibbsite_map <- function(object, ...) {
  check_map(object)
  object$model$prior
}

#' @export
nobs.gibbsite_map <- function(object, ...) {
  check_map(object)
  object$model$nobs
}
