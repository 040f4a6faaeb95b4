# gibbs_gmm() draws from the posterior it names, for every form of the
# covariances and with missing entries: the log joint density, conditionals in
# closed form, a twin on the same random numbers, conditional modes, a posterior
# by summation over all allocations, Geweke's joint test, calibration by
# simulation, wrong samplers that these reject, and known answers on real data.
#
# A z-score is compared with max_z = 4.5: a correct sampler fails one such
# comparison with probability 7e-6, the few hundred of this file with
# probability below 3e-3 in all.  Seeds are fixed, so a pass stays a pass.

max_z <- 4.5

# Tests of means against each other reject a correct sampler with probability at
# most error_rate (Bonferroni over their quantities).
error_rate <- 1e-3

forms <- c("full", "diagonal", "shared")

# ---- the log joint density ---------------------------------------------------

# log density of IW(nu, S) by its factors (Sigma of one or two variables):
# Sigma_11 ~ IG((nu - d + 1) / 2, S_11 / 2), Sigma_22.1 ~ IG(nu / 2, S_22.1 / 2)
# and b = Sigma_21 / Sigma_11 ~ N(S_21 / S_11, Sigma_22.1 / S_11); Sigma_11 is
# the Jacobian of (Sigma_11, b, Sigma_22.1) to the elements of Sigma.
log_inverse_wishart <- function(sigma, nu, s) {
  log_inverse_gamma <- function(v, shape, scale) {
    dgamma(1 / v, shape, scale, log = TRUE) - 2 * log(v)
  }
  d <- nrow(s)
  first <- log_inverse_gamma(sigma[1, 1], (nu - d + 1) / 2, s[1, 1] / 2)
  if (d == 1) {
    return(first)
  }
  slope <- sigma[2, 1] / sigma[1, 1]
  rest <- sigma[2, 2] - slope * sigma[2, 1]
  s_rest <- s[2, 2] - s[2, 1]^2 / s[1, 1]
  first + log_inverse_gamma(rest, nu / 2, s_rest / 2) +
    dnorm(slope, s[2, 1] / s[1, 1], sqrt(rest / s[1, 1]), log = TRUE) -
    log(sigma[1, 1])
}

# log N(x | mean, sigma) of one or two variables: x_1, then x_2 given x_1.
log_normal_by_factors <- function(x, mean, sigma) {
  first <- dnorm(x[[1]], mean[[1]], sqrt(sigma[1, 1]), log = TRUE)
  if (length(x) == 1) {
    return(first)
  }
  slope <- sigma[2, 1] / sigma[1, 1]
  first + dnorm(
    x[[2]], mean[[2]] + slope * (x[[1]] - mean[[1]]),
    sqrt(sigma[2, 2] - slope * sigma[2, 1]), log = TRUE
  )
}

log_joint_by_factors <- function(model, state) {
  prior <- model$prior
  twin <- twin_state(model, state)
  alpha <- prior$alpha
  total <- lgamma(sum(alpha)) + sum((alpha - 1) * twin$log_pi - lgamma(alpha))
  for (c in seq_len(model$k)) {
    sigma <- twin$sigma[[c]]
    total <- total + log_normal_by_factors(twin$mu[c, ], prior$m0, prior$v0)
    if (model$covariance == "full" || c == 1 && model$covariance == "shared") {
      total <- total + log_inverse_wishart(sigma, prior$nu0, prior$s0)
    }
    for (j in seq_len(ncol(sigma))[model$covariance == "diagonal"]) {
      one <- function(m) m[j, j, drop = FALSE]
      total <- total +
        log_inverse_wishart(one(sigma), prior$nu0, one(prior$s0))
    }
  }
  rows <- vapply(seq_along(twin$z), function(i) {
    c <- twin$z[[i]]
    twin$log_pi[[c]] +
      log_normal_by_factors(twin$x[i, ], twin$mu[c, ], twin$sigma[[c]])
  }, 0)
  total + sum(rows)
}

test_that("the log joint density is that of its factors", {
  skip_long()
  withr::local_seed(5)
  for (form in forms) {
    for (d in 1:2) {
      for (holes in list(NULL, random_holes(9, d))) {
        alpha <- c(1.7, 0.6, 1)
        model <- tiny_gmm(9, d, 3, alpha, form, holes)
        state <- with_simulated_data(model, draw_prior(model))$state
        expect_equal(
          gmm_log_joint(model, state), log_joint_by_factors(model, state),
          tolerance = 1e-12
        )
      }
    }
  }
})

# ---- the conditionals --------------------------------------------------------

# One sweep from the same state, again and again: pi and mu are drawn given the
# state's z, x and Sigma, Sigma given the new mu, z given all of these, x last.
# Without moves, which would change z first.
# Component 2 has one observation, component 3 none.
sweeps_from_one_state <- function(form, holes = NULL,
                                  times = fast_or(2000, 5000)) {
  withr::local_seed(11)
  model <- tiny_gmm(
    9, 2, 3, alpha = c(1.7, 0.6, 1.3), form, holes, keep = c("z", "x")
  )
  state <- with_simulated_data(model, draw_prior(model))$state
  state$z <- as.integer(c(1, 1, 2, 1, 1, 1, 1, 1, 1))
  model$data$merge_split <- 0L
  control <- list(burnin = 0, thin = 1, threads = 1)
  draws <- stack_rows(times, function() {
    model_sweeps(model, state, 1, control)$draws
  })
  colnames(draws) <- model$columns
  list(model = model, twin = twin_state(model, state), draws = draws)
}

# Row 2 is wholly missing; of rows 3 to 8 each variable is missing in three.
some_holes <- matrix(FALSE, 9, 2)
some_holes[2, ] <- TRUE
some_holes[3:5, 1] <- TRUE
some_holes[6:8, 2] <- TRUE

from_one_state <- lapply(stats::setNames(nm = forms), function(form) {
  once(function() sweeps_from_one_state(form))
})
from_incomplete <- once(function() sweeps_from_one_state("full", some_holes))

