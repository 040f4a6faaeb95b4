# The model behind gibbs_hlm() with several bars: its fields, states and
# starting values. src/core/hlm/hlm_crossed.h has the mathematics.
#
# layout: a list of hlm_design() for each bar, with its group's name, levels and
# the places of its deviations. The first one has the fixed effects.

hlm_crossed_model <- function(frame, prior, call) {
  parts <- hlm_parts(bar_frames(frame), prior, call)
  model <- hlm_crossed_model_of(frame, parts$priors, parts$layout)
  say_aliased(model)
  model
}

# Factors whose groups are the same, with a term in common.
say_aliased <- function(model) {
  for (nest in model$data$nesting) {
    pair <- c(nest$outer, nest$inner) + 1
    if (length(unique(lengths(model$levels)[pair])) == 1L) {
      names <- names(model$layout)[pair]
      inform_gibbsite(
        c("The groups of {.val {names[[1]]}} and {.val {names[[2]]}} are the
           same: the data do not tell their effects apart.",
          i = "Leave one of them out."),
        class = "aliased"
      )
    }
  }
}

hlm_crossed_model_of <- function(frame, priors, layout) {
  n <- sum(rows_used(frame))
  title <- "Hierarchical linear regression"
  levels <- lapply(frame$bars, `[[`, "levels")
  data <- hlm_crossed_data(frame, priors, layout)
  new_model(
    c("hlm_crossed_model", "hlm_model"),
    name = "gibbs_hlm",
    title = title,
    headline = paste0(
      crossed_headline(title, layout, levels, n, data),
      if (frame$known) ", standard errors known"
    ),
    data = data, data_part = "frame",
    prior = crossed_prior(priors), priors = priors, nobs = n,
    columns = crossed_columns(frame, layout),
    cures = hlm_cures,
    coefficients = layout[[1L]]$columns, layout = layout, levels = levels,
    group_name = names(levels), design = crossed_design_of(frame),
    frame = frame
  )
}

crossed_headline <- function(title, layout, levels, n, data) {
  paste0(
    title, ": ", counted(length(layout[[1L]]$columns), "fixed effect"), ", ",
    paste0(lengths(levels), " ", names(levels), collapse = ", "), ", ",
    counted(n, "observation"), joint_words(data)
  )
}

crossed_design_of <- function(frame) {
  own <- c("bar_terms", "group_expr", "group_ids")
  c(kept_parts(frame, "fixed_terms"), list(bars = lapply(frame$bars, `[`, own)))
}

# The prior of the first bar, with the df and scale of each.
crossed_prior <- function(priors) {
  prior <- priors[[1L]]
  prior$scale <- lapply(priors, `[[`, "scale")
  prior$df <- lapply(priors, `[[`, "df")
  prior
}

crossed_columns <- function(frame, layout) {
  levels <- lapply(frame$bars, `[[`, "levels")
  c(
    layout[[1L]]$columns, unlist(lapply(seq_along(layout), function(f) {
      bar_columns(f, layout[[f]])
    })),
    if (!frame$known) "sigma", "log_lik", deviation_names(layout, levels)
  )
}

# sd[f,k] and cor[f,k,l] of bar f.
bar_columns <- function(f, design) {
  q <- length(design$bar)
  at <- term_pairs(q)
  c(
    indexed("sd", f, seq_len(q)),
    if (!design$diagonal) sprintf("cor[%d,%d,%d]", f, at[, 1L], at[, 2L])
  )
}

deviation_names <- function(layout, levels) {
  unlist(Map(function(f, design, levels) {
    q <- length(design$bar)
    groups <- length(levels)
    sprintf("u[%d,%d,%d]", f, rep(seq_len(q), groups),
            rep(seq_len(groups), each = q))
  }, seq_along(layout), layout, levels), use.names = FALSE)
}

