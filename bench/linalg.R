# Our kernels beside R's own routines, in whole public calls.
#
#   Rscript bench/linalg.R [ROUNDS [CASES]]
#
# ROUNDS: default 5; CASES: a regular expression on the names of the cases
# below, default all.  Question: which of our kernels earn their place?
#
# The package is built twice for each file of bench/plain/: as it is, and with
# that file in the place of its namesake in src/core.  The files do the same
# work by R's own routines:
#
#   dense.c      BLAS and LAPACK, a kernel at a time: gram by dsyrk, cholesky by
#                dpotrf, products by ddot and dgemv; and all of them, also
#                solutions by dtrsv
#   uniforms.c   one unif_rand() a number
#   normals.c    one norm_rand(), or for ratings one philox_normal(), a number
#   lane_math.h  exp() and log1p() of the C library
#
# The rule (CONTRIBUTING.md): a kernel of dense algebra stays where it makes a
# whole public call at least 1.5 times faster with R's reference BLAS and no
# more than 1.2 times slower with OpenBLAS on one thread; the others where they
# make it faster.
#
# OpenBLAS is preloaded from GIBBSITE_OPENBLAS, the path of its shared library;
# without that its column is NA.  Each run is a process of its own that repeats
# the call for half a second after a first one and reports processor time for a
# call; the two builds take turns, ROUNDS times; medians of the rounds' ratios.

self <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
arguments <- commandArgs(trailingOnly = TRUE)

# ---- the calls ---------------------------------------------------------------

regression <- function(n, p) {
  set.seed(42)
  x <- matrix(stats::rnorm(n * p), n, p)
  w <- stats::rnorm(p) / sqrt(p)
  list(x = x, y = as.numeric(stats::runif(n) < stats::plogis(drop(x %*% w))))
}

mode_only <- function(n, p) {
  list(
    data = regression(n, p),
    run = function(d) {
      gibbsite::laplace_logistic(
        d$x, d$y, chains = 1, draws = 1, seed = 1, progress = FALSE
      )
    }
  )
}

with_draws <- function(n, p) {
  list(
    data = regression(n, p),
    run = function(d) {
      gibbsite::laplace_logistic(d$x, d$y, seed = 1, progress = FALSE)
    }
  )
}

mixture <- function(n, d, k, sweeps) {
  set.seed(42)
  x <- matrix(stats::rnorm(n * d), n, d) + sample(3 * k, n, TRUE)
  list(
    data = x,
    run = function(x) {
      suppressWarnings(gibbsite::gibbs_gmm(
        x, k, draws = sweeps, burnin = 0, chains = 1, seed = 1,
        progress = FALSE
      ))
    }
  )
}

topics <- function(k) {
  set.seed(42)
  counts <- gibbsite::sim_lda(500, 8, 1000, 100)$x
  list(
    data = counts,
    run = function(x) {
      suppressWarnings(gibbsite::gibbs_lda(
        x, k, draws = 100, burnin = 0, chains = 1, seed = 1, progress = FALSE
      ))
    }
  )
}

ratings <- function(rank) {
  set.seed(42)
  list(
    data = gibbsite::sim_bmf(1000, 500, 5, share = 0.1),
    run = function(x) {
      suppressWarnings(gibbsite::gibbs_bmf(
        x, rank = rank, draws = 50, burnin = 0, chains = 1, seed = 1,
        progress = FALSE
      ))
    }
  )
}

walk <- function(d) {
  list(
    data = rep(0.1, d),
    run = function(init) {
      suppressWarnings(gibbsite::mh_sample(
        function(x) -0.5 * sum(x * x), init, draws = 5000, burnin = 0,
        thin = 1, chains = 1, seed = 1, progress = FALSE,
        proposal = gibbsite::random_walk(0.5)
      ))
    }
  )
}

