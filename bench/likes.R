# Likes held back: recall@20, mean reciprocal rank and seconds of gibbs_pmf()
# beside alternating least squares (rsparse::WRMF) and the order of popularity.
#
#   Rscript bench/likes.R [default]
#
# MovieLens-100k (943 users, 1,664 films), of which the ratings of 4 and 5 are
# likes and the others are forgotten. A fifth of the likes is held back,
# and a fifth of the rest chooses the settings by recall@20:
#   gibbs_pmf   the rank, of 5, 10, 20 and 40, with 2 chains of 100 sweeps
#               of burn-in and 100 kept
#   WRMF        the rank, of the same, lambda, and the weight of a like beside
#               that of no like; 10 iterations, as is its default
# Each is then fitted to all likes that are not held back: gibbs_pmf() with 2
# chains of 200 sweeps of burn-in and 200 kept, and with `default` also by the
# default call with that rank, whose chains go on by the rule until(). Seconds
# are those of the processor, one thread, for one fit, without the choice.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(here) > 0L) dirname(here) else "bench"
source(file.path(here, "deps.R"))
source(file.path(here, "data.R"))
options(rsparse_omp_threads = 1L)
k <- 20
ranks <- c(5, 10, 20, 40)

split_fifth <- function(x) {
  held <- sample(nrow(x), nrow(x) %/% 5)
  list(train = x[-held, ], test = x[held, ])
}

# list(value, seconds)
timed <- function(code) {
  seconds <- system.time(value <- code)
  list(value = value, seconds = seconds[[1L]] + seconds[[2L]])
}

# ---- the methods -------------------------------------------------------------

fit_pmf <- function(train, rank, ...) {
  suppressMessages(suppressWarnings(gibbs_pmf(
    train, rank, seed = 1, progress = FALSE, ...
  )))
}

short_pmf <- function(train, rank, sweeps) {
  fit_pmf(train, rank, draws = sweeps, burnin = sweeps, chains = 2)
}

# users x items: a score of each pair, in the codes of `model`, that of a fit of
# gibbs_pmf() to the same likes
scores_of_als <- function(model, rank, lambda, weight) {
  set.seed(1)
  x <- Matrix::sparseMatrix(
    model$data$user, model$data$item, x = weight, dims = c(model$n, model$m)
  )
  als <- rsparse::WRMF$new(rank = rank, lambda = lambda, feedback = "implicit")
  users <- als$fit_transform(x)
  users %*% als$components
}

popularity <- function(model) {
  matrix(model$item_counts, model$n, model$m, byrow = TRUE)
}

# ---- the measures ------------------------------------------------------------

measures_of_fit <- function(fit, test) {
  suppressMessages(rank_measures(fit, test, k))
}

# The same of scores.
measures_of_scores <- function(scores, model, test) {
  pairs <- suppressMessages(gibbsite:::liked_pairs(test, model, NULL, NULL))
  places <- lapply(split(seq_along(pairs$user), pairs$user), function(own) {
    user <- pairs$user[[own[[1L]]]]
    left <- setdiff(
      seq_len(model$m), model$data$item[model$data$user == user]
    )
    gibbsite:::places_of(scores[user, left], match(pairs$item[own], left))
  })
  gibbsite:::measures_at(k, places)
}

# The row of `settings` with the best recall, by `measure` of each row.
best_of <- function(settings, measure) {
  settings$recall <- vapply(seq_len(nrow(settings)), function(i) {
    do.call(measure, settings[i, , drop = FALSE])$recall
  }, 0)
  settings <- settings[order(-settings$recall), ]
  cat("\nThe best settings by the likes that choose:\n")
  print(utils::head(settings, 5L), digits = 3, row.names = FALSE)
  settings[1L, names(settings) != "recall", drop = FALSE]
}

row_of <- function(method, settings, fitted, measures) {
  data.frame(
    method = method,
    settings = paste(names(settings), unlist(settings), collapse = ", "),
    measures[c("users", "recall", "mrr", "ndcg")], seconds = fitted$seconds
  )
}

# ---- the comparison ----------------------------------------------------------

pmf_rows <- function(parts, chosen, with_default) {
  rank <- best_of(data.frame(rank = ranks), function(rank) {
    measures_of_fit(short_pmf(chosen$train, rank, 100), chosen$test)
  })
  short <- timed(short_pmf(parts$train, rank$rank, 200))
  rows <- row_of(
    "gibbs_pmf, 2 x 200 draws", rank, short,
    measures_of_fit(short$value, parts$test)
  )
  if (with_default) {
    long <- timed(fit_pmf(parts$train, rank$rank))
    name <- paste("gibbs_pmf, default:", coda::niter(long$value), "draws kept")
    rows <- rbind(rows, row_of(
      name, rank, long, measures_of_fit(long$value, parts$test)
    ))
  }
  rows
}

als_row <- function(parts, model, chosen, chosen_model) {
  settings <- expand.grid(
    rank = ranks, lambda = c(0.001, 0.01, 0.1, 1), weight = c(1, 3, 10, 30)
  )
  best <- best_of(settings, function(...) {
    scores <- scores_of_als(chosen_model, ...)
    measures_of_scores(scores, chosen_model, chosen$test)
  })
  fitted <- timed(do.call(scores_of_als, c(list(model), best)))
  row_of(
    "rsparse::WRMF", best, fitted,
    measures_of_scores(fitted$value, model, parts$test)
  )
}

# The codes of users and items of the likes.
model_of <- function(train) {
  attr(fit_pmf(train, 1, draws = 1, burnin = 0, chains = 1), "model")
}

run_likes <- function(with_default) {
  ratings <- movielens()
  if (is.null(ratings)) return(invisible())
  set.seed(1)
  parts <- split_fifth(ratings[ratings$value >= 4, c("user", "item")])
  chosen <- split_fifth(parts$train)
  model <- model_of(parts$train)
  popular <- timed(popularity(model))
  out <- rbind(
    pmf_rows(parts, chosen, with_default),
    if (peer_available("rsparse")) {
      als_row(parts, model, chosen, model_of(chosen$train))
    },
    row_of("popularity", list(), popular, measures_of_scores(
      popular$value, model, parts$test
    ))
  )
  cat("\n", nrow(parts$train), " likes given, ", nrow(parts$test),
    " held back\n",
    sep = ""
  )
  print(out, digits = 3, row.names = FALSE)
}

run_likes("default" %in% commandArgs(TRUE))
