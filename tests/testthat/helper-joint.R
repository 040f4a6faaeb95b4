# Small cases of every sampler for sbc() and geweke_joint(): of test-joint.R and
# of tools/trust.R.

# A call of sbc() or geweke_joint(), and further arguments, as a list that
# check_case() evaluates. `mutants`: wrong sweeps for mutant_fit(); `joint`:
# whether geweke_joint() takes the sampler.
joint_case <- function(sampler, option, call, mutants = list(), ...,
                       joint = TRUE) {
  list(
    sampler = sampler, option = option, call = rlang::enquo(call),
    mutants = mutants, further = list(...), joint = joint, seed = 1
  )
}

# These cases share their prior and their simulator. With one seed they would
# have the same data, and p-values that depend on each other.
with_own_seeds <- function(cases) {
  lapply(seq_along(cases), function(i) {
    replace(cases[[i]], "seed", i)
  })
}

# check(call, ...) of a case
check_case <- function(check, case, ...) {
  expr <- rlang::call2(
    check, rlang::quo_get_expr(case$call), !!!case$further, ...,
    seed = case$seed, progress = FALSE
  )
  eval(expr, rlang::quo_get_env(case$call))
}

# The fit of a case's call, short.
fit_of_case <- function(case) {
  gibbsite:::fit_of_call(case$call, rlang::current_env())
}

smallest_p <- function(check) smallest_adjusted(summary(check))

# ---- the twins ---------------------------------------------------------------

# The largest difference between the core and its slow twin in R after some
# sweeps of a case's model on the same random numbers, relative to numbers above
# one. NA for samplers that are written in R themselves.
difference_from_twin <- function(case, sweeps = 10) {
  model <- without_bases(gibbsite:::fit_part(fit_of_case(case), "model"))
  twin <- twin_numbers(model)
  if (is.null(twin)) {
    return(NA_real_)
  }
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  core <- withr::with_seed(
    3, own_sweeps(model, state, sweeps, control)
  )
  core <- twin$core(model, core)
  slow <- withr::with_seed(3, twin$twin(model, state, sweeps))
  max(abs(core - slow) / pmax(1, abs(core)))
}

twin_numbers <- function(model) {
  of_rows <- function(sweeps) {
    list(core = function(model, run) run$draws, twin = sweeps)
  }
  # of parts of the last state, by functions of a twin
  of_state <- function(as_twin, sweep, parts) {
    list(
      core = function(model, run) unlist(as_twin(model, run$state)[parts]),
      twin = function(model, state, n) {
        twin <- as_twin(model, state)
        for (i in seq_len(n)) twin <- sweep(model, twin)
        unlist(twin[parts])
      }
    )
  }
  switch(class(model)[[1L]],
    gmm_model = of_state(
      twin_state, gmm_sweep_twin, c("z", "log_pi", "mu", "sigma", "x")
    ),
    gmm_unknown_model = of_state(
      twin_unknown, unknown_sweep_twin,
      c("k", "z", "log_pi", "mu", "sigma", "alpha", "s0")
    ),
    bmf_model = of_state(
      twin_bmf, if (is.null(model$response$link)) {
        bmf_twin_sweep
      } else {
        ordinal_twin_sweep
      }, TRUE
    ),
    pmf_model = of_state(twin_pmf, pmf_twin_sweep, TRUE),
    lda_model = of_rows(twin_lda_sweeps), lm_model = of_rows(twin_lm_sweeps),
    hlm_model = of_rows(twin_hlm_sweeps),
    hlm_crossed_model = of_rows(twin_crossed_sweeps),
    ordinal_model = , hlm_ordinal_model = of_rows(twin_ordinal_sweeps),
    logistic_model = of_rows(twin_logistic_sweeps),
    hlm_binomial_model = of_rows(twin_binomial_sweeps),
    hlm_crossed_binomial_model = of_rows(twin_bars_sweeps),
    categorical_model = ,
    hlm_categorical_model = of_rows(twin_categorical_sweeps),
    count_model = , hlm_count_model = of_rows(twin_count_sweeps),
    lm_t_model = of_rows(twin_t_sweeps), hlm_t_model = of_rows(twin_t_sweeps),
    hlm_crossed_t_model = of_rows(twin_t_sweeps)
  )
}

