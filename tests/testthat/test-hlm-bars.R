# Several bars: which are nested or nearly so, and how they are drawn.

# Pupils of whom a few change their school.
movers_data <- function(pupils = 60, schools = 5, years = 4, moving = 0.1) {
  withr::with_seed(1, {
    school <- matrix(sample(schools, pupils, TRUE), pupils, years)
    for (i in which(runif(pupils) < moving)) {
      school[i, 3:years] <- sample(schools, 1)
    }
    d <- data.frame(
      pupil = factor(rep(seq_len(pupils), years)),
      school = factor(c(school), seq_len(schools)),
      x = rnorm(pupils * years), v = runif(pupils * years, 0.5, 2),
      o = rnorm(pupils * years) / 2
    )
    d$y <- d$x / 2 + rnorm(pupils, 0, 2)[d$pupil] +
      rnorm(schools, 0, 2)[d$school] + rnorm(nrow(d))
    d$hit <- d$y > 0
    d$grade <- cut(d$y, c(-Inf, -1, 1, Inf), c("low", "middle", "high"),
                   ordered_result = TRUE)
    d
  })
}

joint_formula <- function(response, bars = "(1 | pupil) + (1 | school)") {
  stats::as.formula(paste(response, "~ x +", bars), globalenv())
}

joint_prior <- function(...) {
  hlm_prior(..., df = 4, scale = 1, nu0 = 6, sigma0 = 1.2, slope_mean = 0.5,
            slope_sd = 1, intercept_mean = 1, intercept_sd = 1)
}

small_movers <- function() movers_data(6, 3)

joint_cases <- list(
  normal = function() {
    brief(gibbs_hlm, joint_formula("y"), small_movers(), joint_prior(),
          weights = v)
  },
  slopes = function() {
    brief(gibbs_hlm, joint_formula("y", "(1 + x | pupil) + (x || school)"),
          small_movers(), joint_prior(), offset = o)
  },
  # the terms of a row are 0 but for one
  levels = function() {
    brief(gibbs_hlm, joint_formula("y", "(0 + grade | pupil) + (1 | school)"),
          small_movers(), joint_prior())
  },
  nested = function() {
    brief(gibbs_hlm, joint_formula("y", "(1 | school / pupil)"),
          small_movers(), joint_prior())
  },
  none = function() {
    brief(gibbs_hlm, y ~ 0 + (1 | pupil) + (1 | school), small_movers(),
          hlm_prior(df = 4, scale = 1, nu0 = 6, sigma0 = 1.2))
  },
  logit = function() {
    brief(gibbs_logistic, joint_formula("hit"), small_movers(), logistic_prior(
      slope_variance = 0.6, intercept_variance = 1.5, group_df = 4,
      group_scale = 1
    ), offset = o)
  },
  probit = function() {
    brief(
      gibbs_logistic, joint_formula("hit", "(1 + x | pupil) + (1 | school)"),
      small_movers(), logistic_prior(
        slope_variance = 0.6, intercept_variance = 1.5, group_df = 4,
        group_scale = 1
      ), link = "probit"
    )
  },
  ordinal = function() {
    brief(gibbs_ordinal, joint_formula("grade"), small_movers(), ordinal_prior(
      slope_variance = 0.6, group_df = 4, group_scale = 1
    ), offset = o)
  },
  t = function() {
    brief(gibbs_hlm, joint_formula("y"), small_movers(), joint_prior(nu = 5),
          errors = "t", weights = v)
  },
  categories = function() {
    brief(gibbs_categorical, joint_formula("factor(grade, ordered = FALSE)"),
          small_movers(),
          logistic_prior(slope_variance = 0.6, intercept_variance = 1.5,
                         group_df = 4, group_scale = 1))
  }
)

joint_model <- function(name, frame = parent.frame()) {
  local_joint_draws(frame)
  without_bases(fit_part(quietly(joint_cases[[name]]()), "model"))
}

# Mistakes in what the draw of all bars knows.
joint_mutants <- lapply(list(
  # the deviations in the order of the places
  order = function(joint) {
    joint$deviation <- sort(joint$deviation)
    joint
  },
  # the columns of z in other units
  terms = function(joint) {
    joint$z <- 4 * joint$z
    joint
  },
  # the second bar left out
  bars = function(joint) {
    joint$z[seq(2, length(joint$z), 2)] <- 0
    joint
  }
), function(change) {
  data_mutant(function(data) {
    data$joint <- change(data$joint)
    data
  })
})

test_that("the core draws what its twin draws", {
  skip_long()
  normal <- function(model, state, n, wrong) {
    twin_crossed_sweeps(model, state, n)
  }
  twins <- list(
    normal = normal, slopes = normal, nested = normal, none = normal,
    logit = twin_bars_sweeps, probit = twin_bars_sweeps,
    ordinal = twin_ordinal_sweeps, t = twin_t_sweeps,
    categories = twin_categorical_sweeps
  )
  for (name in names(twins)) {
    model <- joint_model(name)
    both <- draws_of_both(twins[[name]], model, n = 4)
    expect_equal(both$core, both$twin, tolerance = 1e-6, label = name)
  }
})

