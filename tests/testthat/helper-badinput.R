# Hostile arguments for every exported function and method: the values, the
# calls and their outcomes. `make badinput` runs all calls (tools/badinput.R),
# test-badinput.R a tenth.
#
# Functions are found in the namespace, so that a new function or argument is
# not forgotten: a function without a base call below, or an argument without a
# kind, is an error here.

# A copy of a long vector must not use up the machine's memory. (R 4.1 has no
# limit.)
local_bounded_memory <- function(frame = parent.frame()) {
  if (getRversion() >= "4.2.0") {
    bound <- get("mem.maxVSize", baseenv())
    before <- bound()
    bound(6000)
    withr::defer(bound(before), envir = frame)
  }
}

# ---- values ------------------------------------------------------------------

# Each value is made only when needed: some are large, or make functions that
# inspect them fail.
hostile_values <- list(
  null = function() NULL,
  na = function() NA,
  na_real = function() NA_real_,
  na_string = function() NA_character_,
  nan = function() NaN,
  inf = function() Inf,
  minus_inf = function() -Inf,
  minus_one = function() -1,
  zero = function() 0,
  tiny = function() 1e-320,
  huge = function() 1e308,
  half = function() 1.5,
  true = function() TRUE,
  two_flags = function() c(TRUE, NA),
  two_numbers = function() c(1, NaN),
  named_numbers = function() c(a = 1, b = 2),
  long = function() seq_len(2^31),
  empty = function() numeric(),
  no_strings = function() character(),
  string = function() "no such thing",
  empty_string = function() "",
  bad_utf8 = function() "\xff\xfe",
  bytes = function() `Encoding<-`("\xff\xfe", "bytes"),
  bad_utf8_names = function() stats::setNames(c(1, 2), c("a", "\xff\xfe")),
  two_strings = function() c("a", NA),
  complex = function() 1i,
  raw = function() raw(2),
  factor = function() factor(c("a", NA)),
  date = function() as.Date("2020-01-01"),
  empty_list = function() list(),
  twins = function() list(a = 1, a = 2),
  nested = function() list(list(1), NULL, "a"),
  list_of_functions = function() list(sum, function() 1),
  no_arguments = function() function() 1,
  failing = function() function(...) stop("it failed"),
  variadic = function() sum,
  environment = function() new.env(),
  symbol = function() quote(x),
  call = function() quote(f(x)),
  formula = function() ~ x,
  random_effect = function() y ~ (1 | g),
  other_rows = function() y ~ I(x - mean(x)),
  dots = function() . ~ .^2,
  two_bars = function() y ~ (1 | g) + (0 + x | g),
  empty_frame = function() data.frame(),
  wide_frame = function() {
    data.frame(id = c("a", "b"), i1 = c(1, 0), i2 = c(0, NA))
  },
  ragged_frame = function() {
    structure(
      list(user = 1:3, item = 1, value = "a"), class = "data.frame",
      row.names = 1:2
    )
  },
  list_column = function() {
    data.frame(a = I(list(1, "b")), document = 1, user = 1, item = 1)
  },
  bad_names_frame = function() {
    stats::setNames(data.frame(1:2, c("a", "b")), c("\xff", NA))
  },
  wild_frame = function() {
    data.frame(
      user = c("\xff", "b"), item = 1:2, value = c(NaN, 1), document = c(-1, 2),
      term = c("\xff", NA), count = c(-1, 1e308)
    )
  },
  text_matrix = function() matrix("#", 2, 2),
  na_matrix = function() matrix(NA, 2, 2),
  zero_matrix = function() matrix(0, 3, 3),
  one_row = function() matrix(c(1, NaN), 1),
  labelled = function() {
    structure(
      c(1, NA), class = c("haven_labelled", "vctrs_vctr", "double"),
      labels = c(no = 1)
    )
  },
  # 64-bit integers without the package that reads them
  integer64 = function() structure(c(4.9e-324, 9.9e-324), class = "integer64"),
  chain = function() {
    structure(c(1, NaN), mcpar = c(1, 2, 1), class = "mcmc")
  },
  minutes = function() as.difftime(c(1, NA), units = "mins"),
  nan_matrix = function() matrix(c(1, 2, 3, NaN), 2, 2),
  no_rows = function() matrix(numeric(), 0, 3),
  indefinite = function() matrix(c(1, 2, 2, 1), 2, 2),
  array = function() array(1, c(2, 2, 2)),
  sparse_starts = function() broken_sparse("starts"),
  sparse_rows = function() broken_sparse("rows"),
  sparse_order = function() broken_sparse("order"),
  sparse_values = function() broken_sparse("values"),
  sparse_triplets = function() broken_sparse("triplets"),
  sparse_by_rows = function() broken_sparse("by rows"),
  sparse_slam = function() broken_sparse("slam"),
  dense_s4 = function() Matrix::Matrix(c(1, NaN, 2, 3), 2, sparse = FALSE),
  forged_fit = function() {
    structure(list(), class = c("gibbs_gmm", "gibbsite_fit", "mcmc.list"))
  },
  forged_laplace = function() structure(list(), class = "gibbsite_laplace"),
  forged_until = function() {
    structure(list(rhat = "a", every = -1), class = "gibbsite_until")
  },
  forged_prior = function() {
    structure(list(alpha = "a", c = -1), class = c(
      "gmm_prior", "lda_prior", "bmf_prior", "logistic_prior",
      "ordinal_prior", "lm_prior", "hlm_prior", "count_prior", "uniform_prior",
      "gibbsite_prior"
    ))
  },
  forged_proposal = function() {
    structure(list(), class = c("random_walk", "gibbsite_proposal"))
  },
  forged_step = function() structure(list(), class = "gibbsite_mh_step"),
  forged_density = function() {
    structure(function(x) 1, class = "gibbsite_native_density")
  },
  long_string = function() strrep("a", 1e5)
)

# Sparse matrices with a fault that their constructors would reject.
broken_sparse <- function(fault) {
  z <- Matrix::sparseMatrix(
    i = c(1, 3, 2, 1), j = c(1, 1, 2, 3), x = c(1, 2, 1, 1), dims = c(3, 3)
  )
  spoil <- function(z, slot, at, value) {
    x <- attr(z, slot)
    x[at] <- value
    attr(z, slot) <- x
    z
  }
  switch(fault,
    starts = spoil(z, "p", 2L, 1000L),
    rows = spoil(z, "i", 1L, 1000000L),
    order = spoil(z, "i", 1:2, c(2L, 0L)),
    values = spoil(z, "x", 1L, NaN),
    triplets = spoil(methods::as(z, "TsparseMatrix"), "j", 1L, -5L),
    "by rows" = spoil(methods::as(z, "RsparseMatrix"), "p", 2L, -3L),
    slam = structure(
      list(
        i = c(1L, 900L), j = c(NA, 2L), v = c(1, 1), nrow = 3L, ncol = 3L,
        dimnames = NULL
      ),
      class = "simple_triplet_matrix"
    )
  )
}

