# fit_markov_chain(): the posterior of transitions, by independent draws.

#' Bayesian estimation of a Markov chain
#'
#' The transition probabilities of a chain on finitely many states, from
#' sequences of states or from counts of transitions. With \eqn{n_{ij}}{n_ij}
#' the number of steps from \eqn{i} to \eqn{j} and independent Dirichlet priors
#' of the rows, \eqn{P_{i\cdot} \sim \mathrm{Dirichlet}(a_{i1}, \dots,
#' a_{iS})}{P_i. ~ Dirichlet(a_i1, ..., a_iS)}, the posterior is known:
#' \eqn{P_{i\cdot} \mid n \sim \mathrm{Dirichlet}(a_{i1} + n_{i1}, \dots)}{P_i.
#' | n ~ Dirichlet(a_i1 + n_i1, ...)}. The draws are independent and exact. Each
#' also has the stationary distribution of its matrix. The first states of a
#' sequence are taken as given.
#'
#' The default prior is Jeffreys' for each row, \eqn{a_{ij} = 1/2}{a_ij = 1/2}:
#' its intervals of rare transitions cover nearer to their probability than
#' those of the uniform prior (`prior = 1`), and it adds half as many steps to
#' each row, which counts where the states are many and the steps few.
#'
#' A chain of order \eqn{m} steps from the last \eqn{m} states: its rows are
#' tuples such as `"a,b"`, the earlier state first. [markov_chain()] of the fit
#' is the chain with the posterior mean of the transition matrix, and of order 2
#' or more a chain on tuples.
#'
#' @param sequences The states in time: a vector or a factor, one sequence; a
#'   list of them; a matrix or a data frame with a row for each sequence. A step
#'   from, to or (for higher orders) past an `NA` is left out, with a message.
#'   Or counts of steps: a [table()], or a square matrix of whole numbers with
#'   the same row names and column names, from rows to columns.
#' @param states Names of all states, in their order. Default: the levels of a
#'   factor, otherwise the values in the sequences, sorted.
#' @param order Whole number, at least 1: how many of the last states the next
#'   one depends on. Counts are of order 1.
#' @param prior \eqn{a_{ij}}{a_ij}: a number above 0 (default 0.5), or a matrix
#'   of numbers from 0 to 1e100 with a row for each state or tuple and a column
#'   for each state, matched by name if it has names. 0 makes a step impossible
#'   that is not in the data.
#' @param draws,chains,cores,seed,checkpoint,stop_when,progress,keep_data As in
#'   [running]. The draws of a chain are independent; default 1000 in each.
#' @param object,x A fit.
#' @param n `predict()`: whole numbers of steps, default 1 to 10. `simulate()`:
#'   the number of steps.
#' @param initial Where the chain begins: a name or number of a state (of a
#'   tuple), or probabilities of all. `NULL` (default): for `predict()` the end
#'   of the sequence, if there is one sequence alone; for `simulate()` each
#'   state with its share among the places that steps begin from.
#' @param level,parm Probability of intervals; names or numbers of the
#'   transitions, such as `"P[1,2]"`.
#' @param nsim Number of paths, each by a matrix drawn from the posterior.
#' @param type `"transitions"` (default): the posterior means of the
#'   probabilities and their intervals; `"stationary"`; or a type of
#'   [plot.gibbsite_fit()].
#' @param variables For the types of [plot.gibbsite_fit()].
#' @param ... Not used: any other argument is an error.
#' @return An object of class `fit_markov_chain`, see [gibbsite_fit] for what
#'   all fits have. It stores `P[i,j]`, and, if all matrices of the posterior
#'   have one closed class, `stationary[j]`. `coef()`: the posterior mean of the
#'   matrix, which is known without draws; `vcov()`: the posterior covariance of
#'   its entries, likewise; `confint()`: intervals of all that is stored.
#'   `summary()`, `tidy()` and `predict()` describe the draws, so that their
#'   means differ from `coef()` by Monte Carlo error. `predict()`: a data frame
#'   with a row for each number of steps and state: `step`, `state`, `mean` (the
#'   predictive probability), `sd`, `lower` and `upper` (of the posterior of the
#'   probability). `simulate()`: as that of [markov_chain()].
#'   `log_evidence()` is the exact log probability of the sequences; of
#'   orders compared it must be of the same steps.
#' @section Errors: `gibbsite_error_argument`.
#' @references
#' Billingsley P (1961). Statistical methods in Markov chains. *Annals of
#' Mathematical Statistics* 32, 12-40. \doi{10.1214/aoms/1177705136}
#'
#' Brown LD, Cai TT, DasGupta A (2001). Interval estimation for a binomial
#' proportion. *Statistical Science* 16, 101-133. \doi{10.1214/ss/1009213286}
#' @seealso [markov_chain()], [stationary()].
#' @examples
#' weather <- c("dry", "dry", "wet", "wet", "dry", "dry", "dry", NA, "wet",
#'   "dry", "dry", "wet", "wet", "wet", "dry")
#' fit <- fit_markov_chain(weather, seed = 1, progress = FALSE)
#' coef(fit)
#' tidy(fit)
#' predict(fit, 1:3)
#' mixing_time(markov_chain(fit))
#' @export
fit_markov_chain <- function(sequences, states = NULL, order = 1, prior = 0.5,
                             draws = 1000, chains = 4,
                             cores = getOption("mc.cores", 1L), seed = NULL,
                             checkpoint = NULL, stop_when = NULL,
                             progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_extra(...)
  check_needed(sequences = "states in time, or counts of transitions")
  order <- check_count(order, max = 12)
  running <- running_of(call, burnin = 0, thin = 1)
  counted <- transition_counts(sequences, states, order, call)
  prior <- check_transition_prior(prior, counted, order, call)
  model <- transitions_model(counted, order, prior, call)
  say_stationary_cost(model, running)
  run_chains(model, running, match.call(), call)
}

