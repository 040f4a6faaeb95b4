# What every function refuses, whichever it is: sparse matrices with broken
# slots, a locked generator, matrices that no memory holds, strings that are no
# text, classes written on anything.  test-badinput.R looks for more by rote.

refused <- function(code, words, class = "gibbsite_error_argument") {
  # as expect_error(), without the backtrace that takes it longer than the rest
  cnd <- tryCatch({
    code
    NULL
  }, error = identity)
  expect_s3_class(cnd, class)
  said <- if (is.null(cnd)) "" else cli::ansi_strip(conditionMessage(cnd))
  # a long message is wrapped
  said <- gsub("[[:space:]]+", " ", said)
  for (part in words) expect_match(said, part, fixed = TRUE)
}

quick <- function(f, ...) {
  quietly(f(..., draws = 5, burnin = 5, chains = 2, seed = 1, progress = FALSE))
}

# ---- sparse matrices ---------------------------------------------------------

sound <- Matrix::sparseMatrix(
  i = c(1, 3, 2, 1), j = c(1, 1, 2, 3), x = c(1, 2, 1, 1), dims = c(3, 3),
  dimnames = list(NULL, c("a", "b", "c"))
)

with_slot <- function(x, slot, at, value) {
  all <- attr(x, slot)
  all[at] <- value
  attr(x, slot) <- all
  x
}

# Each function that reads a sparse matrix, and what it calls it.
readers <- list(
  x = function(z) quick(gibbs_lda, z, 2),
  ratings = function(z) quick(gibbs_bmf, z, 2),
  x = function(z) {
    laplace_logistic(z, c(0, 1, 0), draws = 5, seed = 1, progress = FALSE)
  }
)

# In the fast suite the readers take turns.
turn <- 0
each_reader <- function(z, words) {
  turn <<- turn + 1
  for (k in fast_or(1 + turn %% 3, seq_along(readers))) {
    refused(
      readers[[k]](z),
      paste0(
        "`", names(readers)[[k]], "` is not a valid sparse matrix: ", words
      ),
      "gibbsite_error_sparse"
    )
  }
}

test_that("starts of columns are checked whole, before anything is read", {
  skip_long()
  each_reader(
    with_slot(sound, "p", 2L, 1000L),
    "`p` must not fall: element 3 is 3, after 1000."
  )
  each_reader(
    with_slot(sound, "p", 2L, -3L),
    "`p` must not fall: element 2 is -3, after 0."
  )
  each_reader(with_slot(sound, "p", 1L, 1L), "`p` must begin with 0, not 1.")
  each_reader(
    with_slot(sound, "p", 4L, 400L),
    "`p` must end with 4 (length of `i`), not 400."
  )
  each_reader(
    with_slot(sound, "p", 2L, NA_integer_), "`p` must not fall: element 2 is NA"
  )
  each_reader(
    `attr<-`(sound, "p", c(0L, 4L)), "`p` must be 4 whole numbers"
  )
  each_reader(`attr<-`(sound, "p", "a"), "`p` must be 4 whole numbers")
})

test_that("rows are in range, in order and there once", {
  skip_long()
  each_reader(
    with_slot(sound, "i", 2L, 1000000L),
    "`i` must lie between 0 and 2: element 2 is 1000000."
  )
  each_reader(
    with_slot(sound, "i", 3L, NA_integer_),
    "`i` must lie between 0 and 2: element 3 is NA."
  )
  each_reader(
    with_slot(sound, "i", 1:2, c(2L, 0L)),
    "`i` must rise within a column: element 2 is 0, after 2."
  )
  each_reader(
    with_slot(sound, "i", 2L, 0L),
    "`i` must rise within a column: element 2 is 0, after 0."
  )
  each_reader(`attr<-`(sound, "i", c(0, 2, 1, 0)), "`i` must be whole numbers.")
  each_reader(
    `attr<-`(sound, "x", c(1, 2)),
    "`x` must have 4 elements, one for each entry, not 2."
  )
})

