# One chain of gibbs_lda() on the workers of a cluster (?shards).
#
#   Rscript bench/machines.R [TOKENS [TERMS [K]]]
#     default: 400,000 tokens, 5,000 terms, 50 topics; about two minutes
#   mpirun --bind-to none -n 3 RMPISNOW --no-echo -f bench/machines.R
#     the same with the processes of mpirun
#
# For this session alone (method "partially_collapsed") and for clusters of 1 and
# 2 workers on this machine, or that of mpirun: seconds of a sweep after burn-in, and of these the
# seconds in which the slowest worker draws (`draw`), those of this session (phi,
# the numbers of the topics, the averages: `session`), and the rest, which sends
# and sums (`exchange`); and the megabytes to and from all workers. The draws must
# be the same. Averages over all sweeps, with the start of the chain.
suppressPackageStartupMessages(library(gibbsite))

argument <- as.numeric(commandArgs(trailingOnly = TRUE))
size <- c(tokens = 4e5, terms = 5000, k = 50)
size[seq_along(argument)] <- argument
inside <- asNamespace("gibbsite")

set.seed(1)
documents <- round(size[["tokens"]] / 100)
x <- sim_lda(documents, k = size[["k"]], terms = size[["terms"]],
             tokens = 100)$x
seconds_now <- function() proc.time()[["elapsed"]]

sweeps <- 12
run <- function(x) {
  began <- seconds_now()
  fit <- suppressWarnings(gibbs_lda(
    x, size[["k"]], method = "partially_collapsed", draws = sweeps,
    burnin = 2, chains = 1, seed = 1, progress = FALSE, keep_data = FALSE
  ))
  list(fit = fit, seconds = (seconds_now() - began) / (sweeps + 2))
}

# Times and bytes of each exchange, and of the work of the slowest worker.
noted <- new.env()
time_in_worker <- function() {
  inside <- asNamespace("gibbsite")
  ask <- inside$ask_shard
  unlockBinding("ask_shard", inside)
  assign("ask_shard", function(...) {
    began <- proc.time()[["elapsed"]]
    value <- ask(...)
    if (is.null(value)) value <- list()
    value$seconds <- proc.time()[["elapsed"]] - began
    value
  }, inside)
}
environment(time_in_worker) <- globalenv()

exchange <- inside$exchange_large
note <- function(cluster, task, common, large, ...) {
  began <- seconds_now()
  answers <- exchange(cluster, task, common, large, ...)
  if (common[[2L]]$task != 0L) {
    values <- answers$values
    noted$rows <- rbind(noted$rows, c(
      whole = seconds_now() - began,
      draw = max(vapply(values, `[[`, 0, "seconds")),
      megabytes = (length(large) + 4 * length(answers$sum)) *
        length(values) / 1e6
    ))
  }
  answers
}

alone <- run(x)
cat(sprintf("this session alone: %.3f s a sweep\n", alone$seconds))
unlockBinding("exchange_large", inside)
assign("exchange_large", note, inside)
mpi <- isNamespaceLoaded("Rmpi")
for (workers in if (mpi) length(snow::getMPIcluster()) else 1:2) {
  cl <- if (mpi) {
    snow::getMPIcluster()
  } else {
    parallel::makeCluster(workers, useXDR = FALSE)
  }
  corpus <- scatter(cl, x)
  invisible(parallel::clusterCall(cl, time_in_worker))
  noted$rows <- NULL
  shards <- run(corpus)
  if (!mpi) parallel::stopCluster(cl)
  stopifnot(identical(unclass(shards$fit[[1]]), unclass(alone$fit[[1]])))
  per_sweep <- colSums(noted$rows) / (sweeps + 2)
  cat(sprintf(
    paste0("%d worker(s): %.3f s a sweep: draw %.3f, session %.3f, exchange ",
           "%.3f; %.1f MB\n"),
    workers, shards$seconds, per_sweep[["draw"]],
    shards$seconds - per_sweep[["whole"]],
    per_sweep[["whole"]] - per_sweep[["draw"]], per_sweep[["megabytes"]]
  ))
}
