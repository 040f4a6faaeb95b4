# The hash of an object: the published algorithm, the bytes of an object, and
# digests that are the same for ever.

as_hex <- function(...) raw_to_hex(checksum(c(...)))
digits <- function(x) sub("^siphash:", "", hash(x))
whole <- function(x) {
  c(writeBin(as.integer(x), raw(), endian = "little"), raw(4))
}
letter <- charToRaw
text <- function(x) c(as.raw(1), whole(nchar(x, "bytes")), charToRaw(x))
none <- whole(0)

test_that("checksums are those of the published test vectors", {
  # vectors_sip128 of the authors' reference code; all of them are in tests/c
  expect_identical(as_hex(raw()), "a3817f04ba25a8e66df67214c7550293")
  expect_identical(as_hex(as.raw(0:14)), "5493e99933b0a8117e08ec0f97cfc3d9")
  expect_identical(as_hex(as.raw(0:62)), "5150d1772f50834a503e069a973fbd7c")
})

test_that("the bytes of an object are those that the definition says", {
  expect_identical(digits(NULL), as_hex(letter("N"), none, none))
  expect_identical(
    digits(c(TRUE, FALSE, NA)),
    as_hex(letter("l"), whole(3), as.raw(c(1, 0, 2)), none)
  )
  expect_identical(
    digits(c(1L, -1L, NA)), as_hex(
      letter("i"), whole(3), as.raw(c(1, 0, 0, 0)), as.raw(rep(255, 4)),
      as.raw(c(0, 0, 0, 128)), none
    )
  )
  one <- as.raw(c(0, 0, 0, 0, 0, 0, 240, 63))
  nan <- as.raw(c(0, 0, 0, 0, 0, 0, 248, 127))
  na <- as.raw(c(162, 7, 0, 0, 0, 0, 240, 127))
  expect_identical(
    digits(c(1, -0, NaN, NA)),
    as_hex(letter("d"), whole(4), one, raw(8), nan, na, none)
  )
  expect_identical(
    digits(complex(real = 1, imaginary = -0)),
    as_hex(letter("c"), whole(1), one, raw(8), none)
  )
  expect_identical(
    digits(as.raw(1:3)), as_hex(letter("r"), whole(3), as.raw(1:3), none)
  )
  expect_identical(
    digits(c("a", "", NA, "\u00e9")), as_hex(
      letter("s"), whole(4), text("a"), text(""), raw(9),
      as.raw(1), whole(2), as.raw(c(0xc3, 0xa9)), none
    )
  )
  # attributes in the order of their names
  x <- structure(1L, unit = NULL, dim = 1L, b = TRUE)
  expect_identical(
    digits(x), as_hex(
      letter("i"), whole(1), as.raw(c(1, 0, 0, 0)), whole(2),
      text("b"), letter("l"), whole(1), as.raw(1), none,
      text("dim"), letter("i"), whole(1), as.raw(c(1, 0, 0, 0)), none
    )
  )
  name <- function(x) c(letter("n"), whole(1), text(x), none)
  sum <- c(letter("C"), whole(3), name("+"), name("a"), name("b"), none)
  expect_identical(digits(quote(a + b)), as_hex(sum))
  missing <- c(
    letter("P"), whole(2), name(""), name(""), whole(1), text("names"),
    letter("s"), whole(2), text("a"), text("b"), none
  )
  expect_identical(
    digits(function(a, b) a + b), as_hex(letter("f"), whole(2), missing, sum,
                                         none)
  )
  expect_identical(
    digits(list(NULL, globalenv())), as_hex(
      letter("L"), whole(2), letter("N"), none, none,
      letter("e"), whole(1), text("R_GlobalEnv"), none
    )
  )
})

