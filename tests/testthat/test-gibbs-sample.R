# gibbs_sample(): the promises of the driver with functions of the user, exact
# distributions, wrong samplers that these tell apart, messages.

# ---- conditionals ------------------------------------------------------------

# The notes' density: N((4, 4), [1 .8; .8 1]).
plane <- list(
  z1 = function(state) rnorm(1, 4 + 0.8 * (state$z2 - 4), 0.6),
  z2 = function(state) rnorm(1, 4 + 0.8 * (state$z1 - 4), 0.6)
)
plane_start <- list(z1 = 0, z2 = 0)

# Integers, logical values, matrices and arrays, and a block that is moved.
everything <- list(
  n = function(state) rpois(1, 3 + abs(state$x[1, 1])),
  flag = function(state) runif(2) < 0.3 + 0.1 * (state$n > 3),
  x = function(state) {
    matrix(rnorm(6, mean(state$flag) + state$a[1, 2, 1] / 9), 2, 3)
  },
  a = function(state) array(rnorm(4, state$x[2, 3] / 3), c(1, 2, 2)),
  s = mh_step(function(state) {
    -sum((state$s - state$x[, 1])^2) / 2 - sum(abs(state$s))
  }, steps = 2)
)
everything_start <- list(
  n = 3L, flag = c(TRUE, FALSE), x = matrix(0, 2, 3), a = array(0, c(1, 2, 2)),
  s = c(0L, 0L)
)

sampled <- function(conditionals = everything, init = everything_start,
                    draws = 60, burnin = 70, chains = 2, seed = 1, ...) {
  quietly(gibbs_sample(
    conditionals, init, draws = draws, burnin = burnin, chains = chains,
    seed = seed, progress = FALSE, ...
  ))
}

# Where the last segment ended depends on the machine's speed.
without_segments <- function(lines) {
  sub("after sweep [0-9]+", "after sweep ...", lines)
}

matrices <- function(fit) lapply(fit, function(chain) unclass(chain)[, ])

# ---- a slow twin on the same random numbers ----------------------------------

# The draws of chain 1, one sweep after the other; `update`: how a sweep of a
# wrong sampler differs.
twin <- function(conditionals, init, draws, scan = "systematic", seed = 1,
                 given = function(state, before) state) {
  withr::local_preserve_seed()
  set_generator_seed(chain_streams(seed, 1)[[1]])
  blocks <- length(conditionals)
  state <- init
  rows <- list()
  for (sweep in seq_len(draws)) {
    if (scan == "random" && sweep %% 64 == 1) {
      order <- matrix(sample.int(blocks, 64 * blocks, replace = TRUE), blocks)
    }
    which <- if (scan == "random") {
      order[, (sweep - 1) %% 64 + 1]
    } else {
      seq_len(blocks)
    }
    before <- state
    for (k in which) state[[k]] <- conditionals[[k]](given(state, before))
    rows[[sweep]] <- unlist(state)
  }
  do.call(rbind, rows)
}

test_that("sweeps are those of a loop in R on the same random numbers", {
  skip_long()
  drawn <- everything[c("n", "flag", "x", "a")]
  start <- everything_start[names(drawn)]
  for (scan in c("systematic", "random")) {
    fit <- sampled(drawn, start, draws = 200, burnin = 0, scan = scan)
    expect_identical(
      unname(matrices(fit)[[1]]), unname(twin(drawn, start, 200, scan))
    )
  }
})

test_that("moved blocks are those of the core, given the state of the moment", {
  skip_long()
  # alone, a moved block is mh_sample()'s chain but for the stream: its
  # acceptances must follow from the densities that were asked for
  asked <- list()
  density <- function(state) {
    value <- -sum((state$s - state$m)^2)
    asked[[length(asked) + 1]] <<- list(state = state, value = value)
    value
  }
  fit <- sampled(
    list(
      m = function(state) rnorm(2, state$s / 2),
      s = mh_step(density, random_walk(1))
    ),
    list(m = c(0, 0), s = c(0, 0)), draws = 100, burnin = 0, chains = 1
  )
  asked <- asked[-1] # the start is looked at once
  expect_length(asked, 200)
  draws <- matrices(fit)[[1]]
  of <- function(name, asked) {
    t(vapply(asked, function(one) one$state[[name]], c(0, 0)))
  }
  value <- vapply(asked, `[[`, 0, "value")
  now <- seq(1, 200, by = 2)
  m <- unname(draws[, c("m[1]", "m[2]")])
  # both densities are those of the new m
  expect_identical(of("m", asked[now]), m)
  expect_identical(of("m", asked[now + 1]), m)
  after <- unname(draws[, c("s[1]", "s[2]")])
  before <- rbind(0, after[-100, ])
  proposed <- of("s", asked[now + 1])
  expect_identical(of("s", asked[now]), before)
  moved <- rowSums(after == proposed) == 2
  expect_identical(after, ifelse(cbind(moved, moved), proposed, before),
                   ignore_attr = TRUE)
  expect_true(all(moved[value[now + 1] >= value[now]]))
  expect_identical(acceptance(fit)$rate, sum(moved) / 100)
  expect_gt(sum(moved), 20)
  expect_lt(sum(moved), 80)
})

# ---- exact distributions -----------------------------------------------------

# Means, variances and covariance of the plane, in Monte Carlo errors.
plane_errors <- function(draws) {
  expected <- c(z1 = 4, z2 = 4, v1 = 1, v2 = 1, c12 = 0.8)
  quantities <- function(z) {
    away <- z - 4
    cbind(z, away^2, away[, 1] * away[, 2])
  }
  each <- lapply(draws, quantities)
  vapply(1:5, function(j) {
    z_of_chains(vapply(each, function(q) q[, j], numeric(nrow(each[[1]]))),
                expected[[j]])
  }, 0)
}

