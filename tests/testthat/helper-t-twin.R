# A slow twin of gibbs_lm() and gibbs_hlm() with t errors: the scale of the
# errors and the degrees of freedom by slice steps, the precision of the slopes,
# a slice step for the scale of each coordinate of each bar, the precision of
# each row, then a sweep of helper-hlm-twin.R for each bar with the normal
# responses that are left, and the moves of nested bars. It reads the densities
# from R's dt() and dgamma().
#
# `wrong` names a mistake to be made:
#   sigma_jacobian   log sigma is drawn as if it had the density of sigma
#   nu_jacobian      log nu likewise
#   lambda_kept      the precisions of the first sweep stay
#   shape_nu         lambda_i ~ Gamma(nu / 2, .)
#   unweighted       lambda_i does not see the weight
#   phi_short        the shape of the slopes' precision counts one slope less
twin_t_sweeps <- function(model, state, n, wrong = "") {
  data <- model$data
  own <- data$response
  at <- twin_t_state(data, state)
  rows <- matrix(0, n, length(model$columns))
  lambda <- NULL
  for (sweep in seq_len(n)) {
    at <- twin_t_parameters(data, at, wrong)
    at <- twin_t_scales(data, at)
    z <- own$root * (own$y - twin_t_eta(data, at)) / at$sigma
    if (is.null(lambda) || wrong != "lambda_kept") {
      square <- if (wrong == "unweighted") (z / own$root)^2 else z^2
      shape <- (at$nu + (wrong != "shape_nu")) / 2
      lambda <- vapply(square, function(s) {
        stats::rgamma(1, shape) / ((at$nu + s) / 2)
      }, 0)
    }
    at <- twin_t_effects(model, at, lambda * own$root^2 / at$sigma^2)
    rows[sweep, ] <- twin_t_row(model, at)
  }
  rows
}

# The state with factor and u as lists over the bars.
twin_t_state <- function(data, state) {
  q <- vapply(data$bars, `[[`, 0, "q")
  groups <- vapply(data$bars, `[[`, 0, "groups")
  cut <- function(x, sizes) {
    unname(split(x, factor(rep(seq_along(sizes), sizes), seq_along(sizes))))
  }
  state$l <- cut(state$factor, q^2)
  state$u <- cut(state$u, q * groups)
  state
}

# z'u of the rows of one bar.
twin_t_part <- function(bar, u) {
  if (bar$q == 0) {
    return(numeric(length(bar$row)))
  }
  z <- matrix(bar$bar, bar$q)
  colSums(z * matrix(u, bar$q)[, twin_t_groups(bar), drop = FALSE])
}

twin_t_groups <- function(bar) {
  out <- integer(length(bar$row))
  out[bar$row + 1] <- rep(seq_len(bar$groups), diff(bar$first))
  out
}

twin_t_eta <- function(data, at, bars = seq_along(data$bars), fixed = TRUE) {
  eta <- if (fixed) drop(at$b %*% matrix(data$fixed, data$p, data$n)) else 0
  for (f in bars) eta <- eta + twin_t_part(data$bars[[f]], at$u[[f]])
  eta + numeric(data$n)
}

twin_t_log_lik <- function(data, eta, sigma, nu) {
  own <- data$response
  sd <- sigma / own$root
  sum(stats::dt((own$y - eta) / sd, nu, log = TRUE) - log(sd))
}

# twin_slice() adds the logarithm of its argument, the Jacobian.
twin_t_parameters <- function(data, at, wrong) {
  own <- data$response
  eta <- twin_t_eta(data, at)
  at$sigma <- twin_slice(function(s) {
    twin_t_log_lik(data, eta, s, at$nu) +
      stats::dgamma(s^-2, own$shape, own$rate, log = TRUE) - 3 * log(s) -
      (wrong == "sigma_jacobian") * log(s)
  }, at$sigma)
  if (own$nu_known == 0) {
    at$nu <- twin_slice(function(nu) {
      twin_t_log_lik(data, eta, at$sigma, nu) +
        stats::dgamma(nu, 2, 0.1, log = TRUE) -
        (wrong == "nu_jacobian") * log(nu)
    }, at$nu)
  }
  slopes <- own$slopes
  k <- slopes$at + 1
  if (length(k) > 0) {
    away <- at$b[k] - data$bars[[1]]$mean[k]
    shape <- slopes$shape + (length(k) - (wrong == "phi_short")) / 2
    at$lambda <- stats::rgamma(1, shape) / (slopes$rate + sum(away^2) / 2)
  }
  at
}

