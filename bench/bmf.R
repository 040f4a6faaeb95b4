# Matrix factorisation: sweeps of gibbs_bmf() beside rows done with R's BLAS and
# LAPACK, the processor's peak and alternating least squares (rsparse), and how
# well it predicts.
#
#   Rscript bench/bmf.R [PART ...] [rank=10,32] [rounds=3] [threads=1]
#                         PARTS: speed accuracy ordinal cutpoints million10
#                         million5; default the first two, about ten minutes
#
# speed     milliseconds a sweep with the Normal-Wishart prior, rank 10, 32 and
#           100, 1 and 2 threads, of
#             MovieLens-100k (943 users, 1,664 items, 90% of 99,392 ratings),
#             lme4::InstEval (2,972 students, 1,128 lecturers, 73,421),
#             5 million simulated ratings (50,000 x 10,000; part `million5`);
#           `blas`: the rows alone (bmf_reference.c: panel, dsyrk, dgemv,
#           dpotrf, two dtrsv, normals), one thread; `als`: an iteration of
#           rsparse::WRMF.  Ours is a whole sweep.  The programs take turns;
#           medians, and medians of the ratios within a round: of processor time
#           for one thread, of elapsed time for two and for what they gain,
#           which mean something on an idle machine.  Shares of the peak, that
#           of fused multiply-adds on vectors of 32 bytes, in cache, in the same
#           run.  (n + m) (K^3 / 3 + 2 K^2) operations for factors and solves,
#           and for the sums of products, 2 N of them with N ratings,
#             useful  K (K + 1) + 2 K each, a symmetric one counted once (dsyrk)
#             tiles   what the kernel does, what it pads included
#             full    2 K^2 + 2 K, as if both triangles were made
# accuracy  root mean square error and coverage of 90% intervals on ratings held
#           back: a tenth, sample.int(N, round(N / 10)) after set.seed(1), of
#           MovieLens (row by row of the table of users and items) and of
#           InstEval; four chains, 100 sweeps of burn-in and 500 kept, each.
#           InstEval beside the global mean and lme4's crossed random effects.
# ordinal   MovieLens as in `accuracy`, rank 10: ratings as numbers, with a
#           range and on their ordinal scale, with biases, and with features of
#           users and items (age, sex, occupation; year, genres); two chains,
#           100 sweeps of burn-in and 200 kept. Root mean square error, coverage
#           and mean length of 90% intervals, and the mean log probability of a
#           rating held back: where ratings are numbers, of the interval from
#           half a step below it to half a step above it, without ends at the
#           ends of the scale. Seconds of the fit; milliseconds a sweep.
# cutpoints The default cutpoint_sd = 5 of link = "ordinal" beside 1, 2, 10 and
#           20: mean log probability of the tenth held back, and the default
#           run's convergence, for seed 1. MovieLens, InstEval, the answers of
#           316 persons to 24 items (lme4::VerbAgg; no, perhaps, yes), and four
#           simulated sets: 300 ratings; a level with 1% of the ratings; levels
#           from 1 to 10; likes. 500 kept sweeps.
# million10 10 million simulated ratings (100,000 x 20,000, rank 32): seconds a
#           sweep, memory.
#
# MovieLens comes with recommenderlab.  Where that cannot be installed the data
# are read from its source package; where that cannot be had they are skipped.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(here) > 0L) dirname(here) else "bench"
source(file.path(here, "deps.R"))
source(file.path(here, "data.R"))

arguments <- commandArgs(trailingOnly = TRUE)
parts <- grep("=", arguments, value = TRUE, invert = TRUE)
if (length(parts) == 0L) parts <- c("speed", "accuracy")
setting <- function(name, default) {
  given <- grep(paste0("^", name, "="), arguments, value = TRUE)
  if (length(given) == 0L) return(default)
  as.integer(strsplit(sub(".*=", "", given[[1L]]), ",")[[1L]])
}
ranks <- setting("rank", c(10L, 32L, 100L))
rounds <- setting("rounds", 5L)
most_threads <- setting("threads", 2L)

# ---- the data ----------------------------------------------------------------

