# Ids are told apart by their values, never by text pasted or printed from them.

# Pairs whose pasted names are alike, each with a level of its own.
pairs <- data.frame(
  a = rep(c("x:y", "x", "w"), each = 8), b = rep(c("z", "y:z", "v"), each = 8),
  g = rep(c("3", "2", "1"), each = 8)
)
pairs$y <- rep(c(0, 5, 9), each = 8) + sin(1:24)
pairs$s <- as.integer(pairs$y > 4) + rep(0:1, 12) %% 2L > 0

test_that("rows of several ids have one number for equal rows alone", {
  codes <- gibbsite:::row_codes
  expect_identical(codes(list(c("a b", "a", "a b"), c("c", "b c", "c"))),
                   c(1L, 2L, 1L))
  expect_identical(codes(list(c(0.1 + 0.2, 0.3, 0.3))), c(1L, 2L, 2L))
  expect_identical(codes(list(c(NA, "NA", NA))), c(1L, 2L, 1L))
  expect_identical(codes(list(addNA(c(NA, "NA")))), 1:2)
  expect_identical(codes(list(c("a", "a "))), 1:2)
  latin <- iconv("caf\u00e9", "UTF-8", "latin1")
  expect_identical(codes(list(c("caf\u00e9", latin))), c(1L, 1L))
})

test_that("names of rows of several ids are different", {
  words <- gibbsite:::joined_words
  expect_identical(words(list(c("a", "b"), c("c", "c"))), c("a:c", "b:c"))
  expect_identical(words(list(c("x:y", "x", "p"), c("z", "y:z", "q"))),
                   c("\"x:y\":\"z\"", "\"x\":\"y:z\"", "p:q"))
  expect_identical(words(list(c(NA, "NA"))), c("NA", "\"NA\""))
  expect_identical(words(list(c("a", "a"))), c("\"a\"", "\"a\".1"))
})

test_that("numbers that print alike have different words", {
  words <- gibbsite:::id_words
  expect_identical(words(c(0.1 + 0.2, 0.3, 1e5)),
                   c("0.30000000000000004", "0.3", "100000"))
  expect_identical(words(c(1 / 3, NA, Inf)), as.character(c(1 / 3, NA, Inf)))
  expect_identical(as.double(words(1 / 3, exact = TRUE)), 1 / 3)
  match <- gibbsite:::match_ids
  expect_identical(match(c(0.3, 0.1 + 0.2), c(0.1 + 0.2, 0.3)), 2:1)
  # a factor that R made of numbers
  expect_identical(match(factor(c(1e5, 0.1 + 0.2)), c(0.1 + 0.2, 1e5)), 2:1)
  expect_identical(match(c(1e5, 0.1 + 0.2), factor(c(0.1 + 0.2, 1e5))), 2:1)
})

test_that("groups by two variables are pairs, not their pasted names", {
  fit <- brief(gibbs_hlm, y ~ 1 + (1 | a:b), pairs)
  same <- brief(gibbs_hlm, y ~ 1 + (1 | g), pairs)
  expect_equal(as.matrix(fit), as.matrix(same))
  expect_equal(unname(fitted(fit)), unname(fitted(same)))
  expect_identical(
    rownames(nlme::ranef(fit)[["a:b"]]),
    c("w:v", "\"x\":\"y:z\"", "\"x:y\":\"z\"")
  )
  expect_identical(anyDuplicated(colnames(log_lik(fit, by = "group"))), 0L)
  expect_equal(unname(log_lik(fit, by = "group")),
               unname(log_lik(same, by = "group")))
  new <- rbind(pairs[c(9, 1, 17), c("a", "b")], c("x", "z"), c("x:y", "y:z"))
  model <- gibbsite:::fit_part(fit, "model")
  rows <- gibbsite:::new_groups(
    gibbsite:::model_design(model), model$group_name, new, TRUE, NULL
  )
  expect_identical(rows, c(2L, 3L, 1L, 4L, 5L))
  expect_error(predict(fit, new[4, ]), class = "gibbsite_error_level")
  # parentheses are those of the language
  bracketed <- brief(gibbs_hlm, y ~ 1 + (1 | (a:b)), pairs)
  expect_equal(as.matrix(bracketed), as.matrix(fit))

  binomial <- brief(gibbs_logistic, s ~ 1 + (1 | a:b), pairs)
  coded <- brief(gibbs_logistic, s ~ 1 + (1 | g), pairs)
  expect_equal(as.matrix(binomial), as.matrix(coded))
  expect_equal(unname(predict(binomial, pairs[c(9, 1), ])),
               unname(predict(coded, pairs[c(9, 1), ])))
})

