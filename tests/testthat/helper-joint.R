# Small cases of every sampler for sbc() and geweke_joint(): of test-joint.R and
# of tools/trust.R.

# A call of sbc() or geweke_joint(), and further arguments, as a list that
# check_case() evaluates. `mutants`: wrong sweeps for mutant_fit().
joint_case <- function(sampler, option, call, mutants = list(), ...) {
  list(
    sampler = sampler, option = option, call = rlang::enquo(call),
    mutants = mutants, further = list(...)
  )
}

# check(call, ...) of a case
check_case <- function(check, case, ..., seed = 1) {
  expr <- rlang::call2(
    check, rlang::quo_get_expr(case$call), !!!case$further, ..., seed = seed,
    progress = FALSE
  )
  eval(expr, rlang::quo_get_env(case$call))
}

# The fit of a case's call, short.
fit_of_case <- function(case) {
  gibbsite:::fit_of_call(case$call, rlang::current_env())
}

smallest_p <- function(check) smallest_adjusted(summary(check))

# Without the moves of groups, which leave the posterior as it is and take most
# of the twin's time.
mixture_mutants <- lapply(gmm_mutants, function(sweeps) {
  function(model, state, n, control) {
    model$data$merge_split <- 0L
    sweeps(model, state, n, control)
  }
})

joint_cases_of_mixtures <- function() {
  # few observations, so that the prior shows
  x <- withr::with_seed(2, matrix(stats::rnorm(14), 7))
  holes <- x
  holes[cbind(c(1, 3, 6), c(1, 2, 1))] <- NA
  full <- gmm_prior(c(3, 1), c(2, -1), diag(c(2, 0.4)), 6, diag(2))
  # others need more quantities or longer chains: test-gmm-exact.R finds them
  known <- c(
    "rate_for_scale", "nu0_off_by_d", "m0_dropped", "v0_for_its_inverse",
    "alpha_dropped"
  )
  list(
    joint_case("gibbs_gmm", "full", gibbs_gmm(x, 2, full, burnin = 100),
               mixture_mutants[known]),
    joint_case(
      "gibbs_gmm", "diagonal",
      gibbs_gmm(x, 2, full, covariance = "diagonal", burnin = 100),
      mixture_mutants[c(known[-2], "nu0_halved")]
    ),
    joint_case(
      "gibbs_gmm", "shared",
      gibbs_gmm(x, 2, full, covariance = "shared", burnin = 100),
      mixture_mutants[c("shared_count_of_one", known[-2])]
    ),
    joint_case(
      "gibbs_gmm", "missing entries",
      gibbs_gmm(holes, 2, full, na_action = "impute", burnin = 100)
    )
  )
}

joint_cases_of_topics <- function() {
  x <- withr::with_seed(3, sim_lda(6, 3, 6, 6))$x
  prior <- lda_prior(gamma_prior(2, 2), 0.3)
  both <- lda_prior(gamma_prior(2, 2), gamma_prior(2, 4))
  twin <- function(...) {
    wrong <- c(...)
    stats::setNames(lapply(wrong, twin_sweeps_with), wrong)
  }
  # "own_counted" is not here: it hardly moves, and from a draw of the joint
  # distribution Geweke's test does not see it leave. Nor is "eta_once", whose
  # effect is small here. test-lda-exact.R finds both.
  list(
    joint_case(
      "gibbs_lda", "collapsed", gibbs_lda(x, 3, prior, burnin = 100),
      twin("prior_dropped", "never_removed", "block_draw")
    ),
    joint_case(
      "gibbs_lda", "uncollapsed",
      gibbs_lda(x, 3, both, method = "uncollapsed", burnin = 100),
      twin("prior_dropped")
    )
  )
}

