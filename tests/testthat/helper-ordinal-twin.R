# A slow twin of gibbs_ordinal(): the step of the cutpoints and the latent
# responses by the functions of helper-bmf-twin.R, a slice step for each scale,
# then for each bar a sweep of helper-hlm-twin.R with a last column of ones,
# whose coefficient moves the cutpoints.
#
# `wrong` names a mistake to be made:
#   jacobian     the step of the cutpoints leaves out the Jacobian of the logs
#   unordered    the cutpoints are drawn from a normal proposal, always accepted
#   interval     the latent response has no lower bound
#   next         the latent response is drawn in the next category
#   latent_kept  the latent responses of the first sweep stay
#   level_flat   the shift of the cutpoints leaves out their prior
#   unweighted   a row counts once in the regression

twin_ordinal_sweeps <- function(model, state, n, wrong = "") {
  sweep_rows(twin_ordinal_sweep, model, state, n, wrong)
}

twin_ordinal_sweep <- function(model, state, wrong) {
  data <- model$data
  response <- data$response
  bars <- if (is.null(model$layout)) list() else data$bars
  q <- lengths(lapply(model$layout, `[[`, "bar"))
  l <- split(state$factor, rep(seq_along(q), q^2))
  u <- if (length(q) > 0) {
    lapply(gibbsite:::model_places(model), function(at) state$u[at])
  }
  x <- t(matrix(data$fixed, data$p))
  z <- lapply(bars, function(bar) t(matrix(bar$bar, bar$q)))
  group <- lapply(bars, function(bar) {
    out <- integer(data$n)
    out[bar$row + 1] <- rep(seq_len(bar$groups), diff(bar$first))
    out
  })
  part <- function(f, u) {
    rowSums(z[[f]] * t(matrix(u[[f]], q[[f]])[, group[[f]], drop = FALSE]))
  }
  o <- if (length(data$offset) > 0) data$offset else numeric(data$n)
  rest <- function(b, u, bars) {
    Reduce(`+`, lapply(bars, part, u), o + drop(x %*% b))
  }
  b <- state$b
  all <- seq_along(q)
  theta <- twin_cutpoints(response, state$theta, rest(b, u, all), wrong)
  log_lik <- function(eta) {
    ordinal_log_lik(theta, response$code, eta, response$weight)
  }
  for (f in all) {
    inverse <- solve(tcrossprod(matrix(l[[f]], q[[f]])))
    order <- if (bars[[f]]$diagonal == 1) 1 else q[[f]]
    for (k in seq_len(q[[f]])) {
      scaled <- function(s, v) {
        v <- matrix(v, q[[f]])
        v[k, ] <- s * v[k, ]
        as.double(v)
      }
      s <- twin_slice(function(s) {
        u[[f]] <- scaled(s, u[[f]])
        log_lik(rest(b, u, all)) +
          twin_scale_prior(bars[[f]], inverse, k, s) + order * log(s)
      }, 1)
      u[[f]] <- scaled(s, u[[f]])
      l[[f]] <- scaled(s, l[[f]])
      inverse[k, ] <- inverse[k, ] / s
      inverse[, k] <- inverse[, k] / s
    }
  }
  y <- state$latent
  if (is.null(y) || wrong != "latent_kept") {
    y <- twin_ordered_latent(response, theta, rest(b, u, all), wrong)
  }
  v <- response$weight
  if (wrong == "unweighted") v[] <- 1
  common <- data$bars[[1]]
  common$mean[[data$p]] <- mean(theta)
  if (wrong == "level_flat") common$precision[[data$p]] <- 0
  if (length(bars) == 0) {
    precision <- diag(common$precision, data$p) + t(x) %*% (v * x)
    right <- common$precision * common$mean + drop(t(x) %*% (v * (y - o)))
    b <- solve(precision, right) + solve(chol(precision), rnorm(data$p))
  }
  if (length(data$joint) > 0L) {
    root <- sqrt(v)
    u <- twin_joint(
      data$joint, bars, root * x, lapply(z, `*`, root), group, root * (y - o),
      l, common$mean, common$precision
    )
  }
  for (f in all) {
    gap <- y - o - Reduce(`+`, lapply(setdiff(all, f), part, u), 0)
    groups <- lapply(seq_len(bars[[f]]$groups), function(j) {
      at <- which(group[[f]] == j)
      twin_latent_group(
        x[at, , drop = FALSE], z[[f]][at, , drop = FALSE], v[at], gap[at]
      )
    })
    own <- list(
      data = utils::modifyList(
        bars[[f]], common[c("mean", "precision")]
      ), layout = model$layout[[f]]
    )
    own$data$keep <- 0
    step <- twin_hlm_sweep(own, groups, list(factor = l[[f]], beta = 1))
    b <- step$state$b
    l[[f]] <- step$state$factor
    u[[f]] <- step$state$u
  }
  moved <- twin_nested_rounds(model, data$nesting, l, u)
  l <- moved$l
  u <- moved$u
  last <- data$p
  theta <- theta - b[[last]]
  b[[last]] <- 0
  own <- b[-last]
  list(
    row = c(
      own, if (length(q) > 0) twin_bars_covariances(model, l),
      theta + sum(response$mean * own), log_lik(rest(b, u, all)), unlist(u)
    ),
    state = list(
      factor = as.double(unlist(l)), beta = 1, b = b, u = as.double(unlist(u)),
      theta = theta, latent = y
    )
  )
}

