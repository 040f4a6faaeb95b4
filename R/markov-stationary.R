# Finite Markov chains: stationary distributions, and the chains of samplers.

#' @section Stationary distributions of a Markov chain:
#' A distribution \eqn{\pi}{pi} is stationary if \eqn{\pi P = \pi}{pi P = pi}.
#' Each closed class of states has exactly one on its own states. All others are
#' mixtures of these. They are computed by the elimination of Grassmann, Taksar
#' and Heyman (1985), which subtracts nothing: each probability is right to
#' nearly all digits (O'Cinneide 1993), also where parts of the chain are hardly
#' connected. States are eliminated in blocks by R's BLAS.
#' @return `stationary()`: of a chain with one closed class, as every
#'   irreducible chain has, the probabilities of the states, with their names.
#'   Of a chain with several: a matrix with a row for each of them, in the order
#'   of [communicating_classes()].
#' @section Errors: `stationary()`: `gibbsite_error_numeric` if a number is too
#'   small for double precision.
#' @references
#' Grassmann WK, Taksar MI, Heyman DP (1985). Regenerative analysis and steady
#' state distributions for Markov chains. *Operations Research* 33, 1107-1116.
#' \doi{10.1287/opre.33.5.1107}
#'
#' O'Cinneide CA (1993). Entrywise perturbation theory and error analysis for
#' Markov chains. *Numerische Mathematik* 65, 109-120. \doi{10.1007/BF01385743}
#' @seealso [is_reversible()], [mixing_time()].
#' @examples
#' stationary(markov_chain(
#'   rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0))
#' ))
#'
#' # a gambler who stops at 0 or 3: two closed classes
#' gambler <- rbind(c(1, 0, 0, 0), c(.5, 0, .5, 0), c(0, .5, 0, .5),
#'   c(0, 0, 0, 1)
#' )
#' stationary(markov_chain(gambler, paste("euro", 0:3)))
#' @rdname markov-structure
#' @export
stationary <- function(chain) {
  chain <- check_chain(chain, rlang::current_env())
  out <- stationary_rows(chain$transition)
  if (nrow(out) == 1L) out[1L, ] else out
}

#' @rdname markov_chain
#' @export
summary.markov_chain <- function(object, ...) {
  check_no_more(...)
  p <- check_chain(object, rlang::current_env())$transition
  found <- chain_classes(p)
  class <- found$class
  data.frame(
    state = rownames(p), class = class, closed = found$closed[class],
    period = class_periods(found)[class],
    stationary = colSums(stationary_rows(p, found = found)), row.names = NULL
  )
}

# closed classes x states
stationary_rows <- function(p, call = rlang::caller_env(),
                            found = chain_classes(p)) {
  closed <- found$members[found$closed]
  out <- matrix(0, length(closed), nrow(p))
  colnames(out) <- rownames(p)
  for (k in seq_along(closed)) {
    members <- closed[[k]]
    block <- small_or_sparse(p[members, members, drop = FALSE])
    out[k, members] <- if (is_sparse(block)) {
      sparse_stationary(block, call)
    } else {
      stationary_of(block, call)
    }
  }
  out
}

# As stationary_of(), by a sparse LU decomposition.
sparse_stationary <- function(p, call) {
  last <- nrow(p)
  balance <- Matrix::t(leaving_matrix(p)[-last, -last])
  weight <- c(solve_sparse(balance, p[last, -last], call)[, 1L], 1)
  if (any(weight <= 0)) abort_inexact(call)
  weight / sum(weight)
}

# A x = b for each column of b: by the iterations, or, where they do not end
# soon, by the decomposition. That of a chain whose states have no order in
# space may take too much memory, but there the iterations are few.
solve_sparse <- function(a, b, call) {
  b <- as.matrix(b)
  x <- matrix(0, nrow(b), ncol(b))
  left <- integer(0)
  for (k in seq_len(ncol(b))) {
    found <- solve_by_steps(a, b[, k])
    if (is.null(found)) left <- c(left, k) else x[, k] <- found
  }
  if (length(left) > 0L) {
    x[, left] <- as.matrix(tryCatch(
      Matrix::solve(a, b[, left, drop = FALSE]),
      error = function(cnd) abort_inexact(call)
    ))
  }
  if (!all(is.finite(x))) abort_inexact(call)
  x
}

