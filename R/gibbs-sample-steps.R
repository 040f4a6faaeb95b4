# mh_step(): blocks of gibbs_sample() that are moved by Metropolis-Hastings.

#' A block of a Gibbs sampler updated by Metropolis-Hastings
#'
#' Replaces a conditional in [gibbs_sample()] if the block cannot be drawn
#' directly. The block \eqn{\theta_k}{theta_k} is then updated by
#' Metropolis-Hastings steps that leave \eqn{p(\theta_k \mid
#' \theta_{-k})}{p(theta_k | rest)} invariant. The log density may leave out
#' terms that do not depend on the block: the log joint density is suitable, and
#' so is the sum of those of its terms that contain the block.
#'
#' Each update evaluates the log density once at the current point, because the
#' rest of the state has changed, and once for each step. The log density must
#' be exact: an unbiased estimate, which [mh_sample()] accepts, is not valid
#' here. It may draw random numbers or set a seed, as a simulated likelihood
#' with common random numbers does. Its random numbers come from a separate
#' stream and change no other draw.
#'
#' An adaptive proposal adapts during burn-in and is fixed afterwards;
#' [acceptance()] shows the acceptance rate of each block.
#'
#' @param log_density Function of the whole state, a named list as in
#'   [gibbs_sample()], in which the block has the value to evaluate; returns one
#'   number, `-Inf` where the density is zero. NaN and `+Inf` stop the chain.
#' @param proposal A proposal for the block's numbers, such as [adaptive()]
#'   (the default) or [random_walk()]. The `gradient` of [langevin()] is a
#'   function of the whole state and returns the gradient with respect to the
#'   block; the functions of [custom_proposal()] are functions of the block
#'   alone.
#'   `cov = "laplace"` is not available.
#' @param steps Whole number, 1 or more (default 1): the steps made whenever the
#'   block is updated.
#' @return An object of class `gibbsite_mh_step`.
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong type.
#' @references
#' Tierney L (1994). Markov chains for exploring posterior distributions.
#' *Annals of Statistics* 22, 1701-1728. \doi{10.1214/aos/1176325750}
#' @seealso [gibbs_sample()]
#' @examples
#' # Positive numbers with a gamma distribution of unknown shape and mean, whose
#' # priors are Exp(1/10) and 1 / mean ~ Gamma(1, 1): the mean can be drawn
#' # given the shape, the shape cannot
#' y <- warpbreaks$breaks
#' fit <- gibbs_sample(
#'   list(
#'     shape = mh_step(function(state, y) {
#'       if (state$shape <= 0) return(-Inf)
#'       sum(dgamma(y, state$shape, state$shape / state$mean, log = TRUE)) -
#'         state$shape / 10
#'     }),
#'     mean = function(state, y) {
#'       1 / rgamma(1, 1 + length(y) * state$shape, 1 + state$shape * sum(y))
#'     }
#'   ),
#'   init = list(shape = 1, mean = 30), y = y, chains = 2, seed = 1
#' )
#' fit
#' acceptance(fit)
#' @export
mh_step <- function(log_density, proposal = adaptive(), steps = 1) {
  call <- rlang::current_env()
  check_needed(log_density = "a function of the state")
  check_state_function(
    log_density, "log_density", "a function of the state", call
  )
  check_proposal(proposal, "proposal", call)
  if (is_native_density(log_density)) {
    abort_argument(
      c(
        "{.arg log_density} must be an R function of the state.",
        i = "Compiled code knows the block alone; an R function may call it."
      ),
      call = call
    )
  }
  check_step_proposal(proposal, call)
  steps <- check_count(steps, max = 1e6, call = call)
  structure(
    list(
      log_density = log_density, proposal = proposal,
      gradient = step_gradient(proposal, call), steps = steps
    ),
    class = "gibbsite_mh_step"
  )
}

check_step_proposal <- function(proposal, call) {
  refuse <- function(what, hint) {
    abort_argument(
      c(paste(what, "is not available in {.fn mh_step}."), i = hint),
      call = call
    )
  }
  if (has_trait(proposal, "dynamics")) {
    refuse(
      "{.fn {class(proposal)[1]}}",
      "The density of the block changes with the rest of the state: use
       {.fn langevin}, or give all parameters to {.fn mh_sample}."
    )
  }
  if (has_trait(proposal, "replicas")) {
    refuse(
      "{.fn tempered}", "It must move all parameters: use {.fn mh_sample}."
    )
  }
  if (any_trait(proposal, "mode")) {
    refuse(
      "{.code cov = \"laplace\"}",
      "The rest of the state changes, and the mode with it: use
       {.fn adaptive}."
    )
  }
}

step_gradient <- function(proposal, call) {
  found <- unique(proposal_gradients(proposal))
  if (length(found) == 0L && any_trait(proposal, "gradient")) {
    abort_argument(
      "{.fn langevin} needs its {.arg gradient} in {.fn mh_step}: a function of
       the state.",
      call = call
    )
  }
  if (length(found) > 1L) {
    abort_argument(
      "Langevin proposals of one block must have the same {.arg gradient}.",
      call = call
    )
  }
  if (length(found) > 0L) found[[1L]]
}

#' @export
format.gibbsite_mh_step <- function(x, ...) {
  remade(x, mh_step, "mh_step()")
  paste0(
    "Metropolis-Hastings on a log density: ", format(x$proposal),
    if (x$steps > 1L) paste0(", ", x$steps, " steps at a time")
  )
}

