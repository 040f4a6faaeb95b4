# How far the chains of a topic model agree on what a user takes from it: the
# topics, the shares of the documents, and the fit to the text.

# Two distributions over terms count as the same topic from this affinity on. On
# texts simulated with known topics, the topics of two chains had 0.99 and more;
# with three topics too many, 0.94 and more (bench/lda.R, `agreement`).
same_topic <- 0.9

# list(affinity, documents, perplexity): the least affinity of each topic over
# the chains; the mean total variation distance between the shares of a document
# in two chains (NULL without theta); the perplexity of each chain. `topics`
# with phi and perhaps theta.
topic_agreement <- function(fit, topics, matched) {
  list(
    affinity = stats::setNames(
      apply(matched$affinity, 2L, min), topic_names(fit_part(fit, "model"))
    ),
    documents = document_distance(topics, matched),
    perplexity = vapply(model_matrices(fit), function(draws) {
      exp(-mean(draws[, "log_lik"]))
    }, 0)
  )
}

document_distance <- function(topics, matched) {
  if (is.null(topics[[1L]]$theta)) {
    return(NULL)
  }
  theta <- lapply(seq_along(topics), function(chain) {
    topics[[chain]]$theta[, matched$order[chain, ], drop = FALSE]
  })
  pairs <- utils::combn(length(theta), 2L)
  mean(apply(pairs, 2L, function(pair) {
    mean(rowSums(abs(theta[[pair[1L]]] - theta[[pair[2L]]]))) / 2
  }))
}

# How many topics are the same in all chains.
same_topics <- function(fit) {
  if (length(fit) == 1L) {
    return(fit_part(fit, "model")$k)
  }
  affinity <- match_topics(fit, chain_topics(fit, "phi"))$affinity
  sum(apply(affinity, 2L, min) >= same_topic)
}

#' @exportS3Method
model_next.lda_model <- function(model) c("top_terms(fit)", "predict(fit)")

# list(agreement, pooled, switched): how far the chains agree on the topics,
# NULL for one chain; the pooled topics; and lines on topics that changed
# places. NULL if the fit has no topics to compare.
state_of_topics <- function(fit) {
  model <- fit_part(fit, "model")
  if (!has_topics(fit) || model$k == 1L) {
    return(NULL)
  }
  several <- length(fit) > 1L
  theta <- if (several && !is_in_shards(model)) "theta"
  topics <- chain_topics(fit, c("phi", theta))
  matched <- match_topics(fit, topics)
  pooled <- pooled_topics(model, "phi", topics, chain_sizes(fit), matched)
  list(
    agreement = if (several) topic_agreement(fit, topics, matched),
    pooled = pooled,
    switched = if (!hardly_begun(fit)) switched_lines(pooled$switched)
  )
}

# Topics form in the first sweeps: before, they are neither the same nor others.
hardly_begun <- function(fit) stats::end(fit) < 100

# What several chains have in common, and the one advice that goes with it,
# whichever quantity has not converged and for whichever reason.
#' @exportS3Method
model_cause.lda_model <- function(model, fit, table, cause) {
  state <- state_of_topics(fit)
  same <- state$agreement$affinity >= same_topic
  if (is.null(state$agreement) || identical(cause$kind, "climbing") ||
        hardly_begun(fit) && !all(same)) {
    return(cause)
  }
  more <- if (all(same) && is.null(state$switched)) more_draws(table) else 0
  list(
    kind = "topics", variable = table$variable[which.max(distances(table))],
    drop = 0, more = more, lead = same_words(same),
    words = c(
      state$switched %||% use_lines(
        all(same), more,
        seconds_of_sweeps(fit, more * fit_part(fit, "running")$thin)
      ),
      if (!all(same)) common_terms_lines(model)
    ),
    call = if (more > 0) {
      paste0("extend(fit, ", digits(more), ")")
    } else {
      "top_terms(fit, chain = 1)"
    }
  )
}

#' @exportS3Method
model_notes.lda_model <- function(model, fit, table) {
  state <- state_of_topics(fit)
  lines <- if (!is.null(state$agreement)) agreement_lines(state$agreement)
  c(
    if (identical(attr(table, "cause")$kind, "topics")) {
      lines[-1L]
    } else {
      c(lines, state$switched)
    },
    if (!is.null(state)) duplicate_lines(state$pooled)
  )
}

