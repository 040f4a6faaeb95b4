# Metropolis-Hastings: mh_sample() beside mcmc::metrop(), MCMCmetrop1R(),
# adaptMCMC, fmcmc, BayesianTools and LaplacesDemon; and gibbs_sample() beside
# the bare calls of its conditionals.
#
#   Rscript bench/mh.R [ROUNDS]       ROUNDS: default 5; about ten minutes
#
# Questions
#
# 1. What does a step of sampling cost?  The density is function(x) -0.5 * sum(x
#    * x) at d = 2, 10 and 100.  Like with like:
#    - the same proposal in all programs: a normal random walk with standard
#      deviation 2.38 / sqrt(d) (LaplacesDemon: its "RWM" of that covariance;
#      adaptMCMC and fmcmc without adaptation), fixed, so that there is no
#      burn-in and nothing is learned; "adaptive" alone learns at every step.
#      "matrix": as one does who knows a covariance, so that a step has a
#      product of matrix and vector; MCMCmetrop1R always has;
#    - as many evaluations of the density: one a step, n against 10 n steps, and
#      the difference of the times divided by that of the steps, so that setting
#      up does not count;
#    - every step is stored (metrop(): nspac = 1, blen = 1).  "1 in 100": thin =
#      100 and nspac = 100, for the step without its storing;
#    - what metrop() gives back has not been looked at; mh_sample() ends with
#      R-hat and effective sample sizes, which grow with the draws and not with
#      the steps (of converged chains, hardly with the draws either: some of
#      them are enough).  They are left out, and have a row of their own.
#    The floor is the density called in a bare C loop at one and the same
#    vector: no program can take less, so that metrop() over the floor bounds
#    what metrop() over ours can be.
# 2. How many effective draws a second?  Logistic regression of MASS::Pima.tr (d
#    = 8, N(0, 10^2) priors, standardised predictors) and the eight schools
#    (Rubin 1981; d = 10, non-centred, log tau).  Ours: the density and a start,
#    all else by default.  "all": adaptation, burn-in and diagnosis in the time;
#    "kept": the share of it that the kept sweeps have.  metrop() tuned by hand:
#    started at the posterior mean, with 2.38^2/d times the posterior covariance
#    and no burn-in.  Both come from a long run of ours that does not count:
#    "tuned" gives metrop() for nothing what ours pays for; "with a pilot" adds
#    one run for tuning, as long as our burn-in.  Least bulk effective sample
#    size of the parameters.  The densities are closures in R; Pima's also in C.
# 3. What does gibbs_sample() add to the calls of the user's functions?
#
# The programs take turns, ROUNDS times; medians, and medians of the ratios
# within a round; seconds of the processor that R itself has used, which other
# programs disturb less than the clock.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
folder <- if (length(here) > 0L) dirname(here) else "bench"
for (file in c("deps.R", "densities.R")) source(file.path(folder, file))

argument <- commandArgs(trailingOnly = TRUE)
rounds <- if (length(argument) > 0L) as.integer(argument[[1L]]) else 5L

# ---- compiled parts ----------------------------------------------------------

floor_dll <- compile(file.path(folder, "floor.c"))
if (is.null(floor_dll)) {
  stop("bench/mh.R needs a C compiler for its floor.")
}
dyn.load(floor_dll)

normal_c <- file.path(tempdir(), "normal.c")
writeLines(c(
  "double normal(const double *x, int d, void *data) {",
  "  double sum = 0.0;",
  "  (void)data;",
  "  for (int j = 0; j < d; j++)",
  "    sum += x[j] * x[j];",
  "  return -0.5 * sum;",
  "}"
), normal_c)
normal_dll <- compile(normal_c)

# ---- 1. a step ---------------------------------------------------------------

density <- function(x) -0.5 * sum(x * x)

# Not quite diagonal, so that nobody can take it for it.
with_off_diagonal <- function(d) {
  (diag(0.99, d) + 0.01) * 2.38^2 / d
}

