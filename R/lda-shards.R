# Topic models whose documents are in shards, in the processes of a cluster: one
# chain runs on all of them.
#
# The chain is in this session. Its sweep (src/core/lda/lda.h) draws alpha, eta
# and phi from its generator here, and sends phi with the keys of the documents'
# random numbers to the shards; each draws the topics of its documents and
# answers with counts of words, which are summed, and with log_lik by blocks of
# documents. Shards need no generator. (The other way, the whole chain in every
# worker with one sum over all, sends as much, and copies the state, the
# generator and the loop over sweeps into each worker, where they must be kept
# alike.) So a sweep differs from that of one machine only in C_lda_shard().
#
# A state here lacks z and the sums of theta. Shards keep them for the start of
# the last segment and for its end, by the state's `key` (of the chain's start)
# and `ticket`. Both follow from the run alone, so that states are the same for
# every division into shards.

lda_shards_model <- function(corpus, k, prior, method, keep) {
  model <- lda_model(
    corpus_counts(corpus), k, prior, method, keep,
    c("lda_shards_model", "lda_model")
  )
  model$data <- data_in_shards(model$data, corpus$tokens, corpus$print)
  model$data_hash <- model_hash(model)
  model$corpus <- unclass(corpus)[c("cluster", "id", "shards")]
  model$corpus$blocks <- blocks_of_shards(model)
  say_traffic(
    model$corpus$cluster, 4 * as.double(model$k) * length(model$terms),
    "{.arg k} x terms"
  )
  model
}

# The data of a model without the words of its documents. print: see
# words_print().
data_in_shards <- function(data, tokens, print) {
  data$word <- NULL
  c(data, list(tokens = as.double(tokens), print = print))
}

# What the checks of gibbs_lda() read of documents.
corpus_counts <- function(corpus) {
  list(
    word = integer(), start = corpus$start, terms = corpus$terms,
    documents = seq_len(length(corpus$start) - 1L), tokens = corpus$tokens,
    from = corpus$from
  )
}

check_corpus_run <- function(x, method, vocabulary, inits, call) {
  if (method != "partially_collapsed") {
    abort_argument(
      "{.arg method} must be \"partially_collapsed\" for documents in shards,
       not {quoted(method)}.",
      call = call
    )
  }
  if (!is.null(vocabulary)) {
    abort_argument(
      "{.arg vocabulary} is an argument of {.fn shards} and {.fn scatter} for
       documents in shards.",
      call = call
    )
  }
  if (inherits(inits, c("gibbsite_fit", "gibbsite_partial"))) {
    abort_argument(
      "{.arg inits} cannot be a fit for documents in shards.", call = call
    )
  }
  check_connected(x$cluster, call)
  corpus_counts(x)
}

check_keep_in_shards <- function(keep, call) {
  large <- intersect(keep, c("theta", "z"))
  if (length(large) > 0L) {
    abort_argument(
      c(
        "{.arg keep} cannot have {quoted(large[[1L]])} for documents in
         shards.",
        i = "{.fn on_shards} gives a function the means of theta."
      ),
      call = call
    )
  }
}

#' @exportS3Method
model_init_from_state.lda_shards_model <- function(model, state) {
  abort_argument(
    "{.arg inits} cannot be a fit of documents in shards.",
    call = rlang::caller_env()
  )
}

#' @exportS3Method
model_fold.lda_shards_model <- function(model, held, by) {
  abort_in_shards(rlang::caller_env())
}

# The documents again, for extend() of a fit without data.
#' @exportS3Method
set_data.lda_shards_model <- function(model, data, call = rlang::caller_env()) {
  if (!inherits(data, "gibbsite_corpus")) {
    abort_expected(
      data, "documents in shards, of shards() or scatter()", FALSE, "data", call
    )
  }
  lda_shards_model(data, model$k, model$prior, model$method, model$keep)
}

# ---- Blocks of documents -----------------------------------------------------