test_that("sizes, names and other forms are checked too", {
  skip_long()
  each_reader(with_slot(sound, "Dim", 1L, -3L), "`Dim` must be two whole")
  each_reader(
    `attr<-`(sound, "Dimnames", list(NULL, "a")),
    "`Dimnames` must be a list of the names of rows and columns."
  )
  triplets <- methods::as(sound, "TsparseMatrix")
  each_reader(
    with_slot(triplets, "j", 2L, -5L),
    "`j` must lie between 0 and 2: element 2 is -5."
  )
  each_reader(
    with_slot(triplets, "i", 2L, NA_integer_),
    "`i` must lie between 0 and 2: element 2 is NA."
  )
  by_row <- methods::as(sound, "RsparseMatrix")
  each_reader(
    with_slot(by_row, "p", 2L, 1000L), "`p` must not fall: element 3 is"
  )
  each_reader(
    with_slot(by_row, "j", 1L, 9L), "`j` must lie between 0 and 2: element 1"
  )
  dense <- Matrix::Matrix(c(1, 2, 3, 4), 2, sparse = FALSE)
  refused(
    quick(gibbs_lda, `attr<-`(dense, "x", c(1, 2)), 2),
    "not a valid object of its class", "gibbsite_error_sparse"
  )
})

test_that("slam's triplets are checked", {
  skip_long()
  slam <- function(i, j, v = rep(1, length(i)), nrow = 3L, ncol = 3L) {
    structure(
      list(i = i, j = j, v = v, nrow = nrow, ncol = ncol, dimnames = NULL),
      class = "simple_triplet_matrix"
    )
  }
  for (read in readers[1:2]) {
    refused(
      read(slam(c(1L, 900L), 1:2)),
      "`i` must lie between 1 and 3: element 2 is 900", "gibbsite_error_sparse"
    )
    refused(
      read(slam(1:2, c(1L, NA))),
      "`j` must lie between 1 and 3: element 2 is NA",
      "gibbsite_error_sparse"
    )
    refused(
      read(slam(1:2, 1:2, 1)), "`v` must have 2 elements",
      "gibbsite_error_sparse"
    )
    refused(
      read(slam(1:2, 1:2, nrow = NA)), "`nrow` must be a whole number",
      "gibbsite_error_sparse"
    )
    refused(
      read(structure(list(i = 1L), class = "simple_triplet_matrix")),
      "`j` is missing", "gibbsite_error_sparse"
    )
  }
  # whole numbers as doubles are slam's own
  fit <- quick(gibbs_lda, slam(c(1, 2, 3), c(1, 2, 3)), 2)
  expect_s3_class(fit, "gibbs_lda")
})

test_that("a sound sparse matrix of any form is read as the dense one", {
  skip_long()
  dense <- as.matrix(sound)
  dense[dense == 0] <- NA
  forms <- c("CsparseMatrix", "TsparseMatrix", "RsparseMatrix")
  words <- lapply(forms, function(form) {
    unclass(quick(gibbs_lda, methods::as(sound, form), 2))[1:2]
  })
  expect_identical(words[[2]], words[[1]])
  expect_identical(words[[3]], words[[1]])
  logistic <- lapply(forms, function(form) {
    coef(laplace_logistic(methods::as(sound, form), c(0, 1, 0),
      draws = 5, seed = 1, progress = FALSE
    ))
  })
  expect_equal(logistic[[2]], logistic[[1]])
  expect_equal(logistic[[3]], logistic[[1]])
})

test_that("C refuses what R has not checked", {
  columns <- list(
    n = 3, p = 3, start = c(0L, 1000L, 2L, 4L), row = 0:3, value = c(1, 2, 1, 1)
  )
  expect_error(
    .Call(gibbsite:::C_design_columns, columns, rep(1, 3)),
    "`start` must rise from 0 to 4: not so at 3"
  )
  columns$start <- c(0L, 2L, 2L, 4L)
  expect_error(
    .Call(gibbsite:::C_design_columns, columns, rep(1, 3)),
    "`row` must lie between 0 and 2: not so at 4"
  )
})

# ---- the generator, and memory -----------------------------------------------