# Users and items of unequal activity.
simulated <- function(n, m, count, rank) {
  set.seed(7)
  u <- matrix(stats::rnorm(n * rank), n)
  v <- matrix(stats::rnorm(m * rank), m)
  user <- sample.int(n, count, TRUE, prob = stats::rexp(n) + 0.1)
  item <- sample.int(m, count, TRUE, prob = stats::rexp(m)^2 + 0.05)
  mean <- numeric(count)
  for (k in seq_len(rank)) mean <- mean + u[user, k] * v[item, k] / sqrt(rank)
  data.frame(user = user, item = item, value = mean + stats::rnorm(count))
}

split_tenth <- function(x) {
  set.seed(1)
  held <- sample.int(nrow(x), round(nrow(x) / 10))
  list(train = x[-held, ], test = x[held, ])
}

# ---- the programs ------------------------------------------------------------

compile_reference <- function() {
  folder <- tempfile("reference")
  dir.create(folder)
  file.copy(file.path(here, "bmf_reference.c"), folder)
  writeLines(
    "PKG_LIBS = $(LAPACK_LIBS) $(BLAS_LIBS) $(FLIBS)",
    file.path(folder, "Makevars")
  )
  # R CMD SHLIB reads the Makevars of the working directory
  old <- setwd(folder) # nolint: undesirable_function_linter.
  on.exit(setwd(old)) # nolint: undesirable_function_linter.
  outcome <- system2(
    file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "bmf_reference.c"),
    stdout = FALSE, stderr = FALSE
  )
  if (outcome != 0L) stop("bmf_reference.c does not compile")
  library <- paste0("bmf_reference", .Platform$dynlib.ext)
  dyn.load(file.path(folder, library))
}

peak <- function(width) {
  max(vapply(1:3, function(i) .Call("bmf_reference_peak", width), 0)) / 1e9
}

# Seconds of gibbs_bmf() a sweep: the difference between a longer and a shorter
# run, so that reading the data does not count.
fit_sweeps <- function(x, rank, sweeps, threads) {
  suppressMessages(suppressWarnings(gibbs_bmf(
    x, rank, draws = 1, burnin = sweeps - 1, chains = 1, threads = threads,
    seed = 1, progress = FALSE
  )))
}

time_ours <- function(x, rank, sweeps, threads) {
  short <- stopwatch(fit_sweeps(x, rank, 1, threads))
  long <- stopwatch(fit_sweeps(x, rank, 1 + sweeps, threads))
  (long - short) / sweeps
}

# c(processor time, elapsed time) in seconds
stopwatch <- function(code) {
  time <- system.time(code)
  c(processor = time[[1L]] + time[[2L]], elapsed = time[[3L]])
}

# Ratings compressed by `rows`.
compressed <- function(rows, partners, value, count) {
  order <- order(rows)
  list(
    start = c(0L, cumsum(tabulate(rows, count))),
    index = as.integer(partners[order]) - 1L, value = value[order]
  )
}

time_blas <- function(x, rank, sweeps) {
  user <- match(x$user, unique(x$user))
  item <- match(x$item, unique(x$item))
  value <- x$value - mean(x$value)
  n <- max(user)
  m <- max(item)
  by_user <- compressed(user, item, value, n)
  by_item <- compressed(item, user, value, m)
  u <- matrix(stats::rnorm(n * rank), rank)
  v <- matrix(stats::rnorm(m * rank), rank)
  half <- function(by, to, from) {
    .Call(
      "bmf_reference_rows", by$start, by$index, by$value, to, from,
      diag(rank), 1
    )
  }
  stopwatch(for (sweep in seq_len(sweeps)) {
    half(by_user, u, v)
    half(by_item, v, u)
  })[["processor"]] / sweeps
}

time_als <- function(x, rank, iterations) {
  user <- match(x$user, unique(x$user))
  item <- match(x$item, unique(x$item))
  old <- options(rsparse_omp_threads = 1L)
  on.exit(options(old))
  table <- Matrix::sparseMatrix(i = user, j = item, x = x$value)
  run <- function(count) {
    model <- rsparse::WRMF$new(
      rank = rank, lambda = 5, feedback = "explicit", solver = "cholesky"
    )
    stopwatch(utils::capture.output(suppressMessages(
      model$fit_transform(table, n_iter = count, convergence_tol = -1)
    )))[["processor"]]
  }
  (run(1L + iterations) - run(1L)) / iterations
}

