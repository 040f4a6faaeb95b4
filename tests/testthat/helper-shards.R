# Fits on the workers of a cluster, for the files test-*shards*.R.

# A cluster whose workers send small messages at once, and find this package.
small_cluster <- function(workers, frame = parent.frame()) {
  withr::local_options(socketOptions = "no-delay")
  cl <- parallel::makeCluster(
    workers, useXDR = FALSE,
    rscript_args = c("-e", shQuote("options(socketOptions = 'no-delay')"))
  )
  withr::defer(
    for (w in 1:workers) try(parallel::stopCluster(cl[w]), silent = TRUE), frame
  )
  cl
}

# A worker calls act() in its n-th part of a sweep, before it answers; task: the
# function that draws the part.
act_in_sweep <- function(worker, n, act, task = "ask_shard") {
  hook <- function(n, act, task) {
    inside <- asNamespace("gibbsite")
    ask <- inside[[task]]
    count <- 0
    unlockBinding(task, inside)
    assign(task, function(...) {
      count <<- count + 1
      answer <- ask(...)
      if (count == n) act()
      answer
    }, inside)
  }
  environment(hook) <- environment(act) <- globalenv()
  invisible(parallel::clusterCall(worker, hook, n, act, task))
}
