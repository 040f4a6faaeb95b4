# One chain of gibbs_lda() over shards of documents.

shard_documents <- once(function() {
  withr::with_seed(3, sim_lda(
    120, k = 4, terms = 40, tokens = c(rep(c(3, 40, 200), 39), 0, 900, 1)
  ))$x
})

# Shards without documents, with one, and with parts of a block of documents.
shard_ends <- c(0L, 7L, 8L, 60L, 60L, 119L, 120L)

corpus_here <- function(x, ends = shard_ends) {
  counts <- as_counts(x, NULL, "keep", arg = "x", call = environment())
  scatter_counts(open_cluster(NULL, NULL), counts, ends)
}

fit_corpus <- function(x, ..., k = 4, draws = 6, burnin = 4, chains = 1,
                       seed = 1) {
  quiet_fit(gibbs_lda(
    x, k, method = "partially_collapsed", draws = draws, burnin = burnin,
    chains = chains, seed = seed, progress = FALSE, ...
  ))
}

quiet_fit <- function(code) {
  suppressWarnings(code, classes = "gibbsite_warning_convergence")
}

# What a fit of shards has in common with that of one machine.
common_bits <- function(fit) {
  states <- lapply(attr(fit, "chains"), function(chain) {
    c(chain$state[setdiff(
      names(chain$state),
      c("z", "key", "ticket", "theta_sum", "theta_square", "theta_base")
    )], chain[c("rng", "hash", "order")])
  })
  list(
    lapply(seq_along(fit), function(k) unclass(fit[[k]])), states,
    attr(fit, "running")
  )
}

shares_of <- function(fit) {
  parts <- on_shards(fit, function(theta, sd, documents) {
    list(theta = theta, theta_sd = sd)
  })
  lapply(c(theta = "theta", theta_sd = "theta_sd"), function(part) {
    do.call(rbind, lapply(parts, `[[`, part))
  })
}

expect_one_machine <- function(corpus, x, ...) {
  one <- fit_corpus(x, ..., empty = "keep")
  shards <- fit_corpus(corpus, ...)
  expect_identical(common_bits(shards), common_bits(one))
  topics <- topic_estimates(one)
  shares <- shares_of(shards)
  for (part in c("theta", "theta_sd")) {
    expect_identical(unname(shares[[part]]), unname(topics[[part]]))
    expect_identical(rownames(shares[[part]]), rownames(topics[[part]]))
  }
}

test_that("shards give the bits of one machine, whatever the prior", {
  skip_long()
  x <- shard_documents()
  corpus <- corpus_here(x)
  expect_one_machine(corpus, x, chains = 2)
  # short runs before the start; thinning
  expect_one_machine(corpus, x, burnin = 200, thin = 2)
  expect_one_machine(corpus, x, keep = c("phi", "labels"))
  if (is_extended()) {
    expect_one_machine(corpus, x, threads = 2)
    expect_one_machine(corpus, x, k = 1)
    expect_one_machine(corpus, x, k = 20, keep = c("phi", "labels"))
  }
  priors <- list(
    lda_prior(alpha = gamma_prior(1, 1), eta = gamma_prior(2, 5)),
    lda_prior(eta = seeded_topics(list(a = c("term1", "term2"), b = "term7"))),
    lda_prior(alpha = c(.1, .2, .3, .4), eta = .1),
    lda_prior(eta = seq(.1, .5, length.out = 40))
  )
  for (prior in priors[fast_or(1:2, 1:4)]) {
    expect_one_machine(corpus, x, prior = prior)
  }
  start <- list(z = rep_len(1:4, sum(x)), alpha = 0.3)
  expect_one_machine(corpus, x, inits = list(start))
})

test_that("the session holds no documents, and 4 bytes of each token", {
  x <- withr::with_seed(4, sim_lda(4000, k = 3, terms = 30, tokens = 50))$x
  corpus <- corpus_here(x, c(0L, 1500L, 4000L))
  fit <- fit_corpus(corpus, k = 3)
  model <- fit_part(fit, "model")
  # where each document begins
  expect_lt(as.numeric(utils::object.size(model$data)), 16 * nrow(x) + 5e4)
  expect_null(model$data$word)
  # the topics of the last draw, and of the draw that topics are matched with
  state <- attr(fit, "chains")[[1]]$state
  expect_lt(as.numeric(utils::object.size(state)), 4 * sum(x) + 5e4)
})

