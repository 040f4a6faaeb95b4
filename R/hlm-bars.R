# How several bars lie to each other: which are nested, whether the deviations
# of all are drawn at once (src/core/hlm/hlm_joint.h), and the moves of counts
# whose bars are nearly nested (hlm_count.h).
#
# A turn through the bars is a sampler whose autocorrelation is that of the same
# turn of Gauss-Seidel iterations (Roberts & Sahu 1997,
# doi:10.1111/1467-9868.00070). Its rate is found at standard deviations of the
# groups that are twice that of the noise.

# Returns the element `joint` of the data, NULL for none: that of
# frame$way_of_bars, if the responses alone are new. rows: those that are used;
# x, precision: of the fixed effects; weights: the precisions of normal
# responses that tell as much as the rows; root: what z is multiplied by.
joint_draw <- function(frame, layout, rows, x, precision, weights, nesting,
                       root = 1) {
  if (!is.null(frame$way_of_bars)) {
    return(frame$way_of_bars$joint)
  }
  slow <- slow_turn(frame, layout, rows, x, precision, weights, nesting, root)
  if (is.null(slow)) {
    return(NULL)
  }
  bars <- slow$bars
  # every place that can have a number, also where the data have a 0
  ones <- do.call(cbind, unname(lapply(bars, function(bar) {
    bar_matrix(0 * bar$z + 1, bar$group, bar$groups)
  })))
  factor <- Matrix::Cholesky(
    Matrix::crossprod(ones) + Matrix::Diagonal(ncol(ones)),
    perm = TRUE, LDL = FALSE, super = FALSE
  )
  lower <- methods::as(factor, "CsparseMatrix")
  if (is_cheaper(joint_cost(bars, lower, ncol(x)), slow$rate)) {
    joint_places(bars, lower, factor@perm, ncol(x))
  }
}

# list(bars, rate) where a turn through the bars is slow, else NULL.
slow_turn <- function(frame, layout, rows, x, precision, weights, nesting,
                      root = 1) {
  if (length(layout) < 2L) {
    return(NULL)
  }
  bars <- bars_of_rows(frame, layout, rows, root)
  at <- joint_precision(bars, x, precision, weights)
  rate <- turn_rate(at, bars, ncol(x), nesting)
  if (is_slow(rate)) list(bars = bars, rate = rate)
}

# The rows of each bar, and the reference of its standard deviations: list(z,
# group, groups, sd).
bars_of_rows <- function(frame, layout, rows, root) {
  Map(function(bar, design) {
    list(
      z = root * in_basis(bar$z[rows, , drop = FALSE], design$bar_basis),
      group = bar$group[rows], groups = length(bar$levels),
      sd = 2 * design$reach
    )
  }, frame$bars, layout)
}

# The pairs of bars of which a turn needs moves: the element `near` of the data
# of counts, as core/hlm/hlm_count.h describes; NULL for none.
near_bars <- function(frame, layout, rows, x, precision, weights, nesting) {
  if (!is.null(frame$way_of_bars)) {
    return(frame$way_of_bars$near)
  }
  bars <- slow_turn(frame, layout, rows, x, precision, weights, nesting)$bars
  if (is.null(bars)) {
    return(NULL)
  }
  pairs <- expand.grid(outer = seq_along(bars), inner = seq_along(bars))
  pairs <- pairs[pairs$outer != pairs$inner, ]
  near <- unlist(Map(function(outer, inner) {
    terms <- shared_terms(layout[[outer]], layout[[inner]])
    lapply(terms, near_pair, bars, layout, outer, inner)
  }, pairs$outer, pairs$inner), recursive = FALSE)
  near <- Filter(Negate(is.null), near)
  if (length(near) > 0L) near
}

