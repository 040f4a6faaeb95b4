# A slow twin of gibbs_categorical(): for each category the sweep of a logistic
# regression with the others in its offset, by the functions of
# helper-hlm-binomial-twin.R and helper-hlm-twin.R, then the shift of all
# coefficients and that of each group's deviations.
#
# `wrong` names a mistake to be made:
#   others_left   the other categories are left out of the offset
#   reference     the first category is not among these
#   kept          the linear predictors of the last sweep stay
#   flat          the shift leaves out the prior of the coefficients
#   sign          the shift is added
#   loose         that of a deviation has a tenth of the prior
#   one           it leaves out the last category

twin_categorical_sweeps <- function(model, state, n, wrong = "") {
  sweep_rows(twin_categorical_sweep, model, state, n, wrong)
}

twin_categorical_sweep <- function(model, state, wrong) {
  views <- gibbsite:::category_views(model)
  own <- gibbsite:::category_states(model, state)
  eta <- vapply(seq_along(own), function(k) {
    twin_category_eta(views[[k]]$model, own[[k]])
  }, numeric(model$data$parts[[1]]$n))
  eta <- matrix(eta, ncol = length(own))
  before <- eta
  for (k in seq_along(own)) {
    part <- views[[k]]$model
    others <- cbind(if (wrong != "reference") 0, eta[, -k, drop = FALSE])
    rest <- if (ncol(others) == 0 || wrong == "others_left") 0 else
      -log(rowSums(exp(others)))
    own[[k]] <- twin_category_step(part, own[[k]], rest)
    if (wrong != "kept") eta[, k] <- twin_category_eta(part, own[[k]])
  }
  shift <- model$data$shift
  if (!is.null(shift)) {
    rest <- -log(rowSums(exp(eta)))
    x <- t(matrix(shift$fixed, shift$p))
    precision <- vapply(model$data$parts, function(part) {
      part$bars[[1]]$precision
    }, numeric(shift$p))
    centre <- vapply(seq_along(own), function(k) {
      own[[k]]$b - model$data$parts[[k]]$bars[[1]]$mean
    }, numeric(shift$p))
    precision <- matrix(precision, shift$p)
    total <- shift$bars[[1]]$precision
    mean <- rowSums(precision * matrix(centre, shift$p)) / total
    if (wrong == "flat") total <- 0 * total
    d <- twin_latent_effects(
      x, twin_category_latent(shift$response, rest), rest, mean, total
    )
    for (k in seq_along(own)) {
      own[[k]]$b <- own[[k]]$b + if (wrong == "sign") d else -d
      eta[, k] <- twin_category_eta(views[[k]]$model, own[[k]])
    }
  }
  if (length(own) > 1) own <- twin_common(model, views, own, wrong)
  list(
    row = twin_category_row(model, views, own),
    state = list(
      factor = unlist(lapply(own, `[[`, "factor")), beta = 1,
      b = unlist(lapply(own, `[[`, "b")), u = unlist(lapply(own, `[[`, "u"))
    )
  )
}

# What a group's deviations have in common goes over to the first category, a
# term at a time: u - d in all categories.
twin_common <- function(model, views, own, wrong) {
  parts <- lapply(views, `[[`, "model")
  rows <- twin_category_rows(parts[[1]])
  changed <- function(own, at, d) {
    lapply(own, function(part) {
      part$u[[at]] <- part$u[[at]] - d
      part
    })
  }
  q <- vapply(rows$bars, `[[`, 0, "q")
  for (f in seq_along(rows$bars)) {
    places <- gibbsite:::model_places(parts[[1]])[[f]]
    precisions <- lapply(own, function(part) {
      l <- split(part$factor, rep(seq_along(q), q^2))[[f]]
      solve(tcrossprod(matrix(l, q[[f]])))
    })
    log_prior <- function(own) {
      sum(vapply(seq_along(own), function(k) {
        u <- matrix(own[[k]]$u[places], q[[f]])
        if (wrong == "one" && k == length(own)) 0 else
          -sum(u * (precisions[[k]] %*% u)) / 2
      }, 0))
    }
    for (at in seq_along(places)) {
      t <- (at - 1) %% q[[f]] + 1
      unit <- 1 / sqrt(sum(vapply(precisions, function(inverse) {
        inverse[t, t]
      }, 0)))
      d <- unit * log(twin_slice(function(s) {
        then <- changed(own, places[[at]], unit * log(s))
        twin_categories_log_lik(model, views, then) - log(s) +
          log_prior(then) / if (wrong == "loose") 10 else 1
      }, 1))
      own <- changed(own, places[[at]], d)
    }
  }
  own
}