# ---- objects -----------------------------------------------------------------

# Small fits and objects made from them, by the first of their classes.
hostile_objects <- function(folder = tempdir()) {
  short <- function(f, ..., draws = 12, burnin = 12) {
    suppressMessages(suppressWarnings(f(
      ..., draws = draws, burnin = burnin, chains = 2, seed = 1,
      progress = FALSE
    )))
  }
  quiet <- function(code) suppressMessages(suppressWarnings(code))
  x <- as.matrix(datasets::faithful)[1:20, ]
  words <- matrix(c(2, 0, 1, 3, 1, 1, 0, 2, 1, 1, 1, 1), 3,
    dimnames = list(NULL, c("a", "b", "c", "d"))
  )
  ratings <- data.frame(
    user = rep(1:4, each = 3), item = c(1:3, 2:4, 1:3, 2:4),
    value = c(1, 2, 3, 2, 4, 1, 5, 2, 2, 3, 3, 1)
  )
  pairs <- data.frame(user = 1:2, item = 4:3, value = c(2, NA))
  density <- function(x) -0.5 * sum(x^2)
  walk <- markov_chain(matrix(c(0.5, 0.5, 0, 0.5, 0, 0.5, 0, 0.5, 0.5), 3))
  cars <- datasets::mtcars
  gmm <- short(gibbs_gmm, x, 2, keep = "z")
  free <- short(gibbs_gmm, x, unknown_k(3))
  # calls that update() can evaluate wherever it is called
  attr(gmm, "run")$call <- quote(gibbs_gmm(datasets::faithful[1:20, ], 2,
    draws = 12, burnin = 12, chains = 2, seed = 1, progress = FALSE
  ))
  lda <- short(gibbs_lda, words, 2, keep = c("theta", "phi"))
  bmf <- short(gibbs_bmf, ratings, 2, predict_at = pairs)
  pmf <- short(gibbs_pmf, ratings, 2)
  logistic <- quiet(laplace_logistic(am ~ wt, datasets::mtcars, draws = 20,
    chains = 2, seed = 1, progress = FALSE
  ))
  logistic_x <- quiet(laplace_logistic(cbind(1, cars$wt), cars$am, draws = 20,
    chains = 2, seed = 1, progress = FALSE
  ))
  # update() evaluates its call again
  logit <- quiet(gibbs_logistic(am ~ wt, datasets::mtcars, draws = 12,
                                burnin = 12, chains = 2, seed = 1,
                                progress = FALSE))
  gears <- quiet(gibbs_ordinal(ordered(gear) ~ wt, datasets::mtcars, draws = 12,
                               burnin = 12, chains = 2, seed = 1,
                               progress = FALSE))
  kinds <- quiet(gibbs_categorical(factor(gear) ~ wt, datasets::mtcars,
    draws = 12, burnin = 12, chains = 2, seed = 1, progress = FALSE
  ))
  line <- quiet(gibbs_lm(mpg ~ wt, datasets::mtcars, draws = 12, burnin = 12,
                         chains = 2, seed = 1, progress = FALSE))
  line_x <- short(gibbs_lm, cbind(1, cars$wt), cars$mpg)
  clubs <- quiet(gibbs_logistic(am ~ wt + (1 | cyl), datasets::mtcars,
    draws = 12, burnin = 12, chains = 2, seed = 1, progress = FALSE
  ))
  proper <- quiet(gibbs_lm(mpg ~ wt, datasets::mtcars,
    lm_prior(noise_shape = 3, noise_rate = 60), draws = 12, burnin = 12,
    chains = 2, seed = 1,
    progress = FALSE
  ))
  levels <- quiet(gibbs_hlm(mpg ~ wt + (1 | cyl), datasets::mtcars, draws = 12,
    burnin = 12, chains = 2, seed = 1, progress = FALSE
  ))
  approximation <- quiet(laplace(density, c(a = 0, b = 0), draws = 20,
    chains = 2, seed = 1, progress = FALSE
  ))
  mh <- short(mh_sample, density, c(a = 0, b = 0), debug = TRUE)
  step <- mh_step(function(state) -0.5 * state$b^2)
  gibbs <- short(gibbs_sample,
    list(a = function(state) stats::rnorm(1), b = step), list(a = 0, b = 0)
  )
  mode <- function(f, ...) {
    quiet(f(..., method = "icm", chains = 2, seed = 1, progress = FALSE))
  }
  checkpoint <- tempfile("hostile", folder)
  short(gibbs_gmm, x, 2, checkpoint = checkpoint)
  folded <- fold_in(bmf, data.frame(user = "new", item = 1:2, value = 1:2))
  # stopped before the end of its burn-in
  counted <- fold_in(pmf, data.frame(user = "new", item = 1:2))
  running <- attr(gmm, "running")
  running$burnin <- 100L
  partial <- gibbsite:::new_fit(
    lapply(gmm, function(chain) NULL), attr(gmm, "model"), running, lapply(
      attr(gmm, "chains"), function(chain) chain[c("state", "rng")]
    ), run = attr(gmm, "run")
  )
  dynamic <- short(mh_sample, density, c(a = 0, b = 0), nuts(function(x) -x))
  list(
    nuts = dynamic, x = x, words = words, ratings = ratings, pairs = pairs,
    cars = cars,
    density = density, logistic_x = logistic_x, checkpoint = checkpoint,
    gibbs_gmm = gmm, gibbsite_fit = gmm, gibbs_lda = lda,
    gibbs_gmm_unknown = free, gmm_unknown_prior = prior_summary(free),
    unknown_k = unknown_k(), gibbs_bmf = bmf, gibbs_pmf = pmf,
    laplace_logistic = logistic, laplace = approximation, mh_sample = mh,
    gibbs_logistic = logit, gibbs_ordinal = gears, gibbs_categorical = kinds,
    categorical_prior = prior_summary(kinds), gibbs_lm = line, lm_x = line_x,
    lm_prior = lm_prior(),
    gibbs_hlm = levels, hlm_prior = hlm_prior(), gibbsite_regression = clubs,
    gibbs_sample = gibbs, gibbsite_partial = partial, bmf_fold = folded,
    pmf_fold = counted,
    gmm_map = mode(gibbs_gmm, x, 2), gibbsite_map = mode(gibbs_gmm, x, 2),
    bmf_map = mode(gibbs_bmf, ratings, 2, predict_at = pairs),
    gibbs_sample_map = mode(
      gibbs_sample, list(a = function(state) 1), list(a = 0)
    ),
    gibbsite_convergence = convergence(gmm), gibbsite_summary = summary(gmm),
    lda_summary = summary(lda), lda_top_terms = top_terms(lda),
    mh_trace = mh_trace(mh), gmm_coclustering = coclustering(gmm),
    relabelled_draws = relabel(gmm), similar_table = similar_items(pmf, 2),
    bmf_summary = summary(bmf), laplace_summary = summary(logistic),
    laplace_comparison = stats::anova(logistic, logistic),
    coefficient_comparison = gibbsite::compare(logistic, logit),
    k_comparison = compare_k(lda, lda, folds = 2, seed = 1, progress = FALSE),
    laplace_importance = importance_check(logistic),
    bmf_prior = bmf_prior("gamma"), pmf_prior = pmf_prior(),
    gamma_prior = gamma_prior(1, 1), uniform_prior = uniform_prior(0, 1),
    gmm_prior = gmm_prior(), lda_prior = lda_prior(),
    seeded_topics = seeded_topics(list(own = "a")),
    logistic_prior = logistic_prior(), ordinal_prior = ordinal_prior(),
    no_prior = prior_summary(mh),
    gibbsite_proposal = random_walk(1), gibbsite_mh_step = step,
    gibbsite_until = until(),
    empirical_distribution = empirical_distribution(x),
    importance_sample = sample_importance(
      40, function(x) -x^2 / 2, independence(0, 1)
    ),
    rejection_sample = sample_rejection(
      4, function(x) -x^2 / 2, independence(0, 1), 2
    ),
    monte_carlo = monte_carlo(x),
    markov_chain = walk, proper = proper, state_after = state_after(walk, 0:3),
    fit_markov_chain = quiet(fit_markov_chain(c("a", "b", "a", "a", "b"),
      draws = 12, chains = 2, seed = 1, progress = FALSE
    )), dirichlet_rows = structure(
      list(weight = matrix(1, 2, 2)),
      class = c("dirichlet_rows", "gibbsite_prior")
    ),
    sbc = sbc(proper, 4, 3, thin = 1, chains = 2, seed = 1, progress = FALSE),
    geweke_joint = geweke_joint(
      proper, 4, 1, chains = 2, seed = 1, progress = FALSE
    ),
    prior_prediction = prior_predict(proper, 3, seed = 1),
    function_band = predict(mh, function(x) x, interval = "mean"),
    gibbsite_native_density = structure(
      function(x) 1, class = "gibbsite_native_density",
      native = list(
        package = "nothing", symbol = "f", dll = NULL, pointer = NULL,
        data = NULL
      )
    )
  )
}

