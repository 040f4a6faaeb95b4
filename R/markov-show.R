# Finite Markov chains: print and plot.

#' @rdname markov_chain
#' @export
print.markov_chain <- function(x, digits = 3, ...) {
  digits <- check_count(digits, 1, 22)
  x <- check_chain(x, rlang::current_env(), homogeneous = FALSE)
  p <- x$transition
  size <- length(states_of(x))
  cat("A Markov chain on ", counted(size, "state"), if (is_sparse(p)) {
    paste0(", with ", counted(length(p@x), "possible step"))
  }, "\n", sep = "")
  if (in_time(p)) {
    cat(if (is.function(p)) {
      "its transition matrix is a function of time"
    } else {
      paste("with a transition matrix for each of", counted(length(p), "step"))
    }, "\n", sep = "")
    return(invisible(x))
  }
  if (size <= 12L) {
    print(zapsmall(as.matrix(p), digits), digits = digits)
  }
  cat(chain_words(x), sep = "\n")
  invisible(x)
}

# What the classes of states say about the long run.
chain_words <- function(chain) {
  classes <- classes_of(chain$transition)
  closed <- classes$closed
  if (nrow(classes) == 1L) {
    period <- classes$period
    return(if (period == 1L) {
      "irreducible and aperiodic: converges to its stationary distribution"
    } else {
      paste0("irreducible with period ", period, ": does not converge")
    })
  }
  c(
    paste("reducible:", nrow(classes), "communicating classes"),
    paste0(
      if (sum(closed) == 1L) {
        "one closed class: one stationary distribution"
      } else {
        paste0(sum(closed), " closed classes: where the chain ends depends on ",
               "where it begins")
      },
      if (any(classes$period[closed] > 1L)) "; a closed class is periodic"
    )
  )
}


#' @rdname markov_chain
#' @export
plot.markov_chain <- function(x, type = NULL, labels = NULL, digits = 2, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  chain <- x
  x <- check_chain(x, call)
  size <- nrow(x$transition)
  x$transition <- dense_transition(x$transition, 3, call)
  type <- check_choice(
    type %||% if (size <= 20L) "graph" else "matrix", c("graph", "matrix")
  )
  digits <- check_count(digits, 1, 22)
  steps <- sum(x$transition > 0)
  labels <- if (is.null(labels)) steps <= 16L else check_flag(labels)
  old <- graphics::par(c("mar", "mgp"))
  on.exit(graphics::par(old))
  if (type == "graph") {
    record_drawing(
      draw_chain_graph, list(x, labels = labels, digits = digits, ...)
    )
  } else {
    record_drawing(draw_chain_matrix, list(x$transition, ...))
  }
  invisible(chain)
}

# ---- Distributions over time -------------------------------------------------

# `rows`: a vector of probabilities or a matrix, from beginnings to states, for
# each time.
new_state_after <- function(rows, times, states, chain) {
  names <- format(times, scientific = FALSE, trim = TRUE)
  out <- if (is.matrix(rows[[1L]])) {
    aperm(
      array(unlist(rows), c(dim(rows[[1L]]), length(rows)),
            list(states, states, names)), c(3L, 1L, 2L)
    )
  } else {
    matrix(unlist(rows), length(rows), byrow = TRUE,
           dimnames = list(names, states))
  }
  structure(
    out, times = times, chain = chain, class = c("state_after", class(out))
  )
}

# The table as it is, without what the picture needs.
plain_states <- function(x) {
  attr(x, "times") <- attr(x, "chain") <- NULL
  unclass(x)
}

#' @rdname markov_chain
#' @export
print.state_after <- function(x, digits = 3, ...) {
  digits <- check_count(digits, 1, 22)
  check_state_after(x, "x", rlang::current_env())
  print(plain_states(x), digits = digits)
  invisible(x)
}

