# The last file: what the tests leave behind, and the helpers as a whole.

test_that("no test has left another kind of generator", {
  expect_identical(
    RNGkind(), c("Mersenne-Twister", "Inversion", "Rejection")
  )
})

test_that("no helper overwrites another one's function", {
  files <- dir(test_path("."), "^helper.*[.]R$", full.names = TRUE)
  expect_gt(length(files), 10)
  names <- unlist(lapply(files, function(file) {
    calls <- Filter(function(call) {
      is.call(call) && identical(call[[1]], as.name("<-"))
    }, as.list(parse(file, keep.source = FALSE)))
    unique(vapply(calls, function(call) deparse1(call[[2]]), ""))
  }))
  expect_identical(names[duplicated(names)], character())
  # nor one of the package, which the tests would no longer see
  exported <- getNamespaceExports("gibbsite")
  expect_identical(intersect(names, exported), character())
})

test_that("the helpers of `make trust` call no function of another helper", {
  skip_unless_extended()
  skip_on_cran()
  skip_if_not_installed("codetools")
  # a package of R itself, which need not be declared for one test
  find_globals <- getExportedValue("codetools", "findGlobals")
  own <- new.env(parent = globalenv())
  # tools/trust.R defines it too
  own$`%||%` <- rlang::`%||%`
  files <- trust_helpers(test_path("."))
  expect_true(all(file.exists(files)))
  for (file in files) sys.source(file, own)
  functions <- function(x) {
    if (is.function(x)) list(x) else if (is.list(x)) Filter(is.function, x)
  }
  unknown <- lapply(as.list(own), function(object) {
    lapply(functions(object), function(f) {
      called <- find_globals(f, merge = FALSE)$functions
      there <- vapply(called, exists, NA, environment(f), mode = "function")
      called[!there]
    })
  })
  expect_identical(unique(as.character(unlist(unknown))), character())
})

test_that("every stored text belongs to a file of tests", {
  stored <- dir(test_path("_snaps"), "[.]md$")
  tests <- dir(test_path("."), "^test-.*[.]R$")
  of <- sub("^test-(.*)[.]R$", "\\1.md", tests)
  new <- sub("[.]md$", ".new.md", of)
  expect_identical(setdiff(stored, c(of, new)), character())
})
