# gibbs_pmf(): forms of counts, predictions, recommendations, rank measures.

quiet_pmf <- function(..., draws = 40, burnin = 20, chains = 2) {
  suppressWarnings(gibbs_pmf(
    ..., draws = draws, burnin = burnin, chains = chains, seed = 1,
    progress = FALSE
  ))
}

few_counts <- function() {
  data.frame(
    user = c("ann", "ann", "bob", "bob", "cid"),
    item = c("tea", "jam", "tea", "rum", "jam"), count = c(2, 1, 1, 4, 3)
  )
}

plain_draws <- function(fit) lapply(fit, function(x) unclass(x)[, ])

test_that("the forms of counts are the same counts", {
  x <- few_counts()
  fit <- quiet_pmf(x, 2)
  expect_s3_class(fit, c("gibbs_pmf", "gibbsite_fit"), exact = FALSE)
  same <- function(other) {
    expect_identical(plain_draws(other), plain_draws(fit))
  }
  same(quiet_pmf(count ~ user + item, x, rank = 2))
  renamed <- stats::setNames(x, c("who", "what", "plays"))
  same(quiet_pmf(renamed, 2, user = "who", item = "what", count = "plays"))
  expect_message(
    same(quiet_pmf(rbind(x, transform(x[1, ], count = 0)), 2)), NA
  )
  # counts of a pair are added up, with a message
  expect_message(
    same(quiet_pmf(rbind(transform(x[1, ], count = 1),
                         transform(x, count = count - c(1, 0, 0, 0, 0))), 2)),
    class = "gibbsite_message_repeated"
  )
  # events: a row each
  events <- x[rep(seq_len(nrow(x)), x$count), 1:2]
  expect_no_message(same(quiet_pmf(events, 2)))
  same(quiet_pmf(~ user + item, events, rank = 2))
})

test_that("likes are taken from matrices of any kind", {
  likes <- matrix(c(TRUE, FALSE, TRUE, TRUE, TRUE, FALSE), 2,
                  dimnames = list(c("a", "b"), c("x", "y", "z")))
  whole <- plain_draws(quiet_pmf(likes, 2))
  numbers <- likes + 0
  sparse <- Matrix::Matrix(numbers, sparse = TRUE)
  for (other in list(
    numbers, sparse, methods::as(sparse, "lMatrix"),
    methods::as(sparse, "nMatrix"), Matrix::Matrix(likes, sparse = FALSE)
  )) {
    expect_identical(plain_draws(quiet_pmf(other, 2)), whole)
  }
})

test_that("what is no count is refused with its pair", {
  skip_long()
  x <- few_counts()
  with_count <- function(value) transform(x, count = replace(count, 2, value))
  expect_gibbsite_error(class = "gibbsite_error_count", {
    gibbs_pmf(with_count(-1))
    gibbs_pmf(with_count(1.5))
    gibbs_pmf(transform(x, count = ordered(letters[count])))
    gibbs_pmf(transform(x, count = factor(c("no", "yes")[1 + (count > 1)])))
  })
  expect_gibbsite_error(class = "gibbsite_error_missing", {
    gibbs_pmf(with_count(NA))
    gibbs_pmf(matrix(c(1, NA, 0, 2), 2))
    gibbs_pmf(count ~ user + item, with_count(NA))
  })
  expect_gibbsite_error(gibbs_pmf(transform(x, count = 0)))
  expect_gibbsite_error(gibbs_pmf(x, 2, count = "plays"))
  expect_gibbsite_error(gibbs_pmf(x, 2, bmf_prior()))
  expect_gibbsite_error(gibbs_pmf(x, 2, inits = list(
    list(theta = matrix(0, 2, 3))
  ), chains = 1))
  expect_gibbsite_error(pmf_prior(user_shape = 0))
  expect_gibbsite_condition(
    quiet_pmf(data.frame(user = 1:2, item = 2:1, plays = 3:4), 1),
    "gibbsite_message_events"
  )
})

