# Every form of counts becomes the same tokens.

small <- function() {
  matrix(
    c(2, 0, 1, 0, 0, 3, 1, 1, 0, 0, 0, 1), 3,
    dimnames = list(c("one", "two", "three"), c("cat", "dog", "emu", "fox"))
  )
}

small_counts <- function() {
  list(
    word = c(1L, 1L, 3L, 3L, 1L, 2L, 2L, 2L, 4L)[c(1:3, 4, 5:9)],
    start = c(0, 3, 4, 9), documents = c("one", "two", "three"),
    terms = c("cat", "dog", "emu", "fox")
  )
}

test_that("tokens are those of the table, document after document", {
  expect_identical(as_counts(small()), small_counts())
})

test_that("every form gives the same tokens", {
  x <- small()
  sparse <- Matrix::Matrix(x, sparse = TRUE)
  triplets <- methods::as(sparse, "TsparseMatrix")
  long <- data.frame(
    document = rownames(x)[row(x)[x > 0]], term = colnames(x)[col(x)[x > 0]],
    count = x[x > 0]
  )
  long$document <- factor(long$document, rownames(x))
  long$term <- factor(long$term, colnames(x))
  tokens <- long[rep(seq_len(nrow(long)), long$count), c("document", "term")]
  slam <- structure(
    list(
      i = row(x)[x > 0], j = col(x)[x > 0], v = x[x > 0], nrow = 3L, ncol = 4L,
      dimnames = list(Docs = rownames(x), Terms = colnames(x))
    ),
    class = c("DocumentTermMatrix", "simple_triplet_matrix")
  )
  integers <- x
  storage.mode(integers) <- "integer"
  forms <- list(
    integers, methods::as(sparse, "generalMatrix"), triplets,
    methods::as(sparse, "RsparseMatrix"), long, tokens, slam,
    methods::as(x, "denseMatrix")
  )
  for (form in forms) {
    expect_identical(as_counts(form), small_counts())
  }
  turned <- structure(
    list(
      i = slam$j, j = slam$i, v = slam$v, nrow = 4L, ncol = 3L,
      dimnames = rev(slam$dimnames)
    ),
    class = c("TermDocumentMatrix", "simple_triplet_matrix")
  )
  expect_gibbsite_condition(
    from_terms <- as_counts(turned, arg = "x"), "gibbsite_message_conversion"
  )
  expect_identical(from_terms, small_counts())
  lists <- lapply(seq_len(3), function(d) {
    there <- which(x[d, ] > 0)
    rbind(there - 1L, as.integer(x[d, there]))
  })
  names(lists) <- rownames(x)
  expect_identical(as_counts(lists, vocabulary = colnames(x)), small_counts())
})

test_that("slam's own form is read", {
  skip_if_not_installed("slam")
  expect_identical(as_counts(slam::as.simple_triplet_matrix(small())),
                   small_counts())
})

test_that("a class below a sparse matrix, such as a dfm, is read", {
  # what quanteda's class is: a dgCMatrix with slots of its own
  made <- methods::setClass(
    "table_of_words", contains = "dgCMatrix", slots = c(meta = "list"),
    where = environment()
  )
  withr::defer(methods::removeClass("table_of_words", where = environment()))
  words <- made(methods::as(
    Matrix::Matrix(small(), sparse = TRUE), "generalMatrix"
  ))
  expect_identical(as_counts(words), small_counts())
})

test_that("entries that are repeated add up, and zeros are none", {
  long <- data.frame(
    document = c("b", "a", "b", "a"), term = c("y", "x", "y", "y"),
    count = c(1, 2, 3, 0)
  )
  expect_identical(
    as_counts(long),
    list(word = c(1L, 1L, 1L, 1L, 2L, 2L), start = c(0, 4, 6),
         documents = c("b", "a"), terms = c("y", "x"))
  )
})

test_that("names are numbers where there are none", {
  counts <- as_counts(unname(small()))
  expect_identical(counts$terms, as.character(1:4))
  expect_identical(counts$documents, as.character(1:3))
  expect_identical(
    as_counts(unname(small()), vocabulary = letters[1:4])$terms, letters[1:4]
  )
})

test_that("empty documents are kept when asked", {
  x <- rbind(small(), four = 0)
  counts <- as_counts(x, empty = "keep")
  expect_identical(counts$start, c(0, 3, 4, 9, 9))
  expect_identical(counts$documents[[4]], "four")
})

test_that("terms of new documents are matched by name", {
  known <- c("fox", "cat", "hen")
  expect_gibbsite_condition(class = "gibbsite_message_terms", {
    counts <- as_counts(small(), empty = "keep", known = known, arg = "newdata")
  })
  expect_identical(counts$terms, known)
  expect_identical(counts$word, c(2L, 2L, 1L, 2L))
  expect_identical(counts$start, c(0, 2, 2, 4))
  bare <- as_counts(unname(small())[, 1:3], empty = "keep", known = known)
  expect_identical(bare$terms, known)
})

test_that("what is no table of counts is an error that says where", {
  skip_long()
  x <- small()
  read <- function(x, ...) as_counts(x, ..., arg = "x", call = NULL)
  half <- x
  half["two", "emu"] <- 1.5
  missing <- x
  missing["one", "fox"] <- NA
  twice <- x
  colnames(twice)[3] <- "cat"
  expect_gibbsite_error({
    read("text")
    read(1:3)
    read(half)
    read(missing)
    read(-x)
    read(Matrix::Matrix(half, sparse = TRUE))
    read(Matrix::Matrix(x > 0, sparse = TRUE))
    read(x > 0)
    read(twice)
    read(rbind(x, four = 0, five = 0))
    read(unname(rbind(x, 0)))
    read(0 * x, empty = "keep")
    read(x[, 0])
    read(x[0, ])
    read(x, vocabulary = letters)
    read(x, vocabulary = 1:4)
    read(x[, 1:2], known = letters)
    read(unname(x), known = letters)
    read(data.frame(doc = 1, term = 2))
    read(data.frame(document = "a", term = NA, count = 1))
    read(data.frame(document = "a", term = "b", count = "1"))
    read(data.frame(document = I(list(1)), term = "b"))
    read(list(1:3))
    read(list(rbind(0:1, 1:2), rbind(-1, 1)))
    read(list(rbind(5, 1)), vocabulary = letters[1:3])
    read(list())
    read(list(rbind(0, 2^31)))
  })
})