# The moves of one term of a pair of bars. NULL if the groups of bar `inner` do
# not lie mostly within those of `outer`. NULL too if all of them do: those
# pairs have the moves of nestings().
near_pair <- function(term, bars, layout, outer, inner) {
  a <- bars[[outer]]
  b <- bars[[inner]]
  met <- Matrix::sparseMatrix(
    a$group, b$group, x = 1, dims = c(a$groups, b$groups)
  )
  column <- rep(seq_len(b$groups), diff(met@p))
  most <- order(column, -met@x)
  most <- most[!duplicated(column[most])]
  parent <- rep(1L, b$groups)
  parent[column[most]] <- met@i[most] + 1L
  home <- parent[b$group]
  strays <- which(a$group != home)
  if (length(strays) == 0L || length(strays) > length(home) / 2) {
    return(NULL)
  }
  k <- match(term, layout[[outer]]$bar)
  l <- match(term, layout[[inner]]$bar)
  moved_by <- c(a$group[strays], home[strays])
  by_group <- order(moved_by)
  list(
    outer = outer - 1, inner = inner - 1, outer_term = k - 1,
    inner_term = l - 1, parent = parent - 1L,
    first = c(0L, cumsum(tabulate(moved_by, a$groups))),
    row = c(strays, strays)[by_group] - 1L,
    change = as.double(c(a$z[strays, k], -b$z[strays, l]))[by_group]
  )
}

is_slow <- function(rate) rate > 0.8

# Flops of a joint draw, of a turn of one. The autocorrelation time of turns is
# (1 + rate) / (1 - rate).
joint_cost <- function(bars, lower, p) {
  n <- nrow(bars[[1L]]$z)
  terms <- p + sum(vapply(bars, function(bar) ncol(bar$z), 1L))
  (sum((diff(lower@p) + p)^2) + n * terms^2) / (n * terms * length(bars))
}

is_cheaper <- function(cost, rate) cost < (1 + rate) / (1 - rate)

joint_precision <- function(bars, x, precision, weights) {
  w <- do.call(cbind, unname(lapply(bars, function(bar) {
    bar_matrix(
      sqrt(weights) * bar$z * rep(bar$sd, each = nrow(bar$z)), bar$group,
      bar$groups
    )
  })))
  x <- sqrt(weights) * x
  # also without a prior of the fixed effects it can be inverted
  fixed <- crossprod(x)
  diag(fixed) <- diag(fixed) * (1 + 1e-8) + precision
  mixed <- Matrix::crossprod(w, x)
  methods::as(rbind(
    cbind(Matrix::crossprod(w) + Matrix::Diagonal(ncol(w)), mixed),
    cbind(Matrix::t(mixed), fixed)
  ), "CsparseMatrix")
}

# The sets of coordinates that a turn draws at once: the columns of a matrix for
# each.
turn_blocks <- function(bars, p, nesting) {
  sizes <- vapply(bars, function(bar) ncol(bar$z) * bar$groups, 1)
  ends <- cumsum(sizes)
  all <- sum(sizes) + p
  of <- function(i, j, x = 1) {
    Matrix::sparseMatrix(i, j, x = x, dims = c(all, max(j)))
  }
  own <- Map(function(end, size) {
    i <- c(end - size + seq_len(size), sum(sizes) + seq_len(p))
    of(i, seq_along(i))
  }, ends, sizes)
  moves <- lapply(nesting, function(nest) {
    outer <- nest$outer + 1
    inner <- nest$inner + 1
    terms <- c(ncol(bars[[outer]]$z), ncol(bars[[inner]]$z))
    place <- function(f, q, group, term) {
      ends[[f]] - sizes[[f]] + q * (group - 1) + term + 1
    }
    groups <- bars[[outer]]$groups
    do.call(cbind, lapply(seq_along(nest$outer_term), function(k) {
      of(
        c(place(outer, terms[[1L]], seq_len(groups), nest$outer_term[[k]]),
          place(inner, terms[[2L]], seq_along(nest$parent),
                nest$inner_term[[k]])),
        c(seq_len(groups), nest$parent + 1L),
        rep(c(1, -1), c(groups, length(nest$parent)))
      )
    }))
  })
  c(own, moves)
}

joint_words <- function(data) {
  if (!is.null((data$parts[[1L]] %||% data)$joint)) {
    "; deviations of all factors drawn jointly"
  }
}

