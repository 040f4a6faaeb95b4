# Every kind of generator that is taken, with every kind of normal and sample.
uniform <- setdiff(uniform_kinds, "user-supplied")
normal <- c("Inversion", "Ahrens-Dieter", "Kinderman-Ramage")
kinds <- expand.grid(
  uniform = uniform, normal = normal, sample = sample_kinds,
  stringsAsFactors = FALSE
)

use_kind <- function(kind) {
  suppressWarnings(RNGkind(kind[[1]], kind[[2]], kind[[3]]))
}

# The session's generator as it was, after each test.
local_generator <- function(frame = parent.frame()) {
  saved <- save_generator()
  withr::defer(restore_generator(saved), envir = frame)
}

for_each_kind <- function(code) {
  every <- seq_len(nrow(kinds))
  for (i in fast_or(every[every %% 7 == 1], every)) {
    kind <- unlist(kinds[i, ], use.names = FALSE)
    use_kind(kind)
    set.seed(1)
    code(kind)
  }
}

test_that("a stream tells its kind as R does", {
  skip_long()
  local_generator()
  for_each_kind(function(kind) {
    expect_identical(rng_kind(), kind)
    expect_identical(stream_kind(generator_seed()), kind)
  })
})

test_that("the root is one uniform of the user's generator, or the seed", {
  skip_long()
  local_generator()
  for_each_kind(function(kind) {
    root <- root_seed()
    left <- generator_seed()
    set.seed(1)
    expect_identical(root, as.integer(floor(runif(1) * 2^31)))
    expect_identical(generator_seed(), left)
    expect_identical(root_seed(7), 7L)
    expect_identical(root_seed(-7), -7L)
    expect_identical(generator_seed(), left)
  })
})

test_that("streams leave the generator alone, differ, and grow in number", {
  skip_long()
  local_generator()
  for_each_kind(function(kind) {
    before <- generator_seed()
    expect_no_warning(streams <- chain_streams(5, 4))
    expect_identical(generator_seed(), before)
    expect_identical(rng_kind(), kind)
    expect_length(streams, 4)
    expect_identical(anyDuplicated(streams), 0L)
    expect_identical(lapply(streams, stream_kind), rep(list(kind), 4))
    expect_identical(chain_streams(5, 6)[1:4], streams)
    expect_identical(chain_streams(5, 1), streams[1])
    expect_false(any(chain_streams(6, 4) %in% streams))
  })
})

test_that("a generator that was never seeded stays so", {
  skip_long()
  local_generator()
  for_each_kind(function(kind) {
    rm(".Random.seed", envir = globalenv())
    expect_no_warning(chain_streams(5, 2))
    expect_null(generator_seed())
    expect_identical(rng_kind(), kind)
    stream <- chain_streams(5, 1)[[1]]
    expect_no_warning(with_stream(stream, rnorm(3)))
    expect_null(generator_seed())
    expect_identical(rng_kind(), kind)
    expect_identical(root_seed(3), 3L)
    expect_null(generator_seed())
  })
})

test_that("under L'Ecuyer-CMRG chain k has the k-th stream", {
  local_generator()
  RNGkind("L'Ecuyer-CMRG", "Inversion", "Rejection")
  streams <- chain_streams(11, 3)
  set.seed(11)
  stream <- generator_seed()
  for (k in 1:3) {
    stream <- parallel::nextRNGStream(stream)
    expect_identical(streams[[k]], stream)
  }
})

test_that("seeds are distinct, and the first do not depend on their number", {
  local_generator()
  use_kind(c("Mersenne-Twister", "Inversion", "Rejection"))
  set.seed(1)
  # 200,000 of 2^31 numbers: about nine pairs would be equal with replacement
  seeds <- distinct_seeds(2e5)
  expect_length(seeds, 2e5)
  expect_identical(anyDuplicated(seeds), 0L)
  set.seed(1)
  expect_gt(anyDuplicated(uniform_integer(2e5)), 0)
  set.seed(1)
  expect_identical(distinct_seeds(1000), seeds[1:1000])
  expect_true(all(seeds >= 0))
})

test_that("two runs in a row share no run of numbers", {
  skip_long()
  local_generator()
  for_each_kind(function(kind) {
    set.seed(2024)
    streams <- c(
      list(generator_seed()),
      chain_streams(root_seed(), 4), chain_streams(root_seed(), 4)
    )
    numbers <- lapply(streams, function(stream) {
      with_stream(stream, runif(fast_or(500, 2000)))$value
    })
    # Two neighbours together: some kinds have so few values that single ones
    # repeat.
    pairs <- unlist(lapply(numbers, function(x) {
      paste(x[-1], x[-length(x)])
    }))
    expect_identical(anyDuplicated(pairs), 0L)
  })
})

