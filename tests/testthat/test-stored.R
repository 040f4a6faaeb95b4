# Runs and fits of earlier formats, which stored/make.R wrote: each is read by
# this version, and goes on as if it had been begun by it.

runs <- new.env()
source(test_path("stored", "runs.R"), local = runs)

root <- normalizePath(test_path("stored"))

stored <- function(version, ...) {
  file.path(root, paste0("format-", version), ...)
}

stored_priors <- function(file) file.path(root, "priors", file)

quick_line <- function(...) {
  prior <- lm_prior(slope_shape = 2, noise_shape = 3, noise_rate = 60)
  suppressWarnings(gibbs_lm(
    mpg ~ wt, mtcars, prior, burnin = 10, chains = 1, seed = 1,
    progress = FALSE, ...
  ))
}

# A copy of a stored checkpoint, `run` in a new working directory.
copy_run <- function(version, frame = parent.frame()) {
  from <- stored(version, "run")
  local_folder(frame)
  file.copy(from, ".", recursive = TRUE)
}

local_folder <- function(frame = parent.frame()) {
  withr::local_dir(withr::local_tempdir(.local_envir = frame),
    .local_envir = frame
  )
}

# The files were written on a little-endian processor.
skip_unless_readable <- function() {
  skip_if(.Platform$endian == "big", "files of another order of bytes")
}

# Format 2 was written under rlang 1.0.6.
skip_unless_same_rlang <- function() {
  skip_unless_readable()
  skip_if(
    rlang::hash(1:3) != "01913b7cb9fed2b9ac0aaec208501f40", "another rlang"
  )
}

# As under another version of rlang.
with_other_rlang <- function(code) {
  with_function("rlang_hash", function(x) {
    rlang::hash(list(rlang::hash(gibbsite:::plain_copy(x)), "another"))
  }, code)
}

# Another processor's libraries may draw other bits: the first draws tell.
expect_same_run <- function(fit, whole, made = 20) {
  draws <- function(fit) unclass(fit[[1]])[, ]
  first <- seq_len(made)
  skip_if_not(identical(draws(fit)[first, ], draws(whole)[first, ]))
  expect_identical(draws(fit), draws(whole))
  expect_identical(chains_of(fit), chains_of(whole))
}

# The highest log density of a climb is new in the states of mh_sample(): runs
# begun without it are past their burn-in, where it plays no part.
chains_of <- function(fit) {
  lapply(attr(fit, "chains"), function(chain) {
    state <- chain$state
    chain$state <- state[setdiff(sort(names(state)), "high")]
    chain
  })
}

versions_in <- function(path) {
  files <- list.files(path, "[.]rds$", recursive = TRUE, full.names = TRUE)
  vapply(files, function(file) {
    readBin(readBin(file, "raw", 12)[9:12], "integer", endian = "little")
  }, 0L, USE.NAMES = FALSE)
}

test_that("every version of the format that is read is stored here", {
  stored <- list.files(root, "^format-")
  expect_identical(stored, paste0("format-", readable_versions))
})

test_that("a checkpoint of this format is resumed, whatever rlang makes", {
  skip_unless_readable()
  copy_run(3)
  fit <- with_other_rlang(resumed("run"))
  expect_same_run(fit, runs$walk_run(), 90)
  expect_identical(unique(versions_in("run")), 3L)
})

test_that("a checkpoint of version 2 is resumed, and needs rlang no longer", {
  skip_long()
  skip_unless_same_rlang()
  copy_run(2)
  expect_identical(unique(versions_in("run")), 2L)
  fit <- resumed("run")
  expect_same_run(fit, runs$walk_run(), 90)
  expect_identical(unique(versions_in("run")), 3L)
  again <- with_other_rlang(resumed("run"))
  expect_true(identical_fit(fit, again))
  # the density that is supplied again is compared with that of the run
  copy_run(2)
  expect_true(identical_fit(resumed("run", log_density = runs$walk), fit))
  copy_run(2)
  expect_error(
    resume("run", log_density = function(x) -x^2), "not the function"
  )
})

test_that("a renewal that is stopped anywhere can be resumed", {
  skip_long()
  skip_unless_same_rlang()
  files <- c("run/chain-1/draws-0001.rds", "run/chain-1/state.rds")
  whole <- NULL
  for (stop_at in c(files, "run/data.rds")) {
    copy_run(2)
    put <- gibbsite:::put_in_place
    expect_warning(
      fit <- with_function("put_in_place", function(path) {
        if (endsWith(path, stop_at)) stop("no more")
        put(path)
      }, gibbsite:::resume("run", progress = FALSE)),
      class = "gibbsite_warning_checkpoint"
    ) |> quietly()
    expect_true(2L %in% versions_in("run"))
    whole <- whole %||% fit
    expect_true(identical_fit(resumed("run"), whole))
    expect_identical(unique(versions_in("run")), 3L)
    expect_true(identical_fit(with_other_rlang(resumed("run")), whole))
  }
})

