# Helpers for the tests of the driver.  Runs in other R processes source this
# file too, so that it uses nothing but gibbsite itself at its top level.

# ---- A model whose sweeps are written in R -----------------------------------

# One sweep: value <- value / 2 + N(0, 1); u ~ U(0, 1). `mean` is a running mean
# over the kept draws, so that the state depends on the whole history of the
# chain. `drift`, a function(sweep), is added to the recorded value. The option
# probe.hook, a function(state) called before each sweep, lets a test slow a
# chain down, break it or kill its process. The option probe.segment, a
# function(state), is called before each segment. Neither is part of the model.
probe_model <- function(drift = NULL) {
  gibbsite:::new_model(
    "probe_model",
    name = "gibbs_probe", title = "Probe", headline = "Probe: a damped walk",
    data = list(shift = 1), prior = NULL, nobs = 1L,
    columns = c("value", "u", "mean"), drift = drift
  )
}

probe_sweep <- function(state, shift) {
  state$value <- state$value / 2 + shift * stats::rnorm(1)
  state$u <- stats::runif(1)
  state$sweep <- state$sweep + 1
  state
}

probe_keep <- function(state) {
  state$kept <- state$kept + 1
  state$mean <- state$mean + (state$value - state$mean) / state$kept
  state
}

probe_methods <- list(
  model_start = function(model, init) {
    list(
      sweep = 0, kept = 0, mean = 0, value = stats::rnorm(1), u = 0,
      chain = if (is.null(init$chain)) 0 else init$chain
    )
  },
  model_sweeps = function(model, state, n, control) {
    hook <- getOption("probe.hook")
    segment <- getOption("probe.segment")
    if (!is.null(segment)) segment(state)
    rows <- list()
    for (i in seq_len(n)) {
      if (!is.null(hook)) hook(state)
      state <- probe_sweep(state, model$data$shift)
      past <- state$sweep - control$burnin
      if (past > 0 && past %% control$thin == 0) {
        state <- probe_keep(state)
        moved <- if (!is.null(model$drift)) model$drift(state$sweep) else 0
        rows[[length(rows) + 1]] <- c(
          state$value + moved, state$u, state$mean
        )
      }
    }
    list(
      state = state,
      draws = matrix(as.double(unlist(rows)), ncol = 3, byrow = TRUE),
      rng = get(".Random.seed", globalenv())
    )
  },
  model_check_init = function(model, init, where, call) init,
  model_init_from_state = function(model, state) list(chain = state$chain),
  model_invariants = function(model, draws) {
    draws[, c("value", "u"), drop = FALSE]
  },
  model_without_averages = function(model, state, anew = FALSE) {
    state$kept <- state$mean <- 0
    state
  },
  set_data = function(model, data, call) {
    model$data <- list(shift = data)
    model$data_hash <- gibbsite:::hash(model$data)
    model
  }
)
for (generic in names(probe_methods)) {
  registerS3method(generic, "probe_model", probe_methods[[generic]],
    envir = asNamespace("gibbsite")
  )
}

# The probe's sampler: every chain knows its number.
probe <- function(draws = 100, burnin = 10, thin = 1, chains = 2, seed = 1,
                  threads = 1, cores = 1, checkpoint = NULL, stop_when = NULL,
                  progress = FALSE, keep_data = TRUE,
                  inits = function(k) list(chain = k), drift = NULL) {
  call <- rlang::current_env()
  running <- gibbsite:::running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_data = keep_data, keep_choices = "value", call = call
  )
  gibbsite:::run_chains(probe_model(drift), running, match.call(), call)
}

# ---- Runs --------------------------------------------------------------------

# Rounds in other processes that are short, and yet of several sweeps: a forked
# process compiles R's functions again before its first sweep.
short_rounds <- function(frame = parent.frame()) {
  withr::local_options(
    .local_envir = frame,
    gibbsite.round_seconds = 0.3, gibbsite.segment_seconds = 0.01
  )
}

# The run of a child process: sweeps take so many seconds from sweep `from` on;
# it leaves a note when one of the chains is at sweep `tell`.
slow_from <- function(from, tell, name, seconds = 0.002) {
  force(name)
  force(seconds)
  options(
    gibbsite.segment_seconds = 0.01,
    probe.hook = function(state) {
      if (state$sweep >= from) Sys.sleep(seconds)
      if (state$sweep == tell) note(name)
    }
  )
}

# The package's object `name` becomes `value`.
set_object <- function(name, value) {
  package <- asNamespace("gibbsite")
  unlockBinding(name, package)
  assign(name, value, envir = package)
  lockBinding(name, package)
}

# The same until the test ends.
local_object <- function(name, value, frame = parent.frame()) {
  old <- asNamespace("gibbsite")[[name]]
  set_object(name, value)
  withr::defer(set_object(name, old), envir = frame)
}