# Topics that have lost most of their tokens to others within a chain, in any
# numbering: a running mean then mixes them.
switched_lines <- function(switched, share = 0.05) {
  moved <- which(apply(switched, 2L, max) > share)
  if (length(moved) == 0L) {
    return(NULL)
  }
  c(
    paste0(
      "Topics that changed places within a chain, in up to ",
      format(100 * max(switched), digits = 2), "% of its draws: ",
      few_words(names(moved) %||% moved), "."
    ),
    "Their means mix several topics: try fewer topics, or read a shorter run."
  )
}

# same: for each topic, whether it is the same in all chains.
same_words <- function(same) {
  other <- which(!same)
  other <- names(other) %||% other
  if (length(other) == 0L) {
    paste("All", length(same), "topics are the same in all chains.")
  } else if (!any(same)) {
    paste("None of the", length(same), "topics is the same in all chains.")
  } else {
    paste0(
      sum(same), " of ", length(same), " topics ",
      if (sum(same) == 1L) "is" else "are", " the same in all chains; ",
      if (length(other) == 1L) "topic " else "topics ", and_words(other),
      if (length(other) == 1L) " is not." else " are not."
    )
  }
}

# What can be used of chains that have not converged.
use_lines <- function(all_same, more, seconds) {
  if (all_same) {
    return(paste0(
      "The terms can be used; the other quantities are not yet precise: ",
      "extend(fit, ", digits(more), ")", cost_words(seconds), "."
    ))
  }
  c(
    paste(
      "Read the topics of one chain: top_terms(fit, chain = 1),",
      "predict(fit, chain = 1)."
    ),
    paste(
      "A longer burn-in or fewer topics may bring the chains together;",
      "more draws seldom do."
    )
  )
}

# Terms in more than three quarters of the documents are no part of any topic.
# The first 2000 documents and the ten most frequent terms are looked at.
common_terms_lines <- function(model) {
  if (is.null(model$data) || is_in_shards(model)) {
    return(NULL)
  }
  lengths <- utils::head(diff(model$data$start), 2000L)
  word <- model$data$word[seq_len(sum(lengths))]
  document <- rep(seq_along(lengths), lengths)
  count <- tabulate(word, model$data$terms)
  often <- utils::head(order(count, decreasing = TRUE), 10L)
  share <- vapply(often, function(term) {
    length(unique(document[word == term])) / sum(lengths > 0)
  }, 0)
  common <- model$terms[often[share > 0.75]]
  if (length(common) < 3L || sum(lengths > 0) < 20L) {
    return(NULL)
  }
  paste0(
    "Terms in most documents, such as ", and_words(quoted(common[1:3])),
    ", blur the topics: leave them out, by token_counts(x, max_share = 0.75)."
  )
}

agreement_lines <- function(agreement) {
  affinity <- agreement$affinity
  same <- affinity >= same_topic
  two <- function(x) formatC(x, format = "f", digits = 2)
  perplexity <- unique(format(range(agreement$perplexity), digits = 4))
  c(
    paste0(
      "Topics: ", sum(same), " of ", length(same),
      " are the same in all chains (affinity ", same_topic, " or more)",
      if (any(!same)) {
        paste0("; least ", two(min(affinity)), ", topic ",
               names(affinity)[[which.min(affinity)]])
      }, "."
    ),
    paste0(
      if (!is.null(agreement$documents)) {
        paste0("Documents: their shares differ by ", two(agreement$documents),
               " between chains; perplexity ")
      } else {
        "Perplexity "
      },
      paste(perplexity, collapse = " to "), "."
    )
  )
}

# Pairs of topics with the same terms, and topics with few tokens.
duplicate_lines <- function(topics) {
  k <- length(topics$share)
  names <- names(topics$share) %||% seq_len(k)
  affinity <- tcrossprod(sqrt(topics$phi))
  pairs <- which(affinity >= same_topic & upper.tri(affinity), arr.ind = TRUE)
  rare <- which(topics$share < 0.1 / k)
  c(
    if (nrow(pairs) > 0L) {
      paste0("Nearly the same terms: topics ",
             few_words(paste(names[pairs[, 1L]], "and", names[pairs[, 2L]])),
             ".")
    },
    if (length(rare) > 0L) {
      paste0("Hardly used (less than a tenth of an equal share): topics ",
             few_words(names[rare]), ".")
    }
  )
}
