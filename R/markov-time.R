# Finite Markov chains in time: paths, distributions, and how long they take.

#' @rdname markov_chain
#' @export
state_after <- function(chain, n, initial = NULL) {
  call <- rlang::current_env()
  chain <- check_chain(chain, call, homogeneous = FALSE)
  check_needed(n = "a number of steps, or several")
  n <- check_times(n, chain, call)
  states <- states_of(chain)
  start <- check_initial(initial, states, "initial", call) %||% chain$initial
  check_result_size(
    c(length(n), length(states), if (is.null(start)) length(states)),
    "times x states", "the numbers of {.arg n}", call
  )
  times <- sort(unique(n))
  out <- vector("list", length(times))
  at <- start
  last <- 0
  for (k in seq_along(times)) {
    at <- later_state(chain, at, last, times[[k]], call)
    last <- times[[k]]
    out[[k]] <- at
  }
  if (length(n) == 1L) {
    return(out[[1L]])
  }
  new_state_after(out[match(n, times)], n, states, chain)
}

# Whole numbers of steps; a chain by a list has no more steps than matrices.
check_times <- function(n, chain, call, arg = "n") {
  if (length(n) == 1L || !is.numeric(n)) {
    n <- check_count(n, 0, max = 2^53, arg = arg, call = call)
  }
  n <- check_numeric_vector(n, lower = 0, upper = 2^53, arg = arg, call = call)
  if (length(n) == 0L || any(n != round(n))) {
    abort_expected(n, "whole numbers of steps", FALSE, arg, call)
  }
  p <- chain$transition
  if (is.list(p) && any(n > length(p))) {
    abort_argument(
      c("{.arg {arg}} must be at most {length(p)}, the number of matrices of the
         chain, not {format_number(max(n))}.",
        i = "A function of time makes a chain without an end."),
      call = call
    )
  }
  unname(n)
}

# The distribution at time `to` from that at time `from`, with the states'
# names; NULL is the identity, a row for each state at the beginning.
later_state <- function(chain, at, from, to, call) {
  p <- chain$transition
  steps <- to - from
  square <- is.null(at) || is.matrix(at)
  if (in_time(p)) {
    at <- at %||% identity_of(states_of(chain))
    for (step in seq_len(steps)) {
      at <- at %*% step_matrix(chain, from + step, call)
    }
    return(plain_state(at, states_of(chain), square))
  }
  size <- as.double(nrow(p))
  if (is.null(at)) {
    return(matrix_power(dense_transition(p, 4, call), steps))
  }
  # one squaring costs size^3, one product the stored numbers
  squared <- steps * length(stored_values(p)) > 2 * size^3 * log2(steps + 2)
  if (squared || is.matrix(at)) {
    at <- at %*% matrix_power(dense_transition(p, 4, call), steps)
  } else {
    for (step in seq_len(steps)) {
      at <- at %*% p
    }
  }
  plain_state(at, rownames(p), square)
}

plain_state <- function(at, states, square) {
  if (square) {
    return(matrix(as.vector(at), nrow(at), dimnames = list(states, states)))
  }
  stats::setNames(as.vector(at), states)
}

identity_of <- function(states) {
  out <- diag(length(states))
  dimnames(out) <- list(states, states)
  out
}

# P^n by repeated squaring.
matrix_power <- function(p, n) {
  out <- diag(nrow(p))
  dimnames(out) <- dimnames(p)
  while (n > 0) {
    if (n %% 2 == 1) {
      out <- out %*% p
    }
    n <- n %/% 2
    if (n > 0) {
      p <- squared_chain(p)
    }
  }
  out
}

#' @rdname markov_chain
#' @export
simulate.markov_chain <- function(object, nsim = 1, seed = NULL, n = 100,
                                  initial = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  check_unlocked(call)
  object <- check_chain(object, call, homogeneous = FALSE)
  nsim <- check_count(nsim)
  n <- check_count(n, 0, max = 2^53)
  check_times(n, object, call)
  check_result_size(
    c(n + 1, nsim), "states x paths", "{.arg n} or {.arg nsim}", call
  )
  states <- states_of(object)
  size <- length(states)
  start <- check_initial(initial, states, "initial", call) %||%
    object$initial %||% rep(1 / size, size)
  draw <- if (in_time(object$transition)) {
    paths_in_time(object, n, nsim, start, call)
  } else {
    rows <- row_ends(object$transition)
    function() draw_path(rows, n, start)
  }
  simulated_columns(nsim, seed, seq_len(n + 1L), function() {
    structure(draw(), levels = states, class = "factor")
  }, call)
}

