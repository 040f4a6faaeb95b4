# The posterior densities of hierarchical regressions, for log_evidence().

# The density is that of Sigma and sigma alone: the fixed effects and the
# groups' deviations are integrated out in closed form. The coordinates are
# those of Sigma, and the log of 1 / sigma^2.
#' @exportS3Method
model_unbounded.hlm_model <- function(model, given, call) {
  data <- model$data
  own <- seq_len(coordinate_count(data$q, data$diagonal == 1))
  list(
    points = function(draws) {
      d <- hlm_draws_in(model, rebase_draws(model, draws, back = TRUE))
      cbind(
        bar_coordinates(data, d), if (data$known == 0) -2 * log(d$sigma)
      )
    },
    log_density = function(x) {
      # in blocks, so that an interrupt need not wait for all
      cost <- length(data$bar) + length(data$fixed) + 1
      by_point_blocks(x, cost, function(x) {
        log_variance_density(model, x[, own, drop = FALSE], x[, -own])
      })
    }
  )
}

# log p(y | Sigma, sigma) p(Sigma) p(log beta), at coordinates of Sigma.
log_variance_density <- function(model, x, log_beta) {
  at <- hlm_at_points(model$data, x)
  if (model$data$known == 1) {
    log_beta <- numeric(nrow(x))
  }
  hlm_constant(model$data) + at$log_prior + .Call(
    C_hlm_log_marginal, model$data, as.double(aperm(at$factor, c(2, 3, 1))),
    as.double(log_beta)
  )
}

# The constant that C_hlm_log_marginal leaves out.
hlm_constant <- function(data) {
  (data$log_weights - data$n * log(2 * pi) + sum(log(data$precision))) / 2 +
    if (data$known == 1) {
      0
    } else {
      data$shape * log(data$rate) - lgamma(data$shape)
    }
}

# Coordinates of Sigma of one bar. data: what C reads of it; d: list(factor), q
# x q x draws.
bar_coordinates <- function(data, d) {
  factor_coordinates(aperm(d$factor, c(3, 1, 2)), data$diagonal == 1)
}

# list(factor, log_prior) at coordinates of Sigma of one bar, the second with
# the Jacobian.
hlm_at_points <- function(data, x) {
  q <- data$q
  diagonal <- data$diagonal == 1
  factor <- coordinate_factors(x, q, diagonal)
  log_prior <- over_variances(factor, diagonal, function(factor, at) {
    if (data$half_t == 1) {
      return(log_half_t_covariance(factor, data$df, data$scale[at]))
    }
    scale <- matrix(data$scale, q)[at, at, drop = FALSE]
    log_inverse_wishart(factor, data$df, scale)
  })
  list(
    factor = factor,
    log_prior = log_prior + log_factor_jacobian(x, q, diagonal)
  )
}

# ---- Deviations as coordinates -----------------------------------------------

# The density is that of b, of Sigma of each bar, and of the groups' deviations,
# because these cannot be integrated out here. The coordinates of a group are
# L^-1 u_j, which are standard normal under the prior whatever Sigma is.
#' @exportS3Method
model_unbounded.hlm_trials_model <- function(model, given, call) {
  frame <- check_frame(model, call)
  bars <- bars_of_data(model$data)
  p <- length(model$coefficients)
  own <- coordinate_places(bars)
  before <- seq_len(p + max(unlist(own)))
  list(
    points = function(draws) {
      draws <- rebase_draws(model, draws, back = TRUE)
      each <- bar_draws(model, draws)
      do.call(cbind, c(
        list(unname(draws[, seq_len(p), drop = FALSE])),
        Map(bar_coordinates, bars, each), lapply(each, standard_deviates)
      ))
    },
    log_density = function(x) {
      by_point_blocks(x, 2 * nrow(frame$x), function(x) {
        at <- Map(function(bar, columns) {
          hlm_at_points(bar, x[, p + columns, drop = FALSE])
        }, bars, own)
        log_grouped_joint(
          model, frame, x[, seq_len(p), drop = FALSE], at,
          x[, -before, drop = FALSE]
        )
      })
    }
  )
}

# The places of the coordinates of Sigma of each bar among those of all.
coordinate_places <- function(bars) {
  runs_of_places(vapply(bars, function(bar) {
    coordinate_count(bar$q, bar$diagonal == 1)
  }, 0))
}

