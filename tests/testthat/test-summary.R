test_that("the measures are posterior's", {
  fit <- fake_fit(draws = 200)
  table <- summary(fit)
  reference <- posterior::summarise_draws(
    as_draws_array(fit), "mean", "sd",
    ~ posterior::quantile2(.x, c(0.025, 0.5, 0.975)), "mcse_mean", "rhat",
    "ess_bulk", "ess_tail"
  )
  expect_equal(as.data.frame(table), as.data.frame(reference),
               ignore_attr = TRUE, tolerance = 1e-12)
  expect_named(table, names(reference))
  judged <- convergence(fit)
  expect_equal(judged$rhat, as.double(reference$rhat), tolerance = 1e-12)
  expect_equal(judged$ess_tail, as.double(reference$ess_tail),
               tolerance = 1e-12)
})

test_that("draws are measured once, and again if they were changed", {
  x <- withr::with_seed(2, array(
    rnorm(400), c(50, 2, 4), list(NULL, NULL, variable = letters[1:4])
  ))
  table <- diagnose(x)
  known <- gibbsite:::measured
  before <- names(known$tables)
  expect_identical(diagnose(x), table)
  expect_identical(names(known$tables), before)
  changed <- x
  changed[1, 1, 2] <- 50
  expect_identical(diagnose(changed), gibbsite:::diagnose_anew(changed))
  expect_false(identical(diagnose(changed), table))
  # a few small tables
  for (i in 1:12) diagnose(x + i)
  expect_lte(length(known$tables), 8L)
})

test_that("measures do not depend on the scale of a quantity", {
  tiny <- fake_fit(values = function(k) matrix(rnorm(300), 100) * 2^-400)
  one <- fake_fit(values = function(k) matrix(rnorm(300), 100))
  expect_equal(convergence(tiny)$ess_tail, convergence(one)$ess_tail)
  expect_equal(convergence(tiny)$rhat, convergence(one)$rhat)
  expect_equal(summary(tiny)$mcse_mean * 2^400, summary(one)$mcse_mean)
  expect_false(any(convergence(tiny)$constant))
})

test_that("summary takes variables, blocks and probabilities", {
  skip_long()
  fit <- fake_fit()
  expect_identical(summary(fit, "b")$variable, c("b[1]", "b[2]"))
  expect_identical(summary(fit, c("b[2]", "a"))$variable, c("b[2]", "a"))
  expect_named(summary(fit, probs = c(0.05, 0.995)),
               c("variable", "mean", "sd", "q5", "q99.5", "mcse_mean", "rhat",
                 "ess_bulk", "ess_tail"))
  expect_gibbsite_error({
    summary(fit, "c")
    summary(fit, 1)
    summary(fit, probs = 2)
  })
})

