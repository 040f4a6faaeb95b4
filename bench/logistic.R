# Logistic regression: laplace_logistic() beside glm.fit(), arm::bayesglm.fit()
# and rstanarm::stan_glm(algorithm = "optimizing").
#
#   Rscript bench/logistic.R [ROUNDS [CASES [SKIP]]]
#
# ROUNDS: default 3; CASES: a regular expression on the names of the cases
# below, default all; SKIP: one on the names of the programs to leave out, such
# as "rstanarm|glm.fit", default none (ten minutes or more, most of them for
# rstanarm at 1e6 x 20).  Questions: how long a fit takes, and how much memory
# beyond the data.
#
# The model is the same for all but glm.fit(), which has no prior: every
# coefficient ~ N(0, 100).  laplace_logistic() is timed twice: for the mode,
# covariance and evidence alone (one draw), which is what the peers give, and as
# it is called by default, with 4 x 1,000 draws.  stan_glm() draws 1,000 times.
# All but stan_glm() are given a matrix; it builds one of its own, and its times
# contain that.
#
# Times are of the processor (user and system, of all threads), which other
# programs on the machine disturb less.  A fit that takes less than a fifth of a
# second is repeated until that has passed.  The programs take turns, ROUNDS
# times (a case of over a minute once); medians, and medians of the ratios
# within a round.  `target` is for arm::bayesglm.fit over ours, the mode:
# neither has draws.
# Peak memory is R's own count (gc(reset = TRUE)) above what is in use before,
# which holds the data.  `off` is the largest distance of the coefficients to
# laplace_logistic()'s mode in its posterior standard deviations.
#
# BLAS: laplace_logistic() has kernels of its own, so that R's BLAS plays no
# part in its times; rstanarm uses none of R's either, glm.fit() and
# bayesglm.fit() use LINPACK's QR with level-1 BLAS.  To run under another BLAS,
# preload it:
#   LD_PRELOAD=/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3 \
#     Rscript ...

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(if (length(here) > 0L) dirname(here) else "bench", "deps.R"))

argument <- c(commandArgs(trailingOnly = TRUE), "")
rounds <- if (nzchar(argument[[1L]])) as.integer(argument[[1L]]) else 3L
chosen <- if (length(argument) > 2L) argument[[2L]] else ""
skipped <- if (length(argument) > 3L) argument[[3L]] else "^$"

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

# ---- the programs ------------------------------------------------------------

prior <- logistic_prior(slope_variance = 100, intercept_variance = 100)

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
ours <- names(programs)[1:2]
if (peer_available("arm")) {
  programs[["arm::bayesglm.fit"]] <- run_bayesglm
}
if (peer_available("rstanarm")) {
  programs[["rstanarm, optimizing"]] <- run_stan
}
programs <- programs[
  names(programs) %in% ours | !grepl(skipped, names(programs))
]

# ---- measuring ---------------------------------------------------------------

cpu <- function() sum(proc.time()[c("user.self", "sys.self")])

# list(result, seconds, mb); of a program that fails all are NA, and it is said.
measured <- function(name, data) {
  run <- programs[[name]]
  before <- gc(reset = TRUE)
  began <- cpu()
  result <- tryCatch(run(data), error = function(cnd) {
    message(name, ": ", conditionMessage(cnd))
    NULL
  })
  seconds <- cpu() - began
  after <- gc()
  if (is.null(result)) {
    return(list(result = NULL, seconds = NA_real_, mb = NA_real_))
  }
  if (seconds < 0.2) {
    times <- ceiling(0.2 / max(seconds, 0.001))
    began <- cpu()
    for (i in seq_len(times)) run(data)
    seconds <- (cpu() - began) / times
  }
  list(
    result = result, seconds = seconds,
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
  if (inherits(result, "gibbsite_fit")) {
    mode_of(result)$map
  } else {
    stats::coef(result)
  }
}

compare <- function(name, case) {
  data <- case$make()
  run <- if (isTRUE(case$ours)) ours else names(programs)
  times <- if (isTRUE(case$once)) 1L else rounds
  seconds <- mb <- off <- matrix(
    NA_real_, times, length(run), dimnames = list(NULL, run)
  )
  for (round in seq_len(times)) {
    for (k in seq_along(run)) {
      found <- measured(run[[k]], data)
      seconds[round, k] <- found$seconds
      mb[round, k] <- found$mb
      if (k == 1L) reference <- mode_of(found$result)
      if (!is.null(found$result)) {
        apart <- coefficients_of(found$result) - reference$map
        off[round, k] <- max(abs(apart) / reference$sd)
      }
      # the result may be larger than the data
      found <- NULL
    }
  }
  middle <- function(x) apply(x, 2L, stats::median)
  data.frame(
    case = name, program = run, seconds = signif(middle(seconds), 3),
    `over ours` = signif(middle(seconds / seconds[, 1L]), 3),
    `over default` = signif(middle(seconds / seconds[, 2L]), 3),
    target = ifelse(run == "arm::bayesglm.fit", case$target %||% NA, NA),
    `peak MB` = round(middle(mb)),
    `data MB` = round(as.numeric(utils::object.size(data)) / 2^20),
    off = signif(off[times, ], 2), check.names = FALSE, row.names = NULL
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
# in the first runs R compiles what it meets
small <- simulated(200, 4)
for (program in programs) for (i in 1:3) program(small)
for (name in names(cases)) {
  cat("\n")
  print(compare(name, cases[[name]]), row.names = FALSE)
  flush(stdout())
}