plane_draws <- local({
  made <- list()
  function(scan) {
    if (is.null(made[[scan]])) {
      made[[scan]] <<- matrices(sampled(
        plane, plane_start, draws = plane_size, chains = 4, scan = scan
      ))
    }
    made[[scan]]
  }
})
plane_size <- fast_or(1000, 5000)

test_that("the normal distribution in the plane has its exact moments", {
  skip_long()
  for (scan in c("systematic", "random")) {
    expect_lt(max(abs(plane_errors(plane_draws(scan)))), 4)
  }
})

test_that("the chain in the plane is the autoregression that it should be", {
  skip_long()
  # z1 given the last z1 has correlation 0.8^2
  z <- plane_draws("systematic")
  products <- vapply(z, function(x) {
    (x[-1, 1] - 4) * (x[-nrow(x), 1] - 4)
  }, numeric(plane_size - 1))
  expect_lt(abs(z_of_chains(products, 0.64)), 4)
})

test_that("wrong orders and stale states are told apart", {
  skip_unless_extended()
  wrong <- function(...) {
    lapply(1:4, function(seed) {
      twin(plane, plane_start, plane_size, seed = seed, ...)[-(1:70), ]
    })
  }
  expect_lt(max(abs(plane_errors(wrong()))), 4)
  # every block is given the state as the sweep began
  stale <- wrong(given = function(state, before) before)
  expect_gt(max(abs(plane_errors(stale))), 8)
  # random scan in which the block to update depends on the state
  chosen <- lapply(1:4, function(seed) {
    set.seed(seed)
    state <- plane_start
    t(vapply(seq_len(plane_size), function(i) {
      k <- if (state$z1 > state$z2) 1 else 2
      state[[k]] <<- plane[[k]](state)
      unlist(state)
    }, numeric(2)))
  })
  expect_gt(max(abs(plane_errors(chosen))), 8)
})

# All 12 cells of a table, from its conditionals and with one block moved.
table_of_cells <- local({
  p <- array(c(5, 1, 2, 3, 1, 6, 2, 2, 4, 1, 3, 7), c(2, 3, 2))
  p / sum(p)
})

cell_conditionals <- function(moved = FALSE) {
  p <- table_of_cells
  pick <- function(prob) sample.int(length(prob), 1, prob = prob)
  list(
    i = function(state) pick(p[, state$j, state$k]),
    j = if (moved) {
      mh_step(
        function(state) log(p[state$i, state$j, state$k]),
        # 1 -> 2, 2 -> 1 or 3, 3 -> 2: not symmetric
        custom_proposal(
          draw = function(x) if (x == 2) sample(c(1, 3), 1) else 2,
          log_density = function(y, x) if (x == 2) log(0.5) else 0
        )
      )
    } else {
      function(state) pick(p[state$i, , state$k])
    },
    k = function(state) pick(p[state$i, state$j, ])
  )
}

# The largest error among the probabilities of the cells.
cell_errors <- function(draws) {
  z <- vapply(seq_along(table_of_cells), function(cell) {
    at <- arrayInd(cell, dim(table_of_cells))
    hits <- vapply(draws, function(x) {
      (x[, 1] == at[1] & x[, 2] == at[2] & x[, 3] == at[3]) + 0
    }, numeric(nrow(draws[[1]])))
    z_of_chains(hits, table_of_cells[cell])
  }, 0)
  max(abs(z))
}

cell_start <- list(i = 1L, j = 1L, k = 1L)

test_that("a table of cells is visited with its probabilities", {
  skip_long()
  for (scan in c("systematic", "random")) {
    for (moved in fast_or(scan == "random", c(FALSE, TRUE))) {
      fit <- sampled(cell_conditionals(moved), cell_start,
                     draws = fast_or(1000, 5000), chains = 4, scan = scan)
      expect_lt(cell_errors(matrices(fit)), 4.5)
    }
  }
})

test_that("a move without its correction, or a stale density, fails", {
  skip_unless_extended()
  p <- table_of_cells
  uncorrected <- cell_conditionals(TRUE)
  uncorrected$j <- mh_step(
    function(state) log(p[state$i, state$j, state$k]),
    custom_proposal(
      draw = function(x) if (x == 2) sample(c(1, 3), 1) else 2,
      log_density = NULL
    )
  )
  fit <- sampled(uncorrected, cell_start, draws = 5000, chains = 4)
  expect_gt(cell_errors(matrices(fit)), 8)
  # the density of the current point is that of the sweep before
  last <- NULL
  stale <- cell_conditionals(FALSE)
  stale$j <- function(state) {
    now <- last %||% p[state$i, state$j, state$k]
    y <- if (state$j == 2) sample(c(1, 3), 1) else 2
    there <- p[state$i, y, state$k]
    ratio <- there / now * (if (y == 2) 0.5 else 1) /
      (if (state$j == 2) 0.5 else 1)
    moved <- runif(1) < ratio
    last <<- if (moved) there else now
    if (moved) y else state$j
  }
  fit <- sampled(stale, cell_start, draws = 5000, chains = 4)
  expect_gt(cell_errors(matrices(fit)), 8)
})