test_that("a locked generator is an error before anything is drawn", {
  skip_long()
  set.seed(1)
  lockBinding(".Random.seed", globalenv())
  withr::defer(unlockBinding(".Random.seed", globalenv()))
  locked <- function(code) {
    refused(code, "`.Random.seed` is locked", "gibbsite_error_generator")
  }
  density <- function(x) -0.5 * sum(x^2)
  locked(gibbs_gmm(faithful, 2, progress = FALSE))
  locked(gibbs_gmm(faithful, 2, seed = 1, progress = FALSE))
  locked(mh_sample(density, 0, seed = 1, progress = FALSE))
  locked(laplace(density, 0, seed = 1, progress = FALSE))
  locked(laplace_logistic(am ~ wt, mtcars, seed = 1, progress = FALSE))
  locked(sim_gmm(3, 1, 0, 1))
  locked(sim_lda(2, 2, 3, 4))
  locked(sim_bmf(3, 3))
})

test_that("matrices that no memory holds are refused early, with a way out", {
  skip_long()
  large <- function(code, words) refused(code, words, "gibbsite_error_size")
  density <- function(x) -0.5 * sum(x^2)
  init <- numeric(20000)
  large(
    mh_sample(density, init, progress = FALSE),
    c(
      "`proposal` needs in each chain a matrix of 20,000 x 20,000 numbers",
      "Use `blocks`, or `random_walk(scale = )`, `langevin()` or `nuts()`"
    )
  )
  large(
    gibbs_sample(list(a = mh_step(function(state) 0)), list(a = init),
      progress = FALSE
    ),
    "The proposal of `conditionals$a` needs in each chain a matrix"
  )
  large(
    laplace(density, init, progress = FALSE), "The Hessian of `log_density`"
  )
  large(
    gibbs_gmm(matrix(0, 3, 20000), 1, progress = FALSE),
    "A covariance matrix of the columns of `x` has 20,000 x 20,000 numbers"
  )
  large(
    laplace_logistic(
      Matrix::sparseMatrix(1:3, 1:3, x = 1, dims = c(3, 20000)), c(0, 1, 0),
      progress = FALSE
    ),
    "The precision matrix of the coefficients of `x` has 20,000 x 20,000"
  )
  # one that needs no matrix runs
  fit <- quietly(mh_sample(density, init, random_walk(1e-3),
    draws = 1, burnin = 0, thin = 1, chains = 1, inits = list(init), seed = 1,
    progress = FALSE
  ))
  expect_s3_class(fit, "mh_sample")
})

test_that("options that are nonsense are named before a run", {
  skip_long()
  for (name in c("segment_seconds", "round_seconds", "checkpoint_seconds",
                 "worker_seconds", "max_draws_mb", "on_interrupt")) {
    option <- paste0("gibbsite.", name)
    withr::with_options(stats::setNames(list("x"), option), {
      refused(
        quick(gibbs_gmm, faithful, 2), paste0("options(\"", option, "\")")
      )
    })
  }
})

# ---- strings, counts, missing arguments --------------------------------------

test_that("a string that is no text is shown by its bytes", {
  skip_long()
  refused(
    gibbs_gmm(faithful, 2, covariance = "\xff\xfe"),
    c("not the string \"\\xff\\xfe\"", "It is not valid text")
  )
  bytes <- "\xff"
  Encoding(bytes) <- "bytes"
  refused(gibbs_gmm(faithful, 2, covariance = bytes), "`covariance` must be")
  refused(gibbs_gmm(faithful, 2, checkpoint = "\xff"), "`checkpoint` must be")
  refused(
    mh_sample(function(x) 0, stats::setNames(1:2, c("a", "\xff"))),
    "names(init)", "gibbsite_error_text"
  )
  named <- stats::setNames(faithful, c("a", "\xff"))
  refused(gibbs_gmm(named, 2), "names of x", "gibbsite_error_text")
  refused(
    gibbs_lda(data.frame(document = 1, term = "\xff"), 2), "x$term",
    "gibbsite_error_text"
  )
  refused(
    gibbs_bmf(data.frame(user = "\xff", item = 1, value = 1)), "ratings (user)",
    "gibbsite_error_text"
  )
})

