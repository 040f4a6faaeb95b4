# Topics of documents that no process holds as a whole: files, a million tokens
# each, which two workers read (?shards).
#
#   Rscript bench/machines-files.R [MILLIONS OF TOKENS [TERMS [K]]]
#     default: 20 million tokens, 20,000 terms, 50 topics; some three minutes,
#     and 250 MB of disk in tempdir()
#
# Prints the seconds to read the files and of a sweep, and the most memory that
# this session and the larger worker had (Linux: VmHWM).
suppressPackageStartupMessages(library(gibbsite))

size <- c(millions = 20, terms = 20000, k = 50)
given <- as.numeric(commandArgs(trailingOnly = TRUE))
size[seq_along(given)] <- given
sweeps <- 10

peak_megabytes <- function() {
  lines <- tryCatch(readLines("/proc/self/status"), error = function(e) NULL,
                    warning = function(w) NULL)
  line <- grep("^VmHWM", lines, value = TRUE)
  if (length(line) == 0L) return(NA)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
seconds_of <- function(code) system.time(code)[["elapsed"]]

files <- tempfile(sprintf("part-%d-", seq_len(size[["millions"]])),
                  fileext = ".rds")
cl <- parallel::makeCluster(2, useXDR = FALSE)
write_part <- function(seed, file, terms, k) {
  x <- withr::with_seed(seed, gibbsite::sim_lda(1e4, k, terms, 100)$x)
  saveRDS(x, file, compress = FALSE)
  NULL
}
environment(write_part) <- globalenv()
invisible(parallel::clusterMap(
  cl, write_part, seq_along(files), files, size[["terms"]], size[["k"]]
))
parallel::stopCluster(cl)

# other processes, whose memory is that of the sampler
cl <- parallel::makeCluster(2, useXDR = FALSE)
began <- peak_megabytes()
reading <- seconds_of(corpus <- shards(cl, files, read = readRDS))
sampling <- seconds_of(fit <- suppressWarnings(gibbs_lda(
  corpus, size[["k"]], method = "partially_collapsed", draws = sweeps,
  burnin = 2, chains = 1, seed = 1, progress = FALSE
)))
workers <- parallel::clusterCall(cl, peak_megabytes)
cat(sprintf(
  paste0("%g million tokens: %.0f s to read, %.2f s a sweep with what begins a ",
         "run; memory: this session %.0f MB (%.0f before), a worker %.0f MB\n"),
  size[["millions"]], reading, sampling / (sweeps + 2), peak_megabytes(), began,
  max(unlist(workers))
))
parallel::stopCluster(cl)
unlink(files)
