# The model behind gibbs_gmm(): the data for C, the state, starting values, and
# its methods for the generics of model.R. src/core/gmm/gmm.h has the
# mathematics.

# source: see gmm-data.R.
gmm_model <- function(x, k, prior, covariance = "full", keep = character(),
                      merge_split = TRUE, source = list()) {
  data <- gmm_data(x, k, prior, covariance, keep, merge_split)
  new_model(
    "gmm_model",
    name = "gibbs_gmm", title = "Gaussian mixture",
    headline = gmm_headline(x, k, covariance),
    data = data, prior = prior, nobs = sum(rows_seen(x)), rows = nrow(x),
    columns = gmm_columns(x, k, covariance, keep),
    k = as.integer(k), variables = colnames(x), covariance = covariance,
    cures = gmm_cures(k), reference = reference_points(x),
    keep = keep, merge_split = merge_split, source = source
  )
}

gmm_cures <- function(k) {
  paste0(
    if (k > 2) "Try fewer components, or let " else "Let ",
    "`gibbs_gmm(x, \"unknown\")` find their number."
  )
}

# Without the names of rows and columns: the same numbers have the same hash,
# however they were given.
#' @exportS3Method
model_hash.mixture_model <- function(model) {
  data <- model$data
  data$x <- matrix(as.vector(data$x), nrow(data$x))
  hash(data)
}

#' @exportS3Method
model_words.gmm_model <- function(model) {
  c(paste("k =", model$k), covariance_words(model))
}

covariance_words <- function(model) {
  if (model$covariance != "full") {
    paste0("covariance = \"", model$covariance, "\"")
  }
}

# The data that C reads. The inverse V0^-1 itself is needed: it is added to n_c
# Sigma_c^-1.
gmm_data <- function(x, k, prior, covariance, keep, merge_split) {
  q0 <- chol2inv(chol(prior$v0))
  list(
    x = x, k = as.integer(k), form = gmm_forms[[covariance]],
    alpha = prior$alpha, m0 = prior$m0, q0 = q0,
    q0_m0 = drop(q0 %*% prior$m0), nu0 = as.double(prior$nu0), s0 = prior$s0,
    merge_split = as.integer(merge_split),
    missing = gmm_missing(x), keep_z = as.integer("z" %in% keep),
    keep_x = as.integer("x" %in% keep)
  )
}

# The rows with a value. Only they are observations.
rows_seen <- function(x) rowSums(!is.na(x)) > 0

# Rows with missing entries by pattern, as gmm/gmm.h describes; NULL when x is
# complete.
gmm_missing <- function(x) {
  holes <- is.na(x)
  if (!any(holes)) {
    return(NULL)
  }
  incomplete <- which(rowSums(holes) > 0)
  key <- row_codes(as.data.frame(holes[incomplete, , drop = FALSE]))
  first <- incomplete[!duplicated(key)]
  pattern <- integer(nrow(x))
  pattern[incomplete] <- key
  counts <- rowSums(holes)
  list(
    entries = sum(holes), patterns = length(first), pattern = pattern,
    missing = as.integer(t(holes[first, , drop = FALSE])),
    offset = as.integer(cumsum(counts) - counts)
  )
}

gmm_columns <- function(x, k, covariance, keep) {
  c <- seq_len(k)
  d <- seq_len(ncol(x))
  holes <- which(t(is.na(x)), arr.ind = TRUE)
  c(
    indexed("pi", c), indexed("mu", c, d),
    switch(covariance,
      full = indexed("Sigma", c, d, d),
      diagonal = indexed("sigma2", c, d),
      shared = indexed("Sigma", d, d)
    ),
    "log_lik", "n_occupied",
    if ("z" %in% keep) indexed("z", seq_len(nrow(x))),
    if ("x" %in% keep && nrow(holes) > 0) {
      paste0("x[", holes[, 2L], ",", holes[, 1L], "]")
    },
    if ("labels" %in% keep) indexed("label", c)
  )
}

