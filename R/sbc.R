# Simulation-based calibration of a sampler: sbc(). A simulation is a sweep of
# the driver, and its row of draws holds the ranks.

#' Simulation-based calibration
#'
#' Tests that a sampler draws from the posterior of its model. Each simulation
#' draws parameters from the prior, data from the likelihood given these
#' parameters, and then a sample of the posterior given these data, by the
#' sampler. The rank of the true parameters among the posterior draws is then
#' uniform (Talts et al. 2018). A wrong sampler, a run that is too short, or a
#' prior or simulator that is not the model's shows as ranks that are not.
#'
#' The call in `model` describes the model. It is evaluated once, with one chain
#' and one draw, and its data are only used for their form: sizes, predictors,
#' lengths of documents. A prior that is scaled by the data keeps the scale of
#' these data. For [mh_sample()] and [gibbs_sample()] the functions `draw_prior`
#' and `simulate_data` describe the prior and the data.
#'
#' Every simulation begins at the sampler's own starting values, with `burnin`
#' sweeps. Posterior draws must be nearly independent, or the ranks heap up at
#' both ends. `thin = NULL` therefore finds how many sweeps lie between nearly
#' independent draws, from four simulations.
#'
#' Ranks are those of quantities that do not depend on the numbering of
#' components, the likelihood among them: a sampler that ignores some of the
#' data may only show there (Modrák et al. 2023).
#'
#' Besides parameters with the names of the fit's columns the quantities are:
#' * `log_lik`: the log-likelihood.
#' * [gibbs_gmm()]: `weight[1]`, ... (the weights, the largest first),
#'   `mean[j]`, `cov[i,j]` (of the mixture), `together` (see [gibbs_gmm()]) and
#'   `log_z` (the log probability of the allocations given the weights). With an
#'   unknown `k` also `pairs` (the sum of the squared sizes of the components),
#'   `alone` (the number of components with one observation), `log_alpha`,
#'   `k log_alpha` (their product) and `log_s0` (the log determinant of
#'   \eqn{S_0}).
#' * [gibbs_bmf()]: `first` and `last` (the means of the first and the last
#'   rating), `mean_square` (of the means of all ratings), `log_det_u` and
#'   `log_det_v` (the log determinants of the precision matrices).
#' * [gibbs_pmf()]: `total` (of all expected counts), `first` and `last` (the
#'   expected counts of the first and the last pair).
#' * [gibbs_lda()]: `largest` (the share of the largest topic), `document` and
#'   `term` (the share of pairs of tokens of a document, or of a term, that have
#'   the same topic).
#'
#' `summary()` tests each quantity: `p` is the probability that uniform ranks
#' leave the pointwise band of their empirical distribution as far as these do
#' (Säilynoja, Bürkner and Vehtari 2022), computed exactly. `plot()` draws the
#' difference between the empirical distribution and the uniform one, with the
#' simultaneous band, or histograms of the ranks.
#'
#' [extend()] adds simulations; with `checkpoint`, [resume()] goes on after a
#' crash.
#'
#' @param model A call of a sampler, such as `gibbs_lm(mpg ~ wt, mtcars,
#'   lm_prior("nig", noise_shape = 3, noise_rate = 20))`, or a fit; not of
#'   [laplace_logistic()], [laplace()] or [fit_markov_chain()]. Its prior must
#'   say what size the parameters have: data drawn from a vague one are too
#'   large.
#' @param n Whole number from 1 to 1e8 (default 400): how many simulations. They
#'   are divided among the chains, and rounded up.
#' @param draws Whole number from 1 to 1e5 (default 99): posterior draws for
#'   each simulation; ranks are 0, ..., `draws`.
#' @param burnin,thin Whole numbers: sweeps before the first posterior draw, and
#'   from one to the next. `NULL` (default): the burn-in of the call; `thin` see
#'   above.
#' @param draw_prior For [mh_sample()] and [gibbs_sample()]: a function without
#'   arguments that draws parameters from the prior, in the form of `init`.
#' @param simulate_data For these: a function of such parameters that returns a
#'   named list of data, arguments that the call gives in `...`.
#' @param chains,cores,seed,checkpoint,progress As in [running].
#' @param x,object An object made by `sbc()`.
#' @param type `"ecdf"` (default) or `"histogram"`.
#' @param variables `NULL` (default: all, at most 30), or names of quantities.
#' @param level Probability that all of a quantity's ranks stay in the band
#'   (default 0.95).
#' @param ... Not used: any other argument is an error.
#' @return An object of class `gibbsite_sbc`, a `gibbsite_fit` whose draws are
#'   the ranks.
#'   `summary()`: a data frame with the columns `variable`, `mean_rank` (divided
#'   by `draws`; 0.5 if the ranks are uniform), `p`, and `autocorrelation`, of
#'   successive posterior draws, averaged over the simulations.
#' @section Errors: `gibbsite_error_argument` for a call that is not of a
#'   sampler, and for a prior that is not proper. `gibbsite_error_chain` if a
#'   simulation fails.
#' @references
#' Talts S, Betancourt M, Simpson D, Vehtari A, Gelman A (2018). Validating
#' Bayesian inference algorithms with simulation-based calibration.
#' \doi{10.48550/arXiv.1804.06788}
#'
#' Säilynoja T, Bürkner PC, Vehtari A (2022). Graphical test for discrete
#' uniformity and its applications in goodness-of-fit evaluation and multiple
#' sample comparison. *Statistics and Computing* 32, 32.
#' \doi{10.1007/s11222-022-10090-6}
#'
#' Modrák M, Moon AH, Kim S, Bürkner P, Huurre N, Faltejsková K, Gelman A,
#' Vehtari A (2023). Simulation-based calibration checking for Bayesian
#' computation: the choice of test quantities shapes sensitivity. *Bayesian
#' Analysis*. \doi{10.1214/23-BA1404}
#' @seealso [geweke_joint()] tests the sweeps alone; [prior_predict()] shows
#'   what the prior says.
#' @examples
#' # the default prior says nearly nothing about sigma
#' prior <- lm_prior(noise_shape = 3, noise_rate = 600)
#' check <- sbc(gibbs_lm(dist ~ speed, cars, prior, burnin = 50), n = 60,
#'              draws = 19, thin = 1, seed = 1, progress = FALSE)
#' check
#' plot(check)
#'
#' # a model of your own: y ~ N(mu, 1), mu ~ N(0, 1)
#' log_posterior <- function(mu, y) {
#'   sum(dnorm(y, mu, 1, log = TRUE)) + dnorm(mu, 0, 1, log = TRUE)
#' }
#' check <- sbc(
#'   mh_sample(log_posterior, c(mu = 0), y = c(0, 1), burnin = 200), n = 60,
#'   draws = 19, draw_prior = function() rnorm(1),
#'   simulate_data = function(mu) list(y = rnorm(2, mu)),
#'   seed = 1, progress = FALSE
#' )
#' check
#' @export
sbc <- function(model, n = 400, draws = 99, burnin = NULL, thin = NULL,
                draw_prior = NULL, simulate_data = NULL, chains = 4,
                cores = getOption("mc.cores", 1L), seed = NULL,
                checkpoint = NULL, progress = TRUE, ...) {
  call <- rlang::current_env()
  check_no_extra(...)
  check_needed(model = "a call of a sampler, or a fit")
  n <- check_count(n, max = 1e8)
  draws <- check_count(draws, max = 1e5)
  burnin <- check_count(burnin, 0, 1e9, null_ok = TRUE)
  thin <- check_count(thin, max = 1e6, null_ok = TRUE)
  running <- simulation_running(n, chains, cores, seed, checkpoint, progress,
                                call)
  inner <- joint_model(rlang::enquo(model), draw_prior, simulate_data, call)
  control <- inner$joint$control
  control$burnin <- as.double(burnin %||% control$burnin)
  stream <- spare_stream(running$seed, running$chains, "pilot", call)
  pilot <- with_stream(stream, {
    names <- colnames(varying_quantities(inner, 100L, call))
    list(
      names = names,
      thin = thin %||% thin_to_independence(inner, names, control)
    )
  }, call)$value
  control$thin <- as.double(pilot$thin)
  run_chains(
    sbc_model(inner, pilot$names, draws, control), running, match.call(), call
  )
}

