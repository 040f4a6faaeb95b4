# The functions of the package on one page, as PDF and SVG:
#   Rscript tools/cheatsheet.R FOLDER
#
# Which verb a model has is tried on a small fit of it.  A name in the boxes
# that the package does not have is an error.  Uses the installed package.

suppressPackageStartupMessages(library(gibbsite))

folder <- c(commandArgs(trailingOnly = TRUE), ".")[1L]

# ---- contents

# what one has, the call, the pictures, what predict() gives
models <- rbind(
  c("groups that nobody marked", "gibbs_gmm(x, 3)", "mixture",
    "cluster, prob, density"),
  c("... their number unknown", "gibbs_gmm(x, \"unknown\")", "number, mixture",
    "cluster, prob, density"),
  c("a measured response", "gibbs_lm(y ~ a, d)", "coefficients, response",
    "mean, response"),
  c("... in groups", "gibbs_hlm(y ~ a + (a | g), d)", "groups, shrinkage",
    "mean, response"),
  c("yes or no, successes", "gibbs_logistic(y ~ a, d)",
    "coefficients, odds, response", "link, response, class"),
  c("... approximated", "laplace_logistic(y ~ a, d)", "calibration, as above",
    "link, response, class"),
  c("counts of events", "gibbs_count(y ~ a, d)",
    "groups, response", "link, response"),
  c("ordered categories", "gibbs_ordinal(y ~ a, d)",
    "groups, response", "link, response, class"),
  c("categories without an order", "gibbs_categorical(y ~ a, d)",
    "groups, odds, response", "link, response, class"),
  c("ratings of items", "gibbs_bmf(y ~ user + item, d, rank = 4)",
    "predicted, coverage, rmse", "mean, interval"),
  c("texts, counts of words", "gibbs_lda(texts, 20)",
    "terms, prevalence, map", "mean, sd, class"),
  c("your log density", "mh_sample(f, c(a = 0))", "density", "any function"),
  c("... approximated", "laplace(f, c(a = 0))", "coefficients", ""),
  c("your conditionals", "gibbs_sample(list(a = f), list(a = 0))", "density",
    "any function")
)

boxes <- list(
  "The run" = c(
    "seed = 1" = "the same draws again",
    "draws, burnin, thin, chains" = "default: until converged",
    "stop_when = until(ess = 1000)" = "another rule",
    "cores, threads" = "faster, the same draws",
    "checkpoint = \"folder\"" = "survives a crash",
    "prior = gmm_prior(...)" = "prior_summary(), prior_predict()"
  ),
  "Check" = c(
    "fit" = "the verdict, and what to type next",
    "converged(), convergence()" = "R-hat, ESS",
    "plot(fit, type = \"trace\")" = "also density, ranks",
    "acceptance(), mh_trace()" = "of Metropolis-Hastings",
    "posterior_predict()" = "replicated data; bayesplot::pp_check()"
  ),
  "Read" = c(
    "summary(fit), tidy(), glance()" = "tables",
    "draws_of(fit, \"mu\")" = "an array of draws",
    "coef(), confint(), vcov()" = "of regressions",
    "fixef(), ranef(), VarCorr()" = "of groups",
    "point_clustering(), posterior_k()" = "of mixtures",
    "factors_of(), recommend(), fold_in()" = "of ratings",
    "top_terms(), topic_estimates()" = "of topics"
  ),
  "Compare" = c(
    "loo::loo(), loo::kfold()" = "predictions of new data",
    "log_evidence(), compare_k()" = "evidence, number of groups",
    "compare(a, b)" = "posteriors side by side",
    "held_out(), held_out_perplexity()" = "data held back"
  ),
  "Go on" = c(
    "extend(fit, 1000)" = "the draws of one long run",
    "resume(\"folder\")" = "after a crash",
    "update(fit, . ~ . - a)" = "another model",
    "combine_fits(a, b)" = "chains of two machines",
    "window(), drop_data()" = "fewer draws, no data"
  ),
  "Moves of mh_sample()" = c(
    "adaptive()" = "the default: a random walk",
    "nuts(), hmc(), langevin()" = "with a gradient",
    "univariate_slice(), elliptical_slice()" = "nothing to tune",
    "tempered()" = "several modes",
    "independence(), custom_proposal()" = "your own",
    "mixture_proposal(), delayed_rejection()" = "two in one"
  ),
  "Tests, teaching" = c(
    "sbc(), geweke_joint()" = "is the sampler right?",
    "sim_gmm(), sim_lm(), sim_hlm()" = "data with known answers",
    "markov_chain(), stationary()" = "finite chains",
    "sample_rejection(), sample_importance()" = "independent draws",
    "monte_carlo()" = "estimates with their error"
  )
)