# What C reads, as core/hlm/hlm_crossed.h describes.
hlm_crossed_data <- function(frame, priors, layout) {
  used <- rows_used(frame)
  root <- sqrt(used_weights(frame, used))
  bars <- Map(function(frame, prior, design) {
    hlm_data(frame, prior, design, NULL, rotate_groups)
  }, bar_frames(frame), priors, layout)
  one <- bars[[1L]]
  p <- one$p
  # all deviations: rows x deviations, times the root of the weights
  z <- Map(function(bar, design) {
    own <- in_basis(bar$z[used, , drop = FALSE], design$bar_basis)
    bar_matrix(root * own, bar$group[used], length(bar$levels))
  }, frame$bars, layout)
  x <- unname(root * scaled_design(frame, layout[[1L]])$x)
  y <- root * (without_offset(frame)[used] - one$centre)
  cross <- lapply(seq_along(bars), function(f) {
    others <- z
    others[[f]] <- Matrix::sparseMatrix(
      integer(), integer(), x = numeric(), dims = dim(z[[f]])
    )
    others <- do.call(cbind, others)
    c(
      by_rows(bars[[f]]$turn %*% others), list(
        within = as.double(as.matrix(
          Matrix::crossprod(bars[[f]]$within, others)
        )),
        right = drop(crossprod(bars[[f]]$within, y))
      )
    )
  })
  bars <- lapply(bars, function(bar) {
    bar[c("turn", "within")] <- NULL
    bar$collapsed <- 0
    bar
  })
  nesting <- nestings(frame, layout)
  data <- c(
    list(
      count = as.double(length(bars)), p = p, n = one$n, bars = unname(bars),
      cross = cross, rows = by_rows(do.call(cbind, z)), x = as.double(t(x)),
      y = y,
      nesting = nesting, keep = 1
    ), one[c("known", "shape", "rate", "log_weights")]
  )
  data$basis <- one$basis
  data$joint <- joint_draw(
    frame, layout, which(used), x, one$precision, 1, nesting, root
  )
  data
}

# The rows of a bar as of reduce_groups(), whose pool has X'P P'X alone. turn:
# Q', a row for each kept row; within: P P'X.
rotate_groups <- function(z, x, y, group, groups) {
  q <- ncol(z)
  kept <- pmin(tabulate(group, groups), q)
  start <- c(0L, cumsum(kept))
  if (q == 1L) {
    at <- start[group] + 1L
    length <- sqrt(rowsum(drop(z)^2, at, reorder = TRUE))[at]
    # a single row stays as it is
    single <- tabulate(group, groups)[group] == 1L
    parts <- list(list(
      i = at, j = seq_along(y),
      x = ifelse(single, 1, drop(z) / ifelse(length > 0, length, 1))
    ))
  } else {
    rows <- split(seq_along(y), factor(group, seq_len(groups)))
    parts <- lapply(which(kept > 0L), function(j) {
      i <- rows[[j]]
      to <- start[[j]] + seq_len(kept[[j]])
      turn <- if (length(i) > q) {
        qr.Q(qr(z[i, , drop = FALSE], LAPACK = TRUE))
      } else {
        diag(length(i))
      }
      list(i = rep(to, each = length(i)), j = rep(i, length(to)), x = c(turn))
    })
  }
  each <- function(name) unlist(lapply(parts, `[[`, name))
  turn <- Matrix::sparseMatrix(
    i = each("i"), j = each("j"), x = each("x"),
    dims = c(start[[groups + 1L]], length(y))
  )
  fixed <- as.matrix(turn %*% x)
  within <- x - as.matrix(Matrix::crossprod(turn, fixed))
  pool <- reduce_pool(within, numeric(length(y)))
  list(
    start = as.integer(start), bar = as.double(t(as.matrix(turn %*% z))),
    fixed = as.double(t(fixed)), response = drop(as.matrix(turn %*% y)),
    pool_x = as.double(t(pool$x)), pool_y = numeric(nrow(pool$x)), rss = 0,
    turn = turn, within = within
  )
}

# A sparse matrix by rows, from 0.
by_rows <- function(m) {
  m <- methods::as(Matrix::t(m), "CsparseMatrix")
  list(start = m@p, index = m@i, value = m@x)
}

# ---- Starting values --------------------------------------------------------

# Each bar starts as in model_start.hlm_model().
#' @exportS3Method
model_start.hlm_crossed_model <- function(model, init) {
  data <- model$data
  factors <- exp(stats::runif(length(model$layout) + 1L, -1, 1) * log(10))
  squares <- sum(data$y^2)
  spread <- start_spread(data, squares)
  beta <- start_precision(data, init, factors[[length(factors)]] / spread)
  default <- Map(function(design, factor) {
    sd <- factor * design$reach * sqrt(spread / mean_weight_of(data))
    diag(sd^2, length(design$bar))
  }, model$layout, factors[-length(factors)])
  hlm_state(model, utils::modifyList(default, init$Sigma %||% list()), beta)
}

#' @exportS3Method
model_sweeps.hlm_crossed_model <- function(model, state, n, control) {
  with_bases(model, .Call(C_hlm_crossed_sweeps, model$data, state, n, control))
}

#' @exportS3Method
model_check_init.hlm_crossed_model <- function(model, init, where, call) {
  check_init_noise(init, model$data, where, call)
  check_bar_covariances(model, init, where, call)
}

