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
  mean <- vapply(moved$column, function(at) mean(frame[[at]][used]), 0)
  # the columns of (v - mean) / sd + by
  columns_at <- function(by) {
    frame[moved$column] <- Map(function(v, mean) {
      (as.double(v) - mean) / stats::sd(v[used]) + by
    }, frame[moved$column], mean)
    frame_design(terms, frame, contrasts, call)
  }
  shifted <- columns_at(1)
  centred <- columns_at(0)[used, , drop = FALSE]
  m <- qr.coef(qr(shifted[used, , drop = FALSE]), centred)
  if (anyNA(m)) {
    return(NULL)
  }
  away <- abs(centred - shifted[used, , drop = FALSE] %*% m)
  possible <- apply(away, 2L, max) < 1e-8 * apply(abs(centred), 2L, max)
  m[, !possible] <- diag(ncol(m))[, !possible]
  whole_number <- abs(m - round(m)) < 1e-9
  m[whole_number] <- round(m[whole_number])
  # a shift by 1 becomes one by the mean, in each variable that a column has and
  # the other has not
  holds <- cbind(FALSE, factors[moved$term, , drop = FALSE] > 0)
  holds <- holds[, attr(shifted, "assign") + 1L, drop = FALSE]
  for (v in seq_along(mean)) {
    m <- m * mean[[v]]^outer(!holds[v, ], holds[v, ])
  }
  if (all(m == diag(ncol(m)))) NULL else m
}

# The columns X M; b of c and c of b in the rows of a matrix; M S M' of a
# covariance matrix S of c. basis: M, or NULL for none.
in_basis <- function(x, basis) if (is.null(basis)) x else x %*% basis

of_basis <- function(c, basis) if (is.null(basis)) c else tcrossprod(c, basis)

to_basis <- function(b, basis) {
  if (is.null(basis)) b else of_basis(b, solve(basis))
}

covariance_of_basis <- function(s, basis) {
  if (is.null(basis)) s else basis %*% tcrossprod(s, basis)
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