# ---- Starting values --------------------------------------------------------

#' @exportS3Method
model_start.gmm_model <- function(model, init) {
  if (is.null(init)) best_start(model) else one_start(model, init)
}

# Of five random starts, the one from which ten sweeps of conditional modes lead
# to the highest log joint density. The chosen start itself is returned as it
# was drawn, so that the starts stay dispersed, but a chain rarely begins near a
# poor local mode. With many observations, 2,000 spread evenly over the data are
# used for the comparison and for the means.
best_start <- function(model) {
  fewer <- model_of_some(model)
  if (model$k > fewer$rows) {
    return(one_start(model, NULL))
  }
  best <- highest_climb(fewer, 5L, 10)$start
  if (fewer$rows == model$rows) {
    return(best)
  }
  one_start(model, list(mu = matrix(best$mu, model$k)))
}

# The model of at most 2,000 observations, spread evenly over the data.
model_of_some <- function(model) {
  x <- model$data$x
  rows <- evenly(nrow(x), 2000)
  some <- x[rows, , drop = FALSE]
  if (length(rows) == nrow(x) || any(colSums(!is.na(some)) == 0)) {
    return(model)
  }
  gmm_model(some, model$k, model$prior, model$covariance)
}

# Of several random starts, the one from which sweeps of conditional modes lead
# to the highest log joint density: list(start, end).
highest_climb <- function(model, starts, sweeps) {
  control <- list(burnin = sweeps, thin = 1, threads = 1)
  best <- NULL
  highest <- -Inf
  for (i in seq_len(starts)) {
    state <- one_start(model, NULL)
    end <- NULL
    value <- tryCatch(
      {
        end <- interrupt_or(.Call(
          C_gmm_sweeps, model$data, state, sweeps, control, TRUE
        ))$state
        gmm_log_joint(model, end)
      },
      error = function(cnd) -Inf
    )
    # if several starts reach the same mode, the first is taken; the tolerance
    # makes this independent of rounding
    if (is.null(best) || isTRUE(value - highest > 1e-6 * (1 + abs(value)))) {
      best <- list(start = state, end = end)
      highest <- value
    }
  }
  best
}

# A start with the values that the user gave; the means are `k` observations
# unless given. The allocations follow from the other parameters (one uniform an
# observation); missing entries start at the mean of their column.
one_start <- function(model, init) {
  data <- model$data
  k <- model$k
  filled <- fill_column_means(data$x)
  pi <- init$pi %||% rep(1 / k, k)
  mu <- init$mu %||% scattered_rows(filled, k, sqrt(diag(data$s0)))
  sigma <- init$Sigma %||% init$sigma2 %||% default_covariances(model)
  state <- gmm_state(model, log(pi), mu, sigma, init$z)
  if (is.null(init$z)) {
    state$z <- draw_labels(gmm_probabilities(model, state, filled))
  }
  state
}

# k rows of x: the first with equal probabilities, each further one in
# proportion to the squared distance from the nearest one taken (Arthur &
# Vassilvitskii 2007, "k-means++: the advantages of careful seeding", SODA,
# 1027-1035).
scattered_rows <- function(x, k, scale) {
  y <- t(x) / scale
  taken <- sample.int(ncol(y), 1L)
  distance <- colSums((y - y[, taken])^2)
  while (length(taken) < k) {
    # all remaining observations coincide with a chosen one
    weight <- if (any(distance > 0)) distance else rep(1, ncol(y))
    taken <- c(taken, sample.int(ncol(y), 1L, prob = weight))
    distance <- pmin(distance, colSums((y - y[, taken[length(taken)]])^2))
  }
  x[taken, , drop = FALSE]
}

default_covariances <- function(model) {
  k <- model$k
  s0 <- model$data$s0
  d <- nrow(s0)
  switch(model$covariance,
    full = aperm(array(s0, c(d, d, k)), c(3L, 1L, 2L)),
    diagonal = matrix(diag(s0), k, d, byrow = TRUE),
    shared = s0
  )
}

