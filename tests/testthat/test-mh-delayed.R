# delayed_rejection(): steps against a twin in R on the same random numbers,
# detailed balance at given points, invariance, wrong samplers that the same
# test rejects, adaptation, and what is said of a run.

bowl_slope <- function(x) -x

# ---- a twin ------------------------------------------------------------------

# Proposals of the twin: draw(x, e, slope) and log_q(y, x, slope), with the
# slope at x.
normal_steps <- function(l, step = 0) {
  list(
    draw = function(x, e, slope) {
      x + step^2 / 2 * drop(l %*% crossprod(l, slope)) +
        drop(l %*% e) * max(step, step == 0)
    },
    log_q = function(y, x, slope) {
      centre <- x + step^2 / 2 * drop(l %*% crossprod(l, slope))
      z <- forwardsolve(l, y - centre) / max(step, step == 0)
      -sum(z^2) / 2
    }
  )
}

t_steps <- function(l, df) {
  list(
    draw = function(x, e, slope) {
      d <- length(x)
      x + e[[d + 1]] * drop(l %*% e[seq_len(d)])
    },
    log_q = function(y, x, slope) log_t_q(y, x, l %*% t(l), df)
  )
}

uniform_steps <- function(scale) {
  list(
    draw = function(x, e, slope) x + scale * e,
    log_q = function(y, x, slope) {
      if (all(abs(y - x) <= scale * sqrt(3) * (1 + 1e-9))) 0 else -Inf
    }
  )
}

far_steps <- function(mean, l, df) {
  list(
    draw = function(x, e, slope) {
      d <- length(x)
      mean + e[[d + 1]] * drop(l %*% e[seq_len(d)])
    },
    log_q = function(y, x, slope) log_t_q(y, mean, l %*% t(l), df)
  )
}

# log(1 - min(1, exp(r)))
log_rejected <- function(r) if (r >= 0) -Inf else log(-expm1(r))

# The log ratios of both tries from x, of which y is the first and z the second.
ratios_of <- function(x, y, z, target, first, second, mutant = "none") {
  p <- vapply(list(x, y, z), target$log_density, 0)
  slope <- lapply(list(x, y, z), target$gradient)
  q1 <- function(to, from) {
    points <- list(x, y, z)
    first$log_q(points[[to]], points[[from]], slope[[from]])
  }
  q2 <- function(to, from) {
    points <- list(x, y, z)
    second$log_q(points[[to]], points[[from]], slope[[from]])
  }
  r_there <- p[[2]] - p[[1]]
  if (p[[2]] > -Inf) r_there <- r_there + q1(1, 2) - q1(2, 1)
  if (p[[3]] == -Inf) {
    return(c(r_there, -Inf))
  }
  r_back <- p[[2]] - p[[3]]
  if (p[[2]] > -Inf) r_back <- r_back + q1(3, 2) - q1(2, 3)
  ratio <- p[[3]] - p[[1]] + q2(1, 3) - q2(3, 1)
  if (mutant == "rejected density at the wrong point") r_back <- p[[1]] - p[[3]]
  if (mutant != "no density of the first") ratio <- ratio + q1(2, 3) - q1(2, 1)
  if (mutant != "no chances of rejection" && ratio > -Inf) {
    ratio <- ratio + log_rejected(r_back) - log_rejected(r_there)
  }
  c(r_there, if (is.nan(ratio)) -Inf else ratio)
}

# One step from x: the uniforms u and the variates e of both tries.
delayed_twin <- function(x, target, first, second, u, e, mutant = "none") {
  slope <- target$gradient(x)
  y <- first$draw(x, e[[1]], slope)
  z <- second$draw(x, e[[2]], slope)
  ratio <- ratios_of(x, y, z, target, first, second, mutant)
  if (log(u[[1]]) < ratio[[1]]) {
    return(list(x = y, tries = 1, moved = TRUE, ratio = ratio[[1]]))
  }
  moved <- log(u[[2]]) < ratio[[2]]
  list(x = if (moved) z else x, tries = 2, moved = moved, ratio = ratio[[2]])
}

lower_factor <- matrix(c(1, 0.4, -0.3, 0, 0.8, 0.2, 0, 0, 1.3), 3)

