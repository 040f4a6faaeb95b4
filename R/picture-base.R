# Pictures in base graphics.

# Draws a picture on a new page, or in the next figure of the user's page if it
# has one panel. given: graphical parameters of the user.
draw_base <- function(picture, given = list(), call = rlang::caller_env()) {
  if (length(given) > 0L) check_graphical(rlang::names2(given), call)
  several <- n_panels(picture) > 1L
  old <- graphics::par(c(
    "mar", "mgp", if (several) c("mfrow", "oma", "cex", "mex")
  ))
  on.exit(graphics::par(old))
  if (several) {
    graphics::par(mfrow = c(1L, 1L), oma = rep(0, 4))
  }
  record_drawing(draw_page, list(picture = picture, given = given))
}

check_graphical <- function(names, call) {
  known <- c(
    names(graphics::par(no.readonly = TRUE)),
    names(formals(graphics::plot.default))
  )
  strange <- setdiff(names, known)
  if (length(strange) > 0L) abort_extra(strange, call)
}

# draw() on a new figure, recorded as a whole: a page that is drawn again at
# another size runs it again. The caller restores `mar`.
record_drawing <- function(draw, arguments) {
  graphics::par(mar = rep(0, 4))
  graphics::plot.new()
  grDevices::recordGraphics(
    {
      graphics::par(new = TRUE)
      do.call(draw, arguments)
    },
    list(draw = draw, arguments = arguments), topenv()
  )
  invisible()
}

n_panels <- function(picture) {
  if (picture$layout == "pairs") {
    length(picture$names) * length(picture$names)
  } else {
    max(1L, nrow(picture$panels))
  }
}

draw_page <- function(picture, given) {
  old <- graphics::par(c(
    "fig", "mar", "mgp", "tcl", "las", "cex", "mex", "xpd", "pty"
  ))
  several <- n_panels(picture) > 1L
  on.exit(graphics::par(old[if (several) names(old) else names(old) != "fig"]))
  picture$layers <- in_parts(picture$layers)
  page <- page_layout(picture, given)
  for (i in seq_len(nrow(page$cells))) {
    draw_cell(picture, page, i, given)
  }
  draw_around(picture, page, given)
}

# ---- layout: all lengths in inches

# list(region, cells, size, edges, words): `region` the figure (left, bottom,
# width, height), `cells` a row for each panel, `size` of letters, `edges` the
# room around the panels, `words` the lines above them.
page_layout <- function(picture, given) {
  region <- page_region(n_panels(picture) > 1L)
  grid <- panel_grid(picture, region)
  size <- if (n_panels(picture) == 1L) 1 else if (max(grid) > 3L) 0.72 else 0.8
  graphics::par(cex = 1, mex = 1)
  line <- graphics::par("csi")
  words <- words_above(picture, given, region[["width"]])
  key <- shown_key(picture$key)
  rows <- key_rows(key, 0.98 * region[["width"]])
  titled <- !is.null(given$xlab %||% picture$x$title) ||
    !is.null(picture$panels$xlab)
  edges <- c(
    bottom = max(0, rows) * key_line() + line * (0.3 + 1.2 * titled * size),
    left = line *
      (0.2 + 1.3 * size * !is.null(given$ylab %||% picture$y$title)),
    top = line * (0.4 + 1.25 * length(words$title) + length(words$note)),
    right = 0.1
  )
  cells <- panel_cells(picture, grid, region, edges, size)
  list(
    region = region, cells = cells, size = size, edges = edges, words = words,
    key = key, key_rows = rows, grid = grid
  )
}

page_region <- function(several) {
  page <- graphics::par("din")
  fig <- if (several) c(0, 1, 0, 1) else graphics::par("fig")
  c(left = fig[[1L]] * page[[1L]], bottom = fig[[3L]] * page[[2L]],
    width = diff(fig[1:2]) * page[[1L]], height = diff(fig[3:4]) * page[[2L]])
}

