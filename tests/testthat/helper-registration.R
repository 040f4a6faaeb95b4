# Calls of the native routines with wrong arguments. test-registration.R makes
# them in a process of its own, which a mistake may crash.

# Registered routines, with their numbers of arguments.
routines <- function() {
  registered <- getDLLRegisteredRoutines("gibbsite")$.Call
  vapply(registered, function(routine) routine$numParameters, 0L)
}

# ---- Right arguments --------------------------------------------------------

# For each routine a list of its arguments, by name.
good_arguments <- function() {
  set.seed(1)
  c(
    good_gmm(), good_bmf(), good_logistic(), good_logistic_gibbs(), good_lm(),
    good_hlm(), good_mh(), good_lda(), good_shards(), good_pmf(),
    good_gibbs_sample(), good_of_files(),
    list(C_wishart = list(
      n_draws = 2L, df = 3.5, factor = diag(2), inverse = TRUE
    )),
    list(
      C_hash = list(x = c(a = 1), code = FALSE),
      C_checksum = list(bytes = raw(3))
    )
  )
}

# The control of a segment.
control_once <- function(burnin) list(burnin = burnin, thin = 1, threads = 1L)

good_gmm <- function() {
  x <- as.matrix(datasets::faithful)
  x[c(3, 7), 2] <- NA
  x[9, ] <- NA
  model <- gibbsite:::gmm_model(
    x, 2L, gibbsite:::complete_gmm_prior(gmm_prior(), x, 2L),
    keep = c("z", "x")
  )
  state <- gibbsite:::model_start(model, NULL)
  covariances <- gibbsite:::gmm_parameters(model, state)$sigma
  row <- function(v) matrix(v, 1L)
  number <- unknown_k(3)
  free <- gibbsite:::gmm_unknown_model(
    x, number, gibbsite:::complete_unknown_prior(
      gmm_prior(), x, number, "full", NULL
    ), "full", c("components", "z", "x"), TRUE, NULL
  )
  list(
    C_gmm_unknown_sweeps = list(
      data = free$data, state = gibbsite:::model_start(free, NULL), n = 2,
      control = control_once(0)
    ),
    C_near_scatter = list(
      z = matrix(c(1, 0, 2, 0, 4, 1, 8, 1), 2),
      white = matrix(c(1, 0, 2, 0, 4, 1, 8, 1), 2), count = 2,
      rounding = list(variance = c(0, 0), trace = 0)
    ),
    C_gmm_sweeps = list(
      data = model$data, state = state, n = 2, control = control_once(0),
      mode = FALSE
    ),
    C_gmm_evaluate = list(
      form = 0L, x = unname(gibbsite:::fill_column_means(x)),
      blocks = list(
        pi = row(exp(state$log_pi)), mu = row(state$mu),
        sigma = row(covariances)
      ),
      order = NULL, pivot = NULL, what = c(TRUE, TRUE)
    )
  )
}

