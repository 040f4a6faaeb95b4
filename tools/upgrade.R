# Rscript tools/upgrade.R: an update of rlang in between changes nothing. Needs
# the package installed, and CRAN, from which the newest rlang is put into a
# library of its own; says so and ends if that is not reachable or no other
# version than the one installed.
#
# Runs and fits are written under each version and read under the other one:
# resume(), extend(), identical_fit() and combine_fits(). Those of format 2,
# which rlang's own hash has, are read or refused with the reason.

here <- normalizePath("tests/testthat/stored")
newer <- file.path(tempdir(), "newer")
dir.create(newer)
repos <- c(CRAN = "https://cloud.r-project.org")
try(suppressWarnings(utils::install.packages(
  "rlang", lib = newer, repos = repos, quiet = TRUE
)))
version_in <- function(library) as.character(utils::packageVersion(
  "rlang", lib.loc = library
))
if (!dir.exists(file.path(newer, "rlang")) ||
      version_in(newer) == version_in(NULL)) {
  cat("skipped: no other version of rlang than the installed one is at hand\n")
  quit(status = 0L)
}
libraries <- list(NULL, newer)
names(libraries) <- paste("rlang", vapply(libraries, version_in, ""))

# Runs a script in a folder; its lines, and whether it ended well.
r_under <- function(library, folder, script) {
  paths <- paste(c(library, .libPaths()), collapse = .Platform$path.sep)
  old <- setwd(folder)
  on.exit(setwd(old))
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", script),
    stdout = TRUE, stderr = TRUE, env = paste0("R_LIBS=", paths)
  ))
  list(lines = out, well = is.null(attr(out, "status")))
}

# What is read: each line is TRUE if it is as it should be.
reads <- quote({
  suppressMessages(library(gibbsite))
  source("runs.R")
  fits <- readRDS("format-3/fits.rds")
  more <- function(...) suppressWarnings(extend(..., progress = FALSE))
  mixture <- more(fits$mixture, 10, data = mixture_data)
  again <- suppressWarnings(resume("format-3/run", progress = FALSE))
  old <- readRDS("format-2/fits.rds")
  # of format 2: read where rlang gives its hashes, elsewhere refused
  same <- rlang::hash(1:3) == "01913b7cb9fed2b9ac0aaec208501f40"
  read_if_same <- function(code) {
    tryCatch({
      code
      same
    }, gibbsite_error_old_hash = function(cnd) !same)
  }
  changed <- old$walk
  changed[[1L]][3L, 1L] <- 0
  checks <- c(
    "resume()" = identical_fit(again, walk_run()),
    "extend()" = identical_fit(more(fits$walk, 180), walk_run()),
    "extend(data = )" = identical_fit(mixture, mixture_run(30)),
    "identical_fit()" = identical_fit(fits$walk, walk_run(20)),
    "combine_fits()" = length(combine_fits(
      fits$mixture, mixture_run(20, seed = 2)
    )) == 2L,
    "format 2, resume()" = read_if_same(suppressWarnings(
      resume("format-2/run", progress = FALSE)
    )),
    "format 2, extend()" = read_if_same(more(old$walk, 5)),
    "format 2, identical_fit()" = identical_fit(old$walk, old$walk) &&
      !identical_fit(old$walk, changed)
  )
  cat(sprintf("  %-26s %s\n", names(checks), ifelse(checks, "ok", "WRONG")),
    sep = ""
  )
  quit(status = as.integer(!all(checks)))
})

failed <- FALSE
for (writer in names(libraries)) {
  for (reader in names(libraries)) {
    folder <- tempfile("upgrade")
    dir.create(folder)
    file.copy(
      file.path(here, c("make.R", "runs.R", "format-2")), folder,
      recursive = TRUE
    )
    writeLines(deparse(reads), file.path(folder, "read.R"))
    written <- r_under(libraries[[writer]], folder, "make.R")
    read <- r_under(libraries[[reader]], folder, "read.R")
    cat("written under ", writer, ", read under ", reader, "\n", sep = "")
    writeLines(read$lines)
    failed <- failed || !written$well || !read$well
  }
}
quit(status = as.integer(failed))
