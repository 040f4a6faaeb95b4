# Laplace approximation of any density, and the correction of a Laplace
# approximation by importance.  A fit holds independent draws of
# N(map, Sigma), Sigma^-1 = L L' being minus the Hessian of the log density at
# its maximum (R/laplace-draws.R); what a fit answers is in laplace-answers.R.

# ---- laplace() -----------------------------------------------------------

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
#' (marginal likelihood). The result is an approximation, and the fit says so;
#' [importance_check()] measures how good it is, and `correct = "importance"`
#' draws from the density itself.
#'
#' The mode is searched by [stats::optim()] and then by Newton's method with
#' step halving, until the next step would raise the log density by less than
#' 1e-10. Derivatives that are not given are computed numerically, by the
#' numDeriv package (Richardson's extrapolation), for which `log_density` must
#' be finite and smooth around the mode. A density is best given in parameters
#' without bounds (a log standard deviation, a logit), in which it is also
#' closer to a normal one; mind the Jacobian.
#'
#' @section Stored quantities:
#' One column for each parameter, under the names of `init`; without names
#' `theta[1]`, `theta[2]`, ...
#'
#' @section What the fit is good for later:
#' [coef()] gives the mode and [vcov()] the covariance matrix, both under the
#' names of `init`: a start and a proposal for any sampler. The draws are
#' independent, so that there is no burn-in and nothing that could fail to
#' converge; R-hat tells nothing about the error of the approximation.
#'
#' @section Correction:
#' With `correct = "importance"` each chain is an iterated sampling importance
#' resampling (Andrieu, Lee and Vihola 2018): every sweep draws 15 points from a
#' multivariate t distribution with 5 degrees of freedom, with
#' \eqn{\hat\theta}{the mode} as its centre and \eqn{\Sigma}{Sigma} as its
#' scale; adds the current point; and picks one of the 16 with probability in
#' proportion to its weight, density over t density. This leaves the density
#' itself invariant, whatever the approximation; how well the chain moves
#' depends on it, and is judged by R-hat and effective sample sizes as of any
#' chain. (The chain is uniformly ergodic where the weights are bounded, as they
#' are for posteriors with normal priors. Weights of normal proposals need not
#' be.) The first 20 sweeps are burn-in. It takes 15 evaluations of the density
#' a draw.
#'
#' @param log_density A function of one numeric vector, with the names of
#'   `init`, that returns the log density up to a constant: one number, `-Inf`
#'   where the density is zero. The constant matters for the evidence alone.
#' @param init Where the search starts: finite numbers, with or without names;
#'   the density must be positive there.
#' @param gradient,hessian `NULL`, or functions like `log_density` that return
#'   its gradient (a vector) and its matrix of second derivatives.
#' @param ... Further arguments of `log_density`, `gradient` and `hessian`.
#' @param method The method of [stats::optim()]: `"BFGS"` (default), `"CG"` or
#'   `"Nelder-Mead"`, which needs no gradient to start with.
#' @param correct `"none"` (default): independent draws of the normal
#'   approximation. `"importance"`: draws of the density itself, see below.
#' @inheritParams running
#' @return An object of class `laplace`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]. It answers [coef()], [vcov()], [confint()],
#'   [summary()][summary.laplace], [plot()][plot.laplace], [importance_check()],
#'   [log_evidence()], [anova()][anova.laplace] and whatever else a
#'   [gibbsite_fit] does.
#' @section Errors:
#' `gibbsite_error_argument` for arguments of the wrong kind and a start where
#' the density is zero; `gibbsite_error_numeric` when `log_density`, `gradient`
#' or `hessian` fails, or returns NaN or the wrong number of values, when there
#' is no maximum to be found, when the Hessian at the point found is not
#' negative definite, and when `gradient` or `hessian` turns out there not to be
#' that of `log_density`. Each says at which point.
#' @references
#' Tierney L, Kadane JB (1986). Accurate approximations for posterior moments
#' and marginal densities. *Journal of the American Statistical Association* 81,
#' 82-86. \doi{10.1080/01621459.1986.10478240}
#'
#' Andrieu C, Lee A, Vihola M (2018). Uniform ergodicity of the iterated
#' conditional SMC and geometric ergodicity of particle Gibbs samplers.
#' *Bernoulli* 24, 842-872. \doi{10.3150/15-BEJ785}
#' @seealso [laplace_logistic()] for logistic regression.
#' @examples
#' # mean and log standard deviation of eruptions of at least three minutes,
#' # flat prior
#' long <- faithful$eruptions[faithful$eruptions >= 3]
#' log_density <- function(theta) {
#'   sum(dnorm(long, theta[["mean"]], exp(theta[["log_sd"]]), log = TRUE))
#' }
#' if (requireNamespace("numDeriv", quietly = TRUE)) {
#'   fit <- laplace(log_density, c(mean = 4, log_sd = 0), seed = 1)
#'   print(fit)
#'   coef(fit)
#'   confint(fit)
#' }
#' @export
laplace <- function(log_density, init, gradient = NULL, hessian = NULL, ...,
                    method = c("BFGS", "CG", "Nelder-Mead"),
                    correct = c("none", "importance"), draws = 1000,
                    chains = 4, cores = getOption("mc.cores", 1L), seed = NULL,
                    checkpoint = NULL, stop_when = NULL,
                    progress = interactive(), keep_data = TRUE) {
  check_needed(log_density = "a function", init = "where the search begins")
  call <- rlang::current_env()
  method <- check_choice(method, c("BFGS", "CG", "Nelder-Mead"))
  correct <- check_choice(correct, c("none", "importance"))
  init <- check_density_init(init, call)
  running <- running(
    draws = draws, burnin = laplace_burnin(correct), thin = 1, chains = chains,
    inits = NULL, threads = 1, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_data = keep_data, call = call
  )
  check_square_size(
    length(init), 6, "The Hessian of {.arg log_density} at {.arg init} has",
    "Use {.fn mh_sample} with {.fn langevin}, which needs none", call
  )
  density <- new_density(
    check_density_function(log_density, "log_density", call = call),
    check_density_function(gradient, "gradient", null_ok = TRUE, call = call),
    check_density_function(hessian, "hessian", null_ok = TRUE, call = call),
    names(init), list(...)
  )
  model <- search_model(density, init, method, correct)
  run_chains(model, running, match.call(), call)
}

