# A slow twin of gibbs_logistic() with groups: a slice step for the scale of
# each coordinate, the latent responses of all rows, group after group, by the
# functions of helper-logistic-gibbs-twin.R, then a sweep of helper-hlm-twin.R
# for them.
#
# `wrong` names a mistake to be made:
#   kappa_whole   s in the place of s - m/2
#   tilt_doubled  PG(m, 2 eta)
#   offset_left   the offset is left out of the latent responses
#   unweighted    the rows are not multiplied by the roots of the precisions
#   no_groups     the deviations are left out of the linear predictor
#   untruncated   the latent normal responses have either sign
#   jacobian      the Jacobian of Sigma has a power too many
#   fixed_scaled  the scale multiplies the fixed effects too

twin_latent_groups <- function(model, state, wrong = "") {
  frame <- model$frame
  q <- ncol(frame$z)
  o <- if (is.null(frame$offset)) 0 * frame$y else frame$offset
  u <- matrix(state$u, q)
  lapply(seq_along(model$levels), function(j) {
    i <- which(frame$total > 0 & frame$group == j)
    deviation <- drop(frame$z[i, , drop = FALSE] %*% u[, j])
    if (wrong == "no_groups") deviation <- 0
    eta <- o[i] + drop(frame$x[i, , drop = FALSE] %*% state$b) + deviation
    latent <- vapply(seq_along(i), function(k) {
      twin_latent_response(
        frame$success[[i[[k]]]], frame$total[[i[[k]]]], eta[[k]], frame$link,
        wrong
      )
    }, numeric(2))
    v <- latent[1, ]
    if (wrong == "unweighted") v[] <- 1
    y <- latent[2, ] - if (wrong == "offset_left") 0 else o[i]
    twin_latent_group(
      frame$x[i, , drop = FALSE], frame$z[i, , drop = FALSE], v, y
    )
  })
}

# A group of twin_hlm_sweep() with responses y of precisions v.
twin_latent_group <- function(x, z, v, y) {
  z <- unname(sqrt(v) * z)
  n <- nrow(z)
  list(
    x = unname(sqrt(v) * x), z = z, y = sqrt(v) * y, v = rep(1, n),
    basis = if (n > ncol(z)) z %*% solve(qr.R(qr(z))) else diag(n)
  )
}

# Precision and value.
twin_latent_response <- function(s, m, eta, link, wrong) {
  if (link == "logit") {
    omega <- twin_pg(m, if (wrong == "tilt_doubled") 2 * eta else eta)
    return(c(omega, (if (wrong == "kappa_whole") s else s - m / 2) / omega))
  }
  y <- vapply(seq_len(m), function(l) {
    if (wrong == "untruncated") {
      rnorm(1, eta)
    } else if (l <= s) {
      twin_positive(eta)
    } else {
      -twin_positive(-eta)
    }
  }, 0)
  c(m, mean(y))
}

# log P(s | b, u), the binomial coefficients left out
twin_binomial_log_lik <- function(model, b, u) {
  frame <- model$frame
  u <- u[, frame$group, drop = FALSE]
  eta <- drop(frame$x %*% b) + colSums(t(frame$z) * u) +
    (if (is.null(frame$offset)) 0 else frame$offset)
  twin_shares_log_lik(frame, eta)
}

twin_shares_log_lik <- function(frame, eta) {
  f <- if (frame$link == "logit") stats::plogis else stats::pnorm
  each <- frame$success * f(eta, log.p = TRUE) +
    (frame$total - frame$success) * f(eta, lower.tail = FALSE, log.p = TRUE)
  sum(each[frame$total > 0])
}

