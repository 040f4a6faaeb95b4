# gibbs_lda() draws from the posterior it names, by each of its methods: a twin
# on the same random numbers, posteriors by summation over all assignments of
# topics, agreement of the methods, Geweke's joint test, calibration by
# simulation, wrong samplers that these reject, and identities bit for bit.
#
# A z-score is compared with max_z = 4.5, as in test-gmm-exact.R.  Weights are
# formed in single precision, so that the twin's numbers agree to about 1e-6,
# and its topics but for a uniform within as much of a boundary.

max_z <- 4.5
single <- 2e-5

control_of_test <- function(burnin = 0, thin = 1, threads = 1) {
  list(burnin = burnin, thin = thin, threads = threads)
}

# ---- a twin on the same random numbers ---------------------------------------

# The second term of the first topic and the third one of the second topic are
# seeds.
seeded_eta <- function(k, terms) {
  eta <- matrix(rep(c(0.1, 0.3), length.out = terms), k, terms, byrow = TRUE)
  eta[1, 2] <- 4
  eta[2, 3] <- 2.5
  eta
}

# Rows and lists, one topic and many, empty documents, fixed concentrations that
# differ, sampled ones, and one so small that only logarithms hold it.
twin_cases <- list(
  lists = list(c(5, 0, 9, 3), 6, 33, uniform_prior(0, 10), gamma_prior(2, 5)),
  rows = list(c(60, 40, 90), 4, 3, gamma_prior(1, 1), 0.3),
  both = list(c(80, 50, 70, 0, 31), 10, 34, c(1:34) / 10, 0.05),
  many = list(c(90, 120, 60), 12, 40, 0.1, (1:12) / 30),
  small = list(c(8, 1, 20), 7, 3, 1e-3, 1e-3),
  one = list(c(8, 5), 4, 1, 0.7, uniform_prior(0.1, 3)),
  # concentrations of each topic and term: short rows, and rows beside lists
  seeded = list(c(60, 0, 40), 5, 4, gamma_prior(1, 1), seeded_eta(4, 5)),
  wide = list(c(90, 31, 60), 12, 40, 0.1, seeded_eta(40, 12))
)

twin_model <- function(case, method, keep = c("theta", "phi", "z")) {
  arguments <- twin_cases[[case]]
  withr::with_seed(71, {
    probability <- stats::rgamma(arguments[[2]], 0.4)
    do.call(tiny_lda, c(
      arguments, list(method, keep, probability = probability)
    ))
  })
}

test_that("a state holds the sampled concentrations alone", {
  held <- function(case) {
    state <- model_start(twin_model(case, "collapsed"), NULL)
    intersect(c("alpha", "eta"), names(state))
  }
  expect_identical(held("lists"), c("alpha", "eta"))
  expect_identical(held("rows"), "alpha")
  expect_identical(held("one"), "eta")
  expect_identical(held("both"), character())
})

# Random123's kat_vectors: philox4x32 with 10 rounds.
test_that("the twin's generator gives the known answers", {
  words <- function(counter, key) {
    sprintf("%.0f", unlist(philox_blocks(as.list(counter), key)))
  }
  decimal <- function(hex) {
    digits <- matrix(strtoi(strsplit(hex, "")[[1]], 16L), 8)
    sprintf("%.0f", colSums(digits * 16^(7:0)))
  }
  expect_identical(
    words(rep(0, 4), c(0, 0)), decimal("6627e8d5e169c58dbc57ac4c9b00dbd8")
  )
  expect_identical(
    words(rep(2^32 - 1, 4), rep(2^32 - 1, 2)),
    decimal("408f276d41c83b0ea20bc7c66d5451fd")
  )
})

for (method in lda_test_methods) {
  test_that(paste("the twin draws the same:", method), {
    for (case in names(twin_cases)) {
      model <- twin_model(case, method)
      withr::local_seed(72)
      state <- model_start(model, NULL)
      for (sweep in seq_len(fast_or(3, 12))) {
        seed <- .Random.seed
        twin <- twin_sweep(model, state)
        after <- .Random.seed
        assign(".Random.seed", seed, globalenv())
        core <- own_sweeps(model, state, 1, control_of_test())
        label <- paste(case, method, sweep)
        expect_identical(core$rng, after, label = label)
        expect_identical(
          lda_topics(core$state), lda_topics(twin$state), label = label
        )
        expect_equal(
          as.vector(core$draws), unname(twin$row), tolerance = single,
          label = label
        )
        state <- core$state
        assign(".Random.seed", after, globalenv())
      }
    }
  })
}