# ---- the search as a part of the run ---------------------------------------

# laplace() before its mode is found.  Its state is what the user's functions
# have returned so far, in order, and the generator after the last of them: a
# search that was interrupted goes through these again without a call and is
# then where it was.
search_model <- function(density, init, method, correct) {
  model <- new_model(
    c("laplace_search_model", "unfinished_model"),
    name = "laplace", title = "Density", data = NULL, prior = NULL,
    nobs = NA_integer_, columns = density$names
  )
  model$frame <- density
  model$search <- list(
    init = init, method = method, correct = correct, stream = NULL,
    values = list(), seed = NULL, best = NULL
  )
  model
}

# The search has a stream of its own, for a density may draw random numbers.
#' @exportS3Method
model_prepare.laplace_search_model <- function(model, running, call) {
  search <- model$search
  if (is.null(search$stream)) {
    search$stream <- spare_stream(running$seed, running$chains, 3L, call)
  }
  density <- model$frame
  density$record <- new_record(search)
  found <- cut_short(allowInterrupts(with_stream(
    search$stream,
    find_mode(density, search$init, search$method, call), call
  )))
  if (is.null(found)) {
    search[c("values", "seed", "best")] <- recorded_search(density$record)
    model$search <- search
    return(model)
  }
  density_model(model$frame, found$value, search$method, search$correct)
}

#' @exportS3Method
model_headline.laplace_search_model <- function(model) {
  p <- length(model$columns)
  best <- model$search$best
  calls <- length(model$search$values)
  paste0(
    cli::pluralize("Density of {p} parameter{?s}; its mode is yet to be found"),
    if (!is.null(best)) {
      paste0("\n", cli::pluralize(
        "The search has called it {calls} time{?s}; highest so far: ",
        "{format(best$value, digits = 7)} at {point_words(best$theta)}"
      ))
    }
  )
}

# A search that is not over cannot go on without its density.
#' @exportS3Method
model_without_data.laplace_search_model <- function(model) model
#' @exportS3Method
model_has_data.laplace_search_model <- function(model) TRUE

new_record <- function(search) {
  record <- new.env(parent = emptyenv())
  record$at <- 0L
  record$values <- search$values
  record$known <- length(search$values)
  record$seed <- search$seed
  record$best <- search$best
  record
}

# What a function of the user returned at this place of the search, or what
# `evaluate` gives.  `known` is set last: what was not stored in full is asked
# for again.
recorded <- function(record, evaluate) {
  if (is.null(record)) {
    return(evaluate())
  }
  at <- record$at <- record$at + 1L
  if (at <= record$known) {
    if (at == record$known) set_generator_seed(record$seed)
    return(record$values[[at]])
  }
  value <- evaluate()
  record$values[at] <- list(value)
  suspendInterrupts({
    record$seed <- generator_seed()
    record$known <- at
  })
  value
}

recorded_search <- function(record) {
  list(
    values = record$values[seq_len(record$known)], seed = record$seed,
    best = record$best
  )
}

density_model <- function(density, found, method, correct) {
  new_laplace_model(
    "laplace_density_model",
    name = "laplace", title = "Density", map = found$map,
    precision_factor = found$factor, prior = NULL, nobs = NA_integer_,
    columns = density$names, log_joint_map = found$value,
    log_evidence = laplace_log_evidence(found$value, found$factor),
    trace = found$trace, iterations = found$iterations, method = method,
    correct = correct, frame = density
  )
}

#' @exportS3Method
data_words.laplace_density_model <- function(model) {
  list(
    arg = "log_density", them = "it", are = "is not the function",
    those = "that", hint = "Give the function with which the fit was made."
  )
}

