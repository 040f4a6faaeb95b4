# gibbs_gmm() as its users meet it: the promises of the driver, labels,
# predictions, pictures, odd data, messages.  That its draws have the right
# distribution is tested in test-gmm-exact.R.

forms <- c("full", "diagonal", "shared")

# faithful with entries missing from each variable, and a row of nothing
faithful_with_holes <- function() {
  x <- as.matrix(datasets::faithful)
  x[c(3, 50), "waiting"] <- NA
  x[10, "eruptions"] <- NA
  x[20, ] <- NA
  x
}

# ---- by hand ---------------------------------------------------------------

# pi, mu (k x d) and Sigma (list of d x d) of one row of draws, by the names of
# the columns.
parameters_by_hand <- function(row) {
  block <- function(name) row[startsWith(names(row), paste0(name, "["))]
  pi <- block("pi")
  k <- length(pi)
  d <- length(block("mu")) / k
  cell <- function(...) paste(..., sep = ",")
  sigma <- lapply(seq_len(k), function(c) {
    value <- function(i, j) {
      names <- c(paste0("Sigma[", cell(c, i, j), "]"),
                 paste0("Sigma[", cell(i, j), "]"),
                 paste0("sigma2[", cell(c, j), "]"))
      found <- names[names %in% names(row)][1]
      if (startsWith(found, "sigma2") && i != j) 0 else row[[found]]
    }
    outer(seq_len(d), seq_len(d), Vectorize(value))
  })
  mu <- outer(seq_len(k), seq_len(d), Vectorize(function(c, j) {
    row[[paste0("mu[", cell(c, j), "]")]]
  }))
  list(pi = unname(pi), mu = mu, sigma = sigma)
}

# pi_c N(x_i | mu_c, Sigma_c), n x k, of the observed entries
joint_by_hand <- function(x, row) {
  p <- parameters_by_hand(row)
  one <- function(i, c) {
    seen <- which(!is.na(x[i, ]))
    if (length(seen) == 0) return(p$pi[c])
    sigma <- p$sigma[[c]][seen, seen, drop = FALSE]
    away <- x[i, seen] - p$mu[c, seen]
    p$pi[c] * exp(-sum(away * solve(sigma, away)) / 2) /
      sqrt(det(2 * pi * sigma))
  }
  outer(seq_len(nrow(x)), seq_along(p$pi), Vectorize(one))
}

# the same for all rows of draws: draws x n x k
joints_by_hand <- function(x, draws) {
  all <- lapply(seq_len(nrow(draws)), function(s) {
    joint_by_hand(x, draws[s, ])
  })
  aperm(simplify2array(all), c(3, 1, 2))
}

all_draws <- function(fit) do.call(rbind, lapply(fit, unclass))

# ---- the promises of the driver --------------------------------------------

many_with_holes <- function(n = 2500) {
  x <- many_observations(n)
  x[seq(5, n, by = 50), 1] <- NA
  x[seq(9, n, by = 70), 2] <- NA
  x[100, ] <- NA
  x
}

promised <- function(draws = 6, ...) {
  short_gmm(
    draws = draws, burnin = 3, x = many_with_holes(), k = 3,
    na_action = "impute", keep = c("z", "x"), ...
  )
}

for (form in fast_or("diagonal", forms)) {
  test_that(paste("pieces never show with missing data:", form), {
    skip_long()
    whole <- promised(covariance = form)
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(promised(covariance = form), whole))
    })
    part <- promised(2, covariance = form)
    path <- withr::local_tempfile()
    saveRDS(part, path)
    expect_true(identical_fit(longer(readRDS(path), 4), whole))
  })

  test_that(paste("speed never changes a draw with missing data:", form), {
    skip_unless_extended()
    whole <- promised(covariance = form)
    for (threads in c(2, 7)) {
      fit <- promised(covariance = form, threads = threads)
      expect_true(identical_fit(fit, whole))
    }
    expect_true(identical_fit(promised(covariance = form, cores = 2), whole))
  })
}

test_that("z and x do not change what else is drawn", {
  skip_long()
  kept <- short_gmm(x = faithful_with_holes(), na_action = "impute",
                    keep = c("z", "x"))
  bare <- short_gmm(x = faithful_with_holes(), na_action = "impute")
  expect_identical(all_draws(kept)[, colnames(bare[[1]])], all_draws(bare))
  expect_identical(
    setdiff(colnames(kept[[1]]), colnames(bare[[1]])),
    c(paste0("z[", 1:272, "]"),
      paste0("x[", c("3,2", "10,1", "20,1", "20,2", "50,2"), "]"))
  )
  x <- draws_of(kept, "x[10,1]")
  expect_identical(dim(x), c(60L, 2L))
  expect_gt(stats::sd(x), 0)
})

test_that("a killed run with missing data is resumed to the same bits", {
  skip_unless_extended()
  skip_unless_processes()
  child <- start_child(quote({
    options(gibbsite.checkpoint_seconds = 0, gibbsite.segment_seconds = 0.005)
    slow_segments(0.02)
    x <- as.matrix(datasets::faithful)
    x[c(3, 50), 2] <- NA
    short_gmm(2000, x = x, na_action = "impute", keep = "x",
              checkpoint = "run")
  }))
  wait_for(child, "run/chain-2/draws-0001.rds")
  tools::pskill(child$process$get_pid(), tools::SIGKILL)
  expect_identical(end_of(child), -9L)
  x <- as.matrix(datasets::faithful)
  x[c(3, 50), 2] <- NA
  whole <- short_gmm(2000, x = x, na_action = "impute", keep = "x")
  expect_true(identical_fit(resumed(file_in(child, "run")), whole))
})

test_that("a fit without its data answers and goes on with them", {
  skip_long()
  x <- faithful_with_holes()
  whole <- short_gmm(x = x, na_action = "impute")
  bare <- short_gmm(draws = 30, x = x, na_action = "impute", keep_data = FALSE)
  expect_null(attr(bare, "model")$data)
  more <- longer(bare, 30, data = x)
  expect_identical(all_draws(more), all_draws(whole))
  expect_identical(
    predict(more, x, type = "density"), predict(whole, type = "density")
  )
  expect_equal(
    predict(more, x, type = "prob"), predict(whole, type = "prob")
  )
  expect_identical(dim(log_lik(more, x)), c(120L, 272L))
  expect_s3_class(summary(bare), "data.frame")
  expect_identical(dim(relabel(bare)[[1]]), c(30L, 16L))
  expect_identical(allocation_probabilities(bare)$switches, c(0, 0))
  expect_identical(dim(posterior_predict(bare, ndraws = 2)), c(2L, 272L, 2L))
  for (answer in list(predict, log_lik)) {
    expect_error(answer(bare), class = "gibbsite_error_no_data")
  }
  expect_gibbsite_error({
    predict(bare)
    plot(bare, type = "mixture")
  })
  pdf(NULL)
  withr::defer(dev.off())
  expect_invisible(plot(bare))
})

# ---- labels ----------------------------------------------------------------

# The fit with the components of each draw renumbered: c becomes new[s, c].
renumbered <- function(fit, seed = 5) {
  columns <- colnames(fit[[1]])
  k <- attr(fit, "model")$k
  moved <- grepl("^(pi|mu|sigma2|Sigma|label)\\[[0-9]", columns) &
    !grepl("^Sigma\\[[0-9]+,[0-9]+\\]$", columns)
  set.seed(seed)
  out <- lapply(fit, function(chain) {
    for (s in seq_len(nrow(chain))) {
      new <- sample(k)
      row <- chain[s, ]
      names <- columns[moved]
      old <- as.integer(sub("^[^[]*\\[([0-9]+).*$", "\\1", names))
      rest <- sub("^([^[]*\\[)[0-9]+(.*)$", "\\2", names)
      to <- paste0(sub("\\[.*$", "[", names), new[old], rest)
      chain[s, to] <- row[names]
      z <- startsWith(columns, "z[")
      chain[s, z] <- new[row[z]]
    }
    chain
  })
  attributes(out) <- attributes(fit)
  out
}

for (form in fast_or("full", forms)) {
  test_that(paste("the numbering of a fit undoes another one:", form), {
    skip_long()
    fit <- short_gmm(covariance = form, k = 2, keep = c("z", "labels"))
    mixed <- renumbered(fit)
    straight <- relabel(fit)
    expect_gt(sum(attr(relabel(mixed), "switches")), 20)
    expect_identical(attr(straight, "switches"), c(0, 0))
    expect_identical(
      lapply(relabel(mixed), unclass), lapply(straight, unclass)
    )
    expect_identical(
      lapply(straight, unclass), lapply(chain_matrices(fit), function(draws) {
        structure(draws, mcpar = attr(fit[[1]], "mcpar"))
      })
    )
    # invariant quantities do not see it
    invariants <- function(fit) {
      gibbsite:::model_invariants(attr(fit, "model"), all_draws(fit))
    }
    expect_equal(invariants(mixed), invariants(fit), tolerance = 1e-12)
    expect_equal(coclustering(mixed), coclustering(fit))
  })
}

# Everything that takes the draws must see the components numbered alike.
test_that("the draws of a fit are numbered alike in every client", {
  skip_unless_extended()
  sets <- list(
    list(x = datasets::faithful, k = 2), list(x = datasets::iris[, 1:4], k = 3)
  )
  columns <- c(NA, 2 + 4 + 8 + 2, 3 + 12 + 48 + 2)
  means <- lapply(sets, function(set) {
    vapply(1:4, function(seed) {
      fit <- quietly(gibbs_gmm(set$x, set$k, seed = seed, progress = FALSE))
      expect_identical(
        allocation_probabilities(fit)$switches, c(0, 0, 0, 0)
      )
      own <- summary(fit)
      expect_lt(max(own$rhat, na.rm = TRUE), 1.05)
      shown <- posterior::summarise_draws(fit, "mean", "rhat")
      expect_equal(as.numeric(shown$mean), own$mean)
      expect_equal(as.numeric(shown$rhat), own$rhat)
      expect_equal(
        unname(colMeans(as.matrix(coda::as.mcmc.list(fit)))), own$mean
      )
      # the data of predict() and of the draws have one numbering
      weight <- colMeans(predict(fit, type = "prob"))
      expect_equal(unname(weight), own$mean[seq_len(set$k)], tolerance = 0.05)
      own$mean
    }, numeric(columns[[set$k]]))
  })
  for (each in means) {
    # and in every run
    expect_lt(max(abs(each - rowMeans(each)) / (1 + abs(each))), 0.05)
  }
})

