# Topics of new documents, held-out perplexity, log-likelihood and replicated
# documents.

# The topics used for new documents: for each of `chains` the mean phi and
# alpha, or `draws` draws of them if phi was stored, in the fit's numbers.
fold_in_topics <- function(fit, draws, call, chains = seq_along(fit)) {
  topics <- chain_topics(fit, call = call)
  model <- fit_part(fit, "model")
  matrices <- chain_matrices(fit)
  if (!"phi" %in% model$keep) {
    order <- topic_orders(fit)
    return(lapply(chains, function(c) {
      alpha <- if ("alpha" %in% model$columns) {
        mean(matrices[[c]][, "alpha"])
      } else {
        model$prior$alpha
      }
      phi <- topics[[c]]$phi[order[c, ], , drop = FALSE]
      list(phi = phi, alpha = alpha)
    }))
  }
  all <- do.call(rbind, matrices[chains])
  rows <- spread_rows(min(draws, nrow(all)), nrow(all), call)
  lapply(rows, function(s) {
    list(
      phi = block_of_draw(model, all, s, "phi"),
      alpha = alpha_of_draw(model, all, s)
    )
  })
}

#' Topics of documents
#'
#' Gives the shares \eqn{\theta} of topics in the documents of the fit, or in
#' new documents. For new documents a Gibbs chain draws their tokens' topics
#' given the topics of the fit, with \eqn{\theta} integrated out: \eqn{P(z_i = t
#' \mid z_{-i}) \propto (n_{dt}^{-i} + \alpha_t) \phi_{t w_i}}{ P(z_i = t |
#' z_-i) proportional to (n_dt^-i + alpha_t) phi_{t w_i}}. New documents do not
#' change the fit.
#'
#' The chain runs once for each chain of the fit, given the posterior means of
#' \eqn{\phi} and \eqn{\alpha}. If `keep = "phi"` stored the draws, it runs once
#' for each of `ndraws` of them, and the result includes their uncertainty.
#' Topics have the numbers of the fit's columns.
#'
#' Chains may have found different topics. A message says so where the
#' `affinity` of a topic ([topic_estimates()]) is below 0.9: shares of all
#' chains then mix different topics. `chain = 1` gives those of one chain.
#'
#' @param object A fit made by [gibbs_lda()].
#' @param newdata `NULL` for the documents of the fit, or new ones in any form
#'   that [gibbs_lda()] takes. Terms are matched by name; terms that are not in
#'   the fit are left out, with a message. A document without a known term gets
#'   the prior. Texts
#'   are cut into runs of letters in lower case: for a fit of tokens give
#'   tokens.
#' @param type `"mean"` (default): posterior means; `"sd"`: posterior standard
#'   deviations; `"draws"`: draws of \eqn{\theta}; `"class"`: the topic with the
#'   largest posterior mean, the first of equal ones.
#' @param ndraws Whole number (default 100): the number of draws for `type =
#'   "draws"`, and the number of stored draws of \eqn{\phi} to use.
#' @param burnin,sweeps Whole numbers: the numbers of sweeps discarded first and
#'   of sweeps kept.
#' @param ... Not used.
#' @param chain `NULL` (default): all chains. Or the number of one chain.
#' @return A matrix, documents x topics; for `"draws"` an array, draws x
#'   documents x topics; for `"class"` a factor with an element a document,
#'   whose levels are the topics' names, or their numbers where they have none.
#'   A document without terms of the fit has the prior's shares (with a message
#'   if it is new) and the class `NA`. Random numbers come from R's generator.
#' @section Errors: `gibbsite_error_argument` for invalid counts, and for
#'   a fit without its data or draws of \eqn{\theta} when they are asked for,
#'   and for a chain that is not there.
#' @seealso [topic_estimates()] for the documents of the fit,
#'   [held_out_perplexity()].
#' @examples
#' corpus <- sim_lda(60, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x[1:50, ], 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' round(predict(fit, corpus$x[51:53, ]), 2)
#' @export
predict.gibbs_lda <- function(object, newdata = NULL,
                              type = c("mean", "sd", "draws", "class"),
                              ndraws = 100, burnin = 50, sweeps = 100, ...,
                              chain = NULL) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  chains <- chosen_chains(chain, object, call)
  type <- check_choice(type, c("mean", "sd", "draws", "class"))
  ndraws <- check_count(ndraws)
  burnin <- check_count(burnin, min = 0, max = 1e6)
  sweeps <- check_count(sweeps, max = 1e6)
  classes <- type == "class"
  if (classes) type <- "mean"
  model <- fit_part(object, "model")
  if (is.null(newdata)) {
    if (is_in_shards(model)) abort_in_shards(call)
    inform_of_topics(object, chains)
    out <- fitted_shares(object, chains, type, ndraws, call)
    return(if (classes) largest_shares(out, model$data) else out)
  }
  tokens <- lda_newdata(object, newdata, call)
  say_without_terms(tokens)
  inform_of_topics(object, chains)
  jobs <- fold_in_topics(object, ndraws, call, chains)
  if (type == "draws") {
    check_result_size(
      c(ndraws, length(tokens$documents), model$k),
      "draws x documents x topics", "{.arg ndraws}", call
    )
    # the draws are divided evenly between the jobs
    turn <- rep_len(seq_along(jobs), ndraws)
    return(draws_of_theta(turn, tokens$documents, model, function(j) {
      fold_in_once(tokens, jobs[[j]], burnin, 1L)$theta
    }))
  }
  results <- lapply(
    jobs, fold_in_once, tokens = tokens, burnin = burnin, sweeps = sweeps
  )
  pooled <- pool(
    length(results), function(j) results[[j]]$mean,
    function(j) pmax(results[[j]]$square - results[[j]]$mean^2, 0)
  )
  out <- pooled[[type]]
  dimnames(out) <- list(tokens$documents, topic = topic_names(model))
  if (classes) largest_shares(out, tokens) else out
}

