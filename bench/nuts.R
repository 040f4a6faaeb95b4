# The no-U-turn sampler: mh_sample(gradient = ) beside rstan, and samplers of
# LaplacesDemon and BayesianTools, of the same posteriors.
#
#   Rscript bench/nuts.R [rounds=5] [programs=REGEXP] [CASES]
#
# CASES: a regular expression.  All cases take more than an hour.
#
# Posteriors: the eight schools (Rubin 1981; d = 10, non-centred, log tau);
# logistic regression of MASS::Pima.tr (d = 8, N(0, 10^2) priors, standardised
# predictors) and of 10,000 simulated observations of 20 predictors; a normal
# distribution with d = 100 whose standard deviations are 0.01 to 1, so that the
# condition number is 10^4.
#
# ESS a second      least bulk effective sample size of the parameters, over
#                   seconds of the processor that R has used: adaptation,
#                   sampling and what the program does with the draws; without
#                   compilation
# ESS a gradient    over the leapfrog steps of the kept draws
# us a gradient     the difference of the seconds of a run with 3,000 and of one
#                   with 1,000 kept draws a chain, over that of their steps
# R-hat             the largest, of the last round
#
# Ours (also the default random walk, for comparison) and Stan's: four chains
# one after the other, 1,000 kept, all else by default.  Stan's logistic
# regression is bernoulli_logit_glm.  LaplacesDemon's NUTS takes differences for
# gradients: one chain of 500 adaptive and 1,000 further iterations, and it is
# left out where a run would take hours.  BayesianTools' default sampler for
# such densities, DEzs: 30,000 iterations, the first third dropped.  Programs
# take turns, ROUNDS times; medians.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
folder <- if (length(here) > 0L) dirname(here) else "bench"
for (file in c("deps.R", "densities.R")) source(file.path(folder, file))

arguments <- commandArgs(trailingOnly = TRUE)
option <- function(name, default) {
  start <- paste0("^", name, "=")
  c(sub(start, "", grep(start, arguments, value = TRUE)), default)[[1L]]
}
rounds <- as.integer(option("rounds", "5"))
wanted <- option("programs", "")
pattern <- c(grep("=", arguments, value = TRUE, invert = TRUE), "")[[1L]]

# ---- the posteriors ----------------------------------------------------------

stan_logistic <- "
data { int n; int d; matrix[n, d] x; int y[n]; }
parameters { vector[d] w; }
model { w ~ normal(0, 10); y ~ bernoulli_logit_glm(x, 0, w); }
"

logistic_case <- function(data) {
  d <- ncol(data$x)
  list(
    d = d, density = logistic_density(data), gradient = logistic_gradient(data),
    native = if (!is.null(logistic_dll)) {
      native_density(
        dll = logistic_dll, symbol = "logistic", data = data,
        gradient = "logistic_gradient"
      )
    },
    stan = stan_logistic,
    stan_data = list(n = nrow(data$x), d = d, x = unname(data$x), y = data$y)
  )
}

large <- local({
  set.seed(1)
  x <- matrix(rnorm(1e4 * 20), ncol = 20)
  list(x = x, y = rbinom(1e4, 1, plogis(x %*% rnorm(20, 0, 0.5))), sd = 10)
})

schools_dll <- compile(file.path(folder, "schools.c"))
schools_case <- list(
  d = 10L, density = schools_density, gradient = schools_gradient,
  native = if (!is.null(schools_dll)) {
    native_density(
      dll = schools_dll, symbol = "schools", data = schools_data,
      gradient = "schools_gradient"
    )
  },
  stan = "
    data { vector[8] y; vector[8] sigma; }
    parameters { real mu; real log_tau; vector[8] eta; }
    model {
      real tau = exp(log_tau);
      mu ~ normal(0, 5);
      tau ~ cauchy(0, 5);
      target += log_tau;
      eta ~ std_normal();
      y ~ normal(mu + tau * eta, sigma);
    }
  ",
  stan_data = schools_data
)

normal_case <- local({
  scale <- 10^seq(-2, 0, length.out = 100)
  list(
    d = 100L, density = function(x) -sum((x / scale)^2) / 2,
    gradient = function(x) -x / scale^2,
    stan = "
      data { vector[100] scale; }
      parameters { vector[100] x; }
      model { x ~ normal(0, scale); }
    ",
    stan_data = list(scale = scale)
  )
})

cases <- list(
  `eight schools` = schools_case,
  Pima = if (!is.null(pima)) logistic_case(pima),
  `logistic, 10,000 x 20` = c(logistic_case(large), slow = TRUE),
  `normal, d = 100, 10^4` = c(normal_case, slow = TRUE)
)
cases <- Filter(Negate(is.null), cases)
cases <- cases[grepl(pattern, names(cases))]

# ---- the programs ------------------------------------------------------------

# Each is a function of the number of kept draws that returns list(draws,
# steps): an array draws x chains x parameters, and leapfrog steps of the kept
# draws (NA if unknown).

ours <- function(case, density, ...) {
  force(density)
  further <- list(...)
  function(n) {
    fit <- quietly(do.call(mh_sample, c(
      list(density, numeric(case$d), draws = n, progress = FALSE), further
    )))
    list(
      draws = posterior::as_draws_array(fit)[, , seq_len(case$d)],
      steps = leapfrog_steps(fit)
    )
  }
}

# NA for a random walk.
leapfrog_steps <- function(fit) {
  if (is.null(attr(fit, "chains")[[1L]]$state$transitions)) {
    return(NA_real_)
  }
  sum(vapply(seq_along(fit), function(k) {
    sum(gibbsite:::transitions_of(fit, k, 1L)[, "n_leapfrog__"])
  }, 0))
}

