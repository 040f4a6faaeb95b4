# A slow twin of the sampler behind gibbs_hlm(), written from the formulas on
# its page with the full covariance matrix of each group's responses. It takes
# the same random numbers in the same order as the core: the normals of b; of
# each group those of u and of its reduced rows; those of the shears; then the
# uniforms of the slice steps, and the gammas and normals of a, Sigma and beta.
#
# `wrong` names a mistake to be made:
#   scale_inverted   Sigma ~ IW(df, (S + sum u u')^-1)
#   groups_short     the degrees of freedom of Sigma count J - 1 groups
#   nu0_whole        the shape of beta is nu0 + n/2
#   jacobian         the Jacobian of Sigma has a power too many
#   shear_prior      the shear leaves out the prior of Sigma
#   fixed_given_u    b is drawn as if the groups had no deviations

twin_hlm_groups <- function(model) {
  frame <- model$frame
  data <- model$data
  design <- model$layout
  used <- gibbsite:::rows_used(frame)
  v <- if (is.null(frame$weights)) rep(1, length(used)) else frame$weights
  offset <- if (is.null(frame$offset)) 0 * frame$y else frame$offset
  x <- sweep(sweep(frame$x, 2, data$column_mean), 2, data$unit, "/")
  x[, design$slopes[design$constant]] <- 0
  z_kept <- matrix(data$bar, data$q)
  lapply(seq_len(data$groups), function(j) {
    i <- which(used & frame$group == j)
    root <- sqrt(v[i])
    z <- unname(root * frame$z[i, , drop = FALSE])
    at <- data$start[[j]] + seq_len(data$start[[j + 1]] - data$start[[j]])
    kept <- t(z_kept[, at, drop = FALSE])
    list(
      x = unname(root * x[i, , drop = FALSE]), z = z,
      y = root * ((frame$y - offset)[i] - data$centre), v = v[i],
      # the directions of the reduced rows
      basis = if (length(i) > data$q) z %*% solve(kept) else diag(length(i))
    )
  })
}

