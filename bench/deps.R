# The packages that the scripts of bench/ compare with; run as a script it
# prints their names (tools/install.sh bench reads them).  A peer that cannot be
# installed is skipped by the scripts with a message: see peer_available().

peers <- data.frame(
  package = c("bayesm", "mixAK", "mclust", "rsparse", "recommenderlab"),
  does = c(
    "Gibbs sampler of multivariate normal mixtures (rnmixGibbs)",
    "Gibbs sampler of multivariate normal mixtures (NMixMCMC)",
    "EM for Gaussian mixtures",
    "alternating least squares (WRMF)",
    "the MovieLens-100k ratings"
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