# NULL, with a message, where rstan cannot compile.
stan <- function(case) {
  if (!peer_available("rstan")) {
    return(NULL)
  }
  # Debian has Boost, but not as the package BH
  if (!nzchar(system.file("include", package = "BH"))) {
    rstan::rstan_options(boost_lib = "/usr/include")
  }
  model <- tryCatch(
    quietly(rstan::stan_model(model_code = case$stan)),
    error = function(cnd) {
      message("Skipped: rstan: ", conditionMessage(cnd))
      NULL
    }
  )
  if (is.null(model)) {
    return(NULL)
  }
  function(n) {
    fit <- quietly(rstan::sampling(
      model, case$stan_data, iter = 1000 + n, warmup = 1000, chains = 4,
      cores = 1, refresh = 0, seed = sample.int(1e6, 1L)
    ))
    inner <- rstan::get_sampler_params(fit, inc_warmup = FALSE)
    list(
      draws = posterior::as_draws_array(as.array(fit))[, , seq_len(case$d)],
      steps = sum(vapply(inner, function(m) sum(m[, "n_leapfrog__"]), 0))
    )
  }
}

demon <- function(case) {
  if (isTRUE(case$slow) || !peer_available("LaplacesDemon")) {
    return(NULL)
  }
  names <- paste0("x", seq_len(case$d))
  data <- list(J = case$d, mon.names = "LP", parm.names = names, N = 1)
  model <- function(parm, data) {
    value <- case$density(parm)
    list(LP = value, Dev = -2 * value, Monitor = value, yhat = 0, parm = parm)
  }
  function(n) {
    fit <- quietly(LaplacesDemon::LaplacesDemon(
      model, data, numeric(case$d), Iterations = 1500, Status = 1500,
      Thinning = 1, Algorithm = "NUTS",
      Specs = list(A = 500, delta = 0.8, epsilon = NULL, Lmax = 1000)
    ))
    kept <- fit$Posterior1[-seq_len(500), ]
    list(
      draws = posterior::as_draws_array(array(kept, c(1000L, 1L, case$d))),
      steps = NA_real_
    )
  }
}

toolbox <- function(case) {
  if (isTRUE(case$slow) || !peer_available("BayesianTools")) {
    return(NULL)
  }
  setup <- BayesianTools::createBayesianSetup(
    case$density, lower = rep(-40, case$d), upper = rep(40, case$d)
  )
  function(n) {
    fit <- quietly(BayesianTools::runMCMC(setup, "DEzs", list(
      iterations = 30000, message = FALSE, consoleUpdates = 1e9
    )))
    chains <- lapply(fit$chain, function(chain) chain[, seq_len(case$d)])
    kept <- lapply(chains, function(x) x[-seq_len(nrow(x) %/% 3), ])
    list(
      draws = posterior::as_draws_array(aperm(simplify2array(kept),
                                              c(1L, 3L, 2L))),
      steps = NA_real_
    )
  }
}

programs_of <- function(case) {
  makers <- list(
    `gibbsite, gradient in C` = function(case) {
      if (!is.null(case$native)) ours(case, case$native)
    },
    rstan = stan,
    `gibbsite, gradient in R` = function(case) {
      ours(case, case$density, gradient = case$gradient)
    },
    `gibbsite, random walk in R` = function(case) ours(case, case$density),
    `LaplacesDemon, NUTS` = demon,
    `BayesianTools, DEzs` = toolbox
  )
  makers <- makers[grepl(wanted, names(makers))]
  Filter(Negate(is.null), lapply(makers, function(make) make(case)))
}

# ---- the table ---------------------------------------------------------------

measure <- function(program) {
  # both runs adapt alike
  seed <- sample.int(1e6, 1L)
  timed <- function(n) {
    set.seed(seed)
    run <- NULL
    seconds <- seconds_of(run <- program(n))
    c(run, list(seconds = seconds))
  }
  run <- timed(1000)
  seconds <- run$seconds
  size <- least_ess(run$draws)
  cost <- NA_real_
  if (!is.na(run$steps)) {
    longer <- timed(3000)
    cost <- 1e6 * (longer$seconds - seconds) / (longer$steps - run$steps)
  }
  c(
    size / seconds, size / run$steps, cost,
    max(apply(run$draws, 3L, posterior::rhat))
  )
}

table_of <- function(case) {
  programs <- programs_of(case)
  results <- vapply(seq_len(rounds), function(round) {
    set.seed(round)
    vapply(programs, measure, numeric(4L))
  }, matrix(0, 4L, length(programs)))
  middle <- function(row) {
    apply(results[row, , , drop = FALSE], 2L, stats::median)
  }
  data.frame(
    program = names(programs), `ESS a second` = round(middle(1L)),
    `ESS a gradient` = signif(middle(2L), 2L),
    `us a gradient` = signif(middle(3L), 3L),
    `R-hat` = round(results[4L, , rounds], 3L),
    check.names = FALSE, row.names = NULL
  )
}

cat(R.version.string, "on", R.version$platform, "\n")
for (package in c("gibbsite", "rstan", "LaplacesDemon", "BayesianTools")) {
  if (requireNamespace(package, quietly = TRUE)) {
    cat(" ", package, format(utils::packageVersion(package)), "\n")
  }
}
options(width = 110)
for (name in names(cases)) {
  cat("\n", name, "\n", sep = "")
  print(table_of(cases[[name]]), row.names = FALSE)
}
