# gibbs_sample(): Gibbs sampling from conditionals that the user writes.

#' Gibbs sampling from your own conditionals
#'
#' The general recipe: the unknowns are cut into blocks
#' \eqn{\theta_1, \dots, \theta_K}, and each block is drawn in turn from its
#' distribution given all the others,
#' \deqn{\theta_k \sim p(\theta_k \mid \theta_1, \dots, \theta_{k-1},
#'   \theta_{k+1}, \dots, \theta_K),}{theta_k ~ p(theta_k | all other blocks),}
#' where those that were drawn before it in the same sweep have their new
#' values. You write the draws; the chain, its random numbers, storage,
#' diagnostics, interruption and continuation are seen to.
#'
#' Each update leaves the joint distribution \eqn{p(\theta_1, \dots, \theta_K)}
#' invariant if the conditionals all belong to it: that is yours to see to.
#' Nothing can tell from conditionals that there is such a joint distribution,
#' nor that it is proper.
#'
#' @section Conditionals:
#' A conditional is a function of the whole current state, a named list with
#' one element a block, and returns a draw of its own block:
#' `function(state) rnorm(1, state$y, 1)`. It draws with R's own functions, on
#' the stream of its chain. Arguments given to `gibbs_sample()` in `...` are
#' passed on to those that take them.
#'
#' What it returns must be numbers (double, integer or logical, the last two
#' recorded as numbers) of the same length and dimensions as the block in
#' `init`, all finite, or the chain stops with an error that names the block and
#' the sweep. Integers stay integers in the state. Dimensions count: for a block
#' that is a plain vector a one-column matrix is an error
#' ([drop()] helps).
#'
#' The list that a function is given is its own: changing it changes nothing
#' outside, and a function that keeps it finds it as it was. A conditional may
#' run other samplers. It must not change the kind of random number generator,
#' which is an error, nor set a seed, which makes the chain repeat its numbers;
#' chains that have come to be copies of each other by that are warned of.
#'
#' @section Blocks without a closed form:
#' [mh_step()] in the place of a function updates its block by
#' Metropolis-Hastings steps on a log density, known up to a constant.
#'
#' @section Order of the blocks:
#' `scan = "systematic"` (default) updates the blocks in the order of
#' `conditionals`, each once a sweep; printing the fit shows it. `scan =
#' "random"` makes as many updates a sweep as there are blocks, each of a block
#' taken at random, with equal probabilities, independently of all before. The
#' chain is then reversible (Liu, Wong and Kong 1995); the systematic one is
#' usually the better one of the two (a sweep of the random one leaves a
#' block as it was with probability about 0.37).
#'
#' @section Search for the mode:
#' With `method = "icm"` (iterated conditional modes, Besag 1986) the functions
#' return the *modes* of the conditionals in place of draws. Blocks are set in
#' turn until the log joint density, if `log_joint` is given, rises no more, or
#' else until no number of the state changes by more than 1e-8 of its size. The
#' result is a point, not a posterior: an object of class `gibbsite_map`.
#'
#' @section Stored quantities:
#' A block that is a single number is a column of its name; one of more numbers
#' has columns `w[1]`, `w[2]`, ..., a matrix `Sigma[1,1]`, `Sigma[2,1]`, ...
#' `keep` says which blocks are stored.
#'
#' @section Speed:
#' A sweep costs about what the calls of your functions cost:
#' the loop around them is compiled and adds less than a microsecond a block.
#' Within them, R's functions fetch and store the state of the generator
#' each time they are called, about 5 microseconds for the Mersenne Twister: one
#' `rnorm(2)` is cheaper than two `rnorm(1)`.
#'
#' @param conditionals Named list with one element a block, in the order in
#'   which they are updated: a function of the state, or [mh_step()].
#' @param init Named list with the starting value of each block: finite numbers,
#'   a scalar, vector, matrix or array. It fixes the shapes. Every chain starts
#'   from it, unless `inits` says otherwise: an entry of `inits` is such a list
#'   with any of the blocks.
#' @param ... Further arguments of the conditionals, by name: each is given to
#'   the functions that have an argument of its name, or `...`.
#' @param scan `"systematic"` (default) or `"random"`.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode.
#' @param log_joint For `"icm"`: `NULL` (default), or a function of the state
#'   (and of `...`) that returns the log joint density up to a constant.
#' @param keep `NULL` (default) to store every block, or the names of those to
#'   store.
#' @inheritParams running
#' @return An object of class `gibbs_sample`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws a chain. With `method = "icm"` an
#'   object of class `gibbsite_map` whose `estimate` is the state.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs. A chain stops where a conditional fails or returns
#' what its block cannot be: an error of class `gibbsite_error_chain`, which
#' names the chain, the block and the sweep, and carries the other chains in
#' `$fit`.
#' @references
#' Gelfand AE, Smith AFM (1990). Sampling-based approaches to calculating
#' marginal densities. *Journal of the American Statistical Association* 85,
#' 398-409. \doi{10.1080/01621459.1990.10476213}
#'
#' Liu JS, Wong WH, Kong A (1995). Covariance structure and convergence rate of
#' the Gibbs sampler with various scans. *Journal of the Royal Statistical
#' Society B* 57, 157-169. \doi{10.1111/j.2517-6161.1995.tb02021.x}
#'
#' Besag J (1986). On the statistical analysis of dirty pictures. *Journal of
#' the Royal Statistical Society B* 48, 259-302.
#' \doi{10.1111/j.2517-6161.1986.tb01412.x}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, "Gibbs sampling".
#' @seealso [mh_sample()] when there is a density and no conditionals.
#' @examples
#' # A normal distribution in the plane, mean (4, 4), variances 1 and
#' # correlation 0.8, from its two conditionals
#' fit <- gibbs_sample(
#'   list(
#'     z1 = function(state) rnorm(1, 4 + 0.8 * (state$z2 - 4), 0.6),
#'     z2 = function(state) rnorm(1, 4 + 0.8 * (state$z1 - 4), 0.6)
#'   ),
#'   init = list(z1 = 0, z2 = 0), burnin = 100, chains = 2, seed = 1
#' )
#' fit
#' summary(fit)
#'
#' # Linear regression: w ~ N(0, I / lambda), y | w ~ N(X w, 1 / beta),
#' # lambda and beta ~ Gamma(2, 1) (shape, rate)
#' X <- cbind(1, scale(as.matrix(mtcars[c("wt", "hp")])))
#' y <- drop(scale(mtcars$mpg))
#' conditionals <- list(
#'   w = function(state, X, y) {
#'     precision <- state$beta * crossprod(X) + diag(state$lambda, ncol(X))
#'     root <- chol(precision)
#'     mean <- backsolve(
#'       root, forwardsolve(t(root), state$beta * crossprod(X, y))
#'     )
#'     drop(mean + backsolve(root, rnorm(ncol(X))))
#'   },
#'   lambda = function(state, X, y) {
#'     rgamma(1, 2 + ncol(X) / 2, 1 + sum(state$w^2) / 2)
#'   },
#'   beta = function(state, X, y) {
#'     rgamma(1, 2 + length(y) / 2, 1 + sum((y - X %*% state$w)^2) / 2)
#'   }
#' )
#' fit <- gibbs_sample(
#'   conditionals, init = list(w = c(0, 0, 0), lambda = 1, beta = 1),
#'   X = X, y = y, draws = 500, burnin = 100, chains = 2, seed = 1
#' )
#' summary(fit)
#' @export
gibbs_sample <- function(conditionals, init, ...,
                         scan = c("systematic", "random"),
                         method = c("gibbs", "icm"), log_joint = NULL,
                         draws = 1000, burnin = 1000, thin = 1, chains = 4,
                         inits = NULL, keep = NULL, threads = 1,
                         cores = getOption("mc.cores", 1L), seed = NULL,
                         checkpoint = NULL, stop_when = NULL,
                         progress = interactive()) {
  call <- rlang::current_env()
  if (missing(conditionals)) {
    abort_needed("conditionals", "a named list of functions", call)
  }
  if (missing(init)) {
    abort_needed("init", "a named list with one element a block", call)
  }
  scan <- check_choice(scan, c("systematic", "random"))
  method <- check_choice(method, c("gibbs", "icm"))
  conditionals <- check_conditionals(conditionals, method, call)
  blocks <- names(conditionals)
  init <- check_init_blocks(init, blocks, call)
  check_log_joint(log_joint, method, call)
  arguments <- check_extra_arguments(
    list(...), c(conditionals, list(log_joint)), call
  )
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_choices = blocks, call = call
  )
  check_steps_size(conditionals, init, running$chains, call)
  model <- gibbs_sample_model(
    conditionals, init, arguments, scan, running$keep, log_joint, call
  )
  if (method == "icm") {
    return(search_mode(model, running, match.call(), call))
  }
  run_chains(model, running, match.call(), call)
}

