# Ordered categories: gibbs_ordinal().

library(gibbsite)

d <- withr::with_seed(4, data.frame(
  x = stats::rnorm(120), g = gl(8, 15), n = stats::rpois(120, 2)
))
d$y <- withr::with_seed(5, 1 + findInterval(
  d$x + stats::rnorm(8)[d$g] + stats::rnorm(120), c(-1, 0, 1.2)
))
d$r <- ordered(d$y, labels = c("never", "seldom", "often", "always"))
short <- function(...) {
  suppressWarnings(gibbs_ordinal(
    ..., data = d, draws = 200, burnin = 100, chains = 2, seed = 1,
    progress = FALSE
  ))
}
fit <- short(r ~ x)

right("numbers and ordered levels are one response", identical(
  as.matrix(fit), as.matrix(short(y ~ x))
))
right("probabilities of the categories have the sum 1", {
  shares <- predict(fit, type = "response")
  identical(colnames(shares), levels(d$r)) &&
    all(abs(rowSums(shares) - 1) < 1e-12)
})
right("a higher x has higher categories", coef(fit)[["x"]] > 0)
right("simulated responses are ordered factors", {
  made <- simulate(fit, 2, seed = 1)
  is.ordered(made$sim_1) && identical(levels(made$sim_2), levels(d$r))
})
right("a bar, two, and nested ones", {
  d$h <- gl(5, 3, 120)
  all(vapply(c(r ~ x + (1 | g), r ~ x + (x | g) + (1 | h), r ~ (1 | g / h)),
             function(f) nobs(suppressWarnings(gibbs_ordinal(
               f, d, draws = 20, burnin = 20, chains = 2, seed = 1,
               progress = FALSE
             ))) == 120, NA))
})
right("thresholds alone", length(coef(short(r ~ 1))) == 0L)
refused("a factor without an order", gibbs_ordinal(
  factor(r, ordered = FALSE) ~ x, d
), says = "ordered\\(")
refused("two outcomes", gibbs_ordinal((y > 2) ~ x, d), says = "gibbs_logistic")
refused("two ordered categories", gibbs_ordinal(ordered(y > 2) ~ x, d),
        says = "gibbs_logistic")
refused("counts from 0", gibbs_ordinal(n ~ x, d), says = "from 1")
refused("fractions", gibbs_ordinal(I(y / 2) ~ x, d), says = "whole numbers")
refused("a category that no row has", gibbs_ordinal(
  r ~ x, d, subset = r != "often"
), says = "droplevels")
refused("weights that are not counts", gibbs_ordinal(
  r ~ x, d, weights = rep(0.5, 120)
), says = "whole numbers")
refused("a formula without an intercept", gibbs_ordinal(r ~ 0 + x, d),
        says = "thresholds")
refused("residuals", residuals(fit), says = "categories")