# The title and the note in lines as long as the page is wide.
words_above <- function(picture, given, width) {
  lines <- function(words, size, font) {
    if (!is.character(words)) {
      return(words)
    }
    wide <- graphics::strwidth(words, "inches", cex = size, font = font)
    strwrap(words, max(10, floor(nchar(words) * 0.93 * width / wide)))
  }
  list(
    title = lines(given$main %||% picture$title, 1, 2),
    note = if (is.null(given$main)) lines(picture$note, 0.8, 1)
  )
}

# Rows and columns of the panels: as long as possible on their shorter side.
panel_grid <- function(picture, region) {
  n <- n_panels(picture)
  columns <- switch(picture$layout,
    stack = 1L,
    pairs = length(picture$names),
    picture$columns %||% {
      all <- seq_len(n)
      which.max(pmin(
        region[["width"]] / all / 1.3, region[["height"]] / ceiling(n / all)
      ))
    }
  )
  # pairs of panels stand side by side on a wide page, or if they are many
  if (identical(picture$columns, 2L) && n >= 8L &&
        (n > 12L || region[["width"]] > 1.15 * region[["height"]])) {
    columns <- 4L
  }
  c(ceiling(n / columns), columns)
}

# A row for each panel: panel, its row and column, left, right, bottom and top
# of its cell, and the margins in it for ticks and a title.
panel_cells <- function(picture, grid, region, edges, size) {
  n <- n_panels(picture)
  at <- seq_len(n)
  cells <- data.frame(
    panel = at, row = (at - 1L) %/% grid[[2L]] + 1L,
    column = (at - 1L) %% grid[[2L]] + 1L
  )
  line <- graphics::par("csi") * size
  room <- region[c("width", "height")] -
    c(edges[["left"]] + edges[["right"]], edges[["bottom"]] + edges[["top"]])
  ticks <- tick_room(picture, size, line, room[["width"]] / grid[[2L]])
  free <- c(x = picture$x$free, y = picture$y$free)
  cells$mleft <- ifelse(free[["y"]] | cells$column == 1L, ticks$left, 0.06)
  cells$mbottom <- ifelse(
    free[["x"]] | cells$row == grid[[1L]] | at > n - grid[[2L]], ticks$below,
    0.06
  )
  # the panels of a row are equally high
  cells$mbottom <- stats::ave(cells$mbottom, cells$row, FUN = max)
  cells$mtop <- if (is.null(picture$panels$title)) 0.02 else 1.45 * line
  cells$mright <- if (n == 1L) 0.1 else 0.08 + 0.3 * line * (!free[["y"]])
  sizes <- function(margins, total, share) {
    inner <- max(total - sum(margins), 0.2 * total)
    margins + inner * share / sum(share)
  }
  widths <- sizes(
    tapply(cells$mleft + cells$mright, cells$column, max), room[["width"]],
    rep(1, grid[[2L]])
  )
  share <- if (picture$layout == "stack") picture$panels$size else 1
  heights <- sizes(
    tapply(cells$mbottom + cells$mtop, cells$row, max), room[["height"]],
    rep_len(share, grid[[1L]])
  )
  left <- region[["left"]] + edges[["left"]] + cumsum(c(0, widths))
  top <- region[["bottom"]] + region[["height"]] - edges[["top"]] -
    cumsum(c(0, heights))
  cells$left <- left[cells$column]
  cells$right <- left[cells$column + 1L]
  cells$top <- top[cells$row]
  cells$bottom <- top[cells$row + 1L]
  # a small page has smaller margins
  high <- cells$top - cells$bottom
  tight <- pmin(1, 0.75 * high / (cells$mtop + cells$mbottom))
  cells[c("mtop", "mbottom")] <- cells[c("mtop", "mbottom")] * tight
  cells
}

