# The model behind gibbs_hlm(): its fields, states and starting values.
# src/core/hlm/hlm.h has the mathematics.

# frame: of hlm_frame(); keep: NULL or "w".
hlm_model <- function(frame, prior, keep, call) {
  parts <- hlm_parts(bar_frames(frame), prior, call)
  hlm_model_of(frame, parts$priors[[1L]], parts$layout[[1L]], keep)
}

# The places 1, 2, ... in runs of these sizes: a list.
runs_of_places <- function(sizes) {
  Map(function(end, size) end - size + seq_len(size), cumsum(sizes), sizes)
}

# The frames of hlm_design() and hlm_data(), of one bar each, by its groups.
bar_frames <- function(frame) {
  if (is.null(frame$bars)) {
    return(stats::setNames(list(frame), frame$group_name))
  }
  lapply(frame$bars, function(bar) c(frame[names(frame) != "bars"], bar))
}

# list(layout, priors): of each of `frames`, which have one bar each.
hlm_parts <- function(frames, prior, call) {
  frame <- frames[[1L]]
  used <- rows_used(frame)
  check_any_used(used, call)
  weights <- used_weights(frame, used)
  layout <- lapply(
    frames, normal_design, used, weights, prior$type, call
  )
  measured <- measure_response(frame, length(layout[[1L]]$intercept) == 1L)
  check_response_size(measured, frame$response$name, call)
  fixed <- layout[[1L]]
  tell_constant_columns(
    fixed$constant, fixed$columns[fixed$slopes],
    !is.null(prior$slope_sd)
  )
  names <- names(frames)
  priors <- Map(function(design, name) {
    complete_hlm_prior(
      bar_prior(prior, name, names, call), design, measured, call
    )
  }, layout, names)
  list(layout = layout, priors = priors)
}

# columns, intercept, slopes: of the fixed effects; mean, scale, constant: of
# the slopes; bar: names of the bar's columns; reach: their default scales of a
# deviation, for responses of standard deviation 1; basis, bar_basis: of
# centred_basis(), left out if NULL. fixed: whether the fixed effects have a
# basis; centred: whether the bar has.
hlm_design <- function(frame, used, weights, call, fixed = FALSE,
                       centred = TRUE) {
  x <- frame$x
  z <- frame$z
  if (ncol(z) == 0L) {
    abort_bar("The bar of `formula` has no terms.", call)
  }
  check_square_size(
    max(ncol(x), ncol(z)), 3, "The model matrix has", "Use fewer columns", call
  )
  columns <- colnames(x)
  measures <- measure_columns(x, as.double(used))
  found <- describe_design(x, columns, measures, call)
  bar <- describe_design(
    z, colnames(z), measure_columns(z, as.double(used)), call
  )
  taken <- grep("^(sigma|log_lik)$|^(sd|cor|w)\\[", columns, value = TRUE)
  check_none_taken(taken, call)
  bases <- list()
  basis_of <- function(terms, names, all) {
    out <- centred_basis(terms, frame$model, frame$contrasts, used, call, all)
    if (!is.null(out)) dimnames(out) <- list(names, names)
    out
  }
  if (fixed) bases$basis <- basis_of(frame$fixed_terms, columns, FALSE)
  # independent effects are independent where the formula says
  if (centred && !frame$diagonal) {
    bases$bar_basis <- basis_of(frame$bar_terms, colnames(z), TRUE)
  }
  x <- in_basis(x, bases$basis)
  z <- in_basis(z, bases$bar_basis)
  own <- measure_columns(z, as.double(used))
  is_one <- function(m, at) Filter(function(j) all(m[used, j] == 1), at)
  intercept <- is_one(x, found$intercept)
  slopes <- setdiff(seq_along(columns), intercept)
  measures <- measure_slopes(
    x[used, slopes, drop = FALSE], weights,
    measure_columns(x, as.double(used))$sd[slopes], length(intercept) == 1L
  )
  c(list(
    columns = columns, intercept = intercept, slopes = slopes,
    mean = unname(measures$mean),
    scale = unname(ifelse(measures$constant, 1, measures$scale)),
    constant = unname(measures$constant), bar = colnames(z),
    reach = bar_reach(z[used, , drop = FALSE], own, is_one(z, bar$intercept)),
    diagonal = frame$diagonal, known = frame$known
  ), bases)
}

