# The structure ------------------------------------------------------------

test_that("a fit is a coda object of plain matrices", {
  fit <- fake_fit(draws = 20, burnin = 7, thin = 3, chains = 2)
  expect_identical(class(fit), c("gibbs_toy", "gibbsite_fit", "mcmc.list"))
  expect_true(coda::is.mcmc.list(fit))
  for (chain in seq_along(fit)) {
    expect_s3_class(fit[[chain]], "mcmc", exact = TRUE)
    expect_equal(dim(fit[[chain]]), c(20L, 3L))
    expect_setequal(
      names(attributes(fit[[chain]])), c("dim", "dimnames", "mcpar", "class")
    )
    expect_identical(attr(fit[[chain]], "mcpar"), c(10, 67, 3))
  }
  expect_null(names(fit))
})

test_that("one column and one draw stay matrices", {
  fit <- fake_fit(draws = 1, chains = 1, columns = "a")
  expect_equal(dim(fit[[1]]), c(1L, 1L))
  expect_equal(dim(as.matrix(fit)), c(1L, 1L))
  expect_equal(dim(as.array(fit)), c(1L, 1L, 1L))
})

test_that("sweeps beyond the largest integer are counted", {
  fit <- fake_fit(draws = 3, burnin = 1e10, thin = 1e9, chains = 1)
  expect_identical(attr(fit[[1]], "mcpar"), c(1.1e10, 1.3e10, 1e9))
  expect_output(print(fit), "sweeps 11000000000 to 13000000000")
})

test_that("pending draws without rows are none", {
  none <- rep(list(matrix(0, 0, 3)), 2)
  expect_true(identical_fit(
    fake_fit(chains = 2), fake_fit(chains = 2, pending = none)
  ))
})

test_that("no draws at all make a partial fit, which prints", {
  model <- toy_model()
  running <- list(draws = 10, burnin = 100, thin = 1, chains = 2, seed = 1L,
                  rng_kind = RNGkind(), keep_data = TRUE)
  chains <- rep(list(list(state = list(sweep = 40, sum = 0), rng = 1:3)), 2)
  chains[[2]]$state$sweep <- 102
  empty <- rep(list(matrix(0, 0, 3)), 2)
  ahead <- list(matrix(0, 0, 3), matrix(1, 2, 3))
  partial <- new_fit(empty, model, running, chains, ahead)
  expect_s3_class(partial, "gibbsite_partial", exact = TRUE)
  expect_length(partial, 0)
  expect_snapshot(print(partial))
  expect_silent(verify_fit(partial))
  expect_true(identical_fit(partial, partial))
})


# coda's cells -------------------------------------------------------------

check_coda <- function(fit, draws, burnin, thin, chains, columns, cell) {
  sweeps <- c(burnin + thin, burnin + draws * thin, thin)
  whole <- summary(as.mcmc.list(fit))
  expect_equal(c(whole$start, whole$end, whole$thin), sweeps, label = cell)
  expect_identical(summary(fit)$variable, colnames(fit[[1]]), label = cell)

  from <- burnin + 21 * thin
  late <- window(fit, start = from)
  expect_identical(class(late), class(fit), label = cell)
  expect_equal(attr(late[[1]], "mcpar"), c(from, sweeps[2:3]), label = cell)
  expect_equal(dim(late[[1]]), c(60, columns), label = cell)
  expect_equal(late[[chains]][1, ], fit[[chains]][21, ], label = cell)

  interval <- coda::HPDinterval(fit)[[1]]
  expect_equal(dim(interval), c(columns, 2), label = cell)
}

# coda throws away what lies before the middle of the *run*: nothing where
# burn-in was as long as what was kept.
check_gelman <- function(fit, burnin, thin, columns, cell) {
  if (length(fit) == 1) {
    return(expect_error(coda::gelman.diag(fit), "two chains", label = cell))
  }
  plain <- coda::gelman.diag(fit, autoburnin = FALSE)
  expect_equal(nrow(plain$psrf), columns, label = cell)
  kept <- coda::gelman.diag(fit)
  if (burnin + thin >= nrow(fit[[1]]) * thin) {
    expect_identical(kept, plain, label = cell)
  }
}

check_posterior <- function(fit, draws, chains, columns, cell) {
  array <- posterior::as_draws_array(fit)
  expect_equal(dim(array), c(draws, chains, columns), label = cell)
  expect_identical(posterior::variables(array), colnames(fit[[1]]),
                   label = cell)
  expect_equal(as.vector(array[, chains, 1]), as.vector(fit[[chains]][, 1]),
               label = cell)
  rvars <- posterior::as_draws_rvars(fit)
  expect_equal(mean(rvars$x), as.array(colMeans(as.matrix(fit))),
               ignore_attr = TRUE, label = cell)
  expect_length(mean(rvars$x), columns)
}

cells <- expand.grid(burnin = c(0, 7, 100), thin = c(1, 3, 10),
                     chains = c(1, 4), columns = c(1, 50))

test_that("every function of coda, posterior and bayesplot takes a fit", {
  skip_long()
  draws <- 80
  for (i in fast_or(c(14, 21), seq_len(nrow(cells)))) {
    at <- cells[i, ]
    cell <- paste(names(at), at, collapse = ", ")
    fit <- fake_fit(draws, at$burnin, at$thin, at$chains, at$columns)
    check_coda(fit, draws, at$burnin, at$thin, at$chains, at$columns, cell)
    check_gelman(fit, at$burnin, at$thin, at$columns, cell)
    check_posterior(fit, draws, at$chains, at$columns, cell)
  }
})

