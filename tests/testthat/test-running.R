# A sampler as a user sees it: its running arguments go through running().
sampler <- function(...) {
  running(...,
    keep_choices = c("pi", "mu", "Sigma", "z"),
    keep_default = c("pi", "mu", "Sigma"), call = rlang::current_env()
  )
}

test_that("the defaults are those of the documented table", {
  withr::local_options(mc.cores = NULL)
  r <- sampler()
  expect_s3_class(r, "gibbsite_running", exact = TRUE)
  expect_identical(unclass(r), list(
    draws = 1000, burnin = 1000, thin = 1, chains = 4L, inits = NULL,
    keep = c("pi", "mu", "Sigma"), threads = 1L, cores = 1L, seed = NULL,
    checkpoint = NULL,
    stop_when = sampler(draws = 1000, stop_when = until())$stop_when,
    progress = TRUE, keep_data = TRUE
  ))
  expect_null(sampler(draws = 1000)$stop_when)
  withr::local_options(mc.cores = 3)
  expect_identical(sampler()$cores, 3L)
})

test_that("values come back in one type each", {
  r <- sampler(
    draws = 5L, burnin = 0, thin = 2L, chains = 2, threads = 2, cores = 2,
    seed = 1e3, keep = c("z", "pi"), progress = FALSE, keep_data = FALSE
  )
  expect_identical(r$draws, 5)
  expect_identical(r$burnin, 0)
  expect_identical(r$thin, 2)
  expect_identical(r$chains, 2L)
  expect_identical(r$seed, 1000L)
  expect_identical(r$keep, c("pi", "z"))
  expect_identical(sampler(seed = -.Machine$integer.max)$seed,
    -.Machine$integer.max)
})

test_that("each running argument has its range, and an error in words", {
  skip_long()
  expect_gibbsite_error({
    sampler(draws = 0)
    sampler(draws = 2^31)
    sampler(draws = "many")
    sampler(burnin = -1)
    sampler(burnin = NA)
    sampler(thin = 0)
    sampler(thin = 1.5)
    sampler(chains = 0)
    sampler(chains = 1:4)
    sampler(threads = 0)
    sampler(threads = 1e6)
    sampler(cores = NULL)
    sampler(cores = "two")
    sampler(seed = NA)
    sampler(seed = 2^31)
    sampler(seed = TRUE)
    sampler(seed = c(1, 2))
    sampler(keep = "beta")
    sampler(keep = TRUE)
    sampler(stop_when = 1.01)
    sampler(stop_when = until)
    sampler(progress = NA)
    sampler(keep_data = "no")
    sampler(burnin = 2^53)
    sampler(draws = 1e9, thin = 1e8)
    sampler(draws = 10, thin = 1e15, stop_when = until())
  })
})

test_that("errors are of the sampler's call", {
  e <- expect_error(sampler(draws = 0), class = "gibbsite_error_argument")
  expect_identical(conditionCall(e), quote(sampler(draws = 0)))
  e <- expect_error(sampler(stop_when = until(max_draws = 5)))
  expect_identical(as.character(conditionCall(e)[[1]]), "sampler")
  e <- expect_error(until(rhat = 1))
  expect_identical(conditionCall(e), quote(until(rhat = 1)))
  e <- expect_error(until(max_draws = 1, every = 2))
  expect_identical(conditionCall(e), quote(until(max_draws = 1, every = 2)))
})

test_that("starting values have the form of one of four kinds", {
  skip_long()
  expect_identical(sampler(inits = list(1, 2), chains = 2)$inits, list(1, 2))
  f <- function(chain) chain
  expect_identical(sampler(inits = f)$inits, f)
  g <- function(chain, scale = 1) chain
  expect_identical(sampler(inits = g)$inits, g)
  dots <- function(...) 1
  expect_identical(sampler(inits = dots)$inits, dots)
  fit <- structure(list(), class = c("gibbs_gmm", "gibbsite_fit", "mcmc.list"))
  expect_identical(sampler(inits = fit)$inits, fit)
  partial <- structure(list(), class = "gibbsite_partial")
  expect_identical(sampler(inits = partial)$inits, partial)
  expect_gibbsite_error({
    sampler(inits = 1)
    sampler(inits = "random")
    sampler(inits = faithful)
    sampler(inits = list())
    sampler(inits = list(pi = 1, mu = 2))
    sampler(inits = list(1, 2), chains = 1)
    sampler(inits = function() 1)
    sampler(inits = function(chain, scale) 1)
  })
})