# z-scores of the means and of the products of deviations about `centre`
moment_scores <- function(x, centre, covariance) {
  deviation <- sweep(x, 2, centre)
  pairs <- which(lower.tri(covariance, diag = TRUE), arr.ind = TRUE)
  products <- deviation[, pairs[, 1]] * deviation[, pairs[, 2]]
  c(z_of_means(x, centre), z_of_means(products, covariance[pairs]))
}

# The conditional of mu_c in closed form: list(mean, covariance).
mean_conditional <- function(model, twin, c) {
  prior <- model$prior
  x <- members(twin, c)
  covariance <- solve(solve(prior$v0) + nrow(x) * solve(twin$sigma[[c]]))
  linear <- solve(prior$v0, prior$m0) + solve(twin$sigma[[c]], colSums(x))
  list(mean = drop(covariance %*% linear), covariance = covariance)
}

block_of <- function(draws, block, c = NULL) {
  start <- if (is.null(c)) block else paste0(block, "[", c)
  unname(draws[, startsWith(colnames(draws), start), drop = FALSE])
}

test_that("pi | z is Dirichlet(alpha + n)", {
  skip_long()
  one_state <- from_one_state$full()
  a <- one_state$model$prior$alpha + c(8, 1, 0)
  mean <- a / sum(a)
  covariance <- (diag(mean) - tcrossprod(mean)) / (sum(a) + 1)
  scores <- moment_scores(block_of(one_state$draws, "pi"), mean, covariance)
  expect_lt(max(abs(scores)), max_z)
})

test_that("mu | Sigma, z is normal, also alone and empty", {
  skip_long()
  for (form in fast_or("full", forms)) {
    one_state <- from_one_state[[form]]()
    for (c in 1:3) {
      expected <- mean_conditional(one_state$model, one_state$twin, c)
      mu <- block_of(one_state$draws, "mu", c)
      scores <- moment_scores(mu, expected$mean, expected$covariance)
      expect_lt(max(abs(scores)), max_z, label = paste(form, c))
    }
  }
})

# The twin of the one state with the parameters of recorded sweep s.
recorded_twin <- function(one_state, s) {
  twin <- one_state$twin
  row <- one_state$draws[s, ]
  values <- function(block) unname(row[startsWith(names(row), block)])
  twin$mu <- matrix(values("mu["), 3)
  sigma <- values("Sigma[")
  twin$sigma <- switch(one_state$model$covariance,
    full = lapply(1:3, function(c) matrix(array(sigma, c(3, 4))[c, ], 2)),
    diagonal = lapply(1:3, function(c) {
      diag(matrix(values("sigma2["), 3)[c, ])
    }),
    shared = rep(list(matrix(sigma, 2)), 3)
  )
  twin$log_pi <- log(values("pi["))
  twin
}

# Inverse Wishart, with scale = L L': L' Sigma^-1 L ~ W(nu, I), its elements
# have means nu I and variances nu (1 + (i = j)), whatever mu was drawn.
# Diagonal: the same of each variance by itself.  Returned: the lower triangles
# (diagonal: the diagonals) of all covariances of a sweep, side by side.
standard_precisions <- function(one_state, s) {
  model <- one_state$model
  twin <- recorded_twin(one_state, s)
  conditionals <- covariance_conditionals(model, twin)
  parts <- Map(function(conditional, sigma) {
    if (model$covariance == "diagonal") {
      return(diag(conditional$scale) / diag(sigma))
    }
    l <- t(chol(conditional$scale))
    w <- t(l) %*% solve(sigma, l)
    w[lower.tri(w, diag = TRUE)]
  }, conditionals, twin$sigma[seq_along(conditionals)])
  unlist(parts)
}

test_that("Sigma | mu, z has its distribution, also alone and empty", {
  skip_long()
  times <- fast_or(600, 2000)
  for (form in fast_or("full", forms)) {
    one_state <- from_one_state[[form]]()
    w <- t(vapply(seq_len(times), function(s) {
      standard_precisions(one_state, s)
    }, numeric(switch(form, full = 9, diagonal = 6, shared = 3))))
    nu <- one_state$model$prior$nu0 +
      if (form == "shared") 9 else c(8, 1, 0)
    shape <- if (form == "diagonal") c(1, 1) else c(1, 0, 1)
    centre <- as.vector(outer(shape, nu))
    variance <- as.vector(outer(shape + 1, nu))
    spread <- (w - rep(centre, each = nrow(w)))^2
    expect_lt(max(abs(z_of_means(w, centre))), max_z, label = form)
    expect_lt(max(abs(z_of_means(spread, variance))), max_z, label = form)
    expect_lt(max(abs(cor(w)[upper.tri(cor(w))])), max_z / sqrt(times))
  }
})

test_that("the mean of Sigma | z is that of its mixture over mu", {
  skip_long()
  one_state <- from_one_state$full()
  model <- one_state$model
  for (c in 1:3) {
    x <- members(one_state$twin, c)
    mu <- mean_conditional(model, one_state$twin, c)
    centred <- x - rep(mu$mean, each = nrow(x))
    scale <- model$prior$s0 + crossprod(centred) + nrow(x) * mu$covariance
    expected <- scale / (model$prior$nu0 + nrow(x) - 2 - 1)
    sigma <- block_of(one_state$draws, "Sigma", c)
    expect_lt(max(abs(z_of_means(sigma, as.vector(expected)))), max_z)
  }
})

# Given the recorded pi, mu and Sigma, the indicators [z_i = c] have the means
# P(z_i = c | .), observed entries alone, and are independent: their residuals
# and the products of those of two observations have mean zero.
test_that("z | pi, mu, Sigma, x is categorical, independently", {
  skip_long()
  states <- c(from_incomplete, if (is_extended()) from_one_state$full)
  for (state in states) {
    one_state <- state()
    residuals <- t(vapply(seq_len(fast_or(400, 2000)), function(s) {
      twin <- recorded_twin(one_state, s)
      log_joint <- twin_log_joint(one_state$model, twin)
      z <- one_state$draws[s, paste0("z[", 1:9, "]")]
      as.vector(
        outer(z, 1:3, "==") - exp(log_joint - row_log_sums(log_joint))
      )
    }, numeric(27)))
    expect_lt(max(abs(z_of_means(residuals, 0))), max_z)
    first <- residuals[, 1:9]
    pairs <- combn(9, 2)
    products <- first[, pairs[1, ]] * first[, pairs[2, ]]
    expect_lt(max(abs(z_of_means(products, 0))), max_z)
  }
})