test_that("bayesplot draws every cell", {
  skip_unless_extended()
  skip_if_not_installed("bayesplot")
  for (i in seq_len(nrow(cells))) {
    at <- cells[i, ]
    fit <- fake_fit(80, at$burnin, at$thin, at$chains, at$columns)
    expect_s3_class(bayesplot::mcmc_trace(fit), "ggplot")
  }
})

test_that("autoburnin takes nothing away after an equal burn-in", {
  fit <- fake_fit(draws = 100, burnin = 100)
  expect_identical(coda::gelman.diag(fit),
                   coda::gelman.diag(fit, autoburnin = FALSE))
})


test_that("gelman.diag() says which columns it cannot take", {
  skip_long()
  fit <- suppressWarnings(gibbs_gmm(faithful, 2,
    draws = 100, burnin = 100, chains = 2, seed = 1, progress = FALSE
  ))
  expect_gibbsite_error(coda::gelman.diag(fit))
  expect_s3_class(
    coda::gelman.diag(fit, multivariate = FALSE), "gelman.diag"
  )
  some <- c("pi[1]", "mu[1,1]", "Sigma[1,1,2]", "log_lik")
  expect_true(is.finite(coda::gelman.diag(fit[, some])$mpsrf))
  # the same columns: linear functions, and constants
  set.seed(1)
  x <- cbind(a = rnorm(50), b = rnorm(50), one = 1)
  x <- cbind(x, sum = x[, "a"] - 2 * x[, "b"] + 3)
  expect_length(
    gibbsite:::dependent_columns(list(x[, c("a", "b")], x[, c("a", "b")])), 0L
  )
  found <- gibbsite:::dependent_columns(list(x, x))
  expect_length(found, 2L)
  expect_true("one" %in% found)
})


# Shapes -------------------------------------------------------------------

test_that("`[` with one index chooses chains", {
  fit <- fake_fit(chains = 3)
  two <- fit[2:3]
  expect_identical(class(two), "mcmc.list")
  expect_identical(names(attributes(two)), "class")
  expect_identical(two[[1]], fit[[2]])
  expect_identical(fit[-1], two)
  expect_identical(fit[c(FALSE, TRUE, TRUE)], two)
  expect_identical(fit[], as.mcmc.list(fit))
})

test_that("`[` with two indices chooses draws and columns", {
  fit <- fake_fit(draws = 20, burnin = 10, thin = 2, chains = 2)
  column <- fit[, "b[1]"]
  expect_identical(class(column), "mcmc.list")
  expect_equal(dim(column[[1]]), c(20L, 1L))
  expect_identical(colnames(column[[2]]), "b[1]")
  expect_identical(column, fit[, 2])
  expect_identical(attr(column[[1]], "mcpar"), c(12, 50, 2))
  expect_null(dim(fit[, 2, drop = TRUE][[1]]))
  expect_s3_class(fit[, 2, drop = TRUE][[1]], "mcmc")

  some <- fit[seq(2, 20, by = 3), c("a", "b[2]")]
  expect_identical(attr(some[[1]], "mcpar"), c(14, 50, 6))
  expect_equal(dim(some[[1]]), c(7L, 2L))
  expect_equal(unclass(some[[2]])[3, ], unclass(fit[[2]])[8, c(1, 3)])
  expect_identical(fit[1:5, ], fit[-(6:20), ])
  expect_identical(attr(fit[4, ][[1]], "mcpar"), c(18, 18, 2))
  expect_identical(fit[, ], as.mcmc.list(fit))
})

test_that("what `[` cannot give is an error of the call", {
  skip_long()
  fit <- fake_fit(chains = 1)
  expect_gibbsite_error({
    fit[2]
    fit[0]
    fit[, "c"]
    fit[, 4]
    fit[c(1, 2, 4), ]
    fit[3:1, ]
    fit[101, ]
  })
  expect_error(fit[, "c"], class = "gibbsite_error_argument")
})

test_that("`$` is an error that says what to call", {
  skip_long()
  fit <- fake_fit(chains = 1)
  errors <- expect_gibbsite_error(class = "gibbsite_error_argument", {
    fit$a
    fit$b
    fit$`b[2]`
    fit$coefficients
    fit$coef
    fit$theta
    fit$formula <- y ~ x
    fit$a <- 1
    fit$theta$more <- 1
  })
  for (result in errors[1:6]) {
    expect_s3_class(result$conditions[[1]], "gibbsite_error_element")
  }
  # what the error names gives the draws
  expect_identical(draws_of(fit, "b[2]")[, 1], as.vector(fit[[1]][, "b[2]"]))
  for (name in c("a", "b", "b[2]")) {
    expect_error(fit[[name]], class = "gibbsite_error_element")
  }
  # programs ask for such elements
  for (name in c("coefficients", "call", "theta")) expect_null(fit[[name]])
  expect_identical(fit, fake_fit(chains = 1))
})

# without a progress bar and the warning about short chains
on <- function(fit, draws) quietly(extend(fit, draws, progress = FALSE))