test_that("a long vector for one number is neither looked through nor copied", {
  skip_long()
  long <- seq_len(2^31)
  before <- gc(reset = TRUE)["Vcells", 2]
  refused(
    gibbs_gmm(faithful, 2, draws = long),
    paste(
      "`draws` must be NULL or a whole number between 1 and 2147483647, not a",
      "numeric vector of length 2147483648."
    )
  )
  refused(gibbs_gmm(faithful, 2, covariance = long), "length 2147483648")
  refused(mh_sample(function(x) 0, long), "`init` must have length 10000000")
  refused(gibbs_gmm(long, 2), "2^31 - 1 rows at most")
  refused(random_walk(scale = long), "`scale` must have length 10000000")
  expect_lt(gc()["Vcells", 6] - before, 200)
})

test_that("a whole number is one: nothing but 0 is 0", {
  skip_long()
  refused(gibbs_gmm(faithful, 2, burnin = 1e-320), "not 9.99988")
  refused(gibbs_gmm(faithful, 2, seed = 1e-320), "`seed` must be")
  refused(gibbs_gmm(faithful, 2, burnin = -1e-9), "`burnin` must be")
  expect_identical(check_count(3 + 1e-12), 3L)
  expect_identical(check_count(0, min = 0), 0L)
})

test_that("a missing argument is named, in every function", {
  skip_long()
  refused(converged(), "`fit` is needed: a fit with draws.")
  refused(gamma_prior(1), "`rate` is needed")
  refused(uniform_prior(upper = 1), "`lower` is needed")
  refused(sim_bmf(), "`users` is needed")
  refused(laplace_logistic(), "`x` is needed: a formula")
  space <- asNamespace("gibbsite")
  exports <- sort(getNamespaceExports(space))
  for (name in exports[seq(1, length(exports), by = fast_or(8, 1))]) {
    f <- get(name, space)
    arguments <- formals(f)
    first <- names(arguments)[1]
    if (identical(environment(f), space) && length(arguments) > 0 &&
          first != "..." && rlang::is_missing(arguments[[1]])) {
      refused(f(), paste0("`", first, "` is needed"))
    }
  }
})

# ---- classes written on anything ---------------------------------------------

test_that("a forged fit, rule, prior or proposal is named for what it is", {
  skip_long()
  forged <- structure(
    list(), class = c("gibbs_gmm", "gibbsite_fit", "mcmc.list")
  )
  for (f in fast_or(list(summary, predict, posterior::ndraws, tidy), list(
    summary, print, converged, plot, as.matrix, predict, posterior::ndraws,
    tidy, glance, drop_data
  ))) {
    refused(
      f(forged), "has the class of a fit, but has no model",
      "gibbsite_error_forged"
    )
  }
  refused(extend(forged, 1), "`object` has the class of a fit")
  refused(identical_fit(forged, forged), "`a` has the class of a fit")
  refused(combine_fits(forged, forged), "`fit 1` has the class of a fit")
  until <- structure(list(rhat = "a"), class = "gibbsite_until")
  refused(
    gibbs_gmm(faithful, 2, stop_when = until),
    "`stop_when` is not what `until()` makes: it has no ess", "gibbsite_error"
  )
  rule <- gibbsite::until()
  rule$every <- -1
  refused(
    gibbs_gmm(faithful, 2, stop_when = rule),
    "`stop_when` is not what `until()` makes", "gibbsite_error_forged"
  )
  refused(print(until), "is not what `until()` makes", "gibbsite_error_forged")
  prior <- gmm_prior()
  prior$alpha <- "a"
  refused(
    gibbs_gmm(faithful, 2, prior), "`prior` is not what `gmm_prior()` makes"
  )
  walk <- structure(list(), class = c("random_walk", "gibbsite_proposal"))
  refused(
    mh_sample(function(x) 0, 0, walk),
    "`proposal` is not what `random_walk()` makes"
  )
  refused(mh_step(function(state) 0, walk), "`proposal` is not what")
  step <- structure(list(), class = "gibbsite_mh_step")
  refused(
    gibbs_sample(list(a = step), list(a = 0)),
    "`conditionals$a` is not what `mh_step()` makes"
  )
  refused(
    mh_sample(structure(function(x) 0, class = "gibbsite_native_density"), 0),
    "`log_density` is not what `native_density()` makes"
  )
})