# Looked at: with what mh_sample() does once its chains have run.
judge <- gibbsite:::judge
without_judgement <- function(expr) {
  utils::assignInNamespace("judge", function(fit) NULL, "gibbsite")
  on.exit(utils::assignInNamespace("judge", judge, "gibbsite"))
  expr
}

ours <- function(proposal, thin = 1, f = density) {
  force(proposal)
  function(d, n) {
    without_judgement(mh_sample(
      f, numeric(d), proposal(d), draws = n / thin, thin = thin, burnin = 0,
      chains = 1, inits = list(numeric(d)), progress = FALSE
    ))
  }
}

metrop <- function(scale, nspac = 1) {
  function(d, n) {
    mcmc::metrop(
      density, numeric(d), n / nspac, nspac = nspac, scale = scale(d)
    )
  }
}

scalar <- function(d) random_walk(2.38 / sqrt(d))
full <- function(d) random_walk(cov = with_off_diagonal(d))
root <- function(d) t(chol(with_off_diagonal(d)))

# Each a function of the dimension and a number of steps.  `few`: steps of the
# shorter run, for d up to 10; a fifth of it for more, and slow programs need
# not as many.
programs <- list(
  floor = list(few = 20000, run = function(d, n) {
    .Call("floor_loop", density, numeric(d) + 0.1, as.integer(n))
  }),
  gibbsite = list(few = 20000, run = ours(scalar)),
  mcmc = list(few = 20000, run = metrop(function(d) 2.38 / sqrt(d))),
  `gibbsite, matrix` = list(few = 20000, run = ours(full)),
  `mcmc, matrix` = list(few = 20000, run = metrop(root)),
  `gibbsite, 1 in 100` = list(few = 20000, run = ours(scalar, 100)),
  `mcmc, 1 in 100` = list(
    few = 20000, run = metrop(function(d) 2.38 / sqrt(d), 100)
  ),
  `gibbsite, matrix, 1 in 100` = list(few = 20000, run = ours(full, 100)),
  `mcmc, matrix, 1 in 100` = list(few = 20000, run = metrop(root, 100)),
  `gibbsite, adaptive, 1 in 100` = list(
    few = 20000, run = ours(function(d) adaptive(forever = TRUE), 100)
  ),
  `gibbsite, compiled, 1 in 100` = list(
    few = 100000,
    run = if (!is.null(normal_dll)) {
      ours(scalar, 100, native_density(dll = normal_dll, symbol = "normal"))
    }
  ),
  `gibbsite, looked at` = list(few = 20000, run = function(d, n) {
    mh_sample(
      density, numeric(d), scalar(d), draws = n, thin = 1, burnin = 0,
      chains = 1, inits = list(numeric(d)), progress = FALSE
    )
  }),
  MCMCpack = list(few = 20000, run = function(d, n) {
    MCMCpack::MCMCmetrop1R(
      density, numeric(d), burnin = 0, mcmc = n,
      V = diag(2.38^2 / d, d), logfun = TRUE, force.samp = TRUE
    )
  }),
  adaptMCMC = list(few = 4000, run = function(d, n) {
    adaptMCMC::MCMC(
      density, n, numeric(d), scale = rep(2.38^2 / d, d), adapt = FALSE,
      showProgressBar = FALSE
    )
  }),
  fmcmc = list(few = 2000, run = function(d, n) {
    fmcmc::MCMC(
      numeric(d), density, nsteps = n, progress = FALSE,
      kernel = fmcmc::kernel_normal(scale = 2.38 / sqrt(d))
    )
  }),
  BayesianTools = list(few = 1000, run = function(d, n) {
    setup <- BayesianTools::createBayesianSetup(
      density, lower = rep(-20, d), upper = rep(20, d)
    )
    BayesianTools::runMCMC(setup, "Metropolis", list(
      iterations = n, startValue = numeric(d) + 0.1, optimize = FALSE,
      message = FALSE, consoleUpdates = 1e9,
      proposalGenerator = BayesianTools::createProposalGenerator(
        rep(2.38 / sqrt(d), d)
      )
    ))
  }),
  LaplacesDemon = list(few = 1000, run = function(d, n) {
    data <- list(
      J = d, mon.names = "LP", parm.names = paste0("x", seq_len(d)), N = 1
    )
    model <- function(parm, data) {
      value <- density(parm)
      list(LP = value, Dev = -2 * value, Monitor = value, yhat = 0, parm = parm)
    }
    LaplacesDemon::LaplacesDemon(
      model, data, numeric(d) + 0.1, Covar = diag(2.38^2 / d, d),
      Iterations = n, Status = n, Thinning = 1, Algorithm = "RWM"
    )
  })
)

