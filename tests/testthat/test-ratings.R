# as_ratings(): one form of ratings whatever they came as, and its messages.

read <- function(...) gibbsite:::as_ratings(..., arg = "ratings", call = NULL)

# The ratings as a table of ids, in the order of the data.
as_table <- function(ratings) {
  data.frame(
    user = as.character(ratings$users)[ratings$user],
    item = as.character(ratings$items)[ratings$item],
    value = ratings$value
  )
}

three <- data.frame(
  user = c("b", "a", "b"), item = c("x", "x", "y"), value = c(1, 0, 3)
)

test_that("a data frame is read by names, in its order", {
  ratings <- read(three)
  expect_s3_class(ratings, "gibbsite_ratings")
  expect_identical(ratings$user, c(2L, 1L, 2L))
  expect_identical(ratings$item, c(1L, 1L, 2L))
  expect_identical(ratings$users, c("a", "b"))
  expect_identical(ratings$value, c(1, 0, 3))
  expect_identical(ratings$names, c("user", "item", "value"))
  expect_equal(as_table(ratings), three)

  other <- stats::setNames(three, c("who", "what", "rating"))
  named <- read(other, user = "who", item = "what")
  expect_identical(named$names, c("who", "what", "rating"))
  expect_equal(as_table(named), three)
  # extra columns, another order
  wide <- cbind(time = 3:1, three[3:1])
  expect_equal(as_table(read(wide)), three)
  skip_if_not_installed("tibble")
  expect_equal(read(tibble::as_tibble(three)), ratings)
})

test_that("ids of every kind are carried through", {
  with_ids <- function(user) {
    suppressMessages(read(data.frame(user, item = 1:3, value = 1:3)))
  }
  # levels that do not occur stay
  levels <- with_ids(factor(c("b", "a", "b"), levels = c("c", "b", "a")))
  expect_identical(levels$user, c(2L, 3L, 2L))
  expect_identical(levels$users, factor(c("c", "b", "a"), c("c", "b", "a")))
  whole <- with_ids(c(100000L, 7L, 100000L))
  expect_identical(whole$users, c(7L, 100000L))
  expect_identical(whole$user, c(2L, 1L, 2L))
  number <- with_ids(c(1e5, 7, 1e5))
  expect_identical(number$users, c(7, 1e5))
  day <- with_ids(as.Date(c("2020-01-02", "2020-01-01", "2020-01-02")))
  expect_identical(day$users, c("2020-01-01", "2020-01-02"))
  expect_identical(with_ids(c(TRUE, FALSE, TRUE))$users, c("FALSE", "TRUE"))
  expect_identical(with_ids(I(c("b", "a", "b")))$users, c("a", "b"))
})

test_that("ids given later are found by what they say", {
  match <- gibbsite:::match_ids
  expect_identical(match(c("7", "100000", "8"), c(7, 1e5)), c(1L, 2L, NA))
  expect_identical(match(c(7, 1e5), factor(c("100000", "7"))), c(2L, 1L))
  expect_identical(match(factor("b", c("a", "b")), c("a", "b")), 2L)
  expect_identical(match(7L, c(7, 1e5)), 1L)
  expect_identical(
    gibbsite:::id_words(c(1e5, 0.5, 123456789012)),
    c("100000", "0.5", "123456789012")
  )
})

test_that("text is ordered alike in every locale", {
  ids <- read(data.frame(
    user = c("b", "B", "a", "\u00e9"), item = 1:4, value = 1
  ))$users
  expect_identical(ids, c("B", "a", "b", "\u00e9"))
})

test_that("a formula is evaluated in its data", {
  data <- data.frame(
    y = c(1, 10, 100), s = factor(c("u", "v", "u")), d = c(5L, 5L, 6L)
  )
  ratings <- read(log10(y) ~ s + d, data = data)
  expect_identical(ratings$value, c(0, 1, 2))
  expect_identical(ratings$names, c("s", "d", "log10(y)"))
  expect_identical(ratings$items, 5:6)
  # without data: where the formula was written
  y <- 1:2
  s <- c("a", "b")
  d <- c("k", "k")
  expect_identical(read(y ~ s + d)$value, c(1, 2))
})

