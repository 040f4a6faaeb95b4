# The packages that the scripts of bench/ compare with; run as a script it
# prints their names (tools/install.sh bench reads them).  A peer that cannot be
# installed is skipped by the scripts with a message: see peer_available().

peers <- data.frame(
  package = c("bayesm", "mixAK", "mclust", "arm", "rstanarm"),
  package = c(
    "bayesm", "mixAK", "mclust", "mcmc", "MCMCpack", "adaptMCMC", "fmcmc",
    "BayesianTools", "LaplacesDemon", "MASS"
  ),
  does = c(
    "Gibbs sampler of multivariate normal mixtures (rnmixGibbs)",
    "Gibbs sampler of multivariate normal mixtures (NMixMCMC)",
    "EM for Gaussian mixtures",
    "logistic regression with a prior (bayesglm)",
    "logistic regression, mode and draws by Stan (stan_glm, optimizing)"
    "random walk Metropolis on an R function (metrop)",
    "random walk Metropolis on an R function (MCMCmetrop1R)",
    "random walk and robust adaptive Metropolis (MCMC)",
    "random walk Metropolis, kernels in R (MCMC)",
    "Metropolis and other samplers (runMCMC)",
    "random walk Metropolis and other samplers (LaplacesDemon)",
    "the data Pima.tr"
  )
)

peer_available <- function(package) {
  available <- requireNamespace(package, quietly = TRUE)
  if (!available) {
    message("Skipped: ", package, " is not installed (try `make bench-deps`).")
  }
  available
}

if (sys.nframe() == 0L) {
  writeLines(peers$package)
}