# A panel for each state at the beginning, if there is no initial distribution.
picture_states <- function(x, ..., call, arg) {
  check_state_after(x, arg, call)
  chain <- check_chain(attr(x, "chain"), call, arg, homogeneous = FALSE)
  times <- attr(x, "times")
  states <- states_of(chain)
  values <- plain_states(x)
  from <- if (length(dim(values)) == 3L) utils::head(states, 9L)
  dim(values) <- c(length(times), length(values) / length(times) /
                     length(states), length(states))
  # those that are ever the most probable
  highest <- apply(values, 3L, max)
  shown <- sort(utils::head(order(-highest), 8L))
  note <- c(
    if (length(shown) < length(states)) {
      paste(length(shown), "of", length(states),
            "states: those with the largest probabilities")
    },
    if (length(from) < dim(values)[[2L]] && !is.null(from)) {
      paste("from the first", length(from), "of", length(states), "states")
    }
  )
  in_order <- order(times)
  tables <- lapply(seq_len(max(1L, length(from))), function(i) {
    data.frame(
      x = rep(times[in_order], length(shown)),
      y = as.vector(values[in_order, i, shown]),
      state = rep(states[shown], each = length(times))
    )
  })
  table <- if (is.null(from)) tables[[1L]] else in_panels(tables, from)
  limit <- if (!in_time(chain$transition)) {
    rows <- stationary_rows(chain$transition, call)
    if (nrow(rows) == 1L) data.frame(y = rows[1L, shown], state = states[shown])
  }
  dashed <- "stationary distribution"
  colours <- gibbsite_palette(length(shown))
  picture(
    table, list(
      if (!is.null(limit)) {
        picture_layer("hline", limit, paste(limit$state, "in the long run"))
      },
      picture_layer("line", cbind(table, group = table$state), table$state),
      picture_layer("point", table, table$state)
    ), rbind(
      plot_key(states[shown], colours, lty = 1, lwd = 1.5, pch = 21),
      plot_key(paste(states[shown], "in the long run"), colours, lty = 2,
               lwd = 1, shown = FALSE),
      if (!is.null(limit)) plot_key(dashed, "grey30", lty = 2, lwd = 1)
    ), x = picture_axis("step"),
    y = picture_axis("probability", floor = TRUE), note = note,
    panels = if (!is.null(from)) {
      data.frame(panel = from, title = paste("from", from))
    }
  )
}

#' @rdname markov_chain
#' @export
plot.state_after <- plot_method(picture_states)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.state_after <- autoplot_method(picture_states)

check_state_after <- function(x, arg, call) {
  size <- dim(x)
  whole <- is.numeric(x) && length(size) %in% 2:3 &&
    length(attr(x, "times")) == size[[1L]] &&
    is.numeric(attr(x, "times")) && length(dimnames(x)) == length(size) &&
    inherits(attr(x, "chain"), "markov_chain")
  if (!whole) check_made(list(), "times", "state_after()", arg, call)
}

draw_chain_matrix <- function(p, ...) {
  size <- nrow(p)
  line <- graphics::par("csi")
  states <- max(
    1.2, min(8, label_width(rownames(p)) / line + 0.8)
  )
  above <- if (is.null(list(...)$main)) 1.2 else 3
  old <- graphics::par(mar = c(1, states + 1.2, states + above, 5.6))
  on.exit(graphics::par(old))
  colours <- grDevices::hcl.colors(64L, "Blues", rev = TRUE)
  top <- scale_top(p)
  defaults <- list(
    x = seq_len(size), y = seq_len(size), z = t(p)[, size:1, drop = FALSE],
    col = colours, zlim = c(0, top), axes = FALSE, xlab = "", ylab = ""
  )
  do.call(graphics::image, utils::modifyList(defaults, list(...)))
  at <- unique(round(pretty(seq_len(size), min(size, 20L))))
  at <- at[at >= 1 & at <= size]
  short <- all(nchar(rownames(p)[at]) == 1L)
  graphics::axis(3, at, rownames(p)[at], las = if (short) 1 else 2,
                 tick = FALSE, line = -0.5, gap.axis = -1)
  graphics::axis(2, size + 1L - at, rownames(p)[at], las = 1, tick = FALSE,
                 line = -0.5, gap.axis = -1)
  graphics::mtext("to", side = 3, line = states)
  graphics::mtext("from", side = 2, line = states)
  graphics::box()
  draw_colour_scale(colours, top)
}

# The end of the scale of colours: of many states all probabilities may be
# small.
scale_top <- function(p) min(1, max(pretty(c(0, max(p)), 4L)))

# A scale from 0 to `top` in the right margin.
draw_colour_scale <- function(colours, top) {
  line <- graphics::par("csi")
  left <- graphics::grconvertX(1, "npc", "user") + graphics::xinch(0.8 * line)
  right <- left + graphics::xinch(0.9 * line)
  ends <- graphics::grconvertY(c(0.2, 0.8), "npc", "user")
  edges <- seq_range(ends, length(colours) + 1L)
  old <- graphics::par(xpd = NA)
  on.exit(graphics::par(old))
  graphics::rect(left, edges[-length(edges)], right, edges[-1L], col = colours,
                 border = NA)
  graphics::rect(left, ends[[1L]], right, ends[[2L]])
  graphics::text(
    right + graphics::xinch(0.3 * line), seq_range(ends, 3L),
    format(c(0, top / 2, top), drop0trailing = TRUE), adj = c(0, 0.5), cex = 0.8
  )
  graphics::text(
    left, ends[[2L]] + graphics::yinch(0.8 * line), "probability",
    adj = c(0.1, 0), cex = 0.8
  )
}