# The rows of a category's model: list(x, z, group, o).
twin_category_rows <- function(part) {
  data <- part$data
  bars <- if (is.null(part$layout)) list() else data$bars
  list(
    x = t(matrix(data$fixed, data$p, data$n)), bars = bars,
    z = lapply(bars, function(bar) t(matrix(bar$bar, bar$q))),
    group = lapply(bars, function(bar) {
      out <- integer(data$n)
      out[bar$row + 1] <- rep(seq_len(bar$groups), diff(bar$first))
      out
    }),
    o = if (length(data$offset) > 0) data$offset else numeric(data$n)
  )
}

twin_bar_effects <- function(rows, f, u) {
  u <- matrix(u, rows$bars[[f]]$q)
  rowSums(rows$z[[f]] * t(u[, rows$group[[f]], drop = FALSE]))
}

twin_u_of_bars <- function(part, u) {
  if (is.null(part$layout)) {
    return(list())
  }
  lapply(gibbsite:::model_places(part), function(at) u[at])
}

twin_category_eta <- function(part, own) {
  rows <- twin_category_rows(part)
  u <- twin_u_of_bars(part, own$u)
  Reduce(`+`, lapply(seq_along(u), function(f) {
    twin_bar_effects(rows, f, u[[f]])
  }), rows$o + drop(rows$x %*% own$b))
}

# Precisions and values of the latent responses.
twin_category_latent <- function(response, eta) {
  vapply(seq_along(eta), function(i) {
    twin_latent_response(
      response$success[[i]], response$total[[i]], eta[[i]], "logit", ""
    )
  }, numeric(2))
}

# The coefficients of a regression without groups.
twin_latent_effects <- function(x, latent, offset, mean, precision) {
  v <- latent[1, ]
  all <- diag(precision, ncol(x)) + t(x) %*% (v * x)
  right <- precision * mean + drop(t(x) %*% (v * (latent[2, ] - offset)))
  drop(solve(all, right)) + drop(solve(chol(all), rnorm(ncol(x))))
}

# rest: the other categories' part of the offset.
twin_category_step <- function(part, own, rest) {
  data <- part$data
  rows <- twin_category_rows(part)
  u <- twin_u_of_bars(part, own$u)
  q <- vapply(rows$bars, `[[`, 0, "q")
  l <- split(own$factor, rep(seq_along(q), q^2))
  all <- seq_along(q)
  o <- rows$o + rest
  b <- own$b
  sum_of <- function(bars, u) {
    Reduce(`+`, lapply(bars, function(f) twin_bar_effects(rows, f, u[[f]])),
           numeric(data$n))
  }
  log_lik <- function(u) {
    eta <- o + drop(rows$x %*% b) + sum_of(all, u)
    s <- data$response$success
    sum(s * plogis(eta, log.p = TRUE) + (data$response$total - s) *
          plogis(eta, lower.tail = FALSE, log.p = TRUE))
  }
  for (f in all) {
    inverse <- solve(tcrossprod(matrix(l[[f]], q[[f]])))
    order <- if (rows$bars[[f]]$diagonal == 1) 1 else q[[f]]
    for (k in seq_len(q[[f]])) {
      scaled <- function(s, v) {
        v <- matrix(v, q[[f]])
        v[k, ] <- s * v[k, ]
        as.double(v)
      }
      s <- twin_slice(function(s) {
        u[[f]] <- scaled(s, u[[f]])
        log_lik(u) + twin_scale_prior(rows$bars[[f]], inverse, k, s) +
          order * log(s)
      }, 1)
      u[[f]] <- scaled(s, u[[f]])
      l[[f]] <- scaled(s, l[[f]])
      inverse[k, ] <- inverse[k, ] / s
      inverse[, k] <- inverse[, k] / s
    }
  }
  latent <- twin_category_latent(
    data$response, o + drop(rows$x %*% b) + sum_of(all, u)
  )
  if (length(all) == 0) {
    prior <- data$bars[[1]]
    b <- twin_latent_effects(rows$x, latent, o, prior$mean, prior$precision)
  }
  if (length(data$joint) > 0L) {
    root <- sqrt(latent[1, ])
    u <- twin_joint(
      data$joint, rows$bars, root * rows$x, lapply(rows$z, `*`, root),
      rows$group, root * (latent[2, ] - o), l, data$bars[[1]]$mean,
      data$bars[[1]]$precision
    )
  }
  for (f in all) {
    gap <- latent[2, ] - o - sum_of(setdiff(all, f), u)
    groups <- lapply(seq_len(rows$bars[[f]]$groups), function(j) {
      at <- which(rows$group[[f]] == j)
      twin_latent_group(
        rows$x[at, , drop = FALSE], rows$z[[f]][at, , drop = FALSE],
        latent[1, at], gap[at]
      )
    })
    bar <- list(data = rows$bars[[f]], layout = part$layout[[f]])
    bar$data$keep <- 0
    step <- twin_hlm_sweep(bar, groups, list(factor = l[[f]], beta = 1))
    b <- step$state$b
    l[[f]] <- step$state$factor
    u[[f]] <- step$state$u
  }
  moved <- twin_nested_rounds(part, data$nesting, l, u)
  l <- moved$l
  u <- moved$u
  list(
    factor = as.double(unlist(l)), beta = 1, b = as.double(b),
    u = as.double(unlist(u))
  )
}