# A slope of the bar: 1 / its standard deviation (without an intercept: root
# mean square). Its intercept is as far from the data's middle as the means of
# the other columns are, in their standard deviations.
bar_reach <- function(z, found, intercept) {
  size <- sqrt(colSums(z^2) / nrow(z))
  spread <- if (length(intercept) == 1L) {
    ifelse(found$sd > 0, found$sd, size)
  } else {
    size
  }
  spread[spread == 0] <- 1
  reach <- 1 / spread
  if (length(intercept) == 1L) {
    others <- setdiff(seq_along(reach), intercept)
    reach[intercept] <- sqrt(1 + sum((found$mean[others] / spread[others])^2))
  }
  unname(reach)
}

# The design of one bar with normal or t responses. `type`: that of the prior; a
# prior that is a Wishart distribution is about the data's columns.
normal_design <- function(frame, used, weights, type, call) {
  hlm_design(
    frame, used, weights, call, fixed = TRUE, centred = type == "half-t"
  )
}

# The designs of the rows that other data use, because the prior of the
# coefficients is at the means of these rows.
designs_again <- function(model, frame) {
  used <- rows_used(frame)
  lapply(
    bar_frames(frame), normal_design, used, used_weights(frame, used),
    model$prior$type, NULL
  )
}

hlm_model_of <- function(frame, prior, design, keep) {
  data <- hlm_data(frame, prior, design, keep)
  n <- sum(rows_used(frame))
  title <- "Hierarchical linear regression"
  new_model(
    "hlm_model",
    name = "gibbs_hlm",
    title = title,
    headline = paste0(
      hlm_headline(title, frame, design, n),
      if (frame$known) ", standard errors known"
    ),
    data = data, data_part = "frame", prior = prior, nobs = n,
    columns = hlm_columns(frame, design, keep),
    cures = hlm_cures,
    coefficients = design$columns, layout = design, keep = keep,
    levels = frame$levels, group_name = frame$group_name,
    design = hlm_design_of(frame), frame = frame
  )
}

hlm_cures <- paste(
  "Groups with few observations say little about the covariance of their",
  "effects: use fewer terms before the bar, or a prior with a smaller",
  "`scale`: see ?hlm_prior."
)

hlm_headline <- function(title, frame, design, n) {
  paste0(
    title, ": ", counted(length(design$columns), "fixed effect"), ", ",
    counted(length(design$bar), "term"), " by ", frame$group_name, " (",
    counted(length(frame$levels), "group"), "), ", counted(n, "observation")
  )
}

# The stored quantities, as core/hlm/hlm.h lists them.
hlm_columns <- function(frame, design, keep) {
  q <- length(design$bar)
  c(
    design$columns, indexed("sd", seq_len(q)),
    if (!frame$diagonal) correlation_names(q), if (!frame$known) "sigma",
    "log_lik",
    if ("w" %in% keep) coefficient_names(q, length(frame$levels))
  )
}

coefficient_names <- function(q, groups) {
  sprintf("w[%d,%d]", rep(seq_len(q), groups), rep(seq_len(groups), each = q))
}

# The rows and columns of the correlations of q terms, in their order.
term_pairs <- function(q) which(lower.tri(diag(q)), arr.ind = TRUE)

correlation_names <- function(q) {
  at <- term_pairs(q)
  sprintf("cor[%d,%d]", at[, 1L], at[, 2L])
}

hlm_design_of <- function(frame) {
  kept_parts(frame, "fixed_terms", "bar_terms", "group_expr", "group_ids")
}

