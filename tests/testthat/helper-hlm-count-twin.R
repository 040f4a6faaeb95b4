# A slow twin of gibbs_count(), written from the formulas of
# src/core/hlm/hlm_count.h with R's densities. It takes the same random numbers
# in the same order as the core: of each Metropolis-Hastings step the uniform
# that chooses the part of the proposal, its normals, the chi-squared number of
# its t part, and the uniform of the acceptance; then those of the slice steps,
# of Sigma, of the moves of nested and of nearly nested bars, and of the
# dispersion.
#
# `wrong` names a mistake to be made:
#   jacobian        the dispersion is drawn without its Jacobian
#   offset_left     the offset is left out of the likelihood
#   unweighted      the weights are left out
#   proposal_left   the ratio of acceptance lacks the density of the proposal
#   always          every proposal is accepted
#   shift_prior     the deviations move with b as if they had no prior
#   shift_back      the deviations do not move with b
#   scale_jacobian  the Jacobian of Sigma has a power too many
#   shear_prior     the shear leaves out the prior of Sigma
#   near_inner      the move of an outer group leaves out the prior of the inner
#   near_rows       it leaves out the rows of the inner groups elsewhere

# list(y, x, o, v, family, bars): the rows that are used.
twin_count_rows <- function(model, wrong = "") {
  frame <- model$frame
  used <- which(gibbsite:::rows_used(frame))
  own <- function(v, default) {
    if (is.null(v)) rep(default, length(used)) else v[used]
  }
  list(
    y = frame$y[used], x = unname(frame$x[used, , drop = FALSE]),
    o = if (wrong == "offset_left") 0 * used else own(frame$offset, 0),
    v = if (wrong == "unweighted") 0 * used + 1 else own(frame$weights, 1),
    family = model$design$family,
    bars = lapply(frame$bars, function(bar) {
      list(z = unname(bar$z[used, , drop = FALSE]), group = bar$group[used])
    })
  )
}

# The log densities of rows at eta, and their first and second derivatives.
twin_count_density <- function(r, i, eta, tau, family = r$family) {
  mean <- exp(eta)
  y <- r$y[i]
  square <- if (family == "poisson") 0 else tau^2
  value <- if (family == "poisson") {
    stats::dpois(y, mean, log = TRUE)
  } else {
    stats::dnbinom(y, size = 1 / square, mu = mean, log = TRUE)
  }
  list(
    value = sum(r$v[i] * value),
    slope = r$v[i] * (y - mean) / (1 + square * mean),
    bend = r$v[i] * mean * (1 + square * y) / (1 + square * mean)^2
  )
}

# list(centre, precision) about the mode of sum log p(y_i | base + design'e) +
# right'e - e'precision e / 2.
twin_count_mode <- function(density, base, design, right, precision, start) {
  centre <- start
  repeat {
    at <- density(base + drop(design %*% centre))
    h <- precision + t(design) %*% (at$bend * design)
    gradient <- right - precision %*% centre + t(design) %*% at$slope
    step <- drop(solve(h, gradient))
    distance <- sum(step * gradient)
    most <- max(0, abs(design %*% step))
    centre <- centre + step * if (most > 1e-8) log1p(most) / most else 1
    if (distance < 0.01) break
  }
  list(centre = centre, precision = h)
}

# The next value of e. wide: fixed effects with slice steps.
twin_count_move <- function(density, base, design, right, precision, start, e,
                            wrong, wide = integer(), sweep = 0) {
  mode <- twin_count_mode(density, base, design, right, precision, start)
  d <- length(e)
  root <- t(chol(mode$precision))
  heavy <- runif(1) < 0.1
  away <- backsolve(t(root), rnorm(d))
  if (heavy) away <- away * sqrt(5 / rchisq(1, 5))
  proposed <- mode$centre + away
  ratio <- function(e) {
    square <- sum((t(root) %*% (e - mode$centre))^2)
    # densities with the determinant left out
    q <- 0.9 * exp(-square / 2) / (2 * pi)^(d / 2) +
      0.1 * gamma((5 + d) / 2) / gamma(5 / 2) / (5 * pi)^(d / 2) *
        (1 + square / 5)^(-(5 + d) / 2)
    target <- density(base + drop(design %*% e))$value + sum(right * e) -
      drop(e %*% precision %*% e) / 2
    target - if (wrong == "proposal_left") 0 else log(q)
  }
  taken <- log(runif(1)) < ratio(proposed) - ratio(e)
  if (taken || wrong == "always") e <- proposed
  if (length(wide) == 0) {
    return(e)
  }
  j <- wide[[sweep %% length(wide) + 1]]
  inverse <- solve(mode$precision)
  twin_count_slide(
    density, base, design, right, precision, e,
    inverse[, j] / sqrt(inverse[j, j])
  )
}