# Pairs of proposals of three coordinates, with those of the twin.
delayed_cases <- function(gradient) {
  l <- lower_factor
  cov <- l %*% t(l)
  own <- diag(3)
  walk <- function(scale) normal_steps(scale * own)
  list(
    walk = list(delayed_rejection(random_walk(2), 0.3), walk(2), walk(0.6)),
    correlated = list(
      delayed_rejection(random_walk(cov = 4 * cov), 0.25), normal_steps(2 * l),
      normal_steps(l / 2)
    ),
    t = list(
      delayed_rejection(random_walk(1.5, family = "t", df = 4), 0.5),
      t_steps(1.5 * own, 4), t_steps(0.75 * own, 4)
    ),
    uniform = list(
      delayed_rejection(random_walk(1.2, family = "uniform"), 0.4),
      uniform_steps(1.2), uniform_steps(0.48)
    ),
    unequal = list(
      delayed_rejection(random_walk(2, family = "t", df = 3), random_walk(0.5)),
      t_steps(2 * own, 3), walk(0.5)
    ),
    langevin = list(
      delayed_rejection(langevin(1.4, gradient, cov, tune = FALSE), 0.4),
      normal_steps(1.4 * l, 1), normal_steps(0.56 * l, 1)
    ),
    "langevin then walk" = list(
      delayed_rejection(langevin(1.6, gradient, tune = FALSE), random_walk(1)),
      normal_steps(1.6 * own, 1), walk(1)
    ),
    "walk then langevin" = list(
      delayed_rejection(random_walk(2), langevin(0.8, gradient, tune = FALSE)),
      walk(2), normal_steps(0.8 * own, 1)
    ),
    far = list(
      delayed_rejection(
        independence(c(0.2, -0.1, 0), cov, df = 5), random_walk(0.7)
      ), far_steps(c(0.2, -0.1, 0), l, 5), walk(0.7)
    ),
    "walk then far" = list(
      delayed_rejection(
        random_walk(2), independence(c(0.2, -0.1, 0), cov, df = 5)
      ), walk(2), far_steps(c(0.2, -0.1, 0), l, 5)
    )
  )
}

# The numbers that a step used, of one block of d coordinates.
used_by <- function(ahead, proposal) {
  count <- vapply(proposal$parts, function(part) {
    gibbsite:::block_variates(list(proposal = part))
  }, 0) - 1
  list(
    u = ahead[c(1, 2 + count[[1]])],
    e = list(ahead[1 + seq_len(count[[1]])], ahead[-seq_len(2 + count[[1]])])
  )
}

# ---- one step ----------------------------------------------------------------

test_that("steps are those of the twin", {
  skip_long()
  n <- 60
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    cases <- delayed_cases(target$gradient)
    for (name in names(cases)) {
      withr::local_seed(3)
      case <- cases[[name]]
      model <- bare_mh(
        target$log_density, target$init, case[[1]], lower = target$lower,
        transform = bounded, debug = TRUE
      )
      model$spec$rows <- 1
      state <- state_at(model, target$init)
      met <- c(0, 0, 0)
      apart <- list()
      for (t in seq_len(n)) {
        x <- state$x
        state <- sweep_state(model, state)
        used <- used_by(state$ahead, model$spec$blocks[[1]]$proposal)
        twin <- delayed_twin(
          x, target$working, case[[2]], case[[3]], used$u, used$e
        )
        # uniform, log ratio, moved: of the last try
        last <- utils::tail(state$trace, 11)
        apart[[t]] <- c(
          x = max(abs(state$x - twin$x)) / (1 + max(abs(twin$x))),
          uniform = abs(last[[3]] - used$u[[twin$tries]]),
          ratio = if (!identical(last[[7]], twin$ratio)) {
            abs(last[[7]] - twin$ratio) / (1 + abs(twin$ratio))
          } else {
            0
          },
          moved = abs(last[[8]] - twin$moved)
        )
        at <- if (twin$moved) twin$tries else 3
        met[at] <- met[at] + 1
      }
      worst <- do.call(pmax, apart)
      expect_lt(max(worst[c("x", "uniform", "moved")]), 1e-12, label = name)
      expect_lt(worst[["ratio"]], 1e-10, label = name)
      # all three ends were met, and are counted
      expect_true(all(met > 0), label = name)
      stages <- state$blocks[[1]]$stages
      expect_identical(stages[[1]]$counts[3:4], c(n, met[[1]]))
      expect_identical(stages[[2]]$counts[3:4], c(n - met[[1]], met[[2]]))
      expect_identical(state$blocks[[1]]$counts[3:4], c(n, sum(met[1:2])))
    }
  }
})