# Three tokens of two words in 33 topics, which are kept in lists: the
# partitions of the tokens by topic have probabilities in closed form.
test_that("lists draw from the posterior", {
  skip_long()
  k <- 33
  z <- as.matrix(expand.grid(1:k, 1:k, 1:k))
  model <- gibbsite:::lda_model(
    list(word = c(1L, 1L, 2L), start = c(0, 3), documents = "d",
         terms = c("a", "b")),
    k, list(alpha = 0.2, eta = 0.4)
  )
  expect_false(any(rows_of_counts(twin_counts(model, z[1, ])$by_term)))
  part <- function(z) {
    paste0(z[, 1] == z[, 2], z[, 1] == z[, 3], z[, 2] == z[, 3])
  }
  # all assignments with the same partition are equally probable
  which <- part(z)
  first <- match(unique(which), which)
  log_joint <- vapply(first, function(row) {
    lda_log_joint(
      model, gibbsite:::lda_state(model, z[row, ], 0.2, 0.4)
    )
  }, 0)
  p <- exp(log_joint - max(log_joint)) * c(table(which)[which[first]])
  p <- p / sum(p)
  withr::local_seed(79)
  model <- gibbsite:::lda_model(
    list(word = c(1L, 1L, 2L), start = c(0, 3), documents = "d",
         terms = c("a", "b")),
    k, list(alpha = 0.2, eta = 0.4), keep = "z"
  )
  n <- fast_or(5000, 20000)
  run <- own_sweeps(
    model, model_start(model, NULL), 5 * n, control_of_test(0, 5)
  )
  draws <- part(run$draws[, startsWith(model$columns, "z[")])
  for (at in seq_along(first)) {
    hit <- draws == which[[first[[at]]]]
    se <- stats::sd(rowsum(as.numeric(hit), rep(1:200, each = n / 200))) /
      (n / 200) / sqrt(200)
    expect_lt(abs(mean(hit) - p[[at]]) / se, max_z, label = which[[first[at]]])
  }
})

# ---- what is streamed --------------------------------------------------------

moments_by_formula <- function(count, a, total) {
  p <- t((t(count) + a)) / total
  list(first = p, second = p * t(t(count) + a + 1) / (total + 1))
}

# `a` has a row for each row of counts.
moments_by_rows <- function(count, a) {
  total <- rowSums(count) + rowSums(a)
  p <- (count + a) / total
  list(first = p, second = p * (count + a + 1) / (total + 1))
}

test_that("running means are those of the kept draws", {
  skip_long()
  for (case in c("lists", "both", "many", "seeded", "wide")) {
    model <- twin_model(case, "collapsed")
    withr::local_seed(73)
    run <- model_sweeps(
      model, model_start(model, NULL), 40, control_of_test(10, 3)
    )
    draws <- run$draws
    colnames(draws) <- model$columns
    z <- draws[, startsWith(colnames(draws), "z[")]
    streamed <- lda_streamed(model, run$state)
    expect_equal(streamed$draws, 10)
    value <- function(name) {
      if (name %in% colnames(draws)) draws[, name] else NULL
    }
    theta <- phi <- list(first = 0, second = 0)
    for (s in seq_len(nrow(z))) {
      n <- twin_counts(model, z[s, ])
      alpha <- rep_len(value("alpha")[s] %||% model$prior$alpha, model$k)
      eta <- rows_of(value("eta")[s] %||% model$prior$eta, model$k,
                     length(model$terms))
      one <- moments_by_formula(
        n$by_document, alpha, rowSums(n$by_document) + sum(alpha)
      )
      theta <- Map(`+`, theta, one)
      one <- moments_by_rows(n$by_term, eta)
      phi <- Map(`+`, phi, one)
    }
    for (block in c("theta", "phi")) {
      sums <- get(block)
      mean <- unname(sums$first / nrow(z))
      expect_equal(unname(streamed[[block]]), mean)
      expect_equal(
        unname(streamed[[paste0(block, "_var")]]),
        unname(sums$second / nrow(z)) - mean^2
      )
    }
    pivot <- z[1, ]
    now <- lapply(seq_len(nrow(z)), function(s) {
      table(factor(pivot, 1:model$k), factor(z[s, ], 1:model$k))
    })
    share <- lapply(now, function(n) diag(n) / pmax(rowSums(n), 1))
    expect_equal(
      streamed$stayed, unname(Reduce(`+`, share)) / nrow(z)
    )
    other <- lapply(now, function(n) {
      diagonal <- diag(n)
      apply(n, 1, max) > diagonal
    })
    expect_equal(streamed$switched, unname(Reduce(`+`, other)) / nrow(z))
  }
})

# ---- identities --------------------------------------------------------------

run_with <- function(model, cuts, thin = 1, threads = 1, burnin = 5) {
  withr::local_seed(74)
  state <- model_start(model, NULL)
  draws <- NULL
  for (n in cuts) {
    run <- own_sweeps(model, state, n, control_of_test(burnin, thin, threads))
    state <- run$state
    draws <- rbind(draws, run$draws)
  }
  list(state = state, draws = draws, rng = run$rng)
}

