# Draws every picture of the package, small and large, so that a person can look
# at them: 480 x 480 and 900 x 700 pixels.
#   Rscript tools/pictures.R FOLDER [REGEXP]
# The pictures go into FOLDER; REGEXP chooses some by name.  Uses the installed
# package; those of autoplot() are drawn if ggplot2 is installed.

suppressPackageStartupMessages(library(gibbsite))

arguments <- commandArgs(trailingOnly = TRUE)
folder <- c(arguments, "pictures")[1L]
wanted <- c(arguments[-1L], "")[1L]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
sizes <- list(small = c(480, 480), large = c(900, 700))

# ---- fits: each made when it is first drawn

fits <- new.env()
fit <- function(name, code) {
  delayedAssign(name, suppressMessages(suppressWarnings(code)),
                assign.env = fits)
}

# The help pages of a package: nested text with many words.
help_words <- function(packages) {
  pages <- unlist(lapply(packages, tools::Rd_db), recursive = FALSE)
  words <- lapply(unname(pages), function(page) {
    text <- tolower(paste(unlist(page), collapse = " "))
    unlist(regmatches(text, gregexpr("[a-z]{5,}", text)))
  })
  spread <- table(unlist(lapply(words, unique)))
  terms <- names(spread)[spread >= 4 & spread <= 50]
  rows <- data.frame(
    document = rep(seq_along(words), lengths(words)), term = unlist(words)
  )
  rows[rows$term %in% terms, ]
}
words <- help_words("graphics")

short <- function(f, ..., draws = 200, burnin = 100, seed = 1) {
  f(..., draws = draws, burnin = burnin, seed = seed)
}

set.seed(1)
made <- sim_bmf(60, 40, rank = 2, share = 0.3, mean = 3)
rounded <- transform(made, value = pmin(5, pmax(1, round(value))))
back <- sample(nrow(made), 120)
many <- sim_hlm(80, 6, mu = c(3, 1), Sigma = diag(c(1, 0.25)))
prior <- lm_prior(noise_shape = 3, noise_rate = 600)
six <- sim_gmm(
  200, c(0.5, 0.3, 0.2), matrix(stats::rnorm(18, sd = 4), 3), diag(6)
)
bumps <- sim_gmm(
  600, rep(1, 6) / 6, matrix(c(0, 5, 10, 15, 20, 25)), matrix(1)
)
colnames(bumps) <- "velocity"
six_groups <- sim_gmm(
  600, rep(1, 6) / 6, cbind(c(0, 5, 10, 0, 5, 10), c(0, 0, 0, 6, 6, 6)), diag(2)
)
budworm <- data.frame(
  dose = log2(rep(2^(0:5), 2)), sex = rep(c("male", "female"), each = 6),
  dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
)

