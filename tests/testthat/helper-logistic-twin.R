# A slow twin of laplace_logistic()'s mathematics: plain R, one formula a line,
# nothing shared with the package.  A problem is list(x, success, trials,
# weights, offset, c), c a vector of variances (Inf: flat) or a matrix.

logistic_problem <- function(n, p, counts = FALSE, weighted = FALSE,
                             offset = FALSE, matrix_prior = FALSE,
                             sparse = FALSE) {
  x <- matrix(stats::rnorm(n * p), n, p)
  if (sparse) x[stats::runif(n * p) < 0.7] <- 0
  names <- paste0("x", seq_len(p))
  if (p > 1) {
    x[, 1] <- 1
    names[[1]] <- "(Intercept)"
  }
  colnames(x) <- names
  trials <- if (counts) sample(0:5, n, replace = TRUE) else rep(1, n)
  o <- if (offset) stats::rnorm(n) else rep(0, n)
  truth <- stats::rnorm(p, sd = 0.7)
  success <- stats::rbinom(n, trials, stats::plogis(drop(x %*% truth) + o))
  c <- stats::rexp(p, 0.3)
  if (matrix_prior) {
    root <- matrix(stats::rnorm(p * p), p)
    c <- crossprod(root) + diag(p)
  }
  list(
    x = x, success = success, trials = trials, offset = o, c = c,
    weights = if (weighted) stats::rexp(n) * (stats::runif(n) > 0.1) else
      rep(1, n)
  )
}

# The model of the package for a problem, through its public function.
fit_problem <- function(problem, ..., sparse = FALSE, draws = 10, chains = 1) {
  x <- problem$x
  if (sparse) {
    x <- Matrix::Matrix(x, sparse = TRUE)
  }
  one <- all(problem$trials == 1)
  y <- if (one) {
    problem$success
  } else {
    cbind(problem$success, problem$trials - problem$success)
  }
  suppressMessages(laplace_logistic(
    x, y, prior = logistic_prior(problem$c), weights = problem$weights,
    offset = problem$offset, draws = draws, chains = chains, progress = FALSE,
    ...
  ))
}

fit_model <- function(fit) attr(fit, "model")

precision_of <- function(fit) {
  l <- fit_model(fit)$data$precision_factor
  l %*% t(l)
}

# ---- the log joint density by its factors ------------------------------------

logistic_joint_twin <- function(problem, w) {
  eta <- drop(problem$x %*% w) + problem$offset
  s <- problem$success
  m <- problem$trials
  likelihood <- sum(problem$weights * (
    lchoose(m, s) + s * stats::plogis(eta, log.p = TRUE) +
      (m - s) * stats::plogis(-eta, log.p = TRUE)
  ))
  likelihood + twin_log_prior(problem$c, w)
}

twin_log_prior <- function(c, w) {
  if (!is.matrix(c)) {
    proper <- is.finite(c)
    return(sum(stats::dnorm(w[proper], 0, sqrt(c[proper]), log = TRUE)))
  }
  -0.5 * (length(w) * log(2 * pi) + determinant(c)$modulus[[1]] +
            sum(w * solve(c, w)))
}

# ---- Newton's method, with places for mistakes -------------------------------

# `mutant`: the mistake to make, NULL for none.
twin_search <- function(problem, mutant = "none", start = NULL) {
  x <- problem$x
  p <- ncol(x)
  c <- problem$c
  weights <- problem$weights
  if (mutant == "intercept by c") c[[1]] <- c[[2]]
  if (mutant == "weights squared") weights <- weights^2
  precision <- if (is.matrix(c)) solve(c) else diag(1 / c, p)
  changed <- problem
  changed$c <- c
  changed$weights <- weights
  value <- function(w) logistic_joint_twin(changed, w)
  w <- if (is.null(start)) numeric(p) else start
  trace <- value(w)
  repeat {
    mean <- stats::plogis(drop(x %*% w) + problem$offset)
    residual <- weights * (problem$success - problem$trials * mean)
    gradient <- drop(t(x) %*% residual)
    if (mutant != "prior not in gradient") {
      gradient <- gradient - drop(precision %*% w)
    }
    curvature <- weights * problem$trials * mean * (1 - mean)
    hessian <- t(x) %*% (curvature * x)
    if (mutant != "prior not in Hessian") hessian <- hessian + precision
    direction <- solve(hessian, gradient)
    if (sum(direction * gradient) < 1e-20 || length(trace) > 200) break
    step <- 1
    while (value(w + step * direction) < value(w) && step > 1e-8) {
      step <- step / 2
    }
    # a mutant maximises another function, so that the log joint density cannot
    # guide it
    if (step <= 1e-8) step <- if (mutant == "none") 0 else 1
    if (step == 0) break
    w <- w + step * direction
    trace <- c(trace, value(w))
  }
  list(map = w, precision = hessian, trace = trace)
}

# ---- quadrature --------------------------------------------------------------

# Composite Gauss-Legendre with 20 nodes in each of `pieces` pieces.
quadrature <- function(lower, upper, pieces = 40) {
  k <- seq_len(19)
  b <- k / sqrt(4 * k^2 - 1)
  jacobi <- matrix(0, 20, 20)
  jacobi[cbind(k, k + 1)] <- b
  jacobi[cbind(k + 1, k)] <- b
  e <- eigen(jacobi, symmetric = TRUE)
  h <- (upper - lower) / pieces
  left <- lower + h * (seq_len(pieces) - 1)
  list(
    node = as.vector(outer(h * (e$values + 1) / 2, left, `+`)),
    weight = rep(h * e$vectors[1, ]^2, pieces)
  )
}
