# Labels of a mixture's components: renumbering, allocation probabilities and
# co-clustering.

# ---- The numbering of the draws ----------------------------------------------

# A component of a draw gets the number of the pivot's component with which it
# shares most points: the assignment problem over expected counts, pivotal
# reordering by allocations (Papastamoulis & Iliopoulos 2010,
# doi:10.1198/jcgs.2010.09008) with probabilities instead of drawn allocations.
#
# The pivot is a mode of the posterior, or a draw of a short chain if the draws
# of that chain agree with it much better: the highest density may be where
# little of the posterior is. The pivot depends on the data, the prior and the
# kind of generator, and neither on the seed nor on the draws. So all runs use
# the same numbers, and a fit that is continued keeps them. Where the prior
# differs between the components it numbers them, and draws stay as they are.

#' @exportS3Method
model_prepare.gmm_model <- function(model, running, call) {
  if (!is_numbered(model) && model$k > 1L && is_exchangeable(model)) {
    numbered <- cut_short(allowInterrupts(with_pivot(model, call)))
    if (is.null(numbered)) {
      return(unfinished(model))
    }
    model <- numbered
  }
  class(model) <- setdiff(class(model), "unfinished_model")
  model
}

is_exchangeable <- function(model) length(unique(model$prior$alpha)) == 1L

# The pivot: the highest mode, or the state of a short chain with which the
# draws of that chain agree better by more than 0.05.
gmm_pivot <- function(model) {
  some <- model_of_some(model)
  pivot <- pivot_of(gmm_parameters(model, highest_mode(some)))
  pilot <- pilot_draws(some)
  if (nrow(pilot) == 0L) {
    return(pivot)
  }
  blocks <- gmm_blocks(model, pilot)
  others <- lapply(seq_len(nrow(pilot)), function(s) {
    one <- gmm_blocks(model, pilot[s, , drop = FALSE])
    pivot_of(parameters_of_blocks(one))
  })
  agreement <- vapply(c(list(pivot), others), function(one) {
    mean(pivot_agreement(one, blocks))
  }, 0)
  best <- which.max(agreement[-1L])
  clearly <- agreement[best + 1L] > agreement[1L] + 0.05
  if (isTRUE(clearly)) others[[best]] else pivot
}

# list(points, labels): points at which a draw is compared with the pivot, and
# the number of the component to which each belongs, 1 for the largest. The
# points of a component are its mean and one standard deviation from it along at
# most four principal axes.
pivot_of <- function(p) {
  d <- ncol(p$mu)
  rank <- order(-p$pi)
  points <- lapply(rank, function(c) {
    axes <- eigen(matrix(p$Sigma[c, , ], d, d), symmetric = TRUE)
    shown <- seq_len(min(d, 4L))
    steps <- t(axes$vectors[, shown, drop = FALSE]) * sqrt(axes$values[shown])
    rep(p$mu[c, ], each = 2L * nrow(steps) + 1L) + rbind(0, steps, -steps)
  })
  list(
    points = do.call(rbind, points),
    labels = rep(seq_along(rank), vapply(points, nrow, 0L))
  )
}

# Draws x components: the share of the component's points of the pivot that the
# draw gives to the component with which it is matched.
pivot_agreement <- function(pivot, blocks) {
  agreement <- evaluate_draws(
    blocks, pivot$points, pivot = pivot$labels
  )$agreement
  labels <- match_labels(agreement)
  shares <- matrix(0, nrow(labels), ncol(labels))
  shares[cbind(c(row(labels)), c(labels))] <-
    agreement[cbind(c(row(labels)), c(col(labels)), c(labels))]
  sweep(shares, 2L, tabulate(pivot$labels), `/`)
}

#' @exportS3Method
model_notes.gmm_model <- function(model, fit, table) {
  c(empty_line(model, fit), swapped_components_line(model, fit))
}

# Components whose number belongs to another one in more than 2% of the draws. A
# draw counts as swapped if the component keeps less than a quarter of its usual
# share of the pivot's points. At most 250 draws of each chain are looked at.
swapped_components_line <- function(model, fit) {
  if (!is_numbered(model)) {
    return(NULL)
  }
  draws <- do.call(rbind, lapply(model_matrices(fit), function(draws) {
    draws[evenly(nrow(draws), 250), , drop = FALSE]
  }))
  shares <- pivot_agreement(model$pivot, gmm_blocks(model, draws))
  usual <- column_quantiles(shares, 0.9)
  other <- colMeans(sweep(shares, 2L, usual / 4, `<`))
  swapped <- which(other > 0.02)
  if (length(swapped) > 0L) {
    paste0(
      "Not the same component in all draws: ", few_words(paste0(
        swapped, " (another in ", round(100 * other[swapped]), "% of them)"
      )), ". Rows of such a number mix several components; densities, ",
      "clusters and coclustering() do not depend on numbers."
    )
  }
}

