# The model behind gibbs_pmf(): the data for C, the state, starting values, and
# the hooks of the tests. src/core/pmf/pmf.h has the mathematics.
#
# Stored draws of the factors, and what is made of them, are those of a
# factorisation of ratings (R/bmf-kept.R): a model has the fields n, m, size,
# biases, center, users, items, names, user_counts and item_counts that they
# need, and u and v of a state are theta (K x n) and beta (K x m).

# ratings: as_user_counts(), in any order
pmf_model <- function(ratings, rank, prior, keep = character(), chains = 4) {
  columns <- c("user", "item", "value")
  by_user <- order(ratings$user, ratings$item)
  ratings[columns] <- lapply(ratings[columns], `[`, by_user)
  n <- length(ratings$users)
  m <- length(ratings$items)
  cells <- bmf_cells(ratings)
  data <- c(
    list(
      n = n, m = m, size = as.integer(rank), prior = pmf_prior_numbers(prior),
      cells = from_zero(cells), keep_theta = as.integer("theta" %in% keep),
      keep_beta = as.integer("beta" %in% keep),
      cap = bmf_cap(n, m, as.integer(rank), chains)
    ),
    pmf_compressed(ratings, n, m)
  )
  new_model(
    "pmf_model",
    name = "gibbs_pmf", title = "Poisson factorisation",
    headline = pmf_headline(ratings, rank), data = data,
    cures = "Try a smaller rank: see ?gibbs_pmf.",
    prior = prior, nobs = length(ratings$value),
    columns = c(
      "log_lik", "log_joint",
      indexed("cell", seq_along(cells$user)),
      if ("theta" %in% keep) indexed("theta", seq_len(rank), seq_len(n)),
      if ("beta" %in% keep) indexed("beta", seq_len(rank), seq_len(m))
    ),
    n = n, m = m, size = as.integer(rank), biases = FALSE,
    rank = as.integer(rank), keep = keep, center = 0, users = ratings$users,
    items = ratings$items, names = ratings$names, cells = cells,
    user_counts = tabulate(ratings$user, n),
    item_counts = tabulate(ratings$item, m)
  )
}

# By user and by item, and pair by pair.
pmf_compressed <- function(ratings, n, m) {
  c(
    bmf_compressed(ratings, n, m, 0)[c("users", "items")],
    list(user = ratings$user, item = ratings$item, value = ratings$value)
  )
}

pmf_prior_numbers <- function(prior) {
  as.double(unlist(unclass(prior)[c(
    "user_shape", "user_rate_shape", "user_rate_mean", "item_shape",
    "item_rate_shape", "item_rate_mean"
  )]))
}

#' @exportS3Method
model_words.pmf_model <- function(model) paste("rank =", model$rank)

pmf_headline <- function(ratings, rank) {
  sizes <- format(
    c(sum(ratings$value), length(ratings$value)), big.mark = ",",
    scientific = FALSE, trim = TRUE
  )
  paste0(
    "Poisson factorisation of rank ", rank, "; counts of ", sizes[[1L]],
    " in all, ", sizes[[2L]], " of them positive, of ",
    counted_in_digits(length(ratings$items), "item"), " by ",
    counted_in_digits(length(ratings$users), "user")
  )
}

#' @exportS3Method
model_sweeps.pmf_model <- function(model, state, n, control) {
  .Call(C_pmf_sweeps, model$data, state, n, control)
}

# Gamma variates of shape 2 whose products have the mean of the counts, times a
# random factor from 1/2 to 3/2 in each chain.
#' @exportS3Method
model_start.pmf_model <- function(model, init) {
  mean <- sum(model$data$value) / model$n / model$m
  width <- sqrt(mean / model$rank) * stats::runif(1L, 0.5, 1.5)
  gammas <- function(count) stats::rgamma(model$rank * count, 2, 2 / width)
  start <- list(theta = gammas(model$n), beta = gammas(model$m))
  pmf_state(model, utils::modifyList(start, as.list(init)))
}

# parameters: theta, beta, and xi and eta, which a sweep draws first.
pmf_state <- function(model, parameters) {
  prior <- model$prior
  list(
    sweep = 0, u = pmax(as.double(parameters$theta), 1e-300),
    v = pmax(as.double(parameters$beta), 1e-300),
    rate_u = parameters$xi %||% rep(prior$user_rate_mean, model$n),
    rate_v = parameters$eta %||% rep(prior$item_rate_mean, model$m),
    kept = 0, factor_draws = list(), hyper_draws = list()
  )
}

