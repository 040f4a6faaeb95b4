# Names of arguments where `...` is passed on, and calls that name the formula.

normal <- function(mu, p = 1, i = 0, l = 0) -0.5 * p * sum((mu - i)^2) + l

# Every function that has arguments before `...`, by name.
with_dots <- function() {
  ns <- asNamespace("gibbsite")
  methods <- getNamespaceInfo(ns, "S3methods")[, 3L]
  names <- c(getNamespaceExports(ns), Filter(is.character, methods))
  found <- lapply(stats::setNames(nm = sort(unique(unlist(names)))), get0, ns)
  Filter(function(f) {
    is.function(f) && identical(environment(f), ns) &&
      match("...", names(formals(f)), 1L) > 1L
  }, found)
}

test_that("no function that passes `...` on takes a short name", {
  skip_long()
  # update() takes `formula` for `formula.`, as R's own does
  functions <- with_dots()
  for (name in names(functions)) {
    f <- functions[[name]]
    known <- names(formals(f))
    before <- known[seq_len(match("...", known) - 1L)]
    code <- all.names(body(f))
    # what R matches to the first argument of a generic is R's
    can_take <- any(nchar(before[-1L]) > 1L) || !grepl("[.]", name)
    passes <- "..." %in% code && !any(c(
      "check_no_more", "check_no_extra", "check_logit_alone", "UseMethod"
    ) %in% code)
    if (!passes || !can_take || startsWith(name, "update.")) next
    expect_identical(
      deparse(body(f)[[2L]])[[1L]],
      "if (has_short_names()) return(with_whole_names())", label = name
    )
  }
})

test_that("data of the user's function keep their names", {
  skip_long()
  plain <- brief(mh_sample, function(mu) normal(mu, 2, 3, 1), c(mu = 0))
  own <- brief(mh_sample, normal, c(mu = 0), p = 2, i = 3, l = 1)
  expect_equal(as.matrix(own), as.matrix(plain))
  expect_equal(as.matrix(brief(mh_sample, p = 2, normal, i = 3, c(mu = 0),
                               l = 1)), as.matrix(plain))
  # named arguments, other ways of calling, and the call again
  expect_equal(as.matrix(brief(mh_sample, init = c(mu = 0), i = 3, normal,
                               p = 2, l = 1)), as.matrix(plain))
  called <- do.call(mh_sample, list(
    normal, c(mu = 0), p = 2, i = 3, l = 1, draws = 30, burnin = 5, chains = 1,
    seed = 1, progress = FALSE
  )) |> quietly()
  expect_equal(as.matrix(called), as.matrix(plain))
  expect_named(as.list(getCall(own))[-1L], c(
    "log_density", "init", "p", "i", "l", "draws", "burnin", "chains", "seed",
    "progress"
  ), ignore.order = TRUE)
  expect_equal(as.matrix(quietly(update(called))), as.matrix(plain))
  expect_equal(
    as.matrix(quietly(extend(own, 10, progress = FALSE))),
    as.matrix(quietly(extend(called, 10, progress = FALSE)))
  )

  mode <- laplace(function(w, g, h, i) -g * (w - h)^2 + i, c(a = 0), g = 2,
                  h = 3, i = 1)
  expect_equal(unname(coef(mode)), 3, tolerance = 1e-6)
  chain <- brief(
    gibbs_sample, list(x = function(s, c, i) stats::rnorm(1, c, i)),
    list(x = 0), c = 5, i = 1e-9
  )
  expect_equal(unname(coef(chain)), 5, tolerance = 1e-6)
  expect_equal(
    unname(coef(monte_carlo(c(1, 3), function(x, d) x + d, d = 10))), 12
  )
  set.seed(1)
  drawn <- sample_inverse_cdf(3, function(u, q, c) q + c * u, q = 9, c = 2)
  set.seed(1)
  expect_equal(drawn, 9 + 2 * sample_inverse_cdf(3, identity))
  values <- log_lik(own, function(mu, l, m) c(l, m), l = 3, m = 4)
  expect_equal(unname(unclass(values)[1L, 1:2]), c(3, 4))
  # with or without short names a wrong one is found
  expect_error(mh_sample(normal, c(mu = 0), p = 1, zz = 2),
               "There is no argument `zz`", class = "gibbsite_error_argument")
})

test_that("a graphical parameter is not taken for an argument of the plot", {
  chain <- markov_chain(matrix(c(0.9, 0.2, 0.1, 0.8), 2))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(chain, lab = c(2, 2, 7)))
})

