# Metropolis-Hastings on any log density: mh_sample().
#
# `point` is a point on the user's scale, `x` (the working point) the same on
# the whole line where `transform = TRUE` maps bounded coordinates there.

#' Metropolis-Hastings on any log density
#'
#' Draws from the density \eqn{p(x)}{p(x)} on \eqn{R^d} whose logarithm, up to a
#' constant, is a function of yours. From the current point \eqn{x} a proposal
#' \eqn{y \sim q(\cdot | x)}{y ~ q(. | x)} is drawn, and the chain moves to it
#' with probability
#' \deqn{a(x, y) = \min\Bigl(1, \frac{p(y) q(x | y)}{p(x) q(y | x)}\Bigr)}{
#'   a(x, y) = min(1, p(y) q(x | y) / (p(x) q(y | x)))}
#' and else stays (Metropolis et al. 1953; Hastings 1970). This leaves
#' \eqn{p}{p} invariant whatever the proposal; how fast it gets there is the
#' proposal's doing.
#'
#' @section Proposals:
#' The default [adaptive()] is a normal random walk that learns its covariance
#' and scale in burn-in. Others are [random_walk()], [independence()],
#' [langevin()] (with a gradient), [mixture_proposal()] and [custom_proposal()].
#'
#' With `blocks` a sweep takes several steps, one for each block of coordinates
#' and in their order; each has its own proposal, and moves its own coordinates
#' given the others.
#'
#' @section Length of the run:
#' A random walk in \eqn{d}{d} dimensions gives at best about \eqn{0.3 / d}{0.3
#' / d} independent draws a step. `thin` therefore defaults to \eqn{d}{d} sweeps
#' a kept draw (divided by the number of blocks, rounded up), and `burnin`, in
#' which adaptive proposals learn, to 500 such draws, or \eqn{20 d}{20 d} where
#' that is more: `thin * max(500, 20 * d)` sweeps.
#'
#' @section Starting values:
#' `init` is the centre of the chains' starting points. By default chains start
#' around it: from each coordinate's own distance, at which the log density has
#' fallen by 1/2 as seen from `init`, a normal variate with twice that standard
#' deviation is added (halved, up to 50 times, where the density is zero). An
#' entry of `inits` is a vector like `init`, from which that chain starts as it
#' is. A Laplace approximation can be given as `init`: its mode is taken.
#'
#' @section Bounds:
#' Proposals outside `lower` and `upper` are rejected, without asking
#' `log_density`: exact, and slow where much of the mass lies at a bound. With
#' `transform = TRUE` bounded coordinates are sampled on the whole line
#' (logarithm of the distance from one bound; logit between two), with the
#' logarithm of the Jacobian added to the log density. Draws are on the original
#' scale; `scale`, `cov` and `mean` of proposals, and points that
#' [custom_proposal()] is given, are on the transformed one.
#'
#' @section Values of the log density:
#' `-Inf` is a density of zero: the proposal is rejected. An error, a value that
#' is not one number, and `+Inf` stop the chain, with the sweep and the point at
#' which it happened; so does `NaN` (or `NA`), unless `on_nan = "reject"`, which
#' takes it for zero, and counts. A start of zero density is an error.
#'
#' The density is asked for once for each proposal, and never again for the
#' current point: where `exp(log_density(x))` is an unbiased estimate of
#' \eqn{p(x)}{p(x)} with random numbers in it, the chain still has exactly
#' \eqn{p}{p} as its distribution (Andrieu and Roberts 2009).
#'
#' @section Your function and random numbers:
#' The sampler and the starting points have streams of their own, and R's
#' generator is free while your function runs: it may draw random numbers
#' (governed by `seed`), run another chain, set a seed (its noise then is the
#' same at each call, as simulated likelihoods with common random numbers need
#' it) or change the kind of generator and put it back. However many numbers it
#' takes, the chain's own are the same; only what `draw` of a
#' [custom_proposal()] takes counts, and that must not set a seed. A kind that
#' stays changed is an error. Your function gets a new vector at each call, with
#' the names of `init`, and may keep it.
#'
#' @section Stored quantities:
#' A column for each coordinate (named as `init`, else `x[1]`, `x[2]`, ...) and
#' `log_density`, without the Jacobian. `keep` chooses among the parameters.
#'
#' @param log_density The log density: a function whose first argument is a
#'   numeric vector of length `d`, that returns one number; or what
#'   [native_density()] makes.
#' @param init Numeric vector of length `d`, finite, where the density is
#'   positive: the centre of the starting points. Its names become columns.
#' @param proposal A proposal (default [adaptive()]); with `blocks` also a list
#'   of them, one a block.
#' @param ... Further arguments of `log_density` (and of the gradient of
#'   [langevin()]), by name.
#' @param blocks `NULL` (default: one block of all coordinates), `"each"` (every
#'   coordinate on its own) or a list of vectors of names or numbers of
#'   coordinates, which together name all; its names are those of the blocks.
#' @param lower,upper One number or `d` of them: bounds of the coordinates
#'   (default none). Names match those of `init`.
#' @param transform `FALSE` (default) or `TRUE`: see Bounds.
#' @param on_nan `"stop"` (default) or `"reject"`: what to do about NaN.
#' @param debug `FALSE` (default), or `TRUE`: store every step, for
#'   [mh_trace()]. For short runs: what is stored must fit into
#'   `options(gibbsite.max_draws_mb = )`.
#' @param burnin,thin As in [running]; `NULL` (default): see Length of the run.
#' @param threads Accepted as by every sampler; steps follow one another, so
#'   that more than one has no use.
#' @inheritParams running
#' @return An object of class `mh_sample`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]. [acceptance()] gives the acceptance rates.
#' @section Errors:
#' `gibbsite_error_argument` for arguments, before any chain runs;
#' `gibbsite_error_chain` for a chain that fails, with the others in `$fit`.
#' @references
#' Andrieu C, Roberts GO (2009). The pseudo-marginal approach for efficient
#' Monte Carlo computations. *Annals of Statistics* 37, 697-725.
#' \doi{10.1214/07-AOS574}
#'
#' Hastings WK (1970). Monte Carlo sampling methods using Markov chains and
#' their applications. *Biometrika* 57, 97-109. \doi{10.1093/biomet/57.1.97}
#'
#' Metropolis N, Rosenbluth AW, Rosenbluth MN, Teller AH, Teller E (1953).
#' Equation of state calculations by fast computing machines. *Journal of
#' Chemical Physics* 21, 1087-1092. \doi{10.1063/1.1699114}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, "Metropolis-Hastings".
#' @seealso [gibbs_sample()] for conditionals of your own; [acceptance()],
#'   [mh_trace()], [native_density()].
#' @examples
#' # logistic regression of transmission on weight
#' log_posterior <- function(w, x, y) {
#'   eta <- w[1] + w[2] * x
#'   sum(y * eta - log1p(exp(eta))) + sum(dnorm(w, 0, 5, log = TRUE))
#' }
#' fit <- mh_sample(log_posterior, c(intercept = 0, weight = 0),
#'   x = mtcars$wt - 3, y = mtcars$am, seed = 1
#' )
#' summary(fit)
#' acceptance(fit)
#' @export
mh_sample <- function(log_density, init, proposal = adaptive(), ...,
                      blocks = NULL, lower = -Inf, upper = Inf,
                      transform = FALSE, on_nan = c("stop", "reject"),
                      debug = FALSE, draws = 1000, burnin = NULL, thin = NULL,
                      chains = 4, inits = NULL, keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = interactive(), keep_data = TRUE) {
  call <- rlang::current_env()
  if (missing(log_density)) {
    abort_needed("log_density", "a function of a numeric vector", call)
  }
  if (missing(init)) {
    abort_needed("init", "a point where the density is positive", call)
  }
  check_log_density(log_density, call)
  extra <- check_extra(list(...), log_density, call)
  init <- check_init_point(init, call)
  names <- parameter_names(init, call)
  box <- check_box(lower, upper, transform, init, call)
  plan <- plan_blocks(proposal, blocks, init, names, call)
  thin <- check_count(
    thin %||% ceiling(length(init) / length(plan)), arg = "thin", call = call
  )
  running <- running(
    draws = draws, burnin = burnin %||% (thin * burnin_draws(length(init))),
    thin = thin, chains = chains, inits = inits, keep = keep,
    threads = threads, cores = cores, seed = seed, checkpoint = checkpoint,
    stop_when = stop_when, progress = progress, keep_data = keep_data,
    keep_choices = parameter_blocks(names), call = call
  )
  check_proposal_size(plan, running$chains, call)
  if (check_flag(debug)) {
    check_trace_size(running, length(plan), length(init), call)
  }
  model <- mh_model(
    log_density, extra, init, names, plan, box, running$keep,
    check_choice(on_nan, c("stop", "reject")), debug, call
  )
  run_chains(model, running, match.call(), call)
}

