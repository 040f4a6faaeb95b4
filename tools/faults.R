# Exposes every sampler to faults (tests/testthat/helper-faults.R) and counts
# the trials in which nothing is lost. Prints a table, and fails unless this is
# so in all of them. Takes about ten minutes on two processors.
#
# Rscript tools/faults.R [share of the trials, default 1]

suppressMessages(library(gibbsite))
helper <- normalizePath("tests/testthat/helper-faults.R")
options(fault.helper = helper)
source(helper)
local_faults()

share <- as.numeric(c(commandArgs(trailingOnly = TRUE), "1")[1])
trials <- function(n) max(1L, as.integer(round(n * share)))
samplers <- names(fault_samplers)
set.seed(1)

# ---- what is tried -----------------------------------------------------------

# Each task: list(fault, sampler, run), where run() gives a value for each
# trial: "good..." if nothing was lost.
task <- function(fault, sampler, run) {
  list(fault = fault, sampler = sampler, run = run)
}

each <- function(values, f) {
  vapply(values, function(value) {
    tryCatch(f(value), error = function(cnd) conditionMessage(cnd))
  }, "", USE.NAMES = FALSE)
}

kill_tasks <- lapply(samplers, function(sampler) {
  delays <- c(runif(trials(4), 0, 0.15), runif(trials(10), 0, 0.8))
  list(
    task("kill -9 at any time", sampler, function() {
      each(delays, function(delay) killed_at_any_time(sampler, delay))
    }),
    task("kill -9 in set-up's writing", sampler, function() {
      places <- sample(count_operations(sampler), trials(6))
      each(places, function(n) killed_while_writing(sampler, n, n %% 2 == 0))
    }),
    task("kill -9 while writing", sampler, function() {
      places <- sample(30:120, trials(6))
      each(places, function(n) killed_while_writing(sampler, n, n %% 2 == 0))
    })
  )
})

interrupt_tasks <- lapply(samplers, function(sampler) {
  # a start calls the user's function twice, or some dozens of times
  slow <- if (sampler %in% c("mh", "laplace", "gibbs_sample")) 0.01 else 0.25
  list(
    task("SIGINT in starting values", sampler, function() {
      n <- trials(10)
      each(
        interrupted_at_any_time(sampler, runif(n, 0, 0.4), rep(slow, n)),
        identity
      )
    }),
    task("SIGINT at any time", sampler, function() {
      n <- trials(12)
      each(
        interrupted_at_any_time(sampler, runif(n, 0, 0.5), rep(0, n)), identity
      )
    })
  )
})

disk_tasks <- lapply(samplers, function(sampler) {
  task("full disk", sampler, function() {
    sizes <- rep(c(24, 48, 64), length.out = trials(3))
    each(sizes, function(size) survives_full_disk(sampler, size))
  })
})

two_tasks <- lapply(c("gmm", "mh"), function(sampler) {
  list(
    task("two starts at once", sampler, function() {
      each(seq_len(trials(6)), function(i) one_of_two_wins(sampler))
    }),
    task("two resumes at once", sampler, function() {
      each(seq_len(trials(6)), function(i) one_of_two_wins(sampler, TRUE))
    })
  )
})

worker_tasks <- lapply(c("gmm", "mh"), function(sampler) {
  lapply(c("multicore", "multisession"), function(engine) {
    list(
      task(paste("lost worker,", engine), sampler, function() {
        each(seq_len(trials(4)), function(i) {
          survives_lost_worker(sampler, engine)
        })
      }),
      task(paste("killed parent,", engine), sampler, function() {
        each(runif(trials(4), 0, 0.5), function(delay) {
          survives_killed_parent(sampler, engine, delay)
        })
      }),
      task(
        paste("killed parent in a long round,", engine), sampler, function() {
          each(runif(trials(4), 0.2, 1), function(delay) {
            leaves_long_round(sampler, engine, delay)
          })
        }
      )
    )
  })
})

bit_tasks <- lapply(c("gmm", "mh"), function(sampler) {
  task("flipped bit", sampler, function() {
    each(finds_flipped_bits(sampler, trials(400)), identity)
  })
})

shards_tasks <- lapply(c("session", "worker", "all"), function(whom) {
  fault <- c(
    session = "killed session of a cluster", worker = "killed worker of a cluster",
    all = "SIGINT to a cluster"
  )[[whom]]
  task(fault, "lda in shards", function() {
    each(runif(trials(6), 0, 1), function(delay) shards_go_on(whom, delay))
  })
})

# ---- all of it ---------------------------------------------------------------

flatten <- function(x) {
  if (!is.null(x$fault)) list(x) else do.call(c, lapply(x, flatten))
}
tasks <- flatten(list(
  kill_tasks, interrupt_tasks, disk_tasks, two_tasks, worker_tasks, bit_tasks,
  shards_tasks
))

began <- proc.time()[["elapsed"]]
invisible(fault_root())
# complete fits are made once, before the processes are forked
for (sampler in samplers) invisible(fault_whole(sampler))
for (sampler in c("gmm", "mh")) invisible(fault_whole(sampler, 1500))
results <- parallel::mclapply(tasks, function(task) {
  tryCatch(task$run(), error = function(cnd) conditionMessage(cnd))
}, mc.cores = 2L, mc.preschedule = FALSE)

table <- data.frame(
  fault = vapply(tasks, `[[`, "", "fault"),
  sampler = vapply(tasks, `[[`, "", "sampler"),
  survived = vapply(results, function(x) sum(grepl("^good", x)), 0L),
  tried = lengths(results),
  late = vapply(results, function(x) sum(grepl(", late$", x)), 0L)
)
print(table, row.names = FALSE, right = FALSE)
sum_of <- function(by) {
  counts <- table[c("survived", "tried", "late")]
  totals <- stats::aggregate(counts, table[by], sum)
  print(totals, row.names = FALSE, right = FALSE)
}
cat("\n")
sum_of("fault")
for (i in seq_along(tasks)) {
  bad <- results[[i]][!grepl("^good", results[[i]])]
  for (what in unique(bad)) {
    cat(sprintf(
      "Lost: %s, %s: %s (%d)\n", tasks[[i]]$fault, tasks[[i]]$sampler, what,
      sum(bad == what)
    ))
  }
}
cat(sprintf(
  "\n%d of %d survived, %.0f seconds\n", sum(table$survived), sum(table$tried),
  proc.time()[["elapsed"]] - began
))
clear_faults()
quit(status = if (all(table$survived == table$tried)) 0L else 1L)
