# mh_sample() as its users meet it: the promises of the driver, functions that
# do odd things, bounds, names, blocks, messages.  That its draws have the right
# distribution is tested in test-mh-exact.R.

quadratic <- function(x) -0.5 * sum(x * x)
two <- c(a = 0.5, b = -0.5)

every_proposal <- function() {
  list(
    random_walk(0.8), adaptive(), adaptive(forever = TRUE),
    independence(c(0, 0), diag(2)),
    mixture_proposal(random_walk(1, family = "t"), random_walk(2)),
    custom_proposal(function(x) x + stats::rnorm(2), function(y, x) 0),
    langevin(gradient = function(x) -x), nuts(function(x) -x),
    hmc(gradient = function(x) -x, n_steps = 4, mass = "dense"),
    univariate_slice(), elliptical_slice(diag(2)), tempered(),
    tempered(c(1, 3, 9), univariate_slice()), delayed_rejection(),
    delayed_rejection(
      langevin(gradient = function(x) -x), random_walk(0.3, family = "t")
    ),
    tempered(c(1, 3), delayed_rejection(random_walk(2)))
  )
}

# ---- the promises of the driver ----------------------------------------------

test_that("pieces never show, with any proposal", {
  skip_unless_extended()
  for (proposal in every_proposal()) {
    run <- function(draws, ...) {
      short_mh(quadratic, two, proposal,
        draws = draws, burnin = 40, thin = 3, debug = TRUE,
        chains = 2, ...
      )
    }
    # past the 256 sweeps for which variates are drawn ahead
    whole <- run(80)
    withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
      expect_true(identical_fit(run(80, threads = 2), whole))
    })
    path <- withr::local_tempfile()
    saveRDS(run(37), path)
    expect_true(identical_fit(longer(readRDS(path), 43), whole))
  }
})

test_that("blocks with look-ahead of their own can be cut anywhere", {
  skip_long()
  run <- function(draws) {
    short_mh(quadratic, rep(0.1, 3),
      list(adaptive(), langevin(gradient = function(x) -x)),
      blocks = list(c(3, 1), c(2, 1)), draws = draws, burnin = 100
    )
  }
  expect_true(identical_fit(longer(longer(run(1), 5), 70), run(76)))
})

test_that("interrupts lose at most a segment", {
  skip_long()
  withr::local_options(
    gibbsite.segment_seconds = 1e-9, gibbsite.on_interrupt = "return"
  )
  whole <- short_mh(quadratic, two, draws = 30, burnin = 5)
  count <- 0
  f <- function(x) {
    count <<- count + 1
    if (count == 200) rlang::interrupt()
    quadratic(x)
  }
  # the look at the starting points takes some of the 200
  expect_warning(
    part <- short_mh(f, two, draws = 120, burnin = 5),
    class = "gibbsite_warning_interrupted"
  )
  shown <- attr(part, "running")$draws
  expect_lt(shown, 120)
  expect_true(identical_fit(
    longer(part, 120 - shown), short_mh(f, two, draws = 120, burnin = 5)
  ))
})

test_that("processes of any kind give the bits of this one", {
  skip_unless_extended()
  skip_on_cran()
  skip_on_os("windows")
  short_rounds()
  withr::local_options(gibbsite.round_seconds = 0.15)
  # What the density needs is in its environment, and in the global one. It
  # sleeps, so that a chain takes several rounds.
  make <- function(y) {
    function(m) {
      Sys.sleep(0.004)
      sum(stats::dnorm(y, m, mh_test_sd, log = TRUE))
    }
  }
  f <- make(c(1, 2, 4))
  assign("mh_test_sd", 2, globalenv())
  assign("mh_test_density", eval(quote(function(m) {
    -0.5 * sum((m / mh_test_sd)^2)
  }), globalenv()), globalenv())
  withr::defer(rm("mh_test_sd", "mh_test_density", envir = globalenv()))
  environment(mh_test_density) <- globalenv()
  old <- future::plan(future::sequential)
  withr::defer(future::plan(old))
  draw <- custom_proposal(function(x) x + stats::rnorm(1, 0, mh_test_sd), NULL)
  run <- function(f, ...) {
    short_mh(f, 1, draw, draws = 40, burnin = 10, chains = 3, ...)
  }
  here <- list(run(f), run(mh_test_density))
  expect_true(identical_fit(run(f, cores = 2), here[[1]]))
  future::plan(future::multisession, workers = 2)
  expect_true(identical_fit(run(f), here[[1]]))
  expect_true(identical_fit(run(mh_test_density), here[[2]]))
  future::plan(future::sequential)
})

test_that("a checkpoint is resumed, and its density compared", {
  skip_long()
  make <- function(y) function(m, s) sum(stats::dnorm(y, m, s, log = TRUE))
  run <- function(folder, hook = NULL, ...) {
    short_mh(make(c(1, 2, 4)), 1, s = 2, draws = 60, checkpoint = folder, ...)
  }
  withr::local_options(gibbsite.checkpoint_seconds = 0)
  folder <- file.path(withr::local_tempdir(), "run")
  whole <- run(folder)
  expect_true(identical_fit(resumed(folder), whole))
  expect_true(identical_fit(
    resumed(folder, log_density = make(c(1, 2, 4))), whole
  ))
  expect_gibbsite_error({
    resumed(folder, log_density = make(c(1, 2, 5)))
    resumed(folder, log_density = function(m, s) -m^2)
    resumed(folder, data = make(c(1, 2, 4)))
  })
  # a run that stopped half-way
  broken <- function(m, s) {
    if (isTRUE(getOption("mh.break")) && m > 1.5) stop("broken")
    sum(stats::dnorm(c(1, 2, 4), m, s, log = TRUE))
  }
  folder <- file.path(withr::local_tempdir(), "run")
  withr::local_options(gibbsite.segment_seconds = 1e-9)
  go <- function(...) {
    short_mh(broken, 1, random_walk(1), s = 2, draws = 60, ...)
  }
  withr::with_options(list(mh.break = TRUE), {
    expect_error(
      go(checkpoint = folder, inits = list(1, 1)), "broken"
    )
  })
  expect_true(identical_fit(
    resumed(folder, log_density = broken), go(inits = list(1, 1))
  ))
})

