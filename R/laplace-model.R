# The model of every Laplace approximation, for the driver: a sweep is one
# independent draw from N(map, precision^-1), or with `correct = "importance"` a
# step of a chain with independent proposals around it.

# map: the mode; precision_factor: lower triangular L, L L' = minus the Hessian
# of the log joint density there.  Draws need only these two, and they are kept
# also if the user's data, in `frame`, are dropped.
#
# correct: "none" or "importance".  point_seconds: the approximate time of the
# log joint density at one point; NA: unknown.
new_laplace_model <- function(class, name, title, headline, map,
                              precision_factor, prior, nobs, columns, frame,
                              correct, point_seconds = NA_real_, ...) {
  new_model(
    c(class, "laplace_model"),
    name = name, title = title, headline = headline,
    data = list(
      map = as.double(map),
      precision_factor = matrix(as.double(precision_factor), length(map))
    ),
    prior = prior, nobs = nobs, columns = columns, data_part = "frame",
    independent = correct == "none", frame = frame, correct = correct,
    point_seconds = point_seconds, ...
  )
}

#' @exportS3Method
model_start.laplace_model <- function(model, init) {
  if (is_corrected(model)) {
    return(corrected_start(model))
  }
  map <- model$data$map
  # eight draws are made at a time (core/laplace/laplace.h); at first none is
  # stored
  list(sweep = 0, w = map, ahead = numeric(8 * length(map)), used = 8)
}

#' @exportS3Method
model_sweeps.laplace_model <- function(model, state, n, control) {
  if (is_corrected(model)) {
    return(corrected_sweeps(model, state, n, control))
  }
  .Call(C_laplace_sweeps, model$data, state, n, control)
}

#' @exportS3Method
model_algorithm.laplace_model <- function(model) "laplace"

#' @exportS3Method
set_data.laplace_model <- function(model, data,
                                   call = rlang::caller_env()) {
  abort_argument(
    c(
      "`data` are not needed to draw on from a Laplace approximation.",
      i = "Leave `data` out."
    ),
    call = call
  )
}

# log p(y | w) p(w) at the mode, plus the log volume of the normal approximation
# of the posterior (MacKay 2003, eq. 27.9).
laplace_log_evidence <- function(log_joint_map, precision_factor) {
  p <- nrow(precision_factor)
  log_joint_map + p / 2 * log(2 * pi) - sum(log(diag(precision_factor)))
}

# ---- Mode, standard deviations, covariance -----------------------------------

is_corrected <- function(model) identical(model$correct, "importance")

# Whether the draws are of the posterior itself, and not of a normal
# approximation.
draws_posterior <- function(model) {
  model_algorithm(model) != "laplace" || is_corrected(model)
}

laplace_mode <- function(model) {
  stats::setNames(model$data$map, model$columns)
}

laplace_sd <- function(model) sqrt(diag(laplace_covariance(model)))

laplace_covariance <- function(model) {
  covariance <- chol2inv(t(model$data$precision_factor))
  dimnames(covariance) <- list(model$columns, model$columns)
  covariance
}

# ---- Draws, and the corrected chain ------------------------------------------

# log N(w | map, Sigma) for the rows of w, up to -p/2 log(2 pi) + log |L|:
# minus half of |L'(w - map)|^2. Sums are in a fixed order and do not use BLAS,
# because the result is used in a chain.
log_normal_kernel <- function(model, w) {
  factor <- model$data$precision_factor
  away <- w - rep(model$data$map, each = nrow(w))
  squares <- 0
  p <- ncol(w)
  for (j in seq_len(p)) {
    below <- j:p
    along <- rep(factor[below, j], each = nrow(w))
    squares <- squares + rowSums(away[, below, drop = FALSE] * along)^2
  }
  -squares / 2
}

log_normal_constant <- function(model) {
  factor <- model$data$precision_factor
  -nrow(factor) / 2 * log(2 * pi) + sum(log(diag(factor)))
}

# The running arguments that make sense for a Laplace approximation. Independent
# draws need no burn-in, a corrected chain does.
laplace_running <- function(correct, draws, call) {
  running_of(
    call, draws = check_count(draws, max = .Machine$integer.max, call = call),
    burnin = if (correct == "importance") 20 else 0, keep_choices = character()
  )
}