fit("gmm_1", gibbs_gmm(
  faithful$waiting, 2, draws = 200, burnin = 100, seed = 1
))
fit("gmm_1_named", short(gibbs_gmm, faithful["waiting"], 2))
fit("gmm_1_k6", short(gibbs_gmm, bumps, 6))
fit("gmm_2", short(gibbs_gmm, faithful, 2))
fit("gmm_2_k6", short(gibbs_gmm, six_groups, 6))
fit("gmm_4", short(gibbs_gmm, iris[1:4], 3, covariance = "shared", keep = "z"))
fit("gmm_6", short(gibbs_gmm, six, 3))
fit("gmm_9_chains", short(gibbs_gmm, faithful, 2, chains = 9))
fit("gmm_map", gibbs_gmm(faithful, 2, method = "icm", seed = 1))
fit("lda_6", short(gibbs_lda, words, 6, chains = 2))
fit("lda_20", short(gibbs_lda, words, 20, chains = 2))
fit("bmf", gibbs_bmf(
  made[-back, ], rank = 2, predict_at = made[back, ], draws = 200, burnin = 200,
  chains = 2, seed = 1
))
fit("bmf_marks", gibbs_bmf(
  rounded[-back, ], rank = 2, predict_at = rounded[back, ], draws = 200,
  burnin = 200, seed = 1
))
fit("bmf_all", short(gibbs_bmf, rounded, rank = 2, burnin = 200))
fit("lm_2", gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1))
fit("lm_1", gibbs_lm(dist ~ speed, cars, seed = 1))
fit("lm_factor", gibbs_lm(weight ~ feed, chickwts, seed = 1))
fit("lm_6", gibbs_lm(Fertility ~ ., swiss, seed = 1))
fit("lm_many", gibbs_lm(mpg ~ .^2, mtcars[1:8], seed = 1))
fit("hlm", gibbs_hlm(
  weight ~ Time + Diet + (1 + Time | Chick), ChickWeight, seed = 1
))
fit("hlm_many", gibbs_hlm(y ~ x1 + (x1 | group), many, seed = 1))
fit("hlm_binomial", gibbs_logistic(
  y ~ trt + (1 | ID), MASS::bacteria, seed = 1
))
fit("laplace", {
  long <- faithful$eruptions[faithful$eruptions >= 3]
  laplace(function(theta) {
    sum(stats::dnorm(long, theta[["mean"]], exp(theta[["log_sd"]]), log = TRUE))
  }, c(mean = 4, log_sd = 0), seed = 1)
})
fit("laplace_scales", laplace(
  function(x) -sum(((x - c(0.01, 3, 500)) / c(0.002, 1, 90))^2) / 2,
  c(small = 0, middle = 1, large = 400), seed = 1
))
fit("logistic", laplace_logistic(type ~ ., MASS::Pima.tr, seed = 1))
fit("logistic_gibbs", gibbs_logistic(
  type ~ npreg + glu + bmi + ped + age, MASS::Pima.tr, seed = 1
))
fit("logistic_counts", laplace_logistic(
  cbind(dead, 20 - dead) ~ dose + sex, budworm, seed = 1
))
fit("comparison", compare(
  laplace = fits$logistic, gibbs = gibbs_logistic(
    type ~ ., MASS::Pima.tr, seed = 1
  )
))
fit("mh", mh_sample(
  function(z) -sum((z - c(4, 5e4))^2 / c(1, 1e6)) / 2,
  c(alpha = 4, beta = 5e4), seed = 1
))
fit("gibbs", gibbs_sample(
  list(
    z1 = function(state) stats::rnorm(1, 4 + 0.8 * (state$z2 - 4), 0.6),
    z2 = function(state) stats::rnorm(1, 4 + 0.8 * (state$z1 - 4), 0.6)
  ),
  init = list(z1 = 0, z2 = 0), burnin = 100, chains = 2, seed = 1
))
fit("sbc", sbc(
  gibbs_lm(dist ~ speed, cars, prior, burnin = 50), n = 60, draws = 19,
  thin = 1, seed = 1, progress = FALSE
))
fit("geweke", geweke_joint(
  gibbs_lm(dist ~ speed, cars, prior, burnin = 50), n = 60, seed = 1,
  progress = FALSE
))
fit("predicted", prior_predict(
  gibbs_lm(dist ~ speed, cars, prior), seed = 1
))
fit("chain", markov_chain(
  rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0)), c("a", "b", "c")
))
fit("chain_6", {
  set.seed(1)
  p <- matrix(stats::rexp(36), 6)
  p[p < 0.7] <- 0
  diag(p) <- diag(p) + 0.1
  markov_chain(p / rowSums(p), c("sunny", "cloudy", "rain", "snow", "fog",
                                 "storm"))
})
fit("chain_30", {
  p <- matrix(0, 30, 30)
  p[abs(row(p) - col(p)) == 1] <- 1
  markov_chain(p / rowSums(p))
})
fit("importance", {
  set.seed(1)
  sample_importance(2000, function(x) stats::dgamma(x, 3, log = TRUE), list(
    draw = function(n) stats::rexp(n, 0.3),
    log_density = function(x) stats::dexp(x, 0.3, log = TRUE)
  ))
})
fit("empirical", empirical_distribution(as.matrix(faithful)))
fit("empirical_6", empirical_distribution(six))

# ---- drawing

draw <- function(name, code) {
  if (!grepl(wanted, name)) {
    return(invisible())
  }
  code <- substitute(code)
  for (size in names(sizes)) {
    path <- file.path(folder, paste0(name, "-", size, ".png"))
    grDevices::png(path, sizes[[size]][[1L]], sizes[[size]][[2L]])
    tryCatch(eval(code, fits, globalenv()), error = function(cnd) {
      writeLines(paste0(name, ": ", conditionMessage(cnd)))
    })
    grDevices::dev.off()
  }
  writeLines(name)
}