joint_cases_of_ratings <- function() {
  ratings <- withr::with_seed(4, sim_bmf(5, 4, 2, 0.8))
  gamma <- bmf_gamma(a = 3, b = 2, c = 3, d = 2, e = 3, f = 2)
  wishart <- bmf_wishart(
    mu0 = 0.5, kappa0 = 1, nu0 = 5, W0 = diag(2) / 5, e = 3, f = 2
  )
  list(
    joint_case(
      "gibbs_bmf", "gamma prior", gibbs_bmf(ratings, 2, gamma, burnin = 100),
      bmf_mutants[c(
        "lambda_scale_for_rate", "lambda_u_prior_rate_inverted",
        "lambda_v_prior_rate_inverted", "beta_prior_rate_inverted",
        "beta_shape_halved", "beta_shape_without_prior",
        "beta_shape_of_half_the_ratings", "beta_rate_doubled",
        "lambda_shape_of_rows", "stale_users"
      )]
    ),
    joint_case(
      "gibbs_bmf", "Wishart prior",
      gibbs_bmf(ratings, 2, wishart, burnin = 100),
      bmf_mutants[c(
        "scatter_about_zero", "w0_for_its_inverse", "wishart_mean",
        "nu0_off_by_d", "kappa_dropped"
      )]
    ),
    joint_case(
      "gibbs_bmf", "biases",
      gibbs_bmf(ratings, 2, gamma, biases = TRUE, burnin = 100),
      bmf_mutants["intercept_as_factor"]
    )
  )
}

joint_cases_of_regression <- function() {
  d <- withr::with_seed(5, data.frame(
    g = gl(6, 4), z = rep(c(-1, 0, 1, 2), 6), y = stats::rnorm(24),
    v = stats::runif(24, 0.5, 2), o = stats::rnorm(24) / 2,
    s = stats::rbinom(24, 5, 0.5), x = stats::rnorm(24)
  ))
  d$f <- 5 - d$s
  few <- d[1:8, ]
  line <- function(type, ...) {
    lm_prior(type, ..., c = 3, d = 2, scale = 1, intercept_mean = 0.5,
             intercept_sd = 1)
  }
  groups <- function(type, ...) {
    hlm_prior(type, ..., nu0 = 6, sigma0 = 1.2, slope_mean = 0.5,
              slope_sd = 0.8, intercept_mean = 1, intercept_sd = 1.5)
  }
  share <- logistic_prior(c = 2)
  shares <- logistic_prior(c = 2, group_df = 4, group_scale = 1)
  list(
    joint_case(
      "gibbs_lm", "hierarchical prior",
      gibbs_lm(y ~ z + x, few, line("hierarchical", a = 3, b = 2),
               burnin = 50), lm_mutants
    ),
    joint_case(
      "gibbs_lm", "conjugate prior",
      gibbs_lm(y ~ z + x, few, line("nig", lambda = 2), burnin = 0), lm_mutants
    ),
    joint_case(
      "gibbs_lm", "horseshoe prior",
      gibbs_lm(y ~ z + x, few, line("horseshoe", tau = 0.5), burnin = 100),
      lm_mutants
    ),
    joint_case(
      "gibbs_lm", "weights, more columns than rows",
      gibbs_lm(y ~ z + x + o + v + s, d[1:4, ],
               line("hierarchical", a = 3, b = 2), weights = v, burnin = 50),
      lm_mutants
    ),
    joint_case(
      "gibbs_hlm", "half-t prior",
      gibbs_hlm(y ~ z + (z | g), d, groups("half-t", df = 4, scale = 1),
                burnin = 100), hlm_mutants[c("shape", "noise", "fixed")]
    ),
    joint_case(
      "gibbs_hlm", "inverse Wishart prior, weights",
      gibbs_hlm(y ~ z + (z | g), d, groups(
        "inverse-wishart", df = 6, scale = matrix(c(4, 1, 1, 2), 2)
      ), weights = v, burnin = 100), hlm_mutants
    ),
    joint_case(
      "gibbs_hlm", "independent deviations",
      gibbs_hlm(y ~ z + (z || g), d, groups("half-t", df = 4, scale = 1),
                burnin = 100), hlm_mutants["fixed"]
    ),
    joint_case(
      "gibbs_logistic", "logit",
      gibbs_logistic(cbind(s, f) ~ z, d, share, offset = o, burnin = 50),
      logistic_mutants
    ),
    joint_case(
      "gibbs_logistic", "probit",
      gibbs_logistic(cbind(s, f) ~ z, d, share, link = "probit", offset = o,
                     burnin = 50), logistic_mutants
    ),
    joint_case(
      "gibbs_logistic", "logit, groups",
      gibbs_logistic(cbind(s, f) ~ z + (1 | g), d, shares, offset = o,
                     burnin = 100), hlm_binomial_mutants
    ),
    joint_case(
      "gibbs_logistic", "probit, groups",
      gibbs_logistic(cbind(s, f) ~ z + (z | g), d, shares, link = "probit",
                     offset = o, burnin = 100),
      hlm_binomial_mutants[c("scale", "variance", "offset", "trials")]
    )
  )
}