test_that("blocks take their steps in order", {
  skip_long()
  withr::local_seed(4)
  target <- funnel_target()
  proposal <- delayed_rejection(
    langevin(1.5, target$gradient, tune = FALSE), 0.4
  )
  blocks <- list(2, c(3, 1))
  model <- bare_mh(
    target$log_density, target$init, proposal, blocks = blocks
  )
  model$spec$rows <- 1
  state <- state_at(model, target$init)
  for (t in 1:60) {
    x <- state$x
    state <- sweep_state(model, state)
    for (b in 1:2) {
      own <- blocks[[b]]
      d <- length(own)
      inner <- list(
        log_density = function(z) target$log_density(replace(x, own, z)),
        gradient = function(z) target$gradient(replace(x, own, z))[own]
      )
      used <- used_by(
        state$ahead[list(1:4, 5:10)[[b]]], model$spec$blocks[[b]]$proposal
      )
      x[own] <- delayed_twin(
        x[own], inner, normal_steps(diag(1.5, d), 1),
        normal_steps(diag(0.6, d), 1), used$u, used$e
      )$x
    }
    expect_equal(state$x, x, tolerance = 1e-12)
  }
})

# ---- detailed balance --------------------------------------------------------

# The core's log ratio of the second try from x: y and z are reached by the
# variates that lead there, and y is rejected. NA: y is accepted whatever the
# uniform.
ratios_at <- function(model, x, y, z, factors) {
  e <- function(to, l) forwardsolve(l, to - x)
  used <- c(
    e(y, factors[[1]]), 0.5, e(z, factors[[2]])
  )
  state <- state_at(model, x)
  # the second of two rows is used without a new drawing
  state$sweep <- 1
  state$ahead <- c(0.5, 1 - 1e-16, numeric(length(used)), used)
  last <- utils::tail(sweep_state(model, state)$trace, 8 + length(x))
  expect_equal(last[-(1:8)], if (last[[3]] == 0.5) z else y, tolerance = 1e-12)
  if (last[[3]] == 0.5) last[[7]] else NA
}

test_that("the flows of second tries balance at given points", {
  skip_unless_extended()
  target <- banana_target()
  l <- matrix(c(1, 0.5, 0, 0.8), 2)
  proposal <- delayed_rejection(random_walk(cov = l %*% t(l)), 0.3)
  model <- bare_mh(target$log_density, target$init, proposal, debug = TRUE)
  model$spec$rows <- 2
  factors <- list(l, 0.3 * l)
  first <- normal_steps(l)
  second <- normal_steps(0.3 * l)
  withr::local_seed(5)
  met <- 0
  n <- 200
  for (i in seq_len(n)) {
    points <- lapply(1:3, function(k) stats::rnorm(2, c(0, 1)))
    x <- points[[1]]
    y <- points[[2]]
    z <- points[[3]]
    there <- ratios_at(model, x, y, z, factors)
    back <- ratios_at(model, z, y, x, factors)
    if (is.na(there) || is.na(back)) next
    met <- met + 1
    p <- vapply(points, target$log_density, 0)
    log_a <- c(min(0, p[[2]] - p[[1]]), min(0, p[[2]] - p[[3]]))
    zero <- c(0, 0)
    flow <- c(
      p[[1]] + first$log_q(y, x, zero) + log(-expm1(log_a[[1]])) +
        second$log_q(z, x, zero) + min(0, there),
      p[[3]] + first$log_q(y, z, zero) + log(-expm1(log_a[[2]])) +
        second$log_q(x, z, zero) + min(0, back)
    )
    # rounding: some 1e-15 of the largest term
    expect_lt(abs(diff(flow)) / (1 + max(abs(c(p, flow)))), 1e-12)
    expect_lt(abs(there + back) / (1 + abs(there)), 1e-12)
    twin <- ratios_of(
      x, y, z, c(target["log_density"], list(gradient = function(x) zero)),
      first, second
    )
    expect_equal(there, twin[[2]], tolerance = 1e-12)
  }
  expect_gt(met, n / 5)
})

# ---- invariance --------------------------------------------------------------

