# A chain and one segment of it.
#
# A chain is a value: list(state, rng, chunks, drawn, pace, seconds, ...),
# where
#   state    what the model's next sweep needs; state$sweep counts sweeps
#   rng      its own .Random.seed
#   chunks   list of matrices of the draws that are kept, oldest first
#   drawn    number of draws made so far (with those of a continued fit)
#   left     number of draws made before those in `chunks`; of the later ones
#   stride   each `stride`-th is kept (R/run-kept.R)
#   pace     number of sweeps of the next segment; it never affects a draw
#   seconds  time of its sweeps, as that of the later ones of a call: in the
#            first two segments R loads packages and compiles functions
#   segments number of segments in this call
#   untimed  number of its sweeps that `seconds` lacks
#   from     NULL, or the sweeps after which its draws began anew (R/run-rule.R)
#   order    NULL, or its numbers of the fit's components (R/run-pool.R)
#
# A chain that has not begun has the state list(sweep = 0, begun = FALSE), and
# its rng is the stream on which its starting values will be drawn.

new_chain <- function(state, rng, chunks = list(), drawn = 0, seconds = 0,
                      from = NULL, order = NULL, left = 0, stride = 1) {
  chain <- list(
    state = state, rng = rng, chunks = chunks, drawn = drawn, left = left,
    stride = stride, pace = 1, seconds = seconds, segments = 0, untimed = 0
  )
  chain$from <- from
  chain$order <- order
  chain
}

common_draws <- function(chains) {
  min(vapply(chains, function(chain) as.numeric(chain$drawn), 0))
}

# The kept draws of a chain as one matrix with names.
chain_draws <- function(job, k) {
  parts <- job$chains[[k]]$chunks
  all <- if (length(parts) == 1L) parts[[1L]] else do.call(rbind, parts)
  if (is.null(all)) {
    all <- matrix(0, 0L, length(job$model$columns))
  }
  dimnames(all) <- list(NULL, job$model$columns)
  all
}

control_of <- function(job) {
  list(
    burnin = job$running$burnin, thin = job$running$thin,
    threads = job$settings$threads
  )
}

# ---- One segment ------------------------------------------------------------

# One call of the model. A segment ends at the end of burn-in, so that its
# sweeps are either all burn-in or all after it. NULL: interrupted.
run_segment <- function(chain, model, control, until) {
  sweep <- chain$state$sweep
  end <- if (sweep < control$burnin) min(control$burnin, until) else until
  n <- min(chain$pace, end - sweep)
  # check for an interrupt here: a short segment may finish before C does
  Sys.sleep(0)
  set_generator_seed(chain$rng)
  run <- model_sweeps(model, chain$state, n, control)
  if (is.null(run)) NULL else model_numbered(model, run, chain$state)
}

# The result of a segment, NULL if it was interrupted, or its error.
try_segment <- function(chain, model, control, until) {
  tryCatch(
    allowInterrupts(run_segment(chain, model, control, until)),
    interrupt = function(cnd) NULL,
    error = function(cnd) cnd
  )
}

# The chain after a segment that took `seconds`; segments aim at `aim` seconds.
accept_segment <- function(chain, result, seconds, aim) {
  swept <- result$state$sweep - chain$state$sweep
  chain$state <- result$state
  chain$rng <- result$rng
  fresh <- nrow(result$draws)
  if (fresh > 0) {
    chain$chunks <- c(chain$chunks, thinned(
      list(result$draws), chain$drawn + seq_len(fresh), chain$left, chain$stride
    ))
    chain$drawn <- chain$drawn + fresh
  }
  chain <- count_time(chain, swept, seconds)
  if (swept > 0) {
    wanted <- floor(swept * aim / max(seconds, 1e-6))
    chain$pace <- max(1, min(wanted, 8 * max(swept, chain$pace)))
  }
  chain
}

count_time <- function(chain, swept, seconds) {
  chain$segments <- chain$segments + 1
  chain$untimed <- chain$untimed + swept
  if (chain$segments > 2 && swept > 0) {
    chain$seconds <- chain$seconds + seconds * chain$untimed / swept
    chain$untimed <- 0
  }
  chain
}

# The time of `sweeps` further sweeps of every chain, from the times of the
# sweeps that a fit has made; NA if these are not known.
seconds_of_sweeps <- function(fit, sweeps) {
  run <- fit_part(fit, "run")
  made <- vapply(fit_part(fit, "chains"), function(chain) {
    as.numeric(chain$state$sweep)
  }, 0)
  seconds <- run$elapsed$chains
  if (length(seconds) != length(made) || !all(seconds > 0)) {
    return(NA_real_)
  }
  at_once <- max(1, min(run$cores, length(made)))
  sum(seconds / made) * sweeps / at_once
}

add_failure <- function(job, k, cnd) {
  job$outcome <- "failed"
  job$failures[[length(job$failures) + 1L]] <- list(
    chain = k, sweep = job$chains[[k]]$state$sweep, condition = cnd
  )
  job
}

# ---- Interrupts -------------------------------------------------------------

# Evaluates `code`; its value is `otherwise` if an interrupt stops it. Sockets,
# forks and Sys.sleep() allow interrupts even while they are suspended. Code
# whose result must not be lost to such an interrupt is evaluated here.
cut_short <- function(code, otherwise = NULL) {
  tryCatch(code, interrupt = function(cnd) otherwise)
}

# Whether an interrupt arrived while interrupts were suspended. It is handled
# here.
drain_interrupts <- function() {
  cut_short(
    {
      allowInterrupts(Sys.sleep(0.001))
      FALSE
    },
    otherwise = TRUE
  )
}
