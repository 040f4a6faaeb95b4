# The topics of a fit: matched between chains, their terms, their coherence, and
# its summary.

# The means and variances of these blocks that each chain has accumulated.
chain_topics <- function(fit, blocks = "phi", call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  if ("theta" %in% blocks && is_in_shards(model)) abort_in_shards(call)
  topics <- lapply(fit_part(fit, "chains"), function(chain) {
    lda_streamed(model, chain$state, blocks)
  })
  if (is.null(topics[[1L]])) {
    abort_no_averages("Topics", call)
  }
  topics
}

# Whether topics have been averaged; window() drops averages.
has_topics <- function(fit) {
  fit_part(fit, "chains")[[1L]]$state$kept > 0
}

# Mean size of each topic over the draws of a chain.
chain_sizes <- function(fit) {
  k <- fit_part(fit, "model")$k
  lapply(model_matrices(fit), function(draws) {
    colMeans(draws[, indexed("size", seq_len(k)), drop = FALSE])
  })
}

# How well the topics of the chains agree with those of one chain, the one with
# the highest mean log joint density, by the affinities sum_w sqrt(phi_w phi'_w)
# (Bhattacharyya 1943).  `order`: topic_orders(); `affinity`: chains x topics,
# from 0 to 1.
match_topics <- function(fit, topics = chain_topics(fit)) {
  joint <- vapply(model_matrices(fit), function(draws) {
    mean(draws[, "log_joint"])
  }, 0)
  order <- topic_orders(fit)
  roots <- lapply(seq_along(topics), function(chain) {
    sqrt(topics[[chain]]$phi[order[chain, ], , drop = FALSE])
  })
  best <- which.max(joint)
  affinity <- lapply(seq_along(roots), function(chain) {
    if (chain == best) {
      return(rep(1, ncol(order)))
    }
    rowSums(roots[[chain]] * roots[[best]])
  })
  list(order = order, affinity = do.call(rbind, affinity))
}

