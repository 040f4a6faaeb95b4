# Pictures: what is drawn, computed once. draw_base() of R/picture-base.R draws
# them for plot(), draw_ggplot() of R/picture-ggplot.R for autoplot().

# A picture: `table`, the data frame that it shows; `layers`, each of
# picture_layer(); `key`: how their parts look; `x`, `y`: axes, of
# picture_axis(); `note`: words above it; `panels`: NULL, or a data frame with a
# row for each level of the layers' column `panel`: panel, title, and if wanted
# note, xlab, no_y (no axis of heights), size (of a panel in a stack); `layout`:
# "wrap" in `columns` columns (NULL: as the page allows), "stack" in one,
# "pairs" for panels of all pairs of `names`; `square`: whether a unit is
# equally long on both axes.
picture <- function(table, layers, key = NULL, x = picture_axis(),
                    y = picture_axis(), note = NULL, title = NULL,
                    panels = NULL, layout = "wrap", columns = NULL,
                    names = NULL, square = FALSE) {
  layers <- Filter(function(layer) NROW(layer$data) > 0L, layers)
  list(
    table = table, layers = layers, key = key, x = x, y = y, note = note,
    title = title, panels = panels, layout = layout, columns = columns,
    names = names, square = square
  )
}

# at, labels: of ticks; limits: of the data drawn without a margin; free:
# whether panels differ; floor: whether the axis begins at 0.
picture_axis <- function(title = NULL, at = NULL, labels = at, limits = NULL,
                         free = FALSE, floor = FALSE, log = FALSE) {
  list(
    title = title, at = at, labels = labels, limits = limits, free = free,
    floor = floor, log = log
  )
}

# Parts of one kind. `key`: the label in the picture's key of each row of
# `data`; `alpha`: between 0 and 1. Columns of `data`:
#   line, step      x, y and perhaps group (a line each)
#   band            x, lower, upper and perhaps group
#   segment, arrow  x, y, xend, yend
#   rect            xmin, xmax, ymin, ymax: Inf for the edge of the panel
#   point           x, y and perhaps size
#   text            x, y, label
#   vline, hline    x; y
#   diagonal        none: the line y = x
#   rug, yrug       x; y: ticks on an axis
picture_layer <- function(kind, data, key, alpha = 1) {
  if (is.null(data)) {
    return(NULL)
  }
  data <- as.data.frame(data)
  data$key <- rep_len(as.character(key), nrow(data))
  data$alpha <- rep_len(alpha, nrow(data))
  list(kind = kind, data = data)
}

# How the parts of a picture look: a row for each label, recycled: `lty`, `pch`
# NA for no line or point, `fill` NA for no area; `shown`: whether the key has
# it.
plot_key <- function(label, col = "black", lty = NA, lwd = 2, pch = NA,
                     fill = NA, shown = TRUE) {
  if (length(label) == 0L) {
    return(plot_key("none")[0L, ])
  }
  data.frame(label = label, col = col, lty = lty, lwd = lwd, pch = pch,
             fill = fill, shown = shown)
}

# The line at a value that others are compared with.
rule_key <- function(label = "rule", shown = FALSE, lty = 1) {
  plot_key(label, "grey60", lty = lty, lwd = 1.5, shown = shown)
}

shown_key <- function(key) {
  key <- key %||% plot_key(character())
  key[key$shown & !duplicated(key$label), ]
}

# The rows of a layer that belong to a panel; all where it has no panels. layer:
# as from in_parts().
of_panel <- function(layer, panel) {
  if (is.null(panel) || is.null(layer$parts)) {
    return(layer$data)
  }
  layer$parts[[panel]] %||% layer$data[0L, ]
}

# Layers with their rows by panel.
in_parts <- function(layers) {
  lapply(layers, function(layer) {
    if (!is.null(layer$data$panel)) {
      layer$parts <- split(layer$data, layer$data$panel)
    }
    layer
  })
}

