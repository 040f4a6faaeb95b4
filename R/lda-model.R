# Latent Dirichlet allocation: the model's methods for the driver, and the
# chains that condition on a fit's phi (new documents). src/core/lda/lda.h has
# the mathematics and the meaning of each element of the state.

lda_methods <- c(collapsed = 0L, partially_collapsed = 1L, uncollapsed = 2L)

# counts: list(word, start, documents, terms, from): tokens document after
#   document, their terms' numbers from 1; tokens before each document and in
#   all; names; 1 if the user's documents had terms numbered from 1 on. If the
#   words are elsewhere (R/lda-shards.R): `tokens`, their number.
# prior: list(alpha, eta), each one number, a vector (one number a topic, a
#   term), a uniform_prior or a gamma_prior; eta also a matrix, topics x terms
lda_model <- function(counts, k, prior, method = "collapsed",
                      keep = character(), class = "lda_model") {
  model <- new_model(
    class,
    name = "gibbs_lda", title = "Latent Dirichlet allocation",
    headline = lda_headline(counts, k),
    data = lda_data(counts, k, prior, method, keep), prior = prior,
    nobs = token_total(counts), columns = lda_columns(counts, k, prior, keep),
    k = as.integer(k), documents = counts$documents, terms = counts$terms,
    method = method, keep = keep, topics = rownames(prior$eta),
    pivot = if (length(unique(lda_fixed_values(prior$alpha))) <= 1L) {
      "first draw"
    }
  )
  model$from <- counts$from
  model
}

#' @exportS3Method
model_words.lda_model <- function(model) paste("k =", model$k)

token_total <- function(counts) counts$tokens %||% length(counts$word)

lda_data <- function(counts, k, prior, method, keep) {
  list(
    word = as.integer(counts$word), start = as.double(counts$start),
    k = as.integer(k), terms = length(counts$terms),
    method = lda_methods[[method]],
    alpha_prior = lda_prior_numbers(prior$alpha),
    eta_prior = lda_prior_numbers(prior$eta),
    alpha = lda_fixed_values(prior$alpha), eta = lda_fixed_values(prior$eta),
    keep_theta = as.integer("theta" %in% keep),
    keep_phi = as.integer("phi" %in% keep),
    keep_z = as.integer("z" %in% keep),
    keep_labels = as.integer("labels" %in% keep)
  )
}

# c(kind, a, b) as core/lda/lda.h has them.
lda_prior_numbers <- function(prior) {
  switch(class(prior)[[1L]],
    uniform_prior = c(1, prior$lower, prior$upper),
    gamma_prior = c(2, prior$shape, prior$rate),
    c(0, 0, 0)
  )
}

lda_is_sampled <- function(prior) !is.numeric(prior)

# Those of "alpha" and "eta" that are part of a state.
sampled_names <- function(prior) {
  Filter(function(name) lda_is_sampled(prior[[name]]), c("alpha", "eta"))
}

# The names of the topics: those of name_topics(), those of the rows of eta, or
# their numbers.
topic_names <- function(model) {
  model$names %||% model$topics %||% as.character(seq_len(model$k))
}

# eta_tw of one topic: one number, or one for each term.
eta_of_topic <- function(model, state, topic) {
  eta <- state$eta %||% model$prior$eta
  if (is.matrix(eta)) eta[topic, ] else eta
}

# Topics with the same number here are exchangeable.
topic_groups <- function(model) {
  eta <- model$prior$eta
  if (!is.matrix(eta)) {
    return(rep(1L, model$k))
  }
  rows <- vapply(seq_len(model$k), function(t) hash(unname(eta[t, ])), "")
  match(rows, rows)
}

lda_fixed_values <- function(prior) {
  if (lda_is_sampled(prior)) numeric() else as.double(prior)
}

# alpha or eta of a state, or the fixed ones.
lda_concentration <- function(model, state, name) {
  state[[name]] %||% lda_fixed_values(model$prior[[name]])
}

lda_columns <- function(counts, k, prior, keep) {
  topics <- seq_len(k)
  c(
    sampled_names(prior), "log_joint", "log_lik", "n_topics_used",
    indexed("size", topics),
    if ("theta" %in% keep) {
      indexed("theta", seq_along(counts$documents), topics)
    },
    if ("phi" %in% keep) indexed("phi", topics, seq_along(counts$terms)),
    if ("z" %in% keep) indexed("z", seq_along(counts$word)),
    if ("labels" %in% keep) indexed("label", topics)
  )
}

