# Labels of a mixture's components: renumbering, allocation probabilities and
# co-clustering.

# For each draw (all chains together) the labels that its components get:
# integers, draws x k. The pivot is the draw with the highest log-likelihood. A
# component gets the label of the pivot's component with which it shares most
# observations: the assignment problem over expected counts, pivotal reordering
# by allocations (Papastamoulis & Iliopoulos 2010, doi:10.1198/jcgs.2010.09008)
# with probabilities instead of drawn allocations. Labels are then ranked by
# mean weight, largest first.
gmm_labels <- function(model, draws) {
  b <- gmm_blocks(model, draws)
  if (b$k == 1L) {
    return(matrix(1L, nrow(draws), 1L))
  }
  best <- which.max(draws[, "log_lik"])
  x <- matching_points(model, b, best)
  pivot <- max.col(
    evaluate_draws(b, x, rows = best, prob = TRUE)$prob,
    ties.method = "first"
  )
  labels <- match_labels(evaluate_draws(b, x, pivot = pivot)$agreement)
  rank_labels(labels, b$pi)
}

# The points at which components are compared: at most 1,000 complete
# observations spread evenly over the data. If no observation is complete, they
# are the means of the pivot's components and points one standard deviation from
# them along the columns of its factor.
matching_points <- function(model, blocks, best) {
  x <- model$data$x
  if (!is.null(x)) {
    x <- x[stats::complete.cases(x), , drop = FALSE]
  }
  if (NROW(x) > 0L) {
    n <- nrow(x)
    return(x[unique(round(seq(1, n, length.out = min(n, 1000)))), ,
             drop = FALSE])
  }
  k <- blocks$k
  d <- blocks$d
  one <- lapply(blocks[c("pi", "mu", "sigma")], function(m) {
    m[best, , drop = FALSE]
  })
  one <- utils::modifyList(blocks, one)
  do.call(rbind, lapply(seq_len(k), function(c) {
    sigma <- outer(seq_len(d), seq_len(d), Vectorize(function(i, j) {
      gmm_covariance(one, i, j)[[c]]
    }))
    centre <- matrix(one$mu, k, d)[c, ]
    factor <- chol(sigma)
    rep(centre, each = 2L * d + 1L) + rbind(0, factor, -factor)
  }))
}

# agreement: draws x k x k, expected number of observations that component a of
# the draw shares with component b of the pivot.
match_labels <- function(agreement) {
  k <- dim(agreement)[[2L]]
  t(apply(agreement, 1L, function(shared) {
    as.integer(clue::solve_LSAP(matrix(shared, k, k), maximum = TRUE))
  }))
}

rank_labels <- function(labels, pi) {
  k <- ncol(labels)
  weight <- vapply(seq_len(k), function(label) sum(pi[labels == label]), 0)
  ranks <- integer(k)
  ranks[order(-weight)] <- seq_len(k)
  matrix(ranks[labels], nrow(labels), k)
}

# Draws (all chains together) with the number of component c moved to place
# labels[, c]. Every block has k numbers for each of its columns, component
# fastest; a shared covariance is not moved.
move_components <- function(model, draws, labels) {
  k <- model$k
  d <- length(model$variables)
  groups <- switch(model$covariance,
    full = 1L + d + d * d, diagonal = 1L + 2L * d, shared = 1L + d
  )
  rows <- seq_len(nrow(draws))
  out <- draws
  for (group in seq_len(groups) - 1L) {
    for (c in seq_len(k)) {
      out[cbind(rows, group * k + labels[, c])] <- draws[, group * k + c]
    }
  }
  z <- startsWith(model$columns, "z[")
  if (any(z)) {
    old <- as.vector(draws[, z])
    out[, z] <- labels[cbind(rep(rows, sum(z)), old)]
  }
  out
}

# Applies a function to the draws of all chains together and splits the result
# by chain.
by_chain <- function(matrices, change) {
  sizes <- vapply(matrices, nrow, 0L)
  all <- change(do.call(rbind, matrices))
  ends <- cumsum(sizes)
  Map(
    function(start, end) all[seq.int(start, end), , drop = FALSE],
    ends - sizes + 1L, ends
  )
}