test_that("threads, segments and thinning never show", {
  skip_unless_extended()
  for (method in lda_test_methods) {
    for (case in c("lists", "both", "seeded", "wide")) {
      model <- twin_model(case, method)
      whole <- run_with(model, 20)
      if (is_extended()) {
        expect_identical(run_with(model, 20, threads = 2), whole)
      }
      expect_identical(run_with(model, c(1, 3, 4, 12), threads = 2), whole)
      thinned <- run_with(model, 20, thin = 3)
      expect_identical(thinned$draws, whole$draws[c(3, 6, 9, 12, 15), ])
      expect_identical(thinned$state$z, whole$state$z)
    }
  }
})

# Many blocks of documents and of words.
test_that("threads never show in a larger corpus", {
  skip_long()
  withr::local_seed(75)
  for (method in lda_test_methods) {
    model <- tiny_lda(
      rep(c(20, 200), fast_or(60, 200)), 500, 24, uniform_prior(0, 10),
      gamma_prior(1, 10), method, probability = 1 / seq_len(500)
    )
    whole <- run_with(model, 6, burnin = 3)
    expect_identical(run_with(model, c(2, 4), threads = 2, burnin = 3), whole)
  }
})

# ---- posteriors by summation -------------------------------------------------

# Data that say much about the topics tell more than Geweke's test, whose data
# follow the sampler.
test_that("posteriors by summation reject wrong samplers", {
  skip_unless_extended()
  methods <- c(
    never_removed = "collapsed", block_draw = "collapsed",
    stale_theta = "uncollapsed"
  )
  # counts that grow come to tell late
  sweeps <- c(never_removed = 2500, block_draw = 1000, stale_theta = 1000)
  for (wrong in names(methods)) {
    model <- withr::with_seed(77, tiny_lda(
      c(4, 4), 2, 2, gamma_prior(2, 2), 0.2, methods[[wrong]], "z"
    ))
    model$data$word <- c(1L, 1L, 1L, 2L, 1L, 2L, 2L, 2L)
    exact <- by_summation(model, 200)
    values <- lapply(1:4, function(chain) {
      withr::local_seed(76 + chain)
      state <- model_start(model, NULL)
      summation_values(model, stack_rows(sweeps[[wrong]], function() {
        swept <- twin_sweep(model, state, wrong)
        state <<- swept$state
        c(
          swept$row[seq_len(length(model$columns) - 8)],
          lda_topics(swept$state)
        )
      }))
    })
    scores <- vapply(seq_along(exact), function(q) {
      column <- vapply(values, function(chain) chain[, q], values[[1]][, 1])
      if (stats::sd(column) == 0) 0 else z_of_chains(column, exact[[q]])
    }, 0)
    expect_gt(max(abs(scores)), max_z, label = wrong)
  }
})

# A table of cells: corpora of so few tokens that each assignment is a cell,
# concentrations so small that a token's own count outweighs all else.  Chains
# that start from the posterior itself and take a few sweeps each end in draws
# of it, independent of one another; a wrong sampler has left it by then.
cells_model <- function(method, word, start, alpha, eta) {
  model <- withr::with_seed(77, tiny_lda(
    diff(start), max(word), 2, alpha, eta, method, "z"
  ))
  model$data$word <- as.integer(word)
  model
}

cells_of <- function(model) {
  all <- as.matrix(expand.grid(rep(list(1:2), model$nobs)))
  log_p <- apply(all, 1, function(z) {
    n <- twin_counts(model, z)
    log_dirichlet_counts(n$by_document, model$prior$alpha) +
      log_dirichlet_counts(n$by_term, model$prior$eta)
  })
  list(all = all, p = exp(log_p) / sum(exp(log_p)))
}

# Pearson's statistic as a z-score; `sweep` takes a matrix of topics, a start a
# row, to what they are some sweeps later.
cells_score <- function(model, starts, sweep) {
  cells <- cells_of(model)
  from <- sample.int(nrow(cells$all), starts, replace = TRUE, prob = cells$p)
  z <- sweep(model, unname(cells$all[from, ]))
  cell <- 1 + drop((z - 1) %*% 2^(seq_len(ncol(z)) - 1))
  observed <- tabulate(cell, nrow(cells$all))
  expected <- starts * cells$p
  df <- nrow(cells$all) - 1
  (sum((observed - expected)^2 / expected) - df) / sqrt(2 * df)
}

swept_by_core <- function(model, z) {
  state <- model_start(model, NULL)
  ends <- apply(z, 1, function(from) {
    state$z <- lda_pack(from)
    lda_topics(model_sweeps(model, state, 6, control_of_test(6))$state)
  })
  t(ends)
}

# Two topics, all starts at once: each group's tokens in topic 1 and in topic 2.
counts_of_two <- function(z, group) {
  first <- vapply(seq_len(max(group)), function(g) {
    rowSums(z[, group == g, drop = FALSE] == 1)
  }, numeric(nrow(z)))
  size <- matrix(tabulate(group), nrow(z), max(group), byrow = TRUE)
  list(first, size - first)
}

