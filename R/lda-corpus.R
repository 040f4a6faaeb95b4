# Documents in shards: read by the workers of a cluster, or sent to them.

#' Documents on several machines
#'
#' One chain of [gibbs_lda()] can run on several processes or machines, each of
#' which holds a part of the documents, a shard. `shards()` lets the workers of a
#' cluster read them, and `scatter()` sends them from this session. Both return a
#' corpus, which `gibbs_lda()` takes in the place of documents, with `method =
#' "partially_collapsed"`. `on_shards()` runs a function where the shards are.
#'
#' The draws are those of `gibbs_lda()` on one machine with the same seed, bit for
#' bit, for any number of workers, shards and threads.
#'
#' @section Running:
#' All chains run on the whole cluster, in turns; `threads` is the number in each
#' worker, and `cores` has no effect. In a sweep each worker gets \eqn{\phi} and
#' answers with counts, `4 * k * terms` bytes each way. So a cluster pays if its
#' workers' share of the documents takes much longer than this: with many tokens
#' for each term and topic. Above 5 million numbers a message says how much is
#' sent. The session needs memory for some copies of `k *
#' terms` numbers; the documents, their topics and their shares stay with the
#' workers.
#'
#' [extend()], [until()], Ctrl-C and progress are as for other fits, as long as the
#' session and the cluster go on. A worker keeps the last state of a chain and the
#' one before the last segment. So of two fits, of which one continues the other,
#' only the longer can be continued.
#'
#' With `checkpoint`, the session fetches the topics of all tokens and the sums
#' of the shares when it writes, 2 bytes for each token and 16 for each document
#' and topic, one chain after the other. The words stay where they are. So
#' [resume()] needs `data`: a corpus with any number of workers and shards, or
#' the documents themselves, if the session can hold them. They must be those of
#' the run in the same order, and the terms, too (files divided otherwise may
#' number them otherwise). A run that began on one machine, with `method =
#' "partially_collapsed"`, can go on in shards in the same way.
#'
#' A worker that ends takes its shards with it: the run then ends with an error
#' of class `gibbsite_error_chain` that names the machine. With a checkpoint, the
#' run goes on by `resume()` with a new cluster. A machine that has stopped
#' without ending its connection is silent. The run waits for it until Ctrl-C, or
#' for `options(gibbsite.worker_seconds = )` (see [running]). After Ctrl-C the
#' cluster is as good as before. Only a second Ctrl-C during one message gives
#' the cluster up.
#'
#' The fit has the topics, but not the shares of the documents: `keep = "theta"`
#' and `keep = "z"` are refused, [topic_estimates()] has no `theta`, and methods
#' that need the documents raise an error. [predict.gibbs_lda()] and
#' [held_out_perplexity()] work for new documents.
#'
#' @section Workers:
#' `cl` is a cluster of [parallel::makeCluster()], of this machine or of others
#' (by SSH). `useXDR = FALSE` makes messages about three times as fast between
#' machines with the same order of bytes. Linux delays the end of a message by
#' some 40 ms, which is much for small corpora; to avoid it, set
#' `options(socketOptions = "no-delay")` before, and make the cluster with
#' `rscript_args = c("-e", shQuote("options(socketOptions = 'no-delay')"))`.
#' The workers look for gibbsite in their
#' own libraries and in those of this session. The draws depend on how a machine
#' rounds: all must have the same versions of R and of gibbsite, and the same
#' values of `exp()`, `log()` and `lgamma()`, which is checked.
#'
#' @param cl A cluster made by [parallel::makeCluster()], or by snow from the
#'   processes of `mpirun` (`snow::getMPIcluster()`); or `NULL`: this session is the
#'   only worker, to try functions out.
#' @param files Character vector: the names of files as the workers find them. Each
#'   is a shard; the documents are in the order of the files.
#' @param read A function of one argument. `read(file)` runs on a worker, and
#'   returns documents in a form that [gibbs_lda()] takes, or `NULL` for none.
#'   It is sent with the objects that it uses (see [drop_data()]), but without
#'   those of the global environment. `f` is sent in the same way.
#' @param x Documents, in a form that [gibbs_lda()] takes.
#' @param shards Whole number, 1 or more: into how many shards of about the same
#'   number of tokens `x` is cut (default: one for each worker).
#' @param vocabulary,empty As in [gibbs_lda()]. The terms of files are matched by
#'   name; they are numbered in the order of the files.
#' @param fit A fit of such a corpus.
#' @param f A function of three arguments, `f(theta, sd, documents)`: the
#'   posterior means and standard deviations of the shares (documents x topics,
#'   over all chains, in the numbers of the fit), and the counts of terms, a sparse
#'   matrix (documents x terms).
#' @param ... Further arguments of `f`.
#' @return `shards()` and `scatter()`: an object of class `gibbsite_corpus`.
#'   `on_shards()`: a list with the value of `f` for each shard that has documents,
#'   in their order.
#' @section Errors:
#' `gibbsite_error_argument` for arguments that are not valid, and what
#' [gibbs_lda()] raises for documents that are not. `gibbsite_error_worker` for a
#' worker that does not answer or that differs from this machine, with the fields
#' `worker` and `machine`; also for an error of `read()` and `f()`.
#' @seealso [gibbs_lda()]; `vignette("topics", "gibbsite")`.
#' @examples
#' documents <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' # with two workers: cl <- parallel::makeCluster(2, useXDR = FALSE)
#' corpus <- scatter(NULL, documents$x, shards = 2)
#' fit <- gibbs_lda(corpus, 3, method = "partially_collapsed", chains = 2,
#'   draws = 100, burnin = 200, seed = 1, progress = FALSE
#' )
#' # the shares of the documents whose largest topic is the first
#' first <- on_shards(fit, function(theta, sd, documents) {
#'   theta[max.col(theta) == 1, , drop = FALSE]
#' })
#' dim(do.call(rbind, first))
#' @export
shards <- function(cl, files, read, vocabulary = NULL,
                   empty = c("error", "keep")) {
  check_needed(
    cl = "a cluster", files = "the names of files",
    read = "a function that reads a file"
  )
  call <- rlang::current_env()
  check_cluster(cl, call)
  check_files(files, call)
  check_one_argument(read, call)
  empty <- check_choice(empty, c("error", "keep"))
  cluster <- open_cluster(cl, call)
  worker <- worker_of_shards(length(files), cluster)
  id <- unique_token(this_process())
  each <- lapply(seq_len(worker_count(cluster)), function(w) {
    own <- which(worker == w)
    list(numbers = own, files = files[own])
  })
  found <- exchange(
    cluster, "read_shards",
    list(id, with_own_objects(read), vocabulary, empty), each, call, Inf
  )
  settle_corpus(cluster, id, worker, found, "files", call)
}