#' @exportS3Method
model_relabelled.gmm_model <- function(model, draws) {
  by_chain(draws, function(all) {
    move_components(model, all, gmm_labels(model, all))
  })
}

#' @exportS3Method
model_labelled.gmm_model <- function(model, invariants) {
  if (model$k == 1L) {
    return(character())
  }
  fixed <- c(
    "log_lik", "n_occupied", "x", if (model$covariance == "shared") "Sigma"
  )
  setdiff(model$columns, in_blocks(model$columns, fixed))
}

#' Renumber the components of a mixture's draws
#'
#' The components of a mixture are exchangeable: the posterior is the same under
#' any numbering, and the numbering may change from draw to draw. `relabel()`
#' returns a copy of the draws in which the components of each draw are
#' renumbered. The draws in the fit do not change.
#'
#' @param fit A fit made by [gibbs_gmm()].
#' @param method `"ecr"` (default): the numbering that agrees best with that of
#'   the draw with the highest log-likelihood, judged by the observations that
#'   components share (equivalence classes representatives, Papastamoulis and
#'   Iliopoulos 2010, with allocation probabilities; [clue::solve_LSAP()] solves
#'   the assignment problem), largest component first. `"ordered"`: by
#'   increasing mean of one variable within each draw. `"random"`: a random
#'   numbering of each draw, from R's generator. Under the posterior all
#'   numberings are equally probable, so this leaves it invariant. It is an
#'   error when the prior is not the same for all components.
#' @param by For `"ordered"`: the variable, a name or a number; default the
#'   first.
#' @return A plain [coda::mcmc.list] with two attributes: `labels`, for each
#'   chain a matrix (draws x components) of the numbers given to the
#'   components, and `switches`, for each chain how often the numbering changed
#'   from one draw to the next.
#' @section Errors: `gibbsite_error_argument` for anything but a fit of
#'   [gibbs_gmm()], an unknown variable, and `"random"` with unequal `alpha`.
#' @references
#' Papastamoulis P, Iliopoulos G (2010). An artificial allocations based
#' solution to the label switching problem in Bayesian analysis of mixtures of
#' distributions. *Journal of Computational and Graphical Statistics* 19,
#' 313-331. \doi{10.1198/jcgs.2010.09008}
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' attr(relabel(fit), "switches")
#' coda::effectiveSize(relabel(fit)[, "mu[1,1]"])
#' @export
relabel <- function(fit, method = c("ecr", "ordered", "random"), by = 1) {
  check_needed(fit = "a fit made by gibbs_gmm()")
  check_gmm(fit)
  method <- check_choice(method, c("ecr", "ordered", "random"))
  if (!missing(by) && method != "ordered") {
    abort_argument(
      "{.arg by} is for {.code method = \"ordered\"} alone."
    )
  }
  model <- fit_part(fit, "model")
  matrices <- chain_matrices(fit)
  call <- rlang::current_env()
  labels <- by_chain(matrices, function(all) {
    switch(method,
      ecr = gmm_labels(model, all),
      ordered = ordered_labels(model, all, by, call),
      random = random_labels(model, all, call)
    )
  })
  out <- Map(function(draws, own) {
    move_components(model, draws, own)
  }, matrices, labels)
  mcpar <- attr(.subset2(fit, 1L), "mcpar")
  structure(
    lapply(out, as_mcmc_matrix, mcpar = mcpar), class = "mcmc.list",
    labels = labels, switches = vapply(labels, count_switches, 0)
  )
}

check_gmm <- function(fit, call = rlang::caller_env()) {
  check_fit_of(fit, "gibbs_gmm", call = call)
}

count_switches <- function(labels) {
  n <- nrow(labels)
  changed <- labels[-1L, , drop = FALSE] != labels[-n, , drop = FALSE]
  sum(rowSums(changed) > 0)
}

ordered_labels <- function(model, draws, by, call) {
  j <- if (is.character(by)) match(by, model$variables) else by
  if (length(j) != 1L || !j %in% seq_along(model$variables)) {
    given <- describe(by)
    abort_argument(
      paste(
        "{.arg by} must be one of the variables {.val {model$variables}},",
        "not {given}."
      ),
      call = call
    )
  }
  k <- model$k
  mu <- gmm_blocks(model, draws)$mu[, (j - 1L) * k + seq_len(k), drop = FALSE]
  matrix(t(apply(mu, 1L, rank, ties.method = "first")), nrow(draws), k) |>
    as_integer_matrix()
}