# The running arguments of n simulations, divided among chains.
simulation_running <- function(n, chains, cores, seed, checkpoint, progress,
                               call) {
  chains <- min(n, check_count(chains, max = 1e6, call = call))
  out <- running(
    draws = ceiling(n / chains), burnin = 0, chains = chains, cores = cores,
    seed = seed, checkpoint = checkpoint, progress = progress, call = call
  )
  out$seed <- root_seed(out$seed, call)
  out
}

# Sweeps from one nearly independent draw to the next: where all
# autocorrelations are below 0.1 in each of four simulations, because chains mix
# at different speeds on different data.
thin_to_independence <- function(model, names, control, draws = 500L,
                                 most = 50) {
  lags <- stack_rows(4L, function() {
    sampled <- posterior_sample(draw_joint(model)$model, names, draws, control)
    apply(sampled, 2L, function(x) {
      if (max(x) == min(x)) return(1)
      acf <- stats::acf(x, lag.max = most, plot = FALSE)$acf[-1L]
      match(TRUE, acf < 0.1, nomatch = most)
    })
  })
  control$thin * max(lags)
}

# Quantities of `draws` draws from the posterior, from the model's own start:
# draws x quantities.
posterior_sample <- function(model, names, draws, control) {
  start <- posterior_start(model)
  model <- start$model
  state <- if (control$burnin > 0) {
    sweep_on(model, start$state, control$burnin, control)
  } else {
    start$state
  }
  stack_rows(draws, function() {
    state <<- sweep_on(model, state, control$thin, control)
    model_quantities(model, state)[names]
  })
}

