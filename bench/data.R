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

# An environment with the objects of a data set of a package, from CRAN's
# sources if it is not installed; or NULL.
package_data <- function(name, package) {
  found <- new.env()
  if (requireNamespace(package, quietly = TRUE)) {
    utils::data(list = name, package = package, envir = found)
    return(found)
  }
  tryCatch(
    {
      all <- utils::available.packages(filters = list())
      source <- utils::download.packages(
        package, tempdir(), type = "source", quiet = TRUE,
        available = all[rownames(all) == package, , drop = FALSE]
      )
      file <- file.path(package, "data", paste0(name, ".rda"))
      utils::untar(source[[2L]], file, exdir = tempdir())
      load(file.path(tempdir(), file), found)
      found
    },
    error = function(cnd) {
      message("Skipped: ", name, " is not to be had (", package, ").")
      NULL
    }
  )
}

# MovieLense, MovieLenseUser and MovieLenseMeta
movielens_objects <- function() package_data("MovieLense", "recommenderlab")

as_pairs <- function(x) {
  x <- Matrix::summary(methods::as(x, "CsparseMatrix"))
  x <- x[order(x$i, x$j), ]
  data.frame(user = x$i, item = x$j, value = x$x)
}

movielens <- function() {
  found <- movielens_objects()
  if (is.null(found)) return(NULL)
  as_pairs(attr(found$MovieLense, "data"))
}

# Of users age (standardised), sex and occupation, of items year (standardised;
# 0 where it is not known) and genres: list(ratings, users, items).
movielens_with_features <- function() {
  found <- movielens_objects()
  if (is.null(found)) return(NULL)
  x <- attr(found$MovieLense, "data")
  # as an attribute: Matrix need not be loaded yet
  ids <- attr(x, "Dimnames")
  who <- found$MovieLenseUser[
    match(ids[[1L]], found$MovieLenseUser$id), c("age", "sex", "occupation")
  ]
  who$age <- as.double(scale(who$age))
  who$user <- seq_len(nrow(who))
  what <- found$MovieLenseMeta[match(ids[[2L]], found$MovieLenseMeta$title), ]
  genres <- setdiff(names(what), c("title", "year", "url"))
  year <- as.double(scale(as.numeric(what$year)))
  table <- cbind(
    year = ifelse(is.na(year), 0, year), as.matrix(what[genres]) + 0
  )
  table[is.na(table)] <- 0
  rownames(table) <- seq_len(nrow(table))
  list(ratings = as_pairs(x), users = who, items = table)
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
data_of <- function(name, package) package_data(name, package)[[name]]

columns_of <- function(name, package, chosen) {
  x <- data_of(name, package)
  if (!is.null(x)) x[, chosen]
}

# velocities in thousands of km/s
galaxies <- function() {
  x <- data_of("galaxies", "MASS")
  if (!is.null(x)) x / 1000
}

# Of a student the age (first mark), of a lecturer the department that most of
# the marks name and the share of marks from students of other departments.
insteval_with_features <- function() {
  x <- insteval()
  if (is.null(x)) return(NULL)
  given <- lme4::InstEval
  first <- !duplicated(given$s)
  users <- data.frame(
    user = given$s[first],
    age = factor(as.character(given$studage[first]))
  )
  dept <- table(given$d, given$dept)
  items <- data.frame(
    item = rownames(dept), dept = colnames(dept)[max.col(dept, "first")],
    service = as.double(tapply(given$service == "1", given$d, mean))
  )
  list(ratings = x, users = users, items = items)
}