# Whitened, the missing entries given z and the parameters are independent
# standard normals, row by row.
test_that("missing entries have their conditional distribution", {
  skip_long()
  one_state <- from_incomplete()
  incomplete <- which(rowSums(some_holes) > 0)
  white <- t(vapply(seq_len(fast_or(600, 2000)), function(s) {
    twin <- recorded_twin(one_state, s)
    z <- one_state$draws[s, paste0("z[", 1:9, "]")]
    x <- one_state$draws[s, startsWith(colnames(one_state$draws), "x[")]
    row <- rep(1:9, rowSums(some_holes))
    unlist(lapply(incomplete, function(i) {
      given <- missing_conditional(one_state$model, twin, i, z[[i]])
      forwardsolve(t(chol(given$covariance)), x[row == i] - given$mean)
    }))
  }, numeric(sum(some_holes))))
  expect_lt(max(abs(moment_scores(white, 0, diag(ncol(white))))), max_z)
  expect_lt(max(abs(z_of_means(white^4, 3))), max_z)
})

# ---- the twin ----------------------------------------------------------------

# Sweeps of core and twin from one state on the same stream: the largest
# difference, relative where a value is above 1, of all that is recorded and of
# the running mean of the probabilities.
twin_difference <- function(model, sweeps, threads = 1, burnin = 3, thin = 2) {
  state <- with_simulated_data(model, draw_prior(model))$state
  control <- list(burnin = burnin, thin = thin, threads = threads)
  generator <- get(".Random.seed", globalenv())
  core <- model_sweeps(model, state, sweeps, control)
  core_generator <- get(".Random.seed", globalenv())
  assign(".Random.seed", generator, globalenv())
  twin <- twin_state(model, state)
  rows <- list()
  for (sweep in seq_len(sweeps)) {
    twin <- gmm_sweep_twin(model, twin)
    if (sweep > burnin && (sweep - burnin) %% thin == 0) {
      twin <- twin_keep(twin)
      rows[[twin$kept]] <- twin_row(model, twin)
    }
  }
  rows <- do.call(rbind, rows)
  is_z <- startsWith(model$columns, "z[")
  same <- identical(get(".Random.seed", globalenv()), core_generator) &&
    identical(core$state$z, twin$z) &&
    identical(core$state$kept, twin$kept) &&
    identical(unname(core$draws[, is_z]), unname(rows[, is_z])) &&
    identical(dim(core$draws), c(nrow(rows), length(model$columns)))
  end <- c(twin$prob, missing_entries(model, twin$x))
  core_end <- c(core$state$prob, core$state$x_missing)
  difference <- function(a, b) max(abs(a - b) / pmax(1, abs(b)))
  if (same) max(difference(core$draws, rows), difference(core_end, end)) else 1
}

expect_twin <- function(n, d, k, form, with_holes, sweeps = 17, ...) {
  alpha <- rep(c(0.3, 1.7, 0.9), length.out = k)
  holes <- if (with_holes) random_holes(n, d)
  model <- tiny_gmm(n, d, k, alpha, form, holes, keep = c("z", "x"))
  expect_lte(
    twin_difference(model, sweeps, ...), 1e-12,
    label = paste(form, n, d, k, with_holes)
  )
}

test_that("the core is its twin, draw for draw", {
  skip_long()
  withr::local_seed(21)
  for (form in forms) {
    for (with_holes in c(FALSE, TRUE)) {
      for (d in fast_or(c(1, 3), 1:4)) {
        if (d == 1 || is_extended()) {
          expect_twin(4, d, 4, form, with_holes)
        }
        if (is_extended()) {
          expect_twin(9, d, 1, form, with_holes)
          expect_twin(17, d, 2, form, with_holes)
        }
        if (d > 1 || is_extended()) {
          expect_twin(24, d, 3, form, with_holes)
        }
      }
    }
  }
  expect_twin(1, 2, 1, "full", FALSE)
  expect_twin(2, 3, 2, "shared", TRUE)
})

test_that("the core is its twin over several chunks and threads", {
  skip_unless_extended()
  withr::local_seed(24)
  for (form in forms) {
    expect_twin(1100, 2, 3, form, FALSE, sweeps = 5, threads = 2)
  }
  expect_twin(1100, 2, 3, "full", TRUE, sweeps = 5, threads = 2)
})

# Sizes at which uniforms and normals are drawn many at a time.
test_that("the core is its twin on every kind of generator", {
  skip_long()
  withr::defer(RNGkind("default", "default", "default"))
  kinds <- list(
    c("Mersenne-Twister", "Ahrens-Dieter"), c("L'Ecuyer-CMRG", "Inversion"),
    c("Wichmann-Hill", "Kinderman-Ramage")
  )
  for (kind in kinds) {
    withr::local_seed(
      25, .rng_kind = kind[[1]], .rng_normal_kind = kind[[2]]
    )
    expect_twin(fast_or(24, 1100), 2, 3, "full", TRUE, sweeps = 5)
  }
})

test_that("the core is its twin, more sizes", {
  skip_unless_extended()
  withr::local_seed(23)
  sizes <- expand.grid(
    n = c(1, 2, 7, 8, 9, 17, 50), d = c(1, 2, 3, 5), k = c(1, 2, 4),
    form = forms, with_holes = c(FALSE, TRUE), stringsAsFactors = FALSE
  )
  sizes <- sizes[sizes$n >= sizes$k, ]
  do.call(Map, c(expect_twin, sizes, sweeps = 51))
})

test_that("the core is its twin with weights that underflow", {
  skip_long()
  withr::local_seed(22)
  model <- tiny_gmm(11, 2, 4, alpha = 1e-3, keep = c("z", "x"))
  expect_lte(twin_difference(model, 50), 1e-12)
})