# A slice step along a line.
twin_count_slide <- function(density, base, design, right, precision, e, line) {
  at <- function(s) e + s * line
  s <- twin_slice(function(s) {
    e <- at(log(s))
    density(base + drop(design %*% e))$value + sum(right * e) -
      drop(e %*% precision %*% e) / 2 - log(s)
  }, 1)
  at(log(s))
}

# The rough estimates of the means, for each bar.
twin_count_expected <- function(r, model) {
  data <- model$data
  p <- ncol(r$x)
  all <- seq_along(r$y)
  mean <- exp(r$o)
  reference <- numeric()
  wide <- integer()
  if (p > 0) {
    precision <- matrix(data$precision, p)
    mode <- twin_count_mode(
      function(eta) twin_count_density(r, all, eta, 0, "poisson"), r$o, r$x,
      drop(precision %*% data$mean), precision, data$start
    )
    reference <- mode$centre
    wide <- which(diag(solve(mode$precision)) * diag(precision) > 0.01)
    mean <- exp(r$o + drop(r$x %*% reference))
  }
  list(reference = reference, wide = wide, mean = lapply(r$bars, function(bar) {
    sums <- function(v) ave(v, bar$group, FUN = sum)
    mean * (1 + sums(r$v * r$y)) / (1 + sums(r$v * mean))
  }))
}

twin_count_bar <- function(model, r, rough, f, state, wrong) {
  own <- model$data$bars[[f]]
  bar <- r$bars[[f]]
  q <- own$q
  p <- ncol(r$x)
  diagonal <- own$diagonal == 1
  all <- seq_along(r$y)
  density <- function(i) {
    function(eta) twin_count_density(r, i, eta, state$tau)
  }
  part <- function(u) rowSums(bar$z * t(u[, bar$group, drop = FALSE]))
  l <- state$l[[f]]
  u <- state$u[[f]]
  inverse <- solve(tcrossprod(l))
  others <- state$eta - part(u)
  for (j in seq_len(own$groups)) {
    i <- which(bar$group == j)
    u[, j] <- twin_count_move(
      density(i), others[i], bar$z[i, , drop = FALSE], numeric(q), inverse,
      numeric(q), u[, j], wrong
    )
    for (k in seq_len(if (all(r$y[i] == 0)) q else 0)) {
      u[, j] <- twin_count_slide(
        density(i), others[i], bar$z[i, , drop = FALSE], numeric(q), inverse,
        u[, j], (seq_len(q) == k) / sqrt(inverse[k, k])
      )
    }
  }
  # b, with theta_j = u_j + A_j b fixed
  b <- state$b
  if (p > 0) {
    rest <- others - drop(r$x %*% b)
    precision <- matrix(model$data$precision, p)
    right <- drop(precision %*% model$data$mean)
    mean <- rough$mean[[f]]
    m <- r$v * mean /
      (1 + if (r$family == "poisson") 0 else state$tau^2 * mean)
    within <- r$x
    theta <- u
    a <- lapply(seq_len(own$groups), function(j) {
      i <- which(bar$group == j)
      z <- bar$z[i, , drop = FALSE]
      solve(
        inverse + t(z) %*% (m[i] * z),
        t(z) %*% (m[i] * r$x[i, , drop = FALSE])
      )
    })
    for (j in seq_len(own$groups)) {
      i <- which(bar$group == j)
      within[i, ] <- r$x[i, , drop = FALSE] -
        bar$z[i, , drop = FALSE] %*% a[[j]]
      theta[, j] <- u[, j] + a[[j]] %*% b
      if (wrong != "shift_prior") {
        precision <- precision + t(a[[j]]) %*% inverse %*% a[[j]]
        right <- right + drop(t(a[[j]]) %*% inverse %*% theta[, j])
      }
    }
    b <- twin_count_move(
      density(all), rest + part(theta), within, right, precision,
      rough$reference, b, wrong, rough$wide, state$sweep
    )
    if (wrong != "shift_back") {
      for (j in seq_len(own$groups)) u[, j] <- theta[, j] - a[[j]] %*% b
    }
    others <- rest + drop(r$x %*% b)
  }
  order <- if (diagonal) 1 else q
  for (k in seq_len(q)) {
    scaled <- function(s) {
      u[k, ] <- s * u[k, ]
      u
    }
    s <- twin_slice(function(s) {
      density(all)(others + part(scaled(s)))$value +
        twin_scale_prior(own, inverse, k, s) +
        (order + (wrong == "scale_jacobian")) * log(s)
    }, 1)
    u <- scaled(s)
    inverse[k, ] <- inverse[k, ] / s
    inverse[, k] <- inverse[, k] / s
  }
  sums <- matrix(0, q, q)
  for (k in seq_len(q)) {
    sums[k, k] <- 2 * own$df * twin_gamma((own$df + order) / 2) /
      (own$df * inverse[k, k] + 1 / own$scale[[k]]^2)
  }
  for (k in seq_len(q)) {
    for (c in setdiff(seq_len(q), k)) {
      if (diagonal) next
      known <- if (wrong == "shear_prior") 0 else 1
      along <- bar$z[, k] * u[c, bar$group]
      move <- twin_count_move(
        density(all), others + part(u), cbind(along),
        known * (inverse %*% sums)[k, c],
        matrix(known * inverse[k, k] * sums[c, c]),
        -sum(u[k, ] * u[c, ]) / sum(u[c, ]^2), 0, wrong
      )
      u[k, ] <- u[k, ] + move * u[c, ]
      back <- diag(q)
      back[k, c] <- -move
      inverse <- t(back) %*% inverse %*% back
    }
  }
  scatter <- sums + tcrossprod(u)
  df <- own$df + own$groups
  state$l[[f]] <- if (diagonal) {
    diag(vapply(seq_len(q), function(k) {
      twin_iw_factor(df, scatter[k, k, drop = FALSE])[[1]]
    }, 0), q)
  } else {
    twin_iw_factor(df + q - 1, scatter)
  }
  state$u[[f]] <- u
  state$b <- b
  state$eta <- others + part(u)
  state
}