# Inches of the labels of ticks: list(left, below, names): `names`, the size of
# labels at the left; turned: whether those below are.
tick_room <- function(picture, size, line, width) {
  if (is.null(picture$y$at)) {
    # the ticks of nice_ticks() for any height of the panel
    numbers <- unlist(lapply(heights_shown(picture), function(limits) {
      unlist(lapply(1:5, function(n) {
        ticks <- pretty(grDevices::extendrange(limits, f = 0.04), n)
        tick_labels(ticks[ticks >= limits[[1L]] & ticks <= limits[[2L]]])
      }))
    }))
  }
  labels <- picture$y$labels %||% numbers
  left <- label_width(labels, if (is.null(picture$y$at)) size else 0.9 * size)
  turned <- is_turned(picture, size, width)
  list(
    # left_labels() leaves 0.1 inches free
    left = min(left, 0.45 * width) + max(0.65 * line, 0.105),
    below = if (turned) {
      label_width(picture$x$labels, 0.9 * size) + 0.7 * line
    } else {
      1.5 * line
    }
  )
}

# The limits of the vertical axes that have ticks.
heights_shown <- function(picture) {
  if (picture$layout == "pairs") {
    return(lapply(seq_along(picture$names), pair_limits, picture = picture))
  }
  panels <- panel_names(picture)
  bare <- vapply(panels, function(panel) {
    isTRUE(panel_row(picture, panel)$no_y)
  }, NA)
  lapply(panels[!bare], axis_limits, picture = picture, axis = "y")
}

# Numbers of an axis, in powers of ten only where others would be long.
tick_labels <- function(ticks) format(ticks, scientific = 4)

# Names that do not fit side by side are turned.
is_turned <- function(picture, size, width) {
  labels <- picture$x$labels
  is.character(labels) &&
    label_width(labels, 0.9 * size) > 0.9 * (width - 0.5) / length(labels)
}

panel_names <- function(picture) {
  if (is.null(picture$panels)) NA else as.character(picture$panels$panel)
}

panel_row <- function(picture, panel) {
  picture$panels[picture$panels$panel == panel, , drop = FALSE]
}

# The limits of an axis of a panel, without a margin.
axis_limits <- function(picture, axis, panel) {
  spec <- picture[[axis]]
  if (!is.null(spec$limits)) {
    return(spec$limits)
  }
  panel <- if (spec$free && !is.null(picture$panels)) panel
  named <- is.character(spec$labels)
  out <- layer_range(picture, axis, panel, wide = !named)
  if (spec$floor) out[[1L]] <- 0
  # half a row above and below names
  if (named) out + c(-0.5, 0.5) else out
}

# ---- a panel

draw_cell <- function(picture, page, i, given) {
  cell <- page$cells[i, ]
  din <- graphics::par("din")
  several <- nrow(page$cells) > 1L
  fig <- c(cell$left / din[[1L]], cell$right / din[[1L]],
           cell$bottom / din[[2L]], cell$top / din[[2L]])
  mai <- c(cell$mbottom, cell$mleft, cell$mtop, cell$mright)
  if (several) {
    graphics::par(fig = pmin(pmax(fig, 0), 1), new = TRUE)
  } else {
    mai <- mai + page$edges[c("bottom", "left", "top", "right")]
    graphics::par(new = TRUE)
  }
  graphics::par(
    cex = page$size, mai = mai, mgp = c(1.5, 0.45, 0), tcl = -0.25, las = 1,
    xpd = FALSE, pty = "m"
  )
  if (picture$layout == "pairs" && cell$row == cell$column) {
    return(draw_diagonal(picture, cell, page, given))
  }
  panel <- if (picture$layout == "pairs") {
    paste(cell$row, cell$column)
  } else {
    panel_names(picture)[[i]]
  }
  x <- axis_limits(picture, "x", panel)
  y <- axis_limits(picture, "y", panel)
  if (picture$layout == "pairs") {
    x <- pair_limits(picture, cell$column)
    y <- pair_limits(picture, cell$row)
  }
  open_panel(picture, x, y, given)
  draw_axes(picture, cell, page, panel, given)
  for (layer in picture$layers) {
    data <- of_panel(layer, if (!is.na(panel)) panel)
    if (nrow(data) > 0L) {
      draw_layer(layer$kind, data, picture$key)
    }
  }
  if (!is.null(picture$panels$title)) {
    title_panel(panel_row(picture, panel))
  }
}

