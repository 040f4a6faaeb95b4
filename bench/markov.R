# Markov chains of many states: seconds to make a sparse chain, to draw a path,
# to carry a distribution through time and to find the stationary one, beside
# the package markovchain.
#
#   Rscript bench/markov.R [seconds]
#
# 1,000, 5,000 and 20,000 states, from each ten steps at random. Each package
# makes the chain of the same matrix, draws a path of 10,000 steps, computes the
# distribution after 100 steps from the first state, and the stationary one. The
# class of markovchain holds an R matrix: 200 MB a copy with 5,000 states, 3.2
# GB with 20,000, where it is left out. Each runs in a process of its own, which
# is stopped after so many seconds (default 120); a task that was not reached is
# NA. The last table estimates a chain of 10 and 50 states from a path of
# 100,000 steps: fit_markov_chain(), 4 x 1,000 exact draws of the matrix and its
# stationary distribution, beside markovchainFit(), one matrix of proportions.
#
# With 5,000 states each draw of the matrix has 25 million numbers: there
# fit_markov_chain() is an error that says so.

here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(here) > 0L) dirname(here) else "bench"
source(file.path(here, "deps.R"))

random_chain <- function(size, steps = 10) {
  set.seed(1)
  to <- vapply(seq_len(size), function(i) sample.int(size, steps), 1:steps)
  p <- Matrix::sparseMatrix(
    rep(seq_len(size), each = steps), c(to), x = stats::rexp(size * steps)
  )
  p <- Matrix::Diagonal(x = 1 / Matrix::rowSums(p)) %*% p
  dimnames(p) <- rep(list(as.character(seq_len(size))), 2L)
  p
}

# ---- the tasks, each a function of the chain ---------------------------------

tasks_of <- function(package) {
  if (package == "gibbsite") {
    return(list(
      make = function(p) gibbsite::markov_chain(p),
      path = function(chain) {
        stats::simulate(chain, n = 1e4, initial = "1", seed = 1)
      },
      after_100 = function(chain) {
        gibbsite::state_after(chain, 100, initial = "1")
      },
      stationary = function(chain) gibbsite::stationary(chain)
    ))
  }
  list(
    make = function(p) {
      methods::new("markovchain", transitionMatrix = as.matrix(p))
    },
    path = function(chain) markovchain::rmarkovchain(1e4, chain, t0 = "1"),
    after_100 = function(chain) {
      c(1, numeric(markovchain::dim(chain) - 1L)) * chain^100
    },
    stationary = function(chain) markovchain::steadyStates(chain)
  )
}

# What the process of one package and size prints: a line for each task.
run_tasks <- function(package, size) {
  library(package, character.only = TRUE)
  chain <- random_chain(size)
  tasks <- tasks_of(package)
  for (name in names(tasks)) {
    seconds <- system.time(out <- tasks[[name]](chain))
    if (name == "make") chain <- out
    cat("TASK", name, sum(seconds[1:2]), "\n")
  }
}

tasks_in_process <- function(package, size, limit) {
  lines <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"),
    c(file.path(here, "markov.R"), "task", package, format(size)),
    stdout = TRUE, stderr = FALSE, timeout = limit
  ))
  found <- utils::read.table(
    text = c("TASK none NA", grep("^TASK", lines, value = TRUE))
  )
  names <- names(tasks_of(package))
  seconds <- found[match(names, found[[2L]]), 3L]
  data.frame(
    package, states = size, t(stats::setNames(seconds, names))
  )
}

run_sizes <- function(limit) {
  rows <- lapply(c(1000, 5000, 20000), function(size) {
    rbind(
      tasks_in_process("gibbsite", size, limit),
      if (size <= 5000 && peer_available("markovchain")) {
        tasks_in_process("markovchain", size, limit)
      }
    )
  })
  cat("Seconds of the processor, ten steps from each state:\n")
  print(do.call(rbind, rows), digits = 2, row.names = FALSE)
}

# ---- estimates ---------------------------------------------------------------

run_fits <- function() {
  seconds <- function(code) sum(system.time(code)[1:2])
  rows <- lapply(c(10, 50), function(size) {
    p <- random_chain(size)
    path <- stats::simulate(gibbsite::markov_chain(p), n = 1e5, seed = 1)[[1L]]
    path <- as.character(path)
    data.frame(
      states = size,
      fit_markov_chain = seconds(gibbsite::fit_markov_chain(
        path, seed = 1, progress = FALSE
      )),
      markovchainFit = if (peer_available("markovchain")) {
        seconds(markovchain::markovchainFit(path))
      } else {
        NA
      }
    )
  })
  cat("\nSeconds of the processor, a path of 100,000 steps:\n")
  print(do.call(rbind, rows), digits = 2, row.names = FALSE)
}

given <- commandArgs(TRUE)
if (identical(given[1L], "task")) {
  run_tasks(given[[2L]], as.numeric(given[[3L]]))
} else {
  run_sizes(if (length(given) > 0L) as.numeric(given[[1L]]) else 120)
  run_fits()
}
