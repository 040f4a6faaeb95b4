# Finite Markov chains in time: paths, distributions, and how long they take.

#' @rdname markov_chain
#' @export
state_after <- function(chain, n, initial = NULL) {
  call <- rlang::current_env()
  chain <- check_chain(chain, call)
  check_needed(n = "a number of steps")
  n <- check_count(n, 0, max = 2^53)
  states <- states_of(chain)
  start <- check_initial(initial, states, "initial", call) %||% chain$initial
  if (is.null(start)) {
    return(matrix_power(chain$transition, n))
  }
  # one product costs size^2, one squaring size^3
  if (n > 2 * length(states) * log2(n + 2)) {
    out <- start %*% matrix_power(chain$transition, n)
  } else {
    out <- start
    for (step in seq_len(n)) {
      out <- out %*% chain$transition
    }
  }
  stats::setNames(as.vector(out), states)
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
  object <- check_chain(object, call)
  nsim <- check_count(nsim)
  n <- check_count(n, 0, max = 2^53)
  check_result_size(c(n + 1, nsim), "states x paths", "{.arg n}", call)
  states <- states_of(object)
  size <- length(states)
  start <- check_initial(initial, states, "initial", call) %||%
    object$initial %||% rep(1 / size, size)
  ends <- step_ends(object$transition)
  simulated_columns(nsim, seed, seq_len(n + 1L), function() {
    structure(draw_path(ends, n, start), levels = states, class = "factor")
  }, call)
}

# The distribution function of the next state, a column for each state; that of
# the last possible state is 1 in spite of rounding.
step_ends <- function(transition) {
  size <- nrow(transition)
  ends <- apply(transition, 1L, cumsum)
  dim(ends) <- c(size, size)
  last <- max.col(transition > 0, "last")
  ends[cbind(last, seq_len(size))] <- 1
  ends
}

# The numbers of n + 1 states, by the inverse distribution function.
draw_path <- function(ends, n, start) {
  path <- integer(n + 1L)
  path[[1L]] <- sample.int(ncol(ends), 1L, prob = start)
  u <- stats::runif(n)
  for (step in seq_len(n)) {
    path[[step + 1L]] <- findInterval(u[[step]], ends[, path[[step]]]) + 1L
  }
  path
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
  p <- chain$transition
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
  p <- hitting$p
  target <- hitting$target
  out <- stats::setNames(rep(Inf, nrow(p)), rownames(p))
  out[target] <- 0
  # certain: no state from which the target is out of reach can be reached first
  lost <- which(!reaches(p, target, integer(0)))
  unsure <- reaches(p, lost, target)
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
  reached <- reaches(p, target, integer(0))
  open <- which(reached & out == 0)
  out[open] <- solve_hitting(
    p, open, list(target, which(!reached)), c(1, 0), 0, call
  )
  pmin(out, 1)
}

# h on the states `open`, where h_i = cost + sum_j p_ij h_j and h is known
# elsewhere: it is `values[k]` on the states `ends[[k]]`. Each of these sets is
# one state of the chain that is eliminated.
solve_hitting <- function(p, open, ends, values, cost, call) {
  if (length(open) == 0L) {
    return(numeric(0))
  }
  known <- length(ends)
  ends <- vapply(ends, function(end) {
    rowSums(p[open, end, drop = FALSE])
  }, numeric(length(open)))
  rows <- cbind(matrix(ends, length(open)), p[open, open, drop = FALSE], cost)
  gone <- eliminate_states(
    rbind(matrix(0, known, ncol(rows)), rows), known, call
  )
  h <- c(values, numeric(length(open)))
  costs <- ncol(rows)
  for (n in known + seq_along(open)) {
    before <- seq_len(n - 1L)
    h[[n]] <- (gone$p[n, costs] + sum(gone$p[n, before] * h[before])) /
      gone$leave[[n]]
  }
  if (any(h == Inf)) {
    abort_numeric(
      "An expected time is above 1e308, which double precision does not hold.",
      call = call
    )
  }
  h[-seq_len(known)]
}

# list(p, target): the transition matrix, and the numbers of the target states.
hitting_parts <- function(chain, target, call) {
  chain <- check_chain(chain, call, "chain")
  check_needed(target = "names or numbers of states", call = call)
  if (is.factor(target)) {
    target <- as.character(target)
  }
  states <- states_of(chain)
  chosen <- check_some_of(target, states, call, arg = "target")
  list(p = chain$transition, target = match(chosen, states))
}

# Whether each state reaches one of `to` without passing through `never`.
reaches <- function(p, to, never) {
  allowed <- !seq_len(nrow(p)) %in% never
  reached <- logical(nrow(p))
  if (length(to) > 0L) {
    reached[reached_from(to, t(p > 0), allowed)] <- TRUE
  }
  reached
}
