# What a fit of gibbs_lda() answers: topics, new documents, checks, pictures.

check_lda <- function(fit, arg = "fit", call = rlang::caller_env()) {
  if (!inherits(fit, "gibbs_lda")) {
    given <- describe(fit)
    abort_argument(
      "{.arg {arg}} must be a fit made by {.fn gibbs_lda}, not {given}.",
      call = call
    )
  }
  check_whole_fit(fit, arg, call)
}

# Tokens of the documents fitted, or an error that says that they are gone and
# which argument, if any, can take others.
lda_tokens <- function(fit, arg, call) {
  model <- fit_part(fit, "model")
  if (is.null(model$data)) {
    abort_no_data(arg, call)
  }
  list(
    word = model$data$word, start = model$data$start,
    documents = model$documents, terms = model$terms
  )
}

lda_newdata <- function(fit, newdata, empty, call) {
  if (is.null(newdata)) {
    return(lda_tokens(fit, "newdata", call))
  }
  as_counts(
    newdata, empty = empty, known = fit_part(fit, "model")$terms,
    arg = "newdata", call = call
  )
}

document_lengths_of <- function(tokens) diff(tokens$start)

document_of_token <- function(tokens) {
  rep.int(seq_along(tokens$documents), document_lengths_of(tokens))
}

# ---- topics of all chains ----------------------------------------------------

# What each chain has accumulated of these blocks.
chain_topics <- function(fit, blocks = "phi") {
  model <- fit_part(fit, "model")
  lapply(fit_part(fit, "chains"), function(chain) {
    lda_streamed(model, chain$state, blocks)
  })
}

# Mean size of each topic over the draws of a chain.
chain_sizes <- function(fit) {
  k <- fit_part(fit, "model")$k
  lapply(chain_matrices(fit), function(draws) {
    colMeans(draws[, paste0("size[", seq_len(k), "]"), drop = FALSE])
  })
}

# The topics of each chain in the order of those of one chain, the one with the
# highest mean log joint density; the largest over all chains first.  They are
# paired so that the sum of the affinities sum_w sqrt(phi_w phi'_w)
# (Bhattacharyya 1943) is largest (Hungarian algorithm).  `order`: chains x
# topics, the chain's own numbers; `affinity`: chains x topics, from 0 to 1.
match_topics <- function(fit, topics = chain_topics(fit),
                         sizes = chain_sizes(fit)) {
  joint <- vapply(chain_matrices(fit), function(draws) {
    mean(draws[, "log_joint"])
  }, 0)
  pivot <- which.max(joint)
  reference <- order(-sizes[[pivot]])
  roots <- sqrt(topics[[pivot]]$phi[reference, , drop = FALSE])
  matched <- lapply(seq_along(topics), function(chain) {
    if (chain == pivot) {
      return(list(order = reference, affinity = rep(1, length(reference))))
    }
    affinity <- tcrossprod(roots, sqrt(topics[[chain]]$phi))
    to <- as.integer(clue::solve_LSAP(affinity, maximum = TRUE))
    list(order = to, affinity = affinity[cbind(seq_along(to), to)])
  })
  order <- do.call(rbind, lapply(matched, `[[`, "order"))
  affinity <- do.call(rbind, lapply(matched, `[[`, "affinity"))
  own <- vapply(seq_along(sizes), function(chain) {
    sizes[[chain]][order[chain, ]]
  }, numeric(ncol(order)))
  largest <- order(-rowSums(matrix(own, ncol(order))))
  list(
    order = order[, largest, drop = FALSE],
    affinity = affinity[, largest, drop = FALSE]
  )
}

#' Topics of a fit
#'
#' `topic_estimates()` gives the posterior means and standard deviations of the
#' topics' distributions over terms and of the documents' shares of topics.
#' They are accumulated as the chains run, over all kept draws, and include the
#' uncertainty of the Dirichlet distributions given the tokens' topics.
#'
#' Chains number their topics differently. Those of each chain are paired with
#' those of the chain with the highest mean log joint density, so that the sum
#' of the affinities \eqn{\sum_w \sqrt{\phi_{tw} \phi'_{tw}}}{sum_w sqrt(phi_tw
#' phi'_tw)} of the pairs is largest, and the results are averaged over the
#' chains, the standard deviation with what the chains differ by. `affinity`
#' tells how well the pairs agree: 1 for the same distribution, 0 for no term in
#' common. Where it is low (below about 0.7) the chains found different topics,
#' and their average is of little use: look at one chain, by `chain`.
#'
#' @param fit A fit made by [gibbs_lda()].
#' @param chain `NULL` (default): all chains, matched and averaged. Or the
#'   number of one chain.
#' @return A list: `phi` and `phi_sd` (topics x terms), `theta` and `theta_sd`
#'   (documents x topics), `share` (of each topic in all tokens), `affinity`
#'   (chains x topics), `order` (chains x topics: the number that the topic has
#'   in the chain's columns), `switched` (chains x topics: the share of kept
#'   draws in which most of the tokens that the topic had at the first kept draw
#'   were in another). The largest topic is the first.
#' @section Errors: `gibbsite_error_argument` for anything but a fit of
#'   [gibbs_lda()] and a chain that is not there.
#' @references
#' Bhattacharyya A (1943). On a measure of divergence between two statistical
#' populations defined by their probability distributions. *Bulletin of the
#' Calcutta Mathematical Society* 35, 99-109.
#' @seealso [top_terms()], [tidy.gibbs_lda()].
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' topics <- topic_estimates(fit)
#' topics$share
#' topics$affinity
#' @export
topic_estimates <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  check_lda(fit)
  estimate_topics(fit, chain, c("phi", "theta"), rlang::current_env())
}

