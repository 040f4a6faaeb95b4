# Draws of standard distributions: the time of gibbsite's functions over that of
# other packages', in turns in one process on one thread. A ratio below 1: ours
# is faster. The median of 7 turns, with the quartiles.
library(gibbsite)
source(file.path("bench", "deps.R"))

# The ratio of elapsed times; each turn lasts a tenth of a second or more.
compare <- function(name, ours, theirs) {
  once <- max(min(system.time(ours())[["elapsed"]],
                  system.time(theirs())[["elapsed"]]), 1e-4)
  times <- ceiling(0.1 / once)
  elapsed <- function(f) {
    system.time(for (i in seq_len(times)) f())[["elapsed"]]
  }
  ratios <- replicate(7, elapsed(ours) / elapsed(theirs))
  cat(sprintf(
    "%-58s %5.2f (%.2f to %.2f)\n", name, stats::median(ratios),
    stats::quantile(ratios, 0.25), stats::quantile(ratios, 0.75)
  ))
}

set.seed(1)
covariance <- function(d) crossprod(matrix(stats::rnorm(2 * d^2), 2 * d))
for (size in list(c(1e5, 3), c(1000, 50))) {
  n <- size[[1]]
  d <- size[[2]]
  s <- covariance(d)
  m <- rep(0, d)
  label <- function(what) sprintf("%s, %d of %d", what, n, d)
  if (peer_available("mvtnorm")) {
    compare(
      label("sample_mvnorm() over mvtnorm::rmvnorm(chol)"),
      function() sample_mvnorm(n, m, cov = s),
      function() mvtnorm::rmvnorm(n, m, s, method = "chol")
    )
  }
  if (peer_available("MASS")) {
    compare(
      label("sample_mvnorm() over MASS::mvrnorm()"),
      function() sample_mvnorm(n, m, cov = s),
      function() MASS::mvrnorm(n, m, s)
    )
  }
  draws <- n / 10
  compare(
    sprintf("sample_wishart() over stats::rWishart(), %d of %d", draws, d),
    function() sample_wishart(draws, d + 2, s),
    function() stats::rWishart(draws, d + 2, s)
  )
  if (peer_available("LaplacesDemon")) {
    compare(
      sprintf("sample_inverse_wishart() over rinvwishart(), 100 of %d", d),
      function() sample_inverse_wishart(100, d + 2, s),
      function() {
        for (i in 1:100) LaplacesDemon::rinvwishart(d + 2, s)
      }
    )
    alpha <- seq(0.5, 2, length.out = d)
    compare(
      label("sample_dirichlet() over LaplacesDemon::rdirichlet()"),
      function() sample_dirichlet(n, alpha),
      function() LaplacesDemon::rdirichlet(n, alpha)
    )
  }
}
for (ends in list(c(0, Inf), c(2, Inf), c(-1, 1), c(8, 8.1))) {
  label <- function(peer) {
    sprintf("sample_truncated_normal() over %s, 1e5 in (%g, %g)", peer,
            ends[[1]], ends[[2]])
  }
  ours <- function() {
    sample_truncated_normal(1e5, lower = ends[[1]], upper = ends[[2]])
  }
  if (peer_available("truncnorm")) {
    compare(label("truncnorm"), ours, function() {
      truncnorm::rtruncnorm(1e5, ends[[1]], ends[[2]])
    })
  }
  compare(label("qnorm()"), ours, function() {
    p <- stats::pnorm(ends)
    stats::qnorm(stats::runif(1e5, p[[1]], p[[2]]))
  })
}
