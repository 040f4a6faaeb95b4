# laplace(): the Laplace approximation of any density, and the model of every
# Laplace approximation. A fit holds independent draws of N(map, Sigma), where
# Sigma^-1 = L L' is minus the Hessian of the log density at its maximum.

#' Laplace approximation of any density
#'
#' Approximates a density by a normal distribution at its mode: for
#' \eqn{\log q(\theta)}{log q(theta)}, known up to a constant,
#' \deqn{p(\theta) \approx \mathrm{N}(\theta \mid \hat\theta, \Sigma), \quad
#'   \hat\theta = \arg\max \log q(\theta), \quad
#'   \Sigma^{-1} = -\nabla^2 \log q(\hat\theta),}{
#'   p(theta) ~ N(theta | map, Sigma), map = arg max log q(theta),
#'   Sigma^-1 = -(Hessian of log q at the mode),}
#' \deqn{\log \int q(\theta)\, d\theta \approx \log q(\hat\theta) +
#'   \tfrac{p}{2} \log 2\pi + \tfrac12 \log |\Sigma|.}{
#'   log integral of q ~ log q(map) + p/2 log(2 pi) + 1/2 log |Sigma|.}
#' When \eqn{q} is likelihood times prior, the integral is the evidence
#' (marginal likelihood). The result is an approximation, and the printed fit
#' says so. [importance_check()] measures its quality, and `correct =
#' "importance"` draws from the density itself.
#'
#' The mode is found by [stats::nlminb()] and then by Newton's method with step
#' halving, until the next step would raise the log density by less than 1e-10.
#' If this ends at an edge of the density, or where it is no peak, the search of
#' [mh_sample()] is made from `init` (see [mh_start]), and then Newton's method
#' again. Derivatives that are not given are computed numerically, by the
#' numDeriv package (Richardson's extrapolation), for which `log_density` must
#' be finite and smooth around the mode. Their steps follow the width of the
#' density, so that units and the place of the mode do not matter. A Hessian
#' takes some
#' \eqn{4 p^2}{4 p^2} values of `log_density` (\eqn{2 p^2}{2 p^2} above 30
#' parameters), but \eqn{4 p}{4 p} of `gradient`. Use parameters without bounds
#' (a log standard deviation, a logit): the density is then also closer to a
#' normal density. Remember to include the Jacobian.
#'
#' @section Stored quantities:
#' One column for each parameter, under the names of `init`; without names
#' `theta[1]`, `theta[2]`, ...
#'
#' @section Use of the fit: [coef()] gives the mode and [vcov()] the covariance
#' matrix, both with the names of `init`; they can serve as the start and the
#' proposal of another sampler. The draws are independent, so that there is no
#' burn-in and nothing to converge. R-hat says nothing about the error of the
#' approximation.
#'
#' @param log_density A function of one numeric vector, with the names of
#'   `init`, that returns the log density up to a constant: one number, `-Inf`
#'   where the density is zero. Only the evidence depends on the constant.
#' @param init Where the search starts: finite numbers, with or without names;
#'   the density must be positive there.
#' @param gradient,hessian `NULL`, or functions like `log_density` that return
#'   its gradient (a vector) and its matrix of second derivatives.
#' @param ... Further arguments of `log_density`, `gradient` and `hessian`.
#'   Arguments of `laplace()` itself need their whole names.
#' @param method `"BFGS"` (default), the quasi-Newton method of
#'   [stats::nlminb()]. Or `"gradient"`, gradient ascent with the step `rho`,
#'   for teaching: \eqn{\theta \leftarrow \theta + \rho \nabla \log
#'   q(\theta)}{theta <- theta + rho * (gradient of log q)}, at most 10,000
#'   times, until a step is below 1e-7 of \eqn{1 + |\theta|}{1 + |theta|}.
#'   `plot(fit, type = "path")` draws its path.
#' @param rho For `method = "gradient"` alone, which needs it: a positive
#'   number, the same in every step. The ascent is stable around the mode if it
#'   is below 2 / the largest eigenvalue of \eqn{\Sigma^{-1}}{Sigma^-1}; far
#'   smaller ones take many steps.
#' @param correct `"none"` (default): independent draws of the normal
#'   approximation. `"importance"`: draws of the density itself, see
#'   [importance_check()]. Such a draw takes 15 evaluations of the density.
#' @param draws Whole number, 1 or more (default 1000): the draws kept in each
#'   chain.
#' @param chains,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @return An object of class `gibbsite_laplace`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]. It has the methods [coef()], [vcov()], [confint()],
#'   [summary()][summary.gibbsite_laplace], [plot()][plot.gibbsite_laplace],
#'   [importance_check()], [log_evidence()],
#'   [anova()][anova.gibbsite_laplace] and all methods of a [gibbsite_fit].
#' @section Several modes:
#' The approximation is of the mode that the search reaches from `init`. With 30
#' parameters at most a second search begins on the other side of `init`, if
#' that is far from the mode. If it ends at another mode with more than 0.1% of
#' the mass of both (by their normal approximations), a warning of class
#' `gibbsite_warning_region` and `print()` say so. No search finds all modes.
#'
#' @section Errors:
#' `gibbsite_error_argument` for arguments of the wrong kind and a start where
#' the density is zero; `gibbsite_error_numeric` when `log_density`, `gradient`
#' or `hessian` fails, or returns NaN or the wrong number of values, when no
#' maximum is found, when the Hessian at the point found is not negative
#' definite, and when `gradient` or `hessian` there differs from the derivatives
#' of `log_density`. Each of these names the point. Gradient ascent that falls
#' below the density of `init`, leaves the density, or does not reach the mode
#' is an error of class `gibbsite_error_rho`, which names `rho` and the step.
#' @references
#' Tierney L, Kadane JB (1986). Accurate approximations for posterior moments
#' and marginal densities. *Journal of the American Statistical Association* 81,
#' 82-86. \doi{10.1080/01621459.1986.10478240}
#' @seealso [laplace_logistic()] for logistic regression.
#' @examples
#' # mean and log standard deviation of eruptions of at least three minutes,
#' # flat prior
#' long <- faithful$eruptions[faithful$eruptions >= 3]
#' log_density <- function(theta) {
#'   sum(dnorm(long, theta[["mean"]], exp(theta[["log_sd"]]), log = TRUE))
#' }
#' fit <- laplace(log_density, c(mean = 4, log_sd = 0), seed = 1)
#' fit
#' coef(fit)
#' confint(fit)
#'
#' # the path of gradient ascent
#' fit <- laplace(log_density, c(mean = 4, log_sd = 0), seed = 1,
#'                method = "gradient", rho = 0.001)
#' plot(fit, type = "path")
#' @export
laplace <- function(log_density, init, gradient = NULL, hessian = NULL, ...,
                    method = c("BFGS", "gradient"), rho = NULL,
                    correct = c("none", "importance"), draws = 1000,
                    chains = 4, cores = getOption("mc.cores", 1L), seed = NULL,
                    checkpoint = NULL, stop_when = NULL,
                    progress = TRUE, keep_data = TRUE) {
  if (has_short_names()) return(with_whole_names())
  check_needed(log_density = "a function", init = "where the search begins")
  call <- rlang::current_env()
  method <- check_choice(method, c("BFGS", "gradient"))
  rho <- check_rho(rho, method, call)
  correct <- check_choice(correct, c("none", "importance"))
  init <- check_density_init(init, call)
  running <- laplace_running(correct, draws, call)
  check_square_size(
    length(init), 6, "The Hessian of {.arg log_density} at {.arg init} has",
    "Use {.fn mh_sample} with {.fn langevin}, which needs none", call
  )
  check_function(log_density, "log_density", call = call)
  extra <- check_extra(
    list(...), log_density, "log_density", "the point", call, "laplace"
  )
  density <- new_density(
    log_density,
    check_function(gradient, "gradient", null_ok = TRUE, call = call),
    check_function(hessian, "hessian", null_ok = TRUE, call = call),
    names(init), extra
  )
  model <- search_model(density, init, method, correct, rho)
  run_chains(model, running, match.call(), call)
}