test_that("documents in shards have a calibrated posterior", {
  skip_unless_extended()
  prior <- lda_prior(alpha = gamma_prior(5, 4), eta = gamma_prior(4, 5))
  x <- withr::with_seed(1, sim_lda(8, k = 2, terms = 5, tokens = 3))$x
  one <- fit_part(fit_corpus(x, k = 2, prior = prior), "model")
  withr::local_seed(88)
  ranks <- t(vapply(1:400, function(i) {
    joint <- draw_joint(one)
    data <- joint$model$data
    document <- rep(seq_along(data$start[-1L]), diff(data$start))
    counts <- unclass(table(
      factor(document, 1:8), factor(data$word, 1:5)
    ))
    fit <- fit_corpus(
      corpus_here(Matrix::Matrix(counts, sparse = TRUE), c(0L, 2L, 3L, 8L)),
      prior = prior, k = 2, draws = 15, thin = 8, burnin = 40, seed = i
    )
    columns <- c("alpha", "eta")
    rank_among(
      unlist(joint$state[columns]), unclass(fit[[1]])[, columns]
    )
  }, numeric(2)))
  colnames(ranks) <- c("alpha", "eta")
  expect_true(all(sbc_inside(ranks, 15, 1e-3)))
})

test_that("log_lik of a block in several shards is summed in its order", {
  x <- shard_documents()
  model <- lda_shards_model(
    corpus_here(x), 4, lda_prior(), "partially_collapsed", character()
  )
  blocks <- model$corpus$blocks
  of <- lapply(blocks$shard, `[[`, "of")
  expect_gt(blocks$global, 1)
  # some block is in two shards
  expect_gt(anyDuplicated(unlist(lapply(of, unique))), 0)
  value <- lapply(seq_along(of), function(s) 10^-(s + 3 * seq_along(of[[s]])))
  sums <- sum_blocks(value, blocks)
  expected <- vapply(split(unlist(value), unlist(of)), function(x) {
    Reduce(`+`, x)
  }, 0)
  expect_identical(sums, unname(expected))
})

test_that("workers give the same fit as this process, also continued", {
  skip_long()
  x <- shard_documents()
  cl <- small_cluster(2)
  corpus <- gibbsite::scatter(cl, x, shards = 5, empty = "keep")
  expect_one_machine(corpus, x, chains = 2)
  whole <- fit_corpus(corpus_here(x), chains = 2, draws = 12)
  part <- fit_corpus(corpus, chains = 2)
  longer <- quiet_fit(extend(part, 6, progress = FALSE))
  expect_true(identical_fit(whole, longer))
  # the shards have gone on
  expect_gibbsite_error(extend(part, 6, progress = FALSE),
                        "gibbsite_error_chain")
  ruled <- function(corpus) {
    fit_corpus(corpus, chains = 2, stop_when = until(
      max_draws = 40, every = 20, rhat = 1.0001, burnin = "fixed"
    ))
  }
  expect_true(identical_fit(ruled(corpus), ruled(corpus_here(x))))
  # a worker without a shard
  expect_one_machine(gibbsite::scatter(cl, x, shards = 1, empty = "keep"), x)
  expect_identical(worker_count(corpus$cluster), 2L)
})

