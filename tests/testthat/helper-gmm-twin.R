# A slow twin of the sampler behind gibbs_gmm(), written from the formulas on
# its page.  It takes the same random numbers in the same order as the core:
# those of a move (twin_moves() below); the gammas of pi; for each component the
# normals of mu_c; for each covariance its chi-squares and normals, column by
# column; those of a combination (twin_combine() below); one uniform an
# observation; one normal a missing entry.
#
# A twin's state is list(sweep, z, log_pi, mu, sigma, x, prob, kept, moves): mu
# a k x d matrix, sigma a list of k matrices, whatever the form of the
# covariances, x the observations with the missing entries filled in, prob n x
# k.

twin_state <- function(model, state) {
  p <- gibbsite:::gmm_parameters(model, state)
  list(
    sweep = state$sweep, z = state$z, log_pi = state$log_pi, mu = p$mu,
    sigma = lapply(seq_len(model$k), function(c) {
      matrix(p$Sigma[c, , ], ncol(p$mu))
    }),
    x = filled_data(model, state), prob = matrix(state$prob, ncol = model$k),
    kept = state$kept, moves = state$moves
  )
}

# Missing entries are kept by row, then by column.
filled_data <- function(model, state) {
  x <- t(model$data$x)
  x[is.na(x)] <- state$x_missing
  t(x)
}

missing_entries <- function(model, x) {
  t(x)[t(is.na(model$data$x))]
}

state_of_twin <- function(model, twin) {
  state <- gibbsite:::gmm_state(
    model, twin$log_pi, twin$mu, twin_sigma(model, twin), twin$z
  )
  state$sweep <- twin$sweep
  state$x_missing <- missing_entries(model, twin$x)
  state$prob <- as.vector(twin$prob)
  state$kept <- twin$kept
  state$moves <- twin$moves
  state
}

# In the form's own shape: Sigma[c, i, j], sigma2[c, j] or Sigma[i, j].
twin_sigma <- function(model, twin) {
  d <- ncol(twin$mu)
  by_component <- function(part, size) {
    t(matrix(vapply(twin$sigma, part, numeric(size)), size))
  }
  switch(model$covariance,
    full = array(by_component(as.vector, d^2), c(model$k, d, d)),
    diagonal = by_component(diag, d),
    shared = twin$sigma[[1L]]
  )
}

# ---- densities ---------------------------------------------------------------

# log N(x_i | mean, sigma) for the rows of x
log_normal <- function(x, mean, sigma) {
  upper <- chol(sigma)
  white <- backsolve(upper, t(x) - mean, transpose = TRUE)
  -0.5 * ncol(x) * log(2 * pi) - sum(log(diag(upper))) - 0.5 * colSums(white^2)
}

# log pi_c + log N(x_i | mu_c, Sigma_c): n x k. For an incomplete row only the
# observed entries are used.
twin_log_joint <- function(model, twin) {
  holes <- is.na(model$data$x)
  n <- nrow(holes)
  incomplete <- which(rowSums(holes) > 0)
  joint <- vapply(seq_len(model$k), function(c) {
    density <- log_normal(twin$x, twin$mu[c, ], twin$sigma[[c]])
    for (i in incomplete) {
      seen <- !holes[i, ]
      density[[i]] <- if (any(seen)) {
        log_normal(
          twin$x[i, seen, drop = FALSE], twin$mu[c, seen],
          twin$sigma[[c]][seen, seen, drop = FALSE]
        )
      } else {
        0
      }
    }
    twin$log_pi[[c]] + density
  }, numeric(n))
  matrix(joint, n)
}

# x_m | x_o, z = c ~ N(mu_m + Sigma_mo Sigma_oo^-1 (x_o - mu_o),
# Sigma_mm - Sigma_mo Sigma_oo^-1 Sigma_om): list(mean, covariance).
missing_conditional <- function(model, twin, i, c = twin$z[[i]]) {
  m <- is.na(model$data$x[i, ])
  mu <- twin$mu[c, ]
  sigma <- twin$sigma[[c]]
  if (all(m)) {
    return(list(mean = mu, covariance = sigma))
  }
  slope <- t(solve(
    sigma[!m, !m, drop = FALSE], sigma[!m, m, drop = FALSE]
  ))
  list(
    mean = drop(mu[m] + slope %*% (twin$x[i, !m] - mu[!m])),
    covariance = sigma[m, m, drop = FALSE] - slope %*% sigma[!m, m]
  )
}

row_largest <- function(x) {
  x[cbind(seq_len(nrow(x)), max.col(x, ties.method = "first"))]
}

row_log_sums <- function(log_joint) {
  largest <- row_largest(log_joint)
  largest + log(rowSums(exp(log_joint - largest)))
}

# ---- the blocks of a sweep ---------------------------------------------------

# log of Gamma(shape, 1): below 1, G U^(1/shape) with G ~ Gamma(shape + 1, 1)
log_gamma_variate <- function(shape) {
  if (shape >= 1) {
    return(log(rgamma(1, shape)))
  }
  log(rgamma(1, shape + 1)) + log(runif(1)) / shape
}

log_dirichlet_variate <- function(alpha) {
  x <- vapply(alpha, log_gamma_variate, 0)
  x <- x - max(x)
  x - log(sum(exp(x)))
}

# IW(df, L L'): T T' with T C = L, C lower triangular, c_jj^2 chi-square with
# df - (d - j) degrees of freedom (j = 1..d), standard normals below.
inverse_wishart_variate <- function(df, scale) {
  d <- nrow(scale)
  c <- matrix(0, d, d)
  for (j in seq_len(d)) {
    c[j, j] <- sqrt(rchisq(1, df - (d - j)))
    c[seq_len(d) > j, j] <- rnorm(d - j)
  }
  crossprod(backsolve(t(c), chol(scale)))
}

