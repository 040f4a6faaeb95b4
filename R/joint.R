# The joint distribution of parameters and data: what prior_predict(), sbc() and
# geweke_joint() draw from. A model has methods for draw_prior(),
# simulate_data(), set_data() and model_quantities() (R/model.R). For
# mh_sample() and gibbs_sample() the user's functions draw; the model then has
# the field `joint`, list(draw_prior, simulate_data, template, control), where
# `template` is the state of an adapted chain.

calibrated_samplers <- c(
  "gibbs_bmf", "gibbs_categorical", "gibbs_count", "gibbs_gmm", "gibbs_hlm",
  "gibbs_lda", "gibbs_lm", "gibbs_logistic", "gibbs_ordinal", "gibbs_pmf",
  "gibbs_sample", "mh_sample"
)

# ---- The model of a call -----------------------------------------------------

# A fit from the user's expression: a call of a sampler, made with one chain and
# one draw, or anything else that gives a fit. A call's burn-in is kept, because
# proposals adapt in it.
fit_of_call <- function(quo, call) {
  expr <- rlang::quo_get_expr(quo)
  env <- rlang::quo_get_env(quo)
  if (calls_sampler(expr, env)) {
    expr <- rlang::call_modify(
      expr, draws = 1, chains = 1, inits = rlang::zap(), keep = rlang::zap(),
      cores = rlang::zap(), checkpoint = rlang::zap(),
      stop_when = rlang::zap(), progress = FALSE, keep_data = rlang::zap(),
      seed = 1
    )
  }
  fit <- suppressMessages(suppressWarnings(
    eval(expr, env), classes = "gibbsite_warning_convergence"
  ))
  if (!inherits(fit, calibrated_samplers)) {
    given <- describe(fit)
    abort_argument(
      c("{.arg model} must be a call of a sampler, or a fit of one, not
         {given}.",
        i = paste0(
          "Samplers are ", and_words(paste0("{.fn ", calibrated_samplers, "}")),
          "."
        )),
      call = call
    )
  }
  check_whole_fit(fit, "model", call)
}

calls_sampler <- function(expr, env) {
  if (!is.call(expr)) {
    return(FALSE)
  }
  f <- tryCatch(eval(expr[[1L]], env), error = function(cnd) NULL)
  space <- environment(calls_sampler)
  any(vapply(
    calibrated_samplers, function(name) identical(f, get(name, space)), NA
  ))
}

# The model of a fit, ready to draw from the joint distribution.
joint_model <- function(quo, draw_prior, simulate_data, call) {
  fit <- fit_of_call(quo, call)
  model <- fit_part(fit, "model")
  if (!model_has_data(model)) {
    abort_state(
      "The fit has no data: it was made with {.code keep_data = FALSE}.",
      call = call
    )
  }
  running <- fit_part(fit, "running")
  model$joint <- list(
    template = fit_part(fit, "chains")[[1L]]$state,
    control = list(burnin = running$burnin, thin = running$thin, threads = 1)
  )
  with_user_draws(model, draw_prior, simulate_data, call)
}

# The functions of the user, for the models that need them.
with_user_draws <- function(model, draw_prior, simulate_data, call) {
  if (!is.null(model$arguments_at)) {
    model$joint$draw_prior <- check_joint_function(
      draw_prior, "draw_prior", "no argument", model$name, call
    )
    model$joint$simulate_data <- check_joint_function(
      simulate_data, "simulate_data", "the parameters", model$name, call
    )
    return(model)
  }
  given <- c(
    draw_prior = !is.null(draw_prior), simulate_data = !is.null(simulate_data)
  )
  if (any(given)) {
    abort_argument(
      "{.arg {names(given)[given][[1L]]}} must be NULL: {.fn {model$name}} draws
       from its own prior.",
      call = call
    )
  }
  if (!is.null(model_response(model)$link) && !is.null(model$frame$weights)) {
    abort_argument(
      c("A model with {.arg weights} has no distribution of the data.",
        i = if (is_binomial(model_response(model))) {
          "Give numbers of successes and failures instead."
        } else {
          "Repeat the rows instead."
        }),
      call = call
    )
  }
  model
}

