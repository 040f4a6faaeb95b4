# Finite Markov chains: the object and the checks of its parts.

#' Finite Markov chains
#'
#' A Markov chain on finitely many states with transition probabilities
#' \eqn{P_{ij} = \Pr(z_{t+1} = j \mid z_t = i)}{P[i, j] = Pr(z[t+1] = j | z[t]
#' = i)}, which may change with time. [stationary()], [is_irreducible()] and
#' [mixing_time()] say how it behaves; [metropolis_matrix()] and
#' [gibbs_matrix()] make the chain of a sampler; [fit_markov_chain()] estimates
#' one from sequences.
#'
#' `simulate()` draws paths of the chain. `state_after()` computes the
#' distribution after `n` steps, \eqn{p^{(0)} P^n}{p0 P^n}: step by step, or by
#' repeated squaring where this takes less. With several `n` its result has a
#' `plot()` and a `ggplot2::autoplot()`: the probabilities of the states over
#' time, and dashed the stationary ones, if the chain has one stationary
#' distribution. `plot()` of a chain draws the states on a circle and the
#' possible steps as arrows; an arrow is the wider and the darker, the more
#' probable its step. Circles at a state are the probability to stay. The area
#' of a state shows its stationary probability, if the chain has one closed
#' class. With more than 20 states the picture is the matrix of the transition
#' probabilities, the first row at the top, with a scale of its colours.
#'
#' A sparse matrix of package Matrix stays sparse: a chain of 20,000 states with
#' a few steps from each is made, simulated and carried through time in
#' fractions of a second. Up to 1,500 states its linear equations are solved as
#' those of any chain; above, by iterations, or where these do not end soon by a
#' sparse LU decomposition. These are right to about 12 digits, fewer if the
#' equations are ill-conditioned. What needs all pairs of states, such as
#' [mixing_time()], takes a matrix that is not sparse, within
#' `options(gibbsite.max_draws_mb = )`.
#'
#' A list of matrices, or a function of time that returns one, makes a chain
#' that is not homogeneous: the `t`-th matrix has the probabilities of the step
#' from time `t - 1` to time `t`. A chain by a list ends with its last matrix.
#' `function(t) matrices[[(t - 1) %% 12 + 1]]` repeats twelve. `state_after()`,
#' [first_passage()] and `simulate()` take such a chain.
#'
#' @param transition A square matrix of numbers of at least 0 whose rows sum to
#'   1, up to \eqn{10^{-8}}{1e-8}, by which they are divided; entry `[i, j]` is
#'   the probability of a step from state `i` to state `j`. The probability of
#'   leaving a state may be as small as double precision holds: beside a step of
#'   \eqn{10^{-17}}{1e-17} the entry on the diagonal is rounded to 1. Also a
#'   sparse matrix of package Matrix; a [table()] of transitions, of whose
#'   counts or joint proportions each row is divided by its sum; a list of such
#'   matrices, or a function of time that returns one; a fit of
#'   [fit_markov_chain()], of which it is the posterior mean.
#' @param states Names of the states, all different. Default: the row names, or
#'   the column names, or 1, 2, ...
#' @param initial Where the chain begins: a name or a number of a state, or
#'   probabilities of all states. In `state_after()` and `simulate()`, `NULL`
#'   takes that of the chain; if the chain has none, `simulate()` begins in each
#'   state with the same probability.
#' @param chain,object A chain.
#' @param n Number of steps: a whole number from 0 to 2^53. `state_after()`
#'   takes several.
#' @param nsim Number of paths.
#' @param seed `NULL`, or a number for [set.seed()]; the state of the generator
#'   is restored afterwards.
#' @param x A chain; for `plot()` also a result of `state_after()`.
#' @param digits Digits of the printed probabilities.
#' @param type For `plot()`: `"graph"` or `"matrix"`; `NULL` (default) chooses
#'   by the number of states.
#' @param labels For `plot()`: whether arrows have their probabilities; `NULL`
#'   (default): with at most 16 arrows.
#' @param ... For `plot()` of a chain, passed to [graphics::plot.default()],
#'   such as `main`. Otherwise not used.
#' @return `markov_chain()`: an object of class `markov_chain`. `state_after()`:
#'   the probabilities of the states, or without any `initial` a matrix with a
#'   row for each state at the beginning. With several `n`: a matrix of class
#'   `state_after` with a row for each of them, in the order of `n`, or without
#'   any `initial` an array with the dimensions `n`, state at the beginning,
#'   state. `simulate()`: a data frame with a
#'   column for each path and `n + 1` rows, the first of them the state at the
#'   beginning; states are a factor. `as.matrix()`: the transition
#'   probabilities, an R matrix. `plot()`: the chain, invisibly. `summary()`: a
#'   data frame with a row for each state: the number of its communicating
#'   class, whether this is closed and its period, and the state's probability
#'   in the stationary distribution of its class, 0 if the class is not closed.
#' @section Errors: `gibbsite_error_argument`; for a matrix that is not one of
#'   transition probabilities the message names the first such row.
#' @references
#' Levin DA, Peres Y (2017). *Markov Chains and Mixing Times*, 2nd edition.
#' American Mathematical Society. \doi{10.1090/mbk/107}
#' @seealso [stationary()], [communicating_classes()], [mixing_time()],
#'   [hitting_times()], [fundamental_matrix()].
#' @examples
#' # the example of Rai's lecture "MCMC Sampling"
#' chain <- markov_chain(
#'   rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0)), c("a", "b", "c"),
#'   initial = c(0.5, 0.2, 0.3)
#' )
#' chain
#' state_after(chain, 1)
#' stationary(chain)
#' plot(state_after(chain, 0:20))
#' plot(chain)
#' head(simulate(chain, n = 10, seed = 1))
#'
#' # its steps turn round at every second time
#' turning <- markov_chain(function(t) {
#'   p <- unname(as.matrix(chain))
#'   if (t %% 2 == 0) p[3:1, 3:1] else p
#' }, c("a", "b", "c"), initial = "a")
#' state_after(turning, 0:3)
#' @export
markov_chain <- function(transition, states = NULL, initial = NULL) {
  call <- rlang::current_env()
  check_needed(transition = "a matrix of transition probabilities")
  transition <- transition_of(transition, call)
  if (in_time(transition)) {
    return(chain_in_time(transition, states, initial, call))
  }
  transition <- check_transition(transition, "transition", call, sparse = TRUE)
  states <- check_states(states, transition, call)
  dimnames(transition) <- list(states, states)
  new_markov_chain(transition, check_initial(initial, states, call))
}

