# The packages that the scripts of bench/ compare with; run as a script it
# prints their names (tools/install.sh bench reads them).  A peer that cannot be
# installed is skipped by the scripts with a message: see peer_available().

peers <- c(
  # mixtures
  bayesm = "Gibbs samplers: mixtures (rnmixGibbs), hierarchical regression",
  mixAK = "Gibbs sampler of multivariate normal mixtures (NMixMCMC)",
  mclust = "EM for Gaussian mixtures",
  telescope = "the telescoping sampler of mixtures (sampleUniNormMixture)",
  # hierarchical linear regression
  nlme = "the data MathAchieve, Orthodont, Oxboys, Rail and Machines",
  MCMCglmm = "Gibbs sampler of regressions with several factors",
  # logistic regression
  arm = "logistic regression with a prior (bayesglm)",
  rstanarm = "logistic regression, mode and draws by Stan (stan_glm)",
  MASS = "the data Pima.tr",
  # Metropolis-Hastings
  mcmc = "random walk Metropolis on an R function (metrop)",
  MCMCpack = "random walk Metropolis (MCMCmetrop1R), regressions",
  adaptMCMC = "random walk and robust adaptive Metropolis (MCMC)",
  fmcmc = "random walk Metropolis, kernels in R (MCMC)",
  BayesianTools = "Metropolis and other samplers (runMCMC)",
  rstan = "the no-U-turn sampler (sampling)",
  LaplacesDemon = "random walk Metropolis and others (LaplacesDemon)",
  # matrix factorisation
  rsparse = "alternating least squares, of ratings and of likes (WRMF)",
  recommenderlab = "the MovieLens-100k ratings",
  lme4 = "the InstEval ratings; lmer and the data of its examples",
  # topic models
  topicmodels = "collapsed Gibbs sampler (LDA); AssociatedPress",
  slam = "sparse matrices, the form that topicmodels reads",
  lda = "collapsed Gibbs sampler (lda.collapsed.gibbs.sampler)",
  text2vec = "WarpLDA (LDA)",
  seededlda = "collapsed Gibbs sampler (textmodel_lda)",
  quanteda = "sparse matrices, the form that seededlda reads",
  tidylda = "Gibbs sampler (tidylda)",
  # Markov chains
  markovchain = "chains of a matrix (rmarkovchain, steadyStates)",
  # several machines
  Rmpi = "messages by MPI (bench/machines.R)",
  snow = "clusters of the processes of mpirun",
  # draws of distributions (MASS and LaplacesDemon too)
  mvtnorm = "multivariate normals (rmvnorm)",
  truncnorm = "truncated normals (rtruncnorm)"
)

peer_available <- function(package) {
  available <- requireNamespace(package, quietly = TRUE)
  if (!available) {
    message("Skipped: ", package, " is not installed (try `make bench-deps`).")
  }
  available
}

if (sys.nframe() == 0L) {
  writeLines(names(peers))
}