# log_lik is summed in blocks of documents, whose borders are not those of the
# shards. Of a block in two shards each gives the documents one by one.
# list(global: the number of blocks; shard: for each shard list(start: the first
# documents of its blocks, from 0; of: the numbers of the global blocks)).
blocks_of_shards <- function(model) {
  first <- .Call(C_lda_blocks, model$data)
  ends <- c(first[-1L], length(model$data$start) - 1L)
  shards <- model$corpus$shards
  own <- lapply(seq_len(nrow(shards)), function(s) {
    begin <- shards$before[[s]]
    end <- begin + shards$documents[[s]]
    inside <- which(first < end & ends > begin)
    whole <- first[inside] >= begin & ends[inside] <= end
    cut <- lapply(inside[!whole], function(b) {
      from <- max(first[[b]], begin)
      seq(from, length.out = min(ends[[b]], end) - from)
    })
    start <- as.integer(sort(c(first[inside[whole]], unlist(cut))))
    list(start = as.integer(start - begin), of = findInterval(start, first))
  })
  list(global = length(first), shard = own)
}

# Sums over blocks of what the shards give, document after document.
sum_blocks <- function(parts, blocks) {
  value <- unlist(parts)
  of <- unlist(lapply(blocks$shard, `[[`, "of"))
  sums <- numeric(blocks$global)
  sums[of] <- value
  for (b in unique(of[duplicated(of)])) {
    # not sum(), whose bits are those of wider numbers
    sums[[b]] <- Reduce(`+`, value[of == b], 0)
  }
  sums
}

# ---- The chain's side --------------------------------------------------------

#' @exportS3Method
topic_sweeps.lda_shards_model <- function(model, state, n, control) {
  corpus <- model$corpus
  exchange(
    corpus$cluster, "begin_segment", list(
      corpus$id, state$key, state$ticket, state$kept == 0,
      shard_settings(model),
      lapply(corpus$blocks$shard, `[[`, "start")
    )
  )
  last <- new.env(parent = emptyenv())
  known <- corpus$cluster$counts
  if (identical(known$at, state[c("key", "ticket")])) last$counts <- known
  run <- .Call(
    C_lda_sweeps_apart, model$data, state, n, control,
    function(request) ask_shards(model, request, control$threads, last)
  )
  if (is.null(run)) {
    return(NULL)
  }
  from <- state$ticket
  run$state$ticket <- hash(c(
    run$state[c("key", "sweep", "alpha", "eta", "kept")],
    list(run$rng)
  ))
  exchange(
    corpus$cluster, "end_segment",
    list(corpus$id, state$key, from, run$state$ticket)
  )
  corpus$cluster$counts <- c(
    list(at = run$state[c("key", "ticket")]), last$counts[count_names]
  )
  run
}

count_names <- c("table", "histogram")

# The answer of all shards. `last`: an environment with the last counts, which
# are those before the first sweep of the next segment.
ask_shards <- function(model, request, threads, last) {
  corpus <- model$corpus
  if (request$task == 0L && !is.null(last$counts)) {
    return(last$counts)
  }
  phi <- request$phi %||% raw()
  request["phi"] <- list(NULL)
  size <- if (request$task == 2L) 0 else model$k * length(model$terms)
  answers <- exchange_large(
    corpus$cluster, "ask_shard", list(corpus$id, request, threads), phi, size
  )
  if (request$task == 2L) {
    return(NULL)
  }
  values <- answers$values
  parts <- unlist(lapply(values, `[[`, "shards"), recursive = FALSE)
  of_parts <- function(name) unlist(lapply(parts, `[[`, name))
  last$counts <- list(
    table = answers$sum,
    histogram = Reduce(sum_of_unequal, lapply(values, `[[`, "histogram"))
  )
  c(last$counts, if (request$recording) {
    list(
      log_lik = sum_blocks(of_parts("log_lik"), corpus$blocks),
      log_joint = sum_blocks(of_parts("log_joint"), corpus$blocks),
      z = of_parts("z")
    )
  })
}

# The sum of two histograms, of which one may end earlier.
sum_of_unequal <- function(a, b) {
  size <- max(length(a), length(b))
  c(a, integer(size - length(a))) + c(b, integer(size - length(b)))
}