test_that("the columns of a model are those of its form", {
  withr::local_seed(25)
  sigma <- list(
    full = c("Sigma[1,1,1]", "Sigma[2,1,1]", "Sigma[1,2,1]"),
    diagonal = c("sigma2[1,1]", "sigma2[2,1]", "sigma2[1,2]"),
    shared = c("Sigma[1,1]", "Sigma[2,1]", "Sigma[1,2]")
  )
  for (form in forms) {
    model <- tiny_gmm(9, 2, 2, 1.7, form, some_holes, keep = c("z", "x"))
    expect_identical(model$columns[7:9], sigma[[form]])
    expect_identical(
      model$columns[startsWith(model$columns, "x[")][1:4],
      c("x[2,1]", "x[2,2]", "x[3,1]", "x[4,1]")
    )
  }
})

# ---- conditional modes -------------------------------------------------------

mode_sweep <- function(model, state) {
  control <- list(burnin = 0, thin = 1, threads = 1)
  .Call(
    gibbsite:::C_gmm_sweeps, model$data, state, 1, control, TRUE
  )$state
}

# What each block is set to, from the formulas: a list of twins, one a block.
modes_by_formula <- function(model, twin) {
  k <- model$k
  d <- ncol(twin$mu)
  excess <- pmax(model$prior$alpha + tabulate(twin$z, k) - 1, 0)
  twin$log_pi <- log(excess / sum(excess))
  stages <- list(pi = twin)
  for (c in seq_len(k)) {
    twin$mu[c, ] <- mean_conditional(model, twin, c)$mean
  }
  stages$mu <- twin
  sigma <- lapply(covariance_conditionals(model, twin), function(to) {
    if (model$covariance == "diagonal") {
      return(diag(diag(to$scale), d) / (to$df + 2))
    }
    to$scale / (to$df + d + 1)
  })
  twin$sigma <- rep(sigma, length.out = k)
  stages$sigma <- twin
  c(stages, list(z = mode_of_allocations(model, twin)))
}

# z_i and the missing entries of row i together: for each component the missing
# ones at their conditional mean, then the component of the largest density.
mode_of_allocations <- function(model, twin) {
  holes <- is.na(model$data$x)
  for (i in seq_along(twin$z)) {
    filled <- lapply(seq_len(model$k), function(c) {
      x <- twin$x[i, , drop = FALSE]
      if (any(holes[i, ])) {
        x[holes[i, ]] <- missing_conditional(model, twin, i, c)$mean
      }
      x
    })
    density <- vapply(seq_len(model$k), function(c) {
      twin$log_pi[[c]] + log_normal(filled[[c]], twin$mu[c, ], twin$sigma[[c]])
    }, 0)
    twin$z[[i]] <- which.max(density)
    twin$x[i, ] <- filled[[twin$z[[i]]]]
  }
  twin
}

log_joint_of <- function(model, twin) {
  gmm_log_joint(model, state_of_twin(model, twin))
}

mode_models <- function() {
  unlist(lapply(forms, function(form) {
    lapply(list(NULL, random_holes(20, 3)), function(holes) {
      tiny_gmm(20, 3, 3, alpha = 1.4, form, holes)
    })
  }), recursive = FALSE)
}

test_that("each block goes to the mode of its conditional", {
  skip_long()
  withr::local_seed(26)
  for (model in mode_models()) {
    start <- with_simulated_data(model, draw_prior(model))$state
    reached <- twin_state(model, mode_sweep(model, start))
    stages <- modes_by_formula(model, twin_state(model, start))
    label <- model$covariance
    for (part in c("log_pi", "mu", "sigma", "z", "x")) {
      expect_equal(
        reached[[part]], stages$z[[part]], tolerance = 1e-10, label = label
      )
    }
    values <- vapply(stages, function(twin) log_joint_of(model, twin), 0)
    expect_gte(min(diff(c(gmm_log_joint(model, start), values))), -1e-10)
  }
})

covariance_index <- function(model) {
  if (model$covariance == "shared") 1 else seq_len(model$k)
}

# No point near the mode of a block, the rest held, is higher.
test_that("nothing near a block's mode is higher", {
  skip_long()
  withr::local_seed(27)
  near <- list(
    pi = function(model, twin) {
      twin$log_pi <- twin$log_pi + rnorm(model$k, 0, 0.02)
      twin$log_pi <- twin$log_pi - log(sum(exp(twin$log_pi)))
      twin
    },
    mu = function(model, twin) {
      twin$mu <- twin$mu + rnorm(length(twin$mu), 0, 0.02)
      twin
    },
    sigma = function(model, twin) {
      d <- ncol(twin$mu)
      own <- twin$sigma[covariance_index(model)]
      moved <- lapply(own, function(s) {
        turn <- diag(d) + matrix(rnorm(d^2, 0, 0.02), d)
        if (model$covariance == "diagonal") turn <- diag(diag(turn), d)
        turn %*% s %*% t(turn)
      })
      twin$sigma <- rep(moved, length.out = model$k)
      twin
    },
    z = function(model, twin) {
      holes <- is.na(model$data$x)
      twin$x[holes] <- twin$x[holes] + rnorm(sum(holes), 0, 0.02)
      i <- sample.int(length(twin$z), 1)
      twin$z[[i]] <- sample.int(model$k, 1)
      twin
    }
  )
  for (model in mode_models()) {
    start <- with_simulated_data(model, draw_prior(model))$state
    stages <- modes_by_formula(model, twin_state(model, start))
    for (block in names(near)) {
      top <- log_joint_of(model, stages[[block]])
      others <- replicate(fast_or(5, 20), {
        log_joint_of(model, near[[block]](model, stages[[block]]))
      })
      expect_lte(max(others), top + 1e-10, label = block)
    }
  }
})

test_that("a search never goes down", {
  skip_long()
  withr::local_seed(28)
  models <- unlist(
    replicate(fast_or(1, 30), mode_models(), simplify = FALSE), FALSE
  )
  for (model in models) {
    state <- with_simulated_data(model, draw_prior(model))$state
    values <- vapply(1:20, function(sweep) {
      state <<- mode_sweep(model, state)
      gmm_log_joint(model, state)
    }, 0)
    expect_gte(
      min(diff(values) / (1 + abs(values[-1]))), -1e-12,
      label = model$covariance
    )
  }
})

