# gibbs_gmm() with an unknown number of components: the promises of the driver,
# what a fit answers, and messages. That its draws are exact is tested in
# test-gmm-unknown-exact.R.

unknown_fit <- function(x = faithful[1:60, ], k = unknown_k(6), ..., draws = 8,
                        burnin = 5, chains = 2, seed = 1) {
  quietly(gibbs_gmm(
    x, k, ..., draws = draws, burnin = burnin, chains = chains, seed = seed,
    progress = FALSE
  ))
}

plain_unknown <- once(unknown_fit)

for (form in c("full", "diagonal", "shared")) {
  test_that(paste("pieces never show:", form), {
    if (form == "diagonal") skip_long() else skip_unless_extended()
    holes <- faithful[1:60, ]
    holes[cbind(c(2, 9), 1:2)] <- NA
    fit <- function(...) {
      unknown_fit(holes, covariance = form, na_action = "impute",
                  keep = c("components", "z", "x"), ...)
    }
    whole <- fit()
    more <- function(part) quietly(extend(part, 5, progress = FALSE))
    expect_true(identical_fit(more(fit(draws = 3)), whole))
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(fit(), whole))
    })
    path <- withr::local_tempfile()
    saveRDS(fit(draws = 3), path)
    expect_true(identical_fit(more(readRDS(path)), whole))
    expect_true(identical_fit(fit(threads = 2), whole))
    thinned <- fit(draws = 4, thin = 2)
    expect_identical(unclass(thinned[[1]])[, "k"],
                     unclass(whole[[1]])[c(2, 4, 6, 8), "k"])
  })
}

test_that("threads and cores never change a draw", {
  skip_on_cran()
  x <- sim_gmm(1500, c(0.5, 0.5), rbind(c(0, 0), c(3, 1)), diag(2)) |>
    withr::with_seed(seed = 1)
  whole <- unknown_fit(x, draws = 3)
  expect_true(identical_fit(unknown_fit(x, draws = 3, threads = 3), whole))
  expect_true(identical_fit(unknown_fit(x, draws = 3, cores = 2), whole))
})

test_that("a checkpoint is resumed bit for bit", {
  skip_long()
  whole <- plain_unknown()
  path <- withr::local_tempdir()
  unlink(path, recursive = TRUE)
  part <- unknown_fit(draws = 3, checkpoint = path)
  resumed <- quietly(resume(path, progress = FALSE))
  expect_true(identical_fit(
    quietly(extend(resumed, 5, progress = FALSE)), whole
  ))
})

test_that("words for an unknown number are the same", {
  skip_long()
  expect_true(identical_fit(
    unknown_fit(k = "unknown"), unknown_fit(k = unknown_k())
  ))
  flowers <- unknown_fit(~ . - Species, k = "unknown", data = iris)
  expect_identical(dim(log_lik(flowers, ndraws = 2)), c(2L, 150L))
})

test_that("draws are finite and agree with each other", {
  fit <- unknown_fit(draws = 30)
  draws <- do.call(rbind, lapply(fit, unclass))
  expect_true(all(is.finite(draws)))
  k <- draws[, "k"]
  pi <- draws[, paste0("pi[", 1:6, "]")]
  expect_identical(unname(rowSums(pi > 0)), unname(k))
  expect_equal(unname(rowSums(pi)), rep(1, nrow(draws)))
  z <- draws[, startsWith(colnames(draws), "z[")]
  expect_identical(
    unname(apply(z, 1, function(z) length(unique(z)))),
    as.integer(draws[, "n_occupied"])
  )
  expect_true(all(apply(z, 1, max) <= k))
  table <- posterior_k(fit)
  expect_equal(colSums(table[-1]), c(prior = 1, components = 1, clusters = 1))
  expect_equal(table$components, tabulate(k, 6) / length(k))
})