test_that("a fit without its density takes it again", {
  skip_long()
  run <- function(draws, ...) short_mh(quadratic, two, draws = draws, ...)
  bare <- run(20, keep_data = FALSE)
  expect_null(attr(bare, "model")$data)
  more <- longer(bare, 30, log_density = quadratic)
  expect_true(identical_fit(more, run(50, keep_data = FALSE)))
  expect_gibbsite_error({
    longer(bare, 30)
    longer(bare, 30, log_density = function(x) -sum(x^2))
    longer(short_gmm(), 5, log_density = quadratic)
  })
})

test_that("several runs unite, and an earlier fit is a start", {
  skip_long()
  one <- short_mh(quadratic, two, random_walk(1), seed = 1)
  both <- combine_fits(one, short_mh(quadratic, two, random_walk(1), seed = 2))
  expect_length(both, 4)
  next_fit <- short_mh(quadratic, two, random_walk(1), inits = one, seed = 3,
    burnin = 0, debug = TRUE
  )
  last <- unclass(one[[1]])[20, 1:2]
  start <- rebuild_chain(mh_trace(next_fit)[[1]], unname(last), quadratic)
  expect_identical(start$points, unname(unclass(next_fit[[1]])[, 1:2]))
})

# ---- user's functions that do odd things -------------------------------------

from_one_start <- function(f, ...) {
  short_mh(f, c(0.5, 0.5), adaptive(scale = 1), draws = 60, burnin = 60,
    inits = list(c(0.5, 0.5), c(0, 0)), ...
  )
}

same_draws <- function(a, b) identical(lapply(a, c), lapply(b, c))

test_that("random numbers in the density never touch the sampler's", {
  skip_long()
  whole <- from_one_start(quadratic)
  drawing <- function(x) {
    stats::runif(3)
    quadratic(x)
  }
  seeding <- function(x) {
    set.seed(1)
    quadratic(x)
  }
  nesting <- function(x) {
    short_mh(quadratic, 0, random_walk(1), draws = 2, burnin = 0, chains = 1)
    quadratic(x)
  }
  changing <- function(x) {
    old <- RNGkind("Wichmann-Hill", "Ahrens-Dieter", "Rounding") |>
      suppressWarnings()
    on.exit(suppressWarnings(RNGkind(old[1], old[2], old[3])))
    stats::runif(1)
    quadratic(x)
  }
  expect_true(same_draws(from_one_start(drawing), whole))
  expect_true(same_draws(from_one_start(seeding), whole))
  expect_true(same_draws(from_one_start(changing), whole))
  short <- function(f) {
    short_mh(
      f, 0.5, random_walk(1), inits = list(0.5, 1), draws = 3, burnin = 2
    )
  }
  expect_true(same_draws(short(nesting), short(quadratic)))
  # also under the other kinds, and in pieces
  old <- RNGkind()
  withr::defer(RNGkind(old[1], old[2], old[3]))
  for (kind in fast_or(
    "Wichmann-Hill", c("L'Ecuyer-CMRG", "Wichmann-Hill", "Super-Duper")
  )) {
    RNGkind(kind)
    expect_true(same_draws(from_one_start(drawing), from_one_start(quadratic)))
  }
})

test_that("a density's own random numbers follow the seed, in any pieces", {
  skip_long()
  noisy <- function(x) quadratic(x) + stats::rnorm(1)
  run <- function(draws, seed = 1) {
    short_mh(noisy, two, draws = draws, burnin = 50, seed = seed)
  }
  whole <- run(100)
  expect_true(identical_fit(run(100), whole))
  expect_true(identical_fit(longer(run(30), 70), whole))
  withr::with_options(list(gibbsite.segment_seconds = 1e-9), {
    expect_true(identical_fit(run(100), whole))
  })
  expect_false(same_draws(run(100, seed = 2), whole))
  # and are no run of numbers that the sampler or another chain uses
  seen <- new.env()
  seen$numbers <- numeric()
  uniform <- function(x) {
    seen$numbers <- c(seen$numbers, stats::runif(1))
    quadratic(x)
  }
  fit <- short_mh(uniform, two, random_walk(1), debug = TRUE)
  used <- unlist(lapply(mh_trace(fit), `[[`, "uniform"))
  expect_false(any(duplicated(c(seen$numbers, used))))
})

test_that("the user's generator is one uniform on, and its kind unchanged", {
  noisy <- function(x) quadratic(x) + stats::rnorm(1)
  set.seed(7)
  stats::runif(1)
  after <- .Random.seed
  set.seed(7)
  short_mh(noisy, two, seed = NULL)
  expect_identical(.Random.seed, after)
  short_mh(quadratic, two, random_walk(cov = "laplace"))
  expect_identical(.Random.seed, after)
})

test_that("a kind of generator that stays changed is an error", {
  skip_long()
  before <- RNGkind()
  staying <- function(x) {
    RNGkind("Wichmann-Hill")
    quadratic(x)
  }
  expect_error(
    from_one_start(staying), "kind of random number", class = "gibbsite_error"
  )
  late <- local({
    count <- 0
    function(x) {
      count <<- count + 1
      if (count == 150) RNGkind("Wichmann-Hill")
      quadratic(x)
    }
  })
  expect_error(
    from_one_start(late), "kind of random number",
    class = "gibbsite_error_chain"
  )
  expect_identical(RNGkind(), before)
})

