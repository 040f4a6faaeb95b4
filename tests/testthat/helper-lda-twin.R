# A slow twin of the samplers behind gibbs_lda(), written from the formulas on
# its page.  It takes the same random numbers in the same order as the core: for
# each sampled concentration the uniforms of its slice step; six uniforms, the
# keys of three Philox generators (phi: an item a term; theta and z: an item a
# document); then, collapsed, a uniform a token.  The order in which a core
# picks among topics (strands of its vectors) is a part of the twin too.
#
# `wrong` names a mistake to be made:
#   prior_dropped   the slice step for alpha leaves its prior out
#   eta_once        sum eta is eta, not terms * eta (collapsed)
#   own_counted     a token is not taken out of the counts before its draw
#   never_removed   nor after it
#   stale_theta     z is drawn given the theta of the sweep before (uncollapsed)
#   theta_first     theta is drawn before alpha, alpha given z after it, and
#                   both serve together (uncollapsed: recorded theta)
#   block_draw      all tokens of a term in a document are taken out and drawn
#                   by the formula of a single one

twin_counts <- function(model, z) {
  k <- model$k
  documents <- length(model$documents)
  document <- rep(seq_len(documents), diff(model$data$start))
  list(
    document = document,
    by_document = matrix(
      tabulate(document + documents * (z - 1L), documents * k), documents
    ),
    by_term = matrix(
      tabulate(z + k * (model$data$word - 1L), k * length(model$terms)), k
    )
  )
}

# Concentrations as a matrix: one number, one a column, or all of them.
rows_of <- function(a, rows, columns) {
  if (is.matrix(a)) {
    return(unname(a))
  }
  matrix(rep_len(a, columns), rows, columns, byrow = TRUE)
}

# log p(counts | a), each row a draw of a Dirichlet-multinomial sequence
log_dirichlet_counts <- function(count, a) {
  a <- rows_of(a, nrow(count), ncol(count))
  sum(lgamma(rowSums(a)) - lgamma(rowSums(a) + rowSums(count))) +
    sum(lgamma(count + a) - lgamma(a))
}

# log p(w, z, alpha, eta) of a state, theta and phi integrated out (Griffiths &
# Steyvers 2004, eq. 2-3); tokens are a sequence, so there is no multinomial
# coefficient.
lda_log_joint <- function(model, state) {
  data <- model$data
  z <- gibbsite:::lda_topics(state)
  k <- model$k
  documents <- length(model$documents)
  terms <- length(model$terms)
  document <- rep(seq_len(documents), diff(data$start))
  by_document <- table(factor(document, seq_len(documents)), factor(z, 1:k))
  by_topic <- table(factor(z, 1:k), factor(data$word, seq_len(terms)))
  alpha <- gibbsite:::lda_concentration(model, state, "alpha")
  eta <- twin_eta(model, state)
  log_dirichlet_counts(by_document, alpha) +
    log_dirichlet_counts(by_topic, eta) +
    lda_log_prior(model$prior$alpha, alpha) +
    lda_log_prior(model$prior$eta, eta)
}

# eta of a state, or the fixed numbers, as they are given.
twin_eta <- function(model, state) {
  if (is.numeric(model$prior$eta)) model$prior$eta else state$eta
}

lda_log_prior <- function(prior, value) {
  if (is.numeric(prior)) {
    return(0)
  }
  if (inherits(prior, "uniform_prior")) {
    return(stats::dunif(value, prior$lower, prior$upper, log = TRUE))
  }
  stats::dgamma(value, prior$shape, prior$rate, log = TRUE)
}

# Neal (2003): stepping out by 1 and shrinkage, in the logarithm
twin_slice <- function(log_density, a) {
  f <- function(x) log_density(exp(x)) + x
  x <- log(a)
  height <- f(x) + log(runif(1))
  left <- x - runif(1)
  right <- left + 1
  while (f(left) > height) left <- left - 1
  while (f(right) > height) right <- right + 1
  repeat {
    proposal <- left + runif(1) * (right - left)
    if (f(proposal) >= height) {
      return(exp(proposal))
    }
    if (proposal < x) left <- proposal else right <- proposal
  }
}