test_that("log_lik() and predict() are the density of each draw's mixture", {
  skip_long()
  for (form in c("full", "diagonal", "shared")) {
    fit <- unknown_fit(draws = 10, covariance = form)
    draws <- do.call(rbind, lapply(fit, unclass))
    log_lik <- log_lik(fit)
    expect_equal(rowSums(log_lik), unname(draws[, "log_lik"]))
    density <- predict(fit, type = "density")
    expect_equal(density$mean, unname(colMeans(exp(log_lik))))
  }
  expect_identical(dim(posterior_predict(fit, ndraws = 3, nobs = 4)),
                   c(3L, 4L, 2L))
})

test_that("probabilities of clusters are those of pairs of observations", {
  skip_long()
  set.seed(1)
  x <- rbind(as.matrix(faithful[1:60, ]), c(9, 300))
  fit <- unknown_fit(x, draws = 40, burnin = 40)
  cluster <- predict(fit)
  prob <- predict(fit, type = "prob")
  together <- coclustering(fit)
  expect_identical(dim(prob), c(61L, max(cluster)))
  expect_identical(rownames(prob), rownames(x))
  for (i in c(1, 2, 30, 60)) {
    by_pairs <- vapply(seq_len(max(cluster)), function(c) {
      mean(together[i, setdiff(which(cluster == c), i)])
    }, 0)
    expect_equal(unname(prob[i, ]), by_pairs)
  }
  # a cluster of one: the share of draws in which it is alone
  expect_identical(sum(cluster == cluster[[61]]), 1L)
  alone <- mean(rowSums(kept_allocations(fit, NULL) ==
                          kept_allocations(fit, NULL)[, 61]) == 1)
  expect_equal(prob[[61, cluster[[61]]]], alone)
})

test_that("new observations are allocated to the clusters", {
  skip_long()
  x <- faithful[1:60, ]
  new <- data.frame(eruptions = c(2, 4.4, NA), waiting = c(52, 81, 65))
  for (form in fast_or("full", c("full", "diagonal", "shared"))) {
    fit <- unknown_fit(x, draws = 10, covariance = form)
    cluster <- predict(fit)
    draws <- do.call(rbind, lapply(fit, unclass))
    z <- kept_allocations(fit, NULL)
    density <- function(row, c) {
      seen <- which(!is.na(unlist(new[row, ])))
      value <- function(s, name) {
        draws[s, sprintf(name, c, rep(1:2, 2), rep(1:2, each = 2))]
      }
      vapply(seq_len(nrow(draws)), function(s) {
        if (c > draws[s, "k"]) {
          return(0)
        }
        sigma <- matrix(switch(form,
          full = value(s, "Sigma[%d,%d,%d]"),
          diagonal = diag(draws[s, sprintf("sigma2[%d,%d]", c, 1:2)]),
          shared = draws[s, sprintf("Sigma[%d,%d]", c(1, 2, 1, 2),
                                    c(1, 1, 2, 2))]
        ), 2)[seen, seen, drop = FALSE]
        away <- unlist(new[row, ])[seen] -
          draws[s, sprintf("mu[%d,%d]", c, seen)]
        draws[s, paste0("pi[", c, "]")] / sqrt(det(sigma)) *
          exp(-sum(away * solve(sigma, away)) / 2)
      }, 0)
    }
    by_hand <- t(vapply(seq_len(3), function(row) {
      each <- vapply(1:6, function(c) density(row, c), numeric(nrow(draws)))
      each <- each / rowSums(each)
      vapply(seq_len(max(cluster)), function(u) {
        share <- vapply(1:6, function(c) {
          rowMeans(z[, cluster == u, drop = FALSE] == c)
        }, numeric(nrow(draws)))
        mean(rowSums(each * share))
      }, 0)
    }, numeric(max(cluster))))
    found <- predict(fit, new, type = "prob")
    expect_equal(unname(found), unname(by_hand))
    expect_identical(
      unname(predict(fit, new)), max.col(by_hand, ties.method = "first")
    )
  }
})