#' Topics of a fit
#'
#' `topic_estimates()` gives the posterior means and standard deviations of the
#' topics' distributions over terms and of the documents' shares of topics.
#' They are accumulated over all kept draws as the chains run, and include the
#' variance of the Dirichlet distributions given the tokens' topics.
#' `top_terms()` gives the terms with the largest posterior mean probability in
#' each topic, or with `by =` the most distinctive ones. `topic_distances()`
#' gives the Hellinger distance
#' \eqn{\sqrt{1 - \sum_w \sqrt{\phi_{tw} \phi_{sw}}}}{sqrt(1 - sum_w
#' sqrt(phi_tw phi_sw))} between the mean distributions of each pair of topics:
#' 0 for the same distribution, 1 for no term in common.
#'
#' The numbers of the topics are those of the fit's columns, see [gibbs_lda()],
#' section Topics. The results are averaged over the chains, and the standard
#' deviation includes the differences between chains. `affinity` measures how
#' well a chain's topic agrees with that of the chain with the highest mean log
#' joint density: \eqn{\sum_w \sqrt{\phi_{tw} \phi'_{tw}}}{sum_w sqrt(phi_tw
#' phi'_tw)}, which is 1 for the same distribution and 0 for no term in common.
#' If it is below 0.9, `print()` counts the topic as not the same in all chains.
#' Below about 0.7 the average over the chains is of little use. Then look at a
#' single chain, with the argument `chain`.
#'
#' @param fit A fit made by [gibbs_lda()].
#' @param chain `NULL` (default): the average of all chains. Or the number of
#'   one chain.
#' @param n Whole number, default 10: how many terms; at least 1, for
#'   `coherence()` 2.
#' @param by What the terms of a topic are ordered by, with \eqn{p_w = \sum_t
#'   s_t \phi_{tw}}{p_w = sum_t s_t phi_tw}, where \eqn{s_t} is the topic's
#'   share of all tokens:
#'   * `"probability"` (default): \eqn{\phi_{tw}}{phi_tw};
#'   * `"lift"`: \eqn{\phi_{tw} / p_w}{phi_tw / p_w}, which rare terms lead;
#'   * `"relevance"` (Sievert & Shirley 2014): \eqn{\lambda \log \phi_{tw} +
#'     (1 - \lambda) \log(\phi_{tw} / p_w)}{lambda log(phi_tw) + (1 - lambda)
#'     log(phi_tw / p_w)};
#'   * `"frex"` (Airoldi & Bischof 2016): the harmonic mean \eqn{1 / (\lambda /
#'     E_{tw} + (1 - \lambda) / F_{tw})}{1 / (lambda / E_tw + (1 - lambda) /
#'     F_tw)} of the ranks, from 0 to 1 among the terms, of the exclusivity
#'     \eqn{\phi_{tw} / \sum_u \phi_{uw}}{phi_tw / sum_u phi_uw} and of the
#'     probability \eqn{\phi_{tw}}{phi_tw}.
#' @param weight Number from 0 to 1: \eqn{\lambda}{lambda}; by default 0.6 for
#'   the relevance, as its authors suggest, and 0.5 for `"frex"`.
#' @return `topic_estimates()`: a list: `phi` and `phi_sd` (topics x terms),
#'   `theta` and `theta_sd` (documents x topics), `share` (of each topic in all
#'   tokens), `affinity` (chains x topics), `switched` (chains x topics: the
#'   share of kept draws in which most of the tokens that were in the topic at
#'   the first kept draw are in one other topic, whichever numbers the topics
#'   get).
#'
#'   `top_terms()`: a data frame of class `lda_top_terms` with a row for each
#'   topic and rank: `topic`, `name` (only where topics have names, see
#'   [seeded_topics()]), `share` (of the topic in all tokens), `affinity` (the
#'   least over the chains), `rank`, `term`, `probability`, `sd` and, unless
#'   terms are ordered by probability, `score`. It is printed with one line for
#'   each topic.
#'
#'   `topic_distances()`: an object of class `dist`.
#' @section Errors: `gibbsite_error_argument` for anything but a fit of
#'   [gibbs_lda()] and a chain that is not there.
#' @references
#' Airoldi EM, Bischof JM (2016). Improving and evaluating topic models and
#' other models of text. *Journal of the American Statistical Association* 111,
#' 1381-1403. \doi{10.1080/01621459.2015.1051182}
#'
#' Bhattacharyya A (1943). On a measure of divergence between two statistical
#' populations defined by their probability distributions. *Bulletin of the
#' Calcutta Mathematical Society* 35, 99-109.
#'
#' Sievert C, Shirley K (2014). LDAvis: a method for visualizing and
#' interpreting topics. *Workshop on Interactive Language Learning*, 63-70.
#' \doi{10.3115/v1/W14-3110}
#' @seealso [coherence()], [tidy.gibbs_lda()], [plot.gibbs_lda()], also with
#'   `type = "map"`.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' topics <- topic_estimates(fit)
#' topics$share
#' topics$affinity
#' top_terms(fit, 5)
#' top_terms(fit, 5, by = "relevance")
#' topic_distances(fit)
#' @export
topic_estimates <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  check_fit_of(fit, "gibbs_lda")
  theta <- if (!is_in_shards(fit_part(fit, "model"))) "theta"
  estimate_topics(fit, chain, c("phi", theta), rlang::current_env())
}

# The same for phi only, or for both blocks; theta has a row for each document.
estimate_topics <- function(fit, chain, blocks = "phi",
                            call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  topics <- chain_topics(fit, blocks, call)
  sizes <- chain_sizes(fit)
  if (is.null(chain)) {
    matching <- match_topics(fit, topics)
    return(pooled_topics(model, blocks, topics, sizes, matching))
  }
  chain <- chosen_chains(chain, fit, call)
  order <- topic_orders(fit)[chain, , drop = FALSE]
  pooled_topics(
    model, blocks, topics[chain], sizes[chain],
    list(order = order, affinity = 0 * order + 1), chain
  )
}

# The numbers of the chains to use: all, or one.
chosen_chains <- function(chain, fit, call = rlang::caller_env()) {
  if (is.null(chain)) {
    return(seq_along(fit))
  }
  check_count(
    chain, max = length(fit), max_why = "chains of the fit", arg = "chain",
    call = call
  )
}

# The blocks of the topics averaged over chains, and describe_topics().
pooled_topics <- function(model, blocks, topics, sizes, matching,
                          chain = seq_along(topics)) {
  c(
    average_phi(model, topics, matching$order),
    if ("theta" %in% blocks) average_theta(model, topics, matching$order),
    describe_topics(model, topics, sizes, matching, chain)
  )
}

