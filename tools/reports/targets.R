# Functions that are no log densities of a distribution, and samplers beside
# bounds: what is known must be said.

draw <- function(...) print(mh_sample(..., seed = 1, progress = FALSE))
normal <- function(x, ...) sum(dnorm(x, ..., log = TRUE))

told("a log density that rises for ever", draw(function(x) -x, c(x = 0)),
     "rises without end in the direction of x .* integrable")
told("an improper target under nuts()",
     draw(function(x) -(x[[1]] + x[[2]])^2 / 2, c(a = 0, b = 0),
          nuts(function(x) rep(-x[[1]] - x[[2]], 2))),
     "level in a direction of a, b")
told("a density that is not on the log scale",
     draw(function(z) prod(dnorm(z)), c(a = 0, b = 0)), "return the logarithm")
told("a density that ignores a parameter",
     draw(function(x) normal(x[[1]]), c(a = 0, b = 0)), "not change with b")
told("a density that is constant", draw(function(x) 0, c(a = 0)),
     "not change with a")
told("a density with steps", draw(function(x) -floor(abs(x)), c(x = 0)),
     "has steps in x")
told("the wrong sign",
     try(draw(function(x) -normal(x), c(x = 0)), silent = TRUE),
     "Is its sign right")
told("two parameters that enter as a product",
     draw(function(x) normal(x[[1]] * x[[2]] - 2), c(a = 1, b = 1)),
     "product of a and b")
told("a flat prior on a logarithm, and data that fit perfectly",
     draw(function(x) normal(rep(1, 5), x[[1]], exp(x[[2]])),
          c(m = 0, ls = 0)), "No peak of the log density.*as ls falls")
told("a density unbounded at zero",
     draw(function(x) if (x <= 0) -Inf else dgamma(x, 0.3, log = TRUE),
          c(x = 1)), "lower = 0. and .transform = TRUE")
told("further data that the density does not use",
     draw(function(x, y) normal(x), c(x = 0), y = 1:3), "argument .y.")
told("nuts() beside a bound",
     draw(function(x) normal(x), c(x = 2), nuts(function(x) -x), lower = 1.65),
     "leave the bounds. Give .transform = TRUE")
for (proposal in list(univariate_slice(), tempered(), delayed_rejection())) {
  told(paste("no peak, by", class(proposal)[[1L]]),
       draw(function(x) -x, c(x = 0), proposal), "integrable")
}
right("the cure leaves no divergence to speak of", {
  fit <- mh_sample(function(x) normal(x), c(x = 2), nuts(function(x) -x),
                   lower = 1.65, transform = TRUE, seed = 1, progress = FALSE)
  mean(bayesplot::nuts_params(fit, "divergent__")$Value) < 0.01
})
right("differences do not step over the edge of the density", {
  fit <- suppressMessages(suppressWarnings(mh_sample(
    function(x) stats::dbeta(x, 0.5, 0.5, log = TRUE), c(x = 0.4), nuts(),
    lower = 0, upper = 1, draws = 1000, chains = 2, seed = 1, progress = FALSE
  )))
  abs(mean(as.matrix(fit)[, "x"]) - 0.5) < 0.1
})
told("a standard deviation without a prior, and one observation", {
  lone <- function(x) {
    if (x[[2]] <= 0) -Inf else dnorm(1, x[[1]], x[[2]], log = TRUE)
  }
  draw(lone, c(m = 0, s = 1))
}, "not fall fast enough in the direction of s .* integrable")