#' @rdname shards
#' @export
scatter <- function(cl, x, shards = max(1, length(cl)), vocabulary = NULL,
                    empty = c("error", "keep")) {
  check_needed(cl = "a cluster", x = "counts of terms, tokens or texts")
  call <- rlang::current_env()
  check_cluster(cl, call)
  shards <- check_count(shards, max = .Machine$integer.max)
  empty <- check_choice(empty, c("error", "keep"))
  counts <- as_counts(x, vocabulary, empty, arg = "x", call = call)
  scatter_counts(open_cluster(cl, call), counts, even_cuts(counts, shards), call)
}

# The numbers of documents after which a shard ends, for shards of about the same
# number of tokens.
even_cuts <- function(counts, shards) {
  total <- counts$start[[length(counts$start)]]
  wanted <- total * seq_len(shards - 1L) / shards
  c(findInterval(wanted, counts$start) - 1L, length(counts$documents))
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
    found[[worker[[s]]]] <- c(found[[worker[[s]]]], list(
      c(shard_summary(piece), list(terms = counts$terms, from = counts$from))
    ))
  }
  settle_corpus(cluster, id, worker, found, "x", call)
}

# Shards side by side are on one worker.
worker_of_shards <- function(shards, cluster) {
  as.integer(ceiling(seq_len(shards) * worker_count(cluster) / shards))
}