# list(factor, u) of each bar: q x q x draws and q x groups x draws.
bar_draws <- function(model, draws) {
  if (is.null(model$data$bars)) {
    return(list(hlm_draws_in(model, draws)))
  }
  lapply(seq_along(model$data$bars), function(f) {
    bar <- model$data$bars[[f]]
    list(
      factor = aperm(stored_factors(model, draws, f), c(2, 3, 1)),
      u = array(
        t(stored_deviations(model, draws, f)),
        c(bar$q, bar$groups, nrow(draws))
      )
    )
  })
}

# L^-1 u_j of each draw: draws x (q J), the elements of a group together.
standard_deviates <- function(d) {
  q <- dim(d$u)[[1L]]
  count <- dim(d$u)[[3L]]
  factor <- aperm(d$factor, c(3, 1, 2))
  out <- array(0, dim(d$u))
  for (k in seq_len(q)) {
    rest <- matrix(d$u[k, , ], ncol = count)
    for (c in seq_len(k - 1L)) {
      rest <- rest - rep(factor[, k, c], each = nrow(rest)) *
        matrix(out[c, , ], ncol = count)
    }
    out[k, , ] <- rest / rep(factor[, k, k], each = nrow(rest))
  }
  t(matrix(out, ncol = count))
}

# log p(y | b, u) p(b) prod_f p(Sigma_f) p(u_f | Sigma_f). b: points x p; at: a
# list of hlm_at_points() for each bar; v: points x deviations, the standard
# deviates of the groups of all bars.
log_grouped_joint <- function(model, frame, b, at, v) {
  bars <- bars_of_data(model$data)
  eta <- tcrossprod(b, in_basis(frame$x, model$data$basis))
  if (!is.null(frame$offset)) {
    eta <- eta + rep(frame$offset, each = nrow(b))
  }
  last <- 0
  for (f in seq_along(bars)) {
    of <- if (is.null(frame$bars)) frame else frame$bars[[f]]
    of$z <- in_basis(of$z, bar_designs(model)[[f]]$bar_basis)
    own <- last + seq_len(bars[[f]]$q * bars[[f]]$groups)
    last <- last + length(own)
    eta <- eta + deviations_at(at[[f]]$factor, v[, own, drop = FALSE], of)
  }
  likelihood <- rowSums(share_log_lik(
    model_response(model), eta, frame$success, frame$total
  )) + sum(log_choose(frame))
  mean <- rep(bars[[1L]]$mean, each = nrow(b))
  scale <- rep(1 / sqrt(bars[[1L]]$precision), each = nrow(b))
  likelihood + Reduce(`+`, lapply(at, `[[`, "log_prior")) +
    rowSums(matrix(stats::dnorm(b, mean, scale, log = TRUE), nrow(b))) +
    rowSums(matrix(stats::dnorm(v, log = TRUE), nrow(b)))
}

# z'L v of the rows: points x rows. of: list(z, group), a bar of a frame.
deviations_at <- function(factor, v, of) {
  q <- ncol(of$z)
  out <- 0
  for (k in seq_len(q)) {
    u <- 0
    for (c in seq_len(k)) {
      u <- u + factor[, k, c] *
        v[, seq.int(c, ncol(v), by = q), drop = FALSE]
    }
    out <- out + u[, of$group, drop = FALSE] * rep(of$z[, k], each = nrow(v))
  }
  out
}

# ---- Several bars of normal responses ----------------------------------------

# The density is that of Sigma of each bar and sigma alone, as in
# model_unbounded.hlm_model().
#' @exportS3Method
model_unbounded.hlm_crossed_model <- function(model, given, call) {
  data <- model$data
  own <- coordinate_places(data$bars)
  before <- seq_len(max(unlist(own)))
  list(
    points = function(draws) {
      draws <- rebase_draws(model, draws, back = TRUE)
      do.call(cbind, c(
        Map(bar_coordinates, data$bars, bar_draws(model, draws)),
        if (data$known == 0) list(-2 * unname(log(draws[, "sigma"])))
      ))
    },
    log_density = function(x) {
      at <- Map(function(bar, columns) {
        hlm_at_points(bar, x[, columns, drop = FALSE])
      }, data$bars, own)
      log_beta <- if (data$known == 1) numeric(nrow(x)) else x[, -before]
      Reduce(`+`, lapply(at, `[[`, "log_prior")) +
        log_crossed_marginal(
          data, lapply(at, `[[`, "factor"), log_beta, given$tick
        )
    }
  )
}

