# Runs by until(), which end when the answer is there.

waves <- withr::with_seed(1, list(
  x = c(rnorm(30), rnorm(30, 5)), counts = matrix(rpois(80, 3), 10)
))
mixture <- function(k = 4, ...) {
  suppressWarnings(gibbs_gmm(
    waves$x, k, chains = 2, burnin = 100, seed = 1, progress = FALSE, ...
  ))
}
never <- until(
  rhat = 1 + 1e-9, every = 500, max_draws = 10000, burnin = "fixed"
)
long <- mixture(draws = 500, stop_when = never)

right("a long run by a rule keeps some 4,000 draws of a chain", {
  niterations(long) <= 4000 && niterations(long) > 2000 &&
    identical(coda::mcpar(long[[1]]), c(104, 10100, 4))
})
told("the print says which draws are kept", print(long), "every 4th sweep kept")
right("they are draws of the run that keeps all", {
  all <- mixture(draws = 10000)
  identical(
    unclass(as.mcmc.list(long)[[2]])[2500, ],
    unclass(as.mcmc.list(all)[[2]])[10000, ]
  )
})
right("a run in two pieces keeps the draws of one", {
  part <- mixture(draws = 500, stop_when = until(
    rhat = 1 + 1e-9, every = 500, max_draws = 4500, burnin = "fixed"
  ))
  identical_fit(long, suppressWarnings(
    extend(part, 5500, stop_when = never, progress = FALSE)
  ))
})
right("a fixed number of draws is never thinned", {
  niterations(mixture(draws = 6000)) == 6000
})
right("extend() without a rule adds as many draws as are asked for", {
  niterations(suppressWarnings(extend(long, 10, progress = FALSE))) ==
    niterations(long) + 10
})
right("allocation probabilities are averages over all draws", {
  isTRUE(all.equal(
    allocation_probabilities(long),
    allocation_probabilities(mixture(draws = 10000)), tolerance = 1e-12
  ))
})
right("a mixture of unknown k takes less than 30 MB", {
  x <- withr::with_seed(2, matrix(rnorm(1200), 300) + 4 * (1:300 %% 3))
  fit <- suppressMessages(suppressWarnings(gibbs_gmm(
    x, "unknown", burnin = 50, seed = 1, progress = FALSE, draws = 250,
    stop_when = until(ess = 1e3, rhat = 1 + 1e-9, max_draws = 1500)
  )))
  as.numeric(object.size(fit)) < 30 * 2^20
})
told("topics: the verdict begins with those that are the same", {
  print(suppressWarnings(gibbs_lda(
    waves$counts, 3, draws = 50, burnin = 20, chains = 3, seed = 1,
    progress = FALSE
  )))
}, "the same in all chains")
