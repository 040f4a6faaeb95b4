# Sparse chains, chains whose matrices change with time, distributions over
# time, first passages and autocorrelation times.

ring <- function(n) {
  to <- c(seq_len(n) %% n + 1, (seq_len(n) - 2) %% n + 1, seq_len(n))
  p <- Matrix::sparseMatrix(
    rep(seq_len(n), 3), to, x = rep(c(0.5, 0.3, 0.2), each = n)
  )
  # one state is left seldom, so that not all are alike
  p[1, ] <- 0
  p[1, c(1, 2)] <- c(0.75, 0.25)
  p
}

gambler_chain <- function(up) {
  markov_chain(rbind(
    c(1, 0, 0, 0), c(1 - up, 0, up, 0), c(0, 1 - up, 0, up), c(0, 0, 0, 1)
  ), as.character(0:3))
}

test_that("a sparse chain has the answers of the dense one", {
  for (n in fast_or(12, c(5, 40))) {
    p <- ring(n)
    sparse <- markov_chain(p)
    dense <- markov_chain(as.matrix(p))
    expect_s4_class(sparse$transition, "dgCMatrix")
    expect_identical(as.matrix(sparse), as.matrix(dense))
    expect_identical(
      simulate(sparse, 2, n = 50, seed = 1),
      simulate(dense, 2, n = 50, seed = 1)
    )
    for (f in list(
      stationary, communicating_classes, is_aperiodic, is_irreducible,
      mixing_time, spectral_gap, detailed_balance, is_reversible,
      fundamental_matrix, mean_first_passage, absorption_probabilities,
      autocorrelation_time, function(x) hitting_times(x, 2),
      function(x) hitting_probabilities(x, 2),
      function(x) first_passage(x, 2, 6), function(x) state_after(x, 7)
    )) {
      expect_equal(f(sparse), f(dense), tolerance = 1e-13)
    }
    expect_equal(
      state_after(sparse, 9, 1), state_after(dense, 9, 1), tolerance = 1e-14
    )
  }
  expect_output(print(markov_chain(ring(50))), "149 possible steps")
  bad <- ring(6)
  bad[3, 4] <- 0.9
  expect_error(markov_chain(bad), "row 3", class = "gibbsite_error_argument")
  bad[2, 5] <- -1
  expect_error(markov_chain(bad), "column 5", class = "gibbsite_error_argument")
  # logical and symmetric kinds of sparse matrices
  swap <- Matrix::sparseMatrix(1:2, 2:1)
  expect_identical(as.vector(as.matrix(markov_chain(swap))), c(0, 1, 1, 0))
  expect_equal(
    unname(stationary(markov_chain(Matrix::Diagonal(2)))), diag(2)
  )
})

test_that("large sparse equations are solved by both ways", {
  skip_unless_extended()
  # a ring of this length has slow iterations: it is decomposed
  slow <- markov_chain(ring(2000))
  p <- slow$transition
  limit <- stationary(slow)
  expect_lt(max(abs(as.vector(limit %*% p) - limit)) / max(limit), 1e-11)
  times <- hitting_times(slow, 7)
  first <- 1 + as.vector(p %*% times)
  expect_equal(first[-7], unname(times)[-7], tolerance = 1e-11)
  expect_equal(times[[7]], 0)
  # a chain that mixes fast
  withr::local_seed(1)
  n <- 2000
  fast <- Matrix::sparseMatrix(
    rep(seq_len(n), 3), c(sample(n), sample(n), sample(n)), x = 1,
    dims = c(n, n)
  )
  fast <- markov_chain(fast / Matrix::rowSums(fast))
  if (is_irreducible(fast)) {
    limit <- stationary(fast)
    expect_lt(
      max(abs(as.vector(limit %*% fast$transition) - limit)) * n, 1e-11
    )
  }
  direct <- solve(as.matrix(diag(n - 1) - as.matrix(p)[-7, -7]), rep(1, n - 1))
  expect_equal(unname(times)[-7], unname(direct), tolerance = 1e-9)
})

test_that("a possible step is found in spite of rounding", {
  # probabilities whose sum is rounded below 1, and a last state that no step
  # from the first leads to
  n <- Find(function(n) max(cumsum(rep(1 / n, n))) < 1, 2:500)
  p <- rbind(c(rep(1 / n, n), 0), cbind(1, matrix(0, n, n)))
  path <- simulate(markov_chain(p), n = 500, seed = 1, initial = 1)$sim_1
  expect_false(as.character(n + 1) %in% path)
})

