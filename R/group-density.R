# The log density of the responses of each group of a factor with the effects of
# the group integrated out: log_lik(by = ) and kfold(by = ) of regressions with
# groups.
#
# The group's effects are u = L v with v ~ N(0, I) in d dimensions, those of
# other factors are at their draws. In a fold of kfold() v has the effects of
# the groups of other factors that only the fold has, such as classes within a
# school, whose draws are of the prior. With the mode m of
#   log p(y | v) - v'v / 2
# and C C' its negative second derivatives there, p(y) is the integral over x of
#   (2 pi)^(-d / 2) exp(log p(y | v) - v'v / 2) / det C with v = m + C'^-1 x.
# Of normal responses this is a normal density: one point gives the integral.

# ---- The density -------------------------------------------------------------

# Draws x groups that have observations.
#' @exportS3Method
predictor_group_log_lik.hlm_model <- function(model, draws, by, call) {
  frame <- check_frame(model, call)
  response <- model_response(model)
  bars <- bars_by_factor(model)[[by]]
  levels <- if (is.list(model$levels)) model$levels[[bars[[1L]]]] else
    model$levels
  group <- groups_by(model, by)
  used <- which(rows_used(frame))
  codes <- sort(unique(group[used]))
  rows <- split(used, factor(group[used], codes))
  all <- predictor_rows(model, list(), call)
  effects <- lapply(rows, function(i) {
    integrated_effects(rows_at_places(all, i), bars, model$unseen)
  })
  needed <- union(bars, which(lengths(model$unseen) > 0L))
  out <- matrix(0, nrow(draws), length(codes),
                dimnames = list(NULL, levels[codes]))
  size <- max(lengths(rows), lengths(effects)^2)
  for (s in row_blocks(nrow(draws), size, most = 4e6)) {
    block <- draws[s, , drop = FALSE]
    roots <- list()
    roots[needed] <- lapply(
      needed, predictor_factors, model = model, draws = block
    )
    scale <- response_scale(response, block)
    for (j in seq_along(codes)) {
      own <- rows_at_places(all, rows[[j]])
      rest <- without_effects(own, effects[[j]])
      eta <- predictor_at_draws(model, block, rest)
      out[s, j] <- group_quadrature(
        response, frame_rows(frame, rows[[j]]), eta,
        effect_slopes(model, own, effects[[j]], roots), scale
      )
    }
  }
  out
}

# A list of list(bar, rows): the effects of a group, in `rows`, that are
# integrated out. bars: those of its factor; unseen: of fold_at_rows(). Groups
# of other factors come first, so that their effects are linked to few others.
integrated_effects <- function(rows, bars, unseen) {
  others <- lapply(setdiff(seq_along(unseen), bars), function(f) {
    code <- rows$codes[, f]
    lapply(intersect(unseen[[f]], code), function(group) {
      list(bar = f, rows = which(code == group))
    })
  })
  own <- lapply(bars, function(f) {
    list(bar = f, rows = seq_len(nrow(rows$x)))
  })
  c(unlist(others, recursive = FALSE), own)
}

without_effects <- function(rows, effects) {
  if (is.null(rows$codes)) {
    rows$group <- NULL
    return(rows)
  }
  for (effect in effects) rows$codes[effect$rows, effect$bar] <- 0
  rows
}

# The derivatives z'L of the linear predictors by each element of v: a list of
# list(part, rows, value), the number of the predictor, the rows where they are
# not 0, and draws x rows. roots: of each bar, and in it of each predictor, L.
effect_slopes <- function(model, rows, effects, roots) {
  out <- lapply(effects, function(effect) {
    z <- rows$z[effect$rows, , drop = FALSE]
    if (!is.null(rows$codes)) {
      z <- z[, bar_columns_of_z(model)[[effect$bar]], drop = FALSE]
    }
    parts <- roots[[effect$bar]]
    Map(function(root, part) {
      lapply(seq_len(ncol(z)), function(c) {
        list(
          part = part, rows = effect$rows,
          value = matrix(root[, , c], dim(root)[[1L]]) %*% t(unname(z))
        )
      })
    }, parts, seq_along(parts))
  })
  unlist(unlist(out, recursive = FALSE), recursive = FALSE)
}

