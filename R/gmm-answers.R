# What a fit of gibbs_gmm() answers: labels, predictions, checks, pictures.

# ---- evaluation ----------------------------------------------------------

# The C evaluation of all draws, or of some rows of them, at complete x.
evaluate_draws <- function(blocks, x, rows = NULL, labels = NULL, pivot = NULL,
                           density = FALSE, prob = FALSE) {
  take <- function(m) unname(if (is.null(rows)) m else m[rows, , drop = FALSE])
  parts <- list(
    pi = take(blocks$pi), mu = take(blocks$mu), sigma = take(blocks$sigma)
  )
  .Call(
    C_gmm_evaluate, gmm_forms[[blocks$covariance]], unname(x), parts, labels,
    pivot, c(density, prob)
  )
}

# The same for x with missing entries: each row by the marginal density of what
# was observed of it, rows of one pattern together.
evaluate_observed <- function(blocks, x, labels = NULL, density = FALSE,
                              prob = FALSE) {
  holes <- is.na(x)
  if (!any(holes)) {
    return(evaluate_draws(
      blocks, x, labels = labels, density = density, prob = prob
    ))
  }
  draws <- nrow(blocks$pi)
  out <- list(
    log_density = if (density) matrix(0, draws, nrow(x)),
    prob = if (prob) matrix(0, nrow(x), blocks$k)
  )
  key <- apply(holes, 1L, function(row) paste(which(row), collapse = ","))
  for (rows in split(seq_len(nrow(x)), key)) {
    seen <- which(!holes[rows[[1L]], ])
    part <- if (length(seen) > 0L) {
      evaluate_draws(
        marginal_blocks(blocks, seen), x[rows, seen, drop = FALSE],
        labels = labels, density = density, prob = prob
      )
    } else {
      list(log_density = 0, prob = rep(mean_weights(blocks, labels),
                                       each = length(rows)))
    }
    if (density) out$log_density[, rows] <- part$log_density
    if (prob) out$prob[rows, ] <- part$prob
  }
  out
}

# The blocks of the marginal mixture of some variables.
marginal_blocks <- function(blocks, seen) {
  k <- blocks$k
  d <- blocks$d
  groups <- function(m, g) {
    m[, as.vector(outer(seq_len(k), (g - 1L) * k, "+")), drop = FALSE]
  }
  square <- as.vector(outer(seen, d * (seen - 1L), "+"))
  blocks$mu <- groups(blocks$mu, seen)
  blocks$sigma <- switch(blocks$covariance,
    full = groups(blocks$sigma, square),
    diagonal = groups(blocks$sigma, seen),
    shared = blocks$sigma[, square, drop = FALSE]
  )
  blocks$d <- length(seen)
  blocks
}

mean_weights <- function(blocks, labels) {
  pi <- blocks$pi
  if (is.null(labels)) {
    return(colMeans(pi))
  }
  vapply(seq_len(blocks$k), function(label) {
    sum(pi[labels == label]) / nrow(pi)
  }, 0)
}

# ---- labels --------------------------------------------------------------

# For each draw (all chains together) the labels that its components get:
# integers, draws x k.  The pivot is the draw of the highest log-likelihood.
# A component gets the label of the pivot's component with which it shares
# most observations: the assignment problem over expected counts, pivotal
# reordering by allocations (Papastamoulis & Iliopoulos 2010,
# doi:10.1198/jcgs.2010.09008) with probabilities in place of drawn
# allocations.  Labels are then ranked by mean weight, largest first.
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

# Where components are compared: at most 1,000 complete observations spread
# evenly over the data; where there are none, the means of the pivot's
# components and points one standard deviation from them along the columns of
# its factor.
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
# labels[, c].  Every block is k numbers for each of its columns, component
# fastest; one shared covariance stays where it is.
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

