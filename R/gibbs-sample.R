# gibbs_sample(): Gibbs sampling from conditionals that the user writes.

#' Gibbs sampling from your own conditionals
#'
#' The general recipe: the unknowns are cut into blocks
#' \eqn{\theta_1, \dots, \theta_K}, and each block is drawn in turn from its
#' distribution given all the others,
#' \deqn{\theta_k \sim p(\theta_k \mid \theta_1, \dots, \theta_{k-1},
#'   \theta_{k+1}, \dots, \theta_K),}{theta_k ~ p(theta_k | all other blocks),}
#' where blocks drawn earlier in the same sweep have their new values. You write
#' the functions that draw; the package runs the chains and handles random
#' numbers, storage, diagnostics, interruption and continuation.
#'
#' Each update leaves the joint distribution \eqn{p(\theta_1, \dots, \theta_K)}
#' invariant if all conditionals are those of this joint distribution. You must
#' make sure of this: the package cannot check that the conditionals have a
#' common joint distribution, nor that it is proper.
#'
#' @section Conditionals:
#' A conditional is a function of the whole current state, a named list with
#' one element a block, and returns a draw of its own block:
#' `function(state) rnorm(1, state$y, 1)`. It draws with R's own functions, on
#' the chain's stream of random numbers. Arguments given to `gibbs_sample()` in
#' `...` are passed to the conditionals that have arguments of these names.
#'
#' It must return finite numbers (double, integer or logical, the last two
#' recorded as numbers) of the same length and dimensions as the block in
#' `init`; elements with the names of `init` are in its order. Otherwise the
#' chain stops with an error that names the block and the sweep. Integers stay
#' integers in the state. For a block that is a plain vector a matrix of one
#' row, as [sample_mvnorm()] returns it, or of one column is taken as a vector.
#'
#' Each function gets its own copy of the list: changes to it have no effect
#' outside the function, and a copy that a function keeps does not change. A
#' conditional may run other samplers. It must not change the kind of random
#' number generator, which is an error, nor set a seed, which makes the chain
#' repeat its random numbers. A warning is given if chains have become copies of
#' each other because of this.
#'
#' @section Blocks without a closed form:
#' [mh_step()] instead of a function updates its block by Metropolis-Hastings
#' steps on a log density, known up to a constant.
#'
#' @section Order of the blocks:
#' `scan = "systematic"` (default) updates the blocks in the order of
#' `conditionals`, each once a sweep; printing the fit shows it. `scan =
#' "random"` makes as many updates a sweep as there are blocks; each updates a
#' block chosen at random, with equal probabilities, independently of the
#' earlier ones. The chain is then reversible (Liu, Wong and Kong 1995). The
#' systematic scan is usually better: a sweep of the random scan leaves a block
#' unchanged with probability about 0.37.
#'
#' @section Stored quantities:
#' A block that is a single number is a column with the block's name; a longer
#' block has columns `w[1]`, `w[2]`, ..., a matrix `Sigma[1,1]`, `Sigma[2,1]`,
#' ... `keep` says which blocks are stored.
#'
#' @section Speed:
#' The time of a sweep is mostly the time of your functions: the loop around
#' them is compiled and adds less than a microsecond a block. R's functions load
#' and save the state of the generator at each call, about 5 microseconds for
#' the Mersenne Twister: one `rnorm(2)` is cheaper than two `rnorm(1)`.
#'
#' @param conditionals Named list with one element a block, in the order in
#'   which they are updated: a function of the state, or [mh_step()].
#' @param init Named list with the starting value of each block: finite numbers,
#'   a scalar, vector, matrix or array. It fixes the shapes of the blocks. Every
#'   chain starts from it, unless `inits` is given; an entry of `inits` is such
#'   a list with any of the blocks.
#' @param ... Further arguments of the conditionals, by name: each is given to
#'   the functions that have an argument of its name, or `...`. Arguments of
#'   `gibbs_sample()` itself need their whole names.
#' @param scan `"systematic"` (default) or `"random"`.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode with
#'   functions that return the modes of the conditionals, see [gibbsite_map].
#' @param log_joint For `"icm"`: `NULL` (default), or a function of the state
#'   (and of `...`) that returns the log joint density up to a constant.
#' @param keep `NULL` (default) to store every block, or the names of those to
#'   store.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param threads Accepted, but not used.
#' @param checkpoint,stop_when,progress As in [running].
#' @return An object of class `gibbs_sample`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. With `method =
#'   "icm"` an object of class `gibbsite_map` whose `estimate` is the state.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs. A chain stops if a conditional fails or returns an
#' invalid value for its block: an error of class `gibbsite_error_chain`, which
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
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "Gibbs
#' sampling". Indian Institute of Technology Kanpur.
#' @seealso [mh_step()], [mh_sample()] when there is a density and no
#'   conditionals, [predict()][mh-predict] for predictions from the draws;
#'   `vignette("metropolis", "gibbsite")`.
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
                         draws = NULL, burnin = 1000, thin = 1, chains = 4,
                         inits = NULL, keep = NULL, threads = 1,
                         cores = getOption("mc.cores", 1L), seed = NULL,
                         checkpoint = NULL, stop_when = NULL,
                         progress = TRUE) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_needed(
    conditionals = "a named list of functions",
    init = "a named list with one element a block"
  )
  scan <- check_choice(scan, c("systematic", "random"))
  method <- check_choice(method, c("gibbs", "icm"))
  conditionals <- check_conditionals(conditionals, method, call)
  blocks <- names(conditionals)
  init <- check_init_blocks(init, blocks, call)
  check_log_joint(log_joint, method, call)
  arguments <- check_extra_arguments(
    list(...), c(conditionals, list(log_joint)), call
  )
  running <- running_of(call, keep_choices = blocks)
  check_steps_size(conditionals, init, running$chains, call)
  model <- gibbs_sample_model(
    conditionals, init, arguments, scan, running$keep, log_joint, call
  )
  if (method == "icm") {
    return(icm_search(model, running, match.call(), call))
  }
  run_chains(model, running, match.call(), call)
}

