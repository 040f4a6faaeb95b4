# Covariance matrices as points of a space without bounds, and the log density
# of their priors there. `factor`: points x q x q, the lower triangular L of
# Sigma = L L'.
#
# The coordinates are log L_kk and, unless Sigma is diagonal, z_kc = asinh(L_kc
# / L_kk) for c < k. They do not depend on units: for q = 2, z is Fisher's
# transformation of the correlation.

# Points x coordinates: the diagonal first, then the rows of the triangle.
factor_coordinates <- function(factor, diagonal) {
  q <- dim(factor)[[2L]]
  size <- vapply(seq_len(q), function(k) {
    log(factor[, k, k])
  }, numeric(dim(factor)[[1L]]))
  below <- below_diagonal(q, diagonal)
  ratio <- vapply(seq_len(nrow(below)), function(i) {
    k <- below[i, 1L]
    asinh(factor[, k, below[i, 2L]] / factor[, k, k])
  }, numeric(dim(factor)[[1L]]))
  unname(cbind(
    matrix(size, dim(factor)[[1L]]), matrix(ratio, dim(factor)[[1L]])
  ))
}

# The reverse.
coordinate_factors <- function(x, q, diagonal) {
  factor <- array(0, c(nrow(x), q, q))
  for (k in seq_len(q)) {
    factor[, k, k] <- exp(x[, k])
  }
  below <- below_diagonal(q, diagonal)
  for (i in seq_len(nrow(below))) {
    k <- below[i, 1L]
    factor[, k, below[i, 2L]] <- factor[, k, k] * sinh(x[, q + i])
  }
  factor
}

# log |d Sigma / d x|, where Sigma has its lower triangle, or its diagonal.
# With |d Sigma / d L| = 2^q prod_k L_kk^(q - k + 1).
log_factor_jacobian <- function(x, q, diagonal) {
  power <- if (diagonal) rep(2, q) else q - seq_len(q) + 2
  out <- q * log(2) + drop(x[, seq_len(q), drop = FALSE] %*% power)
  below <- below_diagonal(q, diagonal)
  for (i in seq_len(nrow(below))) {
    z <- abs(x[, q + i])
    out <- out + x[, below[i, 1L]] + z + log1p(exp(-2 * z)) - log(2)
  }
  out
}

# (row, column) of the elements below the diagonal, by rows.
below_diagonal <- function(q, diagonal) {
  at <- which(lower.tri(diag(q)), arr.ind = TRUE)
  at <- at[order(at[, 1L]), , drop = FALSE]
  if (diagonal) at[0L, , drop = FALSE] else at
}

coordinate_count <- function(q, diagonal) {
  q + nrow(below_diagonal(q, diagonal))
}

# ---- Priors ------------------------------------------------------------------

# Sigma ~ IW(df, scale), at each point.
log_inverse_wishart <- function(factor, df, scale) {
  q <- dim(factor)[[2L]]
  root <- t(chol(scale))
  df * sum(log(diag(root))) - df * q / 2 * log(2) -
    log_multivariate_gamma(df / 2, q) -
    (df + q + 1) * log_root_determinant(factor) -
    rowSums(whitened_squares(factor, root)) / 2
}

# Sigma | a ~ IW(df + q - 1, 2 df diag(1/a)), a_k ~ IG(1/2, 1/scale_k^2), with a
# integrated out (Huang & Wand 2013, doi:10.1214/13-BA815).
log_half_t_covariance <- function(factor, df, scale) {
  q <- dim(factor)[[2L]]
  n <- df + q - 1
  # the diagonal of Sigma^-1
  inverse <- whitened_squares(factor, diag(q))
  n * q / 2 * log(df) - log_multivariate_gamma(n / 2, q) +
    q * (lgamma((n + 1) / 2) - log(pi) / 2) - sum(log(scale)) -
    (n + q + 1) * log_root_determinant(factor) -
    (n + 1) / 2 *
      rowSums(log(df * inverse + rep(scale^-2, each = nrow(inverse))))
}

# The log density f of a covariance matrix; of a diagonal one the sum over its
# variances, each a matrix of order 1.
over_variances <- function(factor, diagonal, f) {
  if (!diagonal) {
    return(f(factor, seq_len(dim(factor)[[2L]])))
  }
  parts <- lapply(seq_len(dim(factor)[[2L]]), function(k) {
    f(factor[, k, k, drop = FALSE], k)
  })
  Reduce(`+`, parts)
}

log_multivariate_gamma <- function(a, q) {
  q * (q - 1) / 4 * log(pi) + sum(lgamma(a + (1 - seq_len(q)) / 2))
}

# log |L|
log_root_determinant <- function(factor) {
  Reduce(`+`, lapply(seq_len(dim(factor)[[2L]]), function(k) {
    log(factor[, k, k])
  }))
}

# |L^-1 r|^2 for each column r of `root`: points x columns.
whitened_squares <- function(factor, root) {
  points <- dim(factor)[[1L]]
  vapply(seq_len(ncol(root)), function(column) {
    white <- list()
    squares <- numeric(points)
    for (k in seq_len(nrow(root))) {
      rest <- rep(root[k, column], points)
      for (c in seq_len(k - 1L)) {
        rest <- rest - factor[, k, c] * white[[c]]
      }
      white[[k]] <- rest / factor[, k, k]
      squares <- squares + white[[k]]^2
    }
    squares
  }, numeric(points)) |> matrix(points)
}

# ---- Factors ----------------------------------------------------------------

# Cholesky factors of correlation matrices: draws x q x q, lower triangle read.
factor_correlations <- function(cor) {
  q <- dim(cor)[[2L]]
  out <- array(0, dim(cor))
  for (k in seq_len(q)) {
    for (i in k:q) {
      rest <- cor[, i, k]
      for (c in seq_len(k - 1)) {
        rest <- rest - out[, i, c] * out[, k, c]
      }
      # a correlation of almost 1 may leave less than nothing
      out[, i, k] <- if (i == k) sqrt(pmax(rest, 1e-16)) else rest / out[, k, k]
    }
  }
  out
}