# A function of all draws of all chains, given back chain by chain.
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
    "log_lik", "n_occupied", grep("^x\\[", model$columns, value = TRUE)
  )
  if (model$covariance == "shared") {
    fixed <- c(fixed, grep("^Sigma", model$columns, value = TRUE))
  }
  setdiff(model$columns, fixed)
}

#' Renumber the components of a mixture's draws
#'
#' The components of a mixture have no names of their own: the posterior is the
#' same under any numbering, and the numbering may change from draw to draw.
#' This gives a copy of the draws with the components of each renumbered; the
#' fit itself keeps its draws as they came.
#'
#' @param fit A fit made by [gibbs_gmm()].
#' @param method `"ecr"` (default): the numbering that agrees best with that of
#'   the draw of the highest log-likelihood, by the observations that components
#'   share (equivalence classes representatives, Papastamoulis and Iliopoulos
#'   2010, with allocation probabilities; the assignment by
#'   [clue::solve_LSAP()]), largest component first. `"ordered"`: by increasing
#'   mean of one variable within each draw. `"random"`: a random numbering of
#'   each draw, from R's generator, as the posterior itself has it; it is
#'   refused when the prior is not the same for all components.
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
  if (!inherits(fit, "gibbs_gmm")) {
    given <- describe(fit)
    abort_argument(
      "{.arg fit} must be a fit made by {.fn gibbs_gmm}, not {given}.",
      call = call
    )
  }
  check_whole_fit(fit, "fit", call)
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
#' renumbered in one piece at the end, so that the means are meaningful for a
#' chain in which the numbering did not change; how often it did is given.
#' `predict(fit, type = "prob")` computes the probabilities anew from all draws,
#' each renumbered by itself.
#'
#' @param fit A fit made by [gibbs_gmm()].
#' @return A list with `prob`, an array (observations x components x chains),
#'   and `switches`, for each chain how often the numbering changed from one
#'   draw to the next. Draws that wait for slower chains after an interrupt are
#'   part of the means.
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
#' component: it does not depend on how components are numbered.
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

# ---- predictions ---------------------------------------------------------

#' Clusters, probabilities and densities from a Gaussian mixture
#'
#' Averages over the posterior draws, without refitting. The density of new data
#' does not depend on how components are numbered. For clusters and
#' probabilities the components of each draw are first renumbered as by
#' [relabel()]; cluster 1 is the one with the largest weight.
#'
#' Observations with missing entries count by the entries that were observed.
#'
#' @param object A fit made by [gibbs_gmm()].
#' @param newdata `NULL` for the data of the fit, or new observations: a matrix,
#'   data frame or vector with the fit's variables, taken by name where there
#'   are names.
#' @param type `"cluster"`: the most probable component of each observation;
#'   `"prob"`: the posterior probabilities of all components; `"density"`: the
#'   density \eqn{\sum_c \pi_c \mathrm{N}(x \mid \mu_c, \Sigma_c)}{sum_c pi_c
#'   N(x | mu_c, Sigma_c)}, its mean over the draws being the posterior
#'   predictive density.
#' @param level For `"density"`: a number between 0 and 1, the probability of
#'   the central interval; default 0.9.
#' @param ... Not used.
#' @return For `"cluster"` a vector of whole numbers, for `"prob"` a matrix with
#'   a row for each observation and a column for each component, for `"density"`
#'   a data frame with the columns `mean`, `sd`, `lower` and `upper` (per unit
#'   of volume of the data). Row names are kept. Each observation's result is
#'   the same, to the last bit, whatever others are asked for with it.
#' @section Errors: `gibbsite_error_argument` for variables that are missing or
#'   too many, infinite values, and for a fit without its data when `newdata` is
#'   `NULL`.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' table(predict(fit))
#' new <- data.frame(eruptions = c(2, 3, 4.5), waiting = c(55, 70, NA))
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "density")
#' @importFrom stats predict
#' @export
predict.gibbs_gmm <- function(object, newdata = NULL,
                              type = c("cluster", "prob", "density"),
                              level = 0.9, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("cluster", "prob", "density"))
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  model <- fit_part(object, "model")
  x <- gmm_newdata(model, newdata, call)
  draws <- do.call(rbind, chain_matrices(object))
  blocks <- gmm_blocks(model, draws)
  if (type == "density") {
    return(predict_density(blocks, x, level))
  }
  prob <- evaluate_observed(
    blocks, x, labels = gmm_labels(model, draws), prob = TRUE
  )$prob
  dimnames(prob) <- list(rownames(x), seq_len(model$k))
  if (type == "prob") {
    return(prob)
  }
  stats::setNames(max.col(prob, ties.method = "first"), rownames(x))
}

