# Log densities in compiled code.

skip_unless_compiler <- function() {
  testthat::skip_on_cran()
  has <- nzchar(Sys.which("make")) &&
    nzchar(Sys.which(strsplit(
      c(r_config("CC"), "cc")[1], " ", fixed = TRUE
    )[[1]][1]))
  testthat::skip_if_not(has, "There is no C compiler.")
}

r_config <- function(name) {
  out <- suppressWarnings(
    system2(r_program("R"), c("CMD", "config", name), stdout = TRUE,
            stderr = FALSE)
  )
  if (length(out) == 1) out
}

# A shared object of C or C++ code, made once for this file.
made <- new.env()

compiled <- function(code, name, extension = ".c") {
  skip_unless_compiler()
  if (is.null(made[[name]])) {
    folder <- withr::local_tempdir(.local_envir = testthat::teardown_env())
    made[[name]] <- compile_in(folder, code, paste0(name, extension))
  }
  made[[name]]
}

compile_in <- function(folder, code, file) {
  writeLines(code, file.path(folder, file))
  include <- system.file("include", package = "gibbsite")
  withr::local_envvar(
    PKG_CPPFLAGS = paste0("-I", shQuote(include)),
    PKG_CFLAGS = "-Wall -Wextra -Wpedantic -Werror"
  )
  log <- withr::with_dir(folder, system2(
    r_program("R"), c("CMD", "SHLIB", file), stdout = TRUE, stderr = TRUE
  ))
  dll <- file.path(
    folder, paste0(tools::file_path_sans_ext(file), .Platform$dynlib.ext)
  )
  if (!file.exists(dll)) {
    stop("The example was not compiled:\n", paste(log, collapse = "\n"))
  }
  withr::defer(
    try(dyn.unload(normalizePath(dll, mustWork = FALSE)), silent = TRUE),
    envir = testthat::teardown_env()
  )
  dll
}

example_source <- function(name = "logistic") {
  readLines(system.file("examples", paste0(name, ".c"), package = "gibbsite"))
}

# Where the last segment ended depends on the machine's speed.
without_segments <- function(lines) {
  sub("after sweep [0-9]+", "after sweep ...", lines)
}

logistic_data <- local({
  data <- list(
    x = cbind(1, drop(scale(datasets::mtcars$wt))), y = datasets::mtcars$am,
    sd = 10
  )
  function() data
})

logistic_in_r <- function(w, data = logistic_data()) {
  eta <- drop(data$x %*% w)
  sum(data$y * eta - log1p(exp(eta))) - sum(w^2) / (2 * data$sd^2)
}

test_that("the example is compiled, and gives the values of an R function", {
  skip_long()
  dll <- compiled(example_source(), "logistic")
  f <- native_density(dll = dll, symbol = "logistic", data = logistic_data())
  withr::local_seed(1)
  for (i in 1:20) {
    w <- rnorm(2, sd = 3)
    expect_equal(f(w), logistic_in_r(w), tolerance = 1e-13)
  }
  expect_identical(f(c(1L, 2L)), f(c(1, 2)))
  expect_equal(f(c(1000, 0)), logistic_data() |>
    with(sum(y * 1000) - 32 * 1000 - 1000^2 / 200))
  # wrong data are NaN, not a crash
  expect_identical(f(1), NaN)
  expect_identical(native_density(dll = dll, symbol = "logistic")(1), NaN)
  # a path in the place of a package's name, and what dyn.load() returns
  expect_identical(
    native_density(dll, "logistic", logistic_data())(c(1, 2)), f(c(1, 2))
  )
  expect_identical(
    native_density(dll = dyn.load(dll), symbol = "logistic",
                   data = logistic_data())(c(1, 2)),
    f(c(1, 2))
  )
  expect_identical(
    capture.output(print(f)),
    c(paste0("Compiled log density logistic() of logistic",
             .Platform$dynlib.ext),
      "  data: x, a 32 x 2 matrix; y, 32 numbers; sd, one number")
  )
  expect_error(f("a"), class = "gibbsite_error_argument")
})