test_that("window counts sweeps and gives a fit that can be continued", {
  skip_long()
  fit <- fake_fit(draws = 20, burnin = 10, thin = 2)
  late <- window(fit, start = 30, end = 40)
  expect_s3_class(late, class(fit), exact = TRUE)
  expect_identical(attr(late[[1]], "mcpar"), c(30, 40, 2))
  expect_identical(as.mcmc.list(late), fit[10:15, ])
  expect_identical(attr(late, "running")$burnin, 28)
  expect_identical(window(fit), fit)
  # draws after `end` come first, then new ones
  longer <- on(fit, 5)
  expect_identical(
    as.mcmc.list(on(late, 10)), longer[10:25, ]
  )
  expect_true(identical_fit(
    on(late, 10),
    on(window(longer, start = 30, end = 40), 10)
  ))
})

test_that("a thinned window goes on in step", {
  skip_long()
  fit <- fake_fit(draws = 40, burnin = 3, thin = 2, chains = 2)
  longer <- on(fit, 30)
  for (start in c(5, 7, 15)) {
    some <- window(fit, start = start, thin = 6)
    all <- window(longer, start = start, thin = 6)
    more <- shown_draws(all) - shown_draws(some)
    expect_identical(
      as.mcmc.list(on(some, more)), as.mcmc.list(all)
    )
    expect_gte(attr(some, "running")$burnin, 0)
  }
})

test_that("a window of a fit that was changed is still known as changed", {
  fit <- fake_fit(draws = 20, chains = 2)
  fit[[1]][3, 1] <- 5
  expect_error(
    extend(window(fit, start = 105), 3), class = "gibbsite_error_state"
  )
})

test_that("as.mcmc takes one chain only", {
  one <- fake_fit(chains = 1)
  expect_identical(coda::as.mcmc(one), one[[1]])
  expect_gibbsite_error(coda::as.mcmc(fake_fit(chains = 2)))
})

test_that("matrix, array and data frame agree", {
  fit <- fake_fit(draws = 6, chains = 2)
  array <- as.array(fit)
  expect_identical(unname(dim(array)), c(6L, 2L, 3L))
  expect_identical(dimnames(array)$variable, c("a", "b[1]", "b[2]"))
  matrix <- as.matrix(fit)
  expect_identical(matrix[, "a"], as.vector(array[, , "a"]))
  expect_identical(as.matrix(fit, chains = TRUE)[, "CHAIN"],
                   rep(c(1, 2), each = 6))

  data <- as.data.frame(fit)
  expect_named(data, c("chain", "draw", "a", "b[1]", "b[2]"))
  expect_identical(data$chain, rep(1:2, each = 6L))
  expect_identical(data$draw, rep(1:6, 2))
  expect_identical(data[["b[2]"]], matrix[, "b[2]"])
  expect_named(as.data.frame(fit, index = FALSE), c("a", "b[1]", "b[2]"))
  if (requireNamespace("tibble", quietly = TRUE)) {
    expect_identical(as.data.frame(tibble::as_tibble(fit)), data)
  }
})

test_that("a variable named chain is not overwritten", {
  fit <- fake_fit(columns = c("chain", "(Intercept)"))
  expect_gibbsite_error(as.data.frame(fit))
  expect_named(as.data.frame(fit, index = FALSE), c("chain", "(Intercept)"))
})

test_that("as_draws and its kin take a fit", {
  fit <- fake_fit(draws = 6, chains = 2)
  for (as in list(as_draws, as_draws_array, as_draws_df, as_draws_list,
                  as_draws_matrix, as_draws_rvars)) {
    draws <- as(fit)
    expect_s3_class(draws, "draws")
    expect_equal(posterior::ndraws(draws), 12)
    expect_equal(posterior::nchains(draws), 2)
  }
  expect_s3_class(as_draws(fit), "draws_array")
  expect_equal(ndraws(fit), 12)
  expect_equal(nchains(fit), 2)
  expect_equal(niterations(fit), 6)
  expect_identical(variables(fit), c("a", "b[1]", "b[2]"))
  expect_identical(summarise_draws(fit)$variable, variables(fit))
  expect_equal(nobs(fit), 7)
  expect_identical(prior_summary(fit),
                   structure(list(sd = 1), class = "toy_prior"))
})

test_that("draws_of gives a block its dimensions", {
  skip_long()
  columns <- c("pi[1]", "pi[2]", "mu[1,1]", "mu[2,1]", "mu[1,2]", "mu[2,2]",
               "mu[1,3]", "mu[2,3]", "s[1,1,1]", "log_lik", "x[1][1]",
               "x[1][2]")
  fit <- fake_fit(draws = 5, chains = 2, columns = columns)
  mu <- draws_of(fit, "mu")
  expect_equal(dim(mu), c(5, 2, 2, 3))
  expect_equal(mu[, 2, 1, 3], as.vector(fit[[2]][, "mu[1,3]"]))
  expect_equal(mu[, 1, 2, 1], as.vector(fit[[1]][, "mu[2,1]"]))
  expect_equal(dim(draws_of(fit, "pi")), c(5, 2, 2))
  expect_equal(dim(draws_of(fit, "s")), c(5, 2, 1, 1, 1))
  expect_equal(dim(draws_of(fit, "log_lik")), c(5, 2))
  expect_equal(draws_of(fit, "mu[2,2]"), mu[, , 2, 2])
  expect_equal(dim(draws_of(fit, "x[1]")), c(5, 2, 2))
  expect_gibbsite_error({
    draws_of(fit, "nu")
    draws_of(fit, c("mu", "pi"))
  })
})

