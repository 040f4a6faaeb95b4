# What to do next, from what the run knows.

told("chains that start far away", {
  a <- na.omit(airquality)
  x <- cbind(1, a$Solar.R, a$Wind, a$Temp)
  f <- function(p) {
    if (p[[5L]] <= 0) return(-Inf)
    sum(dnorm(a$Ozone, drop(x %*% p[1:4]), p[[5L]], log = TRUE))
  }
  inits <- lapply(c(-500, 500), function(i) c(i, 20, -30, 40, 1))
  print(mh_sample(f, c(i = 0, s = 0, w = 0, t = 0, sigma = 10), inits = inits,
                  chains = 2, draws = 1000, seed = 1, progress = FALSE))
}, "Not yet at the posterior: log_density still rises.*burnin = ")

told("a topic model without a burn-in", {
  set.seed(2)
  counts <- matrix(rpois(2000, rep(c(0.1, 2), 1000)), 50)
  print(gibbs_lda(counts, 4, draws = 30, burnin = 0, seed = 1,
                  progress = FALSE))
}, "[Nn]ot yet at the posterior|Too few draws")

right("the time of more draws is of the order of those made", {
  fit <- suppressWarnings(mh_sample(function(x) -sum(x^2) / 2, c(a = 0, b = 0),
                                    draws = 100, seed = 1, progress = FALSE))
  cause <- attr(convergence(fit), "cause")
  took <- system.time(suppressWarnings(
    extend(fit, 20000, progress = FALSE)
  ))[["elapsed"]]
  cause$seconds / cause$more * 20000 < 10 * took
})