# ---- speed -------------------------------------------------------------------

# Operations of a sweep, counted in three ways.
operations <- function(x, rank) {
  rows <- length(unique(x$user)) + length(unique(x$item))
  # four columns at a time, each from the diagonal to the row of responses, in
  # whole vectors
  width <- if (rank >= 16 && peak(8L) > 0) 8 else 4
  from <- seq(0, rank - 1, 4)
  tiles <- sum(4 * 2 * width * (rank - from + width) %/% width)
  product <- c(
    useful = rank * (rank + 1) + 2 * rank, tiles = tiles,
    full = 2 * rank^2 + 2 * rank
  )
  2 * nrow(x) * product + rows * (rank^3 / 3 + 2 * rank^2)
}

speed_row <- function(name, x, rank, rounds, seconds, als) {
  top <- peak(4L)
  once <- time_ours(x, rank, 2, 1)[["elapsed"]]
  sweeps <- max(2, min(300, round(seconds / max(once, 1e-3))))
  times <- vapply(seq_len(rounds), function(round) {
    one <- time_ours(x, rank, sweeps, 1)
    c(
      one = one[["processor"]], one_elapsed = one[["elapsed"]],
      two = if (most_threads < 2L) {
        NA
      } else {
        time_ours(x, rank, sweeps, 2)[["elapsed"]]
      },
      blas = time_blas(x, rank, max(1, round(sweeps / 4))),
      als = if (als) time_als(x, rank, max(2, round(sweeps / 8))) else NA
    )
  }, numeric(5))
  middle <- function(values) stats::median(values)
  data.frame(
    data = name, rank = rank, ms = 1e3 * middle(times["one", ]),
    ms_2_threads = 1e3 * middle(times["two", ]),
    gain = middle(times["one_elapsed", ] / times["two", ]),
    blas = 1e3 * middle(times["blas", ]),
    blas_over_ours = middle(times["blas", ] / times["one", ]),
    als = 1e3 * middle(times["als", ]),
    peak_gflops = top,
    t(operations(x, rank) / middle(times["one", ]) / 1e9 / top)
  )
}

show_table <- function(x) {
  numbers <- vapply(x, is.numeric, NA)
  x[numbers] <- lapply(x[numbers], signif, 4)
  print(x, row.names = FALSE)
}

run_speed <- function(cases, rounds, seconds = 1) {
  compile_reference()
  als <- peer_available("rsparse")
  cat("Peak, GFLOP/s, vectors of 16, 32, 64 bytes:",
    signif(c(peak(2L), peak(4L), peak(8L)), 3), "\n"
  )
  cat("BLAS:", extSoftVersion()[["BLAS"]], "\n")
  cases <- cases[!vapply(cases, is.null, NA)]
  rows <- lapply(names(cases), function(name) {
    lapply(ranks, function(rank) {
      row <- speed_row(name, cases[[name]], rank, rounds, seconds, als)
      show_table(row)
      row
    })
  })
  cat("\n")
  show_table(do.call(rbind, unlist(rows, recursive = FALSE)))
}

# ---- accuracy ----------------------------------------------------------------

accuracy_row <- function(name, x, rank, biases = FALSE) {
  parts <- split_tenth(x)
  test <- parts$test[c("user", "item")]
  elapsed <- system.time(fit <- suppressMessages(suppressWarnings(gibbs_bmf(
    parts$train, rank, biases = biases, draws = 500, burnin = 100, chains = 4,
    predict_at = parts$test, seed = 1, progress = FALSE
  ))))[[3L]]
  at <- predicted_at(fit, level = 0.9)
  interval <- suppressMessages(
    predict(fit, test, interval = "prediction", level = 0.9)
  )
  truth <- parts$test$value
  inside <- truth >= interval[["lower"]] & truth <= interval[["upper"]]
  data.frame(
    data = name, rank = rank, biases = biases,
    rmse = sqrt(mean((truth - at[["mean"]])^2)), coverage_90 = mean(inside),
    seconds = elapsed
  )
}