test_that("state_after() of several times has a row for each, and a picture", {
  chain <- markov_chain(
    rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0)), c("a", "b", "c"),
    initial = c(0.5, 0.2, 0.3)
  )
  times <- c(3, 0, 20, 3)
  rows <- state_after(chain, times)
  expect_identical(rownames(rows), c("3", "0", "20", "3"))
  for (k in seq_along(times)) {
    expect_equal(rows[k, ], state_after(chain, times[[k]]), tolerance = 1e-14)
  }
  free <- markov_chain(as.matrix(chain))
  cube <- state_after(free, 1:3)
  expect_equal(cube["2", , ], as.matrix(free) %*% as.matrix(free))
  expect_equal(cube[1, , ], as.matrix(free))
  expect_output(print(rows), "0.346")
  withr::local_pdf(NULL)
  expect_identical(plot(rows), rows)
  expect_identical(plot(cube), cube)
  skip_if_not_installed("ggplot2")
  picture <- ggplot2::autoplot(rows)
  expect_s3_class(picture, "ggplot")
  expect_identical(sort(unique(picture$data$x)), c(0, 3, 20))
  expect_s3_class(ggplot2::autoplot(state_after(chain, 0:40, "b")), "ggplot")
})

test_that("a chain in time is the product of its matrices", {
  withr::local_seed(3)
  matrices <- lapply(1:4, function(t) {
    p <- matrix(stats::rexp(9), 3, dimnames = list(letters[1:3], letters[1:3]))
    p / rowSums(p)
  })
  by_list <- markov_chain(matrices, initial = "b")
  by_time <- markov_chain(function(t) matrices[[t]], initial = "b")
  wanted <- c(a = 0, b = 1, c = 0)
  for (t in 1:4) {
    wanted <- drop(wanted %*% matrices[[t]])
    expect_equal(state_after(by_list, t), wanted)
    expect_equal(state_after(by_time, 0:4)[t + 1, ], wanted)
  }
  expect_equal(
    state_after(markov_chain(matrices), 2), matrices[[1]] %*% matrices[[2]]
  )
  expect_identical(
    simulate(by_list, 3, n = 4, seed = 1), simulate(by_time, 3, n = 4, seed = 1)
  )
  sets <- fast_or(1000, 4000)
  paths <- simulate(by_list, sets, n = 3, seed = 2)
  seen <- table(unlist(paths[4, ])) / sets
  p <- state_after(by_list, 3)
  expect_true(all(abs(seen - p) <= 4.5 * sqrt(p * (1 - p) / sets)))
  # first passages: the complement of never being there
  avoided <- matrices
  for (t in 1:4) avoided[[t]][, "c"] <- 0
  never <- avoided[[1]] %*% avoided[[2]] %*% avoided[[3]] %*% avoided[[4]]
  expect_equal(sum(first_passage(by_list, "c", 4)), 1 - sum(never["b", ]))
  expect_output(print(by_list), "each of 4 steps")
  expect_output(print(by_time), "function of time")
  withr::local_pdf(NULL)
  plot(state_after(by_list, 0:4))
})

test_that("what a chain in time cannot do is said", {
  skip_long()
  half <- matrix(0.5, 2, 2)
  two <- markov_chain(list(half, half))
  for (f in list(stationary, plot, as.matrix, mixing_time, is_irreducible)) {
    expect_error(
      f(two), "one transition matrix", class = "gibbsite_error_argument"
    )
  }
  expect_error(state_after(two, 0:3), "at most 2")
  expect_error(simulate(two, n = 3), "at most 2")
  expect_error(markov_chain(list()), "has none")
  expect_error(markov_chain(list(half, 1)), "transition\\[\\[2\\]\\]")
  expect_error(markov_chain(list(half, diag(3))), "same states")
  expect_error(
    state_after(markov_chain(function(t) if (t < 3) half else stop("no")), 4),
    "time 3", class = "gibbsite_error_numeric"
  )
  named <- function(names) matrix(0.5, 2, 2, dimnames = list(names, names))
  expect_error(
    markov_chain(list(named(c("a", "b")), named(c("b", "a")))), "same order"
  )
})

