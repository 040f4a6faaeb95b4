# Costs that the help pages name.
#
#   Rscript bench/costs.R [ROUNDS]      ROUNDS: default 3; about two minutes
#
# trials: processor seconds of gibbs_logistic() for a million trials in a sweep
#   that draws all of them (?gibbs_logistic, Number of trials), by the
#   difference of two numbers of trials in the same 20 observations.
# tokens: bytes of memory of gibbs_lda() for each token, and for each further
#   chain (?gibbs_lda, Details), by the difference of two lengths of the same
#   100 documents; the largest memory of an R session that runs it (Linux
#   alone).
# measures: processor seconds of the first and of the second call of converged()
#   on 200 quantities with 4 x 8,000 draws. The second one takes what the first
#   one has measured.
#
# Medians of ROUNDS.
suppressPackageStartupMessages(library(gibbsite))

argument <- commandArgs(trailingOnly = TRUE)
rounds <- if (length(argument) > 0L) as.integer(argument[[1L]]) else 3L

processor <- function(code) {
  sum(system.time(code)[c("user.self", "sys.self")])
}
quietly <- function(code) suppressMessages(suppressWarnings(code))
median_of <- function(f) stats::median(vapply(seq_len(rounds), f, 0))

# ---- trials ------------------------------------------------------------------

sweeps <- 50L
seconds_of_trials <- function(trials, link, seed) {
  x <- seq(-1, 1, length.out = 20L)
  each <- trials / 20
  yes <- round(each * stats::plogis(0.3 + x))
  data <- data.frame(x, yes, no = each - yes)
  processor(quietly(gibbs_logistic(
    cbind(yes, no) ~ x, data, link = link, draws = 1, burnin = sweeps - 1L,
    chains = 1, seed = seed, progress = FALSE
  )))
}

cat("seconds for a million trials in a sweep\n")
for (link in c("logit", "probit")) {
  per_trial <- median_of(function(seed) {
    (seconds_of_trials(1.2e6, link, seed) - seconds_of_trials(2e5, link, seed))
  }) / sweeps
  cat(sprintf("  %-7s %.3f\n", link, per_trial))
}

# ---- tokens ------------------------------------------------------------------

# Largest memory in bytes of a new session that runs `code`, a string.
largest_memory <- function(code) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(c(
    "suppressPackageStartupMessages(library(gibbsite))", code,
    "line <- grep(\"^VmHWM\", readLines(\"/proc/self/status\"), value = TRUE)",
    "cat(gsub(\"[^0-9]\", \"\", line))"
  ), script)
  rscript <- file.path(R.home("bin"), "Rscript")
  1024 * as.double(system2(rscript, script, stdout = TRUE, stderr = FALSE))
}

# form: R code that makes the data of `counts`.
memory_of_tokens <- function(tokens, chains, form) {
  largest_memory(sprintf(
    "set.seed(1)
     counts <- matrix(rpois(100 * 200, %g / 20000), 100)
     x <- %s
     fit <- gibbs_lda(x, 4, draws = 2, burnin = 1, chains = %d, seed = 1,
                      progress = FALSE)", tokens, form, chains
  ))
}
forms <- c(
  "counts, one chain" = "counts",
  "lists of words, one chain" =
    "apply(counts, 1, function(n) rep(letters[1 + 1:200 %% 26], n))"
)

if (file.exists("/proc/self/status")) {
  few <- 2e6
  many <- 1e7
  bytes <- function(chains, form) {
    median_of(function(round) {
      memory_of_tokens(many, chains, form) - memory_of_tokens(few, chains, form)
    }) / (many - few)
  }
  one <- vapply(forms, bytes, 0, chains = 1L)
  further <- (bytes(4L, "counts") - one[[1L]]) / 3
  cat("bytes of memory for each token\n")
  cat(sprintf("  %-26s %.1f\n", c(names(forms), "each further chain (of 4)"),
              c(one, further)), sep = "")
}

# ---- measures ----------------------------------------------------------------

set.seed(1)
x <- data.frame(y = stats::rnorm(300), matrix(stats::rnorm(300 * 198), 300))
measured <- vapply(seq_len(rounds), function(seed) {
  fit <- quietly(gibbs_lm(
    y ~ ., x, draws = 8000, seed = seed, progress = FALSE
  ))
  # the fit's own verdict was measured with it
  fit <- quietly(window(fit, start = 1002))
  c(processor(converged(fit)), processor(converged(fit)))
}, numeric(2))
cat("seconds of converged(), about 200 quantities of 4 x 7,999 draws\n")
cat(sprintf("  %-26s %.2f\n", c("first call", "second call"),
            apply(measured, 1L, stats::median)), sep = "")
