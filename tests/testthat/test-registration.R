# The native routines: what is registered, and that no argument crashes them.

routines <- function() {
  registered <- getDLLRegisteredRoutines("gibbsite")$.Call
  vapply(registered, function(routine) routine$numParameters, 0L)
}

test_that("every routine is registered, and for .Call alone", {
  registered <- getDLLRegisteredRoutines("gibbsite")
  expect_true(all(startsWith(names(registered$.Call), "C_")))
  expect_gt(length(registered$.Call), 1)
  expect_true(all(routines() >= 0))
  for (kind in c(".C", ".Fortran", ".External")) {
    expect_length(registered[[kind]], 0)
  }
  # names are not looked up
  expect_error(.Call("gmm_sweeps", 1, PACKAGE = "gibbsite"), "not available")
  expect_false(is.loaded("C_gmm_sweeps_nowhere", PACKAGE = "gibbsite"))
})

test_that("the mixture's routines have their arguments", {
  expect_identical(routines()[["C_gmm_sweeps"]], 5L)
  expect_identical(routines()[["C_gmm_evaluate"]], 6L)
})

test_that("the factorisation's routines have their arguments", {
  expect_identical(routines()[["C_bmf_sweeps"]], 5L)
  expect_identical(routines()[["C_bmf_linear"]], 5L)
  expect_identical(routines()[["C_bmf_fold_in"]], 5L)
})

test_that("the library exports R_init_gibbsite alone", {
  skip_on_os("windows")
  skip_if(Sys.which("nm") == "", "nm is not installed")
  library <- getLoadedDLLs()[["gibbsite"]][["path"]]
  flags <- if (Sys.info()[["sysname"]] == "Darwin") "-gU" else "-D"
  lines <- system2("nm", c(flags, shQuote(library)), stdout = TRUE)
  exported <- grep(" [TDBRVWi] ", lines, value = TRUE)
  expect_identical(sub("^.* _?", "", exported), "R_init_gibbsite")
})

