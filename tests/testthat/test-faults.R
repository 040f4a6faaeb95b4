# A small part of `make faults`, by the same functions (helper-faults.R): each
# fault a few times, on the samplers in turn.

skip_unless_faults <- function() {
  testthat::skip_on_cran()
  testthat::skip_on_os("windows")
}

# Faults are what a test is about; processes and folders go when it ends.
with_faults <- function(frame = parent.frame()) {
  skip_unless_faults()
  local_faults(frame)
  withr::defer(clear_faults(), envir = frame)
}

expect_survived <- function(results) {
  testthat::expect_match(unlist(results), "^good")
}

test_that("a run that is killed at any time goes on or begins anew", {
  with_faults()
  delays <- c(gmm = 0.02, mh = 0.3, bmf = 0.4, lda = 0.1)
  delays <- delays[seq_len(fast_or(1, 4))]
  expect_survived(Map(killed_at_any_time, names(delays), delays))
})

test_that("a run that is killed while it writes does too", {
  skip_unless_extended()
  with_faults()
  # from before the first file to after the first checkpoint
  for (n in seq(1, 60, by = 3)) {
    sampler <- names(fault_samplers)[n %% 6 + 1]
    expect_survived(killed_while_writing(sampler, n, n %% 2 == 0))
  }
})

test_that("Ctrl-C at any time returns what is there", {
  skip_unless_extended()
  with_faults()
  for (sampler in c("gmm", "gibbs_sample")) {
    expect_survived(interrupted_at_any_time(
      sampler, c(0.05, 0.2, 0.1), c(0.2, 0, 0)
    ))
  }
  expect_survived(interrupted_at_any_time(
    "laplace", c(0.1, 0.3, 0.2), c(0.01, 0.01, 0)
  ))
})

test_that("a disk that is full takes nothing", {
  skip_unless_extended()
  with_faults()
  expect_survived(survives_full_disk("gmm", 32))
  expect_survived(survives_limit("mh", 8))
})

test_that("of two runs in one directory one wins, the other is told of it", {
  skip_unless_extended()
  with_faults()
  for (resuming in c(FALSE, TRUE)) {
    expect_survived(one_of_two_wins("gmm", resuming))
  }
})

test_that("workers that are lost, and workers that have lost their parent", {
  skip_unless_extended()
  with_faults()
  expect_survived(survives_lost_worker("gmm", "multicore"))
  expect_survived(leaves_long_round("gmm", "multicore"))
  if (is_extended()) {
    expect_survived(survives_killed_parent("gmm", "multicore"))
    expect_survived(leaves_long_round("mh", "multisession"))
  }
})

test_that("a bit that is another is found at once", {
  with_faults()
  expect_survived(finds_flipped_bits("gmm", fast_or(8, 60)))
})

test_that("a chain on a cluster goes on after a kill or Ctrl-C", {
  skip_unless_extended()
  with_faults()
  for (whom in c("session", "worker", "all")) {
    expect_survived(vapply(c(0.3, 0.9, 2), function(delay) {
      shards_go_on(whom, delay)
    }, ""))
  }
})
