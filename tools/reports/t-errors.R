# Outliers: gibbs_lm() and gibbs_hlm() with errors = "t".

library(gibbsite)

calls <- as.data.frame(MASS::phones)
short <- function(f, formula, data, ...) {
  suppressWarnings(f(
    formula, data, errors = "t", draws = 400, burnin = 200, chains = 2,
    seed = 1, progress = FALSE, ...
  ))
}
fit <- short(gibbs_lm, calls ~ year, calls)

right("outliers do not move the line", {
  plain <- coef(stats::lm(calls ~ year, calls))[["year"]]
  clean <- coef(stats::lm(calls ~ year, calls[calls$calls < 50, ]))[["year"]]
  abs(coef(fit)[["year"]] - clean) < abs(plain - clean) / 3
})
right("outliers have small weights", {
  weight <- augment(fit)$.weight
  far <- calls$calls > 100
  max(weight[far]) < min(weight[!far])
})
right("a fixed nu is kept", {
  known <- short(gibbs_lm, calls ~ year, calls, prior = lm_prior(nu = 4))
  !"nu" %in% colnames(known[[1]]) || all(as.matrix(known)[, "nu"] == 4)
})
right("a large nu is the normal distribution", {
  many <- short(gibbs_lm, mpg ~ wt, mtcars, prior = lm_prior(nu = 1e6))
  normal <- gibbs_lm(mpg ~ wt, mtcars, seed = 1)
  all(abs(coef(many) - coef(normal)) < 0.3 * sqrt(diag(vcov(normal))))
})
right("groups, crossed and nested", {
  d <- transform(as.data.frame(nlme::Orthodont), o = factor(age))
  all(vapply(
    c(distance ~ age + (1 | Subject), distance ~ Sex + (1 | Subject) + (1 | o),
      distance ~ age + (1 | Sex / Subject)),
    function(f) nobs(short(gibbs_hlm, f, d)) == 108, NA
  ))
})
right("log_lik() is that of Student's t", {
  draws <- as.matrix(fit)
  by_hand <- outer(seq_len(nrow(draws)), seq_len(nrow(calls)), function(s, i) {
    mean <- draws[s, 1] + draws[s, 2] * calls$year[i]
    sigma <- draws[s, "sigma"]
    stats::dt((calls$calls[i] - mean) / sigma, draws[s, "nu"], log = TRUE) -
      log(sigma)
  })
  isTRUE(all.equal(unname(log_lik(fit)), unname(by_hand), tolerance = 1e-8))
})
refused("nu with normal errors", gibbs_lm(
  calls ~ year, calls, prior = lm_prior(nu = 4), seed = 1
), says = "nu")
refused("known standard errors", gibbs_hlm(
  calls ~ 1 + (1 | year), calls, se = 1, errors = "t", seed = 1
), says = "se")
refused("other errors", gibbs_lm(calls ~ year, calls, errors = "cauchy"),
        says = "errors")