#' @exportS3Method
predictor_factors.hlm_model <- function(model, draws, f) {
  list(aperm(hlm_draws_in(model, draws)$factor, c(3, 1, 2)))
}

#' @exportS3Method
predictor_factors.hlm_crossed_model <- function(model, draws, f) {
  list(stored_factors(model, draws, f))
}

#' @exportS3Method
predictor_factors.categories_model <- function(model, draws, f) {
  lapply(category_views(model), function(view) {
    stored_factors(view$model, draws[, view$at, drop = FALSE], f)
  })
}

# ---- Quadrature --------------------------------------------------------------

# log p(y) of each draw. data: the rows of the group; eta: their linear
# predictors without its effects, draws x rows (x predictors); slopes: of
# effect_slopes().
group_quadrature <- function(response, data, eta, slopes, scale) {
  eta <- unname(eta)
  size <- dim(eta)
  places <- lapply(slopes, function(s) (s$part - 1L) * size[[2L]] + s$rows)
  links <- linked_effects(slopes)
  log_density <- function(v) {
    at <- matrix(eta, nrow(v))
    for (d in seq_along(slopes)) {
      at[, places[[d]]] <- at[, places[[d]]] + slopes[[d]]$value * v[, d]
    }
    dim(at) <- size
    own <- response_log_lik(response, at, data, scale)
    list(eta = at, value = rowSums(own) - rowSums(v^2) / 2)
  }
  bend <- function(at) response_bend(response, at$eta, data, scale)
  precision <- function(second) {
    factor_linked(group_precision(slopes, links, second, size[[2L]]), links)
  }
  found <- group_mode(
    log_density, bend, slopes, places, precision, links, size[[1L]]
  )
  rule <- quadrature_rule(response, length(slopes))
  terms <- vapply(seq_along(rule$log_weights), function(k) {
    x <- matrix(rule$nodes[k, ], size[[1L]], length(slopes), byrow = TRUE)
    rule$log_weights[[k]] +
      log_density(found$v + solve_roots(found$root, x, FALSE, links))$value
  }, numeric(size[[1L]]))
  terms <- matrix(terms, size[[1L]])
  top <- apply(terms, 1L, max)
  log_roots <- lapply(seq_along(slopes), function(k) log(found$root[, k, k]))
  top + log(rowSums(exp(terms - top))) - Reduce(`+`, log_roots)
}

# list(v, root): the mode of each draw by Newton's method, and C there.
group_mode <- function(log_density, bend, slopes, places, precision, links,
                       count) {
  v <- matrix(0, count, length(slopes))
  at <- log_density(v)
  for (step in seq_len(50)) {
    curve <- bend(at)
    root <- precision(curve$second)
    gradient <- vapply(seq_along(slopes), function(d) {
      first <- matrix(curve$first, count)[, places[[d]], drop = FALSE]
      rowSums(slopes[[d]]$value * first)
    }, numeric(count))
    move <- solve_roots(root, matrix(gradient, count) - v, TRUE, links)
    # a step that is too long is halved
    for (half in seq_len(30)) {
      next_at <- log_density(v + move)
      worse <- which(!(next_at$value >= at$value - 1e-9))
      if (length(worse) == 0L) break
      move[worse, ] <- move[worse, ] / 2
    }
    v <- v + move
    at <- next_at
    if (max(abs(move)) < 1e-6) break
  }
  list(v = v, root = precision(bend(at)$second))
}

# links[k, l]: whether C[k, l] can be nonzero: effects k and l share a row, or
# both are linked to an earlier effect.
linked_effects <- function(slopes) {
  d <- length(slopes)
  out <- diag(TRUE, d)
  for (k in seq_len(d)) {
    for (l in seq_len(k - 1L)) {
      out[k, l] <- any(slopes[[k]]$rows %in% slopes[[l]]$rows)
    }
  }
  for (k in seq_len(d)) {
    below <- later_links(out, k)
    out[below, below] <- TRUE
  }
  out
}

# The effects after k to which it is linked.
later_links <- function(links, k) {
  which(links[, k] & seq_len(nrow(links)) > k)
}