# ---- the model ---------------------------------------------------------------

mh_model <- function(log_density, extra, init, names, plan, box, keep, on_nan,
                     debug, call) {
  d <- length(init)
  kept <- which(sub("\\[[0-9,]+\\]$", "", names) %in% keep)
  model <- new_model(
    "mh_model",
    name = "mh_sample", title = "Metropolis-Hastings",
    data = list(log_density = log_density),
    prior = no_prior("the log density given to mh_sample()"),
    nobs = NA_integer_, columns = c(names[kept], "log_density"),
    extra = extra, init = unname(init), parameters = names,
    user_names = names(init), plan = plan, gradient = plan_gradient(plan, call),
    data_hash = hash_density(log_density, extra)
  )
  model$spec <- list(
    d = d, names = names(init), map = box$map, lower = box$lower,
    upper = box$upper, reject_nan = as.integer(on_nan == "reject"),
    keep = kept, debug = as.integer(debug)
  )
  laplace <- mode_covariance(model)
  model$spec$blocks <- lapply(seq_along(plan), function(b) {
    block <- plan[[b]]
    several <- length(plan) > 1L
    where <- if (several) paste0("proposal[[", b, "]]") else "proposal"
    list(
      index = block$index, names = block$names,
      proposal = compile_proposal(
        block$proposal, length(block$index), where,
        function() laplace(block$index, call), call, block$names
      )
    )
  })
  width <- sum(vapply(model$spec$blocks, block_variates, 0))
  model$spec$rows <- ahead_rows(width)
  model
}

