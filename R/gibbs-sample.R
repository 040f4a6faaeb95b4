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
#' passed on to each.
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
#' @param ... Further arguments of the conditionals, by name.
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
#' before any chain runs. A chain stops where a conditional fails or returns what
#' its block cannot be: an error of class `gibbsite_error_chain`, which names the
#' chain, the block and the sweep, and carries the other chains in `$fit`.
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
  scan <- check_choice(scan, c("systematic", "random"))
  method <- check_choice(method, c("gibbs", "icm"))
  conditionals <- check_conditionals(conditionals, method, call)
  blocks <- names(conditionals)
  init <- check_init_blocks(init, blocks, call)
  arguments <- check_extra_arguments(list(...), call)
  check_log_joint(log_joint, method, call)
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_choices = blocks, call = call
  )
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
  # stored in the order of the blocks, whatever the order of `keep`
  keep <- intersect(names(conditionals), keep)
  columns <- unlist(lapply(keep, function(block) {
    block_columns(block, init[[block]])
  }))
  check_distinct_columns(columns, call)
  new_model(
    "gibbs_sample_model",
    name = "gibbs_sample", title = "Gibbs sampler", data = data,
    data_hash = hash_code(data), nobs = NA_integer_, columns = columns,
    prior = no_prior("the conditionals given to gibbs_sample()"),
    init = init, scan = scan, keep = keep
  )
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
  if (inherits(conditional, "gibbsite_mh_step")) {
    if (method == "icm") {
      abort_argument(
        c(
          "{.arg {arg}} must be a function with {.code method = \"icm\"}.",
          i = "{.fn mh_step} draws; the search needs the conditional mode."
        ),
        call = call
      )
    }
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

check_extra_arguments <- function(arguments, call) {
  names <- names(arguments) %||% rep("", length(arguments))
  if (any(names == "")) {
    abort_argument(
      c(
        "Arguments in {.arg ...} must be named.",
        i = "They are passed on to every conditional; the running arguments
             need their names in full."
      ),
      call = call
    )
  }
  if (anyDuplicated(names) > 0L) {
    twice <- names[duplicated(names)][1L]
    abort_argument(
      "{.arg {twice}} is given twice in {.arg ...}.", call = call
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
  state <- list(sweep = 0, values = values)
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
  steps <- vapply(model$data$conditionals, inherits, NA, "gibbsite_mh_step")
  if (length(steps) == length(blocks)) {
    blocks[steps] <- paste0(blocks[steps], " (MH)")
  }
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
set_data.gibbs_sample_model <- function(model, data) {
  model$data$conditionals <- data
  model$data_hash <- hash_code(model$data)
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
  frame_of <- function(f) {
    frame <- new.env(hash = FALSE, parent = run)
    assign("conditional", f, frame)
    frame
  }
  list(
    calls = rep(list(state_call(model$data$arguments, run)),
                length(conditionals)),
    frames = lapply(unname(conditionals), frame_of), run = run,
    lengths = as.double(lengths(model$init, use.names = FALSE)),
    dims = unname(lapply(model$init, dim)),
    kept = match(model$keep, names(model$init)),
    random = as.integer(model$scan == "random"), place = numeric(3)
  )
}

# conditional(state, x = argument_1, ...), the arguments being put into `run`.
state_call <- function(arguments, run) {
  symbols <- lapply(seq_along(arguments), function(i) {
    as.name(paste0("argument_", i))
  })
  for (i in seq_along(arguments)) {
    assign(paste0("argument_", i), arguments[[i]], run)
  }
  names(symbols) <- names(arguments)
  as.call(c(list(quote(conditional), quote(state)), symbols))
}

# An error with the block and the sweep in which it happened; the driver adds
# the chain.
abort_block <- function(model, run, cnd) {
  sweep <- format_number(run$place[1])
  number <- run$place[2]
  if (number == 0) {
    stop(cnd)
  }
  block <- names(model$init)[[number]]
  where <- paste0("block `", block, "` in sweep ", sweep)
  reason <- if (run$place[3] == 0) {
    paste0("the conditional of ", where, " failed: ", conditionMessage(cnd))
  } else {
    fault_words(run$place[3], run$run$value, model$init[[block]], where)
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

# fault: 1 shape, 2 value, 3 generator, as in C.
fault_words <- function(fault, value, init, where) {
  if (fault == 3) {
    return(paste0(
      "the conditional of ", where,
      " changed the kind of random number generator"
    ))
  }
  if (fault == 1) {
    return(paste0(
      where, " must be ", shape_words(init), ", as in `init`, not ",
      describe(value)
    ))
  }
  at <- which(!is.finite(value))[[1L]]
  place <- if (length(value) > 1L) paste0(", element ", at, " of ") else " of "
  paste0(
    "the value", place, where, " must be finite, not ",
    describe_scalar(value[[at]])
  )
}

# ---- search for a mode -------------------------------------------------------

# One sweep of conditional modes.  Without a log joint density the state tells
# when nothing moves.
#' @exportS3Method
model_climb.gibbs_sample_model <- function(model, state, threads) {
  control <- list(burnin = 0, thin = 1, threads = threads)
  before <- state$values
  state <- model_sweeps(model, state, 1, control)$state
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
  value <- do.call(f, c(list(values), model$data$arguments), quote = TRUE)
  if (!is_plain_number(value)) {
    given <- describe(value)
    stop("`log_joint` must return one number, not ", given, call. = FALSE)
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
  table <- NextMethod()
  if (all(is.na(table$log_joint))) {
    table$best <- NA
  }
  table
}
