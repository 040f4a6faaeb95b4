# Data of the user's function whose names begin like arguments, and calls that
# name their formula.

brief <- function(sampler, ...) {
  suppressWarnings(sampler(
    ..., draws = 200, burnin = 50, chains = 1, seed = 1, progress = FALSE
  ))
}
density <- function(mu, p = 1, i = 0, l = 0) -0.5 * p * (mu - i)^2 + l
plain <- brief(mh_sample, function(mu) density(mu, 2, 3), c(mu = 0))

right("p, i and l are data, not proposal, init and log_density", {
  own <- brief(mh_sample, density, c(mu = 0), p = 2, i = 3, l = 0)
  all.equal(as.matrix(own), as.matrix(plain))
})
right("they are also if they come through a function's own dots", {
  mine <- function(...) brief(mh_sample, density, c(mu = 0), ...)
  all.equal(as.matrix(mine(p = 2, i = 3)), as.matrix(plain))
})
refused("a name that nothing has is found",
        mh_sample(density, c(mu = 0), p = 2, q = 1), "no argument `q`")
right("lapply() over data frames", {
  fits <- suppressWarnings(lapply(
    split(mtcars, mtcars$cyl), gibbs_lm, formula = mpg ~ wt, seed = 1,
    draws = 100, progress = FALSE
  ))
  identical(vapply(fits, nobs, 1L), c(`4` = 11L, `6` = 7L, `8` = 14L))
})
right("a pipe into a named formula", {
  fit <- mtcars |> laplace_logistic(formula = am ~ wt)
  all.equal(coef(fit), coef(laplace_logistic(am ~ wt, mtcars)))
})
right("weights of each data frame pass through lapply()", {
  fits <- suppressWarnings(lapply(
    split(mtcars, mtcars$cyl), gibbs_lm, formula = mpg ~ wt, weights = qsec,
    seed = 1, draws = 100, progress = FALSE
  ))
  identical(
    unname(weights(fits[["6"]])), mtcars$qsec[mtcars$cyl == 6]
  )
})
refused("a pipe into a formula without its name",
        mtcars |> gibbs_count(carb ~ wt), "formula = y ~ x")
