# Each check as a user's function sees it: the errors name `f()`.
count <- function(f = check_count, ...) {
  function(k) f(k, ..., arg = "k", call = rlang::current_env())
}

# ---- Conditions ----

test_that("conditions carry their classes, fields and the user's call", {
  f <- function() abort_argument("No.", class = "missing", row = 3)
  e <- expect_error(f(), class = "gibbsite_error_missing")
  expect_s3_class(e, c(
    "gibbsite_error_missing", "gibbsite_error_argument", "gibbsite_error",
    "rlang_error", "error", "condition"
  ), exact = TRUE)
  expect_equal(e$row, 3)
  expect_equal(conditionCall(e), quote(f()))

  numeric <- function() abort_numeric("No.")
  expect_error(numeric(), class = "gibbsite_error_numeric")
  state <- function() abort_state("No.", class = "gibbsite_error_generator")
  e <- expect_error(state(), class = "gibbsite_error_state")
  expect_equal(
    class(e)[1:3],
    c("gibbsite_error_generator", "gibbsite_error_state", "gibbsite_error")
  )
})

test_that("a message is filled in where it was written, braces and all", {
  f <- function() {
    given <- "{a} <b> {.val c}"
    abort_argument(c("Not {given}.", i = "Nor {quoted(given)}."))
  }
  expect_gibbsite_error(f())
})

test_that("warnings and messages have classes of their own", {
  n <- 2
  expect_warning(
    warn_gibbsite("{n} chain{?s}", class = "convergence"), "2 chains",
    class = "gibbsite_warning_convergence"
  )
  expect_warning(warn_gibbsite("x", class = "any"), class = "gibbsite_warning")
  expect_message(
    inform_gibbsite("x", class = "conversion"),
    class = "gibbsite_message_conversion"
  )
  expect_message(inform_gibbsite("x", "any"), class = "gibbsite_message")
})

test_that("values are described in words", {
  expect_equal(describe(NULL), "NULL")
  expect_equal(describe(NA), "NA")
  expect_equal(describe(NA_character_), "NA")
  expect_equal(describe(NA_integer_), "NA")
  expect_equal(describe(NaN), "NaN")
  expect_equal(describe(-Inf), "-Inf")
  expect_equal(describe(0.1), "0.1")
  expect_equal(describe(1 + 1e-9), "1.000000001")
  expect_equal(describe(1e5), "100000")
  expect_equal(describe(1e300), "1e+300")
  expect_equal(describe(3L), "3")
  expect_equal(describe("a\n\"b\""), "the string \"a\\n\\\"b\\\"\"")
  expect_equal(
    describe(strrep("a", 50)),
    paste0("the string \"", strrep("a", 37), "...\"")
  )
  expect_equal(describe(TRUE), "TRUE")
  expect_equal(describe(1i), "the complex value 0+1i")
  expect_equal(describe(as.raw(1)), "the raw value 01")
  expect_equal(describe(1:3), "a numeric vector of length 3")
  expect_equal(describe(integer()), "an empty numeric vector")
  expect_equal(describe(letters), "a character vector of length 26")
  expect_equal(describe(list()), "an empty list")
  expect_equal(describe(list(1)), "a list")
  expect_equal(describe(matrix(TRUE, 2, 3)), "a 2 x 3 logical matrix")
  expect_equal(describe(array(0, 1)), "a numeric array of 1 dimension")
  expect_equal(describe(array(0, rep(1, 3))), "a numeric array of 3 dimensions")
  expect_equal(describe(faithful), "a data frame")
  expect_equal(describe(factor(1)), "a factor")
  expect_equal(describe(y ~ x), "a formula")
  expect_equal(describe(Sys.Date()), "an object of class \"Date\"")
  expect_equal(describe(sum), "a function")
  expect_equal(describe(globalenv()), "an environment")
  expect_equal(describe(quote(x)), "an unevaluated expression")
  expect_equal(describe(quote(x + 1)), "an unevaluated expression")
})