test_that("an argument that was kept does not change", {
  skip_long()
  kept <- list()
  lazily <- list()
  f <- function(x) {
    kept[[length(kept) + 1L]] <<- x
    lazily[[length(lazily) + 1L]] <<- function() x
    quadratic(x)
  }
  fit <- short_mh(f, two, random_walk(1),
    debug = TRUE, chains = 1, burnin = 0, inits = list(two)
  )
  asked <- rbind(two, as.matrix(mh_trace(fit)[[1]][c("a", "b")]))
  expect_equal(do.call(rbind, kept), asked, ignore_attr = "dimnames")
  expect_identical(lapply(lazily, function(g) g()), kept)
  expect_named(kept[[5]], c("a", "b"))
  # one that changes its argument changes its own copy
  spoiling <- function(x) {
    value <- quadratic(x)
    x[] <- 99
    value
  }
  expect_true(same_draws(from_one_start(spoiling), from_one_start(quadratic)))
})

test_that("integers, names and classes of an answer are no matter", {
  skip_long()
  flat <- function(x) if (abs(x) < 3) 0L else -Inf
  fit <- short_mh(flat, 0, random_walk(1))
  expect_true(all(unclass(fit[[1]])[, "log_density"] == 0))
  named <- function(x) c(value = quadratic(x))
  expect_true(same_draws(from_one_start(named), from_one_start(quadratic)))
  classed <- function(x) structure(quadratic(x), class = "logLik", df = 1)
  expect_true(same_draws(from_one_start(classed), from_one_start(quadratic)))
})

# ---- what the density may say ------------------------------------------------

# Numbers that depend on the chain are of no interest.
scrub <- function(lines) {
  lines <- gsub("-?[0-9]+\\.[0-9]+(e-?[0-9]+)?", "<number>", lines)
  gsub("sweep [0-9]+", "sweep <n>", lines)
}

test_that("values that are no log density stop, with sweep and point", {
  skip_long()
  at <- function(value) {
    function(x) if (x[[1]] > 1) value else quadratic(x)
  }
  run <- function(f, proposal = random_walk(1), ...) {
    short_mh(f, two, proposal, chains = 1, draws = 2000, ...)
  }
  expect_gibbsite_error(transform = scrub, {
    run(at(NaN))
    run(at(NA))
    run(at(Inf))
    run(at("a"))
    run(at(c(1, 2)))
    run(at(TRUE))
    run(at(NULL))
    run(function(x) if (x[["a"]] > 1) stop("a {brace} in it") else 0 - x[[1]]^2)
    run(quadratic, custom_proposal(function(x) 1, NULL))
    run(quadratic, custom_proposal(function(x) x + NA, NULL))
    run(quadratic, custom_proposal(function(x) x, function(y, x) -Inf))
    run(quadratic, custom_proposal(function(x) x, function(y, x) "q"))
    run(quadratic, custom_proposal(function(x) stop("no draw"), NULL))
    run(quadratic, langevin(1, gradient = function(x) x[1]))
    run(quadratic, langevin(1, gradient = function(x) x * NA))
  })
  failure <- rlang::catch_cnd(run(at(NaN)), "gibbsite_error_chain")
  cause <- failure$failures[[1]]$condition
  expect_s3_class(cause, "gibbsite_error_user_function")
  # the sweep and the point are the true ones
  trace <- mh_trace(run(at(-Inf), debug = TRUE))[[1]]
  first <- which(trace$a > 1)[1]
  expect_identical(cause$sweep, trace$sweep[first])
  expect_identical(cause$point, c(a = trace$a[first], b = trace$b[first]))
})

test_that("NaN can be taken for zero, and is counted", {
  f <- function(x) if (x[[1]] > 1) NaN else quadratic(x)
  g <- function(x) if (x[[1]] > 1) -Inf else quadratic(x)
  run <- function(f, ...) {
    short_mh(f, two, random_walk(1), inits = list(two, two), debug = TRUE, ...)
  }
  fit <- run(f, on_nan = "reject")
  expect_true(same_draws(fit, run(g)))
  outside <- vapply(mh_trace(fit), function(trace) sum(trace$a > 1), 0L)
  expect_equal(attr(acceptance(fit), "nan"), outside)
  expect_output(print(fit), paste("zero:", sum(outside), "times"))
})

test_that("a start must be possible", {
  skip_long()
  expect_gibbsite_error({
    short_mh(function(x) -Inf, c(a = 1, b = 2))
    short_mh(function(x) if (x > 0) -x else -Inf, 1, inits = list(1, -1))
    short_mh(function(x) stop("not here"), 1)
    short_mh(function(x, y) x + y, 1)
    short_mh(function(x) NaN, 1)
    short_mh(function(x) Inf, 1)
    short_mh(function(x) -Inf, 1, random_walk(cov = "laplace"))
    short_mh(function(x) x^2, 1, random_walk(cov = "laplace"))
    short_mh(function(x) exp(x), 1, random_walk(cov = "laplace"))
  })
})

test_that("starts are scattered around init, where the density allows", {
  f <- function(x) if (all(x > 0)) -sum(x / c(1, 100)) else -Inf
  fit <- short_mh(f, c(1, 100), random_walk(c(1, 100)),
    draws = 1, burnin = 0, chains = 40
  )
  x <- all_columns(fit)
  expect_true(all(x[, 1:2] > 0))
  expect_gt(length(unique(x[, 1])), 38)
  ratio <- stats::sd(x[, 2]) / stats::sd(x[, 1])
  expect_gt(ratio, 30)
  expect_lt(ratio, 300)
})