# The log density of a corrected fit, which is called for its draws.
#' @exportS3Method
set_data.laplace_density_model <- function(model, data,
                                           call = rlang::caller_env()) {
  data <- check_density_function(data, "log_density", call = call)
  if (is.null(model$frame)) {
    abort_no_frame("log_density", call)
  }
  if (!same_code(model$frame$log_density, data)) {
    model$data_hash <- hash(data)
  }
  model$frame$log_density <- data
  model
}

#' @exportS3Method
model_headline.laplace_density_model <- function(model) {
  p <- length(model$columns)
  cli::pluralize("Density of {p} parameter{?s}; Laplace approximation")
}

# Streams beyond those of the chains: 1 for the check of a corrected fit, 2 for
# pictures, 3 for the search, 4 for what a density draws in a check, 5 for the
# points that a check adds to the draws.
spare_stream <- function(seed, chains, number, call) {
  chain_streams(seed[[1L]], chains + number, call)[[chains + number]]
}

# ---- arguments -----------------------------------------------------------

check_density_function <- function(f, arg, null_ok = FALSE, call) {
  if (is.null(f) && null_ok) {
    return(NULL)
  }
  if (!is.function(f)) {
    abort_expected(f, "a function", null_ok, arg, call)
  }
  f
}

# A vector with the names that the columns of the fit will have.
check_density_init <- function(init, call) {
  init <- check_numeric_vector(init, arg = "init", call = call)
  if (is.null(names(init))) {
    names(init) <- indexed("theta", seq_along(init))
    return(structure(init, unnamed = TRUE))
  }
  names <- names(init)
  if (anyNA(names) || !all(nzchar(names)) || anyDuplicated(names) > 0) {
    abort_argument(
      c("The names of {.arg init} must be different and not empty.",
        i = "They name the parameters; an {.arg init} without any names is
             numbered."),
      call = call
    )
  }
  init
}

# The user's functions with their arguments: a plain list, so that it travels.
new_density <- function(log_density, gradient, hessian, names, arguments) {
  list(
    log_density = log_density, gradient = gradient, hessian = hessian,
    names = names, arguments = arguments
  )
}

# "(mean = 4, log_sd = 0)", eight coordinates at most
point_words <- function(theta) {
  shown <- utils::head(theta, 8L)
  words <- paste(names(shown), "=", vapply(shown, format, "", digits = 5))
  more <- if (length(theta) > 8L) ", ..."
  paste0("(", paste(words, collapse = ", "), more, ")")
}

# One of the user's functions at the rows of `points`: a list of what it
# returned.  `points` has the names of the parameters.
call_density <- function(density, what, points, call) {
  values <- vector("list", nrow(points))
  at <- 1L
  evaluate <- function() {
    for (i in seq_len(nrow(points))) {
      at <<- i
      value <- recorded(density$record, function() {
        do.call(density[[what]], c(list(points[i, ]), density$arguments))
      })
      # NULL must not shorten the list
      values[i] <<- list(value)
    }
  }
  tryCatch(evaluate(), error = function(cnd) {
    point <- point_words(points[at, ])
    abort_numeric(
      "{.arg {what}} failed at {point}.",
      parent = cnd, call = call, class = "density"
    )
  })
  values
}

# The first value that is not `size` numbers is an error.
check_density_values <- function(values, size, what, points, call) {
  bad <- !vapply(values, is.numeric, NA) | lengths(values) != size
  if (any(bad)) {
    first <- which(bad)[[1L]]
    point <- point_words(points[first, ])
    given <- describe(values[[first]])
    wanted <- if (size == 1) "one number" else paste(size, "numbers")
    abort_numeric(
      "{.arg {what}} must return {wanted}: at {point} it is {given}.",
      call = call, class = "density"
    )
  }
}

as_points <- function(density, theta) {
  matrix(
    theta, ncol = length(density$names), dimnames = list(NULL, density$names)
  )
}

# log q at each row of `theta`: numbers or -Inf.
density_value <- function(density, theta, call) {
  points <- as_points(density, theta)
  values <- call_density(density, "log_density", points, call)
  check_density_values(values, 1, "log_density", points, call)
  values <- as.double(unlist(values))
  bad <- is.na(values) | values == Inf
  if (any(bad)) {
    first <- which(bad)[[1L]]
    point <- point_words(points[first, ])
    value <- values[[first]]
    abort_numeric(
      c("{.arg log_density} is {value} at {point}.",
        i = "It must be a number, or {.code -Inf} where the density is zero."),
      call = call, class = "density"
    )
  }
  remember_best(density$record, values, points)
  values
}

remember_best <- function(record, values, points) {
  top <- which.max(values)
  if (!is.null(record) && values[[top]] > max(record$best$value, -Inf)) {
    record$best <- list(value = values[[top]], theta = points[top, ])
  }
}

# Gradient (p) or Hessian (p x p), given or by differences.
density_derivative <- function(density, what, theta, call) {
  p <- length(theta)
  size <- if (what == "gradient") p else p^2
  if (is.null(density[[what]])) {
    rlang::check_installed(
      "numDeriv", paste0("when `", what, "` is not given."), call = call
    )
    differences <- switch(
      what, gradient = numDeriv::grad, hessian = numDeriv::hessian
    )
    value <- differences(function(x) density_value(density, x, call), theta)
  } else {
    points <- as_points(density, theta)
    value <- call_density(density, what, points, call)
    check_density_values(value, size, what, points, call)
    value <- as.double(value[[1L]])
  }
  if (!all(is.finite(value))) {
    point <- point_words(stats::setNames(theta, density$names))
    how <- if (is.null(density[[what]])) " by differences"
    abort_numeric(
      c("The {what} of {.arg log_density}{how} is not finite at {point}.",
        i = "Is this the edge of where the density is positive? Parameters
             without bounds, such as logarithms, have no edge."),
      call = call, class = "density"
    )
  }
  if (what == "hessian") matrix(value, p, p) else as.double(value)
}

# ---- the mode ------------------------------------------------------------

# list(map, factor, value, trace, iterations): the mode, L with L L' minus the
# Hessian there, the log density, the best values as the search went on.
find_mode <- function(density, init, method, call) {
  theta <- as.double(init)
  value <- density_value(density, theta, call)
  if (value == -Inf) {
    point <- point_words(init)
    abort_argument(
      c("{.arg init} must be a point of positive density: {.arg log_density} is
         -Inf at {point}."),
      call = call
    )
  }
  climbed <- ascend_density(density, theta, value, method, call)
  polish_mode(density, climbed, call)
}

# optim(), with a trace of the best value at each gradient, or at each rise
# where there are no gradients.
ascend_density <- function(density, theta, value, method, call) {
  best <- value
  trace <- value
  climb <- function(x) {
    value <- density_value(density, x, call)
    best <<- max(best, value)
    if (method == "Nelder-Mead" && best > trace[[length(trace)]]) {
      trace[[length(trace) + 1L]] <<- best
    }
    -value
  }
  slope <- function(x) {
    trace[[length(trace) + 1L]] <<- best
    -density_derivative(density, "gradient", x, call)
  }
  # One parameter: Nelder-Mead is for several, and says so
  if (method == "Nelder-Mead" && length(theta) == 1L) {
    method <- "BFGS"
  }
  found <- stats::optim(
    theta, climb, if (method != "Nelder-Mead") slope, method = method,
    control = list(maxit = 500 + 100 * length(theta), reltol = 1e-10)
  )
  list(theta = found$par, value = -found$value, trace = trace)
}

# Newton's method with step halving from where optim() stopped: optim() ends
# where the density no longer rises by much, which may be a tenth of a standard
# deviation from the mode.
polish_mode <- function(density, at, call, most = 100) {
  for (iteration in seq_len(most)) {
    gradient <- density_derivative(density, "gradient", at$theta, call)
    hessian <- density_derivative(density, "hessian", at$theta, call)
    factor <- factor_precision(-hessian)
    if (is.null(factor)) {
      abort_indefinite(density, at$theta, hessian, call)
    }
    step <- backsolve(
      t(factor), forwardsolve(factor, gradient)
    )
    rise <- sum(gradient * step) / 2
    if (rise < 1e-10) {
      check_derivatives(density, at, factor, call)
      return(list(
        map = at$theta, factor = factor, value = at$value, trace = at$trace,
        iterations = length(at$trace) - 1L
      ))
    }
    next_at <- half_steps(density, at, step, call)
    if (is.null(next_at)) {
      break
    }
    at <- next_at
  }
  abort_no_maximum(density, at$theta, rise, call)
}

# The farthest of the points at + step, at + step / 2, ... where the density is
# higher; NULL: none.  Near the mode a rise is lost in rounding: equal counts.
half_steps <- function(density, at, step, call) {
  slack <- 1e-13 * (1 + abs(at$value))
  for (half in 0:40) {
    theta <- at$theta + step / 2^half
    value <- density_value(density, theta, call)
    if (value >= at$value - slack) {
      return(list(
        theta = theta, value = value, trace = c(at$trace, value)
      ))
    }
  }
  NULL
}

# Whether derivatives that were given are those of the density: along the axes
# of the ellipsoid of Sigma, by differences over 0.02 standard deviations, the
# first is 0 and the second -1.
check_derivatives <- function(density, at, factor, call) {
  if (is.null(density$gradient) && is.null(density$hessian)) {
    return(invisible())
  }
  size <- 0.02
  axes <- backsolve(t(factor), diag(length(at$theta)))
  # what rounding may do to the differences
  noise <- 4 * .Machine$double.eps * (1 + abs(at$value)) / size^2
  for (j in seq_len(ncol(axes))) {
    up <- density_value(density, at$theta + size * axes[, j], call)
    down <- density_value(density, at$theta - size * axes[, j], call)
    first <- (up - down) / (2 * size)
    second <- (up - 2 * at$value + down) / size^2
    wrong <- c(
      gradient = !is.null(density$gradient) && !(abs(first) < 0.05 + noise),
      hessian = !is.null(density$hessian) && !(abs(second + 1) < 0.1 + noise)
    )
    if (any(wrong)) {
      what <- names(wrong)[wrong][[1L]]
      point <- point_words(stats::setNames(at$theta, density$names))
      abort_numeric(
        c("{.arg {what}} is not that of {.arg log_density} at {point}.",
          x = if (what == "gradient") {
            "It is 0 there, but the density is not at its highest."
          } else {
            "Differences of the log density are {format(-second, digits = 3)}
             times as large."
          },
          i = "Leave {.arg {what}} out to have it computed."),
        call = call, class = "derivative", point = at$theta
      )
    }
  }
}

# L, lower triangular, with L L' = precision (symmetrised); NULL when that is
# not positive definite to working precision.
factor_precision <- function(precision) {
  precision <- precision / 2 + t(precision) / 2
  scale <- diag(precision)
  if (!all(scale > 0)) {
    return(NULL)
  }
  # on a common scale, so that units do not matter
  root <- sqrt(scale)
  unit <- precision / outer(root, root)
  least <- min(eigen(unit, symmetric = TRUE, only.values = TRUE)$values)
  if (least <= 1e-10) {
    return(NULL)
  }
  t(chol(precision))
}

abort_indefinite <- function(density, theta, hessian, call) {
  point <- point_words(stats::setNames(theta, density$names))
  symmetric <- hessian / 2 + t(hessian) / 2
  parts <- eigen(symmetric, symmetric = TRUE)
  largest <- format(parts$values[[1L]], digits = 4)
  main <- density$names[[which.max(abs(parts$vectors[, 1L]))]]
  abort_numeric(
    c("The Hessian of {.arg log_density} is not negative definite at {point},
       where the search ended.",
      x = "Its largest eigenvalue is {largest}, mainly in the direction of
           {.val {main}}.",
      i = "There the density is flat or rises on: it may have a ridge, a saddle
           or no maximum. Try another {.arg init}, other parameters, or a
           proper prior."),
    call = call, class = "indefinite", point = theta
  )
}

abort_no_maximum <- function(density, theta, rise, call) {
  point <- point_words(stats::setNames(theta, density$names))
  rise <- format(rise, digits = 3)
  abort_numeric(
    c("No maximum of {.arg log_density} was found: the search ended at
       {point}.",
      x = "By its derivatives there the log density would rise by {rise}.",
      i = "Is it smooth, and are {.arg gradient} and {.arg hessian} its
           derivatives?"),
    call = call, class = "no_maximum", point = theta
  )
}

# ---- log joint density ---------------------------------------------------

# The log of the density that the fit approximates, at each row of `w` (points x
# p), with the constant that the evidence needs.
model_log_joint <- function(model, w) UseMethod("model_log_joint")

#' @exportS3Method
model_log_joint.laplace_density_model <- function(model, w) {
  density <- model$frame
  if (is.null(density)) {
    abort_no_frame("log_density")
  }
  density_value(density, w, rlang::call2("laplace"))
}

#' @exportS3Method
model_log_joint.laplace_logistic_model <- function(model, w) {
  logistic_log_joint(model, w)
}

abort_no_frame <- function(what = "its data", call = NULL) {
  abort_state(
    c("The fit does not hold {what}.",
      i = "It was made with {.code keep_data = FALSE} or went through
           {.fn drop_data}."),
    call = call
  )
}

# log N(w | map, Sigma) for the rows of w, up to -p/2 log(2 pi) + log |L|:
# minus half of |L'(w - map)|^2.  Sums in a fixed order, by no BLAS: it takes
# part in a chain.
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

# ---- the corrected chain -------------------------------------------------

# Sweeps that a corrected chain runs first; independent draws need none.
laplace_burnin <- function(correct) if (correct == "importance") 20 else 0

corrected_proposals <- 15L
corrected_df <- 5

# `n` independent draws of the multivariate t distribution about the mode with
# scale Sigma, n x p, and the log density of the t, up to a constant: log
# weights are the log density less that.  Its tails are heavier than those of
# posteriors with normal priors, so that weights are bounded where normal
# proposals have weights without a variance.
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

# `n` independent draws of N(map, Sigma), n x p, on the generator as it stands.
draw_normal <- function(model, n) {
  model$correct <- "none"
  control <- list(burnin = 0, thin = 1, threads = 1)
  interrupt_or(
    model_sweeps(model, model_start(model, NULL), n, control)
  )$draws
}

# list(w, log_weight, asked): n draws with their weights.  A density of the
# user's is asked for them on the stream `asked`, which it may move or set; NULL
# for one that is not the user's.
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

# The first point: one of a sample, in proportion to its weight.
corrected_start <- function(model) {
  asked <- if (inherits(model, "laplace_density_model")) {
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
# one of the M + 1 with probability in proportion to its weight.  Both steps are
# conditionals of a joint distribution of which the target is a margin, so that
# it stays invariant.
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

# Which of the next n sweeps are kept: as scan_sweeps() in core/scan.h.
scan_kept <- function(sweep, n, control) {
  past <- sweep + seq_len(n) - control$burnin
  past > 0 & past %% control$thin == 0
}

# ---- the check of the approximation --------------------------------------

#' How good a Laplace approximation is
#'
#' Weighs draws of the normal approximation against the density that it stands
#' for: \eqn{w_s = q(\theta_s) / \mathrm{N}(\theta_s \mid \hat\theta,
#' \Sigma)}{w_s = q(theta_s) / N(theta_s | map, Sigma)}, \eqn{q} being
#' likelihood times prior, or the density given to [laplace()]. Where the
#' approximation is good the weights are nearly equal. Where its tails are too
#' light a few draws carry almost all of the weight, and the shape \eqn{k} of a
#' generalised Pareto distribution fitted to the largest weights is large.
#'
#' Pareto \eqn{k} and the smoothing of the largest weights come from
#' [loo::psis()]; without the loo package the weights are used as they are, and
#' `pareto_k` is `NA`.
#'
#' | Pareto k | the approximation |
#' |---|---|
#' | below 0.5 | good: the variance of the weights is finite |
#' | 0.5 to 0.7 | usable: prefer corrected values |
#' | above 0.7 | not good |
#'
#' Above 0.7 take `correct = "importance"` and look at its R-hat and effective
#' sample size, or sample by other means.
#'
#' @section Corrected values:
#' Posterior means, standard deviations and the evidence are not taken from the
#' weights above. These know nothing of a tail that the draws do not reach: from
#' a \eqn{k} of 0.4 or so on their error is often larger than any estimate from
#' the same weights says, and mostly towards the mode. (Smoothing adds little to
#' this error, and takes little away.) So as many draws of the multivariate t
#' distribution with 5 degrees of freedom, about the mode with scale
#' \eqn{\Sigma}{Sigma}, are added, on a stream that the fit's seed determines,
#' and all are weighed against the mixture:
#' \eqn{v_s = q(\theta_s) / [\mathrm{N}(\theta_s) / 2 + t_5(\theta_s) /
#' 2]}{v_s = q(theta_s) / [N(theta_s) / 2 + t_5(theta_s) / 2]} (Hesterberg
#' 1995). These weights are bounded where \eqn{q} has lighter tails than the t
#' distribution, as every posterior of a logistic regression with a normal prior
#' has, so that `mcse` and `log_evidence_se` are what they say. The evidence has
#' \eqn{\mathrm{N} / (\mathrm{N} / 2 + t_5 / 2)}{N / (N / 2 + t_5 / 2)}, whose
#' mean is 1, as a control variate (Owen and Zhou 2000), so that it is exact for
#' a density that is normal.
#'
#' Whether that was enough is told by Pareto \eqn{k} of the weights \eqn{v_s},
#' `corrected_k`. From 0.5 on (heavy tails, several modes, tens of parameters
#' with few data) errors may be larger than told, above 0.7 corrected values
#' cannot be trusted either; [print()] says so.
#'
#' Nothing of this is computed when the model is fitted.
#'
#' @param fit A fit of [laplace_logistic()] or [laplace()], with its data.
#' @param draws `NULL` for all draws of the fit, or a whole number: so many,
#'   spread evenly. (The chains of a corrected fit hold draws of the posterior;
#'   for these, `draws` new draws of the approximation are made, by default as
#'   many as the fit has, on a stream that the fit's seed determines.)
#' @return An object of class `laplace_importance`, a list: `pareto_k`; `ess`
#'   (the effective size of the weighted draws, \eqn{(\sum w)^2 / \sum w^2});
#'   `draws`; `corrected_k` and `corrected_ess`, the same of the weights that
#'   corrected values come from (their number is twice `draws`); `log_evidence`
#'   and `log_evidence_se`, the corrected evidence with its standard error,
#'   beside `log_evidence_laplace`; `estimates`, a data frame with the columns
#'   `variable`, `map`, `map_sd` (of the approximation), `mean`, `sd`
#'   (corrected), `mcse` (Monte Carlo standard error of the mean);
#'   `log_weights`, those of the draws, smoothed, normalised to sum to one on
#'   the natural scale, in the order of the draws; and `verdict` on the
#'   approximation, `"good"`, `"usable"`, `"not good"` or `"unknown"`.
#' @section Errors: `gibbsite_error_argument` for anything but a Laplace
#'   approximation and for more draws than there are; `gibbsite_error_state` for
#'   a fit without its data; `gibbsite_error_numeric` when no draw has a
#'   positive density.
#' @references
#' Vehtari A, Simpson D, Gelman A, Yao Y, Gabry J (2024). Pareto smoothed
#' importance sampling. *Journal of Machine Learning Research* 25(72), 1-58.
#' \doi{10.48550/arXiv.1507.02646}
#'
#' Hesterberg T (1995). Weighted average importance sampling and defensive
#' mixture distributions. *Technometrics* 37, 185-194.
#' \doi{10.1080/00401706.1995.10484303}
#'
#' Owen A, Zhou Y (2000). Safe and effective importance sampling. *Journal of
#' the American Statistical Association* 95, 135-143.
#' \doi{10.1080/01621459.2000.10473909}
#' @examples
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' importance_check(fit)
#' @export
importance_check <- function(fit, draws = NULL) {
  check_needed(fit = "a fit made by laplace_logistic() or laplace()")
  call <- rlang::current_env()
  check_laplace(fit, call = call)
  model <- fit_part(fit, "model")
  if (is.null(model$frame)) {
    abort_no_frame("what the weights are computed from", call)
  }
  w <- importance_draws(fit, draws, call)
  added <- added_draws(fit, nrow(w), call)
  log_joint <- joint_of_draws(fit, rbind(w, added), call)
  own <- seq_len(nrow(w))
  weighed <- weigh_draws(model, w, log_joint[own], call)
  corrected <- correct_moments(model, rbind(w, added), log_joint)
  structure(
    c(weighed, corrected), class = "laplace_importance"
  )
}

# The part of the check that says how good the approximation is.
importance_weights <- function(fit) {
  call <- rlang::current_env()
  w <- importance_draws(fit, NULL, call)
  weigh_draws(
    fit_part(fit, "model"), w, joint_of_draws(fit, w, call), call
  )
}

check_laplace <- function(fit, arg = "fit", call = rlang::caller_env()) {
  if (!inherits(fit, c("laplace", "laplace_logistic"))) {
    given <- describe(fit)
    abort_argument(
      "{.arg {arg}} must be a fit made by {.fn laplace_logistic} or
       {.fn laplace}, not {given}.",
      call = call
    )
  }
  check_whole_fit(fit, arg, call)
}

is_corrected <- function(model) identical(model$correct, "importance")

# Draws of the normal approximation, one a row.
importance_draws <- function(fit, draws, call) {
  model <- fit_part(fit, "model")
  if (!is_corrected(model)) {
    all <- do.call(rbind, chain_matrices(fit))
    return(all[spread_rows(draws, nrow(all), call), , drop = FALSE])
  }
  available <- length(fit) * nrow(.subset2(fit, 1L))
  draws <- check_count(draws %||% available, arg = "draws", call = call)
  seed <- fit_part(fit, "running")$seed
  stream <- spare_stream(seed, length(fit), 1L, call)
  with_stream(stream, draw_normal(model, draws), call)$value
}

# `n` draws of the t distribution about the mode (draw_proposals()).
added_draws <- function(fit, n, call) {
  seed <- fit_part(fit, "running")$seed
  stream <- spare_stream(seed, length(fit), 5L, call)
  model <- fit_part(fit, "model")
  with_stream(stream, draw_proposals(model, n)$w, call)$value
}

# log q at each of the draws.  A density of the user's may draw random numbers:
# on a stream that the fit's seed determines, so that a check can be repeated
# and the session's generator stays as it is.
joint_of_draws <- function(fit, w, call) {
  model <- fit_part(fit, "model")
  if (!inherits(model, "laplace_density_model")) {
    return(model_log_joint(model, w))
  }
  seed <- fit_part(fit, "running")$seed
  stream <- spare_stream(seed, length(fit), 4L, call)
  with_stream(stream, model_log_joint(model, w), call)$value
}

weigh_draws <- function(model, w, log_joint, call) {
  log_ratio <- log_joint - log_normal_kernel(model, w) -
    log_normal_constant(model)
  if (!any(log_ratio > -Inf)) {
    abort_numeric(
      c("No draw of the normal approximation has a positive density.",
        i = "The approximation is useless here."),
      call = call
    )
  }
  smoothed <- smooth_weights(log_ratio)
  largest <- max(smoothed$log_weights)
  weight <- exp(smoothed$log_weights - largest)
  total <- sum(weight)
  list(
    pareto_k = smoothed$pareto_k, ess = total^2 / sum(weight^2),
    draws = nrow(w),
    log_weights = smoothed$log_weights - largest - log(total),
    verdict = importance_verdict(smoothed$pareto_k)
  )
}

# What follows from draws w, the first half of N(map, Sigma), the other half of
# the t distribution about the same mode: weights against the mixture of both,
# which is within a factor of two of the better of them everywhere.
correct_moments <- function(model, w, log_joint) {
  log_normal <- log_normal_kernel(model, w) + log_normal_constant(model)
  log_mixture <- log_mean_of(log_normal, log_t_density(model, w))
  log_ratio <- log_joint - log_mixture
  largest <- max(log_ratio)
  weight <- exp(log_ratio - largest)
  # mean 0 under the mixture; constant weights leave nothing beside it
  control <- exp(log_normal - log_mixture) - 1
  slope <- stats::cov(weight, control) / stats::var(control)
  evidence <- weight - slope * control
  if (!isTRUE(mean(evidence) > 0)) { # of a handful of draws
    evidence <- weight
  }
  known <- is.finite(model$log_evidence)
  list(
    corrected_k = smooth_weights(log_ratio)$pareto_k,
    corrected_ess = sum(weight)^2 / sum(weight^2),
    log_evidence = if (known) largest + log(mean(evidence)) else NA_real_,
    log_evidence_se = if (known) {
      stats::sd(evidence) / mean(evidence) / sqrt(nrow(w))
    } else {
      NA_real_
    },
    log_evidence_laplace = model$log_evidence,
    estimates = data.frame(
      variable = model$columns, map = unname(model$data$map),
      map_sd = sqrt(diag(laplace_covariance(model))),
      weighted_moments(w, weight / sum(weight)), row.names = NULL
    )
  )
}

# log((exp(a) + exp(b)) / 2)
log_mean_of <- function(a, b) {
  pmax(a, b) + log1p(exp(-abs(a - b))) - log(2)
}

# log density of what draw_proposals() draws
log_t_density <- function(model, w) {
  df <- corrected_df
  p <- ncol(w)
  lgamma((df + p) / 2) - lgamma(df / 2) - p / 2 * log(df / 2) +
    log_normal_constant(model) -
    (df + p) / 2 * log1p(-2 * log_normal_kernel(model, w) / df)
}

# Weights that differ by rounding alone: the density is normal.
equal_weights <- function(log_ratio) {
  all(is.finite(log_ratio)) && diff(range(log_ratio)) < 1e-8
}

# list(log_weights, pareto_k): unnormalised.
smooth_weights <- function(log_ratio) {
  if (equal_weights(log_ratio)) {
    return(list(log_weights = log_ratio, pareto_k = -Inf))
  }
  if (!requireNamespace("loo", quietly = TRUE) || length(log_ratio) < 25L) {
    return(list(log_weights = log_ratio, pareto_k = NA_real_))
  }
  # loo takes no -Inf: a weight that is zero beside any other
  shift <- max(log_ratio)
  ratio <- pmax(log_ratio - shift, -1e4)
  # loo warns of large k, which the verdict tells
  smoothed <- suppressWarnings(loo::psis(ratio, r_eff = 1))
  weights <- as.vector(stats::weights(smoothed, normalize = FALSE))
  # whatever constant loo takes off, the least weight is not smoothed
  least <- which.min(ratio)
  weights <- weights - weights[[least]] + ratio[[least]] + shift
  weights[log_ratio == -Inf] <- -Inf
  list(
    log_weights = weights,
    pareto_k = as.vector(loo::pareto_k_values(smoothed))
  )
}

weighted_moments <- function(w, share) {
  mean <- colSums(w * share)
  away <- w - rep(mean, each = nrow(w))
  data.frame(
    mean = mean, sd = sqrt(colSums(away^2 * share)),
    mcse = sqrt(colSums((away * share)^2))
  )
}

importance_verdict <- function(pareto_k) {
  if (is.na(pareto_k)) {
    "unknown"
  } else if (pareto_k < 0.5) {
    "good"
  } else if (pareto_k < 0.7) {
    "usable"
  } else {
    "not good"
  }
}

# One line for print() and summary().
importance_line <- function(check) {
  if (check$verdict == "unknown") {
    return("Importance check: k needs the loo package and 25 draws or more.")
  }
  k <- if (check$pareto_k == -Inf) {
    "the density is normal"
  } else {
    paste("Pareto k", format(round(check$pareto_k, 2), nsmall = 2))
  }
  paste0(
    "Importance check: ", k, ", ",
    switch(check$verdict,
      good = "the approximation is good.",
      usable = "the approximation is usable; prefer corrected values.",
      "not good" = "the approximation is not good."
    )
  )
}

# How far corrected values can be trusted, where that is not far.
correction_line <- function(check) {
  k <- check$corrected_k
  if (is.na(k) || k < 0.5) {
    return(NULL)
  }
  paste0(
    "Corrected values ",
    if (k < 0.7) {
      "may be further off than their errors say"
    } else {
      "cannot be trusted"
    },
    " (Pareto k ", format(round(k, 2), nsmall = 2), ")."
  )
}

correction_advice <-
  "Fit with correct = \"importance\", or sample by other means."

needs_correction <- function(check) {
  check$verdict == "not good" || isTRUE(check$corrected_k >= 0.7)
}

#' @export
print.laplace_importance <- function(x, ...) {
  e <- x$estimates
  writeLines(c(
    importance_line(x),
    paste0(
      "Effective size ", floor(x$ess), " of ", x$draws, " draws, ",
      floor(x$corrected_ess), " of ", 2 * x$draws, " for corrected values."
    ),
    if (!is.na(x$log_evidence)) {
      paste0(
        "Log evidence ", format_evidence(x$log_evidence), " (se ",
        show_significant(x$log_evidence_se, 2), "), Laplace's ",
        format_evidence(x$log_evidence_laplace), "."
      )
    },
    correction_line(x),
    if (needs_correction(x)) correction_advice,
    ""
  ))
  shown <- data.frame(
    show_numbers(e[c("map", "map_sd", "mean", "sd")], e$mean, e$sd),
    mcse = show_significant(e$mcse, 2), check.names = FALSE
  )
  names(shown)[1:2] <- c("MAP", "MAP sd")
  print_table(e$variable, shown)
  invisible(x)
}

format_evidence <- function(x) formatC(x, format = "f", digits = 2)