test_that("counts are said in words, as cli says them", {
  for (n in list(0L, 1L, 2L, 999L, 100000L, 123456L, .Machine$integer.max)) {
    expect_identical(
      counted(n, "chain"), c(cli::pluralize("{n} chain{?s}"))
    )
  }
})

test_that("ranges are said in words", {
  expect_equal(range_words(-Inf, Inf), "")
  expect_equal(range_words(0, Inf), " of at least 0")
  expect_equal(range_words(0, Inf, TRUE), " above 0")
  expect_equal(range_words(-Inf, 1), " of at most 1")
  expect_equal(range_words(-Inf, 1, FALSE, TRUE), " below 1")
  expect_equal(range_words(0, 1), " between 0 and 1")
  expect_equal(range_words(0, 1, TRUE), " above 0 and at most 1")
  expect_equal(range_words(0, 1, FALSE, TRUE), " of at least 0 and below 1")
  expect_equal(range_words(0, 1, TRUE, TRUE), " above 0 and below 1")
  expect_equal(or_words(1), "1")
  expect_equal(or_words(1:3), "1, 2 or 3")
  expect_equal(and_words(c("a", "b")), "a and b")
})

# ---- One value ----

test_that("a count is a whole number of any numeric type", {
  expect_identical(check_count(1e4), 10000L)
  expect_identical(check_count(3L), 3L)
  expect_identical(check_count(c(k = 2)), 2L)
  expect_identical(check_count(matrix(2)), 2L)
  expect_identical(check_count(sqrt(2)^2), 2L)
  expect_identical(check_count(-3, min = -5), -3L)
  expect_identical(check_count(2^31), 2^31)
  expect_identical(check_count(.Machine$integer.max), .Machine$integer.max)
  expect_null(check_count(NULL, null_ok = TRUE))
})

test_that("what is no count is said in words", {
  skip_long()
  k <- count(max = 272, max_why = "rows of `x`")
  expect_gibbsite_error({
    k(500)
    k(0)
    k(1.5)
    k(NA)
    k(NaN)
    k(Inf)
    k(NULL)
    k(TRUE)
    k("a")
    k("{a}")
    k(factor(2))
    k(Sys.Date)
    k(as.Date("2024-01-01"))
    k(c(1, 2))
    k(integer())
    k(list(1))
    k(faithful)
    count(min = 0)(-1)
    count(null_ok = TRUE)("a")
  })
})

test_that("the argument's name and the call are found without being given", {
  gibbs <- function(components) check_count(components)
  expect_gibbsite_error(gibbs(0))
})

test_that("numbers are checked against open and closed ends", {
  skip_long()
  expect_identical(check_number(1L), 1)
  expect_identical(check_number(c(a = 2.5)), 2.5)
  expect_identical(check_number(0, lower = 0), 0)
  expect_identical(check_number(Inf, infinite_ok = TRUE), Inf)
  expect_null(check_number(NULL, null_ok = TRUE))
  number <- function(...) count(check_number, ...)
  expect_gibbsite_error({
    number()("a")
    number()(NA_real_)
    number()(Inf)
    number()(c(1, 2))
    number()(factor(1))
    number(lower = 0, lower_open = TRUE)(0)
    number(lower = 0, upper = 1)(1.5)
    number(lower = 0, upper = 1, upper_open = TRUE)(1)
    number(lower = 0, infinite_ok = TRUE)(-Inf)
    number(null_ok = TRUE)(TRUE)
  })
})

test_that("flags and strings are single values", {
  skip_long()
  expect_true(check_flag(TRUE))
  expect_false(check_flag(c(a = FALSE)))
  expect_identical(check_string("a"), "a")
  expect_null(check_string(NULL, null_ok = TRUE))
  flag <- count(check_flag)
  string <- count(check_string)
  expect_gibbsite_error({
    flag(NA)
    flag(1)
    flag("TRUE")
    flag(c(TRUE, FALSE))
    flag(NULL)
    string(NA_character_)
    string("")
    string(1)
    string(letters)
    string(factor("a"))
    count(check_string, null_ok = TRUE)(1)
  })
})

