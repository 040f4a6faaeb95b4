# What a picture of base graphics has on it: list(panels, text, numbers), the
# number of panels, all words, and the vectors that were drawn.
drawn <- function(code) {
  grDevices::pdf(NULL)
  device <- grDevices::dev.cur()
  on.exit(grDevices::dev.off(device))
  grDevices::dev.control("enable")
  force(code)
  calls <- lapply(grDevices::recordPlot()[[1]], function(call) {
    as.list(call[[2]])
  })
  name <- vapply(calls, function(call) call[[1]]$name, "")
  parts <- function(is) {
    unlist(lapply(calls, function(call) {
      unlist(lapply(call[-1], function(part) {
        if (is.list(part)) Filter(is, part) else Filter(is, list(part))
      }), recursive = FALSE)
    }), recursive = FALSE)
  }
  words <- function(part) is.character(part) || is.expression(part)
  list(
    panels = sum(name == "C_plot_new"),
    text = unique(as.character(unlist(parts(words)))),
    numbers = lapply(parts(is.numeric), as.double)
  )
}

# The vector `values` is a part of the picture, in this order.
has_drawn <- function(picture, values) {
  any(vapply(picture$numbers, function(x) {
    isTRUE(all.equal(x, as.double(values)))
  }, NA))
}