#' @exportS3Method
model_without_averages.pmf_model <- function(model, state, anew = FALSE) {
  state$kept <- 0
  state$factor_draws <- state$hyper_draws <- list()
  state
}

#' @exportS3Method
model_check_init.pmf_model <- function(model, init, where, call) {
  sizes <- list(theta = c(model$rank, model$n), beta = c(model$rank, model$m))
  check_init_names(init, names(sizes), where, call)
  for (name in names(init)) {
    arg <- paste0(where, "$", name)
    check_init_shape(init[[name]], sizes[[name]], arg, call)
    abort_elements(
      init[[name]] <= 0 | init[[name]] > 1e100, init[[name]], arg,
      "positive, and at most 1e100", call
    )
  }
  init
}

#' @exportS3Method
model_init_from_state.pmf_model <- function(model, state) {
  list(
    theta = matrix(state$u, model$rank), beta = matrix(state$v, model$rank)
  )
}

# Factors may change places within a chain; what they predict has no order.
#' @exportS3Method
model_invariants.pmf_model <- function(model, draws) {
  draws <- unclass(draws)
  draws[, in_blocks(colnames(draws), c("log_lik", "log_joint", "cell")),
        drop = FALSE]
}

#' @exportS3Method
model_inner.pmf_model <- function(model) c("log_lik", "log_joint")

#' @exportS3Method
model_labelled.pmf_model <- function(model, invariants) {
  in_blocks(model$columns, c("theta", "beta"))
}

#' @exportS3Method
model_labels.pmf_model <- function(model) {
  users <- id_words(model$users)
  items <- id_words(model$items)
  label_columns(model$columns, function(block, at) {
    switch(block,
      log_lik = "log likelihood",
      log_joint = "log joint density",
      cell = paste0(
        "expected count of item ", items[model$cells$item[at]], " by user ",
        users[model$cells$user[at]]
      ),
      theta = paste("factor", at[1L], "of user", users[at[2L]]),
      beta = paste("factor", at[1L], "of item", items[at[2L]])
    )
  })
}

#' @exportS3Method
model_next.pmf_model <- function(model) c("recommend(fit)", "predict(fit)")

counts_hint <- "{.code predict(fit, data)} has the expected count of each row of
  the data, {.fn rank_measures} how well they rank counts held back."

#' @exportS3Method
model_hints.pmf_model <- function(model) {
  utils::modifyList(NextMethod(), list(
    comparison = "{.fn rank_measures} compares fits by counts held back.",
    coefficients = "{.fn predict} has its expected counts.",
    fitted = counts_hint, augment = counts_hint, residuals = counts_hint,
    pp_check = counts_hint
  ))
}

# ---- The joint distribution -------------------------------------------------

#' @exportS3Method
draw_prior.pmf_model <- function(model) {
  prior <- model$prior
  rates <- function(count, shape, mean) {
    if (is.finite(shape)) {
      stats::rgamma(count, shape, shape / mean)
    } else {
      rep(mean, count)
    }
  }
  factors <- function(rate, shape) {
    stats::rgamma(
      model$rank * length(rate), shape, rep(rate, each = model$rank)
    )
  }
  xi <- rates(model$n, prior$user_rate_shape, prior$user_rate_mean)
  eta <- rates(model$m, prior$item_rate_shape, prior$item_rate_mean)
  pmf_state(model, list(
    theta = factors(xi, prior$user_shape),
    beta = factors(eta, prior$item_shape),
    xi = xi, eta = eta
  ))
}

# theta_u'beta_i, users x items.
pmf_expected <- function(model, state) {
  crossprod(matrix(state$u, model$rank), matrix(state$v, model$rank))
}

# The counts of all pairs, user by user within an item.
#' @exportS3Method
simulate_data.pmf_model <- function(model, state) {
  mean <- pmf_expected(model, state)
  as.double(stats::rpois(length(mean), mean))
}