# ---- The model of the driver -------------------------------------------------

sbc_model <- function(inner, names, draws, control) {
  new_model(
    "sbc_model",
    name = "sbc", fit_class = "gibbsite_sbc",
    title = "Simulation-based calibration",
    headline = paste0(
      "Simulation-based calibration of ", inner$name, "(): ",
      length(names), " ranks from 0 to ", draws
    ),
    data = list(model = inner, draws = draws, control = control),
    prior = inner$prior, nobs = NA_integer_, columns = names,
    independent = TRUE
  )
}

#' @exportS3Method
model_start.sbc_model <- function(model, init) {
  zero <- numeric(length(model$columns))
  list(sweep = 0, autocorrelation = zero, counted = zero)
}

#' @exportS3Method
model_sweeps.sbc_model <- function(model, state, n, control) {
  ranks <- matrix(0, n, length(model$columns))
  for (i in seq_len(n)) {
    one <- calibration_ranks(model)
    ranks[i, ] <- one$ranks
    known <- !is.na(one$autocorrelation)
    state$autocorrelation[known] <- (state$autocorrelation +
                                       one$autocorrelation)[known]
    state$counted <- state$counted + known
    state$sweep <- state$sweep + 1
  }
  list(state = state, draws = ranks, rng = generator_seed())
}

# Ranks and autocorrelations of one simulation.
calibration_ranks <- function(model) {
  data <- model$data
  joint <- draw_joint(data$model)
  true <- model_quantities(joint$model, joint$state)[model$columns]
  sampled <- posterior_sample(
    joint$model, model$columns, data$draws, data$control
  )
  list(ranks = rank_among(true, sampled), autocorrelation = lag_one(sampled))
}

# ---- Results -----------------------------------------------------------------

#' @rdname sbc
#' @export
summary.gibbsite_sbc <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  ranks <- simulated_rows(object)
  states <- lapply(fit_part(object, "chains"), `[[`, "state")
  sum_of <- function(part) Reduce(`+`, lapply(states, `[[`, part))
  draws <- model$data$draws
  data.frame(
    variable = model$columns, mean_rank = unname(colMeans(ranks)) / draws,
    p = apply(ranks, 2L, uniform_p_value, draws = draws),
    autocorrelation = sum_of("autocorrelation") / sum_of("counted"),
    row.names = NULL
  )
}