# ---- calls -------------------------------------------------------------------

# Arguments with which a function is called while one of them is hostile;
# arguments not named here have their defaults. `o` is the result of
# hostile_objects().
hostile_bases <- function(o) {
  short <- list(
    draws = 6, burnin = 4, chains = 2, seed = 1, progress = FALSE
  )
  brief <- short[c("draws", "chains", "seed", "progress")]
  fit <- function(of, ...) list(fit = o[[of]], ...)
  log_q <- function(y, x) 0
  walk <- o$markov_chain
  # a function of a draw, a vector or a list
  first <- function(x) x[[1L]]
  list(
    absorption_probabilities = list(chain = walk),
    autocorrelation_time = list(x = walk),
    communicating_classes = list(chain = walk),
    compress_draws = list(draws = o$x, n = 3),
    first_passage = list(chain = walk, target = 1),
    fit_markov_chain = c(
      list(sequences = c("a", "b", "a", "a", "b")),
      short[c("draws", "chains", "seed", "progress")]
    ),
    fundamental_matrix = list(chain = walk),
    mean_first_passage = list(chain = walk),
    detailed_balance = list(chain = walk), gibbs_matrix = list(joint = o$words),
    hitting_probabilities = list(chain = walk, target = 1),
    hitting_times = list(chain = walk, target = 1),
    is_aperiodic = list(chain = walk), is_irreducible = list(chain = walk),
    is_reversible = list(chain = walk),
    markov_chain = list(transition = as.matrix(walk)),
    metropolis_matrix = list(target = 1:3, proposal = as.matrix(walk)),
    mixing_time = list(chain = walk), spectral_gap = list(chain = walk),
    state_after = list(chain = walk, n = 2), stationary = list(chain = walk),
    acceptance = fit("mh_sample"), adaptive = list(),
    allocation_probabilities = fit("gibbs_gmm"),
    as_topicmodels = fit("gibbs_lda"), bmf_prior = list(),
    coclustering = fit("gibbs_gmm"), point_clustering = fit("gibbs_gmm"),
    posterior_k = fit("gibbs_gmm_unknown"), unknown_k = list(),
    coherence = fit("gibbs_lda", n = 2),
    combine_fits = list(
      o$gibbs_lm, other = suppressWarnings(update(o$gibbs_lm, seed = 2)),
      data = "same"
    ),
    compare = list(o$laplace_logistic, other = o$gibbs_logistic),
    compare.default = list(o$laplace_logistic, other = o$gibbs_logistic),
    compare.gibbsite_fit = list(o$laplace_logistic, other = o$gibbs_logistic),
    compare_k = list(
      o$gibbs_lda, other = o$gibbs_lda, folds = 2, seed = 1, progress = FALSE
    ),
    converged = fit("gibbs_gmm"),
    convergence = fit("gibbs_gmm"),
    custom_proposal = list(
      draw = function(x) x + stats::rnorm(length(x)), log_density = log_q
    ),
    draws_of = list(x = o$gibbs_gmm, block = "mu"),
    drop_data = fit("gibbs_gmm"),
    "$.gibbsite_partial" = list(x = o$gibbsite_partial, name = "a"),
    extend = list(object = o$gibbs_gmm, draws = 2, progress = FALSE),
    empirical_distribution = list(x = o$x),
    factors_of = fit("gibbs_bmf"),
    fold_in = fit("gibbs_bmf", new_ratings = data.frame(
      user = "new", item = 1:2, value = 1:2
    )),
    gamma_prior = list(shape = 1, rate = 1),
    gibbs_bmf = c(list(ratings = o$ratings, rank = 2), short),
    gibbs_bmf.default = c(list(ratings = o$ratings, rank = 2), short),
    gibbs_bmf.formula = c(
      list(formula = value ~ user + item, data = o$ratings, rank = 2), short
    ),
    gibbs_categorical = c(
      list(formula = factor(gear) ~ wt + (1 | cyl), data = o$cars), short
    ),
    gibbs_count = c(list(formula = carb ~ wt, data = o$cars), short),
    gibbs_pmf = c(list(ratings = o$ratings, rank = 2), short),
    gibbs_pmf.default = c(list(ratings = o$ratings, rank = 2), short),
    gibbs_pmf.formula = c(
      list(formula = value ~ user + item, data = o$ratings, rank = 2), short
    ),
    pmf_prior = list(),
    rank_measures = fit(
      "gibbs_pmf", held_out = data.frame(user = 1, item = 4, value = 2)
    ),
    similar_items = fit("gibbs_pmf", item = 2),
    similar_users = fit("gibbs_pmf", user = 2),
    selected = fit("gibbs_lm"),
    sim_pmf = list(users = 3, items = 3, rank = 1),
    gibbs_gmm = c(list(x = o$x, k = 2), short),
    gibbs_gmm.default = c(list(x = o$x, k = 2), short),
    gibbs_gmm.formula = c(
      list(formula = ~ mpg + wt, data = o$cars, k = 2), short
    ),
    gibbs_hlm = c(
      list(formula = mpg ~ wt + (1 | cyl), data = o$cars), short
    ),
    gibbs_lda = c(list(x = o$words, k = 2), short),
    gibbs_lm = c(list(x = cbind(1, o$cars$wt), y = o$cars$mpg), short),
    gibbs_ordinal = c(list(formula = ordered(gear) ~ wt, data = o$cars), short),
    gibbs_logistic = c(list(x = cbind(1, o$cars$wt), y = o$cars$am), short),
    gibbs_logistic.formula = c(
      list(formula = am ~ wt + (1 | cyl) + (1 | gear), data = o$cars), short
    ),
    gibbs_sample = c(
      list(
        conditionals = list(a = function(state) stats::rnorm(1)),
        init = list(a = 0)
      ),
      short
    ),
    gmm_prior = list(), held_out = fit("gibbs_bmf", newdata = o$pairs[1, ]),
    held_out_perplexity = fit("gibbs_lda",
      newdata = o$words, ndraws = 2, burnin = 2, sweeps = 2, particles = 2
    ),
    identical_fit = list(a = o$gibbs_gmm, b = o$gibbs_gmm),
    importance_check = fit("laplace_logistic"),
    independence = list(mean = c(0, 0), cov = diag(2)),
    langevin = list(step = 1, gradient = function(x) -x),
    laplace = c(list(log_density = o$density, init = c(a = 0, b = 0)), brief),
    laplace_logistic = c(
      list(x = cbind(1, o$cars$wt), y = o$cars$am), brief
    ),
    geweke_joint = list(
      model = o$proper, n = 4, steps = 1, chains = 2, seed = 1, progress = FALSE
    ),
    count_prior = list(), hlm_prior = list(),
    hmc = list(gradient = function(x) -x),
    lda_prior = list(), seeded_topics = list(seeds = list(own = "a")),
    lm_prior = list(),
    ldavis_data = fit("gibbs_lda"),
    log_evidence = fit(
      "gibbs_sample",
      log_density = function(state) -0.5 * (state$a^2 + state$b^2)
    ),
    logistic_prior = list(), ordinal_prior = list(),
    mh_sample = c(
      list(log_density = o$density, init = c(a = 0, b = 0)), short
    ),
    mh_step = list(log_density = function(state) 0),
    mh_trace = fit("mh_sample"),
    mixture_proposal = list(random_walk(1), other = random_walk(2)),
    monte_carlo = list(
      draws = o$x, control = function(x) x[[1L]], control_mean = 3
    ),
    native_density = list(package = "stats", symbol = "cor"),
    nuts = list(gradient = function(x) -x),
    univariate_slice = list(width = 1),
    elliptical_slice = list(prior_cov = diag(2)),
    tempered = list(), delayed_rejection = list(second = 0.2),
    predicted_at = fit("gibbs_bmf"), random_walk = list(scale = 1),
    prior_predict = list(model = o$proper, n = 3, seed = 1),
    recommend = fit("gibbs_bmf", n = 1), relabel = fit("gibbs_gmm"),
    resume = list(path = o$checkpoint, progress = FALSE),
    sample_box_muller = list(n = 3),
    sample_dirichlet = list(n = 3, alpha = c(1, 2)),
    sample_importance = list(
      n = 30, log_target = function(x) -x^2 / 2, proposal = independence(0, 1)
    ),
    sample_inverse_cdf = list(n = 3, cdf = stats::pnorm),
    sample_inverse_wishart = list(n = 3, df = 4, scale = diag(2)),
    sample_mvnorm = list(n = 3, cov = diag(2)),
    sample_rejection = list(
      n = 3, log_target = function(x) -x^2 / 2, proposal = independence(0, 1),
      log_m = 2
    ),
    sample_truncated_normal = list(n = 3),
    sample_wishart = list(n = 3, df = 4, scale = diag(2)),
    sbc = list(
      model = o$proper, n = 4, draws = 3, thin = 1, chains = 2, seed = 1,
      progress = FALSE
    ),
    sim_bmf = list(users = 3, items = 3, rank = 1),
    sim_gmm = list(
      n = 4, pi = c(0.5, 0.5), mu = matrix(0, 2, 2),
      Sigma = array(rep(diag(2), each = 2), c(2, 2, 2))
    ),
    sim_hlm = list(groups = 2, size = 3, mu = c(1, 2), Sigma = diag(2)),
    sim_lm = list(n = 4, w = c(1, 2)),
    sim_lda = list(documents = 2, k = 2, terms = 3, tokens = 4),
    shards = list(cl = NULL, files = "a.txt", read = function(file) o$words),
    scatter = list(cl = NULL, x = o$words, shards = 2, what = "documents"),
    on_shards = list(
      fit = suppressWarnings(gibbs_lda(
        scatter(NULL, o$words), 2, method = "partially_collapsed", draws = 6,
        burnin = 4, chains = 2, seed = 1, progress = FALSE
      )),
      f = function(theta, sd, documents) dim(theta)
    ),
    top_terms = fit("gibbs_lda", n = 2), topic_distances = fit("gibbs_lda"),
    topic_estimates = fit("gibbs_lda"),
    name_topics = fit("gibbs_lda", names = c("1" = "sport")),
    topic_prevalence = fit(
      "gibbs_lda", formula = ~party,
      data = data.frame(party = seq_len(nrow(o$words)))
    ),
    uniform_prior = list(lower = 0, upper = 1), until = list(),
    token_counts = list(x = o$words),
    # methods for which the object alone is not enough
    gibbs_lm.formula = c(list(formula = mpg ~ wt, data = o$cars), short),
    gibbs_lm.default = c(
      list(x = cbind(1, o$cars$wt), y = o$cars$mpg), short
    ),
    gibbs_logistic.formula = c(list(formula = am ~ wt, data = o$cars), short),
    gibbs_logistic.default = c(
      list(x = cbind(1, o$cars$wt), y = o$cars$am), short
    ),
    laplace_logistic.formula = c(
      list(formula = am ~ wt, data = o$cars), brief
    ),
    laplace_logistic.default = c(
      list(x = cbind(1, o$cars$wt), y = o$cars$am), brief
    ),
    anova.gibbsite_laplace = list(
      object = o$laplace_logistic, other = o$laplace_logistic
    ),
    confint.gibbsite_fit = list(object = o$mh_sample),
    draws_of.gibbs_lda = list(x = o$gibbs_lda, block = "theta"),
    draws_of.gibbsite_fit = list(x = o$gibbs_gmm, block = "mu"),
    extend.default = list(
      object = o$gibbs_bmf, draws = 2, progress = FALSE
    ),
    get_predict.gibbsite_fit = list(
      model = o$gibbsite_regression, newdata = o$cars
    ),
    get_coef.gibbsite_fit = list(model = o$laplace_logistic),
    get_vcov.gibbsite_fit = list(model = o$gibbs_hlm),
    set_coef.gibbsite_fit = list(model = o$gibbs_lm, coefs = c(1, 2)),
    recover_data.gibbsite_fit = list(object = o$gibbs_hlm),
    held_out.gibbs_bmf = fit("gibbs_bmf", newdata = o$pairs[1, ]),
    kfold.gibbsite_fit = list(
      x = o$gibbs_lm, K = 2, seed = 1, progress = FALSE
    ),
    log_lik.gibbs_lda = list(object = o$gibbs_lda, particles = 2),
    log_lik.gibbsite_sample = list(object = o$mh_sample, log_lik = first),
    loo.gibbsite_sample = list(x = o$mh_sample, log_lik = first),
    loo_moment_match.gibbsite_fit = list(
      x = o$gibbs_lm, loo = suppressWarnings(loo::loo(o$gibbs_lm))
    ),
    nuts_params.mh_sample = list(object = o$nuts),
    posterior_epred.gibbsite_sample = list(object = o$mh_sample, f = first),
    posterior_predict.gibbsite_sample = list(object = o$mh_sample, f = first),
    predict.gibbsite_sample = list(object = o$mh_sample, f = first),
    waic.gibbsite_sample = list(x = o$mh_sample, log_lik = first),
    predict.pmf_fold = list(
      object = o$pmf_fold, newdata = data.frame(user = "new", item = 1:2)
    ),
    fold_in.gibbs_bmf = fit("gibbs_bmf", new_ratings = data.frame(
      user = "new", item = 1:2, value = 1:2
    )),
    fold_in.gibbs_pmf = fit("gibbs_pmf", new_ratings = data.frame(
      user = "new", item = 1:2
    )),
    predict.bmf_fold = list(
      object = o$bmf_fold, newdata = data.frame(user = "new", item = 1:2)
    ),
    predict.gibbs_lda = list(
      object = o$gibbs_lda, newdata = o$words, ndraws = 2, burnin = 2,
      sweeps = 2
    ),
    predictive_interval.gibbsite_fit = list(object = o$gibbs_lm),
    recommend.bmf_fold = fit("bmf_fold", n = 1),
    recommend.pmf_fold = fit("pmf_fold", n = 1),
    recommend.gibbs_bmf = fit("gibbs_bmf", n = 1),
    recommend.gibbs_pmf = fit("gibbs_pmf", n = 1),
    "$.gibbsite_summary" = list(x = summary(o$gibbs_lm), name = "mean"),
    "$.laplace_summary" = list(x = summary(o$laplace_logistic), name = "map"),
    coef.gibbsite_summary = list(object = summary(o$gibbs_lm)),
    coef.laplace_summary = list(object = summary(o$laplace_logistic)),
    ngrps.gibbsite_fit = list(object = o$gibbs_hlm),
    predictive_error.gibbsite_fit = list(object = o$gibbs_lm),
    Summary.gibbsite_fit = list(o$gibbs_gmm),
    "[[.gibbsite_fit" = list(x = o$gibbs_gmm, i = 1),
    "$.gibbsite_fit" = list(x = o$gibbs_gmm, name = "mu"),
    "$<-.gibbsite_fit" = list(x = o$gibbs_gmm, name = "mu", value = 1)
  )
}

