# Data that several scripts of bench/ use: NULL, with a message, where they are
# not to be had.  The scripts source this file after deps.R.

# documents x terms, a sparse matrix
newsgroups <- function() {
  file <- file.path(
    Sys.getenv("GIBBSITE_BENCH_DATA"), "newsgroups20_train.rds"
  )
  if (!file.exists(file)) {
    message("Skipped: no newsgroups20_train.rds in GIBBSITE_BENCH_DATA.")
    return(NULL)
  }
  readRDS(file)
}

movielens_matrix <- function() {
  read <- function(file) {
    found <- new.env()
    load(file, found)
    attr(found$MovieLense, "data")
  }
  if (requireNamespace("recommenderlab", quietly = TRUE)) {
    found <- new.env()
    utils::data("MovieLense", package = "recommenderlab", envir = found)
    return(attr(found$MovieLense, "data"))
  }
  tryCatch(
    {
      all <- utils::available.packages(filters = list())
      package <- utils::download.packages(
        "recommenderlab", tempdir(), type = "source", quiet = TRUE,
        available = all[rownames(all) == "recommenderlab", , drop = FALSE]
      )
      file <- "recommenderlab/data/MovieLense.rda"
      utils::untar(package[[2L]], file, exdir = tempdir())
      read(file.path(tempdir(), file))
    },
    error = function(cnd) {
      message("Skipped: MovieLens is not to be had (recommenderlab).")
      NULL
    }
  )
}

movielens <- function() {
  x <- movielens_matrix()
  if (is.null(x)) return(NULL)
  x <- Matrix::summary(methods::as(x, "CsparseMatrix"))
  x <- x[order(x$i, x$j), ]
  data.frame(user = x$i, item = x$j, value = x$x)
}

insteval <- function() {
  if (!requireNamespace("lme4", quietly = TRUE)) {
    message("Skipped: lme4 is not installed.")
    return(NULL)
  }
  x <- lme4::InstEval
  data.frame(user = x$s, item = x$d, value = as.numeric(x$y))
}

# The data set of this name of a package.
data_of <- function(name, package) {
  if (!peer_available(package)) {
    return(NULL)
  }
  found <- new.env()
  utils::data(list = name, package = package, envir = found)
  found[[name]]
}

columns_of <- function(name, package, chosen) {
  x <- data_of(name, package)
  if (!is.null(x)) x[, chosen]
}

# velocities in thousands of km/s
galaxies <- function() {
  x <- data_of("galaxies", "MASS")
  if (!is.null(x)) x / 1000
}