members <- function(twin, c) {
  twin$x[twin$z == c, , drop = FALSE]
}

# pi | z ~ Dir(alpha + n)
twin_weights <- function(model, twin) {
  counts <- tabulate(twin$z, model$k)
  twin$log_pi <- log_dirichlet_variate(model$prior$alpha + counts)
  twin
}

# mu_c | Sigma_c, z ~ N(m_c, V_c), V_c^-1 = V0^-1 + n_c Sigma_c^-1,
# m_c = V_c (V0^-1 m0 + Sigma_c^-1 sum_{z_i = c} x_i)
twin_means <- function(model, twin) {
  prior <- model$prior
  q0 <- solve(prior$v0)
  for (c in seq_len(model$k)) {
    x <- members(twin, c)
    precision <- solve(twin$sigma[[c]])
    upper <- chol(q0 + nrow(x) * precision)
    b <- q0 %*% prior$m0 + precision %*% colSums(x)
    white <- forwardsolve(t(upper), b) + rnorm(ncol(x))
    twin$mu[c, ] <- backsolve(upper, white)
  }
  twin
}

# sum_{z_i = c} (x_i - mu_c)(x_i - mu_c)'
scatter_of <- function(twin, c) {
  x <- members(twin, c)
  unname(crossprod(x - rep(twin$mu[c, ], each = nrow(x))))
}

# The conditional of each covariance, inverse Wishart or for each variable
# inverse gamma: list(df, scale), of which a shared covariance has one.
covariance_conditionals <- function(model, twin) {
  prior <- model$prior
  counts <- tabulate(twin$z, model$k)
  scatters <- lapply(seq_len(model$k), function(c) scatter_of(twin, c))
  if (model$covariance == "shared") {
    total <- Reduce(`+`, scatters)
    return(list(list(df = prior$nu0 + sum(counts), scale = prior$s0 + total)))
  }
  lapply(seq_len(model$k), function(c) {
    list(df = prior$nu0 + counts[[c]], scale = prior$s0 + scatters[[c]])
  })
}

# A covariance from list(df, scale): inverse Wishart, or variances of their own.
covariance_variate <- function(model, conditional) {
  if (model$covariance != "diagonal") {
    return(inverse_wishart_variate(conditional$df, conditional$scale))
  }
  variance <- vapply(diag(conditional$scale), function(sum) {
    sum / rchisq(1, conditional$df)
  }, 0)
  diag(variance, length(variance))
}

# Sigma_c | mu_c, z ~ IW(nu0 + n_c, S0 + scatter_c);
# Sigma | mu, z ~ IW(nu0 + n, S0 + sum_c scatter_c);
# sigma2_cj | mu_c, z ~ IG((nu0 + n_c) / 2, (S0 + scatter_c)_jj / 2).
# `alter` makes wrong samplers: it changes the result of
# covariance_conditionals().
twin_covariances <- function(model, twin, alter = identity) {
  sigma <- lapply(covariance_conditionals(model, twin), function(conditional) {
    covariance_variate(model, alter(conditional))
  })
  twin$sigma <- rep(sigma, length.out = model$k)
  twin
}

# P(z_i = c | .) proportional to pi_c N(x_i | mu_c, Sigma_c), observed entries:
# the number of partial sums, from left to right, that are <= u times the total
twin_allocations <- function(model, twin) {
  log_joint <- twin_log_joint(model, twin)
  weight <- exp(log_joint - row_largest(log_joint))
  u <- runif(nrow(weight))
  twin$z <- vapply(seq_along(u), function(i) {
    partial <- cumsum(weight[i, ])
    1L + sum(partial[-model$k] <= u[[i]] * partial[[model$k]])
  }, 0L)
  twin$log_lik <- sum(row_log_sums(log_joint))
  twin$probability <- weight / rowSums(weight)
  twin
}

# x_missing | z, x_observed
twin_imputation <- function(model, twin) {
  holes <- is.na(model$data$x)
  for (i in which(rowSums(holes) > 0)) {
    given <- missing_conditional(model, twin, i)
    root <- chol(given$covariance)
    twin$x[i, holes[i, ]] <- given$mean + rnorm(nrow(root)) %*% root
  }
  twin
}

twin_blocks <- list(
  moves = function(model, twin) twin_moves(model, twin),
  weights = twin_weights, means = twin_means, covariances = twin_covariances,
  combine = function(model, twin) twin_combine(model, twin),
  allocations = twin_allocations, imputation = twin_imputation
)

gmm_sweep_twin <- function(model, twin, blocks = twin_blocks) {
  for (block in blocks) {
    twin <- block(model, twin)
  }
  twin$sweep <- twin$sweep + 1
  twin
}

# P(z_i = c | .) of a recorded sweep enters its running mean.
twin_keep <- function(twin) {
  twin$kept <- twin$kept + 1
  twin$prob <- twin$prob + (twin$probability - twin$prob) / twin$kept
  twin
}

# what the core records: pi, mu, covariances, log_lik, n_occupied, z, x_missing
twin_row <- function(model, twin) {
  c(
    exp(twin$log_pi), as.vector(twin$mu), as.vector(twin_sigma(model, twin)),
    twin$log_lik, length(unique(twin$z)), twin$z,
    missing_entries(model, twin$x)
  )
}

# ---- moves of groups between components --------------------------------------

