# The picture of rejection sampling.

#' @rdname sample_rejection
#' @export
plot.rejection_sample <- function(x, ...) {
  check_rejection(x, "x")
  check_no_more(...)
  draw_base(picture_rejection(x))
  invisible(x)
}

#' @rdname sample_rejection
#' @exportS3Method ggplot2::autoplot
autoplot.rejection_sample <- function(object, ...) {
  check_rejection(object, "object")
  check_no_more(...)
  draw_ggplot(picture_rejection(object))
}

# The table has a row for each proposal that is drawn: x, y, accepted.
picture_rejection <- function(x, most = 2000L) {
  kept <- attr(x, "proposals", exact = TRUE)
  if (is.null(kept)) {
    points <- named_points(unclassed_sample(x))
    return(picture_empirical(
      new_empirical(points, rep(1, nrow(points)), FALSE, NULL), "histogram",
      utils::head(colnames(points), 9L)
    ))
  }
  one <- ncol(kept) == 4L
  accepted <- kept[, "log_uniform"] <= kept[, "log_target"] -
    kept[, "log_envelope"]
  limits <- lapply(seq_len(if (one) 1L else 2L), function(j) {
    grDevices::extendrange(kept[accepted, j], f = 0.1)
  })
  inside <- Reduce(`&`, Map(function(j, ends) {
    kept[, j] >= ends[[1L]] & kept[, j] <= ends[[2L]]
  }, seq_along(limits), limits))
  # heights relative to the largest of the envelope that is drawn
  top <- max(kept[inside, "log_envelope"])
  height <- function(name) exp(kept[, name] - top)
  points <- data.frame(
    x = kept[, 1L],
    y = if (one) height("log_envelope") * exp(kept[, "log_uniform"]) else
      kept[, 2L],
    accepted = accepted, row.names = NULL
  )
  shown <- which(inside)[evenly(sum(inside), most)]
  points <- points[shown, ]
  curves <- if (one) {
    along <- which(inside)[order(kept[inside, 1L])]
    along <- along[evenly(length(along), most)]
    lapply(c(target = "log_target", envelope = "log_envelope"), function(name) {
      data.frame(x = kept[along, 1L], y = height(name)[along])
    })
  }
  picture(
    points, list(
      picture_layer("point", data.frame(points[1:2], size = 1), ifelse(
        points$accepted, "accepted", "rejected"
      ), 0.8),
      picture_layer("line", curves$envelope, "envelope M q"),
      picture_layer("line", curves$target, "target")
    ), rejection_key(one),
    x = picture_axis(colnames(kept)[[1L]], limits = limits[[1L]]),
    y = if (one) {
      picture_axis("density / highest envelope", floor = TRUE)
    } else {
      picture_axis(colnames(kept)[[2L]], limits = limits[[2L]])
    },
    note = rejection_words(x, nrow(kept), length(shown), sum(!inside))
  )
}

rejection_key <- function(curves) {
  colours <- gibbsite_palette(2L)
  rbind(
    plot_key("accepted", colours[[1L]], pch = 19),
    plot_key("rejected", colours[[2L]], pch = 4),
    plot_key("target", "black", lty = 1, shown = curves),
    plot_key("envelope M q", "grey50", lty = 2, shown = curves)
  )
}

rejection_words <- function(x, proposed, shown, outside) {
  paste0(
    digits(NROW(x)), " of ", counted(proposed, "proposal"), " accepted (",
    format(100 * NROW(x) / proposed, digits = 2), "%)",
    if (shown + outside < proposed) paste0("; ", digits(shown), " drawn"),
    if (outside > 0) paste0("; ", digits(outside), " outside the axes")
  )
}