test_that("workers read files, with terms in any order", {
  cl <- small_cluster(2)
  folder <- withr::local_tempdir()
  x <- as.matrix(shard_documents())[-118, ]
  rows <- split(seq_len(nrow(x)), rep(1:3, c(50, 20, 49)))
  files <- file.path(folder, c("a.rds", "b.rds", "none.rds", "c.rds"))
  saveRDS(x[rows[[1L]], ], files[[1L]])
  saveRDS(x[rows[[2L]], 40:1], files[[2L]])
  saveRDS(NULL, files[[3L]])
  saveRDS(x[rows[[3L]], ], files[[4L]])
  corpus <- shards(cl, files, readRDS)
  expect_one_machine(corpus, x)
  expect_output(print(corpus), "4 shards on 2 workers")
  counts <- on_shards(fit_corpus(corpus), function(theta, sd, documents, by) {
    by * as.matrix(documents)
  }, by = 2)
  expect_identical(do.call(rbind, counts), 2 * x)
  expect_gibbsite_error(
    shards(cl, c(files, "absent.rds"), function(file) {
      if (file == "absent.rds") stop("there is none") else readRDS(file)
    }), "gibbsite_error_worker"
  )
  expect_error(
    shards(cl, files, function(file) -readRDS(file)),
    "a.rds.*Counts in `read[(]file[)]` must be whole numbers of at least 0",
    class = "gibbsite_error_worker"
  )
  expect_one_machine(shards(cl, files, readRDS), x)
})

test_that("late answers are dropped, and an error of a worker is no end", {
  cl <- small_cluster(2)
  corpus <- gibbsite::scatter(cl, shard_documents(), empty = "keep")
  fit <- fit_corpus(corpus)
  send_request(cl[[1L]], serve, list("another", "fingerprint", list()))
  expect_identical(on_shards(fit, function(theta, sd, documents) ncol(theta)),
                   list(4L, 4L))
  expect_error(
    on_shards(fit, function(theta, sd, documents) stop("no answer")),
    "Worker 1 [(]on localhost[)]: `f` failed for shard 1: no answer", class = "gibbsite_error_worker"
  )
  expect_identical(on_shards(fit, function(theta, sd, documents) 1),
                   list(1, 1))
})

test_that("a worker that has ended is named", {
  cl <- small_cluster(2)
  corpus <- gibbsite::scatter(cl, shard_documents(), empty = "keep")
  fit <- fit_corpus(corpus)
  pid <- parallel::clusterCall(cl[2], Sys.getpid)[[1L]]
  tools::pskill(pid, tools::SIGKILL)
  error <- expect_error(extend(fit, 5, progress = FALSE),
                        "Worker 2 of the cluster [(]on localhost[)]",
                        class = "gibbsite_error_chain")
  expect_match(conditionMessage(error), "Chain 1 after sweep 10")
  expect_error(fit_corpus(corpus), "make a new cluster",
               class = "gibbsite_error_worker")
  # one that ends while chains are placed
  cl <- small_cluster(1)
  corpus <- gibbsite::scatter(cl, shard_documents(), empty = "keep")
  tools::pskill(parallel::clusterCall(cl, Sys.getpid)[[1L]], tools::SIGKILL)
  expect_error(fit_corpus(corpus), "Chain 1 could not start",
               class = "gibbsite_error_chain")
})

longer_run <- function(x, ...) {
  fit_corpus(x, chains = 2, draws = 15, burnin = 6, thin = 2, ...)
}

test_that("a worker is killed in a sweep, and the run goes on from disk", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  withr::local_options(
    gibbsite.checkpoint_seconds = 0, gibbsite.segment_seconds = 1e-9
  )
  x <- shard_documents()
  cl <- small_cluster(2)
  corpus <- gibbsite::scatter(cl, x, empty = "keep")
  folder <- file.path(withr::local_tempdir(), "run")
  act_in_sweep(cl[2], 60, function() tools::pskill(Sys.getpid(), 9))
  expect_warning(
    error <- expect_error(
      longer_run(corpus, checkpoint = folder),
      "Worker 2 of the cluster [(]on localhost[)] does not answer",
      class = "gibbsite_error_chain"
    ), class = "gibbsite_warning_checkpoint"
  )
  expect_match(conditionMessage(error), "make a new cluster")
  expect_match(conditionMessage(error), "run\", data = corpus[)]")
  # the draws of the other chain
  whole <- longer_run(x, empty = "keep")
  other <- setdiff(1:2, error$failures[[1L]]$chain)
  shown <- seq_len(nrow(error$fit[[1L]]))
  expect_gt(length(shown), 1)
  expect_identical(
    unclass(error$fit[[1L]])[, 1:3], whole[[other]][shown, 1:3]
  )
  # at once, though worker 1 lives
  expect_error(fit_corpus(corpus), "Worker 2", class = "gibbsite_error_worker")
  # the other one may owe an answer
  rest <- gibbsite::scatter(cl[1], x, empty = "keep")
  expect_identical(common_bits(resumed(folder, rest)), common_bits(whole))
})

