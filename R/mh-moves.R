# Moves that are not made by an accepted or rejected proposal: which proposals
# make them, their words, and their part of a chain's state. mh-slice.R makes
# them.

is_slice <- function(proposal) {
  inherits(proposal, c("univariate_slice", "elliptical_slice"))
}

# Whether each sweep moves all coordinates of a block far.
moves_far <- function(proposal) is_hamiltonian(proposal) || is_slice(proposal)

all_move_far <- function(plan) {
  all(vapply(plan, function(block) moves_far(block$proposal), NA))
}

format_slice <- function(x) {
  if (inherits(x, "elliptical_slice")) {
    return("elliptical slice sampling")
  }
  paste0(
    "slice sampling of each coordinate, ",
    if (is.character(x$width)) "widths tuned in burn-in" else "given widths"
  )
}

# The block's part of a state. `scale`: of the density in each coordinate.
slice_memory <- function(proposal, compiled, scale) {
  start <- if (inherits(proposal, "elliptical_slice")) {
    numeric()
  } else if (length(compiled$width) > 0L) {
    compiled$width + 0
  } else {
    # about the width of a normal density that is aimed at
    2 * as.double(scale)
  }
  list(
    factor = start, mean = numeric(), tuning = numeric(2L),
    counts = numeric(4L), effort = numeric(2L)
  )
}

# A line on the points that slices asked for, in all sweeps after burn-in.
slice_words <- function(model, fit) {
  slices <- which(vapply(model$plan, function(block) {
    is_slice(block$proposal)
  }, NA))
  if (length(slices) == 0L) {
    return(NULL)
  }
  counts <- vapply(fit_part(fit, "chains"), function(chain) {
    memories <- chain$state$blocks[slices]
    c(
      sum(vapply(memories, function(memory) memory$effort[[2L]], 0)),
      memories[[1L]]$counts[[3L]]
    )
  }, numeric(2L))
  sweeps <- sum(counts[2L, ])
  if (sweeps == 0) {
    return(NULL)
  }
  paste0(
    "Slice sampling: ", format(sum(counts[1L, ]) / sweeps, digits = 3),
    " evaluations a sweep."
  )
}