# Every fifth draw of a chain after 200 sweeps; none if a sweep fails.
pilot_draws <- function(model) {
  control <- list(burnin = 0, thin = 5, threads = 1)
  tryCatch(
    {
      start <- one_start(model, NULL)
      run <- interrupt_or(model_sweeps(model, start, 350, control))
      run$draws[-seq_len(40L), , drop = FALSE]
    },
    error = function(cnd) matrix(0, 0L, 0L)
  )
}

# The state of the highest of several modes, each after some sweeps of
# conditional modes.
highest_mode <- function(model) {
  best <- highest_climb(model, 5L, 50)
  best$end %||% best$start
}

# The numbers of the components of each draw: integers, draws x k.
pivot_labels <- function(model, draws) {
  match_labels(evaluate_draws(
    gmm_blocks(model, draws), model$pivot$points, pivot = model$pivot$labels
  )$agreement)
}

# In each row the component that got the number 1, 2, ...
inverse_labels <- function(labels) {
  out <- labels
  rows <- row(labels)
  out[cbind(c(rows), c(labels))] <- col(labels)
  out
}

unnumbered <- function(model, draws) {
  matrix(rep(seq_len(model$k), each = draws), draws, model$k)
}

#' @exportS3Method
model_numbered.gmm_model <- function(model, run, before) {
  n <- nrow(run$draws)
  numbering <- before$numbering
  labels <- unnumbered(model, n)
  if (is_numbered(model) && n > 0L) {
    labels <- pivot_labels(model, run$draws)
    numbering <- list(
      last = labels[n, ],
      switches = numbering$switches + count_switches(
        rbind(if (length(numbering$last) > 0L) numbering$last, labels)
      )
    )
    run$draws <- move_components(model, run$draws, labels)
  }
  if ("labels" %in% model$keep) {
    run$draws <- cbind(run$draws, inverse_labels(labels))
  }
  run$state$numbering <- numbering
  run
}

# agreement: draws x k x k, expected number of observations that component a of
# the draw shares with component b of the pivot.
match_labels <- function(agreement) {
  k <- dim(agreement)[[2L]]
  draws <- nrow(agreement)
  labels <- matrix(0L, draws, k)
  # where the components' first choices differ, they are the solution
  for (a in seq_len(k)) {
    labels[, a] <- max.col(
      matrix(agreement[, a, ], draws, k), ties.method = "first"
    )
  }
  taken <- matrix(FALSE, draws, k)
  taken[cbind(rep(seq_len(draws), k), c(labels))] <- TRUE
  for (s in which(rowSums(taken) < k)) {
    labels[s, ] <- as.integer(
      clue::solve_LSAP(matrix(agreement[s, , ], k, k), maximum = TRUE)
    )
  }
  labels
}

# ---- Renumbered draws --------------------------------------------------------