random_labels <- function(model, draws, call) {
  check_unlocked(call)
  if (length(unique(model$prior$alpha)) > 1L) {
    abort_argument(
      c(
        paste(
          "{.code method = \"random\"} needs a prior that is the same for all",
          "components."
        ),
        x = "{.field alpha} differs: numberings differ in probability."
      ),
      call = call
    )
  }
  k <- model$k
  matrix(
    t(vapply(seq_len(nrow(draws)), function(s) sample.int(k), integer(k))),
    nrow(draws), k
  )
}

as_integer_matrix <- function(x) {
  storage.mode(x) <- "integer"
  x
}

#' Allocation probabilities averaged as the chains ran
#'
#' For each chain the mean over its kept draws of \eqn{P(z_i = c \mid x_i, \pi,
#' \mu, \Sigma)}{P(z_i = c | x_i, pi, mu, Sigma)}, accumulated by the sampler at
#' each kept sweep. The components are numbered as in the chain's own draws, and
#' one renumbering is applied to the whole chain at the end. The means are
#' therefore meaningful only for a chain in which the numbering did not change;
#' `switches` says how often it did. `predict(fit, type = "prob")` computes the
#' probabilities again from all draws, and renumbers each draw separately.
#'
#' @param fit A fit made by [gibbs_gmm()].
#' @return A list with `prob`, an array (observations x components x chains),
#'   and `switches`, for each chain how often the numbering changed from one
#'   draw to the next. After an interrupt, the means include draws of the faster
#'   chains that the fit does not show yet.
#' @section Errors: `gibbsite_error_argument` for anything but a fit of
#'   [gibbs_gmm()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' kept <- allocation_probabilities(fit)
#' kept$switches
#' head(kept$prob[, , 1])
#' @export
allocation_probabilities <- function(fit) {
  check_needed(fit = "a fit made by gibbs_gmm()")
  check_gmm(fit)
  model <- fit_part(fit, "model")
  states <- fit_part(fit, "chains")
  if (states[[1]]$state$kept == 0) {
    abort_no_averages("The probabilities", rlang::current_env())
  }
  labels <- by_chain(chain_matrices(fit), function(all) gmm_labels(model, all))
  n <- model$nobs
  k <- model$k
  prob <- vapply(seq_along(states), function(chain) {
    raw <- matrix(states[[chain]]$state$prob, n, k)
    own <- labels[[chain]]
    raw[, order(own[nrow(own), ]), drop = FALSE]
  }, matrix(0, n, k))
  list(
    prob = array(prob, c(n, k, length(states)),
                 list(rownames(model$data$x), seq_len(k), NULL)),
    switches = vapply(labels, count_switches, 0)
  )
}

#' How often observations share a component
#'
#' The proportion of draws in which two observations were allocated to the same
#' component. It does not depend on the numbering of the components.
#'
#' @param fit A fit made by [gibbs_gmm()] with `keep = "z"`.
#' @return A symmetric matrix with a row and a column for each observation, ones
#'   on its diagonal.
#' @section Errors: `gibbsite_error_argument` when the allocations were not
#'   kept.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1, keep = "z", progress = FALSE
#' )
#' shared <- coclustering(fit)
#' shared[1:4, 1:4]
#' @export
coclustering <- function(fit) {
  check_needed(fit = "a fit made by gibbs_gmm()")
  check_gmm(fit)
  model <- fit_part(fit, "model")
  if (!"z" %in% model$keep) {
    abort_argument(c(
      "{.arg fit} does not hold the draws of the allocations.",
      i = "Fit again with {.code keep = \"z\"}."
    ))
  }
  z <- do.call(rbind, chain_matrices(fit))
  z <- z[, startsWith(model$columns, "z["), drop = FALSE]
  shared <- 0
  for (c in seq_len(model$k)) {
    shared <- shared + crossprod(z == c)
  }
  names <- rownames(model$data$x)
  n <- model$nobs
  matrix(shared / nrow(z), n, n, dimnames = list(names, names))
}
