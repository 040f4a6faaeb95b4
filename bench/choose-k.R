# How many components, how many topics? On data with known answers.
#
#   Rscript bench/choose-k.R [PART ...] [seeds=3]
#                            PARTS: galaxies telescope labels defaults topics;
#                            default all
#
# galaxies  the prior of Richardson and Green (1997, JRSS B 59, 731-792,
#           sec. 4), beside their table of p(k | y). Their data have 26.96 where
#           MASS::galaxies has 26.69; mixAK::Galaxy is theirs, and is used where
#           mixAK is installed. `se` is the standard error of the mean of four
#           chains, from their spread. Rounding of their table is .0005, and its
#           own Monte Carlo error is not known.
# telescope the sampler of the package telescope (Frühwirth-Schnatter,
#           Malsiner-Walli and Grün 2021) on the galaxies, with the same prior
#           as ours: posterior of the number of clusters of 20,000 draws after
#           2,000 sweeps each (one chain there, four chains of 5,000 here), the
#           effective size of the number of clusters, and processor seconds.
# labels    gibbs_gmm(x, "unknown") with its default prior. The number of
#           clusters with the largest posterior probability, and that
#           probability; the adjusted Rand index of point_clustering() with the
#           labels, the number of its clusters; the same of mclust::Mclust()
#           with its default choice by BIC; processor seconds. The draws are
#           those of the default call, judged by converged().
# defaults  gibbs_gmm(x, "unknown") with its default prior and length on ten
#           data sets: how many seeds converged; medians over the seeds of the
#           kept draws of a chain, the least effective sample size and processor
#           seconds; the most probable number of clusters, and the smallest and
#           the largest of its probabilities. A data set whose chains fail has
#           the reason: of geyser's 299 durations 53 are exactly 4 minutes.
# topics    compare_k() by held-out perplexity, one chain of 200 sweeps of
#           burn-in and 100 kept: of a corpus drawn from 8 topics (2,000
#           documents of 100 tokens, 500 terms; 5 folds), and of AssociatedPress
#           (2,246 documents, 435,838 tokens; 3 folds).
suppressPackageStartupMessages(library(gibbsite))

arguments <- commandArgs(trailingOnly = TRUE)
parts <- grep("=", arguments, value = TRUE, invert = TRUE)
if (length(parts) == 0L) {
  parts <- c("galaxies", "telescope", "labels", "defaults", "topics")
}
given <- sub("seeds=", "", grep("^seeds=", arguments, value = TRUE))
seeds <- seq_len(if (length(given) > 0L) as.integer(given[[1L]]) else 3L)
self <- grep("^--file=", commandArgs(), value = TRUE)
here <- dirname(sub("^--file=", "", self))
for (file in c("deps.R", "data.R")) source(file.path(here, file))

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

processor_seconds <- function(expr) {
  sum(system.time(expr)[c("user.self", "sys.self")])
}

# ---- galaxies ----------------------------------------------------------------

published <- c(
  "3" = .061, "4" = .128, "5" = .182, "6" = .199, "7" = .160, "8" = .109,
  "9" = .071, "10" = .040, "11" = .023, "12" = .013, "13" = .006, "14" = .003
)

compare_with_published <- function() {
  velocities <- data_of("Galaxy", "mixAK")
  if (is.null(velocities)) velocities <- galaxies()
  span <- diff(range(velocities))
  # sigma^-2 ~ Gamma(2, b), b ~ Gamma(0.2, 10 / span^2), both shape and rate:
  # sigma^2 ~ IW(4, s0) with s0 = 2 b, and s0 ~ Gamma(0.2, 5 / span^2)
  prior <- gmm_prior(
    alpha = 1, nu0 = 4, s0 = "drawn", s0_df = 0.4, s0_mean = 0.04 * span^2
  )
  fit <- quietly(gibbs_gmm(
    velocities, unknown_k(30, "uniform", "static"), prior, draws = 4000,
    burnin = 2000, thin = 10, seed = 1, progress = FALSE
  ))
  by_chain <- vapply(fit, function(chain) {
    tabulate(unclass(chain)[, "k"], 30L) / nrow(chain)
  }, numeric(30L))
  shown <- as.integer(names(published))
  cat("Galaxies, Richardson and Green's prior: p(k | y)\n")
  print(round(rbind(
    ours = rowMeans(by_chain)[shown],
    se = apply(by_chain, 1L, stats::sd)[shown] / sqrt(ncol(by_chain)),
    published = published
  ), 3))
}

