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
#' repeated squaring where this takes less. `plot()` draws the states on a
#' circle and the possible steps as arrows; an arrow is the wider and the
#' darker, the more probable its step. Circles at a state are the probability to
#' stay. The area of a state shows its stationary probability, if the chain has
#' one closed class. With more than 20 states the picture is the matrix of the
#' transition probabilities, the first row at the top, with a scale of its
#' colours.
#'
#' @param transition A square matrix of numbers of at least 0 whose rows sum to
#'   1, up to \eqn{10^{-8}}{1e-8}, by which they are divided; entry `[i, j]` is
#'   the probability of a step from state `i` to state `j`. The probability of
#'   leaving a state may be as small as double precision holds: beside a step of
#'   \eqn{10^{-17}}{1e-17} the entry on the diagonal is rounded to 1. A sparse
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
#' @param type For `plot()`: `"graph"` or `"matrix"`; `NULL` (default) chooses
#'   by the number of states.
#' @param labels For `plot()`: whether arrows have their probabilities; `NULL`
#'   (default): with at most 16 arrows.
#' @param ... For `plot()`, passed to [graphics::plot.default()], such as
#'   `main`. Otherwise not used.
#' @return `markov_chain()`: an object of class `markov_chain`. `state_after()`:
#'   the probabilities of the states, or without any `initial` a matrix with a
#'   row for each state at the beginning. `simulate()`: a data frame with a
#'   column for each path and `n + 1` rows, the first of them the state at the
#'   beginning; states are a factor. `as.matrix()`: the transition
#'   probabilities. `plot()`: the chain, invisibly.
#' @section Errors: `gibbsite_error_argument`; for a matrix that is not one of
#'   transition probabilities the message names the first such row.
#' @references
#' Levin DA, Peres Y (2017). *Markov Chains and Mixing Times*, 2nd edition.
#' American Mathematical Society. \doi{10.1090/mbk/107}
#' @seealso [stationary()], [communicating_classes()], [mixing_time()],
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
#' plot(chain)
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

# Finite Markov chains: which states reach each other.

#' Classes, periods and reversibility of a Markov chain
#'
#' Two states communicate if each can be reached from the other. A class of
#' communicating states is closed if no step leaves it. A chain is irreducible
#' if all its states communicate. The period of a class is the greatest common
#' divisor of the lengths of its cycles; a chain is aperiodic if all its classes
#' with a cycle have period 1. An irreducible aperiodic chain converges to its
#' stationary distribution from everywhere.
#'
#' A distribution \eqn{\pi}{pi} satisfies detailed balance if \eqn{\pi_i P_{ij}
#' = \pi_j P_{ji}}{pi[i] P[i, j] = pi[j] P[j, i]} for all pairs of states. It is
#' then stationary, and the chain is reversible. `detailed_balance()` shows the
#' flows between each pair; `is_reversible()` tells whether all are equal to
#' working precision.
#'
#' @param chain A chain, see [markov_chain()].
#' @param distribution Probabilities of the states, in their order or with their
#'   names; `NULL` (default) takes the stationary distribution, or, if there are
#'   several, their mean.
#' @param tolerance Flows are equal if they differ by at most this fraction of
#'   the larger.
#' @return `is_irreducible()`, `is_aperiodic()`, `is_reversible()`: `TRUE` or
#'   `FALSE`. `communicating_classes()`: a data frame with a row for each class:
#'   `states` (a list of their names), `closed`, and `period` (`NA` for a state
#'   that cannot return). `detailed_balance()`: a data frame with a row for each
#'   pair of states with a step between them: `from`, `to`, the flows `forward`
#'   and `backward`, and their `difference`; the largest difference comes first.
#' @section Errors: `gibbsite_error_argument`.
#' @references
#' Levin DA, Peres Y (2017). *Markov Chains and Mixing Times*, 2nd edition,
#' chapter 1. American Mathematical Society. \doi{10.1090/mbk/107}
#' @seealso [markov_chain()], [stationary()], [mixing_time()].
#' @examples
#' # reversible: a random walk on a path
#' walk <- markov_chain(
#'   rbind(c(0.5, 0.5, 0), c(0.25, 0.5, 0.25), c(0, 0.5, 0.5))
#' )
#' is_irreducible(walk)
#' is_reversible(walk)
#'
#' # not reversible: it turns in one direction
#' wheel <- markov_chain(rbind(c(0, 1, 0), c(0, 0, 1), c(1, 0, 0)))
#' is_aperiodic(wheel)
#' detailed_balance(wheel)
#' @name markov-structure
NULL