test_that("the reach of a density is its standard deviation where normal", {
  for (s in c(1e-6, 1, 1e5)) {
    f <- function(x) -0.5 * sum((x / c(s, 1))^2)
    expect_equal(gibbsite:::reach(f, c(0, 0)), c(s, 1), tolerance = 1e-4)
    expect_equal(gibbsite:::reach(f, c(s, 3)), c(s, 1), tolerance = 1e-3)
  }
  # edges, and densities that do not fall at all
  box <- function(x) if (abs(x) < 5) 0 else -Inf
  expect_gt(gibbsite:::reach(box, 0), 2)
  expect_lt(gibbsite:::reach(box, 0), 20)
  expect_true(is.finite(gibbsite:::reach(function(x) 0, 0)))
  expect_true(is.finite(gibbsite:::reach(function(x) x^2, 0)))
})

test_that("learning begins at the curvature, where there is one", {
  factor_at <- function(f, x, index = seq_along(x)) {
    scale <- gibbsite:::reach(f, x)
    d <- length(index)
    matrix(gibbsite:::curvature_factor(f, x, index, scale), d, d)
  }
  cov <- 0.95^abs(outer(1:6, 1:6, "-")) * tcrossprod(10^(-2:3))
  precision <- solve(cov)
  normal <- function(x) -0.5 * sum(x * (precision %*% x))
  root <- t(chol(cov))
  expect_equal(factor_at(normal, numeric(6)), root, tolerance = 1e-3)
  # cubic terms play no part, nor does where on a parabola one stands
  expect_equal(
    factor_at(function(x) normal(x) + sum((x / diag(root))^3), numeric(6)),
    root, tolerance = 1e-3
  )
  expect_equal(
    factor_at(normal, root[, 1] / 2), root, tolerance = 1e-3
  )
  # of a block: given the other coordinates
  part <- c(5L, 2L)
  expect_equal(
    factor_at(normal, numeric(6), part), t(chol(solve(precision[part, part]))),
    tolerance = 1e-3
  )
  apart <- function(x) -0.5 * sum((x / c(2, 30))^2)
  expect_equal(factor_at(apart, c(0, 0)), diag(c(2, 30)), tolerance = 1e-4)
  # no parabola at all
  strange <- list(
    flat = function(x) 0, up = function(x) sum(x^2) + x[1] * x[2],
    box = function(x) if (all(abs(x) < 5)) 0 else -Inf,
    cone = function(x) -sqrt(sum(x^2)) - abs(x[1] - x[2]),
    saddle = function(x) 3 * x[1] * x[2] - sum(x^4)
  )
  for (f in strange) {
    root <- factor_at(f, c(0, 0))
    expect_true(all(is.finite(root)))
    expect_true(all(diag(root) > 0))
    expect_identical(root[1, 2], 0)
  }
})

# ---- names, bounds, blocks ---------------------------------------------------

test_that("columns are named as init is", {
  skip_long()
  expect_identical(
    posterior::variables(short_mh(quadratic, c(0, 0))),
    c("x[1]", "x[2]", "log_density")
  )
  names <- c("(Intercept)", "b[1]", "b[2]")
  fit <- short_mh(quadratic, setNames(numeric(3), names))
  expect_identical(posterior::variables(fit), c(names, "log_density"))
  expect_equal(draws_of(fit, "b")[1, 1, ], unname(unclass(fit[[1]])[1, 2:3]))
  kept <- short_mh(quadratic, setNames(numeric(3), names), keep = "b")
  expect_identical(posterior::variables(kept), c(names[2:3], "log_density"))
  expect_identical(unclass(kept[[2]])[, 1], unclass(fit[[2]])[, 2])
  # an init by names in another order
  run <- function(start) {
    short_mh(quadratic, two, random_walk(1), inits = list(start, start))
  }
  expect_true(same_draws(run(c(b = 1, a = 2)), run(c(a = 2, b = 1))))
  expect_gibbsite_error({
    short_mh(quadratic, c(a = 1, 2))
    short_mh(quadratic, c(a = 1, a = 2))
    short_mh(quadratic, c(log_density = 1))
    short_mh(quadratic, c("a b" = 1))
    short_mh(quadratic, c(a = 1, "a[1]" = 2))
    short_mh(quadratic, two, inits = list(c(a = 1, c = 2), two))
    short_mh(quadratic, two, inits = list(1, two))
  })
})

test_that("outside the bounds the density is not asked", {
  skip_long()
  f <- function(x) {
    stopifnot(x[1] >= 0, x[2] <= 1, x[3] >= 2, x[3] <= 3)
    quadratic(x)
  }
  for (transform in c(FALSE, TRUE)) {
    fit <- short_mh(f, c(1, 0.5, 2.5),
      lower = c(0, -Inf, 2), upper = c(Inf, 1, 3), transform = transform,
      draws = 500
    )
    x <- all_columns(fit)
    expect_true(all(x[, 1] >= 0 & x[, 2] <= 1 & x[, 3] >= 2 & x[, 3] <= 3))
    expect_equal(x[, 4], apply(x[, 1:3], 1, quadratic), tolerance = 1e-12)
  }
  # far out on the transformed scale, where doubles end, nothing breaks
  model <- bare_mh(f, c(1, 0.5, 2.5), random_walk(1),
    lower = c(0, -Inf, 2), upper = c(Inf, 1, 3), transform = TRUE
  )
  for (far in c(-1e3, 1e3)) {
    state <- state_at(model, c(1, 0.5, 2.5))
    state$x[] <- far
    settled <- .Call(
      gibbsite:::C_mh_settle, model$spec, gibbsite:::mh_functions(model),
      state, new.env()
    )
    expect_identical(settled$value, c(-Inf, -Inf))
  }
})

test_that("working points and users' points are inverse to each other", {
  model <- bare_mh(quadratic, c(1, 0.5, 2.5, 7), random_walk(1),
    lower = c(0, -Inf, 2, -Inf), upper = c(Inf, 1, 3, Inf), transform = TRUE
  )
  point <- c(0.2, -4, 2.9, -3)
  x <- gibbsite:::to_working(model$spec, point)
  expect_equal(gibbsite:::from_working(model$spec, x), point, tolerance = 1e-14)
  state <- state_at(model, point)
  expect_equal(state$point, point, tolerance = 1e-14)
  expect_equal(
    diff(state$value), gibbsite:::log_jacobian(model$spec, x), tolerance = 1e-12
  )
})

