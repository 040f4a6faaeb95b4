# The data of gibbs_lm(): response, frame, and the statistics that C reads.

# ---- the response ------------------------------------------------------------

# list(y, kind) of a numeric response; trials stay NULL.
as_measurements <- function(y, name, call) {
  check_not_64_bit(y, paste0("`", name, "`"), call)
  if (length(dim(y)) > 1L && ncol(y) > 1L) {
    abort_argument(
      "`{name}` must be one column of numbers, not {ncol(y)} columns.",
      call = call
    )
  }
  if (stats::is.ts(y) || (!is.null(dim(y)) && !is.data.frame(y))) {
    y <- as.vector(y)
  }
  if (!is.numeric(y) || is.object(y)) {
    abort_expected(
      y, "a numeric vector", FALSE, name, call,
      hint = if (is.logical(y) || is.factor(y) && nlevels(y) == 2L) {
        "For two outcomes use `gibbs_logistic()`."
      } else if (is.factor(y)) {
        "For categories use `gibbs_categorical()`, with an order
         `gibbs_ordinal()`."
      }
    )
  }
  abort_elements(
    is.nan(y) | is.infinite(y), y, name, "finite", call, class = "infinite"
  )
  list(y = as.double(y), kind = "measurements")
}

# ---- the frame: what methods need of the data --------------------------------

# parts: of formula_parts() or matrix_parts().
lm_frame <- function(parts, call) {
  response <- parts$response
  x <- parts$x
  if (!is.matrix(x)) {
    check_result_size(dim(x), "observations x columns", "{.arg x}", call)
    x <- as.matrix(x)
  }
  c(
    list(
      x = x, y = response$y, weights = parts$weights, offset = parts$offset,
      response = list(name = response$name, kind = response$kind)
    ),
    parts$more
  )
}

# list(centre, spread, mean_weight, total) of the responses less the offset in
# the rows that are used: their weighted mean (0 without an intercept), the root
# mean square about it, the mean and the sum of the weights.
measure_response <- function(frame, intercept) {
  used <- rows_used(frame)
  y <- without_offset(frame)[used]
  weights <- used_weights(frame, used)
  total <- sum(weights)
  centre <- if (intercept) sum(weights * y) / total else 0
  if (intercept) {
    centre <- centre + sum(weights * (y - centre)) / total
  }
  list(
    centre = centre, spread = sqrt(sum(weights * (y - centre)^2) / total),
    mean_weight = total / length(y), total = total
  )
}

# list(mean, scale, constant) of the slopes' columns: weighted means (0 without
# an intercept), default scales, and whether a column does not vary.
measure_slopes <- function(x, weights, sd, intercept) {
  total <- sum(weights)
  mean <- numeric(ncol(x))
  if (intercept) {
    mean <- colSums(weights * x) / total
    mean <- mean + colSums(weights * (x - rep(mean, each = nrow(x)))) / total
    return(list(mean = mean, scale = sd, constant = sd == 0))
  }
  size <- sqrt(colSums(x^2) / nrow(x))
  list(mean = mean, scale = size, constant = size == 0)
}

# Constant columns have no spread: only the prior informs their slopes.
tell_constant_columns <- function(constant, slopes, scale_given) {
  names <- slopes[constant]
  if (length(names) > 0L) {
    inform_gibbsite(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?does/do} not vary: the
         {cli::qty(names)}slope{?s} {?is/are} drawn from the prior.",
        i = if (!scale_given) {
          "The default prior takes 1 for {cli::qty(names)}{?its/their} scale."
        }
      ),
      class = "constant"
    )
  }
}

# ---- the statistics ----------------------------------------------------------