average_phi <- function(model, topics, order) {
  phi <- pool(
    length(topics),
    function(c) topics[[c]]$phi[order[c, ], , drop = FALSE],
    function(c) topics[[c]]$phi_var[order[c, ], , drop = FALSE]
  )
  names <- list(topic = topic_names(model), model$terms)
  phi <- lapply(phi, `dimnames<-`, names)
  list(phi = phi$mean, phi_sd = phi$sd)
}

average_theta <- function(model, topics, order) {
  theta <- pool(
    length(topics),
    function(c) topics[[c]]$theta[, order[c, ], drop = FALSE],
    function(c) topics[[c]]$theta_var[, order[c, ], drop = FALSE]
  )
  names <- list(model$documents, topic = topic_names(model))
  theta <- lapply(theta, `dimnames<-`, names)
  list(theta = theta$mean, theta_sd = theta$sd)
}

describe_topics <- function(model, topics, sizes, matching, chain) {
  names <- topic_names(model)
  by_chain <- function(rows) {
    matrix(
      unlist(rows), length(topics), model$k, byrow = TRUE,
      dimnames = list(chain = as.character(chain), topic = names)
    )
  }
  share <- colMeans(by_chain(sizes)) / model$nobs
  list(
    share = stats::setNames(share, names),
    affinity = by_chain(t(matching$affinity)),
    switched = by_chain(lapply(seq_along(topics), function(c) {
      topics[[c]]$switched[matching$order[c, ]]
    }))
  )
}

# Mean and standard deviation over chains of equal length: the variance within
# chains and that of their means.
pool <- function(chains, mean_of, variance_of) {
  means <- lapply(seq_len(chains), mean_of)
  mean <- Reduce(`+`, means) / chains
  variance <- 0
  for (c in seq_len(chains)) {
    variance <- variance + (variance_of(c) + (means[[c]] - mean)^2) / chains
  }
  list(mean = mean, sd = sqrt(variance))
}

#' @rdname topic_estimates
#' @export
top_terms <- function(fit, n = 10, chain = NULL,
                      by = c("probability", "lift", "relevance", "frex"),
                      weight = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  check_fit_of(fit, "gibbs_lda")
  n <- check_count(n)
  by <- check_choice(by, c("probability", "lift", "relevance", "frex"))
  if (!is.null(weight) && by %in% c("probability", "lift")) {
    abort_argument(
      "{.arg weight} is for {.code by = \"relevance\"} and {.code by =
       \"frex\"}."
    )
  }
  default <- if (by == "frex") 0.5 else 0.6
  weight <- check_number(
    weight, lower = 0, upper = 1, null_ok = TRUE
  ) %||% default
  table_of_terms(estimate_topics(fit, chain), n, by, weight)
}

table_of_terms <- function(topics, n, by = "probability", weight = 1) {
  terms <- colnames(topics$phi)
  n <- min(n, length(terms))
  score <- score_of_terms(topics, by, weight)
  rows <- lapply(seq_len(nrow(topics$phi)), function(t) {
    top <- order(-score[t, ], -topics$phi[t, ])[seq_len(n)]
    table <- data.frame(
      topic = t, share = topics$share[[t]],
      affinity = min(topics$affinity[, t]), rank = seq_len(n),
      term = terms[top], probability = unname(topics$phi[t, top]),
      sd = unname(topics$phi_sd[t, top])
    )
    if (by != "probability") table$score <- unname(score[t, top])
    named_topics(table, rownames(topics$phi))
  })
  structure(
    do.call(rbind, rows), class = c("lda_top_terms", "data.frame"),
    chains = nrow(topics$affinity)
  )
}

# The terms of each topic of such a table in one string.
words_of_topics <- function(table, topics) {
  vapply(topics, function(t) {
    paste(table$term[table$topic == t], collapse = " ")
  }, "")
}

# topics x terms: see ?top_terms.
score_of_terms <- function(topics, by, weight) {
  phi <- topics$phi
  lift <- function() sweep(phi, 2L, colSums(topics$share * phi), `/`)
  # the empirical distribution function over the terms of a topic
  ranks <- function(x) {
    t(apply(x, 1L, rank, ties.method = "max")) / ncol(x)
  }
  switch(by,
    probability = phi,
    lift = lift(),
    relevance = weight * log(phi) + (1 - weight) * log(lift()),
    frex = 1 / (
      weight / ranks(sweep(phi, 2L, colSums(phi), `/`)) +
        (1 - weight) / ranks(phi)
    )
  )
}