good_bmf <- function() {
  ratings <- suppressMessages(gibbsite:::as_ratings(
    data.frame(user = c(1, 1, 2, 3), item = c(1, 2, 2, 1), value = 1:4)
  ))
  model <- gibbsite:::bmf_model(
    ratings, 2L, gibbsite:::complete_bmf_prior(bmf_prior(), 1, 2L, FALSE)
  )
  first <- gibbsite:::model_start(model, NULL)
  last <- gibbsite:::model_sweeps(model, first, 3, control_once(0))$state
  sweeps <- list(
    # the codes are for R alone
    data = model$data[setdiff(names(model$data), c("user", "item", "value"))],
    state = first, n = 2, control = control_once(0)
  )
  part <- c(model$data$users, list(first = 0L))
  request <- list(
    which = 0L, key = as.raw(1:8), hyper = last$hyper_draws[[1]],
    factors = raw(8 * 4)
  )
  list(
    C_bmf_sweeps = c(sweeps, list(mode = FALSE)),
    C_bmf_sweeps_apart = c(sweeps, list(f = function(request) {
      count <- if (request$which == 0L) 6 else 4
      list(factors = as.double(seq_len(count)), squares = c(1, 2))
    })),
    C_bmf_part = list(
      sizes = gibbsite:::bmf_sizes(model), part = part,
      kind = list(kind = 2L), request = request, threads = 1L
    ),
    C_bmf_latents = list(
      sizes = gibbsite:::bmf_sizes(model),
      part = utils::modifyList(part, list(
        value = c(1, 1, 2, 2), place = c(0L, 1L, 2L, 3L)
      )),
      side = 0L, request = list(
        latent_key = as.raw(1:8), theta = 0.5, factors = raw(8 * 2 * 5)
      ), threads = 1L
    ),
    C_bmf_linear = list(
      sizes = gibbsite:::bmf_sizes(model), draws = last$factor_draws,
      user = 1:2, item = c(2L, 1L), center = 0, moments = FALSE
    ),
    C_bmf_fold_in = list(
      sizes = gibbsite:::bmf_sizes(model), ratings = model$data$users,
      kind = list(kind = 2L), hyper = last$hyper_draws[[1]],
      v = as.double(last$v), shift = NULL
    )
  )
}

# A sparse design; wrong_designs() also gives dense ones.
good_logistic <- function() {
  data <- list(
    x = list(
      n = 3, p = 2, row_start = c(0L, 2L, 3L, 4L), column = c(0L, 1L, 1L, 0L),
      value = c(1, 2, 3, 4)
    ),
    success = c(1, 0, 1), total = c(1, 1, 2), offset = c(0, 1, 0),
    precision = c(1, 1), probit = 0, constant = 0
  )
  list(
    C_design_columns = list(
      x = list(
        n = 3, p = 2, start = c(0L, 2L, 3L), row = c(0L, 2L, 1L),
        value = c(1, 2, 3)
      ),
      counts = c(1, 0, 1)
    ),
    C_laplace_sweeps = list(
      data = list(map = c(1, 2), precision_factor = diag(2)),
      state = list(sweep = 0, w = c(0, 0), ahead = numeric(16), used = 8),
      n = 2, control = control_once(0)
    ),
    C_logistic_search = list(
      data = data, start = c(0, 0),
      control = list(
        gradient = 0, limit = 20, share = 1, tolerance = 1e-8
      )
    ),
    C_logistic_derivatives = list(data = data, w = c(0, 1)),
    C_logistic_draws = list(data = data, w = matrix(1, 2, 3), what = 0),
    C_logistic_mean = list(m = c(0, 1), s = c(1, 0), slope = FALSE),
    C_convergence = list(draws = array(sin(1:24), c(6, 2, 2))),
    C_mean_error = list(draws = array(sin(1:24), c(6, 2, 2))),
    C_column_quantiles = list(
      values = matrix(sin(1:12), 6), probs = c(0.05, 0.5)
    ),
    C_coclustering = list(z = matrix(as.double(1:12 %% 3), 6)),
    C_column_moments = list(values = matrix(sin(1:12), 6)),
    C_mixture_quantiles = list(
      mean = matrix(sin(1:12), 6), sd = as.double(1:6), probs = c(0.05, 0.5)
    ),
    C_least_counts = list(
      start = exp(-c(1, 2)), slope = c(0, 0), rise = c(1, 2),
      probs = c(0.05, 0.5), most = 100
    ),
    C_t_mixture_quantiles = list(
      data = list(
        mean = matrix(sin(1:12), 6), spread = NULL, points = matrix(0, 6, 2),
        sd = as.double(1:6), nu = as.double(2:7), scale = c(1, 2),
        guess = matrix(c(-5, 0, -5, 0), 2), near = 1e-5
      ), probs = c(0.05, 0.5)
    ),
    C_expected_responses = list(eta = matrix(sin(1:6), 2), link = 1),
    C_predicted_columns = list(
      data = list(x = diag(3), w = matrix(sin(1:18), 6), offset = NULL,
                  link = 1),
      sd = as.double(1:6), probs = c(0.05, 0.5)
    ),
    C_logistic_predictor = list(
      x = diag(3), data = list(map = c(1, 2, 3), precision_factor = diag(3))
    )
  )
}