test_that("wrong types and numbers of arguments are errors, never a crash", {
  skip_unless_processes()
  child <- start_child(quote({
    routines <- getDLLRegisteredRoutines("gibbsite")$.Call
    x <- as.matrix(datasets::faithful)
    x[c(3, 7), 2] <- NA
    x[9, ] <- NA
    model <- gibbsite:::gmm_model(
      x, 2L, gibbsite:::complete_gmm_prior(gmm_prior(), x, 2L),
      keep = c("z", "x")
    )
    set.seed(1)
    state <- gibbsite:::model_start.gmm_model(model, NULL)
    covariances <- gibbsite:::gmm_parameters(model, state)$sigma
    row <- function(v) matrix(v, 1L)
    ratings <- suppressMessages(gibbsite:::as_ratings(
      data.frame(user = c(1, 1, 2, 3), item = c(1, 2, 2, 1), value = 1:4)
    ))
    bmf <- gibbsite:::bmf_model(
      ratings, 2L, gibbsite:::complete_bmf_prior(bmf_wishart(), 1, 2L, FALSE)
    )
    # the codes are for R alone
    factors <- bmf$data[setdiff(names(bmf$data), c("user", "item", "value"))]
    first <- gibbsite:::model_start(bmf, NULL)
    factored <- gibbsite:::model_sweeps(
      bmf, first, 3, list(burnin = 0, thin = 1, threads = 1L)
    )$state
    # a sparse design; a dense one takes its place below
    logistic <- list(
      x = list(
        n = 3, p = 2, row_start = c(0L, 2L, 3L, 4L), column = c(0L, 1L, 1L, 0L),
        value = c(1, 2, 3, 4)
      ),
      success = c(1, 0, 1), total = c(1, 1, 2), offset = c(0, 1, 0),
      precision = c(1, 1), constant = 0
    )
    mh <- gibbsite:::mh_model(
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
    mh_functions <- gibbsite:::mh_functions(mh)
    mh_functions$gradient <- gibbsite:::caller(function(x) -2 * x, "gradient")
    mh_state <- gibbsite:::model_start(mh, NULL)
    mh_state$trace <- NULL
    blocks <- gibbsite:::gibbs_sample_model(
      list(
        u = function(state) stats::rnorm(2),
        v = mh_step(function(state) -sum(state$v^2))
      ),
      list(u = c(1, 2), v = matrix(1, 2, 2)), list(), "random", c("u", "v"),
      NULL, NULL
    )
    topics <- gibbsite:::lda_model(
      gibbsite:::as_counts(matrix(c(2, 1, 0, 3), 2)), 2, lda_prior(),
      "collapsed", c("theta", "phi")
    )
    phi <- matrix(c(0.7, 0.2, 0.3, 0.8), 2)
    good <- list(
      C_lda_sweeps = list(
        data = topics$data, state = gibbsite:::model_start(topics, NULL), n = 2,
        control = list(burnin = 0, thin = 1, threads = 1L)
      ),
      C_lda_fold_in = list(
        word = c(1L, 2L, 2L), start = c(0, 1, 3), phi = phi, alpha = c(1, 1),
        sweeps = list(burnin = 1, kept = 2), threads = 1L
      ),
      C_lda_token_probabilities = list(
        word = c(1L, 2L, 2L), start = c(0, 1, 3), phi = phi,
        theta = matrix(0.5, 2, 2), threads = 1L
      ),
      C_lda_left_to_right = list(
        word = c(1L, 2L, 2L), start = c(0, 1, 3), phi = phi, alpha = c(1, 1),
        particles = 2, threads = 1L
      ),
      C_sparse_fault = list(
        start = c(0L, 1L, 3L), index = c(1L, 0L, 2L), limit = 3
      ),
      C_bmf_sweeps = list(
        data = factors, state = first, n = 2,
        control = list(burnin = 0, thin = 1, threads = 1L), mode = FALSE
      ),
      C_bmf_linear = list(
        sizes = gibbsite:::bmf_sizes(bmf), draws = factored$factor_draws,
        user = 1:2, item = c(2L, 1L), moments = FALSE
      ),
      C_bmf_fold_in = list(
        sizes = gibbsite:::bmf_sizes(bmf), ratings = bmf$data$users,
        kind = list(kind = 2L), hyper = factored$hyper_draws[[1]],
        v = as.double(factored$v)
      ),
      C_gmm_sweeps = list(
        data = model$data, state = state, n = 2,
        control = list(burnin = 0, thin = 1, threads = 1L), mode = FALSE
      ),
      C_gmm_evaluate = list(
        form = 0L, x = unname(gibbsite:::fill_column_means(x)),
        blocks = list(
          pi = row(exp(state$log_pi)), mu = row(state$mu),
          sigma = row(covariances)
        ),
        order = NULL, pivot = NULL, what = c(TRUE, TRUE)
      ),
      C_design_columns = list(
        x = list(
          n = 3, p = 2, start = c(0L, 2L, 3L), row = c(0L, 2L, 1L),
          value = c(1, 2, 3)
        ),
        counts = c(1, 0, 1)
      ),
      C_laplace_sweeps = list(
        data = list(map = c(1, 2), precision_factor = diag(2)),
        state = list(
          sweep = 0, w = c(0, 0), ahead = numeric(16), used = 8
        ),
        n = 2, control = list(burnin = 0, thin = 1, threads = 1L)
      ),
      C_logistic_search = list(
        data = logistic, start = c(0, 0),
        control = list(
          gradient = 0, limit = 20, share = 1, tolerance = 1e-8, price = 0
        )
      ),
      C_logistic_derivatives = list(data = logistic, w = c(0, 1)),
      C_logistic_draws = list(data = logistic, w = matrix(1, 2, 3), what = 0),
      C_logistic_mean = list(m = c(0, 1), s = c(1, 0), slope = FALSE),
      C_logistic_predictor = list(
        x = diag(3), data = list(map = c(1, 2, 3), precision_factor = diag(3))
      ),
      C_mh_sweeps = list(
        spec = mh$spec, functions = mh_functions, state = mh_state, n = 2,
        control = list(burnin = 1, thin = 1, threads = 1L), place = new.env()
      ),
      C_mh_settle = list(
        spec = mh$spec, functions = mh_functions, state = mh_state,
        place = new.env()
      ),
      C_mh_evaluate = list(
        density = mh_functions$log_density, point = c(1, 2),
        names = c("a", "b"), place = new.env()
      ),
      C_gibbs_sample_sweeps = list(
        data = gibbsite:::open_functions(blocks),
        state = gibbsite:::model_start(blocks, NULL), n = 2,
        control = list(burnin = 1, thin = 1, threads = 1L)
      ),
      C_file_size_signal = list(ignore = FALSE),
      C_sync_path = list(path = ".", directory = TRUE),
      C_process_started = list(pid = Sys.getpid()),
      C_end_with_parent = list(parent = 1L, started = 0)
    )
    bad <- list(
      NULL, character(), "a", NA_character_, list(), list(1, "a"), NA, TRUE,
      integer(), 1:3, NA_integer_, -1L, double(), NaN, Inf, -Inf, -1, 0, 0.5,
      1e10, 1e300, c(1, 2), 1i, raw(2), sum, quote(x), globalenv(),
      matrix(numeric(), 0, 0), matrix(1, 1, 1), matrix("a", 2, 2),
      factor("a"), as.name("a"), expression(a)
    )
    calls <- 0
    errors <- 0
    crossed <- file("log", "wt")
    attempt <- function(name, arguments) {
      # the last line of the log is where a crash happened
      writeLines(paste(name, substr(deparse(arguments)[1], 1, 200)), crossed)
      flush(crossed)
      calls <<- calls + 1
      # a call that stops half-way may leave another stream
      set.seed(1)
      tryCatch(
        {
          do.call(.Call, c(list(routines[[name]]), unname(arguments)))
          "value"
        },
        error = function(cnd) {
          errors <<- errors + 1
          "error"
        }
      )
    }
    must_fail <- function(name, arguments) {
      if (attempt(name, arguments) != "error") {
        stop("no error of ", name, deparse(arguments)[1])
      }
    }
    # these want compiled code, which has tests of its own
    native <- c("C_native_callable", "C_native_pointer", "C_native_value")
    unknown <- setdiff(names(routines), c(names(good), native))
    if (length(unknown) > 0) stop("no good arguments known of ", unknown)
    for (name in names(routines)) {
      n <- routines[[name]]$numParameters
      stopifnot(name %in% native || attempt(name, good[[name]]) == "value")
      # numbers of arguments
      for (wrong in setdiff(0:(n + 2), n)) {
        must_fail(name, rep(list(1), wrong))
      }
      # all of them wrong
      if (n > 0) for (value in bad) {
        right <- name == "C_file_size_signal" && is.logical(value) ||
          name == "C_design_columns" && identical(value, matrix(1, 1, 1)) ||
          name == "C_process_started" && is.factor(value)
        if (!right) {
          must_fail(name, rep(list(value), n))
        }
      }
      if (name %in% native) next
      # one of them wrong, then one element of one of them; some are right by
      # luck (0 sweeps), so that here only a crash is a failure
      for (i in seq_len(n)) {
        for (value in bad) {
          arguments <- good[[name]]
          arguments[i] <- list(value)
          attempt(name, arguments)
          part <- good[[name]][[i]]
          if (!is.list(part)) next
          for (element in names(part)) {
            arguments <- good[[name]]
            arguments[[i]][element] <- list(value)
            attempt(name, arguments)
          }
        }
        part <- good[[name]][[i]]
        unread <- if (name == "C_mh_settle") c("debug", "own")
        if (is.list(part)) for (element in setdiff(names(part), unread)) {
          arguments <- good[[name]]
          arguments[[i]][[element]] <- NULL
          must_fail(name, arguments)
          whole <- part[[element]]
          # of any length
          if (element %in% c("keep", "kept", "own")) next
          if (is.environment(whole)) next
          for (short in list(whole[-1], c(whole, whole), whole[0])) {
            if (length(whole) > 1 && !is.list(whole)) {
              arguments <- good[[name]]
              arguments[[i]][[element]] <- short
              must_fail(name, arguments)
            }
          }
        }
      }
    }
    # numbers that are not numbers reach the arithmetic: an error or a value
    for (element in c("log_pi", "mu", "factor", "x_missing", "prob", "kept")) {
      for (value in c(NaN, NA, Inf, -Inf, 1e308)) {
        arguments <- good$C_gmm_sweeps
        arguments$state[[element]][] <- value
        attempt("C_gmm_sweeps", arguments)
      }
    }
    for (z in c(0L, 3L, NA, -1L)) {
      arguments <- good$C_gmm_sweeps
      arguments$state$z[5] <- z
      must_fail("C_gmm_sweeps", arguments)
    }
    # the pattern of missing entries, element by element
    patterns <- model$data$missing
    for (element in names(patterns)) {
      for (value in c(bad, list(rev(patterns[[element]]) + 1L))) {
        arguments <- good$C_gmm_sweeps
        arguments$data$missing[element] <- list(value)
        attempt("C_gmm_sweeps", arguments)
      }
      arguments <- good$C_gmm_sweeps
      arguments$data$missing[[element]] <- NULL
      must_fail("C_gmm_sweeps", arguments)
    }
    for (wrong in list(
      list("entries", 1, 5), list("patterns", 1, 1), list("pattern", 3, 3L),
      list("pattern", 3, -1L), list("pattern", 4, 1L), list("missing", 1, 2L),
      list("missing", 2, 0L), list("offset", 7, 0L), list("offset", 9, -1L)
    )) {
      arguments <- good$C_gmm_sweeps
      arguments$data$missing[[wrong[[1]]]][wrong[[2]]] <- wrong[[3]]
      must_fail("C_gmm_sweeps", arguments)
    }
    # the rows of a sparse design, element by element; dense ones
    for (name in c("C_logistic_search", "C_logistic_derivatives",
                   "C_logistic_draws")) {
      for (element in names(logistic$x)) {
        for (value in bad) {
          arguments <- good[[name]]
          arguments$data$x[element] <- list(value)
          attempt(name, arguments)
        }
        arguments <- good[[name]]
        arguments$data$x[[element]] <- NULL
        must_fail(name, arguments)
      }
      for (wrong in list(
        list("row_start", 1, 1L), list("row_start", 2, 4L),
        list("row_start", 4, -1L), list("row_start", 4, 5L),
        list("column", 1, -1L), list("column", 2, 2L), list("column", 2, 0L)
      )) {
        arguments <- good[[name]]
        arguments$data$x[[wrong[[1]]]][wrong[[2]]] <- wrong[[3]]
        must_fail(name, arguments)
      }
      for (wild in c(1, NaN, NA, Inf, -Inf, 1e308)) {
        arguments <- good[[name]]
        arguments$data$x <- matrix(wild, 3, 2)
        stopifnot(attempt(name, arguments) == "value")
      }
      arguments$data$x <- matrix(1, 4, 2)
      must_fail(name, arguments)
    }
    for (wrong in list(
      list("start", 1, 1L), list("start", 2, 4L), list("start", 3, -1L),
      list("row", 1, -1L), list("row", 3, 3L)
    )) {
      arguments <- good$C_design_columns
      arguments$x[[wrong[[1]]]][wrong[[2]]] <- wrong[[3]]
      must_fail("C_design_columns", arguments)
    }
    for (used in c(-1, 9, NaN)) {
      arguments <- good$C_laplace_sweeps
      arguments$state$used <- used
      must_fail("C_laplace_sweeps", arguments)
    }
    # proposals and blocks, element by element
    for (b in 1:2) {
      block <- mh$spec$blocks[[b]]
      memory <- mh_state$blocks[[b]]
      for (value in bad) {
        for (element in names(block$proposal)) {
          arguments <- good$C_mh_sweeps
          arguments$spec$blocks[[b]]$proposal[element] <- list(value)
          attempt("C_mh_sweeps", arguments)
        }
        for (element in names(memory)) {
          arguments <- good$C_mh_sweeps
          arguments$state$blocks[[b]][element] <- list(value)
          attempt("C_mh_sweeps", arguments)
        }
      }
      for (index in list(0L, 3L, NA, -1L, 1:2, integer(), 1)) {
        arguments <- good$C_mh_sweeps
        arguments$spec$blocks[[b]]$index <- index
        must_fail("C_mh_sweeps", arguments)
      }
    }
    for (element in names(blocks$steps$v)) {
      for (value in bad) {
        arguments <- good$C_gibbs_sample_sweeps
        arguments$data$steps[[2]]$proposal[element] <- list(value)
        attempt("C_gibbs_sample_sweeps", arguments)
      }
    }
    for (element in names(good$C_gibbs_sample_sweeps$state$steps[[2]])) {
      for (value in bad) {
        arguments <- good$C_gibbs_sample_sweeps
        arguments$state$steps[[2]][element] <- list(value)
        attempt("C_gibbs_sample_sweeps", arguments)
      }
    }
    # each form of the covariances wants numbers of its own
    for (form in c(1L, 2L, 3L, NA)) {
      arguments <- good$C_gmm_sweeps
      arguments$data$form <- form
      must_fail("C_gmm_sweeps", arguments)
      arguments <- good$C_gmm_evaluate
      arguments$form <- form
      must_fail("C_gmm_evaluate", arguments)
    }
    # labels out of range
    for (label in c(0L, 3L, NA, -1L)) {
      arguments <- good$C_gmm_evaluate
      arguments["order"] <- list(c(1L, label))
      must_fail("C_gmm_evaluate", arguments)
      arguments <- good$C_gmm_evaluate
      arguments["pivot"] <- list(rep(label, nrow(x)))
      must_fail("C_gmm_evaluate", arguments)
    }
    saveRDS(c(calls = calls, errors = errors), "fit.rds")
  }))
  counts <- tryCatch(
    result_of(child, timeout = 120),
    error = function(cnd) {
      log <- file_in(child, "log")
      last <- if (file.exists(log)) utils::tail(readLines(log), 1)
      stop(conditionMessage(cnd), "\nLast call: ", last)
    }
  )
  expect_gt(counts[["errors"]], 500)
  expect_lt(counts[["errors"]], counts[["calls"]])
})
