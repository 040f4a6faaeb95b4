# Draws every picture of the package, small and large, so that a person can look
# at them: 480 x 480 and 900 x 700 pixels.
#
#   Rscript tools/pictures.R FOLDER [REGEXP]
#   Rscript tools/pictures.R --gallery
#
# The pictures go into FOLDER; REGEXP chooses some by name.  With --gallery the
# pictures that have a title are written as chunks of knitr, each with the code
# of its fits: the article "Gallery" runs them.  Uses the installed package;
# those of autoplot() are drawn if ggplot2 is installed.

suppressPackageStartupMessages(library(gibbsite))

arguments <- commandArgs(trailingOnly = TRUE)
for_gallery <- identical(arguments, "--gallery")
folder <- c(arguments, "pictures")[1L]
wanted <- c(arguments[-1L], "")[1L]
if (!for_gallery) dir.create(folder, showWarnings = FALSE, recursive = TRUE)
sizes <- list(small = c(480, 480), large = c(900, 700))

# ---- fits and data: each made when it is first used

fits <- new.env()
codes <- list()
fit <- function(name, code) {
  code <- substitute(code)
  codes[[name]] <<- code
  delayedAssign(name, suppressMessages(suppressWarnings(eval(code, fits))),
                assign.env = fits)
}

fit("pages", vapply(tools::Rd_db("graphics"), function(page) {
  paste(unlist(page), collapse = " ")
}, ""))
fit("words", {
  counts <- token_counts(pages, min_length = 5)
  counts[, Matrix::colSums(counts > 0) %in% 4:50]
})

short <- function(f, ..., draws = 200, burnin = 100, seed = 1) {
  f(..., draws = draws, burnin = burnin, seed = seed)
}

fit("made", {
  set.seed(1)
  sim_bmf(60, 40, rank = 2, share = 0.3, mean = 3)
})
fit("rounded", transform(made, value = pmin(5, pmax(1, round(value)))))
fit("back", seq(5, nrow(made), 6))
set.seed(1)
many <- sim_hlm(80, 6, mu = c(3, 1), Sigma = diag(c(1, 0.25)))
fit("prior", lm_prior(noise_shape = 3, noise_rate = 600))
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
fit("budworm", data.frame(
  dose = log2(rep(2^(0:5), 2)), sex = rep(c("male", "female"), each = 6),
  dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
))