#' @exportS3Method
model_sweeps.lda_model <- function(model, state, n, control) {
  if (isTRUE(state$to_choose)) {
    state <- best_short_run(model, state, control)
  }
  if (is.null(state)) {
    return(NULL)
  }
  topic_sweeps(model, state, n, control)
}

#' @exportS3Method
topic_sweeps.lda_model <- function(model, state, n, control) {
  .Call(C_lda_sweeps, model$data, state, n, control)
}

# ---- Starting values --------------------------------------------------------

# Without values of the user the start is the best of some short runs. They are
# made in the first segment (model_sweeps()), where chains run in parallel.
#' @exportS3Method
model_start.lda_model <- function(model, init) {
  state <- uniform_start(model, init)
  if (is.null(init) && model$k > 1L) c(state, to_choose = TRUE) else state
}

# Of four runs from uniform topics the last state of that with the highest log
# joint density; `state` is the start of the first one. A run is a tenth of the
# burn-in, so that all of them take less than half of it. Four longer runs are
# as good as eight shorter ones, see `starts` in bench/lda.R. After fewer than
# 20 sweeps the densities say nothing about the modes, and no run is made. NULL:
# interrupted.
best_short_run <- function(model, state, control, runs = 4L) {
  state$to_choose <- NULL
  sweeps <- control$burnin %/% 10
  if (sweeps < 20) {
    return(state)
  }
  # the last sweep is recorded, for its log joint density
  own <- list(burnin = sweeps - 1, thin = 1, threads = control$threads)
  column <- match("log_joint", model$columns)
  best <- NULL
  for (run in seq_len(runs)) {
    start <- if (run == 1L) state else uniform_start(model)
    end <- topic_sweeps(model, start, sweeps, own)
    if (is.null(end)) {
      return(NULL)
    }
    if (is.null(best) || end$draws[1L, column] > best$draws[1L, column]) {
      loser <- best
      best <- end
    } else {
      loser <- end
    }
    if (!is.null(loser)) forget_topics(model, loser$state)
  }
  state <- best$state
  state[names(lda_no_averages)] <- lda_no_averages
  state[names(lda_no_pivot)] <- lda_no_pivot
  state$sweep <- 0
  state
}

# Topics drawn uniformly (or as a matrix eta has them), and alpha and eta from
# the middle of their priors unless given. The topics start nearly equal, each
# with the overall frequencies of the terms.
uniform_start <- function(model, init = NULL) {
  lda_state(
    model, init$z, init$alpha %||% lda_first_value(model$prior$alpha),
    init$eta %||% lda_first_value(model$prior$eta)
  )
}

#' @exportS3Method
place_topics.lda_model <- function(model, z) {
  if (is.null(z)) {
    z <- if (is.matrix(model$prior$eta)) {
      word <- model$data$word
      by_word <- topics_by_prior(model, tabulate(word, length(model$terms)))
      # order() keeps tokens of a word in their order
      `[<-`(integer(length(word)), order(word), unlist(by_word))
    } else {
      sample.int(model$k, model$nobs, replace = TRUE)
    }
  }
  list(z = lda_pack(z))
}

# Topics of tokens by the prior means of phi alone; tokens: how many each word
# has.
topics_by_prior <- function(model, tokens) {
  eta <- model$prior$eta
  phi <- unname(eta / rowSums(eta))
  lapply(seq_along(tokens), function(w) {
    if (tokens[[w]] > 0) {
      sample.int(model$k, tokens[[w]], replace = TRUE, prob = phi[, w])
    }
  })
}

# A fixed value, or a draw of the prior restricted to its middle half: from a
# start with a concentration near 0 a chain can reach few topics.
lda_first_value <- function(prior) {
  if (!lda_is_sampled(prior)) {
    return(prior)
  }
  u <- stats::runif(1, 0.25, 0.75)
  if (inherits(prior, "uniform_prior")) {
    return(stats::qunif(u, prior$lower, prior$upper))
  }
  max(stats::qgamma(u, prior$shape, prior$rate), lda_bounds[[1L]] * 2)
}

# Concentrations lie between these (core/lda/lda_prior.h).
lda_bounds <- c(1e-20, 1e20)

# Fixed concentrations are not part of a state: their values are not used.
lda_state <- function(model, z, alpha, eta) {
  # before `alpha` and `eta`, which may be draws
  topics <- place_topics(model, z)
  values <- list(alpha = alpha, eta = eta)[sampled_names(model$prior)]
  c(
    list(sweep = 0), topics, lapply(values, as.double), lda_no_averages,
    lda_no_pivot
  )
}