# Numbers of look-ahead that a sweep takes, as core/mh.c counts them.
block_variates <- function(block) 1 + proposal_variates(block$proposal)

proposal_variates <- function(compiled) {
  if (compiled$kind == proposal_kinds[["mixture_proposal"]]) {
    return(1 + max(vapply(compiled$parts, proposal_variates, 0)))
  }
  if (compiled$kind == proposal_kinds[["custom_proposal"]]) {
    return(0)
  }
  compiled$d + (compiled$family == proposal_families[["t"]])
}

# Sweeps that variates are drawn ahead for: up to 256, about 4,000 numbers.
ahead_rows <- function(width) as.double(max(1, min(256, floor(4096 / width))))

# One gradient serves all blocks.
plan_gradient <- function(plan, call) {
  found <- unlist(
    lapply(plan, function(block) proposal_gradients(block$proposal)),
    recursive = FALSE
  )
  if (length(unique(found)) > 1L) {
    abort_argument(
      c("Langevin proposals of one sampler must have the same {.arg gradient}.",
        i = "It is that of the whole log density; each block takes its part."),
      call = call
    )
  }
  if (length(found) > 0L) found[[1L]]
}

# Density and further arguments by their code and by what they find where they
# were made; see hash_code() for the rest.
hash_density <- function(log_density, extra) {
  hash_code(list(log_density, extra, closure_values(log_density)))
}

# Values that a function finds between its own frame and the global environment,
# except such as it changes itself.
closure_values <- function(f) {
  env <- environment(f)
  if (is.null(env) || is_native_density(f)) {
    return(list())
  }
  used <- codetools::findGlobals(f, merge = TRUE)
  values <- list()
  while (!is_top_environment(env)) {
    for (name in intersect(used, setdiff(ls(env), names(values)))) {
      values[name] <- list(get(name, envir = env, inherits = FALSE))
    }
    env <- parent.env(env)
  }
  values <- values[setdiff(names(values), assigned_outside(body(f)))]
  opaque <- vapply(values, function(value) {
    is.environment(value) || typeof(value) == "externalptr"
  }, NA)
  values <- values[!opaque]
  values[order(as.character(names(values)))]
}