test_that("the prior prints its model and its known rates", {
  expect_snapshot(pmf_prior(user_rate_shape = Inf, item_rate_mean = 2))
})

test_that("predictions are the means over the draws", {
  fit <- quiet_pmf(few_counts(), 2)
  pairs <- expand.grid(user = c("ann", "cid"), item = c("rum", "jam"))
  mu <- posterior_epred(fit, pairs)
  expect_identical(dim(mu), c(80L, 4L))
  found <- predict(fit, pairs)
  expect_equal(found$mean, colMeans(mu))
  expect_equal(found$probability, colMeans(1 - exp(-mu)))
  expect_equal(
    found$sd^2, colMeans(mu) + colMeans(mu^2) - colMeans(mu)^2
  )
  of_mean <- predict(fit, pairs, interval = "mean", level = 0.8)
  ends <- apply(mu, 2, stats::quantile, c(0.1, 0.9), names = FALSE)
  expect_equal(rbind(of_mean$lower, of_mean$upper), ends)
  # the quantile of a mixture of Poisson distributions: the definition
  counts <- predict(fit, pairs, interval = "prediction", level = 0.8)
  for (j in 1:4) {
    share <- function(y) mean(stats::ppois(y, mu[, j]))
    expect_gte(share(counts$upper[[j]]), 0.9)
    expect_lt(share(counts$upper[[j]] - 1), 0.9)
    expect_gte(share(counts$lower[[j]]), 0.1)
    expect_lt(share(counts$lower[[j]] - 1), 0.1)
  }
  drawn <- withr::with_seed(1, posterior_predict(fit, pairs))
  expect_identical(dim(drawn), dim(mu))
  # single draws of factors are stored in single precision
  log_lik <- rowSums(log_lik(fit))
  columns <- unlist(lapply(fit, function(x) x[, "log_lik"]))
  expect_equal(unname(log_lik), unname(columns), tolerance = 1e-5)
  expect_gibbsite_error({
    predict(fit, data.frame(user = "dan", item = "tea"))
    predict(fit, data.frame(user = "ann", item = "gin"))
    log_lik(fit, transform(pairs, count = -1))
    log_lik(fit, pairs)
  })
})

test_that("pairs have their names, and are compared by their ranks", {
  fit <- quiet_pmf(few_counts(), 2)
  pairs <- expand.grid(
    user = c("ann", "bob", "cid"), item = c("jam", "rum", "tea"),
    stringsAsFactors = FALSE
  )
  whole <- merge(pairs, few_counts(), all.x = TRUE, sort = FALSE)
  whole$count[is.na(whole$count)] <- 0
  own <- log_lik(fit)
  expect_identical(nobs(fit), 5L)
  expect_setequal(colnames(own), paste(whole$user, whole$item, sep = ":"))
  expect_identical(
    unname(own[, paste(whole$user, whole$item, sep = ":")]),
    log_lik(fit, whole)
  )
  # a pair left out would be a count of 0
  expect_gibbsite_error({
    kfold(fit)
    log_evidence(fit)
  })
  skip_if_not_installed("loo")
  expect_warning(loo(fit), "rank_measures", class = "gibbsite_warning_pareto_k")
})

test_that("answers are in the order of the pairs asked for, zeros included", {
  x <- few_counts()
  fit <- quiet_pmf(x, 2)
  asked <- rbind(
    x[c(5, 1), ], data.frame(user = "ann", item = "rum", count = 0), x[5, ]
  )
  for (interval in c("none", "mean", "prediction")) {
    found <- predict(fit, asked, interval = interval)
    expect_identical(found$user, asked$user)
    expect_identical(found$item, asked$item)
    expect_identical(
      predict(fit, asked[0, ], interval = interval), found[0, ]
    )
  }
  expect_equal(found$mean, colMeans(posterior_epred(fit, asked)))
  # of the fit: each pair with a count once, by user and by item
  own <- predict(fit)
  pairs <- unique(x[order(x$user, factor(x$item, unique(x$item))), 1:2])
  expect_identical(nrow(own), nrow(pairs))
  expect_identical(own$user, pairs$user)
  for (draws in list(posterior_predict, posterior_epred, log_lik)) {
    expect_identical(ncol(draws(fit, asked)), 4L)
    expect_identical(ncol(draws(fit, asked[0, ])), 0L)
  }
})