test_that("a checkpoint is a new or empty directory", {
  skip_long()
  root <- normalizePath(withr::local_tempdir())
  withr::local_dir(root)
  expect_identical(
    sampler(checkpoint = "run")$checkpoint, file.path(root, "run")
  )
  expect_false(dir.exists("run"))
  dir.create("empty")
  expect_identical(
    sampler(checkpoint = "empty")$checkpoint, file.path(root, "empty")
  )
  dir.create("earlier")
  saveRDS(1, "earlier/data.rds")
  dir.create("other")
  file.create("other/.hidden")
  expect_gibbsite_error({
    sampler(checkpoint = "earlier")
    sampler(checkpoint = "other")
    sampler(checkpoint = "other/.hidden")
    sampler(checkpoint = "no/such")
    sampler(checkpoint = TRUE)
  })
  expect_setequal(list.files(all.files = TRUE, no.. = TRUE, recursive = TRUE),
    c("earlier/data.rds", "other/.hidden"))
})

# ---- until() ----

test_that("a rule is checked when it is made", {
  skip_long()
  expect_gibbsite_error({
    until(rhat = 1)
    until(rhat = "low")
    until(rhat = NA)
    until(ess = -1)
    until(ess = Inf)
    until(max_draws = 0)
    until(every = 1.5)
    until(max_draws = 100, every = 200)
    until(rhat = Inf, ess = 0)
  })
})

test_that("a rule's defaults come from `draws`, in whole rounds", {
  skip_long()
  rule <- function(..., draws = 100) {
    unclass(sampler(draws = draws, stop_when = until(...))$stop_when)
  }
  expect_identical(
    rule(), ignore_attr = "by_default", list(
      rhat = 1.01, ess = 400, max_draws = 2000, every = 100, burnin = "auto",
      seconds = NULL
    )
  )
  expect_identical(rule(every = 50)$max_draws, 2000)
  expect_identical(rule(every = 300)$max_draws, 1800)
  expect_identical(rule(every = 5000)$max_draws, 5000)
  expect_identical(rule(max_draws = 400)$every, 100)
  expect_no_message(expect_identical(rule(max_draws = 400)$max_draws, 400))
  expect_gibbsite_condition(
    r <- rule(max_draws = 450, every = 200), "gibbsite_message_rounded"
  )
  expect_identical(r$max_draws, 400)
  expect_message(rule(max_draws = 150), class = "gibbsite_message_rounded")
  expect_gibbsite_error({
    sampler(draws = 1000, stop_when = until(max_draws = 500))
  })
})

test_that("a rule prints as words", {
  expect_snapshot({
    until()
    until(rhat = 1.005, ess = 1000, max_draws = 1e5, every = 500)
    until(rhat = Inf)
    until(ess = 0)
  })
})

# ---- Options ----

test_that("options have defaults, and are checked", {
  skip_long()
  withr::local_options(
    gibbsite.on_interrupt = NULL, gibbsite.max_draws_mb = NULL,
    gibbsite.segment_seconds = NULL, gibbsite.round_seconds = NULL,
    gibbsite.checkpoint_seconds = NULL
  )
  expect_identical(
    gibbsite_option("on_interrupt"), if (interactive()) "return" else "stop"
  )
  expect_identical(gibbsite_option("max_draws_mb"), 2000)
  expect_identical(gibbsite_option("segment_seconds"), 0.25)
  expect_identical(gibbsite_option("round_seconds"), 3)
  expect_identical(gibbsite_option("checkpoint_seconds"), 30)
  withr::local_options(
    gibbsite.on_interrupt = "return", gibbsite.max_draws_mb = Inf,
    gibbsite.checkpoint_seconds = 0L
  )
  expect_identical(gibbsite_option("on_interrupt"), "return")
  expect_identical(gibbsite_option("max_draws_mb"), Inf)
  expect_identical(gibbsite_option("checkpoint_seconds"), 0)
  with_option <- function(...) withr::with_options(list(...), sampler())
  expect_gibbsite_error({
    with_option(gibbsite.on_interrupt = "Stop")
    with_option(gibbsite.max_draws_mb = "2 GB")
    with_option(gibbsite.segment_seconds = 0)
    with_option(gibbsite.round_seconds = Inf)
    with_option(gibbsite.checkpoint_seconds = -1)
  })
})