# What markov_chain() takes in the place of its argument.
transition_of <- function(x, call) UseMethod("transition_of")

#' @exportS3Method
transition_of.default <- function(x, call) x

# `states`: of a chain whose matrices are a function of time.
new_markov_chain <- function(transition, initial = NULL, states = NULL) {
  structure(c(
    list(transition = transition, initial = initial),
    if (!is.null(states)) list(states = states)
  ), class = "markov_chain")
}

# ---- Chains whose matrices change with time ----------------------------------

in_time <- function(transition) {
  is.function(transition) || is.list(transition) && !is.object(transition)
}

chain_in_time <- function(transition, states, initial, call) {
  if (!is.function(transition) && length(transition) == 0L) {
    abort_argument(
      "{.arg transition} must have a matrix for each step, and has none.",
      call = call
    )
  }
  first <- checked_step(transition, 1, call)
  states <- check_states(states, first, call)
  if (!is.function(transition)) {
    transition <- lapply(seq_along(transition), function(t) {
      named_step(checked_step(transition, t, call), states, t, call)
    })
  }
  new_markov_chain(
    transition, check_initial(initial, states, call),
    if (is.function(transition)) states
  )
}

# The matrix of the t-th step, from time t - 1 to time t.
checked_step <- function(transition, t, call) {
  if (!is.function(transition)) {
    arg <- paste0("transition[[", t, "]]")
    return(check_transition(transition[[t]], arg, call, sparse = TRUE))
  }
  p <- tryCatch(transition(t), error = function(cnd) {
    abort_numeric(
      "{.arg transition} failed at time {t}.", parent = cnd, call = call,
      class = "user_function"
    )
  })
  check_transition(p, paste0("transition(", t, ")"), call, sparse = TRUE)
}

