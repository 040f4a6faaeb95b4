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
    y <- latent[2, ] - if (wrong == "offset_left") 0 else o[i]
    root <- if (wrong == "unweighted") rep(1, length(v)) else sqrt(v)
    z <- unname(root * frame$z[i, , drop = FALSE])
    list(
      x = unname(root * frame$x[i, , drop = FALSE]), z = z, y = root * y,
      v = rep(1, length(i)),
      basis = if (length(i) > q) z %*% solve(qr.R(qr(z))) else diag(length(i))
    )
  })
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
