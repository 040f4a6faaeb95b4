# markov_chain(), its properties, and the chains of finite samplers.

lecture <- function(...) {
  markov_chain(
    rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0)), c("a", "b", "c"), ...
  )
}

# A random chain; `edges`: the share of possible steps.
random_chain <- function(n, edges) {
  p <- matrix(stats::rexp(n^2) * stats::rbinom(n^2, 1, edges), n)
  p <- p + diag(0.01, n)
  markov_chain(p / rowSums(p))
}

gambler <- function(n, up) {
  p <- matrix(0, n + 1, n + 1)
  p[1, 1] <- p[n + 1, n + 1] <- 1
  inside <- cbind(2:n, 2:n)
  p[inside + rep(c(0, 1), each = n - 1)] <- up
  p[inside - rep(c(0, 1), each = n - 1)] <- 1 - up
  markov_chain(p, paste("euro", 0:n))
}

# The closure of "reaches in one step", by products.
reachable <- function(p) {
  out <- diag(nrow(p)) + (p > 0) > 0
  for (step in seq_len(nrow(p))) out <- out %*% out > 0
  out
}

# ---- The lecture's chain -----------------------------------------------------

test_that("the lecture's example has the lecture's numbers", {
  # Rai, CS772A, "MCMC: Some Basic Theory": rounded to one digit
  chain <- lecture(initial = c(0.5, 0.2, 0.3))
  expect_equal(round(state_after(chain, 1), 1), c(a = 0.2, b = 0.6, c = 0.2))
  expect_equal(round(state_after(chain, 50), 1), c(a = 0.2, b = 0.4, c = 0.4))
  # by hand: pi_a = .6 pi_c, .9 pi_b = pi_c
  by_hand <- c(a = 0.6, b = 1 / 0.9, c = 1)
  expect_equal(stationary(chain), by_hand / sum(by_hand), tolerance = 1e-15)
  expect_true(is_irreducible(chain))
  expect_true(is_aperiodic(chain))
  expect_false(is_reversible(chain))
  first <- detailed_balance(chain)[1, ]
  expect_equal(first$forward, by_hand[["a"]] / sum(by_hand))
  expect_equal(first$backward, 0)
})

test_that("the distribution in time is the product of matrices", {
  chain <- withr::with_seed(1, random_chain(6, 0.5))
  p <- as.matrix(chain)
  start <- c(0.5, 0, 0, 0.25, 0.25, 0)
  expect_equal(state_after(chain, 0, start), stats::setNames(start, 1:6))
  step <- start
  for (n in 1:40) step <- drop(step %*% p)
  # by products, and by squarings
  expect_equal(state_after(chain, 40, start), step, tolerance = 1e-12)
  eight <- p %*% p %*% p %*% p %*% p %*% p %*% p %*% p
  expect_equal(state_after(chain, 8), eight, tolerance = 1e-12)
  expect_equal(state_after(chain, 8, "3"), eight[3, ], tolerance = 1e-12)
  late <- state_after(chain, 1e9, start)
  expect_equal(sum(late), 1, tolerance = 1e-12)
})

test_that("paths have the chain's frequencies", {
  chain <- lecture()
  path <- simulate(chain, n = 20000, seed = 3, initial = "b")
  expect_identical(path, simulate(chain, n = 20000, seed = 3, initial = "b"))
  expect_identical(as.character(path$sim_1[[1]]), "b")
  steps <- table(path$sim_1[-20001], path$sim_1[-1])
  p <- as.matrix(chain)
  expect_true(all(steps[p == 0] == 0))
  some <- p > 0 & p < 1
  error <- (steps - rowSums(steps) * p) / sqrt(rowSums(steps) * p * (1 - p))
  expect_lt(max(abs(error[some])), 4.5)

  # many short paths: the distribution after two steps
  last <- unlist(simulate(chain, 4000, n = 2, seed = 4, initial = "a")[3, ])
  seen <- table(last) / 4000
  wanted <- state_after(chain, 2, "a")
  spread <- sqrt(wanted * (1 - wanted) / 4000)
  expect_true(all(abs(seen - wanted) <= 4.5 * spread))
})

