# The picture of the steps of a run, for teaching.

# The table has a row for each point of the paths: x, y, panel.
picture_steps <- function(x, steps = NULL, chain = NULL, variables = NULL,
                          log_density = NULL, xlim = NULL, ylim = NULL, ...,
                          call, arg) {
  check_trace(x, call, arg)
  chain <- check_chains_drawn(chain, x, call)
  traces <- x[chain]
  parameters <- Reduce(intersect, lapply(traces, names))
  variables <- check_traced(variables, setdiff(parameters, trace_columns), call)
  longest <- max(vapply(traces, nrow, 0L))
  steps <- check_count(
    steps %||% longest, min = 1, max = longest,
    max_why = "steps of the run", arg = "steps", call = call
  )
  log_density <- drawn_density(log_density, traces, variables, call)
  xlim <- check_range(xlim, "xlim", call)
  ylim <- check_range(ylim, "ylim", call)
  paths <- lapply(traces, path_of, variables = variables)
  axes <- steps_axes(paths, log_density, xlim, ylim)
  several <- length(traces) > 1L
  panels <- names(traces) %||% paste("chain", chain)
  parts <- lapply(paths, path_parts, steps = steps)
  part <- function(name) {
    tables <- lapply(parts, `[[`, name)
    if (several) in_panels(tables, panels) else tables[[1L]]
  }
  titles <- axis_names(variables)
  picture(
    part("path"), c(
      list(picture_layer("line", axes$contours, "target")), list(
        picture_layer("point", part("rejected"), "rejected", 0.5),
        picture_layer("line", part("path"), "path", 0.5),
        picture_layer("point", part("points"), "chain", 0.5),
        picture_layer("segment", part("accepted"), "step"),
        picture_layer("segment", part("refused"), "rejected step"),
        picture_layer("point", part("now"), "now")
      )
    ), steps_key(NROW(axes$contours) > 0L, any(vapply(
      paths, function(path) any(!path$accepted, na.rm = TRUE), NA
    ))),
    x = picture_axis(titles[[1L]], limits = axes$xlim),
    y = picture_axis(titles[[2L]], limits = axes$ylim),
    title = if (!several) step_words(traces[[1L]], steps),
    panels = if (several) {
      data.frame(panel = panels, title = unlist(Map(
        panel_words, panels, traces, paths
      )))
    }
  )
}

#' @rdname mh_trace
#' @export
plot.mh_trace <- plot_method(picture_steps)

#' @rdname mh_trace
#' @exportS3Method ggplot2::autoplot
autoplot.mh_trace <- autoplot_method(picture_steps)

axis_names <- function(variables) {
  if (length(variables) == 1L) c("step", variables) else variables
}

steps_key <- function(contours, rejections) {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("chain", colours[[1L]], pch = 19),
    plot_key("now", colours[[1L]], pch = 21),
    plot_key("rejected", colours[[2L]], pch = 4, shown = rejections),
    plot_key("target", "grey65", lty = 1, lwd = 1, shown = contours),
    plot_key("path", colours[[1L]], lty = 1, lwd = 1, shown = FALSE),
    plot_key(c("step", "rejected step"), colours, lty = 1:2, shown = FALSE)
  )
}

check_chains_drawn <- function(chain, x, call) {
  if (is.null(chain)) {
    first <- which(vapply(x, function(trace) isTRUE(attr(trace, "first")), NA))
    return(if (length(first) > 0L) first else 1L)
  }
  single <- function(one) {
    check_count(one, min = 1, max = length(x), max_why = "chains of the run",
                arg = "chain", call = call)
  }
  if (!is.numeric(chain) || is.object(chain) || length(chain) < 2L) {
    return(single(chain))
  }
  if (length(chain) <= length(x)) chain <- vapply(chain, single, 0)
  if (length(chain) > length(x) || anyDuplicated(chain) > 0L) {
    abort_argument("{.arg chain} must be the numbers of different chains.",
                   call = call)
  }
  chain
}

# NULL, or a function of the two coordinates drawn.
drawn_density <- function(log_density, traces, variables, call) {
  if (isFALSE(log_density)) {
    return(NULL)
  }
  if (length(variables) < 2L) {
    if (!is.null(log_density)) {
      abort_argument("{.arg log_density} must be NULL with one variable.",
                     call = call)
    }
    return(NULL)
  }
  if (is.null(log_density)) {
    own <- attr(traces[[1L]], "log_density")
    at <- match(setdiff(names(traces[[1L]]), trace_columns), variables)
    return(if (!is.null(own)) function(point) own(point[at]))
  }
  if (!is.function(log_density)) {
    abort_expected(
      log_density, "NULL, FALSE or a function of the two parameters", FALSE,
      "log_density", call
    )
  }
  function(point) {
    value <- tryCatch(
      log_density(stats::setNames(point, variables)),
      error = function(cnd) {
        abort_argument(
          "{.arg log_density} stopped with an error.", call = call, parent = cnd
        )
      }
    )
    if (!is_plain_number(value)) {
      abort_argument(
        "{.arg log_density} must return one number, not {describe(value)}.",
        call = call
      )
    }
    if (is.nan(value) || value == Inf) -Inf else value
  }
}