test_that("blocks and proposals are matched, and their acceptance told", {
  skip_long()
  target <- c(a = 0, b = 0, c = 0)
  fit <- short_mh(quadratic, target,
    list(second = random_walk(5), first = random_walk(0.01)),
    blocks = list(first = c("c", "a"), second = 2), draws = 400
  )
  rates <- acceptance(fit)
  expect_identical(rates$block, rep(c("first", "second"), 2))
  expect_true(all(rates$rate[c(1, 3)] > 0.9))
  expect_true(all(rates$rate[c(2, 4)] < 0.5))
  expect_equal(rates$steps, rep(400, 4))
  expect_equal(rates$burnin_steps, rep(10, 4))
  moved <- colMeans(diff(unclass(fit[[1]])[, 1:3]) != 0)
  expect_equal(unname(moved["a"]), unname(moved["c"]))
  expect_equal(unname(moved["b"]), rates$rate[2], tolerance = 0.05)
  each <- short_mh(quadratic, target, blocks = "each")
  expect_length(attr(each, "model")$plan, 3)
  # custom proposals see their own coordinates, by name
  seen <- NULL
  own <- custom_proposal(function(x) {
    seen <<- names(x)
    x
  }, NULL)
  short_mh(quadratic, target, list(own, random_walk(1)),
           blocks = list(c("c", "a"), "b"))
  expect_identical(seen, c("c", "a"))
})

test_that("defaults grow with the dimension", {
  skip_long()
  fit <- quietly(mh_sample(quadratic, numeric(5), draws = 2, chains = 1,
                           progress = FALSE))
  running <- attr(fit, "running")
  expect_identical(c(running$thin, running$burnin), c(5, 2500))
  fit <- quietly(mh_sample(quadratic, numeric(30), draws = 2, thin = 2,
                           chains = 1, progress = FALSE))
  expect_identical(attr(fit, "running")$burnin, 1200)
  fit <- quietly(mh_sample(quadratic, numeric(5), blocks = list(1:3, 4:5),
                           draws = 2, chains = 1, progress = FALSE))
  expect_identical(attr(fit, "running")$thin, 3)
})

test_that("a Laplace approximation is a start, a covariance and a proposal", {
  skip_long()
  cov <- matrix(c(1, 0.5, 0.5, 2), 2)
  precision <- solve(cov)
  f <- function(x) {
    z <- x - c(1, 2)
    -0.5 * sum(z * (precision %*% z))
  }
  fit <- laplace(f, two, draws = 10, chains = 1, seed = 1, progress = FALSE)
  factor_of <- function(proposal) {
    l <- matrix(gibbsite:::compile_proposal(proposal, 2)$factor, 2)
    l %*% t(l)
  }
  near <- function(a, b) expect_equal(a, b, tolerance = 1e-4)
  near(factor_of(random_walk(cov = fit)), 2.38^2 / 2 * cov)
  near(factor_of(independence(fit)), cov)
  near(factor_of(langevin(gradient = identity, cov = fit)), cov)
  near(factor_of(adaptive(cov = fit)), cov)
  # the mode that the proposal seeks itself
  own <- bare_mh(f, two, random_walk(cov = "laplace"))$spec$blocks[[1]]$proposal
  near(
    own$factor, gibbsite:::compile_proposal(random_walk(cov = fit), 2)$factor
  )
  run <- short_mh(f, fit, independence(fit), inits = list(fit, two))
  expect_identical(posterior::variables(run), c("a", "b", "log_density"))
  expect_gt(min(acceptance(run)$rate), 0.5)
  expect_gibbsite_error({
    mh_sample(f, fit, random_walk(cov = fit), blocks = "each")
    mh_sample(quadratic, 0, independence(fit))
    mh_sample(quadratic, 0, inits = list(fit), chains = 1)
  })
})

test_that("Laplace approximations serve on the Pima data", {
  skip_long()
  pima <- MASS::Pima.tr
  x <- stats::model.matrix(type ~ ., pima)
  y <- as.integer(pima$type) - 1
  f <- function(w) {
    eta <- drop(x %*% w)
    sum(y * eta - log1p(exp(eta))) - sum(w^2) / 200
  }
  general <- laplace(f, setNames(rep(0, 8), colnames(x)),
    draws = 10, chains = 1, seed = 1, progress = FALSE
  )
  logistic <- laplace_logistic(type ~ ., pima,
    draws = 10, chains = 1, seed = 1, progress = FALSE
  )
  run <- function(init, proposal) {
    short_mh(f, init, proposal, draws = fast_or(200, 400), burnin = 50)
  }
  # near the rate of a t proposal to a normal density, and that of a random
  # walk of the best scale
  for (start in list(general, logistic)[fast_or(2, 1:2)]) {
    fit <- run(start, independence(start))
    expect_identical(posterior::variables(fit), c(colnames(x), "log_density"))
    expect_gt(min(acceptance(fit)$rate), 0.4)
  }
  for (cov in list(general, logistic, "laplace")[fast_or(c(1, 3), 1:3)]) {
    rate <- mean(acceptance(run(general, random_walk(cov = cov)))$rate)
    expect_gt(rate, 0.2)
    expect_lt(rate, 0.4)
  }
})