pair_limits <- function(picture, number) {
  rows <- vapply(picture$panels$panel, function(panel) {
    strsplit(as.character(panel), " ")[[1L]][[2L]] == number
  }, NA)
  range(vapply(picture$panels$panel[rows], function(panel) {
    layer_range(picture, "x", panel)
  }, c(0, 0)))
}

# The name of a variable.
draw_diagonal <- function(picture, cell, page, given) {
  limits <- pair_limits(picture, cell$row)
  open_panel(picture, limits, limits, given)
  draw_axes(picture, cell, page, NA, given)
  word <- picture$names[[cell$row]]
  room <- 0.95 * graphics::par("pin")[[1L]]
  size <- min(1.3, room / graphics::strwidth(word, "inches", cex = 1))
  graphics::text(mean(limits), mean(limits), word, cex = size)
}

open_panel <- function(picture, x, y, given) {
  tight <- function(spec) {
    if (spec$floor || is.character(spec$labels)) "i" else "r"
  }
  if (picture$y$floor) y <- c(0, 1.04) * y
  defaults <- list(
    x = NA, y = NA, type = "n", xlim = x, ylim = y, xlab = "", ylab = "",
    xaxt = "n", yaxt = "n", bty = if (picture$layout == "pairs") "o" else "l",
    xaxs = tight(picture$x), yaxs = tight(picture$y),
    asp = if (picture$square) 1 else NA,
    log = paste0("", if (picture$x$log) "x", if (picture$y$log) "y")
  )
  if (is.character(picture$y$labels)) defaults$bty <- "n"
  # words and axes are drawn apart
  kept <- setdiff(
    names(given), c("main", "xlab", "ylab", "xaxt", "yaxt", "sub")
  )
  do.call(graphics::plot, utils::modifyList(defaults, given[kept]))
}

draw_axes <- function(picture, cell, page, panel, given) {
  no_y <- !is.na(panel) && isTRUE(panel_row(picture, panel)$no_y)
  if ((picture$x$free || cell$mbottom > 0.07) && !identical(given$xaxt, "n")) {
    draw_axis(1, picture$x, page$size)
  }
  if ((picture$y$free || cell$mleft > 0.07) && !no_y &&
        !identical(given$yaxt, "n")) {
    draw_axis(2, picture$y, page$size)
  }
}

draw_axis <- function(side, spec, size) {
  if (!is.character(spec$labels)) {
    ticks <- spec$at %||% nice_ticks(side)
    labels <- if (spec$log) plain_numbers(ticks) else tick_labels(ticks)
    # as long as the panel: R's own axis ends at its last tick
    ends <- axis_ends(side)
    graphics::axis(side, if (spec$log) 10^ends else ends, FALSE, lwd.ticks = 0)
    return(invisible(graphics::axis(side, ticks, labels, lwd = 0,
                                    lwd.ticks = 1, gap.axis = 0.3)))
  }
  if (side == 2) {
    return(left_labels(spec$at, spec$labels))
  }
  width <- graphics::par("pin")[[1L]]
  turned <- label_width(spec$labels, 0.9 * size) > 0.9 * width /
    length(spec$labels)
  graphics::axis(1, spec$at, spec$labels, las = if (turned) 2 else 1,
                 gap.axis = -1, cex.axis = 0.9)
}

# The coordinates at which an axis of the panel begins and ends.
axis_ends <- function(side) {
  graphics::par("usr")[if (side == 1) 1:2 else 3:4]
}