test_that("a checkpoint that cannot be verified is not called damaged", {
  skip_long()
  skip_unless_readable()
  copy_run(2)
  before <- md5_of("run")
  masked <- function(lines) {
    lines <- gsub(
      as.character(utils::packageVersion("rlang")), "<version>", lines,
      fixed = TRUE
    )
    sub("^'.*run/", "'run/", lines)
  }
  with_other_rlang(expect_gibbsite_error(
    class = "gibbsite_error_old_hash", transform = masked,
    resume("run", progress = FALSE)
  ))
  expect_identical(md5_of("run")[names(before)], before)
  # what is damaged in any case is called so
  file <- "run/data.rds"
  bytes <- readBin(file, "raw", 1e6)
  cut <- bytes[seq_len(length(bytes) - 1)]
  writeBin(cut, file)
  expect_error(with_other_rlang(resume("run")), "damaged: its header")
})

test_that("in a file of version 2 damage is told from another rlang", {
  skip_unless_same_rlang()
  copy_run(2)
  file <- "run/chain-1/draws-0001.rds"
  bytes <- readBin(file, "raw", 1e6)
  bytes[1000] <- xor(bytes[1000], as.raw(1))
  writeBin(bytes, file)
  expect_error(resume("run"), "damaged: its checksum does not match")
})

# ---- Fits --------------------------------------------------------------------

test_that("a fit with rlang's hashes is verified, continued and renewed", {
  skip_long()
  skip_unless_same_rlang()
  fits <- readRDS(stored(2, "fits.rds"))
  expect_same_run(longer(fits$walk, 180), runs$walk_run())
  mixture <- longer(fits$mixture, 10, data = runs$mixture_data)
  expect_same_run(mixture, runs$mixture_run(30))
  hash <- c(
    attr(mixture, "model")$data_hash, attr(mixture, "chains")[[1]]$hash
  )
  expect_match(hash, "^siphash:")
  expect_error(
    extend(fits$mixture, 10, data = runs$mixture_data + 1),
    class = "gibbsite_error_old_hash"
  )
})

test_that("fits are compared whatever hashes they hold", {
  skip_unless_readable()
  fit <- readRDS(stored(2, "fits.rds"))$walk
  expect_true(identical_fit(fit, fit))
  renewed <- gibbsite:::renew_fit(fit)
  expect_match(attr(renewed, "chains")[[1]]$hash, "^siphash:")
  expect_true(identical_fit(fit, renewed))
  expect_true(with_other_rlang(identical_fit(fit, renewed)))
  changed <- fit
  changed[[1]][3, 1] <- 0
  expect_false(identical_fit(changed, renewed))
})

test_that("draws that cannot be verified are not called changed", {
  skip_long()
  skip_unless_readable()
  fits <- readRDS(stored(2, "fits.rds"))
  masked <- function(lines) {
    gsub(
      as.character(utils::packageVersion("rlang")), "<version>", lines,
      fixed = TRUE
    )
  }
  bare <- fits$mixture
  other <- bare
  attr(other, "model")$data_hash <- paste0("siphash:", strrep("0", 32))
  with_other_rlang(expect_gibbsite_error(
    class = "gibbsite_error_old_hash", transform = masked, {
      extend(fits$walk, 10)
      extend(bare, 10, data = runs$mixture_data)
      combine_fits(bare, bare)
      identical_fit(bare, other)
    }
  ))
  # the hash of the data that the fit holds shows that rlang is the same
  skip_unless_same_rlang()
  changed <- fits$walk
  changed[[1]][3, 1] <- 0
  expect_error(extend(changed, 10), "in chain 1 draws were changed")
  # data of a fit that holds none may be other ones
  expect_gibbsite_error(
    class = "gibbsite_error_old_hash", transform = masked,
    extend(bare, 10, data = runs$mixture_data + 1)
  )
})

# ---- Priors ------------------------------------------------------------------

# Fits and a checkpoint from before bmf_prior(), whose priors had other classes
# and named their fields by letters.