test_that("the sampler's own numbers are kept if asked for", {
  skip_long()
  fit <- quietly(gibbs_gmm(
    datasets::iris[, 1:4], 3, draws = 100, burnin = 200, keep = "labels",
    seed = 3, progress = FALSE
  ))
  own <- relabel(fit, "none")
  model <- attr(fit, "model")
  # the components of the state have the sampler's numbers
  for (chain in seq_along(fit)) {
    state <- attr(fit, "chains")[[chain]]$state
    expect_equal(
      unname(own[[chain]][100, 1:3]), gibbsite:::gmm_parameters(model, state)$pi
    )
    expect_identical(
      unname(unclass(own[[chain]])[, paste0("label[", 1:3, "]")]),
      matrix(rep(as.double(1:3), each = 100), 100)
    )
  }
  again <- gibbsite:::pivot_labels(model, unclass(own[[1]])[, ])
  expect_identical(
    gibbsite:::move_components(model, unclass(own[[1]])[, ], again),
    unclass(fit[[1]])[, ]
  )
  # which differ between the chains
  labels <- attr(own, "labels")
  expect_gt(length(unique(lapply(labels, function(m) m[1, ]))), 1)
  bare <- short_gmm()
  expect_gibbsite_error(relabel(bare, "none"))
})

# helper-run.R remembers the pivot of a model.
test_that("what numbers the components depends on the model alone", {
  skip_long()
  local_object("gmm_pivot", environment(gibbsite:::gmm_pivot)$compute)
  for (form in fast_or("full", forms)) {
    model <- attr(short_gmm(5, covariance = form), "model")
    other <- attr(short_gmm(
      2, covariance = form, keep = c("z", "labels"), seed = NULL, threads = 2
    ), "model")
    expect_identical(other$pivot, model$pivot)
  }
})

test_that("a prior that differs between the components numbers them", {
  skip_long()
  prior <- gmm_prior(alpha = c(1, 2))
  fit <- short_gmm(prior = prior)
  expect_null(attr(fit, "model")$pivot)
  expect_identical(allocation_probabilities(fit)$switches, c(0, 0))
  state <- attr(fit, "chains")[[1]]$state
  expect_equal(unname(fit[[1]][60, 1:2]), exp(state$log_pi), tolerance = 1e-12)
  expect_true(all(is.na(summary(fit, "pi")$rhat)))
  expect_identical(lapply(relabel(fit, "none"), unclass), lapply(fit, unclass))
  numbered <- all_draws(relabel(fit))
  expect_setequal(unname(numbered[1, 1:2]), unname(all_draws(fit)[1, 1:2]))
})

test_that("relabelled draws are an mcmc.list", {
  skip_long()
  fit <- short_gmm(thin = 2)
  out <- relabel(fit, "ordered")
  expect_s3_class(out, c("relabelled_draws", "mcmc.list"), exact = TRUE)
  expect_s3_class(out[, "pi[1]"], "mcmc.list", exact = TRUE)
  expect_identical(attr(out[[1]], "mcpar"), attr(fit[[1]], "mcpar"))
  # labels say where each component went
  for (chain in 1:2) {
    labels <- attr(out, "labels")[[chain]]
    for (s in c(1, 60)) {
      expect_identical(
        unname(out[[chain]][s, labels[s, ]]), unname(fit[[chain]][s, 1:2])
      )
    }
  }
})

test_that("with more components than clusters labels are a permutation", {
  skip_long()
  fit <- short_gmm(k = 4, covariance = "diagonal")
  for (method in c("pivot", "ordered", "random")) {
    set.seed(1)
    out <- relabel(fit, method)
    for (labels in attr(out, "labels")) {
      expect_identical(dim(labels), c(60L, 4L))
      expect_true(all(apply(labels, 1, sort) == 1:4))
    }
    sorted <- function(x) t(apply(all_draws(x)[, 1:4], 1, sort))
    expect_identical(sorted(out), sorted(fit))
  }
})

test_that("ordered: the means of a variable increase", {
  skip_long()
  fit <- short_gmm(k = 3)
  for (by in list(2, "waiting")) {
    out <- all_draws(relabel(fit, "ordered", by = by))
    expect_true(all(out[, "mu[1,2]"] < out[, "mu[2,2]"]))
    expect_true(all(out[, "mu[2,2]"] < out[, "mu[3,2]"]))
  }
  expect_identical(
    lapply(relabel(fit, "ordered", by = 2), unclass),
    lapply(relabel(fit, "ordered", by = "waiting"), unclass)
  )
})

test_that("random: every numbering alike, from R's generator", {
  skip_long()
  fit <- short_gmm(draws = 600, k = 3)
  set.seed(4)
  first <- relabel(fit, "random")
  second <- relabel(fit, "random")
  set.seed(4)
  expect_identical(relabel(fit, "random"), first)
  expect_false(identical(first, second))
  labels <- do.call(rbind, attr(first, "labels"))
  counts <- table(apply(labels, 1, paste, collapse = ""))
  expect_length(counts, 6)
  expect_gt(stats::chisq.test(counts)$p.value, 1e-4)
})

test_that("switches are counted draw by draw", {
  skip_long()
  labels <- rbind(c(1, 2), c(1, 2), c(2, 1), c(1, 2), c(1, 2))
  expect_identical(gibbsite:::count_switches(labels), 2L)
  expect_identical(gibbsite:::count_switches(labels[1, , drop = FALSE]), 0L)
  fit <- short_gmm(
    draws = 300, k = 4, prior = gmm_prior(alpha = 0.5), keep = "labels"
  )
  own <- attr(relabel(fit, "none"), "switches")
  expect_gt(sum(own), 0)
  expect_identical(own, allocation_probabilities(fit)$switches)
})

test_that("one component has one numbering", {
  skip_long()
  fit <- short_gmm(k = 1)
  for (method in c("pivot", "ordered", "random")) {
    out <- relabel(fit, method)
    expect_identical(all_draws(out), all_draws(fit))
    expect_identical(attr(out, "switches"), c(0, 0))
  }
})

test_that("allocation probabilities are the means over the kept draws", {
  skip_long()
  for (form in forms) {
    x <- faithful_with_holes()[1:50, ]
    fit <- short_gmm(6, x = x, na_action = "impute", covariance = form,
                     thin = 2)
    kept <- allocation_probabilities(fit)
    expect_identical(kept$switches, c(0, 0))
    expect_identical(dim(kept$prob), c(50L, 2L, 2L))
    for (chain in 1:2) {
      joint <- joints_by_hand(x, relabel(fit)[[chain]])
      prob <- colMeans(joint / c(joint[, , 1] + joint[, , 2]))
      expect_equal(unname(kept$prob[, , chain]), prob, tolerance = 1e-10)
    }
  }
  more <- allocation_probabilities(longer(fit, 6))$prob
  again <- allocation_probabilities(short_gmm(
    12, x = x, na_action = "impute", covariance = form, thin = 2
  ))$prob
  expect_identical(more, again)
})

test_that("coclustering counts shared components", {
  skip_long()
  fit <- short_gmm(20, k = 3, keep = "z", x = datasets::faithful[1:30, ])
  z <- all_draws(fit)[, paste0("z[", 1:30, "]")]
  expected <- outer(1:30, 1:30, Vectorize(function(i, j) {
    mean(z[, i] == z[, j])
  }))
  shared <- coclustering(fit)
  expect_equal(unname(unclass(shared)), expected)
  expect_true(isSymmetric(shared))
  expect_true(is.matrix(shared))
  expect_identical(unname(diag(shared)), rep(1, 30))
  cars <- short_gmm(5, k = 2, keep = "z", x = datasets::mtcars[, 1:2])
  expect_identical(rownames(coclustering(cars)), rownames(datasets::mtcars))
})

# ---- predictions -----------------------------------------------------------

test_that("predictions are those of the formulas", {
  skip_long()
  x <- faithful_with_holes()[c(1:25, 50), ]
  for (form in forms) {
    fit <- short_gmm(6, covariance = form)
    joint <- joints_by_hand(x, all_draws(relabel(fit)))
    density <- joint[, , 1] + joint[, , 2]
    prob <- colMeans(joint / c(density))
    expect_equal(unname(predict(fit, x, type = "prob")), prob,
                 tolerance = 1e-10)
    expect_identical(
      unname(predict(fit, x)), max.col(prob, ties.method = "first")
    )
    out <- predict(fit, x, type = "density", level = 0.8)
    bounds <- apply(density, 2, stats::quantile, c(0.1, 0.9))
    expect_named(out, c("mean", "sd", "lower", "upper"))
    expect_equal(out$mean, colMeans(density))
    expect_equal(out$sd, apply(density, 2, stats::sd), tolerance = 1e-8)
    expect_equal(out$lower, unname(bounds[1, ]))
    expect_equal(out$upper, unname(bounds[2, ]))
    # a row of nothing has density one and the mean weights
    expect_identical(unlist(out[20, ], use.names = FALSE), c(1, 0, 1, 1))
    expect_equal(
      unname(predict(fit, x, type = "prob")[20, ]),
      unname(colMeans(all_draws(relabel(fit))[, c("pi[1]", "pi[2]")]))
    )
  }
})

test_that("an observation's prediction does not depend on the others", {
  skip_long()
  x <- faithful_with_holes()[c(1:25, 50, 51), ]
  for (form in fast_or("full", forms)) {
    fit <- short_gmm(20, k = 3, covariance = form)
    prob <- predict(fit, x, type = "prob")
    density <- predict(fit, x, type = "density")
    lik <- log_lik(fit, x)
    some <- c(3, 20, 27)
    for (i in fast_or(some, seq_len(nrow(x)))) {
      row <- x[i, , drop = FALSE]
      expect_identical(predict(fit, row, type = "prob")[1, ], prob[i, ])
      expect_identical(
        unlist(predict(fit, row, type = "density")), unlist(density[i, ])
      )
      expect_identical(log_lik(fit, row)[, 1], lik[, i])
    }
    expect_identical(predict(fit, x[some, ], type = "prob"), prob[some, ])
  }
})

test_that("new data are taken by name, or by position", {
  skip_long()
  fit <- short_gmm(20)
  x <- datasets::faithful[1:4, ]
  expected <- predict(fit, x, type = "prob")
  prob <- function(new) unname(predict(fit, new, type = "prob"))
  expect_identical(prob(x[2:1]), unname(expected))
  expect_identical(prob(as.matrix(x)[, 2:1]), unname(expected))
  expect_identical(prob(cbind(other = "a", x)), unname(expected))
  expect_identical(prob(unname(as.matrix(x))), unname(expected))
  expect_identical(
    prob(c(x[2, 1], x[2, 2])), unname(expected)[2, , drop = FALSE]
  )
  expect_identical(prob(x[3, ]), unname(expected)[3, , drop = FALSE])
  # row names are kept
  rownames(x) <- letters[1:4]
  expect_named(predict(fit, x), letters[1:4])
  expect_identical(rownames(predict(fit, x, type = "prob")), letters[1:4])
  expect_identical(rownames(predict(fit, x, type = "density")), letters[1:4])
  expect_identical(colnames(log_lik(fit, x)), letters[1:4])
  # one variable: a vector is a column
  one <- short_gmm(20, x = datasets::faithful$eruptions)
  expect_length(predict(one, c(2, 3, 4)), 3)
  expect_identical(
    predict(one, c(2, 3), type = "density"),
    predict(one, data.frame(x = c(2, 3)), type = "density")
  )
  expect_gibbsite_error({
    predict(fit, x["waiting"])
    predict(fit, data.frame(a = 1))
    predict(fit, as.matrix(x)[, "waiting", drop = FALSE])
    predict(fit, matrix(1, 2, 3))
    predict(fit, structure(c(1e-320, 2e-320), class = "integer64"))
    predict(fit, Sys.Date() + 0:1)
    predict(fit, c(1, 2, 3))
    predict(fit, data.frame(eruptions = c(1, Inf), waiting = 1))
    predict(fit, data.frame(eruptions = "a", waiting = 1))
    predict(fit, type = "response")
    predict(fit, type = "density", level = 1)
    predict(fit, x, "prob", 0.9, 3)
    predict(fit, new_data = x)
    log_lik(fit, drawz = 3)
    posterior_predict(fit, draws = 3)
  })
})