good_logistic_gibbs <- function() {
  data <- data.frame(s = c(0, 1, 3, 2), a = c(1, 2, 4, 3))
  fit <- suppressMessages(suppressWarnings(gibbs_logistic(
    cbind(s, 3 - s) ~ a, data, draws = 2, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  )))
  model <- gibbsite:::fit_part(fit, "model")
  list(C_logistic_sweeps = list(
    data = model$data, state = gibbsite:::model_start(model, NULL), n = 2,
    control = control_once(0)
  ))
}

good_lm <- function() {
  data <- data.frame(y = c(1, NA, 3, 2), a = c(1, 2, 4, 3), b = 2)
  fit <- suppressMessages(suppressWarnings(gibbs_lm(
    y ~ a + b, data, na_action = "impute", keep = "y", draws = 2, burnin = 0,
    chains = 1, seed = 1, progress = FALSE
  )))
  model <- gibbsite:::fit_part(fit, "model")
  list(C_lm_sweeps = list(
    data = model$data, state = gibbsite:::model_start(model, NULL), n = 2,
    control = control_once(0)
  ))
}

good_hlm <- function() {
  data <- data.frame(y = c(1, 5, 3, 2), a = c(1, 2, 4, 3), g = c(1, 1, 2, 2))
  fit <- suppressMessages(suppressWarnings(gibbs_hlm(
    y ~ a + (1 | g), data, draws = 2, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  )))
  model <- gibbsite:::fit_part(fit, "model")
  data$y <- c(0, 1, 1, 0)
  binary <- suppressMessages(suppressWarnings(gibbs_logistic(
    y ~ a + (1 | g), data, draws = 2, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  )))
  counts <- gibbsite:::fit_part(binary, "model")
  events <- gibbsite:::fit_part(suppressMessages(suppressWarnings(gibbs_count(
    y ~ a + (1 | g), data, "negbinomial", draws = 2, burnin = 0, chains = 1,
    seed = 1, progress = FALSE
  ))), "model")
  data$k <- factor(c("a", "b", "c", "a"))
  kinds <- gibbsite:::fit_part(suppressMessages(suppressWarnings(
    gibbs_categorical(
      k ~ a + (1 | g), data, draws = 2, burnin = 0, chains = 1, seed = 1,
      progress = FALSE
    )
  )), "model")
  data$h <- c(1, 2, 1, 2)
  crossed <- gibbsite:::fit_part(suppressMessages(suppressWarnings(gibbs_hlm(
    y ~ a + (1 | g / h), data, draws = 2, burnin = 0, chains = 1, seed = 1,
    progress = FALSE
  ))), "model")
  list(
    C_hlm_crossed_sweeps = list(
      data = crossed$data, state = gibbsite:::model_start(crossed, NULL), n = 2,
      control = control_once(0)
    ),
    C_hlm_categories_sweeps = list(
      data = kinds$data, state = gibbsite:::model_start(kinds, NULL), n = 2,
      control = control_once(0)
    ),
    C_hlm_count_sweeps = list(
      data = events$data, state = gibbsite:::model_start(events, NULL), n = 2,
      control = control_once(0)
    ),
    C_hlm_latent_sweeps = list(
      data = gibbsite:::one_bar_data(counts$data),
      state = gibbsite:::model_start(counts, NULL), n = 2,
      control = control_once(0)
    ),
    C_hlm_sweeps = list(
      data = model$data, state = gibbsite:::model_start(model, NULL), n = 2,
      control = control_once(0)
    ),
    C_hlm_conditionals = list(
      data = model$data, b = c(0, 1), factor = 1, beta = 1
    ),
    C_hlm_log_marginal = list(data = model$data, factor = 1, log_beta = 0)
  )
}