fill_column_means <- function(x) {
  holes <- is.na(x)
  if (any(holes)) {
    x[holes] <- colMeans(x, na.rm = TRUE)[col(x)[holes]]
  }
  x
}

#' @exportS3Method
model_check_init.gmm_model <- function(model, init, where, call) {
  k <- model$k
  d <- length(model$variables)
  spread <- if (model$covariance == "diagonal") "sigma2" else "Sigma"
  known <- c("pi", "mu", spread, "z")
  check_init_names(init, known, where, call)
  sizes <- list(
    pi = k, mu = c(k, d), z = model$rows, sigma2 = c(k, d),
    Sigma = if (model$covariance == "full") c(k, d, d) else c(d, d)
  )
  for (name in names(init)) {
    check_init_shape(
      init[[name]], sizes[[name]], paste0(where, "$", name), call
    )
  }
  check_init_values(init, k, where, call)
  check_init_covariances(init$Sigma, d, where, call)
  init
}

check_init_values <- function(init, k, where, call) {
  pi <- init$pi
  arg <- function(name) paste0(where, "$", name)
  abort_elements(pi <= 0, pi, arg("pi"), "positive", call)
  if (!is.null(pi) && abs(sum(pi) - 1) > 1e-8) {
    abort_argument("`{where}$pi` must sum to 1, not {sum(pi)}.", call = call)
  }
  abort_elements(
    !init$z %in% seq_len(k), init$z, arg("z"),
    paste("whole numbers from 1 to", k), call
  )
  # squares of distances must not overflow
  abort_elements(
    abs(init$mu %||% 0) > 1e150, init$mu, arg("mu"), "below 1e150", call
  )
  abort_elements(
    init$sigma2 <= 0, init$sigma2, arg("sigma2"), "positive", call
  )
}

check_init_covariances <- function(sigma, d, where, call) {
  if (is.null(sigma)) {
    return(invisible())
  }
  k <- length(sigma) / d^2
  sigma <- array(sigma, c(k, d, d))
  for (c in seq_len(k)) {
    which <- if (k > 1) paste0("[", c, ", , ]") else ""
    check_spd_matrix(
      matrix(sigma[c, , ], d, d), d, arg = paste0(where, "$Sigma", which),
      call = call
    )
  }
}

#' @exportS3Method
model_init_from_state.gmm_model <- function(model, state) {
  p <- gmm_parameters(model, state)
  spread <- if (model$covariance == "diagonal") "sigma2" else "Sigma"
  init <- list(pi = p$pi / sum(p$pi), mu = p$mu, z = state$z)
  init[[spread]] <- p$sigma
  init
}

# ---- The state --------------------------------------------------------------

#' @exportS3Method
model_sweeps.gmm_model <- function(model, state, n, control) {
  .Call(C_gmm_sweeps, model$data, state, n, control, FALSE)
}

# A state; sigma: k x d x d, k x d (variances) or d x d, as the form has it.
gmm_state <- function(model, log_pi, mu, sigma, z) {
  x <- model$data$x
  n <- nrow(x)
  holes <- t(is.na(x))
  list(
    sweep = 0, z = as.integer(z), log_pi = as.double(log_pi),
    mu = as.double(mu), factor = gmm_factor(model, sigma),
    x_missing = unname(t(fill_column_means(x))[holes]),
    prob = numeric(n * model$k), kept = 0, moves = numeric(8),
    numbering = no_numbering
  )
}

# The numbers that the components of the last kept draw were given, none before
# it; and how often they changed.
no_numbering <- list(last = integer(), switches = 0)

#' @exportS3Method
model_without_averages.gmm_model <- function(model, state, anew = FALSE) {
  state$prob[] <- 0
  state$kept <- 0
  state$numbering <- no_numbering
  state
}