test_that("prints say what was done", {
  skip_long()
  expect_snapshot({
    for (proposal in every_proposal()) print(proposal)
    random_walk(1:6)
    random_walk(cov = "laplace")
    langevin(0.1, identity, tune = FALSE)
    custom_proposal(identity, NULL)
  })
  seconds <- function(lines) {
    lines <- gsub("; [0-9.e-]+ s$", "; <time>", lines)
    lines <- gsub("about [0-9.e-]+ (s|min)", "about <time>", lines)
    gsub("second: [0-9.,]+", "second: <size>", lines)
  }
  fit <- short_mh(quadratic, two, random_walk(1), draws = 100)
  expect_snapshot(transform = seconds, {
    fit
    summary(fit)
    short_mh(quadratic, two, adaptive(forever = TRUE), blocks = "each")
  })
  expect_identical(nobs(fit), NA_integer_)
  expect_silent(plot(fit))
})

# ---- messages ----------------------------------------------------------------

test_that("arguments are checked before anything runs", {
  skip_long()
  expect_gibbsite_error({
    mh_sample(1, 0)
    mh_sample(function() 0, 0)
    mh_sample(quadratic, "a")
    mh_sample(quadratic, c(1, NA))
    mh_sample(quadratic, numeric())
    mh_sample(quadratic, 0, 0.5)
    mh_sample(quadratic, 0, "nuts")
    mh_sample(quadratic, 0, random_walk)
    mh_sample(quadratic, 0, random_walk(1), 3)
    mh_sample(quadratic, 0, drws = 10)
    mh_sample(quadratic, c(0, 0), random_walk(c(1, 2, 3)))
    mh_sample(quadratic, c(0, 0), random_walk(cov = diag(3)))
    mh_sample(quadratic, c(0, 0), independence(0, 1))
    mh_sample(quadratic, c(0, 0), lower = 1:3)
    mh_sample(quadratic, c(0, 0), lower = 1, upper = 1)
    mh_sample(quadratic, c(0, 0), lower = 1)
    mh_sample(quadratic, c(0, 0), lower = 0, transform = TRUE)
    mh_sample(quadratic, c(0, 0), on_nan = "ignore")
    mh_sample(quadratic, c(0, 0), debug = 1)
    mh_sample(quadratic, c(0, 0), blocks = 1)
    mh_sample(quadratic, c(0, 0), blocks = list(1))
    mh_sample(quadratic, c(0, 0), blocks = list(1, "b"))
    mh_sample(quadratic, c(0, 0), blocks = list(1, c(2, 2)))
    mh_sample(quadratic, c(0, 0), list(random_walk(1)), blocks = "each")
    mh_sample(quadratic, c(0, 0), list(random_walk(1), 2), blocks = "each")
    mh_sample(quadratic, two, list(x = adaptive(), y = adaptive()),
              blocks = list(x = 1, z = 2))
    mh_sample(quadratic, c(0, 0), list(
      langevin(gradient = identity), langevin(gradient = function(x) -x)
    ), blocks = "each")
    mh_sample(quadratic, 0, thin = 0)
    mh_sample()
    mh_sample(quadratic)
    mh_sample(function(x, y) 0, 0, x = 1)
    mh_sample(function(x, y) 0, 0, y = 1, y = 2)
    mh_sample(`if`, 0)
    mh_sample(quadratic, two, lower = c(a = 0, z = -1))
    mh_sample(quadratic, two, random_walk(c(b = 1, z = 2)))
    mh_sample(quadratic, two, blocks = list(u = "a", u = "b"))
    mh_sample(quadratic, two, list(b = adaptive(), z = adaptive()),
              blocks = "each")
    mh_sample(quadratic, two, burnin = 1e9, debug = TRUE)
    mh_sample(function(x) NaN, 0, on_nan = "reject", chains = 1)
  })
})

test_that("values with names go to the coordinates of those names", {
  skip_long()
  expect_identical(
    gibbsite:::check_box(c(b = -1, a = 0), Inf, FALSE, two, NULL)$lower,
    c(0, -1)
  )
  # a scale, a proposal for each block, the weights of a mixture
  factor <- function(...) bare_mh(quadratic, two, ...)$spec$blocks[[1]]$proposal
  expect_identical(factor(random_walk(c(b = 1, a = 2)))$factor, c(2, 1))
  expect_identical(
    factor(
      list(b = random_walk(1), a = random_walk(3)), blocks = "each"
    )$factor,
    3
  )
  mixed <- mixture_proposal(
    a = random_walk(1), b = random_walk(2), weights = c(b = 3, a = 1)
  )
  expect_identical(mixed$weights, c(1, 3) / 4)
  expect_identical(
    mixture_proposal(random_walk(1), random_walk(2),
                     weights = c(1e308, 1e308))$weights,
    c(0.5, 0.5)
  )
  # covariances, means and Laplace approximations
  cov <- matrix(c(4, 1, 1, 9), 2, dimnames = list(NULL, c("b", "a")))
  turned <- unname(cov)[2:1, 2:1]
  for (proposal in c(random_walk, adaptive, langevin)) {
    expect_identical(
      suppressMessages(factor(proposal(cov = cov)))$factor,
      suppressMessages(factor(proposal(cov = turned)))$factor
    )
  }
  expect_identical(
    factor(independence(c(b = 2, a = 1), cov)),
    factor(independence(1:2, turned))
  )
  expect_identical(
    factor(elliptical_slice(cov))$factor,
    factor(elliptical_slice(turned))$factor
  )
  approximation <- function(names) {
    laplace(function(x) -x[["a"]]^2 / 2 - (x[["b"]] - 1)^2 / 8,
      c(a = 0, b = 0)[names], draws = 10, seed = 1
    )
  }
  expect_equal(
    factor(independence(approximation(c("b", "a")))),
    factor(independence(approximation(c("a", "b"))))
  )
  # names that a user did not choose
  nameless <- laplace(
    function(x) -sum(x^2) / 2, c(0, 0), draws = 10, seed = 1
  )
  for (made in c(random_walk, independence, adaptive)[fast_or(1:2, 1:3)]) {
    proposal <- if (identical(made, independence)) {
      made(nameless)
    } else {
      made(cov = nameless)
    }
    expect_identical(
      factor(proposal)$factor, bare_mh(quadratic, c(0, 0), proposal)$spec$
        blocks[[1]]$proposal$factor
    )
  }
  expect_identical(
    bare_mh(quadratic, c(mu = 0), independence(
      c(int = 1), matrix(4, dimnames = list("int", "int"))
    ))$spec$blocks[[1]]$proposal$mean, 1
  )
  # of mean and covariance, without those of the coordinates
  expect_identical(
    unname(independence(c(b = 2, a = 1), cov[, 2:1][2:1, ])$cov), unname(cov)
  )
  expect_identical(
    unname(elliptical_slice(c(a = 9, b = 4), c(b = 2, a = 1))$prior_cov),
    c(4, 9)
  )
  dimnames(cov) <- list(c("x", "y"), NULL)
  expect_gibbsite_error({
    bare_mh(quadratic, two, random_walk(cov = cov))
    independence(c(a = 1, b = 2), cov)
    random_walk(cov = `colnames<-`(cov, c("y", "x")))
  })
  # one block without a name is called as its coordinate
  fit <- short_mh(quadratic, two, blocks = setNames(list(1, 2), c("u", NA)))
  expect_identical(acceptance(fit)$block, c("u", "b", "u", "b"))
})