test_that("simulate() leaves the generator as set.seed() found it", {
  set.seed(5)
  before <- .Random.seed
  simulate(lecture(), n = 5, seed = 9)
  expect_identical(.Random.seed, before)
})

# ---- Stationary distributions ------------------------------------------------

test_that("stationary distributions are stationary, in blocks of any size", {
  withr::local_seed(6)
  for (n in c(1, 2, 3, 31, 32, 33, 34, 64, 65, 97)) {
    chain <- random_chain(n, 0.6)
    p <- as.matrix(chain)
    rows <- gibbsite:::stationary_rows(p)
    expect_lt(max(abs(rows %*% p - rows)), 1e-14)
    expect_equal(rowSums(rows), rep(1, nrow(rows)))
    if (is_irreducible(chain)) {
      vector <- Re(eigen(t(p))$vectors[, 1])
      expect_equal(
        unname(stationary(chain)), vector / sum(vector), tolerance = 1e-9
      )
    }
  }
})

test_that("parts that are hardly connected do not cost digits", {
  # two pairs, each visited half the time; the links have probability 1e-17,
  # below the rounding error of the rest
  weak <- 1e-17
  p <- rbind(
    c(0.5, 0.5 - weak, weak, 0), c(0.5, 0.5, 0, 0), c(weak, 0, 0.25, 0.75),
    c(0, 0, 0.75, 0.25)
  )
  expect_equal(
    unname(stationary(markov_chain(p))), rep(0.25, 4), tolerance = 1e-13
  )
  # a birth and death chain with probabilities from 1 to 1e-60
  n <- 61
  up <- 1 / 11
  line <- matrix(0, n, n)
  line[cbind(1:(n - 1), 2:n)] <- up
  line[cbind(2:n, 1:(n - 1))] <- 1 - up
  line[1, 1] <- 1 - up
  line[n, n] <- up
  exact <- 0.1^(0:(n - 1))
  relative <- unname(stationary(markov_chain(line))) * sum(exact) / exact
  expect_equal(relative, rep(1, n), tolerance = 1e-12)
})

test_that("each closed class has a stationary distribution of its own", {
  chain <- gambler(3, 0.5)
  rows <- stationary(chain)
  expect_equal(unname(rows), rbind(c(1, 0, 0, 0), c(0, 0, 0, 1)))
  classes <- communicating_classes(chain)
  expect_identical(classes$closed, c(TRUE, FALSE, TRUE))
  expect_identical(classes$period, c(1L, 2L, 1L))
  expect_identical(classes$states[[2]], c("euro 1", "euro 2"))
  expect_false(is_irreducible(chain))
})

# ---- Classes and periods -----------------------------------------------------

test_that("classes are those of the closure of the steps", {
  withr::local_seed(7)
  for (n in c(1, 2, 5, 12, 30)) {
    for (edges in c(0, 1 / n, 2 / n)) {
      chain <- random_chain(n, min(edges, 1))
      p <- as.matrix(chain)
      both <- reachable(p) & t(reachable(p))
      class <- gibbsite:::strong_components(p > 0)
      expect_identical(unname(outer(class, class, "==")), unname(both))
      closed <- communicating_classes(chain)$closed
      leaves <- vapply(split(seq_len(n), class), function(own) {
        any(p[own, -own] > 0)
      }, NA)
      expect_identical(closed, unname(!leaves))
    }
  }
})

test_that("periods are those of the cycles", {
  wheel <- function(n) markov_chain(diag(n)[c(2:n, 1), ])
  for (n in 2:7) expect_identical(communicating_classes(wheel(n))$period, n)
  expect_false(is_aperiodic(wheel(4)))
  # cycles of 4 and 6 states that share one: period 2
  p <- matrix(0, 9, 9)
  p[cbind(c(1, 2, 3), c(2, 3, 4))] <- 1
  p[cbind(c(5, 6, 7, 8, 9), c(6, 7, 8, 9, 1))] <- 1
  p[4, 1] <- 1
  p[1, c(2, 5)] <- 0.5
  expect_identical(communicating_classes(markov_chain(p))$period, 2L)
  # a state that cannot return has none
  gone <- communicating_classes(markov_chain(rbind(c(0, 1), c(0, 1))))
  expect_identical(gone$period, c(NA, 1L))
  expect_true(is_aperiodic(markov_chain(rbind(c(0, 1), c(0, 1)))))
})