# y_i ~ N(mu, 1 / tau), mu ~ N(0, 1), tau ~ Gamma(2, 2)
joint_target <- function(x, y) {
  stats::dnorm(x[[1]], log = TRUE) +
    stats::dgamma(x[[2]], 2, 2, log = TRUE) +
    sum(stats::dnorm(y, x[[1]], 1 / sqrt(x[[2]]), log = TRUE))
}

# Another log density than that of the model.
target_mutant <- function(wrong) {
  force(wrong)
  data_mutant(function(data) {
    data$log_density <- wrong
    data
  })
}

joint_cases_of_functions <- function() {
  y <- c(1, 2, 0, 3)
  draw <- function() c(mu = stats::rnorm(1), tau = stats::rgamma(1, 2, 2))
  draw_blocks <- function() as.list(draw())
  data <- function(x) {
    list(y = stats::rnorm(4, x[["mu"]], 1 / sqrt(x[["tau"]])))
  }
  start <- c(mu = 0, tau = 1)
  gradient <- function(x, y) {
    n <- length(y)
    c(sum(y - x[[1]]) * x[[2]] - x[[1]],
      1 / x[[2]] - 2 + n / 2 / x[[2]] - sum((y - x[[1]])^2) / 2)
  }
  mutants <- list(
    prior_dropped = target_mutant(function(x, y) {
      sum(stats::dnorm(y, x[[1]], 1 / sqrt(x[[2]]), log = TRUE))
    }),
    variance_for_precision = target_mutant(function(x, y) {
      stats::dnorm(x[[1]], log = TRUE) +
        stats::dgamma(x[[2]], 2, 2, log = TRUE) +
        sum(stats::dnorm(y, x[[1]], sqrt(x[[2]]), log = TRUE))
    }),
    last_left_out = target_mutant(function(x, y) joint_target(x, y[-1]))
  )
  mu <- function(state, y) {
    precision <- 1 + length(y) * state$tau
    stats::rnorm(1, sum(y) * state$tau / precision, 1 / sqrt(precision))
  }
  tau <- function(state, y) {
    stats::rgamma(1, 2 + length(y) / 2, 2 + sum((y - state$mu)^2) / 2)
  }
  tau_step <- mh_step(function(state, y) {
    if (state$tau <= 0) return(-Inf)
    joint_target(c(state$mu, state$tau), y)
  })
  of_user <- function(...) {
    joint_case(..., draw_prior = draw, simulate_data = data)
  }
  list(
    of_user("mh_sample", "adaptive, bounds by transformation", mh_sample(
      joint_target, start, y = y, lower = c(-Inf, 0), transform = TRUE,
      burnin = 500
    ), mutants),
    of_user("mh_sample", "random walk, blocks", mh_sample(
      joint_target, start, random_walk(1), y = y, lower = c(-Inf, 0),
      blocks = list(1, 2), burnin = 200
    ), mutants),
    of_user("mh_sample", "independence", mh_sample(
      joint_target, start, independence(c(0, 1), diag(c(2, 2)), df = 4), y = y,
      lower = c(-Inf, 0), burnin = 200
    ), mutants["prior_dropped"]),
    of_user("mh_sample", "Langevin", mh_sample(
      joint_target, start, langevin(0.7, gradient), y = y, lower = c(-Inf, 0),
      burnin = 200
    ), mutants["variance_for_precision"]),
    joint_case("gibbs_sample", "systematic scan", gibbs_sample(
      list(mu = mu, tau = tau), list(mu = 0, tau = 1), y = y, burnin = 20
    ), draw_prior = draw_blocks, simulate_data = data),
    joint_case("gibbs_sample", "random scan", gibbs_sample(
      list(mu = mu, tau = tau), list(mu = 0, tau = 1), y = y, scan = "random",
      burnin = 40
    ), draw_prior = draw_blocks, simulate_data = data),
    joint_case("gibbs_sample", "Metropolis step", gibbs_sample(
      list(mu = mu, tau = tau_step), list(mu = 0, tau = 1), y = y, burnin = 200
    ), draw_prior = draw_blocks, simulate_data = data)
  )
}

joint_cases_of_all <- function() {
  c(
    joint_cases_of_mixtures(), joint_cases_of_topics(),
    joint_cases_of_ratings(), joint_cases_of_regression(),
    joint_cases_of_functions()
  )
}