# Singular values, right singular vectors (signs fixed: the largest entry is
# positive) and least squares estimates of y in their directions, and the sum of
# squared residuals, computed from the residuals. z: n x p, y: n.
decompose_design <- function(z, y) {
  n <- nrow(z)
  p <- ncol(z)
  if (p == 0L || !any(z != 0)) {
    return(list(
      eigenvalue = numeric(), vectors = matrix(0, p, 0), estimate = numeric(),
      rss = sum(y^2)
    ))
  }
  reduced <- z
  right <- y
  if (n > 2 * p) {
    # the same singular values and vectors, of a p x p matrix
    factors <- qr(z, LAPACK = TRUE)
    reduced <- qr.R(factors)[, order(factors$pivot), drop = FALSE]
    right <- qr.qty(factors, y)[seq_len(p)]
  }
  found <- svd(reduced)
  size <- found$d
  kept <- size > max(n, p) * .Machine$double.eps * size[[1L]]
  vectors <- found$v[, kept, drop = FALSE]
  size <- size[kept]
  signs <- vapply(seq_along(size), function(j) {
    size <- abs(vectors[, j])
    # the first of those that are equal up to rounding
    sign(vectors[which(size > (1 - 1e-8) * max(size))[[1L]], j])
  }, 0)
  vectors <- vectors * rep(signs, each = p)
  left <- found$u[, kept, drop = FALSE] * rep(signs, each = nrow(reduced))
  estimate <- drop(crossprod(left, right)) / size
  list(
    eigenvalue = size^2, vectors = vectors, estimate = estimate,
    rss = sum((y - drop(z %*% (vectors %*% estimate)))^2)
  )
}

# What C reads, as core/lm/lm.h describes. design: list(intercept, slopes, mean,
# constant), the columns; keep: "y" stores the missing responses.
lm_data <- function(frame, prior, design, keep) {
  used <- rows_used(frame)
  weights <- used_weights(frame, used)
  x <- in_basis(frame$x[used, , drop = FALSE], design$basis)
  x <- x[, design$slopes, drop = FALSE]
  y <- without_offset(frame)[used]
  intercept <- length(design$intercept) == 1L
  measured <- measure_response(frame, intercept)
  z <- sqrt(weights) *
    (x - rep(design$mean, each = nrow(x))) / rep(prior$scale, each = nrow(x))
  z[, design$constant] <- 0
  away <- y - measured$centre
  # C draws the slopes less their prior means
  if (any(prior$slope_mean != 0)) {
    away <- away - drop(z %*% (prior$slope_mean * prior$scale)) / sqrt(weights)
  }
  hierarchical <- prior$type == "hierarchical"
  found <- decompose_design(unname(z), sqrt(weights) * away)
  # fewer residual degrees of freedom than slopes that the data inform
  degrees <- sum(used) - length(found$estimate) - intercept
  collapsed <- hierarchical && degrees < length(found$estimate)
  c(
    found,
    list(
      collapsed = as.integer(collapsed),
      conjugate = as.integer(!hierarchical),
      horseshoe = as.integer(prior$type == "horseshoe"),
      intercept = as.integer(intercept),
      intercept_at = if (intercept) design$intercept - 1L else 0L,
      n = as.double(sum(used)), log_weights = sum(log(weights)),
      c = prior$noise_shape, d = prior$noise_rate, total = sum(weights),
      centre = measured$centre,
      prior_gap = if (intercept) prior$intercept_mean - measured$centre else 0,
      prior_precision = if (intercept) 1 / prior$intercept_sd^2 else 0,
      scale = as.double(unname(prior$scale)),
      mean = unname(design$mean),
      missing = if ("y" %in% keep) lm_missing(frame, design, prior)
    ),
    switch(prior$type,
      nig = list(lambda = prior$lambda), horseshoe = list(tau = prior$tau),
      list(a = prior$slope_shape, b = prior$slope_rate)
    )
  )
}

# The rows whose missing responses are drawn; NULL: none.
lm_missing <- function(frame, design, prior) {
  rows <- which(is.na(frame$y))
  if (length(rows) == 0L) {
    return(NULL)
  }
  x <- in_basis(unname(frame$x[rows, , drop = FALSE]), design$basis)
  x <- x[, design$slopes, drop = FALSE] -
    rep(unname(design$mean), each = length(rows))
  offset <- (frame$offset %||% numeric(nrow(frame$x)))[rows]
  if (any(prior$slope_mean != 0)) {
    offset <- offset + drop(x %*% unname(prior$slope_mean))
  }
  list(
    x = x, offset = offset,
    weight = row_weights(frame)[rows]
  )
}