test_that("log_lik adds up to the stored log-likelihood", {
  skip_long()
  for (form in fast_or("shared", forms)) {
    complete <- short_gmm(20, k = 3, covariance = form)
    expect_equal(
      rowSums(log_lik(complete)), all_draws(complete)[, "log_lik"],
      tolerance = 1e-12
    )
    holes <- short_gmm(20, x = faithful_with_holes(), na_action = "impute",
                       covariance = form)
    expect_equal(
      rowSums(log_lik(holes)), all_draws(holes)[, "log_lik"],
      tolerance = 1e-12
    )
    # row 20 has no value
    expect_identical(colnames(log_lik(holes)), as.character(1:272)[-20])
  }
  expect_identical(
    log_lik(complete, ndraws = 4), log_lik(complete)[c(1, 14, 27, 40), ]
  )
})

test_that("posterior_predict draws data sets from R's generator", {
  skip_long()
  fit <- short_gmm(50)
  set.seed(2)
  out <- posterior_predict(fit, ndraws = 7)
  expect_identical(dim(out), c(7L, 272L, 2L))
  expect_identical(dimnames(out)[[3]], c("eruptions", "waiting"))
  set.seed(2)
  expect_identical(posterior_predict(fit, ndraws = 7), out)
  expect_identical(dim(posterior_predict(fit, ndraws = 3, nobs = 5)),
                   c(3L, 5L, 2L))
  expect_identical(dim(posterior_predict(fit, ndraws = 1, nobs = 1)),
                   c(1L, 1L, 2L))
  expect_identical(dim(posterior_predict(fit, nobs = 2)), c(100L, 2L, 2L))
  one <- short_gmm(20, x = datasets::faithful$eruptions)
  expect_identical(dim(posterior_predict(one, ndraws = 3, nobs = 4)), 3:4)
  # the mixture's mean and covariance
  many <- posterior_predict(fit, ndraws = 1, nobs = 1e5)[1, , ]
  invariant <- gibbsite:::model_invariants(
    attr(fit, "model"), all_draws(fit)[1, , drop = FALSE]
  )[1, ]
  error <- sqrt(invariant[["cov[1,1]"]] / 1e5)
  expect_lt(abs(mean(many[, 1]) - invariant[["mean[1]"]]), 4.5 * error)
  product <- (many[, 1] - mean(many[, 1])) * (many[, 2] - mean(many[, 2]))
  error <- stats::sd(product) / sqrt(1e5)
  expect_lt(abs(mean(product) - invariant[["cov[2,1]"]]), 4.5 * error)
})

test_that("loo, waic and pp_check take a fit", {
  skip_long()
  fit <- short_gmm(50, x = faithful_with_holes(), na_action = "impute")
  quiet <- suppressWarnings
  expect_s3_class(quiet(loo(fit)), "psis_loo")
  expect_s3_class(quiet(waic(fit)), "waic")
  if (requireNamespace("bayesplot", quietly = TRUE)) {
    expect_s3_class(bayesplot::pp_check(fit, variable = "waiting"), "ggplot")
    expect_gibbsite_error({
      bayesplot::pp_check(fit, variable = "depth")
      bayesplot::pp_check(fit, ndraws = 1000)
    })
  }
  if (is_extended()) {
    one <- quiet(loo(short_gmm(50, k = 1, x = faithful_with_holes(),
                               na_action = "impute")))
    compared <- loo_compare(quiet(loo(fit)), one)
    # since loo 2.10 a column
    names <- if (is.data.frame(compared)) compared$model else rownames(compared)
    expect_identical(as.character(names), c("model1", "model2"))
    if (requireNamespace("bayesplot", quietly = TRUE)) {
      expect_s3_class(bayesplot::pp_check(fit), "ggplot")
      expect_s3_class(
        bayesplot::pp_check(fit, ndraws = 1, variable = 2), "ggplot"
      )
      short <- short_gmm(5, x = datasets::faithful$eruptions)
      expect_s3_class(bayesplot::pp_check(short), "ggplot")
    }
  }
})

# ---- by a formula, from other matrices ---------------------------------------

# A fit in an instant, without its call.
instant_gmm <- function(...) {
  quietly(gibbs_gmm(
    ..., draws = 10, burnin = 10, chains = 1, seed = 1, progress = FALSE
  ))
}

# Draws and everything else but the call, and a formula's terms.
same_but_terms <- function(a, b) {
  bare <- function(fit) {
    attr(fit, "model")$source <- list()
    fit
  }
  identical_fit(bare(a), bare(b))
}

test_that("a formula names the columns of the data", {
  skip_long()
  whole <- instant_gmm(iris[1:4], 3)
  left_out <- instant_gmm(~ . - Species, iris, 3)
  expect_true(same_but_terms(left_out, whole))
  expect_identical(
    attr(left_out, "model")$variables, names(iris)[1:4]
  )
  named <- instant_gmm(
    ~ Sepal.Length + Sepal.Width + Petal.Length + Petal.Width, data = iris,
    k = 3
  )
  expect_true(identical_fit(named, left_out))
  expect_identical(
    predict(left_out, iris[1:3, ], "prob"),
    predict(whole, iris[1:3, 1:4], "prob")
  )
  # `formula =` in any place, k by position, as.matrix() of the variables
  expect_true(identical_fit(
    instant_gmm(k = 3, formula = ~ . - Species, data = iris), left_out
  ))
  expect_identical(
    predict(left_out, as.matrix(iris[4:1]), "density"),
    predict(left_out, iris, "density")
  )
  skip_if_not_installed("tibble")
  expect_true(identical_fit(
    instant_gmm(~ . - Species, tibble::as_tibble(iris), 3), left_out
  ))
  expect_identical(
    predict(left_out, tibble::as_tibble(iris)), predict(left_out, iris)
  )
})

test_that("terms of a formula are made anew for new data", {
  skip_long()
  made <- data.frame(
    log(faithful$eruptions), scale(faithful$waiting), faithful$waiting^2
  )
  power <- 2
  fit <- instant_gmm(
    ~ log(eruptions) + scale(waiting) + I(waiting^power), faithful, 2
  )
  expect_identical(all_draws(fit), all_draws(instant_gmm(made, 2)))
  # with the mean and the scale of the fit's own data
  some <- faithful[c(1, 5, 9), ]
  expect_equal(
    predict(fit, some, "prob"), predict(fit, type = "prob")[c(1, 5, 9), ],
    ignore_attr = TRUE
  )
  expect_identical(rownames(predict(fit, some, "prob")), rownames(some))
  # variables where the formula was written, and several columns of one term
  both <- as.matrix(faithful)
  expect_identical(
    all_draws(instant_gmm(~ both, k = 2)), all_draws(instant_gmm(faithful, 2))
  )
  expect_identical(
    attr(instant_gmm(~ both, k = 2), "model")$variables,
    c("botheruptions", "bothwaiting")
  )
  odd <- stats::setNames(faithful, c("time of eruption", "waiting"))
  fit <- instant_gmm(~ ., odd, 2)
  expect_identical(attr(fit, "model")$variables, names(odd))
  expect_identical(predict(fit, odd), predict(fit))
})

test_that("subset and missing values are as everywhere", {
  skip_long()
  fit <- quietly(gibbs_gmm(~ . - Species, iris, 2,
    subset = Species != "setosa", draws = 10, burnin = 10, chains = 1, seed = 1,
    progress = FALSE
  ))
  expect_true(same_but_terms(fit, instant_gmm(iris[51:150, 1:4], 2)))
  holes <- as.data.frame(faithful_with_holes())
  for (action in fast_or("omit", c("omit", "impute"))) {
    expect_true(same_but_terms(
      suppressMessages(instant_gmm(~ ., holes, 2, na_action = action)),
      suppressMessages(instant_gmm(holes, 2, na_action = action))
    ))
  }
  # a variable that is not used may have any
  holes$unused <- c(NaN, Inf, NA)[1 + seq_len(nrow(holes)) %% 3]
  expect_true(identical_fit(
    instant_gmm(~ . - unused, holes, 2, na_action = "impute"),
    instant_gmm(~ ., holes[1:2], 2, na_action = "impute")
  ))
  fit <- instant_gmm(~ eruptions + waiting, faithful, 2)
  expect_identical(
    predict(fit, holes[10, ], "prob"),
    predict(fit, data.frame(eruptions = NA_real_, waiting = 85,
                            row.names = 10), "prob")
  )
})

test_that("a fit by formula is updated, saved, and goes on with its data", {
  skip_long()
  fit <- instant_gmm(~ log(eruptions) + waiting, faithful, 2)
  longer <- quietly(extend(fit, 5, progress = FALSE))
  bare <- drop_data(fit)
  expect_true(identical_fit(
    drop_data(longer),
    drop_data(quietly(extend(bare, 5, data = faithful, progress = FALSE)))
  ))
  expect_error(
    extend(bare, 5, data = faithful[-1, ], progress = FALSE),
    class = "gibbsite_error_argument"
  )
  expect_identical(predict(bare, faithful), predict(fit))
  path <- withr::local_tempfile()
  saveRDS(fit, path)
  expect_true(identical_fit(readRDS(path), fit))
  direct <- quietly(gibbs_gmm(~ eruptions, faithful, 2, draws = 10, burnin = 10,
    chains = 2, seed = 1, progress = FALSE
  ))
  more <- quietly(update(direct, k = 3))
  expect_identical(attr(more, "model")$k, 3L)
  expect_identical(attr(more, "model")$variables, "eruptions")
})