is_top_environment <- function(env) {
  identical(env, globalenv()) || identical(env, emptyenv()) ||
    identical(env, baseenv()) || isNamespace(env) ||
    !is.null(attr(env, "name"))
}

# Names to the left of `<<-` in an expression.
assigned_outside <- function(code) {
  if (!is.call(code)) {
    return(character())
  }
  own <- if (identical(code[[1L]], as.name("<<-"))) all.vars(code[[2L]])
  c(own, unlist(lapply(as.list(code), function(part) {
    if (missing(part)) NULL else assigned_outside(part)
  })))
}

# What C calls, made anew for each segment: C writes into these calls.
mh_functions <- function(model) {
  list(
    log_density = density_caller(model$data$log_density, model$extra),
    gradient = if (!is.null(model$gradient)) {
      caller(
        model$gradient, "gradient", 1L, taken_by(model$gradient, model$extra)
      )
    },
    blocks = lapply(model$plan, function(block) {
      proposal_functions(block$proposal)
    })
  )
}

# Of d coordinates there are the more covariances to be learned.
burnin_draws <- function(d) max(500, 20 * d)

# ---- scales ------------------------------------------------------------------

# The working point of a user's point, and back.
to_working <- function(spec, point) {
  x <- as.double(point)
  if (is.null(spec$map)) {
    return(x)
  }
  low <- spec$lower
  up <- spec$upper
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  x[one] <- log(x[one] - low[one])
  x[two] <- log(up[two] - x[two])
  x[both] <- log(x[both] - low[both]) - log(up[both] - x[both])
  x
}

from_working <- function(spec, x) {
  if (is.null(spec$map)) {
    return(x)
  }
  low <- spec$lower
  up <- spec$upper
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  x[one] <- low[one] + exp(x[one])
  x[two] <- up[two] - exp(x[two])
  x[both] <- low[both] + (up[both] - low[both]) * stats::plogis(x[both])
  x
}

# log of the Jacobian d point / d x.
log_jacobian <- function(spec, x) {
  if (is.null(spec$map)) {
    return(0)
  }
  both <- spec$map == 3L
  width <- (spec$upper - spec$lower)[both]
  sum(x[spec$map %in% 1:2]) +
    sum(log(width) + stats::plogis(x[both], log.p = TRUE) +
          stats::plogis(-x[both], log.p = TRUE))
}

# The working log density as a function of x, for what happens before the chains
# run: there a point where it is NaN or fails is one of density zero.
working_density <- function(model) {
  functions <- mh_functions(model)
  spec <- model$spec
  place <- new.env(parent = emptyenv())
  function(x) {
    point <- from_working(spec, x)
    if (any(!is.finite(point)) || any(point < spec$lower) ||
          any(point > spec$upper)) {
      return(-Inf)
    }
    value <- tryCatch(
      suppressWarnings(.Call(
        C_mh_evaluate, functions$log_density, as.double(point), spec$names,
        place
      )),
      error = function(cnd) -Inf
    )
    if (is.na(value) || value == Inf) -Inf else value + log_jacobian(spec, x)
  }
}

# For each coordinate the distance at which the log density has fallen by 1/2,
# on the average of both sides: one standard deviation of a normal density.  It
# is bracketed by doubling and halving, and then taken from the parabola.
reach <- function(density, x) {
  top <- density(x)
  vapply(seq_along(x), function(j) {
    fall <- function(h) {
      step <- replace(numeric(length(x)), j, h)
      top - (density(x + step) + density(x - step)) / 2
    }
    one_reach(fall, max(abs(x[[j]]), 1) / 10)
  }, 0)
}

one_reach <- function(fall, start) {
  h <- start
  drop <- fall(h)
  for (i in 1:60) {
    if (isTRUE(drop > 1)) {
      h <- h / 2
    } else if (!isTRUE(drop > 0.1)) {
      if (h > 1e6 * start) {
        return(start)
      }
      h <- h * 2
    } else {
      return(h / sqrt(2 * drop))
    }
    before <- drop
    drop <- fall(h)
    if (is_edge(before, drop)) {
      return(h)
    }
  }
  h
}

