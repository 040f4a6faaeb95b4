# Priors of each coefficient, by name.

d <- MASS::Pima.tr
few <- list(draws = 1000, chains = 2, seed = 1, progress = FALSE)
fit <- function(sampler, ...) {
  suppressWarnings(do.call(sampler, c(list(...), few)))
}
binary <- type ~ glu + bmi
plain <- fit(laplace_logistic, binary, d)

right("a prior twice as wide is one word", {
  wide <- fit(laplace_logistic, binary, d, logistic_prior(slope_scale = 5))
  all.equal(
    sqrt(prior_summary(wide)$slope_variance[-1]),
    2 * sqrt(prior_summary(plain)$slope_variance[-1])
  )
})
right("also of gibbs_lm() and of gibbs_hlm()", {
  one <- fit(gibbs_lm, mpg ~ wt, mtcars)
  two <- fit(gibbs_lm, mpg ~ wt, mtcars, lm_prior(slope_scale = 2))
  three <- fit(gibbs_hlm, mpg ~ wt + (1 | cyl), mtcars)
  four <- fit(
    gibbs_hlm, mpg ~ wt + (1 | cyl), mtcars, hlm_prior(slope_scale = 20)
  )
  all.equal(
    c(prior_summary(two)$scale, prior_summary(four)$slope_sd),
    c(prior_summary(one)$scale / 2, 2 * prior_summary(three)$slope_sd)
  )
})
right("what is known of one coefficient holds it, against the data", {
  known <- glm(binary, binomial, d)
  prior <- logistic_prior(
    slope_mean = c(glu = 0.1), slope_sd = c(glu = 1e-5)
  )
  moved <- fit(gibbs_logistic, binary, d, prior)
  coef(known)[["glu"]] < 0.09 && abs(coef(moved)[["glu"]] - 0.1) < 1e-4
})
told("prior_summary() shows it on the coefficient's scale",
     print(prior_summary(fit(
       laplace_logistic, binary, d,
       logistic_prior(slope_mean = c(glu = 0.1), slope_sd = c(glu = 0.02))
     ))), says = "glu +0.1 +0.02")
refused("a name that is no coefficient",
        fit(laplace_logistic, binary, d,
            logistic_prior(slope_mean = c(glucose = 1))),
        says = "glucose.*\"glu\" and \"bmi\"")
refused("a variance and a standard deviation",
        logistic_prior(slope_variance = 1, slope_sd = 2), says = "not both")
rare <- transform(
  d, level = factor(c(rep("rare", 5), rep(c("a", "b", "c"), 65)))
)
rare$type[1:5] <- "Yes"
told("a rare level without failures is named",
     print(fit(gibbs_logistic, type ~ level + glu, rare)),
     says = "do not bound levelrare")
right("a list of fits is compared", {
  fits <- list(a = plain, b = fit(gibbs_logistic, binary, d))
  identical(unique(compare(fits)$fit), c("a", "b"))
})
refused("an intercept among the slopes of ordered categories", gibbs_ordinal(
  gear ~ wt, transform(mtcars, gear = factor(gear, ordered = TRUE)),
  ordinal_prior(slope_mean = c("(Intercept)" = 1))
), "thresholds stand in its place")
