# Rscript tools/identical.R OLD NEW [REGEX]: do two builds of the package draw
# the same numbers?
#
# OLD and NEW are libraries in which gibbsite is installed.  Each fit below and
# each line of tools/bits.R whose name matches REGEX is made with both, each
# library in R sessions of its own.  Prints the names of those whose numbers
# differ, then "N of N the same"; exits with a status of 1 where any differs.
#
# The fits are short runs of every sampler and of the options that choose
# between ways to draw.  A fit that stops with an error differs from one that
# does not; two errors are the same, whatever they say, and are listed. A fit
# that only the old build cannot make is listed too, and is no difference.
# identical-regressions.R has the answers of regressions.

self <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
arguments <- commandArgs(trailingOnly = TRUE)
source(file.path(dirname(self), "digest.R"))
source(file.path(dirname(self), "identical-regressions.R"))

# ---- one library: Rscript identical.R --lines REGEX --------------------------

# Short runs have not converged, which is no matter here.
show <- function(name, made) {
  if (!grepl(chosen, name)) return(invisible())
  set.seed(20)
  found <- tryCatch(
    digest(suppressMessages(suppressWarnings(made))),
    error = function(e) "an error"
  )
  cat(name, "\t", found, "\n", sep = "")
}

run <- function(f, ..., draws = 150, burnin = 100, chains = 2) {
  f(..., draws = draws, burnin = burnin, chains = chains, seed = 1,
    progress = FALSE)
}

fit_of <- function(...) draws_alone(run(...))

show_simulated <- function() {
  show("sim_gmm", sim_gmm(50, c(0.3, 0.7), rbind(c(0, 0), c(4, 1)), diag(2)))
  show("sim_lda", sim_lda(20, 3, 30, 50)[c("x", "theta", "phi")])
  show("sim_bmf", sim_bmf(20, 10, rank = 2, share = 0.5, biases = 0.5))
}

# ---- mixtures ----------------------------------------------------------------

show_gmm <- function() {
  full <- as.matrix(faithful)
  holes <- full
  holes[cbind(1:40, rep(1:2, 20))] <- NA
  wide <- as.matrix(iris[1:4])
  for (covariance in c("full", "diagonal", "shared")) {
    fit <- function(...) fit_of(gibbs_gmm, ..., covariance = covariance)
    name <- function(...) paste("gmm", covariance, ...)
    for (threads in 1:2) {
      show(name("threads", threads), fit(wide, 3, keep = "z",
                                         threads = threads))
    }
    show(name("prior"), fit(wide, 4, prior = gmm_prior(alpha = 2, nu0 = 9)))
    show(name("imputed"), fit(holes, 3, na_action = "impute",
                              keep = c("z", "x"), threads = 2))
    show(name("omitted"), fit(holes, 2, na_action = "omit"))
    show(name("icm"), unclass(gibbs_gmm(
      wide, 3, covariance = covariance, method = "icm", seed = 1
    ))[c("estimate", "value")])
    show(name("answers"), {
      made <- run(gibbs_gmm, wide, 3, covariance = covariance)
      list(log_lik(made), predict(made, type = "prob"),
           predict(made, type = "density", level = 0.9),
           with_draws(posterior_predict, made, n = 3),
           draws_alone(relabel(made)))
    })
  }
  show("gmm one variable", fit_of(gibbs_gmm, faithful[, 1, drop = FALSE], 2))
  show("gmm many", fit_of(
    gibbs_gmm, sim_gmm(5000, c(0.3, 0.7), rbind(c(0, 0, 0), c(4, 1, 2)),
                       diag(3)), 2, draws = 40, threads = 2
  ))
  show("gmm thinned", fit_of(gibbs_gmm, full, 2, thin = 3))
  show("gmm continued", draws_alone(
    extend(run(gibbs_gmm, full, 2), 50, progress = FALSE)
  ))
}

# ---- topics ------------------------------------------------------------------