test_that("draws_of finds elements in any order, and names those of parts", {
  fit <- fake_fit(draws = 4, chains = 1, columns = c("b[2]", "b[3]", "b[1]"))
  expect_equal(draws_of(fit, "b")[, 1, ],
               unclass(fit[[1]])[, c(3, 1, 2)], ignore_attr = TRUE)
  some <- fake_fit(draws = 4, chains = 1, columns = c("b[1]", "b[3]"))
  expect_identical(dim(draws_of(some, "b")), c(4L, 1L, 2L))
  expect_identical(dimnames(draws_of(some, "b"))[[3L]], c("b[1]", "b[3]"))
  categories <- fake_fit(
    draws = 4, chains = 1, columns = c("b[u,x]", "log_lik")
  )
  expect_identical(dimnames(draws_of(categories, "b"))[[3L]], "b[u,x]")
  expect_error(draws_of(categories, "u"), '"b" or "log_lik", not "u"')
  expect_error(as.matrix(some, pars = "b[1]"), "no argument `pars`")
  expect_identical(colnames(as.matrix(some, chains = TRUE))[[1L]], "CHAIN")
})

test_that("draws_of hands posterior's random variables on", {
  x <- posterior::rvar(array(1:6, c(3, 2)))
  expect_identical(draws_of(x), posterior::draws_of(x))
})


# Identity -----------------------------------------------------------------

test_that("identical_fit sees one bit, one state, one attribute", {
  fit <- fake_fit()
  expect_true(identical_fit(fit, fake_fit()))
  expect_true(identical_fit(fit, unserialize(serialize(fit, NULL))))

  bit <- fit
  bit[[2]][3, 1] <- bit[[2]][3, 1] * (1 + .Machine$double.eps)
  expect_false(identical_fit(fit, bit))

  zero <- minus <- fake_fit(values = function(k) matrix(0, 100, 3))
  minus[[1]][1, 1] <- -0
  expect_false(identical_fit(zero, minus))

  state <- fit
  attr(state, "chains")[[4]]$state$sum <- attr(state, "chains")[[4]]$state$sum +
    1e-12
  expect_false(identical_fit(fit, state))

  rng <- fit
  attr(rng, "chains")[[1]]$rng[5] <- 0L
  expect_false(identical_fit(fit, rng))

  other <- fit
  attr(other, "more") <- 1
  expect_false(identical_fit(fit, other))

  ahead <- fake_fit(pending = rep(list(matrix(1, 1, 3)), 4))
  expect_false(identical_fit(fit, ahead))
  expect_false(identical_fit(fit, fake_fit(burnin = 99)))
  bare <- structure(as.mcmc.list(fit), class = class(fit))
  expect_error(identical_fit(fit, bare), class = "gibbsite_error_forged")
})

test_that("identical_fit leaves out how a fit was run, and environments", {
  fit <- fake_fit()
  slow <- fit
  attr(slow, "run")$elapsed$total <- 1e6
  attr(slow, "run")$threads <- 7L
  expect_true(identical_fit(fit, slow))

  start <- function() function(chain) list(a = chain)
  a <- b <- fit
  attr(a, "running")$inits <- start()
  attr(b, "running")$inits <- compiler::cmpfun(start())
  expect_true(identical_fit(a, b))
})

test_that("identical_fit refuses what is not a fit", {
  skip_long()
  expect_gibbsite_error({
    identical_fit(1, fake_fit())
    identical_fit(fake_fit(), list())
  })
})

test_that("the hash does not see where draws are cut, but names and values", {
  x <- matrix(as.double(1:12), 4, dimnames = list(NULL, c("a", "b", "c")))
  whole <- hash_draws(x)
  expect_identical(hash_draws(list(x[1:3, ], x[4, , drop = FALSE])), whole)
  expect_identical(hash_draws(list(x, NULL), colnames(x)), whole)
  expect_identical(hash_draws(list(x[0, ], unname(x)), colnames(x)), whole)
  expect_identical(hash_draws(coda::mcmc(x)), whole)
  expect_false(hash_draws(x[4:1, ]) == whole)
  expect_false(hash_draws(unname(x), c("a", "b", "d")) == whole)
  # other dimensions of the same numbers
  expect_false(hash_draws(matrix(0, 6, 2), c("a", "b")) ==
                 hash_draws(matrix(0, 4, 3), c("a", "b", "c")))
})

test_that("a fit changed by hand cannot be continued or combined", {
  skip_long()
  fit <- fake_fit(chains = 2)
  expect_silent(verify_fit(fit))
  rename <- coda::`varnames<-`
  changed <- list(
    value = `[[<-`(fit, 1, `[<-`(fit[[1]], 1, 1, 0)),
    chain = `[[<-`(fit, 1, fit[[2]]),
    columns = `[[<-`(fit, 1, fit[[1]][, 1:2]),
    missing = `[[<-`(fit, 1, NULL),
    varnames = rename(fit, c("u", "v", "w")),
    names = `names<-`(fit, c("u", "v")),
    mcpar = `[[<-`(fit, 2, `attr<-`(fit[[2]], "mcpar", c(1, 100, 1))),
    shorter = `[[<-`(fit, 2, coda::mcmc(unclass(fit[[2]])[1:50, ]))
  )
  for (how in names(changed)) {
    expect_error(verify_fit(changed[[how]]), class = "gibbsite_error_state",
                 label = how)
    if (!is_extended() && how != "chain") next
    expect_error(extend(changed[[how]], 10), class = "gibbsite_error_state",
                 label = how)
    expect_error(combine_fits(changed[[how]], fake_fit(chains = 2, seed = 2)),
                 class = "gibbsite_error_state", label = how)
  }
  expect_gibbsite_error({
    extend(changed$value, 10)
    extend(changed$missing, 10)
    extend(changed$varnames, 10)
    extend(changed$names, 10)
    extend(changed$shorter, 10)
  })
})

