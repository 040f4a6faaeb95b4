# The numbers of topics. Under a prior that is the same for all of them they are
# exchangeable: each chain numbers them in its own way, and a fit renumbers them
# to agree (R/run-pool.R).

# Within a chain the sampler numbers a topic as at the first kept draw
# (src/core/lda/lda.h); here the chains are made to agree.
#
# Chains agree where a token has the same topic in both. The orders maximise the
# number of such tokens over all pairs of chains, at the first kept draw of each
# (allocations as in Papastamoulis & Iliopoulos 2010,
# doi:10.1198/jcgs.2010.09008, between chains): one chain after another is
# assigned to the rest (Hungarian algorithm) until none changes. Then the topics
# are put in decreasing order of their tokens. Only topics with the same
# prior are renumbered: others keep their numbers.
#' @exportS3Method
model_orders.lda_model <- function(model, states) {
  k <- model$k
  if (!is_numbered(model)) {
    return(NULL)
  }
  group <- topic_groups(model)
  same_group <- outer(group, group, `==`)
  # of tokens, at the first kept draw of each chain
  topics <- lapply(states, function(state) lda_unpack(state$pivot))
  chains <- seq_along(topics)
  # shared[[b]][[a]], a < b: tokens by their topics in the chains a and b
  shared <- lapply(chains, function(b) {
    lapply(seq_len(b - 1L), function(a) {
      table_of_pairs(topics[[a]], topics[[b]], k)
    })
  })
  orders <- rep(list(seq_len(k)), length(chains))
  assign_chain <- function(b, others) {
    votes <- Reduce(`+`, lapply(others, function(a) {
      both <- if (a < b) shared[[b]][[a]] else t(shared[[a]][[b]])
      both[orders[[a]], , drop = FALSE]
    }))
    # topics of different groups are never exchanged
    votes <- votes + (sum(votes) + 1) * same_group
    as.integer(clue::solve_LSAP(votes, maximum = TRUE))
  }
  for (b in chains[-1L]) {
    orders[[b]] <- assign_chain(b, seq_len(b - 1L))
  }
  if (length(chains) > 2L) {
    # every change increases the number of tokens, so that this ends
    for (round in 1:100) {
      before <- orders
      for (b in chains) orders[[b]] <- assign_chain(b, setdiff(chains, b))
      if (identical(orders, before)) break
    }
  }
  # chains that start at topics of an earlier fit have its numbers
  if (identical(model$numbers, "start")) {
    return(orders)
  }
  sizes <- Reduce(`+`, lapply(chains, function(b) {
    tabulate(topics[[b]], k)[orders[[b]]]
  }))
  # the largest topic of a group gets the first number of that group
  places <- seq_len(k)
  for (own in split(seq_len(k), group)) {
    places[own] <- own[order(-sizes[own])]
  }
  lapply(orders, function(order) order[places])
}

table_of_pairs <- function(a, b, k) {
  matrix(tabulate(a + k * (b - 1L), k * k), k)
}

#' @exportS3Method
model_reordered.lda_model <- function(model, draws, order) {
  out <- draws[, lda_columns_in(model, order), drop = FALSE]
  dimnames(out) <- dimnames(draws)
  z <- startsWith(model$columns, "z[")
  if (any(z)) {
    out[, z] <- order(order)[draws[, z]]
  }
  out
}

# The columns of the topics order[1], order[2], ...
lda_columns_in <- function(model, order) {
  columns <- seq_along(model$columns)
  block <- function(name) which(startsWith(model$columns, paste0(name, "[")))
  for (name in c("size", "label")) columns[block(name)] <- block(name)[order]
  # theta: documents fastest; phi: topics fastest
  theta <- block("theta")
  columns[theta] <- matrix(theta, ncol = model$k)[, order]
  phi <- block("phi")
  columns[phi] <- matrix(phi, nrow = model$k)[order, ]
  columns
}

# Chains x topics: the number of each topic in a chain's state.
topic_orders <- function(fit) {
  k <- fit_part(fit, "model")$k
  do.call(rbind, lapply(fit_part(fit, "chains"), function(chain) {
    chain$order %||% seq_len(k)
  }))
}
