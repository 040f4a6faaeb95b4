# The picture of the probabilities of categories along a variable.

picture_categories <- function(fit, variable, level, call) {
  model <- fit_part(fit, "model")
  frame <- check_frame(model, call)
  estimate <- coefficient_estimates(fit)
  clear <- abs(estimate$mean / estimate$sd)
  if (is_unordered(model_response(model))) clear <- clearest_terms(model, clear)
  grid <- response_grid(fit, frame, variable, clear, call)
  grid["by"] <- list(NULL)
  rows <- rows_to_predict(
    model, grid_rows(grid, grid$at, NULL), typical_offset(model), NA, TRUE, call
  )
  table <- category_intervals(fit, rows, level, call)
  categories <- levels(table$category)
  at <- rep(seq_along(grid$at), each = length(categories))
  others <- others_of(grid)
  note <- others_text(grid$typical[others], grid$data[others])
  name <- as.character(table$category)
  colours <- gibbsite_palette(length(categories))
  ylab <- paste("probability of", frame$response$name)
  if (is.numeric(grid$values)) {
    table$x <- grid$at[at]
    layers <- list(
      picture_layer("band", data.frame(
        table[c("x", "lower", "upper")], group = name
      ), paste("band", name)),
      picture_layer("line", data.frame(
        x = table$x, y = table$mean, group = name
      ), name)
    )
    x <- picture_axis(grid$variable)
  } else {
    # side by side
    table$x <- at + 0.5 * (as.integer(table$category) - 1) /
      (length(categories) - 1) - 0.25
    layers <- list(
      picture_layer("segment", data.frame(
        x = table$x, xend = table$x, y = table$lower, yend = table$upper
      ), name),
      picture_layer("point", data.frame(
        x = table$x, y = table$mean, size = 1.5
      ), name)
    )
    labels <- id_words(grid$at)
    x <- picture_axis(grid$variable, at = seq_along(labels), labels = labels,
                      limits = c(0.6, length(labels) + 0.4))
  }
  picture(
    table, layers, rbind(
      plot_key(
        categories, colours, lty = 1,
        pch = if (is.numeric(grid$values)) NA else 19
      ),
      plot_key(paste("band", categories), NA, fill = pale(colours, 0.2),
               shown = FALSE)
    ), x = x, y = picture_axis(ylab, limits = 0:1, at = seq(0, 1, 0.2)),
    note = c(note, paste(
      if (is.numeric(grid$values)) "bands:" else "lines:", percent(level)
    ))
  )
}

# The largest of `clear` over the categories, by terms.
clearest_terms <- function(model, clear) {
  terms <- colnames(model$frame$x)
  stats::setNames(
    apply(matrix(clear, length(terms)), 1L, max), terms
  )
}
