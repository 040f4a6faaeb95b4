# Streams of random numbers. R's generator is the only root of randomness: a run
# takes one uniform from it (or the user's `seed`) and makes the streams of all
# chains from it. A stream is a value of `.Random.seed`, which holds the kind of
# generator and its state.

generator_seed <- function() {
  get0(".Random.seed", envir = globalenv(), inherits = FALSE)
}

set_generator_seed <- function(seed) {
  check_unlocked(NULL)
  assign(".Random.seed", seed, envir = globalenv())
}

generator_locked <- function() {
  exists(".Random.seed", envir = globalenv(), inherits = FALSE) &&
    bindingIsLocked(".Random.seed", globalenv())
}

# A check for functions that draw outside a run; check_generator() of a run
# checks more.
check_unlocked <- function(call = rlang::caller_env()) {
  if (generator_locked()) abort_locked_generator(call)
}

# The value of a simulate() method: a data frame with a column for each of
# `nsim` values of draw(), and the generator's state before as attribute. After
# set.seed(seed) the state of before is restored.
simulated_columns <- function(nsim, seed, rows, draw, call) {
  if (!is.null(seed)) {
    generator <- save_generator()
    on.exit(restore_generator(generator))
    set.seed(check_seed(seed, call))
  } else {
    stats::runif(1) # there may be no state yet
  }
  began <- get(".Random.seed", globalenv())
  values <- lapply(seq_len(nsim), function(s) draw())
  names(values) <- paste0("sim_", seq_len(nsim))
  structure(values, class = "data.frame", seed = began, row.names = rows)
}

