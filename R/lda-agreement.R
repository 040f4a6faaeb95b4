# How far the chains of a topic model agree on what a user takes from it: the
# topics, the shares of the documents, and the fit to the text.

# Two distributions over terms count as the same topic from this affinity on. On
# texts simulated with known topics, the topics of two chains had 0.99 and more;
# with three topics too many, 0.94 and more (bench/lda.R, `agreement`).
same_topic <- 0.9

# list(affinity, documents, perplexity): the least affinity of each topic over
# the chains; the mean total variation distance between the shares of a document
# in two chains; the perplexity of each chain. `topics` with phi and theta.
topic_agreement <- function(fit, topics, matched) {
  theta <- lapply(seq_along(topics), function(chain) {
    topics[[chain]]$theta[, matched$order[chain, ], drop = FALSE]
  })
  pairs <- utils::combn(length(theta), 2L)
  distance <- apply(pairs, 2L, function(pair) {
    mean(rowSums(abs(theta[[pair[1L]]] - theta[[pair[2L]]]))) / 2
  })
  list(
    affinity = apply(matched$affinity, 2L, min), documents = mean(distance),
    perplexity = vapply(model_matrices(fit), function(draws) {
      exp(-mean(draws[, "log_lik"]))
    }, 0)
  )
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

#' @exportS3Method
model_notes.lda_model <- function(model, fit, table) {
  if (!has_topics(fit) || model$k == 1L) {
    return(NULL)
  }
  several <- length(fit) > 1L
  topics <- chain_topics(fit, c("phi", if (several) "theta"))
  sizes <- chain_sizes(fit)
  matched <- match_topics(fit, topics)
  agreement <- if (several) topic_agreement(fit, topics, matched)
  pooled <- pooled_topics(model, "phi", topics, sizes, matched)
  switched <- switched_lines(pooled$switched)
  unsure <- is.null(switched) && !table_converged(table)
  c(
    if (!is.null(agreement)) agreement_lines(agreement),
    switched,
    if (!is.null(agreement) && unsure) use_lines(agreement),
    duplicate_lines(pooled)
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
      few_words(moved), "."
    ),
    "Their means mix several topics: try fewer topics, or read a shorter run."
  )
}

# What can be used of chains that have not converged.
use_lines <- function(agreement) {
  if (all(agreement$affinity >= same_topic)) {
    return(paste(
      "The terms of the topics can be used; the quantities above are not yet",
      "exact."
    ))
  }
  c(
    "Topics that differ: use one chain (top_terms(fit, chain = 1),",
    "predict(fit, chain = 1)), or try a longer burn-in or fewer topics."
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
        paste0("; least ", two(min(affinity)), ", topic ", which.min(affinity))
      }, "."
    ),
    paste0(
      "Documents: their shares differ by ", two(agreement$documents),
      " between chains; perplexity ", paste(perplexity, collapse = " to "), "."
    )
  )
}

# Pairs of topics with the same terms, and topics with few tokens.
duplicate_lines <- function(topics) {
  k <- length(topics$share)
  affinity <- tcrossprod(sqrt(topics$phi))
  pairs <- which(affinity >= same_topic & upper.tri(affinity), arr.ind = TRUE)
  rare <- which(topics$share < 0.1 / k)
  c(
    if (nrow(pairs) > 0L) {
      paste0("Nearly the same terms: topics ",
             few_words(paste(pairs[, 1L], "and", pairs[, 2L])), ".")
    },
    if (length(rare) > 0L) {
      paste0("Hardly used (less than a tenth of an equal share): topics ",
             few_words(rare), ".")
    }
  )
}