# x by a few rounds of iterations, each for what the one before has left; NULL
# if these do not reach the rounding error of A x.
solve_by_steps <- function(a, b) {
  scale <- Matrix::diag(a)
  times <- function(x) as.vector(a %*% (x / scale))
  norm <- function(x) sqrt(sum(x^2))
  x <- numeric(length(b))
  rest <- b
  for (round in 1:5) {
    if (norm(rest) <= 1e-15 * (norm(x) + norm(b))) break
    more <- stabilised_steps(times, rest)
    if (is.null(more)) {
      return(NULL)
    }
    x <- x + more
    rest <- b - times(x)
  }
  if (norm(rest) <= 1e-14 * (norm(x) + norm(b))) x / scale
}

# BiCGSTAB (van der Vorst 1992, doi:10.1137/0913035); NULL if `most` steps do
# not make the residual small.
stabilised_steps <- function(times, b, most = 1000L) {
  x <- numeric(length(b))
  rest <- p <- b
  rho <- sum(b^2)
  enough <- 1e-20 * rho
  for (step in seq_len(most)) {
    v <- times(p)
    alpha <- rho / sum(b * v)
    s <- rest - alpha * v
    along <- times(s)
    omega <- if (isTRUE(any(s != 0))) sum(along * s) / sum(along^2) else 0
    x <- x + alpha * p + omega * s
    rest <- s - omega * along
    if (!all(is.finite(x))) {
      return(NULL)
    }
    if (sum(rest^2) <= enough) {
      return(x)
    }
    before <- rho
    rho <- sum(b * rest)
    p <- rest + rho / before * alpha / omega * (p - omega * v)
  }
  NULL
}

abort_inexact <- function(call) {
  abort_numeric(
    c("The sparse equations of the chain have no solution in double precision.",
      i = "{.code markov_chain(as.matrix(transition))} takes the exact way."),
    call = call
  )
}

# The stationary distribution of an irreducible chain: what is left of it on its
# first state, carried to the others one by one.
stationary_of <- function(p, call) {
  gone <- eliminate_states(p, 1L, call)
  weight <- c(1, numeric(nrow(p) - 1L))
  for (n in seq_along(weight)[-1L]) {
    before <- seq_len(n - 1L)
    weight[[n]] <- sum(weight[before] * gone$p[before, n])
    if (weight[[n]] > 1e100) {
      weight <- weight / weight[[n]]
    }
  }
  weight / sum(weight)
}

# Eliminates all states but the first `keep`, from the last on.  The chain seen
# on the first n - 1 states steps from i to j with probability p[i, j] + p[i, n]
# p[n, j] / leave[n], where leave[n] = 1 - p[n, n] is the sum of the row's
# entries before the n-th.  No diagonal entry is read and nothing is subtracted,
# so that every number keeps its relative accuracy (O'Cinneide 1993).  A column
# of p beyond its square part is what a step from each state costs: it is summed
# until the chain is at a state before.  A block's own rows and columns are
# updated at once, the rest by one matrix product.
#
# list(p, leave): p[n, ] for the states before n and the costs as they were when
# n was eliminated, p[i, n] divided by leave[n].
eliminate_states <- function(p, keep, call, block = 32L) {
  size <- nrow(p)
  dimnames(p) <- NULL
  costs <- seq_len(ncol(p))[-seq_len(size)]
  leave <- numeric(size)
  top <- size
  while (top > keep) {
    first <- max(keep + 1L, top - block + 1L)
    own <- first:top
    rest <- seq_len(first - 1L)
    for (n in rev(own)) {
      before <- seq_len(n - 1L)
      leave[[n]] <- sum(p[n, before])
      p[before, n] <- p[before, n] / leave[[n]]
      within <- own[own < n]
      if (length(within) > 0L) {
        row <- c(before, costs)
        p[within, row] <- p[within, row] + tcrossprod(p[within, n], p[n, row])
        p[rest, within] <- p[rest, within] +
          tcrossprod(p[rest, n], p[n, within])
      }
    }
    row <- c(rest, costs)
    p[rest, row] <- p[rest, row] +
      p[rest, own, drop = FALSE] %*% p[own, row, drop = FALSE]
    top <- first - 1L
  }
  # below, a number has few digits or none
  if (any(leave[seq_len(size) > keep] < .Machine$double.xmin)) {
    abort_numeric(
      "The chain leaves some states with probabilities below 1e-307, which
       double precision does not hold.",
      call = call
    )
  }
  list(p = p, leave = leave)
}

# ---- Detailed balance --------------------------------------------------------

#' @rdname markov-structure
#' @export
is_reversible <- function(chain, distribution = NULL, tolerance = 1e-8) {
  call <- rlang::current_env()
  tolerance <- check_number(tolerance, lower = 0, upper = 1)
  flows <- balance_of(chain, distribution, call)
  all(flows$difference <= tolerance * pmax(flows$forward, flows$backward))
}