# Draws x documents x topics. draw(s), for each s of `numbers`: documents x
# topics.
draws_of_theta <- function(numbers, documents, model, draw) {
  size <- c(length(documents), model$k)
  out <- vapply(numbers, draw, matrix(0, size[[1L]], size[[2L]]))
  out <- aperm(array(out, c(size, length(numbers))), c(3L, 1L, 2L))
  dimnames(out) <- list(draw = NULL, documents, topic = topic_names(model))
  out
}

# New documents of which nothing is known.
say_without_terms <- function(tokens) {
  empty <- tokens$documents[diff(tokens$start) == 0]
  if (length(empty) > 0L) {
    shown <- few_words(dQuote(empty, FALSE))
    inform_gibbsite(
      c(i = "{length(empty)} document{?s} of {.arg newdata} {?has/have} no term
             of the fit: {shown}. {?Its/Their} shares are those of the
             prior."),
      class = "empty"
    )
  }
}

# The topic with the largest share of each document; NA for one without a word.
largest_shares <- function(theta, tokens) {
  topics <- colnames(theta)
  largest <- factor(topics[max.col(theta, "first")], topics)
  largest[diff(tokens$start) == 0] <- NA
  stats::setNames(largest, rownames(theta))
}

# One run of the chain of new documents: theta (a draw), mean and square,
# documents x topics.
fold_in_once <- function(tokens, job, burnin, sweeps) {
  if (length(tokens$word) == 0L) {
    return(prior_shares(length(tokens$documents), job))
  }
  result <- lda_fold_in(
    tokens$word, tokens$start, job$phi, job$alpha, sweeps, burnin
  )
  lapply(result, t)
}

# The same for documents without a word: the mean and second moments of the
# prior.
prior_shares <- function(documents, job) {
  k <- nrow(job$phi)
  alpha <- rep_len(job$alpha, k)
  total <- sum(alpha)
  mean <- alpha / total
  square <- alpha * (alpha + 1) / (total * (total + 1))
  rows <- function(x) matrix(rep(x, each = documents), documents, k)
  list(
    theta = sim_dirichlet(documents, alpha), mean = rows(mean),
    square = rows(square)
  )
}

# A message if the chains found different topics.
inform_of_topics <- function(fit, chains) {
  if (length(chains) == 1L || !has_topics(fit)) {
    return(invisible())
  }
  differ <- fit_part(fit, "model")$k - same_topics(fit)
  if (differ > 0) {
    inform_gibbsite(
      c(i = "{differ} topic{?s} {?differs/differ} between chains: their shares
             mix different topics. {.code chain = 1} gives the shares of one
             chain."),
      class = "topics"
    )
  }
}

fitted_shares <- function(fit, chains, type, draws, call) {
  if (type != "draws") {
    part <- c(mean = "theta", sd = "theta_sd")[[type]]
    chain <- if (length(chains) < length(fit)) chains
    return(estimate_topics(fit, chain, c("phi", "theta"), call)[[part]])
  }
  check_kept(fit, "theta", call)
  model <- fit_part(fit, "model")
  all <- bind_chains(chain_matrices(fit)[chains])
  rows <- spread_rows(min(draws, nrow(all)), nrow(all), call)
  draws_of_theta(rows, model$documents, model, function(s) {
    t(block_of_draw(model, all, s, "theta"))
  })
}

#' Held-out perplexity
#'
#' Measures how well a fit predicts documents that were not part of it.
#' Perplexity is the exponential of the negative mean log probability of a
#' token. Lower is better; a model in which all terms are equally probable has a
#' perplexity equal to the number of terms.
#'
#' * `"completion"` (document completion): the tokens of each document are split
#'   at random in two halves. A chain as in [predict.gibbs_lda()] on the first
#'   half gives the posterior of the shares \eqn{\theta_d}; the second half is
#'   scored by the posterior mean of \eqn{\sum_t \theta_{dt} \phi_{tw}}{sum_t
#'   theta_dt phi_tw}, over that chain and over the topics of all chains of the
#'   fit. So one half of each document is used to estimate its topics, and only
#'   the other half is scored.
#' * `"left_to_right"` (Wallach et al. 2009, algorithm 3): an unbiased estimate
#'   of the probability of each whole document given \eqn{\phi} and
#'   \eqn{\alpha}, with `particles` particles. The computing time grows with the
#'   square of the documents' length.
#'
#' @inheritParams topic_estimates
#' @param newdata Documents that were not part of the fit, in any form that
#'   [gibbs_lda()] takes; for `log_lik()` `NULL` for those of the fit.
#' @param method `"completion"` (default) or `"left_to_right"`.
#' @param ndraws Whole number (default 100): the number of stored draws of
#'   \eqn{\phi} to use if `keep = "phi"` stored them; otherwise the posterior
#'   mean of each chain is used. For `log_lik()` and `posterior_predict()`: the
#'   number of draws, spread evenly over the chains' draws, or `NULL` for all.
#' @param burnin,sweeps Whole numbers: for `"completion"`, the numbers of sweeps
#'   discarded first and of sweeps kept.
#' @param particles Whole number: the number of particles of `"left_to_right"`.
#' @return `held_out_perplexity()`: a data frame of one row: `perplexity`, `se`
#'   (its standard error over documents), `log_lik` (mean log probability of a
#'   token), `tokens` and `documents` (that were scored) and `method`. Random
#'   numbers come from R's generator.
#' @section Errors: `gibbsite_error_argument` for invalid counts, and if no
#'   document can be scored.
#' @references
#' Wallach HM, Murray I, Salakhutdinov R, Mimno D (2009). Evaluation methods for
#' topic models. *ICML* 26, 1105-1112. \doi{10.1145/1553374.1553515}
#' @seealso [compare_k()] for the number of topics, [coherence()].
#' @examples
#' corpus <- sim_lda(60, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x[1:50, ], 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' held_out_perplexity(fit, corpus$x[51:60, ])
#' @export
held_out_perplexity <- function(fit, newdata,
                                method = c("completion", "left_to_right"),
                                ndraws = 100, burnin = 50, sweeps = 100,
                                particles = 20) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_unlocked(call)
  check_fit_of(fit, "gibbs_lda")
  method <- check_choice(method, c("completion", "left_to_right"))
  ndraws <- check_count(ndraws)
  burnin <- check_count(burnin, min = 0, max = 1e6)
  sweeps <- check_count(sweeps, max = 1e6)
  particles <- check_count(particles, max = 1e6)
  if (missing(newdata) || is.null(newdata)) {
    abort_argument("{.arg newdata} is needed: documents not in the fit.")
  }
  tokens <- lda_newdata(fit, newdata, call)
  jobs <- fold_in_topics(fit, ndraws, call)
  scored <- switch(method,
    completion = complete_halves(
      split_documents(tokens), jobs, burnin, sweeps
    ),
    left_to_right = score_documents(tokens, jobs, particles)
  )
  if (sum(scored$tokens) == 0) {
    abort_argument(
      c(
        "No document of {.arg newdata} can be scored.",
        i = "Document completion needs documents of two tokens or more."
      ),
      call = call
    )
  }
  perplexity_row(scored, method)
}

# Log probability of each document's hidden half and its number of tokens.
# halves: of split_documents().
complete_halves <- function(halves, jobs, burnin, sweeps) {
  if (length(halves$hidden$word) == 0L) {
    return(list(log_lik = 0, tokens = 0))
  }
  probability <- 0
  for (job in jobs) {
    theta <- lda_fold_in(
      halves$seen$word, halves$seen$start, job$phi, job$alpha, sweeps, burnin
    )$mean
    probability <- probability + lda_token_probabilities(
      halves$hidden$word, halves$hidden$start, job$phi, theta
    ) / length(jobs)
  }
  document <- document_of_token(halves$hidden)
  sums_of(log(probability), document, length(halves$hidden$documents))
}

# A random half of the tokens of each document (the smaller half is hidden).
split_documents <- function(tokens) {
  document <- document_of_token(tokens)
  shuffled <- order(document, stats::runif(length(document)))
  place <- seq_along(document) - tokens$start[document]
  hidden <- sort(shuffled[place > ceiling(diff(tokens$start)[document] / 2)])
  part <- function(rows) {
    counts <- tabulate(document[rows], length(tokens$documents))
    list(
      word = tokens$word[rows], start = c(0, cumsum(as.double(counts))),
      documents = tokens$documents
    )
  }
  seen <- rep(TRUE, length(document))
  seen[hidden] <- FALSE
  list(seen = part(which(seen)), hidden = part(hidden))
}

sums_of <- function(values, document, documents) {
  log_lik <- numeric(documents)
  totals <- rowsum(values, document)
  log_lik[as.integer(rownames(totals))] <- totals
  list(log_lik = log_lik, tokens = tabulate(document, documents))
}

# log of the mean over the topics of the jobs of the probability of a document.
score_documents <- function(tokens, jobs, particles) {
  if (length(tokens$word) == 0L) {
    return(list(log_lik = 0, tokens = 0))
  }
  each <- vapply(jobs, function(job) {
    lda_left_to_right(
      tokens$word, tokens$start, job$phi, job$alpha, particles
    )
  }, numeric(length(tokens$documents)))
  each <- matrix(each, length(tokens$documents))
  top <- apply(each, 1L, max)
  list(
    log_lik = top + log(rowMeans(exp(each - top))),
    tokens = diff(tokens$start)
  )
}

# Perplexity with its standard error by the delta method: documents are the
# sampling units of the ratio of sums.
perplexity_row <- function(scored, method) {
  used <- scored$tokens > 0
  log_lik <- scored$log_lik[used]
  tokens <- scored$tokens[used]
  mean <- sum(log_lik) / sum(tokens)
  m <- length(tokens)
  se <- if (m > 1L) {
    sqrt(m / (m - 1) * sum((log_lik - mean * tokens)^2)) / sum(tokens)
  } else {
    NA_real_
  }
  data.frame(
    perplexity = exp(-mean), se = exp(-mean) * se, log_lik = mean,
    tokens = sum(tokens), documents = m, method = method
  )
}

#' @section Log-likelihood and replicated documents of a topic model:
#' `log_lik()` gives the log probability of each document's tokens,
#' \eqn{\sum_i \log \sum_t \theta_{dt} \phi_{t w_i}}{sum_i log sum_t theta_dt
#' phi_{t w_i}}, under each draw; for new documents \eqn{\theta} is integrated
#' out, by the left-to-right estimate of [held_out_perplexity()].
#' `posterior_predict()` draws new words for the documents of the fit, as many
#' as they have. To compare numbers of topics, use [held_out_perplexity()] on
#' documents left out of the fit rather than `loo()`: each document has its own
#' parameters, so that leaving one out changes its posterior much.
#' @param object For `log_lik()` and `posterior_predict()`: a fit with `keep =
#'   c("theta", "phi")` (for new documents `keep = "phi"`).
#' @param ... Not used.
#' @return `log_lik()`: a matrix, draws x documents; that of the fit's own
#'   documents leaves out those without words (observations are documents here
#'   and in `loo()`; [stats::nobs()] is the number of words).
#'   `posterior_predict()`: a list with a sparse matrix of counts (documents x
#'   terms) for each draw.
#' @section Errors: `log_lik()`, `posterior_predict()`: where draws were not
#'   stored, for more draws than there are, and for a fit without its data.
#' @examples
#' corpus <- sim_lda(20, k = 3, terms = 30, tokens = 40)
#' fit <- gibbs_lda(corpus$x, 3, draws = 50, burnin = 200, chains = 2,
#'   seed = 1, keep = c("theta", "phi"), progress = FALSE
#' )
#' dim(log_lik(fit))
#' posterior_predict(fit, ndraws = 1)[[1]][1:3, 1:6]
#' @rdname held_out_perplexity
#' @name lda-checks
#' @export
log_lik.gibbs_lda <- function(object, newdata = NULL, ndraws = NULL,
                              particles = 20, ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  particles <- check_count(particles, max = 1e6)
  model <- fit_part(object, "model")
  check_kept(object, if (is.null(newdata)) c("theta", "phi") else "phi", call)
  tokens <- lda_newdata(object, newdata, call)
  all <- bind_chains(chain_matrices(object))
  rows <- spread_rows(ndraws, nrow(all), call)
  if (length(tokens$documents) == 0L) {
    return(matrix(0, length(rows), 0L))
  }
  document <- document_of_token(tokens)
  out <- vapply(rows, function(s) {
    phi <- block_of_draw(model, all, s, "phi")
    if (!is.null(newdata)) {
      return(lda_left_to_right(
        tokens$word, tokens$start, phi, alpha_of_draw(model, all, s), particles
      ))
    }
    probability <- lda_token_probabilities(
      tokens$word, tokens$start, phi, block_of_draw(model, all, s, "theta")
    )
    sums_of(log(probability), document, length(tokens$documents))$log_lik
  }, numeric(length(tokens$documents)))
  out <- t(matrix(out, length(tokens$documents)))
  colnames(out) <- tokens$documents
  if (is.null(newdata)) used_columns(out, diff(tokens$start) > 0) else out
}

#' @rdname held_out_perplexity
#' @export
posterior_predict.gibbs_lda <- function(object, ndraws = NULL, ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(object, "model")
  check_kept(object, c("theta", "phi"), call)
  tokens <- lda_tokens(object, NULL, call)
  all <- bind_chains(chain_matrices(object))
  rows <- spread_rows(ndraws, nrow(all), call)
  lapply(rows, function(s) {
    new_documents(
      tokens, block_of_draw(model, all, s, "theta"),
      block_of_draw(model, all, s, "phi")
    )
  })
}

# theta: k x D, phi: k x V.
new_documents <- function(tokens, theta, phi) {
  lengths <- diff(tokens$start)
  z <- unlist(lapply(seq_along(lengths), function(d) {
    sample.int(nrow(theta), lengths[[d]], replace = TRUE, prob = theta[, d])
  }))
  tokens_matrix(
    document_of_token(tokens), draw_words(z, phi), tokens$documents,
    tokens$terms
  )
}

# A fit of gibbs_lda() as an object of the package topicmodels.

#' @rdname tidy.gibbs_lda
#' @export
as_topicmodels <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_lda")
  tokens <- lda_tokens(fit, NULL, call)
  topics <- estimate_topics(fit, chain, c("phi", "theta"), call)
  if (!requireNamespace(topicmodels, quietly = TRUE)) {
    abort_argument(
      c("The package topicmodels is not installed.",
        i = "{.fn topic_estimates} has the same numbers as matrices."),
      call = call
    )
  }
  phi <- unname(topics$phi / rowSums(topics$phi))
  theta <- unname(topics$theta / rowSums(topics$theta))
  words <- words_of_means(tokens, phi, theta)
  model <- fit_part(fit, "model")
  running <- fit_part(fit, "running")
  alpha <- mean_alpha(fit)
  count <- length(tokens$word)
  size <- c(nrow(theta), ncol(phi))
  whole_number <- function(x) as.integer(min(x, .Machine$integer.max))
  sweeps <- whole_number(running$burnin + running$draws * running$thin)
  control <- methods::new(
    class_of_topicmodels("LDA_Gibbscontrol"),
    alpha = alpha, delta = mean(model$prior$eta), iter = sweeps,
    burnin = whole_number(running$burnin), thin = whole_number(running$thin),
    seed = whole_number(running$seed), verbose = 0L, save = 0L, keep = 0L,
    nstart = as.integer(running$chains), best = TRUE, estimate.beta = TRUE,
    initialize = "random", prefix = ""
  )
  methods::new(
    class_of_topicmodels("LDA_Gibbs"),
    call = stats::getCall(fit), Dim = as.integer(size), control = control,
    k = as.integer(model$k), terms = tokens$terms,
    documents = tokens$documents, beta = log(phi), gamma = theta,
    alpha = alpha, iter = sweeps, z = words$z, n = as.integer(count),
    wordassignments = words$table, loglikelihood = words$log_lik,
    logLiks = words$log_lik, seedwords = NULL
  )
}