test_that("columns renamed by hand are errors where names are looked up", {
  skip_long()
  fit <- fake_fit(chains = 2)
  renamed <- coda::`varnames<-`(fit, c("u", "v", "w"))
  bare <- fit
  dimnames(bare[[2]]) <- NULL
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    summary(renamed)
    tidy(renamed)
    plot(renamed, variables = "u")
    posterior_interval(renamed)
    summary(bare)
  })
  # the draws themselves, and what does not need names
  expect_identical(colnames(as.matrix(renamed)), c("u", "v", "w"))
  expect_identical(dim(draws_of(renamed, "u")), c(100L, 2L))
  expect_identical(colnames(renamed[1:3, "v"][[1]]), "v")
  expect_identical(converged(renamed), converged(fit))
})

test_that("changed pending draws are seen", {
  fit <- fake_fit(chains = 2, pending = list(matrix(1, 2, 3), NULL))
  expect_silent(verify_fit(fit))
  attr(fit, "pending")[[1]][2, 2] <- 0
  expect_error(verify_fit(fit), "in chain 1 draws were changed")
})


# Going on -----------------------------------------------------------------

test_that("extend checks its arguments before anything runs", {
  skip_long()
  fit <- fake_fit(chains = 1)
  expect_gibbsite_error({
    extend(fit)
    extend(fit, 0)
    extend(fit, 10, cores = -1)
    extend(fit, 10, stop_when = 0.1)
    extend(fit, 10, thraeds = 2)
    extend(1, 10)
  })
})

test_that("extend continues a fit to the bits of one run", {
  skip_long()
  run <- function(draws, ...) {
    suppressWarnings(run_chains(
      toy_model(), running(draws = draws, burnin = 5, thin = 2, chains = 2,
                           seed = 3, progress = FALSE, ...),
      quote(gibbs_toy(1)), rlang::current_env()
    ))
  }
  whole <- run(50)
  part <- run(20)
  longer <- suppressWarnings(extend(part, 30, progress = FALSE))
  expect_true(identical_fit(longer, whole))
  expect_false(identical_fit(part, whole))

  bare <- drop_data(part)
  expect_null(attr(bare, "model")$data)
  expect_gibbsite_error(extend(bare, 30, progress = FALSE))
  expect_error(extend(bare, 30, data = 1, progress = FALSE),
               class = "gibbsite_error_argument")
  again <- suppressWarnings(extend(bare, 30, data = 0, progress = FALSE))
  expect_true(identical_fit(again, drop_data(whole)))
  expect_true(identical_fit(drop_data(whole), run(50, keep_data = FALSE)))
})

test_that("combine_fits unites runs, and c() does too", {
  a <- fake_fit(chains = 2, seed = 1)
  b <- fake_fit(chains = 1, seed = 2)
  both <- combine_fits(a, b)
  expect_s3_class(both, "gibbsite_fit")
  expect_length(both, 3)
  expect_identical(both[[3]], b[[1]])
  expect_identical(both[[2]], a[[2]])
  expect_silent(verify_fit(both))
  expect_equal(attr(both, "running")$chains, 3)
  expect_identical(attr(both, "running")$seed, c(1L, 2L))
  expect_identical(attr(both, "chains"),
                   c(attr(a, "chains"), attr(b, "chains")))
  expect_true(identical_fit(both, c(a, b)))
  expect_true(identical_fit(both, combine_fits(list(first = a, second = b))))
  expect_equal(attr(both, "run")$elapsed$total, 1)

  three <- combine_fits(both, fake_fit(chains = 1, seed = 3))
  expect_length(three, 4)
})

test_that("combine_fits keeps pending draws with their chains", {
  a <- fake_fit(chains = 1, seed = 1, pending = list(matrix(1, 2, 3)))
  b <- fake_fit(chains = 1, seed = 2)
  both <- combine_fits(b, a)
  expect_equal(vapply(attr(both, "pending"), nrow, 1L), c(0L, 2L))
  expect_silent(verify_fit(both))
})

test_that("combine_fits keeps the data where one fit has them", {
  a <- drop_data(fake_fit(chains = 1, seed = 1))
  b <- fake_fit(chains = 1, seed = 2)
  expect_identical(attr(combine_fits(a, b), "model"), attr(b, "model"))
  expect_null(attr(combine_fits(a, drop_data(b)), "model")$data)
})

test_that("combined fits can be extended", {
  skip_long()
  run <- function(seed, draws) {
    suppressWarnings(run_chains(
      toy_model(), running(draws = draws, burnin = 5, chains = 1, seed = seed,
                           progress = FALSE),
      quote(gibbs_toy(1)), rlang::current_env()
    ))
  }
  both <- combine_fits(run(1, 20), run(2, 20))
  longer <- suppressWarnings(extend(both, 10, progress = FALSE))
  expect_true(identical_fit(longer, combine_fits(run(1, 30), run(2, 30))))
})

