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
  skip_long()
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
  skip_long()
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
    read(TRUE)
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
    read(as.data.frame(x))
    read(data.frame(doc = 1, term = 2))
    read(data.frame(doc_id = 1, word = "a", token = "b"))
    read(data.frame(doc_id = 1, word = "a", n = "b"))
    read(data.frame(doc_id = 1, text = I(list("a"))))
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

test_that("more tokens than memory are refused, with the largest count", {
  skip_long()
  x <- small()
  x["two", "emu"] <- 1e9
  beyond <- x
  beyond["one", "dog"] <- 3e9
  expect_gibbsite_error(class = "gibbsite_error_size", {
    gibbs_lda(x, 2)
    gibbs_lda(beyond, 2)
    sim_lda(2, 2, 5, 1e8)
    sim_lda(2, 2, 5, 2e9)
  })
  withr::local_options(gibbsite.max_draws_mb = 1)
  most <- 2^20 %/% 24
  expect_length(as_counts(matrix(most))$word, most)
  expect_gibbsite_error(class = "gibbsite_error_size", {
    gibbs_lda(matrix(most + 1), 2)
  })
})

# ---- texts and tokens --------------------------------------------------------

silently <- function(code) suppressMessages(quietly(code))

texts <- c(
  one = "The cat sat on the cat's mat.", two = "\"Dogs don't!\" (said 2 cats)"
)
words <- list(
  one = c("the", "cat", "sat", "on", "the", "cat's", "mat"),
  two = c("dogs", "don't", "said", "cats")
)

# The tokens of each document by name, sorted as the documents have them.
words_of <- function(counts) {
  document <- rep(counts$documents, diff(counts$start))
  split(
    counts$terms[counts$word], factor(document, unique(counts$documents))
  )
}

sorted <- function(x) lapply(x, sort)

test_that("texts are cut into runs of letters, and a message says so", {
  skip_long()
  expect_gibbsite_condition(
    counts <- as_counts(texts, arg = "x"), "gibbsite_message_conversion"
  )
  expect_identical(sorted(words_of(counts)), sorted(words))
  expect_identical(counts$documents, names(texts))
  # in the order of the text
  expect_identical(
    counts$terms, c("the", "cat", "sat", "on", "cat's", "mat", "dogs", "don't",
                    "said", "cats")
  )
  expect_identical(
    silently(as_counts(unname(texts)))$documents, c("1", "2")
  )
  nameless <- stats::setNames(texts, c("one", NA))
  expect_identical(silently(as_counts(nameless))$documents, c("one", "2"))
})

test_that("apostrophes, digits, marks and spaces of every kind are known", {
  cut <- function(x) text_tokens(x)$word
  expect_identical(cut("don't don''t 'tis the dogs' 'n' '"),
    c("don't", "don", "t", "tis", "the", "dogs", "n")
  )
  # the curved apostrophe is one, and quotes of other forms are none
  expect_identical(cut("isn\u2019t \u2018it\u2019 \u201cso\u201d"),
    c("isn't", "it", "so")
  )
  expect_identical(
    cut("a\tb\nc\r\nd\u00a0e\u2003f-g_h/i.j2k"),
    c("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")
  )
  # a mark belongs to the letter before it, and alone it is no token
  expect_identical(cut("e\u0301te\u0301 \u2764\ufe0f 1\u20e3"),
    "e\u0301te\u0301"
  )
  expect_identical(
    cut("\u043f\u0440\u0438\u0432\u0435\u0442, \u4e16\u754c"),
    c("\u043f\u0440\u0438\u0432\u0435\u0442", "\u4e16\u754c")
  )
  latin <- `Encoding<-`("caf\xe9", "latin1")
  expect_identical(cut(latin), "caf\u00e9")
  expect_identical(text_tokens(c("", "a b", "2"))$document, c(2L, 2L))
  expect_identical(text_tokens(character()),
    list(document = integer(), word = character())
  )
  skip_if_not(l10n_info()[["UTF-8"]], "not a UTF-8 locale")
  expect_identical(cut("\u00c9T\u00c9 \u0416"), c("\u00e9t\u00e9", "\u0436"))
})

test_that("a long text is cut as fast as short ones", {
  skip_unless_extended()
  line <- "The quick fox's \u00e9t\u00e9 isn\u2019t over."
  long <- paste(rep(line, 4e4), collapse = " ")
  expect_gt(nchar(long), 1e6)
  seconds <- system.time(tokens <- text_tokens(long))[["elapsed"]]
  expect_identical(tokens$word, rep(text_tokens(line)$word, 4e4))
  # cutting the string as a whole takes minutes
  expect_lt(seconds, 20)
})