# The model with other counts of all its pairs, or with counts in the form in
# which a user gives them.
#' @exportS3Method
set_data.pmf_model <- function(model, data, call = rlang::caller_env()) {
  whole <- is.numeric(data) && is.null(dim(data)) &&
    length(data) == model$n * as.double(model$m)
  if (!whole) {
    return(pmf_with_counts(model, data, call))
  }
  parts <- triplets_of_counts(model, data)
  compressed <- pmf_compressed(parts, model$n, model$m)
  model$data[names(compressed)] <- compressed
  model$user_counts <- tabulate(parts$user, model$n)
  model$item_counts <- tabulate(parts$item, model$m)
  model$data_hash <- model_hash(model)
  model
}

triplets_of_counts <- function(model, data) {
  at <- which(data > 0)
  list(
    user = (at - 1L) %% model$n + 1L, item = (at - 1L) %/% model$n + 1L,
    value = data[at]
  )
}

pmf_with_counts <- function(model, data, call) {
  fresh <- pmf_model(
    counts_again(model, data, call), model$rank, model$prior, model$keep
  )
  fresh$data$cap <- model$cap %||% fresh$data$cap
  model$data <- fresh$data
  model$data_hash <- model_hash(model)
  model
}

#' @exportS3Method
shown_data.pmf_model <- function(model, data) {
  parts <- triplets_of_counts(model, data)
  data.frame(
    user = model$users[parts$user], item = model$items[parts$item],
    count = parts$value
  )
}

#' @exportS3Method
model_quantities.pmf_model <- function(model, state) {
  mean <- pmf_expected(model, state)
  data <- model$data
  log_lik <- sum(data$value * log(mean[cbind(data$user, data$item)])) -
    sum(lfactorial(data$value)) - sum(mean)
  c(
    total = sum(mean), first = mean[[1L]], last = mean[[length(mean)]],
    log_lik = log_lik
  )
}

# Sizes of the factors and their rates.
#' @exportS3Method
further_quantities.pmf_model <- function(model, state) {
  c(
    theta = mean(state$u), beta = mean(state$v), theta_1 = state$u[[1L]],
    beta_1 = state$v[[1L]], log_xi = mean(log(state$rate_u)),
    log_eta = mean(log(state$rate_v)), counts = sum(model$data$value)
  )
}

# ---- The counts --------------------------------------------------------------

# Counts of a user by item for gibbs_pmf(): the forms of ratings that
# R/ratings.R reads, as a "gibbsite_ratings" without zeros, in which a pair
# occurs once.

# named: list(user, item, count), names of columns of a data frame, or NULL.
as_user_counts <- function(x, named = list(), data = NULL, arg, call) {
  check_sparse(x, arg, call)
  x <- numbers_of_likes(x)
  # whether each row counts once
  events <- FALSE
  if (inherits(x, "formula")) {
    events <- length(x) == 2L
    x <- formula_of_counts(x)
  } else if (is.data.frame(x)) {
    check_data_frame(x, arg, call)
    found <- named$count %||% intersect(usual_counts, names(x))
    events <- length(found) == 0L
    if (events) {
      say_events(x, arg)
      x$count <- rep(1, nrow(x))
      found <- "count"
    }
    if (!found[[1L]] %in% names(x)) {
      there <- utils::head(names(x), 10)
      abort_argument(
        c("{.arg {arg}} must have a column for the count: there is no column
           {quoted(found[[1L]])}.",
          i = "The columns are {.val {there}}."),
        call = call, class = "column"
      )
    }
    named$count <- found[[1L]]
  }
  if (is.matrix(x) && anyNA(x)) {
    abort_unobserved(arg, call)
  }
  ratings <- tryCatch(
    suppressMessages(
      as_ratings(
        x, named$user, named$item, named$count, data, arg, call, likes = TRUE
      ),
      classes = paste0("gibbsite_message_", c("repeated", "unrated", "zeros"))
    ),
    gibbsite_message_unobserved = function(cnd) abort_unobserved(arg, call)
  )
  if (events) {
    ratings$names[[3L]] <- "count"
  }
  positive_counts(ratings, events, arg, call)
}

usual_counts <- c("count", "value", "rating")

# Sparse matrices of logical values, or of a pattern alone, as numbers.
numbers_of_likes <- function(x) {
  if (isS4(x) && (methods::is(x, "nMatrix") || methods::is(x, "lMatrix"))) {
    tryCatch(methods::as(x, "dMatrix"), error = function(cnd) x)
  } else if (isS4(x) && methods::is(x, "denseMatrix")) {
    methods::as(x, "matrix")
  } else {
    x
  }
}