twin_t_scales <- function(data, at) {
  for (f in seq_along(data$bars)) {
    bar <- data$bars[[f]]
    order <- if (bar$diagonal == 1) 1 else bar$q
    if (bar$q == 0) next
    inverse <- solve(tcrossprod(matrix(at$l[[f]], bar$q)))
    for (k in seq_len(bar$q)) {
      scaled <- function(s, x) {
        x <- matrix(x, bar$q)
        x[k, ] <- s * x[k, ]
        as.double(x)
      }
      s <- twin_slice(function(s) {
        at$u[[f]] <- scaled(s, at$u[[f]])
        twin_t_log_lik(data, twin_t_eta(data, at), at$sigma, at$nu) +
          twin_scale_prior(bar, inverse, k, s) + order * log(s)
      }, 1)
      at$u[[f]] <- scaled(s, at$u[[f]])
      at$l[[f]] <- scaled(s, at$l[[f]])
      inverse[k, ] <- inverse[k, ] / s
      inverse[, k] <- inverse[, k] / s
    }
  }
  at
}

# v: the precisions of the rows.
twin_t_effects <- function(model, at, v) {
  data <- model$data
  x <- t(matrix(data$fixed, data$p, data$n))
  if (length(data$joint) > 0L) {
    first <- data$bars[[1]]
    at$u <- twin_joint(
      data$joint, data$bars, sqrt(v) * x, lapply(data$bars, function(bar) {
        sqrt(v) * t(matrix(bar$bar, bar$q))
      }), lapply(data$bars, twin_t_groups), sqrt(v) * data$response$y, at$l,
      first$mean, first$precision
    )
  }
  for (f in seq_along(data$bars)) {
    bar <- data$bars[[f]]
    y <- data$response$y -
      twin_t_eta(data, at, setdiff(seq_along(data$bars), f), FALSE)
    if (bar$q == 0) {
      at$b <- twin_t_regression(data, at, x, y, v)
      next
    }
    groups <- lapply(seq_len(bar$groups), function(j) {
      i <- which(twin_t_groups(bar) == j)
      z <- t(matrix(bar$bar, bar$q)[, i, drop = FALSE])
      twin_latent_group(x[i, , drop = FALSE], z, v[i], y[i])
    })
    layout <- if (is.null(model$layout$bar)) model$layout[[f]] else model$layout
    step <- twin_hlm_sweep(
      list(data = bar, layout = layout), groups,
      list(factor = at$l[[f]], beta = 1)
    )
    at$b <- step$state$b
    at$l[[f]] <- step$state$factor
    at$u[[f]] <- step$state$u
  }
  moved <- twin_nested_rounds(model, data$nesting, at$l, at$u)
  at$l <- moved$l
  at$u <- moved$u
  at
}

twin_t_regression <- function(data, at, x, y, v) {
  prior <- data$bars[[1]]
  prior$precision[data$response$slopes$at + 1] <- at$lambda
  precision <- crossprod(x, v * x) + diag(prior$precision, data$p)
  right <- crossprod(x, v * y) + prior$precision * prior$mean
  root <- chol(precision)
  drop(solve(precision, right) + backsolve(root, rnorm(data$p)))
}

twin_t_row <- function(model, at) {
  data <- model$data
  b <- at$b / data$unit
  b[data$intercept] <- b[data$intercept] + data$centre - sum(data$middle * b)
  u <- lapply(seq_along(data$bars), function(f) {
    u <- matrix(at$u[[f]], data$bars[[f]]$q)
    # the coefficients of the groups of a single bar
    for (k in which(data$fixed_at >= 0)) {
      u[k, ] <- u[k, ] + b[[data$fixed_at[[k]] + 1]]
    }
    as.double(u)
  })
  sd_cor <- lapply(seq_along(data$bars), function(f) {
    q <- data$bars[[f]]$q
    if (q == 0) return(NULL)
    sigma <- tcrossprod(matrix(at$l[[f]], q))
    c(sqrt(diag(sigma)), if (data$bars[[f]]$diagonal == 0) {
      stats::cov2cor(sigma)[lower.tri(sigma)]
    })
  })
  c(
    b, unlist(sd_cor), at$sigma, if (data$response$nu_known == 0) at$nu,
    at$lambda, twin_t_log_lik(data, twin_t_eta(data, at), at$sigma, at$nu),
    unlist(u)
  )
}

# ---- wrong samplers ----------------------------------------------------------

t_mutants <- list(
  # the precision of the errors has a shape of nu0
  noise = data_mutant(function(data) {
    data$response$shape <- 2 * data$response$shape
    data
  }),
  # Gamma(1, 0.1) degrees of freedom: the Jacobian of log nu is left out
  degrees = data_mutant(function(data) {
    data$response$nu_shape <- data$response$nu_shape - 1
    data
  }),
  # weights as standard deviations
  weights = data_mutant(function(data) {
    data$response$root <- 1 / data$response$root
    data
  }),
  centre = data_mutant(function(data) {
    data$response$y <- data$response$y + 1
    data
  })
)