swept_collapsed <- function(own_counted) {
  function(model, z) {
    document <- twin_counts(model, z[1, ])$document
    word <- model$data$word
    alpha <- model$prior$alpha
    eta <- model$prior$eta
    for (i in rep(seq_along(word), 6)) {
      weight <- vapply(1:2, function(topic) {
        at <- z == topic
        if (!own_counted) at[, i] <- FALSE
        (rowSums(at[, document == document[[i]]]) + alpha) *
          (rowSums(at[, word == word[[i]], drop = FALSE]) + eta) /
          (rowSums(at) + max(word) * eta)
      }, numeric(nrow(z)))
      p <- weight[, 1] / rowSums(weight)
      z[, i] <- ifelse(stats::runif(nrow(z)) < p, 1, 2)
    }
    z
  }
}

swept_uncollapsed <- function(stale) {
  function(model, z) {
    document <- twin_counts(model, z[1, ])$document
    word <- model$data$word
    gammas <- function(count, a) {
      lapply(count, function(n) array(stats::rgamma(length(n), n + a), dim(n)))
    }
    before <- NULL
    for (sweep in 1:20) {
      theta <- gammas(counts_of_two(z, document), model$prior$alpha)
      phi <- gammas(counts_of_two(z, word), model$prior$eta)
      phi <- lapply(phi, function(x) x / rowSums(x))
      used <- if (stale && !is.null(before)) before else theta
      weight <- Map(function(theta, phi) {
        theta[, document] * phi[, word]
      }, used, phi)
      p <- weight[[1]] / (weight[[1]] + weight[[2]])
      z[] <- ifelse(stats::runif(length(z)) < p, 1, 2)
      before <- theta
    }
    z
  }
}

# words, where documents begin, alpha, eta: all words differ, or each stands in
# both documents
cells_cases <- list(
  apart = list(1:6, c(0, 3, 6), 0.3, 0.2),
  shared = list(c(1, 2, 1, 2), c(0, 2, 4), 0.3, 0.1),
  seeded = list(
    c(1, 2, 1, 2), c(0, 2, 4), 0.3, rbind(c(1.5, 0.2), c(0.1, 0.4))
  )
)

test_that("a table of all assignments is the posterior's", {
  skip_long()
  withr::local_seed(90)
  for (case in fast_or("seeded", names(cells_cases))) {
    for (method in lda_test_methods) {
      model <- do.call(cells_model, c(method, cells_cases[[case]]))
      score <- cells_score(model, fast_or(1000, 10000), swept_by_core)
      expect_lt(abs(score), max_z, label = paste(case, method))
    }
  }
})

# Each wrong sampler beside the same one without its mistake.
test_that("a table of all assignments rejects wrong samplers", {
  skip_unless_extended()
  withr::local_seed(91)
  score <- function(case, sweep) {
    model <- do.call(cells_model, c("collapsed", cells_cases[[case]]))
    cells_score(model, 10000, sweep)
  }
  expect_lt(abs(score("apart", swept_collapsed(FALSE))), max_z)
  expect_gt(score("apart", swept_collapsed(TRUE)), 10 * max_z)
  expect_lt(abs(score("shared", swept_uncollapsed(FALSE))), max_z)
  expect_gt(score("shared", swept_uncollapsed(TRUE)), 5 * max_z)
})

# ---- many topics: summation by convolution -----------------------------------

# With many topics the assignments are too many to list, but p(z, w) is a
# product over topics of a function of the topic's counts alone, so that sums
# over all assignments are convolutions.  A class is the tokens of one word in
# one document, N_j of them; a cell is what of them one topic has, n_j <= N_j.
# Of the prod_j N_j! / prod_kj n_kj! assignments with counts n each has the
# probability prod_k weight(n_k) times a constant, with
#
#   weight(n) = prod_d G(alpha + n_d) / G(alpha)
#               prod_w G(eta_w + n_w) / G(eta_w)  G(sum eta) / G(sum eta + n).
#
# list(cell: a cell a row; f: weight(n) / prod_j n_j!; power: the k-th column is
# the k-fold convolution of f, of which the last entry is for all tokens).
topics_by_convolution <- function(model) {
  document <- twin_counts(model, rep(1L, model$nobs))$document
  class <- interaction(document, model$data$word, drop = TRUE)
  size <- as.vector(table(class))
  first <- match(levels(class), class)
  cell <- as.matrix(expand.grid(lapply(size, seq, from = 0)))
  in_document <- cell %*% outer(document[first], unique(document), "==")
  word <- model$data$word[first]
  in_word <- cell %*% outer(word, seq_along(model$terms), "==")
  eta <- rep_len(model$prior$eta, length(model$terms))
  rising <- function(n, a) lgamma(a + n) - lgamma(a)
  log_weight <- rowSums(rising(in_document, model$prior$alpha)) +
    colSums(rising(t(in_word), eta)) - rising(rowSums(cell), sum(eta))
  f <- exp(log_weight - rowSums(lgamma(cell + 1)))
  step <- cumprod(c(1, size + 1))[seq_along(size)]
  # from[s, r]: the cell that is s less r
  fits <- matrix(TRUE, nrow(cell), nrow(cell))
  for (j in seq_along(size)) {
    fits <- fits & outer(cell[, j], cell[, j], ">=")
  }
  at <- drop(cell %*% step)
  difference <- outer(at, at, "-")
  times_f <- matrix(0, nrow(cell), nrow(cell))
  times_f[fits] <- f[difference[fits] + 1]
  power <- matrix(0, nrow(cell), model$k)
  power[, 1] <- f
  for (topic in seq_len(model$k)[-1]) {
    power[, topic] <- times_f %*% power[, topic - 1]
  }
  all_alpha <- model$k * model$prior$alpha
  list(
    cell = cell, step = step, class = class, f = f, power = power,
    log_weight = log_weight,
    log_constant = -sum(rising(tabulate(document), all_alpha))
  )
}