test_that("lists of words are counted as they are", {
  counts <- as_counts(words)
  expect_identical(counts, silently(as_counts(texts)))
  expect_identical(
    as_counts(list("Cat", c("cat", "new york")))$terms,
    c("Cat", "cat", "new york")
  )
  some <- list(a = c("b", "", "c"), d = character(), e = c("", "c"))
  expect_gibbsite_condition(
    counts <- as_counts(some, empty = "keep", arg = "x"),
    "gibbsite_message_terms"
  )
  expect_identical(counts$start, c(0, 2, 2, 3))
  expect_identical(counts$documents, c("a", "d", "e"))
  expect_gibbsite_condition(
    as_counts(list(c("a", ""), "b"), arg = "x"), "gibbsite_message_terms"
  )
})

test_that("data frames with the names of tidytext and others are read", {
  long <- data.frame(
    doc_id = c("b", "a", "b"), word = c("y", "x", "x"), n = c(2, 1, 3)
  )
  known <- as_counts(stats::setNames(long, c("document", "term", "count")))
  expect_identical(as_counts(long), known)
  expect_identical(
    as_counts(stats::setNames(long, c("document", "token", "n"))), known
  )
  # the package's own names come first
  expect_identical(as_counts(cbind(
    stats::setNames(long, c("document", "term", "count")), n = 9, word = "z",
    token = "w"
  )), known)
  # one token a row
  tokens <- long[rep(1:3, long$n), 1:2]
  expect_identical(as_counts(tokens), known)
  frame <- data.frame(doc_id = names(texts), text = texts)
  expect_identical(silently(as_counts(frame)), silently(as_counts(texts)))
  frame$text <- factor(frame$text)
  expect_identical(silently(as_counts(frame)), silently(as_counts(texts)))
  expect_identical(
    silently(as_counts(frame["text"]))$documents, c("1", "2")
  )
})

test_that("tidytext's own tokens and counts are read", {
  skip_long()
  skip_if_not_installed("tidytext")
  skip_if_not_installed("tibble")
  frame <- tibble::tibble(doc_id = names(texts), text = unname(texts))
  tokens <- tidytext::unnest_tokens(frame, "word", "text")
  # tidytext keeps the number
  tokens <- tokens[tokens$word != "2", ]
  expect_identical(as_counts(tokens), silently(as_counts(texts)))
  expect_identical(
    as_counts(stats::setNames(tokens, c("document", "token"))),
    as_counts(tokens)
  )
})

# What quanteda 4 makes: whole numbers that are places in `types`, 0 where a
# token was removed.
quanteda_like <- function(words) {
  types <- setdiff(unique(unlist(words)), "")
  structure(
    lapply(words, function(one) match(one, types, nomatch = 0L)),
    class = c("tokens", "list"), types = types, padding = FALSE,
    docvars = data.frame(docname_ = names(words)), meta = list()
  )
}

test_that("tokens and a corpus of quanteda are read", {
  expect_identical(as_counts(quanteda_like(words)), as_counts(words))
  expect_gibbsite_condition(
    counts <- as_counts(
      quanteda_like(list(a = c("", "b"), c = "b")), arg = "x"
    ),
    "gibbsite_message_terms"
  )
  expect_identical(counts$start, c(0, 1, 2))
  corpus <- structure(
    texts, class = c("corpus", "character"), meta = list(),
    docvars = data.frame(docname_ = names(texts))
  )
  expect_identical(silently(as_counts(corpus)), silently(as_counts(texts)))
})

test_that("documents of stm are read, with numbers from 1 on", {
  x <- small()
  documents <- lapply(seq_len(3), function(d) {
    there <- which(x[d, ] > 0)
    unname(rbind(there, as.integer(x[d, there])))
  })
  names(documents) <- rownames(x)
  stm <- list(documents = documents, vocab = colnames(x))
  from_one <- c(small_counts(), from = 1)
  expect_identical(as_counts(stm), from_one)
  # further elements, and a class: prepDocuments(), textProcessor()
  more <- structure(
    c(stm, list(meta = data.frame(a = 1:3), docs.removed = integer())),
    class = "textProcessor"
  )
  expect_identical(as_counts(more), from_one)
  # a list of tokens may have these names
  expect_identical(
    as_counts(list(documents = "a", vocab = "b"))$documents,
    c("documents", "vocab")
  )
})