# The sweep and its mistakes stand in one place.
twin_hlm_sweep <- function( # nolint: cyclocomp_linter.
    model, groups, state, wrong = "") {
  data <- model$data
  q <- data$q
  p <- data$p
  diagonal <- data$diagonal == 1
  half_t <- data$half_t == 1
  order <- if (diagonal) 1 else q
  e_b <- rnorm(p)
  e <- lapply(groups, function(g) {
    list(u = rnorm(q), rows = rnorm(ncol(g$basis)))
  })
  e_shear <- if (diagonal) numeric() else rnorm(q * (q - 1))
  l <- matrix(state$factor, q)
  beta <- state$beta
  covariance <- function(g, beta) {
    diag(1 / beta, length(g$y)) + g$z %*% tcrossprod(l) %*% t(g$z)
  }
  fixed <- function(beta) {
    precision <- diag(data$precision, p)
    right <- data$precision * data$mean
    for (g in groups) {
      if (length(g$y) == 0) next
      inverse <- if (wrong == "fixed_given_u") {
        diag(beta, length(g$y))
      } else {
        solve(covariance(g, beta))
      }
      precision <- precision + t(g$x) %*% inverse %*% g$x
      right <- right + t(g$x) %*% inverse %*% g$y
    }
    list(precision = precision, right = right)
  }
  if (data$collapsed == 1) {
    density <- function(beta) {
      x <- do.call(rbind, lapply(groups, `[[`, "x"))
      y <- unlist(lapply(groups, `[[`, "y"))
      across <- x %*% diag(1 / data$precision, p) %*% t(x)
      at <- 0
      for (g in groups) {
        i <- at + seq_along(g$y)
        across[i, i] <- across[i, i] + covariance(g, beta)
        at <- at + length(g$y)
      }
      root <- chol(across)
      white <- backsolve(root, y - x %*% data$mean, transpose = TRUE)
      (data$shape - 1) * log(beta) - data$rate * beta -
        sum(log(diag(root))) - sum(white^2) / 2
    }
    beta <- twin_slice(density, beta)
  }
  b <- numeric()
  if (p > 0) {
    f <- fixed(beta)
    root <- t(chol(f$precision))
    b <- solve(f$precision, f$right) + solve(t(root), e_b)
  }
  u <- residual <- list()
  for (j in seq_along(groups)) {
    g <- groups[[j]]
    start <- l %*% e[[j]]$u
    gap <- g$y - g$x %*% b - g$z %*% start -
      g$basis %*% e[[j]]$rows / sqrt(beta)
    # a group without observations has the prior
    u[[j]] <- if (length(gap) == 0) start else {
      start + tcrossprod(l) %*% t(g$z) %*% solve(covariance(g, beta), gap)
    }
    residual[[j]] <- g$y - g$x %*% b - g$z %*% u[[j]]
  }
  inverse <- solve(tcrossprod(l))
  along <- function(k, m) {
    t <- unlist(Map(function(g, u) g$z[, k] * u[[m]], groups, u))
    c(sum(t^2), sum(t * unlist(residual)))
  }
  move <- function(k, m, c) {
    for (j in seq_along(groups)) {
      step <- c * u[[j]][[m]]
      u[[j]][[k]] <<- u[[j]][[k]] + step
      residual[[j]] <<- residual[[j]] - groups[[j]]$z[, k] * step
    }
  }
  scale <- if (half_t) data$scale else matrix(data$scale, q)
  for (k in seq_len(q)) {
    sums <- along(k, k)
    s <- twin_slice(function(s) {
      -beta / 2 * ((s - 1)^2 * sums[[1]] - 2 * (s - 1) * sums[[2]]) +
        twin_scale_prior(data, inverse, k, s) +
        (order + 1 + (wrong == "jacobian")) * log(s) - log(s)
    }, 1)
    move(k, k, s - 1)
    inverse[k, ] <- inverse[k, ] / s
    inverse[, k] <- inverse[, k] / s
  }
  sums <- scale
  if (half_t) {
    sums <- matrix(0, q, q)
    for (k in seq_len(q)) {
      sums[k, k] <- 2 * data$df * twin_gamma((data$df + order) / 2) /
        (data$df * inverse[k, k] + 1 / scale[[k]]^2)
    }
  }
  at <- 0
  for (k in seq_len(q)) {
    for (m in setdiff(seq_len(q), k)) {
      if (diagonal) next
      total <- along(k, m)
      known <- if (wrong == "shear_prior") 0 else 1
      h <- known * inverse[k, k] * sums[m, m] + beta * total[[1]]
      c <- (known * (inverse %*% sums)[k, m] + beta * total[[2]]) / h +
        e_shear[[at <- at + 1]] / sqrt(h)
      move(k, m, c)
      back <- diag(q)
      back[k, m] <- -c
      inverse <- t(back) %*% inverse %*% back
    }
  }
  scatter <- sums + Reduce(`+`, lapply(u, tcrossprod))
  if (wrong == "scale_inverted") scatter <- solve(scatter)
  df <- data$df + length(groups) - (wrong == "groups_short")
  l <- if (diagonal) {
    diag(vapply(seq_len(q), function(k) {
      twin_iw_factor(df, scatter[k, k, drop = FALSE])[[1]]
    }, 0), q)
  } else {
    twin_iw_factor(df + if (half_t) q - 1 else 0, scatter)
  }
  rss <- sum(unlist(residual)^2)
  if (data$known == 0) {
    shape <- if (wrong == "nu0_whole") 2 * data$shape else data$shape
    beta <- twin_gamma(shape + data$n / 2) / (data$rate + rss / 2)
  }
  list(
    row = twin_hlm_row(model, groups, b, u, l, beta, residual),
    state = list(
      factor = as.double(l), beta = beta, b = drop(b), u = unlist(u)
    )
  )
}

# The log density of Sigma where coordinate k is scaled by s, a integrated out.
twin_scale_prior <- function(data, inverse, k, s) {
  q <- data$q
  order <- if (data$diagonal == 1) 1 else q
  moved <- inverse
  moved[k, ] <- moved[k, ] / s
  moved[, k] <- moved[, k] / s
  own <- if (data$diagonal == 1) k else seq_len(q)
  log_det <- -log(det(moved[own, own, drop = FALSE]))
  if (data$half_t == 1) {
    -(data$df + 2 * order) / 2 * log_det - (data$df + order) / 2 *
      sum(log(data$df * diag(moved)[own] + 1 / data$scale[own]^2))
  } else {
    scale <- matrix(data$scale, q)
    -(data$df + order + 1) / 2 * log_det -
      sum(scale[own, own] * moved[own, own]) / 2
  }
}