test_that("a matrix has users in rows, and NA where nothing was observed", {
  x <- matrix(c(1, NA, 0, 4, NA, NA), 2, dimnames = list(c("p", "q"), NULL))
  expect_message(ratings <- read(x), "1 item has no rating",
    class = "gibbsite_message_unrated"
  )
  expect_equal(as_table(ratings), data.frame(
    user = c("p", "p", "q"), item = c("1", "2", "2"), value = c(1, 0, 4)
  ))
  expect_identical(ratings$items, 1:3)
  named <- matrix(1:2 + 0, 1, dimnames = list(user = "a", film = c("m", "n")))
  expect_identical(read(named)$names, c("user", "film", "value"))
  expect_identical(read(unclass(table(three$user, three$item)))$value,
    c(1, 1, 0, 1)
  )
  expect_message(
    read(matrix(1:4, 2, dimnames = list(c("a", "a"), NULL))), "named \"a\"",
    class = "gibbsite_message_names"
  )
})

test_that("stored entries of sparse matrices are ratings, zeros included", {
  skip_long()
  skip_if_not_installed("Matrix")
  i <- c(1, 2, 2)
  j <- c(1, 1, 3)
  made <- function(...) {
    Matrix::sparseMatrix(i, j, x = c(1, 0, 3), dims = c(2, 3), ...)
  }
  by_column <- suppressMessages(read(made()))
  expect_identical(by_column$value, c(1, 0, 3))
  expect_identical(by_column$user, c(1L, 2L, 2L))
  expect_identical(by_column$item, c(1L, 1L, 3L))
  expect_identical(by_column$items, 1:3)
  for (repr in c("T", "R")) {
    other <- suppressMessages(read(made(repr = repr)))
    expect_setequal(
      do.call(paste, as_table(other)), do.call(paste, as_table(by_column))
    )
  }
  named <- made(dimnames = list(c("a", "b"), c("x", "y", "z")))
  expect_identical(suppressMessages(read(named))$items, c("x", "y", "z"))

  # symmetric storage holds one triangle; the matrix has both
  symmetric <- Matrix::forceSymmetric(Matrix::sparseMatrix(
    c(1, 1), c(1, 2), x = c(5, 6), dims = c(2, 2)
  ))
  expect_setequal(
    do.call(paste, as_table(read(symmetric))), c("1 1 5", "1 2 6", "2 1 6")
  )
  # dense: as a plain matrix
  dense <- Matrix::Matrix(c(1, NA, 0, 4), 2, sparse = FALSE)
  expect_identical(read(dense)$value, c(1, 0, 4))
  # triplets may repeat a cell
  twice <- methods::new("dgTMatrix",
    i = c(0L, 0L), j = c(1L, 1L), x = c(2, 3), Dim = c(1L, 2L)
  )
  expect_message(expect_message(ratings <- read(twice),
    class = "gibbsite_message_repeated"
  ), class = "gibbsite_message_unrated")
  expect_identical(ratings$value, c(2, 3))
})

test_that("slam's triplets and objects with a sparse slot are read", {
  triplets <- structure(
    list(
      i = c(1L, 2L), j = c(1L, 2L), v = c(4, 0), nrow = 2L, ncol = 2L,
      dimnames = list(c("a", "b"), NULL)
    ),
    class = "simple_triplet_matrix"
  )
  expect_identical(read(triplets)$value, c(4, 0))
  skip_if_not_installed("Matrix")
  # as recommenderlab's realRatingMatrix has it
  where <- new.env()
  methods::setClass("holder", methods::representation(data = "ANY"),
    where = where
  )
  inside <- Matrix::sparseMatrix(1:2, 1:2, x = c(4, 5))
  holder <- methods::new(methods::getClass("holder", where = where),
    data = inside
  )
  expect_identical(read(holder), read(inside))
})