# The formulas are at the head of src/core/gmm/gmm_moves.h. Random numbers in
# turn: whether there is a try (not for the first 200); its kind; its labels; an
# anchor from each side of the split that it undoes; the anchors of the one that
# it makes, and one uniform an observation for the sides; the covariances, label
# by label; one uniform for acceptance.
#
# `without` makes wrong samplers: it names the part of the ratio left out, or
# with "launch" the split undone starts from wrong anchors. `empty`: the share
# of merges and splits; `always`: a try in every sweep.
twin_moves <- function(model, twin, without = "", empty = 0.2, always = FALSE) {
  k <- model$k
  if (k == 1 || model$data$merge_split == 0 ||
        !(always || draw_try(k, twin$moves))) {
    return(twin)
  }
  kind <- draw_kind(k, empty)
  label <- draw_ordered(k, if (kind == 1) 3 else 2)
  plan <- plan_move(kind, tabulate(twin$z, k)[label])
  if (without == "selection" && kind == 2) {
    label <- select_by_occupation(tabulate(twin$z, k))
    plan <- plan_move(kind, tabulate(twin$z, k)[label])
  }
  moved <- if (plan$possible) try_move(model, twin, label, plan, without)
  twin$moves[[kind]] <- twin$moves[[kind]] + 1
  if (is.null(moved)) {
    return(twin)
  }
  twin$moves[[4 + kind]] <- twin$moves[[4 + kind]] + 1
  twin$z <- moved$z
  twin$sigma <- moved$sigma
  twin
}

draw_try <- function(k, moves) {
  sum(moves[1:3]) < 200 || runif(1) < (if (k == 2) 1 / 16 else 1 / 8)
}

draw_below <- function(n) floor(runif(1) * n)

# 1: exchange, 2: empty, 3: resplit
draw_kind <- function(k, empty) {
  u <- runif(1)
  if (u < empty) 2 else if (u < 0.5 + 0.5 * empty && k > 2) 1 else 3
}

draw_ordered <- function(k, labels) {
  label <- integer()
  for (e in seq_len(labels)) {
    left <- setdiff(seq_len(k), label)
    label <- c(label, left[[1 + draw_below(length(left))]])
  }
  label
}

# Places in the labels: `undo` joins the first two, `from` splits into `to`.
plan_move <- function(kind, count) {
  both <- count[[1]] > 0 && count[[2]] > 0
  switch(kind,
    list(
      possible = both && count[[3]] > 1, undo = TRUE, from = 3, to = c(3, 2)
    ),
    if (count[[2]] == 0) {
      list(possible = count[[1]] > 1, undo = FALSE, from = 1, to = 1:2)
    } else {
      list(possible = count[[1]] > 0, undo = TRUE, from = NULL)
    },
    list(possible = both, undo = TRUE, from = 1:2, to = 1:2)
  )
}

try_move <- function(model, twin, label, plan, without) {
  z <- twin$z
  ratio <- 0
  if (plan$undo) {
    present <- c(draw_member(z == label[[1]]), draw_member(z == label[[2]]))
    undone <- z %in% label[1:2]
    z[undone] <- label[[1]]
  }
  if (length(plan$from) > 0) {
    made <- twin$z %in% label[plan$from]
    anchors <- draw_anchors(model, twin$x, which(made))
    chance <- launch(model, twin$x[made, , drop = FALSE],
                     match(anchors, which(made)))
    second <- runif(sum(made)) < chance
    second[match(anchors, which(made))] <- c(FALSE, TRUE)
    z[made] <- label[plan$to][1 + second]
    ratio <- ratio -
      log_split(model, twin$x, made, anchors, second, chance, without)
  }
  proposed <- propose_covariances(model, twin, z, label)
  ratio <- ratio +
    log_collapsed(model, twin$x, z, proposed, without) -
    log_collapsed(model, twin$x, twin$z, twin$sigma, without)
  log_uniform <- log(runif(1))
  if (plan$undo) {
    second <- twin$z[undone] == label[[2]]
    at <- match(present, which(undone))
    from <- if (without == "launch") 1:2 else at
    chance <- launch(model, twin$x[undone, , drop = FALSE], from)
    if (without == "reverse" && length(plan$from) == 2) {
      second <- z[undone] == label[[2]]
    }
    ratio <- ratio +
      log_split(model, twin$x, undone, present, second, chance, without)
  }
  if (!(log_uniform < ratio)) {
    return(NULL)
  }
  moved <- list(z = z, sigma = proposed)
  if (length(plan$from) == 2) keep_labels(model, twin, label, moved) else moved
}

draw_member <- function(belongs) which(belongs)[[1 + draw_below(sum(belongs))]]

# S0 + scatter of the rows of x over nu0 + their number: of the whole set.
set_covariance <- function(model, x) {
  prior <- model$prior
  centred <- t(x) - colMeans(x)
  s <- (prior$s0 + tcrossprod(centred)) / (prior$nu0 + nrow(x))
  if (model$covariance == "diagonal") diag(diag(s), ncol(x)) else s
}

squared_distances <- function(model, x, i) {
  upper <- chol(set_covariance(model, x))
  colSums(backsolve(upper, t(x) - x[i, ], transpose = TRUE)^2)
}

# The first uniformly, the second by its squared distance from the first.
draw_anchors <- function(model, x, set) {
  i <- 1 + draw_below(length(set))
  distance <- squared_distances(model, x[set, , drop = FALSE], i)
  u <- runif(1)
  c(set[[i]], set[[which(cumsum(distance) > u * sum(distance))[[1]]]])
}

# Responsibilities of the second of two normals: EM from the anchors.
launch <- function(model, x, anchors, most = 512) {
  n <- nrow(x)
  step <- ceiling(n / most)
  some <- x[seq(1, n, by = step), , drop = FALSE]
  d <- ncol(x)
  sigma <- set_covariance(model, some) / 2^(2 / d)
  sides <- list(
    mu = x[anchors, , drop = FALSE], sigma = list(sigma, sigma),
    log_pi = c(0, 0)
  )
  sides <- climb(model, some, sides, 30)
  if (step > 1) {
    sides <- climb(model, x, sides, 2)
  }
  pmin(pmax(responsibilities(x, sides)$second, 1e-4), 1 - 1e-4)
}