# Factors L_c of the covariances in the layout of core/gmm/gmm_density.h.
gmm_factor <- function(model, sigma) {
  k <- model$k
  d <- length(model$variables)
  lower <- function(s) as.double(t(chol(matrix(s, d, d))))
  switch(model$covariance,
    full = {
      sigma <- array(sigma, c(k, d, d))
      unlist(lapply(seq_len(k), function(c) lower(sigma[c, , ])))
    },
    diagonal = as.double(t(sqrt(matrix(sigma, k, d)))),
    shared = lower(sigma)
  )
}

# The lower triangular factors of the covariances: k x d x d, or 1 x d x d if
# they are shared.
component_factors <- function(model, state) {
  k <- model$k
  d <- length(model$variables)
  f <- state$factor
  switch(model$covariance,
    full = aperm(array(f, c(d, d, k)), c(3L, 1L, 2L)),
    diagonal = {
      factors <- array(0, c(k, d, d))
      places <- cbind(rep(seq_len(k), each = d), seq_len(d), seq_len(d))
      factors[places] <- f
      factors
    },
    shared = array(f, c(1L, d, d))
  )
}

# The parameters of a state in the usual form: pi (k), mu (k x d), Sigma (k x d
# x d for every form of the covariances), and `sigma` in the form's own shape.
gmm_parameters <- function(model, state) {
  k <- model$k
  d <- length(model$variables)
  factors <- component_factors(model, state)
  full <- array(0, c(k, d, d))
  for (c in seq_len(k)) {
    full[c, , ] <- tcrossprod(matrix(factors[min(c, nrow(factors)), , ], d, d))
  }
  sigma <- switch(model$covariance,
    full = full,
    diagonal = t(matrix(state$factor, d, k))^2,
    shared = matrix(full[1L, , ], d, d)
  )
  list(
    pi = exp(state$log_pi), mu = matrix(state$mu, k, d), Sigma = full,
    sigma = sigma
  )
}

# P(z_i = c | x_i, parameters of one state), n x k.
gmm_probabilities <- function(model, state, x) {
  p <- gmm_parameters(model, state)
  blocks <- list(
    k = model$k, d = ncol(x), covariance = model$covariance,
    pi = matrix(p$pi, 1L), mu = matrix(p$mu, 1L), sigma = matrix(p$sigma, 1L)
  )
  evaluate_draws(blocks, x, prob = TRUE)$prob
}

# One label a row of a matrix of probabilities.
draw_labels <- function(prob) {
  u <- stats::runif(nrow(prob))
  partial <- prob
  for (c in seq_len(ncol(prob))[-1L]) {
    partial[, c] <- partial[, c] + partial[, c - 1L]
  }
  u <- u * partial[, ncol(prob)]
  as.integer(1 + rowSums(partial[, -ncol(prob), drop = FALSE] <= u))
}

# ---- Invariants and labels --------------------------------------------------

# log-likelihood, weights in decreasing order, mean and covariance of the
# mixture: sum_c pi_c mu_c and sum_c pi_c (Sigma_c + mu_c mu_c') - mean mean'.
#' @exportS3Method
model_invariants.gmm_model <- function(model, draws) {
  draws <- unclass(draws)
  b <- gmm_blocks(model, draws)
  k <- b$k
  d <- b$d
  weight <- b$pi
  if (k > 1L && nrow(draws) > 0L) {
    row <- as.vector(row(b$pi))
    sorted <- b$pi[order(row, -as.vector(b$pi))]
    weight <- matrix(sorted, nrow(draws), k, byrow = TRUE)
  }
  mean <- vapply(seq_len(d), function(j) {
    rowSums(b$pi * gmm_mean(b, j))
  }, numeric(nrow(draws)))
  mean <- matrix(mean, nrow(draws), d)
  pairs <- which(lower.tri(diag(d), diag = TRUE), arr.ind = TRUE)
  covariance <- apply(pairs, 1L, function(pair) {
    i <- pair[[1L]]
    j <- pair[[2L]]
    second <- gmm_covariance(b, i, j) + gmm_mean(b, i) * gmm_mean(b, j)
    rowSums(b$pi * second) - mean[, i] * mean[, j]
  })
  covariance <- matrix(covariance, nrow(draws), nrow(pairs))
  together <- points_together(model$reference, b)
  result <- cbind(draws[, "log_lik"], weight, mean, covariance, together)
  dimnames(result) <- list(NULL, c(
    "log_lik", paste0("weight[", seq_len(k), "]"),
    paste0("mean[", seq_len(d), "]"),
    paste0("cov[", pairs[, 1L], ",", pairs[, 2L], "]"),
    if (!is.null(together)) "together"
  ))
  result
}