# The same with phi alone, or both blocks: theta has a row a document.
estimate_topics <- function(fit, chain, blocks = "phi",
                            call = rlang::caller_env()) {
  model <- fit_part(fit, "model")
  topics <- chain_topics(fit, blocks)
  sizes <- chain_sizes(fit)
  if (!is.null(chain)) {
    chain <- check_count(
      chain, max = length(topics), max_why = "chains of the fit", call = call
    )
    topics <- topics[chain]
    sizes <- sizes[chain]
    order <- matrix(order(-sizes[[1L]]), 1L)
    matching <- list(order = order, affinity = 0 * order + 1)
  } else {
    matching <- match_topics(fit, topics, sizes)
    chain <- seq_along(topics)
  }
  c(
    average_phi(model, topics, matching$order),
    if ("theta" %in% blocks) average_theta(model, topics, matching$order),
    describe_topics(model, topics, sizes, matching, chain)
  )
}

average_phi <- function(model, topics, order) {
  own <- function(part) {
    function(c) topics[[c]][[part]][order[c, ], , drop = FALSE]
  }
  phi <- pool(length(topics), own("phi"), own("phi_var"))
  names <- list(topic = as.character(seq_len(model$k)), model$terms)
  list(
    phi = `dimnames<-`(phi$mean, names), phi_sd = `dimnames<-`(phi$sd, names)
  )
}

average_theta <- function(model, topics, order) {
  own <- function(part) {
    function(c) topics[[c]][[part]][, order[c, ], drop = FALSE]
  }
  theta <- pool(length(topics), own("theta"), own("theta_var"))
  names <- list(model$documents, topic = as.character(seq_len(model$k)))
  list(
    theta = `dimnames<-`(theta$mean, names),
    theta_sd = `dimnames<-`(theta$sd, names)
  )
}

describe_topics <- function(model, topics, sizes, matching, chain) {
  numbers <- as.character(seq_len(model$k))
  by_chain <- list(chain = as.character(chain), topic = numbers)
  ordered <- function(values) {
    out <- do.call(rbind, lapply(seq_along(topics), function(c) {
      values(c)[matching$order[c, ]]
    }))
    matrix(out, length(topics), model$k, dimnames = by_chain)
  }
  share <- colMeans(ordered(function(c) sizes[[c]])) / model$nobs
  list(
    share = stats::setNames(share, numbers),
    affinity = matrix(matching$affinity, length(topics), dimnames = by_chain),
    order = matrix(matching$order, length(topics), dimnames = by_chain),
    switched = ordered(function(c) topics[[c]]$switched)
  )
}

# Mean and standard deviation over chains of equal length: the variance within
# chains and that of their means.
pool <- function(chains, mean_of, variance_of) {
  mean <- 0
  second <- 0
  for (c in seq_len(chains)) {
    m <- mean_of(c)
    mean <- mean + m / chains
    second <- second + (variance_of(c) + m^2) / chains
  }
  list(mean = mean, sd = sqrt(pmax(second - mean^2, 0)))
}

#' The most probable terms of each topic
#'
#' @inheritParams topic_estimates
#' @param n Whole number, at least 1 (default 10): how many terms.
#' @return A data frame of class `lda_top_terms` with a row for each topic and
#'   rank: `topic`, `share` (of the topic in all tokens), `affinity` (the least
#'   over the chains, see [topic_estimates()]), `rank`, `term`, `probability`
#'   and `sd`. It is printed with one line a topic.
#' @section Errors: As for [topic_estimates()].
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' top_terms(fit, 5)
#' @export
top_terms <- function(fit, n = 10, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  check_lda(fit)
  n <- check_count(n)
  table_of_terms(estimate_topics(fit, chain), n)
}

table_of_terms <- function(topics, n) {
  terms <- colnames(topics$phi)
  n <- min(n, length(terms))
  rows <- lapply(seq_len(nrow(topics$phi)), function(t) {
    top <- order(-topics$phi[t, ])[seq_len(n)]
    data.frame(
      topic = t, share = topics$share[[t]],
      affinity = min(topics$affinity[, t]), rank = seq_len(n),
      term = terms[top], probability = unname(topics$phi[t, top]),
      sd = unname(topics$phi_sd[t, top])
    )
  })
  structure(
    do.call(rbind, rows), class = c("lda_top_terms", "data.frame"),
    chains = nrow(topics$affinity)
  )
}

