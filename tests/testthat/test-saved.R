# What a fit saves with its functions, formulas and call.

bytes <- function(x) length(serialize(x, NULL))

# 8 MB that nothing uses are the neighbours of what a fit uses.
expect_small <- function(fit) {
  expect_lt(bytes(fit), 2e5)
  if (inherits(fit, "gibbsite_fit")) {
    expect_lt(bytes(drop_data(fit)), 2e5)
  }
}

cars <- mtcars[c("mpg", "wt", "hp", "am", "cyl")]

test_that("a fit made in a function does not save what is there", {
  skip_long()
  makers <- list(
    function(d) brief(gibbs_lm, mpg ~ wt, d),
    function(d) brief(gibbs_hlm, mpg ~ wt + (1 | cyl), d),
    function(d) brief(gibbs_logistic, am ~ wt, d),
    function(d) brief(gibbs_logistic, am ~ wt + (1 | cyl), d),
    function(d) laplace_logistic(am ~ wt, d, draws = 10, seed = 1),
    function(d) brief(gibbs_gmm, ~ mpg + wt, d, k = 2),
    function(d) brief(gibbs_bmf, mpg ~ cyl + am, 1, data = d),
    function(d) brief(gibbs_lm, mpg ~ wt, d, inits = function(k) list()),
    function(d) {
      brief(mh_sample, function(w, y) sum(stats::dnorm(y, w, 1, TRUE)),
            c(mu = 0), y = d$mpg)
    },
    function(d) {
      brief(mh_sample, function(w) -sum(w^2) / 2, c(a = 0),
            custom_proposal(function(x) x + stats::rnorm(1), NULL),
            inits = function(k) stats::rnorm(1))
    },
    function(d) {
      brief(mh_sample, function(w) -sum(w^2) / 2, c(a = 0), nuts(),
            gradient = function(w) -w)
    },
    function(d) laplace(function(w) -sum(w^2), c(a = 1), draws = 10, seed = 1),
    function(d) {
      brief(gibbs_sample, list(
        x = mh_step(function(s) -s$x^2 / 2, random_walk(1)),
        y = function(s) stats::rnorm(1, s$x)
      ), list(x = 0, y = 0))
    },
    function(d) {
      gibbs_sample(list(x = function(s) 1), list(x = 0), method = "icm",
                   log_joint = function(s) -(s$x - 1)^2, seed = 1)
    },
    function(d) {
      lp <- function(w, y) sum(stats::dnorm(y, w, 1, TRUE)) - w^2 / 2
      sbc(mh_sample(lp, c(mu = 0), y = 1:2), n = 2, draws = 3,
          draw_prior = function() stats::rnorm(1),
          simulate_data = function(w) list(y = stats::rnorm(2, w)),
          chains = 1, seed = 1, progress = FALSE)
    },
    function(d) do.call(brief, list(gibbs_lm, mpg ~ wt, cbind(d, big)))
  )
  for (maker in makers[fast_or(c(2, 6, 8, 10, 13, 16), TRUE)]) {
    environment(maker) <- list2env(
      list(big = matrix(stats::rnorm(2e5), 32), brief = brief),
      parent = topenv()
    )
    expect_small(maker(cars))
  }
})

test_that("the source file of a function is not saved", {
  skip_long()
  code <- parse(
    text = c("f <- function(w) -sum(w^2)", rep("# a line of the file", 2e4)),
    keep.source = TRUE
  )
  space <- new.env()
  eval(code, space)
  expect_gt(bytes(space$f), 2e5)
  fit <- brief(mh_sample, space$f, c(a = 0))
  expect_small(fit)
  expect_small(do.call(brief, list(mh_sample, space$f, c(a = 0))))
})

# Fits as a function of the user makes them, and what another session does with
# one of them.
elsewhere <- function(fit, use) {
  skip_if_not_installed("callr")
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(fit, file)
  callr::r(function(file, use, library) {
    .libPaths(c(library, .libPaths()))
    loadNamespace("gibbsite")
    use(readRDS(file))
  }, list(file, use, dirname(find.package("gibbsite"))))
}