test_that("code runs on its stream, in pieces as in one", {
  skip_long()
  local_generator()
  for_each_kind(function(kind) {
    stream <- chain_streams(5, 1)[[1]]
    before <- generator_seed()
    draw <- function(n) {
      c(rnorm(n), rexp(n), rgamma(n, 0.5), sample.int(100, n))
    }
    whole <- with_stream(stream, c(draw(3), draw(5)))
    one <- with_stream(stream, draw(3))
    two <- with_stream(one$stream, draw(5))
    expect_identical(c(one$value, two$value), whole$value)
    expect_identical(two$stream, whole$stream)
    expect_identical(generator_seed(), before)
  })
})

test_that("a stream runs the same in a session of another kind", {
  local_generator()
  use_kind(c("Wichmann-Hill", "Ahrens-Dieter", "Rejection"))
  stream <- chain_streams(5, 1)[[1]]
  here <- with_stream(stream, rnorm(5))
  use_kind(c("Mersenne-Twister", "Inversion", "Rounding"))
  set.seed(1)
  before <- generator_seed()
  expect_identical(with_stream(stream, rnorm(5)), here)
  expect_identical(generator_seed(), before)
  use_kind(c("Mersenne-Twister", "Box-Muller", "Rejection"))
  set.seed(1)
  expect_identical(with_stream(stream, rnorm(5)), here)
  # also the variate that Box-Muller keeps back
  expected <- {
    set.seed(1)
    rnorm(3)
  }
  set.seed(1)
  first <- rnorm(1)
  with_stream(stream, rnorm(5))
  expect_identical(c(first, rnorm(2)), expected)
})

test_that("the generator comes back on every way out", {
  local_generator()
  use_kind(c("Mersenne-Twister", "Inversion", "Rejection"))
  set.seed(1)
  before <- generator_seed()
  stream <- chain_streams(5, 1)[[1]]
  expect_error(with_stream(stream, stop("no")), "no")
  expect_identical(generator_seed(), before)
  expect_identical((function() with_stream(stream, return(1)))(), 1)
  expect_identical(generator_seed(), before)
  expect_identical(
    tryCatch(
      with_stream(stream, rlang::interrupt()),
      interrupt = function(i) "interrupted"
    ),
    "interrupted"
  )
  expect_identical(generator_seed(), before)
})

test_that("code may not change the kind, or take the generator away", {
  local_generator()
  use_kind(c("Mersenne-Twister", "Inversion", "Rejection"))
  set.seed(1)
  before <- generator_seed()
  stream <- chain_streams(5, 1)[[1]]
  f <- function(code) with_stream(stream, code)
  expect_gibbsite_error({
    f(RNGkind("Wichmann-Hill"))
    f(rm(".Random.seed", envir = globalenv()))
  })
  expect_identical(generator_seed(), before)
  expect_identical(rng_kind(), c("Mersenne-Twister", "Inversion", "Rejection"))
})

test_that("kinds with hidden state are refused, in session and chain", {
  skip_long()
  local_generator()
  f <- function() root_seed()
  g <- function() chain_streams(1, 2)
  use_kind(c("Mersenne-Twister", "Box-Muller", "Rejection"))
  set.seed(1)
  before <- generator_seed()
  expect_gibbsite_error(f())
  expect_gibbsite_error(g())
  expect_identical(generator_seed(), before)
  box_muller <- generator_seed()
  use_kind(c("Mersenne-Twister", "Buggy Kinderman-Ramage", "Rejection"))
  set.seed(1)
  expect_gibbsite_error(f())
  use_kind(c("Mersenne-Twister", "Inversion", "Rejection"))
  h <- function(stream) with_stream(stream, rnorm(1))
  k <- function(kind) check_generator(kind)
  expect_gibbsite_error({
    h(box_muller)
    h(c(10405L, 1L))
    h(c(10399L, 1L))
    h(NULL)
    h(c(1, 2))
    k(c("user-supplied", "Inversion", "Rejection"))
    k(c("Mersenne-Twister", "user-supplied", "Rejection"))
  })
  expect_error(h(box_muller), class = "gibbsite_error_state")
  expect_error(h(box_muller), class = "gibbsite_error_generator")
})

test_that("chains on one stream are refused", {
  streams <- list(1:3, 4:6, 7:9)
  expect_identical(check_distinct_streams(streams), streams)
  f <- function(streams) check_distinct_streams(streams)
  expect_gibbsite_error(f(list(1:3, 4:6, 7:9, 4:6)))
  expect_error(f(list(1:3, 1:3)), class = "gibbsite_error_streams")
})

# ---- the generator's own vector ----------------------------------------------

# Sweeps that each take thousands of uniforms at once from the generator.
sweeps_of_many <- function() {
  fit <- suppressWarnings(gibbs_gmm(
    matrix(seq(-2, 2, length.out = 4000), 2000), 2, draws = 1, burnin = 0,
    chains = 1, seed = 1, progress = FALSE
  ))
  chain <- attr(fit, "chains")[[1]]
  function(n) {
    set_generator_seed(chain$rng)
    model_sweeps(attr(fit, "model"), chain$state, n,
                 list(burnin = 0, thin = 1, threads = 1L))
  }
}