# Many tuples take minutes: the elimination of stationary_draws() is of cubic
# cost. The factor is that of a common machine, to one figure.
say_stationary_cost <- function(model, running) {
  tuples <- length(model$data$closed)
  draws <- running$draws * running$chains
  seconds <- 6e-9 * draws * tuples^3 / min(running$cores, running$chains)
  if (seconds < 30 || !shows_times()) {
    return(invisible())
  }
  inform_gibbsite(
    c(i = "The stationary probabilities are those of a chain on
           {format_number(tuples)} tuples, for each of {format_number(draws)}
           draws: about {seconds_words(signif(seconds, 1))} in all.",
      i = "A lower {.arg order} or fewer {.arg draws} take less."),
    class = "cost"
  )
}

# ---- Counts of sequences -----------------------------------------------------

# list(counts, states, last, steps): tuples x states; the number of the tuple at
# the end of a single sequence, or NULL.
transition_counts <- function(sequences, states, order, call) {
  counts <- given_counts(sequences, states, order, call)
  if (!is.null(counts)) {
    return(counts)
  }
  in_rows <- is.data.frame(sequences)
  sequences <- state_sequences(sequences, call)
  states <- sequence_states(sequences, states, call)
  size <- length(states)
  check_square_size(
    sqrt(as.double(size)^(order + 1)), 4, "The counts of all tuples are",
    "Lower {.arg order}", call
  )
  counts <- matrix(0, size^order, size)
  left_out <- 0
  for (one in sequences) {
    at <- coded_states(one, states, call)
    steps <- length(at) - order
    if (steps < 1L) next
    tuple <- tuple_codes(at, order, size)
    from <- tuple[seq_len(steps)]
    to <- at[order + seq_len(steps)]
    known <- !is.na(from) & !is.na(to)
    left_out <- left_out + sum(!known)
    cell <- from[known] + (to[known] - 1) * size^order
    counts <- counts + tabulate(cell, length(counts))
  }
  if (left_out > 0) {
    inform_gibbsite(
      "{left_out} step{?s} with a missing state {?is/are} left out.",
      class = "omitted"
    )
  }
  if (sum(counts) == 0) {
    abort_argument(
      c("{.arg sequences} has no step from {order} known state{?s} to another.",
        i = if (in_rows) {
          "The rows of a data frame are sequences; one column of it is one."
        } else {
          "A sequence is a vector; several are a list of vectors."
        }),
      call = call
    )
  }
  last <- if (length(sequences) == 1L) {
    utils::tail(tuple_codes(coded_states(one, states, call), order, size), 1L)
  }
  list(
    counts = counts, states = states, last = if (!anyNA(last)) last,
    sequences = length(sequences)
  )
}