test_that("what a fit uses is there in another session", {
  skip_unless_extended()
  skip_on_cran()
  made <- function(data) {
    centre <- 3
    degree <- 2
    half <- function(x) x / divisor
    divisor <- 2
    wt <- "not the column"
    big <- stats::rnorm(1e6)
    quietly(gibbs_lm(
      mpg ~ I(wt - centre) + poly(hp, degree) + half(wt^2), data, draws = 30,
      burnin = 5, seed = 1, progress = FALSE
    ))
  }
  environment(made) <- topenv()
  fit <- made(cars)
  in_fit <- function(fit) environment(attr(fit, "model")$design$formula)
  kept <- in_fit(fit)
  expect_setequal(ls(kept), c("centre", "degree", "half", "data"))
  again <- elsewhere(fit, function(fit) {
    stats::predict(fit, mtcars[1:3, ])
  })
  expect_equal(again, predict(fit, mtcars[1:3, ]))
  bare <- drop_data(fit)
  expect_setequal(ls(in_fit(bare)), c("centre", "degree", "half"))
  expect_equal(predict(bare, cars[1:3, ]), predict(fit, cars[1:3, ]))

  sampled <- local({
    sd <- 2
    density <- function(w) inner(w)
    inner <- function(w) if (w > 1e6) inner(0) else -sum((w / sd)^2)
    brief(mh_sample, density, c(a = 0))
  })
  longer <- elsewhere(sampled, function(fit) {
    gibbsite::extend(fit, 10, progress = FALSE)
  })
  expect_equal(
    as.matrix(longer), as.matrix(quietly(extend(sampled, 10, progress = FALSE)))
  )
})

test_that("functions of which it is not known what they use keep all", {
  skip_long()
  counter <- local({
    count <- 0
    big <- stats::rnorm(1e5)
    list(
      density = function(w) {
        count <<- count + 1
        -w^2 / 2
      },
      count = function() count
    )
  })
  fit <- brief(mh_sample, counter$density, c(a = 0))
  expect_gt(counter$count(), 30)
  expect_gt(bytes(fit), 5e5)

  functions <- local({
    scale <- 3
    name <- "scale"
    square <- function(x) x^2
    formula <- ~ scale
    list(
      function(w) -(w / get("scale"))^2,
      function(w) -(w / eval(as.name(name)))^2,
      function(w) -(w / environment(sys.function())$scale)^2,
      function(w) -do.call("square", list(w / scale)),
      function(w) -sapply(w / scale, "square"),
      function(w) -Reduce(`+`, lapply(w / scale, square)),
      function(w) -(w / eval(formula[[2L]], environment(formula)))^2,
      function(w) -(w / with(list(one = 1), one * scale))^2,
      (function(...) function(w) -(w / sum(...))^2)(scale),
      (function(s) function(w) -(w / s)^2)(scale),
      (function(s, none) function(w) if (w > 1e6) none else -(w / s)^2)(scale)
    )
  })
  expected <- as.matrix(brief(mh_sample, function(w) -(w / 3)^2, c(a = 0)))
  for (f in functions[fast_or(c(1, 2, 5, 7, 9, 11), TRUE)]) {
    fit <- brief(mh_sample, f, c(a = 0))
    expect_equal(as.matrix(fit), expected)
    expect_identical(nrow(as.matrix(quietly(extend(fit, 5, progress = FALSE)))),
                     35L)
  }
})

test_that("a function given again is found to be the same", {
  skip_long()
  made <- function(scale) {
    big <- stats::rnorm(10)
    function(w) -(w / scale)^2
  }
  fit <- brief(mh_sample, made(2), c(a = 0))
  bare <- drop_data(fit)
  expect_no_error(quietly(extend(bare, 5, log_density = made(2),
                                 progress = FALSE)))
  expect_error(extend(bare, 5, log_density = made(3), progress = FALSE),
               class = "gibbsite_error_argument")
  other <- quietly(mh_sample(
    made(2), c(a = 0), draws = 30, burnin = 5, chains = 1, seed = 2,
    progress = FALSE
  ))
  expect_identical(nchains(combine_fits(fit, other)), 2L)
  expect_true(identical_fit(fit, brief(mh_sample, made(2), c(a = 0))))
})