# ~ user + item: each row counts once.
formula_of_counts <- function(formula) {
  if (length(formula) != 2L || !is.call(formula[[2L]])) {
    return(formula)
  }
  ones <- call("rep", 1, call("length", formula[[2L]][[2L]]))
  stats::as.formula(call("~", ones, formula[[2L]]), environment(formula))
}

say_events <- function(x, arg) {
  if (ncol(x) > 2L) {
    inform_gibbsite(
      c(i = "{.arg {arg}} has no column {or_words(quoted(usual_counts))}: each
             row counts once. Name another column with {.arg count}."),
      class = "events"
    )
  }
}

abort_unobserved <- function(arg, call) {
  abort_argument(
    c(
      "{.arg {arg}} must have no missing counts: a pair without a count is a
       count of 0.",
      i = "Leave such pairs out, or put 0 in their place, if 0 is meant.",
      i = "Where pairs were not observed {.fn gibbs_bmf} leaves them out of the
           model."
    ),
    call = call, class = "missing"
  )
}

# events: whether repeated rows are expected.
positive_counts <- function(ratings, events, arg, call) {
  value <- ratings$value
  wrong <- which(value < 0 | value != floor(value) | value > 1e9)
  if (length(wrong) > 0L || !is.null(ratings$levels)) {
    at <- c(wrong, 1L)[[1L]]
    pair <- pair_words(ratings, at)
    given <- if (is.null(ratings$levels)) {
      format(value[[at]], digits = 15)
    } else {
      quoted(ratings$levels[[value[[at]]]])
    }
    abort_argument(
      c(
        "{.arg {arg}} must hold counts, whole numbers from 0 to 1e9: that of
         {pair} is {given}.",
        i = "Likes are TRUE and FALSE, 1 and 0, or rows of users and items
             alone. Ratings on a scale are for {.fn gibbs_bmf}."
      ),
      call = call, class = "count"
    )
  }
  if (all(value == 0)) {
    abort_argument(
      "{.arg {arg}} has no count above 0.", call = call, class = "empty"
    )
  }
  said <- merged_counts(ratings, value > 0, events, arg)
  say_uncounted(said, arg)
  said
}

# The counts of a pair added up.
merged_counts <- function(ratings, positive, events, arg) {
  user <- ratings$user[positive]
  item <- ratings$item[positive]
  key <- pair_keys(user, item, length(ratings$items))
  first <- !duplicated(key)
  if (!all(first) && !events) {
    again <- sum(!first)
    inform_gibbsite(
      c(i = "{again} count{?s} of {.arg {arg}} {cli::qty(again)}{?is/are} of a
             pair of user and item that occurred before: the counts of a pair
             are added up."),
      class = "repeated"
    )
  }
  sums <- rowsum(ratings$value[positive], match(key, key[first]))
  ratings$user <- user[first]
  ratings$item <- item[first]
  ratings$value <- as.vector(sums)
  ratings
}

say_uncounted <- function(ratings, arg) {
  without <- count_unrated(ratings)
  count <- without$count
  if (count > 0) {
    lacking <- without$words
    inform_gibbsite(
      c(i = "{lacking} of {.arg {arg}} {cli::qty(count)}{?has/have} no count:
             all counts of {?it/them} are taken as 0."),
      class = "unrated"
    )
  }
}

# Counts that a user supplies again, in the codes of the fit.
counts_again <- function(model, data, call) {
  if (!inherits(data, "gibbsite_ratings")) {
    named <- list()
    if (is.data.frame(data)) {
      names <- if (all(model$names[1:2] %in% names(data))) {
        model$names
      } else if (ncol(data) %in% 2:3) {
        c(names(data), "")
      } else {
        abort_lacking(setdiff(model$names, names(data)), "data", call)
      }
      named <- list(user = names[[1L]], item = names[[2L]])
      named$count <- intersect(names[[3L]], names(data))
      if (length(named$count) == 0L) named$count <- NULL
    }
    data <- suppressMessages(
      as_user_counts(data, named, arg = "data", call = call),
      classes = "gibbsite_message"
    )
  }
  ratings_again(model, data, call)
}
