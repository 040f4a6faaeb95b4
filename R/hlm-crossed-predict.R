# Predictions and estimates of a hierarchical regression with several bars. The
# deviations u are stored. Of a new group they are drawn from N(0, Sigma), once
# for all rows of a draw.

# ---- Rows --------------------------------------------------------------------

# list(x, z, codes, group, offset, names): z has the columns of all bars; codes:
# rows x bars, the group of each bar: 0 for none, above J for new ones; NULL, as
# `group` is, without the deviations.
#' @exportS3Method
predictor_rows.hlm_crossed_model <- function(model, at, call) {
  design <- model_design(model)
  kept <- kept_bar_terms(model, at$re_formula, call)
  rows <- bar_rows(model, at, kept, call)
  if (isTRUE(at$new_groups)) {
    return(rows_of_new_groups(model, rows))
  }
  if (all(lengths(kept) == 0L)) {
    return(rows)
  }
  shared <- c("other_rows", "times", "formula", "constants")
  rows$codes <- vapply(seq_along(kept), function(f) {
    if (length(kept[[f]]) == 0L) {
      numeric(nrow(rows$x))
    } else if (is.null(at$newdata)) {
      as.double(model$frame$bars[[f]]$group)
    } else {
      new_groups(
        c(design[shared], design$bars[[f]]), model$group_name[[f]], at$newdata,
        at$allow_new_levels, call
      ) + 0
    }
  }, numeric(nrow(rows$x)))
  rows$codes <- matrix(rows$codes, ncol = length(kept))
  rows$group <- rows$codes[, 1L]
  rows
}

# The columns of z of each bar.
bar_columns_of_z <- function(model) {
  q <- lengths(lapply(model$layout, `[[`, "bar"))
  Map(function(end, q) end - q + seq_len(q), cumsum(q), q)
}

# The deviations of bar f in each draw, draws x (q J).
stored_deviations <- function(model, draws, f,
                              at = seq_along(model_places(model)[[f]])) {
  first <- match(sprintf("u[%d,1,1]", f), model$columns)
  draws[, first - 1L + at, drop = FALSE]
}

# L of bar f in each draw: draws x q x q, lower triangular.
stored_factors <- function(model, draws, f) {
  design <- model$layout[[f]]
  q <- length(design$bar)
  cor <- array(0, c(nrow(draws), q, q))
  for (k in seq_len(q)) {
    cor[, k, k] <- 1
    for (l in seq_len(k - 1L)) {
      if (!design$diagonal) {
        cor[, k, l] <- draws[, match(sprintf("cor[%d,%d,%d]", f, k, l),
                                     model$columns)]
      }
    }
  }
  factor <- factor_correlations(cor)
  for (k in seq_len(q)) {
    factor[, k, ] <- factor[, k, ] *
      draws[, match(indexed("sd", f, k), model$columns)]
  }
  factor
}

# list(mu, spread): the linear predictor of rows in each draw, draws x rows, and
# the standard deviation that new groups give it. With `draw` their deviations
# are drawn, and the second is NULL.
crossed_eta <- function(model, draws, rows, draw) {
  count <- nrow(draws)
  fixed <- seq_along(model$coefficients)
  mu <- linear_predictors(rows$x, draws[, fixed, drop = FALSE], rows$offset)
  square <- 0
  columns <- bar_columns_of_z(model)
  for (f in seq_along(columns)[!is.null(rows$codes)]) {
    z <- rows$z[, columns[[f]], drop = FALSE]
    q <- ncol(z)
    code <- rows$codes[, f]
    known <- which(code > 0 & code <= length(model$levels[[f]]))
    for (k in seq_len(q)) {
      add <- stored_deviations(model, draws, f, k + q * (code[known] - 1))
      if (any(z[known, k] != 1)) add <- add * rep(z[known, k], each = count)
      if (length(known) == ncol(mu)) {
        mu <- mu + add
      } else {
        mu[, known] <- mu[, known] + add
      }
    }
    new <- which(code > length(model$levels[[f]]))
    if (length(new) > 0L) {
      factor <- stored_factors(model, draws, f)
      at <- match(code[new], unique(code[new]))
      for (c in seq_len(q)) {
        # z'L, column c
        load <- Reduce(`+`, lapply(seq_len(q), function(k) {
          outer(factor[, k, c], z[new, k])
        }))
        if (draw) {
          noise <- matrix(stats::rnorm(count * max(at)), count)
          mu[, new] <- mu[, new] + load * noise[, at, drop = FALSE]
        } else {
          if (identical(square, 0)) square <- matrix(0, count, nrow(z))
          square[, new] <- square[, new] + load^2
        }
      }
    }
    mu[, is.na(code)] <- NA
  }
  if (anyNA(mu)) mu[is.nan(mu)] <- NA
  colnames(mu) <- rows$names
  list(mu = mu, spread = if (is.matrix(square)) sqrt(square))
}

#' @exportS3Method
predictor_at_draws.hlm_crossed_model <- function(model, draws, rows) {
  crossed_eta(model, draws, rows, TRUE)$mu
}

#' @exportS3Method
predictor_moments.hlm_crossed_model <- function(model, draws, rows) {
  at <- crossed_eta(model, draws, rows, FALSE)
  list(mean = unname(at$mu), sd = at$spread)
}

# ---- Estimates ---------------------------------------------------------------

#' @exportS3Method
predictor_deviations.hlm_crossed_model <- function(model, fit) {
  draws <- bind_chains(chain_matrices(fit))
  out <- lapply(seq_along(model$layout), function(f) {
    bar <- model$layout[[f]]$bar
    levels <- model$levels[[f]]
    deviation_table(stored_deviations(model, draws, f), bar, levels)
  })
  stats::setNames(out, names(model$layout))
}

# u: draws x (terms x groups).
deviation_table <- function(u, terms, levels) {
  mean <- as.data.frame(matrix(colMeans(u), ncol = length(terms), byrow = TRUE))
  dimnames(mean) <- list(levels, terms)
  cov <- vapply(seq_along(levels), function(j) {
    own <- length(terms) * (j - 1L) + seq_along(terms)
    stats::cov(u[, own, drop = FALSE])
  }, matrix(0, length(terms), length(terms)))
  attr(mean, "postVar") <- array(
    cov, c(length(terms), length(terms), length(levels)),
    list(terms, terms, levels)
  )
  mean
}

#' @exportS3Method
predictor_bars.hlm_crossed_model <- function(model) {
  stats::setNames(lapply(seq_along(model$layout), function(f) {
    list(
      design = model$layout[[f]], columns = bar_columns(f, model$layout[[f]])
    )
  }), names(model$layout))
}