lda_no_averages <- list(
  kept = 0, theta_sum = numeric(), theta_square = numeric(),
  theta_base = numeric(), phi_sum = numeric(), phi_square = numeric(),
  phi_base = numeric(), stayed = numeric(), switched = numeric()
)

# The first kept sweep sets the pivot (1), or sets it again (2).
lda_no_pivot <- list(pivot = raw(), pivot_due = 1)

#' @exportS3Method
model_without_averages.lda_model <- function(model, state, anew = FALSE) {
  state[names(lda_no_averages)] <- lda_no_averages
  if (anew && length(state$pivot) > 0L) {
    state$pivot_due <- 2
  }
  state
}

# Topics from 1 as pairs of bytes from 0, and back.
lda_pack <- function(z) writeBin(as.integer(z) - 1L, raw(), size = 2L)

lda_unpack <- function(bytes) {
  readBin(bytes, "integer", length(bytes) / 2, size = 2L, signed = FALSE) + 1L
}

lda_topics <- function(state) lda_unpack(state$z)

#' @exportS3Method
model_check_init.lda_model <- function(model, init, where, call) {
  check_init_names(init, c("z", "alpha", "eta"), where, call)
  if (!is.null(init$z)) {
    check_init_shape(init$z, model$nobs, paste0(where, "$z"), call)
    abort_elements(
      !init$z %in% seq_len(model$k), init$z, paste0(where, "$z"),
      paste("whole numbers from 1 to", model$k), call
    )
  }
  for (name in intersect(c("alpha", "eta"), names(init))) {
    check_init_concentration(
      init[[name]], model$prior[[name]], paste0(where, "$", name), call
    )
  }
  init
}

# Fixed concentrations are the prior's.
check_init_concentration <- function(value, prior, arg, call) {
  if (!lda_is_sampled(prior)) {
    if (!isTRUE(all.equal(as.double(value), as.double(prior)))) {
      abort_argument(
        c(
          "`{arg}` is fixed by `prior` and cannot start elsewhere.",
          i = "Leave it out."
        ),
        call = call
      )
    }
    return(invisible())
  }
  check_init_shape(value, 1L, arg, call)
  range <- if (inherits(prior, "uniform_prior")) {
    c(max(prior$lower, lda_bounds[[1L]]), prior$upper)
  } else {
    lda_bounds
  }
  abort_elements(
    value <= range[[1L]] | value >= range[[2L]], value, arg,
    paste("above", range[[1L]], "and below", range[[2L]]), call
  )
}

#' @exportS3Method
model_init_from_state.lda_model <- function(model, state) {
  c(list(z = lda_topics(state)), state[sampled_names(model$prior)])
}

# log_joint, log_lik, the sampled concentrations, and the shares of the largest
# topics in decreasing order.
#' @exportS3Method
model_invariants.lda_model <- function(model, draws) {
  draws <- unclass(draws)
  size <- draws[, indexed("size", seq_len(model$k)), drop = FALSE]
  sorted <- size
  if (nrow(size) > 0L) {
    row <- as.vector(row(size))
    ranked <- size[order(row, -as.vector(size))]
    sorted <- matrix(ranked, nrow(size), byrow = TRUE)
  }
  largest <- seq_len(min(model$k - (model$k > 1L), 20L))
  share <- sorted[, largest, drop = FALSE] / model$nobs
  colnames(share) <- paste0("share[", largest, "]")
  names <- intersect(c("log_joint", "log_lik", "alpha", "eta"), model$columns)
  cbind(draws[, names, drop = FALSE], if (model$k > 1L) share)
}

# A user reads the topics: their shares are judged in full.
#' @exportS3Method
model_inner.lda_model <- function(model) {
  c("log_joint", "log_lik", "alpha", "eta")
}

lda_headline <- function(counts, k) {
  paste0(
    "Topic model: ", counted(k, "topic"), "; ",
    counted_in_digits(token_total(counts), "token"), " of ",
    counted_in_digits(length(counts$terms), "term"), " in ",
    counted_in_digits(length(counts$documents), "document")
  )
}

#' @exportS3Method
model_labels.lda_model <- function(model) {
  topics <- topic_names(model)
  label <- function(block, at) {
    switch(block,
      alpha = "concentration of topics in documents",
      eta = "concentration of terms in topics",
      log_joint = "log joint density of words and topics",
      log_lik = "log-likelihood of a token",
      n_topics_used = "topics in use",
      size = paste("tokens of topic", topics[[at]]),
      theta = paste0("share of topic ", topics[[at[2L]]], " in ",
                     model$documents[at[1L]]),
      phi = paste0("probability of ", model$terms[at[2L]], " in topic ",
                   topics[[at[1L]]]),
      z = paste("topic of token", at),
      label = paste("the sampler's number of topic", topics[[at]]),
      block
    )
  }
  label_columns(model$columns, label)
}

