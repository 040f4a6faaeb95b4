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