# In blocks of observations, so that draws x observations stays below 64 MB.
predict_density <- function(blocks, x, level) {
  probs <- c((1 - level) / 2, (1 + level) / 2)
  size <- max(1, floor(8e6 / nrow(blocks$pi)))
  starts <- seq(1, nrow(x), by = size)
  parts <- lapply(starts, function(start) {
    rows <- seq.int(start, min(nrow(x), start + size - 1))
    density <- exp(evaluate_observed(
      blocks, x[rows, , drop = FALSE], density = TRUE
    )$log_density)
    bounds <- apply(density, 2, stats::quantile, probs = probs, names = FALSE)
    data.frame(
      mean = colMeans(density), sd = apply(density, 2, stats::sd),
      lower = bounds[1L, ], upper = bounds[2L, ]
    )
  })
  out <- do.call(rbind, parts)
  rownames(out) <- rownames(x)
  out
}

# The observations to predict, with the variables of the fit in their order.
gmm_newdata <- function(model, newdata, call) {
  if (is.null(newdata)) {
    if (is.null(model$data)) {
      abort_no_data("newdata", call)
    }
    return(model$data$x)
  }
  names <- colnames(newdata)
  if (all(model$variables %in% names)) {
    newdata <- newdata[, model$variables, drop = FALSE]
  } else if (!is.null(names)) {
    lacking <- setdiff(model$variables, names)
    abort_argument(
      "{.arg newdata} lacks the variable{?s} {.val {lacking}} of the fit.",
      call = call
    )
  }
  d <- length(model$variables)
  if (d > 1L && is.null(dim(newdata)) && length(newdata) == d) {
    newdata <- matrix(newdata, 1L)
  }
  x <- check_data_matrix(newdata, "keep", arg = "newdata", call = call)
  if (any(abs(x) > 1e150, na.rm = TRUE)) {
    abort_argument(
      "{.arg newdata} must be below 1e150: the square of a larger value is
       beyond the range of doubles.",
      call = call
    )
  }
  if (ncol(x) != d) {
    abort_argument(
      "{.arg newdata} must have {d} column{?s} like the fit, not {ncol(x)}.",
      call = call
    )
  }
  x
}