good_mh <- function() {
  model <- gibbsite:::mh_model(
    function(x) -sum(x^2), list(), c(a = 0.4, b = 0.6), c("a", "b"),
    gibbsite:::plan_blocks(
      list(
        mixture_proposal(random_walk(1), independence(0, 1)),
        adaptive()
      ),
      "each", c(a = 0.4, b = 0.6), c("a", "b"), NULL
    ),
    gibbsite:::check_box(0, c(1, Inf), TRUE, c(0.4, 0.6), NULL),
    c("a", "b"), "stop", FALSE, NULL
  )
  functions <- gibbsite:::mh_functions(model)
  functions$gradient <- gibbsite:::caller(function(x) -2 * x, "gradient")
  state <- gibbsite:::model_start(model, NULL)
  state$trace <- NULL
  list(
    C_mh_sweeps = list(
      spec = model$spec, functions = functions, state = state, n = 2,
      control = control_once(1), place = new.env()
    ),
    C_mh_settle = list(
      spec = model$spec, functions = functions, state = state,
      place = new.env()
    ),
    C_mh_variates = list(compiled = model$spec$blocks[[1]]$proposal),
    C_mh_evaluate = list(
      density = functions$log_density, point = c(1, 2), names = c("a", "b"),
      place = new.env()
    )
  )
}

good_lda <- function() {
  model <- gibbsite:::lda_model(
    gibbsite:::as_counts(matrix(c(2, 1, 0, 3), 2)), 2, lda_prior(),
    "collapsed", c("theta", "phi")
  )
  documents <- list(
    word = c(1L, 2L, 2L), start = c(0, 1, 3),
    phi = matrix(c(0.7, 0.2, 0.3, 0.8), 2)
  )
  list(
    C_lda_sweeps = list(
      data = model$data, state = gibbsite:::uniform_start(model), n = 2,
      control = control_once(0)
    ),
    C_lda_fold_in = c(
      documents,
      list(alpha = c(1, 1), sweeps = list(burnin = 1, kept = 2), threads = 1L)
    ),
    C_lda_token_probabilities = c(
      documents, list(theta = matrix(0.5, 2, 2), threads = 1L)
    ),
    C_lda_left_to_right = c(
      documents, list(alpha = c(1, 1), particles = 2, threads = 1L)
    )
  )
}

# Routines read a part of a list.
without <- function(x, names) x[setdiff(names(x), names)]

good_shards <- function() {
  model <- gibbsite:::lda_shards_model(
    scatter(NULL, matrix(c(2, 1, 0, 3), 2)), 2, lda_prior(),
    "partially_collapsed", character()
  )
  corpus <- model$corpus
  state <- gibbsite:::model_start(model, NULL)
  gibbsite:::exchange(corpus$cluster, "begin_segment", list(
    corpus$id, state$key, state$ticket, TRUE, gibbsite:::shard_settings(model),
    lapply(corpus$blocks$shard, `[[`, "start")
  ))
  last <- new.env()
  requests <- list()
  ask <- function(request) {
    requests[[length(requests) + 1L]] <<- request
    gibbsite:::ask_shards(model, request, 1L, last)
  }
  sweeps <- list(
    data = without(model$data, "print"),
    state = without(state, c("key", "ticket", "to_choose")), n = 2,
    control = control_once(0), f = ask
  )
  held <- gibbsite:::held_corpus(corpus$id)
  shard <- list(data = held$settings[[1L]], state = held$working[[1L]]["z"])
  do.call(.Call, c(list(gibbsite:::C_lda_sweeps_apart), unname(sweeps)))
  # of the sweep that is stored: all of its parts are read
  asked <- Filter(function(request) request$recording, requests)[[1L]]
  list(
    C_lda_sweeps_apart = sweeps, C_lda_blocks = list(data = sweeps$data),
    C_lda_shard = c(shard, list(
      request = without(asked, "number"), threads = 1L
    ))
  )
}