gibbs_sample_model <- function(conditionals, init, arguments, scan, keep,
                               log_joint, call) {
  data <- list(
    conditionals = conditionals, arguments = arguments, log_joint = log_joint
  )
  for (block in names(conditionals)) {
    if (is_mh_step(conditionals[[block]])) {
      storage.mode(init[[block]]) <- "double"
    }
  }
  # stored in the order of the blocks, whatever the order of `keep`
  keep <- intersect(names(conditionals), keep)
  columns <- unlist(lapply(keep, function(block) {
    block_columns(block, init[[block]])
  }))
  check_distinct_columns(columns, call)
  new_model(
    "gibbs_sample_model",
    name = "gibbs_sample", title = "Gibbs sampler", data = data,
    data_hash = hash_conditionals(data), nobs = NA_integer_, columns = columns,
    prior = no_prior("the conditionals given to gibbs_sample()"),
    init = init, scan = scan, keep = keep,
    steps = compile_steps(conditionals, init, call)
  )
}

# Functions by their code and by what they find where they were made.
hash_conditionals <- function(data) {
  hash_code(list(data, lapply(functions_in(data), closure_values)))
}

# "tau", "w[1]", "Sigma[1,2]"
block_columns <- function(block, value) {
  if (length(value) == 1L && is.null(dim(value))) {
    return(block)
  }
  size <- dim(value) %||% length(value)
  do.call(indexed, c(list(block), lapply(size, seq_len)))
}

