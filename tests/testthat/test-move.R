# Moves: the forms that C reads.

moves <- list(
  random_walk(0.5, family = "t"), adaptive(), adaptive(scale = 2),
  independence(c(0, 0), diag(2)), custom_proposal(function(x) x, NULL),
  langevin(0.3, function(x) -x), nuts(function(x) -x, "dense", max_depth = 4),
  hmc(n_steps = 7, gradient = function(x) -x), univariate_slice(max_steps = 9),
  univariate_slice(1:2), elliptical_slice(diag(2)), elliptical_slice(1),
  mixture_proposal(random_walk(1), independence(c(0, 0), diag(2))),
  tempered(c(1, 2, 4), univariate_slice()),
  delayed_rejection(), delayed_rejection(langevin(0.3), random_walk(1))
)

# The form that versions before stored: all fields in all kinds, kinds by their
# number, and `longest` for several things.
stored_form <- function(x) {
  kind <- x$kind
  numbers <- c(
    random_walk = 0L, adaptive = 1L, independence = 2L, custom_proposal = 3L,
    langevin = 4L, mixture_proposal = 5L, hmc = 6L, nuts = 7L,
    univariate_slice = 8L, elliptical_slice = 9L, tempered = 10L,
    delayed_rejection = 11L
  )
  names(x)[names(x) %in% c("steps", "depth", "widths")] <- "longest"
  if (kind == "nuts") x$jitter <- 0
  if (kind == "tempered") x$longest <- as.double(length(x$power))
  x$kind <- numbers[[kind]]
  x$parts <- lapply(x$parts, stored_form)
  all <- c("kind", "family", "tuned", "d", "df", "target")
  some <- list(
    mean = numeric(), factor = numeric(), weights = numeric(), parts = list()
  )
  some[names(some) %in% names(x)] <- x[names(some)[names(some) %in% names(x)]]
  c(x[all], some, x[setdiff(names(x), c(all, names(some)))])
}

test_that("the form of a proposal that an earlier version stored is read", {
  skip_long()
  for (move in moves) {
    compiled <- gibbsite:::compile_proposal(move, 2)
    expect_type(compiled$kind, "character")
    expect_identical(
      gibbsite:::renew_proposal(stored_form(compiled)), compiled
    )
    expect_identical(gibbsite:::renew_proposal(compiled), compiled)
  }
})

# A fit as if it were stored by such a version.
stored_fit <- function(fit) {
  model <- attr(fit, "model")
  for (b in seq_along(model$spec$blocks)) {
    model$spec$blocks[[b]]$proposal <-
      stored_form(model$spec$blocks[[b]]$proposal)
  }
  if (!is.null(model$steps)) model$steps <- lapply(model$steps, stored_form)
  attr(fit, "model") <- model
  fit
}

test_that("fits with such forms go on as if they had been begun now", {
  skip_long()
  run <- function(f, ..., draws = 10) {
    suppressWarnings(f(
      ..., draws = draws, burnin = 10, chains = 1, seed = 1, progress = FALSE
    ))
  }
  target <- function(x) -sum(x^2) / 2
  move <- tempered(c(1, 2, 4), univariate_slice(max_steps = 9))
  sampled <- function(...) run(mh_sample, target, c(0.1, 0.2), move, ...)
  stepped <- function(...) {
    run(gibbs_sample, list(
      a = mh_step(function(s) -(s$a - s$b)^2 / 2, delayed_rejection()),
      b = function(s) rnorm(1, s$a / 2)
    ), list(a = 0, b = 0), ...)
  }
  for (make in list(sampled, stepped)) {
    old <- stored_fit(make())
    expect_true(identical_fit(old, make()))
    longer <- suppressWarnings(extend(old, 10, progress = FALSE))
    expect_true(identical_fit(longer, make(draws = 20)))
  }
})

test_that("C counts the variates of a step, and those of its parts", {
  counts <- vapply(moves, function(move) {
    compiled <- gibbsite:::compile_proposal(move, 2)
    gibbsite:::block_variates(list(proposal = compiled))
  }, 0)
  # with the uniform of each decision
  expect_identical(
    counts, c(4, 3, 3, 4, 1, 3, 5, 5, 3, 3, 5, 5, 5, 12, 6, 6)
  )
})