# Sigma of each bar that `init` has.
check_bar_covariances <- function(model, init, where, call) {
  if (!is.null(init$Sigma)) {
    known <- names(model$layout)
    if (!is.list(init$Sigma) || is.null(names(init$Sigma)) ||
          !all(names(init$Sigma) %in% known)) {
      abort_argument(
        "`{where}$Sigma` must be a list of matrices with names among
         {.val {known}}.",
        call = call
      )
    }
    for (name in names(init$Sigma)) {
      init$Sigma[[name]] <- check_init_covariance(
        init$Sigma[[name]], model$data$bars[[match(name, known)]],
        model$layout[[name]], paste0(where, "$Sigma$", name), call
      )
    }
  }
  init
}

# ---- Words -------------------------------------------------------------------

#' @exportS3Method
model_labels.hlm_crossed_model <- function(model) {
  columns <- model$columns
  label <- parameter_labels(model)
  label[startsWith(columns, "u[")] <- unlist(Map(function(design, levels, by) {
    outer(design$bar, paste(by, levels), paste, sep = " of ")
  }, model$layout, model$levels, model$group_name))
  data.frame(variable = columns, label = label)
}

#' @exportS3Method
predictor_parameters.hlm_crossed_model <- function(model) {
  grep("^(log_lik$|u\\[)", model$columns, invert = TRUE)
}

#' @exportS3Method
model_key.hlm_crossed_model <- function(model, shown) {
  key_of_bars(
    model, shown,
    c(sd = "sd[f,k]: term k of factor f", cor = "cor[f,k,l]: terms k and l",
      u = "u[f,k,j]: deviation of group j, in the order of the levels")
  )
}

key_of_bars <- function(model, shown, words) {
  bars <- vapply(names(model$layout), function(name) {
    paste0(name, ": ", toString(model$layout[[name]]$bar))
  }, "")
  key_of_blocks(shown, words, "factors and terms: ", bars)
}

# The parameters, the log-likelihood, and the deviations of at most 20 groups of
# each factor, as of model_invariants.hlm_binomial_model().
#' @exportS3Method
model_invariants.hlm_crossed_model <- function(model, draws) {
  left_out <- unlist(Map(function(design, levels, place) {
    shown <- unique(round(seq(1, length(levels), length.out = 20)))
    place[rep(!seq_along(levels) %in% shown, each = length(design$bar))]
  }, model$layout, model$levels, model_places(model)))
  deviations <- grep("^u\\[", model$columns)
  draws <- unclass(draws)
  if (length(left_out) == 0L) draws else {
    draws[, -deviations[left_out], drop = FALSE]
  }
}

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
set_data.hlm_crossed_model <- function(model, data,
                                       call = rlang::caller_env()) {
  with_responses(model, data, "hierarchical regression", function(frame, ...) {
    hlm_crossed_model_of(frame, model$priors, model$layout)
  }, call)
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.hlm_crossed_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    hlm_crossed_model_of(rest, model$priors, designs_again(model, rest))
  })
}

# ---- Predictions -------------------------------------------------------------

# Predictions and estimates of a hierarchical regression with several bars. The
# deviations u are stored. Of a new group they are drawn from N(0, Sigma), once
# for all rows of a draw.

# ---- Rows --------------------------------------------------------------------

# list(x, z, codes, group, offset, names): z has the columns of all bars; codes:
# rows x bars, the group of each bar: 0 for none, above J for new ones; NULL, as
# `group` is, without the deviations.
#' @exportS3Method
predictor_rows.hlm_crossed_model <- function(model, at, call) {
  design <- model_design(model)
  kept <- kept_bar_terms(model, at$re_formula, call)
  rows <- bar_rows(model, at, kept, call)
  if (isTRUE(at$new_groups)) {
    return(rows_of_new_groups(model, rows))
  }
  if (all(lengths(kept) == 0L)) {
    return(rows)
  }
  shared <- c("other_rows", "times", "formula", "constants")
  rows$codes <- vapply(seq_along(kept), function(f) {
    if (length(kept[[f]]) == 0L) {
      numeric(nrow(rows$x))
    } else if (is.null(at$newdata)) {
      as.double(model$frame$bars[[f]]$group)
    } else {
      new_groups(
        c(design[shared], design$bars[[f]]), model$group_name[[f]], at$newdata,
        at$allow_new_levels, call
      ) + 0
    }
  }, numeric(nrow(rows$x)))
  rows$codes <- matrix(rows$codes, ncol = length(kept))
  rows$group <- rows$codes[, 1L]
  rows
}