#' Log-likelihood and replicated data of a Gaussian mixture
#'
#' `log_lik()` gives \eqn{\log \sum_c \pi_c \mathrm{N}(x_i \mid \mu_c,
#' \Sigma_c)}{log sum_c pi_c N(x_i | mu_c, Sigma_c)} of each observation under
#' each draw, with the allocations summed out: what `loo()` and `waic()` need.
#' `posterior_predict()` draws new data sets of the fit's size from the
#' mixture, a set for each draw.
#'
#' @param object,x A fit made by [gibbs_gmm()].
#' @param newdata As in [predict.gibbs_gmm()].
#' @param draws `NULL` for all draws (`pp_check()`: for at most 50), or a whole
#'   number: so many, spread evenly over the chains' draws.
#' @param nobs For `posterior_predict()`: the number of observations in each
#'   data set; `NULL` for that of the fit.
#' @param variable For `pp_check()`: which variable to show, a name or a number.
#' @param ... Not used; for `loo()` and `waic()` passed to the loo package, for
#'   `pp_check()` to [bayesplot::ppc_dens_overlay()].
#' @return `log_lik()`: a matrix, draws x observations (chain after chain).
#'   `posterior_predict()`: an array, draws x observations x variables, or a
#'   matrix for one variable; it takes its random numbers from R's generator.
#'   `loo()` and `waic()`: as the loo package gives them, with the relative
#'   efficiency of the chains. `pp_check()`: a plot.
#' @section Choosing k:
#' Compare `loo()` of fits with different `k` by [loo::loo_compare()]:
#' components that are not needed no longer raise the expected log predictive
#' density. For probabilities of each `k` one would sample over `k` too, which
#' this sampler does not do.
#' @section Errors: `gibbsite_error_argument` for more draws than there are.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' dim(log_lik(fit))
#' dim(posterior_predict(fit, draws = 10))
#' if (requireNamespace("loo", quietly = TRUE)) loo::loo(fit)
#' @name gmm-checks
#' @export
log_lik.gibbs_gmm <- function(object, newdata = NULL, draws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  x <- gmm_newdata(model, newdata, call)
  all <- do.call(rbind, chain_matrices(object))
  rows <- spread_rows(draws, nrow(all), call)
  out <- evaluate_observed(
    gmm_blocks(model, all[rows, , drop = FALSE]), x, density = TRUE
  )$log_density
  colnames(out) <- rownames(x)
  out
}

# `count` of `available` draws, spread evenly; NULL: all.
spread_rows <- function(count, available, call) {
  if (is.null(count)) {
    return(seq_len(available))
  }
  count <- check_count(
    count, max = available, max_why = "draws of the fit", arg = "draws",
    call = call
  )
  unique(round(seq(1, available, length.out = count)))
}

#' @rdname gmm-checks
#' @export
posterior_predict.gibbs_gmm <- function(object, draws = NULL, nobs = NULL,
                                        ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(object, "model")
  n <- check_count(nobs %||% model$nobs, arg = "nobs")
  all <- do.call(rbind, chain_matrices(object))
  rows <- spread_rows(draws, nrow(all), call)
  b <- gmm_blocks(model, all)
  d <- b$d
  check_result_size(
    c(length(rows), n, d), "draws x observations x variables",
    "{.arg draws} or {.arg nobs}", call
  )
  out <- vapply(rows, function(s) {
    p <- parameters_of_row(b, s)
    sim_normals(p, sample.int(b$k, n, replace = TRUE, prob = p$pi))
  }, matrix(0, n, d))
  out <- aperm(array(out, c(n, d, length(rows))), c(3L, 1L, 2L))
  dimnames(out) <- list(NULL, NULL, model$variables)
  if (d == 1L) matrix(out, length(rows), n) else out
}

# pi, mu (k x d) and Sigma (k x d x d) of one draw.
parameters_of_row <- function(blocks, s) {
  k <- blocks$k
  d <- blocks$d
  one <- utils::modifyList(
    blocks, lapply(blocks[c("pi", "mu", "sigma")], function(m) {
      m[s, , drop = FALSE]
    })
  )
  sigma <- array(0, c(k, d, d))
  for (i in seq_len(d)) {
    for (j in seq_len(d)) {
      sigma[, i, j] <- gmm_covariance(one, i, j)
    }
  }
  list(pi = as.vector(one$pi), mu = matrix(one$mu, k, d), Sigma = sigma)
}

#' @rdname gmm-checks
#' @exportS3Method bayesplot::pp_check
pp_check.gibbs_gmm <- function(object, draws = NULL, variable = 1, ...) {
  model <- fit_part(object, "model")
  draws <- draws %||% min(50, sum(vapply(chain_matrices(object), nrow, 0L)))
  j <- if (is.character(variable)) {
    match(variable, model$variables)
  } else {
    variable
  }
  if (length(j) != 1L || !j %in% seq_along(model$variables)) {
    abort_argument(
      "{.arg variable} must be one of {.val {model$variables}}."
    )
  }
  if (is.null(model$data)) {
    abort_argument(c(
      "{.arg object} must hold its data to be compared with them.",
      i = "It was made with {.code keep_data = FALSE} or {.fn drop_data}."
    ))
  }
  y <- model$data$x[, j]
  replicated <- posterior_predict(object, draws = draws)
  if (length(model$variables) > 1L) {
    replicated <- matrix(replicated[, , j], dim(replicated)[[1L]])
  }
  seen <- !is.na(y)
  bayesplot::ppc_dens_overlay(
    unname(y[seen]), replicated[, seen, drop = FALSE], ...
  )
}