# ---- what is called ----------------------------------------------------------

# Every exported function of the package and every method of a public generic: a
# list of list(name, f, base, object). `object` names the argument that gets
# only forged objects here, because its class decides which method is called.
hostile_targets <- function(o) {
  space <- asNamespace("gibbsite")
  bases <- hostile_bases(o)
  exports <- sort(getNamespaceExports(space))
  own <- Filter(function(name) {
    identical(environment(get(name, space)), space)
  }, exports)
  functions <- lapply(own, function(name) {
    list(
      name = name, f = get(name, space), call = get(name, space),
      base = bases[[name]], object = ""
    )
  })
  # a list where methods were registered by functions
  table <- getNamespaceInfo(space, "S3methods")[, c(1:2, 4)]
  table <- matrix(as.character(table), ncol = 3L)
  # not called: methods whose arguments emmeans makes or insight defines, and
  # those of packages that are not here and of groups, which cannot be called
  others <- c(
    "emm_basis", "Math", "Ops", "Summary", table[table[, 3L] %in% "insight", 1L]
  )
  absent <- Filter(function(package) {
    !requireNamespace(package, quietly = TRUE)
  }, setdiff(table[, 3L], NA))
  inside <- setdiff(ls(space), exports)
  rows <- which(
    !table[, 1L] %in% c(inside, others) & table[, 2L] %in% names(o) &
      !table[, 3L] %in% absent |
      table[, 1L] %in% c("laplace_logistic", "gibbs_gmm")
  )
  packages <- packages_of_generics()
  methods <- lapply(rows, function(i) {
    generic <- table[i, 1L]
    name <- paste0(generic, ".", table[i, 2L])
    f <- get(name, space)
    first <- names(formals(f))[[1L]]
    base <- bases[[name]]
    if (is.null(base)) {
      base <- stats::setNames(list(o[[table[i, 2L]]]), first)
    }
    list(
      name = name, f = f, base = base,
      call = public_generic(generic, exports, packages),
      object = if (table[i, 2L] %in% c("default", "formula")) "" else first
    )
  })
  targets <- c(functions, methods)
  bare <- vapply(targets, function(target) {
    is.null(target$base) && length(formals(target$f)) > 0
  }, NA)
  if (any(bare)) {
    stop(
      "no base call in hostile_bases() for ",
      paste(vapply(targets[bare], `[[`, "", "name"), collapse = ", ")
    )
  }
  targets
}