# From now on this process knows what the package's function `name` has computed
# once; key(x): what of its argument the value depends on.
remember <- function(name, key = identity) {
  compute <- asNamespace("gibbsite")[[name]]
  if (is.null(environment(compute)$known)) {
    known <- new.env()
    set_object(name, function(x) {
      hash <- rlang::hash(key(x))
      if (is.null(known[[hash]])) known[[hash]] <- list(compute(x))
      known[[hash]][[1]]
    })
  }
}

# The scale of a mixture's default prior, and what its components are numbered
# by, which is drawn on a stream of its own: both take longer than a short run.
remember("within_covariance")
remember("gmm_pivot", function(model) {
  model[setdiff(names(model), c("source", "keep", "columns", "pivot"))]
})

# As in base R; but the warning that short chains have not converged, which
# nobody sees, is not put into words: this would take a tenth of the suite.
suppressWarnings <- function(expr, classes = "warning") {
  if (any(c("warning", "gibbsite_warning_convergence") %in% classes)) {
    local_object("warn_gibbsite", function(message, class, ...,
                                           envir = rlang::caller_env()) {
      if ("convergence" %in% class) {
        classes <- asNamespace("gibbsite")$condition_classes("warning", class)
        rlang::warn("Not converged.", ..., class = classes)
      } else {
        spoken_warning(message, class, ..., envir = envir)
      }
    })
  }
  base::suppressWarnings(expr, classes)
}

# Suppresses this warning alone.
quietly <- function(code) {
  suppressWarnings(code, classes = "gibbsite_warning_convergence")
}

spoken_warning <- asNamespace("gibbsite")$warn_gibbsite

# One chain of a few draws.
brief <- function(sampler, ...) {
  quietly(sampler(
    ..., draws = 30, burnin = 5, chains = 1, seed = 1, progress = FALSE
  ))
}

# A function that fits in a fraction of a second: `sampler`, with settings of
# the run that the call leaves out.
short_fit <- function(sampler) {
  function(...) {
    call <- match.call()
    call[[1]] <- sampler
    short <- list(
      draws = 200, burnin = 100, chains = 2, seed = 1, progress = FALSE
    )
    left_out <- setdiff(names(short), names(call))
    call[left_out] <- short[left_out]
    quietly(eval(call, parent.frame()))
  }
}

# A mixture for two chains in a fraction of a second.
short_gmm <- function(draws = 60, burnin = 7, thin = 1, chains = 2, seed = 1,
                      x = datasets::faithful, k = 2, ...) {
  quietly(gibbsite::gibbs_gmm(
    x, k, draws = draws, burnin = burnin, thin = thin, chains = chains,
    seed = seed, progress = FALSE, ...
  ))
}

longer <- function(fit, draws, ...) {
  quietly(gibbsite::extend(fit, draws, progress = FALSE, ...))
}

# A run in pieces, a thinned one, one from a checkpoint and one without its data
# have the bits of one run. run(draws, ...): a fit of two chains.
expect_same_pieces <- function(run) {
  long <- run(60)
  same <- function(fit) {
    testthat::expect_identical(as.matrix(longer(fit, 40)), as.matrix(long))
  }
  same(run(20))
  thinned <- as.matrix(run(30, thin = 2))
  testthat::expect_identical(
    unname(thinned[1:30, ]), unname(as.matrix(long[[1]])[2 * (1:30), ])
  )
  place <- file.path(withr::local_tempdir(), "run")
  run(20, checkpoint = place)
  same(resumed(place))
  same(run(20, keep_data = FALSE))
}

# The arguments `...`, segments and extend() do not change a bit of run(), a fit
# of 20 draws.
expect_never_shown <- function(run, ...) {
  whole <- run()
  same <- function(fit) testthat::expect_true(identical_fit(fit, whole))
  same(run(...))
  withr::with_options(list(gibbsite.segment_seconds = 1e-9), same(run()))
  same(suppressMessages(suppressWarnings(
    extend(run(draws = 8), 12, progress = FALSE)
  )))
}

# The means of some columns differ by Monte Carlo error alone.
expect_same_means <- function(fit, other, columns) {
  parts <- lapply(list(fit, other), function(fit) {
    draws <- as.matrix(fit)[, columns]
    size <- coda::effectiveSize(fit)[columns]
    list(mean = colMeans(draws), square = apply(draws, 2, stats::var) / size)
  })
  away <- parts[[1]]$mean - parts[[2]]$mean
  se <- sqrt(parts[[1]]$square + parts[[2]]$square)
  testthat::expect_lt(max(abs(away) / se), 4.5)
}

resumed <- function(path, ...) {
  quietly(gibbsite::resume(path, progress = FALSE, ...))
}

# Evaluates `code` with another function in place of one of the package's own.
with_function <- function(name, value, code) {
  local_object(name, value)
  code
}