#' Simulate from a Gaussian mixture
#'
#' @param n Whole number, at least 1: how many observations.
#' @param pi The weights of the `k` components, positive numbers that sum to 1.
#' @param mu The means, a `k x d` matrix (for one variable a vector of `k`).
#' @param Sigma The covariances: a `k x d x d` array, one `d x d` matrix for
#'   all components, or for one variable `k` (or one) variances.
#' @return A matrix with `n` rows and `d` columns, with the components that the
#'   observations came from in its attribute `z`. Random numbers come from R's
#'   generator.
#' @section Errors: `gibbsite_error_argument` for sizes that do not fit and
#'   matrices that are not positive definite.
#' @examples
#' x <- sim_gmm(200, c(0.3, 0.7), rbind(c(0, 0), c(4, 1)), diag(2))
#' plot(x, col = attr(x, "z"))
#' @export
sim_gmm <- function(n, pi, mu, Sigma) { # nolint: object_name_linter.
  check_needed(
    n = "how many observations", pi = "the weights", mu = "the means",
    Sigma = "the covariances"
  )
  call <- rlang::current_env()
  check_unlocked(call)
  n <- check_count(n)
  pi <- check_numeric_vector(pi, lower = 0)
  k <- length(pi)
  if (abs(sum(pi) - 1) > 1e-8) {
    abort_argument("{.arg pi} must sum to 1, not {sum(pi)}.")
  }
  mu <- check_means(mu, call)
  d <- ncol(mu)
  check_init_shape(mu, c(k, d), "mu", call)
  sigma <- sim_covariances(Sigma, k, d, call)
  check_result_size(
    c(n, d), "observations x variables", "{.arg n}", call
  )
  z <- sample.int(k, n, replace = TRUE, prob = pi)
  x <- sim_normals(list(mu = mu, Sigma = sigma), z)
  colnames(x) <- colnames(mu) %||% paste0("x", seq_len(d))
  structure(x, z = z)
}

check_means <- function(mu, call) {
  if (is.data.frame(mu)) {
    return(matrix_from_data_frame(mu, "mu", call))
  }
  if (!is.numeric(mu) || is.object(mu) || length(dim(mu)) > 2L ||
        length(mu) > longest_vector) {
    abort_expected(mu, "a numeric matrix or vector", FALSE, "mu", call)
  }
  as.matrix(mu)
}

sim_covariances <- function(sigma, k, d, call) {
  if (!is.numeric(sigma) || !length(sigma) %in% c(d^2, k * d^2)) {
    given <- describe(sigma)
    abort_argument(
      "{.arg Sigma} must be {k} x {d} x {d} or {d} x {d} numbers for a
       {.arg mu} of {k} x {d}, not {given}.",
      call = call
    )
  }
  if (length(sigma) == d^2 && (k > 1L || is.null(dim(sigma)) || d > 1L)) {
    sigma <- array(rep(sigma, each = k), c(k, d, d))
  }
  sigma <- array(sigma, c(k, d, d))
  for (c in seq_len(k)) {
    check_spd_matrix(
      matrix(sigma[c, , ], d, d), d, arg = paste0("Sigma[", c, ", , ]"),
      call = call
    )
  }
  sigma
}

# ---- search for a mode ---------------------------------------------------

#' @exportS3Method
model_climb.gmm_model <- function(model, state, threads) {
  control <- list(burnin = 0, thin = 1, threads = threads)
  state <- interrupt_or(
    .Call(C_gmm_sweeps, model$data, state, 1, control, TRUE)
  )$state
  list(state = state, log_joint = gmm_log_joint(model, state))
}