# list(proposed, points, accepted, start, time): two columns of each; time: the
# autocorrelation time in sweeps.
path_of <- function(trace, variables) {
  proposed <- as.matrix(trace[variables])
  start <- attr(trace, "start")
  if (!is.null(start)) {
    names(start) <- setdiff(names(trace), trace_columns)
    start <- start[variables]
  }
  points <- chain_points(proposed, trace$accepted, start)
  # after the last block of each sweep
  sweeps <- points[!duplicated(trace$sweep, fromLast = TRUE), , drop = FALSE]
  out <- list(
    proposed = proposed, points = points, accepted = trace$accepted,
    start = start, time = time_of_steps(sweeps)
  )
  if (length(variables) == 1L) {
    step <- seq_len(nrow(trace))
    out[c("proposed", "points")] <- list(
      cbind(step = step, proposed), cbind(step = step, points)
    )
    if (!is.null(start)) out$start <- c(0, start)
  }
  out
}

# The longest autocorrelation time of the columns; NA if one never moved.
time_of_steps <- function(draws) {
  draws <- draws[rowSums(is.na(draws)) == 0, , drop = FALSE]
  if (nrow(draws) < 4L) NA_real_ else max(autocorrelation_time(draws))
}

panel_words <- function(name, trace, path) {
  paste0(
    name, ": ", format(100 * mean(trace$accepted), digits = 2),
    "% accepted, autocorrelation time ", if (is.na(path$time)) {
      "unknown"
    } else {
      format(path$time, digits = 2)
    }
  )
}

# list(xlim, ylim, contours): given axes, or those that contain the points and
# the contours; without contours all proposals.
steps_axes <- function(paths, log_density, xlim, ylim) {
  stacked <- function(name) do.call(rbind, lapply(paths, `[[`, name))
  given <- list(xlim, ylim)
  limits <- function(rows) {
    Map(function(own, j) own %||% finite_range(rows[, j]), given, 1:2)
  }
  if (is.null(log_density)) {
    ends <- limits(rbind(stacked("proposed"), stacked("start")))
    return(list(xlim = ends[[1L]], ylim = ends[[2L]]))
  }
  points <- rbind(stacked("points"), stacked("start"))
  if (all(is.na(points))) points <- stacked("proposed")
  ends <- limits(points)
  free <- vapply(given, is.null, NA)
  ends[free] <- lapply(ends[free], grDevices::extendrange, f = 0.1)
  # wider until the lowest contour is closed
  for (attempt in 1:6) {
    grid <- lapply(ends, seq_range, n = 60L)
    density <- density_on(grid, log_density)
    high <- density > contour_levels[[1L]]
    open <- list(
      c(any(high[1L, ]), any(high[60L, ])), c(any(high[, 1L]), any(high[, 60L]))
    )
    open[!free] <- list(c(FALSE, FALSE))
    if (attempt == 6L || !any(unlist(open))) break
    ends <- Map(function(limits, open) {
      limits + c(-0.3, 0.3) * open * diff(limits)
    }, ends, open)
  }
  # a constant density has no contours
  contours <- if (diff(range(density)) > 0) {
    # narrow ridges need a finer grid
    grid <- lapply(ends, seq_range, n = 120L)
    density <- density_on(grid, log_density)
    contour_lines(grid[[1L]], grid[[2L]], density)
  }
  list(xlim = ends[[1L]], ylim = ends[[2L]], contours = contours)
}

# The density on a grid, in units of its largest value.
density_on <- function(grid, log_density) {
  value <- apply(as.matrix(expand.grid(grid)), 1L, function(point) {
    log_density(unname(point))
  })
  top <- max(value)
  matrix(if (top == -Inf) 0 else exp(value - top), length(grid[[1L]]))
}

check_trace <- function(x, call, arg) {
  if (length(x) == 0L || !all(vapply(x, is_trace_table, NA))) {
    abort_argument("{.arg {arg}} must be the value of {.fn mh_trace}.",
                   call = call)
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
  if (is.nan(last$uniform) && identical(last$log_ratio, 0)) {
    return(paste0(
      "Step ", steps, ": block ", last$block, " of sweep ",
      digits(last$sweep), ", drawn from its conditional"
    ))
  }
  rate <- mean(trace$accepted[seq_len(steps)])
  paste0(
    "Step ", steps, ": ", if (last$accepted) "accepted" else "rejected",
    if (is.finite(last$log_ratio)) {
      paste0(", log ratio ", format(last$log_ratio, digits = 2))
    },
    "; accepted so far ", format(100 * rate, digits = 2), "%"
  )
}

# The chain's point after each step: the last accepted proposal, and before the
# first accepted one the start, if it is known.
chain_points <- function(proposed, accepted, start) {
  last <- cummax(ifelse(accepted, seq_along(accepted), 0L))
  out <- proposed[ifelse(last > 0L, last, NA), , drop = FALSE]
  if (!is.null(start)) {
    first <- which(last == 0L)
    out[first, ] <- rep(start, each = length(first))
  }
  out
}

# What is drawn of a path: data frames of x and y.
path_parts <- function(path, steps) {
  steps <- min(steps, length(path$accepted))
  now <- seq_len(steps)
  at <- function(rows) data.frame(x = rows[, 1L], y = rows[, 2L])
  points <- rbind(path$start, path$points[now, , drop = FALSE])
  known <- at(points)
  known <- known[!is.na(known$x) & !is.na(known$y), ]
  before <- nrow(points) - 1L
  last <- if (before > 0L) {
    data.frame(
      at(points[before, , drop = FALSE]), xend = path$proposed[steps, 1L],
      yend = path$proposed[steps, 2L]
    )
  }
  moved <- path$accepted[[steps]]
  sized <- function(rows, size) data.frame(rows, size = rep(size, nrow(rows)))
  list(
    path = known, points = sized(known, 1),
    rejected = at(path$proposed[now[!path$accepted[now]], , drop = FALSE]),
    accepted = if (moved) last, refused = if (!moved) last,
    now = sized(utils::tail(known, 1L), 2.5)
  )
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