# ---- what the user gave ------------------------------------------------------

check_conditionals <- function(conditionals, method, call) {
  if (!is.list(conditionals) || is.object(conditionals) ||
        length(conditionals) == 0L) {
    abort_expected(
      conditionals, "a named list of functions", FALSE, "conditionals", call
    )
  }
  check_block_names(names(conditionals), call)
  for (block in names(conditionals)) {
    check_conditional(conditionals[[block]], block, method, call)
  }
  conditionals
}

check_block_names <- function(names, call) {
  wrong <- is.null(names) || anyNA(names)
  odd <- names[names != make.names(names) | names %in% reserved_names]
  if (wrong || length(odd) > 0L) {
    abort_argument(
      c(
        "Each element of {.arg conditionals} must be named by its block.",
        x = if (length(odd) > 0L) {
          "{quoted(odd[1])} cannot be the name of a block."
        },
        i = "Names are those of R's variables; {.val {reserved_names}} are
             taken."
      ),
      call = call
    )
  }
  twice <- names[duplicated(names)]
  if (length(twice) > 0L) {
    abort_argument(
      "{.arg conditionals} has several blocks named {.val {twice[1]}}.",
      call = call
    )
  }
}

# posterior keeps its book in columns of these names
reserved_names <- c(".chain", ".iteration", ".draw")