# ---- telescope ---------------------------------------------------------------

# sigma^2 ~ IG(2, C), C ~ Gamma(0.2, 10 / span^2); mu ~ N(median, span^2); k - 1
# ~ BNB(1, 4, 3), alpha ~ F(6, 3)
compare_with_telescope <- function() {
  y <- galaxies()
  if (is.null(y) || !peer_available("telescope")) {
    return(invisible())
  }
  span <- diff(range(y))
  set.seed(1)
  begin <- stats::kmeans(y, 10, nstart = 10)
  theirs <- ours <- NULL
  seconds <- c(
    telescope = processor_seconds(theirs <- telescope::sampleUniNormMixture(
      y, begin$cluster, mu = matrix(begin$centers[, 1L], 1L),
      sigma2 = array(span^2 / 200, c(1L, 1L, 10L)), eta = rep(0.1, 10),
      c0 = 2, g0 = 0.2, G0 = matrix(10 / span^2), C0 = matrix(0.02 * span^2),
      b0 = matrix(stats::median(y)), B0 = matrix(span^2), M = 20000,
      burnin = 2000, thin = 1, Kmax = 30, G = "MixDynamic",
      priorOnK = telescope::priorOnK_spec("BNB_143"),
      priorOnWeights = telescope::priorOnAlpha_spec("F_6_3")
    )),
    ours = processor_seconds(ours <- quietly(gibbs_gmm(
      y, unknown_k(30),
      gmm_prior(
        m0 = stats::median(y), v0 = span^2, nu0 = 4, s0 = "drawn", s0_df = 0.4,
        s0_mean = 0.04 * span^2, alpha = "drawn"
      ),
      draws = 5000, burnin = 2000, thin = 1, seed = 1, keep = "z",
      progress = FALSE
    )))
  )
  clusters <- rbind(
    tabulate(theirs$Kplus, 10L) / length(theirs$Kplus),
    posterior_k(ours)$clusters[1:10]
  )
  table <- convergence(ours)
  ess <- c(
    posterior::ess_bulk(as.double(theirs$Kplus)),
    table$ess_bulk[table$variable == "n_occupied"]
  )
  cat("\nGalaxies, the same prior: p(clusters | y), ESS, seconds\n")
  print(data.frame(
    round(clusters, 3), ESS = round(ess), seconds = round(seconds, 1),
    row.names = names(seconds), check.names = FALSE
  ))
}

# ---- labels ------------------------------------------------------------------

sets <- list(
  iris = list(function() iris[, 1:4], function() iris$Species),
  crabs = list(
    function() columns_of("crabs", "MASS", 4:8),
    function() interaction(columns_of("crabs", "MASS", c("sp", "sex")))
  ),
  diabetes = list(
    function() columns_of("diabetes", "mclust", -1),
    function() columns_of("diabetes", "mclust", 1)
  ),
  banknote = list(
    function() columns_of("banknote", "mclust", -1),
    function() columns_of("banknote", "mclust", 1)
  ),
  thyroid = list(
    function() columns_of("thyroid", "mclust", -1),
    function() columns_of("thyroid", "mclust", 1)
  )
)

one_row <- function(name, seed, x, labels, peer) {
  fit <- NULL
  seconds <- processor_seconds(fit <- quietly(gibbs_gmm(
    x, "unknown", keep = "z", seed = seed, progress = FALSE
  )))
  clusters <- posterior_k(fit)$clusters
  point <- as.integer(point_clustering(fit))
  cat(sprintf(
    "%-9s %4d %9d %6.3f %8d %7.2f %6.2f %10.1f %6d %7.2f\n", name, seed,
    which.max(clusters), max(clusters), length(unique(point)),
    mclust::adjustedRandIndex(point, labels),
    max(convergence(fit)$rhat, na.rm = TRUE), seconds,
    peer$G, mclust::adjustedRandIndex(peer$classification, labels)
  ))
}

