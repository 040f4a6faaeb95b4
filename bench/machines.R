# One chain of gibbs_lda() or gibbs_bmf() on the workers of a cluster (?shards).
#
#   Rscript bench/machines.R [TOKENS [TERMS [K]]]
#     default: 400,000 tokens, 5,000 terms, 50 topics; about two minutes
#   Rscript bench/machines.R ratings [RATINGS [USERS [ITEMS [RANK]]]]
#     default: a million ratings of 2,000 items by 5,000 users, rank 30; the
#     same with `ordinal` for ratings of five levels
#   mpirun --bind-to none -n 3 RMPISNOW --no-echo -f bench/machines.R
#     the same with the processes of mpirun
#   sh bench/network.sh 1gbit Rscript bench/machines.R ...
#     the same with workers behind links of 1 Gbit/s
#
# For this session alone (topics: method "partially_collapsed") and for clusters
# of 1 and 2 workers on this machine, or that of mpirun: seconds of a sweep
# after burn-in, and of these the seconds in which the slowest worker draws
# (`draw`), those of this session (topics: phi, the numbers of the topics, the
# averages; ratings: the moves, the hyperparameters, stored draws: `session`),
# and the rest, which sends and sums (`exchange`); and the megabytes to and from
# all workers. The draws must be the same. Averages over all sweeps, with the
# start of the chain.
suppressPackageStartupMessages(library(gibbsite))
options(socketOptions = "no-delay")

arguments <- commandArgs(trailingOnly = TRUE)
ordinal <- identical(arguments[1L], "ordinal")
ratings <- ordinal || identical(arguments[1L], "ratings")
size <- if (ratings) {
  c(ratings = 1e6, users = 5000, items = 2000, rank = 30)
} else {
  c(tokens = 4e5, terms = 5000, k = 50)
}
given <- as.numeric(setdiff(arguments, c("ratings", "ordinal")))
size[seq_along(given)] <- given
inside <- asNamespace("gibbsite")
seconds_now <- function() proc.time()[["elapsed"]]
sweeps <- 12

set.seed(1)
if (ratings) {
  cells <- size[["users"]] * size[["items"]]
  x <- sim_bmf(size[["users"]], size[["items"]], rank = 5,
               share = size[["ratings"]] / cells)
  if (ordinal) x$value <- findInterval(x$value, c(-1.5, -0.5, 0.5, 1.5))
  task <- "draw_ratings"
  send <- function(cl) scatter(cl, x, what = "ratings")
  sampler <- function(x, ...) {
    gibbs_bmf(x, size[["rank"]], link = if (ordinal) "ordinal", ...)
  }
} else {
  x <- sim_lda(round(size[["tokens"]] / 100), k = size[["k"]],
               terms = size[["terms"]], tokens = 100)$x
  task <- "ask_shard"
  send <- function(cl) scatter(cl, x)
  sampler <- function(x, ...) {
    gibbs_lda(x, size[["k"]], method = "partially_collapsed", ...)
  }
}

run <- function(x) {
  began <- seconds_now()
  fit <- suppressWarnings(sampler(
    x, draws = sweeps, burnin = 2, chains = 1, seed = 1, progress = FALSE,
    keep_data = FALSE
  ))
  list(fit = fit, seconds = (seconds_now() - began) / (sweeps + 2))
}

# Times and bytes of each exchange, and of the work of the slowest worker.
noted <- new.env()
time_in_worker <- function(task) {
  inside <- asNamespace("gibbsite")
  ask <- inside[[task]]
  unlockBinding(task, inside)
  assign(task, function(...) {
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
  values <- answers$values
  if (ratings || common[[2L]]$task != 0L) {
    drawn <- 8 * length(unlist(lapply(values, `[[`, "parts")))
    noted$rows <- rbind(noted$rows, c(
      whole = seconds_now() - began,
      draw = max(vapply(values, `[[`, 0, "seconds")),
      megabytes = (drawn + (length(large) + 4 * length(answers$sum)) *
                     length(values)) / 1e6
    ))
  }
  answers
}

# Worker k: on this machine, or in namespace k of bench/network.sh, where a
# script stands for ssh.
network <- Sys.getenv("GIBBSITE_BENCH_NETWORK")
start_worker <- function(k) {
  start <- function(machine, ...) {
    parallel::makePSOCKcluster(
      machine, useXDR = FALSE, ...,
      rscript_args = c("-e", shQuote("options(socketOptions = 'no-delay')"))
    )
  }
  if (network == "") return(start("localhost"))
  there <- tempfile("ssh")
  writeLines(c(
    "#!/bin/sh", "for command; do :; done",
    paste0("exec ip netns exec gibbsite", k, ' sh -c "$command"')
  ), there)
  Sys.chmod(there, "755")
  start(
    sprintf("%s.%d.2", network, k), rshcmd = there,
    master = sprintf("%s.%d.1", network, k)
  )
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
    nodes <- lapply(seq_len(workers), start_worker)
    structure(do.call(c, lapply(nodes, unclass)), class = class(nodes[[1L]]))
  }
  corpus <- send(cl)
  invisible(parallel::clusterCall(cl, time_in_worker, task))
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
