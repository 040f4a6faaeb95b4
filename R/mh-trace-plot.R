# The picture of the steps of a run, for teaching.

#' @rdname mh_trace
#' @export
plot.mh_trace <- function(x, steps = NULL, chain = 1, variables = NULL,
                          xlim = NULL, ylim = NULL, ...) {
  check_no_more(...)
  call <- rlang::current_env()
  check_trace(x, call)
  chain <- check_count(
    chain, min = 1, max = length(x), max_why = "chains of the run", call = call
  )
  trace <- x[[chain]]
  parameters <- setdiff(names(trace), trace_columns)
  variables <- check_traced(variables, parameters, call)
  steps <- check_count(
    steps %||% nrow(trace), min = 1, max = nrow(trace),
    max_why = "steps of the run", arg = "steps", call = call
  )
  proposed <- as.matrix(trace[variables])
  points <- chain_points(proposed, trace$accepted)
  if (length(variables) == 1L) {
    step <- seq_len(nrow(trace))
    proposed <- cbind(step = step, proposed)
    points <- cbind(step, points)
  }
  draw_steps(
    proposed, points, trace$accepted, steps,
    check_range(xlim, "xlim", call) %||% finite_range(proposed[, 1L]),
    check_range(ylim, "ylim", call) %||% finite_range(proposed[, 2L]),
    step_words(trace, steps)
  )
  invisible(x)
}

check_trace <- function(x, call) {
  if (length(x) == 0L || !all(vapply(x, is_trace_table, NA))) {
    abort_argument("{.arg x} must be the value of {.fn mh_trace}.", call = call)
  }
}

is_trace_table <- function(trace) {
  if (!is.data.frame(trace) || nrow(trace) == 0L ||
        !all(trace_columns %in% names(trace))) {
    return(FALSE)
  }
  numbers <- trace[names(trace) != "accepted"]
  is.logical(trace$accepted) && !anyNA(trace$accepted) &&
    length(numbers) >= length(trace_columns) &&
    all(vapply(numbers, is.numeric, NA))
}

check_traced <- function(variables, known, call) {
  if (is.null(variables)) {
    return(utils::head(known, 2L))
  }
  variables <- check_subset(variables, known, arg = "variables", call = call)
  if (length(variables) > 2L) {
    abort_argument(
      "{.arg variables} must be one or two parameters.", call = call
    )
  }
  variables
}

check_range <- function(limits, arg, call) {
  if (is.null(limits)) {
    return(NULL)
  }
  limits <- check_numeric_vector(limits, length = 2L, arg = arg, call = call)
  if (limits[[1L]] >= limits[[2L]]) {
    abort_argument("{.arg {arg}} must be two increasing numbers.", call = call)
  }
  limits
}

finite_range <- function(x) {
  x <- x[is.finite(x)]
  limits <- if (length(x) > 0L) range(x) else c(0, 0)
  if (diff(limits) > 0) limits else limits + c(-1, 1)
}

step_words <- function(trace, steps) {
  last <- trace[steps, ]
  rate <- mean(trace$accepted[seq_len(steps)])
  paste0(
    "Step ", steps, ": ", if (last$accepted) "accepted" else "rejected",
    if (is.finite(last$log_ratio)) {
      paste0(", log ratio ", format(last$log_ratio, digits = 2))
    },
    "; accepted so far ", format(100 * rate, digits = 2), "%"
  )
}

# The chain's point after each step: the last accepted proposal. Before the
# first accepted one the point is not known.
chain_points <- function(proposed, accepted) {
  last <- cummax(ifelse(accepted, seq_along(accepted), 0L))
  proposed[ifelse(last > 0L, last, NA), , drop = FALSE]
}

# proposed, points: a row for each step, horizontal and vertical.
draw_steps <- function(proposed, points, accepted, steps, xlim, ylim, words) {
  colours <- gibbsite_palette(2L)
  now <- seq_len(steps)
  rejected <- now[!accepted[now]]
  at <- function(rows) data.frame(x = rows[, 1L], y = rows[, 2L])
  path <- at(points[now, , drop = FALSE])
  known <- path[!is.na(path$x) & !is.na(path$y), ]
  last <- if (steps > 1L) {
    data.frame(
      at(points[steps - 1L, , drop = FALSE]),
      xend = proposed[steps, 1L], yend = proposed[steps, 2L]
    )
  }
  draw_base(picture(
    path, list(
      picture_layer("point", at(proposed[rejected, , drop = FALSE]), "rejected",
                    0.5),
      picture_layer("line", known, "path", 0.5),
      picture_layer("point", data.frame(known, size = rep(1, nrow(known))),
                    "chain", 0.5),
      picture_layer("segment", last, if (accepted[[steps]]) "step" else {
        "rejected step"
      }),
      picture_layer("point", data.frame(
        utils::tail(known, 1L), size = rep(2.5, min(1L, nrow(known)))
      ), "now")
    ), rbind(
      plot_key("chain", colours[[1L]], pch = 19),
      plot_key("now", colours[[1L]], pch = 21),
      plot_key("rejected", colours[[2L]], pch = 4),
      plot_key("path", colours[[1L]], lty = 1, lwd = 1, shown = FALSE),
      plot_key(c("step", "rejected step"), colours, lty = 1:2, shown = FALSE)
    ), x = picture_axis(colnames(proposed)[[1L]], limits = xlim),
    y = picture_axis(colnames(proposed)[[2L]], limits = ylim), title = words
  ))
}

#' @export
print.mh_trace <- function(x, n = 10, ...) {
  n <- check_rows_shown(n)
  if (!all(vapply(x, is.data.frame, NA))) {
    return(invisible(print(unclass(x), ...)))
  }
  shown <- if (length(x) > 0L) max(1, floor(n / length(x)))
  for (k in seq_along(x)) {
    steps <- nrow(x[[k]])
    writeLines(paste0("Chain ", k, ": ", counted(steps, "step")))
    print(utils::head(x[[k]], shown), ...)
    if (steps > shown) {
      writeLines(paste0("... ", digits(steps - shown), " more: x[[", k, "]]"))
    }
  }
  invisible(x)
}