responsibilities <- function(x, sides) {
  log_joint <- vapply(1:2, function(s) {
    sides$log_pi[[s]] + log_normal(x, sides$mu[s, ], sides$sigma[[s]])
  }, numeric(nrow(x)))
  log_joint <- matrix(log_joint, ncol = 2)
  total <- row_log_sums(log_joint)
  list(second = exp(log_joint[, 2] - total), log_lik = sum(total))
}

climb <- function(model, x, sides, steps) {
  before <- -Inf
  for (step in seq_len(steps)) {
    now <- responsibilities(x, sides)
    if (abs(now$log_lik - before) < 0.05) {
      break
    }
    before <- now$log_lik
    sides <- maximise(model, x, cbind(1 - now$second, now$second))
  }
  sides
}

maximise <- function(model, x, weight) {
  prior <- model$prior
  count <- colSums(weight)
  mu <- crossprod(weight, x) / count
  scatters <- lapply(1:2, function(s) {
    centred <- x - rep(mu[s, ], each = nrow(x))
    crossprod(centred, weight[, s] * centred)
  })
  if (model$covariance == "shared") {
    sigma <- (prior$s0 + scatters[[1]] + scatters[[2]]) / (prior$nu0 + nrow(x))
    sigma <- list(sigma, sigma)
  } else {
    sigma <- lapply(1:2, function(s) {
      (prior$s0 + scatters[[s]]) / (prior$nu0 + count[[s]])
    })
  }
  if (model$covariance == "diagonal") {
    sigma <- lapply(sigma, function(s) diag(diag(s), ncol(x)))
  }
  list(
    mu = unname(mu), sigma = sigma,
    log_pi = log((1 + count) / (2 + nrow(x)))
  )
}

# log of P(anchors) n_1 n_2 q(sides): `second` says who is on the second side.
log_split <- function(model, x, set, anchors, second, chance, without) {
  rows <- which(set)
  at <- match(anchors, rows)
  distance <- squared_distances(model, x[rows, , drop = FALSE], at[[1]])
  q <- ifelse(second, chance, 1 - chance)[-at]
  ratio <- log(distance[[at[[2]]]] / sum(distance)) - log(length(rows)) +
    log(sum(second)) + log(sum(!second))
  sum(log(q)) + if (without == "anchors") 0 else ratio
}

# Observations, mean and scatter about it.
group_of <- function(model, x, z, c) {
  own <- x[z == c, , drop = FALSE]
  if (nrow(own) == 0) {
    return(list(count = 0, mean = NA, scatter = matrix(0, ncol(x), ncol(x))))
  }
  centred <- t(own) - colMeans(own)
  list(
    count = nrow(own), mean = colMeans(own),
    scatter = unname(tcrossprod(centred))
  )
}

# IW(df, scale) of each covariance (one when shared) given z, one degree of
# freedom less for each occupied component.
proposal_conditionals <- function(model, x, z) {
  prior <- model$prior
  groups <- lapply(seq_len(model$k), function(c) group_of(model, x, z, c))
  if (model$covariance == "shared") {
    occupied <- length(unique(z))
    scatter <- Reduce(`+`, lapply(groups, function(g) g$scatter))
    return(list(
      list(df = prior$nu0 + length(z) - occupied, scale = prior$s0 + scatter)
    ))
  }
  lapply(groups, function(g) {
    list(df = prior$nu0 + max(g$count - 1, 0), scale = prior$s0 + g$scatter)
  })
}

propose_covariances <- function(model, twin, z, label) {
  to <- proposal_conditionals(model, twin$x, z)
  if (model$covariance == "shared") {
    return(rep(list(covariance_variate(model, to[[1]])), model$k))
  }
  sigma <- twin$sigma
  for (c in label) {
    sigma[[c]] <- covariance_variate(model, to[[c]])
  }
  sigma
}

# log Z(df, scale) and the log density of IW(df, scale), both for each variable
# by itself when diagonal, but for a power of pi.
log_normaliser <- function(model, conditional) {
  df <- conditional$df
  if (model$covariance == "diagonal") {
    return(sum(lgamma(df / 2) - df / 2 * log(diag(conditional$scale) / 2)))
  }
  d <- nrow(conditional$scale)
  df * d / 2 * log(2) + sum(lgamma((df + 1 - seq_len(d)) / 2)) -
    df / 2 * log(det(conditional$scale))
}

log_proposal <- function(model, conditional, sigma) {
  d <- nrow(sigma)
  order <- if (model$covariance == "diagonal") 2 else d + 1
  scale <- conditional$scale
  if (model$covariance == "diagonal") {
    scale <- diag(diag(scale), d)
  }
  -log_normaliser(model, conditional) -
    (conditional$df + order) / 2 * log(det(sigma)) -
    sum(diag(solve(sigma, scale))) / 2
}

# log p(z, Sigma | x) / g(Sigma), but for a constant.
log_collapsed <- function(model, x, z, sigma, without) {
  prior <- model$prior
  count <- tabulate(z, model$k)
  own <- proposal_conditionals(model, x, z)
  empty <- list(df = prior$nu0, scale = prior$s0)
  total <- sum(vapply(own, function(conditional) {
    log_normaliser(model, conditional) - log_normaliser(model, empty)
  }, 0))
  for (c in which(count > 0)) {
    g <- group_of(model, x, z, c)
    spread <- prior$v0 + sigma[[c]] / g$count
    total <- total + ncol(x) / 2 * log(2 * base::pi / g$count) +
      log_normal(t(g$mean), prior$m0, spread)
  }
  if (without == "proposal") {
    total <- total + sum(vapply(seq_along(own), function(c) {
      log_proposal(model, own[[c]], sigma[[c]])
    }, 0))
  }
  sign <- if (without == "dirichlet") -1 else 1
  total + sign * sum(lgamma(prior$alpha + count))
}