#' @rdname markov-structure
#' @export
detailed_balance <- function(chain, distribution = NULL) {
  balance_of(chain, distribution, rlang::current_env())
}

balance_of <- function(chain, distribution, call) {
  chain <- check_chain(chain, call)
  chain$transition <- dense_transition(chain$transition, 4, call)
  states <- states_of(chain)
  if (is.null(distribution)) {
    distribution <- colMeans(stationary_rows(chain$transition))
  } else {
    distribution <- check_distribution(
      distribution, states, "distribution", call
    )
  }
  flow <- unname(distribution) * unname(chain$transition)
  either <- chain$transition > 0 | t(chain$transition) > 0
  pair <- which(upper.tri(flow) & either, arr.ind = TRUE)
  forward <- flow[pair]
  backward <- flow[pair[, 2:1, drop = FALSE]]
  out <- data.frame(
    from = states[pair[, 1L]], to = states[pair[, 2L]], forward = forward,
    backward = backward, difference = abs(forward - backward)
  )
  out <- out[order(out$difference, decreasing = TRUE), ]
  row.names(out) <- NULL
  out
}

# ---- Chains of samplers -----------------------------------------------------

#' Transition matrices of samplers of a finite target
#'
#' `metropolis_matrix()` makes the Markov chain of the Metropolis-Hastings
#' algorithm: from state \eqn{i} it proposes \eqn{j} with probability
#' \eqn{q_{ij}}{q[i, j]} and accepts with probability \eqn{\min(1, p_j q_{ji} /
#' (p_i q_{ij}))}{min(1, p[j] q[j, i] / (p[i] q[i, j]))}; otherwise it stays.
#' `gibbs_matrix()` makes that of the Gibbs sampler of a table of joint
#' probabilities: one sweep draws each variable in turn from its conditional
#' distribution (`scan = "systematic"`), or one variable chosen at random
#' (`"random"`). Both chains have the target as their stationary distribution.
#' Metropolis-Hastings and the random scan satisfy detailed balance; a
#' systematic scan in general does not.
#'
#' `spectral_gap()` is \eqn{1 - |\lambda_2|}{1 - |lambda[2]|}, with the
#' eigenvalue of the second largest modulus of the transition matrix: the closer
#' to 0, the slower the chain. It is exactly 0 for a chain that does not
#' converge to one distribution. A small gap is computed from powers of the
#' matrix, without the rounding error of the subtraction. The gap of a sampler
#' can be laid beside the effective draws of its runs.
#'
#' @param target Probabilities of the states, or weights proportional to them:
#'   numbers above 0. Their names are the names of the states.
#' @param proposal A matrix of proposal probabilities \eqn{q_{ij}}{q[i, j]}, as
#'   `transition` of [markov_chain()].
#' @param joint An array of probabilities of at least 0, or of weights
#'   proportional to them, with a dimension for each variable. A state is a
#'   cell, named after its levels, such as `"a,2"`; the first variable varies
#'   fastest, as in the array. Cells of probability 0 are not states.
#' @param scan `"systematic"` or `"random"`.
#' @param chain A chain, see [markov_chain()].
#' @return A chain, see [markov_chain()]; `spectral_gap()`: a number.
#' @section Errors: `gibbsite_error_argument`.
#' @references
#' Hastings WK (1970). Monte Carlo sampling methods using Markov chains and
#' their applications. *Biometrika* 57, 97-109. \doi{10.1093/biomet/57.1.97}
#'
#' Liu JS (2004). *Monte Carlo Strategies in Scientific Computing*. Springer.
#' \doi{10.1007/978-0-387-76371-2}
#' @seealso [markov_chain()], [stationary()]; `vignette("markov", "gibbsite")`.
#' @examples
#' # a walk on six states, which proposes a neighbour
#' neighbours <- abs(outer(1:6, 1:6, "-")) == 1
#' chain <- metropolis_matrix(1:6, neighbours / rowSums(neighbours))
#' stationary(chain)
#' is_reversible(chain)
#' spectral_gap(chain)
#'
#' # two correlated coins
#' coins <- matrix(c(0.4, 0.1, 0.1, 0.4), 2,
#'   dimnames = list(c("head", "tail"), c("head", "tail"))
#' )
#' gibbs_matrix(coins)
#' spectral_gap(gibbs_matrix(coins))
#' @export
metropolis_matrix <- function(target, proposal) {
  call <- rlang::current_env()
  check_needed(target = "probabilities", proposal = "a matrix")
  proposal <- check_transition(proposal, "proposal", call)
  size <- nrow(proposal)
  states <- names(target)
  target <- check_numeric_vector(
    target, length = size, length_why = "one for each row of `proposal`",
    lower = 0, lower_open = TRUE
  )
  states <- check_states(states, proposal, call, "target")
  # on the log scale: weights may be tiny or huge
  log_flow <- log(as.vector(target)) + log(proposal)
  ratio <- exp(pmin(t(log_flow) - log_flow, 0))
  ratio[proposal == 0] <- 0
  p <- proposal * ratio
  # a refused step stays; what is always accepted leaves exactly 0
  refused <- -proposal * expm1(pmin(t(log_flow) - log_flow, 0))
  refused[proposal == 0] <- 0
  diag(p) <- 0
  diag(p) <- diag(proposal) + rowSums(refused) - diag(refused)
  dimnames(p) <- list(states, states)
  new_markov_chain(p)
}