# y | w ~ N(X w, 1 / beta), w ~ N(0, I / lambda), lambda, beta ~ Gamma(2, 1)
regression <- local({
  x <- cbind(1, scale(as.matrix(datasets::mtcars[c("wt", "hp")])))
  y <- drop(scale(datasets::mtcars$mpg))
  list(
    x = unname(x), y = y,
    conditionals = list(
      w = function(state, x, y) {
        root <- chol(state$beta * crossprod(x) + diag(state$lambda, ncol(x)))
        mean <- backsolve(
          root, forwardsolve(t(root), state$beta * crossprod(x, y))
        )
        drop(mean + backsolve(root, rnorm(ncol(x))))
      },
      lambda = function(state, x, y) {
        rgamma(1, 2 + ncol(x) / 2, 1 + sum(state$w^2) / 2)
      },
      beta = function(state, x, y) {
        rgamma(1, 2 + length(y) / 2, 1 + sum((y - x %*% state$w)^2) / 2)
      }
    ),
    init = list(w = c(0, 0, 0), lambda = 1, beta = 1)
  )
})

# Posterior means by quadrature over (log lambda, log beta), w being normal
# given them.
regression_means <- function() {
  x <- regression$x
  y <- regression$y
  n <- length(y)
  d <- ncol(x)
  at <- expand.grid(l = seq(-5, 3, length.out = 161),
                    b = seq(-1, 4, length.out = 161))
  each <- apply(at, 1, function(v) {
    lambda <- exp(v[[1]])
    beta <- exp(v[[2]])
    precision <- beta * crossprod(x) + diag(lambda, d)
    mean <- solve(precision, beta * crossprod(x, y))
    log_p <- n / 2 * log(beta) + d / 2 * log(lambda) -
      as.numeric(determinant(precision)$modulus) / 2 -
      (beta * sum(y^2) - sum(mean * (precision %*% mean))) / 2 +
      2 * log(lambda) - lambda + 2 * log(beta) - beta
    c(log_p, mean, lambda, beta, diag(solve(precision)) + mean^2)
  })
  weight <- exp(each[1, ] - max(each[1, ]))
  drop(each[-1, ] %*% weight) / sum(weight)
}

test_that("linear regression has the means that quadrature gives", {
  skip_unless_extended()
  n <- 5000
  fit <- sampled(regression$conditionals, regression$init, draws = n,
                 burnin = 100, chains = 4, x = regression$x, y = regression$y)
  draws <- lapply(matrices(fit), function(m) cbind(m, m[, 1:3]^2))
  expected <- regression_means()
  z <- vapply(seq_along(expected), function(j) {
    z_of_chains(vapply(draws, function(m) m[, j], numeric(n)), expected[j])
  }, 0)
  expect_lt(max(abs(z)), 4)
})

# A normal mixture of two components with weights and allocations drawn, and the
# means moved: against the sum over all allocations of six observations.
test_that("a mixture with a moved block has its exact posterior", {
  skip_unless_extended()
  n <- 4000
  y <- c(-1.2, -0.7, 0.1, 0.9, 1.6, 2.4)
  conditionals <- list(
    mu = mh_step(function(state) {
      sum(dnorm(y, state$mu[state$z], 1, log = TRUE)) +
        sum(dnorm(state$mu, c(-1, 1), 1, log = TRUE))
    }, steps = 3),
    z = function(state) {
      p <- outer(y, 1:2, function(y, k) {
        c(state$w, 1 - state$w)[k] * dnorm(y, state$mu[k])
      })
      1L + (runif(6) > p[, 1] / rowSums(p))
    },
    w = function(state) rbeta(1, 2 + sum(state$z == 1), 2 + sum(state$z == 2))
  )
  fit <- sampled(
    conditionals, list(mu = c(0, 0), z = rep(1:2, 3), w = 0.5),
    draws = n, burnin = 500, chains = 4
  )
  # exactly: given z, mu_k ~ N((m_k + sum y) / (1 + n_k), 1 / (1 + n_k))
  all <- as.matrix(expand.grid(rep(list(1:2), 6)))
  each <- apply(all, 1, function(z) {
    parts <- vapply(1:2, function(k) {
      own <- y[z == k]
      n <- length(own)
      m0 <- c(-1, 1)[k]
      mean <- (m0 + sum(own)) / (1 + n)
      c(-0.5 * log(1 + n) -
          (sum(own^2) + m0^2 - (1 + n) * mean^2) / 2, mean, n)
    }, numeric(3))
    n1 <- parts[3, 1]
    c(sum(parts[1, ]) + lbeta(2 + n1, 2 + 6 - n1), parts[2, ],
      (2 + n1) / 10, z == 1)
  })
  weight <- exp(each[1, ] - max(each[1, ]))
  expected <- drop(each[-1, ] %*% weight) / sum(weight)
  draws <- lapply(matrices(fit), function(m) {
    cbind(m[, c("mu[1]", "mu[2]", "w")], m[, paste0("z[", 1:6, "]")] == 1)
  })
  z <- vapply(seq_along(expected), function(j) {
    z_of_chains(vapply(draws, function(m) m[, j], numeric(n)), expected[j])
  }, 0)
  expect_lt(max(abs(z)), 4)
})