# A table with a column `topic` of numbers gets the topics' names beside it,
# unless these are the numbers.
named_topics <- function(table, names) {
  if (is.null(names) || identical(names, as.character(seq_along(names)))) {
    return(table)
  }
  at <- match("topic", names(table))
  cbind(
    table[seq_len(at)], name = names[table$topic], table[-seq_len(at)]
  )
}

#' @export
print.lda_top_terms <- function(x, ...) {
  needed <- c("topic", "share", "affinity", "rank", "term")
  if (!is_plain_number(attr(x, "chains")) || !all(needed %in% names(x))) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  one <- x[!duplicated(x$topic), ]
  words <- words_of_topics(x, one$topic)
  match <- if (attr(x, "chains") > 1) {
    paste0("  ", formatC(one$affinity, format = "f", digits = 2))
  }
  lines <- paste0(
    formatC(one$topic, width = nchar(max(one$topic))), "  ",
    if (is.character(one$name)) paste0(format(one$name), "  "),
    formatC(100 * one$share, format = "f", digits = 1, width = 4), "%",
    match, "  ", words
  )
  width <- max(40, getOption("width"))
  long <- nchar(lines) > width
  lines[long] <- paste0(substr(lines[long], 1, width - 3), "...")
  writeLines(lines)
  if (attr(x, "chains") > 1) {
    writeLines(
      "(share of all tokens; least affinity between chains, 1 = the same topic)"
    )
  }
  invisible(x)
}

#' @export
as.data.frame.lda_top_terms <- function(x, ...) bare_frame(x)

#' @rdname topic_estimates
#' @export
topic_distances <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  check_fit_of(fit, "gibbs_lda")
  hellinger(estimate_topics(fit, chain)$phi)
}

hellinger <- function(phi) {
  affinity <- tcrossprod(sqrt(phi))
  distance <- sqrt(pmax(1 - affinity, 0))
  diag(distance) <- 0
  stats::as.dist(distance)
}

#' @rdname draws_of
#' @export
draws_of.gibbs_lda <- function(x, block, ...) {
  check_no_more(...)
  if (!missing(block) && is.character(block) && length(block) == 1L) {
    check_kept(x, intersect(block, c("theta", "phi", "z")),
               rlang::current_env())
  }
  NextMethod()
}

check_kept <- function(fit, blocks, call) {
  if ("theta" %in% blocks && is_in_shards(fit_part(fit, "model"))) {
    abort_in_shards(call)
  }
  lacking <- setdiff(blocks, fit_part(fit, "model")$keep)
  if (length(lacking) > 0L) {
    abort_argument(
      c(
        "The fit did not store the draws of {.val {lacking}}.",
        i = "Fit with {.code keep = {deparse(blocks)}};
             {.fn topic_estimates} has means and standard deviations."
      ),
      call = call
    )
  }
}

# Draw s of phi (k x V), theta (k x D) and alpha out of the matrix of all draws.
block_of_draw <- function(model, draws, s, block) {
  k <- model$k
  V <- length(model$terms)
  D <- length(model$documents)
  # columns are selected by position, because matching many names is slow
  columns <- which(startsWith(model$columns, paste0(block, "[")))
  values <- unname(draws[s, columns])
  if (block == "phi") matrix(values, k, V) else t(matrix(values, D, k))
}

alpha_of_draw <- function(model, draws, s) {
  if ("alpha" %in% model$columns) draws[[s, "alpha"]] else model$prior$alpha
}