# What C reads, as core/hlm/hlm.h describes. reduce: gives the rows of a bar.
hlm_data <- function(frame, prior, design, keep, reduce = reduce_groups) {
  used <- rows_used(frame)
  weights <- used_weights(frame, used)
  intercept <- length(design$intercept) == 1L
  y <- without_offset(frame)[used]
  measured <- measure_response(frame, intercept)
  p <- length(design$columns)
  scaled <- scaled_design(frame, design)
  x <- scaled$x
  root <- sqrt(weights)
  scaled_prior <- scaled_fixed_prior(prior, design, measured$centre)
  groups <- length(frame$levels)
  rows <- reduce(
    unname(root * in_basis(frame$z[used, , drop = FALSE], design$bar_basis)),
    unname(root * x),
    root * (y - measured$centre), frame$group[used], groups
  )
  spare <- length(y) - length(rows$response) - p
  fixed_at <- match(design$bar, design$columns, 0L) - 1L
  data <- c(
    list(
      q = as.double(length(design$bar)), p = as.double(p),
      groups = as.double(groups)
    ),
    rows,
    list(
      diagonal = as.double(design$diagonal), known = as.double(design$known),
      half_t = as.double(prior$type == "half-t"),
      collapsed = as.double(!design$known && spare < length(rows$response)),
      keep = as.double("w" %in% keep), mean = scaled_prior$mean,
      precision = scaled_prior$precision,
      df = as.double(prior$df), scale = as.double(prior$scale),
      shape = if (design$known) 0 else prior$nu0 / 2,
      rate = if (design$known) 0 else prior$nu0 * prior$sigma0^2 / 2,
      n = as.double(length(y)), log_weights = sum(log(weights)),
      unit = scaled$unit, column_mean = scaled$middle, centre = measured$centre,
      intercept_at = as.double(if (intercept) design$intercept - 1 else p),
      fixed_at = as.integer(fixed_at)
    )
  )
  data$basis <- design$basis
  data
}

# list(mean, precision) of the fixed effects, in the units of scaled_design()
# and with the intercept less `centre`.
scaled_fixed_prior <- function(prior, design, centre) {
  mean <- numeric(length(design$columns))
  sd <- rep(1, length(mean))
  mean[design$slopes] <- prior$slope_mean * design$scale
  sd[design$slopes] <- prior$slope_sd * design$scale
  if (length(design$intercept) == 1L) {
    mean[design$intercept] <- prior$intercept_mean - centre
    sd[design$intercept] <- prior$intercept_sd
  }
  list(mean = mean, precision = 1 / sd^2)
}

# list(x, unit, middle, basis): the rows that are used of the fixed effects, in
# units of their scales from their means.
scaled_design <- function(frame, design) {
  used <- rows_used(frame)
  unit <- rep(1, length(design$columns))
  unit[design$slopes] <- design$scale
  middle <- numeric(length(design$columns))
  middle[design$slopes] <- design$mean
  x <- in_basis(frame$x[used, , drop = FALSE], design$basis)
  x <- (x - rep(middle, each = sum(used))) / rep(unit, each = sum(used))
  x[, design$slopes[design$constant]] <- 0
  list(x = x, unit = unit, middle = middle, basis = design$basis)
}

#' @exportS3Method
model_response.hlm_model <- function(model) normal_response()

# ---- Starting values and state ----------------------------------------------

# The state of a model with one bar or several. covariances: Sigma of each bar,
# in the columns of C. The first sweep draws b, and the deviations of the first
# bar; those of other bars begin at 0.
hlm_state <- function(model, covariances, beta) {
  list(
    sweep = 0, factor = unlist(lapply(covariances, function(sigma_matrix) {
      as.double(t(chol(sigma_matrix)))
    }), use.names = FALSE),
    beta = as.double(beta), b = numeric(model$data$p),
    u = numeric(length(unlist(model_places(model))))
  )
}

# The places of the deviations of each bar among those of all.
model_places <- function(model) {
  levels <- if (is.list(model$levels)) model$levels else list(model$levels)
  terms <- lengths(lapply(bar_designs(model), `[[`, "bar"))
  runs_of_places(terms * lengths(levels))
}

# What C reads of each bar.
bars_of_data <- function(data) data$bars %||% list(data)

# sigma and the standard deviations of the groups are the spread of the
# responses, each over or under by a factor of up to 10.
#' @exportS3Method
model_start.hlm_model <- function(model, init) {
  data <- model$data
  q <- data$q
  factors <- exp(stats::runif(q + 1, -1, 1) * log(10))
  squares <- data$rss + sum(data$pool_y^2) + sum(data$response^2)
  spread <- start_spread(data, squares)
  beta <- start_precision(data, init, factors[[q + 1]] / spread)
  sd <- factors[seq_len(q)] * model$layout$reach *
    sqrt(spread / mean_weight_of(data))
  hlm_state(model, list(init$Sigma %||% diag(sd^2, q)), beta)
}

# The mean square of the responses.
start_spread <- function(data, squares) {
  if (squares > 0) {
    squares / data$n
  } else if (data$rate > 0) {
    data$rate / data$shape
  } else {
    1
  }
}

start_precision <- function(data, init, default) {
  if (data$known == 1) {
    1
  } else if (is.null(init$sigma)) {
    default
  } else {
    init$sigma^-2
  }
}