# A step from flat to zero, or back: the density has an edge in between.
is_edge <- function(before, drop) {
  flat <- function(fall) !isTRUE(fall > 0.1)
  zero <- function(fall) isTRUE(fall > 1)
  flat(before) && zero(drop) || zero(before) && flat(drop)
}

# What proposal_memory() begins with: NULL unless adaptive() is to look.
factor_to_begin_with <- function(proposal, density, x, index, scale) {
  if (needs_covariance(proposal)) curvature_factor(density, x, index, scale)
}

# Lower Cholesky factor of the covariance of the normal density that has the
# curvature of `density` around x in the coordinates `index`, d * d numbers.
# The curvature is told from differences over one `scale` (what reach() gave)
# in pairs of coordinates, which no cubic term disturbs; its eigenvectors are
# the axes of the normal density, and along each of them it reaches as far as
# `density` does.
curvature_factor <- function(density, x, index, scale) {
  unit <- scale[index]
  d <- length(index)
  at <- function(z) density(replace(x, index, x[index] + unit * z))
  top <- at(numeric(d))
  fall <- function(z) top - (at(z) + at(-z)) / 2
  axis <- function(j) replace(numeric(d), j, 1)
  alone <- vapply(seq_len(d), function(j) fall(axis(j)), 0)
  curvature <- diag(d)
  for (i in seq_len(d)[-1L]) {
    for (j in seq_len(i - 1L)) {
      joint <- fall(axis(i) + axis(j)) - alone[[i]] - alone[[j]]
      if (is.finite(joint) && abs(joint) > 0.01) {
        curvature[i, j] <- joint
      }
    }
  }
  if (all(curvature == diag(d))) {
    return(diag_vector(unit))
  }
  axes <- eigen(curvature, symmetric = TRUE)
  far <- vapply(seq_len(d), function(k) {
    one_reach(
      function(h) fall(h * axes$vectors[, k]),
      1 / sqrt(max(axes$values[[k]], 1e-4))
    )
  }, 0)
  far <- pmax(far, 1e-5 * max(far))
  spread <- axes$vectors %*% (far^2 * t(axes$vectors))
  as.double(unit * t(chol(spread)))
}

# Function of a block's index: inverse of the negative Hessian of the working
# log density at its mode, sought from init; made when first asked for.  The
# user's generator is left as it was.
mode_covariance <- function(model) {
  hessian <- NULL
  function(index, call) {
    if (is.null(hessian)) {
      saved <- save_generator()
      on.exit(restore_generator(saved))
      hessian <<- mode_hessian(model, call)
    }
    own <- -hessian[index, index, drop = FALSE]
    values <- eigen(own, symmetric = TRUE, only.values = TRUE)$values
    if (!all(is.finite(own)) ||
          min(values) <= nrow(own) * .Machine$double.eps * max(abs(values))) {
      abort_numeric(
        c("`cov = \"laplace\"`: the Hessian of the log density at its mode is
           not negative definite.",
          i = "Use {.code adaptive()}, or give `cov` as a matrix."),
        call = call, class = "laplace"
      )
    }
    inverse <- solve(own)
    inverse / 2 + t(inverse) / 2
  }
}

# In units of the reach of each coordinate, so that scales do not matter.
mode_hessian <- function(model, call) {
  density <- working_density(model)
  start <- to_working(model$spec, model$init)
  if (!(density(start) > -Inf)) {
    abort_zero_density(model, model$init, "init", call)
  }
  unit <- reach(density, start)
  scaled <- function(z) -max(density(start + unit * z), -1e300)
  search <- stats::optim(
    numeric(length(start)), scaled, method = "BFGS",
    control = list(maxit = 1000)
  )
  search <- stats::optim(search$par, scaled,
    method = "BFGS", control = list(maxit = 1000, reltol = 1e-14)
  )
  if (search$convergence != 0L) {
    abort_numeric(
      c("`cov = \"laplace\"`: no mode of the log density was found from
         `init`.",
        i = "Start nearer to it, or use {.code adaptive()}."),
      call = call, class = "laplace"
    )
  }
  hessian <- -stats::optimHess(search$par, scaled)
  hessian / tcrossprod(unit)
}