# A value of each type. No value depends on the session.
constants <- function() {
  own <- new.env()
  assign("b", 1:2, own)
  assign("a", own, own)
  list(
    null = NULL, logical = c(TRUE, FALSE, NA), integer = c(1:3, NA),
    double = c(0, 1.5, -Inf, NA, NaN, .Machine$double.xmin, 1e-310),
    complex = complex(real = c(1, NA), imaginary = c(-2, 0)),
    character = c("a", "", NA, "\u00e9\u4e2d"), raw = as.raw(0:255),
    named = c(a = 1, b = 2),
    matrix = matrix(1:6, 2, dimnames = list(NULL, 1:3)),
    factor = factor(c("x", "y", "x")), date = as.Date("2020-02-29"),
    frame = data.frame(x = 1:3, y = c("a", "b", NA)),
    list = list(a = 1, list(b = "c", NULL)), pairs = pairlist(a = 1, 2),
    expression = expression(a + 1, b), name = quote(abc),
    call = quote(f(x, y = 2)[[1]]), formula = y ~ x + (1 | g),
    closure = function(x, y = 2, ...) {
      if (x > y) function(z) z^2 else NULL
    },
    special = quote, builtin = sum,
    global = globalenv(), base = baseenv(), empty = emptyenv(),
    package = asNamespace("stats"), environment = own,
    sparse = Matrix::sparseMatrix(i = 1:2, j = 2:1, x = c(1.5, 2))
  )
}

test_that("digests of constants never change", {
  made <- vapply(constants(), hash, "")
  expect_identical(anyDuplicated(made), 0L)
  expect_identical(made, c(
    null = "siphash:364358ba87c27c6be25bb27d41d89843",
    logical = "siphash:04b6387111c715789abe6af3259a1ccb",
    integer = "siphash:7f037c8b7853d7e299c004f2c72ea4cd",
    double = "siphash:28540b7f551e2f7ff0d0191cab2749d1",
    complex = "siphash:4f5e3ebc55131068f4f1c9eac90867fc",
    character = "siphash:19b6de365a40b020debdb3e3544c5513",
    raw = "siphash:319607cbff275defd07d7941e55410e2",
    named = "siphash:3abd35939fde1bd768e9c0d15d86833f",
    matrix = "siphash:fd5c6fd0ba761a0e9bd4a10941c132a0",
    factor = "siphash:272462f2957262f543f4e66be80e6ee3",
    date = "siphash:2dbb3a8b6a252ca5ee8e5fa06fbac3f9",
    frame = "siphash:0dd737ebefc271db5ce00cc1a0ed4e3f",
    list = "siphash:5818318a63d186cca1f664567f40e2e0",
    pairs = "siphash:24742ab7c0cc450be30808fa4ca57813",
    expression = "siphash:37efe38fd5ef110f94fe480532fa39ab",
    name = "siphash:ff42e47b2e8cc29460064d23c8040f1a",
    call = "siphash:dded7db9fe3fff2d4a4466e8094a1844",
    formula = "siphash:d4231f004f5c87f487586b7d16dcbad8",
    closure = "siphash:bccd3835239e9c05a018560ed9fd500f",
    special = "siphash:2b1ad23ea75823993417cd9d00dd3676",
    builtin = "siphash:0037f5debc389c6e7b151b41d96d19d0",
    global = "siphash:d6a66c4fecd5e85844b564815f4c9c54",
    base = "siphash:b65d376f1f731a565d6469e688d4ed68",
    empty = "siphash:8b2a18d009d37222b130e2a2318b4f2a",
    package = "siphash:42e7c5d6af48c56736a6181cdf01dd97",
    environment = "siphash:2088bf0dfee24839913ae771dfaafc8c",
    sparse = "siphash:a48950638196014d1a58336e53dbd156"
  ))
})

test_that("equal values have equal hashes, however R stores them", {
  same <- function(a, b) expect_identical(hash(a), hash(b))
  same(1:3, c(1L, 2L, 3L))
  same(sort(c(3, 1, 2)), c(1, 2, 3))
  same(as.character(1:3), c("1", "2", "3"))
  same(data.frame(a = 1:3), data.frame(a = c(1L, 2L, 3L)))
  same(
    structure(1:6, dim = 2:3, unit = 1:2),
    structure(c(1L, 2L, 3:6), unit = c(1L, 2L), dim = c(2L, 3L))
  )
  same(list(list(1:3), NULL), list(list(c(1L, 2L, 3L)), NULL))
  # R may add to the bits of NA in arithmetic
  same(c(NA, 0, NaN), c(NA_real_ + 0, -0, 0 / 0))
  same(NA_real_, NA_integer_ + 0)
  expect_false(hash(NA_real_) == hash(NaN))
  differ <- list(
    1:3, c(1, 2, 3), c(1L, NA, 3L), c("1", "2", "3"), factor(1:3), NULL,
    list(), list(1:3), matrix(1:3, 1), c(a = 1L, b = 2L, c = 3L), quote(a),
    quote(a + b), 1i, as.raw(1:3), expression(a)
  )
  expect_identical(anyDuplicated(vapply(differ, hash, "")), 0L)
})

