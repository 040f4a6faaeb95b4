# Logistic regression: laplace_logistic() beside glm.fit(), arm::bayesglm.fit()
# and rstanarm::stan_glm(algorithm = "optimizing").
#
#   Rscript bench/logistic.R [ROUNDS [CASES]]
#
# ROUNDS: default 3; CASES: a regular expression on the names below, default all
# (about ten minutes, 4 GB).  Questions: how long a fit takes, and how much
# memory beyond the data.
#
# The model is the same for all but glm.fit(), which has no prior: every
# coefficient ~ N(0, 100).  laplace_logistic() is timed twice: for the mode,
# covariance and evidence alone (one draw), which is what the peers give, and as
# it is called by default, with 4 x 1,000 draws.  stan_glm() draws 1,000 times.
# All but stan_glm() are given a matrix; it builds one of its own, and its times
# contain that.
#
# Times are of the processor (user and system, of all threads), which other
# programs on the machine disturb less.  The programs take turns, ROUNDS times (a
# case of over a minute once); medians, and medians of the ratios within a round.
# Peak memory is R's own count (gc(reset = TRUE)) above what is in use before,
# which holds the data.  `off` is the largest distance of the coefficients to
# laplace_logistic()'s mode in its posterior standard deviations.
#
# BLAS: laplace_logistic() has kernels of its own, so that R's BLAS plays no part
# in its times; rstanarm uses none of R's either, glm.fit() and bayesglm.fit()
# use LINPACK's QR with level-1 BLAS.  To run under another BLAS, put it first:
#   LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-pthread Rscript ...

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(if (length(here) > 0L) dirname(here) else "bench", "deps.R"))

argument <- c(commandArgs(trailingOnly = TRUE), "")
rounds <- if (nzchar(argument[[1L]])) as.integer(argument[[1L]]) else 3L
chosen <- if (length(argument) > 2L) argument[[2L]] else ""

# ---- the data ----------------------------------------------------------------

simulated <- function(n, p) {
  set.seed(42)
  x <- matrix(stats::rnorm(n * p), n, p)
  x[, 1L] <- 1
  colnames(x) <- c("(Intercept)", paste0("x", 2:p))
  w <- stats::rnorm(p) / sqrt(p)
  list(x = x, y = as.numeric(stats::runif(n) < stats::plogis(drop(x %*% w))))
}

simulated_sparse <- function(n, p, density) {
  set.seed(42)
  x <- Matrix::rsparsematrix(n, p, density)
  colnames(x) <- paste0("x", seq_len(p))
  eta <- as.vector(x %*% stats::rnorm(p))
  list(x = x, y = as.numeric(stats::runif(n) < stats::plogis(eta)))
}

# target: bayesglm's time over ours; once: one round
cases <- list(
  "1e4 x 20" = list(make = function() simulated(1e4, 20), target = 12),
  "1e5 x 50" = list(make = function() simulated(1e5, 50), target = 20),
  "1e6 x 20" = list(
    make = function() simulated(1e6, 20), target = 25, once = TRUE
  ),
  "2,000 x 1,000" = list(
    make = function() simulated(2000, 1000), target = 13, once = TRUE
  ),
  "200 x 2,000" = list(make = function() simulated(200, 2000), ours = TRUE),
  "sparse 1e5 x 2,000" = list(
    make = function() simulated_sparse(1e5, 2000, 0.01), ours = TRUE,
    once = TRUE
  )
)
cases <- cases[grepl(chosen, names(cases))]

# ---- the programs --------------------------------------------------------------

prior <- logistic_prior(c = 100, intercept_c = 100)

run_mode <- function(data) {
  laplace_logistic(data$x, data$y, prior, chains = 1, draws = 1, seed = 1)
}

run_default <- function(data) laplace_logistic(data$x, data$y, prior, seed = 1)

run_glm <- function(data) {
  suppressWarnings(
    stats::glm.fit(data$x, data$y, family = stats::binomial())
  )
}