# P(n_k = cell) for the first of `topics` topics that share `left`, by cell.
cell_probabilities <- function(sums, left, topics) {
  if (topics == 1) {
    return(as.numeric(colSums(t(sums$cell) == left) == length(left)))
  }
  others <- sum(left * sums$step) - drop(sums$cell %*% sums$step) + 1
  fits <- colSums(t(sums$cell) <= left) == length(left)
  p <- numeric(length(fits))
  p[fits] <- sums$f[fits] * sums$power[others[fits], topics - 1]
  p / sum(p)
}

# An exact draw of z: cells topic by topic, then the tokens of each class in any
# order.
draw_exact_topics <- function(sums, k) {
  left <- sums$cell[nrow(sums$cell), ]
  count <- matrix(0, k, length(left))
  for (topic in seq_len(k)) {
    p <- cell_probabilities(sums, left, k - topic + 1)
    count[topic, ] <- sums$cell[sample.int(length(p), 1, prob = p), ]
    left <- left - count[topic, ]
  }
  z <- integer(length(sums$class))
  for (j in seq_along(left)) {
    own <- rep(seq_len(k), count[, j])
    z[as.integer(sums$class) == j] <- own[sample.int(length(own))]
  }
  z
}

# Functions of the topics' cells, and their expectations.  `count`: topics x
# classes x draws.
convolution_values <- function(count) {
  part <- lapply(seq_len(dim(count)[[2]]), function(j) count[, j, ])
  total <- Reduce(`+`, part)
  used <- total > 0
  products <- utils::combn(part, 2, function(two) {
    colSums(two[[1]] * two[[2]])
  })
  squares <- vapply(part, function(n) colSums(n^2), numeric(ncol(total)))
  cbind(
    colSums(used), 2^-colSums(used), colSums(total^2), colSums(total == 1),
    squares, products, t(used)
  )
}

convolution_expectations <- function(sums, k) {
  size <- sums$cell[nrow(sums$cell), ]
  p <- cell_probabilities(sums, size, k)
  total <- rowSums(sums$cell)
  expected <- function(value) sum(p * value)
  # a topic halves 2^-used unless its cell is empty, where f is 1: the k-fold
  # convolution of (f + 1 at the empty cell) / 2
  through <- sums$power[nrow(sums$cell), ]
  halved <- sum(stats::dbinom(0:k, k, 0.5) * c(0, through)) / through[[k]]
  products <- utils::combn(length(size), 2, function(two) {
    expected(sums$cell[, two[[1]]] * sums$cell[, two[[2]]])
  })
  squares <- unname(colSums(p * sums$cell^2))
  c(
    k * expected(total > 0), halved, k * expected(total^2),
    k * expected(total == 1), k * squares, k * products,
    rep(expected(total > 0), k),
    k * expected(sums$log_weight) + sums$log_constant
  )
}

# Words, as counts by document, in that many topics.
convolution_cases <- list(
  # A is a row where it has more than 8 topics, which it often has, else a list;
  # B and C are lists
  one_document = list(k = 33, counts = rbind(c(48, 3, 2)), alpha = 0.11,
                      eta = c(0.7, 0.3, 0.2)),
  two_documents = list(k = 37, counts = rbind(c(26, 2), c(24, 0)), alpha = 0.13,
                       eta = c(0.8, 0.4)),
  # rows of two strides
  short_rows = list(k = 21, counts = rbind(c(9, 3), c(8, 2)), alpha = 0.15,
                    eta = c(0.8, 0.4))
)

convolution_model <- function(case, method) {
  counts <- case$counts
  words <- apply(counts, 1, function(n) rep(seq_along(n), n), simplify = FALSE)
  gibbsite:::lda_model(
    list(
      word = as.integer(unlist(words)), start = c(0, cumsum(rowSums(counts))),
      documents = paste0("d", seq_len(nrow(counts))),
      terms = letters[seq_len(ncol(counts))]
    ),
    case$k, list(alpha = case$alpha, eta = case$eta), method, keep = "z"
  )
}

