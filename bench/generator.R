# What it gains to draw many numbers at once from a copy of R's generator
# (src/r_generator.c), beside one call of unif_rand() or norm_rand() for each:
# seconds of processor time for runs of usual sizes, and the median of the
# ratios within a round.  The package is copied twice and its C code compiled
# for each copy from the sources beside this script; the two take turns.
#
# Rscript bench/generator.R [rounds]

arguments <- commandArgs(trailingOnly = TRUE)

# ---- one copy's times --------------------------------------------------------

runs <- list(
  `gmm, 20,000 x 4, 3 components` = function(x) {
    gibbs_gmm(x$points, 3, draws = 1000, burnin = 10, chains = 1, seed = 1,
              progress = FALSE)
  },
  `lda, 100,000 tokens, 20 topics` = function(x) {
    gibbs_lda(x$counts, 20, draws = 300, burnin = 10, chains = 1, seed = 1,
              progress = FALSE)
  },
  `mh, 10 coordinates` = function(x) {
    mh_sample(function(x) -0.5 * sum(x^2), rep(0.1, 10), random_walk(0.5),
              draws = 1e5, burnin = 1e3, chains = 1, seed = 1,
              progress = FALSE)
  },
  `laplace, 30 coordinates` = function(x) {
    laplace(function(x) -0.5 * sum(x^2), rep(0.1, 30), draws = 1e5,
            chains = 2, seed = 1, progress = FALSE)
  }
)

simulate <- function() {
  set.seed(1)
  list(
    points = matrix(rnorm(80000), 20000) + 3 * (seq_len(20000) %% 3),
    counts = matrix(rpois(300 * 1000, 1 / 3), 300)
  )
}

if (identical(arguments[1], "time")) {
  suppressPackageStartupMessages(library(gibbsite))
  data <- simulate()
  for (run in runs) {
    gc()
    cat(suppressWarnings(system.time(run(data))[["user.self"]]), "\n")
  }
  quit(status = 0)
}

# ---- two copies, in turns ----------------------------------------------------

rounds <- as.integer(c(arguments, "7")[1])
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
sources <- file.path(dirname(script), "..")
rscript <- file.path(R.home("bin"), "Rscript")

copy_with <- function(flags) {
  library <- tempfile("library")
  build <- tempfile("build")
  dir.create(library)
  dir.create(build)
  file.copy(find.package("gibbsite"), library, recursive = TRUE)
  file.copy(file.path(sources, c("src", "inst")), build, recursive = TRUE)
  shared <- list.files(file.path(library, "gibbsite", "libs"),
                       full.names = TRUE)
  makevars <- file.path(build, "Makevars")
  writeLines(paste("CFLAGS = -O2", flags), makevars)
  files <- list.files(file.path(build, "src"), "[.]c$", recursive = TRUE)
  unlink(sub("c$", "o", file.path(build, "src", files)))
  # R CMD SHLIB reads the Makevars of the working directory
  owd <- setwd(file.path(build, "src")) # nolint: undesirable_function_linter.
  on.exit(setwd(owd)) # nolint: undesirable_function_linter.
  outcome <- system2(
    file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "-o", shared, files),
    stdout = FALSE, env = paste0("R_MAKEVARS_USER=", makevars)
  )
  stopifnot(outcome == 0L)
  library
}

time_of <- function(library) {
  path <- paste(c(library, .libPaths()), collapse = .Platform$path.sep)
  as.double(system2(rscript, c(shQuote(script), "time"), stdout = TRUE,
                    env = paste0("R_LIBS=", shQuote(path))))
}

copies <- c(many = copy_with(""), one = copy_with("-DWORTH_TAKING=SIZE_MAX"))
times <- replicate(rounds, vapply(copies, time_of, numeric(length(runs))))
middle <- function(x) apply(x, 1, stats::median)
print(
  data.frame(
    `many at once` = middle(times[, "many", ]),
    `one by one` = middle(times[, "one", ]),
    `one / many` = round(middle(times[, "one", ] / times[, "many", ]), 2),
    row.names = names(runs), check.names = FALSE
  )
)
cat("\n", R.version.string, ", ", rounds, " rounds\n", sep = "")