fit("gmm_1", gibbs_gmm(
  faithful$waiting, 2, draws = 200, burnin = 100, seed = 1
))
fit("gmm_1_named", gibbs_gmm(faithful["waiting"], 2, seed = 1))
fit("gmm_1_k6", short(gibbs_gmm, bumps, 6))
fit("gmm_2", gibbs_gmm(faithful, 2, seed = 1))
fit("allocated", gibbs_gmm(
  faithful, 2, draws = 200, burnin = 100, keep = "z", seed = 1
))
fit("gmm_2_k6", short(gibbs_gmm, six_groups, 6))
fit("switching", gibbs_gmm(MASS::galaxies / 1000, 3, seed = 1))
fit("gmm_4", gibbs_gmm(iris[1:4], 3, covariance = "shared", seed = 1))
fit("unknown", gibbs_gmm(faithful$waiting, "unknown", draws = 500, seed = 1))
fit("unknown_2", short(gibbs_gmm, faithful, "unknown"))
fit("numbers", compare_k(
  lapply(1:3, function(k) {
    gibbs_gmm(faithful$waiting, k, draws = 500, seed = 1)
  }),
  seed = 1
))
fit("gmm_6", short(gibbs_gmm, six, 3))
fit("gmm_9_chains", short(gibbs_gmm, faithful, 2, chains = 9))
fit("gmm_map", gibbs_gmm(faithful, 2, method = "icm", seed = 1))
fit("lda_6", gibbs_lda(
  words, 6, draws = 500, burnin = 500, chains = 2, seed = 1
))
fit("lda_20", short(gibbs_lda, words, 20, chains = 2))
fit("by_party", {
  corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
  topic_prevalence(
    gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
              keep = "theta", seed = 1),
    ~ 0 + party, data.frame(party = rep(c("left", "right"), 25))
  )
})
fit("bmf", gibbs_bmf(
  made[-back, ], rank = 2, predict_at = made[back, ], draws = 300, burnin = 200,
  seed = 1
))
fit("ranks", compare_k(lapply(1:3, function(rank) {
  gibbs_bmf(made, rank = rank, draws = 100, burnin = 100, chains = 2, seed = 1)
}), seed = 1))
fit("topic_numbers", compare_k(lapply(c(2, 4, 8), function(k) {
  gibbs_lda(words, k, draws = 100, burnin = 100, chains = 2, seed = 1)
}), seed = 1))
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
fit("approximation", {
  long <- faithful$eruptions[faithful$eruptions >= 3]
  laplace(function(theta) {
    sum(stats::dnorm(long, theta[["mean"]], exp(theta[["log_sd"]]), log = TRUE))
  }, c(mean = 4, log_sd = 0), seed = 1)
})
fit("laplace_one", laplace(
  function(x) stats::dgamma(exp(x), 2, log = TRUE) + x, c(log_rate = 0),
  seed = 1
))
fit("ascent", laplace(
  function(x) -(x[1]^2 - 1.8 * x[1] * x[2] + x[2]^2) / 0.38, c(a = -3, b = 1),
  method = "gradient", rho = 0.17, seed = 1
))
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
fit("seizures", gibbs_count(
  y ~ trt + log(base / 4) + (1 | subject), MASS::epil, seed = 1
))
fit("tenants", gibbs_ordinal(
  Sat ~ Infl + Type, MASS::housing, weights = Freq, seed = 1
))
fit("homes", gibbs_categorical(
  Type ~ Infl + Cont, MASS::housing, weights = Freq, seed = 1
))
fit("robust", gibbs_lm(calls ~ year, as.data.frame(MASS::phones), errors = "t",
                       seed = 1))