test_that("the gradient is given the further arguments that it takes", {
  f <- function(x, y) -y * sum(x^2)
  run <- function(gradient) short_mh(f, 1, langevin(1, gradient), y = 1)
  expect_identical(
    lapply(run(function(x) -2 * x), c),
    lapply(run(function(x, y) -2 * y * x), c)
  )
})

test_that("langevin() finds its gradient as nuts() does", {
  skip_long()
  f <- function(x) -sum(x^2) / 2
  slope <- function(x) -x
  with_slope <- function(x) structure(f(x), gradient = -x)
  run <- function(f, proposal, ...) short_mh(f, c(1, 2), proposal, ...)
  own <- run(f, langevin(0.5, slope))
  expect_identical(
    as.matrix(run(f, langevin(0.5), gradient = slope)), as.matrix(own)
  )
  expect_identical(as.matrix(run(with_slope, langevin(0.5))), as.matrix(own))
  mixed <- function(...) {
    mixture_proposal(
      langevin(0.5, ..., tune = FALSE), langevin(2, ..., tune = FALSE)
    )
  }
  expect_identical(
    as.matrix(run(with_slope, mixed())), as.matrix(run(f, mixed(slope)))
  )
  expect_message(
    by_differences <- mh_sample(
      f, c(1, 2), langevin(0.5), draws = 20, burnin = 10, thin = 1, chains = 2,
      seed = 1, progress = FALSE
    ) |> suppressWarnings(),
    class = "gibbsite_message_gradient"
  )
  expect_equal(
    as.matrix(by_differences), as.matrix(own), tolerance = 1e-6
  )
})

test_that("proposals are checked where they are made", {
  skip_long()
  expect_gibbsite_error({
    random_walk()
    random_walk(1, cov = diag(2))
    random_walk(-1)
    random_walk(cov = matrix(1:4, 2))
    random_walk(cov = "hessian")
    random_walk(cov = c(1, 2))
    random_walk(1, family = "cauchy")
    random_walk(1, family = "t", df = 0)
    adaptive(target = 1)
    adaptive(scale = 1, cov = diag(2))
    adaptive(forever = NA)
    independence(0)
    independence(c(0, 0), diag(3))
    independence(0, 1, df = -1)
    mixture_proposal(random_walk(1))
    mixture_proposal(random_walk(1), 2)
    mixture_proposal(random_walk(1), adaptive())
    mixture_proposal(random_walk(1), langevin(1, identity))
    mixture_proposal(
      random_walk(1), mixture_proposal(random_walk(1), random_walk(2))
    )
    mixture_proposal(random_walk(1), random_walk(2), weights = c(1, 0))
    mixture_proposal(random_walk(1), random_walk(2), weights = 1)
    custom_proposal(1, NULL)
    custom_proposal(function() 1, NULL)
    custom_proposal(function(x) x, function(y) 0)
    langevin(gradient = 1)
    langevin(gradient = identity, tune = FALSE)
    langevin(0, identity)
    langevin(gradient = function() 1)
    langevin(gradient = identity, target = NULL)
    random_walk(cov = matrix(0, 0, 0))
    random_walk(1, df = "a")
    independence()
    custom_proposal()
    custom_proposal(identity)
    mixture_proposal(a = random_walk(1), b = random_walk(2),
                     weights = c(z = 3, a = 1))
    acceptance(short_gmm())
    mh_trace(short_mh(quadratic, 0))
  })
})

# ---- the density's hash ------------------------------------------------------

test_that("densities are told apart by code and by what they hold", {
  hash <- function(f) hash_functions(f, list(f, list(), closure_values(f)))
  make <- function(y, z = 0) function(m) sum(stats::dnorm(y, m, log = TRUE))
  expect_identical(hash(make(1:3)), hash(make(1:3)))
  expect_false(identical(hash(make(1:3)), hash(make(1:4))))
  # what it does not use, where it was written, and compiling are no matter
  expect_identical(hash(make(1:3, 1)), hash(make(1:3, 2)))
  expect_identical(hash(make(1:3)), hash(compiler::cmpfun(make(1:3))))
  # a counter that it keeps for itself changes as it runs
  count <- 0
  counting <- function(x) {
    count <<- count + 1
    -x^2
  }
  before <- hash(counting)
  counting(1)
  expect_identical(hash(counting), before)
  expect_false(identical(before, hash(function(x) -x^2)))
})