test_that("a vector that someone else holds is not written to", {
  local_generator()
  sweeps <- sweeps_of_many()
  set.seed(1)
  held <- get(".Random.seed", globalenv())
  copy <- held + 0L
  expected <- sweeps(3)
  expect_identical(held, copy)
  expect_false(identical(expected$rng, held))

  # each vector that R shows the functions of an active binding
  shown <- list()
  copies <- list()
  keep <- function(seed) {
    shown[[length(shown) + 1L]] <<- seed
    copies[[length(copies) + 1L]] <<- seed + 0L
    current <<- seed
  }
  current <- held
  rm(".Random.seed", envir = globalenv())
  withr::defer(rm(".Random.seed", envir = globalenv()))
  makeActiveBinding(".Random.seed", function(seed) {
    if (missing(seed)) current else keep(seed)
  }, globalenv())
  expect_identical(sweeps(3), expected)
  expect_gt(length(shown), 3)
  expect_identical(shown, copies)
})

test_that("a density may keep every state of the generator that it sees", {
  shown <- list()
  copies <- list()
  density <- function(x) {
    seed <- get(".Random.seed", globalenv())
    shown[[length(shown) + 1L]] <<- seed
    copies[[length(copies) + 1L]] <<- seed + 0L
    -sum((x - 0.01 * stats::rnorm(1))^2)
  }
  suppressWarnings(
    mh_sample(density, rep(0.1, 8), random_walk(0.5), draws = 300, burnin = 10,
              chains = 1, seed = 1, progress = FALSE)
  )
  expect_gt(length(shown), 300)
  expect_identical(shown, copies)
})

# Its message is the driver's to make; the sweep leaves a session that works.
test_that("a locked .Random.seed is an error, and nothing is harmed", {
  local_generator()
  sweeps <- sweeps_of_many()
  expected <- sweeps(2)
  held <- get(".Random.seed", globalenv())
  lockBinding(".Random.seed", globalenv())
  withr::defer(unlockBinding(".Random.seed", globalenv()), priority = "first")
  locked <- sweeps
  environment(locked) <- list2env(
    list(set_generator_seed = identity), parent = environment(sweeps)
  )
  expect_error(locked(2), "locked")
  unlockBinding(".Random.seed", globalenv())
  expect_identical(sweeps(2), expected)
})

# ---- Streams beyond those of the chains --------------------------------------

# The purposes that calls of spare_stream() name, in all functions; one function
# takes the purpose for it.
purposes_named <- function() {
  space <- asNamespace("gibbsite")
  calls_in <- function(code) {
    if (!is.call(code)) {
      return(NULL)
    }
    takes <- c("spare_stream", "on_stream_of")
    own <- if (is.name(code[[1L]]) && as.character(code[[1L]]) %in% takes) {
      f <- get(as.character(code[[1L]]), space)
      as.list(match.call(f, code))$purpose
    }
    if (identical(own, quote(purpose))) own <- NULL
    c(own, unlist(lapply(as.list(code), function(part) {
      if (!missing(part)) calls_in(part)
    })))
  }
  functions <- Filter(function(f) {
    is.function(f) && any(startsWith(all.names(body(f)), "spare_stream") |
                            all.names(body(f)) == "on_stream_of")
  }, as.list(space))
  unique(unlist(lapply(functions, function(f) calls_in(body(f)))))
}

test_that("every stream beyond the chains' has a named purpose", {
  skip_long()
  named <- purposes_named()
  expect_type(named, "character")
  expect_setequal(named, names(gibbsite:::spare_streams))
})

test_that("two purposes of one seed have two streams", {
  numbers <- gibbsite:::spare_streams
  of_folds <- startsWith(names(numbers), "fold")
  expect_identical(anyDuplicated(numbers[of_folds]), 0L)
  expect_identical(anyDuplicated(numbers[!of_folds]), 0L)
  # those of chains come last
  expect_identical(names(which.max(numbers)), "continued_chain")
  streams <- lapply(names(numbers[!of_folds]), function(purpose) {
    gibbsite:::spare_stream(1L, 2, purpose, NULL)
  })
  expect_identical(anyDuplicated(streams), 0L)
  # draws of a seed depend on the numbers, which therefore stay
  expect_identical(
    numbers[["check_draws"]] + 2L,
    length(gibbsite:::chain_streams(1L, 3, NULL))
  )
  expect_identical(
    gibbsite:::spare_stream(1L, 2, "pilot", NULL),
    gibbsite:::chain_streams(1L, 9, NULL)[[9]]
  )
  expect_identical(
    gibbsite:::spare_stream(1L, 2, "continued_chain", NULL, 1L),
    gibbsite:::chain_streams(1L, 12, NULL)[[12]]
  )
})
