# Markov chains with rare steps, and errors of estimates.

rare <- rbind(c(1 - 1e-9, 1e-9, 0), c(0.9, 0.1 - 1e-9, 1e-9), c(0, 0, 1))
# by hand: h1 = 1 / a + h2, (0.9 + a) h2 = 1 + 0.9 h1, a = 1e-9
right("a rare event takes its expected time", {
  a <- 1e-9
  h2 <- (1 + 0.9 / a) / a
  all.equal(
    unname(hitting_times(markov_chain(rare), 3)), c(1 / a + h2, h2, 0),
    tolerance = 1e-13
  )
})
right("probabilities of rare ends lie between 0 and 1", {
  p <- rbind(c(1, 0, 0, 0), c(1e-17, 1, 1e-17, 0), c(0, 0.5, 0, 0.5),
             c(0, 0, 0, 1))
  all.equal(
    unname(hitting_probabilities(markov_chain(p), 4)), c(0, 1 / 3, 2 / 3, 1),
    tolerance = 1e-14
  )
})
right("a wheel has gap 0", {
  identical(spectral_gap(markov_chain(diag(3)[c(2, 3, 1), ])), 0)
})
right("steps of 1e-17 have a gap and a mixing time", {
  two <- markov_chain(rbind(c(1, 1e-17), c(2e-17, 1)))
  all.equal(
    c(spectral_gap(two), mixing_time(two)), c(3e-17, log(8 / 3) / 3e-17),
    tolerance = 1e-12
  )
})
refused("an expected time above 1e308", {
  hitting_times(markov_chain(
    rbind(c(1, 1e-200, 0), c(1, 0, 1e-200), c(0, 0, 1))
  ), 3)
}, "double precision does not hold")
right("one draw has no standard error", {
  identical(unname(monte_carlo(5)$mcse), NA_real_)
})
