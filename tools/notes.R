# The items of five lecture notes and the calls that make them, for the article
# "Lecture notes and their slips":
#   Rscript tools/notes.R check
# runs every call, and fails if one does. source() gives the article the two
# functions read_notes() and check_notes(). Uses the installed package.

# a data frame: note (its short name), title, where, what, call
read_notes <- function(path) {
  lines <- readLines(path, encoding = "UTF-8")
  lines <- lines[cumsum(startsWith(lines, "# ====")) > 0L]
  group <- cumsum(startsWith(lines, "# ----") | startsWith(lines, "# ===="))
  note <- NULL
  items <- lapply(split(lines, group), function(item) {
    head <- strsplit(sub("^# [=-]+ ", "", item[[1L]]), " | ", fixed = TRUE)
    head <- head[[1L]]
    if (startsWith(item[[1L]], "# ====")) {
      note <<- head
      return(NULL)
    }
    call <- paste(item[-1L][nzchar(item[-1L])], collapse = "\n")
    data.frame(
      note = note[[1L]], title = note[[2L]], where = head[[1L]],
      what = head[[2L]], call = call
    )
  })
  do.call(rbind, items)
}

run_item <- function(item, envir) {
  started <- proc.time()[["elapsed"]]
  failure <- tryCatch({
    for (expr in parse(text = item$call, keep.source = FALSE)) {
      shown <- withVisible(eval(expr, envir))
      if (shown$visible) capture.output(print(shown$value))
    }
    NA_character_
  }, error = conditionMessage)
  data.frame(
    item = paste(item$note, item$where, item$what, sep = ", "),
    seconds = proc.time()[["elapsed"]] - started, failure = failure
  )
}

check_notes <- function(items) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  envir <- new.env(parent = globalenv())
  quiet <- function(code) suppressMessages(suppressWarnings(code))
  run <- lapply(seq_len(nrow(items)), function(i) {
    quiet(run_item(items[i, ], envir))
  })
  do.call(rbind, run)
}

if (identical(commandArgs(trailingOnly = TRUE), "check")) {
  library(gibbsite)
  options(progressr.enable = FALSE)
  items <- read_notes(file.path("tools", "notes-items.R"))
  found <- check_notes(items)
  bad <- found[!is.na(found$failure), ]
  writeLines(sprintf("%s: %s", bad$item, bad$failure))
  slow <- utils::head(found[order(-found$seconds), ], 5L)
  writeLines(sprintf("%5.1f s  %s", slow$seconds, slow$item))
  writeLines(sprintf(
    "%d items, %d fail, %.0f s", nrow(found), nrow(bad), sum(found$seconds)
  ))
  quit(status = as.integer(nrow(bad) > 0L))
}
