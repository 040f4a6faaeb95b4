# Bridge sampling of a mixture, for log_evidence().
#
# The draws are numbered by the pivot (R/gmm-labels.R), so that they are draws
# in the region of points with the pivot's numbering. Every point has one
# numbering in this region. The density there of draws that are numbered is the
# sum of the posterior density over all k! numberings, and its integral is the
# evidence. Only p(pi) changes with the numbering: where alpha is the same for
# all components, the sum is k! times one value.
#
# The proposal is the mean of the conditional densities that the Gibbs sampler
# has at some draws s (Frühwirth-Schnatter 2004),
#   g(pi, mu, Sigma) = mean_s p(pi | z_s) p(mu | Sigma_s, z_s, x)
#                             p(Sigma | mu_s, z_s, x).
# An empty component has its prior there, as it has in the posterior. A normal
# proposal would rarely draw such a component.

#' @exportS3Method
model_unbounded.gmm_model <- function(model, given, call) {
  if (is.null(model$data)) {
    abort_no_data(call = call)
  }
  k <- model$k
  if (!is_exchangeable(model) && k > 12L) {
    abort_argument(
      "{.arg fit} must have 12 components at most where {.field alpha} differs
       between them, not {k}: all their numberings are summed.",
      call = call, class = "no_evidence"
    )
  }
  if (k > 1L) {
    model <- with_pivot(model, call)
  }
  x <- model$data$x
  model$data$x <- x[rows_seen(x), , drop = FALSE]
  list(
    points = function(draws) numbered_draws(model, draws),
    ratios = function(before, kept) gmm_ratios(model, before, kept),
    method = "conditionals"
  )
}

# The pi, mu and Sigma of draws, in the pivot's numbering. A small alpha gives
# empty components weights that are 0 to rounding. The ratio of the densities
# hardly depends on such a weight: the posterior, and each kernel without
# observations in the component, have the same factor pi_c^(alpha - 1), and the
# other kernels are 0.
numbered_draws <- function(model, draws) {
  weights <- seq_len(model$k)
  draws[, weights] <- positive_weights(draws[, weights])
  if (model$k > 1L) {
    log_pi <- log(gmm_blocks(model, draws)$pi)
    draws <- move_components(model, draws, set_labels(model, draws, log_pi))
  }
  blocks <- gmm_blocks(model, draws)
  unname(cbind(blocks$pi, blocks$mu, blocks$sigma))
}

# A weight of 0 to rounding has no logarithm.
positive_weights <- function(pi) pmax(pi, .Machine$double.xmin)

# The pivot's numbers of components, whose order does not matter: components far
# from all points agree equally, to rounding, with each of the pivot's, and are
# told apart by their weights.
set_labels <- function(model, draws, log_pi) {
  n <- nrow(draws)
  rank <- log_pi
  heaviest <- order(row(log_pi), -log_pi)
  rank[cbind(rep(seq_len(n), each = model$k), col(log_pi)[heaviest])] <-
    seq_len(model$k)
  labels <- pivot_labels(model, move_components(model, draws, rank))
  matrix(labels[cbind(rep(seq_len(n), model$k), c(rank))], n)
}

# The log ratios of density and proposal at draws and at proposals. About 400 of
# the draws in `before` make the proposal, and it is compared with at most 8000
# of the draws in `kept`.
gmm_ratios <- function(model, before, kept) {
  kernels <- gmm_kernels(model, spaced_rows(before, 400))
  kept <- spaced_rows(kept, 8000)
  proposed <- propose_mixtures(model, kernels, nrow(kept))
  list(
    own = mixture_ratios(model, kept, log(gmm_blocks(model, kept)$pi), kernels),
    proposed = mixture_ratios(
      model, proposed$draws, proposed$log_pi, kernels
    )
  )
}

# The draws of all chains, or `most` of them, as many from each chain.
spaced_rows <- function(chains, most) {
  do.call(rbind, lapply(chains, function(x) {
    x[evenly(nrow(x), ceiling(most / length(chains))), , drop = FALSE]
  }))
}

