# One word for a thing: intervals, numbers of draws, priors, whole names.

set.seed(1)
made <- sim_bmf(20, 12, rank = 2, share = 0.5)
short <- function(f, ...) {
  suppressWarnings(suppressMessages(f(
    ..., draws = 30, burnin = 30, chains = 2, seed = 1, progress = FALSE
  )))
}
ratings <- short(gibbs_bmf, made, rank = 2)
line <- short(gibbs_lm, dist ~ speed, cars)
walk <- short(mh_sample, function(p) -p[["a"]]^2 / 2, c(a = 0))
pairs <- made[1:3, 1:2]

right("an interval of ratings is of the mean or of a new rating", {
  parts <- predict(ratings, pairs)
  of_mean <- predict(ratings, pairs, interval = "mean")
  of_new <- predict(ratings, pairs, interval = "prediction")
  isTRUE(all.equal(of_mean$sd^2, parts$parameters)) &&
    isTRUE(all.equal(of_new$sd^2, parts$variance)) &&
    all(of_new$lower < of_mean$lower & of_mean$upper < of_new$upper)
})
refused("an interval as a type", predict(ratings, pairs, type = "interval"),
        says = "`type` must be one of")
refused("an interval of draws",
        predict(ratings, pairs, type = "draws", interval = "mean"),
        says = "`type` must be \"mean\"")
right("an interval of one's own function", {
  band <- predict(walk, function(p, x) p[["a"]] * x, x = 1:3, interval = "mean")
  identical(names(band), c("x", "mean", "sd", "lower", "upper"))
})
refused("an interval of observations of an unknown model",
        predict(walk, function(p) p[["a"]], interval = "prediction"),
        says = "`interval` must be \"none\" or \"mean\"")

right("some of the draws are taken by `ndraws`", {
  nrow(posterior_predict(line, ndraws = 7)) == 7 &&
    nrow(log_lik(ratings, ndraws = 7)) == 7 &&
    nrow(posterior_epred(walk, function(p) p[["a"]], ndraws = 7)) == 7
})
for (f in list(posterior_predict, posterior_epred, log_lik)) {
  refused("some of the draws by `draws`", f(line, draws = 7),
          says = "It is `ndraws` here")
  refused("some of the draws by `draws`, of ratings", f(ratings, draws = 7),
          says = "It is `ndraws` here")
}

right("variances of a logistic prior have words", {
  prior <- logistic_prior(slope_variance = 2, intercept_variance = 9)
  fit <- laplace_logistic(am ~ wt, mtcars, prior, seed = 1)
  identical(
    prior_summary(fit)$slope_variance, c("(Intercept)" = 9, wt = 2)
  )
})
refused("a completed name", gibbs_bmf(y ~ s + d, made, user = "user"),
        says = "There is no argument `user`")
refused("a completed name of another function",
        recommend(ratings, user = "1"),
        says = "There is no argument `user`")