twin_concentration <- function(prior, value, count, with_prior = TRUE) {
  if (is.numeric(prior)) {
    return(value)
  }
  twin_slice(function(a) {
    inside <- lda_log_prior(prior, a)
    # without its prior the density does not decrease to 0
    if (!is.finite(inside) || (!with_prior && (a < 1e-3 || a > 30))) {
      return(-Inf)
    }
    log_dirichlet_counts(count, a) + if (with_prior) inside else 0
  }, value)
}

twin_key <- function() floor(runif(2) * 2^32)

dirichlet_by_philox <- function(key, item, shapes) {
  x <- philox(key, item, shapes)
  x <- exp(x - max(x))
  x / sum(x)
}

# k x terms: gammas of a term are one item of the generator
phi_by_philox <- function(key, count, eta) {
  eta <- rows_of(eta, nrow(count), ncol(count))
  logs <- vapply(seq_len(ncol(count)), function(w) {
    philox(key, w, count[, w] + eta[, w])
  }, numeric(nrow(count)))
  logs <- matrix(logs, nrow(count))
  phi <- exp(logs - apply(logs, 1, max))
  phi / rowSums(phi)
}

theta_by_philox <- function(key, count, alpha) {
  theta <- vapply(seq_len(nrow(count)), function(d) {
    dirichlet_by_philox(key, d, count[d, ] + alpha)
  }, numeric(ncol(count)))
  t(matrix(theta, ncol(count)))
}

# The order of n weights in `lanes` strands: strands 0, 8, then 1, 9, ...
strand_order <- function(n, lanes) {
  at <- seq_len(n) - 1L
  lane <- at %% lanes
  order(lane %% 8L, lane %/% 8L, at)
}

pick_in_order <- function(weight, order, threshold) {
  partial <- cumsum(weight[order])
  order[[min(sum(partial <= threshold) + 1L, length(order))]]
}

twin_pick <- function(weight, threshold, lanes = 16L) {
  pick_in_order(weight, strand_order(length(weight), lanes), threshold)
}

# Terms whose counts are stored as rows during a sweep that begins with these
# counts; eta: topics x terms.
rows_of_counts <- function(by_term, eta = NULL) {
  k <- nrow(by_term)
  tokens <- colSums(by_term)
  padded <- 16 * ceiling(k / 16)
  able <- tokens >= padded | tokens > 65535
  uneven <- vapply(seq_along(tokens), function(w) {
    length(unique(eta[, w])) > 1
  }, NA)
  padded <= 32 | uneven |
    (able & (colSums(by_term > 0) > k %/% 4 | tokens > 65535))
}

# The unit interval begins with the token's own topic.
pick_by_row <- function(weight, old, u) {
  own <- weight[[old]]
  weight[[old]] <- 0
  rest <- u * sum(weight) - (1 - u) * own
  if (rest < 0) old else twin_pick(weight, rest)
}

# For a list: the token's own topic, the term's other topics in the order of the
# list, then the smoothing bucket.
pick_by_list <- function(t, count, topics, old, eta, u) {
  own <- t[[old]] * (count[[old]] + eta)
  t[[old]] <- 0
  weight <- t[topics] * count[topics]
  mass <- sum(weight)
  smoothing <- eta * sum(t)
  rest <- u * (mass + smoothing) - (1 - u) * own
  if (rest < 0) {
    return(old)
  }
  if (rest < mass) {
    return(topics[[twin_pick(weight, rest, 8L)]])
  }
  twin_pick(t, (rest - mass) / smoothing * sum(t))
}

# A topic without tokens is replaced by the last one of the list; a new topic is
# appended.
list_after <- function(topics, old, left, new) {
  if (left == 0 && new != old) {
    last <- topics[[length(topics)]]
    topics[topics == old] <- last
    topics <- topics[-length(topics)]
  }
  if (new %in% topics) topics else c(topics, new)
}