mixture_ratios <- function(model, draws, log_pi, kernels) {
  rows <- row_blocks(
    nrow(draws), max(length(kernels$draws), length(model$data$x) * model$k),
    most = 4e6
  )
  unlist(lapply(rows, function(rows) {
    draws <- draws[rows, , drop = FALSE]
    log_pi <- log_pi[rows, , drop = FALSE]
    out <- rep(-Inf, nrow(draws))
    inside <- rep(TRUE, nrow(draws))
    if (model$k > 1L) {
      labels <- set_labels(model, draws, log_pi)
      inside <- rowSums(labels != col(labels)) == 0
    }
    if (any(inside)) {
      at <- mixture_points(model, draws[inside, , drop = FALSE],
                           log_pi[inside, , drop = FALSE])
      out[inside] <- mixture_log_joint(model, at) -
        conditionals_log_density(model, at, kernels)
    }
    out
  }))
}

# ---- the densities -----------------------------------------------------------

# What the densities need of points: log pi, mu by component (points x d), and
# by covariance matrix its inverse (points x elements) and log determinant.
mixture_points <- function(model, draws, log_pi) {
  blocks <- gmm_blocks(model, draws)
  k <- model$k
  d <- blocks$d
  covariances <- lapply(seq_len(gmm_matrices(model)), function(c) {
    if (model$covariance == "diagonal") {
      variances <- blocks$sigma[, c + k * (seq_len(d) - 1L), drop = FALSE]
      return(list(inverse = 1 / variances, log_det = rowSums(log(variances))))
    }
    step <- if (model$covariance == "shared") 1L else k
    invert_rows(
      blocks$sigma[, c + step * (seq_len(d * d) - 1L), drop = FALSE], d
    )
  })
  list(
    blocks = blocks, log_pi = log_pi,
    mu = lapply(seq_len(k), function(c) {
      blocks$mu[, c + k * (seq_len(d) - 1L), drop = FALSE]
    }),
    covariances = covariances
  )
}

# list(inverse, log_det) of d x d matrices, one a row of x, all at once: by M =
# L^-1 for x = LL', a column of all rows for each element.
invert_rows <- function(x, d) {
  at <- matrix(seq_len(d * d), d)
  m <- array(0, c(nrow(x), d, d))
  l <- m
  log_det <- 0
  for (j in seq_len(d)) {
    before <- seq_len(j - 1L)
    for (i in j:d) {
      left <- x[, at[i, j]] -
        rowSums(matrix(l[, i, before] * l[, j, before], nrow(x)))
      l[, i, j] <- if (i == j) sqrt(left) else left / l[, j, j]
    }
    log_det <- log_det + 2 * log(l[, j, j])
    m[, j, j] <- 1 / l[, j, j]
    for (i in before) {
      m[, j, i] <- -rowSums(matrix(l[, j, before] * m[, before, i], nrow(x))) /
        l[, j, j]
    }
  }
  inverse <- x
  for (e in seq_len(d * d)) {
    i <- row(at)[[e]]
    j <- col(at)[[e]]
    inverse[, e] <- rowSums(matrix(m[, , i] * m[, , j], nrow(x)))
  }
  list(inverse = inverse, log_det = log_det)
}

# How many covariance matrices there are.
gmm_matrices <- function(model) {
  if (model$covariance == "shared") 1L else model$k
}

# The log of likelihood times prior, summed over the numberings.
mixture_log_joint <- function(model, at) {
  likelihood <- rowSums(evaluate_observed(
    at$blocks, model$data$x, density = TRUE
  )$log_density)
  prior <- prior_kernel(model)
  likelihood + log_weights_prior(at$log_pi, model$prior$alpha) +
    drop(means_log_density(at, prior)) +
    drop(covariances_log_density(model, at, prior))
}

# The log of the mean of the conditional densities.
conditionals_log_density <- function(model, at, kernels) {
  a <- kernels$alpha
  constant <- lgamma(rowSums(a)) - rowSums(lgamma(a))
  value <- at$log_pi %*% t(a - 1) + rep(constant, each = nrow(at$log_pi)) +
    means_log_density(at, kernels) + covariances_log_density(model, at, kernels)
  high <- do.call(pmax, lapply(seq_len(ncol(value)), function(s) value[, s]))
  high + log(rowMeans(exp(value - high)))
}