twin_scale_steps <- function(model, state, wrong) {
  data <- model$data
  q <- data$q
  order <- if (data$diagonal == 1) 1 else q
  for (k in seq_len(q)) {
    l <- matrix(state$factor, q)
    u <- matrix(state$u, q)
    inverse <- solve(tcrossprod(l))
    scaled <- function(s) {
      u[k, ] <- s * u[k, ]
      u
    }
    s <- twin_slice(function(s) {
      b <- if (wrong == "fixed_scaled") s * state$b else state$b
      twin_binomial_log_lik(model, b, scaled(s)) +
        twin_scale_prior(data, inverse, k, s) +
        (order + 1 + (wrong == "jacobian")) * log(s) - log(s)
    }, 1)
    l[k, ] <- s * l[k, ]
    state$factor <- as.double(l)
    state$u <- as.double(scaled(s))
  }
  state
}

twin_binomial_sweeps <- function(model, state, n, wrong = "") {
  rows <- matrix(0, n, length(model$columns))
  for (i in seq_len(n)) {
    state <- twin_scale_steps(model, state, wrong)
    groups <- twin_latent_groups(model, state, wrong)
    step <- twin_hlm_sweep(model, groups, state)
    state <- step$state
    rows[i, ] <- step$row
    rows[i, match("log_lik", model$columns)] <- model$frame$constant +
      twin_binomial_log_lik(model, state$b, matrix(state$u, model$data$q))
  }
  rows
}

# ---- several bars ------------------------------------------------------------

# The scale steps of all bars, the latent responses of all rows,
# twin_hlm_sweep() for each bar with these less the effects of the others, and
# the moves of nested bars.
#
# `wrong` names a mistake to be made:
#   others_left   the effects of the other bars are left in the latent responses
#   latent_kept   those of the first sweep stay
#   bar_left      they are drawn without the effects of the last bar
#   own_scales    a scale step sees the effects of its own bar alone
twin_bars_sweeps <- function(model, state, n, wrong = "") {
  frame <- model$frame
  data <- model$data
  used <- which(frame$total > 0)
  o <- if (is.null(frame$offset)) 0 * frame$y else frame$offset
  q <- lengths(lapply(model$layout, `[[`, "bar"))
  l <- split(state$factor, rep(seq_along(q), q^2))
  u <- lapply(gibbsite:::model_places(model), function(at) state$u[at])
  b <- state$b
  part <- function(f, u) {
    bar <- frame$bars[[f]]
    rowSums(bar$z * t(matrix(u[[f]], q[[f]])[, bar$group, drop = FALSE]))
  }
  sum_of <- function(bars, u) Reduce(`+`, lapply(bars, part, u), 0 * frame$y)
  latent <- NULL
  rows <- matrix(0, n, length(model$columns))
  for (sweep in seq_len(n)) {
    for (f in seq_along(q)) {
      inverse <- solve(tcrossprod(matrix(l[[f]], q[[f]])))
      order <- if (data$bars[[f]]$diagonal == 1) 1 else q[[f]]
      seen <- if (wrong == "own_scales") f else seq_along(q)
      for (k in seq_len(q[[f]])) {
        scaled <- function(s, x) {
          x <- matrix(x, q[[f]])
          x[k, ] <- s * x[k, ]
          as.double(x)
        }
        s <- twin_slice(function(s) {
          u[[f]] <- scaled(s, u[[f]])
          twin_shares_log_lik(
            frame, o + drop(frame$x %*% b) + sum_of(seen, u)
          ) + twin_scale_prior(data$bars[[f]], inverse, k, s) + order * log(s)
        }, 1)
        u[[f]] <- scaled(s, u[[f]])
        l[[f]] <- scaled(s, l[[f]])
        inverse[k, ] <- inverse[k, ] / s
        inverse[, k] <- inverse[, k] / s
      }
    }
    seen <- if (wrong == "bar_left") seq_along(q)[-length(q)] else seq_along(q)
    eta <- o + drop(frame$x %*% b) + sum_of(seen, u)
    if (is.null(latent) || wrong != "latent_kept") {
      latent <- vapply(used, function(i) {
        twin_latent_response(
          frame$success[[i]], frame$total[[i]], eta[[i]], frame$link, ""
        )
      }, numeric(2))
    }
    if (length(data$joint) > 0L) {
      root <- sqrt(latent[1, ])
      u <- twin_joint(
        data$joint, data$bars, root * frame$x[used, , drop = FALSE],
        lapply(frame$bars, function(bar) root * bar$z[used, , drop = FALSE]),
        lapply(frame$bars, function(bar) bar$group[used]),
        root * (latent[2, ] - o[used]), l, data$bars[[1]]$mean,
        data$bars[[1]]$precision
      )
    }
    for (f in seq_along(q)) {
      bar <- frame$bars[[f]]
      others <- if (wrong == "others_left") integer() else
        setdiff(seq_along(q), f)
      y <- latent[2, ] - (o + sum_of(others, u))[used]
      groups <- lapply(seq_along(bar$levels), function(j) {
        at <- which(bar$group[used] == j)
        twin_latent_group(
          frame$x[used[at], , drop = FALSE], bar$z[used[at], , drop = FALSE],
          latent[1, at], y[at]
        )
      })
      own <- list(data = data$bars[[f]], layout = model$layout[[f]])
      step <- twin_hlm_sweep(own, groups, list(factor = l[[f]], beta = 1))
      b <- step$state$b
      l[[f]] <- step$state$factor
      u[[f]] <- step$state$u
    }
    moved <- twin_nested_rounds(model, data$nesting, l, u)
    l <- moved$l
    u <- moved$u
    rows[sweep, ] <- c(
      b, twin_bars_covariances(model, l), data$constant + twin_shares_log_lik(
        frame, o + drop(frame$x %*% b) + sum_of(seq_along(q), u)
      ), unlist(u)
    )
  }
  rows
}

