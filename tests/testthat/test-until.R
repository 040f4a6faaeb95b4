# The rule that adds to the burn-in: until(burnin = "auto"), and the default of
# the samplers.

rule <- function(...) until(rhat = 1.05, ess = 150, every = 100, ...)

# The value falls by e every 20 * `scale` sweeps.
falling <- function(scale) {
  force(scale)
  function(sweep) 50 * exp(-sweep / (20 * scale))
}

run <- function(drift = falling(2), burnin = 10, stop_when = rule(), ...) {
  quietly(probe(
    draws = 100, burnin = burnin, stop_when = stop_when, drift = drift, ...
  ))
}

# Rules keep some `kept` draws of a chain.
few_kept <- function(kept = 40, frame = parent.frame()) {
  own <- gibbsite:::complete_rule
  local_object("complete_rule", function(...) {
    running <- own(...)
    if (!is.null(running$stop_when)) running$stop_when$kept <- kept
    running
  }, frame)
}

part_of <- function(fit, name) attr(fit, "running")[[name]]

test_that("draws that move become burn-in", {
  skip_long()
  expect_gibbsite_condition(fit <- run(), "gibbsite_message_burnin")
  burnin <- part_of(fit, "burnin")
  expect_true(((burnin - 10) / 100) %in% c(2, 4))
  expect_true(converged(fit, rhat = 1.05, ess = 150))
  # as a run with that burn-in, whose averages begin there too
  kept <- part_of(fit, "draws")
  plain <- quietly(probe(
    draws = kept, burnin = burnin, drift = falling(2)
  ))
  expect_identical(chain_matrices(fit), chain_matrices(plain))
  for (k in 1:2) {
    expect_identical(
      attr(fit, "chains")[[k]][c("state", "rng", "hash")],
      attr(plain, "chains")[[k]][c("state", "rng", "hash")]
    )
  }
  expect_identical(coda::mcpar(fit[[1]]), c(burnin + 1, burnin + kept, 1))
})

test_that("a rule with a fixed burn-in keeps all draws", {
  skip_long()
  expect_no_message(
    fit <- suppressWarnings(run(stop_when = rule(burnin = "fixed"))),
    class = "gibbsite_message_burnin"
  )
  expect_identical(part_of(fit, "burnin"), 10)
})

test_that("draws that are only too few are kept", {
  few <- until(rhat = 1.05, ess = 500, every = 200)
  expect_no_message(
    fit <- run(drift = NULL, stop_when = few),
    class = "gibbsite_message_burnin"
  )
  expect_identical(part_of(fit, "burnin"), 10)
  expect_gt(part_of(fit, "draws"), 200)
})

test_that("draws go after 1, 2, 4, ... rounds, if as many again may be made", {
  skip_long()
  # moves for ever, so that no draws meet the rule
  for (cap in fast_or(c(1, 3, 8), c(1, 2, 3, 4, 7, 8, 10))) {
    fit <- suppressMessages(suppressWarnings(run(
      drift = function(sweep) sweep / 10,
      stop_when = rule(max_draws = 100 * cap), thin = 2
    )))
    dropped <- if (cap < 2) 0 else 2^(floor(log2(cap)) - 1)
    expect_identical(part_of(fit, "burnin"), 10 + 200 * dropped)
    expect_identical(part_of(fit, "draws"), as.integer(100 * (cap - dropped)))
    expect_identical(
      part_of(fit, "stop_when")$max_draws, 100 * (cap - dropped)
    )
  }
})

test_that("segments and workers do not change where draws go", {
  skip_long()
  again <- function(...) suppressMessages(run(thin = 2, ...))
  fit <- again()
  for (seconds in fast_or(1e-9, c(1e-9, 1000))) {
    withr::local_options(gibbsite.segment_seconds = seconds)
    expect_true(identical_fit(again(), fit))
  }
  skip_unless_processes()
  short_rounds()
  expect_true(identical_fit(again(cores = 2), fit))
})

interrupt_everywhere <- function(kept, by) {
  few_kept(kept)
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "return"
  )
  short <- until(rhat = 1.3, ess = 40, every = 10, max_draws = 80)
  go <- function() {
    suppressMessages(quietly(probe(
      draws = 10, burnin = 3, stop_when = short, drift = falling(0.5)
    )))
  }
  whole <- go()
  expect_gt(part_of(whole, "burnin"), 13)
  end <- attr(whole, "chains")[[1]]$state$sweep
  seen <- 0
  for (at in seq(1, 2 * end, by = by)) {
    count <- 0
    withr::local_options(probe.segment = function(state) {
      count <<- count + 1
      if (count == at) rlang::interrupt()
    })
    expect_warning(
      part <- go(), class = "gibbsite_warning_interrupted"
    )
    options(probe.segment = NULL)
    made <- part_of(part, "burnin") + gibbsite:::draws_made(part) - 3
    # no fewer than the rule would look at
    thin <- gibbsite:::stride_in(attr(part, "running"))
    expect_gte(part_of(part, "draws"), min(10, made) %/% thin)
    seen <- seen + (part_of(part, "draws") > 0)
    same <- until(rhat = 1.3, ess = 40, every = 10)
    rest <- suppressMessages(longer(part, 80 - made, stop_when = same))
    expect_true(identical_fit(rest, whole))
  }
  expect_gt(seen, 60 / by)
  whole
}