# A chain from an exact draw: its means are independent of those of other such
# chains, about the expectations.
convolution_chain <- function(model, sums, sweeps) {
  state <- model_start(model, NULL)
  state$z <- lda_pack(draw_exact_topics(sums, model$k))
  draws <- own_sweeps(model, state, sweeps, control_of_test())$draws
  colnames(draws) <- model$columns
  z <- t(draws[, startsWith(model$columns, "z[")])
  classes <- nlevels(sums$class)
  cell <- z + model$k * (as.integer(sums$class) - 1 + classes * (col(z) - 1))
  count <- array(
    tabulate(cell, model$k * classes * sweeps), c(model$k, classes, sweeps)
  )
  c(colMeans(convolution_values(count)), mean(draws[, "log_joint"]))
}

test_that("sums by convolution are those over all assignments", {
  skip_unless_extended()
  case <- list(
    k = 3, counts = rbind(c(3, 2), c(2, 0)), alpha = 0.4, eta = c(0.7, 0.3)
  )
  model <- convolution_model(case, "collapsed")
  sums <- topics_by_convolution(model)
  z <- t(expand.grid(rep(list(1:3), model$nobs)))
  log_p <- apply(z, 2, function(z) {
    lda_log_joint(model, lda_state(model, z, case$alpha, case$eta))
  })
  class <- as.integer(sums$class)
  cell <- z + 3 * (class - 1 + max(class) * (col(z) - 1))
  count <- array(
    tabulate(cell, 3 * max(class) * ncol(z)), c(3, max(class), ncol(z))
  )
  values <- cbind(convolution_values(count), log_p)
  expect_equal(
    unname(colSums(values * exp(log_p)) / sum(exp(log_p))),
    convolution_expectations(sums, 3), tolerance = 1e-13
  )
})

test_that("posteriors in many topics by convolution are recovered", {
  skip_unless_extended()
  withr::local_seed(92)
  for (case in names(convolution_cases)) {
    for (method in lda_test_methods) {
      model <- convolution_model(convolution_cases[[case]], method)
      sums <- topics_by_convolution(model)
      means <- t(replicate(
        200, convolution_chain(model, sums, 60)
      ))
      z <- z_of_means(means, convolution_expectations(sums, model$k))
      expect_lt(max(abs(z)), max_z, label = paste(case, method))
    }
  }
})

# ---- the methods agree -------------------------------------------------------

test_that("the methods agree in log joint, log-likelihood and alpha", {
  skip_unless_extended()
  model <- withr::with_seed(78, tiny_lda(
    c(12, 9, 15, 7), 8, 2, uniform_prior(0, 10), 0.5,
    probability = 1 / seq_len(8)
  ))
  names <- c("alpha", "log_joint", "log_lik")
  means <- lapply(lda_test_methods, function(method) {
    model$data$method <- lda_methods[[method]]
    chains <- lapply(1:4, function(chain) {
      withr::local_seed(79 + chain)
      run <- own_sweeps(
        model, model_start(model, NULL), 4100, control_of_test(100)
      )
      colnames(run$draws) <- model$columns
      run$draws[, names]
    })
    vapply(names, function(name) {
      x <- vapply(chains, function(chain) chain[, name], chains[[1]][, 1])
      c(mean(x), posterior::mcse_mean(x))
    }, c(0, 0))
  })
  for (pair in list(1:2, 2:3, c(1L, 3L))) {
    a <- means[[pair[[1]]]]
    b <- means[[pair[[2]]]]
    z <- (a[1, ] - b[1, ]) / sqrt(a[2, ]^2 + b[2, ]^2)
    expect_lt(max(abs(z)), 4)
  }
})

# ---- Geweke's joint test and its mutants -------------------------------------

error_rate <- 1e-3

joint_lda <- function(method) {
  withr::with_seed(80, tiny_lda(
    c(6, 4, 5), 3, 2, gamma_prior(5, 4), gamma_prior(4, 5), method
  ))
}

# theta and phi are drawn afresh given z for the log-likelihood
lda_quantities <- function(model, state) {
  z <- lda_topics(state)
  n <- twin_counts(model, z)
  theta <- t(apply(n$by_document, 1, function(count) {
    draw_dirichlet(count + state$alpha)
  }))
  phi <- t(apply(n$by_term, 1, function(count) {
    draw_dirichlet(count + state$eta)
  }))
  p <- rowSums(theta[n$document, ] * t(phi)[model$data$word, ])
  size <- sort(tabulate(z, model$k))
  # document, term and topic of each token as one number
  cell <- z + model$k *
    (model$data$word - 1 + length(model$terms) * (n$document - 1))
  c(
    log_joint = lda_log_joint(model, state), log_lik = mean(log(p)),
    alpha = log(state$alpha), eta = log(state$eta), largest = size[[2]],
    same_document = sum(n$by_document^2), same_term = sum(n$by_term^2),
    same_word = sum(tabulate(model$data$word)^2),
    repeats = sum(tabulate(cell)^2)
  )
}