# T with T T' ~ IW(df, scale), lower triangular: the inverse of the reversed
# Bartlett factor.
twin_iw_factor <- function(df, scale) {
  d <- nrow(scale)
  c <- matrix(0, d, d)
  for (j in seq_len(d)) {
    c[j, j] <- sqrt(rchisq(1, df - (d - j)))
    if (j < d) c[(j + 1):d, j] <- rnorm(d - j)
  }
  t(chol(scale)) %*% solve(c)
}

twin_hlm_row <- function(model, groups, b, u, l, beta, residual) {
  data <- model$data
  effects <- drop(b) / data$unit
  at <- model$layout$intercept
  effects[at] <- effects[at] + data$centre -
    sum((effects * data$column_mean)[-at])
  sigma <- tcrossprod(l)
  v <- unlist(lapply(groups, `[[`, "v"))
  c(
    effects, sqrt(diag(sigma)),
    if (data$diagonal == 0) stats::cov2cor(sigma)[lower.tri(sigma)],
    if (data$known == 0) 1 / sqrt(beta),
    sum(stats::dnorm(
      unlist(residual) / sqrt(v), 0, 1 / sqrt(beta * v), log = TRUE
    )),
    if (data$keep == 1) {
      mean <- ifelse(data$fixed_at < 0, 0, c(effects, 0)[pmax(
        data$fixed_at, 0
      ) + 1])
      unlist(u) + rep(mean, length(u))
    }
  )
}

twin_hlm_sweeps <- function(model, state, n, wrong = "") {
  groups <- twin_hlm_groups(model)
  sweep_rows(function(model, state) {
    twin_hlm_sweep(model, groups, state, wrong)
  }, model, state, n)
}

# ---- several bars ------------------------------------------------------------

# The deviations of all bars at once, by dense algebra. x, z (of each bar) and
# y: times the roots of the precisions of the rows; bars, joint: of the data.
twin_joint <- function(joint, bars, x, z, group, y, l, mean, precision) {
  loads <- Map(function(bar, l) {
    kronecker(diag(bar$groups), matrix(l, bar$q))
  }, bars, l)
  w <- cbind(do.call(cbind, Map(function(z, group, bar, load) {
    as.matrix(gibbsite:::bar_matrix(z, group, bar$groups)) %*% load
  }, z, group, bars, loads)), x)
  deviations <- ncol(w) - ncol(x)
  at <- c(joint$deviation + 1, deviations + seq_len(ncol(x)))
  prior <- c(rep(0, deviations), precision * mean)
  p <- crossprod(w) + diag(c(rep(1, deviations), precision), ncol(w))
  root <- chol(p[at, at])
  right <- drop(crossprod(w, y) + prior)[at]
  effects <- numeric(ncol(w))
  effects[at] <- backsolve(
    root, backsolve(root, right, transpose = TRUE) + stats::rnorm(ncol(w))
  )
  ends <- cumsum(vapply(loads, nrow, 1L))
  Map(function(load, end) {
    drop(load %*% effects[end - nrow(load) + seq_len(nrow(load))])
  }, loads, ends)
}

# Models of a chain that begins in this frame draw all bars at once.
local_joint_draws <- function(frame = parent.frame()) {
  local_object("is_slow", function(rate) TRUE, frame)
  local_object("is_cheaper", function(cost, rate) TRUE, frame)
}