test_that("a fit goes on with data that are stored or prepared in other ways", {
  skip_unless_extended()
  set.seed(1)
  x <- cbind(a = rnorm(20), b = rnorm(20, 100))
  holes <- x
  holes[3, 1] <- NA
  table <- as.data.frame(x)
  sorted <- sort(x[, 1])
  twice <- nameless <- x
  colnames(twice) <- c("a", "a")
  colnames(nameless) <- c("a", NA)
  goes_on <- function(fit, data) {
    more <- quietly(suppressMessages(
      extend(drop_data(fit), 5, data = data, progress = FALSE)
    ))
    whole <- quietly(extend(fit, 5, progress = FALSE))
    expect_true(identical_fit(more, drop_data(whole)))
  }
  goes_on(instant_gmm(1:20, 2), as.double(1:20))
  goes_on(instant_gmm(sorted, 2), sorted + 0)
  goes_on(instant_gmm(x, "unknown"), unname(x))
  goes_on(instant_gmm(~ poly(a, 2) + b, table, "unknown"), table)
  goes_on(instant_gmm(nameless, 2), nameless)
  goes_on(instant_gmm(~ poly(a, 2) + b, table, 2), table)
  brief <- function(...) {
    quietly(gibbs_gmm(
      ..., draws = 10, burnin = 5, chains = 1, seed = 1, progress = FALSE
    ))
  }
  goes_on(brief(~ scale(a), table, 2, subset = b > 100), table)
  goes_on(brief(~ a, table, 2, subset = b > 100), table[table$b > 100, ])
  suppressMessages({
    left_out <- instant_gmm(holes, 2, na_action = "omit")
    goes_on(instant_gmm(twice, 2), twice)
  })
  goes_on(left_out, holes)
  goes_on(left_out, x[-3, ])
  goes_on(instant_gmm(table$a, 2), table["a"])
  goes_on(brief(~ a, table, 2, subset = c(5, 5, 1:15)), table[c(5, 5, 1:15), ])
  # the fit keeps its own names
  rownames(x) <- paste0("r", 1:20)
  named <- instant_gmm(x, 2)
  expect_true(identical_fit(
    quietly(extend(named, 5, data = unname(x), progress = FALSE)),
    quietly(extend(named, 5, progress = FALSE))
  ))
  expect_gibbsite_error({
    extend(drop_data(left_out), 5, data = x[-4, ])
    extend(left_out, 5, data = x[-4, ])
  })
})

test_that("a column of new data may hold NA alone", {
  skip_long()
  fit <- instant_gmm(faithful, 2)
  expect_identical(
    predict(fit, data.frame(eruptions = 2, waiting = NA), "prob"),
    predict(fit, cbind(eruptions = 2, waiting = NA), "prob")
  )
})

test_that("a matrix with equal or missing names of columns is predicted", {
  skip_long()
  x <- as.matrix(faithful)
  known <- predict(instant_gmm(x, 2), type = "prob")
  for (names in fast_or(list(c("a", NA)), list(
    c("a", "a"), c("a", NA), c("a", "")
  ))) {
    colnames(x) <- names
    suppressMessages({
      fit <- instant_gmm(x, 2)
      expect_identical(predict(fit, x, type = "prob"), known)
    })
  }
})

test_that("without moves of groups a fit goes on with its data given again", {
  skip_long()
  fit <- short_gmm(draws = 10, merge_split = FALSE, keep_data = FALSE)
  more <- quietly(extend(fit, 5, data = faithful, progress = FALSE))
  expect_true(identical_fit(
    drop_data(more), drop_data(short_gmm(draws = 15, merge_split = FALSE))
  ))
})

test_that("covariances of a prior may be data frames and Matrix objects", {
  skip_long()
  spd <- matrix(c(2, 1, 1, 3), 2, dimnames = list(c("a", "b"), c("a", "b")))
  priors <- list(
    function(x) gmm_prior(v0 = x, s0 = x),
    function(x) hlm_prior("inverse-wishart", df = 4, scale = x),
    function(x) logistic_prior(slope_variance = x),
    function(x) random_walk(cov = x)
  )
  forms <- list(
    as.data.frame(spd), Matrix::Matrix(spd), Matrix::Matrix(spd, sparse = TRUE)
  )
  expect_identical(
    gmm_prior(v0 = Matrix::Diagonal(2)), gmm_prior(v0 = diag(2))
  )
  for (prior in priors) {
    for (form in fast_or(forms[2], forms)) {
      expect_identical(prior(form), prior(spd))
    }
    expect_gibbsite_error(prior(data.frame(a = "1")))
  }
})

test_that("matrices of the Matrix package are those of R", {
  skip_long()
  known <- instant_gmm(faithful, 2)
  dense <- Matrix::Matrix(as.matrix(faithful), sparse = FALSE)
  sparse <- Matrix::Matrix(as.matrix(faithful), sparse = TRUE)
  for (x in list(dense, sparse, methods::as(sparse, "TsparseMatrix"))) {
    # row names of a matrix are kept, those of a data frame are its numbers
    rownames(x) <- NULL
    expect_true(identical_fit(instant_gmm(x, 2), known))
    expect_identical(
      predict(known, x[1:4, 2:1], "prob"),
      predict(known, faithful[1:4, ], "prob"), ignore_attr = TRUE
    )
  }
  zeros <- Matrix::sparseMatrix(1:30, rep(1:2, 15), x = 1:30)
  expect_true(identical_fit(
    instant_gmm(zeros, 2), instant_gmm(as.matrix(zeros), 2)
  ))
})

test_that("formulas and matrices that cannot be are refused", {
  skip_long()
  none <- 1:3
  flags <- Matrix::Matrix(c(TRUE, FALSE), 2)
  large <- Matrix::sparseMatrix(1, 1, x = 1, dims = c(2^16, 2^16))
  expect_gibbsite_error({
    gibbs_gmm()
    gibbs_gmm(k = 2)
    gibbs_gmm(~ eruptions, faithful)
    gibbs_gmm(~ eruptions, faithful, 2, wrong = 3)
    gibbs_gmm(eruptions ~ waiting, faithful, 2)
    gibbs_gmm(~ ., iris, 3)
    gibbs_gmm(~ eruptions * waiting, faithful, 2)
    gibbs_gmm(~ eruptions + offset(waiting), faithful, 2)
    gibbs_gmm(~ 1, faithful, 2)
    gibbs_gmm(~ . - eruptions - waiting, faithful, 2)
    gibbs_gmm(~ nothing, faithful, 2)
    gibbs_gmm(~ ., k = 2)
    gibbs_gmm(~ none, k = 4)
    gibbs_gmm(~ eruptions, faithful, 300)
    gibbs_gmm(~ eruptions, faithful, 2, subset = "none")
    gibbs_gmm(flags, 1)
    gibbs_gmm(large, 1)
  })
  fit <- instant_gmm(~ log(eruptions) + waiting, faithful, 2)
  expect_gibbsite_error({
    predict(fit, faithful["waiting"])
    predict(fit, c(2, 50))
    predict(fit, data.frame(eruptions = "2", waiting = 3))
    predict(fit, data.frame(eruptions = 0, waiting = 3))
  })
})

test_that("sim_gmm draws from the mixture", {
  skip_long()
  set.seed(6)
  x <- sim_gmm(4000, c(0.3, 0.7), rbind(c(a = 0, b = 0), c(4, 1)),
               matrix(c(1, 0.5, 0.5, 2), 2))
  z <- attr(x, "z")
  expect_identical(dim(x), c(4000L, 2L))
  expect_identical(colnames(x), c("a", "b"))
  expect_lt(abs(mean(z == 1) - 0.3), 4.5 * sqrt(0.21 / 4000))
  expect_lt(abs(mean(x[z == 2, 1]) - 4), 4.5 / sqrt(sum(z == 2)))
  error <- sqrt((1 * 2 + 0.25) / 4000)
  expect_lt(abs(stats::cov(x[z == 2, ])[1, 2] - 0.5),
            4.5 * error / sqrt(0.7))
  set.seed(6)
  again <- sim_gmm(4000, c(0.3, 0.7), rbind(c(a = 0, b = 0), c(4, 1)),
                   array(rep(c(1, 0.5, 0.5, 2), each = 2), c(2, 2, 2)))
  expect_identical(again, x)
  one <- sim_gmm(3, c(0.5, 0.5), c(0, 9), c(1, 4))
  expect_identical(dim(one), c(3L, 1L))
  expect_identical(colnames(one), "x1")
  expect_identical(dim(sim_gmm(1, 1, 0, 1)), c(1L, 1L))
  expect_gibbsite_error({
    sim_gmm(0, 1, 0, 1)
    sim_gmm(3, c(0.5, 0.6), c(0, 1), 1)
    sim_gmm(3, c(-0.5, 1.5), c(0, 1), 1)
    sim_gmm(3, c(0.5, 0.5), c(0, 1, 2), 1)
    sim_gmm(3, c(0.5, 0.5), c(0, NA), 1)
    sim_gmm(3, c(0.5, 0.5), c(0, 1), -1)
    sim_gmm(3, c(0.5, 0.5), diag(2), matrix(c(1, 2, 2, 1), 2))
    sim_gmm(3, c(0.5, 0.5), diag(2), diag(3))
  })
})

# ---- what a fit is ---------------------------------------------------------

test_that("blocks, labels and headlines of each form", {
  skip_long()
  shapes <- list(full = c(2L, 2L, 2L), diagonal = c(2L, 2L),
                 shared = c(2L, 2L))
  for (form in forms) {
    fit <- short_gmm(10, covariance = form, keep = "z")
    size <- c(10L, 2L)
    expect_identical(dim(draws_of(fit, "pi")), c(size, 2L))
    expect_identical(dim(draws_of(fit, "mu")), c(size, 2L, 2L))
    block <- if (form == "diagonal") "sigma2" else "Sigma"
    expect_identical(dim(draws_of(fit, block)), c(size, shapes[[form]]))
    expect_identical(dim(draws_of(fit, "z")), c(size, 272L))
    expect_identical(dim(draws_of(fit, "log_lik")), size)
  }
  labels <- function(form) {
    fit <- short_gmm(10, covariance = form)
    cat(attr(fit, "model")$headline, "\n")
    table <- tidy(fit)
    writeLines(paste0(table$term, ": ", table$label))
  }
  expect_snapshot(for (form in forms) labels(form))
  fit <- short_gmm(10, x = faithful_with_holes(), na_action = "impute",
                   keep = c("z", "x"))
  all <- gibbsite:::model_labels(attr(fit, "model"))
  expect_identical(
    all$label[match(c("z[3]", "x[10,1]", "x[50,2]"), all$variable)],
    c("component of observation 3", "eruptions of observation 10",
      "waiting of observation 50")
  )
  expect_match(attr(fit, "model")$headline, "5 missing")
})

test_that("covariances of the draws are symmetric and positive definite", {
  skip_long()
  for (form in forms) {
    draws <- all_draws(short_gmm(fast_or(1, 8), k = 3, covariance = form))
    for (s in seq_len(nrow(draws))) {
      p <- parameters_by_hand(draws[s, ])
      expect_equal(sum(p$pi), 1)
      for (sigma in p$sigma) {
        expect_identical(sigma, t(sigma))
        expect_gt(min(eigen(sigma, TRUE, TRUE)$values), 0)
      }
    }
  }
})

test_that("glance and summary speak of invariant quantities", {
  skip_long()
  fit <- short_gmm(60, k = 3, covariance = "shared")
  expect_identical(nrow(glance(fit)), 1L)
  table <- summary(fit)
  expect_identical(table$variable, colnames(fit[[1]]))
  out <- capture.output(print(table))
  expect_true(any(grepl("numbered to agree", out)))
  expect_true(any(grepl("^weight\\[3\\]", out)))
  expect_identical(
    colnames(gibbsite:::model_invariants(attr(fit, "model"), fit[[1]])),
    c("log_lik", "weight[1]", "weight[2]", "weight[3]", "mean[1]", "mean[2]",
      "cov[1,1]", "cov[2,1]", "cov[2,2]", "together")
  )
})