check_rho <- function(rho, method, call) {
  if (method == "gradient") {
    return(check_number(rho, 0, lower_open = TRUE, arg = "rho", call = call))
  }
  if (!is.null(rho)) {
    abort_argument(
      c("{.arg rho} is the step of {.code method = \"gradient\"} alone.",
        i = "Leave it out. If {.arg log_density} has an argument of this name,
             give it another."),
      call = call
    )
  }
}

# ---- The search for the mode ------------------------------------------------

# Two models are behind laplace(). The first is the search for the mode, a run
# that Ctrl-C can stop. Preparing it gives the second, the approximation.

# laplace() before its mode is found. Its state is the list of values that the
# user's functions have returned so far, in order, and the generator after the
# last of them. A continued search replays these values without calling the
# functions, and so reaches the point where it was interrupted.
search_model <- function(density, init, method, correct, rho) {
  model <- new_model(
    c("laplace_search_model", "unfinished_model"),
    name = "laplace", fit_class = "gibbsite_laplace",
    title = "Density", headline = NULL, data = list(),
    data_part = NULL, prior = NULL, nobs = NA_integer_,
    columns = density$names
  )
  model$frame <- density
  model$search <- list(
    init = init, method = method, correct = correct, stream = NULL,
    values = list(), seed = NULL, best = NULL
  )
  model$search$rho <- rho
  say_search(model)
}

# The headline shows the progress of the search.
say_search <- function(model) {
  p <- length(model$columns)
  best <- model$search$best
  calls <- length(model$search$values)
  model$headline <- paste0(
    "Density of ", counted(p, "parameter"), "; its mode is yet to be found",
    if (!is.null(best)) {
      paste0("\n", cli::pluralize(
        "The search has called it {calls} time{?s}; highest so far: ",
        "{format(best$value, digits = 7)} at {point_words(best$theta)}"
      ))
    }
  )
  model
}

# The search has a separate stream, because a density may draw random numbers.
#' @exportS3Method
model_prepare.laplace_search_model <- function(model, running, call) {
  search <- model$search
  if (is.null(search$stream)) {
    search$stream <- spare_stream(
      running$seed, running$chains, "laplace_search", call
    )
  }
  density <- model$frame
  density$record <- new_record(search)
  found <- cut_short(allowInterrupts(with_stream(
    search$stream, {
      found <- find_mode(density, search$init, search$method, search$rho, call)
      found$another <- other_density_mode(density, search$init, found, call)
      found
    }, call
  )))
  if (is.null(found)) {
    search[c("values", "seed", "best")] <- recorded_search(density$record)
    model$search <- search
    return(say_search(model))
  }
  out <- density_model(
    model$frame, found$value, search$method, search$correct
  )
  # of gradient ascent alone
  out[c("path", "trace", "another")] <-
    found$value[c("path", "trace", "another")]
  out$rho <- search$rho
  out
}

# list(map, share): another mode on the other side of `init`, and the part of
# the mass of both that normal densities give it; NULL if none is seen.
other_density_mode <- function(density, init, found, call) {
  d <- length(init)
  if (d > 30L) {
    return(NULL)
  }
  seen <- count_evaluations(
    density_or_zero(density, call), NULL, search_bound(d)
  )
  first <- list(
    centre = found$map, top = found$value,
    factor = t(chol(chol2inv(t(found$factor))))
  )
  end <- another_mode(seen, as.double(init), first)
  if (!is.null(end)) {
    share <- stats::plogis(log_mass(end) - log_mass(first))
    if (share > 0.001) list(map = end$centre, share = share)
  }
}

# ---- The approximation ------------------------------------------------------

#' @exportS3Method
model_faults.laplace_density_model <- function(model, fit) {
  other_mode_line(model)
}

#' @exportS3Method
model_notes.laplace_density_model <- function(model, fit, table) {
  other_mode_line(model)
}

other_mode_line <- function(model) {
  if (is.null(model$another)) {
    return(NULL)
  }
  at <- point_words(stats::setNames(model$another$map, model$columns))
  paste0(
    "The density has another mode, at ", at, ", with about ",
    format(100 * model$another$share, digits = 2L), "% of the mass of both. ",
    "The chains are those of one mode alone; `mh_sample()` draws from the ",
    "whole density."
  )
}

density_model <- function(density, found, method, correct) {
  new_laplace_model(
    "laplace_density_model",
    name = "laplace", fit_class = "gibbsite_laplace", title = "Density",
    headline = paste0(
      "Density of ", counted(length(density$names), "parameter"),
      "; Laplace approximation"
    ), map = found$map,
    precision_factor = found$factor, prior = NULL, nobs = NA_integer_,
    columns = density$names, log_joint_map = found$value,
    log_evidence = laplace_log_evidence(found$value, found$factor),
    iterations = found$iterations, method = method, correct = correct,
    frame = density, arguments_at = c("frame", "arguments"),
    given = given_density
  )
}

# The log density of a corrected fit, which is called for its draws.
#' @exportS3Method
set_data.laplace_density_model <- function(model, data,
                                           call = rlang::caller_env()) {
  data <- check_function(data, "log_density", call = call)
  if (is.null(model$frame)) {
    abort_no_data("log_density", call)
  }
  if (!same_code(model$frame$log_density, data)) {
    model$data_hash <- hash_functions(data)
  }
  model$frame$log_density <- data
  model
}

#' @exportS3Method
model_log_joint.laplace_density_model <- function(model, w) {
  density <- model$frame
  if (is.null(density)) {
    abort_no_data(call = rlang::call2("laplace"))
  }
  density_value(density, w, rlang::call2("laplace"))
}

# ---- The model of every Laplace approximation --------------------------------

# For the driver a sweep is one independent draw from N(map, precision^-1), or
# with `correct = "importance"` a step of a chain with independent proposals
# around it.

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
