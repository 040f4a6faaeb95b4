# Coefficients of centred variables. The default priors are those of centred
# variables: of an interaction the slope of x is that where z is at its mean,
# and the effects of a group have their prior where all its variables are at
# their means. So they do not depend on where a variable has its 0. The columns
# in C are those of centred variables, and so is a state. Draws are stored, and
# read, as coefficients of the data.

# ---- the basis ---------------------------------------------------------------

# The matrix M such that b = M c are the coefficients of the columns X of some
# terms for those, c, of X M, in which numeric variables are less their means
# over the rows that are used: those of interactions, or with `all` all of them.
# NULL without such variables, or where the centred columns are no combinations
# of those of X.
centred_basis <- function(terms, frame, contrasts, used, call, all = FALSE) {
  factors <- attr(terms, "factors")
  several <- attr(terms, "order") > if (all) 0L else 1L
  if (is.null(frame) || !any(several)) {
    return(NULL)
  }
  held <- rowSums(factors[, several, drop = FALSE] > 0) > 0
  moved <- data.frame(
    term = which(held), column = match(
      all_term_variables(terms)[held], all_term_variables(attr(frame, "terms"))
    )
  )
  moved <- moved[vapply(moved$column, function(at) {
    v <- frame[[at]]
    is.numeric(v) && is.null(dim(v)) && isTRUE(stats::sd(v[used]) > 0)
  }, NA), ]
  if (nrow(moved) == 0L) {
    return(NULL)
  }
  own <- frame[moved$column]
  mean <- vapply(own, function(v) mean(v[used]), 0, USE.NAMES = FALSE)
  frame[moved$column] <- Map(function(v, mean) {
    (as.double(v) - mean) / stats::sd(v[used])
  }, own, mean)
  # some of many rows have all columns, but for rare levels
  texts <- vapply(frame, is.character, NA)
  frame[texts] <- lapply(frame[texts], factor)
  rows <- which(used)
  some <- rows[unique(round(seq(1, length(rows), length.out = 1e4)))]
  found <- shift_of_columns(terms, frame, moved$column, contrasts, some, call)
  if (is.null(found) && length(rows) > length(some)) {
    found <- shift_of_columns(terms, frame, moved$column, contrasts, rows, call)
  }
  if (is.null(found)) {
    return(NULL)
  }
  m <- found$m
  # a shift by 1 becomes one by the mean, in each variable that a column has and
  # the other has not
  holds <- cbind(FALSE, factors[moved$term, , drop = FALSE] > 0)
  holds <- holds[, found$assign + 1L, drop = FALSE]
  for (v in seq_along(mean)) {
    m <- m * mean[[v]]^outer(!holds[v, ], holds[v, ])
  }
  if (all(m == diag(ncol(m)))) NULL else m
}

# describe_design() of the fixed effects of a frame, and `near`, of
# nearly_one(). Where they have a basis it is of the columns in this, with
# `basis`, and `raw`, that of the columns of the data. total: as for
# measure_columns(), whose value `found` may be.
fixed_design <- function(frame, columns, total, call, found = NULL) {
  raw <- describe_design(
    frame$x, columns, found %||% measure_columns(frame$x, total), call
  )
  raw$near <- nearly_one(frame$x, columns, raw)
  basis <- if (is.matrix(frame$x)) {
    terms <- frame$fixed_terms %||% frame$terms
    centred_basis(terms, frame$model, frame$contrasts, total > 0, call)
  }
  if (is.null(basis)) {
    return(raw)
  }
  # thresholds stand in the place of the intercept
  if (ncol(basis) > length(columns)) basis <- basis[-1L, -1L]
  dimnames(basis) <- list(columns, columns)
  x <- in_basis(frame$x, basis)
  own <- measure_columns(x, total)
  out <- raw
  out[c("mean", "sd")] <- own[c("mean", "sd")]
  out$near <- nearly_one(x, columns, out)
  c(out, list(basis = basis, raw = raw))
}

# list(m, assign): X(v) = X(v + 1) m, where v are the variables `at` of a frame,
# as far as the columns of X(v) are combinations of those of X(v + 1); NULL if
# the latter are not independent in these rows. assign: of model.matrix().
shift_of_columns <- function(terms, frame, at, contrasts, rows, call) {
  all <- attr(frame, "terms")
  frame <- frame[rows, , drop = FALSE]
  attr(frame, "terms") <- all
  centred <- frame_design(terms, frame, contrasts, call)
  frame[at] <- lapply(frame[at], `+`, 1)
  shifted <- frame_design(terms, frame, contrasts, call)
  m <- qr.coef(qr(shifted), centred)
  if (anyNA(m)) {
    return(NULL)
  }
  away <- apply(abs(centred - shifted %*% m), 2L, max)
  lost <- away > 1e-8 * apply(abs(centred), 2L, max)
  m[, lost] <- diag(ncol(m))[, lost]
  whole <- abs(m - round(m)) < 1e-9
  m[whole] <- round(m[whole])
  list(m = m, assign = attr(shifted, "assign"))
}

# The columns X M; b of c and c of b in the rows of a matrix; M S M' of a
# covariance matrix S of c. basis: M, or NULL for none. The sums do not use
# BLAS, whose bits can depend on its threads.
in_basis <- function(x, basis) {
  if (is.null(basis)) {
    return(x)
  }
  out <- x
  for (j in seq_len(ncol(basis))) {
    parts <- which(basis[, j] != 0)
    out[, j] <- Reduce(`+`, lapply(parts, function(k) x[, k] * basis[[k, j]]))
  }
  out
}

of_basis <- function(c, basis) {
  if (is.null(basis)) c else in_basis(c, t(basis))
}

to_basis <- function(b, basis) {
  if (is.null(basis)) b else of_basis(b, solve(basis))
}

covariance_of_basis <- function(s, basis) {
  of_basis(t(of_basis(s, basis)), basis)
}

# A list of hlm_design() for each bar of a model.
bar_designs <- function(model) {
  if (is.null(model$group_name)) {
    list()
  } else if (is.list(model$levels)) {
    model$layout
  } else {
    list(model$layout)
  }
}