test_that("a run interrupted at any place goes on to the same bits", {
  skip_unless_extended()
  expect_null(part_of(interrupt_everywhere(4000, 3), "stride"))
  expect_gt(part_of(interrupt_everywhere(8, 5), "stride"), 2)
})

test_that("averages that began after the draws shown are known to be later", {
  skip_long()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "return",
    probe.segment = function(state) {
      # the first round after the draws of four rounds have gone
      if (state$sweep == 10 + 400 + 30) rlang::interrupt()
    }
  )
  expect_warning(
    fit <- run(drift = function(sweep) sweep / 10),
    class = "gibbsite_warning_interrupted"
  )
  expect_identical(part_of(fit, "burnin"), 10 + 200)
  expect_identical(part_of(fit, "averaged_from"), 200)
  expect_identical(attr(fit, "chains")[[1]]$state$kept, 30)
})

kill_everywhere <- function(kept) {
  few_kept(kept)
  folder <- withr::local_tempdir()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.checkpoint_seconds = 0
  )
  go <- function(...) {
    suppressMessages(quietly(probe(
      draws = 10, burnin = 3, drift = falling(0.5), ...,
      stop_when = until(rhat = 1.3, ess = 40, every = 10, max_draws = 80)
    )))
  }
  whole <- go()
  path <- file.path(folder, "run")
  copies <- 0
  # a copy of the directory as a kill would leave it, before some segments
  withr::local_options(probe.segment = function(state) {
    if (file.exists(file.path(path, "data.rds")) &&
          state$sweep %% fast_or(20, 4) == 0) {
      copies <<- copies + 1
      to <- file.path(folder, copies)
      dir.create(to)
      file.copy(list.files(path, full.names = TRUE), to, recursive = TRUE)
    }
  })
  expect_true(identical_fit(go(checkpoint = path), whole))
  options(probe.segment = NULL)
  expect_gt(copies, fast_or(4, 20))
  for (k in c(seq_len(copies), "run")) {
    again <- suppressMessages(resumed(file.path(folder, k)))
    expect_true(identical_fit(again, whole))
  }
  whole
}

test_that("a run killed at any place is resumed to the same bits", {
  skip_unless_extended()
  expect_null(part_of(kill_everywhere(4000), "stride"))
  expect_gt(part_of(kill_everywhere(8), "stride"), 2)
})

test_that("a sampler without `draws` runs by the rule", {
  skip_long()
  plain <- quietly(gibbs_gmm(
    datasets::faithful, 2, chains = 2, seed = 1, progress = FALSE
  ))
  asked <- quietly(gibbs_gmm(
    datasets::faithful, 2, chains = 2, seed = 1, progress = FALSE,
    draws = 1000, stop_when = until()
  ))
  expect_true(identical_fit(plain, asked))
  expect_null(part_of(short_gmm(draws = 10), "stop_when"))
  # topics are fitted for a fixed time
  counts <- matrix(stats::rpois(60, 2), 6)
  fixed <- quietly(gibbs_lda(counts, 2, chains = 1, progress = FALSE))
  expect_null(part_of(fixed, "stop_when"))
})

test_that("a run under a rule keeps what the memory holds", {
  skip_long()
  columns <- 3
  room <- function(rounds) 2 * 100 * columns * 8 * rounds / 2^20
  withr::local_options(gibbsite.max_draws_mb = room(3.5))
  never <- until(ess = 1e6)
  # a round more than are kept
  fit <- quietly(probe(draws = 100, stop_when = never))
  expect_identical(part_of(fit, "stop_when")$kept, 250)
  expect_identical(coda::thin(fit[[1]]), 32)
  withr::local_options(gibbsite.max_draws_mb = room(1.5))
  fit <- quietly(probe(draws = 100, stop_when = never))
  expect_identical(part_of(fit, "draws"), 100L)
  expect_error(
    probe(draws = 100, stop_when = until(max_draws = 400)),
    class = "gibbsite_error_size"
  )
  withr::local_options(gibbsite.max_draws_mb = room(0.5))
  expect_error(
    probe(draws = 100, stop_when = never), class = "gibbsite_error_size"
  )
})

