# The native routines: what is registered, and that no argument crashes them.

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
  expect_identical(routines()[["C_bmf_linear"]], 6L)
  expect_identical(routines()[["C_bmf_fold_in"]], 6L)
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
  helper <- normalizePath(test_path("helper-registration.R"))
  child <- start_child(bquote({
    source(.(helper))
    saveRDS(call_wrongly("log", .(fast_or(4, 1))), "fit.rds")
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
