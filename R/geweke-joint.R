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

#' @rdname geweke_joint
#' @export
plot.geweke_joint <- function(x, ...) {
  check_no_more(...)
  table <- summary(x)
  size <- nrow(table)
  # the largest of all |z| stays within with probability 0.95
  bound <- stats::qnorm(0.025 / size, lower.tail = FALSE)
  at <- rev(seq_len(size))
  look <- ifelse(abs(table$z) > bound, "outside", "inside")
  colours <- gibbsite_palette(2L)
  band <- "holds every point of a correct sampler with probability 95%"
  draw_base(picture(
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
  ))
  invisible(x)
}
