# Categories without an order: gibbs_categorical().

library(gibbsite)

d <- withr::with_seed(4, data.frame(
  x = stats::rnorm(120), g = gl(8, 15), h = gl(5, 3, 120),
  a = stats::rpois(120, 2), b = stats::rpois(120, 3), c = stats::rpois(120, 1)
))
d$vote <- withr::with_seed(5, factor(
  c("left", "middle", "right")[apply(
    cbind(0, d$x + stats::rnorm(8)[d$g], 1 - d$x) -
      log(-log(matrix(stats::runif(360), 120))), 1, which.max
  )]
))
short <- function(...) {
  suppressWarnings(gibbs_categorical(
    ..., data = d, draws = 200, burnin = 100, chains = 2, seed = 1,
    progress = FALSE
  ))
}
fit <- short(vote ~ x)

right("columns have the names of categories and terms", identical(
  names(coef(fit)), c("b[middle,(Intercept)]", "b[middle,x]",
                      "b[right,(Intercept)]", "b[right,x]")
))
right("a category is not more probable along a negative slope", {
  coef(fit)[["b[middle,x]"]] > 0 && coef(fit)[["b[right,x]"]] < 0
})
right("probabilities of the categories have the sum 1", {
  shares <- predict(fit, type = "response")
  identical(colnames(shares), levels(d$vote)) &&
    all(abs(rowSums(shares) - 1) < 1e-12)
})
right("text is a factor", identical(
  as.matrix(fit), as.matrix(suppressMessages(short(as.character(vote) ~ x)))
))
right("counts have probabilities, and simulated ones their totals", {
  counts <- short(cbind(a, b, c) ~ x)
  made <- simulate(counts, 1, seed = 1)$sim_1
  identical(colnames(fitted(counts)), c("a", "b", "c")) &&
    all(rowSums(made) == d$a + d$b + d$c)
})
right("two categories are a logistic regression", {
  d$left <- factor(d$vote == "left")
  two <- suppressWarnings(gibbs_categorical(
    left ~ x, d, draws = 500, chains = 2, seed = 1, progress = FALSE
  ))
  other <- gibbs_logistic(left ~ x, d, seed = 1, progress = FALSE)
  all(abs(coef(two) - coef(other)) < 0.1)
})
right("a bar, two, and nested ones", all(vapply(
  c(vote ~ x + (1 | g), vote ~ x + (x | g) + (1 | h), vote ~ (1 | g / h)),
  function(f) nobs(suppressWarnings(gibbs_categorical(
    f, d, draws = 20, burnin = 20, chains = 2, seed = 1, progress = FALSE
  ))) == 120, NA
)))
right("a new group has probabilities", {
  groups <- short(vote ~ x + (1 | g))
  new <- data.frame(x = 0, g = "new")
  all(dim(predict(groups, new, "response", allow_new_levels = TRUE)) == c(1, 3))
})
right("each category may have a prior of its own", {
  tight <- short(vote ~ x, prior = list(
    middle = logistic_prior(1e-6), right = logistic_prior()
  ))
  abs(coef(tight)[["b[middle,x]"]]) < 0.01 && coef(tight)[["b[right,x]"]] < -0.1
})
right("blocks are chosen by name", {
  groups <- short(vote ~ x + (1 | g))
  identical(as.character(summary(groups, "sd")$variable),
            c("sd[middle,1,1]", "sd[right,1,1]"))
})
refused("numbers", gibbs_categorical(a ~ x, d), says = "factor\\(a\\)")
refused("an ordered factor", gibbs_categorical(ordered(vote) ~ x, d),
        says = "gibbs_ordinal")
refused("a flag", gibbs_categorical((x > 0) ~ x, d), says = "gibbs_logistic")
refused("a level without rows", gibbs_categorical(
  vote ~ x, d, subset = vote != "middle"
), says = "droplevels")
refused("a column of counts without any", gibbs_categorical(
  cbind(a, b, z = 0 * c) ~ x, d
), says = "no observations")
refused("fractions", gibbs_categorical(cbind(a, b / 2) ~ x, d),
        says = "whole numbers")
refused("a prior for some categories", gibbs_categorical(
  vote ~ x, d, list(right = logistic_prior())
), says = "middle")
refused("residuals", residuals(fit), says = "no numbers")
refused("a group that is not in the fit", predict(
  short(vote ~ x + (1 | g)), data.frame(x = 0, g = "new")
), says = "allow_new_levels")