twin_collapsed <- function(model, z, alpha, eta, wrong) {
  terms <- length(model$terms)
  n <- twin_counts(model, z)
  k <- model$k
  sum_eta <- if (wrong == "eta_once") {
    eta[[1L]]
  } else {
    rowSums(rows_of(eta, k, terms))
  }
  eta <- rows_of(eta, k, terms)
  is_row <- rows_of_counts(n$by_term, eta)
  lists <- lapply(seq_len(terms), function(w) which(n$by_term[, w] > 0))
  by_topic <- rowSums(n$by_term)
  for (i in seq_along(z)) {
    d <- n$document[[i]]
    w <- model$data$word[[i]]
    old <- z[[i]]
    take <- if (wrong %in% c("own_counted", "never_removed")) 0 else 1
    n$by_document[d, old] <- n$by_document[d, old] - take
    n$by_term[old, w] <- n$by_term[old, w] - take
    by_topic[[old]] <- by_topic[[old]] - take
    t <- (n$by_document[d, ] + alpha) / (by_topic + sum_eta)
    u <- runif(1)
    new <- if (is_row[[w]]) {
      pick_by_row(t * (n$by_term[, w] + eta[, w]), old, u)
    } else {
      pick_by_list(t, n$by_term[, w], lists[[w]], old, eta[[1L, w]], u)
    }
    back <- function(x) x + 1
    if (wrong == "own_counted") {
      n$by_document[d, old] <- n$by_document[d, old] - 1
      n$by_term[old, w] <- n$by_term[old, w] - 1
      by_topic[[old]] <- by_topic[[old]] - 1
    }
    if (!is_row[[w]]) {
      lists[[w]] <- list_after(lists[[w]], old, n$by_term[old, w], new)
    }
    n$by_document[d, new] <- back(n$by_document[d, new])
    n$by_term[new, w] <- back(n$by_term[new, w])
    by_topic[[new]] <- back(by_topic[[new]])
    z[[i]] <- new
  }
  z
}

# Every term of a document at once, by the formula of one token.
blocks_collapsed <- function(model, z, alpha, eta) {
  n <- twin_counts(model, z)
  group <- paste(n$document, model$data$word)
  for (own in split(seq_along(z), group)) {
    d <- n$document[[own[[1L]]]]
    w <- model$data$word[[own[[1L]]]]
    taken <- tabulate(z[own], model$k)
    n$by_document[d, ] <- n$by_document[d, ] - taken
    n$by_term[, w] <- n$by_term[, w] - taken
    weight <- (n$by_document[d, ] + alpha) * (n$by_term[, w] + eta) /
      (rowSums(n$by_term) + length(model$terms) * eta)
    z[own] <- sample.int(model$k, length(own), TRUE, prob = weight)
    given <- tabulate(z[own], model$k)
    n$by_document[d, ] <- n$by_document[d, ] + given
    n$by_term[, w] <- n$by_term[, w] + given
  }
  z
}

# z given phi, theta integrated out or given (documents x k)
twin_given_phi <- function(model, z, alpha, phi, theta, key) {
  n <- twin_counts(model, z)
  for (d in seq_along(model$documents)) {
    own <- which(n$document == d)
    u <- philox(key, d, rep(NA_real_, length(own)))
    for (j in seq_along(own)) {
      i <- own[[j]]
      old <- z[[i]]
      n$by_document[d, old] <- n$by_document[d, old] - 1
      factor <- if (is.null(theta)) n$by_document[d, ] + alpha else theta[d, ]
      weight <- factor * phi[, model$data$word[[i]]]
      z[[i]] <- twin_pick(weight, u[[j]] * sum(weight))
      n$by_document[d, z[[i]]] <- n$by_document[d, z[[i]]] + 1
    }
  }
  z
}