compare_with_labels <- function() {
  if (!peer_available("mclust")) {
    return(invisible())
  }
  # Mclust() looks for it where it is called
  mclustBIC <- mclust::mclustBIC # nolint
  cat(sprintf(
    "\n%-9s %4s %9s %6s %8s %7s %6s %10s %6s %7s\n", "", "seed", "clusters",
    "p", "point", "Rand", "R-hat", "seconds", "mclust", "Rand"
  ))
  for (name in names(sets)) {
    x <- sets[[name]][[1L]]()
    if (is.null(x)) next
    peer <- mclust::Mclust(x, verbose = FALSE)
    for (seed in seeds) one_row(name, seed, x, sets[[name]][[2L]](), peer)
  }
}

# ---- defaults ----------------------------------------------------------------

ordinary <- list(
  galaxies = galaxies,
  faithful = function() datasets::faithful,
  iris = sets$iris[[1L]], crabs = sets$crabs[[1L]],
  diabetes = sets$diabetes[[1L]], banknote = sets$banknote[[1L]],
  thyroid = sets$thyroid[[1L]],
  acidity = function() data_of("acidity", "mclust"),
  rock = function() log(datasets::rock[1:3]),
  geyser = function() data_of("geyser", "MASS")
)

default_fit <- function(x, seed) {
  fit <- NULL
  seconds <- processor_seconds(fit <- quietly(gibbs_gmm(
    x, "unknown", seed = seed, progress = FALSE
  )))
  list(
    converged = converged(fit), draws = nrow(fit[[1L]]), seconds = seconds,
    ess = min(convergence(fit)$ess_bulk, na.rm = TRUE),
    clusters = posterior_k(fit)$clusters
  )
}

try_defaults <- function() {
  cat(sprintf(
    "\n%-9s %9s %6s %5s %8s %9s %12s\n", "", "converged", "draws", "ESS",
    "seconds", "clusters", "probability"
  ))
  for (name in names(ordinary)) {
    x <- ordinary[[name]]()
    if (is.null(x)) next
    fits <- tryCatch(
      lapply(seeds, default_fit, x = x),
      gibbsite_error_chain = function(cnd) cnd
    )
    if (inherits(fits, "error")) {
      cat(sprintf("%-9s fails: %s\n", name, conditionMessage(fits)))
      next
    }
    middle <- function(part) stats::median(vapply(fits, `[[`, 0, part))
    mean <- Reduce(`+`, lapply(fits, `[[`, "clusters")) / length(fits)
    at <- which.max(mean)
    p <- vapply(fits, function(fit) fit$clusters[[at]], 0)
    cat(sprintf(
      "%-9s %3d of %2d %6.0f %5.0f %8.1f %9d %5.2f to %.2f\n", name,
      sum(vapply(fits, `[[`, NA, "converged")), length(fits), middle("draws"),
      middle("ess"), middle("seconds"), at, min(p), max(p)
    ))
  }
}

# ---- topics ------------------------------------------------------------------

compare_topics <- function(name, x, sizes, folds) {
  seconds <- system.time({
    fits <- lapply(sizes, function(k) {
      quietly(gibbs_lda(
        x, k, draws = 100, burnin = 200, chains = 1, seed = 1, progress = FALSE
      ))
    })
    found <- quietly(
      compare_k(fits, folds = folds, seed = 1, progress = FALSE)
    )
  })[["elapsed"]]
  cat(sprintf("\n%s: %.0f seconds\n", name, seconds))
  print(found)
}

if ("galaxies" %in% parts) compare_with_published()
if ("telescope" %in% parts) compare_with_telescope()
if ("labels" %in% parts) compare_with_labels()
if ("defaults" %in% parts) try_defaults()
if ("topics" %in% parts) {
  set.seed(8)
  corpus <- sim_lda(2000, k = 8, terms = 500, tokens = 100)
  compare_topics("simulated, 8 topics", corpus$x, c(4, 6, 7, 8, 9, 10, 12), 5)
  press <- data_of("AssociatedPress", "topicmodels")
  if (!is.null(press)) {
    compare_topics("AssociatedPress", press, c(10, 20, 40, 80, 160), 3)
  }
}
