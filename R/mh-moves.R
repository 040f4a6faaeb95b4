# Moves that are not one proposal that is accepted or rejected: which proposals
# make them, their words, and their part of a chain's state. mh-slice.R,
# mh-tempered.R and mh-delayed.R make them.

# The proposals of which a proposal is made up: of parallel tempering what moves
# each replica, of delayed rejection its two; any other is itself.
steps_of <- function(proposal) {
  if (!inherits(proposal, c("tempered", "delayed_rejection"))) {
    return(list(proposal))
  }
  unlist(lapply(proposal$parts, steps_of), recursive = FALSE)
}

# ---- Slice sampling ---------------------------------------------------------

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

# ---- Parallel tempering -----------------------------------------------------

is_tempered <- function(proposal) inherits(proposal, "tempered")

format_ladder <- function(x) {
  ladder <- x$temperatures
  paste0(
    "parallel tempering, ",
    if (is.numeric(ladder)) paste0(length(ladder), " "), "temperatures",
    if (is.numeric(ladder)) paste(" to", format(max(ladder), digits = 4)),
    if (x$tune) " tuned in burn-in", ": "
  )
}

# The temperatures with which a ladder on d coordinates begins. "auto":
# neighbours differ by a ratio at which normal densities swap at a rate of 0.7
# (d = 1) to 0.35 (d = 100).
ladder_of <- function(temperatures, d) {
  if (is.numeric(temperatures)) {
    return(as.double(temperatures))
  }
  top <- 50
  steps <- min(29, ceiling(log(top) / log1p(1.5 * sqrt(2 / d))))
  top^(seq(0, steps) / steps)
}

compile_ladder <- function(proposal, d) {
  temperatures <- ladder_of(proposal$temperatures, d)
  list(
    tuned = as.integer(proposal$tune), power = 1 / temperatures,
    longest = as.double(length(temperatures))
  )
}

# The block's part of a state, without `inner`; the replicas have no points yet.
ladder_memory <- function(compiled) {
  count <- compiled$longest
  others <- count - 1
  d <- compiled$d
  list(
    factor = numeric(), mean = numeric(), tuning = numeric(2L),
    counts = numeric(4L), power = compiled$power + 0,
    x = numeric(d * others), point = numeric(d * others),
    value = rep(-Inf, 2 * others), slope = numeric((d + 1) * others),
    swaps = numeric(2 * others), heights = numeric(3 * count),
    journeys = c(seq_len(count) - 1, numeric(count + 1))
  )
}

# All replicas begin where the chain does.
place_replicas <- function(state) {
  state$blocks <- lapply(state$blocks, function(memory) {
    others <- length(memory$power) - 1L
    if (others > 0L) {
      for (what in c("x", "point", "value")) {
        memory[[what]] <- rep(state[[what]], others)
      }
    }
    memory
  })
  state
}

# A row for each chain and temperature: `power` is its inverse; mean and
# variance of the log density (with the Jacobian of `transform`) at that
# temperature over `sweeps` after burn-in; `swap_rate` that with the next one.
temperature_table <- function(fit) {
  tables <- lapply(seq_along(fit), function(k) {
    memory <- fit_part(fit, "chains")[[k]]$state$blocks[[1L]]
    count <- length(memory$power)
    heights <- matrix(memory$heights, 3L)
    after <- memory$swaps[seq(count, length.out = count - 1L)]
    data.frame(
      chain = k, temperature = 1 / memory$power, power = memory$power,
      sweeps = heights[1L, ], mean_log_density = heights[2L, ],
      variance = heights[3L, ] / (heights[1L, ] - 1),
      swap_rate = c(after / heights[1L, 1L], NA),
      round_trips = memory$journeys[[2L * count + 1L]]
    )
  })
  do.call(rbind, tables)
}

# A line on swaps and round trips after burn-in, and one on what to do.
ladder_words <- function(model, fit) {
  if (!is_tempered(model$plan[[1L]]$proposal)) {
    return(NULL)
  }
  table <- temperature_table(fit)
  if (all(table$sweeps == 0)) {
    return(NULL)
  }
  trips <- table$round_trips[!duplicated(table$chain)]
  rates <- table$swap_rate[!is.na(table$swap_rate)]
  c(
    paste0(
      "Parallel tempering: ", sum(table$chain == 1L), " temperatures to ",
      format(max(table$temperature), digits = 4), "; swap rates ",
      paste(unique(format(range(rates), digits = 2)), collapse = " to "), "; ",
      digits(sum(trips)), " round trips, ", digits(min(trips)),
      " in a chain at least."
    ),
    if (min(rates) < 0.1) {
      "Swap rates below 0.1: give more `temperatures`, closer to each other."
    } else if (min(trips) < 5) {
      "Few round trips: run longer, with a burn-in that is longer too."
    }
  )
}

# ---- Delayed rejection ------------------------------------------------------

is_delayed <- function(proposal) inherits(proposal, "delayed_rejection")

format_delayed <- function(x) {
  paste0(
    "delayed rejection: ", format(x$parts[[1L]]), "; then ",
    if (is.null(x$scale)) {
      format(x$parts[[2L]])
    } else {
      paste0("its steps times ", format(x$scale, digits = 4))
    }
  )
}

# compile(part): the form of one of the two. A second one that has the steps of
# the first, multiplied by a number, uses the memory of the first if it adapts,
# and does not adapt itself.
compile_delayed <- function(proposal, compile) {
  parts <- list(compile(1L), compile(2L))
  scale <- proposal$scale
  log_shrink <- NA_real_
  if (!is.null(scale)) {
    adapts <- parts[[2L]]$tuned > 0L
    log_shrink <- if (adapts) log(scale) else 0
    parts[[2L]]$tuned <- 0L
    if (!adapts) {
      parts[[2L]]$factor <- scale * parts[[2L]]$factor
    }
  }
  list(parts = parts, log_shrink = log_shrink)
}

# memory(part): the part of the state of one of the two. `relative`: the
# logarithm of the second scale over the first, if they are related.
delayed_memory <- function(proposal, memory) {
  second <- if (is.null(proposal$scale)) {
    memory(2L)
  } else {
    list(counts = numeric(4L), relative = log(proposal$scale))
  }
  list(
    factor = numeric(), mean = numeric(), tuning = numeric(2L),
    counts = numeric(4L), stages = list(memory(1L), second)
  )
}

# The states of a block's two tries; NULL if rejection is not delayed.
tries_of <- function(memory) {
  stages <- memory$stages
  relative <- stages[[2L]]$relative
  if (!is.null(relative)) {
    stages[[2L]]$tuning <- stages[[1L]]$tuning + c(relative, 0)
  }
  stages
}

try_words <- c("first try", "second try")

# A line on both tries, over all chains and blocks. `rates`: of acceptance().
delayed_words <- function(model, rates) {
  delayed <- vapply(model$plan, function(block) {
    any(vapply(c(list(block$proposal), block$proposal$parts), is_delayed, NA))
  }, NA)
  names <- vapply(model$plan[delayed], `[[`, "", "name")
  if (length(names) == 0L) {
    return(NULL)
  }
  shares <- vapply(try_words, function(try) {
    own <- rates[rates$block %in% paste0(names, ", ", try), ]
    sum(own$rate * own$steps, na.rm = TRUE) / sum(own$steps)
  }, 0)
  paste0(
    "Delayed rejection: accepted ", format(shares[[1L]], digits = 2),
    " of the first proposals and ", format(shares[[2L]], digits = 2),
    " of the second ones."
  )
}