# What a shard reads of the model: no eta.
shard_settings <- function(model) {
  settings <- model$data[c("k", "terms", "method", "alpha_prior", "alpha")]
  c(settings, list(
    eta_prior = c(0, 0, 0), eta = 1, keep_theta = 0L, keep_phi = 0L,
    keep_z = 0L, keep_labels = 0L, stride = pivot_stride(model)
  ))
}

# Topics are drawn here, shard after shard, as for one machine.
#' @exportS3Method
place_topics.lda_shards_model <- function(model, z) {
  corpus <- model$corpus
  key <- hash(list(
    model$data_hash, model$k, model$prior, generator_seed(), z
  ))
  tokens <- corpus$shards$tokens
  by_word <- is.null(z) && is.matrix(model$prior$eta)
  drawn <- if (by_word) topics_by_word(model)
  for (s in seq_along(tokens)) {
    topics <- if (by_word) {
      drawn[[s]]
    } else if (is.null(z)) {
      sample.int(model$k, tokens[[s]], replace = TRUE)
    } else {
      z[corpus$shards$first[[s]] + seq_len(tokens[[s]])]
    }
    own <- c(list(z = lda_pack(topics)), no_theta)
    send_state(model, key, "start", s, own, by_word)
  }
  pivot <- (model$nobs - 1) %/% pivot_stride(model) + 1
  list(z = raw(2 * pivot), key = key, ticket = "start")
}

# From one token of the pivot to the next (lda_stride() of the core).
pivot_stride <- function(model) model$nobs %/% 1048576 + 1

# To the worker that holds shard s its state; by_word: with topics of the tokens
# of its first word, of the second, ...
send_state <- function(model, key, ticket, s, state, by_word = FALSE) {
  corpus <- model$corpus
  each <- vector("list", worker_count(corpus$cluster))
  each[[corpus$shards$worker[[s]]]] <- list(state)
  exchange(
    corpus$cluster, "place_shard", list(corpus$id, key, ticket, s, by_word),
    each
  )
}

# For each shard the topics of the tokens of its first word, of the second, ...
topics_by_word <- function(model) {
  corpus <- model$corpus
  answers <- exchange(
    corpus$cluster, "count_shard_words", list(corpus$id, length(model$terms))
  )
  # words x shards
  counts <- do.call(cbind, unlist(answers, recursive = FALSE))
  drawn <- topics_by_prior(model, rowSums(counts))
  shard <- seq_len(ncol(counts))
  parts <- lapply(seq_along(drawn), function(w) {
    split(as.integer(drawn[[w]]), factor(rep.int(shard, counts[w, ]), shard))
  })
  lapply(shard, function(s) {
    as.integer(unlist(lapply(parts, `[[`, s)))
  })
}

#' @exportS3Method
forget_topics.lda_shards_model <- function(model, state) {
  corpus <- model$corpus
  exchange(corpus$cluster, "forget_chain", list(corpus$id, state$key))
  invisible()
}

# ---- A worker's side ---------------------------------------------------------

begin_segment <- function(id, key, ticket, anew, settings, blocks) {
  corpus <- held_corpus(id)
  states <- corpus$chains[[key]][[ticket]]
  if (is.null(states)) {
    abort_later_state()
  }
  if (anew) {
    states <- lapply(states, function(state) c(state["z"], no_theta))
  }
  corpus$working <- states
  corpus$settings <- lapply(corpus$numbers, function(s) {
    shard <- corpus$shards[[s]]
    skip <- -shard$first_token %% settings$stride
    c(
      settings, shard[c("word", "start", "first_document")],
      list(block = blocks[[s]], skip = skip)
    )
  })
  invisible()
}

abort_later_state <- function() {
  rlang::abort(paste(
    "The shards hold a later state of this chain alone: another fit has",
    "gone on from it."
  ))
}

no_theta <- list(
  theta_sum = numeric(), theta_square = numeric(), theta_base = numeric()
)