show_lda <- function() {
  set.seed(3)
  corpus <- sim_lda(60, 4, 80, 60)$x
  priors <- list(
    "uniform" = lda_prior(),
    "gamma" = lda_prior(alpha = gamma_prior(1, 10),
                        eta = gamma_prior(1, 10)),
    "fixed" = lda_prior(alpha = 0.2, eta = 0.05),
    "vectors" = lda_prior(alpha = c(0.1, 0.2, 0.3, 0.4),
                          eta = seq(0.05, 0.2, length.out = ncol(corpus)))
  )
  for (method in c("collapsed", "partially_collapsed", "uncollapsed")) {
    for (prior in names(priors)) {
      for (threads in 1:2) {
        show(
          paste("lda", method, prior, "threads", threads),
          fit_of(gibbs_lda, corpus, 4, method = method, threads = threads,
                 prior = priors[[prior]], keep = c("theta", "phi", "z"))
        )
      }
    }
    for (k in c(20, 70)) {
      show(paste("lda", method, "topics", k),
           fit_of(gibbs_lda, corpus, k, method = method, draws = 50))
    }
  }
  for (prior in names(priors)) {
    show(paste("lda answers", prior), {
      made <- run(gibbs_lda, corpus[1:50, ], 4, prior = priors[[prior]])
      list(
        draws_alone(extend(made, 50, corpus[1:50, ], progress = FALSE)),
        topic_estimates(made), predict(made),
        with_draws(predict, made, corpus[51:60, ], n = 5),
        with_draws(held_out_perplexity, made, corpus[51:60, ], n = 5),
        with_draws(
          held_out_perplexity, made, corpus[51:60, ], "left_to_right", n = 3
        )
      )
    })
  }
}

# ---- matrix factorisation ----------------------------------------------------

show_bmf <- function() {
  set.seed(4)
  table <- sim_bmf(50, 30, rank = 2, share = 0.3)
  asked <- table[1:20, ]
  priors <- list(
    fixed = bmf_prior("fixed", factor_variance = 0.5, noise_variance = 1),
    gamma = bmf_prior("gamma", noise_shape = 3, noise_rate = 2),
    wishart = bmf_prior()
  )
  for (prior in names(priors)) {
    for (biases in c(FALSE, TRUE)) {
      fit <- function(...) {
        fit_of(gibbs_bmf, ..., biases = biases, prior = priors[[prior]])
      }
      name <- function(...) paste("bmf", prior, if (biases) "biases", ...)
      for (threads in 1:2) {
        show(name("threads", threads),
             fit(table, rank = 3, keep = c("u", "v"), threads = threads))
      }
      for (rank in c(1, 9, 20)) {
        show(name("rank", rank), fit(table, rank = rank, draws = 50))
      }
      show(name("icm"), unclass(gibbs_bmf(
        table, rank = 2, biases = biases, prior = priors[[prior]],
        method = "icm", seed = 1
      ))[c("estimate", "value")])
      show(name("answers"), {
        made <- run(gibbs_bmf, table[-(1:20), ], rank = 2, biases = biases,
                    prior = priors[[prior]], predict_at = asked)
        list(
          draws_alone(extend(made, 50, progress = FALSE)),
          predicted_at(made, level = 0.9),
          predict(made, asked), fitted(made),
          predict(fold_in(made, data.frame(
            user = "new", item = asked$item[1:3], value = asked$value[1:3]
          )), data.frame(user = "new", item = asked$item[4:6]))
        )
      })
    }
  }
  show("bmf many", fit_of(
    gibbs_bmf, sim_bmf(700, 300, rank = 3, share = 0.1), rank = 8, draws = 20,
    burnin = 10, threads = 2
  ))
  show("bmf uncentred", fit_of(gibbs_bmf, table, rank = 2, center = FALSE))
}

# ---- linear regression -------------------------------------------------------