# All rows of a fit, with the names of the model.
simulated_rows <- function(fit) bind_chains(model_matrices(fit))

#' @rdname sbc
#' @export
print.gibbsite_sbc <- function(x, ...) {
  model <- fit_part(x, "model")
  table <- summary(x)
  control <- model$data$control
  write_lines(c(
    paste0("<sbc> ", model$headline), "",
    paste0(
      counted(nrow(simulated_rows(x)), "simulation"), " (burn-in ",
      digits(control$burnin), ", every ", ordinal(control$thin), " sweep)"
    ),
    seed_line(x), ""
  ))
  print_table(table$variable, data.frame(
    mean_rank = format(round(table$mean_rank, 3)), p = show_p(table$p),
    autocorrelation = format(round(table$autocorrelation, 2))
  ))
  write_lines(c("", adjusted_words(table, "the ranks are uniform"),
               dependence_words(table)))
  invisible(x)
}

# The smallest p-value times the number of tests (Bonferroni): a correct sampler
# has one below `error` with probability `error` at most.
smallest_adjusted <- function(table) min(1, min(table$p) * nrow(table))

adjusted_words <- function(table, claim) {
  adjusted <- smallest_adjusted(table)
  paste0(
    "Smallest p-value (", table$variable[[which.min(table$p)]],
    "), adjusted for ",
    counted(nrow(table), "test"), ": ", show_p(adjusted), "\n",
    if (adjusted < 0.01) {
      paste0("This is not what a correct sampler gives (", claim, ").")
    } else {
      "No sign that the sampler is wrong."
    }
  )
}

show_p <- function(p) {
  ifelse(p < 1e-4, "<0.0001", format(round(p, 4), scientific = FALSE))
}

dependence_words <- function(table) {
  high <- which(table$autocorrelation > 0.2)
  if (length(high) > 0L) {
    worst <- high[[which.max(table$autocorrelation[high])]]
    paste0(
      "Posterior draws of ", table$variable[[worst]], " depend on each other ",
      "(autocorrelation ", format(round(table$autocorrelation[[worst]], 2)),
      "), so that ranks heap up at the ends: raise `thin`."
    )
  }
}

picture_sbc <- function(x, type = c("ecdf", "histogram"), variables = NULL,
                        level = 0.95, ..., call) {
  type <- check_choice(type, c("ecdf", "histogram"), call = call)
  level <- check_level(level, call = call)
  model <- fit_part(x, "model")
  names <- utils::head(
    choose_variables(variables, model$columns, call), 30L
  )
  ranks <- simulated_rows(x)
  draws <- model$data$draws
  band <- paste0(percent(level), " band of a correct sampler")
  shown <- switch(type, ecdf = rank_ecdf, histogram = rank_histogram)
  table <- in_panels(lapply(names, function(name) {
    shown(ranks[, name], draws, level)
  }), names)
  colour <- gibbsite_palette(1L)
  lines <- type == "ecdf"
  half <- if (!lines) 0.5 * diff(table$x[1:2])
  picture(
    table, list(
      if (lines) picture_layer("band", table, band) else {
        picture_layer("rect", data.frame(
          xmin = table$x - half, xmax = table$x + half, ymin = table$lower,
          ymax = table$upper, panel = table$panel
        ), band)
      },
      picture_layer("hline", unique(data.frame(
        y = table$middle, panel = table$panel
      )), "rule"),
      if (lines) picture_layer("step", table, "seen") else {
        picture_layer("rect", data.frame(
          xmin = table$x - 0.9 * half, xmax = table$x + 0.9 * half, ymin = 0,
          ymax = table$y, panel = table$panel
        ), "seen")
      }
    ), rbind(
      if (lines) plot_key("seen", colour, lty = 1, lwd = 1.6) else {
        plot_key("seen", NA, fill = pale(colour, 0.75))
      },
      plot_key(band, NA, fill = "grey88"), rule_key()
    ), x = picture_axis("rank / draws"), y = picture_axis(switch(
      type, ecdf = "difference of the ecdf", histogram = "simulations"
    ), free = TRUE, floor = type == "histogram"),
    panels = data.frame(panel = names, title = names)
  )
}