test_that("a fit without components says so", {
  skip_long()
  fit <- unknown_fit(keep = "z")
  expect_false(any(startsWith(coda::varnames(fit), "pi")))
  expect_identical(length(predict(fit)), 60L)
  expect_gibbsite_error({
    log_lik(fit)
    predict(fit, type = "density")
    predict(fit, faithful[1:3, ])
  })
  without_z <- unknown_fit(keep = "components")
  expect_gibbsite_error({
    predict(without_z)
    predict(without_z, type = "prob")
    predict(without_z, faithful[1:3, ])
  })
})

test_that("starting values are taken", {
  skip_long()
  fit <- unknown_fit(
    inits = list(list(k = 2, z = rep(1:2, 30)), list(alpha = 0.3)), burnin = 0
  )
  expect_s3_class(fit, "gibbs_gmm_unknown")
  again <- unknown_fit(inits = fit)
  expect_s3_class(again, "gibbs_gmm_unknown")
  expect_gibbsite_error({
    unknown_fit(inits = list(list(k = 7), list()))
    unknown_fit(inits = list(list(k = 2, z = rep(3, 60)), list()))
    unknown_fit(inits = list(list(alpha = -1), list()))
    unknown_fit(inits = list(list(alpha = 1), list()),
                prior = gmm_prior(alpha = 2))
    unknown_fit(inits = list(list(mu = 1), list()))
  })
})

test_that("what a fit shows", {
  skip_long()
  withr::local_options(width = 80)
  fit <- unknown_fit(draws = 100, burnin = 100)
  shown <- utils::capture.output(print(fit))
  expect_true(any(startsWith(shown, "P(components = k)")))
  expect_true(any(grepl("unknown number of components (at most 6)", shown,
                        fixed = TRUE)))
  table <- summary(fit)
  expect_identical(table$variable, c(
    "k", "n_occupied", "alpha", "log_lik", "S0[1,1]", "S0[2,2]"
  ))
  expect_snapshot({
    unknown_k()
    unknown_k(prior = c(1, 2))
    unknown_k(30, "uniform", "static")
    gmm_prior(s0 = "drawn", alpha = "drawn")
    prior_summary(unknown_fit(data.frame(x = c(1, 2, 5, 6)), draws = 1))
  })
})

test_that("a component of tied observations is an error that says so", {
  skip_long()
  x <- withr::with_seed(1, cbind(a = c(rnorm(40), rep(3, 30)), b = rnorm(70)))
  fit <- function(x, ...) {
    unknown_fit(x, "unknown", draws = 200, burnin = 200, chains = 1, ...)
  }
  expect_gibbsite_error(class = "gibbsite_error_chain", {
    fit(x)
    fit(x[, "a"], covariance = "diagonal")
  }, transform = function(lines) sub("sweep [0-9]+", "some sweeps", lines))
  # without ties, with the scale that the error names, and with one matrix
  spread <- x
  spread[, "a"] <- spread[, "a"] + withr::with_seed(2, runif(70, -0.05, 0.05))
  expect_s3_class(fit(spread), "gibbs_gmm_unknown")
  expect_s3_class(
    fit(x, prior = gmm_prior(s0 = diag(c(1.6, 1.1)))), "gibbs_gmm_unknown"
  )
  expect_s3_class(fit(x, covariance = "shared"), "gibbs_gmm_unknown")
})

test_that("ties count from where the posterior has no finite integral", {
  skip_long()
  ties <- function(count, ..., covariance = "full", missing = FALSE) {
    x <- cbind(a = c(rep(3, count), 1:20 / 7), b = seq_len(count + 20))
    if (missing) x[1, "a"] <- NA
    fit <- unknown_fit(x, draws = 1, burnin = 0, chains = 1, ...,
                       covariance = covariance,
                       na_action = if (missing) "impute" else "fail")
    attr(fit, "model")$ties
  }
  # nu0 + s0_df + 1: 6 + 2 + 1, and 5 + 1 + 1
  expect_null(ties(8))
  expect_equal(
    ties(9), data.frame(variable = 1, value = 3, count = 9, unit = 1 / 7),
    tolerance = 1e-12
  )
  expect_null(ties(9, missing = TRUE))
  expect_null(ties(6, covariance = "diagonal"))
  expect_identical(ties(7, covariance = "diagonal")$count, 7L)
  expect_null(ties(9, prior = gmm_prior(s0_df = 3)))
  expect_null(ties(30, prior = gmm_prior(s0 = diag(2))))
})