test_that("what a table lacks, repeats or leaves out is said", {
  skip_long()
  expect_message(
    read(rbind(three, three[1:2, ])), "2 ratings are of a pair",
    class = "gibbsite_message_repeated"
  )
  expect_message(
    read(rbind(three, three[1, ])), "1 rating is of a pair",
    class = "gibbsite_message_repeated"
  )
  factors <- data.frame(
    user = factor("a", c("a", "b")), item = factor("x", c("x", "y", "z")),
    value = 1
  )
  expect_message(
    ratings <- read(factors), "1 user and 2 items have no rating",
    class = "gibbsite_message_unrated"
  )
  expect_identical(lengths(ratings[c("users", "items")]),
    c(users = 2L, items = 3L)
  )
  # NA: not observed; its user stays
  missing <- three
  missing$value[2] <- NA
  expect_message(expect_message(
    ratings <- read(missing), "1 rating of `ratings` is NA",
    class = "gibbsite_message_unobserved"
  ), "1 user has no rating")
  expect_identical(ratings$value, c(1, 3))
  expect_identical(ratings$users, c("a", "b"))
  expect_no_message(read(three))
  expect_gibbsite_condition(class = "gibbsite_message", {
    . <- read(rbind(missing, three))
    . <- read(rbind(missing, missing, three))
  })
})

test_that("classed columns say what is lost", {
  time <- three
  time$value <- as.difftime(c(1, 2, 3), units = "hours")
  expect_message(ratings <- read(time), "number of hours",
    class = "gibbsite_message_conversion"
  )
  expect_identical(ratings$value, c(1, 2, 3))
})

test_that("one rating is enough", {
  expect_identical(
    read(three[1, ])[c("user", "item", "value")],
    list(user = 1L, item = 1L, value = 1)
  )
})

test_that("faults of ratings name their place", {
  skip_long()
  set <- function(column, row, value) {
    three[[column]][row] <- value
    three
  }
  unordered <- three
  unordered$value <- factor(c("good", "bad", "good"))
  listed <- three
  listed$user <- list(1, 2, 3)
  uneven <- list(value = 1:3, user = 1:2, item = 1:3)
  expect_gibbsite_error({
    # not finite
    read(set("value", 2, Inf))
    read(set("value", 2:3, NaN))
    read(matrix(c(1, NaN, NA, 2), 2))
    read(set("value", 1, 1e200))
    # no id
    read(set("user", 3, NA))
    read(set("item", 2:3, NA))
    # columns
    read(three[1:2])
    read(three, user = "who")
    read(three, user = 1)
    read(three, user = "item")
    read(unordered)
    read(set("value", 1, "good"))
    read(listed)
    # nothing
    read(three[0, ])
    suppressMessages(read(matrix(NA, 2, 2)))
    # formulas
    read(value ~ user, data = three)
    read(~ user + item, data = three)
    read(value ~ user * item, data = three)
    read(value ~ user + item + place, data = three)
    read(value ~ user + place, data = three)
    read(value ~ user + item, data = 1)
    read(value ~ user + item, data = uneven)
    # arguments that have nothing to name
    read(value ~ user + item, data = three, user = "user")
    # other things
    read("ratings.csv")
    read(1:3)
    read(NULL)
    read(list(1, 2, 3))
    read(matrix("a", 1, 1))
  })
  skip_if_not_installed("Matrix")
  expect_gibbsite_error({
    read(Matrix::sparseMatrix(1:2, 1:2))
    read(methods::new("numeric"))
  })
})

# ---- factors, and classes of other packages ----------------------------------