# Shards without documents have no answer.
ask_shard <- function(id, request, threads, phi) {
  corpus <- held_corpus(id)
  if (length(phi) > 0L) request$phi <- phi
  table <- NULL
  histogram <- integer()
  parts <- vector("list", length(corpus$numbers))
  for (i in seq_along(corpus$numbers)) {
    if (length(corpus$settings[[i]]$start) < 2L) {
      next
    }
    answer <- interrupt_or(.Call(
      C_lda_shard, corpus$settings[[i]], corpus$working[[i]], request, threads
    ))
    corpus$working[[i]] <- answer$state
    if (request$task != 2L) {
      table <- if (is.null(table)) answer$table else table + answer$table
      histogram <- sum_of_unequal(histogram, answer$histogram)
      parts[[i]] <- answer[c("log_lik", "log_joint", "z")]
    }
  }
  if (request$task != 2L) {
    list(sum = table, histogram = histogram, shards = parts)
  }
}

end_segment <- function(id, key, from, to) {
  corpus <- held_corpus(id)
  states <- corpus$chains[[key]][from]
  states[[to]] <- corpus$working
  corpus$chains[[key]] <- states
  corpus$working <- NULL
  invisible()
}

# `state`: given to the worker that holds the shard.
place_shard <- function(id, key, ticket, s, by_word, state = NULL) {
  corpus <- held_corpus(id)
  i <- match(s, corpus$numbers)
  if (is.na(i)) {
    if (length(corpus$numbers) == 0L) {
      corpus$chains[[key]][[ticket]] <- list()
    }
    return(invisible())
  }
  if (by_word) {
    bytes <- matrix(state$z, 2L)
    bytes[, order(corpus$shards[[s]]$word)] <- bytes
    state$z <- as.vector(bytes)
  }
  if (i == 1L) {
    corpus$chains[[key]][[ticket]] <- vector("list", length(corpus$numbers))
  }
  corpus$chains[[key]][[ticket]][[i]] <- state
  invisible()
}

count_shard_words <- function(id, terms) {
  corpus <- held_corpus(id)
  lapply(corpus$numbers, function(s) tabulate(corpus$shards[[s]]$word, terms))
}

forget_chain <- function(id, key) {
  corpus <- held_corpus(id)
  corpus$chains[[key]] <- NULL
  invisible()
}

# ---- Checkpoints -------------------------------------------------------------

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

# ---- Shards as workers read them ---------------------------------------------

# Documents in shards: read by the workers of a cluster, or sent to them.

# What shards() reads.
read_corpus <- function(cluster, files, read, vocabulary, empty, call) {
  worker <- worker_of_shards(length(files), cluster)
  id <- unique_token(this_process())
  each <- for_each_worker(cluster, worker, function(own) {
    list(numbers = own, files = files[own])
  })
  found <- exchange(
    cluster, "read_shards", list(id, read, vocabulary, empty), each, call, Inf
  )
  say_split_documents(unlist(found, recursive = FALSE))
  settle_corpus(cluster, id, worker, found, "files", call)
}

# Counts in shards that end after these documents.
scatter_counts <- function(cluster, counts, ends, call = rlang::caller_env()) {
  begins <- c(0L, ends[-length(ends)])
  worker <- worker_of_shards(length(ends), cluster)
  id <- unique_token(this_process())
  found <- vector("list", worker_count(cluster))
  for (s in seq_along(ends)) {
    own <- begins[[s]] + seq_len(ends[[s]] - begins[[s]])
    start <- counts$start[c(begins[[s]], own) + 1L]
    piece <- list(
      word = counts$word[start[[1L]] + seq_len(start[[length(start)]] -
                                                 start[[1L]])],
      start = start - start[[1L]], documents = counts$documents[own]
    )
    each <- vector("list", worker_count(cluster))
    each[[worker[[s]]]] <- list(s, piece)
    exchange(cluster, "hold_shard", list(id), each, call)
    found[[worker[[s]]]] <- c(found[[worker[[s]]]], list(list(
      lengths = diff(start), terms = counts$terms, from = counts$from
    )))
  }
  settle_corpus(cluster, id, worker, found, "x", call)
}