test_that("a fit whose burn-in grew can be cut and continued", {
  skip_long()
  fit <- suppressMessages(run())
  from <- coda::mcpar(fit[[1]])[1]
  # the third column is an average, which begins anew
  values <- function(fit) lapply(chain_matrices(fit), function(x) x[, 1:2])
  expect_identical(
    values(longer(window(fit, start = from + 20), 30)),
    values(window(longer(fit, 30), start = from + 20))
  )
  again <- suppressMessages(longer(fit, 100, stop_when = rule()))
  expect_identical(part_of(again, "burnin"), part_of(fit, "burnin"))
})

test_that("proposals are fixed at the end of the run's own burn-in", {
  skip_long()
  # a start far off, so that draws become burn-in
  density <- function(x) -sum(x^2) / 2
  run <- function(...) {
    suppressMessages(suppressWarnings(mh_sample(
      density, c(a = 40, b = 40), adaptive(scale = 0.5), burnin = 20,
      thin = 1, chains = 2, seed = 1, progress = FALSE, ...
    )))
  }
  long <- run(stop_when = until(max_draws = 400, every = 50))
  expect_gt(start(long), 71)
  short <- run(draws = 1)
  learnt <- function(fit) {
    lapply(attr(fit, "chains"), function(chain) {
      chain$state$blocks[[1]][c("factor", "mean", "tuning")]
    })
  }
  expect_identical(learnt(long), learnt(short))
})

test_that("a rule with a time ends at the end of a round", {
  skip_long()
  rule <- until(ess = 1e6, every = 100, max_draws = 1000, seconds = 1e-3)
  expect_warning(
    fit <- probe(draws = 100, stop_when = rule),
    "after 100 draws, where the time of the rule ends",
    class = "gibbsite_warning_cap"
  )
  expect_equal(part_of(fit, "draws"), 100)
  expect_identical(attr(fit, "run")$outcome, "time")
  # the draws are the first ones of a longer run
  long <- quietly(probe(draws = 300))
  expect_identical(
    chain_matrices(fit)[[1]], chain_matrices(long)[[1]][1:100, , drop = FALSE]
  )
  # a rule that is met in time ends as without one
  quick <- until(rhat = 1.3, ess = 40, every = 100, seconds = 1e4)
  same <- quietly(probe(draws = 100, stop_when = quick))
  expect_identical(attr(same, "run")$outcome, "rule")
  expect_output(print(quick), "for 2.8 h or to the end of that round")
  expect_gibbsite_error({
    until(seconds = 0)
    until(seconds = "long")
  })
})

# ---- Draws that are kept -----------------------------------------------------

# A rule that is not met, and keeps some 40 draws.
long_rule <- function(cap, every = 10, ...) {
  until(rhat = 1.3, ess = 1e4, every = every, max_draws = cap, ...)
}

long_run <- function(cap = 250, ..., burnin = "auto") {
  rule <- long_rule(cap, burnin = burnin)
  suppressMessages(quietly(
    probe(draws = 10, burnin = 3, stop_when = rule, ...)
  ))
}

test_that("a run under a rule keeps each 2nd, 4th, ... draw", {
  skip_long()
  few_kept()
  every <- function(n, thin = 1) {
    quietly(probe(draws = n, burnin = 3, thin = thin))
  }
  for (cap in fast_or(c(40, 50, 250), c(10, 40, 50, 80, 90, 250))) {
    fit <- long_run(cap, burnin = "fixed")
    stride <- c(1, 1, 2, 2, 4, 8)[c(10, 40, 50, 80, 90, 250) == cap]
    plain <- every(cap)
    rows <- seq(stride, cap, by = stride)
    for (k in 1:2) {
      # the third column is an average over all draws
      expect_identical(
        chain_matrices(fit)[[k]], chain_matrices(plain)[[k]][rows, ]
      )
      expect_identical(
        attr(fit, "chains")[[k]]$state, attr(plain, "chains")[[k]]$state
      )
    }
    expect_identical(coda::mcpar(fit[[1]]),
                     c(3 + stride, 3 + stride * length(rows), stride))
  }
  expect_output(print(fit), "of 31 draws .sweeps 11 to 251, every 8th sweep")
  expect_warning(
    probe(draws = 10, stop_when = long_rule(250, burnin = "fixed")),
    "after 250 draws .31 kept.",
    class = "gibbsite_warning_cap"
  )
  expect_identical(
    chain_matrices(longer(fit, 20)), chain_matrices(window(
      suppressMessages(every(8 * 51)), thin = 8, start = 11
    ))
  )
  expect_identical(
    coda::mcpar(window(fit, start = 100, thin = 16)[[1]]), c(107, 251, 16)
  )
})

