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
