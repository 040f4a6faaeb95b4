# The packages that the scripts of bench/ compare with; run as a script it
# prints their names (tools/install.sh bench reads them).  A peer that cannot be
# installed is skipped by the scripts with a message: see peer_available().

peers <- data.frame(
  package = c(
    "bayesm", "mixAK", "mclust", "topicmodels", "slam", "lda", "text2vec",
    "seededlda", "quanteda", "tidylda"
  ),
  does = c(
    "Gibbs sampler of multivariate normal mixtures (rnmixGibbs)",
    "Gibbs sampler of multivariate normal mixtures (NMixMCMC)",
    "EM for Gaussian mixtures",
    "collapsed Gibbs sampler of LDA (LDA, method = Gibbs)",
    "sparse matrices, the form that topicmodels reads",
    "collapsed Gibbs sampler of LDA (lda.collapsed.gibbs.sampler)",
    "WarpLDA (LDA)",
    "collapsed Gibbs sampler of LDA (textmodel_lda)",
    "sparse matrices, the form that seededlda reads",
    "Gibbs sampler of LDA (tidylda)"
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