# One sweep: list(state, row), the row in the order of the model's columns with
# theta, phi and z at its end, and the state without the streamed sums.
# Recording uses no random numbers of R's generator: without `record` the states
# are the same.
twin_sweep <- function(model, state, wrong = "", record = TRUE) {
  z <- gibbsite:::lda_topics(state)
  n <- twin_counts(model, z)
  early <- if (wrong == "theta_first") {
    theta_by_philox(
      twin_key(), n$by_document,
      gibbsite:::lda_concentration(model, state, "alpha")
    )
  }
  alpha <- twin_concentration(
    model$prior$alpha, gibbsite:::lda_concentration(model, state, "alpha"),
    n$by_document, wrong != "prior_dropped"
  )
  eta <- twin_concentration(
    model$prior$eta, twin_eta(model, state), n$by_term
  )
  phi_key <- twin_key()
  theta_key <- twin_key()
  z_key <- twin_key()
  theta <- phi <- NULL
  if (model$method != "collapsed") {
    phi <- phi_by_philox(phi_key, n$by_term, eta)
  }
  if (model$method == "uncollapsed") {
    fresh <- early %||% theta_by_philox(theta_key, n$by_document, alpha)
    theta <- if (wrong == "stale_theta") state$theta %||% fresh else fresh
    state$theta <- if (wrong == "stale_theta") fresh
  }
  z <- if (wrong == "block_draw") {
    blocks_collapsed(model, z, alpha, eta)
  } else if (is.null(phi)) {
    twin_collapsed(model, z, alpha, eta, wrong)
  } else {
    twin_given_phi(model, z, alpha, phi, theta, z_key)
  }
  state$sweep <- state$sweep + 1
  now <- list(z = gibbsite:::lda_pack(z), alpha = alpha, eta = eta)
  held <- intersect(names(now), names(state))
  state[held] <- now[held]
  if (!record) {
    return(list(state = state))
  }
  n <- twin_counts(model, z)
  phi <- phi %||% phi_by_philox(phi_key, n$by_term, eta)
  theta <- theta %||% theta_by_philox(theta_key, n$by_document, alpha)
  p <- rowSums(theta[n$document, , drop = FALSE] *
                 t(phi)[model$data$word, , drop = FALSE])
  size <- rowSums(n$by_term)
  list(state = state, row = c(
    if (!is.numeric(model$prior$alpha)) alpha,
    if (!is.numeric(model$prior$eta)) eta,
    lda_log_joint(model, state), mean(log(p)), sum(size > 0), size,
    theta, phi, z
  ))
}

# Sweeps by the twin with a mistake, for mutant_of().
twin_sweeps_with <- function(wrong) {
  function(model, state, n, control) {
    for (sweep in seq_len(n)) {
      state <- twin_sweep(model, state, wrong, record = FALSE)$state
    }
    list(state = state)
  }
}

# ---- small corpora -----------------------------------------------------------

# Documents of these lengths with terms drawn at random, equal ones together.
tiny_corpus <- function(lengths, terms, probability = NULL) {
  words <- lapply(lengths, function(length) {
    sort(sample.int(terms, length, replace = TRUE, prob = probability))
  })
  list(
    word = as.integer(unlist(words)), start = c(0, cumsum(lengths)),
    documents = paste0("d", seq_along(lengths)),
    terms = paste0("w", seq_len(terms))
  )
}

tiny_lda <- function(lengths, terms, k, alpha, eta, method = "collapsed",
                     keep = character(), probability = NULL) {
  gibbsite:::lda_model(
    tiny_corpus(lengths, terms, probability), k,
    list(alpha = alpha, eta = eta), method, keep
  )
}

lda_test_methods <- c("collapsed", "partially_collapsed", "uncollapsed")

# model_sweeps() with the topics of every draw in the sampler's own numbers, as
# the twin has them.
own_sweeps <- function(model, state, n, control) {
  if (!inherits(model, "lda_model")) {
    return(gibbsite:::model_sweeps(model, state, n, control))
  }
  labelled <- model
  labelled$data$keep_labels <- 1L
  label <- gibbsite:::indexed("label", seq_len(model$k))
  labelled$columns <- c(model$columns, label)
  run <- gibbsite:::model_sweeps(labelled, state, n, control)
  labels <- run$draws[, match(label, labelled$columns), drop = FALSE]
  run$draws <- gibbsite:::in_own_numbers(labelled, run$draws, labels)[
    , seq_along(model$columns), drop = FALSE
  ]
  run
}
