# Short fits of gibbs_bmf(), for the files test-bmf*.R.

quiet <- function(code) {
  suppressWarnings(
    suppressMessages(code, classes = "gibbsite_message"),
    classes = "gibbsite_warning_convergence"
  )
}

# 25 users, 15 items, 40% of the cells; user ids are letters, item ids numbers
small_ratings <- function(seed = 1, ...) {
  made <- withr::with_seed(seed, sim_bmf(25, 15, rank = 2, share = 0.4, ...))
  data.frame(
    user = letters[made$user], item = 10L * as.integer(made$item),
    value = 3 + made$value
  )
}

short_bmf <- function(ratings = small_ratings(), rank = 2, draws = 40,
                      burnin = 20, chains = 2, seed = 1, ...) {
  quiet(gibbs_bmf(ratings, rank, draws = draws, burnin = burnin,
    chains = chains, seed = seed, progress = FALSE, ...
  ))
}

some_pairs <- data.frame(
  user = c("a", "b", "y", "c", "a"), item = c(10, 150, 70, 10, 20)
)