test_that("Langevin steps use the gradient of the whole state", {
  skip_long()
  draws_each <- fast_or(1500, 5000)
  # s | m ~ N(m, 1), m | s ~ N(s / 2, 3 / 4): (m, s) normal, variances 1 and 2
  fit <- sampled(
    list(
      m = function(state) rnorm(1, state$s / 2, sqrt(1 / 2)),
      s = mh_step(
        function(state) -(state$s - state$m)^2 / 2,
        langevin(gradient = function(state) state$m - state$s)
      )
    ),
    list(m = 0, s = 0), draws = draws_each, burnin = 300, chains = 4
  )
  draws <- matrices(fit)
  of <- function(f) z_of_chains(vapply(draws, f, numeric(draws_each)), 1)
  expect_lt(abs(of(function(x) x[, 1]^2)), 4)
  expect_lt(abs(of(function(x) x[, 2]^2 / 2)), 4)
  expect_lt(abs(of(function(x) x[, 1] * x[, 2])), 4)
})

# ---- the promises of the driver ----------------------------------------------

for (scan in c("systematic", "random")) {
  test_that(paste("pieces never show:", scan), {
    skip_long()
    whole <- sampled(scan = scan, thin = 3)
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(sampled(scan = scan, thin = 3), whole))
    })
    pieces <- sampled(draws = 1, scan = scan, thin = 3)
    for (n in fast_or(59, c(1, 2, 26, 30))) pieces <- longer(pieces, n)
    expect_true(identical_fit(pieces, whole))
    short <- sampled(draws = 30, scan = scan, thin = 3)
    expect_false(identical_fit(longer(short, 29), whole))
  })

  test_that(paste("processes and threads never change a draw:", scan), {
    skip_on_cran()
    whole <- sampled(scan = scan)
    expect_true(identical_fit(sampled(scan = scan, cores = 2), whole))
    expect_true(identical_fit(sampled(scan = scan, threads = 2), whole))
  })
}

test_that("a fit is continued in another session, and resumed when killed", {
  skip_unless_extended()
  skip_unless_processes()
  folder <- withr::local_tempdir()
  saveRDS(sampled(draws = 20), file.path(folder, "fit.rds"))
  child <- start_child(folder = folder, quote({
    saveRDS(longer(readRDS("fit.rds"), 40), "more.rds")
  }))
  expect_true(identical_fit(result_of(child, "more"), sampled()))

  child <- start_child(quote({
    options(gibbsite.checkpoint_seconds = 0, gibbsite.segment_seconds = 0.005)
    slow_segments(0.02)
    quietly(gibbs_sample(
      list(a = function(state) rnorm(1, state$b / 2),
           b = mh_step(function(state) -(state$b - state$a)^2)),
      list(a = 0, b = 0), draws = 1500, burnin = 100, thin = 8, chains = 2,
      seed = 1, scan = "random", progress = FALSE, checkpoint = "run"
    ))
  }))
  wait_for(child, "run/chain-2/draws-0001.rds")
  tools::pskill(child$process$get_pid(), tools::SIGKILL)
  expect_identical(end_of(child), -9L)
  whole <- sampled(
    list(a = function(state) rnorm(1, state$b / 2),
         b = mh_step(function(state) -(state$b - state$a)^2)),
    list(a = 0, b = 0), draws = 1500, burnin = 100, thin = 8, scan = "random"
  )
  expect_true(identical_fit(resumed(file_in(child, "run")), whole))
})

test_that("an interrupt inside a conditional leaves a fit that goes on", {
  skip_long()
  withr::local_options(
    gibbsite.on_interrupt = "return", gibbsite.segment_seconds = 0.002
  )
  count <- new.env()
  conditionals <- list(
    a = function(state) {
      count$calls <- count$calls + 1
      if (count$calls == count$at) rlang::interrupt()
      rnorm(1, state$b)
    },
    b = mh_step(function(state) -(state$b - state$a)^2 - state$b^2)
  )
  run <- function(stop_at) {
    count$calls <- 0
    count$at <- stop_at
    sampled(conditionals, list(a = 0, b = 0), draws = 1500, burnin = 10)
  }
  whole <- run(Inf)
  expect_warning(part <- run(1200), class = "gibbsite_warning_interrupted")
  count$at <- Inf
  shown <- attr(part, "running")$draws
  expect_lt(shown, 1500)
  expect_true(identical_fit(longer(part, 1500 - shown), whole))
})

test_that("globals and attached packages reach other sessions", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  old <- future::plan(future::multisession, workers = 2)
  withr::defer(future::plan(old))
  withr::defer(rm("shift_of_test", "draw_of_test", envir = globalenv()))
  assign("shift_of_test", 3, globalenv())
  draw_of_test <- function(mean) rnorm(1, mean + shift_of_test)
  environment(draw_of_test) <- globalenv()
  assign("draw_of_test", draw_of_test, globalenv())
  conditional <- function(state) draw_of_test(state$a / 2)
  environment(conditional) <- globalenv()
  fit <- sampled(list(a = conditional), list(a = 0))
  future::plan(future::sequential)
  expect_true(identical_fit(sampled(list(a = conditional), list(a = 0)), fit))
})

test_that("what functions need is found, and nothing else", {
  withr::defer(rm("one_of_test", "two_of_test", envir = globalenv()))
  assign("two_of_test", 1:3, globalenv())
  one <- function(x) x + two_of_test
  environment(one) <- globalenv()
  assign("one_of_test", one, globalenv())
  f <- function(state) one_of_test(state$a) + local_value
  environment(f) <- list2env(list(local_value = 1), parent = globalenv())
  needs <- needs_of(list(f, list(sum)))
  expect_identical(sort(names(needs$globals)), c("one_of_test", "two_of_test"))
  expect_identical(needs$packages, character())
  g <- function(state) expect_true(TRUE)
  environment(g) <- globalenv()
  expect_identical(needs_of(list(g))$packages, "testthat")
  # taken from outside, then a variable of its own
  h <- function(state) {
    two_of_test <- two_of_test[state$a]
    two_of_test
  }
  environment(h) <- globalenv()
  expect_identical(needs_of(list(h))$globals, list(two_of_test = 1:3))
})

