# Rscript tools/packages.R missing < list   prints those of "package version"
#                                           that are absent or too old
# Rscript tools/packages.R depends NAME...  prints what these need from CRAN
#                                           and is absent
# Rscript tools/packages.R install NAME...  installs them from CRAN
# Rscript tools/packages.R library          prints the library to install into

missing_packages <- function(wanted) {
  if (nrow(wanted) == 0L) {
    return(character())
  }
  absent <- vapply(seq_len(nrow(wanted)), function(i) {
    path <- find.package(wanted$package[i], quiet = TRUE)
    length(path) == 0L ||
      utils::packageVersion(wanted$package[i]) < wanted$version[i]
  }, logical(1L))
  unique(wanted$package[absent])
}

# The first library with write permission, otherwise the user's own, which is
# created.
writable_library <- function() {
  usable <- .libPaths()[file.access(.libPaths(), 2L) == 0L]
  if (length(usable) > 0L) {
    return(usable[1L])
  }
  own <- path.expand(strsplit(
    Sys.getenv("R_LIBS_USER"), .Platform$path.sep, fixed = TRUE
  )[[1L]][1L])
  dir.create(own, recursive = TRUE, showWarnings = FALSE)
  own
}

use_cran <- function() {
  if (getOption("repos")[["CRAN"]] == "@CRAN@") {
    utils::chooseCRANmirror(ind = 1L, local.only = TRUE)
  }
}

missing_dependencies <- function(packages) {
  use_cran()
  needed <- tools::package_dependencies(packages, recursive = TRUE)
  needed <- setdiff(unlist(needed), packages)
  needed[lengths(lapply(needed, find.package, quiet = TRUE)) == 0L]
}

install_packages <- function(packages) {
  use_cran()
  utils::install.packages(
    packages, lib = writable_library(),
    Ncpus = max(1L, parallel::detectCores(), na.rm = TRUE)
  )
}

arguments <- commandArgs(trailingOnly = TRUE)
switch(arguments[1L],
  missing = writeLines(missing_packages(utils::read.table(
    file("stdin"), col.names = c("package", "version"),
    colClasses = "character"
  ))),
  depends = writeLines(missing_dependencies(arguments[-1L])),
  install = install_packages(arguments[-1L]),
  library = writeLines(writable_library())
)