# The two labels change places where more observations of the set changed theirs
# than kept it, if alpha is the same for both.
keep_labels <- function(model, twin, label, moved) {
  set <- twin$z %in% label
  same <- length(unique(model$prior$alpha[label])) == 1
  if (!same || 2 * sum(moved$z != twin$z) <= sum(set)) {
    return(moved)
  }
  moved$z[set] <- sum(label) - moved$z[set]
  moved$sigma[label] <- moved$sigma[rev(label)]
  moved
}

# A wrong choice of labels: where some are empty, one of these in half the
# tries, of which the ratio does not know.
select_by_occupation <- function(count) {
  pick <- function(x) x[[sample.int(length(x), 1)]]
  occupied <- which(count > 0)
  if (all(count > 0) || length(occupied) > 1 && runif(1) < 0.5) {
    return(occupied[sample.int(length(occupied), 2)])
  }
  c(pick(occupied), pick(which(count == 0)))
}

# ---- a small model with an informative prior ---------------------------------

# No hyperparameter is 0, 1 or the identity: a sampler that drops one differs.
# `holes`: a logical n x d matrix of the entries to hide, or NULL.
tiny_gmm <- function(n = 12, d = 2, k = 2, alpha = 1.7, covariance = "full",
                     holes = NULL, keep = character()) {
  x <- matrix(rnorm(n * d, 0.5, 1.5), n, d)
  colnames(x) <- paste0("v", seq_len(d))
  distance <- abs(outer(seq_len(d), seq_len(d), "-"))
  prior <- gmm_prior(
    alpha = alpha, m0 = rep(c(1.3, -0.9), length.out = d),
    v0 = 0.6 * 0.4^distance, nu0 = d + 4.5,
    s0 = if (covariance == "diagonal") {
      diag(rep(c(4.1, 2.7), length.out = d), d)
    } else {
      4.1 * (-0.35)^distance
    }
  )
  # every field is given, so that its message about a constant column does not
  # matter
  prior <- suppressMessages(
    gibbsite:::complete_gmm_prior(prior, x, k, covariance)
  )
  if (!is.null(holes)) {
    x[holes] <- NA
  }
  gibbsite:::gmm_model(x, k, prior, covariance, keep)
}

# Each entry is missing with probability `rate`.  The first row is complete (no
# column may be missing wholly), the second wholly missing.
random_holes <- function(n, d, rate = 0.35) {
  holes <- matrix(runif(n * d) < rate, n, d)
  holes[1, ] <- FALSE
  if (n > 1) {
    holes[2, ] <- TRUE
  }
  holes
}

# ---- quantities that do not depend on the labels -----------------------------

# Heavy-tailed ones (the inverse Wishart has few moments) go through atan().
gmm_invariants <- function(model, state, twin = twin_state(model, state)) {
  weight <- exp(twin$log_pi)
  counts <- tabulate(twin$z, model$k)
  mean <- colSums(weight * twin$mu)
  covariance <- 0
  log_det <- 0
  for (c in seq_len(model$k)) {
    sigma <- twin$sigma[[c]]
    covariance <- covariance + weight[[c]] *
      (sigma + tcrossprod(twin$mu[c, ] - mean))
    log_det <- log_det + weight[[c]] * 2 * sum(log(diag(chol(sigma))))
  }
  lower <- lower.tri(covariance, diag = TRUE)
  c(
    log_joint = gibbsite:::gmm_log_joint(model, state),
    log_lik = sum(row_log_sums(twin_log_joint(model, twin))),
    weight = max(weight), mean = mean, log_det = log_det,
    cov = atan(covariance[lower] / 2),
    occupied = sum(counts > 0), same = sum(counts^2),
    log_z = sum(counts * twin$log_pi), imputed_quantities(model, twin)
  )
}

# For the rows that are partly missing also the product of all entries: it
# differs between the conditional and the marginal distribution of the missing
# entries.
imputed_quantities <- function(model, twin) {
  holes <- rowSums(is.na(model$data$x))
  if (all(holes == 0)) {
    return(NULL)
  }
  missing <- missing_entries(model, twin$x)
  partly <- holes > 0 & holes < ncol(twin$x)
  centred <- twin$x[partly, , drop = FALSE] - twin$mu[twin$z[partly], ]
  c(
    missing_first = missing[[1]], missing_last = missing[[length(missing)]],
    missing_mean = atan(mean(missing)),
    missing_square = atan(mean(missing^2) / 4),
    missing_cross = atan(sum(apply(centred, 1, prod)) / 2)
  )
}

# For the joint test also quantities of the data and of the first component:
# its label is identified, because alpha differs between the components.
gmm_all_quantities <- function(model, state) {
  twin <- twin_state(model, state)
  x <- twin$x
  sigma <- twin$sigma[[1]]
  c(
    gmm_invariants(model, state, twin),
    data_mean = atan(colMeans(x)), data_square = atan(colMeans(x^2) / 4),
    pi_1 = exp(twin$log_pi[[1]]), mu_1 = twin$mu[1, ],
    spread_1 = sum(twin$mu[1, ]^2), sigma_1 = atan(sigma[1, ] / 2),
    count_1 = sum(twin$z == 1)
  )
}

# ---- two components combine, a third one splits ------------------------------

