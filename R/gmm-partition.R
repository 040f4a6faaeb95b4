# A point estimate of the partition of the observations.

#' @section A clustering of the observations, from the draws of their partition:
#' `point_clustering()` gives the partition of the observations with the
#' smallest posterior expectation of a distance from the partitions drawn. It
#' does not depend on the numbering of components, and its number of clusters is
#' not fixed beforehand.
#'
#' For a partition with clusters of sizes \eqn{a_u}, a draw with clusters of
#' sizes \eqn{b_v}, and \eqn{m_{uv}} observations in both, the distances are
#' \deqn{\frac1{N} \Bigl( \sum_u g(a_u) + \sum_v g(b_v) - 2 \sum_{uv} g(m_{uv})
#'   \Bigr),}{(sum_u g(a_u) + sum_v g(b_v) - 2 sum_uv g(m_uv)) / N,}
#' * `"vi"`, the variation of information in bits: \eqn{g(m) = m \log_2
#'   m}{g(m) = m log2 m}, \eqn{N = n} (Wade and Ghahramani 2018);
#' * `"binder"`, the proportion of pairs that are together in one partition and
#'   apart in the other: \eqn{g(m) = m^2}, \eqn{N = n(n - 1)} (Binder 1978).
#'
#' Binder's loss often leaves small extra clusters, the variation of information
#' rarely. The expectation is taken exactly over the draws. The search moves
#' single observations and joins clusters as long as the expectation falls. It
#' starts from one cluster, from the best of the draws, and (up to 2,000
#' observations) from hierarchical clusterings of [coclustering()]. It has no
#' randomness; the result may be a local minimum.
#' @param loss `"vi"` (default) or `"binder"`.
#' @param ndraws The number of draws that enter the expectation, spread evenly
#'   over the chains' draws; `NULL` for all draws, at most 1000.
#' @return `point_clustering()`: a vector of whole numbers with the
#'   observations' names: clusters, 1 the largest. Its class is
#'   `gmm_clustering`, and its attributes are `loss`, the name of the distance,
#'   and `expected_loss`. `print()` shows the sizes of the clusters first; a
#'   part of it is an ordinary vector.
#' @section Errors: `point_clustering()`: also for more draws than there are.
#' @references
#' Binder DA (1978). Bayesian cluster analysis. *Biometrika* 65, 31-38.
#' \doi{10.1093/biomet/65.1.31}
#'
#' Wade S, Ghahramani Z (2018). Bayesian cluster analysis: point estimation and
#' credible balls. *Bayesian Analysis* 13, 559-626. \doi{10.1214/17-BA1073}
#' @seealso [gmm-unknown], [posterior_k()].
#' @examples
#' fit <- gibbs_gmm(~ . - Species, iris, "unknown", draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' table(point_clustering(fit), iris$Species)
#' @rdname coclustering
#' @export
point_clustering <- function(fit, loss = c("vi", "binder"), ndraws = NULL) {
  check_needed(fit = "a fit made by gibbs_gmm()")
  call <- rlang::current_env()
  z <- kept_allocations(fit, call)
  loss <- check_choice(loss, names(partition_losses))
  z <- clustering_draws(z, ndraws, call)$z
  best <- best_partition(partition_problem(z, loss))
  structure(
    named_clusters(best, fit), loss = loss, expected_loss = best$value,
    class = c("gmm_clustering", "integer")
  )
}

# list(rows, z): the draws that a clustering is made of, NULL for at most 1000,
# and their allocations.
clustering_draws <- function(z, draws, call) {
  rows <- spread_rows(draws %||% min(nrow(z), 1000), nrow(z), call)
  list(rows = rows, z = z[rows, , drop = FALSE])
}

named_clusters <- function(best, fit) {
  stats::setNames(best$cluster, rownames(fit_part(fit, "model")$data$x))
}

#' @export
print.gmm_clustering <- function(x, ...) {
  unit <- c(
    vi = "bits, the variation of information", binder = "Binder's loss"
  )
  cluster <- as.vector(unclass(x))
  names(cluster) <- names(x)
  if (!is_made_clustering(x)) {
    return(invisible(print(cluster, ...)))
  }
  writeLines(c(
    cli::pluralize(
      "<point_clustering> {length(x)} observation{?s}, {max(x)} cluster{?s}"
    ),
    paste("Observations in each cluster:",
          paste(tabulate(cluster), collapse = ", ")),
    paste0(
      "Expected distance from a draw: ",
      format(attr(x, "expected_loss"), digits = 3), " (",
      unit[[attr(x, "loss")]], ")"
    ),
    ""
  ))
  print(cluster, ...)
  invisible(x)
}