# A density in C, so that hardly anything but variates takes time.
compiled_walk <- function(d) {
  folder <- tempfile("density")
  dir.create(folder)
  file <- file.path(folder, "normal.c")
  writeLines(c(
    "double normal(const double *x, int d, void *data) {",
    "  double sum = 0.0;",
    "  for (int i = 0; i < d; i++) sum += x[i] * x[i];",
    "  return -0.5 * sum;",
    "}"
  ), file)
  shared <- sub("[.]c$", .Platform$dynlib.ext, file)
  system2(
    file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "-o", shared, file),
    stdout = FALSE
  )
  list(
    data = rep(0.1, d),
    run = function(init) {
      suppressWarnings(gibbsite::mh_sample(
        gibbsite::native_density(dll = shared, symbol = "normal"), init,
        draws = 5000, burnin = 0, thin = 10, chains = 1, seed = 1,
        progress = FALSE, proposal = gibbsite::random_walk(0.5)
      ))
    }
  )
}

cases <- list(
  "dense.c, all: mode, 1e4 x 20" = function() mode_only(1e4, 20),
  "dense.c, all: mode, 1e5 x 50" = function() mode_only(1e5, 50),
  "dense.c, all: mode, 1e6 x 20" = function() mode_only(1e6, 20),
  "dense.c, all: mode, 2,000 x 1,000" = function() mode_only(2000, 1000),
  "dense.c, gram: mode, 1e5 x 50" = function() mode_only(1e5, 50),
  "dense.c, gram: mode, 2,000 x 1,000" = function() mode_only(2000, 1000),
  "dense.c, cholesky: mode, 2,000 x 1,000" = function() mode_only(2000, 1000),
  "dense.c, products: mode, 1e5 x 50" = function() mode_only(1e5, 50),
  "dense.c, products: mode, 1e6 x 20" = function() mode_only(1e6, 20),
  "uniforms.c: mixture, 272 x 2, k = 2" = function() mixture(272, 2, 2, 20000),
  "uniforms.c: mixture, 1e4 x 5, k = 5" = function() mixture(1e4, 5, 5, 300),
  "uniforms.c: topics, k = 20" = function() topics(20),
  "normals.c: ratings, rank 10" = function() ratings(10),
  "normals.c: ratings, rank 30" = function() ratings(30),
  "normals.c: 4,000 draws, 1e4 x 20" = function() with_draws(1e4, 20),
  "normals.c: random walk, d = 10" = function() walk(10),
  "normals.c: random walk in C, d = 10" = function() compiled_walk(10),
  "lane_math.h: mixture, 272 x 2, k = 2" = function() {
    mixture(272, 2, 2, 20000)
  },
  "lane_math.h: mixture, 1e4 x 5, k = 5" = function() {
    mixture(1e4, 5, 5, 300)
  },
  "lane_math.h: mode, 1e5 x 50" = function() mode_only(1e5, 50)
)

# ---- one measurement: Rscript linalg.R --time CASE ---------------------------

cpu <- function() sum(proc.time()[c("user.self", "sys.self")])

time_call <- function(case) {
  made <- cases[[case]]()
  for (warm in 1:2) made$run(made$data)
  began <- cpu()
  calls <- 0
  while (calls == 0 || cpu() - began < 0.5) {
    made$run(made$data)
    calls <- calls + 1
  }
  (cpu() - began) / calls
}

if (identical(arguments[1], "--time")) {
  cat(format(time_call(arguments[[2]]), digits = 15), "\n")
  quit()
}

# ---- building ----------------------------------------------------------------

here <- normalizePath(dirname(self))
# The name before the colon: a file of plain/ and, after a comma, the kernel.
replaced_in <- function(case) sub(":.*", "", case)

# dense.c with one group of kernels by BLAS and LAPACK: ours take other names.
groups <- list(
  gram = "dense_add_gram",
  cholesky = c("dense_cholesky", "dense_cholesky_work"),
  products = c("dense_dot", "dense_add_columns", "dense_scale_and_dot")
)