abort_locked_generator <- function(call) {
  abort_state(
    c(
      "The random number generator cannot be used: `.Random.seed` is locked.",
      i = "Unlock it with
           {.code unlockBinding(\".Random.seed\", globalenv())}."
    ),
    call = call, class = "generator"
  )
}

# The kinds of generator in use: uniform, normal, sample.
rng_kind <- function() RNGkind()

# The names that R gives the kinds, in the order of the codes it stores.
uniform_kinds <- c(
  "Wichmann-Hill", "Marsaglia-Multicarry", "Super-Duper", "Mersenne-Twister",
  "Knuth-TAOCP", "user-supplied", "Knuth-TAOCP-2002", "L'Ecuyer-CMRG"
)

normal_kinds <- c(
  "Buggy Kinderman-Ramage", "Ahrens-Dieter", "Box-Muller", "user-supplied",
  "Inversion", "Kinderman-Ramage"
)

sample_kinds <- c("Rounding", "Rejection")

# The kinds written in a stream: its first element is
# uniform + 100 * normal + 10000 * sample, each counted from 0.
stream_kind <- function(stream) {
  code <- stream[1]
  c(
    uniform_kinds[code %% 100L + 1L],
    normal_kinds[code %/% 100L %% 100L + 1L],
    sample_kinds[code %/% 10000L + 1L]
  )
}

# Kinds with hidden state that can be neither saved nor restored: a chain on
# them could not be continued bit for bit. ("Buggy Kinderman-Ramage" has no
# hidden state, but is wrong.)
refused_kinds <- list(
  uniform = "user-supplied",
  normal = c("Box-Muller", "user-supplied", "Buggy Kinderman-Ramage")
)

check_generator <- function(kind = rng_kind(), call = rlang::caller_env()) {
  check_unlocked(call)
  abort_refused_kind(kind, "This session's",
    hint = "Use {.code RNGkind(\"default\", \"default\")} first.", call = call
  )
}

# `whose` begins the sentence; `hint` is a template.
abort_refused_kind <- function(kind, whose, hint = NULL, call) {
  refused <- kind[1:2][c(
    kind[1] %in% refused_kinds$uniform, kind[2] %in% refused_kinds$normal
  )]
  if (length(refused) == 0) return(invisible(kind))
  fault <- if (refused[1] %in% "Buggy Kinderman-Ramage") {
    "does not give normal variates"
  } else {
    "keeps hidden state, so that no chain on it could be continued"
  }
  abort_state(
    c(
      "{whose} random number generator is of kind {quoted(refused[1])}, which
       {fault}.",
      i = hint
    ),
    call = call, class = "generator", kind = kind
  )
}

# A stream is a complete .Random.seed, of an accepted kind.
check_stream <- function(stream, whose = "The chain's",
                         call = rlang::caller_env()) {
  whole <- is.integer(stream) && length(stream) > 1
  if (!whole || anyNA(stream_kind(stream))) {
    abort_state("{whose} stream of random numbers is damaged.",
      call = call, class = "generator"
    )
  }
  abort_refused_kind(stream_kind(stream), whose, call = call)
  invisible(stream)
}

# ---- The user's generator, restored -----------------------------------------

save_generator <- function() {
  list(seed = generator_seed(), kind = RNGkind())
}

# A generator that was never seeded stays unseeded, and keeps its kind. Warnings
# are suppressed, because R would repeat its warning about some kinds.
restore_generator <- function(saved) {
  # user code has locked the generator; the chain's error reports this
  if (generator_locked()) return(invisible())
  if (!is.null(saved$seed)) {
    set_generator_seed(saved$seed)
    return(invisible())
  }
  kind <- saved$kind
  suppressWarnings(RNGkind(kind[1], kind[2], kind[3]))
  rm(".Random.seed", envir = globalenv())
  invisible()
}

# The value of `code` on R's default generator from this seed. The user's
# generator is as before.
from_seed <- function(seed, code) {
  saved <- save_generator()
  on.exit(restore_generator(saved))
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  force(code)
}

# ---- Root and streams -------------------------------------------------------

# A whole number in 0, ..., 2^31 - 1 from one uniform of R's generator.
uniform_integer <- function(n) floor(stats::runif(n) * 2^31)

# The root of a run: the user's `seed`, or exactly one uniform of the user's
# generator.
root_seed <- function(seed = NULL, call = rlang::caller_env()) {
  if (!is.null(seed)) return(as.integer(seed))
  check_generator(call = call)
  as.integer(uniform_integer(1))
}

# The streams of chains 1, ..., `chains`, in the user's kind of generator, a
# pure function of root, kind and the chain's number: adding chains does not
# change the first ones.
chain_streams <- function(root, chains, call = rlang::caller_env()) {
  # before the generator is saved, because the root may still have to be drawn
  # from it
  force(root)
  kind <- check_generator(call = call)
  saved <- save_generator()
  on.exit(restore_generator(saved))
  set.seed(root)
  if (identical(kind[1], "L'Ecuyer-CMRG")) {
    streams <- Reduce(
      function(stream, chain) parallel::nextRNGStream(stream),
      seq_len(chains), generator_seed(),
      accumulate = TRUE
    )
    return(streams[-1])
  }
  lapply(distinct_seeds(chains), function(seed) {
    set.seed(seed)
    generator_seed()
  })
}

# The first n different values of a sequence of seeds: without replacement,
# and the first few do not depend on n.
distinct_seeds <- function(n) {
  seeds <- integer()
  while (length(seeds) < n) {
    seeds <- unique(c(seeds, as.integer(uniform_integer(n))))
  }
  seeds[seq_len(n)]
}

# Chains on the same stream are copies of each other: an error.
check_distinct_streams <- function(streams, call = rlang::caller_env()) {
  twin <- anyDuplicated(streams)
  if (twin > 0) {
    first <- match(streams[twin], streams)
    abort_state(
      c(
        "Chains {first} and {twin} use the same random numbers: one would copy
         the other.",
        i = "A function for {.arg inits} must not call {.fn set.seed}."
      ),
      call = call, class = "streams", chains = c(first, twin)
    )
  }
  invisible(streams)
}

# Evaluates `code` on a stream: returns its value and the stream after it. The
# user's generator is always restored, also after an error.
with_stream <- function(stream, code, call = rlang::caller_env()) {
  check_stream(stream, call = call)
  saved <- save_generator()
  on.exit(restore_generator(saved))
  set_generator_seed(stream)
  value <- force(code)
  after <- generator_seed()
  if (!identical(after[1], stream[1])) {
    abort_state(
      c(
        "Code that ran on a chain's stream changed the kind of random number
         generator.",
        i = "Do not call {.fn RNGkind} in a function given to a sampler."
      ),
      call = call, class = "generator"
    )
  }
  list(value = value, stream = after)
}

# The stream on which a chain's sampler draws: a separate one if user code uses
# the chain's stream. If log densities have a separate stream (`asked`), the
# sampler uses the chain's stream.
sampler_stream <- function(chain) {
  apart <- if (is.null(chain$state$asked)) chain$state$own
  apart %||% chain$rng
}

# A warning if streams that differed at the start are now the same, because a
# function of the user sets a seed.
warn_same_streams <- function(job) {
  streams <- lapply(job$chains, sampler_stream)
  twin <- anyDuplicated(streams)
  if (twin > 0L && job$outcome %in% endings) {
    first <- match(streams[twin], streams)
    warn_gibbsite(
      c(
        "Chains {first} and {twin} end with the same stream of random numbers:
         they may be copies of each other.",
        i = "A function given to a sampler must not call {.fn set.seed}."
      ),
      class = "streams"
    )
  }
}

# Streams beyond those of the chains, by purpose. The numbers never change: the
# draws of a seed depend on them. A fold of kfold() and compare_k() has a seed
# of its own, so that its numbers may be those of other purposes.
spare_streams <- c(
  # draws of an approximation for its check
  check_draws = 1L,
  # the points that a check adds to the draws
  check_points = 5L,
  # random numbers of a user's density in a check
  check_density = 4L,
  # replicated data of a plot
  plot = 2L,
  # the searches for a mode of laplace() and of mh_sample()
  laplace_search = 3L, mh_search = 6L,
  # the first simulations of sbc() and geweke_joint()
  pilot = 7L,
  # log_lik() of a fold; the score of each of several fits on it
  fold = 1L, fold_score = 2L,
  # the deviations of groups that gibbs_hlm() does not store
  deviations = 8L,
  # the first of the chains that log_evidence() continues
  continued_chain = 9L
)

# The stream of a purpose; `k`: of the k-th of several.
spare_stream <- function(seed, chains, purpose, call, k = 0L) {
  number <- chains + spare_streams[[purpose]] + k
  chain_streams(seed[[1L]], number, call)[[number]]
}

check_same_kind <- function(kind, call) {
  if (!identical(generator_seed()[1L], kind)) {
    abort_state(
      c("A function given to the sampler changed the kind of random number
         generator.",
        i = "It must put the kind back: {.code on.exit(RNGkind(old[1], old[2],
             old[3]))}."),
      call = call, class = "generator"
    )
  }
}