test_that("identical streams are refused", {
  skip_long()
  a <- fake_fit(chains = 2)
  expect_gibbsite_error(combine_fits(a, a))
  expect_error(combine_fits(a, a), class = "gibbsite_error_streams")
  # the same generators, other draws
  b <- fake_fit(chains = 2, values = function(k) matrix(k, 100, 3))
  expect_error(combine_fits(a, b), class = "gibbsite_error_streams")
  # the same draws, other generators
  d <- fake_fit(chains = 1, seed = 5, values = function(k) {
    unclass(a[[2]])
  })
  expect_error(combine_fits(a, d), class = "gibbsite_error_streams")
  # the same draws shown, one chain farther on
  e <- fake_fit(chains = 1, seed = 5, pending = list(matrix(1, 2, 3)),
                values = function(k) unclass(a[[2]]))
  expect_error(combine_fits(a, e), class = "gibbsite_error_streams")
  # the same seed, hidden by other starting values
  f <- fake_fit(chains = 1, seed = 9)
  attr(f, "running")$seed <- 1L
  expect_gibbsite_error(combine_fits(a, f))
})

test_that("runs that do not match are refused by name", {
  skip_long()
  a <- fake_fit(chains = 1, seed = 1)
  other_data <- fake_fit(chains = 1, seed = 2)
  attr(other_data, "model")$data_hash <- "other"
  other_prior <- fake_fit(chains = 1, seed = 2)
  attr(other_prior, "model")$prior$sd <- 2
  expect_gibbsite_error({
    combine_fits(a)
    combine_fits(a, 1)
    combine_fits(a, fake_fit(chains = 1, seed = 2, draws = 50))
    combine_fits(a, fake_fit(chains = 1, seed = 2, burnin = 50))
    combine_fits(a, fake_fit(chains = 1, seed = 2, thin = 2))
    combine_fits(a, fake_fit(chains = 1, seed = 2, columns = c("a", "b", "c")))
    combine_fits(a, other_data)
    combine_fits(a, other_prior)
  })
})

test_that("update evaluates the call anew with changed arguments", {
  skip_long()
  gibbs_toy <- function(x, k = 1, ...) list(x = x, k = k, ...)
  fit <- fake_fit()
  attr(fit, "run")$call <- quote(gibbs_toy(5, 2, seed = 1))
  expect_identical(getCall(fit), quote(gibbs_toy(5, 2, seed = 1)))
  expect_identical(update(fit, k = 3), list(x = 5, k = 3, seed = 1))
  expect_identical(update(fit, evaluate = FALSE, seed = NULL),
                   quote(gibbs_toy(x = 5, k = 2)))
  attr(fit, "run")$call <- NULL
  expect_gibbsite_error(update(fit, k = 3))
  # changes without names, and data that are gone
  gone <- faithful
  mixture <- quietly(gibbs_gmm(gone, 2, draws = 5, burnin = 5, chains = 1,
                               seed = 1, progress = FALSE))
  rm(gone)
  expect_gibbsite_error(class = "gibbsite_error", {
    update(mixture, 3)
    update(mixture, draws = 10)
  })
  expect_identical(
    nrow(quietly(update(mixture, draws = 6, x = faithful))[[1]]), 6L
  )
})

test_that("drop_data refuses what is not a fit", {
  expect_gibbsite_error(drop_data(3))
})

test_that("methods leave R's generator alone", {
  fit <- fake_fit(chains = 2)
  set.seed(1)
  before <- .Random.seed
  capture.output(print(fit), print(summary(fit)), print(convergence(fit)))
  tidy(fit)
  glance(fit)
  as.data.frame(fit)
  verify_fit(fit)
  expect_identical(.Random.seed, before)
})


# Indices and arguments that mean nothing -----------------------------------

test_that("an index is never recycled, cut or doubled", {
  skip_long()
  fit <- fake_fit(draws = 20, chains = 2)
  expect_gibbsite_error({
    fit[, c(TRUE, FALSE)]
    fit[1.5]
    fit[c(1, 1)]
    fit[, c("pi[1]", "pi[1]")]
    fit[c(-1, 1)]
    fit[list(1)]
    fit[c(NA, TRUE)]
    fit[0]
  })
  expect_identical(fit[-1], fit[2])
  expect_identical(fit[c(FALSE, TRUE)], fit[2])
  expect_identical(fit[-seq_len(5), 1], fit[6:20, 1])
})

test_that("window names the argument that is wrong", {
  skip_long()
  fit <- fake_fit(draws = 20, burnin = 7, thin = 3, chains = 2)
  expect_gibbsite_error({
    window(fit, start = 5)
    window(fit, end = "last")
    window(fit, thin = 4)
    window(fit, start = 11, end = 12)
    window(fit, strat = 20)
  })
  late <- window(fit, start = 12, end = 60, thin = 6)
  expect_identical(attr(late[[1]], "mcpar"), c(13, 55, 6))
  expect_identical(as.mcmc.list(late), fit[seq(2, 17, by = 2), ])
})

test_that("arguments that do not exist are errors", {
  skip_long()
  fit <- fake_fit(draws = 20, chains = 2)
  expect_gibbsite_error({
    draws_of(fit)
    draws_of(1:3, "mu")
    draws_of(fit, "mu", 3)
    tidy(fit, conf = 0.5, level = 0.9)
    glance(fit, 3)
  })
})

test_that("an argument may be abbreviated where R allows it", {
  expect_snapshot(summary(fake_fit(draws = 20, chains = 2), prob = 0.5))
})