test_that("fits whose priors name their fields by letters are read", {
  skip_unless_readable()
  fits <- readRDS(stored_priors("fits.rds"))
  expect_identical(
    unlist(lapply(fits, function(fit) class(prior_summary(fit))[[1]])),
    c(wishart = "bmf_prior", gamma = "bmf_prior", fixed = "bmf_prior",
      lm = "lm_prior")
  )
  wishart <- prior_summary(fits$wishart)
  expect_identical(
    unlist(unclass(wishart)[c("noise_shape", "noise_rate", "feature_shape")]),
    c(noise_shape = 3, noise_rate = 2, feature_shape.users = 4)
  )
  gamma <- prior_summary(fits$gamma)
  expect_identical(gamma[c("type", "user_shape", "item_rate")],
                   list(type = "gamma", user_shape = 3, item_rate = 2))
  expect_identical(prior_summary(fits$fixed)$factor_variance, 0.5)
  line <- prior_summary(fits$lm)
  expect_identical(line$slope_shape, 2)
  expect_identical(line$noise_rate, 60)
  for (fit in fits) {
    expect_output(print(prior_summary(fit)), "noise_(shape|variance) += ")
    expect_no_error(quietly(predict(fit)))
  }
})

test_that("priors of logistic regressions have words for letters", {
  skip_long()
  skip_unless_readable()
  fits <- readRDS(stored(3, "regressions.rds"))
  regressions <- new.env()
  source(test_path("stored", "regressions.R"), local = regressions)
  stored_names <- function(fit) names(attr(fit, "model")$prior)
  for (fit in fits[c("logistic", "grouped", "laplace")]) {
    expect_true("c" %in% stored_names(fit))
    prior <- prior_summary(fit)
    expect_s3_class(prior, "logistic_prior")
    expect_false(any(c("c", "intercept_c") %in% names(prior)))
    expect_length(prior$slope_variance, 2)
    expect_output(print(prior), "variance")
    # as a prior of a new fit
    call <- getCall(fit)
    call$data <- quote(regressions$cars)
    call$prior <- prior
    expect_identical(prior_summary(quietly(eval(call))), prior)
  }
})

test_that("fits with priors of letters go on as those of today", {
  skip_long()
  skip_unless_readable()
  fits <- readRDS(stored_priors("fits.rds"))
  whole <- quick_line(draws = 30)
  expect_same_run(longer(fits$lm, 20), whole, made = 10)
  for (fit in fits[c("wishart", "gamma", "fixed")]) {
    more <- longer(fit, 5)
    expect_identical(unclass(more[[1]])[1:10, ], unclass(fit[[1]])[, ])
  }
})

test_that("a checkpoint with a prior of letters is resumed", {
  skip_unless_readable()
  from <- stored_priors("run")
  local_folder()
  file.copy(from, ".", recursive = TRUE)
  fit <- resumed("run")
  expect_identical(prior_summary(fit)$slope_shape, 2)
  expect_same_run(longer(fit, 20), quick_line(draws = 30), made = 10)
})

# ---- Regressions -------------------------------------------------------------

regressions <- new.env()
source(test_path("stored", "regressions.R"), local = regressions)

sigma_or_none <- function(fit) tryCatch(sigma(fit), error = function(e) NULL)

pictures_of <- function(fit) {
  withr::local_pdf(NULL)
  expect_identical(class(plot(fit, "coefficients"))[[1]], maker(fit))
  expect_identical(class(plot(fit))[[1]], maker(fit))
}

maker <- function(fit) attr(fit, "model")$name

test_that("regressions saved with earlier classes answer as those of now", {
  skip_unless_readable()
  skip_long()
  old <- readRDS(stored(3, "regressions.rds"))
  now <- regressions$regression_runs()
  new <- data.frame(wt = c(2, 3), cyl = 4)
  answers <- list(
    coef = coef, vcov = vcov, confint = confint, residuals = residuals,
    "confint of one" = function(fit) confint(fit, "wt", level = 0.5),
    formula = function(fit) deparse(formula(fit)), family = family,
    weights = weights, model.matrix = model.matrix, augment = augment,
    predict = function(fit) {
      predict(fit, new, type = "response", interval = "mean")
    },
    draws = function(fit) {
      withr::with_seed(1, list(
        posterior_linpred(fit), posterior_epred(fit, new),
        posterior_predict(fit), log_lik(fit), bayes_R2(fit)
      ))
    },
    simulate = function(fit) simulate(fit, 2, seed = 1),
    tidy = function(fit) tidy(fit, conf.level = 0.8),
    summary = function(fit) as.data.frame(summary(fit)),
    fixef = function(fit) nlme::fixef(fit)
  )
  for (kind in names(old)) {
    fit <- old[[kind]]
    expect_false(inherits(fit, "gibbsite_regression"))
    # other libraries, and new bits of a sampler
    if (!identical(unclass(fit[[1]])[, ], unclass(now[[kind]][[1]])[, ])) next
    for (name in names(answers)) {
      expect_identical(
        answers[[name]](fit), answers[[name]](now[[kind]]), info = kind
      )
    }
    expect_output(print(fit), "regression: ")
    expect_identical(sigma_or_none(fit), sigma_or_none(now[[kind]]))
    expect_s3_class(update(fit, evaluate = FALSE), NA)
    expect_true(identical_fit(fit, now[[kind]]))
    pictures_of(fit)
    if (kind == "hlm") {
      expect_identical(nlme::ranef(fit), nlme::ranef(now$hlm))
      expect_identical(nlme::VarCorr(fit), nlme::VarCorr(now$hlm))
    }
  }
})