test_that("a table is a chain", {
  from <- c("a", "b", "a", "a", "b")
  to <- c("b", "a", "a", "b", "a")
  counts <- table(from, to)
  wanted <- unclass(counts) / rowSums(counts)
  for (one in list(counts, prop.table(counts, 1), prop.table(counts))) {
    expect_equal(as.matrix(markov_chain(one)), wanted, ignore_attr = TRUE)
  }
  expect_identical(rownames(as.matrix(markov_chain(counts))), c("a", "b"))
  expect_error(markov_chain(table(c("a", "b"), c("b", "b"))), "same states")
  levels <- c("a", "b")
  expect_error(
    markov_chain(table(factor("a", levels), factor("b", levels))),
    "no transition from \"b\""
  )
})

test_that("fundamental matrices and first passages are known for a gambler", {
  chain <- gambler_chain(0.4)
  # visits by hand for the states 1, 2: (I - Q)^-1
  expect_equal(
    unname(fundamental_matrix(chain)),
    solve(diag(2) - rbind(c(0, 0.4), c(0.6, 0))), tolerance = 1e-14
  )
  end <- absorption_probabilities(chain)
  expect_equal(end[, "3"], hitting_probabilities(chain, "3"))
  expect_equal(rowSums(end), rep(1, 4), ignore_attr = TRUE)
  expect_equal(
    rowSums(fundamental_matrix(chain)),
    hitting_times(chain, c("0", "3"))[2:3], tolerance = 1e-14
  )
  expect_equal(
    first_passage(chain, "3", 3, "1"), c(`1` = 0, `2` = 0.16, `3` = 0)
  )
})

test_that("mean first passages agree with the distribution and with Z", {
  withr::local_seed(4)
  p <- matrix(stats::rexp(25), 5)
  chain <- markov_chain(p / rowSums(p))
  mean <- mean_first_passage(chain)
  expect_equal(diag(mean), 1 / stationary(chain), tolerance = 1e-13)
  z <- fundamental_matrix(chain)
  by_z <- (rep(diag(z), each = 5) - z + diag(5)) /
    rep(stationary(chain), each = 5)
  expect_equal(mean, by_z, tolerance = 1e-12)
  times <- first_passage(chain, 3, 400)
  expect_equal(colSums(times), rep(1, 5), ignore_attr = TRUE)
  expect_equal(colSums(seq_len(400) * times), mean[, 3], tolerance = 1e-10)
  expect_equal(
    first_passage(chain, 3, 8, initial = 2), times[1:8, 2], tolerance = 1e-13
  )
  two <- markov_chain(diag(2))
  expect_error(fundamental_matrix(two), "2 closed classes")
  expect_identical(unname(mean_first_passage(two)), rbind(c(1, Inf), c(Inf, 1)))
})

test_that("autocorrelation times are sums of autocorrelations", {
  withr::local_seed(5)
  p <- matrix(stats::rexp(16), 4) + diag(3, 4)
  chain <- markov_chain(p / rowSums(p), letters[1:4])
  p <- as.matrix(chain)
  f <- c(1, 5, 2, -3)
  weight <- stationary(chain)
  centred <- later <- f - sum(weight * f)
  total <- 1
  for (k in 1:400) {
    later <- drop(p %*% later)
    total <- total + 2 * sum(weight * centred * later) /
      sum(weight * centred^2)
  }
  expect_equal(autocorrelation_time(chain, f), total, tolerance = 1e-12)
  named <- stats::setNames(f, letters[1:4])[c(3, 1, 4, 2)]
  expect_equal(autocorrelation_time(chain, named), total, tolerance = 1e-12)
  expect_identical(autocorrelation_time(chain, rep(2, 4)), NA_real_)
  expect_named(autocorrelation_time(chain), letters[1:4])
  # of draws: the number over the effective size
  path <- f[simulate(chain, n = 2000, seed = 1)$sim_1]
  expect_equal(autocorrelation_time(path), 2001 / posterior::ess_mean(path))
  expect_error(autocorrelation_time(path, 1:4), "NULL")
  expect_error(autocorrelation_time(markov_chain(diag(2))), "one closed class")
  expect_error(autocorrelation_time(c(1, 3)), "at least 4 draws")
  expect_length(autocorrelation_time(cbind(a = path, b = rev(path))), 2)
})