# log N(mu | mean, precision^-1), summed over components: points x kernels. It
# is a polynomial of mu about the kernels' middle, for all of them one product.
means_log_density <- function(at, kernels) {
  Reduce(`+`, Map(function(mu, own) {
    d <- ncol(mu)
    middle <- rowMeans(matrix(vapply(own, `[[`, numeric(d), "mean"), d))
    mu <- mu - rep(middle, each = nrow(mu))
    coefficients <- vapply(own, function(one) {
      precision <- crossprod(one$root)
      mean <- one$mean - middle
      towards <- drop(precision %*% mean)
      constant <- sum(log(diag(one$root))) - d / 2 * log(2 * pi)
      c(constant - sum(mean * towards) / 2, towards, -precision / 2)
    }, numeric(1L + d + d * d))
    left <- mu[, rep(seq_len(d), d), drop = FALSE]
    pairs <- left * mu[, rep(seq_len(d), each = d), drop = FALSE]
    cbind(1, mu, pairs) %*% coefficients
  }, at$mu, kernels$means))
}

# log IW(Sigma | df, scale), or inverse gamma densities of variances, summed
# over the matrices: points x kernels.
covariances_log_density <- function(model, at, kernels) {
  d <- at$blocks$d
  diagonal <- model$covariance == "diagonal"
  Reduce(`+`, Map(function(own, df, scale) {
    if (diagonal) {
      constant <- rowSums(log(scale / 2)) * df / 2 - d * lgamma(df / 2)
      power <- df / 2 + 1
    } else {
      log_det <- apply(scale, 1L, function(s) {
        as.double(determinant(matrix(s, d))$modulus)
      })
      gammas <- vapply(df / 2, log_multivariate_gamma, 0, q = d)
      constant <- df / 2 * (log_det - d * log(2)) - gammas
      power <- (df + d + 1) / 2
    }
    rep(constant, each = nrow(own$inverse)) - own$log_det %o% power -
      own$inverse %*% t(scale) / 2
  }, at$covariances, kernels$df, kernels$scale))
}

# log of the sum of p(pi) over all numberings of the components: a Dirichlet
# density, times the permanent of pi_c^(alpha_j - 1) instead of its product.
log_weights_prior <- function(log_pi, alpha) {
  k <- length(alpha)
  constant <- lgamma(sum(alpha)) - sum(lgamma(alpha))
  if (length(unique(alpha)) == 1L) {
    return(constant + lgamma(k + 1) + (alpha[[1L]] - 1) * rowSums(log_pi))
  }
  # sums over the ways to give the first components the alphas of a set, by sets
  sums <- vector("list", 2^k)
  sums[[1L]] <- numeric(nrow(log_pi))
  bits <- 2^(seq_len(k) - 1)
  for (set in seq_len(2^k - 1)) {
    members <- which(set %/% bits %% 2 == 1)
    c <- length(members)
    terms <- vapply(members, function(j) {
      sums[[set - bits[[j]] + 1]] + (alpha[[j]] - 1) * log_pi[, c]
    }, numeric(nrow(log_pi)))
    terms <- matrix(terms, nrow(log_pi))
    high <- apply(terms, 1L, max)
    sums[[set + 1]] <- high + log(rowSums(exp(terms - high)))
  }
  constant + sums[[2^k]]
}

# ---- the conditional densities at draws --------------------------------------

# list(draws, alpha, means, df, scale): alpha is draws x k, means a list by
# component of lists by draw of list(mean, root) with root'root the precision,
# df by matrix one number a draw, scale by matrix draws x elements.
gmm_kernels <- function(model, draws) {
  k <- model$k
  blocks <- gmm_blocks(model, draws)
  each <- lapply(seq_len(nrow(draws)), function(s) {
    one <- blocks
    for (part in c("pi", "mu", "sigma")) {
      one[[part]] <- blocks[[part]][s, , drop = FALSE]
    }
    mixture_kernel(model, one)
  })
  list(
    draws = seq_len(nrow(draws)),
    alpha = do.call(rbind, lapply(each, `[[`, "alpha")),
    means = lapply(seq_len(k), function(c) {
      lapply(each, function(one) one$means[[c]])
    }),
    df = lapply(seq_len(gmm_matrices(model)), function(c) {
      vapply(each, function(one) one$df[[c]], 0)
    }),
    scale = lapply(seq_len(gmm_matrices(model)), function(c) {
      do.call(rbind, lapply(each, function(one) as.vector(one$scale[[c]])))
    })
  )
}