show_lm <- function() {
  missing <- mtcars
  missing$mpg[3:5] <- NA
  missing$gear <- factor(missing$gear)
  set.seed(6)
  wide <- matrix(rnorm(20 * 50), 20)
  for (type in c("hierarchical", "nig")) {
    fit <- function(...) fit_of(gibbs_lm, ..., prior = lm_prior(type))
    name <- function(...) paste("lm", type, ...)
    show(name("formula"), fit(mpg ~ wt + gear + offset(qsec), missing,
                              na_action = "impute", keep = "y"))
    show(name("weights"), fit(as.matrix(mtcars[2:4]), mtcars$mpg,
                              weights = mtcars$carb))
    show(name("no intercept"), fit(mpg ~ wt + hp - 1, mtcars))
    show(name("collinear"), fit(mpg ~ wt + I(2 * wt), mtcars))
    show(name("wide"), fit(wide, wide[, 1] + sin(1:20)))
    show(name("answers"), {
      made <- run(gibbs_lm, mpg ~ wt + hp, mtcars, prior = lm_prior(type))
      list(
        draws_alone(extend(made, 50, progress = FALSE)), log_lik(made),
        predict(made),
        with_draws(posterior_predict, made, n = 3), bayes_R2(made)
      )
    })
  }
  show("sim_lm", sim_lm(20, c(1, -2), sigma = 0.5))
}

# ---- hierarchical linear regression ------------------------------------------

show_hlm <- function() {
  set.seed(7)
  many <- data.frame(g = rep(1:3000, 2), x = rnorm(6000))
  many$y <- many$x + rnorm(3000)[many$g] + rnorm(6000)
  grown <- as.data.frame(ChickWeight)
  for (type in c("half-t", "inverse-wishart")) {
    fit <- function(...) fit_of(gibbs_hlm, ..., prior = hlm_prior(type))
    name <- function(...) paste("hlm", type, ...)
    show(name("intercepts"), fit(weight ~ Time + (1 | Chick), grown))
    show(name("slopes"), fit(weight ~ Time * Diet + (Time | Chick), grown,
                             keep = "w"))
    show(name("diagonal"), fit(weight ~ Time + (Time + Diet || Chick), grown))
    show(name("weights"), fit_of(
      function(...) {
        gibbs_hlm(weight ~ Time + offset(Time) + (Time | Chick), grown,
                  weights = grown$Time, ...)
      },
      prior = hlm_prior(type)
    ))
    show(name("known"), fit_of(
      function(...) {
        gibbs_hlm(mpg ~ wt + (1 | gear), mtcars, se = mtcars$qsec, ...)
      },
      prior = hlm_prior(type)
    ))
    show(name("no fixed effects"), fit(mpg ~ 0 + (wt | cyl), mtcars))
    show(name("one row a group"), fit(mpg ~ wt + (1 | qsec), mtcars))
    for (threads in 1:2) {
      show(name("threads", threads),
           fit(y ~ x + (x | g), many, draws = 20, threads = threads))
    }
    show(name("answers"), {
      made <- run(gibbs_hlm, weight ~ Time + (Time | Chick), grown,
                  prior = hlm_prior(type))
      list(
        draws_alone(extend(made, 50, progress = FALSE)), log_lik(made),
        coef(made), vcov(made), predict(made),
        with_draws(posterior_predict, made, n = 3)
      )
    })
  }
  for (link in c("logit", "probit")) {
    show(paste("hlm binary", link), fit_of(
      gibbs_logistic, I(weight > 100) ~ Time + (Time | Chick), grown,
      link = link
    ))
  }
  bars <- list(
    crossed = ~ wt + (wt | cyl) + (1 | gear), nested = ~ wt + (wt | cyl / gear),
    apart = ~ wt + (1 | cyl) + (0 + wt | cyl) + (wt || gear)
  )
  for (name in names(bars)) {
    show(paste("hlm", name), fit_of(
      gibbs_hlm, stats::update(bars[[name]], mpg ~ .), mtcars
    ))
    for (link in c("logit", "probit")) {
      show(paste("hlm binary", name, link), fit_of(
        gibbs_logistic, stats::update(bars[[name]], am ~ .), mtcars,
        link = link
      ))
    }
  }
  show("sim_hlm", sim_hlm(5, 4, c(1, -2), diag(2), sigma = 0.5))
}

