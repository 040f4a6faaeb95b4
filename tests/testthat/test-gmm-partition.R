# point_clustering(): the expected loss against its definition by information
# theory and by pairs, and the search against all partitions.

# Variation of information in bits, from entropies of the joint distribution.
information_distance <- function(a, b) {
  entropy <- function(...) {
    p <- as.vector(table(...)) / length(a)
    p <- p[p > 0]
    -sum(p * log2(p))
  }
  2 * entropy(a, b) - entropy(a) - entropy(b)
}

# The proportion of pairs together in one partition and apart in the other.
pair_distance <- function(a, b) {
  pairs <- utils::combn(length(a), 2)
  together <- function(z) z[pairs[1, ]] == z[pairs[2, ]]
  mean(together(a) != together(b))
}

distances <- list(vi = information_distance, binder = pair_distance)

random_draws <- function(draws, n, k) {
  centre <- sample.int(k, n, replace = TRUE)
  t(replicate(draws, {
    z <- centre
    noisy <- runif(n) < 0.4
    z[noisy] <- sample.int(k, sum(noisy), replace = TRUE)
    z
  }))
}

test_that("the expected loss is the mean distance", {
  withr::local_seed(1)
  z <- random_draws(30, 12, 4)
  for (loss in names(distances)) {
    problem <- gibbsite:::partition_problem(z, loss)
    for (cluster in list(z[1, ], rep(1L, 12), 1:12, z[7, ])) {
      state <- gibbsite:::partition_state(problem, cluster)
      expect_equal(
        gibbsite:::expected_loss(problem, state),
        mean(apply(z, 1, distances[[loss]], cluster))
      )
    }
  }
})

test_that("the search finds the best of all partitions", {
  skip_long()
  withr::local_seed(2)
  partitions <- all_partitions(7)
  for (loss in names(distances)) {
    for (times in seq_len(fast_or(1, 6))) {
      z <- random_draws(25, 7, 3)
      problem <- gibbsite:::partition_problem(z, loss)
      all <- apply(partitions, 1, function(cluster) {
        gibbsite:::expected_loss(
          problem, gibbsite:::partition_state(problem, cluster)
        )
      })
      found <- gibbsite:::best_partition(problem)
      expect_equal(found$value, min(all))
      expect_equal(
        gibbsite:::expected_loss(
          problem, gibbsite:::partition_state(problem, found$cluster)
        ),
        found$value
      )
    }
  }
})

test_that("clusters of clear groups are the groups", {
  skip_long()
  x <- withr::with_seed(1, sim_gmm(
    90, rep(1, 3) / 3, rbind(c(0, 0), c(9, 0), c(0, 9)), diag(2)
  ))
  for (k in fast_or(list(3), list(3, "unknown"))) {
    fit <- quietly(gibbs_gmm(
      x, k, draws = 50, burnin = 100, chains = 2, seed = 1, keep = "z",
      progress = FALSE
    ))
    for (loss in names(distances)) {
      found <- point_clustering(fit, loss)
      # each group is a cluster, and each cluster a group
      expect_identical(nrow(unique(cbind(found, attr(x, "z")))), 3L)
      expect_identical(max(found), 3L)
      expect_identical(order(-tabulate(found)), 1:3)
    }
    expect_lt(attr(found, "expected_loss"), 0.05)
    together <- coclustering(fit)
    z <- do.call(rbind, lapply(fit, unclass))
    expect_equal(
      together[1, 2], mean(z[, "z[1]"] == z[, "z[2]"])
    )
  }
})

test_that("clusters need the draws of the allocations", {
  skip_long()
  x <- as.matrix(faithful)[1:40, ]
  rownames(x) <- paste0("eruption", 1:40)
  fit <- quietly(gibbs_gmm(
    x, 2, draws = 5, burnin = 5, chains = 1, seed = 1, progress = FALSE
  ))
  kept <- update(fit, keep = "z") |> quietly()
  expect_gibbsite_error({
    point_clustering(fit)
    point_clustering(kept, "entropy")
    point_clustering(kept, ndraws = 6)
    point_clustering(1)
  })
  found <- point_clustering(kept)
  expect_identical(names(found), rownames(x))
  expect_identical(data.frame(found)$found[2:3], unname(found[2:3]))
  expect_snapshot(print(found))
  expect_snapshot(print(point_clustering(kept, "binder")[1:3]))
  # changed by hand: the clusters alone
  changed <- list(
    structure(found, loss = NULL), structure(found, expected_loss = "a"),
    `[<-`(found, 1, NA), structure("a", class = class(found))
  )
  for (one in changed) {
    shown <- paste(utils::capture.output(print(one)), collapse = "")
    expect_false(grepl("point_clustering", shown))
  }
})

test_that("shares of equal labels are those of plain R", {
  withr::local_seed(1)
  for (draws in c(1, 15, 16, 17, 100)) {
    z <- matrix(as.double(sample(c(1, 2, 300), draws * 37, TRUE)), draws)
    plain <- outer(seq_len(37), seq_len(37), Vectorize(function(i, j) {
      mean(z[, i] == z[, j])
    }))
    expect_equal(.Call(gibbsite:::C_coclustering, z), plain)
  }
})