insteval_peers <- function(x) {
  parts <- split_tenth(x)
  rmse <- function(p) sqrt(mean((parts$test$value - p)^2))
  crossed <- lme4::lmer(value ~ 1 + (1 | user) + (1 | item), parts$train)
  p <- stats::predict(crossed, parts$test, allow.new.levels = TRUE)
  cat(
    "InstEval, root mean square error: global mean",
    signif(rmse(mean(parts$train$value)), 4), " lme4, crossed random effects",
    signif(rmse(p), 4), "\n"
  )
}

run_accuracy <- function(movielens, insteval) {
  rows <- list()
  if (!is.null(movielens)) {
    for (rank in c(10L, 30L)) {
      rows <- c(rows, list(accuracy_row("MovieLens", movielens, rank)))
    }
    rows <- c(rows, list(accuracy_row("MovieLens", movielens, 10L, TRUE)))
  }
  if (!is.null(insteval)) {
    for (biases in c(FALSE, TRUE)) {
      rows <- c(rows, list(accuracy_row("InstEval", insteval, 5L, biases)))
    }
    insteval_peers(insteval)
  }
  show_table(do.call(rbind, rows))
}

# ---- ordinal -----------------------------------------------------------------

# Mean log probability of the ratings c of a scale of whole numbers.
log_score <- function(fit, test) {
  if (is.element("theta[1]", coda::varnames(fit))) {
    return(held_out(fit, test)$lpd)
  }
  mean <- posterior_linpred(fit, newdata = test)
  sd <- 1 / sqrt(noise_draws(fit))
  value <- rep(test$value, each = nrow(mean))
  high <- ifelse(value == max(value), Inf, value + 0.5)
  low <- ifelse(value == min(value), -Inf, value - 0.5)
  p <- stats::pnorm(high, mean, sd) - stats::pnorm(low, mean, sd)
  mean(log(colMeans(matrix(p, nrow(mean)))))
}

# beta of the draws of the factors, chain after chain: every 2^j-th
noise_draws <- function(fit) {
  beta <- draws_of(fit, "beta")
  count <- nrow(posterior_linpred(fit, newdata = data.frame(
    user = 1, item = 1
  ))) / ncol(beta)
  rows <- seq_len(count) * 2^floor(log2(nrow(beta) / count))
  as.vector(beta[rows, ])
}

# x: of movielens_with_features()
run_ordinal <- function(x) {
  if (is.null(x)) return(invisible())
  parts <- split_tenth(x$ratings)
  features <- list(user_features = x$users, item_features = x$items)
  models <- list(
    numbers = list(), range = list(range = c(1, 5)),
    ordinal = list(link = "ordinal"), "numbers, biases" = list(biases = TRUE),
    "ordinal, biases" = list(link = "ordinal", biases = TRUE),
    "numbers, features" = features,
    "ordinal, features" = c(list(link = "ordinal"), features)
  )
  rows <- lapply(names(models), function(name) {
    run <- function(...) {
      suppressMessages(suppressWarnings(do.call(gibbs_bmf, c(
        list(parts$train, 10L, seed = 1, progress = FALSE, ...), models[[name]]
      ))))
    }
    elapsed <- system.time(fit <- run(draws = 200, burnin = 100, chains = 2))
    sweeps <- function(count) {
      stopwatch(run(draws = 1, burnin = count - 1, chains = 1))[["processor"]]
    }
    held <- held_out(fit, parts$test, level = 0.9)
    interval <- predict(fit, parts$test, interval = "prediction", level = 0.9)
    data.frame(
      model = name, rmse = held$rmse,
      coverage_90 = mean(
        parts$test$value >= interval$lower & parts$test$value <= interval$upper
      ),
      length_90 = mean(interval$upper - interval$lower),
      log_score = log_score(fit, parts$test), seconds = elapsed[[3L]],
      ms_sweep = 1e3 * (sweeps(101) - sweeps(1)) / 100
    )
  })
  show_table(do.call(rbind, rows))
}