# The same of no observation: the prior of means and covariances.
prior_kernel <- function(model) {
  prior <- model$prior
  mean <- list(mean = prior$m0, root = chol(chol2inv(chol(prior$v0))))
  matrices <- gmm_matrices(model)
  list(
    means = rep(list(list(mean)), model$k), df = rep(list(prior$nu0), matrices),
    scale = rep(
      list(rbind(as.vector(covariance_form(model, prior$s0)))), matrices
    )
  )
}

# A matrix as the model has it: its diagonal, or all of it.
covariance_form <- function(model, x) {
  if (model$covariance == "diagonal") diag(x) else x
}

# The conditionals after one draw of z, and of the missing entries, given the
# mixture `blocks` of one draw.
mixture_kernel <- function(model, blocks) {
  k <- model$k
  prior <- model$prior
  q0 <- chol2inv(chol(prior$v0))
  at <- parameters_of_blocks(blocks)
  mu <- at$mu
  sigma <- lapply(seq_len(k), function(c) matrix(at$Sigma[c, , ], blocks$d))
  filled <- draw_allocations(model, blocks, mu, sigma)
  count <- tabulate(filled$z, k)
  cross <- lapply(seq_len(k), function(c) {
    crossprod(filled$x[filled$z == c, , drop = FALSE] -
                rep(mu[c, ], each = count[[c]]))
  })
  df <- prior$nu0 + count
  if (model$covariance == "shared") {
    cross <- list(Reduce(`+`, cross))
    df <- prior$nu0 + sum(count)
  }
  list(
    alpha = mean(prior$alpha) + count,
    means = lapply(seq_len(k), function(c) {
      inverse <- chol2inv(chol(sigma[[c]]))
      root <- chol(q0 + count[[c]] * inverse)
      sum <- colSums(filled$x[filled$z == c, , drop = FALSE])
      mean <- backsolve(root, backsolve(
        root, drop(q0 %*% prior$m0 + inverse %*% sum), transpose = TRUE
      ))
      list(mean = mean, root = root)
    }),
    df = df,
    scale = lapply(
      cross, function(cross) covariance_form(model, prior$s0 + cross)
    )
  )
}

# list(z, x): x with its missing entries drawn.
draw_allocations <- function(model, blocks, mu, sigma) {
  x <- model$data$x
  prob <- evaluate_observed(blocks, x, prob = TRUE)$prob
  u <- stats::runif(nrow(x)) * rowSums(prob)
  z <- rep(1L, nrow(x))
  sum <- 0
  for (c in seq_len(model$k - 1L)) {
    sum <- sum + prob[, c]
    z <- z + (u > sum)
  }
  for (i in which(rowSums(is.na(x)) > 0)) {
    gone <- which(is.na(x[i, ]))
    seen <- which(!is.na(x[i, ]))
    own <- sigma[[z[[i]]]]
    weights <- own[gone, seen, drop = FALSE] %*%
      chol2inv(chol(own[seen, seen, drop = FALSE]))
    centre <- mu[z[[i]], gone] + weights %*% (x[i, seen] - mu[z[[i]], seen])
    rest <- own[gone, gone, drop = FALSE] -
      weights %*% own[seen, gone, drop = FALSE]
    x[i, gone] <- centre + crossprod(chol(rest), stats::rnorm(length(gone)))
  }
  list(z = z, x = x)
}

