# Formulas: terms that use other rows of the data, `.`, and bars.

d <- transform(mtcars, g = factor(gear), car = row.names(mtcars))
few <- list(draws = 200, burnin = 50, chains = 1, seed = 1, progress = FALSE)
quick <- function(sampler, ...) {
  suppressWarnings(do.call(sampler, c(list(...), few)))
}
loud <- function(sampler, ...) do.call(sampler, c(list(...), few))

told("a centred column in the formula is named at the fit",
     loud(gibbs_lm, mpg ~ I(wt - mean(wt)), d),
     says = "I\\(wt - mean\\(wt\\)\\).*other rows")
refused("and is not predicted for one row",
        predict(quick(gibbs_lm, mpg ~ I(wt - mean(wt)), d), d[1, ]),
        says = "I\\(wt - mean\\(wt\\)\\).*scale\\(\\)")
refused("nor are classes between quantiles",
        predict(quick(gibbs_lm, mpg ~ cut(wt, 3), d), d[1:2, ]),
        says = "cut\\(wt, 3\\)")
refused("nor groups of such classes",
        predict(quick(gibbs_hlm, mpg ~ 1 + (1 | cut(wt, 3)), d), d[1:2, ]),
        says = "cut\\(wt, 3\\)")
right("scale(), poly() and ns() as terms of their own are predicted", {
  fit <- loud(gibbs_lm, mpg ~ scale(wt) + poly(hp, 2) + splines::ns(qsec, 3), d)
  all.equal(predict(fit, d[3, ]), fitted(fit)[3])
})
right("factor(cyl) of one row has the levels of the fit", {
  fit <- loud(gibbs_lm, mpg ~ factor(cyl) + log(hp), d)
  all.equal(predict(fit, d[3, ]), fitted(fit)[3])
})