# A function of a state: list(to, ends), where its steps lead to and the
# distribution function of these, whose last value is 1 in spite of rounding.
# Only states that are asked for are computed.
row_ends <- function(p) {
  known <- vector("list", nrow(p))
  if (is_sparse(p)) p <- Matrix::t(p)
  function(i) {
    if (is.null(known[[i]])) {
      if (is_sparse(p)) {
        at <- seq.int(p@p[[i]] + 1L, length.out = p@p[[i + 1L]] - p@p[[i]])
        to <- p@i[at] + 1L
        steps <- p@x[at]
      } else {
        to <- which(p[i, ] > 0, useNames = FALSE)
        steps <- unname(p[i, to])
      }
      ends <- pmin(cumsum(steps), 1)
      ends[[length(ends)]] <- 1
      known[[i]] <<- list(to = to, ends = ends)
    }
    known[[i]]
  }
}

# The numbers of n + 1 states, by the inverse distribution function.
draw_path <- function(rows, n, start) {
  path <- integer(n + 1L)
  path[[1L]] <- sample.int(length(start), 1L, prob = start)
  u <- stats::runif(n)
  for (step in seq_len(n)) {
    row <- rows(path[[step]])
    path[[step + 1L]] <- row$to[[findInterval(u[[step]], row$ends) + 1L]]
  }
  path
}

# A function that returns one path after the other. All are drawn at its first
# call, so that each matrix is made once.
paths_in_time <- function(chain, n, nsim, start, call) {
  paths <- NULL
  given <- 0L
  function() {
    if (is.null(paths)) {
      paths <<- matrix(0L, n + 1L, nsim)
      paths[1L, ] <<- sample.int(length(start), nsim, TRUE, start)
      for (step in seq_len(n)) {
        rows <- row_ends(step_matrix(chain, step, call))
        u <- stats::runif(nsim)
        for (s in seq_len(nsim)) {
          row <- rows(paths[step, s])
          paths[step + 1L, s] <<- row$to[[findInterval(u[[s]], row$ends) + 1L]]
        }
      }
    }
    given <<- given + 1L
    paths[, given]
  }
}

# ---- How long it takes -------------------------------------------------------