test_that("a worker that is silent counts as lost after a time limit", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  x <- shard_documents()
  cl <- small_cluster(2)
  corpus <- gibbsite::scatter(cl, x, empty = "keep")
  act_in_sweep(cl[1], 30, function() {
    tools::pskill(Sys.getpid(), tools::SIGSTOP)
  })
  pid <- parallel::clusterCall(cl[1], Sys.getpid)[[1L]]
  withr::defer(tools::pskill(pid, tools::SIGCONT))
  withr::local_options(gibbsite.worker_seconds = 2)
  expect_error(
    longer_run(corpus),
    "Worker 1 .* does not answer: it was silent for 2 seconds",
    class = "gibbsite_error_chain"
  )
  tools::pskill(pid, tools::SIGCONT)
  expect_one_machine(gibbsite::scatter(cl, x, empty = "keep"), x)
})

test_that("Ctrl-C in a sweep returns the draws so far", {
  skip_on_cran()
  skip_on_os("windows")
  withr::local_options(
    gibbsite.on_interrupt = "return", gibbsite.checkpoint_seconds = 0,
    gibbsite.segment_seconds = 1e-9
  )
  x <- shard_documents()
  cl <- small_cluster(2)
  whole <- longer_run(x, empty = "keep")
  master <- Sys.getpid()
  interrupt <- eval(bquote(function() {
    tools::pskill(.(master), 2)
    Sys.sleep(0.5)
  }))
  folders <- list(NULL, file.path(withr::local_tempdir(), "run"))
  for (folder in folders[fast_or(2, 1:2)]) {
    corpus <- gibbsite::scatter(cl, x, empty = "keep")
    act_in_sweep(cl[2], 60, interrupt)
    expect_warning(
      part <- longer_run(corpus, checkpoint = folder),
      class = "gibbsite_warning_interrupted"
    )
    shown <- nrow(part[[1L]])
    expect_lt(shown, 15)
    expect_identical(
      unclass(part[[2L]])[, 1:3], whole[[2L]][seq_len(shown), 1:3]
    )
    # another run on this cluster
    expect_one_machine(gibbsite::scatter(cl, x, empty = "keep"), x)
    longer <- quiet_fit(extend(part, 15 - shown, progress = FALSE))
    expect_identical(common_bits(longer), common_bits(whole))
  }
  expect_true(identical_fit(resumed(folder, x), whole))
})

test_that("an interrupt waits for the end of a message", {
  done <- 0
  seen <- rlang::catch_cnd(whole_message({
    rlang::interrupt()
    done <- 1
  }), "interrupt")
  expect_s3_class(seen, "interrupt")
  expect_identical(done, 1)
  expect_error(whole_message({
    rlang::interrupt()
    rlang::interrupt()
    done <- 2
  }), "cut by an interrupt")
  expect_identical(done, 1)
})

test_that("workers that differ from this machine are refused", {
  cluster <- new.env()
  cluster$machines <- "m2"
  expect_gibbsite_error(
    abort_unlike(cluster, 1, "has another version of R", environment()),
    "gibbsite_error_worker"
  )
  cl <- small_cluster(1)
  parallel::clusterCall(cl, function(paths) {
    .libPaths(paths)
    space <- asNamespace("gibbsite")
    unlockBinding("fingerprint", space)
    other <- space$fingerprint()
    other[[1L]] <- "0.0.0"
    assign("fingerprint", function() other, space)
  }, .libPaths())
  expect_gibbsite_error(gibbsite::scatter(cl, shard_documents(), empty = "keep"),
                        "gibbsite_error_worker")
})