twin_lda_sweeps <- function(model, state, n) {
  sweep_rows(twin_sweep, model, state, n)
}

# ---- the cases ---------------------------------------------------------------

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
  holes[cbind(c(1:3, 5:7), c(1, 2, 1, 2, 1, 2))] <- NA
  full <- gmm_prior(c(2, 0.7), c(2, -1), diag(c(2, 0.4)), 6, diag(2))
  # correlated, so that a row's missing entry depends on the other one
  slanted <- gmm_prior(
    c(2, 0.7), c(2, -1), diag(c(2, 0.4)), 8, 3 * matrix(c(1, 0.8, 0.8, 1), 2)
  )
  # not stale_weights, which needs longer chains: test-gmm-exact.R finds it
  known <- c(
    "rate_for_scale", "nu0_off_by_d", "m0_dropped", "v0_for_its_inverse",
    "alpha_dropped"
  )
  list(
    joint_case("gibbs_gmm", "full", gibbs_gmm(x, 2, full, burnin = 100),
               mixture_mutants[c(known, "scatter_about_data_mean")]),
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
      gibbs_gmm(holes, 2, slanted, na_action = "impute", burnin = 100),
      mixture_mutants[c(
        "marginal_imputation", "imputation_of_means", "stale_imputation",
        "imputation_first"
      )]
    ),
    joint_case(
      "gibbs_gmm", "unknown number of components",
      gibbs_gmm(x, unknown_k(4, c(1, 7, 1, 3)), gmm_prior(
        m0 = 0.5, v0 = 3, nu0 = 7, s0_df = 6, s0_mean = 4
      ), burnin = 100),
      unknown_mutants
    )
  )
}

joint_cases_of_topics <- function() {
  x <- withr::with_seed(3, sim_lda(6, 3, 6, 6))$x
  prior <- lda_prior(gamma_prior(2, 2), 0.3)
  both <- lda_prior(gamma_prior(2, 2), gamma_prior(2, 4))
  seeds <- matrix(0.3, 3, 6)
  seeds[cbind(1:2, 1:2)] <- 2
  twin <- function(...) {
    wrong <- c(...)
    stats::setNames(lapply(wrong, twin_sweeps_with), wrong)
  }
  list(
    joint_case(
      "gibbs_lda", "collapsed", gibbs_lda(x, 3, prior, burnin = 100),
      twin("own_counted", "never_removed", "block_draw", "prior_dropped")
    ),
    joint_case(
      "gibbs_lda", "collapsed, eta drawn",
      gibbs_lda(x, 3, both, burnin = 100), twin("eta_once")
    ),
    joint_case(
      "gibbs_lda", "collapsed, seeded topics",
      gibbs_lda(x, 3, lda_prior(gamma_prior(2, 2), seeds), burnin = 100),
      twin("own_counted", "prior_dropped")
    ),
    joint_case(
      "gibbs_lda", "uncollapsed",
      gibbs_lda(x, 3, both, method = "uncollapsed", burnin = 100),
      twin("prior_dropped", "stale_theta")
    )
  )
}