# A sweep by twin_hlm_sweep() over the bars, each with the responses less the
# deviations of the others, then the moves of nested bars and the noise, from
# the formulas on the page.
twin_crossed_sweep <- function(model, state) {
  frame <- model$frame
  places <- gibbsite:::model_places(model)
  frames <- gibbsite:::bar_frames(frame)
  used <- gibbsite:::rows_used(frame)
  q <- lengths(lapply(model$layout, `[[`, "bar"))
  l <- split(state$factor, rep(seq_along(q), q^2))
  u <- lapply(places, function(place) state$u[place])
  part <- function(f) {
    bar <- frame$bars[[f]]
    rowSums(bar$z * t(matrix(u[[f]], q[[f]])[, bar$group, drop = FALSE]))
  }
  if (length(model$data$joint) > 0L) {
    first <- model$data$bars[[1]]
    weights <- if (is.null(frame$weights)) rep(1, length(used)) else
      frame$weights
    root <- sqrt(state$beta * weights[used])
    u <- twin_joint(
      model$data$joint, model$data$bars,
      sqrt(state$beta) * t(matrix(model$data$x, model$data$p, sum(used))),
      lapply(frame$bars, function(bar) root * bar$z[used, , drop = FALSE]),
      lapply(frame$bars, function(bar) bar$group[used]),
      sqrt(state$beta) * model$data$y, l, first$mean, first$precision
    )
  }
  for (f in seq_along(q)) {
    own <- list(
      frame = frames[[f]], data = model$data$bars[[f]],
      layout = model$layout[[f]]
    )
    own$frame$y <- frame$y - Reduce(`+`, lapply(setdiff(seq_along(q), f), part))
    own$data$known <- 1
    own$data$keep <- 0
    step <- twin_hlm_sweep(own, twin_hlm_groups(own), list(
      factor = l[[f]], beta = state$beta
    ))
    l[[f]] <- step$state$factor
    u[[f]] <- step$state$u
  }
  moved <- twin_nested_rounds(model, model$data$nesting, l, u)
  l <- moved$l
  u <- moved$u
  effects <- step$row[seq_len(model$data$p)]
  v <- (if (is.null(frame$weights)) rep(1, length(used)) else frame$weights)
  mean <- Reduce(`+`, lapply(seq_along(q), part)) + drop(frame$x %*% effects) +
    if (is.null(frame$offset)) 0 else frame$offset
  gap <- (frame$y - mean)[used]
  v <- v[used]
  beta <- state$beta
  if (model$data$known == 0) {
    beta <- twin_gamma(model$data$shape + length(gap) / 2) /
      (model$data$rate + sum(v * gap^2) / 2)
  }
  list(
    row = c(
      effects, twin_bars_covariances(model, l),
      if (model$data$known == 0) 1 / sqrt(beta),
      sum(stats::dnorm(gap, 0, 1 / sqrt(beta * v), log = TRUE)), unlist(u)
    ),
    state = list(
      factor = unlist(l), beta = beta, b = effects, u = unlist(u)
    )
  )
}

# Standard deviations and correlations of each bar.
twin_bars_covariances <- function(model, l) {
  unlist(Map(function(l, design) {
    sigma <- tcrossprod(matrix(l, length(design$bar)))
    c(sqrt(diag(sigma)), if (!design$diagonal) {
      stats::cov2cor(sigma)[lower.tri(sigma)]
    })
  }, l, model$layout))
}

# Four rounds of the moves of all pairs; before all but the first one the
# covariances of the pair are drawn.
twin_nested_rounds <- function(model, nesting, l, u) {
  for (round in 1:4) {
    for (nest in nesting) {
      for (f in if (round > 1) c(nest$outer, nest$inner) + 1) {
        l[[f]] <- twin_covariance(model$data$bars[[f]], l[[f]], u[[f]])
      }
      moved <- twin_nested_moves(model, nest, l, u)
      l <- moved$l
      u <- moved$u
    }
  }
  list(l = l, u = u)
}

# The factor of Sigma given u, and given the present one for half-t priors.
twin_covariance <- function(data, l, u) {
  q <- data$q
  u <- matrix(u, q)
  diagonal <- data$diagonal == 1
  order <- if (diagonal) 1 else q
  sums <- matrix(data$scale, q, q)
  if (data$half_t == 1) {
    inverse <- solve(tcrossprod(matrix(l, q)))
    sums <- diag(vapply(seq_len(q), function(k) {
      2 * data$df * twin_gamma((data$df + order) / 2) /
        (data$df * inverse[k, k] + 1 / data$scale[[k]]^2)
    }, 0), q)
  }
  scatter <- sums + tcrossprod(u)
  df <- data$df + ncol(u)
  as.double(if (diagonal) {
    diag(vapply(seq_len(q), function(k) {
      twin_iw_factor(df, scatter[k, k, drop = FALSE])[[1]]
    }, 0), q)
  } else {
    twin_iw_factor(df + if (data$half_t == 1) q - 1 else 0, scatter)
  })
}