# alpha + n below 1: the Dirichlet's density has no interior mode, and the
# weight goes to 0.
test_that("a weight with alpha + n below 1 goes to zero", {
  withr::local_seed(29)
  model <- tiny_gmm(6, 2, 3, alpha = c(0.4, 0.7, 0.2))
  state <- draw_prior(model)
  state$z <- as.integer(c(1, 1, 2, 2, 2, 1))
  state <- mode_sweep(model, state)
  excess <- c(3 + 0.4 - 1, 3 + 0.7 - 1)
  expect_equal(exp(state$log_pi), c(excess / sum(excess), 0))
  expect_false(any(state$z == 3))
  expect_true(is.finite(gmm_log_joint(model, state)))
  # none has an interior mode: alpha + n - 1 = (1, 0, 0)
  model <- tiny_gmm(1, 2, 3, alpha = 1)
  state <- mode_sweep(model, draw_prior(model))
  expect_equal(sort(exp(state$log_pi)), c(0, 0, 1))
})

test_that("a search by the front end ends where no block can rise", {
  skip_long()
  for (form in forms) {
    top <- gibbs_gmm(
      faithful, 2, covariance = form, method = "icm", chains = 3, seed = 1
    )
    expect_true(top$converged)
    expect_gte(min(diff(top$trace)), -1e-9)
    e <- top$estimate
    model <- top$model
    sigma <- switch(form,
      full = e$Sigma, shared = e$Sigma[1, , ],
      diagonal = t(apply(e$Sigma, 1, diag))
    )
    state <- gmm_state(model, log(e$pi), e$mu, sigma, e$z)
    expect_equal(gmm_log_joint(model, state), top$log_joint)
    again <- gmm_log_joint(model, mode_sweep(model, state))
    expect_lt(again - top$log_joint, 1e-5)
  }
})

# ---- a posterior by summation ------------------------------------------------

test_that("the step of the quadrature does not matter", {
  x <- c(-1.9, -1.2, 0.7, 2.6)
  prior <- complete_gmm_prior(gmm_prior(
    alpha = c(1.7, 0.6), m0 = 0.4, v0 = 2.3, nu0 = 3.4, s0 = 0.9
  ), cbind(x), 2, "full")
  expect_equal(
    posterior_by_summation(x, prior, 0.3),
    posterior_by_summation(x, prior, 0.3, step = 0.05), tolerance = 1e-9
  )
})

# ---- moves of groups: alone --------------------------------------------------

moves_model <- function(form, n = 6, d = 1, k = 3) {
  withr::local_seed(41)
  tiny_gmm(n, d, k, c(0.5, 0.3, 0.4, 0.6)[seq_len(k)], form)
}

run_moves_alone <- function(model, without = "", times = 1000) {
  withr::local_seed(45)
  smallest_adjusted(moves_alone_test(model, without, times))
}

test_that("moves leave the joint distribution as it is", {
  skip_unless_extended()
  for (form in forms) {
    p <- run_moves_alone(moves_model(form))
    expect_gte(p, error_rate, label = form)
  }
})

test_that("moves leave the joint distribution as it is, longer", {
  skip_unless_extended()
  for (form in forms) {
    p <- run_moves_alone(moves_model(form, 9, 2), times = 2000)
    expect_gte(p, error_rate, label = form)
  }
})

test_that("moves with a part of their ratio left out do not", {
  skip_unless_extended()
  for (part in c("anchors", "proposal", "dirichlet", "selection")) {
    p <- run_moves_alone(moves_model("shared"), part, times = 2000)
    expect_lt(p, error_rate, label = part)
  }
})

run_reversal <- function(model, without = "", times = 2000) {
  withr::local_seed(46)
  smallest_adjusted(reversal_test(model, without, times))
}

test_that("a move is its own reverse", {
  skip_unless_extended()
  p <- run_reversal(moves_model("full", k = 2))
  expect_gte(p, error_rate)
})

# A split undone from other anchors than those drawn.
test_that("a move that launches wrongly is not its own reverse", {
  skip_unless_extended()
  p <- run_reversal(moves_model("full", k = 2), "launch")
  expect_lt(p, error_rate)
})

test_that("moves with a part of their ratio left out do not, longer", {
  skip_unless_extended()
  parts <- c("anchors", "proposal", "dirichlet", "selection", "reverse")
  for (part in parts) {
    p <- run_moves_alone(moves_model("full"), part, times = 3000)
    expect_lt(p, error_rate, label = part)
  }
})

# ---- combinations: alone -----------------------------------------------------

run_combine_alone <- function(model, without = "", times = 1000, moves = 3) {
  withr::local_seed(47)
  smallest_adjusted(combine_alone_test(model, without, times, moves))
}

test_that("combinations leave the joint distribution as it is", {
  skip_unless_extended()
  for (form in c("full", "diagonal")) {
    p <- run_combine_alone(moves_model(form, 4, 2))
    expect_gte(p, error_rate, label = form)
  }
})

test_that("combinations leave the joint distribution as it is, longer", {
  skip_unless_extended()
  for (form in c("full", "diagonal")) {
    for (d in 1:3) {
      model <- moves_model(form, 5, d, if (d == 1) 4 else 3)
      p <- run_combine_alone(model, times = 1000)
      expect_gte(p, error_rate, label = paste(form, d))
    }
  }
})

test_that("combinations with a part of their ratio left out do not", {
  skip_unless_extended()
  # the p-values of three of them are below 1e-17
  times <- c(
    likelihood = 2000, prior = 500, density = 500, jacobian = 500, pair = 2000
  )
  for (part in names(times)) {
    model <- moves_model("full", 30, 1, 4)
    p <- run_combine_alone(model, part, times = times[[part]], moves = 8)
    expect_lt(p, error_rate, label = part)
  }
})

