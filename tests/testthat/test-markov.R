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
  skip_long()
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
  skip_long()
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
  sets <- fast_or(1000, 4000)
  last <- unlist(simulate(chain, sets, n = 2, seed = 4, initial = "a")[3, ])
  seen <- table(last) / sets
  wanted <- state_after(chain, 2, "a")
  spread <- sqrt(wanted * (1 - wanted) / sets)
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
  skip_long()
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
  skip_long()
  withr::local_seed(7)
  for (n in c(1, 2, 5, 12, 30)) {
    for (edges in c(0, 1 / n, 2 / n)) {
      chain <- random_chain(n, min(edges, 1))
      p <- as.matrix(chain)
      both <- reachable(p) & t(reachable(p))
      class <- gibbsite:::chain_classes(p)$class
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
  skip_long()
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

# ---- Rare steps ------------------------------------------------------------

# A chain of n states whose steps have probabilities from 1 down to 1e-17; the
# diagonal is what double precision holds of 1 less these. The last state is
# absorbing, and the one before it too if `two`.
rare_chain <- function(n, two = FALSE) {
  p <- matrix(10^-stats::runif(n^2, 0, 17), n)
  p[stats::runif(n^2) < 0.3] <- 0
  p[cbind(1:(n - 1), 2:n)] <- 10^-stats::runif(n - 1, 0, 17)
  diag(p) <- 0
  p <- p / pmax(1, 1.1 * rowSums(p))
  ends <- if (two) n - 0:1 else n
  p[ends, ] <- 0
  diag(p) <- 1 - rowSums(p)
  p
}

# Every way in which the states that are not roots choose a successor, without
# cycles: list(weight, root), the product of the probabilities, and the root to
# which each state leads. By the matrix tree theorem the answers below are
# ratios of sums of these weights (Freidlin & Wentzell 2012, chapter 6): sums
# of products of steps, without subtraction and without elimination.
forests <- function(p, roots) {
  n <- nrow(p)
  free <- setdiff(seq_len(n), roots)
  choices <- as.matrix(expand.grid(rep(list(seq_len(n)), length(free))))
  to <- matrix(seq_len(n), nrow(choices), n, byrow = TRUE)
  to[, free] <- choices
  weight <- rep(1, nrow(to))
  for (i in free) weight <- weight * p[i, to[, i]]
  for (doubling in 1:3) {
    to[] <- to[cbind(c(row(to)), c(to))]
  }
  ends <- matrix(to %in% roots, nrow(to))
  good <- rowSums(ends) == n & weight > 0
  list(weight = weight[good], root = to[good, , drop = FALSE])
}

exact_probabilities <- function(p, target, lost) {
  all <- forests(p, c(target, lost))
  colSums(all$weight * (all$root == target)) / sum(all$weight)
}

exact_times <- function(p, target) {
  all <- sum(forests(p, target)$weight)
  others <- setdiff(seq_len(nrow(p)), target)
  rowSums(vapply(others, function(j) {
    visits <- forests(p, c(target, j))
    colSums(visits$weight * (visits$root == j)) / all
  }, numeric(nrow(p))))
}

test_that("chains with rare steps keep their digits", {
  skip_long()
  withr::local_seed(10)
  away <- function(value, exact) max(abs(unname(value) / exact - 1), 0)
  wrong <- c(times = 0, probabilities = 0, stationary = 0)
  for (run in seq_len(fast_or(20, 100))) {
    n <- sample(3:5, 1)
    p <- rare_chain(n)
    exact <- exact_times(p, n)
    found <- hitting_times(markov_chain(p), n)
    wrong[["times"]] <- max(
      wrong[["times"]], away(found[-n], exact[-n])
    )
    p <- rare_chain(n, two = TRUE)
    exact <- exact_probabilities(p, n, n - 1)
    found <- hitting_probabilities(markov_chain(p), n)
    some <- exact > 0
    expect_true(all(found[!some] == 0) && all(found >= 0 & found <= 1))
    wrong[["probabilities"]] <- max(
      wrong[["probabilities"]], away(found[some], exact[some])
    )
    p <- rare_chain(n)
    p[n, 1] <- 10^-stats::runif(1, 0, 17)
    p[n, n] <- 1 - p[n, 1]
    trees <- vapply(seq_len(n), function(j) sum(forests(p, j)$weight), 0)
    wrong[["stationary"]] <- max(
      wrong[["stationary"]],
      away(stationary(markov_chain(p)), trees / sum(trees))
    )
  }
  # some 10 n rounding errors
  expect_lt(max(wrong), 1e-14)
  # a target that is reached for certain has probability 1, not nearly
  expect_identical(
    unname(hitting_probabilities(markov_chain(rare_chain(5)), 5)), rep(1, 5)
  )
})

test_that("elimination in blocks solves what equations solve", {
  withr::local_seed(11)
  for (n in c(2, 3, 32, 33, 34, 35, 66, 97)) {
    p <- as.matrix(random_chain(n, 1))
    left <- diag(n - 1) - p[-n, -n]
    expect_equal(
      unname(hitting_times(markov_chain(p), n))[-n],
      unname(solve(left, rep(1, n - 1))), tolerance = 1e-11
    )
    p[1, ] <- c(1, numeric(n - 1))
    if (n > 2) {
      left <- diag(n - 2) - p[2:(n - 1), 2:(n - 1)]
      expect_equal(
        unname(hitting_probabilities(markov_chain(p), n))[2:(n - 1)],
        unname(solve(left, p[2:(n - 1), n])), tolerance = 1e-11
      )
    }
  }
})

test_that("numbers that double precision does not hold are refused", {
  p <- rbind(c(1, 1e-200, 0), c(1, 0, 1e-200), c(0, 0, 1))
  expect_gibbsite_error(class = "gibbsite_error_numeric", {
    hitting_times(markov_chain(p), 3)
    stationary(markov_chain(p[c(3, 1, 2), c(3, 1, 2)] + diag(c(-1, 0, 0)) +
                              rbind(c(0, 1, 0), 0, 0)))
    hitting_times(markov_chain(rbind(c(1, 1e-310), 0:1)), 2)
  })
  expect_equal(hitting_times(markov_chain(p), 2)[[1]], 1e200)
})

test_that("gaps of slow chains keep their digits", {
  skip_long()
  withr::local_seed(12)
  for (run in seq_len(fast_or(10, 50))) {
    # 1 - lambda solves x^2 - s x + t = 0, s the sum of all steps, t of all
    # trees
    steps <- rare_chain(3)
    steps[3, ] <- c(1e-9, 1e-3, 1 - 1e-3 - 1e-9)
    steps <- pmin(steps, t(steps)) + 1e-12 * (1 - diag(3))
    diag(steps) <- 0
    diag(steps) <- 1 - rowSums(steps)
    p <- as.matrix(metropolis_matrix(10^-stats::runif(3, 0, 8), steps))
    s <- sum(p[row(p) != col(p)])
    t <- sum(vapply(1:3, function(j) sum(forests(p, j)$weight), 0))
    gap <- 2 * t / (s + sqrt(s^2 - 4 * t))
    other <- 2 - (s + sqrt(s^2 - 4 * t)) / 2
    expect_equal(
      spectral_gap(markov_chain(p)) / min(gap, other), 1, tolerance = 1e-11
    )
  }
  for (rare in c(1e-5, 1e-17, 1e-300)) {
    two <- markov_chain(rbind(c(1 - rare, rare), c(2 * rare, 1 - 2 * rare)))
    expect_equal(spectral_gap(two) / (3 * rare), 1, tolerance = 1e-12)
    # the first t with (2 / 3) (1 - 3 rare)^t <= 1 / 4
    expect_equal(
      mixing_time(two), ceiling(log(3 / 8) / log1p(-3 * rare)),
      tolerance = 1e-12
    )
  }
})

test_that("a chain that nearly turns in a circle has a gap, a wheel has none", {
  for (n in 2:5) {
    wheel <- diag(n)[c(2:n, 1), ]
    expect_identical(spectral_gap(markov_chain(wheel)), 0)
    # lambda^n - e lambda^(n - 1) = 1 - e, to the first order in e
    wheel[1, 1] <- 1e-12
    turn <- 2 * pi * seq_len(n - 1) / n
    expect_equal(
      spectral_gap(markov_chain(wheel)) / 1e-12, min(1 - cos(turn)) / n,
      tolerance = 1e-10
    )
  }
  expect_identical(spectral_gap(gambler(3, 0.5)), 0)
  # a target of equal weights accepts every step of a symmetric proposal
  ring <- matrix(0, 6, 6)
  ring[cbind(1:6, c(2:6, 1))] <- 0.1
  ring[cbind(c(2:6, 1), 1:6)] <- 0.9
  walk <- metropolis_matrix(rep(0.1, 6), (ring + t(ring)) / 2)
  expect_identical(diag(as.matrix(walk)), stats::setNames(numeric(6), 1:6))
  expect_identical(spectral_gap(walk), 0)
})

test_that("the mixing time is right for distances below rounding", {
  half <- markov_chain(rbind(c(0.7, 0.3), c(0.2, 0.8)))
  for (epsilon in 10^-c(3, 10, 17, 30, 200)) {
    expect_identical(
      mixing_time(half, epsilon), ceiling(log2(0.6 / epsilon))
    )
  }
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

test_that("colours reach to the largest probability, and loops have room", {
  expect_equal(scale_top(matrix(1 / 25, 25, 25)), 0.04)
  expect_identical(scale_top(diag(2)), 1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  top <- function(p) {
    plot(markov_chain(p))
    graphics::par("usr")[[4L]]
  }
  expect_gt(top(diag(3)), top(diag(3)[c(2, 3, 1), ]))
})

test_that("plots draw every kind of chain and return it", {
  skip_long()
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
  skip_long()
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

test_that("summary() has the class and the stationary probability of states", {
  gambler <- rbind(c(1, 0, 0, 0), c(.5, 0, .5, 0), c(0, .5, 0, .5),
                   c(0, 0, 0, 1))
  chain <- markov_chain(gambler, paste("euro", 0:3))
  found <- summary(chain)
  expect_identical(found$state, paste("euro", 0:3))
  expect_identical(found$closed, c(TRUE, FALSE, FALSE, TRUE))
  expect_equal(found$period, c(1, 2, 2, 1))
  expect_identical(found$stationary, c(1, 0, 0, 1))
  expect_length(unique(found$class), 3)
  two <- markov_chain(rbind(c(0.9, 0.1), c(0.4, 0.6)))
  expect_equal(summary(two)$stationary, c(0.8, 0.2))
  expect_equal(
    summary(markov_chain(Matrix::Matrix(gambler, sparse = TRUE)))[-1],
    found[-1]
  )
  expect_error(summary(two, 1), class = "gibbsite_error")
  expect_error(
    summary(markov_chain(list(gambler, gambler))), class = "gibbsite_error"
  )
})