# The formulas are at the head of src/core/gmm/gmm_combine.h. Random numbers in
# turn: whether there is a try (not for the first 200); the pair; which of its
# labels is freed; the component that splits; the share p; for each block of
# variables the normals and the chi-square of v, the chi-squares and normals of
# two Wishart matrices, column by column; one uniform for acceptance.
#
# `without` makes wrong samplers: it names the part of the ratio left out.
twin_combine <- function(model, twin, without = "", always = FALSE) {
  may <- model$k > 2 && model$data$merge_split == 1 &&
    model$covariance != "shared"
  if (!may || !(always || draw_combine_try(twin$moves))) {
    return(twin)
  }
  twin$moves[[4]] <- twin$moves[[4]] + 1
  label <- draw_combination(model, twin)
  if (is.null(label)) {
    return(twin)
  }
  old <- lapply(label, function(c) part_of(twin, c))
  whole <- combine_parts(model, old[[1]], old[[2]])
  parts <- split_part(model, old[[3]])
  new <- list(whole$part, parts$second, parts$first)
  moved <- twin
  for (e in 1:3) {
    moved$log_pi[[label[[e]]]] <- new[[e]]$log_weight
    moved$mu[label[[e]], ] <- new[[e]]$mu
    moved$sigma[[label[[e]]]] <- new[[e]]$sigma
  }
  log_lik <- function(twin) sum(row_log_sums(twin_log_joint(model, twin)))
  log_priors <- function(parts) {
    sum(mapply(function(part, c) log_part_prior(model, part, c), parts, label))
  }
  ratio <- c(
    likelihood = log_lik(moved) - log_lik(twin),
    prior = log_priors(new) - log_priors(old),
    density = whole$log_q - parts$log_q,
    jacobian = parts$log_jacobian - whole$log_jacobian,
    pair = log_pair(model, moved, label[3:2]) - log_pair(model, twin, label)
  )
  if (log(runif(1)) < sum(ratio[setdiff(names(ratio), without)])) {
    twin <- moved
    twin$moves[[8]] <- twin$moves[[8]] + 1
  }
  twin
}

draw_combine_try <- function(moves) moves[[4]] < 200 || runif(1) < 0.25

part_of <- function(twin, c) {
  list(
    log_weight = twin$log_pi[[c]], mu = twin$mu[c, ], sigma = twin$sigma[[c]]
  )
}

# The variables of each block: all of them, or one.
blocks_of <- function(model) {
  d <- ncol(model$data$x)
  if (model$covariance == "diagonal") as.list(seq_len(d)) else list(seq_len(d))
}

log_det <- function(x) as.double(determinant(x)$modulus)

# log q and log J of a split with the whole covariance sigma.
log_block <- function(split, sigma) {
  d <- nrow(sigma)
  p <- split$p
  s <- d / 2 + 30 * p
  t <- d / 2 + 30 * (1 - p)
  j <- seq_len(d)
  gamma <- function(a) sum(lgamma(a - (j - 1) / 2))
  within <- log_det(sigma - tcrossprod(t(chol(sigma)) %*% split$v))
  c(
    q = 3 * log(1 - sum(split$v^2)) + gamma(s + t) - gamma(s) - gamma(t) +
      (s - (d + 1) / 2) * log_det(split$b) +
      (t - (d + 1) / 2) * log_det(diag(d) - split$b),
    jacobian = log_det(sigma) / 2 + (d + 1) / 2 * within -
      d * (d + 2) / 2 * log(p * (1 - p))
  )
}

# list(part, log_q, log_jacobian, overlap) of two components as one.
combine_parts <- function(model, a, b) {
  largest <- max(a$log_weight, b$log_weight)
  log_weight <- largest +
    log(sum(exp(c(a$log_weight, b$log_weight) - largest)))
  p <- exp(a$log_weight - log_weight)
  # no weights of such a share combine
  if (p < 1e-8 || p > 1 - 1e-8) {
    return(list(overlap = 0))
  }
  mu <- p * a$mu + (1 - p) * b$mu
  sigma <- 0 * a$sigma
  logs <- c(q = 0, jacobian = log_weight)
  overlap <- 1
  for (j in blocks_of(model)) {
    within <- p * a$sigma[j, j, drop = FALSE] +
      (1 - p) * b$sigma[j, j, drop = FALSE]
    delta <- sqrt(p * (1 - p)) * (b$mu - a$mu)[j]
    whole <- within + tcrossprod(delta)
    root <- t(chol(within))
    half <- forwardsolve(root, p * a$sigma[j, j, drop = FALSE])
    split <- list(
      p = p, v = forwardsolve(t(chol(whole)), delta),
      b = forwardsolve(root, t(half))
    )
    sigma[j, j] <- whole
    logs <- logs + log_block(split, whole)
    overlap <- overlap * (1 - sum(split$v^2))
  }
  list(
    part = list(log_weight = log_weight, mu = mu, sigma = sigma),
    log_q = logs[["q"]], log_jacobian = logs[["jacobian"]], overlap = overlap
  )
}

lower_wishart <- function(df, d) {
  t <- matrix(0, d, d)
  for (j in seq_len(d)) {
    t[j, j] <- sqrt(rchisq(1, df - (j - 1)))
    t[seq_len(d) > j, j] <- rnorm(d - j)
  }
  tcrossprod(t)
}