# not in Suggests: it needs the GNU Scientific Library
topicmodels <- "topicmodels"

class_of_topicmodels <- function(name) {
  methods::getClass(name, where = asNamespace(topicmodels))
}

# The posterior mean of the concentration of a document's topics.
mean_alpha <- function(fit) {
  model <- fit_part(fit, "model")
  if (!"alpha" %in% model$columns) {
    return(mean(model$prior$alpha))
  }
  mean(vapply(model_matrices(fit), function(m) mean(m[, "alpha"]), 0))
}

# The most probable topic of each token: list(z, table, log_lik), where `table`
# is a sparse matrix of topics, documents x terms.
words_of_means <- function(tokens, phi, theta) {
  document <- document_of_token(tokens)
  cell <- document + (tokens$word - 1) * nrow(theta)
  first <- !duplicated(cell)
  i <- document[first]
  j <- tokens$word[first]
  share <- theta[i, , drop = FALSE] * t(phi[, j, drop = FALSE])
  topic <- max.col(share, "first")
  place <- match(cell, cell[first])
  order <- order(i, j)
  list(
    z = topic[place], log_lik = sum(log(rowSums(share))[place]),
    table = structure(
      list(
        i = i[order], j = j[order], v = topic[order], nrow = nrow(theta),
        ncol = ncol(phi), dimnames = NULL
      ),
      class = "simple_triplet_matrix"
    )
  )
}