# The code of the tuple that begins at each place: the first state varies the
# slowest, as in their names.
tuple_codes <- function(at, order, size) {
  places <- seq_len(max(0L, length(at) - order + 1L))
  code <- numeric(length(places))
  for (k in seq_len(order)) {
    code <- code * size + at[places + k - 1L] - 1
  }
  code + 1
}

tuple_names <- function(states, order) {
  out <- states
  for (k in seq_len(order - 1L)) {
    out <- as.vector(t(outer(out, states, paste, sep = ",")))
  }
  out
}

# Counts as they are given, or NULL for sequences.
given_counts <- function(x, states, order, call) {
  if (is.data.frame(x) || length(dim(x)) != 2L || !is.numeric(x)) {
    return(NULL)
  }
  is_table <- inherits(x, "table")
  x <- bare_values(x)
  named <- nrow(x) == ncol(x) && !is.null(rownames(x)) &&
    identical(rownames(x), colnames(x))
  by_states <- nrow(x) == ncol(x) && length(states) == nrow(x) &&
    !all(as.character(x) %in% as.character(states))
  if (!is_table && !named && !by_states) {
    if (nrow(x) == ncol(x) && is.null(states) && nrow(x) > 1L && !anyNA(x)) {
      abort_argument(
        c(if (is.null(dimnames(x))) {
            "{.arg sequences} is a square matrix without names of states, which
             may be counts or sequences."
          } else {
            "{.arg sequences} is a square matrix whose rows and columns do not
             have the same names, which may be counts or sequences."
          },
          i = "{.fn as.table} says that it has counts, a list of its rows that
               it has sequences."),
        call = call
      )
    }
    return(NULL)
  }
  if (nrow(x) != ncol(x) ||
        is_table && !identical(unname(dimnames(x)[1L]),
                               unname(dimnames(x)[2L]))) {
    abort_argument(
      c("{.arg sequences} is a table without the same states in its rows and
         its columns.",
        i = "{.code table(factor(from, states), factor(to, states))} has them."
      ),
      call = call
    )
  }
  wrong <- is.na(x) | x < 0 | x != round(x) | !is.finite(x)
  abort_elements(as.vector(wrong), as.vector(x), "sequences", "counts", call)
  if (order > 1L) {
    abort_argument(
      "{.arg order} must be 1 for counts of transitions, not {order}.",
      call = call
    )
  }
  names <- check_states(states, x, call)
  if (!is.null(states) && named && !identical(rownames(x), names)) {
    x <- x[in_order_of(
      stats::setNames(seq_along(names), rownames(x)), names, "sequences",
      "the states", call
    ), , drop = FALSE][, names, drop = FALSE]
  }
  list(
    counts = matrix(as.double(x), nrow(x)), states = names, last = NULL,
    sequences = 0L
  )
}

# A list of vectors, each one sequence.
state_sequences <- function(x, call) {
  if (is.data.frame(x)) {
    check_data_frame(x, "sequences", call)
    check_wide_sequences(x, call)
    levels <- unique(lapply(x, levels))
    if (length(levels) > 1L) {
      levels <- if (all(lengths(levels) > 0L)) list(sort(unlist(levels)))
    }
    levels <- unlist(levels)
    if (length(x) == 0L || nrow(x) == 0L) {
      abort_argument("{.arg sequences} has no sequence.", call = call)
    }
    rows <- nrow(x)
    inform_gibbsite(
      c("Each row of {.arg sequences} is a sequence: {rows} sequence{?s} of
         {counted(length(x), 'state')}.",
        i = if (length(x) < 4L) {
          "If a row is one time, give the column of states alone, or a list of
           sequences made by {.fn split}."
        }),
      class = "rows"
    )
    x <- matrix(unlist(lapply(x, function(column) {
      as.character(check_sequence(column, call))
    })), rows)
    return(lapply(seq_len(nrow(x)), function(i) {
      if (is.null(levels)) x[i, ] else factor(x[i, ], unique(levels))
    }))
  }
  if (is.list(x) && !is.object(x)) {
    if (length(x) == 0L) {
      abort_argument("{.arg sequences} has no sequence.", call = call)
    }
    return(lapply(unname(x), check_sequence, call = call))
  }
  if (is.matrix(x)) {
    x <- check_sequence(x, call)
    return(lapply(seq_len(nrow(x)), function(i) x[i, ]))
  }
  list(check_sequence(x, call))
}

# A row of a data frame is a sequence. Columns of numbers and of words together
# are those of a table with a row for each time.
check_wide_sequences <- function(x, call) {
  numbers <- vapply(x, is.numeric, NA)
  known <- !vapply(x, function(column) all(is.na(column)), NA)
  if (any(numbers & known) && any(!numbers & known)) {
    number <- names(x)[numbers & known][[1L]]
    word <- names(x)[!numbers & known][[1L]]
    abort_argument(
      c("A row of a data frame {.arg sequences} is a sequence, but column
         {.val {number}} has numbers and column {.val {word}} has none.",
        i = "If a row is one time, give a list of sequences, in order of time:
             {.code split(data${word}, data${number})}."),
      call = call, class = "column"
    )
  }
}

check_sequence <- function(x, call) {
  dated <- inherits(x, c("Date", "POSIXt", "difftime", "integer64"))
  if (!is.factor(x) && !dated) x <- bare_values(x)
  if (!is.factor(x) && (!is.atomic(x) || is.null(x) || is.object(x) ||
                          is.complex(x) || is.raw(x))) {
    abort_expected(
      x, "a vector of states, a list of vectors, a matrix with a row for each
       sequence, or a table of counts", FALSE, "sequences", call
    )
  }
  if (length(dim(x)) > 2L) {
    abort_expected(
      x, "a matrix with a row for each sequence", FALSE, "sequences", call
    )
  }
  if (length(x) > .Machine$integer.max) {
    abort_argument(
      "{.arg sequences} must have 2^31 - 1 states at most, not
       {digits(length(x))}.",
      call = call
    )
  }
  if (is.character(x)) check_text(x, "sequences", call)
  if (is.numeric(x) && any(is.infinite(x))) {
    abort_argument("{.arg sequences} must have finite numbers.", call = call)
  }
  x
}

sequence_states <- function(sequences, states, call) {
  if (is.null(states)) {
    values <- unlist(lapply(sequences, function(x) {
      if (is.factor(x)) levels(x) else unique(x[!is.na(x)])
    }))
    if (any(values == "", na.rm = TRUE)) {
      abort_argument(
        c("{.arg sequences} must not have an empty text as a state.",
          i = "A missing state is {.code NA}."),
        call = call
      )
    }
    states <- unique(values)
    # the order of a factor, if all sequences have it
    if (!identical(unique(lapply(sequences, levels)), list(states))) {
      states <- sort(states)
    }
    if (length(states) == 0L) {
      abort_argument("{.arg sequences} has no states.", call = call)
    }
    if (length(states) > 10000L) {
      abort_argument(
        c("{.arg sequences} has {digits(length(states))} different states.",
          i = "A chain has few states: {.fn cut} makes classes of numbers."),
        call = call
      )
    }
  } else if (!is_plain_choice(states) && !is.factor(states) ||
               length(states) > 10000L) {
    abort_expected(
      states, "NULL or names of 10,000 states at most", FALSE, "states", call
    )
  }
  states <- as.character(states)
  check_text(states, "states", call)
  wrong <- anyNA(states) || anyDuplicated(states) > 0L || any(states == "")
  if (wrong || length(states) == 0L) {
    abort_argument(
      "{.arg states} must be different names that are not empty.", call = call
    )
  }
  states
}

# The numbers of the states of one sequence.
coded_states <- function(x, states, call) {
  at <- match(as.character(x), states)
  lost <- which(is.na(at) & !is.na(x))
  if (length(lost) > 0L) {
    found <- as.character(x)[lost[[1L]]]
    abort_argument(
      "{.arg states} must have all states of the sequences, and has not
       {.val {found}}.",
      call = call
    )
  }
  at
}

# ---- Prior and model ---------------------------------------------------------

check_transition_prior <- function(prior, counted, order, call) {
  size <- dim(counted$counts)
  if (inherits(prior, "table")) prior <- bare_values(prior)
  if (is.matrix(prior)) {
    if (!is.numeric(prior) || is.object(prior) ||
          !identical(dim(prior), size)) {
      wanted <- size_words(size)
      given <- size_words(dim(prior))
      abort_argument(
        "{.arg prior} must be a number or a {wanted} matrix of numbers, not a
         {given} {typeof(prior)} matrix.",
        call = call
      )
    }
    wrong <- is.na(prior) | prior < 0 | prior > 1e100
    abort_elements(
      as.vector(wrong), as.vector(prior), "prior", "numbers from 0 to 1e100",
      call
    )
    by_name <- function(at, names, of) {
      in_order_of(stats::setNames(seq_along(names), at), names,
                  paste0(of, "(prior)"), "the states", call)
    }
    prior <- prior[
      by_name(rownames(prior), tuple_names(counted$states, order), "rownames"),
      by_name(colnames(prior), counted$states, "colnames"),
      drop = FALSE
    ]
    weight <- matrix(as.double(prior), size[[1L]])
  } else {
    prior <- check_number(prior, lower = 0, lower_open = TRUE, upper = 1e100,
                          arg = "prior", call = call)
    weight <- matrix(prior, size[[1L]], size[[2L]])
  }
  none <- which(rowSums(weight + counted$counts) == 0)
  if (length(none) > 0L) {
    abort_argument(
      "{.arg prior} must not be 0 in the whole row {none[[1L]]}, from where the
       data have no step.",
      call = call
    )
  }
  structure(
    list(weight = weight), class = c("dirichlet_rows", "gibbsite_prior")
  )
}

#' @export
format.dirichlet_rows <- function(x, ...) {
  check_made(x, "weight", "fit_markov_chain()")
  ends <- unique(range(x$weight))
  paste0(
    "P[i, ] ~ Dirichlet, all weights ",
    if (length(ends) == 1L) "" else "between ",
    paste(format(ends), collapse = " and ")
  )
}

#' @export
print.dirichlet_rows <- function(x, ...) print_lines(x)

transitions_model <- function(counted, order, prior, call) {
  counts <- counted$counts
  size <- ncol(counts)
  rows <- tuple_names(counted$states, order)
  shape <- counts + prior$weight
  found <- chain_classes(tuple_matrix(shape > 0, order))
  one <- sum(found$closed) == 1L
  if (one) {
    check_square_size(
      nrow(counts), 4, "The stationary distribution takes", "Lower `order`",
      call
    )
  }
  steps <- sum(counts)
  # steps that the prior has as impossible
  lost <- prior$weight == 0 & counts > 0
  new_model(
    "transitions_model",
    name = "fit_markov_chain", title = "Markov chain",
    headline = paste0(
      "Markov chain of order ", order, " on ", counted(size, "state"), ": ",
      counted(steps, "step"),
      if (counted$sequences > 0L) {
        paste(" of", counted(counted$sequences, "sequence"))
      }
    ),
    data = list(
      shape = shape, counts = counts, order = order,
      closed = if (one) found$members[[which(found$closed)]]
    ),
    prior = prior, nobs = steps,
    columns = c(
      indexed("P", seq_len(nrow(counts)), seq_len(size)),
      if (one) indexed("stationary", seq_len(size))
    ),
    independent = TRUE, states = counted$states, tuples = rows, order = order,
    last = counted$last, log_evidence = if (!any(lost)) {
      log_transitions(prior$weight, counts)
    } else {
      NA_real_
    }
  )
}

# The transition matrix of the chain on tuples.
tuple_matrix <- function(p, order, names = NULL) {
  if (order == 1L) {
    return(structure(p + 0, dimnames = if (!is.null(names)) list(names, names)))
  }
  size <- ncol(p)
  tuples <- nrow(p)
  from <- rep(seq_len(tuples), size)
  Matrix::drop0(Matrix::sparseMatrix(
    from, next_tuple(from, rep(seq_len(size), each = tuples), tuples, size),
    x = as.vector(p) + 0, dims = c(tuples, tuples),
    dimnames = if (!is.null(names)) list(names, names)
  ))
}

# The tuple that follows one where the next state is `to`.
next_tuple <- function(tuple, to, tuples, states) {
  (tuple - 1) %% (tuples / states) * states + to
}

#' @exportS3Method
model_start.transitions_model <- function(model, init) list(sweep = 0)

# A sweep draws all rows. Gamma variables of small shape are drawn on the log
# scale: g^(1/shape) u of shape + 1 may be below the smallest double.
#' @exportS3Method
model_sweeps.transitions_model <- function(model, state, n, control) {
  shape <- model$data$shape
  cells <- which(shape > 0)
  logs <- matrix(vapply(seq_len(n), function(sweep) {
    log(stats::rgamma(length(cells), shape[cells] + 1)) +
      log(stats::runif(length(cells))) / shape[cells]
  }, numeric(length(cells))), length(cells))
  p <- array(-Inf, c(n, dim(shape)))
  p <- matrix(p, n)
  p[, cells] <- t(logs)
  dim(p) <- c(n, dim(shape))
  largest <- apply(p, 1:2, max)
  p <- exp(p - as.vector(largest))
  p <- p / as.vector(rowSums(p, dims = 2L))
  draws <- matrix(p, n)
  if (!is.null(model$data$closed)) {
    draws <- cbind(draws, stationary_draws(p, model$data))
  }
  colnames(draws) <- NULL
  state$sweep <- state$sweep + n
  list(
    state = state, draws = draws, rng = get(".Random.seed", globalenv())
  )
}

# The stationary probabilities of the states, a row for each draw: the
# elimination of eliminate_states(), for all draws at once. p: draws x tuples x
# states.
stationary_draws <- function(p, data) {
  n <- dim(p)[[1L]]
  states <- dim(p)[[3L]]
  tuples <- dim(p)[[2L]]
  closed <- data$closed
  out <- matrix(0, n, states)
  # few draws at a time, in bounded memory
  block <- max(1L, as.integer(2e7 / length(closed)^2))
  for (rows in split(seq_len(n), (seq_len(n) - 1L) %/% block)) {
    full <- array(0, c(length(rows), length(closed), length(closed)))
    for (j in seq_len(states)) {
      at <- match(next_tuple(closed, j, tuples, states), closed)
      for (i in which(!is.na(at))) full[, i, at[[i]]] <- p[rows, closed[[i]], j]
    }
    weight <- stationary_weights(full)
    own <- (closed - 1) %/% (tuples / states) + 1
    for (i in seq_along(closed)) {
      out[rows, own[[i]]] <- out[rows, own[[i]]] + weight[, i]
    }
  }
  out
}

stationary_weights <- function(p) {
  size <- dim(p)[[2L]]
  draws <- dim(p)[[1L]]
  # a possible step whose probability is below the smallest double has it
  tiny <- .Machine$double.xmin
  possible <- apply(p > 0, 2:3, any)
  for (n in rev(seq_len(size)[-1L])) {
    before <- seq_len(n - 1L)
    from <- before[possible[before, n]]
    leave <- pmax(rowSums(matrix(p[, n, before], draws)), tiny)
    p[, from, n] <- p[, from, n] / leave
    for (j in before[possible[n, before]]) {
      p[, from, j] <- p[, from, j] + p[, from, n] * p[, n, j]
      possible[from, j] <- TRUE
    }
  }
  weight <- matrix(1, draws, size)
  for (n in seq_len(size)[-1L]) {
    before <- seq_len(n - 1L)
    weight[, n] <- rowSums(
      weight[, before, drop = FALSE] * matrix(p[, before, n], draws)
    )
    largest <- pmax(1, weight[, n])
    weight <- weight / largest
  }
  weight / rowSums(weight)
}

#' @exportS3Method
model_check_init.transitions_model <- function(model, init, where, call) NULL

#' @exportS3Method
model_init_from_state.transitions_model <- function(model, state) NULL

#' @exportS3Method
model_labels.transitions_model <- function(model) {
  label_columns(model$columns, function(block, index) {
    if (block == "stationary") {
      return(paste("stationary probability of", model$states[index]))
    }
    paste(model$tuples[index[[1L]]], "to", model$states[index[[2L]]])
  })
}

#' @exportS3Method
model_key.transitions_model <- function(model, shown) {
  key_of_blocks(shown, c(
    P = "P[i,j]: probability of a step from i to j",
    stationary = "stationary[j]: its stationary probability"
  ), "states: ", model$states)
}

#' @exportS3Method
model_hints.transitions_model <- function(model) {
  utils::modifyList(NextMethod(), list(
    likelihood = "{.fn log_evidence} has the log probability of the steps.",
    comparison = "{.fn log_evidence} compares orders and priors.",
    fitted = "{.fn coef} has the transition probabilities.",
    predictions = "See {.fn predict}.",
    replicates = "{.fn simulate} draws paths.",
    pp_check = "{.fn simulate} draws paths, to be compared with the data."
  ))
}

#' @exportS3Method
set_data.transitions_model <- function(model, data,
                                       call = rlang::caller_env()) {
  # fits of an earlier version do not hold the order
  order <- model$order %||%
    max(1L, as.integer(round(log(length(model$tuples)) /
                               log(max(2L, length(model$states))))))
  counted <- transition_counts(data, model$states, order, call)
  fresh <- transitions_model(counted, order, model$prior, call)
  model[names(fresh)] <- fresh
  model
}

#' @exportS3Method
model_next.transitions_model <- function(model) {
  c("predict(fit)", "markov_chain(fit)")
}

# The log probability of the steps, with the rows integrated out.
log_transitions <- function(prior, counts) {
  cells <- prior > 0
  sum(lgamma((prior + counts)[cells]) - lgamma(prior[cells])) +
    sum(lgamma(rowSums(prior)) - lgamma(rowSums(prior + counts)))
}

# ---- Predictions and pictures of a fit ---------------------------------------

# The draws of the matrices: draws x tuples x states.
transition_draws <- function(fit) {
  model <- fit_part(fit, "model")
  draws <- bind_chains(model_matrices(fit))
  size <- dim(model$data$shape)
  array(draws[, seq_len(prod(size)), drop = FALSE], c(nrow(draws), size))
}

# The posterior mean, known without draws, on tuples.
#' @exportS3Method
transition_of.fit_markov_chain <- function(x, call) {
  model <- fit_part(x, "model")
  shape <- posterior_shape(model, call)
  tuple_matrix(shape / rowSums(shape), model$data$order, model$tuples)
}

posterior_shape <- function(model, call) {
  if (!model_has_data(model)) {
    abort_no_data(call = call)
  }
  model$data$shape
}

#' @rdname fit_markov_chain
#' @export
vcov.fit_markov_chain <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  shape <- posterior_shape(model, rlang::current_env())
  mean <- shape / rowSums(shape)
  size <- length(shape)
  row <- rep(seq_len(nrow(shape)), ncol(shape))
  same <- outer(row, row, `==`)
  out <- same * (diag(as.vector(mean), size) -
                   tcrossprod(as.vector(mean))) / (rowSums(shape)[row] + 1)
  names <- indexed("P", seq_len(nrow(shape)), seq_len(ncol(shape)))
  structure(out, dimnames = list(names, names))
}

#' @rdname fit_markov_chain
#' @export
coef.fit_markov_chain <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  shape <- posterior_shape(model, rlang::current_env())
  out <- shape / rowSums(shape)
  dimnames(out) <- list(model$tuples, model$states)
  out
}