#' @rdname sbc
#' @export
plot.gibbsite_sbc <- plot_method(picture_sbc)

#' @rdname sbc
#' @exportS3Method ggplot2::autoplot
autoplot.gibbsite_sbc <- autoplot_method(picture_sbc)

# F(r) - (r + 1) / (draws + 1), with the band: x, y, lower, upper, middle.
rank_ecdf <- function(ranks, draws, level) {
  n <- length(ranks)
  at <- c(0, seq_len(draws + 1)) / (draws + 1)
  band <- ecdf_band(n, draws, 1 - level)
  data.frame(
    x = at, y = c(0, rank_counts(ranks, draws) / n) - at,
    lower = c(0, band$lower / n) - at, upper = c(0, band$upper / n) - at,
    middle = 0
  )
}

# Counts in classes of equally many ranks, at most 20 and with 10 simulations
# expected in each if possible, with the band of each.
rank_histogram <- function(ranks, draws, level) {
  cells <- draws + 1L
  sizes <- seq_len(cells)[cells %% seq_len(cells) == 0L]
  n <- length(ranks)
  classes <- max(sizes[sizes <= max(1, min(20, n / 10))])
  tail <- (1 - level) / 2
  band <- stats::qbinom(c(tail, 1 - tail), n, 1 / classes)
  data.frame(
    x = (seq_len(classes) - 0.5) / classes,
    y = tabulate(ranks %/% (cells / classes) + 1, classes),
    lower = band[[1L]], upper = band[[2L]], middle = n / classes
  )
}

# Ranks that should be uniform: the test of their empirical distribution, for
# sbc().

# Ranks 0..draws of numbers among the rows of `sampled`, by column. Ties are
# broken at random.
rank_among <- function(value, sampled) {
  value <- rep(value, each = nrow(sampled))
  below <- colSums(sampled < value)
  ties <- colSums(sampled == value)
  below + floor(stats::runif(length(ties)) * (ties + 1))
}

# The correlation of successive rows, by column; NaN where a column is constant.
lag_one <- function(x) {
  centred <- sweep(x, 2L, colMeans(x))
  n <- nrow(x)
  colSums(centred[-1L, , drop = FALSE] * centred[-n, , drop = FALSE]) /
    colSums(centred^2)
}

# The simultaneous band of the empirical distribution of n ranks, uniform on
# 0..draws (Säilynoja, Bürkner & Vehtari 2022,
# doi:10.1007/s11222-022-10090-6): counts of ranks <= r stay within
# lower[r + 1]..upper[r + 1] for all r with probability at least 1 - error. The
# bounds are binomial quantiles at one pointwise level, the largest for which
# this holds.
ecdf_band <- function(n, draws, error) {
  low <- error / (draws + 1) # Bonferroni: keeps the promise
  high <- error
  for (step in 1:30) {
    middle <- sqrt(low * high)
    band <- pointwise_band(n, draws, middle)
    if (band_probability(n, band$lower, band$upper) >= 1 - error) {
      low <- middle
    } else {
      high <- middle
    }
  }
  pointwise_band(n, draws, low)
}

pointwise_band <- function(n, draws, level) {
  p <- seq_len(draws + 1) / (draws + 1)
  list(
    lower = stats::qbinom(level / 2, n, p),
    upper = stats::qbinom(level / 2, n, p, lower.tail = FALSE)
  )
}

# P(lower_r <= #{ranks <= r} <= upper_r for all r), exactly: the counts are a
# Markov chain, C_r | C_(r-1) ~ C_(r-1) + Bin(n - C_(r-1), 1 / (cells left)).
band_probability <- function(n, lower, upper) {
  cells <- length(lower)
  count <- 0
  probability <- 1
  for (r in seq_len(cells)) {
    if (lower[[r]] > upper[[r]]) {
      return(0)
    }
    reached <- seq(lower[[r]], upper[[r]])
    step <- outer(reached, count, function(to, from) {
      stats::dbinom(to - from, n - from, 1 / (cells - r + 1))
    })
    probability <- drop(step %*% probability)
    count <- reached
  }
  sum(probability)
}