# The ticks of an axis: as many as there is room for, at least two.
nice_ticks <- function(side) {
  if (graphics::par(if (side == 1) "xlog" else "ylog")) {
    return(graphics::axTicks(side))
  }
  range <- axis_ends(side)
  choices <- lapply(5:1, function(n) {
    ticks <- pretty(range, n)
    ticks[ticks >= range[[1L]] & ticks <= range[[2L]]]
  })
  choices <- choices[lengths(choices) >= 2L]
  line <- graphics::par("csi") * graphics::par("cex")
  for (ticks in choices) {
    needed <- if (side == 1) {
      length(ticks) * (label_width(tick_labels(ticks), 1) + 0.5 * line)
    } else {
      1.6 * line * length(ticks)
    }
    if (needed <= graphics::par("pin")[[side]]) return(ticks)
  }
  if (length(choices) > 0L) choices[[length(choices)]] else signif(range, 3)
}

# Names at the left of a panel, in letters that do not overlap and shortened
# where they would need more than their margin.
left_labels <- function(at, labels) {
  usr <- graphics::par("usr")
  here <- at >= usr[[3L]] & at <= usr[[4L]]
  if (!any(here)) {
    return(invisible())
  }
  row <- graphics::par("pin")[[2L]] / diff(usr[3:4])
  # a letter takes three quarters of its line
  size <- max(0.3, min(0.9, 1.2 * row / graphics::par("csi") /
                         graphics::par("cex")))
  labels <- fitting(labels[here], graphics::par("mai")[[2L]] - 0.1, size)
  end <- graphics::grconvertX(0, "npc", "inches") - 0.08
  graphics::text(
    graphics::grconvertX(end, "inches", "user"), at[here], labels,
    adj = c(1, 0.5), cex = size, xpd = NA
  )
}

# Words no wider than `inches`.
fitting <- function(words, inches, size) {
  for (i in seq_along(words)) {
    while (nchar(words[[i]]) > 4L && label_width(words[[i]], size) > inches) {
      words[[i]] <- paste0(substr(words[[i]], 1L, nchar(words[[i]]) - 3L), "..")
    }
  }
  words
}

# The name on the left, what is measured on the right if there is room. A name
# that is longer than the panel begins above the labels at its left.
title_panel <- function(panel) {
  room <- graphics::par("fin")[[1L]] - 0.1
  size <- min(1, room / max(0.01, label_width(panel$title, 1.05)))
  wide <- size * graphics::strwidth(panel$title, "inches", cex = 0.95, font = 2)
  right <- graphics::par("pin")[[1L]] + graphics::par("mai")[[4L]]
  left <- min(0, right - wide) / graphics::par("pin")[[1L]]
  graphics::mtext(panel$title, adj = 0, line = 0.3, font = 2,
                  at = graphics::grconvertX(left, "npc", "user"),
                  cex = 0.95 * size * graphics::par("cex"))
  note <- panel$note
  if (is.null(note) || is.na(note)) {
    return(invisible())
  }
  room <- graphics::par("pin")[[1L]] - label_width(panel$title, 1.05)
  if (label_width(note, 0.95) < room) {
    graphics::mtext(note, adj = 1, line = 0.3, col = "grey35",
                    cex = 0.9 * graphics::par("cex"))
  }
}

# ---- layers

draw_layer <- function(kind, data, key) {
  look <- key[match(data$key, key$label), ]
  look$lty[is.na(look$lty)] <- 1
  colour <- faded(look$col, data$alpha)
  fill <- faded(look$fill, data$alpha)
  switch(kind,
    line = , step = each_group(data, function(rows) {
      graphics::lines(
        data$x[rows], data$y[rows], col = colour[[rows[[1L]]]],
        lty = look$lty[[rows[[1L]]]], lwd = look$lwd[[rows[[1L]]]],
        type = if (kind == "step") "s" else "l"
      )
    }),
    band = each_group(data, function(rows) {
      graphics::polygon(
        c(data$x[rows], rev(data$x[rows])),
        c(data$lower[rows], rev(data$upper[rows])), border = NA,
        col = fill[[rows[[1L]]]]
      )
    }),
    segment = graphics::segments(
      data$x, data$y, data$xend, data$yend, col = colour, lty = look$lty,
      lwd = look$lwd, lend = 1
    ),
    arrow = graphics::arrows(
      data$x, data$y, data$xend, data$yend, col = colour, lwd = look$lwd,
      length = 0.07
    ),
    rect = draw_rects(data, fill, look$col),
    point = graphics::points(
      data$x, data$y, pch = look$pch, col = colour, bg = "white",
      cex = 0.55 * (data$size %||% 1.5)
    ),
    text = graphics::text(
      data$x, data$y, data$label, col = colour, cex = 0.85, xpd = NA
    ),
    vline = graphics::abline(v = data$x, col = colour, lty = look$lty,
                             lwd = look$lwd),
    hline = graphics::abline(h = data$y, col = colour, lty = look$lty,
                             lwd = look$lwd),
    diagonal = graphics::abline(0, 1, col = colour, lty = look$lty,
                                lwd = look$lwd),
    rug = draw_rug(data$x, 1, colour),
    yrug = draw_rug(data$y, 2, colour)
  )
}