test_that("ordered levels are ratings by their codes, or by their numbers", {
  skip_long()
  with_value <- function(value) data.frame(three[1:2], value = value)
  words <- c("bad", "fair", "good")
  by_code <- with_value(ordered(c("fair", "bad", NA), words))
  expect_gibbsite_condition(
    ratings <- read(by_code[1:2, ]), "gibbsite_message_conversion"
  )
  expect_identical(ratings$value, c(2, 1))
  expect_identical(ratings$levels, words)
  # NA was not observed; levels that do not occur keep their place
  expect_identical(suppressMessages(read(by_code))$value, c(2, 1))
  for (number in list(
    ordered(c("10", "-0.5", "3"), c("-0.5", "3", "10")),
    factor(c("10", "-0.5", "3"))
  )) {
    expect_message(ratings <- read(with_value(number)),
      "the numbers that its levels are",
      class = "gibbsite_message_conversion"
    )
    expect_identical(ratings$value, c(10, -0.5, 3))
    expect_null(ratings$levels)
  }
  expect_identical(
    suppressMessages(read(value ~ user + item, data = by_code))$value, c(2, 1)
  )
  no_text <- structure(
    c(1L, 2L, 1L), levels = c("a", "\xff"), class = c("ordered", "factor")
  )
  expect_gibbsite_error({
    read(with_value(c("good", "bad", "good")))
    read(with_value(ordered(c("1", "Inf", "2"))))
    read(with_value(no_text))
  })
})

test_that("ratings given later have the levels of the fit", {
  skip_long()
  words <- c("bad", "fair", "good")
  set.seed(1)
  data <- sim_bmf(8, 6, rank = 1, share = 0.8)
  data$value <- cut(data$value, 3, words, ordered_result = TRUE)
  coded <- transform(data, value = as.integer(value))
  fit <- function(data, ...) {
    suppressMessages(quietly(gibbs_bmf(data, 1, draws = 10, burnin = 10,
      chains = 2, seed = 1, progress = FALSE, ...
    )))
  }
  held <- data[1:5, ]
  by_factor <- fit(data[-(1:5), ], predict_at = held)
  by_code <- fit(coded[-(1:5), ], predict_at = coded[1:5, ])
  expect_identical(
    lapply(by_factor, as.matrix), lapply(by_code, as.matrix)
  )
  expect_identical(held_out(by_factor), held_out(by_code))
  expect_silent(later <- held_out(by_factor, held))
  expect_identical(later, held_out(by_code, coded[1:5, ]))
  # the same ratings as numbers
  expect_identical(held_out(by_factor, coded[1:5, ]), later)
  # by their labels, in any form
  for (form in list(
    function(value) ordered(value, rev(words)), as.character,
    function(value) factor(value, ordered = FALSE)
  )) {
    expect_identical(
      held_out(by_factor, transform(held, value = form(value))), later
    )
  }
  expect_gibbsite_error({
    held_out(by_factor, transform(held, value = "poor"))
    held_out(by_code, held)
  })
  bare <- drop_data(by_factor)
  more <- quietly(extend(bare, 5, data = data[-(1:5), ], progress = FALSE))
  expect_identical(
    as.matrix(more[[1]]),
    as.matrix(quietly(extend(by_factor, 5, progress = FALSE))[[1]])
  )
})

test_that("a matrix in the slot `data`, as recommenderlab has it, is read", {
  skip_long()
  sparse <- Matrix::sparseMatrix(c(1, 2, 2), c(1, 1, 3),
    x = c(1, 0, 3), dims = c(2, 3),
    dimnames = list(c("ann", "bob"), c("x", "y", "z"))
  )
  here <- environment()
  real <- methods::setClass("realRatings_like",
    slots = c(data = "dgCMatrix", normalize = "ANY"), where = here
  )
  # unrated, bought or not: there are no numbers
  binary <- methods::setClass("binaryRatings_like",
    slots = c(data = "ngCMatrix"), where = here
  )
  withr::defer({
    methods::removeClass("realRatings_like", where = here)
    methods::removeClass("binaryRatings_like", where = here)
  })
  expect_identical(
    suppressMessages(read(real(data = sparse, normalize = NULL))),
    suppressMessages(read(sparse))
  )
  expect_gibbsite_error(
    read(binary(data = methods::as(sparse, "nMatrix")))
  )
})