test_that("a combination undoes a split, with the Jacobian of the split", {
  for (form in c("full", "diagonal")) {
    d <- 2
    model <- moves_model(form, 5, d)
    withr::local_seed(48)
    whole <- list(
      log_weight = log(0.4), mu = c(1, -2),
      sigma = if (form == "full") matrix(c(2, 0.7, 0.7, 1), 2) else diag(2:1)
    )
    parts <- split_part(model, whole)
    again <- combine_parts(model, parts$first, parts$second)
    expect_equal(again$part, whole)
    expect_equal(again$log_q, parts$log_q)
    expect_equal(again$log_jacobian, parts$log_jacobian)
  }
  # by differences, of one variable
  split <- function(z) {
    p <- z[[4]]
    delta <- sqrt(z[[3]]) * z[[5]]
    within <- z[[3]] - delta^2
    c(
      z[[1]] * c(p, 1 - p), z[[2]] - sqrt((1 - p) / p) * delta,
      z[[2]] + sqrt(p / (1 - p)) * delta, within * z[[6]] / p,
      within * (1 - z[[6]]) / (1 - p)
    )
  }
  at <- c(0.4, 1, 2, 0.3, 0.5, 0.2)
  slope <- vapply(1:6, function(j) {
    step <- replace(numeric(6), j, 1e-6)
    (split(at + step) - split(at - step)) / 2e-6
  }, numeric(6))
  known <- log_block(list(p = 0.3, v = 0.5, b = matrix(0.2)), matrix(2))
  expect_equal(log_det(slope), known[["jacobian"]] + log(0.4), tolerance = 1e-7)
})

test_that("every kind of move succeeds, and none is tried without them", {
  withr::local_seed(33)
  model <- tiny_gmm(24, 2, 3, 0.3, keep = "z")
  joint <- with_simulated_data(model, draw_prior(model))
  control <- list(burnin = 0, thin = 1, threads = 1)
  moves <- model_sweeps(joint$model, joint$state, 400, control)$state$moves
  expect_identical(moves[5:8] > 0, rep(TRUE, 4))
  expect_gte(sum(moves[1:3]), 200)
  expect_gte(moves[4], 200)
  joint$model$data$merge_split <- 0L
  still <- model_sweeps(joint$model, joint$state, 400, control)$state$moves
  expect_identical(still, numeric(8))
})

# ---- combinations of the core, alone, without the twin -----------------------

# The core's sweep twice on the same random numbers, without and with a
# combination, which comes after all parameters are drawn: these before it and
# after it. The uniform that decides about a move of groups, first of all, is
# one that makes none.
sweep_beside <- function(model, state) {
  control <- list(burnin = 0, thin = 1, threads = 1)
  still <- model
  still$data$merge_split <- 0L
  state$moves <- c(200, 200, 200, 0, 0, 0, 0, 0)
  repeat {
    generator <- get(".Random.seed", globalenv())
    if (runif(1) > 0.5) break
  }
  before <- model_sweeps(still, state, 1, control)
  assign(".Random.seed", generator, globalenv())
  after <- model_sweeps(model, state, 1, control)
  stopifnot(after$state$moves[1:4] == c(200, 200, 200, 1))
  list(
    before = before$draws[1, ], after = after$draws[1, ], state = after$state,
    accepted = after$state$moves[[8]] == 1
  )
}

# Of components a and b as the parts of one: logs of |W| / |Sigma|, p (1 - p),
# |B|, |I - B| and |Sigma|, W = p Sigma_a + (1 - p) Sigma_b, with sums over the
# variables if each is split by itself.
pair_logs <- function(draw, form, d, a, b) {
  weight <- draw[1:3]
  mu <- matrix(draw[3 + seq_len(3 * d)], 3)
  size <- if (form == "full") d^2 else d
  sigma <- matrix(draw[3 + 3 * d + seq_len(3 * size)], 3)
  p <- weight[[a]] / (weight[[a]] + weight[[b]])
  block <- function(first, second, gap) {
    within <- p * first + (1 - p) * second
    whole <- within + p * (1 - p) * tcrossprod(gap)
    log(c(
      det(within) / det(whole), p * (1 - p), det(p * first) / det(within),
      det((1 - p) * second) / det(within), det(whole)
    ))
  }
  gap <- mu[b, ] - mu[a, ]
  if (form == "full") {
    return(block(matrix(sigma[a, ], d), matrix(sigma[b, ], d), gap))
  }
  rowSums(vapply(seq_len(d), function(j) {
    block(matrix(sigma[a, j]), matrix(sigma[b, j]), gap[[j]])
  }, numeric(5)))
}

# What the pair split off has more than the pair that was combined; zero without
# a combination. a and b combine and leave label b; c splits into c and b.
combination_change <- function(swept, form, d) {
  if (!swept$accepted) {
    return(numeric(5))
  }
  before <- swept$before
  after <- swept$after
  label <- list(
    c(1, 2, 3), c(1, 3, 2), c(2, 1, 3), c(2, 3, 1), c(3, 1, 2), c(3, 2, 1)
  )
  gap <- vapply(label, function(at) {
    abs(after[[at[[1]]]] - before[[at[[1]]]] - before[[at[[2]]]])
  }, 0)
  at <- label[[which.min(gap)]]
  stopifnot(min(gap) < 1e-9)
  pair_logs(after, form, d, at[[3]], at[[2]]) -
    pair_logs(before, form, d, at[[1]], at[[2]])
}

# Little data, and a prior under which combinations often succeed.
combinations_model <- function(form, d) {
  x <- matrix(rnorm(3 * d), 3, dimnames = list(NULL, paste0("v", seq_len(d))))
  prior <- gmm_prior(
    alpha = 1, m0 = rep(0, d), v0 = diag(0.4, d), nu0 = 15, s0 = diag(15, d)
  )
  prior <- gibbsite:::complete_gmm_prior(prior, x, 3, form)
  gibbsite:::gmm_model(x, 3, prior, form)
}

# Means of the changes, a row a chain that begins at a draw of the joint
# distribution.
combination_changes <- function(form, d, chains, sweeps) {
  model <- combinations_model(form, d)
  stack_rows(chains, function() {
    joint <- gibbsite:::draw_joint(model)
    state <- joint$state
    rowMeans(vapply(seq_len(sweeps), function(sweep) {
      swept <- sweep_beside(joint$model, state)
      state <<- swept$state
      combination_change(swept, form, d)
    }, numeric(5)))
  })
}