# Points about the data: the mean of the variables, and a standard deviation
# from it in each of the first eight of them.
reference_points <- function(x) {
  x <- x[, seq_len(min(ncol(x), 8L)), drop = FALSE]
  mean <- colMeans(x, na.rm = TRUE)
  step <- diag(apply(x, 2L, stats::sd, na.rm = TRUE), ncol(x))
  step[is.na(step)] <- 0
  points <- rbind(0, step, -step) + rep(mean, each = 2L * ncol(x) + 1L)
  points[is.na(points)] <- 0
  points
}

# Which of the reference points a draw puts together: sum_c (sum_i w_i r_ic)^2,
# with r_ic the probability of component c at point i, by its variances alone,
# and with weights w_i that no symmetry of the points shares. Clusterings with
# equal weights, moments and likelihood have different values.
points_together <- function(points, b) {
  # fits of an earlier version have none
  if (is.null(points)) {
    return(NULL)
  }
  variance <- lapply(seq_len(ncol(points)), function(j) {
    gmm_covariance(b, j, j)
  })
  total <- 0
  for (i in seq_len(nrow(points))) {
    value <- log(b$pi)
    for (j in seq_len(ncol(points))) {
      value <- value - (points[i, j] - gmm_mean(b, j))^2 / (2 * variance[[j]]) -
        log(variance[[j]]) / 2
    }
    value[b$pi == 0] <- -Inf
    # the largest of a row
    top <- value[cbind(seq_len(nrow(value)), max.col(value, "first"))]
    share <- exp(value - top)
    total <- total + (1 + (i * sqrt(2)) %% 1) * share / rowSums(share)
  }
  rowSums(total^2)
}

gmm_headline <- function(x, k, covariance) {
  missing <- sum(is.na(x))
  n <- sum(rows_seen(x))
  paste0(
    cli::pluralize(
      "Gaussian mixture: {k} component{?s}, {covariance} covariances; ",
      "{n} observation{?s} of {ncol(x)} variable{?s}"
    ),
    if (missing > 0) paste0(", ", missing, " missing entries drawn"),
    if (n < nrow(x)) {
      paste0(", ", counted(nrow(x) - n, "row"), " without values")
    }
  )
}

#' @exportS3Method
model_labels.gmm_model <- function(model) {
  names <- model$variables
  covariance <- function(i, j) {
    if (i == j) {
      return(paste("variance of", names[i]))
    }
    paste("covariance of", names[i], "and", names[j])
  }
  label <- function(block, at) {
    switch(block,
      pi = paste("weight of component", at),
      mu = paste0("mean of ", names[at[2L]], " in component ", at[1L]),
      Sigma = if (length(at) == 2L) {
        covariance(at[1L], at[2L])
      } else {
        paste(covariance(at[2L], at[3L]), "in component", at[1L])
      },
      sigma2 = paste(covariance(at[2L], at[2L]), "in component", at[1L]),
      z = paste("component of observation", at),
      label = paste("the sampler's number of component", at),
      x = paste0(names[at[2L]], " of observation ", at[1L]),
      log_lik = "log-likelihood", n_occupied = "occupied components"
    )
  }
  label_columns(model$columns, label)
}