check_cluster <- function(cl, call) {
  if (!is.null(cl) && (!inherits(cl, "cluster") || length(cl) == 0L)) {
    abort_expected(
      cl, "a cluster made by parallel::makeCluster()", TRUE, "cl", call
    )
  }
  if (inherits(cl, "spawnedMPIcluster")) {
    abort_argument(
      c(
        "{.arg cl} must not be a cluster of MPI processes that this session has
         started.",
        i = "They would wait for ever for one that fails. Start all by
             {.code mpirun -n 3 RMPISNOW}, and use
             {.code cl <- snow::getMPIcluster()}."
      ),
      call = call
    )
  }
}

check_files <- function(files, call) {
  good <- is.character(files) && length(files) > 0L && !anyNA(files) &&
    all(nzchar(files))
  if (!good) {
    abort_expected(files, "names of files", FALSE, "files", call)
  }
  check_text(files, "files", call)
  twice <- files[duplicated(files)]
  if (length(twice) > 0L) {
    abort_argument(
      "{.arg files} must be different: {.file {twice[[1L]]}} is there more than
       once.",
      call = call
    )
  }
}

check_one_argument <- function(read, call) {
  if (!is.function(read) ||
        (!is.primitive(read) && length(formals(read)) == 0L)) {
    abort_expected(read, "a function of one argument", FALSE, "read", call)
  }
}

# The corpus, once the workers hold their shards. found: by worker, what
# shard_summary() says of each, with its terms.
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
  each <- lapply(seq_len(worker_count(cluster)), function(w) {
    list(shards[worker == w, ])
  })
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
  shards <- x$shards
  workers <- length(unique(shards$worker))
  size <- format(
    c(x$tokens, length(x$terms), length(x$start) - 1L), big.mark = ",",
    trim = TRUE
  )
  cat(
    cli::pluralize(
      "Documents in {nrow(shards)} shard{?s} on {workers} worker{?s}: {size[1]} ",
      "token{cli::qty(x$tokens)}{?s} of {size[2]} ",
      "term{cli::qty(length(x$terms))}{?s} in {size[3]} ",
      "document{cli::qty(length(x$start) - 1)}{?s}"
    ), "\n", sep = ""
  )
  invisible(x)
}

#' @rdname shards
#' @export
on_shards <- function(fit, f, ...) {
  if (has_short_names()) return(with_whole_names())
  check_needed(fit = "a fit of documents in shards", f = "a function")
  call <- rlang::current_env()
  check_lda(fit)
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
    list(corpus$id, states, order, lean, with_own_objects(f), list(...)),
    call = call, seconds = Inf
  )
  unlist(values, recursive = FALSE)
}

# ---- A worker's side ----------------------------------------------------------

read_shards <- function(id, read, vocabulary, empty, numbers, files) {
  lapply(seq_along(numbers), function(i) {
    counts <- read_shard(files[[i]], read, vocabulary, empty)
    hold_shard(id, numbers[[i]], counts)
    c(shard_summary(counts), counts[intersect("from", names(counts))],
      list(terms = counts$terms))
  })
}

read_shard <- function(file, read, vocabulary, empty) {
  tryCatch(
    {
      x <- read(file)
      if (is.null(x) || length(x) == 0L || identical(NROW(x), 0L)) {
        return(list(
          word = integer(), start = 0, documents = character(),
          terms = vocabulary %||% character()
        ))
      }
      as_counts(x, vocabulary, empty, arg = "read(file)", call = NULL)
    },
    error = function(cnd) {
      rlang::abort(paste0(
        "The file \"", file, "\" could not be read: ", conditionMessage(cnd)
      ))
    }
  )
}

shard_summary <- function(counts) list(lengths = diff(counts$start))

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
  document <- rep.int(seq_along(shard$documents), diff(shard$start))
  word[order(document, word, method = "radix")]
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
      f(theta$theta, theta$theta_sd, shard_counts(shard, model), ...)
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

shard_counts <- function(shard, model) {
  Matrix::sparseMatrix(
    i = rep.int(seq_along(shard$documents), diff(shard$start)), j = shard$word,
    x = 1, dims = c(length(shard$documents), length(model$terms)),
    dimnames = list(shard$documents, model$terms)
  )
}