#' @rdname fit_markov_chain
#' @export
confint.fit_markov_chain <- function(object, parm, level = 0.95, ...) {
  check_no_more(...)
  level <- check_level(level)
  draws <- bind_chains(model_matrices(object))
  out <- central_intervals(draws, level)
  dimnames(out) <- list(colnames(draws), tail_names(level))
  if (missing(parm)) out else some_rows(out, parm, rlang::current_env())
}

# The states at the last place of each tuple.
last_states <- function(model) {
  size <- length(model$states)
  (seq_along(model$tuples) - 1) %% size + 1
}

#' @rdname fit_markov_chain
#' @export
predict.fit_markov_chain <- function(object, n = 1:10, initial = NULL,
                                     level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  posterior_shape(model, call)
  n <- check_times(n, list(transition = NULL), call)
  level <- check_level(level)
  start <- check_initial(initial, model$tuples, call)
  if (is.null(start)) {
    if (is.null(model$last)) {
      abort_argument(
        c("{.arg initial} must be given: the data are not one sequence that
           ends with known states.",
          i = "States are {.val {model$tuples}}."),
        call = call
      )
    }
    start <- as.numeric(seq_along(model$tuples) == model$last)
  }
  p <- transition_draws(object)
  check_result_size(
    c(length(n), dim(p)[c(1L, 3L)]), "times x draws x states",
    "the numbers of {.arg n}", call
  )
  at <- matrix(start, dim(p)[[1L]], length(start), byrow = TRUE)
  times <- sort(unique(n))
  last <- 0
  found <- vector("list", length(times))
  for (k in seq_along(times)) {
    for (step in seq_len(times[[k]] - last)) at <- next_tuples(at, p)
    last <- times[[k]]
    shares <- t(rowsum(t(at), last_states(model)))
    interval <- central_intervals(shares, level)
    found[[k]] <- data.frame(
      step = last, state = factor(model$states, model$states),
      mean = colMeans(shares), sd = apply(shares, 2L, stats::sd),
      lower = interval[, 1L], upper = interval[, 2L], row.names = NULL
    )
  }
  do.call(rbind, found[match(n, times)])
}