test_that("a fit keeps the values that its functions read in the workspace", {
  skip_long()
  in_workspace <- function(f) {
    environment(f) <- globalenv()
    f
  }
  set <- function(name, value) assign(name, value, globalenv())
  withr::defer(rm(
    "y_of_test", "scale_of_test", "counts_of_test", "hidden_of_test",
    "helper_of_test", envir = globalenv()
  ))
  set("y_of_test", c(1, 3))
  set("scale_of_test", Matrix::Diagonal(1) * 2)
  set("counts_of_test", list2env(list(n = 0)))
  set("hidden_of_test", 1)
  set("helper_of_test", in_workspace(function(mu) {
    hidden_of_test <- y_of_test - mu
    -sum(hidden_of_test^2) / as.vector(scale_of_test)
  }))
  made <- function(n) {
    twice <- function(x) n * helper_of_test(x)
    function(w) twice(w) + 0 * counts_of_test$n
  }
  environment(made) <- globalenv()
  functions <- list(
    in_workspace(function(w) helper_of_test(w) + 0 * counts_of_test$n), made(2)
  )
  fits <- lapply(functions, function(f) brief(mh_sample, f, c(a = 0)))
  steps <- list(a = in_workspace(function(state) {
    stats::rnorm(1, mean(y_of_test), as.vector(scale_of_test))
  }))
  fits[[3L]] <- brief(gibbs_sample, steps, list(a = 0))
  functions[[3L]] <- steps
  kept <- attr(fits[[1L]], "model")$data$log_density
  expect_setequal(
    ls(environment(kept)), c("helper_of_test", "y_of_test", "scale_of_test")
  )
  more <- function(fit, ...) quietly(extend(fit, 5, ..., progress = FALSE))
  arg <- c("log_density", "log_density", "data")
  again <- function(i, fit = fits[[i]]) {
    given <- stats::setNames(functions[i], arg[[i]])
    do.call(more, c(list(fit), given))
  }
  longer <- lapply(fits, more)
  for (i in 1:3) {
    expect_true(identical_fit(again(i), longer[[i]]))
    bare <- again(i, drop_data(fits[[i]]))
    expect_identical(as.matrix(bare), as.matrix(longer[[i]]))
  }
  # not read: a name of its own, and one in an environment
  set("hidden_of_test", 2)
  assign("n", 7, globalenv()$counts_of_test)
  for (i in 1:3) expect_true(identical_fit(again(i), longer[[i]]))
  set("y_of_test", c(1, 4))
  for (i in 1:3) {
    expect_true(identical_fit(more(fits[[i]]), longer[[i]]))
    expect_error(again(i), "`y_of_test` from the\\s+workspace",
                 class = "gibbsite_error_argument")
    expect_error(again(i, drop_data(fits[[i]])),
                 class = "gibbsite_error_argument")
  }
  other <- quietly(mh_sample(
    functions[[1L]], c(a = 0), draws = 30, burnin = 5, chains = 1, seed = 2,
    progress = FALSE
  ))
  expect_error(combine_fits(fits[[1L]], other), "differ in the data",
               class = "gibbsite_error_argument")
  elsewhere(fits[[1L]], function(fit) {
    # packages are the user's to load
    loadNamespace("Matrix")
    assign("counts_of_test", list(n = 0), globalenv())
    gibbsite::extend(fit, 5, progress = FALSE)
  }) |>
    expect_equal(longer[[1L]], ignore_attr = TRUE)
})

test_that("functions that tell each other something are not kept apart", {
  in_workspace <- function(f) {
    environment(f) <- globalenv()
    f
  }
  set <- function(name, value) assign(name, value, globalenv())
  withr::defer(rm("cache_of_test", "put_of_test", envir = globalenv()))
  set("cache_of_test", 0)
  writers <- list(
    function(x) cache_of_test <<- x - 5,
    function(x) assign("cache_of_test", x - 5, envir = globalenv())
  )
  density <- in_workspace(function(x) {
    put_of_test(x)
    -cache_of_test^2 / 2
  })
  expected <- as.matrix(
    brief(mh_sample, function(x) -(x - 5)^2 / 2, c(x = 5), random_walk(1))
  )
  for (writer in writers) {
    set("put_of_test", in_workspace(writer))
    fit <- brief(mh_sample, density, c(x = 5), random_walk(1))
    expect_equal(as.matrix(fit), expected)
    longer <- quietly(extend(fit, 30, progress = FALSE))
    expect_gt(length(unique(as.matrix(longer)[31:60, "x"])), 10L)
    # what they change does not count as data
    set("cache_of_test", 7)
    again <- quietly(extend(fit, 30, log_density = density, progress = FALSE))
    expect_true(identical_fit(again, longer))
  }
  # an environment, which is shared, and a function that is debugged
  set("put_of_test", in_workspace(function(x) -sum(x^2)))
  expect_false(is_kept_workspace(environment(
    with_workspace(in_workspace(function(x) cache_of_test + get("x")))
  )))
  helper <- get("put_of_test", globalenv())
  debug(helper)
  set("put_of_test", helper)
  expect_identical(
    environment(with_workspace(in_workspace(function(x) put_of_test(x)))),
    globalenv()
  )
})