test_that("what shards cannot do is refused, with the reason", {
  x <- shard_documents()
  corpus <- corpus_here(x)
  fit <- fit_corpus(corpus, chains = 2)
  expect_gibbsite_error({
    gibbs_lda(corpus, 4)
    gibbs_lda(corpus, 4, method = "partially_collapsed", keep = "theta")
    gibbs_lda(corpus, 4, method = "partially_collapsed", keep = "z")
    gibbs_lda(corpus, 4, method = "partially_collapsed", vocabulary = "a")
    gibbs_lda(corpus, 4, method = "partially_collapsed", inits = fit)
    gibbsite::scatter(1, x)
    gibbsite::scatter(structure(
      list(1), class = c("spawnedMPIcluster", "MPIcluster", "cluster")
    ), x)
    shards(NULL, character(), readRDS)
    shards(NULL, c("a", "a"), readRDS)
    shards(NULL, "a", function() 1)
    on_shards(1, mean)
    on_shards(fit, 1)
  }, "gibbsite_error_argument")
  expect_gibbsite_error({
    predict(fit)
    log_lik(fit)
    coherence(fit)
    tidy(fit, matrix = "gamma")
  }, "gibbsite_error_no_data")
  expect_null(topic_estimates(fit)$theta)
  expect_no_error(capture.output(print(summary(fit))))
  expect_identical(dim(predict(fit, as.matrix(x)[1:3, ])), c(3L, 4L))
  # connections belong to their session
  corpus$cluster$nodes <- list("of another session")
  corpus$cluster$process$pid <- 0L
  expect_error(on_shards(fit, mean), class = "gibbsite_error_worker")
})

# A run in `folder` that Ctrl-C ends in its n-th segment of one sweep.
stopped_run <- function(x, folder, n, ...) {
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.checkpoint_seconds = 0,
    gibbsite.on_interrupt = "return"
  )
  ask <- asNamespace("gibbsite")$exchange
  count <- 0
  local_object("exchange", function(cluster, task, ...) {
    count <<- count + (task == "end_segment")
    if (task == "end_segment" && count == n) rlang::interrupt()
    ask(cluster, task, ...)
  })
  expect_warning(
    fit_corpus(x, checkpoint = folder, ...),
    class = "gibbsite_warning_interrupted"
  )
  folder
}

resumed <- function(folder, data, ...) {
  quiet_fit(resume(folder, data = data, progress = FALSE, ...))
}

test_that("a run goes on where it is resumed", {
  skip_unless_extended()
  x <- shard_documents()
  cl <- small_cluster(2)
  two <- gibbsite::scatter(cl, x, shards = 3, empty = "keep")
  one <- gibbsite::scatter(cl[1], x, shards = 5, empty = "keep")
  sampled <- list(
    thin = 2, draws = 5, burnin = 6, chains = 2,
    prior = lda_prior(alpha = gamma_prior(1, 1), eta = gamma_prior(2, 5))
  )
  fit <- function(x, ...) do.call(fit_corpus, c(list(x), sampled, list(...)))
  alone <- fit(x, empty = "keep")
  in_shards <- fit(corpus_here(x))
  # in burn-in, between two kept sweeps, after one
  for (n in c(5, 20, 23)) {
    root <- withr::local_tempdir()
    folders <- file.path(root, c("two", "alone", "one", "here"))
    do.call(stopped_run, c(list(two, folders[[1]], n), sampled))
    for (folder in folders[-1]) {
      dir.create(folder)
      file.copy(list.files(folders[[1]], full.names = TRUE), folder,
                recursive = TRUE)
    }
    expect_true(identical_fit(resumed(folders[[1]], two), in_shards))
    expect_true(identical_fit(resumed(folders[[2]], x), alone))
    expect_true(identical_fit(resumed(folders[[3]], one), in_shards))
    expect_true(identical_fit(resumed(folders[[4]], corpus_here(x)), in_shards))
  }
  # whole runs
  expect_true(identical_fit(resumed(folders[[2]], x), alone))
  expect_true(identical_fit(resumed(folders[[3]], two), in_shards))
  expect_identical(shares_of(resumed(folders[[4]], one)), shares_of(in_shards))
})