# What depends on the numbers of the topics.
#' @exportS3Method
model_labelled.lda_model <- function(model, invariants) {
  setdiff(in_blocks(model$columns, c("size", "theta", "phi", "z", "label")),
          invariants)
}

# ---- Running means ----------------------------------------------------------

# Means and total variances (with the variance of the Dirichlet given z) of
# theta (documents x topics) and phi (topics x terms) over a chain's kept draws,
# and the share of tokens that stayed in their topics. NULL before the first
# kept draw.
lda_streamed <- function(model, state, blocks = c("theta", "phi")) {
  kept <- state$kept
  if (kept == 0) {
    return(NULL)
  }
  c(
    if ("theta" %in% blocks) streamed_theta(model, state),
    if ("phi" %in% blocks) streamed_phi(model, state),
    list(
      stayed = state$stayed / kept, switched = state$switched / kept,
      draws = kept
    )
  )
}

streamed_theta <- function(model, state) {
  k <- model$k
  base <- matrix(state$theta_base, 2L)
  alpha <- lda_base_parts(model$prior$alpha, k)
  theta <- lda_moments(
    matrix(state$theta_sum, k) + outer(alpha$first, base[1L, ]),
    matrix(state$theta_square, k) + outer(alpha$second, base[2L, ]),
    state$kept
  )
  names <- list(model$documents, as.character(seq_len(k)))
  named <- function(x) `dimnames<-`(t(x), names)
  list(theta = named(theta$mean), theta_var = named(theta$variance))
}

streamed_phi <- function(model, state) {
  k <- model$k
  base <- matrix(state$phi_base, 2L)
  eta <- lda_base_parts(model$prior$eta, length(model$terms))
  times <- if (is.matrix(eta$first)) `*` else outer
  phi <- lda_moments(
    matrix(state$phi_sum, k) + times(base[1L, ], eta$first),
    matrix(state$phi_square, k) + times(base[2L, ], eta$second), state$kept
  )
  names <- list(as.character(seq_len(k)), model$terms)
  named <- function(x) `dimnames<-`(x, names)
  list(phi = named(phi$mean), phi_var = named(phi$variance))
}

# The factors of the base sums: 1 if the concentration is sampled, because the
# sums already include it. For eta: one a term, or a matrix, topics x terms.
lda_base_parts <- function(prior, size) {
  if (lda_is_sampled(prior)) {
    return(list(first = rep(1, size), second = rep(1, size)))
  }
  value <- if (is.matrix(prior)) unname(prior) else rep_len(prior, size)
  list(first = value, second = value * (value + 1))
}

# sum, square: of `kept` draws.
lda_moments <- function(sum, square, kept) {
  mean <- sum / kept
  list(mean = mean, variance = pmax(square / kept - mean^2, 0))
}

# ---- New documents ----------------------------------------------------------

# Topics of documents given phi (k x terms) and alpha: a chain on z with theta
# integrated out.  list(theta, mean, square), k x documents: a draw of theta at
# the end, and E(theta | z), E(theta^2 | z) averaged over `sweeps` sweeps after
# `burnin`.
lda_fold_in <- function(word, start, phi, alpha, sweeps = 20, burnin = 20,
                        threads = 1) {
  interrupt_or(.Call(
    C_lda_fold_in, as.integer(word), as.double(start), phi,
    rep_len(as.double(alpha), nrow(phi)),
    list(burnin = burnin, kept = sweeps), threads
  ))
}

# p(w_i | theta, phi) of each token; theta: k x documents.
lda_token_probabilities <- function(word, start, phi, theta, threads = 1) {
  .Call(
    C_lda_token_probabilities, as.integer(word), as.double(start), phi, theta,
    threads
  )
}

# log of an unbiased estimate of each document's p(w | phi, alpha).
lda_left_to_right <- function(word, start, phi, alpha, particles = 20,
                              threads = 1) {
  # a document without words has the probability 1
  if (length(word) == 0L) return(numeric(length(start) - 1L))
  interrupt_or(.Call(
    C_lda_left_to_right, as.integer(word), as.double(start), phi,
    rep_len(as.double(alpha), nrow(phi)), particles, threads
  ))
}