test_that("what a data.table adds to itself does not count", {
  skip_if_not_installed("data.table")
  f <- (function(table) function(x) sum(table$y) - x^2)(
    getExportedValue("data.table", "data.table")(g = c("u", "v"), y = 1:2)
  )
  before <- hash_functions(f)
  table <- environment(f)$table
  getExportedValue("data.table", "setindexv")(table, "g")
  expect_false(is.null(attr(environment(f)$table, "index")))
  expect_identical(hash_functions(f), before)
})

test_that("names that a function takes from outside are found", {
  taken <- function(f) sort(unlist(free_names(f), use.names = FALSE))
  own <- function(f) setdiff(taken(f), ls(baseenv()))
  expect_identical(own(function(p) {
    y <- y[p$a]
    y
  }), "y")
  expect_identical(own(function(p) {
    if (p) u <- 1 else u <- 2
    u
  }), character())
  expect_identical(own(function(p) {
    if (p) u <- 1
    u
  }), "u")
  # assigned where it may not be evaluated, or elsewhere
  expect_identical(own(function(p) {
    local(a <- 1)
    switch(p, x = b <- 1)
    p > 0 && (d <- 1)
    repeat {
      if (p > 1) break
      e <- 1
    }
    f <- (h <- 1)
    a + b + d + e + f + h
  }), c("a", "b", "d", "e"))
  expect_identical(own(function(p, q = w) {
    g <- function(z, ...) z + later + beyond
    later <- 2
    for (i in q) names(x)[i] <- "a"
    g(i) + s$t + stats::sd(p) + with(d, v)
    quote(never)
  }), c("beyond", "d", "s", "v", "w", "x"))
  expect_identical(free_names(function(p) df(p, df, 2))$read, "df")
  expect_identical(free_names(function(p) df(p, 1, 2))$called, "df")
})

test_that("a fit from do.call() has the variables that it uses", {
  skip_long()
  made <- do.call(gibbs_lm, list(
    mpg ~ log(wt), cars, draws = 30, burnin = 5, seed = 1, progress = FALSE,
    weights = quote(hp)
  )) |> quietly()
  expect_named(getCall(made)$data, c("mpg", "wt", "hp"), ignore.order = TRUE)
  expect_equal(as.matrix(quietly(update(made))), as.matrix(made))
  expect_error(update(drop_data(made)), "not\\s+found",
               class = "gibbsite_error_data")
  expect_false("data.frame" %in% unlist(lapply(
    as.list(getCall(drop_data(made))), class
  )))
  groups <- list(
    list(gibbs_hlm, mpg ~ wt + (1 | gear) + (1 | am:cyl)),
    list(gibbs_count, carb ~ wt + (1 | am:cyl))
  )
  for (one in groups) {
    made <- do.call(one[[1L]], list(
      one[[2L]], mtcars, draws = 30, burnin = 5, chains = 1, seed = 1,
      progress = FALSE
    )) |> quietly()
    expect_named(getCall(made)$data, all.vars(one[[2L]]), ignore.order = TRUE)
    expect_equal(as.matrix(quietly(update(made))), as.matrix(made))
  }
  dots <- do.call(gibbs_lm, list(
    mpg ~ ., cars, draws = 30, burnin = 5, seed = 1, progress = FALSE
  )) |> quietly()
  expect_named(getCall(dots)$data, names(cars))
})

test_that("variables of transformed terms are found where a fit was made", {
  skip_long()
  made <- local({
    data <- cars
    quietly(gibbs_lm(mpg ~ log(wt), data, draws = 30, burnin = 5, seed = 1,
                     progress = FALSE))
  })
  saved <- unserialize(serialize(made, NULL))
  for (fit in list(made, saved)) {
    picture <- drawn(plot(fit, type = "response"))
    expect_true(has_drawn(picture, cars$wt) && has_drawn(picture, cars$mpg))
    if (requireNamespace("insight", quietly = TRUE)) {
      expect_identical(insight::get_data(fit)$wt, cars$wt)
    }
  }
})

test_that("the call of a fit keeps a function that was written in it", {
  withr::local_options(keep.source = TRUE)
  fit <- eval(parse(
    text = "laplace(function(p, s = 2) -sum(p^2) / s, c(a = 0), seed = 1)",
    keep.source = TRUE
  ))
  again <- update(fit, seed = 2)
  expect_identical(coef(again), coef(fit))
  call <- getCall(fit)
  expect_identical(deparse(call[[2L]]), "function(p, s = 2) -sum(p^2)/s")
  expect_length(call[[2L]], 3L)
  expect_output(str(call), "language laplace")
})