test_that("one step leaves exact draws exact", {
  skip_unless_extended()
  n <- 1e5
  for (bounded in c(FALSE, TRUE)) {
    target <- funnel_target(bounded)
    cases <- c(
      lapply(delayed_cases(target$gradient), `[[`, 1), list(
        mixed = delayed_rejection(
          mixture_proposal(random_walk(3), random_walk(0.5)),
          drifting_proposal(0.5)
        ),
        custom = delayed_rejection(drifting_proposal(2), random_walk(0.5)),
        adaptive = delayed_rejection(adaptive(scale = 2), adaptive(scale = 1)),
        tuned = delayed_rejection(langevin(2, target$gradient), 0.5)
      )
    )
    for (name in names(cases)) {
      withr::local_seed(20)
      model <- bare_mh(
        target$log_density, target$init, cases[[name]], lower = target$lower,
        transform = bounded
      )
      changes <- one_sweep_changes(model, target$points(n), function(x) {
        noise_moments(target$noises(x))
      })
      expect_lt(max(abs(z_of_means(changes, 0))), 4.5, label = name)
      expect_gt(mean(changes[, 1] != 0), 0.15)
    }
  }
})

# Probabilities of moves between the points 1, ..., n, by the twin's ratios:
# every y and z that may be proposed is counted. q1, q2: n x n, row x: from x.
transition_matrix <- function(log_p, q1, q2, mutant) {
  n <- length(log_p)
  target <- list(log_density = function(x) log_p[[x]], gradient = function(x) 0)
  steps <- function(q) list(log_q = function(y, x, slope) log(q[x, y]))
  moves <- matrix(0, n, n)
  for (x in 1:n) {
    for (y in 1:n) {
      for (z in 1:n) {
        ratios <- ratios_of(x, y, z, target, steps(q1), steps(q2), mutant)
        a <- exp(pmin(0, ratios))
        weight <- q1[x, y] * q2[x, z]
        ends <- c(a[[1]], (1 - a[[1]]) * a[[2]], (1 - a[[1]]) * (1 - a[[2]]))
        for (k in 1:3) {
          to <- c(y, z, x)[[k]]
          moves[x, to] <- moves[x, to] + weight * ends[[k]]
        }
      }
    }
  }
  moves
}

test_that("wrong second tries are found by enumeration", {
  withr::local_seed(21)
  p <- stats::rexp(6)
  p <- p / sum(p)
  rows <- function() {
    q <- matrix(stats::rexp(36), 6)
    q / rowSums(q)
  }
  q1 <- rows()
  q2 <- rows()
  error <- function(mutant) {
    moves <- transition_matrix(log(p), q1, q2, mutant)
    expect_equal(rowSums(moves), rep(1, 6))
    flow <- p * moves
    c(max(abs(colSums(flow) - p)), max(abs(flow - t(flow))))
  }
  expect_lt(max(error("none")), 1e-14)
  for (mutant in c(
    "no density of the first", "no chances of rejection",
    "rejected density at the wrong point"
  )) {
    expect_gt(min(error(mutant)), 1e-3)
  }
})

test_that("wrong second tries are found from exact draws", {
  skip_unless_extended()
  target <- c(shifted_target(), list(gradient = function(x) c(1, -1) - x))
  z <- function(mutant, scales = c(0.7, 1)) {
    withr::local_seed(22)
    steps <- lapply(scales, function(scale) normal_steps(diag(scale, 2)))
    points <- target$points(40000)
    after <- t(apply(points, 1, function(x) {
      delayed_twin(
        x, target, steps[[1]], steps[[2]], stats::runif(2),
        list(stats::rnorm(2), stats::rnorm(2)), mutant
      )$x
    }))
    moments <- function(x) noise_moments(target$noises(x))
    max(abs(z_of_means(moments(after) - moments(points), 0)))
  }
  expect_lt(z("none"), 4.5)
  expect_gt(z("no density of the first"), 6)
  expect_gt(z("no chances of rejection"), 6)
  expect_gt(z("rejected density at the wrong point", c(1.5, 1)), 6)
})