# A user can change the clusters and take attributes away.
is_made_clustering <- function(x) {
  loss <- attr(x, "loss")
  if (!is.integer(x) || length(x) == 0L || anyNA(x)) {
    return(FALSE)
  }
  min(x) > 0L && is_plain_string(loss) && loss %in% names(partition_losses) &&
    is_plain_number(attr(x, "expected_loss"))
}

# g(m) and the divisor of each loss; g(0) = 0.
partition_losses <- list(
  vi = list(
    g = function(m) m * log2(pmax(m, 1)), scale = function(n) n
  ),
  binder = list(
    g = function(m) m^2, scale = function(n) max(n * (n - 1), 1)
  )
)

# z: draws x observations. `drawn`: the mean over draws of sum_v g(b_v).
partition_problem <- function(z, loss) {
  z <- unname(z)
  storage.mode(z) <- "integer"
  n <- ncol(z)
  # g of 0, ..., n + 1
  table <- partition_losses[[loss]]$g(0:(n + 1))
  places <- max(z)
  sizes <- vapply(seq_len(places), function(v) rowSums(z == v),
                  numeric(nrow(z)))
  list(
    z = z, n = n, draws = nrow(z), places = places,
    g = function(m) table[m + 1], scale = partition_losses[[loss]]$scale(n),
    drawn = sum(table[sizes + 1]) / nrow(z)
  )
}

# The state of a search: cluster of each observation, sizes, and the counts of
# the observations in both, draws x places for each cluster.
partition_state <- function(problem, cluster) {
  cluster <- match(cluster, unique(cluster))
  list(
    cluster = cluster, size = tabulate(cluster),
    both = lapply(seq_len(max(cluster)), function(u) {
      counts_of(problem, which(cluster == u))
    })
  )
}

counts_of <- function(problem, members) {
  cell <- seq_len(problem$draws) +
    problem$draws * (problem$z[, members, drop = FALSE] - 1L)
  matrix(
    tabulate(cell, problem$draws * problem$places), problem$draws,
    problem$places
  )
}

expected_loss <- function(problem, state) {
  own <- sum(problem$g(state$size))
  both <- sum(vapply(state$both, function(m) sum(problem$g(m)), 0))
  (own + problem$drawn - 2 * both / problem$draws) / problem$scale
}

# From several starts the lowest local minimum: list(cluster, value). Clusters
# are numbered from the largest to the smallest.
best_partition <- function(problem) {
  found <- lapply(partition_starts(problem), function(start) {
    state <- descend(problem, partition_state(problem, start))
    list(cluster = state$cluster, value = expected_loss(problem, state))
  })
  values <- vapply(found, `[[`, 0, "value")
  # rounding must not choose between equal minima
  best <- found[[which(values <= min(values) + 1e-10)[[1L]]]]
  rank <- order(-tabulate(best$cluster))
  best$cluster <- match(best$cluster, rank)
  best
}

# One cluster, the three best of at most 50 draws, and cuts of a tree.
partition_starts <- function(problem) {
  some <- evenly(problem$draws, 50)
  values <- vapply(some, function(s) {
    expected_loss(problem, partition_state(problem, problem$z[s, ]))
  }, 0)
  chosen <- some[order(values)][seq_len(min(3L, length(some)))]
  starts <- c(
    list(rep(1L, problem$n)), lapply(chosen, function(s) problem$z[s, ])
  )
  if (problem$n > 2L && problem$n <= 2000L) {
    starts <- c(starts, tree_cuts(problem))
  }
  unique(lapply(starts, function(start) match(start, unique(start))))
}

# Average linkage of the proportions of draws in which two observations are
# apart; the best three of the cuts.
tree_cuts <- function(problem) {
  together <- 0
  for (v in seq_len(problem$places)) {
    together <- together + crossprod(problem$z == v)
  }
  tree <- stats::hclust(
    stats::as.dist(1 - together / problem$draws), "average"
  )
  cuts <- lapply(2:min(problem$n - 1L, problem$places, 20L), function(k) {
    stats::cutree(tree, k)
  })
  values <- vapply(cuts, function(cut) {
    expected_loss(problem, partition_state(problem, cut))
  }, 0)
  cuts[order(values)][seq_len(min(3L, length(cuts)))]
}

# Single observations are moved, then clusters joined, until neither lowers the
# expectation.
descend <- function(problem, state) {
  repeat {
    before <- expected_loss(problem, state)
    for (i in seq_len(problem$n)) {
      state <- move_observation(problem, state, i)
    }
    state <- join_clusters(problem, state)
    if (!(expected_loss(problem, state) < before - 1e-12)) {
      return(state)
    }
  }
}