test_that("a choice is made as match.arg() makes it", {
  skip_long()
  types <- c("cluster", "prob", "density")
  f <- function(type = c("cluster", "prob", "density")) {
    check_choice(type, types)
  }
  expect_equal(f(), "cluster")
  expect_equal(f(NULL), "cluster")
  expect_equal(f("prob"), "prob")
  expect_equal(f("dens"), "density")
  expect_gibbsite_error({
    f("Prob")
    f("p{")
    f("")
    f(1)
    f(NA_character_)
    f(c("prob", "density"))
  })
  alike <- function(type) check_choice(type, c("full", "full_diagonal", "fuse"))
  expect_equal(alike("full"), "full")
  expect_gibbsite_error(alike("fu"))
})

test_that("a subset comes back in the model's order", {
  skip_long()
  f <- function(keep) check_subset(keep, c("pi", "mu", "Sigma"), "blocks")
  expect_equal(f(c("Sigma", "pi")), c("pi", "Sigma"))
  expect_gibbsite_error({
    f(1)
    f(character())
    f(NA_character_)
    f(c("pi", "{beta}", "z"))
    f(c("pi", "mu", "pi"))
  })
})

test_that("an object of a class is asked for by its maker", {
  skip_long()
  prior <- structure(list(), class = "gmm_prior")
  f <- function(prior, ...) check_class(prior, "gmm_prior", "gmm_prior()", ...)
  expect_identical(f(prior), prior)
  expect_null(f(NULL, null_ok = TRUE))
  expect_gibbsite_error({
    f(list())
    f(NULL)
    f(function() NULL)
    f(1, null_ok = TRUE)
  })
})

# ---- Vectors and matrices ----

test_that("numeric vectors have the length that is asked for", {
  skip_long()
  expect_identical(check_numeric_vector(c(a = 1L, b = 2L)), c(a = 1, b = 2))
  expect_identical(check_numeric_vector(2, length = c(1, 3)), 2)
  expect_identical(check_numeric_vector(c(1, Inf), finite = FALSE), c(1, Inf))
  expect_null(check_numeric_vector(NULL, null_ok = TRUE))
  vector <- function(...) count(check_numeric_vector, ...)
  expect_gibbsite_error({
    vector()("a")
    vector()(list(1))
    vector()(numeric())
    vector()(diag(2))
    vector(length = 3)(1:2)
    vector(length = c(1, 3), length_why = "columns of `x`")(1:2)
    vector()(c(1, NA))
    vector()(c(1, NaN))
    vector()(c(Inf, 1))
    vector(finite = FALSE)(c(Inf, NA))
    vector(lower = 0, lower_open = TRUE)(c(1, 2, 0))
    vector(null_ok = TRUE)(TRUE)
  })
})