# ---- logistic regression and Laplace approximations --------------------------

show_laplace <- function() {
  x <- scale(as.matrix(mtcars[c("mpg", "wt", "hp", "qsec")]))
  sparse <- Matrix::Matrix(x * (abs(x) > 0.7), sparse = TRUE)
  count <- cbind(mtcars$cyl, 8 - mtcars$cyl)
  weights <- rep(1:2, 16)
  logistic <- function(...) {
    draws_alone(laplace_logistic(..., draws = 200, chains = 2, seed = 1,
                                 progress = FALSE))
  }
  for (correct in c("none", "importance")) {
    show(paste("logistic correct", correct),
         logistic(x, mtcars$am, correct = correct))
  }
  for (method in c("newton", "gradient")) {
    show(paste("logistic", method, "sparse"),
         logistic(sparse, mtcars$am, method = method))
    show(paste("logistic", method), logistic(x, mtcars$am, method = method))
  }
  show("logistic weights", logistic(x, mtcars$am, weights = weights))
  show("logistic counts", logistic(x, count, offset = x[, 1] / 4))
  show("logistic prior",
       logistic(x, mtcars$am, prior = logistic_prior(2, 5)))
  exact <- function(...) {
    draws_alone(gibbs_logistic(..., draws = 200, burnin = 60, chains = 2,
                               seed = 1, progress = FALSE))
  }
  show("exact logistic", exact(x, mtcars$am))
  show("exact logistic sparse", exact(sparse, mtcars$am))
  show("exact logistic counts",
       exact(x, count, offset = x[, 1] / 4, weights = weights))
  set.seed(5)
  tall <- matrix(rnorm(3000 * 40), 3000)
  show("logistic tall", logistic(tall, as.integer(tall[, 1] > 0.3 * tall[, 2])))
  show("logistic answers", {
    made <- laplace_logistic(x, mtcars$am, draws = 100, chains = 2, seed = 1,
                             progress = FALSE)
    list(coef(made), vcov(made), log_evidence(made), log_lik(made),
         predict(made, type = "response"), posterior_predict(made))
  })
  for (correct in c("none", "importance")) {
    show(
      paste("laplace", correct),
      draws_alone(laplace(
        bent, c(0.3, 0.2, 0.1), correct = correct, draws = 200, chains = 2,
        seed = 1, progress = FALSE
      ))
    )
  }
}

# ---- Metropolis-Hastings and conditionals of the user's ----------------------

bent <- function(x) {
  -0.5 * (x[1]^2 / 4 + (x[2] + 0.3 * x[1]^2)^2 + sum(x[-(1:2)]^2))
}

bent_slope <- function(x) {
  bend <- x[2] + 0.3 * x[1]^2
  c(-x[1] / 4 - 0.6 * x[1] * bend, -bend, -x[-(1:2)])
}

