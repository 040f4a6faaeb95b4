# One word for one argument: names, order and defaults over all functions.

# Exported functions and registered methods, by name.
all_functions <- function() {
  space <- asNamespace("gibbsite")
  exported <- mget(
    grep("^[a-z]", getNamespaceExports(space), value = TRUE), space,
    mode = "function", ifnotfound = list(NULL)
  )
  table <- getNamespaceInfo(space, "S3methods")
  methods <- lapply(seq_len(nrow(table)), function(i) {
    f <- table[[i, 3L]]
    if (is.character(f)) get(f, space) else f
  })
  names(methods) <- paste(table[, 1L], table[, 2L], sep = ".")
  Filter(is.function, c(exported, methods))
}

# The arguments that functions share, in their order.
shared_order <- c(
  "formula", "data", "prior", "weights", "se", "offset", "subset", "na_action",
  "contrasts", "draws", "burnin", "thin", "chains", "inits", "keep", "threads",
  "cores", "seed", "checkpoint", "stop_when", "progress", "keep_data"
)

samplers <- function() {
  functions <- all_functions()
  functions[grepl(
    paste0(
      "^(gibbs_[a-z]+|laplace|laplace_logistic|mh_sample|sbc|geweke_joint)",
      "([.]|$)"
    ),
    names(functions)
  )]
}

test_that("the shared arguments have one order in every function", {
  skip_long()
  for (name in names(samplers())) {
    given <- names(formals(samplers()[[name]]))
    expect_identical(
      intersect(given, shared_order), intersect(shared_order, given),
      label = name
    )
  }
  functions <- all_functions()
  running <- shared_order[match("draws", shared_order):length(shared_order)]
  for (name in c("extend.default", "resume", "compare_k", "sbc",
                 "geweke_joint", "prior_predict", "kfold.gibbsite_fit")) {
    given <- setdiff(names(formals(functions[[name]])), "log_density")
    expect_identical(
      intersect(given, running), intersect(running, given), label = name
    )
  }
})

test_that("a function of a formula has its data next", {
  functions <- all_functions()
  of_formula <- Filter(
    function(f) "formula" %in% names(formals(f)),
    functions[grepl("^(gibbs|laplace)_", names(functions))]
  )
  expect_true(all(
    c("gibbs_bmf.formula", "gibbs_gmm.formula", "gibbs_lm.formula",
      "gibbs_hlm", "gibbs_logistic.formula", "laplace_logistic.formula") %in%
      names(of_formula)
  ))
  for (name in names(of_formula)) {
    expect_identical(
      names(formals(of_formula[[name]]))[1:2], c("formula", "data"),
      label = name
    )
  }
})

test_that("an interval holds 0.95 by default", {
  skip_long()
  functions <- all_functions()
  for (name in names(functions)) {
    given <- formals(functions[[name]])
    levels <- intersect(names(given), c("level", "conf.level", "prob"))
    for (argument in levels) {
      if (is.numeric(given[[argument]])) {
        expect_identical(given[[argument]], 0.95, label = name)
      }
    }
  }
  # several levels at once
  several <- Filter(is.call, lapply(functions, function(f) formals(f)$level))
  expect_true(all(grepl("^held_out", names(several))))
})

test_that("ratings are taken by a formula and its data", {
  skip_long()
  set.seed(1)
  made <- sim_bmf(12, 8, rank = 2, share = 0.5)
  names(made) <- c("s", "d", "y")
  fit <- function(...) {
    quietly(gibbs_bmf(
      ..., rank = 2, draws = 5, burnin = 5, chains = 1, seed = 1,
      progress = FALSE
    ))
  }
  by_frame <- fit(made, user = "s", item = "d", value = "y")
  by_formula <- fit(y ~ s + d, made)
  expect_identical(by_formula[[1]], by_frame[[1]])
  expect_identical(fit(data = made, formula = y ~ s + d)[[1]], by_frame[[1]])
  expect_identical(with(made, fit(y ~ s + d))[[1]], by_frame[[1]])
  formulas <- list(y ~ s + d)
  listed <- lapply(formulas, gibbs_bmf, made, rank = 2, draws = 5, burnin = 5,
                   chains = 1, seed = 1, progress = FALSE) |> quietly()
  expect_identical(listed[[1]][[1]], by_frame[[1]])
  again <- quietly(update(by_formula, data = made, draws = 6))
  expect_identical(unclass(again[[1]])[1:5, ], unclass(by_frame[[1]])[, ])
  expect_gibbsite_error({
    gibbs_bmf(y ~ s, made)
    gibbs_bmf(y ~ s + place, made)
    gibbs_bmf(y ~ s + d, 1)
    gibbs_bmf(made, data = made)
    gibbs_bmf()
    gibbs_bmf(formula = 1, data = made)
  })
})

test_that("variables of a plot are those of the chains in every model", {
  skip_long()
  withr::local_pdf(NULL)
  set.seed(1)
  made <- sim_bmf(12, 8, rank = 2, share = 0.5)
  short <- function(f, ...) {
    quietly(f(..., draws = 10, burnin = 10, chains = 2, seed = 1,
              progress = FALSE))
  }
  fits <- list(
    pi = short(gibbs_gmm, faithful[1:60, ], 2),
    k = short(gibbs_gmm, faithful[1:30, ], "unknown"),
    alpha = short(gibbs_lda, sim_lda(10, 2, 8, 20)$x, 2),
    beta = short(gibbs_bmf, made, 2),
    sigma = short(gibbs_lm, mpg ~ wt, mtcars),
    sigma = short(gibbs_hlm, weight ~ 1 + (1 | Chick), ChickWeight[1:90, ]),
    wt = short(gibbs_logistic, am ~ wt, mtcars),
    x = short(mh_sample, function(x) -x^2 / 2, c(x = 0))
  )
  for (i in fast_or(c(2, 4, 6), seq_along(fits))) {
    picture <- drawn(plot(fits[[i]], variables = names(fits)[[i]]))
    expect_identical(
      unique(picture$pictures[[1L]]$panels$type), c("trace", "density"),
      label = class(fits[[i]])[[1L]]
    )
  }
  skip_if_not_installed("ggplot2")
  for (i in fast_or(8, seq_along(fits))) {
    name <- names(fits)[[i]]
    expect_identical(
      ggplot2::ggplot_build(
        ggplot2::autoplot(fits[[i]], variables = name)
      )$data,
      ggplot2::ggplot_build(
        ggplot2::autoplot(fits[[i]], c("trace", "density"), variables = name)
      )$data
    )
  }
  expect_gibbsite_error({
    plot(fits[[3]], "terms", variables = "alpha")
    plot(fits[[2]], "number", variables = "k")
    plot(fits[[4]], "rmse", variables = "beta")
    plot(fits[[5]], "response", variables = "wt")
  })
})