test_that("groups that print alike are different groups", {
  skip_long()
  kinds <- list(
    numbers = c(0.1 + 0.2, 0.3, 1), blanks = c("a", "a ", "b"),
    missing = addNA(factor(c("NA", NA, "b"), exclude = NULL)),
    # one hour of the night occurs twice
    times = as.POSIXct(c(1698539400, 1698543000, 1698546600),
                       tz = "Europe/Paris", origin = "1970-01-01")
  )
  for (kind in names(kinds)) {
    data <- data.frame(
      g = rep(kinds[[kind]], each = 8), y = pairs$y, code = rep(1:3, each = 8)
    )
    fit <- brief(gibbs_hlm, y ~ 1 + (1 | g), data)
    groups <- nlme::ranef(fit)$g
    expect_identical(nrow(groups), 3L, label = kind)
    expect_identical(anyDuplicated(rownames(groups)), 0L, label = kind)
    expect_equal(
      unname(predict(fit, data)), unname(fitted(fit)), label = kind
    )
  }
  # text of another encoding is the same text
  data$g <- rep(c("caf\u00e9", "b", "c"), each = 8)
  fit <- brief(gibbs_hlm, y ~ 1 + (1 | g), data)
  data$g <- iconv(data$g, "UTF-8", "latin1")
  expect_equal(unname(predict(fit, data)), unname(fitted(fit)))
})

test_that("columns of different terms with one name are different columns", {
  skip_long()
  data <- data.frame(
    y = pairs$y, a = factor(rep(c("x", "bc"), 12), c("x", "bc")),
    ab = factor(rep(c("x", "c"), each = 12), c("x", "c")),
    g = rep(1:6, 4)
  )
  for (sampler in list(gibbs_lm, gibbs_hlm)) {
    formula <- if (identical(sampler, gibbs_lm)) y ~ a + ab else
      y ~ a + ab + (1 | g)
    expect_message(
      fit <- quietly(sampler(
        formula, data, draws = 30, burnin = 5, chains = 1, seed = 1,
        progress = FALSE
      )),
      class = "gibbsite_message_names"
    )
    expect_identical(colnames(as.matrix(fit))[2:3], c("abc", "abc.1"))
    expect_equal(unname(predict(fit, data)), unname(fitted(fit)))
  }
  # "abc" before the bar is not the fixed effect "abc"
  fit <- brief(gibbs_hlm, y ~ a + (ab | g), data)
  apart <- brief(
    gibbs_hlm, y ~ a + (z | g), transform(data, z = ab == "c")
  )
  expect_equal(
    unname(as.matrix(coef(fit)$g)), unname(as.matrix(coef(apart)$g))
  )
})

test_that("ratings of ids that print alike are of different users", {
  skip_long()
  data <- expand.grid(user = c(0.1 + 0.2, 0.3, 1), item = c("a", "a ", "b"))
  data$value <- seq_len(nrow(data)) / 3
  fit <- brief(gibbs_bmf, data, rank = 1)
  coded <- transform(data, user = match(user, sort(unique(user))))
  twin <- brief(gibbs_bmf, coded, rank = 1)
  expect_equal(as.matrix(fit), as.matrix(twin))
  expect_equal(predict(fit, data)$mean, predict(twin, coded)$mean)
  # new ones too
  new <- data.frame(user = c(0.7 + 0.1, 0.8), item = "a")
  codes <- gibbsite:::new_codes(new$user, c(NA, NA))
  expect_identical(codes, c(-1L, -2L))
  ids <- gibbsite:::append_ids(factor("u"), new$user)
  expect_identical(levels(ids), c("u", "0.79999999999999993", "0.8"))
  features <- data.frame(user = c(0.1 + 0.2, 0.3, 1), age = 1:3)
  expect_no_error(brief(gibbs_bmf, data, rank = 1, user_features = features))
  expect_error(
    gibbs_bmf(transform(data, user = addNA(c(NA, user[-1]))), 1),
    class = "gibbsite_error_missing"
  )
})

test_that("documents and terms are told apart by their values", {
  read <- function(x) suppressMessages(gibbsite:::as_counts(x, call = NULL))
  triplets <- data.frame(
    document = c(1, 2.5, 0.1 + 0.2, 0.3), term = c("a", "a ", "b", "b"),
    count = 1:4
  )
  counts <- read(triplets)
  expect_identical(
    counts$documents, c("1", "2.5", "0.30000000000000004", "0.3")
  )
  expect_identical(counts$terms, c("a", "a ", "b"))
  # a number has one name, whatever others are there
  triplets$term <- c(1, 2.5, 0.1 + 0.2, 0.3)
  counts <- read(triplets)
  again <- gibbsite:::as_counts(
    triplets[3, ], known = counts$terms, arg = "newdata", call = NULL
  )
  expect_identical(counts$terms[again$word], rep("0.30000000000000004", 3))
  triplets$document <- addNA(c("a", NA, "b", "c"))
  expect_error(read(triplets), class = "gibbsite_error_missing")
})

test_that("folds, states and observations that print alike are different", {
  fit <- brief(gibbs_lm, mpg ~ wt, mtcars)
  folds <- rep(c(0.1 + 0.2, 0.3), 16)
  expect_identical(
    gibbsite:::check_folds(folds, 32, "observation", NULL),
    factor(rep(2:1, 16), 1:2, c("0.3", "0.30000000000000004"))
  )
  joint <- array(1, c(2, 2), list(c("a,b", "a"), c("c", "b,c")))
  chain <- gibbs_matrix(joint)
  expect_identical(anyDuplicated(rownames(as.matrix(chain))), 0L)
  rows <- gibbsite:::signed_rows(list(
    x = cbind(c(0.1 + 0.2, 0.3, 0.3) / 0.3), success = c(1, 1, 1),
    total = c(1, 1, 1)
  ), 1L)
  expect_identical(rows$times, c(1L, 2L))
})