test_that("levels without a rating are announced, with droplevels()", {
  table <- data.frame(
    user = factor(c("a", "a", "b"), c("a", "b", "c")), item = c("x", "y", "x"),
    rating = 1:3
  )
  said <- function(x) {
    conditionMessage(rlang::catch_cnd(
      gibbs_bmf(x, 1, draws = 20, burnin = 0, chains = 1, seed = 1,
                progress = FALSE),
      "gibbsite_message_unrated"
    ))
  }
  expect_match(said(table), "droplevels()", fixed = TRUE)
  expect_no_match(
    said(Matrix::sparseMatrix(c(1, 2), c(1, 1), x = c(1, 2), dims = c(3, 2))),
    "droplevels", fixed = TRUE
  )
})

test_that("zeros that may stand for no rating are counted", {
  skip_long()
  x <- matrix(0, 4, 3)
  x[c(1, 6, 7, 12)] <- 3
  long <- cbind(expand.grid(user = 1:4, item = 1:3), value = as.vector(x))
  stored <- Matrix::sparseMatrix(i = 1:2, j = 1:2, x = c(0, 3), dims = c(4, 3))
  expect_gibbsite_condition(class = "gibbsite_message_zeros", {
    found <- read(x)
    read(stats::xtabs(~ user + item, long[x > 0, ]))
    read(stats::ftable(stats::xtabs(~ user + item, long[x > 0, ])))
    read(long)
    read(x, likes = TRUE)
    read(Matrix::Matrix(x, sparse = FALSE))
  })
  expect_length(found$value, 12)
  suppressMessages(expect_message(
    read(stored), "1 of the 2 values", class = "gibbsite_message_zeros"
  ))
  # who writes NA for no rating means 0 where there is one
  silent <- function(x) {
    suppressMessages(
      read(x), classes = c("gibbsite_message_unobserved",
                           "gibbsite_message_unrated")
    )
  }
  expect_silent(silent(replace(x, 1, NA)))
  expect_silent(silent(long[x > 0 | long$user == 1, ]))
  expect_silent(silent(methods::as(x, "CsparseMatrix")))
  few <- matrix(1, 5, 5)
  few[1:2] <- 0
  expect_silent(silent(few))
})

test_that("a table with users in rows gets the call that works", {
  skip_long()
  wide <- data.frame(
    id = 11:14, "tea time" = c(1, 2, NA, 4), milk = 4:1, check.names = FALSE
  )
  expect_gibbsite_error(class = "gibbsite_error_column", {
    read(wide)
    read(wide[-1])
    read(cbind(wide, "a b" = letters[c(1, 1, 2, 2)]))
    read(cbind(who = letters[1:4], wide[-1]))
    read(cbind(user = letters[1:4], wide[-1]))
  })
  # each call does
  given <- function(x) {
    said <- tryCatch(read(x), error = conditionMessage)
    said <- gsub("\\s+", " ", cli::ansi_strip(said))
    call <- regmatches(said, regexpr("as.matrix.*[)]", said))
    suppressMessages(read(eval(str2lang(call), list(ratings = x))))
  }
  with_id <- given(wide)
  expect_identical(with_id$users, as.character(11:14))
  expect_identical(with_id$items, c("tea time", "milk"))
  expect_identical(given(wide[-1])$items, c("tea time", "milk"))
  noisy <- cbind(who = letters[1:4], wide[-1], "a b" = letters[c(1, 1, 2, 2)])
  expect_identical(given(noisy)$users, letters[1:4])
  expect_identical(given(noisy)$items, c("tea time", "milk"))
})