named_step <- function(p, states, t, call) {
  if (nrow(p) != length(states)) {
    abort_argument(
      "{.arg transition} must have the same states at all times: {nrow(p)} at
       time {t}, {length(states)} at time 1.",
      call = call
    )
  }
  own <- rownames(p)
  if (!is.null(own) && t > 1 && !identical(own, states) &&
        setequal(own, states)) {
    abort_argument(
      "{.arg transition} must have its states in the same order at all times,
       and has not at time {t}.",
      call = call
    )
  }
  dimnames(p) <- list(states, states)
  p
}

step_matrix <- function(chain, t, call) {
  p <- chain$transition
  if (!in_time(p)) {
    return(p)
  }
  if (is.function(p)) {
    return(named_step(checked_step(p, t, call), chain$states, t, call))
  }
  p[[t]]
}

# ---- Checks ------------------------------------------------------------------

# A square matrix of probabilities, each row divided by its sum; one of package
# Matrix with `sparse` as a dgCMatrix.
check_transition <- function(x, arg, call, sparse = FALSE) {
  if (inherits(x, "table") && is.numeric(x)) {
    x <- check_transition_table(x, arg, call)
  }
  if (inherits(x, "Matrix")) {
    check_sparse(x, arg, call)
    x <- if (sparse && inherits(x, "sparseMatrix")) {
      by_columns(x)
    } else {
      as.matrix(x)
    }
  }
  plain <- is.numeric(x) && is.matrix(x) && !is.object(x)
  if (!is_sparse(x) && !plain || length(x) == 0L) {
    abort_expected(x, "a square matrix of probabilities", FALSE, arg, call)
  }
  if (nrow(x) != ncol(x)) {
    abort_argument(
      "{.arg {arg}} must be square, not {nrow(x)} x {ncol(x)}.", call = call
    )
  }
  values <- stored_values(x)
  wrong <- is.na(values) | values < 0 | values > 1 + 1e-8
  if (any(wrong)) {
    at <- if (is_sparse(x)) {
      first <- which(wrong)[[1L]]
      list(row = x@i[[first]] + 1L, column = findInterval(first - 1L, x@p))
    } else {
      first_place(wrong)
    }
    found <- describe(unname(x[at$row, at$column]))
    abort_argument(
      c("{.arg {arg}} must hold probabilities: row {at$row}, column {at$column}
         is {found}.",
        i = if (all(values >= 0 & is_whole_number(values), na.rm = TRUE)) {
          "Of counts {.fn fit_markov_chain} estimates the probabilities, and
           {.fn as.table} makes a table of them."
        }),
      call = call
    )
  }
  sums <- unname(Matrix::rowSums(x))
  off <- which(abs(sums - 1) > 1e-8)
  if (length(off) > 0L) {
    found <- format(sums[[off[[1L]]]], digits = 8)
    abort_argument(
      c("The rows of {.arg {arg}} must sum to 1: row {off[[1L]]} sums to
         {found}.",
        i = "If the entries are weights, divide by {.code rowSums()}. Of counts
             {.fn fit_markov_chain} estimates the probabilities."),
      call = call
    )
  }
  if (is_sparse(x)) {
    x@x <- x@x / sums[x@i + 1L]
    return(x)
  }
  storage.mode(x) <- "double"
  x / sums
}

# The rows of a table of counts or of joint proportions, divided by their sums.
check_transition_table <- function(x, arg, call) {
  names <- dimnames(x)
  x <- bare_values(x)
  if (!is.matrix(x) || nrow(x) != ncol(x) ||
        !identical(unname(names[1L]), unname(names[2L]))) {
    abort_argument(
      c("{.arg {arg}} must be a table with the same states in its rows and its
         columns.",
        i = "{.code table(factor(from, states), factor(to, states))} has them."
      ),
      call = call
    )
  }
  names(dimnames(x)) <- NULL
  whole <- all(is.finite(x)) && all(x >= 0) &&
    (all(x == round(x)) || abs(sum(x) - 1) <= 1e-8)
  if (!whole) {
    return(x)
  }
  sums <- rowSums(x)
  none <- which(sums == 0)
  if (length(none) > 0L) {
    state <- rownames(x)[none]
    abort_argument(
      c("{.arg {arg}} has no transition from {.val {state}}.",
        i = "{.fn fit_markov_chain} estimates its probabilities with a prior."),
      call = call
    )
  }
  x / sums
}

# ---- Sparse matrices ---------------------------------------------------------

is_sparse <- function(p) inherits(p, "dgCMatrix")

# A dgCMatrix without stored zeros.
by_columns <- function(x) Matrix::drop0(sparse_columns(x))

stored_values <- function(p) if (is_sparse(p)) p@x else p

# An R matrix, of which a computation holds `copies`.
dense_transition <- function(p, copies, call) {
  if (!is_sparse(p)) {
    return(p)
  }
  check_square_size(
    nrow(p), copies, "This takes a matrix that is not sparse,",
    "Use fewer states", call
  )
  as.matrix(p)
}

# Blocks of sparse matrices up to this size are solved as dense ones.
small_block <- 1500L

small_or_sparse <- function(p) {
  if (is_sparse(p) && nrow(p) <= small_block) as.matrix(p) else p
}

# The sparse matrix diag(leave) - p without its diagonal, where leave is the sum
# of what leaves each state for one of p or of elsewhere: 1 - p[i, i] would lose
# digits.
leaving_matrix <- function(p, elsewhere = 0) {
  Matrix::diag(p) <- 0
  Matrix::Diagonal(x = unname(Matrix::rowSums(p)) + elsewhere) - p
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
check_initial <- function(initial, states, call) {
  size <- length(states)
  if (is.null(initial)) {
    return(NULL)
  }
  if (is.factor(initial)) {
    initial <- as.character(initial)
  }
  if (length(initial) == 1L && (size > 1L || is.character(initial))) {
    at <- check_some_of(initial, states, call, one = TRUE, arg = "initial")
    return(stats::setNames(as.double(states == at), states))
  }
  check_distribution(initial, states, "initial", call)
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

# `homogeneous`: whether one matrix for all times is needed.
check_chain <- function(chain, call, arg = rlang::caller_arg(chain),
                        homogeneous = TRUE) {
  force(arg)
  if (arg == "chain") {
    check_needed(chain = "made by markov_chain()", call = call)
  }
  made_by <- "markov_chain()"
  check_class(chain, "markov_chain", made_by, arg = arg, call = call)
  fields <- c("transition", "states", "initial")
  chain <- remade(
    chain, markov_chain, made_by, arg, call, fields, c("transition", "initial")
  )
  if (homogeneous && in_time(chain$transition)) {
    abort_argument(
      c("{.arg {arg}} must be a chain with one transition matrix for all times,
         not one whose matrix changes.",
        i = "{.fn state_after}, {.fn first_passage} and {.fn simulate} take
             such a chain."),
      call = call
    )
  }
  chain
}

# The chain seen every second step. Rows are divided by their sums, which would
# drift; entries keep their relative accuracy.
squared_chain <- function(p) {
  p <- p %*% p
  p / rowSums(p)
}

states_of <- function(chain) {
  p <- chain$transition
  chain$states %||% rownames(if (is.list(p)) p[[1L]] else p)
}

#' @rdname markov_chain
#' @export
as.matrix.markov_chain <- function(x, ...) {
  call <- rlang::current_env()
  dense_transition(check_chain(x, call)$transition, 1, call)
}

# ---- Which states reach each other -------------------------------------------

#' Classes, periods, stationarity and reversibility of a Markov chain
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
  found <- chain_classes(p)
  data.frame(
    states = I(lapply(found$members, function(i) rownames(p)[i])),
    closed = found$closed, period = class_periods(found)
  )
}

# list(class, members, closed, from, to): the number of each state's class, the
# states and whether it is closed of each class, and all steps.
chain_classes <- function(p) {
  steps <- successors(p)
  class <- strong_components(steps, successors(Matrix::t(p)))
  from <- rep(seq_along(steps), lengths(steps))
  to <- unlist(steps)
  members <- unname(split(seq_along(class), class))
  leaving <- unique(class[from[class[from] != class[to]]])
  list(
    class = class, members = members,
    closed = !seq_along(members) %in% leaving, steps = steps, from = from,
    to = to
  )
}

# The states that one step from each state may reach.
successors <- function(p) {
  if (!is_sparse(p)) {
    return(lapply(seq_len(nrow(p)), function(i) {
      which(p[i, ] > 0, useNames = FALSE)
    }))
  }
  rows <- Matrix::t(p)
  state <- factor(rep(seq_len(nrow(p)), diff(rows@p)), seq_len(nrow(p)))
  unname(split(rows@i + 1L, state))
}

#' @rdname markov-structure
#' @export
is_irreducible <- function(chain) {
  chain <- check_chain(chain, rlang::current_env())
  length(chain_classes(chain$transition)$members) == 1L
}

#' @rdname markov-structure
#' @export
is_aperiodic <- function(chain) {
  chain <- check_chain(chain, rlang::current_env())
  all(class_periods(chain_classes(chain$transition)) == 1L, na.rm = TRUE)
}

# The number of each state's class, in the order of the states: a state's class
# is the first one if the first state communicates with it, and so on.
# Kosaraju's two searches in depth (Sharir 1981,
# doi:10.1016/0898-1221(81)90008-0). steps, back: lists of states that a step
# leads to, and that it may come from.
strong_components <- function(steps, back) {
  component <- integer(length(steps))
  count <- 0L
  for (root in rev(finishing_order(steps))) {
    if (component[[root]] != 0L) next
    count <- count + 1L
    front <- root
    while (length(front) > 0L) {
      component[front] <- count
      front <- unique(unlist(back[front]))
      front <- front[component[front] == 0L]
    }
  }
  match(component, unique(component))
}

# States in the order in which a search in depth leaves them.
finishing_order <- function(steps) {
  size <- length(steps)
  unseen <- rep(TRUE, size)
  order <- integer(size)
  stack <- integer(size)
  left <- 0L
  for (root in seq_len(size)) {
    if (!unseen[[root]]) next
    depth <- 1L
    stack[[1L]] <- root
    unseen[[root]] <- FALSE
    while (depth > 0L) {
      follow <- steps[[stack[[depth]]]]
      follow <- follow[unseen[follow]]
      if (length(follow) > 0L) {
        depth <- depth + 1L
        stack[[depth]] <- follow[[1L]]
        unseen[[follow[[1L]]]] <- FALSE
      } else {
        left <- left + 1L
        order[[left]] <- stack[[depth]]
        depth <- depth - 1L
      }
    }
  }
  order
}

# Of each class the greatest common divisor of level(i) + 1 - level(j) over its
# steps i -> j, where a state's level is its distance from the first one; NA for
# a class without a step.
class_periods <- function(found) {
  class <- found$class
  level <- rep(NA_integer_, length(class))
  for (k in seq_along(found$members)) {
    front <- found$members[[k]][[1L]]
    depth <- 0L
    while (length(front) > 0L) {
      level[front] <- depth
      front <- unique(unlist(found$steps[front]))
      front <- front[class[front] == k & is.na(level[front])]
      depth <- depth + 1L
    }
  }
  inside <- class[found$from] == class[found$to]
  cycles <- abs(level[found$from] + 1L - level[found$to])[inside]
  of <- factor(class[found$from][inside], seq_along(found$members))
  vapply(unname(split(cycles, of)), function(lengths) {
    if (length(lengths) == 0L) {
      return(NA_integer_)
    }
    as.integer(Reduce(greatest_divisor, unique(lengths), 0L))
  }, 0L)
}

greatest_divisor <- function(a, b) {
  while (b > 0) {
    rest <- a %% b
    a <- b
    b <- rest
  }
  a
}