good_pmf <- function() {
  counts <- data.frame(user = c(1, 1, 2), item = c(1, 2, 2), count = 1:3)
  model <- gibbsite:::fit_part(suppressWarnings(gibbs_pmf(
    counts, 2, draws = 4, burnin = 2, chains = 1, seed = 1, progress = FALSE
  )), "model")
  state <- gibbsite:::model_start(model, NULL)
  list(
    C_pmf_sweeps = list(
      data = without(model$data, c("user", "item", "value")), state = state,
      n = 2, control = control_once(0)
    ),
    C_pmf_fold_in = list(
      data = model$data[c("n", "m", "size", "prior", "users")],
      u = rep(1, 4), v = rep(1, 4), sweeps = 2
    )
  )
}

good_gibbs_sample <- function() {
  model <- gibbsite:::gibbs_sample_model(
    list(
      u = function(state) stats::rnorm(2),
      v = mh_step(function(state) -sum(state$v^2))
    ),
    list(u = c(1, 2), v = matrix(1, 2, 2)), list(), "random", c("u", "v"),
    NULL, NULL
  )
  list(
    C_gibbs_sample_sweeps = list(
      data = gibbsite:::open_functions(model),
      state = gibbsite:::model_start(model, NULL), n = 2,
      control = control_once(1)
    )
  )
}

good_of_files <- function() {
  list(
    C_sparse_fault = list(
      start = c(0L, 1L, 3L), index = c(1L, 0L, 2L), limit = 3
    ),
    C_file_size_signal = list(ignore = FALSE),
    C_sync_path = list(path = ".", directory = TRUE),
    C_process_started = list(pid = Sys.getpid()),
    C_end_with_parent = list(parent = 1L, started = 0)
  )
}

# ---- Attempts ---------------------------------------------------------------

# list(call, must_fail, counts): functions that call a routine, require an
# error, and say how many calls and errors there were. The last line of the file
# `log` is the call that crashed.
new_attempts <- function(log) {
  routines <- getDLLRegisteredRoutines("gibbsite")$.Call
  lines <- file(log, "wt")
  calls <- 0
  errors <- 0
  call <- function(name, arguments) {
    first <- deparse(arguments, nlines = 1)[1]
    writeLines(paste(name, substr(first, 1, 200)), lines)
    flush(lines)
    calls <<- calls + 1
    # a call that stops half-way may leave another stream
    set.seed(1)
    tryCatch(
      {
        # quoted, so that names and calls reach the routine
        do.call(
          .Call, c(list(routines[[name]]), unname(arguments)), quote = TRUE
        )
        "value"
      },
      error = function(cnd) {
        errors <<- errors + 1
        "error"
      }
    )
  }
  must_fail <- function(name, arguments) {
    if (call(name, arguments) != "error") {
      stop("no error of ", name, deparse(arguments)[1])
    }
  }
  list(
    call = call, must_fail = must_fail,
    counts = function() c(calls = calls, errors = errors)
  )
}

# ---- Every routine ----------------------------------------------------------

bad_values <- function() {
  list(
    NULL, character(), "a", NA_character_, list(), list(1, "a"), NA, TRUE,
    integer(), 1:3, NA_integer_, -1L, double(), NaN, Inf, -Inf, -1, 0, 0.5,
    1e10, 1e300, c(1, 2), 1i, raw(2), sum, quote(x), globalenv(),
    matrix(numeric(), 0, 0), matrix(1, 1, 1), matrix("a", 2, 2),
    factor("a"), as.name("a"), expression(a)
  )
}

# These want compiled code, which has tests of its own.
native_routines <- c(
  "C_native_callable", "C_native_pointer", "C_native_value",
  "C_native_gradient"
)

# Counts of calls and errors. Nothing may crash, right arguments must give a
# value, and most wrong ones an error.
# With a `share` above 1, each element of a list gets one bad value in so many;
# each argument gets all.
call_wrongly <- function(log, share = 1) {
  good <- good_arguments()
  sizes <- routines()
  unknown <- setdiff(names(sizes), c(names(good), native_routines))
  if (length(unknown) > 0) stop("no good arguments known of ", unknown)
  attempts <- new_attempts(log)
  for (name in names(sizes)) {
    wrong_altogether(attempts, name, sizes[[name]], good[[name]])
    if (!name %in% native_routines) {
      for (i in seq_len(sizes[[name]])) {
        wrong_values(attempts, name, good[[name]], i, share)
        wrong_parts(attempts, name, good[[name]], i)
      }
    }
  }
  for (wrong in wrong_by_routine) wrong(attempts, good)
  attempts$counts()
}

