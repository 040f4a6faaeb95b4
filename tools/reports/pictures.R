# Pictures: what is on them.

few <- list(draws = 100, burnin = 100, chains = 2, seed = 1, progress = FALSE)
short <- function(sampler, ...) {
  suppressMessages(suppressWarnings(do.call(sampler, c(list(...), few))))
}
# The pictures that code draws, as a page keeps them for drawing them again.
pictures_of <- function(code) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  force(code)
  found <- lapply(grDevices::recordPlot()[[1]], function(call) {
    Filter(function(part) is.list(part) && is.list(part$arguments), call[[2]])
  })
  lapply(unlist(found, recursive = FALSE), function(one) one$arguments$picture)
}
table_of <- function(...) pictures_of(plot(...))[[1]]$table
said <- function(words, ...) {
  any(grepl(words, pictures_of(plot(...))[[1]]$note, fixed = TRUE))
}
page <- function(width, height, draw) {
  path <- tempfile(fileext = ".pdf")
  grDevices::pdf(path, width, height, compress = FALSE)
  draw()
  grDevices::dev.off()
  # not the second line, which has bytes that are no text, nor the dates
  lines <- readLines(path, warn = FALSE)
  lines <- lines[validEnc(lines)]
  lines[grepl("( Tj| l| re| m)$", lines)]
}

mixture <- short(gibbs_gmm, faithful, 3)
line <- short(gibbs_lm, mpg ~ wt + factor(cyl), mtcars)
chicks <- short(
  gibbs_hlm, weight ~ Time + (Time | Chick), datasets::ChickWeight
)

right("a key stays in its place when a window or knitr draws at another size", {
  grDevices::pdf(NULL, 7, 7)
  grDevices::dev.control("enable")
  plot(line)
  record <- grDevices::recordPlot()
  grDevices::dev.off()
  identical(
    page(4, 3, function() grDevices::replayPlot(record)),
    page(4, 3, function() plot(line))
  )
})

right("components never exceed the density of a mixture", {
  drawn <- pictures_of(plot(mixture, "mixture", variables = "waiting"))[[1]]
  lines <- Filter(function(layer) layer$kind == "line", drawn$layers)
  parts <- lines[[2]]$data
  whole <- drawn$table$mean[match(parts$x, drawn$table$x)]
  all(parts$y <= whole + 1e-12)
})

right("each level of a factor has a curve", {
  levels <- levels(table_of(line, type = "response", variable = "wt")$by)
  identical(levels, c("4", "6", "8"))
})

right("of 50 groups 40 are drawn, and the picture says so",
      nrow(table_of(chicks, term = "Time")) == 40L &&
        said("40 of 50 groups", chicks, term = "Time"))

right("a level is called by its factor",
      "cyl: 8" %in% table_of(line)$name)

if (requireNamespace("ggplot2", quietly = TRUE)) {
  right("autoplot() has the types, defaults and numbers of plot()", {
    same <- function(...) {
      identical(ggplot2::autoplot(...)$data, table_of(...))
    }
    same(chicks) && same(chicks, "shrinkage") && same(mixture) && same(line) &&
      same(line, c("trace", "density"))
  })
}

refused("two types, of which one is the class's own",
        plot(mixture, type = c("mixture", "trace")), says = "`type` must be")
