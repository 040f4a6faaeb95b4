# One way to say a thing: names, order and defaults of arguments.

set.seed(1)
made <- stats::setNames(
  sim_bmf(20, 12, rank = 2, share = 0.5), c("s", "d", "y")
)
few <- list(draws = 20, burnin = 20, chains = 2, seed = 1, progress = FALSE)
short <- function(sampler, ...) {
  suppressMessages(suppressWarnings(do.call(sampler, c(list(...), few))))
}
ratings <- short(gibbs_bmf, y ~ s + d, made, rank = 2)
mixture <- short(gibbs_gmm, faithful, 2)
topics <- short(gibbs_lda, sim_lda(10, 2, 8, 20)$x, 2)
line <- short(gibbs_lm, mpg ~ wt, mtcars)

right("a formula of ratings takes its data next", {
  columns <- short(gibbs_bmf, made, rank = 2, user = "s", item = "d",
                   value = "y")
  identical(ratings[[1]], columns[[1]])
})
refused("a formula without an item",
        gibbs_bmf(y ~ s, made), says = "`formula` must be")
refused("data beside a data frame",
        gibbs_bmf(made, data = made), says = "no argument `data`")

right("intervals hold 0.95 unless another level is given", {
  asked <- made[1:3, 1:2]
  identical(
    predict(ratings, asked, interval = "prediction"),
    predict(ratings, asked, interval = "prediction", level = 0.95)
  ) && identical(
    predict(mixture, faithful[1:3, ], type = "density"),
    predict(mixture, faithful[1:3, ], type = "density", level = 0.95)
  )
})

right("variables of a plot are of the chains, whatever the model", {
  pdf(NULL)
  drawn <- all(
    identical(plot(ratings, variables = "beta"), ratings),
    identical(plot(mixture, variables = "pi"), mixture),
    identical(plot(topics, variables = "alpha"), topics),
    identical(plot(line, variables = "sigma"), line)
  )
  dev.off()
  drawn
})
refused("variables beside a picture of topics",
        plot(topics, "terms", variables = "alpha"),
        says = "`variables` must be NULL where `type` is not")

right("the fields of a prior have words", {
  prior <- bmf_prior("gamma", noise_shape = 3, user_rate = 2)
  fit <- short(gibbs_bmf, y ~ s + d, made, rank = 2, prior = prior)
  prior_summary(fit)$user_rate == 2 && prior_summary(fit)$noise_shape == 3
})
refused("a field of another type of prior",
        bmf_prior("fixed", noise_shape = 3), says = "must be NULL with")
refused("a field of another type of prior of a regression",
        lm_prior("nig", slope_shape = 1), says = "must be NULL with")
told("a prior is printed with the names of its fields",
     print(lm_prior(noise_shape = 3)), says = "noise_shape = 3")