test_that("a fit of other draws is still one, of other shape is not", {
  skip_long()
  fit <- short_gmm(draws = 20)
  coda::varnames(fit) <- paste0("v", seq_along(coda::varnames(fit)))
  expect_output(print(fit), "gibbs_gmm")
  fit <- short_gmm(draws = 20)
  fit[[2]] <- fit[[2]][, 1:2]
  refused(print(fit), "has no draws of its quantities", "gibbsite_error_forged")
  refused(extend(fit, 5), "the matrix of draws was replaced",
    class = "gibbsite_error_state"
  )
})

test_that("names and functions that cannot be meant are refused", {
  skip_long()
  refused(bmf_prior(W0 = c(a = 1, b = 2)), "`W0` must not have names")
  refused(bmf_prior(mu0 = c(a = 1, b = 2)), "`mu0` must not have names")
  refused(
    custom_proposal(function(x) x, sum),
    "`log_density` must be a function of two arguments of yours"
  )
  refused(
    custom_proposal(abs, NULL), "`draw` must be a function of one argument"
  )
})

# ---- formulas ----------------------------------------------------------------

test_that("random effects and smooth terms are said not to be supported", {
  skip_long()
  d <- transform(mtcars, g = factor(gear))
  fit <- function(formula) {
    laplace_logistic(formula, d, draws = 5, seed = 1, progress = FALSE)
  }
  bar <- am ~ wt + (1 | g)
  refused(fit(bar), c(
    "cannot have random effects, such as `(1 | g)`",
    "`gibbs_logistic()` has them"
  ))
  refused(gibbs_lm(mpg ~ wt + (1 | g), d), "`gibbs_hlm()` has them")
  refused(fit(am ~ (wt || g)), "cannot have random effects")
  refused(fit(am ~ s(wt)), "cannot have smooth terms, such as `s()`")
  refused(fit(am ~ te(wt, hp) + g), "`splines::ns(x, 4)`")
  # what looks alike and is none of them
  expect_s3_class(fit(am ~ I(wt > 3 | hp > 200)), "laplace_logistic")
  expect_s3_class(fit(am ~ splines::ns(wt, 3)), "laplace_logistic")
  s <- function(x) x^2
  expect_s3_class(fit(am ~ s(wt)), "laplace_logistic")
})

test_that("what a formula's data and rows are is checked", {
  skip_long()
  fit <- function(...) {
    laplace_logistic(am ~ wt, ..., draws = 5, seed = 1, progress = FALSE)
  }
  refused(fit(3), "`data` must be a data frame, a list or an environment")
  refused(fit(mtcars, subset = NA), "`subset` must choose rows")
  refused(fit(mtcars, subset = 1.5), "`subset` must choose rows")
  refused(fit(mtcars, subset = "no such row"), "`subset` must choose rows")
  some <- laplace_logistic(am ~ wt, mtcars, subset = hp > 100,
    draws = 5, seed = 1, progress = FALSE
  )
  expect_identical(nobs(some), 23L)
  expect_identical(nobs(fit(mtcars, subset = rownames(mtcars)[1:20])), 20L)
  # NA leaves a row out, whatever na_action says
  gaps <- replace(mtcars$hp, 1:3, NA)
  line <- gibbs_lm(mpg ~ wt, mtcars, prior = lm_prior("nig"), draws = 100,
    subset = gaps > 100, chains = 1, progress = FALSE
  )
  expect_identical(nobs(line), sum(gaps > 100, na.rm = TRUE))
  refused(
    fit(mtcars, contrasts = list(nothing = "contr.sum")), "`contrasts` must be"
  )
  refused(
    fit(mtcars, na_action = function(x) 1), "`na_action` must return rows"
  )
})

# ---- what methods of fits are asked for --------------------------------------

test_that("parameters are named or numbered, and nothing else is coerced", {
  skip_long()
  fit <- laplace_logistic(am ~ wt, mtcars, draws = 20, chains = 2, seed = 1,
    progress = FALSE
  )
  refused(confint(fit, NULL), "`parm` must be names or numbers, not NULL")
  refused(confint(fit, sum), "`parm` must be names or numbers")
  refused(confint(fit, 1.5), "`parm` must be among \"(Intercept)\" and \"wt\"")
  refused(confint(fit, c("wt", NA)), "`parm` must be among")
  refused(confint(fit, "\xff"), "`parm` must be valid text")
  # as.character() of such a matrix reads out of its bounds
  broken <- broken_sparse("starts")
  refused(confint(fit, broken), "`parm` must be names or numbers")
  expect_identical(rownames(confint(fit, 2:1)), c("wt", "(Intercept)"))
  expect_identical(confint(fit, "wt"), confint(fit, c(a = 2)))
})