draw("gmm-1", plot(gmm_1))
draw("gmm-1-named", plot(gmm_1_named))
draw("gmm-1-k6", plot(gmm_1_k6))
draw("gmm-2", plot(gmm_2))
draw("gmm-2-k6", plot(gmm_2_k6))
draw("gmm-4", plot(gmm_4))
draw("gmm-6", plot(gmm_6))
draw("gmm-map", plot(gmm_map))
for (k in c(6, 20)) {
  of <- paste0("lda_", k)
  for (type in c("terms", "prevalence", "map")) {
    draw(paste0("lda-", k, "-", type), plot(get(of), type = type))
  }
}
draw("lda-20-terms-all", plot(lda_20, topics = 1:20, n = 5))
draw("lda-6-terms-2", plot(lda_6, topics = 1:2, n = 20))
draw("bmf", plot(bmf))
draw("bmf-marks", plot(bmf_marks))
draw("bmf-all", plot(bmf_all))
for (type in c("predicted", "coverage", "rmse")) {
  draw(paste0("bmf-", type), plot(bmf, type = type))
  draw(paste0("bmf-all-", type), plot(bmf_all, type = type))
}
draw("lm-coefficients-2", plot(lm_2))
draw("lm-coefficients-6", plot(lm_6))
draw("lm-coefficients-many", plot(lm_many))
draw("lm-response", plot(lm_1))
draw("lm-response-factor", plot(lm_factor, type = "response"))
draw("hlm-groups", plot(hlm, term = "Time"))
draw("hlm-groups-many", plot(hlm_many, term = "x1"))
draw("hlm-shrinkage", plot(hlm, type = "shrinkage", term = "Time"))
draw("hlm-shrinkage-many", plot(hlm_many, type = "shrinkage", term = "x1"))
draw("hlm-coefficients", plot(hlm, type = "coefficients"))
draw("hlm-binomial-groups", plot(hlm_binomial))
draw("hlm-binomial-coefficients", plot(hlm_binomial, type = "coefficients"))
draw("laplace-coefficients", plot(laplace))
draw("laplace-coefficients-scales", plot(laplace_scales))
for (of in c("logistic", "logistic_gibbs", "logistic_counts")) {
  for (type in c("coefficients", "response", "calibration")) {
    draw(paste0(sub("_", "-", of), "-", type), plot(get(of), type = type))
  }
}
draw("logistic-response-factor", plot(
  logistic_counts, type = "response", variable = "sex"
))
draw("comparison", plot(comparison))
draw("comparison-2", plot(comparison, variables = c("glu", "bmi")))
draw("sbc-ecdf", plot(sbc))
draw("sbc-histogram", plot(sbc, "histogram"))
draw("geweke", plot(geweke))
draw("prior-predict", plot(predicted))
draw("prior-predict-median", plot(predicted, statistic = stats::median))
draw("markov-3", plot(chain))
draw("markov-6", plot(chain_6))
draw("markov-30", plot(chain_30))
draw("markov-6-matrix", plot(chain_6, type = "matrix"))
for (of in c("importance", "empirical", "empirical_6")) {
  for (type in c("histogram", "cdf")) {
    draw(paste(sub("_", "-", of), type, sep = "-"), plot(get(of), type))
  }
}

# the chains of every model
samplers <- c("gmm_2", "gmm_6", "gmm_9_chains", "lda_6", "lda_20", "bmf",
              "lm_1", "lm_6", "hlm", "hlm_binomial", "laplace", "logistic",
              "logistic_gibbs", "mh", "gibbs")
for (of in samplers) {
  name <- gsub("_", "-", of)
  draw(paste0("chains-", name), plot(get(of), type = c("trace", "density")))
  for (type in c("trace", "density", "autocorrelation", "ranks")) {
    draw(paste("chains", name, type, sep = "-"), plot(get(of), type = type))
  }
}
draw("chains-mh-4-types", plot(
  mh, type = c("trace", "density", "autocorrelation", "ranks")
))

# ---- ggplot2

if (requireNamespace("ggplot2", quietly = TRUE)) {
  auto <- function(of, type) {
    assign("draw_auto", function() {
      print(ggplot2::autoplot(get(of, fits), type = type)) # nolint: object_usage_linter, line_length_linter.
    }, envir = fits)
    draw(paste("auto", gsub("_", "-", of), type, sep = "-"), draw_auto())
  }
  own <- list(
    gmm_1 = "mixture", gmm_1_k6 = "mixture", gmm_2 = "mixture",
    gmm_2_k6 = "mixture", gmm_4 = "mixture", gmm_6 = "mixture",
    lda_6 = c("terms", "prevalence", "map"),
    lda_20 = c("terms", "prevalence", "map"),
    bmf = c("rmse", "predicted", "coverage"), bmf_marks = "predicted",
    bmf_all = "rmse", lm_6 = "coefficients", lm_many = "coefficients",
    lm_1 = "response", lm_factor = "response",
    hlm = c("groups", "coefficients"), hlm_many = "groups",
    hlm_binomial = c("groups", "coefficients"), laplace = "coefficients",
    laplace_scales = "coefficients",
    logistic = c("coefficients", "response", "calibration"),
    logistic_gibbs = "coefficients",
    logistic_counts = c("response", "calibration")
  )
  for (of in names(own)) {
    for (type in own[[of]]) {
      auto(of, type)
    }
  }
  for (of in c("gmm_2", "gmm_9_chains", "lda_20", "mh", "gibbs", "bmf")) {
    for (type in c("trace", "density", "autocorrelation", "ranks")) {
      auto(of, type)
    }
  }
}
