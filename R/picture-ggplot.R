# Pictures as ggplots. The colours of all parts are one scale, whose breaks are
# the labels of the key, so that a user can replace it.

draw_ggplot <- function(picture) {
  out <- ggplot2::ggplot(picture$table)
  for (layer in picture$layers) {
    out <- out + ggplot_layer(layer, picture$key)
  }
  note <- picture$note
  out + ggplot_key(picture$key) + ggplot_axes(picture) +
    ggplot_panels(picture) +
    ggplot2::labs(
      x = picture$x$title %||% joined_titles(picture$panels$xlab),
      y = picture$y$title, title = picture$title,
      subtitle = if (!is.null(note)) {
        paste(unlist(lapply(note, strwrap, 90)), collapse = "\n")
      }
    ) +
    ggplot2::theme(plot.subtitle = ggplot2::element_text(
      size = ggplot2::rel(0.8)
    ))
}

# The titles of the columns of panels, from left to right.
joined_titles <- function(titles) {
  if (!is.null(titles)) paste(unique(titles), collapse = " | ")
}

# A geom for each look of the parts other than their colour.
ggplot_layer <- function(layer, key) {
  data <- layer$data
  data$key <- factor(data$key, unique(key$label))
  # 1 would replace the transparency of a colour
  data$alpha[data$alpha == 1] <- NA
  look <- key[match(data$key, key$label), ]
  looks <- paste(
    look$lty, look$lwd, look$pch, is.na(look$fill), is.na(look$col)
  )
  lapply(unname(split(seq_len(nrow(data)), looks)), function(rows) {
    ggplot_geom(layer$kind, data[rows, ], look[rows[[1L]], ])
  })
}

ggplot_geom <- function(kind, data, look) {
  width <- look$lwd / ggplot2::.pt
  lty <- if (is.na(look$lty)) 1 else look$lty
  aes <- ggplot2::aes
  add <- function(geom, mapping, ...) {
    geom(mapping, data, show.legend = FALSE, ...)
  }
  drawn <- aes(colour = .data$key, alpha = .data$alpha)
  filled <- aes(fill = .data$key, alpha = .data$alpha)
  with <- function(mapping, ...) {
    out <- utils::modifyList(mapping, aes(...))
    class(out) <- "uneval"
    out
  }
  group <- function(mapping) {
    data$group <<- interaction(data$group %||% 0L, data$key, drop = TRUE)
    with(mapping, group = .data$group)
  }
  ends <- function(mapping) {
    with(mapping, x = .data$x, y = .data$y, xend = .data$xend,
         yend = .data$yend)
  }
  switch(kind,
    line = add(
      ggplot2::geom_path, group(with(drawn, x = .data$x, y = .data$y)),
      linetype = lty, linewidth = width, na.rm = TRUE
    ),
    step = add(
      ggplot2::geom_step, group(with(drawn, x = .data$x, y = .data$y)),
      linetype = lty, linewidth = width
    ),
    band = add(ggplot2::geom_ribbon, group(with(
      filled, x = .data$x, ymin = .data$lower, ymax = .data$upper
    ))),
    segment = add(ggplot2::geom_segment, ends(drawn), linetype = lty,
                  linewidth = width, na.rm = TRUE),
    arrow = add(ggplot2::geom_segment, ends(drawn), linewidth = width,
                arrow = ggplot2::arrow(length = ggplot2::unit(0.07, "inches"))),
    rect = add(ggplot2::geom_rect, with(
      if (is.na(look$col)) filled else with(filled, colour = .data$key),
      xmin = .data$xmin, xmax = .data$xmax, ymin = .data$ymin,
      ymax = .data$ymax
    ), linewidth = 0.3),
    point = {
      data$size <- 0.9 * (data$size %||% 1.5)
      add(
        ggplot2::geom_point,
        with(drawn, x = .data$x, y = .data$y, size = .data$size),
        shape = look$pch, fill = "white", na.rm = TRUE
      )
    },
    text = add(
      ggplot2::geom_text,
      with(drawn, x = .data$x, y = .data$y, label = .data$label), size = 3
    ),
    vline = add(ggplot2::geom_vline, with(drawn, xintercept = .data$x),
                linetype = lty, linewidth = width),
    hline = add(ggplot2::geom_hline, with(drawn, yintercept = .data$y),
                linetype = lty, linewidth = width),
    diagonal = add(
      ggplot2::geom_abline, with(drawn, slope = 1, intercept = 0),
      linetype = lty, linewidth = width
    ),
    rug = add(ggplot2::geom_rug, with(drawn, x = .data$x), sides = "b"),
    yrug = add(ggplot2::geom_rug, with(drawn, y = .data$y), sides = "l")
  )
}