reference_of_joint <- local({
  value <- NULL
  function() {
    value <<- value %||% withr::with_seed(81, {
      joint_by_simulation(joint_lda("collapsed"), lda_quantities, 3000)
    })
    value
  }
})

run_joint_test <- function(model, chains = 60, steps = 40) {
  withr::local_seed(82)
  joint_test(model, lda_quantities, reference_of_joint(), chains, steps)
}

test_that("Geweke's joint test passes", {
  skip_unless_extended()
  # test-joint.R has it in the fast suite
  for (method in lda_test_methods) {
    p <- smallest_adjusted(run_joint_test(joint_lda(method)))
    expect_gte(p, error_rate, label = method)
  }
})

# Each topic with its own concentrations: what tells the topics apart is tested.
joint_seeded <- function(method) {
  withr::with_seed(80, tiny_lda(
    c(6, 4, 5), 3, 2, gamma_prior(5, 4),
    rbind(c(2, 0.3, 0.5), c(0.4, 1.2, 0.6)), method
  ))
}

seeded_quantities <- function(model, state) {
  n <- twin_counts(model, lda_topics(state))
  c(
    log_joint = lda_log_joint(model, state), alpha = log(state$alpha),
    first = sum(n$by_term[1, ]), seed = n$by_term[1, 1],
    other = n$by_term[2, 2], same_document = sum(n$by_document^2),
    same_word = sum(tabulate(model$data$word)^2)
  )
}

test_that("Geweke's joint test passes where the topics differ", {
  skip_unless_extended()
  reference <- withr::with_seed(81, {
    joint_by_simulation(joint_seeded("collapsed"), seeded_quantities, 3000)
  })
  for (method in lda_test_methods) {
    withr::local_seed(82)
    test <- joint_test(
      joint_seeded(method), seeded_quantities, reference, 60, 40
    )
    expect_gte(smallest_adjusted(test), error_rate, label = method)
  }
  # the same rows in the other order
  wrong <- mutant_of(joint_seeded("collapsed"), function(model, state, n,
                                                         control) {
    model$prior$eta <- model$prior$eta[2:1, ]
    twin_sweeps_with("")(model, state, n, control)
  })
  withr::local_seed(82)
  test <- joint_test(wrong, seeded_quantities, reference, 60, 40)
  expect_lt(smallest_adjusted(test), error_rate)
})

expect_rejected <- function(method, wrong, ...) {
  mutant <- mutant_of(joint_lda(method), twin_sweeps_with(wrong))
  test <- run_joint_test(mutant, ...)
  expect_lt(smallest_adjusted(test), error_rate, label = wrong)
}

test_that("Geweke's joint test rejects wrong samplers", {
  skip_unless_extended()
  expect_rejected("collapsed", "prior_dropped", 20, 20)
  expect_rejected("collapsed", "eta_once", 30, 20)
  expect_rejected("collapsed", "block_draw", 60, 30)
})

# Of a theta drawn before alpha the topics know nothing: what is wrong is the
# pair (alpha, theta).  Exactly, E(theta_d1^2 alpha) tells.
test_that("a theta drawn before alpha is rejected", {
  skip_unless_extended()
  model <- withr::with_seed(83, tiny_lda(
    c(1, 2, 1), 2, 2, gamma_prior(1, 0.5), 0.4, "uncollapsed",
    keep = c("theta", "z")
  ))
  pair <- function(draws, model) {
    colnames(draws) <- model$columns
    theta <- draws[, "theta[1,1]"]
    log(draws[, "alpha"]) * theta * (1 - theta)
  }
  chains <- function(run) {
    vapply(1:4, function(chain) {
      withr::local_seed(84 + chain)
      pair(run(model_start(model, NULL)), model)
    }, numeric(1500))
  }
  core <- chains(function(state) {
    own_sweeps(model, state, 1600, control_of_test(100))$draws
  })
  # log(alpha) times E(theta (1 - theta) | z, alpha), z and alpha of the core
  expected <- vapply(1:4, function(chain) {
    withr::local_seed(184 + chain)
    run <- own_sweeps(
      model, model_start(model, NULL), 20100, control_of_test(100)
    )
    colnames(run$draws) <- model$columns
    a <- run$draws[, "alpha"]
    n <- as.numeric(run$draws[, "z[1]"] == 1)
    total <- 2 * a + 1
    log(a) * (a + n) * (a + 1 - n) / (total * (total + 1))
  }, numeric(20000))
  score <- function(draws) {
    (mean(draws) - mean(expected)) /
      sqrt(posterior::mcse_mean(draws)^2 + posterior::mcse_mean(expected)^2)
  }
  expect_lt(abs(score(core)), max_z)
  wrong <- chains(function(state) {
    t(vapply(1:1500, function(sweep) {
      swept <- twin_sweep(model, state, "theta_first")
      state <<- swept$state
      swept$row[seq_along(model$columns)]
    }, numeric(length(model$columns))))
  })
  expect_gt(abs(score(wrong)), max_z)
})