mean_weight_of <- function(data) exp(data$log_weights / data$n)

#' @exportS3Method
model_sweeps.hlm_model <- function(model, state, n, control) {
  with_bases(model, .Call(C_hlm_sweeps, model$data, state, n, control))
}

#' @exportS3Method
model_check_init.hlm_model <- function(model, init, where, call) {
  data <- model$data
  check_init_noise(init, data, where, call)
  if (!is.null(init$Sigma)) {
    init[["Sigma"]] <- check_init_covariance(
      init$Sigma, data, model$layout, paste0(where, "$Sigma"), call
    )
  }
  init
}

# The names of an entry of `inits`, and its sigma.
check_init_noise <- function(init, data, where, call) {
  check_init_names(init, c(if (data$known == 0) "sigma", "Sigma"), where, call)
  if (!is.null(init$sigma)) check_init_scales(init, "sigma", where, call)
}

# Sigma of one bar, of the data's columns; that of the columns in C is returned.
check_init_covariance <- function(value, data, design, arg, call) {
  check_init_shape(value, rep(data$q, 2L), arg, call)
  covariance <- check_spd_matrix(
    matrix(value, data$q), data$q, arg = arg, call = call
  )
  if (data$diagonal == 1 && any(covariance[lower.tri(covariance)] != 0)) {
    abort_argument("`{arg}` must be diagonal.", call = call)
  }
  if (is.null(design$bar_basis)) {
    return(covariance)
  }
  covariance_of_basis(covariance, solve(design$bar_basis))
}

#' @exportS3Method
model_init_from_state.hlm_model <- function(model, state) {
  init <- list(Sigma = init_covariances(model, state))
  if (model$data$known == 0) {
    init$sigma <- 1 / sqrt(state$beta)
  }
  init
}

# Sigma of each bar, of the data's columns.
state_covariances <- function(model, state) {
  designs <- bar_designs(model)
  q <- lengths(lapply(designs, `[[`, "bar"))
  factors <- split(state$factor, rep(seq_along(q), q^2))
  stats::setNames(Map(function(factor, design) {
    covariance_of_basis(
      tcrossprod(matrix(factor, length(design$bar))), design$bar_basis
    )
  }, factors, designs), names(designs))
}

# Sigma as `inits` has it: a matrix of one bar, a list of several.
init_covariances <- function(model, state) {
  covariances <- state_covariances(model, state)
  if (is.list(model$levels)) covariances else covariances[[1L]]
}

#' @exportS3Method
model_labels.hlm_model <- function(model) {
  columns <- model$columns
  label <- parameter_labels(model)
  if ("w" %in% model$keep) {
    label[grep("^w\\[", columns)] <- as.vector(
      outer(model$layout$bar, model$levels, paste, sep = " of ")
    )
  }
  data.frame(variable = columns, label = label)
}

# Labels of the fixed effects, of the standard deviations and correlations of
# all bars, of sigma and of log_lik.
parameter_labels <- function(model) {
  label <- fixed_labels(model$columns, bar_designs(model)[[1L]])
  bars <- predictor_bars(model)
  for (f in seq_along(bars)) {
    own <- match(bars[[f]]$columns, model$columns)
    label[own] <- bar_labels(bars[[f]]$design, model$group_name[[f]])
  }
  label
}

# Labels of the fixed effects, of sigma and of log_lik; other columns keep their
# names.
fixed_labels <- function(columns, design) {
  label <- columns
  slopes <- design$columns[design$slopes]
  label[match(slopes, columns)] <- paste("slope of", slopes)
  label[design$intercept] <- "intercept"
  label[columns == "sigma"] <- "standard deviation of an observation"
  label[columns == "log_lik"] <- "log-likelihood"
  label
}

# Labels of the standard deviations and correlations of one bar.
bar_labels <- function(design, group) {
  bar <- design$bar
  by <- paste("by", group)
  at <- term_pairs(length(bar))
  c(
    paste("standard deviation of", bar, by),
    if (!design$diagonal) {
      paste("correlation of", bar[at[, 2L]], "and", bar[at[, 1L]], by,
            recycle0 = TRUE)
    }
  )
}

# No column depends on a numbering.
#' @exportS3Method
model_labelled.hlm_model <- function(model, invariants) character()