check_names <- function(code) {
  called <- unlist(regmatches(code, gregexpr("[A-Za-z_.]+(?=[(])", code,
                                             perl = TRUE)))
  # a generic of another package has methods here
  methods <- sub("[.].*", "", ls(asNamespace("gibbsite"), pattern = "[.]gibb"))
  for (name in setdiff(called, methods)) get(name, mode = "function")
}
check_names(c(models[, 2L], unlist(lapply(boxes, names))))

# ---- which verb a model has: small fits

quiet <- function(code) suppressMessages(suppressWarnings(code))
set.seed(1)
ratings <- sim_bmf(20, 15, rank = 1, share = 0.5)
words <- sim_lda(20, 3, 12, 30)
fits <- quiet(list(
  gmm = gibbs_gmm(faithful, 2, draws = 100, seed = 1),
  lm = gibbs_lm(dist ~ speed, cars, draws = 100, seed = 1),
  hlm = gibbs_hlm(weight ~ Time + (1 | Chick), ChickWeight, draws = 100,
                  seed = 1),
  logistic = gibbs_logistic(am ~ wt, mtcars, draws = 100, seed = 1),
  laplace_logistic = laplace_logistic(am ~ wt, mtcars, seed = 1),
  bmf = gibbs_bmf(ratings, rank = 1, draws = 100, burnin = 50, seed = 1),
  lda = gibbs_lda(words$x, 3, draws = 50, burnin = 50, seed = 1,
                  keep = c("theta", "phi")),
  mh = mh_sample(function(x) -sum(x^2) / 2, c(a = 0), draws = 100, seed = 1),
  gibbs_sample = gibbs_sample(list(a = function(s) stats::rnorm(1)),
                              list(a = 0), draws = 100, seed = 1),
  laplace = laplace(function(x) -sum(x^2) / 2, c(a = 0), seed = 1)
))
verbs <- list(
  "summary, tidy" = function(fit) {
    summary(fit)
    tidy(fit)
  },
  converged = converged,
  extend = function(fit) extend(fit, 10),
  predict = function(fit) {
    if (inherits(fit, c("mh_sample", "gibbs_sample"))) {
      predict(fit, function(p) 1)
    } else {
      predict(fit)
    }
  },
  posterior_predict = function(fit) {
    if (inherits(fit, c("mh_sample", "gibbs_sample"))) {
      posterior_predict(fit, function(p) stats::rnorm(1))
    } else {
      posterior_predict(fit)
    }
  },
  "log_lik, loo" = function(fit) {
    if (inherits(fit, c("mh_sample", "gibbs_sample"))) {
      log_lik(fit, function(p) c(0, 1))
    } else {
      log_lik(fit)
    }
  },
  kfold = function(fit) loo::kfold(fit, K = 2, seed = 1),
  log_evidence = function(fit) {
    if (inherits(fit, "gibbs_sample")) {
      log_evidence(fit, log_density = function(s) stats::dnorm(s$a, log = TRUE))
    } else {
      log_evidence(fit)
    }
  },
  compare_k = function(fit) compare_k(fit, fit, folds = 2, seed = 1),
  "coef, confint" = function(fit) {
    coef(fit)
    confint(fit)
  },
  relabel = relabel
)
has <- vapply(fits, function(fit) {
  vapply(verbs, function(verb) {
    tryCatch({
      quiet(verb(fit))
      TRUE
    }, error = function(cnd) FALSE)
  }, NA)
}, logical(length(verbs)))