# The scales, and a legend with the symbols of the key: three layers without
# points give it lines, points and areas.
ggplot_key <- function(key) {
  all <- key[!duplicated(key$label), ]
  shown <- shown_key(key)
  values <- function(colours) stats::setNames(colours, all$label)
  # some 75 letters, with symbols as wide as 6, fit on a page of 400 pixels
  legend <- if (nrow(shown) == 0L) "none" else ggplot2::guide_legend(
    title = NULL, nrow = ceiling(sum(nchar(shown$label) + 6) / 75),
    byrow = TRUE, override.aes = list(
      alpha = NA, fill = shown$fill, shape = shown$pch, size = 1.8,
      linetype = ifelse(is.na(shown$lty), 0, shown$lty),
      linewidth = pmax(shown$lwd, 1.5) / ggplot2::.pt
    )
  )
  none <- rep(NA_real_, nrow(shown))
  empty <- data.frame(
    x = none, y = none, key = factor(shown$label, unique(all$label))
  )
  c(
    lapply(if (nrow(shown) > 0L) c("rect", "path", "point"), function(glyph) {
      ggplot2::geom_point(
        ggplot2::aes(.data$x, .data$y, colour = .data$key), empty,
        inherit.aes = FALSE, na.rm = TRUE, show.legend = TRUE, key_glyph = glyph
      )
    }),
    list(
      ggplot2::scale_colour_manual(
        values = values(all$col), breaks = shown$label, guide = legend,
        na.value = "transparent"
      ),
      ggplot2::scale_fill_manual(
        values = values(all$fill), guide = "none", na.value = "transparent"
      ),
      ggplot2::scale_alpha_identity(), ggplot2::scale_size_identity(),
      # below the panels, as in plot()
      ggplot2::theme(legend.position = "bottom")
    )
  )
}

ggplot_axes <- function(picture) {
  # labels that would overlap on a narrow panel are left out
  axis <- function(spec, scale, log_scale) {
    named <- is.character(spec$labels)
    arguments <- list(guide = ggplot2::guide_axis(check.overlap = !named))
    if (!is.null(spec$at)) {
      arguments[c("breaks", "labels")] <- list(spec$at, spec$labels)
    }
    arguments$expand <- if (spec$floor) {
      ggplot2::expansion(c(0, 0.05))
    } else if (named) {
      ggplot2::expansion(add = 0.5)
    }
    if (spec$log) arguments$labels <- plain_numbers
    do.call(if (spec$log) log_scale else scale, arguments)
  }
  coordinates <- if (picture$square) {
    ggplot2::coord_equal
  } else {
    ggplot2::coord_cartesian
  }
  rows <- length(picture$y$labels) / wrap_columns(picture)
  list(
    axis(picture$x, ggplot2::scale_x_continuous, ggplot2::scale_x_log10),
    axis(picture$y, ggplot2::scale_y_continuous, ggplot2::scale_y_log10),
    coordinates(xlim = picture$x$limits, ylim = picture$y$limits),
    if (is.character(picture$y$labels)) {
      # smaller letters for more names
      ggplot2::theme(axis.text.y = ggplot2::element_text(
        size = ggplot2::rel(max(0.55, min(0.85, 30 / rows)))
      ))
    },
    if (is.character(picture$x$labels) && length(picture$x$labels) > 1L &&
          sum(nchar(picture$x$labels)) > 60L) {
      ggplot2::theme(axis.text.x = ggplot2::element_text(
        angle = 90, hjust = 1, vjust = 0.5
      ))
    }
  )
}

ggplot_panels <- function(picture) {
  panels <- picture$panels
  if (is.null(panels)) {
    return(NULL)
  }
  if (picture$layout == "pairs") {
    return(pair_facets(picture))
  }
  note <- panels$note %||% NA
  # on two lines where some 65 letters, the width of a small page, do not do
  letters <- wrap_columns(picture) * max(nchar(paste0(panels$title, note)) + 4)
  gap <- if (letters > 65) "\n" else "  "
  words <- paste0(
    panels$title, ifelse(is.na(note), "", paste0(gap, "(", note, ")"))
  )
  free <- c("fixed", "free_x", "free_y", "free")[
    1L + picture$x$free + 2L * picture$y$free
  ]
  labels <- stats::setNames(words, panels$panel)
  small <- ggplot2::theme(strip.text = ggplot2::element_text(
    size = ggplot2::rel(0.85), hjust = 0
  ))
  facet <- ggplot2::facet_wrap(
    ggplot2::vars(.data$panel), scales = free,
    ncol = wrap_columns(picture),
    labeller = ggplot2::as_labeller(labels)
  )
  sizes <- if (picture$layout == "stack") panels$size
  list(if (is.null(sizes)) facet else stacked_facet(facet, sizes), small)
}

# Panels in one column whose heights have the ratios of `sizes`, as in plot().
stacked_facet <- function(facet, sizes) {
  force(facet)
  ggplot2::ggproto(NULL, facet, draw_panels = function(self, ...) {
    table <- facet$draw_panels(...)
    rows <- table$layout$t[startsWith(table$layout$name, "panel")]
    table$heights[sort(rows)] <- ggplot2::unit(sizes, "null")
    table
  })
}

wrap_columns <- function(picture) {
  picture$columns %||% ceiling(sqrt(0.75 * max(1L, nrow(picture$panels))))
}

# Panels of pairs have columns `row` and `column` in their layers.
pair_facets <- function(picture) {
  names <- stats::setNames(picture$names, seq_along(picture$names))
  list(
    ggplot2::facet_grid(
      rows = ggplot2::vars(.data$row), cols = ggplot2::vars(.data$column),
      scales = "free", switch = "both",
      labeller = ggplot2::as_labeller(names)
    ),
    ggplot2::theme(
      strip.text = ggplot2::element_text(size = ggplot2::rel(0.7)),
      axis.text = ggplot2::element_text(size = ggplot2::rel(0.7)),
      strip.placement = "outside"
    )
  )
}