# at: draws x tuples, one step later.
next_tuples <- function(at, p) {
  size <- dim(p)[[3L]]
  tuples <- dim(p)[[2L]]
  out <- matrix(0, nrow(at), tuples)
  for (i in seq_len(tuples)) {
    to <- next_tuple(i, seq_len(size), tuples, size)
    out[, to] <- out[, to] + at[, i] * p[, i, ]
  }
  out
}

#' @rdname fit_markov_chain
#' @export
simulate.fit_markov_chain <- function(object, nsim = 1, seed = NULL, n = 100,
                                      initial = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  check_unlocked(call)
  nsim <- check_count(nsim)
  n <- check_count(n, 0, max = 2^53)
  check_result_size(
    c(n + 1, nsim), "states x paths", "{.arg n} or {.arg nsim}", call
  )
  model <- fit_part(object, "model")
  counts <- posterior_shape(model, call) - model$prior$weight
  start <- check_initial(initial, model$tuples, call) %||%
    rowSums(counts)
  p <- transition_draws(object)
  simulated_columns(nsim, seed, seq_len(n + 1L), function() {
    draw <- sample.int(dim(p)[[1L]], 1L)
    matrix <- matrix(p[draw, , ], dim(p)[[2L]])
    path <- draw_path(
      row_ends(tuple_matrix(matrix, model$data$order)), n, start
    )
    structure(
      as.integer(last_states(model)[path]), levels = model$states,
      class = "factor"
    )
  }, call)
}