# Another number of arguments, and all of them wrong.
wrong_altogether <- function(attempts, name, n, arguments) {
  stopifnot(
    name %in% native_routines || attempts$call(name, arguments) == "value"
  )
  for (wrong in setdiff(0:(n + 2), n)) {
    attempts$must_fail(name, rep(list(1), wrong))
  }
  for (value in bad_values()) {
    if (n > 0 && !is_right(name, value)) {
      attempts$must_fail(name, rep(list(value), n))
    }
  }
}

is_right <- function(name, value) {
  name == "C_expected_responses" && is.double(value) &&
    length(value) == 1 && value %in% 0:3 ||
    name == "C_file_size_signal" && is.logical(value) ||
    name %in% c(
      "C_design_columns", "C_column_moments", "C_coclustering"
    ) &&
      identical(value, matrix(1, 1, 1)) ||
    name == "C_process_started" && is.factor(value) ||
    name == "C_hash" && is.logical(value) ||
    name == "C_checksum" && is.raw(value)
}

# One argument wrong, or one element of it. Some are right by luck (0 sweeps),
# so that here only a crash is a failure.
wrong_values <- function(attempts, name, good, i, share) {
  elements <- if (is.list(good[[i]])) names(good[[i]])
  values <- bad_values()
  for (j in seq_along(values)) {
    value <- values[[j]]
    arguments <- good
    arguments[i] <- list(value)
    attempts$call(name, arguments)
    for (element in elements[(seq_along(elements) + j) %% share == 0]) {
      arguments <- good
      arguments[[i]][element] <- list(value)
      attempts$call(name, arguments)
    }
  }
}

# One element of an argument missing, or of another length. C does not read
# some.
wrong_parts <- function(attempts, name, good, i) {
  part <- good[[i]]
  unread <- c("numbering", if (name == "C_mh_settle") c("debug", "own"))
  elements <- if (is.list(part)) setdiff(names(part), unread)
  for (element in elements) {
    arguments <- good
    arguments[[i]][[element]] <- NULL
    attempts$must_fail(name, arguments)
    for (other in other_lengths(element, part[[element]])) {
      arguments <- good
      arguments[[i]][[element]] <- other
      attempts$must_fail(name, arguments)
    }
  }
}

# The same of the elements of data$joint, which may be absent.
wrong_joint <- function(attempts, good) {
  name <- "C_hlm_crossed_sweeps"
  good <- good[[name]]
  good$data$joint <- list(
    place = c(0L, 1L, 0L, 2L, 3L, 4L, 3L, 5L), z = rep(1, 8),
    deviation = c(0L, 2L, 3L, 1L, 4L, 5L),
    entry_start = c(0L, 2L, 3L, 4L, 6L, 7L, 8L),
    entry = c(0L, 2L, 1L, 3L, 4L, 6L, 5L, 7L),
    factor_start = c(0L, cumsum(8:1)),
    factor_row = unlist(lapply(0:7, function(k) k:7))
  )
  stopifnot(attempts$call(name, good) == "value")
  for (element in names(good$data$joint)) {
    for (value in bad_values()) {
      arguments <- good
      arguments$data$joint[element] <- list(value)
      attempts$call(name, arguments)
    }
    for (other in list(NULL, good$data$joint[[element]][-1L])) {
      arguments <- good
      arguments$data$joint[[element]] <- other
      attempts$must_fail(name, arguments)
    }
    if (element != "z") {
      for (wild in c(-1L, 1000L, NA)) {
        arguments <- good
        arguments$data$joint[[element]][[2L]] <- wild
        attempts$must_fail(name, arguments)
      }
    }
  }
}