# theta | eta by the independence step of helper-bmf-twin.R.
twin_cutpoints <- function(response, theta, eta, wrong) {
  model <- list(response = list(
    cutpoint_sd = response$sd, values = seq_len(response$levels)
  ))
  code <- rep(response$code, response$weight)
  each <- rep(eta, response$weight)
  q <- length(theta)
  proposal <- ordinal_proposal(model, code, each)
  upper <- chol(proposal$precision)
  e <- rnorm(q)
  scale <- sqrt(5 / rchisq(1, 5))
  if (wrong == "unordered") {
    return(theta + backsolve(upper, e) * scale)
  }
  new <- proposal$mode + backsolve(upper, e) * scale
  old <- ordinal_coordinates(theta)
  log_q <- function(a) {
    -(5 + q) / 2 * log1p(sum((upper %*% (a - proposal$mode))^2) / 5)
  }
  log_p <- function(a) {
    ordinal_target(model, a, code, each) -
      if (wrong == "jacobian") sum(a[-1]) else 0
  }
  ratio <- log_p(new) - log_p(old) + log_q(old) - log_q(new)
  if (log(runif(1)) < ratio) ordinal_theta(new) else theta
}

# The means of the latent responses of each row.
twin_ordered_latent <- function(response, theta, eta, wrong) {
  bounds <- c(-Inf, theta, Inf)
  vapply(seq_along(eta), function(i) {
    code <- response$code[[i]]
    if (wrong == "next") code <- min(code + 1, response$levels)
    low <- if (wrong == "interval") -Inf else bounds[[code]]
    mean(vapply(seq_len(response$weight[[i]]), function(m) {
      high <- bounds[[code + 1]]
      if (low == -Inf && high == Inf) eta[[i]] + rnorm(1) else
        ordinal_interval_normal(eta[[i]], low, high)
    }, 0))
  }, 0)
}

# Responses in four categories, with weights.
ordered_example <- function(sizes = c(6, 4, 1, 5, 2, 7), seed = 1) {
  data <- hlm_example(sizes, seed)
  cuts <- stats::quantile(data$y, c(0.25, 0.6, 0.85), names = FALSE)
  data$r <- ordered(
    1 + findInterval(data$y, cuts), labels = c("low", "some", "more", "high")
  )
  data$h <- rep_len(c("a", "b", "c"), nrow(data))
  data$count <- withr::with_seed(seed, sample(0:3, nrow(data), TRUE))
  data$count[!duplicated(data$r)] <- 2
  data
}

ordinal_model_for <- model_for("gibbs_ordinal")

# ---- wrong samplers ----------------------------------------------------------

# The prior or the data are not those of the model.
ordered_mutants <- list(
  thresholds = data_mutant(function(data) {
    data$response$sd <- 2 * data$response$sd
    data
  }),
  # the prior of the shift of all thresholds alone
  level = data_mutant(function(data) {
    for (f in seq_along(data$bars)) {
      data$bars[[f]]$precision[[data$p]] <- 0.1
    }
    data
  }),
  variance = data_mutant(function(data) {
    for (f in seq_along(data$bars)) {
      at <- seq_len(data$p - 1)
      own <- data$bars[[f]]$precision
      data$bars[[f]]$precision[at] <- 1 / own[at]
    }
    data
  }),
  # the categories in the reverse order
  codes = data_mutant(function(data) {
    data$response$code <- data$response$levels + 1 - data$response$code
    data
  }),
  weights = data_mutant(function(data) {
    data$response$weight <- data$response$weight + 1
    data
  }),
  offset = data_mutant(function(data) {
    data$offset <- numeric()
    data
  })
)

ordered_bar_mutants <- c(ordered_mutants, list(
  scale = data_mutant(function(data) {
    data$bars[[1]]$scale <- 2 * data$bars[[1]]$scale
    data
  }),
  rows = data_mutant(function(data) {
    data$bars[[1]]$row <- rev(data$bars[[1]]$row)
    data
  })
))