package_of <- function(name) sub(",.*$", "", name)
peer_names <- setdiff(package_of(names(programs)), c("floor", "gibbsite"))
absent <- peer_names[!vapply(peer_names, peer_available, NA)]
peer_names <- setdiff(peer_names, absent)
programs <- programs[!package_of(names(programs)) %in% absent]
if (is.null(normal_dll)) {
  programs[["gibbsite, compiled, 1 in 100"]] <- NULL
}

# Nanoseconds a step, from ten times as many steps against `few`.
step_cost <- function(program, d) {
  few <- if (d > 10L) program$few / 5 else program$few
  short <- seconds_of(quietly(program$run(d, few)))
  long <- seconds_of(quietly(program$run(d, 10 * few)))
  1e9 * (long - short) / (9 * few)
}

targets <- c(`2` = 1.8, `10` = 2.3, `100` = 2.5)

measure_steps <- function(d) {
  for (program in programs) quietly(program$run(d, 1000))
  costs <- vapply(seq_len(rounds), function(round) {
    set.seed(round)
    vapply(programs, step_cost, 0, d = d)
  }, numeric(length(programs)))
  # each beside ours of the same kind
  ours <- ifelse(package_of(names(programs)) == "mcmc",
    sub("^mcmc", "gibbsite", names(programs)), "gibbsite"
  )
  ours[names(programs) == "MCMCpack"] <- "gibbsite, matrix"
  over <- apply(costs, 2L, function(cost) cost / cost[ours])
  table <- data.frame(
    program = names(programs), `ns a step` = round(apply(costs, 1L, median)),
    `over ours` = round(apply(over, 1L, median), 2), target = NA_real_,
    check.names = FALSE, row.names = NULL
  )
  peer <- package_of(table$program) == "mcmc"
  table$target[peer] <- targets[[as.character(d)]]
  table
}

# ---- 2. effective draws a second ---------------------------------------------

cases <- list(schools = list(density = schools_density, d = 10L))
if (!is.null(pima)) {
  cases$pima <- list(density = logistic_density(pima), d = 8L)
  if (!is.null(logistic_dll)) {
    cases[["pima, compiled"]] <- list(
      density = native_density(
        dll = logistic_dll, symbol = "logistic", data = pima
      ),
      d = 8L, metrop = FALSE
    )
  }
}

# What somebody who tunes by hand ends up with.
tuned <- function(case) {
  set.seed(1)
  fit <- quietly(mh_sample(
    case$density, numeric(case$d), draws = 5000, progress = FALSE
  ))
  draws <- as.matrix(fit)[, seq_len(case$d)]
  list(mean = colMeans(draws),
       scale = t(chol(2.38^2 / case$d * stats::cov(draws))))
}

run_default <- function(case) {
  fit <- NULL
  seconds <- seconds_of(fit <- quietly(mh_sample(
    case$density, numeric(case$d), progress = FALSE
  )))
  draws <- posterior::as_draws_array(fit)[, , seq_len(case$d)]
  sweeps <- coda::mcpar(fit[[1L]])[2:3]
  kept <- nrow(fit[[1L]]) * sweeps[[2L]] / sweeps[[1L]]
  least_ess(draws) / seconds / c(1, kept)
}