# ---- The model ---------------------------------------------------------------

# Its state and its methods for the generics of model.R.

gibbs_sample_model <- function(conditionals, init, arguments, scan, keep,
                               log_joint, call) {
  for (block in names(conditionals)) {
    if (is_mh_step(conditionals[[block]])) {
      storage.mode(init[[block]]) <- "double"
    }
  }
  # stored in the order of the blocks, not of `keep`
  keep <- intersect(names(conditionals), keep)
  columns <- unlist(lapply(keep, function(block) {
    block_columns(block, init[[block]])
  }))
  check_distinct_columns(columns, call)
  new_model(
    "gibbs_sample_model",
    name = "gibbs_sample", title = "Gibbs sampler",
    headline = gibbs_sample_headline(conditionals, scan), data = conditionals,
    nobs = NA_integer_,
    columns = columns,
    prior = no_prior("the conditionals given to gibbs_sample()"),
    cures = "Draw dependent blocks together, or reparameterise.",
    arguments_at = "arguments", arguments = arguments, log_joint = log_joint,
    init = init, scan = scan, keep = keep,
    steps = compile_steps(conditionals, init, call)
  )
}

#' @exportS3Method
model_hash.gibbs_sample_model <- function(model) hash_functions(model$data)

# "tau", "w[1]", "Sigma[1,2]"
block_columns <- function(block, value) {
  if (length(value) == 1L && is.null(dim(value))) {
    return(block)
  }
  size <- dim(value) %||% length(value)
  do.call(indexed, c(list(block), lapply(size, seq_len)))
}

# Numbers of a block by their names in `init`, where it has some.
#' @exportS3Method
model_labels.gibbs_sample_model <- function(model) {
  blocks <- Filter(function(block) {
    all(block_columns(block, model$init[[block]]) %in% model$columns)
  }, names(model$init))
  label <- unlist(lapply(blocks, function(block) {
    value <- model$init[[block]]
    columns <- block_columns(block, value)
    names <- if (is.null(dim(value))) list(names(value)) else dimnames(value)
    shown <- length(columns) > 1L && length(names) > 0L &&
      !any(vapply(names, is.null, NA))
    stats::setNames(
      if (shown) {
        paste0(block, "[", do.call(paste, c(
          unname(as.list(expand.grid(names, stringsAsFactors = FALSE))),
          sep = ","
        )), "]")
      } else {
        columns
      }, columns
    )
  }))
  own <- label[model$columns]
  data.frame(
    variable = model$columns,
    label = unname(ifelse(is.na(own), model$columns, own))
  )
}