test_that("fits that were put together have no one call", {
  skip_long()
  fit <- combine_fits(fake_fit(seed = 1L), fake_fit(seed = 2L))
  expect_gibbsite_error(update(fit, draws = 10))
  expect_gibbsite_error(update(fake_fit(), evaluate = "no"))
})

test_that("a part of a table of convergence carries no verdict", {
  table <- convergence(fake_fit(draws = 200, chains = 2))
  expect_s3_class(table[1, ], "data.frame", exact = TRUE)
  expect_identical(table$rhat[1], table[1, "rhat"])
})

# ---- generics ----------------------------------------------------------------

test_that("generics of stats answer as those of lm() and glm()", {
  skip_long()
  line <- quietly(gibbs_lm(
    dist ~ speed, datasets::cars, weights = speed, draws = 20, chains = 1,
    seed = 1, progress = FALSE
  ))
  expect_equal(unname(weights(line)), datasets::cars$speed)
  cars <- datasets::cars
  cars$speed[3] <- NA
  gaps <- quietly(gibbs_lm(
    dist ~ speed, cars, na_action = "exclude", draws = 20, chains = 1, seed = 1,
    progress = FALSE
  ))
  expect_identical(unname(weights(gaps)), c(1, 1, NA, rep(1, 47)))
  d <- data.frame(s = c(1, 4, 2, 6), f = c(5, 3, 3, 1), x = 1:4, o = 4:1 / 9)
  by_glm <- glm(cbind(s, f) ~ x, binomial(), d, offset = o)
  fit <- laplace_logistic(
    cbind(s, f) ~ x, d, logistic_prior(Inf), offset = o, seed = 1,
    progress = FALSE
  )
  expect_equal(deviance(fit), deviance(by_glm), tolerance = 1e-6)
  expect_identical(df.residual(fit), 2L)
  expect_equal(weights(fit), weights(by_glm))
  exact <- quietly(gibbs_logistic(
    cbind(s, f) ~ x, d, draws = 20, chains = 1, seed = 1, progress = FALSE
  ))
  expect_equal(unname(weights(exact)), d$s + d$f)
})

test_that("estimates of one's own model are those of its draws", {
  skip_long()
  normal <- quietly(mh_sample(
    function(x) -sum(x^2) / 2, c(a = 0, b = 0), draws = 50, chains = 2,
    seed = 1, progress = FALSE
  ))
  rows <- as.matrix(normal)[, c("a", "b")]
  expect_equal(coef(normal), colMeans(rows))
  expect_equal(vcov(normal), stats::cov(rows))
  expect_equal(
    unname(confint(normal, "b", level = 0.5)[1, ]),
    unname(stats::quantile(rows[, "b"], c(0.25, 0.75)))
  )
  blocks <- quietly(gibbs_sample(
    list(mu = function(state) stats::rnorm(1)), list(mu = 0), draws = 50,
    chains = 2, seed = 1, progress = FALSE
  ))
  expect_equal(coef(blocks), c(mu = mean(as.matrix(blocks))))
  expect_equal(vcov(blocks)[[1]], stats::var(c(as.matrix(blocks))))
  expect_equal(
    unname(confint(blocks)[1, ]),
    unname(stats::quantile(as.matrix(blocks), c(0.025, 0.975)))
  )
})

test_that("generics without a meaning are errors that say what to call", {
  skip_long()
  short <- function(f, ...) {
    quietly(f(..., draws = 5, burnin = 5, chains = 1, seed = 1,
              progress = FALSE))
  }
  line <- short(gibbs_lm, dist ~ speed, datasets::cars)
  mixture <- short(gibbs_gmm, datasets::faithful, 2)
  expect_gibbsite_error({
    logLik(line)
    AIC(line)
    BIC(mixture)
    deviance(line)
    df.residual(line)
    anova(line)
    coef(mixture)
    vcov(mixture)
    confint(mixture)
    sigma(mixture)
    fitted(mixture)
    residuals(mixture)
    weights(mixture)
    formula(mixture)
    terms(mixture)
    family(mixture)
    model.frame(mixture)
    model.matrix(mixture)
    drop1(line)
    range(line)
    max(mixture)
    quantile(line)
    median(line)
    mean(line)
  })
})