# ---- compare_k() -------------------------------------------------------------

# compare_k() of topic models: document completion of folds, and coherence.

#' @exportS3Method
model_size.lda_model <- function(model) model$k

#' @exportS3Method
model_observed.lda_model <- function(model) {
  c(model$data[c("word", "start")], list(terms = model$terms))
}

# held: numbers of documents. The test model is that of the others.
#' @exportS3Method
model_fold.lda_model <- function(model, held, by) {
  tokens <- model_tokens(model)
  train <- lda_model(
    some_documents(tokens, -held), model$k, model$prior, model$method
  )
  list(train = train, test = train)
}

some_documents <- function(tokens, which) {
  chosen <- seq_along(tokens$documents)[which]
  list(
    word = tokens$word[document_of_token(tokens) %in% chosen],
    start = c(0, cumsum(diff(tokens$start)[chosen])),
    documents = tokens$documents[chosen], terms = tokens$terms
  )
}

#' @exportS3Method
model_compare_k.lda_model <- function(model, fits, names, settings, call) {
  tokens <- model_tokens(model)
  few <- few_tokens_note(diff(tokens$start), call)
  done <- fit_folds(
    fits, length(model$documents), settings, "documents",
    prepare = function(held) split_documents(some_documents(tokens, held)),
    score = function(fit, held, common) {
      c(
        complete_halves(common, fold_in_topics(fit, 100L, call), 50L, 100L),
        same = same_topics(fit), topics = fit_part(fit, "model")$k
      )
    },
    call = call
  )
  # by fit, the scores of all documents
  scores <- lapply(done$scores, function(folds) {
    list(
      log_lik = unlist(lapply(folds, `[[`, "log_lik")),
      tokens = unlist(lapply(folds, `[[`, "tokens"))
    )
  })
  rows <- do.call(rbind, lapply(scores, perplexity_row, "completion"))
  best <- which.min(rows$perplexity)
  coherence <- lapply(fits, function(fit) coherence(fit)$npmi)
  list(
    of = paste0(
      "Topic models of the same ", counted(length(model$documents), "document"),
      ", held out in ", settings$folds, " folds"
    ),
    columns = data.frame(
      perplexity = rows$perplexity, perplexity_se = rows$se,
      coherence = vapply(coherence, mean, 0, na.rm = TRUE),
      coherence_least = vapply(coherence, min, 0, na.rm = TRUE)
    ),
    criterion = "perplexity", second = "coherence", evidence = FALSE,
    difference = rows$perplexity - rows$perplexity[[best]],
    se = vapply(seq_along(scores), function(i) {
      difference_se(scores[[i]], scores[[best]])
    }, 0),
    notes = c(few, topics_note(done$scores, names))
  )
}