mix_kernels <- function(target, plain, group) {
  file.copy(target, sub("dense[.]c$", "dense_ours.h", target))
  names <- groups[[group]]
  writeLines(c(
    paste0("#define ", names, " ours_", names), "#include \"dense_ours.h\"",
    paste0("#undef ", names), paste0("#define PLAIN_", toupper(group)),
    readLines(plain)
  ), target)
}

# Where the package was built as it is: its objects serve the others, but not
# where a header changes.
as_it_is <- file.path(tempfile("source"), "gibbsite")

library_of <- function(what = NULL) {
  file <- sub(",.*", "", what)
  group <- if (length(what) > 0L) sub(".*, ", "", what)
  source <- as_it_is
  if (length(what) > 0L) source <- file.path(tempfile("source"), "gibbsite")
  dir.create(source, recursive = TRUE)
  reuse <- length(what) > 0L && endsWith(file, ".c")
  from <- if (reuse) as_it_is else dirname(here)
  parts <- c("DESCRIPTION", "NAMESPACE", "R", "src", "inst")
  file.copy(
    file.path(from, parts), source, recursive = TRUE, copy.date = TRUE
  )
  made <- list.files(
    file.path(source, "src"), "[.](o|so)$", recursive = TRUE, full.names = TRUE
  )
  changed <- basename(made) == sub("c$", "o", file)
  unlink(if (reuse) made[changed] else made)
  if (length(file) > 0L) {
    target <- list.files(
      file.path(source, "src", "core"), paste0("^", file, "$"),
      recursive = TRUE, full.names = TRUE
    )
    stopifnot(length(target) == 1L)
    plain <- file.path(here, "plain", file)
    if (group %in% names(groups)) {
      mix_kernels(target, plain, group)
    } else {
      file.copy(plain, target, overwrite = TRUE)
    }
  }
  lib <- tempfile("library")
  dir.create(lib)
  log <- tempfile()
  status <- system2(
    file.path(R.home("bin"), "R"),
    c("CMD", "INSTALL", "--no-docs", "--no-test-load", "--no-byte-compile",
      paste0("--library=", lib), source),
    stdout = log, stderr = log
  )
  if (status != 0) stop(paste(readLines(log), collapse = "\n"))
  lib
}

seconds <- function(lib, case, preload = "") {
  out <- system2(
    file.path(R.home("bin"), "Rscript"),
    c("--no-save", shQuote(self), "--time", shQuote(case)),
    env = c(
      paste0("R_LIBS=", lib, ":", Sys.getenv("R_LIBS")),
      "OPENBLAS_NUM_THREADS=1", paste0("LD_PRELOAD=", preload)
    ),
    stdout = TRUE
  )
  as.numeric(out[[length(out)]])
}

# ---- the report --------------------------------------------------------------

rounds <- if (length(arguments) > 0L) as.integer(arguments[[1L]]) else 5L
chosen <- if (length(arguments) > 1L) arguments[[2L]] else ""
openblas <- Sys.getenv("GIBBSITE_OPENBLAS")
names <- grep(chosen, names(cases), value = TRUE)
files <- unique(replaced_in(names))
ours <- library_of()
plain <- lapply(stats::setNames(files, files), library_of)
cat(
  R.version.string, "on", R.version$platform, "\n",
  "BLAS:    ", extSoftVersion()[["BLAS"]], "\n",
  "OpenBLAS:", if (nzchar(openblas)) openblas else "not given", "\n\n"
)
# times of R's own routines over ours
ratio <- function(case, preload) {
  lib <- plain[[replaced_in(case)]]
  stats::median(vapply(seq_len(rounds), function(round) {
    own <- seconds(ours, case, preload)
    seconds(lib, case, preload) / own
  }, 0))
}
for (case in names) {
  blas <- startsWith(case, "dense.c")
  reference <- ratio(case, "")
  open <- if (blas && nzchar(openblas)) ratio(case, openblas) else NA
  cat(sprintf(
    "%-40s R's own over ours %5.2f%s\n", case, reference,
    if (blas) sprintf(", with OpenBLAS %5.2f", open) else ""
  ))
}