test_that("quantities of the verdict are summarised and drawn by name", {
  skip_long()
  fit <- quietly(gibbs_gmm(
    faithful, 2, draws = 20, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  table <- summary(fit, c("weight", "pi[1]"))
  expect_identical(table$variable, c("weight[1]", "weight[2]", "pi[1]"))
  weights <- as.matrix(fit)[, c("pi[1]", "pi[2]")]
  expect_equal(table$mean[[1]], mean(apply(weights, 1, max)))
  expect_identical(
    table[1, "rhat"],
    convergence(fit)$rhat[convergence(fit)$variable == "weight[1]"]
  )
  expect_identical(rownames(posterior_interval(fit, variables = "weight[2]")),
                   "weight[2]")
  # those alone are not in the table of all columns
  expect_false("weight[1]" %in% summary(fit)$variable)
  corpus <- withr::with_seed(1, sim_lda(9, k = 2, terms = 9, tokens = 9))
  topics <- quietly(gibbs_lda(
    corpus$x, 2, draws = 20, burnin = 20, chains = 2, seed = 1,
    progress = FALSE
  ))
  size <- as.matrix(topics)[, c("size[1]", "size[2]")]
  expect_equal(summary(topics, "share[1]")$mean,
               mean(apply(size, 1, max)) / sum(size[1, ]))
  trace <- drawn(plot(topics, type = "trace", variables = "share[1]"))
  first <- apply(as.matrix(topics[[1]])[, c("size[1]", "size[2]")], 1, max)
  expect_true(has_drawn(trace, first / sum(size[1, ])))
})

test_that("a fit prints in about twelve lines", {
  skip_long()
  fit <- fake_fit(draws = 500, burnin = 10, thin = 3)
  expect_snapshot(print(fit))
  expect_snapshot(print(summary(fit)))
  expect_snapshot(print(convergence(fit)))
  expect_lte(length(capture.output(print(fit))), 12)
  expect_invisible(print(fit))
})

test_that("a short fit and one chain print what to do", {
  skip_long()
  fit <- fake_fit(draws = 50, burnin = 0, chains = 1)
  expect_snapshot(print(fit))
  few <- fake_fit(draws = 3)
  expect_snapshot(print(few))
  ahead <- fake_fit(chains = 2, pending = list(matrix(1, 5, 3), NULL))
  expect_output(print(ahead), "ahead, by 5 draws at most")
  attr(few, "run")$outcome <- "interrupted"
  expect_output(print(few), "was interrupted")
})

test_that("constant columns are no failure beside others, and are named", {
  set.seed(1)
  fit <- fake_fit(values = function(k) cbind(2, rnorm(500), rnorm(500)),
                  draws = 500)
  table <- convergence(fit)
  expect_identical(table$constant, c(TRUE, FALSE, FALSE))
  expect_true(table$ok[1])
  expect_true(is.na(table$rhat[1]))
  expect_true(converged(fit))
  expect_output(print(fit), "Constant in every draw, not judged: a")
  expect_output(print(table), "constant")
  expect_no_match(capture.output(print(summary(fit))), "NA")
  expect_silent(warn_convergence(fit))
})

test_that("nothing that moved is no evidence", {
  fit <- fake_fit(values = function(k) matrix(1, 100, 3))
  expect_false(converged(fit))
  expect_snapshot(print(fit))
  expect_warning(warn_convergence(fit), "No quantity moved",
                 class = "gibbsite_warning_convergence")
})

test_that("chains stuck at different values have not converged", {
  fit <- fake_fit(values = function(k) cbind(k, rnorm(100), rnorm(100)))
  table <- convergence(fit)
  expect_false(table$constant[1])
  expect_false(table$ok[1])
  expect_false(converged(fit, rhat = 100, ess = 0))
  expect_warning(warn_convergence(fit), "R-hat above 100")
  # folded about its median such a quantity is constant: no R-hat at all
  two <- fake_fit(chains = 2, values = function(k) {
    cbind(k, rnorm(100), rnorm(100))
  })
  expect_false(converged(two, rhat = 100, ess = 0))
  expect_warning(warn_convergence(two), "a has no R-hat")
})

test_that("draws that are not finite have not converged", {
  for (bad in c(NA, NaN, Inf)) {
    fit <- fake_fit(values = function(k) {
      cbind(c(bad, rnorm(99)), rnorm(100), rnorm(100))
    })
    expect_false(converged(fit, rhat = 100, ess = 0))
    expect_warning(warn_convergence(fit), "not finite")
    expect_output(print(summary(fit)))
  }
})

test_that("too few draws cannot be judged", {
  skip_long()
  for (draws in fast_or(c(1, 4, 7), c(1:4, 7))) {
    fit <- fake_fit(draws = draws, chains = 2)
    expect_false(converged(fit, rhat = 100, ess = 0))
    expect_output(print(fit), "fewer than 8 draws a chain")
    expect_s3_class(summary(fit), "data.frame")
    expect_warning(warn_convergence(fit), "fewer than 8 draws a chain")
  }
})

test_that("a quantity whose tail holds one value is judged by its bulk", {
  set.seed(2)
  fit <- fake_fit(draws = 1000, values = function(k) {
    cbind(2 - (runif(1000) < 0.03), rnorm(1000), rnorm(1000))
  })
  table <- convergence(fit)
  expect_true(is.na(table$ess_tail[1]))
  expect_true(table$ok[1])
  expect_true(converged(fit))
})

test_that("one chain is judged by its halves", {
  set.seed(3)
  steady <- fake_fit(draws = 1000, chains = 1)
  expect_true(converged(steady))
  drift <- fake_fit(draws = 1000, chains = 1, values = function(k) {
    matrix(rnorm(3000), 1000) + seq(0, 3, length.out = 1000)
  })
  expect_false(converged(drift))
  expect_output(print(steady), "One chain")
})

test_that("thresholds decide, and are checked", {
  skip_long()
  fit <- fake_fit(draws = 200)
  expect_true(converged(fit, rhat = 1.1, ess = 300))
  expect_false(converged(fit, rhat = 1.1, ess = 1e5))
  expect_false(converged(fit, rhat = 1 + 1e-9, ess = 300))
  expect_true(isTRUE(converged(fit, 1.1, 10)) && !is.object(converged(fit)))
  expect_gibbsite_error({
    converged(fit, rhat = 1)
    converged(fit, ess = -1)
    converged(1)
    convergence(as.mcmc.list(fit))
  })
})

test_that("the worst quantity is found", {
  set.seed(4)
  fit <- fake_fit(draws = 500, values = function(k) {
    cbind(rnorm(500), rnorm(500) + k, cumsum(rnorm(500)))
  })
  table <- convergence(fit)
  far <- fake_fit(draws = 500, values = function(k) {
    cbind(rnorm(500), rnorm(500) + 5 * k, rnorm(500))
  })
  expect_match(worst_words(convergence(far)), "of b\\[1\\]$")
  expect_identical(which(!table$ok), 2:3)
})

test_that("rounding never makes a failure look like a success", {
  expect_identical(format_rhat(1.0104), "above 1.01")
  expect_identical(format_rhat(1.02), "1.020")
  expect_identical(format_rhat(1.01), "1.010")
})

test_that("the number of further draws suggested is sensible", {
  table <- function(ess, draws = 1000, rhat = 1) {
    structure(
      data.frame(variable = "a", rhat = rhat, ess_bulk = ess, ess_tail = ess,
                 constant = FALSE, finite = TRUE, ok = FALSE),
      thresholds = list(rhat = 1.01, ess = 400), draws = draws, chains = 4
    )
  }
  expect_equal(more_draws(table(1000)), 1000)
  expect_equal(more_draws(table(200)), 2000)
  expect_equal(more_draws(table(100)), 5000)
  expect_equal(more_draws(table(1)), 500000)
  expect_equal(more_draws(table(1000, rhat = 1.04)), 5000)
  expect_equal(more_draws(table(NA, draws = 3)), 100)
  expect_equal(round_number(2000), 2000)
  expect_equal(round_number(2001), 5000)
  expect_equal(round_number(1), 1)
  expect_equal(round_number(99), 100)
})

test_that("the warning names the worst and what to type, and is suppressible", {
  skip_long()
  fit <- fake_fit(draws = 100)
  cnd <- rlang::catch_cnd(warn_convergence(fit, quote(gibbs_toy(1))))
  expect_s3_class(cnd, c("gibbsite_warning_convergence", "gibbsite_warning"))
  expect_gibbsite_condition(
    warn_convergence(fit), "gibbsite_warning_convergence"
  )
  far <- fake_fit(draws = 500, values = function(k) {
    matrix(rnorm(1500) + k, 500)
  })
  expect_warning(
    warn_convergence(far), "stuck at different levels",
    class = "gibbsite_warning"
  )
  expect_silent(suppressWarnings(
    warn_convergence(far), classes = "gibbsite_warning_convergence"
  ))
  expect_silent(warn_convergence(NULL))
  expect_silent(warn_convergence(fake_fit(draws = 2000)))
})

test_that("inner quantities may lag, but not lie apart", {
  withr::local_seed(1)
  n <- 1000
  apart <- function(by) {
    rbind(stats::filter(rnorm(4 * n), 0.5, "recursive")) +
      rep(by * c(-1, 1, -1, 1), each = n)
  }
  invariants <- array(
    c(rnorm(4 * n), apart(0.15), apart(0.8)), c(n, 4, 3),
    list(NULL, NULL, variable = c("answer", "lags", "stuck"))
  )
  ok <- function(inner) convergence_table(invariants, 1.01, 400, inner)$ok
  expect_identical(ok(character()), c(TRUE, FALSE, FALSE))
  expect_identical(ok(c("lags", "stuck")), c(TRUE, TRUE, FALSE))
  table <- convergence_table(
    invariants[, , 1:2, drop = FALSE], 1.01, 400, "lags"
  )
  lines <- gibbsite:::verdict_lines(table)
  expect_match(lines[[1L]], "^Converged: R-hat at most 1.0.* \\(answer\\)")
  expect_match(lines[[2L]], "internal quantities mix more slowly: .*\\(lags\\)")
  # one that does not lag needs no line
  expect_length(gibbsite:::verdict_lines(convergence_table(
    invariants[, , c(1, 1)], 1.01, 400, "answer"
  )), 1L)
  # the thresholds of the worst row are its own
  worst <- convergence_table(invariants, 1.01, 400, c("lags", "stuck"))
  expect_match(worst_words(worst), "^R-hat 1[.][0-9]+ .*of stuck$")
})

test_that("few draws of a long run tell whether it has converged, and where", {
  skip_long()
  invariants_of <- function(n, values, columns = 3) {
    fit_invariants(fake_fit(draws = n, values = values, columns = columns))
  }
  looks <- function(invariants) {
    few <- few_draws_table(invariants, 1.005, 600)
    rows <- nrow(unconverged(invariants, 1.01, 400))
    whole <- convergence_table(invariants, 1.01, 400)
    expect_identical(is.null(rows), table_converged(whole))
    list(few = if (!is.null(few)) table_converged(few), rows = rows)
  }
  good <- function(n, p = 3) function(k) matrix(rnorm(n * p), n)
  expect_identical(looks(invariants_of(9000, good(9000))),
                   list(few = TRUE, rows = NULL))
  expect_identical(looks(invariants_of(3999, good(3999))),
                   list(few = NULL, rows = NULL))
  # the worst alone, where that is enough
  apart <- function(k) {
    x <- good(9000, 12)(k)
    x[, 11] <- x[, 11] + k / 5
    x
  }
  invariants <- invariants_of(9000, apart, 12)
  expect_identical(looks(invariants), list(few = FALSE, rows = 10L))
  expect_identical(
    worst_words(unconverged(invariants, 1.01, 400)),
    worst_words(convergence_table(invariants, 1.01, 400))
  )
  # what few draws miss by little, all may show
  slow <- function(k) {
    matrix(stats::arima.sim(list(ar = 0.975), 9000), 9000, 3)
  }
  expect_identical(looks(invariants_of(9000, slow)),
                   list(few = FALSE, rows = NULL))
  # one that moves where only all draws show it; a lost draw; nothing moves
  rare <- function(k) cbind(good(9000)(k)[, 1:2], replace(numeric(9000), 5, k))
  expect_identical(looks(invariants_of(9000, rare)),
                   list(few = NULL, rows = NULL))
  lost <- function(k) replace(good(9000)(k), 5, NaN)
  expect_identical(looks(invariants_of(9000, lost)),
                   list(few = NULL, rows = 3L))
  still <- function(k) matrix(1, 9000, 3)
  expect_identical(looks(invariants_of(9000, still)),
                   list(few = NULL, rows = 3L))
})

# A model with exchangeable components and invariants of its own.
registerS3method("model_invariants", "toy_mixture", function(model, draws) {
  cbind(total = draws[, "b[1]"] + draws[, "b[2]"], a = draws[, "a"])
}, envir = asNamespace("gibbsite"))
switching <- function(class) {
  fake_fit(draws = 500, class = class, values = function(k) {
    first <- rnorm(500, -5)
    second <- rnorm(500, 5)
    b <- if (k %% 2 == 0) cbind(first, second) else cbind(second, first)
    cbind(rnorm(500), b)
  })
}

test_that("where labels switch, convergence is judged on the invariants", {
  skip_long()
  fit <- switching("toy_mixture")
  expect_identical(convergence(fit)$variable, c("total", "a"))
  expect_true(converged(fit, ess = 300))
  table <- summary(fit)
  expect_true(all(is.na(table[2:3, c("rhat", "ess_bulk", "mcse_mean")])))
  expect_false(anyNA(table[1, ]))
  expect_identical(attr(table, "convergence"), convergence(fit))
  expect_snapshot(print(table))
  expect_true(all(is.na(tidy(fit)$rhat[2:3])))
  # posterior gives the raw ones
  expect_gt(min(summarise_draws(fit, "rhat")$rhat[2:3]), 1.5)
})

test_that("numbered draws are summarised as they are", {
  fit <- fake_fit(draws = 500, class = "toy_mixture", values = function(k) {
    cbind(rnorm(500), rnorm(500, -5), rnorm(500, 5))
  })
  attr(fit, "model")$pivot <- list()
  table <- summary(fit)
  expect_equal(table$mean[2:3], c(-5, 5), tolerance = 0.05)
  expect_lt(max(table$rhat), 1.02)
  expect_snapshot(print(table))
})

test_that("tidy has labels and intervals, glance one row", {
  skip_long()
  fit <- fake_fit(draws = 400)
  table <- tidy(fit, conf.level = 0.9)
  expect_named(table, c("term", "label", "estimate", "std.error", "conf.low",
                        "conf.high", "rhat", "ess"))
  expect_identical(table$label, c("the a", "the b[1]", "the b[2]"))
  draws <- as.matrix(fit)[, "a"]
  expect_equal(table$conf.low[1], unname(quantile(draws, 0.05)))
  expect_equal(table$conf.high[1], unname(quantile(draws, 0.95)))
  expect_equal(table$estimate[1], mean(draws))
  expect_equal(table$std.error[1], sd(draws))

  row <- glance(fit)
  expect_equal(nrow(row), 1)
  expect_identical(row$model, "gibbs_toy")
  expect_equal(row$rhat, max(convergence(fit)$rhat))
  expect_identical(row$converged, converged(fit))
  expect_equal(row$elapsed, 0.5)
  expect_gibbsite_error(tidy(fit, conf.level = 1))
})

test_that("coef() of a summary is the table of the coefficients", {
  skip_long()
  fit <- quietly(gibbs_lm(
    mpg ~ wt, mtcars, draws = 20, seed = 1, progress = FALSE
  ))
  table <- summary(fit)
  found <- coef(table)
  expect_identical(rownames(found), names(coef(fit)))
  expect_equal(found[, "mean"], coef(fit))
  expect_identical(found, table$coefficients)
  expect_identical(found, table$coef)
  expect_identical(table$mean, as.data.frame(table)$mean)
  expect_identical(rownames(coef(summary(fit, "wt"))), "wt")
  laplace <- laplace_logistic(am ~ wt, mtcars, draws = 100, seed = 1)
  expect_equal(coef(summary(laplace))[, "map"], coef(laplace))
  expect_gibbsite_error(coef(summary(short_gmm(draws = 20))))
})

test_that("parts of the tables are ordinary data frames", {
  fit <- fake_fit(draws = 50)
  expect_output(print(summary(fit)[, c("variable", "mean")]), "variable")
  expect_output(print(convergence(fit)[, 1:2]), "rhat")
  expect_identical(class(as.data.frame(summary(fit))), "data.frame")
  expect_identical(class(as.data.frame(convergence(fit))), "data.frame")
})

test_that("long tables are cut, and say so", {
  skip_long()
  fit <- fake_fit(draws = 50, chains = 2, columns = 60)
  expect_output(print(summary(fit)), "20 more rows")
  expect_output(print(summary(fit), n = 60), "x\\[60\\]")
  expect_output(print(convergence(fit)), "40 more")
})

test_that("numbers are rounded as their sd asks", {
  columns <- data.frame(mean = c(-1135.7292, 0.57127, 2),
                        sd = c(2.348, 0.128, 0))
  shown <- show_numbers(columns, columns$mean, columns$sd)
  expect_identical(shown$mean, c("-1135.73", "0.571", "2"))
  expect_identical(shown$sd, c("2.35", "0.128", "0"))
  expect_identical(show_significant(c(0.01234, 1e-9, NA), 2),
                   c("0.012", "1.0e-09", "-"))
  expect_identical(vapply(c(1, 2, 3, 4, 11, 12, 13, 21, 112), ordinal, ""),
                   c("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st",
                     "112th"))
  expect_identical(
    vapply(c(0.123, 5.46, 80, 600, 1e5), seconds_words, ""),
    c("0.12 s", "5.5 s", "80 s", "10 min", "27.8 h")
  )
})

# The table of convergence() of one quantity that has converged.
converged_table <- function() {
  structure(
    data.frame(variable = "a", rhat = 1, ess_bulk = 500, ess_tail = 500,
               constant = FALSE, finite = TRUE, ok = TRUE),
    thresholds = list(rhat = 1.01, ess = 400)
  )
}

test_that("a summary explains rows of components that mix more slowly", {
  line <- gibbsite:::slow_component_line
  table <- converged_table()
  x <- data.frame(variable = c("mu[1]", "mu[2]", "a"), rhat = c(NA, 1.04, 1))
  expect_match(line(x, table, "numbered")[[1L]], "components have R-hat up to")
  expect_match(paste(line(x, table, "matched"), collapse = " "),
               "single topics have R-hat up to 1.040 (mu[2])", fixed = TRUE)
  # silent where rows have none, agree, or the chains have not converged
  expect_length(line(x, table, "labelled"), 0L)
  expect_length(line(x[-2, ], table, "numbered"), 0L)
  table$ok <- FALSE
  expect_length(line(x, table, "numbered"), 0L)
})

test_that("a summary names rows beyond the limits that are not judged", {
  line <- gibbsite:::unjudged_line
  table <- converged_table()
  x <- data.frame(
    variable = c("a", "few", "apart", "labelled"), rhat = c(1, 1, 1.04, NA),
    ess_bulk = c(500, 60, 500, NA), ess_tail = c(300, 500, 500, NA)
  )
  expect_match(
    paste(line(x, table), collapse = " "),
    "R-hat above 1.01 or ESS below 400: few, apart.", fixed = TRUE
  )
  expect_length(line(x[c(1L, 4L), ], table), 0L)
  table$ok <- FALSE
  expect_length(line(x, table), 0L)
})

test_that("a message names the fit by what tells it from others", {
  skip_long()
  words <- function(fit) gibbsite:::short_call(attr(fit, "model"))
  run <- function(f, ...) {
    suppressWarnings(
      f(..., draws = 10, burnin = 5, chains = 1, seed = 1, progress = FALSE)
    )
  }
  expect_identical(words(run(gibbs_gmm, faithful, 3)), "gibbs_gmm(k = 3)")
  expect_identical(
    words(run(gibbs_gmm, ~ eruptions, faithful, 2, covariance = "diagonal")),
    "gibbs_gmm(k = 2, covariance = \"diagonal\")"
  )
  expect_identical(
    words(run(gibbs_lm, dist ~ speed, cars)), "gibbs_lm(dist ~ speed)"
  )
  expect_identical(
    words(run(gibbs_logistic, am ~ wt + (1 | cyl), mtcars, link = "probit")),
    "gibbs_logistic(am ~ wt + (1 | cyl), link = \"probit\")"
  )
  expect_identical(
    words(run(gibbs_lm, as.matrix(cars["speed"]), cars$dist)), "gibbs_lm()"
  )
  long <- words(run(gibbs_lm, mpg ~ cyl + disp + hp + drat + wt + qsec + vs +
                      am + gear + carb, mtcars))
  expect_match(long, "...)", fixed = TRUE)
  expect_lte(nchar(long), 80)
})

test_that("the calls that print() offers can be evaluated", {
  skip_long()
  run <- function(f, ..., draws = 100) {
    suppressWarnings(suppressMessages(
      f(..., draws = draws, burnin = 100, chains = 2, seed = 1,
        progress = FALSE)
    ))
  }
  cars <- datasets::mtcars
  cars$g <- factor(cars$cyl)
  set.seed(1)
  corpus <- sim_lda(20, 2, 10, 30)$x
  ratings <- sim_bmf(8, 6, 2, 0.6)
  fits <- expression(
    run(gibbs_gmm, datasets::faithful, 2),
    run(gibbs_gmm, datasets::faithful, unknown_k(3)),
    run(gibbs_lda, corpus, 2), run(gibbs_bmf, ratings, 2),
    run(gibbs_lm, mpg ~ wt, cars), run(gibbs_hlm, mpg ~ wt + (1 | g), cars),
    run(gibbs_logistic, am ~ wt, cars),
    run(gibbs_logistic, am ~ wt + (1 | g), cars)
  )
  for (i in fast_or(c(1, 4, 8), seq_along(fits))) {
    fit <- eval(fits[[i]])
    calls <- gibbsite:::model_next(attr(fit, "model"))
    expect_gt(length(calls), 0L)
    for (call in calls) {
      expect_no_error(suppressMessages(eval(parse(text = call)[[1L]])))
    }
    converged <- gibbsite:::convergence_table(
      gibbsite:::fit_invariants(fit), 10, 1
    )
    converged$ok <- TRUE
    line <- function(fit) gibbsite:::next_line(fit, converged)
    expect_match(line(fit), calls[[1L]], fixed = TRUE)
    expect_no_match(line(drop_data(fit)), calls[[1L]], fixed = TRUE)
  }
})

test_that("no line of a print is longer than the page", {
  skip_long()
  run <- function(sampler, ...) {
    suppressMessages(suppressWarnings(sampler(..., seed = 1, progress = FALSE)))
  }
  short <- function(sampler, ...) {
    run(sampler, ..., draws = 20, burnin = 5, chains = 1)
  }
  cars <- datasets::mtcars
  cars$g <- factor(cars$cyl)
  set.seed(1)
  ratings <- sim_bmf(8, 6, 2, 0.6)
  normal <- function(x) -sum(x^2) / 2
  fits <- expression(
    short(gibbs_gmm, datasets::iris[1:4], 3),
    short(gibbs_gmm, datasets::faithful, unknown_k(3)),
    run(gibbs_gmm, datasets::faithful, 2, method = "icm", chains = 1),
    short(gibbs_lda, sim_lda(20, 2, 10, 30)$x, 2),
    short(gibbs_bmf, ratings, 2, biases = TRUE),
    run(gibbs_bmf, ratings, 2, method = "icm", chains = 1),
    short(gibbs_lm, mpg ~ wt, cars, lm_prior("nig")),
    short(gibbs_hlm, mpg ~ wt + (wt | g), cars),
    short(gibbs_logistic, am ~ wt + (1 | g), cars),
    run(laplace_logistic, am ~ wt, cars, draws = 20),
    run(laplace, normal, c(a = 1, b = 1), draws = 20, correct = "importance"),
    short(mh_sample, normal, c(a = 1, b = 1), tempered()),
    short(mh_sample, normal, c(a = 1, b = 1), delayed_rejection())
  )
  for (fit in lapply(fits[fast_or(c(1, 3, 5, 8, 13), seq_along(fits))], eval,
                     environment())) {
    for (page in c(60, 80)) {
      withr::local_options(width = page)
      printed <- capture.output(print(fit), print(summary(fit)))
      # tables have the width of their numbers
      words <- grep("^[A-Z<]", printed, value = TRUE)
      expect_lte(max(nchar(words, "width")), page - 2)
    }
  }
})

test_that("a symmetric matrix is printed once", {
  fit <- suppressWarnings(gibbs_gmm(
    faithful, 2, draws = 50, burnin = 50, chains = 2, seed = 1, progress = FALSE
  ))
  table <- summary(fit)
  shown <- capture.output(print(table))
  expect_true(any(startsWith(shown, "Sigma[1,2,1]")))
  expect_false(any(startsWith(shown, "Sigma[1,1,2]")))
  expect_true("Sigma[1,1,2]" %in% table$variable)
  one <- capture.output(print(summary(fit, "Sigma[1,1,2]")))
  expect_true(any(startsWith(one, "Sigma[1,1,2]")))
})

test_that("`digits` rounds every summary", {
  fits <- list(
    brief(gibbs_lm, dist ~ speed, cars),
    brief(gibbs_gmm, faithful, "unknown"),
    quietly(laplace_logistic(am ~ wt, mtcars, draws = 50, seed = 1))
  )
  for (fit in fits) {
    table <- summary(fit)
    lines <- function(...) capture.output(print(table, ...))
    expect_identical(lines(digits = 3), lines())
    expect_gt(nchar(lines(digits = 6)[[5]]), nchar(lines()[[5]]))
    expect_error(lines(digits = 0), class = "gibbsite_error_argument")
  }
})

test_that("rows of two summaries are a plain data frame", {
  one <- summary(brief(gibbs_lm, dist ~ speed, cars))
  two <- summary(quietly(laplace_logistic(am ~ wt, mtcars, draws = 50)))
  both <- rbind(one, one)
  expect_identical(class(both), "data.frame")
  expect_identical(nrow(both), 2L * nrow(one))
  expect_identical(class(rbind(two, two)), "data.frame")
  # as dplyr binds rows: it keeps the class
  kept <- structure(both, class = class(one))
  for (part in c("headline", "length", "convergence", "rows")) {
    attr(kept, part) <- attr(one, part)
  }
  expect_false(any(grepl("onverged", capture.output(print(kept)))))
  expect_true(any(grepl("onverged", capture.output(print(one[1:2, ])))))
})