check_joint_function <- function(f, arg, takes, sampler, call) {
  if (is.null(f)) {
    abort_argument(
      "{.arg {arg}} is needed for {.fn {sampler}}: a function of {takes}.",
      call = call
    )
  }
  check_function(f, arg, call = call)
}

# An error in code that does not know the user's call gets it.
of_call <- function(code, call) {
  tryCatch(code, gibbsite_error = function(cnd) {
    cnd["call"] <- list(cnd$call %||% call)
    rlang::cnd_signal(cnd)
  })
}

# ---- Draws from the joint distribution ---------------------------------------

# list(model, state, data): a state drawn from the prior, the model with data
# simulated from it, and these data.
draw_joint <- function(model) with_simulated_data(model, draw_prior(model))

# list(model, state, data) for a given state. Entries that are missing in the
# model are hidden again, and their simulated values go into the state.
with_simulated_data <- function(model, state) {
  UseMethod("with_simulated_data")
}

#' @exportS3Method
with_simulated_data.default <- function(model, state) {
  data <- simulate_data(model, state)
  check_simulated(model, data)
  seen <- data
  hidden <- is.na(model$data$x)
  if (any(hidden)) {
    state$x_missing <- t(data)[t(hidden)]
    seen[hidden] <- NA
  }
  list(
    model = suppressMessages(set_data(model, seen)), state = state, data = data
  )
}