# list(draws, log_pi): n proposals in the order of the fit's columns, from each
# kernel in turn.
propose_mixtures <- function(model, kernels, n) {
  k <- model$k
  d <- length(model$variables)
  of <- rep_len(kernels$draws, n)
  diagonal <- model$covariance == "diagonal"
  log_pi <- matrix(0, n, k)
  mu <- array(0, c(n, k, d))
  matrices <- gmm_matrices(model)
  sigma <- array(0, c(n, matrices, if (diagonal) d else d * d))
  for (s in kernels$draws) {
    rows <- which(of == s)
    size <- length(rows)
    if (size == 0L) next
    if (k > 1L) {
      log_pi[rows, ] <- sample_dirichlet(size, kernels$alpha[s, ], log = TRUE)
    }
    for (c in seq_len(k)) {
      own <- kernels$means[[c]][[s]]
      noise <- matrix(stats::rnorm(size * d), d)
      mu[rows, c, ] <- t(own$mean + backsolve(own$root, noise))
    }
    for (c in seq_len(matrices)) {
      df <- kernels$df[[c]][[s]]
      scale <- kernels$scale[[c]][s, ]
      sigma[rows, c, ] <- if (diagonal) {
        rep(scale, each = size) / 2 / stats::rgamma(size * d, df / 2)
      } else {
        sample_inverse_wishart(size, df, matrix(scale, d))
      }
    }
  }
  pi <- positive_weights(exp(log_pi))
  list(
    draws = cbind(pi, matrix(mu, n), matrix(sigma, n)), log_pi = log_pi
  )
}

# ---- compare_k() -------------------------------------------------------------

# compare_k() of mixtures: the log evidence, and predictive densities by loo.

#' @exportS3Method
model_size.mixture_model <- function(model) model$k

#' @exportS3Method
model_observed.mixture_model <- function(model) {
  x <- unname(model$data$x)
  x[rows_seen(x), , drop = FALSE]
}

#' @exportS3Method
model_compare_k.gmm_model <- function(model, fits, names, settings, call) {
  evidence <- evidence_of_fits(fits, names, settings$seed, call)
  value <- vapply(evidence$values, as.numeric, 0)
  se <- vapply(evidence$values, attr, 0, "se")
  warn_uncertain(evidence$told, names, call)
  best <- which.max(value)
  share <- exp(value - max(value))
  list(
    of = paste0(
      "Mixtures of the same ", counted(model$nobs, "observation"),
      " by log evidence"
    ),
    columns = cbind(
      data.frame(
        log_evidence = value, log_evidence_se = se,
        probability = share / sum(share)
      ),
      predictive_densities(fits)
    ),
    criterion = "log_evidence", second = "elpd_loo", evidence = TRUE,
    difference = value[[best]] - value,
    se = ifelse(seq_along(value) == best, 0, sqrt(se^2 + se[[best]]^2)),
    notes = c(
      "probability: if all are equally probable beforehand",
      slow_notes(fits, names)
    )
  )
}

# list(values, told): the log evidences, and for each fit whether there was a
# warning.
evidence_of_fits <- function(fits, names, seed, call) {
  streams <- chain_streams(seed, length(fits), call)
  told <- logical(length(fits))
  values <- lapply(seq_along(fits), function(i) {
    withCallingHandlers(
      with_stream(streams[[i]], log_evidence(fits[[i]]), call)$value,
      gibbsite_warning_evidence = function(cnd) {
        told[[i]] <<- TRUE
        rlang::cnd_muffle(cnd)
      },
      gibbsite_error_argument = function(cnd) {
        abort_argument(
          "{.val {names[[i]]}} has no log evidence.", call = call,
          class = "no_evidence", parent = cnd
        )
      }
    )
  })
  list(values = values, told = told)
}

warn_uncertain <- function(told, names, call) {
  if (any(told)) {
    warn_gibbsite(
      c("The log evidence of {.val {names[told]}} may be wrong by more than its
         standard error.",
        i = "{.fn log_evidence} of the fit says why."),
      class = "evidence", call = call
    )
  }
}

predictive_densities <- function(fits) {
  each <- lapply(fits, function(fit) {
    # many Pareto k are counted; loo warns of large p_waic, which occurs where
    # Pareto k are large
    found <- suppressWarnings(loo::loo(fit))
    limit <- pareto_limit(dim(found)[[1L]])
    data.frame(
      elpd_loo = found$estimates["elpd_loo", "Estimate"],
      elpd_loo_se = found$estimates["elpd_loo", "SE"],
      pareto_k = sum(found$diagnostics$pareto_k > limit),
      elpd_waic =
        suppressWarnings(loo::waic(fit))$estimates["elpd_waic", "Estimate"]
    )
  })
  do.call(rbind, each)
}