# list(first, second, log_q, log_jacobian) of a component split anew.
split_part <- function(model, whole) {
  p <- runif(1)
  first <- second <- whole
  first$log_weight <- log(p) + whole$log_weight
  second$log_weight <- log(1 - p) + whole$log_weight
  logs <- c(q = 0, jacobian = whole$log_weight)
  for (j in blocks_of(model)) {
    d <- length(j)
    sigma <- whole$sigma[j, j, drop = FALSE]
    e <- rnorm(d)
    v <- e / sqrt(sum(e^2) + rchisq(1, 8))
    delta <- drop(t(chol(sigma)) %*% v)
    a <- lower_wishart(d + 60 * p, d)
    both <- a + lower_wishart(d + 60 * (1 - p), d)
    root <- t(chol(both))
    b <- forwardsolve(root, t(forwardsolve(root, a)))
    m <- t(chol(sigma - tcrossprod(delta)))
    first$mu[j] <- whole$mu[j] - sqrt((1 - p) / p) * delta
    second$mu[j] <- whole$mu[j] + sqrt(p / (1 - p)) * delta
    first$sigma[j, j] <- m %*% b %*% t(m) / p
    second$sigma[j, j] <- m %*% (diag(d) - b) %*% t(m) / (1 - p)
    logs <- logs + log_block(list(p = p, v = v, b = b), sigma)
  }
  list(
    first = first, second = second, log_q = logs[["q"]],
    log_jacobian = logs[["jacobian"]]
  )
}

# log p of one component's parameters, but for constants.
log_part_prior <- function(model, part, c) {
  prior <- model$prior
  gap <- part$mu - prior$m0
  value <- (prior$alpha[[c]] - 1) * part$log_weight -
    drop(gap %*% solve(prior$v0, gap)) / 2
  if (model$covariance == "diagonal") {
    variance <- diag(part$sigma)
    return(value - sum(
      (prior$nu0 / 2 + 1) * log(variance) + diag(prior$s0) / (2 * variance)
    ))
  }
  value - (prior$nu0 + length(gap) + 1) / 2 * log_det(part$sigma) -
    sum(diag(solve(part$sigma, prior$s0))) / 2
}

pair_weights <- function(model, twin) {
  pairs <- utils::combn(model$k, 2)
  # by the second label, then by the first one
  pairs <- pairs[, order(pairs[2, ], pairs[1, ]), drop = FALSE]
  weight <- apply(pairs, 2, function(pair) {
    combine_parts(
      model, part_of(twin, pair[[1]]), part_of(twin, pair[[2]])
    )$overlap^4
  })
  list(pairs = pairs, weight = weight)
}

log_pair <- function(model, twin, label) {
  all <- pair_weights(model, twin)
  at <- colSums(all$pairs == min(label[1:2])) == 1 &
    colSums(all$pairs == max(label[1:2])) == 1
  log(all$weight[at] / sum(all$weight))
}

# The two that combine, of which the second label is freed, and a third one.
# NULL if no two combine.
draw_combination <- function(model, twin) {
  all <- pair_weights(model, twin)
  may <- which(all$weight > 0)
  u <- runif(1) * sum(all$weight)
  before <- cumsum(all$weight) - all$weight
  pair <- if (length(may) > 0) all$pairs[, max(may[before[may] <= u])]
  swapped <- runif(1) < 0.5
  left <- setdiff(seq_len(model$k), pair)
  third <- left[[1 + draw_below(model$k - 2)]]
  if (length(may) > 0) {
    c(if (swapped) rev(pair) else pair, third)
  }
}

# What a combination changes, of a twin: the parameters, also beside the data.
combine_quantities <- function(model, twin) {
  weight <- exp(twin$log_pi)
  overlap <- pair_weights(model, twin)$weight
  log_lik <- sum(row_log_sums(twin_log_joint(model, twin)))
  log_dets <- vapply(twin$sigma, log_det, 0)
  c(
    weight = weight[-1], same = sum(weight^2), log_weight = sum(twin$log_pi),
    log_det = log_dets[[1]], all = sum(log_dets),
    weighted = sum(weight * log_dets), mu = atan(twin$mu[, 1]),
    apart = atan(sum(weight * twin$mu[, 1]^2) / 4),
    corner = atan(twin$sigma[[1]][1, ncol(twin$mu)]),
    log_lik = stats::plogis(log_lik / nrow(twin$x) + 3), overlap = sum(overlap),
    nearest = log(max(overlap)), share = max(overlap) / sum(overlap)
  )
}

# As moves_alone_test() below.
combine_alone_test <- function(model, without = "", times = 1000, moves = 3) {
  change <- stack_rows(times, function() {
    joint <- with_simulated_data(model, gibbsite:::draw_prior(model))
    twin <- twin_state(joint$model, joint$state)
    before <- combine_quantities(joint$model, twin)
    for (move in seq_len(moves)) {
      twin <- twin_combine(joint$model, twin, without, always = TRUE)
    }
    combine_quantities(joint$model, twin) - before
  })
  test_zero_means(change)
}

# ---- wrong samplers ----------------------------------------------------------

# The core on altered data: hyperparameters are part of what it reads.
core_mutant <- function(alter) {
  function(model, state, n, control) {
    .Call(
      gibbsite:::C_gmm_sweeps, alter(model$data, model$prior), state, n,
      control, FALSE
    )
  }
}

# The twin with one block replaced.
twin_mutant <- function(...) {
  blocks <- utils::modifyList(twin_blocks, list(...))
  function(model, state, n, control) {
    twin <- twin_state(model, state)
    for (i in seq_len(n)) {
      twin <- gmm_sweep_twin(model, twin, blocks)
    }
    list(state = state_of_twin(model, twin))
  }
}

# The moves with a part of their ratio left out.
move_mutant <- function(part) {
  twin_mutant(moves = function(model, twin) twin_moves(model, twin, part))
}