test_that("new texts are cut alike, and may have no word at all", {
  known <- c("dogs", "cat", "hen")
  expect_gibbsite_condition(class = "gibbsite_message_terms", {
    counts <- as_counts(texts, empty = "keep", known = known, arg = "newdata")
  })
  expect_identical(counts$word, 2:1)
  expect_identical(counts$start, c(0, 1, 2))
  bare <- as_counts(c(a = "", b = "2"), empty = "keep", known = known)
  expect_identical(bare$start, c(0, 0, 0))
  expect_identical(bare$documents, c("a", "b"))
})

test_that("texts and tokens that cannot be counted are errors", {
  skip_long()
  read <- function(x, ...) as_counts(x, ..., arg = "x", call = NULL)
  unreadable <- "a\xff"
  Encoding(unreadable) <- "bytes"
  expect_gibbsite_error({
    read(c("a", NA, NA))
    read(data.frame(text = NA_character_))
    read(c("a", "\xff"))
    read(quanteda_like(list("a"))[0])
    read(structure(list(3L), class = "tokens", types = "a"))
    read(structure(list("a"), class = "tokens"))
    read(list("a", c("b", NA)))
    read(list("a", c("b", "\xff")))
    read(list("a", 1:2))
    read(structure(list(rbind(0, 1)), names = unreadable))
    read(list("a b", "c"))
    read(list(documents = list(rbind(0, 1)), vocab = "a"))
    read(list(documents = list(rbind(2, 1)), vocab = "a"))
    read(list(documents = list(1), vocab = "a"))
    read(list(documents = list(rbind(1, 1)), vocab = NA_character_))
    read(c("2", "!"), empty = "keep")
    read("a", vocabulary = "b")
    read(list("a"), vocabulary = "b")
    read(function(x) x)
  })
  expect_gibbsite_error(class = "gibbsite_error_empty", {
    silently(read(c(one = "a", two = "2")))
    read(list(one = "a", two = character()))
  })
})

# ---- token_counts() ----------------------------------------------------------

test_that("token_counts() gives the counts that gibbs_lda() reads", {
  counts <- token_counts(texts)
  expect_s4_class(counts, "dgCMatrix")
  expect_identical(as_counts(counts), silently(as_counts(texts)))
  expect_identical(token_counts(words), counts)
  expect_identical(as.matrix(token_counts(small())), small() + 0)
  # empty documents stay
  expect_identical(
    Matrix::rowSums(token_counts(c(a = "b", c = ""))), c(a = 1, c = 0)
  )
})

test_that("stop words and short terms are left out, and nothing else", {
  skip_long()
  terms <- function(...) colnames(token_counts(...))
  all <- terms(texts)
  expect_identical(terms(texts, c("The", "on", "don\u2019t", "nothing")),
    setdiff(all, c("the", "on", "don't"))
  )
  expect_identical(terms(texts, min_length = 4), all[nchar(all) >= 4])
  # of tokens a term itself is meant
  expect_identical(terms(list(c("The", "the")), "the"), "The")
  # b is in all documents, c in two of three
  some <- c("a b b", "b c", "b c")
  expect_identical(terms(some, max_share = 0.7), c("a", "c"))
  expect_identical(terms(some, max_share = 2 / 3), c("a", "c"))
  expect_identical(terms(some, max_share = 0.6), "a")
  expect_identical(terms(some, max_share = 1), c("a", "b", "c"))
  fewer <- token_counts(texts, c("the", "on"))
  expect_identical(fewer, token_counts(texts)[, colnames(fewer)])
  expect_gibbsite_error({
    token_counts()
    token_counts(texts, NA)
    token_counts(texts, 1)
    token_counts(texts, matrix("a", 2, 2))
    token_counts(texts, c("a", "\xff"))
    token_counts(texts, min_length = 0)
    token_counts(texts, max_share = 0)
    token_counts(c("a b", "b a"), max_share = 0.9)
    token_counts("a b", "a", min_length = 2)
    token_counts(c("a", NA))
    token_counts(sum)
  })
  expect_gibbsite_error(token_counts("a", "a"), "gibbsite_error_empty")
})

test_that("a fit and its predictions take texts", {
  skip_long()
  fit <- silently(gibbs_lda(texts, 2, draws = 5, burnin = 5, chains = 2,
    seed = 1, progress = FALSE
  ))
  counts <- token_counts(texts)
  same <- silently(gibbs_lda(counts, 2, draws = 5, burnin = 5, chains = 2,
    seed = 1, progress = FALSE
  ))
  expect_true(identical_fit(fit, same))
  new <- c(first = "a cat and dogs", second = "nothing known")
  shares <- function(newdata) {
    withr::with_seed(1, silently(predict(fit, newdata, burnin = 5, sweeps = 5)))
  }
  expect_identical(rownames(shares(new)), names(new))
  expect_identical(shares(new), shares(token_counts(new)))
  expect_identical(shares(new), shares(data.frame(
    doc_id = factor(c("first", "first"), names(new)), word = c("cat", "dogs"),
    n = 1
  )))
  # no known word: the prior
  expect_identical(unname(shares(c("", "2"))[1, ]), c(0.5, 0.5))
  score <- function(newdata) {
    withr::with_seed(1, silently(held_out_perplexity(fit, newdata)))
  }
  expect_identical(score(texts), score(words))
  expect_identical(
    silently(coherence(fit, 3, texts)), silently(coherence(fit, 3))
  )
})