joint_cases_of_ratings <- function() {
  ratings <- withr::with_seed(4, sim_bmf(5, 4, 2, 0.8))
  ordinal <- transform(ratings, value = 1 + findInterval(value, c(-1, 0, 1)))
  likes <- transform(ratings, value = value > 0)
  gamma <- bmf_prior("gamma", user_shape = 3, user_rate = 2, item_shape = 3,
                     item_rate = 2, noise_shape = 3, noise_rate = 2)
  wishart <- bmf_prior(
    mu0 = 1.5, kappa0 = 1, nu0 = 5, W0 = diag(2) / 5, noise_shape = 3,
    noise_rate = 2
  )
  features <- withr::with_seed(6, matrix(stats::rnorm(15), 5))
  features_prior <- bmf_prior(
    mu0 = 1.5, kappa0 = 1, nu0 = 5, W0 = diag(2) / 5, noise_shape = 3,
    noise_rate = 2, feature_shape = 6, feature_rate = 3
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
        "nu0_off_by_d", "kappa_dropped", "mu0_dropped"
      )]
    ),
    joint_case(
      "gibbs_bmf", "biases",
      gibbs_bmf(ratings, 2, gamma, biases = TRUE, burnin = 100),
      bmf_mutants["intercept_as_factor"]
    ),
    joint_case(
      "gibbs_bmf", "features",
      gibbs_bmf(ratings, 2, features_prior, user_features = features,
                burnin = 100),
      # not ridge_shape_of_prior, which needs longer chains:
      # test-bmf-features.R finds it
      bmf_mutants[c("wishart_without_b", "residuals_for_rows")]
    ),
    joint_case(
      "gibbs_bmf", "ordinal, biases",
      gibbs_bmf(
        ordinal, 2, bmf_prior("gamma", user_shape = 3, user_rate = 2,
                              item_shape = 3, item_rate = 2), biases = TRUE,
        link = "ordinal", cutpoint_sd = 1.6, burnin = 100
      ),
      # not latent_not_redrawn, which needs longer chains: test-bmf-ordinal.R
      # finds it
      ordinal_mutants[setdiff(names(ordinal_mutants), "latent_not_redrawn")]
    ),
    joint_case(
      "gibbs_bmf", "probit, Wishart prior",
      gibbs_bmf(
        likes, 2, bmf_prior(
          mu0 = 1.5, kappa0 = 1, nu0 = 5, W0 = diag(2) / 5
        ),
        link = "probit", cutpoint_sd = 1.6, burnin = 100
      ),
      ordinal_mutants["cutpoint_prior_dropped"]
    )
  )
}

joint_cases_of_counts <- function() {
  # users times shape differs from items times shape: scale moves need it
  counts <- withr::with_seed(7, sim_pmf(6, 3, 2, mean = 2))
  prior <- pmf_prior(
    user_shape = 1.5, item_shape = 2, user_rate_shape = 4, item_rate_shape = 5,
    user_rate_mean = 1.2, item_rate_mean = 0.8
  )
  list(
    joint_case(
      "gibbs_pmf", "", gibbs_pmf(counts, 2, prior, burnin = 100),
      pmf_mutants
    ),
    joint_case(
      "gibbs_pmf", "known rates",
      gibbs_pmf(
        counts, 1, pmf_prior(3, 2, Inf, Inf, 0.3, 0.4), burnin = 100
      ),
      pmf_mutants["likes_for_counts"]
    )
  )
}

