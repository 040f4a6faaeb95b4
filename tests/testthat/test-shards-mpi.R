# One chain of gibbs_lda() or gibbs_bmf() on the processes of mpirun. They wait
# without sleep, so on a busy machine a sweep takes a second.

# The output of an R script in the first of `ranks` processes, or an error after
# two minutes: list(lines, status, seconds).
under_mpirun <- function(ranks, script) {
  folder <- find.package("snow", quiet = TRUE)
  starter <- file.path(folder, "RMPISNOW")
  skip_if(
    !nzchar(Sys.which("mpirun")) || length(folder) == 0L ||
      !nzchar(system.file(package = "Rmpi")), "no MPI"
  )
  file <- withr::local_tempfile(lines = c(
    "suppressPackageStartupMessages(library(gibbsite))",
    "cl <- snow::getMPIcluster()", script
  ))
  withr::local_envvar(
    R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep),
    OMPI_ALLOW_RUN_AS_ROOT = "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = "1"
  )
  began <- proc.time()[["elapsed"]]
  lines <- suppressWarnings(system2("mpirun", c(
    "--oversubscribe", "--bind-to", "none", "-n", ranks, shQuote(starter),
    "--no-echo", "-f", shQuote(file)
  ), stdout = TRUE, stderr = TRUE, timeout = 300))
  list(
    lines = lines, status = attr(lines, "status"),
    seconds = proc.time()[["elapsed"]] - began
  )
}

# A short run, as code for a script.
run_of <- function(x, ..., draws = 4) {
  paste0(
    "suppressWarnings(gibbs_lda(", x, ", 3, method = 'partially_collapsed', ",
    "draws = ", draws, ", burnin = 2, chains = 1, seed = 1, progress = FALSE",
    ..., "))"
  )
}

documents <- c("set.seed(1)", "x <- sim_lda(20, 3, terms = 20, tokens = 30)$x")

test_that("the processes of mpirun give the bits of one machine", {
  skip_unless_extended()
  out <- under_mpirun(3, c(
    documents, "corpus <- scatter(cl, x)",
    "stopifnot(corpus$cluster$collective)",
    paste("together <-", run_of("corpus")),
    # a part of the processes: without collective operations
    "part <- scatter(cl[1], x)", "stopifnot(!part$cluster$collective)",
    paste("apart <-", run_of("part")),
    # an error in one process: the others go on
    "failure <- tryCatch(shards(cl, c('a', 'b'), function(file) {",
    "  if (file == 'b') stop('no such file') else matrix(1, 2, 3)",
    "}), error = identity)",
    "cat('caught:', conditionMessage(failure), '\\n')",
    paste("again <-", run_of("corpus")),
    paste("alone <-", run_of("x")),
    "bits <- function(fit) unclass(fit[[1]])[, ]",
    "for (fit in list(together, apart, again)) {",
    "  cat('the same:', identical(bits(fit), bits(alone)), '\\n')", "}"
  ))
  expect_identical(sum(grepl("the same: TRUE", out$lines)), 3L)
  expect_match(
    paste(out$lines, collapse = " "), "caught: Worker 2 .*no such file"
  )
})

test_that("the processes of mpirun draw users and items of one machine", {
  skip_unless_extended()
  out <- under_mpirun(3, c(
    "set.seed(1)", "x <- sim_bmf(30, 20, share = 0.4)",
    "x$value <- round(x$value)",
    "fit_of <- function(x, ...) suppressWarnings(gibbs_bmf(",
    "  x, 2, draws = 4, burnin = 2, chains = 1, seed = 1, progress = FALSE, ...",
    "))",
    "alone <- fit_of(x)", "ordinal <- fit_of(x, link = 'ordinal')",
    # all processes, with collective operations, and a part of them
    "for (nodes in list(cl, cl[1])) {",
    "  ratings <- scatter(nodes, x, what = 'ratings')",
    "  cat('together:', ratings$corpus$cluster$collective, '\\n')",
    "  cat('the same:', identical_fit(fit_of(ratings), alone), '\\n')",
    "  shared <- fit_of(ratings, link = 'ordinal')",
    "  cat('the same:', identical_fit(shared, ordinal), '\\n')", "}",
    # the second worker has no ratings of items any more
    "ratings <- scatter(cl, x, what = 'ratings')",
    "fit <- fit_of(ratings)",
    "parallel::clusterCall(cl[2], function() {",
    "  held <- get('held', asNamespace('gibbsite'))",
    "  for (id in ls(held)) held[[id]]$prepared[[2]] <- list(1)", "})",
    "failure <- tryCatch(fit_of(ratings), error = identity)",
    "cat('caught:', class(failure), conditionMessage(failure), '\\n')",
    "again <- fit_of(scatter(cl, x, what = 'ratings'))",
    "cat('the same:', identical_fit(again, alone), '\\n')"
  ))
  said <- paste(out$lines, collapse = " ")
  expect_match(said, "together: TRUE.*together: FALSE")
  expect_identical(sum(grepl("the same: TRUE", out$lines)), 5L)
  expect_match(said, "caught: .*gibbsite_error_chain.*Worker 2")
})

test_that("an error inside a sweep of one process stops no other", {
  skip_unless_extended()
  out <- under_mpirun(3, c(
    documents, "corpus <- scatter(cl, x)",
    # the second worker forgets its documents
    "parallel::clusterCall(cl[2], function() {",
    "  held <- get('held', asNamespace('gibbsite'))",
    "  rm(list = ls(held), envir = held)", "})",
    paste0("failure <- tryCatch(", run_of("corpus"), ", error = identity)"),
    "cat('caught:', class(failure), conditionMessage(failure), '\\n')",
    "cat('alive:', unlist(parallel::clusterCall(cl, function() 7)), '\\n')"
  ))
  said <- paste(out$lines, collapse = " ")
  expect_match(said, "caught: .*does not hold its part of the data")
  expect_match(said, "alive: 7 7")
})

test_that("a killed process ends the job, and the checkpoint goes on", {
  skip_unless_extended()
  folder <- file.path(withr::local_tempdir(), "run")
  out <- under_mpirun(2, c(
    documents, "corpus <- scatter(cl, x)",
    "options(gibbsite.checkpoint_seconds = 0)",
    "options(gibbsite.segment_seconds = 1e-9)",
    # the process ends after some sweeps
    "parallel::clusterCall(cl, function() {",
    "  inside <- asNamespace('gibbsite')", "  ask <- inside$ask_shard",
    "  asked <- 0", "  unlockBinding('ask_shard', inside)",
    "  assign('ask_shard', function(...) {", "    asked <<- asked + 1",
    "    if (asked > 40) tools::pskill(Sys.getpid(), 9)", "    ask(...)",
    "  }, inside)", "})",
    run_of("corpus", draws = 30, ", checkpoint = '", folder, "'"),
    "cat('not reached')"
  ))
  expect_false(identical(out$status, 0L))
  expect_false(any(grepl("not reached", out$lines)))
  x <- withr::with_seed(1, sim_lda(20, 3, terms = 20, tokens = 30))$x
  fit_of <- function(...) {
    suppressWarnings(gibbs_lda(
      x, 3, method = "partially_collapsed", draws = 30, burnin = 2, chains = 1,
      seed = 1, progress = FALSE
    ))
  }
  resumed <- suppressWarnings(resume(folder, data = x, progress = FALSE))
  expect_identical(unclass(resumed[[1]])[, ], unclass(fit_of()[[1]])[, ])
})