# ---- functions of the user ---------------------------------------------------

test_that("a state that a function keeps or changes is its own", {
  skip_long()
  kept <- list()
  conditionals <- list(
    a = function(state) {
      kept[[length(kept) + 1]] <<- state
      state$b[1] <- 1000
      rnorm(2, state$a)
    },
    b = function(state) {
      kept[[length(kept) + 1]] <<- state
      state$a + 1
    }
  )
  fit <- sampled(
    conditionals, list(a = c(0, 0), b = c(0, 0)), draws = 20, burnin = 0,
    chains = 1
  )
  draws <- unname(matrices(fit)[[1]])
  expect_identical(draws[, 3:4], draws[, 1:2] + 1)
  for (sweep in 2:20) {
    expect_identical(kept[[2 * sweep - 1]]$a, draws[sweep - 1, 1:2])
    expect_identical(kept[[2 * sweep]]$a, draws[sweep, 1:2])
    expect_identical(kept[[2 * sweep]]$b, draws[sweep - 1, 3:4])
  }
})

test_that("a conditional may run another chain", {
  skip_long()
  inner <- function(state) {
    fit <- sampled(plane, plane_start, draws = 2, burnin = 0, chains = 1,
                   seed = NULL)
    unclass(fit[[1]])[2, "z1"] + rnorm(1)
  }
  fit <- sampled(list(a = inner), list(a = 0), draws = 4, burnin = 0,
                 chains = 1)
  alone <- withr::with_preserve_seed({
    set_generator_seed(chain_streams(1, 1)[[1]])
    vapply(1:4, function(i) unname(inner(list(a = 0))), 0)
  })
  expect_identical(unname(matrices(fit)[[1]]), alone)
})

test_that("another kind of generator is an error, put back it is none", {
  skip_long()
  before <- RNGkind()
  changed <- list(
    a = function(state) rnorm(1),
    b = function(state) {
      if (state$a > 1) RNGkind("Wichmann-Hill")
      1
    }
  )
  expect_gibbsite_error(
    sampled(changed, list(a = 0, b = 0), chains = 1),
    transform = without_segments
  )
  expect_identical(RNGkind(), before)
  there_and_back <- list(a = function(state) {
    seed <- .Random.seed
    RNGkind("Wichmann-Hill")
    runif(1)
    assign(".Random.seed", seed, globalenv())
    rnorm(1)
  })
  plain <- list(a = function(state) rnorm(1))
  expect_identical(
    matrices(sampled(there_and_back, list(a = 0))),
    matrices(sampled(plain, list(a = 0)))
  )
})

test_that("chains whose functions set a seed are warned of", {
  skip_long()
  seeded <- list(a = function(state) {
    set.seed(1)
    rnorm(1)
  })
  withr::local_preserve_seed()
  expect_warning(
    sampled(seeded, list(a = 0)), class = "gibbsite_warning_streams"
  )
  expect_gibbsite_condition(
    fit <- sampled(seeded, list(a = 0), draws = 10), "gibbsite_warning_streams"
  )
  expect_no_warning(sampled(seeded, list(a = 0), chains = 1, draws = 10))
  expect_no_warning(sampled(plane, plane_start, draws = 10))
})

test_that("a failing function ends the chain with its block and sweep", {
  skip_long()
  failing <- function(what) {
    list(
      a = function(state) rnorm(1),
      mu = function(state) if (state$a > 2) what() else c(1, 2)
    )
  }
  start <- list(a = 0, mu = c(0, 0))
  sampled <- function(...) {
    quietly(gibbs_sample(..., chains = 1, seed = 1, progress = FALSE))
  }
  expect_gibbsite_error({
    sampled(failing(function() stop("no luck")), start)
    sampled(failing(function() c(1, NaN)), start)
    sampled(failing(function() c(1L, NA)), start)
    sampled(failing(function() 1), start)
    sampled(failing(function() matrix(1, 2, 2)), start)
    sampled(failing(function() "a"), start)
    sampled(failing(function() factor(1:2)), start)
    sampled(failing(function() NULL), start)
    sampled(list(x = function(state) numeric(4)), list(x = matrix(0, 2, 2)))
    sampled(list(x = function(state) c(1, 2)), list(x = 1))
  }, transform = without_segments)
  failure <- rlang::catch_cnd(
    sampled(failing(function() stop("no luck")), start), "gibbsite_error_chain"
  )
  cause <- failure$failures[[1]]$condition
  expect_s3_class(cause, "gibbsite_error_block")
  expect_identical(cause$block, "mu")
  a <- twin(list(a = function(state) rnorm(1)), list(a = 0), 200)
  expect_identical(cause$sweep, which(a > 2)[1] + 0)
})

