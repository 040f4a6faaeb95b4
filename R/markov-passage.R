# Finite Markov chains: fundamental matrices, first passages, absorption, and
# autocorrelation times.

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
  start <- check_initial(initial, states, "initial", call) %||% chain$initial
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

#' Integrated autocorrelation times
#'
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
#'
#' @param x A chain, see [markov_chain()], with one closed class; a fit; draws
#'   of the coda or the posterior package; or a vector, or a matrix with a draw
#'   in each row, as one chain.
#' @param f Of a chain: a number for each state, in their order or with their
#'   names; `NULL` (default): the indicator of each state.
#' @return A number, or one for each state or quantity, with their names; `NA`
#'   where `f` or the draws are constant.
#' @section Errors: `gibbsite_error_argument`.
#' @references
#' Sokal A (1997). Monte Carlo methods in statistical mechanics: foundations and
#' new algorithms. In *Functional Integration*, 131-192.
#' \doi{10.1007/978-1-4899-0319-8_6}
#' @seealso [mixing_time()], `spectral_gap()` on [metropolis_matrix()],
#'   [convergence()].
#' @examples
#' walk <- markov_chain(
#'   rbind(c(0.5, 0.5, 0), c(0.25, 0.5, 0.25), c(0, 0.5, 0.5)), c("a", "b", "c")
#' )
#' autocorrelation_time(walk, 1:3)
#' path <- simulate(walk, n = 5000, seed = 1)$sim_1
#' autocorrelation_time(as.integer(path))
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