test_that("pieces of a run under a rule keep the draws of one run", {
  skip_unless_extended()
  few_kept()
  for (thin in 1:2) {
    whole <- long_run(burnin = "fixed", thin = thin)
    expect_identical(part_of(whole, "stride"), 8)
    for (first in c(30, 90, 170)) {
      rest <- longer(
        long_run(first, burnin = "fixed", thin = thin), 250 - first,
        stop_when = long_rule(NULL, burnin = "fixed")
      )
      expect_true(identical_fit(rest, whole))
    }
  }
  for (seconds in c(1e-9, 1000)) {
    withr::local_options(gibbsite.segment_seconds = seconds)
    expect_true(identical_fit(long_run(burnin = "fixed", thin = 2), whole))
  }
  skip_unless_processes()
  short_rounds()
  two <- long_run(burnin = "fixed", thin = 2, cores = 2)
  expect_true(identical_fit(two, whole))
})

test_that("averages are over all draws, also those that are not kept", {
  skip_unless_extended()
  few_kept()
  never <- until(ess = 1e4, every = 50, max_draws = 200, burnin = "fixed")
  pair <- function(sampler, ...) {
    go <- function(...) {
      quietly(sampler(
        ..., burnin = 20, chains = 2, seed = 1, progress = FALSE
      ))
    }
    list(
      long = go(..., draws = 50, stop_when = never), all = go(..., draws = 200)
    )
  }
  ratings <- data.frame(
    user = rep(1:8, each = 6), item = rep(1:6, 8),
    rating = rep(c(1, 5, 2, 4), 12)
  )
  of_ratings <- pair(gibbs_bmf, ratings, rank = 2)
  expect_identical(ndraws(of_ratings$long), 2L * 25L)
  expect_identical(
    predict(of_ratings$long, ratings), predict(of_ratings$all, ratings)
  )
  of_mixture <- pair(gibbs_gmm, datasets::faithful, k = 2)
  expect_identical(
    allocation_probabilities(of_mixture$long),
    allocation_probabilities(of_mixture$all)
  )
  counts <- withr::with_seed(1, matrix(stats::rpois(60, 2), 6))
  of_topics <- pair(gibbs_lda, counts, k = 2)
  expect_identical(
    topic_estimates(of_topics$long)$phi, topic_estimates(of_topics$all)$phi
  )
  # and when the fit is continued
  expect_identical(
    topic_estimates(longer(of_topics$long, 5))$phi,
    topic_estimates(longer(of_topics$all, 40))$phi
  )
})

test_that("fits of completed data sets that keep other draws are combined", {
  skip_long()
  few_kept()
  cars <- datasets::mtcars
  fit <- function(data, cap, seed) {
    quietly(gibbs_logistic(
      am ~ hp, data, burnin = 5, draws = 10, chains = 2, seed = seed,
      stop_when = long_rule(cap, burnin = "fixed"), progress = FALSE
    ))
  }
  short <- fit(cars, 40, 1)
  cars$hp <- cars$hp + 1
  long <- fit(cars, 80, 2)
  both <- combine_fits(short, long, data = "imputed")
  expect_identical(coda::mcpar(both[[1]]), c(7, 45, 2))
})

test_that("a rule keeps draws by their number and by their size", {
  kept <- function(columns, ess = 400, every = 1000, chains = 4) {
    rule <- gibbsite:::resolve_until(until(ess = ess, every = every), every)
    gibbsite:::complete_rule(
      list(stop_when = rule, chains = chains),
      list(columns = character(columns), nobs = 1), NULL
    )$stop_when$kept
  }
  expect_identical(kept(20), 4000)
  expect_identical(kept(20, chains = 2), 4000)
  expect_identical(kept(400), floor(25 * 2^20 / (8 * 4 * 400)))
  # never fewer than the rule needs
  expect_identical(kept(4000, every = 100), 1000)
  expect_identical(kept(20, ess = 4000), 10000)
  expect_identical(kept(20, every = 6000), 6000)
})

test_that("the cap is named as the end, also when draws were dropped", {
  expect_warning(
    fit <- mh_sample(
      function(x) -sum(x^2) / 2, c(x = 30), random_walk(0.05), burnin = 0,
      chains = 2, seed = 1, stop_when = until(max_draws = 400, every = 50),
      progress = FALSE
    ),
    "where the\\s+rule\\s+ends"
  )
  # some were dropped
  expect_lt(posterior::niterations(fit), 400)
})