# Every move alone, and every move that another can be made of in it.
moves_of <- function() {
  spread <- diag(2, 4) + 0.3
  custom <- custom_proposal(
    function(x) x + rnorm(4, 0, 0.5),
    function(y, x) sum(dnorm(y, x, 0.5, log = TRUE))
  )
  independent <- independence(rep(0, 4), spread)
  fixed <- langevin(0.4, bent_slope, tune = FALSE)
  walk_t <- random_walk(0.3, family = "t")
  mixed <- mixture_proposal(random_walk(0.2), random_walk(2),
                            weights = c(0.6, 0.4))
  alone <- list(
    "adaptive" = adaptive(), "adaptive scale" = adaptive(scale = 0.3),
    "adaptive for ever" = adaptive(forever = TRUE),
    "walk" = random_walk(0.7), "walk t" = random_walk(0.7, family = "t"),
    "walk uniform" = random_walk(0.7, family = "uniform"),
    "walk cov" = random_walk(cov = spread),
    "walk cov t" = random_walk(cov = spread, family = "t"),
    "walk laplace" = random_walk(cov = "laplace"),
    "langevin" = langevin(0.5, bent_slope), "langevin fixed" = fixed,
    "langevin cov" = langevin(gradient = bent_slope, cov = spread),
    "nuts" = nuts(bent_slope), "nuts dense" = nuts(bent_slope, "dense"),
    "nuts of depth 2" = nuts(bent_slope, max_depth = 2),
    "hmc" = hmc(0.3, 5, bent_slope),
    "hmc dense" = hmc(n_steps = 4, gradient = bent_slope, mass = "dense"),
    "hmc fixed" = hmc(0.3, 5, bent_slope, tune = FALSE, jitter = 0),
    "independence" = independent,
    "independence normal" = independence(rep(0, 4), 4 * spread, df = Inf),
    "custom" = custom,
    "custom symmetric" = custom_proposal(function(x) x + rnorm(4), NULL),
    "slice" = univariate_slice(),
    "slice widths" = univariate_slice(c(0.5, 1, 2, 1), max_steps = 3),
    "ellipse" = elliptical_slice(spread, 0.2),
    "ellipse variances" = elliptical_slice(c(2, 1, 1, 3)),
    "mixture" = mixed,
    "mixture of all" = mixture_proposal(walk_t, independent, fixed, custom),
    "delayed" = delayed_rejection(),
    "delayed walk" = delayed_rejection(random_walk(1.5), 0.3)
  )
  inside <- list(
    "delayed langevin" = delayed_rejection(
      langevin(0.8, bent_slope), random_walk(0.3, family = "t")
    ),
    "delayed langevin scaled" = delayed_rejection(
      langevin(0.8, bent_slope), 0.4
    ),
    "delayed mixture" = delayed_rejection(mixed, independent),
    "delayed custom" = delayed_rejection(custom, adaptive()),
    "delayed independence" = delayed_rejection(independent, fixed)
  )
  heated <- c("adaptive", "walk t", "langevin", "independence", "custom",
              "slice", "ellipse", "mixture", "delayed")
  made <- lapply(c(alone[heated], inside["delayed mixture"]), function(move) {
    tempered(c(1, 2, 5), move)
  })
  names(made) <- paste("tempered", names(made))
  c(alone, inside, made, list(
    "tempered auto" = tempered(), "tempered fixed" = tempered(tune = FALSE)
  ))
}

show_mh <- function() {
  fit <- function(...) {
    fit_of(mh_sample, bent, rep(0.1, 4), ..., draws = 300, burnin = 200)
  }
  moves <- moves_of()
  for (move in names(moves)) {
    show(paste("mh", move), fit(moves[[move]]))
    show(paste("mh steps of", move), {
      made <- run(mh_sample, bent, rep(0.1, 4), moves[[move]], debug = TRUE)
      list(lapply(mh_trace(made), as.matrix), as.list(acceptance(made)),
           draws_alone(extend(made, 20, progress = FALSE)))
    })
  }
  show("mh blocks", fit(blocks = list(1:2, 3:4), lower = c(-3, -Inf, 0, -1),
                        upper = c(3, Inf, Inf, 2)))
  show("mh blocks of all", fit(
    list(nuts(bent_slope), univariate_slice(), hmc(0.3, 3, bent_slope),
         langevin(0.5, bent_slope), delayed_rejection(),
         elliptical_slice(2)),
    blocks = list(1:2, 3, c(4, 1), 2:3, c(1, 3), 4)
  ))
  show("mh transformed", fit(lower = c(-3, -Inf, 0, -1),
                             upper = c(3, Inf, Inf, 2), transform = TRUE))
  show("mh thinned", fit(thin = 2))
}