# More observations than one chunk of the parallel block, from a separate
# stream.
many_observations <- function(n = 5000) {
  withr::with_seed(3, matrix(stats::rnorm(2 * n), n) + 3 * (seq_len(n) %% 2))
}

md5_of <- function(folder) {
  files <- list.files(folder, recursive = TRUE, all.files = TRUE)
  stats::setNames(unname(tools::md5sum(file.path(folder, files))), files)
}

# ---- Other R processes -------------------------------------------------------

# The plan of futures, without what `future` notes in it when it is used.
plan_now <- function() {
  lapply(future::plan("list"), function(plan) {
    attr(plan, "backend") <- attr(plan, "init") <- NULL
    plan
  })
}

skip_unless_processes <- function() {
  testthat::skip_on_cran()
  testthat::skip_on_os("windows")
  testthat::skip_if_not_installed("callr")
}

r_program <- function(name) file.path(R.home("bin"), name)

# Settings that a child shares with this process: its libraries, and a number of
# threads of the linear algebra that does not depend on where it runs.
child_environment <- function() {
  c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
}

# `code`: an expression to be run by Rscript in a new folder, after this file.
# Files are how the two talk: see note().
#
# By default callr catches the signal by which R learns that a forked process
# has ended; here it is told to pass the signal on.
Sys.setenv(PROCESSX_NOTIFY_OLD_SIGCHLD = "true")

start_child <- function(code, frame = parent.frame(), folder = NULL,
                        wrap = NULL) {
  folder <- folder %||% withr::local_tempdir(.local_envir = frame)
  helper <- normalizePath(testthat::test_path("helper-run.R"))
  script <- file.path(folder, "script.R")
  writeLines(c(
    "library(gibbsite)",
    sprintf("source(%s)", encodeString(helper, quote = "\"")),
    deparse(code)
  ), script)
  command <- c(r_program("Rscript"), "--vanilla", script)
  command <- c(wrap, command)
  child <- callr::process$new(
    command[1], command[-1], wd = folder, env = child_environment(),
    stdout = file.path(folder, "stdout"), stderr = file.path(folder, "stderr"),
    cleanup_tree = TRUE
  )
  withr::defer(child$kill_tree(), envir = frame)
  list(process = child, folder = folder)
}

# In a child: reports its progress.
note <- function(name) {
  invisible(file.create(name))
}

file_in <- function(child, name) file.path(child$folder, name)

# Waits for the child to have made a file; its output is the message if it
# ends or takes too long.
wait_for <- function(child, name, timeout = 60) {
  deadline <- Sys.time() + timeout
  while (!file.exists(file_in(child, name))) {
    if (!child$process$is_alive() && !file.exists(file_in(child, name))) {
      stop("The child ended before ", name, ":\n", child_output(child))
    }
    if (Sys.time() > deadline) {
      stop("The child made no ", name, ":\n", child_output(child))
    }
    Sys.sleep(0.01)
  }
  invisible(child)
}

# Waits for its end and returns the exit status.
end_of <- function(child, timeout = 60) {
  child$process$wait(timeout * 1000)
  if (child$process$is_alive()) {
    stop("The child did not end:\n", child_output(child))
  }
  child$process$get_exit_status()
}

child_output <- function(child) {
  lines <- function(name) {
    path <- file_in(child, name)
    if (file.exists(path)) readLines(path, warn = FALSE)
  }
  paste(c(lines("stdout"), lines("stderr")), collapse = "\n")
}

# The object that a child saved as `name`.rds, after it has ended without an
# error.
result_of <- function(child, name = "fit", timeout = 60) {
  status <- end_of(child, timeout)
  if (!identical(status, 0L)) {
    stop("The child ended with status ", status, ":\n", child_output(child))
  }
  readRDS(file_in(child, paste0(name, ".rds")))
}

interrupt_child <- function(child) {
  tools::pskill(child$process$get_pid(), tools::SIGINT)
}

# This process gets SIGINT after so many seconds.  From a fork and not by
# system(), which ignores the signal until its shell has returned.
interrupt_later <- function(seconds = 1) {
  here <- Sys.getpid()
  parallel::mcparallel(
    {
      Sys.sleep(seconds)
      tools::pskill(here, tools::SIGINT)
    },
    detached = TRUE
  )
}

# Like Ctrl-C in a terminal: the signal goes to the whole process group, whose
# leader is the child.
interrupt_group <- function(child) {
  command <- paste0("kill -INT -", child$process$get_pid())
  invisible(system2("sh", c("-c", shQuote(command))))
}

# For a child that is to be killed during its run: every segment of a chain
# waits for some seconds first, so that checkpoints are due before.
slow_segments <- function(seconds) {
  suppressMessages(trace(
    "run_segment", bquote(Sys.sleep(.(seconds))), print = FALSE,
    where = asNamespace("gibbsite")
  ))
}