test_that("a chain on compiled code is the chain on the same R function", {
  skip_long()
  dll <- compiled(example_source(), "logistic")
  f <- native_density(dll = dll, symbol = "logistic", data = logistic_data())
  run <- function(density, ...) {
    quietly(mh_sample(
      density, c(a = 0, b = 0), draws = 20, burnin = 20, chains = 2, seed = 1,
      progress = FALSE, ...
    ))
  }
  fit <- run(f)
  expect_equal(as.matrix(fit), as.matrix(run(logistic_in_r)))
  withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
    expect_true(identical_fit(run(f), fit))
  })
  expect_true(identical_fit(run(f, cores = 2), fit))
  part <- quietly(mh_sample(
    f, c(a = 0, b = 0), draws = 5, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  expect_true(identical_fit(longer(part, 15), fit))
})

logistic_slope_in_r <- function(w, data = logistic_data()) {
  p <- stats::plogis(drop(data$x %*% w))
  drop(crossprod(data$x, data$y - p)) - w / data$sd^2
}

test_that("a compiled gradient makes the chain of the same R gradient", {
  skip_unless_extended()
  dll <- compiled(example_source(), "logistic")
  f <- native_density(
    dll = dll, symbol = "logistic", data = logistic_data(),
    gradient = "logistic_gradient"
  )
  expect_match(capture.output(print(f)), "gradient: logistic_gradient()",
               fixed = TRUE, all = FALSE)
  run <- function(density, draws = 30, ...) {
    quietly(mh_sample(
      density, c(a = 0, b = 0), draws = draws, burnin = 70, chains = 2,
      seed = 1, progress = FALSE, ...
    ))
  }
  fit <- run(f)
  expect_match(capture.output(print(fit)), "no-U-turn", all = FALSE)
  # rounding grows along a chain: the first sweeps alone are compared
  first <- function(density, ...) {
    as.matrix(quietly(mh_sample(
      density, c(a = 0, b = 0), draws = 10, burnin = 0, chains = 1, seed = 1,
      progress = FALSE, ...
    )))
  }
  expect_equal(
    first(f), first(logistic_in_r, gradient = logistic_slope_in_r),
    tolerance = 1e-6
  )
  withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
    expect_true(identical_fit(run(f), fit))
  })
  expect_true(identical_fit(run(f, cores = 2), fit))
  expect_true(identical_fit(longer(run(f, 12), 18), fit))
  # the Langevin proposal takes it too
  expect_equal(
    first(f, proposal = langevin()),
    first(logistic_in_r, proposal = langevin(gradient = logistic_slope_in_r)),
    tolerance = 1e-6
  )
  pointers <- getNativeSymbolInfo
  by_pointer <- native_density(
    pointer = pointers("logistic", dyn.load(dll)), data = logistic_data(),
    gradient = pointers("logistic_gradient", dyn.load(dll))
  )
  expect_identical(as.matrix(run(by_pointer)), as.matrix(fit))
  expect_error(
    native_density(dll = dll, symbol = "logistic", gradient = "nothing"),
    class = "gibbsite_error_argument"
  )
})

test_that("a compiled gradient that is wrong, or of another density, is told", {
  skip_long()
  dll <- compiled(c(
    "double f(const double *x, int d, void *data) {",
    "  (void)d, (void)data;",
    "  return -0.5 * x[0] * x[0];",
    "}",
    "double wrong(const double *x, int d, void *data, double *gradient) {",
    "  (void)d, (void)data;",
    "  gradient[0] = x[0];",
    "  return -0.5 * x[0] * x[0];",
    "}",
    "double other(const double *x, int d, void *data, double *gradient) {",
    "  (void)d, (void)data;",
    "  gradient[0] = -x[0];",
    "  return -x[0] * x[0];",
    "}"
  ), "bowls")
  run <- function(gradient) {
    mh_sample(native_density(dll = dll, symbol = "f", gradient = gradient), 0,
      inits = list(1, 2), chains = 2, draws = 10, burnin = 10, seed = 1,
      progress = FALSE
    )
  }
  expect_error(run("wrong"), "by differences of the log density",
               class = "gibbsite_error")
  expect_error(run("other"), "returns", class = "gibbsite_error")
})