# The columns of z of each bar.
bar_columns_of_z <- function(model) {
  runs_of_places(lengths(lapply(model$layout, `[[`, "bar")))
}

# The deviations of bar f in each draw, draws x (q J).
stored_deviations <- function(model, draws, f,
                              at = seq_along(model_places(model)[[f]])) {
  first <- match(sprintf("u[%d,1,1]", f), model$columns)
  draws[, first - 1L + at, drop = FALSE]
}

# L of bar f in each draw: draws x q x q, lower triangular.
stored_factors <- function(model, draws, f) {
  design <- model$layout[[f]]
  factors_in_columns(
    draws, model$columns, length(design$bar), design$diagonal, f
  )
}

# list(mu, spread): the linear predictor of rows in each draw, draws x rows, and
# the standard deviation that new groups give it. With `draw` their deviations
# are drawn, and the second is NULL.
crossed_eta <- function(model, draws, rows, draw) {
  count <- nrow(draws)
  fixed <- seq_along(model$coefficients)
  mu <- linear_predictors(rows$x, draws[, fixed, drop = FALSE], rows$offset)
  square <- 0
  columns <- bar_columns_of_z(model)
  for (f in seq_along(columns)[!is.null(rows$codes)]) {
    z <- rows$z[, columns[[f]], drop = FALSE]
    q <- ncol(z)
    code <- rows$codes[, f]
    known <- which(code > 0 & code <= length(model$levels[[f]]))
    for (k in seq_len(q)) {
      add <- stored_deviations(model, draws, f, k + q * (code[known] - 1))
      if (any(z[known, k] != 1)) add <- add * rep(z[known, k], each = count)
      if (length(known) == ncol(mu)) {
        mu <- mu + add
      } else {
        mu[, known] <- mu[, known] + add
      }
    }
    new <- which(code > length(model$levels[[f]]))
    if (length(new) > 0L) {
      factor <- stored_factors(model, draws, f)
      at <- match(code[new], unique(code[new]))
      for (c in seq_len(q)) {
        # z'L, column c
        load <- Reduce(`+`, lapply(seq_len(q), function(k) {
          outer(factor[, k, c], z[new, k])
        }))
        if (draw) {
          noise <- matrix(stats::rnorm(count * max(at)), count)
          mu[, new] <- mu[, new] + load * noise[, at, drop = FALSE]
        } else {
          if (identical(square, 0)) square <- matrix(0, count, nrow(z))
          square[, new] <- square[, new] + load^2
        }
      }
    }
    mu[, is.na(code)] <- NA
  }
  if (anyNA(mu)) mu[is.nan(mu)] <- NA
  colnames(mu) <- rows$names
  list(mu = mu, spread = if (is.matrix(square)) sqrt(square))
}

#' @exportS3Method
predictor_at_draws.hlm_crossed_model <- function(model, draws, rows) {
  crossed_eta(model, draws, rows, TRUE)$mu
}

#' @exportS3Method
predictor_moments.hlm_crossed_model <- function(model, draws, rows) {
  at <- crossed_eta(model, draws, rows, FALSE)
  list(mean = unname(at$mu), sd = at$spread)
}

# ---- Estimates ---------------------------------------------------------------

#' @exportS3Method
predictor_deviations.hlm_crossed_model <- function(model, fit) {
  draws <- bind_chains(chain_matrices(fit))
  out <- lapply(seq_along(model$layout), function(f) {
    bar <- model$layout[[f]]$bar
    levels <- model$levels[[f]]
    deviation_table(stored_deviations(model, draws, f), bar, levels)
  })
  stats::setNames(out, names(model$layout))
}

# u: draws x (terms x groups).
deviation_table <- function(u, terms, levels) {
  mean <- as.data.frame(matrix(colMeans(u), ncol = length(terms), byrow = TRUE))
  dimnames(mean) <- list(levels, terms)
  cov <- vapply(seq_along(levels), function(j) {
    own <- length(terms) * (j - 1L) + seq_along(terms)
    stats::cov(u[, own, drop = FALSE])
  }, matrix(0, length(terms), length(terms)))
  attr(mean, "postVar") <- array(
    cov, c(length(terms), length(terms), length(levels)),
    list(terms, terms, levels)
  )
  mean
}

#' @exportS3Method
predictor_bars.hlm_crossed_model <- function(model) {
  stats::setNames(lapply(seq_along(model$layout), function(f) {
    list(
      design = model$layout[[f]], columns = bar_columns(f, model$layout[[f]])
    )
  }), names(model$layout))
}

# ---- How the bars lie to each other ------------------------------------------

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
