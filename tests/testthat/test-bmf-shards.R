# One chain of gibbs_bmf() over the workers of a cluster.

# Some pairs twice, a user and an item without a rating.
shared_data <- function() {
  made <- small_ratings()
  made <- rbind(made, made[c(1, 1, 7), ])
  made$value <- round(made$value)
  made$user <- factor(made$user, letters)
  made
}

shared_here <- function(made = shared_data(), shards = 3) {
  suppressMessages(gibbsite::scatter(NULL, made, shards, what = "ratings"))
}

share <- function(cl, made = shared_data(), ...) {
  suppressMessages(gibbsite::scatter(cl, made, what = "ratings", ...))
}

longer_bmf <- function(ratings, ...) {
  short_bmf(ratings, draws = 15, burnin = 6, thin = 2, ...)
}

test_that("any division of the rows gives the fit of one machine", {
  skip_unless_extended()
  made <- shared_data()
  cases <- list(
    list(), list(biases = TRUE), list(center = FALSE),
    list(prior = bmf_prior("gamma"), biases = TRUE, keep = c("u", "v")),
    list(
      prior = bmf_prior("fixed"), predict_at = some_pairs, range = c(-9, 15)
    ),
    list(rank = 9, threads = 2, burnin = 3),
    list(link = "ordinal"), list(link = "ordinal", biases = TRUE, threads = 2),
    list(link = "ordinal", prior = bmf_prior("gamma"), rank = 3)
  )
  for (case in cases) {
    of <- function(x) {
      do.call(short_bmf, utils::modifyList(list(x, draws = 10), case))
    }
    one <- of(made)
    # one row in a part, and parts without one
    for (shards in c(1, 3, 24, 300)) {
      expect_true(identical_fit(one, of(shared_here(made, shards))))
    }
  }
})

test_that("parts hold all ratings once, side by side", {
  made <- suppressMessages(as_ratings(shared_data()))
  sides <- rated_sides(made)
  expect_identical(
    sides$items$value, sides$users$value[sides$items$place + 1]
  )
  for (side in sides) {
    rows <- length(side$start) - 1
    for (shards in c(1, 2, 5, rows, 3 * rows)) {
      parts <- parts_of_side(side, shards)
      expect_lte(length(parts), min(shards, rows))
      sizes <- lapply(parts, function(part) diff(part$start))
      expect_identical(unlist(sizes), diff(side$start))
      expect_identical(unlist(lapply(parts, `[[`, "value")), side$value)
      expect_identical(unlist(lapply(parts, `[[`, "index")), side$index)
      expect_identical(unlist(lapply(parts, `[[`, "place")), side$place)
      expect_identical(
        vapply(parts, `[[`, 0L, "first"),
        as.integer(cumsum(lengths(sizes)) - lengths(sizes))
      )
    }
  }
})

test_that("workers give the same fit as one machine, also continued", {
  skip_long()
  made <- shared_data()
  most <- fast_or(2, 3)
  cl <- small_cluster(most)
  whole <- short_bmf(made, draws = 30)
  for (workers in seq_len(most)) {
    for (threads in fast_or(workers, 1:2)) {
      ratings <- share(cl[seq_len(workers)], made)
      expect_true(identical_fit(whole, short_bmf(ratings, draws = 30,
                                                 threads = threads)))
    }
  }
  part <- short_bmf(ratings, draws = 10)
  expect_true(identical_fit(whole, quiet(extend(part, 20, progress = FALSE))))
  # on one machine, on other workers; with and without data of its own
  for (keep_data in fast_or(FALSE, c(TRUE, FALSE))) {
    part <- short_bmf(ratings, draws = 10, keep_data = keep_data)
    for (data in list(made, share(cl[2], made), shared_here(made))) {
      longer <- quiet(extend(part, 20, data = data, progress = FALSE))
      expect_true(identical_fit(
        if (keep_data) whole else drop_data(whole), longer
      ))
      expect_identical(
        is_in_shards(attr(longer, "model")), !is.data.frame(data)
      )
    }
  }
  expect_output(
    print(ratings),
    paste("Ratings on", most, "workers: 153 of 15 items by 26")
  )
  # latent values of ordinal ratings, drawn by the workers
  ordinal <- function(x, ...) short_bmf(x, link = "ordinal", ...)
  expect_true(identical_fit(
    ordinal(made, draws = 30),
    quiet(extend(ordinal(ratings, draws = 10), 20, progress = FALSE))
  ))
  if (is_extended()) {
    ruled <- function(x) {
      short_bmf(x, stop_when = until(
        max_draws = 40, every = 20, rhat = 1.0001, burnin = "fixed"
      ))
    }
    expect_true(identical_fit(ruled(made), ruled(ratings)))
  }
})

