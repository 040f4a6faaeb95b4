# The wrong samplers of the helpers, and whether a few sweeps beside the right
# one, on the same random numbers, show each of them. So the tests of a core
# against its twin find every such mistake in the core: test-mutants.R,
# tools/mutants.R.

# list(class of the models, wrong samplers, right ones): the core is always a
# right one. A wrong sampler made of the twin leaves some moves out, as the
# right twin beside does; so a wrong sampler must differ from all right ones.
families_of_mutants <- function() {
  none <- function(model, twin) twin
  topics <- c(
    "own_counted", "never_removed", "block_draw", "prior_dropped", "eta_once",
    "theta_first", "stale_theta"
  )
  gaussian_scales <- function(model, twin) {
    z <- twin$z
    twin$z <- NULL
    gaussian <- model
    gaussian$prior$noise_shape <- gaussian$prior$noise_rate <- 2
    ordinal_scale_latent(gaussian, twin, z)
  }
  list(
    gmm_model = list(gmm_mutants, list(twin_mutant())),
    gmm_unknown_model = list(
      unknown_mutants, list(unknown_twin_mutant(moves = none))
    ),
    lda_model = list(
      stats::setNames(lapply(topics, twin_sweeps_with), topics),
      list(twin_sweeps_with(""))
    ),
    bmf_model = list(bmf_mutants, list(
      bmf_twin_mutant(), bmf_twin_mutant(scales = twin_scales)
    )),
    ordinal = list(ordinal_mutants, list(
      ordinal_twin_mutant(), ordinal_twin_mutant(scales = gaussian_scales)
    )),
    pmf_model = list(pmf_mutants, list()),
    lm_model = list(lm_mutants, list()),
    hlm_model = list(hlm_mutants, list()),
    hlm_crossed_model = list(c(crossed_mutants, nested_mutants), list()),
    hlm_binomial_model = list(hlm_binomial_mutants, list()),
    hlm_crossed_binomial_model = list(
      c(bars_mutants, nested_mutants["parent"]), list()
    ),
    ordinal_model = list(ordered_mutants, list()),
    hlm_ordinal_model = list(ordered_bar_mutants, list()),
    categorical_model = list(categorical_mutants, list()),
    hlm_categorical_model = list(categorical_bar_mutants, list()),
    count_model = list(count_mutants, list()),
    hlm_count_model = list(count_group_mutants, list()),
    hlm_t_model = list(t_mutants, list()),
    hlm_crossed_t_model = list(t_mutants["noise"], list()),
    logistic_model = list(logistic_mutants, list())
  )
}

# The models of helper-joint.R, by family.
models_of_mutants <- function(cases = joint_cases_of_all()) {
  models <- lapply(cases, function(case) {
    if (!case$sampler %in% c("mh_sample", "gibbs_sample")) {
      gibbsite:::fit_part(fit_of_case(case), "model")
    }
  })
  models <- Filter(Negate(is.null), models)
  family <- vapply(models, function(model) {
    if (is.null(model$response$link) || class(model)[[1L]] != "bmf_model") {
      class(model)[[1L]]
    } else {
      "ordinal"
    }
  }, "")
  split(models, family)
}

# The state after `n` sweeps.
state_after_sweeps <- function(model, sweeps, n) {
  # the moves of groups take most of the twin's time
  if (inherits(model, "gmm_model")) model$data$merge_split <- 0L
  state <- withr::with_seed(2, gibbsite:::model_start(model, NULL))
  control <- list(burnin = 0, thin = 1, threads = 1)
  withr::with_seed(3, sweeps(model, state, n, control))$state
}

# The smallest relative difference from a right sampler, over those there are.
difference_from_right <- function(model, wrong, right, n = 3) {
  own <- state_after_sweeps(model, wrong, n)
  min(vapply(c(gibbsite:::model_sweeps, right), function(sweeps) {
    other <- state_after_sweeps(model, sweeps, n)
    fields <- intersect(names(own), names(other))
    own <- as.double(unlist(own[fields]))
    other <- as.double(unlist(other[fields]))
    if (length(own) != length(other)) {
      return(Inf)
    }
    max(0, abs(own - other) / pmax(1, abs(other)), na.rm = TRUE)
  }, 0))
}

# data.frame(family, mutant, difference): the largest over the family's models
# up to one that shows it, after more sweeps if a few show it in none.
differences_of_mutants <- function(models = models_of_mutants()) {
  families <- families_of_mutants()
  do.call(rbind, lapply(names(families), function(family) {
    right <- families[[family]][[2L]]
    difference <- vapply(families[[family]][[1L]], function(wrong) {
      most <- 0
      for (n in c(3, 20, 200)) {
        for (model in models[[family]]) {
          if (most > 1e-3) break
          # some mistakes need features, or two topics with words
          apart <- try(difference_from_right(model, wrong, right, n), TRUE)
          if (is.numeric(apart)) most <- max(most, apart)
        }
      }
      most
    }, 0)
    data.frame(family, mutant = names(difference), difference, row.names = NULL)
  }))
}
