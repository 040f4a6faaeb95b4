# Makes the output in README.md: runs the R blocks between the lines "<!--
# session -->" and "<!-- end of session -->" one after the other in one session,
# writes their output into them, and draws the pictures in man/figures.
#
#   Rscript tools/readme.R          rewrites README.md and the pictures
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

# Counts of words in the help pages of two packages.
help_counts <- function() {
  pages <- unlist(lapply(c("grid", "methods"), function(package) {
    lapply(tools::Rd_db(package), function(page) {
      paste(unlist(page), collapse = " ")
    })
  }))
  counts <- token_counts(pages, min_length = 5)
  pages_with <- Matrix::colSums(counts > 0)
  counts[, pages_with %in% 5:40]
}

# The pictures at the top of the page, by the names of their files.
pictures <- list(
  clusters = function() plot(gibbs_gmm(faithful, 2, seed = 1)),
  groups = function() {
    fit <- gibbs_hlm(
      Reaction ~ Days + (Days | Subject), lme4::sleepstudy, seed = 1
    )
    plot(fit, term = "Days")
  },
  curve = function() {
    fit <- gibbs_logistic(type ~ glu + bmi, MASS::Pima.tr, seed = 1)
    plot(fit, type = "response")
  },
  topics = function() {
    fit <- gibbs_lda(help_counts(), 4, draws = 30000, burnin = 5000, seed = 1)
    plot(fit, n = 6)
  }
)

draw_pictures <- function(folder) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  for (name in names(pictures)) {
    path <- file.path(folder, paste0(name, ".png"))
    grDevices::png(path, width = 520, height = 380, res = 77)
    pictures[[name]]()
    grDevices::dev.off()
    if (nzchar(Sys.which("pngquant"))) {
      system2("pngquant", c("--speed=1", "--force", "--ext=.png", path))
    }
  }
}

# Times (1.2 s, 4 min, 2 h) and what is divided by them differ between runs.
without_times <- function(lines) {
  lines <- gsub("ESS a second: [0-9.,e+]+", "ESS a second:", lines)
  gsub("\\b[0-9][0-9.,]* ?(ms|s|min|h|hours?|days?)\\b", "<time>", lines)
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
  draw_pictures(file.path("man", "figures"))
}
