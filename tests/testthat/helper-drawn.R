# What a picture of base graphics has on it: list(pictures, panels, text,
# numbers): the pictures that were drawn, the number of their panels, all words
# and the vectors of their layers, those of lines for each line.
drawn <- function(code) {
  grDevices::pdf(NULL)
  device <- grDevices::dev.cur()
  on.exit(grDevices::dev.off(device))
  grDevices::dev.control("enable")
  force(code)
  # recordGraphics() keeps the whole picture: list(draw, arguments)
  entries <- lapply(grDevices::recordPlot()[[1]], function(call) {
    Filter(function(part) is.list(part) && is.list(part$arguments), call[[2]])
  })
  kept <- lapply(unlist(entries, recursive = FALSE), `[[`, "arguments")
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

# The file of the page that `code` draws, drawn again at another size.
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

# The file of the same page, drawn at once at that size.
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