test_that("functions of posterior change the draws of a fit", {
  skip_long()
  skip_if_not_installed("posterior")
  fit <- quietly(gibbs_lm(
    dist ~ speed, datasets::cars, draws = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  draws <- posterior::as_draws(fit)
  expect_identical(
    posterior::subset_draws(fit, "speed", iteration = 1:3),
    posterior::subset_draws(draws, "speed", iteration = 1:3)
  )
  expect_identical(
    posterior::thin_draws(fit, 2), posterior::thin_draws(draws, 2)
  )
  expect_identical(
    posterior::merge_chains(fit), posterior::merge_chains(draws)
  )
  expect_identical(
    posterior::mutate_variables(fit, half = speed / 2),
    posterior::mutate_variables(draws, half = speed / 2)
  )
  expect_identical(
    posterior::variables(posterior::rename_variables(fit, slope = speed))[[2]],
    "slope"
  )
  both <- posterior::bind_draws(fit, fit, along = "iteration")
  expect_identical(posterior::niterations(both), 40L)
  expect_identical(posterior::order_draws(fit), posterior::order_draws(draws))
  expect_identical(posterior::repair_draws(fit), posterior::repair_draws(draws))
  expect_identical(
    withr::with_seed(1, posterior::resample_draws(fit, weights = 1:40)),
    withr::with_seed(1, posterior::resample_draws(draws, weights = 1:40))
  )
  expect_identical(
    posterior::split_chains(fit), posterior::split_chains(draws)
  )
  expect_identical(
    posterior::weight_draws(fit, 1:40), posterior::weight_draws(draws, 1:40)
  )
  expect_identical(
    posterior::nvariables(fit), posterior::nvariables(draws)
  )
  for (ids in c("iteration_ids", "chain_ids", "draw_ids")) {
    ids <- getExportedValue("posterior", ids)
    expect_identical(ids(fit), ids(draws))
  }
  expect_identical(rstantools::nsamples(fit), 40L)
})

test_that("a fit is printed without times", {
  fit <- quietly(gibbs_lm(dist ~ speed, datasets::cars, draws = 20, burnin = 5,
                          chains = 2, seed = 1, progress = FALSE))
  shown <- function(...) paste(capture.output(print(fit, ...)), collapse = "\n")
  expect_match(shown(), "[0-9] s\\b")
  expect_no_match(shown(times = FALSE), "[0-9] s\\b")
  withr::local_options(gibbsite.times = FALSE)
  expect_no_match(shown(), "[0-9] s\\b")
  expect_match(shown(times = TRUE), "[0-9] s\\b")
  expect_identical(getOption("gibbsite.times"), FALSE)
  expect_gibbsite_error(print(fit, times = 2))
})

test_that("posterior's measures of a fit are those of each variable", {
  fit <- fake_fit(draws = 50, chains = 2)
  draws <- posterior::as_draws_array(fit)
  for (name in c("ess_bulk", "ess_tail", "ess_mean", "mcse_mean", "rhat_basic",
                 "rhat")) {
    measure <- getExportedValue("posterior", name)
    expect_equal(
      measure(fit),
      vapply(posterior::variables(draws), function(variable) {
        measure(posterior::extract_variable_matrix(draws, variable))
      }, 0)
    )
  }
  expect_identical(
    dim(posterior::quantile2(fit, probs = c(0.1, 0.5))), c(2L, 3L)
  )
})

# ---- What has no meaning for a fit -------------------------------------------

test_that("str() of a fit is a few lines, also within a list", {
  fit <- fake_fit(chains = 2)
  expect_snapshot({
    str(fit)
    str(list(a = 1, fit = fit))
  })
})

test_that("generics of vectors refuse a fit", {
  fit <- fake_fit(chains = 2)
  expect_gibbsite_error(class = "gibbsite_error_argument", {
    rev(fit)
    fit + 1
    range(fit)
  })
  calls <- list(
    unique, sort, mean, stats::median, stats::quantile, exp, max,
    function(x) split(x, 1:2), function(x) 1 - x, function(x) x == x
  )
  for (f in calls[fast_or(c(1, 6, 9), seq_along(calls))]) {
    expect_error(f(fit), class = "gibbsite_error_argument")
  }
  # a column of fits is printed by it
  expect_identical(toString(fit), "gibbs_toy()")
  expect_identical(format(I(list(fit))), "gibbs_toy()")
})

test_that("a run without draws says so, whatever is asked of it", {
  model <- toy_model()
  running <- attr(fake_fit(chains = 2), "running")
  chains <- attr(fake_fit(chains = 2), "chains")
  run <- new_fit(
    list(NULL, NULL), model, running, lapply(chains, `[`, c("state", "rng")),
    run = list(call = quote(gibbs_toy(1)))
  )
  expect_gibbsite_error(class = "gibbsite_error", {
    summary(run)
    converged(run)
    monte_carlo(run)
    combine_fits(run, run)
    log_evidence(run)
  })
  calls <- list(
    plot, tidy, glance, as.data.frame, as.matrix, as.array, coef, predict,
    draws_of, posterior::as_draws, posterior::ndraws, coda::as.mcmc.list,
    window, posterior_predict, log_lik, loo, vcov, confint, c,
    function(x) x$a, function(x) x[1], function(x) x[[1]]
  )
  every <- seq_along(calls)
  for (f in calls[fast_or(every[every %% 4 == 1], every)]) {
    expect_error(f(run), class = "gibbsite_error_no_draws")
  }
  expect_identical(nobs(run), 7L)
  expect_identical(getCall(run), quote(gibbs_toy(1)))
  expect_s3_class(prior_summary(run), "toy_prior")
  expect_output(str(run), "none yet")
})

test_that("update() says that it has found other data, or an argument not", {
  make <- function(x, k, s) {
    gibbs_gmm(x, k, draws = 10, burnin = 5, chains = 1, seed = s,
              progress = FALSE)
  }
  fit <- quietly(make(faithful, 2, 1))
  s <- 1
  k <- 2
  x <- faithful
  expect_no_message(suppressWarnings(update(fit, draws = 5)),
                    class = "gibbsite_message_other_data")
  x <- iris[1:4]
  expect_message(suppressWarnings(update(fit)), "150 observations",
                 class = "gibbsite_message_other_data")
  expect_no_message(suppressWarnings(update(fit, x = iris[1:4])),
                    class = "gibbsite_message_other_data")
  rm(s)
  expect_error(update(fit), "seed = s.* not\\s+found",
               class = "gibbsite_error_data")
  steps <- (function(states) {
    fit_markov_chain(states, draws = 5, seed = 1, progress = FALSE)
  })(c("a", "b", "a"))
  states <- c("u", "u", "v")
  expect_message(update(steps), "sequences = states",
                 class = "gibbsite_message_other_data")
})