fit("comparison", compare(
  laplace = logistic, gibbs = gibbs_logistic(type ~ ., MASS::Pima.tr, seed = 1)
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
fit("blocks", gibbs_sample(
  list(
    a = function(state) stats::rnorm(1, 0.8 * state$b, 0.6),
    b = function(state) stats::rnorm(1, 0.8 * state$a, 0.6)
  ),
  init = list(a = -3, b = 2), draws = 30, burnin = 0, chains = 1,
  seed = 1
))
fit("walk", mh_sample(
  function(x) -(x[1]^2 - 1.6 * x[1] * x[2] + x[2]^2) / 0.72, c(a = 0, b = 0),
  random_walk(0.8), draws = 60, burnin = 0, chains = 1,
  inits = list(c(-3, 2)), debug = TRUE, seed = 1
))
fit("power", function(p, speed) p[["a"]] * speed^p[["b"]])
fit("distance", mh_sample(function(p, speed, dist) {
  sum(dnorm(dist, power(p, speed), exp(p[["log_sd"]]), log = TRUE)) +
    dnorm(p[["a"]], 0, 5, log = TRUE) + dnorm(p[["b"]], 1, 1, log = TRUE)
}, c(a = 1, b = 1, log_sd = 3), speed = cars$speed, dist = cars$dist, seed = 1))
fit("calibration", sbc(
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
fit("rejection", {
  set.seed(1)
  sample_rejection(
    500, function(x) -x^2 / 2,
    list(draw = stats::rcauchy,
         log_density = function(x) stats::dcauchy(x, log = TRUE)),
    log_m = log(2 * pi) - 0.5, keep_proposals = TRUE
  )
})
fit("two_peaks", {
  set.seed(1)
  sample_importance(272, function(x) {
    log(stats::dnorm(x, -6, 0.5) / 2 + stats::dnorm(x, 6, 0.5) / 2)
  }, independence(0, 100, df = 3))
})
fit("empirical", empirical_distribution(as.matrix(faithful)))
fit("empirical_6", empirical_distribution(six))

# ---- drawing

# A picture; with a title it is in the gallery.
draw <- function(name, code, title = NULL) {
  code <- substitute(code)
  if (for_gallery) {
    if (!is.null(title)) write_chunk(name, code, title)
    return(invisible())
  }
  if (!grepl(wanted, name)) {
    return(invisible())
  }
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

section <- function(title) if (for_gallery) cat("## ", title, "\n\n", sep = "")

# The fits and data that a code needs, those of their own codes first.
needed <- function(code) {
  own <- intersect(all.names(code), names(codes))
  unique(c(unlist(lapply(codes[own], needed)), own))
}

shown <- character()
write_chunk <- function(name, code, title) {
  new <- setdiff(needed(code), shown)
  shown <<- c(shown, new)
  made <- lapply(new, function(of) call("<-", as.name(of), codes[[of]]))
  plots <- if (identical(code[[1L]], quote(`{`))) as.list(code)[-1L] else code
  lines <- unlist(lapply(c(made, plots), deparse, width.cutoff = 65L))
  # four blanks of deparse() are two of the house's style
  blanks <- attr(regexpr("^ *", lines), "match.length")
  lines <- paste0(strrep(" ", blanks / 2), trimws(lines))
  cat("### ", title, " {#", name, "}\n\n```{r ", name, ", fig.alt = \"", title,
      "\"}\n", paste0(lines, "\n"), "```\n\n", sep = "")
}

section("Mixtures")
draw("gmm-1", plot(gmm_1))
draw("gmm-1-named", plot(gmm_1_named),
     "A mixture of one variable: the density with its band and its components")
draw("gmm-1-k6", plot(gmm_1_k6))
draw("gmm-2", plot(gmm_2),
     "A mixture of two variables: clusters, ellipses, predictive density")
draw("gmm-2-k6", plot(gmm_2_k6))
draw("gmm-4", plot(gmm_4),
     "A mixture of four variables: scatter plots with ellipses")
draw("gmm-6", plot(gmm_6))
draw("gmm-labels", plot(switching, type = "labels"),
     "Label switching: the sampler's numbers and the renumbered ones")
draw("gmm-coclustering", plot(coclustering(allocated)),
     "How often two observations are in one cluster")
draw("gmm-unknown", plot(unknown),
     "An unknown number of components: the posterior of the number")
draw("gmm-unknown-mixture", plot(unknown, type = "mixture"),
     "An unknown number of components: the density, averaged over the number")
draw("gmm-unknown-2", plot(unknown_2, type = "mixture"))
draw("gmm-compare-k", plot(numbers),
     "Several numbers of components, compared by their evidence")
draw("gmm-map", plot(gmm_map))
section("Topics")
draw("lda-terms", plot(lda_6), "Topics: their most probable terms")
draw("lda-prevalence", plot(lda_6, type = "prevalence"),
     "Topics: their shares of the words")
draw("lda-map", plot(lda_6, type = "map"),
     "Topics: a map by their distances, with areas by their shares")
draw("lda-compare-k", plot(topic_numbers))
for (k in c(6, 20)) {
  of <- paste0("lda_", k)
  for (type in c("terms", "prevalence", "map")) {
    draw(paste0("lda-", k, "-", type), plot(get(of), type = type))
  }
}
draw("lda-20-terms-all", plot(lda_20, topics = 1:20, n = 5))
draw("lda-6-terms-2", plot(lda_6, topics = 1:2, n = 20))
draw("topic-prevalence", plot(by_party), "Topics: their shares by a covariate")
section("Ratings")
draw("bmf", plot(bmf),
     "Ratings: predictions, coverage of intervals, error by sweep")
draw("bmf-compare-k", plot(ranks),
     "Several ranks, compared by cross-validation")
draw("bmf-marks", plot(bmf_marks))
draw("bmf-all", plot(bmf_all))
for (type in c("predicted", "coverage", "rmse")) {
  draw(paste0("bmf-", type), plot(bmf, type = type))
  draw(paste0("bmf-all-", type), plot(bmf_all, type = type))
}
section("Linear regression")
draw("lm-coefficients-2", plot(lm_2))
draw("lm-coefficients-6", plot(lm_6),
     "Linear regression: coefficients with 50% and 95% intervals")
draw("lm-coefficients-many", plot(lm_many))
draw("lm-response", plot(lm_1),
     "Linear regression: the line, its band, and the band of new responses")
draw("lm-response-factor", plot(lm_factor, type = "response"),
     "Linear regression: the levels of a factor")
section("Groups")
draw("hlm-groups", plot(hlm, term = "Time"),
     "Groups: the coefficient of each group with its intervals")
draw("hlm-groups-many", plot(hlm_many, term = "x1"))
draw("hlm-shrinkage", plot(hlm, type = "shrinkage", term = "Time"),
     "Groups: estimates from one group alone and from all")
draw("hlm-shrinkage-many", plot(hlm_many, type = "shrinkage", term = "x1"))
draw("hlm-coefficients", plot(hlm, type = "coefficients"),
     "Groups: the fixed effects")
draw("hlm-binomial-groups", plot(hlm_binomial),
     "Groups of successes and failures")
draw("hlm-binomial-coefficients", plot(hlm_binomial, type = "coefficients"))
draw("laplace-coefficients", plot(approximation, type = "coefficients"))
draw("laplace-coefficients-scales", plot(laplace_scales, type = "coefficients"))
draw("logistic-density", plot(logistic, type = "density"),
     "Logistic regression: its Laplace approximation beside the posterior")
section("Logistic regression")
draw("logistic-coefficients-exact", plot(logistic_gibbs, type = "coefficients"),
     "Logistic regression: coefficients")
draw("logistic-odds", plot(logistic_gibbs, type = "odds"),
     "Logistic regression: odds ratios")
draw("logistic-curve", plot(logistic_gibbs, type = "response"),
     "Logistic regression: the probability along one variable")
draw("logistic-calibrated", plot(logistic_gibbs, type = "calibration"),
     "Logistic regression: observed against predicted proportions")
for (of in c("logistic", "logistic_gibbs", "logistic_counts")) {
  for (type in c("coefficients", "odds", "response", "calibration")) {
    draw(paste0(sub("_", "-", of), "-", type), plot(get(of), type = type))
  }
}
draw("logistic-response-counts", plot(logistic_counts, variable = "dose",
                                       type = "response"),
     "Counts of successes: the probability along a dose")
draw("logistic-response-factor", plot(
  logistic_counts, type = "response", variable = "sex"
))
draw("seizures-response",
     plot(seizures, type = "response", variable = "base"),
     "Counts: the mean along one variable, by another")
draw("seizures-groups", plot(seizures))
draw("tenants-response", plot(tenants, type = "response"),
     "Ordered categories: their probabilities along a factor")
draw("tenants-coefficients", plot(tenants))
draw("homes-response", plot(homes, type = "response"))
draw("homes-odds", plot(homes, type = "odds"))
draw("robust-response", plot(robust),
     "Linear regression with t errors: a line that outliers do not move")
draw("comparison", plot(comparison),
     "Two posteriors beside each other: an approximation and exact draws")
draw("comparison-2", plot(comparison, variables = c("glu", "bmi")))
section("Your own density")
draw("mh-chains", plot(distance, type = c("trace", "density")),
     "Chains: traces and densities")
draw("mh-autocorrelation", plot(distance, type = "autocorrelation"),
     "Chains: autocorrelations")
draw("mh-ranks", plot(distance, type = "ranks"), "Chains: ranks")
draw("mh-band", {
  plot(predict(distance, power, speed = 4:25, interval = "mean"),
       xlab = "speed", ylab = "distance", ylim = c(0, 120))
  points(cars)
}, "A function of the parameters with its band")
draw("mh-trace", plot(mh_trace(walk), steps = 40),
     "The path of a chain over its target, with rejected proposals")
draw("gibbs-trace", plot(mh_trace(blocks), log_density = function(x) {
  -(x[[1]]^2 - 1.6 * x[[1]] * x[[2]] + x[[2]]^2) / 0.72
}), "The path of a Gibbs sampler, block by block, over its target")
draw("laplace-own", plot(approximation),
     "A Laplace approximation beside its target")
draw("laplace-path", plot(ascent, type = "path"),
     "Gradient ascent over contours of the log density")
draw("laplace-one", plot(laplace_one),
     "A Laplace approximation of one parameter beside its density")
section("Tests and priors")
draw("sbc-ecdf", plot(calibration), "Simulation-based calibration: ranks")
draw("sbc-histogram", plot(calibration, "histogram"),
     "Simulation-based calibration: histograms of ranks")
draw("geweke", plot(geweke),
     "Geweke's test: differences of means in standard errors")
draw("prior-predict", plot(predicted),
     "What a prior predicts, and the data")
draw("prior-predict-median", plot(predicted, statistic = stats::median))
section("Markov chains and independent draws")
draw("markov-3", plot(chain), "A finite Markov chain: its graph")
draw("markov-6", plot(chain_6))
draw("markov-30", plot(chain_30))
draw("state-after", plot(state_after(chain_6, 0:20, "snow")),
     "A finite Markov chain: its distribution by step")
draw("markov-6-matrix", plot(chain_6, type = "matrix"),
     "A finite Markov chain: its transition matrix")
draw("importance-weighted", plot(importance, "histogram"),
     "Weighted draws of importance sampling")
draw("importance-stems", plot(importance, "weights"),
     "The weights of importance sampling")
draw("rejection-points", plot(rejection),
     "Rejection sampling: accepted and rejected points under the envelope")
draw("empirical-cumulative", plot(empirical, "cdf"),
     "An empirical distribution: its cumulative distribution functions")
for (of in c("importance", "two_peaks", "empirical", "empirical_6")) {
  for (type in c("histogram", "cdf", "weights")) {
    draw(paste(sub("_", "-", of), type, sep = "-"), plot(get(of), type))
  }
}

# the chains of every model
samplers <- c("gmm_2", "gmm_6", "gmm_9_chains", "lda_6", "lda_20", "bmf",
              "lm_1", "lm_6", "hlm", "hlm_binomial", "approximation",
              "logistic", "logistic_gibbs", "mh", "gibbs")
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
    hlm_binomial = c("groups", "coefficients"),
    approximation = c("coefficients", "density"), laplace_one = "density",
    ascent = "path",
    laplace_scales = "coefficients",
    logistic = c("coefficients", "response", "calibration", "density"),
    logistic_gibbs = "coefficients",
    logistic_counts = c("response", "calibration"),
    seizures = c("groups", "coefficients"),
    tenants = c("response", "coefficients"), homes = "response", robust = "response"
  )
  for (of in names(own)) {
    for (type in own[[of]]) {
      auto(of, type)
    }
  }
  section("By ggplot2")
  draw("ggplot2", ggplot2::autoplot(gmm_2) + ggplot2::theme_minimal(),
       "The picture of a mixture as a ggplot")
  for (of in c("gmm_2", "gmm_9_chains", "lda_20", "mh", "gibbs", "bmf")) {
    for (type in c("trace", "density", "autocorrelation", "ranks")) {
      auto(of, type)
    }
  }
}