# Documents as matrices of two rows, each term once.
numbered <- function(...) {
  lapply(list(...), function(term) rbind(as.integer(term), 1L))
}

test_that("numbers of terms from 0 and from 1 on are told apart", {
  skip_long()
  names <- letters[1:4]
  words <- function(...) {
    counts <- as_counts(numbered(...), names, arg = "x")
    counts$terms[counts$word]
  }
  expect_gibbsite_condition(class = "gibbsite_message_conversion", {
    one <- words(1:2, 3:4)
  })
  expect_identical(one, names)
  expect_silent(zero <- words(c(0, 2), c(1, 3)))
  expect_identical(zero, c("a", "c", "b", "d"))
  expect_gibbsite_condition(class = "gibbsite_message_numbering", {
    unclear <- words(1:2, 2:3)
  })
  expect_identical(unclear, c("b", "c", "c", "d"))
  # a count of 0 is no occurrence
  none <- rbind(1:4, c(1L, 0L, 0L, 2L))
  suppressMessages(none <- as_counts(list(none), names))
  expect_identical(none$terms[none$word], c("a", "d", "d"))
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    words(c(0, 4))
    words(1:5)
  })
  # text2vec's form has a class
  expect_identical(
    as_counts(structure(numbered(0:3), class = "lda_c"), names)$terms, names
  )
})

test_that("new documents are numbered like those of the fit", {
  fit <- silently(gibbs_lda(
    list(documents = numbered(1:2, 3:4), vocab = letters[1:4]), 2, draws = 10,
    burnin = 5, chains = 1, seed = 1, progress = FALSE
  ))
  words <- function(newdata) {
    gibbsite:::lda_newdata(fit, newdata, NULL)$word
  }
  expect_silent(found <- words(numbered(1:2, 2:3)))
  expect_identical(found, c(1L, 2L, 2L, 3L))
  expect_gibbsite_error(predict(fit, numbered(0:1)))
})

test_that("a matrix with terms in its rows is turned, or said to be one", {
  skip_long()
  x <- small()
  turned <- t(x)
  names(dimnames(turned)) <- c("features", "docs")
  for (form in list(turned, methods::as(turned, "CsparseMatrix"))) {
    expect_message(
      counts <- as_counts(form), class = "gibbsite_message_conversion"
    )
    expect_identical(counts, small_counts())
  }
  plain <- matrix(1:6, 3, dimnames = list(c("u", "v", "w"), c("doc1", "doc2")))
  expect_gibbsite_condition(
    as_counts(plain, arg = "x"), "gibbsite_message_transposed"
  )
  expect_gibbsite_error(class = "gibbsite_error_transposed", {
    as_counts(plain, known = rownames(plain), arg = "newdata", call = NULL)
  })
})

test_that("words lost by their form are said to be", {
  known <- c("covid-19", "NASA", "moon")
  expect_gibbsite_condition(class = "gibbsite_message_terms", {
    as_counts("covid-19 NASA moon", empty = "keep", known = known)
    as_counts("NASA", empty = "keep", known = known)
    as_counts(list(c("nasa", "moon")), empty = "keep", known = known)
  })
})

test_that("ratings are no documents", {
  skip_long()
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    gibbs_lda(data.frame(user = 1, item = 2, rating = 3), 2)
    gibbs_lda(matrix(c(1, NA, 2, 3), 2), 2)
  })
  table <- xtabs(~ user + item, data.frame(user = 1:2, item = 1:2))
  expect_gibbsite_condition(
    as_counts(unclass(table), arg = "x"), "gibbsite_message_ratings"
  )
})

test_that("counts under another name are asked for", {
  x <- data.frame(doc_id = c("a", "a", "b"), term = c("x", "y", "x"), N = 3:1)
  expect_message(token_counts(x), "\"N\" has the", class = "gibbsite_message_events")
  names(x)[[3]] <- "n"
  expect_no_message(token_counts(x))
  names(x)[[3]] <- "token_id"
  expect_no_message(token_counts(x))
})
