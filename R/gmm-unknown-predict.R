# Predictions of a mixture with an unknown number of components.

#' A mixture with an unknown number of components: numbers, clusters, densities
#'
#' `posterior_k()` gives the posterior probabilities of the number of
#' components, and of the number of clusters, which are the components that hold
#' observations. `predict()` gives clusters, by the point estimate of
#' [point_clustering()]; probabilities that say how certain an observation's
#' cluster is; and densities, averages over the posterior draws, each with its
#' own number of components.
#'
#' @param fit,object,x A fit made by [gibbs_gmm()] with an unknown `k`.
#' @param newdata,level As in [predict.gibbs_gmm()].
#' @param type `"cluster"`: the clusters of the fit's observations by
#'   [point_clustering()]; of `newdata`, the clusters of the highest
#'   probability. `"prob"`: for each cluster the posterior probability that the
#'   observation is in the same component as a randomly chosen member of the
#'   cluster. `"density"`: the density \eqn{\sum_c \pi_c \mathrm{N}(x \mid
#'   \mu_c, \Sigma_c)}{sum_c pi_c N(x | mu_c, Sigma_c)} of the observations, or
#'   of `newdata`.
#' @param ndraws,nobs As in [posterior_predict()][gmm-checks].
#' @param variables,... As in [plot.gibbs_gmm()].
#' @return `posterior_k()`: a data frame with a row for each number from 1 to
#'   the largest and the columns `k`, `prior` (prior probability of `k`
#'   components), `components` and `clusters` (posterior probabilities:
#'   proportions of the draws).
#'
#'   `predict()`: for `"cluster"` a vector of whole numbers, 1 the largest
#'   cluster; for `"prob"` a matrix, observations x clusters; for `"density"` a
#'   data frame with the columns `mean`, `sd`, `lower` and `upper`. `log_lik()`,
#'   `posterior_predict()` and `plot()` as for a fixed `k`.
#' @details The default prior of a mixture with an unknown `k` is not that of
#'   one with a fixed `k`: `prior_summary()` shows both. So the probabilities of
#'   `posterior_k()` differ from those of [compare_k()], which compares fits
#'   with fixed numbers.
#'
#' Components of different draws have no common numbers, so that
#' `"prob"` goes by pairs of observations: it averages [coclustering()] over
#' the members of a cluster, without the observation itself. The rows need not
#' sum to 1. For a cluster of one observation it is the probability that the
#' observation is in a component alone. Clusters and probabilities are of the
#' draws that [point_clustering()] takes by default, at most 1000.
#'
#' `plot()` has the types `"number"` (default), bars of the posterior
#'   probabilities of the numbers of components and of clusters, with the prior
#'   of the first as points; `"mixture"`, of one variable a histogram with the
#'   posterior mean of the density and its band, of several variables scatter
#'   plots coloured by [point_clustering()]; and those of
#'   [plot.gibbsite_fit()].
#' @section Errors: `gibbsite_error_argument` for densities and new data if the
#'   components were not kept, for clusters and probabilities if `z` was not
#'   kept, and as in [predict.gibbs_gmm()].
#' @seealso [unknown_k()], [point_clustering()].
#' @examples
#' fit <- gibbs_gmm(faithful$waiting, "unknown", draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' head(posterior_k(fit))
#' table(predict(fit))
#' predict(fit, c(50, 65, 80), type = "prob")
#' predict(fit, c(50, 65, 80), type = "density")
#' plot(fit)
#' plot(fit, type = "mixture")
#' @name gmm-unknown
#' @export
predict.gibbs_gmm_unknown <- function(object, newdata = NULL,
                                      type = c("cluster", "prob", "density"),
                                      level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("cluster", "prob", "density"))
  level <- check_level(level)
  model <- fit_part(object, "model")
  if (type != "density") {
    drawn <- clustering_draws(kept_allocations(object, call), NULL, call)
    best <- best_partition(partition_problem(drawn$z, "vi"))
    cluster <- named_clusters(best, object)
    if (type == "cluster" && is.null(newdata)) {
      return(cluster)
    }
    prob <- cluster_probabilities(object, drawn, cluster, newdata, call)
    if (type == "prob") {
      return(prob)
    }
    found <- max.col(prob, ties.method = "first")
    return(stats::setNames(found, rownames(prob)))
  }
  draws <- component_draws(object, call)
  x <- gmm_newdata(model, newdata, call)
  predict_density(model, draws, x, level)
}

# The mean over draws of the share of each cluster's members, without the
# observation itself, that have its component: observations x clusters.
# drawn: of clustering_draws(); newdata: NULL for the fit's observations.
cluster_probabilities <- function(fit, drawn, cluster, newdata, call) {
  model <- fit_part(fit, "model")
  size <- tabulate(cluster)
  total <- 0
  if (is.null(newdata)) {
    own <- cbind(seq_along(cluster), cluster)
    single <- size[cluster] == 1L
    for (s in seq_along(drawn$rows)) {
      z <- drawn$z[s, ]
      both <- members_in(cluster, z, length(size), model$k)
      share <- t(both)[z, , drop = FALSE]
      share[own] <- ifelse(
        single, tabulate(z, model$k)[z] == 1, share[own] - 1
      )
      total <- total + share
    }
    of <- outer(rep(1, length(cluster)), size)
    of[own] <- pmax(of[own] - 1, 1)
    total <- total / of
    names <- names(cluster)
  } else {
    x <- gmm_newdata(model, newdata, call)
    draws <- component_draws(fit, call)
    blocks <- component_blocks(model, draws)
    for (s in seq_along(drawn$rows)) {
      row <- drawn$rows[[s]]
      k <- draws[row, "k"]
      part <- present_blocks(model, blocks, row, k)
      both <- members_in(cluster, drawn$z[s, ], length(size), k)
      total <- total + evaluate_observed(part, x, prob = TRUE)$prob %*% t(both)
    }
    total <- total / rep(size, each = nrow(x))
    names <- rownames(x)
  }
  matrix(
    total / length(drawn$rows), ncol = length(size),
    dimnames = list(names, seq_along(size))
  )
}

# Members of each cluster in each component: clusters x components.
members_in <- function(cluster, z, clusters, components) {
  matrix(
    tabulate(cluster + clusters * (z - 1L), clusters * components), clusters
  )
}

#' @rdname gmm-unknown
#' @export
log_lik.gibbs_gmm_unknown <- log_lik.gibbs_gmm

#' @rdname gmm-unknown
#' @export
posterior_predict.gibbs_gmm_unknown <- posterior_predict.gibbs_gmm

#' @rdname gmm-unknown
#' @export
plot.gibbs_gmm_unknown <- plot.gibbs_gmm

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.gibbs_gmm_unknown <- autoplot.gibbs_gmm