test_that("names of rows are one a row, and differ", {
  skip_long()
  fit <- short_gmm(draws = 5)
  rows <- 5L * length(fit)
  frame <- function(names) as.data.frame(fit, row.names = names)
  refused(frame(NA), "`row.names` must be NULL or a vector of names")
  refused(frame("a"), "`row.names` must have length 10 (the number of rows)")
  refused(frame(rep("a", rows)), "names that differ, but has one of them twice")
  refused(frame(c(NA, seq_len(rows - 1))), "but has a missing one")
  names <- paste0("row", seq_len(rows))
  expect_identical(row.names(frame(names)), names)
})

test_that("pictures refuse what they would not look at", {
  skip_long()
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  fit <- laplace_logistic(am ~ wt, mtcars, draws = 50, chains = 2, seed = 1,
    progress = FALSE
  )
  refused(plot(fit, variable = "wt"), "`variable` must be NULL where `type` is")
  refused(plot(fit, groups = 3), "`groups` must be NULL where `type` is not")
  refused(plot(fit, "response", variables = "wt"), "`variables` must be NULL")
  mixture <- short_gmm(draws = 5)
  refused(plot(mixture, new.env()), "`type` must be one of")
  refused(
    plot(mixture, "mixture", variables = sum), "`variables` must be names or"
  )
  refused(plot(mixture, "mixture", variables = c(1, 1)), "at most six of")
})

test_that("a table is printed in whole rows", {
  skip_long()
  table <- summary(short_gmm(draws = 5))
  refused(print(table, n = NA), "`n` must be a whole number")
  refused(print(table, n = -1), "`n` must be a whole number of at least 1")
  expect_output(print(table, n = 1), "more rows")
  expect_output(print(table, n = Inf), "log_lik")
})

test_that("a corpus is of a size that fits, and concentrations may be tiny", {
  refused(sim_lda(1e308, 2, 3, 4), "Lower `k`, `documents` or",
    "gibbsite_error_size"
  )
  withr::local_seed(1)
  corpus <- sim_lda(5, 2, 3, 4, alpha = 1e-320, eta = c(1e-320, 1e-320, 2e-320))
  expect_identical(rowSums(corpus$phi), c(1, 1))
  expect_true(all(c(corpus$phi, corpus$theta) %in% 0:1))
  # who has all is drawn in proportion to the concentrations: each count lies
  # within four standard deviations of 400 trials
  many <- sim_lda(400, 2, 3, 1, alpha = c(1e-320, 3e-320))
  expect_lt(abs(sum(many$theta[, 2]) - 300), 4 * sqrt(400 * 0.25 * 0.75))
})

test_that("update() says what cannot be done to the formula", {
  fit <- laplace_logistic(am ~ wt, mtcars, draws = 5, seed = 1,
    progress = FALSE
  )
  refused(update(fit, 3), "`formula.` must be a formula, not 3")
  refused(update(fit, "a b"), "`formula.` cannot be applied to `am ~ wt`")
  expect_identical(
    update(fit, ~ . + hp, evaluate = FALSE)$formula, am ~ wt + hp,
    ignore_attr = TRUE
  )
})

test_that("a state past its draws is damage: it would never come to the next", {
  skip_long()
  fit <- short_gmm(draws = 5)
  chains <- attr(fit, "chains")
  chains[[2]]$state$sweep <- chains[[2]]$state$sweep + 3
  attr(fit, "chains") <- chains
  refused(extend(fit, 1, progress = FALSE),
    "chain 2 stands at a sweep of other draws", "gibbsite_error_state"
  )
})

# ---- Classes of vectors ------------------------------------------------------

