# A chain of gibbs_lda() on three workers, of which one is killed at a random
# time, resumed on two: are the draws those of one machine?
#
#   Rscript bench/machine-loss.R [SEED [K]]      default: 1, 50
#
# 20 Newsgroups is newsgroups20_train.rds in GIBBSITE_BENCH_DATA (see
# answers.R): 11,269 documents, 61,188 terms, 2.8 million tokens.
suppressPackageStartupMessages(library(gibbsite))
options(gibbsite.checkpoint_seconds = 5, socketOptions = "no-delay")

given <- as.numeric(commandArgs(trailingOnly = TRUE))
setting <- replace(c(seed = 1, k = 50), seq_along(given), given)
folder <- Sys.getenv("GIBBSITE_BENCH_DATA", "../shared/data")
file <- file.path(folder, "newsgroups20_train.rds")
if (!file.exists(file)) {
  message("Skipped: 20 Newsgroups is not there (GIBBSITE_BENCH_DATA).")
  quit(status = 0L)
}
x <- readRDS(file)

run <- function(x, ...) {
  suppressWarnings(gibbs_lda(
    x, setting[["k"]], method = "partially_collapsed", draws = 20, burnin = 20, chains = 1,
    seed = 1, progress = FALSE, ...
  ))
}
seconds <- function(code) system.time(code)[["elapsed"]]

path <- tempfile("run")
cl <- parallel::makeCluster(3, useXDR = FALSE)
pids <- unlist(parallel::clusterCall(cl, Sys.getpid))
corpus <- scatter(cl, x)
set.seed(setting[["seed"]])
after <- stats::runif(1, 5, 40)
victim <- sample(pids, 1)
# from the first state of the chain on
system(sprintf(
  "(while [ ! -e %s ]; do sleep 1; done; sleep %.1f; kill -9 %d)",
  file.path(path, "data.rds"), after, victim
), wait = FALSE)
lost <- tryCatch(run(corpus, checkpoint = path), error = identity)
tools::pskill(pids, tools::SIGKILL)
if (!inherits(lost, "error")) stop("the run was over before the kill")
cat(sprintf("killed %.1f s after the start: %s\n", after,
            conditionMessage(lost)))

cl <- parallel::makeCluster(2, useXDR = FALSE)
corpus <- scatter(cl, x)
took <- seconds(
  resumed <- suppressWarnings(resume(path, data = corpus, progress = FALSE))
)
parallel::stopCluster(cl)
cat(sprintf("resumed on two workers: %.1f s\n", took))
took <- seconds(alone <- run(x))
cat(sprintf("one machine: %.1f s, the same draws: %s\n", took,
            identical(unclass(resumed[[1L]]), unclass(alone[[1L]]))))