test_that("what may be no table of ratings is said", {
  skip_long()
  distances <- as.matrix(stats::dist(cbind(1:5, c(2, 5, 1, 9, 4))))
  terms <- matrix(1:4, 2, dimnames = list(docs = 1:2, features = c("a", "b")))
  diag(distances) <- NA
  expect_gibbsite_condition(class = "gibbsite_message_symmetric", {
    found <- read(distances)
  })
  diag(distances) <- 0
  suppressMessages(expect_message(
    read(distances), "5 zeros of the diagonal",
    class = "gibbsite_message_symmetric"
  ))
  expect_gibbsite_condition(class = "gibbsite_message_terms", read(terms))
  expect_gibbsite_condition(class = "gibbsite_message_triplets", {
    read(cbind(value = 1:4, user = 1:4, item = c(2, 1, 2, 1)))
    read(cbind(c(3.5, 2, 1, 4), 10:13, c(7, 5, 6, 9)))
  })
  expect_gibbsite_condition(class = "gibbsite_message_ids", {
    read(cbind(id = 101:104, a = c(1, 2, 2, 3), b = 1, c = 2))
    read(data.frame(user = c(-1, 2, -1), item = 1:3, value = 1:3))
  })
  expect_gibbsite_condition(class = "gibbsite_message_columns", {
    read(user ~ item + value, data = data.frame(user = 1, item = 1, value = 1))
    read(data.frame(a = 1, b = 2, item = 1), "a", "b", "item")
  })
  # a table of few ratings is none of these
  expect_silent(read(cbind(c(1, 5, 3, 2, 5), c(2, 4, 5, 1, 1), 3)))
})

test_that("a long table with names of its own is no matrix", {
  x <- data.frame(
    userId = rep(1:3, 3), movieId = rep(c("x", "y", "z"), each = 3),
    rating = 1:9, timestamp = 9:1
  )
  said <- tryCatch(gibbs_bmf(x, rank = 1), error = conditionMessage)
  expect_match(said, "give a formula", fixed = TRUE)
  expect_no_match(said, "as.matrix", fixed = TRUE)
  x$movieId <- match(x$movieId, letters)
  said <- tryCatch(gibbs_bmf(x, rank = 1), error = conditionMessage)
  expect_no_match(said, "as.matrix", fixed = TRUE)
  x$like <- x$rating > 4
  expect_error(gibbs_bmf(like ~ userId + movieId, x, rank = 1), "gibbs_pmf")
})

test_that("ids without a name are numbers, and an empty text is none", {
  set.seed(1)
  x <- matrix(rnorm(12), 4, dimnames = list(c("a", NA, "", "d"), NULL))
  fit <- quietly(gibbs_bmf(x, rank = 1, draws = 5, burnin = 1, chains = 1,
                           seed = 1, progress = FALSE))
  expect_identical(unique(predict(fit)$user), c("a", "2", "3", "d"))
  # a name that is given stays with its row
  expect_identical(unique_names(c("", "1", "b", NA)), c("1.1", "1", "b", "4"))
  for (user in list(c("", "b"), factor(c("", "b")))) {
    pairs <- data.frame(user = user, item = c("x", "y"), value = 1:2)
    expect_error(gibbs_bmf(pairs, rank = 1), "row 1 of `ratings`\\s+it is an\\s+empty",
                 class = "gibbsite_error_missing")
  }
  expect_message(predict(fit, data.frame(user = 9, item = 1)),
                 "no user of `newdata`", class = "gibbsite_message_unknown")
  expect_no_message(predict(fit, data.frame(user = c("9", "a"), item = 1)))
})

test_that("rows of features without ids are said to be numbered", {
  set.seed(1)
  s <- sim_bmf(10, 8, rank = 2, share = 0.6)
  fit <- function(table) {
    gibbs_bmf(s, rank = 1, user_features = table, draws = 5, burnin = 1,
              chains = 1, seed = 1, progress = FALSE)
  }
  expect_message(
    suppressWarnings(fit(data.frame(id = 10:1, age = rep(1:2, 5)))),
    "If \"id\" has the ids", class = "gibbsite_message_ids"
  )
  expect_no_message(
    quietly(fit(data.frame(user = 10:1, age = 10:1))),
    class = "gibbsite_message_ids"
  )
})