test_that("regressions of earlier classes are continued", {
  skip_unless_readable()
  skip_long()
  old <- readRDS(stored(3, "regressions.rds"))
  for (kind in names(old)) {
    longer <- suppressWarnings(extend(old[[kind]], 10, progress = FALSE))
    whole <- regressions$regression_run(
      regressions$regression_calls[[kind]], 30
    )
    if (!identical(unclass(longer[[1]])[1:20, ], unclass(whole[[1]])[1:20, ])) {
      next
    }
    expect_true(identical_fit(longer, whole))
    expect_s3_class(longer, class(whole), exact = TRUE)
  }
  other <- quietly(gibbs_lm(
    mpg ~ wt, regressions$cars, draws = 20, burnin = 10, chains = 1, seed = 4,
    progress = FALSE
  ))
  expect_length(combine_fits(old$lm, other), 2L)
  from <- stored(3, "logistic-run")
  local_folder()
  file.copy(from, ".", recursive = TRUE)
  fit <- suppressWarnings(resume("logistic-run", progress = FALSE))
  expect_s3_class(fit, "gibbsite_regression")
  expect_identical(unclass(fit[[1]])[, ], unclass(old$logistic[[1]])[, ])
  expect_identical(
    coef(suppressWarnings(extend(fit, 10, progress = FALSE))),
    coef(suppressWarnings(extend(old$logistic, 10, progress = FALSE)))
  )
})

# As an earlier version saved it: without the classes that models and fits of
# several functions share.
without_parents <- function(fit) {
  model <- attr(fit, "model")
  parents <- c(
    unlist(gibbsite:::model_parents), "gibbsite_sample", "gibbsite_categories"
  )
  class(model) <- setdiff(class(model), parents)
  model$fit_class <- setdiff(model$fit_class, parents)
  attr(fit, "model") <- model
  class(fit) <- setdiff(class(fit), parents)
  fit
}

test_that("fits saved without the classes that several share are read", {
  skip_long()
  short <- list(draws = 30, burnin = 10, chains = 1, seed = 1)
  run <- function(f, ...) quietly(do.call(f, c(list(...), short)))
  quarter <- function(p) p[["x"]] / 4
  shared <- list(
    coef = coef, vcov = vcov, "confint" = confint,
    summary = function(fit) as.data.frame(summary(fit)),
    more = function(fit) coda::as.mcmc.list(quietly(extend(fit, 5)))
  )
  own <- list(
    mean = function(fit) predict(fit, quarter),
    each = function(fit) posterior_epred(fit, quarter)
  )
  rows <- list(
    mean = function(fit) predict(fit, type = "response"),
    by_row = augment,
    draws = function(fit) withr::with_seed(1, posterior_predict(fit))
  )
  mixture <- list(
    loo = function(fit) suppressWarnings(loo(fit))$estimates,
    rows = function(fit) predict(fit)
  )
  normal <- function(x) -x[["x"]]^2 / 2
  cars <- transform(mtcars, gear = ordered(gear), cyl = factor(cyl))
  grouped <- am ~ wt + (1 | cyl)
  cases <- list(
    list(run(mh_sample, normal, c(x = 0)), c(shared, own)),
    list(run(gibbs_sample, list(x = function(s) rnorm(1)), init = list(x = 0)),
         c(shared, own)),
    list(run(gibbs_ordinal, gear ~ wt, cars), c(shared, rows)),
    list(run(gibbs_logistic, grouped, cars), c(shared, rows)),
    list(run(gibbs_hlm, mpg ~ wt + (1 | cyl), cars, errors = "t"),
         c(shared, rows)),
    list(run(gibbs_gmm, faithful, 2), c(shared["more"], mixture)),
    list(run(gibbs_gmm, faithful[1:40, ], "unknown"), mixture["rows"])
  )
  for (case in cases[fast_or(c(1, 4, 6, 7), seq_along(cases))]) {
    fit <- case[[1]]
    old <- without_parents(fit)
    expect_false(inherits(old, "gibbsite_sample"))
    for (name in names(case[[2]])) {
      answer <- case[[2]][[name]]
      expect_identical(answer(old), answer(fit), label = paste(
        class(fit)[[1]], name
      ))
    }
  }
})