# ---- Times -------------------------------------------------------------------

test_that("the mixing time is the first near power", {
  withr::local_seed(8)
  for (epsilon in c(0.25, 0.05, 1e-4)) {
    chain <- random_chain(7, 0.3)
    while (!is_irreducible(chain)) chain <- random_chain(7, 0.3)
    p <- as.matrix(chain)
    limit <- rep(stationary(chain), each = 7)
    power <- diag(7)
    steps <- 0
    while (max(rowSums(abs(power - limit))) / 2 > epsilon) {
      power <- power %*% p
      steps <- steps + 1
    }
    expect_identical(mixing_time(chain, epsilon), steps)
  }
  expect_identical(mixing_time(markov_chain(matrix(1))), 0)
  expect_identical(mixing_time(gambler(3, 0.5)), Inf)
  expect_identical(mixing_time(markov_chain(rbind(0:1, 1:0))), Inf)
})

test_that("the gambler's ruin has its known chances and times", {
  n <- 10
  i <- 0:n
  fair <- gambler(n, 0.5)
  expect_equal(unname(hitting_probabilities(fair, n + 1)), i / n)
  ends <- c("euro 0", "euro 10")
  expect_equal(unname(hitting_times(fair, ends)), i * (n - i))
  odds <- 0.6 / 0.4
  expect_equal(
    unname(hitting_probabilities(gambler(n, 0.4), "euro 10")),
    (odds^i - 1) / (odds^n - 1)
  )
  # ruin is not certain, so that its time has no mean
  expect_identical(
    unname(hitting_times(fair, "euro 0")), c(0, rep(Inf, n))
  )
  # unless the other end sends the gambler back
  p <- as.matrix(fair)
  p[n + 1, ] <- p[n, ]
  expect_true(all(is.finite(hitting_times(markov_chain(p), 1))))
})

# ---- Samplers ----------------------------------------------------------------

test_that("samplers' chains leave their targets invariant", {
  withr::local_seed(9)
  target <- stats::setNames(stats::rexp(8), letters[1:8])
  proposal <- as.matrix(random_chain(8, 1))
  metropolis <- metropolis_matrix(target, proposal)
  expect_equal(stationary(metropolis), target / sum(target), tolerance = 1e-12)
  expect_true(is_reversible(metropolis))
  # the lecture's transition function, entry by entry
  ratio <- target[[5]] * proposal[5, 2] / (target[[2]] * proposal[2, 5])
  expect_equal(
    as.matrix(metropolis)["b", "e"], proposal[2, 5] * min(1, ratio)
  )

  joint <- array(stats::rexp(24), 2:4)
  joint[2, 1, 3] <- 0
  for (scan in c("systematic", "random")) {
    gibbs <- gibbs_matrix(joint, scan)
    expect_equal(
      unname(stationary(gibbs)), joint[joint > 0] / sum(joint),
      tolerance = 1e-12
    )
    expect_identical(is_reversible(gibbs), scan == "random")
  }
  # two variables: the sweep draws the first from its conditional, then the
  # second
  two <- matrix(c(0.4, 0.1, 0.2, 0.3), 2)
  p <- as.matrix(gibbs_matrix(two))
  first <- two[, 1] / sum(two[, 1])
  second <- two / rowSums(two)
  expect_equal(p["1,1", "2,2"], first[[2]] * second[2, 2])
})

