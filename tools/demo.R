# The main job, on real data: a Gaussian mixture of `faithful` with two
# components and four chains, fitted, checked, summarised, plotted and compared
# with the maximum of the likelihood by EM; and a logistic regression of
# MASS::Pima.tr, compared with glm's, with the check of its approximation.
#   Rscript tools/demo.R FOLDER     pictures go into FOLDER

library(gibbsite)

folder <- c(commandArgs(trailingOnly = TRUE), "demo-output")[1L]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

heading <- function(text) {
  cat("\n", text, "\n", strrep("-", nchar(text)), "\n", sep = "")
}

# EM for a mixture of two Gaussians, independent of the package's code. The
# start: short and long eruptions. Returns weights, means, log-likelihood.
em_two_components <- function(x, long) {
  x <- as.matrix(x)
  member <- cbind(long, !long) + 0
  log_likelihood <- -Inf
  repeat {
    weights <- colMeans(member)
    fits <- lapply(1:2, function(k) {
      stats::cov.wt(x, member[, k], method = "ML")
    })
    densities <- vapply(fits, function(fit) {
      distance <- stats::mahalanobis(x, fit$center, fit$cov)
      exp(-distance / 2) / sqrt(det(2 * pi * fit$cov))
    }, numeric(nrow(x)))
    joint <- densities * rep(weights, each = nrow(x))
    before <- log_likelihood
    log_likelihood <- sum(log(rowSums(joint)))
    if (log_likelihood - before < 1e-9) {
      break
    }
    member <- joint / rowSums(joint)
  }
  list(
    weights = weights,
    means = t(vapply(fits, `[[`, numeric(ncol(x)), "center")),
    log_likelihood = log_likelihood
  )
}

fit <- gibbs_gmm(faithful, 2, seed = 1)
result <- summary(fit)

heading("fit <- gibbs_gmm(faithful, 2, seed = 1)")
print(fit)
heading("summary(fit)")
print(result)

heading("Beside EM")
em <- em_two_components(faithful, faithful$eruptions > 3)
columns <- c("pi[1]", "pi[2]", "mu[1,1]", "mu[2,1]", "mu[1,2]", "mu[2,2]")
rows <- match(columns, result$variable)
# the larger component first, as in the columns of EM
larger <- if (result$mean[rows[1L]] >= result$mean[rows[2L]]) 1:2 else 2:1
rows <- rows[c(larger, 2L + larger, 4L + larger)]
print(data.frame(
  quantity = paste(
    rep(c("weight", "mean of eruptions", "mean of waiting"), each = 2L),
    c("(larger)", "(smaller)")
  ),
  EM = round(c(em$weights, em$means), 3),
  "posterior mean" = round(result$mean[rows], 3),
  "posterior sd" = round(result$sd[rows], 3),
  check.names = FALSE
), row.names = FALSE)
log_lik <- as.matrix(fit)[, "log_lik"]
cat(sprintf(
  "\nlog-likelihood: %.2f at EM's maximum; draws: at most %.2f, mean %.2f\n",
  em$log_likelihood, max(log_lik), mean(log_lik)
))

draw <- function(fit, name, ..., width = 1200, height = 900) {
  path <- file.path(folder, name)
  grDevices::png(path, width = width, height = height, res = 144)
  on.exit(grDevices::dev.off())
  plot(fit, ...)
  path
}

heading("Pictures of the mixture")
writeLines(c(
  draw(fit, "mixture.png"),
  draw(fit, "trace.png", type = "trace", height = 1200),
  draw(fit, "density.png", type = "density", height = 1200),
  draw(fit, "autocorrelation.png", type = "autocorrelation", height = 1200),
  draw(fit, "ranks.png", type = "ranks", height = 1200)
))

if (requireNamespace("MASS", quietly = TRUE)) {
  train <- MASS::Pima.tr
  test <- MASS::Pima.te
  diabetes <- laplace_logistic(type ~ ., train, seed = 1)

  heading("diabetes <- laplace_logistic(type ~ ., MASS::Pima.tr, seed = 1)")
  print(diabetes)
  heading("importance_check(diabetes)")
  print(importance_check(diabetes))

  heading("Beside glm (prior variance 1e6)")
  flat <- laplace_logistic(
    type ~ ., train, prior = logistic_prior(1e6, 1e6), seed = 1
  )
  peer <- stats::glm(type ~ ., stats::binomial, train)
  print(data.frame(
    glm = round(stats::coef(peer), 4), MAP = round(stats::coef(flat), 4),
    "glm se" = round(sqrt(diag(stats::vcov(peer))), 4),
    sd = round(sqrt(diag(stats::vcov(flat))), 4), check.names = FALSE
  ))
  wrong <- mean(predict(diabetes, test, type = "class") != test$type)
  cat(sprintf(
    "\nMASS::Pima.te: %d women, %.1f%% misclassified\n", nrow(test),
    100 * wrong
  ))

  heading("anova(diabetes, without, glucose)")
  without <- update(diabetes, . ~ . - bp - skin)
  glucose <- update(diabetes, . ~ glu)
  print(anova(diabetes, without, glucose))

  heading("Pictures of the regression")
  writeLines(c(
    draw(diabetes, "logistic-coefficients.png"),
    draw(diabetes, "logistic-response.png", type = "response",
         variable = "glu"),
    draw(diabetes, "logistic-calibration.png", type = "calibration",
         height = 1200)
  ))
}
