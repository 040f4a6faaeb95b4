# Finite Markov chains: estimation, sparse chains, chains in time.

weather <- c("dry", "wet", "wet", NA, "dry", "dry", "wet")
told("a step with a missing state is left out and said",
     fit_markov_chain(weather, draws = 10, seed = 1, progress = FALSE),
     says = "2 steps")
steps <- table(c("a", "b", "a"), c("b", "a", "a"))
right("a table of transitions is a chain", {
  isTRUE(all.equal(
    as.vector(as.matrix(markov_chain(steps))), c(0.5, 1, 0.5, 0)
  ))
})
right("a chain of 20,000 states is simulated in less than 100 MB", {
  n <- 20000
  p <- Matrix::sparseMatrix(c(1:n, 1:n), c(2:n, 1, n, 1:(n - 1)), x = 0.5)
  chain <- markov_chain(p)
  nrow(simulate(chain, n = 1000, seed = 1)) == 1001 &&
    object.size(chain) < 1e8
})
right("distributions at several times are those of each", {
  chain <- markov_chain(rbind(c(0.9, 0.1), c(0.5, 0.5)), initial = 1)
  rows <- state_after(chain, 0:20)
  isTRUE(all.equal(rows["20", ], state_after(chain, 20)))
})
refused("a chain in time has no stationary distribution",
        stationary(markov_chain(function(t) diag(2))),
        says = "one transition matrix")