# ---- the page, in millimetres of A4 across

width <- 297
height <- 210
blue <- "#0072B2"
grey <- "grey45"

put <- function(x, y, text, size = 7, font = 1, col = "black", family = "sans",
                ...) {
  graphics::text(x, height - y, text, cex = size / 12, font = font, col = col,
                 family = family, adj = c(0, 0.5), ...)
}

heading <- function(x, y, text, w) {
  put(x, y, text, 9, 2, blue)
  graphics::segments(x, height - y - 2.6, x + w, col = blue, lwd = 0.8)
}

model_table <- function(x, y) {
  at <- x + c(0, 39, 101, 141)
  heading(x, y, "Models", 172)
  for (j in 1:4) {
    put(at[j], y + 6, c("you have", "call", "plot(fit, type = )",
                        "predict(fit, new, type = )")[j], 6.5, 3, grey)
  }
  for (i in seq_len(nrow(models))) {
    row <- y + 6 + 5 * i
    put(at[1L], row, models[i, 1L])
    put(at[2L], row, models[i, 2L], 6, family = "mono")
    put(at[3L], row, models[i, 3L], 6.5)
    put(at[4L], row, models[i, 4L], 6.5)
  }
}

verb_table <- function(x, y) {
  at <- x + 34 + 6.2 * (seq_along(fits) - 1)
  heading(x, y, "Which verb for which model", 97)
  for (j in seq_along(fits)) {
    put(at[j], y + 18, names(fits)[j], 6, srt = 60)
  }
  for (i in seq_along(verbs)) {
    row <- y + 19 + 3.7 * i
    put(x, row, names(verbs)[i], 6, family = "mono")
    graphics::points(at[has[i, ]] + 0.5, rep(height - row, sum(has[i, ])),
                     pch = 19, cex = 0.55, col = blue)
  }
}

box <- function(x, y, title, lines, w = 68) {
  heading(x, y, title, w)
  for (i in seq_along(lines)) {
    put(x, y + 1.5 + 6.9 * i - 2, names(lines)[i], 6, family = "mono")
    put(x + 3, y + 1.5 + 6.9 * i + 1, lines[[i]], 6, col = grey)
  }
}

page <- function() {
  old <- graphics::par(mai = rep(0, 4), xaxs = "i", yaxs = "i")
  on.exit(graphics::par(old))
  graphics::plot.new()
  graphics::plot.window(c(0, width), c(0, height))
  put(10, 11, "gibbsite", 18, 2, blue)
  put(45, 12, paste(
    "fit, check, read, predict, go on: every fit is a list of coda's matrices",
    "of draws"
  ), 9, col = grey)
  model_table(10, 22)
  verb_table(190, 22)
  for (i in 1:4) {
    box(10 + 71 * (i - 1), 96, names(boxes)[i], boxes[[i]], 65)
  }
  for (i in 5:7) {
    box(10 + 71 * (i - 5), 154, names(boxes)[i], boxes[[i]], 65)
  }
  put(223, 160, paste("version", utils::packageVersion("gibbsite")), 7, 2, blue)
  put(223, 165, "?gibbsite: this map in R", 7)
  put(223, 169, "?running: arguments of every run", 7)
  put(223, 173, "?coming_from: calls of other packages", 7)
  put(223, 177, "vignette(\"gibbsite\"): from first to last step", 7)
}

inches <- c(width, height) / 25.4
grDevices::pdf(file.path(folder, "cheat-sheet.pdf"), inches[1L], inches[2L])
page()
invisible(grDevices::dev.off())
grDevices::svg(file.path(folder, "cheat-sheet.svg"), inches[1L], inches[2L])
page()
invisible(grDevices::dev.off())