abort_zero_density <- function(model, point, arg, call) {
  at <- state_point_words(point, model$user_names)
  value <- if (model$spec$reject_nan > 0L) "-Inf or NaN" else "-Inf"
  abort_argument(
    c("`{arg}` must have positive density: `log_density` is {value} there.",
      x = "At {at}.",
      i = "Start the chains at a point that is possible under the model."),
    call = call, class = "zero_density"
  )
}

# "mu = 1.2, tau = 3", "(1.2, 3)"
state_point_words <- function(point, names = NULL, most = 8L) {
  shown <- utils::head(seq_along(point), most)
  values <- vapply(point[shown], format, "", digits = 7)
  more <- if (length(point) > most) ", ..." else ""
  if (is.null(names)) {
    return(paste0("(", paste(values, collapse = ", "), more, ")"))
  }
  paste0(paste(names[shown], values, sep = " = ", collapse = ", "), more)
}

# ---- what the driver asks ----------------------------------------------------

#' @exportS3Method
model_start.mh_model <- function(model, init) {
  kind <- generator_seed()[[1L]]
  own <- own_stream()
  # what the user's functions do to the generator, from here on, must reach
  # neither the start nor what the chain will draw
  chain <- generator_seed()
  set_generator_seed(side_stream(own))
  centre <- to_working(model$spec, init %||% model$init)
  density <- working_density(model)
  proposals <- lapply(model$plan, `[[`, "proposal")
  look <- is.null(init) || any(vapply(proposals, needs_scale, NA))
  state <- mh_state(model, centre, own)
  settled <- settle(model, state)
  if (settled$value[[2L]] == -Inf) {
    abort_zero_density(
      model, init %||% model$init,
      if (is.null(init)) "init" else model$start_from %||% "inits",
      rlang::call2("mh_sample")
    )
  }
  scale <- if (look) reach(density, centre) else rep(1, length(centre))
  if (is.null(init)) {
    start <- scatter(model, settled, centre, scale, chain)
    settled <- start$state
    chain <- start$stream
  }
  settled$blocks <- lapply(seq_along(model$plan), function(b) {
    index <- model$plan[[b]]$index
    proposal <- model$plan[[b]]$proposal
    proposal_memory(
      proposal, model$spec$blocks[[b]]$proposal, settled$x[index], scale[index],
      factor_to_begin_with(proposal, density, centre, index, scale)
    )
  })
  check_same_kind(kind, rlang::call2("mh_sample"))
  # a proposal of the user's draws on the chain's stream: the density then has
  # one to itself
  if (any(vapply(proposals, draws_by_user, NA))) {
    settled$asked <- generator_seed()
  }
  set_generator_seed(chain)
  settled
}

draws_by_user <- function(proposal) {
  inherits(proposal, "custom_proposal") ||
    any(vapply(proposal$parts, draws_by_user, NA))
}

# A state at x, its value yet to be found.
mh_state <- function(model, x, own) {
  spec <- model$spec
  width <- sum(vapply(spec$blocks, block_variates, 0))
  d <- spec$d
  list(
    sweep = 0, x = x, point = numeric(d), value = c(-Inf, -Inf),
    slope = numeric(d + 1L), nan_count = 0,
    ahead = numeric(spec$rows * width), own = own,
    blocks = lapply(seq_along(model$plan), function(b) {
      index <- model$plan[[b]]$index
      proposal_memory(
        model$plan[[b]]$proposal, spec$blocks[[b]]$proposal, x[index],
        rep(1, length(index))
      )
    }),
    trace = if (spec$debug > 0L) numeric()
  )
}

# The state with its point and value at x: the density is asked for once.
settle <- function(model, state) {
  calling_user_code(model, function(place) {
    .Call(C_mh_settle, model$spec, mh_functions(model), state, place)
  }, call = rlang::call2("mh_sample"))
}