test_that("recommendations are unseen items, best first", {
  fit <- quiet_pmf(few_counts(), 2)
  found <- recommend(fit, n = 5)
  seen <- paste(few_counts()$user, few_counts()$item)
  expect_false(any(paste(found$user, found$item) %in% seen))
  expect_identical(nrow(found), 9L - 5L)
  for (own in split(found$mean, found$user)) {
    expect_false(is.unsorted(-own))
  }
  expect_equal(
    found[c("mean", "lower", "upper")],
    predict(fit, found[c("user", "item")], "mean")[c("mean", "lower", "upper")]
  )
  expect_gibbsite_error({
    recommend(fit, "dan")
    recommend(drop_data(fit))
  })
})

test_that("data can be given again", {
  x <- few_counts()
  whole <- quiet_pmf(x, 2, draws = 30)
  short <- drop_data(quiet_pmf(x, 2, draws = 10))
  for (again in list(x, x[5:1, ])) {
    longer <- suppressWarnings(
      extend(short, 20, data = again, progress = FALSE)
    )
    expect_identical(plain_draws(longer), plain_draws(whole))
  }
  expect_gibbsite_error(
    extend(short, 20, data = transform(x, count = count + 1))
  )
})

test_that("a stopped run is resumed with the same draws", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "run")
  whole <- quiet_pmf(few_counts(), 2, draws = 30)
  kept <- quiet_pmf(few_counts(), 2, draws = 30, checkpoint = path)
  expect_identical(plain_draws(kept), plain_draws(whole))
  stopped <- quiet_pmf(few_counts(), 2, draws = 10, stop_when = until(
    ess = 1e9, max_draws = 30
  ))
  # the rule may have dropped draws as burn-in
  own <- plain_draws(stopped)[[2]]
  expect_identical(
    own, utils::tail(plain_draws(whole)[[2]], nrow(own), keepnums = FALSE)
  )
})

test_that("rank measures are those of the places of held-out items", {
  places <- list(a = c(1, 4), b = 12, c = c(2, 3, 30))
  ten <- gibbsite:::measures_at(10, places)
  expect_equal(ten$recall, mean(c(1, 0, 2 / 3)))
  expect_equal(ten$precision, mean(c(0.2, 0, 0.2)))
  expect_equal(ten$mrr, mean(c(1, 1 / 12, 1 / 2)))
  gain <- function(...) sum(1 / log2(1 + c(...)))
  expect_equal(
    ten$ndcg, mean(c(gain(1, 4) / gain(1, 2), 0, gain(2, 3) / gain(1:3)))
  )
  expect_identical(ten$users, 3L)
  # an order by hand
  fit <- quiet_pmf(few_counts(), 2)
  best <- recommend(fit, "ann", n = 1)
  held <- data.frame(user = "ann", item = best$item, count = 1)
  expect_equal(
    unlist(rank_measures(fit, held, k = 1)),
    c(k = 1, users = 1, recall = 1, precision = 1, ndcg = 1, mrr = 1)
  )
  expect_equal(rank_measures(fit, held[1:2]), rank_measures(fit, held))
})