#' @rdname markov-structure
#' @export
communicating_classes <- function(chain) {
  classes_of(check_chain(chain, rlang::current_env())$transition)
}

classes_of <- function(p) {
  steps <- p > 0
  class <- strong_components(steps)
  members <- unname(split(seq_along(class), class))
  at <- row(steps)[steps]
  to <- col(steps)[steps]
  leaving <- unique(class[at[class[at] != class[to]]])
  out <- data.frame(
    closed = !seq_along(members) %in% leaving,
    period = vapply(members, class_period, 0L, steps = steps)
  )
  cbind(
    data.frame(states = I(lapply(members, function(i) rownames(p)[i]))),
    out
  )
}

#' @rdname markov-structure
#' @export
is_irreducible <- function(chain) {
  chain <- check_chain(chain, rlang::current_env())
  all(strong_components(chain$transition > 0) == 1L)
}

#' @rdname markov-structure
#' @export
is_aperiodic <- function(chain) {
  chain <- check_chain(chain, rlang::current_env())
  all(classes_of(chain$transition)$period == 1L, na.rm = TRUE)
}

# The number of each state's class, in the order of the states: a state's class
# is the first one if the first state communicates with it, and so on.
# Kosaraju's two searches in depth (Sharir 1981,
# doi:10.1016/0898-1221(81)90008-0).
strong_components <- function(steps) {
  order <- finishing_order(steps)
  component <- integer(nrow(steps))
  back <- t(steps)
  count <- 0L
  for (root in rev(order)) {
    if (component[[root]] == 0L) {
      count <- count + 1L
      component[reached_from(root, back, component == 0L)] <- count
    }
  }
  match(component, unique(component))
}

# States in the order in which a search in depth leaves them.
finishing_order <- function(steps) {
  size <- nrow(steps)
  unseen <- rep(TRUE, size)
  order <- integer(0)
  stack <- integer(size)
  for (root in seq_len(size)) {
    if (!unseen[[root]]) next
    depth <- 1L
    stack[[1L]] <- root
    unseen[[root]] <- FALSE
    while (depth > 0L) {
      follow <- which(steps[stack[[depth]], ] & unseen)
      if (length(follow) > 0L) {
        depth <- depth + 1L
        stack[[depth]] <- follow[[1L]]
        unseen[[follow[[1L]]]] <- FALSE
      } else {
        order <- c(order, stack[[depth]])
        depth <- depth - 1L
      }
    }
  }
  order
}

# The states among those allowed that can be reached, `root` included.
reached_from <- function(root, steps, allowed) {
  reached <- logical(length(allowed))
  front <- root
  while (length(front) > 0L) {
    reached[front] <- TRUE
    next_ones <- colSums(steps[front, , drop = FALSE]) > 0
    front <- which(next_ones & allowed & !reached)
  }
  which(reached)
}

# The greatest common divisor of level(i) + 1 - level(j) over the steps i -> j
# of a class, where a state's level is its distance from the first one.
class_period <- function(members, steps) {
  within <- steps[members, members, drop = FALSE]
  if (!any(within)) {
    return(NA_integer_)
  }
  level <- rep(NA_integer_, length(members))
  front <- 1L
  depth <- 0L
  while (length(front) > 0L) {
    level[front] <- depth
    front <- which(colSums(within[front, , drop = FALSE]) > 0 & is.na(level))
    depth <- depth + 1L
  }
  at <- which(within, arr.ind = TRUE)
  cycles <- unique(abs(level[at[, 1L]] + 1L - level[at[, 2L]]))
  as.integer(Reduce(greatest_divisor, cycles, 0L))
}

greatest_divisor <- function(a, b) {
  while (b > 0) {
    rest <- a %% b
    a <- b
    b <- rest
  }
  a
}