# A vague prior gives numbers with which nothing can be computed.
check_simulated <- function(model, data) {
  largest <- if (is.numeric(data)) max(0, abs(data), na.rm = TRUE) else 0
  missing <- anyNA(data, recursive = TRUE)
  if (missing || largest > 1e100) {
    found <- if (missing || is.infinite(largest)) {
      "are not finite"
    } else {
      paste("have sizes up to", signif(largest, 2))
    }
    abort_argument(
      c("The prior of `model` is too vague: data drawn from it {found}.",
        i = "Give a `prior` that says what size the parameters have;
             {.fn prior_summary} shows the one of a fit."),
      call = NULL
    )
  }
}

# The data of log densities and conditionals of the user are arguments.
#' @exportS3Method
with_simulated_data.user_model <- function(model, state) {
  values <- joint_values(model, state)
  data <- checked_data(model, call_joint(model, "simulate_data", values))
  at <- model$arguments_at
  model[[at]][names(data)] <- data
  list(model = model, state = state_at_values(model, values), data = data)
}


# The parameters of a state as the user's functions take them.
joint_values <- function(model, state) UseMethod("joint_values")

#' @exportS3Method
joint_values.mh_model <- function(model, state) {
  stats::setNames(state$point, model$user_names)
}

#' @exportS3Method
joint_values.gibbs_sample_model <- function(model, state) state$values

# A state at parameters, with the proposals of the adapted chain.
state_at_values <- function(model, values) UseMethod("state_at_values")

#' @exportS3Method
state_at_values.mh_model <- function(model, values) {
  model$start_from <- "draw_prior()"
  state <- model_start(model, unname(values))
  state$blocks <- model$joint$template$blocks
  state
}

#' @exportS3Method
state_at_values.gibbs_sample_model <- function(model, values) {
  state <- model_start(model, values)
  for (b in seq_along(state$steps)) {
    if (!is.null(state$steps[[b]])) {
      state$steps[[b]]$proposal <- model$joint$template$steps[[b]]$proposal
    }
  }
  state
}

#' @exportS3Method
draw_prior.mh_model <- function(model) {
  values <- checked_values(model, call_joint(model, "draw_prior"))
  # the log density is known only with data: see with_simulated_data()
  list(point = values)
}

#' @exportS3Method
draw_prior.gibbs_sample_model <- function(model) {
  list(values = checked_values(model, call_joint(model, "draw_prior")))
}

call_joint <- function(model, which, ...) {
  tryCatch(model$joint[[which]](...), error = function(cnd) {
    abort_argument(
      "{.arg {which}} failed.", call = NULL, parent = cnd,
      class = "user_function"
    )
  })
}

# The parameters that draw_prior() gave, in the form of a start.
checked_values <- function(model, values) {
  model_whole_start(
    model, model_check_init(model, values, "draw_prior()", NULL)
  )
}

#' @exportS3Method
model_whole_start.gibbs_sample_model <- function(model, init) {
  missing <- setdiff(names(model$init), names(init))
  if (length(missing) > 0L) {
    abort_argument(
      "`draw_prior()` must return all blocks; it left out
       {.val {missing[[1L]]}}.",
      call = NULL
    )
  }
  init <- init[names(model$init)]
  for (block in names(model$steps)) {
    storage.mode(init[[block]]) <- "double"
  }
  init
}

checked_data <- function(model, data) {
  known <- names(model[[model$arguments_at]])
  named <- is.list(data) && !is.object(data) && length(data) > 0L &&
    !is.null(names(data))
  wrong <- if (named) setdiff(names(data), known)
  if (!named || length(wrong) > 0L) {
    given <- if (named) paste0("`", wrong[[1L]], "`") else describe(data)
    abort_argument(
      c("`simulate_data()` must return a named list of arguments that the call
         of {.fn {model$name}} has, not {given}.",
        i = if (length(known) > 0L) {
          "The call has {.val {known}}."
        } else {
          "Give the data to {.fn {model$name}} in {.arg ...}."
        }),
      call = NULL
    )
  }
  data
}

# ---- Sweeps ------------------------------------------------------------------

# The state after n sweeps, on R's generator.
sweep_on <- function(model, state, n, control) {
  result <- interrupt_or(model_sweeps(model, state, n, control))
  if (!is.null(result$rng)) set_generator_seed(result$rng)
  result$state
}

# A chain's start from the model's own starting values: list(model, state).
posterior_start <- function(model) {
  model$search <- NULL
  seed <- uniform_integer(1)
  stream <- generator_seed()
  model <- model_prepare(
    model, list(seed = seed, chains = 1L, inits = NULL), NULL
  )
  if (inherits(model, "unfinished_model")) {
    rlang::interrupt()
  }
  set_generator_seed(stream)
  list(model = model, state = model_start(model, NULL))
}

# ---- Quantities --------------------------------------------------------------

# Quantities of a state and of the model's data, from draws of the joint
# distribution: those that vary. An error if the prior is not proper.
varying_quantities <- function(model, draws, call,
                               quantities = model_quantities) {
  rows <- of_call(stack_rows(draws, function() {
    joint <- draw_joint(model)
    quantities(joint$model, joint$state)
  }), call)
  infinite <- colnames(rows)[colSums(!is.finite(rows)) > 0]
  if (length(infinite) > 0L) {
    abort_argument(
      c("Draws from the prior must be finite; those of {.val {infinite[[1L]]}}
         are not.",
        i = "The prior must be proper."),
      call = call
    )
  }
  rows[, apply(rows, 2L, stats::sd) > 0, drop = FALSE]
}

# `n` times a vector of numbers with names, stacked: a matrix, one row a draw.
stack_rows <- function(n, draw) {
  do.call(rbind, lapply(seq_len(n), function(i) draw()))
}

#' @exportS3Method
model_quantities.mh_model <- function(model, state) {
  c(
    stats::setNames(state$point, model$parameters),
    log_density = state$value[[1L]]
  )
}

#' @exportS3Method
model_quantities.gibbs_sample_model <- function(model, state) {
  kept <- unlist(state$values[model$keep], use.names = FALSE)
  stats::setNames(as.double(kept), model$columns)
}

# ---- The models of the tests -------------------------------------------------

# `data` holds the model that is tested, and how.
#' @exportS3Method
model_hash.joint_test_model <- function(model) {
  data <- model$data
  hash(unname(c(list(data$model$data_hash), data[-1L])))
}

#' @exportS3Method
model_comparable.joint_test_model <- function(model) {
  model$data$model <- model_comparable(model$data$model)
  model
}

# ---- prior_predict() ---------------------------------------------------------

# Draws of parameters and data from the prior alone: prior_predict().

#' Draws from the prior, and the data that it predicts
#'
#' Draws parameters from the prior of a model and data given the parameters. The
#' data show what the prior says, before any data are used: implausible values
#' are a reason to change it.
#'
#' @inheritParams sbc
#' @param n Whole number from 1 to 1e6 (default 100): how many draws.
#' @param seed `NULL` (default), or a number for [set.seed()]; the state of the
#'   generator is restored afterwards.
#' @param statistic A function of one set of simulated data that returns one
#'   number. Default: the mean of the numbers in it.
#' @param ... Further arguments of [graphics::hist()], such as `main`.
#' @param x An object made by `prior_predict()`.
#' @return An object of class `prior_prediction`, a list: \item{data}{a list of
#'   `n` sets of data, each in the form of the model's data: the responses of a
#'   regression, a matrix for [gibbs_gmm()], a data frame of ratings for
#'   [gibbs_bmf()], of counts for [gibbs_pmf()], a sparse matrix of counts for
#'   [gibbs_lda()], the list that `simulate_data` returns.} \item{quantities}{a
#'   matrix of `n` draws of parameters and other quantities, as [sbc()] uses
#'   them.} \item{observed}{the data of the call, in the same form, or `NULL`.}
#'   For a regression `as.matrix()` gives the simulated responses, draws x
#'   observations, for bayesplot's functions. `plot()` draws a histogram of a
#'   statistic of the simulated data, with a line at that of the data.
#' @section Errors: As for [sbc()].
#' @references
#' Gabry J, Simpson D, Vehtari A, Betancourt M, Gelman A (2019). Visualization
#' in Bayesian workflow. *Journal of the Royal Statistical Society A* 182,
#' 389-402. \doi{10.1111/rssa.12378}
#' @seealso [prior_summary()][prior_summary.gibbsite_fit] for the numbers of a
#'   prior, [sbc()] and [geweke_joint()], which draw from it too.
#' @examples
#' prior <- lm_prior(noise_shape = 3, noise_rate = 600)
#' predicted <- prior_predict(gibbs_lm(dist ~ speed, cars, prior), seed = 1)
#' predicted
#' plot(predicted, statistic = median)
#' @export
prior_predict <- function(model, n = 100, draw_prior = NULL,
                          simulate_data = NULL, seed = NULL) {
  call <- rlang::current_env()
  check_needed(model = "a call of a sampler, or a fit")
  n <- check_count(n, max = 1e6)
  seed <- check_seed(seed)
  inner <- joint_model(rlang::enquo(model), draw_prior, simulate_data, call)
  if (!is.null(seed)) {
    generator <- save_generator()
    on.exit(restore_generator(generator))
    set.seed(seed)
  }
  check_unlocked(call)
  draws <- of_call(lapply(seq_len(n), function(i) prior_draw(inner)), call)
  structure(
    list(
      data = lapply(draws, `[[`, "data"),
      quantities = do.call(rbind, lapply(draws, `[[`, "quantities")),
      observed = observed_data(inner), name = inner$name
    ),
    class = "prior_prediction"
  )
}

prior_draw <- function(model) {
  joint <- draw_joint(model)
  list(
    data = shown_data(joint$model, joint$data),
    quantities = model_quantities(joint$model, joint$state)
  )
}

# The data of a model, in the form in which its data are shown.
observed_data <- function(model) {
  if (!is.null(model$arguments_at)) {
    return(model[[model$arguments_at]])
  }
  frame <- model$frame
  own <- if (!is.null(frame$success)) {
    list(y = cbind(frame$success, frame$total - frame$success))
  } else if (!is.null(frame)) {
    frame$counts %||% frame$y
  } else {
    model$data$x %||% model$data$value %||% model$data$word
  }
  shown_data(model, own)
}

# The numbers of one set of data.
data_numbers <- function(data) {
  values <- if (is.data.frame(data)) {
    data$value
  } else if (is.list(data)) {
    unlist(Filter(is.numeric, data))
  } else {
    as.double(data)
  }
  values[is.finite(values)]
}

check_prior_prediction <- function(x, call) {
  parts <- c("data", "quantities", "observed", "name")
  if (!is.list(x) || !all(parts %in% names(x)) || !is.list(x$data) ||
        !is.matrix(x$quantities) || !is.numeric(x$quantities)) {
    abort_argument(
      "{.arg x} has the class of a prior prediction, but not its parts.",
      call = call, class = "forged"
    )
  }
  x
}

#' @rdname prior_predict
#' @export
print.prior_prediction <- function(x, ...) {
  x <- check_prior_prediction(x, rlang::current_env())
  writeLines(c(
    paste0("<prior_prediction> ", counted(length(x$data), "draw"),
           " from the prior of ", x$name, "()"), ""
  ))
  table <- t(apply(x$quantities, 2L, stats::quantile, c(0.05, 0.5, 0.95)))
  table <- data.frame(table, check.names = FALSE)
  print_table(rownames(table), show_numbers(
    table, table[["50%"]], table[["95%"]] - table[["5%"]]
  ))
  invisible(x)
}

#' @rdname prior_predict
#' @export
plot.prior_prediction <- function(x, statistic = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  x <- check_prior_prediction(x, call)
  check_function(statistic, "statistic", TRUE, call)
  words <- if (is.null(statistic)) {
    "mean of the data"
  } else {
    words <- deparse(substitute(statistic), nlines = 1L)
    paste(sub("^[[:alnum:].]+::", "", words), "of the data")
  }
  f <- statistic %||% function(data) mean(data_numbers(data))
  values <- vapply(x$data, function(data) one_statistic(f, data, call), 0)
  observed <- if (length(x$observed) > 0L) one_statistic(f, x$observed, call)
  given <- list(...)
  bars <- graphics::hist(values[is.finite(values)], given$breaks %||% 30,
                         plot = FALSE)
  draw_base(picture(
    data.frame(value = values), list(
      picture_layer("rect", data.frame(
        xmin = bars$breaks[-length(bars$breaks)], xmax = bars$breaks[-1L],
        ymin = 0, ymax = bars$counts
      ), "draw from the prior"),
      picture_layer("vline", data.frame(x = as.double(observed)), "data")
    ), rbind(
      plot_key("draw from the prior", "white", fill = "grey80"),
      plot_key("data", gibbsite_palette(2L)[[2L]], lty = 1,
               shown = is.finite(observed %||% NA))
    ), x = picture_axis(words), y = picture_axis(
      "draws from the prior", floor = TRUE
    ), title = "Prior prediction"
  ), given[setdiff(names(given), "breaks")])
  invisible(x)
}

one_statistic <- function(f, data, call) {
  value <- tryCatch(f(data), error = function(cnd) {
    abort_argument(
      "{.arg statistic} failed.", call = call, parent = cnd,
      class = "user_function"
    )
  })
  if (!is.numeric(value) || length(value) != 1L) {
    given <- describe(value)
    abort_argument(
      "{.arg statistic} must return one number, not {given}.", call = call
    )
  }
  as.double(value)
}

#' @rdname prior_predict
#' @export
as.matrix.prior_prediction <- function(x, ...) {
  x <- check_prior_prediction(x, rlang::current_env())
  plain <- vapply(x$data, function(data) {
    is.numeric(data) && is.null(dim(data))
  }, NA)
  if (!all(plain)) {
    abort_argument(
      "The simulated data of {.fn {x$name}} are not vectors: see
       {.code $data}."
    )
  }
  do.call(rbind, x$data)
}