test_that("coef() gives posterior means", {
  fit <- short_mh(quadratic, c(a = 1, b = 2), draws = 50, burnin = 50)
  expect_equal(coef(fit), colMeans(all_columns(fit))[c("a", "b")])
  one <- short_mh(function(x) -x^2, 0, chains = 1)
  expect_named(coef(one), "x[1]")
  kept <- short_mh(quadratic, c(a = 1, b = 2), keep = "b")
  expect_named(coef(kept), "b")
})

test_that("what is no such fit has no acceptance rates and no steps", {
  skip_long()
  expect_gibbsite_error({
    acceptance()
    acceptance(lm(dist ~ speed, cars))
    mh_trace()
    mh_trace(1)
    mh_trace(short_mh(quadratic, c(1, 2)))
  })
})

test_that("a start of zero density is named", {
  skip_long()
  positive <- function(x) if (x > 0) -x else -Inf
  expect_gibbsite_error({
    short_mh(positive, 1, inits = list(1, 2, -1), chains = 3)
    short_mh(positive, 1, inits = function(k) 2 - k, chains = 3)
    gibbs_sample(list(a = mh_step(function(state) positive(state$a))),
      list(a = 1), inits = list(list(a = 1), list(a = -2)), chains = 2
    )
  })
})

# A vector that only the call holds is used again: however a density keeps its
# argument, it must not change in its hands.
test_that("an argument that is kept in any way stays as it was", {
  skip_long()
  kept <- list()
  promised <- new.env()
  ways <- list(
    list = function(x) kept[[length(kept) + 1L]] <<- x,
    frame = function(x) kept[[length(kept) + 1L]] <<- environment(),
    call = function(x) kept[[length(kept) + 1L]] <<- sys.call(-1L),
    closure = function(x) kept[[length(kept) + 1L]] <<- function() x,
    promise = function(x) {
      delayedAssign(paste0("p", length(kept) + 1L), x, assign.env = promised)
      kept[[length(kept) + 1L]] <<- NULL
      kept <<- c(kept, list(NULL))
    },
    attribute = function(x) {
      attr(kept, "last") <<- x
      kept[[length(kept) + 1L]] <<- attr(kept, "last")
    }
  )
  value <- list(
    list = identity, frame = function(k) k$x,
    call = function(k) k[[2L]],
    closure = function(k) k(), attribute = identity
  )
  for (d in fast_or(40, c(2, 40))) {
    for (way in names(ways)) {
      kept <- list()
      seen <- list()
      keep <- ways[[way]]
      density <- function(x) {
        seen[[length(seen) + 1L]] <<- paste(format(x, digits = 17))
        keep(x)
        -sum(x^2) / 2
      }
      quietly(mh_sample(density, numeric(d), random_walk(0.5),
        inits = list(numeric(d)), draws = 30, burnin = 0, thin = 1,
        chains = 1, seed = 3, progress = FALSE
      ))
      now <- if (way == "promise") {
        lapply(seq_along(kept), function(i) get(paste0("p", i), promised))
      } else {
        lapply(kept, value[[way]])
      }
      expect_identical(
        lapply(now, function(x) paste(format(x, digits = 17))), seen,
        label = paste(way, d)
      )
    }
  }
})

test_that("normals are those of R's generator, whatever its kind", {
  withr::defer(RNGkind("default", "default", "default"))
  for (kind in c("Inversion", "Ahrens-Dieter", "Kinderman-Ramage")) {
    withr::local_seed(5, .rng_normal_kind = kind)
    fit <- short_mh(quadratic, c(0, 0), random_walk(1), draws = 200,
      burnin = 0, chains = 1, inits = list(c(0, 0)), debug = TRUE
    )
    trace <- mh_trace(fit)[[1]]
    # the stream that the sampler starts with, of the first chain
    model <- attr(fit, "model")
    own <- gibbsite:::with_stream(
      gibbsite:::chain_streams(1, 1, NULL)[[1]],
      gibbsite:::own_stream(), NULL
    )$value
    expected <- withr::with_preserve_seed({
      assign(".Random.seed", own, globalenv())
      rows <- model$spec$rows
      u <- stats::runif(rows)
      list(u = u, z = matrix(stats::rnorm(2 * rows), ncol = 2, byrow = TRUE))
    })
    n <- 200
    expect_identical(trace$uniform[1:n], expected$u[1:n], label = kind)
    at <- rbind(0, all_columns(fit)[-n, 1:2])
    expect_equal(
      unname(as.matrix(trace[1:n, 9:10])), unname(at + expected$z[1:n, ]),
      tolerance = 1e-14, label = kind
    )
  }
})

# ---- bounds by name ----------------------------------------------------------

test_that("bounds may name some of the parameters", {
  density <- function(x) -sum(x^2) / 2
  run <- function(...) {
    mh_sample(density, c(mu = 0, sigma = 1), random_walk(1), ..., draws = 50,
              burnin = 0, chains = 1, seed = 1, progress = FALSE) |>
      suppressWarnings()
  }
  part <- run(lower = c(sigma = 0), upper = c(mu = 0.5))
  whole <- run(lower = c(mu = -Inf, sigma = 0), upper = c(0.5, Inf))
  expect_identical(as.matrix(part), as.matrix(whole))
  expect_gt(min(as.matrix(part)[, "sigma"]), 0)
  expect_error(run(lower = c(sigm = 0)), class = "gibbsite_error_argument")
  expect_error(
    run(lower = c(sigma = 0, sigma = 1)), class = "gibbsite_error_argument"
  )
})

test_that("a NaN where a bound is lacking names the bound", {
  skip_long()
  hint <- function(...) {
    density <- function(x) dexp(x[["s"]], log = TRUE) + 0 * log(x[["s"]])
    conditionMessage(rlang::catch_cnd(suppressWarnings(mh_sample(
      density, c(m = 1, s = 1), random_walk(10), ..., draws = 50, burnin = 0,
      chains = 1, seed = 1, progress = FALSE
    )), "error"))
  }
  expect_match(hint(), "lower = c(s = 0)", fixed = TRUE)
})