test_that("invariants are the moments of the mixture", {
  skip_long()
  for (form in fast_or("shared", forms)) {
    fit <- short_gmm(5, k = 3, covariance = form)
    draws <- all_draws(fit)
    out <- gibbsite:::model_invariants(attr(fit, "model"), draws)
    for (s in seq_len(nrow(draws))) {
      p <- parameters_by_hand(draws[s, ])
      mean <- colSums(p$pi * p$mu)
      second <- Reduce(`+`, lapply(1:3, function(c) {
        p$pi[c] * (p$sigma[[c]] + tcrossprod(p$mu[c, ]))
      }))
      cov <- second - tcrossprod(mean)
      points <- attr(fit, "model")$reference
      share <- t(apply(points, 1L, function(at) {
        density <- vapply(1:3, function(c) {
          p$pi[c] * prod(dnorm(at, p$mu[c, ], sqrt(diag(p$sigma[[c]]))))
        }, 0)
        density / sum(density)
      }))
      weights <- 1 + (sqrt(2) * seq_len(nrow(points))) %% 1
      expect_equal(unname(out[s, ]), unname(c(
        draws[s, "log_lik"], sort(p$pi, decreasing = TRUE), mean,
        cov[1, 1], cov[2, 1], cov[2, 2], sum(colSums(weights * share)^2)
      )), tolerance = 1e-10)
    }
  }
})

test_that("modes that are mirror images are told apart", {
  points <- reference_points(cbind(c(-10, 0, 10)))
  expect_equal(points, cbind(c(0, 10, -10)))
  # {-10 and 0 | 10} and {-10 | 0 and 10}
  draws <- rbind(c(2 / 3, 1 / 3, -5, 10, 26, 1), c(1 / 3, 2 / 3, -10, 5, 1, 26))
  blocks <- list(
    k = 2L, d = 1L, covariance = "full", pi = draws[, 1:2], mu = draws[, 3:4],
    sigma = draws[, 5:6]
  )
  found <- points_together(points, blocks)
  expect_gt(abs(diff(found)), 0.5)
  # whatever the numbers of the components
  turned <- lapply(blocks[4:6], function(block) block[, 2:1])
  expect_equal(points_together(points, c(blocks[1:3], turned)), found)
  # components without weight change nothing, nor does one of no spread
  more <- list(
    k = 3L, d = 1L, covariance = "full", pi = cbind(blocks$pi, 0),
    mu = cbind(blocks$mu, 0), sigma = cbind(blocks$sigma, 0)
  )
  expect_equal(points_together(points, more), found)
  expect_identical(reference_points(cbind(c(NA, 3), c(NA_real_, NA)))[2:3, ],
                   matrix(c(3, 3, 0, 0), 2L))
  # one component puts all together: the quantities of a state do not depend on
  # its number of components
  one <- lapply(blocks[4:6], function(block) block[, 1L, drop = FALSE])
  one$pi[] <- 1
  weights <- 1 + (sqrt(2) * 1:3) %% 1
  expect_equal(
    points_together(points, c(list(k = 1L), blocks[2:3], one)),
    rep(sum(weights)^2, 2)
  )
  # a chain that jumps between them is not converged
  set.seed(2)
  x <- c(rnorm(40, -10), rnorm(40), rnorm(40, 10))
  fit <- quietly(gibbs_gmm(x, 2, draws = 300, burnin = 200, chains = 2,
                           seed = 1, progress = FALSE))
  table <- convergence(fit)
  expect_false(converged(fit))
  together <- table$variable == "together"
  expect_lt(table$ess_bulk[together], 100)
  expect_gt(min(table$ess_bulk[!together]), 300)
})

# The shape of s0 as ?gmm_prior defines it, row by row.
within_by_hand <- function(x) {
  x <- unname(x)
  d <- ncol(x)
  w <- total <- cov(x)
  gap <- apply(x, 2, function(v) {
    repeated <- length(unique(v)) < length(v) / 2
    if (repeated) median(diff(sort(unique(v)))) else 0
  })
  for (round in 1:10) {
    mean <- 0
    for (i in seq_len(nrow(x))) {
      to <- mahalanobis(x, x[i, ], w)
      others <- to > 1e-20
      near <- sort(to[others])[[ceiling(nrow(x) / 5)]] * (1 + 1e-7)
      away <- sweep(x[others & to <= near, , drop = FALSE], 2, x[i, ])
      s <- crossprod(away) / (2 * nrow(away)) + diag(gap^2 / 12)
      mean <- mean + d * s / sum(diag(solve(w, s))) / nrow(x)
    }
    w <- mean
  }
  w * (det(total) / det(w))^(1 / d)
}

# n observations in each of three groups, with correlations .95 within groups
# and -1 and 1 between them.
three_groups <- function(n, apart, d = 2) {
  set.seed(11)
  correlation <- matrix(0.95, d, d) + diag(0.05, d)
  centres <- tcrossprod(apart * c(0, 1, -1.5), (-1)^seq_len(d))
  list(
    x = centres[rep(1:3, n), ] + matrix(rnorm(3 * n * d), 3 * n) %*%
      chol(correlation),
    within = correlation
  )
}

test_that("the prior that was used is shown", {
  skip_long()
  x <- as.matrix(datasets::faithful)[1:90, ]
  prior <- prior_summary(short_gmm(5, x = x))
  expect_equal(prior$alpha, c(3, 3))
  expect_equal(prior$m0, unname(apply(x, 2, function(v) mean(range(v)))))
  expect_equal(prior$v0, diag(unname(apply(x, 2, function(v) {
    diff(range(v))^2
  }))))
  expect_equal(prior$nu0, 4)
  expect_equal(prior$s0, within_by_hand(x) / 2, tolerance = 1e-6)
  variances <- diag(unname(apply(x, 2, stats::var)))
  expect_equal(prior_summary(short_gmm(5, x = x, covariance = "diagonal"))[
    c("nu0", "s0")
  ], list(nu0 = 3, s0 = variances / 2))
  shared <- prior_summary(short_gmm(5, x = x, covariance = "shared"))
  expect_identical(shared$s0, prior$s0)
  given <- gmm_prior(alpha = 1:2, m0 = 3, v0 = c(1, 9), nu0 = 7,
                     s0 = matrix(c(1, 0.5, 0.5, 2), 2))
  expect_snapshot({
    gmm_prior()
    given
    prior_summary(short_gmm(5, prior = given))
  })
  expect_equal(prior_summary(short_gmm(5, prior = given))$m0, c(3, 3))
})

test_that("the default scale has the shape of the covariance within groups", {
  skip_long()
  for (d in fast_or(2, c(2, 4))) {
    made <- three_groups(200, 5, d)
    scale <- default_spread(made$x, "full", NULL)
    expect_equal(det(scale), det(cov(made$x)), tolerance = 1e-10)
    expect_equal(cov2cor(scale), made$within, tolerance = 0.04)
    # the covariance of all data is far from it
    expect_gt(max(abs(cov2cor(cov(made$x)) - made$within)), 0.3)
    # other units and directions
    turn <- matrix(rnorm(d^2), d)
    expect_equal(
      default_spread(made$x %*% turn, "full", NULL),
      crossprod(turn, scale %*% turn), tolerance = 1e-3
    )
  }
  x <- round(three_groups(12, 2)$x, 1)
  x <- rbind(x, x[1:3, ], NA, c(1, NA))
  complete <- x[1:39, ]
  expect_equal(default_spread(x, "full", NULL), within_by_hand(complete),
               tolerance = 1e-6)
  # 500 of many, of each group as many: rows of a group may alternate
  x <- three_groups(400, 4)$x
  for (period in 2:7) {
    taken <- tabulate(rows_taken(1200, 500) %% period + 1)
    expect_lt(diff(range(taken)), 8)
  }
  expect_identical(rows_taken(500, 500), 1:500)
  expect_equal(
    cov2cor(default_spread(x, "shared", NULL)),
    cov2cor(within_covariance(x[rows_taken(1200, 500), ])), tolerance = 1e-3
  )
  # a few observations far away: a small group, and an outlier
  set.seed(3)
  x <- matrix(rnorm(400), 200)
  for (far in list(rep(c(0, 20), c(190, 10)), rep(c(0, 1e3), c(199, 1)))) {
    expect_gt(cor(x + far)[2, 1], 0.9)
    expect_lt(abs(cov2cor(within_covariance(x + far))[2, 1]), 0.7)
  }
  # one value between those of a scale
  x <- cbind(rpois(300, 1), rnorm(300))
  spread <- within_covariance(x)
  x[1, 1] <- x[1, 1] + 1e-4
  expect_equal(within_covariance(x), spread, tolerance = 0.1)
})

test_that("the default scale is diagonal where a shape cannot be estimated", {
  skip_long()
  x <- three_groups(100, 4)$x
  spread <- function(x, covariance = "full") {
    default_spread(x, covariance, "variances")
  }
  expect_false(identical(spread(x[1:24, ]), "variances"))
  expect_identical(spread(x[1:23, ]), "variances")
  expect_identical(spread(rbind(x[1:23, ], NA)), "variances")
  expect_identical(spread(x, "diagonal"), "variances")
  expect_identical(spread(x[, 1, drop = FALSE]), "variances")
  expect_identical(spread(cbind(x[, 1], 3)), "variances")
  expect_identical(spread(cbind(x[, 1], 3 - x[, 1])), "variances")
  # few different rows, all of one kind but one
  expect_identical(
    spread(cbind(c(1, rep(2, 59)), c(1, rep(5, 59)))), "variances"
  )
  # the rows that are used are all equal
  many <- matrix(1, 2000, 2)
  many[setdiff(1:2000, rows_taken(2000, 500))[1:4], ] <- 1:8
  expect_identical(spread(many), "variances")
  # values of a scale do not make a variance vanish
  scores <- matrix(rep(1:4, each = 20, length.out = 320), 160)
  scores <- scores + rbinom(320, 1, 0.5)
  expect_gt(min(diag(spread(scores)) / apply(scores, 2, var)), 0.1)
  # nor the others: a variable that is rarely 1
  rare <- cbind(rbinom(400, 1, 0.05), rnorm(400))
  expect_gt(min(diag(spread(rare)) / apply(rare, 2, var)), 0.1)
})

test_that("four groups that differ in a small direction are found", {
  skip_unless_extended()
  # the forms of the crabs of ?MASS::crabs: one size, and small differences
  set.seed(5)
  group <- rep(1:4, each = 50)
  size <- exp(rnorm(200, 0, 0.25))
  form <- rbind(
    c(12, 15, 30, 33, 14), c(14, 12, 30, 34, 14), c(16, 16, 32, 34, 16),
    c(18, 13, 33, 34, 16)
  )
  x <- form[group, ] * size + rnorm(1000, 0, 0.4)
  fit <- quietly(gibbs_gmm(x, 4, seed = 1, progress = FALSE))
  expect_true(converged(fit))
  found <- table(group, predict(fit))
  expect_gt(sum(apply(found, 2, max)), 180)
  expect_identical(min(all_draws(fit)[, "n_occupied"]), 4)
})