# ---- The joint distribution -------------------------------------------------

#' @exportS3Method
draw_prior.lda_model <- function(model) {
  draw <- function(prior) {
    switch(class(prior)[[1L]],
      uniform_prior = stats::runif(1, prior$lower, prior$upper),
      gamma_prior = stats::rgamma(1, prior$shape, prior$rate),
      prior
    )
  }
  alpha <- draw(model$prior$alpha)
  lengths <- diff(model$data$start)
  z <- lapply(lengths, function(length) {
    theta <- draw_dirichlet(rep_len(alpha, model$k))
    sample.int(model$k, length, replace = TRUE, prob = theta)
  })
  lda_state(model, unlist(z), alpha, draw(model$prior$eta))
}

draw_dirichlet <- function(a) drop(sim_dirichlet(1L, a))

# n draws of a Dirichlet distribution, in rows.  On the log scale, because a
# gamma variate of small shape underflows: log G(a) = log G(a + 1) + log(U) / a.
sim_dirichlet <- function(n, concentration) {
  m <- length(concentration)
  a <- rep(concentration, each = n)
  scale <- log(stats::rgamma(n * m, a + 1))
  log_u <- log(stats::runif(n * m))
  logs <- matrix(scale + log_u / a, n, m)
  largest <- apply(logs, 1L, max)
  p <- exp(logs - largest)
  # a so small that all of log(U) / a overflow: the largest of them has all
  for (row in which(largest == -Inf)) {
    own <- matrix(log_u, n, m)[row, ] * (min(concentration) / concentration)
    p[row, ] <- seq_len(m) == which.max(own)
  }
  p / rowSums(p)
}

# Words given z: phi is not part of the state, and is drawn from its prior.
#' @exportS3Method
simulate_data.lda_model <- function(model, state) {
  terms <- length(model$terms)
  z <- lda_topics(state)
  word <- integer(length(z))
  for (topic in unique(z)) {
    own <- z == topic
    phi <- draw_dirichlet(rep_len(eta_of_topic(model, state, topic), terms))
    word[own] <- sample.int(terms, sum(own), replace = TRUE, prob = phi)
  }
  word
}

# A plain vector holds other words of documents of the same lengths. Otherwise
# these are counts as a user gives them, with terms matched by name.
#' @exportS3Method
set_data.lda_model <- function(model, data, call = rlang::caller_env()) {
  if (is.numeric(data) && is.null(dim(data))) {
    model$data$word <- as.integer(data)
    model$data_hash <- model_hash(model)
    return(model)
  }
  counts <- as_counts(
    data, empty = "keep", known = known_terms(model), arg = "data", call = call
  )
  fresh <- lda_model(counts, model$k, model$prior, model$method, model$keep)
  model[names(fresh)] <- fresh
  model
}

# Counts of terms, documents x terms.
#' @exportS3Method
shown_data.lda_model <- function(model, data) {
  tokens_matrix(
    document_of_token(model$data), data, model$documents, model$terms
  )
}

#' @exportS3Method
model_outcome.lda_model <- function(model) {
  list(word = model$data$word, start = unique(model$data$start))
}

# The concentrations that are sampled, the share of the largest topic, and the
# shares of pairs of tokens of one document, or one term, that have one topic.
#' @exportS3Method
model_quantities.lda_model <- function(model, state) {
  z <- lda_topics(state)
  together <- function(by) {
    size <- as.double(tabulate(by))
    count <- as.double(tabulate(by + max(by) * (z - 1L), max(by) * model$k))
    (sum(count^2) - length(z)) / (sum(size^2) - length(z))
  }
  c(
    alpha = if (length(state$alpha) == 1L) state$alpha, eta = state$eta,
    largest = max(tabulate(z)) / length(z),
    document = together(document_of_token(model$data)),
    term = together(model$data$word)
  )
}

# How often terms are repeated: in the corpus, and in a document.
#' @exportS3Method
further_quantities.lda_model <- function(model, state) {
  word <- model$data$word
  terms <- length(model$terms)
  cell <- word + terms * (document_of_token(model$data) - 1L)
  c(
    repeated = sum(tabulate(word)^2), repeated_within = sum(tabulate(cell)^2)
  )
}

#' @exportS3Method
model_hints.lda_model <- function(model) {
  utils::modifyList(NextMethod(), list(
    comparison = sizes_hint,
    coefficients = "{.fn topic_estimates} has the shares and the terms of its
      topics, {.fn top_terms} the first of them."
  ))
}