# Vectors of classes whose packages are not loaded.
classed_vectors <- function(x) {
  as_class <- function(...) structure(x, class = c(...))
  list(
    haven = structure(x, class = c("haven_labelled", "vctrs_vctr", "double"),
                      labels = c(low = 1)),
    whole = structure(as.integer(x), labels = c(low = 1L),
                      class = c("haven_labelled", "vctrs_vctr", "integer")),
    vctr = as_class("some_vctr", "vctrs_vctr"),
    pillar = as_class("pillar_num", "pillar_vctr", "vctrs_vctr", "double"),
    units = structure(x, class = "units", units = "m"), asis = I(x),
    table = as.table(x), ts = ts(x), noquote = noquote(x),
    zoo = structure(x, index = seq_along(x), class = "zoo"),
    xts = structure(matrix(x), index = x, class = c("xts", "zoo")),
    octmode = as.octmode(as.integer(x)), other = as_class("svystat"),
    integer64 = as_class("integer64"), hms = as_class("hms", "difftime"),
    minutes = as.difftime(x, units = "mins"), Date = as.Date("2020-01-01") + x,
    time = as.POSIXct("2020-01-01", tz = "UTC") + x, factor = factor(x),
    version = numeric_version(as.character(x)),
    list = structure(as.list(x), class = c("vctrs_list_of", "vctrs_vctr",
                                           "list")),
    record = structure(list(a = x, b = x), class = c("vctrs_rcrd",
                                                     "vctrs_vctr", "list"))
  )
}

# The value of a call, or NULL if it is refused by an error of the package. Any
# other error is one.
value_or_refused <- function(code) {
  suppressMessages(tryCatch(code, gibbsite_error = function(cnd) NULL))
}

test_that("vectors of any class are numbers or refused", {
  skip_long()
  x <- as.double(1:20)
  y <- withr::with_seed(1, 3 * x + stats::rnorm(20))
  short <- function(f, ...) {
    fit <- suppressWarnings(f(..., draws = 4, burnin = 0, chains = 1, seed = 1,
                              progress = FALSE))
    unname(as.matrix(fit))
  }
  ways <- list(
    mean = function(v) unname(monte_carlo(v)$estimate),
    points = function(v) unname(empirical_distribution(v)$x),
    gmm = function(v) short(gibbs_gmm, v, 1),
    columns = function(v) {
      data <- data.frame(y = y)
      data$x <- v
      short(gibbs_gmm, data["x"], 1)
    },
    predictor = function(v) {
      data <- data.frame(y = y)
      data$x <- v
      short(gibbs_lm, y ~ x, data)
    },
    response = function(v) short(gibbs_lm, v ~ y),
    weights = function(v) {
      fit <- suppressWarnings(gibbs_lm(y ~ 1, weights = v, draws = 4,
                                       burnin = 0, chains = 1, seed = 1,
                                       progress = FALSE))
      unname(as.matrix(fit))
    },
    ratings = function(v) {
      table <- data.frame(user = rep(1:4, 5), item = rep(1:5, each = 4))
      table$rating <- v
      short(gibbs_bmf, table, 2)
    },
    counts = function(v) {
      table <- data.frame(document = rep(1:4, 5), term = rep(1:5, each = 4))
      table$count <- v
      short(gibbs_lda, table, 2)
    }
  )
  ways <- ways[fast_or(
    c("points", "predictor", "ratings"), names(ways)
  )]
  vectors <- classed_vectors(x)
  taken <- 0
  for (way in names(ways)) {
    plain <- ways[[way]](x)
    some <- if (way == "points" || is_extended()) names(vectors) else {
      c("haven", "whole", "units", "zoo", "integer64", "hms", "list")
    }
    for (name in some) {
      value <- value_or_refused(ways[[way]](vectors[[name]]))
      label <- paste(way, "of", name)
      # dates are counted from another day, and factors have codes
      if (name %in% c("Date", "time", "factor")) next
      if (!is.null(value)) {
        expect_equal(value, plain, label = label)
        taken <- taken + 1
      }
      if (name == "integer64") expect_null(value, label = label)
    }
    # labelled numbers are numbers everywhere
    for (name in c("haven", "whole")) {
      expect_equal(
        value_or_refused(ways[[way]](vectors[[name]])), plain, label = way
      )
    }
  }
  expect_gt(taken, fast_or(20, 80))
})

