# Rscript tools/bits.R [REGEX]: a line for each of some small fits, its name and
# a digest of every bit that was drawn. They cover the samplers, their priors
# and methods, and each kernel's vectors with the remainder loops. tools/bits.sh
# compares the lines of several builds.

self <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
library(gibbsite)
source(file.path(dirname(self), "digest.R"))
chosen <- c(commandArgs(trailingOnly = TRUE), ".")[[1L]]

# Short runs have not converged, but this does not matter here.
show <- function(name, made) {
  if (!grepl(chosen, name)) return(invisible())
  cat(sprintf("%-30s %s\n", name, digest(suppressWarnings(made))))
}

quick <- function(f, ..., draws = 20, burnin = 20, chains = 2) {
  draws_alone(f(..., draws = draws, burnin = burnin, chains = chains, seed = 1,
              progress = FALSE))
}

# Numbers that are the same on every machine.
spread <- function(n, step) (seq_len(n) * step) %% 1

# ---- matrix factorisation ----------------------------------------------------

ratings <- function(users, items) {
  table <- matrix(
    round(6 * spread(users * items, 0.6180339887498949)) / 2, users, items
  )
  table[matrix(spread(users * items, 0.41421356237309515) < 0.3, users)] <- NA
  table
}

bmf_priors <- list(
  fixed = bmf_prior("fixed", factor_variance = 1, noise_variance = 0.5),
  gamma = bmf_prior("gamma"), wishart = bmf_prior()
)
for (prior in names(bmf_priors)) {
  for (rank in c(2, 5, 8, 17, 33)) {
    for (biases in c(FALSE, TRUE)) {
      show(
        paste("bmf", prior, rank, if (biases) "biases"),
        quick(gibbs_bmf, ratings(15, 12), rank = rank, biases = biases,
              prior = bmf_priors[[prior]], keep = c("u", "v"))
      )
    }
  }
  show(
    paste("bmf", prior, "large"),
    quick(gibbs_bmf, ratings(600, 90), rank = 9, draws = 3, burnin = 2,
          prior = bmf_priors[[prior]], keep = c("u", "v"))
  )
}

# ---- mixtures ----------------------------------------------------------------

mixture <- function(n, d) {
  x <- matrix(stats::qlogis(0.001 + 0.998 * spread(n * d, sqrt(2))), n, d)
  x + 4 * (spread(n, sqrt(3)) < 0.4)
}

for (covariance in c("full", "diagonal", "shared")) {
  for (d in c(1, 2, 5)) {
    for (k in c(2, 3)) {
      show(
        paste("gmm", covariance, d, k),
        quick(gibbs_gmm, mixture(1203, d), k, covariance = covariance,
              keep = "z")
      )
    }
  }
  holes <- mixture(301, 4)
  holes[matrix(spread(4 * 301, sqrt(5)) < 0.1, 301)] <- NA
  show(
    paste("gmm", covariance, "missing"),
    quick(gibbs_gmm, holes, 3, covariance = covariance, na_action = "impute",
          keep = c("z", "x"))
  )
}
show("gmm answers", {
  fit <- gibbs_gmm(mixture(203, 3), 3, draws = 20, burnin = 20, chains = 2,
                   seed = 1, progress = FALSE)
  list(log_lik(fit), predict(fit, type = "prob"))
})

# ---- topics ------------------------------------------------------------------

counts <- function(documents, terms, mean) {
  u <- matrix(spread(documents * terms, 0.7320508075688772), documents)
  x <- matrix(as.integer(u^6 * 7 * mean), documents)
  x[, 1] <- x[, 1] + 1L
  x
}

for (method in c("collapsed", "partially_collapsed", "uncollapsed")) {
  for (k in c(3, 16, 21, 40, 70)) {
    show(
      paste("lda", method, k),
      quick(gibbs_lda, counts(40, 60, 4), k, method = method,
            keep = c("theta", "phi", "z"))
    )
  }
  show(
    paste("lda", method, "fixed"),
    quick(gibbs_lda, counts(40, 60, 4), 35, method = method,
          prior = lda_prior(alpha = 0.1, eta = 0.05), keep = "z")
  )
}
show("lda answers", {
  fit <- gibbs_lda(counts(30, 40, 4), 5, draws = 10, burnin = 20, chains = 2,
                   seed = 1, progress = FALSE)
  set.seed(1)
  new <- counts(7, 40, 3)
  list(with_draws(predict, fit, new, n = 5),
       with_draws(held_out_perplexity, fit, new, "left_to_right", n = 3))
})

# ---- linear regression -------------------------------------------------------

design <- function(n, p) matrix(4 * spread(n * p, sqrt(7)) - 2, n, p)

lm_priors <- list(hierarchical = lm_prior(), nig = lm_prior("nig"))
for (prior in names(lm_priors)) {
  for (p in c(1, 3, 17, 90)) {
    x <- cbind("(Intercept)" = 1, design(61, p))
    y <- 2 * x[, 2] + stats::qlogis(0.01 + 0.98 * spread(61, sqrt(11)))
    y[5] <- NA
    show(
      paste("lm", prior, p),
      quick(gibbs_lm, x, y, prior = lm_priors[[prior]], na_action = "impute",
            keep = "y")
    )
  }
}
show("lm answers", {
  fit <- gibbs_lm(x[-5, 1:4], y[-5], draws = 20, burnin = 20, chains = 2,
                  seed = 1, progress = FALSE)
  list(log_lik(fit), predict(fit))
})

# ---- hierarchical linear regression ------------------------------------------