# A combination is its own reverse: the change has mean zero.
test_that("a combination of the core is its own reverse", {
  skip_unless_extended()
  withr::local_seed(49)
  scores <- vapply(list(list("full", 1), list("full", 2), list("diagonal", 2)),
    function(case) {
      z_of_means(combination_changes(
        case[[1]], case[[2]], 100, 120
      ), 0)
    }, numeric(5)
  )
  expect_lt(max(abs(scores)), max_z)
  # of all cases together
  expect_lt(max(abs(rowSums(scores) / sqrt(3))), max_z)
})

# ---- Geweke's joint test and its mutants -------------------------------------

# alpha differs between the components, so that labelled quantities count too
# (three: low, so that some are empty)
joint_model <- function(form, holes = NULL, k = 2) {
  withr::local_seed(41)
  alpha <- if (k == 2) c(2.6, 1.9) else c(1.1, 0.6, 0.8)
  tiny_gmm(n = 8, d = 2, k, alpha, form, holes)
}
joint_cases <- list(
  full = joint_model("full"), diagonal = joint_model("diagonal"),
  shared = joint_model("shared"),
  impute = joint_model("full", some_holes[1:8, ]),
  impute_diagonal = joint_model("diagonal", some_holes[1:8, ]),
  impute_shared = joint_model("shared", some_holes[1:8, ]),
  three = joint_model("full", k = 3),
  three_diagonal = joint_model("diagonal", k = 3),
  three_shared = joint_model("shared", k = 3),
  impute_three = joint_model("full", some_holes[1:8, ], k = 3)
)
joint_references <- lapply(joint_cases, function(model) {
  once(function() {
    withr::local_seed(42)
    joint_by_simulation(model, gmm_all_quantities, 1500)
  })
})
run_joint_test <- function(case, model = joint_cases[[case]], chains = 40,
                           steps = 40) {
  withr::local_seed(43)
  joint_test(
    model, gmm_all_quantities, joint_references[[case]](), chains, steps
  )
}
# A mutant of a case, without the moves of groups: its mistake is in another
# block, and the twin, which runs it, takes most of its time for the moves.
gmm_mutant <- function(case, name) {
  model <- joint_cases[[case]]
  model$data$merge_split <- 0L
  mutant_of(model, gmm_mutants[[name]])
}
# With all chains if a third of them does not show the mistake.
expect_rejected <- function(case, mutants, chains = 40, ...) {
  for (name in mutants) {
    model <- gmm_mutant(case, name)
    for (some in c(chains / 3, chains)) {
      p <- smallest_adjusted(run_joint_test(case, model, some, ...))
      if (p < error_rate) break
    }
    expect_lt(p, error_rate, label = paste(case, name))
  }
}

test_that("Geweke's joint test passes", {
  skip_unless_extended()
  # test-joint.R has it in the fast suite
  for (case in c("impute", "full", "diagonal", "shared", "three")) {
    p <- smallest_adjusted(run_joint_test(case))
    expect_gte(p, error_rate, label = case)
  }
})

test_that("Geweke's joint test rejects wrong samplers", {
  skip_unless_extended()
  expect_rejected("full", c("nu0_off_by_d", "m0_dropped", "v0_for_its_inverse"))
  expect_rejected("diagonal", "nu0_halved")
  expect_rejected("shared", "shared_count_of_one", chains = 30)
  expect_rejected(
    "impute", c("marginal_imputation", "stale_imputation"), chains = 30
  )
})

test_that("Geweke's joint test rejects more wrong samplers", {
  skip_unless_extended()
  general <- c(
    "rate_for_scale", "nu0_off_by_d", "m0_dropped", "stale_weights",
    "v0_for_its_inverse", "alpha_dropped"
  )
  long <- function(...) expect_rejected(..., chains = 60, steps = 50)
  # test-mutants.R finds each of them in every form
  long("full", general)
  for (form in c("diagonal", "shared")) {
    long(form, c("rate_for_scale", "nu0_halved"))
  }
  long("full", "scatter_about_data_mean")
  for (case in c("impute", "impute_shared")) {
    long(case, c(
      "marginal_imputation", "imputation_of_means", "stale_imputation",
      "imputation_first"
    ))
  }
  long("impute_diagonal", c("imputation_of_means", "imputation_first"))
})

# Values imputed given z alone, and z given these, are full conditionals where
# the variables are independent: no mistake, and the test sees none.
test_that("Geweke's joint test passes another right sampler", {
  skip_unless_extended()
  model <- gmm_mutant("impute_diagonal", "stale_imputation")
  test <- run_joint_test("impute_diagonal", model, chains = 60, steps = 50)
  expect_gte(smallest_adjusted(test), error_rate)
  test <- run_joint_test("impute_diagonal", chains = 60, steps = 50)
  expect_gte(smallest_adjusted(test), error_rate)
})

test_that("Geweke's joint test passes for three components, longer", {
  skip_unless_extended()
  for (case in c("three_diagonal", "three_shared", "impute_three")) {
    p <- smallest_adjusted(run_joint_test(case, chains = 60, steps = 50))
    expect_gte(p, error_rate, label = case)
  }
})

test_that("Geweke's joint test passes for other sizes, longer", {
  skip_unless_extended()
  sizes <- list(c(12, 2, 2), c(1, 2, 2), c(9, 1, 1), c(20, 1, 3), c(10, 3, 2))
  for (form in forms) {
    for (size in c(sizes, list(c(10, 3, 2, 1), c(12, 2, 3, 1)))) {
      withr::local_seed(44)
      alpha <- c(0.6, 1.7, 2.2)[seq_len(size[[3]])]
      holes <- if (length(size) == 4) random_holes(size[[1]], size[[2]])
      model <- tiny_gmm(size[[1]], size[[2]], size[[3]], alpha, form, holes)
      reference <- joint_by_simulation(model, gmm_all_quantities, 1500)
      test <- joint_test(model, gmm_all_quantities, reference, 40, 30)
      expect_gte(
        smallest_adjusted(test), error_rate, label = toString(c(form, size))
      )
    }
  }
})