# The range of what layers draw on one axis in one panel, finite; `wide`: with a
# positive length.
layer_range <- function(picture, axis, panel = NULL, wide = TRUE) {
  names <- if (axis == "x") {
    c("x", "xend", "xmin", "xmax")
  } else {
    c("y", "yend", "ymin", "ymax", "lower", "upper")
  }
  ends <- unlist(lapply(picture$layers, function(layer) {
    data <- of_panel(layer, panel)
    lapply(data[intersect(names, names(data))], function(x) {
      x <- x[is.finite(x)]
      if (length(x) > 0L) range(x)
    })
  }))
  if (length(ends) == 0L) {
    return(c(0, 1))
  }
  out <- range(ends)
  if (diff(out) == 0 && wide) {
    out <- out + c(-0.5, 0.5) * max(abs(out[[1L]]), 1e-300)
  }
  out
}

# Rows of several data frames in panels: `tables` has a data frame for each.
in_panels <- function(tables, panels) {
  tables <- Map(function(table, panel) {
    if (NROW(table) > 0L) {
      data.frame(table, panel = factor(rep(panel, nrow(table)), panels))
    }
  }, tables, panels)
  out <- do.call(rbind, unname(tables))
  if (is.null(out)) data.frame() else out
}

percent <- function(level) paste0(format(100 * level), "%")

seq_range <- function(limits, n) seq(limits[[1L]], limits[[2L]], length.out = n)

# Contours of a density on a grid: x, y, group.
contour_lines <- function(x, y, density,
                          levels = max(density) * contour_levels) {
  lines <- grDevices::contourLines(x, y, density, levels = levels)
  do.call(rbind, Map(function(line, group) {
    data.frame(x = line$x, y = line$y, group = group)
  }, lines, seq_along(lines)))
}

contour_levels <- c(0.02, 0.05, 0.1, 0.2, 0.4, 0.7)

# Labels of a logarithmic axis.
plain_numbers <- function(x) vapply(x, format, "", digits = 3, scientific = 4)

# Colours that people with any kind of colour vision can tell apart (Okabe and
# Ito), in an order that keeps the first ones far from each other; beyond eight
# a scale from dark to light.
gibbsite_palette <- function(n) {
  distinct <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7",
                "#E69F00", "#56B4E9", "#000000", "#999999")
  if (n <= length(distinct)) {
    return(distinct[seq_len(n)])
  }
  grDevices::hcl.colors(n, "viridis", rev = FALSE)
}

# Colours of categories with an order: from dark to light, without the palest.
ordered_palette <- function(n) {
  grDevices::hcl.colors(n + 1L, "viridis")[seq_len(n)]
}

pale <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

# observations
grey_points <- "grey30"

# The types of a plot where none is given: `own`, or those of chains if their
# variables are named.
default_types <- function(type, variables, own,
                          chains = c("trace", "density")) {
  type %||% if (is.null(variables)) own else chains
}

# An argument that some pictures have would pass unseen with the others.
check_plots_with <- function(x, type, types, call,
                             arg = rlang::caller_arg(x)) {
  force(arg)
  if (!is.null(x) && !all(type %in% types)) {
    abort_argument(
      c("{.arg {arg}} must be NULL where {.arg type} is not
         {or_words(quoted(types))}.",
        i = switch(arg,
          variable = "Give {.code type = {quoted(types[[1L]])}} as well.",
          term = "The response along a variable:
                  {.code type = \"response\", variable = }."
        )),
      call = call
    )
  }
}

plot_types <- c("trace", "density", "autocorrelation", "ranks")

# `own`: the types of picture that a class has besides those of all chains,
# which alone may be several.
check_plot_types <- function(type, call, own = NULL) {
  if (!is.character(type) || is.object(type) || length(type) == 0) {
    type <- list(type)
  }
  type <- unique(vapply(type, function(one) {
    check_choice(one, c(own, plot_types), arg = "type", call = call)
  }, character(1), USE.NAMES = FALSE))
  if (length(type) > 1L && any(type %in% own)) {
    abort_argument(
      "{.arg type} must be one of {.val {own}}, or some of
       {.val {plot_types}}, not {.val {type}}.",
      call = call
    )
  }
  type
}