#' @section Coherence of topics:
#' `coherence()` measures how often the top terms of a topic occur in the same
#' documents. A topic whose terms occur together is easier to name.
#'
#' With \eqn{D(w)} documents that have term \eqn{w}, \eqn{D(v, w)} that have
#' both, of \eqn{D} in all, and the top terms \eqn{w_1, \dots, w_n}, most
#' probable first:
#'
#' * `umass` (Mimno et al. 2011): \eqn{\sum_{m = 2}^n \sum_{l < m} \log
#'   \frac{D(w_m, w_l) + 1}{D(w_l)}}{sum_{l < m} log((D(w_m, w_l) + 1) /
#'   D(w_l))};
#' * `npmi` (Bouma 2009; Lau et al. 2014): the mean over pairs of \eqn{\log
#'   \frac{p(v, w)}{p(v) p(w)} / (-\log p(v, w))}{log(p(v, w) / (p(v) p(w))) /
#'   (-log p(v, w))} with \eqn{p = D(\cdot) / D}{p = D(.) / D}, between -1
#'   (never together) and 1 (always).
#' @param x `NULL` for the documents of the fit, or other documents in which to
#'   count the terms.
#' @return `coherence()`: a data frame with the columns `topic`, `umass`, `npmi`
#'   and `terms`. Higher values mean a more coherent topic.
#' @section Errors: `coherence()`: also for a fit without its data, if there is
#'   no `x`.
#' @references
#' Mimno D, Wallach H, Talley E, Leenders M, McCallum A (2011). Optimizing
#' semantic coherence in topic models. *EMNLP*, 262-272.
#'
#' Bouma G (2009). Normalized (pointwise) mutual information in collocation
#' extraction. *GSCL*, 31-40.
#'
#' Lau JH, Newman D, Baldwin T (2014). Machine reading tea leaves. *EACL*,
#' 530-539. \doi{10.3115/v1/E14-1056}
#' @seealso [held_out_perplexity()].
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' coherence(fit, 5)
#' @rdname topic_estimates
#' @export
coherence <- function(fit, n = 10, x = NULL, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_lda")
  n <- check_count(n, min = 2)
  tokens <- if (is.null(x)) {
    lda_tokens(fit, "x", call)
  } else {
    as_counts(
      x, empty = "keep", known = fit_part(fit, "model")$terms, arg = "x",
      call = call
    )
  }
  top <- as.data.frame(top_terms(fit, n, chain))
  terms <- unique(match(top$term, tokens$terms))
  own <- tokens$word %in% terms
  document <- document_of_token(tokens)
  present <- Matrix::sparseMatrix(
    i = document[own], j = match(tokens$word[own], terms), x = 1,
    dims = c(length(tokens$documents), length(terms))
  )
  present@x[] <- 1
  together <- as.matrix(Matrix::crossprod(present))
  rows <- lapply(split(top, top$topic), function(topic) {
    at <- match(match(topic$term, tokens$terms), terms)
    cbind(
      topic = topic$topic[[1L]],
      coherence_of(together[at, at, drop = FALSE], length(tokens$documents)),
      terms = paste(topic$term, collapse = " ")
    )
  })
  out <- do.call(rbind, rows)
  rownames(out) <- NULL
  out
}

# together: documents that have both terms (on the diagonal, the term), most
# probable first.
coherence_of <- function(together, documents) {
  if (nrow(together) < 2L) {
    return(data.frame(umass = NA_real_, npmi = NA_real_))
  }
  alone <- diag(together)
  later <- row(together)[lower.tri(together)]
  earlier <- col(together)[lower.tri(together)]
  both <- together[lower.tri(together)]
  known <- alone[earlier] > 0
  umass <- sum(log((both[known] + 1) / alone[earlier][known]))
  joint <- both / documents
  apart <- alone[later] * alone[earlier] / documents^2
  npmi <- ifelse(
    both == 0, -1, ifelse(joint == 1, 1, log(joint / apart) / -log(joint))
  )
  data.frame(umass = umass, npmi = mean(npmi))
}

#' @rdname tidy.gibbs_lda
#' @export
ldavis_data <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_lda")
  tokens <- lda_tokens(fit, NULL, call)
  topics <- topic_estimates(fit, chain)
  # LDAvis checks that the sums are one
  list(
    phi = topics$phi / rowSums(topics$phi),
    theta = topics$theta / rowSums(topics$theta),
    doc.length = diff(tokens$start), vocab = tokens$terms,
    term.frequency = tabulate(tokens$word, length(tokens$terms))
  )
}

