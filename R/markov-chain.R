# Finite Markov chains: the object and the checks of its parts.

#' Finite Markov chains
#'
#' A homogeneous Markov chain on finitely many states with transition
#' probabilities \eqn{P_{ij} = \Pr(z_{t+1} = j \mid z_t = i)}{P[i, j] =
#' Pr(z[t+1] = j | z[t] = i)}. [stationary()], [is_irreducible()] and
#' [mixing_time()] say how it behaves; [metropolis_matrix()] and
#' [gibbs_matrix()] make the chain of a sampler.
#'
#' `simulate()` draws paths of the chain. `state_after()` computes the
#' distribution after `n` steps, \eqn{p^{(0)} P^n}{p0 P^n}: step by step, or by
#' repeated squaring where this takes less.
#'
#' @param transition A square matrix of numbers of at least 0 whose rows sum to
#'   1, up to \eqn{10^{-8}}{1e-8}, by which they are divided; entry `[i, j]` is
#'   the probability of a step from state `i` to state `j`. The steps that leave
#'   a state may be as small as double precision holds: beside a step of
#'   \eqn{10^{-17}}{1e-17} the entry on the diagonal is the number 1. A sparse
#'   matrix of package Matrix is accepted.
#' @param states Names of the states, all different. Default: the row names, or
#'   the column names, or 1, 2, ...
#' @param initial Where the chain begins: a name or a number of a state, or
#'   probabilities of all states. In `state_after()` and `simulate()`, `NULL`
#'   takes that of the chain; if the chain has none, `simulate()` begins in each
#'   state with the same probability.
#' @param chain,object A chain.
#' @param n Number of steps: a whole number from 0 to 2^53.
#' @param nsim Number of paths.
#' @param seed `NULL`, or a number for [set.seed()]; the state of the generator
#'   is restored afterwards.
#' @param x A chain.
#' @param digits Digits of the printed probabilities.
#' @param ... Not used.
#' @return `markov_chain()`: an object of class `markov_chain`. `state_after()`:
#'   the probabilities of the states, or without any `initial` a matrix with a
#'   row for each state at the beginning. `simulate()`: a data frame with a
#'   column for each path and `n + 1` rows, the first of them the state at the
#'   beginning; states are a factor. `as.matrix()`: the transition
#'   probabilities.
#' @section Errors: `gibbsite_error_argument`; for a matrix that is not one of
#'   transition probabilities the message names the first such row.
#' @references
#' Levin DA, Peres Y (2017). *Markov Chains and Mixing Times*, 2nd edition.
#' American Mathematical Society. \doi{10.1090/mbk/107}
#' @seealso [plot.markov_chain()], [stationary()], [mixing_time()],
#'   [hitting_times()].
#' @examples
#' # the example of Rai's lecture "MCMC Sampling"
#' chain <- markov_chain(
#'   rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0)), c("a", "b", "c"),
#'   initial = c(0.5, 0.2, 0.3)
#' )
#' chain
#' state_after(chain, 1)
#' state_after(chain, 100)
#' stationary(chain)
#' head(simulate(chain, n = 10, seed = 1))
#' @export
markov_chain <- function(transition, states = NULL, initial = NULL) {
  call <- rlang::current_env()
  check_needed(transition = "a matrix of transition probabilities")
  transition <- check_transition(transition, "transition", call)
  states <- check_states(states, transition, call)
  dimnames(transition) <- list(states, states)
  new_markov_chain(
    transition, check_initial(initial, states, "initial", call)
  )
}

new_markov_chain <- function(transition, initial = NULL) {
  structure(
    list(transition = transition, initial = initial), class = "markov_chain"
  )
}

