# What a picture of base graphics has on it: list(pictures, panels, text,
# numbers): the pictures that were drawn, the number of their panels, all words
# and the vectors of their layers, those of lines for each line.
drawn <- function(code) {
  grDevices::pdf(NULL)
  device <- grDevices::dev.cur()
  on.exit(grDevices::dev.off(device))
  grDevices::dev.control("enable")
  force(code)
  # recordGraphics() keeps the whole picture, list(picture, given)
  entries <- lapply(grDevices::recordPlot()[[1]], function(call) {
    Filter(function(part) is.list(part) && !is.null(part$picture), call[[2]])
  })
  kept <- unlist(entries, recursive = FALSE)
  pictures <- lapply(kept, `[[`, "picture")
  layers <- unlist(lapply(pictures, `[[`, "layers"), recursive = FALSE)
  words <- function(x) {
    if (is.factor(x)) levels(x) else if (is.character(x)) x else if (
      is.list(x)) unlist(lapply(x, words))
  }
  numbers <- lapply(layers, function(layer) {
    by <- interaction(
      layer$data$panel %||% 0, layer$data$group %||% 0, layer$data$key,
      drop = TRUE
    )
    parts <- c(list(layer$data), split(layer$data, by))
    unlist(lapply(parts, function(part) {
      lapply(Filter(is.numeric, part), as.double)
    }), recursive = FALSE)
  })
  list(
    pictures = pictures, panels = sum(vapply(pictures, n_panels, 0L)),
    text = unique(c(words(kept))), numbers = unlist(numbers, recursive = FALSE)
  )
}

# The vector `values` is a part of the picture, in this order.
has_drawn <- function(picture, values) {
  any(vapply(picture$numbers, function(x) {
    isTRUE(all.equal(x, as.double(values)))
  }, NA))
}

# The picture that `code` draws, drawn again on a page of another size: the
# bounds of all words and symbols of the key and of the titles of axes, in
# inches. `draw()`: draws anew on the open device.
replayed <- function(code, width, height) {
  grDevices::pdf(NULL, 7, 7)
  first <- grDevices::dev.cur()
  grDevices::dev.control("enable")
  force(code)
  grDevices::dev.set(first)
  record <- grDevices::recordPlot()
  grDevices::dev.off(first)
  path <- withr::local_tempfile(fileext = ".pdf", .local_envir = parent.frame())
  grDevices::pdf(path, width, height, compress = FALSE)
  grDevices::replayPlot(record)
  grDevices::dev.off()
  path
}

# The same picture drawn at once on a page of that size.
drawn_at <- function(code, width, height) {
  path <- withr::local_tempfile(fileext = ".pdf", .local_envir = parent.frame())
  grDevices::pdf(path, width, height, compress = FALSE)
  force(code)
  grDevices::dev.off()
  path
}

# The lines of a page of pdf() that draw.
page_lines <- function(path) {
  lines <- readLines(path, warn = FALSE)
  lines <- lines[validEnc(lines)]
  lines[grepl("( Tj| l| S| re| m| f| n)( |$)|Tf|Tm", lines)]
}
