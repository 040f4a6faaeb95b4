# The processes of a cluster of the parallel package, which work on one chain
# together: exchange() sends all of them one request, and waits for every answer.
#
# Why not parallel::clusterCall(): after an interrupt or the loss of a worker it
# takes the answer to an earlier call for that to the next one. So requests are
# numbered here, and late answers are dropped. Its functions that send and
# receive are used, as they have methods for each kind of cluster; they are not
# exported. Another transport, such as MPI, needs another exchange() alone.

# An environment, because it counts the requests. `nodes`: a cluster of
# parallel, or NULL for this process, which then is the only worker.
open_cluster <- function(nodes, call) {
  cluster <- new.env(parent = emptyenv())
  cluster$nodes <- nodes
  cluster$number <- 0
  cluster$process <- this_process()
  cluster$machines <- vapply(nodes, machine_of, "")
  check_workers(cluster, call)
  cluster
}

machine_of <- function(node) {
  host <- tryCatch(node$host, error = function(cnd) NULL)
  if (is_plain_string(host)) host else "unknown"
}

worker_count <- function(cluster) max(1L, length(cluster$nodes))

# The value of `task`, the name of a function of this package, in each worker.
# Its arguments: `common`, and those in each[[worker]]. An error of a worker is
# raised when all have answered.
exchange <- function(cluster, task, common = list(), each = NULL,
                     call = rlang::caller_env()) {
  check_connected(cluster, call)
  cluster$number <- cluster$number + 1
  workers <- seq_len(worker_count(cluster))
  requests <- lapply(workers, function(w) {
    list(cluster$number, task, c(common, each[[w]]))
  })
  if (is.null(cluster$nodes)) {
    answers <- list(do.call(serve, requests[[1L]], quote = TRUE))
  } else {
    for (w in workers) {
      reached(cluster, w, send_request(cluster$nodes[[w]], requests[[w]]), call)
    }
    answers <- lapply(workers, function(w) {
      reached(
        cluster, w, receive_answer(cluster$nodes[[w]], cluster$number), call
      )
    })
  }
  for (w in workers) {
    raise_failure(cluster, w, answers[[w]]$failure, call)
  }
  lapply(answers, `[[`, "value")
}

# A worker's part. An interrupt that reaches the worker is an answer, too.
serve <- function(number, task, arguments) {
  failed <- function(cnd) {
    list(failure = list(message = conditionMessage(cnd), class = class(cnd)))
  }
  value <- tryCatch(
    list(value = do.call(
      get(task, envir = asNamespace("gibbsite")), arguments, quote = TRUE
    )),
    error = failed,
    interrupt = function(cnd) {
      list(failure = list(message = "It was interrupted.", class = character()))
    }
  )
  c(list(number = number), value)
}

of_parallel <- function(name) get(name, envir = asNamespace("parallel"))

send_request <- function(node, request) {
  of_parallel("sendCall")(node, serve, request)
}

# Waits where an interrupt cannot cut an answer in two.
receive_answer <- function(node, number) {
  repeat {
    if (inherits(node, c("SOCKnode", "SOCK0node"))) {
      while (!socketSelect(list(node$con), timeout = 60)) NULL
    }
    answer <- of_parallel("recvResult")(node)
    if (is.list(answer) && identical(answer[["number"]], number)) {
      return(answer)
    }
  }
}

# Evaluates `code`, which talks to worker w.
reached <- function(cluster, w, code, call) {
  tryCatch(code, error = function(cnd) {
    reason <- sub("[.]$", "", conditionMessage(cnd))
    abort_state(
      c(
        "Worker {w} of the cluster (on {cluster$machines[[w]]}) does not answer:
         {reason}.",
        i = "A worker that has ended takes its documents with it: make a new
             cluster, and give it the documents again."
      ),
      call = call, class = "worker", worker = w,
      machine = cluster$machines[[w]]
    )
  })
}

raise_failure <- function(cluster, w, failure, call) {
  if (is.null(failure)) {
    return(invisible())
  }
  where <- if (!is.null(cluster$nodes)) {
    paste0("Worker ", w, " (on ", cluster$machines[[w]], "): ")
  }
  message <- paste0(where, failure$message)
  classes <- c(
    if ("gibbsite_collapse" %in% failure$class) "gibbsite_collapse",
    "gibbsite_error_worker", "gibbsite_error"
  )
  rlang::abort(
    message, class = classes, call = call, worker = w,
    machine = if (!is.null(cluster$nodes)) cluster$machines[[w]]
  )
}

# Connections belong to the session that opened them.
check_connected <- function(cluster, call) {
  if (!is.null(cluster$nodes) &&
        !identical(cluster$process, this_process())) {
    abort_state(
      c(
        "The documents are on a cluster of another session.",
        i = "Make a cluster in this one, and give it the documents again."
      ),
      call = call, class = "worker"
    )
  }
}

# ---- Are all workers alike? ---------------------------------------------------

# Draws are the same for any number of workers only if all round alike.
check_workers <- function(cluster, call) {
  nodes <- cluster$nodes
  if (is.null(nodes)) {
    return(invisible())
  }
  found <- tryCatch(
    parallel::clusterCall(nodes, find_package, .libPaths()),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_state(
        "A worker of {.arg cl} does not answer: {reason}",
        call = call, class = "worker"
      )
    }
  )
  for (w in seq_along(nodes)) {
    if (!isTRUE(found[[w]])) {
      abort_unlike(cluster, w, "has no package gibbsite", call)
    }
  }
  own <- fingerprint()
  prints <- exchange(cluster, "fingerprint", call = call)
  for (w in seq_along(nodes)) {
    differs <- !mapply(identical, prints[[w]], own)
    if (any(differs)) {
      abort_unlike(
        cluster, w, paste("has another", names(own)[differs][[1L]]), call
      )
    }
  }
}

# Runs before the package is there: it must need base R alone.
find_package <- function(paths) {
  .libPaths(unique(c(paths, .libPaths())))
  requireNamespace("gibbsite", quietly = TRUE)
}
environment(find_package) <- baseenv()

fingerprint <- function() {
  x <- (1:2000) / 7
  list(
    `version of gibbsite` = as.character(utils::packageVersion("gibbsite")),
    `version of R` = as.character(getRversion()),
    `order of bytes` = .Platform$endian,
    `exp(), log() or lgamma() than this machine` = hash(
      c(exp(x / 3), exp(-x), log(x), lgamma(x))
    )
  )
}

abort_unlike <- function(cluster, w, what, call) {
  abort_state(
    c(
      "Worker {w} of {.arg cl} (on {cluster$machines[[w]]}) {what}.",
      i = "The draws depend on it: use machines that are alike, with the same
           versions installed."
    ),
    call = call, class = "worker", worker = w,
    machine = cluster$machines[[w]]
  )
}

# ---- What a worker holds -------------------------------------------------------

# Corpora by their id, each an environment: `shards`, a list by the shard's
# number of list(word, start, documents, first_document, first_token); `chains`,
# by key, the states of the shards by ticket; `working`, the states of the
# running segment.
held <- new.env(parent = emptyenv())

held_corpus <- function(id) {
  corpus <- held[[id]]
  if (is.null(corpus)) {
    rlang::abort("This worker does not hold the documents any more.")
  }
  corpus
}