test_that("a fit of shared ratings answers as that of one machine", {
  skip_long()
  made <- shared_data()
  fit <- short_bmf(shared_here(made))
  one <- short_bmf(made)
  expect_identical(predict(fit), predict(one))
  expect_identical(residuals(fit), residuals(one))
  expect_identical(recommend(fit, "a", 3), recommend(one, "a", 3))
  expect_identical(held_out(fit, made), held_out(one, made))
  # other ratings are not those of the workers
  model <- attr(fit, "model")
  expect_true(is_in_shards(model))
  expect_false(is_in_shards(set_data(model, model$data$value + 1)))
  expect_false(is_in_shards(model_fold(model, 1:9, NULL)$train))
})

test_that("workers read files of ratings", {
  skip_long()
  cl <- small_cluster(2)
  made <- shared_data()
  folder <- withr::local_tempdir()
  files <- file.path(folder, c("a.rds", "none.rds", "b.rds"))
  saveRDS(made[1:50, ], files[[1L]])
  saveRDS(NULL, files[[2L]])
  saveRDS(made[-(1:50), ], files[[3L]])
  read <- function(files, read = readRDS) {
    suppressMessages(shards(cl, files, read, what = "ratings"))
  }
  expect_true(identical_fit(short_bmf(read(files)), short_bmf(made)))
  expect_error(
    read(files, function(file) as.list(readRDS(file))),
    "a.rds.*must return a data frame", class = "gibbsite_error_worker"
  )
  saveRDS(made[-(1:50), 1:2], files[[3L]])
  expect_gibbsite_error(read(files))
})

test_that("a worker is killed in a sweep, and the run goes on from disk", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  withr::local_options(
    gibbsite.checkpoint_seconds = 0, gibbsite.segment_seconds = 1e-9
  )
  made <- shared_data()
  cl <- small_cluster(2)
  ratings <- share(cl, made)
  folder <- file.path(withr::local_tempdir(), "run")
  act_in_sweep(cl[2], 60, function() tools::pskill(Sys.getpid(), 9),
               "draw_ratings")
  error <- expect_error(
    longer_bmf(ratings, checkpoint = folder),
    "Worker 2 of the cluster [(]on localhost[)] does not answer",
    class = "gibbsite_error_chain"
  )
  expect_match(conditionMessage(error), "make a new cluster")
  expect_match(conditionMessage(error), "run\", data = ratings[)]")
  # at once, though worker 1 lives
  expect_error(longer_bmf(ratings), "Worker 2", class = "gibbsite_error_worker")
  whole <- longer_bmf(made)
  other <- paste0(folder, "-here")
  dir.create(other)
  file.copy(list.files(folder, full.names = TRUE), other, recursive = TRUE)
  expect_true(identical_fit(resumed(other), whole))
  # the other worker may owe an answer
  expect_true(identical_fit(resumed(folder, data = share(cl[1], made)), whole))
})

test_that("Ctrl-C in a sweep returns the draws so far", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  withr::local_options(
    gibbsite.on_interrupt = "return", gibbsite.segment_seconds = 1e-9
  )
  made <- shared_data()
  cl <- small_cluster(2)
  ratings <- share(cl, made)
  whole <- longer_bmf(made)
  master <- Sys.getpid()
  interrupt <- eval(bquote(function() {
    tools::pskill(.(master), 2)
    Sys.sleep(0.5)
  }))
  act_in_sweep(cl[2], 60, interrupt, "draw_ratings")
  expect_warning(
    part <- longer_bmf(ratings), class = "gibbsite_warning_interrupted"
  )
  shown <- nrow(part[[1L]])
  expect_lt(shown, 15)
  longer <- quiet(extend(part, 15 - shown, progress = FALSE))
  expect_true(identical_fit(longer, whole))
})

test_that("an error in one worker names it, and the cluster goes on", {
  skip_long()
  made <- shared_data()
  cl <- small_cluster(2)
  ratings <- share(cl, made)
  act_in_sweep(cl[2], 9, function() stop("out of paper"), "draw_ratings")
  expect_error(longer_bmf(ratings), "Worker 2 [(]on localhost[)]: out of paper",
               class = "gibbsite_error_chain")
  expect_true(identical_fit(longer_bmf(ratings), longer_bmf(made)))
})

test_that("what workers cannot do is refused, with the way out", {
  skip_long()
  made <- shared_data()
  ratings <- shared_here(made)
  features <- matrix(1:26, dimnames = list(letters, "f"))
  plain <- short_bmf(made, draws = 5)
  expect_gibbsite_error({
    gibbs_bmf(ratings, user_features = features)
    gibbs_bmf(ratings, item_features = features)
    gibbs_bmf(ratings, method = "icm")
    gibbs_bmf(ratings, user = "user")
    gibbs_bmf(ratings, predict_at = data.frame(user = "nobody", item = 10))
    gibbs_bmf(ratings, predict_at = data.frame(user = "a", item = 7))
    # in another order: other numbers of the users
    extend(plain, 5, data = shared_here(transform(
      made, user = factor(user, rev(letters))
    )))
    extend(plain, 5, data = shared_here(made[-1, ]))
    gibbsite::scatter(NULL, made, vocabulary = "a", what = "ratings")
    gibbsite::scatter(NULL, made, what = "films")
    shards(NULL, "a", readRDS, vocabulary = "a", what = "ratings")
  }, "gibbsite_error_argument")
})