# I + sum_i s_i W_i s_i', lower triangle: draws x d x d. n: the number of rows.
group_precision <- function(slopes, links, second, n) {
  d <- length(slopes)
  count <- nrow(slopes[[1L]]$value)
  parts <- max(vapply(slopes, `[[`, 0L, "part"))
  second <- matrix(second, count)
  out <- array(0, c(count, d, d))
  for (k in seq_len(d)) {
    for (l in which(links[k, seq_len(k)])) {
      a <- slopes[[k]]
      b <- slopes[[l]]
      rows <- intersect(a$rows, b$rows)
      # W of the predictors of k and l
      own <- (a$part - 1L + (b$part - 1L) * parts) * n + rows
      out[, k, l] <- rowSums(
        a$value[, match(rows, a$rows), drop = FALSE] *
          b$value[, match(rows, b$rows), drop = FALSE] *
          second[, own, drop = FALSE]
      ) + (k == l)
    }
  }
  out
}

# C of C C' = x in each draw.
factor_linked <- function(x, links) {
  for (k in seq_len(ncol(links))) {
    x[, k, k] <- sqrt(x[, k, k])
    below <- later_links(links, k)
    for (i in below) {
      x[, i, k] <- x[, i, k] / x[, k, k]
      for (j in below[below <= i]) {
        x[, i, j] <- x[, i, j] - x[, i, k] * x[, j, k]
      }
    }
  }
  x
}

# C'^-1 x of each draw, or with `both` (C C')^-1 x; x: draws x d.
solve_roots <- function(root, x, both, links) {
  q <- ncol(x)
  if (both) {
    for (k in seq_len(q)) {
      for (c in which(links[k, seq_len(k - 1L)])) {
        x[, k] <- x[, k] - root[, k, c] * x[, c]
      }
      x[, k] <- x[, k] / root[, k, k]
    }
  }
  for (k in rev(seq_len(q))) {
    for (c in later_links(links, k)) {
      x[, k] <- x[, k] - root[, c, k] * x[, c]
    }
    x[, k] <- x[, k] / root[, k, k]
  }
  x
}

# ---- Points ------------------------------------------------------------------

# list(nodes, log_weights): (2 pi)^(-d / 2) times the integral of f over d
# dimensions is about the sum of exp(log_weights) f(nodes). nodes: points x d.
quadrature_rule <- function(response, d) {
  if (identical(class(response), "normal_response")) {
    list(nodes = matrix(0, 1L, d), log_weights = 0)
  } else if (d == 1L) {
    sinh_rule()
  } else if (d <= 6L) {
    hermite_rule(d)
  } else {
    lattice_rule(d)
  }
}

# The trapezoidal rule for z with x = 2 sinh(z / 2): close points at the mode,
# and some at other modes, of which t responses can have many.
sinh_rule <- function() {
  z <- 0.2 * (-40:40)
  list(
    nodes = cbind(2 * sinh(z / 2)),
    log_weights = log(0.2 * cosh(z / 2) / sqrt(2 * pi))
  )
}

# Gauss and Hermite, in each dimension.
hermite_rule <- function(d) {
  n <- floor(c(441, 729)[min(d - 1, 2)]^(1 / d) + 1e-9)
  rule <- gauss_rule(sqrt(seq_len(n - 1L)))
  each <- function(x) unname(as.matrix(expand.grid(rep(list(x), d))))
  nodes <- each(rule$nodes)
  list(
    nodes = nodes,
    log_weights = rowSums(log(each(rule$weights)) + nodes^2 / 2)
  )
}

# 1000 normal points of equal weights, by multiples modulo 1 of the powers of
# 1 / g, where g^(d + 1) = g + 1 (Roberts 2018), and their opposites.
lattice_rule <- function(d) {
  g <- stats::uniroot(
    function(g) g^(d + 1) - g - 1, c(1, 2), tol = 1e-15
  )$root
  half <- stats::qnorm((outer(seq_len(500), g^-seq_len(d)) + 0.5) %% 1)
  nodes <- rbind(half, -half)
  list(nodes = nodes, log_weights = rowSums(nodes^2) / 2 - log(1000))
}