# Groups with whole numbers of successes.
binomial_example <- function(sizes = c(6, 4, 1, 5, 2, 7), seed = 1) {
  data <- hlm_example(sizes, seed)
  n <- nrow(data)
  withr::with_seed(seed, {
    data$trials <- sample(1:4, n, replace = TRUE)
    share <- stats::plogis((data$y - 6) / 2)
    data$s <- stats::rbinom(n, data$trials, share)
    data$hit <- stats::rbinom(n, 1, share) == 1
    data$count <- sample(0:2, n, replace = TRUE)
    data$count[!duplicated(data$g)] <- 1
  })
  data$x <- data$x - 3
  data
}

# ---- wrong samplers ----------------------------------------------------------

# The prior, the data or the link is not that of the model.
hlm_binomial_mutants <- list(
  scale = data_mutant(function(data) {
    data$scale <- 2 * data$scale
    data
  }),
  degrees = data_mutant(function(data) {
    data$df <- 1
    data
  }),
  variance = data_mutant(function(data) {
    data$precision <- 1 / data$precision
    data
  }),
  offset = data_mutant(function(data) {
    data$offset <- numeric()
    data
  }),
  trials = data_mutant(function(data) {
    data$total <- data$total + 1
    data
  }),
  link = data_mutant(function(data) {
    data$probit <- 1
    data
  })
)

# A mistake in what the bars know of each other, and of the responses.
bars_mutants <- list(
  # the rows of the second bar are in the groups of others
  rows = data_mutant(function(data) {
    data$bars[[2]]$row <- rev(data$bars[[2]]$row)
    data
  }),
  # a trial more in every row
  trials = data_mutant(function(data) {
    data$response$total <- data$response$total + 1
    data
  }),
  # more groups than there are
  degrees = data_mutant(function(data) {
    data$bars[[2]]$df <- data$bars[[2]]$df + 3
    data
  }),
  scale = data_mutant(function(data) {
    data$bars[[1]]$scale <- 2 * data$bars[[1]]$scale
    data
  }),
  offset = data_mutant(function(data) {
    data$offset <- numeric()
    data
  })
)