# ---- the prior of the cutpoints ----------------------------------------------

# Latent values with a variance of 2, cut so that the levels have the given
# shares.
simulated_levels <- function(n, m, count, shares) {
  set.seed(5)
  u <- matrix(stats::rnorm(2 * n), n)
  v <- matrix(stats::rnorm(2 * m), m)
  cell <- sample.int(n * m, count)
  user <- (cell - 1L) %% n + 1L
  item <- (cell - 1L) %/% n + 1L
  latent <- rowSums(u[user, ] * v[item, ]) / sqrt(2) + stats::rnorm(count)
  cuts <- stats::quantile(latent, cumsum(shares)[-length(shares)])
  data.frame(user = user, item = item, value = findInterval(latent, cuts) + 1)
}

answers <- function() {
  if (!peer_available("lme4")) return(NULL)
  x <- lme4::VerbAgg
  data.frame(user = x$id, item = x$item, value = as.integer(x$resp))
}

run_cutpoints <- function() {
  sets <- list(
    MovieLens = movielens(), InstEval = insteval(), VerbAgg = answers(),
    "300 ratings" = simulated_levels(40, 20, 300, rep(0.2, 5)),
    "a rare level" = simulated_levels(
      200, 50, 4000, c(0.3, 0.3, 0.2, 0.19, 0.01)
    ),
    "ten levels" = simulated_levels(200, 50, 4000, rep(0.1, 10)),
    likes = within(
      simulated_levels(200, 50, 4000, c(0.8, 0.2)), value <- value - 1
    )
  )
  sets <- Filter(Negate(is.null), sets)
  widths <- c(1, 2, 5, 10, 20)
  rows <- lapply(names(sets), function(name) {
    parts <- split_tenth(sets[[name]])
    link <- if (name == "likes") "probit" else "ordinal"
    scores <- lapply(widths, function(width) {
      fit <- suppressMessages(suppressWarnings(gibbs_bmf(
        parts$train, 2L, link = link, cutpoint_sd = width, biases = TRUE,
        draws = 500, burnin = 300, seed = 1, progress = FALSE
      )))
      table <- convergence(fit)
      list(
        score = held_out(fit, parts$test)$lpd, rhat = max(table$rhat),
        ess = min(table$ess_bulk)
      )
    })
    score <- vapply(scores, `[[`, 0, "score")
    names(score) <- paste0("sd_", widths)
    data.frame(
      data = name, t(score), rhat_5 = scores[[3L]]$rhat,
      ess_5 = scores[[3L]]$ess
    )
  })
  show_table(do.call(rbind, rows))
}

# ---- millions ----------------------------------------------------------------

# The most memory that the process has had, where the system says so.
peak_memory <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) return(NA)
  line <- grep("^VmHWM", readLines(status), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 2^20
}

run_million10 <- function() {
  x <- simulated(1e5, 2e4, 1e7, 32)
  for (threads in seq_len(most_threads)) {
    seconds <- signif(time_ours(x, 32L, 4, threads), 3)
    cat(
      "10 million ratings, rank 32, a sweep:", seconds[["processor"]],
      "s of processor time,", seconds[["elapsed"]], "s elapsed,", threads,
      "thread(s); most memory so far", signif(peak_memory(), 3), "GB\n"
    )
  }
}

run_million5 <- function() {
  run_speed(
    list("5 million" = simulated(5e4, 1e4, 5e6, 10)), rounds = 1L, seconds = 2
  )
}

data <- if (any(c("speed", "accuracy") %in% parts)) {
  list(MovieLens = movielens(), InstEval = insteval())
}
if ("speed" %in% parts) {
  train <- lapply(data, function(x) if (!is.null(x)) split_tenth(x)$train)
  run_speed(
    list(MovieLens = train$MovieLens, InstEval = data$InstEval), rounds
  )
}
if ("accuracy" %in% parts) run_accuracy(data$MovieLens, data$InstEval)
if ("ordinal" %in% parts) run_ordinal(movielens_with_features())
if ("cutpoints" %in% parts) run_cutpoints()
if ("million10" %in% parts) run_million10()
if ("million5" %in% parts) run_million5()