corrected_proposals <- 15L

corrected_df <- 5

# list(w, log_weight, asked): n draws with their weights. A user's density is
# evaluated with the stream `asked` as R's generator, which it may use or set;
# NULL if the density is not a user's.
draw_weighted <- function(model, n, asked) {
  pool <- draw_proposals(model, n)
  log_joint <- if (is.null(asked)) {
    list(value = model_log_joint(model, pool$w))
  } else {
    with_stream(asked, model_log_joint(model, pool$w), NULL)
  }
  list(
    w = pool$w, log_weight = log_joint$value - pool$log_t,
    asked = log_joint$stream
  )
}

# `n` independent draws of N(map, Sigma), n x p, from the current state of the
# generator.
draw_normal <- function(model, n) {
  model$correct <- "none"
  control <- list(burnin = 0, thin = 1, threads = 1)
  interrupt_or(
    model_sweeps(model, model_start(model, NULL), n, control)
  )$draws
}

# `n` independent draws of the multivariate t distribution about the mode with
# scale Sigma, n x p, and the log density of the t, up to a constant: log
# weights are the log density minus this. The tails of the t are heavier than
# those of posteriors with normal priors, so that weights are bounded. With
# normal proposals they may have infinite variance.
draw_proposals <- function(model, n) {
  map <- model$data$map
  normal <- draw_normal(model, n)
  stretch <- sqrt(corrected_df / stats::rchisq(n, corrected_df))
  centre <- rep(map, each = n)
  w <- centre + (normal - centre) * stretch
  distance <- -2 * log_normal_kernel(model, w)
  log_t <- -(corrected_df + length(map)) / 2 * log1p(distance / corrected_df)
  list(w = w, log_t = log_t)
}

# The first point: one of a sample, chosen with probability proportional to its
# weight.
corrected_start <- function(model) {
  asked <- if (!is.null(model$frame$log_density)) {
    side_stream(generator_seed())
  }
  for (attempt in 1:50) {
    pool <- draw_weighted(model, corrected_proposals + 1L, asked)
    asked <- pool$asked
    if (any(pool$log_weight > -Inf)) {
      chosen <- pick_by_weight(pool$log_weight)
      state <- list(
        sweep = 0, w = pool$w[chosen, ], log_weight = pool$log_weight[[chosen]]
      )
      state$asked <- asked
      return(state)
    }
  }
  abort_numeric(
    c("No draw around the mode has a positive density.",
      i = "The approximation is useless here: it cannot be corrected."),
    call = NULL
  )
}

pick_by_weight <- function(log_weight) {
  partial <- cumsum(exp(log_weight - max(log_weight)))
  u <- stats::runif(1) * partial[[length(partial)]]
  min(1L + sum(partial <= u), length(partial))
}

# Iterated sampling importance resampling (Andrieu, Lee & Vihola 2018,
# doi:10.3150/15-BEJ785, section 1): given the current point, M proposals; then
# one of the M + 1 points with probability proportional to its weight. Both
# steps are conditionals of a joint distribution whose margin is the target, so
# that they leave the target invariant.
corrected_sweeps <- function(model, state, n, control) {
  kept <- scan_kept(state$sweep, n, control)
  draws <- matrix(0, sum(kept), length(state$w))
  row <- 0L
  for (i in seq_len(n)) {
    pool <- draw_weighted(model, corrected_proposals, state$asked)
    state$asked <- pool$asked
    chosen <- pick_by_weight(c(state$log_weight, pool$log_weight)) - 1L
    if (chosen > 0L) {
      state$w <- pool$w[chosen, ]
      state$log_weight <- pool$log_weight[[chosen]]
    }
    if (kept[[i]]) {
      row <- row + 1L
      draws[row, ] <- state$w
    }
  }
  state$sweep <- state$sweep + n
  list(
    state = state, draws = draws, rng = get(".Random.seed", globalenv())
  )
}

# Which of the next n sweeps are kept: as scan_sweeps() in core/run/scan.h.
scan_kept <- function(sweep, n, control) {
  past <- sweep + seq_len(n) - control$burnin
  past > 0 & past %% control$thin == 0
}