# Takes observation i out and puts it where the expectation is lowest, perhaps
# in a cluster of its own; where it was, if others are no better.
move_observation <- function(problem, state, i) {
  old <- state$cluster[[i]]
  at <- cbind(seq_len(problem$draws), problem$z[, i])
  g <- problem$g
  state$size[[old]] <- state$size[[old]] - 1L
  state$both[[old]][at] <- state$both[[old]][at] - 1L
  rise <- vapply(seq_along(state$size), function(u) {
    m <- state$both[[u]][at]
    g(state$size[[u]] + 1L) - g(state$size[[u]]) -
      2 * sum(g(m + 1L) - g(m)) / problem$draws
  }, 0)
  best <- which.min(rise)
  if (!(rise[[best]] < rise[[old]] - 1e-10)) best <- old
  alone <- -g(1L)
  if (alone < rise[[best]] - 1e-10 && state$size[[old]] > 0L) {
    best <- which(c(state$size, 0L) == 0L)[[1L]]
    if (best > length(state$size)) {
      state$size[[best]] <- 0L
      state$both[[best]] <- matrix(0L, problem$draws, problem$places)
    }
  }
  state$cluster[[i]] <- best
  state$size[[best]] <- state$size[[best]] + 1L
  state$both[[best]][at] <- state$both[[best]][at] + 1L
  state
}

# Joins the two clusters whose union lowers the expectation most, while there
# are such.
join_clusters <- function(problem, state) {
  g <- problem$g
  repeat {
    state <- partition_state(problem, state$cluster)
    clusters <- length(state$size)
    if (clusters < 2L) {
      return(state)
    }
    pairs <- utils::combn(clusters, 2L)
    inner <- vapply(state$both, function(m) sum(g(m)), 0)
    rise <- apply(pairs, 2L, function(pair) {
      size <- state$size[pair]
      joined <- sum(g(state$both[[pair[[1L]]]] + state$both[[pair[[2L]]]]))
      g(sum(size)) - sum(g(size)) -
        2 * (joined - sum(inner[pair])) / problem$draws
    })
    best <- which.min(rise)
    if (!(rise[[best]] < -1e-10)) {
      return(state)
    }
    state$cluster[state$cluster == pairs[2L, best]] <- pairs[1L, best]
  }
}

# ---- Observations that are together ------------------------------------------

# The table has a row for each pair: x, y (places in the order of the clusters),
# share. Of many observations evenly spaced ones are drawn.
picture_together <- function(x, ..., call, arg) {
  if (!is.matrix(x) || !is.numeric(x) || nrow(x) != ncol(x) || nrow(x) == 0L ||
        anyNA(x) || min(x) < 0 || max(x) > 1) {
    abort_argument("{.arg {arg}} must be the value of {.fn coclustering}.",
                   call = call)
  }
  x <- unname(unclass(x))
  n <- nrow(x)
  order <- if (n > 1L) {
    stats::hclust(stats::as.dist(1 - x), "average")$order
  } else {
    1L
  }
  at <- evenly(n, 200)
  order <- order[at]
  table <- data.frame(
    x = rep(at, length(at)), y = rep(at, each = length(at)),
    share = as.vector(x[order, order])
  )
  # halfway to the neighbours that are drawn
  edges <- c(0.5, at[-1L] / 2 + at[-length(at)] / 2, n + 0.5)
  cells <- table[table$share > 0.005, ]
  column <- match(cells$x, at)
  row <- match(cells$y, at)
  colour <- gibbsite_palette(1L)
  steps <- c(0.25, 0.5, 0.75, 1)
  picture(
    table, list(picture_layer("rect", data.frame(
      xmin = edges[column], xmax = edges[column + 1L], ymin = edges[row],
      ymax = edges[row + 1L]
    ), "cell", cells$share)), rbind(
      plot_key(percent(steps), NA, fill = vapply(
        steps, pale, "", colour = colour
      )),
      plot_key("cell", NA, fill = colour, shown = FALSE)
    ), x = picture_axis("observation, in the order of clusters"),
    y = picture_axis("observation, in the order of clusters"),
    note = c(
      "how often two observations are in one component",
      if (length(at) < n) paste(length(at), "of", digits(n), "are drawn")
    ), square = TRUE
  )
}

#' @rdname coclustering
#' @export
plot.gmm_coclustering <- plot_method(picture_together)

#' @rdname coclustering
#' @exportS3Method ggplot2::autoplot
autoplot.gmm_coclustering <- autoplot_method(picture_together)

#' @export
print.gmm_coclustering <- function(x, ...) {
  print(unclass(x), ...)
  invisible(x)
}