# The p-value of uniform ranks: the probability that uniform ranks leave, at
# some r, the pointwise band whose level is the smallest pointwise p-value of
# these ranks.
uniform_p_value <- function(ranks, draws) {
  n <- length(ranks)
  counts <- rank_counts(ranks, draws)[-(draws + 1)]
  p <- seq_len(draws) / (draws + 1)
  level <- min(
    1, 2 * stats::pbinom(counts, n, p),
    2 * stats::pbinom(counts - 1, n, p, lower.tail = FALSE)
  )
  # a little more, so that counts at this level are outside the band
  band <- pointwise_band(n, draws, min(1, level * (1 + 1e-9)))
  max(0, 1 - band_probability(n, band$lower, band$upper))
}

# The number of ranks <= r, r = 0..draws.
rank_counts <- function(ranks, draws) cumsum(tabulate(ranks + 1, draws + 1))

# ---- geweke_joint() ----------------------------------------------------------

# Geweke's joint distribution test: geweke_joint(). One chain of the joint
# sampler is a sweep of the driver.

#' Geweke's joint distribution test
#'
#' Tests that the sweeps of a sampler leave the posterior invariant (Geweke
#' 2004). Parameters and data have one joint distribution, which can be drawn in
#' two ways: parameters from the prior and then data from the likelihood; or,
#' beginning at such a draw, by turns sweeps of the sampler given the data and
#' new data given the parameters. If the sampler is right, both ways have the
#' same expectations.
#'
#' Each chain of the second way begins at a draw of the first, so that it is
#' stationary from its first step, and has `steps` steps of two sweeps each. The
#' means over its steps are compared with the means over as many draws of the
#' first way by Welch's t-test, which needs no estimate of an autocorrelation
#' because the chains are independent.
#'
#' Compared are the quantities of [sbc()], some that depend on the numbering of
#' components, and the mean and the mean square of the data, each as \eqn{u =
#' \arctan((x - m) / s)}{u = atan((x - m) / s)} and \eqn{u^2}, with the median
#' \eqn{m} and the spread \eqn{s} under the prior: these have moments under
#' every prior.
#'
#' The test does not depend on burn-in, nor on how fast the sampler mixes, and
#' is far quicker than [sbc()]. It does not see a wrong start or a run that is
#' too short. Adaptive proposals are those of the call after its burn-in.
#' Parallel tempering ([tempered()]) cannot be tested in this way, because its
#' chains at higher temperatures do not belong to new data; [sbc()] can.
#'
#' @inheritParams sbc
#' @param n Whole number from 2 to 1e8 (default 400): chains of the joint
#'   sampler. They are divided among `chains`.
#' @param steps Whole number from 1 to 1e6 (default 10): steps of each, and
#'   draws from prior and likelihood for each.
#' @param x,object An object made by `geweke_joint()`.
#' @return An object of class `geweke_joint`, a `gibbsite_fit` whose draws are
#'   the means of the chains and the means to compare with. `summary()`: a data
#'   frame with the columns `variable`, `sampler` and `simulation` (the two
#'   means), `z` (their difference divided by its standard error) and `p`.
#' @section Errors: As for [sbc()].
#' @references
#' Geweke J (2004). Getting it right: joint distribution tests of posterior
#' simulators. *Journal of the American Statistical Association* 99, 799-804.
#' \doi{10.1198/016214504000001132}
#' @seealso [sbc()] for the other test by simulation, [prior_predict()] to look
#'   at the prior first; `vignette("trust", "gibbsite")`.
#' @examples
#' prior <- lm_prior(noise_shape = 3, noise_rate = 600)
#' check <- geweke_joint(gibbs_lm(dist ~ speed, cars, prior, burnin = 50),
#'                       n = 60, seed = 1, progress = FALSE)
#' check
#' plot(check)
#' @export
geweke_joint <- function(model, n = 400, steps = 10, draw_prior = NULL,
                         simulate_data = NULL, chains = 4,
                         cores = getOption("mc.cores", 1L), seed = NULL,
                         checkpoint = NULL, progress = TRUE, ...) {
  call <- rlang::current_env()
  check_no_extra(...)
  check_needed(model = "a call of a sampler, or a fit")
  n <- check_count(n, 2, 1e8)
  steps <- check_count(steps, max = 1e6)
  running <- simulation_running(n, chains, cores, seed, checkpoint, progress,
                                call)
  inner <- joint_model(rlang::enquo(model), draw_prior, simulate_data, call)
  check_kernel(inner, call)
  units <- with_stream(
    spare_stream(running$seed, running$chains, "pilot", call),
    joint_units(inner, call), call
  )$value
  run_chains(geweke_model(inner, units, steps), running, match.call(), call)
}