draw_chain_graph <- function(chain, labels, digits, ...) {
  old <- graphics::par(mar = c(1, 1, 2, 1))
  on.exit(graphics::par(old))
  p <- chain$transition
  size <- nrow(p)
  angle <- pi / 2 - 2 * pi * (seq_len(size) - 1) / size
  place <- if (size == 1L) cbind(0, 0) else cbind(cos(angle), sin(angle))
  limit <- stationary_rows(p)
  share <- if (nrow(limit) == 1L) limit[1L, ] else rep(1 / size, size)
  radius <- pmax(0.06, 0.28 * sqrt(share / max(share)) / sqrt(max(1, size / 4)))
  # loops and their labels are outside the states
  loops <- diag(p) > 0
  reach <- max(1.4, 1.34 + pmax(radius, 0.2)[loops])
  defaults <- list(
    x = 0, y = 0, type = "n", xlim = c(-1, 1) * reach, ylim = c(-1, 1) * reach,
    asp = 1, axes = FALSE, xlab = "", ylab = ""
  )
  do.call(plot, utils::modifyList(defaults, list(...)))
  # room for the names, a little smaller where the circle is
  wide <- graphics::strwidth(rownames(p))
  radius <- pmax(radius, pmin(0.25, 0.75 * wide / 2 * 1.15))
  letters <- pmax(0.4, pmin(1, 2 * radius / (1.15 * wide)))
  steps <- which(p > 0, arr.ind = TRUE)
  # the most probable steps are drawn last
  steps <- steps[order(p[steps]), , drop = FALSE]
  for (k in seq_len(nrow(steps))) {
    i <- steps[k, 1L]
    j <- steps[k, 2L]
    draw_step(place, radius, i, j, p[i, j], if (labels) {
      format(round(p[i, j], digits), digits = digits)
    })
  }
  graphics::symbols(
    place[, 1L], place[, 2L], circles = radius, inches = FALSE, add = TRUE,
    bg = "white", fg = gibbsite_palette(1), lwd = 2
  )
  graphics::text(place[, 1L], place[, 2L], rownames(p), cex = letters)
}

# An arrow along a bow from state i to state j, or a loop.
draw_step <- function(place, radius, i, j, probability, label) {
  colour <- grDevices::grey(0.65 * (1 - probability))
  width <- 0.5 + 3 * probability
  line <- if (i == j) {
    loop_points(place[i, ], radius[[i]])
  } else {
    bow_points(place[i, ], place[j, ], radius[[i]], radius[[j]])
  }
  graphics::lines(line, col = colour, lwd = width)
  end <- nrow(line)
  graphics::arrows(
    line[end - 1L, 1L], line[end - 1L, 2L], line[end, 1L], line[end, 2L],
    length = 0.1, col = colour, lwd = width
  )
  if (!is.null(label)) {
    at <- line[(end + 1L) %/% 2L, ]
    graphics::rect(
      at[[1L]] - 0.6 * graphics::strwidth(label, cex = 0.8),
      at[[2L]] - 0.8 * graphics::strheight(label, cex = 0.8),
      at[[1L]] + 0.6 * graphics::strwidth(label, cex = 0.8),
      at[[2L]] + 0.8 * graphics::strheight(label, cex = 0.8),
      col = "white", border = NA
    )
    graphics::text(at[[1L]], at[[2L]], label, cex = 0.8)
  }
}

# A quadratic curve that bends to the right, from rim to rim.
bow_points <- function(from, to, radius_from, radius_to) {
  along <- to - from
  middle <- (from + to) / 2 + 0.18 * c(along[[2L]], -along[[1L]])
  s <- seq(0, 1, length.out = 61L)
  line <- outer((1 - s)^2, from) + outer(2 * s * (1 - s), middle) +
    outer(s^2, to)
  away <- sqrt(rowSums((line - rep(from, each = 61L))^2)) > radius_from &
    sqrt(rowSums((line - rep(to, each = 61L))^2)) > radius_to + 0.01
  line[away, , drop = FALSE]
}

# A circle outside the state, on the side away from the middle.
loop_points <- function(at, radius) {
  out <- if (sum(at^2) > 0) at / sqrt(sum(at^2)) else c(0, 1)
  centre <- at + out * (radius + 0.09)
  turn <- atan2(out[[2L]], out[[1L]])
  s <- turn - pi + seq(0.5, 2 * pi + 0.1, length.out = 41L)
  line <- rep(centre, each = 41L) + 0.13 * cbind(cos(s), sin(s))
  outside <- sqrt(rowSums((line - rep(at, each = 41L))^2)) > radius
  line[outside, , drop = FALSE]
}