picture_transitions <- function(fit, type = "transitions", variables = NULL,
                                level = 0.95, ..., call) {
  own <- c("transitions", "stationary")
  type <- check_plot_types(type %||% own[[1L]], call, own)
  level <- check_level(level, call = call)
  check_plots_with(variables, type, plot_types, call)
  if (!any(type %in% own)) {
    return(picture_chains(fit, type, variables, call))
  }
  draws <- bind_chains(model_matrices(fit))
  labels <- model_labels(fit_part(fit, "model"))
  of <- column_parts(colnames(draws))$block == "stationary"
  rows <- which(of == (type == "stationary"))
  if (length(rows) == 0L) {
    abort_argument(
      "{.arg type} cannot be {.val stationary}: the matrices have several closed
       classes.",
      call = call
    )
  }
  means <- colMeans(draws)
  most <- utils::head(rows[order(-means[rows])], 40L)
  note <- if (length(most) < length(rows)) {
    paste(length(most), "of", length(rows), "probabilities: the largest")
  }
  rows <- sort(most)
  if (type == "transitions") {
    # those from one state together
    rows <- rows[order(as.integer(sub("^P\\[([0-9]+),.*", "\\1",
                                      colnames(draws)[rows])))]
  }
  chosen <- draws[, rows, drop = FALSE]
  picture_intervals(intervals_shown(
    stats::setNames(means[rows], sub(
      "^stationary probability of ", "", labels$label[rows]
    )),
    central_intervals(chosen, level), central_intervals(chosen, 0.5), level,
    xlab = "probability", note = note
  ))
}

#' @rdname fit_markov_chain
#' @export
plot.fit_markov_chain <- plot_method(picture_transitions)

#' @rdname autoplot
#' @exportS3Method ggplot2::autoplot
autoplot.fit_markov_chain <- autoplot_method(picture_transitions)