test_that("plots are drawn", {
  skip_long()
  withr::local_pdf(NULL)
  fit <- plain_unknown()
  expect_identical(plot(fit), fit)
  expect_identical(plot(fit, type = "mixture"), fit)
  expect_identical(plot(fit, type = "mixture", variables = 1), fit)
  expect_identical(plot(fit, type = "trace"), fit)
})

test_that("what needs a fixed k says so", {
  skip_long()
  fit <- plain_unknown()
  fixed <- quietly(gibbs_gmm(
    faithful, 2, draws = 5, burnin = 5, chains = 1, seed = 1, progress = FALSE
  ))
  expect_gibbsite_error({
    relabel(fit)
    allocation_probabilities(fit)
    log_evidence(fit)
    compare_k(fit, fit)
    gibbs_gmm(faithful, "unknown", method = "icm")
    plot(fit, type = "number", variables = "k")
    posterior_k(fixed)
  })
})

test_that("arguments are checked", {
  skip_long()
  expect_gibbsite_error({
    gibbs_gmm(faithful, "Unknown")
    gibbs_gmm(faithful, "several")
    gibbs_gmm(faithful, "unknown", keep = "labels")
    gibbs_gmm(faithful, "unknown", gmm_prior(alpha = c(1, 2)))
    gibbs_gmm(faithful, "unknown", gmm_prior(s0_df = 1))
    gibbs_gmm(faithful, 2, gmm_prior(s0 = "drawn"))
    gibbs_gmm(faithful, 2, gmm_prior(alpha = "drawn"))
    gibbs_gmm(faithful, 2, gmm_prior(s0_df = 3))
    gmm_prior(s0 = 1, s0_df = 3)
    gmm_prior(s0 = "Drawn")
    gmm_prior(alpha = "few")
    gmm_prior(s0_df = -1)
    unknown_k(0)
    unknown_k(1001)
    unknown_k(3, c(1, 2))
    unknown_k(prior = c(1, -2))
    unknown_k(prior = c(0, 0))
    unknown_k(prior = "flat")
    unknown_k(weights = "fixed")
  })
})

test_that("a message names the fit by its unknown k", {
  set.seed(4)
  expect_warning(
    gibbs_gmm(
      matrix(rnorm(30), 15), "unknown", covariance = "diagonal", draws = 5,
      burnin = 5, chains = 2, seed = 1, progress = FALSE
    ),
    "gibbs_gmm(k = \"unknown\", covariance = \"diagonal\")", fixed = TRUE
  )
})

test_that("columns that are combinations of others are an error", {
  s <- withr::with_seed(1, matrix(stats::rgamma(90, c(2, 5, 9)), 30,
                                  byrow = TRUE))
  shares <- s / rowSums(s)
  colnames(shares) <- c("a", "b", "c")
  expect_error(
    gibbs_gmm(shares, "unknown", seed = 1), "\"c\" is one",
    class = "gibbsite_error_collinear"
  )
  expect_error(
    gibbs_gmm(cbind(u = s[, 1], v = 60 * s[, 1]), "unknown", seed = 1),
    class = "gibbsite_error_collinear"
  )
  # with a scale, or diagonal covariances, they are not
  expect_no_error(quietly(gibbs_gmm(
    shares, "unknown", gmm_prior(s0 = 0.01), draws = 5, burnin = 5, chains = 1,
    seed = 1, progress = FALSE
  )))
  expect_no_error(quietly(gibbs_gmm(
    shares, "unknown", covariance = "diagonal", draws = 5, burnin = 5,
    chains = 1, seed = 1, progress = FALSE
  )))
})