test_that("a run of one machine goes on in shards, and back", {
  x <- shard_documents()
  alone <- fit_corpus(x, empty = "keep", draws = 8)
  folder <- file.path(withr::local_tempdir(), "run")
  withr::with_options(
    list(gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "return"),
    {
      sweep <- asNamespace("gibbsite")$topic_sweeps
      count <- 0
      local_object("topic_sweeps", function(...) {
        count <<- count + 1
        if (count == 7) rlang::interrupt()
        sweep(...)
      })
      suppressWarnings(
        fit_corpus(x, empty = "keep", draws = 8, checkpoint = folder)
      )
    }
  )
  expect_identical(
    common_bits(resumed(folder, corpus_here(x))), common_bits(alone)
  )
  expect_true(identical_fit(resumed(folder, NULL), alone))
})

test_that("a checkpoint in shards needs its documents", {
  x <- shard_documents()
  folder <- file.path(withr::local_tempdir(), "run")
  corpus <- corpus_here(x)
  fit <- fit_corpus(corpus, checkpoint = folder)
  # no words are stored
  expect_lt(file.size(file.path(folder, "data.rds")), 8 * nrow(x) + 12000)
  y <- x[, 40:1]
  dimnames(y) <- dimnames(x)
  collapsed <- file.path(withr::local_tempdir(), "collapsed")
  quiet_fit(gibbs_lda(
    x, 4, empty = "keep", draws = 2, burnin = 2, chains = 1, progress = FALSE,
    checkpoint = collapsed
  ))
  expect_gibbsite_error({
    resume(folder, progress = FALSE)
    resume(folder, data = y, progress = FALSE)
    resume(folder, data = corpus_here(y), progress = FALSE)
    resume(collapsed, data = corpus, progress = FALSE)
  }, "gibbsite_error_argument")
  expect_true(identical_fit(resumed(folder, corpus), fit))
  # a fit goes on to a checkpoint
  longer <- file.path(withr::local_tempdir(), "longer")
  whole <- fit_corpus(corpus_here(x), draws = 9)
  quiet_fit(extend(fit, 3, checkpoint = longer, progress = FALSE))
  expect_true(identical_fit(resumed(longer, corpus_here(x)), whole))
})

test_that("much that is sent in each sweep is said", {
  cluster <- list(nodes = list(1, 2))
  expect_message(
    say_traffic(cluster, 2.4e7, "{.arg k} x terms"),
    "24 MB go to each of 2 workers: `k` x terms[.]",
    class = "gibbsite_message_traffic"
  )
  expect_no_message(say_traffic(cluster, 2e7, ""))
  expect_no_message(say_traffic(list(nodes = list(), collective = TRUE), 1e9, ""))
  expect_no_message(say_traffic(NULL, 1e9, ""))
  sent <- NULL
  local_object("say_traffic", function(cluster, bytes, of) sent <<- bytes)
  fit_corpus(corpus_here(shard_documents()), k = 3, draws = 1, burnin = 0)
  expect_identical(sent, 4 * 3 * 40)
  made <- small_ratings()
  quiet_fit(short_bmf(
    suppressMessages(gibbsite::scatter(NULL, made, what = "ratings")),
    rank = 3, draws = 1
  ))
  rows <- length(unique(made$user)) + length(unique(made$item))
  expect_identical(sent, 8 * 3 * rows)
})

test_that("a document in two files is said to be two", {
  d <- data.frame(document = c("x", "x", "y", "y", "z"),
                  term = c("a", "b", "a", "c", "c"))
  files <- withr::local_tempfile(lines = character(), fileext = ".rds")
  files <- c(files, withr::local_tempfile(fileext = ".rds"))
  write <- function(cut) {
    saveRDS(d[seq_len(cut), ], files[[1]])
    saveRDS(d[-seq_len(cut), ], files[[2]])
  }
  write(3)
  expect_message(
    shards(NULL, files, readRDS), "\"y\": each part",
    class = "gibbsite_message_split_documents"
  )
  write(4)
  expect_no_message(
    shards(NULL, files, readRDS), class = "gibbsite_message_split_documents"
  )
  # documents without names have none in common
  m <- matrix(1, 2, 2)
  saveRDS(m, files[[1]])
  saveRDS(m, files[[2]])
  expect_no_message(
    shards(NULL, files, readRDS), class = "gibbsite_message_split_documents"
  )
})