packages_of_generics <- function() {
  Filter(function(package) requireNamespace(package, quietly = TRUE), c(
    "base", "stats", "utils", "graphics", "coda", "loo", "bayesplot", "nlme",
    "emmeans", "marginaleffects", "performance", "parameters", "posterior",
    "bayestestR", "projpred", "ggplot2", "rstantools", "lme4"
  ))
}

public_generic <- function(generic, exports, packages) {
  if (generic %in% exports) {
    return(getExportedValue("gibbsite", generic))
  }
  # one of the group
  if (generic == "Summary") generic <- "range"
  for (package in packages) {
    if (generic %in% getNamespaceExports(package)) {
      return(getExportedValue(package, generic))
    }
  }
  stop("where is the generic ", generic, "?")
}

# All calls: list(target, name, arg, value). The object of a method is replaced
# by forged ones of its class; an argument without a default is also left out.
# The first function with an argument of some name gets every value, the others
# a third of them in turn. All functions get every value if the argument has no
# default, because its meaning then differs most.
hostile_calls <- function(targets) {
  calls <- list()
  seen <- list()
  values <- names(hostile_values)
  forged <- c("forged_empty", "forged_number", "forged_fields", "forged_hollow")
  for (t in seq_along(targets)) {
    target <- targets[[t]]
    for (arg in hostile_arguments(target)) {
      needed <- is_needed(target, arg)
      times <- seen[[arg]] %||% 0
      seen[[arg]] <- times + 1
      mine <- if (arg == target$object) {
        forged
      } else if (needed) {
        c(values, if (arg %in% names(formals(target$f))) "missing")
      } else if (times == 0) {
        values
      } else {
        values[seq_along(values) %% 3 == times %% 3]
      }
      calls[[length(calls) + 1L]] <- lapply(mine, function(value) {
        list(target = t, name = target$name, arg = arg, value = value)
      })
    }
  }
  unlist(calls, recursive = FALSE)
}