# As many steps as ours, in four chains; `pilot` steps before them, for tuning.
run_metrop <- function(case, tuning, pilot) {
  chains <- list()
  run <- function(batches) {
    mcmc::metrop(
      case$density, tuning$mean, batches, nspac = case$d, scale = tuning$scale
    )$batch
  }
  seconds <- seconds_of(chains <- lapply(1:4, function(k) run(2000L)))
  tuned <- seconds_of(lapply(1:4, function(k) run(pilot)))
  size <- least_ess(aperm(simplify2array(chains), c(1L, 3L, 2L)))
  size / (seconds + c(0, tuned))
}

measure_ess <- function(name) {
  case <- cases[[name]]
  peer <- !isFALSE(case$metrop) && requireNamespace("mcmc", quietly = TRUE)
  tuning <- if (peer) tuned(case)
  results <- vapply(seq_len(rounds), function(round) {
    set.seed(round)
    c(run_default(case),
      if (peer) run_metrop(case, tuning, 1000L) else c(NA_real_, NA_real_))
  }, numeric(4L))
  rate <- function(row) round(median(results[row, ]))
  ratio <- function(ours, its) {
    round(median(results[ours, ] / results[its, ]), 2)
  }
  data.frame(
    case = name, `ours, all` = rate(1L), `ours, kept` = rate(2L),
    tuned = rate(3L), `with a pilot` = rate(4L),
    `all / tuned` = ratio(1L, 3L), `kept / tuned` = ratio(2L, 3L),
    `all / with a pilot` = ratio(1L, 4L),
    target = if (peer) 1 else NA_real_, check.names = FALSE
  )
}

# ---- 3. gibbs_sample() -------------------------------------------------------

plane <- list(
  z1 = function(state) rnorm(1, 4 + 0.8 * (state$z2 - 4), 0.6),
  z2 = function(state) rnorm(1, 4 + 0.8 * (state$z1 - 4), 0.6)
)

gibbs_runs <- list(
  `calls alone, at one state` = function(n) {
    state <- list(z1 = 0, z2 = 0)
    for (i in seq_len(n)) {
      plane$z1(state)
      plane$z2(state)
    }
  },
  `a loop in R that keeps the draws` = function(n) {
    state <- list(z1 = 0, z2 = 0)
    draws <- matrix(0, n, 2L)
    for (i in seq_len(n)) {
      for (block in c("z1", "z2")) state[[block]] <- plane[[block]](state)
      draws[i, ] <- c(state$z1, state$z2)
    }
    draws
  },
  gibbs_sample = function(n) {
    quietly(gibbs_sample(
      plane, list(z1 = 0, z2 = 0), draws = n / 100, thin = 100, burnin = 0,
      chains = 1, progress = FALSE
    ))
  }
)

measure_gibbs <- function(few = 10000) {
  for (run in gibbs_runs) run(few)
  costs <- vapply(seq_len(rounds), function(round) {
    set.seed(round)
    vapply(gibbs_runs, function(run) {
      short <- seconds_of(run(few))
      1e9 * (seconds_of(run(5 * few)) - short) / (4 * few)
    }, 0)
  }, numeric(3L))
  data.frame(
    program = names(gibbs_runs), `ns a sweep` = round(apply(costs, 1L, median)),
    `over the calls` = round(
      apply(apply(costs, 2L, function(cost) cost / cost[[1L]]), 1L, median), 2
    ),
    check.names = FALSE, row.names = NULL
  )
}

# ---- the report --------------------------------------------------------------

cat(R.version.string, "on", R.version$platform, "\n")
cat("Processors:", parallel::detectCores(), "\n")
for (package in c("gibbsite", peer_names, "posterior")) {
  cat(" ", package, format(utils::packageVersion(package)), "\n")
}
options(width = 110)

for (d in c(2L, 10L, 100L)) {
  cat("\nA step, d =", d, "\n")
  print(measure_steps(d), row.names = FALSE)
}

cat("\nEffective draws a second\n")
print(do.call(rbind, lapply(names(cases), measure_ess)), row.names = FALSE)

cat("\ngibbs_sample(), two blocks of one normal draw\n")
print(measure_gibbs(), row.names = FALSE)