# The corpus, once the workers hold their shards. found: by worker, of each
# shard list(lengths, terms, from): the tokens of its documents, its terms, and
# 1 if these were numbers from 1 on.
settle_corpus <- function(cluster, id, worker, found, arg, call) {
  found <- unlist(found, recursive = FALSE)
  terms <- unique(unlist(lapply(found, `[[`, "terms")))
  lengths <- lapply(found, `[[`, "lengths")
  documents <- as.double(lengths(lengths))
  tokens <- vapply(lengths, sum, 0)
  if (sum(tokens) == 0) {
    abort_argument("{.arg {arg}} has no words.", call = call, class = "empty")
  }
  if (sum(tokens) >= 2^31 || sum(documents) >= 2^31) {
    abort_argument(
      "{.arg {arg}} must have fewer than 2^31 tokens, not
       {format_number(sum(tokens))}.",
      call = call, class = "size"
    )
  }
  shards <- data.frame(
    shard = seq_along(worker), worker = worker, documents = documents,
    tokens = tokens, before = cumsum(documents) - documents,
    first = cumsum(tokens) - tokens
  )
  each <- for_each_worker(cluster, worker, function(own) list(shards[own, ]))
  prints <- exchange(cluster, "settle_shards", list(id, terms), each, call)
  counted <- Filter(function(part) length(part$lengths) > 0L, found)
  numbered <- all(vapply(counted, function(part) identical(part$from, 1), NA))
  structure(
    list(
      cluster = cluster, id = id, shards = shards, terms = terms,
      start = c(0, cumsum(unlist(lengths))), tokens = sum(tokens),
      from = if (numbered) 1, print = Reduce(`+`, prints)
    ),
    class = "gibbsite_corpus"
  )
}

#' @export
print.gibbsite_corpus <- function(x, ...) {
  workers <- length(unique(x$shards$worker))
  cat(
    "Documents in ", counted(nrow(x$shards), "shard"), " on ",
    counted(workers, "worker"), ": ", counted_in_digits(x$tokens, "token"),
    " of ", counted_in_digits(length(x$terms), "term"), " in ",
    counted_in_digits(length(x$start) - 1L, "document"), "\n", sep = ""
  )
  invisible(x)
}

#' @rdname shards
#' @export
on_shards <- function(fit, f, ...) {
  if (has_short_names()) return(with_whole_names())
  check_needed(fit = "a fit of documents in shards", f = "a function")
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_lda")
  model <- fit_part(fit, "model")
  if (!is_in_shards(model)) {
    abort_argument(
      "{.arg fit} must be a fit of documents in shards, made by {.fn shards} or
       {.fn scatter}.",
      call = call
    )
  }
  if (!is.function(f)) {
    abort_expected(f, "a function", FALSE, "f", call)
  }
  order <- match_topics(fit, chain_topics(fit, "phi", call))$order
  states <- lapply(fit_part(fit, "chains"), function(chain) {
    chain$state[c("key", "ticket", "kept")]
  })
  corpus <- model$corpus
  lean <- list(
    k = model$k, topics = model$topics, terms = model$terms,
    prior = model$prior["alpha"]
  )
  values <- exchange(
    corpus$cluster, "run_on_shards",
    list(corpus$id, states, order, lean, with_workspace(f), list(...)),
    call = call, seconds = Inf
  )
  unlist(values, recursive = FALSE)
}

# ---- A worker's side ---------------------------------------------------------

read_shards <- function(id, read, vocabulary, empty, numbers, files) {
  lapply(seq_along(numbers), function(i) {
    counts <- read_shard(files[[i]], read, vocabulary, empty)
    hold_shard(id, numbers[[i]], counts)
    list(
      lengths = diff(counts$start), terms = counts$terms, from = counts$from,
      names = names_to_compare(counts$documents)
    )
  })
}

read_shard <- function(file, read, vocabulary, empty) {
  reading(file, {
    x <- read(file)
    if (is.null(x) || length(x) == 0L || identical(NROW(x), 0L)) {
      list(
        word = integer(), start = 0, documents = character(),
        terms = vocabulary %||% character()
      )
    } else {
      as_counts(x, vocabulary, empty, arg = "read(file)", call = NULL)
    }
  })
}