twin_category_row <- function(model, views, own) {
  out <- numeric(length(model$columns))
  for (k in seq_along(own)) {
    part <- views[[k]]$model
    q <- lengths(lapply(part$layout, `[[`, "bar"))
    l <- split(own[[k]]$factor, rep(seq_along(q), q^2))
    values <- c(
      own[[k]]$b, if (length(q) > 0) twin_bars_covariances(part, l), 0,
      own[[k]]$u
    )
    out[views[[k]]$at] <- values
  }
  out[match("log_lik", model$columns)] <-
    model$data$parts[[1]]$constant + twin_categories_log_lik(model, views, own)
  out
}

# Without the multinomial coefficients.
twin_categories_log_lik <- function(model, views, own) {
  parts <- model$data$parts
  n <- parts[[1]]$n
  counts <- vapply(parts, function(part) part$response$success, numeric(n))
  counts <- matrix(counts, n)
  eta <- cbind(0, matrix(vapply(seq_along(own), function(k) {
    twin_category_eta(views[[k]]$model, own[[k]])
  }, numeric(n)), n))
  first <- parts[[1]]$response$total - rowSums(counts)
  sum(cbind(first, counts) * (eta - log(rowSums(exp(eta)))))
}

# Three categories, with weights, and counts.
category_example <- function(sizes = c(6, 4, 1, 5, 2, 7), seed = 1) {
  data <- hlm_example(sizes, seed)
  n <- nrow(data)
  cuts <- stats::quantile(data$y, c(0.35, 0.7), names = FALSE)
  data$r <- factor(
    1 + findInterval(data$y, cuts), labels = c("bus", "car", "on foot")
  )
  data$h <- rep_len(c("a", "b", "c"), n)
  withr::with_seed(seed, {
    data$count <- sample(0:3, n, TRUE)
    data$a <- stats::rpois(n, 1)
    data$b <- stats::rpois(n, 1.5)
    data$c <- stats::rpois(n, 0.7)
  })
  data$count[!duplicated(data$r)] <- 2
  data
}

categorical_model_for <- model_for("gibbs_categorical")

# ---- wrong samplers ----------------------------------------------------------

# A change of the data of each category.
parts_mutant <- function(change) {
  data_mutant(function(data) {
    data$parts <- lapply(data$parts, change)
    data
  })
}

# The prior or the data are not those of the model.
categorical_mutants <- list(
  # categories that do not exclude each other
  trials = parts_mutant(function(part) {
    part$response$total <- part$response$total + 1
    part
  }),
  variance = parts_mutant(function(part) {
    part$bars <- lapply(part$bars, function(bar) {
      bar$precision <- 4 * bar$precision
      bar
    })
    part
  }),
  offset = parts_mutant(function(part) {
    part$offset <- numeric()
    part
  }),
  # the shift without the prior, and with the responses of another category
  shift_prior = data_mutant(function(data) {
    data$shift$bars[[1]]$precision <- data$shift$bars[[1]]$precision / 10
    data
  }),
  shift_response = data_mutant(function(data) {
    data$shift$response <- data$parts[[1]]$response
    data
  })
)

categorical_bar_mutants <- c(categorical_mutants, list(
  scale = parts_mutant(function(part) {
    part$bars[[1]]$scale <- 2 * part$bars[[1]]$scale
    part
  }),
  rows = parts_mutant(function(part) {
    part$bars[[1]]$row <- rev(part$bars[[1]]$row)
    part
  })
))