faded <- function(colour, alpha) {
  code <- grDevices::col2rgb(colour, alpha = TRUE) / 255
  out <- grDevices::rgb(code[1L, ], code[2L, ], code[3L, ], code[4L, ] * alpha)
  out[is.na(colour)] <- NA
  out
}

each_group <- function(data, draw) {
  rows <- seq_len(nrow(data))
  by <- interaction(data$group %||% 0L, data$key, drop = TRUE)
  for (group in split(rows, by)) draw(group)
}

draw_rects <- function(data, fill, border) {
  usr <- graphics::par("usr")
  at <- function(values, low, high) {
    values[values == -Inf] <- low
    values[values == Inf] <- high
    values
  }
  graphics::rect(
    at(data$xmin, usr[[1L]], usr[[2L]]), at(data$ymin, usr[[3L]], usr[[4L]]),
    at(data$xmax, usr[[1L]], usr[[2L]]), at(data$ymax, usr[[3L]], usr[[4L]]),
    col = fill, border = border
  )
}

# side: of the panel on which the ticks stand.
draw_rug <- function(at, side, colour) {
  ends <- axis_ends(3 - side)
  low <- ends[[1L]]
  high <- low + 0.025 * diff(ends)
  if (side == 1) {
    graphics::segments(at, low, at, high, col = colour)
  } else {
    graphics::segments(low, at, high, at, col = colour)
  }
}

# ---- around the panels: titles, notes, the key

draw_around <- function(picture, page, given) {
  din <- graphics::par("din")
  x <- function(inches) graphics::grconvertX(inches / din[[1L]], "ndc", "user")
  y <- function(inches) graphics::grconvertY(inches / din[[2L]], "ndc", "user")
  usual <- graphics::par("cex")
  graphics::par(xpd = NA, cex = 1)
  on.exit(graphics::par(cex = usual))
  region <- page$region
  line <- graphics::par("csi")
  above <- region[["bottom"]] + region[["height"]] - 0.75 * line
  middle <- c(
    min(page$cells$left + page$cells$mleft), max(page$cells$right),
    min(page$cells$bottom + page$cells$mbottom), max(page$cells$top)
  )
  if (nrow(page$cells) == 1L) {
    middle[[1L]] <- region[["left"]] + graphics::par("mai")[[2L]]
  }
  for (word in page$words$title) {
    graphics::text(x(middle[[1L]]), y(above), word, adj = c(0, 0.5), font = 2)
    above <- above - 1.25 * line
  }
  for (word in page$words$note) {
    graphics::text(x(region[["left"]] + 0.08), y(above), word, cex = 0.8,
                   adj = c(0, 0.5), col = "grey30")
    above <- above - line
  }
  low <- region[["bottom"]] + max(0, page$key_rows) * key_line() +
    0.2 * line + 0.25 * line * page$size
  draw_along(picture, page, given, x, y(low), middle)
  title <- given$ylab %||% picture$y$title
  if (!is.null(title)) {
    graphics::text(
      x(region[["left"]] + 0.2 * line + 0.6 * line * page$size),
      y(mean(middle[3:4])), title, srt = 90,
      cex = page$size * shrink(title, diff(middle[3:4]), page$size)
    )
  }
  draw_key(page$key, page$key_rows, region, x, y)
}

