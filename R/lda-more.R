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