# ---- simulation-based calibration --------------------------------------------

# Many short documents: in counts this small a token that counts itself tells,
# and eight documents say it eight times.
short_documents <- function(method) {
  withr::with_seed(80, tiny_lda(
    rep(3, 8), 5, 2, gamma_prior(5, 4), gamma_prior(4, 5), method
  ))
}

sbc_draws <- 15

run_sbc <- function(model, simulations, thin, burnin) {
  ranks <- sbc_ranks(
    model, lda_quantities, simulations, sbc_draws, thin, burnin
  )
  names(which(!sbc_inside(ranks, sbc_draws, error_rate)))
}

test_that("the posterior is calibrated over the prior", {
  skip_unless_extended()
  for (method in lda_test_methods) {
    withr::local_seed(85)
    outside <- run_sbc(short_documents(method), 300, thin = 8, burnin = 40)
    expect_identical(outside, character(), label = method)
  }
})

test_that("the posterior is calibrated over the prior, longer", {
  skip_unless_extended()
  for (method in lda_test_methods) {
    withr::local_seed(86)
    outside <- run_sbc(short_documents(method), 2000, thin = 20, burnin = 100)
    expect_identical(outside, character(), label = method)
  }
})

test_that("wrong samplers are not calibrated", {
  skip_unless_extended()
  for (wrong in c("never_removed", "block_draw", "prior_dropped")) {
    withr::local_seed(87)
    mutant <- mutant_of(short_documents("collapsed"), twin_sweeps_with(wrong))
    outside <- run_sbc(mutant, 300, thin = 8, burnin = 40)
    expect_gt(length(outside), 0, label = wrong)
  }
})

# ---- documents that the fit has not seen -------------------------------------

# p(w | phi, alpha) by summation over the topics of the tokens, theta integrated
# out.
document_by_summation <- function(word, phi, alpha) {
  all <- as.matrix(expand.grid(rep(list(seq_len(nrow(phi))), length(word))))
  p <- apply(all, 1, function(z) {
    count <- matrix(tabulate(z, nrow(phi)), 1)
    exp(log_dirichlet_counts(count, alpha) +
          sum(log(phi[cbind(z, word)])))
  })
  list(
    evidence = sum(p), probability = p / sum(p),
    counts = t(apply(all, 1, tabulate, nrow(phi)))
  )
}

test_that("new documents: fold-in and left to right against summation", {
  skip_long()
  withr::local_seed(88)
  phi <- t(replicate(3, draw_dirichlet(rep(0.5, 4))))
  alpha <- c(0.3, 0.9, 0.5)
  words <- list(c(1L, 1L, 3L, 4L), c(2L, 3L, 3L, 4L, 4L), 2L)
  times <- 400
  word <- unlist(rep(words, times))
  start <- c(0, cumsum(rep(lengths(words), times)))
  folded <- lda_fold_in(word, start, phi, alpha, sweeps = 5, burnin = 30)
  estimate <- lda_left_to_right(word, start, phi, alpha, particles = 3)
  for (d in seq_along(words)) {
    exact <- document_by_summation(words[[d]], phi, alpha)
    own <- seq(d, by = length(words), length.out = times)
    total <- sum(alpha) + length(words[[d]])
    a <- t(exact$counts) + alpha
    first <- drop(a %*% exact$probability) / total
    second <- drop((a * (a + 1)) %*% exact$probability) / total / (total + 1)
    expect_lt(max(abs(z_of_means(t(folded$theta[, own]), first))), max_z)
    expect_lt(max(abs(z_of_means(t(folded$theta[, own]^2), second))), max_z)
    expect_lt(max(abs(z_of_means(t(folded$mean[, own]), first))), max_z)
    expect_lt(max(abs(z_of_means(t(folded$square[, own]), second))), max_z)
    p <- exp(estimate[own])
    if (d == 3) { # one token: nothing is estimated
      expect_equal(p, rep(exact$evidence, times), tolerance = single)
    } else {
      expect_lt(abs(z_of_means(p, exact$evidence)), max_z)
    }
  }
  p <- lda_token_probabilities(word, start, phi, folded$theta)
  document <- rep(seq_len(length(start) - 1), diff(start))
  expect_equal(
    p, rowSums(t(folded$theta)[document, ] * t(phi)[word, ])
  )
  again <- function(threads) {
    withr::with_seed(89, list(
      lda_fold_in(word, start, phi, alpha, threads = threads),
      lda_left_to_right(word, start, phi, alpha, threads = threads)
    ))
  }
  expect_identical(again(1), again(2))
})