#' @section Names for topics:
#' `name_topics()` gives the topics of a fit names. Tables, predictions and
#' pictures then show the names: [top_terms()], [topic_estimates()],
#' [predict.gibbs_lda()], [topic_prevalence()], `summary()`, `tidy()` and
#' `plot()`. The draws and their columns keep the numbers.
#'
#' A fit keeps the numbers of its topics when it is continued ([extend()]), and
#' so its names. [combine_fits()] gives the chains common numbers; the names are
#' those of the first fit's topics.
#' @param names A character vector with the numbers of topics as its names, such
#'   as `c("1" = "sport", "4" = "trade")`: other topics keep the names they
#'   have. Or a name for each topic, in their order. `NULL` removes all names
#'   that this function gave.
#' @return `name_topics()`: the fit with the names.
#' @section Errors: `name_topics()`: `gibbsite_error_argument` for a topic that
#'   is not there and for a name that is missing, empty or that of two topics.
#' @seealso [seeded_topics()], whose topics have names from the beginning.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' fit <- name_topics(fit, c("1" = "sport", "3" = "trade"))
#' top_terms(fit, 5)
#' @rdname topic_estimates
#' @export
name_topics <- function(fit, names) {
  check_needed(
    fit = "a fit made by gibbs_lda()", names = "the names of the topics"
  )
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_lda")
  model <- fit_part(fit, "model")
  model$names <- names_for_topics(model, names, call)
  attr(fit, "model") <- model
  fit
}

names_for_topics <- function(model, given, call) {
  if (is.null(given)) {
    return(NULL)
  }
  check_text(given, "names", call)
  if (!is.character(given) || is.object(given)) {
    abort_expected(
      given, "a character vector, such as `c(\"1\" = \"sport\")`", TRUE,
      "names", call
    )
  }
  at <- numbers_of_topics(given, model$k, call)
  out <- topic_names(model)
  out[at] <- unname(given)
  bad <- is.na(out) | !nzchar(out) | duplicated(out)
  if (any(bad)) {
    name <- out[bad][[1L]]
    abort_argument(
      c("Each topic must have a name of its own in {.arg names}.",
        x = if (is.na(name) || name == "") {
          "The name of topic {which(bad)[[1L]]} is empty."
        } else {
          "Topics {and_words(which(out == name))} would be {.val {name}}."
        }),
      call = call
    )
  }
  out
}

# Which topics the names are for.
numbers_of_topics <- function(given, k, call) {
  if (is.null(names(given))) {
    if (length(given) != k) {
      abort_argument(
        c("{.arg names} must have a name for each of the {k} topics, not
           {length(given)}.",
          i = "Name some by their numbers: {.code c(\"1\" = \"sport\")}."),
        call = call
      )
    }
    return(seq_len(k))
  }
  check_text(names(given), "names(names)", call)
  at <- match(names(given), seq_len(k))
  if (anyNA(at) || anyDuplicated(at)) {
    wrong <- names(given)[[which(is.na(at) | duplicated(at))[[1L]]]]
    abort_argument(
      "The names of {.arg names} must be different numbers of topics, from 1 to
       {k}: not {.val {wrong}}.",
      call = call
    )
  }
  at
}

# ---- Summary ----------------------------------------------------------------

#' @rdname summary.gibbsite_fit
#' @export
summary.gibbs_lda <- function(object, variables = NULL,
                              probs = c(0.025, 0.5, 0.975), ...) {
  check_no_more(...)
  columns <- fit_part(object, "model")$columns
  scalars <- columns[!grepl("[", columns, fixed = TRUE)]
  out <- fit_summary(
    object, variables %||% scalars, probs, "object", rlang::current_env()
  )
  if (has_topics(object)) {
    attr(out, "topics") <- top_terms(object, 7)
  }
  class(out) <- c("lda_summary", class(out))
  out
}

#' @export
print.lda_summary <- function(x, ...) {
  NextMethod()
  topics <- attr(x, "topics")
  if (is.data.frame(topics)) {
    writeLines(c("", "Topics, by their most probable terms:"))
    shown <- topics[topics$topic <= 20, ]
    attr(shown, "chains") <- attr(topics, "chains")
    print(shown)
    more <- max(topics$topic) - 20
    if (more > 0) {
      writeLines(paste0("... ", more, " more: top_terms(fit)"))
    }
  }
  invisible(x)
}

