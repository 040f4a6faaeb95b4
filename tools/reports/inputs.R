# Vectors of classes whose packages are not loaded, draws of other packages, and
# functions that are no cdf.

x <- as.double(1:20)
labelled <- structure(
  x, class = c("haven_labelled", "vctrs_vctr", "double"), labels = c(a = 1)
)
right("labelled numbers are numbers", {
  identical(unname(monte_carlo(labelled)$estimate), 10.5)
})
right("labelled predictors are numbers", {
  data <- data.frame(y = x + sin(x))
  fit <- function(v) {
    data$x <- v
    as.matrix(gibbs_lm(y ~ x, data, draws = 5, burnin = 0, chains = 1, seed = 1,
                       progress = FALSE))
  }
  whole <- structure(
    1:20, class = c("haven_labelled", "vctrs_vctr", "integer")
  )
  identical(fit(whole), fit(x))
})
refused("64-bit integers without bit64", {
  gibbs_gmm(structure(x, class = "integer64"), 2)
}, "Load the bit64 package")
right("a univariate mcmc.list is chains", {
  draws <- coda::mcmc.list(coda::mcmc(x), coda::mcmc(x + 50))
  all.equal(
    unname(monte_carlo(draws)$mcse), posterior::mcse_mean(cbind(x, x + 50))
  )
})
for (seed in 1:3) {
  refused(paste("a function that does not reach 1, seed", seed), {
    set.seed(seed)
    sample_inverse_cdf(1, cdf = function(x) 0.99 * pnorm(x))
  }, "must reach 1")
}
right("a conditional may return a row", {
  fit <- gibbs_sample(
    list(m = function(state) sample_mvnorm(1, c(0, 0), diag(2))),
    list(m = c(0, 0)), draws = 5, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  )
  identical(dim(as.matrix(fit)), c(5L, 2L))
})
refused("a search without a log joint density is drawn", {
  plot(gibbs_sample(list(a = function(state) 1), list(a = 1), method = "icm"))
}, "no log joint density")
refused("two columns of one name, as cbind() makes them",
        gibbs_lm(dist ~ speed, cbind(cars, speed = 50:1)), "different columns")
refused("a matrix as groups", {
  pairs <- transform(cars, g = I(cbind(1:2, 1:50)))
  gibbs_hlm(dist ~ speed + (1 | g), pairs)
}, "one column")
refused("a chain in a table with a row for each time", fit_markov_chain(
  data.frame(id = c(1, 1, 2, 2), state = c("a", "b", "b", "a"))
), "split\\(data.state, data.id\\)")