test_that("code and environments are known by what they hold", {
  same <- function(a, b) expect_identical(hash(a), hash(b))
  latin <- "\xe9"
  Encoding(latin) <- "latin1"
  same(latin, "\u00e9")
  same(quote(f(a)), as.call(list(as.name("f"), as.name("a"))))
  same(1:3 + 0, c(1, 2, 3))
  frame <- data.frame(a = 1:2)
  attr(frame, "row.names") <- c(1L, 2L)
  same(frame, data.frame(a = 1:2))
  # code: source references, byte code and where it was made
  code <- "function(x, y = {1}) {\n  # a comment\n  function(z) x\n}"
  kept <- eval(parse(text = code, keep.source = TRUE))
  bare <- eval(parse(text = code, keep.source = FALSE), new.env())
  expect_false(is.null(attr(kept, "srcref")))
  same(kept, bare)
  same(compiler::cmpfun(kept), bare)
  same(parse(text = code, keep.source = TRUE), parse(text = code)) |>
    withr::with_options(new = list(keep.source = FALSE))
  formula <- function() y ~ x
  same(formula(), y ~ x)
  # a factorisation that Matrix keeps in the matrix
  m <- Matrix::forceSymmetric(Matrix::Matrix(c(2, 1, 1, 2), 2, sparse = TRUE))
  before <- hash(m)
  invisible(Matrix::Cholesky(m))
  expect_gt(length(m@factors), 0)
  expect_identical(hash(m), before)
  # environments: by what they hold
  one <- list2env(list(a = 1, b = 2), hash = FALSE)
  two <- list2env(list(b = 2, a = 1))
  same(one, two)
  assign("a", 3, two)
  expect_false(hash(one) == hash(two))
  # and whether two are one
  expect_false(hash(list(one, one)) == hash(list(one, list2env(as.list(one)))))
})

test_that("bytes are told from text, and everything else from its like", {
  bytes <- text <- "\u00e9"
  Encoding(bytes) <- "bytes"
  differ <- list(
    text, bytes, "", NA_character_, "NA", character(), list(""), quote(a), "a",
    pairlist("a"), list("a"), expression("a"), quote("a"()),
    function(a) 1, function(b) 1, function(a = 1) 1, function(a) 1L,
    y ~ x, quote(y ~ x), c("ab", "c"), c("a", "bc"), list(1, list(2)),
    list(list(1), 2), TRUE, 1L, 1, 1 + 0i, as.raw(1), NA, NA_integer_, NA_real_,
    NaN, structure(1, a = NULL, b = 1), structure(1, b = 2), matrix(1),
    globalenv(), baseenv(), new.env(), list2env(list(a = 1))
  )
  expect_identical(anyDuplicated(vapply(differ, hash, "")), 0L)
})

test_that("pointers to memory have no value", {
  pointer <- new("externalptr")
  expect_error(hash(list(1, pointer)), "type 'externalptr' has no value")
  # in a user's arguments they count as the same
  expect_identical(
    hash_code(list(1, pointer)), hash_code(list(1, new("externalptr")))
  )
  expect_false(hash_code(list(1, pointer)) == hash_code(list(2, pointer)))
  # of a data.table
  table <- structure(list(x = 1), class = "data.frame", row.names = 1L)
  kept <- structure(table, .internal.selfref = pointer)
  expect_identical(hash(kept), hash(table))
})

test_that("the hash of a function includes the values that it uses", {
  make <- function(y, used = 1, unused = 2) {
    function(x, z = used) {
      inner <- function(w = y) w
      inner() + x
    }
  }
  own <- function(f) hash_functions(f, list(f, list(), closure_values(f)))
  expect_identical(own(make(1)), own(make(1, unused = 3)))
  expect_false(own(make(1)) == own(make(2)))
  expect_false(own(make(1)) == own(make(1, used = 2)))
  # nor does its order on the locale
  pair <- function(a, B) function(x) a + B + x
  expect_named(closure_values(pair(1, 2)), c("B", "a"))
})