# A start around the centre, where the density is positive: list(state, stream),
# the normals having been taken from `stream`.
scatter <- function(model, state, centre, scale, stream) {
  spread <- 2
  for (attempt in 1:50) {
    normals <- with_stream(stream, stats::rnorm(length(centre)))
    stream <- normals$stream
    trial <- state
    trial$x <- centre + spread * scale * normals$value
    trial <- tryCatch(
      suppressWarnings(settle(model, trial)), error = function(cnd) state
    )
    if (trial$value[[2L]] > -Inf && !identical(trial, state)) {
      return(list(state = trial, stream = stream))
    }
    spread <- spread / 2
  }
  list(state = state, stream = stream)
}

# The sampler's own stream, made from the chain's, of the same kind: user code
# sees the chain's alone.
own_stream <- function() {
  if (identical(rng_kind()[[1L]], "L'Ecuyer-CMRG")) {
    return(parallel::nextRNGSubStream(generator_seed()))
  }
  seed <- uniform_integer(1)
  chain <- generator_seed()
  set.seed(seed)
  own <- generator_seed()
  set_generator_seed(chain)
  own
}

# A stream for functions of the user whose numbers must not move the sampler's:
# made from another of the same kind, which stays where it is.
side_stream <- function(stream) {
  if (identical(stream_kind(stream)[[1L]], "L'Ecuyer-CMRG")) {
    return(parallel::nextRNGSubStream(stream))
  }
  with_stream(stream, {
    set.seed(uniform_integer(1))
    generator_seed()
  })$value
}