#' @export
print.lda_top_terms <- function(x, ...) {
  needed <- c("topic", "share", "affinity", "rank", "term")
  if (is.null(attr(x, "chains")) || !all(needed %in% names(x))) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  one <- x[!duplicated(x$topic), ]
  words <- vapply(one$topic, function(t) {
    paste(x$term[x$topic == t], collapse = " ")
  }, "")
  match <- if (attr(x, "chains") > 1) {
    paste0("  ", formatC(one$affinity, format = "f", digits = 2))
  }
  lines <- paste0(
    formatC(one$topic, width = nchar(max(one$topic))), "  ",
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
as.data.frame.lda_top_terms <- function(x, ...) {
  attr(x, "chains") <- NULL
  class(x) <- "data.frame"
  x
}

#' @rdname summary.gibbsite_fit
#' @export
summary.gibbs_lda <- function(object, variables = NULL,
                              probs = c(0.025, 0.5, 0.975), ...) {
  columns <- fit_part(object, "model")$columns
  scalars <- columns[!grepl("[", columns, fixed = TRUE)]
  out <- summary.gibbsite_fit(
    object, variables = variables %||% scalars, probs = probs, ...
  )
  attr(out, "topics") <- top_terms(object, 7)
  class(out) <- c("lda_summary", class(out))
  out
}

#' @export
print.lda_summary <- function(x, ...) {
  NextMethod()
  topics <- attr(x, "topics")
  if (!is.null(topics)) {
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

#' @export
as.data.frame.lda_summary <- function(x, ...) {
  attr(x, "topics") <- NULL
  class(x) <- setdiff(class(x), "lda_summary")
  as.data.frame(x, ...)
}

# Numbers of topics differ between chains; nothing else depends on them.
#' @exportS3Method
model_labelled.lda_model <- function(model, invariants) {
  setdiff(
    grep("^(size|theta|phi|z)\\[", model$columns, value = TRUE), invariants
  )
}

#' Tidy a topic model
#'
#' @param x A fit made by [gibbs_lda()].
#' @param matrix `NULL` (default): one row for each stored quantity, as for
#'   every fit. `"phi"`: one row for each topic and term; `"theta"`: one row for
#'   each document and topic, both as in [topic_estimates()].
#' @param conf.level As in [tidy.gibbsite_fit()].
#' @param chain As in [topic_estimates()].
#' @param ... Not used.
#' @return A data frame; for `"phi"` with the columns `topic`, `term`,
#'   `estimate` and `std.error`, for `"theta"` with `document`, `topic`,
#'   `estimate` and `std.error`.
#' @section Errors: As for [topic_estimates()].
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' head(tidy(fit, matrix = "phi"))
#' @export
tidy.gibbs_lda <- function(x, matrix = NULL, conf.level = 0.95, chain = NULL,
                           ...) {
  check_no_more(...)
  if (is.null(matrix)) {
    return(tidy.gibbsite_fit(x, conf.level = conf.level))
  }
  matrix <- check_choice(matrix, c("phi", "theta"))
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
  cbind(names, estimate = as.vector(mean), std.error = as.vector(sd))
}

#' Distances between topics
#'
#' The Hellinger distance \eqn{\sqrt{1 - \sum_w \sqrt{\phi_{tw} \phi_{sw}}}}{
#' sqrt(1 - sum_w sqrt(phi_tw phi_sw))} between the mean distributions of each
#' two topics: 0 for the same, 1 for no term in common.
#'
#' @inheritParams topic_estimates
#' @return An object of class `dist`.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' topic_distances(fit)
#' @export
topic_distances <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  check_lda(fit)
  hellinger(estimate_topics(fit, chain)$phi)
}

hellinger <- function(phi) {
  affinity <- tcrossprod(sqrt(phi))
  distance <- sqrt(pmax(1 - affinity, 0))
  diag(distance) <- 0
  stats::as.dist(distance)
}

# ---- stored draws ------------------------------------------------------------

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
  # read by place: names of so many columns are slow
  columns <- which(startsWith(model$columns, paste0(block, "[")))
  values <- unname(draws[s, columns])
  if (block == "phi") matrix(values, k, V) else t(matrix(values, D, k))
}

alpha_of_draw <- function(model, draws, s) {
  if ("alpha" %in% model$columns) draws[[s, "alpha"]] else model$prior$alpha
}

# ---- new documents -----------------------------------------------------------

# The topics on which new documents are folded in: for each chain the mean phi
# and alpha, or `draws` draws of them where phi was stored.
fold_in_topics <- function(fit, draws, call, topics = chain_topics(fit)) {
  model <- fit_part(fit, "model")
  matrices <- chain_matrices(fit)
  if (!"phi" %in% model$keep) {
    return(lapply(seq_along(topics), function(c) {
      alpha <- if ("alpha" %in% model$columns) {
        mean(matrices[[c]][, "alpha"])
      } else {
        model$prior$alpha
      }
      list(chain = c, phi = topics[[c]]$phi, alpha = alpha)
    }))
  }
  all <- do.call(rbind, matrices)
  rows <- spread_rows(min(draws, nrow(all)), nrow(all), call)
  per_chain <- nrow(matrices[[1L]])
  lapply(rows, function(s) {
    list(
      chain = (s - 1L) %/% per_chain + 1L,
      phi = block_of_draw(model, all, s, "phi"),
      alpha = alpha_of_draw(model, all, s)
    )
  })
}

#' Topics of documents
#'
#' The shares \eqn{\theta} of topics in the documents of the fit, or in new
#' documents. For new documents a Gibbs chain of their tokens' topics runs
#' conditional on the topics of the fit, \eqn{\theta} being integrated out:
#' \eqn{P(z_i = t \mid z_{-i}) \propto (n_{dt}^{-i} + \alpha_t) \phi_{t w_i}}{
#' P(z_i = t | z_-i) proportional to (n_dt^-i + alpha_t) phi_{t w_i}}. The fit
#' itself is not changed by them.
#'
#' The chain runs once for each chain of the fit, given the posterior mean of
#' \eqn{\phi} and \eqn{\alpha}; where `keep = "phi"` stored the draws, once for
#' each of `draws` of them, so that their uncertainty is part of the result.
#' The chains' topics are matched as in [topic_estimates()], whose numbers of
#' topics the result has.
#'
#' @param object A fit made by [gibbs_lda()].
#' @param newdata `NULL` for the documents of the fit, or new ones in any form
#'   that [gibbs_lda()] takes. Terms are matched by name; those that the fit
#'   does not know are left out, with a message. A document without a known term
#'   has the prior.
#' @param type `"mean"` (default): posterior means; `"sd"`: posterior standard
#'   deviations; `"draws"`: draws of \eqn{\theta}.
#' @param draws Whole number (default 100): how many draws, for
#'   `type = "draws"`, and of how many stored draws of \eqn{\phi} to make use.
#' @param burnin,sweeps Whole numbers: sweeps of the chain that are left out,
#'   and that follow.
#' @param ... Not used.
#' @return A matrix, documents x topics; for `"draws"` an array, draws x
#'   documents x topics. Random numbers come from R's generator.
#' @section Errors: `gibbsite_error_argument` for counts that are none, and for
#'   a fit without its data or draws of \eqn{\theta} when they are asked for.
#' @examples
#' corpus <- sim_lda(60, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x[1:50, ], 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' round(predict(fit, corpus$x[51:53, ]), 2)
#' @export
predict.gibbs_lda <- function(object, newdata = NULL,
                              type = c("mean", "sd", "draws"), draws = 100,
                              burnin = 50, sweeps = 100, ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  type <- check_choice(type, c("mean", "sd", "draws"))
  draws <- check_count(draws)
  burnin <- check_count(burnin, min = 0, max = 1e6)
  sweeps <- check_count(sweeps, max = 1e6)
  if (is.null(newdata)) {
    return(fitted_shares(object, type, draws, call))
  }
  tokens <- lda_newdata(object, newdata, "keep", call)
  k <- fit_part(object, "model")$k
  topics <- chain_topics(object)
  jobs <- fold_in_topics(object, draws, call, topics)
  order <- match_topics(object, topics)$order
  names <- list(tokens$documents, topic = as.character(seq_len(k)))
  if (type == "draws") {
    check_result_size(
      c(draws, length(tokens$documents), k), "draws x documents x topics",
      "{.arg draws}", call
    )
    # the jobs in turn, so that each has its share of the draws
    turn <- rep_len(seq_along(jobs), draws)
    out <- vapply(turn, function(j) {
      fold_in_once(tokens, jobs[[j]], order, burnin, 1L)$theta
    }, matrix(0, length(tokens$documents), k))
    out <- aperm(array(out, c(length(tokens$documents), k, draws)),
                 c(3L, 1L, 2L))
    dimnames(out) <- c(list(draw = NULL), names)
    return(out)
  }
  results <- lapply(jobs, fold_in_once, tokens = tokens, order = order,
                    burnin = burnin, sweeps = sweeps)
  pooled <- pool(
    length(results), function(j) results[[j]]$mean,
    function(j) pmax(results[[j]]$square - results[[j]]$mean^2, 0)
  )
  out <- pooled[[type]]
  dimnames(out) <- names
  out
}

# One run of the chain of new documents: theta (a draw), mean and square,
# documents x topics in the order of topic_estimates().
fold_in_once <- function(tokens, job, order, burnin, sweeps) {
  if (length(tokens$word) == 0L) {
    return(prior_shares(length(tokens$documents), job, order))
  }
  result <- lda_fold_in(
    tokens$word, tokens$start, job$phi, job$alpha, sweeps, burnin
  )
  lapply(result, function(x) t(x)[, order[job$chain, ], drop = FALSE])
}

# The same for documents without a word, which have the prior: its mean and
# second moments.
prior_shares <- function(documents, job, order) {
  k <- nrow(job$phi)
  alpha <- rep_len(job$alpha, k)[order[job$chain, ]]
  total <- sum(alpha)
  mean <- alpha / total
  square <- alpha * (alpha + 1) / (total * (total + 1))
  rows <- function(x) matrix(x, documents, k, byrow = TRUE)
  list(
    theta = sim_dirichlet(documents, alpha), mean = rows(mean),
    square = rows(square)
  )
}

fitted_shares <- function(fit, type, draws, call) {
  if (type != "draws") {
    part <- c(mean = "theta", sd = "theta_sd")[[type]]
    return(topic_estimates(fit)[[part]])
  }
  check_kept(fit, "theta", call)
  model <- fit_part(fit, "model")
  all <- do.call(rbind, chain_matrices(fit))
  rows <- spread_rows(min(draws, nrow(all)), nrow(all), call)
  order <- match_topics(fit)$order
  per_chain <- nrow(all) / nrow(order)
  out <- vapply(rows, function(s) {
    theta <- t(block_of_draw(model, all, s, "theta"))
    theta[, order[(s - 1) %/% per_chain + 1, ], drop = FALSE]
  }, matrix(0, length(model$documents), model$k))
  out <- array(out, c(length(model$documents), model$k, length(rows)))
  out <- aperm(out, c(3L, 1L, 2L))
  dimnames(out) <- list(
    draw = NULL, model$documents, topic = as.character(seq_len(model$k))
  )
  out
}

#' Held-out perplexity
#'
#' How well a fit predicts documents that it has not seen: the exponential of
#' the negative mean log probability of a token. The lower the better; the
#' number of terms is that of a guess with equal probabilities.
#'
#' * `"completion"` (document completion): the tokens of each document are split
#'   at random in two halves. A chain as in [predict.gibbs_lda()] on the first
#'   half gives the posterior of the shares \eqn{\theta_d}; the second half is
#'   scored by the posterior mean of \eqn{\sum_t \theta_{dt} \phi_{tw}}{sum_t
#'   theta_dt phi_tw}, over that chain and over the topics of all chains of the
#'   fit. Half of each document thus informs on its topics, and no token is
#'   scored that helped to find them.
#' * `"left_to_right"` (Wallach et al. 2009, algorithm 3): an unbiased estimate
#'   of the probability of each whole document given \eqn{\phi} and
#'   \eqn{\alpha}, by `particles` particles. Its time grows with the square of
#'   the documents' length.
#'
#' @inheritParams topic_estimates
#' @param newdata Documents that were not part of the fit, in any form that
#'   [gibbs_lda()] takes.
#' @param method `"completion"` (default) or `"left_to_right"`.
#' @param draws Whole number (default 100): of how many stored draws of
#'   \eqn{\phi} to make use, where `keep = "phi"` stored them; otherwise the
#'   posterior mean of each chain serves.
#' @param burnin,sweeps Whole numbers: for `"completion"`, sweeps of the chain
#'   that are left out, and that follow.
#' @param particles Whole number: for `"left_to_right"`.
#' @return A data frame of one row: `perplexity`, `se` (its standard error over
#'   documents), `log_lik` (mean log probability of a token), `tokens` and
#'   `documents` (that were scored) and `method`. Random numbers come from R's
#'   generator.
#' @section Errors: `gibbsite_error_argument` for counts that are none, and for
#'   documents none of which can be scored.
#' @references
#' Wallach HM, Murray I, Salakhutdinov R, Mimno D (2009). Evaluation methods for
#' topic models. *ICML* 26, 1105-1112. \doi{10.1145/1553374.1553515}
#' @examples
#' corpus <- sim_lda(60, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x[1:50, ], 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' held_out_perplexity(fit, corpus$x[51:60, ])
#' @export
held_out_perplexity <- function(fit, newdata,
                                method = c("completion", "left_to_right"),
                                draws = 100, burnin = 50, sweeps = 100,
                                particles = 20) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_unlocked(call)
  check_lda(fit)
  method <- check_choice(method, c("completion", "left_to_right"))
  draws <- check_count(draws)
  burnin <- check_count(burnin, min = 0, max = 1e6)
  sweeps <- check_count(sweeps, max = 1e6)
  particles <- check_count(particles, max = 1e6)
  if (missing(newdata) || is.null(newdata)) {
    abort_argument("{.arg newdata} is needed: documents not in the fit.")
  }
  tokens <- lda_newdata(fit, newdata, "keep", call)
  jobs <- fold_in_topics(fit, draws, call)
  scored <- switch(method,
    completion = complete_documents(tokens, jobs, burnin, sweeps),
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

# Log probability of each document's second half and its number of tokens.
complete_documents <- function(tokens, jobs, burnin, sweeps) {
  halves <- split_documents(tokens)
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
  sums_of(log(probability), document, length(tokens$documents))
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
    tokens = document_lengths_of(tokens)
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

# ---- checks ------------------------------------------------------------------

#' Coherence of topics
#'
#' How often the top terms of a topic occur in the same documents. With
#' \eqn{D(w)} documents that have term \eqn{w}, \eqn{D(v, w)} that have both, of
#' \eqn{D} in all, and the top terms \eqn{w_1, \dots, w_n}, most probable first:
#'
#' * `umass` (Mimno et al. 2011): \eqn{\sum_{m = 2}^n \sum_{l < m} \log
#'   \frac{D(w_m, w_l) + 1}{D(w_l)}}{sum_{l < m} log((D(w_m, w_l) + 1) /
#'   D(w_l))};
#' * `npmi` (Bouma 2009; Lau et al. 2014): the mean over pairs of \eqn{\log
#'   \frac{p(v, w)}{p(v) p(w)} / (-\log p(v, w))}{log(p(v, w) / (p(v) p(w))) /
#'   (-log p(v, w))} with \eqn{p = D(\cdot) / D}{p = D(.) / D}, between -1
#'   (never together) and 1 (always).
#'
#' @inheritParams topic_estimates
#' @param n Whole number, at least 2 (default 10): how many top terms.
#' @param x `NULL` for the documents of the fit, or others in which the terms
#'   are to be counted.
#' @return A data frame with the columns `topic`, `umass`, `npmi` and `terms`.
#'   The higher the more coherent.
#' @section Errors: As for [topic_estimates()]; a fit without its data needs
#'   `x`.
#' @references
#' Mimno D, Wallach H, Talley E, Leenders M, McCallum A (2011). Optimizing
#' semantic coherence in topic models. *EMNLP*, 262-272.
#'
#' Bouma G (2009). Normalized (pointwise) mutual information in collocation
#' extraction. *GSCL*, 31-40.
#'
#' Lau JH, Newman D, Baldwin T (2014). Machine reading tea leaves. *EACL*,
#' 530-539. \doi{10.3115/v1/E14-1056}
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' coherence(fit, 5)
#' @export
coherence <- function(fit, n = 10, x = NULL, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_lda(fit)
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

#' Log-likelihood and replicated documents of a topic model
#'
#' `log_lik()` gives the log probability of each document's tokens,
#' \eqn{\sum_i \log \sum_t \theta_{dt} \phi_{t w_i}}{sum_i log sum_t theta_dt
#' phi_{t w_i}}, under each draw; for new documents \eqn{\theta} is integrated
#' out, by the left-to-right estimate of [held_out_perplexity()].
#' `posterior_predict()` draws new words for the documents of the fit, as many
#' as they have. To compare numbers of topics, [held_out_perplexity()] on
#' documents left out of the fit serves better than `loo()`: a document has
#' parameters of its own.
#'
#' @param object A fit made by [gibbs_lda()] with `keep = c("theta", "phi")`
#'   (for new documents `keep = "phi"`).
#' @param newdata `NULL` for the documents of the fit, or new ones.
#' @param draws `NULL` for all draws, or a whole number: so many, spread evenly
#'   over the chains' draws.
#' @param particles Whole number: see [held_out_perplexity()].
#' @param ... Not used.
#' @return `log_lik()`: a matrix, draws x documents. `posterior_predict()`: a
#'   list with a sparse matrix of counts (documents x terms) for each draw.
#' @section Errors: `gibbsite_error_argument` where draws were not stored, for
#'   more draws than there are, and for a fit without its data.
#' @examples
#' corpus <- sim_lda(20, k = 3, terms = 30, tokens = 40)
#' fit <- gibbs_lda(corpus$x, 3, draws = 50, burnin = 200, chains = 2,
#'   seed = 1, keep = c("theta", "phi"), progress = FALSE
#' )
#' dim(log_lik(fit))
#' posterior_predict(fit, draws = 1)[[1]][1:3, 1:6]
#' @name lda-checks
#' @export
log_lik.gibbs_lda <- function(object, newdata = NULL, draws = NULL,
                              particles = 20, ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  particles <- check_count(particles, max = 1e6)
  model <- fit_part(object, "model")
  check_kept(object, if (is.null(newdata)) c("theta", "phi") else "phi", call)
  tokens <- lda_newdata(object, newdata, "keep", call)
  all <- do.call(rbind, chain_matrices(object))
  rows <- spread_rows(draws, nrow(all), call)
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
  out
}

#' @rdname lda-checks
#' @export
posterior_predict.gibbs_lda <- function(object, draws = NULL, ...) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(object, "model")
  check_kept(object, c("theta", "phi"), call)
  tokens <- lda_tokens(object, NULL, call)
  all <- do.call(rbind, chain_matrices(object))
  rows <- spread_rows(draws, nrow(all), call)
  lapply(rows, function(s) {
    new_documents(
      tokens, block_of_draw(model, all, s, "theta"),
      block_of_draw(model, all, s, "phi")
    )
  })
}

# theta: k x D, phi: k x V.
new_documents <- function(tokens, theta, phi) {
  lengths <- document_lengths_of(tokens)
  document <- document_of_token(tokens)
  z <- unlist(lapply(seq_along(lengths), function(d) {
    sample.int(nrow(theta), lengths[[d]], replace = TRUE, prob = theta[, d])
  }))
  word <- draw_words(z, phi)
  Matrix::sparseMatrix(
    i = document, j = word, x = 1, dims = c(length(lengths), ncol(phi)),
    dimnames = list(tokens$documents, tokens$terms)
  )
}

# ---- LDAvis ------------------------------------------------------------------

#' A fit for LDAvis
#'
#' The arguments that `LDAvis::createJSON()` takes, by their names there.
#'
#' @inheritParams topic_estimates
#' @return A list: `phi` (topics x terms), `theta` (documents x topics),
#'   `doc.length`, `vocab` and `term.frequency`.
#' @section Errors: As for [topic_estimates()]; the fit must hold its data.
#' @references
#' Sievert C, Shirley K (2014). LDAvis: a method for visualizing and
#' interpreting topics. *Workshop on Interactive Language Learning*, 63-70.
#' \doi{10.3115/v1/W14-3110}
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' str(ldavis_data(fit))
#' @export
ldavis_data <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_lda(fit)
  tokens <- lda_tokens(fit, NULL, call)
  topics <- topic_estimates(fit, chain)
  # its sums must be one to the last bit that it looks at
  list(
    phi = topics$phi / rowSums(topics$phi),
    theta = topics$theta / rowSums(topics$theta),
    doc.length = document_lengths_of(tokens), vocab = tokens$terms,
    term.frequency = tabulate(tokens$word, length(tokens$terms))
  )
}

# ---- pictures ----------------------------------------------------------------

#' Plot a topic model
#'
#' `"terms"`: the most probable terms of each topic, with intervals of two
#' posterior standard deviations. `"prevalence"`: each topic's share of all
#' tokens with the interval that holds it with probability `level`, and its top
#' terms. `"map"`: the topics in the plane, so that their Hellinger distances
#' are kept as well as can be ([stats::cmdscale()]), with areas in proportion to
#' their shares.
#'
#' @param x A fit made by [gibbs_lda()].
#' @param type `"terms"` (default), `"prevalence"`, `"map"`, or types of
#'   [plot.gibbsite_fit()], such as `"trace"`.
#' @param topics Which topics, for `"terms"`; by default the largest twelve.
#' @param n Whole number: how many terms.
#' @param level Number between 0 and 1, for `"prevalence"`.
#' @param chain As in [topic_estimates()].
#' @param variables As in [plot.gibbsite_fit()].
#' @param ... Passed to [plot.gibbsite_fit()]; otherwise not used.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type` or topic.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' plot(fit)
#' plot(fit, type = "prevalence")
#' @export
plot.gibbs_lda <- function(x, type = "terms", topics = NULL, n = 10,
                           level = 0.9, chain = NULL, variables = NULL, ...) {
  call <- rlang::current_env()
  check_whole_fit(x, "x", call)
  own <- c("terms", "prevalence", "map")
  type <- check_plot_types(type, call, own)
  # one of the topics' own pictures is drawn alone
  if (length(type) > 1L && any(type %in% own)) {
    type <- check_choice(type, c(own, plot_types))
  }
  if (!type[[1L]] %in% own) {
    plot.gibbsite_fit(x, type = type, variables = variables, ...)
    return(invisible(x))
  }
  choose_variables(variables, fit_part(x, "model")$columns, call)
  check_no_more(...)
  n <- check_count(n)
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  k <- fit_part(x, "model")$k
  topics <- check_topics(topics, k, call)
  estimates <- estimate_topics(x, chain)
  switch(type[[1L]],
    terms = plot_terms(estimates, topics, n),
    prevalence = plot_prevalence(x, estimates, level, chain),
    map = plot_map(estimates)
  )
  invisible(x)
}

check_topics <- function(topics, k, call) {
  if (is.null(topics)) {
    return(seq_len(min(k, 12L)))
  }
  fine <- is.numeric(topics) && length(topics) %in% 1:30 &&
    all(topics %in% seq_len(k)) && !anyDuplicated(topics)
  if (!fine) {
    given <- describe(topics)
    abort_argument(
      "{.arg topics} must be at most 30 different numbers from 1 to {k}, not
       {given}.",
      call = call
    )
  }
  as.integer(topics)
}

plot_terms <- function(estimates, topics, n) {
  table <- as.data.frame(table_of_terms(estimates, n))
  columns <- ceiling(sqrt(length(topics) * 0.75))
  grid <- c(ceiling(length(topics) / columns), columns)
  old <- graphics::par(mfrow = grid, mar = c(2.2, 6.5, 1.8, 0.8), las = 1,
                       mgp = c(1.5, 0.4, 0), tcl = -0.2, cex = 0.7)
  on.exit(graphics::par(old))
  shown <- table[table$topic %in% topics, ]
  right <- max(shown$probability + 2 * shown$sd)
  colour <- gibbsite_palette(1L)
  for (t in topics) {
    one <- shown[shown$topic == t, ]
    at <- rev(seq_len(nrow(one)))
    graphics::plot(
      one$probability, at, type = "n", xlim = c(0, right), yaxt = "n",
      ylab = "", xlab = "", bty = "n", ylim = c(0.5, nrow(one) + 0.5)
    )
    graphics::rect(0, at - 0.35, one$probability, at + 0.35, border = NA,
                   col = grDevices::adjustcolor(colour, 0.35))
    graphics::segments(
      pmax(0, one$probability - 2 * one$sd), at, one$probability + 2 * one$sd,
      at, col = colour, lwd = 2
    )
    graphics::axis(2, at, substr(one$term, 1L, 16L), tick = FALSE)
    graphics::title(
      main = sprintf("Topic %d (%.1f%%)", t, 100 * one$share[[1L]]),
      line = 0.5, cex.main = 1, adj = 0
    )
  }
}

# Shares of the topics draw by draw, in the order of the estimates.
draws_of_shares <- function(fit, estimates, chain) {
  model <- fit_part(fit, "model")
  chains <- if (is.null(chain)) seq_along(fit) else chain
  matrices <- chain_matrices(fit)[chains]
  do.call(rbind, lapply(seq_along(matrices), function(c) {
    columns <- paste0("size[", estimates$order[c, ], "]")
    unname(matrices[[c]][, columns, drop = FALSE]) / model$nobs
  }))
}

plot_prevalence <- function(fit, estimates, level, chain) {
  shares <- draws_of_shares(fit, estimates, chain)
  shown <- seq_len(min(40L, ncol(shares)))
  bounds <- apply(
    shares[, shown, drop = FALSE], 2L, stats::quantile,
    probs = c((1 - level) / 2, (1 + level) / 2), names = FALSE
  )
  table <- as.data.frame(table_of_terms(estimates, 4L))
  words <- vapply(shown, function(t) {
    paste(table$term[table$topic == t], collapse = " ")
  }, "")
  label <- paste(shown, words)
  old <- graphics::par(
    mar = c(4, min(22, 1 + 0.5 * max(nchar(label))), 1, 1), las = 1,
    mgp = c(2.2, 0.6, 0), cex = if (length(shown) > 20) 0.6 else 0.85
  )
  on.exit(graphics::par(old))
  at <- rev(shown)
  colour <- gibbsite_palette(1L)
  graphics::plot(
    estimates$share[shown], at, xlim = c(0, max(bounds)), type = "n",
    xlab = "share of all tokens", ylab = "", yaxt = "n", bty = "l"
  )
  graphics::abline(h = at, col = "grey92")
  graphics::segments(bounds[1L, ], at, bounds[2L, ], at, col = colour, lwd = 3)
  graphics::points(estimates$share[shown], at, pch = 19, col = colour)
  graphics::axis(2, at, label, tick = FALSE)
}

plot_map <- function(estimates) {
  k <- nrow(estimates$phi)
  if (k < 3L) {
    abort_argument(
      "A map needs at least 3 topics, not {k}.", call = rlang::caller_env()
    )
  }
  place <- stats::cmdscale(hellinger(estimates$phi), k = 2L)
  table <- as.data.frame(table_of_terms(estimates, 1L))
  old <- graphics::par(mar = c(1, 1, 1, 1))
  on.exit(graphics::par(old))
  limits <- apply(place, 2L, grDevices::extendrange, f = 0.15)
  graphics::plot(
    place, type = "n", axes = FALSE, xlab = "", ylab = "", asp = 1,
    xlim = limits[, 1L], ylim = limits[, 2L]
  )
  graphics::box(col = "grey80")
  radius <- 0.08 * max(diff(limits)) * sqrt(estimates$share / max(
    estimates$share
  ))
  graphics::symbols(
    place, circles = radius, inches = FALSE, add = TRUE, fg = "grey40",
    bg = grDevices::adjustcolor(gibbsite_palette(1L), 0.25)
  )
  graphics::text(place, paste(seq_len(k), table$term), cex = 0.8)
}