# log p(y | Sigma, sigma) p(log beta) at each point. factors: L of each bar,
# points x q x q.
#
# With the fixed effects in units of their priors' standard deviations, u_j = L
# v_j and the rows A' = sqrt(beta) (x, L'z), the unknowns are N(0, I). With y
# times sqrt(beta) too, w = (I + A A')^-1 A y and e = y - A'w,
#   log p(y | ..) = constant + (n log beta - log|I + A A'| - |e|^2 - |w|^2) / 2.
# The order of the sparse A A' is the number of fixed effects and deviations.
log_crossed_marginal <- function(data, factors, log_beta, tick = NULL) {
  rows <- crossed_rows(data)
  # b is in units of its prior
  constant <- hlm_constant(c(data, list(precision = 1)))
  at_each_point(matrix(seq_along(log_beta)), function(s) {
    beta <- exp(log_beta[[s]])
    at <- sqrt(beta) * rows_times_factors(rows, factors, s)
    constant + (data$shape + data$n / 2) * log_beta[[s]] - data$rate * beta +
      log_standard_marginal(rows, at, sqrt(beta) * rows$y)
  }, tick)
}

# list(a, values, y, places, pattern): a sparse matrix with the pattern of A;
# the values of A with z in the place of L'z, a column for each row of the data;
# the responses less their prior mean; the places of each bar's terms; and a
# factor with the pattern of that of I + A A'.
crossed_rows <- function(data) {
  p <- data$p
  n <- data$n
  one <- data$bars[[1L]]
  x <- matrix(data$x, p, n)
  # every row has all terms of every bar, zeros too
  values <- rbind(x / sqrt(one$precision), matrix(data$rows$value, ncol = n))
  index <- rbind(
    matrix(seq_len(p), p, n), p + 1L + matrix(data$rows$index, ncol = n)
  )
  q <- vapply(data$bars, `[[`, 0, "q")
  deviations <- sum(q * vapply(data$bars, `[[`, 0, "groups"))
  a <- Matrix::sparseMatrix(
    i = c(index), j = c(col(index)), x = 1, dims = c(p + deviations, n)
  )
  list(
    a = a, values = values, y = data$y - drop(crossprod(x, one$mean)),
    places = lapply(runs_of_places(q), `+`, p),
    pattern = Matrix::Cholesky(
      Matrix::tcrossprod(a), LDL = FALSE, super = NA, Imult = 1
    )
  )
}

# The values of A with L'z in the places of z, at point s.
rows_times_factors <- function(rows, factors, s) {
  values <- rows$values
  for (f in seq_along(factors)) {
    own <- rows$places[[f]]
    root <- matrix(factors[[f]][s, , ], length(own))
    values[own, ] <- crossprod(root, values[own, , drop = FALSE])
  }
  values
}

# -(log|I + A A'| + |e|^2 + |w|^2) / 2; -Inf where rounding leaves no factor.
log_standard_marginal <- function(rows, values, y) {
  rows$a@x <- c(values)
  root <- tryCatch(
    suppressWarnings(Matrix::update(rows$pattern, rows$a, mult = 1)),
    error = function(cnd) NULL
  )
  if (is.null(root)) {
    return(-Inf)
  }
  w <- Matrix::solve(root, rows$a %*% y, system = "A")
  away <- y - as.vector(Matrix::crossprod(rows$a, w))
  -as.double(Matrix::determinant(root, sqrt = TRUE)$modulus) -
    (sum(away^2) + sum(w^2)) / 2
}

# ---- No evidence -------------------------------------------------------------

#' @exportS3Method
model_unbounded.no_evidence_model <- function(model, given, call) {
  errors <- if (inherits(model, "t_errors_model")) "with t errors "
  abort_no_evidence(
    model, paste0(
      errors, "the deviations of the groups cannot be integrated out"
    ),
    loo_instead, call
  )
}

loo_instead <- "Compare fits by {.fn loo_compare} of their {.fn loo} or
  {.fn kfold}."