test_that("names of a prior's fields are those of the columns", {
  skip_long()
  one <- gmm_prior(m0 = c(3, 70), v0 = c(1, 9), s0 = diag(c(2, 8)))
  turned <- matrix(c(8, 0, 0, 2), 2)
  dimnames(turned) <- list(NULL, c("waiting", "eruptions"))
  named <- gmm_prior(
    m0 = c(waiting = 70, eruptions = 3), v0 = c(waiting = 9, eruptions = 1),
    s0 = turned
  )
  expect_true(identical_fit(
    short_gmm(5, prior = named), short_gmm(5, prior = one)
  ))
  drawn <- gmm_prior(s0 = "drawn", s0_mean = turned)
  expect_identical(
    prior_summary(short_gmm(5, k = "unknown", prior = drawn))$s0_mean,
    diag(c(2, 8))
  )
  # of columns without names, with equal names, and alone
  x <- as.matrix(faithful)
  with_names <- gmm_prior(m0 = colMeans(x), v0 = stats::cov(x))
  bare <- gmm_prior(m0 = unname(colMeans(x)), v0 = unname(stats::cov(x)))
  prior_of <- function(x, prior, ...) {
    suppressMessages(prior_summary(short_gmm(5, x = x, prior = prior, ...)))
  }
  twice <- `colnames<-`(x, c("a", "a"))
  for (k in fast_or(list(2), list(2, "unknown"))) {
    expect_identical(
      prior_of(unname(x), with_names, k = k), prior_of(unname(x), bare, k = k)
    )
    same <- gmm_prior(m0 = colMeans(twice), v0 = stats::cov(twice))
    expect_identical(prior_of(twice, same, k = k), prior_of(twice, bare, k = k))
    one <- gmm_prior(m0 = c(foo = 3), v0 = stats::var(faithful["eruptions"]))
    expect_identical(prior_of(x[, 2], one, k = k)$m0, 3)
  }
  expect_gibbsite_error({
    short_gmm(5, prior = gmm_prior(m0 = c(a = 1, waiting = 2)))
    gmm_prior(v0 = matrix(c(2, 0, 0, 1), 2, dimnames = list(
      c("a", "b"), c("b", "a")
    )))
    short_gmm(5, prior = gmm_prior(v0 = c(waiting = 1, waiting = 2)))
    short_gmm(5, prior = gmm_prior(s0 = array(
      diag(2), c(2, 2), list(c("a", "b"), NULL)
    )))
  })
})

test_that("alpha is above half the parameters of a component, or sparse", {
  alpha <- function(form, ...) {
    prior <- complete_gmm_prior(gmm_prior(...), matrix(rnorm(40), 10), 2, form)
    prior$alpha
  }
  expect_identical(alpha("full"), rep((4 + 10 + 1) / 2, 2))
  expect_identical(alpha("diagonal"), rep((4 + 4 + 1) / 2, 2))
  expect_identical(alpha("shared"), rep((4 + 1) / 2, 2))
  expect_identical(alpha("full", alpha = "sparse"), rep(0.01, 2))
  expect_match(format(gmm_prior(alpha = "sparse")), "0.01 (\"sparse\")",
               fixed = TRUE, all = FALSE)
})

test_that("a sparse prior leaves components empty that are not needed", {
  skip_unless_extended()
  fit <- gibbs_gmm(
    faithful, 5, gmm_prior(alpha = "sparse"), draws = 500, seed = 4
  ) |> suppressWarnings()
  occupied <- unlist(lapply(fit, function(chain) chain[, "n_occupied"]))
  expect_lte(stats::median(occupied), 3)
  full <- gibbs_gmm(faithful, 5, draws = 500, seed = 4) |> suppressWarnings()
  occupied <- unlist(lapply(full, function(chain) chain[, "n_occupied"]))
  expect_gt(mean(occupied), 4.95)
})

test_that("moves of groups are counted, unless there are none", {
  skip_long()
  moved <- short_gmm(50)
  expect_match(capture.output(print(moved)), "^Moves that succeeded: ",
               all = FALSE)
  still <- short_gmm(50, merge_split = FALSE)
  expect_no_match(capture.output(print(still)), "^Moves that")
  expect_no_match(capture.output(print(short_gmm(50, k = 1))), "^Moves that")
  counts <- attr(still, "chains")[[1]]$state$moves
  expect_identical(counts, numeric(8))
})

# Chains without them keep apart on these data.
test_that("moves of groups lead from one mode to another", {
  skip_unless_extended()
  skip_if_not_installed("mclust")
  found <- new.env()
  utils::data("banknote", package = "mclust", envir = found)
  moved <- gibbs_gmm(found$banknote[-1], 2, seed = 2)
  expect_true(converged(moved))
  still <- gibbs_gmm(found$banknote[-1], 2, merge_split = FALSE, seed = 2) |>
    suppressWarnings()
  expect_false(converged(still))
})

test_that("combinations lead from one pair in a group to another", {
  skip_unless_extended()
  withr::local_seed(1)
  n <- 1500
  x <- cbind(a = rnorm(n), b = rnorm(n)) + 6 * rep(0:2, length.out = n)
  fit <- gibbs_gmm(x, 4, seed = 1)
  expect_true(converged(fit))
  still <- suppressWarnings(gibbs_gmm(x, 4, merge_split = FALSE, seed = 1))
  expect_false(converged(still))
})

test_that("starting values may be given in part, or be a fit", {
  skip_long()
  z <- rep(1:2, 136)
  full <- list(pi = c(0.4, 0.6), mu = rbind(c(2, 50), c(4, 80)), z = z)
  inits <- list(c(full, list(Sigma = array(1:8 %in% c(1, 2, 7, 8) + 0,
                                           c(2, 2, 2)))), full["mu"])
  expect_s3_class(short_gmm(5, inits = inits), "gibbs_gmm")
  shared <- list(Sigma = diag(2), mu = full$mu)
  for (entry in list(shared, list(z = z), list(mu = as.vector(full$mu)))) {
    fit <- short_gmm(5, inits = list(entry, entry), covariance = "shared")
    expect_s3_class(fit, "gibbs_gmm")
  }
  diagonal <- list(sigma2 = matrix(1:4, 2))
  fit <- short_gmm(5, inits = function(k) diagonal, covariance = "diagonal")
  expect_s3_class(fit, "gibbs_gmm")
  for (form in fast_or("diagonal", forms)) {
    fit <- short_gmm(5, covariance = form)
    expect_s3_class(short_gmm(5, covariance = form, inits = fit), "gibbs_gmm")
  }
  # a chain starts where it is told to: all in the first component
  one <- short_gmm(1, burnin = 0, prior = gmm_prior(alpha = 1e-3), chains = 1,
                   inits = list(list(z = rep(1, 272))))
  expect_identical(one[[1]][1, "n_occupied"][[1]], 1)
})

test_that("starting values that do not fit are refused", {
  skip_long()
  start <- function(..., covariance = "full") {
    gibbs_gmm(datasets::faithful, 2, covariance = covariance, draws = 5,
              chains = 1, inits = list(list(...)), progress = FALSE)
  }
  expect_gibbsite_error({
    start(1)
    start(sigma = 1)
    start(sigma2 = 1)
    start(Sigma = diag(2), covariance = "diagonal")
    start(pi = c(0.5, 0.6))
    start(pi = c(0, 1))
    start(pi = 1)
    start(mu = matrix(1, 2, 3))
    start(mu = matrix(1, 1, 4))
    start(mu = c(1, NA, 1, 1))
    start(mu = c(1, 2, 1e200, 1))
    start(mu = "a")
    start(z = 1)
    start(z = rep(3, 272))
    start(z = rep(1.5, 272))
    start(z = c(NA, rep(1, 271)))
    start(Sigma = diag(2))
    start(Sigma = array(1, c(2, 2, 2)))
    start(Sigma = matrix(c(1, 2, 2, 1), 2), covariance = "shared")
    start(sigma2 = matrix(c(1, 1, 1, 0), 2), covariance = "diagonal")
  })
})

# ---- search for the mode ---------------------------------------------------

test_that("icm finds a mode and says that it is no posterior", {
  skip_long()
  top <- gibbs_gmm(datasets::faithful, 2, method = "icm", seed = 1)
  expect_s3_class(top, c("gmm_map", "gibbsite_map"), exact = TRUE)
  expect_true(top$converged)
  expect_true(all(diff(top$trace) > -1e-9))
  expect_length(top$starts, 4)
  expect_identical(max(top$starts), top$log_joint)
  expect_snapshot(print(top))
  prob <- predict(top, type = "prob")
  expect_identical(unname(predict(top)), top$estimate$z)
  expect_equal(rowSums(prob), rep(1, 272), ignore_attr = TRUE)
  e <- top$estimate
  row <- c(e$pi, e$mu, e$Sigma)
  names(row) <- colnames(short_gmm(1)[[1]])[seq_along(row)]
  joint <- joint_by_hand(as.matrix(datasets::faithful), row)
  expect_equal(unname(prob), joint / rowSums(joint))
  new <- data.frame(waiting = c(50, NA, 80), eruptions = c(2, 4, NA))
  expect_identical(unname(predict(top, new)), c(2L, 1L, 1L))
  expect_gibbsite_error(predict(top, type = "density"))
})

test_that("icm ends where no block can rise", {
  skip_long()
  for (form in fast_or("full", forms)) {
    top <- gibbs_gmm(
      faithful_with_holes(), 2, method = "icm", seed = 1, covariance = form,
      na_action = "impute", chains = 2, prior = gmm_prior(alpha = 2)
    )
    expect_true(top$converged)
    expect_true(all(diff(top$trace) > -1e-9))
    n <- tabulate(top$estimate$z, 2)
    expect_equal(top$estimate$pi, (n + 1) / (272 + 2), tolerance = 1e-6)
    expect_length(top$estimate$x_missing, 5)
    # the same seed, the same search; another number of threads too
    again <- gibbs_gmm(
      faithful_with_holes(), 2, method = "icm", seed = 1, covariance = form,
      na_action = "impute", chains = 2, prior = gmm_prior(alpha = 2),
      threads = 2
    )
    expect_identical(again$estimate, top$estimate)
  }
})

test_that("icm puts weights of mode zero to zero", {
  skip_long()
  top <- gibbs_gmm(datasets::faithful, 5, method = "icm", seed = 1,
                   prior = gmm_prior(alpha = 0.01))
  expect_true(is.finite(top$log_joint))
  expect_true(all(is.finite(top$starts)))
  expect_true(top$converged)
  n <- tabulate(top$estimate$z, 5)
  expect_equal(top$estimate$pi, pmax(n - 0.99, 0) / sum(pmax(n - 0.99, 0)))
  expect_identical(top$estimate$pi == 0, n == 0)
  expect_output(print(top), "Log joint density -")
})

test_that("a search shows its starts, its climb and its prior", {
  skip_long()
  top <- gibbs_gmm(datasets::faithful, 2, method = "icm", seed = 1)
  table <- summary(top)
  expect_identical(table$log_joint, top$starts)
  expect_identical(max(table$log_joint[table$best]), top$log_joint)
  expect_s3_class(prior_summary(top), "gmm_prior")
  expect_identical(nobs(top), 272L)
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  expect_identical(plot(top), top)
  expect_gibbsite_error(summary(top, 3))
})

