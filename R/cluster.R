# The processes of a cluster of the parallel package, which work on one chain
# together: exchange() sends all of them one request, and waits for every
# answer.
#
# Why not parallel::clusterCall(): after an interrupt or the loss of a worker it
# takes the answer to an earlier call for that to the next one. So requests are
# numbered here, and late answers are dropped. Its functions that send and
# receive are used, as they have methods for each kind of cluster; they are not
# exported. The workers of mpirun have collective operations besides, which
# exchange_large() uses.

# An environment, because it counts the requests. `nodes`: a cluster of
# parallel or snow, or NULL for this process, which then is the only worker.
open_cluster <- function(nodes, call) {
  cluster <- new.env(parent = emptyenv())
  cluster$nodes <- nodes
  # the workers may still owe answers to requests for another corpus
  cluster$token <- unique_token(this_process())
  cluster$number <- 0
  cluster$process <- this_process()
  cluster$machines <- vapply(nodes, machine_of, "")
  cluster$collective <- has_collectives(nodes)
  check_workers(cluster, call)
  cluster
}

machine_of <- function(node) {
  host <- tryCatch(node$host, error = function(cnd) NULL)
  if (is_plain_string(host)) host else "unknown"
}

worker_count <- function(cluster) max(1L, length(cluster$nodes))

# More than this takes a star of messages through this session longer than many
# sweeps take. `bytes`: in a sweep, to each worker; `of`: the numbers, a
# template.
say_traffic <- function(cluster, bytes, of) {
  workers <- if (isTRUE(cluster$collective)) 0L else length(cluster$nodes)
  if (workers > 0L && bytes > 2e7) {
    mb <- format_number(round(bytes / 1e6))
    inform_gibbsite(
      c(
        i = paste0(
          "In each sweep {mb} MB go to each of {workers} worker{?s}: ", of, "."
        ),
        i = "A cluster pays only if the workers draw for much longer than this
             takes: see {.fn shards}."
      ),
      class = "traffic"
    )
  }
}

# The value of `task`, the name of a function of this package, in each worker.
# Its arguments: `common`, and those in each[[worker]]. An error of a worker is
# raised when all have answered, or after `seconds`.
exchange <- function(cluster, task, common = list(), each = NULL,
                     call = rlang::caller_env(),
                     seconds = gibbsite_option("worker_seconds", call)) {
  arguments <- lapply(seq_len(worker_count(cluster)), function(w) {
    list(task, c(common, each[[w]]))
  })
  answers <- ask_workers(cluster, serve, arguments, call, seconds)
  answered_values(cluster, answers, call)
}

answered_values <- function(cluster, answers, call) {
  for (w in seq_along(answers)) {
    raise_failure(cluster, w, answers[[w]]$failure, call)
  }
  lapply(answers, `[[`, "value")
}

# The same with one more argument, `large`, a raw vector for all workers. The
# element `sum` of the values, `size` integers or NULL, is summed over the
# workers: list(sum, values). An interrupt waits for the collective operations.
exchange_large <- function(cluster, task, common, large, size,
                           call = rlang::caller_env()) {
  if (!cluster$collective) {
    values <- exchange(cluster, task, c(common, list(large)), call = call)
    sums <- lapply(values, `[[`, "sum")
    return(list(sum = Reduce(`+`, sums[lengths(sums) > 0L]), values = values))
  }
  seconds <- gibbsite_option("worker_seconds", call)
  arguments <- rep(
    list(list(task, common, length(large), size)), worker_count(cluster)
  )
  sum <- NULL
  answers <- ask_workers(
    cluster, serve_together, arguments, call, seconds, function() {
      broadcast(large)
      sum <<- sum_to_first(integer(size))
    }
  )
  list(sum = sum, values = answered_values(cluster, answers, call))
}

