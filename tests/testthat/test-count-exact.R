# gibbs_count() is exact: the core against its R twin, quadrature and invariance,
# and the mistakes that these find.

count_cases <- list(
  fixed = function() {
    count_model_for(count ~ x + f + offset(log(t)), count_example())
  },
  weighted = function() {
    count_model_for(
      count ~ x, count_example(), "negbinomial", weights = times, offset = o,
      prior = count_prior(
        slope_variance = diag(c(4, 2)) + 0.5, dispersion_df = 4,
        dispersion_scale = 0.7
      )
    )
  },
  intercepts = function() {
    count_model_for(count ~ x + (1 | g), count_example(), offset = log(t))
  },
  slopes = function() {
    count_model_for(
      count ~ x + (x | g), count_example(), "negbinomial", offset = log(t)
    )
  },
  diagonal = function() {
    count_model_for(
      count ~ m + (x + m || g), count_example(), weights = times,
      prior = count_prior(
        slope_variance = 2, intercept_variance = 9, group_df = 3,
        group_scale = c(2, 0.7, 1)
      )
    )
  },
  no_fixed = function() {
    count_model_for(count ~ 0 + (0 + x | g), count_example(), "negbinomial")
  },
  crossed = function() {
    count_model_for(count ~ x + (x | g) + (1 | h), count_example())
  },
  nested = function() {
    count_model_for(count ~ x + (1 | g / h), count_example(), "negbinomial")
  }
)

# The draws of the core and of the twin, on the same random numbers.
count_draws_of_both <- function(model, wrong = "", n = 6) {
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  list(
    core = withr::with_seed(
      3, gibbsite:::model_sweeps(model, state, n, control)$draws
    ),
    twin = withr::with_seed(3, twin_count_sweeps(model, state, n, wrong))
  )
}

for (name in names(count_cases)) {
  test_that(paste("the core draws what its twin draws:", name), {
    both <- count_draws_of_both(count_cases[[name]]())
    expect_equal(both$core, both$twin, tolerance = 1e-7)
  })
}