# The same of data$near of counts.
wrong_near <- function(attempts, good) {
  name <- "C_hlm_count_sweeps"
  good <- good[[name]]
  groups <- good$data$bars[[1]]$groups
  near <- list(
    outer = 0, inner = 0, outer_term = 0, inner_term = 0,
    parent = integer(groups), first = c(0L, rep(2L, groups)), row = 0:1,
    change = c(1, -1)
  )
  good$data$near <- list(near)
  stopifnot(attempts$call(name, good) == "value")
  for (element in names(near)) {
    for (value in c(bad_values(), list(near[[element]][-1L], 1000, 1000L))) {
      arguments <- good
      arguments$data$near[[1]][element] <- list(value)
      attempts$call(name, arguments)
    }
    arguments <- good
    arguments$data$near[[1]][[element]] <- NULL
    attempts$must_fail(name, arguments)
  }
}

other_lengths <- function(element, whole) {
  any_length <- element %in% c("keep", "kept", "own")
  if (any_length || is.environment(whole) || is.list(whole) ||
        length(whole) <= 1) {
    return(NULL)
  }
  list(whole[-1], c(whole, whole), whole[0])
}

# ---- One routine ------------------------------------------------------------

# Numbers that are not numbers reach the arithmetic: an error or a value.
wild_states <- function(attempts, good) {
  for (element in c("log_pi", "mu", "factor", "x_missing", "prob", "kept")) {
    for (value in c(NaN, NA, Inf, -Inf, 1e308)) {
      arguments <- good$C_gmm_sweeps
      arguments$state[[element]][] <- value
      attempts$call("C_gmm_sweeps", arguments)
    }
  }
}

wrong_allocations <- function(attempts, good) {
  for (z in c(0L, 3L, NA, -1L)) {
    arguments <- good$C_gmm_sweeps
    arguments$state$z[5] <- z
    attempts$must_fail("C_gmm_sweeps", arguments)
  }
}

# The pattern of missing entries, element by element.
wrong_patterns <- function(attempts, good) {
  patterns <- good$C_gmm_sweeps$data$missing
  for (element in names(patterns)) {
    for (value in c(bad_values(), list(rev(patterns[[element]]) + 1L))) {
      arguments <- good$C_gmm_sweeps
      arguments$data$missing[element] <- list(value)
      attempts$call("C_gmm_sweeps", arguments)
    }
    arguments <- good$C_gmm_sweeps
    arguments$data$missing[[element]] <- NULL
    attempts$must_fail("C_gmm_sweeps", arguments)
  }
  for (wrong in list(
    list("entries", 1, 5), list("patterns", 1, 1), list("pattern", 3, 3L),
    list("pattern", 3, -1L), list("pattern", 4, 1L), list("missing", 1, 2L),
    list("missing", 2, 0L), list("offset", 7, 0L), list("offset", 9, -1L)
  )) {
    arguments <- good$C_gmm_sweeps
    arguments$data$missing[[wrong[[1]]]][wrong[[2]]] <- wrong[[3]]
    attempts$must_fail("C_gmm_sweeps", arguments)
  }
}

# Each form of the covariances wants numbers of its own.
wrong_forms <- function(attempts, good) {
  for (form in c(1L, 2L, 3L, NA)) {
    arguments <- good$C_gmm_sweeps
    arguments$data$form <- form
    attempts$must_fail("C_gmm_sweeps", arguments)
    arguments <- good$C_gmm_evaluate
    arguments$form <- form
    attempts$must_fail("C_gmm_evaluate", arguments)
  }
}

# Labels out of range.
wrong_labels <- function(attempts, good) {
  for (label in c(0L, 3L, NA, -1L)) {
    arguments <- good$C_gmm_evaluate
    arguments["order"] <- list(c(1L, label))
    attempts$must_fail("C_gmm_evaluate", arguments)
    arguments <- good$C_gmm_evaluate
    arguments["pivot"] <- list(rep(label, nrow(arguments$x)))
    attempts$must_fail("C_gmm_evaluate", arguments)
  }
}