# Document completion needs two tokens: one in each half. NULL, or a sentence
# about documents with fewer.
few_tokens_note <- function(lengths, call) {
  few <- sum(lengths < 2)
  if (few == length(lengths)) {
    abort_argument(
      c(
        "The fits cannot be compared: no document has two tokens or more.",
        i = "Document completion gives one half of a document and scores the
             other."
      ),
      call = call
    )
  }
  if (few > 0L) {
    paste0(
      "Not scored: ", counted(few, "document"), " with fewer than two tokens."
    )
  }
}

# R-hat of topic models is rarely below its limit, and predictions use the
# topics alone. So the line has the least number of topics that all chains of a
# fold agreed on.
topics_note <- function(scores, names) {
  same <- vapply(scores, function(folds) {
    min(vapply(folds, `[[`, 0L, "same"))
  }, 0L)
  size <- vapply(scores, function(folds) folds[[1L]]$topics, 0L)
  apart <- which(same < size)
  if (length(apart) > 0L) {
    paste0(
      "Topics that all chains agree on, in the worst fold: ",
      few_words(paste0(names[apart], " ", same[apart], " of ", size[apart])),
      "."
    )
  }
}

# The standard error of a difference of two perplexities of the same documents,
# by the delta method: that of the difference of the mean log probabilities
# times the geometric mean of the perplexities.
difference_se <- function(one, other) {
  both <- list(log_lik = one$log_lik - other$log_lik, tokens = one$tokens)
  total <- sum(one$tokens)
  middle <- exp(-(sum(one$log_lik) + sum(other$log_lik)) / (2 * total))
  row <- perplexity_row(both, "completion")
  middle * row$se / row$perplexity
}