check_conditional <- function(conditional, block, method, call) {
  arg <- paste0("conditionals$", block)
  if (is_mh_step(conditional)) {
    if (method == "icm") {
      abort_argument(
        c(
          "{.arg {arg}} must be a function with {.code method = \"icm\"}.",
          i = "{.fn mh_step} draws; the search needs the conditional mode."
        ),
        call = call
      )
    }
    remade(
      conditional, mh_step, "mh_step()", arg, call,
      c("log_density", "proposal", "steps")
    )
    check_made(conditional, "gradient", "mh_step()", arg, call)
    return(invisible())
  }
  check_state_function(conditional, arg, "a function of the state", call)
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

check_log_joint <- function(log_joint, method, call) {
  if (is.null(log_joint)) {
    return(invisible())
  }
  check_state_function(
    log_joint, "log_joint", "NULL or a function of the state", call
  )
  if (method != "icm") {
    abort_argument(
      c(
        "{.arg log_joint} serves {.code method = \"icm\"} alone.",
        i = "A draw needs the conditionals and nothing else: leave it out."
      ),
      call = call
    )
  }
}

# The state in the order of the blocks.
check_init_blocks <- function(init, blocks, call) {
  if (!is.list(init) || is.object(init) || is.null(names(init))) {
    abort_expected(
      init, "a named list with one element a block", FALSE, "init", call
    )
  }
  missing <- setdiff(blocks, names(init))
  unknown <- setdiff(names(init), blocks)
  if (length(missing) + length(unknown) > 0L || anyDuplicated(names(init))) {
    abort_argument(
      c(
        "{.arg init} must have one element for each block of
         {.arg conditionals}: {.val {blocks}}.",
        x = if (length(missing) > 0L) "It has none for {.val {missing}}.",
        x = if (length(unknown) > 0L) {
          "There is no conditional for {.val {unknown}}: what stays fixed goes
           into {.arg ...}."
        }
      ),
      call = call
    )
  }
  for (block in blocks) {
    check_block(init[[block]], paste0("init$", block), call)
  }
  init[blocks]
}

# A block's value: finite numbers, without a class.
check_block <- function(value, arg, call) {
  plain <- (is.numeric(value) || is.logical(value)) && !is.object(value)
  if (!plain || length(value) == 0L) {
    abort_expected(
      value, "finite numbers: a scalar, vector, matrix or array", FALSE, arg,
      call
    )
  }
  abort_elements(!is.finite(value), value, arg, "finite", call)
}

# `...`: by name, and each such as some function takes.
check_extra_arguments <- function(arguments, conditionals, call) {
  names <- names(arguments) %||% rep("", length(arguments))
  if (any(names == "")) {
    abort_argument(
      c(
        "Arguments in {.arg ...} must be named.",
        i = "They are passed on to the conditionals that take them."
      ),
      call = call
    )
  }
  check_once(names, call)
  functions <- functions_in(lapply(conditionals, unclass))
  known <- unlist(lapply(functions, function(f) names(formals(f))))
  unknown <- setdiff(names, known)
  if (length(unknown) > 0L && !"..." %in% known) {
    abort_argument(
      "There is no argument {.arg {unknown[1]}}, neither of {.fn gibbs_sample}
       nor of a conditional.",
      call = call
    )
  }
  for (i in which(lengths(conditionals) > 0L)) {
    f <- main_function(conditionals[[i]])
    check_not_first(
      names(taken_by(f, arguments)), f,
      paste0("conditionals[[", i, "]]"), "the state", call
    )
  }
  arguments
}

# "a[1]" may be block a's, never also the name of a block: names cannot hold
# brackets.  A block may be too wide all the same.
check_distinct_columns <- function(columns, call) {
  if (length(columns) > .Machine$integer.max) {
    abort_argument("The blocks in {.arg keep} are too large.", call = call)
  }
}

# ---- no prior ----------------------------------------------------------------

# What prior_summary() says of a model whose prior nobody has told us apart.
no_prior <- function(within) {
  structure(list(within = within), class = c("no_prior", "gibbsite_prior"))
}

#' @export
format.no_prior <- function(x, ...) {
  check_made(x, "within", "prior_summary()")
  paste0("No prior apart: it is part of ", x$within, ".")
}

#' @export
print.no_prior <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# ---- what the driver asks ----------------------------------------------------

# Sweeps for which the order of a random scan is drawn ahead, as in C.
gibbs_look_ahead <- 64L

#' @exportS3Method
model_start.gibbs_sample_model <- function(model, init) {
  values <- model$init
  values[names(init)] <- init
  for (block in names(model$steps)) {
    storage.mode(values[[block]]) <- "double"
  }
  state <- list(
    sweep = 0, values = values, steps = start_steps(model, values)
  )
  if (model$scan == "random") {
    state$order <- integer(gibbs_look_ahead * length(values))
  }
  state
}

#' @exportS3Method
model_check_init.gibbs_sample_model <- function(model, init, where, call) {
  if (is.null(init)) {
    return(NULL)
  }
  blocks <- names(model$init)
  named <- length(init) == 0L || !is.null(names(init))
  if (!is.list(init) || !named || !all(names(init) %in% blocks) ||
        anyDuplicated(names(init))) {
    abort_argument(
      c(
        "`{where}` must be a list with names among {.val {blocks}}.",
        i = "What is left out is taken from {.arg init}."
      ),
      call = call
    )
  }
  for (block in names(init)) {
    arg <- paste0(where, "$", block)
    check_block(init[[block]], arg, call)
    if (!same_shape(init[[block]], model$init[[block]])) {
      shape <- shape_words(model$init[[block]])
      given <- describe(init[[block]])
      abort_argument(
        "`{arg}` must be {shape}, as in {.arg init}, not {given}.", call = call
      )
    }
  }
  init
}

same_shape <- function(a, b) {
  length(a) == length(b) && identical(dim(a), dim(b))
}

# "one number", "3 numbers", "a 2 x 2 matrix", "a 2 x 2 x 3 array"
shape_words <- function(x) {
  size <- dim(x)
  if (is.null(size)) {
    return(if (length(x) == 1L) "one number" else paste(length(x), "numbers"))
  }
  kind <- if (length(size) == 2L) "matrix" else "array"
  paste("a", paste(size, collapse = " x "), kind)
}

#' @exportS3Method
model_init_from_state.gibbs_sample_model <- function(model, state) state$values

#' @exportS3Method
model_headline.gibbs_sample_model <- function(model) {
  blocks <- names(model$init)
  moved <- blocks %in% names(model$steps)
  blocks[moved] <- paste0(blocks[moved], " (MH)")
  shown <- utils::head(blocks, 8L)
  more <- if (length(blocks) > 8L) paste0(", ... (", length(blocks), " blocks)")
  order <- if (model$scan == "random") {
    paste0("one of ", paste(shown, collapse = ", "), more, " at a time")
  } else {
    paste0(paste(shown, collapse = ", then "), more)
  }
  paste0("Gibbs sampler, ", model$scan, " scan: ", order)
}

#' @exportS3Method
model_needs.gibbs_sample_model <- function(model) needs_of(model$data)

# The conditionals are what a fit is compared by where a sampler has data.
#' @exportS3Method
set_data.gibbs_sample_model <- function(model, data,
                                        call = rlang::caller_env()) {
  model$data$conditionals <- data
  model$data_hash <- hash_conditionals(model$data)
  model
}

#' @exportS3Method
model_sweeps.gibbs_sample_model <- function(model, state, n, control) {
  run <- open_functions(model)
  tryCatch(
    .Call(C_gibbs_sample_sweeps, run, state, n, control),
    error = function(cnd) abort_block(model, run, cnd)
  )
}

# What C reads: for each block the call of its function and the frame in which
# it finds the function; all frames lie in `run`, where the state and the
# further arguments are.  A call is then as short in an error message as a
# person would have written it.
open_functions <- function(model) {
  conditionals <- model$data$conditionals
  run <- new.env(parent = baseenv())
  frame_of <- function(conditional) {
    frame <- new.env(parent = run)
    if (is_mh_step(conditional)) {
      frame$gradient <- conditional$gradient
    }
    frame$conditional <- main_function(conditional)
    frame
  }
  arguments <- model$data$arguments
  for (name in names(arguments)) {
    assign(paste0("argument_", name), arguments[[name]], run)
  }
  list(
    calls = lapply(unname(conditionals), function(conditional) {
      state_call("conditional", main_function(conditional), arguments)
    }),
    frames = lapply(unname(conditionals), frame_of), run = run,
    lengths = as.double(lengths(model$init, use.names = FALSE)),
    dims = unname(lapply(model$init, dim)),
    steps = lapply(names(conditionals), function(block) {
      open_step(conditionals[[block]], model$steps[[block]], arguments)
    }),
    kept = match(model$keep, names(model$init)),
    random = as.integer(model$scan == "random"), place = numeric(3)
  )
}

# Further arguments are given to the functions that take them.
taken_by <- function(f, arguments) {
  known <- names(formals(f))
  if ("..." %in% known) arguments else arguments[names(arguments) %in% known]
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

# The function of a block that is asked for its draw or its log density.
main_function <- function(conditional) {
  if (is_mh_step(conditional)) conditional$log_density else conditional
}

# An error with the block and the sweep in which it happened; the driver adds
# the chain.
abort_block <- function(model, run, cnd) {
  sweep <- format_number(run$place[1])
  number <- run$place[2]
  if (number == 0) {
    rlang::cnd_signal(cnd)
  }
  block <- names(model$init)[[number]]
  where <- paste0("block `", block, "` in sweep ", sweep)
  reason <- if (run$place[3] == 0) {
    what <- if (block %in% names(model$steps)) "step" else "conditional"
    paste0("the ", what, " of ", where, " failed: ", conditionMessage(cnd))
  } else {
    block_fault_words(
      run$place[3], run$run$value, model$init[[block]], where, run$run$fault
    )
  }
  rlang::abort(
    reason,
    class = c(
      if (run$place[3] == 3) "gibbsite_error_generator",
      "gibbsite_error_block", "gibbsite_error"
    ),
    call = NULL, block = block, sweep = run$place[1], condition = cnd
  )
}

# fault: as the codes in r_gibbs_sample.h.
block_fault_words <- function(fault, value, init, where, proposal) {
  size <- length(init)
  switch(fault,
    paste0(
      where, " must be ", shape_words(init), ", as in `init`, not ",
      describe(value)
    ),
    not_finite_words(value, where),
    paste0(
      "the conditional of ", where,
      " changed the kind of random number generator"
    ),
    paste0(
      "the log density of ", where, " must be one number, not ", describe(value)
    ),
    paste0(
      "the gradient of ", where, " must be ", size, " finite number",
      if (size > 1L) "s"
    ),
    paste0(
      "the log density of ", where, " is NaN or +Inf where the block is ",
      state_point_words(value)
    ),
    paste0(
      "the proposal of ", where, " gave ", switch(proposal %||% "ratio",
        draw = "a draw that is not finite",
        vector = paste("a draw of another length than", size),
        number = "a log density that is not one number",
        "a log density that is NaN, or infinite for its own draw"
      )
    )
  )
}

not_finite_words <- function(value, where) {
  at <- which(!is.finite(value))[[1L]]
  place <- if (length(value) > 1L) paste0(", element ", at, " of ") else " of "
  paste0(
    "the value", place, where, " must be finite, not ",
    describe_scalar(value[[at]])
  )
}

# ---- blocks that are moved ---------------------------------------------------

#' A block of a Gibbs sampler updated by Metropolis-Hastings
#'
#' Takes the place of a conditional in [gibbs_sample()] for a block that cannot
#' be drawn: the block \eqn{\theta_k}{theta_k} is moved by Metropolis-Hastings
#' steps that leave \eqn{p(\theta_k \mid \theta_{-k})}{p(theta_k | rest)}
#' invariant. The log density is needed up to a constant only that does not
#' depend on the block: the log joint density will do, and so will those of its
#' factors in which the block stands.
#'
#' Each update asks for the log density once at the current point, since the
#' rest of the state has changed, and once for each step. It must be exact: an
#' unbiased estimate, as [mh_sample()] takes it, would not do here. It may draw
#' random numbers or set a seed, as a simulated likelihood with common random
#' numbers does: that happens on a stream of its own and moves no other draw.
#'
#' A proposal that learns does so in burn-in, and is frozen after;
#' [acceptance()] shows how often each block moved.
#'
#' @param log_density Function of the whole state, a named list as in
#'   [gibbs_sample()], in which the block has the value that is asked about;
#'   returns one number, `-Inf` where the density is zero. NaN and `+Inf` stop
#'   the chain.
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
  if (missing(log_density)) {
    abort_needed("log_density", "a function of the state", call)
  }
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
  if (uses_laplace(proposal)) {
    abort_argument(
      c(
        "{.code cov = \"laplace\"} is not available in {.fn mh_step}.",
        i = "The rest of the state changes, and the mode with it: use
             {.fn adaptive}."
      ),
      call = call
    )
  }
  steps <- check_count(steps, max = 1e6, call = call)
  structure(
    list(
      log_density = log_density, proposal = proposal,
      gradient = step_gradient(proposal, call), steps = steps
    ),
    class = "gibbsite_mh_step"
  )
}

is_mh_step <- function(x) inherits(x, "gibbsite_mh_step")

step_gradient <- function(proposal, call) {
  found <- unique(proposal_gradients(proposal))
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
  check_made(x, names(formals(mh_step)), "mh_step()")
  paste0(
    "Metropolis-Hastings on a log density: ", format(x$proposal),
    if (x$steps > 1L) paste0(", ", x$steps, " steps at a time")
  )
}

#' @export
print.gibbsite_mh_step <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

check_steps_size <- function(conditionals, init, chains, call) {
  for (block in names(conditionals)) {
    step <- conditionals[[block]]
    if (is_mh_step(step) && has_matrix(step$proposal)) {
      check_matrix_of(
        length(init[[block]]), chains,
        paste0("The proposal of {.arg conditionals$", block, "}"), call
      )
    }
  }
}

# The compiled proposals of the blocks that are moved, by name.
compile_steps <- function(conditionals, init, call) {
  steps <- conditionals[vapply(conditionals, is_mh_step, NA)]
  blocks <- names(steps)
  stats::setNames(lapply(blocks, function(block) {
    compile_proposal(
      steps[[block]]$proposal, length(init[[block]]),
      paste0("proposal of conditionals$", block), NULL, call
    )
  }), blocks)
}

# Steps for which variates are drawn ahead, as in C.
step_look_ahead <- 64

# What C reads of a block that is moved; NULL for one that is drawn.
open_step <- function(conditional, compiled, arguments) {
  if (!is_mh_step(conditional)) {
    return(NULL)
  }
  gradient <- conditional$gradient
  list(
    proposal = compiled, functions = proposal_functions(conditional$proposal),
    steps = as.double(conditional$steps),
    gradient = if (!is.null(gradient)) {
      state_call("gradient", gradient, arguments)
    }
  )
}

# The blocks' parts of a state: what a step learns, counts and has drawn ahead.
start_steps <- function(model, values) {
  lapply(names(model$init), function(block) {
    conditional <- model$data$conditionals[[block]]
    compiled <- model$steps[[block]]
    if (is.null(compiled)) {
      return(NULL)
    }
    x <- as.double(values[[block]])
    d <- length(x)
    width <- block_variates(list(proposal = compiled))
    # conditionals draw on the chain's stream: densities have one to themselves
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

# The memory of a block's proposal at the start.
begin_to_learn <- function(model, values, block, x, compiled) {
  proposal <- model$data$conditionals[[block]]$proposal
  density <- step_density(model, values, block)
  check_step_start(model, values, block)
  scale <- if (needs_scale(proposal)) reach(density, x) else rep(1, length(x))
  proposal_memory(
    proposal, compiled, x, scale,
    factor_to_begin_with(proposal, density, x, seq_along(x), scale)
  )
}

check_step_start <- function(model, values, block) {
  call <- rlang::call2("gibbs_sample")
  f <- model$data$conditionals[[block]]$log_density
  from <- model$start_from
  start <- paste0("at the start", if (!is.null(from)) paste0(", `", from, "`"))
  value <- tryCatch(
    call_on_state(f, values, model$data$arguments),
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

# The log density of a block given the rest of a start; where it fails or is no
# number, which the chain will tell of, it counts as -Inf.
step_density <- function(model, values, block) {
  f <- model$data$conditionals[[block]]$log_density
  shape <- values[[block]]
  function(x) {
    values[[block]] <- replace(shape, seq_along(shape), x)
    value <- tryCatch(
      suppressWarnings(
        call_on_state(f, values, model$data$arguments)
      ),
      error = function(cnd) -Inf
    )
    number <- is.numeric(value) && length(value) == 1L
    if (number && isTRUE(value < Inf)) as.double(value) else -Inf
  }
}

#' @exportS3Method
model_acceptance.gibbs_sample_model <- function(model, state) {
  moved <- names(model$init) %in% names(model$steps)
  if (!any(moved)) {
    return(NULL)
  }
  memory_table(
    names(model$init)[moved], lapply(state$steps[moved], `[[`, "proposal")
  )
}

# ---- search for a mode -------------------------------------------------------

# One sweep of conditional modes.  Without a log joint density the state tells
# when nothing moves.
#' @exportS3Method
model_climb.gibbs_sample_model <- function(model, state, threads) {
  control <- list(burnin = 0, thin = 1, threads = threads)
  before <- state$values
  state <- interrupt_or(model_sweeps(model, state, 1, control))$state
  list(
    state = state, log_joint = log_joint_of(model, state$values),
    change = largest_change(before, state$values)
  )
}

log_joint_of <- function(model, values) {
  f <- model$data$log_joint
  if (is.null(f)) {
    return(NA_real_)
  }
  value <- call_on_state(f, values, model$data$arguments)
  if (!is_plain_number(value)) {
    given <- describe(value)
    # words for the search, which says where it stopped
    rlang::abort(
      paste0("`log_joint` must return one number, not ", given), call = NULL
    )
  }
  as.double(value)
}

# Largest change of a number of the state, in units of its size (of 1 for those
# below 1).
largest_change <- function(before, after) {
  before <- as.double(unlist(before, use.names = FALSE))
  after <- as.double(unlist(after, use.names = FALSE))
  max(abs(after - before) / pmax(1, abs(after)))
}

#' @exportS3Method
model_estimate.gibbs_sample_model <- function(model, state) state$values

#' @rdname gibbsite_map
#' @export
print.gibbs_sample_map <- function(x, ...) {
  check_map(x)
  if (is.na(x$log_joint)) {
    writeLines(c(
      paste0("<mode, not a posterior> ", model_headline(x$model)), "",
      paste0(
        "First of ", length(x$starts), " starts, after ", length(x$trace),
        " sweeps", if (!x$converged) " (not converged)",
        "; without `log_joint` no start is known to be the best."
      )
    ))
  } else {
    NextMethod()
  }
  values <- unlist(lapply(names(x$estimate), function(block) {
    value <- x$estimate[[block]]
    stats::setNames(as.double(value), block_columns(block, value))
  }))
  cat("\n")
  print(signif(utils::head(values, 20L), 4))
  if (length(values) > 20L) {
    cat("... and", length(values) - 20L, "more numbers: see `$estimate`\n")
  }
  invisible(x)
}

#' @rdname gibbsite_map
#' @export
summary.gibbs_sample_map <- function(object, ...) {
  check_map(object)
  table <- NextMethod()
  if (all(is.na(table$log_joint))) {
    table$best <- NA
  }
  table
}