test_that("ids of any class are ids or refused", {
  skip_long()
  x <- as.double(1:20)
  users <- function(v) {
    table <- data.frame(item = rep(1:5, each = 4), rating = x)
    table$user <- v
    fit <- suppressWarnings(gibbs_bmf(table[c("user", "item", "rating")], 2,
                                      draws = 4, burnin = 0, chains = 1,
                                      seed = 1, progress = FALSE))
    length(fit_part(fit, "model")$users)
  }
  documents <- function(v) {
    table <- data.frame(term = rep(1:5, each = 4), count = 1)
    table$document <- v
    fit <- suppressWarnings(gibbs_lda(table, 2, draws = 4, burnin = 0,
                                      chains = 1, seed = 1, progress = FALSE))
    length(fit_part(fit, "model")$documents)
  }
  fit_part <- gibbsite:::fit_part
  vectors <- classed_vectors(x)
  vectors$raw <- structure(as.raw(x), class = "bigz")
  some <- fast_or(c(
    "haven", "whole", "vctr", "asis", "hms", "Date", "factor", "list", "record",
    "raw"
  ), names(vectors))
  for (name in some) {
    for (count in list(users, documents)) {
      found <- value_or_refused(count(vectors[[name]]))
      if (!is.null(found)) expect_identical(found, 20L, label = name)
    }
  }
  skip_if(isNamespaceLoaded("bit64"), "bit64 is loaded")
  refused(users(vectors$integer64), "Load the bit64 package")
  refused(documents(vectors$integer64), "Load the bit64 package")
})

test_that("a forged fit is refused by the name that the user's call gives it", {
  skip_long()
  forged <- structure(
    list(), class = c("gibbs_lm", "gibbsite_regression", "gibbsite_fit")
  )
  named <- function(code, arg, name) {
    error <- tryCatch(code, error = identity)
    expect_s3_class(error, "gibbsite_error_forged")
    expect_match(conditionMessage(error), paste0("^`", arg, "` has the class"))
    expect_identical(deparse(conditionCall(error)[[1]]), name)
  }
  named(vcov(forged), "object", "vcov")
  named(posterior::nvariables(forged), "x", "posterior::nvariables")
  named(loo::waic(forged), "x", "loo::waic")
  named(convergence(forged), "fit", "convergence")
  named(monte_carlo(forged), "draws", "monte_carlo")
  # also where a part is read further down
  named(predictive_interval(forged), "object", "predictive_interval")
})

test_that("an error names the function or the name that is meant", {
  skip_long()
  refused(gibbs_lm(mpg ~ Wt, mtcars), "Is it \"wt\"?")
  refused(gibbs_gmm(~ Sepal.Lenght, iris, 2), "Is it \"Sepal.Length\"?")
  refused(
    gibbs_hlm(weight ~ Time + (1 | Chik), ChickWeight), "Is it \"Chick\"?"
  )
  made <- data.frame(user = c("a", "b"), item = c("c", "d"), y = 1:2)
  refused(gibbs_bmf(y ~ usr + item, made), "Is it \"user\"?")
  expect_no_match(
    conditionMessage(rlang::catch_cnd(gibbs_lm(mpg ~ other, mtcars))), "Is it"
  )
  refused(gibbs_lm(Species ~ Sepal.Width, iris), "`gibbs_categorical()`")
  refused(gibbs_logistic(Species ~ Sepal.Width, iris), "`gibbs_categorical()`")
  refused(gibbs_logistic(carb ~ wt, mtcars), "`gibbs_count()`")
  refused(gibbs_gmm(faithful, 1:3), "`k = \"unknown\"`")
  refused(
    gibbs_lda(text ~ id, mtcars, 2),
    "must be counts of terms, tokens or texts, not a formula"
  )
})

test_that("a name that the starting point lacks is named", {
  skip_long()
  run <- function(f, init) mh_sample(f, init, draws = 5, progress = FALSE)
  class <- "gibbsite_error_user_function"
  lacks <- "`init` has no \"m\", which `log_density` takes by name"
  refused(run(function(p) -p["m"]^2, c(mu = 0)), lacks, class)
  refused(run(function(p) if (p["m"] > 0) 0 else 1, c(mu = 0)), lacks, class)
  refused(run(function(p) -p[["m"]]^2, c(mu = 0)), lacks, class)
  refused(
    run(function(p) if (p["m"] > 0) 0 else 1, 0), "`init` has no names", class
  )
})