# The move of each outer group with the inner groups that lie mostly within it.
twin_count_near <- function(r, near, state, wrong) {
  f <- near$outer + 1
  g <- near$inner + 1
  k <- near$outer_term + 1
  l <- near$inner_term + 1
  all <- seq_along(r$y)
  home <- near$parent[r$bars[[g]]$group] + 1
  log_normal <- function(u, l) {
    sum(stats::dnorm(forwardsolve(l, u), log = TRUE))
  }
  for (j in seq_len(ncol(state$u[[f]]))) {
    inner <- which(near$parent + 1 == j)
    change <- (r$bars[[f]]$group == j) * r$bars[[f]]$z[, k]
    if (wrong != "near_rows") {
      change <- change - (home == j) * r$bars[[g]]$z[, l]
    } else {
      change[home == j] <- 0
    }
    at <- function(d) {
      u <- state$u[[f]][, j]
      u[[k]] <- u[[k]] + d
      v <- state$u[[g]][, inner, drop = FALSE]
      v[l, ] <- v[l, ] - d
      list(u = u, v = v)
    }
    unit <- 1 / sqrt(
      solve(tcrossprod(state$l[[f]]))[k, k] +
        length(inner) * solve(tcrossprod(state$l[[g]]))[l, l]
    )
    d <- unit * log(twin_slice(function(s) {
      d <- unit * log(s)
      twin_count_density(r, all, state$eta + d * change, state$tau)$value +
        log_normal(at(d)$u, state$l[[f]]) +
        (wrong != "near_inner") * log_normal(at(d)$v, state$l[[g]]) - log(s)
    }, 1))
    state$eta <- state$eta + d * change
    moved <- at(d)
    state$u[[f]][, j] <- moved$u
    state$u[[g]][, inner] <- moved$v
  }
  state
}