# ---- More documents for a fit ------------------------------------------------

# More documents for a fit of gibbs_lda(): extend(fit, draws, data = more).
#
# The model is that of all documents, and the chains are new ones, whose starts
# are the last states of the fit's: a token of the fit keeps its topic, a new
# one gets a topic given those. The chains leave the posterior given all
# documents invariant, so that their draws are exact after burn-in from any
# start.

# The words of new terms come after those of the fit, and so do the documents.
#' @exportS3Method
model_enlarged.lda_model <- function(model, data, call) {
  more <- more_documents(model, data, call)
  if (is.null(more)) {
    return(NULL)
  }
  new <- more$terms[-seq_along(model$terms)]
  check_prior_of_new(model$prior$eta, new, call)
  say_more_documents(more, new, lost_by_form(more, new, model$terms))
  start <- model$data$start
  counts <- list(
    word = c(model$data$word, more$word),
    start = c(start, start[[length(start)]] + more$start[-1L]),
    documents = c(model$documents, more$documents), terms = more$terms,
    from = model$from
  )
  check_token_count(
    token_total(counts), "data", NULL, "Take fewer documents", call
  )
  larger <- lda_model(counts, model$k, model$prior, model$method, model$keep)
  larger$names <- model$names
  larger$numbers <- "start"
  larger
}

