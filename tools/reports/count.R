# Regression of counts.

roaches <- function(seed = 1) {
  set.seed(seed)
  n <- 120
  d <- data.frame(x = rnorm(n), g = gl(12, 10), t = exp(rnorm(n)))
  d$y <- rpois(n, d$t * exp(0.5 + 0.4 * d$x + rnorm(12, 0, 0.5)[d$g]))
  d
}

fast_count <- function(...) {
  suppressWarnings(suppressMessages(
    gibbs_count(..., draws = 200, burnin = 200, seed = 1, progress = FALSE)
  ))
}

right("an offset in the formula is an exposure", {
  d <- roaches()
  fit <- fast_count(y ~ x + offset(log(t)), d)
  new <- data.frame(x = 0, t = c(1, 10))
  mean <- predict(fit, new, type = "response")
  abs(mean[[2]] / mean[[1]] - 10) < 1e-9
})

right("dispersion is found, and ratios of rates", {
  fit <- fast_count(Days ~ Eth + Sex, MASS::quine, family = "negbinomial")
  ratio <- tidy(fit, exponentiate = TRUE)
  size <- mean(1 / as.matrix(fit)[, "dispersion"]^2)
  size > 1 && size < 2 && ratio$estimate[ratio$term == "EthN"] < 1
})

right("groups, new groups and new counts", {
  d <- roaches()
  fit <- fast_count(y ~ x + (1 + x | g) + offset(log(t)), d)
  new <- data.frame(x = 0, g = c("1", "new"), t = 1)
  counts <- rstantools::posterior_predict(fit, new, allow_new_levels = TRUE)
  all(counts == round(counts)) && stats::var(counts[, 2]) > 0
})

right("a level whose counts are all 0", {
  d <- data.frame(y = c(rpois(20, 4), rep(0, 20)), f = gl(2, 20))
  fit <- gibbs_count(y ~ f, d, seed = 1, progress = FALSE)
  converged(fit) && coef(fit)[["f2"]] < -2
})

refused("fractions", gibbs_count(y ~ 1, data.frame(y = c(1, 0.5))),
        says = "whole numbers, 0 or more: element 2 is 0.5")
refused("negative counts", gibbs_count(y ~ 1, data.frame(y = c(1, -2))),
        says = "whole numbers, 0 or more: element 2 is -2")
refused("a factor", gibbs_count(y ~ 1, data.frame(y = gl(2, 2))),
        says = "gibbs_logistic")
refused("an exposure of 0",
        gibbs_count(y ~ offset(log(t)), data.frame(y = 1:2, t = 0:1)),
        says = "finite: row 1")
refused("no counts and no prior", {
  gibbs_count(y ~ 1, data.frame(y = c(0, 0)),
              prior = count_prior(intercept_variance = Inf))
}, says = "do not bound")