twin_count_sweep <- function(model, r, rough, state, wrong) {
  data <- model$data
  all <- seq_along(r$y)
  p <- ncol(r$x)
  if (length(r$bars) == 0) {
    precision <- matrix(data$precision, p)
    state$b <- twin_count_move(
      function(eta) twin_count_density(r, all, eta, state$tau), r$o, r$x,
      drop(precision %*% data$mean), precision, rough$reference, state$b,
      wrong, rough$wide, state$sweep
    )
    state$eta <- r$o + drop(r$x %*% state$b)
  }
  for (f in seq_along(r$bars)) {
    state <- twin_count_bar(model, r, rough, f, state, wrong)
  }
  if (length(data$nesting) > 0) {
    moved <- twin_nested_rounds(
      model, data$nesting, state$l, lapply(state$u, c)
    )
    state$l <- Map(function(l, bar) matrix(l, bar$q), moved$l, data$bars)
    state$u <- Map(function(u, bar) matrix(u, bar$q), moved$u, data$bars)
  }
  for (near in data$near) state <- twin_count_near(r, near, state, wrong)
  if (r$family == "negbinomial") {
    state$tau <- twin_slice(function(tau) {
      twin_count_density(r, all, state$eta, tau)$value +
        stats::dt(tau / data$scale, data$df, log = TRUE) -
        (wrong == "jacobian") * log(tau)
    }, state$tau)
  }
  state
}

twin_count_sweeps <- function(model, state, n, wrong = "") {
  r <- twin_count_rows(model, wrong)
  rough <- twin_count_expected(r, model)
  bars <- model$data$bars
  q <- vapply(bars, `[[`, 0, "q")
  at <- rep(seq_along(bars), q^2)
  places <- if (length(bars) > 0) gibbsite:::model_places(model)
  now <- list(
    b = state$b, tau = state$dispersion,
    l = Map(function(l, q) matrix(l, q), split(state$factor, at), q),
    u = Map(function(place, q) matrix(state$u[place], q), places, q)
  )
  rows <- matrix(0, n, length(model$columns))
  for (i in seq_len(n)) {
    now$sweep <- state$sweep + i - 1
    now$eta <- r$o + drop(r$x %*% now$b)
    for (f in seq_along(r$bars)) {
      bar <- r$bars[[f]]
      now$eta <- now$eta +
        rowSums(bar$z * t(now$u[[f]][, bar$group, drop = FALSE]))
    }
    now <- twin_count_sweep(model, r, rough, now, wrong)
    rows[i, ] <- c(
      now$b, unlist(Map(function(l, bar) {
        sigma <- tcrossprod(l)
        c(sqrt(diag(sigma)), if (bar$diagonal == 0) {
          stats::cov2cor(sigma)[lower.tri(sigma)]
        })
      }, now$l, bars)), if (r$family == "negbinomial") now$tau,
      twin_count_density(r, seq_along(r$y), now$eta, now$tau)$value,
      unlist(now$u)
    )
  }
  rows
}

# Groups with counts, exposures and a group within each.
count_example <- function(sizes = c(6, 4, 1, 5, 2, 7), seed = 1) {
  data <- hlm_example(sizes, seed)
  n <- nrow(data)
  withr::with_seed(seed, {
    data$t <- exp(stats::rnorm(n))
    data$count <- stats::rnbinom(n, size = 2, mu = data$t * exp(data$y / 4))
    data$times <- sample(0:2, n, replace = TRUE)
    data$times[!duplicated(data$g)] <- 1
    data$h <- factor(sample(letters[1:3], n, replace = TRUE))
  })
  data$x <- data$x - 3
  data
}

count_model_for <- model_for("gibbs_count")

# ---- wrong samplers ----------------------------------------------------------

# The prior, the data or the distribution is not that of the model.
count_mutants <- list(
  variance = data_mutant(function(data) {
    data$precision <- 4 * data$precision
    data
  }),
  offset = data_mutant(function(data) {
    data["offset"] <- list(NULL)
    data
  }),
  counts = data_mutant(function(data) {
    data$y <- data$y + 1
    data
  }),
  family = data_mutant(function(data) {
    data$negbinomial <- 1 - data$negbinomial
    data
  })
)

count_group_mutants <- c(count_mutants, list(
  scale = data_mutant(function(data) {
    data$bars[[1]]$scale <- 3 * data$bars[[1]]$scale
    data
  })
))