# Titles of the horizontal axes: one, or one for each column of panels.
draw_along <- function(picture, page, given, x, low, middle) {
  own <- picture$panels$xlab
  if (is.null(own)) {
    title <- given$xlab %||% picture$x$title
    if (!is.null(title)) {
      graphics::text(
        x(mean(middle[1:2])), low, title, adj = c(0.5, 0),
        cex = page$size * shrink(title, diff(middle[1:2]), page$size)
      )
    }
    return(invisible())
  }
  for (i in seq_len(min(page$grid[[2L]], nrow(page$cells)))) {
    cell <- page$cells[i, ]
    wide <- cell$right - cell$left - cell$mleft
    graphics::text(
      x((cell$left + cell$mleft + cell$right) / 2), low, own[[i]],
      adj = c(0.5, 0), cex = page$size * shrink(own[[i]], 1.1 * wide, page$size)
    )
  }
}

shrink <- function(words, inches, size) {
  if (!is.character(words)) {
    return(1)
  }
  min(1, inches / max(0.01, label_width(words, size)))
}

key_size <- 0.8

# The inches that symbols and labels take, each entry for itself.
key_widths <- function(key) {
  graphics::strwidth(key$label, units = "inches", cex = key_size) +
    3.4 * key_unit()
}

# The width of an m at the size of a key's labels.
key_unit <- function() {
  graphics::strwidth("m", units = "inches", cex = key_size)
}

# The row of each entry: as many entries in a row as `inches` hold.
key_rows <- function(key, inches) {
  row <- 1L
  used <- 0
  rows <- integer(nrow(key))
  width <- key_widths(key)
  for (i in seq_along(rows)) {
    if (used > 0 && used + width[[i]] > inches) {
      row <- row + 1L
      used <- 0
    }
    used <- used + width[[i]]
    rows[[i]] <- row
  }
  rows
}

# Inches of one row of a key.
key_line <- function() {
  1.25 * graphics::strheight("M", units = "inches", cex = 1) + 0.03
}

# Draws a key at the bottom of the region. rows: of key_rows(); x(), y(): from
# inches of the page to the coordinates of the last panel.
draw_key <- function(key, rows, region, x, y) {
  widths <- key_widths(key)
  for (row in unique(rows)) {
    these <- which(rows == row)
    left <- region[["left"]] + (region[["width"]] - sum(widths[these])) / 2 +
      cumsum(c(0, widths[these]))[seq_along(these)]
    height <- region[["bottom"]] + (max(rows) - row + 0.6) * key_line()
    for (i in seq_along(these)) {
      draw_key_entry(key[these[[i]], ], left[[i]], height, x, y)
    }
  }
}

draw_key_entry <- function(one, left, height, x, y) {
  unit <- key_unit()
  middle <- left + 1.1 * unit
  if (!is.na(one$fill)) {
    graphics::rect(
      x(middle - 0.9 * unit), y(height - 0.45 * unit), x(middle + 0.9 * unit),
      y(height + 0.45 * unit), col = one$fill, border = NA
    )
  }
  if (!is.na(one$lty)) {
    graphics::segments(
      x(middle - unit), y(height), x(middle + unit), y(height), col = one$col,
      lty = one$lty, lwd = max(one$lwd, 1.5), lend = 1
    )
  }
  if (!is.na(one$pch)) {
    graphics::points(
      x(middle), y(height), pch = one$pch, col = one$col, bg = "white",
      cex = 0.9
    )
  }
  graphics::text(
    x(left + 2.5 * unit), y(height), one$label, adj = c(0, 0.45), cex = key_size
  )
}

# Inches that labels of an axis take.
label_width <- function(labels, cex = graphics::par("cex.axis")) {
  max(0, graphics::strwidth(labels, units = "inches", cex = cex))
}