#' @exportS3Method
model_key.hlm_model <- function(model, shown) {
  key_of_blocks(
    shown,
    c(sd = "sd[j]: term j", cor = "cor[i,j]: terms i and j",
      w = "w[j,g]: term j of group g, in the order of the levels"),
    paste0("terms by ", model$group_name, ": "), model$layout$bar
  )
}

# ---- The joint distribution -------------------------------------------------

#' @exportS3Method
draw_prior.hlm_model <- function(model) {
  data <- model$data
  bars <- bars_of_data(data)
  covariances <- lapply(bars, draw_covariance_prior)
  beta <- if (data$known == 1) 1 else stats::rgamma(1L, data$shape, data$rate)
  state <- hlm_state(model, covariances, beta)
  state$b <- draw_fixed_prior(bars[[1L]], bar_designs(model)[[1L]]$intercept)
  state$u <- unlist(Map(draw_deviations, bars, covariances))
  state
}

# The fixed effects in the units of the data.
draw_fixed_prior <- function(data, intercept) {
  b <- (data$mean + stats::rnorm(data$p) / sqrt(data$precision)) / data$unit
  b[intercept] <- b[intercept] + data$centre -
    sum((data$column_mean * b)[-intercept])
  b
}

# The deviations of the groups of one bar.
draw_deviations <- function(data, sigma_matrix) {
  as.double(
    t(chol(sigma_matrix)) %*% matrix(stats::rnorm(data$q * data$groups), data$q)
  )
}

# Sigma of one bar.
draw_covariance_prior <- function(data) {
  q <- data$q
  order <- if (data$diagonal == 1) 1 else q
  rows <- if (data$diagonal == 1) as.list(seq_len(q)) else list(seq_len(q))
  sigma_matrix <- matrix(0, q, q)
  for (at in rows) {
    sums <- if (data$half_t == 1) {
      2 * data$df *
        diag(stats::rgamma(length(at), 0.5, 1 / data$scale[at]^2), length(at))
    } else {
      matrix(data$scale, q)[at, at, drop = FALSE]
    }
    df <- data$df + if (data$half_t == 1) order - 1 else 0
    sigma_matrix[at, at] <-
      solve(stats::rWishart(1L, df, solve(sums))[, , 1L])
  }
  (sigma_matrix + t(sigma_matrix)) / 2
}

# Simulated responses: one for each row.
#' @exportS3Method
simulate_data.hlm_model <- function(model, state) {
  state_predictor(model, state) + response_noise(model$frame, state$beta)
}

# `coefficients` of starting values, of the data's columns, as those in C; each
# category has its own.
in_columns_of_c <- function(model, init) {
  basis <- model$data$basis %||% model$data$parts[[1L]]$basis
  if (!is.null(basis) && !is.null(init$coefficients)) {
    b <- matrix(init$coefficients, ncol(basis))
    init$coefficients <- as.double(t(to_basis(t(b), basis)))
  }
  init
}

# o + x'b + z'u_j of each row; of several bars the sum over these.
state_predictor <- function(model, state) {
  eta_of_state(model, with_fixed_of_data(model, state))
}

# The state with the fixed effects of the data's columns.
with_fixed_of_data <- function(model, state) {
  state$b <- drop(of_basis(t(state$b), model$data$basis))
  state
}

# `data`: the responses, one for each row of the fit's data.
#' @exportS3Method
set_data.hlm_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "hierarchical regression", function(frame, ...) {
    hlm_model_of(frame, model$prior, model$layout, model$keep)
  }, call)
}

# The parameters, the first deviations of each bar and the likelihood given the
# groups.
#' @exportS3Method
model_quantities.hlm_model <- function(model, state) {
  c(
    model_effects(model, with_fixed_of_data(model, state)),
    sigma = if (model$data$known == 0) 1 / sqrt(state$beta),
    log_lik = errors_log_lik(
      model$frame, state_predictor(model, state), state$beta
    )
  )
}

#' @exportS3Method
model_effects.hlm_model <- function(model, state) {
  covariances <- state_covariances(model, state)
  places <- model_places(model)
  known <- predictor_bars(model)
  bars <- lapply(seq_along(known), function(f) {
    design <- known[[f]]$design
    covariance <- covariances[[f]]
    terms <- seq_len(ncol(covariance))
    c(
      stats::setNames(c(
        sqrt(diag(covariance)),
        if (!design$diagonal) {
          stats::cov2cor(covariance)[lower.tri(covariance)]
        }
      ), known[[f]]$columns),
      stats::setNames(
        of_basis(t(state$u[places[[f]][terms]]), design$bar_basis),
        if (is.list(model$levels)) {
          indexed("u", f, terms, 1L)
        } else {
          indexed("u", terms, 1L)
        }
      )
    )
  })
  c(stats::setNames(state$b, model$coefficients), unlist(bars))
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.hlm_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    design <- designs_again(model, rest)[[1L]]
    hlm_model_of(rest, model$prior, design, character())
  })
}