show_gibbs_sample <- function() {
  conditionals <- list(
    mean = function(s) rnorm(1, 3 / (1 + s$variance), 1),
    variance = function(s) 1 / rgamma(1, 3, 1 + s$mean^2)
  )
  init <- list(mean = 0, variance = 1)
  for (scan in c("systematic", "random")) {
    show(paste("gibbs_sample", scan),
         fit_of(gibbs_sample, conditionals, init, scan = scan))
  }
  show("gibbs_sample with a step", {
    conditionals$mean <- mh_step(function(state) {
      dnorm(state$mean, 1, sqrt(state$variance), log = TRUE)
    })
    fit_of(gibbs_sample, conditionals, init)
  })
  steps <- list(
    "adaptive" = adaptive(), "walk" = random_walk(0.7, family = "t"),
    "langevin" = langevin(0.5, function(state) {
      (1 - state$mean) / state$variance
    }),
    "slice" = univariate_slice(), "ellipse" = elliptical_slice(2),
    "independence" = independence(1, matrix(2)),
    "mixture" = mixture_proposal(random_walk(0.2), random_walk(2)),
    "custom" = custom_proposal(function(x) x + rnorm(1), NULL),
    "delayed" = delayed_rejection(random_walk(2), random_walk(0.3))
  )
  for (move in names(steps)) {
    show(paste("mh in gibbs_sample", move), {
      conditionals$mean <- mh_step(function(state) {
        dnorm(state$mean, 1, sqrt(state$variance), log = TRUE)
      }, steps[[move]], steps = 2)
      made <- run(gibbs_sample, conditionals, init)
      list(draws_alone(made), as.list(acceptance(made)))
    })
  }
  show("gibbs_sample kinds of generator", {
    RNGkind("Marsaglia-Multicarry", "Ahrens-Dieter")
    on.exit(RNGkind("default", "default"))
    list(rnorm(3), fit_of(gibbs_gmm, faithful, 2))
  })
}

if (identical(arguments[1L], "--lines")) {
  suppressPackageStartupMessages(library(gibbsite))
  chosen <- arguments[[2L]]
  show_simulated()
  show_gmm()
  show_lda()
  show_bmf()
  show_lm()
  show_hlm()
  show_laplace()
  show_regressions()
  show_mh()
  show_gibbs_sample()
  quit()
}

# ---- both --------------------------------------------------------------------

# names of fits, each with the digest of its numbers
lines_of <- function(library, script, arguments, separator) {
  lines <- system2(
    file.path(R.home("bin"), "Rscript"), c(script, shQuote(arguments)),
    env = c(
      paste0("R_LIBS=", library, ":", Sys.getenv("R_LIBS")),
      # on a busy machine threads would spin while they wait
      "OMP_WAIT_POLICY=passive"
    ),
    stdout = TRUE
  )
  stopifnot(is.null(attr(lines, "status")))
  parts <- regmatches(lines, regexec(separator, lines))
  stats::setNames(vapply(parts, `[[`, "", 3L), vapply(parts, `[[`, "", 2L))
}

all_lines <- function(library, chosen) {
  stopifnot(dir.exists(file.path(library, "gibbsite")))
  bits <- file.path(dirname(self), "bits.R")
  c(
    lines_of(library, self, c("--lines", chosen), "^(.*)\t(.*)$"),
    lines_of(library, bits, chosen, "^(.*?) +(\\S+)$")
  )
}

if (!length(arguments) %in% 2:3) {
  stop("Usage: Rscript tools/identical.R OLD NEW [REGEX]", call. = FALSE)
}
chosen <- if (length(arguments) > 2L) arguments[[3L]] else "."
old <- all_lines(normalizePath(arguments[[1L]]), chosen)
new <- all_lines(normalizePath(arguments[[2L]]), chosen)
stopifnot(length(old) > 0L, identical(names(old), names(new)))
gained <- old == "an error" & new != old
same <- old == new | gained
failed <- old == "an error" & new == "an error"
if (any(failed)) {
  cat("stops with an error in both:", names(old)[failed], "", sep = "\n  ")
}
if (any(gained)) {
  cat("answers where the old build stops:", names(old)[gained], "",
      sep = "\n  ")
}
if (!all(same)) cat("differs:", names(old)[!same], "", sep = "\n  ")
cat(sum(same), "of", length(same), "the same\n")
quit(status = !all(same))