# Largest component first.
#' @exportS3Method
model_estimate.gmm_model <- function(model, state) {
  p <- gmm_parameters(model, state)
  rank <- order(-p$pi)
  estimate <- list(
    pi = p$pi[rank], mu = p$mu[rank, , drop = FALSE],
    Sigma = p$Sigma[rank, , , drop = FALSE],
    z = match(state$z, rank), x_missing = state$x_missing
  )
  dimnames(estimate$mu) <- list(NULL, model$variables)
  dimnames(estimate$Sigma) <- list(NULL, model$variables, model$variables)
  estimate
}

#' @export
print.gmm_map <- function(x, ...) {
  check_map(x)
  NextMethod()
  writeLines("")
  table <- cbind(weight = x$estimate$pi, x$estimate$mu)
  rownames(table) <- seq_len(x$model$k)
  print(signif(table, 4))
  invisible(x)
}

#' @rdname gibbsite_map
#' @param newdata `NULL` for the data of the search, or new observations.
#' @param type For a mixture: `"cluster"`, the most probable component of each
#'   observation, or `"prob"`, the probabilities of all.
#' @export
predict.gmm_map <- function(object, newdata = NULL, type = c("cluster", "prob"),
                            ...) {
  check_map(object)
  check_no_more(...)
  type <- check_choice(type, c("cluster", "prob"))
  model <- object$model
  x <- gmm_newdata(model, newdata, rlang::current_env())
  e <- object$estimate
  blocks <- list(
    k = model$k, d = length(model$variables), covariance = "full",
    pi = matrix(e$pi, 1L), mu = matrix(e$mu, 1L), sigma = matrix(e$Sigma, 1L)
  )
  prob <- evaluate_observed(blocks, x, prob = TRUE)$prob
  dimnames(prob) <- list(rownames(x), seq_len(model$k))
  if (type == "prob") {
    return(prob)
  }
  stats::setNames(max.col(prob, ties.method = "first"), rownames(x))
}

# ---- pictures ------------------------------------------------------------

#' Plot a Gaussian mixture
#'
#' One variable: a histogram with the posterior mean of the density, the band
#' that holds it pointwise with probability `level`, and the components. Two
#' variables: the observations coloured by cluster (paler where the cluster is
#' less certain), the contours of the posterior predictive density and for each
#' component the ellipse that holds `level` of it. More: a matrix of scatter
#' plots of at most six variables, with the components' ellipses. Components
#' are drawn at the posterior mean of their parameters, renumbered as by
#' [relabel()].
#'
#' @param x A fit made by [gibbs_gmm()].
#' @param type `"mixture"` (the default where the fit holds its data), or types
#'   of [plot.gibbsite_fit()], such as `"trace"`.
#' @param level Number between 0 and 1, default 0.9: the probability of bands
#'   and ellipses.
#' @param variables For `"mixture"` with several variables: which to show, names
#'   or numbers, at most six; otherwise as in [plot.gibbsite_fit()].
#' @param ... Graphical parameters for `"mixture"`.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type` or variable,
#'   and for `"mixture"` without the data.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' plot(fit)
#' plot(fit, type = "trace")
#' @export
plot.gibbs_gmm <- function(x, type = NULL, level = 0.9, variables = NULL, ...) {
  call <- rlang::current_env()
  model <- fit_part(x, "model")
  type <- type %||% if (is.null(model$data)) "trace" else "mixture"
  if (!identical(type, "mixture")) {
    for (one in type) {
      check_choice(one, c("mixture", plot_types), arg = "type")
    }
    plot.gibbsite_fit(x, type = type, variables = variables, ...)
    return(invisible(x))
  }
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  if (is.null(model$data)) {
    abort_argument(c(
      "{.code type = \"mixture\"} needs the data, which the fit does not hold.",
      i = "Use {.code type = \"trace\"}."
    ))
  }
  shown <- plotted_variables(model, variables, call)
  if (length(shown) == 1L) {
    plot_density(x, shown, level, ...)
  } else if (length(shown) == 2L) {
    plot_plane(x, shown, level, ...)
  } else {
    plot_pairs(x, shown, level, ...)
  }
  invisible(x)
}

