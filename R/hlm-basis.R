# The draws of a model with groups in the columns of its data. C has those of
# centred variables: R/regression-basis.R.

# What C returns of some sweeps, with the draws of the data's columns. at: the
# places of the model's draws among all.
with_bases <- function(model, run, at = TRUE) {
  if (length(run$draws) > 0L && has_bases(model)) {
    run$draws[, at] <- rebase_draws(model, run$draws[, at, drop = FALSE])
  }
  run
}

has_bases <- function(model, fixed = model$data$basis) {
  !is.null(fixed) ||
    any(lengths(lapply(bar_designs(model), `[[`, "bar_basis")) > 0L)
}

# Draws of the columns in C as those of the data's, or with `back` the inverse.
# fixed: the basis of the fixed effects; means: whether a single bar has the
# coefficients of the groups, not their deviations.
rebase_draws <- function(model, draws, back = FALSE,
                         fixed = model$data$basis, means = TRUE) {
  designs <- bar_designs(model)
  bases <- lapply(designs, `[[`, "bar_basis")
  if (!has_bases(model, fixed)) {
    return(draws)
  }
  turned <- function(basis) if (back && !is.null(basis)) solve(basis) else basis
  at <- seq_along(model$coefficients)
  out <- draws
  out[, at] <- of_basis(draws[, at, drop = FALSE], turned(fixed))
  bars <- if (length(designs) > 0L) predictor_bars(model)
  for (f in seq_along(designs)) {
    q <- length(designs[[f]]$bar)
    mean_at <- if (means && !is.list(model$levels)) {
      model$data$fixed_at + 1L
    } else {
      integer(q)
    }
    if (is.null(bases[[f]]) && all(mean_at == 0L)) next
    basis <- turned(bases[[f]]) %||% diag(q)
    own <- match(bars[[f]]$columns, model$columns)
    if (!is.null(bases[[f]])) {
      out[, own] <- rebase_covariances(draws[, own, drop = FALSE], basis)
    }
    places <- matrix(deviation_places(model, f), q)
    mean_of <- function(m, k) if (mean_at[[k]] > 0L) m[, mean_at[[k]]] else 0
    u <- lapply(seq_len(q), function(k) {
      draws[, places[k, ], drop = FALSE] - mean_of(draws, k)
    })
    for (k in seq_len(q)) {
      parts <- which(basis[k, ] != 0)
      out[, places[k, ]] <- mean_of(out, k) +
        Reduce(`+`, Map(`*`, basis[k, parts], u[parts]))
    }
  }
  out
}

# The columns of the deviations of bar f, those of a group together.
deviation_places <- function(model, f) {
  if (is.list(model$levels)) {
    first <- match(sprintf("u[%d,1,1]", f), model$columns)
    size <- length(model$layout[[f]]$bar) * length(model$levels[[f]])
    return(first - 1L + seq_len(size))
  }
  grep("^w\\[", model$columns)
}

# Standard deviations and correlations of M S M' from those of S, in rows: the
# lower triangle by columns.
rebase_covariances <- function(x, basis) {
  q <- ncol(basis)
  lower <- which(lower.tri(diag(q)))
  sd <- x[, seq_len(q), drop = FALSE]
  cor <- matrix(1, nrow(x), q^2)
  cor[, lower] <- x[, -seq_len(q)]
  cor[, c(t(matrix(seq_len(q^2), q)))[lower]] <- x[, -seq_len(q)]
  each <- seq_len(q)
  covariance <- cor * sd[, rep(each, q)] * sd[, rep(each, each = q)]
  covariance <- of_basis(covariance, kronecker(basis, basis))
  sd <- sqrt(covariance[, (each - 1L) * q + each, drop = FALSE])
  cor <- covariance / (sd[, rep(each, q)] * sd[, rep(each, each = q)])
  cbind(sd, pmax(pmin(cor[, lower, drop = FALSE], 1), -1))
}
