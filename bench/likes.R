# Likes held back: recall@20, mean reciprocal rank and seconds of gibbs_pmf(),
# beside the order of popularity and, if rsparse is installed, rsparse::WRMF on
# MovieLens 100k (likes: ratings of 4 and 5). Without rsparse the likes are
# simulated.
#
#   Rscript bench/likes.R [rank] [draws]

library(gibbsite)
given <- as.integer(commandArgs(TRUE))
rank <- if (length(given) > 0) given[[1]] else 20L
draws <- if (length(given) > 1) given[[2]] else 200L

has_rsparse <- requireNamespace("rsparse", quietly = TRUE)
likes <- if (has_rsparse) {
  data("movielens100k", package = "rsparse", envir = environment())
  x <- methods::as(movielens100k, "TsparseMatrix")
  table <- data.frame(user = x@i + 1L, item = x@j + 1L, count = x@x)
  transform(table[table$count >= 4, ], count = 1)
} else {
  message("rsparse is not installed: simulated likes, without rsparse::WRMF.")
  set.seed(1)
  transform(sim_pmf(600, 400, rank = 8, mean = 0.1), count = 1)
}
set.seed(2)
hidden <- sample(nrow(likes), nrow(likes) %/% 5)
train <- likes[-hidden, ]
test <- likes[hidden, ]

seconds <- system.time(fit <- suppressMessages(suppressWarnings(gibbs_pmf(
  train, rank, draws = draws, burnin = draws, chains = 2, seed = 1,
  progress = FALSE
))))[["elapsed"]]
model <- attr(fit, "model")
pmf <- suppressMessages(rank_measures(fit, test, ndraws = 100))

# The same measures for scores, users x items, in the codes of the fit.
measures_of <- function(scores) {
  pairs <- suppressMessages(gibbsite:::liked_pairs(test, model, NULL, NULL))
  places <- lapply(split(seq_along(pairs$user), pairs$user), function(own) {
    user <- pairs$user[[own[[1]]]]
    left <- setdiff(
      seq_len(model$m), model$data$item[model$data$user == user]
    )
    gibbsite:::places_of(scores[user, left], match(pairs$item[own], left))
  })
  gibbsite:::measures_at(20, places)
}

popular <- matrix(model$item_counts, model$n, model$m, byrow = TRUE)
rows <- list(gibbs_pmf = pmf, popularity = measures_of(popular))
times <- c(seconds, 0)
if (has_rsparse) {
  x <- Matrix::sparseMatrix(
    model$data$user, model$data$item, x = 1, dims = c(model$n, model$m)
  )
  wrmf <- rsparse::WRMF$new(rank = rank, lambda = 1, feedback = "implicit")
  times[[3]] <- system.time(
    u <- wrmf$fit_transform(x, n_iter = 20L)
  )[["elapsed"]]
  rows$WRMF <- measures_of(u %*% wrmf$components)
}
out <- do.call(rbind, rows)
out$seconds <- times
print(format(out[c("users", "recall", "mrr", "ndcg", "seconds")], digits = 3))
