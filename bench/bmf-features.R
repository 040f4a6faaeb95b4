# Matrix factorisation with features of users and items: what they add to the
# predictions, and what they cost.
#
#   Rscript bench/bmf-features.R [PART ...]   PARTS: accuracy speed wide
#                                 default all three, about ten minutes
#
# accuracy  root mean square error of the posterior mean and coverage of 90%
#           intervals, rank 10, 2 chains of 200 + 200 sweeps, with and without
#           features, of ratings held back in three ways after set.seed(1):
#           ratings  a tenth of them, at random users    all ratings of a tenth
#           of the users items    all ratings of a tenth of the items
#           MovieLens-100k: age, sex and occupation of users, year and genres of
#           items; lme4::InstEval: age of students, department and service of
#           lecturers. speed     milliseconds a sweep, rank 10, one thread, with
#           and without; medians of rounds in turn, of processor time. wide
#           the same for 20,000 simulated ratings of 2,000 users and 500 items,
#           users with 1,000 sparse features, 20 of them 1; and the seconds
#           until the first sweep, in which the eigenvectors are made.
#
# MovieLens comes with recommenderlab: see bench/data.R.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(here) > 0L) dirname(here) else "bench"
source(file.path(here, "deps.R"))
source(file.path(here, "data.R"))

parts <- commandArgs(trailingOnly = TRUE)
if (length(parts) == 0L) parts <- c("accuracy", "speed", "wide")

quiet <- function(expr) suppressMessages(suppressWarnings(expr))

with_or_without <- function(x, ratings, features, ...) {
  args <- list(ratings, ..., seed = 1, progress = FALSE)
  if (features) {
    args$user_features <- x$users
    args$item_features <- x$items
  }
  quiet(do.call(gibbs_bmf, args))
}

# ---- accuracy ----------------------------------------------------------------

held_rows <- function(ratings, what) {
  set.seed(1)
  if (what == "ratings") {
    return(sample.int(nrow(ratings), round(nrow(ratings) / 10)))
  }
  ids <- ratings[[sub("s$", "", what)]]
  known <- sort(unique(ids))
  which(ids %in% known[sample.int(length(known), round(length(known) / 10))])
}

accuracy_row <- function(name, x, what, features) {
  back <- held_rows(x$ratings, what)
  test <- x$ratings[back, ]
  fit <- with_or_without(
    x, x$ratings[-back, ], features, rank = 10, predict_at = test, draws = 200,
    burnin = 200, chains = 2
  )
  at <- predicted_at(fit, level = 0.9)
  inside <- test$value >= at$lower & test$value <= at$upper
  data.frame(
    data = name, held_back = what, features = features,
    rmse = sqrt(mean((test$value - at$mean)^2)), coverage_90 = mean(inside)
  )
}

run_accuracy <- function(data) {
  cases <- expand.grid(
    features = c(FALSE, TRUE), what = c("ratings", "users", "items"),
    name = names(data), stringsAsFactors = FALSE
  )
  rows <- Map(function(name, what, features) {
    accuracy_row(name, data[[name]], what, features)
  }, cases$name, cases$what, cases$features)
  print(do.call(rbind, rows), digits = 4, row.names = FALSE)
}

# ---- speed -------------------------------------------------------------------

# Processor seconds of 20 more sweeps.
sweep_seconds <- function(fit, sweeps = 20) {
  system.time(quiet(extend(fit, sweeps, progress = FALSE)))[["user.self"]] /
    sweeps
}

run_speed <- function(data, rounds = 5) {
  for (name in names(data)) {
    x <- data[[name]]
    fits <- lapply(c(FALSE, TRUE), function(features) {
      with_or_without(
        x, x$ratings, features, rank = 10, draws = 5, burnin = 5, chains = 1
      )
    })
    seconds <- vapply(seq_len(rounds), function(round) {
      vapply(fits, sweep_seconds, 0)
    }, numeric(2))
    count <- attr(fits[[2L]], "model")$features
    cat(
      name, " (", length(count$u$s), " features of users, ", length(count$v$s),
      " of items), milliseconds a sweep: without ",
      signif(1e3 * stats::median(seconds[1L, ]), 3), ", with ",
      signif(1e3 * stats::median(seconds[2L, ]), 3), "\n", sep = ""
    )
  }
}

wide_data <- function() {
  set.seed(7)
  n <- 2000L
  f <- Matrix::sparseMatrix(
    rep(seq_len(n), each = 20L), replicate(n, sample.int(1000L, 20L)), x = 1,
    dims = c(n, 1000L), dimnames = list(seq_len(n), NULL)
  )
  ratings <- data.frame(
    user = sample.int(n, 2e4, TRUE), item = sample.int(500L, 2e4, TRUE),
    value = stats::rnorm(2e4)
  )
  list(ratings = ratings, users = f, items = NULL)
}

run_wide <- function() {
  x <- wide_data()
  first <- system.time(with_or_without(
    x, x$ratings, TRUE, rank = 10, draws = 1, burnin = 0, chains = 1
  ))[[3L]]
  cat("until the first sweep:", signif(first, 3), "s\n")
  run_speed(list("1,000 sparse features" = x), rounds = 3)
}

data <- if (any(c("accuracy", "speed") %in% parts)) {
  Filter(Negate(is.null), list(
    MovieLens = movielens_with_features(), InstEval = insteval_with_features()
  ))
}
if ("accuracy" %in% parts) run_accuracy(data)
if ("speed" %in% parts) run_speed(data)
if ("wide" %in% parts) run_wide()