# Draws (all chains together) with the number of component c moved to place
# labels[, c]. Every block has k numbers for each of its columns, component
# fastest; a shared covariance is not moved. Draws of the core have no names.
move_components <- function(model, draws, labels) {
  k <- model$k
  d <- length(model$variables)
  groups <- switch(model$covariance,
    full = 1L + d + d * d, diagonal = 1L + 2L * d, shared = 1L + d
  )
  rows <- seq_len(nrow(draws))
  out <- draws
  # the sampler's own numbers, if they are stored
  own <- which(startsWith(colnames(draws) %||% "", "label["))
  for (before in c((seq_len(groups) - 1L) * k, utils::head(own, 1L) - 1L)) {
    for (c in seq_len(k)) {
      out[cbind(rows, before + labels[, c])] <- draws[, before + c]
    }
  }
  # points that are parameters alone have no further columns
  z <- intersect(which(startsWith(model$columns, "z[")), seq_len(ncol(draws)))
  if (length(z) > 0L) {
    old <- as.vector(draws[, z])
    out[, z] <- labels[cbind(rep(rows, length(z)), old)]
  }
  out
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

#' Renumber the components or topics of the draws
#'
#' The components of a mixture are exchangeable, and so are the topics of a
#' topic model: the posterior is the same under any numbering, and a sampler may
#' change the numbering from draw to draw. The draws of a fit are numbered to
#' agree with each other (see [gibbs_gmm()], section Labels, and [gibbs_lda()],
#' section Topics). `relabel()` returns a copy of the draws in another
#' numbering. The draws in the fit do not change.
#'
#' @param fit A fit made by [gibbs_gmm()] or [gibbs_lda()].
#' @param method `"pivot"` (default): the numbering of the fit. If the prior
#'   differs between the components of a mixture, its draws are not renumbered
#'   in the fit; `"pivot"` is then the numbering that agrees best with a mode.
#'   `"ordered"`, for mixtures: by increasing mean of one variable within each
#'   draw. `"random"`, for mixtures: a random numbering of each draw, from R's
#'   generator. Under the posterior all numberings are equally probable, so this
#'   leaves it invariant. It is an error when the prior is not the same for all
#'   components. `"none"`: the sampler's own numbering, which a fit stores with
#'   `keep = "labels"`.
#' @param by For `"ordered"`: the variable, a name or a number; default the
#'   first.
#' @param x,object What `relabel()` returns.
#' @param type,variables As in [plot.gibbsite_fit()]; `variables` are names of
#'   columns or blocks, by default as many of the first as a page holds.
#' @param ... Not used.
#' @return A [coda::mcmc.list] of class `relabelled_draws` with two attributes:
#'   `labels`, for each chain a matrix (draws x components) of the numbers given
#'   to the components of the fit, and `switches`, for each chain how often
#'   these changed from one draw to the next. `plot()` and
#'   `ggplot2::autoplot()` draw the chains.
#' @section Errors: `gibbsite_error_argument` for other fits, an unknown
#'   variable, `"random"` with unequal `alpha`, `"none"` without the sampler's
#'   numbers, and `"ordered"` or `"random"` with topics.
#' @references
#' Papastamoulis P, Iliopoulos G (2010). An artificial allocations based
#' solution to the label switching problem in Bayesian analysis of mixtures of
#' distributions. *Journal of Computational and Graphical Statistics* 19,
#' 313-331. \doi{10.1198/jcgs.2010.09008}
#' @seealso [gibbs_gmm()], [gibbs_lda()], [coclustering()], which needs no
#'   numbers.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   keep = "labels", seed = 1, progress = FALSE
#' )
#' coda::effectiveSize(relabel(fit, "ordered", by = "waiting")[, "mu[1,1]"])
#' own <- relabel(fit, "none")
#' attr(own, "switches")
#' plot(own, "trace", variables = "mu")
#' @export
relabel <- function(fit, method = c("pivot", "ordered", "random", "none"),
                    by = 1) {
  check_needed(fit = "a fit made by gibbs_gmm() or gibbs_lda()")
  check_fit_of(fit, c("gibbs_gmm", "gibbs_lda"))
  method <- check_choice(method, c("pivot", "ordered", "random", "none"))
  if (!missing(by) && method != "ordered") {
    abort_argument(
      "{.arg by} is for {.code method = \"ordered\"} alone."
    )
  }
  call <- rlang::current_env()
  model <- fit_part(fit, "model")
  check_fixed_k(model, "{.fn relabel}", call)
  numbered <- model_renumbered(model, model_matrices(fit), method, by, call)
  labels <- lapply(numbered, `[[`, "labels")
  mcpar <- attr(.subset2(fit, 1L), "mcpar")
  structure(
    lapply(numbered, function(one) as_mcmc_matrix(one$draws, mcpar = mcpar)),
    class = c("relabelled_draws", "mcmc.list"), labels = labels,
    switches = vapply(labels, count_switches, 0)
  )
}

# R-hats are those of the numbering: they say whether it is the same in all
# chains.
picture_relabelled <- function(x, type = c("trace", "density"),
                               variables = NULL, ..., call, arg) {
  if (!coda::is.mcmc.list(x) || length(x) == 0L ||
        !all(vapply(x, is.matrix, NA))) {
    abort_argument(
      "{.arg {arg}} must be what {.fn relabel} returns, whole.", call = call
    )
  }
  type <- check_plot_types(type %||% c("trace", "density"), call)
  draws <- stack_chains(lapply(x, unclass))
  sets <- list(seq_along(x))
  draws <- if (is.null(variables)) {
    default_draws(draws, sets, most_quantities(type))
  } else {
    draws[, , choose_variables(variables, dimnames(draws)$variable, call),
          drop = FALSE]
  }
  running <- list(
    burnin = stats::start(x) - coda::thin(x), thin = coda::thin(x),
    draws = coda::niter(x)
  )
  picture_draws(draws, sets, running, type, call)
}

#' @rdname relabel
#' @export
plot.relabelled_draws <- plot_method(picture_relabelled)

#' @rdname relabel
#' @exportS3Method ggplot2::autoplot
autoplot.relabelled_draws <- autoplot_method(picture_relabelled)

#' @exportS3Method
model_renumbered.gmm_model <- function(model, chains, method, by, call) {
  if (method == "pivot") {
    model <- with_pivot(model, call)
  }
  lapply(chains, function(draws) {
    labels <- switch(method,
      pivot = pivot_labels(model, draws),
      ordered = ordered_labels(model, draws, by, call),
      random = random_labels(model, draws, call),
      none = own_labels(model, draws, call)
    )
    list(draws = move_components(model, draws, labels), labels = labels)
  })
}

#' @exportS3Method
model_renumbered.lda_model <- function(model, chains, method, by, call) {
  if (!method %in% c("pivot", "none")) {
    abort_argument(
      "{.arg method} of a topic model must be {.val pivot} or {.val none}, not
       {.val {method}}.",
      call = call
    )
  }
  lapply(chains, function(draws) {
    labels <- if (method == "none") {
      own_labels(model, draws, call)
    } else {
      unnumbered(model, nrow(draws))
    }
    list(draws = in_own_numbers(model, draws, labels), labels = labels)
  })
}

# Also where the prior differs between the components.
with_pivot <- function(model, call) {
  if (!is_numbered(model)) {
    if (is.null(model$data)) abort_no_data("fit", call)
    stream <- chain_streams(1L, 1L, call)[[1L]]
    model$pivot <- with_stream(stream, gmm_pivot(model), call)$value
  }
  model
}

# The numbers that the sampler gave to the fit's components.
own_labels <- function(model, draws, call) {
  if (!is_numbered(model)) {
    return(unnumbered(model, nrow(draws)))
  }
  if (!"labels" %in% model$keep) {
    abort_argument(
      c("{.arg fit} does not hold the sampler's own numbers.",
        i = "Fit again with {.code keep = \"labels\"}."),
      call = call
    )
  }
  as_integer_matrix(
    unname(draws[, startsWith(model$columns, "label["), drop = FALSE])
  )
}

check_gmm <- function(fit, call = rlang::caller_env()) {
  check_fit_of(fit, "gibbs_gmm", call = call)
}

# With an unknown number of components, their numbers differ between draws.
check_fixed_k <- function(model, what, call) {
  if (draws_k(model)) {
    abort_unknown_k(
      what, call,
      "{.fn coclustering} and {.fn point_clustering} do not need numbers."
    )
  }
}

abort_unknown_k <- function(what, call, hint) {
  abort_argument(
    c(paste(what, "needs a mixture with a fixed number of components."),
      i = hint),
    call = call, class = "unknown_k"
  )
}

count_switches <- function(labels) {
  n <- nrow(labels)
  changed <- labels[-1L, , drop = FALSE] != labels[-n, , drop = FALSE]
  sum(rowSums(changed) > 0)
}

ordered_labels <- function(model, draws, by, call) {
  j <- if (is.character(by)) match(by, model$variables) else by
  if (!is.numeric(j) || length(j) != 1L || !j %in% seq_along(model$variables)) {
    given <- describe(by)
    abort_argument(
      paste(
        "{.arg by} must be one of the variables {.val {model$variables}},",
        "not {given}."
      ),
      call = call
    )
  }
  mu <- gmm_mean(gmm_blocks(model, draws), j)
  matrix(t(apply(mu, 1L, rank, ties.method = "first")), nrow(draws), model$k) |>
    as_integer_matrix()
}

random_labels <- function(model, draws, call) {
  check_unlocked(call)
  if (!is_exchangeable(model)) {
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

#' @rdname coclustering
#' @export
allocation_probabilities <- function(fit) {
  check_needed(fit = "a fit made by gibbs_gmm()")
  check_gmm(fit)
  model <- fit_part(fit, "model")
  check_fixed_k(model, "{.fn allocation_probabilities}", rlang::current_env())
  states <- lapply(fit_part(fit, "chains"), `[[`, "state")
  if (states[[1]]$kept == 0) {
    abort_no_averages("The probabilities", rlang::current_env())
  }
  n <- model$rows
  k <- model$k
  prob <- vapply(states, function(state) {
    raw <- matrix(state$prob, n, k)
    last <- state$numbering$last
    if (length(last) == k) raw[, order(last), drop = FALSE] else raw
  }, matrix(0, n, k))
  list(
    prob = array(prob, c(n, k, length(states)),
                 list(rownames(model$data$x), seq_len(k), NULL)),
    switches = vapply(states, function(state) state$numbering$switches, 0)
  )
}

#' Allocations of the observations of a mixture
#'
#' `coclustering()` is the proportion of draws in which two observations were
#' allocated to the same component. It does not depend on the numbering of the
#' components. `allocation_probabilities()` are the probabilities of the
#' components of each observation, averaged as the chains ran.
#'
#' `allocation_probabilities()` are for each chain the mean over its kept draws
#' of \eqn{P(z_i = c \mid x_i, \pi, \mu, \Sigma)}{P(z_i = c | x_i, pi, mu,
#' Sigma)}. The sampler accumulates them in its own numbering, and the numbering
#' of the last draw is applied to the whole chain at the end. The means are
#' therefore meaningful only for a chain in which the sampler's numbering did
#' not change; `switches` says how often it did. `predict(fit, type = "prob")`
#' computes the probabilities again from all draws, each in its own numbering.
#'
#' `plot()` and `ggplot2::autoplot()` of what `coclustering()` returns show the
#' matrix with the observations in the order of a hierarchical clustering by
#' average linkage, so that clusters are squares on the diagonal. Of more than
#' 200 observations 200 evenly spaced in this order are drawn.
#'
#' @param x,object The value of `coclustering()`.
#' @param ... Not used.
#' @param fit A fit made by [gibbs_gmm()]. `coclustering()` needs `keep = "z"`,
#'   which is the default with an unknown `k`, and so does `point_clustering()`;
#'   `allocation_probabilities()` a fixed `k`.
#' @return `coclustering()`: a symmetric matrix of class `gmm_coclustering` with
#'   a row and a column for each observation, ones on its diagonal.
#'
#'   `allocation_probabilities()`: a list with `prob`, an array (observations x
#'   components x chains), and `switches`, for each chain how often the
#'   sampler's numbering changed from one draw to the next (0 where the prior
#'   differs between the components, which then are not renumbered). After an
#'   interrupt, the means include draws of the faster chains that the fit does
#'   not show yet.
#' @section Errors: `gibbsite_error_argument` for other fits, and when the
#'   allocations were not kept.
#' @seealso [predict.gibbs_gmm()] for
#'   the probabilities of components.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1, keep = "z", progress = FALSE
#' )
#' shared <- coclustering(fit)
#' shared[1:4, 1:4]
#' plot(shared)
#' kept <- allocation_probabilities(fit)
#' kept$switches
#' head(kept$prob[, , 1])
#' @export
coclustering <- function(fit) {
  check_needed(fit = "a fit made by gibbs_gmm()")
  z <- kept_allocations(fit, rlang::current_env())
  model <- fit_part(fit, "model")
  names <- rownames(model$data$x)
  shared <- .Call(C_coclustering, z)
  dimnames(shared) <- if (!is.null(names)) list(names, names)
  class(shared) <- c("gmm_coclustering", "matrix", "array")
  shared
}

# The draws of z of all chains, draws x observations.
kept_allocations <- function(fit, call) {
  check_gmm(fit, call)
  model <- fit_part(fit, "model")
  if (!"z" %in% model$keep) {
    abort_argument(
      c("{.arg fit} does not hold the draws of the allocations.",
        i = if (draws_k(model)) {
          "Fit again with {.code keep = c(\"components\", \"z\")}, the default."
        } else {
          "Fit again with {.code keep = \"z\"}."
        }),
      call = call
    )
  }
  bind_chains(chain_matrices(fit), columns = startsWith(model$columns, "z["))
}

# Draws of a fit in the sampler's own numbers: labels[, c] is that of topic c.
in_own_numbers <- function(model, draws, labels) {
  same <- row_codes(as.data.frame(labels))
  for (rows in split(seq_len(nrow(draws)), same)) {
    draws[rows, ] <- model_reordered(
      model, draws[rows, , drop = FALSE], order(labels[rows[[1L]], ])
    )
  }
  draws
}
