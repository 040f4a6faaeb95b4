# The numbers that a fit gives to components which each chain numbers in its own
# way.
#
# While chains run, their draws have the chain's own numbers: in a job and in a
# checkpoint. build_fit() renumbers them, and keeps for each chain `order`, the
# chain's numbers of the fit's components 1, 2, ... The first draws fix it, so
# that a fit keeps its numbers when it is continued.

# The chains, each with its order, once all of them have a draw.
ordered_chains <- function(model, chains) {
  known <- all(lengths(lapply(chains, `[[`, "order")) > 0L)
  if (known || common_draws(chains) == 0) {
    return(chains)
  }
  orders <- model_orders(model, lapply(chains, `[[`, "state"))
  set_orders(chains, orders)
}

set_orders <- function(chains, orders) {
  for (k in seq_along(orders)) chains[[k]]$order <- orders[[k]]
  chains
}

# A chain's draws in the fit's numbers, and draws of a fit in the chain's.
fit_numbers <- function(model, draws, order) {
  if (is.null(order) || NROW(draws) == 0L) {
    return(draws)
  }
  model_reordered(model, draws, order)
}

chain_numbers <- function(model, draws, order) {
  fit_numbers(model, draws, if (!is.null(order)) order(order))
}

# The draws that a fit shows and those that it holds ahead, in the chains'
# numbers: a matrix (or NULL) for each chain.
shown_in_chains <- function(fit) in_chains(fit, unclass(fit))

pending_in_chains <- function(fit) in_chains(fit, attr(fit, "pending"))

in_chains <- function(fit, draws) {
  chains <- attr(fit, "chains")
  lapply(seq_along(chains), function(k) {
    if (length(draws) > 0L) {
      chain_numbers(
        attr(fit, "model"), plain_matrix(draws[[k]]), chains[[k]]$order
      )
    }
  })
}

plain_matrix <- function(x) {
  if (!is.null(x)) matrix(as.vector(x), nrow(x), ncol(x))
}

# Whether some chain has no draw since its draws began anew. Then the order does
# not come from the first one, and it ends with the fit.
is_order_passing <- function(chains, thin) {
  any(vapply(chains, function(chain) {
    length(chain$from) > 0L && chain$state$sweep < max(chain$from) + thin
  }, NA))
}