test_that("a search refuses or mentions what it has no use for", {
  skip_long()
  search <- function(...) {
    gibbs_gmm(datasets::faithful, 2, method = "icm", seed = 1, ...)
  }
  expect_gibbsite_error({
    search(checkpoint = file.path(tempdir(), "no-checkpoint"))
    search(stop_when = until())
    search(keep = "z")
  })
  expect_gibbsite_condition(
    short <- search(draws = 10, burnin = 5), "gibbsite_message_unused"
  )
  expect_identical(short$estimate, search()$estimate)
  expect_no_message(search(keep = NULL, checkpoint = NULL))
})

test_that("sizes and arguments that cannot be are refused by name", {
  skip_long()
  fit <- short_gmm(10)
  expect_gibbsite_error({
    posterior_predict(fit, nobs = 1e10)
    sim_gmm(1e12, 1, 0, 1)
    relabel(fit, by = 2)
    relabel(fit, "pivot", by = "waiting")
    bayesplot::pp_check(drop_data(fit))
    gibbs_gmm(faithful, 2, gmm_prior(s0 = 1e-320), progress = FALSE)
  })
  expect_gibbsite_condition(
    none <- short_gmm(5, keep = "x"), "gibbsite_message_unused"
  )
})

# ---- odd data --------------------------------------------------------------

expect_sound <- function(fit, draws = 20) {
  all <- all_draws(fit)
  expect_identical(nrow(all), as.integer(2 * draws))
  expect_true(all(is.finite(all)))
  for (s in c(1, nrow(all))) {
    for (sigma in parameters_by_hand(all[s, ])$sigma) {
      expect_true(all(diag(sigma) > 0))
    }
  }
  expect_true(all(is.finite(predict(fit, type = "prob"))))
}

test_that("every number of components up to n", {
  skip_long()
  x <- as.matrix(datasets::faithful)[1:6, ]
  for (form in fast_or("full", forms)) {
    for (k in fast_or(c(1, 6), c(1, 2, 5, 6))) {
      expect_sound(short_gmm(20, x = x, k = k, covariance = form))
    }
    one <- suppressMessages(short_gmm(
      20, x = x[1, , drop = FALSE], k = 1, covariance = form
    ))
    expect_sound(one)
    expect_true(all(all_draws(one)[, "pi[1]"] == 1))
  }
  expect_gibbsite_error({
    gibbs_gmm(x, 7)
    gibbs_gmm(x, 0)
    gibbs_gmm(x, 1.5)
    gibbs_gmm(x[1, , drop = FALSE], 2)
  })
})

test_that("a constant column counts as one of spread 1, and says so", {
  skip_long()
  x <- cbind(a = 3, b = datasets::faithful$waiting)
  expect_gibbsite_condition(
    fit <- short_gmm(20, x = x), "gibbsite_message_constant"
  )
  expect_equal(diag(prior_summary(fit)$v0)[1], 1)
  expect_equal(diag(prior_summary(fit)$s0)[1], 1 / 2)
  for (form in fast_or("shared", forms)) {
    expect_sound(suppressMessages(short_gmm(20, x = x, covariance = form)))
  }
  expect_sound(suppressMessages(short_gmm(20, x = matrix(5, 30, 2))))
  expect_sound(suppressMessages(short_gmm(20, x = 7, k = 1)))
})

test_that("duplicated rows are observations like others", {
  skip_unless_extended()
  x <- as.matrix(datasets::faithful)[rep(c(1, 2, 3), each = 30), ]
  for (form in forms) {
    for (k in c(2, 5)) {
      expect_sound(short_gmm(20, x = x, k = k, covariance = form))
    }
  }
})

test_that("nearly singular data are no trouble", {
  skip_long()
  withr::local_seed(8)
  u <- stats::rnorm(100)
  collinear <- cbind(u, v = u + 1e-9 * stats::rnorm(100))
  offset <- cbind(a = 1e8 + stats::rnorm(100), b = -1e8 + stats::rnorm(100))
  equal <- cbind(a = u, b = u, c = -2 * u)
  for (form in fast_or("full", forms)) {
    for (x in list(collinear, offset, equal)) {
      expect_sound(short_gmm(20, x = x, covariance = form))
    }
  }
})

test_that("a large offset changes the draws by its rounding alone", {
  skip_unless_extended()
  withr::local_seed(9)
  x <- round(rbind(matrix(stats::rnorm(60), 30),
                   matrix(stats::rnorm(60, 6), 30)), 2)
  # a whole number of 2^-20: the sum with 2^26 is exact
  x <- round(x * 2^20) / 2^20
  for (form in forms) {
    near <- short_gmm(20, x = x, covariance = form)
    far <- short_gmm(20, x = x + 2^26, covariance = form)
    mu <- grep("^mu", colnames(near[[1]]))
    rest <- setdiff(seq_along(colnames(near[[1]])), mu)
    expect_equal(all_draws(far)[, mu] - 2^26, all_draws(near)[, mu],
                 tolerance = 1e-5)
    expect_equal(all_draws(far)[, rest], all_draws(near)[, rest],
                 tolerance = 1e-5)
  }
})

test_that("units do not matter", {
  skip_unless_extended()
  x <- as.matrix(datasets::faithful)
  for (form in forms) {
    base <- short_gmm(20, x = x, covariance = form)
    for (scale in 2^c(-200, -20, 20, 200)) {
      fit <- short_gmm(20, x = x * scale, covariance = form)
      expect_sound(fit)
      expect_equal(all_draws(fit)[, 1:2], all_draws(base)[, 1:2])
      expect_equal(all_draws(fit)[, 3:6] / scale, all_draws(base)[, 3:6])
      expect_equal(
        all_draws(fit)[, "log_lik"] + 272 * 2 * log(scale),
        all_draws(base)[, "log_lik"]
      )
    }
  }
})

test_that("data whose squares overflow are refused", {
  skip_long()
  x <- as.matrix(datasets::faithful)
  expect_gibbsite_error({
    gibbs_gmm(x * 1e180, 2)
    gibbs_gmm(x * rep(c(1, 1e-180), each = 272), 2)
  })
})

test_that("tiny concentrations leave weights that may underflow", {
  skip_unless_extended()
  for (form in forms) {
    fit <- short_gmm(20, 100, k = 6, covariance = form,
                     prior = gmm_prior(alpha = 1e-3))
    expect_sound(fit)
    weight <- all_draws(fit)[, paste0("pi[", 1:6, "]")]
    expect_lt(min(weight), 1e-100)
    expect_equal(rowSums(weight), rep(1, 40))
  }
})

# With alpha = 1e-5 a component that is empty stays so (its weight is below 1e-5
# but for one sweep in 10,000), and each sweep draws it from the prior anew.
test_that("a component that stays empty is distributed as the prior", {
  skip_unless_extended()
  x <- withr::with_seed(10, matrix(stats::rnorm(80), 40))
  s0 <- list(full = matrix(c(2, 0.5, 0.5, 1), 2), diagonal = c(2, 1),
             shared = 1)
  v0 <- matrix(c(4, 1, 1, 9), 2)
  for (form in forms) {
    prior <- gmm_prior(alpha = 1e-5, m0 = c(1, -2), v0 = v0, nu0 = 5,
                       s0 = s0[[form]])
    fit <- short_gmm(1000, x = x, chains = 1, covariance = form, prior = prior,
                     inits = list(list(z = rep(1, 40))), keep = "z")
    draws <- all_draws(fit)
    z <- draws[, paste0("z[", 1:40, "]")]
    empty <- draws[rowSums(z == 2) == 0, ]
    expect_gt(nrow(empty), 990)
    fits <- function(values, ...) {
      expect_gt(stats::ks.test(values, ...)$p.value, 1e-4)
    }
    fits(empty[, "mu[2,1]"], "pnorm", 1, 2)
    fits(empty[, "mu[2,2]"], "pnorm", -2, 3)
    centred <- t(empty[, c("mu[2,1]", "mu[2,2]")]) - c(1, -2)
    fits(colSums(centred * solve(v0, centred)), "pchisq", 2)
    if (form == "full") {
      # S0_11 / Sigma_11 ~ chi^2(nu0 - d + 1)
      fits(2 / empty[, "Sigma[2,1,1]"], "pchisq", 4)
      fits(1 / empty[, "Sigma[2,2,2]"], "pchisq", 4)
    } else if (form == "diagonal") {
      fits(2 / empty[, "sigma2[2,1]"], "pchisq", 5)
      fits(1 / empty[, "sigma2[2,2]"], "pchisq", 5)
    }
  }
})

test_that("what is missing is refused, left out or drawn", {
  skip_long()
  x <- faithful_with_holes()
  expect_gibbsite_error({
    gibbs_gmm(x, 2)
    gibbs_gmm(datasets::airquality[, c("Wind", "Ozone")], 2)
    gibbs_gmm(cbind(x[, 1], NA), 2, na_action = "impute")
    gibbs_gmm(cbind(a = c(1, NA), b = c(NA, 2)), 1, na_action = "omit")
    gibbs_gmm(x, 2, na_action = "drop")
  })
  expect_gibbsite_condition(
    left <- short_gmm(10, x = x, na_action = "omit"), "gibbsite_message_omitted"
  )
  expect_identical(
    all_draws(left), all_draws(short_gmm(10, x = stats::na.omit(x)))
  )
  for (form in fast_or("diagonal", forms)) {
    drawn <- short_gmm(20, x = x, na_action = "impute", covariance = form,
                       keep = "x")
    expect_sound(drawn)
    expect_identical(attr(drawn, "model")$rows, 272L)
    expect_identical(nobs(drawn), 272L - sum(rowSums(!is.na(x)) == 0))
  }
  # complete data: nothing to impute
  expect_identical(
    all_draws(short_gmm(10, na_action = "impute", keep = "x")),
    all_draws(short_gmm(10))
  )
  # k is compared with the rows that are left
  expect_error(
    gibbs_gmm(cbind(a = c(1, NA, 3), b = c(1, 2, 3)), 3, na_action = "omit"),
    class = "gibbsite_error_argument"
  ) |> suppressMessages()
  # half of the entries, and variables that are never seen together
  withr::local_seed(11)
  half <- matrix(stats::rnorm(120), 40)
  half[sample(120, 60)] <- NA
  apart <- cbind(a = c(1:10, rep(NA, 10)), b = c(rep(NA, 10), 1:10)) + 0
  for (form in fast_or("shared", forms)) {
    for (y in list(half, apart)) {
      expect_sound(short_gmm(20, x = y, na_action = "impute",
                             covariance = form))
    }
  }
})

test_that("data that are no numbers are refused", {
  skip_long()
  expect_gibbsite_error({
    gibbs_gmm(datasets::iris, 3)
    gibbs_gmm("a", 1)
    gibbs_gmm(cbind(1:3, c(1, Inf, 2)), 1)
    gibbs_gmm(c(1, NaN), 1)
    gibbs_gmm(matrix(0, 0, 2), 1)
    gibbs_gmm(NULL, 1)
  })
})

