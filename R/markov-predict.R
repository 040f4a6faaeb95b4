# Fits of fit_markov_chain(): estimates, predictions, paths and pictures.

# The draws of the matrices: draws x tuples x states.
transition_draws <- function(fit) {
  model <- fit_part(fit, "model")
  draws <- bind_chains(model_matrices(fit))
  size <- dim(model$data$shape)
  array(draws[, seq_len(prod(size)), drop = FALSE], c(nrow(draws), size))
}

# The posterior mean, known without draws, on tuples.
#' @exportS3Method
transition_of.fit_markov_chain <- function(x, call) {
  model <- fit_part(x, "model")
  shape <- posterior_shape(model, call)
  tuple_matrix(shape / rowSums(shape), model$data$order, model$tuples)
}

posterior_shape <- function(model, call) {
  if (!model_has_data(model)) {
    abort_no_data(call = call)
  }
  model$data$shape
}

#' @rdname fit_markov_chain
#' @export
coef.fit_markov_chain <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  shape <- posterior_shape(model, rlang::current_env())
  out <- shape / rowSums(shape)
  dimnames(out) <- list(model$tuples, model$states)
  out
}

#' @rdname fit_markov_chain
#' @export
confint.fit_markov_chain <- function(object, parm, level = 0.95, ...) {
  check_no_more(...)
  level <- check_level(level)
  draws <- bind_chains(model_matrices(object))
  out <- central_intervals(draws, level)
  dimnames(out) <- list(colnames(draws), tail_names(level))
  if (missing(parm)) out else some_rows(out, parm, rlang::current_env())
}

# The states at the last place of each tuple.
last_states <- function(model) {
  size <- length(model$states)
  (seq_along(model$tuples) - 1) %% size + 1
}

#' @rdname fit_markov_chain
#' @export
predict.fit_markov_chain <- function(object, n = 1:10, initial = NULL,
                                     level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  posterior_shape(model, call)
  n <- check_times(n, list(transition = NULL), call)
  level <- check_level(level)
  start <- check_initial(initial, model$tuples, "initial", call)
  if (is.null(start)) {
    if (is.null(model$last)) {
      abort_argument(
        c("{.arg initial} must be given: the data are not one sequence that
           ends with known states.",
          i = "States are {.val {model$tuples}}."),
        call = call
      )
    }
    start <- as.numeric(seq_along(model$tuples) == model$last)
  }
  p <- transition_draws(object)
  check_result_size(
    c(length(n), dim(p)[c(1L, 3L)]), "times x draws x states",
    "the numbers of {.arg n}", call
  )
  at <- matrix(start, dim(p)[[1L]], length(start), byrow = TRUE)
  times <- sort(unique(n))
  last <- 0
  found <- vector("list", length(times))
  for (k in seq_along(times)) {
    for (step in seq_len(times[[k]] - last)) at <- next_tuples(at, p)
    last <- times[[k]]
    shares <- t(rowsum(t(at), last_states(model)))
    interval <- central_intervals(shares, level)
    found[[k]] <- data.frame(
      step = last, state = factor(model$states, model$states),
      mean = colMeans(shares), sd = apply(shares, 2L, stats::sd),
      lower = interval[, 1L], upper = interval[, 2L], row.names = NULL
    )
  }
  do.call(rbind, found[match(n, times)])
}

# at: draws x tuples, one step later.
next_tuples <- function(at, p) {
  size <- dim(p)[[3L]]
  tuples <- dim(p)[[2L]]
  out <- matrix(0, nrow(at), tuples)
  for (i in seq_len(tuples)) {
    to <- if (tuples == size) {
      seq_len(size)
    } else {
      (i - 1) %% (tuples / size) * size + seq_len(size)
    }
    out[, to] <- out[, to] + at[, i] * p[, i, ]
  }
  out
}

#' @rdname fit_markov_chain
#' @export
simulate.fit_markov_chain <- function(object, nsim = 1, seed = NULL, n = 100,
                                      initial = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  check_unlocked(call)
  nsim <- check_count(nsim)
  n <- check_count(n, 0, max = 2^53)
  check_result_size(
    c(n + 1, nsim), "states x paths", "{.arg n} or {.arg nsim}", call
  )
  model <- fit_part(object, "model")
  counts <- posterior_shape(model, call) - model$prior$weight
  start <- check_initial(initial, model$tuples, "initial", call) %||%
    rowSums(counts)
  p <- transition_draws(object)
  simulated_columns(nsim, seed, seq_len(n + 1L), function() {
    draw <- sample.int(dim(p)[[1L]], 1L)
    matrix <- matrix(p[draw, , ], dim(p)[[2L]])
    path <- draw_path(
      row_ends(tuple_matrix(matrix, model$data$order)), n, start
    )
    structure(
      as.integer(last_states(model)[path]), levels = model$states,
      class = "factor"
    )
  }, call)
}

#' @rdname fit_markov_chain
#' @export
plot.fit_markov_chain <- function(x, type = "transitions", variables = NULL,
                                  level = 0.95, ...) {
  check_no_more(...)
  draw_base(picture_transitions(
    x, type, variables, level, rlang::current_env()
  ))
  invisible(x)
}

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.fit_markov_chain <- function(object, type = "transitions",
                                      variables = NULL, level = 0.95, ...) {
  check_no_more(...)
  draw_ggplot(picture_transitions(
    object, type, variables, level, rlang::current_env()
  ))
}

picture_transitions <- function(fit, type, variables, level, call) {
  own <- c("transitions", "stationary")
  type <- check_plot_types(type %||% own[[1L]], call, own)
  level <- check_level(level, call = call)
  check_plots_with(variables, type, plot_types, call)
  if (!any(type %in% own)) {
    return(picture_chains(fit, type, variables, call))
  }
  draws <- bind_chains(model_matrices(fit))
  labels <- model_labels(fit_part(fit, "model"))
  of <- column_parts(colnames(draws))$block == "stationary"
  rows <- which(of == (type == "stationary"))
  if (length(rows) == 0L) {
    abort_argument(
      "{.arg type} cannot be {.val stationary}: the matrices have several closed
       classes.",
      call = call
    )
  }
  means <- colMeans(draws)
  most <- utils::head(rows[order(-means[rows])], 40L)
  note <- if (length(most) < length(rows)) {
    paste(length(most), "of", length(rows), "probabilities: the largest")
  }
  rows <- sort(most)
  if (type == "transitions") {
    # those from one state together
    rows <- rows[order(as.integer(sub("^P\\[([0-9]+),.*", "\\1",
                                      colnames(draws)[rows])))]
  }
  chosen <- draws[, rows, drop = FALSE]
  picture_intervals(intervals_shown(
    stats::setNames(means[rows], sub(
      "^stationary probability of ", "", labels$label[rows]
    )),
    central_intervals(chosen, level), central_intervals(chosen, 0.5), level,
    xlab = "probability", note = note
  ))
}