#' @exportS3Method
model_key.gmm_model <- function(model, shown) {
  if (length(model$variables) == 1L) {
    return(NULL)
  }
  shared <- model$covariance == "shared"
  key_of_blocks(shown, c(
    mu = "mu[c,j]: component c, variable j",
    Sigma = if (shared) {
      "Sigma[i,j]: variables i and j"
    } else {
      "Sigma[c,i,j]: component c, variables i and j"
    },
    sigma2 = "sigma2[c,j]: component c, variable j"
  ), "variables: ", model$variables)
}

#' @exportS3Method
model_next.gmm_model <- function(model) "predict(fit)"

# Components without observations, if there are any in more than a twentieth of
# the draws.
empty_line <- function(model, fit) {
  occupied <- unlist(lapply(model_matrices(fit), function(draws) {
    draws[, "n_occupied"]
  }))
  empty <- mean(occupied < model$k)
  if (empty > 0.05) {
    paste0(
      "Empty components: in ", round(100 * empty), "% of the draws; ",
      format(round(mean(occupied), 1)), " of ", model$k,
      " hold observations on average."
    )
  }
}

# ---- Search for a mode ------------------------------------------------------

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

# The observations with their missing entries as drawn: variables x
# observations.
completed_data <- function(model, state) {
  x <- t(model$data$x)
  x[is.na(x)] <- state$x_missing
  x
}

# ---- The log joint density --------------------------------------------------

# log p(x, z, pi, mu, Sigma) of a state, every constant included; missing
# entries are unknowns of the model. The density of pi is with respect to the
# first k - 1 weights, that of a covariance to its lower triangle. Weights that
# a search has set to 0, at which the density is 0 or infinite, are left out.
gmm_log_joint <- function(model, state) {
  prior <- model$prior
  mu <- t(matrix(state$mu, model$k))
  d <- nrow(mu)
  x <- completed_data(model, state)
  factors <- component_factors(model, state)
  # of all columns of x
  log_normal <- function(x, mean, l) {
    -0.5 * sum(forwardsolve(l, x - mean)^2) -
      ncol(x) * (sum(log(diag(l))) + d / 2 * log(2 * pi))
  }
  log_prior <- function(l, at) {
    log_inverse_wishart(l, prior$nu0, prior$s0[at, at, drop = FALSE])
  }
  used <- state$log_pi > -Inf & prior$alpha != 1
  total <- lgamma(sum(prior$alpha)) - sum(lgamma(prior$alpha)) +
    sum(((prior$alpha - 1) * state$log_pi)[used]) +
    log_normal(mu, prior$m0, t(chol(prior$v0))) +
    sum(over_variances(factors, model$covariance == "diagonal", log_prior))
  for (c in unique(state$z)) {
    own <- x[, state$z == c, drop = FALSE]
    l <- matrix(factors[min(c, nrow(factors)), , ], d, d)
    total <- total + log_normal(own, mu[, c], l) + ncol(own) * state$log_pi[[c]]
  }
  total
}

# ---- The joint distribution -------------------------------------------------

#' @exportS3Method
draw_prior.gmm_model <- function(model) {
  prior <- model$prior
  k <- model$k
  d <- length(prior$m0)
  weights <- stats::rgamma(k, prior$alpha)
  pi <- weights / sum(weights)
  mu <- t(prior$m0 + t(chol(prior$v0)) %*% matrix(stats::rnorm(d * k), d, k))
  inverse_wishart <- function() {
    w <- stats::rWishart(1L, prior$nu0, chol2inv(chol(prior$s0)))
    chol2inv(chol(matrix(w, d, d)))
  }
  sigma <- switch(model$covariance,
    full = {
      all <- array(0, c(k, d, d))
      for (c in seq_len(k)) all[c, , ] <- inverse_wishart()
      all
    },
    diagonal = 1 / matrix(
      stats::rgamma(k * d, prior$nu0 / 2, rep(diag(prior$s0) / 2, each = k)), k
    ),
    shared = inverse_wishart()
  )
  z <- sample.int(k, model$rows, replace = TRUE, prob = pi)
  gmm_state(model, log(pi), mu, sigma, z)
}