# The arguments that are given hostile values; "other" stands for one in `...`.
hostile_arguments <- function(target) {
  arguments <- names(formals(target$f))
  others <- intersect("other", names(target$base))
  # `$` does not evaluate them; the generic sort() checks its own
  names <- if (startsWith(target$name, "$")) c("name", "value")
  own <- if (startsWith(target$name, "sort.")) "decreasing"
  c(setdiff(arguments, c("...", "drop", "i", "j", names, own)), others)
}

is_needed <- function(target, arg) {
  default <- formals(target$f)[[arg]]
  arg == "other" || rlang::is_missing(default)
}

# One call in so many, and one of each function and of each value that has none
# of these.
some_hostile_calls <- function(calls, share) {
  place <- match(
    vapply(calls, `[[`, "", "value"), c(names(hostile_values), "missing")
  )
  place[is.na(place)] <- 0
  target <- vapply(calls, `[[`, 0L, "target")
  some <- which((place + 3 * target + seq_along(calls) %/% 50) %% share == 0)
  rest <- lapply(setdiff(target, target[some]), function(i) {
    own <- which(target == i)
    own[[1L + i %% length(own)]]
  })
  rest <- c(rest, lapply(setdiff(place, place[some]), match, place))
  calls[sort(c(some, unlist(rest)))]
}

# ---- one call ----------------------------------------------------------------

forged_object <- function(object, how) {
  class <- class(object)
  made <- switch(how,
    forged_empty = list(),
    forged_number = 1,
    forged_fields = list(a = "b", model = "m", prior = NULL, trace = "t"),
    forged_hollow = {
      # all elements exist, but they are empty
      hollow <- unclass(object)
      if (is.function(hollow)) {
        hollow
      } else {
        hollow[] <- lapply(hollow, function(part) NULL)
        for (part in setdiff(names(attributes(hollow)), "names")) {
          # R itself takes nothing but names or numbers for those of rows
          attr(hollow, part) <- if (part == "row.names") 0L[0] else list()
        }
        hollow
      }
    }
  )
  structure(made, class = class)
}

# Calls the function and returns the outcome:
#   classed  an error of the package that names the argument
#   right    a valid result
#   unnamed  an error of the package that does not name the argument
#   bare     an error of R or of another package
#   wrong    an invalid result: the value should have been an error
#   late     no answer within the time
try_hostile <- function(call, target, seconds = 20) {
  frame <- new.env(parent = globalenv())
  arguments <- target$base
  if (call$value == "missing") {
    arguments[[call$arg]] <- NULL
  } else {
    value <- if (call$arg == target$object) {
      forged_object(target$base[[call$arg]], call$value)
    } else {
      hostile_values[[call$value]]()
    }
    arguments[call$arg] <- list(value)
  }
  names <- names(arguments)
  # arguments are symbols, as in a user's call, so that the call contains no
  # data
  for (i in seq_along(names)) {
    value <- arguments[[i]]
    # the environment in which a formula finds variables that are not in its
    # data
    if (inherits(value, "formula") && is.call(value)) {
      environment(value) <- frame
    }
    assign(paste0("given_", names[[i]]), value, frame)
  }
  assign("called", target$call, frame)
  symbols <- lapply(paste0("given_", names, recycle0 = TRUE), as.name)
  # dispatch is on the first argument, whatever its name; an argument in `...`
  # has no name
  call_names <- ifelse(names %in% c(target$object, "other"), "", names)
  expression <- as.call(c(
    list(as.name("called")), stats::setNames(symbols, call_names)
  ))
  outcome <- run_hostile(expression, frame, seconds)
  c(call[c("name", "arg", "value")], judge_hostile(outcome, call, target))
}

# In a folder of its own: what a call writes, no other finds.
run_hostile <- function(expression, frame, seconds) {
  error <- NULL
  value <- NULL
  folder <- tempfile("call")
  dir.create(folder)
  here <- setwd(folder) # nolint: undesirable_function_linter.
  on.exit({
    setwd(here) # nolint: undesirable_function_linter.
    unlink(folder, recursive = TRUE)
  })
  began <- proc.time()[["elapsed"]]
  utils::capture.output(
    tryCatch(
      {
        setTimeLimit(elapsed = seconds, transient = TRUE)
        value <- withVisible(suppressMessages(suppressWarnings(
          eval(expression, frame)
        )))$value
      },
      error = function(cnd) error <<- cnd,
      interrupt = function(cnd) error <<- cnd
    )
  )
  setTimeLimit()
  list(
    error = error, value = value,
    seconds = proc.time()[["elapsed"]] - began
  )
}

judge_hostile <- function(outcome, call, target) {
  error <- outcome$error
  said <- ""
  verdict <- if (is.null(error)) {
    fine <- may_be_taken(call, target) && holds_no_nan(outcome$value)
    if (fine) "right" else "wrong"
  } else {
    said <- words_of(error)
    if (grepl("reached elapsed time limit", said, fixed = TRUE)) {
      "late"
    } else if (!inherits(error, "gibbsite_error")) {
      "bare"
    } else if (names_argument(said, call)) {
      "classed"
    } else {
      "unnamed"
    }
  }
  said <- iconv(said, "UTF-8", "UTF-8", sub = "byte")
  list(
    verdict = verdict, said = substr(gsub("[[:space:]]+", " ", said), 1, 200),
    seconds = outcome$seconds
  )
}

# Errors of ours keep their parts, which need not be laid out in lines again.
words_of <- function(error) {
  parts <- if (inherits(error, "rlang_error") && is.character(error$body)) {
    c(error$message, error$body)
  } else {
    conditionMessage(error)
  }
  paste(cli::ansi_strip(parts), collapse = " ")
}