test_that("a failing step says at which point", {
  skip_long()
  moved <- function(f, ...) list(s = mh_step(f, random_walk(1), ...))
  start <- list(s = c(0.5, 1))
  custom <- function(draw, log_density) {
    list(s = mh_step(
      function(state) -sum(state$s^2), custom_proposal(draw, log_density)
    ))
  }
  expect_gibbsite_error({
    sampled(moved(function(state) if (state$s[1] > 2) NaN else 0), start,
            chains = 1)
    sampled(moved(function(state) if (state$s[1] > 2) Inf else 0), start,
            chains = 1)
    sampled(moved(function(state) if (state$s[1] > 2) stop("far") else 0),
            start, chains = 1)
    sampled(moved(function(state) if (state$s[1] > 2) c(1, 2) else 0), start,
            chains = 1)
    sampled(moved(function(state) -Inf), start, chains = 1)
    sampled(list(s = mh_step(
      function(state) 0, langevin(1, gradient = function(state) 1)
    )), start, chains = 1)
    mh_step(function(state) 0, langevin(1))
    sampled(custom(function(x) x + NA, NULL), start, chains = 1)
    sampled(custom(function(x) 1, NULL), start, chains = 1)
    sampled(custom(function(x) x + 1, function(y, x) NaN), start, chains = 1)
    sampled(custom(function(x) x + 1, function(y, x) "a"), start, chains = 1)
  }, transform = without_segments)
})

# ---- arguments ---------------------------------------------------------------

test_that("arguments are checked before any chain runs", {
  skip_long()
  f <- function(state) 1
  expect_gibbsite_error({
    gibbs_sample(f, list(a = 1))
    gibbs_sample(list(), list())
    gibbs_sample(list(f), list(a = 1))
    gibbs_sample(list(a = f, a = f), list(a = 1))
    gibbs_sample(list(`a b` = f), list(`a b` = 1))
    gibbs_sample(list(.chain = f), list(.chain = 1))
    gibbs_sample(list(a = 1), list(a = 1))
    gibbs_sample(list(a = exp), list(a = 1))
    gibbs_sample(list(a = function() 1), list(a = 1))
    gibbs_sample(list(a = f), 1)
    gibbs_sample(list(a = f), list(b = 1))
    gibbs_sample(list(a = f), list(a = "1"))
    gibbs_sample(list(a = f), list(a = c(1, NA)))
    gibbs_sample(list(a = f), list(a = numeric()))
    gibbs_sample(list(a = f), list(a = 1), 2)
    gibbs_sample(list(a = f), list(a = 1), drows = 2)
    gibbs_sample(list(a = f), list(a = 1), scan = "odd")
    gibbs_sample(list(a = f), list(a = 1), keep = "b")
    gibbs_sample(list(a = f), list(a = 1), log_joint = f)
    gibbs_sample(list(a = f), list(a = 1), inits = rep(list(list(b = 1)), 4))
    gibbs_sample(list(a = f), list(a = 1), inits = rep(list(list(a = 1:2)), 4))
    mh_step(1)
    mh_step(f, 1)
    mh_step(f, random_walk(cov = "laplace"))
    mh_step(f, steps = 0)
    sampled(list(a = mh_step(f, random_walk(c(1, 2)))), list(a = 1))
    gibbs_sample()
    gibbs_sample(list(a = f))
    gibbs_sample(list(a = function(state, y) y), list(a = 1), state = 1)
    mh_step()
  })
})

test_that("a density that is none at the start is told before the chain", {
  skip_long()
  at_start <- function(value) {
    sampled(list(a = mh_step(function(state) value)), list(a = 1))
  }
  expect_gibbsite_error({
    at_start(NULL)
    at_start("1")
    at_start(c(1, 2))
    at_start(1i)
    at_start(NaN)
    at_start(Inf)
    at_start(-Inf)
    sampled(
      list(a = mh_step(function(state) stop("out of {bounds}"))), list(a = 1)
    )
  })
  # attributes are no matter, as in mh_sample()
  plain <- function(state) -state$a^2
  odd <- function(state) structure(-state$a^2, class = "odd")
  expect_identical(
    lapply(sampled(list(a = mh_step(odd)), list(a = 1)), c),
    lapply(sampled(list(a = mh_step(plain)), list(a = 1)), c)
  )
})

test_that("shapes, columns and blocks kept", {
  skip_long()
  fit <- sampled()
  expect_identical(colnames(fit[[1]]), c(
    "n", "flag[1]", "flag[2]",
    "x[1,1]", "x[2,1]", "x[1,2]", "x[2,2]", "x[1,3]", "x[2,3]",
    "a[1,1,1]", "a[1,2,1]", "a[1,1,2]", "a[1,2,2]", "s[1]", "s[2]"
  ))
  state <- attr(fit, "chains")[[1]]$state$values
  expect_type(state$n, "integer")
  expect_type(state$flag, "logical")
  expect_type(state$s, "double")
  expect_identical(dim(state$x), c(2L, 3L))
  expect_identical(dim(state$a), c(1L, 2L, 2L))
  expect_identical(dim(draws_of(fit, "x")), c(60L, 2L, 2L, 3L))
  some <- sampled(keep = c("a", "n"))
  expect_identical(
    matrices(some), lapply(matrices(fit), function(m) {
      m[, c("n", "a[1,1,1]", "a[1,2,1]", "a[1,1,2]", "a[1,2,2]")]
    })
  )
  one <- sampled(list(m = function(state) matrix(rnorm(1))),
                 list(m = matrix(0)))
  expect_identical(colnames(one[[1]]), "m[1,1]")
})

test_that("chains start where they are told", {
  skip_long()
  stay <- list(a = function(state) state$a, b = function(state) state$b)
  init <- list(b = 2, a = c(1L, 1L))
  first <- function(...) {
    fit <- sampled(stay, init, draws = 1, burnin = 0, ...)
    unname(t(vapply(fit, function(m) m[1, ], numeric(3))))
  }
  expect_identical(first(), rbind(c(1, 1, 2), c(1, 1, 2)))
  expect_identical(
    first(inits = list(list(b = 7), list(a = c(3, 4)))),
    rbind(c(1, 1, 7), c(3, 4, 2))
  )
  expect_identical(
    first(inits = function(k) list(b = k)), rbind(c(1, 1, 1), c(1, 1, 2))
  )
  earlier <- sampled()
  fit <- sampled(inits = earlier, draws = 1, burnin = 0)
  expect_identical(
    attr(fit, "running")$inits[[2]], attr(earlier, "chains")[[2]]$state$values
  )
})