test_that("rank measures say what they leave out, and need to know likes", {
  fit <- quiet_pmf(few_counts(), 2)
  held <- data.frame(
    user = c("ann", "dan", "bob", "bob"), item = c("rum", "tea", "gin", "tea")
  )
  expect_gibbsite_condition(rank_measures(fit, held), "gibbsite_message_left_out")
  expect_gibbsite_error({
    rank_measures(fit, held[2:4, ])
    rank_measures(fit, held, k = 1.5)
    rank_measures(drop_data(fit), held)
    rank_measures(fit, held, at_least = 2)
  })
  ratings <- transform(few_counts(), value = count, count = NULL)
  bmf <- suppressWarnings(gibbs_bmf(ratings, 2, draws = 20, burnin = 20,
                                    chains = 2, seed = 1, progress = FALSE))
  rated <- transform(held[1, ], value = 4)
  expect_gibbsite_error(rank_measures(bmf, rated))
  expect_identical(rank_measures(bmf, rated, at_least = 4)$users, 1L)
})

test_that("counts with a structure are recommended better than by chance", {
  skip_unless_extended()
  set.seed(2)
  made <- sim_pmf(150, 80, rank = 3, mean = 0.4)
  hidden <- sample(nrow(made), nrow(made) %/% 5)
  fit <- quiet_pmf(made[-hidden, ], 3, draws = 200, burnin = 300)
  found <- suppressMessages(rank_measures(fit, made[hidden, ], k = 10))
  # an order by chance finds 10 of some 65 items
  expect_gt(found$recall, 0.3)
})

test_that("a new user is drawn given the items", {
  fit <- quiet_pmf(few_counts(), 2)
  new <- data.frame(user = c("dan", "eve", "dan"),
                    item = c("tea", "jam", "rum"), count = c(1, 0, 5))
  folded <- withr::with_seed(1, fold_in(fit, new))
  expect_identical(dim(folded$draws), c(2L, 2L, 80L))
  expect_output(print(folded), "2 new users with 2 items")
  found <- predict(folded, data.frame(user = "dan", item = c("rum", "jam")))
  expect_gt(found$mean[[1]], found$mean[[2]])
  best <- recommend(folded, "dan")
  expect_identical(as.character(best$item), "jam")
  expect_equal(best$mean, found$mean[[2]])
  # without a column of counts: likes
  likes <- withr::with_seed(1, fold_in(fit, new[1:2]))
  ones <- withr::with_seed(1, fold_in(fit, transform(new, count = 1)))
  expect_identical(likes$draws, ones$draws)
  expect_gibbsite_error({
    fold_in(fit, transform(new, item = "gin"))
    fold_in(fit, transform(new, count = -1))
    fold_in(fit, transform(new, count = NA_real_))
    predict(folded, data.frame(user = "ann", item = "tea"))
  })
})

test_that("a new user's factor has its conditional distribution", {
  skip_long()
  # rank 1 and known rates: theta | beta, y ~ Gamma(a + y., xi + sum(beta))
  x <- few_counts()
  fit <- quiet_pmf(x, 1, pmf_prior(2, 2, Inf, Inf), draws = 400)
  new <- data.frame(user = "dan", item = c("tea", "rum"), count = c(3, 2))
  folded <- withr::with_seed(2, fold_in(fit, new))
  sums <- unlist(gibbsite:::over_draws(folded$kept, function(draw) sum(draw$v)))
  u <- stats::pgamma(folded$draws[1, 1, ], 2 + 5, 1 + sums)
  expect_gt(stats::ks.test(u, "punif")$p.value, 1e-4)
})

test_that("logical counts are read again", {
  made <- withr::with_seed(1, sim_bmf(30, 20, rank = 2, share = 0.5))
  made$liked <- made$value > 0
  fit <- brief(gibbs_pmf, liked ~ user + item, made[1:200, ], rank = 2)
  rest <- made[201:nrow(made), ]
  number <- transform(rest, liked = as.numeric(liked))
  expect_equal(log_lik(fit, rest), log_lik(fit, number))
  expect_equal(predict(fit, rest), predict(fit, number))
  expect_equal(
    suppressMessages(rank_measures(fit, rest)),
    suppressMessages(rank_measures(fit, number))
  )
})