names_argument <- function(said, call) {
  said <- iconv(said, "UTF-8", "UTF-8", sub = "byte")
  # no argument is at fault
  none <- paste0(
    "The package [A-Za-z.]+ is not installed|^A fit of .* has no |",
    "has no meaning for a fit|^The run has no draws yet"
  )
  if (grepl(none, said)) {
    return(TRUE)
  }
  if (call$arg == "other") {
    return(grepl("(Argument|Proposal|fit|Fits?) (1|2|and)", said))
  }
  # what update() calls has `formula` in the place of `formula.`
  arg <- gsub(".", "\\.", sub("[.]$", "", call$arg), fixed = TRUE)
  grepl(paste0("(^|[^[:alnum:]_.])", arg, "([^[:alnum:]_]|$)"), said)
}

# Checks that the result has no NaN and that draws are finite.
holds_no_nan <- function(x, depth = 3L) {
  if (inherits(x, c("gibbsite_fit", "mcmc.list"))) {
    return(all(vapply(unclass(x), function(m) {
      is.numeric(m) && all(is.finite(m))
    }, NA)))
  }
  if (is.double(x) && length(x) < 1e6) {
    return(!any(is.nan(x)))
  }
  if (is.list(x) && depth > 0L) {
    return(all(vapply(unclass(x), holds_no_nan, NA, depth = depth - 1L)))
  }
  TRUE
}

# ---- what may be taken -------------------------------------------------------

positive <- c("half", "huge", "tiny")
sizes <- c(positive, "inf")
reals <- c(positive, "zero", "minus_one")
vectors <- c("named_numbers")
# of a mixture: one row, whose names are not read, or two
newdata <- c(vectors, "bad_utf8_names", "indefinite", "na_matrix")

# of documents: texts, of which no word may be known
some_text <- c("string", "long_string")

# functions of a vector
callable <- c("variadic", "forged_density")

