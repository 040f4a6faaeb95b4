# Checkpoints of topic models whose documents are in shards.
#
# A state is stored as one machine has it: topics and sums of theta of all
# documents, in their order. So a run goes on where it is resumed, in any number
# of shards or on one machine. The model is stored without the words of the
# documents, which never come to this session. They are given again, and are
# known by the fingerprint that the shards make.

#' @exportS3Method
model_to_store.lda_shards_model <- function(model) {
  model_without_data(model_comparable(model))
}

# The elements of a state that the shards hold.
shard_elements <- c("z", "theta_sum", "theta_square", "theta_base")

#' @exportS3Method
state_to_store.lda_shards_model <- function(model, state) {
  corpus <- model$corpus
  answers <- exchange(
    corpus$cluster, "show_states", list(corpus$id, state$key, state$ticket)
  )
  parts <- unlist(answers, recursive = FALSE)
  for (name in shard_elements) {
    state[[name]] <- unlist(lapply(parts, `[[`, name))
  }
  state
}

#' @exportS3Method
state_from_store.lda_model <- function(model, state) {
  state[setdiff(names(state), c("key", "ticket"))]
}

#' @exportS3Method
state_from_store.lda_shards_model <- function(model, state) {
  if (isFALSE(state$begun)) {
    return(state)
  }
  if (is.null(state$key)) {
    # the run was on one machine
    own <- list(key = hash(list(model$data_hash, state)), ticket = "start")
    state <- append(state, own, match("z", names(state)))
  }
  shards <- model$corpus$shards
  documents <- sum(shards$documents)
  for (s in seq_len(nrow(shards))) {
    own <- c(list(z = part_of(
      state$z, shards$first[[s]], shards$tokens[[s]], model$nobs
    )), lapply(state[shard_elements[-1L]], function(x) {
      part_of(x, shards$before[[s]], shards$documents[[s]], documents)
    }))
    send_state(model, state$key, state$ticket, s, own)
  }
  stride <- pivot_stride(model)
  state$z <- as.vector(
    matrix(state$z, 2L)[, seq(1, model$nobs, by = stride)]
  )
  state[shard_elements[-1L]] <- list(numeric())
  state
}

# Of x, which has as many numbers for each of `all` items, those of `n` items
# after the first `before`.
part_of <- function(x, before, n, all) {
  width <- length(x) / all
  x[width * before + seq_len(width * n)]
}

# The model of a checkpoint for documents in another place than they were.
#' @exportS3Method
model_moved.lda_model <- function(model, data, call) {
  was <- inherits(model, "lda_shards_model")
  becomes <- inherits(data, "gibbsite_corpus")
  if (!was && !becomes) {
    return(NULL)
  }
  if (is.null(data)) {
    abort_argument(
      c(
        "{.arg data} is needed: the checkpoint does not hold the documents,
         which were in shards.",
        i = "Give a corpus made by {.fn shards} or {.fn scatter}, or the
             documents themselves."
      ),
      call = call
    )
  }
  known <- if (was) model$data_hash else shards_hash(model)
  given <- if (becomes) {
    check_corpus_run(data, model$method, NULL, NULL, call)
    check_keep_in_shards(model$keep, call)
    lda_shards_model(data, model$k, model$prior, model$method, model$keep)
  } else {
    class(model) <- setdiff(class(model), "lda_shards_model")
    set_data(model, data, call)
  }
  found <- if (becomes) given$data_hash else shards_hash(given)
  if (!identical(found, known)) {
    abort_other_data(model, call)
  }
  given
}

# The hash that a model on one machine would have in shards.
shards_hash <- function(model) {
  model$data <- data_in_shards(
    model$data, token_total(model$data), words_print(model$data$word, 0)
  )
  model_hash(model)
}

# ---- A worker's side ---------------------------------------------------------

show_states <- function(id, key, ticket) {
  states <- held_corpus(id)$chains[[key]][[ticket]]
  if (is.null(states)) {
    abort_later_state()
  }
  states
}