test_that("moments are right, with adaptation and with an estimated density", {
  skip_unless_extended()
  target <- banana_target()
  fit <- short_mh(target$log_density, target$init, delayed_rejection(),
    draws = 3000, burnin = 1500, thin = 2, chains = 4,
    seed = 2
  )
  expect_lt(max(abs(z_of_target(fit, target))), 4)
  # N(1, 0.25) times a log-normal with mean 1
  noisy <- function(x) {
    stats::dnorm(x, 1, 0.5, log = TRUE) + stats::rnorm(1, -0.32, 0.8)
  }
  n <- 8000
  fit <- short_mh(noisy, 1, delayed_rejection(random_walk(2), 0.3),
    draws = n, burnin = 200, chains = 4
  )
  x <- vapply(fit, function(m) unclass(m)[, 1], numeric(n))
  expect_lt(abs(z_of_chains(x, 1)), 4)
  expect_lt(abs(z_of_chains((x - 1)^2, 0.25)), 4)
})

test_that("zero density and bounds are no obstacle", {
  skip_long()
  # uniform on two intervals
  f <- function(x) if (abs(x) > 2 && abs(x) < 3) 0 else -Inf
  fit <- short_mh(f, 2.5, delayed_rejection(random_walk(3), 0.2),
    draws = 4000, burnin = 100, chains = 4, lower = -5,
    inits = rep(list(2.5), 4)
  )
  x <- vapply(fit, function(x) unclass(x)[, 1], numeric(4000))
  expect_true(all(abs(x) > 2 & abs(x) < 3))
  expect_lt(abs(z_of_chains(x, 0)), 4.5)
  expect_lt(abs(z_of_chains(x^2, 19 / 3)), 4.5)
})

# ---- adaptation --------------------------------------------------------------

stages_of <- function(fit, k = 1) {
  attr(fit, "chains")[[k]]$state$blocks[[1]]$stages
}

test_that("the first proposal learns from its own tries, and freezes", {
  skip_long()
  run <- function(draws, proposal, burnin = 60) {
    short_mh(bowl, c(0.5, -1), proposal, draws = draws, burnin = burnin,
      debug = TRUE, inits = list(c(0.5, -1), c(1, 1))
    )
  }
  for (proposal in list(
    delayed_rejection(adaptive(scale = 1)),
    delayed_rejection(langevin(1, bowl_slope), 0.5),
    delayed_rejection(random_walk(3), adaptive(scale = 0.1))
  )) {
    learned <- function(fit) {
      lapply(stages_of(fit), `[`, c("factor", "mean", "tuning"))
    }
    expect_identical(learned(run(80, proposal)), learned(run(1, proposal)))
    expect_false(identical(
      learned(run(1, proposal)), learned(run(1, proposal, 50))
    ))
  }
})

test_that("what is learned follows the formulas", {
  skip_long()
  withr::local_seed(6)
  model <- bare_mh(bowl, c(0.5, -1), delayed_rejection(adaptive(scale = 1)))
  model$spec$rows <- 1
  state <- state_at(model, c(0.5, -1))
  log_s <- log(2.38 / sqrt(2))
  cov <- diag(2)
  mean <- c(0.5, -1)
  state$blocks[[1]]$stages[[1]]$mean <- mean + 0
  state$blocks[[1]]$stages[[1]]$factor <- as.double(diag(2))
  burnin <- fast_or(18, 50)
  control <- list(burnin = burnin, thin = 1, threads = 1)
  for (n in seq_len(burnin + fast_or(3, 10))) {
    x <- state$x
    state <- gibbsite:::model_sweeps(model, state, 1, control)$state
    used <- used_by(state$ahead, model$spec$blocks[[1]]$proposal)
    l <- exp(log_s) * t(chol(cov))
    shrink <- model$plan[[1]]$proposal$scale
    twin <- delayed_twin(
      x, list(log_density = bowl, gradient = bowl_slope), normal_steps(l),
      normal_steps(shrink * l), used$u, used$e
    )
    expect_equal(state$x, twin$x, tolerance = 1e-10)
    if (n <= burnin) {
      y <- x + drop(l %*% used$e[[1]])
      rate <- exp(min(0, bowl(y) - bowl(x)))
      log_s <- log_s + min(1, 3 * n^(-2 / 3)) * (rate - (0.234 + 0.206 / 2))
      gain <- 2 / (n + 60)
      away <- twin$x - mean
      cov <- (1 - gain) * cov + gain * tcrossprod(away)
      mean <- mean + gain * away
    }
    learned <- state$blocks[[1]]$stages[[1]]
    expect_equal(learned$tuning[[1]], log_s, tolerance = 1e-10)
    factor <- matrix(learned$factor, 2)
    factor[1, 2] <- 0
    expect_equal(factor %*% t(factor), cov, tolerance = 1e-10)
  }
})

