# Arguments of mh_sample(): checks, names, bounds and blocks.

check_log_density <- function(log_density, call) {
  if (is_native_density(log_density)) {
    check_native_density(log_density, "log_density", call)
    return(invisible())
  }
  if (!is.function(log_density)) {
    abort_expected(log_density, "a function of a numeric vector", FALSE,
                   "log_density", call)
  }
  if (length(argument_list(log_density)) == 0L) {
    abort_argument(
      "{.arg log_density} must be a function of a numeric vector; it takes no
       argument.",
      call = call
    )
  }
}

# Names of init, or x[1], x[2], ...
parameter_names <- function(init, call) {
  names <- names(init)
  if (is.null(names)) {
    return(paste0("x[", seq_along(init), "]"))
  }
  bad <- function(what, hint = NULL) {
    abort_argument(
      c(paste("Names of {.arg init}", what), i = hint), call = call
    )
  }
  if (anyNA(names) || any(!nzchar(names))) {
    bad("must be given for all elements or for none.")
  }
  if (anyDuplicated(names) > 0L) {
    twice <- names[duplicated(names)][[1L]]
    bad("must differ: {.val {twice}} stands there more than once.")
  }
  reserved <- intersect(
    names, c("log_density", ".chain", ".iteration", ".draw")
  )
  if (length(reserved) > 0L) {
    bad("must not be {.val {reserved[1]}}, which is used for something else.")
  }
  spaced <- grep("[[:space:]]", names, value = TRUE)
  if (length(spaced) > 0L) {
    bad("must not hold spaces: {.val {spaced[1]}}.")
  }
  blocks <- column_parts(names)$block
  both <- intersect(names, blocks[blocks != names])
  if (length(both) > 0L) {
    bad("must not be those of a block and of a number at once:
         {.val {both[1]}}.")
  }
  names
}

# Bounds of d coordinates, whose names may be known: vectors of length d.
# length_why, of: what has d elements, and what has the names, in messages.
check_bounds <- function(lower, upper, names, d, length_why, of, call) {
  bound <- function(x, arg) {
    x <- check_numeric_vector(
      x, length = unique(c(1L, d)), length_why = length_why, finite = FALSE,
      arg = arg, call = call
    )
    rep_len(in_order_of(x, names, arg, of, call), d)
  }
  lower <- bound(lower, "lower")
  upper <- bound(upper, "upper")
  empty <- which(!(lower < upper))
  if (length(empty) > 0L) {
    abort_argument(
      "`lower` must be below `upper`: element {empty[1]} is {lower[empty[1]]},
       and {upper[empty[1]]}.",
      call = call
    )
  }
  list(lower = lower, upper = upper)
}

# Bounds as vectors of length d, or NULL if there are none. Coordinates that a
# vector with names leaves out have none.
check_box <- function(lower, upper, transform, init, call) {
  d <- length(init)
  completed <- function(x, none) {
    known <- names(init)
    some <- is.numeric(x) && !is.null(names(x)) && !is.null(known)
    if (some && !anyDuplicated(names(x)) && all(names(x) %in% known)) {
      rest <- setdiff(known, names(x))
      x <- c(x, stats::setNames(rep(none, length(rest)), rest))
    }
    x
  }
  box <- check_bounds(
    completed(lower, -Inf), completed(upper, Inf), names(init), d,
    "coordinates of `init`", "`init`", call
  )
  lower <- box$lower
  upper <- box$upper
  transform <- check_flag(transform, call = call)
  check_inside(init, lower, upper, transform, "init", call)
  bounded <- any(is.finite(c(lower, upper)))
  list(
    lower = if (bounded) lower, upper = if (bounded) upper,
    map = if (transform && bounded) {
      is.finite(lower) + 2L * is.finite(upper)
    }
  )
}

# The steps that `debug` stores must be within the memory limit of draws.
check_trace_size <- function(running, blocks, d, call) {
  sweeps <- running$burnin + running$draws * running$thin
  check_result_size(
    c(sweeps, blocks, d + 8, running$chains),
    "sweeps x blocks x numbers a step x chains, with `debug = TRUE`",
    "`draws`, `thin` or `burnin`", call
  )
}

check_inside <- function(point, lower, upper, open, arg, call) {
  outside <- if (open) {
    is.finite(lower) & point <= lower | is.finite(upper) & point >= upper
  } else {
    point < lower | point > upper
  }
  if (any(outside)) {
    at <- which(outside)[[1L]]
    value <- point[[at]]
    within <- if (open) "strictly between" else "between"
    abort_argument(
      "`{arg}` must lie {within} `lower` and `upper`: element {at} is {value},
       not between {lower[at]} and {upper[at]}.",
      call = call
    )
  }
}

# The covariances of a block of many coordinates must be within the memory
# limit: one matrix for each chain, and three while the chains start.
check_proposal_size <- function(plan, chains, call) {
  for (block in plan) {
    if (any_trait(block$proposal, "matrix")) {
      d <- length(block$index)
      check_matrix_of(
        d, chains * replicas_of(block$proposal, d), "{.arg proposal}", call
      )
    }
  }
}

check_matrix_of <- function(size, chains, what, call) {
  check_square_size(
    size, chains + 3, paste(what, "needs in each chain a matrix of"),
    "Use {.arg blocks}, or {.code random_walk(scale = )}, {.fn langevin} or
     {.fn nuts}, which need none", call
  )
}

# ---- Blocks -----------------------------------------------------------------

# Each block as list(name, index, names, proposal); `names`: those of its
# coordinates if the user gave names.
plan_blocks <- function(proposal, blocks, init, names, call) {
  indices <- block_indices(blocks, names, call)
  labels <- block_labels(indices, blocks, names)
  proposals <- block_proposals(proposal, length(indices), blocks, labels, call)
  lapply(seq_along(indices), function(b) {
    list(
      name = labels[[b]], index = indices[[b]],
      names = if (!is.null(names(init))) names[indices[[b]]],
      proposal = proposals[[b]]
    )
  })
}

block_indices <- function(blocks, names, call) {
  d <- length(names)
  if (is.null(blocks)) {
    return(list(seq_len(d)))
  }
  if (identical(blocks, "each")) {
    return(as.list(seq_len(d)))
  }
  if (!is.list(blocks) || is.object(blocks) || length(blocks) == 0L) {
    abort_expected(
      blocks, "NULL, \"each\" or a list of vectors of names or numbers", FALSE,
      "blocks", call
    )
  }
  indices <- lapply(seq_along(blocks), function(b) {
    block_index(blocks[[b]], names, b, call)
  })
  given <- names(blocks)
  given <- given[!is.na(given) & nzchar(given)]
  if (anyDuplicated(given) > 0L) {
    abort_argument(
      "{.arg blocks} has several blocks named
       {.val {given[duplicated(given)][1]}}.",
      call = call
    )
  }
  left <- setdiff(seq_len(d), unlist(indices))
  if (length(left) > 0L) {
    abort_argument(
      "{.arg blocks} must name every coordinate; {.val {names[left[1]]}} is in
       none.",
      call = call
    )
  }
  indices
}

# Temperatures of the density of a block given the others would be wrong: the
# constants of its powers depend on the others.
check_tempered_alone <- function(plan, call) {
  if (plan_has(plan, "replicas") && length(plan) > 1L) {
    abort_argument(
      c("{.fn tempered} must move all coordinates in one block.",
        i = "Leave out {.arg blocks}."),
      call = call
    )
  }
}

block_index <- function(block, names, b, call) {
  index <- if (is.character(block)) {
    match(block, names)
  } else if (is.numeric(block)) {
    match(block, seq_along(names))
  } else {
    NA
  }
  if (length(index) == 0L || anyNA(index)) {
    unknown <- if (!is.numeric(block) && !is.character(block)) {
      describe(block)
    } else if (length(index) == 0L) {
      "an empty one"
    } else {
      describe(block[is.na(index)][[1L]])
    }
    abort_argument(
      "Block {b} of {.arg blocks} must hold names or numbers of coordinates, not
       {unknown}.",
      call = call
    )
  }
  if (anyDuplicated(index) > 0L) {
    twice <- names[index[duplicated(index)][[1L]]]
    abort_argument(
      "Block {b} of {.arg blocks} holds {.val {twice}} more than once.",
      call = call
    )
  }
  index
}

block_proposals <- function(proposal, count, blocks, labels, call) {
  if (inherits(proposal, "gibbsite_proposal")) {
    check_proposal_fields(proposal, "proposal", call)
    return(rep(list(proposal), count))
  }
  if (is.list(proposal) && !is.object(proposal) && !is.null(blocks)) {
    if (length(proposal) != count) {
      abort_argument(
        "{.arg proposal} must be one proposal or {count}, one a block, not
         {length(proposal)}.",
        call = call
      )
    }
    proposal <- match_names(proposal, labels, call)
    for (b in seq_along(proposal)) {
      check_proposal(proposal[[b]], paste0("proposal[[", b, "]]"), call)
    }
    return(unname(proposal))
  }
  check_proposal(proposal, "proposal", call)
}

# Proposals with names are matched to the blocks of the same names.
match_names <- function(proposal, labels, call) {
  if (is.null(names(proposal))) {
    return(proposal)
  }
  if (!setequal(names(proposal), labels) ||
        anyDuplicated(names(proposal)) > 0L) {
    abort_argument(
      "Names of {.arg proposal} must be those of {.arg blocks}:
       {.val {labels}}.",
      call = call
    )
  }
  proposal[labels]
}

block_labels <- function(indices, blocks, names) {
  given <- if (is.list(blocks)) names(blocks)
  vapply(seq_along(indices), function(b) {
    if (!is.null(given) && !is.na(given[[b]]) && nzchar(given[[b]])) {
      return(given[[b]])
    }
    if (length(indices) == 1L) {
      return("all")
    }
    if (length(indices[[b]]) == 1L) {
      return(names[indices[[b]]])
    }
    paste("block", b)
  }, "")
}