# Bar g is nested in bar f.
twin_nested_moves <- function(model, nest, l, u) {
  f <- nest$outer + 1
  g <- nest$inner + 1
  q <- lengths(lapply(model$layout, `[[`, "bar"))
  a <- solve(tcrossprod(matrix(l[[f]], q[[f]])))
  b <- solve(tcrossprod(matrix(l[[g]], q[[g]])))
  outer <- matrix(u[[f]], q[[f]])
  inner <- matrix(u[[g]], q[[g]])
  i <- nest$outer_term + 1
  j <- nest$inner_term + 1
  parent <- nest$parent + 1
  normals <- matrix(rnorm(length(i) * ncol(outer)), length(i))
  for (k in seq_len(ncol(outer))) {
    own <- which(parent == k)
    precision <- a[i, i, drop = FALSE] + length(own) * b[j, j, drop = FALSE]
    right <- (b %*% rowSums(inner[, own, drop = FALSE]))[j] -
      (a %*% outer[, k])[i]
    move <- solve(precision, right) + solve(chol(precision), normals[, k])
    outer[i, k] <- outer[i, k] + move
    inner[j, own] <- inner[j, own, drop = FALSE] - c(move)
  }
  data <- model$data$bars[[f]]
  order <- if (data$diagonal == 1) 1 else q[[f]]
  for (at in seq_along(i)) {
    k <- i[[at]]
    t <- outer[k, parent]
    s <- twin_slice(function(s) {
      there <- inner
      there[j[[at]], ] <- there[j[[at]], ] - (s - 1) * t
      -sum(there * (b %*% there)) / 2 + sum(inner * (b %*% inner)) / 2 +
        twin_scale_prior(data, a, k, s) + order * log(s)
    }, 1)
    inner[j[[at]], ] <- inner[j[[at]], ] - (s - 1) * t
    outer[k, ] <- s * outer[k, ]
    a[k, ] <- a[k, ] / s
    a[, k] <- a[, k] / s
    root <- matrix(l[[f]], q[[f]])
    root[k, ] <- s * root[k, ]
    l[[f]] <- as.double(root)
  }
  u[[f]] <- as.double(outer)
  u[[g]] <- as.double(inner)
  list(l = l, u = u)
}

twin_crossed_sweeps <- function(model, state, n) {
  sweep_rows(twin_crossed_sweep, model, state, n)
}

hlm_model_for <- model_for("gibbs_hlm")

group_model_for <- model_for("gibbs_logistic")

# Groups of the sizes given, with weights, an offset and a factor.
hlm_example <- function(sizes = c(6, 4, 1, 5, 2, 7), seed = 1) {
  withr::with_seed(seed, {
    g <- rep(letters[seq_along(sizes)], sizes)
    n <- length(g)
    x <- stats::rnorm(n, 3, 2)
    u <- matrix(stats::rnorm(2 * length(sizes)), 2)[, match(g, letters)]
    data.frame(
      g, x, y = 5 + x / 2 + u[1, ] + u[2, ] * x / 3 + stats::rnorm(n),
      m = stats::rnorm(n), f = factor(rep_len(c("p", "q", "r"), n)),
      v = stats::runif(n, 0.5, 2), o = stats::rnorm(n)
    )
  })
}

# ---- wrong samplers ----------------------------------------------------------

# The prior, or a count, is not that of the model.
hlm_mutants <- list(
  # IW's scale inverted
  scale = data_mutant(function(data) {
    data$scale <- as.double(solve(matrix(data$scale, 2)))
    data
  }),
  # one group more than there are
  groups = data_mutant(function(data) {
    data$df <- data$df + 1
    data
  }),
  # nu0 not halved
  shape = data_mutant(function(data) {
    data$shape <- 2 * data$shape
    data
  }),
  noise = data_mutant(function(data) {
    data$n <- data$n + 1
    data
  }),
  fixed = data_mutant(function(data) {
    data$precision <- data$precision / 2
    data
  })
)

# A mistake in what the bars know of each other.
crossed_mutants <- list(
  # the effects of the second bar stay in the responses of the first
  others = data_mutant(function(data) {
    data$cross[[1]]$value <- 0 * data$cross[[1]]$value
    data
  }),
  # those of the first one in what the second says of the fixed effects
  within = data_mutant(function(data) {
    data$cross[[2]]$within <- 0 * data$cross[[2]]$within
    data
  }),
  # the groups of both bars counted for the second
  groups = data_mutant(function(data) {
    data$bars[[2]]$df <- data$bars[[2]]$df + data$bars[[1]]$groups
    data
  }),
  # nu0 not halved
  shape = data_mutant(function(data) {
    data$shape <- 2 * data$shape
    data
  })
)

nested_mutants <- c(crossed_mutants["groups"], list(
  # the inner groups of the next outer one
  parent = data_mutant(function(data) {
    nest <- data$nesting[[1]]
    nest$parent <- (nest$parent + 1L) %% (max(nest$parent) + 1L)
    data$nesting[[1]] <- nest
    data
  })
))
