# Documents or ratings on the workers of a cluster.

#' Documents or ratings on several machines
#'
#' One chain of [gibbs_lda()] or [gibbs_bmf()] can run on several processes or
#' machines, each of which holds a part of the documents or ratings, a shard.
#' `shards()` lets the workers of a cluster read them, and `scatter()` sends
#' them from this session. Both return an object that takes the place of the
#' documents in `gibbs_lda()`, with `method = "partially_collapsed"`, or, with
#' `what = "ratings"`, of the ratings in `gibbs_bmf()`. `on_shards()` runs a
#' function where the shards of documents are.
#'
#' The draws are those of one machine with the same seed, bit for bit, for any
#' number of workers, shards and threads.
#'
#' @section Running:
#' All chains run on the whole cluster, in turns; `threads` is the number in
#' each worker, and `cores` has no effect.
#'
#' A worker that ends takes its shards with it: the run then ends with an error
#' of class `gibbsite_error_chain` that names the machine. With a checkpoint,
#' the run goes on by `resume()` with a new cluster. A machine that has stopped
#' without ending its connection is silent. The run waits for it until Ctrl-C,
#' or for `options(gibbsite.worker_seconds = )` (see [running]). After Ctrl-C
#' the cluster is as good as before. Only a second Ctrl-C during one message
#' gives the cluster up.
#'
#' @section Documents:
#' In a sweep each worker gets \eqn{\phi} and answers with counts, `4 * k *
#' terms` bytes each way. So a cluster pays if its workers' share of the
#' documents takes much longer than this: with many tokens for each term and
#' topic. Above 20 MB a message says how much is sent. The session
#' needs memory for some copies of `k * terms` numbers; the documents, their
#' topics and their shares stay with the workers.
#'
#' [extend()], [until()], Ctrl-C and progress are as for other fits, as long as
#' the session and the cluster go on. A worker keeps the last state of a chain
#' and the one before the last segment. So after [extend()] the shorter fit can
#' no longer be continued.
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
#' The fit has the topics, but not the shares of the documents: `keep = "theta"`
#' and `keep = "z"` are refused, [topic_estimates()] has no `theta`, and methods
#' that need the documents raise an error. [predict.gibbs_lda()] and
#' [held_out_perplexity()] work for new documents.
#'
#' @section Ratings:
#' Each worker has the ratings of its users and those of its items, and draws
#' their factors; the session draws the rest of a sweep. In a sweep each worker
#' gets the factors of all users and items, 8 bytes for each number, and sends
#' those of its own back. So a cluster pays if users and items have many ratings
#' each and the rank is high: the time to draw a row grows as its number of
#' ratings times the square of the rank, and what is sent as the rank. With few
#' ratings for each, or over a slow network, it does not pay. Above 20 MB a
#' message says how much is sent.
#'
#' The session holds all ratings as well, with `shards()` once they are read. So
#' the fit is that of one machine: all methods work, the checkpoint holds the
#' ratings unless `keep_data = FALSE`, and [extend()] goes on on the cluster, as
#' long as it is there. `extend(fit, data = )` and `resume(folder, data = )` go
#' on with the workers of another cluster, if `data` is made of the same ratings
#' by `scatter()` or `shards()`, or on this machine, if these are the ratings
#' themselves. `resume(folder)` goes on on this machine.
#'
#' Workers draw the latent values of ordinal ratings (`link`), the session
#' their cutpoints. Features and `method = "icm"` are refused, and so are pairs
#' of `predict_at` with users or items that are not among the ratings.
#'
#' @section Workers:
#' `cl` is a cluster of [parallel::makeCluster()], of this machine or of others
#' (by SSH). `useXDR = FALSE` makes messages about three times as fast between
#' machines with the same order of bytes. Linux delays the end of a message by
#' some 40 ms, several times in a sweep: of small data 0.1 to 0.2 s a sweep,
#' most of its time. To avoid it, set `options(socketOptions = "no-delay")`
#' before, and make the cluster with
#' `rscript_args = c("-e", shQuote("options(socketOptions = 'no-delay')"))`.
#' The workers look for gibbsite in their own libraries and in those of this
#' session. The draws depend on how a machine rounds: all must have the same
#' versions of R and of gibbsite, and the same values of `exp()`, `log()` and
#' `lgamma()`, which is checked.
#'
#' @param cl A cluster made by [parallel::makeCluster()], or by snow from the
#'   processes of `mpirun` (`snow::getMPIcluster()`); or `NULL`: this session is
#'   the only worker, to try functions out.
#' @param files Character vector: the names of files as the workers find them.
#'   Each is a shard; the documents are in the order of the files.
#' @param read A function of one argument. `read(file)` runs on a worker, and
#'   returns documents in a form that [gibbs_lda()] takes, or `NULL` for none;
#'   for ratings a data frame as [gibbs_bmf()] takes it, with the same columns
#'   in all files. It is sent with the objects that it uses (see [drop_data()]).
#'   `f` is sent in the same way.
#' @param x Documents, in a form that [gibbs_lda()] takes, or ratings, in a form
#'   that [gibbs_bmf()] takes without further arguments.
#' @param shards Whole number, 1 or more: into how many shards of about the same
#'   amount of work `x` is cut (default: one for each worker).
#' @param what `"documents"` (default) or `"ratings"`.
#' @param vocabulary,empty For documents, as in [gibbs_lda()]. The terms of
#'   files are matched by name; they are numbered in the order of the files.
#' @param fit A fit of documents in shards.
#' @param f A function of three arguments, `f(theta, sd, documents)`: the
#'   posterior means and standard deviations of the shares (documents x topics,
#'   over all chains, in the numbers of the fit), and the counts of terms, a
#'   sparse matrix (documents x terms).
#' @param ... Further arguments of `f`.
#' @return `shards()` and `scatter()`: an object of class `gibbsite_corpus`, or
#'   for ratings `gibbsite_shared_ratings`. `on_shards()`: a list with the value
#'   of `f` for each shard that has documents, in their order.
#' @section Errors:
#' `gibbsite_error_argument` for arguments that are not valid, and what
#' [gibbs_lda()] and [gibbs_bmf()] raise for documents and ratings that are not.
#' `gibbsite_error_worker` for a worker that does not answer or that differs
#' from this machine, with the fields `worker` and `machine`; also for an error
#' of `read()` and `f()`.
#' @seealso [gibbs_lda()], [gibbs_bmf()]; `vignette("topics", "gibbsite")`.
#' @examples
#' documents <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' # with two workers that do not delay messages:
#' # options(socketOptions = "no-delay")
#' # cl <- parallel::makeCluster(2, useXDR = FALSE, rscript_args =
#' #   c("-e", shQuote("options(socketOptions = 'no-delay')")))
#' # and `cl` in the place of NULL
#' corpus <- scatter(NULL, documents$x, shards = 2)
#' fit <- gibbs_lda(corpus, 3, method = "partially_collapsed", chains = 2,
#'   draws = 100, burnin = 200, seed = 1, progress = FALSE
#' )
#' # the shares of the documents whose largest topic is the first
#' first <- on_shards(fit, function(theta, sd, documents) {
#'   theta[max.col(theta) == 1, , drop = FALSE]
#' })
#' dim(do.call(rbind, first))
#'
#' ratings <- scatter(NULL, sim_bmf(40, 30, share = 0.3), what = "ratings")
#' gibbs_bmf(ratings, rank = 2, chains = 2, draws = 100, burnin = 100, seed = 1,
#'   progress = FALSE
#' )
#' @export
shards <- function(cl, files, read, vocabulary = NULL,
                   empty = c("error", "keep"),
                   what = c("documents", "ratings")) {
  check_needed(
    cl = "a cluster", files = "the names of files",
    read = "a function that reads a file"
  )
  call <- rlang::current_env()
  check_cluster(cl, call)
  check_files(files, call)
  check_one_argument(read, call)
  empty <- check_choice(empty, c("error", "keep"))
  what <- check_choice(what, c("documents", "ratings"))
  read <- with_workspace(read)
  if (what == "ratings") {
    check_ratings_alone(vocabulary, call)
    return(read_shared_ratings(open_cluster(cl, call), files, read, call))
  }
  cluster <- open_cluster(cl, call)
  read_corpus(cluster, files, read, vocabulary, empty, call)
}

#' @rdname shards
#' @export
scatter <- function(cl, x, shards = max(1, length(cl)), vocabulary = NULL,
                    empty = c("error", "keep"),
                    what = c("documents", "ratings")) {
  check_needed(cl = "a cluster", x = "documents or ratings")
  call <- rlang::current_env()
  check_cluster(cl, call)
  shards <- check_count(shards, max = .Machine$integer.max)
  empty <- check_choice(empty, c("error", "keep"))
  if (check_choice(what, c("documents", "ratings")) == "ratings") {
    check_ratings_alone(vocabulary, call)
    ratings <- as_ratings(x, arg = "x", call = call)
    return(share_ratings(open_cluster(cl, call), ratings, shards))
  }
  counts <- as_counts(x, vocabulary, empty, arg = "x", call = call)
  ends <- even_cuts(counts$start, shards)
  scatter_counts(open_cluster(cl, call), counts, ends, call)
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

check_ratings_alone <- function(vocabulary, call) {
  if (!is.null(vocabulary)) {
    abort_argument("{.arg vocabulary} is for documents, not for ratings.",
      call = call
    )
  }
}