# The names of a shard's documents, of very many those at its ends, where a
# table that is cut by lines has its halves. Documents without names are
# numbered in each shard.
names_to_compare <- function(documents) {
  n <- length(documents)
  if (identical(documents, as.character(seq_len(n)))) {
    return(character())
  }
  if (n > 2e5) documents[c(1L, n)] else documents
}

say_split_documents <- function(found) {
  names <- unlist(lapply(found, `[[`, "names"))
  twice <- unique(names[duplicated(names)])
  if (length(twice) > 0L) {
    count <- length(twice)
    inform_gibbsite(
      c(i = "{count} document{?s} {?has its/have their} name in several shards,
             such as {.val {twice[[1L]]}}: each part is a document of its own.
             Cut the files between documents."),
      class = "split_documents"
    )
  }
}

hold_shard <- function(id, number = NULL, counts = NULL) {
  if (is.null(held[[id]])) {
    held[[id]] <- new.env(parent = emptyenv())
    held[[id]]$numbers <- integer()
    held[[id]]$shards <- held[[id]]$chains <- list()
  }
  corpus <- held[[id]]
  if (!is.null(number)) {
    corpus$numbers <- c(corpus$numbers, number)
    corpus$shards[[number]] <- counts
  }
  invisible()
}

# The shards in the numbers of all terms, and where they stand in the corpus.
# Returns their part of a fingerprint of the words, in whole numbers.
settle_shards <- function(id, terms, own) {
  hold_shard(id)
  corpus <- held[[id]]
  print <- c(0, 0)
  for (i in seq_len(nrow(own))) {
    s <- own$shard[[i]]
    shard <- corpus$shards[[s]]
    shard$word <- sorted_words(shard, terms)
    shard$first_document <- own$before[[i]]
    shard$first_token <- own$first[[i]]
    print <- print + words_print(shard$word, shard$first_token)
    corpus$shards[[s]] <- shard[
      c("word", "start", "documents", "first_document", "first_token")
    ]
  }
  print
}

# A fingerprint of words after the first `before` tokens, in whole numbers: that
# of the corpus is the sum over its parts.
words_print <- function(word, before) {
  place <- before + seq_along(word)
  c(
    sum((word * (place %% 65521)) %% 65521),
    sum((word * (place %% 65519)) %% 65519)
  )
}

# The words of each document in rising order.
sorted_words <- function(shard, terms) {
  if (is.null(shard$terms) || identical(shard$terms, terms)) {
    return(shard$word)
  }
  word <- match(shard$terms, terms)[shard$word]
  word[order(document_of_token(shard), word, method = "radix")]
}

run_on_shards <- function(id, states, order, model, f, arguments) {
  corpus <- held_corpus(id)
  values <- lapply(seq_along(corpus$numbers), function(i) {
    shard <- corpus$shards[[corpus$numbers[[i]]]]
    if (length(shard$documents) == 0L) {
      return(NULL)
    }
    model$documents <- shard$documents
    topics <- lapply(states, function(at) {
      state <- corpus$chains[[at$key]][[at$ticket]][[i]]
      if (is.null(state)) {
        rlang::abort("The shards do not hold the states of this fit any more.")
      }
      streamed_theta(model, c(state, at["kept"]))
    })
    theta <- average_theta(model, topics, order)
    # the counts are made only if `f` reads them
    of_shard <- function(...) {
      f(theta$theta, theta$theta_sd, tokens_matrix(
        document_of_token(shard), shard$word, shard$documents, model$terms
      ), ...)
    }
    tryCatch(
      list(do.call(of_shard, arguments, quote = TRUE)),
      error = function(cnd) {
        rlang::abort(paste0(
          "`f` failed for shard ", corpus$numbers[[i]], ": ",
          conditionMessage(cnd)
        ))
      }
    )
  })
  unlist(values, recursive = FALSE)
}