joint_cases_of_regression <- function() {
  d <- withr::with_seed(5, data.frame(
    g = gl(6, 4), z = rep(c(-1, 0, 1, 2), 6), y = stats::rnorm(24),
    v = stats::runif(24, 0.5, 2), o = stats::rnorm(24) / 2,
    s = stats::rbinom(24, 5, 0.5), x = stats::rnorm(24), h = gl(3, 1, 24)
  ))
  d$f <- 5 - d$s
  d$r <- rep_len(c(2, 1, 3), 24)
  d$k <- factor(d$r)
  few <- d[1:8, ]
  line <- function(type, ...) {
    lm_prior(type, ..., noise_shape = 3, noise_rate = 2, scale = 1,
             intercept_mean = 0.5,
             intercept_sd = 1)
  }
  groups <- function(type, ...) {
    hlm_prior(type, ..., nu0 = 6, sigma0 = 1.2, slope_mean = 0.5,
              slope_sd = 0.8, intercept_mean = 1, intercept_sd = 1.5)
  }
  share <- logistic_prior(slope_variance = 2)
  shares <- logistic_prior(slope_variance = 2, group_df = 4, group_scale = 1)
  ordered <- ordinal_prior(
    slope_variance = 0.6, threshold_sd = 1.2, group_df = 4, group_scale = 0.7
  )
  kinds <- logistic_prior(
    slope_variance = 0.6, intercept_variance = 0.6, group_df = 4,
    group_scale = 0.7
  )
  events <- count_prior(
    slope_variance = 0.5, intercept_variance = 0.5, group_df = 4,
    group_scale = 0.5, dispersion_df = 4, dispersion_scale = 0.5
  )
  list(
    joint_case(
      "gibbs_lm", "hierarchical prior",
      gibbs_lm(
        y ~ z + x, few, line("hierarchical", slope_shape = 3, slope_rate = 2),
        burnin = 50
      ), lm_mutants
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
      gibbs_lm(
        y ~ z + x + o + v + s, d[1:4, ],
        line("hierarchical", slope_shape = 3, slope_rate = 2), weights = v,
        burnin = 50
      ),
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
      "gibbs_hlm", "crossed factors",
      gibbs_hlm(y ~ z + (z | g) + (1 | h), d,
                groups("half-t", df = 4, scale = 1), weights = v, burnin = 100),
      crossed_mutants
    ),
    joint_case(
      "gibbs_hlm", "nested factors",
      gibbs_hlm(y ~ z + (1 | g / h), d, groups("half-t", df = 4, scale = 1),
                burnin = 100), nested_mutants
    ),
    joint_case(
      "gibbs_ordinal", "without groups",
      gibbs_ordinal(r ~ z + x, few, ordered, offset = o, burnin = 50),
      ordered_mutants
    ),
    joint_case(
      "gibbs_ordinal", "groups",
      gibbs_ordinal(r ~ x + (1 | g), d, ordered, offset = o, burnin = 100),
      ordered_bar_mutants
    ),
    joint_case(
      "gibbs_ordinal", "crossed factors",
      gibbs_ordinal(r ~ z + (x | g) + (1 | h), d, ordered, burnin = 100),
      ordered_bar_mutants[c("thresholds", "scale", "codes")]
    ),
    joint_case(
      "gibbs_categorical", "without groups",
      gibbs_categorical(k ~ z + x, few, kinds, offset = o, burnin = 50),
      categorical_mutants
    ),
    joint_case(
      "gibbs_categorical", "groups",
      gibbs_categorical(k ~ x + (1 | g), d, kinds, offset = o, burnin = 100),
      categorical_bar_mutants
    ),
    joint_case(
      "gibbs_categorical", "counts, crossed factors",
      gibbs_categorical(
        cbind(s, f, r) ~ z + (x | g) + (1 | h), d, kinds, burnin = 100
      ),
      categorical_bar_mutants[c("trials", "scale", "shift_response")]
    ),
    joint_case(
      "gibbs_hlm", "t errors",
      gibbs_hlm(y ~ x + (x | g), d, groups("half-t", df = 4, scale = 1),
                weights = v, errors = "t", burnin = 100), t_mutants
    ),
    joint_case(
      "gibbs_hlm", "t errors, crossed factors",
      gibbs_hlm(y ~ z + (1 | g) + (1 | h), d,
                groups("half-t", df = 4, scale = 1), errors = "t",
                burnin = 100), t_mutants["noise"]
    ),
    joint_case(
      "gibbs_logistic", "logit",
      gibbs_logistic(cbind(s, f) ~ z, d, share, offset = o + z, burnin = 50),
      logistic_mutants
    ),
    joint_case(
      "gibbs_logistic", "probit",
      gibbs_logistic(cbind(s, f) ~ z, d, share, link = "probit",
                     offset = o + z, burnin = 50), logistic_mutants
    ),
    joint_case(
      "gibbs_logistic", "logit, groups",
      gibbs_logistic(cbind(s, f) ~ z + (1 | g), d, shares, offset = o,
                     burnin = 100), hlm_binomial_mutants
    ),
    joint_case(
      "gibbs_logistic", "probit, groups",
      # not z: the twin's signs are others for its 0
      gibbs_logistic(cbind(s, f) ~ x + (x | g), d, shares, link = "probit",
                     offset = o, burnin = 100),
      hlm_binomial_mutants[c("scale", "variance", "offset", "trials")]
    ),
    joint_case(
      "gibbs_logistic", "crossed factors",
      gibbs_logistic(cbind(s, f) ~ z + (x | g) + (1 | h), d, shares,
                     offset = o, burnin = 100), bars_mutants
    ),
    joint_case(
      "gibbs_logistic", "nested factors",
      gibbs_logistic(cbind(s, f) ~ x + (1 | g / h), d, shares, link = "probit",
                     burnin = 100), nested_mutants["parent"]
    ),
    joint_case(
      "gibbs_count", "negative binomial",
      gibbs_count(s ~ z, d, "negbinomial", events, offset = o + z,
                  burnin = 50), count_mutants
    ),
    joint_case(
      "gibbs_count", "Poisson, groups",
      gibbs_count(s ~ z + (z | g) + (1 | h), d, prior = events, offset = o,
                  burnin = 100), count_group_mutants
    )
  )
}