# ---- Draws in the columns of the data ----------------------------------------

# The draws of a model with groups in the columns of its data. C has those of
# centred variables: R/regression-rows.R.

# What C returns of some sweeps, with the draws of the data's columns. at: the
# places of the model's draws among all.
with_bases <- function(model, run, at = TRUE) {
  if (length(run$draws) > 0L && has_bases(model)) {
    run$draws[, at] <- rebase_draws(model, run$draws[, at, drop = FALSE])
  }
  run
}

has_bases <- function(model, fixed = model$data$basis) {
  !is.null(fixed) ||
    any(lengths(lapply(bar_designs(model), `[[`, "bar_basis")) > 0L)
}

# Draws of the columns in C as those of the data's, or with `back` the inverse.
# fixed: the basis of the fixed effects; means: whether a single bar has the
# coefficients of the groups, not their deviations.
rebase_draws <- function(model, draws, back = FALSE,
                         fixed = model$data$basis, means = TRUE) {
  designs <- bar_designs(model)
  bases <- lapply(designs, `[[`, "bar_basis")
  if (!has_bases(model, fixed)) {
    return(draws)
  }
  turned <- function(basis) if (back && !is.null(basis)) solve(basis) else basis
  at <- seq_along(model$coefficients)
  out <- draws
  out[, at] <- of_basis(draws[, at, drop = FALSE], turned(fixed))
  bars <- if (length(designs) > 0L) predictor_bars(model)
  for (f in seq_along(designs)) {
    q <- length(designs[[f]]$bar)
    mean_at <- if (means && !is.list(model$levels)) {
      model$data$fixed_at + 1L
    } else {
      integer(q)
    }
    if (is.null(bases[[f]]) && all(mean_at == 0L)) next
    basis <- turned(bases[[f]]) %||% diag(q)
    own <- match(bars[[f]]$columns, model$columns)
    if (!is.null(bases[[f]])) {
      out[, own] <- rebase_covariances(draws[, own, drop = FALSE], basis)
    }
    places <- matrix(deviation_places(model, f), q)
    mean_of <- function(m, k) if (mean_at[[k]] > 0L) m[, mean_at[[k]]] else 0
    u <- lapply(seq_len(q), function(k) {
      draws[, places[k, ], drop = FALSE] - mean_of(draws, k)
    })
    for (k in seq_len(q)) {
      parts <- which(basis[k, ] != 0)
      out[, places[k, ]] <- mean_of(out, k) +
        Reduce(`+`, Map(`*`, basis[k, parts], u[parts]))
    }
  }
  out
}

# The columns of the deviations of bar f, those of a group together.
deviation_places <- function(model, f) {
  if (is.list(model$levels)) {
    first <- match(sprintf("u[%d,1,1]", f), model$columns)
    size <- length(model$layout[[f]]$bar) * length(model$levels[[f]])
    return(first - 1L + seq_len(size))
  }
  grep("^w\\[", model$columns)
}

# Standard deviations and correlations of M S M' from those of S, in rows: the
# lower triangle by columns.
rebase_covariances <- function(x, basis) {
  q <- ncol(basis)
  lower <- which(lower.tri(diag(q)))
  sd <- x[, seq_len(q), drop = FALSE]
  cor <- matrix(1, nrow(x), q^2)
  cor[, lower] <- x[, -seq_len(q)]
  cor[, c(t(matrix(seq_len(q^2), q)))[lower]] <- x[, -seq_len(q)]
  each <- seq_len(q)
  covariance <- cor * sd[, rep(each, q)] * sd[, rep(each, each = q)]
  covariance <- of_basis(covariance, kronecker(basis, basis))
  sd <- sqrt(covariance[, (each - 1L) * q + each, drop = FALSE])
  cor <- covariance / (sd[, rep(each, q)] * sd[, rep(each, each = q)])
  cbind(sd, pmax(pmin(cor[, lower, drop = FALSE], 1), -1))
}