# ---- simulation-based calibration --------------------------------------------

sbc_draws <- 31
run_sbc <- function(model, simulations, seed, thin = 10) {
  withr::local_seed(seed)
  sbc_ranks(model, gmm_invariants, simulations, sbc_draws, thin, burnin = 200)
}

# Ranks are uniform when draws are independent.  Successive draws with a
# correlation of 0.1 raise the variance of the ranks (L^2 / 12 + L / 6 with L
# independent draws, the second term times 1.1 / 0.9 else) by about 1%.
expect_calibrated <- function(ranks, label) {
  expect_lt(max(attr(ranks, "autocorrelation")), 0.1, label = label)
  expect_identical(
    names(which(!sbc_inside(ranks, sbc_draws, error_rate))), character(),
    label = label
  )
}

test_that("the band of the ranks keeps its promise", {
  skip_long()
  band <- ecdf_band(200, sbc_draws, 0.05)
  exact <- band_probability(200, band$lower, band$upper)
  expect_gte(exact, 0.95)
  withr::local_seed(51)
  inside <- replicate(2000, {
    rank <- sample.int(sbc_draws + 1, 200, replace = TRUE)
    counts <- cumsum(tabulate(rank, sbc_draws + 1))
    all(band$lower <= counts & counts <= band$upper)
  })
  expect_lt(abs(z_of_means(inside, exact)), max_z)
})

test_that("the posterior is calibrated over the prior", {
  skip_unless_extended()
  for (case in c("shared", "full", "diagonal", "impute")) {
    ranks <- run_sbc(joint_cases[[case]], 200, seed = 52)
    expect_calibrated(ranks, case)
  }
})

expect_not_calibrated <- function(case, name, simulations = 200) {
  ranks <- run_sbc(gmm_mutant(case, name), simulations, seed = 52)
  expect_false(all(sbc_inside(ranks, sbc_draws, error_rate)), label = name)
}

test_that("a wrong sampler is not calibrated", {
  skip_unless_extended()
  expect_not_calibrated("full", "nu0_off_by_d")
})

test_that("more wrong samplers are not calibrated", {
  skip_unless_extended()
  expect_not_calibrated("full", "m0_dropped")
  # 200 simulations do not see it
  expect_not_calibrated("full", "alpha_dropped", 600)
  expect_not_calibrated("diagonal", "nu0_halved")
  expect_not_calibrated("shared", "nu0_off_by_d")
  expect_not_calibrated("impute", "imputation_of_means")
})

test_that("the posterior is calibrated over the prior, longer", {
  skip_unless_extended()
  sizes <- list(c(15, 2, 2), c(10, 1, 3), c(12, 3, 2), c(12, 2, 2, 1))
  for (form in forms) {
    for (size in sizes) {
      model <- withr::with_seed(54, {
        holes <- if (length(size) == 4) random_holes(size[[1]], size[[2]])
        tiny_gmm(size[[1]], size[[2]], size[[3]], 1.7, form, holes)
      })
      ranks <- run_sbc(model, 400, seed = 55, thin = 20)
      expect_calibrated(ranks, toString(c(form, size)))
    }
  }
})

# ---- real data ---------------------------------------------------------------

# EM (mclust, VVV, G = 2): weights 0.644 and 0.356, means (4.290, 79.97) and
# (2.037, 54.48).  EM's mode and the posterior mean differ by the prior and the
# likelihood's skewness, a fraction of a posterior sd.
test_that("faithful has EM's two components", {
  skip_long()
  fit <- gibbs_gmm(
    faithful, 2, draws = 2000, burnin = 500, chains = 2, seed = 61
  )
  draws <- do.call(rbind, fit)
  short <- draws[, "mu[1,1]"] < draws[, "mu[2,1]"]
  expect_length(unique(short[1:2000]), 1)
  expect_length(unique(short[2001:4000]), 1)
  pick <- function(first, second) {
    ifelse(short, draws[, second], draws[, first])
  }
  long <- cbind(
    pick("pi[1]", "pi[2]"), pick("mu[1,1]", "mu[2,1]"),
    pick("mu[1,2]", "mu[2,2]"), pick("mu[2,1]", "mu[1,1]"),
    pick("mu[2,2]", "mu[1,2]")
  )
  em <- c(0.644, 4.290, 79.97, 2.037, 54.48)
  distance <- (colMeans(long) - em) / apply(long, 2, stats::sd)
  expect_lt(max(abs(distance)), 1)
})

# Three species, 50 flowers each.
test_that("iris falls into its species with a shared covariance", {
  skip_long()
  fit <- gibbs_gmm(
    iris[1:4], 3, covariance = "shared", draws = 1000, burnin = 500,
    chains = 2, seed = 62
  )
  table <- table(predict(fit), iris$Species)
  expect_identical(dim(table), c(3L, 3L))
  expect_lte(150 - sum(apply(table, 1, max)), 6)
})

# EM (mclust, E, G = 3): weights 0.086, 0.877 and 0.037, means 9.749, 21.400 and
# 32.965 (1000 km/s), common variance 4.286.
test_that("galaxies has EM's three components with a shared variance", {
  skip_long()
  skip_if_not_installed("MASS")
  found <- new.env()
  utils::data("galaxies", package = "MASS", envir = found)
  fit <- gibbs_gmm(
    found$galaxies / 1000, 3, covariance = "shared", draws = 2000,
    burnin = 500, chains = 2, seed = 63
  )
  draws <- t(apply(do.call(rbind, fit), 1, function(row) {
    rank <- order(row[paste0("mu[", 1:3, ",1]")])
    c(row[1:3][rank], row[4:6][rank], row[["Sigma[1,1]"]])
  }))
  em <- c(0.086, 0.877, 0.037, 9.749, 21.400, 32.965, 4.286)
  distance <- (colMeans(draws) - em) / apply(draws, 2, stats::sd)
  expect_lt(max(abs(distance)), 1)
})
