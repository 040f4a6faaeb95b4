# Rscript tools/layering.R R: the rules of the layers in R, on the files of a
# folder.
#   1. no two files call each other, directly or through other files
#   2. every generic with methods for models (a name that begins with model_,
#      and the hooks of the tests) is in model.R
#   3. the files of gmm, lda and bmf, and those of other models, do not call
#      each other
# Calls are found by codetools; methods count as calls of their generic alone.
# Prints what breaks a rule; fails on any.

folder <- commandArgs(trailingOnly = TRUE)[1]
files <- list.files(folder, "[.]R$", full.names = TRUE)
names(files) <- basename(files)

# list(name, value) of each function that a file defines
definitions <- function(file) {
  found <- list()
  for (expression in as.list(parse(file, keep.source = FALSE))) {
    if (is.call(expression) && identical(expression[[1]], as.name("<-")) &&
          is.name(expression[[2]])) {
      found[[as.character(expression[[2]])]] <- expression[[3]]
    }
  }
  found
}

# Names that code uses as functions or as values.
names_in <- function(code) {
  f <- function() NULL
  body(f) <- call("{", code)
  unlist(codetools::findGlobals(f, merge = TRUE))
}

defined <- lapply(files, definitions)
home <- unlist(lapply(names(defined), function(file) {
  stats::setNames(rep(file, length(defined[[file]])), names(defined[[file]]))
}))
twice <- unique(names(home)[duplicated(names(home))])

# calls: data.frame(from, to, what), a row for each use of another file's name
uses <- lapply(names(defined), function(file) {
  used <- unique(unlist(lapply(defined[[file]], names_in)))
  to <- home[intersect(used, names(home))]
  to <- to[to != file]
  data.frame(
    from = rep(file, length(to)), to = unname(to), what = names(to),
    row.names = NULL
  )
})
uses <- do.call(rbind, uses)

# reach[i, j]: file i calls file j, directly or through other files
reach <- matrix(FALSE, length(files), length(files),
  dimnames = list(names(files), names(files))
)
reach[cbind(uses$from, uses$to)] <- TRUE
for (k in names(files)) {
  reach <- reach | outer(reach[, k], reach[k, ], "&")
}

complaints <- character()
for (name in twice) {
  complaints <- c(complaints, paste0(name, " is defined in two files"))
}
seen <- character()
for (file in setdiff(names(files), seen)) {
  circle <- names(files)[reach[file, ] & reach[, file]]
  if (length(circle) == 0 || file %in% seen) next
  seen <- c(seen, circle)
  inside <- uses[uses$from %in% circle & uses$to %in% circle, ]
  complaints <- c(
    complaints, paste("files that call each other:",
                      paste(circle, collapse = ", ")),
    paste0("  ", inside$from, " -> ", inside$to, ": ", inside$what)
  )
}
hooks <- c("draw_prior", "simulate_data", "set_data")
for (file in setdiff(names(files), "model.R")) {
  generics <- Filter(function(name) {
    (startsWith(name, "model_") || name %in% hooks) &&
      "UseMethod" %in% names_in(defined[[file]][[name]])
  }, names(defined[[file]]))
  if (length(generics) > 0) {
    complaints <- c(complaints, paste0(
      file, ": ", generics, " is a generic of models and belongs in model.R"
    ))
  }
}
models <- c(
  "gmm", "lda", "bmf", "lm", "hlm", "logistic", "laplace", "mh", "gibbs"
)
model_of <- function(file) sub("[-.].*", "", file)
from <- model_of(uses$from)
to <- model_of(uses$to)
apart <- from != to & from %in% models & to %in% models &
  (from %in% models[1:3] | to %in% models[1:3])
complaints <- c(complaints, sprintf(
  "%s calls another model's %s: %s", uses$from[apart], uses$to[apart],
  uses$what[apart]
))
writeLines(complaints)
quit(status = as.integer(length(complaints) > 0))