# A square matrix of probabilities, each row divided by its sum.
check_transition <- function(x, arg, call) {
  if (inherits(x, "Matrix")) {
    check_sparse(x, arg, call)
    x <- as.matrix(x)
  }
  if (!is.numeric(x) || !is.matrix(x) || is.object(x) || length(x) == 0L) {
    abort_expected(x, "a square matrix of probabilities", FALSE, arg, call)
  }
  if (nrow(x) != ncol(x)) {
    abort_argument(
      "{.arg {arg}} must be square, not {nrow(x)} x {ncol(x)}.", call = call
    )
  }
  wrong <- is.na(x) | x < 0 | x > 1 + 1e-8
  if (any(wrong)) {
    at <- first_place(wrong)
    found <- describe(unname(x[at$row, at$column]))
    abort_argument(
      "{.arg {arg}} must hold probabilities: row {at$row}, column {at$column}
       is {found}.",
      call = call
    )
  }
  sums <- rowSums(x)
  off <- which(abs(sums - 1) > 1e-8)
  if (length(off) > 0L) {
    found <- format(sums[[off[[1L]]]], digits = 8)
    abort_argument(
      c("The rows of {.arg {arg}} must sum to 1: row {off[[1L]]} sums to
         {found}.",
        i = "If the entries are weights, divide by {.code rowSums()}."),
      call = call
    )
  }
  storage.mode(x) <- "double"
  x / sums
}

check_states <- function(states, transition, call, arg = "states") {
  size <- nrow(transition)
  if (is.null(states)) {
    states <- rownames(transition) %||% colnames(transition) %||%
      as.character(seq_len(size))
    both <- !is.null(rownames(transition)) && !is.null(colnames(transition))
    if (both && !identical(rownames(transition), colnames(transition))) {
      abort_argument(
        "The row names and the column names of {.arg transition} must be the
         same.",
        call = call
      )
    }
  }
  if (!is.character(states) || is.object(states)) {
    abort_expected(states, "names of the states", TRUE, arg, call)
  }
  check_vector_length(states, size, "one for each state", arg, call)
  check_text(states, arg, call)
  states <- as.vector(states)
  if (anyNA(states) || anyDuplicated(states) > 0L || any(states == "")) {
    abort_argument(
      "The names of the states must be different and not empty.", call = call
    )
  }
  states
}

# Probabilities of the states, from those, or from one state.
check_initial <- function(initial, states, arg, call) {
  size <- length(states)
  if (is.null(initial)) {
    return(NULL)
  }
  if (is.factor(initial)) {
    initial <- as.character(initial)
  }
  if (length(initial) == 1L && (size > 1L || is.character(initial))) {
    at <- check_some_of(initial, states, call, one = TRUE, arg = arg)
    return(stats::setNames(as.double(states == at), states))
  }
  check_distribution(initial, states, arg, call)
}

# Probabilities, one for each state.
check_distribution <- function(x, states, arg, call) {
  named <- names(x)
  x <- check_numeric_vector(
    x, length = length(states), length_why = "one for each state", lower = 0,
    arg = arg, call = call
  )
  if (!is.null(named)) {
    if (!setequal(named, states)) {
      abort_argument(
        "The names of {.arg {arg}} must be those of the states.", call = call
      )
    }
    x <- x[match(states, named)]
  }
  if (abs(sum(x) - 1) > 1e-8) {
    found <- format(sum(x), digits = 8)
    abort_argument("{.arg {arg}} must sum to 1, not {found}.", call = call)
  }
  stats::setNames(as.double(x) / sum(x), states)
}

check_chain <- function(chain, call, arg = rlang::caller_arg(chain)) {
  force(arg)
  if (arg == "chain") {
    check_needed(chain = "made by markov_chain()", call = call)
  }
  made_by <- "markov_chain()"
  check_class(chain, "markov_chain", made_by, arg = arg, call = call)
  fields <- c("transition", "initial")
  remade(chain, markov_chain, made_by, arg, call, fields)
}

# The chain seen every second step. Rows are divided by their sums, which would
# drift; entries keep their relative accuracy.
squared_chain <- function(p) {
  p <- p %*% p
  p / rowSums(p)
}

states_of <- function(chain) rownames(chain$transition)

#' @rdname markov_chain
#' @export
as.matrix.markov_chain <- function(x, ...) {
  check_chain(x, rlang::current_env())$transition
}