# The sampler must be a transition of the parameters alone that leaves their
# posterior invariant.
check_kernel <- function(model, call) {
  if (learns_for_ever(model)) {
    abort_argument(
      c("A proposal that never stops adapting has no fixed stationary
         distribution.",
        i = "Use one that stops adapting after burn-in."),
      call = call
    )
  }
  if (plan_has(model$plan, "replicas")) {
    abort_argument(
      c("{.fn geweke_joint} cannot test {.fn tempered}: its heated chains were
         drawn for the old data, and the data change in every step.",
        i = "{.fn sbc} can."),
      call = call
    )
  }
}

# Median and spread of each quantity under the prior.
joint_units <- function(model, call) {
  rows <- varying_quantities(model, 200L, call, joint_quantities)
  spread <- apply(rows, 2L, stats::IQR)
  spread[spread == 0] <- 1
  list(middle = apply(rows, 2L, stats::median), spread = spread)
}

# What is compared.
joint_quantities <- function(model, state) {
  c(
    model_quantities(model, state), further_quantities(model, state),
    data_quantities(model)
  )
}

# Mean and mean square of the numbers in the data.
data_quantities <- function(model) {
  frame <- model$frame
  values <- if (!is.null(model$arguments_at)) {
    arguments <- model[[model$arguments_at]]
    unlist(Filter(is.numeric, arguments), use.names = FALSE)
  } else if (!is.null(frame)) {
    frame$success %||% frame$counts %||% frame$y
  } else {
    as.double(model$data$x %||% model$data$value)
  }
  values <- values[is.finite(values)]
  if (length(values) > 0L) {
    c("mean(data)" = mean(values), "mean(data^2)" = mean(values^2))
  }
}

# ---- The model of the driver -------------------------------------------------

geweke_model <- function(inner, units, steps) {
  names <- names(units$middle)
  names <- c(names, paste0(names, ", spread"))
  new_model(
    "geweke_model",
    name = "geweke_joint", title = "Geweke's joint distribution test",
    headline = paste0(
      "Geweke's joint distribution test of ", inner$name, "(): ",
      counted(length(names), "mean"), ", ", counted(steps, "step"), " a chain"
    ),
    data = list(model = inner, units = units, steps = steps),
    prior = inner$prior, nobs = NA_integer_,
    columns = c(paste0("sampler:", names), paste0("simulation:", names)),
    variables = names, independent = TRUE
  )
}

#' @exportS3Method
model_start.geweke_model <- function(model, init) list(sweep = 0)

#' @exportS3Method
model_sweeps.geweke_model <- function(model, state, n, control) {
  inner <- model$data$model
  units <- model$data$units
  moments <- function(model, state) {
    values <- joint_quantities(model, state)
    u <- atan((values[names(units$middle)] - units$middle) / units$spread)
    c(u, u^2)
  }
  steps <- model$data$steps
  rows <- stack_rows(n, function() {
    c(joint_chain(inner, moments, steps), joint_mean(inner, moments, steps))
  })
  state$sweep <- state$sweep + n
  list(state = state, draws = unname(rows), rng = generator_seed())
}

# The means of quantities(model, state) over the steps of a chain of the joint
# sampler. Two sweeps for each step are needed because new data replace missing
# entries: the entries drawn in the first sweep have an effect in the second.
joint_chain <- function(model, quantities, steps) {
  joint <- draw_joint(model)
  control <- list(burnin = 0, thin = 1, threads = 1)
  total <- 0
  for (step in seq_len(steps)) {
    state <- sweep_on(joint$model, joint$state, 2, control)
    total <- total + quantities(joint$model, state)
    joint <- with_simulated_data(joint$model, state)
  }
  total / steps
}