#' A topic model as tables, and for other packages
#'
#' `tidy()` gives one row for each stored quantity, or the topics and the
#' documents' shares of them as long tables for dplyr and ggplot2.
#' `ldavis_data()` gives the arguments of `LDAvis::createJSON()`, under the
#' names that it uses. `as_topicmodels()` makes an object of class `LDA_Gibbs`
#' of the package topicmodels from the posterior means, for functions that take
#' one: `posterior()`, `terms()`, `topics()` and `perplexity()` of topicmodels,
#' `topicdoc::topic_diagnostics()`.
#'
#' The topics and their order are those of [topic_estimates()]. The object of
#' `as_topicmodels()` has one point and no posterior: its `alpha` is the
#' posterior mean, its topics of words are the most probable topic of each term
#' in its document given the means, and its log-likelihood is that of the means.
#'
#' @param x,fit A fit made by [gibbs_lda()].
#' @param matrix `NULL` (default): one row for each stored quantity, as for
#'   every fit. `"phi"`: one row for each topic and term; `"theta"`: one row for
#'   each document and topic, both as in [topic_estimates()]. `"beta"` and
#'   `"gamma"` are the same under the names that tidytext gives to topics and
#'   shares.
#' @param conf.level,conf.int As in [tidy.gibbsite_fit()], without `matrix`.
#' @param chain As in [topic_estimates()].
#' @param ... Not used.
#' @return `tidy()`: a data frame; for `"phi"` with the columns `topic`, `term`,
#'   `estimate` and `std.error`, for `"theta"` with `document`, `topic`,
#'   `estimate` and `std.error`. Where topics have names ([seeded_topics()]),
#'   `name` comes after `topic`. For `"beta"` the columns are `topic`, `term`
#'   and `beta`, for `"gamma"` `document`, `topic` and `gamma`, as tidytext has
#'   them for other topic models.
#'
#'   `ldavis_data()`: a list: `phi` (topics x terms), `theta` (documents x
#'   topics), `doc.length`, `vocab` and `term.frequency`. `as_topicmodels()`: an
#'   object of class `LDA_Gibbs`, whose slot `gamma` has the shares of topics in
#'   documents, and `beta` the logarithms of the topics' distributions over
#'   terms.
#' @section Errors: As for [topic_estimates()]. `ldavis_data()` and
#'   `as_topicmodels()` need a fit that holds its data (`gibbsite_error_state`),
#'   the latter also the package topicmodels (`gibbsite_error_argument`).
#' @references
#' Sievert C, Shirley K (2014). LDAvis: a method for visualizing and
#' interpreting topics. *Workshop on Interactive Language Learning*, 63-70.
#' \doi{10.3115/v1/W14-3110}
#' @seealso [topic_estimates()], [clients].
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' head(tidy(fit, matrix = "phi"))
#' str(ldavis_data(fit))
#' # with topicmodels installed
#' \dontrun{
#' topicmodels::terms(as_topicmodels(fit), 5)
#' }
#' @export
tidy.gibbs_lda <- function(x, matrix = NULL, conf.level = 0.95, chain = NULL,
                           ..., conf.int = TRUE) {
  check_no_more(...)
  conf.int <- check_flag(conf.int)
  check_count(
    chain, max = nchains.gibbsite_fit(x), max_why = "chains of the fit",
    null_ok = TRUE
  )
  if (is.null(matrix)) {
    return(tidy.gibbsite_fit(x, conf.level = conf.level, conf.int = conf.int))
  }
  matrix <- check_choice(matrix, c("phi", "theta", "beta", "gamma"))
  named <- switch(matrix, beta = "phi", gamma = "theta")
  if (!is.null(named)) {
    out <- tidy.gibbs_lda(x, named, conf.level, chain)
    names(out)[names(out) == "estimate"] <- matrix
    return(out[names(out) != "std.error"])
  }
  topics <- estimate_topics(x, chain, unique(c("phi", matrix)))
  mean <- topics[[matrix]]
  sd <- topics[[paste0(matrix, "_sd")]]
  sides <- expand.grid(
    row = seq_len(nrow(mean)), column = seq_len(ncol(mean))
  )
  names <- if (matrix == "phi") {
    data.frame(topic = sides$row, term = colnames(mean)[sides$column])
  } else {
    data.frame(document = rownames(mean)[sides$row], topic = sides$column)
  }
  topic <- if (matrix == "phi") rownames(mean) else colnames(mean)
  cbind(
    named_topics(names, topic), estimate = as.vector(mean),
    std.error = as.vector(sd)
  )
}