# ---- runs --------------------------------------------------------------------

test_that("a checkpoint is resumed, and chains may be thinned", {
  skip_long()
  proposal <- delayed_rejection(adaptive(), 0.4)
  run <- function(draws, ...) {
    short_mh(bowl, c(0.5, 1), proposal, draws = draws, burnin = 30, ...)
  }
  folder <- file.path(withr::local_tempdir(), "run")
  withr::local_options(gibbsite.checkpoint_seconds = 0)
  run(20, checkpoint = folder)
  expect_true(identical_fit(longer(resumed(folder), 20), run(40)))
  every <- unclass(run(60)[[1]])
  third <- unclass(run(20, thin = 3)[[1]])
  expect_identical(unname(every[3 * 1:20, ]), unname(third[, ]))
})

test_that("an interrupt inside a sweep loses at most a segment", {
  skip_unless_extended()
  for (at in c(200, 900)) {
    expect_interrupt_harmless(bowl, at, function(density) {
      short_mh(density, c(0.5, 1), delayed_rejection(), draws = 300,
        burnin = 100, inits = list(1:2, 3:4)
      )
    })
  }
})

test_that("the rates of both tries are shown", {
  fit <- short_mh(bowl, c(0.5, 1), delayed_rejection(second = 0.25),
    draws = 400, burnin = 100
  )
  rates <- acceptance(fit)
  expect_identical(
    rates$block, rep(c("all", "all, first try", "all, second try"), 2)
  )
  one <- rates[rates$chain == 1, ]
  expect_identical(one$steps[[1]], one$steps[[2]])
  expect_equal(one$steps[[3]], one$steps[[2]] * (1 - one$rate[[2]]))
  expect_equal(
    one$rate[[1]] * one$steps[[1]],
    sum(one$rate[2:3] * one$steps[2:3])
  )
  expect_equal(one$scale[[3]], one$scale[[2]] / 4)
  said <- gsub(" +", " ", paste(capture.output(print(fit)), collapse = " "))
  tries <- function(which) {
    own <- rates[rates$block == paste0("all, ", which, " try"), ]
    format(sum(own$rate * own$steps) / sum(own$steps), digits = 2)
  }
  expect_match(said, paste(
    "Delayed rejection: accepted", tries("first"), "of the first proposals and",
    tries("second"), "of the second ones"
  ), fixed = TRUE)
  # the last try is the one that the trace has
  fit <- short_mh(bowl, c(0.5, 1), delayed_rejection(), debug = TRUE)
  trace <- mh_trace(fit)[[1]]
  expect_identical(log(trace$uniform) < trace$log_ratio, trace$accepted)
})

test_that("steps of a Gibbs sampler may be delayed", {
  skip_long()
  # a | b ~ N(b / 2, 1), b | a ~ N(a / 2, 1): variances of 4 / 3
  fit <- quietly(gibbs_sample(
    list(
      a = function(state) stats::rnorm(1, state$b / 2),
      b = mh_step(function(state) -0.5 * (state$b - state$a / 2)^2,
                  delayed_rejection(random_walk(4), 0.3))
    ),
    list(a = 0, b = 0), draws = 4000, chains = 4, burnin = 100, seed = 1,
    progress = FALSE
  ))
  b <- vapply(fit, function(x) unclass(x)[, "b"], numeric(4000))
  expect_lt(abs(z_of_chains(b, 0)), 4.5)
  expect_lt(abs(z_of_chains(b^2, 4 / 3)), 4.5)
  rates <- acceptance(fit)
  expect_identical(rates$block[1:3], c("b", "b, first try", "b, second try"))
})

test_that("arguments are checked", {
  skip_long()
  expect_gibbsite_error({
    delayed_rejection(1)
    delayed_rejection(nuts())
    delayed_rejection(tempered())
    delayed_rejection(delayed_rejection())
    delayed_rejection(adaptive(forever = TRUE))
    delayed_rejection(custom_proposal(function(x) x, NULL), random_walk(1))
    delayed_rejection(independence(0, 1))
    delayed_rejection(second = 0)
    delayed_rejection(second = "small")
    delayed_rejection(second = univariate_slice())
    mixture_proposal(delayed_rejection(), random_walk(1))
  })
})