# The means of the same quantities over draws from prior and likelihood.
joint_mean <- function(model, quantities, draws) {
  total <- 0
  for (draw in seq_len(draws)) {
    joint <- draw_joint(model)
    total <- total + quantities(joint$model, joint$state)
  }
  total / draws
}

# ---- Results -----------------------------------------------------------------

#' @rdname geweke_joint
#' @export
summary.geweke_joint <- function(object, ...) {
  check_no_more(...)
  names <- fit_part(object, "model")$variables
  rows <- simulated_rows(object)
  sampler <- rows[, seq_along(names), drop = FALSE]
  simulation <- rows[, length(names) + seq_along(names), drop = FALSE]
  tests <- vapply(seq_along(names), function(j) {
    two_means(sampler[, j], simulation[, j])
  }, c(z = 0, p = 0))
  data.frame(
    variable = names, sampler = unname(colMeans(sampler)),
    simulation = unname(colMeans(simulation)), t(tests)
  )
}

# Welch's test of equal means, and Fisher's of equal shares of finite values
# where some are not: a wrong sampler may leave the range of numbers.
two_means <- function(a, b) {
  finite <- list(is.finite(a), is.finite(b))
  if (!all(unlist(finite))) {
    shares <- stats::fisher.test(vapply(finite, function(is) {
      c(sum(is), sum(!is))
    }, c(0, 0)))$p.value
    means <- if (min(vapply(finite, sum, 0)) > 1) {
      two_means(a[finite[[1L]]], b[finite[[2L]]])
    } else {
      c(z = 0, p = 1)
    }
    return(c(means["z"], p = min(1, 2 * min(shares, means[["p"]]))))
  }
  if (length(a) < 2L || stats::sd(a) + stats::sd(b) == 0) {
    return(c(z = 0, p = if (mean(a) == mean(b)) 1 else 0))
  }
  test <- stats::t.test(a, b)
  c(z = test$statistic[[1L]], p = test$p.value)
}

#' @rdname geweke_joint
#' @export
print.geweke_joint <- function(x, ...) {
  model <- fit_part(x, "model")
  table <- summary(x)
  write_lines(c(
    paste0("<geweke_joint> ", model$headline), "",
    counted(nrow(simulated_rows(x)), "chain"), seed_line(x), ""
  ))
  print_table(table$variable, data.frame(
    sampler = format(round(table$sampler, 3)),
    simulation = format(round(table$simulation, 3)),
    z = format(round(table$z, 2)), p = show_p(table$p)
  ))
  write_lines(c("", adjusted_words(table, "both means are equal")))
  invisible(x)
}

picture_geweke <- function(x, ..., call) {
  table <- summary(x)
  size <- nrow(table)
  # the largest of all |z| stays within with probability 0.95
  bound <- stats::qnorm(0.025 / size, lower.tail = FALSE)
  at <- rev(seq_len(size))
  look <- ifelse(abs(table$z) > bound, "outside", "inside")
  colours <- gibbsite_palette(2L)
  band <- "holds every point of a correct sampler with probability 95%"
  picture(
    table, list(
      picture_layer("rect", data.frame(
        xmin = -bound, xmax = bound, ymin = -Inf, ymax = Inf
      ), band),
      picture_layer("vline", data.frame(x = 0), "rule"),
      picture_layer("point", data.frame(x = table$z, y = at), look)
    ), rbind(
      plot_key(band, NA, fill = "grey88"), rule_key(),
      plot_key(c("inside", "outside"), colours, pch = 19, shown = FALSE)
    ), x = picture_axis("z: difference of the means / standard error"),
    y = picture_axis(at = at, labels = table$variable)
  )
}

#' @rdname geweke_joint
#' @export
plot.geweke_joint <- plot_method(picture_geweke)

#' @rdname geweke_joint
#' @exportS3Method ggplot2::autoplot
autoplot.geweke_joint <- autoplot_method(picture_geweke)