#' Mixing and hitting times of a Markov chain
#'
#' `mixing_time()` is the smallest number of steps after which the distribution
#' of the state is near to the stationary one from every beginning: the smallest
#' \eqn{t} with \eqn{\max_i \frac12 \sum_j |P^t_{ij} - \pi_j| \le
#' \epsilon}{max_i sum_j |P^t[i, j] - pi[j]| / 2 <= epsilon}.
#'
#' `hitting_times()` is the expected number of steps until the chain is first in
#' one of the target states: 0 from these themselves, `Inf` where it is not
#' certain that they are reached. `hitting_probabilities()` is the probability
#' that they are ever reached. Both solve the linear equations of a first step
#' by the elimination of [stationary()], so that each number is right to nearly
#' all digits, also if steps have probabilities such as \eqn{10^{-17}}{1e-17}.
#' The probability of staying in a state is computed as 1 minus the
#' probabilities of leaving it, because a stored number near 1 has too few
#' digits.
#'
#' @param chain A chain, see [markov_chain()].
#' @param epsilon A number between 0 and 1: the total variation distance that
#'   counts as near.
#' @param target Names or numbers of states.
#' @return `mixing_time()`: a whole number; `Inf` if the chain does not converge
#'   to one distribution, because it is periodic or has several closed classes.
#'   Times above \eqn{10^{12}}{1e12} are right to about 12 digits.
#'   The others: a number for each state at the beginning, with its name.
#' @section Errors: `gibbsite_error_argument`; `gibbsite_error_numeric` if a
#'   number is too large or too small for double precision.
#' @references
#' Levin DA, Peres Y (2017). *Markov Chains and Mixing Times*, 2nd edition,
#' chapters 4 and 10. American Mathematical Society. \doi{10.1090/mbk/107}
#' @seealso [markov_chain()], [stationary()], and `spectral_gap()` on
#'   [metropolis_matrix()].
#' @examples
#' walk <- markov_chain(
#'   rbind(c(0.5, 0.5, 0), c(0.25, 0.5, 0.25), c(0, 0.5, 0.5)), c("a", "b", "c")
#' )
#' mixing_time(walk)
#' mixing_time(walk, 0.01)
#' hitting_times(walk, "c")
#' @export
mixing_time <- function(chain, epsilon = 0.25) {
  call <- rlang::current_env()
  chain <- check_chain(chain, call)
  epsilon <- check_number(
    epsilon, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  p <- dense_transition(chain$transition, 4, call)
  limit <- stationary_rows(p)
  classes <- classes_of(p)
  if (nrow(limit) > 1L || classes$period[classes$closed] > 1L) {
    return(Inf)
  }
  limit <- limit[rep(1L, nrow(p)), , drop = FALSE]
  distance <- function(away) max(rowSums(abs(away))) / 2
  if (distance(diag(nrow(p)) - limit) <= epsilon) {
    return(0)
  }
  # P^1, P^2, P^4, ... less the limit, until one is near; then the binary digits
  # of the longest time that is not. (P^t - limit)^2 = P^2t - limit: near the
  # limit the left side has more digits.
  away <- list(p - limit)
  while ((last <- distance(away[[length(away)]])) > epsilon) {
    if (length(away) > 1000L) {
      abort_numeric(
        "The chain is not within {.arg epsilon} of its stationary distribution
         after 2^1000 steps.",
        call = call
      )
    }
    away[[length(away) + 1L]] <- if (last > 0.01) {
      p <- squared_chain(p)
      p - limit
    } else {
      away[[length(away)]] %*% away[[length(away)]]
    }
  }
  far <- NULL
  time <- 0
  for (k in rev(seq_along(away))) {
    further <- if (is.null(far)) away[[k]] else far %*% away[[k]]
    if (distance(further) > epsilon) {
      far <- further
      time <- time + 2^(k - 1)
    }
  }
  time + 1
}

#' @rdname mixing_time
#' @export
hitting_times <- function(chain, target) {
  call <- rlang::current_env()
  hitting <- hitting_parts(chain, target, call)
  hitting_times_of(hitting$p, hitting$target, call)
}

hitting_times_of <- function(p, target, call) {
  out <- stats::setNames(rep(Inf, nrow(p)), rownames(p))
  out[target] <- 0
  # certain: no state from which the target is out of reach can be reached first
  before <- successors(Matrix::t(p))
  lost <- which(!reaches(before, target, integer(0)))
  unsure <- reaches(before, lost, target)
  solved <- which(!unsure & !seq_len(nrow(p)) %in% target)
  out[solved] <- solve_hitting(p, solved, list(target), 0, 1, call)
  out
}

#' @rdname mixing_time
#' @export
hitting_probabilities <- function(chain, target) {
  call <- rlang::current_env()
  hitting <- hitting_parts(chain, target, call)
  p <- hitting$p
  target <- hitting$target
  out <- stats::setNames(numeric(nrow(p)), rownames(p))
  out[target] <- 1
  reached <- reaches(successors(Matrix::t(p)), target, integer(0))
  open <- which(reached & out == 0)
  out[open] <- solve_hitting(
    p, open, list(target, which(!reached)), c(1, 0), 0, call
  )
  pmin(out, 1)
}

# h on the states `open`, where h_i = cost_i + sum_j p_ij h_j and h is known
# elsewhere: it is `values[k]` on the states `ends[[k]]`. Each of these sets is
# one state of the chain that is eliminated. `cost`: a number, or a matrix with
# a row for each open state and a column for each h; `values`: then a matrix
# with a row for each end.
solve_hitting <- function(p, open, ends, values, cost, call) {
  if (length(open) == 0L) {
    return(if (is.matrix(cost)) cost else numeric(0))
  }
  several <- is.matrix(cost)
  known <- length(ends)
  within <- small_or_sparse(p[open, open, drop = FALSE])
  ends <- matrix(vapply(ends, function(end) {
    Matrix::rowSums(p[open, end, drop = FALSE])
  }, numeric(length(open))), length(open))
  cost <- matrix(cost, length(open), NCOL(cost))
  values <- matrix(values, known, ncol(cost))
  h <- if (is_sparse(within)) {
    solve_sparse(
      leaving_matrix(within, rowSums(ends)), cost + ends %*% values, call
    )
  } else {
    solve_eliminated(within, ends, values, cost, call)
  }
  if (any(h == Inf)) {
    abort_numeric(
      "An expected time is above 1e308, which double precision does not hold.",
      call = call
    )
  }
  if (several) h else h[, 1L]
}

solve_eliminated <- function(within, ends, values, cost, call) {
  known <- ncol(ends)
  rows <- cbind(ends, within, cost)
  gone <- eliminate_states(
    rbind(matrix(0, known, ncol(rows)), rows), known, call
  )
  h <- rbind(values, matrix(0, nrow(cost), ncol(cost)))
  costs <- known + nrow(cost) + seq_len(ncol(cost))
  for (n in known + seq_len(nrow(cost))) {
    before <- seq_len(n - 1L)
    h[n, ] <- (gone$p[n, costs] +
      colSums(gone$p[n, before] * h[before, , drop = FALSE])) / gone$leave[[n]]
  }
  h[-seq_len(known), , drop = FALSE]
}

# list(p, target): the transition matrix, and the numbers of the target states.
hitting_parts <- function(chain, target, call) {
  chain <- check_chain(chain, call, "chain")
  list(
    p = chain$transition, target = check_target(target, states_of(chain), call)
  )
}

check_target <- function(target, states, call) {
  check_needed(target = "names or numbers of states", call = call)
  if (is.factor(target)) {
    target <- as.character(target)
  }
  match(check_some_of(target, states, call, arg = "target"), states)
}

# Whether each state reaches one of `to` without passing through `never`.
# before: lists of states from which a step leads to each.
reaches <- function(before, to, never) {
  allowed <- !seq_along(before) %in% never
  reached <- logical(length(before))
  if (length(to) > 0L) {
    reached[reached_from(to, before, allowed)] <- TRUE
  }
  reached
}