test_that("compiled code is found again in other sessions", {
  skip_unless_extended()
  skip_unless_processes()
  dll <- compiled(example_source(), "logistic")
  f <- native_density(dll = dll, symbol = "logistic", data = logistic_data())
  run <- function(draws) {
    quietly(mh_sample(
      f, c(a = 0, b = 0), draws = draws, burnin = 100, chains = 2, seed = 1,
      progress = FALSE
    ))
  }
  old <- future::plan(future::multisession, workers = 2)
  fit <- run(50)
  future::plan(old)
  expect_true(identical_fit(run(50), fit))

  folder <- withr::local_tempdir()
  saveRDS(run(20), file.path(folder, "fit.rds"))
  saveRDS(f, file.path(folder, "density.rds"))
  child <- start_child(folder = folder, quote({
    density <- readRDS("density.rds")
    stopifnot(!"logistic" %in% names(getLoadedDLLs()))
    saveRDS(density(c(1, 2)), "value.rds")
    saveRDS(longer(readRDS("fit.rds"), 30), "more.rds")
  }))
  expect_true(identical_fit(result_of(child, "more"), fit))
  expect_identical(result_of(child, "value"), f(c(1, 2)))
  # the data are there once
  expect_lt(
    length(serialize(f, NULL)),
    1.2 * length(serialize(logistic_data(), NULL)) + 1500
  )
})

test_that("where the file is gone, the chain says so", {
  folder <- withr::local_tempdir()
  dll <- file.path(folder, paste0("gone", .Platform$dynlib.ext))
  file.copy(compiled(example_source(), "logistic"), dll)
  f <- native_density(dll = dll, symbol = "logistic", data = logistic_data())
  dyn.unload(normalizePath(dll))
  unlink(dll)
  expect_error(f(c(1, 2)), class = "gibbsite_error_native")
  expect_error(f(c(1, 2)), class = "gibbsite_error_state")
})

test_that("vectors of data arrive with names, lengths and dimensions", {
  skip_long()
  dll <- compiled(c(
    "#include <gibbsite.h>",
    "double told(const double *x, int d, void *data) {",
    "  const gibbsite_data *all = data;",
    "  if (!all) return -1.0;",
    "  if (x[0] < 0) return (double)all->count;",
    "  const gibbsite_vector *v = &all->vector[(int)x[0]];",
    "  switch ((int)x[1]) {",
    "  case 0: return (double)v->length;",
    "  case 1: return (double)v->rows;",
    "  case 2: return (double)v->columns;",
    "  case 3: return gibbsite_find(data, \"third\") == v;",
    "  case 4: return gibbsite_find(data, \"none\") != NULL;",
    "  default: return d == 3 ? v->x[(int)x[2]] : -2.0;",
    "  }",
    "}"
  ), "told")
  data <- list(
    one = 7, `a b` = 1:4, third = matrix(1:6 + 0.5, 2),
    fourth = array(1:24, 2:4), fifth = c(TRUE, FALSE), sixth = numeric()
  )
  f <- native_density(dll = dll, symbol = "told", data = data)
  expect_identical(f(-1), 6)
  sizes <- t(vapply(0:5, function(i) {
    c(f(c(i, 0)), f(c(i, 1)), f(c(i, 2)))
  }, numeric(3)))
  expect_identical(sizes, rbind(
    c(1, 1, 1), c(4, 4, 1), c(6, 2, 3), c(24, 2, 12), c(2, 2, 1), c(0, 0, 0)
  ))
  expect_identical(vapply(0:5, function(i) f(c(i, 3)), 0), c(0, 0, 1, 0, 0, 0))
  expect_identical(f(c(0, 4)), 0)
  for (i in seq_len(5)) {
    values <- vapply(seq_along(data[[i]]), function(j) {
      f(c(i - 1, 5, j - 1))
    }, 0)
    expect_identical(values, as.double(data[[i]]))
  }
  expect_identical(native_density(dll = dll, symbol = "told")(c(0, 0)), -1)
  alone <- native_density(dll = dll, symbol = "told", data = c(3, 4))
  expect_identical(alone(c(0, 0)), 2)
})

