# The stored runs, small ones. The option stored.stop stops the first where it
# proposes a point near that number.

walk <- function(x) {
  if (abs(x - getOption("stored.stop", Inf)) < 0.01) stop("here it stops")
  -x^2 / 2
}

walk_run <- function(draws = 200, ...) {
  suppressWarnings(gibbsite::mh_sample(
    walk, c(x = 0), draws = draws, burnin = 10, chains = 1, seed = 3,
    progress = FALSE, ...
  ))
}

mixture_data <- datasets::faithful[1:30, ]

mixture_run <- function(draws, seed = 1, ...) {
  suppressWarnings(gibbsite::gibbs_gmm(
    mixture_data, 2, draws = draws, burnin = 10, chains = 1, seed = seed,
    progress = FALSE, keep_data = FALSE, ...
  ))
}