# The value of f(number, ...), a list with the number of the request, in each
# worker, with arguments[[worker]]. `meanwhile`: what this process does when all
# have the request.
ask_workers <- function(cluster, f, arguments, call, seconds,
                        meanwhile = NULL) {
  check_connected(cluster, call)
  cluster$number <- cluster$number + 1
  number <- paste(cluster$token, cluster$number)
  nodes <- cluster$nodes
  if (is.null(nodes)) {
    return(list(do.call(f, c(number, arguments[[1L]]), quote = TRUE)))
  }
  for (w in seq_along(nodes)) {
    reached(cluster, w, whole_message(
      send_request(nodes[[w]], f, c(number, arguments[[w]]))
    ), call)
  }
  if (!is.null(meanwhile)) whole_message(meanwhile())
  lapply(seq_along(nodes), function(w) {
    reached(cluster, w, receive_answer(nodes[[w]], number, seconds), call)
  })
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
    interrupt = function(cnd) list(failure = list(class = "interrupt"))
  )
  c(list(number = number), value)
}

# A worker's part in exchange_large() by MPI. It takes part in both operations
# whatever fails, as all others wait for it.
serve_together <- function(number, task, common, bytes, size) {
  large <- broadcast(raw(bytes))
  answer <- serve(number, task, c(common, list(large)))
  sum_to_first(answer$value$sum %||% integer(size))
  answer$value["sum"] <- NULL
  answer
}

of_parallel <- function(name) get(name, envir = asNamespace("parallel"))

# ---- MPI ---------------------------------------------------------------------

# The cluster that snow makes under mpirun has loaded Rmpi in all processes.
of_mpi <- function(name) get(name, envir = asNamespace("Rmpi"))

# The communicator of all processes of mpirun; this one has rank 0.
world <- 0L

is_mpi <- function(node) inherits(node, "MPInode")

# Collective operations need all processes: not a part of the cluster.
has_collectives <- function(nodes) {
  length(nodes) > 0L && all(vapply(nodes, is_mpi, NA)) &&
    all(vapply(nodes, `[[`, 0, "comm") == world) &&
    of_mpi("mpi.comm.size")(world) == length(nodes) + 1L
}

# `x`, a raw vector, of the first process.
broadcast <- function(x) of_mpi("mpi.bcast")(x, 4L, 0L, world)

# The sum over all processes of `x`, integers, in the first process.
sum_to_first <- function(x) of_mpi("mpi.reduce")(x, 1L, "sum", 0L, world)

# Rmpi's own wait cannot be interrupted.
await_rank <- function(node, last) {
  pause <- 1e-5
  while (!of_mpi("mpi.iprobe")(node$rank, node$RECVTAG, node$comm)) {
    if (now() >= last) {
      return(FALSE)
    }
    Sys.sleep(pause)
    pause <- min(2 * pause, 0.01)
  }
  TRUE
}

# ---- Messages ----------------------------------------------------------------

send_request <- function(node, f, arguments) {
  if (is_mpi(node)) {
    # what snow sends, but without gc() after each message
    request <- list(type = "EXEC", data = list(
      fun = f, args = arguments, return = TRUE, tag = NULL
    ), tag = NULL)
    return(of_mpi("mpi.send")(
      serialize(request, NULL), 4L, node$rank, node$SENDTAG, node$comm
    ))
  }
  of_parallel("sendCall")(node, f, arguments)
}

# An interrupt ends the wait for an answer.
receive_answer <- function(node, number, seconds) {
  last <- now() + seconds
  repeat {
    if (!await_answer(node, last)) {
      abort_state("it was silent for {format_number(seconds)} seconds")
    }
    answer <- whole_message(of_parallel("recvResult")(node))
    if (is.list(answer) && identical(answer[["number"]], number)) {
      return(answer)
    }
  }
}

# Is there a message before the time `last`?
await_answer <- function(node, last) {
  if (is_mpi(node)) {
    return(await_rank(node, last))
  }
  if (inherits(node, c("SOCKnode", "SOCK0node"))) {
    while (!socketSelect(list(node$con), timeout = wait_until(last))) {
      if (now() >= last) {
        return(FALSE)
      }
    }
  }
  TRUE
}

wait_until <- function(last) max(0, min(60, last - now()))

# Evaluates `code`, which sends or receives one message. An interrupt is raised
# when this is done, since the rest of a message would be taken for the next
# one. The second interrupt gives the worker up.
whole_message <- function(code) {
  interrupts <- 0
  value <- tryCatch(
    withCallingHandlers(code, interrupt = function(cnd) {
      interrupts <<- interrupts + 1
      if (interrupts == 1) tryInvokeRestart("resume")
    }),
    interrupt = function(cnd) abort_state("a message was cut by an interrupt")
  )
  if (interrupts > 0) rlang::interrupt()
  value
}

