# Makes the output in README.md: runs the R blocks between the lines "<!--
# session -->" and "<!-- end of session -->" one after the other in one session,
# writes their output into them, and draws man/figures/faithful.png.
#
#   Rscript tools/readme.R          rewrites README.md and the picture
#   Rscript tools/readme.R check    fails where README.md would change;
#                                   elapsed times may differ
#
# Uses the installed package.  Run it from the top of the sources.

library(gibbsite)

begins <- "<!-- session -->"
ends <- "<!-- end of session -->"

# R blocks without their output, as chunks of knitr
as_chunks <- function(lines) {
  lines <- lines[!startsWith(lines, "#>")]
  sub("^```r$", "```{r}", lines)
}

run_session <- function(lines) {
  # files that the session writes are not in the sources
  knitr::opts_knit$set(progress = FALSE, root.dir = temporary_folder())
  # an error must end the script, not become a part of the README
  knitr::opts_chunk$set(comment = "#>", collapse = TRUE, error = FALSE)
  out <- knitr::knit(
    text = as_chunks(lines), quiet = TRUE, envir = new.env(parent = globalenv())
  )
  lines <- trimws(strsplit(out, "\n", fixed = TRUE)[[1L]], "right")
  # knitr puts blank lines around chunks; only one is kept
  blank <- lines == ""
  c("", lines[!(blank & c(TRUE, blank[-length(blank)]))], "")
}

temporary_folder <- function() {
  folder <- tempfile("readme")
  dir.create(folder)
  folder
}

with_output <- function(lines) {
  first <- match(begins, lines)
  last <- match(ends, lines)
  stopifnot(!is.na(first), !is.na(last), first < last)
  inside <- seq.int(first + 1L, last - 1L)
  c(lines[seq_len(first)], run_session(lines[inside]),
    lines[seq.int(last, length(lines))])
}

draw_picture <- function(path) {
  dir.create(dirname(path), showWarnings = FALSE, recursive = TRUE)
  fit <- gibbs_gmm(faithful, 2, seed = 1)
  grDevices::png(path, width = 520, height = 380, res = 77)
  on.exit(grDevices::dev.off())
  plot(fit)
}

without_times <- function(lines) {
  gsub("; [0-9.]+ s$|ESS a second: [0-9]+", "", lines)
}

invisible(Sys.setlocale("LC_CTYPE", "C.UTF-8"))
options(width = 80, digits = 5)
before <- readLines("README.md", encoding = "UTF-8")
after <- with_output(before)

if (identical(commandArgs(trailingOnly = TRUE), "check")) {
  if (!identical(without_times(before), without_times(after))) {
    writeLines(c(
      "README.md is not what the package prints; new lines:",
      setdiff(without_times(after), without_times(before))
    ))
    quit(status = 1L)
  }
} else {
  writeLines(after, "README.md", useBytes = TRUE)
  picture <- file.path("man", "figures", "faithful.png")
  draw_picture(picture)
  if (nzchar(Sys.which("pngquant"))) {
    system2("pngquant", c("--speed=1", "--force", "--ext=.png", picture))
  }
}