# y_i ~ N(mu, 1 / tau), mu ~ N(0, 1), tau ~ Gamma(2, 2)
joint_target <- function(x, y) {
  stats::dnorm(x[[1]], log = TRUE) +
    stats::dgamma(x[[2]], 2, 2, log = TRUE) +
    sum(stats::dnorm(y, x[[1]], 1 / sqrt(x[[2]]), log = TRUE))
}

# Another log density than that of the model. A state holds the density of its
# point, which is computed anew.
target_mutant <- function(wrong) {
  force(wrong)
  function(model, state, n, control) {
    class(model) <- setdiff(class(model), "mutant_model")
    model$data$log_density <- wrong
    state <- gibbsite:::state_at_values(
      model, gibbsite:::joint_values(model, state)
    )
    gibbsite:::model_sweeps(model, state, n, control)
  }
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
  with_own_seeds(list(
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
    of_user("mh_sample", "delayed rejection", mh_sample(
      joint_target, start, delayed_rejection(
        langevin(0.7, gradient, tune = FALSE), random_walk(0.4)
      ), y = y, lower = c(-Inf, 0), burnin = 200
    ), mutants["prior_dropped"]),
    of_user("mh_sample", "slices", mh_sample(
      joint_target, start, univariate_slice(1), y = y, lower = c(-Inf, 0),
      burnin = 100
    ), mutants),
    of_user("mh_sample", "elliptical slices, transformation", mh_sample(
      joint_target, start, elliptical_slice(1), y = y, lower = c(-Inf, 0),
      transform = TRUE, burnin = 100
    ), mutants["prior_dropped"]),
    of_user("mh_sample", "parallel tempering", mh_sample(
      joint_target, start, tempered(c(1, 2, 4), random_walk(1)), y = y,
      lower = c(-Inf, 0), burnin = 200
    ), joint = FALSE),
    # a density with another one's gradient is an error from the start
    of_user("mh_sample", "no-U-turn, bounds by transformation", mh_sample(
      joint_target, start, nuts(gradient), y = y, lower = c(-Inf, 0),
      transform = TRUE, burnin = 300
    )),
    of_user("mh_sample", "Hamiltonian, dense mass", mh_sample(
      joint_target, start, hmc(gradient = gradient, mass = "dense"), y = y,
      lower = c(-Inf, 0), transform = TRUE, burnin = 300
    )),
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
  ))
}

joint_cases_of_all <- function() {
  c(
    joint_cases_of_mixtures(), joint_cases_of_topics(),
    joint_cases_of_ratings(), joint_cases_of_counts(),
    joint_cases_of_regression(),
    joint_cases_of_functions()
  )
}
