# mixture_proposal(). src/core/mh/mh_mixture.c moves it.

#' Mixture of proposals
#'
#' Draws from one of several proposals, chosen at random: \eqn{q(y | x) = \sum_i
#' w_i q_i(y | x)}{q(y | x) = sum_i w_i q_i(y | x)}. The acceptance probability
#' uses the mixture's density, so that it does not depend on which proposal made
#' the draw. A mixture of short and long steps, or with an independence
#' proposal, helps if a single scale does not fit the whole density.
#'
#' @param ... Two or more proposals: [random_walk()], [independence()],
#'   [custom_proposal()], [langevin()] with `tune = FALSE`. Adaptive proposals
#'   cannot be parts of a mixture.
#' @param weights `NULL` (default: equal) or one positive number for each
#'   proposal; they are divided by their sum. Names match those of `...`.
#' @return A proposal: an object of class `mixture_proposal` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Tierney L (1994). Markov chains for exploring posterior distributions.
#' *Annals of Statistics* 22, 1701-1728. \doi{10.1214/aos/1176325750}
#' @family proposals
#' @examples
#' mixture_proposal(random_walk(0.1), random_walk(3), weights = c(0.8, 0.2))
#' @export
mixture_proposal <- function(..., weights = NULL) {
  parts <- list(...)
  names <- names(parts)
  parts <- unname(parts)
  for (i in seq_along(parts)) {
    check_proposal(parts[[i]], paste("Proposal", i))
    check_part(parts[[i]], i)
  }
  if (length(parts) < 2L) {
    abort_argument(
      "A mixture needs two or more proposals, not {length(parts)}."
    )
  }
  weights <- check_numeric_vector(weights,
    length = length(parts), length_why = "one for each proposal", lower = 0,
    lower_open = TRUE, null_ok = TRUE
  )
  weights <- if (is.null(weights)) {
    rep(1, length(parts))
  } else {
    in_order_of(
      weights, names, "weights", "the proposals", rlang::current_env()
    )
  }
  # so that the sum of large weights cannot overflow
  weights <- weights / max(weights)
  new_proposal("mixture_proposal",
    parts = parts, weights = weights / sum(weights)
  )
}

check_part <- function(part, i, call = rlang::caller_env()) {
  traits <- move_traits(part)
  if (!isTRUE(traits$density)) {
    abort_argument(
      c("Proposal {i} of a mixture must have a density: that of
         {.fn {class(part)[1]}} is not known.",
        i = traits$why_not),
      call = call
    )
  }
  learns <- isTRUE(traits$learns)
  nested <- !is.null(part$parts)
  if (learns || nested) {
    what <- if (nested) "is itself a mixture" else "learns as the chain runs"
    hint <- if (isTRUE(traits$gradient)) {
      "Give a step: {.code langevin(step, gradient, tune = FALSE)}."
    } else if (learns) {
      "Use {.code random_walk()} with the scale that {.code adaptive()} found."
    } else {
      "Give its proposals to the outer mixture, with their weights."
    }
    abort_argument(
      c("Proposal {i} of a mixture must be a fixed one: it {what}.", i = hint),
      call = call
    )
  }
}

#' @exportS3Method
move_maker.mixture_proposal <- function(move) {
  function(parts, weights) {
    do.call(mixture_proposal, c(unname(as.list(parts)), list(
      weights = weights
    )), quote = TRUE)
  }
}

#' @exportS3Method
move_traits.mixture_proposal <- function(move) {
  list(density = TRUE)
}

#' @exportS3Method
move_words.mixture_proposal <- function(move) {
  paste0(
    "mixture of ", paste(
      format(move$weights, digits = 2, trim = TRUE),
      vapply(move$parts, format, ""), collapse = " + "
    )
  )
}

#' @exportS3Method
move_compile.mixture_proposal <- function(move, at) {
  list(weights = move$weights, parts = compile_parts(move, at))
}