test_that("weights may be tiny or huge", {
  steps <- matrix(1, 3, 3) / 3
  small <- metropolis_matrix(c(1e-300, 2e-300, 3e-300), steps)
  expect_equal(unname(stationary(small)), 1:3 / 6)
  large <- metropolis_matrix(c(1e300, 2e300, 3e300), steps)
  expect_equal(as.matrix(large), as.matrix(small))
})

test_that("the gap of two states is known", {
  two <- markov_chain(rbind(c(0.7, 0.3), c(0.2, 0.8)))
  expect_equal(spectral_gap(two), 1 - 0.5)
  expect_equal(spectral_gap(markov_chain(diag(3)[c(2, 3, 1), ])), 0)
  expect_identical(spectral_gap(markov_chain(matrix(1))), 1)
})

# ---- Print, plot and errors --------------------------------------------------

test_that("a chain prints its matrix and what it does in the long run", {
  expect_output(print(lecture()), "converges to its stationary distribution")
  expect_output(print(markov_chain(rbind(0:1, 1:0))), "period 2")
  expect_output(print(gambler(3, 0.5)), "2 closed classes")
  big <- withr::with_seed(1, random_chain(30, 1))
  expect_length(capture.output(print(big)), 2L)
})

test_that("plots draw every kind of chain and return it", {
  withr::local_pdf(NULL)
  for (chain in list(
    lecture(), markov_chain(matrix(1)), gambler(5, 0.3), gambler(40, 0.3)
  )) {
    expect_identical(plot(chain), chain)
  }
  expect_identical(plot(lecture(), type = "matrix", main = "m"), lecture())
  expect_error(plot(lecture(), type = "x"), class = "gibbsite_error_argument")
})

test_that("hostile matrices are named", {
  refused <- function(code, message) {
    expect_error(code, message, class = "gibbsite_error_argument")
  }
  refused(markov_chain(), "`transition` is needed")
  refused(markov_chain(1:3), "must be a square matrix of probabilities")
  refused(markov_chain(matrix(1, 2, 3)), "must be square, not 2 x 3")
  refused(
    markov_chain(rbind(c(0.5, 0.5), c(-0.1, 1.1))), "row 2, column 1 is -0.1"
  )
  refused(markov_chain(rbind(c(0.5, NA), 0:1)), "row 1, column 2 is NA")
  refused(
    markov_chain(matrix(0.4, 2, 2)), "must sum to 1: row 1 sums to 0.8"
  )
  refused(markov_chain(diag(2), c("a", "a")), "must be different")
  refused(markov_chain(diag(2), "a"), "must have length 2")
  refused(lecture(initial = c(1, 1, 1)), "must sum to 1, not 3")
  refused(lecture(initial = "d"), "must be among")
  refused(state_after(lecture(), -1), "`n` must be a whole number")
  refused(hitting_times(lecture(), "z"), "`target` must be among")
  refused(stationary(diag(2)), "must be made by `markov_chain\\(\\)`")
  refused(metropolis_matrix(c(0, 1), diag(2)), "`target` must")
  refused(metropolis_matrix(1:3, diag(2)), "must have length 2")
  refused(gibbs_matrix(1:4), "must be an array")
  refused(gibbs_matrix(matrix(0, 2, 2)), "probability 0")
  refused(gibbs_matrix(matrix(c(1, -1), 1)), "element 2 is -1")
  forged <- lecture()
  forged$transition[1, 1] <- 5
  refused(is_irreducible(forged), "is not what `markov_chain\\(\\)` makes")
})

test_that("sparse matrices, dimension names and factors are taken", {
  sparse <- Matrix::Matrix(as.matrix(lecture()), sparse = TRUE)
  expect_equal(as.matrix(markov_chain(sparse)), as.matrix(lecture()))
  path <- simulate(lecture(), n = 3, seed = 1)
  expect_equal(
    state_after(lecture(), 2, path$sim_1[[4]]),
    state_after(lecture(), 2, as.character(path$sim_1[[4]]))
  )
  swapped <- state_after(lecture(), 1, c(c = 0.3, b = 0.2, a = 0.5))
  expect_equal(swapped, state_after(lecture(), 1, c(0.5, 0.2, 0.3)))
})