# Evaluates `code`, which talks to worker w.
reached <- function(cluster, w, code, call) {
  tryCatch(code, error = function(cnd) {
    reason <- sub("[.]$", "", cli::ansi_strip(conditionMessage(cnd)))
    cluster$lost <- list(worker = w, reason = reason)
    abort_lost(cluster, call)
  })
}

# After this no request is made: the next answers would be unknown ones, and a
# worker that is silent would not answer the next one either.
abort_lost <- function(cluster, call) {
  w <- cluster$lost$worker
  abort_state(
    c(
      "Worker {w} of the cluster (on {cluster$machines[[w]]}) does not answer:
       {cluster$lost$reason}.",
      i = "A worker that has ended takes its data with it: make a new cluster,
           and give it the data again."
    ),
    call = call, class = "worker", worker = w, machine = cluster$machines[[w]]
  )
}

raise_failure <- function(cluster, w, failure, call) {
  if (is.null(failure)) {
    return(invisible())
  }
  # Ctrl-C in a terminal reaches the workers of this machine, too
  if (identical(failure$class, "interrupt")) {
    rlang::interrupt()
    # if interrupts are suspended
    failure$message <- "It was interrupted."
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
        "The data are on a cluster of another session.",
        i = "Make a cluster in this one, and give it the data again."
      ),
      call = call, class = "worker"
    )
  }
  if (!is.null(cluster$lost)) {
    abort_lost(cluster, call)
  }
}

# ---- Are all workers alike? --------------------------------------------------

# Draws are the same for any number of workers only if all round alike.
check_workers <- function(cluster, call) {
  nodes <- cluster$nodes
  if (is.null(nodes)) {
    return(invisible())
  }
  found <- ask_workers(
    cluster, find_package, rep(list(list(.libPaths())), length(nodes)), call,
    Inf
  )
  for (w in seq_along(nodes)) {
    if (cluster$machines[[w]] == "unknown") {
      cluster$machines[[w]] <- found[[w]]$machine
    }
    if (!isTRUE(found[[w]]$value)) {
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
find_package <- function(number, paths) {
  .libPaths(unique(c(paths, .libPaths())))
  list(
    number = number, value = requireNamespace("gibbsite", quietly = TRUE),
    machine = Sys.info()[["nodename"]]
  )
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

# ---- What a worker holds -----------------------------------------------------

# Corpora by their id, each an environment. Of documents: `shards`, a list by
# the shard's number of list(word, start, documents, first_document,
# first_token); `chains`, by key, the states of the shards by ticket; `working`,
# the states of the running segment. Of ratings: `users` and `items`, lists of
# parts, `prepared`, both as a model has them, and `latent`, the latent values
# of the sweep that runs.
held <- new.env(parent = emptyenv())

held_corpus <- function(id) {
  corpus <- held[[id]]
  if (is.null(corpus)) {
    rlang::abort("This worker does not hold its part of the data any more.")
  }
  corpus
}

# Shards side by side are on one worker.
worker_of_shards <- function(shards, cluster) {
  as.integer(ceiling(seq_len(shards) * worker_count(cluster) / shards))
}

# By worker, what f() gives of the numbers of its shards.
for_each_worker <- function(cluster, worker_of_shard, f) {
  lapply(seq_len(worker_count(cluster)), function(w) {
    f(which(worker_of_shard == w))
  })
}

# The numbers of rows after which a shard ends, for shards of about the same
# work. start: the work before each row, and the work in all.
even_cuts <- function(start, shards) {
  wanted <- start[[length(start)]] * seq_len(shards - 1L) / shards
  c(findInterval(wanted, start) - 1L, length(start) - 1L)
}

# Evaluates `code`, which reads a file.
reading <- function(file, code) {
  tryCatch(code, error = function(cnd) {
    rlang::abort(paste0(
      "The file \"", file, "\" could not be read: ", conditionMessage(cnd)
    ))
  })
}