gmm_mutants <- list(
  # the inverse of the scale, for a diagonal its reciprocals
  rate_for_scale = twin_mutant(covariances = function(model, twin) {
    twin_covariances(model, twin, function(conditional) {
      conditional$scale <- solve(conditional$scale)
      conditional
    })
  }),
  # IG(nu0 / 4, .) where IG(nu0 / 2, .) is meant
  nu0_halved = core_mutant(function(data, prior) {
    data$nu0 <- data$nu0 / 2
    data
  }),
  nu0_off_by_d = core_mutant(function(data, prior) {
    data$nu0 <- data$nu0 + ncol(data$x)
    data
  }),
  m0_dropped = core_mutant(function(data, prior) {
    data$q0_m0 <- 0 * data$q0_m0
    data
  }),
  # z ~ P(z | weights of the sweep before)
  stale_weights = twin_mutant(
    weights = function(model, twin) {
      twin$stale <- twin$log_pi
      twin_weights(model, twin)
    },
    allocations = function(model, twin) {
      fresh <- twin$log_pi
      twin$log_pi <- twin$stale
      twin <- twin_allocations(model, twin)
      twin$log_pi <- fresh
      twin
    }
  ),
  v0_for_its_inverse = core_mutant(function(data, prior) {
    data$q0 <- prior$v0
    data$q0_m0 <- drop(prior$v0 %*% prior$m0)
    data
  }),
  # pi ~ Dir(1 + n), whatever alpha
  alpha_dropped = core_mutant(function(data, prior) {
    data$alpha <- rep(1, data$k)
    data
  }),
  # Sigma_c about the observations' mean instead of mu_c
  scatter_about_data_mean = twin_mutant(covariances = function(model, twin) {
    mu <- twin$mu
    for (c in intersect(seq_len(model$k), twin$z)) {
      twin$mu[c, ] <- colMeans(members(twin, c))
    }
    twin <- twin_covariances(model, twin)
    twin$mu <- mu
    twin
  }),
  # the shared covariance from the scatter of all, but nu0 + n / k
  shared_count_of_one = twin_mutant(covariances = function(model, twin) {
    twin_covariances(model, twin, function(conditional) {
      conditional$df <- model$prior$nu0 + length(twin$z) / model$k
      conditional
    })
  }),
  # missing entries from N(mu_c, Sigma_c), whatever was observed
  marginal_imputation = twin_mutant(imputation = function(model, twin) {
    impute_marginally(model, twin)
  }),
  # missing entries at their conditional mean
  imputation_of_means = twin_mutant(imputation = function(model, twin) {
    holes <- is.na(model$data$x)
    for (i in which(rowSums(holes) > 0)) {
      twin$x[i, holes[i, ]] <- missing_conditional(model, twin, i)$mean
    }
    twin
  }),
  # missing entries given the z of the sweep before, then z with these
  # integrated out: each step is right by itself, but the values and z at the
  # end of a sweep are not a draw from their joint distribution
  imputation_first = function(model, state, n, control) {
    twin <- twin_state(model, state)
    order <- c(
      "weights", "means", "covariances", "imputation", "allocations"
    )
    for (i in seq_len(n)) {
      twin <- gmm_sweep_twin(model, twin, twin_blocks[order])
    }
    list(state = state_of_twin(model, twin))
  },
  # z given the old imputed values as if observed, then these marginally: wrong
  # except for independent variables, for which the missing entries depend on z
  # only; then both steps are full conditionals of a right sampler that mixes
  # more slowly
  stale_imputation = twin_mutant(
    allocations = function(model, twin) {
      model$data$x <- twin$x
      twin_allocations(model, twin)
    },
    imputation = function(model, twin) impute_marginally(model, twin)
  )
)

impute_marginally <- function(model, twin) {
  holes <- is.na(model$data$x)
  for (i in which(rowSums(holes) > 0)) {
    root <- chol(twin$sigma[[twin$z[[i]]]])
    x <- twin$mu[twin$z[[i]], ] + drop(rnorm(nrow(root)) %*% root)
    twin$x[i, holes[i, ]] <- x[holes[i, ]]
  }
  twin
}

# ---- moves alone -------------------------------------------------------------

# What a move changes, of a twin: z and the covariances.
move_quantities <- function(model, twin) {
  count <- tabulate(twin$z, model$k)
  log_det <- vapply(twin$sigma, function(s) log(det(s)), 0)
  within <- vapply(seq_len(model$k), function(c) {
    sum(diag(group_of(model, twin$x, twin$z, c)$scatter))
  }, 0)
  c(
    count = count[-1], same = sum(count^2), occupied = sum(count > 0),
    alone = sum(count == 1), log_det = log_det[[1]],
    weighted = sum(count * log_det), all = sum(log_det),
    within = atan(sum(within) / 20)
  )
}

# z, parameters and data from their joint distribution, then `moves` moves.
# These leave the distribution of what they change as it is, so that each
# quantity's change has mean zero. data.frame(quantity, p).
moves_alone_test <- function(model, without = "", times = 1000, moves = 3) {
  change <- stack_rows(times, function() {
    moved <- move_quantities_of(model, without, moves)
    moved$after - moved$before
  })
  test_zero_means(change)
}

# One move is its own reverse: f(before) g(after) - g(before) f(after) has mean
# zero for any two quantities f and g.
reversal_test <- function(model, without = "", times = 1000) {
  difference <- stack_rows(times, function() {
    moved <- move_quantities_of(model, without, 1)
    product <- outer(moved$before, moved$after)
    (product - t(product))[upper.tri(product)]
  })
  test_zero_means(difference)
}

move_quantities_of <- function(model, without, moves) {
  joint <- with_simulated_data(model, gibbsite:::draw_prior(model))
  twin <- twin_state(joint$model, joint$state)
  before <- move_quantities(joint$model, twin)
  for (move in seq_len(moves)) {
    twin <- twin_moves(joint$model, twin, without)
  }
  list(before = before, after = move_quantities(joint$model, twin))
}

test_zero_means <- function(x) {
  p <- apply(x, 2, function(x) {
    if (stats::sd(x) == 0) 1 else stats::t.test(x)$p.value
  })
  data.frame(quantity = seq_along(p), p = p, row.names = NULL)
}