#' @exportS3Method
model_sweeps.mh_model <- function(model, state, n, control) {
  kind <- generator_seed()[[1L]]
  result <- calling_user_code(model, function(place) {
    .Call(
      C_mh_sweeps, model$spec, mh_functions(model), state, n, control, place
    )
  })
  if (is.null(result)) {
    return(NULL)
  }
  check_same_kind(kind, NULL)
  if (!is.null(result$trace)) {
    result$state$trace <- c(state$trace, result$trace)
    result$trace <- NULL
  }
  result
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

#' @exportS3Method
model_check_init.mh_model <- function(model, init, where, call) {
  if (is_laplace_fit(init)) {
    check_approximation(init, where, call)
    init <- approximation_mean(init)
  }
  d <- model$spec$d
  init <- check_numeric_vector(init,
    length = d, length_why = "like `init`", arg = where, call = call
  )
  given <- names(init)
  if (!is.null(given) && !is.null(model$user_names)) {
    if (!setequal(given, model$user_names)) {
      abort_argument(
        "Names of `{where}` must be those of `init`:
         {.val {model$user_names}}.",
        call = call
      )
    }
    init <- init[model$user_names]
  }
  spec <- model$spec
  if (!is.null(spec$lower)) {
    check_inside(init, spec$lower, spec$upper, !is.null(spec$map), where, call)
  }
  unname(init)
}

#' @exportS3Method
model_init_from_state.mh_model <- function(model, state) state$point

#' @exportS3Method
model_needs.mh_model <- function(model) {
  needs_of(list(
    model$data$log_density, model$extra, model$gradient,
    lapply(model$plan, function(block) unclass_proposal(block$proposal))
  ))
}

unclass_proposal <- function(proposal) {
  c(unclass(proposal), lapply(proposal$parts, unclass_proposal))
}

#' @exportS3Method
model_headline.mh_model <- function(model) {
  proposals <- unique(vapply(model$plan, function(block) {
    format(block$proposal)
  }, ""))
  blocks <- length(model$plan)
  paste0(
    cli::pluralize("Metropolis-Hastings: {model$spec$d} parameter{?s}; "),
    if (blocks > 1L) paste0(blocks, " blocks, "),
    if (length(proposals) == 1L) proposals else "each with its own proposal"
  )
}

#' @exportS3Method
set_data.mh_model <- function(model, data, call = rlang::caller_env()) {
  check_log_density(data, call)
  model$data <- list(log_density = data)
  model$data_hash <- hash_density(data, model$extra)
  model
}

#' @exportS3Method
data_words.mh_model <- function(model) {
  list(
    arg = "log_density", them = "it", are = "is not the function",
    those = "that",
    hint = "Give the function with which the fit was made."
  )
}

# Acceptance after burn-in over all chains, NaNs, and the least effective sample
# size for each second that the run took.
#' @exportS3Method
model_notes.mh_model <- function(model, fit, table) {
  rates <- acceptance(fit)
  nan <- sum(attr(rates, "nan"))
  range <- format(range(rates$rate, na.rm = TRUE), digits = 2, nsmall = 2)
  seconds <- fit_part(fit, "run")$elapsed$total
  size <- suppressWarnings(min(pmin(table$ess_bulk, table$ess_tail),
                               na.rm = TRUE))
  c(
    paste0("Acceptance ", paste(unique(range), collapse = " to "), "."),
    if (length(seconds) == 1L && seconds > 0 && is.finite(size)) {
      paste0("ESS a second: ", format(signif(size / seconds, 2),
        big.mark = ",", scientific = FALSE
      ), " at least.")
    },
    if (nan > 0) {
      cli::pluralize("NaN taken for a density of zero: {nan} time{?s}.")
    },
    if (any(vapply(model$plan, learns_for_ever, NA))) {
      "Learning for ever: the draws are right in the limit only."
    }
  )
}

learns_for_ever <- function(block) isTRUE(block$proposal$forever)

# ---- what goes wrong in user code --------------------------------------------

# Evaluates code(place), a .Call that calls functions of the user.  `place` is
# an environment in which C says where it is: an R error in such a function, or
# an answer that is of no use, becomes an error with sweep and point.
calling_user_code <- function(model, code, call = NULL) {
  place <- new.env(parent = emptyenv())
  tryCatch(code(place), error = function(cnd) {
    abort_user_code(model, place, cnd, call)
  })
}

abort_user_code <- function(model, place, cnd, call) {
  role <- place$role
  fault <- place$fault
  if (is.null(role) && is.null(fault)) {
    rlang::cnd_signal(cnd)
  }
  sweep <- place$state$sweep
  when <- if (is.null(sweep) || sweep == 0 && !is.null(call)) {
    "at the start"
  } else {
    paste("in sweep", format(sweep + 1, scientific = FALSE))
  }
  point <- if (is.null(place$point)) place$call[[2L]] else place$point
  at <- state_point_words(unname(point), names(point))
  words <- fault_words(fault, role, place$value, length(point), cnd)
  abort_numeric(
    c(paste0(words[[1L]], " ", when, "."), x = "At {at}.",
      i = if (length(words) > 1L) words[[2L]]),
    call = call, class = "user_function", point = point,
    sweep = if (is.null(sweep)) 0 else sweep + 1,
    parent = if (is.null(fault)) cnd
  )
}

# What happened, and a hint; templates.
fault_words <- function(fault, role, value, d, cnd) {
  if (is.null(fault)) {
    said <- gsub("([{}])", "\\1\\1", conditionMessage(cnd))
    return(paste0("`", role, "` failed (", said, ")"))
  }
  given <- gsub("([{}])", "\\1\\1", describe(value))
  count <- length(value)
  if (fault == "vector" && is.numeric(value)) {
    given <- cli::pluralize("{count} number{?s}")
  }
  switch(fault,
    nan = c(
      "`log_density` is NaN",
      "It must be -Inf where the density is zero; {.code on_nan = \"reject\"}
       takes NaN for that."
    ),
    infinite = c(
      "`log_density` is +Inf",
      "A point with infinite density would hold the chain for ever."
    ),
    number = paste0("`", role, "` must return one number, not ", given, ","),
    vector = paste0(
      "`", role, "` must return ", d, " number", if (d != 1) "s", ", not ",
      given, ","
    ),
    gradient = "`gradient` is not finite",
    draw = "`draw` of custom_proposal() is not finite",
    ratio = c(
      "`log_density` of the proposal is NaN or infinite for a draw of its own",
      "It must be the density of what `draw` draws: {.code log q(y | x)}, `y`
       first."
    ),
    generator = c(
      "A function given to the sampler has changed the kind of random number
       generator",
      "It must put the kind back with {.fn on.exit}."
    )
  )
}