test_that("covariances are symmetric and positive definite", {
  skip_long()
  s <- matrix(c(2, 1, 1, 2), 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(check_spd_matrix(s, 2), matrix(c(2, 1, 1, 2), 2))
  expect_identical(check_spd_matrix(3L, 1), matrix(3))
  # rounding errors of either half are made one
  noisy <- s + matrix(c(0, 1e-16, 0, 0), 2)
  expect_identical(check_spd_matrix(noisy, 2), t(check_spd_matrix(noisy, 2)))
  tiny <- diag(c(1e-200, 1e-200))
  expect_identical(check_spd_matrix(tiny, 2), tiny)
  spd <- function(...) count(check_spd_matrix, ...)
  expect_gibbsite_error({
    spd(d = 2)("a")
    spd(d = 2)(1)
    spd(d = 1)(-1)
    spd(d = 2, d_why = "columns of `x`")(diag(3))
    spd(d = 3, d_why = "columns of `x`")(1:3)
    spd(d = 2)(matrix(c(1, NA, NA, 1), 2))
    spd(d = 2)(matrix(c(1, 0.3, 0.5, 1), 2))
    spd(d = 2)(diag(c(1, -1)))
    spd(d = 2)(matrix(0, 2, 2))
    spd(d = 2)(faithful)
  })
  # zero up to rounding, whose value differs between machines
  expect_error(spd(d = 2)(matrix(1, 2, 2)), "positive definite")
  expect_error(spd(d = 2)(diag(c(1, 1e-17))), "positive definite")
})

# ---- Data ----

data_matrix <- function(x, ...) check_data_matrix(x, ...)

test_that("all tabular forms of the same data give the same matrix", {
  expected <- as.matrix(faithful)
  rownames(expected) <- NULL
  expect_identical(data_matrix(faithful), expected)
  expect_identical(data_matrix(expected), expected)
  table <- structure(faithful, class = c("data.table", "data.frame"))
  expect_identical(data_matrix(table), expected)
  skip_if_not_installed("tibble")
  expect_identical(data_matrix(tibble::as_tibble(faithful)), expected)
})

test_that("row and column names are kept, and columns named where needed", {
  expect_identical(data_matrix(mtcars), as.matrix(mtcars))
  expect_identical(
    rownames(data_matrix(faithful[c(3, 7), ])), c("3", "7")
  )
  x <- matrix(1:4, 2)
  expect_identical(
    data_matrix(x),
    matrix(as.double(1:4), 2, dimnames = list(NULL, c("V1", "V2")))
  )
  colnames(x) <- c("a", NA)
  expect_identical(colnames(data_matrix(x)), c("a", "V2"))
  expect_identical(
    data_matrix(c(p = 1, q = 2)),
    matrix(c(1, 2), dimnames = list(c("p", "q"), "x"))
  )
  expect_identical(data_matrix(array(1:2)), matrix(c(1, 2),
    dimnames = list(NULL, "x")
  ))
  expect_identical(dim(data_matrix(faithful[1, 1, drop = FALSE])), c(1L, 1L))
})

test_that("nothing is lost without a word", {
  skip_long()
  x <- data.frame(a = 1:2, stringsAsFactors = FALSE)
  x$date <- as.Date("1970-01-02") + 0:1
  x$time <- as.POSIXct(c(10, 20), origin = "1970-01-01", tz = "UTC")
  x$local <- as.POSIXlt(x$time)
  x$wait <- as.difftime(c(1, 2), units = "hours")
  x$length <- structure(c(1, 2), units = "m", class = "units")
  x$answer <- structure(c(1, 2),
    labels = c(yes = 1), class = c("haven_labelled", "vctrs_vctr", "double")
  )
  x$plain <- I(c(5, 6))
  x$odd <- structure(c(7, 8), class = "odd")
  expect_gibbsite_condition(
    y <- data_matrix(x), "gibbsite_message_conversion"
  )
  expect_identical(unname(y), cbind(
    c(1, 2), c(1, 2), c(10, 20), c(10, 20), c(1, 2), c(1, 2), c(1, 2),
    c(5, 6), c(7, 8)
  ))
  expect_message(data_matrix(x), class = "gibbsite_message_conversion")
  expect_gibbsite_condition(
    y <- data_matrix(EuStockMarkets), "gibbsite_message_conversion"
  )
  expect_identical(
    unclass(y), matrix(as.double(EuStockMarkets), ncol = 4,
      dimnames = dimnames(EuStockMarkets)
    )
  )
  twice <- matrix(1:6, 2, dimnames = list(NULL, c("a", "b", "a")))
  expect_gibbsite_condition(
    y <- data_matrix(twice), "gibbsite_message_names"
  )
  expect_identical(colnames(y), c("a", "b", "a.1"))
  colnames(twice) <- NULL
  twice <- cbind(twice, twice)
  colnames(twice) <- rep(c("a", "b", "c"), 2)
  expect_gibbsite_condition(
    y <- data_matrix(twice[, -6]), "gibbsite_message_names"
  )
})

test_that("what is no data is refused, with the columns at fault", {
  skip_long()
  bad <- data.frame(n = 1:2, g = factor(1:2), t = c("a", "b"))
  bad$l <- list(1, 2)
  bad$m <- diag(2)
  bad$flag <- c(TRUE, FALSE)
  bad$void <- NA
  bad$i <- c(1i, 2i)
  bad$big <- structure(c(1, 2), class = "integer64")
  empty_columns <- data.frame(row.names = 1:3)
  expect_gibbsite_error({
    data_matrix(bad[c("n", "g")])
    data_matrix(bad[c("n", "l", "m", "void", "t")])
    data_matrix(bad[c("i", "big")])
    data_matrix(bad)
    data_matrix(faithful[0, ])
    data_matrix(empty_columns)
    data_matrix(matrix(0, 3, 0))
    data_matrix(numeric())
    data_matrix(NULL)
    data_matrix("a")
    data_matrix(list(1, 2))
    data_matrix(factor(1:3))
    data_matrix(c(TRUE, FALSE))
    data_matrix(matrix("a", 2, 2))
    data_matrix(array(0, c(2, 2, 2)))
    data_matrix(as.Date("2024-01-01"))
    data_matrix(structure(1, class = "integer64"))
    data_matrix(y ~ x)
    data_matrix(sum)
    data_matrix(1i)
  })
})

test_that("a sparse matrix is taken with its zeros", {
  skip_if_not_installed("Matrix")
  sparse <- Matrix::sparseMatrix(
    1:2, 1:2, x = c(1, 2), dimnames = list(NULL, c("a", "b"))
  )
  expect_identical(data_matrix(sparse), data_matrix(as.matrix(sparse)))
})

test_that("the first value that is not finite is named", {
  skip_long()
  x <- as.matrix(mtcars)
  x["Datsun 710", "cyl"] <- NaN
  x["Mazda RX4", "wt"] <- Inf
  x["Mazda RX4", "carb"] <- NA
  one <- data_matrix(faithful)
  one[3, 2] <- -Inf
  expect_gibbsite_error({
    data_matrix(x)
    data_matrix(one)
    data_matrix(c(1, NaN))
  })
  e <- expect_error(data_matrix(x), class = "gibbsite_error_infinite")
  expect_equal(c(e$row, e$column), c(1, 6))
})

test_that("missing values are an error, or leave their rows out aloud", {
  skip_long()
  x <- airquality[1:6, c("Ozone", "Solar.R", "Wind")]
  rownames(x) <- letters[1:6]
  expect_gibbsite_error(data_matrix(x))
  expect_gibbsite_error(data_matrix(c(1, NA, 2)))
  expect_gibbsite_condition(
    y <- data_matrix(x, na_action = "omit"), "gibbsite_message_omitted"
  )
  expect_identical(
    structure(y, na.action = NULL), as.matrix(x)[1:4, ]
  )
  expect_identical(attr(y, "na.action"), attr(stats::na.omit(x), "na.action"))
  one <- data_matrix(faithful)
  one[2, 1] <- NA
  expect_gibbsite_condition(
    y <- data_matrix(one, na_action = "omit"), "gibbsite_message_omitted"
  )
  expect_gibbsite_error({
    data_matrix(matrix(NA, 2, 2))
    data_matrix(c(NA, NA_real_), na_action = "omit")
    data_matrix(c(1, NA), na_action = "drop")
  })
})

# ---- Files ----

test_that("a new directory is one that can be made, or is there", {
  skip_long()
  root <- withr::local_tempdir()
  root <- normalizePath(root)
  path <- function(path) check_new_directory(path)
  expect_equal(path(file.path(root, "new")), file.path(root, "new"))
  expect_false(dir.exists(file.path(root, "new")))
  expect_equal(path(root), root)
  withr::local_dir(root)
  expect_equal(path("new"), file.path(root, "new"))
  file.create("file")
  expect_gibbsite_error({
    path(1)
    path("file")
    path("no/such")
  })
})

test_that("a directory that cannot be written to is refused", {
  skip_on_os("windows")
  skip_if(Sys.info()[["effective_user"]] == "root", "root writes anywhere")
  root <- withr::local_tempdir()
  withr::defer(Sys.chmod(root, "700"))
  Sys.chmod(root, "500")
  f <- function(path) check_new_directory(path)
  expect_error(f(file.path(root, "new")), "permission",
    class = "gibbsite_error_argument"
  )
})