test_that("choices that do not exist are refused", {
  skip_long()
  expect_gibbsite_error({
    gibbs_gmm(datasets::faithful, 2, covariance = "spherical")
    gibbs_gmm(datasets::faithful, 2, method = "em")
    gibbs_gmm(datasets::faithful, 2, keep = "mu")
    gibbs_gmm(datasets::faithful, 2, prior = list(alpha = 1))
  })
})

test_that("priors that do not fit are refused", {
  skip_long()
  gmm <- function(..., covariance = "full", k = 2) {
    gibbs_gmm(datasets::faithful, k, gmm_prior(...), covariance = covariance,
              progress = FALSE)
  }
  expect_gibbsite_error({
    gmm_prior(alpha = 0)
    gmm_prior(alpha = "a")
    gmm_prior(alpha = "Sparse")
    gmm_prior(m0 = NA)
    gmm_prior(v0 = -1)
    gmm_prior(v0 = matrix(c(1, 2, 2, 1), 2))
    gmm_prior(v0 = matrix(1, 2, 3))
    gmm_prior(nu0 = 0)
    gmm_prior(nu0 = 1:2)
    gmm_prior(s0 = matrix(c(1, 2, 3, 4), 2))
    gmm(alpha = 1:3)
    gibbs_gmm(datasets::faithful, 2, merge_split = 1)
    gmm(m0 = 1:3)
    gmm(v0 = 1:3)
    gmm(v0 = diag(3))
    gmm(s0 = diag(3))
    gmm(nu0 = 1)
    gmm(nu0 = 0.5, covariance = "shared")
    gmm(s0 = matrix(c(2, 1, 1, 2), 2), covariance = "diagonal")
  })
  # diagonal: any positive degrees of freedom
  expect_s3_class(
    short_gmm(5, covariance = "diagonal", prior = gmm_prior(nu0 = 0.5)),
    "gibbs_gmm"
  )
  expect_s3_class(short_gmm(5, prior = gmm_prior(nu0 = 1.01)), "gibbs_gmm")
})

test_that("questions that a fit cannot answer are refused", {
  skip_long()
  fit <- short_gmm(10)
  uneven <- short_gmm(10, prior = gmm_prior(alpha = 1:2))
  expect_gibbsite_error({
    relabel(1)
    relabel(fit, "size")
    relabel(fit, "ordered", by = "depth")
    relabel(fit, "ordered", by = 3)
    relabel(fit, "ordered", by = 1:2)
    relabel(uneven, "random")
    coclustering(fit)
    coclustering("a")
    allocation_probabilities(NULL)
    log_lik(fit, ndraws = 21)
    posterior_predict(fit, ndraws = 21)
    posterior_predict(fit, nobs = 0)
    plot(fit, type = "pie")
    plot(fit, "mixture", variables = "depth")
    plot(fit, "mixture", variables = integer())
    plot(fit, level = 2)
  })
})

# ---- pictures --------------------------------------------------------------

test_that("every kind of data has a picture", {
  skip_long()
  pdf(NULL)
  withr::defer(dev.off())
  withr::local_seed(12)
  # three columns of which two are the same
  three <- cbind(datasets::faithful, long = datasets::faithful$eruptions)
  eight <- matrix(stats::rnorm(400), 50)
  holes <- faithful_with_holes()
  pictures <- alist(
    short_gmm(20, x = datasets::faithful$eruptions),
    short_gmm(20), short_gmm(20, k = 1),
    short_gmm(20, x = datasets::faithful$waiting, k = 1),
    short_gmm(20, k = 9, covariance = "shared"),
    short_gmm(20, x = holes, na_action = "impute"),
    short_gmm(20, x = holes[, 2], na_action = "impute"),
    short_gmm(20, x = three, k = 1), short_gmm(20, x = three, k = 3),
    short_gmm(20, x = cbind(holes, z = stats::rnorm(272)),
              na_action = "impute", covariance = "diagonal"),
    short_gmm(20, x = eight), short_gmm(1, chains = 1),
    suppressMessages(short_gmm(20, x = cbind(1, stats::rnorm(20))))
  )
  for (picture in pictures[fast_or(c(1, 10), 1:13)]) {
    fit <- eval(picture)
    before <- graphics::par(no.readonly = TRUE)
    expect_identical(expect_invisible(plot(fit)), fit)
    after <- graphics::par(no.readonly = TRUE)
    expect_identical(after$mar, before$mar)
    expect_identical(after$mfrow, before$mfrow)
  }
  fit <- eval(pictures[[2]])
  both <- drawn(plot(fit))
  for (name in names(faithful)) expect_true(has_drawn(both, faithful[[name]]))
  one <- drawn(plot(fit, "mixture", variables = "waiting"))
  expect_identical(intersect(names(faithful), one$text), "waiting")
  half <- drawn(
    plot(fit, "mixture", variables = 2:1, level = 0.5, main = "faithful",
         col = 2)
  )
  expect_true(all(c("faithful", "50% ellipse") %in% half$text))
  trace <- drawn(plot(fit, type = "trace"))
  expect_true(has_drawn(trace, unclass(fit[[2]])[, "log_lik"]))
  density <- drawn(plot(fit, type = "density", variables = "mu"))
  of <- sub(" .*", "", grep("^mu", density$text, value = TRUE))
  expect_identical(of, c("mu[1,1]", "mu[2,1]", "mu[1,2]", "mu[2,2]"))
  three <- drawn(
    plot(eval(pictures[[11]]), "mixture", variables = c("V8", "V1", "V3"))
  )
  expect_identical(
    intersect(three$text, paste0("V", 1:8)), c("V8", "V1", "V3")
  )
})

test_that("components that are mostly empty are named but not drawn", {
  skip_long()
  set.seed(2)
  x <- cbind(a = rnorm(60, rep(c(0, 9), 30)), b = rnorm(60))
  fit <- quietly(gibbs_gmm(
    x, 4, prior = gmm_prior(alpha = "sparse"), draws = 200, burnin = 200,
    chains = 2, seed = 1, progress = FALSE
  ))
  p <- mean_mixture(fit, 1:2)
  drawn <- !is.na(p$colours)
  expect_identical(sum(drawn), 2L)
  expect_gt(min(p$pi[drawn]), max(p$pi[!drawn]))
  expect_identical(
    grepl("not drawn", component_words(p), fixed = TRUE), !drawn
  )
  limits <- function(plot) {
    ggplot2::layer_scales(plot)$x$get_limits()
  }
  skip_if_not_installed("ggplot2")
  p$mu[!drawn, ] <- 1e6
  expect_lt(max(ellipse_table(p, 0.9)$x), 20)
  picture <- drawn(plot(fit))
  expect_true(has_drawn(picture, x[, "a"]))
  expect_identical(sum(grepl("not drawn", picture$text)), 2L)
  picture <- drawn(plot(fit, "mixture", variables = "a"))
  expect_identical(intersect(c("a", "b"), picture$text), "a")
  expect_lt(max(limits(ggplot2::autoplot(fit))), 20)
  # a component that holds an observation is drawn
  prob <- matrix(rep(!drawn, each = 3) / 2, 3)
  expect_identical(sum(!is.na(mean_mixture(fit, 1:2, prob)$colours)), 3L)
})

test_that("summary() says what the indices stand for", {
  skip_long()
  key <- function(fit, ...) attr(summary(fit, ...), "key")
  fit <- short_gmm(5)
  expect_identical(
    key(fit),
    paste0(
      "mu[c,j]: component c, variable j; Sigma[c,i,j]: component c, variables ",
      "i and j; variables: 1 eruptions, 2 waiting"
    )
  )
  expect_match(
    key(short_gmm(5, covariance = "shared"), variables = "Sigma"),
    "^Sigma\\[i,j\\]: variables i and j; variables: 1"
  )
  wide <- matrix(rnorm(240), 20)
  expect_match(key(quietly(gibbs_gmm(
    wide, 1, draws = 5, burnin = 5, chains = 1, progress = FALSE
  ))), "10 V10, ...", fixed = TRUE)
  expect_null(key(fit, variables = "pi"))
  one <- quietly(gibbs_gmm(
    faithful$waiting, 2, draws = 5, burnin = 5, chains = 1, progress = FALSE
  ))
  expect_null(key(one))
})

test_that("components are told apart where the highest mode lies elsewhere", {
  # little of the posterior is near the highest mode of these
  cases <- list(list(rock[1:3], 3), list(iris[1:4], 4))
  for (case in cases[fast_or(1, 1:2)]) {
    fit <- quietly(gibbs_gmm(
      case[[1]], case[[2]], draws = 500, seed = 2, progress = FALSE
    ))
    model <- gibbsite:::fit_part(fit, "model")
    blocks <- gibbsite:::gmm_blocks(model, as.matrix(fit))
    agreement <- function(pivot) mean(gibbsite:::pivot_agreement(pivot, blocks))
    expect_gt(agreement(model$pivot), 0.95)
    mode <- withr::with_seed(
      1, gibbsite:::highest_mode(gibbsite:::model_of_some(model))
    )
    expect_lt(agreement(gibbsite:::pivot_of(
      gibbsite:::gmm_parameters(model, mode)
    )), 0.8)
  }
})

test_that("components that are not the same in all draws are named", {
  skip_long()
  line <- function(...) {
    fit <- quietly(gibbs_gmm(..., draws = 300, thin = 4, seed = 1,
                             progress = FALSE))
    found <- grep("Not the same component", cli::ansi_strip(
      utils::capture.output(print(summary(fit)))
    ), value = TRUE)
    list(fit = fit, line = found)
  }
  if (is_extended()) {
    expect_length(line(faithful, 2)$line, 0L)
    # a component inside a wide one keeps half of its points in all draws
    expect_length(line(quakes[1:4], 4)$line, 0L)
  }
  # the second component jumps between two places
  jumps <- line(USArrests, 3)
  expect_match(jumps$line, "draws: 2 \\(another in [12][0-9]%")
  # where it is another one, its mean urban share is far from the usual
  model <- gibbsite:::fit_part(jumps$fit, "model")
  shares <- gibbsite:::pivot_agreement(
    model$pivot, gibbsite:::gmm_blocks(model, as.matrix(jumps$fit))
  )
  urban <- as.matrix(jumps$fit)[, "mu[2,3]"]
  elsewhere <- shares[, 2] < 0.2
  apart <- abs(mean(urban[elsewhere]) - mean(urban[!elsewhere]))
  expect_gt(apart, 1.5 * stats::sd(urban[!elsewhere]))
})

test_that("no rows of new data have no rows of answers", {
  fits <- expression(short_gmm(5), short_gmm(5, k = "unknown"))
  for (call in fits[fast_or(1, 1:2)]) {
    fit <- eval(call)
    one <- faithful[1, ]
    for (type in c("prob", "density")) {
      expect_identical(
        predict(fit, one[0, ], type), predict(fit, one, type)[0, , drop = FALSE]
      )
    }
    expect_identical(unname(predict(fit, one[0, ])), integer())
    expect_identical(dim(log_lik(fit, one[0, ])), c(10L, 0L))
  }
  top <- gibbs_gmm(faithful, 2, method = "icm", seed = 1, chains = 1)
  expect_identical(dim(predict(top, faithful[0, ], type = "prob")), c(0L, 2L))
})