test_that("the header serves C++ as well", {
  skip_unless_compiler()
  cxx <- r_config("CXX")
  skip_if(is.null(cxx) || !nzchar(Sys.which(strsplit(cxx, " ")[[1]][1])),
          "There is no C++ compiler.")
  dll <- compiled(c(
    "#include <gibbsite.h>",
    "extern \"C\" double f(const double *x, int d, void *data) {",
    "  return gibbsite_find(data, \"a\")->x[0] * x[0] + d;",
    "}"
  ), "plus", ".cpp")
  f <- native_density(dll = dll, symbol = "f", data = list(a = 3))
  expect_identical(f(2), 7)
})

test_that("NaN, infinities and slow code in a chain are as of an R function", {
  skip_long()
  dll <- compiled(c(
    "#include <gibbsite.h>", "#include <math.h>",
    "double odd(const double *x, int d, void *data) {",
    "  const double what = gibbsite_find(data, \"x\")->x[0];",
    "  (void)d;",
    "  return x[0] < 2.0 ? -x[0] * x[0] / 2.0 : isinf(what) ? what : NAN;",
    "}"
  ), "odd")
  run <- function(what, ...) {
    quietly(mh_sample(
      native_density(dll = dll, symbol = "odd", data = what), c(a = 0),
      random_walk(2), draws = 100, burnin = 20, chains = 1, seed = 1,
      progress = FALSE, ...
    ))
  }
  expect_lt(max(as.matrix(run(-Inf))[, "a"]), 2)
  expect_gibbsite_error({
    run(Inf)
    run(0)
  }, transform = without_segments)
})

test_that("an external pointer is of this process, and can be given again", {
  skip_long()
  dll <- compiled(example_source(), "logistic")
  dyn.load(dll)
  symbol <- getNativeSymbolInfo("logistic", getLoadedDLLs()[["logistic"]])
  f <- native_density(pointer = symbol, data = logistic_data())
  expect_identical(
    native_density(pointer = symbol$address, data = logistic_data())(c(1, 2)),
    f(c(1, 2))
  )
  run <- function(draws) {
    quietly(mh_sample(
      f, c(a = 0, b = 0), draws = draws, burnin = 100, chains = 2, seed = 1,
      progress = FALSE
    ))
  }
  whole <- run(50)
  lost <- unserialize(serialize(run(20), NULL))
  expect_gibbsite_error(
    extend(lost, 30, progress = FALSE),
    transform = without_segments
  )
  expect_identical(
    as.matrix(longer(lost, 30, log_density = f)), as.matrix(whole)
  )
  expect_error(
    longer(lost, 30, log_density = native_density(
      pointer = symbol, data = list(x = 1)
    )),
    class = "gibbsite_error_argument"
  )
})

test_that("what is registered by a package is found, else what it exports", {
  # stats registers nothing for others; its routines are found all the same
  expect_error(
    native_density("stats", "no_such_routine"), class = "gibbsite_error_native"
  )
  f <- native_density("stats", "optimhess")
  expect_type(resolve_native(attr(f, "native"), "state", NULL), "externalptr")
})

test_that("arguments are checked", {
  skip_long()
  expect_gibbsite_error({
    native_density()
    native_density("stats", dll = "f.so")
    native_density("stats")
    native_density("stats", 1)
    native_density("stats", "no_such_routine")
    native_density("nosuchpackage", "f")
    native_density(dll = "nosuchfile.so", symbol = "f")
    native_density(pointer = 1)
    native_density(pointer = structure("a", class = "NativeSymbolInfo"))
    native_density(dll = structure("a", class = "DLLInfo"), symbol = "f")
    native_density(pointer = quote(a), symbol = "f")
    native_density("stats", "optimhess", data = "a")
    native_density("stats", "optimhess", data = list(1))
    native_density("stats", "optimhess", data = list(a = 1, a = 2))
    native_density("stats", "optimhess", data = list(a = "b"))
    native_density("stats", "optimhess", data = list(a = c(1, NA)))
    native_density("stats", "optimhess", data = data.frame(a = 1))
    native_density("stats", "optimhess", data = list(a = factor("b")))
  }, transform = function(lines) {
    gsub("in package .*$", "in package ...", lines)
  })
})
