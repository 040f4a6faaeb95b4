# Finite Markov chains in time: paths, distributions, and how long they take.

#' @rdname markov_chain
#' @export
state_after <- function(chain, n, initial = NULL) {
  call <- rlang::current_env()
  chain <- check_chain(chain, call, homogeneous = FALSE)
  check_needed(n = "a number of steps, or several")
  n <- check_times(n, chain, call)
  states <- states_of(chain)
  start <- check_initial(initial, states, call) %||% chain$initial
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
check_times <- function(n, chain, call) {
  if (length(n) == 1L || !is.numeric(n)) {
    n <- check_count(n, 0, max = 2^53, call = call)
  }
  n <- check_numeric_vector(n, lower = 0, upper = 2^53, call = call)
  if (length(n) == 0L || any(n != round(n))) {
    abort_expected(n, "whole numbers of steps", FALSE, "n", call)
  }
  p <- chain$transition
  if (is.list(p) && any(n > length(p))) {
    abort_argument(
      c("{.arg n} must be at most {length(p)}, the number of matrices of the
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
  out <- identity_of(rownames(p))
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
  start <- check_initial(initial, states, call) %||%
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

#' Mixing, hitting and autocorrelation times of a Markov chain
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
  front <- to
  while (length(front) > 0L) {
    reached[front] <- TRUE
    front <- unique(unlist(before[front]))
    front <- front[allowed[front] & !reached[front]]
  }
  reached
}

# ---- First passages, absorption and autocorrelation --------------------------

#' First passages, absorption and visits of a Markov chain
#'
#' A state is transient if the chain leaves it for ever with probability 1, as
#' it does each state of a class that is not closed.
#'
#' `fundamental_matrix()` of a chain with transient states is \eqn{N = (I -
#' Q)^{-1}}{N = (I - Q)^-1}, where \eqn{Q} has their transition probabilities:
#' entry `[i, j]` is the expected number of visits to `j` from `i`, the time 0
#' counted. Its row sums are the expected times to absorption. Of an irreducible
#' chain it is \eqn{Z = (I - P + 1\pi)^{-1}}{Z = (I - P + 1 pi)^-1} (Kemeny and
#' Snell 1976).
#'
#' `first_passage()` is the distribution of the time \eqn{T = \min\{t \ge 1:
#' z_t \in A\}}{T = min{t >= 1: z_t in A}} at which the chain is in one of the
#' target states for the first time, or, if it begins in one, of its return.
#' `mean_first_passage()` has the expected times between all pairs of states;
#' its diagonal has the expected times of return, which are the reciprocals of
#' the stationary probabilities. A time is `Inf` where it is not certain that
#' the state is reached. [hitting_times()] has those of one target alone, which
#' may be several states and costs less, and 0 from the target itself.
#'
#' `absorption_probabilities()` is the probability to end in each of the closed
#' classes. All but \eqn{Z} and `first_passage()` are computed by the
#' elimination of [stationary()], right to nearly all digits.
#'
#' @param chain A chain, see [markov_chain()]. `first_passage()` also takes one
#'   whose matrices change with time.
#' @param target Names or numbers of states.
#' @param n Whole number, at least 1: the last time of the distribution.
#' @param initial Where the chain begins, as in [state_after()].
#' @return `fundamental_matrix()`: a matrix with a row and a column for each
#'   transient state, or of an irreducible chain for each state.
#'   `first_passage()`: the probabilities of the times 1 to `n`, with the times
#'   as names, or without any `initial` a matrix with a row for each time and a
#'   column for each state at the beginning. `mean_first_passage()`: a matrix,
#'   from rows to columns. `absorption_probabilities()`: a matrix with a row for
#'   each state and a column for each closed class, named after its states.
#' @section Errors: `gibbsite_error_argument`, also for the fundamental matrix
#'   of a chain with several closed classes and no transient state;
#'   `gibbsite_error_numeric` if a number is too large or too small for double
#'   precision.
#' @references
#' Kemeny JG, Snell JL (1976). *Finite Markov Chains*. Springer.
#' @seealso [hitting_times()], [mixing_time()], [communicating_classes()].
#' @examples
#' gambler <- markov_chain(
#'   rbind(c(1, 0, 0, 0), c(.5, 0, .5, 0), c(0, .5, 0, .5), c(0, 0, 0, 1)),
#'   paste("euro", 0:3)
#' )
#' fundamental_matrix(gambler)
#' absorption_probabilities(gambler)
#' first_passage(gambler, c("euro 0", "euro 3"), n = 5, initial = "euro 1")
#' @export
fundamental_matrix <- function(chain) {
  call <- rlang::current_env()
  p <- dense_transition(check_chain(chain, call)$transition, 4, call)
  found <- chain_classes(p)
  transient <- which(!found$closed[found$class])
  if (length(transient) > 0L) {
    out <- solve_hitting(
      p, transient, list(which(found$closed[found$class])),
      matrix(0, 1L, length(transient)), diag(length(transient)), call
    )
    dimnames(out) <- rep(list(rownames(p)[transient]), 2L)
    return(out)
  }
  if (length(found$members) > 1L) {
    abort_argument(
      c("{.arg chain} has {length(found$members)} closed classes and no
         transient state: it has no fundamental matrix.",
        i = "Each class is a chain of its own."),
      call = call
    )
  }
  limit <- stationary_rows(p, call)
  out <- solve(diag(nrow(p)) - p + rep(limit, each = nrow(p)))
  dimnames(out) <- dimnames(p)
  out
}

#' @rdname fundamental_matrix
#' @export
mean_first_passage <- function(chain) {
  call <- rlang::current_env()
  p <- dense_transition(check_chain(chain, call)$transition, 4, call)
  out <- vapply(seq_len(nrow(p)), function(target) {
    times <- hitting_times_of(p, target, call)
    next_ones <- p[target, ] > 0
    times[[target]] <- 1 + sum(p[target, next_ones] * times[next_ones])
    times
  }, numeric(nrow(p)))
  dim(out) <- dim(p)
  dimnames(out) <- dimnames(p)
  out
}

#' @rdname fundamental_matrix
#' @export
first_passage <- function(chain, target, n = 20, initial = NULL) {
  call <- rlang::current_env()
  chain <- check_chain(chain, call, homogeneous = FALSE)
  states <- states_of(chain)
  target <- check_target(target, states, call)
  n <- check_count(n, max = .Machine$integer.max)
  check_times(n, chain, call)
  start <- check_initial(initial, states, call) %||% chain$initial
  times <- seq_len(n)
  size <- length(states)
  check_result_size(
    c(n, if (is.null(start)) size), "times x states", "{.arg n}", call
  )
  if (is.null(start) && !in_time(chain$transition)) {
    # backwards from the target: a number for each state at the beginning
    p <- chain$transition
    left <- as.numeric(seq_len(size) %in% target)
    out <- matrix(0, n, size, dimnames = list(times, states))
    for (t in times) {
      left <- as.vector(p %*% left)
      out[t, ] <- left
      left[target] <- 0
    }
    return(out)
  }
  at <- start %||% identity_of(states)
  at <- matrix(at, ncol = size)
  out <- matrix(0, n, nrow(at))
  for (t in times) {
    at <- as.matrix(at %*% step_matrix(chain, t, call))
    out[t, ] <- rowSums(at[, target, drop = FALSE])
    at[, target] <- 0
  }
  if (!is.null(start)) {
    return(stats::setNames(out[, 1L], times))
  }
  dimnames(out) <- list(times, states)
  out
}

#' @rdname fundamental_matrix
#' @export
absorption_probabilities <- function(chain) {
  call <- rlang::current_env()
  p <- check_chain(chain, call)$transition
  found <- chain_classes(p)
  ends <- found$members[found$closed]
  check_result_size(
    c(nrow(p), length(ends)), "states x closed classes", "the states", call
  )
  out <- matrix(0, nrow(p), length(ends), dimnames = list(
    rownames(p), vapply(ends, function(end) {
      paste(rownames(p)[end], collapse = ",")
    }, "")
  ))
  for (k in seq_along(ends)) out[ends[[k]], k] <- 1
  open <- which(!found$closed[found$class])
  out[open, ] <- solve_hitting(
    p, open, ends, diag(length(ends)), matrix(0, length(open), length(ends)),
    call
  )
  pmin(out, 1)
}

# ---- Autocorrelation times ---------------------------------------------------

#' @section Integrated autocorrelation times:
#' The time \eqn{\tau = 1 + 2 \sum_{k \ge 1} \rho_k}{tau = 1 + 2 sum_k rho_k},
#' with \eqn{\rho_k}{rho_k} the autocorrelation at lag \eqn{k} of a function
#' \eqn{f} of the state, is how many draws of a chain are worth one independent
#' draw: the variance of the mean of \eqn{S} draws tends to \eqn{\tau\,
#' \mathrm{var}(f) / S}{tau var(f) / S}.
#'
#' Of a finite chain it is exact, from the solution of Poisson's equation. It
#' may be below 1, where neighbouring draws are negatively correlated. Of draws
#' it is estimated by their number over the effective sample size of the mean,
#' [posterior::ess_mean()].
#' @param x A chain, see [markov_chain()], with one closed class; a fit; draws
#'   of the coda or the posterior package; or a vector, or a matrix with a draw
#'   in each row, as one chain.
#' @param f Of a chain: a number for each state, in their order or with their
#'   names; `NULL` (default): the indicator of each state.
#' @return `autocorrelation_time()`: a number, or one for each state or
#'   quantity, with their names; `NA` where `f` or the draws are constant.
#' @references
#' Sokal A (1997). Monte Carlo methods in statistical mechanics: foundations and
#' new algorithms. In *Functional Integration*, 131-192.
#' \doi{10.1007/978-1-4899-0319-8_6}
#' @seealso `spectral_gap()` on [metropolis_matrix()],
#'   [convergence()].
#' @examples
#' walk <- markov_chain(
#'   rbind(c(0.5, 0.5, 0), c(0.25, 0.5, 0.25), c(0, 0.5, 0.5)), c("a", "b", "c")
#' )
#' autocorrelation_time(walk, 1:3)
#' path <- simulate(walk, n = 5000, seed = 1)$sim_1
#' autocorrelation_time(as.integer(path))
#' @rdname mixing_time
#' @export
autocorrelation_time <- function(x, f = NULL) {
  call <- rlang::current_env()
  check_needed(x = "a chain, a fit or draws")
  if (inherits(x, "markov_chain")) {
    return(chain_autocorrelation(check_chain(x, call), f, call))
  }
  if (!is.null(f)) {
    abort_argument(
      c("{.arg f} must be NULL for draws: it is a function of the states of a
         chain.",
        i = "Give the draws of the function as {.arg x}."),
      call = call
    )
  }
  source <- mc_source(x, call, "x")
  if (!is.null(source$weights)) {
    abort_argument("{.arg x} must not have weights.", call = call)
  }
  values <- as.matrix(source$x)
  if (nrow(values) < 4L) {
    abort_argument(
      "{.arg x} must have at least 4 draws, not {nrow(values)}.", call = call
    )
  }
  chains <- source$chains %||% 1L
  out <- apply(values, 2L, function(draws) {
    posterior::ess_mean(matrix(draws, ncol = chains))
  })
  out <- nrow(values) / out
  if (is.null(dim(source$x))) unname(out) else out
}

# Poisson's equation h - P h = f - E f, with h = 0 in one state; the variance of
# the mean of f is 2 <f, h> - <f, f>, both centred.
chain_autocorrelation <- function(chain, f, call) {
  p <- chain$transition
  states <- states_of(chain)
  f <- if (is.null(f)) {
    check_square_size(length(states), 4, "All states have", "Give `f`", call)
    diag(length(states))
  } else {
    matrix(check_state_numbers(f, states, call))
  }
  found <- chain_classes(p)
  if (sum(found$closed) > 1L) {
    abort_argument(
      "{.arg x} must have one closed class of states, not
       {sum(found$closed)}.",
      call = call
    )
  }
  weight <- stationary_rows(p, call)[1L, ]
  inside <- found$members[[which(found$closed)]]
  f <- f - rep(colSums(weight * f), each = nrow(f))
  h <- matrix(0, nrow(f), ncol(f))
  open <- inside[-1L]
  h[open, ] <- solve_hitting(
    p[inside, inside, drop = FALSE], seq_along(inside)[-1L], list(1L),
    matrix(0, 1L, ncol(f)), f[open, , drop = FALSE], call
  )
  own <- colSums(weight * f^2)
  out <- 2 * colSums(weight * f * h) / own - 1
  out[own <= 1e-28 * max(own, 1)] <- NA
  if (ncol(f) == 1L) out else stats::setNames(out, states)
}

check_state_numbers <- function(f, states, call) {
  named <- names(f)
  f <- check_numeric_vector(
    f, length = length(states), length_why = "one for each state", arg = "f",
    call = call
  )
  if (is.null(named)) {
    return(f)
  }
  in_order_of(f, states, "f", "the states", call)
}