test_that("the factor has a place for every number", {
  for (name in c("levels", "slopes", "probit")) {
    joint <- joint_model(name)$data$joint
    deviations <- length(joint$deviation)
    terms <- length(joint$place) / nrow(small_movers())
    rows <- matrix(0, length(joint$place) / terms, deviations)
    rows[cbind(rep(seq_len(nrow(rows)), each = terms), joint$place + 1)] <-
      withr::with_seed(1, runif(length(joint$place)))
    needed <- t(chol(crossprod(rows) + diag(deviations)))
    there <- matrix(FALSE, length(joint$factor_start) - 1, deviations)
    columns <- rep(seq_along(joint$factor_start[-1]), diff(joint$factor_start))
    inside <- columns <= deviations
    there[cbind(joint$factor_row + 1, columns)[inside, ]] <- TRUE
    expect_true(all(there[seq_len(deviations), ][abs(needed) > 1e-12]))
  }
})

test_that("one sweep leaves the joint distribution invariant", {
  skip_unless_extended()
  withr::local_seed(12)
  for (name in setdiff(names(joint_cases), "none")) {
    change <- change_in_sweep(
      joint_model(name), gibbsite:::model_quantities, 4000
    )
    expect_lt(largest_change(change), 4.5, label = name)
  }
})

test_that("a mistake in the joint draw is found", {
  skip_unless_extended()
  withr::local_seed(11)
  model <- joint_model("normal")
  for (name in names(joint_mutants)) {
    change <- change_in_sweep(
      mutant_of(model, joint_mutants[[name]]), gibbsite:::model_quantities, 4000
    )
    expect_gt(largest_change(change), 4.5, label = name)
  }
})

test_that("bars are drawn at once where they are nearly nested", {
  skip_long()
  jointly <- function(fit) length(fit_part(fit, "model")$data$joint) > 0
  d <- movers_data()
  expect_true(jointly(brief(gibbs_hlm, joint_formula("y"), d)))
  expect_true(jointly(brief(gibbs_hlm, joint_formula("y"), d, errors = "t")))
  expect_true(jointly(brief(gibbs_ordinal, joint_formula("grade"), d)))
  expect_true(jointly(
    brief(gibbs_logistic, joint_formula("hit"), d, link = "probit")
  ))
  # nested groups have moves of their own
  nested <- joint_formula("y", "(1 | school / pupil)")
  expect_false(jointly(brief(gibbs_hlm, nested, d)))
  # crossed ones need none, and many of them would be dense
  d$year <- factor(rep(1:4, each = 60))
  crossed <- joint_formula("y", "(1 | pupil) + (1 | year)")
  expect_false(jointly(brief(gibbs_hlm, crossed, d)))
  expect_false(is_cheaper(cost = 63, rate = 0.86))
  expect_output(
    print(brief(gibbs_hlm, joint_formula("y"), d)), "drawn\\s+jointly"
  )
})

test_that("other responses leave the draw of all bars as it is", {
  skip_unless_extended()
  for (name in c("normal", "logit", "ordinal", "t")) {
    model <- joint_model(name)
    again <- set_data(model, simulate_data(model, draw_prior(model)))
    expect_identical(again$data$joint, model$data$joint)
    expect_null(again$frame$way_of_bars)
  }
})

test_that("counts of nearly nested bars have moves of their own", {
  near <- function(formula, data) {
    fit_part(brief(gibbs_count, formula, data), "model")$data$near
  }
  d <- movers_data()
  d$count <- withr::with_seed(2, rpois(nrow(d), exp(d$y / 3)))
  moves <- near(joint_formula("count"), d)
  expect_length(moves, 1)
  # each row that lies elsewhere is moved by its school and by its pupil
  home <- moves[[1]]$parent[d$pupil] + 1
  strays <- which(home != as.integer(d$school))
  expect_setequal(moves[[1]]$row + 1, strays)
  expect_length(moves[[1]]$row, 2 * length(strays))
  expect_setequal(moves[[1]]$change, c(-1, 1))
  expect_null(near(joint_formula("count", "(1 | school / pupil)"), d))
  d$year <- factor(rep(1:4, each = 60))
  expect_null(near(joint_formula("count", "(1 | pupil) + (1 | year)"), d))
})

test_that("threads and pieces of a run never show", {
  skip_long()
  run <- function(draws = 20, ...) {
    quietly(gibbs_hlm(
      joint_formula("y"), movers_data(), draws = draws, burnin = 5, chains = 2,
      seed = 1, progress = FALSE, ...
    ))
  }
  expect_never_shown(run, threads = 2)
})

test_that("the estimates of nearly nested groups are near those of REML", {
  skip_unless_extended()
  skip_if_not_installed("lme4")
  d <- movers_data(200, 8)
  fit <- gibbs_hlm(joint_formula("y"), d, seed = 1, progress = FALSE)
  expect_true(converged(fit))
  reml <- lme4::lmer(joint_formula("y"), d)
  table <- nlme::VarCorr(fit)
  sd <- as.data.frame(lme4::VarCorr(reml))$sdcor
  expect_true(all(table$lower < sd & sd < table$upper))
  expect_lt(
    max(abs(nlme::ranef(fit)$pupil[, 1] - lme4::ranef(reml)$pupil[, 1])), 0.2
  )
})
