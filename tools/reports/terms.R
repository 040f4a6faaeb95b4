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

grouped <- d[c("mpg", "wt", "hp", "g")]
right("`.` leaves the groups out, also with `- g`, and says nothing", {
  fit <- loud(gibbs_hlm, mpg ~ . - g + (1 | g), grouped)
  identical(names(nlme::fixef(fit)), c("(Intercept)", "wt", "hp"))
})
right("`.` of no further columns is the intercept", {
  fit <- quick(gibbs_hlm, mpg ~ . + (1 | g), grouped[c("mpg", "g")])
  identical(names(nlme::fixef(fit)), "(Intercept)")
})
right("`.` before the bar", {
  fit <- quick(gibbs_hlm, mpg ~ wt + (. | g), grouped)
  identical(colnames(coef(fit)$g), c("(Intercept)", "wt", "hp"))
})
refused("`.` within a function", loud(gibbs_lm, mpg ~ log(.), grouped),
        says = "term of its own")
right("two bars of one group are independent effects", {
  fit <- quick(gibbs_hlm, mpg ~ (1 | g) + (0 + wt | g), d)
  identical(names(nlme::ranef(fit)), c("g", "g.1"))
})
refused("a term in two bars of one group",
        loud(gibbs_hlm, mpg ~ (1 | g) + (wt | g), d), says = "in two bars")
right("two grouping factors", {
  fit <- quick(gibbs_hlm, mpg ~ wt + (1 | g) + (1 | am), d)
  identical(names(coef(fit)), c("g", "am"))
})
