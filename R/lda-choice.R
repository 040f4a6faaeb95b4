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

model_tokens <- function(model) {
  list(word = model$data$word, start = model$data$start,
       documents = model$documents, terms = model$terms)
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
  few <- few_tokens_note(document_lengths_of(tokens), call)
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