# Complete data; a test that hides entries puts their values into the state's
# x_missing.
#' @exportS3Method
simulate_data.gmm_model <- function(model, state) {
  x <- sim_normals(gmm_parameters(model, state), state$z)
  colnames(x) <- model$variables
  x
}

# x_i ~ N(mu_{z_i}, Sigma_{z_i})
sim_normals <- function(parameters, z) {
  d <- ncol(parameters$mu)
  x <- matrix(stats::rnorm(length(z) * d), length(z), d)
  for (c in unique(z)) {
    rows <- z == c
    root <- chol(matrix(parameters$Sigma[c, , ], d, d))
    x[rows, ] <- x[rows, , drop = FALSE] %*% root +
      rep(parameters$mu[c, ], each = sum(rows))
  }
  x
}

# An environment is another one after a fit was saved. Equal data may come from
# other rows.
#' @exportS3Method
model_comparable.mixture_model <- function(model) {
  terms <- model$source$terms
  if (!is.null(terms)) attr(terms, ".Environment") <- NULL
  model$source <- list(terms = terms)
  model
}

#' @exportS3Method
set_data.gmm_model <- function(model, data, call = rlang::caller_env()) {
  fresh <- gmm_model(
    observations_again(model, data, call), model$k, model$prior,
    model$covariance, model$keep, model$merge_split, model$source
  )
  model[names(fresh)] <- fresh
  model
}

# The invariants, with the likelihood of the observed entries, and
# log p(z | pi).
#' @exportS3Method
model_quantities.gmm_model <- function(model, state) {
  p <- gmm_parameters(model, state)
  row <- matrix(c(p$pi, p$mu, p$sigma), 1L)
  density <- evaluate_observed(
    gmm_blocks(model, row), model$data$x, density = TRUE
  )$log_density
  row <- cbind(row, sum(density))
  colnames(row) <- model$columns[seq_len(ncol(row))]
  c(
    model_invariants(model, row)[1L, ],
    log_z = sum(state$log_pi[state$z])
  )
}

# Of the first component, of the observations about their components' means, and
# of the missing entries.
#' @exportS3Method
further_quantities.gmm_model <- function(model, state) {
  p <- gmm_parameters(model, state)
  share <- mean(state$z == 1L)
  about <- completed_data(model, state) - t(p$mu[state$z, , drop = FALSE])
  missing <- state$x_missing
  # the product of all entries tells whether those missing are drawn given those
  # seen
  holes <- rowSums(is.na(model$data$x))
  partly <- holes > 0 & holes < ncol(model$data$x)
  c(
    "pi[1]" = p$pi[[1L]], "mu[1,1]" = p$mu[[1L]], share = share,
    product = p$pi[[1L]] * share,
    log_det = log(det(as.matrix(p$Sigma[1L, , ]))),
    within = mean(about^2),
    if (length(missing) > 0L) {
      c(missing = mean(missing), missing_square = mean(missing^2),
        first_missing = missing[[1L]])
    },
    if (any(partly)) {
      c(missing_product = mean(apply(about[, partly, drop = FALSE], 2L, prod)))
    }
  )
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_outcome.mixture_model <- function(model) {
  x <- model$data$x
  as.vector(x[rows_seen(x), ])
}

#' @exportS3Method
can_fold.gmm_model <- function(model) TRUE

# The components keep the numbers of the fit's mode.
#' @exportS3Method
model_fold.gmm_model <- function(model, held, by) {
  x <- model$data$x
  rows <- which(rows_seen(x))
  train <- gmm_model(
    x[rows[-held], , drop = FALSE], model$k, model$prior, model$covariance,
    character(), model$data$merge_split == 1L
  )
  train$pivot <- model$pivot
  test <- train
  test$data$x <- x[rows[held], , drop = FALSE]
  list(train = train, test = test)
}

#' @exportS3Method
model_hints.mixture_model <- function(model) {
  utils::modifyList(NextMethod(), list(
    comparison = sizes_hint,
    weights = "Those of the components are {.code draws_of(fit, \"pi\")}."
  ))
}