#' @exportS3Method
model_enlarged.lda_shards_model <- function(model, data, call) {
  if (inherits(data, "gibbsite_corpus") &&
        identical(corpus_counts(data)$start, model$data$start)) {
    return(NULL)
  }
  abort_argument(
    c(
      "{.arg data} cannot be more documents: those of the fit are in shards, and
       their topics with them.",
      i = "Fit all documents anew by {.fn gibbs_lda}."
    ),
    call = call
  )
}

# The new documents as as_counts() gives them, in the terms of the fit and,
# after them, new ones; NULL if they are the documents of the fit.
more_documents <- function(model, data, call) {
  known <- known_terms(model)
  table <- checked_table(data, NULL, known, "data", call)
  new <- setdiff(table$terms[sort(unique(table$term))], known)
  if (isTRUE(table$unnamed)) {
    table$documents <- as.character(
      length(model$documents) + seq_along(table$documents)
    )
  }
  table <- match_terms(table, c(known, new), "data", call)
  more <- count_tokens(table, none_ok = TRUE, "data", call)
  more$cut <- table$cut
  if (length(new) == 0L && identical(more$word, model$data$word) &&
        identical(as.double(more$start), model$data$start)) {
    return(NULL)
  }
  twice <- intersect(more$documents, model$documents)
  if (length(twice) > 0L) {
    abort_argument(
      c(
        "The documents of {.arg data} must have names of their own:
         {quoted(twice[[1L]])} is a document of the fit.",
        i = "Give the new documents alone. The fit has its own."
      ),
      call = call, class = "names"
    )
  }
  more
}