# Sweeps for which the order of a random scan is drawn ahead, as in C.
gibbs_look_ahead <- 64L

#' @exportS3Method
model_renew.gibbs_sample_model <- function(model) {
  model$steps <- lapply(model$steps, renew_proposal)
  model
}

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
  check_init_names(
    init, names(model$init), where, call,
    left_out = "What is left out is taken from {.arg init}."
  )
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

#' @exportS3Method
model_init_from_state.gibbs_sample_model <- function(model, state) state$values

gibbs_sample_headline <- function(conditionals, scan) {
  blocks <- names(conditionals)
  moved <- vapply(conditionals, is_mh_step, NA)
  blocks[moved] <- paste0(blocks[moved], " (MH)")
  shown <- utils::head(blocks, 8L)
  more <- if (length(blocks) > 8L) paste0(", ... (", length(blocks), " blocks)")
  order <- if (scan == "random") {
    paste0("one of ", paste(shown, collapse = ", "), more, " at a time")
  } else {
    paste0(paste(shown, collapse = ", then "), more)
  }
  paste0("Gibbs sampler, ", scan, " scan: ", order)
}

# The conditionals take the place of the data when fits are compared.
#' @exportS3Method
set_data.gibbs_sample_model <- function(model, data,
                                        call = rlang::caller_env()) {
  model$data <- data
  model$data_hash <- model_hash(model)
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

# What C reads: for each block the call of its function and the frame that
# contains the function. The parent of all frames is `run`, which holds the
# state and the further arguments. The call in an error message is then short.
open_functions <- function(model) {
  conditionals <- model$data
  run <- new.env(parent = baseenv())
  frame_of <- function(conditional) {
    frame <- new.env(parent = run)
    if (is_mh_step(conditional)) {
      frame$gradient <- conditional$gradient
    }
    frame$conditional <- main_function(conditional)
    frame
  }
  arguments <- model$arguments
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
    names = unname(lapply(model$init, names)),
    steps = lapply(names(conditionals), function(block) {
      open_step(conditionals[[block]], model$steps[[block]], arguments)
    }),
    kept = match(model$keep, names(model$init)),
    random = as.integer(model$scan == "random"), place = numeric(3)
  )
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

# fault: one of the codes in r_gibbs_sample.h.
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
    ),
    paste0(
      "the elements of ", where, " must be in the order of `init`, ",
      few_words(names(init)), ", not ", few_words(names(value))
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

#' @exportS3Method
model_notes.gibbs_sample_model <- function(model, fit, table) {
  c(doubt_notes(fit, table), if (learns_for_ever(model)) unfrozen_words)
}

#' @exportS3Method
model_faults.gibbs_sample_model <- function(model, fit) {
  doubt_words(fit_part(fit, "run")$doubts, "whole")
}

# Of a conditional nothing is known but where its draws go; the density of a
# Metropolis-Hastings step can be asked.
#' @exportS3Method
model_doubts.gibbs_sample_model <- function(model, draws, converged) {
  if (is.null(draws)) {
    return(NULL)
  }
  c(doubt_of_gaps(blocks_with_gaps(model, draws)),
    if (!converged) doubts_of_distance(draws))
}

# The blocks that stay at whole numbers: see has_gaps().
blocks_with_gaps <- function(model, draws) {
  last <- draws[[1L]][nrow(draws[[1L]]), ]
  if (!all(model_point_columns(model) %in% names(last))) {
    return(NULL)
  }
  values <- model_point(model, last)
  Filter(function(name) {
    point <- as.double(values[[name]])
    f <- step_density(model, values, name)
    !any_trait(model$data[[name]]$proposal, "user") &&
      any(vapply(seq_along(point), has_gaps, NA, f = f, point = point))
  }, names(model$steps))
}

doubts_of_distance <- function(draws) {
  reach <- apply(abs(do.call(rbind, draws)), 2L, max)
  far <- names(reach)[is.finite(reach) & reach > 1e30]
  if (length(far) > 0L) {
    doubt("improper", few_words(far), " went as far as ",
          format(max(reach[far]), digits = 3),
          ": is the joint density integrable?")
  }
}

#' @exportS3Method
model_acceptance.gibbs_sample_model <- function(model, state) {
  moved <- names(model$init) %in% names(model$steps)
  if (!any(moved)) {
    return(data.frame(block = names(model$init)))
  }
  memory_table(
    names(model$init)[moved], lapply(state$steps[moved], `[[`, "proposal")
  )
}

# The draws have the state after each sweep, and each block is updated once: the
# states between are known.
#' @exportS3Method
model_trace.gibbs_sample_model <- function(model, fit, arg, call) {
  running <- fit_part(fit, "running")
  blocks <- names(model$init)
  if (model$scan != "systematic" || running$thin != 1 ||
        !identical(model$keep, blocks)) {
    abort_argument(
      c("{.arg {arg}} must have the state after each sweep.",
        i = "Run {.fn gibbs_sample} with {.code scan = \"systematic\"},
             {.code thin = 1} and {.code keep = NULL}."), call = call
    )
  }
  block <- rep(seq_along(blocks), lengths(model$init))
  exact <- !blocks %in% names(model$steps)
  draws <- model_matrices(fit)
  lapply(seq_along(draws), function(k) {
    after <- draws[[k]]
    start <- if (running$burnin == 0) start_of_chain(model, running$inits, k)
    first <- if (is.null(start)) 2L else 1L
    block_steps(
      rbind(start, after, deparse.level = 0L), block, exact,
      running$burnin + first - 1
    )
  })
}

# The point at which chain k began; NULL if a function chose it.
start_of_chain <- function(model, inits, k) {
  if (is.function(inits)) {
    return(NULL)
  }
  values <- model$init
  values[names(inits[[k]])] <- inits[[k]]
  unlist(lapply(values, as.double), use.names = FALSE)
}

# points: the state before the first sweep and after each; block: of each
# column; exact: whether a block is drawn from its conditional; before: sweeps
# before the first.
block_steps <- function(points, block, exact, before) {
  sweeps <- nrow(points) - 1L
  old <- points[seq_len(sweeps), , drop = FALSE]
  new <- points[-1L, , drop = FALSE]
  tables <- lapply(seq_along(exact), function(b) {
    at <- old
    at[, block <= b] <- new[, block <= b]
    own <- block == b
    moved <- rowSums(
      new[, own, drop = FALSE] != old[, own, drop = FALSE]
    ) > 0
    data.frame(
      sweep = before + seq_len(sweeps), block = rep(b, sweeps), uniform = NaN,
      log_density = NaN, log_target = NaN, log_correction = NaN,
      log_ratio = if (exact[[b]]) 0 else NaN, accepted = exact[[b]] | moved, at,
      check.names = FALSE
    )
  })
  table <- do.call(rbind, tables)
  table <- table[order(table$sweep, table$block), ]
  rownames(table) <- NULL
  structure(table, start = points[1L, ])
}

# One sweep of conditional modes. Without a log joint density the search stops
# when the state no longer changes.
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
  f <- model$log_joint
  if (is.null(f)) {
    return(NA_real_)
  }
  value <- call_on_state(f, values, model$arguments)
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
    write_lines(c(
      paste0("<mode, not a posterior> ", x$model$headline), "",
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

# ---- Checks of conditionals and starting values ------------------------------

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

# posterior reserves columns of these names
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
        i = "Draws need the conditionals only: leave it out."
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

# Checks `...`: arguments by name, each an argument of at least one function.
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
      c("There is no argument {.arg {unknown[1]}}, neither of {.fn gibbs_sample}
         nor of a conditional.",
        i = foreign_hint(unknown[[1L]], names(frame_formals(call)))),
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

# A column "a[1]" cannot also be the name of a block, because names of blocks
# have no brackets. A block may still be too wide.
check_distinct_columns <- function(columns, call) {
  if (length(columns) > .Machine$integer.max) {
    abort_argument("The blocks in {.arg keep} are too large.", call = call)
  }
}

check_steps_size <- function(conditionals, init, chains, call) {
  for (block in names(conditionals)) {
    step <- conditionals[[block]]
    if (is_mh_step(step) && any_trait(step$proposal, "matrix")) {
      check_matrix_of(
        length(init[[block]]), chains,
        paste0("The proposal of {.arg conditionals$", block, "}"), call
      )
    }
  }
}
