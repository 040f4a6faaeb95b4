# Keys of pictures: what lines, points and areas mean, in rows below the plot.

# Entries of a key, recycled: `lty`, `pch` NA for no line or point, `fill` NA
# for no box.
plot_key <- function(label, col = "black", lty = NA, lwd = 2, pch = NA,
                     fill = NA) {
  data.frame(label = label, col = col, lty = lty, lwd = lwd, pch = pch,
             fill = fill)
}

key_size <- 0.8

percent <- function(level) paste0(format(100 * level), "%")

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

# Margins in inches of a plot with its key below the title of the x axis;
# `lines`: margins without the key.  Returns the former parameters.
open_keyed <- function(key, lines = c(3.8, 4.1, 1.6, 1.1), ...) {
  line <- graphics::par("csi") * graphics::par("mex")
  inches <- lines * line
  # a plot of its own fills the page, a panel a part of it
  width <- graphics::par("din")[[1L]] / graphics::par("mfrow")[[2L]]
  if (!is.null(key)) {
    rows <- max(key_rows(key, 0.98 * width))
    inches[[1L]] <- inches[[1L]] + rows * key_line()
  }
  set_par(mai = inches, mgp = c(2.4, 0.7, 0), ...)
}

# par() with margins in inches. What it returns restores them in lines: R would
# else hold the inches when the size of letters changes with mfrow.
set_par <- function(...) {
  given <- list(...)
  old <- graphics::par(unique(sub("mai", "mar", names(given))))
  if (length(given) > 0L) {
    graphics::par(given)
  }
  old
}

# Draws a key at the bottom of the figure.
draw_key <- function(key) {
  figure <- graphics::par("fin")
  # from inches of the figure to the coordinates of the plot
  x <- function(inches) {
    graphics::grconvertX(inches / figure[[1L]], "nfc", "user")
  }
  y <- function(inches) {
    graphics::grconvertY(inches / figure[[2L]], "nfc", "user")
  }
  old <- graphics::par(xpd = NA)
  on.exit(graphics::par(old))
  rows <- key_rows(key, 0.98 * figure[[1L]])
  widths <- key_widths(key)
  unit <- key_unit()
  for (row in unique(rows)) {
    these <- which(rows == row)
    of_row <- widths[these]
    left <- (figure[[1L]] - sum(of_row)) / 2 +
      cumsum(c(0, of_row))[seq_along(these)]
    height <- (max(rows) - row + 0.6) * key_line()
    draw_key_row(key[these, ], left, height, unit, x, y)
  }
}

draw_key_row <- function(key, left, height, unit, x, y) {
  middle <- left + 1.1 * unit
  for (i in seq_len(nrow(key))) {
    one <- key[i, ]
    if (!is.na(one$fill)) {
      graphics::rect(
        x(middle[[i]] - 0.9 * unit), y(height - 0.45 * unit),
        x(middle[[i]] + 0.9 * unit), y(height + 0.45 * unit), col = one$fill,
        border = NA
      )
    }
    if (!is.na(one$lty)) {
      graphics::segments(
        x(middle[[i]] - unit), y(height), x(middle[[i]] + unit), y(height),
        col = one$col, lty = one$lty, lwd = one$lwd, lend = 1
      )
    }
    if (!is.na(one$pch)) {
      graphics::points(
        x(middle[[i]]), y(height), pch = one$pch, col = one$col, bg = "white",
        cex = 0.9
      )
    }
    graphics::text(
      x(left[[i]] + 2.5 * unit), y(height), one$label, adj = c(0, 0.45),
      cex = key_size
    )
  }
}

# Draws a key below all panels of a page.
draw_page_key <- function(key) {
  graphics::par(fig = c(0, 1, 0, 1), oma = rep(0, 4), mar = rep(0, 4),
                new = TRUE, cex = 1, mex = 1)
  graphics::plot.new()
  draw_key(key)
}

# Titles of axes that all panels of a page share, in its outer margins.
page_titles <- function(xlab, ylab, line = 0.4) {
  graphics::mtext(xlab, side = 1, outer = TRUE, line = line, cex = 0.85)
  graphics::mtext(ylab, side = 2, outer = TRUE, line = 0.3, cex = 0.85, las = 0)
}

# Rows and columns of panels whose shorter side is the longest.
page_grid <- function(panels) {
  columns <- seq_len(panels)
  rows <- ceiling(panels / columns)
  page <- graphics::par("din")
  side <- pmin(page[[1L]] / columns, page[[2L]] / rows)
  best <- which.max(side)
  c(rows[[best]], columns[[best]])
}

# Inches that labels of an axis take.
label_width <- function(labels, cex = graphics::par("cex.axis")) {
  max(0, graphics::strwidth(labels, units = "inches", cex = cex))
}