# groups of 1, 2, ... rows
measured <- data.frame(
  g = rep(seq_len(20), seq_len(20)), x = 4 * spread(210, sqrt(7)) - 2,
  z = spread(210, sqrt(3)), se = 0.5 + spread(210, sqrt(5))
)
measured$y <- 2 * measured$x + sin(measured$g) +
  stats::qlogis(0.01 + 0.98 * spread(210, sqrt(11)))

hlm_priors <- list(
  half_t = hlm_prior(), wishart = hlm_prior("inverse-wishart")
)
hlm_formulas <- list(
  intercepts = y ~ x + (1 | g), slopes = y ~ x + z + (x + z | g),
  diagonal = y ~ x + (x || g), no_fixed = y ~ 0 + (x | g)
)
for (prior in names(hlm_priors)) {
  for (form in names(hlm_formulas)) {
    show(
      paste("hlm", prior, form),
      quick(gibbs_hlm, hlm_formulas[[form]], measured, keep = "w",
            prior = hlm_priors[[prior]])
    )
  }
  show(
    paste("hlm", prior, "known"),
    quick(
      function(...) {
        gibbs_hlm(y ~ x + (1 | g), measured, se = measured$se, ...)
      },
      prior = hlm_priors[[prior]]
    )
  )
  show(
    paste("hlm", prior, "small groups"),
    quick(gibbs_hlm, y ~ (x | g), measured[measured$g < 4, ],
          prior = hlm_priors[[prior]])
  )
}
measured$hit <- measured$y > 0
for (link in c("logit", "probit")) {
  show(
    paste("hlm binary", link),
    quick(gibbs_logistic, hit ~ x + (x | g), measured, link = link)
  )
}
show("hlm answers", {
  fit <- gibbs_hlm(y ~ x + (x | g), measured, draws = 20, burnin = 20,
                   chains = 2, seed = 1, progress = FALSE)
  set.seed(1)
  list(log_lik(fit), coef(fit), predict(fit))
})

# ---- logistic regression and Laplace approximations --------------------------

for (p in c(1, 3, 17, 70)) {
  x <- design(523, p)
  y <- as.integer(spread(523, sqrt(11)) < 1 / (1 + exp(-x[, 1])))
  show(
    paste("logistic", p),
    draws_alone(laplace_logistic(x, y, draws = 50, chains = 2, seed = 1,
                               progress = FALSE))
  )
}
show(
  "logistic sparse",
  draws_alone(laplace_logistic(
    Matrix::Matrix(x * (abs(x) > 1.5), sparse = TRUE), y, draws = 50,
    chains = 2, seed = 1, progress = FALSE
  ))
)
show(
  "logistic corrected",
  draws_alone(laplace_logistic(x[, 1:3], y, draws = 50, chains = 2, seed = 1,
                             correct = "importance", progress = FALSE))
)
show(
  "exact logistic",
  draws_alone(gibbs_logistic(x[, 1:3], y, draws = 60, burnin = 60, chains = 2,
                             seed = 1, progress = FALSE))
)
show(
  "exact probit",
  draws_alone(gibbs_logistic(x[, 1:3], y, link = "probit", draws = 60,
                             burnin = 60, chains = 2, seed = 1,
                             progress = FALSE))
)
show(
  "exact probit, wide",
  draws_alone(gibbs_logistic(x[1:60, 1:30], y[1:60], link = "probit",
                             draws = 60, burnin = 60, chains = 2, seed = 1,
                             progress = FALSE))
)
show("logistic answers", {
  fit <- laplace_logistic(x[, 1:5], y, draws = 50, chains = 2, seed = 1,
                          progress = FALSE)
  list(log_lik(fit), predict(fit, type = "response"))
})

banana <- function(x) {
  -0.5 * (x[1]^2 / 4 + (x[2] + 0.3 * x[1]^2)^2 + sum(x[-(1:2)]^2))
}
banana_slope <- function(x) {
  bend <- x[2] + 0.3 * x[1]^2
  c(-x[1] / 4 - 0.6 * x[1] * bend, -bend, -x[-(1:2)])
}

show(
  "laplace",
  draws_alone(laplace(banana, c(0.3, 0.2, 0.1), gradient = banana_slope,
                    draws = 50, chains = 2, seed = 1, progress = FALSE))
)

# ---- Metropolis-Hastings and the user's own conditionals ---------------------

proposals <- list(
  random_walk = random_walk(0.7), adaptive = adaptive(),
  langevin = langevin(0.5, banana_slope), delayed = delayed_rejection(),
  independence = independence(rep(0, 5), diag(2, 5)),
  mixture = mixture_proposal(random_walk(0.2), random_walk(2),
                             weights = c(0.6, 0.4)),
  nuts = nuts(banana_slope), "nuts dense" = nuts(banana_slope, mass = "dense"),
  hmc = hmc(0.3, 5, banana_slope)
)
for (kind in names(proposals)) {
  show(
    paste("mh", kind),
    quick(mh_sample, banana, rep(0.1, 5), proposals[[kind]], draws = 100,
          burnin = 100)
  )
}
show(
  "mh blocks",
  quick(mh_sample, banana, rep(0.1, 5), blocks = list(1:2, 3:5),
        lower = c(-3, -Inf, 0, -Inf, -1), upper = c(3, Inf, Inf, 2, 1),
        transform = TRUE, draws = 100, burnin = 100)
)
show(
  "gibbs_sample",
  quick(
    gibbs_sample,
    list(
      mean = function(s) stats::rnorm(1, 3 / (1 + s$variance), 1),
      variance = function(s) 1 / stats::rgamma(1, 3, 1 + s$mean^2)
    ),
    list(mean = 0, variance = 1)
  )
)