test_that("a call may name its formula, in any position", {
  skip_long()
  by_cyl <- split(mtcars, mtcars$cyl)
  calls <- list(
    gibbs_lm = mpg ~ wt, gibbs_logistic = am ~ wt, gibbs_hlm = mpg ~ (1 | gear),
    gibbs_gmm = ~ mpg + wt
  )
  for (name in fast_or(c("gibbs_lm", "gibbs_gmm"), names(calls))) {
    sampler <- get(name)
    formula <- calls[[name]]
    more <- if (name == "gibbs_gmm") list(k = 2)
    run <- function(...) {
      do.call(brief, c(list(sampler, ...), more))
    }
    expected <- as.matrix(run(formula, mtcars))
    expect_equal(as.matrix(run(mtcars, formula = formula)), expected)
    expect_equal(as.matrix(run(formula = formula, mtcars)), expected)
    expect_equal(as.matrix(run(data = mtcars, formula = formula)), expected)
    all <- do.call(lapply, c(list(list(mtcars), brief, sampler = sampler,
                                  formula = formula), more))
    expect_equal(as.matrix(all[[1L]]), expected)
    expect_equal(as.matrix(quietly(update(all[[1L]], data = mtcars))), expected)
    mapped <- do.call(Map, c(
      list(function(...) brief(sampler, ...), list(mtcars),
           formula = list(formula)), more
    ))
    expect_equal(as.matrix(mapped[[1L]]), expected)
  }
  piped <- mtcars |> laplace_logistic(formula = am ~ wt, seed = 1)
  expect_equal(coef(piped), coef(laplace_logistic(am ~ wt, mtcars)))
  expect_error(gibbs_lm(mtcars, formula = 3), "`formula` must be a formula",
               class = "gibbsite_error_argument")
  fits <- quietly(lapply(
    by_cyl, gibbs_lm, formula = mpg ~ wt, draws = 30, seed = 1,
    progress = FALSE
  ))
  expect_identical(formula(fits[["6"]]), mpg ~ wt, ignore_formula_env = TRUE)
  expect_identical(nobs(fits[["6"]]), 7L)
})

test_that("a name in short is no argument of the package's own functions", {
  skip_long()
  set.seed(1)
  made <- sim_bmf(12, 8, rank = 2, share = 0.5)
  ratings <- brief(gibbs_bmf, made, rank = 2)
  fit <- brief(gibbs_lm, dist ~ speed, cars)
  names(made) <- c("s", "d", "y")
  expect_gibbsite_error({
    gibbs_bmf(y ~ s + d, made, user = "s", rank = 2)
    gibbs_lm(dist ~ speed, cars, pri = lm_prior())
    recommend(ratings, user = "1")
    extend(fit, 10, thr = 1)
  })
  # also in a call that passes its arguments on
  pass <- function(...) gibbs_bmf(y ~ s + d, made, ...)
  expect_error(
    pass(user = "s"), "no argument `user`", class = "gibbsite_error_argument"
  )
  expect_error(
    lapply(list(y ~ s + d), gibbs_bmf, made, user = "s"),
    "no argument `user`", class = "gibbsite_error_argument"
  )
  new <- data.frame(speed = 10)
  expect_identical(
    predict(fit, new, inter = "mean"), predict(fit, new, interval = "mean")
  )
})

test_that("columns of the data pass through `...` as they were written", {
  skip_long()
  few <- function(...) {
    quietly(gibbs_lm(..., draws = 20, chains = 1, seed = 1, progress = FALSE))
  }
  again <- function(...) few(...)
  right <- quietly(gibbs_lm(
    dist ~ speed, cars, weights = speed, offset = speed / 2,
    subset = speed > 5, draws = 20, chains = 1, seed = 1, progress = FALSE
  ))
  expect_identical(coef(again(
    dist ~ speed, cars, weights = speed, offset = speed / 2, subset = speed > 5
  )), coef(right))
  fits <- quietly(lapply(
    list(cars, cars[1:20, ]), gibbs_lm, formula = dist ~ speed,
    weights = speed, draws = 20, seed = 1, progress = FALSE
  ))
  expect_identical(unname(weights(fits[[2]])), cars$speed[1:20])
  known <- function(...) {
    quietly(gibbs_hlm(..., draws = 20, chains = 1, seed = 1, progress = FALSE))
  }
  expect_identical(
    unname(weights(known(mpg ~ wt + (1 | cyl), mtcars, se = qsec / 10))),
    1 / (mtcars$qsec / 10)^2
  )
})

test_that("data in the place of the formula are told the way", {
  expect_gibbsite_error({
    mtcars |> gibbs_lm(mpg ~ wt)
    mtcars |> laplace_logistic(am ~ wt)
    mtcars |> gibbs_count(carb ~ wt)
    mtcars |> gibbs_hlm(mpg ~ wt + (1 | cyl))
    gibbs_ordinal("gear ~ wt", mtcars)
  })
})

test_that("unknown arguments of constructors and simulations are named", {
  chain <- c("a", "b", "a")
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    nuts(adapt_delta = 0.9)
    hmc(max_treedepth = 5)
    until(maxdraws = 100)
    fit_markov_chain(chain, iter = 10)
    sbc(gibbs_lm(dist ~ speed, cars), simulations = 3)
    geweke_joint(gibbs_lm(dist ~ speed, cars), warmup = 3)
  })
  # R takes shorter names of arguments here
  expect_identical(until(max = 500)$max_draws, until(max_draws = 500)$max_draws)
})