#' @rdname metropolis_matrix
#' @export
gibbs_matrix <- function(joint, scan = c("systematic", "random")) {
  call <- rlang::current_env()
  check_needed(joint = "a table of probabilities")
  scan <- check_choice(scan, c("systematic", "random"))
  joint <- check_joint(joint, call)
  support <- which(joint > 0)
  cell <- arrayInd(support, dim(joint))
  size <- length(support)
  check_square_size(
    size, 4, "The transition matrix has", "Use fewer cells", call
  )
  p <- diag(if (scan == "systematic") 1 else 0, size)
  for (k in seq_along(dim(joint))) {
    # cells that differ in variable k alone
    others <- row_codes(c(list(rep(1, nrow(cell))), as.data.frame(cell[, -k])))
    same <- outer(others, others, "==")
    conditional <- same * rep(joint[support], each = size)
    conditional <- conditional / rowSums(conditional)
    p <- if (scan == "systematic") {
      p %*% conditional
    } else {
      p + conditional / length(dim(joint))
    }
  }
  states <- cell_names(joint, cell)
  dimnames(p) <- list(states, states)
  new_markov_chain(p / rowSums(p))
}

# The weights of a table, divided by the largest.
check_joint <- function(joint, call) {
  plain <- is.numeric(joint) && (!is.object(joint) || inherits(joint, "table"))
  if (!plain || is.null(dim(joint)) || length(joint) == 0L) {
    abort_expected(joint, "an array of probabilities", FALSE, "joint", call)
  }
  wrong <- !is.finite(joint) | joint < 0
  abort_elements(
    as.vector(wrong), as.vector(unclass(joint)), "joint",
    "probabilities or weights", call
  )
  if (!any(joint > 0)) {
    abort_argument("All cells of {.arg joint} have probability 0.", call = call)
  }
  unclass(joint) / max(joint)
}

# "a,2": the levels of each cell.
cell_names <- function(joint, cell) {
  levels <- lapply(seq_len(ncol(cell)), function(k) {
    names <- dimnames(joint)[[k]] %||% as.character(seq_len(dim(joint)[[k]]))
    names[cell[, k]]
  })
  joined_words(levels, ",")
}

#' @rdname metropolis_matrix
#' @export
spectral_gap <- function(chain) {
  call <- rlang::current_env()
  p <- dense_transition(check_chain(chain, call)$transition, 4, call)
  if (nrow(p) == 1L) {
    return(1)
  }
  classes <- classes_of(p)
  if (sum(classes$closed) > 1L || classes$period[classes$closed] > 1L) {
    return(0)
  }
  # 1 - |lambda| has few digits if the chain is slow. That of the chain seen
  # every 2^k steps has nearly all, and powers subtract nothing.
  steps <- 1
  repeat {
    gap <- 1 - sort(eigenvalue_moduli(p), decreasing = TRUE)[[2L]]
    if (gap > 1e-3) {
      break
    }
    for (doubling in seq_len(floor(-log2(2 * max(gap, 1e-10))))) {
      p <- squared_chain(p)
      steps <- 2 * steps
    }
  }
  if (steps == 1) gap else -expm1(log1p(-gap) / steps)
}

# Of a reversible chain those of a symmetric matrix, which has the same ones.
eigenvalue_moduli <- function(p) {
  weight <- colMeans(stationary_rows(p))
  if (all(weight > 0)) {
    root <- sqrt(weight)
    similar <- root * p / rep(root, each = nrow(p))
    if (isSymmetric(unname(similar), tol = 1e-10)) {
      return(abs(eigen(similar, symmetric = TRUE, only.values = TRUE)$values))
    }
  }
  Mod(eigen(p, only.values = TRUE)$values)
}