#' @export
print.gibbsite_mh_step <- function(x, ...) print_lines(x)

# The compiled proposals of the blocks that are moved, by name.
compile_steps <- function(conditionals, init, call) {
  steps <- conditionals[vapply(conditionals, is_mh_step, NA)]
  blocks <- names(steps)
  stats::setNames(lapply(blocks, function(block) {
    compile_proposal(
      steps[[block]]$proposal, length(init[[block]]),
      paste0("proposal of conditionals$", block), NULL, call,
      names(init[[block]])
    )
  }), blocks)
}

# Steps for which variates are drawn ahead, as in C.
step_look_ahead <- 64

# The data of a block updated by Metropolis-Hastings as C reads them; NULL for a
# block that is drawn.
open_step <- function(conditional, compiled, arguments) {
  if (!is_mh_step(conditional)) {
    return(NULL)
  }
  gradient <- conditional$gradient
  list(
    proposal = compiled, functions = move_functions(conditional$proposal),
    steps = as.double(conditional$steps),
    gradient = if (!is.null(gradient)) {
      state_call("gradient", gradient, arguments)
    }
  )
}

# The blocks' parts of a state: adaptation, counts and variates drawn ahead.
start_steps <- function(model, values) {
  lapply(names(model$init), function(block) {
    compiled <- model$steps[[block]]
    if (is.null(compiled)) {
      return(NULL)
    }
    x <- as.double(values[[block]])
    d <- length(x)
    width <- block_variates(list(proposal = compiled))
    # conditionals draw on the chain's stream; densities have a separate stream
    begun <- with_stream(side_stream(generator_seed()), {
      begin_to_learn(model, values, block, x, compiled)
    })
    list(
      x = x, point = x, value = c(-Inf, -Inf), slope = numeric(d + 1L),
      nan_count = 0, ahead = numeric(step_look_ahead * width),
      proposal = begun$value, asked = begun$stream
    )
  })
}

# The state of a block's adaptive proposal at the start.
begin_to_learn <- function(model, values, block, x, compiled) {
  proposal <- model$data[[block]]$proposal
  density <- step_density(model, values, block)
  check_step_start(model, values, block)
  look <- any_trait(proposal, "scale")
  scale <- if (look) reach(density, x) else rep(1, length(x))
  factor <- if (any_trait(proposal, "covariance")) {
    curvature_factor(density, x, seq_along(x), scale)
  }
  move_memory(proposal, compiled, x, scale, factor)
}

check_step_start <- function(model, values, block) {
  call <- rlang::call2("gibbs_sample")
  f <- model$data[[block]]$log_density
  from <- model$start_from
  start <- paste0("at the start", if (!is.null(from)) paste0(", `", from, "`"))
  value <- tryCatch(
    call_on_state(f, values, model$arguments),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_numeric(
        "The log density of block {.val {block}} failed {start}:
         {reason}.",
        call = call, class = "user_function"
      )
    }
  )
  number <- length(value) == 1L && (is.numeric(value) || identical(value, NA))
  if (!number) {
    given <- describe(value)
    abort_numeric(
      "The log density of block {.val {block}} must return one number, not
       {given}, {start}.",
      call = call, class = "user_function"
    )
  }
  if (!is.finite(value)) {
    given <- describe(as.double(value))
    abort_argument(
      c(
        "The log density of block {.val {block}} must be finite {start}, not
         {given}.",
        i = "Start where the density is positive: {.arg init} or
             {.arg inits}."
      ),
      call = call, class = "zero_density"
    )
  }
}

# The log density of a block given the rest of a starting state. If it fails or
# is not a number, it counts as -Inf here; the chain then reports the error.
step_density <- function(model, values, block) {
  f <- model$data[[block]]$log_density
  shape <- values[[block]]
  function(x) {
    values[[block]] <- replace(shape, seq_along(shape), x)
    value <- tryCatch(
      suppressWarnings(
        call_on_state(f, values, model$arguments)
      ),
      error = function(cnd) -Inf
    )
    number <- is.numeric(value) && length(value) == 1L
    if (number && isTRUE(value < Inf)) as.double(value) else -Inf
  }
}

# ---- Calls of the user's functions of the state ------------------------------

is_mh_step <- function(x) inherits(x, "gibbsite_mh_step")

# The function of a block that returns its draw or its log density.
main_function <- function(conditional) {
  if (is_mh_step(conditional)) conditional$log_density else conditional
}

check_state_function <- function(f, arg, expected, call) {
  if (!is.function(f)) {
    abort_expected(f, expected, FALSE, arg, call)
  }
  if (is.primitive(f) || length(formals(f)) == 0L) {
    abort_argument(
      c(
        "{.arg {arg}} must take the state as its first argument.",
        i = "Write it as {.code function(state) ...}."
      ),
      call = call
    )
  }
}

# conditional(state, x = argument_x): symbols that are bound in `run`.
state_call <- function(name, f, arguments) {
  taken <- taken_by(f, arguments)
  symbols <- lapply(paste0("argument_", names(taken), recycle0 = TRUE), as.name)
  as.call(c(
    list(as.name(name), quote(state)), stats::setNames(symbols, names(taken))
  ))
}

# The same call made from R.
call_on_state <- function(f, state, arguments) {
  do.call(f, c(list(state), taken_by(f, arguments)), quote = TRUE)
}