plotted_variables <- function(model, variables, call) {
  names <- model$variables
  if (is.null(variables)) {
    return(utils::head(seq_along(names), 6L))
  }
  found <- if (is.character(variables)) match(variables, names) else variables
  if (length(found) == 0L || length(found) > 6L || anyDuplicated(found) ||
        !all(found %in% seq_along(names))) {
    abort_argument(
      "{.arg variables} must be at most six of {.val {names}}.", call = call
    )
  }
  found
}

# The mixture at the posterior mean of its renumbered parameters, the variables
# shown alone.
mean_mixture <- function(fit, shown) {
  model <- fit_part(fit, "model")
  mean <- colMeans(do.call(
    rbind, model_relabelled(model, chain_matrices(fit))
  ))
  blocks <- gmm_blocks(model, t(mean))
  p <- parameters_of_row(marginal_blocks(blocks, shown), 1L)
  p$colours <- gibbsite_palette(model$k)
  p
}

component_legend <- function(p, ..., lty = 1) {
  graphics::legend(
    ..., bty = "n", xpd = NA, cex = 0.9, lty = lty, col = p$colours, lwd = 2,
    legend = sprintf("%d: weight %.2f", seq_along(p$pi), p$pi)
  )
}

# ---- one variable

plot_density <- function(fit, j, level, ...) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, j]
  x <- x[!is.na(x)]
  p <- mean_mixture(fit, j)
  draws <- do.call(rbind, chain_matrices(fit))
  rows <- unique(round(seq(1, nrow(draws), length.out = 1000)))
  at <- seq_range(grDevices::extendrange(x, f = 0.1), 400L)
  blocks <- marginal_blocks(
    gmm_blocks(model, draws[rows, , drop = FALSE]), j
  )
  band <- predict_density(blocks, matrix(at), level)
  bars <- graphics::hist(
    x, breaks = max(10, min(60, ceiling(2 * sqrt(length(x))))), plot = FALSE
  )
  old <- graphics::par(mar = c(4.1, 4.1, 2.6, 1.1))
  on.exit(graphics::par(old))
  defaults <- list(
    x = bars, freq = FALSE, col = "grey90", border = "grey75", main = "",
    xlim = range(at), ylim = c(0, 1.05 * max(bars$density, band$upper)),
    xlab = model$variables[[j]], ylab = "density", las = 1
  )
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  graphics::polygon(
    c(at, rev(at)), c(band$lower, rev(band$upper)), border = NA,
    col = grDevices::adjustcolor("black", 0.2)
  )
  graphics::lines(at, band$mean, lwd = 2)
  for (c in seq_along(p$pi)) {
    graphics::lines(
      at, p$pi[[c]] * stats::dnorm(at, p$mu[c, 1L], sqrt(p$Sigma[c, 1L, 1L])),
      col = p$colours[[c]], lwd = 2, lty = 2
    )
  }
  graphics::rug(x, col = "grey50")
  component_legend(p, "topright", lty = 2)
}

seq_range <- function(limits, n) seq(limits[[1L]], limits[[2L]], length.out = n)

# ---- two variables

plot_plane <- function(fit, shown, level, ...) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, shown, drop = FALSE]
  p <- mean_mixture(fit, shown)
  limits <- apply(x, 2L, function(values) {
    grDevices::extendrange(values[!is.na(values)], f = 0.08)
  })
  names <- model$variables[shown]
  defaults <- list(
    x = x, type = "n", xlim = limits[, 1L], ylim = limits[, 2L],
    xlab = names[[1L]], ylab = names[[2L]], las = 1, bty = "l"
  )
  old <- graphics::par(mar = c(4.1, 4.1, 2.6, 1.1))
  on.exit(graphics::par(old))
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  draw_contours(fit, model, shown)
  draw_observations(x, predict(fit, type = "prob"), p$colours)
  draw_ellipses(p, level)
  component_legend(p, "top", horiz = TRUE, inset = c(0, -0.08))
}