# By argument, or by function and argument: the values that are valid. All
# others must raise an error.
taken_values <- list(
  log_lik.gibbsite_sample.log_lik = callable,
  loo.gibbsite_sample.log_lik = callable,
  waic.gibbsite_sample.log_lik = callable,
  posterior_epred.gibbsite_sample.f = callable,
  posterior_predict.gibbsite_sample.f = callable,
  predict.gibbsite_sample.f = callable,
  log_evidence.log_density = "forged_density", mixing_time.epsilon = "tiny",
  biases = "true", center = "true", condVar = "true", conf.int = "true",
  debug = "true",
  evaluate = "true", exponentiate = "true",
  factors = "true", forever = "true", index = "true",
  keep_data = "true", merge_split = "true", progress = "true",
  transform = "true", tune = "true", variance = "true",
  burnin = "zero", seed = c("minus_one", "zero"), checkpoint = "string",
  target = "tiny", level = "tiny", prob = "tiny", conf.level = "tiny",
  share = "tiny",
  probs = c("tiny", "zero"), n = "huge", draws = character(),
  held_out_perplexity.ndraws = "huge", predict.gibbs_lda.ndraws = "huge",
  rhat = c("half", "huge", "inf"), converged.rhat = c("half", "huge"),
  convergence.rhat = c("half", "huge"), ess = c(positive, "zero"),
  until.seconds = positive,
  thin = character(), window.gibbsite_fit.thin = "huge",
  step = positive, df = sizes, random_walk.df = positive, scale = positive,
  cov = positive, adaptive.scale = c(positive, vectors),
  random_walk.scale = c(positive, vectors), rate = positive, shape = positive,
  noise_shape = positive, noise_rate = positive, slope_shape = positive,
  slope_rate = positive, feature_shape = positive, feature_rate = positive,
  feature_precision = positive, user_shape = positive, user_rate = positive,
  item_shape = positive, item_rate = positive, factor_variance = positive,
  noise_variance = positive, kappa0 = positive, nu0 = positive,
  sigma2 = positive,
  user_rate_shape = c(positive, "inf"), item_rate_shape = c(positive, "inf"),
  user_rate_mean = positive, item_rate_mean = positive,
  sim_pmf.mean = positive,
  sim_bmf.sigma2 = c(positive, "zero"), W0 = positive,
  cutpoint_sd = positive, threshold_sd = positive, at_least = reals,
  sim_bmf.biases = c(positive, "zero"), sim_bmf.mean = reals,
  mu0 = reals, m0 = c(reals, vectors), v0 = c(positive, vectors),
  s0 = c(positive, vectors), alpha = c(positive, vectors), s0_df = positive,
  s0_mean = c(positive, vectors), unknown_k.prior = positive,
  eta = c(positive, vectors), sim_lda.tokens = vectors,
  slope_variance = c(sizes, vectors), intercept_variance = sizes,
  group_df = positive, group_scale = c(positive, vectors),
  lm_prior.scale = c(positive, vectors), hlm_prior.df = positive,
  hlm_prior.scale = c(positive, vectors), nu0 = positive, sigma0 = positive,
  slope_mean = c(reals, vectors, "empty"),
  slope_sd = c(positive, vectors, "empty"),
  slope_scale = c(positive, vectors, "empty"),
  logistic_prior.slope_sd = c(sizes, vectors, "empty"),
  count_prior.slope_sd = c(sizes, vectors, "empty"),
  dispersion_df = positive, dispersion_scale = positive,
  intercept_mean = reals,
  intercept_sd = c(positive, "inf"), sim_lm.w = c(reals, vectors),
  sim_lm.sigma = c(positive, "zero"), sim_lm.intercept = reals,
  # of simulated data
  sbc.n = character(), geweke_joint.n = character(),
  prior_predict.n = character(), statistic = callable,
  # of sampling without a chain
  vectorised = "true", log = "true", monte_carlo.control = c(
    "null", "variadic", "forged_density"
  ), control_mean = reals, monte_carlo.f = callable,
  sample_mvnorm.mean = c(reals, vectors), sample_truncated_normal.mean = reals,
  sample_truncated_normal.sd = positive, log_m = reals,
  sample_truncated_normal.lower = c("minus_inf", reals),
  sample_truncated_normal.upper = c("inf", reals),
  sample_inverse_cdf.lower = c("minus_inf", reals),
  log_evidence.lower = "minus_inf", log_evidence.upper = "inf",
  max_tries = c("huge", "inf"),
  as.data.frame.empirical_distribution.optional = names(hostile_values),
  as.data.frame.monte_carlo.optional = names(hostile_values),
  monte_carlo.draws = c(reals, vectors, "indefinite", "zero_matrix"),
  empirical_distribution.x = c(reals, vectors, "indefinite", "zero_matrix"),
  compress_draws.draws = c(reals, vectors, "indefinite", "zero_matrix"),
  sim_hlm.mu = vectors, sim_hlm.sigma = c(positive, "zero"),
  sim_hlm.size = vectors,
  uniform_prior.lower = c("zero", "tiny"), uniform_prior.upper = positive,
  lower = c("minus_inf", "minus_one", "zero"),
  upper = c(sizes, "zero", vectors),
  re_formula = "na", allow_new_levels = "true",
  compare_k.relevant = c(positive, "zero"),
  laplace_logistic.formula.na_action = "null", gibbs_hlm.na_action = "null",
  gibbs_count.na_action = "null", nu = c("half", "huge"),
  gibbs_hlm.contrasts = "empty_list", gibbs_categorical.na_action = "null",
  gibbs_categorical.contrasts = "empty_list",
  fit_markov_chain.sequences = c(
    vectors, "bad_utf8_names", "wide_frame", "text_matrix", "nan_matrix"
  ),
  fit_markov_chain.prior = c("half", "tiny", "indefinite"),
  fit_markov_chain.draws = "null", rank_measures.k = vectors,
  # any numbers that are not missing, logical ones too, are data of the C code;
  # its page says so
  native_density.data = c(
    "empty", "no_rows", reals, vectors, "inf", "minus_inf", "true",
    "indefinite", "array", "zero_matrix"
  ),
  keep_proposals = "true", threshold = c(positive, "zero"),
  sim_bmf.c = positive,
  # parameters by number, whose own names are not read; all of them if left out,
  # as R's generic has it
  parm = c(vectors, "bad_utf8_names", "missing"), sim_gmm.mu = "indefinite",
  mean = vectors, init = c(reals, vectors), start = vectors,
  subset = c("true", "two_flags", "minus_one", vectors, "bad_utf8_names"),
  gibbs_gmm.x = c("named_numbers", "indefinite", "zero_matrix"),
  gibbs_gmm.default.x = c("named_numbers", "indefinite", "zero_matrix"),
  gibbs_lda.x = c("indefinite", some_text),
  scatter.x = c("indefinite", some_text), scatter.cl = "null",
  shards.cl = "null", shards.files = some_text,
  lda_prior.eta = c(positive, vectors, "indefinite"),
  seeded_topics.weight = positive,
  token_counts.x = c("indefinite", some_text),
  token_counts.stopwords = c(some_text, "empty_string", "no_strings"),
  coherence.x = c(some_text, "empty_string"),
  predict.gibbs_lda.newdata = c(some_text, "empty_string"),
  log_lik.gibbs_lda.newdata = c(some_text, "empty_string"),
  gibbs_bmf.ratings = c("indefinite", "zero_matrix"),
  gibbs_pmf.ratings = c("indefinite", "list_column"),
  gibbs_pmf.default.ratings = c("indefinite", "list_column"),
  fold_in.gibbs_pmf.new_ratings = "list_column",
  log_lik.gibbs_pmf.newdata = "list_column",
  posterior_epred.gibbs_pmf.newdata = "list_column",
  posterior_predict.gibbs_pmf.newdata = "list_column",
  predict.gibbs_pmf.newdata = "list_column",
  predict.gibbs_gmm.newdata = newdata,
  predict.gibbs_gmm_unknown.newdata = c(newdata, "labelled", "minutes"),
  log_lik.gibbs_gmm.newdata = newdata,
  log_lik.gibbs_gmm_unknown.newdata = c(newdata, "labelled", "minutes"),
  predict.gmm_map.newdata = c(newdata, "labelled", "minutes"),
  predict_at = "list_column", augment.gibbs_bmf.newdata = "list_column",
  predict.gibbs_bmf.newdata = "list_column",
  predict.bmf_map.newdata = "list_column",
  posterior_epred.gibbs_bmf.newdata = "list_column",
  posterior_linpred.gibbs_bmf.newdata = "list_column",
  posterior_predict.gibbs_bmf.newdata = "list_column",
  # the call is evaluated as it is
  update.gibbsite_regression.formula. = c("missing", "dots"),
  # all rows are shown
  print.gibbsite_convergence.n = c("huge", "inf"),
  print.gibbsite_summary.n = c("huge", "inf"),
  print.laplace_summary.n = c("huge", "inf"),
  print.monte_carlo.n = c("huge", "inf"), print.gibbsite_fit.times = "true",
  gibbs_matrix.joint = c("indefinite", "array"), tolerance = c("zero", "tiny"),
  labels = "true", state_after.n = c("zero", "named_numbers"),
  simulate.markov_chain.n = "zero",
  predict.fit_markov_chain.n = c("zero", "named_numbers"),
  simulate.fit_markov_chain.n = "zero",
  first_passage.target = c(vectors, "bad_utf8_names"),
  hitting_times.target = c(vectors, "bad_utf8_names"),
  hitting_probabilities.target = c(vectors, "bad_utf8_names"),
  print.coefficient_comparison.n = c("huge", "inf"),
  # runs by the rule, as its page says
  gibbs_lda.draws = "null",
  # NULL is the first choice, here the default
  name_topics.names = "null",
  plot.fit_markov_chain.type = "null",
  autoplot.fit_markov_chain.type = "null", plot.gibbsite_laplace.type = "null",
  plot.gibbs_lda.type = "null",
  topics = c(vectors, "bad_utf8_names"),
  variables = c(vectors, "bad_utf8_names"),
  users = c(vectors, "bad_utf8_names"), weights = vectors,
  prior_odds = vectors,
  # functions of the user are called, and their results are not checked
  draw = "failing", log_density = "failing", gradient = "failing",
  plot.mh_trace.log_density = callable,
  autoplot.mh_trace.log_density = callable,
  plot.mh_trace.chain = vectors, autoplot.mh_trace.chain = vectors,
  custom_proposal.log_density = c("failing", "null"),
  langevin.gradient = c("failing", "variadic"),
  nuts.gradient = c("failing", "variadic", "null"),
  hmc.gradient = c("failing", "variadic", "null"), jitter = c("zero", "tiny"),
  mh_sample.log_density = "variadic",
  elliptical_slice.prior_cov = c(positive, vectors),
  univariate_slice.width = c(positive, vectors),
  elliptical_slice.prior_mean = c(positive, vectors, "zero", "minus_one"),
  xlim = vectors, ylim = vectors,
  tempered.temperatures = "named_numbers",
  delayed_rejection.second = positive,
  # no measures
  diagnostic_posterior.gibbsite_fit.diagnostic = "null",
  # never used, as its page says
  as.data.frame.gibbsite_fit.optional = names(hostile_values)
)

# NULL is valid if it is the default, or means the first of several choices.
may_be_taken <- function(call, target) {
  if (startsWith(call$value, "forged_") && call$arg == target$object) {
    # print() of a forged object may at best print it
    return(TRUE)
  }
  if (call$value == "null" && !is_needed(target, call$arg)) {
    default <- formals(target$f)[[call$arg]]
    choices <- is.call(default) && identical(default[[1L]], quote(c))
    if (is.null(default) || choices) {
      return(TRUE)
    }
  }
  own <- taken_values[[paste0(call$name, ".", call$arg)]]
  call$value %in% (own %||% taken_values[[call$arg]])
}