# ---- The numbers of topics ---------------------------------------------------

# The numbers of topics. Under a prior that is the same for all of them they are
# exchangeable: each chain numbers them in its own way, and a fit renumbers them
# to agree (R/run-pool.R).

# Within a chain the sampler numbers a topic as at the first kept draw
# (src/core/lda/lda.h); here the chains are made to agree.
#
# Chains agree where a token has the same topic in both. The orders maximise the
# number of such tokens over all pairs of chains, at the first kept draw of each
# (allocations as in Papastamoulis & Iliopoulos 2010,
# doi:10.1198/jcgs.2010.09008, between chains): one chain after another is
# assigned to the rest (Hungarian algorithm) until none changes. Then the topics
# are put in decreasing order of their tokens. Only topics with the same
# prior are renumbered: others keep their numbers.
#' @exportS3Method
model_orders.lda_model <- function(model, states) {
  k <- model$k
  if (!is_numbered(model)) {
    return(NULL)
  }
  group <- topic_groups(model)
  same_group <- outer(group, group, `==`)
  # of tokens, at the first kept draw of each chain
  topics <- lapply(states, function(state) lda_unpack(state$pivot))
  chains <- seq_along(topics)
  # shared[[b]][[a]], a < b: tokens by their topics in the chains a and b
  shared <- lapply(chains, function(b) {
    lapply(seq_len(b - 1L), function(a) {
      table_of_pairs(topics[[a]], topics[[b]], k)
    })
  })
  orders <- rep(list(seq_len(k)), length(chains))
  assign_chain <- function(b, others) {
    votes <- Reduce(`+`, lapply(others, function(a) {
      both <- if (a < b) shared[[b]][[a]] else t(shared[[a]][[b]])
      both[orders[[a]], , drop = FALSE]
    }))
    # topics of different groups are never exchanged
    votes <- votes + (sum(votes) + 1) * same_group
    as.integer(clue::solve_LSAP(votes, maximum = TRUE))
  }
  for (b in chains[-1L]) {
    orders[[b]] <- assign_chain(b, seq_len(b - 1L))
  }
  if (length(chains) > 2L) {
    # every change increases the number of tokens, so that this ends
    for (round in 1:100) {
      before <- orders
      for (b in chains) orders[[b]] <- assign_chain(b, setdiff(chains, b))
      if (identical(orders, before)) break
    }
  }
  # chains that start at topics of an earlier fit have its numbers
  if (identical(model$numbers, "start")) {
    return(orders)
  }
  sizes <- Reduce(`+`, lapply(chains, function(b) {
    tabulate(topics[[b]], k)[orders[[b]]]
  }))
  # the largest topic of a group gets the first number of that group
  places <- seq_len(k)
  for (own in split(seq_len(k), group)) {
    places[own] <- own[order(-sizes[own])]
  }
  lapply(orders, function(order) order[places])
}

table_of_pairs <- function(a, b, k) {
  matrix(tabulate(a + k * (b - 1L), k * k), k)
}

#' @exportS3Method
model_reordered.lda_model <- function(model, draws, order) {
  out <- draws[, lda_columns_in(model, order), drop = FALSE]
  dimnames(out) <- dimnames(draws)
  z <- startsWith(model$columns, "z[")
  if (any(z)) {
    out[, z] <- order(order)[draws[, z]]
  }
  out
}

# The columns of the topics order[1], order[2], ...
lda_columns_in <- function(model, order) {
  columns <- seq_along(model$columns)
  block <- function(name) which(startsWith(model$columns, paste0(name, "[")))
  for (name in c("size", "label")) columns[block(name)] <- block(name)[order]
  # theta: documents fastest; phi: topics fastest
  theta <- block("theta")
  columns[theta] <- matrix(theta, ncol = model$k)[, order]
  phi <- block("phi")
  columns[phi] <- matrix(phi, nrow = model$k)[order, ]
  columns
}

# Chains x topics: the number of each topic in a chain's state.
topic_orders <- function(fit) {
  k <- fit_part(fit, "model")$k
  do.call(rbind, lapply(fit_part(fit, "chains"), function(chain) {
    chain$order %||% seq_len(k)
  }))
}