# Concentrations that were given term by term say nothing about new terms.
check_prior_of_new <- function(eta, new, call) {
  if (length(new) == 0L || lda_is_sampled(eta) || length(eta) == 1L) {
    return(invisible())
  }
  abort_argument(
    c(
      "`eta` of the fit's prior has numbers for each term, and none for
       {length(new)} new term{?s} of {.arg data}:
       {few_words(dQuote(new, FALSE))}.",
      i = "Leave {cli::qty(length(new))}{?that term/those terms} out of
           {.arg data}, or fit all documents anew with a prior for all terms."
    ),
    call = call
  )
}

# hint: where new terms may be terms of the fit in another form.
say_more_documents <- function(more, new, hint) {
  documents <- length(more$documents)
  tokens <- length(more$word)
  inform_gibbsite(
    c(
      i = "{digits(documents)} document{cli::qty(documents)}{?s} with
           {digits(tokens)} token{cli::qty(tokens)}{?s}
           {cli::qty(documents)}{?is/are} added.",
      i = if (length(new) > 0L) {
        "{length(new)} new term{?s} {?joins/join} the vocabulary:
         {few_words(dQuote(new, FALSE))}."
      },
      i = if (length(new) > 0L) hint
    ),
    class = "documents"
  )
}

# The topics of the fit's tokens in the fit's numbers. Those of new tokens are
# drawn given the means of phi that belong to these topics: theta by some sweeps
# of the chain of new documents, then z given theta. Runs on the chain's stream.
#' @exportS3Method
model_state_enlarged.lda_model <- function(model, before, chain) {
  state <- chain$state
  k <- model$k
  z <- match(lda_topics(state), chain$order %||% seq_len(k))
  old <- seq_along(before$documents)
  start <- model$data$start[-old] - length(z)
  word <- model$data$word[-seq_along(z)]
  drawn <- if (length(word) > 0L) {
    phi <- phi_of_topics(model, state, z)
    alpha <- lda_concentration(model, state, "alpha")
    theta <- lda_fold_in(word, start, phi, alpha)$theta
    draw_topics(word, start, phi, theta)
  }
  lda_state(model, c(z, drawn), state$alpha, state$eta)
}

# E(phi | z), topics x terms; z: topics of the first tokens of the model.
phi_of_topics <- function(model, state, z) {
  k <- model$k
  terms <- length(model$terms)
  eta <- lda_concentration(model, state, "eta")
  cell <- z + k * (model$data$word[seq_along(z)] - 1)
  count <- matrix(tabulate(cell, k * terms), k) +
    if (length(eta) == terms) rep(eta, each = k) else eta
  count / rowSums(count)
}

# z_i | theta, phi, by a race of exponential times: the fastest of independent
# ones is the topic t with a probability proportional to its rate.
draw_topics <- function(word, start, phi, theta) {
  lengths <- diff(start)
  unlist(lapply(seq_along(lengths), function(d) {
    own <- word[start[[d]] + seq_len(lengths[[d]])]
    rate <- phi[, own, drop = FALSE] * theta[, d]
    max.col(t(rate / stats::rexp(length(rate))), "first")
  }))
}