run_bayesglm <- function(data) {
  suppressWarnings(arm::bayesglm.fit(
    data$x, data$y, family = stats::binomial(), scaled = FALSE,
    prior.mean = 0, prior.scale = 10, prior.df = Inf,
    prior.mean.for.intercept = 0, prior.scale.for.intercept = 10,
    prior.df.for.intercept = Inf
  ))
}

run_stan <- function(data) {
  frame <- as.data.frame(data$x[, -1L])
  frame$y <- data$y
  utils::capture.output(fit <- suppressWarnings(rstanarm::stan_glm(
    y ~ ., data = frame, family = stats::binomial(),
    prior = rstanarm::normal(0, 10), seed = 1, refresh = 0,
    prior_intercept = rstanarm::normal(0, 10), algorithm = "optimizing"
  )))
  fit
}

programs <- list(
  "laplace_logistic, mode" = run_mode, "laplace_logistic" = run_default,
  "glm.fit" = run_glm
)
if (peer_available("arm")) {
  programs[["arm::bayesglm.fit"]] <- run_bayesglm
}
if (peer_available("rstanarm")) {
  programs[["rstanarm, optimizing"]] <- run_stan
}
ours <- names(programs)[1:2]

# ---- measuring ---------------------------------------------------------------

# list(result, seconds, mb)
measured <- function(run, data) {
  before <- gc(reset = TRUE)
  time <- system.time(result <- run(data))
  after <- gc()
  list(
    result = result, seconds = sum(time[c("user.self", "sys.self")]),
    mb = sum(after[, ncol(after)]) - sum(before[, 2L])
  )
}

# The mode and its standard deviations, of our fits.
mode_of <- function(fit) {
  data <- attr(fit, "model")$data
  inverse <- backsolve(t(data$precision_factor), diag(length(data$map)))
  list(map = data$map, sd = sqrt(rowSums(inverse^2)))
}

coefficients_of <- function(result) {
  if (inherits(result, "gibbsite_fit")) mode_of(result)$map else stats::coef(result)
}

compare <- function(name, case) {
  data <- case$make()
  run <- if (isTRUE(case$ours)) programs[ours] else programs
  times <- if (isTRUE(case$once)) 1L else rounds
  # in the first run R compiles what it meets
  small <- lapply(simulated(200, 4), identity)
  for (program in run) program(small)
  seconds <- mb <- matrix(0, times, length(run), dimnames = list(NULL, names(run)))
  off <- numeric(length(run))
  for (round in seq_len(times)) {
    for (k in seq_along(run)) {
      found <- measured(run[[k]], data)
      seconds[round, k] <- found$seconds
      mb[round, k] <- found$mb
      if (k == 1L) reference <- mode_of(found$result)
      apart <- coefficients_of(found$result) - reference$map
      off[[k]] <- max(abs(apart) / reference$sd)
    }
  }
  middle <- function(x) apply(x, 2L, stats::median)
  data.frame(
    case = name, program = names(run), seconds = signif(middle(seconds), 3),
    `over ours` = signif(middle(seconds / seconds[, 1L]), 3),
    `over default` = signif(middle(seconds / seconds[, 2L]), 3),
    target = ifelse(names(run) == "arm::bayesglm.fit", case$target %||% NA, NA),
    `peak MB` = round(middle(mb)),
    `data MB` = round(as.numeric(utils::object.size(data)) / 2^20),
    off = signif(off, 2), check.names = FALSE, row.names = NULL
  )
}

`%||%` <- function(a, b) if (is.null(a)) b else a

# ---- the report --------------------------------------------------------------

blas <- extSoftVersion()[["BLAS"]]
cat(
  R.version.string, "on", R.version$platform, "\n",
  "BLAS:  ", if (nzchar(blas)) blas else "R's own", "\n",
  "LAPACK:", La_library(), La_version(), "\n",
  "Processors:", parallel::detectCores(), "\n"
)
for (package in c("gibbsite", "arm", "rstanarm")) {
  if (nzchar(system.file(package = package))) {
    cat(" ", package, format(utils::packageVersion(package)), "\n")
  }
}
options(width = 130)
for (name in names(cases)) {
  cat("\n")
  print(compare(name, cases[[name]]), row.names = FALSE)
}