# ---- the fit -----------------------------------------------------------------

test_that("a fit prints, and answers what every fit answers", {
  skip_long()
  fit <- sampled(plane, plane_start, draws = 100)
  out <- paste(capture.output(print(fit)), collapse = "\n")
  expect_match(out, "systematic scan: z1, then z2")
  random <- sampled(scan = "random")
  expect_match(capture.output(print(random))[1], "one of n, flag, x, a, s (MH)",
               fixed = TRUE)
  expect_snapshot(prior_summary(fit))
  expect_identical(nobs(fit), NA_integer_)
  expect_identical(summary(fit)$variable, c("z1", "z2"))
  expect_s3_class(tidy(fit), "data.frame")
  expect_s3_class(glance(fit), "data.frame")
  expect_s3_class(as_draws_rvars(random), "draws_rvars")
  pdf(NULL)
  withr::defer(dev.off())
  expect_invisible(plot(fit))
  again <- sampled(plane, plane_start, draws = 100, seed = 2)
  both <- combine_fits(fit, again)
  expect_identical(posterior::nchains(both), 4L)
  other <- plane
  other$z1 <- function(state) rnorm(1)
  expect_error(
    combine_fits(fit, sampled(other, plane_start, draws = 100, seed = 2)),
    class = "gibbsite_error_argument"
  )
  # draws from conditionals are accepted
  own <- acceptance(fit)
  expect_identical(unique(own$block), names(plane_start))
  expect_true(all(own$rate == 1))
  table <- acceptance(random)
  expect_identical(table$block, c("s", "s"))
  expect_true(all(table$rate > 0.1 & table$rate < 0.9))
})

test_that("adaptation is frozen after burn-in", {
  skip_long()
  tuning <- function(draws) {
    fit <- sampled(draws = draws, burnin = 200)
    lapply(attr(fit, "chains"), function(chain) {
      chain$state$steps[[5]]$proposal[c("factor", "mean", "tuning")]
    })
  }
  expect_identical(tuning(1), tuning(30))
  earlier <- sampled(draws = 1, burnin = 100)
  expect_false(identical(
    attr(earlier, "chains")[[1]]$state$steps[[5]]$proposal$tuning,
    tuning(1)[[1]]$tuning
  ))
})

# ---- search for a mode -------------------------------------------------------

plane_modes <- list(
  z1 = function(state) 4 + 0.8 * (state$z2 - 4),
  z2 = function(state) 4 + 0.8 * (state$z1 - 4)
)
plane_density <- function(state) {
  away <- c(state$z1, state$z2) - 4
  -sum(away * solve(matrix(c(1, 0.8, 0.8, 1), 2), away)) / 2
}

test_that("conditional modes lead to the mode", {
  skip_long()
  with_density <- gibbs_sample(
    plane_modes, plane_start, method = "icm", seed = 1,
    log_joint = plane_density
  )
  expect_s3_class(with_density, c("gibbs_sample_map", "gibbsite_map"))
  expect_true(with_density$converged)
  expect_equal(with_density$log_joint, 0, tolerance = 1e-7)
  expect_true(all(diff(with_density$trace) >= 0))
  without <- gibbs_sample(plane_modes, plane_start, method = "icm", seed = 1)
  expect_true(without$converged)
  expect_equal(without$estimate, list(z1 = 4, z2 = 4), tolerance = 1e-7)
  expect_identical(without$log_joint, NA_real_)
  expect_snapshot({
    with_density
    without
    summary(without)
  })
})

test_that("of several starts the best one counts", {
  # a ridge with two ends: each start stays where it is
  top <- gibbs_sample(
    list(a = function(state) state$a), list(a = 0), method = "icm", seed = 1,
    chains = 3, inits = list(list(a = 1), list(a = 5), list(a = 3)),
    log_joint = function(state, centre) -abs(state$a - centre), centre = 4
  )
  expect_identical(top$estimate, list(a = 5))
  expect_identical(top$starts, c(-3, -1, -1))
})

test_that("a search says what it cannot do", {
  skip_long()
  expect_gibbsite_error({
    gibbs_sample(list(a = mh_step(function(state) 0)), list(a = 0),
                 method = "icm")
    gibbs_sample(list(a = function(state) NaN), list(a = 0), method = "icm",
                 seed = 1)
    gibbs_sample(list(a = function(state) 1), list(a = 0), method = "icm",
                 seed = 1, log_joint = function(state) "a")
    gibbs_sample(list(a = function(state) 1), list(a = 0), method = "icm",
                 log_joint = 3)
  })
})

test_that("a step learns from the curvature on", {
  # no burn-in: what learning begins with is all that there is
  precision <- solve(matrix(c(1, 0.999, 0.999, 1), 2))
  f <- function(state) -0.5 * sum(state$x * (precision %*% state$x))
  fit <- quietly(gibbs_sample(
    list(x = mh_step(f, adaptive())), list(x = c(0, 0)), draws = 2000,
    burnin = 0, chains = 1, seed = 1, progress = FALSE
  ))
  sum <- rowSums(as.matrix(fit)[, 1:2])
  expect_equal(stats::sd(sum), sqrt(2 * 1.999), tolerance = 0.2)
})