# The rows of a sparse design, element by element; dense ones.
wrong_designs <- function(attempts, good) {
  for (name in c("C_logistic_search", "C_logistic_derivatives",
                 "C_logistic_draws")) {
    wrong_elements(attempts, name, good[[name]])
    wrong_rows(attempts, name, good[[name]])
    dense_designs(attempts, name, good[[name]])
  }
}

wrong_elements <- function(attempts, name, good) {
  for (element in names(good$data$x)) {
    for (value in bad_values()) {
      arguments <- good
      arguments$data$x[element] <- list(value)
      attempts$call(name, arguments)
    }
    arguments <- good
    arguments$data$x[[element]] <- NULL
    attempts$must_fail(name, arguments)
  }
}

wrong_rows <- function(attempts, name, good) {
  for (wrong in list(
    list("row_start", 1, 1L), list("row_start", 2, 4L),
    list("row_start", 4, -1L), list("row_start", 4, 5L),
    list("column", 1, -1L), list("column", 2, 2L), list("column", 2, 0L)
  )) {
    arguments <- good
    arguments$data$x[[wrong[[1]]]][wrong[[2]]] <- wrong[[3]]
    attempts$must_fail(name, arguments)
  }
}

dense_designs <- function(attempts, name, arguments) {
  for (wild in c(1, NaN, NA, Inf, -Inf, 1e308)) {
    arguments$data$x <- matrix(wild, 3, 2)
    stopifnot(attempts$call(name, arguments) == "value")
  }
  arguments$data$x <- matrix(1, 4, 2)
  attempts$must_fail(name, arguments)
}

wrong_columns <- function(attempts, good) {
  for (wrong in list(
    list("start", 1, 1L), list("start", 2, 4L), list("start", 3, -1L),
    list("row", 1, -1L), list("row", 3, 3L)
  )) {
    arguments <- good$C_design_columns
    arguments$x[[wrong[[1]]]][wrong[[2]]] <- wrong[[3]]
    attempts$must_fail("C_design_columns", arguments)
  }
}

wrong_stores <- function(attempts, good) {
  for (used in c(-1, 9, NaN)) {
    arguments <- good$C_laplace_sweeps
    arguments$state$used <- used
    attempts$must_fail("C_laplace_sweeps", arguments)
  }
}

# Proposals and blocks, element by element.
wrong_blocks <- function(attempts, good) {
  for (b in 1:2) {
    wrong_proposals(attempts, good$C_mh_sweeps, b)
    for (index in list(0L, 3L, NA, -1L, 1:2, integer(), 1)) {
      arguments <- good$C_mh_sweeps
      arguments$spec$blocks[[b]]$index <- index
      attempts$must_fail("C_mh_sweeps", arguments)
    }
  }
}

wrong_proposals <- function(attempts, good, b) {
  for (value in bad_values()) {
    for (element in names(good$spec$blocks[[b]]$proposal)) {
      arguments <- good
      arguments$spec$blocks[[b]]$proposal[element] <- list(value)
      attempts$call("C_mh_sweeps", arguments)
    }
    for (element in names(good$state$blocks[[b]])) {
      arguments <- good
      arguments$state$blocks[[b]][element] <- list(value)
      attempts$call("C_mh_sweeps", arguments)
    }
  }
}

wrong_steps <- function(attempts, good) {
  good <- good$C_gibbs_sample_sweeps
  for (element in names(good$data$steps[[2]]$proposal)) {
    for (value in bad_values()) {
      arguments <- good
      arguments$data$steps[[2]]$proposal[element] <- list(value)
      attempts$call("C_gibbs_sample_sweeps", arguments)
    }
  }
  for (element in names(good$state$steps[[2]])) {
    for (value in bad_values()) {
      arguments <- good
      arguments$state$steps[[2]][element] <- list(value)
      attempts$call("C_gibbs_sample_sweeps", arguments)
    }
  }
}

wrong_by_routine <- list(
  wild_states, wrong_allocations, wrong_patterns, wrong_designs, wrong_columns,
  wrong_stores, wrong_blocks, wrong_steps, wrong_forms, wrong_labels,
  wrong_joint, wrong_near
)