# Paler where the most probable component is less certain; a tick at the axis
# where the other value is missing.
draw_observations <- function(x, prob, colours) {
  cluster <- max.col(prob, ties.method = "first")
  certainty <- prob[cbind(seq_along(cluster), cluster)]
  least <- 1 / ncol(prob)
  strength <- if (least < 1) (certainty - least) / (1 - least) else 1
  shade <- mapply(
    grDevices::adjustcolor, colours[cluster], pmax(0.12, 0.8 * strength)
  )
  graphics::points(x, pch = 19, cex = 0.7, col = shade)
  edge <- graphics::par("usr")[c(1L, 3L)]
  no_y <- is.na(x[, 2L]) & !is.na(x[, 1L])
  no_x <- is.na(x[, 1L]) & !is.na(x[, 2L])
  graphics::points(x[no_y, 1L], rep(edge[[2L]], sum(no_y)), pch = "|",
                   col = shade[no_y])
  graphics::points(rep(edge[[1L]], sum(no_x)), x[no_x, 2L], pch = "-",
                   cex = 1.5, col = shade[no_x])
}

# The posterior predictive density from at most 200 draws, on a 60 x 60 grid
# over the plot.
draw_contours <- function(fit, model, shown) {
  draws <- do.call(rbind, chain_matrices(fit))
  rows <- unique(round(seq(1, nrow(draws), length.out = 200)))
  edges <- matrix(graphics::par("usr"), 2L)
  across <- seq_range(edges[, 1L], 60L)
  up <- seq_range(edges[, 2L], 60L)
  blocks <- marginal_blocks(
    gmm_blocks(model, draws[rows, , drop = FALSE]), shown
  )
  log_density <- evaluate_draws(
    blocks, as.matrix(expand.grid(across, up)), density = TRUE
  )$log_density
  density <- matrix(colMeans(exp(log_density)), 60L, 60L)
  graphics::contour(
    across, up, density, add = TRUE, drawlabels = FALSE,
    levels = max(density) * c(0.02, 0.05, 0.1, 0.2, 0.4, 0.7), col = "grey75"
  )
}

# The ellipse that holds `level` of each component, its centre a cross.
draw_ellipses <- function(p, level, columns = 1:2) {
  angle <- seq(0, 2 * pi, length.out = 200)
  circle <- cbind(cos(angle), sin(angle)) * sqrt(stats::qchisq(level, 2))
  for (c in seq_along(p$pi)) {
    centre <- p$mu[c, columns]
    edge <- circle %*% chol(p$Sigma[c, columns, columns]) +
      rep(centre, each = nrow(circle))
    graphics::lines(edge, col = p$colours[[c]], lwd = 2)
    graphics::points(
      centre[[1L]], centre[[2L]], pch = 3, cex = 1.4, lwd = 2,
      col = p$colours[[c]]
    )
  }
}

# ---- more variables

plot_pairs <- function(fit, shown, level, ...) {
  model <- fit_part(fit, "model")
  x <- model$data$x[, shown, drop = FALSE]
  p <- mean_mixture(fit, shown)
  cluster <- predict(fit)
  colours <- grDevices::adjustcolor(p$colours, 0.6)[cluster]
  # pairs() hands a panel two columns but not their numbers; its place on the
  # page tells (row and column of the panel: y and x)
  panel <- function(a, b, ...) {
    graphics::points(a, b, pch = 19, cex = 0.8, col = colours)
    draw_ellipses(p, level, graphics::par("mfg")[2:1])
  }
  graphics::pairs(x, panel = panel, gap = 0.3, las = 1, ...)
}