# The share of an error that is left after a turn, in the norm of the precision.
turn_rate <- function(precision, bars, p, nesting, turns = 20L) {
  blocks <- turn_blocks(bars, p, nesting)
  inner <- lapply(blocks, function(block) {
    Matrix::Cholesky(Matrix::crossprod(block, precision %*% block), LDL = FALSE)
  })
  error <- cos(seq_len(nrow(precision)))
  left <- 0
  length_of <- function(error) sqrt(sum(error * (precision %*% error)))
  for (turn in seq_len(turns)) {
    before <- length_of(error)
    for (f in seq_along(blocks)) {
      pull <- Matrix::crossprod(blocks[[f]], precision %*% error)
      error <- error - as.vector(
        blocks[[f]] %*% Matrix::solve(inner[[f]], pull)
      )
    }
    was <- left
    left <- length_of(error) / before
    # it rises to the rate
    if (turn > 4L && (left < 0.5 || left < was + 0.002)) break
    error <- error / max(abs(error))
  }
  left
}

# lower: the factor of the deviations, of which place k is that of order[k];
# the p fixed effects come last.
joint_places <- function(bars, lower, order, p) {
  deviations <- nrow(lower)
  place <- order(order) - 1L
  last <- deviations + seq_len(p) - 1L
  columns <- c(
    lapply(split(lower@i, rep(seq_len(deviations), diff(lower@p))), c, last),
    lapply(seq_len(p), function(k) last[k:p])
  )
  sizes <- vapply(bars, function(bar) ncol(bar$z) * bar$groups, 1)
  of_row <- do.call(rbind, Map(function(bar, before) {
    q <- ncol(bar$z)
    outer(seq_len(q), before + q * (bar$group - 1), `+`)
  }, bars, cumsum(sizes) - sizes))
  at <- place[of_row]
  list(
    place = at, z = as.double(do.call(rbind, lapply(bars, function(bar) {
      t(unname(bar$z))
    }))),
    deviation = order,
    entry_start = c(0L, cumsum(tabulate(at + 1L, deviations))),
    entry = order(at) - 1L,
    factor_start = c(0L, as.integer(cumsum(lengths(columns)))),
    factor_row = as.integer(unlist(columns))
  )
}

# Group j has the columns q (j - 1) + 1, ..., q j.
bar_matrix <- function(z, group, groups) {
  q <- ncol(z)
  Matrix::sparseMatrix(
    i = rep(seq_len(nrow(z)), q), j = rep(q * (group - 1L), q) +
      rep(seq_len(q), each = nrow(z)),
    x = c(z), dims = c(nrow(z), q * groups)
  )
}

# ---- Nested bars -------------------------------------------------------------

# The pairs of bars whose groups lie within those of the other, which have terms
# in common.
nestings <- function(frame, layout) {
  used <- rows_used(frame)
  bars <- frame$bars
  out <- list()
  for (outer in seq_along(bars)) {
    for (inner in setdiff(seq_along(bars), outer)) {
      a <- bars[[outer]]
      b <- bars[[inner]]
      first <- match(seq_along(b$levels), b$group[used])
      parent <- a$group[used][first]
      nested <- all(parent[b$group[used]] == a$group[used])
      alike <- length(a$levels) == length(b$levels)
      shared <- shared_terms(layout[[outer]], layout[[inner]])
      if (!nested || length(shared) == 0L || (alike && outer > inner)) next
      # a level without rows is a group of its own
      parent[is.na(parent)] <- 1L
      out[[length(out) + 1L]] <- list(
        outer = outer - 1, inner = inner - 1,
        outer_term = match(shared, layout[[outer]]$bar) - 1L,
        inner_term = match(shared, layout[[inner]]$bar) - 1L,
        parent = parent - 1L
      )
    }
  }
  out
}

# The terms of two bars with the same column in C.
shared_terms <- function(a, b) {
  column <- function(design, term) {
    if (is.null(design$bar_basis)) {
      return(stats::setNames(1, term))
    }
    own <- design$bar_basis[, term]
    own[own != 0]
  }
  Filter(function(term) {
    identical(column(a, term), column(b, term))
  }, intersect(a$bar, b$bar))
}