test_that("a fit goes on when its conditionals are given again", {
  scale <- 2
  conditionals <- list(
    a = function(state, shift) stats::rnorm(1, shift),
    b = function(state) stats::rnorm(2, state$a, scale)
  )
  run <- short_fit(gibbs_sample)
  fit <- run(conditionals, list(a = 0, b = c(0, 0)), shift = 3, draws = 20)
  whole <- drop_data(quietly(extend(fit, 5, progress = FALSE)))
  more <- function(...) {
    quietly(extend(drop_data(fit), 5, ..., progress = FALSE))
  }
  expect_true(identical_fit(more(data = conditionals), whole))
  conditionals$a <- function(state, shift) stats::rnorm(1, shift + 1)
  expect_error(
    more(data = conditionals), "started with",
    class = "gibbsite_error_argument"
  )
})

test_that("names of a step's proposal are those of the block", {
  names <- c("a", "b", "c")
  cov <- matrix(c(2, 0.5, 0.2, 0.5, 1, -0.3, 0.2, -0.3, 3), 3,
    dimnames = list(names, names)
  )
  start <- list(w = c(a = 0.1, b = 0.2, c = 0.3))
  run <- short_fit(gibbs_sample)
  moved <- function(cov) {
    step <- mh_step(function(state) -sum(state$w^2) / 2, random_walk(cov = cov))
    as.matrix(run(list(w = step), start, draws = 20))
  }
  expect_identical(moved(cov[3:1, 3:1]), moved(unname(cov)))
  dimnames(cov) <- list(toupper(names), NULL)
  expect_error(moved(cov), "Names of", class = "gibbsite_error_argument")
})

test_that("a row or a column of numbers is the value of a plain block", {
  skip_long()
  run <- function(shape) {
    gibbs_sample(
      list(
        m = function(state) shape(rnorm(2, c(0, state$s))),
        s = function(state) shape(rnorm(1, state$m[2] / 2))
      ),
      list(m = c(0, 0), s = 0), draws = 20, burnin = 0, chains = 1, seed = 1,
      progress = FALSE
    ) |> suppressWarnings()
  }
  plain <- as.matrix(run(identity))
  for (shape in list(
    t, as.matrix, function(x) matrix(x, 1, dimnames = list("a", seq_along(x)))
  )) {
    expect_identical(as.matrix(run(shape)), plain)
  }
  # the state has plain vectors
  seen <- NULL
  suppressWarnings(gibbs_sample(
    list(m = function(state) {
      seen <<- attributes(state$m)
      sample_mvnorm(1, c(0, 0), diag(2))
    }), list(m = c(0, 0)), draws = 3, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  ))
  expect_null(seen)
})

test_that("labels of numbers in a block are their names in `init`", {
  fit <- brief(
    gibbs_sample, list(
      b = function(state) stats::rnorm(2),
      m = function(state) matrix(stats::rnorm(4), 2),
      s = function(state) stats::rnorm(1), v = function(state) stats::rnorm(2)
    ), list(
      b = c(x = 0, y = 0),
      m = matrix(0, 2, 2, dimnames = list(1:2, c("u", "w"))),
      s = 0, v = c(0, 0)
    )
  )
  table <- tidy(fit)
  expect_identical(
    table$label, c("b[x]", "b[y]", "m[1,u]", "m[2,u]", "m[1,w]", "m[2,w]", "s",
                   "v[1]", "v[2]")
  )
})

test_that("elements of a block are in the order of their names in `init`", {
  run <- function(b, init = c(u = 0, v = 0)) {
    quietly(gibbs_sample(
      list(b = b), list(b = init), draws = 5, burnin = 0, chains = 1, seed = 1,
      progress = FALSE
    ))
  }
  expect_error(
    run(function(state) c(v = stats::rnorm(1, 5), u = 0)),
    "the order of `init`, u, v, not v, u",
    class = "gibbsite_error_chain"
  )
  same <- run(function(state) c(u = 1, v = 2) + stats::rnorm(2))
  for (names in list(NULL, c("a", "b"), c("u", "w"))) {
    other <- run(function(state) {
      stats::setNames(c(1, 2) + stats::rnorm(2), names)
    })
    expect_identical(as.matrix(other), as.matrix(same))
  }
})

test_that("a whole number has no evidence by bridge sampling", {
  fit <- brief(gibbs_sample, list(
    k = function(state) sample(1:3, 1), mu = function(state) rnorm(1)
  ), list(k = 1L, mu = 0))
  expect_error(
    log_evidence(fit, log_density = function(state) 0),
    "every draw of \"k\" is a whole number"
  )
})

test_that("a step that stays at a whole number is told", {
  poisson <- function(state) {
    if (state$n %% 1 != 0) -Inf else stats::dpois(state$n, 3, log = TRUE)
  }
  run <- function(...) {
    rlang::catch_cnd(gibbs_sample(
      list(n = mh_step(...), x = function(state) stats::rnorm(1)),
      list(n = 3, x = 0), draws = 300, burnin = 100, chains = 2, seed = 1,
      progress = FALSE
    ), "gibbsite_warning_region")
  }
  expect_match(
    gsub("\\s+", " ", conditionMessage(run(poisson))),
    "-Inf between whole numbers of n,"
  )
  step <- custom_proposal(
    function(x) x + sample(c(-1, 1), 1), function(to, from) 0
  )
  expect_null(suppressWarnings(
    run(poisson, step), "gibbsite_warning_convergence"
  ))
})
